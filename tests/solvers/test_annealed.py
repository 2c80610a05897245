"""Annealed lists: never worse than the list, never better than the optimum, the same again."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowds import crowd
from gangsched.analysis.comparing.measures import least_times
from gangsched.analysis.proofs.user_prices import tried
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.formulations.sharing_incentive import SharingIncentive
from gangsched.instances import User
from gangsched.solvers.ours import annealed
from gangsched.solvers.ours.annealed import (
    Annealing,
    annealed_models,
    annealed_run,
    annealed_users,
)
from gangsched.solvers.ours.model_order import models_schedule, run_models
from gangsched.solvers.ours.pool import run_pool, schedule_of
from gangsched.solvers.result import Stop
from preemptive import MEASURES, mixed_optimum, mixed_problem, optimum, problems

SUMS = [measure for measure in MEASURES if measure != "makespan"]
TABLE = [{"a": 4.0, "b": 2.0}, {"a": 1.5, "b": 1.0}, {"b": 0.7}, {"a": 0.3}]


def waiting(seed: int, jobs: int = 60, models: str = "") -> CompletionTime:
    nodes = [(size, model) for model in models or "a" for size in (8, 4)]
    made = crowd(
        seed, nodes, jobs, gangs=(1, 2, 4, 8), work=(20, 400), release=(0, 90),
        users=[User(u) for u in "uvw"], speeds=TABLE if models else [{}],
    )  # fmt: skip
    spread = [replace(job, release=10 * job.release) for job in made.jobs]
    return CompletionTime(replace(made, jobs=sorted(spread, key=lambda job: job.release)), "flow")


def cost(problem: CompletionTime, run: Any) -> Any:
    return problem.objective_of(run.ends.tolist())


def plain_ends(problem: CompletionTime, scale: Any, models: Any) -> list[int]:
    """Completions by the rule: the least work left times scale first, on the first model free."""
    jobs, several = problem.jobs, problem.mixed
    unit = 10**6 if several else 1
    speeds = problem.speeds.tolist() if several else [[1]] * len(jobs)
    gpus = [sum(n.gpus for n in problem.instance.cluster.nodes if n.model == m)
            for m in problem.models]  # fmt: skip
    left = [(job.work or 0) * unit for job in jobs]
    on, ends, now = [-1] * len(jobs), [0] * len(jobs), 0
    while not all(ends):
        here = [j for j, job in enumerate(jobs) if job.release <= now and not ends[j]]
        here.sort(key=lambda j: (-(-left[j] // unit) * scale[j], j))
        free, to, fresh = list(gpus), dict[int, int](), True
        while fresh:
            fresh = False
            for j in here:
                for g in (g for g in models[j] if g >= 0 and j not in to):
                    if free[g] >= jobs[j].gpus:
                        free[g] -= jobs[j].gpus
                        to[j], fresh = g, True
                        break
            for j, was in list(to.items()) if fresh and several else ():
                faster = [g for g, s in enumerate(speeds[j]) if s > speeds[j][was]]
                for g in sorted(faster, key=lambda g, j=j: -speeds[j][g]):
                    if free[g] >= jobs[j].gpus:
                        free[was] += jobs[j].gpus
                        free[g] -= jobs[j].gpus
                        to[j] = g
                        break
        for j in here:
            if on[j] != to.get(j, -1):
                left[j], on[j] = -(-left[j] // unit) * unit, to.get(j, -1)
        come = [job.release for job in jobs if job.release > now]
        done = min(come + [now - (-left[j] // speeds[j][g]) for j, g in to.items()])
        for j, g in to.items():
            left[j] -= (done - now) * speeds[j][g]
            ends[j] = done if left[j] <= 0 else 0
        now = done
    return ends


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the tries have come to after each fifty of them."""
    ended, plain = list[tuple[Any, ...]](), annealed.anneal

    def anneal(gangs: Any, keys: Any, best: Any, costs: Any, total: Any, *rest: Any) -> None:
        plain(gangs, keys, best, costs, total, *rest)
        ended.append((keys.scale.copy(), keys.models.copy(), costs.copy(), total.copy()))

    monkeypatch.setattr(annealed, "anneal", anneal)
    monkeypatch.setattr(annealed, "TOGETHER", 50)
    return ended


@given(st.sampled_from(SUMS).flatmap(lambda measure: problems(measure=measure)))
def test_it_lies_between_the_optimum_and_the_list(problem: CompletionTime) -> None:
    run = annealed_run(problem, how=Annealing(200))
    schedule = schedule_of(problem, run)
    assert problem.violations(schedule) == []
    assert problem.objective(schedule) >= float(optimum(problem)) * (1 - 1e-12)
    assert cost(problem, run) <= cost(problem, run_pool(problem))


@pytest.mark.parametrize("measure", SUMS)
def test_on_several_models_it_lies_between_them_too(measure: str) -> None:
    rng, gaps = np.random.default_rng(4), []
    for _ in range(20):
        problem = mixed_problem(rng, measure)
        prices = np.ones(len(problem.models))
        run = annealed_models(problem, prices, how=Annealing(300))
        assert problem.violations(models_schedule(problem, run)) == []
        best = float(mixed_optimum(problem))
        assert (
            best * (1 - 1e-12) <= cost(problem, run) <= cost(problem, run_models(problem, prices))
        )
        gaps.append(cost(problem, run) / best - 1)
    assert np.mean(gaps) < 0.03


