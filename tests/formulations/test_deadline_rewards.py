"""Rewards by hand, one broken rule at a time, bad input."""

from fractions import Fraction
from typing import Any

import pytest

from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.formulations.problem import Sense
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, Schedule, Segment

SOFT = [(5, 100), (6, 80), (9, 50)]
#: on nodes of 2 and 1 GPUs
JOBS: list[dict[str, Any]] = [
    {"gpus": 2, "work": 4, "rewards": [(6, 100)], "split_speed": 0.5},
    {"gpus": 3, "work": 2, "release": 1, "rewards": SOFT},
    {"gpus": 1, "work": 1},
]
#: j0 on node 0 until 1 and from 3 to 6; j1 on both nodes from 1 to 3; j2 on node 1 at 0
GOOD = [
    (0, 0, 1, {0: 2}),
    (1, 1, 3, {0: 2, 1: 1}),
    (0, 3, 6, {0: 2}),
    (2, 0, 1, {1: 1}),
]


def problem(*, elastic: bool = False, **changes: Any) -> DeadlineRewards:
    jobs = [DeadlineJob(id=f"j{i}", **{**job, **changes}) for i, job in enumerate(JOBS)]
    return DeadlineRewards(Instance(Cluster.of_sizes([2, 1]), jobs), elastic)


def schedule(rows: list[Any]) -> Schedule:
    return Schedule.of(Segment(*row) for row in rows)


def changed(change: dict[int, Any]) -> Schedule:
    return schedule([change.get(i, row) for i, row in enumerate(GOOD)])


def test_rewards_by_hand() -> None:
    found = problem()
    assert found.sense is Sense.MAX
    assert found.violations(schedule(GOOD)) == []
    assert found.rewards(schedule(GOOD)) == [100, 100, 0]
    assert found.objective(schedule(GOOD)) == 200
    assert found.top == 200
    assert found.unit == 10
    assert found.integral
    assert isinstance(found.objective(schedule(GOOD)), int)


@pytest.mark.parametrize(
    ("change", "rewards"),
    [
        ({2: (0, 3, 7, {0: 2})}, [0, 100]),  # held to 7, though the work is done at 6
        ({2: (0, 3, 5, {0: 2})}, [0, 100]),  # one second is missing
        ({2: (0, 3, 6, {0: 1, 1: 1})}, [0, 100]),  # split: 1 + 3 / 2 of 4 s
        ({1: (1, 5, 7, {0: 2, 1: 1}), 2: (0, 1, 4, {0: 2})}, [100, 80]),  # 6 after its release
        ({1: (1, 8, 10, {0: 2, 1: 1}), 2: (0, 1, 4, {0: 2})}, [100, 50]),
        ({1: (1, 9, 11, {0: 2, 1: 1}), 2: (0, 1, 4, {0: 2})}, [100, 0]),
    ],
)
def test_a_reward_depends_on_the_last_end(change: dict[int, Any], rewards: list[float]) -> None:
    plan = changed(change)
    assert problem().violations(plan) == []
    assert problem().rewards(plan) == [*rewards, 0]


def test_a_gang_that_no_node_holds_is_not_slower_on_two() -> None:
    assert problem(split_speed=0.5).rewards(schedule(GOOD))[1] == 100


def test_an_empty_schedule_is_feasible_and_wins_nothing() -> None:
    assert problem().violations(schedule([])) == []
    assert problem().objective(schedule([])) == 0


def test_rewards_that_are_no_integers() -> None:
    one = problem(rewards=[(9, 0.75)])
    assert (one.unit, one.integral, one.top) == (Fraction(3, 4), False, 2.25)
    assert one.objective(schedule(GOOD)) == 2.25
    two = DeadlineJob(id="a", gpus=1, work=1, rewards=[(1, 0.75), (2, 0.5)])
    assert DeadlineRewards(Instance(Cluster.of_sizes([1]), [two])).unit == Fraction(1, 4)


def test_without_deadlines_there_is_nothing_to_win() -> None:
    none = problem(rewards=())
    assert (none.unit, none.top, none.objective(schedule(GOOD))) == (0, 0, 0)
    assert none.integral


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: (3, 0, 1, {0: 2})}, "reference: job number 3 of 3"),
        ({0: (0, 0, 1, {2: 2})}, "reference: node number 2 of 2"),
        ({0: (0, 0, 1, {0: 1})}, "gang: job 'j0' holds 1 of its 2 GPUs at 0"),
        ({2: (0, 2, 6, {0: 2})}, "capacity: node 'n0' holds 4 of its 2 GPUs at 2"),
        ({1: (1, 0, 2, {0: 2, 1: 1})}, "release: job 'j1' starts at 0, before 1"),
        ({2: (2, 0, 6, {0: 1})}, "work: job 'j2' runs twice at 0"),
    ],
)
def test_a_broken_rule_is_named(change: dict[int, Any], message: str) -> None:
    assert message in problem().violations(changed(change))


def test_pins_count() -> None:
    from gangsched.instances import Node

    job = DeadlineJob(id="a", gpus=1, work=1, pin="v100")
    cluster = Cluster([Node("n0", 1, "k80"), Node("n1", 1, "v100")])
    found = DeadlineRewards(Instance(cluster, [job])).violations(schedule([(0, 0, 1, {0: 1})]))
    assert found == ["pin: job 'a' runs on model k80, pin='v100'"]


def test_elastic_jobs_run_on_other_numbers_of_gpus() -> None:
    """j1 has f(3) = 3 / 1.1; on one GPU it needs 2 * 3 / 1.1 s: 5.46 s."""
    plan = changed({1: (1, 1, 7, {1: 1})})
    assert problem().violations(plan) == ["gang: job 'j1' holds 1 of its 3 GPUs at 1"]
    elastic = problem(elastic=True)
    assert elastic.violations(plan) == []
    assert elastic.rewards(plan) == [100, 80, 0]
    assert elastic.rewards(changed({1: (1, 1, 6, {1: 1})}))[1] == 0
    wide = changed({3: (2, 3, 6, {0: 2, 1: 1})})
    assert "gang: job 'j2' holds 3 GPUs at 3, which is not within 1 to 2" in elastic.violations(
        wide
    )


def test_only_jobs_with_deadlines() -> None:
    with pytest.raises(TypeError, match=r"job 'a' is a Job, which has no deadlines"):
        DeadlineRewards(Instance(Cluster.of_sizes([1]), [Job(id="a", gpus=1, work=1)]))
    with pytest.raises(TypeError, match=r"instance=3 is not an Instance"):
        DeadlineRewards(3)  # type: ignore[arg-type]
