"""The elementary bound that every heuristic's result carries (better: analysis.bounds)."""

from __future__ import annotations

from ...formulations.problem import check_class
from ...formulations.rar_ddls.problem import RarDdls
from ..result import Bound


def area_bound(problem: RarDdls) -> Bound:
    """Return max(ceil(sum_j G_j d_j / N), max_j d_j), a lower bound of the makespan.

    d_j is the shortest duration of job j on any number of nodes, alone in the cluster. Contention
    only slows jobs down, so every job holds G_j of the N GPUs for d_j slots or more.

    Parameters
    ----------
    problem : RarDdls

    Returns
    -------
    Bound
        Certificate ``{"kind": "area"}`` or ``{"kind": "longest job", "job": j}``; 0 without jobs.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=1, iterations=50, gradient=0, base_time=0.01) for i in "abc"]
    >>> area_bound(RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))).value
    2
    """
    check_class("area_bound", problem, RarDdls)
    durations = problem.shortest_durations()
    gangs = [job.gpus for job in problem.jobs]
    area = sum(g * d for g, d in zip(gangs, durations.tolist(), strict=True))
    value = -(-area // problem.instance.cluster.gpus)
    longest = int(durations.max(initial=0))
    if longest > value:
        certificate = {"kind": "longest job", "job": int(durations.argmax())}
        return Bound(longest, "longest job", certificate)
    return Bound(value, "area", {"kind": "area"})
