"""Replay the proof of a bound of rewards for met deadlines, in integers.

The proof is the theorem of :mod:`gangsched.analysis.proofs.deadline_rewards`.

- ``prices``: integers q_k >= 0 ("prices") and S ("scale"); a GPU second within the k-th two
  neighbours of "times" costs q_k / S of the unit that all rewards are multiples of. Each job's
  cheapest seconds before each of its deadlines are found again; the sum is rounded down to a
  multiple of the unit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any

from ...formulations.deadline_rewards import DeadlineRewards
from ...instances.model import FULL_SPEED, DeadlineJob
from .readers import integer, integers

__all__ = ["RULES"]


def _prices(problem: DeadlineRewards, certificate: Mapping[str, Any]) -> Fraction:
    scale = integer(certificate, "scale", 1)
    times = integers(certificate.get("times"), "times")
    prices = integers(
        certificate.get("prices"), "prices", count=max(len(times) - 1, 0), what="intervals"
    )
    for one, other in pairwise(times):
        if one >= other:
            raise ValueError(f"times do not rise: {other} follows {one}")
    lengths = (end - begin for begin, end in pairwise(times))
    spent = problem.instance.cluster.gpus * sum(
        q * length for q, length in zip(prices, lengths, strict=True)
    )
    total = Fraction(spent, scale)  # in units
    unit = problem.unit
    for job in problem.jobs:
        gang, seconds = _fastest(job) if problem.elastic else (Fraction(job.gpus), job.work or 0)
        best = Fraction(0)
        for deadline, reward in job.rewards:
            cost = _cheapest(times, prices, job.release, job.release + deadline, seconds)
            if cost is not None:
                best = max(best, Fraction(reward) / unit - gang * cost / scale)
        total += best
    return floor(total) * unit


def _fastest(job: DeadlineJob) -> tuple[Fraction, Fraction]:
    """GPUs held and seconds run, as if GPUs were used best at the highest speed."""
    speeds = [
        (n, Fraction(job.speed(n, 1, 2 * job.gpus), FULL_SPEED)) for n in range(1, 2 * job.gpus + 1)
    ]
    top = max(speed for _, speed in speeds)
    return top * min(n / speed for n, speed in speeds if speed), (job.work or 0) / top


def _cheapest(
    times: list[int], prices: list[int], start: int, end: int, seconds: int | Fraction
) -> int | Fraction | None:
    """Least price of so many seconds within [start, end); None if it has not as many."""
    if end - start < seconds:
        return None
    inside = range(
        max(bisect_right(times, start) - 1, 0), min(bisect_left(times, end), len(prices))
    )
    parts = sorted(
        (prices[k], max(min(times[k + 1], end) - max(times[k], start), 0)) for k in inside
    )
    left = seconds - (end - start - sum(length for _, length in parts))  # the rest costs nothing
    cost: int | Fraction = 0
    for price, length in parts:
        if left <= 0:
            break
        cost += price * min(length, left)
        left -= length
    return cost


RULES = {"prices": _prices}
