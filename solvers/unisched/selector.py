"""Which options to choose: linear program, rounding with an exact test, and a bound by prices.

Source: the compact form of UniSched's selector (`formulations.unisched_compact`). Steps:

1. By density: options by falling V / (a L), smaller a first among equals, then as they stand. One
   is taken if all that is taken then fits (the prefix test, in integers); an option of a job that
   has one already replaces it if it is worth more.
2. The linear program, of few slots and few jobs. Capacity is looked at after some slots only, and
   then after those that the solution breaks, until it breaks none. Most jobs are clear: at the
   prices of the last cycle, or of the first program, one choice is better than all others of the
   job by far. It is taken for granted until the prices found say otherwise. The simplex method
   begins with the basis of the last cycle, moved by the slots that have passed, or with step 1.
3. Step 1 again, with the options first that the linear program takes in full.
4. Prices: the dual values, one for every row and slot. For any prices p >= 0 nobody gets more than

       sum_k p_k C_k + sum_jobs max(0, max_o V_o - a_o (sum of the L_o smallest p_k, k < Q_o)),

   which is summed in integers. It is an upper bound whatever the solver's tolerances.
5. Where that is more than 0.1 % away, as in short queues of large gangs: steps 1 and 3 again, the
   rest by falling V. The best choice is kept.
6. If asked for: the options that this bound and the value in hand do not exclude go to branch and
   bound, in a process that is stopped when the time is over (`.mip_worker`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ...formulations.unisched.compact import (
    Blocks,
    Options,
    blocks_of,
    checked_capacity,
    compact,
    corners,
    used,
)
from ..compiled import compiled
from ..mip_worker import Program, own_worker
from ..result import Bound, Stop

__all__ = [
    "Prices",
    "Selection",
    "Selector",
    "by_density",
    "by_release",
    "reference_by_density",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_STATUS = [highspy.HighsBasisStatus(i) for i in range(5)]
_LOWER, _BASIC, _UPPER = (
    int(highspy.HighsBasisStatus.kLower),
    int(highspy.HighsBasisStatus.kBasic),
    int(highspy.HighsBasisStatus.kUpper),
)
#: options that the linear program takes so far are taken in full
FULL = 1 - 1e-6
#: first slots after which the capacity is looked at grow by this factor
GROWTH = 1.15
#: linear programs a cycle, at most; what is then still broken is cut off by rounding
ROUNDS = 30
#: so many jobs, and this share of all, are open in the first of them
OPEN_JOBS, OPEN_SHARE = 100, 0.08
#: what a solution may take too much of, as a share of what there is
TOLERANCE = 1e-9
#: a gap up to which nothing else is tried
CLOSE = 1e-3


#: sums of prices and rewards stay below, in 64 bits
MOST = 2.0**60


def falling(prices: Floats) -> Floats:
    """Return prices that are not negative and do not rise from slot to slot."""
    fallen: Floats = np.maximum.accumulate(np.maximum(prices, 0.0)[:, ::-1], axis=1)[:, ::-1]
    return fallen


# --- prices --------------------------------------------------------------------------------------


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
        rows = self.numerator.shape[0]
        sums = np.concatenate(
            [np.zeros((rows, 1), np.int64), self.numerator.cumsum(axis=1)], axis=1
        )
        window = sums[:, options.within] - sums[:, options.within - options.needed]
        cost: Ints = (options.loads[:rows] * window).sum(axis=0)
        return cost, np.floor(options.value * self.scale).astype(np.int64)

    def bound(self, options: Options, room: Ints) -> Fraction:
        """Return what these prices prove, exactly."""
        cost, worth = self.gains(options)
        best = np.zeros(int(options.job.max(initial=-1)) + 1, dtype=np.int64)
        whole = worth == options.value * self.scale
        np.maximum.at(best, options.job[whole], (worth - cost)[whole])
        total = Fraction(int((self.numerator * room).sum()) + int(best.sum()))
        more: dict[int, Fraction] = {}
        for o in np.flatnonzero(~whole & (worth + 1 > cost)).tolist():
            j = int(options.job[o])
            gain = Fraction(float(options.value[o])) * self.scale - int(cost[o])
            more[j] = max(gain, more.get(j, Fraction(int(best[j]))))
        total += sum((gain - int(best[j]) for j, gain in more.items()), Fraction(0))
        return total / self.scale


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


# --- by density, with the exact test -------------------------------------------------------------


def by_density(
    options: Options, capacity: ArrayLike, first: Bools | None = None, *, machine: bool = True
) -> Ints:
    """Return options that fit together, by falling V / (a L): positions, rising.

    Notes
    -----
    Ties: smaller a, then the position. O(n log n + n rows K).

    Examples
    --------
    >>> from gangsched.formulations.unisched.compact import Queue, options_of
    >>> queue = Queue(gpus=np.array([2, 1]), work=np.array([600, 1200]), ptr=np.array([0, 1, 2]),
    ...               split_speed=np.array([10**6] * 2), deadline=np.array([1200, 1200]),
    ...               value=np.array([100.0, 80.0]), cost=np.zeros(2, int),
    ...               phase=np.zeros(2, int), kind=np.zeros(2, int))
    >>> by_density(options_of(queue, sizes=[2]), [1, 2])
    array([0])
    """
    order = _by_falling_density(options, first)
    return _taken(order, options, capacity, machine=machine)


def _by_value(options: Options, room: Ints, first: Bools) -> Ints:
    """Return options that fit together, those of `first` before others, and then by falling V."""
    return _taken(np.lexsort((options.gpus, -options.value, ~first)), options, room)


def by_release(options: Options, capacity: ArrayLike) -> Ints:
    """Return options that fit together, jobs as they stand in the queue: positions, rising.

    Notes
    -----
    No more than feasible: what a job is worth decides only which of its own deadlines comes first.
    """
    return _taken(np.lexsort((-options.value, options.job)), options, capacity)


def _taken(order: Ints, options: Options, capacity: ArrayLike, *, machine: bool = True) -> Ints:
    room = checked_capacity(options, capacity)
    run = _by_density if machine else reference_by_density
    loads = np.ascontiguousarray(options.loads[: room.shape[0]])
    holder = run(
        order,
        options.job,
        loads,
        options.needed,
        options.within,
        options.value,
        room.cumsum(axis=1),
        int(options.job.max(initial=-1)) + 1,
    )
    return np.sort(holder[holder >= 0])


def _by_falling_density(options: Options, first: Bools | None = None) -> Ints:
    dense = options.value / (options.gpus * options.needed)
    before = np.zeros(len(options), dtype=bool) if first is None else first
    return np.lexsort((options.gpus, -dense, ~before))


def reference_by_density(
    order: Ints,
    job: Ints,
    loads: Ints,
    needed: Ints,
    within: Ints,
    value: Floats,
    left: Ints,
    jobs: int,
) -> Ints:
    """Take options in the order given, each if all that is taken fits, and return those by job."""
    left = left.copy()
    holder = np.full(jobs, -1)
    slots = np.arange(1, left.shape[1] + 1)

    def use(o: int) -> Any:
        return loads[:, o, None] * np.maximum(0, needed[o] - np.maximum(0, within[o] - slots))

    for o in order:
        held = holder[job[o]]
        if held >= 0 and value[held] >= value[o]:
            continue
        more = use(o) - (use(held) if held >= 0 else 0)
        if (more <= left).all():
            left -= more
            holder[job[o]] = o
    return holder


def _by_density_loops(
    order: Ints,
    job: Ints,
    loads: Ints,
    needed: Ints,
    within: Ints,
    value: Floats,
    left: Ints,
    jobs: int,
) -> Ints:
    """:func:`reference_by_density` without arrays in between."""
    left = left.copy()
    rows, slots = left.shape
    holder = np.full(jobs, -1)
    for o in order:
        held = holder[job[o]]
        if held >= 0 and value[held] >= value[o]:
            continue
        begin = within[o] - needed[o]
        if held >= 0:
            begin = min(begin, within[held] - needed[held])
        fits = True
        for r in range(rows):
            for t in range(begin + 1, slots + 1):
                more = loads[r, o] * max(0, needed[o] - max(0, within[o] - t))
                if held >= 0:
                    more -= loads[r, held] * max(0, needed[held] - max(0, within[held] - t))
                if more > left[r, t - 1]:
                    fits = False
                    break
            if not fits:
                break
        if not fits:
            continue
        for r in range(rows):
            for t in range(begin + 1, slots + 1):
                more = loads[r, o] * max(0, needed[o] - max(0, within[o] - t))
                if held >= 0:
                    more -= loads[r, held] * max(0, needed[held] - max(0, within[held] - t))
                left[r, t - 1] -= more
        holder[job[o]] = o
    return holder


_by_density = compiled(_by_density_loops)


# --- the linear program --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Basis:
    """A simplex basis by what its columns and rows stand for, not by where they are."""

    options: Ints  # codes, rising
    of_options: Ints  # statuses
    jobs: Ints
    of_jobs: Ints
    ends: Ints
    of_left: Ints  # statuses of s, (rows, periods)
    of_periods: Ints
    prices: Floats  # (rows, K)

    def prices_of(self, shape: tuple[int, ...]) -> Floats | None:
        """The prices for so many rows and slots; later slots are free."""
        if self.prices.shape[0] != shape[0]:
            return None
        prices = np.zeros(shape)
        known = min(shape[1], self.prices.shape[1])
        prices[:, :known] = self.prices[:, :known]
        return prices

    def moved(self, slots: int) -> _Basis:
        """The basis as the slots are counted later."""
        stay = self.ends > slots
        return replace(
            self,
            ends=self.ends[stay] - slots,
            of_left=self.of_left[:, stay],
            of_periods=self.of_periods[:, stay],
            prices=self.prices[:, slots:],
        )

    def priced(self, unit: float) -> _Basis:
        """The basis where all rewards are so many times as large."""
        return replace(self, prices=self.prices * unit)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Names:
    """What columns and rows of one linear program stand for."""

    options: Ints
    jobs: Ints
    ends: Ints
    rows: int

    @classmethod
    def of(cls, options: Options, keys: Ints, ends: Ints, rows: int) -> _Names:
        own = keys[options.job]
        deadlines = int(options.deadline.max(initial=0)) + 2
        codes = (own * (1 << 20) + options.deadline + 1) * 2 + (options.speed < 1_000_000)
        assert deadlines < 1 << 20
        new = np.diff(options.job, prepend=-1) > 0
        return cls(options=codes, jobs=own[new], ends=ends, rows=rows)

    def statuses(self, basis: _Basis) -> tuple[Ints, Ints]:
        """Statuses of columns and rows; what is new is not in the basis but by its slack."""
        left = np.full((self.rows, self.ends.size), _BASIC)
        periods = np.full((self.rows, self.ends.size), _LOWER)
        if basis.of_left.shape[0] == self.rows:
            for now, then in ((left, basis.of_left), (periods, basis.of_periods)):
                for r in range(self.rows):
                    now[r] = _looked_up(self.ends, basis.ends, then[r], now[r])
        columns = _looked_up(self.options, basis.options, basis.of_options, _LOWER)
        rows = _looked_up(self.jobs, basis.jobs, basis.of_jobs, _BASIC)
        return np.concatenate([columns, left.ravel()]), np.concatenate([rows, periods.ravel()])

    def basic(self, variables: Ints) -> tuple[Ints, Ints]:
        """Statuses where these variables are basic, as HiGHS counts them; the others are not."""
        left = self.rows * self.ends.size
        columns = np.full(self.options.size + left, _LOWER)
        rows = np.concatenate([np.full(self.jobs.size, _UPPER), np.full(left, _LOWER)])
        columns[variables[variables >= 0]] = _BASIC
        rows[-1 - variables[variables < 0]] = _BASIC
        return columns, rows

    def basis(self, columns: Ints, rows: Ints, prices: Floats) -> _Basis:
        """The other way round."""
        n, j, shape = self.options.size, self.jobs.size, (self.rows, self.ends.size)
        by_option, by_job = np.argsort(self.options), np.argsort(self.jobs)
        return _Basis(
            options=self.options[by_option],
            of_options=columns[:n][by_option],
            jobs=self.jobs[by_job],
            of_jobs=rows[:j][by_job],
            ends=self.ends,
            of_left=columns[n:].reshape(shape),
            of_periods=rows[j:].reshape(shape),
            prices=prices,
        )


def _looked_up(wanted: Ints, known: Ints, values: Ints, missing: Any) -> Ints:
    """Values of what is known (rising), and what is missing otherwise."""
    if not known.size:
        return np.broadcast_to(np.asarray(missing), wanted.shape).astype(np.int64)
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    found: Ints = np.where(known[at] == wanted, values[at], missing)
    return found


def _chosen_basis(names: _Names, options: Options, chosen: Ints) -> tuple[Ints, Ints]:
    """The basis of a solution that fits: its options, and all other slacks."""
    new = np.diff(options.job, prepend=-1) > 0
    others = np.ones(names.jobs.size, dtype=bool)
    others[(np.cumsum(new) - 1)[chosen]] = False
    left = np.arange(names.rows * names.ends.size) + len(options)
    return names.basic(np.concatenate([chosen, left, -1 - np.flatnonzero(others)]))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Relaxed:
    """What came out of the linear program, as far as it came."""

    z: Floats
    prices: Floats  # (rows, K)
    iterations: int
    rounds: int
    solved: bool

    @classmethod
    def nothing(cls, options: Options, room: Ints) -> _Relaxed:
        """Nothing yet."""
        empty = np.zeros(len(options)), np.zeros(room.shape)
        return cls(z=empty[0], prices=empty[1], iterations=0, rounds=0, solved=not len(options))

    def priced(self, unit: float) -> _Relaxed:
        """The same where all rewards are so many times as large."""
        return replace(self, prices=self.prices * unit)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Clear:
    """Which jobs are open, and what is taken of the others."""

    is_open: Bools  # by job
    taken: Ints  # by option, 1 where a job that is not open has it

    @classmethod
    def none(cls, options: Options) -> _Clear:
        """All jobs are open."""
        jobs = int(options.job.max()) + 1
        return cls(is_open=np.ones(jobs, dtype=bool), taken=np.zeros(len(options), dtype=np.int64))

    @classmethod
    def of(cls, options: Options, supply: Ints, prices: Floats) -> _Clear:
        """Leave those jobs open whose best two choices, one being none, are close at some prices.

        At least a share of them, and as many as it takes for the others to fit.
        """
        jobs = int(options.job.max()) + 1
        gain = _gains(options, prices)
        best = np.full(jobs, 0.0)
        np.maximum.at(best, options.job, gain)
        first = np.full(jobs, -1)
        top = np.flatnonzero((gain > 0) & (gain == best[options.job]))[::-1]
        first[options.job[top]] = top
        second = np.zeros(jobs)
        others = np.arange(len(options)) != first[options.job]
        np.maximum.at(second, options.job[others], gain[others])
        highest = np.full(jobs, -np.inf)
        np.maximum.at(highest, options.job, gain)
        margin = np.where(first >= 0, best - second, -highest)
        order = np.argsort(margin, kind="stable")
        count = max(OPEN_JOBS, math.ceil(OPEN_SHARE * jobs))
        while True:
            is_open = np.zeros(jobs, dtype=bool)
            is_open[order[:count]] = True
            taken = np.zeros(len(options), dtype=np.int64)
            taken[first[(first >= 0) & ~is_open]] = 1
            if count >= jobs or (used(options, taken, *supply.shape) <= supply).all():
                return cls(is_open=is_open, taken=taken)
            count *= 2

    def opened(self, options: Options, prices: Floats) -> _Clear | None:
        """Open the jobs for which something better is taken for granted not to be; None if none."""
        gain = _gains(options, prices)
        best = np.zeros(self.is_open.size)
        np.maximum.at(best, options.job, gain)
        has = np.zeros(self.is_open.size)
        at = np.flatnonzero(self.taken)
        has[options.job[at]] = gain[at]
        wrong = ~self.is_open & (best - has > 1e-9 * np.maximum(1.0, np.abs(best)))
        if not wrong.any():
            return None
        is_open = self.is_open | wrong
        return _Clear(is_open=is_open, taken=self.taken * ~is_open[options.job])


def _gains(options: Options, prices: Floats) -> Floats:
    """Value minus cost at prices that fall from slot to slot."""
    rows = prices.shape[0]
    sums = np.concatenate([np.zeros((rows, 1)), prices.cumsum(axis=1)], axis=1)
    window = sums[:, options.within] - sums[:, options.within - options.needed]
    gains: Floats = options.value - (options.loads[:rows] * window).sum(axis=0)
    return gains


def _highs() -> Any:
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in {"output_flag": False, "presolve": "off", "threads": 1}.items():
        highs.setOptionValue(option, value)
    return highs


def _rows(blocks: Blocks) -> tuple[Floats, Floats]:
    """What the rows are worth at least and at most."""
    supply = blocks.C.astype(float)
    jobs = blocks.J.shape[0]
    return (
        np.concatenate([np.full(jobs, -np.inf), supply]),
        np.concatenate([np.ones(jobs), supply]),
    )


def _pass(highs: Any, blocks: Blocks) -> None:
    """Hand the linear program over as arrays, several times faster than field by field."""
    lower, upper = _rows(blocks)
    n = len(blocks.V) + blocks.C.size
    start, index, value = _by_column(blocks)
    highs.passModel(
        n, lower.size, index.size,
        int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMaximize), 0.0,
        np.concatenate([blocks.V, np.zeros(blocks.C.size)]), np.zeros(n), np.full(n, np.inf),
        lower, upper,
        start.astype(np.int32), index.astype(np.int32), value, np.zeros(n, dtype=np.int32),
    )  # fmt: skip


def _by_column(blocks: Blocks) -> tuple[Ints, Ints, Floats]:
    """[[J, 0], [D, I - S]] by column: starts, rows, values. J has one entry in each."""
    jobs, n = blocks.J.shape
    last = (sparse.identity(blocks.C.size, dtype=np.int64, format="csc") - blocks.S).tocsc()
    entries = blocks.D.nnz + n
    own = blocks.D.indptr[:-1] + np.arange(n)  # where the entries of J are
    others = np.ones(entries, dtype=bool)
    others[own] = False
    rows, values = np.empty(entries, dtype=np.int64), np.ones(entries)
    rows[own], rows[others] = blocks.J.tocsc().indices, blocks.D.indices + jobs
    values[others] = blocks.D.data
    start = np.concatenate([blocks.D.indptr[:-1] + np.arange(n), last.indptr + entries])
    return (
        start,
        np.concatenate([rows, last.indices + jobs]),
        np.concatenate([values, last.data]),
    )


def _broken_ends(over: Floats, ends: Ints) -> Ints:
    """In every period that is broken within, the slot after which it is most."""
    period = np.searchsorted(ends, np.arange(1, over.size + 1))
    worst: Ints = np.lexsort((-over, period))
    first: Ints = worst[np.diff(period[worst], prepend=-1) > 0]
    return first[over[first] > TOLERANCE] + 1


# --- the selector --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Selection:
    """What is chosen, and what could be at most.

    Parameters
    ----------
    chosen : (m,) ints
        Positions of options, rising; at most one of a job.
    value : float
        What they are worth together.
    bound : Bound
        What no other choice can exceed, nor any schedule of these options.
    prices : Prices
        From which the bound follows.
    stop : Stop
        PROVEN where value and bound are equal, TIME_LIMIT, or COMPLETED.
    iterations : int
        Of the simplex method.
    rounds : int
        Linear programs.
    """

    chosen: Ints
    value: float
    bound: Bound
    prices: Prices
    stop: Stop
    iterations: int
    rounds: int


class Selector:
    """Chooses options cycle after cycle; each begins where the last one ended.

    Parameters
    ----------
    warm : bool
        Begin with the basis of the last cycle.

    Notes
    -----
    Guarantee: what is chosen fits in the sense of the compact form; the bound is proven by prices
    in integers. With `exact` and without a limit the choice is optimal for that form, up to the
    tolerances of HiGHS, and its bound may be a claim of the solver ("branch and bound").

    Examples
    --------
    Two GPUs for one slot and one for two, on one GPU and then two:

    >>> from gangsched.formulations.unisched.compact import Queue, options_of
    >>> queue = Queue(gpus=np.array([2, 1]), work=np.array([600, 1200]), ptr=np.array([0, 1, 2]),
    ...               split_speed=np.array([10**6] * 2), deadline=np.array([1200, 1200]),
    ...               value=np.array([100.0, 80.0]), cost=np.zeros(2, int),
    ...               phase=np.zeros(2, int), kind=np.zeros(2, int))
    >>> selection = Selector().select(options_of(queue, sizes=[2]), [1, 2])
    >>> selection.chosen, selection.value, selection.bound.value
    (array([0]), 100.0, 140)
    """

    def __init__(self, *, warm: bool = True) -> None:
        self._warm = warm
        self._basis: _Basis | None = None

    def save(self) -> dict[str, Any] | None:
        """Return the basis of the last cycle, as plain data."""
        if self._basis is None:
            return None
        return {part.name: getattr(self._basis, part.name) for part in fields(_Basis)}

    def load(self, data: Mapping[str, Any] | None) -> None:
        """Begin with this basis."""
        self._basis = None if data is None else _Basis(**{k: np.array(v) for k, v in data.items()})

    def select(
        self,
        options: Options,
        capacity: ArrayLike,
        *,
        keys: ArrayLike | None = None,
        shift: int = 1,
        time_limit: float | None = None,
        exact: bool = False,
    ) -> Selection:
        """Choose options of one cycle."""
        end = math.inf if time_limit is None else time.perf_counter() + time_limit
        room = checked_capacity(options, capacity)
        greedy = by_density(options, room)
        names = None if keys is None else np.asarray(keys, dtype=np.int64)
        relaxed = self._relaxed(options, room, names, shift, end)
        full = relaxed.z >= FULL
        chosen = _best(options, [by_density(options, room, full), greedy])
        prices = _best_prices(options, room, relaxed.prices)
        bound = price_bound(options, room, prices, options.value)
        if bound.value > (1 + CLOSE) * _value(options, chosen):
            others = [_by_value(options, room, first) for first in (full, np.zeros_like(full))]
            chosen = _best(options, [chosen, *others])
        if exact and _value(options, chosen) < bound.value:
            chosen, bound = self._finish(options, room, chosen, prices, bound, end)
        value = _value(options, chosen)
        timed = not relaxed.solved or (exact and value < bound.value)
        stop = Stop.TIME_LIMIT if timed else Stop.COMPLETED
        return Selection(
            chosen=chosen,
            value=value,
            bound=bound,
            prices=prices,
            stop=Stop.PROVEN if value == bound.value else stop,
            iterations=relaxed.iterations,
            rounds=relaxed.rounds,
        )

    def _relaxed(
        self, options: Options, room: Ints, keys: Ints | None, shift: int, end: float
    ) -> _Relaxed:
        """Solve the linear program, with few slots and few jobs first."""
        found = _Relaxed.nothing(options, room)
        if not len(options):
            return found
        unit = _unit(options)
        options = replace(options, value=options.value / unit)
        basis = None
        if self._warm and keys is not None and self._basis is not None:
            basis = self._basis.moved(shift).priced(1 / unit)
        ends = _first_ends(room, None if basis is None else basis.ends)
        own = np.arange(int(options.job.max()) + 1) if keys is None else keys
        supply = room.cumsum(axis=1)
        guess = None if basis is None else basis.prices_of(room.shape)
        clear = _Clear.none(options) if guess is None else _Clear.of(options, supply, guess)
        highs = _highs()
        for _ in range(ROUNDS):
            few = np.flatnonzero(clear.is_open[options.job])
            left = supply - used(options, clear.taken, *supply.shape)
            found, basis = _solved(
                highs, options, few, left, ends, own, basis, found, clear.taken, end
            )
            if basis is None:
                return found.priced(unit)
            over = (used(options, found.z, *supply.shape) - supply) / np.maximum(supply, 1)
            longer = np.union1d(ends, np.concatenate([_broken_ends(o, ends) for o in over]))
            opened = clear.opened(options, found.prices)
            if longer.size == ends.size and opened is None:
                break
            if clear.is_open.all():
                clear = _Clear.of(options, supply, found.prices)
            ends, clear = longer, clear if opened is None else opened
        if keys is not None and basis is not None:
            self._basis = basis.priced(unit)
        return found.priced(unit)

    def _finish(
        self,
        options: Options,
        room: Ints,
        chosen: Ints,
        prices: Prices,
        bound: Bound,
        end: float,
    ) -> tuple[Ints, Bound]:
        """Branch and bound over what the prices do not exclude."""
        value = _value(options, chosen)
        cost, _ = prices.gains(options)
        gain = options.value - cost / prices.scale
        best = np.zeros(int(options.job.max()) + 1)
        np.maximum.at(best, options.job, gain)
        reach = float(prices.bound(options, room)) - best[options.job] + gain
        unit = _unit(options)
        stays = reach > value * (1 + 1e-9) + 1e-9 * unit
        stays[chosen] = True
        at = np.flatnonzero(stays)
        few = options.take(at)
        few = replace(few, value=few.value / unit)
        program = _program(few, room[:, : few.slots], np.isin(at, chosen))
        limit = 1e6 if end == math.inf else end - time.perf_counter()
        if limit <= 0:
            return chosen, bound
        answer = own_worker().solve(program, time_limit=limit)
        if answer.x is not None:
            z = answer.x[: at.size] > 0.5
            fits = by_density(options, room, np.isin(np.arange(len(options)), at[z]))
            chosen = _best(options, [chosen, fits])
        value = _value(options, chosen)
        if answer.bound < math.inf:
            reached = Fraction(max(answer.bound * unit, value))
            claim = float(floor_to_step(reached + Fraction(1e-6 * unit), options.value))
            if answer.proven and claim - value <= 1e-5 * unit:
                claim = value  # within the tolerance to which HiGHS proves
            if claim < bound.value:
                bound = Bound(_plain_number(max(claim, value)), "branch and bound")
        return chosen, bound


def _unit(options: Options) -> float:
    """A power of two in which the largest value is 64 to 128: solvers' tolerances are absolute."""
    return 2.0 ** (math.frexp(float(options.value.max()))[1] - 7)


