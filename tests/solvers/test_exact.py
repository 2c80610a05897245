"""Exact solving against brute force, and what comes out when it cannot finish."""

import signal
import threading
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import highspy
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force
import gangsched as gs
from few import each_seed
from gangsched.analysis.exact import solve_exact
from gangsched.formulations import (
    CompletionTime,
    DeadlineRewards,
    Model,
    RarDdls,
    Sense,
    SharingIncentive,
    UniSched,
)
from gangsched.formulations.rar_ddls.problem import evaluate
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, RingJob, Schedule, User
from gangsched.instances.deadlines import queue_snapshot
from gangsched.solvers import (
    ExactParams,
    backfilling,
    exact,
    first_fit,
    list_scheduling,
    random_placement,
)
from gangsched.solvers.rar_ddls.bounds import area_bound
from gangsched.solvers.rar_ddls.sjf_bco import sjf_bco
from gangsched.solvers.result import Status, Stop
from malformed import table
from tiny import SEEDS, optimum, tiny

pytestmark = pytest.mark.usefixtures("no_search")  # it is about branch and bound

# --- against brute force -------------------------------------------------------------------------


#: a sixth of all, which is enough to see a wrong row: each takes up to 2 s
SOME = SEEDS[::6]


@each_seed(SOME, plain=4)
def test_the_optimum_is_that_of_brute_force(seed: int) -> None:
    problem = tiny(seed)
    result = solve_exact(problem)
    assert (result.objective, result.status) == (optimum(seed), Status.OPTIMAL)
    assert problem.violations(result.solution) == []


@pytest.mark.slow
def test_contention_matters_in_many_of_them() -> None:
    free = {seed: brute_force.optimum(tiny(seed), contention=False) for seed in SOME}
    assert all(free[seed] <= optimum(seed) for seed in SOME)
    assert sum(free[seed] < optimum(seed) for seed in SOME) >= 4


@each_seed(range(2, 8), plain=3)
def test_the_optimum_with_exact_rates_is_that_of_brute_force(seed: int) -> None:
    problem = tiny(seed, rate="exact")
    result = solve_exact(problem)
    assert result.status is Status.OPTIMAL
    assert result.objective == brute_force.optimum(problem)


@pytest.mark.parametrize("seed", [2, 8, 13, 29])
def test_the_optimum_without_a_warm_start_is_the_same(seed: int) -> None:
    result = solve_exact(tiny(seed), params=ExactParams(warm_start=None, form="compact"))
    assert (result.objective, result.status) == (optimum(seed), Status.OPTIMAL)


def near_miss() -> RarDdls:
    """2 * 29988004 of 59976009 iterations: HiGHS is content, and 2 + 1 slots do not do."""
    jobs = [
        RingJob(id=f"j{i}", gpus=g, iterations=f, gradient=1e-9, base_time=3e-8)
        for i, (g, f) in enumerate([(3, 59_976_009), (3, 59_976_009), (5, 31_629_554)])
    ]
    return RarDdls(Instance(Cluster.of_sizes([2, 2, 2]), jobs), xi1=1, xi2=0.0, alpha=0.5)


def test_a_solution_that_only_tolerances_allow_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    problem = near_miss()
    assert problem.rates[0, 1, 2] == 29_988_004
    result = solve_exact(problem, params=ExactParams(solver="highs"))
    assert "compact: a solution within tolerances is none: capacity (2)" in caplog.text
    assert result.bound.value == 3 < brute_force.optimum(problem) == 4
    assert result.stop is Stop.COMPLETED
    assert result.objective == 4


def test_no_solution_is_better_than_one_that_only_tolerances_allow() -> None:
    # which of the two depends on the path taken
    result = solve_exact(near_miss(), params=ExactParams(solver="highs", warm_start=None))
    assert result.objective in (None, 4)
    assert result.bound.value in (3, 4)


# --- when it cannot finish -----------------------------------------------------------------------


