"""Replays that go on from earlier runs take only those that fit."""

from typing import Any

import pytest

from gangsched.analysis.comparing.replay import replay
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.show.replay_tables import informed
from gangsched.instances import Cluster, DeadlineJob, Instance, Job
from gangsched.registry import POLICIES
from gangsched.solvers import Easy, Fifo, Sjf
from gangsched.solvers.policy import Rules

JOBS = [Job(id=f"j{i}", gpus=1, work=100, release=30 * i) for i in range(3)]
INSTANCE = Instance(Cluster.of_sizes([1]), JOBS)


@pytest.mark.parametrize(
    ("policy", "instance", "how", "what"),
    [
        (Fifo(), Instance(Cluster.of_sizes([1]), JOBS[:2]), {}, "instance"),
        (Fifo(), INSTANCE, {"lease": 60}, "rules"),
        (Sjf(), INSTANCE, {}, "policy"),
        (Fifo(blocking=False), INSTANCE, {}, "parameters"),
        (Fifo(), INSTANCE, {"reject": [2]}, "rejected jobs"),
    ],
)
def test_an_earlier_run_of_something_else_is_refused(
    policy: Any, instance: Any, how: dict[str, Any], what: str
) -> None:
    run = drive(instance, policy, **how)
    with pytest.raises(ValueError, match=f"replay: the earlier run of 'a' is of other {what}$"):
        replay(INSTANCE, {"a": Fifo()}, before={"a": run})


def test_an_earlier_run_that_fits_is_taken_or_taken_up() -> None:
    whole = drive(INSTANCE, Fifo())
    part = drive(INSTANCE, Fifo(), until=60)
    assert replay(INSTANCE, {"a": Fifo()}, before={"a": whole}, rules=Rules()).runs["a"] is whole
    assert replay(INSTANCE, {"a": Fifo()}, before={"a": part}).runs["a"] == whole


def test_rows_say_how_run_times_are_known_of_earlier_runs_too() -> None:
    policies = {
        "fifo": Fifo(),
        "sjf": Sjf(),
        "easy": Easy(overestimate=1.0),
        "learns": POLICIES["three-sigma"](),
        "profiles": POLICIES["chronus"](),
    }
    jobs = [DeadlineJob(id=job.id, gpus=1, work=100, release=job.release) for job in JOBS]
    instance = Instance(INSTANCE.cluster, jobs)
    known = ["unknown", "known", "estimated", "learned", "after profiling"]
    found = replay(instance, policies)
    assert [row.information for row in found.rows] == known
    assert "complete jobs, and know them until there are some: learns" in informed(found)
    again = replay(instance, policies, before=found.runs)
    assert [row.information for row in again.rows] == known
