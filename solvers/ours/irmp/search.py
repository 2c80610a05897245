"""Large-neighbourhood search for IRMP: take a few jobs out, put them back in another order.

Not in the paper. What the lists of `lists` leave over is mostly a matter of order: which job
goes first where two want the same nodes. So some jobs are taken out, of all, of about one time,
or of one node, and run again one after another, each in the best run that still fits; the
schedule is kept if it earns no less (Shaw 1998).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....formulations.irmp.problem import TOLERANCE, Irmp
from ....instances.check import integer
from ....instances.schedule import Schedule
from ...history import History
from ...irmp.response import Occupancy, Response, schedule_of
from ...result import Bound, Result, Stop
from ...signature import solver
from .columns import Columns, generate
from .orders import accept, by_order

#: what is missing of what must be, negated, and what is earned
Score = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevenueSearchParams:
    """Parameters of the search.

    Parameters
    ----------
    iterations : int
        Neighbours that are looked at, at least 0.
    most : int
        Jobs that are taken out at a time, at most; at least 1.
    """

    iterations: int = 1000
    most: int = 8

    def __post_init__(self) -> None:
        for name, least in (("iterations", 0), ("most", 1)):
            integer(self, "RevenueSearchParams", name, least=least)


@solver(RevenueSearchParams, of=Irmp)
def revenue_search(
    problem: Irmp, *, seed: int, time_limit: float | None, params: RevenueSearchParams
) -> Result[Schedule]:
    """Improve the list schedule of the linear program by large-neighbourhood search.

    Parameters
    ----------
    problem : Irmp
    seed : int
    time_limit : float, optional
        Seconds, at most half of them for the linear program. Only with it can an answer depend on
        the machine.
    params : RevenueSearchParams

    Returns
    -------
    Result
        With the bound of the linear program and its certificate. OPTIMAL where the bound is met,
        which ends the search.

    Raises
    ------
    ValueError, TypeError
        For another problem, or a time limit below 0.

    Notes
    -----
    Guarantee: none of its own; it earns no less than the lists of :func:`~.lists.lp_list`, and so
    no less than any job alone, and the gap of the result is proven.

    An iteration takes out up to `most` jobs, chosen at random, around a time, or on a node, and
    adds as many of those left out. They come back in random order or in that of the linear program.
    Where jobs must run, or users earn something, what is missing counts before revenue; a schedule
    that misses any is not returned.

    An iteration costs up to 2 `most` best runs at price 0, and O(jobs).

    References
    ----------
    P. Shaw. Using constraint programming and local search methods to solve vehicle routing
    problems. CP 1998.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> problem = reduced_problem(8, servers=10)
    >>> result = revenue_search(problem, params=RevenueSearchParams(iterations=100))
    >>> result.gap < 0.05
    True
    """
    started = time.perf_counter()
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    columns = generate(problem, time_limit=None if time_limit is None else time_limit / 2)
    history = History(started)
    history.extend(columns.history)
    search = _Search(problem, columns, seed, history)
    first = search.score
    done, stop = search.improve(params, end, columns.bound)
    found = schedule_of(search.runs.values()) if search.complete else None
    return Result.of(
        problem, found, solver="revenue_search", stop=stop, bound=columns.bound,
        runtime=time.perf_counter() - started, iterations=done, history=history.entries,
        info={"seed": seed, "most": params.most, "start": first[1]},
    )  # fmt: skip


def improved_runs(
    problem: Irmp, columns: Columns, iterations: int, deadline: float, history: History, *,
    seed: int = 0,
) -> list[Response] | None:  # fmt: skip
    """Return what the search finds from a linear program, None where it misses what must be."""
    search = _Search(problem, columns, seed, history)
    search.improve(RevenueSearchParams(iterations=iterations), deadline, columns.bound)
    return list(search.runs.values()) if search.complete else None


class _Search:
    """A schedule, and ways to change it."""

    def __init__(self, problem: Irmp, columns: Columns, seed: int, history: History) -> None:
        self.problem, self.history = problem, history
        self.rng = np.random.default_rng(seed)
        self.rank = {job: place for place, job in enumerate(columns.order)}
        made = [{run.job: run for run in runs} for runs in by_order(problem, columns)]
        self.runs = max(made, key=self._score)
        self.score = self._score(self.runs)
        self.occupancy = Occupancy(problem, slots=int(columns.ends[-1]))
        for run in self.runs.values():
            self.occupancy.take(run)
        self._note()

    def _note(self) -> None:
        if self.complete:
            self.history.note(objective=self.score[1])

    @property
    def complete(self) -> bool:
        """Whether nothing is missing of what must be."""
        return self.score[0] == 0

    def _score(self, runs: dict[int, Response]) -> Score:
        missing = 0.0 if self.problem.optional else float(len(self.problem.jobs) - len(runs))
        for user, least in self.problem.alone.items():
            mine = [run.value for run in runs.values() if self.problem.user(run.job) == user]
            short = least - math.fsum(mine)
            missing += short if short > TOLERANCE * abs(least) else 0.0
        return -missing, math.fsum(run.value for run in runs.values())

    def improve(
        self, params: RevenueSearchParams, deadline: float, bound: Bound
    ) -> tuple[int, Stop]:
        """Look at neighbours; return how many, and why no more."""
        for iteration in range(params.iterations):
            if self.complete and self.score[1] == bound.value:
                return iteration, Stop.PROVEN
            if time.monotonic() >= deadline:
                return iteration, Stop.TIME_LIMIT
            self._step(params.most)
        proven = self.complete and self.score[1] == bound.value
        return params.iterations, Stop.PROVEN if proven else Stop.COMPLETED

    def _step(self, most: int) -> None:
        count = int(self.rng.integers(1, most + 1))
        out = [self.runs[job] for job in self._chosen(count)]
        left = [job for job in range(len(self.problem.jobs)) if job not in self.runs]
        jobs = [run.job for run in out] + self._some(left, count)
        for run in out:
            self.occupancy.give_back(run)
            del self.runs[run.job]
        new = self._repaired(jobs)
        score = self._score(self.runs)
        if score >= self.score:
            better, self.score = score > self.score, score
            if better:
                self._note()
            return
        for run in new:
            self.occupancy.give_back(run)
            del self.runs[run.job]
        for run in out:
            self.occupancy.take(run)
            self.runs[run.job] = run

    def _some(self, jobs: Sequence[int], count: int) -> list[int]:
        if len(jobs) <= count:
            return list(jobs)
        return [int(j) for j in self.rng.choice(jobs, size=count, replace=False)]

    def _chosen(self, count: int) -> list[int]:
        """Jobs to take out: of all, of about one time, or of one node."""
        jobs = sorted(self.runs)
        way = int(self.rng.integers(3))
        if not jobs or way == 0:
            return self._some(jobs, count)
        pivot = self.runs[jobs[int(self.rng.integers(len(jobs)))]]
        if way == 1:
            jobs.sort(key=lambda job: abs(self.runs[job].start - pivot.start))
            return jobs[:count]
        nodes = sorted({*pivot.nodes, *pivot.ps})
        node = nodes[int(self.rng.integers(len(nodes)))]
        on = [j for j in jobs if node in self.runs[j].nodes or node in self.runs[j].ps]
        return self._some(on, count)

    def _repaired(self, jobs: list[int]) -> list[Response]:
        """Put jobs back, those that are worth it; return their runs."""
        order = sorted(jobs, key=self.rank.__getitem__)
        if self.rng.random() < 0.5:
            order = [order[i] for i in self.rng.permutation(len(order))]
        new: list[Response] = []
        for job in order:
            accept(self.problem, self.occupancy, self.occupancy.best(job), new)
        self.runs.update((run.job, run) for run in new)
        return new
