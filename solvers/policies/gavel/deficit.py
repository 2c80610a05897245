"""Gavel's max-min fair time on GPUs that are alike, and leases to whoever is behind it.

Rows of the machine's memory: COUNT, how many jobs of each class wait or run. A class has one gang
and weight; the key of a job is the number of its class. The numbers of the rule are of each class
the gang and the weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....instances.compiled import compiled
from ...machine import const
from ...machine.leases import BIDS, give_leases, list_candidates
from ...machine.machine import Machine, open_round
from ...rule import Rule

COUNT = 0


def with_classes(machine: Machine, _: Any) -> Machine:
    """Return the machine with the classes of jobs that max-min fairness fills up, in that order."""
    jobs = machine.jobs
    columns = [jobs["gpus"] / jobs["weight"], jobs["gpus"], jobs["weight"]]
    rows, jobs["key"] = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return machine._replace(
        numbers=np.concatenate([rows[:, 1], rows[:, 2]]),
        memory=np.zeros((1, len(rows)), dtype=np.int64),
    )


@compiled
def water_level(m):
    """As :func:`.water_filling.water_filling`: GPUs for a weight of 1."""
    classes, gpus, demand = m.memory.shape[1], m.count[const.TOTAL], 0
    for k in range(classes):
        m.memory[COUNT, k] = 0
    waits = m.count[const.WAITS]
    for i in range(waits + m.count[const.RUNS]):
        j = m.lists[const.WAITERS, i] if i < waits else m.lists[const.RUNNERS, i - waits]
        m.memory[COUNT, m.jobs[j].key] += 1
        demand += m.jobs[j].gpus
    if demand <= gpus:
        return np.inf
    rest = np.zeros(classes + 1)  # weight from each class on
    for k in range(classes - 1, -1, -1):
        rest[k] = rest[k + 1] + m.memory[COUNT, k] * m.numbers[classes + k]
    full, level = 0.0, 0.0
    for k in range(classes):
        gang, weight = m.numbers[k], m.numbers[classes + k]
        if m.memory[COUNT, k]:
            level = (gpus - full) / rest[k]
            if level * weight < gang:
                return level
            full += m.memory[COUNT, k] * gang
    return level


@compiled
def _decide_by_deficit(m):
    candidates, room, expired = list_candidates(m)
    if candidates:
        now = m.count[const.NOW]
        level = water_level(m)
        for i in range(candidates):
            j = m.lists[BIDS, i]
            weight = m.numbers[m.memory.shape[1] + m.jobs[j].key]
            fraction = min(1.0, level * weight / m.jobs[j].gpus)
            current = now - m.jobs[j].since if m.jobs[j].phase == const.RUNNING else 0
            attained = m.jobs[j].held + m.jobs[j].gpus * current
            received = attained / (m.jobs[j].gpus * max(now - m.jobs[j].visible, 1))
            m.jobs[j].score = -(fraction / received) if received > 0 else -np.inf
            m.jobs[j].second = -fraction
        give_leases(m, candidates, room, expired)


@compiled
def advance_by_deficit(m, until, most):
    """As :func:`.keyed.advance_by_key`, for max-min fairness."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide_by_deficit(m)
    return const.MORE


BY_DEFICITS = Rule(name="deficit", advance=advance_by_deficit, leases=True, remember=with_classes)
