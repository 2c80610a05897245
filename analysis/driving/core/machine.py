"""The trace driver as machine code: the same steps as :mod:`.drive_reference`, on arrays.

Numbers are integers throughout, but for fair shares, whose operations are those of
:class:`gangsched.formulations.FairShares` in the same order: both engines give the same event log.

A policy that names a compiled :class:`~gangsched.solvers.policy.Rule` decides inside; for others
the core returns to Python at each decision. What makes it fast: waiting jobs of policies with a key
stand in one heap a gang size, so that a decision looks at the best job of each size that fits; LTGF
and Themis order only the candidates that fit, in one heap a user; full orders are made only when a
selected job finds no place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....instances import Instance
from ....instances.model import FULL_SPEED
from ....solvers.compiled import compiled, inlined, inner
from ....solvers.placement import reaches
from ....solvers.policy import (
    Decision,
    Phase,
    Policy,
    Preempts,
    Rule,
    RuleKind,
    Rules,
    Seen,
    Session,
    Start,
    State,
)
from ..decisions import MOST_FRUITLESS, check_decision, check_nodes, give_ps, left_out
from ..ledger import Ledger, ps_of_rows, ps_to_rows
from ..run import EventKind

Ints = NDArray[np.int64]

#: how a policy decides: by Python, by a key (smallest first), or by users' and jobs' fairness
PYTHON, FIFO, SJF, SRTF, LAS, TIRESIAS, LTGF, THEMIS = (int(kind) for kind in RuleKind)

UNSEEN, WAITING, RUNNING, FINISHED, REJECTED = (int(phase) for phase in Phase)
VISIBLE, START, SUSPEND, KILL, FINISH, PROFILE, PROFILED = (int(kind) for kind in EventKind)
NEVER, LEASE, ALWAYS = (int(kind) for kind in Preempts)

#: counters
NOW, ROUNDS, DECISIONS, COMING, RUNS, WAITS, SEGMENTS, ENTRIES, EVENTS, TIMER = range(10)
FREE, TOTAL, ABLE, FRUITLESS = range(10, 14)
#: why the core returns
DONE, UNTIL, MORE, ROOM, DECIDE, STUCK = range(6)
#: parameters: the rules, and how the policy preempts and blocks
TAU, LEASE_LENGTH, SYNCHRONOUS, SPREAD, PATIENCE, SKIP, KIND, PREEMPTS, BLOCKING, ASKED = range(10)
NONE = 2**62
#: rows of `lists`
COMERS, RUNNERS, WAITERS, HEAP, PICKED, LOSERS, KEPT, FAILED, STARTED, REST, GROUP = range(11)

KIND_OF_JOB = np.dtype(
    [
        *((name, np.int64) for name in ("user", "gang")),
        ("weight", np.float64),
        *((name, np.int64) for name in ("seen", "time")),
        *((name, np.float64) for name in ("value", "slope")),
    ]
)
GANG = np.dtype(
    [(name, np.int64) for name in ("size", "reach", "heap_at", "heap_length", "waiting")]
)
ENTRY = np.dtype([(name, np.int64) for name in ("node", "part", "new_node", "new_part")])
SEGMENT = np.dtype([(name, np.int64) for name in ("job", "start", "end", "ptr")])
PART = np.dtype([(name, np.int64) for name in ("node", "gpus")])
EVENT = np.dtype([("time", np.int64), ("job", np.int64), ("kind", np.int8)])


class Machine(NamedTuple):
    """Everything that the compiled functions read and write."""

    count: Ints  # type: ignore[assignment]  # not tuple.count
    params: Ints
    numbers: NDArray[np.float64]  # of the policy's rule
    jobs: NDArray[Any]
    nodes: NDArray[Any]
    users: NDArray[Any]
    kinds: NDArray[Any]  # distinct (user, gang, weight): jobs of one fair share
    gangs: NDArray[Any]  # distinct (gang size, reach), with the waiting jobs of each as a heap
    least: Ints  # of each reach, the smallest gang that found no place
    entries: NDArray[Any]  # nodes of each job: held (or held last), and chosen in this round
    speeds: Ints  # (jobs, models): millionths, 0 where a job cannot run
    fastest: Ints  # (jobs, models): models by falling speed
    first_class: Ints  # of each model, and the number of classes
    class_size: Ints  # distinct (model, node size): the size
    level: Ints  # (classes, most GPUs + 1): nodes with so many free GPUs
    active: Ints  # time, job seconds of active jobs until then, active jobs now
    lists: Ints  # rows of job numbers
    segments: NDArray[Any]
    parts: NDArray[Any]
    events: NDArray[Any]


# --- small things --------------------------------------------------------------------------------


@inner
def _round_up(time, tau):
    return -(-time // tau) * tau


@inner
def _new_lease(m, now):
    length = m.params[LEASE_LENGTH]
    return (now // length + 1) * length if m.params[SYNCHRONOUS] else now + length


@inner
def _event(m, kind, j, time):
    i = m.count[EVENTS]
    m.events[i].time, m.events[i].job, m.events[i].kind = time, j, kind
    m.count[EVENTS] = i + 1


@inner
def _enter(m, row, counter, j):
    m.lists[row, m.count[counter]] = j
    m.jobs[j].place_in = m.count[counter]
    m.count[counter] += 1


@inner
def _leave(m, row, counter, j):
    m.count[counter] -= 1
    i, n = m.jobs[j].place_in, m.count[counter]
    if row == RUNNERS and m.params[PREEMPTS] == ALWAYS and m.params[KIND] != PYTHON:
        for k in range(i, n):  # the others stay sorted
            m.lists[row, k] = m.lists[row, k + 1]
            m.jobs[m.lists[row, k]].place_in = k
    else:
        last = m.lists[row, n]
        m.lists[row, i] = last
        m.jobs[last].place_in = i


@inner
def _change_free(m, n, by):
    c = m.nodes[n].kind
    m.level[c, m.nodes[n].free] -= 1
    m.nodes[n].free += by
    m.level[c, m.nodes[n].free] += 1
    m.count[FREE] += by


@inner
def _give_old(m, j):
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        _change_free(m, m.entries[k].node, m.entries[k].part)


@inner
def _take_old(m, j):
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        _change_free(m, m.entries[k].node, -m.entries[k].part)


@inner
def _old_is_free(m, j):
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        if m.nodes[m.entries[k].node].free < m.entries[k].part:
            return False
    return True


@inner
def _new_is_old(m, j):
    """Whether the new nodes of j are those that it has, or had last, in any order."""
    if m.jobs[j].new_length != m.jobs[j].length:
        return False
    first, last = m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length
    for k in range(first, last):
        i = k
        if m.entries[i].new_node != m.entries[k].node:
            i = first
            while i < last and m.entries[i].new_node != m.entries[k].node:
                i += 1
            if i == last:
                return False
        if m.entries[i].new_part != m.entries[k].part:
            return False
    return True


@inner
def _keep_old(m, j):
    """Let j have the nodes that it had."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        m.entries[k].new_node, m.entries[k].new_part = m.entries[k].node, m.entries[k].part
    m.jobs[j].new_length = m.jobs[j].length
    _take_old(m, j)


@inner
def _take_new(m, j):
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].new_length):
        _change_free(m, m.entries[k].new_node, -m.entries[k].new_part)


@inner
def _give_new(m, j):
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].new_length):
        _change_free(m, m.entries[k].new_node, m.entries[k].new_part)


# --- placement, as solvers.placement.place_by_speed ----------------------------------------------


@inner
def _place(m, j):
    """Choose nodes for j into its new entries, without taking them."""
    return _place_gang(m, j, m.jobs[j].gpus)


@inner
def _place_gang(m, j, gang):
    m.jobs[j].new_length = 0
    if gang > m.count[FREE]:
        return False
    for i in range(m.fastest.shape[1]):
        g = m.fastest[j, i]
        if m.speeds[j, g] == 0:
            return False
        for c in range(m.first_class[g], m.first_class[g + 1]):
            if _place_on_class(m, j, gang, c):
                return True
        if m.params[SPREAD] and gang <= _free_of_model(m, g):
            _place_anywhere(m, j, gang, g)
            return True
    return False


@inner
def _free_of_model(m, g):
    free = 0
    for c in range(m.first_class[g], m.first_class[g + 1]):
        for f in range(1, m.class_size[c] + 1):
            free += f * m.level[c, f]
    return free


