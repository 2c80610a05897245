"""Jobs of a user alone on its quota as in :mod:`.sharing_incentive`, as machine code."""

from __future__ import annotations

import numpy as np

from ..instances.arrays import Ints
from ..instances.compiled import tiered
from ..instances.heaps import before, pop, push, sort


def flows(release: list[int], rate: list[int], left: list[int], most: int) -> list[int]:
    """Flow times of jobs that are numbered by release, with areas `left`, on a quota of `most`."""
    found, *others = ([0] * len(release) for _ in range(5))
    columns = [release, rate, left, found, *others]
    last = max(release, default=0) + sum(left) // most + 2 * len(release)
    if max(last, sum(left), most) >= 2**62:  # more than machine code can count
        _run.py_func(*columns[:3], most, *columns[3:])
        return found
    arrays = [np.array(column, dtype=np.int64) for column in columns]
    _run(*arrays[:3], most, *arrays[3:])
    times: list[int] = arrays[3].tolist()
    return times


@tiered(seconds=2, most=200_000)
def _run(
    release: Ints, rate: Ints, left: Ints, most: int, found: Ints, heap: Ints, given: Ints,
    running: Ints, kept: Ints,
) -> None:  # fmt: skip
    n = len(release)
    waits = runs = come = 0
    now: int | np.int64 = 0
    while runs + waits > 0 or come < n:
        if runs + waits == 0:
            now = max(now, release[come])
        while come < n and release[come] <= now:
            push(heap, left, 0, waits, come)
            waits += 1
            come += 1
        sort(running, runs, left)
        served, room, i = 0, most, 0
        while room > 0 and (i < runs or waits > 0):
            if i < runs and (waits == 0 or before(left, running[i], heap[0])):
                job = running[i]
                i += 1
            else:
                job = pop(heap, left, 0, waits)
                waits -= 1
            given[job] = min(rate[job], room)  # the last one has what is left
            room -= given[job]
            kept[served] = job
            served += 1
        for rest in range(i, runs):
            push(heap, left, 0, waits, running[rest])
            waits += 1
        upto = release[come] if come < n else -1
        for i in range(served):
            end = now - (-left[kept[i]] // given[kept[i]])
            upto = end if upto < 0 else min(upto, end)
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
