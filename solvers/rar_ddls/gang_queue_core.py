"""Steps of :mod:`.gang_queue`, and whole runs by deterministic placement rules, as machine code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...instances.arrays import Ints
from ...instances.compiled import inner, tiered

#: placement rules of :func:`serve_in_order`: which of the admissible idle GPUs a job takes
LEAST_LOADED, FIRST, LEAST_BUSY_SERVERS = 0, 1, 2
#: a limit theta that rejects nothing
NO_LIMIT = 2**62


class QueueArrays(NamedTuple):
    """State of the cluster while jobs run; places are those of a job's GPUs among all jobs'."""

    gang: Ints
    rates: Ints
    rho: Ints
    node: Ints  # node of each GPU
    at: Ints  # first place of each job
    idle: NDArray[np.bool_]
    free: Ints  # idle GPUs of each node
    load: Ints
    crossing: Ints  # spanning jobs on each node
    start: Ints
    end: Ints
    chosen: Ints  # GPU of each place
    span: Ints  # nodes of each job, from its first place on
    span_len: Ints
    run: Ints  # running jobs, as many as the clock says
    left: Ints
    speed: Ints
    clock: Ints  # now, the number of running jobs, and of idle GPUs


@inner
def renew_speeds(q):
    """Speeds of the spanning jobs after one of them came or went, (6)-(8)."""
    most = q.rates.shape[2] - 1
    for i in range(q.clock[1]):
        j = q.run[i]
        if q.span_len[j] > 1:
            p = 0
            for k in range(q.at[j], q.at[j] + q.span_len[j]):
                p = max(p, q.crossing[q.span[k]])
            q.speed[j] = q.rates[j, q.span_len[j] - 1, min(p, most)]


@inner
def begin(q, j, picked):
    """Start job j now on the GPUs `picked` (rising); say whether it spans nodes."""
    at = q.at[j]
    q.start[j] = q.clock[0]
    spans = 0
    for k in range(q.gang[j]):
        g = picked[k]
        q.idle[g] = False
        q.free[q.node[g]] -= 1
        q.load[g] += q.rho[j]
        q.chosen[at + k] = g
        if spans == 0 or q.span[at + spans - 1] != q.node[g]:
            q.span[at + spans] = q.node[g]
            spans += 1
    q.span_len[j] = spans
    q.run[q.clock[1]] = j
    q.clock[1] += 1
    q.clock[2] -= q.gang[j]
    if spans == 1:
        q.speed[j] = q.rates[j, 0, 0]
    else:
        for k in range(at, at + spans):
            q.crossing[q.span[k]] += 1
    return spans > 1


@inner
def advance(q):
    """Go to the next completion; False where none ever comes."""
    count, step = q.clock[1], 0
    for i in range(count):
        j = q.run[i]  # a division only where it ends before the others
        if q.speed[j] > 0 and (step == 0 or q.left[j] <= (step - 1) * q.speed[j]):
            step = -(-q.left[j] // q.speed[j])
    if step == 0:
        return False
    q.clock[0] += step
    kept, renew = 0, False
    for i in range(count):
        j = q.run[i]
        q.left[j] -= q.speed[j] * step
        if q.left[j] > 0:
            q.run[kept] = j
            kept += 1
            continue
        q.end[j] = q.clock[0]
        for k in range(q.at[j], q.at[j] + q.gang[j]):
            q.idle[q.chosen[k]] = True
            q.free[q.node[q.chosen[k]]] += 1
        q.clock[2] += q.gang[j]
        if q.span_len[j] > 1:
            renew = True
            for k in range(q.at[j], q.at[j] + q.span_len[j]):
                q.crossing[q.span[k]] -= 1
    q.clock[1] = kept
    if renew:
        renew_speeds(q)
    return True


@inner
def _select_servers(load, node, sizes, wanted, selected, busy):
    """Algorithm 3, line 2: least busy nodes first until they hold `wanted` GPUs."""
    for s in range(sizes.size):
        busy[s], selected[s] = 0, False
    for g in range(load.size):
        busy[node[g]] += load[g]
    for s in range(sizes.size):
        busy[s] /= sizes[s]
    room = 0
    for _ in range(sizes.size):
        if room >= wanted:
            break
        best = -1
        for s in range(sizes.size):
            if not selected[s] and (best < 0 or busy[s] < busy[best]):
                best = s
        selected[best] = True
        room += sizes[best]


@inner
def _smallest_first(keys, count, wanted):
    """Bring the `wanted` smallest of ``keys[:count]`` to the front (quickselect)."""
    low, high = 0, count - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        i, k = low, high
        while i <= k:
            while keys[i] < pivot:
                i += 1
            while keys[k] > pivot:
                k -= 1
            if i <= k:
                keys[i], keys[k] = keys[k], keys[i]
                i += 1
                k -= 1
        if wanted - 1 <= k:
            high = k
        elif wanted - 1 >= i:
            low = i
        else:
            return


@inner
def _sort(keys, count):
    """Sort ``keys[:count]`` by insertion: gangs are small."""
    for i in range(1, count):
        key, k = keys[i], i
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            k -= 1
        keys[k] = key


@tiered(seconds=1)
def serve_in_order(q, sizes, order, rule, limit, reach, selected, busy, admissible, picked):
    """Place in this order; False where a job never gets enough GPUs."""
    total = q.node.size
    for i in range(order.size):
        j = order[i]
        gang, most = q.gang[j], limit - q.rho[j]
        for s in range(sizes.size):
            selected[s] = True
        if rule[j] == LEAST_BUSY_SERVERS:
            _select_servers(q.load, q.node, sizes, reach * gang, selected, busy)
        fit = 0  # admissible GPUs, idle or not: loads do not change while a job waits
        for g in range(total):
            if selected[q.node[g]] and q.load[g] <= most:
                admissible[fit] = g
                fit += 1
        if fit < gang:
            return False
        while True:
            found = 0
            if q.clock[2] >= gang:
                for k in range(fit):
                    g = admissible[k]
                    if q.idle[g]:
                        picked[found] = g if rule[j] == FIRST else q.load[g] * total + g
                        found += 1
            if found >= gang:
                break
            if not advance(q):
                return False
        if rule[j] != FIRST:
            _smallest_first(picked, found, gang)
            for k in range(gang):
                picked[k] %= total
        _sort(picked, gang)
        if begin(q, j, picked):
            renew_speeds(q)
    while q.clock[1]:
        if not advance(q):
            return False
    return True


@inner
def _pack(wanted, free, idle, sizes, first, taken, picked):
    """Best-fitting single node, else the nodes with most idle GPUs; fills `picked`."""
    best = -1
    for s in range(sizes.size):
        if free[s] >= wanted and (best < 0 or free[s] < free[best]):
            best = s
    found = 0
    for s in range(sizes.size):
        taken[s] = False
    while found < wanted:
        s = best
        if best < 0:
            for other in range(sizes.size):
                if not taken[other] and (s < 0 or free[other] > free[s]):
                    s = other
            taken[s] = True
        for g in range(first[s], first[s] + sizes[s]):
            if found < wanted and idle[g]:
                picked[found] = g
                found += 1
    _sort(picked, wanted)


@tiered(seconds=1)
def serve_who_fits(q, sizes, waiting, first, taken, picked):
    """Place whoever fits, in this order; False where a job never gets enough GPUs."""
    n = waiting.size
    while n or q.clock[1]:
        kept, renew = 0, False
        for i in range(n):
            j = waiting[i]
            if q.gang[j] > q.clock[2]:
                waiting[kept] = j
                kept += 1
                continue
            _pack(q.gang[j], q.free, q.idle, sizes, first, taken, picked)
            renew |= begin(q, j, picked)
        n = kept
        if renew:
            renew_speeds(q)
        if not advance(q):
            return False
    return True
