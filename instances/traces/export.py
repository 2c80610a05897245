"""Reader of a cluster's own export: any table of jobs whose columns are guessed or given.

A table has one row a job and names its columns. What a column means is its *role*, which is given
or follows from names and values (:mod:`.roles`). How times and durations are written follows from
all values of the column, never from one row: the same text means the same everywhere. Whatever was
guessed stands in the notes of the report, with what it was checked by.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np

from ..io import text_lines
from ..model import DeadlineJob
from ..tables import parquet_columns, parquet_head
from .names import ROLES, check_header, given_columns, may_matter, named_column, own_columns
from .roles import Roles, find_roles
from .trace import MOST_GPUS, MOST_SECONDS, UNKNOWN, Reading, Trace
from .tres import gpu_model, tres_ids
from .values import (
    UNITS,
    ExportTable,
    NumberColumn,
    Numbers,
    TextColumn,
    durations,
    gpus,
    name_and_unit,
    times,
)

__all__ = ["read_csv", "read_parquet"]

#: roles that give the GPUs of a job: the first alone, or the product of two others
EACH = (("gpus_per_node", "nodes"), ("gpus_per_task", "tasks"))
#: days from 1990 to 2100 as spreadsheets count them, and where they begin
SHEETS_BEGIN = datetime(1899, 12, 30)
SHEET_DAYS = range(*((datetime(year, 1, 1) - SHEETS_BEGIN).days for year in (1990, 2101)))
#: rows after which columns that can have no role are no longer kept
LOOKED_AT = 2000
#: of a table; each takes about a kilobyte of memory, however small the file is
MOST_ROWS = 5 * 10**6
#: states of jobs that have not ended, as Slurm and Kubernetes have them
UNFINISHED = frozenset(("RUNNING", "SUSPENDED", "PENDING", "COMPLETING", "REQUEUED"))
#: steps of Slurm's jobs
STEP = re.compile(r"(?P<job>.+)\.(?P<step>batch|extern|interactive|\d+)", re.ASCII)
#: why a row is no job that the audit looks at too
BACKWARDS = "an end before the start"
#: share of ids that have to be different where some occur again
MOSTLY = 0.9
#: value of keeping a deadline, as in Gao et al. (2024)
REWARD = 100


def read_csv(
    path: str | Path,
    *,
    columns: str | Mapping[str, str] | None = None,
    tres: str | None = None,
    models: Collection[str] = (),
) -> Trace:
    r"""Read any table of jobs in CSV or a relative of it; columns are found out or given.

    Parameters
    ----------
    path : str or Path
        Plain or gzip, UTF-8. The first line names the columns; they are separated by commas,
        semicolons, tabs or bars, whichever divides the lines evenly.
    columns : str or mapping, optional
        Columns by role, such as ``{"submit": "queued at", "gpus": "n"}`` or the text
        ``"submit=queued at,gpus=n"``. Roles: submit, eligible, start, end (times), duration, limit,
        wait, gpus (or gpus_per_node and nodes, or gpus_per_task and tasks), user, queue, id, state,
        after (ids of jobs that come before), model, priority, deadline; the last three are found
        only by the names that :func:`write_trace` gives them. An empty name leaves a role out. A
        unit may follow, ``duration=runtime:ms``, and after a deadline whether it is a time of the
        submissions' clock or counts from the submission, ``deadline=ddl:at`` or ``:after``.
    tres : str, optional
        Numbers of the resources that are GPUs, such as ``"1001,1002"``, where GPUs are written as
        Slurm's resources with numbers for names (``1=8,1001=4``).
    models : collection of str
        GPU models of the cluster: a column that has nothing else is the model of each job, and so
        is a type in Slurm's resources (``gres/gpu:a100=4``).

    Returns
    -------
    Trace
        Job ids are those of the file; ``row1``, ``row2``, ... where it has none. Of
        :class:`~gangsched.instances.DeadlineJob` where deadlines are given.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If columns are missing (all of them in one message, with those that there are), two readings
        are equally good (the message asks, and names both), or a value is not what its column
        holds; the message names file, line, value and rule.

    Notes
    -----
    - Needed: gpus; submit or start; duration, or start and end. Without a submission, or a wait
      before the start, jobs are submitted when they start, and nothing is known of waits.
    - Which column has a role follows from names and values, see :mod:`.roles`; what it was checked
      by stands in the report. A column that is not needed and does not parse is left aside.
    - Times: ISO 8601 with or without fractions and zone, ``202401311345`` or other forms where one
      fits all values, or numbers. Numbers are times since 1970 in seconds or parts of them where
      that is from 1990 to 2100; below 631,152,000 they are seconds since anywhere. Times with a
      zone are turned into UTC. The year 1, which stands for no time in Go, is unknown.
    - A job is released when it was submitted, or later where it was not eligible yet.
    - Numbers may have a comma as their point or between thousands, where the column shows which.
    - Durations: numbers in the unit that the column's name ends in (``_ms``, ``(h)``), else the
      unit in which they agree with end - start, else that of the other times, else seconds (those
      of minutes, hours and days rounded to the nearest second); ``H:M:S``, ``D-H:M:S``,
      ``1 day, 2:03:04``, ``1h 30m``, ``PT90S``. Where there are both, the duration counts.
    - Skipped and counted: job step, never started, still running, an end before the start, no GPUs,
      a fraction of a GPU, unknown submission, unknown duration, zero duration, a deadline that is
      not after the submission.
    - GPUs: numbers, or Slurm's resources as :func:`read_sacct` understands them. GPUs of each node
      or pod are on one node together.
    - The weight of a job is its priority, its pin the model; a deadline is worth 100.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "export.csv"
    >>> _ = path.write_text("job,owner,n,queued,took_h\n7,ann,2,2024-05-01T09:30:00Z,1.5\n")
    >>> trace = read_csv(path, columns="gpus=n")
    >>> trace.jobs[0].work, trace.jobs[0].user, trace.origin
    (5400, 'ann', '2024-05-01 09:30:00 UTC')
    >>> print(trace.report.notes[0])
    columns: id=job, user=owner, gpus=n, submit=queued (ISO 8601, in UTC), duration=took_h (h)
    """
    reading, given = Reading(path), given_columns(columns)
    return trace_of(csv_table(reading, given), given, tres=tres_ids(tres), models=models)


def read_parquet(
    path: str | Path,
    *,
    columns: str | Mapping[str, str] | None = None,
    tres: str | None = None,
    models: Collection[str] = (),
) -> Trace:
    """Read any table of jobs in Parquet, all else as for CSV.

    Parameters
    ----------
    path : str or Path
    columns : str or mapping, optional
    tres : str, optional
    models : collection of str

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
    reading, given = Reading(path), given_columns(columns)
    names, count = parquet_head(path)
    if count > MOST_ROWS:
        raise ValueError(f"{path}: {count:,} rows, more than {MOST_ROWS:,}")
    fixed = named_columns(reading, names, given)
    wanted = [n for n in _wanted(reading, names, given) if n in fixed or may_matter(n, ())]
    texts: dict[str, list[str]] = {name: [] for name in wanted}
    for name, values in parquet_columns(path, wanted):
        texts[name] += map(_text, values)
    places = [f"row {i + 1}" for i in range(count)]
    table = ExportTable(reading, places, names, texts)
    return trace_of(table, given, tres=tres_ids(tres), models=models)


