"""Replay the proof of a bound of LTGF's fairness, in rationals.

M GPUs; D_i, f_i: gang size and fair share of job i.

- ``packing``, of jobs that stay active: duals v_i >= 0 with sum of v_i <= D ("scale") over every
  set of jobs with sum D_i <= M (a 0/1 knapsack). Over a time T, job i with fairness lambda or more
  runs for lambda T f_i / D_i or more; jobs that run at the same time are such a set, so
  lambda T sum_i v_i f_i / D_i <= D T.
- ``life``, of jobs that come and go: whatever a schedule does, job i lives for p_i or longer, and
  its user's active jobs are among those released by then; with all of these, the job's share would
  be least (the proof is in :func:`gangsched.analysis.proofs.fluid_fairness.life_bound`). F_i is no
  less than the integral, and rho_i = D_i p_i / F_i.

One round; A_j, F_j + L f_j = d_j > 0: what user j has got, and is due at the end of the lease L.

- ``gang sums``: some users, and a level v. What a user gets is a sum of its gangs: the least one
  with rho_j >= v is g_j. These exceed M together, so somebody among the users stays below v, with
  one of its sums; the largest rho_j below v of any of them is the bound. O(gangs M). Without
  users: nobody is due anything, and the objective is 1. Objectives are the floats nearest to the
  exact values, and so is the bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from ...formulations.ltgf.fluid import LtgfFluid
from ...formulations.ltgf.problem import Ltgf
from ...formulations.ltgf.round import LtgfRound
from .packings import MAX_CAPACITY, knapsack
from .readers import integer, integers, item

__all__ = ["RULES_OF_FLUID", "RULES_OF_LIVES", "RULES_OF_ROUNDS"]


def _packing(problem: LtgfFluid, certificate: Mapping[str, Any]) -> Fraction:
    scale = integer(certificate, "scale", 1)
    duals = integers(certificate.get("duals"), "duals", count=len(problem.gangs))
    worth = knapsack(problem.gangs, duals, min(problem.gpus, sum(problem.gangs)))
    if worth > scale:
        raise ValueError(
            f"duals of jobs that fit on {problem.gpus} GPUs add up to {worth}, above scale={scale}"
        )
    pairs = zip(problem.gangs, problem.shares, duals, strict=True)
    needed = sum(Fraction(share) * v / gang for gang, share, v in pairs)
    if not needed:
        raise ValueError("duals are all 0, which proves nothing")
    return scale / Fraction(needed)


def _life(problem: Ltgf, certificate: Mapping[str, Any]) -> Fraction:
    job = problem.jobs[item(certificate, "job", len(problem.jobs))]
    users = problem.instance.users
    start, end = job.release, job.release + (job.work or 0)
    mates = [other for other in problem.jobs if len(users) < 2 or other.user == job.user]
    quota = Fraction(problem.instance.cluster.gpus)
    if len(users) > 1:
        weights = {user.id: _decimal(user.weight) for user in users}
        quota *= weights[job.user] / sum(weights.values())
    fair = total = Fraction(0)
    slimmest = job.gpus / _decimal(job.weight)  # D / w, the least of those released
    times = sorted({start, end} | {mate.release for mate in mates if start < mate.release < end})
    waiting = sorted(mates, key=lambda mate: mate.release, reverse=True)
    for now, then in pairwise(times):
        while waiting and waiting[-1].release <= now:
            mate = waiting.pop()
            total += _decimal(mate.weight)
            slimmest = min(slimmest, mate.gpus / _decimal(mate.weight))
        rate = quota / total if len(users) < 2 else min(quota / total, slimmest)
        fair += min(Fraction(job.gpus), _decimal(job.weight) * rate) * (then - now)
    return job.gpus * (job.work or 0) / fair


def _gang_sums(problem: LtgfRound, certificate: Mapping[str, Any]) -> Fraction:
    level = Fraction(integer(certificate, "level"), integer(certificate, "scale", 1))
    if problem.gpus > MAX_CAPACITY:
        raise ValueError(f"gpus: {problem.gpus} are more than {MAX_CAPACITY}")
    users = _users(problem, certificate)
    if not users and not any(_due(problem, j) for j in range(len(problem.attained))):
        return Fraction(1)
    needed, below = 0, list[Fraction]()
    for user in users:
        due, attained = _due(problem, user), problem.attained[user]
        least = max(ceil((level * due - attained) / problem.lease), 0)
        sums = _sums([gang for owner, gang in problem.jobs if owner == user], problem.gpus)
        needed += next((g for g in sums if g >= least), problem.gpus + 1)
        below += [(attained + problem.lease * g) / due for g in sums if g < least][-1:]
    if needed <= problem.gpus:
        raise ValueError(f"level={float(level)} takes {needed} of the {problem.gpus} GPUs")
    return Fraction(float(max(below)))


def _users(problem: LtgfRound, certificate: Mapping[str, Any]) -> list[int]:
    """Different users who are due something."""
    users = integers(certificate.get("users"), "users")
    if len(set(users)) < len(users):
        raise ValueError(f"users={users} names one twice")
    for user in users:
        if user >= len(problem.attained) or not _due(problem, user):
            raise ValueError(f"users: {user} is not one who is due something")
    return users


def _due(problem: LtgfRound, user: int) -> Fraction:
    return Fraction(problem.fair[user]) + problem.lease * Fraction(problem.share[user])


def _sums(gangs: Sequence[int], most: int) -> list[int]:
    """All sums of some of the gangs up to `most`, rising."""
    reached = np.zeros(most + 1, dtype=bool)
    reached[0] = True
    for gang in gangs:
        if gang <= most:
            reached[gang:] |= reached[:-gang].copy()
    sums: list[int] = np.flatnonzero(reached).tolist()
    return sums


def _decimal(value: float) -> Fraction:
    """The rational that the shortest decimal denotes."""
    return Fraction(repr(float(value)))


RULES_OF_LIVES = {"life": _life}
RULES_OF_FLUID = {"packing": _packing}
RULES_OF_ROUNDS = {"gang sums": _gang_sums}
