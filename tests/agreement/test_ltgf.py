"""The forms of LTGF say what the plain checker says, and their optimum is that of every schedule.

The optimum is found again by going through all schedules (tests/fairest.py), to a horizon.
"""

from dataclasses import replace

import pyomo.environ as pyo
import pytest

from broken import Broken
from fairest import fairest, tiny
from gangsched.formulations.ltgf.forms import _round_by_round, _windows
from gangsched.formulations.ltgf.problem import Ltgf
from gangsched.instances import Cluster, Instance, Job, Schedule
from gangsched.solvers import ExactParams
from gangsched.solvers.exact import branch_and_bound
from gangsched.solvers.result import Status

FORMS = ["compact", "literal"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("seed", "users"), [*((seed, 0) for seed in range(8)), *((seed, 2) for seed in range(8))]
)
def test_the_optimum_is_that_of_all_schedules(seed: int, users: int, form: str) -> None:
    """Some of these models HiGHS 1.15 calls infeasible unless a rule of its presolve is off."""
    problem = tiny(seed, users=users)
    horizon = min(9, max(window.stop for window in _windows(problem)))
    best = fairest(problem, horizon)
    result = branch_and_bound(replace(problem, horizon=horizon), params=ExactParams(form=form))
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(float(best))


@pytest.mark.parametrize("seed", [1, 3, 6, 14])
def test_no_later_schedule_is_fairer(seed: int) -> None:
    """Without a horizon the model has one of its own, which must cut no optimum off."""
    problem = tiny(seed, users=2 * (seed % 2))
    own = max(window.stop for window in _windows(problem))
    free = branch_and_bound(problem)
    assert free.objective == pytest.approx(float(fairest(problem, min(own + 2, 12))))


@pytest.mark.parametrize("form", FORMS)
def test_figure_6_can_be_fair_to_all(form: str) -> None:
    jobs = [Job(id=f"J{i}", gpus=gang, work=4) for i, gang in ((1, 6), (2, 3), (3, 3))]
    problem = Ltgf(Instance(Cluster.of_sizes([6]), jobs), horizon=9)
    result = branch_and_bound(problem, params=ExactParams(form=form))
    assert (result.objective, result.status) == (1.0, Status.OPTIMAL)


@pytest.mark.parametrize(
    ("gangs", "gpus", "work", "optimum"),
    [
        ((3, 3), 4, 4, 12 / 17),  # one waits while the other runs
        ((4, 4), 4, 4, 8 / 9),
        ((1, 4), 4, 4, 8 / 11),
        ((1, 1), 2, 3, 1.0),
    ],
)
def test_fairness_of_one_is_not_always_possible(
    gangs: tuple[int, ...], gpus: int, work: int, optimum: float
) -> None:
    jobs = [Job(id=f"j{i}", gpus=gang, work=work) for i, gang in enumerate(gangs)]
    result = branch_and_bound(Ltgf(Instance(Cluster.of_sizes([gpus]), jobs)))
    assert result.objective == pytest.approx(optimum)


@pytest.mark.parametrize("form", FORMS)
def test_too_short_a_horizon_is_proven_infeasible(form: str) -> None:
    jobs = [Job(id="a", gpus=2, work=2), Job(id="b", gpus=1, work=1, release=2)]
    instance = Instance(Cluster.of_sizes([2]), jobs)
    assert (
        branch_and_bound(Ltgf(instance, horizon=3), params=ExactParams(form=form)).status
        is Status.OPTIMAL
    )
    assert (
        branch_and_bound(Ltgf(instance, horizon=2), params=ExactParams(form=form)).status
        is Status.INFEASIBLE
    )


def changes(problem: Ltgf, schedule: Schedule) -> list[Schedule]:
    """The schedule with one segment left out, moved, longer, or with another gang."""
    rows, made = list(schedule), []
    for i, row in enumerate(rows):
        rest = rows[:i] + rows[i + 1 :]
        node = min(row.gpus)
        made.append(Schedule.of(rest))
        made.append(Schedule.of([*rest, replace(row, end=row.end + 1)]))
        made.append(Schedule.of([*rest, replace(row, start=row.start + 1, end=row.end + 1)]))
        made.append(Schedule.of([*rest, replace(row, gpus={**row.gpus, node: 9})]))
        if row.start:
            made.append(Schedule.of([*rest, replace(row, start=row.start - 1, end=row.end - 1)]))
    return made


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [0, 3, 4, 7, 12])
def test_the_model_accepts_what_the_checker_accepts(form: str, seed: int) -> None:
    problem = tiny(seed, users=2 * (seed % 2))
    first = _round_by_round(problem)
    windows = _windows(problem)
    model = problem.build(form)
    broken = Broken(model.native)
    seen = {True: 0, False: 0}
    for schedule in [first, *changes(problem, first)]:
        if any(row.end > windows[row.job].stop for row in schedule):
            continue  # no optimum, and not in the model
        violations = problem.violations(schedule)
        if (
            any("capacity" in text for text in violations)
            and len(problem.instance.cluster.nodes) > 1
        ):
            continue  # the model counts GPUs, and extracts nodes
        model.embed(schedule)
        assert (broken() == set()) is (violations == []), (violations, broken())
        seen[violations == []] += 1
        if not violations:
            worth = model.value(pyo.value(model.native.objective))
            assert worth == pytest.approx(problem.objective(schedule))
            assert problem.violations(model.extract()) == []
            assert problem.rho(model.extract()) == problem.rho(schedule)
    assert min(seen.values()) > 0
