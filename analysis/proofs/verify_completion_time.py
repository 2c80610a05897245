"""Replay the proof of a bound of completion times, in integers.

The proofs are the three theorems of :mod:`gangsched.analysis.proofs.completion_time`, with
f = u_k(U_eps) for the "k" and "eps" of each certificate, or with one integer price >= 0 for each
GPU model ("prices", in the order of their first nodes) for both. What a job's size is, and how long
it takes alone, is found again from its speeds.

- ``last job``: r_j + p_j of one job.
- ``released work``: a release, and the work that comes then or later (Theorem 1).
- ``shortest remaining first``: SRPT is run again (Theorem 2).
- ``mean busy time``: integers q_j ("densities") and Q ("scale") with q_j a_j <= Q w_j, which is
  lambda_j <= 1; jobs are put, by falling q_j, into the first idle moments after their releases,
  which is the priority rule's schedule (Theorem 3).
- ``GPU prices``: integers q_k ("prices") of a GPU second between "times", over "scale"; the least
  cost of each job is found again (:mod:`gangsched.analysis.proofs.prices`).
- ``GPU model prices``: the same with a list for each GPU model, and for each job some integers
  ("rates") that a second of its work is worth, over the same "scale"
  (:mod:`gangsched.analysis.proofs.model_prices`).

O(n log n) for n jobs; for prices O(n) times the intervals in which a job waits.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import ceil, floor
from typing import Any

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.model import FULL_SPEED, Instance, Job
from ...instances.remembered import remembered
from .packings import stepped, thresholded
from .readers import integer, integers, item, listed

__all__ = ["RULES", "least_costs_of"]


def _last_job(problem: CompletionTime, certificate: Mapping[str, Any]) -> int:
    _require_makespan(problem)
    j = item(certificate, "job", len(problem.jobs))
    return problem.jobs[j].release + _alone(problem)[j]


def _released_work(problem: CompletionTime, certificate: Mapping[str, Any]) -> int:
    _require_makespan(problem)
    units, sizes, _ = _fast_machine(problem, certificate)
    first = integer(certificate, "release", 0)
    late = [a for a, job in zip(sizes, problem.jobs, strict=True) if job.release >= first]
    return first - (-sum(late) // units) if any(late) else 0


def _require_makespan(problem: CompletionTime) -> None:
    if problem.measure != "makespan":
        raise ValueError(f"it bounds a makespan, and the measure is {problem.measure!r}")


def _shortest_first(problem: CompletionTime, certificate: Mapping[str, Any]) -> int | Fraction:
    if problem.measure not in ("completion", "flow") or len(set(problem.weights)) > 1:
        raise ValueError(
            f"measure={problem.measure!r} and {len(set(problem.weights))} different weights; it "
            "bounds 'completion' and 'flow' with equal weights"
        )
    units, sizes, _ = _fast_machine(problem, certificate)
    releases = [job.release for job in problem.jobs]
    earliest = sorted(r + p for r, p in zip(releases, _alone(problem), strict=True))
    ends = _srpt(sorted(zip((r * units for r in releases), sizes, strict=True)))
    total = sum(max(-(-s // units), e) for s, e in zip(ends, earliest, strict=True))
    since = sum(releases) if problem.measure == "flow" else 0
    return _rounded(problem, Fraction(max(problem.weights, default=0) * (total - since)))


def _srpt(jobs: Sequence[tuple[int, int]]) -> list[int]:
    """Ends of (release, size), sorted by release, under SRPT, in their order."""
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


def _mean_busy_time(problem: CompletionTime, certificate: Mapping[str, Any]) -> int | Fraction:
    units, sizes, lags = _fast_machine(problem, certificate)
    densities = integers(certificate.get("densities"), "densities", count=len(sizes))
    scale = integer(certificate, "scale", 1)
    if problem.measure == "makespan":
        raise ValueError("it bounds sums over the jobs, and the measure is 'makespan'")
    weights, seconds = problem.weights, _alone(problem)
    alone, total = 0, 0
    for j, job in enumerate(problem.jobs):
        divisor = seconds[j] if problem.measure == "slowdown" else 1
        share = densities[j] * sizes[j] * problem.scale * divisor
        if share > scale * weights[j]:
            raise ValueError(f"densities[{j}]={densities[j]} gives job {job.id!r} lambda>1")
        since = job.release if problem.measure == "completion" else 0
        alone += weights[j] * (since + seconds[j] // divisor)
        total -= densities[j] * sizes[j] * (2 * job.release * units + lags[j])
    total += _moments([job.release * units for job in problem.jobs], sizes, densities)
    gain = Fraction(total * problem.scale, 2 * scale * units)
    return _rounded(problem, alone + gain)


def _gpu_prices(problem: CompletionTime, certificate: Mapping[str, Any]) -> int | Fraction:
    if problem.measure == "makespan" or problem.mixed:
        raise ValueError("it bounds sums over the jobs on equal GPUs")
    times = integers(certificate.get("times"), "times")
    prices = integers(certificate.get("prices"), "prices", count=len(times) - 1)
    scale = integer(certificate, "scale", 1)
    if len(times) < 2 or any(b <= a for a, b in pairwise(times)):
        raise ValueError("times do not rise, or are fewer than two")
    jobs, seconds = problem.jobs, _alone(problem)
    order = sorted(range(len(jobs)), key=lambda j: jobs[j].release)
    divisors = seconds if problem.measure == "slowdown" else [1] * len(jobs)
    rates = [scale * problem.weights[j] for j in order]
    gangs = [problem.scale * divisors[j] * jobs[j].gpus for j in order]
    columns = [
        [jobs[j].release for j in order], [seconds[j] for j in order], rates, gangs, times, prices
    ]  # fmt: skip
    if fit_64_bits(columns):
        costs = zip(order, least_costs_of(columns), strict=True)
        total = sum(cost // divisors[j] for j, cost in costs)
    else:  # in units of 1 / scale: who waits at a lower rate pays less
        units = [problem.scale * divisors[j] for j in order]
        columns[2] = [rate // unit for rate, unit in zip(rates, units, strict=True)]
        columns[3] = [jobs[j].gpus for j in order]
        total = problem.scale * sum(least_costs_of(columns))
    gpus = problem.instance.cluster.gpus * problem.scale
    total -= gpus * sum(q * (b - a) for q, (a, b) in zip(prices, pairwise(times), strict=True))
    since = 0
    if problem.measure == "completion":
        since = sum(w * job.release for w, job in zip(problem.weights, jobs, strict=True))
    return _rounded(problem, since + Fraction(total, scale))


def least_costs_of(columns: list[list[int]]) -> list[int]:
    """Return what each job costs at the least; compiled where every product fits 64 bits."""
    return list(_least_costs(*map(tuple, columns))) if columns[0] else []


@lru_cache(maxsize=1)
def _least_costs(*columns: tuple[int, ...]) -> Sequence[int]:
    """The same; once for flow and completion times, which one proof bounds."""
    from .verify_prices_core import compiled_least_costs, inputs, least_costs  # numba loads slowly

    rows = inputs(*columns)
    costs: list[int] = rows[-1]
    if fit_64_bits(columns):
        arrays = [np.array(row, dtype=np.int64) for row in rows]
        compiled_least_costs(*arrays)
        costs = arrays[-1].tolist()
    else:
        least_costs(*rows)
    return costs


def fit_64_bits(columns: Sequence[Sequence[int]]) -> bool:
    """Whether all numbers of these costs stay below 2**62."""
    releases, needs, rates, gangs, times, prices = columns
    if not releases:
        return True
    span = max([*releases, times[-1]]) + max(needs)
    dearest = max(prices) * max(g * p for g, p in zip(gangs, needs, strict=True))
    return max([*rates, 1]) * span + dearest < 2**62


def _gpu_model_prices(problem: CompletionTime, certificate: Mapping[str, Any]) -> int | Fraction:
    if problem.measure == "makespan":
        raise ValueError("it bounds sums over the jobs")
    room, jobs = _room(problem.instance), problem.jobs
    times = integers(certificate.get("times"), "times")
    scale = integer(certificate, "scale", 1)
    if len(times) < 2 or any(b <= a for a, b in pairwise(times)):
        raise ValueError("times do not rise, or are fewer than two")
    rows = listed(certificate.get("prices"), "prices", len(room), "GPU models")
    prices = [integers(row, "prices", count=len(times) - 1) for row in rows]
    worth = listed(certificate.get("rates"), "rates", len(jobs), "jobs")
    rates = [integers(row, "rates") for row in worth]
    able = [_able(job, room) for job in jobs]
    speeds = [[speed.get(model, 0) for model in room] for speed in able]
    seconds = _alone(problem)
    divisors = seconds if problem.measure == "slowdown" else [1] * len(jobs)
    order = sorted(range(len(jobs)), key=lambda j: jobs[j].release)
    rows = [
        (
            jobs[j].release,
            seconds[j],
            jobs[j].work or 0,
            scale * problem.weights[j] // (problem.scale * divisors[j]),
            jobs[j].gpus,
            speeds[j],
            rates[j],
        )
        for j in order
    ]
    total = sum(_proven_costs(rows, times, prices))
    for count, row in zip(room.values(), prices, strict=True):
        total -= count * sum(q * (b - a) for q, (a, b) in zip(row, pairwise(times), strict=True))
    since = 0
    if problem.measure == "completion":
        since = sum(w * job.release for w, job in zip(problem.weights, jobs, strict=True))
    return _rounded(problem, since + Fraction(total * problem.scale, scale))


def _proven_costs(rows: list[Any], times: list[int], prices: list[list[int]]) -> list[int]:
    """Compiled for the jobs whose numbers all fit 64 bits."""
    from .verify_model_prices_core import compiled_proven_costs, proven_costs  # numba loads slowly

    longest = max(b - a for a, b in pairwise([min(times[0], 0), *times]))
    dearest, last = max(map(max, prices)), times[-1]
    small, large = list[int](), list[int]()
    for i, (release, need, work, weight, gang, speed, rate) in enumerate(rows):
        most = max(work, (longest + need) * max(speed) // FULL_SPEED + 2)
        fits = max(rate, default=0) * most < 2**61 and gang * dearest < 2**61
        fits = fits and max(weight, 1) * (max(release, last) + need) < 2**61
        (small if fits else large).append(i)
    costs = [0] * len(rows)
    for some in (small, large):
        kinds = {tuple(rows[i][5]): None for i in some}
        number = {kind: c for c, kind in enumerate(kinds)}
        columns: list[Any] = [[rows[i][part] for i in some] for part in range(5)]
        columns += [[number[tuple(rows[i][5])] for i in some], [list(kind) for kind in kinds]]
        columns += [[0, *accumulate(len(rows[i][6]) for i in some)]]
        columns += [[value for i in some for value in rows[i][6]], times, prices, [0] * len(some)]
        if some is small and some:
            columns = [np.array(column, dtype=np.int64) for column in columns]
            compiled_proven_costs(*columns)
        else:
            proven_costs(*columns)
        for i, cost in zip(some, columns[-1], strict=True):
            costs[i] = int(cost)
    return costs


def _moments(releases: list[int], sizes: list[int], densities: list[int]) -> int:
    """Sum of q (e^2 - s^2) over the pieces [s, e) of the priority rule's schedule.

    What is busy between two releases is always the first part of the time between them, as jobs
    come by falling density and each fills the first idle moments.
    """
    starts = sorted(set(releases))
    filled = list(starts)
    until = [*starts[1:], max(starts, default=0) + sum(sizes)]
    at = {release: k for k, release in enumerate(starts)}
    later = list(range(len(starts)))  # where to look for idle time after each start
    total = 0
    for j in sorted(range(len(sizes)), key=lambda j: -densities[j]):
        left = sizes[j] if densities[j] else 0
        k = at[releases[j]]
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


def _fast_machine(
    problem: CompletionTime, certificate: Mapping[str, Any]
) -> tuple[int, list[int], list[int]]:
    """N, and of every job a_j and 2 N (p_j - h_j): of f or of prices of GPU models."""
    if "prices" in certificate:
        return _priced_machine(problem, certificate)
    total = problem.instance.cluster.gpus
    k, eps = integer(certificate, "k", 0), integer(certificate, "eps", 0)
    if 2 * eps > total:
        raise ValueError(f"eps={eps} exceeds half of the {total} GPUs")
    widths = [stepped(thresholded(job.gpus, total, eps), total, k) for job in problem.jobs]
    units, seconds = max(k, 1) * total, _alone(problem)
    return (
        units,
        [b * p for b, p in zip(widths, seconds, strict=True)],
        [units * p for p in seconds],
    )


def _priced_machine(
    problem: CompletionTime, certificate: Mapping[str, Any]
) -> tuple[int, list[int], list[int]]:
    for name in ("k", "eps"):
        if name in certificate:
            raise ValueError(f"prices and {name}={certificate[name]!r} exclude each other")
    room = _room(problem.instance)
    prices = integers(certificate.get("prices"), "prices", count=len(room), what="GPU models")
    units = sum(price * count for price, count in zip(prices, room.values(), strict=True))
    if not units:
        raise ValueError(f"prices={prices} are all 0, so that the machine does nothing")
    cost = dict(zip(room, prices, strict=True))
    sizes, lags = [], []
    for job, alone in zip(problem.jobs, _alone(problem), strict=True):
        able = _able(job, room)
        least = min(Fraction(cost[model], speed) for model, speed in able.items())
        size = floor(least * (FULL_SPEED * job.gpus * (job.work or 0)))
        rate = least * (job.gpus * max(able.values()))  # R_j
        sizes.append(size)
        lags.append(2 * units * alone - (floor(units * size / rate) if least else 0))
    return units, sizes, lags


def _room(instance: Instance[Job]) -> dict[str, int]:
    """GPUs of each model, in the order of the models' first nodes."""
    room: dict[str, int] = {}
    for node in instance.cluster.nodes:
        room[node.model] = room.get(node.model, 0) + node.gpus
    return room


