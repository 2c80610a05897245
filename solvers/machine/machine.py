"""The cluster of the compiled driver: its arrays, and what happens to jobs in a round.

Numbers are integers throughout, but for fair shares, whose operations are those of
:class:`gangsched.formulations.FairShares` in the same order. Waiting jobs of policies with a key
stand in one heap a gang size, so that a decision looks at the best job of each size that fits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...instances.arrays import distinct, first_of
from ...instances.compiled import inlined, inner
from ...instances.model import FULL_SPEED
from ..placement import reaches
from ..policy import Key, Rule
from . import const
from .tables import Ints, Tables, record

KIND_OF_JOB = np.dtype(
    [
        *((name, np.int64) for name in ("user", "gang")),
        ("weight", np.float64),
        *((name, np.int64) for name in ("seen", "time")),
        *((name, np.float64) for name in ("value", "slope")),
    ]
)
GANG = record("size reach heap_at heap_length waiting user")
ENTRY = record("node part new_node new_part")
SEGMENT = record("job start end ptr")
PART = record("node gpus")
#: segments (and events) in a machine before they are packed, beside those of one round
CHUNK = 2**14
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
    gangs: NDArray[Any]  # distinct (gang size, reach), or of each user; waiting jobs as heaps
    least: Ints  # of each reach (models, pod), the smallest gang that found no place
    entries: NDArray[Any]  # nodes of each job: held (or held last), and chosen in this round
    speeds: Ints  # (jobs, models): millionths, 0 where a job cannot run
    fastest: Ints  # (jobs, models): models by falling speed
    first_class: Ints  # of each model, and the number of classes
    class_size: Ints  # distinct (model, node size): the size
    level: Ints  # (classes, most GPUs + 1): nodes with so many free GPUs
    active: Ints  # time, job seconds of active jobs until then, active jobs now
    lists: Ints  # rows of job numbers
    ends: Ints  # when running jobs end, close together for who looks for the first
    segments: NDArray[Any]
    parts: NDArray[Any]
    events: NDArray[Any]
    followers: Ints  # jobs that wait for the ends of others, as the tables have them
    memory: Ints  # rows of what a rule remembers, as its module says


# --- small things ---------------------------------------------------------------------------------


@inner
def round_up(time, tau):
    """The first round at or after a time."""
    return -(-time // tau) * tau


@inner
def new_lease(m, now):
    """When a lease that begins now ends."""
    length = m.params[const.LEASE_LENGTH]
    return (now // length + 1) * length if m.params[const.SYNCHRONOUS] else now + length


@inner
def note_event(m, kind, j, time):
    """Write an event down."""
    i = m.count[const.EVENTS]
    m.events[i].time, m.events[i].job, m.events[i].kind = time, j, kind
    m.count[const.EVENTS] = i + 1


@inner
def put(m, row, n, j):
    """Put j behind the n jobs of a list; returns how many there are now."""
    m.lists[row, n] = j
    return n + 1


@inner
def enter(m, row, counter, j):
    """Put j into a list: at its end, or at its place by rank where Python decides."""
    n = m.count[counter]
    m.count[counter] = n + 1
    if not m.params[const.RANKED]:
        m.lists[row, n], m.jobs[j].place_in = j, n
        return
    at, rank = n, m.jobs[j].rank
    if n and m.jobs[m.lists[row, n - 1]].rank > rank:
        at = _place_by_rank(m, row, n, rank)
        for k in range(n, at, -1):
            m.lists[row, k] = m.lists[row, k - 1]
    m.lists[row, at] = j


@inner
def _place_by_rank(m, row, n, rank):
    """How many of the n jobs of a sorted list come before a rank."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if m.jobs[m.lists[row, middle]].rank < rank:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def leave(m, row, counter, j):
    """Take j out of a list."""
    m.count[counter] -= 1
    n = m.count[counter]
    if m.params[const.RANKED]:
        for k in range(_place_by_rank(m, row, n + 1, m.jobs[j].rank), n):
            m.lists[row, k] = m.lists[row, k + 1]
        return
    i = m.jobs[j].place_in
    if row == const.RUNNERS and m.params[const.PREEMPTS] == const.ALWAYS:
        for k in range(i, n):  # the others stay sorted
            m.lists[row, k] = m.lists[row, k + 1]
            m.jobs[m.lists[row, k]].place_in = k
    else:
        last = m.lists[row, n]
        m.lists[row, i] = last
        m.jobs[last].place_in = i


