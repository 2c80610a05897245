r"""Lower bounds of the worst user's ratio by prices of GPU time and weights of users.

With the symbols of :mod:`gangsched.formulations.sharing_incentive`, (b_u, d_u) the terms of the
ratio (F_u - b_u) / d_u of user u, weights v_u >= 0, a weight c >= 0 of all jobs, and prices pi >= 0
of a GPU second, the theorem of :mod:`gangsched.analysis.proofs.prices` for the costs
(c + v_u) (C - r_j) of u's jobs says of every schedule

    sum_u (c + v_u) F_u >= B(v, c, pi) = sum_j min over C of ((c + v_u) (C - r_j) + g_j kappa_j(C))
                                         - M * (integral of pi).

Theorem. Let y be the worst ratio of a schedule and F = sum_u F_u. Then

    c F + y sum_u v_u d_u  >=  B(v, c, pi) - sum_u v_u b_u.

    Proof. F_u <= b_u + y d_u for every u, and v_u >= 0.

With c = 0 it bounds the worst ratio, as sum v_u d_u > 0: the largest of some fractions is at least
any mediant of them. With c > 0 it is a line below all pairs (worst ratio, sum of flow times) that
any schedule has; for schedules with a worst ratio of `limit` or less it bounds F. Lines for several
limits are a frontier (:mod:`gangsched.analysis.comparing.sharing_frontier`).

The climb
---------
B is concave in prices and weights together. Its supergradient in v_u is u's sum of flow times where
each of its jobs costs least; that in prices is in :mod:`.prices`, whose climb serves for both. With
y_u = v_u d_u, the bound of a worst ratio is the same for all multiples of prices and shares.
They begin with the mean of the shares of some rounds of area order
(:mod:`gangsched.solvers.ours.user_order`), or of the first few if these prove more, a part of it
spread over all users, and the prices of the schedule by these.

For "sharing" the bound is often little more than one user's P_u / A_u, with that user's weight
alone and no price: tight, and trivial. It is tried first for every reading, and where a schedule's
worst ratio is as small but for a part of 0.005, no prices are sought.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...formulations.sharing_incentive import SharingIncentive
from ...instances.arrays import Floats, Ints
from ...instances.check import at_least
from ...instances.remembered import remembered
from ...solvers.ours.pool import run_pool
from ...solvers.ours.user_order import Members, UserRun, user_runs
from ...solvers.result import Bound
from .price_core import evaluate_exactly
from .prices import (
    Climb,
    Dual,
    Progress,
    around,
    best_multiple,
    edges_between,
    exact_scale,
    usual_prices,
)

METHOD = "prices and user weights"
EVEN = 0.05  #: part of the first shares that all users get alike
SHARES_STEP = 0.04  #: of the climb, as a part of that of prices
CLOSE = 5e-3  #: part of a schedule's worst ratio for which no prices are sought
FEW = 3  #: rounds of area order that are enough to begin with


def user_bound(
    problem: SharingIncentive,
    *,
    orders: int = 16,
    first: Floats | None = None,
    intervals: int = 1_000,
    rounds: int = 250,
    halvings: int = 0,
    time_limit: float | None = None,
    on_progress: Progress | None = None,
) -> Bound:
    """Return the worst ratio, or with a limit the sum of flow times, that nobody can be below.

    Parameters
    ----------
    problem : SharingIncentive
    orders : int
        Rounds of area order from which the weights begin; 0 for no prices at all.
    first : (users,) float array, optional
        Shares from which they begin instead.
    intervals, rounds, halvings, time_limit, on_progress
        As of :func:`~gangsched.analysis.proofs.prices.price_bound`.

    Returns
    -------
    Bound
        Certificate ``{"kind": "user prices", "times": [t_0 .. t_K], "prices": [q_1 .. q_K],
        "users": [v_1 .. v_U], "all": c}``, integers: a GPU second in [t_(k-1), t_k) costs q_k,
        outside nothing; v in the order of :attr:`SharingIncentive.members`.

    Notes
    -----
    O(jobs x intervals in which one waits) a step, and as much for each order.

    Examples
    --------
    Both users have a GPU each alone, and both jobs need two:

    >>> from gangsched.instances import Cluster, Instance, Job, User
    >>> jobs = [Job(id=i, gpus=2, work=4, user=u) for i, u in (("a", "u"), ("b", "v"))]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])
    >>> round(user_bound(SharingIncentive(instance, "stretch")).value, 3)
    1.5
    """
    for name, value in (("orders", orders), ("rounds", rounds), ("halvings", halvings)):
        at_least(f"user_bound: {name}", value, 0)
    at_least("user_bound: intervals", intervals, 1)
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    best = _without_prices(problem)
    if not problem.jobs or not orders:
        return best
    if first is not None:
        starts = [first]
    else:
        most, few = tried(problem, orders), tried(problem, min(orders, FEW))  # which most contains
        starts = [few.shares] * (orders > FEW) + [most.shares]
        if problem.limit is None and best.value >= (1 - CLOSE) * most.best.cost(None)[0]:
            return best
    since = min(job.release for job in problem.jobs)
    members = Members.of(problem)
    begun = [_start(problem, members, shares, since, intervals) for shares in starts]
    start = max(begun, key=lambda one: one.dual.at(one.point)[0]) if begun[1:] else begun[0]
    dual, point = start.dual, start.point
    if problem.limit is not None:  # which may be so large that it says nothing
        free = point * (np.arange(point.size) < dual.count)
        point = max(point, free, key=lambda one: dual.at(one)[0])
    climb = Climb(end, rounds, on_progress)
    dual, point = climb.halving(dual, point, start.usual, halvings)
    found = _exact_bound(problem, dual, point, since)
    return found if found.value > best.value else best


class Tried(NamedTuple):
    """What rounds of area order have found."""

    shares: Floats  #: from which weights begin
    best: UserRun


@remembered
def _tried(problem: SharingIncentive) -> dict[int, Tried]:
    """By number of rounds, what they have found; filled by :func:`tried`."""
    return {}


def tried(problem: SharingIncentive, orders: int) -> Tried:
    """Return what some rounds of area order find, at least 1; they run once for each problem."""
    known = _tried(problem)
    if orders not in known:
        runs = list(user_runs(problem, orders))
        for count in (min(orders, FEW), orders):
            best = min(runs[:count], key=lambda run: run.cost(problem.limit))
            known[count] = Tried(mean_shares(runs[:count]), best)
    return known[orders]


def mean_shares(runs: Sequence[UserRun]) -> Floats:
    """Return the mean of the shares in the second half of some rounds, made more even."""
    mean = np.array([run.shares for run in runs[len(runs) // 2 :]]).mean(axis=0)
    shares: Floats = (1 - EVEN) * mean + EVEN * mean.mean()
    return shares


# --- the climb ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Dual:
    """The theorem's bound of a point: prices of the intervals, then shares of the users."""

    flow: Dual
    members: Members
    ratio: float  #: a usual one

    @property
    def count(self) -> int:
        """How many prices there are."""
        return self.flow.edges.size - 1

    @property
    def room(self) -> Floats:
        """By what slopes are divided."""
        return np.append(self.flow.room, np.full(self.members.over.size, self.ratio))

    def at(self, point: Floats) -> tuple[float, Floats]:
        """Return the bound, and its change with each price and each share."""
        who, prices, shares = self.members, point[: self.count], point[self.count :]
        over = float(shares.sum()) if who.limit is None else 1.0
        if over == 0:
            return -math.inf, np.zeros_like(point)
        dual = replace(self.flow, weight=who.weights(shares))
        value, slope, ends = dual.answer(prices)
        value -= float(shares @ (who.less / who.over))
        if who.limit is not None:
            value -= who.limit * float(shares.sum())
        value /= over
        least = value if who.limit is None else who.limit
        more = who.ratios(ends - self.flow.release + who.release) - least
        return value, np.append(slope, more) / over

    def halved(self) -> tuple[_Dual, Ints]:
        """The same with each interval cut in two, and where each part of a point was before."""
        finer, at = self.flow.halved()
        users = self.count + np.arange(self.members.over.size)
        return replace(self, flow=finer), np.append(at, users)


