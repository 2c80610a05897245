"""The model of rewards agrees with the problem, and with the optimum of trying everything."""

from typing import Any

import numpy as np
import pytest

from deadline_optimum import optimum, random_problem
from few import each_seed
from gangsched import solve_exact
from gangsched.formulations import DeadlineRewards, build
from gangsched.formulations.rows import MODEL_LIMIT
from gangsched.instances import Cluster, DeadlineJob, Instance
from gangsched.solvers.ours.preemptive_lists import reward_list

pyo: Any = pytest.importorskip("pyomo.environ")


def problem_of(seed: int) -> DeadlineRewards:
    return random_problem(np.random.default_rng([6, seed]), elastic=seed % 3 == 0)


@each_seed(range(12))
def test_the_model_has_the_optimum(seed: int) -> None:
    problem = problem_of(seed)
    result = solve_exact(problem)
    assert result.status.value == "optimal"
    assert result.objective == optimum(problem)


@each_seed(range(12))
def test_a_schedule_fits_the_model_and_comes_back(seed: int) -> None:
    problem = problem_of(seed)
    schedule = reward_list(problem).solution
    assert schedule is not None
    model = build(problem)
    model.embed(schedule)
    rows = model.native.component_data_objects(pyo.Constraint, active=True)
    assert all(row.lslack() > -1e-9 and row.uslack() > -1e-9 for row in rows)
    assert pyo.value(model.native.objective) == problem.objective(schedule)
    again = model.extract()
    assert problem.violations(again) == []
    assert problem.objective(again) == problem.objective(schedule)


def test_several_nodes_and_long_times_are_refused() -> None:
    jobs = [DeadlineJob(id="a", gpus=1, work=4, rewards=[(9, 100)])]
    two = DeadlineRewards(Instance(Cluster.of_sizes([1, 1]), jobs))
    with pytest.raises(ValueError, match=r"form='time-indexed' is for one node, there are 2$"):
        build(two)
    long = [DeadlineJob(id="a", gpus=1, work=4, rewards=[(MODEL_LIMIT + 1, 100)])]
    with pytest.raises(ValueError, match=r"200001 jobs x seconds x numbers of GPUs are more than "):
        build(DeadlineRewards(Instance(Cluster.of_sizes([1]), long)))