@inner
def change_free(m, n, by):
    """Change how many GPUs of node n are free."""
    c = m.nodes[n].kind
    m.level[c, m.nodes[n].free] -= 1
    m.nodes[n].free += by
    m.level[c, m.nodes[n].free] += 1
    m.count[const.FREE] += by


@inner
def give_old(m, j):
    """Give back the GPUs that j has."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        change_free(m, m.entries[k].node, m.entries[k].part)


@inner
def take_old(m, j):
    """Take again the GPUs that j gave back."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        change_free(m, m.entries[k].node, -m.entries[k].part)


@inner
def old_is_free(m, j):
    """Whether the GPUs that j had are free."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        if m.nodes[m.entries[k].node].free < m.entries[k].part:
            return False
    return True


@inner
def new_is_old(m, j):
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
def keep_old(m, j):
    """Let j have the nodes that it had."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        m.entries[k].new_node, m.entries[k].new_part = m.entries[k].node, m.entries[k].part
    m.jobs[j].new_length = m.jobs[j].length
    take_old(m, j)


@inner
def take_new(m, j):
    """Take the GPUs that were chosen for j."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].new_length):
        change_free(m, m.entries[k].new_node, -m.entries[k].new_part)


@inner
def give_new(m, j):
    """Give back the GPUs that were chosen for j."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].new_length):
        change_free(m, m.entries[k].new_node, m.entries[k].new_part)


# --- fair shares, as formulations.FairShares ------------------------------------------------------


@inner
def _turn_user(m, u, t):
    demand = m.users[u].demand
    fair = 0.0
    if demand > 0:
        alone = m.users.size == 1
        fair = float(m.count[const.TOTAL]) if alone else min(float(demand), m.users[u].quota)
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
def kind_at(m, k, t):
    """Fair GPU seconds of a kind of job until t."""
    return m.kinds[k].value + m.kinds[k].slope * (t - m.kinds[k].time)


@inner
def user_at(m, u, t):
    """Fair GPU seconds of a user until t."""
    return m.users[u].value + m.users[u].slope * (t - m.users[u].time)


@inner
def job_fair_at(m, j, t):
    """F_i of a job at t."""
    return kind_at(m, m.jobs[j].kind_of, t) - m.jobs[j].fair_start


@inner
def _count_active(m, by, t):
    m.active[1] += m.active[2] * (t - m.active[0])
    m.active[0] = t
    m.active[2] += by


# --- waiting jobs by key --------------------------------------------------------------------------


@inner
def less(m, a, b):
    """Whether a comes before b, by key and then by rank."""
    if m.jobs[a].key != m.jobs[b].key:
        return m.jobs[a].key < m.jobs[b].key
    return m.jobs[a].rank < m.jobs[b].rank


@inner
def sort_list(m, row, n, by_rank):
    """Sort a list by rank or by number."""
    for i in range(1, n):
        j, k = m.lists[row, i], i
        while k > 0:
            other = m.lists[row, k - 1]
            if (m.jobs[other].rank < m.jobs[j].rank) if by_rank else other < j:
                break
            m.lists[row, k] = other
            k -= 1
        m.lists[row, k] = j


@inner
def push(m, j):
    """Put a waiting job into the heap of its gang class."""
    g = m.jobs[j].gang_class
    base, i = m.gangs[g].heap_at, m.gangs[g].heap_length
    m.gangs[g].heap_length = i + 1
    while i > 0:
        parent = (i - 1) // 2
        if not less(m, j, m.lists[const.HEAP, base + parent]):
            break
        m.lists[const.HEAP, base + i] = m.lists[const.HEAP, base + parent]
        i = parent
    m.lists[const.HEAP, base + i] = j


