"""GPU models of different speed: measured speed-ups, Chaudhary et al.'s workloads, random markets.

Source: S. Chaudhary, R. Ramjee, M. Sivathanu, N. Kwatra, S. Viswanatha. Balancing Efficiency and
Fairness in Heterogeneous GPU Clusters for Deep Learning. EuroSys 2020 (Gandiva_fair).

Speeds are relative to a K80, `work` is seconds of service on K80s. GPU models are listed from slow
to fast. Generators draw from ``np.random.default_rng([seed, stream])``; streams: 15 random markets,
16 arrivals of section 5.3, 17 speeds of users (with a checksum of the user's id as third number).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats
from .check import at_least
from .generate import short, stream
from .model import Cluster, Instance, Job, Node, User, gpus_by_model
from .shipped import shipped

J = TypeVar("J", bound=Job)

#: GPU models of Table 1, slow to fast
MODELS = ("k80", "p40", "p100", "v100")
#: Table 1: speed of each family of training jobs on each GPU model, and milliseconds of a
#: mini-batch on a K80
TABLE1: Mapping[str, Mapping[str, float]]
MINIBATCH: Mapping[str, float]
TABLE1, MINIBATCH = shipped("gangsched.instances.data", "speeds").values()
#: GPUs of each model of the markets that :func:`random_market` draws
MARKET_GPUS: Mapping[str, int] = {"k80": 128, "p40": 48, "p100": 48, "v100": 24}
MARKET_TICKETS = (1, 2, 4)
MARKET_NOISE = 0.03  # standard deviation of the logarithm of a speed
HOUR = 3600


# --- clusters -------------------------------------------------------------------------------------


def mixed_cluster(parts: Iterable[tuple[str, int, int]]) -> Cluster:
    """Return a cluster with nodes of several GPU models, named ``n0``, ``n1``, ...

    Examples
    --------
    The paper's cluster (section 5) has 50 nodes:

    >>> cluster = mixed_cluster([("v100", 6, 4), ("p100", 12, 4), ("k80", 32, 4)])
    >>> len(cluster.nodes), cluster.gpus, cluster.nodes[6]
    (50, 200, Node(id='n6', gpus=4, model='p100', ps=0))
    """
    models: list[tuple[str, int]] = []
    for model, nodes, gpus in parts:
        at_least(f"nodes of model {model!r}", nodes, 1)
        models += [(model, gpus)] * nodes
    return Cluster([Node(f"n{i}", gpus, model) for i, (model, gpus) in enumerate(models)])


# --- speeds ---------------------------------------------------------------------------------------


def with_speeds(
    instance: Instance[J],
    table: Mapping[str, Mapping[str, float]] = TABLE1,
    *,
    seed: int = 0,
) -> Instance[J]:
    """Return an instance whose jobs have the speeds of a table, drawn by user.

    Notes
    -----
    A draw depends on the seed and on the user only, not on who else is there: a window of a trace
    has the same users' families as the whole.

    Examples
    --------
    >>> cluster = mixed_cluster([("v100", 1, 4), ("k80", 1, 4)])
    >>> jobs = [Job(id=i, gpus=1, work=9, user=i[0]) for i in ("a1", "a2", "b1")]
    >>> [dict(job.speeds) for job in with_speeds(Instance(cluster, jobs), seed=0).jobs]
    [{'v100': 4.81, 'k80': 1.0}, {'v100': 4.81, 'k80': 1.0}, {'v100': 1.87, 'k80': 1.0}]
    """
    models = list(gpus_by_model(instance.cluster))
    for family, speeds in table.items():
        for model in models:
            if model not in speeds:
                known = ", ".join(speeds)
                raise ValueError(
                    f"cluster: model={model!r} of its nodes has no speed for {family!r}, "
                    f"the table's models are {known}"
                )
    speeds_of = {family: {m: speeds[m] for m in models} for family, speeds in table.items()}
    users = {job.user for job in instance.jobs}
    drawn = {user: speeds_of[family_of(user, table, seed=seed)] for user in users}
    jobs = [replace(job, speeds=drawn[job.user]) for job in instance.jobs]
    return replace(instance, jobs=jobs)


def family_of(user: str, table: Mapping[str, Any] = TABLE1, *, seed: int = 0) -> str:
    """Return the family of jobs that a user draws in :func:`with_speeds`.

    Examples
    --------
    >>> family_of("a", seed=0), family_of("b", seed=0)
    ('lstm', 'super-resolution')
    """
    if not table:
        raise ValueError("table: it has no families to draw from")
    at_least("seed", seed, 0)
    rng = np.random.default_rng([seed, 17, zlib.crc32(user.encode())])
    return list(table)[int(rng.integers(len(table)))]


# --- markets --------------------------------------------------------------------------------------


class MarketArrays(NamedTuple):
    """What users trade GPUs for: a market as arrays, GPU models from slow to fast.

    Parameters
    ----------
    users, models : tuple of str
    speeds : (users, models) float array
    tickets : (users,) float array
    gpus : (models,) int array

    Examples
    --------
    >>> table3_market().gpus.tolist()
    [60, 12]
    """

    users: tuple[str, ...]
    models: tuple[str, ...]
    speeds: Floats
    tickets: Floats
    gpus: NDArray[np.int64]


def table3_market() -> MarketArrays:
    """Return the market of Table 3: three users with equal tickets, 60 K80s and 12 V100s.

    Notes
    -----
    The table's speeds are not those of Table 1: user B's jobs are called DCGAN, which are
    6.42 times as fast on a V100 there, or ResNet (5.14), and get 5.0; ResNext gets 6.25 for 6.33.

    Examples
    --------
    >>> table3_market().speeds.tolist()
    [[1.0, 1.25], [1.0, 5.0], [1.0, 6.25]]
    """
    speeds = np.array([[1.0, 1.25], [1.0, 5.0], [1.0, 6.25]])
    return MarketArrays(
        ("A", "B", "C"), ("k80", "v100"), speeds, np.ones(3), np.array([60, 12], dtype=np.int64)
    )


def random_market(
    users: int = 10, *, models: Sequence[str] = MODELS, seed: int = 0
) -> MarketArrays:
    """Return a random market of users with the families of Table 1.

    Notes
    -----
    RNG order (stream 15): families (integers), tickets (integers), then for all users and the three
    models above the K80, whichever are asked for, standard normals z; a speed is that of the table
    times exp(0.03 z), rounded to 12 digits. Sizes, tickets and noise are ours: the paper has no
    random markets.

    Examples
    --------
    >>> market = random_market(3, models=("k80", "v100"), seed=0)
    >>> market.speeds.round(3).tolist(), market.tickets.tolist(), market.gpus.tolist()
    ([[1.0, 4.973], [1.0, 4.709], [1.0, 6.518]], [1.0, 2.0, 4.0], [128, 24])
    """
    at_least("users", users, 1)
    columns = [MODELS.index(model) for model in models if model in MODELS]
    if columns != sorted(set(columns)) or len(columns) < len(models) or columns[:1] != [0]:
        raise ValueError(
            f"models={tuple(models)!r} are not k80 and others of {MODELS}, each once, in this order"
        )
    rng = stream(seed, 15)
    table = np.array([[speeds[model] for model in MODELS] for speeds in TABLE1.values()])
    speeds = table[rng.integers(len(table), size=users)]
    tickets = np.array(MARKET_TICKETS, dtype=np.float64)[rng.integers(3, size=users)]
    noise = np.exp(MARKET_NOISE * rng.standard_normal((users, 3)))
    speeds[:, 1:] = [[short(speed) for speed in row] for row in (speeds[:, 1:] * noise).tolist()]
    gpus = np.array([MARKET_GPUS[model] for model in models], dtype=np.int64)
    names = tuple(f"u{i}" for i in range(users))
    return MarketArrays(names, tuple(models), speeds[:, columns], tickets, gpus)


# --- the paper's examples -------------------------------------------------------------------------


def time_sharing(work: int = 3600) -> Instance[Job]:
    """Return the example of Fig. 1: on two nodes of 4 GPUs, a fifth 2-GPU job arrives.

    Examples
    --------
    >>> [(job.id, job.release) for job in time_sharing().jobs]
    [('A1', 0), ('A2', 0), ('B1', 0), ('B2', 0), ('C1', 60)]
    """
    jobs = [
        Job(id=f"{user}{k}", user=user, gpus=2, work=work, release=release, group=user)
        for user, count, release in (("A", 2, 0), ("B", 2, 0), ("C", 1, 60))
        for k in range(1, count + 1)
    ]
    cluster = Cluster.uniform(nodes=2, gpus_per_node=4)
    return Instance(cluster, jobs, [User(u) for u in "ABC"], name="time-sharing")


def gang_mix(work: int = 3600) -> Instance[Job]:
    """Return the example of Fig. 2: jobs of 1, 2, 4 and 8 GPUs of six users on two nodes.

    Notes
    -----
    The text does not say what E and F have on the second node: two jobs each here, of 1 and of 2
    GPUs.

    Examples
    --------
    >>> [job.gpus for job in gang_mix().jobs]
    [1, 1, 2, 2, 4, 4, 8, 1, 1, 2, 2]
    """
    jobs = [
        Job(id=f"{user}{k}", user=user, gpus=gpus, work=work, group=user)
        for user, gpus, count in (
            ("A", 1, 2), ("B", 2, 2), ("C", 4, 2), ("D", 8, 1), ("E", 1, 2), ("F", 2, 2)
        )
        for k in range(1, count + 1)
    ]  # fmt: skip
    cluster = Cluster.uniform(nodes=2, gpus_per_node=4)
    return Instance(cluster, jobs, [User(u) for u in "ABCDEF"], name="gang-mix")


# --- the paper's workloads ------------------------------------------------------------------------


class _Group(NamedTuple):
    """Equal jobs of one user, and when they are to end."""

    family: str
    gpus: int
    until: float  # hours
    release: Sequence[int]  # of each job
    tickets: int


def one_server() -> Instance[Job]:
    """Return the workload of section 5.1: three users on one node of 4 V100s.

    Notes
    -----
    See :func:`trading_groups` for how run lengths are chosen, where the paper has none.

    Examples
    --------
    >>> jobs = one_server().jobs
    >>> [(job.user, job.gpus, job.work) for job in jobs[::4]]
    [('User1', 1, 6000), ('User2', 2, 38520), ('User3', 4, 6168)]
    """
    groups = [("vae", 1, 4, 4), ("dcgan", 2, 6, 4), ("resnet-50", 4, 4, 4)]
    return _lasting("one-server", [("v100", 1, 4)], _waiting(groups))


def large_and_small_jobs() -> Instance[Job]:
    """Return the workload of section 5.2: a gang that spans both nodes of 4 P100s.

    Examples
    --------
    >>> [(job.user, job.gpus, job.work) for job in large_and_small_jobs().jobs[:2]]
    [('User1', 8, 6012), ('User2', 2, 30060)]
    """
    groups = [("resnet-50", 8, 1.5, 1), ("resnet-50", 2, 3, 2), ("vae", 1, 3, 4)]
    return _lasting("large-and-small-jobs", [("p100", 2, 4)], _waiting(groups))


def single_job_users(*, seed: int = 0) -> Instance[Job]:
    """Return the first workload of section 5.3: 70 users with a job each on 48 P100s.

    Notes
    -----
    RNG order (stream 16): whole seconds of the arrivals, by size of the job. Which 1-GPU jobs are
    VAE is our choice.

    Examples
    --------
    >>> instance = single_job_users()
    >>> len(instance.jobs), sum(job.gpus for job in instance.jobs), instance.cluster.gpus
    (70, 96, 48)
    """
    sizes = [1] * 62 + [2] * 3 + [4] * 3 + [8] * 2
    arrivals = stream(seed, 16).integers(HOUR // 2, size=len(sizes)).tolist()
    small = ("vae", "super-resolution")
    groups = []
    for i, (gpus, release) in enumerate(zip(sizes, arrivals, strict=True)):
        family = small[i % 2] if gpus == 1 else "resnet-50"
        groups.append(_Group(family, gpus, 3 if gpus == 8 else 6, [release], tickets=gpus))
    return _lasting(f"single-job-users-seed{seed}", [("p100", 12, 4)], groups)


def group_sharing() -> Instance[Job]:
    """Return the second workload of section 5.3: three groups with 128 jobs each on 64 K80s.

    Examples
    --------
    >>> [(job.user, job.gpus, job.work) for job in group_sharing().jobs[::128]]
    [('User1', 1, 3300), ('User2', 4, 1725), ('User3', 2, 300)]
    """
    groups = [("super-resolution", 1, 4, 128), ("resnet-50", 4, 6, 128), ("dcgan", 2, 1, 128)]
    return _lasting("group-sharing", [("k80", 16, 4)], _waiting(groups))


def trading_groups() -> Instance[Job]:
    """Return the workload of sections 5.4 and 5.5: four groups on three GPU models.

    Notes
    -----
    The paper has no run lengths. Here, and in the workloads of the sections before, all jobs of a
    user have the length with which the user ends when it is said to, if GPUs are shared as a fluid:
    at every instant each user has its share (by tickets, what users cannot use goes to the others,
    the same part of each GPU model), divided among its jobs by their GPUs. Lengths are rounded to
    seconds. In a run that trades GPUs, users that gain end earlier.

    Examples
    --------
    >>> [(job.user, job.gpus, job.work) for job in trading_groups().jobs[::150]]
    [('User1', 1, 4940), ('User2', 2, 4117), ('User3', 4, 2058), ('User4', 1, 5118)]
    """
    groups = [
        *(("resnet-50", 1, 4, 150), ("resnet-50", 2, 6, 150), ("resnet-50", 4, 6, 150)),
        ("super-resolution", 1, 6, 150),
    ]
    parts = [("v100", 3, 4), ("p100", 6, 4), ("k80", 16, 4)]
    return _lasting("trading-groups", parts, _waiting(groups))


def _waiting(rows: Iterable[tuple[str, int, float, int]]) -> list[_Group]:
    """Groups of users with equal tickets, by family, gang, end and number of jobs: all at 0."""
    return [_Group(family, gpus, until, [0] * jobs, 100) for family, gpus, until, jobs in rows]


def _lasting(
    name: str, parts: Iterable[tuple[str, int, int]], groups: Sequence[_Group]
) -> Instance[Job]:
    """Jobs whose work is what a fluid gives them until they are to end; one group for each user."""
    cluster = mixed_cluster(parts)
    gpus = gpus_by_model(cluster)
    users = [User(f"User{i}", weight=own.tickets) for i, own in enumerate(groups, start=1)]
    jobs = []
    served = _fluid_service(cluster.gpus, groups)
    for user, group, seconds in zip(users, groups, served, strict=True):
        speeds = {model: TABLE1[group.family][model] for model in gpus}
        mean = sum(count * speeds[model] for model, count in gpus.items()) / cluster.gpus
        jobs += [
            Job(
                id=f"{user.id}-{k}", user=user.id, gpus=group.gpus, release=release,
                work=max(1, round(mean * time)), speeds=speeds, group=group.family,
            )
            for k, (release, time) in enumerate(zip(group.release, seconds, strict=True), start=1)
        ]  # fmt: skip
    return Instance(cluster, jobs, users, name=name)


def _fluid_service(gpus: int, groups: Sequence[_Group]) -> list[list[float]]:
    """Seconds on its GPUs that each job of each group gets."""
    ends = [group.until * HOUR for group in groups]
    times = sorted({*ends, *(float(r) for group in groups for r in group.release)})
    tickets = np.array([float(group.tickets) for group in groups])
    served = [[0.0] * len(group.release) for group in groups]
    for begin, end in pairwise(times):
        there = [
            [k for k, release in enumerate(group.release) if release <= begin < stop]
            for group, stop in zip(groups, ends, strict=True)
        ]
        demand = np.array([g.gpus * len(jobs) for g, jobs in zip(groups, there, strict=True)])
        share = _water_filling(tickets, demand, gpus)
        for i, jobs in enumerate(there):
            for k in jobs:
                served[i][k] += (end - begin) * share[i] / demand[i]
    return served


def _water_filling(tickets: Floats, demand: NDArray[np.int64], gpus: float) -> Floats:
    """GPUs of each user: in proportion to tickets, but none has more than it demands."""
    share = np.zeros(demand.size)
    left = demand > 0
    while left.any():
        fair = (gpus - share[~left].sum()) * tickets / tickets[left].sum()
        full = left & (demand <= fair)
        if not full.any():
            share[left] = fair[left]
            break
        share[full] = demand[full]
        left &= ~full
    return share
