"""The compiled steps of value-density: columns, plan, selection, places, and how long they hold.

Jobs are positions in the arrays of a decision.
"""

from __future__ import annotations

import numpy as np

from ....instances.arrays import Bools, Ints
from ....instances.compiled import compiled
from ....instances.model import FULL_SPEED
from ...placement_core import place

NEVER = 2**62
EXACT = 2**50  #: quotients of numbers below differ where these do
PROFILE_GPUS = 2
WORTH = 100.0  #: of a best-effort job among balanced ones


@compiled
def look(
    waiting: Ints, running: Ints, rank: Ints, speed: Ints, gpus: Ints, levels: Ints, starts: Ints,
    overhead: Ints, profiled: Ints, profiling: int,
) -> tuple[Ints, Ints, Ints, Bools, Bools, Ints, Ints, bool]:  # fmt: skip
    """Candidates by (release, number): numbers, GPUs, deadlines, who is new, and who runs.

    Then what resumptions cost, the GPU seconds of profiling runs to come, and whether any have
    deadlines.
    """
    most, n, w, r = waiting.size + running.size, 0, 0, 0
    columns, dated = np.zeros((5, most), dtype=np.int64), False
    number, own, due, resumption, to_come = columns
    new, runs = np.zeros(most, np.bool_), np.zeros(most, np.bool_)
    for _ in range(most):
        if w == waiting.size or (r < running.size and rank[running[r]] < rank[waiting[w]]):
            j, runs[n] = running[r], True
            r += 1
            if speed[j] == 0:
                continue  # it is profiled
        else:
            j, runs[n] = waiting[w], False
            w += 1
        number[n], own[n], due[n] = j, gpus[j], levels[j]
        dated = dated or levels[j] > 0
        if profiling > 0 and starts[j] == 0 and profiled[j] == 0:
            new[n], to_come[n] = True, min(gpus[j], PROFILE_GPUS) * profiling
        elif starts[j] > 0 and not runs[n]:
            resumption[n] = overhead[j]
        n += 1
    return number[:n], own[:n], due[:n], new[:n], runs[:n], resumption[:n], to_come[:n], dated


