"""ServerFilling-SRPT as machine code: an order of jobs that is kept and sorted.

All jobs that are here stand in a list by their score: from one decision to the next a few come and
go, and few of the others change places, so that to sort it by insertion is O(jobs) mostly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....instances.compiled import inner, tiered
from ...machine import const
from ...machine.machine import done_by, open_round
from ...machine.ordered import follow_first
from ...machine.tables import Ints, Tables
from ...rule import Rule

#: counters: comers that were seen, jobs in the order
SEEN, LENGTH = range(2)


class Order(NamedTuple):
    """What the rule knows beside the machine."""

    state: Ints
    order: Ints  # jobs by score
    line: Ints  # jobs as they are to run


def new_order(book: Tables, _: Any) -> Order:
    """Return the order of nobody."""
    state, (order, line) = np.zeros(2, dtype=np.int64), np.zeros((2, book.jobs.size), np.int64)
    return Order(state, order, line)


@inner
def area_left(m, j):
    """GPU seconds that are left."""
    left = m.jobs[j].left
    if m.jobs[j].phase == const.RUNNING:
        left -= done_by(m, j, m.count[const.NOW])
    return left * m.jobs[j].gpus


@inner
def sort_by_score(m, p):
    """Sort the order by (score, release, number)."""
    for i in range(1, p.state[LENGTH]):
        j, k = p.order[i], i
        score, rank = m.jobs[j].score, m.jobs[j].rank
        while k > 0:
            other = p.order[k - 1]
            if m.jobs[other].score < score:
                break
            if m.jobs[other].score == score and m.jobs[other].rank < rank:
                break
            p.order[k] = other
            k -= 1
        p.order[k] = j


@inner
def drop_complete(m, p):
    """Drop jobs that are complete."""
    kept = 0
    for i in range(p.state[LENGTH]):
        p.order[kept] = p.order[i]
        kept += m.jobs[p.order[i]].phase != const.FINISHED
    p.state[LENGTH] = kept


@inner
def add_new(m, p):
    """Add jobs that have come."""
    while p.state[SEEN] < m.count[const.COMING]:
        p.order[p.state[LENGTH]] = m.lists[const.COMERS, p.state[SEEN]]
        p.state[LENGTH] += 1
        p.state[SEEN] += 1


@inner
def _line_up(m, p):
    """The prefix that fills the cluster by (gang, score), then the others; how long it is."""
    count, room = 0, m.count[const.FREE]
    for i in range(m.count[const.RUNS]):
        room += m.jobs[m.lists[const.RUNNERS, i]].held_gpus
    while count < p.state[LENGTH] and room > 0:
        room -= m.jobs[p.order[count]].gpus
        count += 1
    for i in range(p.state[LENGTH]):
        j, k = p.order[i], i
        while i < count and k > 0 and m.jobs[p.line[k - 1]].gpus < m.jobs[j].gpus:
            p.line[k] = p.line[k - 1]
            k -= 1
        p.line[k] = j
    return count


@inner
def _fill(m, p):
    """Let those run that fill the cluster."""
    drop_complete(m, p)
    add_new(m, p)
    for i in range(p.state[LENGTH]):
        m.jobs[p.order[i]].score = area_left(m, p.order[i])
    sort_by_score(m, p)
    count = _line_up(m, p)
    follow_first(m, p.line, p.state[LENGTH], True)
    for i in range(count):
        if m.jobs[p.line[i]].phase == const.WAITING:
            m.count[const.TIMER] = m.count[const.NOW] + 1
            break


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_filling(m, p, until, most):
    """As :func:`~.keyed.advance_by_key`, for ServerFilling-SRPT."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _fill(m, p)
    return const.MORE


FILLING = Rule(name="filling", advance=advance_filling, plan=new_order)
