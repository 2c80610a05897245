"""EASY and conservative backfilling: a queue by release, and the free GPUs of nodes over time.

Their references are the sessions of :mod:`gangsched.solvers.policies.backfilling`. Both have a
queue of the jobs that wait, and a list of those that run, each with the time until which it is
expected to run.

Conservative backfilling also has, for each node n, its steps: the times at which its number of
free GPUs changes, by those that run and by all reservations, and what it is from then on. One that
begins or ends changes the steps of its own nodes only.

- The earliest place of a gang on one node is the earliest over the nodes; of one on several nodes
  of a size, t has to be so late that the k-th smallest of their own earliest times is t, where k of
  them are needed: t is raised to that until it is.
- With H_n(g) the first time from now on at which n has less than g free GPUs, a job of g GPUs and
  s seconds with a reservation on n from t on can begin now, if it gives that up, just where
  max H(g) >= now + s, or H_n(g) >= t: on other nodes its reservation does not count, on its own one
  g are free from now to t, and from then on for s seconds what it holds itself. So nobody else is
  looked at more closely. Wider gangs than the smallest node are.

Numbers of steps, places in a row: those of node n are from ``at[FIRST, n]`` to before
``at[LAST, n]``, and the first of them has begun by now.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...instances.compiled import inner, tiered
from ...instances.model import FULL_SPEED
from ..machine import const
from ..machine.ledger import Ints, Ledger
from ..machine.machine import begin_run, open_round, speed_on_new, take_new
from ..policy import Rules
from ..rule import Rule
from .backfilling_core import place

STEPS = 64  #: of free GPUs of a node, at first
#: counters: comers that were seen, jobs in the queue, jobs that run; how far a decision is; and the
#: most that any node has held at a time, those that run and reservations
SEEN, LENGTH, HELD, STAGE, MOST = range(5)
#: with EASY instead: where the queue begins; its end is then that of LENGTH
FRONT = MOST
#: stages of a decision: none, begun, at the reservations of those that came
CLOSED, OPEN, TURNED = range(3)
#: rows of the queue
JOB, GANG, SECONDS, BEGIN, NODE = range(5)
#: rows of numbers by node
SIZE, FREE, EXTRA, CHOSEN, PARTS, WHOLE, REST, FIRST, LAST, HOLDERS = range(10)


class Calendar(NamedTuple):
    """What backfilling knows beside the machine."""

    state: Ints
    factor: NDArray[np.float64]  # of jobs: estimated run time over the true one
    seconds: Ints  # of jobs: estimated, in whole rounds
    until: Ints  # of jobs that run: expected end
    queue: Ints  # rows of the jobs that wait, by release
    held: Ints  # jobs that run; with EASY by their expected end
    at: Ints  # rows of numbers by node
    times: Ints  # (nodes, room)
    free: Ints  # (nodes, room)
    horizon: Ints  # (nodes, smallest size + 1): H_n(g)
    best: Ints  # (smallest size + 1,): the largest of them


def new_queue(book: Ledger, rules: Rules, *, policy: Any, room: int) -> Calendar:
    """Return the plan of a policy before the first round, with room for so many steps a node."""
    jobs, sizes = book.jobs, book.nodes["size"]
    n, total = jobs.size, int(sizes.sum())
    factor = policy.factors(n)
    seconds = policy.run_times(jobs["work"], book.speeds[:, 0], factor, rules.round_length)
    at = np.zeros((10, sizes.size), dtype=np.int64)
    at[SIZE], at[LAST] = sizes, 1
    free = np.zeros((sizes.size, room), dtype=np.int64)
    if room:
        free[:, 0] = sizes
    smallest = int(sizes.min()) + 1
    return Calendar(
        state=np.zeros(5, dtype=np.int64),
        factor=factor,
        seconds=seconds,
        until=np.zeros(n, dtype=np.int64),
        queue=np.zeros((5, n), dtype=np.int64),
        held=np.zeros(total, dtype=np.int64),
        at=at,
        times=np.zeros((sizes.size, room), dtype=np.int64),
        free=free,
        horizon=np.zeros((sizes.size, smallest), dtype=np.int64),
        best=np.zeros(smallest, dtype=np.int64),
    )


def more_steps(plan: Calendar) -> Calendar:
    """Room for twice as many steps."""
    grown = {}
    for name in ("times", "free"):
        old = getattr(plan, name)
        grown[name] = np.hstack([old, np.zeros_like(old)])
    return plan._replace(**grown)


# --- the queue ------------------------------------------------------------------------------------


@inner
def _keep(p, i, kept):
    """Let the i-th of the queue be the one after those that are kept."""
    if i > kept:
        for row in range(5):
            p.queue[row, kept] = p.queue[row, i]
    return kept + 1


@inner
def _enter(m, p, j, begin, node):
    """Put j at the end of the queue."""
    i = p.state[LENGTH]
    p.queue[JOB, i], p.queue[GANG, i], p.queue[SECONDS, i] = j, m.jobs[j].gpus, p.seconds[j]
    p.queue[BEGIN, i], p.queue[NODE, i] = begin, node
    p.state[LENGTH] = i + 1
    p.state[SEEN] += 1


@inner
def _note_place(m, p, j, found):
    """Let j have the nodes that were chosen."""
    m.jobs[j].new_length = found
    for k in range(found):
        entry = m.jobs[j].offset + k
        m.entries[entry].new_node, m.entries[entry].new_part = p.at[CHOSEN, k], p.at[PARTS, k]


@inner
def _begin(m, p, j, seconds):
    """Start j where it has its place."""
    take_new(m, j)
    begin_run(m, j, m.jobs[j].gpus, speed_on_new(m, j))
    p.until[j] = m.count[const.NOW] + seconds
    p.held[p.state[HELD]] = j
    p.state[HELD] += 1


# --- EASY -----------------------------------------------------------------------------------------


@inner
def _sort_held(p, i):
    """Put the i-th of those that run behind those before it that end by then."""
    j = p.held[i]
    while i > 0 and p.until[p.held[i - 1]] > p.until[j]:
        p.held[i] = p.held[i - 1]
        i -= 1
    p.held[i] = j


@inner
def _renew_held(m, p):
    """Drop those that have ended; those that are slower than their gang together end later."""
    kept, spread = 0, m.params[const.SPREAD]
    for i in range(p.state[HELD]):
        j = p.held[i]
        if m.jobs[j].phase != const.RUNNING:
            continue
        p.held[kept] = j
        if spread and m.jobs[j].speed != m.speeds[j, 0]:
            exact, tau = -(-m.jobs[j].work * FULL_SPEED // m.jobs[j].speed), m.params[const.TAU]
            exact = np.int64(np.ceil(exact * p.factor[j]))
            p.until[j] = m.jobs[j].since - (-exact // tau) * tau
        if spread:
            _sort_held(p, kept)
        kept += 1
    p.state[HELD] = kept


@inner
def _shadow(m, p, gang):
    """When a gang finds a place if nobody else starts; then EXTRA is what is free beside it."""
    spread, found = m.params[const.SPREAD] > 0, 0
    for n in range(m.nodes.size):
        p.at[EXTRA, n] = p.at[FREE, n]
    changed, held = False, p.state[HELD]
    for i in range(held):
        j = p.held[i]
        for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
            n = m.entries[k].node
            p.at[EXTRA, n] += m.entries[k].part
            size, free = p.at[SIZE, n], p.at[EXTRA, n]
            rest = gang % size
            if spread or free == size or (rest > 0 and free >= rest):
                changed = True  # otherwise it has no place as before
        if not changed or (i + 1 < held and p.until[p.held[i + 1]] == p.until[j]):
            continue
        found = place(gang, p.at[EXTRA], p.at[SIZE], spread, p.at[CHOSEN], p.at[PARTS])
        if found > 0:
            for k in range(found):
                p.at[EXTRA, p.at[CHOSEN, k]] -= p.at[PARTS, k]
            return p.until[j]
        changed = False
    return const.NONE


@inner
def _place_beside(m, p, gang):
    """Choose nodes on GPUs that are free beside the first that has no place; how many, or 0."""
    for n in range(m.nodes.size):
        p.at[REST, n] = min(p.at[FREE, n], p.at[EXTRA, n])
    found = place(
        gang, p.at[REST], p.at[SIZE], m.params[const.SPREAD] > 0, p.at[CHOSEN], p.at[PARTS]
    )
    for k in range(found):
        p.at[EXTRA, p.at[CHOSEN, k]] -= p.at[PARTS, k]
    return found


@inner
def _next_hope(p, i, last, short, long):
    """The next of the queue from i on that is narrower than those that found no place.

    That is than `short`, or than `long` where it would end after `last` seconds.
    """
    while i < p.state[LENGTH]:
        if p.queue[GANG, i] < (long if p.queue[SECONDS, i] > last else short):
            break
        i += 1
    return i


@inner
def _close_gaps(p, last):
    """Move those before the last that has started up to it: fewer than those behind it."""
    front = last + 1
    for i in range(last, p.state[FRONT] - 1, -1):
        if p.queue[JOB, i] >= 0:
            front -= 1
            for row in range(3):
                p.queue[row, front] = p.queue[row, i]
    p.state[FRONT] = front


@inner
def _decide_easy(m, p):
    """Start jobs in the order of release, others beside the first that has no place."""
    now, room = m.count[const.NOW], m.count[const.FREE]
    while p.state[SEEN] < m.count[const.COMING]:
        _enter(m, p, m.lists[const.COMERS, p.state[SEEN]], 0, 0)
    _renew_held(m, p)
    for n in range(m.nodes.size):
        p.at[FREE, n] = m.nodes[n].free
    spread, shadow, blocked = m.params[const.SPREAD] > 0, const.NONE, False
    short = long = const.NONE  # the smallest gangs that found no place
    i, last = p.state[FRONT], -1
    while i < p.state[LENGTH] and room > 0 and short > 1:
        j, gang, seconds = p.queue[JOB, i], p.queue[GANG, i], p.queue[SECONDS, i]
        if blocked and now + seconds > shadow:
            found = _place_beside(m, p, gang)
            if found == 0:
                long = gang
        else:
            found = place(gang, p.at[FREE], p.at[SIZE], spread, p.at[CHOSEN], p.at[PARTS])
            if found == 0 and blocked:
                short = gang
        if found > 0:
            for k in range(found):
                p.at[FREE, p.at[CHOSEN, k]] -= p.at[PARTS, k]
            room -= gang
            _note_place(m, p, j, found)
            _begin(m, p, j, seconds)
            _sort_held(p, p.state[HELD] - 1)
            p.queue[JOB, i], last = -1, i
        elif not blocked:
            blocked, shadow = True, _shadow(m, p, gang)
        i = _next_hope(p, i + 1, shadow - now, short, long)
    if last >= 0:
        _close_gaps(p, last)


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_easy(m, p, until, most):
    """As :func:`~.keyed.advance_by_key`, for EASY backfilling."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide_easy(m, p)
    return const.MORE


