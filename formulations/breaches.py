"""What schedules break whatever the problem: names, the room of nodes, one run at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..instances.arrays import Ints, by_both
from ..instances.schedule import Schedule


def reference_violations(problem: Any, solution: Schedule, jobs: str = "") -> list[str]:
    """Return what a schedule names that an instance does not have, or that its `jobs` do not use.

    Without a name of its jobs, they do use parameter servers.
    """
    count, nodes = len(problem.jobs), len(problem.instance.cluster.nodes)
    strange = solution.job[solution.job >= count], solution.node[solution.node >= nodes]
    broken = [f"reference: job number {j} of {count}" for j in strange[0]]
    broken += [f"reference: node number {s} of {nodes}" for s in strange[1]]
    if jobs and solution.ps.any():
        broken.append(f"reference: {jobs} use no parameter servers")
    return broken


def excesses(
    schedule: Schedule, held: Ints, room: Callable[[Ints, Ints], Ints]
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return which node holds how much of what there is, and when, wherever that is too much.

    What is held is by entry of the schedule; `room` is what nodes have at times.
    """
    lengths = np.diff(schedule.ptr)
    node, change = np.concatenate([schedule.node, schedule.node]), np.concatenate([held, -held])
    time = np.concatenate([np.repeat(schedule.start, lengths), np.repeat(schedule.end, lengths)])
    order = by_both(node, time)
    node, time = node[order], time[order]
    level = np.cumsum(change[order])  # returns to 0 before the next node
    there = room(node, time)
    settled = (np.diff(node, append=-1) != 0) | (np.diff(time, append=-1) != 0)
    over = settled & (level > there)
    return node[over], level[over], there[over], time[over]


def overfull(
    problem: Any,
    solution: Schedule,
    held: Ints | None = None,
    room: Callable[[Ints, Ints], Ints] | None = None,
) -> list[tuple[str, int, int, int]]:
    """Return name, excess, room and time of each node that ever holds too much, when it first does.

    By default of GPUs, see :func:`excesses`.
    """
    nodes = problem.instance.cluster.nodes
    sizes = np.array(problem.instance.cluster.sizes, dtype=np.int64)
    found = excesses(
        solution, solution.gpus if held is None else held, room or (lambda node, _: sizes[node])
    )
    first = np.unique(found[0], return_index=True)[1]
    rows = zip(*(column[first].tolist() for column in found), strict=True)
    return [(nodes[n].id, *row) for n, *row in rows]


def reruns(solution: Schedule) -> list[tuple[int, int]]:
    """Return jobs that begin a run before the last one has ended, each with when."""
    order = by_both(solution.job, solution.start)
    job, start, end = solution.job[order], solution.start[order], solution.end[order]
    twice = np.flatnonzero((job[1:] == job[:-1]) & (start[1:] < end[:-1])) + 1
    return list(zip(job[twice].tolist(), start[twice].tolist(), strict=True))
