"""The rewards that a whole run wins: gangs with deadlines, preemptive, on a cluster.

What every policy for jobs with deadlines is measured by once it is over. A job may be interrupted
at any second and go on elsewhere, without loss; it may be left unfinished, and a schedule may hold
GPUs longer than the work takes (overheads, work done twice). Of the family
``P | size_j, r_j, pmtn | sum w_j U_j``, with rewards that fall in steps. The optimum knows all jobs
in advance, so an upper bound of it (see :mod:`gangsched.analysis.proofs.deadline_rewards`) over the
reward that a policy won is at least its ratio to the offline optimum.

Symbols
-------
===========  ==========================  ============================================
symbol       here                        unit
===========  ==========================  ============================================
M            ``cluster.gpus``            GPUs
D_j          ``job.gpus``                GPUs
r_j          ``job.release``             seconds
p_j          ``job.work``                seconds of service of the gang on one node
(d, V)       a pair of ``job.rewards``   seconds from release; reward
C_j          last ``segment.end``        seconds, of a job whose work is done
===========  ==========================  ============================================

Rules: gang (each segment holds D_j GPUs, or 1 to 2 D_j where the jobs are `elastic`), capacity (of
each node), release, work (segments of a job do not overlap), pin (GPU model). Speed is that of
:meth:`DeadlineJob.speed`: a gang that is split over nodes is slower, so p_j takes longer.

Source of the rewards: W. Gao, Z. Ye, P. Sun, T. Zhang, Y. Wen, "UniSched: A Unified Scheduler for
Deep Learning Training Jobs With Different User Demands", IEEE TC 73(6), 2024,
eq. (4). Best-effort jobs have no deadline and win nothing here; what counts for them is the mean
completion time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ..instances.check import flag
from ..instances.model import FULL_SPEED, DeadlineJob, Instance
from ..instances.schedule import Schedule
from .breaches import reference_violations
from .completion_time.problem import FEW, CompletionTime
from .problem import Described, Goal, Model, Sense, build, check_instance


@dataclass(frozen=True, slots=True)
class DeadlineRewards(Described):
    r"""Maximise the sum of the rewards of jobs that are complete by their deadlines.

    .. math::

        \max \sum_j V_j(C_j - r_j), \qquad V_j \text{ falls in steps}

    Parameters
    ----------
    instance : Instance of DeadlineJob
        Jobs with work; equal GPUs, every gang within the cluster.
    elastic : bool
        Whether a job may run on any number of GPUs from 1 to twice its gang, at the speed of its
        scaling law; on exactly its gang otherwise.

    Raises
    ------
    ValueError, TypeError
        Naming object, value and rule.

    Examples
    --------
    Two jobs on one GPU, of which only one can meet its deadline in full:

    >>> from gangsched.instances import Cluster, DeadlineJob, Instance, Segment
    >>> strict = DeadlineJob(id="a", gpus=1, work=4, rewards=[(4, 100)])
    >>> soft = DeadlineJob(id="b", gpus=1, work=4, rewards=[(6, 100), (8, 80)])
    >>> problem = DeadlineRewards(Instance(Cluster.of_sizes([1]), [strict, soft]))
    >>> plan = Schedule.of([Segment(0, 0, 4, {0: 1}), Segment(1, 4, 8, {0: 1})])
    >>> problem.violations(plan), problem.objective(plan)
    ([], 180)
    """

    instance: Instance[Any]
    elastic: bool = False

    sense: ClassVar[Sense] = Sense.MAX
    goal: ClassVar[Goal] = Goal("reward", time="seconds")
    forms: ClassVar[tuple[str, ...]] = ("time-indexed",)

    def __post_init__(self) -> None:
        owner = "DeadlineRewards"
        flag(self, owner, "elastic")
        check_instance(self)
        for job in self.jobs[:1]:  # jobs of an instance are of one kind
            if not isinstance(job, DeadlineJob):
                raise TypeError(
                    f"{owner}: job {job.id!r} is a {type(job).__name__}, which has no deadlines"
                )
        CompletionTime(self.instance)  # the same rules for jobs and cluster
        models = {node.model for node in self.instance.cluster.nodes}
        for job in self.jobs:
            for model, speed in job.speeds.items():
                if model in models and speed != 1:
                    raise ValueError(
                        f"job {job.id!r}: speeds[{model!r}]={speed} is not 1, GPUs are equal"
                    )
        last = max(
            (job.release + job.rewards[-1][0] for job in self.jobs if job.rewards), default=0
        )
        if last * self.instance.cluster.gpus >= 2**56:
            raise ValueError(
                f"instance: deadlines reach {last} s, which times the cluster's "
                f"{self.instance.cluster.gpus} GPUs is 2**56 or more"
            )

    @property
    def jobs(self) -> Sequence[DeadlineJob]:
        """The jobs, by number."""
        return self.instance.jobs

    @property
    def integral(self) -> bool:
        """Whether every objective value is an integer."""
        return self.unit.denominator == 1

    @property
    def unit(self) -> Fraction:
        """The largest number that every reward, so every objective, is a multiple of; 0 without."""
        unit = Fraction(0)
        for value in {value for job in self.jobs for _, value in job.rewards}:
            unit = _common(unit, Fraction(value))
        return unit

    @property
    def top(self) -> float:
        """The sum of all jobs' largest rewards."""
        return _number(sum((Fraction(job.top_reward) for job in self.jobs), start=Fraction(0)))

    # -- objective and feasibility ---------------------------------------------------------------

    def objective(self, solution: Schedule) -> float:
        """Return the sum of the rewards: an integer where `integral`, else a rounded float."""
        won = sum(map(Fraction, self.rewards(solution)), start=Fraction(0))
        return int(won) if self.integral else float(won)

    def rewards(self, solution: Schedule) -> list[float]:
        """Return the reward of every job, by number; 0 for one whose work is not done.

        Parameters
        ----------
        solution : Schedule

        Notes
        -----
        C_j is the end of the job's last segment, though its work may have been done before.
        """
        done, ends = self.service(solution), np.zeros(len(self.jobs), dtype=np.int64)
        np.maximum.at(ends, solution.job, solution.end)
        return [
            job.reward(end) if served >= FULL_SPEED * (job.work or 0) else 0.0
            for job, served, end in zip(self.jobs, done, ends.tolist(), strict=True)
        ]

    def service(self, solution: Schedule) -> list[int]:
        """Return the work that was done for each job, by number, in millionths of a second.

        Parameters
        ----------
        solution : Schedule
        """
        sizes = np.array(self.instance.cluster.sizes, dtype=np.int64)
        done = [0] * len(self.jobs)
        if not len(solution):
            return done
        held = np.add.reduceat(solution.gpus, solution.ptr[:-1]).tolist()
        largest = np.maximum.reduceat(sizes[solution.node], solution.ptr[:-1]).tolist()
        lengths = (solution.end - solution.start).tolist()
        nodes = np.diff(solution.ptr).tolist()
        speed = cache(lambda j, gpus, nodes, size: self.jobs[j].speed(gpus, nodes, size))
        for j, *where, length in zip(
            solution.job.tolist(), held, nodes, largest, lengths, strict=True
        ):
            done[j] += speed(j, *where) * length
        return done

    def violations(self, solution: Schedule) -> list[str]:
        """Return what `solution` breaks, for each rule the first few.

        Messages start with the rule's name. O(segments log segments).
        """
        physical = CompletionTime(self.instance)
        broken = reference_violations(physical, solution)[:FEW]
        if broken:
            return broken
        broken += (self if self.elastic else physical)._gang_violations(solution)
        broken += physical._pin_violations(solution)
        broken += physical._capacity_violations(solution)
        broken += physical._time_violations(solution)
        return broken

    def _gang_violations(self, solution: Schedule) -> Iterator[str]:
        held = np.add.reduceat(solution.gpus, solution.ptr[:-1]) if len(solution) else solution.gpus
        most = 2 * np.array([job.gpus for job in self.jobs], dtype=np.int64)[solution.job]
        for i in np.flatnonzero((held < 1) | (held > most))[:5].tolist():
            job = self.jobs[solution.job[i]]
            yield (
                f"gang: job {job.id!r} holds {held[i]} GPUs at {solution.start[i]}, "
                f"which is not within 1 to {most[i]}"
            )

    # -- declarative model -------------------------------------------------------------------------

    def build(self, form: str = "time-indexed") -> Model[Schedule]:
        """Return the Pyomo model, described in `deadline_rewards_forms`; for one node.

        Raises
        ------
        ValueError
            Where `form` is unknown, there are several nodes, or the model would be too large.
        """
        return build(self, form)


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The greatest common divisor."""
    over = math.gcd(one.numerator * other.denominator, other.numerator * one.denominator)
    return Fraction(over, one.denominator * other.denominator)


def _number(value: Fraction) -> float:
    return int(value) if value.denominator == 1 else float(value)
