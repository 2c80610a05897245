"""The cheapest completions of jobs in windows at prices of their own, as machine code."""

from __future__ import annotations

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner


@inner
def _rank(order: Ints, count: int, prices: Floats, k: int) -> None:
    """Put interval k among the first `count`, which are in the order of prices."""
    at = count
    while at > 0 and prices[order[at - 1]] > prices[k]:
        order[at] = order[at - 1]
        at -= 1
    order[at] = k


@compiled
def cheapest_ends(
    edges: Ints, release: Ints, need: Ints, weight: Floats, low: Ints, high: Ints, fixed: Floats,
    last: int, prices: Floats, costs: Floats, ends: Ints, most: int, picked: Ints, uses: Floats,
) -> None:  # fmt: skip
    """Write what it costs each job at least to be complete in each interval, and when it is.

    That is the weight of its flow time, `fixed` of the interval, and the price of `need` seconds,
    at least `last` of which are the last ones before the end; if that is 0, the interval's end is
    the job's. Intervals that are picked are those of the `most` least costs, -1 where there are
    fewer, and `uses` is the seconds bought of each interval.
    """
    order = np.empty(edges.size, dtype=np.int64)
    for j in range(release.size):
        own, rate, have, count = prices[j], weight[j], 0, 0
        costs[j] = np.inf
        for k in range(edges.size - 1):
            start, length = edges[k], edges[k + 1] - edges[k]
            if start < release[j]:
                continue
            if start >= high[j]:
                break
            least = max(last, need[j] - have)
            if last:
                least = max(least, low[j] - start)
            top = min(length, need[j], high[j] - start)
            if least <= top and low[j] <= edges[k + 1] and fixed[j, k] < np.inf:
                kept = 0
                for a in range(count):
                    if own[order[a]] > rate + own[k]:
                        break
                    kept += edges[order[a] + 1] - edges[order[a]]
                bought = min(max(least, need[j] - kept), top)
                left = need[j] - bought
                cost = fixed[j, k] + rate * (start + bought - release[j]) + own[k] * bought
                for a in range(count):
                    got = min(left, edges[order[a] + 1] - edges[order[a]])
                    cost += own[order[a]] * got
                    left -= got
                    if left == 0:
                        break
                costs[j, k], ends[j, k] = cost, start + bought
            _rank(order, count, own, k)
            count += 1
            have += length
        chosen = np.argsort(costs[j])[:most]
        for q in range(most):
            picked[j, q] = -1
            if q >= chosen.size or costs[j, chosen[q]] == np.inf:
                continue
            k = chosen[q]
            picked[j, q] = k
            uses[j, q] = 0
            uses[j, q, k] = min(ends[j, k] - edges[k], need[j])
            left, count = need[j] - int(uses[j, q, k]), 0
            for i in range(k):
                if edges[i] >= release[j]:
                    _rank(order, count, own, i)
                    count += 1
            for a in range(count):
                got = min(left, edges[order[a] + 1] - edges[order[a]])
                uses[j, q, order[a]] = got
                left -= got
