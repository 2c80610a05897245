"""The command `traces`: public traces, and whether a file is one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.console import Console

from .. import screen


def traces(
    file: Annotated[str | None, screen.argument("traces.file")] = None,
) -> None:
    """List public traces: origin, licence, reader, hashes.

    The page docs/reference/traces.md has the same.
    """
    from ..instances.traces.catalogue import TRACES

    console = screen.open_console()
    if file is not None:
        _identify(console, file)
        return
    for k, trace in enumerate(TRACES):
        if k:
            console.print()
        screen.say(console, f"{trace.name}: {trace.title}", "bold")
        for label, text in trace.facts:
            screen.say(console, f"{label}: {text}")
        for found in trace.files:
            screen.say(console, f"- {found}", "dim")


def _identify(console: Console, file: str) -> None:
    """Say which public trace a file is, and which reader reads it."""
    from ..instances.traces import recognise
    from ..instances.traces.catalogue import known_files

    with screen.reading():
        found = known_files(file)
        guess = None if found else recognise(file)
    for trace, known in found:
        screen.say(console, f"{Path(file).name} is of {trace.name} ({trace.title})", "bold")
        screen.say(console, str(known))
        for label, text in trace.facts:
            screen.say(console, f"{label}: {text}")
    if guess is not None:
        screen.say(console, f"{Path(file).name}: no known file has its hash")
        screen.say(console, f"read with: --reader {guess.reader}, as {guess.reason}")
