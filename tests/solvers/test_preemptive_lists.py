"""Preemptive lists: by hand, feasible, and never better than the best of all schedules."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deadline_optimum
import fairest
import preemptive
from gangsched.formulations import CompletionTime, DeadlineRewards, Ltgf
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, Node
from gangsched.solvers import Stop
from gangsched.solvers.ours.ltgf.least_fair_first import LeastFairFirstParams, least_fair_first
from gangsched.solvers.ours.preemptive_lists import (
    CompletionListParams,
    completion_list,
    reward_list,
    spread,
)


def ends(problem: Any, order: Any) -> list[int]:
    result = completion_list(problem, params=CompletionListParams(order=order))
    return problem.ends(result.solution)


def flow(*rows: tuple[int, int, int], gpus: int = 2) -> CompletionTime:
    jobs = [Job(id=f"j{i}", gpus=g, release=r, work=p) for i, (g, r, p) in enumerate(rows)]
    return CompletionTime(Instance(Cluster.of_sizes([gpus]), jobs))


@pytest.mark.parametrize(
    ("order", "work", "expected"),
    [
        ("remaining", 1, [7, 8, 3]),
        ("remaining", 3, [9, 10, 5]),
        ("area", 1, [7, 8, 3]),
        ("area", 3, [6, 7, 10]),
        ("arrival", 1, [6, 7, 8]),
        ("arrival", 3, [6, 7, 10]),
    ],
)
def test_orders_by_hand(order: str, work: int, expected: list[int]) -> None:
    """When the wide gang comes at 2, the two narrow ones have 4 and 5 s left."""
    assert ends(flow((1, 0, 6), (1, 1, 6), (2, 2, work)), order) == expected


def test_a_gang_goes_on_the_fastest_model_with_room() -> None:
    nodes = [Node("old", 2, model="old"), Node("new", 1, model="new")]
    jobs = [
        Job(id=i, gpus=g, work=4, speeds={"old": 1, "new": 2})
        for i, g in (("a", 1), ("b", 1), ("c", 2))
    ]
    problem = CompletionTime(Instance(Cluster(nodes), jobs))
    schedule = completion_list(problem).solution
    assert schedule is not None
    assert [(row.job, row.start, row.end, dict(row.gpus)) for row in schedule] == [
        (0, 0, 2, {1: 1}),
        (1, 0, 2, {0: 1}),
        (1, 2, 3, {1: 1}),
        (2, 2, 6, {0: 2}),
    ]


@pytest.mark.parametrize("order", ["remaining", "area", "arrival"])
@pytest.mark.parametrize("measure", preemptive.MEASURES)
def test_no_list_beats_the_best_schedule(order: Any, measure: str) -> None:
    params, worse = CompletionListParams(order=order), 0
    for seed in range(12):
        problem = preemptive.random_problem(np.random.default_rng([41, seed]), measure)
        objective = completion_list(problem, params=params).objective
        best = preemptive.optimum(problem)
        assert objective is not None
        assert objective >= float(best) - 1e-9
        worse += objective > float(best) + 1e-9
    assert worse or measure == "makespan"


def test_lists_of_several_models_are_feasible() -> None:
    for seed in range(20):
        problem = preemptive.mixed_problem(np.random.default_rng([42, seed]), "flow")
        result = completion_list(problem)
        assert result.objective is not None
        assert result.objective >= preemptive.mixed_optimum(problem)


def test_no_list_wins_more_than_all_that_can_be_won() -> None:
    less = 0
    for seed in range(12):
        rng = np.random.default_rng([6, seed])
        problem = deadline_optimum.random_problem(rng, elastic=seed % 3 == 0)
        won, best = reward_list(problem).objective, deadline_optimum.optimum(problem)
        assert won is not None
        assert won <= best
        less += won < best
    assert 0 < less < 6


def test_what_cannot_be_in_time_does_not_run() -> None:
    jobs = [
        DeadlineJob(id="late", gpus=1, work=5, rewards=[(4, 900)]),
        DeadlineJob(id="none", gpus=1, work=5),
        DeadlineJob(id="soft", gpus=1, work=5, rewards=[(4, 100), (9, 50)]),
    ]
    result = reward_list(DeadlineRewards(Instance(Cluster.of_sizes([1]), jobs)))
    assert result.objective == 50
    assert result.solution is not None
    assert set(result.solution.job.tolist()) == {2}


def test_gangs_that_a_node_holds_are_not_split() -> None:
    """Two gangs of 3 on nodes of 4 and 2: split, one would take twice as long."""
    jobs = [DeadlineJob(id=i, gpus=3, work=4, rewards=[(8, 100)], split_speed=0.5) for i in "ab"]
    result = reward_list(DeadlineRewards(Instance(Cluster.of_sizes([4, 2]), jobs)))
    assert result.objective == 200
    assert result.solution is not None
    assert {tuple(row.gpus) for row in result.solution} == {(0,)}


def test_no_list_is_fairer_than_the_fairest_schedule() -> None:
    less = 0
    for seed in range(15):
        problem = fairest.tiny(seed, jobs=3, longest=2)
        result = least_fair_first(problem)
        best = fairest.fairest(problem, 10)
        assert best is not None
        assert result.objective is not None
        assert result.objective <= float(best) + 1e-12
        less += Fraction(result.objective) < best - Fraction(1, 10**9)
    assert 0 < less < 15


def test_a_lease_is_how_often_the_order_is_looked_at() -> None:
    jobs = [Job(id=i, gpus=1, work=4) for i in "ab"]
    problem = Ltgf(Instance(Cluster.of_sizes([1]), jobs))
    turns = {
        lease: [row.job for row in least_fair_first(problem, params=params).solution or ()]
        for lease in (1, 2, 4)
        for params in [LeastFairFirstParams(lease=lease)]
    }
    assert turns == {1: [0, 1] * 4, 2: [0, 1, 0, 1], 4: [0, 1]}


def test_a_schedule_beyond_the_horizon_is_none() -> None:
    jobs = [Job(id=i, gpus=1, work=4) for i in "ab"]
    problem = Ltgf(Instance(Cluster.of_sizes([1]), jobs), horizon=7)
    assert least_fair_first(problem).solution is None


@pytest.mark.parametrize("solve", [completion_list, least_fair_first])
def test_without_time_there_is_no_schedule(solve: Any) -> None:
    jobs = [Job(id=i, gpus=1, work=4) for i in "ab"]
    kind = CompletionTime if solve is completion_list else Ltgf
    result = solve(kind(Instance(Cluster.of_sizes([1]), jobs)), time_limit=0)
    assert (result.solution, result.stop) == (None, Stop.TIME_LIMIT)


def test_a_gang_stays_where_it_was() -> None:
    assert spread(2, [2, 4], {1: 2}, [0, 1]) == {1: 2}
    assert spread(2, [2, 1], {1: 2}, [0, 1]) == {0: 2}
    assert spread(2, [1, 1], {}, [0, 1]) == {0: 1, 1: 1}
    assert spread(2, [2, 0], {}, [1]) is None
