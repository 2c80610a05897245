"""Hydra: jobs with deadlines first, the shortest first, nobody is stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import ClassVar, NamedTuple

import numpy as np

from ...instances.compiled import compiled
from ...instances.model import FULL_SPEED
from ..policy import Decision, Information, Ints, Preempts, State, ranked
from .deadlines import NEVER, STATED, Deadlines, RunTimes

__all__ = ["Hydra", "Waiting", "best_order"]

#: jobs at the head of the queue that are put into the best order
HEAD = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Hydra:
    """Start jobs with deadlines before best-effort ones, in each class the shortest first.

    Parameters
    ----------
    cost : bool
        Put the first eight jobs of the queue into the order of least cost: the sum of their
        completion times and of their tardiness, which counts ten times if the order of least cost
        with single weight is late anywhere.
    estimates : object with remaining(state, jobs)
        Of the seconds of service left.

    Notes
    -----
    Source: Z. Yang et al., "Hydra: Deadline-Aware and Efficiency-Oriented Scheduling for Deep
    Learning Jobs on Heterogeneous GPUs", IEEE Trans. Computers 72 (8), 2023, as Gao et al. (2024,
    section IV-D) compare with it: on GPUs of one model, without preemption, deadlines before best
    effort, the shortest remaining time first. A job that does not fit is skipped. Ties by
    (release, number).

    Our choices: a job that has missed its deadlines keeps its class. `cost` stands for Hydra's own
    branch and bound over a group of jobs with a dynamic penalty: completions are predicted by
    counting GPUs, starts in the order of the jobs, tardiness is that to the last deadline. Run
    times are those that users state by default.

    Guarantee: none. Wide gangs and best-effort jobs can wait as long as others arrive. O(n log n)
    a decision; with `cost` up to 8! orders more, most of which are cut off.

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
    information: ClassVar[Information] = "told"
    cost: bool = False
    estimates: RunTimes = STATED

    def decide(self, state: State) -> Decision:
        """Return the waiting jobs by (best effort, remaining time, release, number)."""
        jobs = state.waiting
        if state.gpus[jobs].min() > state.free.sum():
            return Decision()
        seconds = self.estimates.remaining(state, jobs)
        deadlines = Deadlines.of(state)
        order = ranked(state, jobs, deadlines.number[jobs] == 0, seconds)
        if self.cost:
            left = dict(zip(jobs.tolist(), seconds.tolist(), strict=True))
            due = deadlines.last(order[:HEAD]).tolist()
            head = [
                Waiting(int(state.gpus[j]), int(state.release[j]), left[j], last)
                for j, last in zip(order[:HEAD].tolist(), due, strict=True)
            ]
            order = np.concatenate([order[_cheapest(head, *self._ends(state))], order[HEAD:]])
        return Decision(order=order)

    def next_change(self, state: State) -> None:
        """No job that waits has room before something ends."""

    def _ends(self, state: State) -> tuple[int, list[tuple[int, int]], int]:
        """Free GPUs, when others become free as (time, GPUs), and now."""
        running = state.running
        seconds = self.estimates.remaining(state, running) * FULL_SPEED
        ends = (state.now + -(-seconds // state.speed[running])).tolist()
        held = state.held_gpus[running].tolist()
        return int(state.free.sum()), list(zip(ends, held, strict=True)), state.now


class Waiting(NamedTuple):
    """A job that waits.

    Parameters
    ----------
    gpus, release, seconds : int
        Gang, release, and how long it will run.
    due : int
        Its last deadline, later than everything for best-effort jobs.
    """

    gpus: int
    release: int
    seconds: int
    due: int


def _cheapest(jobs: Sequence[Waiting], free: int, ends: list[tuple[int, int]], now: int) -> Ints:
    """The best order with single weight of tardiness, or with ten times it if any job is late."""
    order, late = best_order(jobs, free, ends, now, penalty=1)
    if late:
        order, late = best_order(jobs, free, ends, now, penalty=10)
    return np.array(order, dtype=np.int64)


def best_order(
    jobs: Sequence[Waiting],
    free: int,
    ends: Sequence[tuple[int, int]],
    now: int,
    *,
    penalty: int,
) -> tuple[list[int], bool]:
    """Return the order of least cost, and whether any job is late in it.

    Notes
    -----
    Depth first; the rest of an order costs at least what it would if all of it started at once. A
    job starts when its gang fits by number of GPUs, not before the one before it. Of orders that
    cost the same the first one by numbers of jobs. Exponential.

    Examples
    --------
    >>> jobs = [Waiting(1, 0, 60, 900), Waiting(1, 0, 100, 100)]
    >>> best_order(jobs, 1, [], 0, penalty=1), best_order(jobs, 1, [], 0, penalty=0)
    (([1, 0], False), ([0, 1], True))
    """
    columns = np.array(jobs, dtype=np.int64).reshape(-1, len(Waiting._fields))
    later = np.array(sorted(ends), dtype=np.int64).reshape(-1, 2)
    order, late = _best_order(columns, later, free, now, penalty)
    return order.tolist(), bool(late)


def reference_best_order(
    jobs: Sequence[Waiting], free: int, ends: Sequence[tuple[int, int]], now: int, *, penalty: int
) -> tuple[list[int], bool]:
    """:func:`best_order` in plain Python."""
    best: tuple[int, list[int], bool] = (NEVER, [], False)

    def costs(j: int, start: int) -> tuple[int, bool]:
        end = start + jobs[j].seconds
        late = max(0, end - jobs[j].due)
        return end - jobs[j].release + penalty * late, late > 0

    def extend(
        order: list[int], cost: int, late: bool, start: int, free: int, ends: list[tuple[int, int]]
    ) -> None:
        nonlocal best
        rest = [j for j in range(len(jobs)) if j not in order]
        if cost + sum(costs(j, start)[0] for j in rest) >= best[0]:
            return
        if not rest:
            best = cost, order, late
        for j in rest:
            then, room, heap = start, free, list(ends)
            while room < jobs[j].gpus:
                time, more = heappop(heap)
                then, room = max(then, time), room + more
            own, is_late = costs(j, then)
            heappush(heap, (then + jobs[j].seconds, jobs[j].gpus))
            extend([*order, j], cost + own, late or is_late, then, room - jobs[j].gpus, heap)

    first = list(ends)
    heapify(first)
    extend([], 0, False, now, free, first)
    return best[1], best[2]


@compiled
def _best_order(jobs: Ints, ends: Ints, free: int, now: int, penalty: int) -> tuple[Ints, bool]:
    """:func:`reference_best_order` without recursion: rows as `Waiting`, and of rising ends.

    At depth d the jobs order[:d] have started, the last of them at then[d]; `room` GPUs are free,
    the first `past[d]` ends and those of the started jobs in the bits of `gone[d]` are counted.
    """
    n = len(jobs)
    order, best, trying = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    then, room, past = np.full(n + 1, now), np.full(n + 1, free), np.zeros(n + 1, np.int64)
    gone, cost = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    late, used, own = np.zeros(n + 1, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int64)
    least, is_late, depth = NEVER, False, 0
    while depth >= 0:
        j = trying[depth]
        if j == 0:  # new here
            total = cost[depth]
            for i in range(n):
                if not used[i]:
                    end = then[depth] + jobs[i, 2]
                    total += end - jobs[i, 1] + penalty * max(0, end - jobs[i, 3])
            if total >= least:
                j = n
            elif depth == n:
                least, is_late = cost[n], late[n]
                best[:] = order
        while j < n and used[j]:
            j += 1
        if j >= n:
            trying[depth] = 0
            depth -= 1
            if depth >= 0:
                used[order[depth]] = False
            continue
        trying[depth] = j + 1
        start, free_now, count, bits = then[depth], room[depth], past[depth], gone[depth]
        while free_now < jobs[j, 0]:
            first = -1
            for k in range(depth):
                if not bits >> k & 1 and (first < 0 or own[k] < own[first]):
                    first = k
            if first >= 0 and (count == len(ends) or own[first] < ends[count, 0]):
                start, free_now = max(start, own[first]), free_now + jobs[order[first], 0]
                bits |= 1 << first
            else:
                start, free_now = max(start, ends[count, 0]), free_now + ends[count, 1]
                count += 1
        order[depth], used[j], own[depth] = j, True, start + jobs[j, 2]
        over = max(0, own[depth] - jobs[j, 3])
        cost[depth + 1] = cost[depth] + own[depth] - jobs[j, 1] + penalty * over
        late[depth + 1] = late[depth] or over > 0
        depth += 1
        then[depth], room[depth] = start, free_now - jobs[j, 0]
        past[depth], gone[depth] = count, bits
    return best, is_late
