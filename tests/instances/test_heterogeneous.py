"""GPU models of different speed: drawn speeds, the paper's workloads, markets, clusters."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gangsched.formulations.gandiva_fair.problem import effective_tickets
from gangsched.instances import Cluster, Instance, Job, io
from gangsched.instances.generate import offered_load
from gangsched.instances.heterogeneous import (
    MINIBATCH,
    MODELS,
    TABLE1,
    family_of,
    gang_mix,
    group_sharing,
    large_and_small_jobs,
    mixed_cluster,
    one_server,
    random_market,
    single_job_users,
    table3_market,
    time_sharing,
    trading_groups,
    with_speeds,
)

MIXED = mixed_cluster([("v100", 1, 4), ("k80", 3, 2)])
HOUR = 3600


# --- Table 1 --------------------------------------------------------------------------------------


def test_speeds_are_as_the_paper_speaks_of_them() -> None:
    """Section 2.2: VAE gains 25 %, ResNext 533 %, on DCGAN a P40 is like a P100; all gain."""
    assert (TABLE1["vae"]["v100"], TABLE1["resnext-50"]["v100"]) == (1.25, 6.33)
    assert TABLE1["dcgan"]["p40"] == pytest.approx(TABLE1["dcgan"]["p100"], rel=0.01)
    assert set(MINIBATCH) == set(TABLE1)
    for speeds in TABLE1.values():
        assert tuple(speeds) == MODELS
        assert speeds["k80"] == 1 < min(speeds["p40"], speeds["p100"])
        assert max(speeds["p40"], speeds["p100"]) < speeds["v100"]


# --- drawn speeds ---------------------------------------------------------------------------------


def instance(users: Sequence[str], cluster: Cluster = MIXED, **fields: Any) -> Instance[Job]:
    jobs = [Job(id=f"j{i}", gpus=1, work=60, user=u, **fields) for i, u in enumerate(users)]
    return Instance(cluster, jobs)


def test_users_draw_all_families_evenly_and_their_jobs_are_alike() -> None:
    users = [f"user{i}" for i in range(1400)]
    made = with_speeds(instance([*users, *users]), seed=5)
    first, second = made.jobs[:1400], made.jobs[1400:]
    assert [job.speeds for job in first] == [job.speeds for job in second]
    counts = Counter(job.speeds["v100"] for job in first)
    even = 1400 / len(TABLE1)  # two families share one speed
    assert counts[4.81] == pytest.approx(2 * even, abs=6 * even**0.5)
    assert all(abs(n - even) < 5 * even**0.5 for speed, n in counts.items() if speed != 4.81)
    assert len(counts) == len(TABLE1) - 1


def test_jobs_get_the_speeds_of_the_clusters_models_and_keep_the_rest() -> None:
    given = instance(["a", "b"], weight=3.0, pin="v100")
    made = with_speeds(given, seed=2)
    for before, after in zip(given.jobs, made.jobs, strict=True):
        row = TABLE1[family_of(after.user, seed=2)]
        assert dict(after.speeds) == {"v100": row["v100"], "k80": 1.0}
        assert (after.id, after.pin, after.weight) == (before.id, "v100", 3.0)
    assert made.cluster == given.cluster


def test_a_draw_does_not_depend_on_who_else_is_there() -> None:
    many = with_speeds(instance([f"u{i}" for i in range(30)]), seed=1).jobs
    few = with_speeds(instance(["u7", "u29"]), seed=1).jobs
    assert [job.speeds for job in few] == [many[7].speeds, many[29].speeds]


def test_seeds_draw_differently() -> None:
    users = [f"u{i}" for i in range(40)]
    one, two = (with_speeds(instance(users), seed=s).jobs for s in (0, 1))
    assert [job.speeds for job in one] != [job.speeds for job in two]


def test_load_counts_work_at_the_mean_speed_of_the_gpus_a_job_can_run_on() -> None:
    """4 V100s, 6 K80s: a job with speeds 2 and 1 runs at 1.4, one that needs V100s at 5."""
    jobs = [
        Job(id="a", gpus=2, work=70, speeds={"v100": 2, "k80": 1}),
        Job(id="b", gpus=1, work=50, speeds={"v100": 5}),
        Job(id="c", gpus=3, work=30, speeds={"v100": 3, "k80": 1}, pin="v100"),
        Job(id="d", gpus=1, work=60, release=10),
    ]
    assert offered_load(Instance(MIXED, jobs)) == pytest.approx((100 + 10 + 30 + 60) / (10 * 10))
    with pytest.raises(ValueError, match="job 'e': it has no speed on any GPU model of the clust"):
        offered_load(Instance(MIXED, [Job(id="e", gpus=1, work=1, speeds={"p40": 2})]))


# --- clusters -------------------------------------------------------------------------------------


def test_nodes_come_in_the_given_order() -> None:
    cluster = mixed_cluster([("v100", 1, 8), ("k80", 2, 4), ("v100", 1, 2)])
    assert [(n.id, n.gpus, n.model) for n in cluster.nodes] == [
        ("n0", 8, "v100"), ("n1", 4, "k80"), ("n2", 4, "k80"), ("n3", 2, "v100")
    ]  # fmt: skip


# --- the paper's workloads ------------------------------------------------------------------------


def fluid_ends(made: Instance[Job]) -> dict[str, float]:
    """Hours at which users end when GPUs are shared as a fluid, from the works alone."""
    gpus: Counter[str] = Counter()
    for node in made.cluster.nodes:
        gpus[node.model] += node.gpus
    total = made.cluster.gpus
    tickets = {user.id: Fraction(user.weight) for user in made.users}
    left = {j: float(job.work or 0) for j, job in enumerate(made.jobs)}
    now, ends = 0.0, {}
    while left:
        here = [j for j in left if made.jobs[j].release <= now]
        demand: dict[str, int] = defaultdict(int)
        for j in here:
            demand[made.jobs[j].user] += made.jobs[j].gpus
        users = list(demand)
        shares = effective_tickets(
            [tickets[u] for u in users], [float(demand[u]) for u in users], total
        )
        part = {u: float(x) / demand[u] for u, x in zip(users, shares, strict=True)}
        rate = {}
        for j in here:
            job = made.jobs[j]
            rate[j] = part[job.user] * sum(n * job.speeds[m] / total for m, n in gpus.items())
        steps = [left[j] / rate[j] for j in here]
        later = [job.release - now for job in made.jobs if job.release > now]
        step = min([*steps, *later])
        now += step
        for j in here:
            left[j] -= step * rate[j]
            if left[j] <= 1e-6:
                del left[j]
                ends[made.jobs[j].user] = now / HOUR
    return ends


WORKLOADS: list[tuple[Callable[[], Instance[Job]], dict[str, float]]] = [
    (one_server, {"User1": 4, "User2": 6, "User3": 4}),
    (large_and_small_jobs, {"User1": 1.5, "User2": 3, "User3": 3}),
    (group_sharing, {"User1": 4, "User2": 6, "User3": 1}),
    (trading_groups, {"User1": 4, "User2": 6, "User3": 6, "User4": 6}),
]


@pytest.mark.parametrize(("make", "hours"), WORKLOADS)
def test_users_end_when_the_paper_says_so(
    make: Callable[[], Instance[Job]], hours: dict[str, float]
) -> None:
    assert fluid_ends(make()) == pytest.approx(hours, rel=2e-3)


def test_the_gangs_of_eight_end_in_the_middle() -> None:
    made = single_job_users(seed=3)
    gangs = {job.user: job.gpus for job in made.jobs}
    for user, end in fluid_ends(made).items():
        assert end == pytest.approx(3 if gangs[user] == 8 else 6, rel=1e-3)


def test_work_of_one_server_by_hand() -> None:
    """Four hours of 4 / 3 GPUs: 1/3, 1/6 and 1/12 of the time of a job of 1, 2 and 4 GPUs."""
    works = {job.user: job.work for job in one_server().jobs}
    assert works["User1"] == 4 * HOUR / 3 * 1.25
    assert works["User3"] == pytest.approx(4 * HOUR / 12 * 5.14)
    assert works["User2"] == pytest.approx((4 * HOUR / 6 + 2 * HOUR / 2) * 6.42)


def shape(made: Instance[Job]) -> Counter[tuple[str, int, str]]:
    return Counter((job.user, job.gpus, job.group) for job in made.jobs)


def test_workloads_have_the_jobs_that_the_paper_names() -> None:
    assert shape(one_server()) == {
        ("User1", 1, "vae"): 4, ("User2", 2, "dcgan"): 4, ("User3", 4, "resnet-50"): 4
    }  # fmt: skip
    assert shape(large_and_small_jobs()) == {
        ("User1", 8, "resnet-50"): 1, ("User2", 2, "resnet-50"): 2, ("User3", 1, "vae"): 4
    }  # fmt: skip
    assert shape(group_sharing()) == {
        ("User1", 1, "super-resolution"): 128, ("User2", 4, "resnet-50"): 128,
        ("User3", 2, "dcgan"): 128,
    }  # fmt: skip
    assert shape(trading_groups()) == {
        ("User1", 1, "resnet-50"): 150, ("User2", 2, "resnet-50"): 150,
        ("User3", 4, "resnet-50"): 150, ("User4", 1, "super-resolution"): 150,
    }  # fmt: skip
    many = single_job_users(seed=1)
    assert Counter(job.gpus for job in many.jobs) == {1: 62, 2: 3, 4: 3, 8: 2}
    weights = {user.id: user.weight for user in many.users}
    assert all(weights[job.user] == job.gpus for job in many.jobs)
    assert all(set(job.speeds) == {"p100"} for job in many.jobs)


def test_clusters_are_those_of_the_paper() -> None:
    found = {
        make.__name__: Counter(node.model for node in make().cluster.nodes)
        for make in (one_server, large_and_small_jobs, single_job_users, group_sharing)
    }
    assert found == {
        "one_server": {"v100": 1}, "large_and_small_jobs": {"p100": 2},
        "single_job_users": {"p100": 12}, "group_sharing": {"k80": 16},
    }  # fmt: skip
    nodes = trading_groups().cluster.nodes
    assert Counter(node.model for node in nodes) == {"v100": 3, "p100": 6, "k80": 16}
    assert {node.gpus for node in nodes} == {4}


def test_examples_of_fairness_have_the_gangs_of_the_text() -> None:
    one, two = time_sharing(), gang_mix(work=60)
    assert shape(one) == {("A", 2, "A"): 2, ("B", 2, "B"): 2, ("C", 2, "C"): 1}
    assert max(one.jobs, key=lambda job: job.release).user == "C"
    first = Counter(job.gpus for job in two.jobs if job.user in "ABC")
    assert first == {1: 2, 2: 2, 4: 2}
    assert {job.gpus for job in two.jobs if job.user == "D"} == {8}
    assert one.cluster.sizes == two.cluster.sizes == (4, 4)


def test_the_same_seed_makes_the_same_bytes() -> None:
    def bytes_of(seed: int) -> str:
        made = with_speeds(single_job_users(seed=seed), seed=seed)
        return repr(io.instance_to_dict(made))

    assert bytes_of(4) == bytes_of(4) != bytes_of(5)


# --- markets --------------------------------------------------------------------------------------


def test_table_3_has_its_fair_values() -> None:
    """25, 40 and 45 K80s' worth, with a third of the GPUs each."""
    market = table3_market()
    assert (market.speeds @ market.gpus / 3).tolist() == [25, 40, 45]
    assert market.tickets.tolist() == [1, 1, 1]


def test_random_markets_have_the_gpus_tickets_and_noisy_speeds_they_say() -> None:
    market = random_market(3000, seed=8)
    assert market.gpus.tolist() == [128, 48, 48, 24]
    counts = Counter(market.tickets.tolist())
    assert set(counts) == {1, 2, 4}
    assert min(counts.values()) > 900
    assert (market.speeds[:, 0] == 1).all()
    table = np.log([list(row.values()) for row in TABLE1.values()])
    apart = np.log(market.speeds)[:, None, 1:] - table[:, 1:]
    nearest = np.abs(apart).sum(axis=2).argmin(axis=1)
    noise = apart[np.arange(3000), nearest]
    assert noise.std() == pytest.approx(0.03, rel=0.05)
    assert abs(noise.mean()) < 0.002
    assert min(Counter(nearest.tolist()).values()) > 300


def test_fewer_models_are_columns_of_the_same_market() -> None:
    every, two = random_market(5, seed=1), random_market(5, models=("k80", "v100"), seed=1)
    assert (two.speeds == every.speeds[:, [0, 3]]).all()
    assert two.gpus.tolist() == [128, 24]
    assert two.users == every.users == ("u0", "u1", "u2", "u3", "u4")
