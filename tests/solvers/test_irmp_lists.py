"""Schedules that follow the linear program: allowed, below the bound, and close to it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gangsched.analysis.proofs.verify import verify_bound
from gangsched.formulations.irmp.problem import Irmp, paper_problem
from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
from gangsched.solvers import RevenueProgramParams, Status, Stop
from gangsched.solvers.ours.irmp.columns import generate, revenue_bound
from gangsched.solvers.ours.irmp.lists import lp_list
from gangsched.solvers.ours.irmp.orders import by_order, in_order, in_shape
from revenue_optimum import optimum, random_problem


def test_schedules_are_between_nothing_and_the_optimum() -> None:
    rng = np.random.default_rng(3)
    best = 0
    for i in range(60):
        problem = random_problem(rng, types=("",) if i % 2 else ("a", "b"))
        result = lp_list(problem)
        most = optimum(problem)
        assert most is not None
        assert 0 <= result.objective <= most[0] + 1e-9
        assert most[0] <= result.bound.value + 1e-9
        best += result.objective >= most[0] - 1e-9
    assert best >= 20


@pytest.mark.parametrize("utility", ["linear", "convex"])
def test_lists_are_close_to_the_bound_where_many_share_many(utility: Any) -> None:
    problem = paper_problem(utility=utility)
    result = lp_list(problem, params=RevenueProgramParams(slots=1024))
    assert result.gap is not None
    assert result.gap <= 0.005
    assert result.bound is not None
    verify_bound(problem, result.bound)


@pytest.mark.slow
def test_the_best_of_three_lists_is_kept() -> None:
    """Each is the best one somewhere."""
    sides = set()
    for seed in range(8):
        problem = paper_problem(30, servers=30, seed=seed)
        columns = generate(problem)
        values = [sum(run.value for run in runs) for runs in by_order(problem, columns)]
        without = RevenueProgramParams(iterations=0)
        assert lp_list(problem, params=without).objective == pytest.approx(max(values))
        sides.add(int(np.argmax(values)))
    assert sides == {0, 1, 2}


def tiny(count: int) -> list[tuple[Irmp, float]]:
    """Problems with their optima."""
    rng = np.random.default_rng(300)
    made = [random_problem(rng, types=("",) if i % 2 else ("a", "b")) for i in range(count)]
    found = [(problem, optimum(problem)) for problem in made]
    return [(problem, best[0]) for problem, best in found if best is not None]


@pytest.mark.slow
def test_on_tiny_clusters_the_list_is_close_to_the_optimum() -> None:
    """300 problems, of which the optimum of 215 is positive, and that of the others 0."""
    shares = []
    for problem, most in tiny(300):
        earned = lp_list(problem).objective
        assert earned is not None
        assert earned <= most + 1e-9
        shares += [earned / most] if most > 0 else []
    assert len(shares) == 215
    assert np.mean(shares) >= 0.99
    assert min(shares) >= 0.9


def test_the_list_alone_earns_no_less_than_any_job_alone() -> None:
    """So that it earns the n-th part of what n jobs can."""
    less = 0
    for problem, _ in tiny(150):
        one = RevenueProgramParams(iterations=0)
        earned = lp_list(problem, params=one).objective
        alone = [
            optimum(replace(problem, instance=replace(problem.instance, jobs=[job])))
            for job in problem.jobs
        ]
        best = max(found[0] for found in alone if found is not None)
        assert earned is not None
        assert earned >= best - 1e-9
        columns = generate(problem)
        runs = [in_order(problem, columns.order)]
        runs += [] if problem.preemptive else [in_shape(problem, columns)]
        less += max(sum(run.value for run in own) for own in runs) < best - 1e-9
    assert less >= 3  # which the list of the best job mends


@pytest.mark.slow
def test_small_clusters_are_searched_and_large_ones_are_not() -> None:
    for servers in (16, 17):
        problem = paper_problem(40, servers=servers)
        searched = [
            lp_list(problem, params=RevenueProgramParams(iterations=n)).objective
            for n in (None, 0, 100)
        ]
        assert searched[0] == searched[2 if servers == 16 else 1]
        assert searched[1] != searched[2]


def test_the_search_draws_by_the_seed() -> None:
    problem = paper_problem(40, servers=16)
    first, again, other = (lp_list(problem, seed=seed).solution for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_horizons_and_preemptive_problems_are_served() -> None:
    problem = paper_problem(20, servers=20)
    short = replace(problem, horizon=60)
    assert max(row.end for row in lp_list(short).solution) <= 60
    free = lp_list(replace(problem, preemptive=True))
    assert free.objective <= free.bound.value
    assert free.bound.value >= lp_list(problem).objective


def two(**more: Any) -> Irmp:
    """Two jobs of two slots on one server."""
    jobs = [
        ParameterServerJob(
            id=name, gpus=2, epochs=2, minibatches=1, rates=(1, 0.5), utility=Linear(-2, 3)
        )
        for name in "ab"
    ]
    return Irmp(Instance(Cluster([Node("s", 2, ps=1)]), jobs), **more)


def test_jobs_that_must_run_do_so_at_a_loss() -> None:
    assert lp_list(two()).objective == 0
    result = lp_list(two(optional=False))
    assert result.objective == -1 - 5
    assert revenue_bound(two(optional=False), block=1, tolerance=1e-9).value == -6
    assert len(result.solution or ()) == 2


def test_no_schedule_of_all_jobs_proves_nothing() -> None:
    result = lp_list(two(optional=False, horizon=3))
    assert result.status is Status.UNKNOWN
    assert result.solution is None


def test_a_schedule_that_breaks_a_promise_is_none() -> None:
    assert lp_list(two(alone={"": 0})).objective == 0
    assert lp_list(two(alone={"": 5})).solution is None


def test_out_of_time_there_is_a_schedule_all_the_same() -> None:
    problem = paper_problem(20, servers=20)
    result = lp_list(problem, time_limit=0)
    assert result.stop is Stop.TIME_LIMIT
    assert result.objective is not None
    assert result.objective > 0
    assert result.bound is not None
    verify_bound(problem, result.bound)
