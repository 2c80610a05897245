"""Cheapest completions of jobs that may change from slot to slot: pricing of :mod:`.columns`.

For schedules with free preemption, see :func:`.columns.revenue_bound`. Of the mini-batches that a
slot trains for a job, the first C n_1 cost w / n_1 each at least, the others,
up to D' n_0, w (D' - C) / (D' n_0 - C n_1); w is the price of the cheapest worker, C the most
workers on one node, D' on several. Each costs p / max(C n_1, D' n_0) more, p that of the cheapest
PS. As the second price is no lower than the first, a completion by time t buys the cheapest
mini-batches of all slots from the release to t. Going from slot to slot, dear ones that are no
longer needed are given back: O(T log T) for all t of a job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....formulations.irmp.problem import Irmp
from ....instances.arrays import Floats, Ints
from ....instances.compiled import compiled
from ....instances.heaps import pop, push
from .pricing import Classes, worker_caps

#: relative error of sums of mini-batches, and more
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Speeds:
    """How fast jobs can be, of the fastest model, and what that takes.

    Parameters
    ----------
    batches : (jobs,) floats
        E D M, less what errors of sums of floats can be: 10 times 0.1 completes 1.
    size : (jobs, 2) floats
        Mini-batches of a slot: C n_1, and what D' n_0 is more than that, if it is.
    workers : (jobs, 2) floats
        Workers for each of these mini-batches.
    ps : (jobs,) floats
        PSs for a mini-batch.
    """

    batches: Floats
    size: Floats
    workers: Floats
    ps: Floats

    @classmethod
    def of(cls, problem: Irmp, classes: Classes) -> Speeds:
        """Return them for all jobs of a problem."""
        jobs, caps = problem.jobs, worker_caps(problem, classes)
        one, several = (max(cap[k] for cap in caps) for k in (0, 1))
        size, workers = np.zeros((len(jobs), 2)), np.zeros((len(jobs), 2))
        for j, job in enumerate(jobs):
            fast, slow = (
                max(float(problem.rate(j, nodes, model)) for model in problem.models)
                for nodes in (1, 2)
            )
            few, many = min(one, job.gpus), min(several, job.gpus)
            size[j] = few * fast, max(many * slow - few * fast, 0.0)
            workers[j, 0] = 1 / fast
            if size[j, 1] > 0:
                workers[j, 1] = (many - few) / size[j, 1]
        most = size.sum(axis=1)
        ps = np.divide(1.0, most, out=np.zeros(len(jobs)), where=most > 0)
        batches = np.array([float(job.batches) for job in jobs]) * (1 - ROUNDING)
        return cls(batches, size, workers, ps)


@dataclass(frozen=True, slots=True, eq=False)
class SlotUsage:
    """What a completion takes: a column of the linear program.

    Parameters
    ----------
    start : int
        First slot with work.
    slot, row : (n,) ints
        Row is 2 times the class of nodes, plus 1 for PSs.
    much : (n,) floats
    """

    start: int
    slot: Ints
    row: Ints
    much: Floats

    @property
    def key(self) -> tuple[bytes, ...]:
        """What is equal for equal usages."""
        return self.slot.tobytes(), self.row.tobytes(), self.much.round(9).tobytes()

    def rows(self, ends: Ints) -> tuple[Ints, Floats]:
        """Return rows (class, resource, block) of the linear program, and how much of each."""
        at = self.row * ends.size + np.searchsorted(ends, self.slot, side="right")
        rows, inverse = np.unique(at, return_inverse=True)
        return rows, np.asarray(np.bincount(inverse, weights=self.much), dtype=np.float64)


def best_completions(
    speeds: Speeds, values: Floats, floor: Floats, begin: Ints, prices: Floats, ends: Ints
) -> tuple[Floats, Ints]:
    """Return each job's best value - cost, and the time of that completion, -1 for `floor`."""
    lengths = np.diff(ends, prepend=0)
    cheapest = np.repeat(prices.min(axis=0), lengths, axis=1)
    gains, times = np.empty(floor.size), np.empty(floor.size, dtype=np.int64)
    _complete_all(
        speeds.batches, speeds.size, speeds.workers, speeds.ps, values, floor, begin, cheapest,
        gains, times,
    )  # fmt: skip
    return gains, times


def usage(speeds: Speeds, begin: Ints, job: int, end: int, prices: Floats, ends: Ints) -> SlotUsage:
    """Return what the cheapest completion of a job by a time takes."""
    slots = np.arange(begin[job], end)
    block = np.searchsorted(ends, slots, side="right")
    which, cheapest = prices.argmin(axis=0)[:, block], prices.min(axis=0)[:, block]
    key = speeds.workers[job][:, None] * cheapest[0] + speeds.ps[job] * cheapest[1]
    size = np.repeat(speeds.size[job][:, None], slots.size, axis=1)
    order = np.argsort(key.ravel(), kind="stable")
    before = np.cumsum(size.ravel()[order]) - size.ravel()[order]
    bought = np.zeros(size.shape)
    bought.ravel()[order] = np.clip(speeds.batches[job] - before, 0.0, size.ravel()[order])
    workers = (bought * speeds.workers[job][:, None]).sum(axis=0)
    ps = bought.sum(axis=0) * speeds.ps[job]
    busy = np.flatnonzero(ps > 0)
    return SlotUsage(
        start=int(slots[busy[0]]),
        slot=np.tile(slots[busy], 2),
        row=np.concatenate([2 * which[0, busy], 2 * which[1, busy] + 1]),
        much=np.concatenate([workers[busy], ps[busy]]),
    )


@compiled
def _complete_all(
    batches: Any, size: Any, workers: Any, ps: Any, values: Any, floor: Any, begin: Any,
    cheapest: Any, gains: Any, times: Any,
) -> None:  # fmt: skip
    slots = cheapest.shape[1]
    key, held = np.empty(2 * slots), np.empty(2 * slots)  # of what can be bought: - price, and size
    heap = np.empty(2 * slots, dtype=np.int64)  # what is bought, the dearest on top
    for j in range(floor.size):
        gains[j], times[j] = floor[j], -1
        count, trained, cost = 0, 0.0, 0.0
        for t in range(begin[j], slots):
            if values[j, t + 1] <= gains[j]:
                break
            for k in range(2):
                if size[j, k] > 0:
                    price = workers[j, k] * cheapest[0, t] + ps[j] * cheapest[1, t]
                    key[2 * t + k], held[2 * t + k] = -price, size[j, k]
                    push(heap, key, 0, count, 2 * t + k)
                    count += 1
                    trained += size[j, k]
                    cost += price * size[j, k]
            while count > 0 and trained - held[heap[0]] >= batches[j]:
                top = pop(heap, key, 0, count)
                trained -= held[top]
                cost += key[top] * held[top]
                count -= 1
            if trained >= batches[j]:
                gain = values[j, t + 1] - cost - (trained - batches[j]) * key[heap[0]]
                if gain > gains[j]:
                    gains[j], times[j] = gain, t + 1
