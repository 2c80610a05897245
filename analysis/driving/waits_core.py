"""Where gangs fit and who holds GPUs, from one change of hands to the next: machine code of waits.

Time goes backwards: segments stand in order of their ends, so that each is met when it begins to
matter, and is put aside until time has come to its start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...instances.arrays import Bools, Ints
from ...instances.compiled import inner, tiered


class Block(NamedTuple):
    """Segments by their ends; times as places in the list of all times."""

    job: Ints
    start: Ints
    end: Ints
    ptr: Ints
    node: Ints
    gpus: Ints


class Asked(NamedTuple):
    """Jobs that are asked about."""

    gang: Ints  # GPUs of its gang
    rank: Ints  # its place by (release, number)
    user: Ints
    able: Bools  # (asked, models) where it can run


class Pool(NamedTuple):
    """Nodes by kind, which is their size and model; and all jobs."""

    kind: Ints  # by node
    size: Ints  # by kind
    model: Ints  # by kind
    rank: Ints  # by job
    user: Ints  # by job


class Sweep(NamedTuple):
    """What is found from each time on, and what is held at the time until which all is found.

    GPUs that are held stand in slots, a list for each time: (next slot, node, GPUs).
    """

    fits: Bools  # (asked, times) whether the gang has a place where gangs may not spread
    held: NDArray[np.int32]  # (asked, 3, times) GPUs: where it can run, of later jobs, of its user
    free: Ints  # by node
    idle: Ints  # (kinds, sizes) how many nodes have so many GPUs free
    slots: Ints  # (what is held at once, at the most, 3)
    begun: Ints  # by time: the first slot of what begins to be held then, -1
    place: Ints  # the time, and the first slot that is free


@inner
def _fits(j: int, asked: Asked, pool: Pool, idle: Ints) -> bool:
    """Whether the gang of j has a place: nodes of one kind, all but one of them whole."""
    gang = asked.gang[j]
    for kind in range(pool.size.size):
        size = pool.size[kind]
        if not asked.able[j, pool.model[kind]]:
            continue
        whole, rest = gang // size, gang % size
        if idle[kind, size] >= whole + (rest > 0):
            return True
        if idle[kind, size] >= whole:
            for free in range(rest, size):
                if idle[kind, free] > 0:
                    return True
    return False


@inner
def _set_free(node: int, more: int, pool: Pool, sweep: Sweep) -> None:
    """Let more GPUs of a node be free, or fewer."""
    kind = pool.kind[node]
    if sweep.free[node] >= 0:  # below that of a run that breaks its rules
        sweep.idle[kind, sweep.free[node]] -= 1
    sweep.free[node] += more
    if sweep.free[node] >= 0:
        sweep.idle[kind, sweep.free[node]] += 1


@inner
def _step_back(asked: Asked, pool: Pool, sweep: Sweep) -> None:
    """Note which gangs fit from this time on, and free what began to be held at it."""
    now = sweep.place[0]
    for j in range(asked.gang.size):
        sweep.fits[j, now] = _fits(j, asked, pool, sweep.idle)
    slot = sweep.begun[now]
    while slot >= 0:
        _set_free(sweep.slots[slot, 1], sweep.slots[slot, 2], pool, sweep)
        after = sweep.slots[slot, 0]
        sweep.slots[slot, 0] = sweep.place[1]
        sweep.place[1] = slot
        slot = after
    sweep.place[0] = now - 1


@inner
def _count(block: Block, i: int, asked: Asked, pool: Pool, sweep: Sweep) -> None:
    """Note who begins and ends to hold the GPUs of a segment, for each job that is asked about."""
    job, begin, end = block.job[i], block.start[i], block.end[i]
    model, held = pool.model[pool.kind[block.node[block.ptr[i]]]], 0
    for entry in range(block.ptr[i], block.ptr[i + 1]):
        held += block.gpus[entry]
    for j in range(asked.gang.size):
        able = asked.able[j, model]
        later = able and pool.rank[job] > asked.rank[j]
        if able:
            _add(sweep, j, 0, begin, end, held)
        if later:
            _add(sweep, j, 1, begin, end, held)
        if pool.user[job] == asked.user[j]:
            _add(sweep, j, 2, begin, end, held)


@inner
def _add(sweep: Sweep, j: int, row: int, begin: int, end: int, held: int) -> None:
    """Let so many GPUs be held from one time to another."""
    sweep.held[j, row, begin] += held
    sweep.held[j, row, end] -= held


@tiered(seconds=3, most=400_000)
def follow_back(block: Block, asked: Asked, pool: Pool, sweep: Sweep) -> bool:
    """Go back in time through segments, to the first time where there are none.

    False where more is held at once than there are slots.
    """
    for i in range(block.job.size - 1, -1, -1):
        while sweep.place[0] >= block.end[i]:
            _step_back(asked, pool, sweep)
        _count(block, i, asked, pool, sweep)
        for entry in range(block.ptr[i], block.ptr[i + 1]):
            node, gpus, slot = block.node[entry], block.gpus[entry], sweep.place[1]
            if gpus < 1:
                continue
            if slot == sweep.slots.shape[0]:
                return False
            _set_free(node, -gpus, pool, sweep)
            sweep.place[1] = sweep.slots[slot, 0]
            sweep.slots[slot, 0] = sweep.begun[block.start[i]]
            sweep.slots[slot, 1], sweep.slots[slot, 2] = node, gpus
            sweep.begun[block.start[i]] = slot
    while block.job.size == 0 and sweep.place[0] >= 0:
        _step_back(asked, pool, sweep)
    return True
