"""LTGF and Themis: users by fairness, in each its jobs by fairness.

They order only the candidates that fit, in one heap a user; full orders are made only when a
selected job finds no place.
"""

from __future__ import annotations

import numpy as np

from ....solvers.compiled import compiled, inlined, inner
from .machine import (
    CANDIDATE,
    CHOSEN,
    FAILED,
    FREE,
    GROUP,
    KEPT,
    KIND,
    LOSERS,
    LTGF,
    MORE,
    NONE,
    NOT_CANDIDATE,
    NOW,
    PATIENCE,
    PICKED,
    QUIET,
    READY,
    REFUSED,
    REST,
    RUNNERS,
    RUNNING,
    RUNS,
    THEMIS,
    WAITERS,
    WAITING,
    WAITS,
    done_by,
    job_fair_at,
    new_lease,
    open_round,
    user_at,
)
from .place import (
    backfill,
    forget_refusals,
    is_due,
    may_fit,
    note_refusal,
    place_selected,
    settle,
)


@inner
def _group(m, j):
    return m.jobs[j].user if m.params[KIND] == LTGF else 0


@inner
def _first(m, a, b):
    """Whether a comes before b among the jobs of one user."""
    if m.jobs[a].tier != m.jobs[b].tier:
        return m.jobs[a].tier < m.jobs[b].tier
    if m.jobs[a].score != m.jobs[b].score:
        return m.jobs[a].score < m.jobs[b].score
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
def _sift(m, row, base, n, i):
    j = m.lists[row, base + i]
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and _before(m, m.lists[row, base + child + 1], m.lists[row, base + child]):
            child += 1
        if not _before(m, m.lists[row, base + child], j):
            break
        m.lists[row, base + i] = m.lists[row, base + child]
        i = child
    m.lists[row, base + i] = j


