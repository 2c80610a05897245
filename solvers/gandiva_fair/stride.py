"""Gang-aware stride scheduling, on one node and split over many, as in Gandiva_fair.

Nothing here knows of the trace driver: jobs are numbers, time is counted in quanta. Nodes have
GPUs of one model; a cluster of several models has one :class:`StridePool` for each.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..policy import Floats, Ints

__all__ = [
    "GpuClaim", "StridePool", "Ties", "effective_tickets", "gang_aware_stride",
    "least_loaded", "stride_quantum",
]  # fmt: skip

#: what decides between equal passes first: who came first, or the smaller gang
Ties = Literal["arrival", "size"]
#: steps in one, to which passes and loads are compared, so that rounding breaks no ties
STEPS = 1e6


def effective_tickets(tickets: ArrayLike, demands: ArrayLike, gpus: int) -> Floats:
    """Return the GPUs that each user's tickets are worth.

    In proportion to tickets, at most what the user demands; what that leaves goes to the others
    (Section 3.2 of Chaudhary et al., the weight readjustment that it refers to).

    Examples
    --------
    >>> effective_tickets([1, 1, 1], [4, 4, 2], 8).tolist()
    [3.0, 3.0, 2.0]
    """
    from .stride_core import shares  # numba takes a second to import

    demand = np.asarray(demands, dtype=np.float64)
    return np.asarray(shares(demand, float(gpus), np.asarray(tickets, dtype=np.float64)))


def _turn(value: float) -> int:
    """A pass as it is compared, in the same way in Python and compiled."""
    return math.floor(value * STEPS + 0.5)


def stride_quantum(
    passes: Sequence[float],
    strides: Sequence[float],
    take: Callable[[int], bool],
    *,
    part: float = 1.0,
    debt_cap: bool = True,
) -> tuple[list[int], list[float]]:
    """Return who runs in the next quantum, and the passes after it.

    Notes
    -----
    Algorithm 1 of Chaudhary et al.: by rising pass, who does not fit is skipped and keeps its pass.
    Without `debt_cap`, as printed, jobs that run because nobody else wants their GPUs pile up a
    debt, and wait for as long when somebody comes.

    Examples
    --------
    >>> stride_quantum([0.0, 0.0], [1.0, 2.0], lambda i: i == 1)
    ([1], [0.0, 2.0])
    """
    order = sorted(range(len(passes)), key=lambda i: (_turn(passes[i]), i))
    runs = [i for i in order if take(i)]
    after = list(passes)
    for i in runs:
        after[i] += part * strides[i]
    if debt_cap and runs and len(runs) == len(order):
        least = min(after)
        after = [min(now, least + stride) for now, stride in zip(after, strides, strict=True)]
    return runs, after


def gang_aware_stride(
    passes: Sequence[float],
    strides: Sequence[float],
    gangs: Sequence[int],
    gpus: int,
    *,
    debt_cap: bool = True,
) -> tuple[list[int], list[float]]:
    """Return which gangs run on a node in the next quantum, and the passes after it.

    Notes
    -----
    Guarantee for a fixed set of jobs of which some are always skipped: the k-th run of a job does
    not come later than under stride scheduling of one job a quantum, as the job of least pass
    always runs; so nobody starves. On one GPU a job of share w among n runs in at most one quantum
    more than w T of T quanta, and in at most w (n - 1) less. There is no such bound for gangs,
    which do not always pack.

    Examples
    --------
    Three users with equal tickets and two jobs each, of 1, 2 and 4 GPUs, on a node of 4.

    >>> passes, gangs, ran = [0.0] * 6, [1, 1, 2, 2, 4, 4], [0] * 6
    >>> for _ in range(6):
    ...     runs, passes = gang_aware_stride(passes, [1.5, 1.5, 3, 3, 6, 6], gangs, 4)
    ...     ran = [n + (i in runs) for i, n in enumerate(ran)]
    >>> ran
    [4, 4, 2, 2, 1, 1]
    """
    room = gpus

    def take(i: int) -> bool:
        nonlocal room
        fits = gangs[i] <= room
        room -= gangs[i] if fits else 0
        return fits

    return stride_quantum(passes, strides, take, debt_cap=debt_cap)


def least_loaded(
    gang: int, loads: ArrayLike, left: ArrayLike, sizes: ArrayLike
) -> tuple[int, ...] | None:
    """Return the nodes for a job, or None where there are none.

    Notes
    -----
    A job that fits on a node gets the one with the least load; others get as many nodes of one
    size as they need, of the smallest possible size. Of equal loads, the node that keeps the
    fewest GPUs left among those where the job fits into what is left, then the first.

    Examples
    --------
    >>> least_loaded(2, [0.5, 0.25, 0.25], [0, 4, 2], [4, 4, 4])
    (2,)
    >>> least_loaded(6, [0.5, 0.25, 0.25], [0, 4, 2], [4, 4, 4])
    (1, 2)
    """
    size = np.asarray(sizes, dtype=np.int64)
    servers, count = np.flatnonzero(size >= gang), 1
    for each in np.unique(size).tolist() if not servers.size else ():
        servers, count = np.flatnonzero(size == each), -(-gang // each)
        if servers.size >= count:
            break
    if servers.size < count:
        return None
    load = np.floor(np.asarray(loads, dtype=np.float64)[servers] * STEPS + 0.5)
    if count == 1:  # the others need not be sorted
        least = load == load.min()
        servers, load = servers[least], load[least]
    spare = np.asarray(left)[servers] - np.minimum(gang, size[servers])
    order = np.lexsort((np.maximum(spare, 0), spare < 0, load))  # stable: then the first
    return tuple(servers[order[:count]].tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuClaim:
    """What a job has in a pool.

    Parameters
    ----------
    gang : int
    user : int
    servers : tuple of int
        All but the last are filled.
    arrival : int
        When it came, for ties.
    """

    gang: int
    user: int
    servers: tuple[int, ...]
    arrival: int


class StridePool:
    """Nodes with GPUs of one model, under split stride scheduling.

    A job that fits on a node shares it with others by the node's own gang-aware stride. Jobs of
    several nodes, and each node's small jobs as a whole, are scheduled centrally.

    Parameters
    ----------
    sizes : sequence of int
        GPUs of each node.
    users : int
    debt_cap : bool
        See :func:`stride_quantum`; False as printed.
    normalised : bool
        Whether a stride is GPUs per ticket; False as printed, one over the job's tickets.
    ties : {"arrival", "size"}
        Who is first of equal passes: who came first, then the smaller gang, or the other way round.

    Attributes
    ----------
    claims : dict of int to Claim
        By job.
    gpus : (nodes, users) int array
        GPUs that each user's jobs ask for on each node.
    demand : (users,) int array
        GPUs that each user's jobs ask for.

    Notes
    -----
    Source: S. Chaudhary et al., "Balancing Efficiency and Fairness in Heterogeneous GPU Clusters
    for Deep Learning", EuroSys 2020, Sections 3.1 and 3.2. Strides are GPUs per ticket, also
    centrally: the paper's Table 2 and Section 5.2 need that, its example of two thirds to one third
    in Section 3.1 contradicts it. Our choices: the small jobs of a node count as one of as many
    GPUs as they ask for, at most the node's; it is served with the whole node. Ties go to who
    came first, then to the smaller gang (with the smaller gang first, which Table 2 would allow, a
    wide job starves where small ones keep coming). A newcomer has the least pass of the others, or
    the last one of those that have gone. GPUs that a job leaves free on its last node go to that
    node's jobs, which are charged as always.

    Compiled; tests have the same in plain Python, bit for bit. A quantum takes
    O(jobs log jobs + nodes (log nodes + users)), a look within one the same without what is
    busy.

    Examples
    --------
    One user's small jobs fill both nodes, the other's job takes both, with equal tickets.

    >>> pool = StridePool([2, 2], 2)
    >>> for job, server in enumerate([0, 0, 1, 1]):
    ...     pool.add(job, 1, 0, (server,), 0)
    >>> pool.add(4, 4, 1, (0, 1), 0)
    >>> [sorted(pool.quantum([2.0, 2.0])) for _ in range(4)]
    [[0, 1, 2, 3], [4], [0, 1, 2, 3], [4]]
    """

    def __init__(
        self,
        sizes: Sequence[int],
        users: int,
        *,
        debt_cap: bool = True,
        normalised: bool = True,
        ties: Ties = "arrival",
    ) -> None:
        if ties not in ("arrival", "size"):
            raise ValueError(f"stride pool: ties={ties!r} must be 'arrival' or 'size'")
        self.sizes = list(sizes)
        self.debt_cap, self.normalised, self.ties = debt_cap, normalised, ties
        self.claims: dict[int, GpuClaim] = {}
        self.gpus = np.zeros((len(self.sizes), users), dtype=np.int64)
        self.demand = np.zeros(users, dtype=np.int64)
        self._held = np.zeros(self.gpus.shape)  # the same as floats, which multiply faster
        self._size = np.array(self.sizes, dtype=np.int64)
        self._small = np.zeros_like(self.gpus)  # of jobs of one node
        self._asked = np.zeros_like(self._size)
        self._nodes: dict[int, dict[int, int]] = {}
        self._last = np.zeros(self._size.size)  # pass of the last job that has gone
        self._last_central = 0.0
        self._open()

    def add(self, job: int, gang: int, user: int, servers: tuple[int, ...], now: int) -> None:
        """Let a job share these nodes."""
        self._add(job, GpuClaim(gang=gang, user=user, servers=servers, arrival=now), now)

    def _add(self, job: int, claim: GpuClaim, now: int) -> None:
        rest, nodes = claim.gang, {}
        for server in claim.servers:
            nodes[server] = min(rest, self.sizes[server])
            rest -= nodes[server]
        self.claims[job], self._nodes[job] = claim, nodes
        self._count(job, 1)
        self._enter(job, claim, now)

    def remove(self, job: int) -> None:
        """Forget a job."""
        self._leave(job, self.claims[job])
        self._count(job, -1)
        del self.claims[job], self._nodes[job]

    def move(self, job: int, server: int, now: int) -> None:
        """Let a job share another node than its only one until now."""
        old = self.claims[job]
        self._leave(job, old)
        self._count(job, -1)
        self._add(job, replace(old, servers=(server,)), now)

    def _count(self, job: int, sign: int) -> None:
        user, nodes = self.claims[job].user, self._nodes[job]
        for server, count in nodes.items():
            self.gpus[server, user] += sign * count
            self._held[server, user] += sign * count
            self._asked[server] += sign * count
            if len(nodes) == 1:
                self._small[server, user] += sign * count
            self.demand[user] += sign * count

    def nodes(self, job: int) -> dict[int, int]:
        """Return the GPUs that a job takes on each of its nodes."""
        return self._nodes[job]

    def left(self) -> Ints:
        """Return how many GPUs of each node would be free if all its jobs ran."""
        return self._size - self._asked

    def loads(self, tickets: ArrayLike) -> Floats:
        """Return the tickets per GPU of each node, eq. (2)."""
        return np.asarray(self._held @ np.asarray(tickets, dtype=np.float64) / self._size)

    def imbalance(self, tickets: ArrayLike, threshold: float) -> tuple[int, int] | None:
        """Return the job to move from the most to the least loaded node, and the latter.

        Notes
        -----
        The job after whose move these two loads are closest, if they then are closer than before;
        ties to the lower number. Jobs of several nodes stay.
        """
        loads, price = self.loads(tickets), np.asarray(tickets)
        most, least = int(loads.argmax()), int(loads.argmin())
        gap = float(loads[most] - loads[least])
        if gap <= threshold * float(loads.mean()):
            return None

        def after(job: int) -> int:
            claim = self.claims[job]
            moved = float(claim.gang * price[claim.user])
            return _turn(abs(gap - moved / self.sizes[most] - moved / self.sizes[least]))

        able = [j for j in self._jobs(most) if self.claims[j].gang <= self.sizes[least]]
        best = min(able, key=lambda j: (after(j), j), default=-1)
        return (best, least) if able and after(best) < _turn(gap) else None

    def quantum(self, strides: ArrayLike) -> set[int]:
        """Return the jobs that run in the next quantum, and charge them."""
        return self._quantum(self._checked(strides))

    def fill(
        self, free: ArrayLike, running: Collection[int], strides: ArrayLike, part: float
    ) -> set[int]:
        """Return the jobs that begin now, in the middle of a quantum, on what is free.

        By rising pass: jobs of several nodes where nobody runs, others where they find room.
        Right after :meth:`quantum` nobody can begin.
        """
        room = np.array(free, dtype=np.int64)
        if not room.any():
            return set()
        return self._fill(room, running, self._checked(strides), part)

    def forgive(self, strides: ArrayLike) -> None:
        """Let nobody owe more than a stride: cut passes that are further above the least.

        Where strides have changed, passes from before say little: a job that ran on what was left
        over, of a user without tickets there, would wait for ever once its user has some.
        """
        self._forgive(self._checked(strides))

    def _checked(self, strides: ArrayLike) -> Floats:
        """What would divide by zero, or stay infinite for ever, is refused."""
        found = np.ascontiguousarray(strides, dtype=np.float64)
        wrong = (self.demand > 0) & ~((found > 0) & np.isfinite(found))
        if wrong.any():
            user = int(wrong.argmax())
            raise ValueError(
                f"user {user}: strides={found[user]} must be positive and finite as it has jobs"
            )
        return found

    def _open(self) -> None:
        core = self._core  # numba takes a second to import
        by_size = self.ties == "size"
        self._options = core.StrideOptions(self.debt_cap, self.normalised, by_size)
        self._by_server = core.new_servers(self._size, self._small)
        self._by_job = core.new_jobs(16)
        self._runs = np.empty(16, dtype=np.int64)
        self._active = np.empty(16, dtype=np.int64)  # jobs of one node, in any order
        self._at: dict[int, int] = {}  # where they are there
        self._wide_jobs: list[int] = []
        self._wide: Any = None

    def save(self) -> dict[str, Any]:
        """Return jobs with their nodes, and all passes, as plain data."""
        return {
            "claims": [
                [j, own.gang, own.user, list(own.servers), own.arrival]
                for j, own in self.claims.items()
            ],
            "passes": [float(self._by_job.value[j]) for j in self.claims],
            "server_passes": self._by_server.value,
            "server_arrivals": self._by_server.arrival,
            "last": self._last,
            "last_central": self._last_central,
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Take jobs and passes into a pool that has none."""
        for job, gang, user, servers, arrival in data["claims"]:
            self.add(job, gang, user, tuple(servers), arrival)
        self._by_job.value[[row[0] for row in data["claims"]]] = data["passes"]
        self._by_server.value[:] = data["server_passes"]
        self._by_server.arrival[:] = data["server_arrivals"]
        self._last[:] = data["last"]
        self._last_central = data["last_central"]

    @property
    def _core(self) -> Any:
        """Machine code; not kept, as modules cannot be pickled."""
        from . import stride_core as gang_stride_core

        return gang_stride_core

    def _enter(self, job: int, claim: GpuClaim, now: int) -> None:
        if job >= self._by_job.gang.size:
            self._by_job = self._core.new_jobs(2 * job, self._by_job)
        jobs, servers, server = self._by_job, self._by_server, claim.servers[0]
        jobs.gang[job], jobs.user[job], jobs.arrival[job] = claim.gang, claim.user, claim.arrival
        if len(claim.servers) > 1:
            jobs.value[job] = self._least_central()
            insort(self._wide_jobs, job)
            self._wide = None
            return
        if servers.jobs[server]:
            jobs.value[job] = jobs.value[self._own(server)].min()
        else:
            jobs.value[job] = self._last[server]
            servers.value[server], servers.arrival[server] = self._least_central(), now
        servers.jobs[server] += 1
        jobs.server[job] = server
        at = self._at[job] = len(self._at)
        if at == self._active.size:
            self._active = np.concatenate([self._active, self._active])
        self._active[at] = job

    def _leave(self, job: int, claim: GpuClaim) -> None:
        servers, server = self._by_server, claim.servers[0]
        value = float(self._by_job.value[job])
        if len(claim.servers) > 1:
            self._wide_jobs.remove(job)
            self._wide = None
        else:
            at, other = self._at.pop(job), int(self._active[len(self._at)])
            if other != job:
                self._active[at], self._at[other] = other, at
            servers.jobs[server] -= 1
            if servers.jobs[server]:
                return
            self._last[server], value = value, float(servers.value[server])
        if not self._at and not self._wide_jobs:
            self._last_central = value

    def _least_central(self) -> float:
        """Least pass of nodes with jobs, and of jobs of several nodes."""
        own = self._by_server.value[self._by_server.jobs > 0]
        both = np.concatenate([own, self._by_job.value[self._wide_jobs]])
        return float(both.min()) if both.size else self._last_central

    def _own(self, server: int) -> Ints:
        active = self._active[: len(self._at)]
        return np.asarray(active[self._by_job.server[active] == server])

    def _jobs(self, server: int) -> Collection[int]:
        found: list[int] = self._own(server).tolist()
        return found

    def _arrays(self) -> tuple[Any, Any, Any, Ints, Ints]:
        """Nodes, jobs, those of several and those of one node, and room to write jobs."""
        if self._wide is None:
            self._wide = self._core.new_wide([(j, self._nodes[j]) for j in self._wide_jobs])
        if self._runs.size < len(self.claims):
            self._runs = np.empty(2 * len(self.claims), dtype=np.int64)
        active = self._active[: len(self._at)]
        return self._by_server, self._by_job, self._wide, active, self._runs

    def _quantum(self, strides: Floats) -> set[int]:
        *state, runs = self._arrays()
        count = self._core.quantum(*state, strides, self._options, runs)
        return set(runs[:count].tolist())

    def _fill(self, free: Ints, running: Collection[int], strides: Floats, part: float) -> set[int]:
        *state, runs = self._arrays()
        busy = np.fromiter(running, np.int64, len(running))
        busy = busy[busy < self._by_job.busy.size]  # others are of another pool
        self._by_job.busy[busy] = True
        count = self._core.look(*state, strides, self._options, runs, free, part)
        self._by_job.busy[busy] = False
        return set(runs[:count].tolist())

    def _forgive(self, strides: Floats) -> None:
        jobs, servers = self._by_job, self._by_server
        local, wide = self._active[: len(self._at)], np.array(self._wide_jobs, dtype=np.int64)
        own = np.flatnonzero(servers.jobs)
        gpus = np.ones(jobs.gang.size) if self.normalised else jobs.gang
        least = np.full(servers.jobs.size, np.inf)
        np.minimum.at(least, jobs.server[local], jobs.value[local])
        most = least[jobs.server[local]] + strides[jobs.user[local]] / gpus[local]
        jobs.value[local] = np.minimum(jobs.value[local], most)
        central = self._least_central()
        most = central + strides[jobs.user[wide]] / gpus[wide]
        jobs.value[wide] = np.minimum(jobs.value[wide], most)
        small = self._small[own]
        each = np.divide(small, strides, out=np.zeros(small.shape), where=small > 0)
        tickets = np.cumsum(each, axis=1)[:, -1]  # in the users' order, as in the plain pool
        gang = np.minimum(small.sum(axis=1), self._size[own]) if self.normalised else 1
        servers.value[own] = np.minimum(servers.value[own], central + gang / tickets)

    def passes(self) -> tuple[dict[int, float], dict[int, float]]:
        """Return the passes of jobs, and of nodes with jobs of their own."""
        jobs, servers = self._by_job.value, self._by_server
        return (
            {job: float(jobs[job]) for job in self.claims},
            {n: float(servers.value[n]) for n in np.flatnonzero(servers.jobs).tolist()},
        )
