"""Replay the proof of a bound of UniSched: prices of GPU leases, in integers.

Options are those of the problem's own enumeration (:meth:`UniSched.options`), costs are found by
sorting, capacities by a knapsack of every node: nothing of the solvers or of the compact form.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import gcd
from typing import Any

from ...formulations.unisched.problem import Option, UniSched
from .readers import integer, integers

__all__ = ["capacities", "lease_prices", "prices_of"]


def lease_prices(problem: UniSched, certificate: Mapping[str, Any]) -> Fraction:
    """Return what prices of GPU leases prove of a problem's objective.

    Notes
    -----
    Let a gang of s GPUs within one node take w_s of a row, GPUs wherever they are w_1 each. A node
    with c free GPUs holds at most W(c) of the row, the best of all sets of gangs of together c GPUs
    or fewer; so in lease k no more than C_k = sum of W(c) over the nodes is taken. A gang that is
    counted as single GPUs may be on one node: put single GPUs in its place. So, whatever a schedule
    does, a job that gets L of its leases below Q pays in every row at least w times the L lowest of
    these prices, and all jobs together pay no more than sum p_k C_k: for every schedule,

        D sum of V <= sum_k p_k C_k + sum over jobs of max(0, max over options of D V - cost).

    A job that is valued at its slowest allocation holds that one, or another one in its place, in
    every lease. If all that jobs can be worth is integral, their sum is a multiple of the greatest
    common divisor, and the bound is rounded down to one.

    O(options K log K) for K leases.

    Examples
    --------
    Two gangs of 2 GPUs, one lease on 2 GPUs: with a GPU at 50 a lease nobody gains.

    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id=i, gpus=2, work=600, rewards=[(600, 100)]) for i in "ab"]
    >>> problem = UniSched(Instance(Cluster.of_sizes([2]), jobs))
    >>> lease_prices(problem, {"prices": [[50]], "scale": 1})
    Fraction(100, 1)
    """
    scale, weights, per_lease = prices_of(problem, certificate)
    most = capacities(problem, weights)
    total = Fraction(sum(_spent(c, p) for c, p in zip(most, per_lease, strict=True)))
    gains: dict[int, Fraction] = {}
    for option in problem.options():
        cost = _cost(problem, option, weights, per_lease)
        gain = Fraction(option.value) * scale - cost
        gains[option.job] = max(gain, gains.get(option.job, Fraction(0)))
    total = (total + sum(gains.values(), Fraction(0))) / scale
    proven = _floored(problem, total)
    return Fraction(float(proven)) if proven <= sys.float_info.max else proven


def prices_of(
    problem: UniSched, certificate: Mapping[str, Any]
) -> tuple[int, list[list[int]], list[list[int]]]:
    """Return the scale, and by row what gangs take and the prices of leases."""
    scale = integer(certificate, "scale", 1)
    size = problem.node_gpus
    rows = certificate.get("rows", [list(range(1, size + 1))])
    prices = certificate.get("prices")
    if not isinstance(prices, Sequence) or not isinstance(rows, Sequence):
        raise ValueError("prices and rows are lists of lists of integers")
    if len(prices) != len(rows):
        raise ValueError(f"prices has {len(prices)} rows, and rows has {len(rows)}")
    weights = [integers(row, f"rows[{k}]") for k, row in enumerate(rows)]
    per_lease = [integers(row, f"prices[{k}]") for k, row in enumerate(prices)]
    if any(len(row) != size for row in weights):
        raise ValueError(f"rows: there is not one number for each of 1 to {size} GPUs")
    return scale, weights, per_lease


def capacities(problem: UniSched, rows: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return C_k of each row, in the first lease and in every later one."""
    found = []
    sizes = problem.instance.cluster.sizes
    for weights in rows:
        most = _most(weights)
        first = sum(most[free] for free in (sizes if problem.free is None else problem.free))
        found.append((first, sum(most[size] for size in sizes)))
    return found


def _spent(room: tuple[int, int], prices: Sequence[int]) -> int:
    """Sum of p_k C_k."""
    return sum(p * room[bool(k)] for k, p in enumerate(prices))


def _most(weights: Sequence[int]) -> list[int]:
    """W(c): the most that gangs of together at most c GPUs take."""
    most = [0]
    for c in range(1, len(weights) + 1):
        most.append(max(most[c - s] + weights[s - 1] for s in range(1, c + 1)))
    return most


def _cost(
    problem: UniSched,
    option: Option,
    weights: Sequence[Sequence[int]],
    per_lease: Sequence[Sequence[int]],
) -> int:
    first = problem.first_slot(option.job)
    paid = [0] * option.within
    for row, prices in zip(weights, per_lease, strict=True):
        load = sum(row[piece - 1] for piece in option.allocation.pieces)
        for k, price in enumerate(prices[first : first + option.within]):
            paid[k] += load * price
    return sum(sorted(paid)[: option.needed])


def _floored(problem: UniSched, total: Fraction) -> Fraction:
    """The largest sum of values that is not above `total`, as far as divisors tell."""
    values = {
        value
        for i, job in enumerate(problem.jobs)
        if problem.has_deadlines(i)
        for _, value in job.rewards
    }
    values |= {option.value for option in problem.options() if option.deadline < 0}
    if not values or any(value != int(value) for value in values):
        return total
    step = gcd(*(int(value) for value in values))
    return Fraction(total // step * step)
