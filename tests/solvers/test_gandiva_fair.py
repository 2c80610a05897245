"""Gandiva_fair in the driver: Table 2, users' shares, and the rules of every run."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import Run
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers.gandiva_fair.policy import GandivaFair

EXAMPLES = settings().max_examples // 2
LONG = 10**6


def run_of(
    sizes: list[int],
    rows: list[tuple[str, int, int, int]],
    weights: tuple[float, ...] = (1.0, 1.0, 1.0),
    *,
    quanta: int,
    **params: Any,
) -> Run:
    """Quanta of 60 s without overhead for jobs (user, gpus, work, release) of users u, v and w."""
    jobs = [
        Job(id=f"j{i}", user=user, gpus=gpus, work=work, release=release)
        for i, (user, gpus, work, release) in enumerate(rows)
    ]
    users = [User(name, weight) for name, weight in zip("uvw", weights, strict=False)]
    instance = Instance(Cluster.of_sizes(sizes), jobs, users)
    return drive(instance, GandivaFair(**params), lease=60, overhead=0, until=60 * quanta)


def test_table_2() -> None:
    rows = [("u", 1, LONG, 0), ("v", 2, LONG, 0), ("w", 4, LONG, 0)] * 2
    for quanta in (6, 60):
        run = run_of([4], rows, quanta=quanta)
        share = run.records.held / run.records.gpus / (60 * quanta)
        assert share.tolist() == pytest.approx([2 / 3, 1 / 3, 1 / 6] * 2)


def test_strides_as_printed_do_not_give_table_2() -> None:
    """One over the tickets: every pass rises alike, so each user's jobs run as often as others'."""
    rows = [("u", 1, LONG, 0), ("v", 2, LONG, 0), ("w", 4, LONG, 0)] * 2
    run = run_of([4], rows, quanta=6, normalised=False)
    assert (run.records.held / run.records.gpus / 60).tolist() == [2, 2, 2, 2, 2, 1]


@pytest.mark.parametrize(("debt_cap", "waits"), [(True, 2), (False, 24)])
def test_a_debt_from_when_nobody_waited_is_paid_as_printed(debt_cap: bool, waits: int) -> None:
    """u's jobs of 4 GPUs keep the other server busy, so that each quantum counts.

    On the first server u's job runs beside v's for 30 quanta. With 5 GPUs' worth of tickets for 9
    GPUs its stride is 9/5, v's is 1: it is 24 ahead when w comes, with v's pass and stride 1.
    """
    rows = [("v", 2, LONG, 0), ("u", 4, LONG, 0), ("u", 4, LONG, 0)]
    rows += [("u", 1, LONG, 60), ("w", 1, LONG, 60 * 31)]
    run = run_of([3, 4], rows, quanta=61, debt_cap=debt_cap, threshold=10.0)  # none moves
    begins = sorted(s.start for s in run.schedule if s.job == 3)
    assert begins[:2] == [60, 60 * (31 + waits)]


def users_gpus(run: Run, since: int = 0) -> list[float]:
    """Mean GPUs of each user from then on."""
    schedule = run.schedule
    seconds = np.maximum(0, schedule.end - np.maximum(since, schedule.start))
    held = seconds * run.records.gpus[schedule.job]
    total = np.bincount(run.records.user[schedule.job], weights=held, minlength=len(run.users))
    found: list[float] = (total / (run.now - since)).tolist()
    return found


def test_when_a_user_leaves_the_others_share_what_it_had() -> None:
    # 8 GPUs for three users, then for two
    rows = [(user, 1, 60 if user == "u" else LONG, 0) for user in "uvw" for _ in range(8)]
    run = run_of([4, 4], rows, quanta=300)
    assert users_gpus(run, 60 * 10) == pytest.approx([0, 4, 4], abs=0.05)


@settings(max_examples=EXAMPLES // 2)
@given(
    st.tuples(*[st.sampled_from([1.0, 2.0, 3.0])] * 3),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.integers(1, 200),
)
def test_one_gpu_goes_to_users_by_weight_up_to_a_bound(
    weights: tuple[float, ...], counts: tuple[int, ...], quanta: int
) -> None:
    """The bound of one GPU's stride, summed over the jobs of a user."""
    rows = [
        (user, 1, LONG, 0) for user, jobs in zip("uvw", counts, strict=True) for _ in range(jobs)
    ]
    run = run_of([1], rows, weights, quanta=quanta)
    for user, share in enumerate(np.array(weights) / sum(weights)):
        ahead = users_gpus(run)[user] * quanta - share * quanta
        assert ahead <= counts[user] * (1 - share) + 1e-6
        assert ahead >= -share * (sum(counts) - counts[user]) - 1e-6


