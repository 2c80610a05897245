"""Options that fit together, taken one after the other with an exact test.

One is taken if all that is taken then fits (the prefix test of the compact form, in integers); an
option of a job that has one already replaces it if it is worth more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...formulations.unisched.compact import Options, checked_capacity
from ...instances.arrays import Bools, Floats, Ints
from ...instances.compiled import compiled


def by_density(options: Options, capacity: ArrayLike, first: Bools | None = None) -> Ints:
    """Return options that fit together, by falling V / (a L): positions, rising.

    Notes
    -----
    Ties: smaller a, then the position. O(n log n + n rows K).

    Examples
    --------
    >>> from gangsched.formulations.unisched.compact import Queue, options_of
    >>> queue = Queue(gpus=np.array([2, 1]), work=np.array([600, 1200]), ptr=np.array([0, 1, 2]),
    ...               split_speed=np.array([10**6] * 2), deadline=np.array([1200, 1200]),
    ...               value=np.array([100.0, 80.0]), cost=np.zeros(2, int),
    ...               phase=np.zeros(2, int), kind=np.zeros(2, int))
    >>> by_density(options_of(queue, sizes=[2]), [1, 2])
    array([0])
    """
    return _taken(by_falling_density(options, first), options, capacity)


def by_value(options: Options, room: Ints, first: Bools) -> Ints:
    """Return options that fit together, those of `first` before others, and then by falling V."""
    return _taken(np.lexsort((options.gpus, -options.value, ~first)), options, room)


def by_release(options: Options, capacity: ArrayLike) -> Ints:
    """Return options that fit together, jobs as they stand in the queue: positions, rising.

    Notes
    -----
    No more than feasible: what a job is worth decides only which of its own deadlines comes first.
    """
    return _taken(np.lexsort((-options.value, options.job)), options, capacity)


def _taken(order: Ints, options: Options, capacity: ArrayLike) -> Ints:
    left = checked_capacity(options, capacity).cumsum(axis=1)
    return np.sort(held_by_density(order, options, left))


def held_by_density(order: Ints, options: Options, left: Ints) -> Ints:
    """Return the option of each job that gets one in this order; `left` is summed over slots."""
    loads = np.ascontiguousarray(options.loads[: left.shape[0]])
    columns = options.job, loads, options.needed, options.within, options.value
    holder: Ints = _by_density(order, *columns, left, options.jobs)
    return holder[holder >= 0]


def by_falling_density(options: Options, first: Bools | None = None) -> Ints:
    """Return the options by falling V / (a L), those of `first` before others."""
    dense = options.value / (options.gpus * options.needed)
    before = np.zeros(len(options), dtype=bool) if first is None else first
    return np.lexsort((options.gpus, -dense, ~before))


@compiled
def _by_density(
    order: Ints, job: Ints, loads: Ints, needed: Ints, within: Ints, value: Floats, left: Ints,
    jobs: int,
) -> Ints:  # fmt: skip
    """Take options in the order given, each if all that is taken fits, and return those by job."""
    left = left.copy()
    rows, slots = left.shape
    more = np.zeros((rows, slots), np.int64)
    holder = np.full(jobs, -1)
    for o in order:
        held = holder[job[o]]
        if held >= 0 and value[held] >= value[o]:
            continue
        begin = within[o] - needed[o]
        if held >= 0:
            begin = min(begin, within[held] - needed[held])
        fits = True
        for r in range(rows):
            for t in range(begin, slots):
                more[r, t] = loads[r, o] * max(0, needed[o] - max(0, within[o] - 1 - t))
                if held >= 0:
                    late = max(0, within[held] - 1 - t)
                    more[r, t] -= loads[r, held] * max(0, needed[held] - late)
                if more[r, t] > left[r, t]:
                    fits = False
                    break
            if not fits:
                break
        if fits:
            left[:, begin:] -= more[:, begin:]
            holder[job[o]] = o
    return holder
