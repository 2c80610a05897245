"""Replays that go on from earlier runs take only those that fit."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gangsched.analysis.comparing.measures import KnownSchedule
from gangsched.analysis.comparing.replay import Replay, replay
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
    known = ["unknown", "told", "estimated", "learned", "after profiling"]
    found = replay(instance, policies)
    assert [row.information for row in found.rows] == known
    assert "complete jobs, and are told them until there are some: learns" in informed(found)
    again = replay(instance, policies, before=found.runs)
    assert [row.information for row in again.rows] == known


@pytest.mark.parametrize(
    ("known", "error", "text"),
    [
        (
            {"flow": 299.0},
            ValueError,
            r"=299.0 is better than the verified bound 510$",
        ),
        ({"flow": math.nan}, ValueError, r"known\['flow'\]=nan is not finite"),
        ({"flow": "510"}, TypeError, r"known\['flow'\]='510' is not a number"),
        ({"makespan": 900.0}, KeyError, r"none of slowdown, flow, reward, revenue"),
    ],
)
def test_a_known_schedule_is_no_better_than_a_bound(
    known: dict[str, Any], error: type[Exception], text: str
) -> None:
    found = replay(INSTANCE, {"a": Fifo()})
    given = {name: KnownSchedule(value, "by hand") for name, value in known.items()}
    with pytest.raises(error, match=text):
        Replay.of(INSTANCE, found.runs, bounds=found.bounds, known=given)
    fine = {"flow": KnownSchedule(510.0, "by hand")}
    assert Replay.of(INSTANCE, found.runs, bounds=found.bounds, known=fine).known == fine
