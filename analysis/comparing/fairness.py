"""Bounds of how fair anyone could have been to the jobs of a replay."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...formulations.ltgf.fluid import LtgfFluid
from ...formulations.ltgf.problem import Ltgf
from ...instances.arrays import Ints, levels
from ...instances.check import but_for
from ...instances.model import Instance, some_jobs
from ...solvers.policy import Rules
from ...solvers.result import Bound
from ..proofs.fluid_fairness import contended_bound, life_bound
from .measures import uneven

Fairness = tuple[str, Any, Bound]
DAY = 86_400
PEAKS = 3  #: busiest days of which lambda* is given


def fairness_bounds(instance: Instance[Any], rules: Rules) -> list[Fairness]:
    """Bounds of the least rho: over whole lives, and at the peaks of the busiest days.

    None where speeds differ: there GPU time does not follow from work, as `life_bound` takes it to;
    nor where jobs wait for others, as fair shares begin when those have ended.
    """
    if uneven(instance) or any(job.after for job in instance.jobs):
        return []
    # where rho is counted from
    visible = [but_for(job, "release", rules.round_up(job.release)) for job in instance.jobs]
    lives = Ltgf(some_jobs(instance, visible))
    text = "rho of all jobs over their lives, of service alone"
    found: list[Fairness] = [(text, lives, life_bound(lives))]
    jobs = [(job.release, job.work, job.gpus) for job in instance.jobs]
    release, work, gpus = np.array(jobs, dtype=np.int64).reshape(-1, 3).T
    for time in _peaks(release, release + work, gpus, instance.cluster.gpus):
        active = np.flatnonzero((release <= time) & (time < release + work)).tolist()
        text = (
            f"rho of the {len(active):,} jobs that nobody can have finished "
            f"at the peak of day {time // DAY + 1}, were they to stay"
        )
        problem = LtgfFluid.of(instance, active)
        found.append((text, problem, contended_bound(instance, active)))
    return found


def _peaks(begin: Ints, end: Ints, gpus: Ints, capacity: int) -> list[int]:
    """When most GPUs are wanted if no job waits, on the busiest days with more than there are."""
    times, wanted = levels(begin, end, gpus)
    found: dict[int, int] = {}
    for k in np.argsort(-wanted, kind="stable").tolist():
        if len(found) == PEAKS or wanted[k] <= capacity:
            break
        found.setdefault(int(times[k]) // DAY, int(times[k]))
    return sorted(found.values())
