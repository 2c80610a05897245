"""Gang-aware stride scheduling, on one server and split over many, as in Gandiva_fair.

Nothing here knows of the trace driver: jobs are numbers, time is counted in quanta. Servers have
GPUs of one model; a cluster of several models has one :class:`StridePool` for each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .baselines.water_filling import water_filling
from .policy import Floats

__all__ = [
    "Claim",
    "StridePool",
    "effective_tickets",
    "gang_aware_stride",
    "least_loaded",
    "stride_quantum",
]

Key = TypeVar("Key")
#: decimals to which passes are compared, so that rounding breaks no ties
DECIMALS = 6


def effective_tickets(tickets: ArrayLike, demands: ArrayLike, gpus: int) -> Floats:
    """Return the GPUs that each user's tickets are worth.

    In proportion to tickets, at most what the user demands; what that leaves goes to the others
    (Section 3.2 of Chaudhary et al., the weight readjustment that it refers to).

    Parameters
    ----------
    tickets : (users,) array
        Positive.
    demands : (users,) array of int
        GPUs of the user's active jobs, positive.
    gpus : int

    Examples
    --------
    >>> effective_tickets([1, 1, 1], [4, 4, 2], 8).tolist()
    [3.0, 3.0, 2.0]
    """
    demand = np.asarray(demands, dtype=np.float64)
    return np.asarray(water_filling(demand, gpus, tickets) * demand)


def stride_quantum(
    passes: Sequence[float],
    strides: Sequence[float],
    take: Callable[[int], bool],
    *,
    part: float = 1.0,
) -> tuple[list[int], list[float]]:
    """Return who runs in the next quantum, and the passes after it.

    Parameters
    ----------
    passes, strides : sequences of float
        In the order in which ties are broken.
    take : callable
        Whether what the i-th asks for is free; if so, it is taken. Asked by rising pass.
    part : float
        Of a quantum, for which who runs is charged.

    Notes
    -----
    Algorithm 1 of Chaudhary et al.: by rising pass, who does not fit is skipped and keeps its pass.
    Where nobody is skipped, no pass stays more than its stride above the least (our choice). As
    printed, jobs that run because nobody else wants their GPUs pile up a debt, and wait for as long
    when somebody comes.

    Examples
    --------
    >>> stride_quantum([0.0, 0.0], [1.0, 2.0], lambda i: i == 1)
    ([1], [0.0, 2.0])
    """
    order = sorted(range(len(passes)), key=lambda i: (round(passes[i], DECIMALS), i))
    runs = [i for i in order if take(i)]
    after = list(passes)
    for i in runs:
        after[i] += part * strides[i]
    if runs and len(runs) == len(order):
        least = min(after)
        after = [min(now, least + stride) for now, stride in zip(after, strides, strict=True)]
    return runs, after


def gang_aware_stride(
    passes: Sequence[float], strides: Sequence[float], gangs: Sequence[int], gpus: int
) -> tuple[list[int], list[float]]:
    """Return which gangs run on a server in the next quantum, and the passes after it.

    Parameters
    ----------
    passes, strides : sequences of float
        A stride is GPUs of the gang over tickets of the job. In the order in which ties are broken.
    gangs : sequence of int
    gpus : int
        Of the server.

    Notes
    -----
    Guarantee for a fixed set of jobs of which some are always skipped: the k-th run of a job does
    not come later than under stride scheduling of one job a quantum, as the job of least pass
    always runs; so nobody starves. On one GPU a job of share w among n runs in at most one quantum
    more than w T of T quanta, and in at most w (n - 1) less. There is no such bound for gangs,
    which do not always pack.

    Examples
    --------
    Three users with equal tickets and two jobs each, of 1, 2 and 4 GPUs, on a server of 4.

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

    return stride_quantum(passes, strides, take)


