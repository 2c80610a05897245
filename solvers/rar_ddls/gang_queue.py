"""Running gangs one after another under contention: the machinery below every list algorithm.

A :class:`GangQueue` is a cluster in which gangs start when told and end when RAR-DDLS' contention
model (6)-(9) says. Time moves from completion to completion. :func:`head_of_line` serves jobs in a
fixed order, strictly: while the first waiting job does not fit, nothing else starts (reading A of
"waiting for some job to exit" in Algorithms 2 and 3 of Yu et al.). :func:`backfill` lets later jobs
start in the meantime. Both take any rule for the GPUs of a job; :class:`CompiledQueue` runs those
of the paper as machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...formulations.rar_ddls.problem import RarDdls
from ...instances.arrays import Ints
from ...instances.schedule import Schedule

if TYPE_CHECKING:
    from .gang_queue_core import QueueArrays

__all__ = ["CompiledQueue", "GangQueue", "Plan", "backfill", "head_of_line"]

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

    @classmethod
    def of(cls, queue: QueueArrays) -> Plan:
        """Return what became of the jobs of a queue."""
        places = pairwise([*queue.at, len(queue.chosen)])
        gpus = [np.array(queue.chosen[a:b], dtype=np.int64) for a, b in places]
        start, end = np.array(queue.start), np.array(queue.end)
        return cls(start, end, gpus, int(max(queue.load, default=0)))

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


def _all_idle(problem: RarDdls, rho: Ints) -> QueueArrays:
    """All GPUs idle, and no job has begun."""
    from .gang_queue_core import QueueArrays  # numba takes a second to import

    sizes = np.array(problem.instance.cluster.sizes, dtype=np.int64)
    gang = np.array([job.gpus for job in problem.jobs], dtype=np.int64)
    work = [job.iterations * problem.resolution for job in problem.jobs]
    node = np.repeat(np.arange(sizes.size), sizes)
    start, end, span_len, run, speed = (np.zeros(gang.size, dtype=np.int64) for _ in range(5))
    chosen, span = (np.zeros(int(gang.sum()), dtype=np.int64) for _ in range(2))
    return QueueArrays(
        gang=gang, rates=problem.rates, rho=rho.astype(np.int64), node=node,
        at=np.cumsum(gang) - gang, idle=np.ones(node.size, dtype=np.bool_), free=sizes.copy(),
        load=np.zeros(node.size, dtype=np.int64), crossing=np.zeros(sizes.size, dtype=np.int64),
        start=start, end=end, chosen=chosen, span=span, span_len=span_len, run=run,
        left=np.array(work, dtype=np.int64), speed=speed, clock=np.array([0, 0, node.size]),
    )  # fmt: skip


class CompiledQueue:
    """Runs of one problem by the paper's placement rules, as machine code.

    Parameters
    ----------
    problem : RarDdls
    rho : (jobs,) int array
        rho_hat_j in slots.
    """

    def __init__(self, problem: RarDdls, rho: Ints) -> None:
        self._idle = _all_idle(problem, rho)
        self._sizes = np.array(problem.instance.cluster.sizes, dtype=np.int64)

    def head_of_line(
        self, order: Ints, rule: Ints, *, limit: float = float("inf"), reach: float = 1.0
    ) -> Plan | None:
        """Serve jobs strictly in `order`; job ``order[i]`` is placed by ``rule[order[i]]``."""
        from . import gang_queue_core as core

        queue, sizes = self._queue(), self._sizes
        selected, busy = np.ones(sizes.size, dtype=np.bool_), np.zeros(sizes.size)
        admissible, picked = np.zeros((2, queue.node.size), dtype=np.int64)
        most, room = int(min(limit, core.NO_LIMIT)), (selected, busy, admissible, picked)
        done = core.serve_in_order(queue, sizes, order, rule, most, reach, *room)
        return Plan.of(queue) if done else None

    def backfill(self, order: Ints) -> Plan | None:
        """Start at each completion every waiting job that fits, packed on few nodes."""
        from . import gang_queue_core as core

        queue, sizes = self._queue(), self._sizes
        taken = np.zeros(sizes.size, dtype=np.bool_)
        picked = np.zeros(queue.node.size, dtype=np.int64)
        room = np.cumsum(sizes) - sizes, taken, picked
        done = core.serve_who_fits(queue, sizes, order.copy(), *room)
        return Plan.of(queue) if done else None

    def _queue(self) -> QueueArrays:
        """A new queue; what no run changes is shared."""
        idle = self._idle
        fixed = {"gang", "rates", "rho", "node", "at"}
        own = {name: getattr(idle, name).copy() for name in idle._fields if name not in fixed}
        return idle._replace(**own)


class GangQueue:
    """State of the cluster while a list algorithm runs.

    Attributes
    ----------
    idle : list of bool
        Whether each GPU (numbered over the whole cluster) is idle.
    load : list of int
        U_s^g: sum of estimated times of the jobs that each GPU was given so far.
    rho : list of int
        rho_hat_j of each job.
    node : list of int
        Node of each GPU.
    sizes : sequence of int
        GPUs of each node.
    """

    def __init__(self, problem: RarDdls, rho: Ints) -> None:
        from . import gang_queue_core

        self._steps: Any = gang_queue_core
        made = _all_idle(problem, rho)
        lists = {name: getattr(made, name).tolist() for name in made._fields if name != "rates"}
        self._queue = made._replace(**lists)  # Python is faster with these
        self.sizes = problem.instance.cluster.sizes
        self.idle: list[bool] = lists["idle"]
        self.load: list[int] = lists["load"]
        self.rho: list[int] = lists["rho"]
        self.node: list[int] = lists["node"]

    @property
    def free(self) -> int:
        """Number of idle GPUs."""
        return int(self._queue.clock[2])

    def gang(self, job: int) -> int:
        """G_j."""
        return int(self._queue.gang[job])

    def begin(self, job: int, gpus: Sequence[int]) -> None:
        """Start `job` now on `gpus` and add its estimated time to their load."""
        if self._steps.begin(self._queue, job, sorted(gpus)):
            self._steps.renew_speeds(self._queue)

    def advance(self) -> bool:
        """Go to the next completion; False where no running job can ever complete."""
        return bool(self._steps.advance(self._queue))

    def plan(self) -> Plan | None:
        """Let all running jobs complete and return the plan; None where one never does."""
        while self._queue.clock[1]:
            if not self.advance():
                return None
        return Plan.of(self._queue)


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
