"""First fit (FF), baseline of Yu et al. 2022, Section 7: the first GPUs, from server to server."""

from __future__ import annotations

from ...formulations.rar_ddls.problem import RarDdls
from ...instances.schedule import Schedule
from ..result import Result
from ..signature import solver
from ._arrival_order import ArrivalOrderParams, search_in_arrival_order
from .gang_queue import GangQueue

__all__ = ["first_fit"]


def choose_first(queue: GangQueue, job: int, limit: float) -> list[int] | None:
    """Return the first G_j idle GPUs whose load stays within the limit, None to wait."""
    fits = limit - queue.rho[job]
    idle = [g for g, free in enumerate(queue.idle) if free and queue.load[g] <= fits]
    wanted = queue.gang(job)
    return idle[:wanted] if len(idle) >= wanted else None


@solver(ArrivalOrderParams)
def first_fit(
    problem: RarDdls,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    params: ArrivalOrderParams = ArrivalOrderParams(),
) -> Result[Schedule]:
    """Schedule in arrival order on the first admissible GPUs, from server to server.

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
    params : ArrivalOrderParams

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
    return search_in_arrival_order(
        problem, choose_first, "FIRST", "first-fit", seed, time_limit, params
    )
