"""Schedules from the linear program of IRMP: jobs in its order, or at its prices.

Not in the paper, which makes prices by a formula of what is in use, (8). The duals of the program
of (5) are prices that fit the instance, and its solution tells in what order jobs should start;
:mod:`gangsched.solvers.ours.irmp.columns` finds both, with a bound of what can be earned at all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ....formulations.irmp.problem import Irmp
from ....instances.check import integer
from ....instances.schedule import Schedule
from ...history import History
from ...irmp.response import Occupancy, Response, best_response, misses, schedule_of
from ...result import Result, Stop
from ...signature import solver
from .columns import Columns, generate
from .orders import accept, by_order
from .search import improved_runs

__all__ = ["RevenueProgramParams", "lp_list", "posted_prices"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: nodes of a small cluster, and iterations of the search there
SMALL, ITERATIONS = 16, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RevenueProgramParams:
    """Parameters of the linear program that lists and prices come from.

    Parameters
    ----------
    slots : int or None
        How many of the first slots it looks at; None: those in which all jobs should be complete.
    block : int
        Slots that it takes for one.
    tolerance : float
        Relative distance of its bound to its value at which it stops.
    iterations : int or None
        Of :func:`~.search.revenue_search` after the lists, which only `lp_list` makes; None: 100 on
        clusters of at most 16 nodes, where the program says little of the order, and none on larger
        ones.
    """

    slots: int | None = None
    block: int = 8
    tolerance: float = 1e-3
    iterations: int | None = None

    def __post_init__(self) -> None:
        if self.iterations is not None:
            integer(self, "RevenueProgramParams", "iterations", least=0)


@solver(RevenueProgramParams, of=Irmp)
def lp_list(
    problem: Irmp, *, seed: int, time_limit: float | None, params: RevenueProgramParams
) -> Result[Schedule]:
    """Schedule jobs in the order of their mean starts in the linear program, with its bound.

    Parameters
    ----------
    problem : Irmp
    seed : int
        Of the search.
    time_limit : float, optional
        Seconds, of the linear program and of the search; the lists are made in any case.
    params : RevenueProgramParams

    Returns
    -------
    Result
        With the bound and its certificate, so with a gap.

    Raises
    ------
    ValueError, TypeError
        For another problem, or options as there.

    Notes
    -----
    Guarantee: none; the gap of the result is proven. It is small where many jobs share many
    nodes, as the program's solution then has few jobs in parts.

    Three schedules are made, and the best one is kept: that of :func:`in_shape`, which follows the
    program, that of :func:`in_order`, in which every job takes whatever is complete first, and the
    same with the job first that is worth most alone: no single job is worth more than the
    schedule. Jobs without a run in the program's solution come last. On small clusters
    large-neighbourhood search goes on from there, with numbers drawn by `seed`.

    Where no schedule has all jobs although ``optional=False``, or breaks a promise of
    ``problem.alone``, there is no solution, which proves nothing.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> result = lp_list(reduced_problem(5))
    >>> result.gap < 0.02
    True
    """
    iterations = params.iterations
    if iterations is None:
        iterations = ITERATIONS if len(problem.instance.cluster.nodes) <= SMALL else 0
    end = math.inf if time_limit is None else time.monotonic() + time_limit

    def schedules(columns: Columns) -> Iterator[list[Response]]:
        yield from by_order(problem, columns)
        if iterations:
            found = improved_runs(problem, columns, iterations, end, History(0.0), seed=seed)
            if found is not None:
                yield found

    return _listed("lp_list", problem, params, time_limit, schedules)


@solver(RevenueProgramParams, of=Irmp)
def posted_prices(
    problem: Irmp, *, time_limit: float | None, params: RevenueProgramParams
) -> Result[Schedule]:
    """Let jobs, as they are released, buy their best run at the prices of the linear program.

    Parameters
    ----------
    problem : Irmp
    time_limit : float, optional
        As of :func:`lp_list`.
    params : RevenueProgramParams
        As of :func:`lp_list`.

    Returns
    -------
    Result
        With the bound that the prices prove.

    Raises
    ------
    ValueError, TypeError
        As :func:`lp_list`; `optional` is False: prices turn jobs away.

    Notes
    -----
    Guarantee: none; the gap of the result is proven. By release, then number. No run starts before
    its job is released, but prices know all jobs: this is not an online algorithm. All nodes of a
    model have the same price in a slot, the mean of those of the linear program. A job takes what
    :func:`gangsched.solvers.irmp.response.best_response` finds, and leaves if nothing is worth more
    than its price; the last of the slots is the last in which anyone can run.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> posted_prices(reduced_problem(5)).gap < 0.1
    True
    """
    if not problem.optional:
        raise ValueError("posted_prices: optional=False, but prices turn jobs away")
    return _listed("posted_prices", problem, params, time_limit, partial(_by_price, problem))


def _listed(
    solver: str,
    problem: Irmp,
    params: RevenueProgramParams,
    time_limit: float | None,
    schedules: Callable[[Columns], Iterator[list[Response]]],
) -> Result[Schedule]:
    started = time.perf_counter()
    columns = generate(
        problem, slots=params.slots, block=params.block, tolerance=params.tolerance,
        time_limit=time_limit,
    )  # fmt: skip
    history = History(started)
    history.extend(columns.history)
    best: tuple[float, Schedule] | None = None
    for runs in schedules(columns):
        schedule = schedule_of(runs)
        value = problem.objective(schedule)
        if (best is None or value > best[0]) and not misses(problem, schedule):
            best = value, schedule
            history.note(objective=value)
    return Result.of(
        problem, None if best is None else best[1], solver=solver, bound=columns.bound,
        stop=Stop.COMPLETED if columns.converged else Stop.TIME_LIMIT,
        runtime=time.perf_counter() - started, iterations=columns.iterations,
        history=history.entries, info={"slots": int(columns.ends[-1]), "blocks": columns.ends.size},
    )  # fmt: skip


def _by_price(problem: Irmp, columns: Columns) -> Iterator[list[Response]]:
    slots, runs = int(columns.ends[-1]), list[Response]()
    prices, occupancy = _of_models(problem, columns), Occupancy(problem, slots=slots)
    for job in sorted(range(len(problem.jobs)), key=problem.earliest):
        begin = problem.earliest(job)
        values = np.concatenate([[0.0], problem.values(job, slots)])
        run = None if begin >= slots else best_response(
            problem, job, occupancy.free[:, :, :slots], prices, values, begin=begin, end=slots
        )  # fmt: skip
        accept(problem, occupancy, run, runs)
    yield runs


def _of_models(problem: Irmp, columns: Columns) -> Floats:
    """(models, 2, slots): mean prices of the workers, and of the PSs, of each model."""
    prices = np.zeros((len(problem.models), 2, int(columns.ends[-1])))
    room = columns.classes.room
    for m in range(len(problem.models)):
        mine = columns.classes.model == m
        total = np.maximum(room[mine].sum(axis=0), 1)[:, None]
        prices[m] = (columns.slot_prices[mine] * room[mine][:, :, None]).sum(axis=0) / total
    return prices
