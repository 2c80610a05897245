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

Prices are constant between breakpoints. The first ones are those of a linear program over fewer
intervals, in which a job may win its rewards in parts and holds GPUs at any rate up to its gang.
The theorem's bound, which is below that program's value, is then lowered along its subgradients
(Polyak's steps, with a target that comes closer). Any prices are valid: no solver is trusted.

References
----------
B. T. Polyak. Minimization of unsmooth functionals. USSR Computational Mathematics and Mathematical
Physics 9, 1969.

M. Held, P. Wolfe, H. P. Crowder. Validation of subgradient optimization. Mathematical Programming
6, 1974.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from ...formulations.deadline_rewards import DeadlineRewards
from ...instances.model import DeadlineJob
from ...solvers.result import Bound
from .rounding import float_above

__all__ = ["reward_bound"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[Any]  # floats, or Python's integers

#: prices are multiples of 1 / SCALE of the rewards' unit for a GPU second
SCALE = 10**12
LARGEST = 10**6  #: of the values in floats; more than so many units are counted in coins
ROWS = 1024  #: deadlines whose costs are computed together
FIRST = 8  #: intervals of the linear program
#: intervals by default: so many in a usual window, within these limits
USUAL, FEWEST, MOST = 4, 32, 256
#: of the search: relative distance of the first target, its factor after PATIENCE steps without
#: a better bound, and where the search ends
GAP, CLOSER, PATIENCE, CLOSEST = 0.01, 0.7, 10, 2e-5


def reward_bound(
    problem: DeadlineRewards,
    *,
    intervals: int | None = None,
    rounds: int = 400,
    time_limit: float | None = None,
) -> Bound:
    """Return an upper bound of the rewards that any policy can win.

    Parameters
    ----------
    problem : DeadlineRewards
        Where its jobs are elastic, the bound is for policies that change the number of GPUs.
    intervals : int, optional
        How many prices at most, between quantiles of the releases and deadlines; by default 32 to
        256, four for the median time from a release to the last deadline.
    rounds : int
        Steps of the search for better prices; each O(deadlines x intervals of their windows).
    time_limit : float or None
        Seconds after which the search ends; the first prices are found in any case.

    Returns
    -------
    Bound
        A multiple of the rewards' unit. Certificate ``{"kind": "prices", "times": [t_0 .. t_K],
        "prices": [q_1 .. q_K], "scale": S}``: a GPU second in [t_(k-1), t_k) costs q_k / S units,
        outside nothing.

    Raises
    ------
    ValueError
        If `intervals` is below 1 or `rounds` below 0.

    Examples
    --------
    Three jobs, and time for two of them:

    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id=i, gpus=2, work=5, rewards=[(10, 100)]) for i in "abc"]
    >>> bound = reward_bound(DeadlineRewards(Instance(Cluster.of_sizes([2]), jobs)))
    >>> bound.value, bound.method
    (200, 'prices of GPU time')
    """
    if intervals is not None and intervals < 1:
        raise ValueError(f"reward_bound: intervals={intervals} is below 1")
    if rounds < 0:
        raise ValueError(f"reward_bound: rounds={rounds} is below 0")
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    options = _Options.of(problem)
    if not options.job.size:
        return Bound(0, METHOD, _certificate([0, 1], [0]))
    dual = _Dual(options, _breakpoints(options, intervals or _usual(options)))
    prices = _descend(dual, _start(options, dual.times), rounds, end)
    whole = [round(price * SCALE) * options.coin for price in prices.tolist()]
    units = math.floor(_exactly(options, dual.times, whole))
    value = units * options.unit
    number = int(value) if value.denominator == 1 else float_above(value)
    return Bound(number, METHOD, _certificate(dual.times.tolist(), whole))


METHOD = "prices of GPU time"


def _certificate(times: list[int], prices: list[int]) -> dict[str, Any]:
    return {"kind": "prices", "times": times, "prices": prices, "scale": SCALE}


# --- what a job can win ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Options:
    """The deadlines that can be met, as columns; those of a job follow each other.

    A job on its own needs `work` / `speed` seconds, and holds `above` / `below` GPUs for each unit
    of work.
    """

    gpus: int  #: M
    unit: Fraction  #: of the values
    job: Ints  #: rising from 0, not the job's number
    start: Ints
    stop: Ints
    value: Numbers
    work: Numbers
    speed: Numbers
    above: Numbers
    below: Numbers

    @classmethod
    def of(cls, problem: DeadlineRewards) -> _Options:
        unit = problem.unit or Fraction(1)
        rows, count = list[tuple[int, ...]](), 0
        for job in sorted(problem.jobs, key=lambda job: job.release):
            work, speed, gang = _needs(job, elastic=problem.elastic)
            met = [(d, v) for d, v in job.rewards if d * speed >= work]
            count += bool(met)
            for deadline, value in met:
                worth = int(Fraction(value) / unit)
                window = job.release, job.release + deadline
                rows.append((count - 1, *window, worth, work, speed, *gang.as_integer_ratio()))
        columns = np.array(rows, dtype=object).reshape(-1, 8).T
        plain = (column.astype(np.int64) for column in columns[:3])
        return cls(problem.instance.cluster.gpus, unit, *plain, *columns[3:])

    def only(self, rows: Ints) -> _Options:
        """Some of the rows."""
        columns = ("job", "start", "stop", "value", "work", "speed", "above", "below")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    @property
    def coin(self) -> int:
        """Units, so many that no value is a large number of coins: solvers fail at these."""
        return max(1, -(-int(self.value.max()) // LARGEST))

    @property
    def worth(self) -> Floats:
        """The values in coins."""
        return (self.value / self.coin).astype(np.float64)

    @property
    def rate(self) -> Floats:
        """GPUs that a job holds while it runs."""
        return (self.speed * self.above / self.below).astype(np.float64)

    @property
    def seconds(self) -> Floats:
        """How long it runs."""
        return (self.work / self.speed).astype(np.float64)

    @property
    def first(self) -> Ints:
        """Each job's first row."""
        return np.flatnonzero(np.diff(self.job, prepend=-1))


def _needs(job: DeadlineJob, *, elastic: bool) -> tuple[int, int, Fraction]:
    """Work, the most of it that can be done in a second, and the least GPU seconds for a unit."""
    if not elastic:
        return job.work or 0, 1, Fraction(job.gpus)
    speeds = {n: job.speed(n, 1, n) for n in range(1, 2 * job.gpus + 1)}
    cheapest = min(Fraction(n, speed) for n, speed in speeds.items() if speed)
    return (job.work or 0) * job.speed(job.gpus, 1, job.gpus), max(speeds.values()), cheapest


def _usual(options: _Options) -> int:
    """How many intervals there are by default."""
    window = float(np.median(options.stop - options.start))
    return int(np.clip(USUAL * (options.stop.max() - options.start.min()) / window, FEWEST, MOST))


def _breakpoints(options: _Options, intervals: int) -> Ints:
    """Quantiles of releases and deadlines, both ends among them."""
    points = np.concatenate([options.start[options.first], options.stop])
    distinct = np.unique(points)
    if distinct.size <= intervals + 1:
        return distinct
    return np.unique(np.quantile(points, np.linspace(0, 1, intervals + 1)).astype(np.int64))


# --- the bound as a function of the prices --------------------------------------------------------


class _Dual:
    """The theorem's bound in coins, in floats, with its slope."""

    def __init__(self, options: _Options, times: Ints) -> None:
        self.options, self.times = options, times
        self.room = options.gpus * np.diff(times).astype(np.float64)
        self.rate, self.value = options.rate, options.worth
        self.first = options.first
        seconds = options.seconds
        self.blocks = [
            (at, k, o.astype(float), seconds[at]) for at, k, o in _blocks(options, times)
        ]

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return the bound, and its change with each price."""
        gain, chosen = self.value.copy(), list[Floats]()
        for rows, columns, overlap, seconds in self.blocks:
            chosen.append(_cheapest(prices[columns], overlap, seconds))
            gain[rows] -= self.rate[rows] * (chosen[-1] @ prices[columns])
        best = np.maximum(np.maximum.reduceat(gain, self.first), 0.0)
        wins = (gain > 0) & (gain == best[self.options.job])
        weight = np.where(wins, self.rate, 0.0)
        weight[1:][wins[1:] & wins[:-1] & (np.diff(self.options.job) == 0)] = 0.0  # one a job
        slope = self.room.copy()
        for (rows, columns, _, _), seconds in zip(self.blocks, chosen, strict=True):
            slope[columns] -= weight[rows] @ seconds
        return float(self.room @ prices + best.sum()), slope


def _blocks(options: _Options, times: Ints) -> Iterator[tuple[slice, slice, Ints]]:
    """Some rows, the intervals that they touch, and how long each window is in each of these."""
    for begin in range(0, options.job.size, ROWS):
        rows = slice(begin, begin + ROWS)
        start, stop = options.start[rows], options.stop[rows]
        low = int(np.searchsorted(times, start.min(), side="right")) - 1
        high = int(np.searchsorted(times, stop.max(), side="left"))
        edges = times[low : high + 1]
        ends, begins = np.minimum(edges[1:], stop[:, None]), np.maximum(edges[:-1], start[:, None])
        yield rows, slice(low, high), np.maximum(ends - begins, 0)


def _cheapest(prices: Numbers, overlap: Numbers, seconds: Numbers) -> Numbers:
    """How much of each interval the cheapest seconds of each row take."""
    order = np.argsort(prices, kind="stable")
    there = overlap[:, order]
    left = seconds[:, None] - (np.cumsum(there, axis=1) - there)
    taken = np.empty_like(there)
    taken[:, order] = np.maximum(np.minimum(there, left), 0)
    return taken


def _exactly(options: _Options, times: Ints, prices: list[int]) -> Fraction:
    """The bound in units, for prices in 1 / SCALE."""
    cost = np.array(prices, dtype=object)
    gain = options.value * SCALE * options.below
    for rows, columns, overlap in _blocks(options, times):
        done = overlap.astype(object) * options.speed[rows, None]
        taken = _cheapest(cost[columns], done, options.work[rows])
        gain[rows] -= options.above[rows] * (taken @ cost[columns])
    best = np.maximum.reduceat(gain, options.first).tolist()
    below = options.below[options.first].tolist()
    free = options.gpus * int(cost @ np.diff(times).astype(object))
    won = sum((Fraction(max(g, 0), b) for g, b in zip(best, below, strict=True)), Fraction(free))
    return won / SCALE


# --- prices ---------------------------------------------------------------------------------------


def _start(options: _Options, times: Ints) -> Floats:
    """Prices of the linear program over fewer of these intervals."""
    coarse = np.append(times[: -1 : -(-(times.size - 1) // FIRST)], times[-1])
    return _program(options, coarse)[np.searchsorted(coarse, times[:-1], side="right") - 1]


def _program(options: _Options, times: Ints) -> Floats:
    """Dual prices of the linear program.

    maximise sum V_f z_f, with sum of z_f <= 1 and seconds y_k <= |k in the window| for each job;
    for its deadline f, the y_k of intervals that begin before f sum up to p times the z_g, g <= f;
    sum of D y_k <= M |k|.
    """
    rows, jobs = options.job.size, options.first.size
    windows = options.only(np.append(options.first[1:], rows) - 1)
    job, interval, most = _pieces(windows, times)
    begins = np.searchsorted(job, options.job), np.searchsorted(job, options.job, side="right")
    deadline, piece = _ranges(*begins)
    early = times[interval[piece]] < options.stop[deadline]
    deadline, piece = deadline[early], piece[early]
    later, earlier = _ranges(options.first[options.job], np.arange(rows) + 1)
    low = times.size - 1  # rows of capacity, of one reward a job, of work for each deadline
    row = [interval, low + options.job, low + jobs + later, low + jobs + deadline]
    column = [rows + np.arange(job.size), np.arange(rows), earlier, rows + piece]
    entry = [windows.rate[job], np.ones(rows + later.size), -1 / options.seconds[deadline]]
    shape = (low + jobs + rows, rows + job.size)
    places = np.concatenate(row), np.concatenate(column)
    outcome = linprog(
        np.append(-options.worth, np.zeros(job.size)),
        A_ub=sparse.csr_array((np.concatenate(entry), places), shape=shape),
        b_ub=np.concatenate([options.gpus * np.diff(times), np.ones(jobs), np.zeros(rows)]),
        bounds=np.column_stack([np.zeros(shape[1]), np.append(np.ones(rows), most)]),
        method="highs-ds",
    )
    if outcome.status:  # not solved: any prices are valid
        return np.zeros(low)
    prices: Floats = np.maximum(-outcome.ineqlin.marginals[:low], 0.0)
    return prices


def _pieces(windows: _Options, times: Ints) -> tuple[Ints, Ints, Ints]:
    """Row, interval and length of what the windows have in common with the intervals."""
    found = []
    for rows, columns, overlap in _blocks(windows, times):
        row, interval = np.nonzero(overlap)
        found.append((rows.start + row, columns.start + interval, overlap[row, interval]))
    row, interval, length = (np.concatenate(part) for part in zip(*found, strict=True))
    return row, interval, length


def _ranges(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """(i, k) for every k of begin[i]:end[i], as two columns."""
    lengths = end - begin
    owner = np.repeat(np.arange(lengths.size), lengths)
    return owner, np.arange(owner.size) - np.repeat(np.cumsum(lengths) - lengths - begin, lengths)


def _descend(dual: _Dual, prices: Floats, rounds: int, end: float) -> Floats:
    """Lower the bound by subgradient steps from these prices on."""
    best, at = dual.at(prices)[0], prices
    gap, waited = GAP, 0
    lengths = np.diff(dual.times)
    for _ in range(rounds):
        value, slope = dual.at(prices)
        if value < best * (1 - 1e-7):
            best, at, waited = value, prices, 0
        else:
            waited += 1
        if waited >= PATIENCE:
            gap, waited, prices = gap * CLOSER, 0, at
            value, slope = dual.at(prices)
        slope = np.where((prices <= 0) & (slope > 0), 0.0, slope)
        step = slope / lengths
        steepness = float(slope @ step)
        if gap < CLOSEST or steepness <= 0 or time.monotonic() >= end:
            break
        prices = np.maximum(prices - (value - best * (1 - gap)) / steepness * step, 0.0)
    return at