@inner
def pop(m, g):
    """Take the first job out of the heap of a gang class."""
    base = m.gangs[g].heap_at
    top = m.lists[const.HEAP, base]
    m.gangs[g].heap_length -= 1
    n = m.gangs[g].heap_length
    j, i = m.lists[const.HEAP, base + n], 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n:
            left, right = m.lists[const.HEAP, base + child], m.lists[const.HEAP, base + child + 1]
            child += less(m, right, left)
        if not less(m, m.lists[const.HEAP, base + child], j):
            break
        m.lists[const.HEAP, base + i] = m.lists[const.HEAP, base + child]
        i = child
    m.lists[const.HEAP, base + i] = j
    return top


@inner
def best_waiting(m, room):
    """The gang class with the most important hopeful job of at most `room` GPUs, or -1."""
    best = -1
    for g in range(m.gangs.size):
        if m.gangs[g].heap_length == 0 or m.gangs[g].size > room:
            continue
        if m.gangs[g].size >= m.least[m.gangs[g].reach]:
            continue
        if best < 0 or less(
            m, m.lists[const.HEAP, m.gangs[g].heap_at], m.lists[const.HEAP, m.gangs[best].heap_at]
        ):
            best = g
    return best


@inner
def set_key(m, j, t):
    """Note the key of j at t."""
    key = m.params[const.KEY]
    current = t - m.jobs[j].since if m.jobs[j].phase == const.RUNNING else 0
    if key == const.RELEASE:
        m.jobs[j].key = 0
    elif key == const.RETURNED:
        m.jobs[j].key = 1 if m.jobs[j].starts == 0 else 0
    elif key == const.WORK:
        m.jobs[j].key = m.jobs[j].work
    elif key == const.LEFT or key == const.AREA:
        m.jobs[j].key = m.jobs[j].left
        if m.jobs[j].phase == const.RUNNING:
            m.jobs[j].key -= done_by(m, j, t)
        if key == const.AREA:
            m.jobs[j].key *= m.jobs[j].gpus
    elif key == const.ATTAINED:
        m.jobs[j].key = m.jobs[j].held + m.jobs[j].gpus * current
    elif key == const.LEVEL:
        attained = m.jobs[j].held + m.jobs[j].gpus * current
        level = 0
        for k in range(m.numbers.size):
            if attained >= m.numbers[k]:
                level += 1
        m.jobs[j].key = level


@inner
def _next_demotion(m, j):
    """When a running job reaches the next level."""
    for k in range(m.numbers.size):
        missing = np.int64(m.numbers[k]) - m.jobs[j].held
        if m.jobs[j].key == k:
            return m.jobs[j].since + -(-missing // m.jobs[j].gpus)
    return const.NONE


# --- jobs -----------------------------------------------------------------------------------------


@inner
def done_by(m, j, t):
    """Seconds of service that j got until t in its segment."""
    seconds = max(0, t - m.jobs[j].since - m.jobs[j].delay)
    if m.jobs[j].speed != FULL_SPEED:
        return seconds * m.jobs[j].speed // FULL_SPEED
    return seconds


@inner
def speed_on_new(m, j):
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
    m.jobs[j].phase, m.jobs[j].since = const.WAITING, t
    enter(m, const.WAITERS, const.WAITS, j)
    m.gangs[m.jobs[j].gang_class].waiting += 1
    if stays and m.params[const.KEY] != const.NO_KEY:
        set_key(m, j, t)
        push(m, j)


@inner
def begin_run(m, j, gpus, speed):
    """Start j on its new nodes, which are already taken."""
    now = m.count[const.NOW]
    delay = m.jobs[j].overhead if m.jobs[j].starts else 0
    if m.jobs[j].migration != m.jobs[j].overhead and m.jobs[j].starts and not new_is_old(m, j):
        delay = m.jobs[j].migration
    seconds = m.jobs[j].left
    if speed != FULL_SPEED:
        seconds = -(-seconds * FULL_SPEED // speed)
    m.jobs[j].delay, m.jobs[j].speed = delay, speed
    m.jobs[j].lease_end = new_lease(m, now)
    m.jobs[j].starts += 1
    m.jobs[j].finish = now + delay + seconds
    _hold(m, j, gpus, const.START)


@inner
def begin_profile(m, j, gpus, seconds):
    """Start j on its new nodes to be profiled."""
    m.jobs[j].delay = m.jobs[j].speed = 0
    m.jobs[j].finish = m.jobs[j].lease_end = m.count[const.NOW] + seconds
    _hold(m, j, gpus, const.PROFILE)


@inner
def _hold(m, j, gpus, kind):
    now = m.count[const.NOW]
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].new_length):
        m.entries[k].node, m.entries[k].part = m.entries[k].new_node, m.entries[k].new_part
    m.jobs[j].length = m.jobs[j].new_length
    m.jobs[j].phase, m.jobs[j].since, m.jobs[j].held_gpus = const.RUNNING, now, gpus
    m.jobs[j].blocked = -1
    if m.jobs[j].first < 0:
        m.jobs[j].first = now
    u = m.jobs[j].user
    m.users[u].rate += gpus
    m.users[u].base -= gpus * now
    leave(m, const.WAITERS, const.WAITS, j)
    m.gangs[m.jobs[j].gang_class].waiting -= 1
    i = m.count[const.RUNS]
    m.ends[const.TIMES, i], m.ends[const.ENDERS, i] = m.jobs[j].finish, j
    m.ends[const.PLACES, j] = i
    enter(m, const.RUNNERS, const.RUNS, j)
    note_event(m, kind, j, now)


