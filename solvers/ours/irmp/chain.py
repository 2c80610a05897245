"""The optimum of IRMP: prices leave few runs over, and a small integer program chooses of them.

Not in the paper, which solves (3) by branch and bound for 5 to 15 jobs. The chain:

1. Column generation gives prices pi and a bound U of what any schedule earns, the search of
   :mod:`.search` a schedule that earns L.
2. A run of job j whose value less cost at pi is by more than U - L below the most that j can have
   at pi, is in no schedule that earns more than L. The others are listed.
3. Nodes of a class (equal model, workers and PSs) are one: max sum f x over these runs, one a job,
   no more workers and PSs in any slot than the class has. A time-indexed integer program.
4. An integer program puts the chosen runs on nodes. Where it cannot, a smallest set of them that
   nobody can place is forbidden, together with all runs that need no less (a no-good cut), and 3 is
   repeated.

A run of 3 says how many workers it has on each class, of which class the node with its PSs is, and
has as few PSs as (3i) can ask for; 4 chooses how many of the workers are on that node, and so how
many PSs there are. So 3 with the cuts of 4 is a relaxation of the problem, and its first optimum
that has a placement is an optimum.

Completions after the last slot looked at are worth f(slots + 1) at most and count as free of
charge. An optimum of 3 with such a one is no schedule; then twice the slots are looked at.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ....formulations.irmp.problem import TOLERANCE, Irmp, divisions
from ....formulations.limited import OutOfTime, check_time, limited
from ....instances.arrays import Floats
from ....instances.schedule import Schedule
from ...history import History
from ...irmp.response import Response, schedule_of
from ...result import Bound, Result, Stop
from ...signature import solver
from .columns import Columns, default_slots, floors, generate
from .placement import Choice, IntegerAnswer, IntegerProgram, place
from .pricing import Trials, needs
from .search import improved_runs

log = logging.getLogger("gangsched")


#: of the search for a first schedule
ITERATIONS = 500
#: relative distance between the linear program and its bound
LP_TOLERANCE = 1e-6
#: relative: less is an error of floats
NEAR = 1e-9
METHOD = "branch and bound"


@solver(of=Irmp)
def irmp_exact(problem: Irmp, *, time_limit: float | None) -> Result[Schedule]:
    """Return a schedule that earns most, with a proof.

    Parameters
    ----------
    problem : Irmp
        Not preemptive.
    time_limit : float, optional
        Seconds. When they are over, the best schedule and bound so far are returned; HiGHS looks at
        the time between its steps only.

    Returns
    -------
    Result
        OPTIMAL where proven. The bound has a certificate where that of the linear program is met
        or is the best known; else it is "branch and bound", which rests on HiGHS. After Ctrl-C the
        best schedule and bound so far, INTERRUPTED.

    Raises
    ------
    ValueError, TypeError
        For a preemptive problem or another one, or a time limit that is not positive.

    Notes
    -----
    Guarantee: without a time limit, an optimum, up to the tolerance 1e-6 of HiGHS, relative to the
    largest utility where that is below 1 or above 2**40. INFEASIBLE only where proven: not all jobs
    can run that must, or not all users can earn what they are promised.

    Exponential in the worst case. What counts is how close the linear program and the first
    schedule are: runs whose reduced value is further from 0 than that are never looked at. Each
    job has O(D slots hosts) runs, times the ways to share D workers among the classes of nodes.

    Examples
    --------
    Two jobs, one node; the one that loses more by waiting goes first.

    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> jobs = [ParameterServerJob(id=str(k), gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                            utility=Linear(-k, 100)) for k in (1, 2)]
    >>> problem = Irmp(Instance(Cluster([Node("s", 2, ps=1)]), jobs))
    >>> result = irmp_exact(problem)
    >>> result.objective, result.status.value
    (192.0, 'optimal')
    """
    if problem.preemptive:
        raise ValueError("irmp_exact: preemptive=True, runs here are of one segment")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"irmp_exact: time_limit={time_limit} is not positive")
    started = time.perf_counter()
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    chain = _Chain(problem, end, History(started))
    try:
        chain.run()
    except KeyboardInterrupt:
        log.warning("irmp_exact: interrupted, what was found is kept")
        chain.stop = Stop.INTERRUPTED
        columns = chain.columns or chain.relax(default_slots(problem), 0.0)
        if chain.best is None:
            chain.search(columns, 0)
    found, bound = chain.best, chain.bound()
    infeasible = chain.proven and found is None
    return Result.of(
        problem, found, solver="irmp_exact", stop=Stop.PROVEN if chain.proven else chain.stop,
        bound=None if infeasible else bound, infeasible=infeasible,
        runtime=time.perf_counter() - started, iterations=chain.rounds,
        history=chain.history.entries,
        info={"slots": chain.slots, "columns": chain.listed, "cuts": chain.cuts},
    )  # fmt: skip


@dataclass(slots=True, eq=False)
class _Chain:
    """What is known so far."""

    problem: Irmp
    deadline: float
    history: History
    best: Schedule | None = None
    value: float = -math.inf
    runs: list[Response] = field(default_factory=list)
    columns: Columns | None = None
    certified: Bound | None = None
    upper: float = math.inf
    proven: bool = False
    stop: Stop = Stop.TIME_LIMIT  # where nothing is proven
    rounds: int = 0
    slots: int = 0
    listed: int = 0
    cuts: int = 0

    def run(self) -> None:
        """Look at more and more slots, until more would be no use."""
        slots = default_slots(self.problem)
        while not self.solve(slots):
            slots *= 2

    def solve(self, slots: int) -> bool:
        """Look at so many slots; return whether more would be no use."""
        self.slots = slots
        left = self.deadline - time.monotonic()
        limit = None if math.isinf(left) else max(left / 2, 0.0)
        columns = self.relax(slots, limit)
        self.search(columns, ITERATIONS)
        if self.certified is not None and self.value == self.certified.value:
            self.proven = True
            return True
        left = self.deadline - time.monotonic()
        try:
            with limited(time.perf_counter() + left):
                master = self._master(columns)
        except OutOfTime:
            return True
        return self._choose(master)

    def _master(self, columns: Columns) -> _Master:
        """The integer program of all runs that may be part of something better."""
        priced = _Priced(self.problem, columns)
        choices = priced.choices(self.value)
        self.listed = len(choices)
        return _Master(self.problem, priced, choices)

    def relax(self, slots: int, time_limit: float | None) -> Columns:
        """Solve the linear program; keep its bound."""
        columns = self.columns = generate(
            self.problem, slots=slots, block=1, tolerance=LP_TOLERANCE, time_limit=time_limit
        )
        self.history.extend(columns.history)
        if self.certified is None or columns.bound.value < self.certified.value:
            self.certified = columns.bound
        return columns

    def search(self, columns: Columns, iterations: int) -> None:
        """Look for a schedule from the linear program's; keep it."""
        runs = improved_runs(self.problem, columns, iterations, self.deadline, self.history)
        if runs is not None:
            self.keep(runs)

    def keep(self, runs: list[Response]) -> bool:
        """Take a schedule if it is the best; return whether it is one."""
        schedule = schedule_of(runs)
        violations = self.problem.violations(schedule)
        if violations:
            log.warning("irmp_exact: a solution within tolerances is none: %s", violations[0])
            return False
        value = self.problem.objective(schedule)
        if value > self.value:
            self.best, self.value, self.runs = schedule, value, runs
            self.history.note(objective=value)
        return True

    def _choose(self, master: _Master) -> bool:
        """Rounds of the integer program; return whether more slots would be no use."""
        while True:
            answer = master.program.solve(self.deadline, master.start(self.runs))
            self.rounds += 1
            self.upper = min(self.upper, max(self.value, master.worth(answer.bound)))
            self.history.note(bound=self.upper)
            if answer.interrupted:
                self.stop = Stop.INTERRUPTED
            if answer.x is None:
                self.proven = answer.proven
                return True
            value = master.worth(float(np.dot(master.program.cost, answer.x)))
            if value <= self.value + NEAR * abs(self.value):
                self.proven = answer.proven
                return True
            if master.late(answer):
                return answer.interrupted or time.monotonic() >= self.deadline
            placed = place(
                self.problem, master.priced.classes, master.chosen(answer), self.deadline
            )
            if placed.runs is not None:
                self.proven = self.keep(placed.runs) and answer.proven
                return True
            if not placed.unplaced or not answer.proven or answer.interrupted:
                return True
            for choices in placed.unplaced:
                master.forbid(choices)
                self.cuts += 1

    def bound(self) -> Bound | None:
        """The best that is proven; the linear program's where no other is better."""
        assert self.certified is not None
        upper = self.value if self.proven else self.upper
        if not math.isfinite(upper) or upper >= self.certified.value:
            return self.certified
        return Bound(max(upper, self.value), METHOD)


