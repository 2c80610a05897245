"""Preemptive gangs on one pool of equal GPUs, by a priority at every event, as machine code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import inlined, inner, tiered
from ...instances.heaps import before, pop, push


@inner
def _first_waiting(
    heap: Ints, first: Ints, size: Ints, widths: Ints, key: Floats, free: int
) -> np.int64:
    """The first of the jobs that wait and fit; -1 where there is none."""
    best = np.int64(-1)
    for k in range(widths.size):
        if size[k] > 0 and widths[k] <= free:
            job = heap[first[k]]
            if best < 0 or before(key, job, best):
                best = job
    return best


class _Pool(NamedTuple):
    """What a run knows; by job, by kind of gang, and of those that run."""

    order: Ints  # jobs by release
    release: Ints
    gpus: Ints
    kind: Ints
    scale: Floats
    left: Ints  # seconds, of those that wait
    key: Floats  # and their keys
    since: Ints  # since when a job runs
    widths: Ints  # of each kind of gang
    first: Ints  # its heap
    size: Ints
    heap: Ints
    running: Ints  # in any order
    until: Ints  # when each of them ends if nobody stops it
    keys: Floats  # and what else loops ask of them
    scales: Floats
    wide: Ints
    last: Ints  # those that may have to stop, the last one first
    state: Ints


#: numbers of the state; END: when the next one ends, UNKNOWN after one was stopped
NOW, COME, RUNS, COUNT, WAITS, FREE, END = range(7)
UNKNOWN = -1
NEVER = 2**62


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
    push(p.heap, p.key, p.first[k], p.size[k], job)
    p.size[k] += 1
    p.state[WAITS] += 1


@inner
def _run(p: _Pool, job: int) -> None:
    """Put a job among those that run, even if GPUs are lacking for now."""
    i, end = p.state[RUNS], p.state[NOW] + p.left[job]
    p.running[i], p.until[i], p.keys[i] = job, end, p.key[job]
    p.scales[i], p.wide[i] = p.scale[job], p.gpus[job]
    p.state[RUNS] = i + 1
    p.state[FREE] -= p.gpus[job]
    if p.state[END] != UNKNOWN:
        p.state[END] = min(p.state[END], end)


@inner
def _start(p: _Pool, job: int) -> None:
    """Let the first of its kind that waits run."""
    k = p.kind[job]
    pop(p.heap, p.key, p.first[k], p.size[k])
    p.size[k] -= 1
    p.state[WAITS] -= 1
    p.since[job] = p.state[NOW]
    _run(p, job)


@inner
def _remove(p: _Pool, i: int) -> None:
    """Take one off those that run."""
    end = p.state[RUNS] - 1
    p.state[RUNS] = end
    p.state[FREE] += p.wide[i]
    p.running[i], p.until[i], p.keys[i] = p.running[end], p.until[end], p.keys[end]
    p.scales[i], p.wide[i] = p.scales[end], p.wide[end]


@inlined
def _held_after(
    running: Ints, keys: Floats, wide: Ints, runs: int, job: int, key: float
) -> np.int64:
    """The GPUs of those that run and come after a job."""
    held = np.int64(0)
    for i in range(runs):
        after = (keys[i] > key) | ((keys[i] == key) & (running[i] > job))
        held += wide[i] if after else 0
    return held


@inner
def _choose(p: _Pool, pieces: Ints, capacity: int) -> None:
    """Who runs now: the first ones that fit, of those that run and those that wait.

    Who waits starts if it fits beside those that come before it; then the last ones have to stop.
    """
    most = capacity  # no less than what is free for those that come next
    best = _first_waiting(p.heap, p.first, p.size, p.widths, p.key, most)
    while best >= 0:
        if p.gpus[best] > p.state[FREE]:
            most = p.state[FREE] + _held_after(
                p.running, p.keys, p.wide, p.state[RUNS], best, p.key[best]
            )
        if p.gpus[best] <= most:
            _start(p, best)
            most -= p.gpus[best]
        best = _first_waiting(p.heap, p.first, p.size, p.widths, p.key, most)
    if p.state[FREE] < 0:
        _stop_last(p, pieces)


@inner
def _find_last(running: Ints, keys: Floats, runs: int) -> int:
    """Which one of those that run comes last."""
    last, key = 0, keys[0]
    for i in range(1, runs):
        if keys[i] >= key and (keys[i] > key or running[i] > running[last]):
            last, key = i, keys[i]
    return last


@inner
def _stop_last(p: _Pool, pieces: Ints) -> None:
    """Stop the last ones that run, but for those that fit once others have stopped."""
    count = 0
    while p.state[FREE] < 0:
        i = _find_last(p.running, p.keys, p.state[RUNS])
        job = p.running[i]
        p.last[count], p.key[job], p.left[job] = job, p.keys[i], p.until[i] - p.state[NOW]
        if p.until[i] == p.state[END]:
            p.state[END] = UNKNOWN
        _remove(p, i)
        count += 1
    best = _first_waiting(p.heap, p.first, p.size, p.widths, p.key, p.state[FREE])
    while count > 0 or best >= 0:
        if best >= 0 and (count == 0 or before(p.key, best, p.last[count - 1])):
            _start(p, best)
        else:
            count -= 1
            job = p.last[count]
            if p.gpus[job] <= p.state[FREE]:
                _run(p, job)
            else:
                if p.state[NOW] > p.since[job]:
                    _note_piece(p, pieces, job, p.state[NOW])
                _wait(p, job)
        best = _first_waiting(p.heap, p.first, p.size, p.widths, p.key, p.state[FREE])


@inlined
def _next_end(until: Ints, runs: int) -> np.int64:
    """When the first of those that run ends."""
    end = np.int64(NEVER)
    for i in range(runs):
        end = min(end, until[i])
    return end


@inner
def _serve(p: _Pool, pieces: Ints) -> None:
    """Let those that run do so until one of them is complete, or the next one comes."""
    come = p.state[COME]
    if p.state[END] == UNKNOWN:
        p.state[END] = _next_end(p.until, p.state[RUNS])
    end = p.state[END]
    if come < p.order.size and p.release[p.order[come]] < end:
        p.state[NOW] = p.release[p.order[come]]
        return
    p.state[NOW] = end
    while p.state[END] == end:
        i = 0
        while p.until[i] != end:
            i += 1
        _note_piece(p, pieces, p.running[i], end)
        _remove(p, i)
        p.state[END] = _next_end(p.until, p.state[RUNS])


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
        if dynamic and p.state[WAITS] > 0:
            for i in range(p.state[RUNS]):  # keys of what is left
                p.keys[i] = (p.until[i] - p.state[NOW]) * p.scales[i]
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
    room = 2 * capacity
    pool = _Pool(
        order, release, gpus, kind, scale, seconds.copy(), seconds * scale,
        np.full(n, -1, dtype=np.int64), widths, first, size, np.empty(n, dtype=np.int64),
        running=np.empty(room, dtype=np.int64), until=np.empty(room, dtype=np.int64),
        keys=np.empty(room), scales=np.empty(room), wide=np.empty(room, dtype=np.int64),
        last=np.empty(room, dtype=np.int64),
        state=np.array([0, 0, 0, 0, 0, capacity, NEVER], dtype=np.int64),
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
