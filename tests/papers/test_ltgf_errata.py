"""Ye et al. 2022: what the equations and algorithms say as printed, and what is read instead.

One test for each finding of docs/papers/ltgf.md that no other test shows; numbers worked by hand.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pytest

from gangsched.analysis.driving import metrics
from gangsched.formulations.ltgf.problem import Ltgf, quota_of, shares_of
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers import LtgfPolicy, PrintedLtgf
from reference_driver import drive


def instance(sizes: list[int], *rows: tuple[str, int, int, int]) -> Instance[Job]:
    """Jobs (user, gpus, work, release); equal users."""
    jobs = [
        Job(id=f"j{i}", user=user, gpus=gpus, work=work, release=release)
        for i, (user, gpus, work, release) in enumerate(rows)
    ]
    return Instance(Cluster.of_sizes(sizes), jobs, [User(u) for u in sorted({r[0] for r in rows})])


# --- definitions ---------------------------------------------------------------------------------


def test_at_birth_a_job_has_a_key_of_0_and_a_fairness_of_nothing() -> None:
    """L1: A = F = 0. The job goes before one that has got something, however little."""
    jobs = instance([2], ("u", 2, 600, 0), ("u", 2, 600, 60))
    run = drive(jobs, LtgfPolicy(), lease=60, overhead=0, until=120)
    assert run.records.first.tolist() == [0, 60]
    never = drive(instance([1], ("u", 1, 60, 0)), LtgfPolicy(), until=0)
    assert np.isnan(metrics.rho(never)).all()
    assert np.isnan(metrics.user_rho(never)).all()


def test_the_quota_is_not_m_over_t_unless_weights_are_equal() -> None:
    """L4: after (12) the paper compares with a cluster of M / T; (6) gives 6 and 2 of 8."""
    case = Instance(Cluster.of_sizes([8]), [], [User("a", 3), User("b", 1)])
    assert [quota_of(case, user) for user in ("a", "b")] == [6, 2]


def test_fair_shares_need_not_add_up_to_the_cluster() -> None:
    """L5: 5/3 each, of which the narrow job uses 1; max-min shares are 1, 2 and 2."""
    jobs = [Job(id=f"j{i}", gpus=gpus) for i, gpus in enumerate((1, 4, 4))]
    shares = shares_of(Instance(Cluster.of_sizes([5]), jobs), range(3))
    assert list(shares.values()) == [1, Fraction(5, 3), Fraction(5, 3)]
    assert sum(shares.values()) == Fraction(13, 3) < 5


# --- Algorithm 1 as printed ----------------------------------------------------------------------


def printed_round(
    free: int, gangs: Mapping[str, list[int]], rho: Mapping[str, float], *, lease: float = 1.0
) -> tuple[list[tuple[str, int]], str]:
    """Lines 4 to 17, nothing added: what is allocated, and how it ends.

    `rho` is A_j with F_j = 1 of each user; line 14 adds to A_j. A user without pending jobs is
    skipped as the text says (nothing changes). A state that comes back is an endless loop.
    """
    users, queues, attained = sorted(rho), {u: list(g) for u, g in gangs.items()}, dict(rho)
    given: list[tuple[str, int]] = []
    for step in count():
        if not any(gang <= free for queue in queues.values() for gang in queue):  # 4
            return given, "ends"
        if not users:
            return given, "arg min of nothing"
        best = min(users, key=lambda user: attained[user])  # 5
        queue = queues.get(best, [])  # 6
        if not queue:
            return given, f"{best} again and again"  # no line has changed anything
        gang = queue[0]  # 7, 8
        if gang <= free:  # 9, 10
            given.append((best, gang))  # 11
            free -= gang  # 12
            queue.remove(gang)  # 13
            attained[best] += gang * lease  # 14, 15
        else:
            users.remove(best)  # 17
        assert step < 100
    raise AssertionError


def test_line_17_ends_in_the_arg_min_of_nothing_though_a_job_fits() -> None:
    """L7, L8: of gangs 1, 2, 1 on 2 GPUs the second does not fit, the third would."""
    assert printed_round(2, {"u": [1, 2, 1]}, {"u": 0}) == ([("u", 1)], "arg min of nothing")
    assert printed_round(2, {"u": [1, 1, 2]}, {"u": 0}) == ([("u", 1), ("u", 1)], "ends")


def test_a_user_without_jobs_is_found_again_and_again() -> None:
    """L9: it has the least rho, and only line 17 removes users."""
    assert printed_round(2, {"a": [], "b": [1]}, {"a": 0, "b": 1}) == ([], "a again and again")
    # here it is skipped for good: the other one runs
    jobs = instance([1], ("a", 1, 60, 0), ("b", 1, 600, 0))
    run = drive(jobs, PrintedLtgf(stuck="end"), lease=60, overhead=0)
    assert run.records.end.tolist() == [60, 660]


@pytest.mark.parametrize(
    ("policy", "first"), [(PrintedLtgf(stuck="end"), [4, 0]), (LtgfPolicy(), [2, 2])]
)
def test_without_a_lease_of_fair_share_the_first_user_takes_all(
    policy: Any, first: list[int]
) -> None:
    """L10: at the start F_j = 0, so that line 14 leaves rho_j = A_j / 0, read as 0."""
    jobs = instance([4], *[("a", 1, 600, 0)] * 4, *[("b", 1, 600, 0)] * 4)
    run = drive(jobs, policy, until=0, lease=60, overhead=0)
    started = run.records.first == 0
    assert np.bincount(run.records.user[started], minlength=2).tolist() == first


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize(
    ("policy", "next_user"), [(PrintedLtgf(stuck="end"), 0), (LtgfPolicy(), 1)]
)
def test_gpu_time_that_running_leases_will_hold_counts_at_once(
    policy: Any, next_user: int, engine: Any
) -> None:
    """L10, L11: at 120 rho is 60 / 60 and 120 / 120, and `a` is in the middle of a lease.

    With it, at the end of a lease of 120 s without more GPUs: (60 + 60) / 180 and 120 / 240.
    """
    jobs = instance([2], ("a", 1, 600, 60), ("b", 1, 120, 0), ("a", 1, 60, 120), ("b", 1, 60, 120))
    how = {"lease": 120, "overhead": 0, "synchronous": False, "engine": engine}
    run = drive(jobs, policy, until=120, **how)
    assert metrics.user_attained_time(run, [120])[:, 0].tolist() == [60, 120]
    assert metrics.user_fair_time(run, [120])[:, 0].tolist() == [60, 120]
    assert (run.records.first[2:] == 120).tolist() == [next_user == 0, next_user == 1]


def test_ties_of_jobs_go_to_the_earlier_release_then_to_the_lower_number() -> None:
    """L13: all that never ran have rho = 0."""
    jobs = instance([1], ("u", 1, 60, 5), ("u", 1, 60, 2), ("u", 1, 60, 2))
    assert drive(jobs, LtgfPolicy(), overhead=0).records.first.tolist() == [180, 60, 120]


def test_ties_of_users_go_to_the_lower_number() -> None:
    jobs = instance([1], ("b", 1, 60, 0), ("a", 1, 60, 0))
    assert drive(jobs, LtgfPolicy(), overhead=0).records.first.tolist() == [60, 0]


def test_free_gpus_are_not_the_clusters() -> None:
    """L21: with the free GPUs for M in (3), a job would deserve less because it runs."""
    jobs = instance([4], ("u", 2, 600, 0), ("u", 2, 60, 60))
    run = drive(jobs, LtgfPolicy(), until=60)
    assert run.records.fair.tolist() == [2 * 60, 0]
    assert Ltgf(jobs).user_share("", 2) == 4


# --- metrics -------------------------------------------------------------------------------------


def test_on_an_empty_cluster_short_jobs_have_a_sharing_loss_from_submission() -> None:
    """L20, L22: 100 s of work, released 1 s after a round of 60 s: 100 / 159 without any wait."""
    run = drive(instance([8], ("u", 1, 100, 1)), LtgfPolicy())
    assert metrics.rho(run, "release").tolist() == pytest.approx([100 / 159])
    assert metrics.rho(run, "visible").tolist() == [1]
    found = metrics.summary(run)
    assert (found["loss"], found["loss_release"]) == (0, 1)
