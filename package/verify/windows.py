r"""Bounds of gangs whose ends are in windows, and trees of such windows: "completions in windows".

Gang j holds D_j of M equal GPUs for p_j seconds from its release r_j on, may be paused, and its end
is C_j. All of these are integers; second t is [t, t + 1). f_j(C) is what it costs to end at C.

*Theorem.* Let pi_j(t) >= 0 be any price of a second of job j, and V(t) the largest sum of pi_j(t)
over sets of gangs that have at most M GPUs together. Every schedule with lo_j <= C_j <= hi_j has

    sum_j f_j(C_j)  >=  sum_j min over C of [ f_j(C) + kappa_j(C) ]  -  sum_t V(t),

    max(lo_j, r_j + p_j) <= C <= hi_j,
    kappa_j(C) = pi_j(C - 1) + the cheapest p_j - 1 seconds of [r_j, C - 1);

where no C is possible for some job, there is no such schedule.

    Proof. What runs in second t is such a set, so all that runs is worth sum_t V(t) at most. Job j
    runs in the second before C_j, as this is where it ends, and in p_j - 1 seconds or more of
    [r_j, C_j - 1), and that is worth kappa_j(C_j) or more. So the costs are at least the costs plus
    what the jobs' seconds are worth, less sum_t V(t).

*Tree.* "nodes" are numbered from 0, the root, and each stands before its children. The root has
windows that hold all schedules better than the "target", a ratio of two integers. An inner node
{"job": j, "at": a, "then": [x, y]} has the children x, where C_j <= a, and y, where C_j >= a + 1. A
leaf has the fields of the certificate "job prices": "times", "first", "counts", "prices", and their
"scale" S, of which a price has q / S. If its bound is no better than the target at every leaf, no
schedule is. Bounds are rounded to the next value that an objective can have, and so is the target.

A node with prices may also be narrowed: it has the windows "low" and "high" and one child, "then":
[x], whose windows lie in these too. No better schedule may be left out: with any end of a job
outside of them instead of its cheapest one, the bound is no better than the target.

Where a later end never costs less, windows end with max r_j + sum_j p_j, as in some best schedule:
a second after all releases in which nothing runs can be left out, and no end is later for it.

- Completion times: f_j(C) is w_j C, w_j (C - r_j) or w_j (C - r_j) / p_j, and no other job costs
  less than alone. With rate_j = w_j or w_j / p_j,

      hi_j = r_j + p_j + floor((target - sum_k f_k(r_k + p_k)) / rate_j).

- Rewards: a job earns at most one of its steps (d, V), of which C_j is r_j + d, as if it waited for
  the end of the step. So it has p_j seconds of [r_j, C_j), but not always the last. What it earns
  less the price of the cheapest ones counts, or 0 if it earns nothing, which is among the schedules
  of y, and not of x. A reward is at most the sum of these and of all V(t).
- Users: R is the largest of (F_u - b_u) / d_u, F_u the sum of C_j - r_j of a user's jobs. At a leaf
  users have "weights" m_u, by which f_j(C) = m_u (C - r_j), and no scale. F_u <= b_u + R d_u, so

      R >= (the bound of sum_u m_u F_u - sum_u m_u b_u) / sum_u m_u d_u,
      hi_j = r_j + floor(target d_u + b_u) - (sum of p_k over the other jobs of the user).

A job that takes no time pays nothing, whenever it ends.

O(K log K) for a job, or a step, and K intervals at each leaf, and a knapsack for each interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise
from math import ceil, floor
from typing import Any

from . import completion_time, deadline_rewards, fairness
from .fields import MOST_PACKED, Refused, integer, integers, item, to_float

MOST_NODES = 100_000
Number = int | Fraction
#: [begin, end) and the price of each second in it
Piece = tuple[int, int, int]
#: an entry of a list, and what becomes of it
Change = tuple[list[Any], int, Any]
#: the least cost of a job in a window, None where no end is possible; whether it must end
Costs = Callable[["Leaf", int, tuple[int, int], bool], Fraction | None]
#: whether such a sum of costs leaves room for something better than the target
Better = Callable[["Leaf", Fraction], bool]


# --- the tree -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Windows:
    """lo_j <= C_j <= hi_j, and whether job j has to end at all."""

    low: list[int]
    high: list[int]
    must: list[bool]


@dataclass
class Leaf:
    """Windows, prices, and all fields."""

    windows: Windows
    prices: completion_time.JobPrices
    fields: Mapping[str, Any]
    _worth: int | None = None

    @cached_property
    def scale(self) -> int:
        """S."""
        return integer(self.fields, "scale", 1)

    def worth(self, gangs: Mapping[int, int], gpus: int) -> int:
        """The sum of all V(t)."""
        if self._worth is None:
            self._worth = self.prices.worth(gangs, gpus)
        return self._worth

    def pieces(self, j: int, begin: int, end: int) -> Iterator[Piece]:
        """Yield the prices of job j in [begin, end), which are 0 where there are none."""
        times, (prices, *_) = self.prices.slices[j]
        known = [(a, b, price) for (a, b), price in zip(pairwise(times), prices, strict=True)]
        for a, b, price in ((begin, times[0], 0), *known, (times[-1], end, 0)):
            if max(a, begin) < min(b, end):
                yield max(a, begin), min(b, end), price

    def least_cost(
        self, j: int, within: tuple[int, int], release: int, need: int, rate: int, unit: int
    ) -> int | None:
        """Return the least of rate (C - release) + unit kappa_j(C); None where no C is possible.

        Let the last second be e = C - 1. While e moves through seconds of one price, each that it
        has passed takes the place of the dearest of the need - 1 that are held, as long as it is
        cheaper. So the cost changes linearly until all that is held at one price is replaced, and
        is looked at there, and at the first and last e of a price and of the window.
        """
        low, high = max(within[0], release + need), within[1]
        if not need:
            return rate * (low - release) if low <= high else None
        held, paid, missing = list[tuple[int, int]](), 0, need - 1  # (-price, seconds), a heap
        best = None
        for begin, end, price in self.pieces(j, release, high):
            stops = sorted({begin, min(max(begin, low - 1), end), end - 1, end})
            fresh = 0  # seconds of this price that are held
            for now, stop in pairwise(stops):
                while now < stop:
                    if now >= low - 1:
                        cost = rate * (now + 1 - release) + unit * (paid + price)
                        best = cost if best is None else min(best, cost)
                    taken = stop - now
                    if missing:
                        taken = min(taken, missing)
                        missing -= taken
                        paid += price * taken
                        fresh += taken
                    elif held and -held[0][0] > price:
                        dearest, amount = heappop(held)
                        taken = min(taken, amount)
                        if taken < amount:
                            heappush(held, (dearest, amount - taken))
                        paid += (price + dearest) * taken
                        fresh += taken
                    now += taken
            if fresh:
                heappush(held, (-price, fresh))
        return best


def _target(certificate: Mapping[str, Any]) -> Fraction:
    over, under = integers(certificate.get("target"), "target", count=2, what="parts of a ratio")
    if not under:
        raise Refused("target is over 0")
    return Fraction(over, under)


def _check_leaves(
    certificate: Mapping[str, Any], windows: Windows, costs: Costs, better: Better
) -> None:
    """Refuse what is no tree, or has a leaf that falls short of the target.

    There is one list of each side of the windows, of which each step changes some entries.
    """
    low, high, must = windows.low, windows.high, windows.must
    nodes, size = certificate.get("nodes"), 0
    if not isinstance(nodes, list) or not 0 < len(nodes) <= MOST_NODES:
        raise Refused(f"nodes are no list of 1 to {MOST_NODES}")
    steps: list[tuple[int | None, list[Change]]] = [(0, [])]  # the last one comes first
    found = {0}
    while steps:
        number, changes = steps.pop()
        for column, j, value in changes:
            column[j] = value
        if number is None:
            continue
        node = nodes[number]
        try:
            if not isinstance(node, Mapping):
                raise Refused("it is no object")
            if "then" in node and "low" not in node:
                j, at = item(node, "job", len(low)), integer(node, "at")
                first, second = _children(node, 2, range(number + 1, len(nodes)), found)
                again: list[Change] = [(high, j, high[j]), (must, j, must[j])]
                steps += [
                    (None, [(low, j, low[j])]),
                    (second, [*again, (low, j, max(low[j], at + 1))]),
                    (first, [(high, j, min(high[j], at)), (must, j, True)]),
                ]
                continue
            leaf = Leaf(windows, completion_time.JobPrices(node, len(low)), node)
            size += leaf.prices.size
            if size > MOST_PACKED:
                raise Refused(f"there are more than {MOST_PACKED} prices up to here")
            if "low" in node:
                (child,) = _children(node, 1, range(number + 1, len(nodes)), found)
                before, after = _narrowed(leaf, costs, better)
                steps += [(None, before), (child, after)]
            elif _falls_short(leaf, costs, better):
                raise Refused("it falls short of the target")
        except Refused as error:
            raise Refused(f"nodes[{number}]: {error}") from None
    if len(found) < len(nodes):
        raise Refused(f"nodes: {len(nodes) - len(found)} of {len(nodes)} are no children")


def _falls_short(leaf: Leaf, costs: Costs, better: Better) -> bool:
    """Whether a better schedule may be left."""
    total, windows = Fraction(0), leaf.windows
    for j, within in enumerate(zip(windows.low, windows.high, strict=True)):
        least = costs(leaf, j, within, windows.must[j])
        if least is None:
            return False
        total += least
    return better(leaf, total)


def _narrowed(leaf: Leaf, costs: Costs, better: Better) -> tuple[list[Change], list[Change]]:
    """What to set back, and what to change, where a leaf's windows are narrowed."""
    windows, before, after = leaf.windows, list[Change](), list[Change]()
    count = len(windows.low)
    low, high = (
        integers(leaf.fields.get(name), name, count=count, what="jobs") for name in ("low", "high")
    )
    least = []
    for j, within in enumerate(zip(windows.low, windows.high, strict=True)):
        cost = costs(leaf, j, within, windows.must[j])
        if cost is None:  # no schedule is left
            return before, after
        least.append(cost)
    total = sum(least, Fraction(0))
    for j, (a, b) in enumerate(zip(windows.low, windows.high, strict=True)):
        for outside in ((a, min(b, low[j] - 1)), (max(a, high[j] + 1), b)):
            cost = costs(leaf, j, outside, True)
            if cost is not None and better(leaf, total - least[j] + cost):
                raise Refused(f"job {j} may end in {outside[0]} to {outside[1]}")
        before += [(windows.low, j, a), (windows.high, j, b)]
        after += [(windows.low, j, max(a, low[j])), (windows.high, j, min(b, high[j]))]
    return before, after


