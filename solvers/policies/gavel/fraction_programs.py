"""Linear programs of time fractions, with a rule for what is left over.

A job i of a gang of s_i GPUs advances by c_ig seconds of its work in a second on model g. In GPUs
y_ig = s_i X_ig of the fractions X, and throughputs a_i that jobs need at least:

    max  sum_i v_i sum_g (c_ig / s_i) y_ig
    s.t. sum_g (c_ig / s_i) y_ig >= a_i  for each job
         sum_g y_ig              <= s_i  for each job
         sum_i y_ig              <= N_g  for each model

with v_i = 1 / a_i for what jobs need to end in time. Tie rule: of all optimal fractions those at
which HiGHS' simplex method, which is deterministic, ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array

from ...highs import Maximum
from ...policy import Floats, Ints

#: the part of a job's work that is an error of the arithmetic
DUST = 1e-7
#: GPUs that are not worth giving to anybody
LEFT_OVER = 1e-9
#: GPUs that are lacking, of all there are, that are none, and what may be missing of a need
LACKING, MISSING = 1e-9, 2e-9
#: the part of all GPUs that jobs share evenly, so that the smallest needs are met too
EVEN = 1e-8
LEAST = 1e-7
#: bounds at most of Newton's method, which needs a few
BOUNDS = 60


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


def _fill_up(x: Any, gangs: Any, order: Any, rest: float) -> None:
    """Give the GPUs that are left over to jobs in this order, at most all of the time."""
    for i in order.tolist():
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
    gang, room = np.asarray(gangs, dtype=np.float64), np.asarray(gpus, dtype=np.float64)
    left, since, whole = (np.asarray(part, dtype=np.float64) for part in (left, since, whole))
    program, fastest = _Needs(rates, gang, room), rates.max(axis=1)
    bound = float(((since + left / fastest) / whole).max())
    for _ in range(BOUNDS):
        lacking, worth, most = program.lacking(left / (bound * whole - since))
        if lacking <= LACKING * room.sum():
            break
        bound = _next_bound(bound, left * worth, since, whole, most)
    else:
        raise RuntimeError("finish times: Newton's method did not end")
    x = program.best((1 - MISSING) * left / (bound * whole - since))
    even = np.where(rates > 0, room / (gang.size * gang)[:, None], 0.0)
    x = (1 - EVEN) * x + EVEN * even / np.maximum(1.0, even.sum(axis=1, keepdims=True))
    x = within(without_dust(x, rates), np.asarray(gangs), gpus)
    done = np.maximum((rates * x).sum(axis=1), 1e-300)
    return x, float(((since + left / done) / whole).max())


def _next_bound(r: float, left: Floats, since: Floats, whole: Floats, most: float) -> float:
    """The least r at which needs that are worth left / (r whole - since) are worth `most`."""
    for _ in range(BOUNDS):
        room = r * whole - since
        over = float((left / room).sum()) - most
        step = over / float((left * whole / room**2).sum())
        if step <= 1e-15 * r:
            break
        r += step
    return r


class _Needs:
    """The program above, in which GPUs may be lacking.

    Needs are in parts of what a job does on its fastest model; smaller ones than `LEAST` are worth
    no more than that.
    """

    def __init__(self, rates: Floats, gangs: Floats, gpus: Floats) -> None:
        self.rates, self.gangs, self.gpus = rates, gangs, gpus
        self.fastest = rates.max(axis=1)
        self.pairs = i, g = np.nonzero(rates)
        jobs, models = rates.shape
        self.part = (rates / (self.fastest * gangs)[:, None])[i, g]
        pairs, rows = i.size, np.stack([i, jobs + i, 2 * jobs + g], axis=1).ravel()
        values = np.stack([self.part, np.ones(pairs), np.ones(pairs)], axis=1).ravel()
        entries = np.append(values, -np.ones(models))
        at = np.append(rows, 2 * jobs + np.arange(models))
        begins = np.append(3 * np.arange(pairs), 3 * pairs + np.arange(models + 1))
        matrix = csc_array((entries, at, begins), shape=(2 * jobs + models, pairs + models))
        limits = np.concatenate([np.full(jobs, np.inf), gangs, gpus])
        lowest = np.where(np.arange(limits.size) < jobs, 0.0, -np.inf)
        self.program = Maximum(matrix, lowest, limits, tolerance=1e-10)

    def lacking(self, needs: Floats) -> tuple[float, Floats, float]:
        """How many GPUs these needs lack, what a unit of each is worth, and what there is for it.

        Whatever the needs are, so many GPUs are lacking as they are worth more than that.
        """
        jobs, pairs, models = self.gangs.size, self.part.size, self.gpus.size
        self.program.demand(np.minimum(needs / self.fastest, 1.0))  # but for rounding
        x = self.program.solve(np.append(np.zeros(pairs), -np.ones(models)))
        duals = np.abs(self.program.duals())
        most = self.gangs @ duals[jobs : 2 * jobs] + self.gpus @ duals[2 * jobs :]
        return float(x[pairs:].sum()), duals[:jobs] / self.fastest, float(most)

    def best(self, needs: Floats) -> Floats:
        """Return the fractions that meet the needs with the most throughput over needs beyond."""
        pairs, models = self.part.size, self.gpus.size
        for column in range(pairs, pairs + models):
            self.program.leave_out(column)
        parts, (i, g) = np.minimum(needs / self.fastest, 1.0), self.pairs
        self.program.demand(parts)
        worth = self.part / np.maximum(parts, LEAST)[i]
        y = self.program.solve(np.append(worth, np.zeros(models)))[:pairs]
        x = np.zeros_like(self.rates)
        x[i, g] = y / self.gangs[i]
        return x


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
