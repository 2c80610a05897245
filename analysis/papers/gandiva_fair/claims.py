"""The claims of Chaudhary et al. (EuroSys 2020) on trading GPUs, Sections 3.4 and 3.5, and ours.

Symbols: X_ug GPUs of model g that user u has, S_ug its speed there, U_u = sum_g S_ug X_ug, f_u the
same of its fair share, r_u = S_uf / S_us its ratio for a pair of models, b the buyer of fast GPUs,
a the seller, p the price, q the fast GPUs of a trade.

Sides of a comparison are floats: what must hold exactly is given 1e-9 of a relative rounding error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....formulations.gandiva_fair.problem import GpuMarket
from ....solvers.gandiva_fair.market import best_allocation
from ....solvers.gandiva_fair.trading import Trade, trade, traded_allocation
from ....solvers.gandiva_fair.trading_core import MARGIN
from ..claim import Sides, claims_of, nearest
from .tiny import SPEEDS, Auction, Lie, gains, two_models, usable

PAPER = "Chaudhary et al. 2020"
Rng = np.random.Generator
#: relative rounding
ROUNDING = 1e-9
#: of a trade, in GPUs
LEAST = 1e-3


def table_3() -> GpuMarket:
    """Return the market of Table 3.

    Examples
    --------
    >>> table_3().fair_values.tolist()
    [25.0, 40.0, 45.0]
    """
    return two_models(60, 12, (1.25, 5, 6.25), users="ABC")


def _worst(values: np.ndarray, due: np.ndarray) -> Sides:
    """Fair value and value of the user that is best off least, by ratio."""
    u = int(np.argmin(values / due))
    return Sides(float(due[u]) * (1 - ROUNDING), float(values[u]))


# --- fair shares ---------------------------------------------------------------------------------


def _traders(market: GpuMarket, trades: Sequence[Trade], *, but: int = -1) -> list[int]:
    """Users that trade; all others have what they began with."""
    both = {user for t in trades for user in (t.buyer, t.seller)}
    return [u for u in range(len(market.users)) if u in both and u != but]


def _fair(market: GpuMarket, *, capped: bool = True) -> Sides | None:
    """f_u and what the worst-off user that trades can use."""
    demand = market.demand if capped else None
    done = trade(market.fair_shares, market.speeds, demand=demand)
    users = _traders(market, done.trades)
    if not users:
        return None
    return _worst(usable(market, done.shares)[users], market.fair_values[users])


def _others(case: Lie) -> Sides | None:
    """f_u and U_u of the worst-off user that trades, liars left out."""
    done = case.outcome(honest=False)
    honest = _traders(case.market, done.trades, but=case.user)
    if not honest:
        return None
    values = (case.market.speeds * done.shares).sum(axis=1)
    return _worst(values[honest], case.market.fair_values[honest])


def _nash(market: GpuMarket) -> Sides:
    """f_u and U_u of the worst-off user in the equilibrium; interior points are near it."""
    best = best_allocation(replace(market, aim="nash")).solution
    assert best is not None
    found = _worst(market.values(best), market.fair_values)
    return Sides(found.left * (1 - 1e-6), found.right)


# --- efficiency and the end ----------------------------------------------------------------------


def _added(market: GpuMarket) -> Sides | None:
    """What the trades add to the sum of all values, and q (r_b - r_a) of all, rounded."""
    done = trade(market.fair_shares, market.speeds, demand=market.demand)
    if not done.trades:
        return None
    before, after = market.fair_values.sum(), (market.speeds * done.shares).sum()
    ratio = market.speeds
    promised = math.fsum(
        t.amount * (ratio[t.buyer, t.fast] / ratio[t.buyer, t.slow])
        - t.amount * (ratio[t.seller, t.fast] / ratio[t.seller, t.slow])
        for t in done.trades
    )
    return Sides(round(float(after - before), 6), round(promised, 6), "==")


def _increase(market: GpuMarket, *, larger: bool = False) -> Sides | None:
    """Q min(S_as, S_bs) (r_b - r_a) > 0 and what a trade adds, of the trade nearest to it.

    With the larger speed for the smaller one if `larger`.
    """
    done, speeds = trade(market.fair_shares, market.speeds, demand=market.demand), market.speeds
    pairs = list[Sides]()
    for t, (bought, sold) in zip(done.trades, gains(market, done.trades), strict=True):
        slow = speeds[[t.buyer, t.seller], t.slow]
        buyer, seller = speeds[[t.buyer, t.seller], t.fast] / slow
        due = t.amount * (slow.max() if larger else slow.min()) * (buyer - seller)
        pairs.append(Sides(float(due) * (1 - ROUNDING), bought + sold))
    return nearest(pairs)


def _few(market: GpuMarket) -> Sides | None:
    """Trades, and fast GPUs + users - 2; None without trades."""
    done = trade(market.fair_shares, market.speeds)
    if not done.trades:
        return None
    return Sides(len(done.trades), int(market.gpus[-1]) + len(market.users) - 2)


def _finite(market: GpuMarket) -> Sides | None:
    """Trades, and all that can be gained by what one adds at least; None without trades."""
    done = trade(market.fair_shares, market.speeds, demand=market.demand, least=LEAST)
    if not done.trades:
        return None
    step, speeds = math.inf, market.speeds
    for f in range(speeds.shape[1]):
        for s in range(f):
            ratio = speeds[:, f] / speeds[:, s]
            apart = ratio[:, None] - ratio[None]
            slower = np.minimum(speeds[:, s, None], speeds[None, :, s])
            step = min(step, (slower * apart)[apart > MARGIN].min(initial=math.inf))
    most = math.fsum(market.gpus * speeds.max(axis=0)) - math.fsum(market.fair_values)
    return Sides(len(done.trades), most / (LEAST * step) if step < math.inf else 0)


def _below_optimum(market: GpuMarket) -> Sides:
    """The totals of trading and of the linear program."""
    traded, best = traded_allocation(market), best_allocation(market)
    assert traded.objective is not None
    assert best.objective is not None
    return Sides(traded.objective * (1 - ROUNDING), best.objective)


def _optimal(market: GpuMarket) -> Sides:
    """The totals of the linear program, less rounding, and of trading."""
    found = _below_optimum(market)
    return Sides(float(found.right) * (1 - 1e-6), found.left)


# --- lies ----------------------------------------------------------------------------------------


def _lying(case: Lie) -> Sides:
    """What the user gets by its report, and by the truth."""
    lied, honest = case.values()
    return Sides(lied * (1 - ROUNDING), honest)


def _auction(case: Auction) -> Sides | None:
    """What a bidder gets by its report, and by the truth; another one bids what the seller asks."""
    others = [r for u, r in enumerate(case.ratios) if u not in (0, case.user)]
    if max(others, default=0.0) <= case.ratios[0] + MARGIN:
        return None
    return Sides(case.value(honest=False) * (1 - ROUNDING), case.value(honest=True))


def _draw_auction(rng: Rng) -> Auction:
    """The seller's ratio is below those of all bidders, in nine of ten cases."""
    above = rng.choice([2, 3, 4, 5, 6.25], size=int(rng.integers(2, 6))).tolist()
    ratios = (float(rng.choice([1.25] * 9 + [6.25])), *above)
    user = int(rng.integers(1, len(ratios)))
    return Auction(
        ratios, float(rng.choice([0.3, 1.0])), user, float(rng.choice([1.0, 2.5, 3.5, 5.5, 8.0]))
    )


