"""What jobs cost at prices of several GPU models, and what they would buy, as machine code."""

from __future__ import annotations

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner
from ...instances.model import FULL_SPEED
from .price_core import drop_top, sift_up

NEVER = 2.0**62
MOST_RATES = 24  #: values of a second of work for one job in the exact sum
LIMIT = 2**61
CLOSE = 1e-6  #: relative, of the exact cost of a job to that in floats


@compiled
def lower_hulls(speeds: Floats, prices: Floats) -> tuple[Floats, Floats, Floats, Ints, Ints]:
    """Lower hulls of (0, 0) and (speed, price) of each row of speeds in each interval.

    Vertices but the first: slope of the edge to it, speed, price, model; and how many there are.
    After the last interval nothing has a price.
    """
    rows, models = speeds.shape
    last = prices.shape[1]
    slope, speed = np.zeros((rows, last + 1, models)), np.zeros((rows, last + 1, models))
    price = np.zeros((rows, last + 1, models))
    model = np.zeros((rows, last + 1, models), dtype=np.int64)
    count = np.zeros((rows, last + 1), dtype=np.int64)
    for c in range(rows):
        for k in range(last + 1):
            x, y, found = 0.0, 0.0, 0
            while True:
                best, least = -1, 0.0
                for g in range(models):
                    if speeds[c, g] > x:
                        own = ((prices[g, k] if k < last else 0.0) - y) / (speeds[c, g] - x)
                        if (
                            best < 0
                            or own < least
                            or (own == least and speeds[c, g] > speeds[c, best])
                        ):
                            best, least = g, own
                if best < 0:
                    break
                x, y = speeds[c, best], prices[best, k] if k < last else 0.0
                slope[c, k, found] = max(least, slope[c, k, found - 1]) if found else least
                speed[c, k, found], price[c, k, found], model[c, k, found] = x, y, best
                found += 1
            count[c, k] = found
    return slope, speed, price, model, count


@inner
def _put(
    price: Floats, amount: Floats, place: Ints, size: int, p: float, work: float, at: int
) -> int:
    """Hold one more piece of work; returns how many there are."""
    price[size], amount[size], place[size] = p, work, at
    sift_up(price, amount, place, size + 1)
    return size + 1


@inner
def _sweep(
    release: int, need: int, work: float, weight: float, gang: float, first: int, edges: Ints,
    slope: Floats, speed: Floats, cost_of: Floats, count: Ints, stop: float,
    price: Floats, amount: Floats, place: Ints, tops: Floats,
) -> tuple[float, float, int, int]:  # fmt: skip
    """The least cost over completions C up to `stop`, that C, pieces held and the last interval.

    Pieces (price, amount, interval and vertex) of the cheapest `work` in [release, C) are a heap.
    `tops` gets the price of the dearest of them at the begin of each interval that C passes, and in
    the end the one at the first C that is possible.
    """
    last, models = edges.size - 1, slope.shape[1]
    k, t, size, cost, left = first, float(release), 0, 0.0, work
    while left > 0:  # all that can be done at once
        n = count[k]
        end = float(edges[k + 1]) if k < last else NEVER
        length = end - t
        if speed[k, n - 1] * length >= left:
            length = left / speed[k, n - 1]
            left = 0.0
        else:
            left -= speed[k, n - 1] * length
        before = 0.0
        for i in range(n):
            done = (speed[k, i] - before) * length
            size = _put(price, amount, place, size, slope[k, i], done, k * models + i)
            before = speed[k, i]
        cost += cost_of[k, n - 1] * length
        t += length
        if left > 0 or (k < last and t >= end):
            k += 1
            tops[k] = price[0]
    earliest = float(release + need)
    tiny = 1e-12 * work
    best, at = np.inf, t
    if t >= earliest:
        best, tops[last + 1] = weight * (t - release) + gang * cost, price[0]
    while t < stop and (t < earliest or (price[0] > 0 and weight * (t - release) < best)):
        end = min(float(edges[k + 1]) if k < last else NEVER, stop)
        top, begin, grows = price[0], t, count[k]
        while grows > 0 and slope[k, grows - 1] >= top:
            grows -= 1
        while t < end and grows > 0:
            rate = speed[k, grows - 1]
            upto = earliest if t < earliest < end else end
            length = upto - t
            gone = amount[0] <= rate * length + tiny
            if gone:
                length = min(length, amount[0] / rate)
            cost -= length * (top * rate - cost_of[k, grows - 1])
            t = t + length if gone else upto
            if gone:
                drop_top(price, amount, place, size)
                size -= 1
                top = price[0] if size > 0 else 0.0
                while grows > 0 and slope[k, grows - 1] >= top:
                    top = slope[k, grows - 1]
                    grows -= 1
                    done = (speed[k, grows] - (speed[k, grows - 1] if grows else 0.0)) * (t - begin)
                    size = _put(price, amount, place, size, top, done, k * models + grows)
            else:
                amount[0] -= rate * length
            if t >= earliest:
                if best == np.inf:
                    tops[last + 1] = top
                value = weight * (t - release) + gang * cost
                if value < best:
                    best, at = value, t
        if t < earliest <= end:  # nothing is bought any more
            best, at, tops[last + 1] = weight * need + gang * cost, earliest, top
        while grows > 0:
            grows -= 1
            done = (speed[k, grows] - (speed[k, grows - 1] if grows else 0.0)) * (t - begin)
            if done > 0:
                p = slope[k, grows]
                size = _put(price, amount, place, size, p, done, k * models + grows)
        t = end
        if k == last:
            break
        if t >= edges[k + 1]:
            k += 1
            tops[k] = price[0]
    return best, at, size, k


