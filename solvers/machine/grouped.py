"""Leases by groups of jobs: the users, the least served first, or all jobs as one group.

A rule gives each candidate a tier and a score. Only those that fit are ordered, in one heap a
group; full orders are made only when a selected job finds no place. The first of the rule's numbers
says whether a user is served fairly by its quota, and not by its fair share.
"""

from __future__ import annotations

import numpy as np

from ...instances.compiled import inlined, inner
from . import const
from .machine import new_lease, put, user_at
from .place import (
    backfill,
    forget_refusals,
    is_due,
    may_fit,
    nobody_fits,
    note_refusal,
    place_selected,
    settle,
)

#: when one in so many of a heap was taken off as too large, all others that are go at once: so
#: often at most are those that stay looked at for each that goes
MANY = 64


@inner
def _group(m, j):
    return m.jobs[j].user if m.params[const.GROUPS] else 0


@inner
def _first(m, a, b):
    """Whether a comes before b among the jobs of one user."""
    if m.jobs[a].tier != m.jobs[b].tier:
        return m.jobs[a].tier < m.jobs[b].tier
    if m.jobs[a].score != m.jobs[b].score:
        return m.jobs[a].score < m.jobs[b].score
    if m.jobs[a].second != m.jobs[b].second:
        return m.jobs[a].second < m.jobs[b].second
    return m.jobs[a].rank < m.jobs[b].rank


@inner
def _before(m, a, b):
    """Whether a comes before b in the order of the jobs that were not selected."""
    u, v = _group(m, a), _group(m, b)
    if u != v:
        if m.users[u].key != m.users[v].key:
            return m.users[u].key < m.users[v].key
        return u < v
    return _first(m, a, b)


@inner
def _above(m, row, a, b):
    """Whether a comes before b in a heap; in those of GROUP all are of one user."""
    return _first(m, a, b) if row == const.GROUP else _before(m, a, b)


@inner
def sift(m, row, base, n, i):
    """Let job i of a heap sink to its place."""
    j = m.lists[row, base + i]
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n:
            child += _above(m, row, m.lists[row, base + child + 1], m.lists[row, base + child])
        if not _above(m, row, m.lists[row, base + child], j):
            break
        m.lists[row, base + i] = m.lists[row, base + child]
        i = child
    m.lists[row, base + i] = j


