"""Hydra: jobs with deadlines first, the shortest first, nobody is stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import ClassVar, NamedTuple

import numpy as np

from ...instances.arrays import Bools
from ...instances.compiled import compiled, inner
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
        fits = state.gpus[jobs] <= state.free.sum()
        if not fits.any():
            return Decision()
        if not self.cost:  # the others need no order
            jobs = jobs[fits]
        seconds = self.estimates.remaining(state, jobs)
        deadlines = Deadlines.of(state)
        order = ranked(state, jobs, deadlines.number[jobs] == 0, seconds)
        head = order[:HEAD]
        if self.cost and (state.gpus[head] <= state.free.sum()).sum() > 1:  # two that may start
            left = self.estimates.remaining(state, head)
            columns = [state.gpus[head], state.release[head], left, deadlines.last(head)]
            ends = self._ends(state, int(state.gpus[head].max()))
            best = _cheapest(np.stack(columns, axis=1), ends, int(state.free.sum()), state.now)
            order = np.concatenate([head[best], order[HEAD:]])
        return Decision(order=order)

    def next_change(self, state: State) -> None:
        """No job that waits has room before something ends."""

    def _ends(self, state: State, widest: int) -> Ints:
        """When GPUs become free, as rows (time, GPUs) by time: enough for the widest gang.

        Those that profiling runs hold are not shown: what is missing comes with the last.
        """
        running = state.running
        seconds = self.estimates.remaining(state, running) * FULL_SPEED
        ends = state.now + -(-seconds // state.speed[running])
        held = state.held_gpus[running]
        later: Ints = np.stack([ends, held], axis=1)[np.lexsort((held, ends))]
        missing = widest - int(state.free.sum() + held.sum())
        if missing > 0:
            last = int(later[-1, 0]) if len(later) else state.now
            later = np.vstack([later, [[last, missing]]])
        return later


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


def _cheapest(jobs: Ints, ends: Ints, free: int, now: int) -> Ints:
    """The best order with single weight of tardiness, or with ten times it if any job is late."""
    order, late = _best_order(jobs, ends, free, now, 1)
    if late:
        order, late = _best_order(jobs, ends, free, now, 10)
    found: Ints = order
    return found


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
    Depth first. A job starts when its gang fits by number of GPUs, not before the one before it.
    The k-th of the rest of an order starts at the earliest when there have been GPUs for the k
    narrowest gangs, if all of the rest ended as early as it could; the lateness of each is counted
    as if it were the first. Of orders that cost the same the first one by numbers of jobs.
    Exponential. ValueError where a gang is wider than all GPUs.

    Examples
    --------
    >>> jobs = [Waiting(1, 0, 60, 900), Waiting(1, 0, 100, 100)]
    >>> best_order(jobs, 1, [], 0, penalty=1), best_order(jobs, 1, [], 0, penalty=0)
    (([1, 0], False), ([0, 1], True))
    """
    columns = np.array(jobs, dtype=np.int64).reshape(-1, len(Waiting._fields))
    later = np.array(sorted(ends), dtype=np.int64).reshape(-1, 2)
    room = free + int(later[:, 1].sum())
    for j in np.flatnonzero(columns[:, 0] > room)[:1].tolist():
        raise ValueError(f"job {j}: gpus={jobs[j].gpus}, free and ends have {room} GPUs")
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


@inner
def _comes_later(jobs: Ints, used: Bools, j: int) -> bool:
    """Whether an unused job before it is like j: of orders that cost the same the first is kept."""
    for i in range(j):
        like = jobs[i, 0] == jobs[j, 0] and jobs[i, 2] == jobs[j, 2] and jobs[i, 3] == jobs[j, 3]
        if like and not used[i]:
            return True
    return False


@inner
def _put(freed: Ints, count: int, time: int, gpus: int) -> None:
    """Put GPUs into the first rows of `freed`, which are sorted by time."""
    while count > 0 and freed[count - 1, 0] > time:
        freed[count, 0], freed[count, 1] = freed[count - 1, 0], freed[count - 1, 1]
        count -= 1
    freed[count, 0], freed[count, 1] = time, gpus


