"""What the exact solution starts from: a portfolio of heuristics and the best certified bound."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import gangsched as gs
from few import but
from gangsched import registry
from gangsched.analysis import exact
from gangsched.analysis.proofs.bound import MAKERS
from gangsched.formulations import CompletionTime, DeadlineRewards, RarDdls, Sense, SharingIncentive
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, RingJob, User
from gangsched.solvers import ExactParams
from gangsched.solvers.exact import branch_and_bound
from gangsched.solvers.rar_ddls.bounds import area_bound
from gangsched.solvers.result import Bound, Result, Status, Stop
from tiny import SEEDS, optimum, tiny

LIBRARY = [
    name
    for name, row in gs.library.index().items()
    if row["problem"] == "rar-ddls" and row["jobs"] <= 160
]
#: problems that it solves; the others have an exact solver of their own, or none
SOLVED = [
    stem
    for stem, entry in registry.PROBLEMS.items()
    if any(row.place == "exact.solve_exact" for row in entry.solvers.values())
]


def no_worse(problem: Any, one: float, other: float) -> bool:
    return one <= other if problem.sense is Sense.MIN else one >= other


def values(result: Result[Any]) -> list[float]:
    return [v for v in result.info["heuristics"].values() if isinstance(v, int | float)]


def check(problem: Any, result: Result[Any], bound: Bound) -> None:
    """No worse than any heuristic; a bound no weaker than that one, and certified if no claim."""
    found = values(result)
    assert found
    assert all(no_worse(problem, result.objective, value) for value in found)
    assert result.bound is not None
    assert no_worse(problem, bound.value, result.bound.value)
    if result.bound.method not in ("branch and bound", "cp-sat"):
        assert gs.verify_bound(problem, result.bound) is None


def crowd() -> RarDdls:
    """Six gangs on 16 GPUs, far from what area proves."""
    shape = [(5, 40), (7, 33), (3, 51), (6, 44), (9, 23), (4, 37)]
    jobs = [
        RingJob(id=f"j{i}", gpus=g, iterations=f, gradient=0.1, base_time=0.3)
        for i, (g, f) in enumerate(shape)
    ]
    return RarDdls(Instance(Cluster.of_sizes([8, 8]), jobs))


# --- the portfolio -------------------------------------------------------------------------------


def test_every_heuristic_of_a_portfolio_is_one_of_the_registry_s() -> None:
    """By place, of the same problem; random placement is the only one of RAR-DDLS left out.

    One for makespans only is none of all completion times, and two are for few jobs.
    """
    own: dict[type, dict[str, Any]] = {
        entry.kind or entry.make: {row.place: name for name, row in entry.solvers.items()}
        for entry in registry.PROBLEMS.values()
    }
    for kind, portfolio in exact.PORTFOLIOS.items():
        few = {"ours.end_order.end_order", "ours.end_order.user_end_order"}
        places = {one.place for one in portfolio} - few - {"ours.configurations.configuration_lp"}
        assert places <= own[kind].keys()
        assert len({one.name for one in portfolio}) == len(portfolio)
    missing = own[RarDdls].keys() - {one.place for one in exact.PORTFOLIOS[RarDdls]}
    assert missing == {"rar_ddls.arrival_order.random_placement", "exact.solve_exact"}


@pytest.mark.parametrize("stem", [*SOLVED, "irmp"])
def test_a_tiny_problem_of_each_class(stem: str) -> None:
    problem = registry.PROBLEMS[stem].tiny()
    assert exact.PORTFOLIOS[type(problem)]
    assert type(problem) in MAKERS
    result = gs.solve_exact(problem)
    assert result.status is Status.OPTIMAL
    check(problem, result, gs.bound(problem, "full"))


def test_there_are_seven_of_them() -> None:
    assert len(SOLVED) == 7


def test_the_best_of_the_portfolio_is_the_start() -> None:
    """Without a node of branch and bound nothing else can be returned."""
    problem = crowd()
    result = gs.solve_exact(problem, time_limit=1e-9)
    assert result.stop is Stop.TIME_LIMIT
    assert result.objective == min(values(result))
    assert result.info["heuristics"][result.info["start"]] == result.objective
    bare = branch_and_bound(problem, time_limit=1e-9)
    assert (bare.solution, bare.bound) == (None, None)


def test_a_start_that_only_laminar_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The issue's failure: a small instance whose list schedules are worse than the blocks."""
    problem = gs.problem("rar-small-0")
    monkeypatch.setattr(exact, "branch_and_bound", lambda problem, **known: known)
    known: Any = gs.solve_exact(problem, params=ExactParams(solver="highs"))
    assert known["info"]["start"] == "laminar"
    value = problem.objective(known["params"].warm_start)
    listed = [v for name, v in known["info"]["heuristics"].items() if name != "laminar"]
    assert value == 646 < min(listed)
    assert known["bound"].value >= gs.bound(problem, "full").value