# --- free GPUs of a node over time ----------------------------------------------------------------


@inner
def _step_at(p, n, time):
    """The step of node n that a time from now on is in."""
    low, high = p.at[FIRST, n], p.at[LAST, n]
    while high - low > 1:
        middle = (low + high) // 2
        if p.times[n, middle] <= time:
            low = middle
        else:
            high = middle
    return low


@inner
def _split(p, n, time):
    """The step of node n that begins at a time from now on."""
    k = _step_at(p, n, time)
    if p.times[n, k] == time:
        return k
    for i in range(p.at[LAST, n], k + 1, -1):
        p.times[n, i], p.free[n, i] = p.times[n, i - 1], p.free[n, i - 1]
    p.times[n, k + 1], p.free[n, k + 1] = time, p.free[n, k]
    p.at[LAST, n] += 1
    return k + 1


@inner
def _join(p, n, k):
    """Let a step be no step where nothing changes."""
    if k <= p.at[FIRST, n] or p.free[n, k] != p.free[n, k - 1]:
        return
    p.at[LAST, n] -= 1
    for i in range(k, p.at[LAST, n]):
        p.times[n, i], p.free[n, i] = p.times[n, i + 1], p.free[n, i + 1]


@inner
def _change(p, n, start, end, by):
    """Let so many more GPUs of node n be free from a start, now or later, to an end."""
    if p.at[LAST, n] + 2 > p.times.shape[1]:  # there is room before the first
        first = p.at[FIRST, n]
        for k in range(first, p.at[LAST, n]):
            p.times[n, k - first], p.free[n, k - first] = p.times[n, k], p.free[n, k]
        p.at[LAST, n] -= first
        p.at[FIRST, n] = 0
    first = _split(p, n, start)
    last = _split(p, n, end)
    for k in range(first, last):
        p.free[n, k] += by
    _join(p, n, last)
    _join(p, n, first)
    p.at[HOLDERS, n] -= 1 if by > 0 else -1
    p.state[MOST] = max(p.state[MOST], p.at[HOLDERS, n])


