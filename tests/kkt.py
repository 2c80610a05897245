"""How far an allocation of a market and prices are from proving each other optimal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from gangsched.analysis.proofs.problem_data import data_of
from gangsched.formulations.gandiva_fair.problem import GpuMarket
from gangsched.instances import Allocation
from gangsched.verify.market import MarketProblem


def kkt_residual(
    market: GpuMarket, allocation: Allocation, certificate: Mapping[str, Any]
) -> float:
    """The largest relative violation of feasibility, dual feasibility and complementarity.

    In rationals; none of it depends on the units of speeds, tickets or prices but by the aim.
    """
    read = MarketProblem(data_of(market))
    fair, caps, total = read.fair(), read.caps, market.aim == "total"
    prices, floors, mu = (
        [Fraction(value) for value in certificate[name]] for name in ("prices", "floors", "caps")
    )
    shares = [[Fraction(x) for x in row] for row in allocation.shares.tolist()]
    values = [
        sum(s * x for s, x in zip(*rows, strict=True))
        for rows in zip(read.speeds, shares, strict=True)
    ]
    spent = sum(p * n for p, n in zip(prices, read.gpus, strict=True))
    spent += sum(m * c for m, c in zip(mu, caps, strict=True) if c is not None)
    if not spent or (market.aim == "nash" and not all(values)):
        return math.inf
    used = [sum(column) for column in zip(*shares, strict=True)]
    held = [sum(row) for row in shares]
    worst = max(
        *(u / n - 1 for u, n in zip(used, read.gpus, strict=True)),
        *(h / c - 1 for h, c in zip(held, caps, strict=True) if c is not None),
        Fraction(0),
    )
    level = min(v / f for v, f in zip(values, fair, strict=True))
    if total:
        level = Fraction(1)
        worst = max(worst, *(1 - v / f for v, f in zip(values, fair, strict=True)))
    left = sum(p * (n - u) for p, n, u in zip(prices, read.gpus, used, strict=True))
    left += sum(m * (c - h) for m, c, h in zip(mu, caps, held, strict=True) if c is not None)
    left += sum(n * (v - level * f) for n, v, f in zip(floors, values, fair, strict=True))
    slopes = [floor + total for floor in floors]  # what a unit of value is worth of each user
    if market.aim == "nash":
        every = sum(read.tickets)
        slopes = [t / every / value for t, value in zip(read.tickets, values, strict=True)]
    for u, slope in enumerate(slopes):
        for g, speed in enumerate(read.speeds[u]):
            short = slope * speed - prices[g] - mu[u]
            if short > 0:
                worst = max(worst, short / (slope * speed))
            left -= short * shares[u][g]
    return float(max(worst, abs(left) / spent))