def _children(node: Mapping[str, Any], count: int, later: range, found: set[int]) -> list[int]:
    """All children, which are later nodes and nobody else's."""
    children = integers(node.get("then"), "then", count=count, what="children")
    for child in children:
        if child not in later or child in found:
            raise Refused(f"then: {child} is no later node, or another child")
        found.add(child)
    return children


# --- the three problems ---------------------------------------------------------------------------


def completions(problem: completion_time.GangProblem, certificate: Mapping[str, Any]) -> Number:
    """No sum of costs is below the target."""
    problem.require("completion", "flow", "slowdown")
    if problem.mixed:
        raise Refused("it is for equal GPUs")
    target, gangs = _target(certificate), dict(enumerate(problem.gangs))
    units = [problem.scale * divisor for divisor in problem.divisors]
    rates = list(map(Fraction, problem.weights, units))
    alone = [r + p for r, p in zip(problem.releases, problem.seconds, strict=True)]
    since = Fraction(problem.since(), problem.scale)
    spare = target - since - sum(w * p for w, p in zip(rates, problem.seconds, strict=True))
    last = max(problem.releases) + sum(problem.seconds)
    latest = [min(end + floor(spare / rate), last) for end, rate in zip(alone, rates, strict=True)]

    def costs(leaf: Leaf, j: int, within: tuple[int, int], must: bool) -> Fraction | None:
        weight = leaf.scale * problem.weights[j]
        times = problem.releases[j], problem.seconds[j]
        least = leaf.least_cost(j, within, *times, weight, units[j])
        return None if least is None else Fraction(least, units[j])

    def better(leaf: Leaf, total: Fraction) -> bool:
        cost = since * leaf.scale + total - leaf.worth(gangs, problem.gpus)
        return problem.rounded(problem.scale * cost / leaf.scale) < target

    _check_leaves(certificate, Windows(alone, latest, [True] * len(gangs)), costs, better)
    return problem.rounded(problem.scale * target)


