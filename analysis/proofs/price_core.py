"""What jobs cost at prices of GPU time, and which seconds they would buy, as machine code."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import inlined, inner, tiered

Numbers = TypeVar("Numbers", Ints, Floats)
NEVER = 2**62


@inner
def sift_up(price: Floats, amount: Ints, at_: Ints, size: int) -> None:
    """Move the last piece up to its place; the dearest piece is on top."""
    at = size - 1
    p, a, k = price[at], amount[at], at_[at]
    while at > 0 and price[(at - 1) // 2] < p:
        above = (at - 1) // 2
        price[at], amount[at], at_[at] = price[above], amount[above], at_[above]
        at = above
    price[at], amount[at], at_[at] = p, a, k


@inner
def drop_top(price: Floats, amount: Ints, at_: Ints, size: int) -> None:
    """Take the dearest of `size` pieces off; the others are the first size - 1."""
    p, a, k = price[size - 1], amount[size - 1], at_[size - 1]
    size -= 1
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size:
            below += price[below + 1] > price[below]  # no branch that is hard to guess
        if price[below] <= p:
            break
        price[at], amount[at], at_[at] = price[below], amount[below], at_[below]
        at = below
    price[at], amount[at], at_[at] = p, a, k


@inlined
def _cheapest_ahead(
    k: int, release: int, weight: float, best: float, ends: Ints, ranks: Ints
) -> int:
    """The least rank of the interval before the k-th and those after it that one may wait for."""
    low = int(ranks[k - 1])
    while weight * (ends[k - 1] - release) < best and low > 0:
        low = min(low, ranks[k])
        k += 1
    return low


@inner
def sweep(
    release: int, need: int, weight: float, gang: float, first: int, ends: Ints, ranks: Ints,
    values: Floats, held: Ints,
) -> tuple[float, int, int, int]:  # fmt: skip
    """The least cost over completions C, that C, and which seconds of [release, C) are cheapest.

    They are those of all prices of lower ranks, and so many seconds of the price of a rank. To wait
    a second more saves at most the dearest price paid less the cheapest one ahead, so most jobs
    are complete as soon as they can be.
    """
    done, k, t, cost, top = release + need, max(first, 0), release, 0 * gang * values[0], 0
    while t < done:
        end = min(ends[k], done)
        cost += values[ranks[k]] * (end - t)
        top = max(top, ranks[k])
        t = end
        k += 1
    best = weight * need + gang * cost
    if gang * values[top] > weight:
        low = _cheapest_ahead(k, release, weight, best, ends, ranks)
        if gang * (values[top] - values[low]) > weight:
            best, done, top, rest = _wait(
                release, need, weight, gang, first, best, cost, values[low], ends, ranks, values,
                held,
            )  # fmt: skip
            return best, done, top, rest
    return best, done, values.size, 0


@inner
def _wait(
    release: int, need: int, weight: float, gang: float, first: int, best: float, cost: float,
    cheapest: float, ends: Ints, ranks: Ints, values: Floats, held: Ints,
) -> tuple[float, int, int, int]:  # fmt: skip
    """Give dear seconds back for cheaper ones that come later, as long as that can be worth it.

    What is held of each price is known by its rank, and the dearest one only gets cheaper. `least`
    is what the job would cost if all seconds to come were as cheap as the cheapest.
    """
    at, most, rest = release + need, values.size, 0 * need
    k, t, top, least = max(first, 0), release, 0, best
    while t < at:
        rank, end = ranks[k], min(ends[k], at)
        held[rank] += end - t
        least -= (end - t) * max(gang * (values[rank] - cheapest) - weight, 0 * cost)
        top = max(top, rank)
        t = end
        k += t == ends[k]
    while gang * (values[top] - cheapest) > weight and least < best:
        rank, end, got = ranks[k], ends[k], 0 * t
        if rank < top:
            price = values[rank]
            while top > rank and got < end - t:
                take = min(held[top], end - t - got)
                held[top] -= take
                got += take
                cost -= take * (values[top] - price)
                value = weight * (t + got - release) + gang * cost
                if value < best:
                    best, at, most, rest = value, t + got, top, held[top]
                while held[top] == 0 and top > rank:
                    top -= 1
            held[rank] += got
            least += got * min(gang * (price - cheapest), weight)
        least += weight * (end - t - got)
        t = end
        k += 1
    for i in range(max(first, 0), min(k + 1, ranks.size)):
        held[ranks[i]] = 0
    return best, at, most, rest


@tiered(seconds=2, most=200_000)
def _sweep_all(
    release: Ints, need: Ints, weight: Numbers, gang: Ints, first: Ints, ends: Ints, ranks: Ints,
    values: Numbers, held: Ints, bought: Floats, completions: Ints, costs: Numbers,
) -> None:  # fmt: skip
    for j in range(release.size):
        costs[j], at, top, rest = sweep(
            release[j], need[j], weight[j], gang[j], first[j], ends, ranks, values, held
        )
        completions[j] = at
        k, t = max(first[j], 0), release[j]
        while t < at:
            end = min(ends[k], at)
            if ranks[k] < top:
                bought[k] += gang[j] * (end - t)
            elif ranks[k] == top:
                bought[k] += gang[j] * rest
            t = end
            k += 1


def _by_rank(edges: Ints, prices: Numbers) -> tuple[Ints, Ints, Numbers, Ints]:
    """When intervals end, the ranks of their prices, the prices by rank, and room for what is held.

    There is one more interval before the first edge and one after the last, of rank and price 0.
    """
    order = np.argsort(prices, kind="stable")
    ranks = np.zeros(prices.size + 2, dtype=np.int64)
    ranks[1 + order] = np.arange(1, prices.size + 1)
    values = np.append(0 * prices[:1], prices[order])
    return np.append(edges, NEVER), ranks, values, np.zeros_like(ranks)


def evaluate(
    release: Ints, need: Ints, weight: Floats, gang: Ints, first: Ints, edges: Ints,
    prices: Floats,
) -> tuple[float, Floats, Ints]:  # fmt: skip
    """The sum of the jobs' least costs, the GPU seconds they buy of each interval, completions.

    The interval in which a job is released counts from 1, and 0 is before the first edge.
    """
    costs, bought, completions = answers(release, need, weight, gang, first, edges, prices)
    return float(np.cumsum(costs)[-1]), bought, completions


def answers(
    release: Ints, need: Ints, weight: Numbers, gang: Ints, first: Ints, edges: Ints,
    prices: Numbers,
) -> tuple[Numbers, Floats, Ints]:  # fmt: skip
    """The least cost of each job instead of their sum; in integers if prices and weights are."""
    bought, completions = np.zeros(prices.size + 2), np.empty(release.size, dtype=np.int64)
    costs = np.zeros(release.size, dtype=prices.dtype)
    _sweep_all(
        release, need, weight, gang, first, *_by_rank(edges, prices), bought, completions, costs
    )
    return costs, bought[1:-1], completions


def evaluate_exactly(
    release: Ints, need: Ints, weight: Ints, gang: Ints, first: Ints, edges: Ints, prices: Ints
) -> int:
    """The sum of the jobs' least costs in integers, each of which fits 64 bits."""
    costs, _, _ = answers(release, need, weight, gang, first, edges, prices)
    return sum(costs.tolist())


