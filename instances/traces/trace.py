"""What every reader of a trace file returns: the jobs, and an account of what was read."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from sys import intern
from types import MappingProxyType
from typing import Any, NamedTuple

from ..model import Job, User

SHOWN = 3  # places that a report names for each reason
#: of times from anywhere and durations, 3,000 years; and of the GPUs of a job
MOST_SECONDS, MOST_GPUS = 10**11, 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadReport:
    """How many rows of a trace file became jobs, and why the others did not.

    Parameters
    ----------
    read : int
        Rows of the file, one a job; comments and empty lines do not count.
    skipped : mapping of str to int
        Rows without a usable job, by reason.
    places : mapping of str to sequence of str
        By reason, where in the file the first three of these rows stand.
    notes : sequence of str
        What else is worth knowing, e.g. how many jobs ended with which status.
    backwards : sequence of (str, int, int)
        Of rows that were skipped as they end before they start, the place, the start and the end,
        in seconds of the log's clock (since 1970 where it has dates).

    Examples
    --------
    >>> print(ReadReport(read=10, skipped={"no GPUs": 2}))
    10 rows read, 8 jobs, 2 skipped (no GPUs: 2)
    >>> print(ReadReport(read=10, skipped={"no GPUs": 2}, places={"no GPUs": ["line 3"]}))
    10 rows read, 8 jobs, 2 skipped (no GPUs: 2 [line 3, ...])
    """

    read: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    backwards: tuple[tuple[str, int, int], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "backwards", tuple(self.backwards))
        object.__setattr__(self, "skipped", MappingProxyType(dict(self.skipped)))
        places = {reason: tuple(rows) for reason, rows in self.places.items()}
        object.__setattr__(self, "places", MappingProxyType(places))
        object.__setattr__(self, "notes", tuple(self.notes))
        if any(count < 1 for count in self.skipped.values()):
            raise ValueError(f"report: skipped={dict(self.skipped)} has a count below 1")
        if sum(self.skipped.values()) > self.read:
            raise ValueError(f"report: skipped={dict(self.skipped)} exceeds read={self.read}")
        for reason, rows in places.items():
            count = self.skipped.get(reason, 0)
            if len(rows) > count:
                raise ValueError(f"report: places[{reason!r}]={rows} exceeds skipped={count}")

    @property
    def kept(self) -> int:
        """Rows that became jobs."""
        return self.read - sum(self.skipped.values())

    def __reduce__(self) -> tuple[object, ...]:
        # mapping proxies do not pickle
        skipped, places = dict(self.skipped), dict(self.places)
        made = partial(ReadReport, read=self.read, skipped=skipped, places=places, notes=self.notes)
        return partial(made, backwards=self.backwards), ()

    def __str__(self) -> str:
        line = f"{self.read:,} rows read, {self.kept:,} jobs"
        if self.skipped:
            reasons = sorted(self.skipped.items(), key=lambda item: (-item[1], item[0]))
            listed = ", ".join(
                f"{reason}: {_placed(count, self.places.get(reason, ()))}"
                for reason, count in reasons
            )
            line += f", {self.read - self.kept:,} skipped ({listed})"
        return "; ".join((line, *self.notes))


def _placed(count: int, places: Sequence[str]) -> str:
    """Return a count with the rows that are known of it: ``12 [line 3, line 9, ...]``."""
    if not places:
        return f"{count:,}"
    more = ["..."] if count > len(places) else []
    return f"{count:,} [{', '.join([*places, *more])}]"


class LogRow(NamedTuple):
    """What a log says of a job besides the job: where it stands, and when it ran.

    Parameters
    ----------
    place : str
        Such as ``"line 7"``.
    number : int
        Its place in the order of the file.
    start, end : int or None
        When it began and ended, in seconds since the origin of the trace, fractions rounded down;
        None where the log does not tell. They may lie more than the run time apart, for a job that
        was interrupted; and they are as recorded, be that possible or not.

    Examples
    --------
    >>> LogRow("line 7", 6, start=30).end is None
    True
    """

    place: str
    number: int
    start: int | None = None
    end: int | None = None


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
        Owners of the jobs (virtual clusters or users), sorted by id; empty where the log names
        none, and then every job's user is the empty text.
    origin : str or None
        Wall-clock text of time 0, the first submission; None where the log does not tell.
    rows : sequence of LogRow
        Of each job, in the same order; empty where a trace was not read from a file.
    submitted : bool
        Whether the log tells when jobs were submitted; else they are submitted when they start, and
        nothing is known of waits.
    steps : mapping of str to float
        How finely submit, start, end and duration were written, in seconds: 60 for times without
        seconds, 360 for hours with one decimal. A true value lies less than a step from what is
        written. Those of seconds, or finer ones, are left out.
    doubts : sequence of str
        What had to be assumed to read the log, although answers depend on it.
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
    rows: tuple[LogRow, ...] = ()
    submitted: bool = True
    steps: Mapping[str, float] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    report: ReadReport

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", tuple(self.jobs))
        object.__setattr__(self, "doubts", tuple(self.doubts))
        object.__setattr__(self, "steps", dict(self.steps))
        object.__setattr__(self, "rows", tuple(self.rows))
        object.__setattr__(self, "users", tuple(self.users))
        owner = f"trace {self.name!r}"
        if len(self.jobs) != self.report.kept:
            raise ValueError(
                f"{owner}: {len(self.jobs)} jobs, but the report has kept={self.report.kept}"
            )
        if self.rows and len(self.rows) != len(self.jobs):
            raise ValueError(f"{owner}: {len(self.rows)} rows for {len(self.jobs)} jobs")
        releases = [job.release for job in self.jobs]
        if releases != sorted(releases):
            raise ValueError(f"{owner}: jobs are not sorted by release")


Reader = Callable[..., Trace]
Moment = datetime | float | None


# --- what every reader shares --------------------------------------------------------------------


class _Found(NamedTuple):
    """A row that becomes a job; `time`, `start` and `end` in seconds from anywhere."""

    time: int
    place: str
    start: int | None
    end: int | None
    id: str
    gpus: int
    work: int
    user: str
    weight: float
    tag: str
    more: Mapping[str, Any]


class Reading:
    """Collects the rows of one file: the jobs, and why the other rows are none.

    Parameters
    ----------
    path : str or Path
    kind : type of Job
        What the rows become.

    Notes
    -----
    Fractions: a submission is rounded down and a duration up to whole seconds, after rounding to
    microseconds (so that an error of the arithmetic does not cost a second).
    """

    def __init__(self, path: str | Path, kind: type[Job] = Job) -> None:
        self.path, self.kind = Path(path), kind
        self.rows = 0
        self._found: list[_Found] = []
        self._skipped: dict[str, list[str]] = defaultdict(list)
        self._counts: Counter[str] = Counter()
        self._ids: dict[str, str] = {}
        self._backwards: list[tuple[str, int, int]] = []

    # values

    def error(self, place: str, text: str) -> ValueError:
        """Return the exception for a malformed row."""
        return ValueError(f"{self.path}: {place}: {text}")

    def unique(self, place: str, name: str, id: str) -> str:
        """Return an id; refuse one that an earlier row has."""
        if id in self._ids:
            raise self.error(place, f"{name}={id!r} occurs at {self._ids[id]} too, it is unique")
        self._ids[id] = place
        return id

    def finite(self, place: str, name: str, text: str) -> float:
        """Return a finite number."""
        try:
            value = float(plain(text))
        except ValueError:
            raise self.error(place, f"{name}={text!r} is not a number") from None
        if not math.isfinite(value):
            raise self.error(place, f"{name}={text} is not finite")
        return value

    def time(self, place: str, name: str, value: Any) -> datetime | None:
        """Return a wall-clock time; None where it is unknown."""
        if value is None:
            return None
        try:
            if not isinstance(value, str):
                raise ValueError("is not text")
            return clock(value)
        except ValueError as error:
            raise self.error(place, f"{name}={value!r} {error}") from None

    def limit(self, place: str, what: str, value: float | None, most: int) -> None:
        """Refuse a number that no job can have."""
        if value is not None and abs(value) > most:
            raise self.error(place, f"{what}: {value:g} is above {most:,}")

    # rows

    def skip(self, place: str, reason: str, ran: tuple[Moment, Moment] = (None, None)) -> None:
        """Count a row without a usable job; note when it ran, if it ended before it started."""
        self._counts[reason] += 1
        if len(self._skipped[reason]) < SHOWN:
            self._skipped[reason].append(place)
        start, end = (None if at is None else self._second(place, at) for at in ran)
        if start is not None and end is not None and end < start:
            self._backwards.append((place, start, end))

    def offer(
        self,
        place: str,
        id: str,
        time: datetime | float | None,
        duration: float | None,
        gpus: int,
        *,
        user: str = "",
        weight: float = 1.0,
        tag: str = "",
        ran: tuple[Moment, Moment] = (None, None),
        **more: Any,
    ) -> bool:
        """Keep a row as a job, or count why it is none; say which."""
        if gpus == 0:
            self.skip(place, "no GPUs")
        elif time is None:
            self.skip(place, "unknown submission")
        elif duration is None:
            self.skip(place, "unknown duration")
        elif duration == 0:
            self.skip(place, "zero duration")
        else:
            if not (gpus <= MOST_GPUS and abs(duration) <= MOST_SECONDS):
                self.limit(place, "GPUs", gpus, MOST_GPUS)
                self.limit(place, "seconds of the run time", duration, MOST_SECONDS)
            work = max(1, math.ceil(round(duration, 6)))
            began, ended = ran
            row = (
                self._second(place, time),
                place,
                None if began is None else self._second(place, began),
                None if ended is None else self._second(place, ended),
                *(id, gpus, work, intern(user), weight, tag, more),
            )
            self._found.append(_Found._make(row))
            return True
        return False

    def _second(self, place: str, time: datetime | float) -> int:
        """A time in whole seconds, rounded down."""
        if not isinstance(time, datetime):
            self.limit(place, "seconds of a time", time, MOST_SECONDS)
            return math.floor(round(time, 6))
        since = time - EPOCH
        second = since.days * 86_400 + since.seconds
        if not -MOST_SECONDS < second < MOST_SECONDS:
            self.limit(place, "seconds of a time", since.total_seconds(), MOST_SECONDS)
        return second

    # the outcome

    def first(self) -> int | None:
        """Return the first submission kept."""
        return min((row.time for row in self._found), default=None)

    def first_time(self) -> datetime | None:
        """Return the first submission kept, where times are wall-clock times."""
        first = self.first()
        return None if first is None else EPOCH + timedelta(seconds=first)

    def trace(
        self,
        *,
        origin: str | datetime | None = None,
        users: Iterable[User] | None = None,
        tally: str = "",
        notes: Iterable[str] = (),
        **more: Any,
    ) -> Trace:
        """Return the trace of the kept rows, from the first submission on; `more` is of Trace."""
        first = self.first() or 0
        ids = sorted({row.user for row in self._found} - {""})
        times = [row.time for row in self._found]
        order = sorted(range(len(times)), key=times.__getitem__)
        found = [self._found[i] for i in order]
        made = [self._job(row, first) for row in found]
        return Trace(
            name=self.path.name.split(".")[0],
            jobs=tuple(made),
            users=tuple(users if users is not None else map(User, ids)),
            origin=None if origin is None else str(origin),
            rows=tuple(
                LogRow._make(
                    (
                        row.place,
                        i,
                        None if row.start is None else row.start - first,
                        None if row.end is None else row.end - first,
                    )
                )
                for i, row in zip(order, found, strict=True)
            ),
            report=ReadReport(
                read=self.rows,
                skipped=self._counts,
                places=self._skipped,
                notes=(*self._order(), *self._tally(tally), *notes),
                backwards=tuple(self._backwards),
            ),
            **more,
        )

    def _job(self, row: _Found, first: int) -> Job:
        try:
            return self.kind(
                id=row.id, gpus=row.gpus, release=row.time - first, work=row.work, user=row.user,
                weight=row.weight, **row.more,
            )  # fmt: skip
        except ValueError as error:
            raise self.error(row.place, str(error)) from None

    def _order(self) -> list[str]:
        """Return a note of the jobs that stand below a later one."""
        pairs = zip(self._found, self._found[1:], strict=False)
        late = [row.place for before, row in pairs if row.time < before.time]
        return [f"out of order: {_placed(len(late), late[:SHOWN])}, sorted"] if late else []

    def _tally(self, what: str) -> list[str]:
        if not what:
            return []
        counts = Counter(row.tag for row in self._found)
        listed = ", ".join(f"{tag}: {count:,}" for tag, count in sorted(counts.items()))
        return [f"{what} of the jobs: {listed}"]


#: what logs, Slurm, kubectl, Go, pandas, R, MySQL and spreadsheets write for no value
NOTHING = r"""
    - -- \N NA N/A n/a #N/A <NA> NaN nan NAN -nan NaT None none NONE null Null NULL nil <nil>
    <none> Unknown unknown UNKNOWN <unknown> undefined
"""
UNKNOWN = frozenset(("", *NOTHING.split()))
EPOCH = datetime(1970, 1, 1)
TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d", re.ASCII)


def plain(text: str) -> str:
    """Return a number's text; refuse what Python takes for one and logs do not write.

    Examples
    --------
    >>> plain("12.5")
    '12.5'
    """
    if not text.isascii() or "_" in text:
        raise ValueError
    return text


def clock(text: str) -> datetime | None:
    """Return a time of the form ``2017-10-07 01:12:09``; None where the log has none.

    The date may also be followed by a ``T``.

    Examples
    --------
    >>> clock("2017-10-07 01:12:09").hour, clock("None")
    (1, None)
    """
    if text in UNKNOWN:
        return None
    try:
        if TIME.fullmatch(text):
            return datetime.fromisoformat(text)
    except ValueError:  # such as a month 13
        pass
    raise ValueError("is not a time of the form 2017-10-07 01:12:09")
