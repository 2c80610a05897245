r"""Lower bounds of completion times by a price of every job, for every policy on one GPU model.

Theorem. Let rho_j(t) >= 0 be any price of a second of job j, all its g_j GPUs together, which needs
p_j seconds from its release r_j on and costs f_j(C) = w_j (C - r_j) if it completes at C. Let
kappa_j(C) be the price of the cheapest p_j seconds of [r_j, C). Every preemptive schedule of M GPUs
has

    sum_j f_j(C_j)  >=  sum_j min over C of (f_j(C) + kappa_j(C))  -  integral of W(t),

    W(t) = max of sum over j in S of rho_j(t), over the sets S of jobs with sum of g_j <= M.

    Proof. What runs at a moment t is such a set, and is worth W(t) at most. Job j runs for p_j
    seconds of [r_j, C_j), worth kappa_j(C_j) or more. So the costs are at least the costs plus what
    the jobs' seconds are worth less that integral, and each job's sum is at least its least.

With rho_j = g_j pi it is at least the theorem of :mod:`gangsched.analysis.proofs.prices`: W(t) is M
pi(t) there, even if no set of gangs fills M GPUs. Prices of jobs know that a wide gang leaves no
room for narrow ones. They are the dual of the linear program over sets of jobs that run together
(configurations) with a row for each job and moment; no set has to be listed, as W is a knapsack.

Prices
------
Job j has a price in each interval from its release to T_j = r_j + (its least cost at prices of GPU
time) / w_j, and none later: to complete after T_j costs more than that. They begin with g_j pi, pi
from a climb of GPU prices on the same intervals. The supergradient in the price of job j in an
interval is the seconds that j buys of it, less its length where j is in the dearest set that fits.
It is climbed as prices of GPU time are, on intervals that are halved first where prices are few.

The certificate is the list of prices in whole parts, packed. The bound is computed from it in
integers: all breakpoints are integers, so nothing is lost but the rounding of prices.
"""

from __future__ import annotations

import math
import time
from base64 import b64encode
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from zlib import compress

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Floats, Ints, by_both
from ...solvers.ours.pool import run_pool
from ...solvers.result import Bound
from .job_price_core import costs_of_jobs, worth_of_sets
from .prices import (
    BITS,
    Climb,
    Dual,
    Progress,
    around,
    best_multiple,
    edges_between,
    price_bounded,
    usual_prices,
)

__all__ = ["job_price_bound"]

METHOD = "job prices"
MOST_JOBS = 10_000  #: no more have prices of their own
AREA_STEPS = 150  #: of the climb of GPU prices
FIRST_STEP = 0.3  #: of the climb of the jobs' prices, as a part of the usual price
FEW = 100_000  #: prices; intervals are halved where there are fewer
WORK, MOST_STEPS = 2 * 10**8, 1_000  #: prices times steps, and steps, at most
USUAL = 2**12  #: parts that a usual price has


