"""Lists of IRMP's jobs: each gets the run that is worth most of those that still fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ....formulations.irmp.problem import Irmp
from ....instances.arrays import Ints
from ...irmp.response import Occupancy, Response
from .columns import Columns
from .pricing import CandidateRun, Classes

#: slots by which runs may be earlier or later than in the program
EARLIER, LATER = 8, 32


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