@inner
def _root(then: Ints, at: int) -> int:
    """The first moment from `at` on that has no density yet; paths are halved."""
    while then[at] != at:
        then[at] = then[then[at]]
        at = then[at]
    return at


def densest(first: Ints, last: Ints, density: Floats, moments: int) -> Floats:
    """The largest density of the spans [first, last) at each moment, the largest spans first."""
    delta = np.zeros(moments)
    then = np.arange(moments + 1)  # the next moment that has no density yet
    _raise_densities(first, last, density, delta, then)
    return delta


@tiered(seconds=1, most=200_000)
def _raise_densities(first: Ints, last: Ints, density: Floats, delta: Floats, then: Ints) -> None:
    for i in range(density.size):
        at = _root(then, first[i])
        while at < last[i]:
            delta[at] = density[i]
            then[at] = at + 1
            at = _root(then, at)


def waiting_values(points: Ints, delta: Floats) -> Floats:
    """The price pi at each point.

    Going back in time, a stack holds for each rho the first moment at which delta < rho, as pieces
    (upper end of rho, moment); `area` is the integral of these moments over rho.
    """
    high, moment = np.empty(points.size + 1), np.empty(points.size + 1, dtype=np.int64)
    value = np.zeros(points.size)
    _integrate(points, delta, high, moment, value)
    return value


@tiered(seconds=1, most=200_000)
def _integrate(points: Ints, delta: Floats, high: Floats, moment: Ints, value: Floats) -> None:
    size, area = 0, 0.0
    for i in range(points.size - 2, -1, -1):
        now = delta[i]
        while size > 0 and high[size - 1] > now:
            size -= 1
            low = high[size - 1] if size > 0 else 0.0
            area -= (high[size] - max(low, now)) * moment[size]
            if low < now:
                high[size] = now
                size += 1
        top = high[size - 1] if size > 0 else 0.0
        if now > top:
            high[size], moment[size] = now, points[i + 1]
            size += 1
            area += (now - top) * points[i + 1]
        value[i] = area - now * points[i]
