r"""Lower bounds of completion times by prices of GPU time, for every policy on one GPU model.

Theorem. Let pi(t) >= 0 be any price of a GPU second, M the GPUs, and let job j, a gang of g_j GPUs
for p_j seconds from its release r_j on, cost f_j(C) if it completes at C. With kappa_j(C) the price
of the cheapest p_j seconds of [r_j, C), every preemptive schedule of the cluster has

    sum_j f_j(C_j)  >=  sum_j min over C of (f_j(C) + g_j kappa_j(C))  -  M * (integral of pi).

    Proof. Job j holds g_j GPUs for p_j seconds of [r_j, C_j) or more, which are worth g_j
    kappa_j(C_j) or more. All jobs together hold at most M GPUs at any moment, worth at most M times
    the integral. So the costs are at least the costs plus what the jobs hold less that integral,
    and each job's sum is at least its least.

Here f_j(C) = w_j (C - r_j), with w_j = 1 (flow), a weight, or 1 / p_j (slowdown); the sum of the
completions is that of the flows plus the releases. In
:mod:`gangsched.analysis.proofs.deadline_rewards` f_j is the reward that is lost, and jobs may not
run at all. The theorem with an integral over rates is the Lagrangian of the linear program in which
a job runs at any rate up to 1; it is at least as strong as mean busy times
(:mod:`gangsched.analysis.proofs.completion_time`, Theorem 3) for f(D) = D / M, whose fast machine
forgets that a gang does at most one second of its work in a second.

Prices
------
They are constant between edges, which are half evenly spaced and half quantiles of releases and
completions. The first ones are those of a schedule in which the smallest p_j g_j / w_j runs, as far
as jobs fit: delta(t) is the largest w_j / (p_j g_j) of those that wait at t, and

    pi(t) = integral over rho > 0 of (first moment from t on at which delta < rho, less t),

what a moment's delay costs those who wait behind it, times the best of some factors. The bound is
concave in the prices; its supergradient in the price of an interval is the GPU seconds that the
jobs buy of it less those that there are. It is climbed by Adam (Kingma and Ba), the supergradient
counted as a part of the GPU seconds that there are, and with steps that are parts of the usual
price around, as prices differ by factors of 100. These parts shrink from 5 to 3/2000; the best of
the iterates and of their moving averages is kept. If after 2/5, 3/5 or 4/5 of the climb none is
better than the first prices, as may be where the cluster is overloaded, it goes on from these. Then
each interval is halved and the climb goes on.

The certificate is the list of prices in whole parts. The bound is computed from it in integers:
every breakpoint of kappa_j is one, so nothing is lost but the rounding of prices and weights.

References
----------
D. P. Kingma, J. Ba. Adam: a method for stochastic optimization. ICLR 2015.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Floats, Ints, by_both
from ...instances.check import at_least, check_real
from ...solvers.ours.pool import PoolRun, run_pool
from ...solvers.result import Bound
from .price_core import answers, densest, evaluate_exactly, waiting_values

METHOD = "GPU prices"
FACTORS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5)  #: of the first prices
#: of the climb: first and last step, and the first after the intervals were halved, as parts of the
#: usual price; how much of the means of slopes, of their squares and of the prices each step keeps;
#: how many steps pass between two looks at the mean prices; below which slopes count as none
FIRST_STEP, LATER_STEP, LAST_STEP = 5.0, 0.5, 0.0015
SLOPES, SQUARES, PATH, LOOK, NO_SLOPE = 0.8, 0.95, 0.95, 25, 1e-3
#: intervals of which the dearest price is the usual one; the least usual one, as a part of the mean
AROUND, LEAST = 31, 0.02
MOST_INTERVALS = 10**6
BITS = 61  #: below which every number of the exact sum stays

#: steps so far, and the best bound
Progress = Callable[[int, float], None]
Pieces = tuple[Ints, Ints, Ints]


def price_bound(
    problem: CompletionTime,
    *,
    intervals: int = 1_500,
    rounds: int = 150,
    halvings: int = 0,
    time_limit: float | None = None,
    on_progress: Progress | None = None,
) -> Bound:
    """Return the weighted completion, flow or slowdown that prices of GPU time prove.

    Parameters
    ----------
    problem : CompletionTime
        With any measure but the makespan, all of whose GPUs are equal for all jobs.
    intervals : int
        How many prices, at most, up to a million; fewer where fewer can differ.
    rounds : int
        Steps of the climb, at most, for each set of intervals; 0 leaves the first prices.
    halvings : int
        How often the intervals are halved, and the climb goes on.
    time_limit : float or None
        Seconds after which the climb ends; the first prices are found in any case.
    on_progress : callable, optional
        Called with the number of steps so far and the best bound, a float.

    Returns
    -------
    Bound
        Certificate ``{"kind": "GPU prices", "times": [t_0 .. t_K], "prices": [q_1 .. q_K], "scale":
        S}``: a GPU second in [t_(k-1), t_k) costs q_k / S, outside nothing.

    Raises
    ------
    ValueError, TypeError
        For a makespan, several GPU models or speeds, or numbers out of range.

    Notes
    -----
    O(jobs x intervals in which one waits) a step. Theorem and climb are those of
    :mod:`gangsched.analysis.proofs.prices`.

    Examples
    --------
    Two GPUs, and three jobs of two seconds that need both: they end at 2, 4 and 6.

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=i, gpus=2, work=2) for i in "abc"]
    >>> price_bound(CompletionTime(Instance(Cluster.of_sizes([2]), jobs))).value
    12
    """
    if problem.measure == "makespan":
        raise ValueError("price_bound: measure='makespan' has no weights")
    if problem.mixed:
        raise ValueError("price_bound: the GPUs are not equal for all jobs")
    at_least("price_bound: intervals", intervals, 1)
    at_least("price_bound: rounds", rounds, 0)
    at_least("price_bound: halvings", halvings, 0)
    if intervals > MOST_INTERVALS:
        raise ValueError(f"price_bound: intervals={intervals} is above {MOST_INTERVALS}")
    if time_limit is not None:
        check_real("price_bound", "time_limit", time_limit)
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    if not problem.jobs:
        return price_bounded(problem, METHOD, _certificate([0, 1], [0], 1), Fraction(0))
    since = min(job.release for job in problem.jobs)
    climb = Climb(end, rounds, on_progress)
    dual, prices = climbed(problem, since, intervals, halvings, climb)
    return _exact_bound(problem, dual, prices, since)


def climbed(
    problem: CompletionTime, since: int, intervals: int, halvings: int, climb: Climb
) -> tuple[Dual, Floats]:
    """The bound as a function of so many prices, and the best ones that a climb finds."""
    run = run_pool(problem, dynamic=False).later(-since)  # so that it does not matter when
    dual = Dual.of(problem, edges_between(problem, run.ends, since, intervals), since)
    usual = usual_prices(dual, run)
    return climb.halving(dual, best_multiple(dual, usual), around(usual), halvings)


# --- the bound as a function of the prices --------------------------------------------------------


@dataclass(frozen=True)
class Dual:
    """The theorem's bound of the flow in floats, with its supergradient."""

    gpus: int
    release: Ints
    need: Ints
    weight: Floats
    gang: Ints
    edges: Ints
    first: Ints  # the interval in which each job is released, from 1 on

    @classmethod
    def of(cls, problem: CompletionTime, edges: Ints, since: int) -> Dual:
        """The bound of a problem whose times count from `since`."""
        release, need, gang = columns_of(problem, since)
        first = np.searchsorted(edges, release, side="right")
        gpus = problem.instance.cluster.gpus
        return cls(gpus, release, need, problem.rates(), gang, edges, first)

    @property
    def lengths(self) -> Floats:
        """Seconds of each interval."""
        return np.diff(self.edges).astype(np.float64)

    @property
    def room(self) -> Floats:
        """GPU seconds of each interval."""
        return self.gpus * self.lengths

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return the bound, and its change with each price."""
        value, slope, _ = self.answer(prices)
        return value, slope

    def answer(self, prices: Floats) -> tuple[float, Floats, Ints]:
        """Return these, and when each job is complete where it costs least."""
        costs, bought, ends = self._answers(prices)
        total = np.cumsum(costs)[-1]
        return float(total - self.room @ prices), bought - self.room, ends

    def costs(self, prices: Floats) -> Floats:
        """Return the least cost of each job."""
        return self._answers(prices)[0]

    def _answers(self, prices: Floats) -> tuple[Floats, Floats, Ints]:
        own = self.release, self.need, self.weight, self.gang, self.first
        return answers(*own, self.edges, prices)

    def halved(self) -> tuple[Dual, Ints]:
        """The same with each interval cut in two, and in which one each lies now."""
        edges, at = cut_in_two(self.edges)
        first = np.searchsorted(edges, self.release, side="right")
        return replace(self, edges=edges, first=first), at


def columns_of(problem: CompletionTime, since: int) -> tuple[Ints, Ints, Ints]:
    """Releases, counted from `since`, seconds of work, and gangs."""
    rows = [(job.release - since, job.gpus) for job in problem.jobs]
    release, gang = np.array(rows, dtype=np.int64).T
    return release.copy(), np.array(problem.seconds, dtype=np.int64), gang.copy()


def edges_between(problem: CompletionTime, ends: Ints, since: int, intervals: int) -> Ints:
    """Half evenly spaced, half quantiles of releases and completions."""
    release = np.array([job.release - since for job in problem.jobs], dtype=np.int64)
    points = np.concatenate([release, ends])
    low, high = int(points.min()), int(points.max())
    if np.unique(points).size <= intervals // 2:
        even = np.linspace(low, high, intervals - intervals // 2 + 1)
        return np.unique(np.concatenate([points, even.astype(np.int64)]))
    even = np.linspace(low, high, intervals - intervals // 2 + 1)
    often = np.quantile(points, np.linspace(0, 1, intervals // 2 + 1))
    return np.unique(np.concatenate([even, often]).astype(np.int64))


def cut_in_two(edges: Ints) -> tuple[Ints, Ints]:
    """Each interval cut in two, where it has two seconds, and in which one each new one lies."""
    finer = np.unique(np.concatenate([edges, (edges[:-1] + edges[1:]) // 2]))
    return finer, np.searchsorted(edges, finer[:-1], side="right") - 1


# --- the first prices -----------------------------------------------------------------------------


def usual_prices(dual: Dual, run: PoolRun) -> Floats:
    """Mean prices of the intervals by the schedule."""
    density = dual.weight / (dual.need * dual.gang)
    return waiting_prices((run.job, run.start, run.end), dual.release, density, dual.edges)


def best_multiple(dual: Concave, prices: Floats, factors: Sequence[float] = FACTORS) -> Floats:
    """Prices times the best of some factors."""
    found = [(dual.at(factor * prices)[0], factor) for factor in factors]
    return max(found)[1] * prices


def waiting_prices(pieces: Pieces, release: Ints, density: Floats, edges: Ints) -> Floats:
    """Mean prices of the intervals by a schedule's pieces (job, start, end)."""
    whole = _integral(*_densest_waiting(pieces, release, density), edges)
    prices: Floats = np.maximum(np.diff(whole) / np.diff(edges).astype(np.float64), 0)
    return prices


