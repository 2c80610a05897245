"""Seeded workloads with deadlines, as Gao et al. (2024, section IV-B) make them.

A workload with run times becomes one with deadlines (:func:`deadline_instance`), in the paper's
families: all strict (SLO), strict and best effort (MIX1), strict, soft and best effort (MIX2). The
ones shaped like Helios and Philly are synthetic; no row of a trace is in the project.

Streams of the seed (:mod:`gangsched.instances.generate`): 6 deadlines, 7 samples of a longer
workload, 8 density, 9 hostile gang sizes, 10 queue, 11 grace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import accumulate
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import levels
from .check import at_least, one_of
from .generate import invert, philly_workload, shapes, stream, venus_workload
from .model import Cluster, DeadlineJob, Instance, Iterations, Job, TargetMetric
from .shipped import shipped

Family = Literal["slo", "mix1", "mix2"]
Shares = Mapping[str, float]
Workload = Instance[DeadlineJob]
Keep = Callable[[Job], bool]

_FILE = shipped("gangsched.instances.data", "networks")
#: shares of the kinds of job
FAMILIES: Mapping[str, Shares] = MappingProxyType(_FILE["families"])
SLACK = (1.1, 2.0)  # range of the first deadline over the run time
GRACE = 3600  # s, as Chronus' files have it
LATER = (11, 12, 15)  # the later deadlines, in tenths of the first
VALUES = (100.0, 80.0, 50.0, 20.0)
COSTS = (15, 35)  # s of suspending and resuming
PERFORMANCE = 0.2  # share of jobs that end at a target metric
# Run times that Chronus kept of Philly's: 20 minutes to 72 hours. Two of three jobs are shorter,
# and would miss their deadline during the five minutes of profiling.
SHORTEST, LONGEST = 1_200, 259_200  # s
# Of a queue: the share of its jobs that have run before, and GPUs of a node.
AGED, QUEUE_NODE = 0.6, 8

# --- speed on several nodes ----------------------------------------------------------------------


class NeuralNetwork(NamedTuple):
    """A network: `parameters` in millions and, chosen here, `compute` in s per iteration.

    Parameters
    ----------
    parameters : float
    compute : float
    """

    parameters: float
    compute: float


#: networks by name
MODELS: Mapping[str, NeuralNetwork] = MappingProxyType(
    {name: NeuralNetwork(*row) for name, row in _FILE["networks"].items()}
)
TESTBED_MODELS = ("resnet18", "resnet50", "mobilenet_v2", "vgg19", "bert")
# Million parameters per second between two GPUs, of 4 bytes each: 10 GB/s within a node and 5 GB/s
# between nodes, round numbers for PCIe 3.0 and a network; chosen here.
WITHIN, BETWEEN = 2500.0, 1250.0


def split_speed(model: str, gpus: int) -> float:
    """Return the speed of a gang on several nodes, relative to one node.

    Notes
    -----
    Eq. (2) of Gao et al. (2024), (T_comp + (N - 1) T1) / (T_comp + (N - 1) T2), where T1 and T2 are
    the times to exchange a gradient within a node and between nodes. The table and the two
    bandwidths are this project's, no measurement.

    Examples
    --------
    >>> split_speed("vgg19", 1), split_speed("vgg19", 8), split_speed("mobilenet_v2", 8)
    (1.0, 0.618515, 0.942217)
    """
    one_of("model", model, MODELS)
    at_least("gpus", gpus, 1)
    parameters, compute = MODELS[model]
    one, several = ((gpus - 1) * parameters / rate for rate in (WITHIN, BETWEEN))
    return round((compute + one) / (compute + several), 6)


# --- deadlines, rewards, stopping criteria -------------------------------------------------------


def deadline_instance(
    instance: Instance[Any],
    *,
    family: Family = "mix2",
    seed: int = 0,
    grace: int = 0,
) -> Workload:
    """Return the same jobs with deadlines, stopping criteria, split speeds and preemption costs.

    Notes
    -----
    Deadlines, seconds after the release: the first one U(1.1, 2) times the run time, rounded down,
    and the grace (stream 11), rounded down.
    Of a soft job also 1.1, 1.2 and 1.5 times the first, rounded down, and at least one second after
    the one before; rewards 100, 80, 50, 20.

    Learning curves are synthetic. The epochs that the user allows are 30 to 120. A job saves 0 to
    22 % of them where the target is the best metric, 0 to 31 % where it is 99 % of the best, each
    half of the jobs; Fig. 1 of the paper has these as the largest savings. Its work stays that of
    the epochs that it runs, as in the paper, so the estimate of a scheduler that believes the
    user is too long. The curve is ``b - (b - a) g(x)``, g(x) = exp(-(x/s)^d), 1 / (1 + (x/s)^d) or
    (1 + x/s)^-d at equal odds, a in [0, .3], b in [.6, .95], d in [.7, 1.5], s of 5 to 30 % of the
    allowed epochs, with normal noise of deviation .001 to .005; its value in the last epoch is the
    target, and noise does not lift an earlier epoch to it (all this project's choice).

    Preemption cost: integers 15 to 35 s, this project's choice with the driver's 25 s as the mean.
    The paper tells a suspension within 4 s, a resumption "much larger", and 5 s between 2 and 16
    GPUs. Split speed: :func:`split_speed` of one of the five networks of the paper's testbed; 1 for
    a gang that no node can hold.

    RNG order (stream 6): for all jobs in order kinds, first deadlines, networks, preemption costs,
    stopping criteria (all uniform); then for each job with a target, in order, nine uniform
    numbers (99 %, epochs, saving, family, a, b, d, s, deviation) and a normal one each epoch.

    Examples
    --------
    >>> jobs = [Job(id="a", gpus=2, work=6000)]
    >>> made = deadline_instance(Instance(Cluster.of_sizes([8]), jobs), seed=1)
    >>> [value for _, value in made.jobs[0].rewards]
    [100.0, 80.0, 50.0, 20.0]
    """
    one_of("family", family, FAMILIES)
    at_least("grace", grace, 0)
    _check_jobs(instance)
    rng, largest = stream(seed, 6), max(instance.cluster.sizes)
    terms = _terms(rng, family, PERFORMANCE, len(instance.jobs))
    later = (grace * stream(seed, 11).random(len(instance.jobs))).astype(int).tolist()
    made = tuple(
        DeadlineJob(
            **{part.name: getattr(job, part.name) for part in fields(Job)},
            rewards=_rewards(own.kind, int(own.slack * job.work) + more),
            stopping=target_metric(rng) if own.target else Iterations(),
            split_speed=split_speed(own.model, job.gpus) if job.gpus <= largest else 1.0,
            preemption_cost=own.cost,
        )
        for job, own, more in zip(instance.jobs, terms, later, strict=True)
    )
    return replace(instance, jobs=made, name=f"{instance.name}-{family}-seed{seed}")


class _Terms(NamedTuple):
    """What is drawn for one job."""

    kind: str
    slack: float
    model: str
    cost: int
    target: bool


def _terms(
    rng: np.random.Generator, family: Family, performance: float, count: int
) -> Iterable[_Terms]:
    names, shares = zip(*FAMILIES[family].items(), strict=True)
    kind = [names[i] for i in invert(shares, rng.random(count)).tolist()]
    slack = SLACK[0] + (SLACK[1] - SLACK[0]) * rng.random(count)
    model = _pick(TESTBED_MODELS, rng.random(count))
    cost = COSTS[0] + ((COSTS[1] + 1 - COSTS[0]) * rng.random(count)).astype(np.int64)
    target = rng.random(count) < performance
    columns = kind, slack.tolist(), model, cost.tolist(), target.tolist()
    return map(_Terms, *columns)


def _rewards(kind: str, first: int) -> tuple[tuple[int, float], ...]:
    if kind == "best":
        return ()
    if kind == "strict":
        return ((first, VALUES[0]),)
    later = [first, *(first * tenths // 10 for tenths in LATER)]
    rising = accumulate(later, lambda before, deadline: max(before + 1, deadline))
    return tuple(zip(rising, VALUES, strict=True))


def target_metric(rng: np.random.Generator) -> TargetMetric:
    """Return a learning curve that reaches its target in its last epoch.

    Notes
    -----
    One of those of :func:`deadline_instance`: nine uniform numbers and a normal one each epoch.

    Examples
    --------
    >>> job = target_metric(np.random.default_rng(2))
    >>> job.epochs, job.max_epochs
    (43, 57)
    """
    near, most, saved, family, a, b, d, s, noise = rng.random(9).tolist()
    allowed = 30 + int(91 * most)
    epochs = math.ceil((1 - saved * (0.31 if near < 0.5 else 0.22)) * allowed)
    low, high, power, scale = 0.3 * a, 0.6 + 0.35 * b, 0.7 + 0.8 * d, (0.05 + 0.25 * s) * allowed
    x = np.arange(1, epochs + 1) / scale
    decay = (np.exp(-(x**power)), 1 / (1 + x**power), (1 + x) ** -power)[int(3 * family)]
    exact = high - (high - low) * decay
    target = round(float(exact[-1]), 6)
    metric = exact + (0.001 + 0.004 * noise) * rng.standard_normal(epochs)
    before = np.minimum(metric[:-1], target - 1e-6).round(6).tolist()
    return TargetMetric(target, allowed, [*before, max(target, round(float(metric[-1]), 6))])


# --- workloads -----------------------------------------------------------------------------------


def helios_like_workload(
    cluster: Cluster | None = None,
    *,
    jobs: int = 5000,
    days: int = 14,
    family: Family = "mix2",
    seed: int = 0,
    density: float = 1.0,
) -> Workload:
    """Return a synthetic workload H_SLO, H_MIX1 or H_MIX2, from published statistics of Helios.

    Notes
    -----
    A sample without replacement (in order, stream 7) of the jobs of :func:`venus_workload` that run
    20 minutes to 72 hours, the range that Chronus kept of Philly's; drawn from 4 jobs + 100 jobs of
    that generator, twice as many while too few remain. Helios itself is in no part of the project.

    Examples
    --------
    >>> instance = helios_like_workload(jobs=100, seed=1)
    >>> len(instance.jobs), instance.cluster.gpus, instance.name
    (100, 960, 'helios-like-100-mix2-seed1')
    """
    able = _large(cluster)
    plain = _sampled(
        lambda count: venus_workload(able, jobs=count, days=days, seed=seed),
        _usual, jobs, seed, f"helios-like-{jobs}",
    )  # fmt: skip
    return with_density(deadline_instance(plain, family=family, seed=seed), density, seed=seed)


def philly_like_workload(
    cluster: Cluster | None = None,
    *,
    jobs: int = 30_000,
    days: int = 14,
    family: Family = "mix2",
    seed: int = 0,
    density: float = 1.0,
) -> Workload:
    """Return a synthetic workload P_SLO, P_MIX1 or P_MIX2, shaped like Microsoft's Philly trace.

    Notes
    -----
    As :func:`helios_like_workload`, from :func:`philly_workload`. Chronus' own Philly workloads are
    read by :func:`gangsched.instances.traces.read_chronus`.

    Examples
    --------
    >>> instance = philly_like_workload(jobs=100, family="slo")
    >>> {len(job.rewards) for job in instance.jobs}, instance.name
    ({1}, 'philly-like-100-slo-seed0')
    """
    able = _large(cluster)
    at_least("days", days, 1)
    plain = _sampled(
        lambda count: philly_workload(able, jobs=count, seed=seed, per_day=count / days),
        _usual, jobs, seed, f"philly-like-{jobs}",
    )  # fmt: skip
    return with_density(deadline_instance(plain, family=family, seed=seed), density, seed=seed)


def testbed_workload(
    jobs: int = 360,  # noqa: PT028
    *,
    seed: int = 0,  # noqa: PT028
    grace: int = GRACE,  # noqa: PT028
) -> Workload:
    """Return T[m] of Table III of Gao et al. (2024): m jobs in 8 hours for 64 GPUs.

    Notes
    -----
    The paper samples jobs of Helios with fewer than 16 GPUs, 5 to 180 minutes, submitted before
    eight o'clock. Here they are a sample without replacement (stream 7) of such jobs of
    :func:`venus_workload`, whose arrivals follow Helios' hours of the day; all its days fall on
    one. Drawn from 4 jobs + 100 jobs of that generator, twice as many while too few remain.

    Examples
    --------
    >>> instance = testbed_workload(360)
    >>> len(instance.jobs), instance.cluster.sizes == (4,) * 16, instance.name
    (360, True, 'testbed-360-mix2-seed0')
    """
    cluster = Cluster.uniform(nodes=16, gpus_per_node=4)

    def draw(count: int) -> Instance[Job]:
        raw = venus_workload(cluster, jobs=count, seed=seed)
        day = [replace(job, release=job.release % 86_400) for job in raw.jobs]
        return replace(raw, jobs=day)

    plain = _sampled(draw, _short, jobs, seed, f"testbed-{jobs}")
    return deadline_instance(plain, seed=seed, grace=grace)


testbed_workload.__test__ = False  # type: ignore[attr-defined]  # its name begins with "test"


def _usual(job: Job) -> bool:
    return SHORTEST <= (job.work or 0) <= LONGEST


def _short(job: Job) -> bool:
    return job.gpus < 16 and 300 <= (job.work or 0) <= 10_800 and job.release % 86_400 < 28_800


def _large(cluster: Cluster | None) -> Cluster:
    return Cluster.uniform(nodes=120, gpus_per_node=8) if cluster is None else cluster


def _sampled(
    draw: Callable[[int], Instance[Job]],
    keep: Callable[[Job], bool],
    jobs: int,
    seed: int,
    name: str,
) -> Instance[Job]:
    """A sample of the jobs to keep of the first workload, among ever larger ones, that has enough.

    Jobs are sorted by release and named anew.
    """
    count = 4 * at_least("jobs", jobs, 0) + 100
    while True:
        raw = draw(count)
        kept = tuple(filter(keep, raw.jobs))
        if len(kept) >= jobs:
            break
        count *= 2
    chosen = np.sort(stream(seed, 7).choice(len(kept), jobs, replace=False))
    ordered = sorted((kept[i] for i in chosen), key=lambda job: job.release)
    named = (replace(job, id=f"j{i}") for i, job in enumerate(ordered))
    return replace(raw, jobs=tuple(named), name=name)


# --- changes of a workload -----------------------------------------------------------------------


def with_density(instance: Workload, density: float, *, seed: int = 0) -> Workload:
    """Return the workload with jobs removed or injected.

    Notes
    -----
    The paper removes jobs at random, and leaves open which ones it injects. Here they are copies of
    jobs of the workload, each one once, at the release of another one, with ids ``extra0``, ...

    RNG order (stream 8): a permutation of the jobs, of which the first ones are removed; one of
    which the first ones are copied; one whose first ones give the releases of the copies.

    Examples
    --------
    >>> base = testbed_workload(100)
    >>> [len(with_density(base, density).jobs) for density in (0.8, 1, 1.6)]
    [80, 100, 160]
    """
    if not 0 < density <= 2:
        raise ValueError(f"density={density} is not within (0, 2]")
    if density == 1:
        return instance
    rng, jobs = stream(seed, 8), instance.jobs
    removed, copied, times = (rng.permutation(len(jobs)).tolist() for _ in range(3))
    change = round(density * len(jobs)) - len(jobs)
    gone = set(removed[: max(0, -change)])
    kept = [job for i, job in enumerate(jobs) if i not in gone]
    extra = [
        replace(jobs[copied[k]], id=f"extra{k}", release=jobs[times[k]].release)
        for k in range(change)
    ]
    ordered = sorted([*kept, *extra], key=lambda job: job.release)
    return replace(instance, jobs=tuple(ordered), name=f"{instance.name}-density{density:g}")


def with_hostile(instance: Workload, share: float, *, seed: int = 0) -> Workload:
    """Return the workload with gang sizes changed until a share of them is hostile.

    Consolidation-hostile gangs are those that are neither a power of two within a node nor a
    multiple of a node: 3, 5, 6 and 7 GPUs on nodes of 8, 3 on nodes of 4, and for instance 12.

    Notes
    -----
    The paper changes "the requested GPU amounts of some jobs" and does not say how. Here a gang
    becomes one of the hostile sizes above half of it and below its double, at equal odds (a single
    GPU: 3), gangs of several GPUs first. Run times stay, so the load changes;
    :func:`gangsched.instances.generate.offered_load` tells. The split speed is that of one of the
    five networks of the paper's testbed at the new size.

    RNG order (stream 9): a permutation of the jobs (those of several GPUs are changed first, each
    part in this order); for all jobs sizes and networks (uniform).

    Examples
    --------
    >>> base = philly_like_workload(jobs=100)
    >>> hostile = with_hostile(base, 0.4)
    >>> sum(job.gpus in (3, 5, 6, 7) for job in hostile.jobs)
    40
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share={share} is not within 0 and 1")
    size = _node_size(instance.cluster)
    wanted = [gpus for gpus in range(1, size) if _hostile(gpus, size)]
    rng, jobs = stream(seed, 9), list(instance.jobs)
    order = rng.permutation(len(jobs)).tolist()
    which, model = rng.random(len(jobs)), _pick(TESTBED_MODELS, rng.random(len(jobs)))
    friendly = [i for i in order if not _hostile(jobs[i].gpus, size)]
    able = [i for i in friendly if jobs[i].gpus <= size] if wanted else []
    change = round(share * len(jobs)) - (len(jobs) - len(friendly))
    if not 0 <= change <= len(able):
        least, most = len(jobs) - len(friendly), len(jobs) - len(friendly) + len(able)
        raise ValueError(
            f"share={share} of {len(jobs)} jobs is not within the {least} to {most} "
            "that can be hostile"
        )
    for i in sorted(able, key=lambda i: jobs[i].gpus == 1)[:change]:
        near = [n for n in wanted if jobs[i].gpus < 2 * n < 4 * jobs[i].gpus] or wanted[:1]
        gpus = near[int(which[i] * len(near))]
        jobs[i] = replace(jobs[i], gpus=gpus, split_speed=split_speed(model[i], gpus))
    return replace(instance, jobs=tuple(jobs), name=f"{instance.name}-hostile{share:g}")


def _node_size(cluster: Cluster) -> int:
    sizes = sorted(set(cluster.sizes))
    if len(sizes) > 1:
        listed = ", ".join(map(str, sizes))
        raise ValueError(f"cluster: nodes have {listed} GPUs, hostile gangs need equal nodes")
    return sizes[0]


def _hostile(gpus: int, size: int) -> bool:
    return bool(gpus & (gpus - 1)) if gpus < size else gpus % size != 0


# --- queues --------------------------------------------------------------------------------------


def queue_snapshot(
    jobs: int = 2000,
    *,
    load: float = 1.5,
    mix: Literal["philly", "helios"] = "helios",
    family: Family = "mix2",
    seed: int = 0,
) -> Workload:
    """Return a queue at one moment: what a scheduler selects from in one cycle.

    Notes
    -----
    Deadlines, split speeds and preemption costs are those of :func:`deadline_instance`. Six of ten
    jobs are aged: one has a share U(0, 1) of its work behind it (rounded down), and has waited for
    a share U(0, 1) of its slack, first deadline minus run time (rounded down; a best-effort job: of
    its run time), so that its first deadline can still be met.

    RNG order (stream 10): sizes and run times (:func:`gangsched.instances.generate.shapes`) of 8
    jobs + 100 jobs, of which the first that run 20 minutes to 72 hours are taken, again while there
    are too few; then aged, work done and time waited of all jobs (uniform). Deadlines from
    stream 6. 20,000 jobs take a few seconds.

    Examples
    --------
    >>> queue = queue_snapshot(200, load=1.5, mix="philly")
    >>> len(queue.jobs), queue.cluster.gpus
    (200, 48)
    """
    at_least("jobs", jobs, 1)
    one_of("family", family, FAMILIES)
    if not 0 < load < math.inf:
        raise ValueError(f"load={load} is not a positive number")
    rng = stream(seed, 10)
    sizes, times = _queue_shapes(mix, jobs, rng)
    old = rng.random(jobs) < AGED
    done, waited = (rng.random(jobs) * old for _ in range(2))
    terms = _terms(stream(seed, 6), family, 0.0, jobs)
    columns = sizes.tolist(), times.tolist(), done.tolist(), waited.tolist(), terms
    queue = [_queued(i, *row) for i, row in enumerate(zip(*columns, strict=True))]
    least = -(-int(sizes.max()) // QUEUE_NODE)
    nodes = max(least, math.ceil(_forced(queue) / (load * QUEUE_NODE)))
    cluster = Cluster.uniform(nodes=nodes, gpus_per_node=QUEUE_NODE)
    return Instance(cluster, queue, name=f"queue-{mix}-{jobs}-{family}-load{load:g}-seed{seed}")


def _queue_shapes(
    mix: Literal["philly", "helios"], jobs: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    every = Cluster.uniform(nodes=16, gpus_per_node=8)
    while True:
        sizes, times = shapes(mix, every, 8 * jobs + 100, rng)
        kept = np.flatnonzero((times >= SHORTEST) & (times <= LONGEST))[:jobs]
        if kept.size == jobs:
            return sizes[kept], times[kept]


def _queued(
    number: int, gpus: int, work: int, done: float, waited: float, own: _Terms
) -> DeadlineJob:
    """A job with shares of its work and of its slack behind it."""
    rewards = _rewards(own.kind, int(own.slack * work))
    slack = rewards[0][0] - work if rewards else work
    behind = int(done * work)
    since = behind + int(waited * slack)
    return DeadlineJob(
        id=f"j{number}",
        gpus=gpus,
        work=work - behind,
        rewards=tuple((deadline - since, value) for deadline, value in rewards),
        split_speed=split_speed(own.model, gpus) if gpus <= QUEUE_NODE else 1.0,
        preemption_cost=own.cost,
    )


def _forced(jobs: Iterable[DeadlineJob]) -> float:
    """The most GPUs that work without delay takes of the time before any t: max F(t) / t.

    A job of n GPUs with w seconds left and a deadline D (the first one not before w) adds
    n max(0, min(t, D) - (D - w)) to F, which is linear between the times D - w and D of all jobs:
    the maximum is at one of them, or near 0. O(jobs log jobs).
    """
    rows = [
        (deadline - work, deadline, job.gpus)
        for job in jobs
        for work in [job.work or 1]
        for deadline in [next((d for d, _ in job.rewards if d >= work), 0)]
        if deadline
    ]
    start, end, gpus = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    times, slope = levels(start, end, gpus)
    area = np.concatenate([[0], np.cumsum(slope[:-1] * np.diff(times))])
    later = times > 0
    return max(float(gpus[start == 0].sum()), float((area[later] / times[later]).max(initial=0.0)))


# --- checks --------------------------------------------------------------------------------------


def _pick(names: Sequence[str], uniform: NDArray[np.float64]) -> list[str]:
    return [names[i] for i in (len(names) * uniform).astype(np.int64).tolist()]


def _check_jobs(instance: Instance[Any]) -> None:
    for job in instance.jobs:
        if job.work is None:
            raise ValueError(f"job {job.id!r}: work=None, a deadline needs a run time")
        if job.gpus > instance.cluster.gpus:
            raise ValueError(
                f"job {job.id!r}: gpus={job.gpus} exceeds the cluster's {instance.cluster.gpus}"
            )
