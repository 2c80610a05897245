"""A bound and a schedule of one problem, and how they come together."""

from typing import Any

import numpy as np
import pytest

import gangsched as gs
from gangsched.analysis.comparing import bracket as module
from gangsched.analysis.comparing.measures import least_times
from gangsched.analysis.proofs.bound import SCHEDULES
from gangsched.formulations import CompletionTime, SharingIncentive
from gangsched.formulations.completion_time.problem import Measure
from gangsched.instances import Cluster, Instance
from gangsched.solvers.ours import annealed
from gangsched.solvers.result import Stop
from preemptive import optimum, problem_of

ROWS = [(2, 0, 3, 1.0), (1, 0, 4, 1.0), (3, 1, 2, 1.0), (1, 2, 2, 1.0), (2, 3, 1, 1.0)]


@pytest.mark.parametrize("measure", ["flow", "completion", "slowdown", "makespan"])
def test_the_optimum_lies_between_and_both_sides_only_improve(measure: Measure) -> None:
    problem = problem_of([3], ROWS, measure)
    found = gs.bracket(problem, "full")
    assert found.objective is not None
    assert found.bound is not None
    assert found.bound.value <= optimum(problem) <= found.objective
    gs.verify_bound(problem, found.bound)
    assert problem.violations(found.solution) == []
    assert found.history[-1][1:] == (found.objective, found.bound.value)
    for side, way in ((1, -1), (2, 1)):
        values = [way * entry[side] for entry in found.history if entry[side] is not None]
        assert values == sorted(values)


@pytest.mark.parametrize("name", ["deadlines-helios-12", "users-stretch-10"])
def test_other_problems_have_brackets_too(name: str) -> None:
    problem = gs.problem(name)
    found = gs.bracket(problem)
    assert found.gap is not None
    gs.verify_bound(problem, found.bound)


def test_more_effort_is_never_worse() -> None:
    problem = gs.problem("flow-tiny-8")
    quick, full = (gs.bracket(problem, effort) for effort in ("quick", "full"))
    assert quick.bound is not None
    assert full.bound is not None
    assert full.objective <= quick.objective  # type: ignore[operator]
    assert full.bound.value > quick.bound.value
    assert full.gap is not None
    assert full.gap < 1e-3


def test_an_interrupt_keeps_the_bound_and_the_schedule_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, least = problem_of([3], ROWS), module.KNOWN[CompletionTime]

    def stopped(problem: Any, bound: Any, effort: str, *more: Any) -> Any:
        if effort == "full":
            raise KeyboardInterrupt
        return least(problem, bound, effort, *more)

    monkeypatch.setitem(module.KNOWN, CompletionTime, stopped)  # type: ignore[arg-type]
    found = gs.bracket(problem, "full")
    assert found.stop is Stop.INTERRUPTED
    assert found.objective is not None
    assert found.bound is not None


def test_an_interrupt_keeps_what_annealing_has_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, slices, plain = np.random.default_rng(3), list[int](), annealed.anneal
    rows = [
        (int(rng.choice([1, 2, 4, 8])), int(rng.integers(90)), int(rng.integers(5, 40)), 1.0)
        for _ in range(30)
    ]

    def anneal(*more: Any) -> None:
        slices.append(1)
        if len(slices) == 5:
            raise KeyboardInterrupt
        plain(*more)

    problem = problem_of([8], rows)
    bound, powers = gs.bound(problem), dict(SCHEDULES[CompletionTime]["full"])
    monkeypatch.setitem(SCHEDULES[CompletionTime], "full", powers)
    monkeypatch.setattr(module, "strengthened", lambda *_: bound)
    monkeypatch.setattr(annealed, "TOGETHER", 50)
    monkeypatch.setattr(annealed, "anneal", anneal)
    found = gs.bracket(problem, "full")
    assert found.stop is Stop.INTERRUPTED
    assert len(slices) == 5
    assert found.history[-1][1] == found.objective
    assert str(found.info["order"]).endswith("annealed")
    assert problem.violations(found.solution) == []
    monkeypatch.setitem(powers, "tries", 0)
    listed = least_times(problem, bound, "full")
    assert listed is not None
    assert found.objective < listed.objective


def test_a_replay_that_is_interrupted_keeps_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of([3], ROWS)

    def anneal(*more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(annealed, "anneal", anneal)
    with pytest.raises(KeyboardInterrupt) as error:
        gs.replay(problem.instance, ["fifo"], effort="full")
    kept = error.value.replay  # type: ignore[attr-defined]
    assert kept.unfinished == ("fifo",)
    assert [*kept.known] == ["slowdown"]


def test_it_says_what_it_does_and_refuses_what_it_cannot_do() -> None:
    said: list[str] = []
    gs.bracket(problem_of([3], ROWS), "full", on_progress=said.append)
    assert any(text.startswith("bound: ") for text in said)
    assert any(text.startswith("schedule: ") for text in said)
    with pytest.raises(ValueError, match="bracket: effort='most' is not one of 'quick'"):
        gs.bracket(problem_of([3], ROWS), "most")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="bracket: a UniSched is not one of CompletionTime, "):
        gs.bracket(gs.problem("queue-helios-12-load80"))


def test_users_without_jobs_are_as_well_off_as_can_be() -> None:
    empty = SharingIncentive(Instance(Cluster.of_sizes([2]), []))
    found = gs.solve_exact(empty)
    assert (found.status.value, found.objective) == ("optimal", 0)
    for effort in ("quick", "full"):
        bound = gs.bracket(empty, effort).bound
        assert bound is not None
        assert bound.value == 0
