"""What policies can win that profile each new job before they run it.

Theorem. Let a policy profile job j for T seconds or more before its work begins, start profiling at
multiples of c only, and begin the work of jobs with deadlines at multiples of L only. With [t]_m
the first multiple of m from t on, no work of job j is done before

    s_j = [[r_j]_c + T]_L.

So its schedule, without the profiling, is one of the same jobs released at s_j, with the same
moments for deadlines, and every bound of the rewards of these jobs holds for the policy.

The GPUs on which jobs are profiled are not counted, so that more could be lost. T, c and L are read
from the runs; whether s_j holds is checked job by job.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...formulations.deadline_rewards import DeadlineRewards
from ...instances.model import DeadlineJob, Instance
from ...solvers.result import Bound
from ..driving.run import EventKind, Run
from ..driving.segments import Segments
from ..proofs.bound import Effort, bound

PROFILED = "reward after profiling"


@dataclass(frozen=True)
class Profiling:
    """For how long policies profile, and when.

    Parameters
    ----------
    seconds : int
        T, of each job.
    cycle : int
        c: profiling starts at its multiples.
    lease : int
        L: the work of jobs with deadlines begins at its multiples.

    Examples
    --------
    >>> Profiling(300, 60, 900).first(70)
    900
    """

    seconds: int
    cycle: int
    lease: int

    @classmethod
    def of(cls, run: Run) -> Profiling | None:
        """Return that of a run; None where it does not profile all jobs with deadlines first."""
        segments, jobs = Segments.of(run), run.require_instance().jobs
        due = np.array([bool(job.rewards) for job in jobs])[segments.job]
        whole = segments.profile & (segments.kind == EventKind.PROFILED)
        work = due & ~segments.profile
        if not whole.any() or not work.any():
            return None
        first = np.full(len(jobs), -1)
        first[segments.job[work][::-1]] = segments.start[work][::-1]
        found = cls(
            int((segments.end - segments.start)[whole].min()),
            max(int(np.gcd.reduce(segments.start[whole])), 1),
            max(int(np.gcd.reduce(first[first >= 0])), 1),
        )
        early = (0 <= at < found.first(job.release) for at, job in zip(first, jobs, strict=True))
        return None if any(early) else found

    @classmethod
    def common(cls, found: Sequence[Profiling]) -> Profiling:
        """Return what holds for all of them."""
        return cls(
            min(one.seconds for one in found),
            math.gcd(*(one.cycle for one in found)),
            math.gcd(*(one.lease for one in found)),
        )

    def first(self, release: int) -> int:
        """Return s_j, before which no work of a job is done."""
        profiled = -(-release // self.cycle) * self.cycle + self.seconds
        return -(-profiled // self.lease) * self.lease

    def later(self, instance: Instance[Any]) -> Instance[DeadlineJob]:
        """Return the jobs released at s_j, with the same moments for deadlines."""
        jobs = []
        for job in instance.jobs:
            release = self.first(job.release)
            gone = release - job.release
            rewards = [(due - gone, value) for due, value in job.rewards if due > gone]
            jobs.append(replace(job, release=release, rewards=rewards))
        return replace(instance, jobs=tuple(jobs))

    def __str__(self) -> str:
        return (
            f"a new job is profiled for {self.seconds} s, from a multiple of {self.cycle} s on, "
            f"and the work of one with deadlines begins at a multiple of {self.lease} s"
        )


class ProfiledBound(NamedTuple):
    """An upper bound of the rewards of policies that keep gangs and profile jobs first.

    Parameters
    ----------
    profiling : Profiling
    problem : DeadlineRewards
        Of the later jobs.
    bound : Bound
    runs : tuple of Run
        Those for which it holds.
    """

    profiling: Profiling
    problem: DeadlineRewards
    bound: Bound
    runs: tuple[Run, ...]


def profiled_bound(
    instance: Instance[Any], runs: Sequence[Run], effort: Effort
) -> ProfiledBound | None:
    """Return what is common to all of the runs that profile first; None where none does.

    Parameters
    ----------
    instance : Instance
        Of the jobs that the runs did not reject.
    runs : sequence of Run
        In which all of these are complete.
    effort : {"quick", "standard", "full"}
    """
    kinds = [(run, kind) for run in runs if (kind := Profiling.of(run)) is not None]
    if not kinds:
        return None
    profiling = Profiling.common([kind for _, kind in kinds])
    problem = DeadlineRewards(profiling.later(instance))
    first = tuple(run for run, _ in kinds)
    return ProfiledBound(profiling, problem, bound(problem, effort), first)
