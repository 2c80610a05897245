"""Policies with a key, smallest first: FIFO, SJF, SRTF, LAS and Tiresias."""

from __future__ import annotations

from ....solvers.compiled import compiled, inlined, inner
from . import const
from .machine import best_waiting, less, open_round, pop, push, put, set_key
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
    if m.params[const.KIND] == const.AREA:
        started, failed, losers, done = repack(m, selected, kept, losers)
    if not done:
        expired = (always and runs > 0) or m.params[const.KIND] == const.AREA
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


@compiled
def advance_by_key(m, until, most):
    """Visit rounds until something has to be done in Python; returns why."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide_by_key(m)
    return const.MORE
