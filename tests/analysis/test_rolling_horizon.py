"""Plans of offline solvers, followed by the driver, against brute force and after a break."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driven import Case, cases, checked, one_run
from few import each_seed
from gangsched.analysis.driving.drive import interrupted_run
from gangsched.analysis.driving.rolling_horizon import (
    CompletionTimeWindow,
    HorizonPlan,
    LtgfRoundWindow,
    Plans,
    RollingHorizon,
    Step,
    Window,
    plan_completion_times,
    plan_ltgf_rounds,
)
from gangsched.analysis.proofs.completion_time import online_bound
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job, Schedule, Segment, User
from gangsched.solvers import Fifo, Preempts, Result, Status, Stop
from gangsched.solvers.exact import branch_and_bound
from preemptive import Row, optimum, problem_of
from reference_driver import drive

# --- solvers to plan with ------------------------------------------------------------------------


def by_order(problem: CompletionTime, order: list[int], solver: str) -> Result[Schedule]:
    """Jobs in an order, each in the first slots in which it fits."""
    free: dict[int, int] = {}
    rows = []
    for j in order:
        job, t, left = problem.jobs[j], 0, problem.jobs[j].work or 0
        while left:
            if free.setdefault(t, problem.instance.cluster.gpus) >= job.gpus:
                free[t] -= job.gpus
                left -= 1
                rows.append(Segment(j, t, t + 1, {0: job.gpus}))
            t += 1
    return Result.of(problem, Schedule.of(rows), solver=solver, stop=Stop.COMPLETED)


def smallest_first(problem: CompletionTime) -> Result[Schedule]:
    """By GPUs times work."""
    area = [job.gpus * (job.work or 0) for job in problem.jobs]
    return by_order(problem, sorted(range(len(area)), key=area.__getitem__), "smallest_first")


def in_release_order(problem: CompletionTime) -> Result[Schedule]:
    """As the jobs come."""
    return by_order(problem, list(range(len(problem.jobs))), "in_release_order")


def last_first(problem: CompletionTime) -> Result[Schedule]:
    """The last job of the window before all others."""
    return by_order(problem, list(range(len(problem.jobs)))[::-1], "last_first")


def in_turns(problem: CompletionTime) -> Result[Schedule]:
    """One slot of each job, then again."""
    rows, left, t = [], [job.work or 0 for job in problem.jobs], 0
    while any(left):
        for j, job in enumerate(problem.jobs):
            if left[j]:
                rows.append(Segment(j, t, t + 1, {0: job.gpus}))
                left[j], t = left[j] - 1, t + 1
    return Result.of(problem, Schedule.of(rows), solver="in_turns", stop=Stop.COMPLETED)


def longest_first(problem: CompletionTime) -> Result[Schedule]:
    """By the work that is left, the most first."""
    order = sorted(range(len(problem.jobs)), key=lambda j: -(problem.jobs[j].work or 0))
    return by_order(problem, order, "longest_first")


def start_kept(problem: CompletionTime, *, warm_start: Schedule) -> Result[Schedule]:
    """What it could start from, unchanged."""
    return Result.of(problem, warm_start, solver="start_kept", stop=Stop.COMPLETED)


def nothing(problem: Any) -> Result[Any]:
    """Finds nothing."""
    return Result.of(problem, None, solver="nothing", stop=Stop.ITERATION_LIMIT)


def broken(problem: Any) -> Result[Any]:
    """Fails."""
    raise RuntimeError("out of memory")


def once(problem: CompletionTime, *, first: list[bool]) -> Result[Schedule]:
    """Puts the last job first, the first time; finds nothing from then on."""
    if not first:
        return nothing(problem)
    first.clear()
    return last_first(problem)


def interrupted(problem: Any) -> Result[Any]:
    """As a solver that somebody has stopped."""
    return Result.of(problem, None, solver="interrupted", stop=Stop.INTERRUPTED)


def policy_of(solver: Any, **more: Any) -> RollingHorizon:
    how = {"window": 50, "step": 120, **more}
    return RollingHorizon(CompletionTimeWindow(slots=30), solver, **how)


# --- the driver's promises -----------------------------------------------------------------------

SOLVERS = [smallest_first, in_release_order, last_first, start_kept, nothing, broken]


@settings(deadline=None, max_examples=15)
@given(
    cases(),
    st.sampled_from(SOLVERS),
    st.integers(1, 6),
    st.sampled_from([1, 90, 600]),
    st.sampled_from(Preempts),
    st.data(),
)
def test_a_run_is_the_same_by_every_way_to_it(
    case: Case,
    solver: Any,
    window: int,
    step: int,
    preempts: Preempts,
    data: st.DataObject,
) -> None:
    one_run(case, policy_of(solver, window=window, step=step, preempts=preempts), data)


@settings(deadline=None, max_examples=12)
@given(cases(), st.sampled_from(SOLVERS), st.data())
def test_steps_of_a_resumed_run_are_those_of_the_whole(
    case: Case, solver: Any, data: st.DataObject
) -> None:
    """The session goes on where it was; only wall times of earlier steps are gone."""
    whole, part = policy_of(solver), policy_of(solver)
    run = drive(case.instance, whole, **case.rules)
    until = data.draw(st.integers(0, run.now), label="until")
    first = drive(case.instance, part, until=until, **case.rules)
    assert all(step.seconds is not None for step in part.steps)
    assert part.steps == [step for step in whole.steps if step.time <= until]
    if first.checkpoint is not None:
        drive(case.instance, part, resume=first.checkpoint, **case.rules)
        assert part.steps == whole.steps
        before = [step for step in part.steps if step.time <= until]
        assert all(step.seconds is None for step in before)


def test_exact_plans_give_the_same_run_from_both_engines_and_after_a_break() -> None:
    rows = [(2, 0, 120, 1.0), (1, 0, 60, 1.0), (2, 30, 60, 1.0), (1, 70, 180, 1.0)]
    case = Case(problem_of([2], rows).instance, {"lease": 60, "overhead": 5})  # type: ignore[arg-type]
    policy = plan_completion_times(step=60)
    whole = checked(case, policy)
    assert [step.status for step in policy.steps] == [Status.OPTIMAL] * len(policy.steps)
    assert checked(case, plan_completion_times(step=60), engine="reference") == whole
    part = checked(case, plan_completion_times(step=60), until=120)
    resumed = checked(case, plan_completion_times(step=60), resume=part.checkpoint)
    assert (resumed, resumed.digest()) == (whole, whole.digest())


# --- optima --------------------------------------------------------------------------------------

SHORT = {"round_length": 1, "lease": 1, "overhead": 0, "spread": True, "patience": None}


def rows_of(draw: st.DataObject, least: int = 1) -> list[Row]:
    row = st.tuples(
        st.integers(1, 4), st.just(0), st.integers(1, 3), st.sampled_from([1.0, 3.0, 0.5])
    )
    return draw.draw(st.lists(row, min_size=least, max_size=4))


@settings(deadline=None, max_examples=25)
@given(st.data(), st.sampled_from([1, 2, 100]), st.sampled_from(["flow", "slowdown", "makespan"]))
def test_if_all_is_known_the_run_is_the_offline_optimum(
    data: st.DataObject, step: int, measure: str
) -> None:
    """Solved again in every second, in every other, or once and followed to its end."""
    weighted = measure != "makespan" and data.draw(st.booleans())
    problem = problem_of([3, 1], rows_of(data), measure, weighted=weighted)
    policy = plan_completion_times(
        measure=measure,  # type: ignore[arg-type]
        weighted=weighted,
        slots=100,
        step=step,
    )
    run = drive(problem.instance, policy, **SHORT)  # type: ignore[arg-type]
    assert problem.violations(run.schedule) == []
    assert problem.objective(run.schedule) * problem.scale == pytest.approx(
        float(optimum(problem) * problem.scale)
    )


def test_a_window_that_is_too_small_misses_the_optimum() -> None:
    """Two jobs at a time: the short third one waits for both."""
    problem = problem_of([1], [(1, 0, 5, 1.0), (1, 0, 5, 1.0), (1, 0, 1, 1.0)])
    wide, narrow = (
        drive(problem.instance, plan_completion_times(slots=100, step=100, window=w), **SHORT)  # type: ignore[arg-type]
        for w in (3, 2)
    )
    assert problem.objective(wide.schedule) == optimum(problem) == 1 + 6 + 11
    assert problem.objective(narrow.schedule) == 5 + 10 + 11


def busy_instance(seed: int) -> Instance[Job]:
    """A hundred jobs of an hour at most that come within two hours, on 16 GPUs."""
    rng = np.random.default_rng(seed)
    jobs = [
        Job(
            id=f"j{i}",
            gpus=int(rng.choice([1, 2, 4, 8])),
            work=int(rng.integers(1, 60)) * 60,
            release=int(rng.integers(0, 7200)),
        )
        for i in range(100)
    ]
    return Instance(Cluster.of_sizes([8, 8]), jobs)


@each_seed(range(5), plain=2)
def test_a_better_solver_comes_closer_to_the_bound(seed: int) -> None:
    """Total flow over its bound: a quarter below FIFO's at least, though resuming has a cost."""
    problem = CompletionTime(busy_instance(seed))
    bound = online_bound(problem).value
    rules = {"lease": 300, "overhead": 10}
    ratios = {}
    for policy in (
        policy_of(smallest_first, window=200, step=300),
        policy_of(in_release_order, window=200, step=300),
        Fifo(),
    ):
        run = drive(problem.instance, policy, **rules)  # type: ignore[arg-type]
        name = getattr(policy, "solver", policy.name)
        ratios[name] = problem.objective(run.schedule) / bound
    assert 1 <= ratios["smallest_first"] < 0.75 * ratios["fifo"]
    assert ratios["smallest_first"] < 0.75 * ratios["in_release_order"]


