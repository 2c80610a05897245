"""The loops of the rules, as functions of integers and lists: each writes into its last argument.

In Python they count exactly, whatever the size of numbers. Whoever has machine code of them may run
that instead where all numbers fit 64 bits, which is said beside each of them (:data:`Run`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

#: parts of a speed
PARTS = 1_000_000
#: integers below are far from the ends of 64 bits
LIMIT = 2**62
#: runs a kernel on columns, of which it may know that all numbers fit 64 bits; returns the last one
Run = Callable[..., list[int]]


def plainly(kernel: Callable[..., None], fits: bool, *columns: Any) -> list[int]:
    """Run a kernel as it stands here."""
    kernel(*columns)
    written: list[int] = columns[-1]
    return written


class ReadProblem:
    """What rules need of a problem; `run` says how kernels are run."""

    run: Run = staticmethod(plainly)


# --- the least cost of a job at prices of a GPU second --------------------------------------------


def cost_columns(*columns: Sequence[int]) -> list[Any]:
    """Return what :func:`least_costs` takes, of four columns of jobs, times and the prices between.

    The last of them is where it writes.
    """
    *of_jobs, times, prices = columns
    values = sorted({0, *prices})
    rank = {value: place for place, value in enumerate(values)}
    ranks = [0, *(rank[price] for price in prices), 0]
    return [*of_jobs, times, ranks, values, [0] * len(values), [0] * len(of_jobs[0])]


def costs_fit(columns: Sequence[Sequence[int]]) -> bool:
    """Whether all numbers of these costs fit 64 bits."""
    releases, needs, rates, gangs, times, prices = columns
    if not releases:
        return True
    span = max([*releases, times[-1]]) + max(needs)
    dearest = max(prices) * max(g * p for g, p in zip(gangs, needs, strict=True))
    return max([*rates, 1]) * span + dearest < LIMIT


def least_costs(
    releases: Any, needs: Any, rates: Any, gangs: Any, times: Any, ranks: Any, values: Any,
    held: Any, costs: Any,
) -> None:  # fmt: skip
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


# --- the same at prices of several GPU models -----------------------------------------------------


def proven_costs(
    releases: Any, needs: Any, works: Any, more: Any, weights: Any, gangs: Any, rows: Any,
    speeds: Any, ptr: Any, rates: Any, times: Any, prices: Any, costs: Any,
) -> None:  # fmt: skip
    """Write a lower bound of weight (C - release) + gang kappa(C) over C >= release + need.

    The jobs stand by release. Let a second of work be worth `rate`: then gang kappa(C) is at least
    rate times work and the millionths that are `more`, less the integral over [release, C] of what
    the best model gains in a second, max(0, rate speed - gang price), rounded up. That is linear in
    C between two times; of several rates, the one counts that proves the most between these two. A
    rate of 0 proves the wait.
    """
    last, models, k = len(times) - 1, len(prices), 0
    for j in range(len(releases)):
        release, done, weight, gang = releases[j], releases[j] + needs[j], weights[j], gangs[j]
        own, row = range(ptr[j], ptr[j + 1]), rows[j]
        while k <= last and times[k] <= release:
            k += 1
        value = [
            rates[i] * works[j] + rates[i] // PARTS * more[j] + rates[i] % PARTS * more[j] // PARTS
            for i in own
        ]
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
                gain = worth[i * models] - worth[i * models]
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


# --- the most that a job gains by its deadlines ---------------------------------------------------


def gains_fit(columns: Sequence[Sequence[int]]) -> bool:
    """Whether all numbers of these gains fit 64 bits."""
    _, needs, parts, gangs, _, deadlines, worths, times, prices = columns
    span = max([*deadlines, times[-1]]) * max(parts)
    dearest = max(prices) * max(g * p for g, p in zip(gangs, needs, strict=True))
    return max(max(worths) + dearest, span, *needs) < LIMIT


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


# --- a user's jobs alone on its quota -------------------------------------------------------------


def alone_fits(
    releases: Sequence[int], rates: Sequence[int], left: Sequence[int], most: int
) -> bool:
    """Whether all numbers of jobs alone on a quota fit 64 bits."""
    span = releases[-1] + sum(
        -(-area // most) + -(-area // rate) for area, rate in zip(left, rates, strict=True)
    )
    return max(span * max(most, *rates), span * len(releases), sum(left)) < LIMIT


def alone_flows(releases: Any, rates: Any, left: Any, most: Any, flows: Any) -> None:
    """Write the flow times of jobs by release; `left` is their areas, and is used up.

    `rates` are the gangs and `most` the quota in the unit of GPUs that makes all of them whole. The
    queue is always by (area left, place): those at its front have their gangs, the last of them
    what is left of the quota, until one arrives or is complete.
    """
    queue = [0][:0]
    come, now = 0, releases[0]
    while come < len(releases) or len(queue) > 0:
        if len(queue) == 0:
            now = releases[come]
        while come < len(releases) and releases[come] <= now:
            low, high = 0, len(queue)
            while low < high:
                middle = (low + high) // 2
                if left[queue[middle]] <= left[come]:
                    low = middle + 1
                else:
                    high = middle
            queue.insert(low, come)
            come += 1
        served, room = 0, most
        step = -1
        while served < len(queue) and room > 0:
            rate = min(rates[queue[served]], room)
            needed = -(-left[queue[served]] // rate)
            if step < 0 or needed < step:
                step = needed
            room -= rate
            served += 1
        if come < len(releases):
            step = min(step, releases[come] - now)
        now += step
        kept, room = 0, most
        for i in range(served):
            job = queue[i]
            rate = min(rates[job], room)
            room -= rate
            left[job] -= rate * step
            if left[job] <= 0:
                flows[job] = now - releases[job]
                continue
            at = kept
            while at > 0 and (
                left[queue[at - 1]] > left[job]
                or (left[queue[at - 1]] == left[job] and queue[at - 1] > job)
            ):
                queue[at] = queue[at - 1]
                at -= 1
            queue[at] = job
            kept += 1
        for _ in range(served - kept):
            queue.pop(kept)
