"""Gandiva_fair on GPUs of one model: users' tickets, split stride, balanced servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..instances import Instance
from ..instances.model import check_real
from .gang_stride import StridePool, effective_tickets, least_loaded
from .policy import Decision, Floats, Ints, Preempts, Rules, State

__all__ = ["GandivaFair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GandivaFair:
    """Share every server by gang-aware stride, each user's jobs by its tickets.

    Parameters
    ----------
    threshold : float
        A job moves from the most to the least loaded server when their tickets per GPU differ by
        more than this many times the mean.

    Notes
    -----
    Source: S. Chaudhary et al., "Balancing Efficiency and Fairness in Heterogeneous GPU Clusters
    for Deep Learning", EuroSys 2020, as far as it is about one GPU model: gang-aware stride
    (Algorithm 1), split between servers and the whole cluster
    (:class:`~gangsched.solvers.gang_stride.StridePool`), tickets per GPU (1) with users'
    effective tickets, new jobs to the least loaded servers (Algorithm 2, in which the next user is
    the one with most tickets per GPU of its placed jobs: as printed it is the one with least),
    and migration between servers. Trading needs several models. Tickets are the users' weights.

    Our choices: the quantum is the driver's lease, and quanta begin at its multiples, whether or
    not leases are synchronous (the paper's is one to two minutes); a resumed job pays the driver's
    overhead where it does not go on where it was (in the paper it is next to none in place). One
    job a quantum moves, the threshold is 0.25 (the paper gives none). What becomes free within a
    quantum goes to jobs of that server at once, by pass, charged by the part of the quantum that is
    left. Quanta in which nobody waits are not charged. Run times are not used.

    Guarantee: on one server as of
    :func:`~gangsched.solvers.gang_stride.gang_aware_stride`; none for the cluster.
    Complexity: O(active jobs log) at the begin of a quantum, else O(servers + waiting jobs).

    Examples
    --------
    Two users, one of whom has twice as many jobs, on one GPU for eight quanta.

    >>> from gangsched import Cluster, Instance, Job, User, drive
    >>> jobs = [Job(id=i, gpus=1, work=600, user=u) for i, u in ("au", "bv", "cv")]
    >>> instance = Instance(Cluster.of_sizes([1]), jobs, [User("u"), User("v")])
    >>> run = drive(instance, GandivaFair(), lease=60, overhead=0, until=8 * 60)
    >>> run.records.held.tolist()
    [240, 120, 120]
    """

    name: ClassVar[str] = "gandiva-fair"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    threshold: float = 0.25
    _kept: list[StridePool] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_real("gandiva-fair", "threshold", self.threshold)

    def unable(self, instance: Instance[Any], rules: Rules) -> Mapping[int, str]:
        """Return the jobs for which there are not enough servers of one size.

        Parameters
        ----------
        instance : Instance
        rules : Rules
            Not used.
        """
        sizes = instance.cluster.sizes
        zero = [0] * len(sizes)
        gangs = {job.gpus for job in instance.jobs}
        never = {gang for gang in gangs if least_loaded(gang, zero, sizes, sizes) is None}
        return {
            j: f"job {job.id!r}: gpus={job.gpus} exceeds the nodes of any one size"
            for j, job in enumerate(instance.jobs)
            if job.gpus in never
        }

    def decide(self, state: State) -> Decision:
        """Return who stops and who starts where."""
        pool = self._pool(state)
        tickets = _worth(state)
        self._place(state, pool, tickets)
        per_gpu = _per_gpu(tickets, pool.gpus.sum(axis=0))
        strides = np.divide(1.0, per_gpu, out=np.zeros_like(per_gpu), where=per_gpu > 0).tolist()
        quantum = state.rules.lease_length
        gone = state.now % quantum
        before = set(state.running.tolist())
        moved: set[int] = set()
        if gone:
            part = (quantum - gone) / quantum
            running = before | pool.fill(state.free.tolist(), before, strides, part)
        else:
            move = pool.imbalance(per_gpu, self.threshold)
            if move is not None:
                pool.move(*move, state.now)
                moved.add(move[0])
            running = pool.quantum(strides)
        stay = (before & running) - moved
        return Decision(
            suspend=sorted(before - stay),
            start=[(j, pool.nodes(j)) for j in sorted(running - stay)],
        )

    def next_change(self, state: State) -> int:
        """Return the begin of the next quantum."""
        quantum = state.rules.lease_length
        return (state.now // quantum + 1) * quantum

    def _pool(self, state: State) -> StridePool:
        """Servers with the jobs that are there; anew where none has run yet."""
        if not state.running.size and not state.starts.any():
            self._kept.clear()
        if not self._kept:
            self._kept.append(StridePool(state.sizes.tolist(), state.quota.size))
        pool = self._kept[0]
        for j in sorted(set(pool.claims) - {*state.waiting.tolist(), *state.running.tolist()}):
            pool.remove(j)
        return pool

    def _place(self, state: State, pool: StridePool, tickets: Floats) -> None:
        """Give new jobs their servers, those of the user with most tickets per GPU first."""
        queues: dict[int, list[int]] = {}
        for j in state.waiting[::-1].tolist():
            if j not in pool.claims:
                queues.setdefault(int(state.user[j]), []).append(j)
        while queues:
            demand = pool.gpus.sum(axis=0)
            user = min(queues, key=lambda u: (demand[u] / tickets[u], u))
            j = queues[user].pop()
            gang = int(state.gpus[j])
            demand[user] += gang
            loads = pool.loads(_per_gpu(tickets, demand)).tolist()
            servers = least_loaded(gang, loads, pool.left(), pool.sizes)
            assert servers is not None, "others are rejected before the run"
            pool.add(j, gang, user, servers, state.now)
            queues = {u: queue for u, queue in queues.items() if queue}


def _worth(state: State) -> Floats:
    """Effective tickets of each user, in GPUs; 0 for those without active jobs."""
    jobs = np.concatenate([state.waiting, state.running])
    demand = np.bincount(state.user[jobs], weights=state.gpus[jobs], minlength=state.quota.size)
    tickets = np.zeros(demand.size)
    active = demand > 0
    gpus = int(state.sizes.sum())
    tickets[active] = effective_tickets(state.quota[active], demand[active], gpus)
    return tickets


def _per_gpu(tickets: Floats, demand: Ints) -> Floats:
    """Tickets per GPU, eq. (1)."""
    return np.divide(tickets, demand, out=np.zeros_like(tickets), where=demand > 0)
