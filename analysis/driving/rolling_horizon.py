"""Plan ahead with an offline solver, follow the plan, and plan again: a solver as a policy.

At every step the waiting and running jobs of a window become a problem of their own, which any
function ``problem -> Result`` may solve. Its solution is the plan: jobs get GPUs in the order in
which they hold them in the plan, until the next step. Where the solver finds nothing within its
limits, or fails, the last plan goes on (the *cached decision*).

Source of the cached decision: W. Gao et al., "UniSched", Section III, "Solving the optimization":
when the solver does not answer in time, the solution of the previous cycle is used. There its jobs
are fixed and the rest is solved again at once; here everything is solved again at the next step.
"""

from __future__ import annotations

import inspect
import logging
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...formulations.completion_time.problem import CompletionTime, Measure
from ...formulations.ltgf.round import LtgfRound
from ...instances import Cluster, Instance, Job, Schedule, Segment, User
from ...instances.check import at_least
from ...solvers.ltgf.round import one_round
from ...solvers.policy import Decision, Information, Ints, Phase, Preempts, Rules, State
from ...solvers.result import Result, Status, Stop

log = logging.getLogger("gangsched")

Times = tuple[tuple[int, int], ...]


class HorizonPlan:
    """When jobs are to hold their GPUs, in seconds of the run.

    Parameters
    ----------
    times : mapping of int to iterable of (int, int)
        [start, end) by job, in any order; those that meet become one.

    Attributes
    ----------
    times : dict of int to tuple of (int, int)

    Examples
    --------
    >>> plan = HorizonPlan({7: [(60, 120), (0, 60)], 3: [(120, 180)]})
    >>> plan.times[7], plan.order([5, 3, 7], now=30), plan.next_end(now=30)
    (((0, 120),), [7, 3, 5], 120)
    """

    __slots__ = ("_ends", "times")

    def __init__(self, times: Mapping[int, Iterable[tuple[int, int]]]) -> None:
        self.times = {j: _joined(parts) for j, parts in times.items()}
        self._ends = sorted({end for parts in self.times.values() for _, end in parts})

    def order(self, jobs: Iterable[int], now: int) -> list[int]:
        """Return `jobs` by the start of the part of their plan that is not over.

        A job whose plan is over, and which should have finished, counts from its last start; jobs
        that are not in the plan come last. Ties stay as given.
        """
        return sorted(jobs, key=lambda j: self._start(int(j), now))

    def next_end(self, now: int) -> int | None:
        """Return when the order can next differ: the first end of a part after `now`."""
        place = bisect_right(self._ends, now)
        return self._ends[place] if place < len(self._ends) else None

    def _start(self, job: int, now: int) -> float:
        parts = self.times.get(job)
        if not parts:
            return math.inf
        return next((start for start, end in parts if end > now), parts[-1][0])


