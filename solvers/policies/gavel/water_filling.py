"""Fair time fractions on one GPU model: max-min, and by the worst finish time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...policy import Floats, Ints

#: of the search for the best finish time: steps at most, and which part of the GPUs may be left
STEPS, NEAR = 100, 2.0**-46


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


def _used(gangs: Ints, left: Floats, since: Floats, whole: Floats, r: float, unit: float) -> float:
    """GPUs, in units, that make the worst finish time r; exact, in any order of the jobs."""
    part = left / np.maximum(r * whole - since, left)
    return float(np.rint(gangs * part * unit).astype(np.int64).sum())


def best_finish_time(gangs: Ints, gpus: int, left: Floats, since: Floats, whole: Floats) -> float:
    """Return the least r = max (t_i + R_i / X_i) / D_i of time fractions on one GPU model.

    Notes
    -----
    The GPUs that r takes, sum_i s_i min(1, R_i / (r D_i - t_i)), fall with r, from more than there
    are to at most those. Their inverse is nearly linear, so that regula falsi (the Illinois
    variant) is there in a few steps; it ends at an r whose GPUs are within `NEAR` of all. GPUs are
    rounded to units so small that sums are exact, and do not depend on the order of the jobs.

    Examples
    --------
    >>> new, rest, alone = np.zeros(2), np.array([30.0, 10.0]), np.array([60.0, 60.0])
    >>> round(best_finish_time(np.array([1, 1]), 1, rest, new, alone), 9)
    0.666666667
    """
    demand = int(gangs.sum())
    low = float(((since + left) / whole).max(initial=0.0))  # each job always runs
    high = float(((since + left * max(1.0, demand / gpus)) / whole).max(initial=0.0))
    unit = 2.0 ** (61 - demand.bit_length())
    room = gpus * unit
    above = _used(gangs, left, since, whole, low, unit)
    below = _used(gangs, left, since, whole, high, unit)
    if above <= room:
        return low
    if below > room:
        return high
    a, b, side = 1 / room - 1 / above, 1 / room - 1 / below, 0
    for _ in range(STEPS):
        r = high - b * (high - low) / (b - a)
        if not low < r < high:
            r = (low + high) / 2
            if not low < r < high:
                break
        now = _used(gangs, left, since, whole, r, unit)
        if now <= room:
            high, b = r, 1 / room - 1 / now
            if room - now <= room * NEAR:
                break
            a, side = a / 2 if side < 0 else a, -1
        else:
            low, a = r, 1 / room - 1 / now
            b, side = b / 2 if side > 0 else b, 1
    return high
