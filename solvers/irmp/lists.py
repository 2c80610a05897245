"""Schedules from the linear program of IRMP: jobs in its order, or at its prices.

Not in the paper, which makes prices by a formula of what is in use, (8). The duals of the program
of (5) are prices that fit the instance, and its solution tells in what order jobs should start;
:mod:`gangsched.solvers.irmp.columns` finds both, with a bound of what can be earned at all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...formulations.irmp.problem import Irmp
from ...instances.check import integer
from ...instances.schedule import Schedule
from ..history import History
from ..result import Result, Stop
from ..signature import solver
from .columns import Columns, generate
from .pricing import CandidateRun, Classes
from .response import Occupancy, Response, best_response, misses, schedule_of

__all__ = ["RevenueProgramParams", "by_order", "in_order", "in_shape", "lp_list", "posted_prices"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: slots by which runs may be earlier or later than in the program
EARLIER, LATER = 8, 32
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


def in_order(problem: Irmp, order: Iterable[int]) -> list[Response]:
    """Give jobs, one after another, the run that is worth most of those that still fit.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> jobs = [ParameterServerJob(id=i, gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                            utility=Linear(-2, 100)) for i in "ab"]
    >>> problem = Irmp(Instance(Cluster([Node("s1", 2, ps=1)]), jobs))
    >>> [(run.job, run.end) for run in in_order(problem, [1, 0])]
    [(1, 2), (0, 4)]
    """
    runs: list[Response] = []
    occupancy = Occupancy(problem)
    for job in order:
        accept(problem, occupancy, occupancy.best(job), runs)
    return runs


def accept(problem: Irmp, occupancy: Occupancy, run: Response | None, runs: list[Response]) -> None:
    """Add a run to others, if there is one that is worth something, or must be."""
    if run is not None and (run.value > 0 or not problem.optional):
        occupancy.take(run)
        runs.append(run)


def in_shape(problem: Irmp, columns: Columns) -> list[Response]:
    """Put the runs of the linear program on nodes, about when they are meant to be.

    Notes
    -----
    Jobs in the order of their mean starts. Of each job's runs in the program's solution, each at
    the first start that fits, from 8 slots before it is meant to be to 32 after that, the one that
    is worth most is taken. Jobs without one are served as by :func:`in_order`, when it is their
    turn.

    O(nodes d) for each start that is tried, of a run of d slots.
    """
    runs: list[Response] = []
    shapes: dict[int, list[CandidateRun]] = {}
    for column, _ in columns.runs:
        if isinstance(column.run, CandidateRun):
            shapes.setdefault(column.job, []).append(column.run)
    occupancy = Occupancy(problem, slots=int(columns.ends[-1]))
    for job in columns.order:
        found = [_first(problem, columns.classes, occupancy, job, s) for s in shapes.get(job, ())]
        fits = [run for run in found if run is not None]
        best = max(fits, key=lambda run: run.value) if fits else occupancy.best(job)
        accept(problem, occupancy, best, runs)
    return runs


def _first(
    problem: Irmp, classes: Classes, occupancy: Occupancy, job: int, run: CandidateRun
) -> Response | None:
    """A run of this shape at the first start that fits."""
    length = run.end - run.start
    latest = run.start + LATER
    if problem.horizon is not None:
        latest = min(latest, problem.horizon - length)
    occupancy.reach(latest + length)
    for start in range(max(problem.earliest(job), run.start - EARLIER), latest + 1):
        nodes = _nodes(classes, occupancy.free[:, :, start : start + length].min(axis=2), run)
        if nodes is not None:
            host = next(iter(nodes))
            end, workers = start + length, sum(run.workers)
            value = problem.value(job, end)
            return Response(job, start, end, workers, nodes, {host: run.ps}, value, 0.0)
    return None


def _nodes(classes: Classes, free: Ints, run: CandidateRun) -> dict[int, int] | None:
    """Workers on each node, the one with the PSs first; the fullest nodes that will do."""
    fits = (classes.of_node == run.host) & (free[0] >= run.own) & (free[1] >= run.ps)
    if not fits.any():
        return None
    host = int(np.argmin(np.where(fits, free[0], np.iinfo(np.int64).max)))
    nodes = {host: run.own}
    for g, workers in enumerate(run.workers):
        need = workers - run.own * (g == run.host)
        if need == 0:
            continue
        mine = np.flatnonzero((classes.of_node == g) & (free[0] > 0))
        for s in mine[np.argsort(free[0, mine], kind="stable")].tolist():
            if s != host and need:
                nodes[s] = min(need, int(free[0, s]))
                need -= nodes[s]
        if need:
            return None
    return nodes


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
            from .search import improved_runs  # which starts from the lists

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


def by_order(problem: Irmp, columns: Columns) -> Iterator[list[Response]]:
    """Yield the lists of a linear program: by its shapes, by its order, the best job first."""
    if not problem.preemptive:
        yield in_shape(problem, columns)
    yield in_order(problem, columns.order)
    first = _most_alone(problem)
    if first is not None:
        yield in_order(problem, [first, *(job for job in columns.order if job != first)])


def _most_alone(problem: Irmp) -> int | None:
    """The job that is worth most where no other runs."""
    alone = Occupancy(problem)
    found = [run for job in range(len(problem.jobs)) if (run := alone.best(job)) is not None]
    return max(found, key=lambda run: run.value).job if found else None


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
