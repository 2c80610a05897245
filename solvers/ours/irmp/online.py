"""IRMP as time goes on: jobs are known from their release, and never stopped once they run.

Not in the paper, whose online algorithm waits for batches of doubling length. Here all that wait
are planned anew whenever jobs arrive or end: one after another, in the order of a rule, each gets
the run that ends best on what is left of the cluster, running jobs and those planned before it
taken off. Only runs that start at once are kept; the rest of the plan is forgotten. A job that
waits may thus hold back those behind it for a start that it never makes.

Nothing is looked at of jobs that are not released, so what starts up to a time does not depend on
jobs released later. Jobs that can earn nothing any more are given up, if they may be left out.

No rule has a proven guarantee: jobs never stop, so one that runs alone on all workers keeps out
any number of better ones that come a slot later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Literal

import numpy as np

from ....formulations.irmp.problem import Irmp
from ....instances.schedule import Schedule
from ...irmp.response import MARGIN, Occupancy, Response, keep_facts, run_options, schedule_of
from ...irmp.result import TIES, result_of
from ...result import Result
from ...signature import solver

Rule = Literal["slope", "lp", "density", "spt", "fifo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineParams:
    """Parameters of :func:`online`.

    Parameters
    ----------
    by : {"slope", "lp", "density", "spt", "fifo"}
        The order in which jobs are planned.
    """

    by: Rule = "slope"


@solver(OnlineParams, of=Irmp)
def online(problem: Irmp, *, params: OnlineParams) -> Result[Schedule]:
    """Plan the jobs that wait in the order of a rule when some arrive or end, and start the first.

    Returns
    -------
    Result of Schedule
        Without a solution where jobs must run that do not, or a user earns less than alone.

    Raises
    ------
    ValueError, TypeError
        For another rule, or another problem.

    Notes
    -----
    A job's processing time d is that of its fastest run on the empty cluster, on D_w workers. The
    rules, at time t:

    "fifo": by release. Who comes later does not move those before: it is the same as to place each
    job for good when it arrives, unless runs of a job are worth the same, of which a later plan may
    take another one.

    "spt": by d, the shortest first.

    "density": by f(t + d) / (D_w d), the largest first: what a job earns for each slot of a worker
    if it starts now.

    "slope": by (f(t + d) - f(t + 2 d)) / (D_w d), the largest first: what a job loses for each slot
    of a worker if it has to wait for another one like it.

    "lp": by mean starts in the program of :mod:`.columns`, for the jobs that
    wait, on the workers and parameter servers that the running jobs leave, of all equal nodes
    together: no bound of anything, as these nodes are not equally occupied. It is solved anew when
    something is free for the first time after jobs have arrived; between arrivals its starts stay.
    Jobs that it leaves out come last; ties go to the larger slope.

    Guarantee: none, see the module. Complexity: at most n zero-price responses at each of 2n
    events; none where no worker or no parameter server is free. "lp" has one column generation a
    time of arrival besides, which takes most of the time.

    Examples
    --------
    A long job and a short one on one node, both there from the beginning:

    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> jobs = [ParameterServerJob(id=f"e{e}", gpus=2, epochs=e, minibatches=1, rates=(1, 0.5),
    ...                            utility=Linear(-1, 20)) for e in (5, 1)]
    >>> problem = Irmp(Instance(Cluster([Node("s", 2, ps=1)]), jobs))
    >>> [online(problem, params=OnlineParams(by=rule)).objective for rule in ("fifo", "spt")]
    [29.0, 33.0]
    """
    started = time.perf_counter()
    runs = _run(Planner(problem, params.by))
    name = "rolling_lp" if params.by == "lp" else f"online_{params.by}"
    return result_of(problem, schedule_of(runs), solver=name, started=started, info={"ties": TIES})


# --- the planner --------------------------------------------------------------------------------


@dataclass(slots=True)
class Planner:
    """What is known at a time, and what starts then.

    Parameters
    ----------
    problem : Irmp
    by : {"slope", "lp", "density", "spt", "fifo"}
        The rule, see :func:`online`.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> problem = reduced_problem(5)
    >>> planner = Planner(problem, "fifo")
    >>> [run.job for run in planner.starts(problem.earliest(0), [0])], planner.waiting
    ([0], [])
    """

    problem: Irmp
    by: str
    occupancy: Occupancy = field(init=False)
    now: int = field(default=0, init=False)
    #: by (release, number); without those that can be given up
    waiting: list[int] = field(default_factory=list, init=False)
    program: Any = field(default=None, init=False)
    means: dict[int, float] = field(default_factory=dict, init=False)  # starts in the program

    def __post_init__(self) -> None:
        if self.by not in ORDERS:
            raise ValueError(f"by={self.by!r} is not one of {', '.join(ORDERS)}")
        self.occupancy = Occupancy(self.problem)

    def starts(self, now: int, waiting: Sequence[int]) -> list[Response]:
        """Return the runs that start at a time when jobs have arrived or ended."""
        self.now = now
        self.waiting = [j for j in waiting if self.hopeful(j)]
        if not self.waiting or self.full:
            return []
        if self.by == "lp":
            self._solve_program()
        kept = self._kept(sorted(self.waiting, key=lambda job: ORDERS[self.by](self, job)))
        started = {run.job for run in kept}
        self.waiting = [j for j in self.waiting if j not in started]
        return kept

    def follow(self, problem: Irmp) -> None:
        """Go on with a problem that has more jobs, after those of now."""
        keep_facts(self.problem, problem)
        self.problem = self.occupancy.problem = problem
        if self.program is not None:
            self.program.problem = problem

    def save(self) -> dict[str, Any]:
        """Return what is taken of the cluster, and what the program has come to; plain data."""
        known = None if self.program is None else self.program.save()
        return {
            "free": self.occupancy.free,
            "busy": self.occupancy.busy,
            "means": [[j, start] for j, start in self.means.items()],
            "program": known,
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.occupancy.free, self.occupancy.busy = np.array(data["free"]), data["busy"]
        self.means = dict(data["means"])
        if data["program"] is not None:
            self._made_program().load(data["program"])

    def _made_program(self) -> Any:
        if self.program is None:
            from .rolling import RollingProgram  # HiGHS takes a while to import

            self.program = RollingProgram(self.problem)
        return self.program

    def _solve_program(self) -> None:
        """Solve the program anew where it does not know a job that waits."""
        if not self.means.keys() >= set(self.waiting):
            found = self._made_program().starts(self.waiting, self.occupancy, self.now)
            self.means.update(zip(self.waiting, found.tolist(), strict=True))

    def _kept(self, order: Sequence[int]) -> list[Response]:
        """Plan, and keep what starts now."""
        occupancy, busy = self.occupancy, self.occupancy.busy
        planned: list[Response] = []
        kept: list[Response] = []
        try:
            for job in order:
                if self.full:
                    break
                run = occupancy.best(job, begin=self.now)
                if run is not None and self.accepts(run.value):
                    occupancy.take(run)
                    planned.append(run)
            kept = [run for run in planned if run.start == self.now]
        finally:  # a plan that was interrupted leaves nothing
            started = {run.job for run in kept}
            for run in planned:
                if run.job not in started:
                    occupancy.give_back(run)
            occupancy.busy = max([busy, *(run.end for run in kept)])
        return kept

    def fastest(self, job: int) -> tuple[int, int]:
        """Return slots and worker-slots of the job's fastest run on the empty cluster."""
        options = run_options(self.problem, job)
        work = options.workers * options.slots
        best = int(np.lexsort((work, options.slots))[0])
        return int(options.slots[best]), int(work[best])

    def hopeful(self, job: int) -> bool:
        """Return whether a run that starts now, or later, can be accepted at all."""
        if not run_options(self.problem, job).slots.size:
            return False
        end = self.now + self.fastest(job)[0]
        late = self.problem.horizon is not None and end > self.problem.horizon
        return not late and self.accepts(self.problem.value(job, end))

    def accepts(self, value: float) -> bool:
        """Return whether a job of such worth is run."""
        return value > MARGIN or not self.problem.optional

    @property
    def full(self) -> bool:
        """Whether no run can start now."""
        self.occupancy.reach(self.now)
        return bool((self.occupancy.free[:, :, self.now].max(axis=1) == 0).any())


