"""Named benchmark instances, each with the best known solution and a bound that can be replayed.

An entry is data: the problem as JSON (:func:`gangsched.formulations.io.problem_from_dict` makes the
problem of it) or the call that generates it, the best solution that is known, the certificate of
the best bound, and how both came about. docs/reference/library.md describes the files;
:mod:`gangsched.submissions` checks them, and what others submit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from .check import one_of
from .io import check_fields, check_header, header, read_json, schedule_from_dict
from .schedule import Schedule

__all__ = ["LEVELS", "Entry", "entry", "level_of", "names"]

EDITION = 2
INDEX = "index.json"
#: classes from the easiest to the hardest, and their rule
LEVELS: Mapping[str, str] = {
    "toy": "proven, and the exact solver reaches the bound in less than a second",
    "easy": "proven, and a heuristic that was run meets the bound",
    "medium": "proven, and no heuristic that was run meets the bound",
    "hard": "a gap of at most 2 %",
    "open": "a larger gap",
}
#: relative distance up to which two values are one where prices and shares are rounded
TOLERANCE = 1e-7
HARD, QUICK = 0.02, 1.0
EXACT = "exact"
SENSES = ("minimise", "maximise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A named instance and what is known of it.

    Parameters
    ----------
    name, description : str
    formulation : str
        Name of the problem, e.g. "rar-ddls".
    sense : {"minimise", "maximise"}
    level : str
        Class of :data:`LEVELS`; "class" in files.
    jobs : int
        Size: jobs, or users of a market.
    problem : mapping or None
        The problem as JSON, with its parameters; None of large ones, which `generator` makes.
    generator : mapping or None
        Family, arguments and seed: the call that makes the problem.
    sha256 : str
        Hash of the problem's canonical JSON.
    best : mapping
        Best known: objective, solver, parameters, version, date, and the solution, or the call of
        the solver that gives it and its hash.
    proof : mapping or None
        The best bound with a certificate: value, method, certificate, version, date.
    claim : mapping or None
        A better one without: a solver's word.
    runs : mapping
        Solvers that were run, under "rows", and under which conditions.
    history : sequence of mapping
        Date, objective, bound and by whom, each better than the one before.

    Examples
    --------
    >>> found = entry("rar-contention-0")
    >>> found.objective, found.bound["value"]
    (4, 4)
    """

    name: str
    description: str
    formulation: str
    sense: str
    level: str
    jobs: int
    problem: Mapping[str, Any] | None
    generator: Mapping[str, Any] | None
    sha256: str
    best: Mapping[str, Any]
    proof: Mapping[str, Any] | None
    claim: Mapping[str, Any] | None
    runs: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]

    @property
    def objective(self) -> float:
        """Best known value."""
        value: float = self.best["objective"]
        return value

    @property
    def solver(self) -> str:
        """What found it."""
        return str(self.best["solver"])

    @property
    def schedule(self) -> Schedule:
        """A schedule of that value; a ValueError of problems whose solutions are none."""
        return schedule_from_dict(self.best["solution"])

    @property
    def bound(self) -> Mapping[str, Any]:
        """Value, method and certificate of the best bound; the certificate of a claim is None."""
        found = self.claim or self.proof or {}
        return {"certificate": None} | {
            key: found[key] for key in ("value", "method", "certificate") if key in found
        }

    @property
    def optimal(self) -> bool:
        """Whether the best known value meets the bound."""
        return meets(self.objective, self.bound["value"])

    @property
    def gap(self) -> float:
        """Distance of value and bound over the value; 0 where they meet."""
        return gap_of(self.objective, self.bound["value"])


def meets(one: float, other: float) -> bool:
    """Whether two values are one; other numbers than integers up to :data:`TOLERANCE`."""
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    return abs(one - other) <= TOLERANCE * max(abs(one), abs(other))


def gap_of(objective: float, bound: float) -> float:
    """Return |objective - bound| / |objective|; 0 where they meet, infinite of an objective 0."""
    if meets(objective, bound):
        return 0.0
    return abs(objective - bound) / abs(objective) if objective else float("inf")


