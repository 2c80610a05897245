"""IRMP: which training jobs of workers and parameter servers run when, so that users earn most.

Source: N. Wang, R. Zhou, L. Han, H. Chen, Z. Li, "Online Scheduling of Distributed Machine Learning
Jobs for Incentivizing Sharing in Multi-Tenant Systems", IEEE TC 72(3), 2023.

A job trains E D M mini-batches with up to D workers and the parameter servers (PSs) that these
need, on nodes of C_w workers and C_p PSs. It starts once, keeps what it has, and is worth the
less the later it is complete. On one node it needs no network and is faster.

Symbols
-------
=====================  =======================================  ==================================
paper                  here                                     unit
=====================  =======================================  ==================================
C_sw, C_sp             ``node.gpus``, ``node.ps``               workers, PSs
q^u_w, q^u_p           ``user.gpus``, ``user.ps``, ``quotas``   workers, PSs
r_j                    ``job.release``                          slots
E_j, D_j, M_j          ``job.epochs, .gpus, .minibatches``      1, chunks, mini-batches a chunk
n_j                    ``job.rates``                            mini-batches per worker and slot
f_j                    ``job.utility``                          1, of slots
b_w, b_p               ``worker_bandwidth, ps_bandwidth``       Mbps
y_js(t), z_js(t)       ``Segment.gpus, Segment.ps``             workers, PSs
t^-_j, t^+_j           ``Segment.start + 1``, ``Segment.end``   slots, the paper's inclusive ones
zeta_j                 one node in ``Segment.gpus``
o_j                    a segment of job j exists
T                      ``horizon``                              slots
=====================  =======================================  ==================================

Slot t of the paper is the time from t - 1 to t. A run in its slots t^- to t^+ is [t^- - 1, t^+).

Equations
---------
==========  ==================================================  ===================================
equation    component                                           note
==========  ==================================================  ===================================
(1)         ``job.rates``; :func:`rates_of`
(3)         :meth:`Irmp.objective`
(3a), (3b)  implied by (3c), (3d); named in the model           errata W5
(3c), (3d)  "workers (3c)", "parameter servers (3d)"
(3e)        "chunks (3e)"
(3f), (3h)  "non-preemption (3f)"                               errata W10
(3g)        "parameter server (3g)"
(3i)        "bandwidth (3i)"                                    errata W7
(3j)        which of the two rates counts
(3k)        "training (3k)"                                     errata W9
(3l)        "release (3l)"                                      errata W2
(3m), (3n)  ends of the segment
(4)         the same with ``horizon`` and all releases 0        o_j is in (3) too, W6
none        "sharing incentive"                                 W5, with ``alone``
==========  ==================================================  ===================================

Deviations from the paper
-------------------------
- W2: t^+ = t^- + d with both ends running would give d + 1 slots; the paper's example has d of
  them, t^+ = t^- + d - 1. A job released at r runs from slot r + 1 on (``paper_slot_r``: from r).
- W5: (3a) and (3b) say no more than that all users together use no more than there is, which (3c)
  and (3d) imply. The model therefore holds no sharing incentive at all: it is user-blind. With
  `alone`, what each user would earn without the others, it holds one: nobody earns less.
- W6: (3) makes every job run, whatever it costs; (4) has o_j. Here jobs may be left out
  (``optional=False``: they may not).
- W7: (3i) "for all s" lets a job have workers on nodes without a PS only if it has none
  elsewhere, and fails even for jobs on one of several nodes. It is read for nodes that hold
  PSs of the job. Then PSs on a second node never help.
- W9: (3k) lacks the sums over nodes and slots; its text has E D B where E D M is meant.
- W10: (3f) and (3h) at t = t^+ contradict (3l); they hold up to t^+ - 1.
- W15: the argument of f is the completion time in (3), the time since the beginning of the round in
  Definition 1 ("ideal"), and the time since the release in the example. ``clock="absolute"``
  (default) and ``clock="release"`` are the first and the last; ideal revenue is never mixed in, see
  :func:`gangsched.solvers.irmp.astraea.ideal_revenue`. With `paper_slot_r` a job may be complete at
  its release; it is then worth what it is one slot after it.
- Nodes may be of several types (Section 6), by ``node.model``: all workers of a job are of one
  type, and so are its PSs; ``job.speeds`` multiplies the rates of that type of workers.
- ``preemptive=True`` lets a job run in several segments, each with its own workers, (3f) and (3h)
  dropped, for baselines that preempt for free. What they earn is compared with bounds of that
  problem, which are no lower.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.check import flag, integer, set_field
from ...instances.display import shortened
from ...instances.model import Instance, ParameterServerJob
from ...instances.revenue import Law, revenue_instance
from ...instances.schedule import Schedule, Segment
from ..breaches import overfull, reference_violations
from ..problem import Described, Goal, Model, Sense, build

CLOCKS = ("absolute", "release")
#: no release, no duration in slots, no horizon, no bandwidth and no node's size exceeds it
LATEST = 2**40
#: how much less than alone a user may earn, relative to it
TOLERANCE = 1e-9


def _rational(value: float) -> Fraction:
    """Return the rational that the shortest decimal of `value` denotes: 0.1 is 1/10."""
    return Fraction(repr(float(value)))


def rates_of(
    *, compute: float, update: float, size: float, bandwidth: float
) -> tuple[float, float]:
    """Return n of eq. (1), mini-batches of a worker and slot: on one node, and on several.

    Examples
    --------
    >>> rates_of(compute=0.25, update=0.25, size=1, bandwidth=4)
    (2.0, 1.0)
    """
    for name, value in {"compute": compute, "update": update, "size": size}.items():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"rates: {name}={value} is not a finite number >= 0")
    if not (math.isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"rates: bandwidth={bandwidth} is not positive")
    if not compute + update > 0:
        raise ValueError("rates: compute + update = 0, a mini-batch takes time")
    return 1 / (compute + update), 1 / (compute + update + 2 * size / bandwidth)


def parameter_servers(outside: int, worker_bandwidth: int, ps_bandwidth: int) -> int:
    """Return how many PSs on one node serve so many workers on others, (3i), at least 1 by (3g).

    Examples
    --------
    >>> parameter_servers(0, 1, 4), parameter_servers(9, 1, 4)
    (1, 3)
    """
    return max(1, -(-outside * worker_bandwidth // ps_bandwidth))


def divisions(count: int, room: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all ways to divide `count` workers among nodes, or classes of them, with such room.

    Examples
    --------
    >>> list(divisions(2, [1, 5, 1]))
    [(0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0)]
    """
    if not room:
        if count == 0:
            yield ()
        return
    for first in range(max(0, count - sum(room[1:])), min(count, room[0]) + 1):
        for rest in divisions(count - first, room[1:]):
            yield first, *rest


