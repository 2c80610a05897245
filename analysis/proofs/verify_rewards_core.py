"""What a job gains at the most at prices of GPU time: for the verifier, in integers of any size.

Plain Python, which counts exactly; compiled where all numbers are known to fit 64 bits.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from ...instances.compiled import compiled


def most_gains(
    releases: Any, needs: Any, parts: Any, gangs: Any, ends: Any, deadlines: Any, worths: Any,
    times: Any, prices: Any, gains: Any,
) -> None:  # fmt: skip
    """Write max(0, max over deadlines of worth - gang * cost) for each job.

    Job j needs `needs[j]` parts of time, of which a second has `parts[j]`. Its deadlines end before
    `ends[j]`, where those of the next begin, and rise; cost is the price of its cheapest parts of
    [release, deadline). Second t costs prices[k] for times[k] <= t < times[k + 1], and nothing
    outside. A later piece takes the place of the dearest parts that are held, while these cost
    more; a deadline that leaves too little time is passed over.
    """
    last = len(prices)
    k, i = 0, 0
    for j in range(len(releases)):  # by release
        now, gang, missing = releases[j], gangs[j], needs[j]
        while k <= last and times[k] <= now:
            k += 1
        at = k  # of the first edge after now
        held = [(prices[0], missing)][:0]  # (-price, parts), the dearest first
        cost = best = missing - missing
        while i < ends[j]:
            while now < deadlines[i]:
                price = prices[at - 1] if 0 < at <= last else cost - cost
                until = deadlines[i]
                if at <= last and times[at] < until:
                    until = times[at]
                new = (until - now) * parts[j]
                taken = min(new, missing)
                missing -= taken
                cost += price * taken
                while taken < new and held and -held[0][0] > price:
                    dearest, amount = heappop(held)
                    swapped = min(amount, new - taken)
                    if swapped < amount:
                        heappush(held, (dearest, amount - swapped))
                    cost -= (-dearest - price) * swapped
                    taken += swapped
                if taken > 0:
                    heappush(held, (-price, taken))
                now = until
                if at <= last and now == times[at]:
                    at += 1
            if missing == 0:
                best = max(best, worths[i] - gang * cost)
            i += 1
        gains[j] = best


compiled_most_gains = compiled(most_gains)