def least_loaded(
    gang: int, loads: Sequence[float], left: Sequence[int], sizes: Sequence[int]
) -> tuple[int, ...] | None:
    """Return the servers for a job, or None where there are none.

    Parameters
    ----------
    gang : int
    loads : sequence of float
        Tickets per GPU of each server.
    left : sequence of int
        GPUs that its jobs would leave free if all of them ran.
    sizes : sequence of int
        GPUs of each server.

    Notes
    -----
    A job that fits on a server gets the one with the least load; others get as many servers of one
    size as they need, of the smallest possible size. Of equal loads, the server that keeps the
    fewest GPUs left among those where the job fits into what is left, then the first.

    Examples
    --------
    >>> least_loaded(2, [0.5, 0.25, 0.25], [0, 4, 2], [4, 4, 4])
    (2,)
    >>> least_loaded(6, [0.5, 0.25, 0.25], [0, 4, 2], [4, 4, 4])
    (1, 2)
    """
    servers = [n for n, size in enumerate(sizes) if size >= gang]
    count = 1
    for size in sorted(set(sizes)) if not servers else ():
        count = -(-gang // size)
        servers = [n for n, other in enumerate(sizes) if other == size]
        if len(servers) >= count:
            break
    if len(servers) < count:
        return None

    def key(n: int) -> tuple[float, bool, int, int]:
        need = min(gang, sizes[n])
        return round(loads[n], DECIMALS), left[n] < need, max(left[n] - need, 0), n

    return tuple(sorted(servers, key=key)[:count])


@dataclass(slots=True, kw_only=True)
class Claim:
    """What a job has in a pool.

    Parameters
    ----------
    gang : int
    user : int
    servers : tuple of int
    arrival : int
        When it came, for ties.
    value : float
        Its pass: among the jobs of its server, or among servers and jobs of several servers.
    """

    gang: int
    user: int
    servers: tuple[int, ...]
    arrival: int
    value: float


class StridePool:
    """Servers with GPUs of one model, under split stride scheduling.

    A job that fits on a server shares it with others by the server's own gang-aware stride. Jobs of
    several servers, and each server's small jobs as a whole, are scheduled centrally.

    Parameters
    ----------
    sizes : sequence of int
        GPUs of each server.
    users : int

    Attributes
    ----------
    claims : dict of int to Claim
        By job.
    gpus : (servers, users) int array
        GPUs that each user's jobs ask for on each server.

    Notes
    -----
    Source: S. Chaudhary et al., "Balancing Efficiency and Fairness in Heterogeneous GPU Clusters
    for Deep Learning", EuroSys 2020, Sections 3.1 and 3.2. Strides are GPUs per ticket, also
    centrally: the paper's Table 2 and Section 5.2 need that, its example of two thirds to one third
    in Section 3.1 contradicts it. Our choices: the small jobs of a server count as one of as many
    GPUs as they ask for, at most the server's; it is served with the whole server. Ties go to who
    came first, then to the smaller gang (with the smaller gang first, which Table 2 would allow, a
    wide job starves where small ones keep coming). A newcomer has the least pass of the others, or
    the last one of those that have gone. GPUs that a job leaves free on its last server go to that
    server's jobs, which are charged as always.

    Examples
    --------
    One user's small jobs fill both servers, the other's job takes both, with equal tickets.

    >>> pool = StridePool([2, 2], 2)
    >>> for job, server in enumerate([0, 0, 1, 1]):
    ...     pool.add(job, 1, 0, (server,), 0)
    >>> pool.add(4, 4, 1, (0, 1), 0)
    >>> [sorted(pool.quantum([2.0, 2.0])) for _ in range(4)]
    [[0, 1, 2, 3], [4], [0, 1, 2, 3], [4]]
    """

    def __init__(self, sizes: Sequence[int], users: int) -> None:
        self.sizes = list(sizes)
        self.claims: dict[int, Claim] = {}
        self.gpus = np.zeros((len(self.sizes), users), dtype=np.int64)
        self._local: list[dict[int, Claim]] = [{} for _ in self.sizes]
        self._central: dict[tuple[bool, int], Claim] = {}  # (is a job, job or server)
        self._last = [0.0] * len(self.sizes)
        self._last_central = 0.0

    def add(self, job: int, gang: int, user: int, servers: tuple[int, ...], now: int) -> None:
        """Let a job share these servers.

        Parameters
        ----------
        job, gang, user : int
        servers : tuple of int
            One, or several of one size, of which all but the last are filled.
        now : int
        """
        claim = Claim(gang=gang, user=user, servers=servers, arrival=now, value=0.0)
        self.claims[job] = claim
        if len(servers) > 1:
            self._enter((True, job), claim)
        else:
            self._join(job, claim, now)
        for server, count in self.nodes(job).items():
            self.gpus[server, user] += count

    def remove(self, job: int) -> None:
        """Forget a job.

        Parameters
        ----------
        job : int
        """
        claim = self.claims[job]
        for server, count in self.nodes(job).items():
            self.gpus[server, claim.user] -= count
        if len(claim.servers) > 1:
            self._leave((True, job))
        else:
            self._part(job, claim)
        del self.claims[job]

    def move(self, job: int, server: int, now: int) -> None:
        """Let a job share another server than its only one until now.

        Parameters
        ----------
        job, server, now : int
        """
        claim = self.claims[job]
        self._part(job, claim)
        self.gpus[claim.servers[0], claim.user] -= claim.gang
        self.gpus[server, claim.user] += claim.gang
        claim.servers = (server,)
        self._join(job, claim, now)

    def nodes(self, job: int) -> dict[int, int]:
        """Return the GPUs that a job takes on each of its servers.

        Parameters
        ----------
        job : int
        """
        claim, taken = self.claims[job], {}
        rest = claim.gang
        for server in claim.servers:
            taken[server] = min(rest, self.sizes[server])
            rest -= taken[server]
        return taken

    def left(self) -> list[int]:
        """Return how many GPUs of each server would be free if all its jobs ran."""
        found: list[int] = (np.array(self.sizes) - self.gpus.sum(axis=1)).tolist()
        return found

    def loads(self, tickets: ArrayLike) -> Floats:
        """Return the tickets per GPU of each server, eq. (2).

        Parameters
        ----------
        tickets : (users,) array
            Tickets per GPU of each user's jobs, eq. (1).
        """
        return np.asarray(self.gpus @ np.asarray(tickets) / np.array(self.sizes))

    def imbalance(self, tickets: ArrayLike, threshold: float) -> tuple[int, int] | None:
        """Return the job to move from the most to the least loaded server, and the latter.

        Parameters
        ----------
        tickets : (users,) array
            Tickets per GPU of each user's jobs, eq. (1).
        threshold : float
            None moves unless the two loads differ by more than this many times the mean load.

        Notes
        -----
        The job after whose move these two loads are closest, if they then are closer than before;
        ties to the lower number. Jobs of several servers stay.
        """
        loads, price = self.loads(tickets), np.asarray(tickets)
        most, least = int(loads.argmax()), int(loads.argmin())
        gap = float(loads[most] - loads[least])
        if gap <= threshold * float(loads.mean()):
            return None

        def after(job: int) -> float:
            moved = float(self._local[most][job].gang * price[self._local[most][job].user])
            return round(abs(gap - moved / self.sizes[most] - moved / self.sizes[least]), DECIMALS)

        able = [j for j, own in self._local[most].items() if own.gang <= self.sizes[least]]
        best = min(able, key=lambda j: (after(j), j), default=-1)
        return (best, least) if able and after(best) < round(gap, DECIMALS) else None

    def quantum(self, strides: Sequence[float]) -> set[int]:
        """Return the jobs that run in the next quantum, and charge them.

        Parameters
        ----------
        strides : (users,) sequence of float
            Of each user's jobs: the inverse of eq. (1).
        """
        room = [0] * len(self.sizes)
        free = [True] * len(self.sizes)
        running: set[int] = set()

        def take(key: tuple[bool, int]) -> bool:
            servers = self._central[key].servers
            if not all(free[n] for n in servers):
                return False
            for n in servers:
                free[n] = False
            last = servers[-1]
            room[last] = self.sizes[last] - (self.nodes(key[1])[last] if key[0] else 0)
            running.update([key[1]] if key[0] else [])
            return True

        own = {key: self._stride(key, strides) for key in self._central}
        _serve(self._central, own, take, 1.0)
        for server, gpus in enumerate(room):
            running.update(self._share(server, gpus, strides, 1.0))
        return running

    def fill(
        self, free: Sequence[int], running: set[int], strides: Sequence[float], part: float
    ) -> set[int]:
        """Return the jobs that begin now, in the middle of a quantum, on what is free.

        By rising pass: jobs of several servers where nobody runs, others where they find room.
        Right after :meth:`quantum` nobody can begin.

        Parameters
        ----------
        free : sequence of int
            GPUs of each server.
        running : set of int
            Jobs that run already.
        strides : (users,) sequence of float
        part : float
            Of the quantum that is left, for which jobs are charged.
        """
        free, begin = list(free), set()
        for key in sorted(self._central, key=lambda key: _turn(self._central, key)):
            if not key[0]:
                server = key[1]
                begun = self._share(server, free[server], strides, part, running)
                free[server] -= sum(self.claims[job].gang for job in begun)
                begin.update(begun)
            elif key[1] not in running:
                nodes = self.nodes(key[1])
                if all(free[n] == self.sizes[n] for n in nodes):
                    for n, count in nodes.items():
                        free[n] -= count
                    self._central[key].value += part * strides[self._central[key].user]
                    begin.add(key[1])
        return begin

    def _share(
        self,
        server: int,
        gpus: int,
        strides: Sequence[float],
        part: float,
        running: Collection[int] = (),
    ) -> list[int]:
        """The server's own stride among its jobs that do not run."""
        if not gpus:
            return []
        claims = {job: own for job, own in self._local[server].items() if job not in running}
        room = gpus

        def take(job: int) -> bool:
            nonlocal room
            fits = claims[job].gang <= room
            room -= claims[job].gang if fits else 0
            return fits

        return _serve(claims, {j: strides[own.user] for j, own in claims.items()}, take, part)

    def _stride(self, key: tuple[bool, int], strides: Sequence[float]) -> float:
        """Of a job of several servers, or of a server's small jobs together."""
        if key[0]:
            return strides[self._central[key].user]
        claim, local = self._central[key], self._local[key[1]].values()
        asked = sum(own.gang for own in local)
        claim.gang = min(asked, self.sizes[key[1]])
        return claim.gang / sum(own.gang / strides[own.user] for own in local)

    def _join(self, job: int, claim: Claim, now: int) -> None:
        server = claim.servers[0]
        local = self._local[server]
        claim.value = min((own.value for own in local.values()), default=self._last[server])
        if not local:
            whole = Claim(gang=claim.gang, user=-1, servers=(server,), arrival=now, value=0.0)
            self._enter((False, server), whole)
        local[job] = claim

    def _part(self, job: int, claim: Claim) -> None:
        server = claim.servers[0]
        del self._local[server][job]
        if not self._local[server]:
            self._last[server] = claim.value
            self._leave((False, server))

    def _enter(self, key: tuple[bool, int], claim: Claim) -> None:
        others = (own.value for own in self._central.values())
        claim.value = min(others, default=self._last_central)
        self._central[key] = claim

    def _leave(self, key: tuple[bool, int]) -> None:
        claim = self._central.pop(key)
        if not self._central:
            self._last_central = claim.value


def _turn(claims: Mapping[Key, Claim], key: Key) -> tuple[Any, ...]:
    """By rising pass, then who came first, then the smaller gang."""
    own = claims[key]
    return round(own.value, DECIMALS), own.arrival, own.gang, key


def _serve(
    claims: Mapping[Key, Claim],
    strides: Mapping[Key, float],
    take: Callable[[Key], bool],
    part: float,
) -> list[Key]:
    """Charge and return those who run."""
    keys = sorted(claims, key=lambda key: _turn(claims, key))
    runs, after = stride_quantum(
        [claims[key].value for key in keys],
        [strides[key] for key in keys],
        lambda i: take(keys[i]),
        part=part,
    )
    for key, value in zip(keys, after, strict=True):
        claims[key].value = value
    return [keys[i] for i in runs]
