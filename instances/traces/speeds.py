"""Speeds of types of jobs on GPU models, from a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..io import read_json, read_text
from ..model import check_real
from .table import TextTable
from .trace import Reading

#: a key of Gavel's file: a type of jobs, and its number of GPUs
GAVEL_KEY = re.compile(r"\('(.*)', (\d{1,6})\)")
#: Gavel's name for the speed of a job that has its GPUs alone
ALONE = "null"
#: behind the models of Gavel's file where gangs are spread over more nodes than they need
SPREAD = "_unconsolidated"
#: of a type, any number of GPUs
ANY = 0

Row = Mapping[str, float]


class SpeedTable:
    """Speeds by type of jobs, number of GPUs and GPU model.

    Parameters
    ----------
    path : Path
    rows : mapping of (str, int) to mapping of str to float
        Speeds by model; under the number :data:`ANY` those that go with any number of GPUs.

    Attributes
    ----------
    models : tuple of str
        Those that the file names.

    Examples
    --------
    >>> table = SpeedTable(Path("t.csv"), {("A", 2): {"v100": 8.0}, ("A", 0): {"v100": 4.0}})
    >>> table.of("A", 2), table.of("A", 1), table.of("B", 1)
    ({'v100': 8.0}, {'v100': 4.0}, None)
    """

    def __init__(self, path: Path, rows: Mapping[tuple[str, int], Row]) -> None:
        self.path, self.rows = path, MappingProxyType(dict(rows))
        self.models = tuple(dict.fromkeys(model for row in self.rows.values() for model in row))

    def of(self, job_type: str, gpus: int) -> Row | None:
        """Return the speeds of a type of jobs by model, 0 where it cannot run; None if unknown."""
        found = self.rows.get((job_type, gpus))
        return self.rows.get((job_type, ANY)) if found is None else found


def read_speeds(path: str | Path) -> SpeedTable:
    """Read a table of speeds.

    Parameters
    ----------
    path : str or Path
        Plain or gzip: a CSV with the columns job_type, model and speed, and gpus where the speed
        depends on the gang (empty for any); JSON of the form {job type: {model: speed}}; or Gavel's
        ``simulation_throughputs.json``, of which the speeds of jobs alone on their GPUs are taken,
        and not those of gangs on more nodes than they need.

    Returns
    -------
    SpeedTable

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is malformed; the message names file, place, value and rule.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "speeds.json"
    >>> _ = path.write_text('{"A": {"k80": 1, "v100": 4}}')
    >>> read_speeds(path).of("A", 3)
    {'k80': 1.0, 'v100': 4.0}
    """
    rows: dict[tuple[str, int], dict[str, float]] = {}
    found = _from_json(path) if read_text(path).lstrip()[:1] in ("{", "[") else _from_csv(path)
    for place, job_type, gpus, model, speed in found:
        row = rows.setdefault((job_type, gpus), {})
        if model in row:
            raise ValueError(f"{path}: {place}: {job_type!r} on {model!r} occurs twice")
        row[model] = speed
    if not rows:
        raise ValueError(f"{path}: there are no speeds in it")
    return SpeedTable(Path(path), rows)


Entry = tuple[str, str, int, str, float]  # place, type, GPUs, model, speed


def _from_csv(path: str | Path) -> Iterator[Entry]:
    table = TextTable(Reading(path), "job_type", "model", "speed")
    for row in table:
        speed = row.number("speed")
        if speed is None:
            raise row.error(f"speed={row['speed']!r} is not a number")
        gang = "gpus" in row and row["gpus"]
        names = (row.text(name, "every row has one") for name in ("job_type", "model"))
        job_type, model = names
        yield row.place, job_type, row.count("gpus") if gang else ANY, model, speed


def _from_json(path: str | Path) -> Iterator[Entry]:
    data = read_json(path)
    for outer, row in _items(path, "the file", data):
        for inner, entry in _items(path, repr(outer), row):
            place = f"{outer!r}, {inner!r}"
            key = GAVEL_KEY.fullmatch(inner)
            if key is None:
                yield place, outer, ANY, inner, _speed(path, place, entry)
            elif not outer.endswith(SPREAD):
                alone = entry.get(ALONE) if isinstance(entry, dict) else entry
                yield place, key[1], int(key[2]), outer, _speed(path, place, alone)


def _items(path: str | Path, what: str, value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{path}: {what} is not a mapping")
    return value.items()


def _speed(path: str | Path, place: str, value: Any) -> float:
    try:
        return check_real(f"{path}: {place}", "speed", value)
    except TypeError as error:
        raise ValueError(str(error)) from None
