"""Small markets of GPUs for the claims on trading: drawn, and told falsely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....formulations.gandiva_fair.problem import GpuMarket
from ....instances.arrays import Floats
from ....solvers.gandiva_fair.trading import PriceRule, Trade, Trading, trade

Rng = np.random.Generator
#: speeds above the slowest model's that users draw from, before noise
SPEEDS = (1.0, 1.25, 1.4, 2.0, 3.0, 5.0, 6.25)


#: slow GPUs of a bidder in an auction: enough for a fast one at any ratio
SLOW = 100.0


def two_models(slow: int, fast: int, ratios: Sequence[float], **more: Any) -> GpuMarket:
    """Return a market of two models; users have speed 1 on the slow one.

    Examples
    --------
    >>> two_models(60, 12, [1.25, 5, 6.25]).fair_values.tolist()
    [25.0, 40.0, 45.0]
    """
    speeds = np.array([[1.0, r] for r in ratios])
    return GpuMarket(np.array([slow, fast]), speeds, **more)


def draw_market(
    rng: Rng, *, users: int = 6, models: int = 4, demand: bool = False, k80: bool = False
) -> GpuMarket:
    """Return a random market of up to so many users and models."""
    n, m = int(rng.integers(1, users + 1)), int(rng.integers(2, models + 1))
    speeds = np.sort(rng.choice(SPEEDS, size=(n, m)), axis=1)
    if rng.integers(2):
        speeds *= np.exp(0.03 * rng.standard_normal((n, m)))
    if k80:
        speeds[:, 0] = 1.0
    gpus = rng.integers(1, 40, size=m)
    due = gpus.sum() / n
    limits = np.where(rng.integers(2, size=n), np.inf, due * rng.choice([0.2, 0.8, 1, 1.5], size=n))
    tickets = rng.choice([1.0, 2.0, 4.0], size=n)
    return GpuMarket(gpus, speeds, tickets=tickets, demand=np.where(demand, limits, np.inf))


def usable(market: GpuMarket, shares: Floats) -> Floats:
    """Return what each user's GPUs are worth to it if it can use no more than its demand.

    Notes
    -----
    It uses its fastest GPUs.

    Examples
    --------
    >>> market = two_models(1, 1, [2], demand=[1.5])
    >>> usable(market, np.array([[1.0, 1.0]])).tolist()
    [2.5]
    """
    worth = []
    for row, speeds, left in zip(shares, market.speeds, market.demand, strict=True):
        value = 0.0
        for g in np.argsort(-speeds, kind="stable"):
            used = min(row[g], left)
            value, left = value + used * speeds[g], left - used
        worth.append(value)
    return np.array(worth)


def gains(market: GpuMarket, trades: Sequence[Trade]) -> Iterator[tuple[float, float]]:
    """Yield what each trade is worth to its buyer and to its seller, in units of speed 1."""
    for t in trades:
        bought, sold = market.speeds[t.buyer], market.speeds[t.seller]
        yield (
            float(t.amount * bought[t.fast] - t.paid * bought[t.slow]),
            float(t.paid * sold[t.slow] - t.amount * sold[t.fast]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Lie:
    """A market, and what one of its users reports.

    Parameters
    ----------
    market : GpuMarket
        With true speeds.
    user : int
    told : tuple of float
        The speeds that it reports, by model.
    real : bool
        Whether its jobs really run at these speeds.
    price : str
        How trades are priced.
    """

    market: GpuMarket
    user: int
    told: tuple[float, ...]
    real: bool = False
    price: PriceRule = "second"

    def outcome(self, *, honest: bool) -> Trading:
        """Return what is traded, by the truth or by the report."""
        speeds = np.array(self.market.speeds)
        if not honest:
            speeds[self.user] = self.told
        return trade(self.market.fair_shares, speeds, demand=self.market.demand, price=self.price)

    def values(self) -> tuple[float, float]:
        """Return what the user gets by the report, and by the truth."""
        truth = self.market.speeds[self.user]
        false = np.array(self.told) if self.real else truth
        lied, honest = (self.outcome(honest=h).shares[self.user] for h in (False, True))
        return float(lied @ false), float(honest @ truth)


def draw_lie(rng: Rng, *, real: bool = False, price: PriceRule = "second") -> Lie:
    """Return a random market of two models with a random report."""
    market = draw_market(rng, models=2, k80=True)
    user = int(rng.integers(len(market.users)))
    other = market.speeds[int(rng.integers(len(market.users))), 1]
    ratio = float(other * rng.choice([0.5, 0.999, 1.001, 1.5]))
    true = market.speeds[user, 1]
    slow = true / ratio if real and ratio > true else 1.0
    return Lie(market, user, (slow, ratio * slow), real, price)


@dataclass(frozen=True, slots=True, eq=False)
class Auction:
    """One seller of at most one fast GPU, bidders that can pay all of it, and what one reports.

    Parameters
    ----------
    ratios : tuple of float
        True ones; the seller's first.
    fast : float
        GPUs that the seller has.
    user : int
        Who reports another ratio; not the seller.
    told : float
    """

    ratios: tuple[float, ...]
    fast: float
    user: int
    told: float

    def value(self, *, honest: bool) -> float:
        """Return what the user gets by the truth, or by its report."""
        told = list(self.ratios)
        if not honest:
            told[self.user] = self.told
        shares = [[0.0, self.fast], *([SLOW, 0.0] for _ in told[1:])]
        done = trade(shares, [[1.0, r] for r in told])
        return float(done.shares[self.user] @ [1.0, self.ratios[self.user]])
