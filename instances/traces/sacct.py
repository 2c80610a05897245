r"""Reader of Slurm's accounting, as ``sacct --parsable2`` prints it.

Slurm documentation, "sacct", https://slurm.schedmd.com/sacct.html. A fitting export is::

    sacct --allusers --allocations --parsable2 --starttime=2024-01-01 --endtime=2024-07-01 \
      --format=JobID,User,Account,Partition,Submit,Start,End,ElapsedRaw,State,AllocTRES,ReqTRES
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from ..check import one_of
from .table import TextRow, TextTable
from .trace import UNKNOWN, Reading, Trace
from .tres import gpu_count, tres_ids

IDS = ("JobID", "JobIDRaw")
USERS = ("User", "Account", "Partition")
RESOURCES = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
UNFINISHED = ("RUNNING", "SUSPENDED")
ELAPSED = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)", re.ASCII)  # [[D-]HH:]MM:SS


def read_sacct(path: str | Path, *, user: str | None = None, tres: str | None = None) -> Trace:
    """Read what ``sacct --parsable2`` printed.

    Parameters
    ----------
    path : str or Path
        Plain or gzip. The first line names the columns, in any order, separated by ``|``: JobID or
        JobIDRaw (the first if both are there); User, Account or Partition; Submit; Start; End;
        State; at least one of AllocTRES, ReqTRES, AllocGRES, ReqGRES; ElapsedRaw or Elapsed if
        there is one. Other columns are not read; leave out JobName, which may hold a ``|``.
    user : {"User", "Account", "Partition"}, optional
        Column whose values are the users; by default the first of these that the file has.
    tres : str, optional
        Numbers of the resources that are GPUs, such as ``"1001,1002"``, where the file has numbers
        for names, as Slurm's database has; ``sacctmgr show tres`` lists them.

    Returns
    -------
    Trace
        Job ids are those of Slurm: an array's tasks (``123_4``) and the parts of a heterogeneous
        job (``123+0``) are jobs of their own. Jobs of every final state are kept, since all of
        them held their GPUs; the report's notes count them.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is malformed; the message names file, line, value and rule. An id that occurs
        twice is refused: export without ``--duplicates``.

    Notes
    -----
    - Clock: ``Submit``, ``YYYY-MM-DDTHH:MM:SS`` on the local clock of the cluster (with ``TZ=UTC``
      before the command there is no change to summer time); time 0 is the first one kept.
    - Work in seconds: ``ElapsedRaw``, else ``Elapsed`` (``[[D-]HH:]MM:SS``), else ``End`` minus
      ``Start``.
    - GPUs: from the first of AllocTRES, ReqTRES, AllocGRES, ReqGRES that names GPUs. The total
      ``gres/gpu=4`` counts, and only without it the sum over models (``gres/gpu:a100=4``). The GRES
      columns of older versions read ``gpu:4`` or ``gpu:a100:4``, and ``gpu`` is one; ReqGRES
      repeats what was asked for on each node, so AllocTRES is to be preferred. Numbers for names
      (``1=8,2=64G,1001=4``) need `tres`. Other resources (``gres/shard``, ``license/...``) are not
      heeded, and GPU models are not kept.
    - Skipped and counted, in this order: job step (``123.batch``, ``123.0``; use
      ``--allocations``), never started (``Start`` is ``Unknown`` or ``None``), still running
      (``End`` is ``Unknown``, or the state RUNNING or SUSPENDED), end before start, no GPUs,
      unknown submission, unknown duration, zero duration.
    """
    if user is not None:
        one_of("user", user, USERS)
    ids = tres_ids(tres)
    reading = Reading(path)
    table = TextTable(reading, "Submit", "Start", "End", "State", delimiter="|", quoted=False)
    id = table.need(*IDS)
    owner = table.need(*([user] if user else USERS))
    table.need(*RESOURCES)
    for row in table:
        _read_job(reading, row, id, owner, ids)
    return reading.trace(origin=reading.first_time(), tally="State")


def _read_job(reading: Reading, row: TextRow, id: str, owner: str, ids: Collection[str]) -> None:
    name = row.id(id)
    if "." in name:
        reading.skip(row.place, "job step")
        return
    state = row.text("State", "every job has one").split()[0].rstrip("+")  # CANCELLED by 1000
    start, end = row.time("Start"), row.time("End")
    reason = _unusable(start, end, state)
    submitted, duration, gpus = row.time("Submit"), _duration(row, start, end), _gpus(row, ids)
    if reason:
        reading.skip(row.place, reason, (start, end))
        return
    user = row.text(owner, "every job has one")
    ran = start, end
    reading.offer(row.place, name, submitted, duration, gpus, user=user, tag=state, ran=ran)


def _unusable(start: datetime | None, end: datetime | None, state: str) -> str:
    if start is None:
        return "never started"
    if end is None or state in UNFINISHED:
        return "still running"
    return "end before start" if end < start else ""


def _duration(row: TextRow, start: datetime | None, end: datetime | None) -> float | None:
    if "ElapsedRaw" in row:
        return row.number("ElapsedRaw")
    if "Elapsed" in row:
        return _elapsed(row)
    return None if start is None or end is None else (end - start).total_seconds()


def _elapsed(row: TextRow) -> float | None:
    text = row["Elapsed"]
    if text in UNKNOWN:
        return None
    match = ELAPSED.fullmatch(text)
    if match is None:
        raise row.error(f"Elapsed={text!r} is not of the form [[D-]HH:]MM:SS")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((24 * days + hours) * 60 + minutes) * 60 + seconds


def _gpus(row: TextRow, ids: Collection[str]) -> int:
    """GPUs by the first column of resources that names any."""
    for column in RESOURCES:
        try:
            gpus = gpu_count(row[column], ids) if column in row else None
        except ValueError as error:
            raise row.error(f"{column}={row[column]!r} {error}") from None
        if gpus is not None:
            return gpus
    return 0
