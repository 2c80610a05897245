r"""Preemptive gangs on equal GPUs by the sets that fit: a linear program between events.

Job j is a gang of g_j of M GPUs that needs p_j seconds from its release r_j on. Events 0 .. K come
one after the other, at times T_0 <= ... <= T_K. Some times are known, releases and deadlines; T_0
is. Others are to be found: the end of a job, or of all jobs. Job j runs between two events only,
its release and the event by which it has to be complete. A configuration is a set S of jobs with
sum of g_j <= M; y_kS >= 0 are the seconds between the events k and k + 1 in which exactly S runs:

    min  sum_e c_e T_e                                      over the times to be found
    s.t. sum_k sum of y_kS over S with j  >=  p_j           for each job j              (work)
         sum_S y_kS                       <=  T_(k+1) - T_k for each k < K              (room)

It is exact as long as time may be divided: what runs at any moment is a configuration, and between
two events configurations may follow each other in any order, since gangs may be paused. So it is

- the least makespan, with the releases and one more event, the end of all jobs, at c = 1;
- the best schedule for an order of ends, :func:`by_order`: T_j is the end of job j, at what a
  second of it costs. A list only stops gangs at events; here they are stopped wherever it helps;
- whether jobs can meet deadlines, :func:`within`: all times are known, and the cost is that of a
  column a job, the seconds of its work that are missing.

For the worst user's ratio R, each user u with ends of its jobs of sum F_u has the row
F_u - d_u R <= b_u + the sum of its releases, and R is the cost. Its dual prices are the c_e.

Columns are generated: for prices pi_j of work, the configuration that is worth most between two
events is a knapsack.

Bound. Let W_k be what the best configuration between the events k and k + 1 is worth at prices pi_j
>= 0. Known times cut the events into blocks B, from t_B on, |B| seconds long; the last one is open
if T_K is to be found. Let h_k be the sum of c_e over the events e > k of the block of k, and s_B =
max(0, max of W_k - h_k over k in B). If W_k <= h_k in an open block,

    sum_e c_e T_e  >=  sum_e c_e t_B(e) + sum_j p_j pi_j - sum of |B| s_B over the other blocks.

    Proof. All work is worth sum_j p_j pi_j, and is done: so that is at most the sum of
    W_k (T_(k+1) - T_k) over k, where W_k <= s_B + h_k, with s_B = 0 in an open block. In a block
    s_B (T_(k+1) - T_k) add up to s_B |B|, and h_k (T_(k+1) - T_k) to the sum of c_e (T_e - t_B).

Any prices can be scaled so that they obey the condition. For the makespan, where t_K is the last
release, this is

    makespan  >=  t_K + (sum_j p_j pi_j - sum over i < K of |I_i| W_i) / W_K,

for integers pi_j too, which are its certificate.

Whole seconds: the columns that were generated and the times are made integers, and branch and bound
finds the best of them. For makespans the bound is what the linear program proves, rounded up. It is
attained on all 200 random instances of 8 to 100 jobs that were tried, which is no proof that it
always is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Bools, Floats, Ints
from ...instances.model import FULL_SPEED
from ...instances.schedule import Schedule
from ..history import History
from ..result import Bound, Result, Stop
from ..signature import solver
from .model_order import gpus_of_models
from .pool import PoolRun, columns, run_pool, schedule_of
from .user_order import Members

Numbers = TypeVar("Numbers", Ints, Floats)
METHOD = "configuration prices"
PARTS = 2**40  #: parts of a second of the last interval that prices are rounded down to
TOLERANCE = 1e-9
WHOLE = 1e-6  #: how far from an integer a number of seconds may be
PAYS = 1e-8  #: by how much a column has to pay, and what work may be missing
MISSING = 1000.0  #: cost of a second of missing work, in costs of a second of all jobs
SMOOTHING = 0.5  #: weight of the best prices so far in those that are tried


@dataclass(frozen=True)
class Planned:
    """What a linear program says of an order or of deadlines.

    Parameters
    ----------
    run : PoolRun or None
        In whole seconds; None where there is none or none was found.
    least : float
        No schedule is better, though time may be divided: of an order the sum of rates times ends,
        or the worst ratio; of deadlines a number that is 0 where they can be met.
    """

    run: PoolRun | None
    least: float


def by_order(
    release: Ints, gang: Ints, work: Ints, rates: Floats, gpus: int, ends: Ints | Floats, *,
    users: Members | None = None, start: PoolRun | None = None, above: float = math.inf,
    time_limit: float = 5.0,
) -> Planned:  # fmt: skip
    """Return the best schedule in which jobs end in the order that these ends have.

    Guarantee: `least` is below no schedule whose ends have this order among themselves and the
    releases. The run is no worse than such a schedule if the limit allows.

    Parameters
    ----------
    release, gang, work : (jobs,) int arrays
        r_j in seconds, g_j, and p_j in seconds, at least 1.
    rates : (jobs,) float array
        What a second of each end costs, at least 0 and not all 0; not used for users.
    gpus : int
        M.
    ends : (jobs,) array
        Any numbers; of equal ones a release comes first, then the job of the lower number.
    users : Members, optional
        Whose worst ratio is to be least.
    start : PoolRun, optional
        Whose configurations are the first columns: it is quick where its order is much the same.
    above : float
        No run is looked for if `least` is not below.
    time_limit : float
        Wall seconds.

    Returns
    -------
    Planned
        Jobs of the run may end before their turn.

    Notes
    -----
    A linear program of three rows a job, to which columns are added.

    Examples
    --------
    Three narrow jobs on two GPUs need four seconds, if one of them is stopped when none ends. A
    list has them done after five.

    >>> release, gang, work = np.zeros(4, dtype=int), np.array([1, 1, 1, 2]), np.array([2, 3, 3, 2])
    >>> found = by_order(release, gang, work, np.ones(4), 2, np.array([2, 3, 5, 7]))
    >>> found.run.ends.tolist(), found.least
    ([2, 4, 4, 6], 16.0)
    """
    known = np.unique(release)
    times = np.concatenate([known, np.maximum(ends, release)])
    order = np.argsort(times, kind="stable")
    place = np.argsort(order)
    until = place[known.size :]
    at = np.concatenate([known, np.full(release.size, np.nan)])[order]
    cost = np.zeros(at.size)
    cost[until] = rates if users is None else 0.0
    events = _Events(at, place[np.searchsorted(known, release)], until, cost)
    program = _Program(gang, work, [gpus], events, users)
    if start is not None:
        program.begin(start, times[order])
    end = time.perf_counter() + time_limit
    for least in program.bounds(end):
        if least >= above:
            return Planned(None, least)
    return Planned(program.whole_run(end), program.least)


def within(
    release: Ints, gang: Ints, work: Ints, deadlines: Ints, gpus: int, *, time_limit: float = 5.0
) -> Planned:
    """Return a schedule in which every job is complete by its deadline.

    Guarantee: where `least` is above 0 there is none, even if time may be divided.

    Parameters
    ----------
    release, gang, work : (jobs,) int arrays
        r_j in seconds, g_j, and p_j in seconds, at least 1.
    deadlines : (jobs,) int array
    gpus : int
        M.
    time_limit : float
        Wall seconds.

    Returns
    -------
    Planned
        Without a run where there is no schedule or the limit does not allow to find one.

    Examples
    --------
    >>> release, gang, work = np.zeros(3, dtype=int), np.array([1, 1, 1]), np.array([2, 2, 2])
    >>> within(release, gang, work, np.array([3, 3, 3]), 2).run.ends.tolist()
    [2, 3, 3]
    >>> found = within(release, gang, work, np.array([3, 2, 2]), 2)
    >>> found.run is None, found.least > 0
    (True, True)
    """
    known = np.unique(np.concatenate([release, deadlines]))
    begin, until = np.searchsorted(known, release), np.searchsorted(known, deadlines)
    events = _Events(known.astype(float), begin, until, np.zeros(known.size))
    program = _Program(gang, work, [gpus], events)
    end = time.perf_counter() + time_limit
    for least in program.bounds(end):
        if least > WHOLE:
            return Planned(None, least)
        if program.value <= WHOLE:
            break
    return Planned(program.whole_run(end), 0.0)


@solver(of=CompletionTime)
def configuration_lp(problem: CompletionTime, *, time_limit: float | None) -> Result[Schedule]:
    """Find the schedule of least makespan, and prove it, by configurations.

    Guarantee: the bound is that of the linear program if the limit allows.

    Parameters
    ----------
    problem : CompletionTime
        With the makespan as measure, all of whose GPUs are equal for all jobs.
    time_limit : float, optional
        Wall seconds, half of them for the linear program.

    Returns
    -------
    Result
        Bound with certificate ``{"kind": "configuration prices", "prices": [pi_1 .. pi_n]}``.

    Raises
    ------
    ValueError
        For another measure, several GPU models or speeds.

    Notes
    -----
    Gangs may spread over any nodes; pauses and moves are free. O(jobs x GPUs) for all knapsacks of
    a round, and a linear program.

    Examples
    --------
    Five gangs of two on five GPUs, two seconds each: two at a time are six seconds, but with pauses
    five are enough.

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=i, gpus=2, work=2) for i in "abcde"]
    >>> found = configuration_lp(CompletionTime(Instance(Cluster.of_sizes([5]), jobs), "makespan"))
    >>> found.objective, found.bound.value
    (5, 5)
    """
    if problem.measure != "makespan" or problem.mixed:
        raise ValueError("configurations: they are for the makespan on equal GPUs")
    history = History(time.perf_counter())
    best, bound, stop = run_pool(problem), None, Stop.COMPLETED
    history.note(objective=best.ends.max(initial=0))
    if problem.jobs:
        end = math.inf if time_limit is None else history.started + time_limit
        program = _Makespan(problem)
        try:
            for bound in program.proven(history.started + (end - history.started) / 2):
                history.note(bound=bound.value)
            if bound is not None and best.ends.max() > bound.value:
                found = program.whole_run(end)
                if found is not None and found.ends.max() < best.ends.max():
                    best = found
            stop = Stop.TIME_LIMIT if time.perf_counter() >= end else stop
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
    return Result.of(
        problem, schedule_of(problem, best), solver="configuration_lp", stop=stop, bound=bound,
        runtime=time.perf_counter() - history.started, history=history.entries,
    )  # fmt: skip


def makespan_bound(problem: CompletionTime, time_limit: float | None = None) -> Bound:
    """Return what the linear program proves of the makespan, of one job at least.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=i, gpus=2, work=2) for i in "abc"]
    >>> makespan_bound(CompletionTime(Instance(Cluster.of_sizes([3]), jobs), "makespan")).value
    6
    """
    if problem.measure != "makespan":
        raise ValueError(f"makespan_bound: measure={problem.measure!r} is not 'makespan'")
    end = math.inf if time_limit is None else time.perf_counter() + time_limit
    *_, bound = _Makespan(problem).proven(end)
    return bound


class _Events(NamedTuple):
    """Times of the events, nan where to be found, and what a second of each costs."""

    at: Floats
    begin: Ints  # of each job, the event of its release
    until: Ints  # and that by which it is to be complete
    cost: Floats


class _Program:
    """The program with the columns so far; times count from the first event on.

    On several models `gpus` has those of each, and `speeds` what a second there does of a job.
    """

    def __init__(
        self, gang: Ints, work: Ints, gpus: list[int], events: _Events,
        users: Members | None = None, speeds: Floats | None = None,
    ) -> None:  # fmt: skip
        from ..highs import new  # takes long to import

        self.gang, self.work, self.gpus, self.events, self.users = gang, work, gpus, events, users
        self.speeds = np.ones((work.size, len(gpus))) if speeds is None else speeds
        self.first = int(events.at[0])
        self.at = events.at - self.first
        known = ~np.isnan(self.at)
        self.count, self.unknown = self.at.size - 1, np.flatnonzero(~known)
        self.spans = [slice(*span) for span in zip(events.begin, events.until, strict=True)]
        self.unit, self.shift = self._unit(), self.first * float(events.cost.sum())
        self.starts = np.flatnonzero(known[:-1])  #: the first event of each block
        self.block = np.cumsum(known[:-1]) - 1
        self.stops = np.append(self.starts[1:], self.count)
        self.open = np.isnan(self.at[-1])
        self.centre, self.least, self.value = np.zeros(work.size), -math.inf, math.inf
        self.columns: list[tuple[int, Ints]] = []  #: events and jobs of each configuration
        self.seen: set[tuple[int, int, bytes]] = set()
        self.highs = new({"dual_feasibility_tolerance": 1e-9})
        self._build(known)

    def _unit(self) -> float:
        """What 1 of HiGHS's objective is worth, so that a second of an event costs about 1."""
        if self.users is not None:
            return 1 / float(self.users.over.sum())
        return float(self.events.cost[self.unknown].mean()) if self.unknown.size else 1.0

    def _build(self, known: Any) -> None:
        """Rows for work, room and users; columns of times, the worst ratio, and missing work."""
        jobs, inf, times = self.work.size, self.highs.inf, np.where(known, self.at, 0.0)
        for work in self.work.tolist():
            self.highs.addRow(work, inf, 0, [], [])
        for room in np.diff(times).tolist() * len(self.gpus):
            self.highs.addRow(-inf, room, 0, [], [])
        rooms = jobs + self.count * np.arange(len(self.gpus))  #: first row of each model
        users = jobs + self.count * len(self.gpus)
        owner = np.full(self.at.size, -1)
        if self.users is not None:
            owner[self.events.until] = self.users.user
            since = np.bincount(self.users.user, self.users.release - self.first)
            self.owed = self.users.less + since
            for owed in self.owed.tolist():
                self.highs.addRow(-inf, owed, 0, [], [])
        for event in self.unknown.tolist():
            rows, values = [*(rooms + event - 1)], [-1.0] * len(self.gpus)
            if event < self.count:
                rows, values = [*rows, *(rooms + event)], [*values, *([1.0] * len(self.gpus))]
            if owner[event] >= 0:
                rows, values = [*rows, users + owner[event]], [*values, 1.0]
            self._add(float(self.events.cost[event]) / self.unit, rows, values)
        if self.users is not None:
            own = users + np.arange(self.users.over.size)
            self._add(1 / self.unit, own, -self.users.over, least=-inf)
        dear = MISSING * self.unknown.size if self.unknown.size else 1.0
        self.missing = self.highs.getNumCol()
        for job in range(jobs):
            self._add(dear, [job], [1.0])

    def _add(self, cost: float, rows: Any, values: Any, least: float = 0.0) -> None:
        """Add a column."""
        rows, values = np.asarray(rows, dtype=np.int32), np.asarray(values, dtype=float)
        self.highs.addCol(cost, least, self.highs.inf, rows.size, rows, values)

    def begin(self, run: PoolRun, times: Floats) -> None:
        """Add the configurations of a schedule, where the events have about these times."""
        cuts = np.unique([run.start, run.end])
        runs = np.zeros((cuts.size, self.work.size), dtype=bool)
        starts, stops = np.searchsorted(cuts, [run.start, run.end]).tolist()
        for job, start, stop in zip(run.job.tolist(), starts, stops, strict=True):
            runs[start:stop, job] = True
        places = np.searchsorted(times, cuts, side="right") - 1
        for place, running in zip(places.tolist(), runs, strict=True):
            jobs = np.flatnonzero(running)
            if jobs.size:
                first, last = self.events.begin[jobs].max(), self.events.until[jobs].min() - 1
                if first <= last:
                    self._add_configuration(min(max(place, first), last), jobs)

    def bounds(self, end: float) -> Iterator[float]:
        """Generate columns until none pays; yields the best bound so far after every round."""
        jobs, users, added = self.work.size, self.work.size + self.count * len(self.gpus), 1
        while added:
            self.highs.run()
            solution = self.highs.getSolution()
            self.seconds, duals = np.array(solution.col_value), np.array(solution.row_dual)
            own, room = np.maximum(duals[:jobs], 0), -duals[jobs:users]
            shares = np.maximum(-duals[users:], 0)
            self.value = self.highs.getObjectiveValue() * self.unit + self.shift
            for prices in (SMOOTHING * self.centre + (1 - SMOOTHING) * own, own):
                worths, chosen = self._worths(prices[:, None] * self.speeds)
                scale, found = self._bound(prices, worths, shares)
                if found > self.least:
                    self.least, self.centre = found, prices * scale
                added = self._add_paying(chosen, own, room.reshape(len(self.gpus), -1))
                if added:
                    break
            if not added:
                self.least = max(self.least, self.value)
            yield self.least
            if time.perf_counter() >= end:
                break

    def _costs(self, shares: Floats) -> Floats:
        """What a second of each event costs, given the duals of users."""
        if self.users is None:
            return self.events.cost / self.unit
        costs = np.zeros(self.at.size)
        costs[self.events.until] = shares[self.users.user]
        return costs

    def _worths(self, worths: Numbers) -> tuple[Numbers, list[Bools]]:
        """What the best configurations of all models are worth together, and who is in them."""
        found = [self._best(worths[:, g], gpus) for g, gpus in enumerate(self.gpus)]
        total: Any = sum(values for values, _ in found)
        return total, [chosen for _, chosen in found]

    def _best(self, prices: Numbers, gpus: int) -> tuple[Numbers, Bools]:
        """What the best configurations between events are worth, and which jobs are in each."""
        unit = int(np.gcd.reduce(self.gang))
        most, gangs = gpus // unit, (self.gang // unit).tolist()
        table: Any = np.zeros((self.count, most + 1), dtype=prices.dtype)
        gains = list[tuple[int, Bools]]()
        for job in np.flatnonzero(prices > 0).tolist():
            rows = table[self.spans[job]]
            more = rows[:, : most + 1 - gangs[job]] + prices[job]
            gain = more > rows[:, gangs[job] :]
            np.copyto(rows[:, gangs[job] :], more, where=gain)
            gains.append((job, gain))
        chosen, left = np.zeros((self.count, prices.size), dtype=bool), np.full(self.count, most)
        for job, gain in reversed(gains):
            room = left[self.spans[job]] - gangs[job]
            taken = (room >= 0) & gain[np.arange(room.size), np.maximum(room, 0)]
            chosen[self.spans[job], job] = taken
            left[self.spans[job]] -= gangs[job] * taken
        return table[:, most], chosen

    def _bound(self, prices: Floats, worths: Floats, shares: Floats) -> tuple[float, float]:
        """The scale at which prices obey the condition, and what they prove."""
        costs = self._costs(shares)
        total = np.cumsum(costs)
        later = total[self.stops[self.block]] - total[:-1]
        scale = 1.0
        if self.open:
            last = slice(int(self.starts[-1]), None)
            paid = worths[last] > TOLERANCE
            if paid.any():
                scale = float((later[last][paid] / worths[last][paid]).min())
        over = np.maximum.reduceat(np.maximum(scale * worths - later, 0), self.starts)
        closed = self.starts.size - self.open
        lengths = np.diff(np.append(self.at[self.starts], self.at[-1]))[:closed]
        since = self.at[self.starts][self.block[self.unknown - 1]]
        value = costs[self.unknown] @ since + scale * (self.work @ prices) - lengths @ over[:closed]
        if self.users is not None:
            value -= self.owed @ shares
        return scale, float(value) * self.unit + self.shift

    def _add_paying(self, chosen: list[Bools], own: Floats, room: Floats) -> int:
        """Add the configurations chosen between events that pay at these prices."""
        added = 0
        for g, (sets, costs) in enumerate(zip(chosen, room, strict=True)):
            pays = sets @ (own * self.speeds[:, g]) > costs + PAYS * np.maximum(1.0, costs)
            for k in np.flatnonzero(pays).tolist():
                added += self._add_configuration(k, np.flatnonzero(sets[k]), g)
        return added

    def _add_configuration(self, k: int, jobs: Ints, model: int = 0) -> bool:
        """Add the seconds of these jobs from event k on; whether they are new."""
        if (k, model, jobs.tobytes()) in self.seen:
            return False
        self.seen.add((k, model, jobs.tobytes()))
        self.columns.append((k, jobs))
        room = self.work.size + model * self.count + k
        self._add(0.0, np.append(jobs, room), np.append(self.speeds[jobs, model], 1.0))
        return True

    def whole_run(self, end: float) -> PoolRun | None:
        """The best run in whole seconds with the columns so far, if one is found in time."""
        from ..highs import EXACT, best_found, run_interruptibly

        none = np.zeros(self.work.size)
        owed = np.arange(self.missing, self.missing + none.size, dtype=np.int32)
        count = owed[-1] + 1 + len(self.columns)
        whole = np.delete(np.arange(count, dtype=np.int32), owed)
        if self.users is not None:
            whole = np.delete(whole, self.unknown.size)
        seconds = np.append(self.seconds, np.zeros(count - self.seconds.size))
        if seconds[owed].max() > WHOLE:
            return None
        if np.abs(seconds - np.rint(seconds))[whole].max() > WHOLE:
            options = {**EXACT, "mip_abs_gap": self._step()}
            if end < math.inf:
                left = max(end - time.perf_counter(), 0.0)
                options["time_limit"] = self.highs.getRunTime() + left
            for name, value in options.items():
                self.highs.setOptionValue(name, value)
            self.highs.changeColsBounds(owed.size, owed, none, none)
            self.highs.changeColsIntegrality(whole.size, whole, np.ones(whole.size, dtype=np.uint8))
            if run_interruptibly(self.highs):
                raise KeyboardInterrupt
            found = best_found(self.highs)
            if found is None:
                return None
            seconds = found
        return self._run(np.rint(seconds).astype(np.int64))

    def _step(self) -> float:
        """Less than what two schedules differ by, if they differ, in HiGHS's objective."""
        costs = self.events.cost[self.unknown]
        whole = np.rint(costs).astype(np.int64)
        step = float(np.gcd.reduce(whole)) if (whole == costs).all() else 0.0
        return max(0.999 * step / self.unit, TOLERANCE)

    def _run(self, found: Ints) -> PoolRun | None:
        """Configurations one after the other from each event on, and nothing beyond need."""
        now = np.nan_to_num(self.at).astype(np.int64)
        now[self.unknown] = found[: self.unknown.size]
        now += self.first
        left = self.work.copy()
        pieces: list[tuple[int, int, int]] = []
        for column, (k, jobs) in enumerate(self.columns, self.missing + left.size):
            seconds, begin = int(found[column]), int(now[k])
            now[k] += seconds
            for job in jobs.tolist():
                length = min(seconds, int(left[job]))
                left[job] -= length
                if length:
                    pieces.append((job, begin, begin + length))
        if left.any():
            return None
        job, start, end = np.array(_joined(pieces), dtype=np.int64).T
        by_end = np.argsort(end, kind="stable")
        ends = np.zeros(left.size, dtype=np.int64)
        np.maximum.at(ends, job, end)
        return PoolRun(job[by_end], start[by_end], end[by_end], ends)


