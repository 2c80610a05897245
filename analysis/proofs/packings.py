"""What fits together, for the verifiers: dual feasible functions and knapsacks, in integers.

U_eps(x) = 1 above 1 - eps/C, 0 below eps/C, else x, for eps <= C/2, and u_k(x) = x where (k + 1) x
is integral, else floor((k + 1) x) / k [1]_; k = 0 and eps = 0 stand for the identity.

References
----------
.. [1] S. P. Fekete, J. Schepers. New classes of fast lower bounds for bin packing problems.
   Mathematical Programming 91, 2001.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["knapsack", "stepped", "thresholded"]

#: longest knapsack, in slots, that is replayed (an array of this length is made)
MAX_CAPACITY = 10**8


def thresholded(d: int, target: int, eps: int) -> int:
    """Scaled by C, U_eps(d / C)."""
    return target if d > target - eps else 0 if d < eps else d


def stepped(d: int, target: int, k: int) -> int:
    """Scaled by k C, u_k(d / C); d itself for k = 0."""
    if k == 0:
        return d
    steps, rest = divmod((k + 1) * d, target)
    return steps * target if rest else k * d


def knapsack(sizes: Sequence[int], values: Sequence[int], capacity: int) -> int:
    """Most that items of these values can add up to within the capacity; each at most once."""
    if capacity > MAX_CAPACITY:
        raise ValueError(f"target: {capacity} slots are more than {MAX_CAPACITY}")
    kind = np.int64 if sum(values) < 2**62 else object
    best = np.zeros(capacity + 1, dtype=kind)
    for size, value in zip(sizes, values, strict=True):
        if value and size <= capacity:
            np.maximum(best[size:], best[: capacity + 1 - size] + value, out=best[size:])
    return int(best[-1])