@inner
def _reserve_new(m, p, j, start, end, sign):
    """Take the GPUs that were chosen for j, with sign 1, or give them back, with -1."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].new_length):
        _change(p, m.entries[k].new_node, start, end, -sign * m.entries[k].new_part)


@inner
def _turn(m, p, now):
    """Let all steps of nodes begin now, and give back what has ended early."""
    for n in range(m.nodes.size):
        while p.at[FIRST, n] + 1 < p.at[LAST, n] and p.times[n, p.at[FIRST, n] + 1] <= now:
            p.at[FIRST, n] += 1
    kept = 0
    for i in range(p.state[HELD]):
        j = p.held[i]
        if m.jobs[j].phase == const.RUNNING:
            p.held[kept] = j
            kept += 1
            continue
        for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
            if p.until[j] > now:
                _change(p, m.entries[k].node, now, p.until[j], m.entries[k].part)
            else:
                p.at[HOLDERS, m.entries[k].node] -= 1
    p.state[HELD] = kept


@inner
def _first_on(p, n, after, need, seconds, limit):
    """When node n first has so many GPUs free for so long; `limit` where not before that."""
    k, last = _step_at(p, n, after), p.at[LAST, n]
    while k < last:
        start = max(after, p.times[n, k])
        if start >= limit:
            break
        if p.free[n, k] >= need:
            k += 1
            while k < last and p.free[n, k] >= need and p.times[n, k] < start + seconds:
                k += 1
            if k == last or p.times[n, k] >= start + seconds:
                return start
        k += 1
    return limit


@inner
def _smallest(p, m, c, row, count):
    """The so-many-th smallest number of a row, over nodes of class c; NONE for fewer nodes."""
    found, least = 0, -1
    while True:
        next_one, equal = const.NONE, 0
        for n in range(m.nodes.size):
            if m.nodes[n].kind == c and least < p.at[row, n] <= next_one:
                equal = 1 if p.at[row, n] < next_one else equal + 1
                next_one = p.at[row, n]
        found, least = found + equal, next_one
        if found >= count or least == const.NONE:
            return least


@inner
def _first_on_several(m, p, c, gang, seconds, now, limit):
    """When nodes of class c first have a place for so long; `limit` where not before that."""
    size = m.class_size[c]
    full, rest, time = gang // size, gang % size, now
    for n in range(m.nodes.size):
        p.at[WHOLE, n] = p.at[REST, n] = -1
    while True:
        for n in range(m.nodes.size):
            if m.nodes[n].kind != c:
                continue
            if p.at[WHOLE, n] < time:
                p.at[WHOLE, n] = _first_on(p, n, time, size, seconds, limit)
            if rest > 0 and p.at[REST, n] < time:
                p.at[REST, n] = _first_on(p, n, time, rest, seconds, limit)
        later = _smallest(p, m, c, WHOLE, full)
        if rest > 0:
            later = max(later, _smallest(p, m, c, REST, full + 1))
        if later >= limit:
            return limit
        if later == time:
            return time
        time = later


@inner
def _first_time(m, p, gang, seconds, now):
    """When a gang first has a consolidated place for so long."""
    best = const.NONE
    for c in range(m.class_size.size):
        if gang > m.class_size[c]:
            best = _first_on_several(m, p, c, gang, seconds, now, best)
            continue
        for n in range(m.nodes.size):
            if m.nodes[n].kind == c:
                best = _first_on(p, n, now, gang, seconds, best)
            if best == now:
                return best
    return best


@inner
def _find(p, gang, start, end):
    """Choose a place on the GPUs that are free throughout; on how many nodes, or 0."""
    for n in range(p.at.shape[1]):
        k, last = _step_at(p, n, start), p.at[LAST, n]
        low = p.free[n, k]
        k += 1
        while low > 0 and k < last and p.times[n, k] < end:
            low = min(low, p.free[n, k])
            k += 1
        p.at[FREE, n] = low
    return place(gang, p.at[FREE], p.at[SIZE], False, p.at[CHOSEN], p.at[PARTS])


# --- conservative backfilling ---------------------------------------------------------------------


@inner
def _look_ahead(p, n, now):
    """Note H_n(g) for all g."""
    g, k = p.best.size - 1, _step_at(p, n, now)
    while g > 0 and k < p.at[LAST, n]:
        while g > p.free[n, k] and g > 0:
            p.horizon[n, g] = max(now, p.times[n, k])
            g -= 1
        k += 1
    while g > 0:
        p.horizon[n, g] = const.NONE
        g -= 1


@inner
def _note_best(p):
    """Note the largest H(g) for all g."""
    for g in range(1, p.best.size):
        p.best[g] = 0
        for n in range(p.horizon.shape[0]):
            p.best[g] = max(p.best[g], p.horizon[n, g])


@inner
def _look_ahead_on(m, p, j, now):
    """Note H_n(g) anew on the nodes that were chosen for j."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].new_length):
        _look_ahead(p, m.entries[k].new_node, now)


