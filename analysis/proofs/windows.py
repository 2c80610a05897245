r"""The bound of gangs whose ends are in windows, by prices that a linear program finds.

Gang j holds D_j of M equal GPUs for p_j seconds from r_j on, and ends at C_j, lo_j <= C_j <= hi_j.
What an end costs is f_j(C): a weight times C - r_j; for rewards less than 0 by the end of a step,
and 0 for a job that does not run. I_i are intervals of time with all r_j among their ends.

    min  sum_jq f_j(C_q) x_jq                                                             (cost)
    s.t. sum_q x_jq                      =  1          for each job j; <= 1 for rewards    (job)
         sum_q u_qi x_jq  -  |I_i| (sum of y_iS over S with j)  <=  0                      (pair)
         sum_S y_iS                      <=  1          for each I_i                       (room)

A *pattern* q of a job is an end C_q and the seconds u_qi of each interval in which it runs, p_j of
them before C_q, the last one just before. y_iS is the part of I_i in which the set S runs, of gangs
that fit together. With pi_ji the dual prices of the rows *pair*, over |I_i|, its dual is the
theorem of :mod:`gangsched.verify.windows`, which holds for any prices:

    sum_j min over C of [f_j(C) + kappa_j(C)]  -  sum_i |I_i| V_i,

kappa_j(C) the price of the cheapest seconds, V_i that of the dearest set. For users, who are to
have a ratio (F_u - b_u) / d_u of R at most, R is the cost, and there are rows

         sum over j of u (C_q - r_j) x_jq / d_u  -  R  <=  b_u / d_u    for each user u    (user)

whose duals m_u d_u are the weights: f_j(C) = m_u (C - r_j).

Prices are climbed first, as :mod:`gangsched.analysis.proofs.job_prices` does, as that is quick from
any prices, and then made the best by generating columns. Rows *pair* are only there where not all
gangs fit that may run, and where the climb left a price or the program used more than the sets have
of it. Each round asks for the patterns of the three cheapest ends of each job and for the dearest
sets, at prices between those of the last program and the best ones so far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...instances.arrays import Bools, Floats, Ints
from ...solvers.highs import is_optimal, new
from ...solvers.ours.user_order import Members
from .job_price_core import worth_of_sets
from .prices import Climb
from .window_core import cheapest_ends

__all__ = ["EndWindows", "PooledGangs", "WindowColumns", "WindowPrices", "WindowProgram"]

TOLERANCE = 1e-10
#: patterns of each job that a round may add, and weight of the best prices in those that it asks at
EACH, SMOOTHING = 3, 0.5
#: a program is left when it can gain only this part of what its bound lacks to the best
ENOUGH = 0.4
#: weights of columns and parts of seconds below this are none
NOTHING = 1e-7


@dataclass(frozen=True)
class PooledGangs:
    """Gangs on equal GPUs, and what their ends cost: weights, steps or users."""

    gpus: int
    release: Ints
    need: Ints
    gang: Ints
    weight: Floats  #: of a second until a job's end
    #: of each job, the ends of its steps and what they cost
    steps: tuple[tuple[Ints, Floats], ...] | None = None
    users: Members | None = None

    @property
    def size(self) -> int:
        """Jobs."""
        return self.release.size

    @property
    def unit(self) -> float:
        """What 1 of the cost is in a program, so that its dual prices are not tiny."""
        if self.users is not None:
            return float(self.users.over.sum())
        return 1.0 if self.steps is not None else 1.0 / float(self.weight.mean())

    def weights(self, users: Floats) -> Floats:
        """What a second until each job's end costs, at weights of the users over what they have."""
        if self.users is None:
            return self.weight
        found: Floats = (users / self.users.over)[self.users.user]
        return found

    def beside(self, edges: Ints) -> Floats:
        """What it costs beside the seconds to end in an interval; infinite where no step does."""
        costs = np.zeros((self.size, edges.size - 1))
        if self.steps is not None:
            costs[:] = np.inf
            for j, (ends, values) in enumerate(self.steps):
                known = (ends > edges[0]) & (ends <= edges[-1])
                costs[j, np.searchsorted(edges, ends[known]) - 1] = values[known]
        return costs


