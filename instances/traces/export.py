"""Reader of a cluster's own export: any table of jobs whose columns are guessed or given.

A table has one row a job and names its columns. What a column means is its *role*; which column has
which role follows from its name (:data:`NAMES`) or is given. How times and durations are written
follows from all values of the column, never from one row: the same text means the same everywhere.
Whatever was guessed stands in the notes of the report.
"""

from __future__ import annotations

import csv
import math
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from importlib.resources import files
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..display import near
from ..io import text_lines
from ..model import DeadlineJob
from ..tables import parquet_columns, parquet_head
from .trace import MOST_GPUS, MOST_SECONDS, UNKNOWN, Reading, Trace
from .tres import tres_ids
from .values import NumberColumn, Numbers, TextColumn, durations, gpus, name_and_unit, times

__all__ = ["NAMES", "read_csv", "read_parquet"]

#: names of columns by role, the best first; compared in small letters without other signs; those of
#: times and durations without a unit at the end, which no other role has: gpu_hours are no GPUs
NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        role: tuple(names.split())
        for role, names in tomllib.loads(
            files("gangsched.instances.data").joinpath("roles.toml").read_text("utf-8")
        ).items()
    }
)
#: roles of times
CLOCKS: tuple[str, ...] = ("submit", "start", "end")
#: roles whose columns may have a unit
TIMED = (*CLOCKS, "duration", "deadline")
#: roles that give the GPUs: the first alone, or the other two
GPU_ROLES = ("gpus", "nodes", "gpus_per_node")
#: days from 1990 to 2100 as spreadsheets count them, and where they begin
SHEETS_BEGIN = datetime(1899, 12, 30)
SHEET_DAYS = range(*((datetime(year, 1, 1) - SHEETS_BEGIN).days for year in (1990, 2101)))
#: of a table; each takes about a kilobyte of memory, however small the file is
MOST_ROWS = 5 * 10**6
#: value of keeping a deadline, as in Gao et al. (2024)
REWARD = 100


def read_csv(
    path: str | Path,
    *,
    columns: str | Mapping[str, str] | None = None,
    tres: str | None = None,
) -> Trace:
    r"""Read any table of jobs in CSV or a relative of it; columns are guessed or given.

    Parameters
    ----------
    path : str or Path
        Plain or gzip, UTF-8. The first line names the columns; they are separated by commas,
        semicolons, tabs or bars, whichever divides the lines evenly.
    columns : str or mapping, optional
        Columns by role, such as ``{"submit": "queued at", "gpus": "n"}`` or the text
        ``"submit=queued at,gpus=n"``. Roles: submit, start, end (times), duration, gpus (or nodes
        and gpus_per_node), user, id, state, model, priority, deadline. The other roles are guessed;
        the last three only by the names that :func:`write_trace` gives them. An empty name leaves a
        role out.
    tres : str, optional
        Numbers of the resources that are GPUs, such as ``"1001,1002"``, where GPUs are written as
        Slurm's resources with numbers for names (``1=8,1001=4``).

    Returns
    -------
    Trace
        Job ids are those of the file; ``row1``, ``row2``, ... where it has none, or where those
        that were guessed are not unique. Of :class:`~gangsched.instances.DeadlineJob` where
        deadlines are given.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If columns are missing (all of them in one message, with those that there are), or a value
        is not what its column holds; the message names file, line, value and rule.

    Notes
    -----
    - Needed: gpus; submit or start; duration, or start and end. Jobs without a submission are
      submitted when they start.
    - Times: ISO 8601 with or without fractions and zone, ``202401311345`` or other forms where one
      fits all values, or numbers. Numbers are times since 1970 in seconds or parts of them where
      that is from 1990 to 2100; below 631,152,000 they are seconds since anywhere. Times with a
      zone are turned into UTC. The year 1, which stands for no time in Go, is unknown.
    - Numbers may have a comma as their point or between thousands, where the column shows which.
    - Durations: numbers in the unit that the column's name ends in (``_ms``, ``(h)``), else the
      unit in which they agree with end - start, else seconds (those of minutes, hours and days
      rounded to the nearest second); ``H:M:S``, ``D-H:M:S``,
      ``1 day, 2:03:04``, ``1h 30m``, ``PT90S``. Where there are both, the duration counts.
    - Skipped and counted: no GPUs, a fraction of a GPU, unknown submission, unknown duration, zero
      duration, an end before the start, a deadline that is not after the submission.
    - GPUs: numbers, or Slurm's resources as :func:`read_sacct` understands them.
    - The weight of a job is its priority, its pin the model; a deadline, a time or a duration after
      the submission, is worth 100.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "export.csv"
    >>> _ = path.write_text("job,owner,n,queued,took_h\n7,ann,2,2024-05-01T09:30:00Z,1.5\n")
    >>> trace = read_csv(path, columns="gpus=n,duration=took_h")
    >>> trace.jobs[0].work, trace.jobs[0].user, trace.origin
    (5400, 'ann', '2024-05-01 09:30:00 UTC')
    >>> print(trace.report.notes[0])
    columns: id=job, user=owner, gpus=n, submit=queued (ISO 8601, in UTC), duration=took_h (h)
    """
    reading, given = Reading(path), _given(columns)
    return trace_of(csv_table(reading, given), given, tres=tres_ids(tres))


