"""Bounds of fairness: long-term GPU time (LTGF) and flow times beside those alone.

M GPUs; gangs D_i; weights of jobs w_i and users. A job's fair share is its user's, min(quota,
demand of its active jobs), by weight and at most D_i; a single user has M. Fairness rho is GPU time
got over GPU time due; the least of all jobs or users is maximised.

- ``life`` (of jobs that come and go): job i is active for p_i at least. The active jobs S of its
  user are among those released, R, so that its share is at least min(D_i, w_i g) with
  g = q / sum of w over R, and of several users min(that, least D_k / w_k over R), as demand over
  weight in S is no less. So rho_i <= D_i p_i / integral of it over [r_i, r_i + p_i).
- ``packing`` (of jobs that stay active, with shares f_i): integers v_i that add up to at most S
  ("scale") over any set of gangs that fit. Job i runs for lambda f_i / D_i of the time, so
  lambda sum v_i f_i / D_i <= S.
- ``gang sums`` (one round): a user with gangs of together g GPUs has (A + L g) / (F + L f). If all
  of some users had "level" / "scale" or more, they would hold more than M: one of them stays below,
  at its next lower sum of gangs at best. Objectives are floats, and so is this.

Sharing incentive: F_u, the sum of flow times of u's jobs, over what it is alone on its quota.

- ``user prices``: weights c ("all") of all flow times and v_u ("users") of a user's, prices q(t) of
  a GPU second. For each job, the least over C of (c + v_u)(C - r) + D (cheapest p seconds of
  [r, C)), less M times the integral of q, bounds sum (c + v_u) F_u from below. With F_u <= b_u + R
  d_u for all u that bounds R, or with R as a limit the sum of all F_u.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

from .completion_time import least_cost
from .fields import (
    BadFile,
    Refused,
    integer,
    integers,
    item,
    knapsack,
    number,
    one_of,
    rising,
    rows,
    whole,
)

__all__ = ["FLUID_RULES", "LIFE_RULES", "ROUND_RULES", "SHARING_RULES"]

#: GPUs of a round, and seconds of wait that a job counts for at least
MOST_GPUS, LEAST_WAIT = 10_000_000, 60
Number = int | Fraction


class SharingProblem:
    """Users by weight, and their jobs."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        nodes = rows(data, "instance", "cluster", "nodes")
        self.gpus = sum(whole(node, "gpus") for node in nodes)
        self.jobs = rows(data, "instance", "jobs")
        users = data["instance"].get("users", [])
        self.weights = {user["id"]: number(user, "weight", 1.0) for user in users}
        self.several = len(users) > 1
        given = data.get("parameters", {})
        self.reading = one_of(given, "reading", ("sharing", "wait", "stretch"))
        self.limit = None if given.get("limit") is None else number(given, "limit")
        self.gangs = [whole(job, "gpus") for job in self.jobs]
        self.work = [whole(job, "work", 0) for job in self.jobs]
        self.releases = [whole(job, "release", 0) for job in self.jobs]
        owners = [job.get("user", "") if self.several else "" for job in self.jobs]
        if self.several and not set(owners) <= set(self.weights):
            raise BadFile("a job's user is not one of the users")
        order = list(self.weights) if self.several else [""]
        #: numbers of the jobs of each user who has some, users in their order
        self.members = {u: [j for j, v in enumerate(owners) if u == v] for u in order}
        self.members = {user: jobs for user, jobs in self.members.items() if jobs}
        self.owners = owners

    def quota(self, user: str) -> Fraction:
        """GPUs by weight."""
        part = self.weights[user] / sum(self.weights.values()) if self.several else Fraction(1)
        return self.gpus * part


