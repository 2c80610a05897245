"""Leases on several GPU models, as :func:`gangsched.solvers.policies.gavel.model_leases.lease_out`.

The session says once in a lease which fractions of the time are fair for each class of jobs (of
equal speeds, gang and weight), which stand in the machine's numbers, a row a class. The key of a
job is the number of its class. Rows of the machine's memory:

- BEFORE, and from SECONDS on a row a model: how long each job has held its gang by the last look,
  in all and on each model
- MODEL: by job, the model that it is to run on, or tries next
- ROOM: by model, GPUs that are left, then the largest gang that may find a place
- FIRST: by class, its first job
- LEASE: the number of the lease whose fractions these are
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....instances.compiled import compiled, inner
from ...machine import const
from ...machine.grouped import heapify, pop_first, sift
from ...machine.machine import (
    Machine,
    begin_run,
    give_new,
    give_old,
    interrupt,
    keep_old,
    new_is_old,
    open_round,
    put,
    sort_list,
    speed_on_new,
    take_new,
)
from ...machine.place import free_of_model, place_on_model, settle
from ...policy import State
from ...rule import Rule

BEFORE, MODEL, ROOM, FIRST, LEASE, SECONDS = range(6)
#: lists of this rule: jobs whose GPUs are given anew, who is to run, and heaps
EXPIRED, TAKEN, BIDS, WIDEST = const.LOSERS, const.PICKED, const.GROUP, const.REST
STARTED, STOPPED = const.STARTED, const.FAILED


def with_shares(machine: Machine, _: Any) -> Machine:
    """Return the machine with the classes of jobs that the session has, without fractions."""
    jobs, models = machine.jobs, machine.speeds.shape[1]
    columns = [machine.speeds, jobs["gpus"], jobs["weight"].copy().view(np.int64)]
    _, first, jobs["key"] = np.unique(
        np.column_stack(columns), axis=0, return_index=True, return_inverse=True
    )
    memory = np.zeros((SECONDS + models, max(jobs.size, models, 1)), dtype=np.int64)
    memory[FIRST, : first.size] = first
    memory[LEASE] = -1
    return machine._replace(numbers=np.zeros(first.size * models), memory=memory)


def set_fractions(machine: Machine, session: Any, _: State) -> None:
    """Ask the session for the fractions of this lease."""
    jobs, count = machine.jobs, machine.count
    fractions = machine.numbers.reshape(-1, machine.speeds.shape[1])
    active = [machine.lists[const.WAITERS, : count[const.WAITS]]]
    active.append(machine.lists[const.RUNNERS, : count[const.RUNS]])
    counts = np.bincount(jobs["key"][np.concatenate(active)], minlength=len(fractions))
    there = np.flatnonzero(counts)
    first = machine.memory[FIRST, there]
    weights = jobs["weight"][first].view(np.int64)
    rows = np.column_stack([machine.speeds[first], jobs["gpus"][first], weights])
    fractions[:] = 0.0
    fractions[there] = session.fair_fractions(rows, counts[there])
    machine.memory[LEASE, 0] = count[const.NOW] // machine.params[const.LEASE_LENGTH]


@inner
def _look(m):
    """Count what running jobs have held since the last look."""
    for i in range(m.count[const.RUNS]):
        j = m.lists[const.RUNNERS, i]
        g = m.nodes[m.entries[m.jobs[j].offset].node].model
        current = m.jobs[j].held_gpus * (m.count[const.NOW] - m.jobs[j].since)
        held = (m.jobs[j].held + current) // m.jobs[j].gpus
        m.memory[SECONDS + g, j] += held - m.memory[BEFORE, j]
        m.memory[BEFORE, j] = held


@inner
def _set_next_model(m, j, able):
    """Let j try the model on which it is furthest behind; False if none is left.

    With `able` of those with room for it.
    """
    found, life = False, max(m.count[const.NOW] - m.jobs[j].visible, 1)
    m.jobs[j].tier, m.jobs[j].score, m.jobs[j].second = 0, 0.0, 0.0
    for i in range(m.speeds.shape[1]):  # by falling speed
        g = m.fastest[j, i]
        wanted = m.numbers[m.jobs[j].key * m.speeds.shape[1] + g]
        if wanted <= 0 or (able and m.jobs[j].gpus > m.memory[ROOM, g]):
            continue
        had = m.memory[SECONDS + g, j] / life
        score = -wanted / had if had > 0 else -np.inf
        if found and (score, -wanted) >= (m.jobs[j].score, m.jobs[j].second):
            continue
        found = True
        m.jobs[j].score, m.jobs[j].second = score, -wanted
        m.memory[MODEL, j] = g
    return found


@compiled
def _select(m):
    """Choose who runs where, by number of GPUs, those furthest behind first; returns how many."""
    bids, least = 0, const.NONE
    waits = m.count[const.WAITS]
    for i in range(waits + m.count[const.RUNS]):
        j = m.lists[const.WAITERS, i] if i < waits else m.lists[const.RUNNERS, i - waits]
        m.jobs[j].new_length = 0
        if i >= waits and m.jobs[j].lease_end > m.count[const.NOW]:
            continue
        if _set_next_model(m, j, True):
            bids = put(m, BIDS, bids, j)
            least = min(least, m.jobs[j].gpus)
    heapify(m, BIDS, 0, bids)
    taken = 0
    while bids:
        j = m.lists[BIDS, 0]
        if m.jobs[j].gpus <= m.memory[ROOM, m.memory[MODEL, j]]:
            pop_first(m, BIDS, 0, bids)
            bids -= 1
            m.memory[ROOM, m.memory[MODEL, j]] -= m.jobs[j].gpus
            m.jobs[j].turn = taken
            taken = put(m, TAKEN, taken, j)
            if m.memory[ROOM, : m.speeds.shape[1]].max() < least:
                break
        elif _set_next_model(m, j, True):
            sift(m, BIDS, 0, bids, 0)
        else:
            pop_first(m, BIDS, 0, bids)
            bids -= 1
    return taken


@inner
def _displace(m, j, taken):
    """Find a place for j among those of later jobs on its model, which lose theirs, the last first.

    Nothing is lost where none is found.
    """
    g, last = m.memory[MODEL, j], taken - 1
    found = False
    while not found and last > m.jobs[j].turn:
        k = m.lists[TAKEN, last]
        if m.memory[MODEL, k] == g and m.jobs[k].new_length > 0:
            give_new(m, k)
            found = place_on_model(m, j, m.jobs[j].gpus, g, False)
        last -= 1
    for i in range(last + 1, taken):
        k = m.lists[TAKEN, i]
        if m.memory[MODEL, k] == g and m.jobs[k].new_length > 0:
            if found:
                m.jobs[k].new_length = 0
            else:
                take_new(m, k)
    return found


@compiled
def _place(m, g, taken):
    """Give nodes of model g to the jobs that are to run there, as far as there is a place."""
    wide = 0
    for i in range(taken):
        j = m.lists[TAKEN, i]
        if m.memory[MODEL, j] != g:
            continue
        runs = m.jobs[j].phase == const.RUNNING
        if runs and m.nodes[m.entries[m.jobs[j].offset].node].model == g:
            keep_old(m, j)
        k = wide
        while k > 0 and m.jobs[m.lists[WIDEST, k - 1]].gpus < m.jobs[j].gpus:
            m.lists[WIDEST, k] = m.lists[WIDEST, k - 1]
            k -= 1
        m.lists[WIDEST, k] = j
        wide += 1
    for i in range(wide):
        j = m.lists[WIDEST, i]
        if m.jobs[j].new_length > 0:
            continue
        if place_on_model(m, j, m.jobs[j].gpus, g, False) or _displace(m, j, taken):
            take_new(m, j)


@inner
def _fill_with(m, j):
    """Start j on its fastest model with a place, if there is any."""
    for i in range(m.speeds.shape[1]):
        g = m.fastest[j, i]
        if m.speeds[j, g] == 0 or m.jobs[j].gpus > m.memory[ROOM, g]:
            continue
        if place_on_model(m, j, m.jobs[j].gpus, g, False):
            take_new(m, j)
            m.memory[ROOM, g] = min(m.memory[ROOM, g], free_of_model(m, g))
            return
        m.memory[ROOM, g] = m.jobs[j].gpus - 1


@compiled
def _fill(m):
    """Start others where something is free, those without a fair fraction last."""
    largest = 0
    for g in range(m.speeds.shape[1]):
        m.memory[ROOM, g] = free_of_model(m, g)
        largest = max(largest, m.memory[ROOM, g])
    bids, waits = 0, m.count[const.WAITS]
    for i in range(waits + m.count[const.RUNS] if largest else 0):
        j = m.lists[const.WAITERS, i] if i < waits else m.lists[const.RUNNERS, i - waits]
        if i >= waits and m.jobs[j].lease_end > m.count[const.NOW]:
            continue
        if m.jobs[j].new_length == 0 and m.jobs[j].gpus <= largest:
            if not _set_next_model(m, j, False):
                m.jobs[j].tier = 1
            bids = put(m, BIDS, bids, j)
    heapify(m, BIDS, 0, bids)
    while bids and largest:
        j = pop_first(m, BIDS, 0, bids)
        bids -= 1
        if m.jobs[j].gpus <= largest:
            _fill_with(m, j)
            largest = m.memory[ROOM, : m.speeds.shape[1]].max()


@compiled
def _carry_out(m, expired):
    """Stop and start; whoever has the nodes that it had keeps them, with a new lease."""
    stopped = started = 0
    for i in range(m.count[const.WAITS]):
        if m.jobs[m.lists[const.WAITERS, i]].new_length > 0:
            started = put(m, STARTED, started, m.lists[const.WAITERS, i])
    for i in range(expired):
        j = m.lists[EXPIRED, i]
        if m.jobs[j].new_length > 0 and new_is_old(m, j):
            continue
        stopped = put(m, STOPPED, stopped, j)
        if m.jobs[j].new_length > 0:
            started = put(m, STARTED, started, j)
    sort_list(m, STOPPED, stopped, False)
    sort_list(m, STARTED, started, False)
    for i in range(stopped):
        interrupt(m, m.lists[STOPPED, i], const.SUSPEND, True)
    for i in range(started):
        j = m.lists[STARTED, i]
        begin_run(m, j, m.jobs[j].gpus, speed_on_new(m, j))
    settle(m, 0, 0, 0)


@compiled
def give_shares(m):
    """Give leases by the fractions at hand."""
    now, expired = m.count[const.NOW], 0
    _look(m)
    for i in range(m.count[const.RUNS]):
        j = m.lists[const.RUNNERS, i]
        if m.jobs[j].lease_end <= now:
            give_old(m, j)
            expired = put(m, EXPIRED, expired, j)
    for g in range(m.speeds.shape[1]):
        m.memory[ROOM, g] = free_of_model(m, g)
    taken = _select(m)
    for g in range(m.speeds.shape[1]):
        _place(m, g, taken)
    _fill(m)
    _carry_out(m, expired)


@inner
def _is_full(m):
    """Whether nothing is free, and no lease has ended."""
    for i in range(m.count[const.RUNS]):
        if m.jobs[m.lists[const.RUNNERS, i]].lease_end <= m.count[const.NOW]:
            return False
    return m.count[const.FREE] == 0


@compiled
def advance_by_shares(m, until, most):
    """As :func:`.keyed.advance_by_key`, for fractions of the time that a session gives."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            now, length = m.count[const.NOW], m.params[const.LEASE_LENGTH]
            m.count[const.TIMER] = max((now // length + 1) * length, now + 1)
            if _is_full(m):
                continue
            if m.memory[LEASE, 0] != now // length:
                return const.DECIDE
            give_shares(m)
    return const.MORE


SHARES = Rule(
    name="shares", advance=advance_by_shares, leases=True, remember=with_shares, ask=set_fractions,
    answer=give_shares,
)  # fmt: skip
