"""Bounds of the worst user: against every schedule, against corrupted certificates, by hand."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import gangsched as gs
from crowds import crowd
from few import each_seed
from gangsched.analysis.proofs.user_prices import user_bound
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations import SharingIncentive
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers import Bound
from gangsched.solvers.ours.user_order import user_order
from preemptive import problem_of
from sharing_optimum import READINGS, optimum, random_instance


@cache
def tiny(seed: int, limited: bool) -> tuple[SharingIncentive, Any]:
    """A problem and its optimum; a limit between the least worst ratio and twice that."""
    rng = np.random.default_rng([15, seed])
    instance, reading = random_instance(rng, jobs=4), READINGS[seed % 3]
    problem = SharingIncentive(instance, reading)  # type: ignore[arg-type]
    best = optimum(problem)
    if not limited:
        return problem, best
    limit = round(float(best) * float(rng.uniform(1, 2)) + 1e-3, 3)
    problem = SharingIncentive(instance, reading, limit)  # type: ignore[arg-type]
    return problem, optimum(problem)


@pytest.mark.slow
def test_it_is_often_close_to_the_optimum() -> None:
    for limited, often in ((False, 7), (True, 15)):
        gaps = []
        for seed in range(40):
            problem, best = tiny(seed, limited)
            bound = user_bound(problem, rounds=100, intervals=30).value
            gaps.append(float(best) / bound if bound else 9.0)
        assert sum(gap < 1.1 for gap in gaps) >= often
        assert min(gaps) >= 1


@each_seed(range(30), plain=5)
def test_no_schedule_of_the_order_is_below_it(seed: int) -> None:
    problem, best = tiny(seed, False)
    found = user_order(problem)
    assert found.solution is not None
    assert problem.violations(found.solution) == []
    assert found.objective >= float(best)
    limited, least = tiny(seed, True)
    found = user_order(limited)
    assert found.objective is None or found.objective >= least


@pytest.mark.slow
def test_the_order_often_finds_the_optimum() -> None:
    same = [
        user_order(tiny(seed, False)[0]).objective == float(tiny(seed, False)[1])
        for seed in range(60)
    ]
    assert sum(same) >= 30


# --- by hand --------------------------------------------------------------------------------------


def equals(reading: str, limit: float | None = None) -> SharingIncentive:
    """Two users with a job of all GPUs for 4 s each: alone it takes 8."""
    jobs = [Job(id=i, gpus=2, work=4, user=u) for i, u in (("a", "u"), ("b", "v"))]
    instance = Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])
    return SharingIncentive(instance, reading, limit)  # type: ignore[arg-type]


def proof(users: list[int], price: int = 0, everyone: int = 0) -> dict[str, Any]:
    return {
        "kind": "user prices", "times": [0, 4], "prices": [price], "users": users, "all": everyone
    }  # fmt: skip


def test_certificates_by_hand() -> None:
    """At 2 for a job second and 1 for a GPU second up to 4 both cost 16: 24 to share of P = 16."""
    problem = equals("stretch")
    verify_bound(problem, Bound(1.5, "by hand", proof([2, 2], price=1)))
    assert optimum(problem) == 2  # somebody is second
    with pytest.raises(InvalidCertificate, match="proves 3/2"):
        verify_bound(problem, Bound(1.51, "by hand", proof([2, 2], price=1)))
    verify_bound(equals("sharing"), Bound(0.5, "by hand", proof([1, 0])))
    limited = equals("sharing", 1.0)  # 12 in all, whoever is first
    verify_bound(limited, Bound(12, "by hand", proof([0, 0], price=1, everyone=2)))
    with pytest.raises(InvalidCertificate, match="proves 12"):
        verify_bound(limited, Bound(13, "by hand", proof([0, 0], price=1, everyone=2)))


def test_times_alone_that_do_not_fit_64_bits_are_counted_in_python() -> None:
    """Alone the job has 4 * 0.123456789 GPUs: 4 * 10^10 GPU seconds take 81,000,000,738 s."""
    jobs = [Job(id=i, gpus=4, work=10**10, user=u) for i, u in (("a", "u"), ("b", "v"))]
    users = [User("u", 0.123456789), User("v", 0.876543211)]
    problem = SharingIncentive(Instance(Cluster.of_sizes([4]), jobs, users), "sharing")
    alone = -(-(10**19) // 123456789)
    assert alone == 81_000_000_738
    # one second of u's flow costs 1; it is at least 10^10 of the `alone` that it is measured by
    verify_bound(problem, Bound(10**10 / alone * (1 - 1e-12), "by hand", proof([1, 0])))
    with pytest.raises(InvalidCertificate, match="the certificate proves"):
        verify_bound(problem, Bound(10**10 / alone * (1 + 1e-12), "by hand", proof([1, 0])))


@pytest.mark.slow
def test_efforts_are_no_worse_than_the_one_before() -> None:
    problem = SharingIncentive(sixty(), "wait")
    values = [gs.bound(problem, effort) for effort in ("quick", "standard", "full")]  # type: ignore[arg-type]
    assert values[0].value < values[1].value <= values[2].value
    assert gs.bound(problem, "standard") == values[1]
    for value in values:
        verify_bound(problem, value)


def sixty() -> Instance[Job]:
    """Three users on eight GPUs, who wait alone too."""
    users, span = [User("u"), User("v", 2.0), User("w")], {"work": (30, 900), "release": (0, 6000)}
    return crowd(3, jobs=60, gangs=(1, 2, 4, 8), users=users, **span)


def test_it_is_the_price_bound_where_no_user_counts() -> None:
    """With a limit that says nothing, it is about the bound of the sum of flow times."""
    instance = sixty()
    flow = gs.bound(gs.formulations.CompletionTime(instance, "flow"), "standard").value
    found = user_bound(SharingIncentive(instance, "stretch", 1e6), rounds=400).value
    assert 0.98 * flow <= found <= user_order(SharingIncentive(instance, "stretch", 1e6)).objective


def test_nobody_and_nothing() -> None:
    empty = SharingIncentive(Instance(Cluster.of_sizes([2]), []))
    bound = gs.bound(empty, "standard")
    verify_bound(empty, bound)
    assert bound.value == 0
    alone = SharingIncentive(problem_of([2], [(2, 0, 3, 1.0)]).instance)
    assert gs.bound(alone).value == pytest.approx(1)