def life(cluster: SharingProblem, certificate: Mapping[str, Any]) -> Fraction:
    """A job's share while it is served without a pause is what it is due at least."""
    j = item(certificate, "job", len(cluster.jobs))
    gang, begin, end = cluster.gangs[j], cluster.releases[j], cluster.releases[j] + cluster.work[j]
    weights = [number(job, "weight", 1.0) for job in cluster.jobs]
    quota, mates = cluster.quota(cluster.owners[j]), cluster.members[cluster.owners[j]]
    changes = {cluster.releases[k] for k in mates if begin < cluster.releases[k] < end}
    due = Fraction(0)
    for now, until in pairwise(sorted({begin, end} | changes)):
        here = [k for k in mates if cluster.releases[k] <= now]
        rate = quota / sum(weights[k] for k in here)
        if cluster.several:
            rate = min(rate, *(cluster.gangs[k] / weights[k] for k in here))
        due += (until - now) * min(Fraction(gang), weights[j] * rate)
    return gang * cluster.work[j] / due


class FluidProblem:
    """Gangs that stay active, and their shares."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        given = data.get("fluid")
        if not isinstance(given, Mapping):
            raise BadFile("the problem has no fluid")
        self.gpus = whole(given, "gpus")
        try:
            self.gangs = [whole({"gangs": gang}, "gangs") for gang in given["gangs"]]
            self.shares = [Fraction(share) for share in given["shares"]]
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise BadFile(f"fluid: {error!r}") from None
        if len(self.gangs) != len(self.shares):
            raise BadFile("fluid: gangs and shares are not equally many")


def packing(fluid: FluidProblem, certificate: Mapping[str, Any]) -> Fraction:
    """No set of gangs that fit is worth more than the scale."""
    scale = integer(certificate, "scale", 1)
    duals = integers(certificate.get("duals"), "duals", count=len(fluid.gangs))
    worth = knapsack(fluid.gangs, duals, fluid.gpus)
    if worth > scale:
        raise Refused(f"duals of gangs that fit add up to {worth}, above scale={scale}")
    rows_ = zip(duals, fluid.shares, fluid.gangs, strict=True)
    needed = sum((v * f / d for v, f, d in rows_), Fraction(0))
    if not needed:
        raise Refused("duals are all 0, which proves nothing")
    return scale / needed


class RoundProblem:
    """What users have got and are due at the end of a lease, and gangs that could run."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        given = data.get("round")
        if not isinstance(given, Mapping):
            raise BadFile("the problem has no round")
        self.gpus, self.lease = whole(given, "gpus"), whole(given, "lease")
        try:
            self.got = [Fraction(a) for a in given["attained"]]
            pairs = zip(given["fair"], given["share"], strict=True)
            self.due = [Fraction(f) + self.lease * Fraction(s) for f, s in pairs]
            self.gangs: list[list[int]] = [[] for _ in self.got]
            for user, gang in given["jobs"]:
                if whole({"gang": gang}, "gang") <= self.gpus:  # wider ones cannot run
                    self.gangs[user].append(gang)
        except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise BadFile(f"round: {error!r}") from None
        if len(self.due) != len(self.got):
            raise BadFile("round: attained and fair are not of equally many users")


def gang_sums(problem: RoundProblem, certificate: Mapping[str, Any]) -> Fraction:
    """Not all of the users can have the level."""
    level = Fraction(integer(certificate, "level"), integer(certificate, "scale", 1))
    users = integers(certificate.get("users"), "users")
    if problem.gpus > MOST_GPUS:
        raise Refused(f"gpus: {problem.gpus} are more than {MOST_GPUS}")
    if len(set(users)) < len(users) or any(
        u >= len(problem.due) or not problem.due[u] for u in users
    ):
        raise Refused(f"users={users} are not different ones who are due something")
    if not users and not any(problem.due):
        return Fraction(1)
    needed, below = 0, list[Fraction]()
    for u in users:
        reached = 1  # bit g: some of the gangs have g GPUs together
        for gang in problem.gangs[u]:
            reached |= reached << gang
            reached &= (2 << problem.gpus) - 1
        least = max(ceil((level * problem.due[u] - problem.got[u]) / problem.lease), 0)
        least = min(least, problem.gpus + 1)
        high = reached >> least
        needed += least + (high & -high).bit_length() - 1 if high else problem.gpus + 1
        low = reached & ((1 << least) - 1)
        if low:
            got = problem.got[u] + problem.lease * (low.bit_length() - 1)
            below.append(got / problem.due[u])
    if needed <= problem.gpus:
        raise Refused(f"level={float(level)} takes {needed} of the {problem.gpus} GPUs")
    return Fraction(float(max(below)))