@inner
def _hopeful(m, j):
    """Whether no gang like j or smaller, with the same models to run on, has found no place."""
    return m.jobs[j].gpus < m.least[m.jobs[j].reach]


@inner
def _give_up(m, j):
    """Note that j has found no place."""
    m.least[m.jobs[j].reach] = min(m.least[m.jobs[j].reach], m.jobs[j].gpus)


@inner
def _hope(m):
    """Forget who has found no place."""
    for r in range(m.least.size):
        m.least[r] = NONE


@inner
def _place_on_class(m, j, gang, c):
    size = m.class_size[c]
    full, rest = gang // size, gang % size
    if m.level[c, size] < full:
        return False
    best = -1
    if rest:
        above = m.level[c, size] - full
        for f in range(rest, size):
            above += m.level[c, f]
        if above == 0:
            return False
        level = rest  # the least level at which a node is left
        while level < size and m.level[c, level] == 0:
            level += 1
    at, found = m.jobs[j].offset, 0
    for n in range(m.nodes.size):
        if m.nodes[n].kind != c:
            continue
        if found < full and m.nodes[n].free == size:
            m.entries[at + found].new_node, m.entries[at + found].new_part = n, size
            found += 1
        elif rest and best < 0 and m.nodes[n].free == level:
            best = n
        if found == full and (best >= 0 or not rest):
            break
    if rest:
        m.entries[at + found].new_node, m.entries[at + found].new_part = best, rest
        found += 1
    m.jobs[j].new_length = found
    return True


@inner
def _place_anywhere(m, j, gang, g):
    """On any free GPUs of model g, of which there are enough."""
    at, found = m.jobs[j].offset, 0
    most = 0
    for n in range(m.nodes.size):
        if m.nodes[n].model == g:
            most = max(most, m.nodes[n].free)
    for level in range(most, 0, -1):
        for n in range(m.nodes.size):
            if m.nodes[n].free == level and m.nodes[n].model == g:
                m.entries[at + found].new_node, m.entries[at + found].new_part = n, min(gang, level)
                gang -= min(gang, level)
                found += 1
                if gang == 0:
                    m.jobs[j].new_length = found
                    return


# --- fair shares, as formulations.FairShares -----------------------------------------------------


@inner
def _turn_user(m, u, t):
    demand = m.users[u].demand
    fair = 0.0
    if demand > 0:
        alone = m.users.size == 1
        fair = float(m.count[TOTAL]) if alone else min(float(demand), m.users[u].quota)
    m.users[u].value = m.users[u].value + m.users[u].slope * (t - m.users[u].time)
    m.users[u].time = t
    m.users[u].slope = fair
    for k in range(m.users[u].first_kind, m.users[u].last_kind):
        if m.kinds[k].seen:
            m.kinds[k].value = m.kinds[k].value + m.kinds[k].slope * (t - m.kinds[k].time)
            m.kinds[k].time = t
            slope = 0.0
            if demand > 0:
                slope = min(float(m.kinds[k].gang), fair * m.kinds[k].weight / m.users[u].total)
            m.kinds[k].slope = slope


@inner
def _kind_at(m, k, t):
    return m.kinds[k].value + m.kinds[k].slope * (t - m.kinds[k].time)


@inner
def _user_at(m, u, t):
    return m.users[u].value + m.users[u].slope * (t - m.users[u].time)


@inner
def _job_fair(m, j, t):
    return _kind_at(m, m.jobs[j].kind_of, t) - m.jobs[j].fair_start


@inner
def _count_active(m, by, t):
    m.active[1] += m.active[2] * (t - m.active[0])
    m.active[0] = t
    m.active[2] += by


# --- waiting jobs by key -------------------------------------------------------------------------


@inner
def _less(m, a, b):
    if m.jobs[a].key != m.jobs[b].key:
        return m.jobs[a].key < m.jobs[b].key
    return m.jobs[a].rank < m.jobs[b].rank


@inner
def _push(m, j):
    g = m.jobs[j].gang_class
    base, i = m.gangs[g].heap_at, m.gangs[g].heap_length
    m.gangs[g].heap_length = i + 1
    while i > 0:
        parent = (i - 1) // 2
        if not _less(m, j, m.lists[HEAP, base + parent]):
            break
        m.lists[HEAP, base + i] = m.lists[HEAP, base + parent]
        i = parent
    m.lists[HEAP, base + i] = j


@inner
def _pop(m, g):
    base = m.gangs[g].heap_at
    top = m.lists[HEAP, base]
    m.gangs[g].heap_length -= 1
    n = m.gangs[g].heap_length
    j, i = m.lists[HEAP, base + n], 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and _less(m, m.lists[HEAP, base + child + 1], m.lists[HEAP, base + child]):
            child += 1
        if not _less(m, m.lists[HEAP, base + child], j):
            break
        m.lists[HEAP, base + i] = m.lists[HEAP, base + child]
        i = child
    m.lists[HEAP, base + i] = j
    return top


@inner
def _best_waiting(m, room):
    """The gang class with the most important hopeful job of at most `room` GPUs, or -1."""
    best = -1
    for g in range(m.gangs.size):
        if m.gangs[g].heap_length == 0 or m.gangs[g].size > room:
            continue
        if m.gangs[g].size >= m.least[m.gangs[g].reach]:
            continue
        if best < 0 or _less(
            m, m.lists[HEAP, m.gangs[g].heap_at], m.lists[HEAP, m.gangs[best].heap_at]
        ):
            best = g
    return best


@inner
def _set_key(m, j, t):
    kind = m.params[KIND]
    current = t - m.jobs[j].since if m.jobs[j].phase == RUNNING else 0
    if kind == FIFO:
        m.jobs[j].key = 0
    elif kind == SJF:
        m.jobs[j].key = m.jobs[j].work
    elif kind == SRTF:
        m.jobs[j].key = m.jobs[j].left
        if m.jobs[j].phase == RUNNING:
            m.jobs[j].key -= _done(m, j, t)
    elif kind == LAS:
        m.jobs[j].key = m.jobs[j].held + m.jobs[j].gpus * current
    elif kind == TIRESIAS:
        attained = m.jobs[j].held + m.jobs[j].gpus * current
        queue = 0
        for k in range(m.numbers.size):
            if attained >= m.numbers[k]:
                queue += 1
        m.jobs[j].key = queue


@inner
def _next_demotion(m, j):
    """When a running job reaches the next threshold of Tiresias."""
    for k in range(m.numbers.size):
        missing = np.int64(m.numbers[k]) - m.jobs[j].held
        if m.jobs[j].key == k:
            return m.jobs[j].since + -(-missing // m.jobs[j].gpus)
    return NONE


# --- jobs ----------------------------------------------------------------------------------------


@inner
def _done(m, j, t):
    """Seconds of service that j got until t in its segment."""
    seconds = max(0, t - m.jobs[j].since - m.jobs[j].delay)
    if m.jobs[j].speed != FULL_SPEED:
        return seconds * m.jobs[j].speed // FULL_SPEED
    return seconds


@inner
def _speed_on_new(m, j):
    """How fast j runs with its gang on its new nodes."""
    n = m.jobs[j].new_length
    if n > 1 and m.jobs[j].split_speed != FULL_SPEED:
        for k in range(m.jobs[j].offset, m.jobs[j].offset + n):
            if m.nodes[m.entries[k].new_node].size >= m.jobs[j].gpus:
                return m.jobs[j].split_speed
    return m.speeds[j, m.nodes[m.entries[m.jobs[j].offset].new_node].model]


@inner
def _to_wait(m, j, t, stays):
    """Let j wait; if it `stays`, where policies with a key look for it."""
    m.jobs[j].phase, m.jobs[j].since = WAITING, t
    _enter(m, WAITERS, WAITS, j)
    m.gangs[m.jobs[j].gang_class].waiting += 1
    if stays and FIFO <= m.params[KIND] <= TIRESIAS:
        _set_key(m, j, t)
        _push(m, j)


@inner
def _begin(m, j, gpus, speed):
    """Start j on its new nodes, which are already taken."""
    now = m.count[NOW]
    delay = m.jobs[j].overhead if m.jobs[j].starts else 0
    if m.jobs[j].migration != m.jobs[j].overhead and m.jobs[j].starts and not _new_is_old(m, j):
        delay = m.jobs[j].migration
    seconds = m.jobs[j].left
    if speed != FULL_SPEED:
        seconds = -(-seconds * FULL_SPEED // speed)
    m.jobs[j].delay, m.jobs[j].speed = delay, speed
    m.jobs[j].lease_end = _new_lease(m, now)
    m.jobs[j].starts += 1
    m.jobs[j].finish = now + delay + seconds
    _hold(m, j, gpus, START)


@inner
def _begin_profile(m, j, gpus, seconds):
    m.jobs[j].delay = m.jobs[j].speed = 0
    m.jobs[j].finish = m.jobs[j].lease_end = m.count[NOW] + seconds
    _hold(m, j, gpus, PROFILE)


@inner
def _hold(m, j, gpus, kind):
    now = m.count[NOW]
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].new_length):
        m.entries[k].node, m.entries[k].part = m.entries[k].new_node, m.entries[k].new_part
    m.jobs[j].length = m.jobs[j].new_length
    m.jobs[j].phase, m.jobs[j].since, m.jobs[j].held_gpus = RUNNING, now, gpus
    m.jobs[j].blocked = -1
    if m.jobs[j].first < 0:
        m.jobs[j].first = now
    u = m.jobs[j].user
    m.users[u].rate += gpus
    m.users[u].base -= gpus * now
    _leave(m, WAITERS, WAITS, j)
    m.gangs[m.jobs[j].gang_class].waiting -= 1
    _enter(m, RUNNERS, RUNS, j)
    _event(m, kind, j, now)


