"""Tiny cases of RAR-DDLS: optima by search, and the variants of SJF-BCO that claims speak of.

Written for a handful of jobs: everything here is exponential or plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np

from ....formulations.rar_ddls.problem import RarDdls, estimated_times, evaluate
from ....instances.model import Cluster, Instance, RingJob
from ....instances.schedule import Schedule
from ....solvers.rar_ddls.gang_queue import (
    Choose,
    CompiledQueue,
    GangQueue,
    Plan,
    backfill,
    head_of_line,
)
from ....solvers.rar_ddls.sjf_bco import SjfBcoParams, fa_ffp, lbsgf, sjf_bco
from ....solvers.result import Result

Ints = Sequence[int]


@dataclass(frozen=True, slots=True)
class Case:
    """A problem and how SJF-BCO is run on it.

    Parameters
    ----------
    problem : RarDdls
    params : SjfBcoParams
    """

    problem: RarDdls
    params: SjfBcoParams = field(default_factory=SjfBcoParams)

    @property
    def gpus(self) -> int:
        """N, GPUs of the cluster."""
        return self.problem.instance.cluster.gpus

    @property
    def gangs(self) -> list[int]:
        """G_j by job number."""
        return [job.gpus for job in self.problem.jobs]

    @property
    def times(self) -> list[int]:
        """rho_hat_j by job number."""
        return [int(t) for t in estimated_times(self.problem)]

    @property
    def kappas(self) -> list[int]:
        """The values of kappa that differ: 1 and the gang sizes."""
        return sorted({1, *self.gangs})

    def solve(self) -> Result[Schedule]:
        """Run SJF-BCO."""
        return sjf_bco(self.problem, params=self.params)


@dataclass(frozen=True, slots=True)
class Pinned:
    """Jobs whose GPUs are prescribed.

    Parameters
    ----------
    problem : RarDdls
    gpus : sequence of sequence of int
        GPUs of each job, numbered over the whole cluster.
    """

    problem: RarDdls
    gpus: Sequence[Sequence[int]]

    def greedy(self, order: Ints) -> Plan | None:
        """Start every job, tried in `order`, as soon as all its GPUs are idle."""

        def choose(queue: GangQueue, job: int) -> list[int] | None:
            mine = self.gpus[job]
            return list(mine) if all(queue.idle[g] for g in mine) else None

        return backfill(self.problem, estimated_times(self.problem), order, choose)

    def shortest(self) -> int:
        """Return the least makespan over all orders, which is optimal for unit times."""
        plans = (self.greedy(order) for order in permutations(range(len(self.gpus))))
        return min(plan.makespan for plan in plans if plan is not None)


@dataclass(frozen=True, slots=True)
class Queued:
    """Jobs for GPUs that keep queues (reading B), with estimates that depend on the schedule.

    Parameters
    ----------
    gpus : int
        N.
    gangs, times, elsewhere : sequence of int
        G_j, and rho_hat_j in the algorithm's schedule and in the other schedule.
    """

    gpus: int
    gangs: Ints
    times: Ints
    elsewhere: Ints

    @property
    def spread(self) -> Fraction:
        """Largest ratio of a job's two estimates: what varphi u / l bounds."""
        pairs = zip(self.times, self.elsewhere, strict=True)
        return max(Fraction(here, there) for here, there in pairs)


def constant_times(sizes: Ints, gangs: Ints, times: Ints, *, horizon: int | None = None) -> RarDdls:
    """Return a problem whose jobs take the given slots on any placement (no gradients).

    Examples
    --------
    >>> problem = constant_times([3, 1], [3, 1], [5, 2])
    >>> [problem.duration(0, n) for n in problem.spans(0)], problem.shortest_durations().tolist()
    ([5, 5], [5, 2])
    """
    jobs = tuple(
        RingJob(id=f"j{j}", gpus=g, iterations=100 * t, gradient=0.0, base_time=0.01)
        for j, (g, t) in enumerate(zip(gangs, times, strict=True))
    )
    return RarDdls(Instance(Cluster.of_sizes(sizes), jobs), xi2=0.0, horizon=horizon)


