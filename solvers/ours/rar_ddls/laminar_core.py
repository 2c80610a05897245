"""Compiled annealing of :mod:`gangsched.solvers.ours.rar_ddls.laminar`.

The functions are plain Python; a test runs them uncompiled (``anneal.py_func``) and compares.
"""

from __future__ import annotations

import numpy as np

from ....instances.compiled import compiled


@compiled
def _excess(load, target):
    over = float(load - target)  # squares of integers may not fit into 64 bits
    return over * over if over > 0 else 0.0


@compiled
def _add(load, a, width, change):
    for g in range(a, a + width):
        load[g] += change


@compiled
def _shifted(load, a, width, change, target):
    """Change of the cost when `change` is added to the loads of a block."""
    delta = 0.0
    for g in range(a, a + width):
        delta += _excess(load[g] + change, target) - _excess(load[g], target)
    return delta


@compiled
def _exchange(i, k1, k2, level, cost, first, index, block, load, target, one, two, apply):
    """Move job i from block k1 to k2 and let the smaller jobs of both change places.

    With `apply` false returns the change of the cost only.
    """
    lv = level[i]
    width = 1 << lv
    a, b = first[lv, k1], first[lv, k2]
    for g in range(width):
        one[g] = load[a + g] - cost[i, k1]
        two[g] = load[b + g] + cost[i, k2]
    for s in range(level.size):
        m = level[s]
        if m >= lv:
            break
        p = first[m, block[s]]
        here, there = one, two
        if p >= a and p < a + width:
            off, q = p - a, b
        elif p >= b and p < b + width:
            off, q = p - b, a
            here, there = two, one
        else:
            continue
        k = index[m, q + off]
        for g in range(off, off + (1 << m)):
            here[g] -= cost[s, block[s]]
            there[g] += cost[s, k]
        if apply:
            block[s] = k
    delta = 0.0
    for g in range(width):
        delta += _excess(one[g], target) - _excess(load[a + g], target)
        delta += _excess(two[g], target) - _excess(load[b + g], target)
    if apply:
        for g in range(width):
            load[a + g] = one[g]
            load[b + g] = two[g]
        block[i] = k2
    return delta


@compiled
def anneal(level, cost, first, count, index, begin, target, steps, rng):
    """Return the assignment with the least excess over `target` that an annealing run meets.

    Stops as soon as no GPU's load exceeds the target.
    """
    jobs, places = level.size, first.shape[1]
    block, load = begin.copy(), np.zeros(places, dtype=np.int64)
    from_level = np.zeros(first.shape[0] + 1, dtype=np.int64)  # first job of each level
    for i in range(jobs):
        from_level[level[i] + 1] = i + 1
        _add(load, first[level[i], block[i]], 1 << level[i], cost[i, block[i]])
    for lv in range(1, from_level.size):
        from_level[lv] = max(from_level[lv], from_level[lv - 1])
    one, two = np.zeros(places, dtype=np.int64), np.zeros(places, dtype=np.int64)
    now = 0.0
    for g in range(places):
        now += _excess(load[g], target)
    best, least = block.copy(), now
    longest = 0
    for i in range(jobs):
        longest = max(longest, cost[i, block[i]])
    hot = 0.25 * longest * longest
    for step in range(steps):
        if least == 0:
            break
        heat = hot * (1e-4 ** (step / steps))
        i = int(rng.random() * jobs)
        lv, k1 = level[i], block[i]
        if count[lv] < 2:
            continue
        width, kind = 1 << lv, rng.random()
        a = first[lv, k1]
        if kind < 0.5 or (kind >= 0.9 and lv == 0):
            k2 = int(rng.random() * count[lv])
            if k2 == k1:
                continue
            b = first[lv, k2]
            delta = _shifted(load, a, width, -cost[i, k1], target)
            delta += _shifted(load, b, width, cost[i, k2], target)
            if delta > 0 and rng.random() >= np.exp(-delta / heat):
                continue
            _add(load, a, width, -cost[i, k1])
            _add(load, b, width, cost[i, k2])
            block[i] = k2
        elif kind < 0.9:
            peers = from_level[lv + 1] - from_level[lv]
            s = from_level[lv] + int(rng.random() * peers)
            k2 = block[s]
            if k2 == k1:
                continue
            b = first[lv, k2]
            here, there = cost[s, k1] - cost[i, k1], cost[i, k2] - cost[s, k2]
            delta = _shifted(load, a, width, here, target)
            delta += _shifted(load, b, width, there, target)
            if delta > 0 and rng.random() >= np.exp(-delta / heat):
                continue
            _add(load, a, width, here)
            _add(load, b, width, there)
            block[i], block[s] = k2, k1
        else:
            k2 = int(rng.random() * count[lv])
            if k2 == k1:
                continue
            delta = _exchange(
                i, k1, k2, level, cost, first, index, block, load, target, one, two, False
            )
            if delta > 0 and rng.random() >= np.exp(-delta / heat):
                continue
            _exchange(i, k1, k2, level, cost, first, index, block, load, target, one, two, True)
        now += delta
        if now < least:
            least = now
            for k in range(jobs):
                best[k] = block[k]
    return best
