"""Preemptive gangs on one pool of equal GPUs, by a priority at every event, as machine code."""

from __future__ import annotations

import numpy as np

from ..instances.arrays import Floats, Ints
from ..instances.compiled import compiled, inner


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
            a, b = heap[first + below], heap[first + below + 1]
            if key[b] < key[a] or (key[b] == key[a] and b < a):
                below += 1
        other = heap[first + below]
        if key[job] < key[other] or (key[job] == key[other] and job < other):
            break
        heap[first + at] = other
        at = below
    heap[first + at] = job
    return np.int64(top)


@inner
def _before(key: Floats, one: int, other: int) -> bool:
    """Whether a job comes before another; ties by number."""
    return key[one] < key[other] or (key[one] == key[other] and one < other)


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


@compiled
def _with_piece(pieces: Ints, count: int, job: int, start: int, end: int) -> Ints:
    """The pieces with one more, in twice the room where they are full."""
    if count == len(pieces):
        more = np.empty((2 * count, 3), dtype=np.int64)
        more[:count] = pieces
        pieces = more
    pieces[count] = job, start, end
    return pieces


@compiled
def schedule_pool(
    order: Ints, release: Ints, seconds: Ints, gpus: Ints, kind: Ints, widths: Ints,
    scale: Floats, capacity: int, dynamic: bool,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """Run jobs by the least seconds times scale, those left if `dynamic`: job, start and end."""
    n, kinds = order.size, widths.size
    pieces, count = np.empty((4 * n + 16, 3), dtype=np.int64), 0
    left, key = seconds.copy(), seconds * scale
    size, first = np.zeros(kinds, dtype=np.int64), np.zeros(kinds, dtype=np.int64)
    for k in range(1, kinds):
        first[k] = first[k - 1] + np.sum(kind == k - 1)
    heap, since = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    running, kept = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    runs, come, now = 0, 0, np.int64(0)
    while runs > 0 or come < n or size.sum() > 0:
        if runs == 0 and size.sum() == 0:
            now = max(now, release[order[come]])
        while come < n and release[order[come]] <= now:
            job = order[come]
            _push(heap, key, first[kind[job]], size[kind[job]], job)
            size[kind[job]] += 1
            come += 1
        _sort(running, runs, key)
        free, stays, i = capacity, 0, 0
        best = _first_waiting(heap, first, size, widths, key, free)
        while i < runs or best >= 0:
            job = running[i] if i < runs else best
            if best >= 0 and (i == runs or _before(key, best, job)):
                job, k = best, kind[best]
                _pop(heap, key, first[k], size[k])
                size[k] -= 1
                since[job] = now
                stay = True
            else:
                i += 1
                stay = gpus[job] <= free
                if not stay:
                    if now > since[job]:
                        pieces = _with_piece(pieces, count, job, since[job], now)
                        count += 1
                    _push(heap, key, first[kind[job]], size[kind[job]], job)
                    size[kind[job]] += 1
            if stay:
                free -= gpus[job]
                kept[stays] = job
                stays += 1
            if not stay or job == best or (best >= 0 and gpus[best] > free):
                best = _first_waiting(heap, first, size, widths, key, free)
        running, kept, runs = kept, running, stays
        upto = release[order[come]] if come < n else np.int64(2**62)
        for i in range(runs):
            upto = min(upto, now + left[running[i]])
        stays = 0
        for i in range(runs):
            job = running[i]
            left[job] -= upto - now
            if dynamic:
                key[job] = left[job] * scale[job]
            if left[job] == 0:
                pieces = _with_piece(pieces, count, job, since[job], upto)
                count += 1
            else:
                running[stays] = job
                stays += 1
        runs, now = stays, upto
    done = pieces[:count]
    return done[:, 0].copy(), done[:, 1].copy(), done[:, 2].copy()


@compiled
def place_pieces(
    by_start: Ints, by_end: Ints, start: Ints, end: Ints, gpus: Ints, sizes: Ints
) -> tuple[Ints, Ints, Ints]:
    """Put pieces on any free GPUs: on the fullest node with room, else on the emptiest ones.

    Returns the first entry of each piece in the order of `by_start`, and the nodes and GPUs of all.
    """
    n = start.size
    free, ptr = sizes.copy(), np.zeros(n + 1, dtype=np.int64)
    rank = np.empty(n, dtype=np.int64)
    node, held = np.empty(2 * n + 16, dtype=np.int64), np.empty(2 * n + 16, dtype=np.int64)
    ended, count = 0, 0
    for i in range(n):
        piece = by_start[i]
        rank[piece] = i
        while end[by_end[ended]] <= start[piece]:
            for e in range(ptr[rank[by_end[ended]]], ptr[rank[by_end[ended]] + 1]):
                free[node[e]] += held[e]
            ended += 1
        need = gpus[piece]
        while need > 0:
            best = -1
            for k in range(free.size):
                if free[k] >= need and (best < 0 or free[k] < free[best]):
                    best = k
            if best < 0:
                best = int(np.argmax(free))
            if count == node.size:
                node, held = np.append(node, node), np.append(held, held)
            node[count], held[count] = best, min(need, free[best])
            free[best] -= held[count]
            need -= held[count]
            count += 1
        ptr[i + 1] = count
    return ptr, node[:count].copy(), held[:count].copy()
