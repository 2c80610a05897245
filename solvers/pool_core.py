"""Preemptive gangs on one pool of equal GPUs, by a priority at every event, as machine code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..instances.arrays import Floats, Ints
from ..instances.compiled import inner, tiered


@inner
def _before(key: Floats, one: int, other: int) -> bool:
    """Whether a job comes before another; ties by number."""
    return key[one] < key[other] or (key[one] == key[other] and one < other)


@inner
def _push(heap: Ints, key: Floats, first: int, size: int, job: int) -> None:
    """Put a job into the heap that begins at `first`: the least key is on top, ties by number."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        other = heap[first + above]
        if key[other] < key[job] or (key[other] == key[job] and other < job):
            break
        heap[first + at] = other
        at = above
    heap[first + at] = job


@inner
def _pop(heap: Ints, key: Floats, first: int, size: int) -> np.int64:
    """Take the top off."""
    top, job = heap[first], heap[first + size - 1]
    size -= 1
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size:
            below += _before(key, heap[first + below + 1], heap[first + below])
        other = heap[first + below]
        if key[job] < key[other] or (key[job] == key[other] and job < other):
            break
        heap[first + at] = other
        at = below
    heap[first + at] = job
    return np.int64(top)


@inner
def _sort(running: Ints, runs: int, key: Floats) -> None:
    """Sort by insertion, as the order has hardly changed."""
    for i in range(1, runs):
        job, at = running[i], i
        while at > 0 and _before(key, job, running[at - 1]):
            running[at] = running[at - 1]
            at -= 1
        running[at] = job


@inner
def _first_waiting(
    heap: Ints, first: Ints, size: Ints, widths: Ints, key: Floats, free: int
) -> np.int64:
    """The first of the jobs that wait and fit; -1 where there is none."""
    best = np.int64(-1)
    for k in range(widths.size):
        if size[k] > 0 and widths[k] <= free:
            job = heap[first[k]]
            if best < 0 or _before(key, job, best):
                best = job
    return best


class _Pool(NamedTuple):
    """What a run knows; by job, by kind of gang, and of those that run."""

    order: Ints  # jobs by release
    release: Ints
    gpus: Ints
    kind: Ints
    scale: Floats
    left: Ints  # seconds; of those that run as of when they started
    finish: Ints  # when those that run end if nobody stops them
    key: Floats
    since: Ints  # since when a job runs
    widths: Ints  # of each kind of gang
    first: Ints  # its heap
    size: Ints
    heap: Ints
    running: Ints  # by key
    kept: Ints
    state: Ints


#: numbers of the state
NOW, COME, RUNS, COUNT, WAITS, FREE = range(6)


@inner
def _note_piece(p: _Pool, pieces: Ints, job: int, end: int) -> None:
    """Write down that a job has run until then."""
    count = p.state[COUNT]
    pieces[count, 0], pieces[count, 1], pieces[count, 2] = job, p.since[job], end
    p.state[COUNT] = count + 1


@inner
def _wait(p: _Pool, job: int) -> None:
    """Put a job among those that wait."""
    k = p.kind[job]
    _push(p.heap, p.key, p.first[k], p.size[k], job)
    p.size[k] += 1
    p.state[WAITS] += 1


@inner
def _start(p: _Pool, job: int) -> None:
    """Let the first of its kind that waits run."""
    k = p.kind[job]
    _pop(p.heap, p.key, p.first[k], p.size[k])
    p.size[k] -= 1
    p.state[WAITS] -= 1
    p.since[job] = p.state[NOW]
    p.finish[job] = p.state[NOW] + p.left[job]


@inner
def _stay(p: _Pool, best: int) -> int:
    """How many of those that run come before a job: they stay."""
    low, high = 0, p.state[RUNS]
    while low < high:
        middle = (low + high) // 2
        if _before(p.key, p.running[middle], best):
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _choose(p: _Pool, pieces: Ints, capacity: int) -> None:
    """Who runs now: the first ones that fit, of those that run and those that wait."""
    runs = p.state[RUNS]
    best = _first_waiting(p.heap, p.first, p.size, p.widths, p.key, capacity)
    if best < 0:
        return
    first = i = stays = _stay(p, best)
    free = p.state[FREE]
    for k in range(i, runs):
        free += p.gpus[p.running[k]]
    best = _first_waiting(p.heap, p.first, p.size, p.widths, p.key, free)
    while i < runs or best >= 0:
        job = p.running[i] if i < runs else best
        if best >= 0 and (i == runs or _before(p.key, best, job)):
            job, stay = best, True
            _start(p, job)
        else:
            i += 1
            stay = p.gpus[job] <= free
            if not stay:
                p.left[job] = p.finish[job] - p.state[NOW]
                if p.state[NOW] > p.since[job]:
                    _note_piece(p, pieces, job, p.state[NOW])
                _wait(p, job)
        if stay:
            free -= p.gpus[job]
            p.kept[stays] = job
            stays += 1
        if not stay or job == best or (best >= 0 and p.gpus[best] > free):
            best = _first_waiting(p.heap, p.first, p.size, p.widths, p.key, free)
    for k in range(first, stays):
        p.running[k] = p.kept[k]
    p.state[RUNS], p.state[FREE] = stays, free


