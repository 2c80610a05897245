"""What jobs cost at prices of several GPU models, and what they would buy, as machine code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner
from ...instances.model import FULL_SPEED
from .price_core import drop_top, sift_up

NEVER = 2.0**62
MOST_RATES = 64  #: values of a second of work for one job in the exact sum
LIMIT = 2**61
CLOSE = 1e-6  #: relative, of the exact cost of a job to that in floats


class PricedJobs(NamedTuple):
    """Columns of jobs, in floats or integers; what is more than the work is in millionths."""

    release: Ints
    need: Ints
    work: Any
    more: Ints
    weight: Any
    gang: Any


class Lists(NamedTuple):
    """Lists of prices: that of the jobs order[ptr[c] : ptr[c + 1]] is prices[:, low[c] : high[c]].

    They are of the intervals from the first[c]-th on; after them nothing has a price. speeds[c] are
    those of its jobs, in millionths.
    """

    order: Ints
    ptr: Ints
    first: Ints
    low: Ints
    high: Ints
    speeds: Ints


class Hulls(NamedTuple):
    """Lower hulls of (0, 0) and the points (speed, price) of GPU models, in each interval.

    Of vertices but the first: slope of the edge to it, speed, price and model; how many there are.
    """

    slope: Floats
    speed: Floats
    price: Floats
    model: Ints
    vertices: Ints


class Scratch(NamedTuple):
    """Where a list's hulls and the pieces that a job holds are written."""

    hulls: Hulls
    price: Floats
    amount: Floats
    place: Ints
    tops: Floats
    least: Ints

    @classmethod
    def of(cls, lists: Lists) -> Scratch:
        """As much as any of these lists needs."""
        most, models = int((lists.high - lists.low).max()) + 1, lists.speeds.shape[1]
        slope, speed, cost = np.empty((3, most, models))
        model, count = np.empty((most, models), dtype=np.int64), np.empty(most, dtype=np.int64)
        price, amount = np.empty((2, models * (most + 1)))
        place, tops = np.empty(price.size, dtype=np.int64), np.empty(most + 1)
        hulls = Hulls(slope, speed, cost, model, count)
        return cls(hulls, price, amount, place, tops, np.empty(most, dtype=np.int64))


@inner
def _write_hulls(speeds: Ints, prices: Floats, hulls: Hulls) -> None:
    """Write those of a list of prices, and last what is after it."""
    slope, speed, price, model, count = hulls
    models, last = prices.shape
    for k in range(last + 1):
        x, y, found = 0.0, 0.0, 0
        while True:
            best, least, top = -1, 0.0, 0.0
            for g in range(models):
                own = speeds[g] / FULL_SPEED
                if own > x:
                    edge = ((prices[g, k] if k < last else 0.0) - y) / (own - x)
                    if best < 0 or edge < least or (edge == least and own > top):
                        best, least, top = g, edge, own
            if best < 0:
                break
            x, y = top, prices[best, k] if k < last else 0.0
            slope[k, found] = max(least, slope[k, found - 1]) if found else least
            speed[k, found], price[k, found], model[k, found] = x, y, best
            found += 1
        count[k] = found


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
    stop: float, room: Scratch,
) -> tuple[float, float, int, int]:  # fmt: skip
    """The least cost over completions C up to `stop`, that C, pieces held and the last interval.

    Pieces (price, amount, interval and vertex) of the cheapest `work` in [release, C) are a heap.
    `tops` gets the price of the dearest of them at the begin of each interval that C passes, and in
    the end the one at the first C that is possible.
    """
    slope, speed, cost_of, _, count = room.hulls
    price, amount, place, tops = room.price, room.amount, room.place, room.tops
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


def evaluate_models(
    jobs: PricedJobs, lists: Lists, edges: Ints, prices: Floats
) -> tuple[Floats, Floats]:
    """The least cost of each job, and the GPU seconds that jobs buy at each price."""
    costs, bought = np.empty(jobs.release.size), np.zeros_like(prices)
    _evaluate(jobs, lists, edges, prices, Scratch.of(lists), costs, bought)
    return costs, bought


