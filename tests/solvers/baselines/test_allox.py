"""AlloX: single jobs as the matching says, users behind first, the driver as by hand."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers.policies.allox.policy import Allox, allox_starts
from gangsched.solvers.policies.allox.position_matching import FORBIDDEN
from gangsched.solvers.policies.sjf import Sjf
from reference_driver import drive


def total(times: list[list[int]], lines: dict[int, list[int]], model: dict[int, int]) -> int:
    """Sum of completion times of jobs run in line on each GPU."""
    ends = 0
    for gpu, jobs in lines.items():
        now = 0
        for job in jobs:
            now += times[job][model[gpu]]
            ends += now
    return ends


@pytest.mark.parametrize("free", [[1], [2], [5]])
def test_on_one_model_the_shortest_start(free: list[int]) -> None:
    times = [[5], [2], [7], [2], [9]]
    order = [1, 3, 0, 2, 4]
    assert allox_starts(times, [1] * 5, free) == [(j, 0) for j in order[: free[0]]]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=4))
def test_single_jobs_start_as_in_a_best_schedule(rows: list[tuple[int, int]]) -> None:
    """With one GPU per model: some assignment whose lines begin with the started jobs is best."""
    times = [list(row) for row in rows]
    starts = {g: j for j, g in allox_starts(times, [1] * len(times), [1, 1])}
    best, with_starts = 10**9, 10**9
    for models in product((0, 1), repeat=len(times)):
        lines = {
            g: sorted((j for j, m in enumerate(models) if m == g), key=lambda j: (times[j][g], j))
            for g in (0, 1)
        }
        cost = total(times, lines, {0: 0, 1: 1})
        best = min(best, cost)
        if all(lines[g][:1] == ([starts[g]] if g in starts else []) for g in (0, 1)):
            with_starts = min(with_starts, cost)
    assert with_starts == best


def test_a_gang_that_does_not_fit_is_passed_over() -> None:
    # by time: job 1 (3 GPUs) takes 3 of the 4, job 0 finds 1 of 2, job 2 fits
    assert allox_starts([[2], [1], [4]], [2, 3, 1], [4]) == [(1, 0), (2, 0)]


def test_no_job_starts_on_a_model_without_free_gpus() -> None:
    assert allox_starts([[1, 50], [FORBIDDEN, 3], [2, FORBIDDEN]], [1, 1, 1], [0, 1]) == [(1, 1)]


# --- on the driver --------------------------------------------------------------------------------


@st.composite
def instances(draw: st.DrawFn) -> Instance[Any]:
    users = [User(f"u{i}", weight=draw(st.integers(1, 3))) for i in range(draw(st.integers(1, 4)))]
    jobs = [
        Job(
            id=f"j{i}",
            gpus=draw(st.integers(1, 4)),
            work=draw(st.integers(1, 400)),
            release=draw(st.integers(0, 500)),
            user=draw(st.sampled_from(users)).id,
        )
        for i in range(draw(st.integers(1, 10)))
    ]
    return Instance(Cluster.of_sizes([4, 4]), jobs, users)


def ends(instance: Instance[Any], policy: Any, **options: Any) -> list[int]:
    """Completion times under a policy."""
    end: list[int] = drive(instance, policy, patience=None, **options).records.end.tolist()
    return end


@given(instances())
def test_with_all_users_it_is_the_shortest_job_first(instance: Instance[Any]) -> None:
    assert ends(instance, Allox()) == ends(instance, Sjf(blocking=False))


def test_users_behind_go_first() -> None:
    """On one GPU: v has used nothing when the GPU is free again, so its long job runs first."""
    jobs = [
        Job(id="a", gpus=1, work=60, user="u"),
        Job(id="b", gpus=1, work=60, user="u", release=1),
        Job(id="c", gpus=1, work=600, user="v", release=1),
    ]
    instance = Instance(Cluster.of_sizes([1]), jobs, [User("u"), User("v")])
    assert ends(instance, Allox()) == [60, 120, 720]
    assert ends(instance, Allox(alpha=0.5)) == [60, 720, 660]


def test_progress_is_per_quota() -> None:
    """u has run 60 GPU seconds with weight 3, v 40 with weight 1: u is behind."""
    jobs = [
        Job(id="a", gpus=1, work=40, user="v"),
        Job(id="b", gpus=1, work=60, user="u", release=1),
        Job(id="c", gpus=1, work=10, user="v", release=70),
        Job(id="d", gpus=1, work=90, user="u", release=70),
    ]
    instance = Instance(Cluster.of_sizes([1]), jobs, [User("u", weight=3), User("v")])
    assert ends(instance, Allox(alpha=0.5)) == [40, 120, 250, 210]  # rounds: c starts at 240
    even = Instance(Cluster.of_sizes([1]), jobs, [User("u"), User("v")])
    assert ends(even, Allox(alpha=0.5)) == [40, 120, 130, 270]


def test_a_user_ahead_waits_although_gpus_are_free() -> None:
    jobs = [
        Job(id="a", gpus=1, work=600, user="u"),
        Job(id="b", gpus=1, work=60, user="u", release=60),
        Job(id="c", gpus=4, work=60, user="v", release=60),
    ]
    instance = Instance(Cluster.of_sizes([4]), jobs, [User("u"), User("v")])
    assert ends(instance, Allox()) == [600, 120, 660]
    assert ends(instance, Allox(alpha=0.5)) == [600, 720, 660]


@pytest.mark.parametrize(
    ("alpha", "kind", "message"),
    [
        (0, ValueError, "allox: alpha=0 is not positive"),
        (1.5, ValueError, "allox: alpha=1.5 is above 1"),
        (float("nan"), ValueError, "allox: alpha=nan is not finite"),
        ("1", TypeError, "allox: alpha='1' is not a number"),
    ],
)
def test_bad_parameters_are_refused(alpha: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        Allox(alpha=alpha)


def test_the_share_of_users_is_the_decimal_that_is_meant() -> None:
    names = [f"u{i}" for i in range(25)]  # 0.28 * 25 is 7, in floats a little more
    jobs = [Job(id=name, gpus=1, work=60, user=name) for name in names]
    instance = Instance(Cluster.of_sizes([25]), jobs, [User(name) for name in names])
    first = drive(instance, Allox(alpha=0.28)).records.first
    assert (first == 0).sum() == 7
