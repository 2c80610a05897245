"""Compiled loop of :mod:`gangsched.solvers.trading`: finds one trade after the other.

For each pair of models users are sorted by ratio once. Positions before which nobody has GPUs are
kept, so that a search begins where the last one ended.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._compiled import compiled, inlined

__all__ = ["BUYER", "MIDPOINT", "SECOND", "SECOND_OF_ALL", "SELLER", "TINY", "run_trades"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: price rules
SECOND, SECOND_OF_ALL, MIDPOINT, SELLER, BUYER = range(5)
#: what is less is no holding, and no room
TINY = 1e-9
#: what differs by less from all that a buyer has is all
TINY_PART = 1e-12


@inlined
def _next(order: Ints, held: Floats, at: int) -> Any:
    """First position from `at` on of a user that has GPUs."""
    while at < len(order) and held[order[at]] <= TINY:
        at += 1
    return at


@inlined
def _price(rule: int, second: float, low: float, high: float) -> Any:
    """Slow GPUs for one fast GPU; `low` is the seller's ratio and `high` the buyer's."""
    if rule <= SECOND_OF_ALL and second > low:
        return second
    if rule == SELLER:
        return low
    if not np.isfinite(high):
        return max(low, 1.0)
    return high if rule == BUYER else (low + high) / 2


@inlined
def _second_bid(order: Ints, ratio: Floats, held: Floats, at: int, b: int, a: int) -> Any:
    """The largest finite ratio from `at` on of another bidder; 0 if there is none."""
    while at < len(order):
        u = order[at]
        if u not in (a, b) and held[u] > TINY and np.isfinite(ratio[u]):
            return ratio[u]
        at += 1
    return 0.0


@inlined
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


@inlined
def _deal(
    bidders: Ints,
    sellers: Ints,
    first: Ints,
    ratio: Floats,
    fast: Floats,
    slow: Floats,
    bids: Floats,
    room: Floats,
    rule: int,
    margin: float,
) -> Any:
    """The trade of a pair of models: buyer, seller, amount and price; a buyer of -1 if none.

    `first` are the positions at which the searches begin; whoever comes before has no GPUs.
    """
    first[0] = _next(bidders, slow, first[0])
    first[1] = _next(sellers, fast, first[1])
    i, j = first
    while i < len(bidders) and j < len(sellers):
        b, a = bidders[i], sellers[j]
        if not ratio[b] - ratio[a] > margin:
            break
        second = 0.0
        if rule == SECOND:
            second = _second_bid(bidders, ratio, slow, i + 1, b, a)
        elif rule == SECOND_OF_ALL:
            second = _second_bid(bidders, ratio, bids, 0, b, a)
        price = _price(rule, second, ratio[a], ratio[b])
        if price > ratio[b]:
            break
        if price > 1 and room[a] <= TINY:
            j = _next(sellers, fast, j + 1)
        elif price < 1 and room[b] <= TINY:
            i = _next(bidders, slow, i + 1)
        else:
            return b, a, _amount(fast[a], slow[b], price, room[b], room[a]), price
    return -1, -1, 0.0, 0.0


@inlined
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
    shares: Floats,
    ratios: Floats,
    room: Floats,
    rule: int,
    margin: float,
    who: Ints,
    what: Floats,
) -> Any:
    """Trade until nobody gains, or until `who` is full; returns the number of trades.

    Parameters
    ----------
    shares : (models, users) float array
        Changed in place.
    ratios : (models, models, users) float array
        Speed on the first model by speed on the second; nan for users that do not take part.
    room : (users,) float array
        Demand less GPUs; changed in place.
    rule : int
        How a price is found.
    margin : float
        What the ratios of buyer and seller must differ by, at least.
    who : (n, 4) int array
        Out: buyer, seller, fast and slow model of each trade.
    what : (n, 2) float array
        Out: amount and price.
    """
    models, users = shares.shape
    pairs = models * models
    bidders = np.empty((pairs, users), np.int64)
    sellers = np.empty((pairs, users), np.int64)
    known = np.empty(pairs, np.int64)
    for f in range(models):
        for s in range(f):
            k, ratio = f * models + s, ratios[f, s]
            sellers[k] = np.argsort(ratio, kind="mergesort")  # nan last
            bidders[k] = np.argsort(-ratio, kind="mergesort")
            known[k] = users - np.isnan(ratio).sum()
    first = np.zeros((pairs, 2), np.int64)
    everybody = np.ones(users)
    for n in range(len(who)):
        gain = margin
        b = a = fast = slow = -1
        amount = price = 0.0
        for f in range(models - 1, 0, -1):
            for s in range(f):
                k = f * models + s
                x, y, q, p = _deal(
                    bidders[k, : known[k]],
                    sellers[k, : known[k]],
                    first[k],
                    ratios[f, s],
                    shares[f],
                    shares[s],
                    everybody,
                    room,
                    rule,
                    margin,
                )
                if q > 0 and ratios[f, s, x] - ratios[f, s, y] > gain:
                    gain = ratios[f, s, x] - ratios[f, s, y]
                    b, a, fast, slow, amount, price = x, y, f, s, q, p
        if b < 0:
            return n
        who[n, 0], who[n, 1], who[n, 2], who[n, 3] = b, a, fast, slow
        what[n, 0], what[n, 1] = amount, price
        _move(shares, room, who[n], amount, price)
        for m in (fast, slow):  # somebody has more of it, to sell or to bid with
            for g in range(m):
                first[m * models + g, 1] = 0
            for g in range(m + 1, models):
                first[g * models + m, 0] = 0
    return len(who)
