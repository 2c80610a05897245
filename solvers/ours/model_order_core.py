"""Preemptive gangs on several GPU models, by a priority at every event, as machine code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner
from ...instances.heaps import before, pop, push, sort
from ...instances.model import FULL_SPEED
from .repacking_core import with_room


class Keys(NamedTuple):
    """What a list goes by: the factor of what is left of each job, and the models it tries."""

    scale: Floats
    models: Ints  # in turn, and -1 after the last one


@inner
def first_with_room(kind: int, choice: Ints, width: int, free: Ints) -> np.int64:
    """The first model of a kind's choice with so many free GPUs; -1 where there is none."""
    for i in range(choice.shape[1]):
        g = choice[kind, i]
        if g < 0:
            break
        if free[g] >= width:
            return np.int64(g)
    return np.int64(-1)


@inner
def _first_waiting(
    heap: Ints, first: Ints, size: Ints, widths: Ints, key: Floats, choice: Ints, free: Ints
) -> np.int64:
    """The first of the jobs that wait and fit; -1 where there is none."""
    best = np.int64(-1)
    for k in range(widths.size):
        if (
            size[k] > 0
            and (best < 0 or before(key, heap[first[k]], best))
            and first_with_room(k, choice, widths[k], free) >= 0
        ):
            best = heap[first[k]]
    return best


@inner
def upgrade(
    kept: Ints, stays: int, kind: Ints, gpus: Ints, speeds: Ints, fast: Ints, new: Ints, free: Ints
) -> bool:
    """Move jobs in their order to faster models that have room; whether one moved."""
    moved = False
    for i in range(stays):
        job = kept[i]
        for at in range(fast.shape[1]):
            g = fast[kind[job], at]
            if g < 0 or speeds[job, g] <= speeds[job, new[job]]:
                break
            if free[g] >= gpus[job]:
                free[g] -= gpus[job]
                free[new[job]] += gpus[job]
                new[job] = g
                moved = True
                break
    return moved


@inner
def _pause(
    running: Ints, runs: int, now: int, since: Ints, on: Ints, speeds: Ints, left: Ints,
    scale: Floats, new: Ints, key: Floats,
) -> None:  # fmt: skip
    """Let the jobs that run stand by their keys of now, on no model."""
    for i in range(runs):
        job = running[i]
        new[job] = -1
        done = (now - since[job]) * speeds[job, on[job]] // FULL_SPEED
        key[job] = (left[job] - done) * scale[job]
    sort(running, runs, key)


@inner
def _begin(
    kept: Ints, stays: int, now: int, since: Ints, on: Ints, speeds: Ints, left: Ints, new: Ints
) -> np.int64:
    """Let jobs run on their new models; when the first of them is complete."""
    upto = np.int64(2**62)
    for i in range(stays):
        job = kept[i]
        if new[job] != on[job]:
            on[job], since[job] = new[job], now
        upto = min(upto, since[job] - (-left[job] * FULL_SPEED // speeds[job, on[job]]))
    return upto


@compiled
def schedule_models(
    order: Ints, release: Ints, work: Ints, gpus: Ints, kind: Ints, widths: Ints, scale: Floats,
    speeds: Ints, cheap: Ints, fast: Ints, capacity: Ints,
) -> Ints:  # fmt: skip
    """Run jobs by the least work left times scale: rows of job, start, end and model.

    `cheap` and `fast`: the models of each kind, in the order in which they are tried.
    """
    n, kinds, gpus_all = order.size, widths.size, np.sum(capacity)
    pieces, count = np.empty((4 * n + 16, 4), dtype=np.int64), 0
    left, key = work.copy(), work * scale
    size, first = np.zeros(kinds, dtype=np.int64), np.zeros(kinds, dtype=np.int64)
    first[1:] = np.cumsum(np.bincount(kind, minlength=kinds))[:-1]
    heap, since = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    on, new = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    running, kept = np.empty(gpus_all, dtype=np.int64), np.empty(gpus_all, dtype=np.int64)
    runs, come, waits, now = 0, 0, 0, np.int64(0)
    while runs > 0 or come < n or waits > 0:
        if runs == 0 and waits == 0:
            now = max(now, release[order[come]])
        while come < n and release[order[come]] <= now:
            job = order[come]
            push(heap, key, first[kind[job]], size[kind[job]], job)
            size[kind[job]] += 1
            waits += 1
            come += 1
        _pause(running, runs, now, since, on, speeds, left, scale, new, key)
        free, stays, i = capacity.copy(), 0, 0
        best = _first_waiting(heap, first, size, widths, key, cheap, free)
        while i < runs or best >= 0:
            fresh = best >= 0 and (i == runs or before(key, best, running[i]))
            if fresh:
                job, k = best, kind[best]
                pop(heap, key, first[k], size[k])
                size[k] -= 1
                waits -= 1
            else:
                job, k = running[i], kind[running[i]]
                i += 1
            g = first_with_room(k, cheap, gpus[job], free)
            if g >= 0:
                new[job] = g
                free[g] -= gpus[job]
                kept[stays] = job
                stays += 1
            else:  # it may still find room beside those that move
                push(heap, key, first[k], size[k], job)
                size[k] += 1
                waits += 1
            if fresh or (best >= 0 and first_with_room(kind[best], cheap, gpus[best], free) < 0):
                best = _first_waiting(heap, first, size, widths, key, cheap, free)
            if i == runs and best < 0 and upgrade(kept, stays, kind, gpus, speeds, fast, new, free):
                best = _first_waiting(heap, first, size, widths, key, cheap, free)
        for i in range(runs):
            job = running[i]
            if new[job] != on[job]:
                if now > since[job]:
                    pieces = with_room(pieces, count, 1)
                    pieces[count] = job, since[job], now, on[job]
                    count += 1
                    left[job] -= (now - since[job]) * speeds[job, on[job]] // FULL_SPEED
                key[job] = left[job] * scale[job]
                if new[job] < 0:
                    on[job] = -1
        upto = _begin(kept, stays, now, since, on, speeds, left, new)
        upto = min(upto, release[order[come]]) if come < n else upto
        runs = 0
        for i in range(stays):
            job = kept[i]
            if (upto - since[job]) * speeds[job, on[job]] // FULL_SPEED >= left[job]:
                pieces = with_room(pieces, count, 1)
                pieces[count] = job, since[job], upto, on[job]
                on[job], new[job], count = -1, -1, count + 1
            else:
                running[runs] = job
                runs += 1
        now = upto
    return pieces[:count].copy()
