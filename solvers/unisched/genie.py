"""GENIE: the job that can wait least goes first, nobody is stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...instances.model import FULL_SPEED
from ..growing import longer
from ..policy import Decision, Information, Ints, Preempts, State, ranked
from .deadlines import NEVER, STATED, Arrived, Deadlines, Room, RunTimes, places_in_turn


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
    information: ClassVar[Information] = "known"
    one_model: ClassVar[bool] = True
    elastic: bool = False
    estimates: RunTimes = STATED

    def decide(self, state: State) -> Decision:
        """Return the waiting jobs by (waiting allowance, release, number)."""
        jobs = state.waiting
        if self.elastic:
            return self._elastic(state, jobs)
        jobs = jobs[state.gpus[jobs] <= state.free.sum()]
        deadlines = Deadlines.of(state)
        if not deadlines.number[jobs].any():
            return Decision(order=jobs)  # as they came
        ends = state.now + self.estimates.remaining(state, jobs)
        due = deadlines.met(jobs, ends)
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
        deadlines = Deadlines.of(state)
        dated = jobs[deadlines.number[jobs] > 0]
        if not dated.size:
            return None
        fastest = self._run_times(state, dated).min(axis=1)
        missed = deadlines.due[dated] - fastest[:, None] + 1
        future = missed[(missed > state.now) & (missed < NEVER // 2)]
        return int(future.min()) if future.size else None

    def _elastic(self, state: State, jobs: Ints) -> Decision:
        """Places for the gangs that are best now."""
        if not state.free.any():
            return Decision()
        deadlines = Deadlines.of(state)
        is_dated = deadlines.number[jobs] > 0
        if not is_dated.any():  # as they came
            return Decision(start=places_in_turn(state, jobs, state.gpus[jobs], state.free))
        fits = is_dated | (state.gpus[jobs] <= state.free.sum())  # the others find no room
        jobs, is_dated = jobs[fits], is_dated[fits]
        wait, gang = np.full(jobs.size, NEVER), state.gpus[jobs]
        at = np.flatnonzero(is_dated)
        dated = jobs[at]
        ends = state.now + self._run_times(state, dated)
        due = np.min([deadlines.met(dated, column) for column in ends.T], axis=0)
        # the least gang that meets the first deadline that any meets
        best = np.stack([np.arange(at.size), (ends <= due[:, None]).argmax(axis=1)])
        met = due < NEVER
        wait[at[met]] = (due - ends[tuple(best)])[met]
        gang[at[met]] = ElasticGangs.of(state).gpus[dated[met], best[1, met]]
        order = np.lexsort((state.rank[jobs], wait))
        return Decision(start=places_in_turn(state, jobs[order], gang[order], state.free))

    def _run_times(self, state: State, jobs: Ints) -> Ints:
        """Seconds that each job would run on half its gang, on the gang, and on twice as many."""
        left, speed = self.estimates.remaining(state, jobs), ElasticGangs.of(state).speed[jobs]
        seconds = -(-left[:, None] * FULL_SPEED // np.maximum(speed, 1))
        return np.where(speed > 0, seconds, NEVER // 2)


class ElasticGangs(Arrived):
    """On how many GPUs the jobs that have come may run, and how fast they are there.

    Attributes
    ----------
    gpus, speed : (jobs, 3) int arrays
        Half the gang, the gang, and twice as much; no speed where it has no place.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gpus = self.speed = np.zeros((0, 3), dtype=np.int64)
        self._numbers: dict[tuple[int, int], list[int]] = {}  # by gang and pod

    def read(self, state: State, new: list[int]) -> None:
        """Read how they can run; best-effort jobs have no speeds."""
        size = max(new) + 1
        self.gpus, self.speed = longer(self.gpus, size), longer(self.speed, size)
        for j in new:
            job = state.job(j)
            if not job.best_effort:
                kind = job.gpus, job.pod
                if kind not in self._numbers:
                    self._numbers[kind] = _numbers(state, *kind)
                self.gpus[j] = self._numbers[kind]
                self.speed[j] = [job.speed_on(n, 1, n) if n else 0 for n in self.gpus[j].tolist()]


def _numbers(state: State, gang: int, pod: int) -> list[int]:
    """Half a gang of whole pods, the gang, and twice as much if that has a place; or 0."""
    twice = Room(state, state.sizes.tolist()).place(2 * gang, pod)
    half = 0 if pod and gang // 2 % pod else gang // 2
    return [half, gang, 0 if twice is None else 2 * gang]
