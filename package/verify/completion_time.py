"""Bounds of completion times of preemptive gangs: what each kind of certificate proves.

Job j needs p_j seconds on its fastest GPU model from r_j on, holds g_j GPUs of one model while it
runs, and is complete at C_j. A measure is max C_j, sum w_j C_j ("completion"), sum w_j (C_j - r_j)
("flow") or sum w_j (C_j - r_j) / p_j ("slowdown").

*Fast machine.* Let a_j be the size of j and N the speed of one machine, such that whoever serves j
for a second uses a_j / p_j of N: of f(g / M) for a dual feasible f = u_k(U_eps) on M equal GPUs, or
of integer prices of the GPU models. Any schedule is then one of this machine, which serves a_j.

- ``last job``: a makespan is at least r_j + p_j.
- ``released work``: at least a release and the time of all sizes that come then or later.
- ``configuration prices``: for prices of a second of each job's work, a makespan is at least the
  last release and what all work is worth, less what the dearest sets of gangs that fit each model
  do until then, over what the dearest such sets do in a second.
- ``shortest remaining first``: SRPT is best for the sum of completion times on one machine; C_j is
  also at least r_j + p_j, and the k-th completion at least the k-th least of these.
- ``mean busy time``: with lambda_j <= 1, that is q_j a_j <= Q w_j, sum w_j C_j is at least what
  w_j (r_j + p_j) and the mean busy times of jobs served by falling q_j add up to.
- ``GPU prices``: for prices q(t) >= 0 of a GPU second, sum over j of the least over C of
  w_j (C - r_j) + g_j (cheapest p_j seconds of [r_j, C)), less M times the integral of q.
- ``GPU model prices``: the same with a price for each model, and for each job some worths of a
  second of its work ("rates"): its cost is at least the worth of its work less what the best model
  gains in each second until C. As jobs run for whole seconds, what they do is the least sum of
  speeds, each any number of times, that is not below W_j.
- ``job prices``: with a price of a second of each job, all its GPUs together, the sum of the least
  w_j (C - r_j) + (cheapest p_j seconds of [r_j, C)), less the integral of what the dearest set of
  gangs is worth that fits the GPUs.

O(n log n) for n jobs; for prices O(n) times the intervals in which a job waits.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import ceil, floor, gcd, prod
from typing import Any

from .fields import (
    MOST_ROOM,
    BadFile,
    JobColumns,
    Refused,
    gpus_by_model,
    integer,
    integers,
    item,
    knapsack,
    lists,
    one_of,
    rising,
    stepped,
    thresholded,
    unpacked,
)
from .kernels import LIMIT, PARTS, ReadProblem, cost_columns, costs_fit, least_costs, proven_costs

Number = int | Fraction
#: to divide a job's seconds among speeds, so many are tried
WAYS = 1_000


class GangProblem(ReadProblem):
    """What the rules need of a problem: releases, times alone, gangs, weights."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        given, jobs = data.get("parameters", {}), JobColumns.of(data)
        self.measure = one_of(given, "measure", ("flow", "makespan", "completion", "slowdown"))
        self.weighted = given.get("weighted", False) is True
        self.room = gpus_by_model(data)
        self.gangs, self.work = jobs.wholes("gpus"), jobs.wholes("work", 0)
        self.releases = jobs.wholes("release", 0)
        #: speeds in millionths on the models on which jobs can run, once for equal ones
        self.kinds: dict[Any, dict[str, int]] = {}
        speeds, pins = jobs.column("speeds"), jobs.column("pin", "")
        self.able = [
            self._able(gang, own or {}, pin)
            for gang, own, pin in zip(self.gangs, speeds, pins, strict=True)
        ]
        fastest = {id(able): max(able.values()) for able in self.kinds.values()}
        self.seconds = [
            -(-PARTS * work // fastest[id(able)])
            for work, able in zip(self.work, self.able, strict=True)
        ]
        given_weights = jobs.column("weight", 1) if self.weighted else [1] * len(jobs)
        ratios = [_ratio(weight) for weight in given_weights]
        #: weights are in units of 1 / scale
        self.scale = max((below for _, below in ratios), default=1)
        self.weights = [over * (self.scale // below) for over, below in ratios]

    def _able(self, gang: int, speeds: Mapping[str, float], pin: str) -> dict[str, int]:
        kind = gang, pin, tuple(speeds.items()) if speeds else ()
        if kind not in self.kinds:
            able = {}
            for model, count in self.room.items():
                speed = round(speeds.get(model, 0) * PARTS) if speeds else PARTS
                if speed and pin in ("", model) and gang <= count:
                    able[model] = speed
            if not able:
                raise BadFile(f"a job of {gang} GPUs fits nowhere")
            self.kinds[kind] = able
        return self.kinds[kind]

    @property
    def gpus(self) -> int:
        """M."""
        return sum(self.room.values())

    @property
    def mixed(self) -> bool:
        """Whether GPUs differ, or jobs' speeds from the reference."""
        return len(self.room) > 1 or any(
            {*able.values()} != {PARTS} for able in self.kinds.values()
        )

    @cached_property
    def divisors(self) -> list[int]:
        """What each term is divided by."""
        return self.seconds if self.measure == "slowdown" else [1] * len(self.gangs)

    @cached_property
    def beyond(self) -> list[int]:
        """How many millionths of work more than its own each job does at least, in whole seconds.

        Found where there are 1,000 ways or fewer to divide the seconds among all speeds but one.
        """
        known: dict[tuple[int, int], int] = {}
        for work, able in zip(self.work, self.able, strict=True):
            if (work, id(able)) not in known:
                least = _in_whole_seconds(PARTS * work, sorted({*able.values()}))
                known[work, id(able)] = least - PARTS * work
        return [known[work, id(able)] for work, able in zip(self.work, self.able, strict=True)]

    @cached_property
    def order(self) -> list[int]:
        """Numbers of the jobs by release."""
        return sorted(range(len(self.gangs)), key=self.releases.__getitem__)

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
            known = " and ".join(measures)
            raise Refused(f"it bounds {known}, and the measure is {self.measure!r}")


def _in_whole_seconds(work: int, speeds: list[int]) -> int:
    """The least sum of speeds, each any number of times, that is not below the work."""
    slowest, *others = speeds
    if prod(-(-work // speed) + 1 for speed in others) > WAYS:
        return work
    sums = {0}
    for speed in others:
        sums = {done + n * speed for done in sums for n in range(-(-(work - done) // speed) + 1)}
    return min(done + max(-(-(work - done) // slowest), 0) * slowest for done in sums)


def _ratio(weight: Any) -> tuple[int, int]:
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not weight > 0:
        raise BadFile(f"weight={weight!r} is not a number > 0")
    return weight.as_integer_ratio()


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
    for name in ("k", "eps"):
        if name in certificate:
            raise Refused(f"prices and {name}={certificate[name]!r} exclude each other")
    prices = integers(certificate["prices"], "prices", count=len(problem.room), what="GPU models")
    units = sum(p * count for p, count in zip(prices, problem.room.values(), strict=True))
    if not units:
        raise Refused(f"prices={prices} are all 0, so that the machine does nothing")
    cost = dict(zip(problem.room, prices, strict=True))
    sizes, lags = [], []
    for j, able in enumerate(problem.able):
        least = min(Fraction(cost[model], speed) for model, speed in able.items())
        size = floor(least * (PARTS * problem.gangs[j] * problem.work[j]))
        rate = least * (problem.gangs[j] * max(able.values()))
        sizes.append(size)
        lags.append(2 * units * problem.seconds[j] - (floor(units * size / rate) if least else 0))
    return units, sizes, lags


def last_job(problem: GangProblem, certificate: Mapping[str, Any]) -> int:
    """No schedule ends before a job can."""
    problem.require("makespan")
    j = item(certificate, "job", len(problem.gangs))
    return problem.releases[j] + problem.seconds[j]


def released_work(problem: GangProblem, certificate: Mapping[str, Any]) -> int:
    """What comes at a time or later is served after it."""
    problem.require("makespan")
    units, sizes, _ = _machine(problem, certificate)
    first = integer(certificate, "release")
    late = [a for a, r in zip(sizes, problem.releases, strict=True) if r >= first]
    return first - (-sum(late) // units) if any(late) else 0


def configuration_prices(problem: GangProblem, certificate: Mapping[str, Any]) -> int:
    """What all work is worth takes so long at the most that gangs which fit do in a second."""
    problem.require("makespan")
    prices = integers(certificate.get("prices"), "prices", count=len(problem.gangs))
    if problem.gpus * len(prices) > MOST_ROOM:
        raise Refused(f"{len(prices)} jobs x {problem.gpus} GPUs are more than {MOST_ROOM}")
    worth = PARTS * sum(price * work for price, work in zip(prices, problem.work, strict=True))
    # of each model, the most that gangs in so many of its GPUs do in a second
    best, now, most = {model: [0] * (gpus + 1) for model, gpus in problem.room.items()}, 0, 0
    for j in problem.order:
        worth -= most * (problem.releases[j] - now)
        now, gang = problem.releases[j], problem.gangs[j]
        for model, speed in problem.able[j].items():
            done = best[model]
            for room in range(len(done) - 1, gang - 1, -1):
                done[room] = max(done[room], done[room - gang] + speed * prices[j])
        most = sum(done[-1] for done in best.values())
    return now + (max(-(-worth // most), 0) if most else 0)


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
            raise Refused(f"densities[{j}]={densities[j]} gives job {j} lambda>1")
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
    scale, order = integer(certificate, "scale", 1), problem.order
    units = [problem.scale * problem.divisors[j] for j in order]
    columns = [
        [problem.releases[j] for j in order],
        [problem.seconds[j] for j in order],
        [scale * problem.weights[j] for j in order],
        [unit * problem.gangs[j] for unit, j in zip(units, order, strict=True)],
        times,
        prices,
    ]
    if costs_fit(columns):
        costs = problem.run(least_costs, True, *cost_columns(*columns))
        cost = sum(cost // problem.divisors[j] for cost, j in zip(costs, order, strict=True))
    else:  # in units of 1 / scale: who waits at a lower rate pays less
        columns[2] = [rate // unit for rate, unit in zip(columns[2], units, strict=True)]
        columns[3] = [problem.gangs[j] for j in order]
        costs = problem.run(least_costs, costs_fit(columns), *cost_columns(*columns))
        cost = problem.scale * sum(costs)
    worth = sum(q * (b - a) for q, (a, b) in zip(prices, pairwise(times), strict=True))
    total = cost - problem.gpus * problem.scale * worth
    return problem.rounded(problem.since() + Fraction(total, scale))


def gpu_model_prices(problem: GangProblem, certificate: Mapping[str, Any]) -> Number:
    """The same with a price for each GPU model, by what a second of a job's work is worth."""
    problem.require("completion", "flow", "slowdown")
    times = rising(certificate.get("times"), "times")
    scale = integer(certificate, "scale", 1)
    given = lists(certificate.get("prices"), "prices", len(problem.room), "GPU models")
    prices = [integers(row, "prices", count=len(times) - 1, what="intervals") for row in given]
    worth = lists(certificate.get("rates"), "rates", len(problem.gangs), "jobs")
    rates = [integers(row, "rates") for row in worth]
    weights = _weights(problem, scale)
    total = sum(_proven_costs(problem, problem.order, problem.gangs, weights, rates, times, prices))
    for count, row in zip(problem.room.values(), prices, strict=True):
        total -= count * sum(q * (b - a) for q, (a, b) in zip(row, pairwise(times), strict=True))
    return problem.rounded(problem.since() + Fraction(total * problem.scale, scale))


def _weights(problem: GangProblem, scale: int) -> list[int]:
    """What a second of each job's flow time costs, in units of 1 / scale."""
    return [
        scale * weight // (problem.scale * divisor)
        for weight, divisor in zip(problem.weights, problem.divisors, strict=True)
    ]


def _proven_costs(
    problem: GangProblem, jobs: Sequence[int], gangs: Sequence[int], weights: list[int],
    rates: list[list[int]], times: list[int], prices: list[list[int]],
) -> list[int]:  # fmt: skip
    """Of jobs by release, in two parts: those whose numbers all fit 64 bits, and others."""
    longest = max(b - a for a, b in pairwise([min(times[0], 0), *times]))
    dearest = max(max(row) for row in prices)
    small, large = list[int](), list[int]()
    for j in jobs:
        need, fastest = problem.seconds[j], max(problem.able[j].values())
        most = max(problem.work[j], (longest + need) * fastest // PARTS + 2)
        value = max([1, *rates[j]]) * most
        span = max(weights[j], 1) * (max(problem.releases[j], times[-1]) + need)
        fits = max(value, span, gangs[j] * dearest, PARTS * fastest) < LIMIT // 2
        (small if fits else large).append(j)
    costs = list[int]()
    for some in (small, large):
        of_jobs = (
            problem.releases, problem.seconds, problem.work, problem.beyond, weights, gangs
        )  # fmt: skip
        columns: list[Any] = [[column[j] for j in some] for column in of_jobs]
        kinds = {id(problem.able[j]): problem.able[j] for j in some}
        number = {key: row for row, key in enumerate(kinds)}
        columns += [[number[id(problem.able[j])] for j in some]]
        columns += [[[able.get(model, 0) for model in problem.room] for able in kinds.values()]]
        columns += [[0, *accumulate(len(rates[j]) for j in some)]]
        columns += [[rate for j in some for rate in rates[j]], times, prices, [0] * len(some)]
        if some:
            costs += problem.run(proven_costs, some is small, *columns)
    return costs


# --- prices of jobs -------------------------------------------------------------------------------


class JobPrices:
    """A price of a second of each job, all its GPUs together, on each GPU model.

    Job j has prices in `counts[j]` intervals between the times, from the `first[j]`-th on.
    """

    def __init__(self, certificate: Mapping[str, Any], jobs: int, models: int = 1) -> None:
        self.times = rising(certificate.get("times"), "times")
        self.first = integers(certificate.get("first"), "first", count=jobs, what="jobs")
        counts = integers(certificate.get("counts"), "counts", count=jobs, what="jobs")
        self.size = size = sum(counts)
        prices = unpacked(certificate, "prices", models * size)
        #: times of each job, and prices between them on each model
        self.slices: list[tuple[list[int], list[list[int]]]] = []
        place = 0
        for j, (low, count) in enumerate(zip(self.first, counts, strict=True)):
            if low + max(count, 1) >= len(self.times):
                raise Refused(f"job {j} has prices in {count} intervals from the {low}-th on")
            starts = (row * size + place for row in range(models))
            own = [prices[start : start + count] or [0] for start in starts]
            self.slices.append((self.times[low : low + max(count, 1) + 1], own))
            place += count

    def worth(self, gangs: Mapping[int, int], gpus: int, model: int = 0) -> int:
        """Return what the dearest sets of some jobs, by their gangs, are worth on these GPUs."""
        sets: list[list[tuple[int, int]]] = [[] for _ in self.times[1:]]
        for j, gang in gangs.items():
            for k, price in enumerate(self.slices[j][1][model], self.first[j]):
                sets[k].append((gang, price))
        return sum(
            (b - a) * dearest(some, gpus)
            for some, (a, b) in zip(sets, pairwise(self.times), strict=True)
        )


def job_prices(problem: GangProblem, certificate: Mapping[str, Any]) -> Number:
    """Each job's least cost at prices of its own, less what the dearest sets of gangs are worth."""
    problem.require("completion", "flow", "slowdown")
    scale, room = integer(certificate, "scale", 1), problem.room
    prices = JobPrices(certificate, len(problem.gangs), len(room))
    worth = 0
    for row, (model, gpus) in enumerate(room.items()):
        able = {j: gang for j, gang in enumerate(problem.gangs) if model in problem.able[j]}
        worth += prices.worth(able, gpus, row)
    costs = _model_costs if problem.mixed else _costs
    cost = costs(problem, certificate, scale, prices.slices)
    return problem.rounded(problem.since() + problem.scale * (cost - worth) / scale)


#: as of :class:`JobPrices`
Slices = list[tuple[list[int], list[list[int]]]]


def _costs(
    problem: GangProblem, certificate: Mapping[str, Any], scale: int, slices: Slices
) -> Fraction:
    """The least costs of all jobs on equal GPUs."""
    cost = Fraction(0)
    for j, (times, prices) in enumerate(slices):
        unit = problem.scale * problem.divisors[j]
        of_job = problem.releases[j], problem.seconds[j], scale * problem.weights[j], unit
        columns = [*([value] for value in of_job), times, prices[0]]
        least = problem.run(least_costs, costs_fit(columns), *cost_columns(*columns))
        cost += Fraction(least[0], unit)
    return cost


def _model_costs(
    problem: GangProblem, certificate: Mapping[str, Any], scale: int, slices: Slices
) -> Fraction:
    """The same on several models, by what a second of a job's work is worth."""
    worth = lists(certificate.get("rates"), "rates", len(problem.gangs), "jobs")
    rates = [integers(row, "rates") for row in worth]
    weights, gangs = _weights(problem, scale), [1] * len(rates)
    cost = 0
    for j, (times, prices) in enumerate(slices):
        cost += _proven_costs(problem, [j], gangs, weights, rates, times, prices)[0]
    return Fraction(cost)


def dearest(gangs: list[tuple[int, int]], gpus: int) -> int:
    """Return the most that gangs, each (GPUs, worth), can be worth together on so many GPUs.

    If all gangs wider than d GPUs are multiples of m GPUs, and m of d, they leave the gangs of d
    GPUs a multiple of m, and the rest of the cluster beyond such multiples. The best of these fill
    the rest; the others come in blocks of m GPUs, the best together. Then there are these blocks
    and the wider gangs; where the narrowest make no such blocks, a knapsack decides.
    """
    total, widths = 0, dict[int, list[int]]()
    for gang, worth in gangs:
        widths.setdefault(gang, []).append(worth)
    while len(widths) > 1:
        narrow = min(widths)
        block = gcd(*(width for width in widths if width > narrow))
        if block == narrow or block % narrow:
            break
        ranked = sorted(widths.pop(narrow), reverse=True)
        alone = gpus % block // narrow
        total += sum(ranked[:alone])
        gpus -= gpus % block
        size = block // narrow
        blocks = [sum(ranked[at : at + size]) for at in range(alone, len(ranked), size)]
        widths[block] = widths.get(block, []) + blocks
    unit = max(gcd(*widths), 1)
    if len(widths) < 2:
        return total + sum(sorted(widths.get(unit, []), reverse=True)[: gpus // unit])
    sizes = [width // unit for width, own in widths.items() for _ in own]
    worths = [worth for own in widths.values() for worth in own]
    return total + knapsack(sizes, worths, gpus // unit)


RULES: Mapping[str, Callable[[GangProblem, Mapping[str, Any]], Number]] = {
    "last job": last_job,
    "released work": released_work,
    "configuration prices": configuration_prices,
    "shortest remaining first": shortest_first,
    "mean busy time": mean_busy_time,
    "GPU prices": gpu_prices,
    "GPU model prices": gpu_model_prices,
    "job prices": job_prices,
}
