"""Upper bounds of the reward for met deadlines that hold for every policy.

Not even a policy that knew all jobs in advance, profiled none, and could suspend and move them for
free would win more. :func:`gangsched.verify_bound` proves each bound again from its certificate,
in integers and with other code.

Theorem. Let pi(t) >= 0 be any price of a GPU second. For a job with gang D, release r, work p and
rewards (d_f, V_f), let c_f be the integral of pi over the cheapest p seconds of [r, r + d_f), and
infinite where d_f < p. Every schedule of M GPUs wins at most

    M * (integral of pi) + sum over the jobs of max(0, max_f (V_f - D c_f)).

    Proof. It is the theorem of :mod:`gangsched.analysis.proofs.prices`, where a job costs -V_f if
    it completes by d_f, the first deadline that it meets, and nothing, at no GPU time, if it does
    not run: as no allocation is faster than a gang on one node, a job that wins V_f holds D GPUs
    for p seconds or more of [r, r + d_f), worth D c_f or more.

Where jobs may run on any number n of GPUs from 1 to 2 D, at speed s(n), GPUs are worth most where
n / s(n) is least, and work is done soonest at S = max s(n): in a second a job gets at most S of
work, for each unit of which it holds n / s(n) GPU seconds or more. So c_f is the integral over the
cheapest p / S seconds, and D is replaced by S min n / s(n). The bound is weaker; it holds for the
others too.

Prices are constant between edges, quantiles of the releases and deadlines. The first price is the
same everywhere: the one at which as much GPU time is wanted as there is, c with sum of D p over the
jobs with V / (D p) > c about M times the span. From it the bound is lowered as that of completion
times is raised, by the climb of :mod:`gangsched.analysis.proofs.prices`: its slope in the price of
an interval is the GPU seconds that there are less those that the jobs buy of it. One pass over a
job's window, with a heap of the cheapest seconds so far, serves all its deadlines.

The certificate is the prices in whole parts. The bound is computed from it in integers, compiled
where all of them fit 64 bits, else in plain Python: any prices are valid, nothing is trusted.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ...formulations.deadline_rewards import DeadlineRewards
from ...instances.arrays import Floats, Ints
from ...instances.check import at_least
from ...instances.model import FULL_SPEED, DeadlineJob
from ...solvers.result import Bound
from .prices import LEAST, Climb, Progress, around, cut_in_two
from .reward_core import most_gains
from .rounding import float_above

METHOD = "prices of GPU time"
LARGEST = 10**6  #: of the values in floats; more than so many units are counted in coins
#: intervals by default: so many in a usual window, within these limits
USUAL, FEWEST, MOST = 4, 256, 1_024
FASTEST = 2 * FULL_SPEED  #: no job is faster, with up to twice its gang
BITS = 61  #: below which every number of the compiled sum stays
FINEST, COARSEST = 40, 16  #: bits of a price behind the point, at most and, compiled, at least


def reward_bound(
    problem: DeadlineRewards,
    *,
    intervals: int | None = None,
    rounds: int = 150,
    halvings: int = 0,
    time_limit: float | None = None,
    on_progress: Progress | None = None,
) -> Bound:
    """Return an upper bound of the rewards that any policy can win.

    Parameters
    ----------
    problem : DeadlineRewards
        Where its jobs are elastic, the bound is for policies that change the number of GPUs.
    intervals : int, optional
        How many prices at most, between quantiles of the releases and deadlines; by default 256 to
        1,024, four for the median time from a release to the last deadline.
    rounds : int
        Steps of the search for better prices, at most, for each set of intervals; 0 leaves one
        constant price. Each O(jobs x intervals of their windows).
    halvings : int
        How often the intervals are halved, and the search goes on.
    time_limit : float or None
        Seconds after which the search ends; the constant price is found in any case.
    on_progress : callable, optional
        Called with the number of steps so far and minus the best bound in floats.

    Returns
    -------
    Bound
        A multiple of the rewards' unit. Certificate ``{"kind": "prices", "times": [t_0 .. t_K],
        "prices": [q_1 .. q_K], "scale": S}``: a GPU second in [t_(k-1), t_k) costs q_k / S units,
        outside nothing.

    Raises
    ------
    ValueError
        If `intervals` is below 1, or `rounds` or `halvings` below 0.

    Examples
    --------
    Three jobs, and time for two of them:

    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id=i, gpus=2, work=5, rewards=[(10, 100)]) for i in "abc"]
    >>> bound = reward_bound(DeadlineRewards(Instance(Cluster.of_sizes([2]), jobs)))
    >>> bound.value, bound.method
    (200, 'prices of GPU time')
    """
    if intervals is not None:
        at_least("reward_bound: intervals", intervals, 1)
    at_least("reward_bound: rounds", rounds, 0)
    at_least("reward_bound: halvings", halvings, 0)
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    last = max((job.release + due for job in problem.jobs for due, _ in job.rewards), default=0)
    if problem.elastic and last * FASTEST >= 1 << BITS:  # nobody's deadlines
        top = sum((Fraction(job.top_reward) for job in problem.jobs), Fraction(0))
        return Bound(_number(top), METHOD, _certificate([0, 1], [0], 1))
    options = _Options.of(problem)
    if options is None:
        return Bound(0, METHOD, _certificate([0, 1], [0], 1))
    dual = _Dual(options, _edges(options, intervals or _usual(options)))
    first = _constant_price(dual)
    usual = around(first, LEAST * float(np.median(options.densities)))
    dual, prices = Climb(end, rounds, on_progress).halving(dual, first, usual, halvings)
    return _exact_bound(options, dual.edges, prices)


def _certificate(times: list[int], prices: list[int], scale: int) -> dict[str, Any]:
    return {"kind": "prices", "times": times, "prices": prices, "scale": scale}


# --- what a job can win ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Options:
    """Jobs as columns, and their deadlines that can be met: those of job j are ptr[j]:ptr[j + 1].

    A job on its own needs `need` / `speed` seconds, and holds above / below GPUs for each unit of
    work.
    """

    gpus: int  #: M
    unit: Fraction  #: of the values
    start: Ints
    need: Ints
    speed: Ints
    above: list[int]
    below: list[int]
    ptr: Ints
    stop: Ints
    value: list[int]  #: in units

    @classmethod
    def of(cls, problem: DeadlineRewards) -> _Options | None:
        """The jobs that can win something, by release; None if there are none."""
        unit = problem.unit or Fraction(1)
        rows, stops, values, ptr = list[tuple[int, ...]](), list[int](), list[int](), [0]
        for job in sorted(problem.jobs, key=lambda job: job.release):
            work, speed, gang = _needs(job, elastic=problem.elastic)
            met = [(d, v) for d, v in job.rewards if d * speed >= work]
            if met:
                rows.append((job.release, work, speed, *gang.as_integer_ratio()))
                stops += [job.release + deadline for deadline, _ in met]
                values += [int(Fraction(value) / unit) for _, value in met]
                ptr.append(len(stops))
        if not rows:
            return None
        columns = [list(column) for column in zip(*rows, strict=True)]
        start, need, fastest = (np.array(column, dtype=np.int64) for column in columns[:3])
        above, below = columns[3:]
        gpus = problem.instance.cluster.gpus
        where = np.array(ptr), np.array(stops)
        return cls(gpus, unit, start, need, fastest, above, below, *where, values)

    @property
    def coin(self) -> int:
        """Units, so many that no value is a large number of coins: floats end."""
        return max(1, -(-max(self.value) // LARGEST))

    @property
    def worth(self) -> Floats:
        """The values in coins."""
        coin = self.coin
        return np.array([value / coin for value in self.value])

    @property
    def gang(self) -> Floats:
        """GPU seconds for each unit of work."""
        return np.array([a / b for a, b in zip(self.above, self.below, strict=True)])

    @property
    def densities(self) -> Floats:
        """The best reward of each job over its GPU seconds."""
        best: Floats = np.maximum.reduceat(self.worth, self.ptr[:-1]) / (self.gang * self.need)
        return best


def _needs(job: DeadlineJob, *, elastic: bool) -> tuple[int, int, Fraction]:
    """Work, the most of it that can be done in a second, and the least GPU seconds for a unit."""
    if not elastic:
        return job.work or 0, 1, Fraction(job.gpus)
    speeds = {n: job.speed(n, 1, n) for n in range(1, 2 * job.gpus + 1)}
    cheapest = min(Fraction(n, speed) for n, speed in speeds.items() if speed)
    return (job.work or 0) * job.speed(job.gpus, 1, job.gpus), max(speeds.values()), cheapest


def _usual(options: _Options) -> int:
    """How many intervals there are by default."""
    last = options.stop[options.ptr[1:] - 1]
    window = float(np.median(last - options.start))
    return int(np.clip(USUAL * (last.max() - options.start.min()) / window, FEWEST, MOST))


def _edges(options: _Options, intervals: int) -> Ints:
    """Quantiles of releases and deadlines, both ends among them."""
    points = np.concatenate([options.start, options.stop])
    distinct = np.unique(points)
    if distinct.size <= intervals + 1:
        return distinct
    return np.unique(np.quantile(points, np.linspace(0, 1, intervals + 1)).astype(np.int64))


# --- the bound as a function of the prices --------------------------------------------------------


@dataclass(frozen=True)
class _Dual:
    """Minus the theorem's bound in coins, in floats, with its supergradient."""

    options: _Options
    edges: Ints

    @property
    def room(self) -> Floats:
        """GPU seconds of each interval."""
        return self.options.gpus * np.diff(self.edges).astype(np.float64)

    @cached_property
    def _columns(self) -> tuple[Any, ...]:
        own = self.options
        first = np.searchsorted(self.edges, own.start, side="right") - 1
        return own.start, own.need, own.speed, own.gang, first, own.ptr, own.stop, own.worth

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return minus the bound, and its change with each price."""
        gains, bought = most_gains(*self._columns, self.edges, prices)
        room = self.room
        return -float(np.cumsum(gains)[-1] + room @ prices), bought - room

    def halved(self) -> tuple[_Dual, Ints]:
        """The same with each interval cut in two, and in which one each lies now."""
        edges, at = cut_in_two(self.edges)
        return replace(self, edges=edges), at


def _constant_price(dual: _Dual) -> Floats:
    """The best of all prices that do not change: the cost of a job is the same in every window."""
    options = dual.options
    density, area = options.densities, options.gang * options.need
    order = np.argsort(-density, kind="stable")
    room = options.gpus * float(dual.edges[-1] - dual.edges[0])
    full = np.flatnonzero(np.cumsum(area[order]) > room)
    price = density[order[full[0]]] if full.size else 0.0
    return np.full(dual.edges.size - 1, price)


# --- in integers ----------------------------------------------------------------------------------


def _exact_bound(options: _Options, edges: Ints, prices: Floats) -> Bound:
    """The bound of the prices in parts; compiled where those of every job fit 64 bits."""
    coin = options.coin
    dearest = Fraction(float(prices.max())) * coin
    most = max(
        max(options.value) * max(options.below),
        math.ceil(max(options.above) * int(options.need.max()) * dearest),
    )
    bits = min(FINEST, BITS - most.bit_length())
    scale = 1 << (bits if bits >= COARSEST else FINEST)
    whole = [round(Fraction(price) * coin * scale) for price in prices.tolist()]
    gains = _compiled_gains if bits >= COARSEST else _plain_gains
    total = options.gpus * sum(q * t for q, t in zip(whole, np.diff(edges).tolist(), strict=True))
    won = Fraction(total) + gains(options, edges, whole, scale)
    value = math.floor(won / scale) * options.unit
    return Bound(_number(value), METHOD, _certificate(edges.tolist(), whole, scale))


def _number(value: Fraction) -> float:
    return int(value) if value.denominator == 1 else float_above(value)


def _compiled_gains(options: _Options, edges: Ints, prices: list[int], scale: int) -> Fraction:
    """The sum of what the jobs gain at most, in 1 / scale units."""
    counts = np.diff(options.ptr)
    below = np.array(options.below)
    worth = np.array(options.value) * scale * np.repeat(below, counts)
    first = np.searchsorted(edges, options.start, side="right") - 1
    gains, _ = most_gains(
        options.start, options.need, options.speed, np.array(options.above), first, options.ptr,
        options.stop, worth, edges, np.array(prices),
    )  # fmt: skip
    total = Fraction(0)
    for part in np.unique(below).tolist():
        total += Fraction(sum(gains[below == part].tolist()), part)
    return total


def _plain_gains(options: _Options, edges: Ints, prices: list[int], scale: int) -> Fraction:
    """The same in integers of any size, deadline by deadline."""
    between, total = list(pairwise(edges.tolist())), Fraction(0)
    for j, start in enumerate(options.start.tolist()):
        best = 0
        for i in range(options.ptr[j], options.ptr[j + 1]):
            stop, left = int(options.stop[i]), int(options.need[j])
            cost = 0
            for price, (low, high) in sorted(zip(prices, between, strict=True)):
                there = max(min(high, stop) - max(low, start), 0) * int(options.speed[j])
                cost += price * min(there, left)
                left -= min(there, left)
            best = max(best, options.value[i] * scale * options.below[j] - options.above[j] * cost)
        total += Fraction(best, options.below[j])
    return total
