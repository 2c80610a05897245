"""Results of rules for IRMP, which may leave jobs out."""

from __future__ import annotations

import time
from typing import Any

from ...formulations.irmp.problem import Irmp
from ...instances.schedule import Schedule
from ..facts import RevenueFacts
from ..result import Result, Stop
from .response import misses

TIES = "jobs by (release, number)"


def result_of(
    problem: Irmp,
    schedule: Schedule,
    *,
    solver: str,
    started: float,
    info: dict[str, Any],
    relaxation: str = "",
) -> Result[Schedule]:
    """Return the result of a rule; without a solution where it misses what only luck ensures.

    Parameters
    ----------
    problem : Irmp
    schedule : Schedule
    solver : str
    started : float
        By `time.perf_counter`.
    info : dict
        To which the ids of jobs that do not run are added, as "left".
    relaxation : str
        Name of the one that `problem` is.

    Returns
    -------
    Result of Schedule
        No solution where jobs must run that do not, or a user earns less than alone.

    Notes
    -----
    Guarantee: none.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> schedule = Schedule.of([])
    >>> result_of(reduced_problem(5), schedule, solver="s", started=0, info={}).objective
    0.0
    """
    present = set(schedule.job.tolist())
    left = [job.id for j, job in enumerate(problem.jobs) if j not in present]
    return Result.of(
        problem, None if misses(problem, schedule) else schedule, solver=solver,
        stop=Stop.COMPLETED, runtime=time.perf_counter() - started, info={**info, "left": left},
        facts=RevenueFacts(relaxation=relaxation, left=left),
    )  # fmt: skip