def user_prices(cluster: SharingProblem, certificate: Mapping[str, Any]) -> Number:
    """Weighted flow times cost so much, and are so much per unit of the worst ratio."""
    times = rising(certificate.get("times"), "times")
    prices = integers(certificate.get("prices"), "prices", count=len(times) - 1, what="intervals")
    shares = integers(certificate.get("users"), "users", count=len(cluster.members), what="users")
    everyone = integer(certificate, "all")
    total = -cluster.gpus * sum(
        q * (b - a) for q, (a, b) in zip(prices, pairwise(times), strict=True)
    )
    over = 0
    for share, (user, jobs) in zip(shares, cluster.members.items(), strict=True):
        for j in jobs:
            total += least_cost(
                cluster.releases[j], cluster.work[j], everyone + share, cluster.gangs[j], times,
                prices,
            )  # fmt: skip
        if share:
            less, divisor = _terms(cluster, user, jobs)
            total -= share * less
            over += share * divisor
    if cluster.limit is not None:
        if not everyone:
            raise Refused("all=0, so that nothing is said of the sum of flow times")
        return ceil((total - cluster.limit * over) / everyone)
    if everyone:
        raise Refused(f"all={everyone}, but it bounds the worst ratio alone")
    return Fraction(total, over) if over else Fraction(0)


def _terms(cluster: SharingProblem, user: str, jobs: list[int]) -> tuple[int, int]:
    """b_u and d_u of the reading."""
    busy = sum(cluster.work[j] for j in jobs)
    if cluster.reading == "stretch":
        return 0, busy
    flow = _alone(cluster, cluster.quota(user), jobs)
    if cluster.reading == "sharing":
        return 0, flow
    return busy, max(flow - busy, LEAST_WAIT * len(jobs))


def _alone(cluster: SharingProblem, quota: Fraction, jobs: list[int]) -> int:
    """Sum of flow times on the quota by least remaining area, then release and number.

    Areas are in parts of a GPU second that make the quota whole; the last job served has what is
    left of it, and what is complete within a second is so at its end.
    """
    room, unit = quota.as_integer_ratio()
    order = sorted(jobs, key=lambda j: cluster.releases[j])
    queue: list[tuple[int, int]] = []  # (area left, place in the order)
    come, now, total = 0, 0, 0
    while come < len(order) or queue:
        if not queue:
            now = max(now, cluster.releases[order[come]])
        while come < len(order) and cluster.releases[order[come]] <= now:
            j = order[come]
            insort(queue, (unit * cluster.gangs[j] * cluster.work[j], come))
            come += 1
        free, served = room, list[tuple[int, int, int]]()
        while len(served) < len(queue) and free:
            left, place = queue[len(served)]
            rate = min(unit * cluster.gangs[order[place]], free)
            served.append((left, place, rate))
            free -= rate
        step = min(-(-left // rate) for left, _, rate in served)
        if come < len(order):
            step = min(step, cluster.releases[order[come]] - now)
        now += step
        del queue[: len(served)]
        for left, place, rate in served:
            if left > rate * step:
                insort(queue, (left - rate * step, place))
            else:
                total += now - cluster.releases[order[place]]
    return total


LIFE_RULES = {"life": life}
FLUID_RULES = {"packing": packing}
ROUND_RULES = {"gang sums": gang_sums}
SHARING_RULES = {"user prices": user_prices}
