"""Themis without its auction as machine code: jobs by falling finish-time fairness."""

from __future__ import annotations

from ....instances.compiled import inner, tiered
from ...machine import const
from ...machine.grouped import lease_groups, list_groups
from ...machine.machine import done_by, open_round


@inner
def score(m, j):
    """Minus the finish-time fairness of a candidate."""
    now = m.count[const.NOW]
    left = m.jobs[j].left
    if m.jobs[j].phase == const.RUNNING and now > m.jobs[j].since:
        left -= done_by(m, j, now)
    life = now - m.jobs[j].visible
    jobs = float(m.active[2])
    if life > 0:
        total = m.active[1] + m.active[2] * (now - m.active[0]) - m.jobs[j].active_start
        jobs = total / life
    m.jobs[j].score = -((now - m.jobs[j].release + left) / (m.jobs[j].work * jobs))


@inner
def _decide(m):
    listed, room, expired, least = list_groups(m)
    for i in range(listed):
        score(m, m.lists[const.GROUP, i])
    if listed:
        lease_groups(m, room, expired, least)


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_greedily(m, until, most):
    """As :func:`gangsched.solvers.machine.keyed.advance_by_key`, for Themis without auction."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide(m)
    return const.MORE
