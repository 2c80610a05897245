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


def overfull(
    problem: Any,
    solution: Schedule,
    held: Ints | None = None,
    room: Callable[[Ints, Ints], Ints] | None = None,
) -> list[tuple[str, int, int, int]]:
    """Return of each node that holds too much its name, how much of what there is, and when first.

    What is held is by entry of the schedule, GPUs by default; `room` is what nodes have at times.
    """
    nodes, lengths = problem.instance.cluster.nodes, np.diff(solution.ptr)
    held = solution.gpus if held is None else held
    sizes = np.array(problem.instance.cluster.sizes, dtype=np.int64)
    node, change = np.concatenate([solution.node, solution.node]), np.concatenate([held, -held])
    time = np.concatenate([np.repeat(solution.start, lengths), np.repeat(solution.end, lengths)])
    order = by_both(node, time)
    node, time = node[order], time[order]
    level = np.cumsum(change[order])  # a node's changes add up to 0, so the next begins with 0
    there = sizes[node] if room is None else room(node, time)
    settled = (np.diff(node, append=-1) != 0) | (np.diff(time, append=-1) != 0)
    over = np.flatnonzero(settled & (level > there))
    first = over[np.unique(node[over], return_index=True)[1]]
    rows = zip(*(column[first].tolist() for column in (node, level, there, time)), strict=True)
    return [(nodes[n].id, *row) for n, *row in rows]


def reruns(solution: Schedule) -> list[tuple[int, int]]:
    """Return jobs that begin a run before the last one has ended, each with when."""
    order = by_both(solution.job, solution.start)
    job, start, end = solution.job[order], solution.start[order], solution.end[order]
    twice = np.flatnonzero((job[1:] == job[:-1]) & (start[1:] < end[:-1])) + 1
    return list(zip(job[twice].tolist(), start[twice].tolist(), strict=True))
