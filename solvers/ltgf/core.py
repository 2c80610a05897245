"""LTGF as machine code: the keys of jobs, users by theirs, and leases as Algorithm 1 picks."""

from __future__ import annotations

import numpy as np

from ...instances.compiled import inner, tiered
from ..machine import const
from ..machine.grouped import lease_groups, list_groups
from ..machine.machine import job_fair_at, new_lease, open_round

#: the rule's numbers: whether shares are by quota, jobs by rho^-, and renewals come first
BY_QUOTA, RHO_MINUS, RENEWAL_FIRST = range(3)


@inner
def _score(m, j, lease):
    """The tier of a candidate, and its rho or rho^-."""
    now = m.count[const.NOW]
    m.jobs[j].tier = 2 * m.jobs[j].urgency
    if m.numbers[RENEWAL_FIRST] > 0 and m.jobs[j].phase != const.RUNNING:
        m.jobs[j].tier += 1
    current = now - m.jobs[j].since if m.jobs[j].phase == const.RUNNING else 0
    attained = m.jobs[j].held + m.jobs[j].gpus * current
    fair = job_fair_at(m, j, now)
    if m.numbers[RHO_MINUS] > 0:
        fair = fair + lease * m.kinds[m.jobs[j].kind_of].slope
        m.jobs[j].score = attained / fair if fair > 0 else np.inf
    elif attained == 0:
        m.jobs[j].score = 0.0
    else:
        m.jobs[j].score = attained / fair if fair > 0 else np.inf


@inner
def _decide(m):
    listed, room, expired, least = list_groups(m)
    lease = new_lease(m, m.count[const.NOW]) - m.count[const.NOW]
    for i in range(listed):
        _score(m, m.lists[const.GROUP, i], lease)
    if listed:
        lease_groups(m, room, expired, least)


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance(m, until, most):
    """Visit rounds until something has to be done in Python; returns why."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide(m)
    return const.MORE
