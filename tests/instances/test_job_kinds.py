"""What drivers and policies ask of jobs of every kind; expected values by hand."""

import copy
import pickle

import pytest

import gangsched as gs
from gangsched.instances import Linear, ParameterServerJob
from gangsched.instances.model import FULL_SPEED

HALF = FULL_SPEED // 2
PLAIN = gs.Job(id="p", gpus=4, work=60, speeds={"v100": 2, "k80": 0.5}, pin="")
PINNED = gs.Job(id="q", gpus=1, work=60, pin="v100")
RING = gs.RingJob(id="r", gpus=2, iterations=3, gradient=0.1, base_time=0.2)
STEPS = [(90, 100.0), (120, 50.0)]
DUE = gs.DeadlineJob(id="d", gpus=4, work=60, release=30, rewards=STEPS, split_speed=0.5)
SERVED = ParameterServerJob(
    id="s", gpus=4, epochs=1, minibatches=3, rates=(0.3, 0.1), utility=Linear(-1, 9)
)
KINDS = (PLAIN, RING, DUE, SERVED)


def test_what_kinds_need_and_can() -> None:
    names = ("has_deadlines", "needs_ps", "slotted", "elastic", "spreads", "equal_gpus")
    can = [{name for name in names if getattr(job, name)} for job in KINDS]
    assert can == [
        set(),
        {"slotted"},
        {"has_deadlines", "elastic", "spreads", "equal_gpus"},
        {"needs_ps", "slotted", "spreads"},
    ]


@pytest.mark.parametrize("job", KINDS)
def test_what_a_kind_can_is_no_field_of_its_jobs(job: gs.Job) -> None:
    assert pickle.loads(pickle.dumps(job)) == job == copy.copy(job)
    assert "elastic" not in repr(job)


def test_speeds_on_models() -> None:
    assert [PLAIN.speed_on_model(m) for m in ("v100", "k80", "p100")] == [2 * FULL_SPEED, HALF, 0]
    assert [PINNED.speed_on_model(m) for m in ("v100", "k80")] == [FULL_SPEED, 0]
    assert SERVED.speed_on_model("any") == FULL_SPEED


def test_speeds_on_allocations() -> None:
    assert PLAIN.speed_on(4, 2, 8, 7) == 7  # that of the model, wherever
    assert DUE.speed_on(4, 2, 8, 7) == HALF  # split though a node of 8 could hold it
    assert DUE.speed_on(4, 2, 2, 7) == FULL_SPEED  # no node could
    assert SERVED.speed_on(1, 2, 8, 7) == FULL_SPEED


def test_service_depends_on_the_allocation_with_parameter_servers_only() -> None:
    assert PLAIN.service(4, 2) == PLAIN.service(1, 1) == 60
    assert RING.service(2, 1) is None
    # 12 mini-batches: 4 workers on one node train 1.2 a slot, on several 0.4
    assert SERVED.service(4, 1) == 10
    assert SERVED.service(4, 2) == 30
    assert SERVED.service(3, 1) == 14  # 12 / 0.9 = 13.3


def test_deadlines_are_times_of_the_instance() -> None:
    assert DUE.deadlines() == ((120, 100.0), (150, 50.0))
    assert not DUE.best_effort
    for job in (PLAIN, RING, SERVED):
        assert (job.deadlines(), job.best_effort, job.target) == ((), True, None)


def test_only_a_target_metric_is_a_target() -> None:
    stopping = gs.TargetMetric(target=0.5, max_epochs=4, curve=[0.1, 0.6])
    assert gs.DeadlineJob(id="t", gpus=1, work=9, stopping=stopping).target is stopping
    assert DUE.target is None


def test_an_instance_knows_its_kind() -> None:
    cluster = gs.Cluster.of_sizes([4])
    assert gs.Instance(cluster, [DUE]).kind is gs.DeadlineJob
    assert gs.Instance(cluster, []).kind is gs.Job


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (RING, "work=None, driving needs seconds"),
        (gs.Job(id="a", gpus=2, work=2**40), r"gpus \* work=2199023255552 is above"),
        (
            gs.Job(id="a", gpus=1, work=1, speeds={"m": 2**20 + 1}),
            r"speeds\['m'\]=1048577.0 is above",
        ),
        (gs.Job(id="a", gpus=1, work=2**39, speeds={"m": 0.25}), r"work / speeds\['m'\]"),
        (gs.DeadlineJob(id="a", gpus=1, work=1, speeds={"m": 2}), "is not 1, jobs with deadlines"),
        (gs.DeadlineJob(id="a", gpus=1, work=2**39, split_speed=0.25), "split_speed=0.25 is above"),
        (gs.DeadlineJob(id="a", gpus=2, work=1, preemption_cost=2**40), "preemption_cost=2199"),
        (
            ParameterServerJob(
                id="a", gpus=1, epochs=2**41, minibatches=1, rates=(1, 1), utility=Linear(0, 1)
            ),
            "2199023255552 slots on one worker",
        ),
    ],
)
def test_numbers_with_which_nobody_can_calculate_are_refused(job: gs.Job, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        job.check_drive(["m"])


@pytest.mark.parametrize("job", [PLAIN, DUE, SERVED])
def test_other_numbers_are_not(job: gs.Job) -> None:
    job.check_drive(["v100", "other"])
