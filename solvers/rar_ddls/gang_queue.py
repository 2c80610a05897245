"""Running gangs one after another under contention: the machinery below every list algorithm.

A :class:`GangQueue` is a cluster in which gangs start when told and end when RAR-DDLS' contention
model (6)-(9) says. Time moves from completion to completion. :func:`head_of_line` serves jobs in a
fixed order, strictly: while the first waiting job does not fit, nothing else starts (reading A of
"waiting for some job to exit" in Algorithms 2 and 3 of Yu et al.). :func:`backfill` lets later jobs
start in the meantime.

This is the readable reference. :mod:`gangsched.solvers.rar_ddls.gang_queue_core` does the same
compiled; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...formulations.rar_ddls.problem import RarDdls
from ...instances.arrays import Ints
from ...instances.schedule import Schedule

__all__ = ["GangQueue", "Plan", "backfill", "head_of_line"]

#: returns the GPUs (numbers over the whole cluster) that a job starts on now, None to wait
Choose = Callable[["GangQueue", int], list[int] | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run of the queue gives, by job number.

    Parameters
    ----------
    start, end : (jobs,) int arrays
        Slots.
    gpus : sequence of int arrays
        GPUs of each job, numbered over the whole cluster, rising.
    load : int
        W_hat, the largest sum of estimated times on one GPU.
    """

    start: Ints
    end: Ints
    gpus: Sequence[Ints]
    load: int

    @property
    def makespan(self) -> int:
        """Last completion, in slots."""
        return int(self.end.max(initial=0))

    def schedule(self, problem: RarDdls) -> Schedule:
        """Return the plan as a schedule that carries GPU identities."""
        sizes = np.array(problem.instance.cluster.sizes)
        node_of = np.repeat(np.arange(sizes.size), sizes)
        first = np.cumsum(sizes) - sizes
        gpus = np.concatenate([np.zeros(0, dtype=np.int64), *self.gpus])
        job = np.repeat(np.arange(len(self.gpus)), [len(g) for g in self.gpus])
        node = node_of[gpus]
        entries, counts = np.unique(job * sizes.size + node, return_counts=True)
        spans = np.bincount(entries // sizes.size, minlength=len(self.gpus))
        return Schedule(
            job=np.arange(len(self.gpus)),
            start=self.start,
            end=self.end,
            ptr=np.concatenate([[0], np.cumsum(spans)]),
            node=entries % sizes.size,
            gpus=counts,
            device=gpus - first[node],
        )


class GangQueue:
    """State of the cluster while a list algorithm runs.

    Attributes
    ----------
    now : int
        Slot.
    idle : list of bool
        Whether each GPU (numbered over the whole cluster) is idle.
    free : int
        Number of idle GPUs.
    load : list of int
        U_s^g: sum of estimated times of the jobs that each GPU was given so far.
    node_load : list of int
        Sum of the loads of each node's GPUs.
    rho : list of int
        rho_hat_j of each job.
    node : list of int
        Node of each GPU.
    running : dict of int to int
        Remaining progress of each running job.
    """

    def __init__(self, problem: RarDdls, rho: Ints) -> None:
        self.problem = problem
        self.rho: list[int] = rho.tolist()
        self.sizes = problem.instance.cluster.sizes
        self.node = [s for s, size in enumerate(self.sizes) for _ in range(size)]
        self.now = 0
        self.idle = [True] * len(self.node)
        self.free = len(self.node)
        self.load = [0] * len(self.node)
        self.node_load = [0] * len(self.sizes)
        self.running: dict[int, int] = {}
        self._gang = [job.gpus for job in problem.jobs]
        self._start = [0] * len(problem.jobs)
        self._end = [0] * len(problem.jobs)
        self._gpus: list[list[int]] = [[] for _ in problem.jobs]
        self._span: list[list[int]] = [[] for _ in problem.jobs]
        self._crossing = [0] * len(self.sizes)
        self._speed: dict[int, int] = {}

    def gang(self, job: int) -> int:
        """G_j."""
        return self._gang[job]

    def begin(self, job: int, gpus: Sequence[int]) -> None:
        """Start `job` now on `gpus` and add its estimated time to their load."""
        for g in gpus:
            self.idle[g] = False
            self.load[g] += self.rho[job]
            self.node_load[self.node[g]] += self.rho[job]
        self.free -= len(gpus)
        self._start[job], self._gpus[job] = self.now, sorted(gpus)
        self._span[job] = sorted({self.node[g] for g in gpus})
        self.running[job] = self.problem.jobs[job].iterations * self.problem.resolution
        self._cross(job, 1)

    def _cross(self, job: int, change: int) -> None:
        """Count a spanning job in or out, eq. (6), and renew the speeds that change with it."""
        span = self._span[job]
        rates = self.problem.rates
        if len(span) == 1:
            self._speed[job] = int(rates[job, 0, 0])
            return
        for s in span:
            self._crossing[s] += change
        most = rates.shape[2] - 1
        for j in self.running:
            nodes = self._span[j]
            if len(nodes) > 1:
                p = max(self._crossing[s] for s in nodes)
                self._speed[j] = int(rates[j, len(nodes) - 1, min(p, most)])

    def advance(self) -> bool:
        """Go to the next completion; False where no running job can ever complete."""
        steps = [-(-left // self._speed[j]) for j, left in self.running.items() if self._speed[j]]
        if not steps:
            return False
        step = min(steps)
        self.now += step
        for j in self.running:
            self.running[j] -= self._speed[j] * step
        for j in [j for j, left in self.running.items() if left <= 0]:
            del self.running[j]
            self._end[j] = self.now
            self.free += len(self._gpus[j])
            for g in self._gpus[j]:
                self.idle[g] = True
            self._cross(j, -1)
        return True

    def plan(self) -> Plan | None:
        """Let all running jobs complete and return the plan; None where one never does."""
        while self.running:
            if not self.advance():
                return None
        gpus = [np.array(g, dtype=np.int64) for g in self._gpus]
        return Plan(np.array(self._start), np.array(self._end), gpus, max(self.load))


def head_of_line(problem: RarDdls, rho: Ints, order: Sequence[int], choose: Choose) -> Plan | None:
    """Start jobs strictly in `order`; the first waiting job is tried again at each completion.

    Returns
    -------
    Plan or None
        None when a job can start neither now nor after any completion, or never completes.
    """
    queue = GangQueue(problem, rho)
    for job in order:
        while queue.free < queue.gang(job) or (gpus := choose(queue, job)) is None:
            if not queue.advance():
                return None
        queue.begin(job, gpus)
    return queue.plan()


def backfill(problem: RarDdls, rho: Ints, order: Sequence[int], choose: Choose) -> Plan | None:
    """Start at each completion every waiting job that fits, tried in `order`."""
    queue = GangQueue(problem, rho)
    waiting = list(order)
    while waiting:
        still = []
        for job in waiting:
            gpus = choose(queue, job) if queue.gang(job) <= queue.free else None
            if gpus is None:
                still.append(job)
            else:
                queue.begin(job, gpus)
        waiting = still
        if waiting and not queue.advance():
            return None
    return queue.plan()