@inner
def _serve(p: _Pool, pieces: Ints) -> None:
    """Let those that run do so until one of them is complete, or the next one comes."""
    runs, stays = p.state[RUNS], 0
    end = np.int64(2**62)
    for i in range(runs):
        end = min(end, p.finish[p.running[i]])
    if p.state[COME] < p.order.size and p.release[p.order[p.state[COME]]] < end:
        p.state[NOW] = p.release[p.order[p.state[COME]]]
        return
    for i in range(runs):
        job = p.running[i]
        if p.finish[job] == end:
            _note_piece(p, pieces, job, end)
            p.state[FREE] += p.gpus[job]
        else:
            p.running[stays] = job
            stays += 1
    p.state[NOW], p.state[RUNS] = end, stays


@inner
def _age(p: _Pool) -> None:
    """Give those that run the keys of what is left of them, and sort them."""
    for i in range(p.state[RUNS]):
        job = p.running[i]
        p.key[job] = (p.finish[job] - p.state[NOW]) * p.scale[job]
    _sort(p.running, p.state[RUNS], p.key)


@tiered(seconds=2, most=100_000)
def _run_while_room(p: _Pool, pieces: Ints, capacity: int, dynamic: bool) -> bool:
    """Go from event to event; False where there is no room for the pieces of the next one."""
    n = p.order.size
    while p.state[RUNS] > 0 or p.state[COME] < n or p.state[WAITS] > 0:
        if p.state[COUNT] + 2 * capacity > pieces.shape[0]:
            return False
        if p.state[RUNS] == 0 and p.state[WAITS] == 0:
            p.state[NOW] = max(p.state[NOW], p.release[p.order[p.state[COME]]])
        while p.state[COME] < n and p.release[p.order[p.state[COME]]] <= p.state[NOW]:
            _wait(p, p.order[p.state[COME]])
            p.state[COME] += 1
        if dynamic:
            _age(p)
        _choose(p, pieces, capacity)
        _serve(p, pieces)
    return True


def schedule_pool(
    order: Ints, release: Ints, seconds: Ints, gpus: Ints, kind: Ints, widths: Ints,
    scale: Floats, capacity: int, dynamic: bool,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """Run jobs by the least seconds times scale, those left if `dynamic`: job, start and end."""
    n = order.size
    size, first = np.zeros(widths.size, dtype=np.int64), np.zeros(widths.size, dtype=np.int64)
    for k in range(1, widths.size):
        first[k] = first[k - 1] + np.sum(kind == k - 1)
    pool = _Pool(
        order, release, gpus, kind, scale, seconds.copy(), np.zeros_like(seconds), seconds * scale,
        np.full(n, -1, dtype=np.int64), widths, first, size, np.empty(n, dtype=np.int64),
        np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64),
        np.array([0, 0, 0, 0, 0, capacity], dtype=np.int64),
    )  # fmt: skip
    pieces = np.empty((4 * n + 2 * capacity, 3), dtype=np.int64)  # rows of job, start and end
    while not _run_while_room(pool, pieces, capacity, dynamic):
        more = np.empty((2 * len(pieces), 3), dtype=np.int64)
        more[: len(pieces)] = pieces
        pieces = more
    done = pieces[: pool.state[COUNT]]
    return done[:, 0].copy(), done[:, 1].copy(), done[:, 2].copy()


def place_pieces(
    by_start: Ints, by_end: Ints, start: Ints, end: Ints, gpus: Ints, sizes: Ints
) -> tuple[Ints, Ints, Ints]:
    """Put pieces on any free GPUs: on the fullest node with room, else on the emptiest ones.

    Returns the first entry of each piece in the order of `by_start`, and the nodes and GPUs of all.
    """
    n = start.size
    free, ptr, rank = sizes.copy(), np.zeros(n + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
    room = 2 * n + sizes.size
    node, held = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    state = np.zeros(2, dtype=np.int64)
    while not _place_while_room(
        by_start, by_end, start, end, gpus, free, ptr, rank, node, held, state
    ):
        node, held = np.append(node, node), np.append(held, held)
    count = ptr[n]
    return ptr, node[:count].copy(), held[:count].copy()


@tiered(seconds=2, most=100_000)
def _place_while_room(
    by_start: Ints, by_end: Ints, start: Ints, end: Ints, gpus: Ints, free: Ints, ptr: Ints,
    rank: Ints, node: Ints, held: Ints, state: Ints,
) -> bool:  # fmt: skip
    """Place pieces from the first one that is not placed on; False where entries have no room.

    The state: how many pieces have ended, and are placed.
    """
    ended, count = state[0], ptr[state[1]]
    for i in range(state[1], start.size):
        if count + free.size > node.size:
            state[0], state[1] = ended, i
            return False
        piece = by_start[i]
        rank[piece] = i
        while end[by_end[ended]] <= start[piece]:
            for e in range(ptr[rank[by_end[ended]]], ptr[rank[by_end[ended]] + 1]):
                free[node[e]] += held[e]
            ended += 1
        need = gpus[piece]
        while need > 0:
            best = most = -1
            for k in range(free.size):
                if free[k] >= need and (best < 0 or free[k] < free[best]):
                    best = k
                if most < 0 or free[k] > free[most]:
                    most = k
            if best < 0:
                best = most
            node[count], held[count] = best, min(need, free[best])
            free[best] -= held[count]
            need -= held[count]
            count += 1
        ptr[i + 1] = count
    return True
