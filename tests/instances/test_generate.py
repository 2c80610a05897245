"""Generated workloads follow the laws that their docstrings print, and nothing but the seed."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Cluster, Instance, Job, RingJob
from gangsched.instances.generate import (
    PHILLY,
    VENUS,
    offered_load,
    paper_cluster,
    philly_workload,
    rar_workload,
    venus_workload,
)
from gangsched.instances.traces import read_philly_csv

BIG = Cluster.uniform(nodes=300, gpus_per_node=8)


def iteration_time(job: RingJob, servers: int, contenders: int) -> float:
    """Eq. (8) with the parameters that the docstring of rar_workload states."""
    w, m = job.gpus, job.gradient
    k = max(1.0, 0.5 * contenders)
    bandwidth = 50.0 if servers == 1 else 1.0 / (k + 0.2 * (k - 1))
    moved = m * (w - 1) / w
    return 2 * moved / bandwidth + moved / 50.0 + 1e-4 * servers + job.base_time


def test_the_split_assumes_the_defaults_of_the_problem() -> None:
    defaults = {f.name: f.default for f in RarDdls.__dataclass_fields__.values()}
    assumed = {
        "bandwidth_between": 1,
        "bandwidth_within": 50,
        "compute_speed": 50,
        "xi1": 0.5,
        "xi2": 1e-4,
        "alpha": 0.2,
    }
    assert {name: defaults[name] for name in assumed} == assumed


# --- the paper's cluster -------------------------------------------------------------------------


def test_server_sizes_are_uniform_on_the_papers_four() -> None:
    counts = Counter(size for seed in range(100) for size in paper_cluster(20, seed=seed).sizes)
    assert set(counts) == {4, 8, 16, 32}
    assert all(abs(count - 500) < 4 * math.sqrt(2000 * 3 / 16) for count in counts.values())


def test_a_small_cluster_is_a_prefix_of_a_large_one() -> None:
    assert paper_cluster(7, seed=3).nodes == paper_cluster(seed=3).nodes[:7]
    assert paper_cluster(seed=3) != paper_cluster(seed=4)


# --- the paper's workload ------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["A", "B"])
@pytest.mark.parametrize("seed", range(3))
def test_iterations_and_times_stay_in_the_papers_ranges(variant: Any, seed: int) -> None:
    instance = rar_workload(paper_cluster(seed=seed), seed=seed, variant=variant)
    low = 0.01 if variant == "A" else 0.97 * 0.05
    for job in instance.jobs:
        tau = iteration_time(job, 1, 0)
        assert 1000 <= job.iterations <= 6000
        assert low - 1e-9 <= tau <= 0.05 + 1e-9
        assert 50 - 1e-5 <= job.iterations * tau <= 300 + 1e-5
        assert (job.release, job.work) == (0, None)


@pytest.mark.parametrize("extra", [(0.05, 0.10), (0.30, 0.60)])
def test_the_extra_share_at_contention_eight_is_as_asked(extra: tuple[float, float]) -> None:
    jobs = rar_workload(paper_cluster(seed=1), seed=1, extra=extra).jobs
    shares = []
    for job in jobs:
        crossing = iteration_time(job, 2, 8) - 1e-4  # without the overhead of the second server
        shares.append(crossing / iteration_time(job, 1, 0) - 1)
        if job.gpus == 1:
            assert (job.gradient, abs(shares.pop()) < 1e-9) == (0, True)
    assert extra[0] - 1e-7 <= min(shares) < max(shares) <= extra[1] + 1e-7
    assert max(shares) - min(shares) > 0.8 * (extra[1] - extra[0])


@pytest.mark.parametrize("variant", ["A", "B"])
def test_contention_and_overhead_take_less_than_15_percent(variant: Any) -> None:
    shares = [
        1 - iteration_time(job, 1, 0) / iteration_time(job, 8, 8)
        for seed in range(10)
        for job in rar_workload(paper_cluster(seed=seed), seed=seed, variant=variant).jobs
        if job.gpus > 1
    ]
    assert max(shares) < 0.15
    assert max(shares) > 0.09  # and the paper's 15 % are nearly used


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        (160, [80, 14, 26, 30, 8, 2]),
        (320, [160, 28, 52, 60, 16, 4]),
        (10, [5, 1, 2, 2, 0, 0]),  # quotas 5, .875, 1.625, 1.875, .5, .125
        (16, [8, 1, 3, 3, 1, 0]),  # quotas 8, 1.4, 2.6, 3, .8, .2
        (40, [20, 4, 7, 7, 2, 0]),  # quotas 20, 3.5, 6.5, 7.5, 2, .5: of four ties, the small
        (2, [1, 0, 0, 1, 0, 0]),  # quotas 1, .175, .325, .375, .1, .025
        (1, [1, 0, 0, 0, 0, 0]),
    ],
)
def test_the_job_mix_is_scaled_by_largest_remainder(jobs: int, expected: list[int]) -> None:
    sizes = Counter(job.gpus for job in rar_workload(BIG, jobs=jobs).jobs)
    assert [sizes[w] for w in (1, 2, 4, 8, 16, 32)] == expected


def test_variant_a_is_uniform_given_its_condition() -> None:
    drawn = [job for seed in range(6) for job in rar_workload(BIG, seed=seed).jobs]
    rng = np.random.default_rng(7)
    f, tau = rng.integers(1000, 6001, 200_000), rng.uniform(0.01, 0.05, 200_000)
    kept = (f * tau >= 50) & (f * tau <= 300)
    for name, sample, law in (
        ("F", [job.iterations for job in drawn], f[kept]),
        ("tau", [iteration_time(job, 1, 0) for job in drawn], tau[kept]),
    ):
        assert distance(sample, law) < 1.95 / math.sqrt(len(drawn)), name


def test_the_seed_decides_everything() -> None:
    cluster = paper_cluster(seed=0)
    assert rar_workload(cluster, seed=5) == rar_workload(cluster, seed=5)
    assert rar_workload(cluster, seed=5) != rar_workload(cluster, seed=6)
    # rebuilt from the printed RNG order
    rng = np.random.default_rng([5, 2])
    order = rng.permutation([1] * 5 + [2] + [4] * 2 + [8] * 2)
    instance = rar_workload(cluster, jobs=10, seed=5, variant="B")
    assert [job.gpus for job in instance.jobs] == list(order)
    tau = 0.05 * rng.uniform(0.97, 1)
    assert iteration_time(instance.jobs[0], 1, 0) == pytest.approx(tau, abs=1e-9)
    low, high = max(1000, math.ceil(50 / tau)), min(6000, math.floor(300 / tau))
    assert instance.jobs[0].iterations == rng.integers(low, high + 1)


# --- the Philly-like workload --------------------------------------------------------------------


@pytest.fixture(scope="module")
def philly() -> Instance[Job]:
    return philly_workload(BIG, jobs=60_000, seed=3)


def distance(one: Any, two: Any) -> float:
    """Return the largest gap between two empirical distribution functions."""
    a, b = np.sort(one), np.sort(two)
    at = np.concatenate([a, b])
    gap = np.searchsorted(a, at, "right") / a.size - np.searchsorted(b, at, "right") / b.size
    return float(np.abs(gap).max())


def normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def test_sizes_follow_the_constants(philly: Instance[Job]) -> None:
    counts = Counter(job.gpus for job in philly.jobs)
    total = sum(PHILLY["sizes"].values())
    for size, share in PHILLY["sizes"].items():
        expected = len(philly.jobs) * share / total
        assert abs(counts[size] - expected) < 4 * math.sqrt(expected) + 1, size


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_run_times_follow_the_constants(philly: Instance[Job], size: int) -> None:
    sample = [job.work for job in philly.jobs if job.gpus == size]
    total = sum(weight for weight, _, _ in PHILLY["run_times"][size])
    for seconds in (20, 60, 600, 3_600, 21_600, 86_400, 518_400):
        law = sum(
            w * normal((math.log(seconds) - mu) / s) for w, mu, s in PHILLY["run_times"][size]
        )
        share = sum(work <= seconds for work in sample if work) / len(sample)
        assert share == pytest.approx(law / total, abs=2 / math.sqrt(len(sample))), seconds


def test_arrivals_follow_the_constants(philly: Instance[Job]) -> None:
    releases = np.array([job.release for job in philly.jobs])
    assert (np.diff(releases) >= 0).all()
    per_day = len(releases) / (releases[-1] / 86_400)
    assert per_day == pytest.approx(1092, rel=0.2)
    hourly = np.bincount(releases // 3600)
    assert 60 < hourly.var() / hourly.mean() < 300  # Poisson: 1; the trace: 164
    gaps = np.diff(releases)
    assert 5 <= np.median(gaps) <= 10  # the trace: 6
    assert 0.02 < (gaps == 0).mean() < 0.15  # the trace: 0.09


def test_the_week_has_its_shape() -> None:
    # few jobs a day: many weeks, so that the profile shows through the bursts
    jobs = philly_workload(BIG, jobs=60_000, seed=1, per_day=100).jobs
    releases = np.array([job.release for job in jobs])
    whole = releases[-1] // 604_800 * 604_800
    blocks = np.bincount(releases[releases < whole] % 604_800 // 10_800, minlength=56).reshape(7, 8)
    for found, wanted in (
        (blocks.sum(1), PHILLY["arrivals"]["days"]),
        (blocks.sum(0), PHILLY["arrivals"]["hours"]),
    ):
        assert np.corrcoef(found, wanted)[0, 1] > 0.9


def test_users_come_with_their_share(philly: Instance[Job]) -> None:
    counts = Counter(job.user for job in philly.jobs)
    mean = sum(p * m for p, m in PHILLY["arrivals"]["bursts"])
    second = sum(p * m * (2 * m - 1) for p, m in PHILLY["arrivals"]["bursts"])  # of geometric sizes
    for i, share in enumerate(PHILLY["arrivals"]["users"]):
        share /= sum(PHILLY["arrivals"]["users"])
        # jobs come in bursts of one user, so the variance is that of a random sum
        variance = len(philly.jobs) * share * second / mean
        assert abs(counts[f"vc{i}"] - share * len(philly.jobs)) < 4 * math.sqrt(variance)


def test_the_rate_scales_and_the_seed_decides() -> None:
    slow, fast = (philly_workload(BIG, jobs=3000, seed=2, per_day=d).jobs for d in (100, 10_000))
    assert slow[-1].release > 20 * fast[-1].release
    assert philly_workload(BIG, jobs=50, seed=2) == philly_workload(BIG, jobs=50, seed=2)
    assert philly_workload(BIG, jobs=50, seed=2) != philly_workload(BIG, jobs=50, seed=4)
    assert philly_workload(BIG, jobs=0).jobs == ()


def test_sizes_beyond_the_cluster_are_left_out() -> None:
    jobs = philly_workload(Cluster.of_sizes([4]), jobs=5000, seed=0).jobs
    assert {job.gpus for job in jobs} == {1, 2, 4}


@pytest.mark.parametrize("load", [0.4, 0.8, 1.5])
def test_the_load_is_the_one_asked_for(load: float) -> None:
    cluster = Cluster.uniform(nodes=40, gpus_per_node=8)
    made = philly_workload(cluster, jobs=5000, seed=6, load=load)
    service = sum(job.gpus * (job.work or 0) for job in made.jobs)
    # the last burst may go on for a while: 140 jobs, 8 s apart
    assert service / (320 * made.jobs[-1].release) == pytest.approx(load, rel=0.02)
    natural = philly_workload(cluster, jobs=5000, seed=6)
    for one, two in zip(made.jobs, natural.jobs, strict=True):
        assert (one.gpus, one.work) == (two.gpus, two.work)


def test_a_load_of_one_keeps_all_gpus_busy_until_the_last_release() -> None:
    jobs = [Job(id="a", gpus=3, work=40), Job(id="b", gpus=2, work=30, release=20)]
    # 120 + 60 GPU seconds; 20 s with 9, 3 and 1 GPUs
    assert [offered_load(Instance(Cluster.of_sizes([m]), jobs)) for m in (9, 3)] == [1.0, 3.0]
    assert offered_load(Instance(Cluster.of_sizes([3]), jobs[:1])) == math.inf
    assert offered_load(Instance(Cluster.of_sizes([3]), [])) == 0
    with pytest.raises(ValueError, match="job 'x': work=None, a load needs run times"):
        offered_load(Instance(Cluster.of_sizes([3]), [Job(id="x", gpus=1)]))


@pytest.mark.slow
def test_generated_jobs_look_like_the_real_ones(philly: Instance[Job], traces: Path) -> None:
    real = read_philly_csv(traces / "philly" / "philly.csv.gz").jobs
    for size, most in ((1, 0.05), (2, 0.06), (4, 0.08), (8, 0.09)):
        one, two = ([j for j in jobs if j.gpus == size] for jobs in (philly.jobs, real))
        assert len(one) / len(philly.jobs) == pytest.approx(len(two) / len(real), abs=0.003)
        assert distance([j.work for j in one], [j.work for j in two]) < most, size


# --- the Venus-like workload ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def venus() -> Instance[Job]:
    """About as many jobs a day as the paper studies, 109,734 in six months."""
    return venus_workload(jobs=58_800, days=98, seed=2)


def columns(instance: Instance[Job]) -> tuple[Any, Any, Any]:
    """Gang sizes, run times and releases."""
    rows = [(job.gpus, job.work, job.release) for job in instance.jobs]
    return tuple(np.array(rows).T)  # type: ignore[return-value]


def test_venus_has_the_printed_run_times(venus: Instance[Job]) -> None:
    """Ye et al., Table 1 and section 3.1."""
    gpus, work, _ = columns(venus)
    printed = {600: 0.673, 3600: 0.833, 21_600: 0.906, 86_400: 0.962, 518_400: 0.996}
    for seconds, share in printed.items():
        assert (work < seconds).mean() == pytest.approx(share, abs=0.006), seconds
    alone = work[gpus == 1]
    assert (alone < 3600).mean() == pytest.approx(0.874, abs=0.007)
    assert (alone > 86_400).mean() == pytest.approx(0.022, abs=0.003)
    assert np.median(work) == pytest.approx(204, rel=0.03)  # summary of HeliosData
    assert work.mean() == pytest.approx(13_041, rel=0.05)
    assert work.min() >= 5


def test_venus_has_the_printed_demand(venus: Instance[Job]) -> None:
    """Ye et al., Figs. 1 and 2, as far as section 3.1 says their numbers."""
    gpus, work, _ = columns(venus)
    for found, printed in (((gpus == 1), 0.525), ((gpus == 8), 0.226), ((gpus > 8), 0.103)):
        assert found.mean() == pytest.approx(printed, abs=0.007)
    assert gpus.mean() == pytest.approx(6.49, abs=0.1)  # HeliosData
    service = gpus * work
    assert service[gpus == 1].sum() / service.sum() == pytest.approx(0.047, abs=0.005)
    assert service[gpus >= 8].sum() / service.sum() == pytest.approx(0.857, abs=0.015)


def test_venus_arrives_in_bursts_and_by_the_clock(venus: Instance[Job]) -> None:
    _, _, releases = columns(venus)
    assert (np.diff(releases) >= 0).all()
    assert releases[-1] == pytest.approx(98 * 86_400, abs=3 * 3600)
    hourly = np.bincount(releases // 3600)
    assert hourly.var() / hourly.mean() == pytest.approx(37, rel=0.2)
    of_week = np.bincount(releases % 604_800 // 3600).reshape(7, 24)
    assert np.corrcoef(of_week.sum(0), VENUS["arrivals"]["hours"])[0, 1] > 0.9
    days = np.corrcoef(of_week.sum(1), VENUS["arrivals"]["days"])
    assert days[0, 1] > 0.7  # bursts blur a profile this flat


def test_no_venus_job_needs_more_than_its_virtual_cluster_has(venus: Instance[Job]) -> None:
    assert [user.weight for user in venus.users] == list(VENUS["arrivals"]["users"])
    assert sum(VENUS["arrivals"]["users"]) == venus.cluster.gpus == 1064
    own = {user.id: user.weight for user in venus.users}
    assert all(job.gpus <= own[job.user] for job in venus.jobs)
    # users of the same size submit alike: shares follow the GPUs but for who takes the wide gangs
    small = Counter(job.user for job in venus.jobs if job.gpus <= 8)
    shares = [small[user.id] / small.total() for user in venus.users]
    assert np.corrcoef(shares, VENUS["arrivals"]["users"])[0, 1] > 0.95


def test_venus_as_the_paper_simulates_it() -> None:
    made = venus_workload()
    assert len(made.jobs) == 11_304
    assert made.jobs[-1].release == pytest.approx(14 * 86_400, abs=3 * 3600)
    assert 0.75 < offered_load(made) < 1.15
    assert {job.user for job in made.jobs} == {user.id for user in made.users}
    assert made == venus_workload()
    assert made.jobs != venus_workload(seed=1).jobs


def test_venus_on_a_small_cluster_has_the_gangs_that_fit() -> None:
    made = venus_workload(Cluster.of_sizes([8, 8]), jobs=4000, days=3, seed=1)
    sizes = Counter(job.gpus for job in made.jobs)
    fitting = {size: share for size, share in VENUS["sizes"].items() if size <= 16}
    for size, share in fitting.items():
        assert sizes[size] / 4000 == pytest.approx(share / sum(fitting.values()), abs=0.03)
    assert sizes.total() == 4000
    assert venus_workload(jobs=0).jobs == ()