@compiled
def evaluate_models(
    release: Ints, need: Ints, work: Floats, weight: Floats, gang: Floats, row: Ints, first: Ints,
    edges: Ints, speeds: Floats, prices: Floats,
) -> tuple[float, Floats]:  # fmt: skip
    """The sum of the jobs' least costs, and the GPU seconds that they buy of each interval."""
    slope, speed, cost, model, count = lower_hulls(speeds, prices)
    models, last = prices.shape
    room = models * (last + 2)
    price, amount = np.empty(room), np.empty(room)
    place, tops = np.empty(room, dtype=np.int64), np.empty(last + 2)
    bought = np.zeros((models, last + 1))
    total = 0.0
    for j in range(release.size):
        c = row[j]
        best, at, _, _ = _sweep(
            release[j], need[j], work[j], weight[j], gang[j], first[j], edges, slope[c], speed[c],
            cost[c], count[c], NEVER, price, amount, place, tops,
        )  # fmt: skip
        total += best
        _, _, size, _ = _sweep(
            release[j], need[j], work[j], weight[j], gang[j], first[j], edges, slope[c], speed[c],
            cost[c], count[c], at, price, amount, place, tops,
        )  # fmt: skip
        for n in range(size):
            k, i = place[n] // models, place[n] % models
            before = speed[c, k, i - 1] if i else 0.0
            seconds = gang[j] * amount[n] / (speed[c, k, i] - before)
            bought[model[c, k, i], k] += seconds
            if i:
                bought[model[c, k, i - 1], k] -= seconds
    return total, bought[:, :-1]


@inner
def _raise(
    rate: int, release: int, need: int, work: int, weight: int, gang: int, first: int, upto: int,
    edges: Ints, speeds: Ints, prices: Ints, least: Ints,
) -> None:  # fmt: skip
    """Raise `least`, of each interval, to what a value of a second of work proves there."""
    last, models = edges.size - 1, prices.shape[0]
    many, few = rate // FULL_SPEED, rate % FULL_SPEED
    value = rate * work
    begin = release
    for k in range(first, upto + 1):
        gain = np.int64(0)
        for g in range(models):
            if speeds[g] > 0:
                worth = many * speeds[g] - (-few * speeds[g] // FULL_SPEED)
                gain = max(gain, worth - (gang * prices[g, k] if k < last else 0))
        if k == last:
            begin = max(begin, release + need)
            if gain <= weight and begin - max(edges[k], release) <= LIMIT // (gain + 1):
                value -= gain * (begin - max(edges[k], release))
                least[k] = max(least[k], weight * (begin - release) + value)
            return
        end = edges[k + 1]
        if gain > LIMIT // max(end - begin, 1):
            return
        if end >= release + need:
            since = max(begin, release + need)
            one = value - gain * (since - begin) + weight * (since - release)
            other = value - gain * (end - begin) + weight * (end - release)
            least[k] = max(least[k], min(one, other))
        value -= gain * (end - begin)
        begin = end
        if value <= 0:
            return


@compiled
def certify(
    release: Ints, need: Ints, work: Ints, weight: Ints, gang: Ints, row: Ints, first: Ints,
    edges: Ints, speeds: Ints, prices: Ints, scale: float,
) -> tuple[np.int64, np.int64, Ints, Ints]:  # fmt: skip
    """The sum of the least costs in integers, low part and high, with the values of work of each.

    Of each job it looks at the interval in which what is proven of its cost is the least, and adds
    the value that proves the most there, as long as that helps.
    """
    dear = prices / scale
    slope, speed, cost, _, count = lower_hulls(speeds / FULL_SPEED, dear)
    models, last = prices.shape
    room = models * (last + 2)
    price, amount = np.empty(room), np.empty(room)
    place, tops = np.empty(room, dtype=np.int64), np.empty(last + 2)
    least = np.empty(last + 1, dtype=np.int64)
    rates, ptr = np.empty(MOST_RATES * release.size, np.int64), np.zeros(release.size + 1, np.int64)
    low, high, n = np.int64(0), np.int64(0), 0
    for j in range(release.size):
        c = row[j]
        wanted, _, _, upto = _sweep(
            release[j], need[j], float(work[j]), weight[j] / scale, float(gang[j]), first[j], edges,
            slope[c], speed[c], cost[c], count[c], NEVER, price, amount, place, tops,
        )  # fmt: skip
        done = release[j] + need[j]
        after = weight[j] * (edges[upto + 1] - release[j]) if upto < last else LIMIT
        earliest = first[j]
        while earliest < last and edges[earliest + 1] < done:
            earliest += 1
        for k in range(earliest, upto + 1):
            least[k] = weight[j] * (max(edges[k], done) - release[j])
        while True:
            k = earliest
            for other in range(earliest + 1, upto + 1):
                if least[other] < least[k]:
                    k = other
            proven = least[k]
            if proven >= min(after, wanted * scale * (1 - CLOSE)) or n - ptr[j] == MOST_RATES:
                break
            value = np.inf
            for g in range(models):
                if speeds[c, g] > 0:
                    own = dear[g, k] if k < last else 0.0
                    own = (weight[j] / scale + gang[j] * own) * FULL_SPEED / speeds[c, g]
                    value = min(value, own)
            value = min(value, gang[j] * tops[last + 1 if k == earliest else k])
            if k < upto:
                value = max(value, gang[j] * tops[k + 1])
            rate = np.int64(min(value * scale, LIMIT / work[j]))
            _raise(
                rate, release[j], need[j], work[j], weight[j], gang[j], first[j], upto, edges,
                speeds[c], prices, least,
            )  # fmt: skip
            if least[k] <= proven:
                break
            rates[n] = rate
            n += 1
        ptr[j + 1] = n
        proven = min(proven, after)
        low += proven & 0xFFFFFFFF
        high += proven >> 32
    return low, high, ptr, rates[:n].copy()