def test_a_round_of_ltgf_is_leximin_optimal() -> None:
    """Three users, 4 GPUs: 2 + 1 + 1, where neither 4 nor 3 + 1 is as fair."""
    users = [User(u) for u in "abc"]
    gangs = [("a", 4), ("a", 2), ("b", 3), ("b", 1), ("c", 1)]
    jobs = [Job(id=f"{u}{g}", gpus=g, work=3600, user=u) for u, g in gangs]
    policy = plan_ltgf_rounds()
    instance = Instance(Cluster.of_sizes([4]), jobs, users)
    run = drive(instance, policy, until=0)
    started = [instance.jobs[j].id for j in run.events.job[run.events.kind == 1]]
    assert sorted(started) == ["a2", "b1", "c1"]
    # fair: 4/3 GPUs each (1 for c) of one lease; the least of (2, 1, 1) over it is b's
    assert policy.steps[0].objective == pytest.approx(1 / (4 / 3))
    assert (policy.steps[0].status, policy.steps[0].gap) == (Status.OPTIMAL, 0)


# --- what goes on when there is no new plan ------------------------------------------------------


@settings(deadline=None, max_examples=12)
@given(cases(), st.sampled_from(["no work", "no time", "nothing", "broken"]))
def test_without_any_plan_jobs_run_in_release_order(case: Case, why: str) -> None:
    policies = {
        "no work": policy_of(smallest_first, work_limit=0, preempts=Preempts.NEVER),
        "no time": RollingHorizon(
            CompletionTimeWindow(), branch_and_bound, window=9, step=60, wall_limit=0.0, preempts=0
        ),
        "nothing": policy_of(nothing, preempts=Preempts.NEVER),
        "broken": policy_of(broken, preempts=Preempts.NEVER),
    }
    run = checked(case, policies[why])
    fifo = checked(case, Fifo(blocking=False))
    assert run.events == fifo.events
    steps = policies[why].steps
    assert steps
    assert all(step.cached for step in steps)
    wanted = {"nothing": Status.UNKNOWN}.get(why)
    assert {step.status for step in steps} == {wanted}
    error = "RuntimeError: out of memory" if why == "broken" else ""
    assert {step.error for step in steps} == {error}