def read_parquet(
    path: str | Path,
    *,
    columns: str | Mapping[str, str] | None = None,
    tres: str | None = None,
) -> Trace:
    """Read any table of jobs in Parquet, all else as for CSV.

    Parameters
    ----------
    path : str or Path
    columns : str or mapping, optional
    tres : str, optional

    Returns
    -------
    Trace

    Raises
    ------
    ModuleNotFoundError
        Without pyarrow, see the extra ``[parquet]``.
    OSError, ValueError
        As :func:`read_csv`.
    """
    reading, given = Reading(path), _given(columns)
    names, count = parquet_head(path)
    if count > MOST_ROWS:
        raise ValueError(f"{path}: {count:,} rows, more than {MOST_ROWS:,}")
    wanted = dict.fromkeys(_roles(reading, names, given).values())
    texts: dict[str, list[str]] = {name: [] for name in wanted}
    for name, values in parquet_columns(path, list(wanted)):
        texts[name] += map(_text, values)
    places = [f"row {i + 1}" for i in range(count)]
    return trace_of(ExportTable(reading, places, names, texts), given, tres=tres_ids(tres))


def _text(value: Any) -> str:
    """A value of Parquet as CSV would have it."""
    if value is None or value != value:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.6f}s"
    return str(value)


# --- tables --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExportTable:
    """Texts by column, and where each row stands."""

    reading: Reading
    places: Sequence[str]
    names: Sequence[str]
    texts: Mapping[str, Sequence[str]]

    def column(self, role: str, name: str) -> TextColumn:
        """Return the column that has a role."""
        return TextColumn(self.reading, role, name, self.places, self.texts[name])


def csv_table(
    reading: Reading,
    given: Mapping[str, str],
    names: Sequence[str] = (),
    more: Collection[str] = (),
) -> ExportTable:
    """Read a table of CSV.

    Parameters
    ----------
    reading : Reading
    given : mapping
        Columns by role.
    names : sequence of str
        Its columns where no line of the file names them.
    more : collection of str
        Columns to be kept besides those that have a role.
    """
    lines = enumerate(text_lines(reading.path))
    before, top = next(((i, line) for i, line in lines if line.strip()), (0, ""))
    if not top:
        raise reading.error("line 1", "the file is empty")
    told = re.fullmatch(r"sep=(.)", top.strip())
    head = [] if told else [top]
    head += (line for _, line in islice(lines, 49))
    delimiter = told[1] if told else _delimiter(head)
    rest = chain(head, (line for _, line in lines))
    rows = _rows(reading, rest, delimiter, before + (told is not None))
    first, found = next(rows, ("line 1", []))
    if names and not set(names) & set(found):
        rows = chain([(first, found)], rows)
    else:
        names = [re.sub(r"[\r\n]+", " ", name) for name in found]
    roles = _roles(reading, names, given)  # what is missing comes before what is wrong in a row
    kept = [name for name in names if name in {*roles.values(), *more}]
    places: list[str] = []
    texts: dict[str, list[str]] = {name: [] for name in kept}
    columns = [(names.index(name), texts[name].append) for name in kept]
    for place, fields in rows:
        if len(fields) != len(names):
            raise reading.error(place, f"{len(fields)} fields, not the {len(names)} of the header")
        if len(places) == MOST_ROWS:
            raise reading.error(place, f"more than {MOST_ROWS:,} rows")
        places.append(place)
        for i, keep in columns:
            keep(fields[i])
    return ExportTable(reading, places, names, texts)


def _delimiter(lines: Sequence[str]) -> str:
    """The sign that divides the first lines into equally many fields, and into the most."""

    def fields(sign: str) -> tuple[bool, int]:
        try:
            counts = {len(row) for row in csv.reader(lines, delimiter=sign) if row}
        except csv.Error:
            return False, 0
        return len(counts) == 1, max(counts)

    divided = {sign: fields(sign) for sign in ",;\t|"}
    return max(divided, key=lambda sign: (divided[sign][1] > 1, divided[sign]))


def _rows(
    reading: Reading, lines: Iterable[str], delimiter: str, before: int
) -> Iterator[tuple[str, list[str]]]:
    found = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for fields in found:
            if fields:
                yield f"line {found.line_num + before}", [field.strip() for field in fields]
    except csv.Error as error:
        raise reading.error(f"line {found.line_num + before}", f"not CSV: {error}") from None