@compiled
def plan(
    order: Ints, gpus: Ints, need: Ints, at: Ints, levels: Ints, edges: Ints, free: Ints
) -> tuple[Ints, Ints]:
    """Reserve GPU seconds for jobs in order; their levels and starts, and `free` is used up.

    `need` and `at` are by job and level: seconds, and which edge the deadline is.
    """
    level, start = np.full(gpus.size, -1), np.full(gpus.size, 2**62)
    for j in order:
        for f in range(levels[j]):
            left, first = gpus[j] * need[j, f], at[j, f]
            k = first
            while left > 0 and k > 0:
                k -= 1
                left -= min(free[k], gpus[j] * (edges[k + 1] - edges[k]))
            if left > 0:
                continue
            level[j], left, k = f, gpus[j] * need[j, f], first
            while left > 0:
                k -= 1
                took = min(free[k], gpus[j] * (edges[k + 1] - edges[k]), left)
                free[k] -= took
                left -= took
                if took > 0:
                    start[j] = edges[k + 1] + (-took // gpus[j])
            break
    return level, start


@compiled
def settle(
    now: int, number: Ints, order: Ints, gpus: Ints, area: Ints, new: Bools, runs: Bools,
    resumption: Ints, ptr: Ints, node: Ints, part: Ints, free: Ints, sizes: Ints, speeds: Ints,
    spread: bool, profiling: int, only_areas: bool,
) -> tuple[Bools, Ints, int, int]:  # fmt: skip
    """Who keeps nodes, who starts where (and how many), and until when that stays."""
    size = np.where(new, np.minimum(gpus, PROFILE_GPUS), gpus)
    profile = np.where(new, profiling, 0)
    room = free.sum() + part.sum()
    selected = select(order, size, room)
    kept, given, starts = give_places(
        number, order, selected, size, profile, runs, ptr, node, part, free, sizes, spread
    )
    until = now + 1
    if only_areas:
        until = unchanged_until(
            now, number, order, selected, size, runs, kept, given, new, area, resumption, speeds,
            room,
        )  # fmt: skip
    return kept, starts, given.sum(), until


@compiled
def select(order: Ints, size: Ints, room: int) -> Bools:
    """Who fits by number of GPUs, in this order."""
    selected = np.zeros(size.size, dtype=np.bool_)
    for i in order:
        if size[i] <= room:
            selected[i] = True
            room -= size[i]
    return selected


@compiled
def give_places(
    number: Ints, order: Ints, selected: Bools, size: Ints, profile: Ints, runs: Bools,
    ptr: Ints, node: Ints, part: Ints, free: Ints, sizes: Ints, spread: bool,
) -> tuple[Bools, Bools, Ints]:  # fmt: skip
    """Places for those who are selected, then for all others, each in their order.

    Running jobs keep theirs, unless one before them finds no other place. The k-th of them has
    `part` GPUs on each `node` from ptr[k] to ptr[k + 1]. Returns who keeps nodes, who is given
    some, and these starts as :class:`~gangsched.solvers.policy.WrittenStarts` has them.
    """
    n, turn = order.size, 0
    held = np.zeros(n + 1, dtype=np.int64)
    room, later = free.copy(), np.zeros_like(free)
    for i in range(n):
        held[i + 1] = ptr[turn + 1] if runs[i] else held[i]
        turn += runs[i]
        for e in range(held[i], held[i + 1]):
            room[node[e]] += part[e]
            later[node[e]] += part[e] if selected[i] else 0  # of those who have not had their turn
    kept, given = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    starts, end = np.empty(5 * n + 2 * room.sum(), dtype=np.int64), 0
    nodes, parts = np.empty(sizes.size, dtype=np.int64), np.empty(sizes.size, dtype=np.int64)
    least = NEVER
    for chosen in (True, False):
        for i in order:
            if selected[i] != chosen:
                continue
            kept[i] = runs[i]
            for e in range(held[i], held[i + 1]):
                later[node[e]] -= part[e] if chosen else 0
                kept[i] = kept[i] and room[node[e]] >= part[e]
            if kept[i]:
                for e in range(held[i], held[i + 1]):
                    room[node[e]] -= part[e]
                continue
            found = 0
            if chosen:
                beside = np.maximum(room - later, 0)
                found = place(size[i], beside, sizes, spread, nodes, parts)
            if found == 0 and size[i] < least:
                found = place(size[i], room, sizes, spread, nodes, parts)
            if found == 0:
                least = least if chosen else min(least, size[i])  # the room grows no more
                continue
            given[i] = True
            starts[end], starts[end + 1] = number[i], size[i] if profile[i] > 0 else -1
            starts[end + 2], starts[end + 3], starts[end + 4] = profile[i], 0, found
            end += 5
            for k in range(found):
                room[nodes[k]] -= parts[k]
                starts[end], starts[end + 1] = nodes[k], parts[k]
                end += 2
    return kept, given, starts[:end].copy()


@compiled
def unchanged_until(
    now: int, number: Ints, order: Ints, selected: Bools, size: Ints, runs: Bools, kept: Bools,
    given: Bools, new: Bools, area: Ints, resumption: Ints, speeds: Ints, room: int,
) -> int:  # fmt: skip
    """Until when best-effort jobs by area stay as they are if nothing happens; NEVER for ever.

    Areas of jobs that run fall, so that they move forward past jobs that wait. Say that S are
    selected. Whoever runs and is in S keeps its nodes: no more than before are in front of it. For
    the same reason nobody who waits fits by number who did not, or finds a place. This ends when
    one who runs and is not in S passes so many of S that it fits by number. It does not hold where
    one of S has been stopped, or one outside of S is profiled from now on: then S changes at once.
    """
    until, count = NEVER, 0
    front = np.empty(order.size, dtype=np.int64)  # those of S before a job, in order
    for i in order:
        gets = kept[i] or given[i]
        if selected[i]:
            if runs[i] and not gets:
                return now + 1
            front[count] = i
            count += 1
            room -= size[i]
        elif gets:
            if new[i] or area[i] >= EXACT:
                return now + 1
            left, k = room, count
            while left < size[i]:
                k -= 1
                left += size[front[k]]
            rate = size[i] * -(-speeds[number[i]].max() // FULL_SPEED)
            gap = area[i] - size[i] * resumption[i] - area[front[k]]
            until = min(until, now + max(1, -(-gap // rate)))
    return until