def rewards(problem: deadline_rewards.DeadlineProblem, certificate: Mapping[str, Any]) -> Number:
    """No sum of rewards is above the target."""
    if problem.elastic:
        raise Refused("it is for gangs, and these jobs are elastic")
    target, gangs, unit = _target(certificate), dict(enumerate(problem.gangs)), problem.unit or 1
    ends = [
        [(release + d, Fraction(value)) for d, value in steps]
        for release, steps in zip(problem.releases, problem.rewards, strict=True)
    ]
    latest = [max((end for end, _ in steps), default=0) for steps in ends]

    def costs(leaf: Leaf, j: int, within: tuple[int, int], must: bool) -> Fraction | None:
        found = [] if must else [Fraction(0)]
        for end, value in ends[j]:
            if within[0] <= end <= within[1]:
                paid = _cheapest(leaf.pieces(j, problem.releases[j], end), problem.work[j])
                found += [] if paid is None else [paid - leaf.scale * value]
        return min(found, default=None)

    def better(leaf: Leaf, total: Fraction) -> bool:
        won = leaf.worth(gangs, problem.gpus) - total
        return floor(won / leaf.scale / unit) * unit > target

    root = Windows(problem.releases.copy(), latest, [False] * len(gangs))
    _check_leaves(certificate, root, costs, better)
    return floor(target / unit) * unit


