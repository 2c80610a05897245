"""Hydra: jobs with deadlines first, the shortest first, nobody is stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..policy import Decision, Information, Preempts, State, ranked
from .deadlines import STATED, Deadlines, RunTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class Hydra:
    """Start jobs with deadlines before best-effort ones, in each class the shortest first.

    Parameters
    ----------
    estimates : object with remaining(state, jobs)
        Of the seconds of service left.

    Notes
    -----
    Source: Z. Yang et al., "Hydra: Deadline-Aware and Efficiency-Oriented Scheduling for Deep
    Learning Jobs on Heterogeneous GPUs", IEEE Trans. Computers 72 (8), 2023, as Gao et al. (2024,
    section IV-D) compare with it: on GPUs of one model, without preemption, deadlines before best
    effort, the shortest remaining time first. A job that does not fit is skipped. Ties by
    (release, number).

    Hydra's own branch and bound over a group of jobs is not here. Our choice: a job that has missed
    its deadlines keeps its class. Run times are those that users state by default.

    Guarantee: none. Wide gangs and best-effort jobs can wait as long as others arrive. O(n log n)
    a decision.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, drive
    >>> from gangsched.instances import DeadlineJob
    >>> jobs = [DeadlineJob(id="short", gpus=1, work=60)]
    >>> jobs += [DeadlineJob(id="due", gpus=1, work=300, rewards=[(600, 100)])]
    >>> drive(Instance(Cluster.of_sizes([1]), jobs), Hydra()).records.end.tolist()
    [360, 300]
    """

    name: ClassVar[str] = "hydra"
    preempts: ClassVar[Preempts] = Preempts.NEVER
    information: ClassVar[Information] = "known"
    estimates: RunTimes = STATED

    def decide(self, state: State) -> Decision:
        """Return the waiting jobs by (best effort, remaining time, release, number)."""
        jobs = state.waiting
        fits = state.gpus[jobs] <= state.free.sum()
        if not fits.any():
            return Decision()
        jobs = jobs[fits]  # the others need no order
        seconds = self.estimates.remaining(state, jobs)
        deadlines = Deadlines.of(state)
        return Decision(order=ranked(state, jobs, deadlines.number[jobs] == 0, seconds))

    def next_change(self, state: State) -> None:
        """No job that waits has room before something ends."""
