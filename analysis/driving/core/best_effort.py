"""Jobs without deadlines as value-density has them: the smallest areas, on their nodes if they can.

Its reference is :mod:`gangsched.solvers.unisched.value_density`, whose steps it calls. All jobs
that are here stand in a list by area. Mostly few change places from one decision to the next, and
it is sorted by insertion; where many do, as a whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....instances.compiled import compiled, inner
from ....instances.model import MOST_TIME
from ....solvers.policy import PROFILE_GPUS, Rule, Rules
from ....solvers.unisched.value_density_core import MOST_NEW, WORTH, median_with, settle
from ..ledger import Ints, Ledger
from . import const
from .machine import done_by, open_round, round_up
from .ordered import carry_out
from .repacked import LENGTH, add_new
from .steps import HEAD, NOTHING

#: counters after those of an order: run times of complete jobs that are sorted, and others
SORTED, RECENT = 2, 3
SHIFTS = 32  #: of each job on average, after which a list is sorted as a whole
#: numbers of the rule: seconds of a profiling run, and whether it is balanced
PROFILING, BALANCED = range(2)


class AreaOrder(NamedTuple):
    """What the rule knows beside the machine."""

    state: Ints
    order: Ints  # jobs by area, those that are profiled too
    area: Ints  # of jobs
    key: NDArray[np.float64]  # of jobs, by which balanced ones are sorted
    rising: Ints  # run times of complete jobs, sorted, where they are asked for
    recent: Ints  # those that are not sorted yet


def new_areas(ledger: Ledger) -> AreaOrder:
    """Return the order of nobody."""
    n = ledger.jobs.size
    return AreaOrder(
        state=np.zeros(4, dtype=np.int64),
        order=np.zeros(n, dtype=np.int64),
        area=np.zeros(n, dtype=np.int64),
        key=np.zeros(n),
        rising=np.zeros(n, dtype=np.int64),
        recent=np.zeros(MOST_NEW + 1, dtype=np.int64),
    )


def goes_by_area(rule: Rule, instance: Any, rules: Rules) -> bool:
    """Whether nobody has a deadline, and no profiling run is too long."""
    profile = rules.round_up(int(rule.numbers[PROFILING]))
    within = (profile * job.gpus <= MOST_TIME and not job.deadlines() for job in instance.jobs)
    return all(within)


@inner
def _run_time(m, j, left):
    """Seconds of j as its user states them: what it did, and what it needs with `left` left."""
    return m.jobs[j].work - left + max(1, left + m.memory[j, const.STATED])


@compiled
def _drop_complete(m, p):
    """Drop complete jobs from the order, and keep their run times where they are asked for."""
    kept = 0
    for i in range(p.state[LENGTH]):
        j = p.order[i]
        if m.jobs[j].phase != const.FINISHED:
            p.order[kept] = j
            kept += 1
        elif m.numbers[PROFILING] > 0:
            p.recent[p.state[RECENT]] = _run_time(m, j, 0)
            p.state[RECENT] += 1
            if p.state[RECENT] == p.recent.size:
                size = p.state[SORTED] + p.state[RECENT]
                p.rising[p.state[SORTED] : size] = p.recent
                p.rising[:size].sort()
                p.state[SORTED], p.state[RECENT] = size, 0
    p.state[LENGTH] = kept


@inner
def _is_new(m, j):
    """Whether j has to be profiled."""
    return m.numbers[PROFILING] > 0 and m.jobs[j].starts == 0 and m.jobs[j].profiled == 0


@inner
def _some_are_new(m, p):
    """Whether somebody waits who has to be profiled."""
    for i in range(p.state[LENGTH]):
        if m.jobs[p.order[i]].phase == const.WAITING and _is_new(m, p.order[i]):
            return True
    return False


@inner
def _left(m, j):
    """Seconds of service that j needs."""
    if m.jobs[j].phase == const.RUNNING:
        return m.jobs[j].left - done_by(m, j, m.count[const.NOW])
    return m.jobs[j].left


@compiled
def _usual(m, p):
    """The median of the run times that are known."""
    times, few = np.empty(p.state[LENGTH], dtype=np.int64), 0
    for i in range(p.state[LENGTH]):
        j = p.order[i]
        if not _is_new(m, j) and (m.jobs[j].phase == const.WAITING or m.jobs[j].speed > 0):
            times[few] = _run_time(m, j, _left(m, j))
            few += 1
    others = np.concatenate((p.recent[: p.state[RECENT]], times[:few]))
    return median_with(p.rising[: p.state[SORTED]], others)


@inner
def _resumption(m, j):
    """Seconds that j pays to go on."""
    return m.jobs[j].overhead if m.jobs[j].phase == const.WAITING and m.jobs[j].starts > 0 else 0


@inner
def _measure(m, p, usual):
    """Note the areas."""
    profiling = int(m.numbers[PROFILING])
    for i in range(p.state[LENGTH]):
        j = p.order[i]
        gpus, to_come = m.jobs[j].gpus, 0
        need = max(1, _left(m, j) + m.memory[j, const.STATED])
        if _is_new(m, j):
            need, to_come = usual, min(gpus, PROFILE_GPUS) * profiling
        p.area[j] = gpus * (need + _resumption(m, j)) + to_come
        if m.numbers[BALANCED] > 0:
            p.key[j] = -WORTH / p.area[j]


@inner
def _insert(m, p):
    """Sort the order by insertion; False, and it is any order, if that takes too many shifts."""
    balanced, left = m.numbers[BALANCED] > 0, SHIFTS * p.state[LENGTH]
    for i in range(1, p.state[LENGTH]):
        j, k = p.order[i], i
        while k > 0:
            other = p.order[k - 1]
            before = p.key[other] < p.key[j] if balanced else p.area[other] < p.area[j]
            same = p.key[other] == p.key[j] if balanced else p.area[other] == p.area[j]
            if before or (same and m.jobs[other].rank < m.jobs[j].rank):
                break
            p.order[k] = other
            k -= 1
        p.order[k] = j
        left -= i - k
        if left < 0:
            return False
    return True


@compiled
def sort_by_area(m, p):
    """Sort the order by (key, release, number); the key is the area if it is not balanced."""
    if _insert(m, p):
        return
    n = p.state[LENGTH]
    rank, area, key = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        rank[i] = m.jobs[p.order[i]].rank
    order = p.order[:n][np.argsort(rank)]
    for i in range(n):
        area[i], key[i] = p.area[order[i]], p.key[order[i]]
    if m.numbers[BALANCED] > 0:
        p.order[:n] = order[np.argsort(key, kind="mergesort")]
    else:
        p.order[:n] = order[np.argsort(area, kind="mergesort")]


@compiled
def _steps(m, p):
    """The decision as numbers, and until when it stays."""
    n = 0
    number = np.empty(p.state[LENGTH], dtype=np.int64)
    for i in range(p.state[LENGTH]):
        j = p.order[i]
        if m.jobs[j].phase == const.WAITING or m.jobs[j].speed > 0:  # it is not being profiled
            number[n] = j
            n += 1
    number = number[:n]
    gpus, area, cost, ptr = np.zeros((4, n + 1), dtype=np.int64)
    new, runs, held = np.zeros(n, np.bool_), np.zeros(n, np.bool_), 0
    count = 0
    for i in range(n):
        j = number[i]
        gpus[i], area[i], cost[i] = m.jobs[j].gpus, p.area[j], _resumption(m, j)
        new[i], runs[i] = _is_new(m, j), m.jobs[j].phase == const.RUNNING
        if runs[i]:
            held += m.jobs[j].length
            count += 1
            ptr[count] = held
    node, part = np.empty((2, held), dtype=np.int64)
    at = 0
    for i in range(n):
        for k in range(m.jobs[number[i]].length if runs[i] else 0):
            entry = m.jobs[number[i]].offset + k
            node[at], part[at] = m.entries[entry].node, m.entries[entry].part
            at += 1
    free, sizes = np.empty((2, m.nodes.size), dtype=np.int64)
    for k in range(m.nodes.size):
        free[k], sizes[k] = m.nodes[k].free, m.nodes[k].size
    kept, starts, length, until = settle(
        m.count[const.NOW], number, np.arange(n), gpus[:n], area[:n], new, runs, cost[:n],
        ptr[: count + 1], node, part, free, sizes, m.speeds, m.params[const.SPREAD] > 0,
        round_up(int(m.numbers[PROFILING]), m.params[const.TAU]), True,
    )  # fmt: skip
    stops = number[runs & ~kept]
    for i in range(1, stops.size):  # by (release, number)
        j, k = stops[i], i
        while k > 0 and m.jobs[stops[k - 1]].rank > m.jobs[j].rank:
            stops[k] = stops[k - 1]
            k -= 1
        stops[k] = j
    head = np.zeros(HEAD, dtype=np.int64)
    head[0], head[3], head[4] = stops.size, length, m.params[const.SPREAD]
    return np.concatenate((head, stops, starts)), until


@compiled
def advance_best_effort(m, p, until, most):
    """As :func:`~.keyed.advance_by_key`, for value-density where nobody has a deadline."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why != const.READY:
            continue
        _drop_complete(m, p)
        add_new(m, p)
        _measure(m, p, _usual(m, p) if _some_are_new(m, p) else 0)
        sort_by_area(m, p)
        steps, stays = _steps(m, p)
        if steps.size > HEAD and not carry_out(m, steps, NOTHING, False, False):
            raise RuntimeError("value-density: a decision that cannot be carried out")
        if m.count[const.RUNS] > 0 and stays < const.NONE:
            m.count[const.TIMER] = max(stays, m.count[const.NOW] + 1)
    return const.MORE
