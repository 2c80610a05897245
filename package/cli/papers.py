"""The commands `reproduce` and `theorems`: the papers' figures and claims."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .. import screen
from ..registry import READERS, lookup
from ..screen import EXIT_FAILED, Interrupted, new_table, open_console, progress_line, reading, say


def reproduce(
    target: Annotated[
        str | None, typer.Argument(help="What to reproduce, e.g. rar_ddls:fig4; without: a list.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for data and picture.")] = Path("out"),
    trace: Annotated[
        str | None,
        typer.Option(help="Trace file, for figures that are computed on a trace too: ltgf:fig9."),
    ] = None,
    reader: Annotated[str | None, typer.Option(help=f"Its reader: {', '.join(READERS)}.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at once; by default one for each core.")
    ] = None,
) -> None:
    """Reproduce a paper's figure as data and picture.

    Writes JSON, CSV and PNG. After an interruption, go on with the same command.
    """
    from ..analysis.papers.reproduce import TARGETS, takes_trace
    from ..analysis.papers.reproduce import reproduce as run

    console = open_console()
    if target is None:
        for name in TARGETS:
            say(console, name)
        return
    with reading():
        key = lookup("target", TARGETS, target)
        if (trace is None) != (reader is None):
            raise ValueError("a trace needs --trace and --reader")
        if trace is not None and not takes_trace(key):
            raise ValueError(f"target {key!r}: takes no trace")
        rows = None
        if trace is not None and reader is not None:
            read = screen.reader_of(screen.ReaderChoice(reader))
            with progress_line(f"reading {Path(trace).name}"):
                rows = read(trace)
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise ValueError(f"{out}: is not writable")
        with progress_line(key) as show:
            paths = run(key, out, progress=show, trace=rows, processes=jobs)
    for path in paths:
        say(console, str(path))


def theorems(
    claim: Annotated[str | None, typer.Argument(help="One claim, in full; without: all.")] = None,
) -> None:
    """Run the papers' claims: verdict and evidence.

    Exit code 1 where a run disagrees with a verdict.
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
        console.print(_verdicts(rows))
        console.print()
        say(
            console,
            "proved: by the proof in docs/theorems.md; random cases try to break it, with slack "
            "where the two sides differ. refuted: the counterexample breaks it.",
            "dim",
        )
        say(console, "One of them in full: gangsched theorems CLAIM")
    else:
        for row in rows:
            _full(console, row, CLAIMS[row.claim].assumptions)
    if interrupted:
        raise Interrupted(f"interrupted, not finished: {', '.join(chosen[len(rows) :])}")
    if not all(row.confirmed for row in rows):
        raise typer.Exit(EXIT_FAILED)


def _verdicts(rows: Sequence[Any]) -> Table:
    from ..analysis.papers.theorems import PAPERS

    first = {claims[0].id: paper for paper, claims in PAPERS.items()}
    table = new_table("claim", "verdict", "seen")
    for row in rows:
        if row.claim in first:
            table.add_section()
            table.add_row(first[row.claim], style="bold")
        table.add_row(row.claim, str(row.verdict), _seen(row))
    return table


def _seen(row: Any) -> str:
    if not row.confirmed:
        return "THE RUN DISAGREES WITH THE VERDICT"
    for name, sides in row.counterexamples.items():
        return f"counterexample {name}: {sides}"
    return f"holds in {row.tried} random cases, with slack in {row.strict}"


def _full(console: Console, row: Any, assumptions: str) -> None:
    say(console, f"{row.claim} ({row.source})", "bold")
    say(console, row.statement)
    if assumptions:
        say(console, f"assumptions: {assumptions}")
    say(console, f"verdict: {row.verdict}{'' if row.confirmed else ', AGAINST THIS RUN'}")
    say(console, f"evidence: {row.evidence}")
    say(console, f"random cases: {row.tried}, failed in {row.failed}, with slack in {row.strict}")
    if row.worst is not None:
        say(console, f"nearest to breaking it: {row.worst}")
