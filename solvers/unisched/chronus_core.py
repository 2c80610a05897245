"""Who is where in a cycle of Chronus, as machine code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...instances.arrays import Bools, Ints
from ...instances.compiled import compiled, inner

#: parts of the cluster: all nodes but the profiler's, the profiler's, and both
OUTSIDE, INSIDE, BOTH = range(3)
#: numbers of a start in front of its nodes, see `WrittenStarts`
HEAD = 5
#: numbers that change: of the starts and of what is written for them
STARTS, WRITTEN = range(2)
#: more GPUs than there are
NO_GANG = 2**62


class Floor(NamedTuple):
    """The nodes of a run, as numbers.

    Parameters
    ----------
    sizes : (nodes,) int array
        Their GPUs.
    kinds : int array
        Distinct sizes, rising.
    parts : (3, nodes) bool array
        Whether a node is outside the profiler's, inside, and True.
    spread : bool
        Whether gangs may be on any nodes.
    inside, capacity : int
        GPUs of the profiler's nodes, and of the others.
    widest : int
        The most GPUs of a gang that has a place outside on an empty cluster.
    """

    sizes: Ints
    kinds: Ints
    parts: Bools
    spread: bool
    inside: int
    capacity: int
    widest: int


class Holders(NamedTuple):
    """Jobs that stop unless they are placed where they are, and what they hold.

    Parameters
    ----------
    jobs : (n,) int array
    ptr, node, part : int arrays
        Job k holds ``part[i]`` GPUs of ``node[i]``, i from ``ptr[k]`` to ``ptr[k + 1]``.
    """

    jobs: Ints
    ptr: Ints
    node: Ints
    part: Ints


@inner
def _spread_out(floor: Floor, free: Ints, which: int, gpus: int, node: Ints, part: Ints) -> int:
    """A place on any nodes, those with most free GPUs first; 0 where they are too few."""
    total = 0
    for n in range(free.size):
        total += free[n] if floor.parts[which, n] else 0
    if total < gpus:
        return 0
    count, left = 0, gpus
    while left > 0:
        best = -1
        for n in range(free.size):
            after = count == 0 or free[n] < free[node[count - 1]]
            after = after or (free[n] == free[node[count - 1]] and n > node[count - 1])
            if floor.parts[which, n] and after and (best < 0 or free[n] > free[best]):
                best = n
        node[count], part[count] = best, min(left, free[best])
        left -= part[count]
        count += 1
    return count


@inner
def _find(floor: Floor, free: Ints, which: int, gpus: int, node: Ints, part: Ints) -> int:
    """The place that :func:`..placement.place` gives in a part: of how many nodes; 0 for none."""
    for size in floor.kinds:
        full, rest = gpus // size, gpus % size
        count, best = 0, -1
        for n in range(free.size):
            if floor.sizes[n] != size or not floor.parts[which, n]:
                continue
            if count < full and free[n] == size:
                node[count], part[count] = n, size
                count += 1
            elif free[n] >= rest and (best < 0 or free[n] < free[best]):
                best = n
        if count < full or (rest > 0 and best < 0):
            continue
        if rest > 0:
            node[count], part[count] = best, rest
            count += 1
        return count
    return _spread_out(floor, free, which, gpus, node, part) if floor.spread else 0


@inner
def _find_below(
    floor: Floor, free: Ints, which: int, gpus: int, least: Ints, node: Ints, part: Ints
) -> int:
    """The same; no gang of `least` or more GPUs finds one in a part."""
    if gpus >= least[which]:
        return 0
    count: int = _find(floor, free, which, gpus, node, part)
    if count == 0:
        least[which] = gpus
    return count


@inner
def _write_start(
    job: int, gpus: int, seconds: int, count: int, node: Ints, part: Ints, out: Ints, done: Ints
) -> None:
    """Add a start to a decision."""
    at = done[WRITTEN]
    out[at], out[at + 1], out[at + 2], out[at + 3], out[at + 4] = job, gpus, seconds, 0, count
    at += HEAD
    for k in range(count):
        out[at], out[at + 1] = node[k], part[k]
        at += 2
    done[WRITTEN] = at
    done[STARTS] += 1


@inner
def _take(free: Ints, count: int, node: Ints, part: Ints) -> None:
    """Take GPUs."""
    for k in range(count):
        free[node[k]] -= part[k]


@inner
def _take_back(own: Holders, k: int, free: Ints) -> bool:
    """Take the GPUs that a job has, if all are free."""
    for i in range(own.ptr[k], own.ptr[k + 1]):
        if free[own.node[i]] < own.part[i]:
            return False
    for i in range(own.ptr[k], own.ptr[k + 1]):
        free[own.node[i]] -= own.part[i]
    return True


@inner
def _place(
    floor: Floor, own: Holders, job: int, k: int, gpus: int, free: Ints, least: Ints, stays: Bools,
    node: Ints, part: Ints, out: Ints, done: Ints,
) -> bool:  # fmt: skip
    """Place a job: on the nodes that it has, on others, or else on the profiler's too."""
    if k >= 0 and _take_back(own, k, free):
        stays[k] = True
        return True
    count = _find_below(floor, free, OUTSIDE, gpus, least, node, part)
    if count == 0 and floor.inside > 0 and gpus > floor.widest:
        count = _find_below(floor, free, BOTH, gpus, least, node, part)
    if count == 0:
        return False
    _take(free, count, node, part)
    _write_start(job, -1, 0, count, node, part, out, done)
    return True