@pytest.mark.parametrize("models", ["", "ab"])
@pytest.mark.parametrize("seed", range(3))
def test_what_a_change_reaches_is_all_that_changes(
    seed: int, models: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost that tries add up is that of a plain simulation with the keys that are left."""
    problem, ended, how = (
        waiting(seed, models=models),
        recorded(monkeypatch),
        Annealing(1_000, seed=seed),
    )
    if models:
        prices = np.array([2.0, 1.0])
        run, listed = annealed_models(problem, prices, how=how), run_models(problem, prices)
        assert problem.violations(models_schedule(problem, run)) == []
        assert any((own != ended[0][1]).any() for _, own, _, _ in ended)
    else:
        run, listed = annealed_run(problem, how=how), run_pool(problem)
    for scale, own, costs, _ in ended[::4]:
        assert problem.objective_of(plain_ends(problem, scale, own.tolist())) == costs[0]
    assert len(ended) == 21
    assert cost(problem, run) == ended[-1][2][1]
    assert cost(problem, run) < cost(problem, listed) * 0.995


@pytest.mark.parametrize("reading", ["sharing", "wait", "stretch"])
def test_the_worst_user_gains(reading: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = SharingIncentive(waiting(5).instance, reading)
    begun, ended = tried(problem, 3).best, recorded(monkeypatch)
    run = annealed_users(problem, begun, how=Annealing(1_000))
    for scale, own, costs, total in ended[::4]:
        ends = plain_ends(problem.flow, scale, own.tolist())
        ratios = [float(ratio) for ratio in problem.ratios(problem.flows_of(ends)).values()]
        assert total == pytest.approx(ratios, rel=1e-9)
        assert costs[0] == pytest.approx(max(ratios) + begun.shares @ ratios, rel=1e-9)
    assert problem.objective(schedule_of(problem.flow, run)) == pytest.approx(ended[-1][2][1])
    assert problem.objective(schedule_of(problem.flow, run)) < begun.cost(None)[0] * 0.99
    with pytest.raises(ValueError, match=r"limit=2\.0"):
        annealed_users(replace(problem, limit=2.0), begun)


def test_the_same_seed_gives_the_same_run_and_others_others() -> None:
    runs = [annealed_run(waiting(1), how=Annealing(600, seed=seed)) for seed in (3, 3, 4)]
    assert runs[0].ends.tolist() == runs[1].ends.tolist() != runs[2].ends.tolist()


def test_limits_are_kept_and_progress_is_told() -> None:
    problem = waiting(2)
    listed = cost(problem, run_pool(problem))
    assert cost(problem, annealed_run(problem, how=Annealing(10**9, time_limit=0.3))) < listed
    assert cost(problem, annealed_run(problem, how=Annealing(10**9, work=1e6))) < listed
    seen = list[float]()
    run = annealed_run(problem, how=Annealing(2_000, on_progress=lambda _, best: seen.append(best)))
    assert seen == sorted(seen, reverse=True)
    assert run.stop is Stop.COMPLETED


@pytest.mark.parametrize("kind", ["pool", "models", "users"])
def test_ctrl_c_keeps_the_best_so_far(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, ended = waiting(2, models="ab" * (kind == "models")), recorded(monkeypatch)

    def stop(tries: int, best: float) -> None:
        if len(ended) == 9:
            raise KeyboardInterrupt

    how = Annealing(10**9, on_progress=stop)
    if kind == "users":
        sharing = SharingIncentive(problem.instance, "stretch")
        begun = tried(sharing, 3).best
        run: Any = annealed_users(sharing, begun, how=how)
        worst = max(sharing.ratios(sharing.flows_of(run.ends)).values())
        assert float(worst) == pytest.approx(ended[-1][2][1])
        assert worst < begun.cost(None)[0]
    elif kind == "models":
        prices = np.array([2.0, 1.0])
        run = annealed_models(problem, prices, how=how)
        assert cost(problem, run) == ended[-1][2][1] < cost(problem, run_models(problem, prices))
    else:
        run = annealed_run(problem, how=how)
        assert cost(problem, run) == ended[-1][2][1] < cost(problem, run_pool(problem))
    assert len(ended) == 9
    assert run.stop is Stop.INTERRUPTED


@pytest.mark.parametrize(("models", "jobs"), [("", 12), ("ab", 20)])
def test_full_effort_shows_it_and_the_makespan_is_refused(models: str, jobs: int) -> None:
    problem = waiting(3, jobs=jobs, models=models)
    with pytest.raises(ValueError, match="makespan"):
        annealed_run(CompletionTime(waiting(3).instance, "makespan"))
    listed, found = (least_times(problem, None, effort) for effort in ("quick", "full"))
    assert found.objective < listed.objective
    assert "annealed" in found.order