def _density(planner: Planner, job: int) -> float:
    slots, work = planner.fastest(job)
    return planner.problem.value(job, planner.now + slots) / work


def _slope(planner: Planner, job: int) -> float:
    slots, work = planner.fastest(job)
    value, end = planner.problem.value, planner.now + slots
    return (value(job, end) - value(job, end + slots)) / work


#: the least first, ties by (release, number)
ORDERS: dict[str, Callable[[Planner, int], Any]] = {
    "fifo": lambda planner, job: 0,
    "spt": lambda planner, job: planner.fastest(job)[0],
    "density": lambda planner, job: -_density(planner, job),
    "slope": lambda planner, job: -_slope(planner, job),
    "lp": lambda planner, job: (planner.means[job], -_slope(planner, job)),
}


# --- the loop -------------------------------------------------------------------------------------


def _run(planner: Planner) -> list[Response]:
    """What starts, in the order of starts."""
    problem, runs = planner.problem, []
    waiting: list[int] = []
    ends: list[int] = []  # of running jobs, a heap
    arrivals = sorted(((problem.earliest(j), j) for j in range(len(problem.jobs))), reverse=True)
    while arrivals or (waiting and ends):
        now = min([t for t, _ in arrivals[-1:]] + ends[:1])
        while ends and ends[0] == now:
            heappop(ends)
        while arrivals and arrivals[-1][0] == now:
            waiting.append(arrivals.pop()[1])
        for run in planner.starts(now, waiting):
            runs.append(run)
            heappush(ends, run.end)
        waiting = list(planner.waiting)
    return runs