def _densest_waiting(pieces: Pieces, release: Ints, density: Floats) -> tuple[Ints, Floats]:
    """Moments, and the largest density of the jobs that wait from each on until the next."""
    order = by_both(pieces[0], pieces[1])
    job, start, end = (column[order] for column in pieces)
    new = np.append(True, job[1:] != job[:-1])
    since = np.where(new, release[job], np.append(0, end[:-1]))
    waits = np.flatnonzero(since < start)
    density = density[job[waits]]
    points = np.unique(np.concatenate([since[waits], start[waits]]))
    first, last = (np.searchsorted(points, at[waits]) for at in (since, start))
    order = np.argsort(-density, kind="stable")
    return points, densest(first[order], last[order], density[order], points.size)


def _integral(points: Ints, delta: Floats, edges: Ints) -> Floats:
    """The integral of pi up to each edge."""
    if points.size < 2:
        return np.zeros(edges.size)
    value = waiting_values(points, delta)
    length = np.diff(points).astype(np.float64)
    whole = np.append(0.0, np.cumsum(length * (value[:-1] - delta[:-1] * length / 2)))
    at = np.clip(np.searchsorted(points, edges, side="right") - 1, 0, points.size - 2)
    past = np.clip(edges - points[at], 0, length[at])
    upto: Floats = whole[at] + past * (value[at] - delta[at] * past / 2)
    return upto


