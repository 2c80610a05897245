"""What jobs cost at prices of GPU time, and which seconds they would buy, as machine code."""

from __future__ import annotations

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import inner, tiered


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


@inner
def _sweep(
    release: int, need: int, weight: float, gang: float, first: int, edges: Ints, prices: Floats,
    price: Floats, amount: Ints, place: Ints, interval: Ints, seconds: Ints,
) -> tuple[float, int, int]:  # fmt: skip
    """The least cost over completions C, that C, and how many purchases lead to it.

    Pieces (price, amount, interval) of the cheapest `need` seconds of [release, C) are a heap. Each
    purchase is of so many seconds of an interval; what is given back has a minus.
    """
    last = prices.size  # the interval after the last edge, at no price
    k, t, size, cost, bought = first, release, 0, 0 * gang * prices[0], 0
    left = need
    while left > 0:
        end = edges[k + 1] if k < last else t + left
        take = min(end - t, left)
        if take > 0:
            p = prices[k] if 0 <= k < last else 0 * prices[0]
            price[size], amount[size], place[size] = p, take, k
            size += 1
            sift_up(price, amount, place, size)
            interval[bought], seconds[bought] = k, take
            bought += 1
            cost += p * take
            left -= take
            t += take
        if k < last and t == end:
            k += 1
    best, at, count = weight * (t - release) + gang * cost, t, bought
    while price[0] > 0 and weight * (t - release) < best:
        p = prices[k] if k < last else 0 * prices[0]
        new = 0
        while (k == last or t < edges[k + 1]) and price[0] > p:
            take = amount[0] if k == last else min(edges[k + 1] - t, amount[0])
            cost -= take * (price[0] - p)
            amount[0] -= take
            new += take
            t += take
            interval[bought], seconds[bought] = place[0], -take
            interval[bought + 1], seconds[bought + 1] = k, take
            bought += 2
            if amount[0] == 0:
                drop_top(price, amount, place, size)
                size -= 1
                if size == 0:
                    price[0] = -1
            value = weight * (t - release) + gang * cost
            if value < best:
                best, at, count = value, t, bought
        if new > 0:
            price[size], amount[size], place[size] = p, new, k
            size += 1
            sift_up(price, amount, place, size)
        if k < last:
            t = max(t, edges[k + 1])
            k += 1
    return best, at, count


@tiered(seconds=2, most=200_000)
def _sweep_all(
    release: Ints, need: Ints, weight: Floats, gang: Ints, first: Ints, edges: Ints,
    prices: Floats, price: Floats, amount: Ints, place: Ints, interval: Ints, seconds: Ints,
    bought: Floats, ends: Ints,
) -> float:  # fmt: skip
    total = 0.0
    for j in range(release.size):
        best, ends[j], count = _sweep(
            release[j], need[j], weight[j], gang[j], first[j], edges, prices, price, amount,
            place, interval, seconds,
        )  # fmt: skip
        total += best
        for i in range(count):
            bought[interval[i]] += gang[j] * seconds[i]
    return total


def evaluate(
    release: Ints, need: Ints, weight: Floats, gang: Ints, first: Ints, edges: Ints,
    prices: Floats,
) -> tuple[float, Floats, Ints]:  # fmt: skip
    """The sum of the jobs' least costs, the GPU seconds they buy of each interval, completions."""
    room = prices.size + 4
    price, amount = np.empty(room), np.empty(room, dtype=np.int64)
    place = np.empty(room, dtype=np.int64)
    interval, seconds = np.empty(7 * room, dtype=np.int64), np.empty(7 * room, dtype=np.int64)
    bought, ends = np.zeros(prices.size + 1), np.empty(release.size, dtype=np.int64)
    total = _sweep_all(
        release, need, weight, gang, first, edges, prices, price, amount, place, interval, seconds,
        bought, ends,
    )  # fmt: skip
    return total, bought[:-1], ends


@tiered(seconds=2, most=200_000)
def _sweep_exactly(
    release: Ints, need: Ints, weight: Ints, gang: Ints, first: Ints, edges: Ints, prices: Ints,
    price: Ints, amount: Ints, place: Ints, interval: Ints, seconds: Ints,
) -> tuple[int, int]:  # fmt: skip
    low = high = 0
    for j in range(release.size):
        best, _, _ = _sweep(
            release[j], need[j], weight[j], gang[j], first[j], edges, prices, price, amount,
            place, interval, seconds,
        )  # fmt: skip
        low += best & 0xFFFFFFFF
        high += best >> 32
    return low, high


def evaluate_exactly(
    release: Ints, need: Ints, weight: Ints, gang: Ints, first: Ints, edges: Ints, prices: Ints
) -> tuple[int, int]:
    """The sum of the jobs' least costs in integers, as a low part and a high one times 2**32."""
    room = prices.size + 4
    price, amount, place = (np.empty(room, dtype=np.int64) for _ in range(3))
    interval, seconds = np.empty(7 * room, dtype=np.int64), np.empty(7 * room, dtype=np.int64)
    low, high = _sweep_exactly(
        release, need, weight, gang, first, edges, prices, price, amount, place, interval, seconds
    )
    return int(low), int(high)


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
