"""The linear program of UniSched's compact form, of few slots and few jobs at a time.

Capacity is looked at after some slots only, and then after those that the solution breaks, until it
breaks none. Most jobs are clear: at the prices of the last cycle, or of the first program, one
choice is better than all others of the job by far. It is taken for granted until the prices found
say otherwise. The simplex method begins with the basis of the last cycle, moved by the slots that
have passed, or with the options that are taken by density.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from ...formulations.unisched.compact import Blocks, Options, blocks_of, used
from ...instances.arrays import Bools, Floats, Ints
from ...instances.model import FULL_SPEED
from ..highs import is_optimal, load, new
from .density import by_falling_density, held_by_density
from .prices import best_by_job, costs

_STATUS = [highspy.HighsBasisStatus(i) for i in range(5)]
_LOWER, _BASIC, _UPPER = map(int, _STATUS[:3])
#: first slots after which the capacity is looked at grow by this factor
GROWTH = 1.15
#: linear programs a cycle, at most; what is then still broken is cut off by rounding
ROUNDS = 30
#: so many jobs, and this share of all, are open in the first of them
OPEN_JOBS, OPEN_SHARE = 100, 0.08
#: what a solution may take too much of, as a share of what there is
TOLERANCE = 1e-9


def relaxed(
    options: Options, room: Ints, keys: Ints, basis: Basis | None, end: float
) -> tuple[Relaxation, Basis | None]:
    """Solve the linear program with few slots and few jobs first; no basis where time was over.

    Notes
    -----
    `keys` name the jobs from cycle to cycle, `basis` is that of the last one, `end` a time.
    """
    ends = _first_ends(room, None if basis is None else basis.ends)
    supply = room.cumsum(axis=1)
    guess = None if basis is None else basis.prices_of(room.shape)
    clear = _Clear.none(options) if guess is None else _Clear.of(options, supply, guess)
    found, program = Relaxation.nothing(options, room), _Program(options, supply, keys, end)
    for _ in range(ROUNDS):
        found, basis = program.solved(clear, ends, basis, found)
        if basis is None:
            break
        over = (used(options, found.z, *supply.shape) - supply) / np.maximum(supply, 1)
        longer = np.union1d(ends, np.concatenate([_broken_ends(o, ends) for o in over]))
        opened = clear.opened(options, found.prices)
        if longer.size == ends.size and opened is None:
            break
        if clear.is_open.all():
            clear = _Clear.of(options, supply, found.prices)
        ends, clear = longer, clear if opened is None else opened
    return found, basis


# --- what a basis says ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Basis:
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

    def moved(self, slots: int) -> Basis:
        """The basis as the slots are counted later."""
        stay = self.ends > slots
        left, periods = self.of_left[:, stay], self.of_periods[:, stay]
        ends, prices = self.ends[stay] - slots, self.prices[:, slots:]
        return replace(self, ends=ends, of_left=left, of_periods=periods, prices=prices)


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
        codes = (own * (1 << 20) + options.deadline + 1) * 2 + (options.speed < FULL_SPEED)
        assert int(options.deadline.max(initial=0)) + 2 < 1 << 20
        new = np.diff(options.job, prepend=-1) > 0
        return cls(options=codes, jobs=own[new], ends=ends, rows=rows)

    def statuses(self, basis: Basis) -> tuple[Ints, Ints]:
        """Statuses of columns and rows; what is new is not in the basis but by its slack."""
        left, periods = (
            np.concatenate([_looked_up(self.ends, basis.ends, row, missing) for row in of_rows])
            if len(of_rows) == self.rows
            else np.full(self.rows * self.ends.size, missing)
            for of_rows, missing in ((basis.of_left, _BASIC), (basis.of_periods, _LOWER))
        )
        columns = _looked_up(self.options, basis.options, basis.of_options, _LOWER)
        rows = _looked_up(self.jobs, basis.jobs, basis.of_jobs, _BASIC)
        return np.concatenate([columns, left]), np.concatenate([rows, periods])

    def basic(self, variables: Ints) -> tuple[Ints, Ints]:
        """Statuses where these variables are basic, as HiGHS counts them; the others are not."""
        left = self.rows * self.ends.size
        columns = np.full(self.options.size + left, _LOWER)
        rows = np.concatenate([np.full(self.jobs.size, _UPPER), np.full(left, _LOWER)])
        columns[variables[variables >= 0]] = _BASIC
        rows[-1 - variables[variables < 0]] = _BASIC
        return columns, rows

    def basis(self, columns: Ints, rows: Ints, prices: Floats) -> Basis:
        """The other way round."""
        n, j, shape = self.options.size, self.jobs.size, (self.rows, self.ends.size)
        by_option, by_job = np.argsort(self.options), np.argsort(self.jobs)
        return Basis(
            options=self.options[by_option],
            of_options=columns[:n][by_option],
            jobs=self.jobs[by_job],
            of_jobs=rows[:j][by_job],
            ends=self.ends,
            of_left=columns[n:].reshape(shape),
            of_periods=rows[j:].reshape(shape),
            prices=prices,
        )


def _looked_up(wanted: Ints, known: Ints, values: Ints, missing: int) -> Ints:
    """Values of what is known (rising), and what is missing otherwise."""
    if not known.size:
        return np.full(wanted.shape, missing)
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


# --- what came out, and which jobs are clear -----------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Relaxation:
    """What came out of the linear program, as far as it came."""

    z: Floats
    prices: Floats  # (rows, K)
    iterations: int
    rounds: int
    solved: bool

    @classmethod
    def nothing(cls, options: Options, room: Ints) -> Relaxation:
        """Nothing yet."""
        z, prices = np.zeros(len(options)), np.zeros(room.shape)
        return cls(z=z, prices=prices, iterations=0, rounds=0, solved=not len(options))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Clear:
    """Which jobs are open, and what is taken of the others."""

    is_open: Bools  # by job
    taken: Ints  # by option, 1 where a job that is not open has it

    @classmethod
    def none(cls, options: Options) -> _Clear:
        """All jobs are open."""
        taken = np.zeros(len(options), dtype=np.int64)
        return cls(is_open=np.ones(options.jobs, dtype=bool), taken=taken)

    @classmethod
    def of(cls, options: Options, supply: Ints, prices: Floats) -> _Clear:
        """Leave those jobs open whose best two choices, one being none, are close at some prices.

        At least a share of them, and as many as it takes for the others to fit.
        """
        jobs, gain = options.jobs, options.value - costs(options, prices)
        best = best_by_job(options, gain)
        first = np.full(jobs, -1)
        top = np.flatnonzero((gain > 0) & (gain == best[options.job]))[::-1]
        first[options.job[top]] = top
        others = np.arange(len(options)) != first[options.job]
        second = best_by_job(options, np.where(others, gain, 0.0))
        highest = best_by_job(options, gain, -np.inf)
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
        gain = options.value - costs(options, prices)
        best = best_by_job(options, gain)
        has = np.zeros(self.is_open.size)
        at = np.flatnonzero(self.taken)
        has[options.job[at]] = gain[at]
        wrong = ~self.is_open & (best - has > 1e-9 * np.maximum(1.0, np.abs(best)))
        if not wrong.any():
            return None
        is_open = self.is_open | wrong
        return _Clear(is_open=is_open, taken=self.taken * ~is_open[options.job])


# --- one linear program --------------------------------------------------------------------------


class _Program:
    """The linear programs of one cycle, one after the other."""

    def __init__(self, options: Options, supply: Ints, keys: Ints, end: float) -> None:
        self.options, self.supply, self.keys, self.end = options, supply, keys, end
        self.highs = new({"presolve": "off"})

    def solved(
        self, clear: _Clear, ends: Ints, basis: Basis | None, before: Relaxation
    ) -> tuple[Relaxation, Basis | None]:
        """One linear program; no basis where the time was over before it was solved."""
        limit = self.end - time.perf_counter()
        if limit <= 0:
            return before, None
        few = np.flatnonzero(clear.is_open[self.options.job])
        left = self.supply - used(self.options, clear.taken, *self.supply.shape)
        some, highs = self.options.take(few), self.highs
        names = _Names.of(some, self.keys, ends, left.shape[0])
        load(highs, *program_of(blocks_of(some, left[:, ends - 1], ends)))
        if basis is None:
            chosen = held_by_density(by_falling_density(some), some, left)
            _set_basis(highs, _chosen_basis(names, some, chosen))
        else:
            _set_basis(highs, names.statuses(basis))
        highs.setOptionValue("simplex_strategy", 4 if basis is None else 1)
        highs.setOptionValue("time_limit", highs.getRunTime() + min(limit, 1e6))
        highs.run()
        solution, info = highs.getSolution(), highs.getInfo()
        solved = is_optimal(highs)
        duals = np.array(solution.row_dual)[names.jobs.size :].reshape(names.rows, -1)
        z = clear.taken.astype(float)
        z[few] = np.array(solution.col_value)[: few.size]
        prices = np.repeat(duals, np.diff(ends, prepend=0), axis=1)
        keeps = not solved and before.rounds > 0
        found = Relaxation(
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


def program_of(blocks: Blocks) -> tuple[Floats, sparse.csc_array, Floats, Floats]:
    """Return what the columns are worth, their matrix, and the limits of the rows."""
    supply, jobs = blocks.C.astype(float), blocks.J.shape[0]
    least, most = np.full(jobs, -np.inf), np.ones(jobs)
    cost = np.concatenate([blocks.V, np.zeros(supply.size)])
    lower, upper = np.concatenate([least, supply]), np.concatenate([most, supply])
    return cost, _matrix(blocks), lower, upper


def _matrix(blocks: Blocks) -> sparse.csc_array:
    """[[J, 0], [D, I - S]]; J has one entry in each column."""
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
    index = np.concatenate([rows, last.indices + jobs])
    size = jobs + blocks.C.size, n + blocks.C.size
    return sparse.csc_array((np.concatenate([values, last.data]), index, start), shape=size)


def _broken_ends(over: Floats, ends: Ints) -> Ints:
    """In every period that is broken within, the slot after which it is most."""
    period = np.searchsorted(ends, np.arange(1, over.size + 1))
    worst: Ints = np.lexsort((-over, period))
    first: Ints = worst[np.diff(period[worst], prepend=-1) > 0]
    return first[over[first] > TOLERANCE] + 1


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


def _set_basis(highs: Any, statuses: tuple[Ints, Ints]) -> None:
    basis = highspy.HighsBasis()
    basis.valid = basis.alien = True
    basis.col_status = [_STATUS[status] for status in statuses[0].tolist()]
    basis.row_status = [_STATUS[status] for status in statuses[1].tolist()]
    highs.setBasis(basis)