def _best(options: Options, choices: Iterable[Ints]) -> Ints:
    """Return the choice that is worth most, the first one of equals."""
    return max(choices, key=lambda chosen: _value(options, chosen))


def _value(options: Options, chosen: Ints) -> float:
    return math.fsum(options.value[chosen].tolist())


def _plain_number(value: float) -> float:
    return int(value) if value == int(value) else value


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
    return Bound(_plain_number(float(floor_to_step(proven, values))), "lp dual", certificate)


def one_price(options: Options, capacity: ArrayLike) -> Prices:
    """Return the one price of a GPU, in all slots, that proves most.

    Notes
    -----
    What a price proves is convex in it: golden section, 60 evaluations of O(n).
    """
    room = checked_capacity(options, capacity)[:1]
    return _best_prices(options, room, _one_price(options, room))


def _one_price(options: Options, room: Ints) -> Floats:
    leases = options.gpus * options.needed

    def proven(price: float) -> float:
        best = np.zeros(int(options.job.max(initial=-1)) + 1)
        np.maximum.at(best, options.job, options.value - price * leases)
        return price * float(room[0].sum()) + float(best.sum())

    low, high = 0.0, float((options.value / leases).max(initial=0.0))
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if proven(left) <= proven(right) else (left, high)
    prices = np.zeros(room.shape)
    prices[0] = (low + high) / 2
    return prices


