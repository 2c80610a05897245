"""What jobs gain at prices of GPU time, and which seconds they would buy, as machine code."""

from __future__ import annotations

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner
from .price_core import Numbers, drop_top, sift_up


@inner
def _sweep(
    start: int, need: int, speed: int, gang: float, first: int, low: int, high: int, stop: Ints,
    worth: Numbers, edges: Ints, prices: Numbers, price: Numbers, amount: Ints, place: Ints,
) -> tuple[float, int, int]:  # fmt: skip
    """The most gain of the rows `low` to `high`, its row, and how many pieces are held at the last.

    Pieces (price, amount, interval) of the cheapest `need` units before a stop are a heap; a second
    has `speed` units, and a unit holds `gang` GPU seconds.
    """
    t, k, size, left, cost = start, first, 0, need, 0 * gang * prices[0]
    best, row = 0 * cost, -1
    for i in range(low, high):
        while t < stop[i]:
            p = prices[k]
            end = min(edges[k + 1], stop[i])
            room = (end - t) * speed
            held = min(room, left)
            left -= held
            room -= held
            cost += p * held
            while room > 0 and size > 0 and price[0] > p:
                taken = min(room, amount[0])
                cost -= taken * (price[0] - p)
                amount[0] -= taken
                held += taken
                room -= taken
                if amount[0] == 0:
                    drop_top(price, amount, place, size)
                    size -= 1
            if held > 0:
                price[size], amount[size], place[size] = p, held, k
                size += 1
                sift_up(price, amount, place, size)
            t = end
            if t == edges[k + 1]:
                k += 1
        gain = worth[i] - gang * cost
        if gain > best:
            best, row = gain, i
    return best, row, size


@compiled
def most_gains(
    start: Ints, need: Ints, speed: Ints, gang: Numbers, first: Ints, ptr: Ints, stop: Ints,
    worth: Numbers, edges: Ints, prices: Numbers,
) -> tuple[Numbers, Floats]:  # fmt: skip
    """What each job gains at most, and the GPU seconds that they buy of each interval.

    In integers if gangs, worths and prices are.
    """
    room = prices.size + np.max(np.diff(ptr)) + 4
    price, amount = np.empty(room, dtype=prices.dtype), np.empty(room, dtype=np.int64)
    place = np.empty(room, dtype=np.int64)
    bought, gains = np.zeros(prices.size), np.zeros(start.size, dtype=prices.dtype)
    for j in range(start.size):
        gains[j], row, size = _sweep(
            start[j], need[j], speed[j], gang[j], first[j], ptr[j], ptr[j + 1], stop, worth, edges,
            prices, price, amount, place,
        )  # fmt: skip
        if row < 0:
            continue
        if row + 1 < ptr[j + 1]:
            _, _, size = _sweep(
                start[j], need[j], speed[j], gang[j], first[j], row, row + 1, stop, worth, edges,
                prices, price, amount, place,
            )  # fmt: skip
        for i in range(size):
            bought[place[i]] += gang[j] * amount[i]
    return gains, bought
