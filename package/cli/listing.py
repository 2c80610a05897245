"""`gangsched list`: names of problems, solvers, readers, policies and instances."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any

from .. import screen
from ..registry import (
    ALIASES,
    DEDICATED_NOTE,
    POLICIES,
    PROBLEMS,
    READERS,
    SETTINGS,
    VARIANTS,
    lookup,
    plugins,
    policy,
    solver,
)
from ..rows import PolicyRow, SolverRow
from .source import SCENARIOS, best_of


def _first_line(thing: Any) -> str:
    """The first line of a docstring, and with which parameters."""
    given = ""
    if isinstance(thing, partial):
        given = ", ".join(f"{name}={value}" for name, value in thing.keywords.items())
        thing, given = thing.func, f" ({given})"
    return (inspect.getdoc(thing) or "").partition("\n")[0] + given


def _problems() -> Iterator[tuple[str, str]]:
    for name, entry in PROBLEMS.items():
        yield name, _first_line(entry.kind or entry.make)


def _solvers() -> Iterator[tuple[str, str]]:
    for stem, entry in PROBLEMS.items():
        for name, row in entry.solvers.items():
            yield f"{stem} {name}", _first_line(solver(stem, name)[1]) + _whose(row)


def _policies() -> Iterator[tuple[str, str]]:
    for name, row in POLICIES.items():
        yield name, (VARIANTS.get(name) or _first_line(policy(name)[1])) + _whose(row)


def _whose(row: SolverRow | PolicyRow) -> str:
    return " (ours: in no paper)" if row.ours else ""


def _ours(rows: Mapping[str, SolverRow] | Mapping[str, PolicyRow]) -> str:
    """Names of those that no paper says."""
    return ", ".join(name for name, row in rows.items() if row.ours)


def _readers() -> Iterator[tuple[str, str]]:
    for name, read in READERS.items():
        yield name, _first_line(read)


def _instances() -> Iterator[tuple[str, str]]:
    from ..instances import library

    for name, row in library.index().items():
        yield name, f"{row['description']}; {best_of(row)}"


KINDS: Mapping[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "problems": _problems,
    "solvers": _solvers,
    "policies": _policies,
    "readers": _readers,
    "instances": _instances,
}


def list_names(
    what: Annotated[str | None, screen.argument("list.kind", kinds=", ".join(KINDS))] = None,
) -> None:
    """List problems, solvers, readers, policies, named instances."""
    from ..instances import library

    console = screen.open_console()
    if what is not None:
        with screen.reading():
            lines = KINDS[lookup("kind", KINDS, what)]()
        for name, text in lines:
            screen.say(console, f"{name}: {text}")
        return
    for stem, entry in PROBLEMS.items():
        screen.say(console, stem, "bold")
        screen.say(console, f"solvers: {', '.join((*entry.solvers, *plugins()))}")
        if ours := _ours(entry.solvers):
            screen.say(console, f"ours, in no paper: {ours}")
        screen.say(console, f"settings: {', '.join(entry.settings)}")
    console.print()
    screen.say(console, "readers", "bold")
    screen.say(console, ", ".join(READERS))
    console.print()
    screen.say(console, "scenarios: synthetic jobs with deadlines or utilities", "bold")
    for names, text in SCENARIOS.items():
        screen.say(console, f"{names}: {text}")
    screen.say(console, "instead of a trace: gangsched replay T360 --reader scenario", "dim")
    console.print()
    screen.say(console, "policies", "bold")
    screen.say(console, ", ".join((*POLICIES, *plugins("gangsched.policies"))))
    for name, other in ALIASES.items():
        screen.say(console, f"{name}: another name of {other}")
    screen.say(console, f"ours, in no paper: {_ours(POLICIES)}")
    console.print()
    screen.say(console, "variants: how they differ from the policy", "bold")
    for name, text in VARIANTS.items():
        screen.say(console, f"{name}: {text}")
    console.print()
    screen.say(console, "run times: behind the name of any policy that knows run times", "bold")
    for name, row in SETTINGS.items():
        screen.say(console, f"NAME:{name}: {row.note}")
    screen.say(console, ": ".join(DEDICATED_NOTE))
    console.print()
    screen.say(console, "named instances", "bold")
    counts = Counter(row["problem"] for row in library.index().values())
    screen.say(console, ", ".join(f"{count} of {stem}" for stem, count in counts.items()))
    screen.say(console, "gangsched library list shows them, with the best known values", "dim")
