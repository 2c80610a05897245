"""Baselines of Yu et al. 2022, Section 7, in arrival order: first fit, list scheduling, random."""

from __future__ import annotations

import time

import numpy as np

from ...formulations.rar_ddls.problem import RarDdls, estimated_times
from ...instances.schedule import Schedule
from ..result import Result
from ..signature import solver
from .gang_queue import CompiledQueue, GangQueue, head_of_line
from .sjf_bco import LimitSearch


def _search(
    problem: RarDdls, rule: str, name: str, seed: int, time_limit: float | None
) -> Result[Schedule]:
    """Serve the jobs in input order by a placement rule; theta is searched as in SJF-BCO."""
    from . import gang_queue_core as core  # numba takes a second to import

    started = time.perf_counter()
    rho = estimated_times(problem)
    order = np.arange(len(problem.jobs))
    queue, rules = CompiledQueue(problem, rho), np.full(order.size, getattr(core, rule))
    search = LimitSearch(
        run=lambda kappa, limit: queue.head_of_line(order, rules, limit=limit),
        kappas=[0],
        horizon=problem.horizon,
        deadline=float("inf") if time_limit is None else started + time_limit,
    )
    search.feasibility(int(rho.max(initial=0)))
    info = {"seed": seed, "ties": "jobs by position; GPUs by (load, server, GPU) or (server, GPU)"}
    return search.result(problem, solver=name, started=started, info=info)


@solver(of=RarDdls)
def first_fit(problem: RarDdls, *, seed: int, time_limit: float | None) -> Result[Schedule]:
    """Schedule in arrival order on the first admissible GPUs, from node to node.

    The first waiting job is tried again at each completion and nothing overtakes it. The limit
    theta is searched as in SJF-BCO. Guarantee: none; served in arrival order, jobs
    on one GPU that alternate with jobs on all GPUs leave the cluster idle (P1-ii-arrival in
    docs/theorems.md).

    Parameters
    ----------
    problem : RarDdls
    seed : int
        Not used: the algorithm draws nothing.
    time_limit : float, optional
        Wall seconds after which no new run starts.

    Returns
    -------
    Result
        With the area bound.

    References
    ----------
    Yu et al., MobiHoc 2022, Section 7 ("FF picks the first G_j available GPUs").

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=2, iterations=50, gradient=0, base_time=0.01) for i in "ab"]
    >>> first_fit(RarDdls(Instance(Cluster.of_sizes([2, 2]), jobs))).solution[1].gpus
    {1: 2}
    """
    return _search(problem, "FIRST", "first-fit", seed, time_limit)


@solver(of=RarDdls)
def list_scheduling(problem: RarDdls, *, seed: int, time_limit: float | None) -> Result[Schedule]:
    """Schedule in arrival order on the least loaded admissible GPUs.

    The placement is that of Algorithm 2 (errata E14: the two are the same rule), so that the job
    order is all that parts LS from SJF-BCO with a large kappa. The first waiting job is tried again
    at each completion and nothing overtakes it. The limit theta is searched as in SJF-BCO.
    Guarantee: none; served in arrival order, jobs on one GPU that alternate with jobs on all GPUs
    leave the cluster idle (P1-ii-arrival in docs/theorems.md).

    Parameters
    ----------
    problem : RarDdls
    seed : int
        Not used: the algorithm draws nothing.
    time_limit : float, optional
        Wall seconds after which no new run starts.

    Returns
    -------
    Result
        With the area bound.

    References
    ----------
    Yu et al., MobiHoc 2022, Section 7 ("LS selects top-G_j GPUs with least execution time first").

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=1, iterations=50, gradient=0, base_time=0.01) for i in "abc"]
    >>> list_scheduling(RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))).objective
    2
    """
    return _search(problem, "LEAST_LOADED", "list-scheduling", seed, time_limit)


@solver(of=RarDdls)
def random_placement(problem: RarDdls, *, seed: int) -> Result[Schedule]:
    """Schedule in arrival order on randomly chosen idle GPUs.

    Each GPU of a gang is drawn without replacement: first a node, uniformly among those with an
    idle admissible GPU left, then one of its GPUs, uniformly. The first waiting job is tried again
    at each completion. The limit theta is the horizon T (none without a horizon), as in the paper.
    Guarantee: none; served in arrival order, jobs on one GPU that alternate with jobs on all GPUs
    leave the cluster idle (P1-ii-arrival in docs/theorems.md).

    Parameters
    ----------
    problem : RarDdls
    seed : int
        Of NumPy's default generator.

    Returns
    -------
    Result
        With the area bound.

    References
    ----------
    Yu et al., MobiHoc 2022, Section 7 ("RAND randomly chooses servers and GPUs").

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=2, iterations=50, gradient=0, base_time=0.01) for i in "ab"]
    >>> random_placement(RarDdls(Instance(Cluster.of_sizes([2, 2]), jobs)), seed=1).objective
    1
    """
    started = time.perf_counter()
    rng = np.random.default_rng(seed)
    limit = float("inf") if problem.horizon is None else float(problem.horizon)

    def choose(queue: GangQueue, job: int) -> list[int] | None:
        idle: dict[int, list[int]] = {}
        for g, free in enumerate(queue.idle):
            if free and queue.load[g] + queue.rho[job] <= limit:
                idle.setdefault(queue.node[g], []).append(g)
        wanted = queue.gang(job)
        if sum(map(len, idle.values())) < wanted:
            return None
        return [_draw(rng, idle) for _ in range(wanted)]

    rho = estimated_times(problem)
    order = list(range(len(problem.jobs)))
    search = LimitSearch.single(problem, head_of_line(problem, rho, order, choose))
    info = {"seed": seed, "ties": "jobs by position; servers and GPUs are drawn"}
    return search.result(problem, solver="random-placement", started=started, info=info)


def _draw(rng: np.random.Generator, idle: dict[int, list[int]]) -> int:
    """Draw a node, then one of its idle GPUs, and take it out of `idle`."""
    server = list(idle)[rng.integers(len(idle))]
    gpu = idle[server].pop(rng.integers(len(idle[server])))
    if not idle[server]:
        del idle[server]
    return gpu
