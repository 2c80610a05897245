"""Any order, as a policy in Python gives it, and what else such a policy orders."""

from __future__ import annotations

import numpy as np

from ....solvers.compiled import compiled
from . import const, machine
from .place import backfill, place_gang, place_selected, repack, settle


@compiled
def follow(m, order, repacking):
    """Selection by number of GPUs, then placement, then backfill."""
    room, expired = m.count[const.FREE], 0
    for i in range(order.size):
        j = order[i]
        m.jobs[j].mark = const.CANDIDATE
        if m.jobs[j].phase == const.RUNNING:
            room += m.jobs[j].held_gpus
            expired += 1
    selected = kept = losers = 0
    walking = True
    for i in range(order.size):
        j = order[i]
        m.jobs[j].turn = i
        runs = m.jobs[j].phase == const.RUNNING
        gpus = m.jobs[j].held_gpus if runs else m.jobs[j].gpus
        if walking and gpus <= room:
            room -= gpus
            m.jobs[j].mark = const.CHOSEN
            if runs:
                kept = machine.put(m, const.KEPT, kept, j)
            else:
                selected = machine.put(m, const.PICKED, selected, j)
        else:
            if m.params[const.BLOCKING]:
                walking = False
            if runs:
                m.jobs[j].mark = const.LOSER
                losers = machine.put(m, const.LOSERS, losers, j)
    own, done, started, failed = losers, False, 0, 0
    if repacking:
        started, failed, losers, done = repack(m, selected, kept, losers)
    if not done:
        blocks = expired > 0 or repacking
        started, failed, kept, losers = place_selected(m, selected, kept, losers, blocks)
    for i in range(failed):
        m.jobs[m.lists[const.FAILED, i]].mark = const.REFUSED
    for i in range(own, losers):
        m.jobs[m.lists[const.LOSERS, i]].mark = const.LOSER
    losers = 0
    for i in range(order.size):
        j = order[i]
        if m.jobs[j].mark == const.LOSER:
            losers = machine.put(m, const.LOSERS, losers, j)
            other = m.jobs[j].new_length == 0
        else:
            other = m.jobs[j].mark == const.CANDIDATE
        if other and not m.params[const.BLOCKING]:
            started = backfill(m, j, started)
    settle(m, started, kept, losers)


@compiled
def advance_to_decision(m, until, most):
    """Visit rounds until a policy in Python has to decide, or as :func:`advance_by_key`."""
    for _ in range(most):
        why = machine.open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            return const.DECIDE
    return const.MORE


@compiled
def give_gpus(m, j):
    """Take the GPUs from j, which is about to stop."""
    machine.give_old(m, j)


@compiled
def stop_job(m, j, kind):
    """What a policy in Python orders: suspend or kill j, which gave its GPUs."""
    machine.interrupt(m, j, kind, True)


@compiled
def renew_job(m, j):
    """Let j have the GPUs that it gave and took again."""
    m.jobs[j].blocked = -1
    if m.params[const.PREEMPTS] == const.LEASE and m.jobs[j].lease_end <= m.count[const.NOW]:
        m.jobs[j].lease_end = machine.new_lease(m, m.count[const.NOW])


@compiled
def take_gpus(m, j, gpus, nodes, parts):
    """Take given nodes for j, or (none given) where there is room; False if there is none."""
    if nodes.size == 0:
        if not place_gang(m, j, gpus, False):
            return False
    else:
        m.jobs[j].new_length = nodes.size
        for k in range(nodes.size):
            entry = m.jobs[j].offset + k
            m.entries[entry].new_node, m.entries[entry].new_part = nodes[k], parts[k]
    machine.take_new(m, j)
    return True


@compiled
def start_job(m, j, gpus, speed, profile):
    """Start j on the GPUs that it took; without `speed` with its gang, or to be profiled."""
    if profile > 0:
        machine.begin_profile(m, j, gpus, profile)
    else:
        machine.begin_run(m, j, gpus, speed if speed > 0 else machine.speed_on_new(m, j))


@compiled
def job_fair(m, jobs, t):
    """F_i at t of each of `jobs`."""
    out = np.empty(jobs.size)
    for i in range(jobs.size):
        out[i] = machine.job_fair_at(m, jobs[i], t)
    return out


@compiled
def user_fair(m, t):
    """F_j at t of every user."""
    out = np.empty(m.users.size)
    for u in range(out.size):
        out[u] = machine.user_at(m, u, t)
    return out
