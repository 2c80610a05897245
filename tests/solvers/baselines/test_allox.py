"""AlloX: users behind first, the driver as by hand."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers.policies.allox.policy import Allox
from gangsched.solvers.policies.sjf import Sjf
from reference_driver import drive

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


def test_the_share_of_users_is_the_decimal_that_is_meant() -> None:
    names = [f"u{i}" for i in range(25)]  # 0.28 * 25 is 7, in floats a little more
    jobs = [Job(id=name, gpus=1, work=60, user=name) for name in names]
    instance = Instance(Cluster.of_sizes([25]), jobs, [User(name) for name in names])
    first = drive(instance, Allox(alpha=0.28)).records.first
    assert (first == 0).sum() == 7
