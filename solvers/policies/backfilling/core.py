"""EASY and conservative backfilling: a queue by release, and the free GPUs of nodes over time.

The compiled driver keeps a queue from one decision to the next; a session makes one for each. Jobs
are numbers below the length of the columns by job. The queue has those that wait, and `held` those
that run, each with the time until which it is expected to run.

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
  looked at more closely. Wider gangs than the smallest node are, and all where gangs spread.

Numbers of steps, places in a row: those of node n are from ``at[FIRST, n]`` to before
``at[LAST, n]``, and the first of them has begun by now.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....instances.arrays import Floats, Ints
from ....instances.compiled import inner, tiered
from ...placement_core import NONE, place, place_in_pods

#: counters: jobs that came and were seen, where the queue ends, jobs that run, jobs that a decision
#: starts; how far a decision is; and the most holders that any node has had at a time; whether jobs
#: may end before they are expected to
SEEN, LENGTH, HELD, STARTED, STAGE, MOST, EARLY = range(7)
#: with EASY instead: where the queue begins
FRONT = MOST
#: rows of the queue
JOB, GANG, SECONDS, BEGIN, NODE = range(5)
#: rows of numbers by node
SIZE, FREE, EXTRA, CHOSEN, PARTS, WHOLE, REST, FIRST, LAST, HOLDERS = range(10)
#: numbers in a queue for which machine code is compiled at once
MANY_NUMBERS = 300_000


class JobQueue(NamedTuple):
    """What backfilling knows of jobs and nodes."""

    state: Ints  # counters
    gang: Ints  # of jobs: GPUs
    pod: Ints  # of jobs: so many of them on one node, 0 where nothing is said
    seconds: Ints  # of jobs: expected run times, in whole rounds
    factor: Floats  # of jobs: expected over true run times, where the driver wants to know
    until: Ints  # of jobs that run: expected end
    offset: Ints  # of jobs: where its places begin
    length: Ints  # of jobs: on how many nodes
    node: Ints  # of places
    part: Ints  # of places: GPUs
    queue: Ints  # rows of the jobs that wait, by release
    held: Ints  # jobs that run; with EASY by their expected end
    started: Ints  # jobs that a decision starts
    at: Ints  # rows of numbers by node
    sizes: Ints  # distinct sizes of nodes
    times: Ints  # (nodes, room): steps of a calendar, as above
    free: Ints  # (nodes, room)
    horizon: Ints  # (nodes, smallest size + 1): H_n(g)
    best: Ints  # (smallest size + 1,): the largest of them


def new_queue(
    sizes: Ints,
    gang: Ints,
    pod: Ints,
    seconds: Ints,
    factor: Floats,
    *,
    room: int = 0,
    spread: bool = False,
) -> JobQueue:
    """Return a queue of nobody on an empty cluster, with room for so many steps of a node."""
    n, nodes, total = gang.size, sizes.size, int(sizes.sum())
    most = np.minimum(gang, nodes)
    at = np.zeros((10, nodes), dtype=np.int64)
    at[SIZE], at[LAST] = sizes, 1
    free = np.zeros((nodes, room), dtype=np.int64)
    free[:, :1] = sizes[:, None]
    alone = 1 if spread else int(sizes.min()) + 1  # gangs below are on one node
    places = int(most.sum())
    return JobQueue(
        state=np.zeros(7, dtype=np.int64),
        gang=gang,
        pod=pod,
        seconds=seconds,
        factor=factor,
        until=np.zeros(n, dtype=np.int64),
        offset=np.cumsum(most) - most,
        length=np.zeros(n, dtype=np.int64),
        node=np.zeros(places, dtype=np.int64),
        part=np.zeros(places, dtype=np.int64),
        queue=np.zeros((5, n), dtype=np.int64),
        held=np.zeros(total, dtype=np.int64),
        started=np.zeros(total, dtype=np.int64),
        at=at,
        sizes=np.unique(sizes),
        times=np.zeros((nodes, room), dtype=np.int64),
        free=free,
        horizon=np.zeros((nodes, alone), dtype=np.int64),
        best=np.zeros(alone, dtype=np.int64),
    )


# --- the queue ------------------------------------------------------------------------------------


@inner
def enter(p, j, begin, node):
    """Put j at the end of the queue."""
    i = p.state[LENGTH]
    p.queue[JOB, i], p.queue[GANG, i], p.queue[SECONDS, i] = j, p.gang[j], p.seconds[j]
    p.queue[BEGIN, i], p.queue[NODE, i] = begin, node
    p.state[LENGTH] = i + 1


@inner
def _place(p, j, row, spread):
    """Choose a place for j on the GPUs of a row; on how many nodes, or 0."""
    if p.pod[j] > 0:
        pods = p.gang[j] // p.pod[j]
        return place_in_pods(pods, p.pod[j], True, p.at[row], p.at[CHOSEN], p.at[PARTS])
    return place(p.gang[j], p.at[row], p.at[SIZE], spread, p.at[CHOSEN], p.at[PARTS])


@inner
def note_place(p, j, found):
    """Let j have the nodes that were chosen."""
    p.length[j] = found
    for k in range(found):
        p.node[p.offset[j] + k], p.part[p.offset[j] + k] = p.at[CHOSEN, k], p.at[PARTS, k]


@inner
def begin(p, j, until):
    """Start j where it has its place."""
    p.until[j] = until
    p.held[p.state[HELD]] = p.started[p.state[STARTED]] = j
    p.state[HELD] += 1
    p.state[STARTED] += 1


# --- EASY -----------------------------------------------------------------------------------------


@inner
def sort_held(p, i):
    """Put the i-th of those that run behind those before it that end by then."""
    j = p.held[i]
    while i > 0 and p.until[p.held[i - 1]] > p.until[j]:
        p.held[i] = p.held[i - 1]
        i -= 1
    p.held[i] = j


@inner
def _shadow(p, head, spread):
    """When the head finds a place if nobody else starts; then EXTRA is what is free beside it."""
    gang, anywhere = p.gang[head], spread or p.pod[head] > 0
    for n in range(p.at.shape[1]):
        p.at[EXTRA, n] = p.at[FREE, n]
    changed, held = False, p.state[HELD]
    for i in range(held):
        j = p.held[i]
        for k in range(p.offset[j], p.offset[j] + p.length[j]):
            n = p.node[k]
            p.at[EXTRA, n] += p.part[k]
            size, free = p.at[SIZE, n], p.at[EXTRA, n]
            rest = gang % size
            if anywhere or free == size or (rest > 0 and free >= rest):
                changed = True  # otherwise it has no place as before
        if not changed or (i + 1 < held and p.until[p.held[i + 1]] == p.until[j]):
            continue
        found = _place(p, head, EXTRA, spread)
        if found > 0 and spread and p.pod[head] == 0:  # on those first that are busy until then
            for busy in (1, 0):
                for n in range(p.at.shape[1]):
                    part = min(gang, max(p.at[EXTRA, n] - busy * p.at[FREE, n], 0))
                    p.at[EXTRA, n] -= part
                    gang -= part
            return p.until[j]
        for k in range(found):
            p.at[EXTRA, p.at[CHOSEN, k]] -= p.at[PARTS, k]
        if found > 0:
            return p.until[j]
        changed = False
    return NONE


@inner
def _place_beside(p, j, spread):
    """Choose nodes on GPUs that are free beside the first that has no place; how many, or 0."""
    for n in range(p.at.shape[1]):
        p.at[REST, n] = min(p.at[FREE, n], p.at[EXTRA, n])
    found = _place(p, j, REST, spread)
    for k in range(found):
        p.at[EXTRA, p.at[CHOSEN, k]] -= p.at[PARTS, k]
    return found


@inner
def _next_candidate(p, i, last, short, long):
    """The next of the queue from i on that is narrower than those that found no place.

    That is than `short`, or than `long` where it would end after `last` seconds; or it has pods.
    """
    while i < p.state[LENGTH]:
        if p.queue[GANG, i] < (long if p.queue[SECONDS, i] > last else short):
            break
        if p.pod[p.queue[JOB, i]] > 0:
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
def start_by_easy(p, now, room, spread):
    """Start jobs in the order of release, others beside the first that has no place.

    `room` is the number of free GPUs; those of each node are FREE.
    """
    shadow, blocked = NONE, False
    short = long = NONE  # the smallest gangs that found no place
    i, last = p.state[FRONT], -1
    while i < p.state[LENGTH] and room > 0 and short > 1:
        j, gang, seconds = p.queue[JOB, i], p.queue[GANG, i], p.queue[SECONDS, i]
        if blocked and now + seconds > shadow:
            found = _place_beside(p, j, spread)
            if found == 0 and p.pod[j] == 0:
                long = gang
        else:
            found = _place(p, j, FREE, spread)
            if found == 0 and blocked and p.pod[j] == 0:
                short = gang
        if found > 0:
            for k in range(found):
                p.at[FREE, p.at[CHOSEN, k]] -= p.at[PARTS, k]
            room -= gang
            note_place(p, j, found)
            begin(p, j, now + seconds)
            sort_held(p, p.state[HELD] - 1)
            p.queue[JOB, i], last = -1, i
        elif not blocked:
            blocked, shadow = True, _shadow(p, j, spread)
        i = _next_candidate(p, i + 1, shadow - now, short, long)
    if last >= 0:
        _close_gaps(p, last)


@tiered(seconds=2, most=MANY_NUMBERS)
def easy_starts(p, now, room, spread):
    """As :func:`start_by_easy`, for a session."""
    start_by_easy(p, now, room, spread)


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
def _take(p, j, start, end):
    """Take the GPUs of j from a start, now or later, to an end."""
    for k in range(p.offset[j], p.offset[j] + p.length[j]):
        _change(p, p.node[k], start, end, -p.part[k])


@inner
def give_back(p, j, start, end):
    """Give back the GPUs of j."""
    for k in range(p.offset[j], p.offset[j] + p.length[j]):
        if end > start:
            _change(p, p.node[k], start, end, p.part[k])
        else:
            p.at[HOLDERS, p.node[k]] -= 1


@inner
def turn(p, now):
    """Let the steps of all nodes begin now."""
    for n in range(p.at.shape[1]):
        while p.at[FIRST, n] + 1 < p.at[LAST, n] and p.times[n, p.at[FIRST, n] + 1] <= now:
            p.at[FIRST, n] += 1


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
def _smallest(p, size, row, count):
    """The so-many-th smallest number of a row, over nodes of one size; NONE for fewer nodes."""
    found, least = 0, -1
    while True:
        next_one, equal = NONE, 0
        for n in range(p.at.shape[1]):
            if p.at[SIZE, n] == size and least < p.at[row, n] <= next_one:
                equal = 1 if p.at[row, n] < next_one else equal + 1
                next_one = p.at[row, n]
        found, least = found + equal, next_one
        if found >= count or least == NONE:
            return least


@inner
def _first_on_several(p, size, gang, seconds, now, limit):
    """When nodes of one size first have a place for so long; `limit` where not before that."""
    full, rest, time = gang // size, gang % size, now
    for n in range(p.at.shape[1]):
        p.at[WHOLE, n] = p.at[REST, n] = -1
    while True:
        for n in range(p.at.shape[1]):
            if p.at[SIZE, n] != size:
                continue
            if p.at[WHOLE, n] < time:
                p.at[WHOLE, n] = _first_on(p, n, time, size, seconds, limit)
            if rest > 0 and p.at[REST, n] < time:
                p.at[REST, n] = _first_on(p, n, time, rest, seconds, limit)
        later = _smallest(p, size, WHOLE, full)
        if rest > 0:
            later = max(later, _smallest(p, size, REST, full + 1))
        if later >= limit:
            return limit
        if later == time:
            return time
        time = later


@inner
def _first_time(p, gang, seconds, now):
    """When a gang first has a consolidated place for so long."""
    best = NONE
    for s in range(p.sizes.size):
        if gang > p.sizes[s]:
            best = _first_on_several(p, p.sizes[s], gang, seconds, now, best)
            continue
        for n in range(p.at.shape[1]):
            if p.at[SIZE, n] == p.sizes[s]:
                best = _first_on(p, n, now, gang, seconds, best)
            if best == now:
                return best
    return best


@inner
def _find(p, j, start, end, spread):
    """Choose a place on the GPUs that are free throughout; on how many nodes, or 0."""
    for n in range(p.at.shape[1]):
        k, last = _step_at(p, n, start), p.at[LAST, n]
        low = p.free[n, k]
        k += 1
        while low > 0 and k < last and p.times[n, k] < end:
            low = min(low, p.free[n, k])
            k += 1
        p.at[FREE, n] = low
    return _place(p, j, FREE, spread)


@inner
def _next_step(p, time):
    """When the number of free GPUs of a node next changes."""
    soon = NONE
    for n in range(p.at.shape[1]):
        k = _step_at(p, n, time) + 1
        if k < p.at[LAST, n]:
            soon = min(soon, p.times[n, k])
    return soon


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
        p.horizon[n, g] = NONE
        g -= 1


@inner
def _note_best(p):
    """Note the largest H(g) for all g."""
    for g in range(1, p.best.size):
        p.best[g] = 0
        for n in range(p.horizon.shape[0]):
            p.best[g] = max(p.best[g], p.horizon[n, g])


@inner
def _look_ahead_on(p, j, now):
    """Note H_n(g) anew on the nodes of j."""
    for k in range(p.offset[j], p.offset[j] + p.length[j]):
        _look_ahead(p, p.node[k], now)


@inner
def move_forward(p, now, spread):
    """Let each that can begin now, in nobody's way, have its reservation now."""
    for n in range(p.at.shape[1]):
        _look_ahead(p, n, now)
    _note_best(p)
    least = NONE  # the smallest gang for several nodes that has no place now
    for i in range(p.state[LENGTH]):
        j, gang, seconds = p.queue[JOB, i], p.queue[GANG, i], p.queue[SECONDS, i]
        begins, whole = p.queue[BEGIN, i], p.pod[j] == 0
        if begins <= now or (whole and gang >= least):
            continue
        if gang < p.best.size and (whole or gang == p.pod[j]):
            if p.best[gang] < now + seconds and p.horizon[p.queue[NODE, i], gang] < begins:
                continue
        elif _find(p, j, now, now + 1, spread) == 0:
            least = gang if whole else least
            continue
        give_back(p, j, begins, begins + seconds)
        found = _find(p, j, now, now + seconds, spread)
        if found > 0:
            before = p.queue[NODE, i]
            if p.length[j] > 1:
                _look_ahead_on(p, j, now)
            note_place(p, j, found)
            p.queue[BEGIN, i], p.queue[NODE, i] = now, p.at[CHOSEN, 0]
            _take(p, j, now, now + seconds)
            _look_ahead(p, before, now)
            _look_ahead_on(p, j, now)
            _note_best(p)
        else:
            _take(p, j, begins, begins + seconds)


