"""Seeded generators of instances: a paper's printed workload, and two shaped like real traces.

Every generator draws from ``np.random.default_rng([seed, stream])`` in the order that its docstring
states, so that others can rebuild the same instance. Streams: 1 cluster, 2 ring-all-reduce
workload, 3 Philly-like workload, 4 trace conversion (:mod:`gangsched.instances.convert`), 5
Venus-like workload, 6 to 11 deadlines (:mod:`gangsched.instances.deadlines`), 12 to 14 workers
and parameter servers (:mod:`gangsched.instances.revenue`).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .check import at_least, one_of
from .model import Cluster, Instance, Job, RingJob, User, gpus_by_model
from .shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["offered_load", "paper_cluster", "philly_workload", "rar_workload", "venus_workload"]

WEEK = 604_800  # s


def _by_gpus(law: dict[str, Any]) -> dict[str, Any]:
    """A law whose tables by gang size have numbers for keys."""
    tables = ("sizes", "run_times")
    return {**law, **{name: {int(gpus): v for gpus, v in law[name].items()} for name in tables}}


#: what the jobs of two traces are drawn from, with where each number comes from
PHILLY, VENUS = map(_by_gpus, shipped("gangsched.instances.data", "laws").values())

# --- Yu et al. 2022, section 7 -------------------------------------------------------------------

NODE_SIZES = (4, 8, 16, 32)
RAR_MIX = {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2}  # jobs of each gang size, 160 in all
ITERATIONS = (1000, 6000)  # F_j
ITERATION_TIME = (0.01, 0.05)  # tau_j, slots
SERVICE = (50.0, 300.0)  # F_j tau_j, slots

# Parameters of the contention model that the split of tau assumes; the defaults of RarDdls.
BETWEEN, WITHIN, COMPUTE = 1.0, 50.0, 50.0  # b^e, b^i, C
XI1, XI2, ALPHA = 0.5, 1e-4, 0.2
REFERENCE_CONTENTION = 8  # p at which the extra share of the time is reached


def paper_cluster(servers: int = 20, *, seed: int) -> Cluster:
    """Return the cluster of Yu et al. 2022, section 7: node sizes uniform on 4, 8, 16, 32.

    Parameters
    ----------
    servers : int
        Number of nodes; a smaller cluster is a prefix of a larger one with the same seed.
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
    RNG order: one integer in 0..3 a node (stream 1), the index into (4, 8, 16, 32).

    Examples
    --------
    >>> paper_cluster(6, seed=0).nodes == paper_cluster(20, seed=0).nodes[:6]
    True
    """
    at_least("servers", servers, 1)
    rng = stream(seed, 1)
    return Cluster.of_sizes(NODE_SIZES[rng.integers(len(NODE_SIZES))] for _ in range(servers))


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
        node without contention.
    extra : (float, float)
        Range of the extra communication time, as a share of tau, when the job crosses nodes at
        contention p = 8. ``(.05, .10)`` keeps the total extra time (with the overhead of 8 nodes)
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
    one_of("variant", variant, ("A", "B"))
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
    """Return the job whose iteration takes `tau` slots in one node, split as `rar_workload` says.

    >>> ring_job("a", 1, 1000, 0.05, 0.1).base_time
    0.0499
    """
    exchanged = (gpus - 1) / gpus
    k = max(1.0, XI1 * REFERENCE_CONTENTION)
    slowdown = (k + ALPHA * (k - 1)) / BETWEEN - 1 / WITHIN
    gradient = short(extra * tau / (2 * exchanged * slowdown)) if gpus > 1 else 0.0
    inside = 2 * gradient * exchanged / WITHIN + gradient * exchanged / COMPUTE + XI2
    base = short(tau - inside)
    return RingJob(id=id, gpus=gpus, iterations=iterations, gradient=gradient, base_time=base)


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


def philly_workload(
    cluster: Cluster,
    *,
    jobs: int = 1000,
    seed: int = 0,
    per_day: float | None = None,
    load: float | None = None,
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
    per_day : float, optional
        Mean number of jobs per day; by default 1,092, as Philly has on 2,490 GPUs.
    load : float, optional
        Instead of `per_day`: the offered load (:func:`offered_load`). Sizes and run times stay as
        they are, the time between the bursts follows.

    Returns
    -------
    Instance of Job
        Times in seconds since a Monday 0:00; sorted by release. Users ``vc0`` to ``vc8``, of equal
        weight.

    Raises
    ------
    ValueError
        If a number is out of range, or there are both `per_day` and `load`.

    Notes
    -----
    Bursts start as a Poisson process whose rate is the product of a factor by day of the week and
    one by three-hour block. A burst belongs to one user, its size is geometric with mean 1, 5 or
    140, and the times between its jobs are exponential with mean 8 s, cut to whole seconds. Sizes
    are independent, run times independent given the size (log-normal mixtures, rounded up to
    seconds, at most 3,300,000 s). Not modelled: each user's own mix of sizes, and the likeness of
    the jobs of one burst.

    With `load` the axis of time is stretched so that the last burst starts at
    ``sum D p / (M load)``; the offered load then differs by the length of one burst. 250,000 jobs
    on 2,504 GPUs take 52 to 55 days at load 0.8; at 250,000 jobs in 60 days the load is near 0.7.

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
    _check_rates(per_day, load)
    rng = stream(seed, 3)
    bursts = _Bursts.draw(rng, jobs, PHILLY_ARRIVALS)
    sizes, times = shapes("philly", cluster, jobs, rng)
    if load is None:
        release, user = bursts.at_rate(PHILLY["per_day"] if per_day is None else per_day)
    else:
        release, user = bursts.within(float(sizes @ times) / (cluster.gpus * load))
    users = tuple(User(f"vc{i}") for i in range(len(PHILLY["arrivals"]["users"])))
    made = _jobs(sizes, release, times, user)
    return Instance(cluster, made, users, name=f"philly-{jobs}-seed{seed}")


def _run_times(sizes: Ints, uniform: Floats, normal: Floats) -> Ints:
    work = np.zeros(sizes.size)
    laws = np.minimum(sizes, 32)
    laws[(sizes > 16) & (sizes < 32)] = 32
    for size, mixture in PHILLY["run_times"].items():
        own = laws == size
        weight, mu, sigma = np.array(mixture).T
        part = invert(weight, uniform[own])
        work[own] = np.exp(mu[part] + sigma[part] * normal[own])
    shorter: Floats = np.minimum(PHILLY["longest"], work)
    return np.ceil(shorter).astype(np.int64)


def _check_rates(per_day: float | None, load: float | None) -> None:
    for name, value in (("per_day", per_day), ("load", load)):
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"{name}={value} is not a positive number")
    if per_day is not None and load is not None:
        raise ValueError(f"per_day={per_day} and load={load}: each follows from the other")


# --- Venus ---------------------------------------------------------------------------------------


def venus_workload(
    cluster: Cluster | None = None, *, jobs: int = 11_304, days: int = 14, seed: int = 0
) -> Instance[Job]:
    """Return synthetic jobs with the published statistics of SenseTime's Venus trace.

    The trace itself is in no part of the project. What is printed about it by Ye et al. (2022) is
    met; data/laws.toml says which number comes from where, and which is a choice.

    Parameters
    ----------
    cluster : Cluster, optional
        By default Venus: 133 nodes of 8 GPUs, 1,064 in all. Gang sizes that exceed it are left out,
        the shares of the others scaled up.
    jobs : int
        The paper's snapshot has 11,304.
    days : int
        Time from 0 to the last burst of submissions; the paper's snapshot has two weeks.
    seed : int

    Returns
    -------
    Instance of Job
        Times in seconds since a Monday 0:00; sorted by release. Users ``vc0`` to ``vc15``, whose
        weights are the GPUs of the 16 virtual clusters.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    Bursts start as a Poisson process whose rate is the product of a factor by day of the week and
    one by hour, stretched so that the last one starts at the end of `days`. A burst belongs to one
    user, drawn in proportion to the users' GPUs; its size is geometric with mean 1, 8 or 90, and
    the times between its jobs are exponential with mean 15 s, cut to whole seconds. Sizes are
    independent, run times independent given the size (log-uniform between the printed shares,
    rounded up to seconds). A job that needs more GPUs than its user's virtual cluster has goes to
    one that is large enough, again in proportion to their GPUs. Not modelled: the likeness of the
    jobs of one burst, and how a job ends (completed, cancelled, failed).

    The defaults offer a load near 0.95 to 1,064 GPUs (0.80 to 1.07 with seeds 0 to 19) and a third
    more to the 800 GPUs of the paper's simulations; :func:`offered_load` tells what a seed drew.

    RNG order (stream 5): bursts as in :func:`philly_workload`; then, for all jobs in order of
    release, sizes, run times and second users, all uniform.

    References
    ----------
    Z. Ye et al. ASTRAEA: A Fair Deep Learning Scheduler for Multi-Tenant GPU Clusters. IEEE TPDS
    33(11), 2022, sections 3 and 6.1. Q. Hu et al. Characterization and Prediction of Deep Learning
    Workloads in Large-Scale GPU Datacenters. SC 2021; HeliosData: CC-BY-4.0.

    Examples
    --------
    >>> instance = venus_workload()
    >>> len(instance.jobs), len(instance.users), instance.cluster.gpus
    (11304, 16, 1064)
    """
    at_least("jobs", jobs, 0)
    at_least("days", days, 1)
    cluster = Cluster.uniform(nodes=133, gpus_per_node=8) if cluster is None else cluster
    rng = stream(seed, 5)
    release, user = _Bursts.draw(rng, jobs, VENUS_ARRIVALS).within(86_400.0 * days)
    sizes, times = shapes("helios", cluster, jobs, rng)
    user = _large_enough(sizes, user, rng.random(jobs))
    users = tuple(User(f"vc{i}", weight=gpus) for i, gpus in enumerate(VENUS["arrivals"]["users"]))
    made = _jobs(sizes, release, times, user)
    return Instance(cluster, made, users, name=f"venus-{jobs}-seed{seed}")


def _venus_times(sizes: Ints, uniform: Floats) -> Ints:
    logs = np.log(VENUS["times"])
    law = np.searchsorted(list(VENUS["run_times"]), sizes, side="right") - 1
    exact = np.zeros(sizes.size)
    for number, shares in enumerate(VENUS["run_times"].values()):
        own = law == number
        exact[own] = np.exp(np.interp(uniform[own], shares, logs))
    return np.ceil(exact).astype(np.int64)


def _large_enough(sizes: Ints, user: Ints, uniform: Floats) -> Ints:
    """Return the user of each job, another one where the gang exceeds the user's GPUs."""
    gpus = np.array(VENUS["arrivals"]["users"])
    found = user.copy()
    for size in np.unique(sizes):
        own = (sizes == size) & (gpus[user] < size)
        found[own] = invert(np.where(gpus >= size, gpus, 0), uniform[own])
    return found


