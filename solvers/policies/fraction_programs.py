"""Linear programs of time fractions for jobs one by one, with a rule for what is left over.

A job i of a gang of s_i GPUs advances by c_ig seconds of its work in a second on model g. In GPUs
y_ig = s_i X_ig of the fractions X, with needs a_i >= 0:

    max theta
    s.t. sum_g (c_ig / s_i) y_ig >= a_i theta   for each job    [w_i]
         sum_g y_ig              <= s_i         for each job
         sum_i y_ig              <= N_g         for each model

Tie rule: of all optimal fractions those with the largest sum_i sum_g c_ig X_ig / a_i, among those
the ones that HiGHS' simplex, which is deterministic, ends at.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ...instances.compiled import compiled
from ..highs import Maximum
from ..policy import Floats, Ints

#: steps of Newton's method at most; it needs a few
STEPS = 30
#: the part of a job's work that is an error of the arithmetic
DUST = 1e-7
#: GPUs that are not worth giving to anybody
LEFT_OVER = 1e-9
#: it ends when objective and bound are this close
CLOSE = 1e-9


class Served(NamedTuple):
    """What jobs get in a program.

    Parameters
    ----------
    fractions : (jobs, models) array
        X.
    theta : float
    weights : (jobs,) array
        w, duals of the needs: sum_i w_i sum_g c_ig X_ig is at most theta for all X if sum w a = 1.
    """

    fractions: Floats
    theta: float
    weights: Floats


class FractionProgram:
    """The program of some jobs, for needs that may change.

    Parameters
    ----------
    rates : (jobs, models) array
        c_ig; 0 where the gang has no place. Each job has one that is positive.
    gangs : (jobs,) int array
    gpus : (models,) int array

    Examples
    --------
    Of two equal jobs on one GPU, one needs three times as much of it as the other.

    >>> program = FractionProgram(np.ones((2, 1)), np.array([1, 1]), np.array([1]))
    >>> found = program.solve(np.array([3.0, 1]))
    >>> found.fractions.round(6).ravel().tolist(), round(found.theta, 6)
    ([0.75, 0.25], 0.25)
    """

    def __init__(self, rates: Floats, gangs: Ints, gpus: Ints) -> None:
        self.rates, self.gangs, self.gpus = rates, np.asarray(gangs), np.asarray(gpus)
        self.at = np.nonzero(rates)
        self.per = rates[self.at] / self.gangs[self.at[0]]  # seconds of work of a GPU

    def solve(self, needs: Floats, *, fill: bool = True) -> Served:
        """Return the fractions; without the tie rule where not `fill`."""
        jobs, models = self.rates.shape
        i, g = self.at
        pairs = i.size
        rows = np.concatenate([np.stack([i, jobs + i, 2 * jobs + g], axis=1).ravel(), range(jobs)])
        ones = np.ones(pairs)
        scaled = self.per / needs[i]
        values = np.concatenate([np.stack([scaled, ones, ones], axis=1).ravel(), -np.ones(jobs)])
        begins = np.append(3 * np.arange(pairs + 1), 3 * pairs + jobs)
        limits = np.concatenate([np.full(jobs, np.inf), self.gangs, self.gpus])
        lowest = np.where(np.arange(2 * jobs + models) < jobs, 0.0, -np.inf)
        matrix = csc_array((values, rows, begins), shape=(2 * jobs + models, pairs + 1))
        program = Maximum(matrix, lowest, limits)
        x = program.solve(np.append(np.zeros(pairs), 1.0))
        theta = float(x[-1])
        weights = np.maximum(-program.duals()[:jobs], 0.0) / needs
        if fill:
            program.at_least(pairs, theta)
            x = program.solve(np.append(scaled, 0.0))
        fractions = np.zeros_like(self.rates)
        fractions[self.at] = x[:-1] / self.gangs[i]
        fractions = without_dust(fractions, self.rates)
        return Served(within(fractions, self.gangs, self.gpus), theta, weights)


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

    On one model T = max(max_i left_i / c_i, sum_i s_i left_i / (c_i N)), and what is left over by
    X_i = left_i / (c_i T) goes to the jobs with the least GPU seconds first, which the program's
    tie rule says too.

    Examples
    --------
    The second job takes 4 s wherever it is; the first one has the faster GPU for itself.

    >>> x, duration = least_duration(np.array([[1, 2.0], [1, 1]]), [1, 1], [1, 1], [4.0, 4])
    >>> x.round(6).tolist(), round(duration, 6)
    ([[0.0, 1.0], [1.0, 0.0]], 4.0)
    """
    left, gangs = np.asarray(left, dtype=np.float64), np.asarray(gangs)
    if rates.shape[1] > 1:
        found = FractionProgram(rates, gangs, gpus).solve(left)
        return found.fractions, 1 / found.theta
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

    For a bound r of it a job needs the throughput a_i(r) = left_i / (r whole_i - since_i), and its
    own best one where that is less. Newton's method on the program with these needs, from below:
    its weights w bound every r by sum_i w_i a_i(r) <= max_X sum_i w_i throughput_i, and the next r
    is the root of that with equality.

    Examples
    --------
    Both jobs get the model that they are good at.

    >>> rates, ones = np.array([[4.0, 1], [1, 4]]), np.ones(2, dtype=int)
    >>> x, rho = fairest_finish(rates, ones, ones, np.full(2, 10.0), np.zeros(2), np.full(2, 4.0))
    >>> x.round(6).tolist(), round(rho, 6)
    ([[1.0, 0.0], [0.0, 1.0]], 0.625)
    """
    program, quickest = FractionProgram(rates, gangs, gpus), left / rates.max(axis=1)

    def needs(r: float) -> NDArray[np.float64]:
        return np.asarray(left / np.maximum(r * whole - since, quickest))

    def reached(x: Floats) -> float:
        done = np.maximum((rates * x).sum(axis=1), 1e-300)
        return float(((since + left / done) / whole).max())

    bound, best = float(((since + quickest) / whole).max()), math.inf
    for _ in range(STEPS):
        found = program.solve(needs(bound), fill=False)
        best = min(best, reached(found.fractions))
        if best - bound <= CLOSE * bound:
            break
        root = _root(found, left, since, whole)
        if root <= bound:
            break
        bound = root
    x = program.solve(needs(best)).fractions
    return x, reached(x)


def _root(found: Served, left: Floats, since: Floats, whole: Floats) -> float:
    """The r at which the weighted needs are what the program can give."""
    used = found.weights > 0
    w, rest, come, time = found.weights[used], left[used], since[used], whole[used]
    most = found.theta
    low = float((come / time).max(initial=0.0))
    high = low + float((w * rest).sum() / time.min()) / max(most, 1e-300)
    while low < (middle := (low + high) / 2) < high:
        if float((w * rest / (time * middle - come)).sum()) > most:
            low = middle
        else:
            high = middle
    return low


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