def named_columns(reading: Reading, names: Sequence[str], given: Mapping[str, str]) -> set[str]:
    """The columns that are given, without the units behind their names."""
    empty = ExportTable(reading, [], names, {})
    return {named_column(empty, role, text)[0] for role, text in given.items() if text}


def _wanted(
    reading: Reading, names: Sequence[str], given: Mapping[str, str], more: Collection[str] = ()
) -> list[str]:
    """The columns that may have a role, by their names; those that are given are there."""
    for name in filter(None, names):
        if names.count(name) > 1:
            raise ValueError(f"{reading.path}: column {name!r} occurs {names.count(name)} times")
    empty = ExportTable(reading, [], names, {})
    fixed = named_columns(reading, names, given)
    check_header(empty, {**own_columns(names), **given})
    guessed = () if set(given) == set(ROLES) else names
    return [name for name in names if name in {*fixed, *more} or name in guessed]


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


def csv_table(
    reading: Reading,
    given: Mapping[str, str],
    names: Sequence[str] = (),
    more: Collection[str] = (),
    delimiter: str = "",
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
        Columns to be kept besides those that may have a role.
    delimiter : str
        The sign between fields; by default the one that divides the first lines evenly.
    """
    lines = enumerate(text_lines(reading.path))
    before, top = next(((i, line) for i, line in lines if line.strip()), (0, ""))
    if not top:
        raise reading.error("line 1", "the file is empty")
    told = re.fullmatch(r"sep=(.)", top.strip())
    head = [] if told else [top]
    head += (line for _, line in islice(lines, 49))
    above = _above(head)
    delimiter = delimiter or (told[1] if told else _delimiter(head[above:]))
    rest = chain(head[above:], (line for _, line in lines))
    rows = _rows(reading, rest, delimiter, before + (told is not None) + above)
    first, found = next(rows, ("line 1", []))
    if names and not set(names) & set(found):
        rows = chain([(first, found)], rows)
    else:
        names = [re.sub(r"[\r\n]+", " ", name) for name in found]
    places: list[str] = []
    texts: dict[str, list[str]] = {name: [] for name in _wanted(reading, names, given, more)}
    columns = [(names.index(name), name, texts[name].append) for name in texts]
    for place, fields in rows:
        if len(fields) != len(names):
            raise reading.error(place, f"{len(fields)} fields, not the {len(names)} of the header")
        if len(places) == MOST_ROWS:
            raise reading.error(place, f"more than {MOST_ROWS:,} rows")
        if len(places) == LOOKED_AT:
            known = {*named_columns(reading, names, given), *more}
            columns = [c for c in columns if c[1] in known or may_matter(c[1], texts[c[1]])]
            texts = {name: texts[name] for _, name, _ in columns}
        places.append(place)
        for i, _, keep in columns:
            keep(fields[i])
    return ExportTable(reading, places, names, texts)


def _above(lines: Sequence[str]) -> int:
    """How many lines stand above the names of columns: comments, and titles of one field."""
    for i, line in enumerate(lines[:-1]):
        below = next((later for later in lines[i + 1 :] if later.strip()), "")
        even = any(line.count(sign) == below.count(sign) > 0 for sign in ",;\t|")
        comment = line.startswith("#") and (below.startswith("#") or not even)
        fields = {*re.split(r"[,;\t|]", line.strip())} - {""}
        if not comment and not (len(fields) <= 1 and re.search(r"[,;\t|]", below)):
            return i
    return 0


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
    quoting = csv.QUOTE_NONE if delimiter == "|" else csv.QUOTE_MINIMAL  # as sacct has it
    found = csv.reader(lines, delimiter=delimiter, strict=True, quoting=quoting)  # type: ignore[arg-type]
    try:
        for fields in found:
            if fields:
                yield f"line {found.line_num + before}", [field.strip() for field in fields]
    except csv.Error as error:
        raise reading.error(f"line {found.line_num + before}", f"not CSV: {error}") from None


# --- rows ----------------------------------------------------------------------------------------


def trace_of(
    table: ExportTable,
    given: Mapping[str, str],
    *,
    tres: Collection[str] = (),
    models: Collection[str] = (),
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
    models : collection of str
        GPU models of the cluster.
    whole : int
        How the table writes a whole GPU, such as 100 for percent.
    strict : bool
        Whether ids that were given have to be unique.
    """
    reading = table.reading
    strict = strict and "id" in given
    given = {**own_columns(table.names), **given}
    roles = find_roles(table, given, models=models, tres=tres)
    columns = {role: table.column(role, name) for role, name in roles.columns.items()}
    read = dict(roles.read)
    _check_sheets(reading, [read[role] for role in ("submit", "start", "end") if role in read])
    submit, late = _released(read)
    if "deadline" in columns:
        how = roles.units.get("deadline", "")
        reading.kind, read["deadline"] = DeadlineJob, _deadlines(columns["deadline"], read, how)
    ids, remark = _ids(table, columns.get("id"), strict)
    count, pod = _gpus(table, roles, columns, tres, whole)
    rows = _Rows(
        ids=ids,
        texts={role: column.texts for role, column in columns.items()},
        after=_after(columns["after"], ids) if "after" in columns else [()] * len(ids),
        model=_models(table, roles, columns, models),
        gpus=count,
        pod=pod,
        submit=submit,
        weight=columns["priority"].numbers() if "priority" in columns else [None] * len(ids),
        **_timed(read, submit, len(ids)),
    )
    for i, place in enumerate(table.places):
        reading.rows += 1
        rows.offer(reading, place, i)
    notes = {role: str(read.get(role, f"{role}={column.name}")) for role, column in columns.items()}
    used = {*roles.columns.values(), *roles.resources}
    unread = ", ".join(name for name in table.names if name not in used)
    clock = read.get("submit") or read["start"]
    return reading.trace(
        origin=_origin(reading, clock),
        tally="state" if "state" in columns else "",
        notes=[
            f"columns: {', '.join(notes.values())}",
            *([f"checked: {', '.join(roles.checked)}"] if roles.checked else []),
            *remark,
            *(
                [f"released when they were eligible, later than submitted: {late:,}"]
                if late
                else []
            ),
            *([f"not read: {unread}"] if unread else []),
            *([] if "submit" in read or "wait" in read else ["jobs are submitted when they start"]),
        ],
        submitted="submit" in read or "wait" in read,
        steps={role: c.step for role, c in read.items() if role in STEPPED and c.step > 1},
        doubts=roles.doubts,
    )


#: roles whose steps a trace keeps
STEPPED = ("submit", "start", "end", "duration")


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Columns as numbers: GPUs, seconds, weights; and what is told in texts."""

    ids: Sequence[str]
    texts: Mapping[str, Sequence[str]]
    after: Sequence[tuple[str, ...]]
    model: Sequence[str]
    gpus: Numbers
    pod: Sequence[int]
    submit: Numbers
    start: Numbers
    end: Numbers
    duration: Numbers
    limit: Numbers
    deadline: Numbers
    weight: Numbers

    def offer(self, reading: Reading, place: str, i: int) -> None:
        """Turn a row into a job, or count the reason why it is not one."""
        count, deadline = self.gpus[i], self.deadline[i]
        reading.limit(place, "GPUs", count, MOST_GPUS)
        reading.limit(place, "seconds to the deadline", deadline, MOST_SECONDS)
        if reason := self._unusable(i):
            backwards = (self.start[i], self.end[i]) if reason == BACKWARDS else (None, None)
            reading.skip(place, reason, backwards)
            return
        assert count is not None
        user = self._text("user", i)
        reading.offer(
            place,
            self.ids[i],
            time=self.submit[i],
            duration=self.duration[i],
            gpus=int(count),
            user="unknown" if "user" in self.texts and user in UNKNOWN else user,
            tag=self._state(i),
            ran=(self.start[i], self.end[i]),
            **self._more(i),
        )

    def _unusable(self, i: int) -> str:
        """Why a row is no job, if it is none."""
        state, start, end = self._state(i).upper(), self.start[i], self.end[i]
        duration, count, deadline = self.duration[i], self.gpus[i], self.deadline[i]
        if "id" in self.texts and STEP.fullmatch(self.ids[i]) and self._is_step(i):
            return "job step"
        waiting = not duration or state in UNFINISHED or state.startswith("CANCELLED")
        if "start" in self.texts and start is None and waiting:
            return "never started"
        unknown = end is None and start is not None and ("state" in self.texts or not duration)
        if "end" in self.texts and (state in UNFINISHED or unknown):
            return "still running"
        if duration is not None and duration < 0:
            return BACKWARDS
        if count is None:
            return "unknown GPUs"
        if not count.is_integer():
            return "a fraction of a GPU"
        if deadline is not None and deadline < 1:
            return "a deadline not after the submission"
        return ""

    def _more(self, i: int) -> dict[str, Any]:
        """What not every job has."""
        limit, deadline, weight = self.limit[i], self.deadline[i], self.weight[i]
        more: dict[str, Any] = {"pin": self.model[i]} if self.model[i] else {}
        more |= {"pod": self.pod[i]} if self.pod[i] else {}
        more |= {"after": self.after[i]} if self.after[i] else {}
        more |= {"queue": intern(self._text("queue", i))} if "queue" in self.texts else {}
        more |= {"limit": math.ceil(limit)} if limit is not None and limit >= 1 else {}
        more |= {"rewards": [(int(deadline), REWARD)]} if deadline is not None else {}
        return more | ({"weight": weight} if weight is not None else {})

    def _is_step(self, i: int) -> bool:
        """Whether an id such as 12.batch or 12.0 is that of a part of a job."""
        found = STEP.fullmatch(self.ids[i])
        return found is not None and (not found["step"].isdigit() or found["job"] in self._jobs)

    @cached_property
    def _jobs(self) -> frozenset[str]:
        return frozenset(self.ids)

    def _state(self, i: int) -> str:
        """The state of a job, of which Slurm writes ``CANCELLED by 1000`` and ``OUT_OF_ME+``."""
        return self._text("state", i).split(" by ")[0].rstrip("+")

    def _text(self, role: str, i: int) -> str:
        return self.texts[role][i] if role in self.texts else ""


def _timed(read: Mapping[str, NumberColumn], submit: Numbers, count: int) -> dict[str, Numbers]:
    """Starts, ends, run times, limits and deadlines; what follows from others is filled in."""
    nothing: Numbers = [None] * count
    start, end, duration, wait, limit, deadline = (
        read[role].numbers if role in read else nothing
        for role in ("start", "end", "duration", "wait", "limit", "deadline")
    )
    if "start" not in read and "wait" in read:
        start = [
            None if a is None or b is None else a + b for a, b in zip(submit, wait, strict=True)
        ]
    spans = [None if a is None or b is None else a - b for a, b in zip(end, start, strict=True)]
    duration = [span if n is None else n for n, span in zip(duration, spans, strict=True)]
    return {"start": start, "end": end, "duration": duration, "limit": limit, "deadline": deadline}


def _released(read: Mapping[str, NumberColumn]) -> tuple[Numbers, int]:
    """When jobs are released, and how many of them later than they were submitted."""
    submit = read.get("submit")
    if submit is None and "wait" in read:
        both = zip(read["start"].numbers, read["wait"].numbers, strict=True)
        times = [None if a is None or b is None else a - b for a, b in both]
    else:
        times = list((submit or read["start"]).numbers)
    if "eligible" not in read or submit is None:
        return times, 0
    late = 0
    for i, ready in enumerate(read["eligible"].numbers):
        time = times[i]
        if ready is not None and time is not None and ready > time:
            times[i], late = ready, late + 1
    return times, late


def _gpus(
    table: ExportTable,
    roles: Roles,
    columns: Mapping[str, TextColumn],
    tres: Collection[str],
    whole: int,
) -> tuple[Numbers, Sequence[int]]:
    """GPUs of each job, in units of which so many are one; and those of each pod."""
    count, nothing = len(table.places), [0] * len(table.places)
    if "gpus" in columns:
        names = roles.resources or (columns["gpus"].name,)
        found = [gpus(table.column("gpus", name), tres) for name in names]
        nothing_named = 0.0 if roles.resources else None
        first = [
            next((n for n in row if n), row[0] if row[0] is not None else nothing_named)
            for row in zip(*found, strict=True)
        ]
        pods = columns["pod"].numbers() if "pod" in columns else nothing
        return [None if n is None else n / whole for n in first], [int(n or 0) for n in pods]
    each, many = next(pair for pair in EACH if pair[0] in columns)
    sizes, counts = gpus(columns[each], tres), gpus(columns[many])
    both = list(zip(sizes, counts, strict=True))
    product = [None if a is None or b is None else a * b / whole for a, b in both]
    if each != "gpus_per_node":
        return product, nothing
    pods = [int(a / whole) if a and b and (a / whole).is_integer() else 0 for a, b in both]
    return product, pods if count else nothing


def _models(
    table: ExportTable,
    roles: Roles,
    columns: Mapping[str, TextColumn],
    models: Collection[str],
) -> Sequence[str]:
    """The GPU model of each job, spelled as the cluster has it."""
    known = {model.casefold(): model for model in models if model}
    if "model" in columns:
        texts = columns["model"].texts
        return ["" if text in UNKNOWN else known.get(text.casefold(), text) for text in texts]
    found = [""] * len(table.places)
    for name in reversed(roles.resources) if len(known) > 1 else ():
        for i, text in enumerate(table.texts[name]):
            found[i] = known.get(gpu_model(text).casefold(), found[i])
    return found


def _after(column: TextColumn, ids: Sequence[str]) -> list[tuple[str, ...]]:
    """The jobs of the file that have to be finished before each job."""
    known = set(ids)
    found = (re.findall(r"[^\s,;:|?()]+", text) for text in column.texts)
    return [tuple(dict.fromkeys(id for id in own if id in known)) for own in found]


def _check_sheets(reading: Reading, clocks: Sequence[NumberColumn]) -> None:
    """Refuse times that a spreadsheet may have written."""
    known = [values for values in clocks if any(n is not None for n in values.numbers)]
    numbers = [n for values in known for n in values.numbers if n is not None]
    unsaid = not any(values.clock or values.unit for values in known)
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
            if not text or len(set(column.texts)) < MOSTLY * len(rows):
                return rows, [f"{column.name} is no id: at {place} {text!r} {what}"]
        seen.setdefault(text, place)
    return _numbered(column.texts)


def _numbered(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Ids with ``#2`` and so on where a job ran again, and a remark."""
    counts: Counter[str] = Counter()
    found = []
    for text in texts:
        counts[text] += 1
        found.append(text if counts[text] == 1 else f"{text}#{counts[text]}")
    again = len(texts) - len(counts)
    return found, [f"ids that occur again, as of jobs that ran again: {again:,}"] if again else []


def _deadlines(column: TextColumn, read: Mapping[str, NumberColumn], how: str) -> NumberColumn:
    """Seconds from the submission to the deadline, which is a time or counts from there."""
    submit = read.get("submit") or read["start"]
    unit = UNITS.get(how)
    later = f"{column.name}:after"
    if how == "after" or (how != "at" and column.written_as_duration):
        found = durations(column, (), unit)
        return replace(found, form=f"{found.form} after the submission")
    time = times(column, unit)
    if not time.clock and submit.clock and how != "at":
        found = durations(column, (), unit)
        return replace(found, form=f"{found.form} after the submission")
    if (time.clock, time.utc) != (submit.clock, submit.utc):
        raise ValueError(f"{column.reading.path}: {submit}; {time}: times on different clocks")
    left = time.array - submit.array
    on_clock = replace(time, numbers=[None if n != n else float(n) for n in left])
    if how == "at" or time.clock:
        return on_clock
    known = left[~np.isnan(left)]
    after = name_and_unit(column.name)[0] == "deadlineaftersubmission"
    if after or (known <= 0).mean() >= 0.5 or not np.any(submit.array > 0):
        found = durations(column, (), unit)
        return replace(found, form=f"{found.form} after the submission")
    if (known > 0).all() and _ordered(submit.array, time.array) >= LEAST_ORDER:
        return replace(on_clock, form=f"{time.form}, on the clock of the submissions")
    raise ValueError(
        f"{column.reading.path}: is {column.name!r} a time on the clock of the submissions, or "
        f"does it count from them? Say columns='deadline={column.name}:at' or 'deadline={later}'"
    )


#: share of pairs of rows that have to rule out deadlines that do not know their submissions
LEAST_ORDER = 0.05


def _ordered(submit: Any, deadline: Any) -> float:
    """How many pairs of a submission and another row's deadline have the deadline first."""
    known = np.sort(deadline[~np.isnan(deadline)])
    return float(np.searchsorted(known, submit[~np.isnan(submit)], "right").mean()) / len(known)