class _Outline(NamedTuple):
    """A run but for its start, and its value less cost from each start on."""

    length: int
    host: int
    central: bool
    workers: tuple[int, ...]
    ps: int
    gains: Floats


class _Priced:
    """All runs at the prices of a linear program."""

    def __init__(self, problem: Irmp, columns: Columns) -> None:
        self.problem, self.classes = problem, columns.classes
        self.trials, self.need = Trials.of(problem, self.classes), needs(problem)
        prices = columns.slot_prices
        slots = prices.shape[2]
        #: (classes, 2, slots + 1): prices of all slots before
        self.sums = np.zeros((*prices.shape[:2], slots + 1))
        np.cumsum(prices, axis=2, out=self.sums[:, :, 1:])
        self.spent = float((self.classes.room * self.sums[:, :, -1]).sum())
        jobs = range(len(problem.jobs))
        #: (jobs, slots + 1)
        self.values = np.array([np.concatenate([[0.0], problem.values(j, slots)]) for j in jobs])
        #: (jobs,): what a job earns without a run; very little where it must run
        self.floor = floors(problem, self.classes, self.trials, slots)

    def choices(self, least: float) -> list[Choice]:
        """Runs that a schedule may have that earns more than `least`, which is no bound."""
        jobs = range(len(self.problem.jobs))
        most = self.floor.copy()
        for j in jobs:
            for outline in self._outlines(j):
                most[j] = max(most[j], outline.gains.max())
        if not np.isfinite(most).all():  # a job that must run and cannot
            return []
        room = self.spent + math.fsum(most) - least
        room += NEAR * (self.spent + float(np.abs(self.values).max(axis=1).sum()))
        return [choice for j in jobs for choice in self._near(j, float(most[j]) - room)]

    def _near(self, job: int, least: float) -> Iterator[Choice]:
        begin, values = int(self.trials.begin[job]), self.values[job]
        for outline in self._outlines(job):
            for k in np.flatnonzero(outline.gains >= least).tolist():
                start, end = begin + k, begin + k + outline.length
                if values[end] > self.floor[job]:
                    yield Choice(
                        job, start, end, float(values[end]), outline.host, outline.central,
                        outline.workers, outline.ps,
                    )  # fmt: skip

    def _outlines(self, job: int) -> Iterator[_Outline]:
        begin, slots = int(self.trials.begin[job]), self.sums.shape[2] - 1
        rows = self.trials.rows[self.trials.ptr[job] : self.trials.ptr[job + 1]].tolist()
        for model, central, workers, length in rows:
            if begin + length > slots:
                continue
            window = self.sums[:, :, begin + length :] - self.sums[:, :, begin : slots + 1 - length]
            values = self.values[job, begin + length :]
            ways = self._on_one if central else self._spread
            for host, held, ps in ways(model, workers):
                check_time()
                cost = np.array(held) @ window[:, 0] + ps * window[host, 1]
                yield _Outline(length, host, bool(central), held, ps, values - cost)

    def _on_one(self, model: int, workers: int) -> Iterator[tuple[int, tuple[int, ...], int]]:
        of = self.classes
        fits = (of.model == model) & (of.gpus >= workers) & (of.ps >= 1)
        for host in np.flatnonzero(fits).tolist():
            yield host, tuple(workers * (g == host) for g in range(len(of))), 1

    def _spread(self, model: int, workers: int) -> Iterator[tuple[int, tuple[int, ...], int]]:
        of = self.classes
        limits = np.where(of.model == model, of.gpus * of.count, 0).tolist()
        for held in divisions(workers, limits):
            for host in np.flatnonzero(of.ps >= 1).tolist():
                own = min(held[host], int(of.gpus[host]), workers - 1)
                ps = int(self.need[workers - own])
                if ps <= of.ps[host]:
                    yield host, held, ps