def _best_prices(options: Options, room: Ints, duals: Floats) -> Prices:
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


def _first_ends(room: Ints, known: Ints | None = None) -> Ints:
    """Slots after which the capacity is looked at in the beginning."""
    slots = room.shape[1]
    changes = np.flatnonzero(np.diff(room, axis=1).any(axis=0)) + 1
    if known is None:
        steps = np.ceil(GROWTH ** np.arange(math.ceil(math.log(max(slots, 1), GROWTH)) + 1))
        known = steps.astype(np.int64)
    ends: Ints = np.unique(np.concatenate([known, changes, [slots]]))
    inside: Ints = ends[(ends >= 1) & (ends <= slots)]
    return inside


def _solved(
    highs: Any,
    options: Options,
    few: Ints,
    left: Ints,
    ends: Ints,
    keys: Ints,
    basis: _Basis | None,
    before: _Relaxed,
    taken: Ints,
    end: float,
) -> tuple[_Relaxed, _Basis | None]:
    """One linear program; no basis where the time was over before it was solved."""
    limit = end - time.perf_counter()
    if limit <= 0:
        return before, None
    some = options.take(few)
    names = _Names.of(some, keys, ends, left.shape[0])
    _pass(highs, blocks_of(some, left[:, ends - 1], ends))
    _set_basis(highs, _start(some, left, names) if basis is None else names.statuses(basis))
    highs.setOptionValue("simplex_strategy", 4 if basis is None else 1)
    highs.setOptionValue("time_limit", highs.getRunTime() + min(limit, 1e6))
    highs.run()
    solution, info = highs.getSolution(), highs.getInfo()
    solved = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    duals = np.array(solution.row_dual)[names.jobs.size :].reshape(names.rows, -1)
    z = taken.astype(float)
    z[few] = np.array(solution.col_value)[: few.size]
    prices = np.repeat(duals, np.diff(ends, prepend=0), axis=1)
    keeps = not solved and before.rounds > 0
    found = _Relaxed(
        z=z if solved else before.z,
        prices=before.prices if keeps else prices,
        iterations=before.iterations + max(int(info.simplex_iteration_count), 0),
        rounds=before.rounds + 1,
        solved=solved,
    )
    if not solved:
        return found, None
    columns, rows = names.basic(highs.getBasicVariables()[1])
    return found, names.basis(columns, rows, prices)


