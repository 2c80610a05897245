"""Compiled :class:`gangsched.solvers.gandiva_fair.literal.LiteralSharing` on one GPU model.

The cluster and the turns are those of :mod:`gangsched.solvers.gandiva_fair.sharing_core`; what is
here differs. Loads come from outside: they have to be added up as there, bit for bit.
"""

from __future__ import annotations

import numpy as np

from ...instances.compiled import compiled, inner
from .sharing_core import (
    NEW,
    STEPS,
    as_compared,
    enter_home,
    leave_home,
    open_round,
    set_prices,
    write_home,
)
from .sharing_steps import next_user, queue_jobs, take_turns, with_queue, write_decision
from .stride_core import shares

__all__ = ["balance", "begin", "decide", "enter", "price"]


@compiled
def decide(c, now, part, begins):
    """Write who stops and who starts."""
    take_turns(c, part, begins)
    write_decision(c)


@compiled
def begin(c, waiting, running, gpus, prices, now, part, begins):
    """Open a round, and set the tickets of users, which are what they own; returns as `enter`."""
    open_round(c, waiting, running, waiting[:0], waiting[:0])
    _set_worth(c, gpus)
    if c.count[NEW] > 0:
        queue_jobs(c, True)
        return _next_job(c, prices)
    if not begins:
        decide(c, now, part, begins)
    return -1


@compiled
def _set_worth(c, gpus):
    """Effective tickets of each user (3.2)."""
    asked, quota, size = np.empty(c.users.size), np.empty(c.users.size), 0
    for u in range(c.users.size):
        if c.users[u].asked > 0:
            asked[size], quota[size] = c.users[u].asked, c.users[u].quota
            size += 1
    worth = shares(asked[:size], gpus, quota[:size])
    size = 0
    for u in range(c.users.size):
        c.users[u].worth = 0.0
        if c.users[u].asked > 0:
            c.users[u].worth = worth[size]
            size += 1
        c.shares[u, 0] = c.users[u].worth
        c.users[u].used = c.demand[0, u]


@inner
def _next_job(c, prices):
    """Algorithm 2, lines 2 and 3: who comes next, and what users then pay for a GPU; -1: nobody."""
    size = with_queue(c)
    if size == 0:
        return -1
    u = c.users[next_user(c, size)].short
    j = c.users[u].head
    c.users[u].head = c.jobs[j].behind
    c.users[u].used += c.jobs[j].gang
    set_prices(c, 0, u, c.jobs[j].gang)
    for v in range(c.users.size):
        prices[v] = c.users[v].price
    return j


@compiled
def enter(c, j, loads, prices, now, part, begins):
    """Algorithm 2, lines 8 to 11: the nodes of least load; returns who comes next.

    -1 if nobody does: then, within a quantum, it has been decided who stops and who starts.
    """
    for n in range(c.servers.size):
        c.servers[n].load = loads[n]
    write_home(c, j, 0, False)
    enter_home(c, j, now, now)
    following = _next_job(c, prices)
    if following < 0 and not begins:
        decide(c, now, part, begins)
    return following


@compiled
def price(c, prices):
    """Write what users pay for a GPU."""
    set_prices(c, 0, 0, 0)
    for u in range(c.users.size):
        prices[u] = c.users[u].price


@compiled
def balance(c, source, target, gap, now):
    """Move the job after whose move the loads of two nodes are closest, if they are closer then."""
    best, least = -1, as_compared(gap, STEPS)
    for i in range(c.models[0].narrow):
        j = c.lists[0, i]
        gang = c.jobs[j].gang
        if c.jobs[j].server != source or gang > c.servers[target].gpus:
            continue
        moved = gang * c.users[c.jobs[j].user].price
        after = as_compared(
            abs(gap - moved / c.servers[source].gpus - moved / c.servers[target].gpus), STEPS
        )
        if after < least or (after == least and 0 <= j < best):
            best, least = j, after
    if best >= 0:
        arrival = c.jobs[best].arrival
        leave_home(c, best)
        c.entries[c.jobs[best].offset].home = target
        enter_home(c, best, now, arrival)
