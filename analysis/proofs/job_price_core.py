"""What jobs cost at prices of their own, and what sets of gangs are worth, as machine code."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner
from .price_core import NEVER, sweep

Numbers = TypeVar("Numbers", Ints, Floats)


@compiled
def costs_of_jobs(
    release: Ints, need: Ints, weight: Numbers, ptr: Ints, first: Ints, edges: Ints,
    prices: Numbers, bought: Floats, costs: Numbers,
) -> None:  # fmt: skip
    """Write the least cost of each job, and the seconds of itself that it buys at each price.

    Those of job j are ptr[j]:ptr[j + 1], of the intervals from the first[j]-th on.
    """
    most = 2
    for j in range(release.size):
        most = max(most, ptr[j + 1] - ptr[j] + 2)
    ends, ranks = np.empty(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    values, held = np.zeros(most, dtype=prices.dtype), np.zeros(most, dtype=np.int64)
    for j in range(release.size):
        low, count, at = ptr[j], ptr[j + 1] - ptr[j], first[j]
        order = np.argsort(prices[low : ptr[j + 1]])
        for rank in range(count):
            ranks[1 + order[rank]] = rank + 1
            values[rank + 1] = prices[low + order[rank]]
        ranks[count + 1] = 0
        ends[: count + 1] = edges[at : at + count + 1]
        ends[count + 1] = NEVER
        k = 0
        while ends[k] <= release[j]:
            k += 1
        costs[j], done, top, rest = sweep(
            release[j], need[j], weight[j], 1, k, ends[: count + 2], ranks[: count + 2],
            values[: count + 1], held,
        )  # fmt: skip
        now = release[j]
        bought[low : ptr[j + 1]] = 0
        while now < done and k <= count:
            end = min(ends[k], done)
            if k > 0 and ranks[k] <= top:
                bought[low + k - 1] = end - now if ranks[k] < top else rest
            now = end
            k += 1


@inner
def _tied(size: int, spare: int, per: int, worth: Numbers, head: Ints, then: Ints) -> int:
    """Tie those after the first `spare` into bundles of `per`; returns how many there are."""
    made = 0
    for item in range(spare, size):
        if (item - spare) % per == 0:
            worth[made], head[made] = worth[item], head[item]
            made += 1
        else:
            worth[made - 1] += worth[item]
            last = head[item]
            while then[last] >= 0:
                last = then[last]
            then[last], head[made - 1] = head[made - 1], head[item]
    return made


@inner
def _knapsack(
    places: int, size: int, unit: int, worth: Numbers, width: Ints, best: Numbers, taken: Ints
) -> Any:  # fmt: skip
    """The largest sum of worths that fits so many places of `unit` GPUs, and what is taken.

    Row k is of the first k.
    """
    best[0, : places + 1] = 0
    for k in range(size):
        own, more = width[k] // unit, worth[k]
        for q in range(places + 1):
            best[k + 1, q] = best[k, q]
            if q >= own and best[k, q - own] + more > best[k, q]:
                best[k + 1, q] = best[k, q - own] + more
    left = places
    for k in range(size - 1, -1, -1):
        taken[k] = best[k + 1, left] > best[k, left]
        left -= taken[k] * (width[k] // unit)
    return best[size, places]


@compiled
def worth_of_sets(
    gpus: int, ptr: Ints, place: Ints, gang: Ints, prices: Numbers, worths: Numbers, chosen: Floats
) -> None:
    """Write the largest sum of prices of gangs that fit, of each interval, and who is among them.

    `place` has the prices of an interval, ptr[i]:ptr[i + 1], by gang. Where all wider gangs are
    multiples of some number of GPUs, the narrower ones share what is left of the cluster beyond
    such multiples, and blocks of that number: the dearest have the former, the others are tied into
    bundles of a block, the dearest first. What remains is a knapsack of few places.
    """
    most = 1
    for i in range(ptr.size - 1):
        most = max(most, ptr[i + 1] - ptr[i])
    worth, width = np.zeros(most, dtype=prices.dtype), np.zeros(most, dtype=np.int64)
    head, then = np.zeros(most, dtype=np.int64), np.full(prices.size, -1)
    taken, picked = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    step, best = np.zeros(most + 1, dtype=np.int64), np.zeros((0, 0), dtype=prices.dtype)
    chosen[:] = 0
    for i in range(ptr.size - 1):
        low, high = ptr[i], ptr[i + 1]
        needed, total = 0, 0 * prices[0]
        for k in range(low, high):
            needed += gang[place[k]]
            total += prices[place[k]]
        if needed <= gpus:
            chosen[place[low:high]] = 1
            worths[i] = total
            continue
        total, room, size, k, count = 0 * total, gpus, 0, low, 0
        step[high - low] = 0
        for later in range(high - 1, low - 1, -1):
            step[later - low] = np.gcd(step[later + 1 - low], gang[place[later]])
        wide = gang[place[low]]
        while True:
            while k < high and gang[place[k]] == wide:
                worth[size], head[size] = prices[place[k]], place[k]
                then[place[k]] = -1
                size += 1
                k += 1
            block = step[k - low]
            if block == wide or block % wide != 0:
                break
            order = np.argsort(-worth[:size])
            worth[:size], head[:size] = worth[:size][order], head[:size][order]
            spare = room // wide
            if k < high:
                spare %= block // wide
            spare = min(spare, size)
            for item in range(spare):
                total += worth[item]
                picked[count] = head[item]
                count += 1
            if k == high:
                size = 0
                break
            room -= room % block
            size = _tied(size, spare, block // wide, worth, head, then)
            wide = block
        if size > 0 or k < high:
            width[:size] = wide
            unit = np.gcd(wide, step[k - low])
            while k < high:
                worth[size], head[size] = prices[place[k]], place[k]
                width[size] = gang[place[k]]
                then[place[k]] = -1
                size += 1
                k += 1
            if best.shape[0] <= size or best.shape[1] <= room // unit:
                best = np.zeros((most + 1, gpus // unit + 1), dtype=prices.dtype)
            total += _knapsack(room // unit, size, unit, worth, width, best, taken)
            for item in range(size):
                if taken[item]:
                    picked[count] = head[item]
                    count += 1
        worths[i] = total
        for p in range(count):  # bundles are chains
            item = picked[p]
            while item >= 0:
                chosen[item] = 1
                item = then[item]