@inner
def _move_forward(m, p, now):
    """Let each that can begin now, in nobody's way, have its reservation now."""
    for n in range(m.nodes.size):
        _look_ahead(p, n, now)
    _note_best(p)
    least = const.NONE  # the smallest gang for several nodes that has no place now
    for i in range(p.state[LENGTH]):
        gang, seconds, begin = p.queue[GANG, i], p.queue[SECONDS, i], p.queue[BEGIN, i]
        if begin <= now or gang >= least:
            continue
        if gang < p.best.size:
            if p.best[gang] < now + seconds and p.horizon[p.queue[NODE, i], gang] < begin:
                continue
        elif _find(p, gang, now, now + 1) == 0:
            least = gang
            continue
        j = p.queue[JOB, i]
        _reserve_new(m, p, j, begin, begin + seconds, -1)
        found = _find(p, gang, now, now + seconds)
        if found > 0:
            before = p.queue[NODE, i]
            if m.jobs[j].new_length > 1:
                _look_ahead_on(m, p, j, now)
            _note_place(m, p, j, found)
            begin, p.queue[BEGIN, i], p.queue[NODE, i] = now, now, p.at[CHOSEN, 0]
            _reserve_new(m, p, j, begin, begin + seconds, 1)
            _look_ahead(p, before, now)
            _look_ahead_on(m, p, j, now)
            _note_best(p)
        else:
            _reserve_new(m, p, j, begin, begin + seconds, 1)


