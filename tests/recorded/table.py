"""The table of the entries, and what all of them use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from .plain import cli, contents, pictures

Entry = Callable[[Path], Any]
#: what is recorded, by name: functions of a new folder
ENTRIES: dict[str, Entry] = {}


def entry(function: Entry) -> Entry:
    """Put a function among the entries, by its name."""
    ENTRIES[function.__name__] = function
    return function


def command(folder: Path, *args: Any) -> dict[str, Any]:
    """What a command says, writes into the folder, and draws."""
    shown: list[Any] = []
    with pictures(shown):
        said = cli(*args)
    return {**said, "files": contents(folder), "pictures": shown}


def attempt(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a call gives, or what it raises."""
    try:
        return call(*args, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@cache
def listed() -> tuple[str, ...]:
    return tuple(cli("list")["out"])


def solvers_of(problem: str) -> list[str]:
    """The solvers that `gangsched list` shows below a problem."""
    line = listed()[listed().index(problem) + 1]
    return line.removeprefix("solvers: ").split(", ")


def policies() -> list[str]:
    return listed()[listed().index("policies") + 1].split(", ")
