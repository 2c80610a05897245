"""What a job costs at the least at prices of GPU time: for the verifier, in integers of any size.

Plain Python, which counts exactly; compiled where all numbers are known to fit 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...instances.compiled import tiered


def inputs(*columns: Sequence[int]) -> list[Any]:
    """Return what :func:`least_costs` takes, of four columns of jobs, times and the prices between.

    The last of them is where it writes.
    """
    *of_jobs, times, prices = columns
    values = sorted({0, *prices})
    rank = {value: place for place, value in enumerate(values)}
    ranks = [0, *(rank[price] for price in prices), 0]
    return [*of_jobs, times, ranks, values, [0] * len(values), [0] * len(of_jobs[0])]


def least_costs(
    releases: Any,
    needs: Any,
    rates: Any,
    gangs: Any,
    times: Any,
    ranks: Any,
    values: Any,
    held: Any,
    costs: Any,
) -> None:
    """Write min over C of rate (C - release) + gang kappa(C) for each job.

    kappa(C) is the price of the cheapest `need` seconds of [release, C); second t costs
    values[ranks[i]] for times[i - 1] <= t < times[i], and nothing before and after: the first and
    the last rank are those of 0. Values rise from 0. While C grows within one interval, its
    seconds replace the dearest of those that are `held` at each value, as long as these cost more:
    costs change linearly between the moments at which an interval or what is held of a value ends.
    """
    last = len(times) - 1
    first = 0
    for j in range(len(releases)):  # by release
        start, need, rate, gang = releases[j], needs[j], rates[j], gangs[j]
        while first <= last and times[first] <= start:
            first += 1
        i, top = first, 0  # the interval of the release, the dearest that is held
        now, cost = start, start - start
        while need > 0:
            taken = need
            if i <= last and times[i] - now < need:
                taken = times[i] - now
            held[ranks[i]] += taken
            top = max(top, ranks[i])
            cost += values[ranks[i]] * taken
            need -= taken
            now += taken
            if i <= last and now == times[i]:
                i += 1
        best = rate * (now - start) + gang * cost
        while top > 0 and rate * (now - start) < best:
            if held[top] == 0:
                top -= 1
                continue
            if ranks[i] >= top:  # no cheaper than all that is held: C passes over it
                now = times[i]
                i += 1
                continue
            taken = held[top]
            if i <= last and times[i] - now < taken:
                taken = times[i] - now
            held[top] -= taken
            held[ranks[i]] += taken
            cost -= (values[top] - values[ranks[i]]) * taken
            now += taken
            best = min(best, rate * (now - start) + gang * cost)
            if i <= last and now == times[i]:
                i += 1
        for k in range(first, i + 1):
            held[ranks[k]] = 0
        costs[j] = best


compiled_least_costs = tiered(seconds=2, most=200_000)(least_costs)
