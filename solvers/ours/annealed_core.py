"""Lists of preemptive gangs whose keys change one at a time, as machine code.

Before each arrival the state of the run is kept. A change of one key is simulated from the arrival
of its job on, and only until the state is again what it was before some later arrival.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner

NEVER = 2**62


class ListedGangs(NamedTuple):
    """Jobs by release, and the cluster."""

    release: Ints
    need: Ints
    gang: Ints
    weight: Floats
    first: Ints  # the first job that comes when a job comes
    gpus: Ints  # one number


class Trail(NamedTuple):
    """The state before each arrival: who is in the system, by key, and what has been paid."""

    size: Ints
    job: Ints
    left: Ints
    cost: Floats


class Present(NamedTuple):
    """The jobs in the system, by key."""

    job: Ints
    left: Ints
    key: Floats


@inner
def _sort(now: Present, count: int) -> None:
    """Sort by key, then number; nearly all are sorted."""
    for i in range(1, count):
        job, left, key = now.job[i], now.left[i], now.key[i]
        at = i
        while at > 0 and (
            now.key[at - 1] > key or (now.key[at - 1] == key and now.job[at - 1] > job)
        ):
            now.job[at], now.left[at] = now.job[at - 1], now.left[at - 1]
            now.key[at] = now.key[at - 1]
            at -= 1
        now.job[at], now.left[at], now.key[at] = job, left, key


@inner
def _serve(
    gangs: ListedGangs, scale: Floats, now: Present, runs: Ints, count: int, t: int, until: int
) -> tuple[int, int, float]:
    """Run the first ones that fit until one of them ends, or until then: time, who stays, cost."""
    free = gangs.gpus[0]
    for i in range(count):
        gang = gangs.gang[now.job[i]]
        runs[i] = gang <= free
        if runs[i]:
            free -= gang
            until = min(until, t + now.left[i])
    stay, cost = 0, 0.0
    for i in range(count):
        job, left = now.job[i], now.left[i]
        if runs[i]:
            left -= until - t
        if left > 0:
            now.job[stay], now.left[stay], now.key[stay] = job, left, left * scale[job]
            stay += 1
        else:
            cost += gangs.weight[job] * (until - gangs.release[job])
    return until, stay, cost


@inner
def _as_before(now: Present, count: int, changed: int, old: Trail, k: int) -> bool:
    """Whether the state is that before the k-th arrival, and the changed job is not in it."""
    if old.size[k] != count:
        return False
    for i in range(count):
        job = now.job[i]
        if job == changed or job != old.job[k, i] or now.left[i] != old.left[k, i]:
            return False
    return True


@inner
def _simulate(
    gangs: ListedGangs, scale: Floats, now: Present, runs: Ints, old: Trail, new: Trail,
    changed: int, costs: Floats,
) -> tuple[float, int]:  # fmt: skip
    """The cost with another key of a job, or of all from the start on (-1); where old states go on.

    Infinite where more jobs wait than there is room for. `costs` are those of :func:`anneal`.
    """
    k = 0 if changed < 0 else gangs.first[changed]
    since, jobs, room = k, gangs.release.size, now.job.size
    t, count, cost = gangs.release[k], 0, 0.0
    if changed >= 0:
        count, cost = old.size[k], old.cost[k]
        for i in range(count):
            job, left = old.job[k, i], old.left[k, i]
            now.job[i], now.left[i], now.key[i] = job, left, left * scale[job]
    while True:
        while k < jobs and gangs.release[k] <= t:
            after = changed >= 0 and gangs.first[k] == k > max(since, changed)
            if after and _as_before(now, count, changed, old, k):
                return cost + costs[0] - old.cost[k], k
            if count + 1 >= room:
                return math.inf, since
            new.size[k], new.cost[k] = count, cost
            for i in range(count):
                new.job[k, i], new.left[k, i] = now.job[i], now.left[i]
            now.job[count], now.left[count] = k, gangs.need[k]
            now.key[count] = gangs.need[k] * scale[k]
            count += 1
            k += 1
        if count == 0 and k >= jobs:
            return cost, jobs
        if count == 0:
            t = gangs.release[k]
            continue
        _sort(now, count)
        costs[2] += count
        until = gangs.release[k] if k < jobs else np.int64(NEVER)
        t, count, more = _serve(gangs, scale, now, runs, count, t, until)
        cost += more


@compiled
def anneal(
    gangs: ListedGangs, scale: Floats, best: Floats, costs: Floats, now: Present, runs: Ints,
    old: Trail, new: Trail, picks: Ints, steps: Floats, draws: Floats, heat: Floats,
) -> None:  # fmt: skip
    """Multiply the keys of some jobs by exp(step), and keep what the heat allows.

    `costs` are those of the keys now, infinite before the first run, and of the best ones; and how
    many jobs have been looked at.
    """
    if costs[0] == math.inf:
        costs[0], _ = _simulate(gangs, scale, now, runs, old, old, -1, costs)
        costs[1] = costs[0]
    for i in range(picks.size):
        job = picks[i]
        before = scale[job]
        scale[job] = before * math.exp(steps[i])
        cost, upto = _simulate(gangs, scale, now, runs, old, new, job, costs)
        if cost > costs[0] and draws[i] >= math.exp((costs[0] - cost) / heat[i]):
            scale[job] = before
            continue
        for k in range(gangs.first[job], upto):
            old.size[k], old.cost[k] = new.size[k], new.cost[k]
            for p in range(new.size[k]):
                old.job[k, p], old.left[k, p] = new.job[k, p], new.left[k, p]
        for k in range(upto, gangs.release.size):
            old.cost[k] += cost - costs[0]
        costs[0] = cost
        if cost < costs[1] * (1 - 1e-12):
            costs[1] = cost
            best[:] = scale
