"""What measures are made of: means, ratios, and piecewise linear functions of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....instances import Schedule
from ....instances.arrays import by_number, distinct
from ..run import Floats, Ints, Run

DAY, HOUR = 86_400, 3_600
LOSS = 0.95  # a job below has a sharing loss, Section 6.3
BELOW = 0.999  # a user's window below has one: 1, less what rounding may do
NEVER = np.iinfo(np.int64).max

T = TypeVar("T")


def share_below(values: ArrayLike, level: float, weights: ArrayLike | None = None) -> float | None:
    """Return the share of values below a level, by weight if there are some, NaN left out.

    With `rho` and 0.95 this is the share of sharing-loss jobs (Section 6.3), with
    :func:`window_rho` and 0.999 that of the users' intervals below 1.

    Examples
    --------
    >>> share_below([0.5, 1.0, 1.2, float("nan")], 0.95)
    0.3333333333333333
    >>> share_below([0.5, 1.0], 0.95, [3, 1])
    0.75
    """
    known = _known(values)
    if weights is None:
        return float(np.mean(known < level)) if known.size else None
    heavy = np.asarray(weights, dtype=np.float64)[~np.isnan(np.asarray(values))]
    return float(heavy[known < level].sum() / heavy.sum()) if heavy.sum() > 0 else None


def jain(values: ArrayLike) -> float | None:
    """Return Jain's index of fairness, from 1/n (one has it all) to 1 (all are equal).

    References
    ----------
    R. Jain, D.-M. Chiu, W. Hawe. A Quantitative Measure of Fairness and Discrimination for Resource
    Allocation in Shared Computer Systems. DEC-TR-301, 1984: (sum x)^2 / (n sum x^2).

    Examples
    --------
    >>> jain([1, 1, 1]), jain([1, 0, 0, 0])
    (1.0, 0.25)
    """
    known = _known(values)
    if not known.size:
        return None
    top = known.max()
    if top <= 0:
        return 1.0
    scaled = known / top
    return float(scaled.sum() ** 2 / (scaled.size * (scaled**2).sum()))


def _known(values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64).ravel()
    known: Floats = array[~np.isnan(array)]
    return known


def once(measure: Callable[[Run], T]) -> Callable[[Run], T]:
    """Keep what a function measures with the run, which does not change; callers have copies."""

    @wraps(measure)
    def kept(run: Run) -> T:
        if measure.__name__ not in run.measured:
            run.measured[measure.__name__] = measure(run)
        found: T = copy(run.measured[measure.__name__])
        return found

    return kept


def mean(values: Floats) -> float | None:
    """Mean of the values that there are."""
    known = _known(values)
    return float(known.mean()) if known.size else None


def quantile(values: Floats, at: float) -> float | None:
    """Quantile of the values that there are."""
    known = _known(values)
    return float(np.quantile(known, at)) if known.size else None


def degree(held: NDArray[Any], fair: NDArray[Any]) -> Floats:
    """Held over fair, NaN where nothing is fair."""
    degree: Floats = np.divide(held, fair, out=np.full(np.shape(fair), np.nan), where=fair > 0)
    return degree


@dataclass(frozen=True, slots=True)
class Line:
    """A continuous function that is 0 before its first knot and has a slope from each knot on."""

    time: Ints
    rate: Floats
    value: Floats

    @classmethod
    def of(cls, time: Ints, rate: NDArray[Any]) -> Line:
        """The function with these knots and the slopes from each of them on."""
        slope = np.asarray(rate, dtype=np.float64)
        steps = slope[:-1] * np.diff(time)
        return cls(time, slope, np.concatenate([np.zeros(min(1, time.size)), np.cumsum(steps)]))

    def at(self, times: Ints) -> Floats:
        """Values of the function at some times."""
        if not self.time.size:
            return np.zeros(times.shape)
        k = np.searchsorted(self.time, times, side="right") - 1
        return np.where(k < 0, 0.0, self.value[k] + self.rate[k] * (times - self.time[k]))

    def slope(self, times: Ints) -> Floats:
        """Slopes to the right of each time, none of which is before the first knot."""
        rate: Floats = self.rate[np.searchsorted(self.time, times, side="right") - 1]
        return rate


@dataclass(frozen=True, slots=True)
class UserShares:
    """A user's active jobs, and the steps of its fair share (8) and of that of a job, (13)."""

    number: int
    jobs: Ints
    time: Ints
    fair: Floats
    unit: Floats  # share of a job of weight 1

    def line(self, most: float, first: Ints, last: Ints) -> Line:
        """Integral of min(most, unit) over the time that these jobs span."""
        low = int(np.searchsorted(self.time, first.min(), side="right")) - 1
        high = int(np.searchsorted(self.time, last.max(), side="right"))
        return Line.of(self.time[low:high], np.minimum(most, self.unit[low:high]))