@inner
def _end_segment(m, j, time, kind):
    s, e = m.count[const.SEGMENTS], m.count[const.ENTRIES]
    m.segments[s].job, m.segments[s].ptr = j, e
    m.segments[s].start, m.segments[s].end = m.jobs[j].since, time
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        m.parts[e].node, m.parts[e].gpus = m.entries[k].node, m.entries[k].part
        e += 1
    m.count[const.SEGMENTS], m.count[const.ENTRIES] = s + 1, e
    gpus, u = m.jobs[j].held_gpus, m.jobs[j].user
    m.jobs[j].held += gpus * (time - m.jobs[j].since)
    m.users[u].rate -= gpus
    m.users[u].base += gpus * time
    m.jobs[j].held_gpus = m.jobs[j].speed = 0
    leave(m, const.RUNNERS, const.RUNS, j)
    i, n = m.ends[const.PLACES, j], m.count[const.RUNS]
    last = m.ends[const.ENDERS, n]
    m.ends[const.TIMES, i], m.ends[const.ENDERS, i] = m.ends[const.TIMES, n], last
    m.ends[const.PLACES, last] = i
    note_event(m, kind, j, time)


@inner
def interrupt(m, j, kind, stays):
    """Stop j, which gave its GPUs, at this round; what it did in its overhead is lost."""
    now = m.count[const.NOW]
    until = now
    if kind == const.KILL:
        length = m.params[const.LEASE_LENGTH]
        if m.params[const.SYNCHRONOUS]:
            until = max(m.jobs[j].since, now // length * length)
        else:
            until = m.jobs[j].since + (now - m.jobs[j].since) // length * length
    done = done_by(m, j, until)
    m.jobs[j].left -= done
    m.count[const.FRUITLESS] = 0 if done > 0 else m.count[const.FRUITLESS] + 1
    _end_segment(m, j, now, kind)
    _to_wait(m, j, now, stays)


# --- a round --------------------------------------------------------------------------------------


@inner
def _next_round(m):
    now, tau = m.count[const.NOW], m.params[const.TAU]
    coming, runs, waits = m.count[const.COMING], m.count[const.RUNS], m.count[const.WAITS]
    if coming == m.count[const.ABLE] and runs == 0 and waits == 0:
        return const.NONE
    best = const.NONE
    if m.count[const.SEEN] < m.count[const.ABLE]:
        best = round_up(m.jobs[m.lists[const.COMERS, m.count[const.SEEN]]].release, tau)
    if not m.params[const.SKIP]:
        return 0 if now < 0 else now + tau
    if now < 0:
        return best
    demotions = waits > 0 and m.params[const.KEY] == const.LEVEL
    leases = (waits > 0 or m.params[const.ASKED]) and m.params[const.PREEMPTS] == const.LEASE
    length, end = m.params[const.LEASE_LENGTH], const.NONE
    for i in range(runs):
        end = min(end, m.ends[const.TIMES, i])
    if runs:
        best = min(best, round_up(end, tau))
    if leases or demotions:
        for i in range(runs):
            j = m.lists[const.RUNNERS, i]
            if leases:
                end = m.jobs[j].lease_end
                if end <= now:
                    end += ((now - end) // length + 1) * length
                best = min(best, end)
            if demotions:
                time = _next_demotion(m, j)
                if time < const.NONE:
                    best = min(best, max(now + tau, round_up(time, tau)))
    if waits > 0 or (runs > 0 and m.params[const.ASKED]):
        if m.params[const.PREEMPTS] == const.ALWAYS and m.params[const.PATIENCE] >= 0:
            for i in range(waits):
                blocked = m.jobs[m.lists[const.WAITERS, i]].blocked
                if blocked >= 0:
                    time = round_up(blocked + max(1, m.params[const.PATIENCE]), tau)
                    if time > now:
                        best = min(best, time)
                    # who is selected can change, though not who runs
                    if m.params[const.KEY] == const.LEFT:
                        best = min(best, now + tau)
        if m.params[const.KEY] == const.AREA:
            for i in range(waits):
                if m.jobs[m.lists[const.WAITERS, i]].blocked >= 0:
                    best = min(best, now + tau)
                    break
        if m.count[const.TIMER] > now:
            best = min(best, round_up(m.count[const.TIMER], tau))
        if m.params[const.KEY] == const.ATTAINED:
            best = min(best, now + tau)
    return best


@inner
def _complete(m):
    now, found = m.count[const.NOW], 0
    for i in range(m.count[const.RUNS]):
        if m.ends[const.TIMES, i] <= now:
            j, k = m.ends[const.ENDERS, i], found
            while k > 0:
                other = m.lists[const.PICKED, k - 1]
                if m.jobs[other].finish < m.jobs[j].finish or (
                    m.jobs[other].finish == m.jobs[j].finish and other < j
                ):
                    break
                m.lists[const.PICKED, k] = other
                k -= 1
            m.lists[const.PICKED, k] = j
            found += 1
    for i in range(found):
        j = m.lists[const.PICKED, i]
        m.jobs[j].fair = job_fair_at(m, j, m.jobs[j].finish)
    for i in range(found):
        j = m.lists[const.PICKED, i]
        give_old(m, j)
        if m.jobs[j].speed == 0:
            _end_segment(m, j, m.jobs[j].finish, const.PROFILED)
            _to_wait(m, j, now, True)
            m.jobs[j].profiled += 1
            m.count[const.FRUITLESS] += 1
            continue
        m.count[const.FRUITLESS] = 0
        _end_segment(m, j, m.jobs[j].finish, const.FINISH)
        m.jobs[j].left, m.jobs[j].end, m.jobs[j].phase = 0, m.jobs[j].finish, const.FINISHED
        u = m.jobs[j].user
        m.users[u].demand -= m.jobs[j].gpus
        m.users[u].total = m.users[u].total - m.jobs[j].weight if m.users[u].demand > 0 else 0.0
        _turn_user(m, u, now)
        _count_active(m, -1, now)
        for k in range(m.jobs[j].follow_at, m.jobs[j].follow_end):
            follower = m.followers[k]
            m.jobs[follower].release = max(m.jobs[follower].release, m.jobs[j].finish)
            m.jobs[follower].ahead -= 1
            if m.jobs[follower].ahead == 0:
                m.count[const.FREED] = put(m, const.STARTED, m.count[const.FREED], follower)


@inner
def _arrive(m):
    now, first, freed = m.count[const.NOW], m.count[const.COMING], m.count[const.FREED]
    while m.count[const.SEEN] < m.count[const.ABLE]:
        j = m.lists[const.COMERS, m.count[const.SEEN]]
        if round_up(m.jobs[j].release, m.params[const.TAU]) > now:
            break
        m.count[const.SEEN] += 1
        m.jobs[j].ahead -= 1
        if m.jobs[j].ahead == 0:
            freed = put(m, const.STARTED, freed, j)
    m.count[const.FREED] = 0
    for i in range(freed):  # by (release, number), in places of those that were seen before
        j, k = m.lists[const.STARTED, i], first + i
        while k > first:
            other = m.lists[const.COMERS, k - 1]
            release = m.jobs[other].release
            if release < m.jobs[j].release or (release == m.jobs[j].release and other < j):
                break
            m.lists[const.COMERS, k] = other
            k -= 1
        m.lists[const.COMERS, k] = j
    while m.count[const.COMING] < first + freed:
        j = m.lists[const.COMERS, m.count[const.COMING]]
        m.jobs[j].visible = now
        if m.followers.size > 0:
            m.jobs[j].rank = m.count[const.COMING]
        m.count[const.COMING] += 1
        m.count[const.FRUITLESS] = 0
        u, k = m.jobs[j].user, m.jobs[j].kind_of
        if not m.kinds[k].seen:
            m.kinds[k].seen, m.kinds[k].time = True, now
        m.users[u].demand += m.jobs[j].gpus
        m.users[u].total = m.users[u].total + m.jobs[j].weight
        _turn_user(m, u, now)
        _count_active(m, 1, now)
        note_event(m, const.VISIBLE, j, now)
        _to_wait(m, j, now, True)
    for i in range(first, m.count[const.COMING]):
        j = m.lists[const.COMERS, i]
        k = m.jobs[j].kind_of
        m.jobs[j].fair_start = kind_at(m, k, now)
        m.jobs[j].fair_before = m.kinds[k].slope * (now - m.jobs[j].release)
        m.jobs[j].active_start = m.active[1]


@inlined
def _renew_silently(m):
    now, length = m.count[const.NOW], m.params[const.LEASE_LENGTH]
    for i in range(m.count[const.RUNS]):
        j = m.lists[const.RUNNERS, i]
        late = now - m.jobs[j].lease_end
        if late > 0:
            m.jobs[j].lease_end += -(-late // length) * length


@inner
def open_round(m, until):
    """Go to the next round, settle what has happened, and say whether somebody has to decide."""
    gpus = m.count[const.TOTAL]
    if m.count[const.FRUITLESS] > const.MOST_FRUITLESS:
        return const.STUCK
    time = _next_round(m)
    coming = m.count[const.ABLE] - m.count[const.COMING]
    if time == const.NONE:
        return const.STUCK if coming or m.count[const.RUNS] or m.count[const.WAITS] else const.DONE
    if time > until:
        return const.UNTIL
    if (
        m.events.size - m.count[const.EVENTS] < 4 * gpus + coming
        or m.segments.size - m.count[const.SEGMENTS] < 2 * gpus
        or m.parts.size - m.count[const.ENTRIES] < 2 * gpus
    ):
        return const.ROOM
    m.count[const.NOW] = time
    m.count[const.TIMER] = -1
    m.count[const.ROUNDS] += 1
    _complete(m)
    _arrive(m)
    if m.count[const.WAITS] == 0 and not (m.params[const.ASKED] and m.count[const.RUNS]):
        return const.QUIET
    if m.params[const.PREEMPTS] == const.LEASE:
        _renew_silently(m)
    m.count[const.DECISIONS] += 1
    return const.READY


# --- a new machine --------------------------------------------------------------------------------


def new_machine(book: Tables, params: list[int], rule: Rule | None, *, elastic: bool) -> Machine:
    """Return the machine of these tables before the first round; Python decides without a rule."""
    jobs, nodes, users = book.jobs, book.nodes, book.users
    n, total = jobs.size, int(nodes["size"].sum())
    able = np.flatnonzero(jobs["phase"] != const.REJECTED)
    most_size = int(nodes["size"].max())
    codes, nodes["kind"] = np.unique(
        nodes["model"] * (most_size + 1) + nodes["size"], return_inverse=True
    )
    model, sizes = np.divmod(codes, most_size + 1)
    level = np.zeros((sizes.size, most_size + 1), dtype=np.int64)
    np.add.at(level, (nodes["kind"], nodes["free"]), 1)
    anywhere = params[const.SPREAD] or rule is None
    widest = jobs["gpus"] * (2 if elastic and rule is None else 1)
    most = np.minimum(widest, nodes.size) if anywhere else -(-widest // sizes.min())
    most = np.maximum(most, np.minimum(widest // np.maximum(jobs["pod"], 1), nodes.size))
    jobs["offset"] = np.cumsum(most) - most
    sets, reach = reaches(book.speeds)
    kinds, jobs["reach"] = distinct(jobs["pod"] * len(sets) + reach)
    lists = np.zeros((11, max(n, total)), dtype=np.int64)
    lists[const.COMERS, : able.size] = able[np.argsort(jobs["rank"][able])]
    count = np.zeros(16, dtype=np.int64)
    count[[const.NOW, const.TIMER]] = -1
    count[[const.FREE, const.TOTAL]] = total
    count[const.ABLE] = able.size
    return Machine(
        count=count,
        params=np.array(params, dtype=np.int64),
        numbers=np.array(() if rule is None else rule.numbers, dtype=np.float64),
        jobs=jobs,
        nodes=nodes,
        users=users,
        kinds=_kinds(jobs, users),
        gangs=_gangs(jobs, by_user=rule is not None and rule.by_user and rule.key is not Key.NONE),
        least=np.full(max(1, kinds.size), const.NONE, dtype=np.int64),
        entries=np.zeros(int(most.sum()), dtype=ENTRY),
        speeds=book.speeds,
        fastest=np.argsort(-book.speeds, axis=1, kind="stable"),
        first_class=np.searchsorted(model, np.arange(len(book.models) + 1)),
        class_size=sizes.astype(np.int64),
        level=level,
        active=np.zeros(3, dtype=np.int64),
        lists=lists,
        ends=np.zeros((3, max(n, total)), dtype=np.int64),
        segments=np.zeros(CHUNK + 2 * total, dtype=SEGMENT),
        parts=np.zeros(CHUNK + 2 * total, dtype=PART),
        events=np.zeros(CHUNK + n + 4 * total, dtype=EVENT),
        followers=book.followers,
        memory=np.zeros((0, 0), dtype=np.int64),
    )


def _gangs(jobs: NDArray[Any], *, by_user: bool) -> NDArray[Any]:
    """Distinct (gang size, reach), or of each user; each job learns which one it has."""
    sizes, which = distinct(jobs["gpus"])
    codes = jobs["reach"] * max(1, sizes.size) + which
    if by_user:
        codes += jobs["user"] * (codes.max(initial=0) + 1)
    kinds, jobs["gang_class"] = distinct(codes)
    first = first_of(jobs["gang_class"], kinds.size)
    number = np.bincount(jobs["gang_class"], minlength=kinds.size)
    gangs = np.zeros(first.size, dtype=GANG)
    for name, own in (("size", "gpus"), ("reach", "reach"), ("user", "user")):
        gangs[name] = jobs[own][first]
    gangs["heap_at"] = np.cumsum(number) - number
    return gangs


def _kinds(jobs: NDArray[Any], users: NDArray[Any]) -> NDArray[Any]:
    """Distinct (user, gang, weight), by user; each job learns which one it has."""
    weights, code = np.unique(jobs["weight"], return_inverse=True)
    sizes, which = distinct(jobs["gpus"])
    code = (jobs["user"] * max(1, sizes.size) + which) * max(1, weights.size) + code
    codes, jobs["kind_of"] = distinct(code)
    first = first_of(jobs["kind_of"], codes.size)
    kinds = np.zeros(first.size, dtype=KIND_OF_JOB)
    for name, own in (("user", "user"), ("gang", "gpus"), ("weight", "weight")):
        kinds[name] = jobs[own][first]
    users["first_kind"] = np.searchsorted(kinds["user"], np.arange(users.size), side="left")
    users["last_kind"] = np.searchsorted(kinds["user"], np.arange(users.size), side="right")
    return kinds
