"""Bounds of completion times of preemptive gangs: what each kind of certificate proves.

Job j needs p_j seconds on its fastest GPU model from r_j on, holds g_j GPUs of one model while it
runs, and is complete at C_j. A measure is max C_j, sum w_j C_j ("completion"), sum w_j (C_j - r_j)
("flow") or sum w_j (C_j - r_j) / p_j ("slowdown").

*Fast machine.* Let a_j be the size of j and N the speed of one machine, such that whoever serves j
for a second uses a_j / p_j of N: of f(g / M) for a dual feasible f = u_k(U_eps) on M equal GPUs, or
of integer prices of the GPU models. Any schedule is then one of this machine, which serves a_j.

- ``last job``: a makespan is at least r_j + p_j.
- ``released work``: at least a release and the time of all sizes that come then or later.
- ``shortest remaining first``: SRPT is best for the sum of completion times on one machine; C_j is
  also at least r_j + p_j, and the k-th completion at least the k-th least of these.
- ``mean busy time``: with lambda_j <= 1, that is q_j a_j <= Q w_j, sum w_j C_j is at least what
  w_j (r_j + p_j) and the mean busy times of jobs served by falling q_j add up to.
- ``GPU prices``: for prices q(t) >= 0 of a GPU second, sum over j of the least over C of
  w_j (C - r_j) + g_j (cheapest p_j seconds of [r_j, C)), less M times the integral of q.
- ``GPU model prices``: the same with a price for each model, and for each job some worths of a
  second of its work ("rates"): its cost is at least the worth of its work less what the best model
  gains in each second until C.

O(n log n) for n jobs; for prices O(n) times the intervals in which a job waits.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, floor
from typing import Any

from .fields import (
    BadFile,
    Refused,
    integer,
    integers,
    item,
    lists,
    one_of,
    rising,
    rows,
    stepped,
    thresholded,
    whole,
)

__all__ = ["RULES", "GangProblem", "least_cost"]

#: parts of a second's work on the reference model
FULL = 1_000_000
Number = int | Fraction


class GangProblem:
    """What the rules need of a problem: releases, times alone, gangs, weights."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        given = data.get("parameters", {})
        self.measure = one_of(given, "measure", ("flow", "makespan", "completion", "slowdown"))
        self.weighted = given.get("weighted", False) is True
        self.room: dict[str, int] = {}  # GPUs of each model, in the order of their first nodes
        for node in rows(data, "instance", "cluster", "nodes"):
            model = node.get("model", "")
            self.room[model] = self.room.get(model, 0) + whole(node, "gpus")
        self.jobs = rows(data, "instance", "jobs")
        self.gangs = [whole(job, "gpus") for job in self.jobs]
        self.work = [whole(job, "work", 0) for job in self.jobs]
        self.releases = [whole(job, "release", 0) for job in self.jobs]
        self.able = [self._able(job) for job in self.jobs]
        self.seconds = [
            -(-FULL * work // max(speeds.values()))
            for work, speeds in zip(self.work, self.able, strict=True)
        ]
        ratios = [self._weight(job) for job in self.jobs]
        #: weights are in units of 1 / scale
        self.scale = max((below for _, below in ratios), default=1)
        self.weights = [over * (self.scale // below) for over, below in ratios]

    def _weight(self, job: Mapping[str, Any]) -> tuple[int, int]:
        weight = job.get("weight", 1) if self.weighted else 1
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not weight > 0:
            raise BadFile(f"weight={weight!r} is not a number > 0")
        return weight.as_integer_ratio()

    def _able(self, job: Mapping[str, Any]) -> dict[str, int]:
        """Speeds in millionths on the models on which a job can run."""
        speeds, pin = job.get("speeds") or {}, job.get("pin", "")
        able = {}
        for model, count in self.room.items():
            speed = round(speeds.get(model, 0) * FULL) if speeds else FULL
            if speed and pin in ("", model) and whole(job, "gpus") <= count:
                able[model] = speed
        if not able:
            raise BadFile(f"job {job.get('id')!r} fits nowhere")
        return able

    @property
    def gpus(self) -> int:
        """M."""
        return sum(self.room.values())

    @property
    def mixed(self) -> bool:
        """Whether GPUs differ, or jobs' speeds from the reference."""
        return len(self.room) > 1 or any({*able.values()} != {FULL} for able in self.able)

    @cached_property
    def divisors(self) -> list[int]:
        """What each term is divided by."""
        return self.seconds if self.measure == "slowdown" else [1] * len(self.jobs)

    def rounded(self, value: Number) -> Number:
        """`value` in units of 1 / scale, rounded up where objectives are integers."""
        value = Fraction(value) / self.scale
        return ceil(value) if self.measure != "slowdown" and self.scale == 1 else value

    def since(self) -> int:
        """What completions are more than flow times, weighted."""
        if self.measure != "completion":
            return 0
        return sum(w * r for w, r in zip(self.weights, self.releases, strict=True))

    def require(self, *measures: str) -> None:
        """Refuse what bounds other measures."""
        if self.measure not in measures:
            raise Refused(f"it bounds {' and '.join(measures)}, the measure is {self.measure!r}")


# --- a fast machine -------------------------------------------------------------------------------


def _machine(
    problem: GangProblem, certificate: Mapping[str, Any]
) -> tuple[int, list[int], list[int]]:
    """N, and of every job a_j and 2 N (p_j - h_j), h_j half the time of a_j at full speed."""
    if "prices" in certificate:
        return _priced_machine(problem, certificate)
    total, k, eps = problem.gpus, integer(certificate, "k"), integer(certificate, "eps")
    if 2 * eps > total:
        raise Refused(f"eps={eps} exceeds half of the {total} GPUs")
    widths = [stepped(thresholded(gang, total, eps), total, k) for gang in problem.gangs]
    units = max(k, 1) * total
    sizes = [b * p for b, p in zip(widths, problem.seconds, strict=True)]
    return units, sizes, [units * p for p in problem.seconds]


def _priced_machine(
    problem: GangProblem, certificate: Mapping[str, Any]
) -> tuple[int, list[int], list[int]]:
    if "k" in certificate or "eps" in certificate:
        raise Refused("prices exclude k and eps")
    prices = integers(certificate["prices"], "prices", count=len(problem.room), what="GPU models")
    units = sum(p * count for p, count in zip(prices, problem.room.values(), strict=True))
    if not units:
        raise Refused(f"prices={prices} are all 0, so that the machine does nothing")
    cost = dict(zip(problem.room, prices, strict=True))
    sizes, lags = [], []
    for j, able in enumerate(problem.able):
        least = min(Fraction(cost[model], speed) for model, speed in able.items())
        size = floor(least * (FULL * problem.gangs[j] * problem.work[j]))
        rate = least * (problem.gangs[j] * max(able.values()))
        sizes.append(size)
        lags.append(2 * units * problem.seconds[j] - (floor(units * size / rate) if least else 0))
    return units, sizes, lags


def last_job(problem: GangProblem, certificate: Mapping[str, Any]) -> int:
    """No schedule ends before a job can."""
    problem.require("makespan")
    j = item(certificate, "job", len(problem.jobs))
    return problem.releases[j] + problem.seconds[j]


def released_work(problem: GangProblem, certificate: Mapping[str, Any]) -> int:
    """What comes at a time or later is served after it."""
    problem.require("makespan")
    units, sizes, _ = _machine(problem, certificate)
    first = integer(certificate, "release")
    late = [a for a, r in zip(sizes, problem.releases, strict=True) if r >= first]
    return first - (-sum(late) // units) if any(late) else 0


def shortest_first(problem: GangProblem, certificate: Mapping[str, Any]) -> Number:
    """SRPT on the fast machine, no completion before a job alone could have it."""
    problem.require("completion", "flow")
    if len(set(problem.weights)) > 1:
        raise Refused(f"{len(set(problem.weights))} different weights; it is for equal ones")
    units, sizes, _ = _machine(problem, certificate)
    alone = zip(problem.releases, problem.seconds, strict=True)
    earliest = sorted(r + p for r, p in alone)
    ends = _srpt(sorted(zip((r * units for r in problem.releases), sizes, strict=True)))
    total = sum(max(-(-s // units), e) for s, e in zip(ends, earliest, strict=True))
    since = sum(problem.releases) if problem.measure == "flow" else 0
    return problem.rounded(max(problem.weights, default=0) * (total - since))


def _srpt(jobs: Sequence[tuple[int, int]]) -> list[int]:
    """Ends of (release, size), sorted by release, under SRPT, as they come."""
    now, left, ends = 0, list[int](), list[int]()
    for release, size in jobs:
        while left and now + left[0] <= release:
            now += heapq.heappop(left)
            ends.append(now)
        if left:
            left[0] -= release - now  # the least one gets less: the heap stays one
        now = release
        heapq.heappush(left, size)
    for size in sorted(left):
        now += size
        ends.append(now)
    return ends


def mean_busy_time(problem: GangProblem, certificate: Mapping[str, Any]) -> Number:
    """Priority by falling q_j gives the least sum of q_j a_j times mean busy time."""
    problem.require("completion", "flow", "slowdown")
    units, sizes, lags = _machine(problem, certificate)
    densities = integers(certificate.get("densities"), "densities", count=len(sizes))
    scale = integer(certificate, "scale", 1)
    alone = total = 0
    for j, divisor in enumerate(problem.divisors):
        share = densities[j] * sizes[j] * problem.scale * divisor
        if share > scale * problem.weights[j]:
            raise Refused(f"densities[{j}]={densities[j]} gives the job lambda>1")
        since = problem.releases[j] if problem.measure == "completion" else 0
        alone += problem.weights[j] * (since + problem.seconds[j] // divisor)
        total -= densities[j] * sizes[j] * (2 * problem.releases[j] * units + lags[j])
    total += _moments([r * units for r in problem.releases], sizes, densities)
    return problem.rounded(alone + Fraction(total * problem.scale, 2 * scale * units))


def _moments(releases: list[int], sizes: list[int], densities: list[int]) -> int:
    """Sum of q (e^2 - s^2) over the pieces [s, e) that jobs have, by falling q.

    What is busy between two releases is always the first part of the time between them, as each job
    fills the first idle moments.
    """
    starts = sorted(set(releases))
    filled, until = list(starts), [*starts[1:], max(starts, default=0) + sum(sizes)]
    at = {release: k for k, release in enumerate(starts)}
    later = list(range(len(starts)))  # where to look for idle time after each start
    total = 0
    for j in sorted(range(len(sizes)), key=lambda j: -densities[j]):
        left, k = sizes[j] if densities[j] else 0, at[releases[j]]
        while left:
            while later[k] != k:
                later[k] = later[later[k]]
                k = later[k]
            piece = min(left, until[k] - filled[k])
            total += densities[j] * piece * (2 * filled[k] + piece)
            filled[k] += piece
            left -= piece
            if left:
                later[k] = k + 1
    return total


# --- prices of GPU time ---------------------------------------------------------------------------


def gpu_prices(problem: GangProblem, certificate: Mapping[str, Any]) -> Number:
    """Each job's least cost at prices of a GPU second, less what all GPUs are worth."""
    problem.require("completion", "flow", "slowdown")
    if problem.mixed:
        raise Refused("it is for equal GPUs")
    times = rising(certificate.get("times"), "times")
    prices = integers(certificate.get("prices"), "prices", count=len(times) - 1, what="intervals")
    scale = integer(certificate, "scale", 1)
    cost = 0
    for j, divisor in enumerate(problem.divisors):
        rate, gang = scale * problem.weights[j], problem.scale * divisor * problem.gangs[j]
        cost += (
            least_cost(problem.releases[j], problem.seconds[j], rate, gang, times, prices)
            // divisor
        )
    worth = sum(q * (b - a) for q, (a, b) in zip(prices, pairwise(times), strict=True))
    total = cost - problem.gpus * problem.scale * worth
    return problem.rounded(problem.since() + Fraction(total, scale))


def least_cost(
    start: int, need: int, rate: int, gang: int, times: list[int], prices: list[int]
) -> int:
    """Least over C of rate (C - start) + gang (price of the cheapest `need` seconds before C).

    While C grows within one interval, its seconds take the place of the dearest that are held, if
    those are dearer: the cost is linear between the ends of intervals and of what is held.
    """
    held: list[tuple[int, int]] = []  # (-price, seconds), the dearest first
    now, cost, best = start, 0, None
    for price, end in _intervals(start, times, prices):
        left = None if end is None else end - now
        if best is None:  # the first `need` seconds
            taken = need if left is None else min(need, left)
            if taken:
                heapq.heappush(held, (-price, taken))
            cost, need, now = cost + price * taken, need - taken, now + taken
            left = None if left is None else left - taken
            if need:
                continue
            best = rate * (now - start) + gang * cost
        while held and -held[0][0] > price and rate * (now - start) < best:
            dearest, seconds = heapq.heappop(held)
            taken = seconds if left is None else min(seconds, left)
            if not taken:
                heapq.heappush(held, (dearest, seconds))
                break
            if taken < seconds:
                heapq.heappush(held, (dearest, seconds - taken))
            heapq.heappush(held, (-price, taken))
            cost, now = cost - (-dearest - price) * taken, now + taken
            left = None if left is None else left - taken
            best = min(best, rate * (now - start) + gang * cost)
        if end is None or rate * (now - start) >= best:
            break
        now = end
    assert best is not None, "the last interval has no end"
    return best


def _intervals(start: int, times: list[int], prices: list[int]) -> list[tuple[int, int | None]]:
    """Price and end of each interval from a time on; nothing costs outside, and there is no end."""
    edges = [(0, times[0]), *zip(prices, times[1:], strict=True)]
    return [*((q, end) for q, end in edges if end > start), (0, None)]


def gpu_model_prices(problem: GangProblem, certificate: Mapping[str, Any]) -> Number:
    """The same with a price for each GPU model, by what a second of a job's work is worth."""
    problem.require("completion", "flow", "slowdown")
    models = list(problem.room)
    times = rising(certificate.get("times"), "times")
    scale = integer(certificate, "scale", 1)
    given = lists(certificate.get("prices"), "prices", len(models), "GPU models")
    prices = [integers(row, "prices", count=len(times) - 1, what="intervals") for row in given]
    worth = lists(certificate.get("rates"), "rates", len(problem.jobs), "jobs")
    total = 0
    for j, divisor in enumerate(problem.divisors):
        weight = scale * problem.weights[j] // (problem.scale * divisor)
        speeds = [problem.able[j].get(model, 0) for model in models]
        columns = [(0,) * len(models), *zip(*prices, strict=True)]
        total += _proven_cost(
            problem.releases[j], problem.seconds[j], problem.work[j], weight, problem.gangs[j],
            speeds, integers(worth[j], "rates"), times, columns,
        )  # fmt: skip
    for count, row in zip(problem.room.values(), prices, strict=True):
        total -= count * sum(q * (b - a) for q, (a, b) in zip(row, pairwise(times), strict=True))
    return problem.rounded(problem.since() + Fraction(total * problem.scale, scale))


def _proven_cost(
    release: int, need: int, work: int, weight: int, gang: int, speeds: list[int],
    rates: list[int], times: list[int], columns: list[tuple[int, ...]],
) -> int:  # fmt: skip
    """A lower bound of weight (C - release) + gang (price of the work before C), over C.

    Of several worths of a second of work the one counts that proves most between two times; a worth
    of 0 proves the wait. Gains are rounded up.
    """
    first = release + need  # C is not below
    value = [rate * work for rate in rates]
    least: int | None = None
    now = release
    ends = [(k, end) for k, end in enumerate(times) if end > release]
    for k, end in [*ends, (None, None)]:
        column = (0,) * len(speeds) if k is None else columns[k]
        proven = weight * (max(now, first) - release)
        for i, rate in enumerate(rates):
            if value[i] <= 0:
                continue
            # as if the whole part of a rate and its rest were priced apart, each rounded up
            gains = [
                rate // FULL * s - (-(rate % FULL) * s // FULL) - gang * q
                for s, q in zip(speeds, column, strict=True)
                if s
            ]
            gain = max(0, *gains)
            begins = max(now, first)
            if end is None:
                if gain <= weight:
                    value[i] -= gain * (begins - now)
                    proven = max(proven, value[i] + weight * (begins - release))
                continue
            if end >= first:
                there = value[i] - gain * (begins - now) + weight * (begins - release)
                other = value[i] - gain * (end - now) + weight * (end - release)
                proven = max(proven, min(there, other))
            value[i] -= gain * (end - now)
        if end is None or end >= first:
            least = proven if least is None else min(least, proven)
            if end is not None and weight * (end - release) >= least:
                break
        now = now if end is None else end
    assert least is not None, "the last interval has no end"
    return least


RULES: Mapping[str, Callable[[GangProblem, Mapping[str, Any]], Number]] = {
    "last job": last_job,
    "released work": released_work,
    "shortest remaining first": shortest_first,
    "mean busy time": mean_busy_time,
    "GPU prices": gpu_prices,
    "GPU model prices": gpu_model_prices,
}
