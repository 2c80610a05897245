"""Preemptive gangs on one pool of equal GPUs: at every event the smallest ones run.

All GPUs of the cluster are alike here, and a gang may take any of them: so the schedule holds for a
cluster whose gangs may spread over nodes and move for free.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Floats, Ints, distinct
from ...instances.model import Instance, Job
from ...instances.remembered import remembered
from ...instances.schedule import Schedule
from ..result import Result, Stop
from ..signature import solver
from .pool_core import place_pieces, schedule_pool


@dataclass(frozen=True)
class PoolRun:
    """Pieces (job, start, end) of a schedule on a pool, in the order in which they end.

    Parameters
    ----------
    job, start, end : (pieces,) int arrays
    ends : (jobs,) int array
        Completions.
    stop : Stop
        INTERRUPTED where Ctrl-C ended the search for a better one.
    """

    job: Ints
    start: Ints
    end: Ints
    ends: Ints
    stop: Stop = Stop.COMPLETED

    def later(self, seconds: int) -> PoolRun:
        """Return the same so many seconds later."""
        start, end, ends = (times + seconds for times in (self.start, self.end, self.ends))
        return replace(self, start=start, end=end, ends=ends)


@remembered
def columns(instance: Instance[Job]) -> tuple[Ints, Ints]:
    """Return releases and gangs of the jobs."""
    rows = [job.release for job in instance.jobs], [job.gpus for job in instance.jobs]
    release, gpus = (np.array(row, dtype=np.int64) for row in rows)
    return release, gpus


def run_pool(
    problem: CompletionTime,
    *,
    dynamic: bool = True,
    power: float = 1.0,
    weights: Floats | None = None,
) -> PoolRun:
    """Run at every event the jobs with the smallest seconds times gang ** power over weight.

    Parameters
    ----------
    problem : CompletionTime
        All of whose GPUs are equal for all jobs.
    dynamic : bool
        Whether the seconds that are left count, or those of the whole job.
    power : float
        1 for the area, 0 for the time.
    weights : (jobs,) float array or None
        Above 0, by job number; None for those of the problem.

    Returns
    -------
    PoolRun

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="long", gpus=2, work=4), Job(id="short", gpus=2, work=1, release=1)]
    >>> run_pool(CompletionTime(Instance(Cluster.of_sizes([2]), jobs))).ends.tolist()
    [5, 2]
    """
    if problem.mixed:
        raise ValueError("run_pool: the GPUs are not equal for all jobs")
    release, gpus = columns(problem.instance)
    seconds = np.array(problem.seconds, dtype=np.int64)
    if weights is None:
        weights = problem.rates()
    widths, kind = distinct(gpus)
    job, start, end = schedule_pool(
        np.argsort(release, kind="stable"), release, seconds, gpus, kind, widths,
        gpus**power / weights, problem.instance.cluster.gpus, dynamic,
    )  # fmt: skip
    ends = np.zeros(release.size, dtype=np.int64)
    np.maximum.at(ends, job, end)
    return PoolRun(job, start, end, ends)


@solver(of=CompletionTime)
def area_order(problem: CompletionTime, *, seed: int) -> Result[Schedule]:
    """Run the jobs with the smallest remaining areas over weights, at every release and completion.

    Guarantee: none for gangs. Where every gang has all GPUs and weights are equal, it is SRPT, and
    optimal for the sum of flow times.

    Parameters
    ----------
    problem : CompletionTime
        All of whose GPUs are equal for all jobs.
    seed : int
        Not used: the algorithm draws nothing.

    Returns
    -------
    Result
        Without a bound, see :func:`gangsched.bound`.

    Notes
    -----
    It knows no job that has not come, yet gangs may spread over any nodes, and pauses and moves are
    free. O(events x GPUs x gang sizes), compiled.

    Examples
    --------
    The wide job is shorter, the narrow one smaller:

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="wide", gpus=4, work=4), Job(id="narrow", gpus=1, work=5)]
    >>> area_order(CompletionTime(Instance(Cluster.of_sizes([2, 2]), jobs), "flow")).objective
    14
    """
    started = time.perf_counter()
    run = run_pool(problem)
    return Result.of(
        problem,
        schedule_of(problem, run),
        solver="area_order",
        stop=Stop.COMPLETED,
        runtime=time.perf_counter() - started,
        info={"seed": seed},
    )


def schedule_of(problem: CompletionTime, run: PoolRun) -> Schedule:
    """Return the pieces on nodes; a job that goes on keeps its GPUs."""
    gpus = columns(problem.instance)[1][run.job]
    order = np.lexsort((run.job, run.start))
    by_end = np.argsort(run.end, kind="stable")
    sizes = np.array(problem.instance.cluster.sizes, dtype=np.int64)
    ptr, node, held = place_pieces(order, by_end, run.start, run.end, gpus, sizes)
    return Schedule(run.job[order], run.start[order], run.end[order], ptr, node, held)
