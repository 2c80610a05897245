"""The driver is faster where it is meant to be, with the same result: ratios of CPU times."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import gangsched as gs
from benchmarks.test_speed import times_faster
from gangsched.instances.generate import philly_workload
from gangsched.solvers import Fifo, LtgfPolicy, TiresiasL
from gangsched.solvers.policies.position_matching import position_matching

pytestmark = pytest.mark.slow
POLICIES = {"fifo": Fifo, "tiresias-l": TiresiasL, "ltgf": LtgfPolicy}


def workload(jobs: int, nodes: int = 16) -> gs.Instance[gs.Job]:
    return philly_workload(gs.Cluster.uniform(nodes=nodes, gpus_per_node=8), jobs=jobs, load=0.9)


@pytest.mark.parametrize("name", POLICIES)
def test_the_compiled_core_is_faster_than_the_reference(name: str) -> None:
    instance, policy = workload(500), POLICIES[name]()
    reference = partial(gs.drive, instance, policy, engine="reference")
    assert reference() == gs.drive(instance, policy)
    assert times_faster(partial(gs.drive, instance, policy), reference, runs=1) > 15


@pytest.mark.parametrize("name", POLICIES)
def test_skipping_is_faster_than_every_round(name: str) -> None:
    instance, policy = workload(2_000), POLICIES[name]()
    rules: dict[str, Any] = {"round_length": 10, "lease": 900}
    every = partial(gs.drive, instance, policy, skip=False, **rules)
    assert every() == gs.drive(instance, policy, **rules)
    assert times_faster(partial(gs.drive, instance, policy, **rules), every) > 3


@pytest.mark.parametrize("name", POLICIES)
def test_ten_times_the_jobs_cost_about_ten_times_as_much(name: str) -> None:
    few, many = workload(10_000, nodes=128), workload(100_000, nodes=128)
    policy = POLICIES[name]()
    assert times_faster(partial(gs.drive, few, policy), partial(gs.drive, many, policy)) < 40


def test_columns_by_position_are_faster_than_the_whole_matrix() -> None:
    rng = np.random.default_rng(0)
    jobs, gpus = 250, (2, 1)
    times = rng.integers(1, 1_000, (jobs, len(gpus)))
    # column (model g, GPU, position k from the end): k times the run time
    cost = np.concatenate(
        [np.outer(times[:, g], 1 + np.arange(jobs)) for g, n in enumerate(gpus) for _ in range(n)],
        axis=1,
    )

    def whole() -> int:
        rows, columns = linear_sum_assignment(cost)
        return int(cost[rows, columns].sum())

    assert position_matching(times, gpus).objective == whole()
    assert times_faster(partial(position_matching, times, gpus), whole) > 1.5