class _Master:
    """The integer program over listed runs; values relative to those without a run, in units."""

    def __init__(self, problem: Irmp, priced: _Priced, choices: list[Choice]) -> None:
        self.problem, self.priced, self.choices = problem, priced, choices
        free = np.isfinite(priced.floor)
        self.must = ~free
        self.floor = np.where(free, priced.floor, 0.0)
        self.base = math.fsum(self.floor)
        gains = [abs(choice.value - float(self.floor[choice.job])) for choice in choices]
        self.unit = _unit(max(gains, default=0.0))
        self.program = IntegerProgram()
        self.of_job: list[list[int]] = [[] for _ in problem.jobs]
        for choice in choices:
            gain = choice.value - float(self.floor[choice.job])
            x = self.program.add(gain / self.unit, 1.0)
            self.of_job[choice.job].append(x)
        for j, mine in enumerate(self.of_job):
            self.program.rows.append((float(self.must[j]), dict.fromkeys(mine, 1.0), 1.0))
        if choices:
            self._capacities()
        self._promises()

    def _capacities(self) -> None:
        """Most is in use in a slot in which a run can start."""
        workers = np.array([choice.workers for choice in self.choices])
        places = [(choice.start, choice.end, choice.host, choice.ps) for choice in self.choices]
        starts, ends, hosts, ps = np.array(places).T
        classes = self.priced.classes
        loads = [(workers[:, g], room) for g, room in enumerate(classes.room[:, 0].tolist())]
        loads += [(ps * (hosts == g), room) for g, room in enumerate(classes.room[:, 1].tolist())]
        for t in np.unique(starts).tolist():
            check_time()
            active = (starts <= t) & (t < ends)
            for load, room in loads:
                some = np.flatnonzero(active & (load > 0)).tolist()
                if some:
                    row = {x: float(load[x]) for x in some}
                    self.program.rows.append((-math.inf, row, float(room)))

    def _promises(self) -> None:
        for user, least in self.problem.alone.items():
            mine = [j for j in range(len(self.of_job)) if self.problem.user(j) == user]
            row = {x: self.program.cost[x] for j in mine for x in self.of_job[j]}
            least -= TOLERANCE * abs(least) + math.fsum(self.floor[mine].tolist())
            self.program.rows.append((least / self.unit, row, math.inf))

    def worth(self, objective: float) -> float:
        """What solutions of such an objective earn."""
        return self.base + objective * self.unit

    def forbid(self, choices: list[Choice]) -> None:
        """Not all of these, nor runs instead of them that need no less."""
        row = {
            x: 1.0
            for choice in choices
            for x in self.of_job[choice.job]
            if self.choices[x].needs_no_less(choice)
        }
        self.program.rows.append((-math.inf, row, len(choices) - 1.0))

    def chosen(self, answer: IntegerAnswer) -> list[Choice]:
        """The runs of a solution."""
        assert answer.x is not None
        return [self.choices[x] for x in np.flatnonzero(answer.x).tolist()]

    def late(self, answer: IntegerAnswer) -> bool:
        """Whether a job of a solution is complete after the last slot."""
        there = {choice.job for choice in self.chosen(answer)}
        pays = self.floor > 0 if self.problem.optional else ~self.must
        return any(pays[j] and j not in there for j in range(len(self.of_job)))

    def start(self, runs: list[Response]) -> list[float] | None:
        """Runs on nodes as a solution, where all of them are listed."""
        classes, x = self.priced.classes, [0.0] * len(self.choices)
        for run in runs:
            held = [0] * len(classes)
            for node, count in run.nodes.items():
                held[classes.of_node[node]] += count
            host = int(classes.of_node[next(iter(run.ps))])
            central = len({*run.ps, *(s for s, n in run.nodes.items() if n)}) == 1
            key = run.start, run.end, host, central, tuple(held)
            for i in self.of_job[run.job]:
                of = self.choices[i]
                if (of.start, of.end, of.host, of.central, of.workers) == key:
                    x[i] = 1.0
        return x if sum(x) == len(runs) and runs else None


def _unit(largest: float) -> float:
    """A power of two in which HiGHS can tell values from 0 and infinity; mostly 1."""
    if largest == 0 or 1 <= largest <= 2.0**40:
        return 1.0
    return 2.0 ** max(round(math.log2(largest)), -1000)
