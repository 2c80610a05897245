"""Prices of GPU leases: what they prove, and the ones that prove most.

Source: beyond Gao et al. (2024). For any prices p >= 0 of the rows of capacity in each slot nobody
gets more than

    sum_k p_k C_k + sum_jobs max(0, max_o V_o - a_o (sum of the L_o smallest p_k, k < Q_o)),

which is summed in integers: an upper bound whatever the tolerances of the solver that found them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...formulations.problem import check_class
from ...formulations.unisched.compact import (
    Options,
    Queue,
    capacity_of_problem,
    checked_capacity,
    options_of_problem,
    row_weights,
)
from ...formulations.unisched.problem import UniSched
from ...instances.arrays import Floats, Ints
from ..result import Bound

#: sums of prices and rewards stay below, in 64 bits
MOST = 2.0**60
#: the base in which fractions are summed
DIGIT = 2.0**30


def falling(prices: Floats) -> Floats:
    """Return prices that are not negative and do not rise from slot to slot."""
    fallen: Floats = np.maximum.accumulate(np.maximum(prices, 0.0)[:, ::-1], axis=1)[:, ::-1]
    return fallen


def costs(options: Options, prices: NDArray[Any]) -> NDArray[Any]:
    """Return what options cost at prices that do not rise from slot to slot."""
    sums = np.pad(prices.cumsum(axis=1), ((0, 0), (1, 0)))
    window = sums[:, options.within] - sums[:, options.within - options.needed]
    cost: NDArray[Any] = (options.loads[: prices.shape[0]] * window).sum(axis=0)
    return cost


def best_by_job(options: Options, gains: NDArray[Any], least: float = 0.0) -> NDArray[Any]:
    """Return the largest gain of each job's options, or `least`."""
    best = np.full(options.jobs, least, dtype=gains.dtype)
    np.maximum.at(best, options.job, gains)
    return best


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """A price for every row of capacity and slot, as integers that fall from slot to slot.

    Parameters
    ----------
    numerator : (rows, K) ints
    scale : int
        What they are divided by, a power of two.

    Examples
    --------
    >>> Prices.of(np.array([[0.5, 0.25]]), largest=100.0).scale
    1099511627776
    """

    numerator: Ints
    scale: int

    @classmethod
    def of(cls, prices: Floats, *, largest: float) -> Prices:
        """Round prices so that sums of them, and of values, are exact in 64 bits."""
        bits = min(40, 61 - math.ceil(math.log2(max(largest, 1.0))))
        scale = 1 << max(bits, 0)
        return cls(np.rint(falling(prices) * scale).astype(np.int64), scale)

    def gains(self, options: Options) -> tuple[Ints, Ints]:
        """Return what the options cost, and what they are worth rounded down, in units of scale."""
        worth = np.floor(options.value * self.scale).astype(np.int64)
        return costs(options, self.numerator), worth

    def bound(self, options: Options, room: Ints) -> Fraction:
        """Return what these prices prove, exactly."""
        cost, worth = self.gains(options)
        gain, scaled = worth - cost, options.value * self.scale
        best = best_by_job(options, gain)
        rest = np.where(gain == best[options.job], scaled - np.floor(scaled), 0.0)
        total = int((self.numerator * room).sum()) + int(best.sum())
        return (total + exact_sum(best_by_job(options, rest))) / self.scale


def exact_sum(fractions: Floats) -> Fraction:
    """Return the sum of numbers from 0 to below 1, without rounding.

    Examples
    --------
    >>> exact_sum(np.array([0.5, 2.0**-80, 0.25])) - Fraction(1, 2**80)
    Fraction(3, 4)
    """
    total = Fraction(0)
    for digits in range(1, 3):  # of 30 bits, whose sums are exact
        shifted = fractions * DIGIT
        whole = np.floor(shifted)
        total += Fraction(int(whole.sum()), int(DIGIT) ** digits)
        fractions = shifted - whole
    more = (Fraction(left) for left in fractions[fractions > 0].tolist())
    return total + sum(more, Fraction(0)) / int(DIGIT) ** 2


