"""Hydra: classes, the shortest first, and orders of least cost against all orders."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.analysis.driving.drive import drive
from gangsched.instances import Cluster, DeadlineJob, Instance
from gangsched.solvers.information import Profiled
from gangsched.solvers.unisched.hydra import Hydra, Waiting, best_order, reference_best_order


def job(name: str, gpus: int, work: int, due: int = 0, release: int = 0) -> DeadlineJob:
    """A job with one deadline, or none."""
    rewards = [(due, 100.0)] if due else []
    return DeadlineJob(id=name, gpus=gpus, work=work, release=release, rewards=rewards)


def ends(policy: Hydra, gpus: int, *jobs: DeadlineJob) -> list[int]:
    """Completions on one node."""
    run = drive(Instance(Cluster.of_sizes([gpus]), jobs), policy)
    found: list[int] = run.records.end.tolist()
    return found


def test_the_shortest_with_a_deadline_goes_first() -> None:
    jobs = [job("short", 1, 60), job("long", 1, 300, 9999), job("due", 1, 120, 9999)]
    assert ends(Hydra(), 1, *jobs) == [480, 420, 120]


def test_a_missed_deadline_does_not_change_the_class() -> None:
    assert ends(Hydra(), 1, job("any", 1, 60), job("late", 1, 60, due=1)) == [120, 60]


def test_nobody_is_stopped_and_who_does_not_fit_is_skipped() -> None:
    jobs = [job("first", 1, 300), job("wide", 2, 60, 400, release=30), job("thin", 1, 60, 0, 30)]
    assert ends(Hydra(), 2, *jobs) == [300, 360, 120]


def test_best_effort_jobs_wait_as_long_as_others_arrive() -> None:
    stream = [job(f"j{i}", 1, 60, 999, release=60 * i) for i in range(50)]
    assert ends(Hydra(), 1, job("any", 1, 30), *stream)[0] == 50 * 60 + 30


def test_cost_puts_an_urgent_job_before_a_shorter_one() -> None:
    """By one weight of tardiness 60 + 180 + 60 < 120 + 180, by ten 60 + 180 + 600 > 120 + 180."""
    jobs = [job("short", 1, 60, 9999), job("urgent", 1, 120, 120)]
    assert ends(Hydra(), 1, *jobs) == [60, 180]
    assert ends(Hydra(cost=True), 1, *jobs) == [180, 120]


def cost_of(
    order: tuple[int, ...],
    jobs: list[Waiting],
    free: int,
    ends: list[tuple[int, int]],
    penalty: int,
) -> int:
    """Second by second."""
    later, now, total = list(ends), 0, 0
    for j in order:
        while free < jobs[j].gpus:
            now += 1
            free += sum(gpus for time, gpus in later if time == now)
        free -= jobs[j].gpus
        end = now + jobs[j].seconds
        later.append((end, jobs[j].gpus))
        total += end - jobs[j].release + penalty * max(0, end - jobs[j].due)
    return total


@given(
    st.lists(
        st.builds(
            Waiting, st.integers(1, 3), st.integers(-9, 0), st.integers(1, 9), st.integers(1, 20)
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 3),
    st.integers(1, 5),
    st.sampled_from([1, 10]),
)
def test_the_order_is_the_first_of_least_cost(
    jobs: list[Waiting], free: int, time: int, penalty: int
) -> None:
    ends = [(time, 3 - free)] if free < 3 else []
    every = permutations(range(len(jobs)))
    least = min(every, key=lambda order: cost_of(order, jobs, free, ends, penalty))
    order, _ = best_order(jobs, free, ends, 0, penalty=penalty)
    assert order == list(least)


@given(
    st.lists(
        st.builds(
            Waiting, st.integers(1, 5), st.integers(-9, 0), st.integers(1, 9), st.integers(1, 30)
        ),
        max_size=6,
    ),
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 3)), max_size=5),
    st.sampled_from([0, 1, 10]),
)
def test_machine_code_finds_the_same_order(
    jobs: list[Waiting], ends: list[tuple[int, int]], penalty: int
) -> None:
    free = max(0, 5 - sum(gpus for _, gpus in ends))
    found = best_order(jobs, free, ends, 3, penalty=penalty)
    assert found == reference_best_order(jobs, free, ends, 3, penalty=penalty)


def test_gangs_that_never_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^job 1: gpus=4, free and ends have 3 GPUs$"):
        best_order([Waiting(1, 0, 60, 900), Waiting(4, 0, 60, 900)], 1, [(5, 2)], 0, penalty=1)


def test_a_gang_waits_for_gpus_of_profiling_runs() -> None:
    jobs = [job("wide", 4, 600, 9999), job("a", 1, 600, 9999), job("b", 1, 600, 9999)]
    jobs += [job("late", 2, 60, release=300)]
    # until 600 the last one holds two GPUs, which nobody is shown, so that "wide" never fits
    run = drive(Instance(Cluster.of_sizes([4]), jobs), Profiled(policy=Hydra(cost=True)))
    assert run.records.end.tolist() == [1500, 900, 900, 660]
