"""Linear programs of time fractions, with a rule for what is left over.

A job i of a gang of s_i GPUs advances by c_ig seconds of its work in a second on model g. In GPUs
y_ig = s_i X_ig of the fractions X, and throughputs a_i that jobs need at least:

    max  sum_i v_i sum_g (c_ig / s_i) y_ig
    s.t. sum_g (c_ig / s_i) y_ig >= a_i  for each job
         sum_g y_ig              <= s_i  for each job
         sum_i y_ig              <= N_g  for each model

with v_i = 1 / a_i for what jobs need to end in time. Tie rule: of all optimal fractions those at
which the simplex method of :mod:`~gangsched.solvers.policies.fraction_core` ends, whose steps are
settled; without needs, :func:`most_throughput`, those of HiGHS'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array

from ...instances.compiled import compiled
from ..highs import Maximum
from ..policy import Floats, Ints
from .fraction_core import fairest_use

#: the part of a job's work that is an error of the arithmetic
DUST = 1e-7
#: GPUs that are not worth giving to anybody
LEFT_OVER = 1e-9


def without_dust(fractions: Floats, rates: Floats) -> Floats:
    """The same without models on which a job does less than a ten-millionth of its work."""
    done = fractions * rates
    return np.where(done > DUST * done.sum(axis=1, keepdims=True), fractions, 0.0)


def within(fractions: Floats, gangs: Ints, gpus: Ints) -> Floats:
    """The same, scaled down where the solver's tolerances exceed something."""
    x = np.maximum(fractions, 0.0)
    x /= np.maximum(1.0, x.sum(axis=1, keepdims=True))
    used = gangs @ x
    return np.asarray(x * np.minimum(1.0, gpus / np.maximum(used, 1e-300)))


def least_duration(rates: Floats, gangs: Ints, gpus: Ints, left: Floats) -> tuple[Floats, float]:
    """Return the fractions with which all jobs end first, and when that is.

    ::

        min T  with  sum_g c_ig X_ig >= left_i / T

    which are finish times of jobs that have all just come. On one model
    T = max(max_i left_i / c_i, sum_i s_i left_i / (c_i N)), and what is left over by
    X_i = left_i / (c_i T) goes to the jobs with the least GPU seconds first, where it is worth most
    here as there.

    Examples
    --------
    The second job takes 4 s wherever it is; the first one has the faster GPU for itself.

    >>> x, duration = least_duration(np.array([[1, 2.0], [1, 1]]), [1, 1], [1, 1], [4.0, 4])
    >>> x.round(6).tolist(), round(duration, 6)
    ([[0.0, 1.0], [1.0, 0.0]], 4.0)
    """
    left, gangs = np.asarray(left, dtype=np.float64), np.asarray(gangs)
    if rates.shape[1] > 1:
        return fairest_finish(rates, gangs, gpus, left, np.zeros(left.size), np.ones(left.size))
    seconds = left / rates[:, 0]
    area, room = gangs * seconds, int(gpus[0])
    duration = max(float(seconds.max()), float(area.sum()) / room)
    x = seconds / duration
    rest = room - float(gangs @ x)
    if rest > LEFT_OVER:
        _fill_up(x, gangs, np.argsort(area, kind="stable"), rest)
    return x[:, None], duration


@compiled
def _fill_up(x: Any, gangs: Any, order: Any, rest: float) -> None:
    """Give the GPUs that are left over to jobs in this order, at most all of the time."""
    for i in order:
        more = min(1 - x[i], rest / gangs[i])
        x[i] += more
        rest -= more * gangs[i]
        if rest <= LEFT_OVER:
            break


def fairest_finish(
    rates: Floats, gangs: Ints, gpus: Ints, left: Floats, since: Floats, whole: Floats
) -> tuple[Floats, float]:
    """Return the fractions with the least max_i (since_i + left_i / throughput_i) / whole_i.

    For a bound r of it a job needs the throughput a_i(r) = left_i / (r whole_i - since_i), which is
    convex in r. Where GPUs are too few for these needs, prices prove it, and the next r is the
    least one that the same prices do not rule out: Newton's method, from below. What is left over
    goes where sum_i throughput_i / a_i(r) is the largest. RuntimeError where rounding keeps the
    method from its end.

    Examples
    --------
    Both jobs get the model that they are good at.

    >>> rates, ones = np.array([[4.0, 1], [1, 4]]), np.ones(2, dtype=int)
    >>> x, rho = fairest_finish(rates, ones, ones, np.full(2, 10.0), np.zeros(2), np.full(2, 4.0))
    >>> x.round(6).tolist(), round(rho, 6)
    ([[1.0, 0.0], [0.0, 1.0]], 0.625)
    """
    gang = np.asarray(gangs, dtype=np.float64)
    given = (np.asarray(part, dtype=np.float64) for part in (gpus, left, since, whole))
    y, bound = fairest_use(rates / gang[:, None], gang, *given)
    if bound < 0:
        raise RuntimeError("finish times: the simplex method did not end")
    x = within(without_dust(y / gang[:, None], rates), np.asarray(gangs), gpus)
    done = np.maximum((rates * x).sum(axis=1), 1e-300)
    return x, float(((since + left / done) / whole).max())


def most_throughput(
    rates: Floats, gangs: Ints, counts: Ints, gpus: Ints, weights: Floats
) -> Floats:
    """Return the fractions of classes of equal jobs with the largest sum of weighted throughputs.

    ::

        max_X  sum_i n_i w_i sum_g c_ig X_ig

    for n_i jobs of class i, which share alike. On one model GPUs go to the classes to which a GPU
    is worth most, w_i c_i / s_i, and equal ones have equal fractions. On several, the tie rule
    between classes is what HiGHS' simplex, which is deterministic, ends at.

    Examples
    --------
    The gang of two would do no more on two GPUs than each single job on one.

    >>> rates, ones = np.ones((2, 1)), np.ones(2)
    >>> most_throughput(rates, [1, 2], [1, 1], [2], ones).round(6).tolist()
    [[1.0], [0.5]]
    """
    gang, jobs = np.asarray(gangs), np.asarray(counts)
    if rates.shape[1] == 1:
        return _by_worth(rates[:, 0] * weights / gang, jobs * gang, int(gpus[0]))
    i, g = np.nonzero(rates)
    classes, models = rates.shape
    rows = np.stack([i, classes + g], axis=1).ravel()
    matrix = csc_array(
        (np.ones(rows.size), rows, 2 * np.arange(i.size + 1)), shape=(classes + models, i.size)
    )
    limits = np.concatenate([jobs * gang, np.asarray(gpus)]).astype(np.float64)
    program = Maximum(matrix, np.full(limits.size, -np.inf), limits)
    x = np.zeros_like(rates)
    x[i, g] = program.solve(rates[i, g] * (weights / gang)[i]) / (jobs * gang)[i]
    return within(without_dust(x, rates), jobs * gang, gpus)


def _by_worth(worth: Floats, wanted: Ints, room: int) -> Floats:
    """Fractions of classes that want so many GPUs of one model, by falling worth of a GPU."""
    x = np.zeros((worth.size, 1))
    for value in np.unique(worth)[::-1].tolist():
        alike = worth == value
        x[alike] = min(1.0, room / int(wanted[alike].sum()))
        room = max(room - int(wanted[alike].sum()), 0)
    return x