def run_rate(job: ParameterServerJob, nodes: int, model: str = "") -> Fraction:
    """Return n_j of a worker on so many nodes of type `model`; the decimal inputs, exactly.

    Examples
    --------
    >>> from gangsched.instances import Linear
    >>> job = ParameterServerJob(id="j", gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                          speeds={"v100": 3}, utility=Linear(-2, 100))
    >>> run_rate(job, 1), run_rate(job, 2), run_rate(job, 2, "v100")
    (Fraction(1, 1), Fraction(1, 2), Fraction(3, 2))
    """
    return job.rate(nodes, model)


def run_slots(job: ParameterServerJob, workers: int, nodes: int, model: str = "") -> int:
    """Return d_j, the slots that a run takes, (3k).

    Examples
    --------
    Four mini-batches, one a slot from two workers on two nodes:

    >>> from gangsched.instances import Linear
    >>> job = ParameterServerJob(id="j", gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                          utility=Linear(-2, 100))
    >>> run_slots(job, 2, 1), run_slots(job, 2, 2)
    (2, 4)
    """
    return job.service(workers, nodes, model)


@dataclass(frozen=True, slots=True, repr=False)
class Irmp(Described):
    r"""Problem (3) of Wang et al.: maximise the utility of complete jobs.

    .. math::

        \max \sum_j o_j f_j(t^+_j), \qquad \sum_j y_{js}(t) \le C_{sw}, \qquad
        \sum_j z_{js}(t) \le C_{sp}

    Parameters
    ----------
    instance : Instance of ParameterServerJob
        Times in slots. Quotas of its users, where they have any, sum up to what the nodes hold.
    worker_bandwidth, ps_bandwidth : int
        b_w, b_p, of each worker and each parameter server, in one unit.
    horizon : int or None
        T, no job may run past this slot; None for no limit.
    clock : {"absolute", "release"}
        Whether utilities count slots from 0 or from the job's release.
    optional : bool
        Jobs may be left out, and earn nothing.
    preemptive : bool
        Jobs may run in several segments.
    paper_slot_r : bool
        A job released at r >= 1 may run in the paper's slot r already, from time r - 1 on.
    owners : sequence of str, optional
        User that each node belongs to. If not given: nodes in turn, to users in turn, as far as
        their quotas go; none if these end within a node.
    alone : mapping of str to float, optional
        Least sum of the utilities of a user's jobs, what it earns alone; users that it does not
        name may earn any.

    Attributes
    ----------
    users : tuple of str
        Ids; one unnamed user where the instance has none.
    models : tuple of str
        Types of nodes, sorted.
    quotas : (users, models, 2) int array
        Workers and PSs of each user.

    Raises
    ------
    ValueError, TypeError
        Naming object, value and rule.

    Examples
    --------
    Two jobs of the paper's example (Section 4.2), both on one node at once:

    >>> from gangsched.instances import Cluster, Linear, Node
    >>> cluster = Cluster([Node("s1", 2, ps=1), Node("s2", 2, ps=1)])
    >>> jobs = [ParameterServerJob(id=i, gpus=2, release=3, epochs=2, minibatches=1,
    ...                            rates=(1, 0.5), utility=Linear(-2, 100)) for i in ("11", "21")]
    >>> problem = Irmp(Instance(cluster, jobs), clock="release")
    >>> schedule = Schedule.of([Segment(0, 8, 10, {0: 2}, ps={0: 1}),
    ...                         Segment(1, 8, 10, {1: 2}, ps={1: 1})])
    >>> problem.objective(schedule), problem.violations(schedule)
    (172.0, [])
    """

    instance: Instance[ParameterServerJob]
    worker_bandwidth: int = 1
    ps_bandwidth: int = 1
    horizon: int | None = None
    clock: Literal["absolute", "release"] = "absolute"
    optional: bool = True
    preemptive: bool = False
    paper_slot_r: bool = False
    owners: Sequence[str] = ()
    alone: Mapping[str, float] = field(default_factory=dict, hash=False)
    users: tuple[str, ...] = field(init=False, compare=False)
    models: tuple[str, ...] = field(init=False, compare=False)
    quotas: Ints = field(init=False, compare=False)

    sense: ClassVar[Sense] = Sense.MAX
    goal: ClassVar[Goal] = Goal("true revenue", time="slots")
    forms: ClassVar[tuple[str, ...]] = ("columns", "literal", "dual")

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Instance):
            raise TypeError(f"Irmp: instance={shortened(repr(self.instance))} is not an Instance")
        limits = ("worker_bandwidth", "ps_bandwidth", "horizon")
        for name in limits if self.horizon is not None else limits[:2]:
            integer(self, "Irmp", name, least=1)
            if getattr(self, name) > LATEST:
                raise ValueError(f"Irmp: {name} exceeds {LATEST}")
        if self.clock not in CLOCKS:
            raise ValueError(f"Irmp: clock={self.clock!r} is not 'absolute' or 'release'")
        for name in ("optional", "preemptive", "paper_slot_r"):
            flag(self, "Irmp", name)
        self._check_nodes()
        self._check_jobs()
        users = tuple(user.id for user in self.instance.users) or ("",)
        models = tuple(sorted({node.model for node in self.instance.cluster.nodes}))
        set_field(self, "users", users)
        set_field(self, "models", models)
        set_field(self, "owners", self._owners())
        set_field(self, "alone", self._alone())
        quotas = self._quotas()
        quotas.flags.writeable = False
        set_field(self, "quotas", quotas)

    def __repr__(self) -> str:
        nodes = len(self.instance.cluster.nodes)
        return f"Irmp({len(self.jobs)} jobs, {nodes} nodes, {len(self.users)} users)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self.instance, self.parameters())

    def parameters(self) -> dict[str, Any]:
        """Return all parameters but the instance, as a record."""
        names = (
            "worker_bandwidth", "ps_bandwidth", "horizon", "clock", "optional", "preemptive",
            "paper_slot_r", "owners",
        )  # fmt: skip
        return {**{name: getattr(self, name) for name in names}, "alone": dict(self.alone)}

    # -- checks of the input -----------------------------------------------------------------------

    def _check_nodes(self) -> None:
        for node in self.instance.cluster.nodes:
            for name in ("gpus", "ps"):
                if getattr(node, name) > LATEST:
                    raise ValueError(f"node {node.id!r}: {name} exceeds {LATEST}")

    def _check_jobs(self) -> None:
        for job in self.jobs:
            owner = f"job {job.id!r}"
            if not isinstance(job, ParameterServerJob):
                raise TypeError(f"{owner}: kind {type(job).__name__} is not ParameterServerJob")
            if job.pin:
                raise ValueError(f"{owner}: pin={job.pin!r}, jobs of IRMP run on any type")
            if job.release > LATEST:
                raise ValueError(f"{owner}: release={job.release} exceeds {LATEST}")
            slowest = _rational(job.rates[1]) * min(map(_rational, job.speeds.values()), default=1)
            if job.batches > LATEST * min(slowest, _rational(job.rates[1])):
                raise ValueError(
                    f"{owner}: {job.batches} mini-batches take one worker more than {LATEST} "
                    "slots; use longer slots"
                )

    def _alone(self) -> Mapping[str, float]:
        if not isinstance(self.alone, Mapping):
            raise TypeError(f"Irmp: alone={self.alone!r} is not a mapping of user to utility")
        worth: Any
        for user, worth in self.alone.items():
            if user not in self.users:
                raise ValueError(f"Irmp: alone names {user!r}, which is not a user of the instance")
            if isinstance(worth, bool) or not isinstance(worth, numbers.Real):
                raise TypeError(f"user {user!r}: alone={worth!r} is not a number")
            try:
                finite = math.isfinite(worth)
            except OverflowError:
                raise ValueError(f"user {user!r}: alone is too large for a float") from None
            if not finite:
                raise ValueError(f"user {user!r}: alone={worth} is not finite")
        return MappingProxyType({user: float(worth) for user, worth in self.alone.items()})

    def _owners(self) -> tuple[str, ...]:
        nodes, users = self.instance.cluster.nodes, self.users
        if isinstance(self.owners, str) or not isinstance(self.owners, Sequence):
            raise TypeError(f"Irmp: owners={self.owners!r} is not a sequence of user ids")
        owners = tuple(self.owners)
        if owners and len(owners) != len(nodes):
            raise ValueError(
                f"Irmp: owners has {len(owners)} entries, there are {len(nodes)} nodes"
            )
        for node, owner in zip(nodes, owners, strict=False):
            if owner not in users:
                raise ValueError(
                    f"Irmp: owner {owner!r} of node {node.id!r} is not a user of the instance"
                )
        return owners or self._in_turn()

    def _in_turn(self) -> tuple[str, ...]:
        """Nodes to users as far as their quotas go, or no owners."""
        if len(self.users) == 1:
            return self.users * len(self.instance.cluster.nodes)
        left = {user.id: [user.gpus or 0, user.ps or 0] for user in self.instance.users}
        owners, turn = [], 0
        for node in self.instance.cluster.nodes:
            while turn < len(self.users) and left[self.users[turn]] == [0, 0]:
                turn += 1
            if turn == len(self.users):
                return ()
            mine = left[self.users[turn]]
            mine[0] -= node.gpus
            mine[1] -= node.ps
            if min(mine) < 0:
                return ()
            owners.append(self.users[turn])
        return tuple(owners) if all(rest == [0, 0] for rest in left.values()) else ()

    def _quotas(self) -> Ints:
        """Workers and PSs of each user and type; what users say has to agree."""
        nodes = self.instance.cluster.nodes
        quotas = np.zeros((len(self.users), len(self.models), 2), dtype=np.int64)
        for node, owner in zip(nodes, self.owners, strict=False):
            at = self.users.index(owner), self.models.index(node.model)
            quotas[at] += node.gpus, node.ps
        said = [(user.gpus, user.ps) for user in self.instance.users]
        if all(quota == (None, None) for quota in said):
            if said and not self.owners:
                raise ValueError("Irmp: users have no quotas of GPUs and PSs, and nodes no owners")
            return quotas
        self._check_said()
        if self.owners:
            for user, mine in zip(self.instance.users, quotas.sum(axis=1).tolist(), strict=True):
                if mine != [user.gpus, user.ps]:
                    raise ValueError(
                        f"user {user.id!r}: owns nodes of {mine[0]} GPUs and {mine[1]} PSs, but "
                        f"has a quota of {user.gpus} and {user.ps}"
                    )
            return quotas
        if len(self.models) > 1:
            raise ValueError(
                f"Irmp: servers of types {', '.join(map(repr, self.models))} need owners, quotas "
                "do not tell types apart"
            )
        return np.array(said, dtype=np.int64)[:, None, :]

    def _check_said(self) -> None:
        nodes = self.instance.cluster.nodes
        for name, what in (("gpus", "GPUs"), ("ps", "PSs")):
            for user in self.instance.users:
                if getattr(user, name) is None:
                    raise ValueError(f"user {user.id!r}: {name}=None, others have a quota")
            quota = sum(getattr(user, name) for user in self.instance.users)
            there = sum(getattr(node, name) for node in nodes)
            if quota != there:
                raise ValueError(
                    f"Irmp: quotas of {quota} {what} in all are not the cluster's {there}"
                )

    # -- what a run is -----------------------------------------------------------------------------

    @property
    def jobs(self) -> Sequence[ParameterServerJob]:
        """The jobs, by number."""
        return self.instance.jobs

    @property
    def integral(self) -> bool:
        """Whether every objective value is an integer."""
        return False

    def user(self, job: int) -> str:
        """Return the id of the job's user, one of `users`."""
        return self.jobs[job].user if self.instance.users else ""

    def earliest(self, job: int) -> int:
        """Return the time from which a job may run."""
        release = self.jobs[job].release
        return max(release - 1, 0) if self.paper_slot_r else release

    def value(self, job: int, end: int) -> float:
        """Return f_j of a completion at time `end`, by the problem's clock."""
        since = self.jobs[job].release if self.clock == "release" else 0
        return self.jobs[job].utility.value(max(end - since, 1))

    def values(self, job: int, horizon: int) -> Floats:
        """Return f_j of completions at times 1, ..., `horizon`."""
        value = self.jobs[job].utility.value
        since = self.jobs[job].release if self.clock == "release" else 0
        return np.array([value(max(end - since, 1)) for end in range(1, horizon + 1)])

    def rate(self, job: int, nodes: int, model: str = "") -> Fraction:
        """Return n_j on so many nodes, workers of type `model`: :func:`run_rate`."""
        return run_rate(self.jobs[job], nodes, model)

    def duration(self, job: int, workers: int, nodes: int, model: str = "") -> int:
        """Return d_j, the slots that a run takes: :func:`run_slots`.

        Parameters
        ----------
        job : int
        workers : int
            D_w, at least 1.
        nodes : int
            On which workers and parameter servers are.
        model : str
            Type of the workers' nodes.
        """
        return run_slots(self.jobs[job], workers, nodes, model)

    # -- objective and feasibility -----------------------------------------------------------------

    def objective(self, solution: Schedule) -> float:
        """Return the sum of f_j over the jobs that run, each at its last segment's end."""
        return math.fsum(self.worths(solution).values())

    def earnings(self, solution: Schedule) -> dict[str, float]:
        """Return the sum of f_j over the jobs of each user that run."""
        worth = self.worths(solution)
        return {u: math.fsum(w for j, w in worth.items() if self.user(j) == u) for u in self.users}

    def worths(self, solution: Schedule) -> dict[int, float]:
        """Return f_j of each job that runs, by number."""
        ends: dict[int, int] = {}
        for job, end in zip(solution.job.tolist(), solution.end.tolist(), strict=True):
            ends[job] = max(end, ends.get(job, 0))
        return {job: self.value(job, end) for job, end in sorted(ends.items())}

    def violations(self, solution: Schedule) -> list[str]:
        """Return what `solution` breaks of (3c)-(3o), of the horizon and of `alone`.

        Messages start with the constraint's name and equation. Costs O(segments log segments) per
        node in use.
        """
        broken = reference_violations(self, solution)
        if broken:
            return broken
        runs: dict[int, list[Segment]] = {}
        for row in solution:
            broken += self._segment_violations(row)
            runs.setdefault(row.job, []).append(row)
        for job, rows in sorted(runs.items()):
            broken += self._run_violations(job, rows)
        if not self.optional:
            for j in range(len(self.jobs)):
                if j not in runs:
                    broken.append(f"all jobs (3): job {self.jobs[j].id!r} is not scheduled")
        broken += self._capacity_violations(solution)
        for user, earned in self.earnings(solution).items() if self.alone else ():
            least = self.alone.get(user, -math.inf)
            if earned < least - TOLERANCE * abs(least):
                broken.append(
                    f"sharing incentive: user {user!r} earns {earned:g}, alone it earns {least:g}"
                )
        return broken

    def _segment_violations(self, row: Segment) -> list[str]:
        """(3e), (3g), (3i), (3l), and one type of workers and of PSs."""
        name, broken = f"job {self.jobs[row.job].id!r}", []
        nodes, ps = self.instance.cluster.nodes, row.ps or {}
        workers, most = sum(row.gpus.values()), self.jobs[row.job].gpus
        if not 1 <= workers <= most:
            broken.append(f"chunks (3e): {name} has {workers} workers, 1 to {most} are allowed")
        if sum(ps.values()) < 1:
            broken.append(f"parameter server (3g): {name} has none")
        for s, count in sorted(ps.items()):
            outside = workers - row.gpus.get(s, 0)
            if count and outside * self.worker_bandwidth > count * self.ps_bandwidth:
                broken.append(
                    f"bandwidth (3i): {name} has {outside} workers of bandwidth "
                    f"{self.worker_bandwidth} away from {count} PSs of {self.ps_bandwidth} on node "
                    f"{nodes[s].id!r}"
                )
        for held, what in ((row.gpus, "workers"), (ps, "PSs")):
            models = sorted({nodes[s].model for s, count in held.items() if count})
            if len(models) > 1:
                broken.append(f"one type (Section 6): {name} has {what} of types {models}")
        if row.start < self.earliest(row.job):
            broken.append(f"release (3l): {name} runs from {row.start}, before it may")
        if self.horizon is not None and row.end > self.horizon:
            broken.append(f"horizon: {name} ends at {row.end}, after T={self.horizon}")
        return broken

    def _run_violations(self, job: int, rows: list[Segment]) -> list[str]:
        """(3f), (3h), (3k): one segment, all mini-batches."""
        name, broken = f"job {self.jobs[job].id!r}", []
        if len(rows) > 1 and not self.preemptive:
            return [f"non-preemption (3f): {name} runs in {len(rows)} segments"]
        rows = sorted(rows, key=lambda row: row.start)
        for before, after in pairwise(rows):
            if after.start < before.end:
                broken.append(f"non-preemption (3f): {name} runs twice at {after.start}")
        done = sum((self._trained(row) for row in rows), Fraction(0))
        if done < self.jobs[job].batches:
            broken.append(
                f"training (3k): {name} trains {float(done):g} of {self.jobs[job].batches} "
                "mini-batches"
            )
        return broken

    def _trained(self, row: Segment) -> Fraction:
        """Mini-batches of a segment, (3j) and (3k)."""
        used = {s for s, count in row.gpus.items() if count}
        used |= {s for s, count in (row.ps or {}).items() if count}
        workers = [s for s, count in row.gpus.items() if count]
        if not workers:
            return Fraction(0)
        model = self.instance.cluster.nodes[workers[0]].model
        rate = self.rate(row.job, len(used), model)
        return rate * sum(row.gpus.values()) * (row.end - row.start)

    def _capacity_violations(self, solution: Schedule) -> list[str]:
        """(3c), (3d)."""
        workers = overfull(self, solution)
        ps = np.array([node.ps for node in self.instance.cluster.nodes], dtype=np.int64)
        servers = overfull(self, solution, solution.ps, lambda node, _: ps[node])
        return [
            f"{what}: node {name!r} holds {held} of its {there} from {time}"
            for what, found in (("workers (3c)", workers), ("parameter servers (3d)", servers))
            for name, held, there, time in found
        ]

    # -- declarative models ------------------------------------------------------------------------

    def build(self, form: str = "columns") -> Model[Schedule]:
        """Return the Pyomo model in one of `forms`, each described in `irmp_forms`.

        Raises
        ------
        ValueError
            Where `form` is unknown, or the problem has no horizon, or is too large.
        """
        return build(self, form)