class _Start(NamedTuple):
    """Where a climb begins."""

    dual: _Dual
    point: Floats
    usual: Floats  #: what a step is a part of


def _start(
    problem: SharingIncentive, members: Members, shares: Floats, since: int, intervals: int
) -> _Start:
    """Shares, with the prices of the schedule by them."""
    weights = members.weights(shares)
    run = run_pool(problem.flow, dynamic=False, weights=weights).later(-since)
    flow = Dual.of(problem.flow, edges_between(problem.flow, run.ends, since, intervals), since)
    weighted = replace(flow, weight=weights)
    usual = usual_prices(weighted, run)
    point = np.append(best_multiple(weighted, usual), shares)
    ratio = abs(_Dual(flow, members, 1.0).at(point)[0])
    steps = SHARES_STEP * np.maximum(shares, shares.mean() / 10)
    return _Start(_Dual(flow, members, ratio or 1.0), point, np.append(around(usual), steps))


# --- in integers ----------------------------------------------------------------------------------


def _without_prices(problem: SharingIncentive) -> Bound:
    """Nobody waits: the largest ratio that a user then has, or the sum of the run times."""
    shares = [0] * len(problem.members)
    terms, busy = problem.terms(), problem.run_times
    if problem.limit is None and shares:
        at = max(terms, key=lambda u: Fraction(busy[u] - terms[u][0], terms[u][1]))
        shares[list(terms).index(at)] = 1
    total = sum((v + problem.integral) * p for v, p in zip(shares, busy.values(), strict=True))
    return _bound(problem, [0, 1], [0], shares, int(problem.integral), total)


