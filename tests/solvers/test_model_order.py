"""Orders by cost on several GPU models: schedules, prices, and the policy that has them."""

from typing import Any

import numpy as np
import pytest

import gangsched as gs
from crowds import crowd
from few import each_seed
from gangsched.analysis.comparing.measures import least_times
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job, Node
from gangsched.solvers import SmallestArea
from gangsched.solvers.ours import model_order
from gangsched.solvers.ours.pool import run_pool
from reference_driver import drive

TABLE = [{"a": 4.0, "b": 2.0, "c": 1.0}, {"a": 1.5, "b": 1.25, "c": 1.0}, {"b": 1.0, "c": 0.5}]


def reference(problem: CompletionTime, prices: Any) -> list[int]:
    """Completions by the rule, with lists."""
    jobs, speeds = problem.jobs, problem.speeds.tolist()
    costs = model_order.costs_of_work(prices, problem.speeds)
    unit = [job.gpus * row.min() for job, row in zip(jobs, costs, strict=True)]
    cheap = [sorted((g for g, s in enumerate(row) if s), key=lambda g, r=r: (r[g], g))
             for row, r in zip(speeds, costs.tolist(), strict=True)]  # fmt: skip
    left, on, since = [job.work for job in jobs], [-1] * len(jobs), [0] * len(jobs)
    ends = [0] * len(jobs)
    now = min(job.release for job in jobs)
    while not all(ends):
        here = [j for j, job in enumerate(jobs) if job.release <= now and not ends[j]]
        done = {j: (now - since[j]) * speeds[j][on[j]] // 10**6 if on[j] >= 0 else 0 for j in here}
        key = {j: unit[j] * (left[j] - done[j]) for j in here}
        free, new = model_order.gpus_of_models(problem).tolist(), dict[int, int]()
        waits, moved = sorted(here, key=lambda j: (key[j], j)), True
        while moved:
            for j in [j for j in waits if j not in new]:
                g = next((g for g in cheap[j] if free[g] >= jobs[j].gpus), -1)
                if g >= 0:
                    new[j] = g
                    free[g] -= jobs[j].gpus
            moved = False
            for j in new:
                better = sorted((g for g, s in enumerate(speeds[j]) if s > speeds[j][new[j]]),
                                key=lambda g, j=j: (-speeds[j][g], g))  # fmt: skip
                g = next((g for g in better if free[g] >= jobs[j].gpus), -1)
                if g >= 0:
                    free[new[j]] += jobs[j].gpus
                    free[g] -= jobs[j].gpus
                    new[j], moved = g, True
        for j in here:
            if new.get(j, -1) != on[j]:
                if on[j] >= 0:
                    left[j] -= (now - since[j]) * speeds[j][on[j]] // 10**6
                on[j], since[j] = new.get(j, -1), now
        finish = {j: since[j] - (-left[j] * 10**6 // speeds[j][g]) for j, g in new.items()}
        now = min([*finish.values(), *(job.release for job in jobs if job.release > now)])
        for j, end in finish.items():
            if end <= now:
                ends[j], on[j] = end, -1
    return ends


@each_seed(range(10), plain=4)
def test_it_is_the_rule_and_a_schedule(seed: int) -> None:
    span, nodes = {"work": (1, 4000), "release": (0, 3000)}, [(4, model) for model in "aabbcc"]
    instance = crowd(seed, nodes, gangs=(1, 1, 2, 4, 8), speeds=TABLE, **span)
    problem = CompletionTime(instance, ["flow", "completion"][seed % 2])
    prices = model_order.positive(model_order.prices_of(problem)) ** [1.0, 0.7][seed // 2 % 2]
    run = model_order.run_models(problem, prices)
    schedule = model_order.models_schedule(problem, run)
    assert problem.violations(schedule) == []
    assert problem.ends(schedule) == run.ends.tolist()
    assert run.ends.tolist() == reference(problem, prices)
    known = least_times(problem, None, "full")
    assert known is not None
    assert known.objective <= problem.objective(
        model_order.models_schedule(problem, model_order.run_models(problem, prices))
    )
    assert known.objective >= gs.bound(problem, "standard").value


def test_on_one_model_it_is_the_area_order() -> None:
    rng = np.random.default_rng(2)
    jobs = [Job(id=f"j{i}", gpus=int(rng.integers(1, 5)), work=int(rng.integers(1, 90)),
                release=int(rng.integers(0, 90))) for i in range(30)]  # fmt: skip
    problem = CompletionTime(Instance(Cluster.of_sizes([4, 4]), jobs))
    assert (
        model_order.run_models(problem, np.ones(1)).ends.tolist() == run_pool(problem).ends.tolist()
    )


def test_prices_are_the_dual_of_the_earliest_end() -> None:
    """2 new GPUs do 3 s of most work in a second, 4 old ones 1: all 32 s end after 3.2 s."""
    speeds, work = np.array([[3.0, 1.0], [1.0, 1.0]]), np.array([28.0, 4.0])
    room = np.array([2, 4])
    prices = model_order.model_prices(speeds, work, room)
    assert prices @ room == pytest.approx(1)
    assert prices[0] == pytest.approx(3 * prices[1])
    worth = sum(w * min(prices / s) for w, s in zip(work, speeds, strict=True))
    assert worth == pytest.approx(3.2)


# --- the policy -----------------------------------------------------------------------------------


def test_each_job_gets_the_model_that_is_cheapest_for_it() -> None:
    """Only one of them gains from the new GPU; the other one has the smaller area."""
    cluster = Cluster([Node("n", 1, "new"), Node("o", 1, "old")])
    jobs = [
        Job(id="gains", gpus=1, work=6000, speeds={"new": 4.0, "old": 1.0}),
        Job(id="not", gpus=1, work=1200, speeds={"new": 1.2, "old": 1.0}),
    ]
    run = drive(Instance(cluster, jobs), SmallestArea(), overhead=0)
    assert run.records.end.tolist() == [1500, 1200]
    assert run.records.starts.tolist() == [1, 1]