def floor_to_step(value: Fraction, values: Floats) -> Fraction:
    """Return the largest sum of `values` that is not above `value`, as far as divisors tell.

    Examples
    --------
    >>> floor_to_step(Fraction(1999, 10), np.array([100.0, 50.0]))
    Fraction(150, 1)
    """
    if not values.size or (values != np.rint(values)).any():
        return value
    step = int(np.gcd.reduce(values.astype(np.int64)))
    return Fraction(value // step * step) if step else value


def price_bound(
    options: Options, capacity: ArrayLike, prices: Prices, values: Floats, rows: Ints | None = None
) -> Bound:
    """Return the bound that prices prove, with its certificate."""
    proven = prices.bound(options, checked_capacity(options, capacity))
    certificate = {
        "kind": "lease prices",
        "prices": prices.numerator.tolist(),
        "scale": prices.scale,
    }
    if rows is not None:
        certificate["rows"] = rows.tolist()
    return Bound(plain_number(float(floor_to_step(proven, values))), "lp dual", certificate)


def plain_number(value: float) -> float:
    """Return an int where the value is one."""
    return int(value) if value == int(value) else value


class LeaseCase(NamedTuple):
    """A problem in columns.

    Parameters
    ----------
    options : Options
    room : (rows, slots) ints
        Its capacity.
    values : (n,) floats
        All that its jobs can be worth.
    rows : ints or None
        What gangs take of the rows, where there are several.
    """

    options: Options
    room: Ints
    values: Floats
    rows: Ints | None

    @classmethod
    def of(cls, problem: UniSched) -> LeaseCase:
        """Read a problem whose jobs are all there."""
        check_class("selector", problem, UniSched)
        options = options_of_problem(problem)
        values = np.concatenate([Queue.of(problem).rewards, options.value[options.deadline < 0]])
        rows = row_weights(problem.node_gpus, problem.allocations)
        room = capacity_of_problem(problem, options.slots)
        return cls(options, room, values, rows if len(rows) > 1 else None)

    def bound(self, prices: Prices) -> Bound:
        """Return what prices prove of the problem."""
        return price_bound(self.options, self.room, prices, self.values, self.rows)

    def one_price_bound(self) -> Bound:
        """Return what one price of all GPUs and leases proves of it."""
        prices = one_price(self.options, self.room)
        return price_bound(self.options, self.room[:1], prices, self.values)


def one_price(options: Options, capacity: ArrayLike) -> Prices:
    """Return the one price of a GPU, in all slots, that proves most.

    Notes
    -----
    What a price proves is convex in it: golden section, 60 evaluations of O(n).
    """
    room = checked_capacity(options, capacity)[:1]
    leases = options.gpus * options.needed

    def proven(price: float) -> float:
        best = best_by_job(options, options.value - price * leases)
        return price * float(room[0].sum()) + float(best.sum())

    price = least_of_convex(proven, float((options.value / leases).max(initial=0.0)))
    return best_prices(options, room, np.full(room.shape, price))


def least_of_convex(function: Callable[[float], float], high: float) -> float:
    """Return where a convex function of 0 .. high is least, by golden section.

    Examples
    --------
    >>> round(least_of_convex(lambda x: (x - 1) ** 2, 3.0), 6)
    1.0
    """
    low, ratio = 0.0, (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if function(left) <= function(right) else (left, high)
    return (low + high) / 2


def best_prices(options: Options, room: Ints, duals: Floats) -> Prices:
    """The duals, or no prices at all, if these prove more."""
    loads = options.loads[: room.shape[0]].max(axis=1, initial=0)
    prices = falling(duals)
    sums = prices.sum(axis=1)
    largest = float(loads @ sums + room.max(axis=1, initial=0) @ sums + options.value.sum())
    if not largest < MOST:
        raise ValueError(
            f"selector: rewards of {options.value.sum():g} in all are too large to be counted "
            f"exactly, they must stay below {MOST:g}"
        )
    tried = [Prices.of(prices * factor, largest=largest) for factor in (1.0, 0.0)]
    return min(tried, key=lambda prices: prices.bound(options, room))
