"""A bound of what can be earned at all: column generation for the linear program of (5).

Not in the paper, which writes (5) down to price it by a formula. A column is a run of a job; the
rows say that a job has one and that no more workers and PSs are in use than there are,

    max sum f_j(t+_i) x_i,   sum_{i of j} x_i <= 1,   sum_i y_ig(t) x_i <= n_g C_g,  all g, t,

added up over the n_g nodes of class g (equal model, workers and PSs): where nodes are equal, a
solution of the added up program is, spread evenly, one of the full program, as long as each column
fits on nodes. Rows of the slots of a block are added up once more, which makes the program
larger: it still is a bound.

For any prices pi >= 0 of workers and PSs no schedule earns more than

    sum pi n C + sum_j max(0, max over runs i of j of f_j(t+_i) - cost of i at pi),

which every round of the generation evaluates exactly, in integers. So each round proves a bound,
whatever the solver of the linear program does, and the best is returned. Completions after the last
slot looked at are worth f(slots + 1) at most and count as free of charge.

With ``preemptive=True`` the same with cheaper runs, see :func:`revenue_bound`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import highspy
import numpy as np

from ....formulations.irmp.problem import Irmp
from ....formulations.problem import check_class
from ....instances.arrays import Floats, Ints
from ....instances.check import at_least
from ....instances.model import Linear, Table
from ...highs import is_optimal, new
from ...history import History
from ...result import Bound
from .fluid import SlotUsage, Speeds, best_completions, usage
from .pricing import LENGTH, CandidateRun, Classes, Trials, best_runs

METHOD = "column generation"
#: share of the best prices in those that are tried next (Wentges 1997)
SMOOTHING = 0.6
#: first blocks are longer by these factors; their prices and columns start the next program
COARSE = (16, 4, 1)
#: how much less exact the programs before the last one are
ROUGH = 4.0
#: no more blocks, longer horizons have longer ones
BLOCKS = 256
#: no more slots are looked at, nor by who verifies the bound; what is later is late
MAX_SLOTS = 10**6
#: of pricing, at most, for blocks of one length
ROUNDS = 1000
#: prices of all there is add up to no more than this, in sums of values
MOST = 64.0
#: what a job loses that must run and does not, in sums of values
FORCED = 8.0
#: in units, what a job is worth that must run
NEVER = -(2**61)
#: a smaller part of a run is none
LEAST = 1e-9
#: of sums of values, as integers; those of prices are MOST times as large
BITS = 54
#: of a scale, so that it fits into a float
MOST_BITS = 1000
#: integers up to this, and their sums and products, are exact as floats
EXACT = 2**53
#: relative room for errors of floats, where the bound is not summed in integers
FLOAT_ERROR = 1e-9


def default_slots(problem: Irmp) -> int:
    """Return how many slots a bound should look at.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Node, ParameterServerJob
    >>> job = ParameterServerJob(id="j", gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                          utility=Linear(-2, 100))
    >>> default_slots(Irmp(Instance(Cluster([Node("s", 2, ps=1)]), [job])))
    5
    """
    classes = Classes.of(problem)
    trials = Trials.of(problem, classes)
    work, longest = 0, 0
    for j in range(len(problem.jobs)):
        rows = trials.rows[trials.ptr[j] : trials.ptr[j + 1]]
        if rows.size:
            work += int((rows[:, 2] * rows[:, 3]).min())
            longest = max(longest, int(trials.begin[j] + rows[:, 3].min()))
    enough = longest + math.ceil(1.5 * work / max(int(classes.room[:, 0].sum()), 1))
    if problem.optional:
        last = max((_last_gain(problem, j) for j in range(len(problem.jobs))), default=1)
        enough = min(enough, last)
    return max(1, min(enough, problem.horizon or enough))


def _last_gain(problem: Irmp, job: int) -> int:
    """The last completion that earns something, as far as easily told."""
    utility = problem.jobs[job].utility
    if not isinstance(utility, Linear) or utility.slope == 0:
        return 2**62
    since = problem.jobs[job].release if problem.clock == "release" else 0
    # exact, as quotients of floats may be off by slots, or infinite
    after = math.ceil(-Fraction(utility.constant) / Fraction(utility.slope))
    return max(since + after, problem.earliest(job) + 1)


class PricedRun(NamedTuple):
    """A run of a job.

    Parameters
    ----------
    job : int
    value : float
        f_j of its completion.
    run : Run or Usage
        What it takes; Usage where the problem is preemptive.
    """

    job: int
    value: float
    run: CandidateRun | SlotUsage


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Columns:
    """The linear program, solved as far as it was.

    Parameters
    ----------
    bound : Bound
    value : float
        Of the program over the columns that were generated; below the bound.
    prices : (classes, 2, blocks) floats
        Of a worker, and of a PS, in a slot: those that prove the bound.
    ends : (blocks,) ints
        Of the blocks; the last is the number of slots.
    classes : Classes
    start : (jobs,) floats
        Mean start of the job's runs in the program's solution; infinite where it has none.
    runs : tuple of (Column, float)
        The program's solution: runs, and how much of each.
    iterations : int
        Rounds of pricing.
    converged : bool
        Whether the bound is as close to the value as asked for.
    history : History
        Bounds over time.
    """

    bound: Bound
    value: float
    prices: Floats
    ends: Ints
    classes: Classes
    start: Floats
    runs: tuple[tuple[PricedRun, float], ...]
    iterations: int
    converged: bool
    history: History

    @property
    def slot_prices(self) -> Floats:
        """(classes, 2, slots): the prices of each slot."""
        slots: Floats = np.repeat(self.prices, np.diff(self.ends, prepend=0), axis=2)
        return slots

    @property
    def order(self) -> list[int]:
        """Jobs by mean start, those without one last, ties by number."""
        return [int(j) for j in np.lexsort((np.arange(self.start.size), self.start))]


def revenue_bound(
    problem: Irmp,
    *,
    slots: int | None = None,
    block: int = 8,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
) -> Bound:
    """Return an upper bound of what any schedule earns, by column generation.

    Parameters
    ----------
    problem : Irmp
    slots : int or None
        Slots looked at; completions later than that count as worth f(slots + 1), free of charge.
        None for :func:`default_slots`.
    block : int
        Slots of a block, in which prices are constant; longer where there were more than 256.
    tolerance : float
        Relative distance to the program's value at which to stop.
    time_limit : float or None
        Seconds; the best bound proven so far is returned. It is looked at between rounds.

    Returns
    -------
    Bound
        Certificate ``{"kind": "revenue prices", "classes": [[model, gpus, ps], ...], "ends": ends
        of the blocks, "prices": integers by class, resource and block, "scale": 2**k, "fluid":
        whether the problem is preemptive}``.

    Raises
    ------
    ValueError, TypeError
        Naming the option and the rule; or another problem.

    Notes
    -----
    Valid for any prices, see the module; what `problem.alone` promises is not used. Prices are
    integers in units of 2**-k, values f are rounded up to such, so the bound is exact. Where
    utilities add up to more than 2**54, k is negative, and the scale a float. Where all utilities
    are integral, the bound is rounded down to a multiple of their greatest common divisor. A job
    that no node can hold, or that cannot be complete by the horizon, counts for nothing.

    With ``problem.preemptive`` a job may change its workers in every slot. A slot of at most C
    workers on one node, C the most on a node that has PSs, trains C n_1 mini-batches, of at most
    D'_j workers on several nodes D'_j n_0 (D'_j: D_j, or what (3i) allows), at the fastest model's
    rates. So for q mini-batches in a slot a job pays at least the greatest convex function of q
    through 0, (C n_1, C w) and (D'_j n_0, D'_j w), w the cheapest worker; and at least a share
    q / max(C n_1, D'_j n_0) of the cheapest PS, as it holds one or more in every slot in which it
    trains. A completion by t costs no less than the cheapest slots from release to t that train
    all E D M. The bound of the preemptive problem is no lower than that of the other.

    Each round costs one linear program of jobs + 2 classes blocks rows (HiGHS, warm started), and
    pricing in O(jobs blocks D). Blocks are long first, as few rounds at few rows find good prices.

    References
    ----------
    P. Wentges. Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming.
    International Transactions in Operational Research 4, 1997.

    Examples
    --------
    Two jobs of 2 slots on one node: at worst the second one waits for the first.

    >>> from gangsched.instances import Cluster, Instance, Node, ParameterServerJob
    >>> jobs = [ParameterServerJob(id=i, gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                            utility=Linear(-2, 100)) for i in "ab"]
    >>> problem = Irmp(Instance(Cluster([Node("s", 2, ps=1)]), jobs))
    >>> revenue_bound(problem, block=1, tolerance=1e-9).value
    188.0
    """
    found = generate(problem, slots=slots, block=block, tolerance=tolerance, time_limit=time_limit)
    return found.bound


def generate(
    problem: Irmp,
    *,
    slots: int | None = None,
    block: int = 8,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
) -> Columns:
    """Solve the linear program, and return its bound with prices and starts."""
    check_class("revenue_bound", problem, Irmp)
    limit = math.inf if time_limit is None else time_limit
    if not limit >= 0:
        raise ValueError(f"revenue_bound: time_limit={time_limit} is not >= 0")
    if not (tolerance >= 0 and math.isfinite(tolerance)):
        raise ValueError(f"revenue_bound: tolerance={tolerance} is not a finite number >= 0")
    most = min(problem.horizon or MAX_SLOTS, MAX_SLOTS)
    slots = default_slots(problem) if slots is None else slots
    slots = min(at_least("revenue_bound: slots", slots, 1), most)
    block = max(at_least("revenue_bound: block", block, 1), -(-slots // BLOCKS))
    classes = Classes.of(problem)
    trials = Trials.of(problem, classes)
    floor = floors(problem, classes, trials, slots)
    search = ColumnSearch(problem, classes, trials, floor, slots, time.monotonic() + limit)
    for factor in COARSE:
        length = block * factor
        if factor == 1 or slots > 4 * length:
            ends = np.minimum(np.arange(length, slots + length, length), slots)
            units = classes.room[:, :, None] * np.diff(ends, prepend=0)
            search.solve(ends, units, tolerance * (1.0 if factor == 1 else ROUGH))
    return search.result()


# --- pricing -------------------------------------------------------------------------------------


class Priced(NamedTuple):
    """What prices prove, and the best run of each job at them, where it has one."""

    bound: float
    columns: list[PricedRun]


class _Runs:
    """Runs as they are, priced in integers; `values` are (jobs, slots + 1), `floor` (jobs,)."""

    def __init__(
        self, problem: Irmp, classes: Classes, trials: Trials, values: Floats, floor: Floats
    ) -> None:
        self.problem, self.classes, self.trials, self.values = problem, classes, trials, values
        self.scale = _scale(_largest(values, floor))  # an integer, where it is not below 1
        self.worth = _rounded_up(values, self.scale)  # in units of 1 / scale
        least = _rounded_up(np.where(np.isfinite(floor), floor, 0.0), self.scale)
        self.floor = np.where(np.isfinite(floor), least, NEVER)
        self.hints = np.full(floor.size, -1, dtype=np.int64)

    def integers(self, prices: Floats) -> Ints:
        """Prices in units of 1 / scale."""
        return np.rint(prices * float(self.scale)).astype(np.int64)

    def priced(self, prices: Floats, ends: Ints, units: Ints) -> Priced:
        """Best runs at some prices, with so many units for sale in each block."""
        total, runs = self._total(self.integers(prices), ends, units, every=False)
        found = [
            PricedRun(j, float(self.values[j, run.end]), run) for j, run in enumerate(runs) if run
        ]
        return Priced(total / self.scale, found)

    def _total(
        self, prices: Ints, ends: Ints, units: Ints, *, every: bool
    ) -> tuple[int, list[CandidateRun | None]]:
        runs = best_runs(
            self.problem, self.classes, self.trials, self.worth, prices, self.floor, ends,
            hints=self.hints, every=every,
        )  # fmt: skip
        total = int((prices * units).sum())
        for run, least in zip(runs, self.floor.tolist(), strict=True):
            # a job that must run and cannot: there is no schedule, and nothing to prove
            total += run.gain if run else 0 if least == NEVER else least
        return total, runs

    def bound(self, prices: Floats, ends: Ints, units: Ints) -> Bound:
        """The bound of some prices, exactly."""
        integers = self.integers(prices)
        total, _ = self._total(integers, ends, units, every=True)
        value = _floored(self.problem, total / Fraction(self.scale))
        record = _record(self.problem, self.classes, integers, ends, self.scale)
        return Bound(float(value), METHOD, record)


class _Fluid:
    """Runs that may change from slot to slot, priced in floats."""

    def __init__(
        self, problem: Irmp, classes: Classes, trials: Trials, values: Floats, floor: Floats
    ) -> None:
        self.problem, self.classes, self.values, self.floor = problem, classes, values, floor
        self.speeds, self.begin = Speeds.of(problem, classes), trials.begin

    def priced(self, prices: Floats, ends: Ints, units: Ints) -> Priced:
        """Cheapest completions at some prices."""
        speeds, begin, values = self.speeds, self.begin, self.values
        gains, times = best_completions(speeds, values, self.floor, begin, prices, ends)
        found = [
            PricedRun(j, float(values[j, t]), usage(speeds, begin, j, t, prices, ends))
            for j, t in enumerate(times.tolist())
            if t >= 0
        ]
        total = float((prices * units).sum())
        return Priced(total + float(gains[np.isfinite(gains)].sum()), found)

    def bound(self, prices: Floats, ends: Ints, units: Ints) -> Bound:
        """The bound of some prices, a little increased for errors of floats."""
        largest = _largest(self.values, self.floor)
        scale = _scale(largest)
        integers = np.rint(prices * float(scale)).astype(np.int64)
        value = self.priced(integers / float(scale), ends, units).bound
        record = _record(self.problem, self.classes, integers, ends, scale)
        # who verifies it rounds what each job is worth up to such units
        return Bound(value + FLOAT_ERROR * largest + self.floor.size / scale, METHOD, record)


def _record(
    problem: Irmp, classes: Classes, prices: Ints, ends: Ints, scale: float
) -> dict[str, Any]:
    return {
        "kind": "revenue prices",
        "classes": classes.describe(problem),
        "ends": ends.tolist(),
        "prices": prices.tolist(),
        "scale": scale,
        "fluid": problem.preemptive,
    }


def _largest(values: Floats, floor: Floats) -> float:
    """Of the sums of values, in absolute terms; 0 is taken for 1."""
    finite = float(np.abs(floor[np.isfinite(floor)]).sum())
    return finite + float(np.abs(values).max(axis=1).sum()) or 1.0


def _scale(largest: float) -> float:
    """The power of two that makes sums of values integers of BITS bits."""
    bits = min(BITS - math.ceil(math.log2(largest)), MOST_BITS)
    return 2**bits if bits >= 0 else 2.0**bits


def _floored(problem: Irmp, total: Fraction) -> Fraction:
    """The largest sum of values that is not above `total`, as far as divisors tell.

    With integers k <= 0 and g up to 2**53 in absolute terms, the float f(t) = k t + g is exact, so
    a multiple of their divisors, unless k t < -2**53 or k t + g < -2**53. Rounding keeps order, so
    f(t) <= max(0, g) - 2**53 then. A job has no f(t) above max(0, g). So a sum with such a value is
    below that of all max(0, g) by 2**53 or more, and every other sum is a multiple.
    """
    step = most = 0
    for job in problem.jobs:
        if isinstance(job.utility, Linear):
            values: Sequence[float] = (job.utility.constant, job.utility.slope)
        elif isinstance(job.utility, Table):
            values = job.utility.values
        else:
            return total
        if any(value != int(value) or abs(value) > EXACT for value in values):
            return total
        step = math.gcd(step, *(int(value) for value in values))
        most += max(0, int(values[0]))
    if not step:
        return total
    return max(Fraction(total // step * step), min(total, Fraction(most - EXACT)))


def _soonest(problem: Irmp, classes: Classes, trials: Trials) -> list[int | None]:
    """The first time at which each job may be complete; None where it never is."""
    if problem.preemptive:
        speeds = Speeds.of(problem, classes)
        most = speeds.size.sum(axis=1)
        slots = np.ceil(speeds.batches / np.where(most > 0, most, 1.0) * (1 - FLOAT_ERROR))
        least = np.where(most > 0, np.maximum(slots, 1), np.inf).tolist()
    else:
        lengths = trials.rows[:, LENGTH].tolist()  # of a job, the shortest first
        least = [lengths[a] if a < b else math.inf for a, b in pairwise(trials.ptr.tolist())]
    last = math.inf if problem.horizon is None else problem.horizon
    ends = [begin + length for begin, length in zip(trials.begin.tolist(), least, strict=True)]
    return [int(end) if math.isfinite(end) and end <= last else None for end in ends]


def _values(problem: Irmp, soonest: Sequence[int | None], slots: int) -> Floats:
    """(jobs, slots + 1): f_j by time of completion; as of the first possible one before that."""
    values = np.zeros((len(problem.jobs), slots + 1))
    for j, end in enumerate(soonest):
        first = slots if end is None else min(end, slots)
        values[j, 1:] = problem.values(j, slots)
        values[j, :first] = values[j, first]
    np.maximum.accumulate(values[:, ::-1], axis=1, out=values[:, ::-1])  # errors of powers
    return values


def floors(problem: Irmp, classes: Classes, trials: Trials, slots: int) -> Floats:
    """Return what jobs earn at no cost: left out, or complete after the last slot."""
    worth = np.full(len(problem.jobs), 0.0 if problem.optional else -np.inf)
    if problem.horizon is None or slots < problem.horizon:
        for j, end in enumerate(_soonest(problem, classes, trials)):
            if end is not None:
                worth[j] = max(worth[j], problem.value(j, max(slots + 1, end)))
    return worth


def _rounded_up(values: Floats, scale: float) -> Ints:
    """Integers in units of 1 / scale, rounded up."""
    up = np.ceil(values * float(scale)).astype(np.int64)
    # what is too small for a float is not 0
    return np.asarray(np.where(values > 0, np.maximum(up, 1), up), dtype=np.int64)


# --- the program ---------------------------------------------------------------------------------


class _Master:
    """The linear program over the columns so far; values relative to those without a run."""

    def __init__(self, units: Ints, ends: Ints, floor: Floats, unit: float) -> None:
        self.ends, self.floor, self.unit, self.shape = ends, floor, unit, units.shape
        upper = np.concatenate([np.ones(floor.size), units.ravel()])
        none, no_entries = np.zeros(0, dtype=np.int32), np.zeros(upper.size, dtype=np.int32)
        lower = np.full(upper.size, -np.inf)
        self.highs = new({"presolve": "off", "simplex_strategy": 4})  # primal
        self.highs.addRows(upper.size, lower, upper, 0, no_entries, none, np.zeros(0))
        self.highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self.columns: list[PricedRun] = []
        self.seen: set[Any] = set()

    def add(self, columns: Sequence[PricedRun]) -> int:
        """Add those that are new; return how many."""
        new = [column for column in columns if _key(column) not in self.seen]
        if not new:
            return 0
        rows, values, starts = [], [], [0]
        jobs = self.floor.size
        for column in new:
            at, much = column.run.rows(self.ends)
            rows += [np.array([column.job]), at + jobs]
            values += [np.ones(1), much]
            starts.append(starts[-1] + at.size + 1)
        cost = np.array([c.value - self.floor[c.job] for c in new]) * self.unit
        self.highs.addCols(
            len(new), cost, np.zeros(len(new)), np.full(len(new), np.inf), starts[-1],
            np.array(starts[:-1], dtype=np.int32), np.concatenate(rows).astype(np.int32),
            np.concatenate(values),
        )  # fmt: skip
        self.columns += new
        self.seen.update(_key(column) for column in new)
        return len(new)

    def solve(self, limit: float) -> tuple[float, Floats, Floats] | None:
        """Value, prices and solution; None where out of time."""
        if not self.columns:
            return float(self.floor.sum()), np.zeros(self.shape), np.zeros(0)
        self.highs.setOptionValue("time_limit", self.highs.getRunTime() + min(limit, 1e6))
        self.highs.run()
        if not is_optimal(self.highs):
            return None
        solution = self.highs.getSolution()
        duals = np.maximum(np.array(solution.row_dual), 0.0)[self.floor.size :]
        value = self.highs.getInfo().objective_function_value / self.unit + self.floor.sum()
        return value, duals.reshape(self.shape) / self.unit, np.array(solution.col_value)


def _key(column: PricedRun) -> Any:
    return column.job, column.run if isinstance(column.run, CandidateRun) else column.run.key


class ColumnSearch:
    """Columns and prices so far.

    Parameters
    ----------
    problem : Irmp
    classes : Classes
    trials : Trials
    floor : (jobs,) floats
        What jobs earn at no cost; minus infinity of those that must run.
    slots : int
        How many are looked at.
    deadline : float
        By ``time.monotonic``.
    """

    def __init__(
        self, problem: Irmp, classes: Classes, trials: Trials, floor: Floats, slots: int,
        deadline: float = math.inf,
    ) -> None:  # fmt: skip
        self.deadline, self.classes = deadline, classes
        values = _values(problem, _soonest(problem, classes, trials), slots)
        kind = _Fluid if problem.preemptive else _Runs
        self.pricer = kind(problem, classes, trials, values, floor)
        self.largest = _largest(values, floor)
        #: (jobs,): what a job is worth without a run, very little where it must run
        self.floor = np.where(np.isfinite(floor), floor, -FORCED * self.largest)
        self.ends, self.units = np.array([slots]), np.zeros((len(classes), 2, 1), dtype=np.int64)
        #: (classes, 2, blocks): those of the best bound
        self.prices, self.best = np.zeros((len(classes), 2, 1)), math.inf
        self.columns: Sequence[PricedRun] = ()
        self.x, self.value, self.iterations, self.converged = np.zeros(0), -math.inf, 0, False
        self.history = History(time.perf_counter())

    def solve(self, ends: Ints, units: Ints, tolerance: float, rounds: int = ROUNDS) -> None:
        """Generate columns, from what is known, over blocks with these ends.

        `units` has (classes, 2, blocks) slots of workers and PSs.
        """
        at = np.searchsorted(self.ends, ends - 1, side="right")
        self.prices, self.ends, self.units = self.prices[:, :, at], ends, units
        unit = 2.0 ** min(-round(math.log2(self.largest / max(self.floor.size, 1))), MOST_BITS)
        master = _Master(units, ends, self.floor, unit)
        master.add(self.columns)
        smoothing = SMOOTHING
        for _ in range(rounds):
            if self.iterations and time.monotonic() >= self.deadline:
                break
            solved = master.solve(self.deadline - time.monotonic())
            if solved is None:
                break
            self.value, prices, self.x = solved
            self.columns = master.columns
            if self._close(tolerance):
                break
            weight = smoothing if math.isfinite(self.best) else 0.0
            tried = weight * self.prices + (1 - weight) * prices
            if self._round(tried, master):
                smoothing = SMOOTHING
            elif weight == 0:
                break
            else:
                smoothing = 0.0
        self.columns, self.converged = master.columns, self._close(tolerance)

    def _close(self, tolerance: float) -> bool:
        gap = self.best - self.value
        return math.isfinite(gap) and gap <= tolerance * abs(self.best)

    def _round(self, prices: Floats, master: _Master) -> int:
        """Price once; return how many columns are new."""
        spent = float((prices * self.units).sum())
        prices = prices * min(1.0, MOST * self.largest / max(spent, 1e-300))
        priced = self.pricer.priced(prices, self.ends, self.units)
        self.iterations += 1
        if priced.bound < self.best:
            self.best, self.prices = priced.bound, prices
            self.history.note(bound=priced.bound)
        return master.add(priced.columns)

    @property
    def solution(self) -> list[tuple[PricedRun, float]]:
        """The runs of the last program, and how much of each."""
        found = zip(self.columns, self.x.tolist(), strict=False)
        return [(column, x) for column, x in found if x > LEAST]

    def starts(self) -> Floats:
        """Mean start of each job; infinite where it has none."""
        weight, start = np.zeros((2, self.floor.size))
        for column, x in self.solution:
            weight[column.job] += x
            start[column.job] += x * column.run.start
        some = weight > LEAST
        mean: Floats = np.where(some, start / np.where(some, weight, 1.0), np.inf)
        return mean

    def result(self) -> Columns:
        """What was found."""
        return Columns(
            bound=self.pricer.bound(self.prices, self.ends, self.units), value=self.value,
            prices=self.prices, ends=self.ends, classes=self.classes, start=self.starts(),
            runs=tuple(self.solution), iterations=self.iterations, converged=self.converged,
            history=self.history,
        )  # fmt: skip
