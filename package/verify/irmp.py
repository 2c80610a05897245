"""Bounds of revenue (IRMP): what prices of workers and parameter servers prove.

A job runs once, on D_w <= D workers of one GPU model and PSs that serve those on other nodes, until
all E D M mini-batches are trained, n_j a worker and slot, fewer on several nodes. It earns f_j of
its end. With prices pi >= 0 of a worker and of a PS of each class of equal nodes, constant between
two "ends", whatever runs is paid for, and no more is paid than all nodes are worth:

    sum f_j <= sum pi n C + sum over jobs of max(0, max over runs of f_j(end) - cost).

- ``revenue prices``: all runs by the last of "ends" are looked at: every length, and for each the
  fewest workers; every class of node for the PSs, every number of workers there, the others
  wherever they are cheapest. A later end earns f_j of the next slot at most. Integers are parts of
  1 / scale; values are rounded up.
- "fluid": for jobs that may change from slot to slot. On one node q mini-batches of a slot take
  q / n_1 workers, at most C; on several q / n_2, at most D'. The largest convex function of q below
  both runs through 0, (C n_1, C) and (D' n_2, D'); of a PS at least q over the most mini-batches of
  a slot is held. A job pays for the cheapest mini-batches of all slots until its end.

Sums of integral values are multiples of their greatest common divisor; see :func:`_rounded` for
values beyond 2^53, which floats round.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from operator import neg
from typing import Any

from .fields import (
    BadFile,
    JobColumns,
    Refused,
    flag,
    integers,
    lists,
    number,
    one_of,
    rows,
    to_float,
    whole,
)
from .kernels import ReadProblem

#: slots that are looked at, and integers that floats hold exactly
MOST_SLOTS, EXACT = 10**6, 2**53
#: bits of the largest scale
MOST_BITS = 1023
#: GPU model, workers and PSs of a node
Node = tuple[str, int, int]


class RevenueProblem(ReadProblem):
    """What the rule needs of a problem: nodes, rates, utilities."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        nodes: list[Node] = [
            (node.get("model", ""), whole(node, "gpus"), whole(node, "ps", 0))
            for node in rows(data, "instance", "cluster", "nodes")
        ]
        self.classes = sorted(set(nodes))
        self.count = [nodes.count(kind) for kind in self.classes]
        self.models = sorted({model for model, _, _ in nodes})
        jobs = JobColumns.of(data)
        self.gangs, self.releases = jobs.wholes("gpus"), jobs.wholes("release", 0)
        self.speeds, self.utilities = jobs.column("speeds"), jobs.column("utility")
        self.rates = [
            (number({"rate": one}, "rate"), number({"rate": several}, "rate"))
            for one, several in jobs.column("rates")
        ]
        self.batches = [
            epochs * gang * batches
            for epochs, gang, batches in zip(
                jobs.wholes("epochs"), self.gangs, jobs.wholes("minibatches"), strict=True
            )
        ]
        given = data.get("parameters", {})
        self.worker_bandwidth = whole(given, "worker_bandwidth", 1)
        self.ps_bandwidth = whole(given, "ps_bandwidth", 1)
        horizon = given.get("horizon")
        self.horizon = None if horizon is None else whole(given, "horizon")
        self.since_release = one_of(given, "clock", ("absolute", "release")) == "release"
        self.optional = flag(given, "optional", default=True)
        self.preemptive = flag(given, "preemptive", default=False)
        self.early = flag(given, "paper_slot_r", default=False)

    def begin(self, j: int) -> int:
        """The first time at which the job may run."""
        return max(self.releases[j] - 1, 0) if self.early else self.releases[j]

    def rate(self, j: int, several: bool, model: str) -> Fraction:
        """n_j of a worker of the model."""
        return self.rates[j][several] * number(self.speeds[j] or {}, model, 1.0)

    def values(self, j: int, ends: Iterable[int]) -> list[float]:
        """f_j of some ends."""
        since = self.releases[j] if self.since_release else 0
        times, utility = [max(end - since, 1) for end in ends], self.utilities[j]
        kind = utility.get("kind")
        if kind == "linear":
            slope, constant = utility["slope"], utility["constant"]
            return [float(slope * time + constant) for time in times]
        if kind == "power":
            return [float((utility["scale"] / time) ** utility["exponent"]) for time in times]
        if kind != "table":
            raise BadFile(f"utility: kind={kind!r} is not linear, power or table")
        table = utility["values"]
        return [float(table[min(time, len(table)) - 1]) for time in times]

    def room(self, model: str) -> tuple[int, int]:
        """The most workers of a model on a node with PSs, and on several."""
        one = most = there = 0
        for (own, gpus, ps), count in zip(self.classes, self.count, strict=True):
            here = gpus if own == model else 0
            there += here * count
            if ps:
                one = max(one, here)
                most = max(most, here + ps * self.ps_bandwidth // self.worker_bandwidth)
        return one, min(most, there)


class SlotPrices:
    """A certificate: prices of each class and slot, and what they add up to from slot 0 on."""

    def __init__(self, problem: RevenueProblem, certificate: Mapping[str, Any]) -> None:
        said, most = certificate.get("classes"), min(MOST_SLOTS, problem.horizon or MOST_SLOTS)
        if said != [list(kind) for kind in problem.classes]:
            raise Refused(f"classes={said!r} are not those of the nodes: {problem.classes}")
        ends = integers(certificate.get("ends"), "ends", least=1)
        lengths = [b - a for a, b in pairwise([0, *ends])]
        if not ends or min(lengths) < 1:
            raise Refused("ends do not rise from 1 or more")
        if ends[-1] > most:
            raise Refused(f"ends: {ends[-1]} slots are more than {most}")
        self.slots, self.fluid = ends[-1], certificate.get("fluid")
        if not isinstance(self.fluid, bool):
            raise Refused(f"fluid={self.fluid!r} is not true or false")
        if problem.preemptive and not self.fluid:
            raise Refused("fluid=False, but jobs of a preemptive problem may change")
        self.scale = _power_of_two(certificate.get("scale"))
        given = lists(certificate.get("prices"), "prices", len(problem.classes), "classes")
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
            raise Refused("prices of a class are not a pair (workers, PSs)")
        self.spent = 0
        workers, servers = list[list[int]](), list[list[int]]()
        rows = zip(problem.classes, problem.count, given, strict=True)
        for c, ((_, gpus, ps), count, pair) in enumerate(rows):
            for held, row, into in zip((gpus, ps), pair, (workers, servers), strict=True):
                row = integers(row, f"prices[{c}]", count=len(ends), what="ends")
                self.spent += count * held * sum(p * n for p, n in zip(row, lengths, strict=True))
                into.append([p for p, n in zip(row, lengths, strict=True) for _ in range(n)])
        self.to_workers = [[0, *accumulate(row)] for row in workers]
        self.to_ps = [[0, *accumulate(row)] for row in servers]
        #: what a worker and a PS cost in each slot, on the cheapest class
        slots = [list(map(min, zip(*rows, strict=True))) for rows in (workers, servers)]
        self.least = list(zip(*slots, strict=True))
        self.cheapest = cache(self._cheapest)

    def worth(self, problem: RevenueProblem, j: int) -> list[int]:
        """f_j of ends at 0, 1, ..., never less than later."""
        values = self.rounded_up(problem.values(j, [1, *range(1, self.slots + 1)]))
        return [*accumulate(reversed(values), max)][::-1]

    def rounded_up(self, values: list[float]) -> list[int]:
        """Values in parts of 1 / scale."""
        if self.scale >= 1:  # a power of two, so that products are exact up to the largest float
            factor = float(self.scale)
            products = [value * factor for value in values]
            if all(map(math.isfinite, products)):
                return list(map(math.ceil, products))
        return [math.ceil(Fraction(value) * self.scale) for value in values]

    def _cheapest(self, classes: tuple[int, ...], slots: int, servers: bool) -> list[int]:
        """What a worker, or a PS, costs for so many slots by each end, on the cheapest class."""
        table = self.to_ps if servers else self.to_workers
        costs = ([b - a for a, b in zip(table[c], table[c][slots:])] for c in classes)  # noqa: B905
        return [0] * slots + [min(ways) for ways in zip(*costs, strict=True)]

    def window(self, begin: int, end: int) -> tuple[list[int], list[int]]:
        """What a worker and a PS of each class cost in these slots."""
        one, other = (
            [row[end] - row[begin] for row in table] for table in (self.to_workers, self.to_ps)
        )
        return one, other


def _power_of_two(scale: Any) -> Fraction:
    if isinstance(scale, bool) or not isinstance(scale, (int, float)):
        raise Refused(f"scale={scale!r} is not a number")
    if isinstance(scale, int) and scale > 2**MOST_BITS:
        raise Refused(f"scale has {scale.bit_length()} bits, more than a float can hold")
    if not 0 < scale < math.inf or any(n & (n - 1) for n in scale.as_integer_ratio()):
        raise Refused(f"scale={scale!r} is not a power of two")
    return Fraction(scale)


def revenue_prices(problem: RevenueProblem, certificate: Mapping[str, Any]) -> Fraction:
    """What all nodes are worth, and the most that each job gains."""
    prices = SlotPrices(problem, certificate)
    gain = _fluid_gain if prices.fluid else _gain
    total = Fraction(prices.spent)
    for j in range(len(problem.gangs)):
        best = gain(problem, prices, j)
        total += 0 if best is None else best  # None: there is no schedule, nothing is to be proven
    return to_float(_rounded(problem, total / prices.scale))


def _rounded(problem: RevenueProblem, total: Fraction) -> Fraction:
    """Down to a multiple of all integral values.

    k t + g is exact up to 2^53, and else below 0 or not above max(0, g) - 2^53.
    """
    step = highest = 0
    for utility in problem.utilities:
        if utility["kind"] == "power":
            return total
        linear = utility["kind"] == "linear"
        values = [utility["constant"], utility["slope"]] if linear else utility["values"]
        if any(value != int(value) or abs(value) > EXACT for value in values):
            return total
        step = math.gcd(step, *map(int, values))
        highest += max(0, int(values[0]))
    if not step:
        return total
    return max(Fraction(total // step * step), min(total, Fraction(highest - EXACT)))


def _least_gain(
    problem: RevenueProblem, prices: SlotPrices, j: int, slots: int | None
) -> int | None:
    """Of a job that does not run, or ends after the last slot."""
    gains = [0] if problem.optional else []
    if slots is not None:
        end = max(prices.slots + 1, problem.begin(j) + slots)
        if problem.horizon is None or end <= problem.horizon:
            gains += prices.rounded_up(problem.values(j, [end]))
    return max(gains, default=None)


# --- runs -----------------------------------------------------------------------------------------


def _gain(problem: RevenueProblem, prices: SlotPrices, j: int) -> int | None:
    """The most of any run; of each the ends that promise most come first, until none gains more."""
    runs = sorted(_runs(problem, j))
    best = _least_gain(problem, prices, j, runs[0][0] if runs else None)
    worth, begin = prices.worth(problem, j), problem.begin(j)
    hosts = tuple(c for c, (_, _, ps) in enumerate(problem.classes) if ps)
    for slots, model, workers, several in runs:
        own = tuple(c for c, kind in enumerate(problem.classes) if kind[0] == model)
        last = len(worth) if best is None else bisect_left(worth, -best, key=neg)
        ends = slice(begin + slots, last)  # no later end is worth more
        if ends.start >= ends.stop:
            continue
        by_end = (prices.cheapest(own, slots, False), prices.cheapest(hosts, slots, True))
        rows = zip(worth[ends], *(row[ends] for row in by_end), strict=True)
        hopes = [(v - workers * w - ps, end) for end, (v, w, ps) in enumerate(rows, ends.start)]
        for hope, end in sorted(hopes, reverse=True):
            if best is not None and hope <= best:
                break
            costs = (_spread if several else _central)(
                problem, model, workers, *prices.window(end - slots, end)
            )
            cost = min(costs, default=None)
            if cost is not None and (best is None or worth[end] - cost > best):
                best = worth[end] - cost
    return best


def _runs(problem: RevenueProblem, j: int) -> Iterator[tuple[int, str, int, bool]]:
    """Slots, GPU model, the fewest workers for them, and whether they are on several nodes."""
    batches = problem.batches[j]
    for model in problem.models:
        for several in (False, True):
            rate, last = problem.rate(j, several, model), None
            most = min(problem.room(model)[several], problem.gangs[j])
            for workers in range(1, most + 1):
                slots = math.ceil(batches / (rate * workers))
                if slots != last:
                    yield slots, model, workers, several
                last = slots


def _central(
    problem: RevenueProblem, model: str, workers: int, worker: list[int], ps: list[int]
) -> Iterator[int]:
    """Costs on one node."""
    for c, (own, gpus, there) in enumerate(problem.classes):
        if own == model and gpus >= workers and there:
            yield workers * worker[c] + ps[c]


def _spread(
    problem: RevenueProblem, model: str, workers: int, worker: list[int], ps: list[int]
) -> Iterator[int]:
    """Costs for each host of the PSs and number of workers beside them."""
    cheap = sorted((c for c, kind in enumerate(problem.classes) if kind[0] == model),
                   key=lambda c: worker[c])  # fmt: skip
    for host, (own, gpus, there) in enumerate(problem.classes):
        if not there:
            continue
        room = {c: problem.classes[c][1] * (problem.count[c] - (c == host)) for c in cheap}
        for here in range(min(workers - 1, gpus) + 1 if own == model else 1):
            away = workers - here
            need = max(1, -(-away * problem.worker_bandwidth // problem.ps_bandwidth))
            if need > there or away > sum(room.values()):
                continue
            cost = here * worker[host] + need * ps[host]
            for c in cheap:
                taken = min(away, room[c])
                cost, away = cost + taken * worker[c], away - taken
            yield cost


# --- jobs that may change from slot to slot -------------------------------------------------------


def _fluid_gain(problem: RevenueProblem, prices: SlotPrices, j: int) -> Fraction | None:
    pieces = _pieces(problem, j)
    batches, most = problem.batches[j], sum((size for size, _, _ in pieces), Fraction(0))
    floor = _least_gain(problem, prices, j, math.ceil(batches / most) if most else None)
    best = None if floor is None else Fraction(floor)
    # mini-batches in parts that make sizes whole, and their prices likewise
    parts = math.lcm(*(size.denominator for size, _, _ in pieces))
    unit = math.lcm(*(held.denominator for _, *both in pieces for held in both))
    whole_pieces = [(int(size * parts), int(w * unit), int(p * unit)) for size, w, p in pieces]
    worth, need, begin = prices.worth(problem, j), batches * parts, problem.begin(j)
    held: list[tuple[int, int]] = []  # (-price, mini-batches), the dearest first
    have = cost = 0
    for end, (worker, ps) in enumerate(prices.least[begin:], begin + 1):
        if best is not None and worth[end] <= best:
            break
        for size, workers, servers in whole_pieces:
            price = workers * worker + servers * ps
            heapq.heappush(held, (-price, size))
            have, cost = have + size, cost + price * size
        while have > need:  # give the dearest back
            price, size = heapq.heappop(held)
            back = min(size, have - need)
            if back < size:
                heapq.heappush(held, (price, size - back))
            have, cost = have - back, cost + price * back
        if have == need:
            gain = worth[end] - Fraction(cost, parts * unit)
            best = gain if best is None else max(best, gain)
    return best


def _pieces(problem: RevenueProblem, j: int) -> list[tuple[Fraction, Fraction, Fraction]]:
    """The convex function: mini-batches of a slot, and workers and PSs of each of them."""
    gang, models = problem.gangs[j], problem.models
    fast, slow = (max(problem.rate(j, several, m) for m in models) for several in (False, True))
    one, many = (min(gang, max(problem.room(m)[k] for m in models)) for k in (0, 1))
    if not one and not many:
        return []
    near, far = one * fast, many * slow
    ps = 1 / max(near, far)
    pieces = [(near, 1 / fast, ps)] if one else []
    if far > near:
        pieces.append((far - near, (many - one) / (far - near), ps))
    return pieces


RULES = {"revenue prices": revenue_prices}
