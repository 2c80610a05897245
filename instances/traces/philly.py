"""Readers of Microsoft's Philly trace (2017): the original job log, and the CSV made from it.

M. Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads",
USENIX ATC 2019; the data are published under CC-BY-4.0.

Both formats give times as text on the local clock of the data centre without a zone. Differences
are taken as if every day had 24 hours; around the change from summer time (5 November 2017) they
can be an hour off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from ..check import one_of
from ..io import read_json
from .presets import PRESETS, read_preset
from .trace import EPOCH, Reading, Trace

Record = dict[str, Any]
Work = Literal["attempts", "span"]


# --- CSV -----------------------------------------------------------------------------------------


def read_philly_csv(path: str | Path) -> Trace:
    """Read a Philly CSV with the columns timestamp, duration, num_gpus and cluster.

    Parameters
    ----------
    path : str or Path
        Plain or gzip. The first line names the columns, in any order; further columns (gpu_time)
        are not read.

    Returns
    -------
    Trace
        Job ids are ``row1``, ``row2``, ... in the order of the file; the user is the virtual
        cluster.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is malformed; the message names file, line, value and rule.

    Notes
    -----
    - Clock: ``timestamp`` is the submission, ``YYYY-MM-DD HH:MM:SS``; time 0 is the first one kept.
    - Work: ``duration`` in seconds (the sum over a job's attempts), a fraction rounded up.
    - Skipped and counted: no GPUs (0), unknown submission, unknown duration (empty, ``None``,
      ``null``, ``NA``, ``NULL`` or ``Unknown``), zero duration. Negative numbers and other text
      are errors.
    - Exact duplicates of a row are separate jobs: the format has no id that tells them apart.
    """
    return read_preset(path, PRESETS["philly-csv"])


# --- JSON ----------------------------------------------------------------------------------------


def read_philly_json(path: str | Path, *, work: Work = "attempts") -> Trace:
    """Read a Philly job log (``cluster_job_log``): a JSON list with one object a job.

    Parameters
    ----------
    path : str or Path
        Plain or gzip.
    work : {"attempts", "span"}
        Run time of a job: the sum of its attempts (the default: service without the waiting
        between attempts, and what the CSV has), or last end minus first start.

    Returns
    -------
    Trace
        Job ids are the log's ``jobid``; the user is the virtual cluster ``vc`` (the hashed person
        in ``user`` is not kept). Jobs of every final status are kept, since all of them held their
        GPUs; the report's notes count them.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is malformed; the message names file, job, value and rule.

    Notes
    -----
    - Clock: ``submitted_time``, ``YYYY-MM-DD HH:MM:SS``; time 0 is the first one kept.
    - Attempts count in the order of their times, whatever the order of the list; those that
      overlap count in full, and when such a job ran is not kept.
    - GPUs: the log has no demand; it is the number of GPUs listed in ``detail`` of the first
      attempt that lists any.
    - Skipped and counted, in this order: unknown submission; no attempt (never scheduled, GPUs
      unknown); no GPUs in any attempt; incomplete times (a start or end that `work` needs is
      missing, null or the text ``None``: a logging error, or still running at the end of the log);
      end before start; zero duration.
    """
    one_of("work", work, ("attempts", "span"))
    reading = Reading(path)
    data = read_json(path)
    if not isinstance(data, list):
        raise reading.error("top level", f"a JSON {type(data).__name__}, not a list of jobs")
    for i, record in enumerate(data):
        _read_job(reading, f"job[{i}]", record, work)
    return reading.trace(origin=reading.first_time(), tally="status")


def _read_job(reading: Reading, place: str, record: Any, work: Work) -> None:
    reading.rows += 1
    _check_job(reading, place, record)
    id = reading.unique(place, "jobid", record["jobid"])
    submitted = reading.time(place, "submitted_time", record["submitted_time"])
    attempts = [
        _attempt(reading, f"{place}.attempts[{k}]", attempt)
        for k, attempt in enumerate(record["attempts"])
    ]
    attempts.sort(key=lambda attempt: attempt[1] or attempt[2] or datetime.max)
    gpus = next((count for count, _, _ in attempts if count), 0)
    reason = _unusable(submitted, attempts, gpus)
    runs = [(start, end) for _, start, end in attempts]
    seconds = reason or _run_time(runs, work)
    if isinstance(seconds, str):
        reading.skip(place, seconds, next(filter(_is_backwards, runs), (None, None)))
        return
    user, tag = record["vc"], record["status"]
    ran = _span(runs)
    if ran[0] and ran[1] and (ran[1] - ran[0]).total_seconds() < seconds:
        ran = None, None  # attempts overlap, and their sum ends at no time of the log
    reading.offer(place, id, submitted, seconds, gpus, user=user, tag=tag, ran=ran)


def _check_job(reading: Reading, place: str, record: Any) -> None:
    if not isinstance(record, dict):
        raise reading.error(place, f"{record!r} is not an object")
    for name in ("status", "vc", "jobid", "submitted_time", "attempts"):
        if name not in record:
            raise reading.error(place, f"field {name!r} is missing")
    for name in ("status", "vc", "jobid"):
        if not isinstance(record[name], str) or not record[name]:
            raise reading.error(place, f"{name}={record[name]!r} is not a non-empty string")
    if not isinstance(record["attempts"], list):
        raise reading.error(place, f"attempts={record['attempts']!r} is not a list")


Attempt = tuple[int, datetime | None, datetime | None]
Times = tuple[datetime | None, datetime | None]


def _attempt(reading: Reading, place: str, attempt: Any) -> Attempt:
    if not isinstance(attempt, dict):
        raise reading.error(place, f"{attempt!r} is not an object")
    start = reading.time(place, "start_time", attempt.get("start_time"))
    end = reading.time(place, "end_time", attempt.get("end_time"))
    detail = attempt.get("detail", [])
    if not isinstance(detail, list):
        raise reading.error(place, f"detail={detail!r} is not a list")
    gpus = sum(_gpus(reading, f"{place}.detail[{k}]", part) for k, part in enumerate(detail))
    return gpus, start, end


def _gpus(reading: Reading, place: str, part: Any) -> int:
    gpus = part.get("gpus") if isinstance(part, dict) else None
    if not isinstance(gpus, list):
        raise reading.error(place, f"gpus={gpus!r} is not a list")
    if len(set(map(str, gpus))) < len(gpus):
        raise reading.error(place, f"gpus={gpus!r} has a GPU twice")
    return len(gpus)


def _unusable(submitted: datetime | None, attempts: list[Attempt], gpus: int) -> str:
    if submitted is None:
        return "unknown submission"
    if not attempts:
        return "no attempt"
    return "" if gpus else "no GPUs in any attempt"


def _span(runs: Iterable[Times]) -> Times:
    """From the first start to the last end, in whatever order attempts are listed."""
    known = sorted((run for run in runs if any(run)), key=lambda run: run[0] or run[1] or EPOCH)
    if not known:
        return None, None
    ends = [end for _, end in known if end is not None]
    return known[0][0], max(ends) if known[-1][1] else None


def _is_backwards(run: Times) -> bool:
    start, end = run
    return start is not None and end is not None and end < start


def _run_time(runs: Sequence[Times], work: Work) -> int | str:
    """Return the seconds of service, or why they are unknown."""
    if work == "span":
        runs = [_span(runs)]
    total = timedelta()
    for start, end in runs:
        if start is None or end is None:
            return "incomplete times"
        if end < start:
            return "end before start"
        total += end - start
    return round(total.total_seconds())
