"""Areas that fill the cluster, and areas over weights of users: an order that is kept and sorted.

Their references are :mod:`.serverfilling` and :mod:`.isolation_area`. All jobs that are here stand
in a list by their score: from one decision to the next a few come and go, and few of the others
change places, so that to sort it by insertion is O(jobs) mostly.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....instances.compiled import inner, tiered
from ...machine import const
from ...machine.ledger import Ints, Ledger
from ...machine.machine import done_by, open_round
from ...machine.ordered import follow_first
from ...rule import Rule
from .isolation_area_core import PARTS, advance_users, weight

#: counters: comers that were seen, jobs in the order, until when users are simulated, whether a
#: decision is open
SEEN, LENGTH, SINCE, OPEN = range(4)
#: rows of columns by job: constant ones, and the area that is left where its user is alone
USER, RELEASE, RANK, RATE, ALONE = range(5)
#: rows of numbers by user: quota, sum of flow times of complete jobs, and alone; jobs left alone
QUOTA, DONE, TOTAL, COUNT, FLOW = range(5)


class Order(NamedTuple):
    """What these rules know beside the machine."""

    state: Ints
    order: Ints  # jobs by score
    line: Ints  # jobs as they are to run
    columns: Ints  # by job; nothing for rules without users
    users: Ints  # rows of numbers by user
    weights: NDArray[np.float64]  # of users
    queue: Ints  # (users, room): jobs of each that are not complete where it is alone


def new_order(book: Ledger, _: Any, *, users_alone: bool) -> Order:
    """Return the order of nobody."""
    jobs, n = book.jobs, book.jobs.size
    columns, users = np.zeros((5, 0), dtype=np.int64), np.zeros((5, book.users.size), np.int64)
    if users_alone:
        rate = PARTS * jobs["gpus"]
        rows = [jobs["user"], jobs["release"], jobs["rank"], rate, rate * jobs["work"]]
        columns = np.array(rows, dtype=np.int64)
        users[QUOTA] = np.maximum(np.floor(PARTS * book.users["quota"]), 1)
    return Order(
        state=np.zeros(4, dtype=np.int64),
        order=np.zeros(n, dtype=np.int64),
        line=np.zeros(n, dtype=np.int64),
        columns=columns,
        users=users,
        weights=np.ones(book.users.size),
        queue=np.zeros((book.users.size, 16), dtype=np.int64),
    )


def longer_queues(order: Order) -> Order:
    """Room for twice as many jobs of each user."""
    return order._replace(queue=np.hstack([order.queue, np.zeros_like(order.queue)]))


@inner
def _area(m, j):
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


# --- ServerFilling --------------------------------------------------------------------------------


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
        m.jobs[p.order[i]].score = _area(m, p.order[i])
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


# --- areas over weights of users ------------------------------------------------------------------


@inner
def _weigh_users(m, p):
    """Let the users' own runs go on until now, and weigh the users, if anybody came or went."""
    now, before = m.count[const.NOW], p.state[LENGTH]
    first, last = p.state[SEEN], m.count[const.COMING]
    for i in range(before):
        j = p.order[i]
        if m.jobs[j].phase == const.FINISHED:
            p.users[DONE, m.jobs[j].user] += m.jobs[j].end - m.jobs[j].release
    drop_complete(m, p)
    if first == last and p.state[LENGTH] == before:
        return
    advance_users(
        m.lists[const.COMERS], first, last, p.columns[RELEASE], p.columns[USER], p.columns[RANK],
        p.columns[RATE], p.columns[ALONE], p.users[QUOTA], p.queue, p.users[COUNT], p.users[TOTAL],
        p.state[SINCE], now,
    )  # fmt: skip
    p.state[SINCE] = now
    add_new(m, p)
    for u in range(m.users.size):
        p.users[FLOW, u] = p.users[DONE, u]
    for i in range(p.state[LENGTH]):
        j = p.order[i]
        p.users[FLOW, m.jobs[j].user] += now - m.jobs[j].release
    for u in range(m.users.size):
        p.weights[u] = weight(p.users[FLOW, u], p.users[TOTAL, u], m.numbers[0], m.numbers[1])


@inner
def _has_room(m, p):
    """Whether users have room for all that have come."""
    longest = 0
    for u in range(m.users.size):
        longest = max(longest, p.users[COUNT, u])
    return longest + m.count[const.COMING] - p.state[SEEN] <= p.queue.shape[1]


@inner
def _isolate(m, p):
    """Let those run that have the smallest areas over weights."""
    _weigh_users(m, p)
    for i in range(p.state[LENGTH]):
        j = p.order[i]
        m.jobs[j].score = _area(m, j) / p.weights[m.jobs[j].user]
    sort_by_score(m, p)
    follow_first(m, p.order, p.state[LENGTH], True)
    for i in range(m.count[const.WAITS]):
        if m.jobs[m.lists[const.WAITERS, i]].blocked >= 0:
            m.count[const.TIMER] = m.count[const.NOW] + 1
            break


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_isolation(m, p, until, most):
    """As :func:`~.keyed.advance_by_key`, for areas over weights; NARROW for want of room."""
    for _ in range(most):
        if p.state[OPEN] == 0:
            why = open_round(m, until)
            if why < const.QUIET:
                return why
            if why == const.QUIET:
                continue
        p.state[OPEN] = 1
        if not _has_room(m, p):
            return const.NARROW
        p.state[OPEN] = 0
        _isolate(m, p)
    return const.MORE


FILLING = Rule(name="filling", advance=advance_filling, plan=partial(new_order, users_alone=False))


def by_isolation(power: float, size: float) -> Rule:
    """Return the rule of isolation area with these numbers."""
    return Rule(
        name="isolation", advance=advance_isolation, numbers=(power, size),
        plan=partial(new_order, users_alone=True), longer=longer_queues,
    )  # fmt: skip
