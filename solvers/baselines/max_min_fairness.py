"""Max-min fairness on several GPU models, as Gavel's linear program."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from .time_fractions import Sharing, TimeFractions, rounded_up

__all__ = ["max_min_fairness"]


def max_min_fairness(
    throughputs: ArrayLike, gangs: ArrayLike, gpus: ArrayLike, *, weights: ArrayLike | None = None
) -> TimeFractions:
    """Return time fractions that serve the worst-off job best.

    ::

        max_X  min_i  (s_i / w_i) throughput(i, X) / throughput(i, X_equal)

    where throughput(i, X) = sum_g T_ig X_ig and X_equal gives a job each model in proportion to its
    GPUs, X_equal_ig = N_g / sum N. So a job's progress is measured in what it would be worth to
    wander over the whole cluster, and a gang of s GPUs is as well off with 1/s of the time.
    Optimal: `bound` is not below any X, from the duals in exact arithmetic.

    Parameters
    ----------
    throughputs : (jobs, models) array
        T_ig in any unit, 0 where a job cannot run.
    gangs : (jobs,) int array
        s_i.
    gpus : (models,) int array
        N_g.
    weights : (jobs,) array, optional
        w_i, positive; 1 if not given.

    Returns
    -------
    TimeFractions
        The objective is maximised. Only the smallest ratio is: what is left over beyond it goes
        where the solver leaves it.

    Raises
    ------
    ValueError, TypeError
        If shapes differ, a number is out of range, or no model can run some job.

    Notes
    -----
    Source: Narayanan et al., OSDI 2020, Section 4.1. Our choices: models on which a gang does not
    fit count as throughput 0 (also in X_equal). One linear program with jobs * models + 1 columns.

    Examples
    --------
    On two equal GPUs, a gang of two in half of the time is as well off as one GPU always.

    >>> found = max_min_fairness([[5], [1]], [1, 2], [2])
    >>> found.fractions.round(9).tolist(), round(found.objective, 9)
    ([[1.0], [0.5]], 1.0)
    """
    sharing = Sharing(throughputs, gangs, gpus)
    ones = np.ones(sharing.gangs.size)
    weight = ones if weights is None else sharing.numbers("weights", weights, positive=True)
    if not sharing.gangs.size:
        return TimeFractions(fractions=sharing.throughputs, objective=np.inf, bound=np.inf)
    equal = sharing.throughputs @ (sharing.gpus / sharing.gpus.sum())
    per = sharing.throughputs * (sharing.gangs / (weight * equal))[:, None]
    fractions, y, prices = sharing.fairest(per, ones)
    bound = sharing.most(per, y, prices) / sum(map(Fraction, y.tolist()))
    return TimeFractions(
        fractions=fractions,
        objective=float(sharing.rates(fractions, per).min()),
        bound=rounded_up(bound),
    )
