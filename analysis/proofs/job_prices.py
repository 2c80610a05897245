r"""Lower bounds of completion times by prices of every job, for every policy.

There are N_g GPUs of model g. Job j is a gang of D_j GPUs of one model at a time, which does s_jg
seconds of its work W_j in a second on model g, 0 where it cannot run. It costs f_j(C) = w_j (C -
r_j) if it completes at C.

Theorem. Let rho_jg(t) >= 0 be any price of a second of job j, all its GPUs together, on model g.
With kappa_j(C) the least of the integral of sum_g rho_jg x_g over rates x_g(t) >= 0, on [r_j, C),
of which sum_g x_g(t) <= 1, and by which the work is done, the integral of sum_g s_jg x_g is W_j or
more, every preemptive schedule has

    sum_j f_j(C_j)  >=  sum_j min over C of (f_j(C) + kappa_j(C))  -  sum_g (integral of V_g),

    V_g(t) = max of sum over j in S of rho_jg(t), over the sets S of jobs that can run on model g
             with sum of D_j <= N_g;    C >= r_j + p_j,    p_j = ceil(W_j / max_g s_jg).

    Proof. Let x_jg(t) be 1 where job j runs on model g at t, and 0 elsewhere. What runs on a model
    at a moment is such a set, and worth V_g(t) at most. A gang runs on one model at a time, so
    sum_g x_jg <= 1; its work is done at C_j, so these rates are among those of kappa_j(C_j), and
    what it has had is worth that or more. Work that is lost, or done twice, only costs more. So the
    costs are at least the costs plus what the jobs have had less these integrals, and each job's
    sum is at least its least; ends are integers, so none is before r_j + p_j.

On one model of speed 1, kappa_j(C) is the price of the cheapest p_j seconds of [r_j, C). With
rho_jg = D_j pi_g it is at least the theorem of :mod:`gangsched.analysis.proofs.prices` and of
:mod:`gangsched.analysis.proofs.model_prices`: V_g(t) is N_g pi_g there at most. Prices of jobs know
that a wide gang leaves no room for narrow ones. On one model they are the dual of the linear
program over sets of jobs that run together (configurations) with a row for each job and moment; no
set has to be listed, as V_g is a knapsack. On several models there is one for each, and nothing
keeps a job out of the sets of two models at once.

Prices
------
Job j has prices in each interval from its release to T_j = r_j + (some times its least cost at
prices of GPU time) / w_j, and none later, so that it never costs much more than that: twice where
jobs are many, as prices of its own make it cost more than those of GPU time. They begin with D_j
pi_g, pi_g from a climb of GPU prices on the same intervals. The supergradient in a price of job j
is the seconds that j buys of the interval, less its length where j is in the model's dearest set
that fits. It is climbed as prices of GPU time are, on few intervals first, which are halved as long
as prices are few: on fine ones a climb from afar takes many times the steps.

The certificate is the list of prices in whole parts, packed. On one model of speed 1 the bound is
computed from it in integers: all breakpoints are integers, so nothing is lost but the rounding of
prices. Otherwise it has some worths a >= 0 of a second of work for each job, by which, as with
prices of GPU models,

    kappa_j(C)  >=  a W_j - integral over [r_j, C] of max_g (a s_jg - rho_jg)^+.
"""

from __future__ import annotations

import math
import time
from base64 import b64encode
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any
from zlib import compress

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Bools, Floats, Ints, by_both
from ...solvers.result import Bound
from .job_price_core import costs_of_jobs, worth_of_sets
from .model_price_core import Lists
from .model_prices import ModelDual, climbed_models
from .prices import BITS, Climb, Dual, Progress, around, climbed, price_bounded

