"""YARN-CS: whole quotas, queues by user, nothing lent."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driven import Case, cases, one_run
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import Run
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers.policies.yarn_cs.policy import YarnCs, whole_quotas

EXAMPLES = settings().max_examples // 2


@pytest.mark.parametrize(
    ("quotas", "whole"),
    [
        ([4.0], [4]),
        ([2.5, 1.5], [3, 1]),  # equal remainders: the lower number
        ([1.4, 1.3, 1.3], [2, 1, 1]),
        ([0.4, 0.4, 0.2, 5.0], [1, 0, 0, 5]),
        ([3.9999999999999996, 2.0000000000000004], [4, 2]),
        ([10 / 3, 10 / 3, 10 / 3], [4, 3, 3]),
    ],
)
def test_whole_quotas_by_hand(quotas: list[float], whole: list[int]) -> None:
    assert whole_quotas(quotas).tolist() == whole


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(1, 500))
def test_whole_quotas_add_up_and_are_near(weights: list[int], gpus: int) -> None:
    exact = [Fraction(gpus * weight, sum(weights)) for weight in weights]
    whole = whole_quotas([float(q) for q in exact]).tolist()
    assert sum(whole) == gpus
    assert all(abs(w - q) < 1 for w, q in zip(whole, exact, strict=True))


def first(policy: YarnCs, sizes: list[int], rows: list[tuple[str, int, int, int]]) -> list[int]:
    """First starts of jobs (user, gpus, work, release) of u and v with equal weights."""
    jobs = [
        Job(id=f"j{i}", user=user, gpus=gpus, work=work, release=release)
        for i, (user, gpus, work, release) in enumerate(rows)
    ]
    run = drive(Instance(Cluster.of_sizes(sizes), jobs, [User("u"), User("v")]), policy)
    starts: list[int] = run.records.first.tolist()
    return starts


ROWS = [("u", 2, 100, 0), ("u", 3, 60, 0), ("u", 1, 60, 10), ("v", 3, 200, 20), ("v", 1, 60, 0)]


def test_a_head_that_does_not_fit_blocks_its_user_only() -> None:
    # quotas 4 and 4. u: 2, then 3 > 2 left blocks 1. v: 1 at 0, 3 at 60.
    assert first(YarnCs(), [4, 4], ROWS) == [0, 120, 120, 60, 0]


def test_with_backfill_later_jobs_pass() -> None:
    # u: 1 passes at 60 and ends at 120, as does the first
    assert first(YarnCs(backfill=True), [4, 4], ROWS) == [0, 120, 60, 60, 0]


def test_a_head_without_a_consolidated_place_blocks_its_user() -> None:
    # quotas 2 and 2; from 60 on v holds a GPU of each node, until 300
    rows = [("v", 1, 400, 0), ("u", 1, 60, 0), ("v", 1, 300, 0), ("u", 2, 60, 0), ("u", 1, 60, 0)]
    assert first(YarnCs(), [2, 2], rows) == [0, 0, 0, 300, 360]
    assert first(YarnCs(backfill=True), [2, 2], rows) == [0, 0, 0, 300, 0]


def test_nobody_borrows() -> None:
    rows = [("u", 2, 60, 0), ("u", 2, 60, 0)]
    assert first(YarnCs(), [4], rows) == [0, 60]


def test_jobs_beyond_the_quota_are_rejected() -> None:
    jobs = [Job(id="a", gpus=3, work=60, user="v"), Job(id="b", gpus=3, work=60, user="u")]
    instance = Instance(Cluster.of_sizes([4]), jobs, [User("u", 3.0), User("v", 1.0)])
    assert drive(instance, YarnCs()).rejected == (
        (0, "job 'a': gpus=3 exceeds user 'v''s quota of 1"),
    )


def test_without_users_all_gpus_are_one_quota() -> None:
    jobs = [Job(id="a", gpus=3, work=60), Job(id="b", gpus=2, work=60)]
    run = drive(Instance(Cluster.of_sizes([4]), jobs), YarnCs())
    assert run.rejected == ()
    assert run.records.first.tolist() == [0, 60]


def held_at(run: Run, time: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """GPUs of each user."""
    at = (run.schedule.start <= time) & (time < run.schedule.end)
    jobs = run.schedule.job[at]
    return np.bincount(
        run.records.user[jobs], weights=run.records.gpus[jobs], minlength=len(run.users)
    ).astype(np.int64)


@pytest.mark.parametrize("backfill", [False, True])
@settings(max_examples=EXAMPLES)
@given(case=cases(), data=st.data())
def test_quotas_and_queues_hold(backfill: bool, case: Case, data: st.DataObject) -> None:
    run = one_run(case, YarnCs(backfill=backfill), data)
    quota = whole_quotas(run.quota.tolist())
    for time in np.unique(run.schedule.start).tolist():
        assert (held_at(run, time) <= quota).all()
    if not backfill:
        for u in range(len(run.users)):
            mine = np.flatnonzero((run.records.user == u) & ~run.records.rejected)
            order = mine[np.argsort(run.records.release[mine], kind="stable")]
            assert (np.diff(run.records.first[order]) >= 0).all()
