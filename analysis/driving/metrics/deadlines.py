"""Measures of deadlines and of the rewards for them, of Gao et al. (2024)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....instances.model import DeadlineJob, Instance
from ..run import Floats, Run
from .jobs import completion_time, preemptions, profiling_wait
from .parts import mean, once

Deadlines = Instance[DeadlineJob]


def rewards(run: Run) -> Floats:
    """Return what each job won by its completion."""
    instance, book = _of_deadlines(run), run.records
    won = np.full(len(book), np.nan)
    outcomes = zip(instance.jobs, book.end.tolist(), book.rejected.tolist(), strict=True)
    for j, (job, end, rejected) in enumerate(outcomes):
        if job.best_effort:
            continue
        if end >= 0:
            won[j] = job.reward(end)
        elif rejected or run.now > job.release + job.rewards[-1][0]:
            won[j] = 0.0
    return won


def _of_deadlines(run: Run) -> Deadlines:
    """The instance, of jobs with deadlines."""
    instance = run.require_instance()
    if instance.jobs and not instance.kind.has_deadlines:
        job, kind = instance.jobs[0].id, instance.kind.__name__
        raise TypeError(f"metrics: job {job!r} is a {kind}, not a DeadlineJob")
    return instance


def weighted_miss(run: Run, *, own: bool = False) -> float | None:
    """Return the weighted miss rate R^slo, Section IV-C: 1 less (15).

    Notes
    -----
    The paper prints the mean of W / W_max, the attainment, and calls it a miss rate. Its figures
    show what is left to 1.
    """
    won, instance = rewards(run), run.require_instance()
    known = ~np.isnan(won)
    if not known.any():
        return None
    tops = np.array([job.top_reward for job in instance.jobs])
    return 1 - float(np.mean(won[known] / (tops[known] if own else tops.max())))


def best_effort_latency(run: Run) -> float | None:
    """Return the mean completion time of the best-effort jobs, in seconds (Section IV-C, JCT)."""
    return mean(completion_time(run)[_best_effort(_of_deadlines(run))])


def _best_effort(instance: Deadlines) -> NDArray[np.bool_]:
    return np.array([job.best_effort for job in instance.jobs], dtype=bool)


@once
def deadline_summary(run: Run) -> dict[str, float | int | None]:
    """Return what a run of jobs with deadlines is measured by, by name.

    Examples
    --------
    >>> from gangsched.analysis.driving.drive import drive
    >>> from gangsched.instances import Cluster
    >>> from gangsched.solvers import Fifo
    >>> soft = DeadlineJob(id="a", gpus=2, work=100, rewards=[(90, 100), (110, 80)])
    >>> best = DeadlineJob(id="b", gpus=2, work=50)
    >>> instance = Instance(Cluster.of_sizes([2]), [soft, best])
    >>> found = deadline_summary(drive(instance, Fifo()))
    >>> found["reward"], round(found["weighted_miss"], 2), found["best_effort_latency"]
    (80.0, 0.2, 170.0)
    """
    instance, won, able = _of_deadlines(run), rewards(run), ~run.records.rejected
    best = _best_effort(instance)
    strict = np.array([len(job.rewards) == 1 for job in instance.jobs], dtype=bool)
    lost = np.where(np.isnan(won), np.nan, won == 0)
    times = preemptions(run).astype(np.float64)
    missed = mean(lost[~best])
    return {
        "slo_jobs": int((~best).sum()),
        "best_effort_jobs": int(best.sum()),
        "reward": float(np.nansum(won)),
        "top_reward": float(sum(job.top_reward for job in instance.jobs)),
        "weighted_miss": weighted_miss(run),
        "weighted_miss_own": weighted_miss(run, own=True),
        "strict_miss": mean(lost[strict]),
        "in_time": None if missed is None else 1 - missed,
        "best_effort_latency": best_effort_latency(run),
        "slo_suspensions": mean(times[~best & able]),
        "best_effort_suspensions": mean(times[best & able]),
        "profiling_wait": mean(profiling_wait(run)),
    }
