"""GENIE: the job that can wait least goes first, nobody is stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...instances.model import FULL_SPEED
from ..policy import Decision, Information, Ints, Preempts, Start, State, ranked
from .deadlines import NEVER, STATED, Deadlines, Room, RunTimes

__all__ = ["Genie"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Genie:
    """Start the jobs with the smallest waiting allowance, best-effort jobs last.

    Parameters
    ----------
    elastic : bool
        Let jobs with deadlines also run on half or twice their gang: on the fewest GPUs (the least
        GPU time) on which they meet the first deadline that they can meet at all.
    estimates : object with remaining(state, jobs)
        Of the seconds of service left on the job's own gang.

    Notes
    -----
    Source: Z. Chen et al., "Deep Learning Research and Development Platform: Characterizing and
    Scheduling with QoS Guarantees on GPU Clusters", IEEE Trans. Parallel and Distributed Systems
    31 (1), 2020: smallest waiting allowance first, w = d - now - remaining time, without
    preemption; best-effort jobs last, as Gao et al. (2024, section IV-D) compare with it. A job
    that does not fit is skipped.

    Our choices: d is the first deadline that the job still meets if it starts now; a job that can
    meet none joins the best-effort jobs, which go by (release, number), as ties do; elastic jobs
    run at the speeds that their `scaling` gives, consolidated. Run times are those that users
    state by default.

    Guarantee: none. Best-effort jobs wait as long as jobs with deadlines arrive, and late jobs with
    them. O(n log n) a decision.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, drive
    >>> from gangsched.instances import DeadlineJob
    >>> jobs = [DeadlineJob(id="a", gpus=1, work=60, rewards=[(900, 100)])]
    >>> jobs += [DeadlineJob(id="b", gpus=1, work=600, rewards=[(660, 100)])]
    >>> drive(Instance(Cluster.of_sizes([1]), jobs), Genie()).records.end.tolist()
    [660, 600]
    """

    name: ClassVar[str] = "genie"
    preempts: ClassVar[Preempts] = Preempts.NEVER
    information: ClassVar[Information] = "told"
    one_model: ClassVar[bool] = True
    elastic: bool = False
    estimates: RunTimes = STATED

    def decide(self, state: State) -> Decision:
        """Return the waiting jobs by (waiting allowance, release, number)."""
        jobs = state.waiting
        if self.elastic:
            return self._elastic(state, jobs)
        if state.gpus[jobs].min() > state.free.sum():
            return Decision()
        ends = state.now + self.estimates.remaining(state, jobs)
        due = Deadlines.of(state).met(jobs, ends)
        return Decision(order=ranked(state, jobs, np.where(due < NEVER, due - ends, NEVER)))

    def next_change(self, state: State) -> int | None:
        """Return when an elastic job misses a deadline on all its gangs: it may take fewer GPUs.

        Parameters
        ----------
        state : State

        Notes
        -----
        Otherwise no job that waits has room before something ends.
        """
        if not self.elastic:
            return None
        jobs = state.waiting
        fastest = np.array([min(run for _, run in own) for own in self._gangs(state, jobs)])
        missed = Deadlines.of(state).due[jobs] - fastest[:, None] + 1
        future = missed[(missed > state.now) & (missed < NEVER // 2)]
        return int(future.min()) if future.size else None

    def _elastic(self, state: State, jobs: Ints) -> Decision:
        """Places for the gangs that are best now."""
        if not state.free.any():
            return Decision()
        deadlines = Deadlines.of(state)
        wait, gang = np.full(jobs.size, NEVER), state.gpus[jobs]
        for i, own in enumerate(self._gangs(state, jobs)):
            ends = np.array([state.now + run for _, run in own])
            due = deadlines.met(np.full(ends.size, jobs[i]), ends).min()
            if due < NEVER:  # the least gang that meets the first deadline that any meets
                best = int((ends <= due).argmax())
                wait[i], gang[i] = due - ends[best], own[best][0]
        gangs = dict(zip(jobs.tolist(), gang.tolist(), strict=True))
        room = Room(state, state.free.tolist())
        places = [(j, room.place(gangs[j])) for j in ranked(state, jobs, wait).tolist()]
        start = [Start(j, nodes, gangs[j]) for j, nodes in places if nodes is not None]
        return Decision(start=start)

    def _gangs(self, state: State, jobs: Ints) -> list[list[tuple[int, int]]]:
        """Gangs on which each job may run, rising, and for how many seconds on each."""
        seconds = self.estimates.remaining(state, jobs).tolist()
        numbers = {g: _numbers(state, g) for g in set(state.gpus[jobs].tolist())}
        found = []
        for j, own, left in zip(jobs.tolist(), state.gpus[jobs].tolist(), seconds, strict=True):
            job = state.job(j)
            if job.best_effort:
                found.append([(own, left)])
                continue
            speeds = ((n, job.speed_on(n, 1, n)) for n in numbers[own])
            found.append([(n, -(-left * FULL_SPEED // speed)) for n, speed in speeds])
        return found


def _numbers(state: State, gang: int) -> list[int]:
    """Half a gang, the gang, and twice as much if that has a place on the cluster."""
    found = [gang // 2, gang] if gang > 1 else [gang]
    if Room(state, state.sizes.tolist()).place(2 * gang) is not None:
        found.append(2 * gang)
    return found
