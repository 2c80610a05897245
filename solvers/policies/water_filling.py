"""Max-min fair time fractions on one GPU model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..policy import Floats


def water_filling(gangs: ArrayLike, gpus: int, weights: ArrayLike) -> Floats:
    """Return the max-min fair time fractions on one GPU model.

    Every job gets w_i lambda GPUs on average, at most its gang, with the lambda that uses up all
    GPUs, or all jobs always run. This is Gavel's linear program (`max_min_fairness`) for one model
    and beyond: the second-worst job is served best too, and so on.

    Notes
    -----
    By kinds of jobs with one gang and weight, O(jobs log jobs).

    Examples
    --------
    >>> water_filling([1, 4, 4], 6, [1, 1, 1]).tolist()
    [1.0, 0.625, 0.625]
    """
    gang, weight = np.asarray(gangs, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if gang.sum() <= gpus:
        return np.ones_like(gang)
    columns = np.column_stack([gang / weight, gang, weight])
    kinds, number = np.unique(columns, axis=0, return_counts=True)
    _, each, own = kinds.T
    full = np.cumsum(number * each) - number * each
    levels = (gpus - full) / np.cumsum((number * own)[::-1])[::-1]
    level = levels[np.argmax(levels * own < each)]
    return np.asarray(np.minimum(1.0, level * weight / gang))
