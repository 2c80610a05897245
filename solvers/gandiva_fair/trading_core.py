"""Compiled loop of :mod:`gangsched.solvers.gandiva_fair.trading`: finds one trade after the other.

For each pair of models users are sorted by ratio once. Positions before which nobody has GPUs are
kept, so that a search begins where the last one ended.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner

#: price rules
SECOND, SECOND_OF_ALL, MIDPOINT, SELLER, BUYER = range(5)
#: what the ratios of buyer and seller differ by, at least
MARGIN = 1e-9
#: what differs by less from all that a buyer has is all
TINY_PART = 1e-12


@inner
def _next(order: Ints, held: Floats, need: Floats, at: int) -> Any:
    """First position from `at` on of a user that has enough GPUs."""
    while at < len(order) and held[order[at]] < need[order[at]]:
        at += 1
    return at


@inner
def _price(rule: int, second: float, low: float, high: float) -> Any:
    """Slow GPUs for one fast GPU; `low` is the seller's ratio and `high` the buyer's."""
    if rule <= SECOND_OF_ALL and second > low:
        return second
    if rule == SELLER:
        return low
    if not np.isfinite(high):
        return max(low, 1.0)
    return high if rule == BUYER else (low + high) / 2


@inner
def _second_bid(order: Ints, ratio: Floats, held: Floats, need: Floats, b: int, a: int) -> Any:
    """The largest finite ratio of another user that has enough GPUs; 0 without any."""
    for u in order:
        if u not in (a, b) and held[u] >= need[u] and np.isfinite(ratio[u]):
            return ratio[u]
    return 0.0


@inner
def _amount(fast: float, slow: float, price: float, room_b: float, room_a: float) -> Any:
    """Fast GPUs of one trade: what seller and buyer have and have room for, at most one."""
    q = min(1.0, fast)
    if price > 0:
        q = min(q, slow / price)
    if price > 1:
        q = min(q, room_a / (price - 1))
    elif price < 1:
        q = min(q, room_b / (1 - price))
    return q


@inner
def _deal(
    bidders: Ints, sellers: Ints, first: Ints, ratio: Floats, fast: Floats, slow: Floats,
    need: Floats, leasts: Floats, room: Floats, rule: int,
) -> Any:  # fmt: skip
    """The trade of a pair of models: buyer, seller, amount and price; a buyer of -1 if none.

    `first` are the positions at which the searches begin; whoever comes before has too few GPUs.
    """
    first[0] = _next(bidders, slow, need, first[0])
    first[1] = _next(sellers, fast, leasts, first[1])
    i, j = first
    while i < len(bidders) and j < len(sellers):
        b, a = bidders[i], sellers[j]
        if not ratio[b] - ratio[a] > MARGIN:
            break
        second = 0.0
        if rule == SECOND:
            second = _second_bid(bidders[i:], ratio, slow, need, b, a)
        elif rule == SECOND_OF_ALL:
            second = _second_bid(bidders, ratio, ratio, ratio, b, a)  # all have enough
        price = _price(rule, second, ratio[a], ratio[b])
        if price > ratio[b]:
            break
        if price > 1 and room[a] < leasts[a] * (price - 1):
            j = _next(sellers, fast, leasts, j + 1)
        elif price < 1 and room[b] < leasts[b] * (1 - price):
            i = _next(bidders, slow, need, i + 1)
        else:
            return b, a, _amount(fast[a], slow[b], price, room[b], room[a]), price
    return -1, -1, 0.0, 0.0


@inner
def _move(shares: Floats, room: Floats, who: Ints, amount: float, price: float) -> Any:
    """Carry out a trade; who pays all it has keeps exactly 0."""
    b, a, fast, slow = who
    paid = amount * price
    if abs(shares[slow, b] - paid) <= TINY_PART * paid:
        paid = shares[slow, b]
    shares[fast, b] += amount
    shares[fast, a] -= amount
    shares[slow, b] -= paid
    shares[slow, a] += paid
    room[b] += paid - amount
    room[a] += amount - paid


@compiled
def run_trades(
    shares: Floats, ratios: Floats, room: Floats, rule: int, least: float, who: Ints, what: Floats
) -> Any:
    """Trade until nobody gains, or until `who` is full; returns the number of trades."""
    models, users = shares.shape
    bidders = np.empty((models, models, users), np.int64)
    sellers = np.empty((models, models, users), np.int64)
    known = np.empty((models, models), np.int64)
    leasts = np.full(users, least)
    need = np.empty((models, models, users))
    for f in range(models):
        for s in range(f):
            ratio = ratios[f, s]
            sellers[f, s] = np.argsort(ratio, kind="mergesort")  # nan last
            bidders[f, s] = np.argsort(-ratio, kind="mergesort")
            known[f, s] = users - np.isnan(ratio).sum()
            need[f, s] = least * np.where(np.isfinite(ratio), ratio, 1.0)
    first = np.zeros((models, models, 2), np.int64)
    for n in range(len(who)):
        gain = MARGIN
        b = a = fast = slow = -1
        amount = price = 0.0
        for f in range(models - 1, 0, -1):
            for s in range(f):
                m = known[f, s]
                x, y, q, p = _deal(
                    bidders[f, s, :m], sellers[f, s, :m], first[f, s], ratios[f, s],
                    shares[f], shares[s], need[f, s], leasts, room, rule,
                )  # fmt: skip
                if x >= 0 and ratios[f, s, x] - ratios[f, s, y] > gain:
                    gain = ratios[f, s, x] - ratios[f, s, y]
                    b, a, fast, slow, amount, price = x, y, f, s, q, p
        if b < 0:
            return n
        who[n, 0], who[n, 1], who[n, 2], who[n, 3] = b, a, fast, slow
        what[n, 0], what[n, 1] = amount, price
        _move(shares, room, who[n], amount, price)
        for g in (fast, slow):  # somebody has more of it, to sell or to bid with
            first[g, :g, 1] = 0
            first[g + 1 :, g, 0] = 0
    return len(who)
