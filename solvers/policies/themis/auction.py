"""Themis: an auction among the jobs with the largest rho, then all others by falling rho.

Winners are in tier 0, other bidders in tier 1 and the rest in tier 2.
"""

from __future__ import annotations

import math

import numpy as np

from ....instances.compiled import compiled, inner
from ...machine import const
from ...machine.leases import BIDS, give_leases, list_candidates
from ...machine.machine import done_by, new_lease, open_round
from .greedy import score
from .knapsack import UNITS, knapsack


@inner
def _shared_time(m, j):
    """From its release to its completion, if j ran from now on without a break."""
    now = m.count[const.NOW]
    done = done_by(m, j, now) if m.jobs[j].phase == const.RUNNING else 0
    return now - m.jobs[j].release + m.jobs[j].left - done


@inner
def _comes_first(m, job, rho, a, b):
    if rho[a] == rho[b]:
        return m.jobs[job[a]].rank < m.jobs[job[b]].rank
    return rho[a] < rho[b]


@inner
def _sift(m, job, rho, n, i):
    """Let job i of a heap by falling rho sink to its place; scores are minus rho.

    A gap sinks to the end, and from there the job rises: most come from the end and stay there.
    """
    own, own_rho, top = job[i], rho[i], i
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n:  # added, not branched on: no processor can guess which way
            child += _comes_first(m, job, rho, child + 1, child)
        job[i], rho[i] = job[child], rho[child]
        i = child
    job[i], rho[i] = own, own_rho
    while i > top and _comes_first(m, job, rho, i, (i - 1) // 2):
        up = (i - 1) // 2
        job[i], rho[i], job[up], rho[up] = job[up], rho[up], job[i], rho[i]
        i = up


@inner
def _take_bids(m, heap, rho, room, job, gain, gang):
    """Put the bidders in tier 1, and note those that fit: (how many these are, GPUs of all)."""
    candidates, able, gpus = heap.size, 0, 0
    lease = new_lease(m, m.count[const.NOW]) - m.count[const.NOW]
    for i in range(candidates):
        rho[i] = m.jobs[heap[i]].score
    for i in range(candidates // 2 - 1, -1, -1):
        _sift(m, heap, rho, candidates, i)
    for i in range(job.size):
        j, last = heap[0], candidates - 1 - i
        heap[0], rho[0] = heap[last], rho[last]
        _sift(m, heap, rho, last, 0)
        m.jobs[j].tier = 1
        gpus += m.jobs[j].gpus
        if m.jobs[j].gpus <= room:
            job[able], gang[able] = j, m.jobs[j].gpus
            gain[able] = int(np.rint(math.log1p(lease / _shared_time(m, j)) * UNITS))
            able += 1
    return able, gpus


@compiled
def hold_auction(m, candidates, room):
    """Give winners and other bidders their tiers, among the candidates in the list of bids."""
    share = int(m.numbers[0]) * candidates // int(m.numbers[1])
    bidders = max(1, candidates - share)
    job = np.empty(bidders, dtype=np.int64)
    gain, gang = np.empty(bidders, dtype=np.int64), np.empty(bidders, dtype=np.int64)
    heap, rho = m.lists[BIDS, :candidates].copy(), np.empty(candidates, dtype=np.float64)
    able, gpus = _take_bids(m, heap, rho, room, job, gain, gang)
    if gpus <= room:
        for i in range(able):
            m.jobs[job[i]].tier = 0
        return
    job, gain, gang = job[:able], gain[:able], gang[:able]
    before, hopeful = np.zeros(room + 1, dtype=np.int64), np.zeros(able, dtype=np.bool_)
    for i in np.argsort(-gain, kind="mergesort"):
        hopeful[i] = before[gang[i]] < room // gang[i]
        before[gang[i]] += 1
    job = job[hopeful]
    won = knapsack(gain[hopeful], gang[hopeful], room)
    for i in range(job.size):
        if won[i]:
            m.jobs[job[i]].tier = 0


@compiled
def _decide_by_auction(m):
    candidates, room, expired = list_candidates(m)
    if candidates:
        for i in range(candidates):
            m.jobs[m.lists[BIDS, i]].tier = 2
            score(m, m.lists[BIDS, i])
        hold_auction(m, candidates, room)
        give_leases(m, candidates, room, expired)


@compiled
def advance_by_auction(m, until, most):
    """As :func:`.keyed.advance_by_key`, for Themis."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide_by_auction(m)
    return const.MORE
