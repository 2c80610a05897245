"""Compiled fillings of :mod:`gangsched.solvers.ours.rar_ddls.laminar`: lane by lane, by knapsacks.

A lane is the time of one GPU up to a target. The first lane of a block gets the jobs that together
are worth most and fit, gangs of all sizes up to the block; those of more GPUs then lie on its other
lanes too, which are filled in turn with what is left. A job is worth its price: its length to a
power above 1, more for large gangs, so that long and large ones go first. Where lanes stay partly
empty, or jobs are left over, the prices of these jobs rise for the next filling (a sequential value
correction, as for cutting stock [1]_).

The functions are plain Python; a test runs them uncompiled and compares.

References
----------
.. [1] G. Belov, G. Scheithauer. Setup and open-stacks minimization in one-dimensional stock
   cutting. INFORMS Journal on Computing 19, 2007.
"""

from __future__ import annotations

import numpy as np

from ....instances.compiled import compiled

#: what a price keeps from filling to filling, and how much it is drawn at random
KEEP, NOISE = 0.85, 0.005
#: how much the idle share of its lanes raises a job's price, and that share for one left over
PUSH, LEFT = 2.0, 0.3


@compiled
def _choose(jobs, room, length, worth, block, best, other, taken):
    """Of the first `jobs` that are not placed, what fits into a lane and is worth most.

    ``taken[i, x]`` says whether job i is in the best choice of jobs 0 .. i for x slots.
    """
    best[: room + 1] = 0
    for i in range(jobs):
        d = length[i]
        if block[i] >= 0 or d > room:
            continue
        other[:d] = best[:d]
        with_it, without, new = best[: room + 1 - d], best[d : room + 1], other[d : room + 1]
        chosen = taken[i, d : room + 1]
        for x in range(room + 1 - d):
            value = with_it[x] + worth[i]
            chosen[x] = value > without[x]
            new[x] = max(value, without[x])
        best, other = other, best


@compiled
def _fill(level, cost, first, index, upto, roots, worth, target, block, load, tables):
    """Fill all lanes; ``block[i]`` is -1 where a job is left over."""
    best, other, taken, length = tables
    block[:] = -1
    load[:] = 0
    for r in range(roots.shape[0]):
        a = roots[r, 0]
        for lane in range(1 << roots[r, 1]):
            top = 0  # level of the largest block that begins here
            while top < roots[r, 1] and not (lane >> top) & 1:
                top += 1
            jobs, room = upto[top], target - load[a + lane]
            if room <= 0:
                continue
            for i in range(jobs):
                lv = level[i]
                length[i] = cost[i, index[lv, a + ((lane >> lv) << lv)]]
            _choose(jobs, room, length, worth, block, best, other, taken)
            for i in range(jobs - 1, -1, -1):
                if block[i] >= 0 or length[i] > room or not taken[i, room]:
                    continue
                begin = a + ((lane >> level[i]) << level[i])
                block[i] = index[level[i], begin]
                room -= length[i]
                for g in range(begin, begin + (1 << level[i])):
                    load[g] += length[i]


@compiled
def fillings(level, cost, first, index, upto, roots, base, price, target, tries, rng):
    """Fill up to `tries` times, until no job is left over; return that assignment and the tries.

    `upto[l]` counts the jobs of levels up to l, `roots` has the first place and the level of each
    block that is in no other, `price` is carried on. Without success a job's block is -1.
    """
    jobs, places = level.size, first.shape[1]
    block, load = np.zeros(jobs, dtype=np.int64), np.zeros(places, dtype=np.int64)
    worth = np.zeros(jobs, dtype=np.float32)
    tables = (
        np.zeros(target + 1, dtype=np.float32),
        np.zeros(target + 1, dtype=np.float32),
        np.zeros((jobs, target + 1), dtype=np.bool_),
        np.zeros(jobs, dtype=np.int64),
    )
    for done in range(tries):
        for i in range(jobs):
            worth[i] = price[i] * (1 + NOISE * (rng.random() - 0.5))
        _fill(level, cost, first, index, upto, roots, worth, target, block, load, tables)
        left = 0
        for i in range(jobs):
            if block[i] < 0:
                left += 1
                idle = LEFT
            else:
                a, idle = first[level[i], block[i]], 0.0
                for g in range(a, a + (1 << level[i])):
                    idle += target - load[g]
                idle /= target << level[i]
            price[i] = KEEP * price[i] + (1 - KEEP) * base[i] * (1 + PUSH * idle)
        if left == 0:
            return block, done + 1
    return block, tries
