"""What a job costs at the least at prices of several GPU models: for the verifier, in integers.

Plain Python, which counts exactly; compiled where all numbers are known to fit 64 bits.
"""

from __future__ import annotations

from typing import Any

from ...instances.compiled import compiled

PARTS = 1_000_000  #: of a speed


def proven_costs(
    releases: Any, needs: Any, works: Any, weights: Any, gangs: Any, rows: Any, speeds: Any,
    ptr: Any, rates: Any, times: Any, prices: Any, costs: Any,
) -> None:  # fmt: skip
    """Write a lower bound of weight (C - release) + gang kappa(C) over C >= release + need.

    The jobs stand by release. Let a second of work be worth `rate`: then gang kappa(C) is at least
    rate times work, less the integral over [release, C] of what the best model gains in a second,
    max(0, rate speed - gang price), rounded up. That is linear in C between two times; of several
    rates, the one counts that proves the most between these two. A rate of 0 proves the wait.
    """
    last, models = len(times) - 1, len(prices)
    k = 0
    for j in range(len(releases)):
        release, done, weight, gang = releases[j], releases[j] + needs[j], weights[j], gangs[j]
        own, row = range(ptr[j], ptr[j + 1]), rows[j]
        while k <= last and times[k] <= release:
            k += 1
        value = [rates[i] * works[j] for i in own]
        worth = [
            rates[i] // PARTS * speeds[row][g] - (-(rates[i] % PARTS) * speeds[row][g] // PARTS)
            for i in own
            for g in range(models)
        ]
        now, at = release, k  # the next time
        least = weight * (done - release)
        open_ = True  # no C was looked at
        while at <= last + 1:
            end = times[at] if at <= last else now
            begins = max(now, done)
            proven = weight * (begins - release)
            for i in range(len(value)):
                if value[i] <= 0:
                    continue
                gain = worth[i * models]
                gain -= gain
                for g in range(models):
                    price = prices[g][at - 1] if 0 < at <= last else gain - gain
                    if speeds[row][g] > 0:
                        gain = max(gain, worth[i * models + g] - gang * price)
                if at > last:
                    if gain <= weight:
                        value[i] -= gain * (begins - now)
                        proven = max(proven, value[i] + weight * (begins - release))
                    continue
                if end >= done:
                    there = value[i] - gain * (begins - now) + weight * (begins - release)
                    other = value[i] - gain * (end - now) + weight * (end - release)
                    proven = max(proven, min(there, other))
                value[i] -= gain * (end - now)
            if at > last or end >= done:
                least = proven if open_ else min(least, proven)
                open_ = False
                if at <= last and weight * (end - release) >= least:
                    break
            now = end
            at += 1
        costs[j] = least


compiled_proven_costs = compiled(proven_costs)
