"""Jobs of a user alone on its quota as in :mod:`.sharing_incentive`, as machine code."""

from __future__ import annotations

import numpy as np

from ..instances.arrays import Ints
from ..instances.compiled import inner, tiered


@inner
def _before(left: Ints, one: int, other: int) -> bool:
    """Whether a job has less area left than another; ties by number."""
    return left[one] < left[other] or (left[one] == left[other] and one < other)


@inner
def _push(heap: Ints, size: int, left: Ints, job: int) -> None:
    """Put a job into the heap of those that wait."""
    at = size
    while at > 0 and _before(left, job, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = job


@inner
def _pop(heap: Ints, size: int, left: Ints) -> np.int64:
    """Take the first of those that wait."""
    top, job, at = heap[0], heap[size - 1], 0
    while 2 * at + 1 < size - 1:
        below = 2 * at + 1
        if below + 2 < size and _before(left, heap[below + 1], heap[below]):
            below += 1
        if not _before(left, heap[below], job):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = job
    return np.int64(top)


def flows(release: Ints, rate: Ints, left: Ints, most: int) -> Ints:
    """Flow times of jobs that are numbered by release, with areas `left`, on a quota of `most`."""
    found, *others = (np.zeros(release.size, dtype=np.int64) for _ in range(5))
    _run(release, rate, left, most, found, *others)
    return found


@tiered(seconds=2, most=200_000)
def _run(
    release: Ints, rate: Ints, left: Ints, most: int, found: Ints, heap: Ints, given: Ints,
    running: Ints, kept: Ints,
) -> None:  # fmt: skip
    n = release.size
    waits = runs = come = 0
    now: int | np.int64 = 0
    while runs + waits > 0 or come < n:
        if runs + waits == 0:
            now = max(now, release[come])
        while come < n and release[come] <= now:
            _push(heap, waits, left, come)
            waits += 1
            come += 1
        for i in range(1, runs):  # hardly out of order
            job, at = running[i], i
            while at > 0 and _before(left, job, running[at - 1]):
                running[at] = running[at - 1]
                at -= 1
            running[at] = job
        served, room, i = 0, most, 0
        while room > 0 and (i < runs or waits > 0):
            if i < runs and (waits == 0 or _before(left, running[i], heap[0])):
                job = running[i]
                i += 1
            else:
                job = _pop(heap, waits, left)
                waits -= 1
            given[job] = min(rate[job], room)  # the last one has what is left
            room -= given[job]
            kept[served] = job
            served += 1
        for rest in range(i, runs):
            _push(heap, waits, left, running[rest])
            waits += 1
        upto = release[come] if come < n else np.int64(2**62)
        for i in range(served):
            upto = min(upto, now - (-left[kept[i]] // given[kept[i]]))
        runs = 0
        for i in range(served):
            job = kept[i]
            left[job] -= given[job] * (upto - now)
            if left[job] <= 0:
                found[job] = upto - release[job]
            else:
                running[runs] = job
                runs += 1
        now = upto