def test_the_last_plan_goes_on_and_new_jobs_come_last() -> None:
    """The plan: c, b, a. When the solver finds nothing more, d and e follow as they came."""
    rows = [(1, 0, 60, 1.0), (1, 0, 60, 1.0), (1, 0, 60, 1.0), (1, 30, 60, 1.0), (1, 20, 60, 1.0)]
    instance = problem_of([1], rows).instance
    policy = policy_of(partial(once, first=[True]), step=60)
    run = drive(instance, policy, lease=60, overhead=0)
    assert run.records.first.tolist() == [120, 60, 0, 240, 180]
    assert [step.cached for step in policy.steps] == [False, True, True, True, True]
    assert [step.jobs for step in policy.steps] == [3, 4, 3, 2, 1]


def test_plans_are_made_at_steps_only() -> None:
    rows = [(1, 0, 500, 1.0), *((1, r, 50, 1.0) for r in (10, 70, 130, 190, 400))]
    policy = policy_of(smallest_first, step=240)
    drive(problem_of([1], rows).instance, policy, lease=60)
    assert [step.time for step in policy.steps] == [0, 240, 480]


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize(("solver", "step"), [(in_turns, 10**6), (longest_first, 900)])
def test_parts_of_a_plan_and_steps_are_kept_though_nothing_else_happens(
    solver: Any, step: int, skip: bool
) -> None:
    """Two jobs of two leases take turns: by one plan, or by a new one after each lease."""
    instance = problem_of([1], [(1, 0, 1800, 1.0), (1, 0, 1800, 1.0)]).instance
    policy = policy_of(solver, step=step, preempts=Preempts.ALWAYS)
    run = drive(instance, policy, overhead=0, skip=skip)
    assert run.records.end.tolist() == [2700, 3600]