def _start(options: Options, left: Ints, names: _Names) -> tuple[Ints, Ints]:
    """The basis of step 1 for the jobs that are open."""
    order = _by_falling_density(options)
    jobs = int(options.job.max(initial=-1)) + 1
    columns = options.job, options.loads[: left.shape[0]], options.needed, options.within
    holder = _by_density(order, *map(np.ascontiguousarray, columns), options.value, left, jobs)
    return _chosen_basis(names, options, holder[holder >= 0])


def _set_basis(highs: Any, statuses: tuple[Ints, Ints]) -> None:
    basis = highspy.HighsBasis()
    basis.valid = basis.alien = True
    basis.col_status = [_STATUS[status] for status in statuses[0].tolist()]
    basis.row_status = [_STATUS[status] for status in statuses[1].tolist()]
    highs.setBasis(basis)


def _program(options: Options, room: Ints, start: Bools) -> Program:
    """The mixed-integer program of some options, every slot that matters looked at."""
    blocks = compact(options, room, corners(options, room))
    z = start.astype(float)
    lower, upper = _rows(blocks)
    return Program(
        cost=np.concatenate([blocks.V, np.zeros(blocks.C.size)]),
        matrix=_by_column(blocks),
        lower=lower,
        upper=upper,
        binary=len(options),
        start=np.concatenate([z, blocks.left(z)]),
    )
