"""Traces become ring-all-reduce instances that keep gang sizes and the order of run times."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.instances import Cluster, Job, ReadReport, RingJob, Trace, User
from gangsched.instances.convert import to_rar_instance

CLUSTER = Cluster.of_sizes([4, 4])


def trace(*jobs: Job) -> Trace:
    users = tuple(User(id) for id in sorted({job.user for job in jobs if job.user}))
    return Trace(name="log", jobs=jobs, users=users, report=ReadReport(read=len(jobs)))


def rows(*pairs: tuple[int, int]) -> tuple[Job, ...]:
    return tuple(
        Job(id=f"r{i}", gpus=gpus, work=work, release=10 * i, user=f"u{i % 2}")
        for i, (gpus, work) in enumerate(pairs)
    )


def tau(job: RingJob) -> float:
    """Eq. (8) inside one server with b^i = C = 50, xi2 = .0001."""
    return job.base_time + 1e-4 + 3 * job.gradient * (job.gpus - 1) / job.gpus / 50


def test_run_times_are_mapped_by_rank_to_the_papers_slots() -> None:
    log = trace(*rows((1, 500), (2, 7), (8, 10**6), (1, 500), (4, 60)))
    made = to_rar_instance(log, CLUSTER).instance
    # ranks 2, 0, 4, 3 (the later of two equal ones), 1 of five: steps of 62.5 slots
    expected = [175, 50, 300, 237.5, 112.5]
    assert [job.iterations * tau(job) for job in made.jobs] == pytest.approx(expected, abs=1e-5)
    assert [job.gpus for job in made.jobs] == [1, 2, 8, 1, 4]
    assert [job.user for job in made.jobs] == ["u0", "u1", "u0", "u1", "u0"]
    assert {job.release for job in made.jobs} == {0}
    assert made.users == log.users
    assert made.cluster == CLUSTER


@given(
    st.lists(st.tuples(st.integers(1, 8), st.integers(1, 10**7)), max_size=12), st.integers(0, 5)
)
def test_jobs_stay_in_the_papers_ranges(pairs: list[tuple[int, int]], seed: int) -> None:
    log = trace(*rows(*pairs))
    made = to_rar_instance(log, CLUSTER, seed=seed).instance
    for job in made.jobs:
        assert 1000 <= job.iterations <= 6000
        assert 0.01 - 1e-9 <= tau(job) <= 0.05 + 1e-9
        assert 50 - 1e-5 <= job.iterations * tau(job) <= 300 + 1e-5
        assert (job.gradient == 0) == (job.gpus == 1)
    slots = {job.id: job.iterations * tau(job) for job in made.jobs}
    for one, two in pairwise(sorted(log.jobs, key=lambda job: (job.work, job.release))):
        assert slots[one.id] < slots[two.id]


@pytest.mark.parametrize("service", [(10, 10), (300, 300), (10, 300), (100.5, 200.25)])
def test_the_range_of_slots_can_be_chosen(service: tuple[float, float]) -> None:
    made = to_rar_instance(trace(*rows((1, 5), (2, 6), (3, 7))), CLUSTER, service=service).instance
    slots = [job.iterations * tau(job) for job in made.jobs]
    middle = (service[0] + service[1]) / 2
    assert slots == pytest.approx([service[0], middle, service[1]], abs=1e-5)


def test_gangs_beyond_the_cluster_are_rejected_and_do_not_count() -> None:
    log = trace(*rows((9, 5), (1, 6), (128, 7), (8, 8), (2, 9)))
    made = to_rar_instance(log, CLUSTER, jobs=2, pick="first")
    assert made.rejected == (
        ("r0", "job 'r0': gpus=9 exceeds the cluster's 8"),
        ("r2", "job 'r2': gpus=128 exceeds the cluster's 8"),
    )
    assert [job.id for job in made.instance.jobs] == ["r1", "r3"]
    assert str(made).splitlines() == [
        "log: 2 of 3 jobs that fit (the first), 2 rejected",
        "gang sizes kept, run times mapped by rank to 50..300 slots, every release set to 0",
        "job 'r0': gpus=9 exceeds the cluster's 8",
        "job 'r2': gpus=128 exceeds the cluster's 8",
    ]


def test_long_lists_of_rejected_jobs_are_cut_in_the_text_only() -> None:
    made = to_rar_instance(trace(*rows(*[(9, 5)] * 8)), CLUSTER)
    assert len(made.rejected) == 8
    assert str(made).splitlines()[-1] == "... and 3 more"


def test_a_sample_has_no_job_twice_and_keeps_the_order() -> None:
    log = trace(*rows(*[(1, 5)] * 40))
    samples = [
        [int(job.id[1:]) for job in to_rar_instance(log, CLUSTER, jobs=10, seed=s).instance.jobs]
        for s in range(30)
    ]
    assert all(sample == sorted(set(sample)) and len(sample) == 10 for sample in samples)
    assert samples[0] != samples[1]
    assert {i for sample in samples for i in sample} == set(range(40))
    again = to_rar_instance(log, CLUSTER, jobs=10, seed=1)
    assert again == to_rar_instance(log, CLUSTER, jobs=10, seed=1)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "too many": ({"jobs": 3}, "jobs=3 exceeds the 2 jobs of 'log' that fit"),
    "negative": ({"jobs": -1}, "jobs=-1 is below 0"),
    "pick": ({"pick": "last"}, "pick='last' is not one of 'first', 'sample'"),
    "service order": ({"service": (100, 50)}, r"service=\(100, 50\) is not a range"),
    "service above": ({"service": (50, 301)}, r"within \[10, 300\] slots"),
    "service below": ({"service": (9, 50)}, r"within \[10, 300\] slots"),
    "service nan": ({"service": (50, float("nan"))}, r"within \[10, 300\] slots"),
    "seed": ({"seed": -1}, "seed=-1 is below 0"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_wrong_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_rar_instance(trace(*rows((1, 5), (9, 5), (2, 6))), CLUSTER, **change)


def test_a_job_without_run_time_is_refused() -> None:
    with pytest.raises(ValueError, match="job 'x': work=None, a conversion by run time needs one"):
        to_rar_instance(trace(Job(id="x", gpus=1)), CLUSTER)