def test_it_stops_as_soon_as_one_meets_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    job = RingJob(id="a", gpus=2, iterations=9, gradient=0.1, base_time=0.3)
    problem = RarDdls(Instance(Cluster.of_sizes([2]), [job]))
    monkeypatch.setattr(exact, "strengthened", only_quick(exact.strengthened))
    result = gs.solve_exact(problem)
    assert list(result.info["heuristics"]) == ["backfill-longest"]
    assert (result.status, result.stop) == (Status.OPTIMAL, Stop.PROVEN)
    assert "backend" not in result.info
    assert result.bound is not None
    assert gs.verify_bound(problem, result.bound) is None


def test_an_unknown_solver_is_refused_although_it_is_not_needed() -> None:
    problem = registry.PROBLEMS["ltgf-round"].tiny()
    assert "backend" not in gs.solve_exact(problem).info
    with pytest.raises(ValueError, match="solver='none' does not work here; these do: highs"):
        gs.solve_exact(problem, params=ExactParams(solver="none"))


def only_quick(strengthened: Any) -> Any:
    def wrapped(problem: Any, best: Any, efforts: Any, limit: Any) -> Any:
        assert tuple(efforts) == ("quick",)
        return strengthened(problem, best, efforts, limit)

    return wrapped


def test_a_heuristic_that_refuses_the_problem_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = gs.Cluster([gs.Node("n", 1, "new"), gs.Node("o", 1, "old")])
    speeds = {"new": 2.0, "old": 1.0}
    jobs = [gs.Job(id=str(k), gpus=1, work=60 + k, speeds=speeds) for k in range(5)]
    problem = gs.problem("completion-time", gs.Instance(cluster, jobs))
    monkeypatch.setattr(exact, "branch_and_bound", lambda problem, **known: known)
    known: Any = gs.solve_exact(problem)
    heuristics = known["info"]["heuristics"]
    assert heuristics["area-order"] == "run_pool: the GPUs are not equal for all jobs"
    assert isinstance(heuristics["smallest-area"], int)


@pytest.mark.parametrize("warm_start", [None, "given"])
def test_no_portfolio_runs_where_a_start_is_given_or_refused(warm_start: str | None) -> None:
    problem = tiny(13)
    start = None if warm_start is None else gs.solve(problem, "first-fit").solution
    result = gs.solve_exact(problem, params=ExactParams(warm_start=start))
    assert "heuristics" not in result.info
    assert result.info.get("start") == warm_start
    assert result.objective == optimum(13)


@pytest.mark.parametrize("aim", ["total", "max-min", "nash"])
def test_a_market_has_its_best_allocation(aim: str) -> None:
    problem = replace(registry.PROBLEMS["gandiva-fair"].tiny(), aim=aim)
    result = gs.solve_exact(problem)
    assert result.info["start"] == "best-allocation"
    assert result.objective == gs.solvers.best_allocation(problem).objective
    assert result.bound is not None
    assert result.bound.value == pytest.approx(result.objective)
    assert result.bound.certificate is not None


# --- the bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS[::9])
def test_the_bound_of_a_tiny_optimum_is_certified_where_it_can_be(seed: int) -> None:
    problem = tiny(seed)
    result, bound = gs.solve_exact(problem), gs.bound(problem, "full")
    assert result.bound is not None
    assert result.objective == result.bound.value == optimum(seed)
    assert (result.bound.certificate is not None) == (bound.value == optimum(seed))


@pytest.mark.usefixtures("no_search")
def test_some_of_them_are_and_some_are_not() -> None:
    met = [gs.bound(tiny(seed), "full").value == optimum(seed) for seed in SEEDS[::9]]
    assert 0 < sum(met) < len(met)