def shapes(
    mix: Literal["philly", "helios"], cluster: Cluster, jobs: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Return gang sizes and run times of jobs like Philly's or those of Helios' cluster Venus.

    The same laws as those of :func:`philly_workload` and :func:`venus_workload`, without arrivals.

    >>> sizes, times = shapes("philly", Cluster.of_sizes([8]), 100, stream(0, 3))
    >>> bool(sizes.max() <= 8), bool(times.min() >= 1)
    (True, True)
    """
    one_of("mix", mix, ("philly", "helios"))
    if mix == "philly":
        sizes = _sizes(PHILLY["sizes"], cluster, rng.random(jobs))
        return sizes, _run_times(sizes, rng.random(jobs), rng.standard_normal(jobs))
    sizes = _sizes(VENUS["sizes"], cluster, rng.random(jobs))
    return sizes, _venus_times(sizes, rng.random(jobs))


# --- arrivals in bursts --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrivals:
    """The constants of a process of arrivals."""

    bursts: tuple[tuple[float, int], ...]  # (probability, mean size)
    gap: float  # s between two jobs of a burst
    users: tuple[float, ...]  # relative shares of the bursts
    days: tuple[float, ...]  # relative rates, Monday first
    hours: tuple[float, ...]  # relative rates of equal parts of the day

    def profile(self) -> tuple[Floats, Floats]:
        """Return seconds of a week, and the mean days of arrivals offered up to each."""
        rates = np.outer(self.days, self.hours).ravel()
        offered = np.concatenate([np.zeros(1), np.cumsum(rates) / rates.sum()])
        return np.linspace(0.0, WEEK, rates.size + 1), 7 * offered

    def wall_clock(self, day: Floats) -> Floats:
        """Return the seconds by which `day` mean days of arrivals have been offered."""
        seconds, offered = self.profile()
        weeks, rest = np.divmod(day, 7)
        return WEEK * weeks + np.interp(rest, offered, seconds)

    def mean_days(self, time: float) -> float:
        """Return the mean days of arrivals offered by second `time`."""
        seconds, offered = self.profile()
        weeks, rest = divmod(time, WEEK)
        return 7 * weeks + float(np.interp(rest, seconds, offered))


PHILLY_ARRIVALS, VENUS_ARRIVALS = (_Arrivals(**law["arrivals"]) for law in (PHILLY, VENUS))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bursts:
    """Bursts with at least `jobs` jobs, not yet on an axis of time."""

    law: _Arrivals
    jobs: int
    waits: Floats  # times to the bursts, in units of their mean
    sizes: Ints
    users: Ints
    delays: Floats  # s of each job after the start of its burst

    @classmethod
    def draw(cls, rng: np.random.Generator, jobs: int, law: _Arrivals) -> _Bursts:
        kinds, users = _steps(p for p, _ in law.bursts).tolist(), _steps(law.users).tolist()
        rows: list[tuple[float, int, int]] = []
        delays: list[Floats] = [np.zeros(0)]
        count = 0
        while count < jobs:
            wait = rng.exponential()
            size = int(rng.geometric(1 / law.bursts[bisect_right(kinds, rng.random())][1]))
            delays += [np.zeros(1), np.cumsum(rng.exponential(law.gap, size - 1))]
            rows.append((wait, size, bisect_right(users, rng.random())))
            count += size
        waits, sizes, owners = np.array(rows).reshape(-1, 3).T
        return cls(
            law=law, jobs=jobs, waits=waits, sizes=sizes.astype(np.int64),
            users=owners.astype(np.int64), delays=np.concatenate(delays),
        )  # fmt: skip

    def at_rate(self, per_day: float) -> tuple[Ints, Ints]:
        """Return second and user of the first jobs at a mean rate of `per_day` jobs."""
        law = self.law.bursts
        bursts = per_day * sum(p for p, _ in law) / sum(p * m for p, m in law)
        return self._place(np.cumsum(self.waits / bursts))

    def within(self, seconds: float) -> tuple[Ints, Ints]:
        """Return second and user of the first jobs, the last burst starting after `seconds`."""
        marks = np.cumsum(self.waits)
        return self._place(marks * (self.law.mean_days(seconds) / marks[-1:]))

    def _place(self, day: Floats) -> tuple[Ints, Ints]:
        start = np.repeat(self.law.wall_clock(day), self.sizes)
        release = (start + self.delays).astype(np.int64)
        first = np.argsort(release, kind="stable")[: self.jobs]
        return release[first], np.repeat(self.users, self.sizes)[first]


def _sizes(shares: Mapping[int, float], cluster: Cluster, uniform: Floats) -> Ints:
    """Return a gang size for each uniform number, among those that fit the cluster."""
    fitting = {size: share for size, share in shares.items() if size <= cluster.gpus}
    return np.array(list(fitting))[invert(fitting.values(), uniform)]


def _jobs(*columns: Ints) -> tuple[Job, ...]:
    """Jobs of these sizes, releases, run times and users."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(
        Job(id=f"j{i}", gpus=gpus, release=time, work=work, user=f"vc{owner}")
        for i, (gpus, time, work, owner) in enumerate(rows)
    )


