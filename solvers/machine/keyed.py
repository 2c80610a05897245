"""Rules by a key, the smallest first: :class:`~gangsched.solvers.rule.Key` has those of jobs.

By area gangs are packed anew where it is needed, and with a number overdue jobs come first: those
that have been without GPUs for so many seconds.
"""

from __future__ import annotations

import numpy as np

from ...instances.compiled import inlined, inner, tiered
from ..policy import Key, Rule
from . import const
from .machine import (
    best_waiting,
    less,
    open_round,
    pop,
    push,
    put,
    set_key,
)
from .place import backfill, forget_refusals, note_refusal, place_selected, repack, settle


@inner
def _sort_by_key(m, row, n):
    for i in range(1, n):
        j, k = m.lists[row, i], i
        while k > 0 and less(m, j, m.lists[row, k - 1]):
            m.lists[row, k] = m.lists[row, k - 1]
            k -= 1
        m.lists[row, k] = j


@inlined
def _sort_running(m):
    _sort_by_key(m, const.RUNNERS, m.count[const.RUNS])
    for i in range(m.count[const.RUNS]):
        m.jobs[m.lists[const.RUNNERS, i]].place_in = i


# --- a guard: the first released of the overdue jobs comes before all others ----------------------


@inner
def _is_guarded(m):
    return m.params[const.KEY] == const.AREA and m.numbers.size > 0


@inner
def _seconds_left(m, j):
    """Seconds that j may still be without GPUs."""
    now, held = m.count[const.NOW], m.jobs[j].held
    held += m.jobs[j].held_gpus * (now - m.jobs[j].since)
    return np.int64(m.numbers[0]) - (now - m.jobs[j].release - held // m.jobs[j].gpus)


@inner
def _first_overdue(m, row, count, first):
    for i in range(count):
        j = m.lists[row, i]
        if _seconds_left(m, j) <= 0 and (first < 0 or m.jobs[j].rank < m.jobs[first].rank):
            first = j
    return first


@inner
def _change_key(m, j, key):
    """Give a waiting job another key."""
    g = m.jobs[j].gang_class
    length, m.gangs[g].heap_length, m.jobs[j].key = m.gangs[g].heap_length, 0, key
    for i in range(length):
        push(m, m.lists[const.HEAP, m.gangs[g].heap_at + i])


@inner
def _put_overdue_first(m):
    runs, waits = m.count[const.RUNS], m.count[const.WAITS]
    first = _first_overdue(m, const.RUNNERS, runs, -1)
    first = _first_overdue(m, const.WAITERS, waits, first)
    for i in range(waits):
        j = m.lists[const.WAITERS, i]
        if m.jobs[j].key < 0 and j != first:
            _change_key(m, j, m.jobs[j].left * m.jobs[j].gpus)
    if first >= 0 and m.jobs[first].phase == const.WAITING and m.jobs[first].key >= 0:
        _change_key(m, first, -1)
    elif first >= 0:
        m.jobs[first].key = -1


@inner
def _wait_for_overdue(m):
    """Decide anew when another one is overdue."""
    soon = const.NONE
    for i in range(m.count[const.WAITS]):
        left = _seconds_left(m, m.lists[const.WAITERS, i])
        if left > 0:
            soon = min(soon, left)
    if soon < const.NONE:
        m.count[const.TIMER] = m.count[const.NOW] + soon


@inlined
def _decide_by_key(m):
    now, runs = m.count[const.NOW], m.count[const.RUNS]
    always = m.params[const.PREEMPTS] == const.ALWAYS
    room = m.count[const.FREE]
    forget_refusals(m)
    if always:
        for i in range(runs):
            j = m.lists[const.RUNNERS, i]
            room += m.jobs[j].gpus
            set_key(m, j, now)
        if _is_guarded(m):
            _put_overdue_first(m)
        _sort_running(m)
    selected = kept = losers = turn = i = 0
    g = best_waiting(m, const.NONE if m.params[const.BLOCKING] else room)
    while True:
        if g >= 0 and m.gangs[g].size > room and not m.params[const.BLOCKING]:
            g = best_waiting(m, room)
        r = m.lists[const.RUNNERS, i] if always and i < runs else -1
        if g < 0 and r < 0:
            break
        if r >= 0 and (g < 0 or less(m, r, m.lists[const.HEAP, m.gangs[g].heap_at])):
            i += 1
            if m.jobs[r].gpus <= room:
                room -= m.jobs[r].gpus
                m.lists[const.KEPT, kept] = r
                m.jobs[r].turn = turn
                turn += 1
                kept += 1
            else:
                losers = put(m, const.LOSERS, losers, r)
        elif m.gangs[g].size > room:
            break  # blocking
        else:
            j = pop(m, g)
            room -= m.jobs[j].gpus
            m.lists[const.PICKED, selected] = j
            m.jobs[j].turn = turn
            turn += 1
            selected += 1
            g = best_waiting(m, const.NONE if m.params[const.BLOCKING] else room)
    if always:  # where blocking ended the walk
        while i < runs:
            losers = put(m, const.LOSERS, losers, m.lists[const.RUNNERS, i])
            i += 1
    if selected == 0 and losers == 0:
        return
    before, done, started, failed = losers, False, 0, 0
    if m.params[const.KEY] == const.AREA:
        started, failed, losers, done = repack(m, selected, kept, losers)
    if not done:
        expired = (always and runs > 0) or m.params[const.KEY] == const.AREA
        started, failed, kept, losers = place_selected(m, selected, kept, losers, expired)
    if losers > before:
        _sort_by_key(m, const.LOSERS, losers)
    placed = started
    if not m.params[const.BLOCKING] and (failed or losers > before):
        started = _backfill_by_key(m, started, failed, losers)
    for k in range(failed):
        push(m, m.lists[const.FAILED, k])
    if m.params[const.BLOCKING]:  # selected ones behind a failed one
        for k in range(placed + failed, selected):
            push(m, m.lists[const.PICKED, k])
    settle(m, started, kept, losers)


@inlined
def _backfill_by_key(m, started, failed, losers):
    forget_refusals(m)
    for k in range(failed):
        note_refusal(m, m.lists[const.FAILED, k])
    i = 0
    while True:
        g = best_waiting(m, m.count[const.FREE])
        while i < losers and m.jobs[m.lists[const.LOSERS, i]].new_length > 0:
            i += 1
        r = m.lists[const.LOSERS, i] if i < losers else -1
        if g < 0 and r < 0:
            return started
        if r >= 0 and (g < 0 or less(m, r, m.lists[const.HEAP, m.gangs[g].heap_at])):
            started = backfill(m, r, started)
            i += 1
            continue
        j = m.lists[const.HEAP, m.gangs[g].heap_at]
        more = backfill(m, j, started)
        if more > started:
            pop(m, g)
            started = more
        else:
            note_refusal(m, j)


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_by_key(m, until, most):
    """Visit rounds until something has to be done in Python; returns why."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide_by_key(m)
            if _is_guarded(m):
                _wait_for_overdue(m)
    return const.MORE


def by_key(key: Key, numbers: tuple[float, ...] = (), *, blocking: bool = False) -> Rule:
    """Return the rule that takes jobs by a key."""
    name = f"by {key.name.lower()}"
    return Rule(name=name, advance=advance_by_key, key=key, numbers=numbers, blocking=blocking)
