"""Annealed orders of ends: against every schedule, the same again, and what ends them early."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import gangsched as gs
from gangsched.formulations import SharingIncentive
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job
from gangsched.solvers.ours import end_order as module
from gangsched.solvers.ours.annealed import Annealing, annealed_run
from gangsched.solvers.ours.end_order import annealed_order, end_order, user_end_order
from gangsched.solvers.ours.pool import PoolRun
from gangsched.solvers.result import Stop
from preemptive import optimum, problem_of, problems, random_problem
from sharing_optimum import random_instance


def wide(seed: int, jobs: int = 12) -> CompletionTime:
    """Gangs of which an eighth to all fit on eight GPUs."""
    rng = np.random.default_rng(seed)
    rows = [
        (int(rng.choice([1, 2, 4, 8])), int(rng.integers(60)), int(rng.integers(5, 60)), 1.0)
        for _ in range(jobs)
    ]
    return problem_of([8], rows)


def cost(problem: CompletionTime, run: PoolRun) -> float:
    return problem.objective_of(run.ends.tolist())


@given(problems(max_jobs=3))
def test_it_is_a_schedule_no_worse_than_the_list(problem: CompletionTime) -> None:
    if problem.measure == "makespan":
        with pytest.raises(ValueError, match="measure='makespan' has no weights"):
            end_order(problem)
        return
    found = end_order(problem)
    assert problem.violations(found.solution) == []
    assert found.objective is not None
    listed = cost(problem, annealed_run(problem, how=Annealing(200 * len(problem.jobs))))
    assert float(optimum(problem)) - 1e-9 <= found.objective <= listed + 1e-9


def test_of_few_jobs_it_is_mostly_the_optimum() -> None:
    rng = np.random.default_rng(0)
    some = [random_problem(rng, "flow") for _ in range(40)]
    assert sum(end_order(problem).objective == optimum(problem) for problem in some) >= 38


@pytest.mark.parametrize("seed", [0, 5, 7])
def test_it_is_better_than_the_list(seed: int) -> None:
    problem, told = wide(seed), list[float]()
    listed = annealed_run(problem, how=Annealing(2_000))
    how = Annealing(60, on_progress=lambda _, value: told.append(value))
    found = annealed_order(problem, listed, how)
    assert cost(problem, found) < cost(problem, listed)
    assert (len(told), told[-1]) == (60, cost(problem, found))
    assert told == sorted(told, reverse=True)


def test_the_same_seed_has_the_same_schedule() -> None:
    of_users = SharingIncentive(random_instance(np.random.default_rng(0)), "wait")
    for order, problem in ((end_order, wide(0, 8)), (user_end_order, of_users)):
        one, other = (order(problem, seed=3) for _ in range(2))
        assert one.solution == other.solution


def test_an_interrupt_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, plain, calls = wide(0), module.by_order, list[int]()

    def stopped(*args: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 60:
            raise KeyboardInterrupt
        return plain(*args, **more)

    monkeypatch.setattr(module, "by_order", stopped)
    listed = annealed_run(problem, how=Annealing(2_000))
    found = annealed_order(problem, listed, Annealing(60))
    assert found.stop is Stop.INTERRUPTED
    assert cost(problem, found) < cost(problem, listed)
    calls[:] = [1] * 59
    assert end_order(problem).stop is Stop.INTERRUPTED


def test_it_keeps_its_limits() -> None:
    problem = gs.problem("flow-100-load140")
    assert end_order(problem, time_limit=1.0).runtime < 3
    jobs = [Job(id=str(k), gpus=1, work=1) for k in range(301)]
    with pytest.raises(ValueError, match="end_order: 301 jobs are more than 300"):
        end_order(CompletionTime(Instance(Cluster.of_sizes([1]), jobs), "flow"))


@pytest.mark.parametrize(
    ("name", "known"), [("users-stretch-10", 1.1442183), ("users-wait-10", 0.0305605)]
)
def test_the_worst_user_is_as_well_off_as_is_known(name: str, known: float) -> None:
    problem = gs.problem(name)
    found = user_end_order(problem)
    assert problem.violations(found.solution) == []
    assert found.objective is not None
    assert found.objective < known
