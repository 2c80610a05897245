"""Types of arrays, and what arrays of small numbers allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def distinct(numbers: Ints) -> tuple[Ints, Ints]:
    """Return each number once, in order, and which of them each is; no sort if all are small.

    Examples
    --------
    >>> values, which = distinct(np.array([8, 1, 8]))
    >>> values.tolist(), which.tolist()
    ([1, 8], [1, 0, 1])
    """
    if not numbers.size or numbers.min() < 0 or numbers.max() > 16 * numbers.size:
        values, which = np.unique(numbers, return_inverse=True)
        return values, which
    there = np.zeros(int(numbers.max()) + 1, dtype=np.bool_)
    there[numbers] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]


def levels(start: Ints, end: Ints, amount: Ints) -> tuple[Ints, Ints]:
    """Return when a sum of amounts, each from its start to its end, changes, and what it is then.

    Examples
    --------
    >>> start, end, gpus = np.array([[0, 4, 2], [2, 6, 1]]).T
    >>> [column.tolist() for column in levels(start, end, gpus)]
    [[0, 2, 4, 6], [2, 3, 1, 0]]
    """
    times, which = distinct(np.concatenate([start, end]))
    change = np.zeros(times.size, dtype=np.int64)
    np.add.at(change, which, np.concatenate([amount, np.negative(amount)]))
    return times, np.cumsum(change)


def first_of(which: Ints, count: int) -> Ints:
    """Return where each of so many numbers stands first.

    Examples
    --------
    >>> first_of(np.array([1, 0, 1]), 2).tolist()
    [1, 0]
    """
    first = np.zeros(count, dtype=np.int64)
    first[which[::-1]] = np.arange(which.size)[::-1]  # of equal indexes the last counts
    return first


def by_both(major: Ints, minor: Ints) -> Ints:
    """Return the order by (major, minor), ties as they stand.

    Examples
    --------
    >>> by_both(np.array([1, 0, 1]), np.array([2, 9, 0])).tolist()
    [1, 2, 0]
    """
    span = int(minor.max(initial=0)) + 1
    plain = min(major.min(initial=0), minor.min(initial=0)) >= 0
    if plain and (int(major.max(initial=0)) + 1) * span < 2**63:
        return np.argsort(major * span + minor, kind="stable")  # three times as fast
    return np.lexsort((minor, major))


def by_number(numbers: Ints) -> Ints:
    """Return the order of numbers, equal ones as they stand; of small ones without comparing.

    Examples
    --------
    >>> by_number(np.array([1, 0, 1])).tolist()
    [1, 0, 2]
    """
    small = numbers.size > 0 and numbers.min() >= 0 and numbers.max() < 2**16
    return np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")
