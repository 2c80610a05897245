"""What every reader of a trace file returns: the jobs, and an account of what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from ..model import Job, User

__all__ = ["ReadReport", "Trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadReport:
    """How many rows of a trace file became jobs, and why the others did not.

    Parameters
    ----------
    read : int
        Rows of the file, one a job; comments and empty lines do not count.
    skipped : mapping of str to int
        Rows without a usable job, by reason.
    notes : sequence of str
        What else is worth knowing, e.g. how many jobs ended with which status.

    Examples
    --------
    >>> print(ReadReport(read=10, skipped={"no GPUs": 2}))
    10 rows read, 8 jobs, 2 skipped (no GPUs: 2)
    """

    read: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "skipped", MappingProxyType(dict(self.skipped)))
        object.__setattr__(self, "notes", tuple(self.notes))
        if any(count < 1 for count in self.skipped.values()):
            raise ValueError(f"report: skipped={dict(self.skipped)} has a count below 1")
        if sum(self.skipped.values()) > self.read:
            raise ValueError(f"report: skipped={dict(self.skipped)} exceeds read={self.read}")

    @property
    def kept(self) -> int:
        """Rows that became jobs."""
        return self.read - sum(self.skipped.values())

    def __reduce__(self) -> tuple[object, ...]:
        # mapping proxies do not pickle
        return _rebuild, (self.read, dict(self.skipped), self.notes)

    def __str__(self) -> str:
        line = f"{self.read:,} rows read, {self.kept:,} jobs"
        if self.skipped:
            reasons = sorted(self.skipped.items(), key=lambda item: (-item[1], item[0]))
            listed = ", ".join(f"{reason}: {count:,}" for reason, count in reasons)
            line += f", {self.read - self.kept:,} skipped ({listed})"
        return "; ".join((line, *self.notes))


def _rebuild(read: int, skipped: dict[str, int], notes: tuple[str, ...]) -> ReadReport:
    return ReadReport(read=read, skipped=skipped, notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The jobs of a real cluster over some time, as a log recorded them.

    Parameters
    ----------
    name : str
        For display; by default the file's name without suffixes.
    jobs : sequence of Job
        Sorted by release, ties in the order of the file. Releases are seconds since `origin`; work
        is the recorded run time in seconds.
    users : sequence of User
        Owners of the jobs (virtual clusters or users), sorted by id.
    origin : str or None
        Wall-clock text of time 0, the first submission; None where the log does not tell.
    report : ReadReport

    Examples
    --------
    >>> report = ReadReport(read=1)
    >>> Trace(name="t", jobs=[Job(id="a", gpus=2, work=9)], report=report).jobs[0].work
    9
    """

    name: str
    jobs: tuple[Job, ...]
    users: tuple[User, ...] = ()
    origin: str | None = None
    report: ReadReport

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", tuple(self.jobs))
        object.__setattr__(self, "users", tuple(self.users))
        owner = f"trace {self.name!r}"
        if len(self.jobs) != self.report.kept:
            raise ValueError(
                f"{owner}: {len(self.jobs)} jobs, but the report has kept={self.report.kept}"
            )
        releases = [job.release for job in self.jobs]
        if releases != sorted(releases):
            raise ValueError(f"{owner}: jobs are not sorted by release")


Reader = Callable[[str | Path], Trace]


class Reading:
    """Collects the rows of one file; what every reader shares."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.rows = 0
        self.skipped: Counter[str] = Counter()
        self.found: list[tuple[int, str, int, int, str]] = []
        self._places: dict[str, str] = {}

    def unique(self, place: str, name: str, id: str) -> None:
        """Refuse an id that an earlier row has."""
        if id in self._places:
            raise self.error(place, f"{name}={id!r} occurs at {self._places[id]} too, it is unique")
        self._places[id] = place

    def add(self, time: int, id: str, gpus: int, work: int, user: str) -> None:
        """Keep a row as a job; `time` in seconds from anywhere."""
        self.found.append((time, id, gpus, work, user))

    def error(self, place: str, text: str) -> ValueError:
        """Return the exception for a malformed row."""
        return ValueError(f"{self.path}: {place}: {text}")

    def trace(self, *, origin: str | datetime | None = None, notes: Iterable[str] = ()) -> Trace:
        """Return the trace of the kept rows, from the first submission on."""
        rows = sorted(self.found, key=lambda row: row[0])
        first = rows[0][0] if rows else 0
        jobs = [
            Job(id=id, gpus=gpus, release=time - first, work=work, user=user)
            for time, id, gpus, work, user in rows
        ]
        return Trace(
            name=self.path.name.split(".")[0],
            jobs=tuple(jobs),
            users=tuple(User(id) for id in sorted({job.user for job in jobs})),
            origin=None if origin is None else str(origin),
            report=ReadReport(read=self.rows, skipped=self.skipped, notes=tuple(notes)),
        )


UNKNOWN = ("", "None", "null", "NA", "NULL")


def clock(text: str) -> datetime | None:
    """Return a time of the form ``2017-10-07 01:12:09``; None where the log has none.

    Raises
    ------
    ValueError
        If the text is no such time.

    Examples
    --------
    >>> clock("2017-10-07 01:12:09").hour, clock("None")
    (1, None)
    """
    if text in UNKNOWN:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S")
    except ValueError:
        raise ValueError("is not a time of the form 2017-10-07 01:12:09") from None
