"""Compiled search of :func:`gangsched.solvers.policies.themis.auction`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.compiled import compiled


@compiled
def knapsack(gain: Any, gang: Any, gpus: Any) -> Any:
    """Which items to take; ties to the earlier items."""
    n = gain.size
    best, before = np.zeros(gpus + 1, dtype=np.int64), np.zeros(gpus + 1, dtype=np.int64)
    take = np.zeros((n, gpus + 1), dtype=np.bool_)
    for i in range(n - 1, -1, -1):
        best, before, width = before, best, gang[i]
        best[:width] = before[:width]
        for room in range(gpus + 1 - width):  # from one array to another: several at a time
            value, other = before[room] + gain[i], before[room + width]
            take[i, room + width] = value >= other
            best[room + width] = max(value, other)
    won = np.zeros(n, dtype=np.bool_)
    room = gpus
    for i in range(n):
        if take[i, room]:
            won[i] = True
            room -= gang[i]
    return won
