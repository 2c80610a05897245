"""Readers of SenseTime's Helios traces (2020): the job log, and the sizes of virtual clusters.

Q. Hu et al., "Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU
Datacenters", SC 2021; the data are published under CC-BY-4.0.

Times are text on the local clock of the data centre without a zone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date as Date
from itertools import compress
from operator import not_
from pathlib import Path

from ..model import User
from .presets import PRESETS, preset_table, preset_trace
from .table import TextRow, TextTable
from .trace import Reading, Trace


def read_helios(
    path: str | Path, *, sizes: str | Path | None = None, date: str | None = None
) -> Trace:
    """Read a Helios job log (``cluster_log.csv``).

    Parameters
    ----------
    path : str or Path
        Plain or gzip. The first line names the columns, in any order: job_id, vc, gpu_num, state,
        submit_time, duration. Of the other ones start_time, end_time and node_num are read where
        they are there; user, cpu_num and queue are not.
    sizes : str or Path, optional
        Sizes of the virtual clusters, see :func:`read_vc_sizes`: they become the weights of the
        users. Without it every weight is 1.
    date : str, optional
        Day of the sizes, such as ``"2020-08-25"``; by default that of the first submission kept.

    Returns
    -------
    Trace
        Job ids are those of the log; the user is the virtual cluster ``vc`` (the hashed person in
        ``user`` is not kept). Jobs of every final state are kept, since all of them held their
        GPUs; the report's notes count them.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If a file is malformed; the message names file, line, value and rule. If there is a `date`
        without `sizes`.

    Notes
    -----
    - Clock: ``submit_time``, ``YYYY-MM-DD HH:MM:SS``; time 0 is the first one kept.
    - Work: ``duration`` in seconds (end minus start), a fraction rounded up.
    - GPUs are on ``node_num`` nodes in equal parts, which are the job's pods.
    - Skipped and counted: no GPUs (0: jobs for processors only), unknown submission, unknown
      duration, zero duration (they occur), never started, an end before the start. With `sizes`,
      jobs of a virtual cluster that has no GPUs on that day. Negative numbers are errors.
    """
    if date is not None and sizes is None:
        raise ValueError(f"date={date!r} is the day of the sizes, but sizes=None")
    preset = PRESETS["helios"]
    table = preset_table(path, preset)
    trace = preset_trace(table, preset)
    if sizes is None or trace.origin is None:
        return trace
    day = date or trace.origin[:10]
    users = read_vc_sizes(sizes, date=day)
    kept, own = {row.place for row in trace.rows}, {user.id for user in users}
    stays = [
        vc in own or place not in kept
        for place, vc in zip(table.places, table.texts["vc"], strict=True)
    ]
    reading = Reading(path)
    for place in compress(table.places, map(not_, stays)):
        reading.rows += 1
        reading.skip(place, f"virtual cluster without GPUs on {day}")
    texts = {name: [*compress(own, stays)] for name, own in table.texts.items()}
    places = [*compress(table.places, stays)]
    table = replace(table, reading=reading, places=places, texts=texts)
    return replace(preset_trace(table, preset), users=users)


def read_vc_sizes(
    path: str | Path, *, date: str | None = None, until: str | None = None, gpus_per_node: int = 8
) -> tuple[User, ...]:
    r"""Read how large virtual clusters are, as users whose weights are GPUs.

    Parameters
    ----------
    path : str or Path
        Plain or gzip, in one of two forms. GPUs by day (``cluster_gpu_number.csv``): the columns
        date, one per virtual cluster, and total. Nodes (``vc_config.csv`` or ``philly_vc.csv``):
        two columns, the name under ``vc`` or nothing, the nodes under ``num`` or ``node num``.
    date : str, optional
        Such as ``"2020-08-25"``. A file of GPUs by day needs one: its last row up to that day
        holds. A file of nodes holds on every day.
    until : str, optional
        Another day: the most GPUs that each virtual cluster has from `date` to this day.
    gpus_per_node : int
        For a file of nodes.

    Returns
    -------
    tuple of User
        Sorted by id. A virtual cluster with 0 GPUs does not exist, and is left out.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is malformed, has no row up to `date`, or needs one; the message names file,
        line, value and rule.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "vc_config.csv"
    >>> _ = path.write_text(",num\nvcB,2\nvcA,9\n")
    >>> [(user.id, user.weight) for user in read_vc_sizes(path)]
    [('vcA', 72.0), ('vcB', 16.0)]
    """
    if gpus_per_node < 1:
        raise ValueError(f"gpus_per_node={gpus_per_node} is below 1")
    reading = Reading(path)
    table = TextTable(reading)
    if "date" in table.names:
        sizes = _on_days(reading, table, date, until)
    else:
        id, nodes = table.need("vc", ""), table.need("num", "node num")
        sizes = {_vc(reading, row, id): gpus_per_node * row.count(nodes) for row in table}
    return tuple(User(vc, weight=gpus) for vc, gpus in sorted(sizes.items()) if gpus)


def _vc(reading: Reading, row: TextRow, column: str) -> str:
    if not row[column]:
        raise row.error("a virtual cluster has no name")
    return reading.unique(row.place, "virtual cluster", row[column])


def _on_days(
    reading: Reading, table: TextTable, date: str | None, until: str | None
) -> dict[str, int]:
    """Return the most GPUs of each virtual cluster on some days; a row holds until the next."""
    if date is None:
        raise ValueError(f"{reading.path}: sizes differ by day, pass date='YYYY-MM-DD'")
    wanted, best, sizes = _day(date), "", {}
    last, later = _day(until or date), list[dict[str, int]]()
    table.need("date")
    vcs = [table.need(name) for name in table.names if name not in ("date", "total")]
    if not all(vcs):
        raise reading.error("line 1", "a column has no name, every virtual cluster has one")
    for row in table:
        day = row.id("date")
        try:
            _day(day)
        except ValueError as error:
            raise row.error(str(error)) from None
        found = {vc: row.count(vc) for vc in vcs}
        if "total" in row and row.count("total") != sum(found.values()):
            raise row.error(f"total={row['total']} is not the sum {sum(found.values())}")
        if best < day <= wanted:
            best, sizes = day, found
        if wanted < day <= last:
            later.append(found)
    if not best:
        raise ValueError(f"{reading.path}: date={date!r} is before every day of the file")
    return {vc: max(found[vc] for found in (sizes, *later)) for vc in vcs}


def _day(text: str) -> str:
    try:
        if Date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise ValueError(f"date={text!r} is not a day of the form 2020-08-25")
