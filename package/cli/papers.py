"""The commands `reproduce` and `theorems`: the papers' figures and claims."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import screen
from ..registry import READERS, lookup
from ..screen import EXIT_FAILED, Interrupted, open_console, progress_line, reading, say


def reproduce(
    target: Annotated[str | None, screen.argument("reproduce.target")] = None,
    out: Annotated[Path, screen.option("reproduce.out")] = Path("out"),
    trace: Annotated[str | None, screen.option("reproduce.trace")] = None,
    reader: Annotated[str | None, screen.option("reader", readers=", ".join(READERS))] = None,
    jobs: Annotated[int | None, screen.option("reproduce.jobs")] = None,
    report: screen.Report = None,
) -> None:
    """Reproduce a paper's figure as data and picture.

    Writes JSON, CSV and PNG. After an interruption, go on with the same command.
    """
    from ..analysis.papers.reproduce import TARGETS
    from ..analysis.papers.reproduce import reproduce as run

    console = open_console()
    if target is None:
        for name in TARGETS:
            say(console, name)
        return
    with reading():
        key = lookup("target", TARGETS, target)
        screen.check_output(trace, report)
        if (trace is None) != (reader is None):
            raise ValueError("a trace needs --trace and --reader")
        if trace is not None and not TARGETS[key].takes_trace:
            raise ValueError(f"target {key!r}: takes no trace")
        rows = None
        if trace is not None and reader is not None:
            rows = screen.read_log(trace, screen.ReaderChoice(reader))
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise ValueError(f"{out}: is not writable")
        with progress_line(key) as show:
            paths = run(key, out, progress=show, trace=rows, processes=jobs, report=report)
    for path in paths:
        say(console, str(path))


def theorems(
    claim: Annotated[str | None, screen.argument("theorems.claim")] = None,
) -> None:
    """Run the papers' claims: verdict and evidence.

    And ours, which are marked: statement, draws, and cases that could say otherwise. Exit code 1
    where a run disagrees with a verdict, or does not show it.
    """
    from ..analysis.papers.theorems import CLAIMS, run

    with reading():
        chosen = list(CLAIMS) if claim is None else [lookup("claim", CLAIMS, claim)]
    rows, console, interrupted = [], open_console(), False
    with progress_line("preparing") as show:
        try:
            for i, name in enumerate(chosen, start=1):
                show(f"{name} ({i} of {len(chosen)})")
                rows.append(run(CLAIMS[name]))
        except KeyboardInterrupt:
            interrupted = True
    if claim is None:
        _verdicts(console, rows)
    else:
        for row in rows:
            _full(console, row)
    if interrupted:
        raise Interrupted(f"interrupted, not finished: {', '.join(chosen[len(rows) :])}")
    if not all(row.confirmed for row in rows):
        raise typer.Exit(EXIT_FAILED)


def _verdicts(console: Console, rows: Sequence[Any]) -> None:
    """All claims in short, paper by paper, and what they come to."""
    from ..analysis.papers.theorems import CLAIMS, PAPERS

    first = {claims[0].id: paper for paper, claims in PAPERS.items()}
    for row in rows:
        if row.claim in first:
            say(console, first[row.claim], "bold")
            console.print()
        say(console, f"{row.claim}: {row.verdict}{' (ours)' if CLAIMS[row.claim].ours else ''}")
        say(console, row.statement)
        say(console, _seen(row), "dim")
        console.print()
    count = Counter(str(row.verdict) for row in rows)
    ours = sum(CLAIMS[row.claim].ours for row in rows)
    loose = sum(bool(row.loose) for row in rows)
    say(
        console,
        f"{len(rows)} claims, {ours} of them ours: "
        f"{', '.join(f'{number} {verdict}' for verdict, number in count.items())}; {loose} loose.",
    )
    say(
        console,
        "proved: by the proof in docs/theorems.md; random cases try to break it. refuted: the "
        "counterexample breaks it. applicable: within the assumptions. strict: not both sides are "
        "0, or the mutant fails. mutant: a stronger statement, which is false; cases that kill it "
        "could have killed the claim. loose: no case tells the claim from its mutant.",
        "dim",
    )
    say(console, "One of them in full: gangsched theorems CLAIM")


def _seen(row: Any) -> str:
    """Counts of cases, and what speaks for the verdict or against it."""
    counts = f"{row.draws} draws, {row.tried} applicable, {row.strict} strict"
    if row.contradicted:
        return f"{counts}; THE RUN DISAGREES WITH THE VERDICT"
    if row.counterexamples:
        name, sides = next(iter(row.counterexamples.items()))
        found = f"{counts}; counterexample {name}: {sides}"
        return found if row.shown else f"{found}; NOT SHOWN: holds to within 1 %"
    if row.strict < row.least:
        return f"{counts}; NOT SHOWN: at least {row.least} have to be strict"
    mutant = f"mutant ({row.mutant})"
    if row.loose:
        nearest = f"the nearest case is at {row.worst.tightness:.3f} of the bound"
        state = "dies, though the claim is called" if row.killed else "survives:"
        return f"{counts}; {mutant} {state} loose, {nearest} ({row.loose})"
    if not row.killed:
        return f"{counts}; NOT SHOWN: no case kills the {mutant if row.mutant else 'mutant'}"
    return f"{counts}; {mutant} killed in {row.killed}"


def _full(console: Console, row: Any) -> None:
    from ..analysis.papers.theorems import CLAIMS

    say(console, f"{row.claim} ({row.source})", "bold")
    say(console, row.statement)
    if assumptions := CLAIMS[row.claim].assumptions:
        say(console, f"assumptions: {assumptions}")
    state = "AGAINST THIS RUN" if row.contradicted else "NOT SHOWN BY THIS RUN"
    say(console, f"verdict: {row.verdict}{'' if row.confirmed else f', {state}'}")
    say(console, f"evidence: {row.evidence}")
    say(console, f"cases: {_seen(row)}")
    if row.worst is not None:
        say(console, f"nearest to breaking it: {row.worst}")
