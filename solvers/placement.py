"""Consolidated placement of a gang on nodes, as every policy of the driver uses it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Counts = Sequence[int]
#: GPUs by node; None where there is no room
Taken = dict[int, int] | None


def place(
    gpus: int,
    free: Counts,
    sizes: Counts,
    *,
    spread: bool = False,
    wanted: Counts | None = None,
    pod: int = 0,
) -> Taken:
    """Return the GPUs to take on each node, or None where there is no room.

    A gang of D GPUs on nodes of g takes floor(D/g) nodes that are completely free, lowest numbers
    first, and the remainder on one more node, the one with the least sufficient free GPUs, ties to
    the lowest number. Where nodes differ in size a gang stays on nodes of one size, the smallest on
    which it finds room.

    `wanted` has the GPUs of each node that others would like to have of the free ones. Nodes are
    chosen then so that the fewest of them are taken; ties as above, without those that are wanted.

    A gang of whole pods has each `pod` of its GPUs on one node, whatever the sizes: those with room
    for the most pods, lowest numbers first, and the last pods on the node with the least room.

    Notes
    -----
    Monotone for each node size: where D finds no room, no larger gang does. O(nodes) per size.

    Examples
    --------
    >>> place(5, [4, 2, 4, 1], [4, 4, 4, 4])
    {0: 4, 3: 1}
    >>> place(3, [2, 2], [4, 4]), place(3, [2, 2], [4, 4], spread=True)
    (None, {0: 2, 1: 1})
    >>> place(2, [4, 4], [4, 4], wanted=[3, 2])
    {1: 2}
    >>> place(6, [3, 5, 2], [4, 8, 4], pod=2), place(6, [3, 3, 1], [4, 8, 4], pod=2)
    ({1: 4, 2: 2}, None)
    """
    if pod and gpus % pod == 0:
        return _in_pods(gpus // pod, pod, free, fit=True)
    others = [0] * len(sizes) if wanted is None else wanted
    for size in sorted(set(sizes)):
        found = _on_one_size(gpus, free, sizes, size, others)
        if found is not None:
            return found
    return _in_pods(gpus, 1, free, fit=False) if spread else None


def place_by_speed(
    gpus: int,
    free: Counts,
    sizes: Counts,
    models: Counts,
    speeds: Counts,
    *,
    spread: bool = False,
    wanted: Counts | None = None,
    pod: int = 0,
) -> Taken:
    """Return the GPUs to take on each node: of the model that is fastest for the job and has room.

    Notes
    -----
    Monotone for jobs that can run on the same models. O(nodes) per model and size.

    Examples
    --------
    >>> place_by_speed(2, [4, 4], [4, 4], [0, 1], [1_000_000, 3_000_000])
    {1: 2}
    >>> place_by_speed(2, [4, 1], [4, 4], [0, 1], [1_000_000, 3_000_000])
    {0: 2}
    """
    if len(speeds) == 1:
        own = place(gpus, free, sizes, spread=spread, wanted=wanted, pod=pod)
        return own if speeds[0] else None
    others = [0] * len(sizes) if wanted is None else wanted
    for g in sorted(range(len(speeds)), key=lambda g: (-speeds[g], g)):
        if not speeds[g]:
            return None
        nodes = [n for n, model in enumerate(models) if model == g]
        there = [[column[n] for n in nodes] for column in (free, sizes, others)]
        found = place(gpus, there[0], there[1], spread=spread, wanted=there[2], pod=pod)
        if found is not None:
            return {nodes[i]: taken for i, taken in found.items()}
    return None


def reaches(speeds: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return the sets of GPU models that jobs can run on, and which of them is each job's.

    Examples
    --------
    >>> sets, which = reaches(np.array([[1, 2], [0, 3], [2, 1]]))
    >>> sets.tolist(), which.tolist()
    ([[False, True], [True, True]], [1, 0, 1])
    """
    able = speeds > 0
    if able.all():
        return np.ones((1, speeds.shape[1]), dtype=np.bool_), np.zeros(len(able), dtype=np.int64)
    sets, which = np.unique(able, axis=0, return_inverse=True)
    return sets, which.ravel().astype(np.int64)


def _on_one_size(gpus: int, free: Counts, sizes: Counts, size: int, wanted: Counts) -> Taken:
    full, rest = divmod(gpus, size)
    nodes = [n for n in range(len(sizes)) if sizes[n] == size]
    empty = sorted((n for n in nodes if free[n] == size), key=lambda n: (wanted[n], n))[:full]
    if len(empty) < full:
        return None
    taken = dict.fromkeys(empty, size)
    if rest:
        fitting = [n for n in nodes if n not in taken and free[n] >= rest]
        if not fitting:
            return None
        spare = [free[n] - wanted[n] for n in range(len(sizes))]
        taken[min(fitting, key=lambda n: (max(0, rest - spare[n]), spare[n], n))] = rest
    return taken


def _in_pods(pods: int, pod: int, free: Counts, *, fit: bool) -> Taken:
    """Where there is room for most, the last ones where there is least if they are to `fit`."""
    room = {n: int(own) // pod for n, own in enumerate(free)}
    if sum(room.values()) < pods:
        return None
    taken: dict[int, int] = {}
    for n in sorted(room, key=lambda n: (-room[n], n)):
        at = n
        if fit and room[n] >= pods:
            at = min((i for i in room if room[i] >= pods and i not in taken), key=lambda i: free[i])
        taken[at] = min(room[at], pods) * pod
        pods -= min(room[at], pods)
        if not pods:
            break
    return taken
