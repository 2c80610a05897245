"""Replay the proof of a bound of the worst user's ratio, in integers.

- ``user prices``: integers q_k ("prices") of a GPU second between "times", v_u ("users", in the
  order of the users who have jobs) and c ("all"). What each user's quota is, how long its jobs take
  alone there, and the least cost of each job at a weight c + v_u are found again
  (:mod:`gangsched.analysis.proofs.user_prices` has the theorem).

Alone, the user's jobs are simulated by :func:`.verify_alone_core.alone_flow`. O(n) times the jobs
that run or the intervals in which a job waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from ...formulations.sharing_incentive import SharingIncentive
from .readers import integer, integers
from .verify_completion_time import least_costs_of

__all__ = ["RULES"]

GRACE = 60  #: seconds a job that the wait alone counts for at least


def _user_prices(problem: SharingIncentive, certificate: Mapping[str, Any]) -> int | Fraction:
    whose = _whose(problem)
    times = integers(certificate.get("times"), "times")
    prices = integers(certificate.get("prices"), "prices", count=len(times) - 1, what="times")
    shares = integers(certificate.get("users"), "users", count=len(whose), what="users")
    everyone = integer(certificate, "all")
    if len(times) < 2 or any(b <= a for a, b in pairwise(times)):
        raise ValueError("times do not rise, or are fewer than two")
    jobs = problem.jobs
    weight = [everyone] * len(jobs)
    for share, numbers in zip(shares, whose.values(), strict=True):
        for j in numbers:
            weight[j] += share
    order = sorted(range(len(jobs)), key=lambda j: jobs[j].release)
    rows = [(jobs[j].release, jobs[j].work or 0, weight[j], jobs[j].gpus) for j in order]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    worth = sum(q * (b - a) for q, (a, b) in zip(prices, pairwise(times), strict=True))
    least = sum(least_costs_of([*columns, times, prices]))
    least -= problem.instance.cluster.gpus * worth
    over = 0
    for share, (user, numbers) in zip(shares, whose.items(), strict=True):
        if share:
            less, divisor = _terms(problem, user, numbers)
            least -= share * less
            over += share * divisor
    if problem.limit is not None:
        if not everyone:
            raise ValueError("all=0, so that nothing is said of the sum of flow times")
        return ceil((least - Fraction(repr(float(problem.limit))) * over) / everyone)
    if everyone:
        raise ValueError(f"all={everyone}, but it bounds the worst ratio alone")
    return Fraction(least, over) if over else Fraction(0)


def _whose(problem: SharingIncentive) -> dict[str, list[int]]:
    """Numbers of the jobs of each user who has some, in the order of the instance."""
    users = problem.instance.users
    if len(users) < 2:
        return {"": list(range(len(problem.jobs)))} if problem.jobs else {}
    numbers: dict[str, list[int]] = {user.id: [] for user in users}
    for j, job in enumerate(problem.jobs):
        numbers[job.user].append(j)
    return {user: jobs for user, jobs in numbers.items() if jobs}


def _terms(problem: SharingIncentive, user: str, numbers: list[int]) -> tuple[int, int]:
    """What is taken off the user's sum of flow times, and what that is divided by."""
    busy = sum(problem.jobs[j].work or 0 for j in numbers)
    if problem.reading == "stretch":
        return 0, busy
    alone = _alone(problem, user, numbers)
    return (
        (0, alone)
        if problem.reading == "sharing"
        else (busy, max(alone - busy, GRACE * len(numbers)))
    )


def _alone(problem: SharingIncentive, user: str, numbers: list[int]) -> int:
    """The sum of the flow times of the user's jobs on its quota; compiled where numbers fit."""
    from .verify_alone_core import alone_flow, compiled_alone_flow  # numba loads slowly

    weights = {one.id: Fraction(repr(float(one.weight))) for one in problem.instance.users}
    quota = Fraction(problem.instance.cluster.gpus)
    if len(weights) > 1:
        quota *= weights[user] / sum(weights.values())
    most, unit = quota.as_integer_ratio()
    jobs = sorted((problem.jobs[j] for j in numbers), key=lambda job: job.release)
    releases = [job.release for job in jobs]
    rates = [unit * job.gpus for job in jobs]
    left = [rate * (job.work or 0) for rate, job in zip(rates, jobs, strict=True)]
    span = releases[-1] + sum(
        -(-area // most) + (job.work or 0) for area, job in zip(left, jobs, strict=True)
    )
    if max(span * max(most, *rates), span * len(jobs), sum(left)) < 2**62:
        arrays = [np.array(column, dtype=np.int64) for column in (releases, rates, left)]
        return int(compiled_alone_flow(*arrays, most))
    return int(alone_flow(releases, rates, left, most))


RULES = {"user prices": _user_prices}
