r"""The least makespan of preemptive gangs on equal GPUs: a linear program over sets that fit.

Job j is a gang of g_j of M GPUs that needs p_j seconds from its release r_j on. t_0 < ... < t_K are
the releases, I_i the time from t_i to t_(i+1), and I_K all time from t_K on. A configuration is a
set S of released jobs with sum of g_j <= M; y_iS >= 0 are the seconds of I_i in which exactly S
runs:

    min  sum_S y_KS                                                                   (seconds)
    s.t. sum_i sum of y_iS over S with j  >=  p_j        for each job j                  (work)
         sum_S y_iS                       <=  |I_i|      for each i < K                  (room)

The makespan is t_K plus its value. It is exact as long as time may be divided: what runs at any
moment is a configuration, and within an interval configurations may follow each other in any order,
since gangs may be paused. Columns are generated: for prices pi_j of work, the configuration that is
worth most in each interval is a knapsack, and as released jobs only become more, one table serves
all intervals.

Certificate. For any integers pi_j >= 0 and W_i the worth of the best configuration of the jobs that
are released by t_i,

    makespan  >=  t_K + (sum_j p_j pi_j - sum over i < K of |I_i| W_i) / W_K.

    Proof. Each second of I_i does work that is worth W_i at most, and all work is worth sum_j p_j
    pi_j; so after t_K there are that many seconds at least.

Whole seconds: the columns that were generated are made integers, and branch and bound finds the
best of them. The bound is what the linear program proves, rounded up. It is attained on all 200
random instances of 8 to 100 jobs that were tried, which is no proof that it always is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Bools, Floats, Ints
from ...instances.schedule import Schedule
from ..history import History
from ..result import Bound, Result, Stop
from ..signature import solver
from .pool import PoolRun, columns, run_pool, schedule_of

__all__ = ["configuration_lp", "makespan_bound"]

Numbers = TypeVar("Numbers", Ints, Floats)
METHOD = "configuration prices"
PARTS = 2**40  #: parts of a second of the last interval that prices are rounded down to
TOLERANCE = 1e-9
SMOOTHING = 0.5  #: weight of the best prices so far in those that are tried


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
    _check(problem)
    history = History(time.perf_counter())
    best, bound, stop = run_pool(problem), None, Stop.COMPLETED
    history.note(objective=best.ends.max(initial=0))
    if problem.jobs:
        end = math.inf if time_limit is None else history.started + time_limit
        program = _Configurations(problem)
        try:
            for bound in program.proven(history.started + (end - history.started) / 2):
                history.note(bound=bound.value)
            if bound is not None and best.ends.max() > bound.value:
                made = [best, *program.whole_seconds(end)]
                best = min(made, key=lambda run: int(run.ends.max()))
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
    _check(problem)
    end = math.inf if time_limit is None else time.perf_counter() + time_limit
    *_, bound = _Configurations(problem).proven(end)
    return bound


def _check(problem: CompletionTime) -> None:
    """Refuse what the program does not describe."""
    if problem.measure != "makespan" or problem.mixed:
        raise ValueError("configurations: they are for the makespan on equal GPUs")


class _Configurations:
    """The program with the columns so far; jobs by release."""

    def __init__(self, problem: CompletionTime) -> None:
        from ..highs import new  # takes long to import

        release, gang = columns(problem.instance)
        self.order = np.argsort(release, kind="stable")
        self.gang, self.gpus = gang[self.order], problem.instance.cluster.gpus
        self.work = np.array(problem.seconds, dtype=np.int64)[self.order]
        self.starts, released = np.unique(release[self.order], return_counts=True)
        self.released: Ints = np.cumsum(released)  #: jobs by the start of each interval
        self.lengths = np.diff(self.starts)
        self.sets: list[tuple[int, Ints]] = []  #: interval and jobs of each column
        self.highs = new({})
        inf = self.highs.inf
        for work in self.work.tolist():
            self.highs.addRow(work, inf, 0, [], [])
        for length in self.lengths.tolist():
            self.highs.addRow(-inf, length, 0, [], [])
        for job in range(self.work.size):
            self._add(self.starts.size - 1, np.array([job]))

    def _add(self, interval: int, jobs: Ints) -> None:
        """Add the seconds of an interval in which these jobs run."""
        last = interval == self.starts.size - 1
        rows = jobs if last else np.append(jobs, self.work.size + interval)
        self.highs.addCol(
            float(last), 0.0, self.highs.inf, rows.size, rows.astype(np.int32), np.ones(rows.size)
        )
        self.sets.append((interval, jobs))

    def proven(self, end: float) -> Iterator[Bound]:
        """Generate columns; what the best prices so far prove, whenever that is a second more."""
        best, centre = 0.0, np.zeros(self.work.size)
        while True:
            self.highs.run()
            duals = np.array(self.highs.getSolution().row_dual)
            own, room = np.maximum(duals[: self.work.size], 0), -duals[self.work.size :]
            value = self.highs.getObjectiveValue()
            for prices in (SMOOTHING * centre + (1 - SMOOTHING) * own, own):
                table = self._table(prices)
                found = self._bound(prices, table)
                if found > best:
                    if math.ceil(found - TOLERANCE) > math.ceil(best - TOLERANCE):
                        yield self._certified(prices / table[-1, -1])
                    best, centre = found, prices / table[-1, -1]
                added = self._add_better(table, own, room)
                if added:
                    break
            met = math.ceil(best - TOLERANCE) >= math.ceil(value * (1 - TOLERANCE) - TOLERANCE)
            if met or not added or time.perf_counter() >= end:
                break
        yield self._certified(centre)

    def _table(self, prices: Numbers) -> Numbers:
        """The worth of the best configuration of the first k jobs in m GPUs, by k and m."""
        table: Any = np.zeros((prices.size + 1, self.gpus + 1), dtype=prices.dtype)
        for k, (gang, price) in enumerate(zip(self.gang.tolist(), prices, strict=True)):
            table[k + 1] = table[k]
            more = table[k, : self.gpus + 1 - gang] + price
            np.maximum(more, table[k + 1, gang:], out=table[k + 1, gang:])
        return table  # type: ignore[no-any-return]

    def _bound(self, prices: Floats, table: Floats) -> float:
        """The seconds after the last release that prices prove."""
        worth = table[self.released, -1]
        if not worth[-1]:
            return 0.0
        return float(self.work @ prices - self.lengths @ worth[:-1]) / float(worth[-1])

    def _add_better(self, table: Floats, own: Floats, room: Floats) -> int:
        """Add the best configurations of a table that pay at the program's own prices."""
        added = 0
        for interval, cost in enumerate([*room.tolist(), 1.0]):
            jobs = np.flatnonzero(self._best(table, int(self.released[interval])))
            if own[jobs].sum() > cost + TOLERANCE * max(1.0, cost):
                self._add(interval, jobs)
                added += 1
        return added

    def _best(self, table: Floats, count: int) -> Bools:
        """Which of the first jobs are the best configuration."""
        taken, left = np.zeros(self.work.size, dtype=bool), self.gpus
        for k in range(count - 1, -1, -1):
            if table[k + 1, left] > table[k, left]:
                taken[k] = True
                left -= self.gang[k]
        return taken

    def _certified(self, prices: Floats) -> Bound:
        """What prices prove in integers."""
        whole = np.floor(prices * PARTS).astype(np.int64)
        worth = self._table(whole)[self.released, -1].tolist()
        room = sum(w * t for w, t in zip(worth, self.lengths.tolist(), strict=False))
        done = sum(w * t for w, t in zip(whole.tolist(), self.work.tolist(), strict=True))
        more = -((room - done) // max(worth[-1], 1))
        own = np.empty_like(whole)
        own[self.order] = whole
        value = max(int(self.starts[-1]) + more, 0)
        return Bound(value, METHOD, {"kind": METHOD, "prices": own.tolist()})

    def whole_seconds(self, end: float) -> Iterator[PoolRun]:
        """The best run in whole seconds with the columns so far, if one is found in time."""
        from ..highs import best_found, run_interruptibly

        count = len(self.sets)
        options = {"mip_abs_gap": 0.999, "mip_rel_gap": 0.0}
        if end < math.inf:
            options["time_limit"] = self.highs.getRunTime() + max(end - time.perf_counter(), 0.0)
        for name, value in options.items():
            self.highs.setOptionValue(name, value)
        self.highs.changeColsIntegrality(
            count, np.arange(count, dtype=np.int32), np.ones(count, dtype=np.uint8)
        )
        interrupted = run_interruptibly(self.highs)
        seconds = best_found(self.highs)
        if seconds is not None:
            yield self._run(np.rint(seconds).astype(np.int64))
        if interrupted:
            raise KeyboardInterrupt

    def _run(self, seconds: Ints) -> PoolRun:
        """Configurations one after the other in each interval, and nothing beyond a job's work."""
        left, now = self.work.copy(), self.starts.copy()
        pieces: list[tuple[int, int, int]] = []
        for column in np.flatnonzero(seconds).tolist():
            interval, jobs = self.sets[column]
            begin = int(now[interval])
            now[interval] += seconds[column]
            for job in jobs.tolist():
                length = min(int(seconds[column]), int(left[job]))
                left[job] -= length
                if length:
                    pieces.append((int(self.order[job]), begin, begin + length))
        job, start, end = np.array(_joined(pieces), dtype=np.int64).T
        by_end = np.argsort(end, kind="stable")
        ends = np.zeros(left.size, dtype=np.int64)
        np.maximum.at(ends, job, end)
        return PoolRun(job[by_end], start[by_end], end[by_end], ends)


def _joined(pieces: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The same pieces of jobs; those that follow each other without a pause are one."""
    made = sorted(pieces)[:1]
    for (job, _, until), (other, start, end) in pairwise(sorted(pieces)):
        if job == other and until == start:
            made[-1] = job, made[-1][1], end
        else:
            made.append((other, start, end))
    return made
