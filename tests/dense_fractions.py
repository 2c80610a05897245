"""Gavel's programs of time fractions once more, by scipy on dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Floats = NDArray[np.float64]


def fits(rates: Any, gangs: Any, gpus: Any) -> Floats:
    """Throughputs without models that a gang does not fit."""
    able = np.array(rates, dtype=float)
    for i, g in np.ndindex(able.shape):
        if gangs[i] > gpus[g]:
            able[i, g] = 0.0
    return able


def level(per: Floats, need: Floats, gangs: Any, gpus: Any) -> float:
    """Max theta with c X >= theta a, by scipy on a dense matrix."""
    n, m = per.shape
    rows, right = [], []
    for i in range(n):
        served = np.zeros((n, m))
        served[i] = -per[i]
        rows.append([*served.ravel(), need[i]])
        right.append(0.0)
        once = np.zeros((n, m))
        once[i] = 1
        rows.append([*once.ravel(), 0.0])
        right.append(1.0)
    for g in range(m):
        taken = np.zeros((n, m))
        taken[:, g] = gangs
        rows.append([*taken.ravel(), 0.0])
        right.append(gpus[g])
    cost = np.zeros(n * m + 1)
    cost[-1] = -1
    limits = [(0, 1 if c > 0 else 0) for c in per.ravel()] + [(0, None)]
    return -linprog(cost, A_ub=np.array(rows), b_ub=right, bounds=limits).fun


def normalised(rates: Floats, gangs: Any, gpus: Any, weights: Any) -> Floats:
    """(s / w) T / throughput(X_equal), entry by entry."""
    able = fits(rates, gangs, gpus)
    for i in range(len(able)):
        equal = sum(able[i, g] * gpus[g] for g in range(len(gpus))) / sum(gpus)
        able[i] *= gangs[i] / (weights[i] * equal)
    return able