@inner
def _has_room(p):
    """Whether nodes have room for one reservation more, and for those that move to now."""
    more = 1
    for n in range(p.at.shape[1]):
        more = max(more, 1 + p.at[SIZE, n])
    return 2 * (p.state[MOST] + more) + 4 <= p.times.shape[1]


@inner
def _decide_conservative(m, p):
    """Give reservations, and start whose time has come; False where there is no room for it."""
    now = m.count[const.NOW]
    if p.state[STAGE] == OPEN:
        if not _has_room(p):
            return False
        _turn(m, p, now)
        if m.numbers[0] > 0:
            _move_forward(m, p, now)
        p.state[STAGE] = TURNED
    while p.state[SEEN] < m.count[const.COMING]:
        if not _has_room(p):
            return False
        j = m.lists[const.COMERS, p.state[SEEN]]
        gang, seconds = m.jobs[j].gpus, p.seconds[j]
        start = _first_time(m, p, gang, seconds, now)
        found = _find(p, gang, start, start + seconds)
        _note_place(m, p, j, found)
        _reserve_new(m, p, j, start, start + seconds, 1)
        _enter(m, p, j, start, p.at[CHOSEN, 0])
    kept, soon = 0, const.NONE
    for i in range(p.state[LENGTH]):
        if p.queue[BEGIN, i] > now:
            soon = min(soon, p.queue[BEGIN, i])
            kept = _keep(p, i, kept)
        else:
            _begin(m, p, p.queue[JOB, i], p.queue[SECONDS, i])
    p.state[LENGTH], p.state[STAGE] = kept, CLOSED
    if kept > 0:
        m.count[const.TIMER] = soon
    return True


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_conservative(m, p, until, most):
    """As :func:`~.keyed.advance_by_key`, for conservative backfilling; NARROW for want of room."""
    for _ in range(most):
        if p.state[STAGE] == CLOSED:
            why = open_round(m, until)
            if why < const.QUIET:
                return why
            if why == const.QUIET:
                continue
            p.state[STAGE] = OPEN
        if not _decide_conservative(m, p):
            return const.NARROW
    return const.MORE


def easy(policy: Any) -> Rule:
    """Return the rule of EASY backfilling."""
    return Rule(
        name="easy", advance=advance_easy, numbers=(policy.overestimate,),
        plan=partial(new_queue, policy=policy, room=0),
    )  # fmt: skip


def conservative(policy: Any) -> Rule:
    """Return the rule of conservative backfilling."""
    return Rule(
        name="conservative", advance=advance_conservative, numbers=(policy.overestimate,),
        plan=partial(new_queue, policy=policy, room=STEPS), longer=more_steps,
    )  # fmt: skip
