"""LTGF: fairness by hand and by another accounting, what a schedule may not do, and the models."""

import pickle
from dataclasses import replace
from typing import Any

import pytest

from fairest import integrand, tiny
from few import each_seed
from gangsched.formulations.fair_shares import FairShares
from gangsched.formulations.ltgf.forms import _round_by_round
from gangsched.formulations.ltgf.problem import Ltgf
from gangsched.instances import Cluster, Instance, Job, Schedule, Segment, User


def figure_6() -> Ltgf:
    jobs = [Job(id=f"J{i}", gpus=gang, work=4) for i, gang in ((1, 6), (2, 3), (3, 3))]
    return Ltgf(Instance(Cluster.of_sizes([6]), jobs))


def runs(problem: Ltgf, *slots: str) -> Schedule:
    """Which jobs (by number) run in each slot, on node 0."""
    return Schedule.of(
        Segment(int(i), t, t + 1, {0: problem.jobs[int(i)].gpus})
        for t, chosen in enumerate(slots)
        for i in chosen
    )


# --- fairness ------------------------------------------------------------------------------------


def test_figure_6() -> None:
    problem = figure_6()
    alternating = runs(problem, "0", "12", "0", "12", "0", "12", "0", "12")
    fair = runs(problem, "0", "12", "12", "0", "12", "12", "0", "0")
    assert problem.violations(alternating) == problem.violations(fair) == []
    assert [round(float(r), 3) for r in problem.rho(alternating)] == [1.714, 0.706, 0.706]
    assert problem.rho(fair) == [1, 1, 1]
    assert problem.objective(alternating) == 12 / 17
    assert problem.objective(fair) == 1.0


@pytest.mark.parametrize("users", [0, 1, 2])
@each_seed(range(8))
def test_fairness_is_that_of_the_accumulators(seed: int, users: int) -> None:
    problem = tiny(seed, users=users, jobs=5, longest=5)
    schedule = _round_by_round(problem)
    assert problem.violations(schedule) == []
    owners = problem.instance.users or [User("anybody")]
    number = {user.id: j for j, user in enumerate(owners)} | {"": 0}
    shares = FairShares(
        problem.instance.cluster.gpus, [user.weight for user in owners], by="demand"
    )
    end = {i: max(row.end for row in schedule if row.job == i) for i in range(len(problem.jobs))}
    born, fair = {}, {}
    for t in range(max(end.values()) + 1):
        for i, job in enumerate(problem.jobs):
            kind = number[job.user], job.gpus, job.weight
            if end[i] == t:
                fair[i] = shares.job_time(*kind, t) - born[i]
                shares.depart(t, *kind)
        for i, job in enumerate(problem.jobs):
            kind = number[job.user], job.gpus, job.weight
            if job.release == t:
                shares.arrive(t, *kind)
                born[i] = shares.job_time(*kind, t)
    for i, rho in enumerate(problem.rho(schedule)):
        assert float(rho) == pytest.approx(problem.service(i) / fair[i])


@each_seed(range(10))
def test_shares_are_those_of_the_definition(seed: int) -> None:
    problem = tiny(seed, users=seed % 3, jobs=4)
    active = [i for i in range(4) if (seed >> i) % 2 == 0]
    expected = {i: integrand(problem, active, i) for i in active}
    assert problem.shares(active) == expected


def test_a_missing_job_has_no_fairness() -> None:
    problem = figure_6()
    with pytest.raises(ValueError, match="job 'J3': not in the schedule, so it never completes"):
        problem.objective(runs(problem, "0", "1"))


# --- feasibility ---------------------------------------------------------------------------------


def problem_of_two(**more: Any) -> Ltgf:
    jobs = [Job(id="a", gpus=2, work=2, release=1), Job(id="b", gpus=1, work=1)]
    return Ltgf(Instance(Cluster.of_sizes([1, 2]), jobs), **more)


GOOD = [Segment(0, 1, 2, {1: 2}), Segment(0, 3, 4, {0: 1, 1: 1}), Segment(1, 0, 1, {0: 1})]


def test_suspended_and_moved_is_feasible() -> None:
    assert problem_of_two(horizon=4).violations(Schedule.of(GOOD)) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*GOOD[:2]], "service (2): job 'b' runs for 0 of 1 slots"),
        ([replace(GOOD[0], end=3), *GOOD[1:]], "service (2): job 'a' runs for 3 of 2 slots"),
        ([replace(GOOD[0], gpus={1: 1}), *GOOD[1:]], "gang (1): job 'a' holds 1 of its 2 GPUs"),
        ([replace(GOOD[0], start=0, end=1), *GOOD[1:]], "release: job 'a' starts at 0, before 1"),
        (
            [GOOD[0], replace(GOOD[1], start=1, end=2, gpus={0: 1, 1: 1}), GOOD[2]],
            "gang (1): job 'a' runs twice at 1",
        ),
        (
            [*GOOD[:2], replace(GOOD[2], start=3, end=4)],
            "capacity: node 'n0' holds 2 of its 1 GPUs at slot 3",
        ),
        ([*GOOD[:2], replace(GOOD[2], job=7)], "reference: job number 7 of 2"),
        ([*GOOD[:2], replace(GOOD[2], gpus={2: 1})], "reference: node number 2 of 2"),
        ([GOOD[0], replace(GOOD[1], start=4, end=5), GOOD[2]], "horizon: job 'a' runs until 5"),
        ([*GOOD[:2], replace(GOOD[2], ps={0: 1})], "reference: the jobs of LTGF use no param"),
    ],
)
def test_each_violation_is_named(rows: list[Segment], message: str) -> None:
    found = problem_of_two(horizon=4).violations(Schedule.of(rows))
    assert any(text.startswith(message) for text in found), found


def test_a_node_that_is_freed_can_be_used_at_once() -> None:
    jobs = [Job(id=i, gpus=2, work=1) for i in "ab"]
    problem = Ltgf(Instance(Cluster.of_sizes([2]), jobs))
    assert problem.violations(runs(problem, "1", "0")) == []


# --- the problem ---------------------------------------------------------------------------------


def test_bad_problems_are_named() -> None:
    cluster = Cluster.of_sizes([2])
    with pytest.raises(TypeError, match="Ltgf: instance=3 is not an Instance"):
        Ltgf(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="instance: it has no jobs"):
        Ltgf(Instance(cluster, []))
    with pytest.raises(ValueError, match="job 'a': work=None, LTGF needs slots of service"):
        Ltgf(Instance(cluster, [Job(id="a", gpus=1)]))
    with pytest.raises(ValueError, match="job 'a': gpus=3 exceeds the cluster's 2"):
        Ltgf(Instance(cluster, [Job(id="a", gpus=3, work=1)]))
    with pytest.raises(ValueError, match="Ltgf: horizon=0 is below 1"):
        problem_of_two(horizon=0)
    with pytest.raises(TypeError, match=r"Ltgf: horizon=1\.5 is not an integer"):
        problem_of_two(horizon=1.5)


def test_it_pickles() -> None:
    problem = problem_of_two(horizon=4)
    assert pickle.loads(pickle.dumps(problem)) == problem


def test_a_large_model_is_refused() -> None:
    jobs = [Job(id=f"j{i}", gpus=1 + i % 3, work=9) for i in range(40)]
    problem = Ltgf(Instance(Cluster.of_sizes([3]), jobs))
    with pytest.raises(ValueError, match="too many for form 'compact'"):
        problem.build("compact")
    with pytest.raises(ValueError, match="too many for form 'literal'"):
        problem.build("literal")
