"""Algorithms 3-5 of Wang et al., and the run that ends first: for :mod:`.response`.

The lines are those of the paper; deviations, W2 to W11, stand there. Slots in which the same is
free form a period. The least that is free in a window is found period by period, from a start on,
for options of rising length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...instances.arrays import Bools, Floats, Ints
from ...instances.compiled import compiled, inner
from .run_options import RunOptions

#: larger than any quota
UNLIMITED = 2**31 - 1


def best(
    free: Ints, room: Ints | None, model: Ints, types: int, options: RunOptions, order: Ints,
    need: Ints, sums: Floats, values: Floats, begin: int, end: int, margin: float, printed: bool,
) -> tuple[int, int, int, int] | None:  # fmt: skip
    """Return (start, option, host, PSs) of the run worth most after its cost; None for none."""
    if not order.size or begin + options.slots[order[0]] > end:
        return None
    limited = np.zeros((types, 2, 0), dtype=np.int64) if room is None else room
    found = _best(
        np.ascontiguousarray(free), limited, model, *options, order, need, sums, values,
        begin, end, margin, printed,
    )  # fmt: skip
    return None if found[1] < 0 else found


def earliest(
    free: Ints, model: Ints, types: int, options: RunOptions, order: Ints, need: Ints, begin: int,
    limit: int, flat: bool,
) -> tuple[int, int, int, int] | None:  # fmt: skip
    """Return (start, option, host, PSs) of the run that ends first; None where none fits."""
    if not order.size or begin + options.slots[order[0]] > limit:
        return None
    found = _earliest(
        np.ascontiguousarray(free), model, types, *options, order, need, begin, limit, flat
    )
    return None if found[1] < 0 else found


@compiled
def _periods(free: Ints, room: Ints, begin: int, end: int) -> Ints:
    """Return the first slots of the periods of [begin, end)."""
    changed = np.zeros(end - begin, dtype=np.bool_)
    for what in range(2):
        for s in range(free.shape[1]):
            row = free[what, s, begin:end]
            changed[1:] |= row[1:] != row[:-1]
        if room.shape[2]:
            for kind in range(room.shape[0]):
                row = room[kind, what, begin:end]
                changed[1:] |= row[1:] != row[:-1]
    changed[0] = True
    return np.flatnonzero(changed) + begin


@compiled
def _levels(free: Ints, first: Ints) -> NDArray[np.int32]:
    """Return (periods, 2, nodes) what is free in each period."""
    level = np.empty((first.size, 2, free.shape[1]), dtype=np.int32)
    for what in range(2):
        for s in range(free.shape[1]):
            for k in range(first.size):
                level[k, what, s] = min(free[what, s, first[k]], UNLIMITED)
    return level


@compiled
def _outlines(level: NDArray[np.int32], room: Ints, first: Ints, model: Ints, types: int) -> Ints:
    """Return (periods, 5, types) what no run can exceed in a period.

    Free workers in all; most on one node; most PSs on one node; what is left of both quotas.
    """
    outline = np.zeros((first.size, 5, types), dtype=np.int64)
    for k in range(first.size):
        for s in range(model.size):
            kind = model[s]
            outline[k, 0, kind] += level[k, 0, s]
            outline[k, 1, kind] = max(outline[k, 1, kind], level[k, 0, s])
            outline[k, 2, kind] = max(outline[k, 2, kind], level[k, 1, s])
        for kind in range(types):
            for what in range(2):
                left = room[kind, what, first[k]] if room.shape[2] else UNLIMITED
                outline[k, 3 + what, kind] = left
    return outline


@inner
def _lower(level: Any, done: int, last: int, least: Any) -> None:
    """Take rows of periods done + 1 .. last into the minima."""
    for k in range(done + 1, last + 1):
        for row in range(level.shape[1]):
            for s in range(level.shape[2]):
                least[row, s] = min(least[row, s], level[k, row, s])


@inner
def _can(outline: Ints, workers: int, kind: int, host: int, ps: int) -> bool:
    """Say whether a window with these minima can hold an option."""
    if workers > outline[3, kind]:
        return False
    if host < 0:
        fits = workers <= outline[1, kind] and min(outline[2, kind], outline[4, kind]) >= 1
    else:
        fits = workers <= outline[0, kind] and ps <= min(outline[2, host], outline[4, host])
    return bool(fits)


@inner
def host_of(
    least: NDArray[np.int32], model: Ints, need: Ints, workers: int, kind: int, host: int,
    left: int, printed: bool,
) -> tuple[int, int]:  # fmt: skip
    """Return the node for the PSs and how many; -1 where there is none.

    `host` is the type of that node, -1 for a run on one node.
    """
    if host < 0:  # MINCOSTC, Algorithm 5, line 7
        for s in range(model.size):
            if model[s] == kind and least[0, s] >= workers and least[1, s] >= 1:
                return s, 1
        return -1, 0
    total = 0
    for s in range(model.size):
        if model[s] == kind:
            total += least[0, s]
    if total < workers:
        return -1, 0
    best, fewest, placed = -1, left + 1, False  # MINCOSTD, Algorithm 4, lines 7-13
    for s in range(model.size):
        if model[s] == host:
            there = least[0, s] if kind == host else 0
            outside = workers - min(workers - 1, there)  # D_w - D_sw of line 8
            needed = need[outside]
            fits = total - there >= outside
            if printed:  # W8: PSs as far as there are any, and workers are placed later
                needed = min(needed, least[1, s], left)
            if 1 <= needed < fewest and needed <= least[1, s] and (fits or printed):
                best, fewest, placed = s, needed, fits
    return (best, fewest) if placed else (-1, 0)  # line 21


@inner
def cost_of(
    sums: Floats, workers: int, ps: int, kind: int, host: int, start: int, stop: int, first: bool
) -> float:
    """Return what a run costs, line 12; `first`: the first slot's price in all slots, W10."""
    until = start + 1 if first else stop
    cost = workers * (sums[kind, 0, until] - sums[kind, 0, start])
    cost += ps * (sums[host, 1, until] - sums[host, 1, start])
    return float(cost * (stop - start) if first else cost)


