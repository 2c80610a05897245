"""What a scheduling problem is about: nodes, clusters, users, jobs, and the instance of them.

All types are inert, immutable and validated once, when they are made. They know nothing of any
paper's objective: what only one paper knows of a job is a subclass of :class:`Job` here, what is a
parameter of a paper's model belongs to its problem in :mod:`gangsched.formulations`.

Units: times are integer seconds unless an instance says otherwise with ``slot`` (seconds per slot,
for papers that divide time into slots); GPUs are integers; weights and speeds are floats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Generic, TypeVar

from .check import check_real as check_real
from .check import integer, real, set_field, text, tuple_of, unique
from .display import counted
from .jobs import FULL_SPEED as FULL_SPEED
from .jobs import MOST_TIME as MOST_TIME
from .jobs import DeadlineJob as DeadlineJob
from .jobs import Iterations as Iterations
from .jobs import Job as Job
from .jobs import Linear as Linear
from .jobs import ParameterServerJob as ParameterServerJob
from .jobs import Power as Power
from .jobs import RingJob as RingJob
from .jobs import Stopping as Stopping
from .jobs import Table as Table
from .jobs import TargetMetric as TargetMetric
from .jobs import Utility as Utility


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the cluster.

    Parameters
    ----------
    id : str
        Unique within the cluster.
    gpus : int
        Number of GPUs, at least 1.
    model : str
        GPU model, e.g. ``"v100"``; empty where the cluster has only one.
    ps : int
        Parameter-server slots, at least 0.

    Examples
    --------
    >>> Node("n0", 8, model="v100").gpus
    8
    """

    id: str
    gpus: int
    model: str = ""
    ps: int = 0

    def __post_init__(self) -> None:
        owner = f"node {self.id!r}"
        text(self, owner, "id", empty=False)
        integer(self, owner, "gpus", least=1)
        text(self, owner, "model")
        integer(self, owner, "ps", least=0)


@dataclass(frozen=True, slots=True)
class Cluster:
    """The nodes that jobs run on; nodes may differ in size and in GPU model.

    Parameters
    ----------
    nodes : sequence of Node
        At least one, with unique ids. A node's position is its number in schedules.

    Examples
    --------
    >>> cluster = Cluster.uniform(nodes=4, gpus_per_node=8)
    >>> cluster.gpus, cluster.sizes
    (32, (8, 8, 8, 8))
    """

    nodes: Sequence[Node]

    def __post_init__(self) -> None:
        tuple_of(self, "cluster", "nodes", Node)
        if not self.nodes:
            raise ValueError("cluster: nodes=() is empty, a cluster has at least one node")
        unique("cluster", "node", (node.id for node in self.nodes))

    @classmethod
    def uniform(cls, *, nodes: int, gpus_per_node: int, model: str = "") -> Cluster:
        """Return a cluster of `nodes` equal nodes, named ``n0``, ``n1``, ...

        >>> Cluster.uniform(nodes=2, gpus_per_node=4).nodes[1]
        Node(id='n1', gpus=4, model='', ps=0)
        """
        return cls.of_sizes([gpus_per_node] * nodes, model=model)

    @classmethod
    def of_sizes(cls, sizes: Iterable[int], *, model: str = "") -> Cluster:
        """Return a cluster with one node per entry of `sizes`, named ``n0``, ``n1``, ...

        >>> Cluster.of_sizes([4, 8]).gpus
        12
        """
        return cls(tuple(Node(f"n{i}", size, model) for i, size in enumerate(sizes)))

    @property
    def gpus(self) -> int:
        """Number of GPUs of all nodes."""
        return sum(node.gpus for node in self.nodes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """GPUs of each node, in the order of `nodes`."""
        return tuple(node.gpus for node in self.nodes)


def gpus_by_model(cluster: Cluster) -> Counter[str]:
    """GPUs of each model, in the order of their first nodes."""
    gpus: Counter[str] = Counter()
    for node in cluster.nodes:
        gpus[node.model] += node.gpus
    return gpus


@dataclass(frozen=True, slots=True)
class User:
    """A tenant of the cluster (a virtual cluster counts as one).

    Parameters
    ----------
    id : str
        Unique within the instance.
    weight : float
        Share of the cluster relative to other users (tickets), positive.
    gpus, ps : int or None
        Quota of GPUs and of parameter-server slots; None where there is no quota.

    Examples
    --------
    >>> User("alice", weight=2)
    User(id='alice', weight=2.0, gpus=None, ps=None)
    """

    id: str
    weight: float = 1.0
    gpus: int | None = None
    ps: int | None = None

    def __post_init__(self) -> None:
        owner = f"user {self.id!r}"
        text(self, owner, "id", empty=False)
        real(self, owner, "weight", positive=True)
        for quota in ("gpus", "ps"):
            if getattr(self, quota) is not None:
                integer(self, owner, quota, least=0)


J = TypeVar("J", bound=Job)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Instance(Generic[J]):
    """A cluster and the jobs (all of one kind) that want to run on it.

    Parameters
    ----------
    cluster : Cluster
    jobs : sequence of Job
        Unique ids; a job's position is its number in schedules and the last tie-break of every
        algorithm. An instance without jobs is allowed. Whom a job has to wait for is among them,
        and nobody waits for itself by way of others.
    users : sequence of User
        Unique ids; either empty or holding the user of every job.
    slot : int
        Seconds per slot; 1 where times are seconds.
    name : str
        For display.

    Examples
    --------
    >>> cluster = Cluster.uniform(nodes=1, gpus_per_node=2)
    >>> Instance(cluster, [Job(id="a", gpus=1), Job(id="a", gpus=2)])
    Traceback (most recent call last):
        ...
    ValueError: instance: job id 'a' occurs 2 times, ids are unique
    """

    cluster: Cluster
    jobs: Sequence[J]
    users: Sequence[User] = ()
    slot: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.cluster, Cluster):
            raise TypeError(f"instance: cluster={self.cluster!r} is not a Cluster")
        tuple_of(self, "instance", "jobs", Job)
        tuple_of(self, "instance", "users", User)
        integer(self, "instance", "slot", least=1)
        text(self, "instance", "name")
        unique("instance", "job", (job.id for job in self.jobs))
        unique("instance", "user", (user.id for user in self.users))
        kinds = sorted({type(job).__name__ for job in self.jobs})
        if len(kinds) > 1:
            raise TypeError(f"instance: jobs are of kinds {', '.join(kinds)}, one kind is allowed")
        self._check_references()

    def summary(self) -> str:
        """Return the size of the instance in a line."""
        nodes, gpus = len(self.cluster.nodes), self.cluster.gpus
        sizes = counted(len(self.jobs), "job"), counted(nodes, "node"), counted(gpus, "GPU")
        return "{} on {}, {}".format(*sizes)

    def facts(self) -> dict[str, str]:
        """Return what there is to know of its size, by name."""
        nodes = Counter(node.gpus for node in self.cluster.nodes)
        gangs = Counter(job.gpus for job in self.jobs)
        return {
            "name": self.name or "–",
            "jobs": f"{len(self.jobs):,}",
            "nodes": f"{len(self.cluster.nodes):,}",
            "GPUs": f"{self.cluster.gpus:,}",
            "nodes by GPUs": _histogram(nodes, "node"),
            "jobs by gang size": _histogram(gangs, "job"),
            "users": f"{len(self.users):,}" if self.users else "–",
        }

    def __str__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"{type(self).__name__}{name}: {self.summary()}"

    @property
    def kind(self) -> type[Job]:
        """The class of its jobs; that of plain jobs where there are none."""
        return type(self.jobs[0]) if self.jobs else Job

    def _check_references(self) -> None:
        users = {user.id for user in self.users}
        models = {node.model for node in self.cluster.nodes}
        for job in self.jobs:
            if users and job.user not in users:
                raise ValueError(f"job {job.id!r}: user={job.user!r} is not a user of the instance")
            if job.pin and job.pin not in models:
                raise ValueError(f"job {job.id!r}: pin={job.pin!r} is not a model of the cluster")
        if any(job.after for job in self.jobs):
            _check_order(self.jobs)


