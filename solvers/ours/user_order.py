"""Preemptive gangs of users on one pool: least remaining area first, over weights of the users.

At every release and completion those of the least remaining area over the weight of their user run.
In rounds of multiplicative weights the users whose ratio is worst gain weight, and the best
schedule of all rounds is kept. Each round makes the sum of y_u times the ratios about as small as
area order does; so the mean of the weights is also where the climb of
:mod:`gangsched.analysis.proofs.user_prices` begins.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ...formulations.sharing_incentive import SharingIncentive
from ...instances.arrays import Floats, Ints
from ...instances.check import integer
from ...instances.schedule import Schedule
from ..result import Result, Stop
from ..signature import solver
from .pool import PoolRun, run_pool, schedule_of

STEP = 1.0  #: of the first round's weights; the k-th one's is over the square root of k
LEAST = 1e-3  #: share of the weight that all users have alike


@dataclass(frozen=True)
class Members:
    """Whose each job is, and the terms of the ratios (F_u - b_u) / d_u, as arrays by user.

    Parameters
    ----------
    user : (jobs,) int array
    release : (jobs,) int array
    less, over : (users,) float arrays
        b_u and d_u.
    limit : float or None
        Of the problem.
    """

    user: Ints
    release: Ints
    less: Floats
    over: Floats
    limit: float | None

    @classmethod
    def of(cls, problem: SharingIncentive) -> Members:
        """Return those of a problem."""
        user = np.zeros(len(problem.jobs), dtype=np.int64)
        for u, jobs in enumerate(problem.members.values()):
            user[list(jobs)] = u
        release = np.array([job.release for job in problem.jobs], dtype=np.int64)
        terms = np.array(list(problem.terms().values()), dtype=float).reshape(-1, 2)
        limit = None if problem.most is None else float(problem.most)
        return cls(user, release, terms[:, 0], terms[:, 1], limit)

    def weights(self, shares: Floats) -> Floats:
        """Weights of the jobs: y_u / d_u, and 1 more where the sum of flow times counts."""
        more = 0.0 if self.limit is None else 1.0
        found: Floats = (more + shares / self.over)[self.user]
        return found

    def ratios(self, ends: Ints) -> Floats:
        """The users' ratios, of completions."""
        flows = np.bincount(self.user, ends - self.release, minlength=self.over.size)
        found: Floats = (flows - self.less) / self.over
        return found

    def excess(self, ratios: Floats, shares: Floats) -> Floats:
        """What the bound of these ratios grows by with each share."""
        if self.limit is not None:
            return ratios - self.limit
        found: Floats = ratios - float(ratios @ shares)
        return found

    def first(self) -> Floats:
        """Shares to begin with."""
        count = self.over.size
        return np.full(count, 1 / count) if self.limit is None else self.over / 4

    def moved(self, shares: Floats, by: Floats) -> Floats:
        """Shares times exp(by); those of a worst ratio add up to 1."""
        more: Floats = shares * np.exp(np.clip(by, -1, 1))
        if self.limit is not None:
            return more
        most: Floats = more / more.sum()
        return most


@dataclass(frozen=True)
class UserRun:
    """A schedule on the pool by weights of users.

    Parameters
    ----------
    run : PoolRun
    shares : (users,) float array
        y_u.
    ratios : (users,) float array
    flow : int
        Sum of all flow times.
    """

    run: PoolRun
    shares: Floats
    ratios: Floats
    flow: int

    def cost(self, limit: float | None) -> tuple[float, float]:
        """What is best is least: the worst ratio; with a limit its excess, then the flow."""
        worst = float(self.ratios.max())
        return (worst, self.flow) if limit is None else (max(worst - limit, 0.0), self.flow)


def user_runs(
    problem: SharingIncentive, rounds: int, first: Floats | None = None, *, steady: bool = False
) -> Iterator[UserRun]:
    """Yield the schedules of so many rounds of multiplicative weights, from these shares on.

    Steady shares keep their sum s: the rounds look for schedules of a small F + s max_u ratio.
    """
    if not problem.jobs:
        return
    members, flow = Members.of(problem), problem.flow
    shares = members.first() if first is None else first
    for k in range(rounds):
        spread = (1 - LEAST) * shares + LEAST * shares.mean()
        run = run_pool(flow, weights=members.weights(spread))
        ratios = members.ratios(run.ends)
        yield UserRun(run, shares, ratios, int((run.ends - members.release).sum()))
        total = float(shares.sum())
        if steady:
            excess = ratios - float(ratios @ shares) / total
        else:
            excess = members.excess(ratios, shares)
        size = float(np.abs(excess).max())
        if size > 0:
            shares = members.moved(shares, STEP / math.sqrt(k + 1) * excess / size)
            shares = shares * (total / shares.sum()) if steady else shares


def best_schedule(problem: SharingIncentive, runs: Iterable[UserRun]) -> Schedule:
    """Return the schedule of the first of the best rounds; without any, an empty one."""
    best = min(runs, key=lambda run: run.cost(problem.limit), default=None)
    return Schedule.of([]) if best is None else schedule_of(problem.flow, best.run)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOrderParams:
    """Parameters of :func:`user_order`.

    Parameters
    ----------
    rounds : int
        How many schedules are tried, at least 1.
    """

    rounds: int = 30

    def __post_init__(self) -> None:
        integer(self, "UserOrderParams", "rounds", least=1)


@solver(UserOrderParams, of=SharingIncentive)
def user_order(
    problem: SharingIncentive, *, seed: int, time_limit: float | None, params: UserOrderParams
) -> Result[Schedule]:
    """Run least remaining areas over weights of the users, and learn the weights in some rounds.

    Guarantee: none. With a limit on the worst ratio it may find no schedule though there is one.

    Parameters
    ----------
    problem : SharingIncentive
    seed : int
        Not used: the algorithm draws nothing.
    time_limit : float, optional
        Seconds after which no further round begins.
    params : UserOrderParams

    Returns
    -------
    Result
        Without a bound, see :func:`gangsched.bound`.

    Notes
    -----
    Gangs may spread over any nodes, and pauses and moves are free; weights come from the whole
    instance, so it is offline. O(events x GPUs x gang sizes) a round, compiled.

    Examples
    --------
    The first round runs both in the order of their areas; then `v` gains weight.

    >>> from gangsched.instances import Cluster, Instance, Job, User
    >>> jobs = [Job(id="a", gpus=2, work=4, user="u"), Job(id="b", gpus=2, work=5, user="v")]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])
    >>> user_order(SharingIncentive(instance)).objective
    0.9
    """
    started = time.perf_counter()
    runs = user_runs(problem, params.rounds if problem.jobs else 0)
    if time_limit is not None:
        runs = _begun_before(runs, started + time_limit)
    solution = best_schedule(problem, runs)
    return Result.of(
        problem,
        None if problem.violations(solution) else solution,
        solver="user_order",
        stop=Stop.COMPLETED,
        runtime=time.perf_counter() - started,
        info={"seed": seed},
    )


def _begun_before(runs: Iterator[UserRun], end: float) -> Iterator[UserRun]:
    """The rounds that begin before a time, and in any case the first."""
    for run in runs:
        yield run
        if time.perf_counter() >= end:
            return
