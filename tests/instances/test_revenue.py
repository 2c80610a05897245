"""The workload of workers and parameter servers is that of the paper, and the same every time."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.formulations.io import problem_from_dict, problem_to_dict
from gangsched.formulations.irmp.problem import Irmp, paper_problem, rates_of, reduced_problem
from gangsched.instances import Cluster, Instance, Linear, ParameterServerJob, Power, User, io
from gangsched.instances.generate import short
from gangsched.instances.revenue import bandwidths, owned_cluster, revenue_instance

MANY = 20_000


@pytest.fixture(scope="module")
def many() -> Instance[ParameterServerJob]:
    return revenue_instance(MANY, servers=300, users=4, seed=3)[0]


# --- what the paper prints -----------------------------------------------------------------------

RANGES: dict[str, tuple[Callable[[ParameterServerJob], int], int, int]] = {
    "epochs": (lambda job: job.epochs, 50, 100),
    "chunks": (lambda job: job.gpus, 20, 50),
    "mini-batches": (lambda job: job.minibatches, 10, 50),
    "release": (lambda job: job.release, 1, 24),
}


@pytest.mark.parametrize("name", RANGES)
def test_whole_numbers_are_uniform_on_the_papers_ranges(
    name: str, many: Instance[ParameterServerJob]
) -> None:
    of, low, high = RANGES[name]
    counts = Counter(of(job) for job in many.jobs)
    assert sorted(counts) == list(range(low, high + 1))
    even = MANY / len(counts)
    assert max(abs(count - even) for count in counts.values()) < 6 * even**0.5


def test_utilities_are_uniform_on_the_papers_ranges() -> None:
    linear = [job.utility for job in revenue_instance(5_000)[0].jobs]
    convex = [job.utility for job in revenue_instance(5_000, utility="convex")[0].jobs]
    assert all(isinstance(f, Linear) for f in linear)
    assert all(isinstance(f, Power) for f in convex)
    for drawn, low, high in (
        ([f.slope for f in linear], -2, -0.1),
        ([f.constant for f in linear], 100, 1000),
        ([f.scale for f in convex], 100, 1000),
        ([f.exponent for f in convex], 1, 2),
    ):
        at = np.quantile(drawn, [0, 0.25, 0.5, 0.75, 1])
        assert low <= at[0]
        assert at[-1] <= high
        assert at == pytest.approx(np.linspace(low, high, 5), abs=0.03 * (high - low))


def test_work_is_that_of_the_papers_ranges(many: Instance[ParameterServerJob]) -> None:
    """Quantiles of E D M (m + G), worker-hours on one server, drawn by other code: 199, 1567, 5329.

    On 8 workers these are 25, 196 and 666 slots.
    """
    work = [job.batches / job.rates[0] for job in many.jobs]
    assert np.quantile(work, [0.05, 0.5, 0.95]) == pytest.approx([199, 1567, 5329], rel=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_rates_are_those_of_times_and_sizes_within_the_papers_ranges(seed: int) -> None:
    instance, parameters = revenue_instance(2_000, seed=seed)
    network = parameters["worker_bandwidth"]
    times = np.array([1 / job.rates[0] for job in instance.jobs])
    assert times.min() >= 0.001 + 10 / 3.6e6
    assert times.max() <= 0.05 + 100 / 3.6e6
    # 2 epsilon / b_w: MB to Mbit is 8, an hour has 3600 s
    both = np.array([1 / job.rates[1] for job in instance.jobs])
    sizes = (both - times) * 3600 * network / 16
    assert sizes.min() == pytest.approx(30, rel=0.03)
    assert sizes.max() == pytest.approx(575, rel=0.03)
    assert np.corrcoef(sizes, times)[0, 1] == pytest.approx(0, abs=0.08)


def test_rates_are_those_of_equation_1() -> None:
    """The generator's rates from its own draws, by the problem's function, in hours and Mbit."""
    drawn = np.random.default_rng([7, 14]).random((3, 10))
    instance, parameters = revenue_instance(3, seed=7)
    for u, job in zip(drawn, instance.jobs, strict=True):
        rates = rates_of(
            compute=0.001 + 0.049 * u[5],
            update=(10 + 90 * u[6]) / 1000 / 3600,
            size=8 * (30 + 545 * u[7]),
            bandwidth=3600 * parameters["worker_bandwidth"],
        )
        assert job.rates == pytest.approx(rates, rel=1e-11)
        assert job.rates == tuple(map(short, job.rates))  # 12 digits
        assert (job.release, job.epochs) == (1 + int(24 * u[0]), 50 + int(51 * u[2]))
        assert (job.gpus, job.minibatches) == (20 + int(31 * u[3]), 10 + int(41 * u[4]))
        assert job.utility == Linear(short(-2 + 1.9 * u[8]), short(100 + 900 * u[9]))


def test_bandwidths_are_those_of_the_paper() -> None:
    drawn = [bandwidths(seed) for seed in range(3_000)]
    workers, servers = zip(*(both.values() for both in drawn), strict=True)
    assert 100 <= min(workers) < 130
    assert 5090 < max(workers) <= 5120
    assert 5120 <= min(servers) < 5300
    assert 20_300 < max(servers) <= 20_480
    served = [p // w for w, p in zip(workers, servers, strict=True)]
    assert np.quantile(served, [0.05, 0.5]).tolist() == [1, 4]
    assert np.quantile(served, 0.95) == pytest.approx(36, rel=0.15)


# --- servers and users ---------------------------------------------------------------------------


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 99))
def test_every_user_owns_servers_and_has_quotas_of_them(more: int, users: int, seed: int) -> None:
    made = owned_cluster(users + more, users=users, seed=seed)
    assert len(made.cluster.nodes) == users + more
    assert set(made.owners) == {f"u{u}" for u in range(users)}
    for user in made.users:
        own = [
            node
            for node, owner in zip(made.cluster.nodes, made.owners, strict=True)
            if owner == user.id
        ]
        assert (user.gpus, user.ps) == (sum(node.gpus for node in own), len(own))
        assert user.weight == user.gpus
    assert {node.gpus for node in made.cluster.nodes} <= {2, 8}


def test_the_share_of_large_servers_is_phillys() -> None:
    default = owned_cluster(5_000).cluster.sizes
    assert default.count(8) / 5_000 == pytest.approx(231 / 552, abs=0.02)


def test_users_may_have_names() -> None:
    made = owned_cluster(3, users=["b", "a"])
    assert made.owners[:2] == ("b", "a")
    assert [user.id for user in made.users] == ["b", "a"]


def test_owners_are_drawn_evenly() -> None:
    owners = Counter(owned_cluster(4_000, users=4, seed=2).owners)
    assert max(abs(count - 1000) for count in owners.values()) < 150


def test_users_have_jobs_in_proportion_to_their_workers(
    many: Instance[ParameterServerJob],
) -> None:
    jobs = Counter(job.user for job in many.jobs)
    for user in many.users:
        assert jobs[user.id] / MANY == pytest.approx(user.weight / many.cluster.gpus, abs=0.015)


# --- seeds and sweeps ----------------------------------------------------------------------------


def as_bytes(problem: Irmp) -> str:
    return json.dumps(problem_to_dict(problem), sort_keys=True)


def test_a_seed_gives_the_same_bytes_and_another_one_others() -> None:
    for make in (paper_problem, reduced_problem):
        for utility in ("linear", "convex"):
            one = as_bytes(make(utility=utility, seed=4))
            assert one == as_bytes(make(utility=utility, seed=4))
            assert one != as_bytes(make(utility=utility, seed=5))
            assert as_bytes(problem_from_dict(json.loads(one))) == one  # type: ignore[arg-type]


def test_these_are_the_bytes_of_seed_0() -> None:
    """A change of the generators changes every result: these numbers are of the first version."""
    instance, parameters = revenue_instance(1, servers=2, users=2)
    assert io.instance_to_dict(instance)["jobs"] == [
        {
            "kind": "parameter-server",
            "id": "j0",
            "user": "u0",
            "gpus": 29,
            "release": 14,
            "epochs": 93,
            "minibatches": 39,
            "rates": (34.5899428514, 34.305010182),
            "utility": {"kind": "linear", "slope": -1.5122064473, "constant": 786.414168705},
        }
    ]
    assert parameters == {
        "worker_bandwidth": 2998,
        "ps_bandwidth": 6851,
        "owners": ("u0", "u1"),
    }


@given(st.integers(0, 30), st.integers(0, 30), st.sampled_from(["linear", "convex"]))
def test_fewer_jobs_are_the_first_of_more(few: int, more: int, utility: Any) -> None:
    small, large = (
        revenue_instance(jobs, servers=20, utility=utility, seed=1)[0].jobs
        for jobs in (few, few + more)
    )
    assert small == large[:few]


def test_fewer_servers_are_the_first_of_more_and_jobs_keep_all_but_their_user() -> None:
    (small, some), (large, all_) = (revenue_instance(30, servers=s, seed=1) for s in (20, 90))
    assert small.cluster.nodes == large.cluster.nodes[:20]
    assert some["owners"] == all_["owners"][:20]
    for one, other in zip(small.jobs, large.jobs, strict=True):
        assert (one.rates, one.utility, one.release) == (other.rates, other.utility, other.release)
        assert (one.gpus, one.batches) == (other.gpus, other.batches)


def test_laws_of_utilities_differ_in_nothing_else() -> None:
    for one, other in zip(
        revenue_instance(30)[0].jobs, revenue_instance(30, utility="convex")[0].jobs, strict=True
    ):
        assert (one.user, one.rates, one.gpus) == (other.user, other.rates, other.gpus)


# --- the paper's problems ------------------------------------------------------------------------


def test_the_papers_default_setting() -> None:
    problem = paper_problem(seed=2)
    assert (len(problem.jobs), len(problem.users)) == (100, 14)
    assert {node.ps for node in problem.instance.cluster.nodes} == {1}
    assert (problem.instance.slot, problem.horizon, problem.clock) == (3600, None, "absolute")
    assert problem.quotas.sum(axis=(0, 1)).tolist() == [problem.instance.cluster.gpus, 100]
    instance, parameters = revenue_instance(100, servers=100, users=14, seed=2)
    assert problem == Irmp(instance, **parameters)


def test_the_papers_reduced_setting() -> None:
    for jobs, servers in ((5, 5), (15, 45)):
        problem = reduced_problem(jobs, servers=servers, utility="convex", seed=1)
        assert (len(problem.jobs), len(problem.owners), len(problem.users)) == (jobs, servers, 2)
        assert problem.instance.name == f"revenue-convex-{jobs}x{servers}x2-seed1"


def test_an_instance_comes_back_from_its_file(tmp_path: Any) -> None:
    instance, _ = revenue_instance(20, utility="convex")
    io.save(tmp_path / "i.json.gz", instance)
    assert io.load(tmp_path / "i.json.gz") == instance


def test_there_may_be_no_jobs() -> None:
    instance, parameters = revenue_instance(0, servers=1, users=1)
    assert instance == Instance(
        Cluster(instance.cluster.nodes),
        (),
        [User("u0", instance.cluster.gpus, instance.cluster.gpus, 1)],
        slot=3600,
        name="revenue-linear-0x1x1-seed0",
    )
    assert parameters["owners"] == ("u0",)
