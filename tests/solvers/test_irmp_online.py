"""Online rules for IRMP: tiny cases by hand, and nothing that hangs on jobs still to come."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import gangsched as gs
from gangsched.formulations.irmp.problem import Irmp, paper_problem
from gangsched.instances import Linear, ParameterServerJob, Power
from gangsched.solvers import Result, Status
from gangsched.solvers.irmp.response import Occupancy, Response
from gangsched.solvers.ours.irmp.online import ORDERS, OnlineParams, online
from gangsched.solvers.ours.irmp.rolling import RollingProgram
from revenue_optimum import optimum
from strategies import irmp_instances, irmp_problems

Solver = Callable[[Irmp], Result[gs.Schedule]]


def problems(instances: st.SearchStrategy[Any], **fixed: Any) -> st.SearchStrategy[Irmp]:
    """Nobody has to earn anything."""
    return instances.flatmap(lambda instance: irmp_problems(instance, alone={}, **fixed))


RULES: list[Solver] = [partial(online, params=OnlineParams(by=by)) for by in ORDERS]  # type: ignore[arg-type]
online_fifo, online_spt, online_density, online_slope, rolling_lp = RULES


def job(id: str, epochs: int, utility: Any, *, release: int = 0, gpus: int = 2) -> Any:
    """It takes `epochs` slots on all of its workers, all of them on one node."""
    return ParameterServerJob(
        id=id, release=release, gpus=gpus, epochs=epochs, minibatches=1, rates=(1, 0.5),
        utility=utility,
    )  # fmt: skip


def on_one_node(*jobs: ParameterServerJob, ps: int = 1, **more: Any) -> Irmp:
    """Two workers."""
    return Irmp(gs.Instance(gs.Cluster([gs.Node("s", 2, ps=ps)]), jobs), **more)


def times(result: Result[gs.Schedule]) -> dict[int, tuple[int, int]]:
    """Start and end of the jobs that run."""
    assert result.solution is not None
    return {row.job: (row.start, row.end) for row in result.solution}


def short(steep: int) -> Irmp:
    """A long job of much worth, and a short one; the latter loses more a slot, or less."""
    return on_one_node(job("long", 4, Linear(-1, 104)), job("short", 1, Linear(-steep, 11)))


# --- by hand --------------------------------------------------------------------------------------


def test_fifo_goes_by_release_then_number() -> None:
    late = on_one_node(
        job("a", 2, Linear(-1, 90), release=1),
        job("b", 2, Linear(-1, 90), release=1),
        job("c", 2, Linear(-1, 90)),
    )
    assert times(online_fifo(late)) == {2: (0, 2), 0: (2, 4), 1: (4, 6)}


def test_spt_goes_by_processing_time() -> None:
    assert times(online_spt(short(1))) == {1: (0, 1), 0: (1, 5)}


def test_density_goes_by_worth_of_a_worker_slot() -> None:
    # (104 - 4) / 8 against (11 - 1) / 2
    assert times(online_density(short(1))) == {0: (0, 4), 1: (4, 5)}


def test_density_looks_at_what_a_job_is_worth_by_now() -> None:
    # at 0, x runs; at 9, a is worth 100 / 10 of 2 worker-slots, and b 20: its 50 / 1 is no more
    a, b = job("a", 1, Power(100, 1)), job("b", 1, Linear(0, 20))
    worth = on_one_node(job("x", 9, Linear(0, 1000)), a, b)
    assert times(online_density(worth)) == {0: (0, 9), 2: (9, 10), 1: (10, 11)}
    at_once = on_one_node(a, b)
    assert times(online_density(at_once)) == {0: (0, 1), 1: (1, 2)}


def test_slope_goes_by_loss_of_a_worker_slot() -> None:
    # long: (100 - 96) / 8; short: 1 / 2 (density and the number would say long), then 3 / 2
    steady = on_one_node(job("long", 4, Linear(-1, 104)), job("short", 1, Linear(-0.5, 11)))
    assert times(online_slope(steady)) == {0: (0, 4), 1: (4, 5)}
    assert times(online_slope(short(3))) == {1: (0, 1), 0: (1, 5)}


def test_rolling_lp_finds_the_order_that_loses_least() -> None:
    # loss 1 a slot over 8 slots, 2 over 8: the second first; the third (3 over 8) comes too late
    jobs = [job(f"j{k}", 8, Linear(-k, 200), release=8 * (k == 3)) for k in (1, 2, 3)]
    assert times(rolling_lp(on_one_node(*jobs[:2]))) == {1: (0, 8), 0: (8, 16)}
    assert times(rolling_lp(on_one_node(*jobs))) == {1: (0, 8), 2: (8, 16), 0: (16, 24)}


def test_jobs_wait_for_more_workers_and_others_fill_the_gap() -> None:
    """At 1, a is complete at 7 if it waits for both workers, at 9 if it does not."""
    jobs = [
        job("x", 3, Linear(-1, 90), gpus=1),
        job("a", 4, Linear(-1, 90), release=1),
        job("fits", 2, Linear(-1, 90), release=1, gpus=1),
        job("late", 3, Linear(-1, 90), release=1, gpus=1),
    ]
    every = times(online_fifo(on_one_node(*jobs, ps=2)))
    assert every == {0: (0, 3), 1: (3, 7), 2: (1, 3), 3: (7, 10)}
    without = times(online_fifo(on_one_node(*jobs[:2], jobs[3], ps=2)))
    assert without == {0: (0, 3), 1: (3, 7), 2: (7, 10)}


def test_plans_are_forgotten_but_runs_are_not() -> None:
    """At 1 and 2 a worker is free, but to wait for both until 3 is better; who is then first?"""
    jobs = [
        job("x", 3, Linear(-1, 90), gpus=1),
        job("long", 5, Linear(-1, 90), release=1),
        job("short", 2, Linear(-1, 90), release=2),
    ]
    problem = on_one_node(*jobs, ps=2)
    assert times(online_spt(problem)) == {0: (0, 3), 2: (3, 5), 1: (5, 10)}
    assert times(online_fifo(problem)) == {0: (0, 3), 1: (3, 8), 2: (8, 10)}


def test_gangs_of_several_nodes_have_their_parameter_servers() -> None:
    """Three workers: two on the host, one away that one PS serves; a fourth would need another."""
    cluster = gs.Cluster([gs.Node("s1", 2, ps=1), gs.Node("s2", 2, ps=1)])
    wide = ParameterServerJob(
        id="w", gpus=4, epochs=3, minibatches=1, rates=(1, 1), utility=Linear(-1, 90)
    )
    result = online_fifo(Irmp(gs.Instance(cluster, [wide])))
    (row,) = result.solution
    assert (row.gpus, row.ps, row.start, row.end) == ({0: 2, 1: 1}, {0: 1, 1: 0}, 0, 4)


@pytest.mark.parametrize("solver", RULES)
def test_jobs_that_cannot_earn_any_more_are_left_out(solver: Solver) -> None:
    lost = job("lost", 4, Linear(-1, 3))  # worth -1 at best
    missed = job("missed", 2, Linear(-1, 5))  # worth 3 at once; at 5 or later nothing
    busy = job("busy", 4, Linear(-30, 999))
    result = solver(on_one_node(busy, lost, missed))
    assert result.info["left"] in (["lost"], ["lost", "missed"])
    assert result.objective == 879 + (0 if "missed" in result.info["left"] else 3 - 60)
    must = solver(on_one_node(busy, lost, optional=False))
    assert must.info["left"] == []


@pytest.mark.parametrize("solver", RULES)
def test_what_must_run_and_does_not_is_no_solution(solver: Solver) -> None:
    jobs = [job(i, 3, Linear(-1, 90)) for i in "ab"]
    result = solver(on_one_node(*jobs, horizon=5, optional=False))
    assert (result.status, result.solution) == (Status.UNKNOWN, None)
    assert solver(on_one_node(*jobs, horizon=6, optional=False)).status is Status.FEASIBLE


def test_who_earns_less_than_alone_is_no_solution() -> None:
    users = [gs.User(u) for u in "ab"]
    jobs = [replace(job(u, 3, Linear(-1, 90)), user=u) for u in "ab"]
    instance = gs.Instance(gs.Cluster([gs.Node("s", 2, ps=1), gs.Node("no ps", 2)]), jobs, users)
    for least, status in ((84, Status.FEASIBLE), (85, Status.UNKNOWN)):
        problem = Irmp(instance, worker_bandwidth=2, owners=("a", "b"), alone={"b": least})
        assert online_fifo(problem).status is status


@pytest.mark.parametrize("solver", RULES)
def test_nothing_runs_where_there_are_no_parameter_servers(solver: Solver) -> None:
    result = solver(on_one_node(job("a", 3, Linear(-1, 90)), ps=0))
    assert (result.objective, result.info["left"]) == (0, ["a"])


# --- in general -----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", RULES)
@given(problem=problems(irmp_instances() | irmp_instances(models=("v100", "k80"))))
@settings(max_examples=40)
def test_jobs_run_once_and_only_if_it_pays(solver: Solver, problem: Irmp) -> None:
    result = solver(problem)
    if result.solution is None:
        assert not problem.optional
        return
    assert problem.violations(result.solution) == []
    runs = [row.job for row in result.solution]
    assert len(set(runs)) == len(runs)
    for row in result.solution:
        assert not problem.optional or problem.value(row.job, row.end) > 0
    assert solver(problem).solution == result.solution


@pytest.mark.parametrize("solver", RULES)
@given(
    problem=problems(irmp_instances(max_jobs=5), optional=True),
    now=st.integers(0, 4),
)
@settings(max_examples=40)
def test_what_starts_does_not_hang_on_jobs_released_later(
    solver: Solver, problem: Irmp, now: int
) -> None:
    known = [j for j in range(len(problem.jobs)) if problem.earliest(j) <= now]
    until = [problem.jobs[j] for j in known]
    part = replace(problem, instance=replace(problem.instance, jobs=until))
    early = [row for row in solver(problem).solution if row.start <= now]
    assert [replace(row, job=known.index(row.job)) for row in early] == [
        row for row in solver(part).solution if row.start <= now
    ]


@given(problem=problems(irmp_instances(max_jobs=5), optional=True))
@settings(max_examples=60)
def test_fifo_is_to_place_each_job_at_its_release(problem: Irmp) -> None:
    worth = [job.utility for job in problem.jobs]  # of equal runs another one may be planned later
    assume(all(isinstance(u, Power) or (isinstance(u, Linear) and u.slope < 0) for u in worth))
    occupancy, placed = Occupancy(problem), []
    for j in sorted(range(len(problem.jobs)), key=lambda j: (problem.earliest(j), j)):
        run = occupancy.best(j)
        if run is not None and run.value > 1e-9:
            occupancy.take(run)
            placed.append(run.segment)
    expected = gs.Schedule.of(sorted(placed, key=lambda row: row.job))
    assert online_fifo(problem).solution == expected


@pytest.mark.parametrize("solver", RULES)
@given(
    problem=problems(
        irmp_instances(max_jobs=2, max_nodes=2, max_workers=2, max_release=2),
        horizon=8, optional=True, preemptive=False,
    )
)  # fmt: skip
@settings(max_examples=15)
def test_nobody_beats_the_optimum(solver: Solver, problem: Irmp) -> None:
    best = optimum(problem)
    assert best is not None
    assert solver(problem).objective <= best[0] + 1e-9


@pytest.mark.parametrize("solver", RULES)
def test_the_cluster_is_never_idle_while_jobs_wait(solver: Solver) -> None:
    problem = paper_problem(20, servers=14, seed=3)
    result = solver(problem)
    rows = list(result.solution)
    for row in rows:
        for t in range(problem.earliest(row.job), row.start):
            assert any(other.start <= t < other.end for other in rows)


def test_another_rule_is_refused() -> None:
    with pytest.raises(ValueError, match=r"by='edf' is not one of fifo, spt, density, slope, lp"):
        online(on_one_node(), params=OnlineParams(by="edf"))  # type: ignore[arg-type]


# --- the program of rolling_lp --------------------------------------------------------------------


def test_running_jobs_leave_no_room_in_the_program() -> None:
    """The node is full until 8, the end of the first block."""
    problem = on_one_node(*(job(i, 8, Linear(-1, 200)) for i in "xa"))
    occupancy = Occupancy(problem)
    program = RollingProgram(problem)
    assert program.starts([1], occupancy, 0).tolist() == [0]
    occupancy.take(Response(0, 0, 8, 2, {0: 2}, {0: 1}, 0.0, 0.0))
    assert program.starts([1], occupancy, 2).tolist() == [8]


def test_the_program_leaves_out_what_does_not_fit() -> None:
    problem = on_one_node(job("a", 8, Linear(-1, 200)), job("b", 8, Linear(-1, 90)), horizon=8)
    assert RollingProgram(problem).starts([0, 1], Occupancy(problem), 0).tolist() == [0, math.inf]


def test_columns_of_the_last_time_are_known_but_not_those_of_the_past() -> None:
    problem = on_one_node(*(job(f"k{k}", 8, Linear(-k, 200)) for k in (1, 2)))
    program = RollingProgram(problem)
    assert program.starts([0, 1], Occupancy(problem), 0).tolist() == [8, 0]
    assert program.starts([0, 1], Occupancy(problem), 8).tolist() == [16, 8]