def _joined(parts: Iterable[tuple[int, int]]) -> Times:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Window:
    """The problem of one step.

    Parameters
    ----------
    problem : Problem
        Its solutions are schedules, or tuples of the positions of the jobs that run next.
    jobs : sequence of int
        The job of the run that each job of the problem is.
    slot : int
        Seconds of the unit of a schedule's times; a schedule begins now.
    start : callable () -> solution, optional
        Makes a feasible one; called if the solver takes a `warm_start`.
    """

    problem: Any
    jobs: Sequence[int] | Ints
    slot: int = 1
    start: Callable[[], Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The outcome of one step of planning.

    Parameters
    ----------
    time : int
        Seconds.
    jobs : int
        Jobs of the window.
    cached : bool
        True when the last plan went on; before the first plan that is release order.
    status : Status or None
        None where the solver was not called, or raised.
    stop : Stop or None
        Why the solver stopped: at a time limit the outcome depends on the machine.
    objective, bound, gap : float or None
        Of the problem of the window, in its units.
    start : float or None
        Objective of the solution that the solver was given to start from.
    error : str
        What the solver raised; empty otherwise.
    seconds : float or None
        Wall time of making and solving the problem. Neither compared nor saved with a run: None in
        steps from before a resumption.
    """

    time: int
    jobs: int
    cached: bool
    status: Status | None = None
    stop: Stop | None = None
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    start: float | None = None
    error: str = ""
    seconds: float | None = field(default=None, compare=False)


def _step_to_dict(step: Step) -> dict[str, Any]:
    data = {part.name: getattr(step, part.name) for part in fields(Step)}
    del data["seconds"]
    for name in ("status", "stop"):
        data[name] = None if data[name] is None else data[name].value
    return data


def _step_of_dict(data: Mapping[str, Any]) -> Step:
    status, stop = data["status"], data["stop"]
    return Step(
        **{
            **data,
            "status": None if status is None else Status(status),
            "stop": None if stop is None else Stop(stop),
        }
    )


MakeProblem = Callable[[State, Ints, HorizonPlan], Window]
Solver = Callable[..., Result[Any]]


@dataclass(init=False, eq=False)
class RollingHorizon:
    """A policy that follows the plans of an offline solver.

    Parameters
    ----------
    make_problem : callable (state, jobs, plan) -> Window
        Makes the problem of `jobs`, numbers of active jobs in release order, at `state`; the last
        plan is there to start from. Ready-made: :class:`CompletionTimeWindow`,
        :class:`LtgfRoundWindow`.
    solver : callable problem -> Result
        Any. Where it, or its `params`, has parameters of these names, it gets `work_limit`,
        `time_limit` (the wall limit) and `warm_start`.
    window : int
        Most jobs of a problem: the first by (release, number) that wait or run.
    step : int
        Seconds between two plans, rounded up to rounds; plans are made at its multiples, and at the
        first round with a waiting job thereafter if there is none at that time. Other rounds
        follow the last plan, so that jobs that arrive in between come last.
    work_limit : int
        What the solver may do at one step, in a unit of its own (branch and bound: nodes), so that
        runs can be repeated anywhere. With 0 it is never called.
    wall_limit : float, optional
        Seconds that it may take at one step. Runs with such a limit need not repeat.
    preempts : Preempts
        Which running jobs may be stopped; with NEVER a plan only orders the waiting ones.

    Attributes
    ----------
    problem, solver : str
        How `make_problem` and the solver are called, for the record of the run.
    steps : list of Step
        One for each plan of the last run.

    Raises
    ------
    ValueError, TypeError
        For numbers out of range, or a wall limit that the solver does not take.

    Notes
    -----
    Jobs that the plan has now come first, then those that it has later, then the others in release
    order; who finds no room gives way to the next (the driver's backfill). Whatever the solver
    does, no GPUs stay idle that a waiting job could have.

    Guarantee: none in general. If all jobs are known at the start and in the window, every step is
    solved to optimality, leases and slots are as short as rounds, resuming is free and gangs may
    spread, then the run is an optimum of the offline problem of completion times in whole slots.

    Time that the solver takes does not pass in the run.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="long", gpus=2, work=1800), Job(id="short", gpus=2, work=600)]
    >>> policy = plan_completion_times(window=4, step=600)
    >>> run = drive(Instance(Cluster.of_sizes([2]), jobs), policy, lease=600, round_length=600)
    >>> run.records.end.tolist(), policy.steps[0].status.value, policy.steps[0].objective
    ([2400, 600], 'optimal', 5)
    """

    name: ClassVar[str] = "rolling-horizon"
    one_model: ClassVar[bool] = True
    information: ClassVar[Information] = "known"
    problem: str
    solver: str
    window: int
    step: int
    work_limit: int
    wall_limit: float | None
    preempts: Preempts

    def __init__(
        self,
        make_problem: MakeProblem,
        solver: Solver,
        *,
        window: int,
        step: int,
        work_limit: int = 100,
        wall_limit: float | None = None,
        preempts: Preempts = Preempts.LEASE,
    ) -> None:
        self.problem, self.solver = _label(make_problem), _label(solver)
        self.window = at_least("rolling horizon: window", window, 1)
        self.step = at_least("rolling horizon: step", step, 1)
        self.work_limit = at_least("rolling horizon: work_limit", work_limit, 0)
        self.wall_limit = wall_limit
        self.preempts = Preempts(preempts)
        self._make_problem: MakeProblem = make_problem
        self._solver: Solver = solver
        self._takes = tuple(inspect.signature(solver).parameters)
        self._params = _params_of(solver)
        own = () if self._params is None else fields(self._params)
        self._among = tuple(part.name for part in own)  # names of what its `params` hold
        self._check()
        self._last: Plans | None = None

    def _check(self) -> None:
        if self.wall_limit is not None and not self.wall_limit >= 0:
            raise ValueError(f"rolling horizon: wall_limit={self.wall_limit} is negative")
        if self.wall_limit is not None and "time_limit" not in self._takes:
            raise ValueError(
                f"rolling horizon: wall_limit={self.wall_limit}, but solver {self.solver} has no "
                "parameter time_limit"
            )

    @property
    def steps(self) -> list[Step]:
        """One for each plan of the run that began last."""
        return [] if self._last is None else self._last.steps

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Plans:
        """Begin a session.

        Parameters
        ----------
        cluster : Cluster
            Not used.
        users : sequence of User
            Not used.
        rules : Rules
            Not used.
        """
        self._last = Plans(self)
        return self._last


class Plans:
    """A rolling horizon in one run: its plan, and what came of each step.

    Parameters
    ----------
    policy : RollingHorizon
    """

    def __init__(self, policy: RollingHorizon) -> None:
        self.policy = policy
        self.steps: list[Step] = []
        self._plan, self._next = HorizonPlan({}), 0

    def save(self) -> dict[str, Any]:
        """Return plan and steps, as plain data; without wall times."""
        return {
            "steps": [_step_to_dict(step) for step in self.steps],
            "plan": [[j, [list(part) for part in parts]] for j, parts in self._plan.times.items()],
            "next": self._next,
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Continue from saved data."""
        self.steps = [_step_of_dict(step) for step in data["steps"]]
        self._plan = HorizonPlan({j: [(a, b) for a, b in parts] for j, parts in data["plan"]})
        self._next = data["next"]

    def decide(self, state: State) -> Decision:
        """Return the candidates in the order of the plan, which is made anew at steps."""
        if state.now >= self._next:
            self._make_plan(state)
            step = state.rules.round_up(self.policy.step)
            self._next = (state.now // step + 1) * step
        return Decision(order=self._plan.order(state.candidates.tolist(), state.now))

    def next_change(self, state: State) -> int:
        """Return the next step, or when a part of the plan ends before it."""
        end = self._plan.next_end(state.now)
        return self._next if end is None else min(end, self._next)

    # --- planning ---

    def _make_plan(self, state: State) -> None:
        started = time.perf_counter()
        active = np.concatenate([state.waiting, state.running])
        jobs = active[np.argsort(state.rank[active], kind="stable")][: self.policy.window]
        window = self.policy._make_problem(state, jobs, self._plan)
        known: dict[str, Any] = {"time": state.now, "jobs": len(window.jobs)}
        plan = None
        if len(window.jobs) and self.policy.work_limit and self.policy.wall_limit != 0:
            plan, outcome = self._solve(window, state)
            known |= outcome
        seconds = time.perf_counter() - started
        self.steps.append(Step(**known, cached=plan is None, seconds=seconds))
        self._plan = plan or self._plan

    def _solve(self, window: Window, state: State) -> tuple[HorizonPlan | None, dict[str, Any]]:
        """A plan, or None, and what is to be recorded."""
        policy = self.policy
        known: dict[str, Any] = {"work_limit": policy.work_limit, "time_limit": policy.wall_limit}
        outcome: dict[str, Any] = {}
        if "warm_start" in (*policy._takes, *policy._among):
            start = known["warm_start"] = None if window.start is None else window.start()
            outcome["start"] = None if start is None else window.problem.objective(start)
        taken = {name: value for name, value in known.items() if name in policy._takes}
        among = {name: value for name, value in known.items() if name in policy._among}
        if among:
            taken["params"] = replace(policy._params, **among)
        try:
            result = policy._solver(window.problem, **taken)
        except Exception as error:  # whatever it is, the last plan goes on
            text = f"{type(error).__name__}: {error}"
            log.warning("%s at %d: the last plan goes on: %s", self.policy.solver, state.now, text)
            return None, outcome | {"error": text}
        if result.stop is Stop.INTERRUPTED:  # what was found so far depends on the moment
            raise KeyboardInterrupt
        outcome |= {
            "status": result.status,
            "stop": result.stop,
            "objective": result.objective,
            "bound": None if result.bound is None else result.bound.value,
            "gap": result.gap,
        }
        if result.solution is None:
            return None, outcome
        return _plan_of(window, result.solution, state), outcome


def _plan_of(window: Window, solution: Any, state: State) -> HorizonPlan:
    """When the jobs of the run hold GPUs in a solution; those that run next do for one lease."""
    now, slot = state.now, window.slot
    if not isinstance(solution, Schedule):
        lease = now, state.rules.lease_end(now)
        return HorizonPlan({int(window.jobs[i]): [lease] for i in solution})
    times: dict[int, list[tuple[int, int]]] = {}
    for row in solution:
        part = now + row.start * slot, now + row.end * slot
        times.setdefault(int(window.jobs[row.job]), []).append(part)
    return HorizonPlan(times)


def _params_of(solver: Solver) -> Any:
    """The default `params` of a solver, where these are a dataclass."""
    params = inspect.signature(solver).parameters.get("params")
    return params.default if params is not None and is_dataclass(params.default) else None


def _label(made: Any) -> str:
    """What a callable is called, the same in every process."""
    if isinstance(made, partial):
        values = [*map(repr, made.args), *(f"{k}={v!r}" for k, v in made.keywords.items())]
        return f"{_label(made.func)}({', '.join(values)})"
    if is_dataclass(made) and not isinstance(made, type):
        return repr(made)
    return str(getattr(made, "__qualname__", type(made).__qualname__))


# --- completion times ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionTimeWindow:
    """Makes the problem of completion times of the jobs of a window.

    Parameters
    ----------
    measure : {"makespan", "completion", "flow", "slowdown"}
        As of :class:`~gangsched.formulations.CompletionTime`.
    weighted : bool
        Whether jobs have their weights.
    slots : int
        Into how many slots the work of the window is divided, at most: a slot is the least multiple
        of the lease with which it is. Each job has at least one slot of its own in any case.

    Notes
    -----
    Work is what is left of it, with the overhead of a resumption, rounded up to slots. All GPUs
    count as one node, as gangs of this problem may spread. A lease that is not over is not known to
    the problem: steps should be multiples of the lease.

    The solution to start from: each job keeps the slots that the last plan gives it, as far as
    jobs before it in that plan have left them free, then takes the first free ones.

    Examples
    --------
    >>> CompletionTimeWindow(measure="slowdown").slots
    12
    """

    measure: Measure = "flow"
    weighted: bool = False
    slots: int = 12

    def __call__(self, state: State, jobs: Ints, plan: HorizonPlan) -> Window:
        """Return the problem of `jobs`."""
        work = state.remaining(jobs) + _overhead(state, jobs)
        lease = state.rules.lease_length
        slot = lease * max(1, math.ceil(int(work.sum()) / (lease * self.slots)))
        weight = state.weight[jobs] if self.weighted else np.ones(jobs.size)
        if self.measure == "slowdown":
            weight = weight / state.work[jobs]
        gangs = [
            Job(id=str(j), gpus=int(state.gpus[j]), work=-(-int(p) // slot), weight=float(w))
            for j, p, w in zip(jobs.tolist(), work, weight, strict=True)
        ]
        problem = CompletionTime(
            Instance(Cluster.of_sizes([int(state.sizes.sum())]), gangs),
            "makespan" if self.measure == "makespan" else "completion",
            self.measure != "makespan" and (self.weighted or self.measure == "slowdown"),
        )
        start = partial(_shifted, problem, jobs.tolist(), plan, state.now, slot)
        return Window(problem=problem, jobs=jobs, slot=slot, start=start)


def _overhead(state: State, jobs: Ints) -> Ints:
    """Seconds of overhead that each job has before it, when it is next given GPUs or now."""
    waits = state.phase[jobs] == Phase.WAITING
    resumed = state.starts[jobs] > np.where(waits, 0, 1)
    whole = np.where(resumed, state.rules.overhead, 0)
    left: Ints = np.where(waits, whole, np.maximum(0, state.since[jobs] + whole - state.now))
    return left


def _shifted(
    problem: CompletionTime, jobs: list[int], plan: HorizonPlan, now: int, slot: int
) -> Schedule:
    """The last plan from now on, as far as it is feasible, and what is missing after it."""
    free = [problem.instance.cluster.gpus] * sum(job.work or 0 for job in problem.jobs)
    rows = []
    position = {j: i for i, j in enumerate(jobs)}
    for j in plan.order(jobs, now):
        job = problem.jobs[position[j]]
        planned = {
            t
            for start, end in plan.times.get(j, ())
            for t in range(max(0, -(-(start - now) // slot)), -(-(end - now) // slot))
        }
        fits = [t for t, room in enumerate(free) if room >= job.gpus]
        for t in sorted(fits, key=lambda t: (t not in planned, t))[: job.work]:
            free[t] -= job.gpus
            rows.append(Segment(position[j], t, t + 1, {0: job.gpus}))
    return Schedule.of(rows)


def plan_completion_times(
    *,
    measure: Measure = "flow",
    weighted: bool = False,
    slots: int = 12,
    window: int = 4,
    step: int = 900,
    work_limit: int = 100,
    wall_limit: float | None = None,
) -> RollingHorizon:
    """Return a policy that minimises completion times by branch and bound, a few jobs at a time.

    Examples
    --------
    >>> plan_completion_times(measure="slowdown").solver
    'branch_and_bound'
    """
    from ...solvers.exact import branch_and_bound  # Pyomo takes a second to import

    return RollingHorizon(
        CompletionTimeWindow(measure=measure, weighted=weighted, slots=slots),
        branch_and_bound,
        window=window,
        step=step,
        work_limit=work_limit,
        wall_limit=wall_limit,
    )


# --- rounds of LTGF ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LtgfRoundWindow:
    """Makes the problem of who gets the next lease, one round of LTGF.

    Notes
    -----
    Users' fair shares are min(demand, quota), Ye et al. (8); what running jobs will still hold
    within their leases counts as attained, as in :class:`~gangsched.solvers.LtgfPolicy`.
    """

    def __call__(self, state: State, jobs: Ints, plan: HorizonPlan) -> Window:
        """Return the problem of those of `jobs` that may get GPUs now."""
        now = state.now
        candidates = jobs[np.isin(jobs, state.candidates)]
        attained = state.user_attained.copy()
        held = state.running[~np.isin(state.running, state.preemptible)]
        still = np.maximum(0, state.lease_end[held] - now)
        np.add.at(attained, state.user[held], state.gpus[held] * still)
        problem = LtgfRound(
            gpus=state.capacity,
            lease=state.rules.lease_end(now) - now,
            attained=attained.tolist(),
            fair=state.user_fair.tolist(),
            share=state.user_share.tolist(),
            jobs=[(int(state.user[j]), int(state.gpus[j])) for j in candidates],
        )
        return Window(problem=problem, jobs=candidates)


def plan_ltgf_rounds(*, window: int = 1000, step: int = 900) -> RollingHorizon:
    """Return a policy that makes every round of leases leximin optimal for the users.

    Where :class:`~gangsched.solvers.LtgfPolicy` picks greedily, this solves the round exactly, by
    counts of GPUs; placement may still turn a pick away.

    Examples
    --------
    >>> plan_ltgf_rounds().solver
    'one_round'
    """
    return RollingHorizon(LtgfRoundWindow(), one_round, window=window, step=step)
