"""Earliest deadline first, with preemption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..policy import Decision, Information, Ints, Preempts, State, ranked
from .deadlines import NEVER, STATED, Deadlines, RunTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class EarliestDeadline:
    """Run the jobs with the earliest deadlines that they can still meet, the others last.

    Parameters
    ----------
    estimates : object with remaining(state, jobs)
        Of the seconds of service left.

    Notes
    -----
    Source: C. L. Liu, J. W. Layland, "Scheduling Algorithms for Multiprogramming in a
    Hard-Real-Time Environment", Journal of the ACM 20 (1), 1973; here for gangs. Best-effort jobs
    and late ones come after all others; ties by (release, number).

    Guarantee: on one GPU without overhead all deadlines are met if any schedule meets them all; of
    gangs or overload nothing is known. O(n log n) a decision.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, drive
    >>> from gangsched.instances import DeadlineJob
    >>> jobs = [DeadlineJob(id="long", gpus=1, work=600, rewards=[(1500, 100)])]
    >>> jobs += [DeadlineJob(id="soon", gpus=1, work=60, release=60, rewards=[(120, 100)])]
    >>> drive(Instance(Cluster.of_sizes([1]), jobs), EarliestDeadline()).records.end.tolist()
    [685, 120]
    """

    name: ClassVar[str] = "edf"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[Information] = "known"
    estimates: RunTimes = STATED

    def decide(self, state: State) -> Decision:
        """Return all jobs by the first deadline that each can still meet."""
        jobs, deadlines = state.candidates, Deadlines.of(state)
        if not self._open(state, jobs).size:
            return Decision(order=jobs)  # as they came
        ends = state.now + self.estimates.remaining(state, jobs)
        return Decision(order=ranked(state, jobs, deadlines.met(jobs, ends)))

    def next_change(self, state: State) -> int | None:
        """Return the next round while a deadline may be met: that can become impossible any time.

        Parameters
        ----------
        state : State

        Notes
        -----
        Nor does the order change after that; but where a job finds no place, its patience may end.
        """
        if self._open(state, state.candidates).size:
            return state.now + 1
        blocked = (state.blocked[state.waiting] >= 0).any()
        return state.now + 1 if blocked and state.rules.patience is not None else None

    def _open(self, state: State, jobs: Ints) -> Ints:
        """Those that have a deadline which is not over."""
        last = Deadlines.of(state).last(jobs)
        return jobs[(last > state.now) & (last < NEVER)]
