"""Any order, as a policy in Python gives it, and what else such a policy orders."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...instances.arrays import Ints
from ...instances.compiled import inner, tiered
from ...instances.model import MOST_TIME
from ..policy import PROFILE_GPUS
from . import const, machine
from .machine import Machine
from .place import (
    backfill,
    forget_refusals,
    nobody_fits,
    place_gang,
    place_selected,
    repack,
    settle,
)

#: numbers in front of a decision as one array (:mod:`gangsched.analysis.driving.steps`): of jobs
#: suspended, killed, passed and started; whether gangs may be on any nodes, and on another number
#: of GPUs than their own
HEAD = 6
#: marks of jobs that a decision names
STOPPED, STARTED, PASSED, ORDERED = 1, 2, 4, 8


@inner
def follow_first(m, order, count, repacking):
    """Selection by number of GPUs, of the first so many of an order; placement, then backfill."""
    room, expired, narrowest = m.count[const.FREE], 0, const.NONE
    for i in range(count):
        j = order[i]
        m.jobs[j].mark = const.CANDIDATE
        narrowest = min(narrowest, m.jobs[j].gpus)
        if m.jobs[j].phase == const.RUNNING:
            room += m.jobs[j].held_gpus
            expired += 1
    if room == 0:  # nobody can be selected
        settle(m, 0, 0, 0)
        return
    selected = kept = losers = 0
    walking = True
    for i in range(count):
        if expired == 0 and (room == 0 or not walking):
            break
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
    forget_refusals(m)
    own, losers = losers, 0
    for i in range(count):
        if losers == own and (m.count[const.FREE] == 0 or nobody_fits(m, narrowest)):
            break
        j = order[i]
        if m.jobs[j].mark == const.LOSER:
            losers = machine.put(m, const.LOSERS, losers, j)
            other = m.jobs[j].new_length == 0
        else:
            other = m.jobs[j].mark == const.CANDIDATE
        if other and not m.params[const.BLOCKING]:
            started = backfill(m, j, started)
    settle(m, started, kept, losers)


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_to_decision(m, until, most):
    """Visit rounds until a policy in Python has to decide, or as :func:`advance_by_key`."""
    for _ in range(most):
        why = machine.open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            return const.DECIDE
    return const.MORE


@inner
def _renew(m, j):
    m.jobs[j].blocked = -1
    if m.params[const.PREEMPTS] == const.LEASE and m.jobs[j].lease_end <= m.count[const.NOW]:
        m.jobs[j].lease_end = machine.new_lease(m, m.count[const.NOW])


@inner
def _start(m, j, gpus, speed, profile):
    if profile > 0:
        machine.begin_profile(m, j, gpus, profile)
    else:
        machine.begin_run(m, j, gpus, speed if speed > 0 else machine.speed_on_new(m, j))


def job_fair(m: Machine, jobs: Ints, t: int) -> NDArray[np.float64]:
    """F_i at t of each of `jobs`, with the operations of :func:`.machine.job_fair_at`."""
    kinds = m.kinds[m.jobs["kind_of"][jobs]]
    fair: NDArray[np.float64] = kinds["value"] + kinds["slope"] * (t - kinds["time"])
    fair -= m.jobs["fair_start"][jobs]
    return fair


def user_fair(m: Machine, t: int) -> NDArray[np.float64]:
    """F_j at t of every user, with the operations of :func:`.machine.user_at`."""
    fair: NDArray[np.float64] = m.users["value"] + m.users["slope"] * (t - m.users["time"])
    return fair


# --- a decision as numbers, see the module `steps` ------------------------------------------------


@tiered(seconds=5, most=const.MANY_NUMBERS)
def carry_out(m, steps, order, blocking, repacking):
    """Carry a decision out; False, and nothing has changed, if something is wrong with it."""
    if not _order_exists(m, order):
        return False
    if steps.size and not (_is_good(m, steps) and _begin(m, steps, order)):
        return False
    if not steps.size and not _order_is_good(m, order):
        return False
    if steps.size:
        _finish(m, steps)
    if order.size:
        m.params[const.BLOCKING] = blocking
        follow_first(m, order, order.size, repacking)
    return True


@inner
def _exists(m, j):
    return 0 <= j < m.jobs.size


@inner
def _may_stop(m, j):
    if m.jobs[j].phase != const.RUNNING:
        return False
    if m.params[const.PREEMPTS] == const.LEASE:
        return m.jobs[j].lease_end <= m.count[const.NOW]
    return m.params[const.PREEMPTS] == const.ALWAYS and m.jobs[j].speed > 0


@inner
def _order_exists(m, order):
    """Whether there are these jobs, whose marks are taken away."""
    for i in range(order.size):
        if not _exists(m, order[i]):
            return False
        m.jobs[order[i]].mark = 0
    return True


@inner
def _order_is_good(m, order):
    """Whether these are different candidates, and neither stopped nor started."""
    for i in range(order.size):
        j = order[i]
        if m.jobs[j].mark & (STOPPED | STARTED | ORDERED):
            return False
        m.jobs[j].mark |= ORDERED
        if m.jobs[j].phase != const.WAITING and not _may_stop(m, j):
            return False
    return True


@inner
def _named(steps):
    """Where the starts stand, behind who is suspended, killed and passed."""
    return HEAD + steps[0] + steps[1] + steps[2]


@inner
def _width(m, j, gpus, profile):
    """How many GPUs a start takes."""
    if gpus > 0:
        return gpus
    return min(PROFILE_GPUS, m.jobs[j].gpus) if profile > 0 else m.jobs[j].gpus


@inner
def _is_good(m, steps):
    """Whether whoever stops and starts may, before nodes are looked at."""
    first = _named(steps)
    for i in range(HEAD, first):
        if not _exists(m, steps[i]):
            return False
        m.jobs[steps[i]].mark = 0
    at = first
    for _ in range(steps[3]):
        if not _exists(m, steps[at]):
            return False
        m.jobs[steps[at]].mark = 0
        at += 5 + 2 * steps[at + 4]
    stops = HEAD + steps[0] + steps[1]
    for i in range(HEAD, first):
        j = steps[i]
        own = STOPPED if i < stops else PASSED
        if m.jobs[j].mark & own:
            return False
        m.jobs[j].mark |= own
        if i < stops and not _may_stop(m, j):
            return False
        if i >= stops and m.jobs[j].phase != const.WAITING:
            return False
    at = first
    for _ in range(steps[3]):
        if not _start_is_good(m, steps, at):
            return False
        at += 5 + 2 * steps[at + 4]
    return True


@inner
def _start_is_good(m, steps, at):
    """Whether a job may start on so many GPUs, and so long."""
    j, gpus, profile, length = steps[at], steps[at + 1], steps[at + 2], steps[at + 4]
    gang = m.jobs[j].gpus
    if m.jobs[j].mark & STARTED:
        return False
    m.jobs[j].mark |= STARTED
    m.jobs[j].turn = at
    if m.jobs[j].phase != const.WAITING and not m.jobs[j].mark & STOPPED:
        return False
    if profile < 0 or profile % m.params[const.TAU] or profile > MOST_TIME // gang:
        return False
    if gpus < 0 or gpus == gang:
        return True
    if profile > 0:
        return gpus <= gang
    if m.jobs[j].pod > 0 and gpus % m.jobs[j].pod > 0:
        return False
    return steps[5] and gpus <= 2 * gang and length > 0


@inner
def _begin(m, steps, order):
    """Take the GPUs of all who start; False, and nothing is taken, if that cannot be."""
    if not _order_is_good(m, order):
        return False
    for i in range(HEAD, HEAD + steps[0] + steps[1]):
        machine.give_old(m, steps[i])
    at, fine, done = _named(steps), True, 0
    while fine and done < steps[3]:
        j, gpus = steps[at], _width(m, steps[at], steps[at + 1], steps[at + 2])
        m.jobs[j].new_length = 0
        if steps[at + 4] == 0:
            if place_gang(m, j, gpus, False):
                machine.take_new(m, j)
        elif _choose(m, steps, at, gpus):
            machine.take_new(m, j)
        else:
            fine = False
        at += 5 + 2 * steps[at + 4]
        done += 1
    if fine:
        return True
    at = _named(steps)
    for _ in range(done):
        if m.jobs[steps[at]].new_length > 0:
            machine.give_new(m, steps[at])
        at += 5 + 2 * steps[at + 4]
    for i in range(HEAD, HEAD + steps[0] + steps[1]):
        machine.take_old(m, steps[i])
    return False


@inner
def _choose(m, steps, at, gpus):
    """Choose the nodes that are given, if the job can be there and they are free."""
    j, length = steps[at], steps[at + 4]
    total = whole = 0
    pod, alike, in_pods = max(m.jobs[j].pod, 1), True, m.jobs[j].pod > 0
    for k in range(length):
        n, part = steps[at + 5 + 2 * k], steps[at + 6 + 2 * k]
        if not 0 <= n < m.nodes.size or part < 1 or part > m.nodes[n].free:
            return False
        in_pods = in_pods and part % pod == 0
        total += part
        whole += part == m.nodes[n].size
        first = steps[at + 5]
        if m.nodes[n].model != m.nodes[first].model:
            return False
        alike = alike and m.nodes[n].size == m.nodes[first].size
    size = m.nodes[steps[at + 5]].size
    if total != gpus or m.speeds[j, m.nodes[steps[at + 5]].model] == 0:
        return False
    if m.jobs[j].pod > 0 and steps[at + 2] == 0:
        fine = in_pods
    else:
        fine = alike and whole == gpus // size and length == -(-gpus // size)
        fine = fine or in_pods or steps[4] > 0
    if not fine:
        return False
    for k in range(length):
        entry = m.jobs[j].offset + k
        m.entries[entry].new_node = steps[at + 5 + 2 * k]
        m.entries[entry].new_part = steps[at + 6 + 2 * k]
    m.jobs[j].new_length = length
    return True


@inner
def _finish(m, steps):
    """Note who is passed, stop who stops, start who has GPUs."""
    _note_passed(m, steps)
    for i in range(HEAD, HEAD + steps[0]):
        j = steps[i]
        chosen = m.jobs[j].mark & STARTED and m.jobs[j].new_length > 0
        if chosen and steps[m.jobs[j].turn + 2] == 0 and machine.new_is_old(m, j):
            m.jobs[j].new_length = 0  # it goes on
            _renew(m, j)
        else:
            machine.interrupt(m, j, const.SUSPEND, True)
    for i in range(HEAD + steps[0], HEAD + steps[0] + steps[1]):
        machine.interrupt(m, steps[i], const.KILL, True)
    at = _named(steps)
    for _ in range(steps[3]):
        j = steps[at]
        if m.jobs[j].new_length > 0:
            _start(m, j, _width(m, j, steps[at + 1], steps[at + 2]), steps[at + 3], steps[at + 2])
        at += 5 + 2 * steps[at + 4]


@inner
def _note_passed(m, steps):
    """Patience of those who are passed counts from now, where running jobs can lose GPUs."""
    if steps[2] == 0:
        return
    for i in range(m.count[const.RUNS]):
        if _may_stop(m, m.lists[const.RUNNERS, i]):
            for k in range(HEAD + steps[0] + steps[1], _named(steps)):
                if m.jobs[steps[k]].blocked < 0:
                    m.jobs[steps[k]].blocked = m.count[const.NOW]
            return