@dataclass(frozen=True)
class EndWindows:
    """Between when each job ends, and whether it must."""

    low: Ints
    high: Ints
    must: Bools


@dataclass(frozen=True)
class WindowPrices:
    """Of a second of each job (jobs, intervals), and the weights of users, over what they have."""

    edges: Ints
    own: Floats
    users: Floats

    def on(self, edges: Ints) -> WindowPrices:
        """The same on other intervals."""
        at = np.searchsorted(self.edges, edges[:-1], side="right") - 1
        inside = (at >= 0) & (at < self.edges.size - 1)
        own = self.own[:, np.clip(at, 0, self.edges.size - 2)]
        return WindowPrices(edges, np.where(inside, own, 0.0), self.users)

    def towards(self, other: WindowPrices, part: float) -> WindowPrices:
        """Prices between these and others."""
        own, users = (
            (1 - part) * a + part * b for a, b in zip(self._both, other._both, strict=True)
        )
        return WindowPrices(self.edges, own, users)

    @property
    def _both(self) -> tuple[Floats, Floats]:
        return self.own, self.users


@dataclass(frozen=True)
class WindowColumns:
    """Patterns, each an end of a job and seconds of intervals, and sets, each of an interval."""

    edges: Ints
    job: Ints
    end: Ints
    uses: Floats  #: (patterns, intervals)
    at: Ints
    members: Bools  #: (sets, jobs)

    @classmethod
    def none(cls, gangs: PooledGangs, edges: Ints) -> WindowColumns:
        """No columns."""
        zero = np.zeros(0, dtype=np.int64)
        members = np.zeros((0, gangs.size), dtype=np.bool_)
        return cls(edges, zero, zero, np.zeros((0, edges.size - 1)), zero, members)

    def joined(self, more: WindowColumns) -> WindowColumns:
        """These and others."""
        rows = ("job", "end", "uses", "at", "members")
        both = (np.concatenate([getattr(self, row), getattr(more, row)]) for row in rows)
        return WindowColumns(self.edges, *both)

    def kept(self, patterns: Any, sets: Any) -> WindowColumns:
        """Some of them."""
        own = self.job[patterns], self.end[patterns], self.uses[patterns]
        return WindowColumns(self.edges, *own, self.at[sets], self.members[sets])

    def within(self, windows: EndWindows) -> WindowColumns:
        """Those whose ends are in windows."""
        after = windows.low[self.job] <= self.end
        return self.kept(after & (self.end <= windows.high[self.job]), slice(None))

    def on(self, edges: Ints) -> WindowColumns:
        """The same with finer intervals, of each of which the first seconds are used first."""
        old = np.searchsorted(self.edges, edges[:-1], side="right") - 1
        left, uses = self.uses.copy(), np.zeros((self.job.size, edges.size - 1))
        for i, (o, length) in enumerate(zip(old.tolist(), np.diff(edges).tolist(), strict=True)):
            if 0 <= o < self.edges.size - 1:
                uses[:, i] = np.minimum(left[:, o], length)
                left[:, o] -= uses[:, i]
        which, at = np.nonzero(self.at[:, None] == old)
        return WindowColumns(edges, self.job, self.end, uses, at, self.members[which])