def test_a_plan_is_kept_between_steps() -> None:
    """A short job that comes after the plan was made waits for the next one."""
    instance = problem_of([1], [(1, 0, 600, 1.0), (1, 0, 600, 1.0), (1, 30, 60, 1.0)]).instance
    soon, late = (
        drive(instance, policy_of(smallest_first, step=step), lease=60, overhead=0)
        for step in (60, 300)
    )
    assert soon.records.end.tolist() == [660, 1260, 120]
    assert late.records.end.tolist() == [660, 1260, 360]


# --- limits --------------------------------------------------------------------------------------


def slow(problem: Any, *, time_limit: float | None, work_limit: int) -> Result[Any]:
    """Tells what it was given; finds nothing within a wall limit."""
    if time_limit is not None:
        time.sleep(time_limit)
        return Result.of(problem, None, solver="slow", stop=Stop.TIME_LIMIT)
    return Result.of(problem, None, solver="slow", stop=Stop.COMPLETED, iterations=work_limit)


def test_a_wall_limit_is_opt_in_and_recorded() -> None:
    instance = problem_of([1], [(1, 0, 60, 1.0), (1, 0, 60, 1.0)]).instance
    free, limited = policy_of(slow), policy_of(slow, wall_limit=0.01)
    assert drive(instance, free).parameters["wall_limit"] is None
    assert free.steps[0].stop is Stop.COMPLETED
    assert drive(instance, limited).parameters["wall_limit"] == 0.01
    assert limited.steps[0].stop is Stop.TIME_LIMIT
    assert limited.steps[0].seconds is not None
    assert limited.steps[0].seconds >= 0.01


def test_the_solver_gets_limits_and_start_if_it_takes_them() -> None:
    seen: list[dict[str, Any]] = []
    policy = policy_of(smallest_first, work_limit=7)
    policy._solver, policy._takes = (
        lambda problem, **given: seen.append(given) or smallest_first(problem),  # type: ignore[func-returns-value]
        ("problem", "work_limit", "warm_start"),
    )
    drive(problem_of([1], [(1, 0, 60, 1.0), (1, 0, 60, 1.0)]).instance, policy)
    assert seen[0]["work_limit"] == 7
    assert isinstance(seen[0]["warm_start"], Schedule)
    assert set(seen[0]) == {"work_limit", "warm_start"}


