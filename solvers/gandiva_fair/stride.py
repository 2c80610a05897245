"""Gang-aware stride scheduling, on one node and split over many, as in Gandiva_fair.

Nothing here knows of the trace driver: jobs are numbers, time is counted in quanta. Nodes have
GPUs of one model; a cluster of several models has one :class:`StridePool` for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...formulations.gandiva_fair import problem
from ..policy import Floats

#: what decides between equal passes first: who came first, or the smaller gang
Ties = Literal["arrival", "size"]
#: of the central stride: (False, node) or (True, job)
Entry = tuple[bool, int]
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
    exact = [Fraction(one) for one in np.asarray(tickets, dtype=np.float64).tolist()]
    demand = np.asarray(demands, dtype=np.float64).tolist()
    return np.array([float(worth) for worth in problem.effective_tickets(exact, demand, gpus)])


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

    A quantum takes O(jobs log jobs + nodes (log nodes + users)), a look within one the same without
    what is busy. Gandiva_fair has the same as machine code, with which tests compare it.

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
        self._small = np.zeros_like(self.gpus)  # of jobs of one node
        self._nodes: dict[int, dict[int, int]] = {}
        self._value: dict[int, float] = {}  # passes of jobs of one node
        self._local: list[set[int]] = [set() for _ in self.sizes]
        self._last = [0.0 for _ in self.sizes]  # pass of the last job that has gone
        self._central: dict[Entry, float] = {}
        self._last_central = 0.0
        self._since: dict[int, int] = {}  # when a node got jobs

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

    def _count(self, job: int, sign: int) -> None:
        user, nodes = self.claims[job].user, self._nodes[job]
        for server, count in nodes.items():
            self.gpus[server, user] += sign * count
            if len(nodes) == 1:
                self._small[server, user] += sign * count
            self.demand[user] += sign * count

    def _enter(self, job: int, claim: GpuClaim, now: int) -> None:
        least = min(self._central.values(), default=self._last_central)
        if len(claim.servers) > 1:
            self._central[True, job] = least
            return
        (server,) = claim.servers
        local = self._local[server]
        if not local:
            self._central[False, server], self._since[server] = least, now
        self._value[job] = min((self._value[j] for j in local), default=self._last[server])
        local.add(job)

    def _leave(self, job: int, claim: GpuClaim) -> None:
        entry = (True, job)
        if len(claim.servers) == 1:
            (server,) = claim.servers
            value = self._value.pop(job)
            self._local[server].remove(job)
            if self._local[server]:
                return
            self._last[server], entry = value, (False, server)
        value = self._central.pop(entry)
        if not self._central:
            self._last_central = value

    def nodes(self, job: int) -> dict[int, int]:
        """Return the GPUs that a job takes on each of its nodes."""
        return self._nodes[job]

    def quantum(self, strides: ArrayLike) -> set[int]:
        """Return the jobs that run in the next quantum, and charge them."""
        own = self._checked(strides)
        room = [0] * len(self.sizes)
        free = [True] * len(self.sizes)
        running: set[int] = set()

        def take(i: int) -> bool:
            is_job, number = entries[i]
            nodes = self._nodes[number] if is_job else {number: 0}
            if not all(free[n] for n in nodes):
                return False
            for n, count in nodes.items():
                free[n], room[n] = False, self.sizes[n] - count
            running.update([number] if is_job else [])
            return True

        entries = self._in_turn(self._central, own)
        passes = [self._central[entry] for entry in entries]
        each = [self._aggregate(entry, own)[0] for entry in entries]
        _, after = stride_quantum(passes, each, take, debt_cap=self.debt_cap)
        self._central.update(zip(entries, after, strict=True))
        for server, gpus in enumerate(room):
            running.update(self._share(server, gpus, own, 1.0, ()))
        return running

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

    def _share(
        self, server: int, gpus: int, strides: Floats, part: float, running: Collection[int]
    ) -> list[int]:
        """The node's own stride among its jobs that do not run."""
        jobs = [job for job in self._local[server] if job not in running] if gpus else []
        jobs.sort(
            key=lambda job: self._key(
                self._value[job], self.claims[job].arrival, self.claims[job].gang, job
            )
        )
        room = gpus

        def take(i: int) -> bool:
            nonlocal room
            fits = self.claims[jobs[i]].gang <= room
            room -= self.claims[jobs[i]].gang if fits else 0
            return fits

        runs, after = stride_quantum(
            [self._value[job] for job in jobs],
            [self._stride(job, strides) for job in jobs],
            take,
            part=part,
            debt_cap=self.debt_cap,
        )
        self._value.update(zip(jobs, after, strict=True))
        return [jobs[i] for i in runs]

    def _stride(self, job: int, strides: Floats) -> float:
        claim = self.claims[job]
        return float(strides[claim.user] / (1 if self.normalised else claim.gang))

    def _aggregate(self, entry: Entry, strides: Floats) -> tuple[float, int]:
        """Stride and GPUs of a job of several nodes, or of a node's own jobs together."""
        is_job, number = entry
        if is_job:
            return self._stride(number, strides), self.claims[number].gang
        asked, tickets = 0, 0.0
        for user in np.flatnonzero(self._small[number]).tolist():
            asked += int(self._small[number, user])
            tickets += float(self._small[number, user] / strides[user])
        gang = min(asked, self.sizes[number])
        return (gang if self.normalised else 1) / tickets, gang

    def _key(self, value: float, since: int, gang: int, last: Any) -> tuple[Any, ...]:
        """By rising pass, ties as the options say."""
        ties = (gang, since) if self.ties == "size" else (since, gang)
        return _turn(value), *ties, last

    def _in_turn(self, central: Mapping[Entry, float], strides: Floats) -> list[Entry]:
        def key(entry: Entry) -> tuple[Any, ...]:
            is_job, number = entry
            since = self.claims[number].arrival if is_job else self._since[number]
            gang = self._aggregate(entry, strides)[1]
            return self._key(central[entry], since, gang, entry)

        return sorted(central, key=key)
