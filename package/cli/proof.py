"""The command `proof`: the proof of a bound as a file that other people's checkers read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from .. import screen
from ..analysis.show.columns import shown_bound
from .compare import Named, Problem
from .source import load_problem

FORMATS = ("vipr",)


def proof(
    instance: Named,
    out: Annotated[Path, screen.option("proof.out")],
    problem: Problem = None,
    form: Annotated[str, screen.option("proof.format")] = "vipr",
    effort: Annotated[str | None, screen.option("proof.effort")] = None,
) -> None:
    """Write the proof of a bound for a checker such as viprchk.

    Of a small linear program that every schedule fits into; docs/how-to/check-a-proof.md says what
    the file proves.
    """
    from ..analysis.proofs.bound import Effort, bound
    from ..analysis.proofs.vipr import vipr_proof
    from ..instances.io import write_file

    with screen.reading():
        if form not in FORMATS:
            raise ValueError(f"--format {form!r} is not one of {', '.join(FORMATS)}")
        if effort is not None and effort not in get_args(Effort):
            raise ValueError(f"--effort {effort!r} is not one of {', '.join(get_args(Effort))}")
        source = load_problem(instance, problem)
        screen.check_output(instance, out)
        with screen.progress_line("proving"):
            wanted: Any = effort or "standard"
            known = source.bound if effort is None else None
            found = bound(source.subject, wanted) if known is None else known
            text = vipr_proof(source.subject, found)
    if out == screen.STDOUT:
        typer.echo(text, nl=False)
        return
    write_file(out, text)
    console = screen.open_console()
    screen.say(console, source.title, "bold")
    value = shown_bound(found.value, source.subject.sense)
    screen.say(console, f"bound {value} ({found.method})")
    screen.say_written(console, out)
