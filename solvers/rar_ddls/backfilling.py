"""List scheduling with backfilling on few nodes: the plain strong baseline for RAR-DDLS."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...formulations.rar_ddls.problem import RarDdls, estimated_times
from ...instances.schedule import Schedule
from ..result import Result
from ..signature import solver
from .gang_queue import CompiledQueue
from .sjf_bco import LimitSearch

Order = Literal["arrival", "gpus", "area", "longest"]

#: priority of a job from (gang size, shortest duration); smaller goes first, ties by position
PRIORITIES: dict[str, Callable[[int, int], Any]] = {
    "arrival": lambda gpus, duration: 0,
    "gpus": lambda gpus, duration: gpus,
    "area": lambda gpus, duration: gpus * duration,
    "longest": lambda gpus, duration: -duration,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillingParams:
    """Parameters of list scheduling with backfilling.

    Parameters
    ----------
    order : {"longest", "area", "gpus", "arrival"}
        Longest processing time first, smallest GPU-time first, smallest gang first, input order.
    """

    order: Order = "longest"

    def __post_init__(self) -> None:
        if self.order not in PRIORITIES:
            raise ValueError(
                f"backfilling: order={self.order!r} is not one of {', '.join(PRIORITIES)}"
            )


@solver(BackfillingParams, of=RarDdls)
def backfilling(problem: RarDdls, *, seed: int, params: BackfillingParams) -> Result[Schedule]:
    """Start at each completion every waiting job that fits, in a fixed order of priority.

    Guarantee: makespan <= 2 max(A / N, p) <= 2 varphi T*, with A the GPU-slots that the jobs take
    in this schedule, N the cluster's GPUs, p the longest run, and varphi how much contention and
    spread can stretch a job (P1 (i) of docs/theorems.md; void where varphi is infinite).

    Parameters
    ----------
    problem : RarDdls
    seed : int
        Not used: the algorithm draws nothing.
    params : BackfillingParams

    Returns
    -------
    Result
        With the area bound.

    Notes
    -----
    A gang goes on the best-fitting node, else on the nodes with most idle GPUs, ties by node.
    O(J (J + N)) for a run, and O(J x running jobs) for completions.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [
    ...     RingJob(id=f"j{i}", gpus=1, iterations=100 * n, gradient=0.0, base_time=0.0099)
    ...     for i, n in enumerate([1, 1, 2])
    ... ]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([2]), jobs))
    >>> by_area = BackfillingParams(order="area")
    >>> backfilling(problem).objective, backfilling(problem, params=by_area).objective
    (2, 3)
    """
    started = time.perf_counter()
    rho = estimated_times(problem)
    durations = problem.shortest_durations().tolist()
    priority = [
        PRIORITIES[params.order](job.gpus, d)
        for job, d in zip(problem.jobs, durations, strict=True)
    ]
    sequence = sorted(range(len(priority)), key=lambda j: (priority[j], j))
    plan = CompiledQueue(problem, rho).backfill(np.array(sequence, dtype=np.int64))
    ties = "jobs by position; servers by (idle GPUs, server)"
    info = {"seed": seed, "order": params.order, "ties": ties}
    search = LimitSearch.single(problem, plan)
    return search.result(problem, solver=f"backfill-{params.order}", started=started, info=info)
