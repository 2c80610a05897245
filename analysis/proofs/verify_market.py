"""Replay what prices of GPUs prove of a market, in rationals; measure how optimal they are.

Fair shares are computed again; logarithms are rounded up. Nothing of the solvers is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from ...formulations.gandiva_fair.problem import GpuMarket
from ...instances.schedule import Allocation
from .readers import numbers

__all__ = ["gpu_prices", "kkt_residual"]

#: digits of logarithms
DIGITS = 40


def gpu_prices(problem: GpuMarket, certificate: Mapping[str, Any]) -> Fraction:
    """Return what prices prove of a market's objective: no allocation has a larger one.

    Notes
    -----
    For every x with sum_u x_ug <= N_g and sum_g x_ug <= cap_u, and P := pi N + sum_u mu_u cap_u,

        sum_ug (pi_g + mu_u) x_ug <= P.

    - "total": let pi_g + mu_u >= (1 + nu_u) S_ug. With U_u >= f_u,
      sum U_u <= sum U_u + sum nu_u (U_u - f_u) <= P - sum nu_u f_u.
    - "max-min": let pi_g + mu_u >= nu_u S_ug. With U_u >= z f_u, z sum nu_u f_u <= sum nu_u U_u
      <= P.
    - "nash": let beta_u be the largest S_ug / (pi_g + mu_u), w_u = t_u / sum t. Then U_u <= beta_u
      m_u with m_u := sum_g (pi_g + mu_u) x_ug, and as log m <= log w + m / w - 1 for m, w > 0,
      sum w_u log U_u <= sum w_u log(w_u beta_u) + P - 1.

    Logarithms are those of :mod:`decimal`, which are rounded correctly: of a quotient that has been
    rounded up, and then one digit up. O(users models) rational operations.

    Examples
    --------
    >>> market = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
    >>> prices = {"prices": [1.25, 6.25], "floors": [0.25, 0.25, 0.0], "caps": [0.0, 0.0, 0.0]}
    >>> float(gpu_prices(market, prices))
    133.75
    """
    case = _Case.of(problem, certificate)
    if problem.aim == "nash":
        return _nash(case)
    slopes = [floor + (problem.aim == "total") for floor in case.floors]
    for u, (slope, row) in enumerate(zip(slopes, case.speeds, strict=True)):
        for g, speed in enumerate(row):
            if case.price(u, g) < slope * speed:
                raise ValueError(
                    f"prices: {float(case.price(u, g))} for user {problem.users[u]!r} and model "
                    f"{problem.models[g]!r} is below {float(slope * speed)}, what it gains"
                )
    due = sum(floor * f for floor, f in zip(case.floors, case.fair, strict=True))
    if problem.aim == "total":
        return case.spent - due
    if not due:
        raise ValueError("floors are all 0, which proves nothing of the least ratio")
    return case.spent / due


def kkt_residual(
    problem: GpuMarket, allocation: Allocation, certificate: Mapping[str, Any]
) -> float:
    """Return how far an allocation and prices are from proving each other optimal.

    Notes
    -----
    In rationals; none of it depends on the units of speeds, tickets or prices but by the aim.

    Examples
    --------
    >>> market = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
    >>> best = Allocation(market.users, market.models, [[25, 0], [35, 1], [0, 11]])
    >>> prices = {"prices": [1.25, 6.25], "floors": [0.25, 0.25, 0.0], "caps": [0.0, 0.0, 0.0]}
    >>> kkt_residual(market, best, prices)
    0.0
    >>> kkt_residual(market, market.fair(), prices)
    0.15833333333333333
    """
    case = _Case.of(problem, certificate)
    shares = [[Fraction(x) for x in row] for row in allocation.shares.tolist()]
    values = [
        sum(s * x for s, x in zip(*rows, strict=True))
        for rows in zip(case.speeds, shares, strict=True)
    ]
    if not case.spent or (problem.aim == "nash" and not all(values)):
        return math.inf
    used = [sum(column) for column in zip(*shares, strict=True)]
    held = [sum(row) for row in shares]
    worst = max(
        *(u / n - 1 for u, n in zip(used, case.gpus, strict=True)),
        *(h / c - 1 for h, c in zip(held, case.caps, strict=True) if c is not None),
        Fraction(0),
    )
    level = min(v / f for v, f in zip(values, case.fair, strict=True))
    if problem.aim == "total":
        level = Fraction(1)
        worst = max(worst, *(1 - v / f for v, f in zip(values, case.fair, strict=True)))
    left = sum(p * (n - u) for p, n, u in zip(case.prices, case.gpus, used, strict=True))
    left += sum(
        m * (c - h) for m, c, h in zip(case.mu, case.caps, held, strict=True) if c is not None
    )
    rows = zip(case.floors, values, case.fair, strict=True)
    left += sum(floor * (v - level * f) for floor, v, f in rows)
    for u, slope in enumerate(_slopes(case, values)):
        for g, speed in enumerate(case.speeds[u]):
            short = slope * speed - case.price(u, g)
            if short > 0:
                worst = max(worst, short / (slope * speed))
            left -= short * shares[u][g]
    return float(max(worst, abs(left) / case.spent))


def _slopes(case: _Case, values: list[Any]) -> list[Any]:
    """What a unit of value is worth of each user, in units of the prices."""
    if case.problem.aim == "nash":
        return [w / value for w, value in zip(case.weights, values, strict=True)]
    return [floor + (case.problem.aim == "total") for floor in case.floors]


def _nash(case: _Case) -> Fraction:
    up = Context(prec=DIGITS, rounding=ROUND_CEILING)
    total = case.spent - 1
    for u, (weight, row) in enumerate(zip(case.weights, case.speeds, strict=True)):
        best = Fraction(0)
        for g, speed in enumerate(row):
            if speed and not case.price(u, g):
                raise ValueError(
                    f"prices: user {case.problem.users[u]!r} pays nothing for model "
                    f"{case.problem.models[g]!r}, which it can use"
                )
            best = max(best, speed / case.price(u, g) if speed else best)
        quotient = up.divide(
            Decimal((weight * best).numerator), Decimal((weight * best).denominator)
        )
        total += weight * Fraction(up.next_plus(up.ln(quotient)))
    return total


class _Case(NamedTuple):
    """Market and prices as rationals; a cap is None for no limit."""

    problem: GpuMarket
    gpus: list[int]
    speeds: list[list[Fraction]]
    weights: list[Fraction]
    caps: list[Fraction | None]
    fair: list[Fraction]
    prices: list[Fraction]
    floors: list[Fraction]
    mu: list[Fraction]

    @classmethod
    def of(cls, problem: GpuMarket, certificate: Mapping[str, Any]) -> _Case:
        """Check the fields of a certificate."""
        tickets = [Fraction(float(t)) for t in problem.tickets]
        caps = [None if math.isinf(c) else Fraction(c) for c in problem.demand.tolist()]
        gpus = [int(n) for n in problem.gpus]
        speeds = [[Fraction(s) for s in row] for row in problem.speeds.tolist()]
        mu = numbers(certificate.get("caps"), "caps", count=len(caps))
        for user, price, cap in zip(problem.users, mu, caps, strict=True):
            if price and cap is None:
                raise ValueError(f"caps: {float(price)} for user {user!r}, who has no cap")
        shares = _fair_shares(tickets, caps, sum(gpus))
        values = [
            sum((s * n for s, n in zip(row, gpus, strict=True)), Fraction(0)) for row in speeds
        ]
        return cls(
            problem=problem, gpus=gpus, speeds=speeds, caps=caps, mu=mu,
            weights=[t / sum(tickets, Fraction(0)) for t in tickets],
            fair=[x * v / sum(gpus) for x, v in zip(shares, values, strict=True)],
            prices=numbers(certificate.get("prices"), "prices", count=len(gpus)),
            floors=numbers(certificate.get("floors"), "floors", count=len(caps)),
        )  # fmt: skip

    def price(self, user: int, model: int) -> Fraction:
        """pi_g + mu_u."""
        return self.prices[model] + self.mu[user]

    @property
    def spent(self) -> Fraction:
        """P, what all GPUs and caps are worth."""
        every = sum(p * n for p, n in zip(self.prices, self.gpus, strict=True))
        return Fraction(every) + sum(
            m * c for m, c in zip(self.mu, self.caps, strict=True) if c is not None
        )


def _fair_shares(
    tickets: list[Fraction], caps: list[Fraction | None], total: int
) -> list[Fraction]:
    """Effective tickets: users whose cap is below their part of what is left get the cap, again."""
    shares: dict[int, Fraction] = {}
    while len(shares) < len(tickets):
        rest = [u for u in range(len(tickets)) if u not in shares]
        rate = (total - sum(shares.values())) / sum((tickets[u] for u in rest), Fraction(0))
        full = {u: cap for u in rest if (cap := caps[u]) is not None and cap <= rate * tickets[u]}
        shares |= full or {u: rate * tickets[u] for u in rest}
    return [shares[u] for u in range(len(tickets))]