@inner
def _end_segment(m, j, time, kind, give):
    if give:
        _give_old(m, j)
    s, e = m.count[SEGMENTS], m.count[ENTRIES]
    m.segments[s].job, m.segments[s].start, m.segments[s].end, m.segments[s].ptr = (
        j,
        m.jobs[j].since,
        time,
        e,
    )
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        m.parts[e].node, m.parts[e].gpus = m.entries[k].node, m.entries[k].part
        e += 1
    m.count[SEGMENTS], m.count[ENTRIES] = s + 1, e
    gpus, u = m.jobs[j].held_gpus, m.jobs[j].user
    m.jobs[j].held += gpus * (time - m.jobs[j].since)
    m.users[u].rate -= gpus
    m.users[u].base += gpus * time
    m.jobs[j].held_gpus = m.jobs[j].speed = 0
    _leave(m, RUNNERS, RUNS, j)
    _event(m, kind, j, time)


@inner
def _interrupt(m, j, kind, give, stays):
    """Stop j at this round; what it did in its overhead is lost."""
    now = m.count[NOW]
    until = now
    if kind == KILL:
        length = m.params[LEASE_LENGTH]
        if m.params[SYNCHRONOUS]:
            until = max(m.jobs[j].since, now // length * length)
        else:
            until = m.jobs[j].since + (now - m.jobs[j].since) // length * length
    done = _done(m, j, until)
    m.jobs[j].left -= done
    m.count[FRUITLESS] = 0 if done > 0 else m.count[FRUITLESS] + 1
    _end_segment(m, j, now, kind, give)
    _to_wait(m, j, now, stays)


# --- a round -------------------------------------------------------------------------------------


@inner
def _next_round(m):
    now, tau = m.count[NOW], m.params[TAU]
    coming, runs, waits = m.count[COMING], m.count[RUNS], m.count[WAITS]
    if coming == m.count[ABLE] and runs == 0 and waits == 0:
        return NONE
    first = m.jobs[m.lists[COMERS, coming]].visible if coming < m.count[ABLE] else NONE
    if not m.params[SKIP]:
        return 0 if now < 0 else now + tau
    if now < 0:
        return first
    best = first
    demotions = waits > 0 and m.params[KIND] == TIRESIAS
    leases = (waits > 0 or m.params[ASKED]) and m.params[PREEMPTS] == LEASE
    length = m.params[LEASE_LENGTH]
    for i in range(runs):
        j = m.lists[RUNNERS, i]
        best = min(best, _round_up(m.jobs[j].finish, tau))
        if leases:
            end = m.jobs[j].lease_end
            if end <= now:
                end += ((now - end) // length + 1) * length
            best = min(best, end)
        if demotions:
            time = _next_demotion(m, j)
            if time < NONE:
                best = min(best, max(now + tau, _round_up(time, tau)))
    if waits > 0 or (runs > 0 and m.params[ASKED]):
        if m.params[PREEMPTS] == ALWAYS and m.params[PATIENCE] >= 0:
            for i in range(waits):
                blocked = m.jobs[m.lists[WAITERS, i]].blocked
                if blocked >= 0:
                    time = _round_up(blocked + max(1, m.params[PATIENCE]), tau)
                    if time > now:
                        best = min(best, time)
                    if m.params[KIND] == SRTF:  # who is selected can change, though not who runs
                        best = min(best, now + tau)
        if m.count[TIMER] > now:
            best = min(best, _round_up(m.count[TIMER], tau))
        if m.params[KIND] == LAS:
            best = min(best, now + tau)
    return best


@inner
def _complete(m):
    now, found = m.count[NOW], 0
    for i in range(m.count[RUNS]):
        j = m.lists[RUNNERS, i]
        if m.jobs[j].finish <= now:
            k = found
            while k > 0:
                other = m.lists[PICKED, k - 1]
                if m.jobs[other].finish < m.jobs[j].finish or (
                    m.jobs[other].finish == m.jobs[j].finish and other < j
                ):
                    break
                m.lists[PICKED, k] = other
                k -= 1
            m.lists[PICKED, k] = j
            found += 1
    for i in range(found):
        j = m.lists[PICKED, i]
        m.jobs[j].fair = _job_fair(m, j, m.jobs[j].finish)
    for i in range(found):
        j = m.lists[PICKED, i]
        if m.jobs[j].speed == 0:
            _end_segment(m, j, m.jobs[j].finish, PROFILED, True)
            _to_wait(m, j, now, True)
            m.jobs[j].profiled += 1
            m.count[FRUITLESS] += 1
            continue
        m.count[FRUITLESS] = 0
        _end_segment(m, j, m.jobs[j].finish, FINISH, True)
        m.jobs[j].left, m.jobs[j].end, m.jobs[j].phase = 0, m.jobs[j].finish, FINISHED
        u = m.jobs[j].user
        m.users[u].demand -= m.jobs[j].gpus
        m.users[u].total = m.users[u].total - m.jobs[j].weight if m.users[u].demand > 0 else 0.0
        _turn_user(m, u, now)
        _count_active(m, -1, now)


@inner
def _arrive(m):
    now, first = m.count[NOW], m.count[COMING]
    while m.count[COMING] < m.count[ABLE]:
        j = m.lists[COMERS, m.count[COMING]]
        if m.jobs[j].visible > now:
            break
        m.count[COMING] += 1
        m.count[FRUITLESS] = 0
        u, k = m.jobs[j].user, m.jobs[j].kind_of
        if not m.kinds[k].seen:
            m.kinds[k].seen, m.kinds[k].time = True, now
        m.users[u].demand += m.jobs[j].gpus
        m.users[u].total = m.users[u].total + m.jobs[j].weight
        _turn_user(m, u, now)
        _count_active(m, 1, now)
        _event(m, VISIBLE, j, now)
        _to_wait(m, j, now, True)
    for i in range(first, m.count[COMING]):
        j = m.lists[COMERS, i]
        k = m.jobs[j].kind_of
        m.jobs[j].fair_start = _kind_at(m, k, now)
        m.jobs[j].fair_before = m.kinds[k].slope * (now - m.jobs[j].release)
        m.jobs[j].active_start = m.active[1]


@inlined
def _renew_silently(m):
    now, length = m.count[NOW], m.params[LEASE_LENGTH]
    for i in range(m.count[RUNS]):
        j = m.lists[RUNNERS, i]
        late = now - m.jobs[j].lease_end
        if late > 0:
            m.jobs[j].lease_end += -(-late // length) * length


# --- from a selection to the next segments -------------------------------------------------------


@inner
def _due(m, j):
    return m.jobs[j].blocked >= 0 and m.count[NOW] - m.jobs[j].blocked >= m.params[PATIENCE]


@inlined
def _displace(m, j, kept, losers):
    """Room for j among GPUs that jobs later in the selection would keep: (kept, losers)."""
    gone, found = 0, False
    for i in range(kept - 1, -1, -1):
        k = m.lists[KEPT, i]
        if m.jobs[k].turn < m.jobs[j].turn:
            break
        _give_old(m, k)
        gone += 1
        if _place(m, j):
            found = True
            break
    first = kept - gone
    if not found:
        for i in range(first, kept):
            _take_old(m, m.lists[KEPT, i])
        return kept, losers, False
    _take_new(m, j)
    stay = first
    for i in range(first, kept):
        k = m.lists[KEPT, i]
        if _old_is_free(m, k):
            _take_old(m, k)
            m.lists[KEPT, stay] = k
            stay += 1
        else:
            m.lists[LOSERS, losers] = k
            losers += 1
            m.jobs[k].blocked = m.count[NOW]  # it is selected, and finds no place
    _give_new(m, j)
    return stay, losers, True


@inner
def _place_selected(m, selected, kept, losers, expired):
    """Give nodes to the selected waiting jobs: (started, failed, kept, losers)."""
    started = failed = 0
    displacing = m.params[PATIENCE] >= 0 and expired
    own = losers
    for i in range(own):
        _give_old(m, m.lists[LOSERS, i])
        m.jobs[m.lists[LOSERS, i]].new_length = 0
    _hope(m)
    for i in range(selected):
        j = m.lists[PICKED, i]
        found, displaced = _hopeful(m, j) and _place(m, j), False
        if not found and displacing and _due(m, j):
            kept, losers, found = _displace(m, j, kept, losers)
            displaced = found
            for k in range(own, losers):
                m.jobs[m.lists[LOSERS, k]].new_length = 0
            _hope(m)
        if found:
            _take_new(m, j)
            m.lists[STARTED, started] = j
            started += 1
            if displaced:  # it may have left room for those before it
                before, failed = failed, 0
                for k in range(before):
                    i_before = m.lists[FAILED, k]
                    if _hopeful(m, i_before) and _place(m, i_before):
                        _take_new(m, i_before)
                        m.lists[STARTED, started] = i_before
                        started += 1
                    else:
                        _give_up(m, i_before)
                        m.lists[FAILED, failed] = i_before
                        failed += 1
            continue
        _give_up(m, j)
        m.lists[FAILED, failed] = j
        failed += 1
        if expired and m.jobs[j].blocked < 0:
            m.jobs[j].blocked = m.count[NOW]
        if m.params[BLOCKING]:
            break
    return started, failed, kept, losers


@inner
def _try(m, j, started):
    """Backfill: its old nodes first, then any place; returns how many have started."""
    if m.jobs[j].phase == RUNNING and _old_is_free(m, j):
        _keep_old(m, j)
    elif _place(m, j):
        _take_new(m, j)
    else:
        m.jobs[j].new_length = 0
        return started
    m.lists[STARTED, started] = j
    return started + 1


@inner
def _settle(m, started, kept, losers):
    """Suspension is decided only now: the same nodes as before are a renewal."""
    now = m.count[NOW]
    for i in range(losers):
        j = m.lists[LOSERS, i]
        if m.jobs[j].new_length == 0 or not _new_is_old(m, j):
            _interrupt(m, j, SUSPEND, False, m.jobs[j].new_length == 0)
        else:
            m.jobs[j].lease_end = _new_lease(m, now)
            m.jobs[j].blocked = -1
    for i in range(started):
        j = m.lists[STARTED, i]
        if m.jobs[j].phase == WAITING:
            _begin(m, j, m.jobs[j].gpus, _speed_on_new(m, j))
    if m.params[PREEMPTS] == LEASE:
        for i in range(m.count[RUNS]):
            j = m.lists[RUNNERS, i]
            if m.jobs[j].lease_end <= now:
                m.jobs[j].lease_end = _new_lease(m, now)


# --- policies with a key -------------------------------------------------------------------------


@inner
def _sort_by_key(m, row, n):
    for i in range(1, n):
        j, k = m.lists[row, i], i
        while k > 0 and _less(m, j, m.lists[row, k - 1]):
            m.lists[row, k] = m.lists[row, k - 1]
            k -= 1
        m.lists[row, k] = j


@inlined
def _sort_running(m):
    _sort_by_key(m, RUNNERS, m.count[RUNS])
    for i in range(m.count[RUNS]):
        m.jobs[m.lists[RUNNERS, i]].place_in = i


@inlined
def _decide_by_key(m):
    now, runs = m.count[NOW], m.count[RUNS]
    always = m.params[PREEMPTS] == ALWAYS
    room = m.count[FREE]
    _hope(m)
    if always:
        for i in range(runs):
            j = m.lists[RUNNERS, i]
            room += m.jobs[j].gpus
            _set_key(m, j, now)
        _sort_running(m)
    selected = kept = losers = turn = i = 0
    g = _best_waiting(m, NONE if m.params[BLOCKING] else room)
    while True:
        if g >= 0 and m.gangs[g].size > room and not m.params[BLOCKING]:
            g = _best_waiting(m, room)
        r = m.lists[RUNNERS, i] if always and i < runs else -1
        if g < 0 and r < 0:
            break
        if r >= 0 and (g < 0 or _less(m, r, m.lists[HEAP, m.gangs[g].heap_at])):
            i += 1
            if m.jobs[r].gpus <= room:
                room -= m.jobs[r].gpus
                m.lists[KEPT, kept] = r
                m.jobs[r].turn = turn
                turn += 1
                kept += 1
            else:
                m.lists[LOSERS, losers] = r
                losers += 1
        elif m.gangs[g].size > room:
            break  # blocking
        else:
            j = _pop(m, g)
            room -= m.jobs[j].gpus
            m.lists[PICKED, selected] = j
            m.jobs[j].turn = turn
            turn += 1
            selected += 1
            g = _best_waiting(m, NONE if m.params[BLOCKING] else room)
    if always:  # where blocking ended the walk
        while i < runs:
            m.lists[LOSERS, losers] = m.lists[RUNNERS, i]
            losers += 1
            i += 1
    if selected == 0 and losers == 0:
        return
    before = losers
    started, failed, kept, losers = _place_selected(m, selected, kept, losers, always and runs > 0)
    if losers > before:
        _sort_by_key(m, LOSERS, losers)
    placed = started
    if not m.params[BLOCKING] and (failed or losers > before):
        started = _backfill_by_key(m, started, failed, losers)
    for k in range(failed):
        _push(m, m.lists[FAILED, k])
    if m.params[BLOCKING]:  # selected ones behind a failed one
        for k in range(placed + failed, selected):
            _push(m, m.lists[PICKED, k])
    _settle(m, started, kept, losers)


@inlined
def _backfill_by_key(m, started, failed, losers):
    _hope(m)
    for k in range(failed):
        _give_up(m, m.lists[FAILED, k])
    i = 0
    while True:
        g = _best_waiting(m, m.count[FREE])
        while i < losers and m.jobs[m.lists[LOSERS, i]].new_length > 0:
            i += 1
        r = m.lists[LOSERS, i] if i < losers else -1
        if g < 0 and r < 0:
            return started
        if r >= 0 and (g < 0 or _less(m, r, m.lists[HEAP, m.gangs[g].heap_at])):
            started = _try(m, r, started)
            i += 1
            continue
        j = m.lists[HEAP, m.gangs[g].heap_at]
        more = _try(m, j, started)
        if more > started:
            _pop(m, g)
            started = more
        else:
            _give_up(m, j)


# --- LTGF and Themis: users by fairness, in each its jobs by fairness -----------------------------

NOT_CANDIDATE, CANDIDATE, CHOSEN, REFUSED, LOSER = range(5)


@inner
def _group(m, j):
    return m.jobs[j].user if m.params[KIND] == LTGF else 0


@inner
def _first(m, a, b):
    """Whether a comes before b among the jobs of one user."""
    if m.jobs[a].tier != m.jobs[b].tier:
        return m.jobs[a].tier < m.jobs[b].tier
    if m.jobs[a].score != m.jobs[b].score:
        return m.jobs[a].score < m.jobs[b].score
    return m.jobs[a].rank < m.jobs[b].rank


@inner
def _before(m, a, b):
    """Whether a comes before b in the order of the jobs that were not selected."""
    u, v = _group(m, a), _group(m, b)
    if u != v:
        if m.users[u].key != m.users[v].key:
            return m.users[u].key < m.users[v].key
        return u < v
    return _first(m, a, b)


@inner
def _sift(m, row, base, n, i):
    j = m.lists[row, base + i]
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and _before(m, m.lists[row, base + child + 1], m.lists[row, base + child]):
            child += 1
        if not _before(m, m.lists[row, base + child], j):
            break
        m.lists[row, base + i] = m.lists[row, base + child]
        i = child
    m.lists[row, base + i] = j


@inner
def _heapify(m, row, base, n):
    for i in range(n // 2 - 1, -1, -1):
        _sift(m, row, base, n, i)


@inner
def _pop_first(m, row, base, n):
    """The first of a heap of n jobs, which moves to its end."""
    top = m.lists[row, base]
    m.lists[row, base] = m.lists[row, base + n - 1]
    m.lists[row, base + n - 1] = top
    _sift(m, row, base, n - 1, 0)
    return top


@inner
def _score(m, j, lease):
    """Fairness of a candidate: rho or rho^- of LTGF, minus Themis's rho."""
    now = m.count[NOW]
    current = now - m.jobs[j].since if m.jobs[j].phase == RUNNING else 0
    if m.params[KIND] == THEMIS:
        left = m.jobs[j].left - (_done(m, j, now) if current else 0)
        life = now - m.jobs[j].visible
        jobs = float(m.active[2])
        if life > 0:
            total = m.active[1] + m.active[2] * (now - m.active[0]) - m.jobs[j].active_start
            jobs = total / life
        m.jobs[j].score = -((now - m.jobs[j].release + left) / (m.jobs[j].work * jobs))
        return
    m.jobs[j].tier = 2 * m.jobs[j].urgency
    if m.numbers[2] > 0 and m.jobs[j].phase != RUNNING:
        m.jobs[j].tier += 1
    attained = m.jobs[j].held + m.jobs[j].gpus * current
    fair = _job_fair(m, j, now)
    if m.numbers[1] > 0:
        fair = fair + lease * m.kinds[m.jobs[j].kind_of].slope
        m.jobs[j].score = attained / fair if fair > 0 else np.inf
    elif attained == 0:
        m.jobs[j].score = 0.0
    else:
        m.jobs[j].score = attained / fair if fair > 0 else np.inf


@inner
def _set_user_key(m, u, lease):
    """Fairness of a user at the end of the lease, if what was picked ran through it."""
    now = m.count[NOW]
    if m.params[KIND] == THEMIS:
        m.users[u].key = 0.0
        return
    attained = m.users[u].base + m.users[u].rate * now + m.users[u].picked
    if m.numbers[0] > 0:
        fair = m.users[u].quota * now + lease * m.users[u].quota
    else:
        fair = _user_at(m, u, now) + lease * m.users[u].slope
    m.users[u].key = attained / fair if fair > 0 else (0.0 if attained == 0 else np.inf)


@inlined
def _decide_by_groups(m):
    now = m.count[NOW]
    lease = _new_lease(m, now) - now
    groups = m.users.size if m.params[KIND] == LTGF else 1
    room, expired, waits = m.count[FREE], 0, m.count[WAITS]
    for u in range(groups):
        m.users[u].picked = m.users[u].group_length = 0
        m.users[u].passed = -1
    for i in range(m.count[RUNS]):
        j = m.lists[RUNNERS, i]
        if m.jobs[j].lease_end <= now:
            room += m.jobs[j].gpus
            expired += 1
        elif m.params[KIND] == LTGF:
            m.users[m.jobs[j].user].picked += m.jobs[j].gpus * (m.jobs[j].lease_end - now)
    smallest = NONE
    for g in range(m.gangs.size):
        if m.gangs[g].waiting:
            smallest = min(smallest, m.gangs[g].size)
    if room < smallest:
        return  # no waiting job fits: whoever runs goes on
    for i in range(waits + m.count[RUNS]):
        j = m.lists[WAITERS, i] if i < waits else m.lists[RUNNERS, i - waits]
        m.jobs[j].mark = NOT_CANDIDATE
        if i >= waits and m.jobs[j].lease_end > now:
            continue
        if m.jobs[j].gpus <= room:
            m.jobs[j].mark = CANDIDATE
            m.users[_group(m, j)].group_length += 1
    at = 0
    for u in range(groups):
        m.users[u].group_at = at
        at += m.users[u].group_length
        m.users[u].group_length = 0
    for i in range(waits + m.count[RUNS]):
        j = m.lists[WAITERS, i] if i < waits else m.lists[RUNNERS, i - waits]
        if m.jobs[j].mark == CANDIDATE:
            u = _group(m, j)
            m.lists[GROUP, m.users[u].group_at + m.users[u].group_length] = j
            m.users[u].group_length += 1
            _score(m, j, lease)
    for u in range(groups):
        if m.users[u].group_length:
            _heapify(m, GROUP, m.users[u].group_at, m.users[u].group_length)
            _set_user_key(m, u, lease)
    guarded = m.params[KIND] == LTGF and m.params[PATIENCE] >= 0 and expired > 0
    selected, kept = _pick(m, room, lease, guarded)
    if selected == 0:
        return  # then every expired job has been picked
    _place_groups(m, selected, kept, expired)


@inlined
def _pick(m, room, lease, guarded):
    """Algorithm 1 of Ye et al.: the least served user with a job that fits, in it its first.

    Where `guarded`, jobs that have been passed over for the patience come before all others.
    """
    selected = kept = turn = 0
    while guarded and room > 0:
        j = _longest_due(m, room)
        if j < 0:
            break
        room -= m.jobs[j].gpus
        m.jobs[j].mark = CHOSEN
        m.jobs[j].turn = turn
        turn += 1
        m.lists[PICKED, selected] = j
        selected += 1
        m.users[m.jobs[j].user].picked += lease * m.jobs[j].gpus
        _set_user_key(m, m.jobs[j].user, lease)
    while room > 0:
        best = -1
        for u in range(m.users.size if m.params[KIND] == LTGF else 1):
            while m.users[u].group_length:
                top = m.lists[GROUP, m.users[u].group_at]
                if m.jobs[top].mark == CANDIDATE:
                    if m.jobs[top].gpus <= room:
                        break
                    if m.users[u].passed < 0:
                        m.users[u].passed = top
                _pop_first(m, GROUP, m.users[u].group_at, m.users[u].group_length)
                m.users[u].group_length -= 1
            if m.users[u].group_length and (best < 0 or m.users[u].key < m.users[best].key):
                best = u
        if best < 0:
            break
        j = _pop_first(m, GROUP, m.users[best].group_at, m.users[best].group_length)
        m.users[best].group_length -= 1
        room -= m.jobs[j].gpus
        m.jobs[j].mark = CHOSEN
        m.jobs[j].turn = turn
        turn += 1
        if m.jobs[j].phase == RUNNING:
            m.lists[KEPT, kept] = j
            kept += 1
        else:
            m.lists[PICKED, selected] = j
            selected += 1
        m.users[best].picked += lease * m.jobs[j].gpus
        _set_user_key(m, best, lease)
        passed = m.users[best].passed
        waits = guarded and passed >= 0 and m.jobs[passed].phase == WAITING
        if waits and m.jobs[passed].blocked < 0:
            m.jobs[passed].blocked = m.count[NOW]
    return selected, kept


@inlined
def _longest_due(m, room):
    """Of the candidates that fit and are due, the one that was passed over first; -1 if none."""
    best = -1
    for i in range(m.count[WAITS]):
        j = m.lists[WAITERS, i]
        if m.jobs[j].mark != CANDIDATE or m.jobs[j].gpus > room or not _due(m, j):
            continue
        if best < 0 or (m.jobs[j].blocked, m.jobs[j].rank) < (
            m.jobs[best].blocked,
            m.jobs[best].rank,
        ):
            best = j
    return best


@inner
def _sort_by_turn(m, first, last):
    """Losers as they were picked."""
    for i in range(first + 1, last):
        j, k = m.lists[LOSERS, i], i
        while k > first and m.jobs[m.lists[LOSERS, k - 1]].turn > m.jobs[j].turn:
            m.lists[LOSERS, k] = m.lists[LOSERS, k - 1]
            k -= 1
        m.lists[LOSERS, k] = j


@inlined
def _place_groups(m, selected, kept, expired):
    now = m.count[NOW]
    losers = 0
    for i in range(m.count[RUNS]):
        j = m.lists[RUNNERS, i]
        if m.jobs[j].lease_end <= now and m.jobs[j].mark != CHOSEN:
            m.lists[LOSERS, losers] = j
            losers += 1
    own = losers
    for n in range(losers, 1, -1):
        if n == losers:
            _heapify(m, LOSERS, 0, n)
        _pop_first(m, LOSERS, 0, n)
    for i in range(losers // 2):  # popped to the end: the first one stands last
        k = losers - 1 - i
        m.lists[LOSERS, i], m.lists[LOSERS, k] = m.lists[LOSERS, k], m.lists[LOSERS, i]
    started, failed, kept, losers = _place_selected(m, selected, kept, losers, expired > 0)
    for i in range(failed):
        m.jobs[m.lists[FAILED, i]].mark = REFUSED
    _sort_by_turn(m, own, losers)  # several gangs may have displaced some
    for i in range(own, losers):
        started = _try(m, m.lists[LOSERS, i], started)
    if failed or losers > own:
        started = _backfill_groups(m, started, failed, own)
    for i in range(losers - own):  # displaced ones come before the others
        j = m.lists[LOSERS, own + i]
        for k in range(own + i, i, -1):
            m.lists[LOSERS, k] = m.lists[LOSERS, k - 1]
        m.lists[LOSERS, i] = j
    _settle(m, started, kept, losers)


@inlined
def _backfill_groups(m, started, failed, own):
    _hope(m)
    for i in range(failed):
        _give_up(m, m.lists[FAILED, i])
    rest, smallest = 0, NONE
    for i in range(m.count[WAITS]):
        j = m.lists[WAITERS, i]
        if m.jobs[j].mark == CANDIDATE and m.jobs[j].gpus <= m.count[FREE] and _hopeful(m, j):
            m.lists[REST, rest] = j
            rest += 1
            smallest = min(smallest, m.jobs[j].gpus)
    for i in range(own):
        j = m.lists[LOSERS, i]
        if m.jobs[j].gpus <= m.count[FREE] and _hopeful(m, j):
            m.lists[REST, rest] = j
            rest += 1
            smallest = min(smallest, m.jobs[j].gpus)
    _heapify(m, REST, 0, rest)
    while rest and smallest < m.least.max() and smallest <= m.count[FREE]:
        j = _pop_first(m, REST, 0, rest)
        rest -= 1
        if _hopeful(m, j) and m.jobs[j].gpus <= m.count[FREE]:
            more = _try(m, j, started)
            if more == started:
                _give_up(m, j)
            started = more
    return started


# --- any order, as a policy in Python gives it ----------------------------------------------------


@compiled
def follow(m, order):
    """Selection by number of GPUs, then placement, then backfill."""
    room, expired = m.count[FREE], 0
    for i in range(order.size):
        j = order[i]
        m.jobs[j].mark = CANDIDATE
        if m.jobs[j].phase == RUNNING:
            room += m.jobs[j].held_gpus
            expired += 1
    selected = kept = losers = 0
    walking = True
    for i in range(order.size):
        j = order[i]
        m.jobs[j].turn = i
        runs = m.jobs[j].phase == RUNNING
        gpus = m.jobs[j].held_gpus if runs else m.jobs[j].gpus
        if walking and gpus <= room:
            room -= gpus
            m.jobs[j].mark = CHOSEN
            if runs:
                m.lists[KEPT, kept] = j
                kept += 1
            else:
                m.lists[PICKED, selected] = j
                selected += 1
        else:
            if m.params[BLOCKING]:
                walking = False
            if runs:
                m.jobs[j].mark = LOSER
                m.lists[LOSERS, losers] = j
                losers += 1
    own = losers
    started, failed, kept, losers = _place_selected(m, selected, kept, losers, expired > 0)
    for i in range(failed):
        m.jobs[m.lists[FAILED, i]].mark = REFUSED
    for i in range(own, losers):
        m.jobs[m.lists[LOSERS, i]].mark = LOSER
    losers = 0
    for i in range(order.size):
        j = order[i]
        if m.jobs[j].mark == LOSER:
            m.lists[LOSERS, losers] = j
            losers += 1
        if not m.params[BLOCKING] and (m.jobs[j].mark == CANDIDATE or m.jobs[j].mark == LOSER):
            started = _try(m, j, started)
    _settle(m, started, kept, losers)


# --- the loop ------------------------------------------------------------------------------------


QUIET, READY = 6, 7


@inner
def _open(m, until):
    """Go to the next round, settle what has happened, and say whether somebody has to decide."""
    gpus = m.count[TOTAL]
    if m.count[FRUITLESS] > MOST_FRUITLESS:
        return STUCK
    time = _next_round(m)
    if time == NONE:
        if m.count[COMING] < m.count[ABLE] or m.count[RUNS] or m.count[WAITS]:
            return STUCK
        return DONE
    if time > until:
        return UNTIL
    if (
        m.events.size - m.count[EVENTS] < 4 * gpus + m.count[ABLE] - m.count[COMING]
        or m.segments.size - m.count[SEGMENTS] < 2 * gpus
        or m.parts.size - m.count[ENTRIES] < 2 * gpus
    ):
        return ROOM
    m.count[NOW] = time
    m.count[TIMER] = -1
    m.count[ROUNDS] += 1
    _complete(m)
    _arrive(m)
    if m.count[WAITS] == 0 and not (m.params[ASKED] and m.count[RUNS]):
        return QUIET
    if m.params[PREEMPTS] == LEASE:
        _renew_silently(m)
    m.count[DECISIONS] += 1
    return READY


@compiled
def advance_by_key(m, until, most):
    """Visit rounds until something has to be done in Python; returns why."""
    for _ in range(most):
        why = _open(m, until)
        if why < QUIET:
            return why
        if why == READY:
            _decide_by_key(m)
    return MORE


@compiled
def advance_by_groups(m, until, most):
    """As :func:`advance_by_key`, for LTGF and Themis."""
    for _ in range(most):
        why = _open(m, until)
        if why < QUIET:
            return why
        if why == READY:
            _decide_by_groups(m)
    return MORE


@compiled
def advance_to_decision(m, until, most):
    """Visit rounds until a policy in Python has to decide, or as :func:`advance_by_key`."""
    for _ in range(most):
        why = _open(m, until)
        if why < QUIET:
            return why
        if why == READY:
            return DECIDE
    return MORE


@compiled
def give_gpus(m, j):
    """Take the GPUs from j, which is about to stop."""
    _give_old(m, j)


@compiled
def stop_job(m, j, kind):
    """What a policy in Python orders: suspend or kill j, which gave its GPUs."""
    _interrupt(m, j, kind, False, True)


@compiled
def renew_job(m, j):
    """Let j have the GPUs that it gave and took again."""
    m.jobs[j].blocked = -1
    if m.params[PREEMPTS] == LEASE and m.jobs[j].lease_end <= m.count[NOW]:
        m.jobs[j].lease_end = _new_lease(m, m.count[NOW])


@compiled
def take_gpus(m, j, gpus, nodes, parts):
    """Take given nodes for j, or (none given) where there is room; False if there is none."""
    if nodes.size == 0:
        if not _place_gang(m, j, gpus):
            return False
    else:
        m.jobs[j].new_length = nodes.size
        for k in range(nodes.size):
            m.entries[m.jobs[j].offset + k].new_node, m.entries[m.jobs[j].offset + k].new_part = (
                nodes[k],
                parts[k],
            )
    _take_new(m, j)
    return True


@compiled
def start_job(m, j, gpus, speed, profile):
    """Start j on the GPUs that it took; without `speed` with its gang, or to be profiled."""
    if profile > 0:
        _begin_profile(m, j, gpus, profile)
    else:
        _begin(m, j, gpus, speed if speed > 0 else _speed_on_new(m, j))


@compiled
def job_fair(m, jobs, t):
    """F_i at t of each of `jobs`."""
    out = np.empty(jobs.size)
    for i in range(jobs.size):
        out[i] = _job_fair(m, jobs[i], t)
    return out


@compiled
def user_fair(m, t):
    """F_j at t of every user."""
    out = np.empty(m.users.size)
    for u in range(out.size):
        out[u] = _user_at(m, u, t)
    return out


# --- the engine ----------------------------------------------------------------------------------


class Compiled:
    """A cluster in the middle of a run; the counterpart of :class:`.drive_reference.Reference`.

    Parameters
    ----------
    instance : Instance
    policy : Policy
    session : Session
        Of the policy, at its begin.
    rules : Rules
    ledger : Ledger
    skip : bool
        False to visit every round.
    """

    def __init__(
        self,
        instance: Instance[Any],
        policy: Policy,
        session: Session,
        rules: Rules,
        ledger: Ledger,
        *,
        skip: bool,
    ) -> None:
        self.instance, self.policy, self.session, self.rules = instance, policy, session, rules
        self.book, self.skip = ledger, skip
        self.seen = Seen(instance, ledger, policy)
        rule: Rule = getattr(policy, "rule", None) or Rule(RuleKind.PYTHON)
        _check_rule(policy, rule)
        params = [
            rules.round_length,
            rules.lease_length,
            rules.synchronous,
            rules.spread,
            -1 if rules.patience is None else rules.patience,
            skip,
            rule.kind,
            policy.preempts,
            rule.blocking,
            bool(getattr(session, "always_asked", False)),
        ]
        urgent = frozenset(getattr(policy, "urgent", ()))
        ledger.jobs["urgency"] = [job.id not in urgent for job in instance.jobs] if urgent else 1
        self.machine = _new_machine(ledger, params, rule, elastic=instance.kind.elastic)
        self.kind = rule.kind
        self.idle = 0
        self.deciding = False  # True while the policy does: a run that stops then decides anew

    def save(self) -> dict[str, Any]:
        """Return what has changed since the begin, as plain data."""
        return {
            **{name: getattr(self.machine, name) for name in SAVED},
            "ps": ps_to_rows(self.book.ps),
            "idle": self.idle,
            "deciding": self.deciding,
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there, in a run that has just begun."""
        for name in GROWING:
            self.machine = self.machine._replace(**{name: np.array(data[name])})
        for name in SAVED:
            own, saved = getattr(self.machine, name), data[name]
            if own.dtype != saved.dtype or own.shape != saved.shape:
                raise ValueError(f"its {name} are not those of this instance")
            own[:] = saved
        self.book.ps = ps_of_rows(data["ps"])
        self.idle, self.deciding = data["idle"], data["deciding"]

    def advance(self, until: int | None, most: int) -> bool | None:
        """Visit at most `most` rounds; True when all jobs have finished, False at `until`."""
        if self.kind is RuleKind.PYTHON:
            return self._advance_python(until, most)
        while True:
            why = self._advance_core(until, most)
            if why != ROOM:
                return {DONE: True, UNTIL: False}.get(why)

    @property
    def _advance(self) -> Any:
        if self.kind is RuleKind.PYTHON:
            return advance_to_decision
        by_groups = self.kind in (RuleKind.LTGF, RuleKind.THEMIS)
        return advance_by_groups if by_groups else advance_by_key

    def _advance_core(self, until: int | None, most: int) -> int:
        why = self._advance(self.machine, NONE - 1 if until is None else until, most)
        if why == ROOM:
            self.machine = _larger(self.machine)
        elif why == STUCK and self.count[FRUITLESS] > MOST_FRUITLESS:
            raise RuntimeError(
                f"policy {self.policy.name!r} lets {self.count[FRUITLESS]:,} segments in a row end "
                "without progress"
            )
        elif why == STUCK:
            raise RuntimeError(
                f"policy {self.policy.name!r} leaves {self.count[WAITS]} jobs waiting for ever"
            )
        return int(why)

    @property
    def count(self) -> Ints:
        """Counters."""
        return self.machine.count

    def _list(self, row: int, counter: int) -> Ints:
        return _by_rank(self.book, self.machine.lists[row, : self.count[counter]])

    def _advance_python(self, until: int | None, most: int) -> bool | None:
        if self.deciding:
            self._decide()
        for _ in range(most):
            if self._left_out():
                return True
            why = self._advance_core(until, most)
            if why == DECIDE:
                self._decide()
            elif why != ROOM:
                return {DONE: True, UNTIL: False}.get(why)
        return None

    def _left_out(self) -> bool:
        """Whether nothing is left but jobs that nobody will start."""
        count = self.count
        if count[RUNS] or not count[WAITS] or count[COMING] < count[ABLE]:
            return False
        return left_out(self.session, self._state())

    def _decide(self) -> None:
        state = self._state()
        self.deciding = True
        decision = self.session.decide(state)
        self.deciding = False
        check_decision(decision, state, self.policy.name)
        if len(decision.passed) and state.preemptible.size:
            blocked, passed = self.book.blocked, np.asarray(decision.passed, dtype=np.int64)
            blocked[passed] = np.where(blocked[passed] < 0, self.now, blocked[passed])
        if len(decision.suspend) or len(decision.kill) or len(decision.start):
            self._stop_and_start(decision, state)
        machine = self.machine
        if len(decision.order):
            machine.params[BLOCKING] = decision.blocking
            follow(machine, np.asarray(decision.order, dtype=np.int64))
        self._set_timer()

    def _stop_and_start(self, decision: Decision, state: State) -> None:
        """As in the reference: who is suspended and gets the GPUs that it had goes on."""
        machine = self.machine
        suspended, killed = ([int(j) for j in jobs] for jobs in (decision.suspend, decision.kill))
        for j in [*suspended, *killed]:
            give_gpus(machine, j)
        begun: dict[int, tuple[int, int, int]] = {}
        for start in decision.starts:
            numbers = self._take(start, state)
            if numbers is not None:
                begun[int(start.job)] = numbers
        give_ps(decision.starts, state)
        for j in suspended:
            if j in begun and not begun[j][2] and self._new_nodes(j) == self._nodes(j):
                del begun[j]
                renew_job(machine, j)
            else:
                stop_job(machine, j, SUSPEND)
        for j in killed:
            stop_job(machine, j, KILL)
        for j, (gpus, speed, profile) in begun.items():
            start_job(machine, j, gpus, speed, profile)

    def _take(self, start: Start, state: State) -> tuple[int, int, int] | None:
        """Take GPUs: how many, speed there (0 if the core knows), seconds of profiling."""
        j, nodes = int(start.job), start.nodes
        gpus, speed = start.number(int(self.book.gpus[j])), 0
        if nodes is not None:
            speed = check_nodes(start, state, self.policy.name)
        at = np.array([] if nodes is None else list(nodes), dtype=np.int64)
        parts = np.array([] if nodes is None else list(nodes.values()), dtype=np.int64)
        taken = take_gpus(self.machine, j, gpus, at, parts)
        return (gpus, speed, int(start.profile)) if taken else None

    def _set_timer(self) -> None:
        """When the policy may decide otherwise though nothing happens."""
        ask = getattr(self.session, "next_change", None)
        if ask is None:
            change: int | None = self.now + self.rules.round_length
            if self.count[RUNS] == 0 and self.count[COMING] == self.count[ABLE]:
                self.idle += 1
                if self.idle * self.rules.round_length > MOST_IDLE:
                    change = None
        else:
            change = ask(self._state())
        if change is not None:
            self.count[TIMER] = max(change, self.now + 1)

    def _state(self) -> State:
        m, seen = self.machine, self.seen
        seen.arrive(m.lists[COMERS, seen.count : self.count[COMING]])
        return State(
            self.now,
            self.rules,
            seen,
            waiting=lambda: self._list(WAITERS, WAITS),
            running=lambda: self._list(RUNNERS, RUNS),
            held_nodes=self._nodes,
            job_fair=lambda jobs, t: job_fair(m, np.asarray(jobs, dtype=np.int64), t),
            user_fair=lambda t: user_fair(m, t),
            user_share=lambda: m.users["slope"].copy(),
            mean_active=self._mean_active,
            fair_rate=lambda jobs: m.kinds["slope"][m.jobs["kind_of"][jobs]],
            preempts=Preempts(self.policy.preempts),
        )

    def _mean_active(self, jobs: Ints, time: int) -> NDArray[np.float64]:
        since, total, count = self.machine.active.tolist()
        life = time - self.book.visible[jobs]
        seen = total + count * (time - since) - self.machine.jobs["active_start"][jobs]
        mean: NDArray[np.float64] = np.where(life > 0, seen / np.maximum(life, 1), float(count))
        return mean

    def _held(self, j: int) -> NDArray[Any]:
        job = self.machine.jobs[j]
        held: NDArray[Any] = self.machine.entries[job["offset"] : job["offset"] + job["length"]]
        return held

    def _nodes(self, j: int) -> dict[int, int]:
        if self.book.phase[j] != RUNNING:
            return {}
        held = self._held(j)
        return dict(zip(held["node"].tolist(), held["part"].tolist(), strict=True))

    def _new_nodes(self, j: int) -> dict[int, int]:
        job = self.machine.jobs[j]
        new = self.machine.entries[job["offset"] : job["offset"] + job["new_length"]]
        return dict(zip(new["new_node"].tolist(), new["new_part"].tolist(), strict=True))

    # --- what the driver reads ---

    @property
    def now(self) -> int:
        """The last round that was visited."""
        return int(self.count[NOW])

    @property
    def rounds(self) -> int:
        """Rounds visited."""
        return int(self.count[ROUNDS])

    @property
    def decisions(self) -> int:
        """Rounds at which the policy decided."""
        return int(self.count[DECISIONS])

    def fair_at(self, time: int) -> NDArray[np.float64]:
        """F_i of every job: at its completion, or at `time`."""
        fair: NDArray[np.float64] = self.machine.jobs["fair"].copy()
        phase = self.book.phase
        active = np.flatnonzero((phase == WAITING) | (phase == RUNNING))
        fair[active] = job_fair(self.machine, active, time)
        return fair

    def segment_columns(self, time: int) -> tuple[Ints, ...]:
        """(job, start, end, ptr, node, gpus); running jobs have a last segment up to `time`."""
        past = self.machine.segments[: self.count[SEGMENTS]]
        parts = self.machine.parts[: self.count[ENTRIES]]
        jobs = self._list(RUNNERS, RUNS)
        jobs = jobs[self.book.since[jobs] < time]
        held = [self._held(int(j)) for j in jobs]
        lengths = [np.diff(past["ptr"], append=parts.size), [part.size for part in held]]
        return (
            np.concatenate([past["job"], jobs]),
            np.concatenate([past["start"], self.book.since[jobs]]),
            np.concatenate([past["end"], np.full(jobs.size, time, dtype=np.int64)]),
            np.cumsum(np.concatenate([[0], *lengths]).astype(np.int64)),
            np.concatenate([parts["node"], *(part["node"] for part in held)]),
            np.concatenate([parts["gpus"], *(part["part"] for part in held)]),
        )

    def event_columns(self) -> tuple[Ints, Ints, NDArray[np.int8]]:
        """(time, job, kind)."""
        past = self.machine.events[: self.count[EVENTS]]
        return past["time"], past["job"], past["kind"]


#: arrays of a machine that double when they are full, and all that a run changes
GROWING = ("segments", "parts", "events")
SAVED = (
    *("count", "params", "jobs", "nodes", "users", "kinds", "gangs", "least", "entries", "level"),
    *("active", "lists", *GROWING),
)
MOST_IDLE = 2 * 86_400  # seconds for which a policy may leave an empty cluster idle


def _by_rank(book: Ledger, jobs: Ints) -> Ints:
    out: Ints = jobs[np.argsort(book.rank[jobs], kind="stable")]
    return out


def _larger(machine: Machine) -> Machine:
    """More room for what the run leaves."""
    grown = {}
    for name in ("segments", "parts", "events"):
        old = getattr(machine, name)
        grown[name] = np.zeros(2 * old.size, dtype=old.dtype)
        grown[name][: old.size] = old
    return machine._replace(**grown)


def _new_machine(book: Ledger, params: list[int], rule: Rule, *, elastic: bool) -> Machine:
    jobs, nodes, users = book.jobs, book.nodes, book.users
    n, total = jobs.size, int(nodes["size"].sum())
    able = np.flatnonzero(jobs["phase"] != REJECTED)
    most_size = int(nodes["size"].max())
    codes, nodes["kind"] = np.unique(
        nodes["model"] * (most_size + 1) + nodes["size"], return_inverse=True
    )
    model, sizes = np.divmod(codes, most_size + 1)
    level = np.zeros((sizes.size, most_size + 1), dtype=np.int64)
    np.add.at(level, (nodes["kind"], nodes["free"]), 1)
    anywhere = params[SPREAD] or rule.kind is RuleKind.PYTHON
    widest = jobs["gpus"] * (2 if elastic and rule.kind is RuleKind.PYTHON else 1)
    most = np.minimum(widest, nodes.size) if anywhere else -(-widest // sizes.min())
    jobs["offset"] = np.cumsum(most) - most
    sets, jobs["reach"] = reaches(book.speeds)
    lists = np.zeros((11, max(n, total)), dtype=np.int64)
    lists[COMERS, : able.size] = able[np.lexsort((jobs["rank"][able], jobs["visible"][able]))]
    count = np.zeros(14, dtype=np.int64)
    count[[NOW, TIMER]] = -1
    count[[FREE, TOTAL]] = total
    count[ABLE] = able.size
    return Machine(
        count=count,
        params=np.array(params, dtype=np.int64),
        numbers=np.array(rule.numbers, dtype=np.float64),
        jobs=jobs,
        nodes=nodes,
        users=users,
        kinds=_kinds(jobs, users),
        gangs=_gangs(jobs),
        least=np.full(len(sets), NONE, dtype=np.int64),
        entries=np.zeros(int(most.sum()), dtype=ENTRY),
        speeds=book.speeds,
        fastest=np.argsort(-book.speeds, axis=1, kind="stable"),
        first_class=np.searchsorted(model, np.arange(len(book.models) + 1)),
        class_size=sizes.astype(np.int64),
        level=level,
        active=np.zeros(3, dtype=np.int64),
        lists=lists,
        segments=np.zeros(n + 2 * total, dtype=SEGMENT),
        parts=np.zeros(n + 2 * total, dtype=PART),
        events=np.zeros(3 * n + 4 * total, dtype=EVENT),
    )


def _check_rule(policy: Policy, rule: Rule) -> None:
    """Refuse a rule that machine code has for another kind of preemption only."""
    at_leases = rule.kind in (RuleKind.LTGF, RuleKind.THEMIS)
    if rule.kind is not RuleKind.PYTHON and at_leases != (policy.preempts is Preempts.LEASE):
        raise ValueError(
            f"policy {policy.name!r}: rule {rule.kind.name} does not go with "
            f"preempts={Preempts(policy.preempts).name}; a policy without rule decides in Python"
        )


def _gangs(jobs: NDArray[Any]) -> NDArray[Any]:
    """Distinct (gang size, reach); each job learns which one it has."""
    sizes, which = np.unique(jobs["gpus"], return_inverse=True)
    codes, jobs["gang_class"], number = np.unique(
        jobs["reach"] * max(1, sizes.size) + which, return_inverse=True, return_counts=True
    )
    gangs = np.zeros(codes.size, dtype=GANG)
    gangs["reach"], at = np.divmod(codes, max(1, sizes.size))
    gangs["size"], gangs["heap_at"] = sizes[at], np.cumsum(number) - number
    return gangs


def _kinds(jobs: NDArray[Any], users: NDArray[Any]) -> NDArray[Any]:
    """Distinct (user, gang, weight), by user; each job learns which one it has."""
    code = np.zeros(jobs.size, dtype=np.int64)
    for name in ("user", "gpus", "weight"):
        values, which = np.unique(jobs[name], return_inverse=True)
        code = code * max(1, values.size) + which
    _, first, jobs["kind_of"] = np.unique(code, return_index=True, return_inverse=True)
    kinds = np.zeros(first.size, dtype=KIND_OF_JOB)
    for name, own in (("user", "user"), ("gang", "gpus"), ("weight", "weight")):
        kinds[name] = jobs[own][first]
    users["first_kind"] = np.searchsorted(kinds["user"], np.arange(users.size), side="left")
    users["last_kind"] = np.searchsorted(kinds["user"], np.arange(users.size), side="right")
    return kinds