def crowded(seed: int, jobs: int = 9, **parameters: Any) -> RarDdls:
    """Gangs of 3 and 5 that have to span servers of 2, and are slow together."""
    made = [
        RingJob(
            id=f"j{i}",
            gpus=(3, 5, 3, 1)[(i + seed) % 4],
            iterations=10 + 3 * ((5 * i + seed) % 7),
            gradient=0.1,
            base_time=0.02,
        )
        for i in range(jobs)
    ]
    cluster = Cluster.of_sizes([2] * 4)
    return RarDdls(Instance(cluster, made), xi1=1, xi2=0.005, alpha=0.5, **parameters)


@each_seed(range(6))
def test_a_time_limit_leaves_a_solution_a_bound_and_a_gap(seed: int) -> None:
    problem = crowded(seed)
    result = solve_exact(problem, time_limit=0.01)
    assert (result.status, result.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert result.bound is not None
    assert result.gap is not None
    assert result.gap > 0
    assert result.bound.value >= area_bound(problem).value
    assert problem.violations(result.solution) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
def test_a_work_limit_leaves_the_same_everywhere(seed: int) -> None:
    problem = crowded(seed, jobs=3)
    one, other = (solve_exact(problem, params=ExactParams(work_limit=1)) for _ in range(2))
    assert one == other
    assert (one.status, one.stop) == (Status.FEASIBLE, Stop.ITERATION_LIMIT)
    assert one.iterations <= 1
    assert one.info["work_limit"] == 1
    assert one.bound is not None


def test_a_time_limit_without_any_solution_leaves_the_bound() -> None:
    problem = crowded(0)
    result = solve_exact(problem, time_limit=0.01, params=ExactParams(warm_start=None))
    assert result.status is Status.UNKNOWN
    assert result.objective is None
    assert result.bound is not None
    assert result.bound.value >= gs.bound(problem).value >= area_bound(problem).value
    assert result.bound.certificate is not None


@pytest.mark.slow
def test_ctrl_c_stops_the_solver_and_keeps_what_was_found(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = highspy.Highs.run

    def interrupted(self: Any) -> Any:
        if self.HandleUserInterrupt:
            signal.raise_signal(signal.SIGINT)
        return run(self)

    monkeypatch.setattr(highspy.Highs, "run", interrupted)
    result = solve_exact(crowded(1, jobs=14), params=ExactParams(solver="highs"))
    assert (result.status, result.stop) == (Status.FEASIBLE, Stop.INTERRUPTED)
    assert result.bound is not None
    assert "interrupted: HiGHS has stopped" in caplog.text


# --- warm starts, horizons, edges ----------------------------------------------------------------


def test_a_solution_is_a_warm_start_and_gives_the_horizon() -> None:
    problem = tiny(8)
    serial = [6 * j for j in range(len(problem.jobs))]
    start = evaluate(problem, serial, [{0: 2, 1: 1}] * len(problem.jobs))
    assert problem.violations(start) == []
    params = ExactParams(warm_start=start, solver="highs")
    result = solve_exact(problem, time_limit=0.01, params=params)
    assert result.objective is not None
    assert result.objective <= problem.objective(start)
    assert result.info["horizon"] == problem.objective(start)


def test_highs_takes_the_embedded_start(capfd: pytest.CaptureFixture[str]) -> None:
    """HiGHS says so in its log."""
    from gangsched.solvers import exact

    problem = tiny(8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "HIGHS_OPTIONS", {**exact.HIGHS_OPTIONS, "output_flag": True})
        solve_exact(problem, params=ExactParams(solver="highs"))
    assert "MIP start solution is feasible" in capfd.readouterr().out


def test_an_infeasible_warm_start_is_refused() -> None:
    problem = tiny(7)
    clash = evaluate(problem, [0, 0], [{0: 2, 1: 1}, {0: 2, 1: 1}])
    with pytest.raises(ValueError, match=r"warm start is infeasible: capacity \(2\): node 'n0'"):
        solve_exact(problem, params=ExactParams(warm_start=clash))
    with pytest.raises(ValueError, match=r"warm_start='cold' is not 'auto' or a solution"):
        solve_exact(problem, params=ExactParams(warm_start="cold"))


@pytest.mark.parametrize("form", ["compact", "literal", "schedules"])
def test_too_short_a_horizon_is_proven_infeasible(form: str) -> None:
    best = optimum(7)
    short = replace(tiny(7), horizon=best - 1)
    result = solve_exact(short, params=ExactParams(form=form))
    assert (result.status, result.stop, result.bound) == (Status.INFEASIBLE, Stop.PROVEN, None)
    assert (
        solve_exact(replace(short, horizon=best), params=ExactParams(form=form)).objective == best
    )


@pytest.mark.parametrize("form", ["compact", "literal", "schedules"])
@pytest.mark.parametrize("warm_start", ["auto", None])
def test_no_jobs_take_no_time(form: str, warm_start: Any) -> None:
    empty = RarDdls(Instance(Cluster.of_sizes([2]), []))
    result = solve_exact(empty, params=ExactParams(form=form, warm_start=warm_start))
    assert (result.objective, result.status, len(result.solution)) == (0, Status.OPTIMAL, 0)


def test_what_a_run_was_is_recorded() -> None:
    info = solve_exact(tiny(2), params=ExactParams(solver="highs")).info
    assert info["form"] == "compact"
    assert info["backend"].startswith("highs 1.")
    assert info["options"]["random_seed"] == 0
    assert info["options"]["mip_feasibility_tolerance"] <= 1e-6
    assert min(info["columns"], info["rows"], info["nonzeros"], info["horizon"]) > 0


def test_improvements_are_recorded() -> None:
    result = solve_exact(tiny(17), params=ExactParams(warm_start=None, form="literal"))
    objectives = [objective for _, objective, _ in result.history if objective is not None]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[-1] == result.objective


def test_another_solver_of_pyomo_finds_the_same() -> None:
    result = solve_exact(tiny(2), params=ExactParams(solver="appsi_highs"))
    assert (result.objective, result.status) == (optimum(2), Status.OPTIMAL)
    assert result.info["backend"].startswith("appsi_highs")
    short = replace(tiny(2), horizon=optimum(2) - 1)
    assert solve_exact(short, params=ExactParams(solver="appsi_highs")).status is Status.INFEASIBLE


@pytest.mark.parametrize(
    ("options", "message"),
    table("refused_values")["a_wrong_option_is_refused"],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], message: str) -> None:
    limit = {name: options[name] for name in options if name == "time_limit"}
    others = {name: options[name] for name in options if name != "time_limit"}
    with pytest.raises(ValueError, match=message):
        solve_exact(spread(), params=ExactParams(**others), **limit)


def test_a_large_queue_is_refused_and_what_takes_it_is_named() -> None:
    queue = UniSched(queue_snapshot(200, load=1.5, mix="philly", seed=1))
    with pytest.raises(ValueError, match="too many for form 'slots': use lp_selector"):
        solve_exact(queue, params=ExactParams(warm_start=None))


def test_a_large_queue_has_its_start_and_its_bound() -> None:
    queue = UniSched(queue_snapshot(200, load=1.5, mix="philly", seed=1))
    result = solve_exact(queue)
    assert "too many for form 'slots': use lp_selector" in result.info["note"]
    assert result.stop in (Stop.COMPLETED, Stop.PROVEN)
    assert result.objective == gs.solve(queue, result.info["start"]).objective
    assert gs.verify_bound(queue, result.bound) is None
    assert result.bound.value == gs.bound(queue, "full").value


def spread() -> RarDdls:
    """Two short jobs whose optimum is not the area bound."""
    return tiny(13)


# --- no heuristic and no other schedule beats a bound --------------------------------------------

HEURISTICS = [sjf_bco, backfilling, first_fit, list_scheduling, random_placement]


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    choices=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 99)), min_size=4, max_size=4),
)
@settings(max_examples=25)
def test_no_schedule_beats_the_bound(seed: int, choices: list[tuple[int, int]]) -> None:
    problem = tiny(seed)
    bound = solve_exact(problem, time_limit=0.3).bound
    assert bound is not None
    for heuristic in HEURISTICS:
        objective = heuristic(problem).objective
        assert objective is None or objective >= bound.value
    options = [
        list(brute_force.placements(job.gpus, problem.instance.cluster.sizes))
        for job in problem.jobs
    ]
    placement = [own[at % len(own)] for own, (_, at) in zip(options, choices, strict=False)]
    schedule = evaluate(problem, [a for a, _ in choices][: len(options)], placement)
    if schedule is not None and problem.violations(schedule) == []:
        assert problem.objective(schedule) >= bound.value