def _draw_small_market(rng: Rng) -> GpuMarket:
    """Two to four users, up to four fast GPUs."""
    users = int(rng.integers(2, 5))
    gpus = int(rng.integers(1, 40)), int(rng.integers(1, 5))
    return two_models(
        *gpus, rng.choice(SPEEDS, users).tolist(), tickets=rng.choice([1.0, 2.0, 4.0], users)
    )


def _two() -> GpuMarket:
    """Two users on 40 K80 and 8 V100."""
    return two_models(40, 8, (1.25, 6.25))


def _four() -> GpuMarket:
    """Four users on 80 K80 and 16 V100."""
    return two_models(80, 16, (1.25, 1.4, 5, 6.25))


def _p40_and_v100() -> GpuMarket:
    return GpuMarket(np.array([8, 4]), np.array([[1.17, 1.25], [3.17, 5.14]]))


def _table_3_with_few_jobs() -> GpuMarket:
    """24 jobs of each user."""
    return replace(table_3(), demand=np.full(3, 24.0))


def _no_difference(sides: Sides) -> Sides:
    """`right` loses no more than rounding against `left`, rather than the other way round."""
    return Sides(sides.right, sides.left * (1 + 2 * ROUNDING))


#: claims on trading, for one catalogue with the paper's others
TRADING = claims_of(PAPER, __name__)
