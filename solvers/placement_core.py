"""Consolidated placement as machine code."""

from __future__ import annotations

from ..instances.compiled import inner

NONE = 2**62


@inner
def place_in_pods(pods, pod, fit, free, nodes, parts):
    """Where there is room for most, the last pods where there is least if they are to fit."""
    most = room = found = 0
    for n in range(free.size):
        room += free[n] // pod
        most = max(most, free[n] // pod)
    if room < pods:
        return 0
    for level in range(most, 0, -1):
        for n in range(free.size):
            if free[n] // pod != level:
                continue
            best = n
            for i in range(free.size if fit and level >= pods else 0):
                if free[i] >= free[best] or free[i] // pod < pods:
                    continue
                if free[i] // pod < level or i > n:
                    best = i
            nodes[found], parts[found] = best, min(level, pods) * pod
            found += 1
            pods -= min(level, pods)
            if pods == 0:
                return found
    return 0


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
    return place_in_pods(gang, 1, False, free, nodes, parts) if spread else 0
