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

from .fields import JobColumns, Refused, flag, gpus_by_model, integer, integers, steps
from .kernels import PARTS, ReadProblem, gains_fit, most_gains


class DeadlineProblem(ReadProblem):
    """What the rule needs of a problem: GPUs, and gangs, times and rewards of jobs."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.gpus = sum(gpus_by_model(data).values())
        self.elastic = flag(data.get("parameters", {}), "elastic", default=False)
        jobs = JobColumns.of(data)
        self.gangs, self.work = gangs, work = jobs.wholes("gpus"), jobs.wholes("work", 0)
        self.releases = jobs.wholes("release", 0)
        self.rewards = [steps(pairs) for pairs in jobs.column("rewards")]
        #: GPUs held and seconds run
        self.demands = [(Fraction(g), Fraction(w)) for g, w in zip(gangs, work, strict=True)]
        if self.elastic:
            laws = zip(gangs, work, jobs.numbers("scaling", 0.05), strict=True)
            self.demands = [_best(gang, seconds, float(c)) for gang, seconds, c in laws]
        self.unit = Fraction(0)
        for value in {value for rewards in self.rewards for _, value in rewards}:
            a, b = self.unit, Fraction(value)
            top = gcd(a.numerator * b.denominator, b.numerator * a.denominator)
            self.unit = Fraction(top, a.denominator * b.denominator)


def _best(gang: int, work: int, c: float) -> tuple[Fraction, Fraction]:
    """GPUs held and seconds run at the highest speed, as if GPUs were used best."""

    def law(n: int) -> float:
        return n / (1 + c * (n - 1))

    speeds = {
        n: Fraction(round(PARTS * (1.0 if n == gang else 1.0 * (law(n) / law(gang)))), PARTS)
        for n in range(1, 2 * gang + 1)
    }
    top = max(speeds.values())
    held: Fraction = min(n / speed for n, speed in speeds.items() if speed)
    return top * held, work / top


def prices(problem: DeadlineProblem, certificate: Mapping[str, Any]) -> Fraction:
    """What the GPUs cost, and what each job gains at most."""
    scale = integer(certificate, "scale", 1)
    times = integers(certificate.get("times"), "times")
    for a, b in pairwise(times):
        if b <= a:
            raise Refused(f"times do not rise: {b} follows {a}")
    given = integers(
        certificate.get("prices"), "prices", count=max(len(times) - 1, 0), what="intervals"
    )
    spent = sum(q * (b - a) for q, (a, b) in zip(given, pairwise(times), strict=True))
    total = Fraction(problem.gpus * spent, scale)  # in units
    wholes, columns = _columns(problem, scale)
    if wholes:
        columns += [times, given] if given else [[0, 1], [0]]
        gains = problem.run(most_gains, gains_fit(columns), *columns, [0] * len(wholes))
        won = dict.fromkeys(wholes, 0)
        for whole, gain in zip(wholes, gains, strict=True):
            won[whole] += gain
        total += sum(Fraction(gain, whole) for whole, gain in won.items())
    return floor(total) * problem.unit


def _columns(problem: DeadlineProblem, scale: int) -> tuple[list[int], list[list[int]]]:
    """What a unit of rewards is for each job, so that all numbers are whole; and the jobs so."""
    wholes, columns = list[int](), [list[int]() for _ in range(7)]
    releases, needs, parts, gangs, ends, deadlines, worths = columns
    for j in sorted(range(len(problem.releases)), key=problem.releases.__getitem__):
        if not problem.rewards[j]:
            continue
        gang, seconds = problem.demands[j]
        wholes.append(scale * gang.denominator * seconds.denominator)
        for deadline, value in problem.rewards[j]:
            deadlines.append(problem.releases[j] + deadline)
            worths.append(int(Fraction(value) / problem.unit) * wholes[-1])
        releases.append(problem.releases[j])
        needs.append(seconds.numerator)
        parts.append(seconds.denominator)
        gangs.append(gang.numerator)
        ends.append(len(deadlines))
    return wholes, columns


RULES = {"prices": prices}
