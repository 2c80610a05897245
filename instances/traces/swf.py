"""Reader of the Standard Workload Format, version 2.2, of the Parallel Workloads Archive.

D. Feitelson, "The Standard Workload Format",
https://www.cs.huji.ac.il/labs/parallel/workload/swf.html. S. Chapin et al., "Benchmarks and
standards for the evaluation of parallel job schedulers", JSSPP 1999.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from datetime import UTC, datetime
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from ..io import text_lines
from .trace import UNKNOWN, Reading, Trace
from .values import FIRST

# The 18 fields of a line, in order.
FIELDS = (
    "job", "submit", "wait", "run", "allocated", "cpu", "memory", "requested", "requested_time",
    "requested_memory", "status", "user", "group", "executable", "queue", "partition", "preceding",
    "think",
)  # fmt: skip
LEAST = 5  # fields of a line; what is missing behind them is unknown
NEEDED = ("job", "submit", "run", "allocated")  # that nothing stands for, if they make no sense
COUNTS = ("job", "allocated", "requested", "status", "user", "preceding")
READ = frozenset((*NEEDED, *COUNTS, "wait", "requested_time"))
PARTIAL = (2, 3, 4)  # status of a line that is one piece of a job already summarised


def read_swf(path: str | Path) -> Trace:
    """Read a log in the Standard Workload Format; its processors count as GPUs.

    Parameters
    ----------
    path : str or Path
        Plain or gzip. Lines of 18 numbers, -1 where a value is unknown; lines that start with
        ``;`` or ``#`` are comments. A line may have fewer fields, from 5 on: the missing ones are
        unknown. It may have more, which are not read; the report says how many lines have other
        than 18.

    Returns
    -------
    Trace
        Job ids are the job numbers; users are the user numbers, ``"unknown"`` for -1.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is malformed; the message names file, line, value and rule.

    Notes
    -----
    - Clock: seconds since the start of the log (field 2, a fraction rounded down); time 0 is the
      first submission kept, and its wall-clock text (UTC) is known where the header has
      UnixStartTime, or where submissions are seconds since 1970.
    - GPUs: allocated processors (field 5) if above 0, else requested ones (field 8).
    - Work: run time (field 4) in seconds, a fraction rounded up; the limit is the requested time
      (field 9), and may be below it.
    - Skipped and counted: partial execution (status 2, 3, 4: the job has a line for the whole
      too), unknown submission, unknown run time, zero run time, no processors (both fields
      unknown or 0). Jobs of every other status are kept.
    - Job number, submission, run time and allocated processors are numbers from 0 on, or -1. Any
      other field that is negative or ``nan`` is unknown, and those that are not read may hold
      anything.
    - A job starts after the preceding one (field 17). Think times (field 18) are not read:
      submissions are as recorded.
    """
    reading = Reading(path)
    start: int | None = None
    empty = True
    lengths: Counter[int] = Counter()
    for number, line in enumerate(text_lines(path), start=1):
        text = line.strip()
        empty = empty and not text
        if text.startswith((";", "#")):
            start = _start_time(text) if start is None else start
        elif text:
            parts = text.split()
            lengths[len(parts)] += 1
            _read_job(reading, f"line {number}", parts)
    if empty:
        raise reading.error("line 1", "the file is empty")
    return reading.trace(origin=_origin(reading, start), notes=_lengths(lengths))


def _lengths(lengths: Counter[int]) -> list[str]:
    """Say how many lines have other than 18 fields."""
    return [
        f"lines of {fields} fields, not {len(FIELDS)}: {count:,}, "
        + ("the missing ones are unknown" if fields < len(FIELDS) else "the others are not read")
        for fields, count in sorted(lengths.items())
        if fields != len(FIELDS)
    ]


def _read_job(reading: Reading, place: str, parts: list[str]) -> None:
    reading.rows += 1
    if len(parts) < LEAST:
        raise reading.error(place, f"{len(parts)} fields, a line has {LEAST} to {len(FIELDS)}")
    texts = zip(FIELDS, chain(parts, repeat("-1")), strict=False)
    row = {name: _number(reading, place, name, text) for name, text in texts if name in READ}
    gpus = row["allocated"] if row["allocated"] > 0 else row["requested"]
    reason = _unusable(row, gpus)
    id = str(int(row["job"]))
    if reason != "partial execution":
        reading.unique(place, "job", id)
    if reason:
        reading.skip(place, reason)
        return
    user = "unknown" if row["user"] < 0 else str(int(row["user"]))
    start = None if row["wait"] < 0 else row["submit"] + row["wait"]
    end = None if start is None else start + row["run"]
    more: dict[str, Any] = {}
    if row["requested_time"] > 0:
        more["limit"] = math.ceil(row["requested_time"])
    if row["preceding"] > 0 and (before := str(int(row["preceding"]))) != id:
        more["after"] = (before,)
    ran = start, end
    reading.offer(place, id, row["submit"], row["run"], int(gpus), user=user, ran=ran, **more)


def _number(reading: Reading, place: str, name: str, text: str) -> float:
    """A field, -1 where it is unknown."""
    if name not in NEEDED and text in UNKNOWN:
        return -1.0
    value = reading.finite(place, name, text)
    if value < 0 and value != -1 and name in NEEDED:
        raise reading.error(place, f"{name}={text} is below 0 and not -1 (unknown)")
    if name in COUNTS and value != int(value):
        raise reading.error(place, f"{name}={text} is not an integer")
    return value


def _unusable(row: dict[str, float], gpus: float) -> str:
    rules = {
        "partial execution": row["status"] in PARTIAL,
        "unknown submission": row["submit"] < 0,
        "unknown run time": row["run"] < 0,
        "zero run time": row["run"] == 0,
        "no processors": gpus <= 0,
    }
    return next((reason for reason, holds in rules.items() if holds), "")


def _start_time(comment: str) -> int | None:
    match = re.match(r"[;#]\s*UnixStartTime:\s*(\d{1,11})(?:\.0*)?(?:\s|$)", comment)
    return int(match[1]) if match else None


def _origin(reading: Reading, start: int | None) -> str | None:
    first = reading.first()
    if first is None or (not start and first < FIRST):
        return None
    since = first if first >= FIRST else first + (start or 0)
    return f"{datetime.fromtimestamp(since, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