def _exact_bound(problem: SharingIncentive, whole: _Dual, point: Floats, since: int) -> Bound:
    """The bound of prices and weights in parts, of which those of every job fit 64 bits."""
    dual, members = whole.flow, whole.members
    costs, users = point[: whole.count], point[whole.count :] / members.over
    everyone = int(problem.integral)
    scale = exact_scale(dual, float(users.max()) + everyone, costs)
    while everyone and scale.denominator > 1:  # c is whole
        raise OverflowError("user_bound: times are too long")
    prices = [round(Fraction(price) * scale) for price in costs.tolist()]
    shares = [int(Fraction(share) * scale) for share in users.tolist()]
    c = int(everyone * scale)
    weights = np.array(shares, dtype=np.int64)[members.user] + c
    cost = evaluate_exactly(
        dual.release, dual.need, weights, dual.gang, dual.first, dual.edges,
        np.array(prices, dtype=np.int64),
    )  # fmt: skip
    room = sum(q * t for q, t in zip(prices, np.diff(dual.edges).tolist(), strict=True))
    total = cost - dual.gpus * room
    return _bound(problem, (dual.edges + since).tolist(), prices, shares, c, total)


def _bound(
    problem: SharingIncentive,
    times: list[int],
    prices: list[int],
    shares: list[int],
    everyone: int,
    total: int,
) -> Bound:
    """What follows for the objective where the sum of (c + v_u) F_u is `total` at the least."""
    terms = list(problem.terms().values())
    total -= sum(v * less for v, (less, _) in zip(shares, terms, strict=True))
    over = sum(v * d for v, (_, d) in zip(shares, terms, strict=True))
    proof = {
        "kind": "user prices", "times": times, "prices": prices, "users": shares, "all": everyone
    }  # fmt: skip
    if problem.most is not None:
        flow = Fraction(total) - problem.most * over
        return Bound(max(math.ceil(flow / everyone), 0), METHOD, proof)
    value = float(Fraction(total, over)) * (1 - 2**-50) if over else 0.0
    return Bound(max(value, 0.0), METHOD, proof)