def shortest(gpus: int, gangs: Ints, times: Ints) -> int:
    """Return the optimal makespan of jobs with constant times on `gpus` GPUs.

    Backfilling is optimal in some order of the jobs, such as that of their starts in an optimal
    schedule; all orders are tried until one reaches the area or longest-job bound.

    Examples
    --------
    >>> shortest(2, [1, 1, 1], [1, 1, 2])
    2
    """
    problem = constant_times([gpus], gangs, times)
    queue = CompiledQueue(problem, estimated_times(problem))
    area = sum(g * t for g, t in zip(gangs, times, strict=True))
    bound, best = max(-(-area // gpus), *times), sum(times)
    largest_first = sorted(range(len(gangs)), key=lambda j: -gangs[j] * times[j])
    for order in permutations(largest_first):
        plan = queue.backfill(np.array(order))
        assert plan is not None
        best = min(best, plan.makespan)
        if best == bound:
            break
    return best


def least_load(gpus: int, gangs: Ints, times: Ints) -> int:
    """Return theta*: the least W_hat over all choices of G_j different GPUs for each job.

    Examples
    --------
    >>> least_load(2, [1, 1, 1], [1, 1, 2])
    2
    """
    loads = {(0,) * gpus}
    for gang, time in zip(gangs, times, strict=True):
        loads = {
            tuple(sorted(load + time * (g in chosen) for g, load in enumerate(before)))
            for before in loads
            for chosen in combinations(range(gpus), gang)
        }
    return min(max(load) for load in loads)


def one_run(problem: RarDdls, kappa: int, limit: float = float("inf")) -> Plan | None:
    """Lines 8-16 of Algorithm 1 (reading A) for one kappa and one theta; u = 1.

    Examples
    --------
    >>> problem = constant_times([3, 1, 3], [4, 3, 2, 3], [3, 3, 5, 3])
    >>> [one_run(problem, 4, theta).makespan for theta in (6, 8)]
    [9, 8]
    """
    order = sorted(range(len(problem.jobs)), key=lambda j: (problem.jobs[j].gpus, j))
    return head_of_line(problem, estimated_times(problem), order, chooser(kappa, limit))


def chooser(kappa: int, limit: float = float("inf")) -> Choose:
    """Return lines 10-13 of Algorithm 1: how a job gets its GPUs for one kappa and one theta."""

    def choose(queue: GangQueue, job: int) -> list[int] | None:
        rule = fa_ffp if queue.gang(job) <= kappa else lbsgf
        return rule(queue, job, limit)

    return choose


def queue_load(gpus: int, gangs: Ints, times: Ints, limit: float = float("inf")) -> int | None:
    """Return W_hat of Algorithm 1 with kappa = n_g under reading B, None where theta is too small.

    Every job is given the G_j least loaded GPUs at once, whether idle or not, smallest gang first.

    Examples
    --------
    >>> queue_load(2, [1, 1, 1], [1, 1, 2]), queue_load(2, [1, 1, 1], [1, 1, 2], limit=2)
    (3, None)
    """
    load = [0] * gpus
    for j in sorted(range(len(gangs)), key=lambda j: (gangs[j], j)):
        admissible = sorted(g for g in range(gpus) if load[g] + times[j] <= limit)
        if len(admissible) < gangs[j]:
            return None
        for g in sorted(admissible, key=load.__getitem__)[: gangs[j]]:
            load[g] += times[j]
    return max(load)


def two_jobs(problem: RarDdls) -> tuple[int, int]:
    """Return the optimal makespan of two jobs, and the best without delay.

    Without delay: no job waits while the idle GPUs are enough for it.

    Examples
    --------
    >>> two_jobs(constant_times([2, 2], [3, 1], [5, 2]))
    (5, 5)
    """
    found = list(_schedules(problem))
    fit = sum(job.gpus for job in problem.jobs) <= problem.instance.cluster.gpus
    without_delay = (makespan for start, makespan in found if (start == 0) == fit)
    return min(makespan for _, makespan in found), min(without_delay)


def _schedules(problem: RarDdls) -> Iterator[tuple[int, int]]:
    """When the other job starts, where one starts at 0, and the makespan, of all schedules."""
    sizes = problem.instance.cluster.sizes
    alone = sum(int(d) for d in problem.shortest_durations())
    options = [list(_placements(job.gpus, sizes)) for job in problem.jobs]
    for first, placement in product((0, 1), product(*options)):
        crowded = any(a + b > room for a, b, room in zip(*placement, sizes, strict=True))
        held = [{s: g for s, g in enumerate(on) if g} for on in placement]
        for start in range(alone + 1):
            plan = evaluate(problem, [start if j != first else 0 for j in (0, 1)], held)
            if plan is not None and not (crowded and start < plan.end[first]):
                yield start, problem.objective(plan)


def _placements(gang: int, sizes: Ints) -> Iterator[tuple[int, ...]]:
    for counts in product(*(range(min(gang, size) + 1) for size in sizes)):
        if sum(counts) == gang:
            yield counts
