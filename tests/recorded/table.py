"""The table of the entries, and what all of them use."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import gangsched as gs
from gangsched.registry import policy

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
    """Those that run jobs without parameter servers."""
    names = listed()[listed().index("policies") + 1].split(", ")
    return [name for name in names if not getattr(policy(name)[1], "needs_ps", False)]


@cache
def places() -> dict[str, list[Any]]:
    """The functions and classes of the package by their names."""
    found: dict[str, list[Any]] = {}
    for info in pkgutil.walk_packages(gs.__path__, "gangsched."):
        if "__main__" not in info.name and "mip_worker" not in info.name:
            for name, thing in vars(import_module(info.name)).items():
                if getattr(thing, "__module__", "") == info.name:
                    found.setdefault(name, []).append(thing)
    return found


def named(name: str, taking: str = "") -> Any:
    """Return a function or class by its name, and a parameter where there are several."""
    for thing in places().get(name, []):
        if not taking or taking in signature(thing).parameters:
            return thing
    raise LookupError(f"no module of gangsched has a {name}")
