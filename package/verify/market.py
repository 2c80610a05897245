"""Bounds of a market of GPU models (Gandiva_fair): what prices prove.

N_g GPUs of model g are worth S_ug each to user u, who has t_u tickets and can use cap_u GPUs. A
fair share is a user's part by tickets of each model, where users who cannot use theirs leave it to
the others; it is worth f_u. With prices pi_g >= 0 ("prices"), mu_u >= 0 of caps ("caps") and
nu_u >= 0 ("floors"), and P = sum pi_g N_g + sum mu_u cap_u, any allocation x within supplies and
caps has sum (pi_g + mu_u) x_ug <= P. So, with U_u = sum_g S_ug x_ug,

- "total": sum U_u <= P - sum nu_u f_u, if pi_g + mu_u >= (1 + nu_u) S_ug, as U_u >= f_u;
- "max-min": min U_u / f_u <= P / sum nu_u f_u, if pi_g + mu_u >= nu_u S_ug;
- "nash": sum w_u log U_u <= sum w_u log(w_u b_u) + P - 1 for w_u = t_u / sum t and b_u the largest
  S_ug / (pi_g + mu_u), as U_u <= b_u m for what u pays, and log m <= log w + m / w - 1.

Numbers are rationals, floats meant exactly; logarithms are rounded up. O(users models).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from .fields import BadFile, Refused, lists, one_of
from .kernels import ReadProblem

#: digits of logarithms
DIGITS = 40


class MarketProblem(ReadProblem):
    """What the rule needs of a problem."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        given = data.get("market")
        if not isinstance(given, Mapping):
            raise BadFile("the problem has no market")
        self.aim = one_of(given, "aim", ("total", "max-min", "nash"))
        try:
            self.gpus = [Fraction(n) for n in given["gpus"]]
            self.speeds = [[Fraction(s) for s in row] for row in given["speeds"]]
            self.tickets = [Fraction(t) for t in given["tickets"]]
            self.caps = [None if c is None else Fraction(c) for c in given["demand"]]
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise BadFile(f"market: {error!r}") from None
        users, models = len(self.tickets), len(self.gpus)
        if not len(self.speeds) == len(self.caps) == users or any(
            len(row) != models for row in self.speeds
        ):
            raise BadFile(f"market: speeds and caps are not of {users} users and {models} models")

    def fair(self) -> list[Fraction]:
        """f_u: users whose caps are below their part of what is left get them, again and again."""
        total = sum(self.gpus, Fraction(0))
        open_ = set(range(len(self.tickets)))
        share, left = dict[int, Fraction](), total
        while open_:
            rate = left / sum(self.tickets[u] for u in open_)
            full = {u for u in open_ if self._full(u, rate)}
            for u in full or open_:
                cap = self.caps[u]
                share[u] = cap if full and cap is not None else rate * self.tickets[u]
            open_ -= full or open_
            left = total - sum(share.values())
        worths = (sum(s * n for s, n in zip(r, self.gpus, strict=True)) for r in self.speeds)
        return [share[u] / total * worth for u, worth in enumerate(worths)]

    def _full(self, user: int, rate: Fraction) -> bool:
        cap = self.caps[user]
        return cap is not None and cap <= rate * self.tickets[user]


def gpu_prices(market: MarketProblem, certificate: Mapping[str, Any]) -> Fraction:
    """No allocation is worth more than what it can pay for."""
    prices = _numbers(certificate, "prices", len(market.gpus), "models")
    mu = _numbers(certificate, "caps", len(market.caps), "users")
    nu = _numbers(certificate, "floors", len(market.caps), "users")
    spent = sum((p * n for p, n in zip(prices, market.gpus, strict=True)), Fraction(0))
    for u, (price, cap) in enumerate(zip(mu, market.caps, strict=True)):
        if price and cap is None:
            raise Refused(f"caps: {float(price)} for user {u}, who has no cap")
        spent += price * (cap or 0)
    if market.aim == "nash":
        return _nash(market, prices, mu, spent)
    for u, row in enumerate(market.speeds):
        gain = nu[u] + (market.aim == "total")
        for g, (price, speed) in enumerate(zip(prices, row, strict=True)):
            if price + mu[u] < gain * speed:
                raise Refused(
                    f"prices: {float(price + mu[u])} for user {u} and model {g} is below "
                    f"{float(gain * speed)}, what it gains"
                )
    due = sum((n * f for n, f in zip(nu, market.fair(), strict=True)), Fraction(0))
    if market.aim == "total":
        return spent - due
    if not due:
        raise Refused("floors are all 0, which proves nothing of the least ratio")
    return spent / due


def _nash(
    market: MarketProblem, prices: list[Fraction], mu: list[Fraction], spent: Fraction
) -> Fraction:
    up = Context(prec=DIGITS, rounding=ROUND_CEILING, Emin=-999)  # above 0: not a million digits
    every, total = sum(market.tickets), spent - 1
    for u, row in enumerate(market.speeds):
        paid = [(p + mu[u], speed) for p, speed in zip(prices, row, strict=True) if speed]
        if not all(price for price, _ in paid):
            raise Refused(f"prices: user {u} pays nothing for one of the models that it can use")
        weight = market.tickets[u] / every
        top = weight * max(speed / price for price, speed in paid)
        log = up.ln(up.divide(Decimal(top.numerator), Decimal(top.denominator)))
        total += weight * Fraction(up.next_plus(log))
    return total


def _numbers(certificate: Mapping[str, Any], name: str, count: int, what: str) -> list[Fraction]:
    values = lists(certificate.get(name), name, count, what)
    for k, value in enumerate(values):
        real = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not real or not 0 <= value <= sys.float_info.max:
            raise Refused(f"{name}[{k}]={value!r} is not a finite number >= 0")
    return [Fraction(value) for value in values]


RULES = {"gpu prices": gpu_prices}
