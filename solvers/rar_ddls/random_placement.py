"""Random placement (RAND), baseline of Yu et al. 2022, Section 7."""

from __future__ import annotations

import time

import numpy as np

from ...formulations.problem import check_class
from ...formulations.rar_ddls.problem import RarDdls, estimated_times
from ...instances.schedule import Schedule
from ..result import Result
from ..signature import NoParams, solver
from .gang_queue import GangQueue, head_of_line
from .sjf_bco import LimitSearch

__all__ = ["random_placement"]


@solver()
def random_placement(
    problem: RarDdls,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    params: NoParams = NoParams(),
) -> Result[Schedule]:
    """Schedule in arrival order on randomly chosen idle GPUs.

    Each GPU of a gang is drawn without replacement: first a server, uniformly among those with an
    idle admissible GPU left, then one of its GPUs, uniformly. The first waiting job is tried again
    at each completion. The limit theta is the horizon T (none without a horizon), as in the paper.
    Guarantee: none; served in arrival order, jobs on one GPU that alternate with jobs on all GPUs
    leave the cluster idle (P1-ii-arrival in docs/theorems.md).

    Parameters
    ----------
    problem : RarDdls
    seed : int
        Of NumPy's default generator.
    time_limit : float, optional
        Not needed: there is a single run.
    params : NoParams

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
    check_class("random_placement", problem, RarDdls)
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
    search = LimitSearch(
        run=lambda kappa, limit: head_of_line(problem, rho, order, choose),
        kappas=[0],
        horizon=problem.horizon,
    )
    search.unlimited()  # a single run: there is no theta to search
    info = {"seed": seed, "ties": "jobs by position; servers and GPUs are drawn"}
    return search.result(problem, solver="random-placement", started=started, info=info)


def _draw(rng: np.random.Generator, idle: dict[int, list[int]]) -> int:
    """Draw a server, then one of its idle GPUs, and take it out of `idle`."""
    server = list(idle)[rng.integers(len(idle))]
    gpu = idle[server].pop(rng.integers(len(idle[server])))
    if not idle[server]:
        del idle[server]
    return gpu
