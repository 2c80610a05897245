"""EASY and conservative backfilling as machine code: what the machine tells their queue.

Who starts, and where, is decided in :mod:`.core`, for sessions in Python too.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....instances.compiled import inner, tiered
from ....instances.model import FULL_SPEED
from ...machine import const
from ...machine.machine import begin_run, open_round, speed_on_new, take_new
from ...machine.tables import Tables
from ...policy import Phase, Rule, Rules
from . import core
from .core import JobQueue

STEPS = 64  #: of free GPUs of a node, at first

#: stages of a decision: none, begun, at the reservations of those that came
CLOSED, OPEN, TURNED = range(3)


def queue_of(book: Tables, rules: Rules, *, policy: Any, room: int) -> JobQueue:
    """Return the queue of a policy before the first round, with room for so many steps a node."""
    gang, limit, length = book.jobs["gpus"].copy(), book.jobs["limit"], rules.round_length
    factor = policy.factors(gang.size)
    seconds = policy.run_times(book.jobs["work"], book.speeds[:, 0], factor, length)
    if policy.by_limits(limit):
        seconds, factor = policy.limits(limit, length), np.zeros(gang.size)
    nodes, pod = book.nodes["size"].copy(), book.jobs["pod"].copy()
    plan = core.new_queue(nodes, gang, pod, seconds, factor, room=room)
    plan.state[core.EARLY] = policy.errs(limit)
    return plan


def _ends_in_time(book: Tables, _rules: Rules, *, policy: Any) -> bool:
    """Whether no job runs longer than is expected, so that reservations can be kept."""
    limit, phase = book.jobs["limit"], book.jobs["phase"]
    fine = (book.jobs["work"] * FULL_SPEED <= limit * book.speeds[:, 0]) | (phase == Phase.REJECTED)
    return not policy.by_limits(limit) or bool(fine.all())


def more_steps(plan: JobQueue) -> JobQueue:
    """Room for twice as many steps."""
    times, free = (np.hstack([old, np.zeros_like(old)]) for old in (plan.times, plan.free))
    return plan._replace(times=times, free=free)


@inner
def _renew_held(m, p):
    """Drop those that have ended; those that are slower or run longer than expected end later."""
    kept, spread = 0, m.params[const.SPREAD]
    for i in range(p.state[core.HELD]):
        j = p.held[i]
        if m.jobs[j].phase != const.RUNNING:
            continue
        p.held[kept], tau = j, m.params[const.TAU]
        if p.until[j] <= m.count[const.NOW]:
            p.until[j] = m.count[const.NOW] + tau
        if spread and p.factor[j] > 0 and m.jobs[j].speed != m.speeds[j, 0]:
            exact = -(-m.jobs[j].work * FULL_SPEED // m.jobs[j].speed)
            exact = np.int64(np.ceil(exact * p.factor[j]))
            p.until[j] = m.jobs[j].since - (-exact // tau) * tau
        if spread:
            core.sort_held(p, kept)
        kept += 1
    p.state[core.HELD] = kept


@inner
def _give_back(m, p, now):
    """Drop those that have ended, and give back what they had from now on."""
    kept = 0
    for i in range(p.state[core.HELD]):
        j = p.held[i]
        if m.jobs[j].phase == const.RUNNING:
            p.held[kept] = j
            kept += 1
        else:
            core.give_back(p, j, now, p.until[j])
    p.state[core.HELD] = kept


@inner
def _start(m, p):
    """Start those that were chosen, where they have their places."""
    for i in range(p.state[core.STARTED]):
        j = p.started[i]
        m.jobs[j].new_length = p.length[j]
        for k in range(p.length[j]):
            entry, place = m.jobs[j].offset + k, p.offset[j] + k
            m.entries[entry].new_node, m.entries[entry].new_part = p.node[place], p.part[place]
        take_new(m, j)
        begin_run(m, j, m.jobs[j].gpus, speed_on_new(m, j))
    p.state[core.STARTED] = 0


@inner
def _decide_easy(m, p):
    """Tell the queue of who came and who ended, and start whom it says."""
    while p.state[core.SEEN] < m.count[const.COMING]:
        core.enter(p, m.lists[const.COMERS, p.state[core.SEEN]], 0, 0)
        p.state[core.SEEN] += 1
    _renew_held(m, p)
    for n in range(m.nodes.size):
        p.at[core.FREE, n] = m.nodes[n].free
    core.start_by_easy(p, m.count[const.NOW], m.count[const.FREE], m.params[const.SPREAD] > 0)
    _start(m, p)
    if p.state[core.HELD] > 0 and p.factor[p.held[0]] == 0:
        m.count[const.TIMER] = p.until[p.held[0]]


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_easy(m, p, until, most):
    """As :func:`gangsched.solvers.machine.keyed.advance_by_key`, for EASY backfilling."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide_easy(m, p)
    return const.MORE


@inner
def _decide_conservative(m, p):
    """Give reservations, and start whose time has come; False where there is no room for it."""
    now = m.count[const.NOW]
    if p.state[core.STAGE] == OPEN:
        if not core.has_room(p):
            return False
        core.turn(p, now)
        _give_back(m, p, now)
        if p.state[core.EARLY] > 0:
            core.move_forward(p, now, False)
        p.state[core.STAGE] = TURNED
    while p.state[core.SEEN] < m.count[const.COMING]:
        if not core.has_room(p):
            return False
        core.reserve(p, m.lists[const.COMERS, p.state[core.SEEN]], now, False)
        p.state[core.SEEN] += 1
    soon = core.start_due(p, now)
    _start(m, p)
    p.state[core.STAGE] = CLOSED
    if p.state[core.LENGTH] > 0:
        m.count[const.TIMER] = soon
    return True


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_conservative(m, p, until, most):
    """As :func:`gangsched.solvers.machine.keyed.advance_by_key`; NARROW for want of room."""
    for _ in range(most):
        if p.state[core.STAGE] == CLOSED:
            why = open_round(m, until)
            if why < const.QUIET:
                return why
            if why == const.QUIET:
                continue
            p.state[core.STAGE] = OPEN
        if not _decide_conservative(m, p):
            return const.NARROW
    return const.MORE


def easy(policy: Any) -> Rule:
    """Return the rule of EASY backfilling."""
    return Rule(
        name="easy", advance=advance_easy, plan=partial(queue_of, policy=policy, room=0),
    )  # fmt: skip


def conservative(policy: Any) -> Rule:
    """Return the rule of conservative backfilling."""
    return Rule(
        name="conservative", advance=advance_conservative, longer=more_steps,
        able=partial(_ends_in_time, policy=policy),
        plan=partial(queue_of, policy=policy, room=STEPS),
    )  # fmt: skip
