r"""Reader of Slurm's accounting, as ``sacct --parsable2`` prints it.

Slurm documentation, "sacct", https://slurm.schedmd.com/sacct.html. A fitting export is::

    sacct --allusers --allocations --parsable2 --starttime=2024-01-01 --endtime=2024-07-01 \
      --format=JobID,User,Account,Partition,Submit,Start,End,ElapsedRaw,State,AllocTRES,ReqTRES
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from ..check import one_of
from ..io import read_bytes
from .export import csv_table, trace_of
from .names import RESOURCES, SLURM
from .trace import Reading, Trace
from .tres import tres_ids

HEADER = (
    "JobID", "User", "Account", "Partition", "Submit", "Start", "End", "ElapsedRaw", "State",
    "AllocTRES", "ReqTRES",
)  # fmt: skip
JOB_ID = re.compile(r"\d+(_\d+|_\[.*\]|\+\d+)?(\.\w+)?", re.ASCII)
STATES = re.compile(
    r"(COMPLETED|FAILED|CANCELLED|TIMEOUT|PENDING|RUNNING|NODE_FAIL|PREEMPTED|OUT_OF_ME)\S*( .*)?"
)


def is_row(line: str) -> bool:
    """Return whether a line is one of sacct, and not its header."""
    fields = line.strip().split("|")
    return JOB_ID.fullmatch(fields[0]) is not None and any(map(STATES.fullmatch, fields))


def in_order(line: str) -> bool:
    """Return whether such a line has the columns of the export above."""
    fields = dict(zip(HEADER, line.strip().split("|"), strict=False))
    state, elapsed = fields.get("State", ""), fields.get("ElapsedRaw", "")
    whole = line.count("|") == len(HEADER) - 1
    return whole and is_row(line) and elapsed.isdecimal() and bool(STATES.fullmatch(state))


def read_sacct(
    path: str | Path,
    *,
    user: str | None = None,
    tres: str | None = None,
    models: Collection[str] = (),
) -> Trace:
    """Read what ``sacct --parsable2`` printed.

    Parameters
    ----------
    path : str or Path
        Plain or gzip. The first line names the columns, in any order, separated by ``|``: JobID or
        JobIDRaw (the first if both are there); User, Account or Partition; Submit; Start; End;
        State; at least one of AllocTRES, ReqTRES, AllocGRES, ReqGRES; ElapsedRaw or Elapsed,
        Eligible and Timelimit if there are any. Leave out JobName, which may hold a ``|``. Without
        the first line, the columns have to be JobID, User, Account, Partition, Submit, Start, End,
        ElapsedRaw, State, AllocTRES and ReqTRES.
    user : {"User", "Account", "Partition"}, optional
        Column whose values are the users; by default the first of these that the file has.
    tres : str, optional
        Numbers of the resources that are GPUs, such as ``"1001,1002"``, where the file has numbers
        for names, as Slurm's database has; ``sacctmgr show tres`` lists them.
    models : collection of str
        GPU models of the cluster: a type of GPUs that is one of them is the model of a job.

    Returns
    -------
    Trace
        Job ids are those of Slurm: an array's tasks (``123_4``) and the parts of a heterogeneous
        job (``123+0``) are jobs of their own, and so is each run of a job that ran again
        (``123#2``). Jobs of every final state are kept, since all of them held their GPUs; the
        report's notes count them.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is malformed; the message names file, line, value and rule.

    Notes
    -----
    - The rows are read as those of any table, see :func:`read_csv`.
    - Clock: ``YYYY-MM-DDTHH:MM:SS`` on the local clock of the cluster (with ``TZ=UTC`` before the
      command there is no change to summer time); time 0 is the first submission kept. A job is
      released when it was eligible.
    - Work in seconds: ``ElapsedRaw`` or ``Elapsed``, else ``End`` minus ``Start``.
    - GPUs: from the first of AllocTRES, ReqTRES, AllocGRES, ReqGRES that names GPUs. The total
      ``gres/gpu=4`` counts, and only without it the sum over models (``gres/gpu:a100=4``). The GRES
      columns of older versions read ``gpu:4`` or ``gpu:a100:4``, and ``gpu`` is one; ReqGRES
      repeats what was asked for on each node, so AllocTRES is to be preferred. Numbers for names
      (``1=8,2=64G,1001=4``) need `tres`. Other resources (``gres/shard``, ``license/...``) are not
      heeded; slices of a GPU (``gres/gpu:1g.5gb``) are fractions.
    - Skipped and counted: job step (``123.batch``, ``123.0``; use ``--allocations``), never
      started, still running, no GPUs, and what :func:`read_csv` lists besides.
    """
    if user is not None:
        one_of("user", user, SLURM["user"])
    reading, given = Reading(path), {"user": user} if user else {}
    first = read_bytes(path, 4096).decode("utf-8", "replace").lstrip("\ufeff\r\n").splitlines()[:1]
    header = HEADER if any(map(in_order, first)) else ()
    table = csv_table(reading, given, header, delimiter="|")
    needed = [(name,) for name in ("Submit", "Start", "End", "State")]
    for names in (*needed, SLURM["id"], (user,) if user else SLURM["user"], RESOURCES):
        if not set(names) & set(table.names):
            raise reading.error("line 1", f"no column {' or '.join(names)}")
    return trace_of(table, given, tres=tres_ids(tres), models=models)
