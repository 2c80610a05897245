"""Areas over weights of users, as machine code: the rule of :mod:`.isolation_area`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....instances.compiled import inner, tiered
from ...machine import const
from ...machine.machine import open_round
from ...machine.ordered import follow_first
from ...machine.tables import Ints, Tables
from ...policies.serverfilling.core import (
    LENGTH,
    SEEN,
    add_new,
    area_left,
    drop_complete,
    sort_by_score,
)
from ...rule import Rule
from .isolation_area_core import PARTS, advance_users, weight

#: more counters: until when users are simulated, whether a decision is open
SINCE, OPEN = 2, 3
#: rows of columns by job: constant ones, and the area that is left where its user is alone
USER, RELEASE, RANK, RATE, ALONE = range(5)
#: rows of numbers by user: quota, sum of flow times of complete jobs, and alone; jobs left alone
QUOTA, DONE, TOTAL, COUNT, FLOW = range(5)


class Users(NamedTuple):
    """What the rule knows beside the machine."""

    state: Ints
    order: Ints  # jobs by score
    columns: Ints  # by job
    users: Ints  # rows of numbers by user
    weights: NDArray[np.float64]  # of users
    queue: Ints  # (users, room): jobs of each that are not complete where it is alone


def new_users(book: Tables, _: Any) -> Users:
    """Return the users before anybody has come."""
    jobs, users = book.jobs, np.zeros((5, book.users.size), np.int64)
    rate = PARTS * jobs["gpus"]
    rows = [jobs["user"], jobs["release"], jobs["rank"], rate, rate * jobs["work"]]
    users[QUOTA] = np.maximum(np.floor(PARTS * book.users["quota"]), 1)
    return Users(
        state=np.zeros(4, dtype=np.int64),
        order=np.zeros(jobs.size, dtype=np.int64),
        columns=np.array(rows, dtype=np.int64),
        users=users,
        weights=np.ones(book.users.size),
        queue=np.zeros((book.users.size, 16), dtype=np.int64),
    )


def longer_queues(users: Users) -> Users:
    """Room for twice as many jobs of each user."""
    return users._replace(queue=np.hstack([users.queue, np.zeros_like(users.queue)]))


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
def _isolate(m, p):
    """Let those run that have the smallest areas over weights."""
    _weigh_users(m, p)
    for i in range(p.state[LENGTH]):
        j = p.order[i]
        m.jobs[j].score = area_left(m, j) / p.weights[m.jobs[j].user]
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
        longest = 0
        for u in range(m.users.size):
            longest = max(longest, p.users[COUNT, u])
        if longest + m.count[const.COMING] - p.state[SEEN] > p.queue.shape[1]:
            return const.NARROW
        p.state[OPEN] = 0
        _isolate(m, p)
    return const.MORE


def by_isolation(power: float, size: float) -> Rule:
    """Return the rule of isolation area with these numbers."""
    return Rule(
        name="isolation", advance=advance_isolation, numbers=(power, size), plan=new_users,
        longer=longer_queues,
    )  # fmt: skip
