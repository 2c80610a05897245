"""Tiny cases of IRMP: all runs, optima over all of them, and prices of each node.

Written for a handful of jobs on a few nodes of one type. Nothing here calls a solver of the
package.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ....formulations.irmp.problem import Irmp, parameter_servers
from ....instances.arrays import Floats
from ....instances.model import Cluster, Instance, Node, ParameterServerJob, User, Utility

#: workers and PSs of each node
Sizes = Sequence[tuple[int, int]]
#: how much more than its cost a job must be worth to be accepted
MARGIN = 1e-9
#: a rate at which no job of a case ends in time on several nodes
APART = 1e-4


def one_job(
    id: str,
    utility: Utility,
    *,
    workers: int = 1,
    work: int = 1,
    user: str = "",
    release: int = 0,
    rates: tuple[float, float] = (1.0, APART),
) -> ParameterServerJob:
    """Return a job of one epoch.

    Examples
    --------
    >>> from gangsched.instances import Linear
    >>> one_job("a", Linear(-1, 8), workers=2).batches
    2
    """
    return ParameterServerJob(
        id=id, user=user, release=release, gpus=workers, epochs=1, minibatches=work, rates=rates,
        utility=utility,
    )  # fmt: skip


def tenants(
    sizes: Sizes,
    jobs: Sequence[ParameterServerJob],
    quotas: Mapping[str, tuple[int, int]] | None = None,
    *,
    owners: Sequence[str] = (),
    horizon: int | None = None,
    bandwidths: tuple[int, int] = (1, 1),
) -> Irmp:
    """Return jobs on nodes, of users where `quotas` or `owners` say so.

    Examples
    --------
    >>> from gangsched.instances import Linear
    >>> tenants([(2, 1)], [one_job("a", Linear(-1, 8))])
    Irmp(1 jobs, 1 nodes, 1 users)
    """
    cluster = Cluster([Node(f"s{s + 1}", gpus, ps=ps) for s, (gpus, ps) in enumerate(sizes)])
    users = [User(id, 1, *quota) for id, quota in (quotas or {}).items()]
    users = users or [User(id) for id in sorted(set(owners))]
    owners = () if quotas else owners
    return Irmp(Instance(cluster, jobs, users), *bandwidths, horizon=horizon, owners=owners)


def at_once(problem: Irmp, deadline: int) -> Irmp:
    """Return Definition 1: all jobs are there at time 0 and end by the deadline.

    Examples
    --------
    >>> from gangsched.instances import Linear
    >>> late = tenants([(1, 1)], [one_job("a", Linear(-1, 8), release=3)])
    >>> optimum(at_once(late, 4))
    7.0
    """
    instance = replace(problem.instance, jobs=[replace(job, release=0) for job in problem.jobs])
    return replace(problem, instance=instance, clock="absolute", horizon=deadline)


# --- all runs of a job ---------------------------------------------------------------------------


class JobRun(NamedTuple):
    """Where a job runs, and when.

    Parameters
    ----------
    start, end : int
        Half-open.
    workers, ps : tuple of int
        On each node.
    """

    start: int
    end: int
    workers: tuple[int, ...]
    ps: tuple[int, ...]

    @property
    def held(self) -> NDArray[np.int64]:
        """(2, nodes, 1): workers and PSs."""
        return np.array([self.workers, self.ps])[:, :, None]


def shapes(problem: Irmp, j: int) -> Iterator[JobRun]:
    """Yield every placement of a job that (3e), (3g) and (3i) allow, from slot 0 on.

    Notes
    -----
    PSs are on one node, as many as are needed: PSs on all others, or more of them, can be dropped
    from any placement, which gets no slower.

    Examples
    --------
    >>> from gangsched.instances import Linear
    >>> problem = tenants([(2, 1), (1, 0)], [one_job("a", Linear(-1, 8), workers=2, work=3)])
    >>> [shape for shape in shapes(problem, 0) if shape.end < 9]
    [JobRun(start=0, end=6, workers=(1, 0), ps=(1, 0)), \
JobRun(start=0, end=3, workers=(2, 0), ps=(1, 0))]
    """
    job, nodes = problem.jobs[j], problem.instance.cluster.nodes
    model = nodes[0].model if nodes else ""
    for workers in product(*(range(min(node.gpus, job.gpus) + 1) for node in nodes)):
        if not 1 <= sum(workers) <= job.gpus:
            continue
        for host, node in enumerate(nodes):
            outside = sum(workers) - workers[host]
            needed = parameter_servers(outside, problem.worker_bandwidth, problem.ps_bandwidth)
            if needed <= node.ps:
                ps = tuple(needed * (s == host) for s in range(len(nodes)))
                slots = problem.duration(j, sum(workers), 1 + (outside > 0), model)
                yield JobRun(0, slots, workers, ps)


def runs(problem: Irmp, j: int, begin: int, end: int) -> list[JobRun]:
    """Return every run of a job within a window.

    Examples
    --------
    >>> from gangsched.instances import Linear
    >>> problem = tenants([(2, 1)], [one_job("a", Linear(-1, 8), workers=2)])
    >>> [(run.start, run.end, run.workers) for run in runs(problem, 0, 0, 2)]
    [(0, 2, (1,)), (0, 1, (2,)), (1, 2, (2,))]
    """
    return [
        shape._replace(start=start, end=start + shape.end)
        for shape in shapes(problem, j)
        for start in range(begin, end - shape.end + 1)
    ]


def fullest(problem: Irmp, slots: int) -> NDArray[np.int64]:
    """Return what an empty cluster has, (2, nodes, slots).

    Examples
    --------
    >>> fullest(tenants([(2, 1)], []), 3).tolist()
    [[[2, 2, 2]], [[1, 1, 1]]]
    """
    nodes = problem.instance.cluster.nodes
    held = np.array([[node.gpus for node in nodes], [node.ps for node in nodes]], dtype=np.int64)
    return np.repeat(held[:, :, None], slots, axis=2)


# --- optima --------------------------------------------------------------------------------------


def optimum(problem: Irmp) -> float:
    """Return the most revenue by the horizon, by integer programming over all runs.

    Examples
    --------
    >>> from gangsched.instances import Linear
    >>> optimum(tenants([(1, 1)], [one_job(i, Linear(-1, 8)) for i in "ab"], horizon=4))
    13.0
    """
    worth, parts = _selection(problem, whole=True)
    return float(sum(worth[parts > 0.5]))  # not what the solver adds up, to the last digit


def schedules(problem: Irmp, jobs: Sequence[int]) -> dict[frozenset[int], list[float]]:
    """Return the revenues of all schedules by the horizon, by the jobs that run.

    Examples
    --------
    >>> from gangsched.instances import Linear
    >>> problem = tenants([(1, 1)], [one_job(i, Linear(-1, 8)) for i in "ab"], horizon=2)
    >>> schedules(problem, [0, 1])
    {frozenset(): [0.0], frozenset({1}): [7.0, 6.0], frozenset({0}): [7.0, 6.0], \
frozenset({0, 1}): [13.0]}
    """
    horizon, found = problem.horizon or 0, dict[frozenset[int], set[float]]()

    def extend(at: int, chosen: frozenset[int], earned: float, free: NDArray[np.int64]) -> None:
        if at == len(jobs):
            found.setdefault(chosen, set()).add(earned)
            return
        extend(at + 1, chosen, earned, free)
        j = jobs[at]
        for run in runs(problem, j, problem.earliest(j), horizon):
            left = free.copy()
            left[:, :, run.start : run.end] -= run.held
            if (left >= 0).all():
                extend(at + 1, chosen | {j}, earned + problem.value(j, run.end), left)

    extend(0, frozenset(), 0.0, fullest(problem, horizon))
    return {chosen: sorted(earned, reverse=True) for chosen, earned in found.items()}


def fractional(problem: Irmp) -> float:
    """Return the optimum of (5) where jobs may run in fractions, by linear programming.

    Examples
    --------
    A job of 2 workers and one of 1, on 2 workers for one slot:

    >>> from gangsched.instances import Table
    >>> jobs = [one_job("a", Table([9.0])), one_job("b", Table([4.0]), workers=2)]
    >>> round(fractional(tenants([(2, 2)], jobs, horizon=1)), 6)
    11.0
    """
    worth, parts = _selection(problem, whole=False)
    return float(worth @ parts)


def _selection(problem: Irmp, *, whole: bool) -> tuple[Floats, Floats]:
    """What the runs of all jobs are worth, and an optimum of (5): all or nothing of each, or parts.

    Runs that are worth nothing are left out.
    """
    horizon = problem.horizon or 0
    columns = [
        (j, run)
        for j in range(len(problem.jobs))
        for run in runs(problem, j, problem.earliest(j), horizon)
        if problem.value(j, run.end) > 0
    ]
    worth = np.array([problem.value(j, run.end) for j, run in columns])
    if not columns:
        return worth, worth
    full = fullest(problem, horizon)
    rows = np.zeros((full.size + len(problem.jobs), len(columns)))
    for column, (j, run) in enumerate(columns):
        held = np.zeros(full.shape)
        held[:, :, run.start : run.end] = run.held
        rows[: full.size, column] = held.ravel()
        rows[full.size + j, column] = 1
    limits = np.concatenate([full.ravel(), np.ones(len(problem.jobs))])
    options = {"mip_rel_gap": 0.0} if whole else {}
    found = linprog(-worth, A_ub=rows, b_ub=limits, integrality=int(whole), options=options)
    return worth, found.x


# --- prices of their own on each node ------------------------------------------------------------


@dataclass(slots=True)
class PerServer:
    """Algorithm 3 with eta_s = theta^(h_s / C_s) - 1 on each node, and exact best responses.

    Parameters
    ----------
    problem : Irmp
        With a horizon; jobs are taken by number.
    theta : float
        theta_w = theta_p.

    Attributes
    ----------
    free : (2, nodes, slots) int array
    accepted : dict of int to JobRun
    gain : dict of int to float
        mu, of every job.

    Examples
    --------
    >>> from gangsched.instances import Linear
    >>> jobs = [one_job(i, Linear(-1, 8)) for i in "ab"]
    >>> done = PerServer(tenants([(2, 2)], jobs, horizon=4), 16.0).run()
    >>> [(run.start, run.end) for run in done.accepted.values()], done.revenue, done.dual
    ([(0, 1), (1, 2)], 13.0, 37.0)
    """

    problem: Irmp
    theta: float
    free: NDArray[np.int64] = field(init=False)
    accepted: dict[int, JobRun] = field(default_factory=dict, init=False)
    gain: dict[int, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.free = fullest(self.problem, self.problem.horizon or 0)

    def run(self) -> PerServer:
        """Take all jobs, and return this."""
        for j in range(len(self.problem.jobs)):
            gain, run = self.respond(j)
            self.gain[j] = max(gain, 0.0)
            if run is not None:
                self.accepted[j] = run
                self.free[:, :, run.start : run.end] -= run.held
        return self

    @property
    def prices(self) -> Floats:
        """eta_sw, eta_sp, (2, nodes, slots)."""
        full = fullest(self.problem, self.free.shape[2])
        level = np.divide(full - self.free, full, out=np.zeros(full.shape), where=full > 0)
        prices: Floats = np.expm1(math.log(self.theta) * level)
        return prices

    @property
    def revenue(self) -> float:
        """Revenue of what is accepted."""
        return sum(self.problem.value(j, run.end) for j, run in self.accepted.items())

    @property
    def dual(self) -> float:
        """(6) with the last prices."""
        full = fullest(self.problem, self.free.shape[2])
        return sum(self.gain.values()) + float((self.prices * full).sum())

    def respond(self, j: int) -> tuple[float, JobRun | None]:
        """Return mu and the run that earns it; (0, None) where nothing is gained.

        Notes
        -----
        For each start, D_w, host and number of its workers the others are on the cheapest nodes:
        an optimum of (9), O(T D^2 S^2 log S).
        """
        best, found, prices = MARGIN, None, self.prices
        for run in self._candidates(j, prices):
            slots = prices[:, :, run.start : run.end].sum(axis=2, keepdims=True)
            gain = self.problem.value(j, run.end) - float((slots * run.held).sum())
            if gain > best:
                best, found = gain, run
        return (best, found) if found is not None else (0.0, None)

    def _candidates(self, j: int, prices: Floats) -> Iterator[JobRun]:
        problem, slots = self.problem, self.free.shape[2]
        for workers in range(1, problem.jobs[j].gpus + 1):
            for nodes in (1, 2):
                length = problem.duration(j, workers, nodes)
                for start in range(problem.earliest(j), slots - length + 1):
                    least = self.free[:, :, start : start + length].min(axis=2)
                    price = prices[0, :, start : start + length].sum(axis=1)
                    for used, ps in self._placements(workers, nodes, least, price):
                        yield JobRun(start, start + length, used, ps)

    def _placements(
        self, workers: int, nodes: int, least: NDArray[np.int64], price: Floats
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Central ones, or the cheapest for each host and number of workers there."""
        problem, servers = self.problem, range(least.shape[1])
        for host in servers:
            inside = [workers] if nodes == 1 else range(min(workers - 1, int(least[0, host])) + 1)
            for k in inside:
                ps = parameter_servers(workers - k, problem.worker_bandwidth, problem.ps_bandwidth)
                if k > least[0, host] or ps > least[1, host]:
                    continue
                used, left = [0] * len(servers), workers - k
                used[host] = k
                for s in sorted(servers, key=lambda s: price[s]):
                    if s != host:
                        used[s] = min(left, int(least[0, s]))
                        left -= used[s]
                if not left:
                    yield tuple(used), tuple(ps * (s == host) for s in servers)