def test_the_start_is_the_last_plan_from_now_on() -> None:
    """Three jobs in the order c, b, a; a solver that keeps its start goes on with that."""
    instance = problem_of([1], [(1, 0, 120, 1.0), (1, 0, 120, 1.0), (1, 0, 120, 1.0)]).instance
    policy = policy_of(partial(once, first=[True]), step=60)
    starts: list[list[tuple[int, int]]] = []
    make = CompletionTimeWindow(slots=30)

    def watched(state: Any, jobs: Any, plan: HorizonPlan) -> Window:
        window = make(state, jobs, plan)
        assert window.start is not None
        start = window.start()
        assert window.problem.violations(start) == []
        starts.append([(int(jobs[row.job]), row.start) for row in start])
        return window

    policy._make_problem = watched
    drive(instance, policy, lease=60, overhead=0)
    assert starts[0] == [(0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (2, 5)]
    assert starts[1] == [(2, 0), (1, 1), (1, 2), (0, 3), (0, 4)]


def test_a_solver_that_was_interrupted_does_not_decide() -> None:
    policy = policy_of(interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        drive(problem_of([1], [(1, 0, 60, 1.0)]).instance, policy)
    run = interrupted_run(stopped.value)
    assert run is not None
    assert run.stop is Stop.INTERRUPTED
    assert policy.steps == []
    assert len(run.schedule) == 0


def test_what_is_wrong_with_a_rolling_horizon_is_said() -> None:
    with pytest.raises(ValueError, match=r"rolling horizon: window=0 is below 1"):
        policy_of(nothing, window=0)
    with pytest.raises(TypeError, match=r"rolling horizon: step=1.5 is not an integer"):
        policy_of(nothing, step=1.5)
    with pytest.raises(ValueError, match=r"rolling horizon: work_limit=-1 is below 0"):
        policy_of(nothing, work_limit=-1)
    with pytest.raises(ValueError, match=r"wall_limit=-1.0 is negative"):
        policy_of(slow, wall_limit=-1.0)
    with pytest.raises(ValueError, match=r"wall_limit=1.0, but solver nothing has no parameter"):
        policy_of(nothing, wall_limit=1.0)


class Unsaved(RollingHorizon):
    """Its session has something to remember that is no plain data."""

    def begin(self, *given: Any) -> Plans:
        session = super().begin(*given)
        session.save = lambda: {"solver": self.solver, "made": [self]}  # type: ignore[method-assign]
        return session


def test_a_run_of_what_cannot_be_saved_is_kept_but_not_resumed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    instance = problem_of([1], [(1, 0, 60, 1.0), (1, 0, 60, 1.0)]).instance
    policy = Unsaved(CompletionTimeWindow(), smallest_first, window=4, step=60)
    part = drive(instance, policy, until=0)
    assert len(part.events) == 3
    assert part.checkpoint is None
    assert "'rolling-horizon': this run cannot be resumed: session.made.0 is of type" in caplog.text
    assert drive(instance, policy).stop is Stop.COMPLETED


def test_a_run_of_what_no_other_process_has_is_resumed_with_what_is_given() -> None:
    instance = problem_of([1], [(1, 0, 60, 1.0), (1, 0, 60, 1.0)]).instance
    policy = policy_of(lambda problem: smallest_first(problem))
    part = drive(instance, policy, until=0)
    assert len(part.events) == 3
    assert drive(instance, policy, resume=part.checkpoint) == drive(instance, policy)


def test_parameters_are_plain_and_tell_solver_and_problem() -> None:
    run = drive(
        problem_of([1], [(1, 0, 60, 1.0)]).instance,
        policy_of(partial(once, first=[True]), work_limit=3),
    )
    assert run.parameters == {
        "problem": "CompletionTimeWindow(measure='flow', weighted=False, slots=30)",
        "solver": "once(first=[True])",
        "window": 50,
        "step": 120,
        "work_limit": 3,
        "wall_limit": None,
    }


def test_steps_are_equal_whatever_the_clock_says() -> None:
    one, other = (Step(time=0, jobs=1, cached=True, seconds=s) for s in (1.0, 2.0))
    assert one == other


def test_makers_of_problems_can_be_compared() -> None:
    assert LtgfRoundWindow() == LtgfRoundWindow()
    assert CompletionTimeWindow() != CompletionTimeWindow(measure="slowdown")


@dataclass(frozen=True)
class Own:
    """Parameters of a solver of today's signature."""

    work_limit: int | None = None
    warm_start: Any = "auto"


def test_limit_and_start_reach_a_solver_among_its_params() -> None:
    given: list[Own] = []

    def solver(problem: CompletionTime, *, params: Own = Own()) -> Result[Schedule]:
        given.append(params)
        return smallest_first(problem)

    instance = problem_of([1], [(1, 0, 60, 1.0), (1, 0, 60, 1.0)]).instance
    policy = RollingHorizon(CompletionTimeWindow(), solver, window=4, step=60, work_limit=7)
    drive(instance, policy)
    assert {params.work_limit for params in given} == {7}
    assert all(isinstance(params.warm_start, Schedule) for params in given)
    assert policy.steps[0].start is not None
    exact = plan_completion_times(step=60)
    drive(instance, exact)
    assert exact.steps[0].start is not None