class WindowProgram:
    """The linear program of windows on some intervals, with the columns so far.

    After :meth:`climb` and :meth:`converge` the best bound is `bound`, of `prices`, at which it
    costs `costs` (jobs, intervals) to end in an interval.
    """

    def __init__(self, gangs: PooledGangs, windows: EndWindows, prices: WindowPrices) -> None:
        self.gangs, self.windows, self.edges = gangs, windows, prices.edges
        self.lengths = np.diff(self.edges).astype(np.float64)
        self.beside = gangs.beside(self.edges)
        self.unit = gangs.unit
        starts = self.edges[:-1]
        self.may = (gangs.release[:, None] <= starts) & (windows.high[:, None] > starts)
        self.contested = np.flatnonzero(gangs.gang @ self.may > gangs.gpus)
        self._pair(self.may)
        self.bound, self.solved = -math.inf, False
        self.tried: list[tuple[Ints, Ints]] = []  #: jobs and ends that each step of the climb liked
        self.pair_row = np.full(self.may.shape, -1)
        self.prices = self._only_pairs(prices)
        self._note(self.prices, *self._answer(self.prices, 1)[:2])

    def _pair(self, wanted: Bools) -> None:
        """Set the pairs, by interval and gang."""
        by_gang = np.argsort(self.gangs.gang, kind="stable")
        which, at = np.nonzero((wanted & self.may)[by_gang][:, self.contested].T)
        self.job, self.interval = by_gang[at], self.contested[which]
        self.ptr = np.searchsorted(which, np.arange(self.contested.size + 1))

    def _only_pairs(self, prices: WindowPrices) -> WindowPrices:
        """Prices that are 0 where there is no pair."""
        own = np.zeros_like(prices.own)
        own[self.job, self.interval] = prices.own[self.job, self.interval]
        return replace(prices, own=own)

    # -- prices ------------------------------------------------------------------------------------

    def _answer(self, prices: WindowPrices, most: int) -> tuple[float, Floats, WindowColumns]:
        """What prices prove, the costs, and the columns that they like best."""
        gangs, windows, size = self.gangs, self.windows, self.gangs.size
        costs, ends = np.empty(prices.own.shape), np.zeros(prices.own.shape, dtype=np.int64)
        picked = np.zeros((size, most), dtype=np.int64)
        uses = np.zeros((size, most, self.lengths.size))
        weight, value = gangs.weights(prices.users), 0.0
        if gangs.users is not None:
            value -= float(prices.users @ (gangs.users.less / gangs.users.over))
        cheapest_ends(
            self.edges, gangs.release, gangs.need, weight, windows.low, windows.high, self.beside,
            int(gangs.steps is None), prices.own, costs, ends, most, picked, uses,
        )  # fmt: skip
        worths, chosen = np.zeros(self.contested.size), np.zeros(self.job.size)
        if self.job.size:
            own = prices.own[self.job, self.interval]
            places, gang = np.arange(self.job.size), gangs.gang[self.job]
            worth_of_sets(gangs.gpus, self.ptr, places, gang, own, worths, chosen)
        least = costs.min(axis=1, initial=np.inf)
        value += float(np.where(windows.must, least, np.minimum(least, 0)).sum())
        value -= float(worths @ self.lengths[self.contested])
        members = np.zeros((self.contested.size, size), dtype=np.bool_)
        which = np.repeat(np.arange(self.contested.size), np.diff(self.ptr))
        members[which[chosen > 0], self.job[chosen > 0]] = True
        job, q = np.nonzero(picked >= 0)
        k = picked[job, q]
        end = ends[job, k] if gangs.steps is None else self.edges[k + 1]
        return (
            value,
            costs,
            WindowColumns(self.edges, job, end, uses[job, q], self.contested, members),
        )

    def _note(self, prices: WindowPrices, value: float, costs: Floats) -> None:
        """Keep prices that prove more."""
        if value > self.bound:
            self.bound, self.prices, self.costs = value, prices, costs

    @property
    def room(self) -> Floats:
        """Seconds of each pair."""
        return self.lengths[self.interval]

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return what prices of pairs prove, and its change with each; for the climb."""
        own = np.zeros_like(self.prices.own)
        own[self.job, self.interval] = prices
        value, costs, found = self._answer(replace(self.prices, own=own), 1)
        slope = np.zeros_like(own)
        slope[found.job] = found.uses
        out = (costs.min(axis=1) > 0) & ~self.windows.must
        slope[out] = 0
        self.tried.append((found.job[~out[found.job]], found.end[~out[found.job]]))
        slope[:, found.at] -= found.members.T * self.lengths[found.at]
        return value, slope[self.job, self.interval]

    def climb(self, steps: int, step: float, left: float) -> None:
        """Climb prices of pairs, the first step a part of the usual price of a GPU second."""
        if not self.job.size or self.bound == math.inf or left <= 0:
            return
        gang, own = self.gangs.gang[self.job], self.prices.own[self.job, self.interval]
        paid = (own / gang)[own > 0]
        usual = paid.mean() if paid.size else self._first_price()
        first = (step * float(usual) * gang).astype(np.float64)
        prices = np.zeros_like(self.prices.own)
        prices[self.job, self.interval] = Climb(time.monotonic() + left, steps, None).up(
            self, own, first
        )
        found = replace(self.prices, own=prices)
        self._note(found, *self._answer(found, 1)[:2])

    def _first_price(self) -> float:
        """What a GPU second is about worth, if no prices are known."""
        gangs = self.gangs
        if gangs.steps is None:
            return float(np.mean(gangs.weights(self.prices.users) / gangs.gang))
        best = np.array([-costs.min(initial=0) for _, costs in gangs.steps])
        return float(np.mean(best / (gangs.gang * gangs.need)))

    # -- the linear program ------------------------------------------------------------------------

    def converge(
        self, known: WindowColumns, penalty: Floats, missing: WindowPrices, *,
        closed: Callable[[float], bool], best: float, left: Callable[[], float],
        whole: bool = False,
    ) -> None:  # fmt: skip
        """Find the best prices by columns, from those known, or until the bound closes the windows.

        It is left as soon as it can gain only a part of what the bound lacks to `best`, unless it
        is to be solved as a whole.
        """
        self._pair((self.prices.own > 0) | (missing.own > 0))
        self._build(penalty)
        centre, smoothing, self.solved = self.prices, SMOOTHING, False
        self._add(known.joined(self._answer(centre, EACH)[2]))
        more = True
        while more and not closed(self.bound) and self._run(left()):
            value, more = self.value, False
            for prices in (self.duals.towards(centre, smoothing), self.duals):
                found, costs, columns = self._answer(prices, EACH)
                if found > self.bound:
                    centre = prices
                self._note(prices, found, costs)
                patterns, sets = self._reduced(columns)
                least = -TOLERANCE * max(1.0, abs(value))
                if self._add(columns.kept(patterns < least, sets < least)):
                    more = True
                    break
                smoothing = max(smoothing - 0.1, 0.0)
            missed = value - self.bound
            small = TOLERANCE * max(1.0, abs(value))
            more &= missed > (small if whole else max(small, ENOUGH * (best - self.bound)))

    def _build(self, penalty: Floats) -> None:
        """Rows of jobs, pairs, room and users; columns of jobs that run nowhere, and the ratio."""
        size, pairs, rooms = self.gangs.size, self.job.size, self.contested.size
        self.highs = new({"presolve": "off", "simplex_strategy": 1})
        inf, users = self.highs.inf, self.gangs.users
        less = np.zeros(0) if users is None else users.less / users.over
        lower = np.concatenate([self.windows.must, np.full(pairs + rooms + less.size, -inf)])
        upper = np.concatenate([np.ones(size), np.zeros(pairs), np.ones(rooms), less])
        none = np.zeros(0, dtype=np.int32)
        starts = np.zeros(upper.size, dtype=np.int32)
        self.highs.addRows(upper.size, lower, upper, 0, starts, none, np.zeros(0))
        each = np.arange(size, dtype=np.int32)
        self.highs.addCols(
            size,
            self.unit * penalty,
            np.zeros(size),
            np.full(size, inf),
            size,
            each,
            each,
            np.ones(size),
        )
        self.first = size
        if users is not None:
            rows = np.arange(upper.size - less.size, upper.size, dtype=np.int32)
            self.highs.addCol(self.unit, -inf, inf, rows.size, rows, -np.ones(rows.size))
            self.first += 1
        self.pair_row, self.room_row = (np.full(self.may.shape, -1), np.full(self.lengths.size, -1))
        self.pair_row[self.job, self.interval] = size + np.arange(pairs)
        self.room_row[self.contested] = size + pairs + np.arange(rooms)
        self.columns = WindowColumns.none(self.gangs, self.edges)
        self.seen = set[bytes]()
        self.number = list[int]()  # of each column its pattern, or -1 less its set

    def _cost(self, job: Ints, end: Ints) -> Floats:
        """What ends cost as columns."""
        gangs = self.gangs
        if gangs.users is not None:
            return np.zeros(job.size)
        beside = self.beside[job, np.searchsorted(self.edges, end) - 1]
        return gangs.weight[job] * (end - gangs.release[job]) + beside

    def _add(self, more: WindowColumns) -> int:
        """Add columns that are new; returns how many."""
        patterns = [
            b"%d %d " % both for both in zip(more.job.tolist(), more.end.tolist(), strict=True)
        ]
        new_patterns = self._unseen(
            [key + row.tobytes() for key, row in zip(patterns, more.uses, strict=True)]
        )
        sets = [
            b"%d " % at + row.tobytes()
            for at, row in zip(more.at.tolist(), more.members, strict=True)
        ]
        new_sets = self._unseen(sets) & (self.room_row[more.at] >= 0)
        more = more.kept(new_patterns, new_sets)
        size, count = more.job.size, more.job.size + more.at.size
        if not count:
            return 0
        one, interval = np.nonzero(more.uses)
        own, member = np.nonzero(more.members)
        each = np.arange(more.at.size)
        entries = [
            (np.arange(size), more.job, np.ones(size)),
            (
                one,
                self.pair_row[more.job[one], interval],
                more.uses[one, interval] / self.lengths[interval],
            ),
            (size + each, self.room_row[more.at], np.ones(each.size)),
            (size + own, self.pair_row[member, more.at[own]], -np.ones(own.size)),
        ]
        users = self.gangs.users
        if users is not None:
            user = users.user[more.job]
            since = (more.end - self.gangs.release[more.job]) / users.over[user]
            last = self.gangs.size + self.job.size + self.contested.size
            entries.append((np.arange(size), last + user, since))
        column, row, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        column, row, value = column[row >= 0], row[row >= 0], value[row >= 0]
        order = np.argsort(column, kind="stable")
        starts = np.searchsorted(column[order], np.arange(count)).astype(np.int32)
        cost = self.unit * np.append(self._cost(more.job, more.end), np.zeros(each.size))
        self.highs.addCols(
            count, cost, np.zeros(count), np.full(count, self.highs.inf), order.size, starts,
            row[order].astype(np.int32), value[order],
        )  # fmt: skip
        self.number += [self.columns.job.size + q for q in range(size)]
        self.number += [-1 - self.columns.at.size - q for q in range(each.size)]
        self.columns = self.columns.joined(more)
        return count

    def _unseen(self, keys: list[bytes]) -> Bools:
        """Which of them were not seen before."""
        new_ones = np.zeros(len(keys), dtype=np.bool_)
        for i, key in enumerate(keys):
            new_ones[i] = key not in self.seen
            self.seen.add(key)
        return new_ones

    def _run(self, left: float) -> bool:
        """Solve the program of the columns so far; returns whether so many seconds sufficed."""
        if left <= 0:
            return False
        self.highs.setOptionValue("time_limit", self.highs.getRunTime() + left)
        self.highs.run()
        if left < math.inf and not is_optimal(self.highs):
            return False
        self.highs.setOptionValue("simplex_strategy", 4)  # primal, as only columns are added
        self.value = self.highs.getObjectiveValue() / self.unit
        solution = self.highs.getSolution()
        self.solved, self.weights = True, np.array(solution.col_value)[self.first :]
        row, size = np.array(solution.row_dual) / self.unit, self.gangs.size
        pairs, rooms = self.job.size, self.contested.size
        own, users = np.zeros_like(self.prices.own), np.zeros(0)
        own[self.job, self.interval] = np.maximum(-row[size : size + pairs], 0) / self.room
        if self.gangs.users is not None:
            users = np.maximum(-row[size + pairs + rooms :], 0)
            users /= users.sum()
        self.duals, self.job_duals = WindowPrices(self.edges, own, users), row[:size]
        self.room_duals = -row[size + pairs : size + pairs + rooms]
        return True

    def _reduced(self, columns: WindowColumns) -> tuple[Floats, Floats]:
        """What patterns and sets cost at the program's own prices, less what their rows pay."""
        gangs, own = self.gangs, self.duals.own
        patterns = self._cost(columns.job, columns.end) - self.job_duals[columns.job]
        if gangs.users is not None:
            weight = gangs.weights(self.duals.users)[columns.job]
            patterns += weight * (columns.end - gangs.release[columns.job])
        patterns += np.einsum("qi,qi->q", columns.uses, own[columns.job])
        worth = np.einsum("qj,jq->q", columns.members, own[:, columns.at])
        row = self.room_row[columns.at] - self.gangs.size - self.job.size
        return patterns, self.room_duals[row] - worth * self.lengths[columns.at]

    # -- what it says ------------------------------------------------------------------------------

    def useful(self, room: float) -> WindowColumns:
        """Columns that a solution within so much of the bound may use."""
        patterns, sets = self._reduced(self.columns)
        return self.columns.kept(patterns <= room, sets <= room)

    def chosen(self) -> tuple[Ints, Ints, Floats]:
        """Jobs, ends and weights of the patterns that are used, else of those that the climb liked.

        How often its later steps liked them is near to what a solution uses.
        """
        if not self.solved:
            late = self.tried[len(self.tried) // 2 :] or [self.cheapest()[:2]]
            both = np.concatenate([np.stack(one, axis=1) for one in late])
            low, high = self.windows.low[both[:, 0]], self.windows.high[both[:, 0]]
            on = (low <= both[:, 1]) & (both[:, 1] <= high)
            pairs, count = np.unique(both[on], axis=0, return_counts=True)
            job, weight = pairs[:, 0], count / len(late)
            total = np.bincount(job, weight, minlength=self.gangs.size)
            return job, pairs[:, 1], np.where(self.windows.must[job], weight / total[job], weight)
        number = np.array(self.number, dtype=np.int64)[: self.weights.size]
        on = (number >= 0) & (self.weights > NOTHING)
        return self.columns.job[number[on]], self.columns.end[number[on]], self.weights[on]

    def cheapest(self) -> tuple[Ints, Ints, Floats]:
        """Jobs, ends and weights, 1, of the cheapest patterns at the best prices."""
        _, costs, columns = self._answer(self.prices, 1)
        cost = costs.min(axis=1)[columns.job]
        on = self.windows.must[columns.job] | (cost < 0)
        return columns.job[on], columns.end[on], np.ones(np.count_nonzero(on))

    def cost_of(self, job: Ints, end: Ints) -> Floats:
        """What ends cost, those of users at the weights of the program."""
        cost = self._cost(job, end)
        if self.gangs.users is not None:
            users = self.duals.users if self.solved else self.prices.users
            weight = NOTHING + self.gangs.weights(users)[job]
            cost += weight * (end - self.gangs.release[job])
        return cost

    def missing(self) -> Bools:
        """Pairs without a row, of which more is used than the sets have."""
        if not self.solved:
            return np.zeros_like(self.may)
        number = np.array(self.number, dtype=np.int64)[: self.weights.size]
        used, have = np.zeros((2, *self.may.shape))
        for q in np.flatnonzero(self.weights > NOTHING).tolist():
            at, weight = int(number[q]), self.weights[q]
            if at >= 0:
                used[self.columns.job[at]] += weight * self.columns.uses[at]
            else:
                have[self.columns.members[-1 - at], self.columns.at[-1 - at]] += weight
        over = used / self.lengths > have + NOTHING
        missing: Bools = over & (self.pair_row < 0) & (self.room_row >= 0)
        return missing

    def narrowed(self, room: float) -> EndWindows:
        """Windows without what costs more than the bound and so much."""
        least = self.costs.min(axis=1)
        least = np.where(self.windows.must, least, np.minimum(least, 0))
        allowed = self.costs <= least[:, None] + room
        first, last = allowed.argmax(axis=1), allowed[:, ::-1].argmax(axis=1)
        low = np.maximum(self.windows.low, self.edges[first] + 1)
        high = np.minimum(self.windows.high, self.edges[self.edges.size - 1 - last])
        some = allowed.any(axis=1)
        return replace(
            self.windows,
            low=np.where(some, low, self.windows.low),
            high=np.where(some, high, self.windows.high),
        )
