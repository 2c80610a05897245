"""Preemptive gangs on one pool of equal GPUs: at every event the smallest ones run.

All GPUs of the cluster are alike here, and a gang may take any of them: so the schedule holds for a
cluster whose gangs may spread over nodes and move for free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..formulations.completion_time.problem import CompletionTime
from ..instances.arrays import Ints
from .pool_core import schedule_pool


@dataclass(frozen=True)
class PoolRun:
    """Pieces (job, start, end) of a schedule on a pool, in the order in which they end.

    Parameters
    ----------
    job, start, end : (pieces,) int arrays
    ends : (jobs,) int array
        Completions.
    """

    job: Ints
    start: Ints
    end: Ints
    ends: Ints


def run_pool(problem: CompletionTime, *, dynamic: bool = True, power: float = 1.0) -> PoolRun:
    """Run at every event the jobs with the smallest seconds times gang ** power over weight.

    Parameters
    ----------
    problem : CompletionTime
        All of whose GPUs are equal for all jobs.
    dynamic : bool
        Whether the seconds that are left count, or those of the whole job.
    power : float
        1 for the area, 0 for the time.

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
    columns = [[job.release for job in problem.jobs], problem.seconds]
    columns.append([job.gpus for job in problem.jobs])
    release, seconds, gpus = (np.array(column, dtype=np.int64) for column in columns)
    over = zip(problem.weights, problem.divisors(), strict=True)
    weights = np.array([w / (problem.scale * d) for w, d in over])
    widths, kind = np.unique(gpus, return_inverse=True)
    job, start, end = schedule_pool(
        np.argsort(release, kind="stable"), release, seconds, gpus, kind.ravel(), widths,
        gpus**power / weights, problem.instance.cluster.gpus, dynamic,
    )  # fmt: skip
    ends = np.zeros(release.size, dtype=np.int64)
    np.maximum.at(ends, job, end)
    return PoolRun(job, start, end, ends)
