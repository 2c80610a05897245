"""List scheduling (LS), baseline of Yu et al. 2022, Section 7: the least loaded GPUs."""

from __future__ import annotations

from ...formulations.rar_ddls.problem import RarDdls
from ...instances.schedule import Schedule
from ..result import Result
from ..signature import solver
from ._arrival_order import ArrivalOrderParams, search_in_arrival_order
from .sjf_bco import fa_ffp

__all__ = ["list_scheduling"]


@solver(ArrivalOrderParams)
def list_scheduling(
    problem: RarDdls,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    params: ArrivalOrderParams = ArrivalOrderParams(),
) -> Result[Schedule]:
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
    params : ArrivalOrderParams

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
    return search_in_arrival_order(
        problem, fa_ffp, "LEAST_LOADED", "list-scheduling", seed, time_limit, params
    )