@inner
def _need(jobs: Ints, by_width: Ints, used: Bools, done: Ints, count: int, time: int) -> int:
    """The fewest GPUs that `count` started jobs hold at `time`, when some may have ended."""
    need, narrowest = 0, 0
    for j in by_width:
        if used[j]:
            continue
        narrowest = jobs[j, 0] if narrowest == 0 else narrowest
        if done[j] <= time:
            count -= 1
    for j in by_width:
        if count > 0 and not used[j] and done[j] > time:
            need += jobs[j, 0]
            count -= 1
    return max(need, narrowest)  # of the last to start


@inner
def _cost_of_rest(
    jobs: Ints, by_width: Ints, used: Bools, done: Ints, freed: Ints, length: int, ends: Ints,
    past: int, now: int, room: int, penalty: int,
) -> int:  # fmt: skip
    """At least what unused jobs cost if `room` GPUs are free at `now`.

    Others become so by rows of `ends` from `past` on, and by the first rows of `freed`. Into `done`
    goes when each job ends at the earliest, if no other one took GPUs before.
    """
    cost, free, time, i, k, rest = 0, room, now, 0, past, 0
    for j in by_width:
        if used[j]:
            continue
        while free < jobs[j, 0]:
            if i < length and (k == len(ends) or freed[i, 0] < ends[k, 0]):
                time, free, i = max(time, freed[i, 0]), free + freed[i, 1], i + 1
            else:
                time, free, k = max(time, ends[k, 0]), free + ends[k, 1], k + 1
        done[j] = time + jobs[j, 2]
        cost += jobs[j, 2] - jobs[j, 1] + penalty * max(0, done[j] - jobs[j, 3])
        rest += 1
    free, time, i, k = room, now, 0, past
    for count in range(1, rest + 1):
        while free < _need(jobs, by_width, used, done, count, time):
            soon = NEVER
            for j in by_width:
                if not used[j] and done[j] > time:
                    soon = min(soon, done[j])
            if i < length:
                soon = min(soon, freed[i, 0])
            if k < len(ends):
                soon = min(soon, ends[k, 0])
            time = max(time, soon)
            while i < length and freed[i, 0] <= time:
                free, i = free + freed[i, 1], i + 1
            while k < len(ends) and ends[k, 0] <= time:
                free, k = free + ends[k, 1], k + 1
        cost += time
    return cost


@compiled
def _best_order(jobs: Ints, ends: Ints, free: int, now: int, penalty: int) -> tuple[Ints, bool]:
    """:func:`reference_best_order` without recursion, and with a better bound.

    Rows are as `Waiting`, and of rising ends. At depth d the jobs order[:d] have started, the last
    of them at then[d]; `room` GPUs are free, the first `past[d]` ends and those of the started jobs
    in the bits of `gone[d]` are counted.
    """
    n = len(jobs)
    order, best, trying = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    then, room, past = np.full(n + 1, now), np.full(n + 1, free), np.zeros(n + 1, np.int64)
    gone, cost = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    late, used, own = np.zeros(n + 1, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int64)
    by_width, freed = np.argsort(jobs[:, 0], kind="mergesort"), np.zeros((n, 2), np.int64)
    done = np.zeros(n, np.int64)
    least, is_late, depth = NEVER, False, 0
    while depth >= 0:
        j = trying[depth]
        if j == 0:  # new here
            length = 0
            for k in range(depth):
                if not gone[depth] >> k & 1:
                    _put(freed, length, own[k], jobs[order[k], 0])
                    length += 1
            total = cost[depth] + _cost_of_rest(
                jobs, by_width, used, done, freed, length, ends, past[depth], then[depth],
                room[depth], penalty,
            )  # fmt: skip
            if total >= least:
                j = n
            elif depth == n:
                least, is_late = cost[n], late[n]
                best[:] = order
        while j < n and (used[j] or _comes_later(jobs, used, j)):
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