@compiled
def share_out(
    floor: Floor, free: Ints, new: Ints, own: Holders, now: Ints, others: Ints, gpus: Ints, at: Ints
) -> tuple[Ints, Ints, int]:
    """Profile new jobs, place those of a lease, then others: who stops, and starts as written.

    Parameters
    ----------
    floor : Floor
    free : (nodes,) int array
        GPUs that nobody holds; those of `own` are added.
    new : (n, 3) int array
        Job, GPUs and seconds of those that are profiled if there is room, in this order.
    own : Holders
    now, others : int arrays
        Jobs that are placed, those of `own` first; and those after them: who fits by number of
        GPUs in this order first, as before, then any.
    gpus : (jobs,) int array
        Of the gangs.
    at : (jobs,) int array
        -1 everywhere, now and afterwards.
    """
    least = np.full(3, NO_GANG)
    node, part = np.empty(free.size, dtype=np.int64), np.empty(free.size, dtype=np.int64)
    most = floor.inside + floor.capacity  # each start takes a GPU, as each of its nodes does
    out = np.empty(HEAD * min(most, len(new) + now.size + others.size) + 2 * most, dtype=np.int64)
    done, stays = np.zeros(2, dtype=np.int64), np.zeros(own.jobs.size, dtype=np.bool_)
    for k in range(own.jobs.size):
        at[own.jobs[k]] = k
        for i in range(own.ptr[k], own.ptr[k + 1]):
            free[own.node[i]] += own.part[i]
    which = INSIDE if floor.inside > 0 else OUTSIDE
    for i in range(len(new)):
        count = _find_below(floor, free, which, new[i, 1], least, node, part)
        if count > 0:
            _take(free, count, node, part)
            _write_start(new[i, 0], new[i, 1], new[i, 2], count, node, part, out, done)
    for runs in (True, False):
        for j in now:
            if (at[j] >= 0) == runs:
                _place(floor, own, j, at[j], gpus[j], free, least, stays, node, part, out, done)
    room, fits, placed = 0, np.zeros(others.size, np.bool_), np.zeros(others.size, np.bool_)
    for n in range(free.size):
        room += free[n] if floor.parts[OUTSIDE, n] else 0
    for i in range(others.size):
        if gpus[others[i]] <= room:
            fits[i] = True
            room -= gpus[others[i]]
    for step in range(3):
        for i in range(others.size):
            j = others[i]
            if not placed[i] and (step == 2 or (fits[i] and (at[j] >= 0) == (step == 0))):
                placed[i] = _place(
                    floor, own, j, at[j], gpus[j], free, least, stays, node, part, out, done
                )
    at[own.jobs] = -1
    return own.jobs[~stays], out[: done[WRITTEN]].copy(), done[STARTS]