@compiled
def _evaluate(
    jobs: PricedJobs, lists: Lists, edges: Ints, prices: Floats, room: Scratch, costs: Floats,
    bought: Floats,
) -> None:  # fmt: skip
    models, hulls = prices.shape[0], room.hulls
    for c in range(lists.first.size):
        low, last, since = lists.low[c], lists.high[c] - lists.low[c], lists.first[c]
        between = edges[since : since + last + 1]
        _write_hulls(lists.speeds[c], prices[:, low : low + last], hulls)
        k = 0
        for n in range(lists.ptr[c], lists.ptr[c + 1]):
            j = lists.order[n]
            while k < last and between[k + 1] <= jobs.release[j]:
                k += 1
            work = jobs.work[j] + jobs.more[j] / FULL_SPEED
            costs[j], at, _, _ = _sweep(
                jobs.release[j], jobs.need[j], work, jobs.weight[j], jobs.gang[j], k, between,
                NEVER, room,
            )  # fmt: skip
            _, _, size, _ = _sweep(
                jobs.release[j], jobs.need[j], work, jobs.weight[j], jobs.gang[j], k, between,
                at, room,
            )  # fmt: skip
            for piece in range(size):
                m, i = room.place[piece] // models, room.place[piece] % models
                if m < last:
                    before = hulls.speed[m, i - 1] if i else 0.0
                    seconds = jobs.gang[j] * room.amount[piece] / (hulls.speed[m, i] - before)
                    bought[hulls.model[m, i], low + m] += seconds
                    if i:
                        bought[hulls.model[m, i - 1], low + m] -= seconds


@inner
def _raise(
    rate: int, release: int, need: int, work: int, more: int, weight: int, gang: int, first: int,
    upto: int, edges: Ints, speeds: Ints, prices: Ints, least: Ints,
) -> None:  # fmt: skip
    """Raise `least`, of each interval, to what a value of a second of work proves there."""
    last, models = edges.size - 1, prices.shape[0]
    many, few = rate // FULL_SPEED, rate % FULL_SPEED
    value = rate * work + many * more + few * more // FULL_SPEED
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


def certify(
    jobs: PricedJobs, lists: Lists, edges: Ints, prices: Ints, scale: float
) -> tuple[Ints, list[list[int]]]:
    """The least cost of each job in integers, and values of its work that prove it.

    Of each job it looks at the interval in which what is proven of its cost is the least, and adds
    the value that proves the most there, as long as that helps.
    """
    costs, count = np.zeros((2, jobs.release.size), dtype=np.int64)
    rates = np.zeros((jobs.release.size, MOST_RATES), dtype=np.int64)
    _certify(jobs, lists, edges, prices, scale, Scratch.of(lists), costs, rates, count)
    return costs, [own[:n] for own, n in zip(rates.tolist(), count.tolist(), strict=True)]


@compiled
def _certify(
    jobs: PricedJobs, lists: Lists, edges: Ints, prices: Ints, scale: float, room: Scratch,
    costs: Ints, rates: Ints, count: Ints,
) -> None:  # fmt: skip
    models, least, tops = prices.shape[0], room.least, room.tops
    for c in range(lists.first.size):
        low, last, since = lists.low[c], lists.high[c] - lists.low[c], lists.first[c]
        between, own = edges[since : since + last + 1], prices[:, low : low + last]
        dear = own / scale
        _write_hulls(lists.speeds[c], dear, room.hulls)
        first = 0
        for n in range(lists.ptr[c], lists.ptr[c + 1]):
            j = lists.order[n]
            while first < last and between[first + 1] <= jobs.release[j]:
                first += 1
            release, weight, gang = jobs.release[j], jobs.weight[j], jobs.gang[j]
            work = jobs.work[j] + jobs.more[j] / FULL_SPEED
            wanted, _, _, upto = _sweep(
                release, jobs.need[j], work, weight / scale, float(gang), first, between, NEVER,
                room,
            )  # fmt: skip
            done = release + jobs.need[j]
            after = weight * (between[upto + 1] - release) if upto < last else LIMIT
            earliest = first
            while earliest < last and between[earliest + 1] < done:
                earliest += 1
            for k in range(earliest, upto + 1):
                least[k] = weight * (max(between[k], done) - release)
            while True:
                k = earliest
                for other in range(earliest + 1, upto + 1):
                    if least[other] < least[k]:
                        k = other
                proven = least[k]
                if proven >= min(after, wanted * scale * (1 - CLOSE)) or count[j] == MOST_RATES:
                    break
                value = np.inf
                for g in range(models):
                    if lists.speeds[c, g] > 0:
                        paid = gang * (dear[g, k] if k < last else 0.0)
                        value = min(
                            value, (weight / scale + paid) * FULL_SPEED / lists.speeds[c, g]
                        )
                value = min(value, gang * tops[last + 1 if k == earliest else k])
                if k < upto:
                    value = max(value, gang * tops[k + 1])
                rate = np.int64(min(value * scale, LIMIT / work))
                _raise(
                    rate, release, jobs.need[j], jobs.work[j], jobs.more[j], weight, gang, first,
                    upto, between, lists.speeds[c], own, least,
                )  # fmt: skip
                if least[k] <= proven:
                    break
                rates[j, count[j]] = rate
                count[j] += 1
            costs[j] = min(proven, after)
