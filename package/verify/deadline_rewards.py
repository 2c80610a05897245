"""Bounds of the rewards for met deadlines: what prices of GPU time prove.

Job j needs p_j seconds of its D_j GPUs from r_j on; complete by r_j + d it is worth V, for pairs
(d, V). Whatever a schedule does,

    sum of V <= M sum_k q_k l_k + sum_j max(0, max over (d, V) of V - D_j (cheapest p_j seconds of
    [r_j, r_j + d))),

for all prices q_k >= 0 of a GPU second in the k-th interval, of length l_k: who meets a deadline
pays for p_j seconds before it, and all pay no more than what the M GPUs cost.

- ``prices``: integers "prices" between the times "times", in parts 1 / S ("scale") of the unit, the
  largest number that all rewards are multiples of. So is their sum: it is rounded down to one.

An elastic job may hold 1 to 2 D GPUs, n of them at speed s_n. It runs for p / max s at least, and
holds p min n / s_n GPU seconds, as if max s (min n / s_n) GPUs ran at the highest speed.

O(jobs deadlines K log K) for K intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import floor, gcd
from typing import Any

from .fields import Refused, flag, integer, integers, number, rows, steps, whole

__all__ = ["RULES", "DeadlineProblem"]

#: parts of full speed
FULL = 1_000_000


class DeadlineProblem:
    """What the rule needs of a problem: GPUs, and gangs, times and rewards of jobs."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        nodes = rows(data, "instance", "cluster", "nodes")
        self.gpus = sum(whole(node, "gpus") for node in nodes)
        self.elastic = flag(data.get("parameters", {}), "elastic", default=False)
        jobs = rows(data, "instance", "jobs")
        self.jobs = [(whole(job, "release", 0), *self._demand(job), steps(job)) for job in jobs]
        self.unit = Fraction(0)
        for value in {value for *_, rewards in self.jobs for _, value in rewards}:
            a, b = self.unit, Fraction(value)
            top = gcd(a.numerator * b.denominator, b.numerator * a.denominator)
            self.unit = Fraction(top, a.denominator * b.denominator)

    def _demand(self, job: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
        """GPUs held, and seconds run."""
        gang, work = whole(job, "gpus"), Fraction(whole(job, "work", 0))
        if not self.elastic:
            return Fraction(gang), work
        c = float(number(job, "scaling", 0.05))

        def law(n: int) -> float:
            return n / (1 + c * (n - 1))

        speeds = {
            n: Fraction(round(FULL * (1.0 if n == gang else 1.0 * (law(n) / law(gang)))), FULL)
            for n in range(1, 2 * gang + 1)
        }
        top = max(speeds.values())
        held: Fraction = min(n / speed for n, speed in speeds.items() if speed)
        return top * held, work / top


def prices(problem: DeadlineProblem, certificate: Mapping[str, Any]) -> Fraction:
    """What the GPUs cost, and what each job gains at most."""
    scale = integer(certificate, "scale", 1)
    times = integers(certificate.get("times"), "times")
    if any(b <= a for a, b in pairwise(times)):
        raise Refused("times do not rise")
    given = integers(
        certificate.get("prices"), "prices", count=max(len(times) - 1, 0), what="intervals"
    )
    spans = list(zip(given, pairwise(times), strict=True))
    total = Fraction(problem.gpus * sum(q * (b - a) for q, (a, b) in spans))
    for release, gang, seconds, rewards in problem.jobs:
        gain = Fraction(0)
        for deadline, value in rewards:
            cost = _cheapest(spans, release, release + deadline, seconds)
            if cost is not None:
                gain = max(gain, Fraction(value) / problem.unit * scale - gang * cost)
        total += gain
    return floor(total / scale) * problem.unit


def _cheapest(
    spans: list[tuple[int, tuple[int, int]]], begin: int, end: int, need: Fraction
) -> Fraction | None:
    """The price of the cheapest seconds; None if there are too few. Nothing costs outside."""
    if end - begin < need:
        return None
    within = [(q, min(b, end) - max(a, begin)) for q, (a, b) in spans if b > begin and a < end]
    left = need - (end - begin - sum(length for _, length in within))
    cost = Fraction(0)
    for price, length in sorted(within):
        if left <= 0:
            break
        taken = left if left < length else Fraction(length)
        cost, left = cost + price * taken, left - taken
    return cost


RULES = {"prices": prices}