def job_price_bound(
    problem: CompletionTime,
    *,
    intervals: int = 1_500,
    rounds: int | None = None,
    time_limit: float | None = None,
    on_progress: Progress | None = None,
) -> Bound:
    """Return the weighted completion, flow or slowdown that a price of every job proves.

    Parameters
    ----------
    problem : CompletionTime
        With any measure but the makespan, all of whose GPUs are equal for all jobs.
    intervals : int
        At most, before they are halved.
    rounds : int, optional
        Steps of the climb, at most; by default 1,000, or so many that 2e8 prices are changed.
    time_limit, on_progress
        As of :func:`~gangsched.analysis.proofs.prices.price_bound`.

    Returns
    -------
    Bound
        Certificate ``{"kind": "job prices", "times": [t_0 .. t_K], "first": [..], "counts": [..],
        "prices": packed, "scale": S}``: job j has prices in counts[j] intervals from the
        first[j]-th on, each q / S a second. They are packed as 64-bit integers, each less the one
        before, by zlib and base 64.

    Raises
    ------
    ValueError
        For a makespan, several GPU models or speeds, or more than 10,000 jobs.

    Notes
    -----
    O(jobs x intervals in which one waits) prices, and for each step as much time and a knapsack
    for each interval. Theorem and climb are those of :mod:`gangsched.analysis.proofs.job_prices`.

    Examples
    --------
    Three GPUs, and three gangs of two for a second each: no two of them run together, and they end
    at 1, 2 and 3. Prices of GPU time let half a gang more run.

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=i, gpus=2, work=1) for i in "abc"]
    >>> job_price_bound(CompletionTime(Instance(Cluster.of_sizes([3]), jobs))).value
    6
    """
    if problem.measure == "makespan":
        raise ValueError("job_price_bound: measure='makespan' has no weights")
    if problem.mixed:
        raise ValueError("job_price_bound: the GPUs are not equal for all jobs")
    if not 0 < len(problem.jobs) <= MOST_JOBS:
        raise ValueError(f"job_price_bound: {len(problem.jobs)} jobs are not 1 to {MOST_JOBS}")
    begun = time.monotonic()
    end = math.inf if time_limit is None else begun + time_limit
    since = min(job.release for job in problem.jobs)
    run = run_pool(problem, dynamic=False).later(-since)
    area = Dual.of(problem, edges_between(problem, run.ends, since, intervals), since)
    usual = usual_prices(area, run)
    climb = Climb(begun + (end - begun) / 4, AREA_STEPS, None)
    area, prices = climb.halving(area, best_multiple(area, usual), around(usual), 0)
    dual = _Dual.of(area, prices)
    if dual.gang.size < FEW and 2 * len(problem.jobs) > intervals // 2:  # the grid is coarse
        finer, at = area.halved()
        dual, prices = _Dual.of(finer, prices[at]), prices[at]
    steps = min(MOST_STEPS, WORK // max(dual.gang.size, 1)) if rounds is None else rounds
    climb = Climb(end, steps, on_progress)
    own = climb.up(dual, dual.spread(prices), FIRST_STEP * dual.spread(around(prices)))
    return _exact_bound(problem, dual, own, since)


@dataclass(frozen=True)
class _Dual:
    """The theorem's bound of the flow in floats, with its supergradient.

    Prices stand by job: those of job j are ptr[j]:ptr[j + 1], of the intervals from first[j] on.
    """

    area: Dual
    ptr: Ints
    first: Ints
    gang: Ints  #: of the job of each price
    interval: Ints  #: of each price
    by_interval: Ints  #: where those of an interval begin in `order`
    order: Ints  #: prices by interval and gang

    @classmethod
    def of(cls, area: Dual, prices: Floats) -> _Dual:
        """Return that of the intervals of GPU prices."""
        last = area.edges.size - 1
        costs = area.costs(prices)
        upto = area.release + np.ceil(costs / area.weight).astype(np.int64)
        first = np.clip(area.first - 1, 0, last - 1)
        stop = np.clip(np.searchsorted(area.edges, upto, side="left"), first, last)
        ptr = np.append(0, np.cumsum(stop - first))
        job = np.repeat(np.arange(first.size), stop - first)
        interval = np.arange(ptr[-1]) - ptr[job] + first[job]
        gang = area.gang[job]
        order = by_both(interval, gang)
        begins = np.searchsorted(interval[order], np.arange(last + 1))
        return cls(area, ptr, first, gang, interval, begins, order)

    def spread(self, prices: Floats) -> Floats:
        """Prices of the jobs, of prices of a GPU."""
        return self.gang * prices[self.interval]

    @property
    def room(self) -> Floats:
        """Seconds of the interval of each price."""
        return self.area.lengths[self.interval]

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return the bound, and its change with each price."""
        costs, worths, bought, chosen = self._parts(self.area.weight, prices)
        value = float(costs.sum() - worths @ self.area.lengths)
        return value, bought - chosen * self.room

    def exactly(self, weights: Ints, prices: Ints) -> int:
        """The bound of whole prices, in integers."""
        costs, worths, _, _ = self._parts(weights, prices)
        lengths = np.diff(self.area.edges).tolist()
        lost = sum(worth * length for worth, length in zip(worths.tolist(), lengths, strict=True))
        return int(sum(costs.tolist()) - lost)

    def _parts(self, weights: Any, prices: Any) -> tuple[Any, Any, Floats, Floats]:
        area = self.area
        bought, chosen = np.zeros(prices.size), np.zeros(prices.size)
        costs = np.zeros(self.first.size, dtype=prices.dtype)
        worths = np.zeros(area.edges.size - 1, dtype=prices.dtype)
        costs_of_jobs(
            area.release, area.need, weights, self.ptr, self.first, area.edges, prices, bought,
            costs,
        )  # fmt: skip
        worth_of_sets(area.gpus, self.by_interval, self.order, self.gang, prices, worths, chosen)
        return costs, worths, bought, chosen


def _exact_bound(problem: CompletionTime, dual: _Dual, prices: Floats, since: int) -> Bound:
    """The bound of the prices in parts, of which a usual one has some thousand."""
    usual = float(prices[prices > 0].mean()) if prices.any() else 1.0
    scale = Fraction(2) ** (1 - math.frexp(usual / USUAL)[1])
    parts = np.rint(prices * float(scale)).astype(np.int64)
    span = int(dual.area.edges[-1] - dual.area.release.min() + dual.area.need.max())
    most = float(dual.area.weight.max() * scale) * span + float(parts.max(initial=0)) * span
    more = 1 << max(BITS - 2 - math.frexp(most)[1], 0)
    weights = [
        int(w * scale * more / (problem.scale * d))
        for w, d in zip(problem.weights, problem.divisors(), strict=True)
    ]
    total = Fraction(dual.exactly(np.array(weights), parts * more), more) / scale
    whole = parts * scale.denominator
    packed = compress(np.diff(whole, prepend=0).astype("<i8").tobytes(), 9)
    proof = {
        "kind": METHOD,
        "times": (dual.area.edges + since).tolist(),
        "first": dual.first.tolist(),
        "counts": np.diff(dual.ptr).tolist(),
        "prices": b64encode(packed).decode("ascii"),
        "scale": scale.numerator,
    }
    return price_bounded(problem, METHOD, proof, total)
