"""Gavel's fair fractions of time on GPUs that are alike, and leases to whoever is behind them.

Rows of the machine's memory: COUNT, how many jobs of each class wait or run. A class has one gang
and weight; the key of a job is the number of its class. The numbers of the rule are first which
fractions are fair, then of each class the gang and the weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....instances.compiled import compiled, inner
from ...machine import const
from ...machine.leases import BIDS, give_leases, list_candidates
from ...machine.machine import Machine, done_by, open_round
from ...rule import Rule
from .water_filling import best_finish_time

COUNT = 0
#: first number of the rule: the fractions of `water_filling`, or of `one_model_fractions`
MAX_MIN, FINISH_TIME = range(2)


def with_classes(machine: Machine, _: Any) -> Machine:
    """Return the machine with the classes of jobs that max-min fairness fills up, in that order."""
    jobs = machine.jobs
    columns = [jobs["gpus"] / jobs["weight"], jobs["gpus"], jobs["weight"]]
    rows, jobs["key"] = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return machine._replace(
        numbers=np.concatenate([machine.numbers[:1], rows[:, 1], rows[:, 2]]),
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
        rest[k] = rest[k + 1] + m.memory[COUNT, k] * m.numbers[1 + classes + k]
    full, level = 0.0, 0.0
    for k in range(classes):
        gang, weight = m.numbers[1 + k], m.numbers[1 + classes + k]
        if m.memory[COUNT, k]:
            level = (gpus - full) / rest[k]
            if level * weight < gang:
                return level
            full += m.memory[COUNT, k] * gang
    return level


@inner
def _mean_active(m, j):
    """The mean number of active jobs since j became visible."""
    now = m.count[const.NOW]
    life = now - m.jobs[j].visible
    if life > 0:
        total = m.active[1] + m.active[2] * (now - m.active[0]) - m.jobs[j].active_start
        return total / life
    return float(m.active[2])


@inner
def _left(m, j):
    done = done_by(m, j, m.count[const.NOW]) if m.jobs[j].phase == const.RUNNING else 0
    return m.jobs[j].left - done


@inner
def _whole_time(m, j, number):
    """What j takes in isolation: with an even share so far, and from now on."""
    gpus, gang, left = m.count[const.TOTAL], m.jobs[j].gpus, _left(m, j)
    past = min(1.0, gpus / (gang * max(1.0, _mean_active(m, j))))
    now = min(1.0, gpus / (gang * number))
    return (m.jobs[j].work - left) / past + left / now


@compiled
def finish_time(m):
    """The best worst finish time of all jobs that wait or run."""
    waits = m.count[const.WAITS]
    number = waits + m.count[const.RUNS]
    gang, rest = np.empty(number, dtype=np.int64), np.empty(number)
    come, time = np.empty(number), np.empty(number)
    for i in range(number):
        j = m.lists[const.WAITERS, i] if i < waits else m.lists[const.RUNNERS, i - waits]
        gang[i], rest[i] = m.jobs[j].gpus, _left(m, j)
        come[i], time[i] = m.count[const.NOW] - m.jobs[j].release, _whole_time(m, j, number)
    return best_finish_time(gang, m.count[const.TOTAL], rest, come, time)


@inner
def _fair_fraction(m, j, level):
    """The part of the time that is fair for j."""
    if m.numbers[0] == MAX_MIN:
        weight = m.numbers[1 + m.memory.shape[1] + m.jobs[j].key]
        return min(1.0, level * weight / m.jobs[j].gpus)
    number, left = m.count[const.WAITS] + m.count[const.RUNS], _left(m, j)
    come = m.count[const.NOW] - m.jobs[j].release
    return left / max(level * _whole_time(m, j, number) - come, left)


@compiled
def _decide_by_deficit(m):
    candidates, room, expired = list_candidates(m)
    if candidates:
        now = m.count[const.NOW]
        level = water_level(m) if m.numbers[0] == MAX_MIN else finish_time(m)
        for i in range(candidates):
            j = m.lists[BIDS, i]
            fraction = _fair_fraction(m, j, level)
            current = now - m.jobs[j].since if m.jobs[j].phase == const.RUNNING else 0
            attained = m.jobs[j].held + m.jobs[j].gpus * current
            received = attained / (m.jobs[j].gpus * max(now - m.jobs[j].visible, 1))
            m.jobs[j].score = -(fraction / received) if received > 0 else -np.inf
            m.jobs[j].second = -fraction
        give_leases(m, candidates, room, expired)


@compiled
def advance_by_deficit(m, until, most):
    """As :func:`.keyed.advance_by_key`, for Gavel's policies."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide_by_deficit(m)
    return const.MORE


def by_deficits(fractions: int) -> Rule:
    """Return the rule of fair fractions of the time, by either of these ways."""
    return Rule(
        name="deficit", advance=advance_by_deficit, numbers=(float(fractions),), leases=True,
        remember=with_classes,
    )  # fmt: skip