# --- any problem ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Knapsack:
    """Choose the most valuable things of total weight <= room; no heuristic, no bound known."""

    values: tuple[float, ...] = (6, 5, 4)
    weights: tuple[float, ...] = (4, 3, 2)
    room: float = 5.5

    sense: ClassVar[Sense] = Sense.MAX
    forms: ClassVar[tuple[str, ...]] = ("binary", "relaxed", "arrays")
    integral: ClassVar[bool] = True

    def objective(self, solution: tuple[int, ...]) -> float:
        return sum(self.values[i] for i in solution)

    def violations(self, solution: tuple[int, ...]) -> list[str]:
        weight = sum(self.weights[i] for i in solution)
        return [f"room: {weight} exceeds {self.room}"] if weight > self.room else []

    def build(self, form: str = "binary") -> Model[tuple[int, ...]]:
        m: Any = pyo.ConcreteModel()
        m.things = pyo.RangeSet(0, len(self.values) - 1)
        domain = pyo.Binary if form == "binary" else pyo.UnitInterval
        m.x = pyo.Var(m.things, domain=domain)
        value = sum(self.values[i] * m.x[i] for i in m.things)
        m.value = pyo.Objective(expr=value, sense=pyo.maximize)
        m.room = pyo.Constraint(expr=sum(self.weights[i] * m.x[i] for i in m.things) <= self.room)

        def extract() -> tuple[int, ...]:
            return tuple(i for i in m.things if m.x[i].value > 0.5)

        def embed(solution: tuple[int, ...]) -> None:
            for i in m.things:
                m.x[i].set_value(int(i in solution))

        kind: Any = "arrays" if form == "arrays" else "pyomo"
        exact = form == "binary"
        return Model(m, kind, form, exact, extract, embed, relaxation=not exact)


