"""Reader of the workloads of Chronus, which are drawn from Microsoft's Philly trace.

W. Gao et al., "Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training Jobs",
SoCC 2021; the data are published under the MIT licence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..deadlines import MODELS, split_speed
from ..io import read_json
from ..model import DeadlineJob, check_real
from .table import TextRow, TextTable
from .trace import Reading, Trace

COLUMNS = (
    "job_id", "user", "num_gpu", "submit_time", "duration", "model_name", "expect_time_list",
    "expect_value_list", "best_effort", "job_type",
)  # fmt: skip
JOB_TYPES = ("strict", "soft", "best")
TOP = 10  # the value in the files that becomes `top_reward`
#: speed relative to one node, by model, gang size and number of nodes
ModelInfo = Mapping[str, Mapping[str, Mapping[str, float]]]


def read_chronus(
    path: str | Path,
    *,
    top_reward: float | str = 100,
    model_info: str | Path | ModelInfo | None = None,
) -> Trace:
    """Read a Chronus CSV, whose times are minutes, as jobs with deadlines.

    Parameters
    ----------
    path : str or Path
        Plain or gzip. The first line names the columns, in any order: job_id, user, num_gpu,
        submit_time, duration, model_name, expect_time_list, expect_value_list, best_effort,
        job_type. The other ones (iterations, interval) are not read.
    top_reward : float
        What a value of 10 in the file becomes; the others in proportion. The files have 10, 8, 5
        and 2 where Gao et al. (2024) print 100, 80, 50 and 20.
    model_info : str, Path or mapping, optional
        A JSON file in the form of Chronus' model_info.json, or what is in it: speed relative to one
        node by model, gang size and number of nodes. By default speeds follow from
        :func:`~gangsched.instances.deadlines.split_speed` and its table of models, which this
        project chose.

    Returns
    -------
    Trace
        Of :class:`DeadlineJob`. Job ids and users are those of the file. Its users bear names of
        Philly's virtual clusters, but like its models they were drawn evenly at random. The
        report's notes count the kinds of job (strict, soft, best).

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If a file is malformed; the message names file, line, value and rule.

    Notes
    -----
    - Clock: ``submit_time`` in minutes since the window began, times 60, a fraction of a second
      rounded down; time 0 is the first submission kept.
    - Work: ``duration`` in minutes, times 60, a fraction of a second rounded up.
    - Deadlines: ``expect_time_list`` in minutes after the submission, joined by ``-``, times 60, a
      fraction of a second rounded down; ``expect_value_list`` as many values. Strict jobs have one,
      soft ones at least one. Best-effort jobs have no rewards: their lists are placeholders.
    - Speed on several nodes: from `model_info` the slowest that is tabulated for the gang size, or
      for the next larger one, or for the largest; at most 1.
    - Skipped and counted: no GPUs (0: Philly jobs without an attempt, which Chronus leaves out
      too), unknown submission, unknown duration, zero duration. Negative numbers are errors.
    """
    reading = Reading(path, DeadlineJob)
    scale = _top(top_reward) / TOP
    known, speed_of = _speeds(model_info)
    for row in TextTable(reading, *COLUMNS):
        submitted, duration = row.number("submit_time"), row.number("duration")
        gpus, model = row.count("num_gpu"), row["model_name"]
        row.one_of("model_name", known)
        reading.offer(
            row.place,
            row.id("job_id"),
            None if submitted is None else 60 * submitted,
            None if duration is None else 60 * duration,
            gpus,
            user=row.text("user", "every job has one"),
            tag=row.text("job_type", "every job has one"),
            rewards=_rewards(row, scale),
            split_speed=speed_of(model, gpus),
        )
    return reading.trace(tally="job_type")


def _top(value: float | str) -> float:
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(f"top_reward={value!r} is not a number") from None
    return check_real("reader 'chronus'", "top_reward", number, positive=True)


# --- deadlines -----------------------------------------------------------------------------------


def _rewards(row: TextRow, scale: float) -> tuple[tuple[int, float], ...]:
    """The steps of a job's reward function; none for a best-effort job."""
    kind, flag = row["job_type"], row["best_effort"]
    row.one_of("job_type", JOB_TYPES)
    if flag != ("1" if kind == "best" else "0"):
        raise row.error(f"best_effort={flag!r} contradicts job_type={kind!r}, it is 1 for 'best'")
    if kind == "best":
        return ()
    minutes, values = _numbers(row, "expect_time_list"), _numbers(row, "expect_value_list")
    if len(minutes) != len(values):
        raise row.error(
            f"expect_time_list has {len(minutes)} entries and expect_value_list {len(values)}, "
            "not equally many"
        )
    if kind == "strict" and len(minutes) > 1:
        raise row.error(f"expect_time_list has {len(minutes)} entries, a strict job has one")
    deadlines = [math.floor(round(60 * minute, 6)) for minute in minutes]
    if any(b <= a for a, b in pairwise([0, *deadlines])):
        rule = "does not rise from above 0" if len(deadlines) > 1 else "is not above 0"
        raise row.error(f"expect_time_list={row['expect_time_list']} {rule}")
    if any(b >= a for a, b in pairwise(values)) or min(values) <= 0:
        rule = "does not fall to above 0" if len(values) > 1 else "is not above 0"
        raise row.error(f"expect_value_list={row['expect_value_list']} {rule}")
    return tuple((at, scale * value) for at, value in zip(deadlines, values, strict=True))


def _numbers(row: TextRow, name: str) -> list[float]:
    return [row.finite(name, text) for text in row[name].split("-")]


# --- speeds --------------------------------------------------------------------------------------


def _speeds(info: str | Path | ModelInfo | None) -> tuple[list[str], Callable[[str, int], float]]:
    """Known models, and the split speed of a model at a gang size."""
    if info is None:
        return sorted(MODELS), lambda model, gpus: split_speed(model, max(1, gpus))
    place, data = "model_info", info
    if isinstance(info, (str, Path)):
        place, data = str(info), read_json(info)
    table = _slowest(place, data)
    return sorted(table), lambda model, gpus: _tabulated(table[model], gpus)


def _tabulated(sizes: Mapping[int, float], gpus: int) -> float:
    if gpus < 2:
        return 1.0
    return sizes[min((size for size in sizes if size >= gpus), default=max(sizes))]


def _slowest(place: str, data: Any) -> dict[str, dict[int, float]]:
    """The least speed on more than one node, by model and gang size; at most 1."""
    table: dict[str, dict[int, float]] = {}
    for model, sizes in _items(place, data):
        here = f"{place}: {model}"
        table[model] = {}
        for size, speeds in _items(here, sizes):
            there = f"{here}: {size}"
            if not (size.isascii() and size.isdigit() and int(size) > 0):
                raise ValueError(f"{there} is not a gang size")
            found = [check_real(there, n, s, positive=True) for n, s in _items(there, speeds)]
            table[model][int(size)] = min(1.0, *found)
    return table


def _items(place: str, data: Any) -> list[tuple[str, Any]]:
    if not isinstance(data, Mapping) or not data:
        raise ValueError(f"{place}: {data!r} is not an object with entries")
    return [(str(name), value) for name, value in data.items()]