def _cheapest(pieces: Iterator[Piece], need: int) -> int | None:
    """What the cheapest seconds of these cost, None where they are too few."""
    paid = 0
    for price, length in sorted((price, b - a) for a, b, price in pieces):
        paid += price * min(length, need)
        need -= min(length, need)
    return None if need else paid


def worst_user(cluster: fairness.SharingProblem, certificate: Mapping[str, Any]) -> Number:
    """No schedule has a worst ratio below the target."""
    if cluster.limit is not None:
        raise Refused("it bounds the worst ratio, and that has a limit")
    target, gangs = _target(certificate), dict(enumerate(cluster.gangs))
    users = [(jobs, *fairness.terms(cluster, user, jobs)) for user, jobs in cluster.members.items()]
    alone = [r + p for r, p in zip(cluster.releases, cluster.work, strict=True)]
    owner = {j: u for u, (jobs, _, _) in enumerate(users) for j in jobs}
    latest, last = alone.copy(), max(cluster.releases) + sum(cluster.work)
    for jobs, less, over in users:
        spare = floor(target * over) + less - sum(cluster.work[j] for j in jobs)
        for j in jobs:
            latest[j] = min(alone[j] + spare, last)

    def rounded(ratio: Fraction) -> Fraction:
        return min(Fraction(ceil(ratio * over), over) for _, _, over in users)

    def weights(leaf: Leaf) -> list[int]:
        return integers(leaf.fields.get("weights"), "weights", count=len(users), what="users")

    def costs(leaf: Leaf, j: int, within: tuple[int, int], must: bool) -> Fraction | None:
        weight = weights(leaf)[owner[j]]
        least = leaf.least_cost(j, within, cluster.releases[j], cluster.work[j], weight, 1)
        return None if least is None else Fraction(least)

    def better(leaf: Leaf, total: Fraction) -> bool:
        pairs = list(zip(weights(leaf), users, strict=True))
        divisor = sum(weight * over for weight, (_, _, over) in pairs)
        if not divisor:
            raise Refused("weights are all 0")
        cost = total - leaf.worth(gangs, cluster.gpus)
        cost -= sum(weight * less for weight, (_, less, _) in pairs)
        return rounded(cost / divisor) < target

    _check_leaves(certificate, Windows(alone, latest, [True] * len(gangs)), costs, better)
    return to_float(rounded(target))


KIND = "completions in windows"
#: with all other rules of each problem
COMPLETION_RULES = {**completion_time.RULES, KIND: completions}
REWARD_RULES = {**deadline_rewards.RULES, KIND: rewards}
SHARING_RULES = {**fairness.SHARING_RULES, KIND: worst_user}