@inner
def _heapify(m, row, base, n):
    for i in range(n // 2 - 1, -1, -1):
        _sift(m, row, base, n, i)


@inner
def _pop_first(m, row, base, n):
    """The first of a heap of n jobs, which moves to its end."""
    top = m.lists[row, base]
    m.lists[row, base] = m.lists[row, base + n - 1]
    m.lists[row, base + n - 1] = top
    _sift(m, row, base, n - 1, 0)
    return top


@inner
def _score(m, j, lease):
    """Fairness of a candidate: rho or rho^- of LTGF, minus Themis's rho."""
    now = m.count[NOW]
    current = now - m.jobs[j].since if m.jobs[j].phase == RUNNING else 0
    if m.params[KIND] == THEMIS:
        left = m.jobs[j].left - (done_by(m, j, now) if current else 0)
        life = now - m.jobs[j].visible
        jobs = float(m.active[2])
        if life > 0:
            total = m.active[1] + m.active[2] * (now - m.active[0]) - m.jobs[j].active_start
            jobs = total / life
        m.jobs[j].score = -((now - m.jobs[j].release + left) / (m.jobs[j].work * jobs))
        return
    m.jobs[j].tier = 2 * m.jobs[j].urgency
    if m.numbers[2] > 0 and m.jobs[j].phase != RUNNING:
        m.jobs[j].tier += 1
    attained = m.jobs[j].held + m.jobs[j].gpus * current
    fair = job_fair_at(m, j, now)
    if m.numbers[1] > 0:
        fair = fair + lease * m.kinds[m.jobs[j].kind_of].slope
        m.jobs[j].score = attained / fair if fair > 0 else np.inf
    elif attained == 0:
        m.jobs[j].score = 0.0
    else:
        m.jobs[j].score = attained / fair if fair > 0 else np.inf


@inner
def _set_user_key(m, u, lease):
    """Fairness of a user at the end of the lease, if what was picked ran through it."""
    now = m.count[NOW]
    if m.params[KIND] == THEMIS:
        m.users[u].key = 0.0
        return
    attained = m.users[u].base + m.users[u].rate * now + m.users[u].picked
    if m.numbers[0] > 0:
        fair = m.users[u].quota * now + lease * m.users[u].quota
    else:
        fair = user_at(m, u, now) + lease * m.users[u].slope
    m.users[u].key = attained / fair if fair > 0 else (0.0 if attained == 0 else np.inf)


@inlined
def _decide_by_groups(m):
    now = m.count[NOW]
    lease = new_lease(m, now) - now
    groups = m.users.size if m.params[KIND] == LTGF else 1
    room, expired, waits = m.count[FREE], 0, m.count[WAITS]
    for u in range(groups):
        m.users[u].picked = m.users[u].group_length = 0
        m.users[u].passed = -1
    for i in range(m.count[RUNS]):
        j = m.lists[RUNNERS, i]
        if m.jobs[j].lease_end <= now:
            room += m.jobs[j].gpus
            expired += 1
        elif m.params[KIND] == LTGF:
            m.users[m.jobs[j].user].picked += m.jobs[j].gpus * (m.jobs[j].lease_end - now)
    smallest = NONE
    for g in range(m.gangs.size):
        if m.gangs[g].waiting:
            smallest = min(smallest, m.gangs[g].size)
    if room < smallest:
        return  # no waiting job fits: whoever runs goes on
    for i in range(waits + m.count[RUNS]):
        j = m.lists[WAITERS, i] if i < waits else m.lists[RUNNERS, i - waits]
        m.jobs[j].mark = NOT_CANDIDATE
        if i >= waits and m.jobs[j].lease_end > now:
            continue
        if m.jobs[j].gpus <= room:
            m.jobs[j].mark = CANDIDATE
            m.users[_group(m, j)].group_length += 1
    at = 0
    for u in range(groups):
        m.users[u].group_at = at
        at += m.users[u].group_length
        m.users[u].group_length = 0
    for i in range(waits + m.count[RUNS]):
        j = m.lists[WAITERS, i] if i < waits else m.lists[RUNNERS, i - waits]
        if m.jobs[j].mark == CANDIDATE:
            u = _group(m, j)
            m.lists[GROUP, m.users[u].group_at + m.users[u].group_length] = j
            m.users[u].group_length += 1
            _score(m, j, lease)
    for u in range(groups):
        if m.users[u].group_length:
            _heapify(m, GROUP, m.users[u].group_at, m.users[u].group_length)
            _set_user_key(m, u, lease)
    guarded = m.params[KIND] == LTGF and m.params[PATIENCE] >= 0 and expired > 0
    selected, kept = _pick(m, room, lease, guarded)
    if selected == 0:
        return  # then every expired job has been picked
    _place_groups(m, selected, kept, expired)


@inlined
def _pick(m, room, lease, guarded):
    """Algorithm 1 of Ye et al.: the least served user with a job that fits, in it its first.

    Where `guarded`, jobs that have been passed over for the patience come before all others.
    """
    selected = kept = turn = 0
    while guarded and room > 0:
        j = _longest_due(m, room)
        if j < 0:
            break
        room -= m.jobs[j].gpus
        m.jobs[j].mark = CHOSEN
        m.jobs[j].turn = turn
        turn += 1
        m.lists[PICKED, selected] = j
        selected += 1
        m.users[m.jobs[j].user].picked += lease * m.jobs[j].gpus
        _set_user_key(m, m.jobs[j].user, lease)
    while room > 0:
        best = -1
        for u in range(m.users.size if m.params[KIND] == LTGF else 1):
            while m.users[u].group_length:
                top = m.lists[GROUP, m.users[u].group_at]
                if m.jobs[top].mark == CANDIDATE:
                    if m.jobs[top].gpus <= room:
                        break
                    if m.users[u].passed < 0:
                        m.users[u].passed = top
                _pop_first(m, GROUP, m.users[u].group_at, m.users[u].group_length)
                m.users[u].group_length -= 1
            if m.users[u].group_length and (best < 0 or m.users[u].key < m.users[best].key):
                best = u
        if best < 0:
            break
        j = _pop_first(m, GROUP, m.users[best].group_at, m.users[best].group_length)
        m.users[best].group_length -= 1
        room -= m.jobs[j].gpus
        m.jobs[j].mark = CHOSEN
        m.jobs[j].turn = turn
        turn += 1
        if m.jobs[j].phase == RUNNING:
            m.lists[KEPT, kept] = j
            kept += 1
        else:
            m.lists[PICKED, selected] = j
            selected += 1
        m.users[best].picked += lease * m.jobs[j].gpus
        _set_user_key(m, best, lease)
        passed = m.users[best].passed
        waits = guarded and passed >= 0 and m.jobs[passed].phase == WAITING
        if waits and m.jobs[passed].blocked < 0:
            m.jobs[passed].blocked = m.count[NOW]
    return selected, kept


@inlined
def _longest_due(m, room):
    """Of the candidates that fit and are due, the one that was passed over first; -1 if none."""
    best = -1
    for i in range(m.count[WAITS]):
        j = m.lists[WAITERS, i]
        if m.jobs[j].mark != CANDIDATE or m.jobs[j].gpus > room or not is_due(m, j):
            continue
        if best < 0 or (m.jobs[j].blocked, m.jobs[j].rank) < (
            m.jobs[best].blocked,
            m.jobs[best].rank,
        ):
            best = j
    return best


@inner
def _sort_by_turn(m, first, last):
    """Losers as they were picked."""
    for i in range(first + 1, last):
        j, k = m.lists[LOSERS, i], i
        while k > first and m.jobs[m.lists[LOSERS, k - 1]].turn > m.jobs[j].turn:
            m.lists[LOSERS, k] = m.lists[LOSERS, k - 1]
            k -= 1
        m.lists[LOSERS, k] = j


@inlined
def _place_groups(m, selected, kept, expired):
    now = m.count[NOW]
    losers = 0
    for i in range(m.count[RUNS]):
        j = m.lists[RUNNERS, i]
        if m.jobs[j].lease_end <= now and m.jobs[j].mark != CHOSEN:
            m.lists[LOSERS, losers] = j
            losers += 1
    own = losers
    for n in range(losers, 1, -1):
        if n == losers:
            _heapify(m, LOSERS, 0, n)
        _pop_first(m, LOSERS, 0, n)
    for i in range(losers // 2):  # popped to the end: the first one stands last
        k = losers - 1 - i
        m.lists[LOSERS, i], m.lists[LOSERS, k] = m.lists[LOSERS, k], m.lists[LOSERS, i]
    started, failed, kept, losers = place_selected(m, selected, kept, losers, expired > 0)
    for i in range(failed):
        m.jobs[m.lists[FAILED, i]].mark = REFUSED
    _sort_by_turn(m, own, losers)  # several gangs may have displaced some
    for i in range(own, losers):
        started = backfill(m, m.lists[LOSERS, i], started)
    if failed or losers > own:
        started = _backfill_groups(m, started, failed, own)
    for i in range(losers - own):  # displaced ones come before the others
        j = m.lists[LOSERS, own + i]
        for k in range(own + i, i, -1):
            m.lists[LOSERS, k] = m.lists[LOSERS, k - 1]
        m.lists[LOSERS, i] = j
    settle(m, started, kept, losers)


@inlined
def _backfill_groups(m, started, failed, own):
    forget_refusals(m)
    for i in range(failed):
        note_refusal(m, m.lists[FAILED, i])
    rest, smallest = 0, NONE
    for i in range(m.count[WAITS]):
        j = m.lists[WAITERS, i]
        if m.jobs[j].mark == CANDIDATE and m.jobs[j].gpus <= m.count[FREE] and may_fit(m, j):
            m.lists[REST, rest] = j
            rest += 1
            smallest = min(smallest, m.jobs[j].gpus)
    for i in range(own):
        j = m.lists[LOSERS, i]
        if m.jobs[j].gpus <= m.count[FREE] and may_fit(m, j):
            m.lists[REST, rest] = j
            rest += 1
            smallest = min(smallest, m.jobs[j].gpus)
    _heapify(m, REST, 0, rest)
    while rest and smallest < m.least.max() and smallest <= m.count[FREE]:
        j = _pop_first(m, REST, 0, rest)
        rest -= 1
        if may_fit(m, j) and m.jobs[j].gpus <= m.count[FREE]:
            more = backfill(m, j, started)
            if more == started:
                note_refusal(m, j)
            started = more
    return started


@compiled
def advance_by_groups(m, until, most):
    """As :func:`advance_by_key`, for LTGF and Themis."""
    for _ in range(most):
        why = open_round(m, until)
        if why < QUIET:
            return why
        if why == READY:
            _decide_by_groups(m)
    return MORE