@dataclass(frozen=True)
class RealKnapsack(Knapsack):
    integral: ClassVar[bool] = False


@pytest.mark.parametrize("solver", ["highs", "appsi_highs"])
@pytest.mark.parametrize("warm_start", ["auto", (0,), ()])
def test_a_maximisation_is_solved(solver: str, warm_start: Any) -> None:
    result = solve_exact(Knapsack(), params=ExactParams(warm_start=warm_start, solver=solver))
    assert (result.solution, result.objective) == ((1, 2), 9)
    assert (result.status, result.stop, result.bound.value) == (Status.OPTIMAL, Stop.PROVEN, 9)
    real = solve_exact(RealKnapsack(values=(6.5, 5.25, 4.125)), params=ExactParams(solver=solver))
    assert (real.objective, real.status) == (9.375, Status.OPTIMAL)


def test_large_integers_that_differ_by_one_are_not_equal() -> None:
    """The better of two things is worth one in five million more, and was bounded away."""
    problem = Knapsack(values=(5_000_001, 5_000_000), weights=(5, 5), room=5)
    result = solve_exact(problem, params=ExactParams(form="relaxed", warm_start=(1,)))
    assert (result.objective, result.bound.value) == (5_000_000, 5_000_001)
    assert (result.status, result.stop) == (Status.FEASIBLE, Stop.COMPLETED)
    assert solve_exact(problem, params=ExactParams(warm_start=(1,))).objective == 5_000_001


