"""The unit of money of Astraea's prices: what the paper assumes, and what it does to revenue."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gangsched.formulations.irmp.problem import Irmp, paper_problem
from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
from gangsched.solvers import AstraeaParams
from gangsched.solvers.facts import RevenueFacts
from gangsched.solvers.irmp.astraea import astraea, batch_sche
from gangsched.solvers.irmp.prices import assumed_scale, in_unit, thetas
from gangsched.solvers.irmp.rounds import within_assumption
from revenue_optimum import random_problem, shapes

LETTER = AstraeaParams(scale=1)


def one(worth: float) -> Irmp:
    """A job of 10 slots on 2 workers and 1 PS."""
    job = ParameterServerJob(
        id="a", gpus=2, epochs=1, minibatches=10, rates=(1, 0.5), utility=Linear(0, worth)
    )
    return Irmp(Instance(Cluster([Node("s", 2, ps=1)]), [job]))


@pytest.mark.parametrize(
    ("worth", "scale"), [(20, 1), (500, 1), (19.9, 10), (2, 10), (1.9, 100), (0, 1), (-3, 1)]
)
def test_the_unit_is_the_least_power_of_ten_that_will_do(worth: float, scale: float) -> None:
    assert assumed_scale(one(worth)) == scale


def test_the_shortest_run_of_every_job_is_within_the_assumption_and_not_in_a_smaller_unit() -> None:
    """By all runs that there are."""
    rng, larger = np.random.default_rng(5), 0
    for _ in range(60):
        problem = random_problem(rng)
        worths = []
        for j, job in enumerate(problem.jobs):
            every = list(shapes(problem, j))
            shortest = min((shape.slots for shape in every), default=0)
            least: dict[int, int] = {}
            for shape in every:
                if shape.slots == shortest:
                    workers, ps = sum(shape.workers), sum(shape.ps)
                    least[workers] = min(least.get(workers, ps), ps)
            worth = job.utility.value(shortest) if every else 0
            if worth > 0:
                use = max(max(pair) for pair in least.items())
                worths.append(worth / (use * shortest))
        scale = assumed_scale(problem)
        assert all(scale * worth >= 1 - 1e-12 for worth in worths)
        assert scale == 1 or any(scale / 10 * worth < 1 for worth in worths)
        larger += scale > 1
    assert 5 <= larger <= 55


def test_a_theta_that_is_a_number_has_its_unit() -> None:
    problem = paper_problem(20, servers=20)
    assert in_unit(problem, AstraeaParams(theta=16.0)).scale == 1
    assert in_unit(problem, None).scale == assumed_scale(problem) > 1
    assert in_unit(problem, LETTER) == LETTER
    with pytest.raises(ValueError, match="AstraeaParams: scale='assumption' is that of a problem"):
        _ = AstraeaParams().unit


def test_by_default_theta_is_of_the_unit_that_is_found() -> None:
    problem = paper_problem(20, servers=20)
    found = assumed_scale(problem)
    own, letter = astraea(problem), astraea(problem, params=LETTER)
    jobs = range(len(problem.jobs))
    assert own.info["theta"] == thetas(problem, jobs, scale=found).tolist()
    assert letter.info["theta"] == thetas(problem, jobs).tolist()
    assert own.info["params"]["scale"] == RevenueFacts.of(own).scale == found
    assert own.solution == astraea(problem, params=AstraeaParams(scale=found)).solution
    assert own.solution != letter.solution


@pytest.mark.slow
@pytest.mark.parametrize("utility", ["linear", "convex"])
@pytest.mark.parametrize(("solver", "least"), [(astraea, 1), (batch_sche, 0.95)])
def test_the_default_meets_the_assumption_where_the_letter_does_not(
    solver: Any, least: float, utility: Any
) -> None:
    """Of BatchSche nearly: the shortest runs on all servers are shorter than on a user's own."""
    for seed in range(3):
        problem = paper_problem(50, utility=utility, seed=seed)
        own, letter = solver(problem), solver(problem, params=LETTER)
        within = RevenueFacts.of(own).within_assumption
        assert within is not None
        assert within == own.info["within assumption"] >= least * len(own.solution)
        few = RevenueFacts.of(letter).within_assumption
        assert few is not None
        assert few <= 0.3 * len(letter.solution)
        assert own.objective > letter.objective


def test_runs_within_the_assumption_are_counted_by_workers_and_by_ps() -> None:
    problem = one(2)
    (row,) = result = astraea(problem, params=AstraeaParams(scale=10)).solution or ()
    # worth 2 for 20 worker-slots
    assert [within_assumption(problem, result, AstraeaParams(scale=s)) for s in (9.99, 10)] == [
        0,
        1,
    ]
    jobs = replace(problem.jobs[0], epochs=2)
    longer = replace(problem, instance=replace(problem.instance, jobs=[jobs]))
    begun = replace(row, start=32, end=52)
    later = type(result).of([begun])
    assert within_assumption(longer, later, AstraeaParams(scale=19.9)) == 0
    many = type(result).of([replace(begun, ps={0: 3})])  # 60 PS-slots
    assert [within_assumption(longer, many, AstraeaParams(scale=s)) for s in (29, 30)] == [0, 1]


#: mean true revenue of seeds 0 to 2, linear: jobs, servers, solver, at scale 1, at 1000
REVENUE = [
    (50, 100, astraea, -2_416, 8_845),
    (50, 100, batch_sche, 4_101, 8_160),
    (100, 100, astraea, -73_148, 15_438),
    (100, 100, batch_sche, -5_330, 13_502),
    (50, 40, astraea, -32_752, 7_470),
    (50, 40, batch_sche, -1_666, 3_963),
]


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "servers", "solver", "letter", "thousand"), REVENUE)
def test_the_unit_decides_between_losses_and_gains(
    jobs: int, servers: int, solver: Any, letter: int, thousand: int
) -> None:
    problems = [paper_problem(jobs, servers=servers, seed=seed) for seed in range(3)]
    for scale, known in ((1, letter), (1000, thousand)):
        params = AstraeaParams(scale=scale)
        found = [solver(problem, params=params).objective for problem in problems]
        assert round(sum(found) / 3) == known