def level_of(objective: float, bound: float, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the class of an instance, by the rule of :data:`LEVELS`.

    Parameters
    ----------
    objective, bound : float
        The best that are known.
    rows : sequence of mapping
        Solvers that were run: "solver", "objective" and "seconds" of each.

    Examples
    --------
    >>> row = {"solver": "exact", "objective": 4, "seconds": 0.2}
    >>> level_of(4, 4, [row]), level_of(4, 4, []), level_of(100, 98, []), level_of(4, 3, [row])
    ('toy', 'medium', 'hard', 'open')
    """
    gap = gap_of(objective, bound)
    if gap:
        return "hard" if gap <= HARD else "open"
    met = [row for row in rows if row["objective"] is not None and meets(row["objective"], bound)]
    if any(row["solver"] == EXACT and row["seconds"] < QUICK for row in met):
        return "toy"
    return "easy" if any(row["solver"] != EXACT for row in met) else "medium"


# --- files ---------------------------------------------------------------------------------------

PARTS = {part.name for part in fields(Entry)} - {"level", "formulation", "proof"}
FIELDS = {*header(""), *PARTS, "edition", "class", "formulation", "bound"}


def index(folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """Return a line of facts for each instance, by name, without reading the entries."""
    data = read_json(_folder(folder) / INDEX)
    check_header(data, "library index")
    found: dict[str, dict[str, Any]] = data["entries"]
    return found


def names(folder: Path | None = None) -> list[str]:
    """Return the names of all instances, sorted.

    Parameters
    ----------
    folder : Path, optional
        Of another library than the one that comes with the package.

    Examples
    --------
    >>> "rar-philly-0" in names()
    True
    """
    return sorted(index(folder))


def entry(name: str, folder: Path | None = None) -> Entry:
    """Return the entry called `name`.

    Parameters
    ----------
    name : str
    folder : Path, optional
        Of another library than the one that comes with the package.

    Raises
    ------
    KeyError
        Where there is none.
    ValueError
        If the file breaks the format.
    """
    from .display import near

    known = names(folder)
    if name not in known:
        raise KeyError(f"named instance {name!r} is not one of {len(known)}{near(name, known)}")
    path = path_of(name, folder)
    try:
        return entry_from_dict(name, read_json(path))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def path_of(name: str, folder: Path | None = None) -> Path:
    """Return the file of an entry."""
    return _folder(folder) / f"{name}.json"


def _folder(folder: Path | None) -> Path:
    return Path(str(files(__package__).joinpath("data"))) if folder is None else folder


def entry_from_dict(name: str, data: Any) -> Entry:
    """Return the entry that a file's content says."""
    check_header(data, "library entry")
    check_fields("entry", data, required=FIELDS)
    if data["edition"] != EDITION:
        raise ValueError(f"edition={data['edition']!r} is not supported, only {EDITION} is")
    if data["name"] != name:
        raise ValueError(f"name={data['name']!r} is not {name!r}")
    if not data["history"]:
        raise ValueError("history is empty")
    one_of("entry: sense", data["sense"], SENSES)
    one_of("entry: class", data["class"], LEVELS)
    own = {"level": data["class"], "formulation": data["formulation"], "proof": data["bound"]}
    return Entry(**{part: data[part] for part in PARTS}, **own)


def entry_to_dict(found: Entry) -> dict[str, Any]:
    """Return an entry as plain JSON data.

    >>> entry_from_dict("rar-a-0", entry_to_dict(entry("rar-a-0"))) == entry("rar-a-0")
    True
    """
    own = {"class": found.level, "formulation": found.formulation, "bound": found.proof}
    parts = {part: getattr(found, part) for part in PARTS}
    return {**header("library entry"), "edition": EDITION, **parts, **own}


def index_row(found: Entry) -> dict[str, Any]:
    """Return what the index says of an entry."""
    return {
        "problem": found.formulation,
        "class": found.level,
        "jobs": found.jobs,
        "objective": found.objective,
        "solver": found.solver,
        "bound": found.bound["value"],
        "certified": found.claim is None,
        "date": found.history[-1]["date"],
        "description": found.description,
    }
