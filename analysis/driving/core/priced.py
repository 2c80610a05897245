"""Several GPU models: the jobs whose work left is the cheapest, each on its cheapest model.

Its reference is :mod:`gangsched.solvers.policies.priced_models`. PriceLists are computed in Python,
whenever twice as many jobs have come as when they were last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....instances.compiled import inner, tiered
from ....instances.model import FULL_SPEED
from ....solvers.placement import place
from ....solvers.policies.priced_models import LONG, WORTH, priced
from ....solvers.policy import Rules
from ..ledger import Ints, Ledger
from . import const
from .machine import (
    Machine,
    begin_run,
    give_old,
    interrupt,
    keep_old,
    new_is_old,
    old_is_free,
    open_round,
    speed_on_new,
    take_new,
)
from .place import place_on_model, want_old
from .repacked import add_new, drop_complete, sort_by_score

#: counters: comers that were seen, jobs in the order; whether a decision is open; jobs that had
#: come at the last one and when prices were made, jobs that were here then
SEEN, LENGTH, OPEN, CAME, PRICED, HERE = range(6)
#: rows of columns by job: class, model that it runs on and that it was selected for, or -1
KIND, NOW, MODEL = range(3)
#: rows of jobs: as they are selected, still to be selected, the widest first, to be placed late
LINE, LEFT, WIDE, LATE = range(4)


class PriceLists(NamedTuple):
    """What the rule knows beside the machine."""

    state: Ints
    order: Ints  # jobs by the cost of what is left
    columns: Ints
    jobs: Ints  # rows of jobs
    room: Ints  # of each model, in a selection
    speeds: Ints  # (classes, models), 0 where a gang has no place
    cheap: Ints  # (classes, models): models by the cost of the work, then -1
    fast: Ints  # (classes, models): models by falling speed, then -1
    least: NDArray[np.float64]  # of classes: cost of the work where it is the cheapest


def new_prices(book: Ledger, rules: Rules) -> PriceLists:
    """Return what the rule knows before the first round: no prices."""
    jobs, nodes, n = book.jobs, book.nodes, book.jobs.size
    rows = np.column_stack([jobs["gpus"], book.speeds])
    kinds, kind = np.unique(rows, axis=0, return_inverse=True)
    speeds = kinds[:, 1:].copy()
    for g in range(speeds.shape[1]):
        own = nodes["size"][nodes["model"] == g].tolist()
        for gang in np.unique(kinds[:, 0]).tolist():
            if place(gang, own, own, spread=rules.spread) is None:
                speeds[kinds[:, 0] == gang, g] = 0
    columns = np.full((3, n), -1, dtype=np.int64)
    columns[KIND] = kind.ravel()
    return PriceLists(
        state=np.zeros(6, dtype=np.int64),
        order=np.zeros(n, dtype=np.int64),
        columns=columns,
        jobs=np.zeros((4, n), dtype=np.int64),
        room=np.zeros(speeds.shape[1], dtype=np.int64),
        speeds=speeds,
        cheap=np.zeros(speeds.shape, dtype=np.int64),
        fast=np.zeros(speeds.shape, dtype=np.int64),
        least=np.zeros(len(speeds)),
    )


def renew_prices(p: PriceLists, m: Machine) -> PriceLists:
    """Price the models by all jobs that have come."""
    from ....solvers.model_order import costs_of_work  # it is slow to load

    came = m.lists[const.COMERS, : m.count[const.COMING]]
    kinds = p.columns[KIND, came]
    rows, first = np.unique(kinds, return_index=True)
    rows = rows[np.argsort(first)]  # in the order in which they came
    work = np.bincount(kinds, m.jobs["gpus"][came] * m.jobs["work"][came])[rows]
    room = np.bincount(m.nodes["model"], m.nodes["size"]).astype(np.int64)
    costs = costs_of_work(priced(p.speeds[rows], work, room), p.speeds)
    for own, key in ((p.cheap, costs), (p.fast, -p.speeds)):
        by_key = np.argsort(key, axis=1, kind="stable")
        own[:] = np.where(np.take_along_axis(p.speeds, by_key, 1) > 0, by_key, -1)
    p.least[:] = costs.min(axis=1)
    p.state[PRICED] = came.size
    return p


@inner
def _put_by_cost(m, p):
    """All jobs by the cost of the work that is left, of which the seconds are their keys."""
    for i in range(p.state[LENGTH]):
        j = p.order[i]
        left = m.jobs[j].left
        p.columns[NOW, j] = p.columns[MODEL, j] = -1
        if m.jobs[j].phase == const.RUNNING:
            seconds = max(0, m.count[const.NOW] - m.jobs[j].since - m.jobs[j].delay)
            left -= seconds * m.jobs[j].speed // FULL_SPEED
            p.columns[NOW, j] = m.nodes[m.entries[m.jobs[j].offset].node].model
        m.jobs[j].key = left
        m.jobs[j].score = left * m.jobs[j].gpus * p.least[p.columns[KIND, j]]
    sort_by_score(m, p)


@inner
def _cheapest(m, p, j):
    """The cheapest model with room for j, or its own one where it need not move; -1 for none."""
    kind, gang, own, found = p.columns[KIND, j], m.jobs[j].gpus, p.columns[NOW, j], -1
    for i in range(p.cheap.shape[1]):
        g = p.cheap[kind, i]
        if g < 0 or p.room[g] >= gang:
            found = g
            break
    if found < 0 or own < 0 or own == found or p.room[own] < gang:
        return found
    soon = m.jobs[j].key * FULL_SPEED // p.speeds[kind, own] < LONG * m.jobs[j].overhead
    return own if soon else found


@inner
def _faster(m, p, j):
    """A faster model than that of j with room, where it is worth it; -1 for none."""
    kind, g, own = p.columns[KIND, j], p.columns[MODEL, j], p.columns[NOW, j]
    speed, left = p.speeds[kind, g], m.jobs[j].key * FULL_SPEED
    for i in range(p.fast.shape[1]):
        other = p.fast[kind, i]
        if other < 0 or p.speeds[kind, other] <= speed:
            return -1
        if p.room[other] < m.jobs[j].gpus:
            continue
        gain = left // speed - left // p.speeds[kind, other]
        if own < 0 or own == other or gain >= WORTH * m.jobs[j].overhead:
            return other
    return -1


@inner
def _select(m, p):
    """Select, in the order, those that fit by number of GPUs, and their models; how many."""
    count, waits, moved = 0, p.state[LENGTH], True
    for g in range(p.room.size):
        p.room[g] = 0
    for n in range(m.nodes.size):
        p.room[m.nodes[n].model] += m.nodes[n].free
    for i in range(waits):
        j = p.jobs[LEFT, i] = p.order[i]
        if p.columns[NOW, j] >= 0:
            p.room[p.columns[NOW, j]] += m.jobs[j].gpus
    while moved and waits > 0:
        skipped, moved = 0, False
        for i in range(waits):
            j = p.jobs[LEFT, i]
            g = _cheapest(m, p, j)
            if g < 0:
                p.jobs[LEFT, skipped] = j
                skipped += 1
                continue
            p.columns[MODEL, j] = g
            p.room[g] -= m.jobs[j].gpus
            p.jobs[LINE, count] = j
            count += 1
        for i in range(count):
            j = p.jobs[LINE, i]
            g = _faster(m, p, j)
            if g >= 0:
                p.room[p.columns[MODEL, j]] += m.jobs[j].gpus
                p.room[g] -= m.jobs[j].gpus
                p.columns[MODEL, j] = g
                moved = True
        waits = skipped
    return count


@inner
def _stays(p, j):
    return p.columns[NOW, j] == p.columns[MODEL, j]


@inner
def _put_wide_first(m, p, count):
    """Those that were selected by gang, the widest first; in each width first those that stay."""
    for i in range(count):
        j, k = p.jobs[LINE, i], i
        while k > 0:
            other = p.jobs[WIDE, k - 1]
            if m.jobs[other].gpus > m.jobs[j].gpus:
                break
            if m.jobs[other].gpus == m.jobs[j].gpus and (_stays(p, other) or not _stays(p, j)):
                break
            p.jobs[WIDE, k] = other
            k -= 1
        p.jobs[WIDE, k] = j
        m.jobs[j].turn = i


@inner
def _place_all(m, p, count):
    """Give nodes to those that were selected, as far as there are some: new ones, or those of now.

    All that run have given theirs.
    """
    for n in range(m.nodes.size):
        m.lists[const.WANTED, n] = 0
    for i in range(count):
        if _stays(p, p.jobs[LINE, i]):
            want_old(m, p.jobs[LINE, i], 1)
    late = 0
    for i in range(count):
        j = p.jobs[WIDE, i]
        if _stays(p, j):
            want_old(m, j, -1)
            if old_is_free(m, j):
                keep_old(m, j)
                continue
        if place_on_model(m, j, m.jobs[j].gpus, p.columns[MODEL, j], True):
            take_new(m, j)
            continue
        k = late
        while k > 0 and m.jobs[p.jobs[LATE, k - 1]].turn > m.jobs[j].turn:
            p.jobs[LATE, k] = p.jobs[LATE, k - 1]
            k -= 1
        p.jobs[LATE, k] = j
        late += 1
    for n in range(m.nodes.size):
        m.lists[const.WANTED, n] = 0
    for i in range(late):
        j = p.jobs[LATE, i]
        for k in range(p.fast.shape[1]):
            g = p.fast[p.columns[KIND, j], k]
            if g < 0:
                break
            if place_on_model(m, j, m.jobs[j].gpus, g, True):
                take_new(m, j)
                break


@inner
def _insert(p, row, count, j):
    """Put j into a list by number; how many it has."""
    k = count
    while k > 0 and p.jobs[row, k - 1] > j:
        p.jobs[row, k] = p.jobs[row, k - 1]
        k -= 1
    p.jobs[row, k] = j
    return count + 1


@inner
def _decide_by_price(m, p):
    """Stop and start so that those run that were selected."""
    _put_by_cost(m, p)
    count = _select(m, p)
    for i in range(p.state[LENGTH]):
        m.jobs[p.order[i]].new_length = 0
        if p.columns[NOW, p.order[i]] >= 0:
            give_old(m, p.order[i])
    _put_wide_first(m, p, count)
    _place_all(m, p, count)
    stops = starts = 0
    for i in range(p.state[LENGTH]):
        j = p.order[i]
        runs = p.columns[NOW, j] >= 0
        if runs and m.jobs[j].new_length > 0 and new_is_old(m, j):
            continue
        if runs:
            stops = _insert(p, LEFT, stops, j)
        if m.jobs[j].new_length > 0:
            starts = _insert(p, LINE, starts, j)
    for i in range(stops):
        interrupt(m, p.jobs[LEFT, i], const.SUSPEND, True)
    for i in range(starts):
        j = p.jobs[LINE, i]
        begin_run(m, j, m.jobs[j].gpus, speed_on_new(m, j))


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_priced(m, p, until, most):
    """As :func:`~.keyed.advance_by_key`, on several GPU models; NARROW where prices are due."""
    for _ in range(most):
        if p.state[OPEN] == 0:
            why = open_round(m, until)
            if why < const.QUIET:
                return why
            if why == const.QUIET:
                continue
        p.state[OPEN] = 1
        came = m.count[const.COMING]
        if came > p.state[SEEN] and came >= 2 * p.state[PRICED]:
            return const.NARROW
        p.state[OPEN] = 0
        drop_complete(m, p)
        add_new(m, p)
        if came != p.state[CAME] or p.state[LENGTH] != p.state[HERE]:
            p.state[CAME], p.state[HERE] = came, p.state[LENGTH]
            _decide_by_price(m, p)
    return const.MORE