def active_jobs(run: Run) -> tuple[Ints, Ints]:
    """The jobs that have had a round, and the round (by job) at which each stops to demand."""
    book = run.records
    jobs = np.flatnonzero(~book.rejected & (book.visible <= run.now))
    stop = -(-book.end // run.rules.round_length) * run.rules.round_length
    return jobs, np.where(book.finished, stop, NEVER)


def changes(run: Run, jobs: Ints, stop: Ints) -> tuple[Ints, Floats, Floats]:
    """Rounds at which some of these jobs arrive or stop, and demand and weight after each."""
    book = run.records
    leave = jobs[stop[jobs] < NEVER]
    at = np.concatenate([book.visible[jobs], stop[leave]])
    rounds, where = distinct(at // run.rules.round_length)  # of which all are multiples
    knots = rounds * run.rules.round_length

    def after(column: NDArray[Any]) -> Floats:
        change = np.concatenate([column[jobs], -column[leave]])
        return np.cumsum(np.bincount(where, change, knots.size))

    return knots, after(book.gpus), after(book.weight)


@once
def users_with_jobs(run: Run) -> tuple[UserShares, ...]:
    """The users that have had a job, with their shares."""
    return tuple(_users_with_jobs(run))


def _users_with_jobs(run: Run) -> Iterator[UserShares]:
    alone = len(run.user_weight) == 1  # then (3) holds
    jobs, stop = active_jobs(run)
    owner = run.records.user[jobs]
    order = by_number(owner)
    cuts = np.flatnonzero(np.diff(owner[order])) + 1
    for members in np.split(jobs[order], cuts):
        if not members.size:
            return
        number = int(run.records.user[members[0]])
        knots, demand, weight = changes(run, members, stop)
        fair = run.gpus * (demand > 0.0) if alone else np.minimum(demand, run.quota[number])
        unit = np.divide(fair, weight, out=np.zeros(knots.size), where=demand > 0)
        yield UserShares(number, members, knots, np.asarray(fair, dtype=np.float64), unit)


def segment_gangs(plan: Schedule) -> Ints:
    """GPUs of each segment."""
    if not len(plan):
        return plan.job
    if plan.gpus.size == len(plan):  # each on one node
        return plan.gpus
    return np.add.reduceat(plan.gpus, plan.ptr[:-1])


def over_segments(run: Run, amount: Callable[[Schedule], Ints]) -> Floats:
    """Sum over each job's segments of an amount that a block of them gives; integers are exact."""
    total = np.zeros(len(run.records))
    for plan in run.schedule.blocks():
        total += np.bincount(plan.job, amount(plan), total.size)
    return total


def held_until(run: Run, times: ArrayLike, group: Ints, groups: int) -> Ints:
    """GPU seconds held until `times` by each group of jobs: (groups, times)."""
    held = np.zeros((groups, np.size(times)), dtype=np.int64)
    for plan in run.schedule.blocks():
        held += held_by(plan.start, plan.end, segment_gangs(plan), times, group[plan.job], groups)
    return held


def held_by(start: Ints, end: Ints, gpus: Ints, times: ArrayLike, group: Ints, groups: int) -> Ints:
    """GPU seconds until `times` of all that holds GPUs from start to end, by group.

    Between two neighbouring times a group's total grows by its rate at the first of them, times the
    distance, and by what starts and ends in between: no sort of the segments is needed. Sums are
    exact below 2^53.
    """
    grid, where = np.unique(np.asarray(times, dtype=np.int64), return_inverse=True)
    grown, rate = np.zeros((2, groups, grid.size + 1), dtype=np.int64)  # and what comes later
    later = np.append(grid, 0)
    for moment, sign in ((start, 1), (end, -1)):
        place = np.searchsorted(grid, moment)
        cell = group * later.size + place
        rest = np.maximum(later[place] - moment, 0)
        for total, amount in ((grown, gpus * rest), (rate, gpus)):
            sums = np.bincount(cell, amount, total.size).astype(np.int64)
            total += sign * sums.reshape(total.shape)
    grown[:, 1:] += np.cumsum(rate, axis=1)[:, :-1] * np.diff(later)
    held: Ints = np.cumsum(grown, axis=1)[:, where]
    return held