@pytest.mark.parametrize(
    ("sizes", "weights", "counts"),
    [
        ([4, 4], (1.0, 1.0, 1.0), (16, 16, 32)),
        ([4, 4, 4], (1.0, 2.0, 3.0), (24, 24, 24)),
        ([2, 2, 2], (3.0, 1.0, 1.0), (30, 12, 12)),
    ],
)
def test_many_servers_are_shared_nearly_by_weight(
    sizes: list[int], weights: tuple[float, ...], counts: tuple[int, ...]
) -> None:
    """Examples: nothing is proven where servers are balanced up to a threshold only."""
    rows = [
        (user, 1, LONG, 0) for user, jobs in zip("uvw", counts, strict=True) for _ in range(jobs)
    ]
    found = users_gpus(run_of(sizes, rows, weights, quanta=400))
    assert sum(found) == pytest.approx(sum(sizes))
    fair = sum(sizes) * np.array(weights) / sum(weights)
    assert found == pytest.approx(fair.tolist(), rel=0.05)


@settings(max_examples=EXAMPLES // 2)
@given(st.tuples(*[st.integers(1, 5)] * 3))
def test_the_user_with_most_tickets_per_placed_gpu_places_next(counts: tuple[int, ...]) -> None:
    """All come at once to servers of one GPU: while some are empty, users take turns."""
    rows = [
        (user, 1, LONG, 0) for user, jobs in zip("uvw", counts, strict=True) for _ in range(jobs)
    ]
    run = run_of([1] * 3, [*rows, ("u", 1, LONG, 0)], quanta=1)
    first = run.records.user[run.schedule.job]
    assert sorted(first.tolist()) == [0, 1, 2]


def test_a_new_job_goes_to_the_server_with_the_least_load() -> None:
    rows = [("u", 4, LONG, 0), ("v", 1, LONG, 0), ("v", 1, LONG, 60), ("w", 2, LONG, 60)]
    run = run_of([4, 4], rows, quanta=4)
    first = {int(j): run.schedule[i].gpus for i, j in reversed([*enumerate(run.schedule.job)])}
    assert first == {0: {0: 4}, 1: {1: 1}, 2: {1: 1}, 3: {1: 2}}


def test_a_job_moves_to_a_server_that_has_become_idle() -> None:
    # u and w take turns on the first server; at 120 the second one is idle, and one of them moves
    rows = [("u", 4, LONG, 0), ("v", 4, 90, 0), ("w", 3, LONG, 30)]
    run = run_of([4, 4], rows, quanta=10)
    last = {int(j): i for i, j in enumerate(run.schedule.job)}
    assert sorted(node for j in (0, 2) for node in run.schedule[last[j]].gpus) == [0, 1]
    assert run.schedule.start[[last[0], last[2]]].max() == 120
    assert run.schedule.end[[last[0], last[2]]].tolist() == [600, 600]


def test_jobs_of_more_gpus_than_nodes_of_a_size_are_rejected() -> None:
    jobs = [Job(id="a", gpus=5, work=60), Job(id="b", gpus=4, work=60)]
    instance = Instance(Cluster.of_sizes([2, 4]), jobs)
    run = drive(instance, GandivaFair(), spread=True)
    assert run.rejected == ((0, "job 'a': gpus=5 exceeds the nodes of any one size"),)
