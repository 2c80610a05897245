"""How much of what trades could gain is gained: on random markets, by rule and number of users.

Beyond Chaudhary et al. (EuroSys 2020), who compare trading with no trading only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from ....formulations.gandiva_fair.problem import GpuMarket
from ....instances.arrays import Floats
from ....instances.heterogeneous import random_market
from ....solvers.gandiva_fair.market import best_allocation
from ....solvers.gandiva_fair.trading import PriceRule, TradingParams, traded_allocation

#: GPU models that a market has, slow to fast
MODEL_SETS = (("k80", "v100"), ("k80", "p100", "v100"), ("k80", "p40", "p100", "v100"))
USERS = (3, 5, 10, 20)
#: price rules of trading, and the equilibrium
RULES = ("second", "midpoint", "second-of-all", "nash")
#: a market in which less than this part of the total can be gained has no surplus to speak of
NOTHING = 1e-6


def captured(market: GpuMarket, rules: Sequence[str] = RULES) -> Floats | None:
    """Return what each rule captures of the surplus, and of the total, and its least gain.

    Examples
    --------
    Table 3: 20 of 23.75, and nobody gains less than nothing.

    >>> market = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
    >>> captured(market, ["second"]).round(3).tolist()
    [[0.842, 0.972, 1.0]]
    """
    due = market.fair_values
    best = best_allocation(market).objective
    assert best is not None
    if best - due.sum() <= NOTHING * best:
        return None
    rows = []
    for rule in rules:
        values = _values(market, rule)
        part = (values.sum() - due.sum()) / (best - due.sum())
        rows.append((part, values.sum() / best, (values / due).min()))
    return np.array(rows)


def _values(market: GpuMarket, rule: str) -> Floats:
    if rule == "nash":
        result = best_allocation(replace(market, aim="nash"))
    else:
        result = traded_allocation(market, params=TradingParams(price=cast("PriceRule", rule)))
    assert result.solution is not None
    return market.values(result.solution)


def surplus_of(
    models: tuple[str, ...],
    users: int,
    *,
    rules: Sequence[str] = RULES,
    markets: int = 200,
    seed: int = 0,
) -> dict[str, dict[str, float]]:
    """Say what each rule captures of the surplus on random markets of so many users.

    Parameters
    ----------
    models : tuple of str
    users : int
    rules : sequence of str
        Price rules of trading, or "nash".
    markets, seed : int
        How many, and the seed of the first one.

    Returns
    -------
    dict of str to dict
        By rule, of (sum U - sum f) / (largest sum - sum f): mean, least, and standard error of the
        mean; total: mean of sum U / largest sum; worst: mean of the smallest U_u / f_u.

    Notes
    -----
    The surplus is what the linear program gains over fair shares, with nobody below them. The mean
    is that of the markets' parts. Markets are those of
    :func:`~gangsched.instances.heterogeneous.random_market`: a family of Table 1 for each user,
    tickets of 1, 2 or 4, and noise of 3 % on each speed.

    Examples
    --------
    >>> own = surplus_of(("k80", "v100"), 3, rules=["second"], markets=5)["second"]
    >>> 0 < own["least"] < own["mean"] < 1
    True
    """
    if markets < 1:
        raise ValueError(f"surplus: markets={markets}, not at least 1")
    found: list[Floats] = []
    for at in range(seed, seed + 10 * markets):
        drawn = random_market(users, models=models, seed=at)
        one = captured(GpuMarket(drawn.gpus, drawn.speeds, tickets=drawn.tickets), rules)
        found += [] if one is None else [one]
        if len(found) == markets:
            break
    if not found:
        raise ValueError(f"surplus: {users} users of {models!r} have nothing to gain")
    parts, totals, worst = np.array(found).transpose(2, 1, 0)
    return {
        rule: {
            "mean": float(part.mean()),
            "least": float(part.min()),
            "error": float(part.std() / np.sqrt(len(part))),
            "total": float(total.mean()),
            "worst": float(least.mean()),
        }
        for rule, part, total, least in zip(rules, parts, totals, worst, strict=True)
    }
