"""Replay the proof of a bound of rewards for met deadlines, in integers.

The proof is the theorem of :mod:`gangsched.analysis.proofs.deadline_rewards`.

- ``prices``: integers q_k >= 0 ("prices") and S ("scale"); a GPU second within the k-th two
  neighbours of "times" costs q_k / S of the unit that all rewards are multiples of. Each job's
  cheapest seconds before each of its deadlines are found again; the sum is rounded down to a
  multiple of the unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any

import numpy as np

from ...formulations.deadline_rewards import DeadlineRewards
from ...instances.model import FULL_SPEED, DeadlineJob
from .readers import integer, integers

__all__ = ["RULES"]

LIMIT = 2**62  #: of numbers that are compiled


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
    unit = problem.unit
    if not prices:
        times, prices = [0, 1], [0]
    columns: list[list[int]] = [[] for _ in range(7)]
    wholes = []  #: the integer that one unit is, for each job
    for job in sorted((job for job in problem.jobs if job.rewards), key=lambda job: job.release):
        gang, seconds = _fastest(job) if problem.elastic else (Fraction(job.gpus), job.work or 0)
        need, parts = Fraction(seconds).as_integer_ratio()
        whole = scale * gang.denominator * parts
        wholes.append(whole)
        columns[5] += [job.release + deadline for deadline, _ in job.rewards]
        columns[6] += [int(Fraction(value) / unit) * whole for _, value in job.rewards]
        row = job.release, need, parts, gang.numerator, len(columns[5])
        for column, entry in zip(columns, row, strict=False):
            column.append(entry)
    total = Fraction(spent, scale)  # in units
    for whole, won in _sums(wholes, _most_gains([*columns, times, prices])).items():
        total += Fraction(won, whole)
    return floor(total) * unit


def _sums(wholes: list[int], gains: list[int]) -> dict[int, int]:
    """The gains of each whole, together."""
    found: dict[int, int] = {}
    for whole, gain in zip(wholes, gains, strict=True):
        found[whole] = found.get(whole, 0) + gain
    return found


def _most_gains(columns: list[list[int]]) -> list[int]:
    """Compiled where every product fits 64 bits."""
    from .verify_rewards_core import compiled_most_gains, most_gains  # numba loads slowly

    releases, needs, parts, gangs, ends, deadlines, worths, times, prices = columns
    gains = [0] * len(releases)
    if not gains:
        return gains
    span = max([*deadlines, times[-1]]) * max(parts)
    dearest = max(prices) * max(g * p for g, p in zip(gangs, needs, strict=True))
    if max(worths) + dearest < LIMIT and span < LIMIT and max(needs) < LIMIT:
        arrays = [np.array(column, dtype=np.int64) for column in (*columns, gains)]
        compiled_most_gains(*arrays)
        return [int(gain) for gain in arrays[-1].tolist()]
    most_gains(releases, needs, parts, gangs, ends, deadlines, worths, times, prices, gains)
    return gains


def _fastest(job: DeadlineJob) -> tuple[Fraction, Fraction]:
    """GPUs held and seconds run, as if GPUs were used best at the highest speed."""
    speeds = [
        (n, Fraction(job.speed(n, 1, 2 * job.gpus), FULL_SPEED)) for n in range(1, 2 * job.gpus + 1)
    ]
    top = max(speed for _, speed in speeds)
    return top * min(n / speed for n, speed in speeds if speed), (job.work or 0) / top


RULES = {"prices": _prices}