@inner
def reserve(p, j, now, spread):
    """Give j, which has come, the earliest reservation that is in nobody's way."""
    gang, seconds, start = p.gang[j], p.seconds[j], now
    if spread or p.pod[j] > 0:
        while _find(p, j, start, start + seconds, spread) == 0:
            start = _next_step(p, start)
    else:
        start = _first_time(p, gang, seconds, now)
    note_place(p, j, _find(p, j, start, start + seconds, spread))
    _take(p, j, start, start + seconds)
    enter(p, j, start, p.at[CHOSEN, 0])


@inner
def start_due(p, now):
    """Start those whose time has come; when the next one's comes, NONE where nobody waits."""
    kept, soon = 0, NONE
    for i in range(p.state[LENGTH]):
        if p.queue[BEGIN, i] <= now:
            begin(p, p.queue[JOB, i], now + p.queue[SECONDS, i])
            continue
        soon = min(soon, p.queue[BEGIN, i])
        if i > kept:
            for row in range(5):
                p.queue[row, kept] = p.queue[row, i]
        kept += 1
    p.state[LENGTH] = kept
    return soon


@inner
def has_room(p):
    """Whether nodes have room for one reservation more, and for those that move to now."""
    more = 1
    for n in range(p.at.shape[1]):
        more = max(more, 1 + p.at[SIZE, n])
    return 2 * (p.state[MOST] + more) + 4 <= p.times.shape[1]


@inner
def _is_overdrawn(p):
    """Whether more GPUs of a node are held at a time than it has."""
    for n in range(p.at.shape[1]):
        for k in range(p.at[FIRST, n], p.at[LAST, n]):
            if p.free[n, k] < 0:
                return True
    return False


@tiered(seconds=3, most=MANY_NUMBERS)
def renew(p, now, early, spread):
    """Make the calendar of a session, and reserve for all; False where GPUs are held twice.

    Jobs are first those that run, then those with reservations, which stand in the queue, then
    those that have none. With `early` those that can begin now move forward.
    """
    for n in range(p.at.shape[1]):
        p.times[n, 0] = now
    for i in range(p.state[HELD]):
        _take(p, p.held[i], now, p.until[p.held[i]])
    for i in range(p.state[LENGTH]):
        start = max(now, p.queue[BEGIN, i])
        _take(p, p.queue[JOB, i], start, start + p.queue[SECONDS, i])
    if p.state[LENGTH] > 0 and _is_overdrawn(p):
        return False
    if early:
        move_forward(p, now, spread)
    for j in range(p.state[HELD] + p.state[LENGTH], p.gang.size):
        reserve(p, j, now, spread)
    return True
