"""Schedules from the linear program of IRMP: jobs in its order.

Not in the paper. The solution of the program of (5) tells in what order jobs should start;
:mod:`gangsched.solvers.ours.irmp.columns` finds it, with a bound of what can be earned at all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ....formulations.irmp.problem import Irmp
from ....instances.check import integer
from ....instances.schedule import Schedule
from ...history import History
from ...irmp.response import Response, misses, schedule_of
from ...result import Result, Stop
from ...signature import solver
from .columns import generate
from .orders import by_order
from .search import improved_runs

#: nodes of a small cluster, and iterations of the search there
SMALL, ITERATIONS = 16, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RevenueProgramParams:
    """Parameters of the linear program that the lists come from.

    Parameters
    ----------
    slots : int or None
        How many of the first slots it looks at; None: those in which all jobs should be complete.
    iterations : int or None
        Of :func:`~.search.revenue_search` after the lists; None: 100 on clusters of at most 16
        nodes, where the program says little of the order, and none on larger ones.
    """

    slots: int | None = None
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
    started, end = time.perf_counter(), math.inf
    if time_limit is not None:
        end = time.monotonic() + time_limit
    columns = generate(problem, slots=params.slots, time_limit=time_limit)

    def schedules() -> Iterator[list[Response]]:
        yield from by_order(problem, columns)
        if iterations:
            found = improved_runs(problem, columns, iterations, end, History(0.0), seed=seed)
            if found is not None:
                yield found

    history = History(started)
    history.extend(columns.history)
    best: tuple[float, Schedule] | None = None
    for runs in schedules():
        schedule = schedule_of(runs)
        value = problem.objective(schedule)
        if (best is None or value > best[0]) and not misses(problem, schedule):
            best = value, schedule
            history.note(objective=value)
    return Result.of(
        problem, None if best is None else best[1], solver="lp_list", bound=columns.bound,
        stop=Stop.COMPLETED if columns.converged else Stop.TIME_LIMIT,
        runtime=time.perf_counter() - started, iterations=columns.iterations,
        history=history.entries, info={"slots": int(columns.ends[-1]), "blocks": columns.ends.size},
    )  # fmt: skip
