"""Measures of deadlines by hand: what is won, missed, still open, waited and suspended."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import EventKind, Events, Run
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, Segment
from gangsched.solvers import Fifo
from gangsched.solvers.policy import Decision, Preempts, Start
from run_builder import PLAIN, run_of

SOFT = [(25, 100), (30, 80), (40, 20)]
JOBS = [
    DeadlineJob(id="soft", gpus=2, release=0, work=20, rewards=SOFT),  # ends at 30: 80
    DeadlineJob(id="strict", gpus=2, release=5, work=20, rewards=[(19, 50)]),  # at 25: missed
    DeadlineJob(id="met", gpus=1, release=30, work=10, rewards=[(10, 50)]),  # at 40: 50
    DeadlineJob(id="best", gpus=1, release=30, work=10),  # at 50, suspended once
    DeadlineJob(id="wide", gpus=9, release=0, work=10, rewards=[(99, 100)]),  # rejected
]
SEGMENTS = [
    Segment(0, 0, 10, {0: 2}),
    Segment(1, 5, 25, {1: 2}),
    Segment(0, 20, 30, {0: 2}),
    Segment(2, 30, 40, {0: 1}),
    Segment(3, 30, 35, {0: 1}),
    Segment(3, 45, 50, {0: 1}),
]
GONE = {4: "gpus=9 exceeds 4"}


def instance(jobs: list[DeadlineJob] = JOBS) -> Instance[DeadlineJob]:
    return Instance(Cluster.of_sizes([2, 2]), jobs)


def hand(**changes: Any) -> Run:
    return run_of(JOBS, SEGMENTS, sizes=[2, 2], rejected=GONE, **changes)


def profiled(run: Run, rows: list[tuple[int, int, EventKind]]) -> Run:
    """The run with these events too."""
    log = run.events
    all_rows = [*zip(log.time.tolist(), log.job.tolist(), log.kind.tolist(), strict=True), *rows]
    time, job, kind = zip(*sorted(all_rows), strict=True)
    return replace(run, events=Events(np.array(time), np.array(job), np.array(kind)))


def test_measures_by_hand() -> None:
    run = hand()
    nan = float("nan")
    found = metrics.rewards(run).tolist()
    assert found == pytest.approx([80, 0, 50, nan, 0], nan_ok=True)
    measures = metrics.deadline_summary(run)
    assert measures == {
        "slo_jobs": 4,
        "best_effort_jobs": 1,
        "reward": 130,
        "top_reward": 300,
        "weighted_miss": pytest.approx(1 - 130 / 400),
        "weighted_miss_own": pytest.approx(1 - (0.8 + 0 + 1 + 0) / 4),
        "strict_miss": pytest.approx(2 / 3),  # met is in time
        "in_time": 0.5,
        "best_effort_latency": 20,
        "slo_suspensions": pytest.approx(1 / 3),
        "best_effort_suspensions": 1,
        "profiling_wait": None,
    }


def test_a_stopped_run_leaves_open_what_may_still_be_won() -> None:
    """At 25, strict is past its deadline of 24, soft is not past its last one."""
    segments = [Segment(0, 0, 10, {0: 2}), Segment(1, 5, 20, {1: 2})]
    run = run_of(JOBS, segments, sizes=[2, 2], rejected=GONE, now=25)
    won = metrics.rewards(run)
    assert np.isnan(won).tolist() == [True, False, True, True, False]
    assert metrics.weighted_miss(run) == 1
    assert metrics.best_effort_latency(run) is None
    assert metrics.deadline_summary(run)["in_time"] == 0


def test_what_is_undefined_is_none() -> None:
    jobs = [DeadlineJob(id="a", gpus=1, work=10)]
    run = run_of(jobs, [Segment(0, 0, 10, {0: 1})], sizes=[2])
    found = metrics.deadline_summary(run)
    for name in ("weighted_miss", "weighted_miss_own", "strict_miss", "in_time", "slo_suspensions"):
        assert found[name] is None
    assert (found["reward"], found["best_effort_latency"]) == (0, 10)
    none = metrics.deadline_summary(run_of([], [], sizes=[2]))
    assert none["best_effort_latency"] is None
    assert none["weighted_miss"] is None


def test_profiling_is_waited_for() -> None:
    kind = EventKind
    rows = [(30, 2, kind.PROFILE), (36, 2, kind.PROFILED), (40, 3, kind.PROFILED)]
    run = profiled(hand(), rows)
    nan = float("nan")
    waits = metrics.profiling_wait(run).tolist()
    assert waits == pytest.approx([nan, nan, 6, 10, nan], nan_ok=True)
    assert metrics.deadline_summary(run)["profiling_wait"] == 8


def test_progress_on_other_numbers_of_gpus_is_elastic() -> None:
    assert not metrics.is_elastic(hand())
    other = [replace(SEGMENTS[0], gpus={0: 1}), *SEGMENTS[1:]]
    run = run_of(JOBS, other, sizes=[2, 2], rejected=GONE)
    assert metrics.is_elastic(run)
    assert not metrics.is_elastic(profiled(run, [(0, 0, EventKind.PROFILE)]))


class Profiler:
    """Profiles every job on one GPU first, then starts it on its gang."""

    name = "profiler"
    preempts = Preempts.NEVER

    def decide(self, state: Any) -> Decision:
        new = [int(j) for j in state.waiting if not state.profiled[j]]
        if new:
            return Decision(start=[Start(new[0], gpus=1, profile=60)])
        return Decision(order=state.waiting)


def test_a_driven_run_that_profiles_is_not_elastic() -> None:
    jobs = [DeadlineJob(id="a", gpus=2, work=100, rewards=[(500, 100)])]
    cluster = Cluster.of_sizes([2])
    run = drive(Instance(cluster, jobs), Profiler(), round_length=60)
    assert not metrics.is_elastic(run)
    assert metrics.profiling_wait(run).tolist() == [60]
    assert metrics.rewards(run).tolist() == [100]
    plain = drive(Instance(cluster, jobs), Fifo())
    assert np.isnan(metrics.profiling_wait(plain)).all()


def test_the_instance_has_to_fit() -> None:
    with pytest.raises(ValueError, match=r"run of 'hand': it is of another instance"):
        hand().attach(instance(JOBS[:2]))
    plain = [Job(id="a", gpus=1, work=10)]
    run = run_of(plain, [Segment(0, 0, 10, {0: 1})], sizes=[2], rules=PLAIN)
    with pytest.raises(TypeError, match=r"metrics: job 'a' is a Job, not a DeadlineJob"):
        metrics.best_effort_latency(run)
