"""Compiled search of :func:`gangsched.solvers.policies.themis.auction`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.compiled import compiled


@compiled
def knapsack(gain: Any, gang: Any, gpus: Any) -> Any:
    """Which items to take; ties to the earlier items."""
    n = gain.size
    best = np.zeros(gpus + 1, dtype=np.int64)
    take = np.zeros((n, gpus + 1), dtype=np.bool_)
    for i in range(n - 1, -1, -1):
        for room in range(gpus, gang[i] - 1, -1):
            value = best[room - gang[i]] + gain[i]
            if value >= best[room]:
                best[room] = value
                take[i, room] = True
    won = np.zeros(n, dtype=np.bool_)
    room = gpus
    for i in range(n):
        if take[i, room]:
            won[i] = True
            room -= gang[i]
    return won
