"""Named benchmark instances, each with the best known schedule and a bound that can be replayed.

An entry is data: the problem as JSON (:func:`gangsched.formulations.io.problem_from_dict` makes the
problem of it), the best schedule that is known, and the certificate of the best bound. A test
replays all of them. ``tests/build_library.py`` made the files from seeded generators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

from .io import check_header, read_json, schedule_from_dict
from .schedule import Schedule

__all__ = ["Entry", "entry", "names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A named instance and what is known of it.

    Parameters
    ----------
    name, description : str
    problem : mapping
        The problem as JSON, with its parameters.
    objective : float
        Best known value.
    solver : str
        What found it.
    schedule : Schedule
        A schedule of that value.
    bound : mapping
        Value, method and certificate of the best bound; the certificate is None where the bound is
        a claim of branch and bound (tiny instances, which a test searches exhaustively).

    Examples
    --------
    >>> found = entry("rar-contention-0")
    >>> found.objective, found.bound["value"]
    (4, 4)
    """

    name: str
    description: str
    problem: Mapping[str, Any]
    objective: float
    solver: str
    schedule: Schedule
    bound: Mapping[str, Any]

    @property
    def optimal(self) -> bool:
        """Whether the best known value meets the bound."""
        return bool(self.objective == self.bound["value"])


def names() -> list[str]:
    """Return the names of all instances, sorted.

    >>> "rar-philly-0" in names()
    True
    """
    found = (path.name for path in files(__package__).joinpath("data").iterdir())
    return sorted(name.removesuffix(".json") for name in found if name.endswith(".json"))


def entry(name: str) -> Entry:
    """Return the entry called `name`.

    Raises
    ------
    KeyError
        Where there is none.
    """
    if name not in names():
        raise KeyError(f"named instance {name!r} is not one of {', '.join(names())}")
    data = read_json(str(files(__package__).joinpath("data", f"{name}.json")))
    check_header(data, "library entry")
    known = {part.name: data[part.name] for part in fields(Entry) if part.name != "name"}
    schedule = schedule_from_dict(data["schedule"])
    return Entry(name=name, **{**known, "schedule": schedule})