@pytest.mark.parametrize("solver", ["highs", "appsi_highs"])
def test_a_relaxation_gives_a_bound_only(solver: str) -> None:
    """Best value by weight first: things 2, 1, then half a slot of thing 0: 9 + 6 / 8 = 9.75."""
    result = solve_exact(RealKnapsack(), params=ExactParams(form="relaxed", solver=solver))
    assert (result.status, result.stop) == (Status.UNKNOWN, Stop.COMPLETED)
    assert result.bound.value == pytest.approx(9.75)
    kept = solve_exact(
        Knapsack(), params=ExactParams(form="relaxed", warm_start=(0,), solver=solver)
    )
    assert (kept.solution, kept.status, kept.bound.value) == ((0,), Status.FEASIBLE, 9)
    met = solve_exact(
        Knapsack(), params=ExactParams(form="relaxed", warm_start=(1, 2), solver=solver)
    )
    assert (met.status, met.stop) == (Status.OPTIMAL, Stop.PROVEN)


def test_only_pyomo_models_are_solved() -> None:
    with pytest.raises(ValueError, match="form 'arrays' is of kind 'arrays', not 'pyomo'"):
        solve_exact(Knapsack(), params=ExactParams(form="arrays"))


def test_schedules_of_a_result_hold_gpu_identities() -> None:
    result = solve_exact(tiny(29), params=ExactParams(warm_start=None))
    assert isinstance(result.solution, Schedule)
    assert all(row.devices for row in result.solution)


# --- what the problem's own solvers know ---------------------------------------------------------


def test_only_problems_whose_paper_has_a_start_get_one() -> None:
    from gangsched import registry
    from gangsched.solvers import exact
    from gangsched.solvers.rar_ddls import start

    found = {stem: exact._start_of(entry.tiny()) for stem, entry in registry.PROBLEMS.items()}
    assert {stem: module for stem, module in found.items() if module} == {"rar-ddls": start}
    assert exact._start_of(Knapsack()) is None  # somebody else's


# --- a time limit covers building ----------------------------------------------------------------


def short_jobs(number: int) -> list[dict[str, Any]]:
    return [
        {"id": str(i), "gpus": 1 + i % 4, "work": 2 + i % 7, "release": i} for i in range(number)
    ]


def large(name: str) -> Any:
    """A problem whose model takes a second to build, or far more."""
    if name in ("completion-time", "sharing-incentive"):
        jobs = [Job(**row, user="uv"[row["gpus"] % 2]) for row in short_jobs(120)]
        instance: Any = Instance(Cluster.of_sizes([8]), jobs, [User("u"), User("v")])
        return CompletionTime(instance) if name == "completion-time" else SharingIncentive(instance)
    if name == "deadline-rewards":
        dated = [DeadlineJob(**row, rewards=[(90, 1.0)]) for row in short_jobs(150)]
        return DeadlineRewards(Instance(Cluster.of_sizes([8]), dated))
    if name == "ltgf":
        return gs.problem(name, setting="lives", jobs=10, seed=0)
    if name == "unisched":
        return gs.problem(name, setting="queue-philly", jobs=100, seed=0)
    return gs.problem("rar-small-4")


@pytest.mark.parametrize(
    "name",
    ["completion-time", "deadline-rewards", "ltgf", "rar-ddls", "sharing-incentive", "unisched"],
)
def test_a_time_limit_ends_the_building_of_every_large_model(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A hundredth of a second: no solver is called, and what a quick list finds is returned."""
    problem = large(name)
    monkeypatch.setattr(exact, "_solve_highs", None)
    result = solve_exact(problem, time_limit=1e-9, params=ExactParams(solver="highs"))
    assert result.stop is Stop.TIME_LIMIT
    assert result.info["note"] == "the time was over before the model was built"
    assert (result.solution is None) == (name in ("ltgf", "unisched"))
    assert "failed" not in caplog.text


def test_a_model_that_is_built_in_time_is_solved_within_what_is_left() -> None:
    before = threading.active_count()
    limited, unlimited = (solve_exact(Knapsack(), time_limit=limit) for limit in (60.0, None))
    assert limited == unlimited
    assert limited.status is Status.OPTIMAL
    assert threading.active_count() == before