# --- roles ---------------------------------------------------------------------------------------


def _given(columns: str | Mapping[str, str] | None) -> dict[str, str]:
    """Columns by role, as they were given."""
    if columns is None or isinstance(columns, Mapping):
        given = dict(columns or {})
    else:
        given = {}
        for part in columns.split(","):
            role, sign, name = (text.strip() for text in part.partition("="))
            if not sign or role in given:
                raise ValueError(f"columns: {part.strip()!r} is not role=column, each role once")
            given[role] = name
    for role in given:
        if role not in NAMES:
            known = f"{', '.join(NAMES)}{near(role, NAMES)}"
            raise ValueError(f"columns: {role!r} is not one of {known}")
    return given


def _roles(reading: Reading, names: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """The name of the column of each role that has one."""
    for name in filter(None, names):
        if names.count(name) > 1:
            raise ValueError(f"{reading.path}: column {name!r} occurs {names.count(name)} times")
    chosen: dict[str, str] = {}
    plain = {name: name_and_unit(name) for name in names}
    for role, name in given.items():
        same = [own for own in names if own.lower() == name.lower()]
        if name and name not in names and len(same) != 1:
            found = f"no column {name!r} for {role}; found: {', '.join(names)}"
            raise ValueError(f"{reading.path}: {found}{near(name, names)}")
        if name:
            chosen[role] = name if name in names else same[0]
    for role, known in NAMES.items():
        free = {own: plain[own] for own in names if own not in chosen.values()}
        ranks = {
            own: known.index(name)
            for own, (name, unit) in free.items()
            if name in known and (unit is None or role in TIMED)
        }
        if role not in given and ranks:
            chosen[role] = min(ranks, key=lambda own: ranks[own])
    for role in GPU_ROLES[1:] if "gpus" in chosen else ():
        chosen.pop(role, None)
    missing = []
    if not {"submit", "start"} & set(chosen):
        missing.append("submit")
    if "gpus" not in chosen and not set(GPU_ROLES[1:]) <= set(chosen):
        missing.append("gpus")
    if "duration" not in chosen and not {"start", "end"} <= set(chosen):
        missing.append("duration (or start and end)")
    if missing:
        raise ValueError(
            f"{reading.path}: no column for {', '.join(missing)}; found: {', '.join(names)}; name "
            "them, such as columns='submit=...,gpus=...'"
        )
    return {role: chosen[role] for role in NAMES if role in chosen}


# --- rows ----------------------------------------------------------------------------------------


def trace_of(
    table: ExportTable,
    given: Mapping[str, str],
    *,
    tres: Collection[str] = (),
    whole: int = 1,
    strict: bool = True,
) -> Trace:
    """Return the trace of a table: its columns in seconds and GPUs, then its rows as jobs.

    Parameters
    ----------
    table : ExportTable
    given : mapping
        Columns by role.
    tres : collection of str
        Numbers of Slurm's resources that are GPUs.
    whole : int
        How the table writes a whole GPU, such as 100 for percent.
    strict : bool
        Whether ids that were given have to be unique.
    """
    reading = table.reading
    chosen = _roles(reading, table.names, given)
    roles = {role: table.column(role, name) for role, name in chosen.items()}
    notes = {role: f"{role}={column.name}" for role, column in roles.items()}
    clocks = {role: times(roles[role]) for role in CLOCKS if role in roles}
    _check_clocks(reading, clocks.values())
    nothing: Numbers = [None] * len(table.places)
    start, end = (clocks[role].numbers if role in clocks else nothing for role in CLOCKS[1:])
    spans = _less(end, start)
    read = dict(clocks)
    if "duration" in roles:
        read["duration"] = durations(roles["duration"], spans)
    submit = clocks.get("submit") or clocks["start"]
    if "deadline" in roles:
        reading.kind, read["deadline"] = DeadlineJob, _deadlines(roles["deadline"], submit)
    notes |= {role: str(values) for role, values in read.items()}
    ids, remark = _ids(table, roles.get("id"), strict and "id" in given)
    found = Numbered(
        gpus=_product(whole, *(gpus(roles[role], tres) for role in GPU_ROLES if role in roles)),
        submit=submit.numbers,
        duration=read["duration"].numbers if "duration" in read else spans,
        weight=roles["priority"].numbers() if "priority" in roles else nothing,
        deadline=read["deadline"].numbers if "deadline" in read else nothing,
        start=start,
        end=end,
    )
    for i, id in enumerate(ids):
        reading.rows += 1
        _offer(reading, table.places[i], id, {r: c.texts[i] for r, c in roles.items()}, found, i)
    used = {column.name for column in roles.values()}
    unread = ", ".join(name for name in table.names if name not in used)
    return reading.trace(
        origin=_origin(reading, submit),
        tally="state" if "state" in roles else "",
        notes=[
            f"columns: {', '.join(notes.values())}",
            *remark,
            *([f"not read: {unread}"] if unread else []),
            *(["jobs are submitted when they start"] if "submit" not in clocks else []),
        ],
        submitted="submit" in clocks,
    )


class Numbered(NamedTuple):
    """Columns as numbers: GPUs, seconds, weights."""

    gpus: Numbers
    submit: Numbers
    duration: Numbers
    weight: Numbers
    deadline: Numbers
    start: Numbers
    end: Numbers


def _offer(
    reading: Reading, place: str, id: str, texts: Mapping[str, str], found: Numbered, i: int
) -> None:
    """Turn a row into a job, or count the reason why it is not one."""
    count, _, duration, weight, deadline, start, end = (column[i] for column in found)
    reading.limit(place, "GPUs", count, MOST_GPUS)
    reading.limit(place, "seconds to the deadline", deadline, MOST_SECONDS)
    more: dict[str, Any] = {"pin": texts["model"]} if "model" in texts else {}
    if count is None:
        reading.skip(place, "unknown GPUs")
    elif not count.is_integer():
        reading.skip(place, "a fraction of a GPU")
    elif duration is not None and duration < 0:
        reading.skip(place, "an end before the start", (start, end))
    elif deadline is not None and deadline < 1:
        reading.skip(place, "a deadline not after the submission")
    else:
        if deadline is not None:
            more["rewards"] = [(int(deadline), REWARD)]
        if weight is not None:
            more["weight"] = weight
        user = texts.get("user", "")
        reading.offer(
            place,
            id,
            time=found.submit[i],
            duration=duration,
            gpus=int(count),
            user="unknown" if "user" in texts and user in UNKNOWN else user,
            tag=texts.get("state", ""),
            ran=(start, end),
            **more,
        )


def _product(whole: int, *columns: Numbers) -> Numbers:
    """GPUs, or nodes times GPUs per node, in units of which so many are one."""
    rows = ([n for n in row if n is not None] for row in zip(*columns, strict=True))
    return [math.prod(row) / whole if len(row) == len(columns) else None for row in rows]


def _less(later: Numbers, sooner: Numbers) -> Numbers:
    """Differences of two columns of times."""
    both = zip(later, sooner, strict=True)
    return [None if a is None or b is None else a - b for a, b in both]


def _check_clocks(reading: Reading, clocks: Iterable[NumberColumn]) -> None:
    """Refuse columns of times that cannot be compared, or that spreadsheets may have written."""
    known = [values for values in clocks if any(n is not None for n in values.numbers)]
    if len({(values.clock, values.utc) for values in known}) > 1:
        raise ValueError(f"{reading.path}: {'; '.join(map(str, known))}: times on different clocks")
    numbers = [n for values in known for n in values.numbers if n is not None]
    unsaid = not any(values.clock or name_and_unit(values.column.name)[1] for values in known)
    if numbers and unsaid and all(int(n) in SHEET_DAYS for n in numbers):
        column, day = known[0].column, SHEETS_BEGIN + timedelta(days=numbers[0])
        rule = f"may be days of a spreadsheet ({day:%Y-%m-%d}) or seconds: write ISO 8601, or name"
        raise column.error(known[0].numbers.index(numbers[0]), f"{rule} it {column.name}_s")


def _origin(reading: Reading, clock: NumberColumn) -> str | None:
    """The first submission as text, where times are those of a clock."""
    first = reading.first_time() if clock.clock else None
    if first is None:
        return None
    return f"{first} UTC" if clock.utc else str(first)


def _ids(table: ExportTable, column: TextColumn | None, given: bool) -> tuple[list[str], list[str]]:
    """Names of the jobs, and a remark where those of the file are not unique."""
    rows = [f"row{i + 1}" for i in range(len(table.places))]
    if column is None:
        return rows, []
    seen: dict[str, str] = {}
    for i, (place, text) in enumerate(zip(table.places, column.texts, strict=True)):
        if not text or text in seen:
            what = f"occurs at {seen[text]} too" if text else "is empty"
            if given:
                raise column.error(i, f"{what}, it is unique")
            return rows, [f"{column.name} is no id: at {place} {text!r} {what}"]
        seen[text] = place
    return list(column.texts), []


def _deadlines(column: TextColumn, submit: NumberColumn) -> NumberColumn:
    """Seconds from the submission to the deadline, which is a time or a duration."""
    if column.written_as_duration:
        return replace(read := durations(column, []), form=f"{read.form} after the submission")
    read = times(column)
    if not read.clock:
        return replace(read, form=f"{read.form} after the submission")
    _check_clocks(column.reading, [submit, read])
    return replace(read, numbers=_less(read.numbers, submit.numbers))
