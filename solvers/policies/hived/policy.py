"""HiveD: quotas as buddy cells that their users always get, lent while they are idle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ....instances import Cluster, Job, User
from ....instances.model import check_real
from ...policy import Decision, Ints, Key, Preempts, Rule, Rules, State
from ..yarn_cs.policy import quotas_of
from .buddy_cells import Buddies, Cell, cell_sizes, quota_cells
from .core import advance_by_cells, with_cells


@dataclass(slots=True)
class Holding:
    """The cells that a running job holds."""

    user: int
    physical: list[Cell]
    virtual: list[Cell]
    since: int


class Cells:
    """All cells of a cluster: of its nodes, of the quotas, and which of the one stand for which.

    Parameters
    ----------
    node : int
        GPUs of a node, a power of two.
    nodes : int
    quotas : (users,) int array
        In GPUs; at most the cluster in all.
    limits : list of int
        The most GPUs that a user may hold to borrow.

    Attributes
    ----------
    quota : list of Buddies
        Free cells of each user's quota.
    unbound : Buddies
        Cells of nodes that no top cell of a quota is bound to: lent ones are among them.
    idle : Buddies
        Those of them that are not lent.
    bound : dict of (user, root) to [Cell, int]
        Where a top cell is bound, and how many jobs' cells are in it.
    held : dict of int to Holding
        By job.
    lent : (nodes, node) int array
        The job that runs on each GPU without being guaranteed it, or -1.
    """

    def __init__(self, node: int, nodes: int, quotas: Ints, limits: list[int]) -> None:
        self.node, self.limits = node, limits
        self.quota = [Buddies(quota_cells(q, node)) for q in quotas.tolist()]
        self.unbound, self.idle = Buddies([node] * nodes), Buddies([node] * nodes)
        self.bound: dict[tuple[int, int], list[Any]] = {}
        self.held: dict[int, Holding] = {}
        self.lent = np.full((nodes, node), -1)

    def nodes(self, job: int, gpus: int) -> dict[int, int]:
        """Return the GPUs of each node that a job of this gang takes in its cells."""
        taken = {}
        for cell in self.held[job].physical:
            taken[cell.root] = min(gpus, cell.size)
            gpus -= cell.size
        return taken

    def guarantee(self, job: int, user: int, gpus: int, now: int) -> list[int] | None:
        """Give a job cells of its user's quota; return who must go, None if none is free."""
        virtual = self._take(self.quota[user], gpus)
        if virtual is None:
            return None
        gone: list[int] = []
        physical = []
        for cell in virtual:
            if (user, cell.root) not in self.bound:
                place = self._least_lent(self.quota[user].roots[cell.root])
                gone += self._call_in(place)
                self._bind(user, cell.root, place)
            physical.append(self._place(user, cell))
        self.held[job] = Holding(user, physical, virtual, now)
        return gone

    def lend(self, job: int, user: int, gpus: int, now: int) -> bool:
        """Give a job idle cells of nodes; False if there are none."""
        physical = self._take(self.idle, gpus)
        if physical is None:
            return False
        self.held[job] = Holding(user, physical, [], now)
        for cell in physical:
            self.lent[cell.root, cell.offset : cell.offset + cell.size] = job
        return True

    def secure(self, job: int) -> bool:
        """Let free top cells of its user's quota stand for the lent cells of a job, if they can.

        They can where the node cells around the lent ones are of the top cells' sizes, hold no
        other job, and are among those that :meth:`guarantee` could have bound.
        """
        own = self.held[job]
        quota, size = self.quota[own.user], own.physical[0].size
        whole = [root for root in range(len(quota.roots)) if (own.user, root) not in self.bound]
        fitting = [root for root in whole if quota.roots[root] >= size]
        if len(fitting) < len(own.physical):
            return False
        top = min(quota.roots[root] for root in fitting)
        roots = [root for root in fitting if quota.roots[root] == top]
        around = [Cell(c.root, c.offset // top * top, top) for c in own.physical]
        if len(roots) < len(around) or not all(self._bindable(cell, job) for cell in around):
            return False
        for root, place, cell in zip(roots, around, own.physical, strict=False):
            self._return(cell)
            self._bind(own.user, root, place)
            self.bound[own.user, root][1] += 1
            own.virtual.append(Cell(root, cell.offset - place.offset, cell.size))
            quota.take(own.virtual[-1])
        return True

    def release(self, job: int) -> None:
        """Take back what a job holds."""
        own = self.held.pop(job)
        for cell in own.virtual:
            self.quota[own.user].give(cell)
            binding = self.bound[own.user, cell.root]
            binding[1] -= 1
            if binding[1] == 0:
                self.unbound.give(binding[0])
                self.idle.give(binding[0])
                del self.bound[own.user, cell.root]
        for cell in own.physical if not own.virtual else ():
            self._return(cell)

    def save(self) -> dict[str, Any]:
        """Return what is held and bound, as plain data."""
        return {
            "held": [
                [j, own.user, own.since, [*map(list, own.physical)], [*map(list, own.virtual)]]
                for j, own in self.held.items()
            ],
            "bound": [[*key, list(place), count] for key, (place, count) in self.bound.items()],
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Take what was held and bound, on cells that are all free."""
        for user, root, place, count in data["bound"]:
            self._bind(user, root, Cell(*place))
            self.bound[user, root][1] = count
        for job, user, since, physical, virtual in data["held"]:
            own = Holding(user, [Cell(*c) for c in physical], [Cell(*c) for c in virtual], since)
            self.held[job] = own
            for cell in own.virtual:
                self.quota[user].take(cell)
            for cell in own.physical if not own.virtual else ():
                self.idle.take(cell)
                self.lent[cell.root, cell.offset : cell.offset + cell.size] = job

    def _take(self, free: Buddies, gpus: int) -> list[Cell] | None:
        """Cells for a gang: the smallest free ones that are large enough, lowest numbers first."""
        sizes = cell_sizes(gpus, self.node)
        if len(sizes) > 1 and len(free.free.get(self.node, ())) < len(sizes):
            return None
        taken = []
        for size in sizes:
            found = free.smallest(size)
            if found is None:
                return None
            taken.append(Cell(*min(free.free[found]), size))
            free.take(taken[-1])
        return taken

    def _least_lent(self, size: int) -> Cell:
        """The cell to bind, in the smallest free ones: fewest lent GPUs, then latest start."""
        found = self.unbound.smallest(size)
        assert found is not None, "quotas fit the cluster, and buddy search keeps it so"
        root, offset = np.array(sorted(self.unbound.free[found])).T
        parts = np.arange(0, found, size)
        root, offset = np.repeat(root, parts.size), (offset[:, None] + parts).ravel()
        lent = self.lent.reshape(-1, size)[(root * self.node + offset) // size]
        count = (lent >= 0).sum(axis=1)
        best = np.flatnonzero(count == count.min())
        if count[best[0]]:
            first = [min(self.held[j].since for j in {*row} - {-1}) for row in lent[best].tolist()]
            best = best[[np.argmax(first)]]
        return Cell(int(root[best[0]]), int(offset[best[0]]), size)

    def _call_in(self, place: Cell) -> list[int]:
        """Release the jobs that run on lent GPUs there."""
        lent = self.lent[place.root, place.offset : place.offset + place.size]
        gone = sorted(set(lent.tolist()) - {-1})
        for job in gone:
            self.release(job)
        return gone

    def _bind(self, user: int, root: int, place: Cell) -> None:
        self.unbound.take(place)
        self.idle.take(place)
        self.bound[user, root] = [place, 0]

    def _place(self, user: int, cell: Cell) -> Cell:
        """The position of a cell within its user's quota."""
        binding = self.bound[user, cell.root]
        binding[1] += 1
        return Cell(binding[0].root, binding[0].offset + cell.offset, cell.size)

    def _bindable(self, place: Cell, job: int) -> bool:
        around = self.unbound.around(place)
        lent = self.lent[place.root, place.offset : place.offset + place.size]
        return (
            around is not None
            and around.size == self.unbound.smallest(place.size)
            and set(lent.tolist()) <= {-1, job}
        )

    def _return(self, cell: Cell) -> None:
        self.idle.give(cell)
        self.lent[cell.root, cell.offset : cell.offset + cell.size] = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Hived:
    """Guarantee each user the buddy cells of its quota, and lend those that are idle.

    Parameters
    ----------
    limit : float
        A user borrows while it holds at most this many times its quota, the new job included; 0
        lends nothing, infinity sets no limit.
    backfill : bool
        False when a job that finds neither own nor lent cells holds up all later jobs of its user.
        True lets them pass.

    Notes
    -----
    Source: H. Zhao et al., "HiveD: Sharing a GPU Cluster for Deep Learning with Guarantees", OSDI
    2020: virtual clusters as cells, buddy allocation, low-priority jobs on what is idle. A quota of
    q GPUs, M W_u / sum W by largest remainder, on nodes of g (a power of two) is floor(q / g) cells
    of a node and cells of the sizes in the binary expansion of the rest. A gang takes the smallest
    free cell of its quota that holds it, halved until its size is the next power of two, or as many
    cells of whole nodes as it needs. A top cell stands for GPUs of the cluster only while jobs are
    in it; it is bound by the same search among the cells of nodes, to one with few lent GPUs.

    Our choices: users' queues are by release, jobs that were stopped first. A job that its user's
    free cells do not cover borrows idle cells, which are not bound, within the limit (1.2 as Ye et
    al.'s simulator, 2022; HiveD sets none). When they are bound, who borrows them is killed, and
    loses what it did since its lease began; of cells with equally many lent GPUs the one whose jobs
    started last is bound. When own cells become free, a borrower's cells turn into them where they
    stand, if they can. Jobs beyond both quota and limit are rejected. Run times are not used.

    Guarantee: the first waiting job of a user (with `backfill`, each of them) starts at once when
    free cells of its own quota cover it, whatever other users do, and is never stopped. With
    ``limit=0`` every user's jobs run as if it had the cluster for itself. This holds because a
    place to bind a top cell always exists: quotas fit the cluster, and where d(s) and f(s) are the
    GPUs of unbound top cells and of free cells of nodes of at least s GPUs, buddy search keeps
    d(s) <= f(s) for all s. (Binding size a within the smallest free cell b >= a takes s GPUs from
    f(s) for a < s <= b, but then f(s) = f(a) >= d(a) >= d(s) + a, in multiples of s.)

    Complexity: O((starts + users) waiting) array steps a decision, O(nodes) a binding.

    Examples
    --------
    Two users with 4 GPUs each. `u` borrows 2 for `b`, until `v` needs all of its own.

    >>> from gangsched import Cluster, Instance, Job, User, drive
    >>> jobs = [Job(id="a", gpus=4, work=300, user="u"), Job(id="b", gpus=2, work=300, user="u")]
    >>> jobs += [Job(id="c", gpus=4, work=60, user="v", release=60)]
    >>> instance = Instance(Cluster.of_sizes([4, 4]), jobs, [User("u"), User("v")])
    >>> run = drive(instance, Hived(limit=1.5), overhead=0)
    >>> run.records.first.tolist(), run.records.end.tolist()
    ([0, 0, 60], [300, 420, 120])
    """

    name: ClassVar[str] = "hived"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    one_model: ClassVar[bool] = True
    pods: ClassVar[bool] = False
    limit: float = 1.2
    backfill: bool = False

    def __post_init__(self) -> None:
        if self.limit != math.inf:
            check_real("hived", "limit", self.limit)

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Lending:
        """Begin a session.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
        rules : Rules
            Not used.

        Raises
        ------
        ValueError
            If nodes are not of one size, a power of two.
        """
        sizes = sorted(set(cluster.sizes))
        if len(sizes) > 1 or sizes[0] & (sizes[0] - 1):
            raise ValueError(
                f"hived: nodes have {', '.join(map(str, sizes))} GPUs, "
                "cells need nodes of one size, a power of two"
            )
        return Lending(self, cluster, users)

    def limits(self, quotas: Ints, gpus: int) -> list[int]:
        """Return the most GPUs that each user may hold to borrow.

        Parameters
        ----------
        quotas : (users,) int array
        gpus : int
            Of the cluster.
        """
        if self.limit == math.inf:
            return [gpus] * quotas.size
        limit = Fraction(str(self.limit))
        return [min(gpus, math.floor(limit * quota)) for quota in quotas.tolist()]


class Lending:
    """HiveD in one run: who holds which cells.

    Parameters
    ----------
    policy : Hived
    cluster : Cluster
    users : sequence of User
    """

    def __init__(self, policy: Hived, cluster: Cluster, users: Sequence[User]) -> None:
        self.policy, self.quotas = policy, quotas_of(cluster, users)
        self.number = {user.id: u for u, user in enumerate(users)}
        limits = policy.limits(self.quotas, cluster.gpus)
        self.cells = Cells(cluster.sizes[0], len(cluster.nodes), self.quotas, limits)

    def unable(self, job: Job) -> str:
        """Why neither quota nor limit will ever cover a job."""
        user, cells = self.number.get(job.user, 0), self.cells
        quota = int(self.quotas[user])
        if job.gpus <= cells.limits[user] or covers(quota, job.gpus, cells.node):
            return ""
        owner = f"user {job.user!r}'s " if self.number else "the "
        return (
            f"job {job.id!r}: gpus={job.gpus} has no cell in {owner}quota of {quota} "
            f"and exceeds the limit of {cells.limits[user]}"
        )

    @property
    def rule(self) -> Rule:
        """The compiled rule, which keeps cells of its own."""
        numbers = [*self.quotas.tolist(), *self.cells.limits]
        blocking = not self.policy.backfill
        return Rule(
            name="cells", advance=advance_by_cells, key=Key.RETURNED, by_user=True,
            numbers=tuple(map(float, numbers)), blocking=blocking, remember=with_cells,
        )  # fmt: skip

    def decide(self, state: State) -> Decision:
        """Return the jobs that start, each with its nodes, and those that are killed for them."""
        cells = self.cells
        for j in sorted(set(cells.held) - set(state.running.tolist())):
            cells.release(j)
        kill: set[int] = set()
        start: set[int] = set()
        while gone := self._walk(state, cells, kill, start):
            kill.update(gone - start)
            start -= gone
        lent = [j for j in state.running.tolist() if j not in kill and not cells.held[j].virtual]
        while secured := [j for j in lent if cells.secure(j)]:
            lent = [j for j in lent if j not in secured]
        return Decision(
            kill=sorted(kill),
            start=[(j, cells.nodes(j, int(state.gpus[j]))) for j in sorted(start)],
        )

    def next_change(self, state: State) -> None:
        """Nothing changes between arrivals and completions."""

    def _walk(self, state: State, cells: Cells, kill: set[int], start: set[int]) -> set[int]:
        """Go along the queues once; return the borrowers that lost their cells in the end."""
        jobs = self._queue(state, kill, start)
        gpus, user = state.gpus[jobs], state.user[jobs]
        used = state.user_gpus.copy()
        np.add.at(used, state.user[list(start)], state.gpus[list(start)])
        np.subtract.at(used, state.user[list(kill)], state.gpus[list(kill)])
        gone: set[int] = set()
        at = 0
        while at < jobs.size:
            j, u, wanted = int(jobs[at]), int(user[at]), int(gpus[at])
            at += 1
            lost = cells.guarantee(j, u, wanted, state.now)
            if lost:
                gone.update(lost)
                np.subtract.at(used, state.user[lost], state.gpus[lost])
            fits = used[u] + wanted <= cells.limits[u]
            if lost is not None or (fits and cells.lend(j, u, wanted, state.now)):
                start.add(j)
                used[u] += wanted
                continue
            passing = user[at:] != u
            if self.policy.backfill:
                passing |= gpus[at:] < wanted
            jobs, gpus, user, at = jobs[at:][passing], gpus[at:][passing], user[at:][passing], 0
        return gone

    def _queue(self, state: State, kill: set[int], start: set[int]) -> Ints:
        """Who waits: jobs that were stopped first, then by (release, number)."""
        jobs = state.waiting
        if kill or start:
            jobs = np.array(sorted({*jobs.tolist(), *kill} - start), dtype=np.int64)
            jobs = jobs[np.argsort(state.rank[jobs], kind="stable")]
        return jobs[np.argsort(state.starts[jobs] == 0, kind="stable")]

    def save(self) -> dict[str, Any]:
        """Return who holds which cells, and which of them stand for which."""
        return self.cells.save()

    def load(self, data: Mapping[str, Any]) -> None:
        """Continue from saved data."""
        self.cells.load(data)


def covers(quota: int, gpus: int, node: int) -> bool:
    """Return whether a quota has cells for a gang when all of them are free.

    Examples
    --------
    >>> covers(3, 2, 4), covers(3, 3, 4), covers(11, 9, 4)
    (True, False, False)
    """
    sizes = cell_sizes(gpus, node)
    return sum(size >= sizes[0] for size in quota_cells(quota, node)) >= len(sizes)