def _able(job: Job, room: Mapping[str, int]) -> dict[str, int]:
    """Speeds in millionths on the models on which a job can run."""
    able = {}
    for model, count in room.items():
        speed = round(job.speeds.get(model, 0) * FULL_SPEED) if job.speeds else FULL_SPEED
        if speed and job.pin in ("", model) and job.gpus <= count:
            able[model] = speed
    return able


def _alone(problem: CompletionTime) -> list[int]:
    """p_j of every job: seconds on its fastest model."""
    return _alone_in(problem.instance)


@remembered
def _alone_in(instance: Instance[Job]) -> list[int]:
    room, fastest, found = _room(instance), dict[Any, int](), list[int]()
    for job in instance.jobs:
        kind = job.gpus, job.pin, tuple(job.speeds.items()) if job.speeds else ()
        if kind not in fastest:
            fastest[kind] = max(_able(job, room).values())
        found.append(-(-FULL_SPEED * (job.work or 0) // fastest[kind]))
    return found


def _rounded(problem: CompletionTime, value: Fraction) -> int | Fraction:
    """`value` in units of 1 / scale, rounded up where objectives are integers."""
    value /= problem.scale
    return ceil(value) if problem.integral else value


RULES = {
    "last job": _last_job,
    "released work": _released_work,
    "shortest remaining first": _shortest_first,
    "mean busy time": _mean_busy_time,
    "GPU prices": _gpu_prices,
    "GPU model prices": _gpu_model_prices,
}
