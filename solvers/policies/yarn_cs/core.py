"""YARN-CS: jobs by release, each within the whole quota of its user."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....instances.compiled import inlined, inner, tiered
from ...machine import const
from ...machine.machine import Machine, begin_run, less, open_round, pop, speed_on_new, take_new
from ...machine.place import place

#: row of the machine's memory: what is left of each user's quota in this decision
LEFT = 0


def with_quotas(machine: Machine, _: Any) -> Machine:
    """Return the machine with memory for what is left of quotas."""
    return machine._replace(memory=np.zeros((1, machine.users.size), dtype=np.int64))


@inner
def _first_class(m, failed):
    """The gang class whose first job is tried next, or -1: below `failed` GPUs, which had no place.

    Where jobs hold up those behind them, of any gang, and whoever is held up has nothing left.
    """
    best = -1
    for g in range(m.gangs.size):
        if m.gangs[g].heap_length == 0:
            continue
        left = m.memory[LEFT, m.gangs[g].user]
        if m.params[const.BLOCKING]:
            if left <= 0:
                continue
        elif m.gangs[g].size > left or m.gangs[g].size >= failed:
            continue
        if best < 0 or less(
            m, m.lists[const.HEAP, m.gangs[g].heap_at], m.lists[const.HEAP, m.gangs[best].heap_at]
        ):
            best = g
    return best


@inlined
def _decide_by_quotas(m):
    for u in range(m.users.size):
        m.memory[LEFT, u] = int(m.numbers[u]) - m.users[u].rate
    failed = const.NONE
    g = _first_class(m, failed)
    while g >= 0:
        j, u, gang = m.lists[const.HEAP, m.gangs[g].heap_at], m.gangs[g].user, m.gangs[g].size
        fits = gang <= m.memory[LEFT, u] and gang < failed
        if fits and place(m, j):
            pop(m, g)
            take_new(m, j)
            begin_run(m, j, gang, speed_on_new(m, j))
            m.memory[LEFT, u] -= gang
        else:
            if fits:
                failed = gang
            if m.params[const.BLOCKING]:
                m.memory[LEFT, u] = 0
        g = _first_class(m, failed)


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_by_quotas(m, until, most):
    """As :func:`.keyed.advance_by_key`, for YARN-CS."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide_by_quotas(m)
    return const.MORE
