"""Large-neighbourhood search for IRMP: never below its start, the same again, optimal if tiny."""

from typing import Any

import numpy as np
import pytest

from gangsched.formulations.irmp.problem import Irmp, reduced_problem
from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob, User
from gangsched.solvers import Status, Stop
from gangsched.solvers.ours.irmp.lists import RevenueProgramParams, lp_list
from gangsched.solvers.ours.irmp.search import RevenueSearchParams, revenue_search
from revenue_optimum import optimum, random_problem

FEW = RevenueSearchParams(iterations=80)


def job(id: str, epochs: int, utility: Any, **more: Any) -> ParameterServerJob:
    """It takes `epochs` slots on two workers of one node."""
    given = {"gpus": 2, "minibatches": 1, "rates": (1, 0.5), **more}
    return ParameterServerJob(id=id, epochs=epochs, utility=utility, **given)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("utility", ["linear", "convex"])
def test_the_search_earns_no_less_than_the_list(utility: Any, seed: int) -> None:
    problem = reduced_problem(8, servers=5, utility=utility, seed=seed)
    start = lp_list(problem, params=RevenueProgramParams(iterations=0))
    found = revenue_search(problem, params=FEW)
    assert found.objective is not None
    assert found.objective >= start.objective == found.info["start"]
    assert found.bound == start.bound


def test_the_search_improves_a_list() -> None:
    gains = []
    for seed in range(2):
        problem = reduced_problem(9, servers=5, seed=seed)
        found = revenue_search(problem, params=FEW)
        assert found.objective is not None
        gains.append(found.objective - found.info["start"])
    assert max(gains) > 0


def test_equal_seeds_give_equal_schedules_and_others_need_not() -> None:
    problem = reduced_problem(9, servers=5, seed=0)
    params = RevenueSearchParams(iterations=40)
    runs = [revenue_search(problem, seed=seed, params=params) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0].iterations == 40
    assert runs[0].solution != runs[2].solution


def test_tiny_instances_are_mostly_solved() -> None:
    rng, met = np.random.default_rng(0), 0
    for _ in range(25):
        problem = random_problem(rng)
        found, best = revenue_search(problem, params=FEW), optimum(problem)
        assert best is not None
        assert found.objective is not None
        assert found.objective <= best[0] + 1e-9
        met += found.objective >= best[0] - 1e-9
    assert met >= 22


def test_no_time_leaves_the_start() -> None:
    problem = reduced_problem(8, servers=5)
    found = revenue_search(problem, time_limit=0)
    assert found.stop is Stop.TIME_LIMIT
    assert found.iterations == 0
    assert found.objective == found.info["start"]


def test_a_met_bound_ends_the_search() -> None:
    one = job("a", 2, Linear(-2, 100))
    alone = revenue_search(Irmp(Instance(Cluster([Node("s", 2, ps=1)]), [one])))
    assert (alone.status, alone.stop, alone.iterations) == (Status.OPTIMAL, Stop.PROVEN, 0)


def promised(least: float) -> Irmp:
    """One node, a cheap job of one user and a dear one of another, which lose by waiting."""
    jobs = [
        job("cheap", 2, Linear(-1, 12), user="u"),
        job("dear", 2, Linear(-5, 100), user="v"),
    ]
    cluster = Cluster([Node("s", 2, ps=1)])
    users = [User("u"), User("v")]
    return Irmp(Instance(cluster, jobs, users=users), owners=["u"], alone={"u": least})


def test_promises_come_before_revenue() -> None:
    # "cheap" first: 10 + 80; last: 8 + 90
    free, bound = revenue_search(promised(8), params=FEW), revenue_search(promised(10), params=FEW)
    assert (free.objective, bound.objective) == (98, 90)


def test_a_promise_that_nobody_can_keep_gives_no_schedule() -> None:
    found = revenue_search(promised(11), params=FEW)
    assert (found.status, found.solution) == (Status.UNKNOWN, None)


def test_jobs_that_must_run_do_so_at_a_loss() -> None:
    jobs = [job("a", 2, Linear(-2, 10)), job("b", 3, Linear(-1, 1))]
    problem = Irmp(Instance(Cluster([Node("s", 2, ps=1)]), jobs), optional=False)
    assert revenue_search(problem, params=FEW).objective == 6 - 4