METHOD = "job prices"
MOST_JOBS = 10_000  #: no more have prices of their own
AREA_STEPS = 150  #: of the climb of GPU prices
EACH = 4  #: intervals for each job, at most, before they are halved
#: how many times its least cost at prices of GPU time a job may cost as long as it has prices of
#: its own, where there are many prices and where there are few
MANY_REACH, FEW_REACH = 2, 4
FEW = 150_000  #: prices of each model
WORK = 2 * 10**8  #: prices of each model times steps, at most
#: of the climb of jobs' prices, and again after intervals were halved, where prices are few: steps
#: at most, and the first one as a part of the usual price
LEVELS = (2_000, 3.0), (1_000, 1.0), (1_000, 0.5)
#: the first one where prices are many, and where there is no time for all steps
MANY_STEP, SHORT_STEP = 1.0, 0.3
USUAL = 2**12  #: parts that a usual price has
EXACT = 5  #: evaluations that take about as long as the bound in integers


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
        With any measure but the makespan.
    intervals : int
        At most, before they are halved.
    rounds : int, optional
        Steps of the climb on each set of intervals, at most; by default 2,000, or so many that 2e8
        prices of each model are changed.
    time_limit, on_progress
        As of :func:`~gangsched.analysis.proofs.prices.price_bound`.

    Returns
    -------
    Bound
        Certificate ``{"kind": "job prices", "times": [t_0 .. t_K], "first": [..], "counts": [..],
        "prices": packed, "scale": S}``: job j has prices in counts[j] intervals from the
        first[j]-th on, each q / S a second. Those of all jobs on the first GPU model come first,
        by the models' first nodes. They are packed by bytes, all lowest ones first, by zlib and
        base 64. Where GPUs differ ``"rates": [[a, ..], ..]`` is added: a second of work of a job is
        worth a / S.

    Raises
    ------
    ValueError
        For a makespan, no jobs, or more than 10,000.

    Notes
    -----
    O(jobs x intervals in which one waits x models) prices, and for each step as much time and a
    knapsack for each interval and model. Theorem and climb are those of
    :mod:`gangsched.analysis.proofs.job_prices`.

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
    if not 0 < len(problem.jobs) <= MOST_JOBS:
        raise ValueError(f"job_price_bound: {len(problem.jobs)} jobs are not 1 to {MOST_JOBS}")
    begun = time.monotonic()
    end = math.inf if time_limit is None else begun + time_limit
    since = min(job.release for job in problem.jobs)
    climb = Climb(begun + (end - begun) / 4, AREA_STEPS, None)
    climbed_area = climbed_models if problem.mixed else climbed
    few = min(intervals, EACH * len(problem.jobs))
    area, prices = climbed_area(problem, since, few, 0, climb)
    dual, many = _Dual.of(area, _upto(area, prices, FEW_REACH)), False
    if dual.gang.size >= FEW:
        dual, many = _Dual.of(area, _upto(area, prices, MANY_REACH)), True
    own = dual.spread(prices)
    usual = dual.spread(np.stack([around(row) for row in np.atleast_2d(prices)]))
    climb = Climb(end, 0, on_progress)
    for level, (most, step) in enumerate(LEVELS):
        if level:
            dual, own, usual = dual.halved(own, usual)
        climb.rounds = min(most, WORK // max(dual.gang.size, 1)) if rounds is None else rounds
        now = time.monotonic()
        dual.at(own)
        once = time.monotonic() - now
        half = end - (end - now) / 2
        short = now + climb.rounds * once > half
        last = level + 1 == len(LEVELS) or dual.gang.size >= FEW or short
        climb.end = end - EXACT * once if last else half
        step = SHORT_STEP if short else MANY_STEP if many else step
        own = climb.up(dual, own, step * usual)
        if last:
            break
    return _exact_bound(problem, dual, own, since)


def _upto(area: Dual | ModelDual, prices: Floats, times: int) -> Ints:
    """Until when each job has prices of its own: to wait longer costs this many times as much."""
    found: Ints = area.release + np.ceil(times * area.costs(prices) / area.weight).astype(np.int64)
    return found


@dataclass(frozen=True)
class _Dual:
    """The theorem's bound of the flow in floats, with its supergradient.

    There is a row of prices for each GPU model. Those of job j are ptr[j]:ptr[j + 1], of the
    intervals from first[j] on.
    """

    area: Dual | ModelDual
    upto: Ints
    ptr: Ints
    first: Ints
    gang: Ints  #: of the job of each price
    interval: Ints  #: of each price
    able: Bools  #: whether it is of a model on which the job can run
    #: of each model its GPUs, where prices of an interval begin, and prices by interval and gang
    models: list[tuple[int, Ints, Ints]]

    @classmethod
    def of(cls, area: Dual | ModelDual, upto: Ints) -> _Dual:
        """Return that of the intervals of GPU prices, with prices of each job until then."""
        last = area.edges.size - 1
        first = np.searchsorted(area.edges, area.release, side="right") - 1
        first = np.clip(first, 0, last - 1)
        stop = np.clip(np.searchsorted(area.edges, upto, side="left"), first, last)
        ptr = np.append(0, np.cumsum(stop - first))
        job = np.repeat(np.arange(first.size), stop - first)
        interval = np.arange(ptr[-1]) - ptr[job] + first[job]
        gang = area.gang[job]
        able = np.ones((1, job.size), dtype=np.bool_)
        if isinstance(area, ModelDual):
            able = area.speeds[job].T > 0
        models = []
        for gpus, own in zip(np.atleast_1d(area.gpus).tolist(), able, strict=True):
            place = np.flatnonzero(own)
            order = place[by_both(interval[place], gang[place])]
            models.append((gpus, np.searchsorted(interval[order], np.arange(last + 1)), order))
        return cls(area, upto, ptr, first, gang, interval, able, models)

    def halved(self, own: Floats, usual: Floats) -> tuple[_Dual, Floats, Floats]:
        """The same with each interval cut in two, and such prices there."""
        finer, at = self.area.halved()
        new = _Dual.of(finer, self.upto)
        job = np.repeat(np.arange(new.first.size), np.diff(new.ptr))
        old = at[new.interval] - self.first[job] + self.ptr[job]
        old = np.minimum(old, self.ptr[job + 1] - 1)
        return new, own[:, old], usual[:, old]

    def spread(self, prices: Floats) -> Floats:
        """Prices of the jobs, of prices of a GPU."""
        return self.able * self.gang * np.atleast_2d(prices)[:, self.interval]

    @property
    def room(self) -> Floats:
        """Seconds of the interval of each price."""
        return self.area.lengths[self.interval]

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return the bound, and its change with each price."""
        costs, bought = self._costs(self.area.weight, prices)
        worths, chosen = self._worths(prices)
        value = float(costs.sum() - worths @ self.area.lengths)
        return value, bought - chosen * self.room

    def exactly(self, weights: Ints, prices: Ints, scale: float) -> tuple[int, list[list[int]]]:
        """The bound of whole prices, in integers, and on several models the worths of work."""
        rates: list[list[int]] = []
        if isinstance(self.area, ModelDual):
            costs, rates = self.area.certified(self._lists, self._one, weights, prices, scale)
        else:
            costs, _ = self._costs(weights, prices)
        lengths, worths = np.diff(self.area.edges).tolist(), self._worths(prices)[0].tolist()
        lost = sum(worth * length for worth, length in zip(worths, lengths, strict=True))
        return sum(costs.tolist()) - lost, rates

    @cached_property
    def _lists(self) -> Lists:
        """Each job has a list of prices."""
        assert isinstance(self.area, ModelDual)
        jobs = np.arange(self.ptr.size)
        return Lists(jobs[:-1], jobs, self.first, self.ptr[:-1], self.ptr[1:], self.area.speeds)

    @property
    def _one(self) -> Ints:
        """Prices are of whole gangs."""
        return np.ones_like(self.first)

    def _costs(self, weights: Any, prices: Any) -> tuple[Any, Floats]:
        """The least costs, and seconds that are bought at each price."""
        area = self.area
        if isinstance(area, ModelDual):
            return area.answers(self._lists, self._one, prices)
        bought, costs = np.zeros(prices.shape), np.zeros(self.first.size, dtype=prices.dtype)
        costs_of_jobs(
            area.release, area.need, weights, self.ptr, self.first, area.edges, prices[0],
            bought[0], costs,
        )  # fmt: skip
        return costs, bought

    def _worths(self, prices: Any) -> tuple[Any, Floats]:
        """What the dearest sets of all models are worth in each interval, and who is in them."""
        worths = np.zeros((len(self.models), self.area.edges.size - 1), dtype=prices.dtype)
        chosen = np.zeros(prices.shape)
        for g, (gpus, begins, order) in enumerate(self.models):
            worth_of_sets(gpus, begins, order, self.gang, prices[g], worths[g], chosen[g])
        return worths.sum(axis=0), chosen


def _exact_bound(problem: CompletionTime, dual: _Dual, prices: Floats, since: int) -> Bound:
    """The bound of the prices in parts, of which a usual one has some thousand."""
    area = dual.area
    usual = float(prices[prices > 0].mean()) if prices.any() else 1.0
    scale = Fraction(2) ** (1 - math.frexp(usual / USUAL)[1])
    parts = np.rint(prices * float(scale)).astype(np.int64)
    span = max(int(area.edges[-1] - area.release.min() + area.need.max()), len(problem.jobs))
    most = float(area.weight.max() * scale) * span + float(parts.max(initial=0)) * span
    more = 256 ** (max(BITS - 2 - math.frexp(most)[1], 0) // 8)
    weights = [
        int(w * scale * more / (problem.scale * d))
        for w, d in zip(problem.weights, problem.divisors(), strict=True)
    ]
    total, rates = dual.exactly(np.array(weights), parts * more, float(scale * more))
    unit = scale * (more if problem.mixed else 1)  # worths of work are finer than prices
    whole = parts.ravel() * int(unit.denominator * unit / scale)
    proof = {
        "kind": METHOD,
        "times": (area.edges + since).tolist(),
        "first": dual.first.tolist(),
        "counts": np.diff(dual.ptr).tolist(),
        "prices": packed(whole),
        "scale": unit.numerator,
    }
    if problem.mixed:
        proof["rates"] = [[a * unit.denominator for a in own] for own in rates]
    return price_bounded(problem, METHOD, proof, Fraction(total, more) / scale)


def packed(values: Ints) -> str:
    """Numbers as text: all lowest bytes, all next ones, and so on, compressed."""
    places = values.astype("<i8").view(np.uint8).reshape(-1, 8).T
    return b64encode(compress(places.tobytes(), 9)).decode("ascii")
