"""What a job costs at the least at prices of GPU time: for the verifier, in integers of any size.

Plain Python, which counts exactly; compiled where all numbers are known to fit 64 bits.
"""

from __future__ import annotations

from heapq import heappush, heapreplace
from typing import Any

from ...instances.compiled import compiled


def least_costs(
    releases: Any, needs: Any, rates: Any, gangs: Any, times: Any, prices: Any, costs: Any
) -> None:
    """Write min over C of rate (C - release) + gang kappa(C) for each job.

    kappa(C) is the price of the cheapest `need` seconds of [release, C); second t costs prices[k]
    for times[k] <= t < times[k + 1], and nothing outside. While C grows within one interval, its
    seconds replace the dearest that are held, as long as these cost more: costs change linearly
    between the moments at which an interval or a held piece ends.
    """
    last = len(prices)
    held = [(last, last)]  # (-price, seconds), the dearest first; one list for all jobs
    k = 0
    for j in range(len(releases)):  # by release
        start, need, rate, gang = releases[j], needs[j], rates[j], gangs[j]
        while k <= last and times[k] <= start:
            k += 1
        i = k - 1  # the interval of the release; -1 before all, `last` after all
        held.clear()
        now, cost = start, start - start
        while need > 0:
            price = prices[i] if 0 <= i < last else cost - cost
            taken = need
            if i < last and times[i + 1] - now < need:
                taken = times[i + 1] - now
            heappush(held, (-price, taken))
            cost += price * taken
            need -= taken
            now += taken
            if i < last and now == times[i + 1]:
                i += 1
        best = rate * (now - start) + gang * cost
        while held[0][0] < 0 and rate * (now - start) < best:
            price = prices[i] if 0 <= i < last else cost - cost
            if -held[0][0] <= price:  # dearer than all that is held: C passes over it
                now = times[i + 1]
                i += 1
                continue
            dearest, seconds = held[0]
            taken = seconds
            if i < last and times[i + 1] - now < seconds:
                taken = times[i + 1] - now
            if taken < seconds:
                held[0] = dearest, seconds - taken  # still the dearest
                heappush(held, (-price, taken))
            else:
                heapreplace(held, (-price, taken))
            cost -= (-dearest - price) * taken
            now += taken
            best = min(best, rate * (now - start) + gang * cost)
            if i < last and now == times[i + 1]:
                i += 1
        costs[j] = best


compiled_least_costs = compiled(least_costs)
