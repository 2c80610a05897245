"""Seeded generators of instances: a paper's printed workload, and one shaped like a real trace.

Every generator draws from ``np.random.default_rng([seed, stream])`` in the order that its docstring
states, so that others can rebuild the same instance. Streams: 1 cluster, 2 ring-all-reduce
workload, 3 Philly-like workload, 4 trace conversion (:mod:`gangsched.instances.convert`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .model import Cluster, Instance, Job, RingJob, User

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["paper_cluster", "philly_workload", "rar_workload"]

# --- Yu et al. 2022, section 7 -------------------------------------------------------------------

SERVER_SIZES = (4, 8, 16, 32)
RAR_MIX = {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2}  # jobs of each gang size, 160 in all
ITERATIONS = (1000, 6000)  # F_j
ITERATION_TIME = (0.01, 0.05)  # tau_j, slots
SERVICE = (50.0, 300.0)  # F_j tau_j, slots

# Parameters of the contention model that the split of tau assumes; the defaults of RarDdls.
BETWEEN, WITHIN, COMPUTE = 1.0, 50.0, 50.0  # b^e, b^i, C
XI1, XI2, ALPHA = 0.5, 1e-4, 0.2
REFERENCE_CONTENTION = 8  # p at which the extra share of the time is reached


def paper_cluster(servers: int = 20, *, seed: int) -> Cluster:
    """Return the cluster of Yu et al. 2022, section 7: server sizes uniform on 4, 8, 16, 32.

    Parameters
    ----------
    servers : int
        Number of servers; a smaller cluster is a prefix of a larger one with the same seed.
    seed : int

    Returns
    -------
    Cluster

    Raises
    ------
    ValueError
        If `servers` is below 1 or `seed` below 0.

    Notes
    -----
    RNG order: one integer in 0..3 a server (stream 1), the index into (4, 8, 16, 32).

    Examples
    --------
    >>> paper_cluster(6, seed=0).nodes == paper_cluster(20, seed=0).nodes[:6]
    True
    """
    at_least("servers", servers, 1)
    rng = stream(seed, 1)
    return Cluster.of_sizes(SERVER_SIZES[rng.integers(len(SERVER_SIZES))] for _ in range(servers))


def rar_workload(
    cluster: Cluster,
    *,
    jobs: int = 160,
    seed: int = 0,
    variant: Literal["A", "B"] = "A",
    extra: tuple[float, float] = (0.05, 0.10),
) -> Instance[RingJob]:
    """Return the workload of Yu et al. 2022, section 7, on `cluster`.

    The paper gives the ranges of F_j, tau_j and of their product, which do not fit each other
    ([1000, 6000] times [.01, .05] is [10, 300], not [50, 300]); the two variants are the two ways
    to read them. It gives no gradient sizes; they follow from its remark that contention and
    overhead stay within 15 % of the time of a job.

    Parameters
    ----------
    cluster : Cluster
        Every gang size that is drawn must fit.
    jobs : int
        Number of jobs; 160 gives the paper's mix of 80, 14, 26, 30, 8, 2 jobs of 1, 2, 4, 8, 16, 32
        GPUs, other numbers that mix scaled by largest remainder (ties: the smaller gang first).
    seed : int
    variant : {"A", "B"}
        A: F uniform on the integers 1000..6000 and tau uniform on [.01, .05], both drawn again
        until 50 <= F tau <= 300. B: tau uniform on [.0485, .05], then F uniform on the integers of
        1000..6000 with 50 <= F tau <= 300. tau is the time in slots of one iteration inside one
        server without contention.
    extra : (float, float)
        Range of the extra communication time, as a share of tau, when the job crosses servers at
        contention p = 8. ``(.05, .10)`` keeps the total extra time (with the overhead of 8 servers)
        under 15 % of the total, as the paper asks; ``(.30, .60)`` makes contention heavy.

    Returns
    -------
    Instance of RingJob
        Times in slots, all jobs released at 0, in arrival order.

    Raises
    ------
    ValueError
        If a number is out of range or a gang exceeds the cluster.

    Notes
    -----
    With w = G_j, f = k + alpha (k - 1), k = max(1, xi1 p) and b^e = 1, b^i = C = 50, alpha = .2,
    xi1 = .5, xi2 = .0001, the split of tau with an extra share x is ::

        m_j = x tau / (2 (w - 1)/w (f(p = 8)/b^e - 1/b^i))
        D_j = tau - 2 m_j (w - 1)/w / b^i - m_j (w - 1)/(w C) - xi2

    and m_j = 0 for w = 1. tau, m_j and D_j are rounded to 12 significant digits, in this order.

    RNG order (stream 2): one permutation of the gang sizes sorted ascending; then for every job in
    arrival order F and tau (A: integer, uniform, repeated until accepted; B: uniform, integer) and
    x uniform on `extra` (drawn for one-GPU jobs too).

    References
    ----------
    M. Yu, B. Ji, H. Rajan, J. Liu. On Scheduling Ring-All-Reduce Learning Jobs in Multi-Tenant GPU
    Clusters with Communication Contention. MobiHoc 2022, section 7.

    Examples
    --------
    >>> instance = rar_workload(paper_cluster(seed=0))
    >>> [sum(job.gpus == w for job in instance.jobs) for w in (1, 2, 4, 8, 16, 32)]
    [80, 14, 26, 30, 8, 2]
    """
    _check_extra(extra)
    if variant not in ("A", "B"):
        raise ValueError(f"variant={variant!r} is not one of 'A', 'B'")
    at_least("jobs", jobs, 1)
    sizes = [w for w, count in _largest_remainder(RAR_MIX, jobs).items() for _ in range(count)]
    if sizes[-1] > cluster.gpus:
        raise ValueError(f"jobs={jobs}: gpus={sizes[-1]} exceeds the cluster's {cluster.gpus}")
    rng = stream(seed, 2)
    draw = _draw_a if variant == "A" else _draw_b
    made = []
    for number, gpus in enumerate(rng.permutation(sizes)):
        iterations, tau = draw(rng)
        share = float(rng.uniform(*extra))
        made.append(ring_job(f"j{number}", int(gpus), iterations, tau, share))
    return Instance(cluster, tuple(made), name=f"rar-{variant}-{jobs}-seed{seed}")


def ring_job(id: str, gpus: int, iterations: int, tau: float, extra: float) -> RingJob:
    """Return the job whose iteration takes `tau` slots in one server, split as `rar_workload` says.

    >>> ring_job("a", 1, 1000, 0.05, 0.1).base_time
    0.0499
    """
    exchanged = (gpus - 1) / gpus
    k = max(1.0, XI1 * REFERENCE_CONTENTION)
    slowdown = (k + ALPHA * (k - 1)) / BETWEEN - 1 / WITHIN
    gradient = short(extra * tau / (2 * exchanged * slowdown)) if gpus > 1 else 0.0
    inside = 2 * gradient * exchanged / WITHIN + gradient * exchanged / COMPUTE + XI2
    return RingJob(
        id=id,
        gpus=gpus,
        iterations=iterations,
        gradient=gradient,
        base_time=short(tau - inside),
    )


def _draw_a(rng: np.random.Generator) -> tuple[int, float]:
    while True:
        iterations = int(rng.integers(ITERATIONS[0], ITERATIONS[1] + 1))
        tau = short(rng.uniform(*ITERATION_TIME))
        if SERVICE[0] <= iterations * tau <= SERVICE[1]:
            return iterations, tau


def _draw_b(rng: np.random.Generator) -> tuple[int, float]:
    tau = short(ITERATION_TIME[1] * rng.uniform(0.97, 1.0))
    low, high = iteration_range(SERVICE[0], tau)[0], iteration_range(SERVICE[1], tau)[1]
    return int(rng.integers(low, high + 1)), tau


def iteration_range(service: float, tau: float) -> tuple[int, int]:
    """Return the smallest F with F tau >= `service` and the largest with F tau <= `service`.

    Both are clipped to 1000..6000.

    >>> iteration_range(50.0, 0.02)
    (2500, 2500)
    """
    low, high = ITERATIONS
    exact = service / tau
    return max(low, math.ceil(exact)), min(high, math.floor(exact))


def _largest_remainder(mix: Mapping[int, int], jobs: int) -> dict[int, int]:
    total = sum(mix.values())
    counts = {size: jobs * part // total for size, part in mix.items()}
    order = sorted(mix, key=lambda size: (-(jobs * mix[size] % total), size))
    for size in order[: jobs - sum(counts.values())]:
        counts[size] += 1
    return counts


# --- Philly --------------------------------------------------------------------------------------

# Fitted by this project to the jobs of Microsoft's Philly trace that passed (Jeon et al., ATC 2019;
# data CC-BY-4.0): 69,089 jobs, September to December 2017. Shares need not sum to 1 exactly.
PHILLY_SIZES = {
    1: 0.9436, 2: 0.0223, 4: 0.0167, 8: 0.0143, 16: 0.0021, 24: 4e-5, 32: 8e-4, 64: 9e-5, 128: 4e-5,
}  # fmt: skip
# Run time, ln s, by gang size (24 and more share a law): log-normal mixtures, (weight, mu, sigma).
PHILLY_RUN_TIMES = {
    1: ((0.197, 4.169, 0.190), (0.473, 7.312, 2.059), (0.330, 7.642, 0.633)),
    2: ((0.642, 2.905, 0.355), (0.168, 3.790, 1.444), (0.190, 11.472, 1.212)),
    4: ((0.173, 4.696, 0.606), (0.447, 8.733, 2.413), (0.380, 11.415, 1.018)),
    8: ((0.381, 7.599, 2.340), (0.121, 10.111, 0.507), (0.498, 12.136, 0.713)),
    16: ((0.393, 6.066, 2.129), (0.607, 11.774, 1.125)),
    32: ((0.305, 6.600, 3.853), (0.357, 7.277, 0.582), (0.338, 10.892, 0.150)),
}
PHILLY_LONGEST = 3_300_000  # s; the longest of the 69,089 took 3,256,045
PHILLY_USERS = (0.499, 0.191, 0.131, 0.107, 0.021, 0.018, 0.016, 0.013, 0.005)  # by virtual cluster
PHILLY_DAYS = (0.79, 1.10, 1.16, 1.27, 1.47, 0.69, 0.54)  # relative rate, Monday first
PHILLY_HOURS = (1.22, 0.95, 1.68, 0.79, 0.57, 0.75, 0.90, 1.13)  # blocks of three hours from 0:00
PHILLY_BURSTS = ((0.830, 1), (0.154, 5), (0.016, 140))  # (probability, mean size), geometric
PHILLY_GAP = 8.0  # s, mean time between two jobs of a burst
PHILLY_PER_DAY = 1092.0  # jobs


def philly_workload(
    cluster: Cluster, *, jobs: int = 1000, seed: int = 0, per_day: float = PHILLY_PER_DAY
) -> Instance[Job]:
    """Return jobs whose sizes, run times and releases look like those of Microsoft's Philly trace.

    Nothing of the trace is in the project, only constants that were fitted to it. They describe
    jobs that passed; killed and failed ones (about 30 %) run longer and use more GPUs.

    Parameters
    ----------
    cluster : Cluster
        Gang sizes that exceed it are left out, the shares of the others scaled up.
    jobs : int
    seed : int
    per_day : float
        Mean number of jobs per day; Philly has 1,092 on 2,490 GPUs.

    Returns
    -------
    Instance of Job
        Times in seconds since a Monday 0:00; sorted by release. Users ``vc0`` to ``vc8``.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    Bursts start as a Poisson process whose rate is the product of a factor by day of the week and
    one by three-hour block. A burst belongs to one user, its size is geometric with mean 1, 5 or
    140, and the times between its jobs are exponential with mean 8 s, cut to whole seconds. Sizes
    are independent, run times independent given the size (log-normal mixtures, rounded up to
    seconds, at most 3,300,000 s). Not modelled: each user's own mix of sizes, and the likeness of
    the jobs of one burst.

    Distance to the trace: largest gap of the run-time distributions 0.03 to 0.05 by size (0.08 from
    24 GPUs on, where there are 68 jobs); variance over mean of the hourly counts about 130, against
    164 in the trace and 1 for Poisson arrivals at an even rate.

    RNG order (stream 3): for every burst until there are enough jobs the time to it
    (exponential(1), in units of the mean time between bursts), its class (uniform), size
    (geometric), gaps (exponential, size - 1 of them) and user (uniform); then, for all jobs in
    order of release, sizes (uniform), mixture components (uniform) and normal deviates. Discrete
    laws are inverted from their cumulative shares.

    References
    ----------
    M. Jeon et al. Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads.
    USENIX ATC 2019. Data: CC-BY-4.0.

    Examples
    --------
    >>> instance = philly_workload(Cluster.uniform(nodes=8, gpus_per_node=8), jobs=5, seed=0)
    >>> len(instance.jobs), len(instance.users)
    (5, 9)
    """
    at_least("jobs", jobs, 0)
    if not 0 < per_day < math.inf:
        raise ValueError(f"per_day={per_day} is not a positive number")
    rng = stream(seed, 3)
    arrivals = _bursts(rng, jobs, per_day)
    sizes = {size: share for size, share in PHILLY_SIZES.items() if size <= cluster.gpus}
    drawn = [list(sizes)[i] for i in _invert(sizes.values(), rng.random(jobs))]
    times = _run_times(drawn, rng.random(jobs), rng.standard_normal(jobs))
    made = tuple(
        Job(id=f"j{i}", gpus=gpus, release=release, work=work, user=f"vc{user}")
        for i, ((release, user), gpus, work) in enumerate(zip(arrivals, drawn, times, strict=True))
    )
    users = tuple(User(f"vc{i}") for i in range(len(PHILLY_USERS)))
    return Instance(cluster, made, users, name=f"philly-{jobs}-seed{seed}")


def _bursts(rng: np.random.Generator, jobs: int, per_day: float) -> list[tuple[int, int]]:
    """Return (second, user) of the first `jobs` arrivals, sorted by time."""
    bursts_per_day = (
        per_day * sum(p for p, _ in PHILLY_BURSTS) / sum(p * m for p, m in PHILLY_BURSTS)
    )
    rows: list[tuple[int, int]] = []
    day = 0.0  # operational time: days at the mean rate
    while len(rows) < jobs:
        day += rng.exponential() / bursts_per_day
        kind = _invert([p for p, _ in PHILLY_BURSTS], rng.random())
        size = int(rng.geometric(1 / PHILLY_BURSTS[int(kind)][1]))
        later = np.cumsum(rng.exponential(PHILLY_GAP, size - 1))
        user = int(_invert(PHILLY_USERS, rng.random()))
        start = _wall_clock(day)
        rows += [(int(start + delay), user) for delay in (0.0, *later)]
    return sorted(rows, key=lambda row: row[0])[:jobs]


def _wall_clock(day: float) -> float:
    """Return the second by which the weekly profile has offered `day` mean days of arrivals."""
    rates = np.outer(PHILLY_DAYS, PHILLY_HOURS).ravel()
    offered = 7 * np.concatenate([[0.0], np.cumsum(rates) / rates.sum()])
    weeks, rest = divmod(day, 7)
    return 604_800 * weeks + float(np.interp(rest, offered, np.arange(57) * 10_800.0))


def _run_times(
    sizes: Sequence[int], uniform: NDArray[np.float64], normal: NDArray[np.float64]
) -> list[int]:
    work = []
    for size, u, z in zip(sizes, uniform, normal, strict=True):
        mixture = PHILLY_RUN_TIMES[size if size <= 16 else 32]
        _, mu, sigma = mixture[int(_invert([part[0] for part in mixture], u))]
        work.append(math.ceil(min(PHILLY_LONGEST, math.exp(mu + sigma * z))))
    return work


def _invert(shares: Iterable[float], uniform: Any) -> Any:
    """Return the number of the share in which each uniform number falls."""
    total = np.cumsum(list(shares))
    return np.searchsorted(total[:-1] / total[-1], uniform, side="right")


# --- shared --------------------------------------------------------------------------------------


def stream(seed: int, number: int) -> np.random.Generator:
    """Return the generator of one stream of a seed.

    >>> stream(0, 1).random() == stream(0, 2).random()
    False
    """
    at_least("seed", seed, 0)
    return np.random.default_rng([seed, number])


def short(value: float) -> float:
    """Round to 12 significant digits: files stay short, sums stay exact enough.

    >>> short(0.1 + 0.2)
    0.3
    """
    return float(f"{value:.12g}")


def at_least(name: str, value: int, least: int) -> None:
    """Refuse a parameter that is no integer or is below `least`.

    >>> at_least("jobs", 0, 1)
    Traceback (most recent call last):
        ...
    ValueError: jobs=0 is below 1
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}={value!r} is not an integer")
    if value < least:
        raise ValueError(f"{name}={value} is below {least}")


def _check_extra(extra: Sequence[float]) -> None:
    if len(extra) != 2 or not 0 <= extra[0] <= extra[1] < math.inf:
        raise ValueError(f"extra={extra!r} is not a range (low, high) with 0 <= low <= high")
