"""Jobs with deadlines into the cheapest free seconds of a pool of GPUs, as machine code.

The pool is a chain of segments: in segment s, from begin[s] to the begin of the one after, free[s]
GPUs are free, at the price of interval kind[s]. Of a moment the segment is found from the nearest
anchor before it. Pieces (start, end) of job j are those from head[j] on, count[j] of them; old ones
stay until there is no room.
"""

from __future__ import annotations

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner
from .repacking_core import with_room

NEVER = 2**62
#: of the search: jobs around one, by release, that it looks at; most of them that it takes out
AROUND, MOST = 40, 6
DRAWS = 3 + MOST  #: random numbers of each of its moves


@inner
def _find(moment: int, chain: Ints, anchors: Ints, origin: int, width: int) -> int:
    """The segment that holds a moment."""
    at: int = anchors[(moment - origin) // width]
    while chain[at, 2] >= 0 and chain[chain[at, 2], 0] <= moment:
        at = chain[at, 2]
    return at


@inner
def _end(at: int, chain: Ints) -> int:
    """Where a segment ends."""
    end: int = chain[chain[at, 2], 0] if chain[at, 2] >= 0 else NEVER
    return end


@inner
def _split(at: int, moment: int, chain: Ints, used: Ints) -> int:
    """Let a segment begin at a moment within another."""
    if chain[at, 0] == moment:
        return at
    new: int = used[0]
    used[0] += 1
    chain[new, 0], chain[new, 1], chain[new, 2] = moment, chain[at, 1], chain[at, 2]
    chain[new, 3] = chain[at, 3]
    chain[at, 2] = new
    return new


@inner
def _hold(
    change: int, head: int, count: int, pieces: Ints, chain: Ints, anchors: Ints, origin: int,
    width: int, used: Ints,
) -> None:  # fmt: skip
    """Change the free GPUs within some pieces."""
    for i in range(head, head + count):
        at = _split(_find(pieces[i, 0], chain, anchors, origin, width), pieces[i, 0], chain, used)
        while at >= 0 and chain[at, 0] < pieces[i, 1]:
            if _end(at, chain) > pieces[i, 1]:
                _split(at, pieces[i, 1], chain, used)
            chain[at, 1] += change
            at = chain[at, 2]


@inner
def _insert(
    start: int, need: int, gang: int, stop: Ints, low: int, high: int, cheapest: Ints,
    free: Ints, chain: Ints, anchors: Ints, origin: int, width: int, pieces: Ints, used: Ints,
) -> int:  # fmt: skip
    """Put a job into its cheapest free seconds before the first stop of low:high that allows it.

    Returns that stop; -1 where there is none, -2 where there is no room for the pieces.
    """
    first = _find(start, chain, anchors, origin, width)
    at, t, total, walked, row = first, start, 0, 0, -1
    for i in range(low, high):
        while t < stop[i]:
            end = min(_end(at, chain), stop[i])
            if chain[at, 1] >= gang:
                free[chain[at, 3]] += end - t
                total += end - t
            walked += 1
            t = end
            if t == _end(at, chain):
                at = chain[at, 2]
        if total >= need:
            row = i
            break
    if row >= 0 and used[1] + walked > len(pieces):
        row = -2
    left = need if row >= 0 else 0
    for k in cheapest:
        free[k] = min(free[k], left)
        left -= free[k]
    if row < 0:
        return row
    at, t, left, begun = first, start, need, used[1]
    while left > 0:
        end, k = min(_end(at, chain), stop[row]), chain[at, 3]
        if chain[at, 1] >= gang and free[k] > 0:
            end = min(end, t + free[k])
            at = _split(at, t, chain, used)
            if end < _end(at, chain):
                _split(at, end, chain, used)
            chain[at, 1] -= gang
            free[k] -= end - t
            left -= end - t
            if used[1] > begun and pieces[used[1] - 1, 1] == t:
                pieces[used[1] - 1, 1] = end
            else:
                pieces[used[1], 0], pieces[used[1], 1] = t, end
                used[1] += 1
        t = end
        if t == _end(at, chain):
            at = chain[at, 2]
    return row


@compiled
def _tidied(chain: Ints, used: Ints, more: int) -> Ints:
    """The segments in their order, neighbours alike as one, with room for more."""
    new = np.empty((2 * used[0] + more, 4), dtype=np.int64)
    at, count = 0, 0
    while at >= 0:
        same = count > 0 and new[count - 1, 1] == chain[at, 1] and new[count - 1, 3] == chain[at, 3]
        if not same:
            new[count, 0], new[count, 1] = chain[at, 0], chain[at, 1]
            new[count, 2], new[count, 3] = count + 1, chain[at, 3]
            count += 1
        at = chain[at, 2]
    new[count - 1, 2] = -1
    used[0] = count
    return new


@compiled
def _anchors(chain: Ints, used: Ints, origin: int, width: int, until: int) -> Ints:
    """Of every `width` seconds the segment that holds their begin."""
    found = np.empty((until - origin) // width + 1, dtype=np.int64)
    at = 0
    for i in range(found.size):
        while at + 1 < used[0] and chain[at + 1, 0] <= origin + i * width:
            at += 1
        found[i] = at
    return found


@compiled
def _gathered(pieces: Ints, head: Ints, count: Ints, used: Ints) -> Ints:
    """The pieces of jobs one after the other, with as much room again."""
    new = np.empty((2 * used[1] + 1024, 2), dtype=np.int64)
    size = 0
    for j in range(head.size):
        new[size : size + count[j]] = pieces[head[j] : head[j] + count[j]]
        head[j] = size
        size += count[j]
    used[1] = size
    return new


@inner
def _drawn(draw: Floats, row: Ints, ptr: Ints, rank: Ints, todo: Ints) -> int:
    """Draw a job that wants in, and those that come out or may come in with it; how many.

    They stand in `todo`, the densest first after the first; none where all have their first reward.
    """
    n = row.size
    x = min(int(draw[0] * n), n - 1)
    for _ in range(n):  # the next that has not its first reward
        if row[x] != ptr[x]:
            break
        x = (x + 1) % n
    if row[x] == ptr[x]:
        return 0
    low, high = max(x - AROUND, 0), min(x + AROUND + 1, n)
    todo[0], last = x, 1
    for i in range(1 + min(int(draw[1] * MOST), MOST - 1)):
        j = min(low + int(draw[3 + i] * (high - low)), high - 1)
        new = j != x and row[j] >= 0
        for m in range(1, last):
            new = new and todo[m] != j
        if new:
            todo[last] = j
            last += 1
    if draw[2] < 0.5:  # all that might come in
        taken = last
        for j in range(low, high):
            new = row[j] != ptr[j]
            for m in range(taken):
                new = new and todo[m] != j
            if new:
                todo[last] = j
                last += 1
    for i in range(2, last):
        j, m = todo[i], i
        while m > 1 and rank[todo[m - 1]] > rank[j]:
            todo[m] = todo[m - 1]
            m -= 1
        todo[m] = j
    return last


@inner
def _take_out(
    todo: Ints, last: int, gang: Ints, worth: Floats, head: Ints, count: Ints, row: Ints,
    gone: Ints, pieces: Ints, chain: Ints, anchors: Ints, origin: int, width: int, used: Ints,
) -> float:  # fmt: skip
    """Take jobs out of the pool and note in `gone` where they were; what that wins."""
    won = 0.0
    for i in range(last):
        j = todo[i]
        gone[i, 0], gone[i, 1], gone[i, 2], gone[i, 3] = j, head[j], count[j], row[j]
        if row[j] >= 0:
            _hold(gang[j], head[j], count[j], pieces, chain, anchors, origin, width, used)
            won -= worth[row[j]]
    return won


@inner
def _undo(
    todo: Ints, last: int, gang: Ints, head: Ints, count: Ints, row: Ints, gone: Ints,
    pieces: Ints, chain: Ints, anchors: Ints, origin: int, width: int, used: Ints,
) -> None:  # fmt: skip
    """Put jobs back to where they were."""
    for i in range(last):
        j = todo[i]
        _hold(gang[j], head[j], count[j], pieces, chain, anchors, origin, width, used)
    for i in range(last):
        j = gone[i, 0]
        head[j], count[j], row[j] = gone[i, 1], gone[i, 2], gone[i, 3]
        _hold(-gang[j], head[j], count[j], pieces, chain, anchors, origin, width, used)


@compiled
def fill_pool(
    order: Ints, start: Ints, need: Ints, gang: Ints, ptr: Ints, stop: Ints, worth: Floats,
    edges: Ints, cheapest: Ints, gpus: int, draws: Floats,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Fill a pool greedily in this order, then ruin and recreate; pieces and each job's number."""
    n, kinds, until = order.size, edges.size - 1, edges[-1]
    origin, used = edges[0], np.zeros(2, dtype=np.int64)
    used[0] = kinds
    chain = np.empty((kinds, 4), dtype=np.int64)
    for k in range(kinds):
        chain[k, 0], chain[k, 1], chain[k, 2], chain[k, 3] = edges[k], gpus, k + 1, k
    chain[kinds - 1, 2] = -1
    pieces = np.empty((4 * n + 64, 2), dtype=np.int64)
    head, count = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    row, rank = np.full(n, -1), np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    free = np.zeros(kinds, dtype=np.int64)
    width, anchors = until - origin + 1, np.zeros(1, dtype=np.int64)
    gone = np.empty((2 * AROUND + 2, 4), dtype=np.int64)  # job, head, count, row
    todo = np.empty(2 * AROUND + 2, dtype=np.int64)
    since, kept = used[0], used[1]
    for step in range(n + len(draws)):
        if step < n:
            todo[0], last = order[step], 1
        else:
            last = _drawn(draws[step - n], row, ptr, rank, todo)
            if last == 0:
                break
        room = 3 * last
        for i in range(last):
            room += 2 * count[todo[i]]
        if used[0] + room > len(chain) or used[0] > 2 * since + 64:
            chain = _tidied(chain, used, room)
            width = max((until - origin) // used[0], 1)
            anchors = _anchors(chain, used, origin, width, until)
            since = used[0]
        won = _take_out(
            todo, last, gang, worth, head, count, row, gone, pieces, chain, anchors, origin, width,
            used,
        )  # fmt: skip
        for i in range(last):
            j = todo[i]
            head[j], row[j] = used[1], -2
            while row[j] == -2:
                row[j] = _insert(
                    start[j], need[j], gang[j], stop, ptr[j], ptr[j + 1], cheapest, free, chain,
                    anchors, origin, width, pieces, used,
                )  # fmt: skip
                if row[j] == -2:
                    pieces = with_room(pieces, used[1], len(pieces) + used[0])
            count[j] = used[1] - head[j]
            if row[j] >= 0:
                won += worth[row[j]]
        if won < 0:
            _undo(
                todo, last, gang, head, count, row, gone, pieces, chain, anchors, origin, width,
                used,
            )  # fmt: skip
        if used[1] > 4 * kept + 8 * n:
            pieces = _gathered(pieces, head, count, used)
            kept = used[1]
    return _gathered(pieces, head, count, used)[: used[1]].copy(), count