class _Makespan(_Program):
    """The program of the makespan: the releases, and one more event, the end of all jobs."""

    def __init__(self, problem: CompletionTime) -> None:
        release, gang = columns(problem.instance)
        known = np.unique(release)
        until = np.full(release.size, known.size)
        at, cost = np.append(known, np.nan), np.append(np.zeros(known.size), 1.0)
        events = _Events(at, np.searchsorted(known, release), until, cost)
        work = np.array([job.work for job in problem.jobs], dtype=np.int64)
        self.parts = problem.speeds  #: millionths of a second of work in a second
        gpus, speeds = gpus_of_models(problem).tolist(), self.parts / FULL_SPEED
        super().__init__(gang, work, gpus, events, speeds=speeds)

    def proven(self, end: float) -> Iterator[Bound]:
        """Generate columns; what the best prices so far prove, whenever that is a second more."""
        best = -math.inf
        for found in self.bounds(end):
            if math.ceil(found - TOLERANCE) > best:
                best = math.ceil(found - TOLERANCE)
                yield self._certified()
            if best >= math.ceil(self.value * (1 - TOLERANCE) - TOLERANCE):
                break
        yield self._certified()

    def _certified(self) -> Bound:
        """What the best prices prove in integers."""
        whole = np.floor(self.centre * PARTS).astype(np.int64)
        worth = self._worths(whole[:, None] * self.parts)[0].tolist()
        lengths = np.diff(self.at[:-1]).astype(np.int64).tolist()
        room = sum(w * t for w, t in zip(worth, lengths, strict=False))
        prices = whole.tolist()
        done = FULL_SPEED * sum(w * t for w, t in zip(prices, self.work.tolist(), strict=True))
        more = -((room - done) // max(worth[-1], 1))
        value = max(self.first + int(self.at[-2]) + more, 0)
        return Bound(value, METHOD, {"kind": METHOD, "prices": prices})


def _joined(pieces: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The same pieces of jobs; those that follow each other without a pause are one."""
    made = sorted(pieces)[:1]
    for (job, _, until), (other, start, end) in pairwise(sorted(pieces)):
        if job == other and until == start:
            made[-1] = job, made[-1][1], end
        else:
            made.append((other, start, end))
    return made
