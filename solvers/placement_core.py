"""Consolidated placement as machine code."""

from __future__ import annotations

from ..instances.compiled import inner

NONE = 2**62


@inner
def _fullest(free, nodes, found):
    """The node with the most free GPUs that is not among the first so many; the first of equals."""
    best = -1
    for n in range(free.size):
        if best < 0 or free[n] > free[best]:
            taken = False
            for k in range(found):
                taken = taken or nodes[k] == n
            if not taken:
                best = n
    return best


@inner
def place(gang, free, sizes, spread, nodes, parts):
    """As :func:`gangsched.solvers.placement.place`, into `nodes` and `parts`; how many, or 0."""
    before = 0
    while True:
        size = NONE
        for n in range(sizes.size):
            if before < sizes[n] < size:
                size = sizes[n]
        if size == NONE:
            break
        before = size
        full, rest = gang // size, gang % size
        found, best = 0, -1
        for n in range(sizes.size):
            if sizes[n] != size:
                continue
            if found < full and free[n] == size:
                nodes[found], parts[found] = n, size
                found += 1
            elif rest > 0 and free[n] >= rest and (best < 0 or free[n] < free[best]):
                best = n
        if found == full and (rest == 0 or best >= 0):
            if rest > 0:
                nodes[found], parts[found] = best, rest
                found += 1
            return found
    there = 0
    for n in range(free.size):
        there += free[n]
    if not spread or there < gang:
        return 0
    found = 0
    while gang > 0:
        best = _fullest(free, nodes, found)
        nodes[found], parts[found] = best, min(gang, free[best])
        gang -= parts[found]
        found += 1
    return found
