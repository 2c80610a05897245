"""Themis: an auction among the jobs with the largest rho, then all others by falling rho.

The order is that of :mod:`.grouped`, for one group, with winners in tier 0, other bidders in tier
1 and the rest in tier 2. As there, only candidates that fit are ordered.
"""

from __future__ import annotations

import math

import numpy as np

from ....solvers.compiled import compiled, inlined
from ....solvers.policies.themis import UNITS
from ....solvers.policies.themis_core import knapsack
from . import const
from .grouped import (
    backfill_groups,
    expired_losers,
    heapify,
    pick,
    pop_first,
    score,
    sort_losers,
)
from .machine import done_by, new_lease, open_round, put
from .place import place_selected, settle

BIDS = const.GROUP


@inlined
def _shared_time(m, j):
    """From its release to its completion, if j ran from now on without a break."""
    now = m.count[const.NOW]
    done = done_by(m, j, now) if m.jobs[j].phase == const.RUNNING else 0
    return now - m.jobs[j].release + m.jobs[j].left - done


@compiled
def hold_auction(m, candidates, room):
    """Give winners and other bidders their tiers, among the candidates in the list of bids."""
    share = int(m.numbers[0]) * candidates // int(m.numbers[1])
    bidders, able, gangs = max(1, candidates - share), 0, 0
    lease = new_lease(m, m.count[const.NOW]) - m.count[const.NOW]
    job = np.empty(bidders, dtype=np.int64)
    gain, gang = np.empty(bidders, dtype=np.int64), np.empty(bidders, dtype=np.int64)
    heapify(m, BIDS, 0, candidates)
    for i in range(bidders):
        j = pop_first(m, BIDS, 0, candidates - i)
        m.jobs[j].tier = 1
        gangs += m.jobs[j].gpus
        if m.jobs[j].gpus <= room:
            job[able], gang[able] = j, m.jobs[j].gpus
            gain[able] = int(np.rint(math.log1p(lease / _shared_time(m, j)) * UNITS))
            able += 1
    if gangs <= room:
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


@inlined
def _decide_by_auction(m):
    now = m.count[const.NOW]
    room, expired, waits = m.count[const.FREE], 0, m.count[const.WAITS]
    for i in range(m.count[const.RUNS]):
        j = m.lists[const.RUNNERS, i]
        if m.jobs[j].lease_end <= now:
            room += m.jobs[j].gpus
            expired += 1
    smallest = const.NONE
    for g in range(m.gangs.size):
        if m.gangs[g].waiting:
            smallest = min(smallest, m.gangs[g].size)
    if room < smallest:
        return  # no waiting job fits: whoever runs goes on
    candidates = 0
    for i in range(waits + m.count[const.RUNS]):
        j = m.lists[const.WAITERS, i] if i < waits else m.lists[const.RUNNERS, i - waits]
        m.jobs[j].mark = const.NOT_CANDIDATE
        if i < waits or m.jobs[j].lease_end <= now:
            m.jobs[j].tier = 0
            score(m, j, 0)
            candidates = put(m, BIDS, candidates, j)
    for i in range(candidates):
        m.jobs[m.lists[BIDS, i]].tier = 2
    hold_auction(m, candidates, room)
    fitting = 0
    for i in range(candidates):
        j = m.lists[BIDS, i]
        if m.jobs[j].gpus <= room:
            m.jobs[j].mark = const.CANDIDATE
            fitting = put(m, const.GROUP, fitting, j)
    heapify(m, const.GROUP, 0, fitting)
    m.users[0].group_at, m.users[0].group_length, m.users[0].passed = 0, fitting, -1
    selected, kept = pick(m, room, 0, False)
    if selected:  # otherwise every expired job has been picked
        _place_all(m, selected, kept, expired)


@inlined
def _place_all(m, selected, kept, expired):
    losers = own = expired_losers(m)
    started, failed, kept, losers = place_selected(m, selected, kept, losers, expired > 0)
    for i in range(failed):
        m.jobs[m.lists[const.FAILED, i]].mark = const.REFUSED
    if failed or losers > own:
        started = backfill_groups(m, started, failed, losers)
        sort_losers(m, losers)
    settle(m, started, kept, losers)


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
