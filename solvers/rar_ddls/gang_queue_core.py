"""Compiled twin of :mod:`.gang_queue` for the deterministic placement rules.

Same steps on arrays: numbers are integers throughout, so that both give identical plans.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...formulations.rar_ddls.problem import RarDdls
from ..compiled import compiled
from .gang_queue import Plan

Ints = NDArray[np.int64]

#: placement rules of :func:`head_of_line`: which of the admissible idle GPUs a job takes
LEAST_LOADED, FIRST, LEAST_BUSY_SERVERS = 0, 1, 2
#: a limit theta that rejects nothing
NO_LIMIT = 2**62


class Core:
    """Arrays of one problem, made once and used by every run.

    Parameters
    ----------
    problem : RarDdls
    rho : (jobs,) int array
        rho_hat_j in slots.
    """

    def __init__(self, problem: RarDdls, rho: Ints) -> None:
        sizes = np.array(problem.instance.cluster.sizes, dtype=np.int64)
        gang = np.array([job.gpus for job in problem.jobs], dtype=np.int64)
        work = [job.iterations * problem.resolution for job in problem.jobs]
        self._data = (gang, np.array(work, dtype=np.int64), problem.rates, sizes)
        self._rho = rho.astype(np.int64)
        self._at = np.concatenate([[0], np.cumsum(gang)])

    def head_of_line(
        self, order: Ints, rule: Ints, *, limit: int = NO_LIMIT, reach: float = 1.0
    ) -> Plan | None:
        """Serve jobs strictly in `order`; job ``order[i]`` is placed by ``rule[order[i]]``."""
        return self._plan(_head_of_line(*self._data, self._rho, order, rule, limit, reach))

    def backfill(self, order: Ints) -> Plan | None:
        """Start at each completion every waiting job that fits, packed on few servers."""
        return self._plan(_backfill(*self._data, self._rho, order))

    def _plan(self, outcome: tuple[Any, ...]) -> Plan | None:
        done, start, end, chosen, load = outcome
        if not done:
            return None
        gpus = [chosen[a:b] for a, b in pairwise(self._at)]
        return Plan(start, end, gpus, int(load))


@compiled
def _renew_speeds(run, count, span, span_at, span_len, crossing, rates, speed):
    """Speeds of the spanning jobs after one of them came or went, (6)-(8)."""
    most = rates.shape[2] - 1
    for i in range(count):
        j = run[i]
        if span_len[j] > 1:
            p = 0
            for k in range(span_at[j], span_at[j] + span_len[j]):
                p = max(p, crossing[span[k]])
            speed[j] = rates[j, span_len[j] - 1, min(p, most)]


@compiled
def _begin(
    j, at, gang, picked, node, rho, now, idle, free, load,
    chosen, span, span_len, crossing, run, count, rates, speed, start,
):  # fmt: skip
    """Start job j now on the GPUs `picked` (rising)."""
    start[j] = now
    spans = 0
    for k in range(gang):
        g = picked[k]
        idle[g] = False
        free[node[g]] -= 1
        load[g] += rho
        chosen[at + k] = g
        if spans == 0 or span[at + spans - 1] != node[g]:
            span[at + spans] = node[g]
            spans += 1
    span_len[j] = spans
    run[count] = j
    if spans == 1:
        speed[j] = rates[j, 0, 0]
    else:
        for k in range(at, at + spans):
            crossing[span[k]] += 1


@compiled
def _advance(
    now, run, count, left, speed, at, gang, chosen, node, idle, free,
    span, span_len, crossing, end, rates,
):  # fmt: skip
    """Go to the next completion: (now, running jobs), or (-1, count) where none ever comes."""
    step = NO_LIMIT
    for i in range(count):
        j = run[i]
        if speed[j] > 0:
            step = min(step, -(-left[j] // speed[j]))
    if step == NO_LIMIT:
        return -1, count
    now += step
    kept, renew = 0, False
    for i in range(count):
        j = run[i]
        left[j] -= speed[j] * step
        if left[j] > 0:
            run[kept] = j
            kept += 1
            continue
        end[j] = now
        for k in range(at[j], at[j] + gang[j]):
            idle[chosen[k]] = True
            free[node[chosen[k]]] += 1
        if span_len[j] > 1:
            renew = True
            for k in range(at[j], at[j] + span_len[j]):
                crossing[span[k]] -= 1
    if renew:
        _renew_speeds(run, kept, span, at, span_len, crossing, rates, speed)
    return now, kept


@compiled
def _layout(gang, sizes):
    """First place of each job in the list of chosen GPUs, and server of each GPU."""
    at = np.zeros(gang.size, dtype=np.int64)
    for j in range(1, gang.size):
        at[j] = at[j - 1] + gang[j - 1]
    node = np.empty(sizes.sum(), dtype=np.int64)
    g = 0
    for s in range(sizes.size):
        node[g : g + sizes[s]] = s
        g += sizes[s]
    return at, node


@compiled
def _select_servers(load, node, sizes, wanted, selected):
    """Algorithm 3, line 2: least busy servers first until they hold `wanted` GPUs."""
    busy = np.zeros(sizes.size)
    for g in range(load.size):
        busy[node[g]] += load[g]
    for s in range(sizes.size):
        busy[s] /= sizes[s]
    room = 0
    selected[:] = False
    for _ in range(sizes.size):
        if room >= wanted:
            break
        best = -1
        for s in range(sizes.size):
            if not selected[s] and (best < 0 or busy[s] < busy[best]):
                best = s
        selected[best] = True
        room += sizes[best]


@compiled
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


@compiled
def _sort(keys, count):
    """Sort ``keys[:count]`` by insertion: gangs are small."""
    for i in range(1, count):
        key, k = keys[i], i
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            k -= 1
        keys[k] = key


@compiled
def _head_of_line(gang, work, rates, sizes, rho, order, rule, limit, reach):
    at, node = _layout(gang, sizes)
    total, jobs = node.size, gang.size
    idle, load = np.ones(total, dtype=np.bool_), np.zeros(total, dtype=np.int64)
    free, crossing = sizes.copy(), np.zeros(sizes.size, dtype=np.int64)
    selected = np.ones(sizes.size, dtype=np.bool_)
    start, end = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    chosen, span = np.empty(gang.sum(), dtype=np.int64), np.empty(gang.sum(), dtype=np.int64)
    span_len, run = np.zeros(jobs, dtype=np.int64), np.empty(jobs, dtype=np.int64)
    left, speed = work.copy(), np.zeros(jobs, dtype=np.int64)
    admissible, picked = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    now, count = 0, 0
    for j in order:
        selected[:] = True
        if rule[j] == LEAST_BUSY_SERVERS:
            _select_servers(load, node, sizes, reach * gang[j], selected)
        fit = 0  # admissible GPUs, idle or not: loads do not change while a job waits
        for g in range(total):
            if selected[node[g]] and load[g] + rho[j] <= limit:
                admissible[fit] = g
                fit += 1
        if fit < gang[j]:
            return False, start, end, chosen, 0
        while True:
            found = 0
            if free.sum() >= gang[j]:
                for k in range(fit):
                    g = admissible[k]
                    if idle[g]:
                        picked[found] = g if rule[j] == FIRST else load[g] * total + g
                        found += 1
            if found >= gang[j]:
                break
            now, count = _advance(
                now, run, count, left, speed, at, gang, chosen, node, idle, free,
                span, span_len, crossing, end, rates,
            )  # fmt: skip
            if now < 0:
                return False, start, end, chosen, 0
        if rule[j] != FIRST:
            _smallest_first(picked, found, gang[j])
            for k in range(gang[j]):
                picked[k] %= total
        _sort(picked, gang[j])
        _begin(
            j, at[j], gang[j], picked, node, rho[j], now, idle, free, load,
            chosen, span, span_len, crossing, run, count, rates, speed, start,
        )  # fmt: skip
        count += 1
        if span_len[j] > 1:
            _renew_speeds(run, count, span, at, span_len, crossing, rates, speed)
    while count:
        now, count = _advance(
            now, run, count, left, speed, at, gang, chosen, node, idle, free,
            span, span_len, crossing, end, rates,
        )  # fmt: skip
        if now < 0:
            return False, start, end, chosen, 0
    return True, start, end, chosen, load.max()


@compiled
def _pack(wanted, free, idle, sizes, first, picked):
    """Best-fitting single server, else the servers with most idle GPUs; fills `picked`."""
    best = -1
    for s in range(sizes.size):
        if free[s] >= wanted and (best < 0 or free[s] < free[best]):
            best = s
    found = 0
    taken = np.zeros(sizes.size, dtype=np.bool_)
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


@compiled
def _backfill(gang, work, rates, sizes, rho, order):
    at, node = _layout(gang, sizes)
    total, jobs = node.size, gang.size
    first = np.cumsum(sizes) - sizes
    idle, load = np.ones(total, dtype=np.bool_), np.zeros(total, dtype=np.int64)
    free, crossing = sizes.copy(), np.zeros(sizes.size, dtype=np.int64)
    start, end = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    chosen, span = np.empty(gang.sum(), dtype=np.int64), np.empty(gang.sum(), dtype=np.int64)
    span_len, run = np.zeros(jobs, dtype=np.int64), np.empty(jobs, dtype=np.int64)
    left, speed = work.copy(), np.zeros(jobs, dtype=np.int64)
    picked = np.empty(total, dtype=np.int64)
    waiting, n = order.copy(), order.size
    now, count = 0, 0
    while n or count:
        kept, renew = 0, False
        for i in range(n):
            j = waiting[i]
            if gang[j] > free.sum():
                waiting[kept] = j
                kept += 1
                continue
            _pack(gang[j], free, idle, sizes, first, picked)
            _begin(
                j, at[j], gang[j], picked, node, rho[j], now, idle, free, load,
                chosen, span, span_len, crossing, run, count, rates, speed, start,
            )  # fmt: skip
            count += 1
            renew = renew or span_len[j] > 1
        n = kept
        if renew:
            _renew_speeds(run, count, span, at, span_len, crossing, rates, speed)
        now, count = _advance(
            now, run, count, left, speed, at, gang, chosen, node, idle, free,
            span, span_len, crossing, end, rates,
        )  # fmt: skip
        if now < 0:
            return False, start, end, chosen, 0
    return True, start, end, chosen, load.max() if total else 0