def _check_order(jobs: Sequence[Job]) -> None:
    """Refuse jobs after others that are not there, or after one another."""
    ahead = {job.id: len(job.after) for job in jobs}
    followers: dict[str, list[str]] = {id: [] for id in ahead}
    for job in jobs:
        for id in job.after:
            if id not in ahead:
                raise ValueError(
                    f"job {job.id!r}: after has {id!r}, which is no job of the instance"
                )
            followers[id].append(job.id)
    free = [id for id, count in ahead.items() if not count]
    while free:
        for id in followers[free.pop()]:
            ahead[id] -= 1
            if not ahead[id]:
                free.append(id)
    after = {job.id: job.after for job in jobs if ahead[job.id]}
    ring = list(after)[:1]
    while ring:
        id = next(id for id in after[ring[-1]] if id in after)
        if id in ring:
            through = ", ".join(map(repr, ring[ring.index(id) + 1 :]))
            raise ValueError(f"job {id!r}: after={after[id]!r}, it waits for itself by {through}")
        ring.append(id)


def predecessors(jobs: Iterable[Job], kept: Container[str]) -> dict[str, tuple[str, ...]]:
    """Return whom each kept job waits for: not those that are gone, but whom these waited for.

    Examples
    --------
    >>> chain = [Job(id="a", gpus=1), Job(id="b", gpus=1, after=["a"])]
    >>> predecessors([*chain, Job(id="c", gpus=1, after=["b", "lost"])], {"a", "c"})
    {'a': (), 'c': ('a',)}
    """
    after = {job.id: job.after for job in jobs}
    found = {}
    for id in after:
        if id not in kept:
            continue
        ahead, rest = dict.fromkeys(after[id]), [p for p in after[id] if p not in kept]
        while rest:
            for p in after.get(rest.pop(), ()):
                if p not in ahead and p not in kept:
                    rest.append(p)
                ahead[p] = None
        found[id] = tuple(p for p in ahead if p in kept)
    return found


def among_themselves(kept: Sequence[J], every: Iterable[Job]) -> tuple[list[J], int]:
    """Return jobs that wait for one another only, and how many of them waited for others too."""
    if not any(job.after for job in kept):
        return list(kept), 0
    ids = {job.id for job in kept}
    after = predecessors(every, ids)
    freed = sum(not ids.issuperset(job.after) for job in kept)
    return [replace(job, after=after[job.id]) if job.after else job for job in kept], freed


def some_jobs(instance: Instance[J], jobs: Sequence[J]) -> Instance[J]:
    """Return the instance with some of its jobs, which are as right as all of them."""
    other: Instance[J] = object.__new__(type(instance))
    for part in fields(instance):
        set_field(other, part.name, getattr(instance, part.name))
    set_field(other, "jobs", tuple(jobs))
    return other


def _histogram(counts: Mapping[int, int], thing: str) -> str:
    return ", ".join(f"{counted(counts[k], thing)} of {k}" for k in sorted(counts)) or "–"