@compiled
def _bounds(
    workers: Ints, slots: Ints, kind: Ints, ps_kind: Ints, first: Bools, fewest: Ints,
    order: Ints, sums: Floats, values: Floats, begin: int, end: int,
) -> Floats:  # fmt: skip
    """Return what a run from each start of [begin, end) is worth at most."""
    top = np.full(end - begin, -np.inf)
    for start in range(begin, end):
        most = -np.inf
        for i in order:
            stop = start + slots[i]
            if stop > end or values[stop] <= most:
                break
            cost = cost_of(sums, workers[i], fewest[i], kind[i], ps_kind[i], start, stop, first[i])
            most = max(most, values[stop] - cost)
        top[start - begin] = most
    return top


@compiled
def _best(
    free: Ints, room: Ints, model: Ints, workers: Ints, slots: Ints, kind: Ints, host: Ints,
    fewest: Ints, order: Ints, need: Ints, sums: Floats, values: Floats, begin: int, end: int,
    margin: float, printed: bool,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Algorithm 3, lines 3-13."""
    types = room.shape[0]
    ps_kind = np.where(host < 0, kind, host)
    once = (host < 0) & printed
    top = _bounds(workers, slots, kind, ps_kind, once, fewest, order, sums, values, begin, end)
    gain, found = margin, (-1, -1, -1, 0)
    if top.max() <= margin:
        return found
    first = _periods(free, room, begin, end)
    level = _levels(free, first)
    outline = _outlines(level, room, first, model, types)
    period = np.empty(end - begin, dtype=np.int64)
    for k in range(first.size):
        period[first[k] - begin :] = k
    least = np.empty((2, model.size), dtype=np.int32)
    low = np.empty((5, types), dtype=np.int64)
    for at in np.argsort(-top):  # line 3
        if top[at] < gain:
            break
        start = begin + at
        seen = done = period[at]
        least[:] = level[done]
        low[:] = outline[seen]
        for i in order:
            stop = start + slots[i]
            if stop > end or values[stop] < gain:
                break
            w, p = kind[i], ps_kind[i]
            worth = values[stop] - cost_of(sums, workers[i], fewest[i], w, p, start, stop, once[i])
            if worth < gain or (worth == gain and (found[1] < 0 or (start, i) > found[:2])):
                continue
            last = period[stop - 1 - begin]
            _lower(outline, seen, last, low)
            seen = last
            if not _can(low, workers[i], w, host[i], fewest[i]):
                continue
            _lower(level, done, last, least)
            done = last
            s, ps = host_of(least, model, need, workers[i], w, host[i], low[4, p], printed)
            if s < 0:
                continue
            worth = values[stop] - cost_of(sums, workers[i], ps, w, p, start, stop, once[i])
            if worth > gain or (worth == gain and found[1] >= 0 and (start, i) < found[:2]):  # 6-11
                gain, found = worth, (start, i, s, ps)
    return found


@compiled
def _earliest(
    free: Ints, model: Ints, types: int, workers: Ints, slots: Ints, kind: Ints, host: Ints,
    fewest: Ints, order: Ints, need: Ints, begin: int, limit: int, flat: bool,
) -> tuple[int, int, int, int]:  # fmt: skip
    room = np.zeros((types, 2, 0), dtype=np.int64)
    first = _periods(free, room, min(begin, free.shape[2] - 1), free.shape[2])
    level = _levels(free, first)
    outline = _outlines(level, room, first, model, types)
    least = np.empty((2, model.size), dtype=np.int32)
    low = np.empty((5, types), dtype=np.int64)
    settled = np.zeros(workers.size, dtype=np.bool_)
    key, found = (limit + 1, 0, 0, 0), (-1, -1, -1, 0)
    latest = limit
    for k in range(first.size):
        start = max(begin, first[k])
        if start + slots[order[0]] > latest:
            break
        last = seen = done = k
        least[:] = level[k]
        low[:] = outline[k]
        for i in order:
            stop = start + slots[i]
            if stop > latest:
                break
            if settled[i]:
                continue
            while last + 1 < first.size and first[last + 1] < stop:
                last += 1
            _lower(outline, seen, last, low)
            seen = last
            if not _can(low, workers[i], kind[i], host[i], fewest[i]):
                continue
            _lower(level, done, last, least)
            done = last
            s, ps = host_of(least, model, need, workers[i], kind[i], host[i], UNLIMITED, False)
            if s < 0:
                continue
            settled[i] = True
            this = (0 if flat else stop, workers[i] * slots[i], start, i)
            if found[1] < 0 or this < key:
                key, found = this, (start, i, s, ps)
                if not flat:
                    latest = stop
    return found