def _remade(instance: Instance[ParameterServerJob], parameters: Mapping[str, Any]) -> Irmp:
    return Irmp(instance, **parameters)


# --- the paper's settings ------------------------------------------------------------------------


def paper_problem(
    jobs: int = 100, *, servers: int = 100, users: int = 14, utility: Law = "linear", seed: int = 0
) -> Irmp:
    """Return the problem of the paper's default setting, section 5.1, synthetic and without end.

    Parameters
    ----------
    jobs, servers, users : int
    utility : {"linear", "convex"}
    seed : int

    Raises
    ------
    ValueError, TypeError
        As :func:`gangsched.instances.revenue.revenue_instance`, which tells what is drawn.

    Examples
    --------
    >>> paper_problem()
    Irmp(100 jobs, 100 nodes, 14 users)
    """
    instance, parameters = revenue_instance(
        jobs, servers=servers, users=users, utility=utility, seed=seed
    )
    return Irmp(instance, **parameters)


def reduced_problem(
    jobs: int = 10, *, servers: int = 25, users: int = 2, utility: Law = "linear", seed: int = 0
) -> Irmp:
    """Return the reduced input of the paper's Fig. 5: [5, 15] jobs, [5, 45] nodes, 2 users.

    Parameters
    ----------
    jobs, servers, users : int
    utility : {"linear", "convex"}
    seed : int

    Raises
    ------
    ValueError, TypeError
        As :func:`paper_problem`.

    Examples
    --------
    >>> reduced_problem(5, servers=45)
    Irmp(5 jobs, 45 nodes, 2 users)
    """
    return paper_problem(jobs, servers=servers, users=users, utility=utility, seed=seed)
