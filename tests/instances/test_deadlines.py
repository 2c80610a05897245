"""Workloads with deadlines: shares and ranges as documented, same bytes, nested densities."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from few import first
from gangsched.instances import (
    Cluster,
    DeadlineJob,
    Instance,
    Job,
    TargetMetric,
    deadlines,
    io,
)
from gangsched.instances.deadlines import (
    MODELS,
    _forced,
    deadline_instance,
    helios_like_workload,
    philly_like_workload,
    queue_snapshot,
    split_speed,
    testbed_workload,
    with_density,
    with_hostile,
)
from strategies import deadline_instances

NODES = Cluster.uniform(nodes=4, gpus_per_node=8)
PLAIN = Instance(
    NODES,
    [
        Job(id=f"j{i}", gpus=1 + i % 9, release=7 * i, work=1000 + i, user="u", weight=2)
        for i in range(4000)
    ],
)
SOFT = (100.0, 80.0, 50.0, 20.0)


def kind(job: DeadlineJob) -> str:
    return {0: "best", 1: "strict"}.get(len(job.rewards), "soft")


def shares(instance: Instance[DeadlineJob]) -> dict[str, float]:
    counts = Counter(map(kind, instance.jobs))
    return {name: counts[name] / len(instance.jobs) for name in ("strict", "soft", "best")}


# --- deadlines of given jobs ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "expected"),
    [("slo", (1, 0, 0)), ("mix1", (0.9, 0, 0.1)), ("mix2", (0.3, 0.6, 0.1))],
)
def test_families_have_their_shares(family: Any, expected: tuple[float, ...]) -> None:
    made = deadline_instance(PLAIN, family=family)
    assert tuple(shares(made).values()) == pytest.approx(expected, abs=0.03)


def test_what_a_job_was_it_stays() -> None:
    made = deadline_instance(PLAIN)
    fields = "id", "gpus", "release", "work", "user", "weight"
    for before, after in zip(PLAIN.jobs, made.jobs, strict=True):
        assert [getattr(before, f) for f in fields] == [getattr(after, f) for f in fields]
    assert (made.cluster, made.name) == (NODES, "-mix2-seed0")


def test_deadlines_follow_the_rules_of_the_paper() -> None:
    made = deadline_instance(PLAIN, seed=3)
    slack = []
    for job in made.jobs:
        if job.best_effort:
            continue
        assert job.work is not None
        first = job.rewards[0][0]
        slack.append(first / job.work)
        assert tuple(value for _, value in job.rewards) == (
            SOFT if len(job.rewards) > 1 else SOFT[:1]
        )
        for factor, (deadline, _) in zip(("1", "1.1", "1.2", "1.5"), job.rewards, strict=False):
            assert deadline == math.floor(Fraction(factor) * first)
    assert 1.1 - 0.001 <= min(slack) < 1.12
    assert 1.98 < max(slack) < 2
    assert sum(slack) / len(slack) == pytest.approx(1.55, abs=0.02)


def test_short_soft_deadlines_still_rise() -> None:
    jobs = [Job(id=f"j{i}", gpus=1, work=1) for i in range(50)]
    made = deadline_instance(Instance(NODES, jobs))
    assert {tuple(at for at, _ in job.rewards) for job in made.jobs} == {(1, 2, 3, 4), (1,), ()}


def test_targets_save_epochs_as_printed_and_leave_the_work() -> None:
    made = deadline_instance(PLAIN, seed=1)
    targets = [job.stopping for job in made.jobs if isinstance(job.stopping, TargetMetric)]
    assert len(targets) / len(made.jobs) == pytest.approx(0.2, abs=0.02)
    assert {target.max_epochs for target in targets} == set(range(30, 121))
    saved = [1 - target.epochs / target.max_epochs for target in targets]
    assert 0.28 < max(saved) <= 0.31
    assert min(saved) == 0
    # half up to 22 %, half up to 31 %: (9 / 31) / 2 of the jobs save more than 22 %
    assert sum(s > 0.22 for s in saved) / len(saved) == pytest.approx(9 / 62, abs=0.04)
    assert all(target.curve[-1] >= target.target > target.curve[0] for target in targets)
    rising = [b > a for t in targets for a, b in pairwise(t.curve)]
    assert sum(rising) / len(rising) > 0.6  # noise aside, they learn


def test_costs_and_speeds_are_within_their_ranges() -> None:
    made = deadline_instance(PLAIN)
    costs = [job.preemption_cost or 0 for job in made.jobs]
    assert set(costs) == set(range(15, 36))
    assert sum(costs) / len(costs) == pytest.approx(25, abs=0.4)
    of_size = {n: {job.split_speed for job in made.jobs if job.gpus == n} for n in (1, 8, 9)}
    assert of_size[1] == of_size[9] == {1.0}  # never split; too large for a node
    names = ("resnet18", "resnet50", "mobilenet_v2", "vgg19", "bert")
    assert of_size[8] == {split_speed(name, 8) for name in names}


@pytest.mark.parametrize("model", MODELS)
def test_split_speed_is_the_quotient_of_eq_2(model: str) -> None:
    parameters, compute = (Fraction(str(x)) for x in MODELS[model])
    for gpus in range(1, 17):
        within, between = parameters / 2500, parameters / 1250
        exact = (compute + (gpus - 1) * within) / (compute + (gpus - 1) * between)
        assert split_speed(model, gpus) == pytest.approx(float(exact), abs=1e-6)


# --- workloads -----------------------------------------------------------------------------------

WORKLOADS: dict[str, Callable[[int], Instance[DeadlineJob]]] = {
    "helios": lambda seed: helios_like_workload(jobs=300, seed=seed, density=1.2),
    "philly": lambda seed: philly_like_workload(jobs=300, seed=seed, density=0.8),
    "testbed": lambda seed: testbed_workload(300, seed=seed),
    "hostile": lambda seed: with_hostile(testbed_workload(300), 0.4, seed=seed),
    "queue": lambda seed: queue_snapshot(300, seed=seed),
    "deadlines": lambda seed: deadline_instance(PLAIN, seed=seed),
}


@pytest.mark.parametrize("make", first(3, WORKLOADS.values()), ids=WORKLOADS)
def test_a_seed_gives_one_workload(make: Callable[[int], Instance[DeadlineJob]]) -> None:
    one, two = (io.instance_to_dict(make(7)) for _ in range(2))
    assert one == two
    assert io.instance_from_dict(one) == make(7)
    assert one["jobs"] != io.instance_to_dict(make(8))["jobs"]


@pytest.mark.parametrize("make", [helios_like_workload, philly_like_workload])
def test_long_workloads(make: Callable[..., Instance[DeadlineJob]]) -> None:
    made = make(jobs=2000, seed=2)
    assert (len(made.jobs), made.cluster.sizes) == (2000, (8,) * 120)
    works = [job.work or 0 for job in made.jobs]
    assert 1200 <= min(works) < 1300
    assert 150_000 < max(works) <= 259_200
    releases = [job.release for job in made.jobs]
    assert releases == sorted(releases)
    assert 10 < releases[-1] / 86_400 < 18
    assert shares(made) == pytest.approx({"strict": 0.3, "soft": 0.6, "best": 0.1}, abs=0.04)
    assert [job.id for job in made.jobs] == [f"j{i}" for i in range(2000)]
    small = make(Cluster.of_sizes([8]), jobs=50, family="slo")
    assert max(job.gpus for job in small.jobs) <= 8
    assert shares(small)["strict"] == 1


def test_helios_has_more_gangs_than_philly() -> None:
    """Distributed training is more frequent there, as the paper says of the traces."""
    several = [
        sum(job.gpus > 1 for job in make(jobs=2000).jobs)
        for make in (helios_like_workload, philly_like_workload)
    ]
    assert several[0] > 5 * several[1]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [360, 720])
def test_the_testbed_is_that_of_table_3(jobs: int) -> None:
    made = testbed_workload(jobs, seed=1)
    assert (len(made.jobs), made.cluster.sizes) == (jobs, (4,) * 16)
    assert {job.gpus for job in made.jobs} <= {1, 2, 4, 8}
    assert all(300 <= (job.work or 0) <= 10_800 for job in made.jobs)
    releases = [job.release for job in made.jobs]
    assert releases == sorted(releases)
    assert 0 <= releases[0] < releases[-1] < 28_800
    # Helios' hours: .92 + .63 of 3.30 are submitted in the first two of the eight
    early = sum(release < 7200 for release in releases) / jobs
    assert early == pytest.approx(1.55 / 3.30, abs=0.12)
    assert shares(made) == pytest.approx({"strict": 0.3, "soft": 0.6, "best": 0.1}, abs=0.08)


def test_no_jobs_at_all() -> None:
    assert testbed_workload(0).jobs == ()
    assert helios_like_workload(jobs=0).jobs == ()
    assert philly_like_workload(jobs=0, density=1.6).jobs == ()


# --- density and hostile gangs -------------------------------------------------------------------


def test_densities_are_nested() -> None:
    base = philly_like_workload(jobs=250, seed=5)
    levels = [with_density(base, d, seed=5) for d in (0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 2.0)]
    assert [len(level.jobs) for level in levels] == [200, 225, 250, 300, 350, 400, 500]
    assert levels[2] is base
    for smaller, larger in pairwise(levels):
        assert set(smaller.jobs) <= set(larger.jobs)
        of_id = {job.id: job for job in larger.jobs}
        assert all(of_id[job.id] == job for job in smaller.jobs)
    for level in levels:
        releases = [job.release for job in level.jobs]
        assert releases == sorted(releases)
    direct = philly_like_workload(jobs=250, seed=5, density=1.4)
    assert direct == levels[4]
    assert levels[4].name.endswith("-density1.4")


def test_injected_jobs_look_like_the_others() -> None:
    base = helios_like_workload(jobs=500)
    extra = [job for job in with_density(base, 2).jobs if job.id.startswith("extra")]
    shape = [(job.gpus, job.work, job.rewards, job.split_speed) for job in base.jobs]
    assert Counter((job.gpus, job.work, job.rewards, job.split_speed) for job in extra) == Counter(
        shape
    )
    assert sorted(job.release for job in extra) == [job.release for job in base.jobs]


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.8])
def test_a_share_of_gangs_becomes_hostile(share: float) -> None:
    base = helios_like_workload(jobs=400, seed=3)
    made = with_hostile(base, share, seed=1)
    hostile = [job for job in made.jobs if job.gpus in (3, 5, 6, 7)]
    assert len(hostile) == round(400 * share)
    for before, after in zip(base.jobs, made.jobs, strict=True):
        changed = before.gpus != after.gpus
        assert changed == (after.gpus in (3, 5, 6, 7))
        assert before == after or changed
        if changed and before.gpus > 1:
            assert before.gpus / 2 < after.gpus < 2 * before.gpus
            assert after.split_speed < 1
    if share == 0.5:
        assert {job.gpus for job in hostile} == {3, 5, 6, 7}
    more = with_hostile(base, min(1.0, share + 0.05), seed=1)
    assert {job.id for job in hostile} <= {job.id for job in more.jobs if job.gpus in (3, 5, 6, 7)}


def test_hostile_gangs_of_small_nodes() -> None:
    made = with_hostile(testbed_workload(200), 0.5)
    assert Counter(job.gpus for job in made.jobs)[3] == 100
    already = Instance(NODES, [job for job in deadline_instance(PLAIN).jobs if job.gpus in (1, 9)])
    half = len([job for job in already.jobs if job.gpus == 9]) / len(already.jobs)
    assert with_hostile(already, half).jobs == already.jobs


# --- queues --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mix", ["philly", "helios"])
@pytest.mark.parametrize("load", [0.8, 1.5])
def test_a_queue_has_its_load(mix: Any, load: float) -> None:
    queue = queue_snapshot(1000, mix=mix, load=load)
    assert 0.95 * load < _forced(queue.jobs) / queue.cluster.gpus <= load
    assert all(job.release == 0 for job in queue.jobs)
    assert max(job.gpus for job in queue.jobs) <= queue.cluster.gpus
    assert shares(queue) == pytest.approx({"strict": 0.3, "soft": 0.6, "best": 0.1}, abs=0.05)
    assert all(job.rewards[0][0] >= (job.work or 0) for job in queue.jobs if job.rewards)


def test_aged_jobs_have_work_and_time_behind_them(monkeypatch: pytest.MonkeyPatch) -> None:
    old = queue_snapshot(2000, seed=4)
    monkeypatch.setattr(deadlines, "AGED", 0.0)
    fresh = queue_snapshot(2000, seed=4)
    assert all(1200 <= (job.work or 0) <= 259_200 for job in fresh.jobs)
    changed = 0
    for a, b in zip(fresh.jobs, old.jobs, strict=True):
        assert (a.gpus, len(a.rewards), a.split_speed) == (b.gpus, len(b.rewards), b.split_speed)
        assert a.work is not None
        assert b.work is not None
        assert b.work <= a.work
        changed += a.work != b.work
        since = {x - y for (x, _), (y, _) in zip(a.rewards, b.rewards, strict=True)}
        assert len(since) <= 1
        assert all(time >= a.work - b.work for time in since)
    assert changed / 2000 == pytest.approx(0.6, abs=0.04)


def by_hand(jobs: list[DeadlineJob], t: Fraction) -> Fraction:
    """F(t) / t, job by job."""
    total = Fraction(0)
    for job in jobs:
        assert job.work is not None
        met = [deadline for deadline, _ in job.rewards if deadline >= job.work]
        if met:
            total += job.gpus * max(Fraction(0), min(t, Fraction(met[0])) - (met[0] - job.work))
    return total / t


@given(deadline_instances(max_jobs=5, max_work=40, latest=60))
def test_the_load_is_the_largest_over_all_times(instance: Instance[DeadlineJob]) -> None:
    jobs = list(instance.jobs)
    most = max(by_hand(jobs, Fraction(t, 2)) for t in range(1, 121))
    assert _forced(jobs) == pytest.approx(float(most), rel=1e-12)


@given(st.integers(0, 50), st.sampled_from(["slo", "mix1", "mix2"]))
def test_every_workload_comes_back_from_a_file(seed: int, family: Any) -> None:
    made = deadline_instance(Instance(NODES, PLAIN.jobs[:30]), family=family, seed=seed)
    assert io.instance_from_dict(io.instance_to_dict(made)) == made


def test_the_testbeds_short_jobs_need_grace_to_be_profiled() -> None:
    """Five minutes of profiling and starts at multiples of ten, each job alone on a cluster."""

    def lost(instance: Instance[DeadlineJob]) -> float:
        top = won = 0.0
        for job in instance.jobs:
            profiled = -(-job.release // 300) * 300 + 300
            start = -(-profiled // 600) * 600
            top, won = top + job.top_reward, won + job.reward(start + (job.work or 0))
        return 1 - won / top

    assert 0.4 < lost(testbed_workload(360, grace=0)) < 0.6
    assert lost(testbed_workload(360)) < 0.1


def test_grace_moves_first_deadlines_later_by_less_than_it_is() -> None:
    tight, loose = testbed_workload(200, grace=0), testbed_workload(200, grace=600)
    moved = [
        b.rewards[0][0] - a.rewards[0][0]
        for a, b in zip(tight.jobs, loose.jobs, strict=True)
        if a.rewards
    ]
    assert min(moved) >= 0
    assert 500 < max(moved) < 600
    assert 250 < sum(moved) / len(moved) < 350
