"""Pieces of gangs onto nodes, with repacking, as machine code."""

from __future__ import annotations

import numpy as np

from ...instances.arrays import Ints
from ...instances.compiled import compiled, inner


@inner
def _fullest(free: Ints, gang: int) -> int:
    """The node with the least free GPUs that can hold the gang; -1 where none can."""
    best = -1
    for k in range(free.size):
        if free[k] >= gang and (best < 0 or free[k] < free[best]):
            best = k
    return best


@inner
def _give_back(segment: Ints, entries: Ints, free: Ints) -> None:
    """Free the GPUs of a segment."""
    for e in range(segment[3], segment[4]):
        free[entries[e, 0]] += entries[e, 1]


@compiled
def with_room(rows: Ints, count: int, more: int) -> Ints:
    """The rows, in twice the room where there is none for more."""
    if count + more <= len(rows):
        return rows
    larger = np.empty((2 * len(rows) + more, rows.shape[1]), dtype=np.int64)
    larger[:count] = rows[:count]
    return larger


@compiled
def place_gangs(
    by_start: Ints, by_end: Ints, start: Ints, end: Ints, gang: Ints, sizes: Ints
) -> tuple[Ints, Ints]:
    """Put pieces on nodes: gangs that a node can hold on one, others on any free GPUs.

    What runs stays where it is, unless a gang finds no node that can hold it: then all are placed
    anew, the widest on one node first, and on its own if that is free. A gang that fits no node
    even so is spread over several.

    Returns segments (piece, start, end, first entry, one after the last) and entries (node, GPUs).
    """
    n, nodes, largest = start.size, sizes.size, np.max(sizes)
    free = sizes.copy()
    running, last = np.empty(n + 1, dtype=np.int64), 0  # the widest first
    at, node = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    segments, count = np.empty((2 * n + 16, 5), dtype=np.int64), 0
    entries, size = np.empty((2 * n + 16, 2), dtype=np.int64), 0
    came, ended = 0, 0
    while ended < n:
        now = end[by_end[ended]]
        if came < n:
            now = min(now, start[by_start[came]])
        while ended < n and end[by_end[ended]] == now:
            ended += 1
        kept = 0
        for i in range(last):
            j = running[i]
            if end[j] > now:
                running[kept] = j
                kept += 1
            else:
                segments[at[j], 2] = now
                _give_back(segments[at[j]], entries, free)
        last = kept
        while came < n and start[by_start[came]] == now:
            j, i = by_start[came], last
            while i > 0 and gang[running[i - 1]] < gang[j]:
                running[i] = running[i - 1]
                i -= 1
            running[i] = j
            last += 1
            came += 1
        rest, repack = free.copy(), False
        for i in range(last):
            j = running[i]
            if at[j] < 0 and gang[j] <= largest:
                node[j] = _fullest(rest, gang[j])
                repack = repack or node[j] < 0
                if node[j] >= 0:
                    rest[node[j]] -= gang[j]
        if repack:
            rest = sizes.copy()
            for i in range(last):
                j = running[i]
                if gang[j] <= largest:
                    if at[j] < 0 or node[j] < 0 or rest[node[j]] < gang[j]:
                        node[j] = _fullest(rest, gang[j])
                    if node[j] >= 0:
                        rest[node[j]] -= gang[j]
            for i in range(last):
                j = running[i]
                if at[j] < 0:
                    continue
                first, after = segments[at[j], 3], segments[at[j], 4]
                if after - first > 1 or entries[first, 0] != node[j]:
                    segments[at[j], 2] = now
                    _give_back(segments[at[j]], entries, free)
                    at[j] = -1
        segments = with_room(segments, count, last)
        for one in range(2):  # those on one node first
            for i in range(last):
                j = running[i]
                if at[j] >= 0 or (node[j] >= 0) == (one == 1):
                    continue
                entries = with_room(entries, size, nodes)
                at[j], left = count, gang[j]
                segments[count, 0], segments[count, 1], segments[count, 3] = j, now, size
                while left > 0:
                    k = node[j] if node[j] >= 0 else np.argmax(free)
                    taken = min(left, free[k])
                    entries[size, 0], entries[size, 1] = k, taken
                    free[k] -= taken
                    left -= taken
                    size += 1
                segments[count, 4] = size
                count += 1
    return segments[:count].copy(), entries[:size].copy()
