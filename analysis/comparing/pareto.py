"""Makespan against mean completion: which schedules of RAR-DDLS nobody beats in both.

Yu et al. minimise the makespan and report the mean completion time beside it. The two are at odds:
short jobs first makes the mean small, long or wide jobs first the makespan.

Bounds of both close the picture. That of the makespan is the comparison's. For the mean, leave out
all that slows jobs down but the number of GPUs: job j holds G_j of N GPUs for at least d_j slots
(its time without contention, on as few nodes as can hold it or on more, whichever is faster),
and may be interrupted. Cut to d_j slots, any schedule of RAR-DDLS is one of this problem
(:class:`~gangsched.formulations.CompletionTime`) with no later completions. So the bound of the sum
of completion times there, certified by prices of GPU time, is one of the sum here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.problem import check_class
from ...formulations.rar_ddls.problem import RarDdls
from ...instances.jobs import Job
from ...instances.model import Cluster, Instance
from ...solvers.result import Bound
from ..proofs.bound import Effort, bound
from .comparison import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoFront:
    """Schedules by makespan and mean completion, and what no schedule can be below.

    Parameters
    ----------
    points : mapping of name to (makespan, mean completion)
        Of every solver with a schedule, in slots.
    front : tuple of str
        Those that no other beats in one measure without losing in the other, by rising makespan; of
        equal ones the first.
    makespan : Bound or None
        The comparison's.
    completion : Bound or None
        Of the sum of completion times; certified for :func:`pooled` of the problem.
    jobs : int
    """

    points: dict[str, tuple[float, float]]
    front: tuple[str, ...]
    makespan: Bound | None
    completion: Bound | None
    jobs: int

    @property
    def mean(self) -> float | None:
        """The bound of the mean completion, in slots."""
        return None if self.completion is None else self.completion.value / max(self.jobs, 1)


def pooled(problem: RarDdls) -> CompletionTime:
    """Return the sum of completion times on a pool of all GPUs, without contention, preemptive.

    Its optimum is at most the sum of completion times of any schedule of the problem.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=2, iterations=50, gradient=0.1, base_time=0.01) for i in "ab"]
    >>> pooled(RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))).instance.jobs[0].work
    7
    """
    check_class("pooled", problem, RarDdls)
    gpus = problem.instance.cluster.gpus
    jobs = [
        Job(id=job.id, gpus=job.gpus, work=int(d))
        for job, d in zip(problem.jobs, problem.shortest_durations(), strict=True)
    ]
    return CompletionTime(Instance(Cluster.of_sizes([gpus]), jobs), "completion")


def pareto_front(comparison: Comparison, effort: Effort = "standard") -> ParetoFront:
    """Return makespan against mean completion of the solvers of a comparison.

    Parameters
    ----------
    comparison : Comparison
        Of RAR-DDLS.
    effort : {"quick", "standard", "full"}
        Of the bound of the mean completion.

    Raises
    ------
    TypeError
        For a comparison of another problem.

    Notes
    -----
    Complexity: that of the bound; O(rows log rows) beside it.

    Examples
    --------
    >>> import gangsched as gs
    >>> from gangsched.formulations.io import problem_from_dict
    >>> problem = problem_from_dict(gs.library.entry("rar-small-0").problem)
    >>> found = pareto_front(gs.compare(problem, ["sjf-bco", "laminar"]))
    >>> found.front, round(found.mean)
    (('laminar', 'sjf-bco'), 276)
    """
    problem: Any = comparison.problem
    check_class("pareto_front", problem, RarDdls)
    points = {
        row.solver: (float(row.objective), float(row.mean_completion))
        for row in comparison.rows
        if row.objective is not None and row.mean_completion is not None
    }
    front: list[str] = []
    for name, (_, mean) in sorted(points.items(), key=lambda item: item[1]):
        if not front or mean < points[front[-1]][1]:
            front.append(name)
    least = bound(pooled(problem), effort=effort) if problem.jobs else None
    return ParetoFront(
        points=points, front=tuple(front), makespan=comparison.bound, completion=least,
        jobs=len(problem.jobs),
    )  # fmt: skip
