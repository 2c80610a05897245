"""Rounds of Astraea, in time, and what their runs are ideally worth: Definition 1 of Wang et al."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...formulations.irmp.problem import Irmp
from ...instances.schedule import Schedule
from .prices import AstraeaParams, in_unit


def round_of(start: int, lam: int = 1) -> tuple[int, int]:
    """Return the interval l, and the beginning of the round, in which a run starts.

    Examples
    --------
    >>> round_of(8, lam=2), round_of(13, lam=2)
    ((2, 8), (2, 12))
    """
    interval = (start // lam).bit_length() - 1
    if interval < 1:
        raise ValueError(f"round: start={start} is before {2 * lam}, when the first round begins")
    return interval, start >> interval << interval


def ideal_revenue(problem: Irmp, schedule: Schedule, lam: int = 1) -> float:
    """Return the ideal revenue of Definition 1: f_j of the time since the beginning of the round.

    Parameters
    ----------
    problem : Irmp
    schedule : Schedule
        Of :func:`~.astraea.astraea` or :func:`~.astraea.batch_sche`; each run within one round.
    lam : int
        lambda of that run.

    Raises
    ------
    ValueError
        A run that is not within one round.

    Notes
    -----
    It leaves out how long jobs wait, and can exceed every true revenue: it is no objective of
    anything that happens.

    Examples
    --------
    See :func:`~.astraea.astraea`.
    """
    return math.fsum(_ideals(problem, schedule, lam))


def _ideals(problem: Irmp, schedule: Schedule, lam: int) -> Iterator[float]:
    """The ideal utility of each run."""
    for row in schedule:
        interval, begin = round_of(row.start, lam)
        if row.end > begin + (1 << interval):
            raise ValueError(
                f"ideal revenue: job {problem.jobs[row.job].id!r} ends at {row.end}, after its "
                f"round from {begin} to {begin + (1 << interval)}"
            )
        yield problem.jobs[row.job].utility.value(row.end - begin)


def within_assumption(
    problem: Irmp, schedule: Schedule, params: AstraeaParams | None = None
) -> int:
    """Return how many runs are worth at least 1 for each slot of a worker, and of a PS, they take.

    Notes
    -----
    That is f_j / (sum of y) >= 1 and f_j / (sum of z) >= 1 of Section 4.3, which the paper assumes
    of all jobs; f_j is the ideal utility, by which prices decide, in the unit of money of `params`.

    Examples
    --------
    >>> from gangsched.formulations.irmp import paper_problem
    >>> from gangsched.solvers.irmp.astraea import astraea
    >>> problem = paper_problem(50)
    >>> given = AstraeaParams(), AstraeaParams(scale=1)
    >>> found = [(astraea(problem, params=one).solution, one) for one in given]
    >>> [(within_assumption(problem, *one), len(one[0])) for one in found]
    [(44, 44), (11, 44)]
    """
    params = in_unit(problem, params)
    within = 0
    for row, ideal in zip(schedule, _ideals(problem, schedule, params.lam), strict=True):
        most = max(sum(row.gpus.values()), sum((row.ps or {}).values()))
        within += params.unit * ideal >= most * (row.end - row.start)
    return within