@pytest.mark.slow
def test_the_search_ends_at_the_first_solution_that_meets_the_bound() -> None:
    """From nothing, with the optimum as a bound: HiGHS is stopped before it has proven it."""
    problem = tiny(29)
    best = Bound(optimum(29), "known", {"kind": "of this test"})
    found = branch_and_bound(problem, bound=best)
    assert (found.objective, found.bound, found.stop) == (best.value, best, Stop.PROVEN)
    alone = branch_and_bound(problem)
    assert alone.bound == Bound(best.value, "branch and bound")
    assert found.iterations <= alone.iterations


def test_a_limit_leaves_the_quick_bound() -> None:
    problem = crowd()
    result = gs.solve_exact(problem, time_limit=1e-9)
    assert result.bound is not None
    assert result.bound == gs.bound(problem)
    assert result.bound.value > area_bound(problem).value


@pytest.mark.slow
def test_every_way_to_call_it_carries_the_bound() -> None:
    problem = crowd()
    quick = gs.bound(problem)
    limits = {"time_limit": 0.5}
    by_name = gs.solve(problem, "exact", **limits)  # type: ignore[arg-type]
    row = gs.compare(problem, ["exact"], **limits).rows[0]  # type: ignore[arg-type]
    for result in (by_name, row.result):
        assert isinstance(result, Result)
        assert result.bound is not None
        assert result.bound.value >= quick.value


# --- limits and interrupts -----------------------------------------------------------------------


def large(count: int = 60) -> Iterator[Any]:
    jobs = [
        {"id": str(i), "gpus": 1 + i % 4, "work": 2 + i % 7, "release": i, "user": "uv"[i % 2]}
        for i in range(count)
    ]
    users = Instance(Cluster.of_sizes([8]), [Job(**job) for job in jobs], [User("u"), User("v")])
    dated = [DeadlineJob(**job, rewards=[(90, 1.0)]) for job in jobs]
    yield gs.problem("rar-b-0")
    yield gs.problem("unisched", setting="queue-philly", jobs=60, seed=0)
    yield gs.problem("ltgf", setting="lives", jobs=10, seed=0)
    yield CompletionTime(users, measure="flow")
    yield SharingIncentive(users)
    yield DeadlineRewards(Instance(Cluster.of_sizes([8]), dated))


@pytest.mark.parametrize("number", but([3, 4], range(6)))
def test_a_limit_leaves_a_start_of_every_problem(number: int) -> None:
    """A few seconds, of which the model may take all: what the heuristics found is there."""
    problem = list(large())[number]
    result = gs.solve_exact(problem, time_limit=2.0)
    check(problem, result, gs.bound(problem, time_limit=0.0))


@pytest.mark.parametrize("number", [3, 5])
def test_a_limit_leaves_a_start_of_thousands_of_jobs(number: int) -> None:
    """Lists in plain Python take longer, and windows of all ends would take all memory."""
    result = gs.solve_exact(list(large(4_000))[number], time_limit=1.0)
    assert result.solution is not None
    assert result.objective
    assert result.bound is not None


@pytest.mark.parametrize("moment", ["bound", "heuristics"])
def test_ctrl_c_before_branch_and_bound_keeps_what_there_is(
    moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    strengthened = exact.strengthened

    def interrupted(problem: Any, best: Any, efforts: Any, limit: Any) -> Any:
        if moment == "heuristics" and efforts == ("quick",):
            return strengthened(problem, best, efforts, limit)
        raise KeyboardInterrupt

    monkeypatch.setattr(exact, "strengthened", interrupted)
    result = gs.solve_exact(crowd())
    assert result.stop is Stop.INTERRUPTED
    assert (result.solution is None) == (moment == "bound")
    assert (result.bound is None) == (moment == "bound")


# --- the same again ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 26])
def test_the_same_start_each_time(seed: int) -> None:
    one, other = (gs.solve_exact(tiny(seed)) for _ in range(2))
    assert one == other
    assert one.info == other.info


# --- the library ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARY)
def test_no_instance_of_the_library_is_solved_worse_than_by_a_heuristic(name: str) -> None:
    problem = gs.problem(name)
    result = gs.solve_exact(problem, time_limit=4.0)
    known = {one.name for one in exact.PORTFOLIOS[RarDdls]} | {"laminar, longer"}
    assert {*result.info["heuristics"]} <= known
    check(problem, result, gs.bound(problem, "quick"))  # more in a quarter of 4 s is by luck