# --- the climb ------------------------------------------------------------------------------------


class Concave(Protocol):
    """A bound as a function of prices."""

    @property
    def room(self) -> Floats:
        """GPU seconds that there are at each price."""
        ...

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return the bound, and its change with each price."""
        ...


class Halving(Concave, Protocol):
    """One with prices of intervals."""

    def halved(self) -> tuple[Self, Ints]:
        """Return the same with each interval cut in two, and which price each one had."""
        ...


D = TypeVar("D", bound=Halving)


def around(prices: Floats, least: float = 0.0) -> Floats:
    """Return the largest price around each interval, at least `least`."""
    padded = np.pad(prices, AROUND // 2, mode="edge")
    largest = np.lib.stride_tricks.sliding_window_view(padded, AROUND).max(axis=1)
    usual: Floats = np.maximum(largest, max(LEAST * float(prices.mean()), least))
    return usual


@dataclass
class Climb:
    """Adam with relative steps."""

    end: float
    rounds: int
    on_progress: Progress | None
    steps: int = 0

    def halving(self, dual: D, prices: Floats, usual: Floats, halvings: int) -> tuple[D, Floats]:
        """Climb, then halve the intervals and climb on: the last function, and the best prices."""
        prices = self.up(dual, prices, FIRST_STEP * usual)
        for _ in range(halvings if self.rounds else 0):
            finer, at = dual.halved()
            if at.size == prices.shape[-1] or time.monotonic() >= self.end:
                break
            dual, usual = finer, usual[..., at]
            prices = self.up(finer, prices[..., at], LATER_STEP * usual)
        return dual, prices

    def up(self, dual: Concave, prices: Floats, step: Floats) -> Floats:
        """Return the best prices found from these on, with a first step of this size for each."""
        room, shrinking = dual.room, LAST_STEP / FIRST_STEP
        value, slope = dual.at(prices)
        start = best = mean = prices
        highest, fifths = value, 1
        slopes, squares = np.zeros_like(prices), np.zeros_like(prices)
        since = time.monotonic()
        for k in range(1, self.rounds + 1):
            now = time.monotonic()
            if now >= self.end or not step.any():
                break
            done = max(k / self.rounds, (now - since) / (self.end - since))
            slope = slope / room
            slopes = SLOPES * slopes + (1 - SLOPES) * slope
            squares = SQUARES * squares + (1 - SQUARES) * slope**2
            way = slopes / (1 - SLOPES**k)
            way /= np.sqrt(squares / (1 - SQUARES**k)) + NO_SLOPE
            prices = np.maximum(prices + shrinking**done * step * way, 0)
            mean = PATH * mean + (1 - PATH) * prices
            value, slope = dual.at(prices)
            tried = [(value, prices)]
            if k % LOOK == 0 or k == self.rounds:
                tried.append((dual.at(mean)[0], mean))
            for found, point in tried:
                if found > highest:
                    best, highest = point, found
            if best is start and fifths < int(5 * done) < 5:  # lost: again, in smaller steps
                prices = mean = start
                slope, fifths = dual.at(start)[1], int(5 * done)
            self.steps += 1
            if self.on_progress is not None:
                self.on_progress(self.steps, highest)
        return best


# --- in integers ----------------------------------------------------------------------------------


def _exact_bound(problem: CompletionTime, dual: Dual, prices: Floats, since: int) -> Bound:
    """The bound of the prices in parts, of which those of every job fit 64 bits."""
    scale = exact_scale(dual, float(dual.weight.max()), prices)
    parts = [round(Fraction(price) * scale) for price in prices.tolist()]
    over = zip(problem.weights, problem.divisors(), strict=True)
    times, part = scale.numerator, scale.denominator * problem.scale
    weights = [w * times // (part * d) for w, d in over]
    cost = evaluate_exactly(
        dual.release, dual.need, np.array(weights), dual.gang, dual.first, dual.edges,
        np.array(parts),
    )  # fmt: skip
    room = sum(q * t for q, t in zip(parts, np.diff(dual.edges).tolist(), strict=True))
    total = cost - dual.gpus * room
    whole = [q * scale.denominator for q in parts]
    proof = _certificate((dual.edges + since).tolist(), whole, scale.numerator)
    return price_bounded(problem, METHOD, proof, Fraction(total) / scale)


def exact_scale(dual: Any, weight: float, prices: Floats) -> Fraction:
    """Parts of a price, so many that no job's cost is beyond 61 bits; `weight` is the largest."""
    span = int(dual.edges[-1] - dual.release.min() + dual.need.max())
    bought = float(prices.max(initial=0)) * float((dual.gang * dual.need).max())
    return Fraction(2) ** (BITS - 2 - math.frexp(max(weight * span, bought, 2.0**-200))[1])


def _certificate(times: list[int], prices: list[int], scale: int) -> dict[str, object]:
    return {"kind": METHOD, "times": times, "prices": prices, "scale": scale}


def price_bounded(
    problem: CompletionTime, method: str, certificate: dict[str, object], value: Fraction
) -> Bound:
    """The bound of the measure, from that of the weighted flow."""
    if problem.measure == "completion":
        starts = zip(problem.weights, problem.jobs, strict=True)
        value += Fraction(sum(w * job.release for w, job in starts), problem.scale)
    down = 1 - 2**-50 if value > 0 else 1 + 2**-50
    number = math.ceil(value) if problem.integral else float(value) * down
    return Bound(number, method, certificate)
