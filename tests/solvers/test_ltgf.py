"""LTGF's choices by hand: between users, between a user's jobs, and the parameters."""

from typing import Any

import numpy as np
import pytest

from gangsched import registry
from gangsched.analysis.driving.drive import PolicyError
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers import LtgfPolicy, PrintedLtgf
from reference_driver import drive

RULES: dict[str, Any] = {"round_length": 60, "lease": 60, "overhead": 0}


def starts(instance: Instance[Any], policy: Any, **rules: Any) -> dict[str, list[int]]:
    """Begin of each segment of each job; the same under both engines."""
    run = drive(instance, policy, **{**RULES, **rules})
    assert run == drive(instance, policy, engine="reference", **{**RULES, **rules})
    found: dict[str, list[int]] = {job.id: [] for job in instance.jobs}
    for segment in run.schedule:
        found[run.records.id[segment.job]].append(segment.start)
    return found


def two_users(*jobs: Job, weight: float = 1.0) -> Instance[Job]:
    return Instance(Cluster.of_sizes([1]), jobs, [User("u", weight), User("v")])


def test_users_take_turns() -> None:
    jobs = [Job(id=f"{user}", gpus=1, work=180, user=user) for user in "uv"]
    assert starts(two_users(*jobs), LtgfPolicy()) == {"u": [0, 120, 240], "v": [60, 180, 300]}


def test_a_user_of_twice_the_weight_has_twice_the_turns() -> None:
    jobs = [Job(id=f"{user}", gpus=1, work=240, user=user) for user in "uv"]
    # keys after each lease: fair shares 2/3 and 1/3 of a GPU; u, then v, then u while v is ahead
    found = starts(two_users(*jobs, weight=2.0), LtgfPolicy())
    first = {user: sum(60 for t in times if t < 180) for user, times in found.items()}
    assert first == {"u": 120, "v": 60}


def test_by_quota_a_user_is_owed_the_time_before_it_came() -> None:
    # At 180 u has run for 120 s and v for 60 s. By the end of a lease u, which was alone for 120 s,
    # is owed 180 s by demand and v 60 s, so u is next; by quota both are owed 120 s, and v goes on.
    jobs = [Job(id="u", gpus=1, work=600, user="u")]
    jobs.append(Job(id="v", gpus=1, work=600, user="v", release=120))
    demand = starts(two_users(*jobs), LtgfPolicy(fair_share="demand"))
    quota = starts(two_users(*jobs), LtgfPolicy(fair_share="quota"))
    assert (demand["u"][:2], demand["v"][:2]) == ([0, 180], [120, 240])
    assert (quota["u"][:2], quota["v"][:2]) == ([0, 240], [120, 300])


def test_within_a_user_the_job_furthest_behind_comes_first() -> None:
    jobs = [Job(id="old", gpus=1, work=240), Job(id="new", gpus=1, work=60, release=60)]
    one = Instance(Cluster.of_sizes([1]), jobs)
    assert starts(one, LtgfPolicy())["new"] == [60]  # it never ran: rho = 0


def test_renewal_first_keeps_the_running_job() -> None:
    jobs = [Job(id="old", gpus=1, work=240), Job(id="new", gpus=1, work=60, release=60)]
    one = Instance(Cluster.of_sizes([1]), jobs)
    assert starts(one, LtgfPolicy(renewal_first=True))["new"] == [240]


def test_urgent_jobs_come_first_within_their_user_only() -> None:
    jobs = [Job(id=f"u{i}", gpus=1, work=60, user="u") for i in range(3)]
    jobs.append(Job(id="v0", gpus=1, work=60, user="v"))
    found = starts(two_users(*jobs), LtgfPolicy(urgent=["u2"]))
    assert (found["u2"], found["v0"]) == ([0], [60])


def test_rho_minus_looks_at_the_end_of_the_lease() -> None:
    # At 120 job c comes, and one of a and b stops. Until then both had all they could use: rho = 1.
    # Left out for a lease at 2/3 GPU, a would have 120 / (120 + 40) and b 60 / (60 + 40).
    jobs = [Job(id=name, gpus=1, work=300, release=60 * k) for k, name in enumerate("abc")]
    one = Instance(Cluster.of_sizes([2]), jobs)
    by_now, by_end = (starts(one, LtgfPolicy(job_key=key)) for key in ("rho", "rho-minus"))
    assert (by_now["a"][:2], by_now["b"][:2]) == ([0, 300], [60, 180])
    assert (by_end["a"][:2], by_end["b"][:2]) == ([0, 180], [60, 240])


def test_a_job_that_does_not_fit_does_not_keep_its_user_out() -> None:
    jobs = [
        Job(id="big", gpus=3, work=600),
        Job(id="wide", gpus=3, work=60),
        Job(id="small", gpus=1, work=60),
    ]
    one = Instance(Cluster.of_sizes([4]), jobs)
    assert starts(one, LtgfPolicy())["small"] == [0]
    with pytest.raises(PolicyError, match=r"line 4 still finds job 'small' \(1 of 1 free GPUs\)"):
        drive(one, PrintedLtgf(), **RULES)
    run = drive(one, PrintedLtgf(stuck="end"), **RULES)
    assert run.records.first.tolist()[2] > 0


@pytest.mark.parametrize("seed", [6, 45])
def test_who_is_passed_over_is_noted_where_many_do_not_fit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = [
        Job(
            id=f"j{k}",
            gpus=int(rng.choice([1, 1, 2, 3, 4])),
            work=int(rng.integers(20, 400)),
            release=int(rng.integers(0, 100)),
        )
        for k in range(40)
    ]
    policy = registry.policy("ltgf:renewal-first")[1]
    found = starts(Instance(Cluster.of_sizes([4, 4]), jobs), policy, round_length=10, lease=40)
    assert all(found.values())
