"""Compiled search of :mod:`gangsched.solvers.policies.allox.position_matching`.

Columns are numbered model by model: ``first[g] + k`` is position k + 1 of model g. The jobs of a
model are listed by falling time in ``held[g]``, and position k + 1 has the entries ``k N_g`` to
``(k + 1) N_g - 1`` of the list: a job that moves between positions of one model leaves no trace.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from ....instances.arrays import Bools, Ints
from ....instances.compiled import compiled, inner

#: the distance of what has not been reached
FAR = 2**62


@inner
def _longer(g: int, time: int, times: Ints, held: Ints, size: Ints) -> int:
    """How many jobs of model g take longer there."""
    low, high = 0, size[g]
    while low < high:
        middle = (low + high) // 2
        if times[held[g, middle], g] > time:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _note(
    there: int, c: int, source: int, j: int, distance: Ints, came: Ints, mover: Ints,
    nearer: Ints, marked: Bools, count: int,
) -> int:  # fmt: skip
    """Reach column c at a distance by moving job j from `source`."""
    distance[c], came[c], mover[c] = there, source, j
    if not marked[c]:
        marked[c] = True
        nearer[count] = c
        count += 1
    return count


@inner
def _reach(
    d: int, source: int, own: int, movers: Ints, times: Ints, delays: Ints, usable: Ints,
    gpus: Ints, held: Ints, size: Ints, first: Ints, price: Ints, distance: Ints, came: Ints,
    mover: Ints, nearer: Ints, marked: Bools, least: int,
) -> tuple[int, int]:  # fmt: skip
    """Move each of `movers` from `source`, a column of model `own`, to where it fits elsewhere.

    Where it fits is the column in which its place is, and the one before when the place is the
    first of its column: any other column is reached no nearer than by shifts from there. What is
    further than a column with room, `least`, is no part of a shortest path.
    """
    count = 0
    for j in movers:
        base = d
        if own >= 0:
            base -= (source - first[own] + 1) * times[j, own] + delays[own] + price[source]
        for g in usable:
            time = times[j, g]
            if g == own or time < 0 or base + delays[g] + time > least:
                continue
            place = _longer(g, time, times, held, size)
            for k in range(max(place - 1, 0) // gpus[g], place // gpus[g] + 1):
                c = first[g] + k
                there = base + (k + 1) * time + delays[g] + price[c]
                if there < distance[c] and there <= least:
                    count = _note(there, c, source, j, distance, came, mover, nearer, marked, count)
                    if (k + 1) * gpus[g] > size[g]:
                        least = there
    return count, least


@inner
def _place(g: int, j: int, times: Ints, held: Ints, size: Ints, step: int) -> None:
    """Insert job j into the list of model g (step 1), before equal times, or remove it (-1)."""
    at = _longer(g, times[j, g], times, held, size)
    if step > 0:
        for i in range(size[g], at, -1):
            held[g, i] = held[g, i - 1]
        held[g, at] = j
    else:
        while held[g, at] != j:
            at += 1
        for i in range(at, size[g] - 1):
            held[g, i] = held[g, i + 1]
    size[g] += step


@compiled
def match(times: Ints, gpus: Ints, delays: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Insert the jobs in `order`, each along a shortest path: (held, size)."""
    jobs, models = times.shape
    first = np.zeros(models + 1, dtype=np.int64)
    for g in range(models):
        first[g + 1] = first[g] + (jobs // gpus[g] + 1 if gpus[g] else 0)
    columns = first[models]
    model = np.empty(columns, dtype=np.int64)
    for g in range(models):
        model[first[g] : first[g + 1]] = g
    usable = np.flatnonzero(gpus)
    held, size = np.empty((models, jobs), dtype=np.int64), np.zeros(models, dtype=np.int64)
    price, distance = np.zeros(columns, dtype=np.int64), np.full(columns, FAR)
    came, mover = np.empty(columns, dtype=np.int64), np.empty(columns, dtype=np.int64)
    nearer, reached, one = np.empty_like(came), np.empty_like(came), np.empty(1, dtype=np.int64)
    heap = [(0, 0)]  # distances and columns; some have come nearer since
    marked, seen = np.zeros(columns, dtype=np.bool_), np.zeros(columns, dtype=np.bool_)
    for job in order:
        count, end = 0, -1
        heap.clear()
        one[0] = job
        found, least = _reach(
            0, -1, -1, one, times, delays, usable, gpus, held, size, first,
            price, distance, came, mover, nearer, marked, FAR,
        )  # fmt: skip
        while True:
            for i in range(found):
                c = nearer[i]
                marked[c] = False
                heappush(heap, (distance[c], c))
                if not seen[c]:
                    seen[c] = True
                    reached[count] = c
                    count += 1
            while len(heap) > 0 and heap[0][0] > distance[heap[0][1]]:
                heappop(heap)
            if len(heap) == 0:
                break
            d, c = heappop(heap)
            g = model[c]
            machines = gpus[g]
            low = (c - first[g]) * machines
            if low + machines > size[g]:
                end = c
                break
            movers = held[g, low : low + machines]
            found, least = _reach(
                d, c, g, movers, times, delays, usable, gpus, held, size, first,
                price, distance, came, mover, nearer, marked, least,
            )  # fmt: skip
            j = movers[-1]
            there = d + times[j, g] + price[c + 1] - price[c]
            if there < distance[c + 1] and there <= least:
                found = _note(there, c + 1, c, j, distance, came, mover, nearer, marked, found)
                if low + 2 * machines > size[g]:
                    least = there
            if low:
                j = movers[0]
                there = d - times[j, g] + price[c - 1] - price[c]
                if there < distance[c - 1] and there <= least:
                    found = _note(there, c - 1, c, j, distance, came, mover, nearer, marked, found)
        shortest = distance[end] if end >= 0 else 0
        for i in range(count):
            c = reached[i]
            price[c] += max(0, shortest - distance[c])
            distance[c], seen[c] = FAR, False
        while end >= 0:
            source, j = came[end], mover[end]
            if source < 0 or model[source] != model[end]:
                if source >= 0:
                    _place(model[source], j, times, held, size, -1)
                _place(model[end], j, times, held, size, 1)
            end = source
    return held, size
