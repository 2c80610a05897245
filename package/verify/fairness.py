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

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

from .fields import (
    BadFile,
    JobColumns,
    Refused,
    gpus_by_model,
    integer,
    integers,
    item,
    knapsack,
    number,
    one_of,
    rising,
    whole,
)
from .kernels import ReadProblem, alone_fits, alone_flows, cost_columns, costs_fit, least_costs

#: GPUs of a round, and seconds of wait that a job counts for at least
MOST_GPUS, LEAST_WAIT = 10**8, 60
Number = int | Fraction


class SharingProblem(ReadProblem):
    """Users by weight, and their jobs."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.gpus = sum(gpus_by_model(data).values())
        jobs = JobColumns.of(data)
        users = data["instance"].get("users", [])
        self.weights = {user["id"]: number(user, "weight", 1.0) for user in users}
        self.several = len(users) > 1
        given = data.get("parameters", {})
        self.reading = one_of(given, "reading", ("sharing", "wait", "stretch"))
        self.limit = None if given.get("limit") is None else number(given, "limit")
        self.gangs, self.work = jobs.wholes("gpus"), jobs.wholes("work", 0)
        self.releases, self.importance = jobs.wholes("release", 0), jobs.numbers("weight", 1.0)
        owners = jobs.column("user", "") if self.several else [""] * len(jobs)
        if self.several and not {*owners} <= {*self.weights}:
            raise BadFile("a job's user is not one of the users")
        order = list(self.weights) if self.several else [""]
        #: numbers of the jobs of each user who has some, users in their order
        members = {user: list[int]() for user in order}
        for j, user in enumerate(owners):
            members[user].append(j)
        self.members = {user: own for user, own in members.items() if own}
        self.owners = owners

    def quota(self, user: str) -> Fraction:
        """GPUs by weight."""
        part = self.weights[user] / sum(self.weights.values()) if self.several else Fraction(1)
        return self.gpus * part


def life(cluster: SharingProblem, certificate: Mapping[str, Any]) -> Fraction:
    """A job's share while it is served without a pause is what it is due at least."""
    j = item(certificate, "job", len(cluster.gangs))
    gang, begin, end = cluster.gangs[j], cluster.releases[j], cluster.releases[j] + cluster.work[j]
    quota, weights = cluster.quota(cluster.owners[j]), cluster.importance
    come = sorted(cluster.members[cluster.owners[j]], key=cluster.releases.__getitem__)
    changes = {cluster.releases[k] for k in come if begin < cluster.releases[k] < end}
    due, at, all_of, least = Fraction(0), 0, Fraction(0), gang / weights[j]
    for now, until in pairwise(sorted({begin, end} | changes)):
        while at < len(come) and cluster.releases[come[at]] <= now:
            k, at = come[at], at + 1
            all_of, least = all_of + weights[k], min(least, cluster.gangs[k] / weights[k])
        rate = min(quota / all_of, least) if cluster.several else quota / all_of
        due += (until - now) * min(Fraction(gang), weights[j] * rate)
    return gang * cluster.work[j] / due


class FluidProblem(ReadProblem):
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


class RoundProblem(ReadProblem):
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
    if len(set(users)) < len(users):
        raise Refused(f"users={users} names one twice")
    for u in users:
        if u >= len(problem.due) or not problem.due[u]:
            raise Refused(f"users: {u} is not one who is due something")
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
    weights = {u: everyone + share for u, share in zip(cluster.members, shares, strict=True)}
    order = sorted(range(len(cluster.gangs)), key=cluster.releases.__getitem__)
    of_jobs = cluster.releases, cluster.work, [weights[u] for u in cluster.owners], cluster.gangs
    columns = [*([column[j] for j in order] for column in of_jobs), times, prices]
    worth = sum(q * (b - a) for q, (a, b) in zip(prices, pairwise(times), strict=True))
    total = sum(cluster.run(least_costs, costs_fit(columns), *cost_columns(*columns)))
    total -= cluster.gpus * worth
    over = 0
    for share, (user, jobs) in zip(shares, cluster.members.items(), strict=True):
        if share:
            less, divisor = terms(cluster, user, jobs)
            total -= share * less
            over += share * divisor
    if cluster.limit is not None:
        if not everyone:
            raise Refused("all=0, so that nothing is said of the sum of flow times")
        return ceil((total - cluster.limit * over) / everyone)
    if everyone:
        raise Refused(f"all={everyone}, but it bounds the worst ratio alone")
    return Fraction(total, over) if over else Fraction(0)


def terms(cluster: SharingProblem, user: str, jobs: list[int]) -> tuple[int, int]:
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
    most, unit = quota.as_integer_ratio()
    order = sorted(jobs, key=cluster.releases.__getitem__)
    releases, rates = [cluster.releases[j] for j in order], [unit * cluster.gangs[j] for j in order]
    left = [rate * cluster.work[j] for rate, j in zip(rates, order, strict=True)]
    fits = alone_fits(releases, rates, left, most)
    return sum(cluster.run(alone_flows, fits, releases, rates, left, most, [0] * len(order)))


LIFE_RULES = {"life": life}
FLUID_RULES = {"packing": packing}
ROUND_RULES = {"gang sums": gang_sums}
SHARING_RULES = {"user prices": user_prices}
