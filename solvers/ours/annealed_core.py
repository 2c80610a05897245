"""Lists of preemptive gangs whose keys change one at a time, as machine code.

Before every eighth arrival the state of the run is kept. A change of one key is simulated from the
last one of them before its job comes, and only until the state is again what it was.

Jobs cost their weights while they are in the system. Several groups of jobs have costs of their
own, of which the worst counts, and beside it a part of each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inlined, inner
from ...instances.model import FULL_SPEED
from .model_order_core import Keys, first_with_room, upgrade

NEVER = 2**62
EACH = 8  #: arrivals from one kept state to the next


class ListedGangs(NamedTuple):
    """Jobs by release, and the cluster."""

    release: Ints
    need: Ints  # seconds; on several models millionths of a second's work at speed 1
    gang: Ints
    weight: Floats
    group: Ints
    first: Floats  # what each group's cost begins with
    share: Floats  # and what part of it counts beside the worst one
    speed: Ints  # on each model, what a second does of the need
    kind: Ints
    fast: Ints  # of each kind of job, the models by falling speed
    gpus: Ints  # of each model


class Trail(NamedTuple):
    """The states before some arrivals: who is in the system, by key, and what has been paid."""

    size: Ints
    job: Ints
    left: Ints
    on: Ints
    cost: Floats


class Present(NamedTuple):
    """The jobs in the system by falling key, and what they cost."""

    job: Ints
    left: Ints
    key: Floats
    runs: Ints  # where those are that run now
    chosen: Ints  # and their numbers, the first one first
    on: Ints  # of all jobs, on which model one has run, of several; -1 for none
    to: Ints  # and on which one it is to run now
    free: Ints  # of each model
    held: Floats  # what a second costs each group
    cost: Floats  # and what it has cost
    looks: Ints  # one number: how often a job has been looked at


@inlined
def _put(
    gangs: ListedGangs, scale: Floats, now: Present, at: int, count: int, job: int, left: int
) -> None:
    """Put a job where its key belongs, into a gap from which it may have to go either way."""
    whole = left if gangs.gpus.size == 1 else -(-left // FULL_SPEED)  # of work, seconds count
    key = whole * scale[job]
    while at + 1 < count and (
        now.key[at + 1] > key or (now.key[at + 1] == key and now.job[at + 1] > job)
    ):
        now.job[at], now.left[at], now.key[at] = now.job[at + 1], now.left[at + 1], now.key[at + 1]
        at += 1
    while at > 0 and (now.key[at - 1] < key or (now.key[at - 1] == key and now.job[at - 1] < job)):
        now.job[at], now.left[at], now.key[at] = now.job[at - 1], now.left[at - 1], now.key[at - 1]
        at -= 1
    now.job[at], now.left[at], now.key[at] = job, left, key


@inlined
def _start(gangs: ListedGangs, keys: Keys, now: Present, count: int, runs: int) -> int:
    """Let the first ones that fit run, each on its first model with room; how many run then."""
    one, left, i, again = gangs.gpus.size == 1, np.sum(now.free), count, runs > 0
    while i > 0 and left > 0:
        i -= 1
        job = now.job[i]
        gang = gangs.gang[job]
        if gang > left or (again and now.to[job] >= 0):
            continue
        g = 0 if one else first_with_room(job, keys.models, gang, now.free)
        if g >= 0:
            now.runs[runs] = i
            if not one:
                now.to[job], now.chosen[runs] = g, job
            now.free[g] -= gang
            left -= gang
            runs += 1
    now.looks[0] += count - i + runs
    return runs


@inner
def _spread(gangs: ListedGangs, keys: Keys, now: Present, count: int, runs: int) -> int:
    """Move those that run to faster models, and let others start there; how many run then."""
    before = -1
    while before < runs and upgrade(
        now.chosen, runs, gangs.kind, gangs.gang, gangs.speed, gangs.fast, now.to, now.free
    ):
        before, runs = runs, _start(gangs, keys, now, count, runs)
    now.looks[0] += count
    runs = 0
    for i in range(count - 1, -1, -1):
        job = now.job[i]
        if now.to[job] != now.on[job]:  # a part of a second's work is lost
            now.left[i] = -(-now.left[i] // FULL_SPEED) * FULL_SPEED
            now.on[job] = now.to[job]
        if now.on[job] >= 0:
            now.runs[runs] = i
            runs += 1
    return runs


@inlined
def _serve(
    gangs: ListedGangs, keys: Keys, now: Present, count: int, t: int, until: int
) -> tuple[int, int]:
    """Run the first ones that fit until one of them ends, or until then: time, and who stays."""
    several = gangs.gpus.size > 1
    for g in range(gangs.gpus.size):
        now.free[g] = gangs.gpus[g]
    runs = _start(gangs, keys, now, count, 0)
    if several:
        runs = _spread(gangs, keys, now, count, runs)
    for r in range(runs):
        i = now.runs[r]
        left = now.left[i]
        if several:
            left = -(-left // gangs.speed[now.job[i], now.on[now.job[i]]])
        until = min(until, t + left)
    for u in range(now.cost.size):
        now.cost[u] += now.held[u] * (until - t)
    for r in range(runs):
        i = now.runs[r]
        job, left = now.job[i], now.left[i]
        left -= (until - t) * (gangs.speed[job, now.on[job]] if several else 1)
        if several:
            now.to[job] = -1
        if left > 0:
            _put(gangs, keys.scale, now, i, count, job, left)
            continue
        now.held[gangs.group[job]] -= gangs.weight[job]
        count -= 1
        for k in range(i, count):
            now.job[k], now.left[k], now.key[k] = now.job[k + 1], now.left[k + 1], now.key[k + 1]
    return until, count


@inlined
def _as_before(now: Present, count: int, changed: int, old: Trail, k: int) -> bool:
    """Whether the state is the k-th that was kept, and the changed job is not in it."""
    if old.size[k] != count:
        return False
    for i in range(count):
        job = now.job[i]
        if job == changed or job != old.job[k, i] or now.left[i] != old.left[k, i]:
            return False
        if now.on[job] != old.on[k, i]:
            return False
    return True


@inner
def _simulate(
    gangs: ListedGangs, keys: Keys, now: Present, old: Trail, new: Trail, changed: int,
    total: Floats,
) -> int:  # fmt: skip
    """Run with other keys of a job, or from the start on (-1), until an old state: which one.

    -1 where more jobs wait than there is room for. `total` are the groups' costs until now.
    """
    k = max(changed, 0) // EACH * EACH
    jobs, room, count, t = gangs.release.size, now.job.size, 0, gangs.release[k]
    for u in range(total.size):
        now.held[u], now.cost[u] = 0, gangs.first[u] if changed < 0 else old.cost[k // EACH, u]
    if changed >= 0:
        count = old.size[k // EACH]
        for i in range(count):
            job, left = old.job[k // EACH, i], old.left[k // EACH, i]
            _put(gangs, keys.scale, now, i, i, job, left)
            now.on[job] = old.on[k // EACH, i]
            now.held[gangs.group[job]] += gangs.weight[job]
    while True:
        while k < jobs and gangs.release[k] <= t:
            if k % EACH == 0:
                state = k // EACH
                if k > changed >= 0 and _as_before(now, count, changed, old, state):
                    for u in range(total.size):
                        now.cost[u] += total[u] - old.cost[state, u]
                    return state
                if count + EACH > room:
                    return -1
                new.size[state] = count
                for u in range(total.size):
                    new.cost[state, u] = now.cost[u]
                for i in range(count):
                    new.job[state, i], new.left[state, i] = now.job[i], now.left[i]
                    new.on[state, i] = now.on[now.job[i]]
            _put(gangs, keys.scale, now, count, count, k, gangs.need[k])
            now.on[k] = -1
            now.held[gangs.group[k]] += gangs.weight[k]
            count += 1
            k += 1
        if count == 0 and k >= jobs:
            return old.size.size
        if count == 0:
            t = gangs.release[k]
            continue
        until = gangs.release[k] if k < jobs else np.int64(NEVER)
        t, count = _serve(gangs, keys, now, count, t, until)


@compiled
def anneal(
    gangs: ListedGangs, keys: Keys, best: Keys, costs: Floats, total: Floats, now: Present,
    old: Trail, new: Trail, picks: Ints, places: Ints, steps: Floats, draws: Floats, heat: Floats,
) -> None:  # fmt: skip
    """Change keys of some jobs, and keep what the heat allows.

    The factor times exp(step); or, where a place is above 0, the model there and the one before it
    change places. `costs` are that of the keys now, infinite before the first run, and the least
    one of a worst group, which the best keys have.
    """
    if costs[0] == math.inf:
        _simulate(gangs, keys, now, old, old, -1, total)
        total[:] = now.cost
        costs[1] = np.max(total)
        costs[0] = costs[1] + np.sum(gangs.share * total)
    for i in range(picks.size):
        job, place, before = picks[i], places[i], keys.scale[picks[i]]
        own = keys.models[job]
        if place > 0 and own[place] < 0:
            place = 0
        if place > 0:
            own[place - 1], own[place] = own[place], own[place - 1]
        else:
            keys.scale[job] = before * math.exp(steps[i])
        upto = _simulate(gangs, keys, now, old, new, job, total)
        worst, cost = np.max(now.cost), math.inf
        if upto >= 0:
            cost = worst + np.sum(gangs.share * now.cost)
        if cost > costs[0] and draws[i] >= math.exp((costs[0] - cost) / heat[i]):
            if place > 0:
                own[place - 1], own[place] = own[place], own[place - 1]
            keys.scale[job] = before
            continue
        for k in range(job // EACH, upto):
            old.size[k] = new.size[k]
            old.cost[k] = new.cost[k]
            for p in range(new.size[k]):
                old.job[k, p], old.left[k, p] = new.job[k, p], new.left[k, p]
                old.on[k, p] = new.on[k, p]
        for k in range(upto, old.size.size):
            old.cost[k] += now.cost - total
        total[:] = now.cost
        costs[0] = cost
        if worst < costs[1] - 1e-12 * abs(costs[1]):
            costs[1] = worst
            best.scale[:] = keys.scale
            best.models[:] = keys.models
