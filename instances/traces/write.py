"""Write a trace as CSV, Parquet or in the Standard Workload Format, so that it reads the same."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ..display import visible
from ..io import default_of, write_file
from ..model import DeadlineJob
from ..tables import parquet_bytes
from .export import REWARD
from .swf import FIELDS
from .trace import EPOCH, UNKNOWN, LogRow, Trace

__all__ = ["FORMATS", "format_of", "write_trace"]

#: endings of names
FORMATS = (".csv", ".csv.gz", ".parquet", ".swf", ".swf.gz")
#: fields of a job that a table has columns for
WRITTEN = {"id", "user", "gpus", "release", "work", "weight", "pin", "rewards"}
WRITTEN |= {"pod", "after", "limit"}
#: fields of a job that a line of SWF has a place for
NUMBERED = WRITTEN - {"weight", "pin", "rewards", "pod"}
#: from here on numbers may be taken for seconds since 1970
MOST_RELATIVE = 10**8
DAY = 86_400


def format_of(path: str | Path) -> str:
    """Return the ending by which a trace is written; refuse a name without one.

    Examples
    --------
    >>> format_of("jobs.swf.gz")
    '.swf.gz'
    """
    for form in FORMATS:
        if Path(path).name.lower().endswith(form):
            return form
    raise ValueError(f"{path}: the name must end in one of {', '.join(FORMATS)}")


def write_trace(path: str | Path, trace: Trace) -> tuple[str, ...]:
    """Write the jobs of a trace as the name's ending says, and return what could not be kept.

    Parameters
    ----------
    path : str or Path
        Ends in .csv, .parquet (which needs pyarrow) or .swf; .csv.gz and .swf.gz are compressed.
    trace : Trace

    Returns
    -------
    tuple of str
        Notes, each of something that the file does not tell.

    Raises
    ------
    OSError
        If the file cannot be written; one that was there stays as it was.
    ValueError
        If the name has another ending, a job has no run time, or CSV cannot hold a name: one with
        a carriage return, or with blanks at an end.

    Notes
    -----
    A table has the columns id, user, gpus, submit, duration_s, start, end, gpus_on_one_node, after,
    time_limit_s, required_model, job_weight and deadline_after_submission, where the trace knows;
    :func:`read_csv` and :func:`read_parquet` know them by these names. Submissions are times where
    the trace tells when it begins, else seconds (days in a trace of more than three years).

    SWF numbers jobs and users, and its comments say which is which; its processors are GPUs.

    Examples
    --------
    >>> import tempfile
    >>> from gangsched.instances import Job, ReadReport
    >>> jobs = [Job(id="a", gpus=2, work=60), Job(id="b", gpus=8, release=5, work=7, weight=2)]
    >>> trace = Trace(name="t", jobs=jobs, origin="2024-05-01 09:00:00", report=ReadReport(read=2))
    >>> path = Path(tempfile.mkdtemp()) / "t.csv"
    >>> write_trace(path, trace)
    ()
    >>> print(path.read_text(), end="")
    id,gpus,submit,duration_s,job_weight
    a,2,2024-05-01T09:00:00,60,1.0
    b,8,2024-05-01T09:00:05,7,2.0
    """
    form = format_of(path)
    for job in trace.jobs:
        if job.work is None:
            raise ValueError(f"trace {trace.name!r}: job {job.id!r}: work=None, it has no run time")
    if form == ".parquet":
        raw = parquet_bytes(path, _columns(trace))
    elif form.startswith(".csv"):
        raw = _csv(trace).encode()
    else:
        raw = "".join(f"{line}\n" for line in _swf(trace)).encode()
    write_file(path, gzip.compress(raw, mtime=0) if form.endswith(".gz") else raw)
    return tuple(_lost(trace) if form.startswith(".swf") else _untold(trace))


def _clock(trace: Trace) -> datetime | None:
    """When the trace begins, None where it does not tell."""
    try:
        origin = datetime.fromisoformat((trace.origin or "").removesuffix(" UTC"))
    except ValueError:
        return None
    if origin.tzinfo is not None:
        return None
    return origin.replace(tzinfo=UTC if str(trace.origin).endswith(" UTC") else None)


# --- tables --------------------------------------------------------------------------------------


def _columns(trace: Trace) -> dict[str, list[Any]]:
    """Columns by name: texts, integers, floats and times."""
    jobs, rows = trace.jobs, trace.rows or (LogRow("", 0),) * len(trace.jobs)
    times: dict[str, Sequence[int | None]] = {
        "submit": [job.release for job in jobs],
        "start": [row.start for row in rows],
        "end": [row.end for row in rows],
    }
    known = {name: at for name, at in times.items() if any(t is not None for t in at)}
    moments = _moments(known, _clock(trace))
    weights = [float(job.weight) for job in jobs]
    found: dict[str, list[Any]] = {"id": [job.id for job in jobs]}
    if any(job.user for job in jobs):
        found["user"] = [job.user for job in jobs]
    found["gpus"] = [job.gpus for job in jobs]
    found |= {name: moments[name] for name in moments if name.startswith("submit")}
    found["duration_s"] = [job.work for job in jobs]
    found |= moments
    if any(job.pod for job in jobs):
        found["gpus_on_one_node"] = [job.pod for job in jobs]
    if any(job.after for job in jobs):
        found["after"] = [" ".join(job.after) for job in jobs]
    if any(job.limit for job in jobs):
        found["time_limit_s"] = [job.limit for job in jobs]
    if any(job.pin for job in jobs):
        found["required_model"] = [job.pin for job in jobs]
    if set(weights) - {1.0}:
        found["job_weight"] = weights
    if any(isinstance(job, DeadlineJob) for job in jobs):
        found["deadline_after_submission"] = [
            f"{steps[0][0]}s" if (steps := getattr(job, "rewards", ())) else "" for job in jobs
        ]
    return found


def _moments(
    times: Mapping[str, Sequence[int | None]], origin: datetime | None
) -> dict[str, list[Any]]:
    """Columns of times: on a clock, else seconds or days since anywhere."""
    if origin is not None:
        return {
            name: [None if t is None else origin + timedelta(seconds=t) for t in column]
            for name, column in times.items()
        }
    every = [t for column in times.values() for t in column if t is not None]
    least = min([0, *every])  # a job may have started before the first one was submitted
    if max([0, *every]) - least < MOST_RELATIVE:
        shifted = {n: [t if t is None else t - least for t in c] for n, c in times.items()}
        return {name: list(column) for name, column in shifted.items()}
    return {
        f"{name}_days": [None if t is None else (t - least) / DAY for t in column]
        for name, column in times.items()
    }


def _csv(trace: Trace) -> str:
    columns = {name: [*map(_text, column)] for name, column in _columns(trace).items()}
    for name in columns.keys() & {"id", "user", "required_model"}:
        for text in columns[name]:
            if text != text.strip() or "\r" in text:  # which the writer does not quote
                raise ValueError(f"trace {trace.name!r}: {name}={text!r}: CSV would not keep it")
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return file.getvalue()


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return "" if value is None else str(value)


# --- SWF -----------------------------------------------------------------------------------------


def _swf(trace: Trace) -> Iterator[str]:
    """The lines of a log in the Standard Workload Format."""
    users = {user: i for i, user in enumerate(sorted({j.user for j in trace.jobs} - {""}), 1)}
    yield "; Version: 2.2"
    yield f"; Computer: {_comment(trace.name)}"
    if start := _unix_start(trace):
        yield f"; UnixStartTime: {start}"
    yield f"; MaxJobs: {len(trace.jobs)}"
    yield f"; MaxRecords: {len(trace.jobs)}"
    yield "; Note: processors are GPUs, and jobs and users have numbers:"
    for user, i in users.items():
        if user != str(i):
            yield f"; User {i}: {_comment(user)}"
    for i, job in enumerate(trace.jobs, 1):
        if job.id != str(i):
            yield f"; Job {i}: {_comment(job.id)}"
    rows, numbers = trace.rows or (LogRow("", 0),) * len(trace.jobs), _numbers(trace)
    for i, (job, row) in enumerate(zip(trace.jobs, rows, strict=True), 1):
        line = dict.fromkeys(FIELDS, -1) | {
            "job": i, "submit": job.release, "run": job.work, "allocated": job.gpus,
            "requested": job.gpus, "user": users.get(job.user, -1),
            "requested_time": job.limit or -1,
        }  # fmt: skip
        if row.start is not None and row.start >= job.release:
            line["wait"] = row.start - job.release
        if len(job.after) == 1:
            line["preceding"] = numbers.get(job.after[0], -1)
        yield " ".join(map(str, line.values()))


def _numbers(trace: Trace) -> dict[str, int]:
    """The numbers of jobs by id."""
    return {job.id: i for i, job in enumerate(trace.jobs, 1)}


def _comment(text: str) -> str:
    """A text without line breaks, for a comment."""
    return visible(text.replace("\n", r"\n"))


def _unix_start(trace: Trace) -> int:
    """Seconds from 1970 to the origin; 0 where the format cannot say it."""
    origin = _clock(trace)
    if origin is None:
        return 0
    seconds = int((origin.replace(tzinfo=None) - EPOCH).total_seconds())
    return seconds if 0 < seconds < 10**11 else 0


# --- what is lost --------------------------------------------------------------------------------


def _untold(trace: Trace, written: set[str] = WRITTEN) -> Iterator[str]:
    """What of a trace no format keeps."""
    if trace.origin is not None and _clock(trace) is None:
        yield f"not kept: the beginning, {trace.origin}"
    if any(user.weight != 1 or user.gpus is not None for user in trace.users):
        yield "not kept: weights and quotas of users"
    if any(" of the jobs: " in note for note in trace.report.notes):
        yield "not kept: final states"
    lost: Counter[str] = Counter()
    for job in trace.jobs:
        for part in fields(job):
            if part.name not in written and getattr(job, part.name) != default_of(part):
                lost[part.name] += 1
    for name, count in lost.items():
        yield f"not kept: {name} of {count:,} jobs"
    if "rewards" not in written:
        return
    odd = [s for j in trace.jobs if (s := getattr(j, "rewards", ())) and s[0][1] != REWARD]
    if odd:
        yield f"not kept: rewards other than {REWARD} of {len(odd):,} jobs"
    soft = [s for j in trace.jobs if len(s := getattr(j, "rewards", ())) > 1]
    if soft:
        yield f"not kept: deadlines after the first of {len(soft):,} jobs"
    nobody = [job for job in trace.jobs if job.user in UNKNOWN]
    if nobody and any(job.user for job in trace.jobs):
        yield f"{len(nobody):,} jobs without a user read as those of 'unknown'"


def _lost(trace: Trace) -> Iterator[str]:
    """What the Standard Workload Format does not keep."""
    yield from _untold(trace, NUMBERED)
    ids = _numbers(trace)
    if more := sum(len(j.after) > 1 or not ids.keys() >= {*j.after} for j in trace.jobs):
        yield f"not kept: some of the jobs that come before {more:,} jobs"
    origin = _clock(trace)
    if origin is not None and not _unix_start(trace):
        yield f"not kept: the beginning, {trace.origin}"
    elif origin is not None and origin.tzinfo is None:
        yield "UnixStartTime: the clock of the trace is taken for UTC, as it names no zone"
    early = sum(
        row.start is not None and row.start < job.release
        for job, row in zip(trace.jobs, trace.rows, strict=False)
    )
    if early:
        yield f"not kept: starts before the submission of {early:,} jobs"
    other = sum(
        row.end is not None and row.start is not None and row.end - row.start != job.work
        for job, row in zip(trace.jobs, trace.rows, strict=False)
    )
    if other:
        yield f"not kept: ends of {other:,} jobs, which are not their start and run time"
    if not all(job.user for job in trace.jobs):
        yield "jobs without a user read as those of 'unknown'"
