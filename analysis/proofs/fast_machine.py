"""Preemptive schedules of one machine, by a fixed priority or by the shortest remaining time.

Lower bounds for gangs on M GPUs relax the cluster to one machine that does M units of GPU time a
second: see :mod:`gangsched.analysis.proofs.completion_time`.
"""

from __future__ import annotations

import heapq

import numpy as np

from ...instances.arrays import Ints
from ...instances.compiled import tiered

Pieces = tuple[Ints, Ints, Ints]


@tiered(seconds=3, most=100_000, allocates=True)
def _run(
    order: Ints, release: Ints, left: Ints, key: Ints, shortest: bool, job: Ints, start: Ints,
    end: Ints,
) -> int:  # fmt: skip
    """Write the pieces down; returns how many there are."""
    n = order.size
    waiting = [(key[0], order[0])][:0]  # (key, number), typed by its first entry
    now = i = count = 0
    while i < n or len(waiting) > 0:
        if len(waiting) == 0:
            now = max(now, release[order[i]])
        while i < n and release[order[i]] <= now:
            heapq.heappush(waiting, (key[order[i]], order[i]))
            i += 1
        rank, j = heapq.heappop(waiting)
        upto = now + left[j]
        if i < n and release[order[i]] < upto:
            upto = release[order[i]]
        if count and job[count - 1] == j and end[count - 1] == now:
            end[count - 1] = upto
        else:
            job[count], start[count], end[count] = j, now, upto
            count += 1
        left[j] -= upto - now
        if left[j] > 0:
            heapq.heappush(waiting, (left[j] if shortest else rank, j))
        now = upto
    return count


def run(release: Ints, size: Ints, key: Ints | None = None) -> Pieces:
    """Run the job of the least key at every moment, interrupting any other; ties by number.

    Parameters
    ----------
    release : (n,) int array
        In the machine's units of time, >= 0.
    size : (n,) int array
        In the same units, positive; the last release and all sizes add up to less than 2**63.
    key : (n,) int array or None
        Priorities, the least first; None for the remaining size (SRPT).

    Returns
    -------
    tuple of (pieces,) int arrays
        Job, start and end of each piece, in order of time; fewer than 2 n of them, as only a
        release interrupts a job.

    Notes
    -----
    O(n log n), compiled.

    Examples
    --------
    >>> job, start, end = run(np.array([0, 2]), np.array([5, 1]))
    >>> job.tolist(), end.tolist()
    ([0, 1, 0], [2, 3, 6])
    """
    order = np.argsort(release, kind="stable").astype(np.int64)
    if not order.size:
        return order, order, order
    job, start, end = (np.empty(2 * order.size, dtype=np.int64) for _ in range(3))
    first = size if key is None else key
    count = _run(order, release, size.copy(), first, key is None, job, start, end)
    return job[:count], start[:count], end[:count]
