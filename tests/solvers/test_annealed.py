"""Annealed lists: never worse than the list, never better than the optimum, the same again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.analysis.comparing.measures import least_times
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job
from gangsched.solvers.ours import annealed
from gangsched.solvers.ours.annealed import annealed_run
from gangsched.solvers.ours.pool import run_pool, schedule_of
from preemptive import MEASURES, optimum, problems

SUMS = [measure for measure in MEASURES if measure != "makespan"]


def crowd(seed: int, jobs: int = 60) -> CompletionTime:
    rng = np.random.default_rng(seed)
    some = [
        Job(
            id=f"j{k}", gpus=int(rng.choice([1, 2, 4, 8])), work=int(rng.integers(20, 400)),
            release=int(rng.integers(0, 90) * 10),
        )
        for k in range(jobs)
    ]  # fmt: skip
    return CompletionTime(Instance(Cluster.of_sizes([8, 4]), some), "flow")


def cost(problem: CompletionTime, run: Any) -> Any:
    return problem.objective_of(run.ends.tolist())


@given(st.sampled_from(SUMS).flatmap(lambda measure: problems(measure=measure)))
def test_it_lies_between_the_optimum_and_the_list(problem: CompletionTime) -> None:
    run = annealed_run(problem, tries=200)
    schedule = schedule_of(problem, run)
    assert problem.violations(schedule) == []
    assert problem.objective(schedule) >= float(optimum(problem)) * (1 - 1e-12)
    assert cost(problem, run) <= cost(problem, run_pool(problem))


@pytest.mark.parametrize("seed", range(4))
def test_what_a_change_reaches_is_all_that_changes(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost that tries add up is that of the whole run with the keys that are left."""
    problem, ended = crowd(seed), list[tuple[Any, Any, Any]]()
    plain = annealed.anneal

    def anneal(gangs: Any, scale: Any, best: Any, costs: Any, *rest: Any) -> None:
        plain(gangs, scale, best, costs, *rest)
        ended.append((gangs, scale.copy(), costs.copy()))

    monkeypatch.setattr(annealed, "anneal", anneal)
    monkeypatch.setattr(annealed, "TOGETHER", 50)
    run = annealed_run(problem, tries=1_000, seed=seed)
    order = np.argsort([job.release for job in problem.jobs], kind="stable")
    for _, scale, costs in ended:
        key = np.empty_like(scale)
        key[order] = scale
        whole = run_pool(problem, power=0.0, weights=1 / key)
        assert cost(problem, whole) == pytest.approx(costs[0], rel=1e-9)
    assert len(ended) == 20
    assert cost(problem, run) == pytest.approx(ended[-1][2][1], rel=1e-9)
    assert cost(problem, run) < cost(problem, run_pool(problem)) * 0.995


def test_the_same_seed_gives_the_same_run_and_others_others() -> None:
    runs = [annealed_run(crowd(1), tries=600, seed=seed) for seed in (3, 3, 4)]
    assert runs[0].ends.tolist() == runs[1].ends.tolist() != runs[2].ends.tolist()


def test_limits_are_kept_progress_is_told_and_ctrl_c_goes_through() -> None:
    problem = crowd(2)
    listed = cost(problem, run_pool(problem))
    assert cost(problem, annealed_run(problem, tries=10**9, time_limit=0.3)) < listed
    assert cost(problem, annealed_run(problem, tries=10**9, work=1e6)) < listed
    seen = list[float]()

    def stop(tries: int, best: float) -> None:
        seen.append(best)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        annealed_run(problem, tries=10**9, on_progress=stop)
    assert seen == sorted(seen, reverse=True)


def test_full_effort_shows_it_and_the_makespan_is_refused() -> None:
    problem = crowd(3)
    with pytest.raises(ValueError, match="makespan"):
        annealed_run(CompletionTime(problem.instance, "makespan"))
    listed, found = (least_times(problem, None, effort) for effort in ("quick", "full"))
    assert found.objective < listed.objective
    assert found.order.endswith("annealed")