@inner
def heapify(m, row, base, n):
    """Make a heap of n jobs of a list."""
    for i in range(n // 2 - 1, -1, -1):
        sift(m, row, base, n, i)


@inner
def pop_first(m, row, base, n):
    """The first of a heap of n jobs, which moves to its end."""
    top = m.lists[row, base]
    m.lists[row, base] = m.lists[row, base + n - 1]
    m.lists[row, base + n - 1] = top
    sift(m, row, base, n - 1, 0)
    return top


@inner
def _set_user_key(m, u, lease):
    """Fairness of a user at the end of the lease, if what was picked ran through it."""
    now = m.count[const.NOW]
    if not m.params[const.GROUPS]:
        m.users[u].key = 0.0
        return
    attained = m.users[u].base + m.users[u].rate * now + m.users[u].picked
    if m.numbers[0] > 0:
        fair = m.users[u].quota * now + lease * m.users[u].quota
    else:
        fair = user_at(m, u, now) + lease * m.users[u].slope
    m.users[u].key = attained / fair if fair > 0 else (0.0 if attained == 0 else np.inf)


@inner
def list_groups(m):
    """List who waits or has no lease any more, and fits, by group in the list GROUP.

    Returns how many they are, none where no waiting job fits: then whoever runs goes on; GPUs that
    there are for them, leases that have ended, and the fewest GPUs that one of them needs.
    """
    now, groups = m.count[const.NOW], m.users.size if m.params[const.GROUPS] else 1
    room, expired, waits = m.count[const.FREE], 0, m.count[const.WAITS]
    for u in range(groups):
        m.users[u].picked = m.users[u].group_length = 0
        m.users[u].passed = -1
    for i in range(m.count[const.RUNS]):
        j = m.lists[const.RUNNERS, i]
        if m.jobs[j].lease_end <= now:
            room += m.jobs[j].gpus
            expired += 1
        elif m.params[const.GROUPS]:
            m.users[m.jobs[j].user].picked += m.jobs[j].gpus * (m.jobs[j].lease_end - now)
    smallest, least = const.NONE, const.NONE
    for g in range(m.gangs.size):
        if m.gangs[g].waiting:
            smallest = min(smallest, m.gangs[g].size)
    if room < smallest:
        return 0, room, expired, least
    for i in range(waits + m.count[const.RUNS]):
        j = m.lists[const.WAITERS, i] if i < waits else m.lists[const.RUNNERS, i - waits]
        m.jobs[j].mark = const.NOT_CANDIDATE
        if i >= waits and m.jobs[j].lease_end > now:
            continue
        if m.jobs[j].gpus <= room:
            m.jobs[j].mark = const.CANDIDATE
            m.users[_group(m, j)].group_length += 1
            least = min(least, m.jobs[j].gpus)
    at = 0
    for u in range(groups):
        m.users[u].group_at = at
        at += m.users[u].group_length
        m.users[u].group_length = 0
    for i in range(waits + m.count[const.RUNS]):
        j = m.lists[const.WAITERS, i] if i < waits else m.lists[const.RUNNERS, i - waits]
        if m.jobs[j].mark == const.CANDIDATE:
            u = _group(m, j)
            m.lists[const.GROUP, m.users[u].group_at + m.users[u].group_length] = j
            m.users[u].group_length += 1
    return at, room, expired, least


@inner
def lease_groups(m, room, expired, least):
    """Select and place the listed jobs, which have tiers and scores."""
    lease = new_lease(m, m.count[const.NOW]) - m.count[const.NOW]
    for u in range(m.users.size if m.params[const.GROUPS] else 1):
        if m.users[u].group_length:
            heapify(m, const.GROUP, m.users[u].group_at, m.users[u].group_length)
            _set_user_key(m, u, lease)
    guarded = m.params[const.GROUPS] and m.params[const.PATIENCE] >= 0 and expired > 0
    selected, kept, room = pick(m, room, lease, guarded, 0, 0, least)
    if selected:  # otherwise every expired job has been picked
        _place_groups(m, selected, kept, expired)


@inner
def keep_fitting(m, u, room):
    """Leave in the heap of a user only whom one can still pick."""
    base, found = m.users[u].group_at, 0
    for i in range(base, base + m.users[u].group_length):
        j = m.lists[const.GROUP, i]
        if m.jobs[j].mark == const.CANDIDATE and m.jobs[j].gpus <= room:
            m.lists[const.GROUP, base + found] = j
            found += 1
    m.users[u].group_length = found
    heapify(m, const.GROUP, base, found)


@inlined
def pick(m, room, lease, guarded, selected, kept, least):
    """Algorithm 1 of Ye et al.: the least served user with a job that fits, in it its first.

    Where `guarded`, jobs that have been passed over for the patience come before all others.
    Nobody needs fewer than `least` GPUs. Returns how many are selected and kept, and the room left.
    """
    turn = selected + kept
    while guarded and room > 0:
        j = _longest_due(m, room)
        if j < 0:
            break
        room -= m.jobs[j].gpus
        m.jobs[j].mark = const.CHOSEN
        m.jobs[j].turn = turn
        turn += 1
        selected = put(m, const.PICKED, selected, j)
        m.users[m.jobs[j].user].picked += lease * m.jobs[j].gpus
        _set_user_key(m, m.jobs[j].user, lease)
    while room >= least:
        best = -1
        for u in range(m.users.size if m.params[const.GROUPS] else 1):
            gone = 0
            while m.users[u].group_length:
                top = m.lists[const.GROUP, m.users[u].group_at]
                if m.jobs[top].mark == const.CANDIDATE:
                    if m.jobs[top].gpus <= room:
                        break
                    if m.users[u].passed < 0:
                        m.users[u].passed = top
                pop_first(m, const.GROUP, m.users[u].group_at, m.users[u].group_length)
                m.users[u].group_length -= 1
                gone += 1
                if MANY * gone > m.users[u].group_length and m.users[u].passed >= 0:
                    keep_fitting(m, u, room)
                    gone = 0
            if m.users[u].group_length and (best < 0 or m.users[u].key < m.users[best].key):
                best = u
        if best < 0:
            break
        j = pop_first(m, const.GROUP, m.users[best].group_at, m.users[best].group_length)
        m.users[best].group_length -= 1
        room -= m.jobs[j].gpus
        m.jobs[j].mark = const.CHOSEN
        m.jobs[j].turn = turn
        turn += 1
        if m.jobs[j].phase == const.RUNNING:
            kept = put(m, const.KEPT, kept, j)
        else:
            selected = put(m, const.PICKED, selected, j)
        m.users[best].picked += lease * m.jobs[j].gpus
        _set_user_key(m, best, lease)
        passed = m.users[best].passed
        waits = guarded and passed >= 0 and m.jobs[passed].phase == const.WAITING
        if waits and m.jobs[passed].blocked < 0:
            m.jobs[passed].blocked = m.count[const.NOW]
    return selected, kept, room


@inlined
def _longest_due(m, room):
    """Of the candidates that fit and are due, the one that was passed over first; -1 if none."""
    best = -1
    for i in range(m.count[const.WAITS]):
        j = m.lists[const.WAITERS, i]
        if m.jobs[j].mark != const.CANDIDATE or m.jobs[j].gpus > room or not is_due(m, j):
            continue
        since = m.jobs[j].blocked, m.jobs[j].rank
        if best < 0 or since < (m.jobs[best].blocked, m.jobs[best].rank):
            best = j
    return best


@inner
def _sort_by_turn(m, first, last):
    """Losers as they were picked."""
    for i in range(first + 1, last):
        j, k = m.lists[const.LOSERS, i], i
        while k > first and m.jobs[m.lists[const.LOSERS, k - 1]].turn > m.jobs[j].turn:
            m.lists[const.LOSERS, k] = m.lists[const.LOSERS, k - 1]
            k -= 1
        m.lists[const.LOSERS, k] = j


@inner
def sort_losers(m, losers):
    """Sort losers as they come in the order."""
    heapify(m, const.LOSERS, 0, losers)
    for n in range(losers, 1, -1):
        pop_first(m, const.LOSERS, 0, n)
    for i in range(losers // 2):  # popped to the end: the first one stands last
        j, k = m.lists[const.LOSERS, i], losers - 1 - i
        m.lists[const.LOSERS, i] = m.lists[const.LOSERS, k]
        m.lists[const.LOSERS, k] = j


@inner
def expired_losers(m):
    """List who has no lease any more and was not picked, in the order; returns how many."""
    losers = 0
    for i in range(m.count[const.RUNS]):
        j = m.lists[const.RUNNERS, i]
        if m.jobs[j].lease_end <= m.count[const.NOW] and m.jobs[j].mark != const.CHOSEN:
            losers = put(m, const.LOSERS, losers, j)
    sort_losers(m, losers)
    return losers


@inlined
def _place_groups(m, selected, kept, expired):
    losers = own = expired_losers(m)
    started, failed, kept, losers = place_selected(m, selected, kept, losers, expired > 0)
    for i in range(failed):
        m.jobs[m.lists[const.FAILED, i]].mark = const.REFUSED
    _sort_by_turn(m, own, losers)  # several gangs may have displaced some
    for i in range(own, losers):
        started = backfill(m, m.lists[const.LOSERS, i], started)
    if failed or losers > own:
        started = backfill_groups(m, started, failed, own)
    for i in range(losers - own):  # displaced ones come before the others
        j = m.lists[const.LOSERS, own + i]
        for k in range(own + i, i, -1):
            m.lists[const.LOSERS, k] = m.lists[const.LOSERS, k - 1]
        m.lists[const.LOSERS, i] = j
    settle(m, started, kept, losers)


@inlined
def backfill_groups(m, started, failed, own):
    """Start whoever finds room, of those that wait and so many losers, in the order."""
    forget_refusals(m)
    for i in range(failed):
        note_refusal(m, m.lists[const.FAILED, i])
    rest, smallest, waits = 0, const.NONE, m.count[const.WAITS]
    for i in range(waits + own):
        j = m.lists[const.WAITERS, i] if i < waits else m.lists[const.LOSERS, i - waits]
        if i < waits and m.jobs[j].mark != const.CANDIDATE:
            continue
        if m.jobs[j].gpus <= m.count[const.FREE] and may_fit(m, j):
            rest = put(m, const.REST, rest, j)
            smallest = min(smallest, m.jobs[j].gpus)
    heapify(m, const.REST, 0, rest)
    while rest and smallest <= m.count[const.FREE] and not nobody_fits(m, smallest):
        j = pop_first(m, const.REST, 0, rest)
        rest -= 1
        if may_fit(m, j) and m.jobs[j].gpus <= m.count[const.FREE]:
            more = backfill(m, j, started)
            if more == started:
                note_refusal(m, j)
            started = more
    return started