def _steps(shares: Iterable[float]) -> Floats:
    """Return the cumulative shares without the last one, which is 1."""
    total = np.cumsum(list(shares))
    return np.asarray(total[:-1] / total[-1])


def invert(shares: Iterable[float], uniform: Floats) -> Ints:
    """Return the number of the share in which each uniform number falls.

    >>> invert([1, 3], np.array([0.2, 0.25, 0.9])).tolist()
    [0, 1, 1]
    """
    return np.searchsorted(_steps(shares), uniform, side="right")


def offered_load(instance: Instance[Any]) -> float:
    """Return the GPU time that jobs need, over what the cluster has until the last release.

    Parameters
    ----------
    instance : Instance
        Its jobs need run times (`work`).

    Returns
    -------
    float
        sum D p / (M T), T the last release: above 1, whoever schedules falls behind. 0 without
        jobs, infinite where all are released at 0. Where jobs have speeds, p is their time at the
        mean speed of the GPUs on which they can run.

    Raises
    ------
    ValueError
        If a job has no run time.

    Examples
    --------
    >>> jobs = [Job(id="a", gpus=2, work=30), Job(id="b", gpus=1, release=10, work=20)]
    >>> offered_load(Instance(Cluster.of_sizes([4]), jobs))
    2.0
    """
    models = gpus_by_model(instance.cluster)
    service: float = 0
    last = 0
    for job in instance.jobs:
        if job.work is None:
            raise ValueError(f"job {job.id!r}: work=None, a load needs run times")
        seconds = job.work / _mean_speed(job, models) if job.speeds else job.work
        service += job.gpus * seconds
        last = max(last, job.release)
    if not last:
        return math.inf if service else 0.0
    return service / (instance.cluster.gpus * last)


def _mean_speed(job: Job, models: Mapping[str, int]) -> float:
    """Over the GPUs of each model that a job can run on."""
    able = {m: n for m, n in models.items() if m in job.speeds and job.pin in ("", m)}
    if not able:
        raise ValueError(f"job {job.id!r}: it has no speed on any GPU model of the cluster")
    return sum(n * job.speeds[m] for m, n in able.items()) / sum(able.values())


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


def _check_extra(extra: Sequence[float]) -> None:
    if len(extra) != 2 or not 0 <= extra[0] <= extra[1] < math.inf:
        raise ValueError(f"extra={extra!r} is not a range (low, high) with 0 <= low <= high")
