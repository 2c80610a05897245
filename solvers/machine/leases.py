"""Leases by an order of jobs, as a policy in Python gives it (:func:`.ordered.follow`).

Only candidates that fit are ordered, in a heap, by :func:`.grouped.pick`.
"""

from __future__ import annotations

from ...instances.compiled import inlined, inner
from . import const
from .grouped import backfill_groups, expired_losers, keep_fitting, pick, sort_losers
from .machine import put
from .place import place_selected, settle

#: list of all candidates, then of those that fit
BIDS = const.GROUP


@inner
def list_candidates(m):
    """List who waits or has no lease any more: (how many, GPUs there are for them, expired leases).

    Nobody where no waiting job fits: then whoever runs goes on.
    """
    now, waits = m.count[const.NOW], m.count[const.WAITS]
    room, expired, smallest = m.count[const.FREE], 0, const.NONE
    for i in range(m.count[const.RUNS]):
        j = m.lists[const.RUNNERS, i]
        m.jobs[j].mark = const.NOT_CANDIDATE
        if m.jobs[j].lease_end <= now:
            room += m.jobs[j].gpus
            expired += 1
    for g in range(m.gangs.size):
        if m.gangs[g].waiting:
            smallest = min(smallest, m.gangs[g].size)
    if room < smallest:
        return 0, room, expired
    candidates = 0
    for i in range(waits + m.count[const.RUNS]):
        j = m.lists[const.WAITERS, i] if i < waits else m.lists[const.RUNNERS, i - waits]
        if i < waits or m.jobs[j].lease_end <= now:
            m.jobs[j].mark = const.NOT_CANDIDATE
            candidates = put(m, BIDS, candidates, j)
    return candidates, room, expired


@inner
def _next_tier(m, first, fitting):
    """Move those of the first tier in the list from `first` on to its front; where they end."""
    tier, last = const.NONE, first
    for i in range(first, fitting):
        tier = min(tier, m.jobs[m.lists[const.GROUP, i]].tier)
    for i in range(first, fitting):
        j = m.lists[const.GROUP, i]
        if m.jobs[j].tier == tier:
            m.lists[const.GROUP, i] = m.lists[const.GROUP, last]
            m.lists[const.GROUP, last] = j
            last += 1
    return last


@inner
def give_leases(m, candidates, room, expired):
    """Select and place the listed candidates by tier, score, second score and rank.

    A tier is put in order only where there is room left for somebody.
    """
    fitting, least = 0, const.NONE
    for i in range(candidates):
        j = m.lists[BIDS, i]
        if m.jobs[j].gpus <= room:
            m.jobs[j].mark = const.CANDIDATE
            fitting = put(m, const.GROUP, fitting, j)
            least = min(least, m.jobs[j].gpus)
    m.users[0].passed = -1
    selected = kept = first = 0
    while room >= least and first < fitting:
        last = _next_tier(m, first, fitting)
        m.users[0].group_at, m.users[0].group_length = first, last - first
        keep_fitting(m, 0, room)
        selected, kept, room = pick(m, room, 0, False, selected, kept, least)
        first = last
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
