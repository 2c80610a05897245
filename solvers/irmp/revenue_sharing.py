"""Gandiva_fair and HiveD as Wang et al. (2023) compare with them: fair shares, utilities unknown.

The paper names both (Section 5.1) and tells little more than what they lack: Gandiva_fair divides
workers fairly among users and does not look at where a job's workers are; HiveD keeps the nodes
of each user together, and lends those that are idle. What follows is our reading, for nodes with
parameter servers (PSs), jobs that take any number of workers up to D, and slots.

Both preempt for free: in every slot a job may have other workers on other nodes, and goes on where
it was. So they solve the problem with ``preemptive=True``, and are to be compared with bounds of
that. Neither looks at utilities: jobs run in the order of release, also those that have come to be
worth less than nothing. A job that the horizon keeps from being complete is no part of the
schedule, though it has held what it held.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from ...formulations.irmp.problem import Irmp, parameter_servers
from ...instances.schedule import Schedule, Segment
from ..result import Result
from ..signature import solver
from .result import TIES, result_of

WORKERS, PS = 0, 1
NEVER = 2**62


@solver(of=Irmp)
def gandiva_like(problem: Irmp) -> Result[Schedule]:
    """Give each slot to users by stride scheduling; gangs go where most is free.

    Parameters
    ----------
    problem : Irmp
        Taken as preemptive.

    Returns
    -------
    Result of Schedule
        Of the preemptive problem. Without a solution where jobs must run that do not, or a user
        earns less than alone.

    Notes
    -----
    In every slot, again and again, the user of least pass is served, ties by number: its oldest job
    that has nothing yet gets as many workers as it can, up to D, and the user's pass grows by these
    workers over the workers of its quota. Users without such a quota come last. A user that had no
    jobs takes up the least pass of those that had some.

    The PSs of a gang are on the node with which it is largest by (3i), then on that with the most
    free workers; all free workers of this node are taken, then those of the others of its type, the
    emptiest first. Unless that is one node, it runs at the lower rate n_0.

    Guarantee: none on revenue. Complexity: O(S log S) for each job that runs in a slot, so O(n S
    log S) a slot.

    References
    ----------
    S. Chaudhary et al. Balancing efficiency and fairness in heterogeneous GPU clusters for deep
    learning. EuroSys 2020.

    Examples
    --------
    One worker, two users: they take turns.

    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob, User
    >>> jobs = [ParameterServerJob(id=u, user=u, gpus=1, epochs=2, minibatches=1, rates=(1, 1),
    ...                            utility=Linear(-1, 9)) for u in "ab"]
    >>> nodes = Cluster([Node("s1", 1, ps=1), Node("s2", 1)])
    >>> users = [User("a", gpus=1, ps=1), User("b", gpus=1, ps=0)]
    >>> result = gandiva_like(Irmp(Instance(nodes, jobs, users), ps_bandwidth=1))
    >>> [(s.job, s.start, s.end) for s in result.solution]
    [(0, 0, 1), (0, 2, 3), (1, 1, 2), (1, 3, 4)]
    """
    return _simulated("gandiva_like", problem, _Stride(problem), steady=False)


@solver(of=Irmp)
def hived_like(problem: Irmp) -> Result[Schedule]:
    """Give users their own nodes first, one for a job, then the idle ones of others.

    Parameters
    ----------
    problem : Irmp
        Taken as preemptive. Its nodes have owners.

    Returns
    -------
    Result of Schedule
        Of the preemptive problem. Without a solution where jobs must run that do not, or a user
        earns less than alone.

    Raises
    ------
    ValueError
        Where nodes have no owners.
    TypeError
        If given another problem.

    Notes
    -----
    In every slot the jobs, the oldest first, take workers of one of their user's own nodes; then,
    the oldest first, again and again, those that would train more on what is left of any node
    move there. So what was lent is back in the slot after its owner has a job for it. A job takes
    the node on which it trains most, ties by the fewest free workers, then the first; it has up
    to D of its workers and one PS, other jobs may have the rest.

    Guarantee: none on revenue. In no slot a job trains less than it would if its user's nodes and
    jobs, those not yet complete, were all there is. Complexity: O(n S) a round of moves, at each
    release and each completion.

    References
    ----------
    H. Zhao et al. HiveD: sharing a GPU cluster for deep learning with guarantees. OSDI 2020.

    Examples
    --------
    a's second job runs on b's node until b needs it:

    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob, User
    >>> jobs = [ParameterServerJob(id=f"j{i}", user=u, release=r, gpus=1, epochs=3, minibatches=1,
    ...                            rates=(1, 1), utility=Linear(-1, 9))
    ...         for i, (u, r) in enumerate([("a", 0), ("a", 0), ("b", 1)])]
    >>> nodes = Cluster([Node("s1", 1, ps=1), Node("s2", 1, ps=1)])
    >>> users = [User(u, gpus=1, ps=1) for u in "ab"]
    >>> result = hived_like(Irmp(Instance(nodes, jobs, users)))
    >>> [(s.job, s.start, s.end, *s.gpus) for s in result.solution]
    [(0, 0, 3, 0), (1, 0, 1, 1), (1, 3, 5, 0), (2, 1, 4, 1)]
    """
    if not problem.owners:
        raise ValueError("hived_like: nodes have no owners, as quotas end within a node")
    return _simulated("hived_like", problem, _Cells(problem), steady=True)


# --- slots ----------------------------------------------------------------------------------------


class _Grant(NamedTuple):
    """What a job has for now."""

    nodes: dict[int, int]  # workers
    ps: dict[int, int]
    rate: Fraction  # mini-batches a slot


_Allot = Callable[[Sequence[int]], dict[int, _Grant]]


def _simulated(name: str, problem: Irmp, allot: _Allot, *, steady: bool) -> Result[Schedule]:
    started = time.perf_counter()
    problem = replace(problem, preemptive=True)
    schedule = Schedule.of(_segments(problem, allot, steady=steady))
    info = {"ties": TIES, "preemptive": True}
    return result_of(
        problem, schedule, solver=name, started=started, info=info, relaxation="preemptive"
    )


def _segments(problem: Irmp, allot: _Allot, *, steady: bool) -> list[Segment]:
    """What complete jobs had, by job; steady: the same between releases and completions."""
    left = [Fraction(job.batches) for job in problem.jobs]
    runs: list[list[Segment]] = [[] for _ in left]
    arrivals = sorted(((problem.earliest(j), j) for j in range(len(left))), reverse=True)
    active: list[int] = []  # by (release, number)
    now, horizon = 0, problem.horizon or NEVER
    while arrivals or active:
        if not active:
            now = arrivals[-1][0]
        while arrivals and arrivals[-1][0] == now:
            active.append(arrivals.pop()[1])
        grants = allot(active)
        if not grants or now >= horizon:
            break  # without grants nothing can run at all
        slots = min(-(-left[j] // grant.rate) for j, grant in grants.items()) if steady else 1
        until = min([now + slots, horizon, *(t for t, _ in arrivals[-1:])])
        for j, grant in grants.items():
            _extend(runs[j], Segment(j, now, until, grant.nodes, ps=grant.ps))
            left[j] -= grant.rate * (until - now)
        active = [j for j in active if left[j] > 0]
        now = until
    return [segment for j, mine in enumerate(runs) if left[j] <= 0 for segment in mine]


def _extend(mine: list[Segment], segment: Segment) -> None:
    """Add a segment, as part of the last one where that goes on."""
    last = mine[-1] if mine else None
    if last and (last.end, last.gpus, last.ps) == (segment.start, segment.gpus, segment.ps):
        mine[-1] = replace(last, end=segment.end)
    else:
        mine.append(segment)


class _Room:
    """What is free in a slot, and what a job makes of what it gets."""

    def __init__(self, problem: Irmp) -> None:
        nodes = problem.instance.cluster.nodes
        self.problem = problem
        self.most = [job.gpus for job in problem.jobs]
        self.models = [node.model for node in nodes]
        self.capacity = np.array([[n.gpus for n in nodes], [n.ps for n in nodes]], dtype=np.int64)
        self.free = self.capacity
        self.rate = cache(self._rate)

    def _rate(self, job: int, workers: int, several: bool, model: str) -> Fraction:
        """Mini-batches a slot."""
        return self.problem.rate(job, 1 + several, model) * workers

    def grant(self, job: int, nodes: dict[int, int], ps: dict[int, int]) -> _Grant:
        """Take these off what is free."""
        self._change(nodes, ps, -1)
        model = self.models[next(iter(nodes))]
        return _Grant(nodes, ps, self.rate(job, sum(nodes.values()), len(nodes) > 1, model))

    def give_back(self, grant: _Grant) -> None:
        """Undo it."""
        self._change(grant.nodes, grant.ps, 1)

    def _change(self, nodes: dict[int, int], ps: dict[int, int], sign: int) -> None:
        for held, row in ((nodes, WORKERS), (ps, PS)):
            for s, count in held.items():
                self.free[row, s] += sign * count


# --- Gandiva_fair ---------------------------------------------------------------------------------


class _Stride(_Room):
    """Passes of the users, from slot to slot, as integers."""

    def __init__(self, problem: Irmp) -> None:
        super().__init__(problem)
        tickets = problem.quotas[:, :, WORKERS].sum(axis=1).tolist()
        self.model = np.array([problem.models.index(model) for model in self.models])
        self.user = [problem.users.index(problem.user(j)) for j in range(len(problem.jobs))]
        self.poor = [not ticket for ticket in tickets]
        unit = math.lcm(*(ticket or 1 for ticket in tickets))
        self.strides = [unit // (ticket or 1) for ticket in tickets]
        self.passes = [0] * len(tickets)
        self.before: set[int] = set()

    def __call__(self, active: Sequence[int]) -> dict[int, _Grant]:
        self.free = self.capacity.copy()
        grants: dict[int, _Grant] = {}
        queues: dict[int, list[int]] = {}
        for j in reversed(active):
            queues.setdefault(self.user[j], []).append(j)
        self._join(set(queues))
        while queues:
            user = min(queues, key=lambda u: (self.poor[u], self.passes[u], u))
            job = queues[user].pop()
            if not queues[user]:
                del queues[user]
            gang = self._gang(job)
            if gang is None:
                break  # nor does any other job find a worker and a PS
            grants[job] = gang
            self.passes[user] += self.strides[user] * sum(gang.nodes.values())
        return grants

    def _join(self, users: set[int]) -> None:
        """Passes of users who had no job in the slot before."""
        least = min((self.passes[u] for u in self.before), default=0)
        for user in users - self.before:
            self.passes[user] = max(self.passes[user], least)
        self.before = users

    def _gang(self, job: int) -> _Grant | None:
        """The most workers that the job can have now, with their PSs."""
        free, problem = self.free, self.problem
        outside = free[PS] * problem.ps_bandwidth // problem.worker_bandwidth
        there = np.bincount(self.model, free[WORKERS]).astype(np.int64)[self.model]
        sizes = np.minimum(np.minimum(free[WORKERS] + outside, there), self.most[job])
        sizes[free[PS] == 0] = 0
        size = int(sizes.max())
        if not size:
            return None
        host = int(np.where(sizes == size, free[WORKERS], -1).argmax())
        nodes = {host: min(int(free[WORKERS, host]), size)}
        away = left = size - nodes[host]
        for s in np.argsort(-free[WORKERS], kind="stable").tolist() if left else ():
            if s != host and self.model[s] == self.model[host]:
                nodes[s] = min(int(free[WORKERS, s]), left)
                left -= nodes[s]
                if not left:
                    break
        ps = parameter_servers(away, problem.worker_bandwidth, problem.ps_bandwidth)
        return self.grant(job, nodes, {host: ps})


# --- HiveD ----------------------------------------------------------------------------------------


class _Cells(_Room):
    """Nodes of users, and of whoever comes when they are idle."""

    def __init__(self, problem: Irmp) -> None:
        super().__init__(problem)
        of_user: dict[str, list[int]] = {user: [] for user in problem.users}
        for s, owner in enumerate(problem.owners):
            of_user[owner].append(s)
        self.own = [of_user[problem.user(j)] for j in range(len(problem.jobs))]

    def __call__(self, active: Sequence[int]) -> dict[int, _Grant]:
        self.free = self.capacity.copy()
        grants: dict[int, _Grant] = {}
        for job in active:
            self._move(job, grants, self.own[job])
        while sum(self._move(job, grants, range(len(self.models))) for job in active):
            pass  # who moves trains more, and nobody less: this ends
        return grants

    def _move(self, job: int, grants: dict[int, _Grant], servers: Sequence[int]) -> bool:
        """Give a job the node on which it trains most, if that is more than it does now."""
        most, (gpus, ps) = self.most[job], self.free.tolist()
        found = [
            (self.rate(job, min(most, gpus[s]), False, self.models[s]), -gpus[s], -s)
            for s in servers
            if gpus[s] and ps[s]
        ]
        rate, _, server = max(found, default=(Fraction(0), 0, 0))
        if rate <= (grants[job].rate if job in grants else 0):
            return False
        if job in grants:
            self.give_back(grants[job])
        grants[job] = self.grant(job, {-server: min(most, gpus[-server])}, {-server: 1})
        return True
