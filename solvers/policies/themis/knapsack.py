"""Compiled search of :func:`gangsched.solvers.policies.themis.policy.auction`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....instances.compiled import compiled, inner

#: logarithms of values are counted in units of 2 ** -40, so that their sums are exact
UNITS = 2**40


@inner
def _fill(total: Any, take: Any, gain: Any, gang: Any, i: Any) -> None:
    """The most that items from i on give in so much room, of what those behind it give."""
    width, own, behind, best = gang[i], gain[i], total[(i + 1) % 2], total[i % 2]
    for room in range(width):
        best[room] = behind[room]
    less, same, now, taken = behind, behind[width:], best[width:], take[i, width:]
    for room in range(same.size):  # from arrays to others: several at a time
        value = less[room] + own
        taken[room] = value >= same[room]
        now[room] = max(value, same[room])


@compiled
def knapsack(gain: Any, gang: Any, gpus: Any) -> Any:
    """Which items to take; ties to the earlier items."""
    n = gain.size
    total, take = np.zeros((2, gpus + 1), dtype=np.int64), np.zeros((n, gpus + 1), dtype=np.bool_)
    for i in range(n - 1, -1, -1):
        _fill(total, take, gain, gang, i)
    won = np.zeros(n, dtype=np.bool_)
    room = gpus
    for i in range(n):
        if take[i, room]:
            won[i] = True
            room -= gang[i]
    return won
