"""Trading of GPUs between users that gain differently from faster models.

Source: S. Chaudhary, R. Ramjee, M. Sivathanu, N. Kwatra, S. Viswanatha, "Balancing Efficiency and
Fairness in Heterogeneous GPU Clusters for Deep Learning", EuroSys 2020 (Gandiva_fair), Sections 3.4
and 4, Tables 1 and 3, Fig. 9.

The speed-up of a user on a pair of models is what one GPU of the fast model is worth to it in GPUs
of the slow one: r_u = S_uf / S_us. The user with the largest r_u buys fast GPUs for slow ones from
the user with the smallest, at the second largest r_u.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...formulations.gandiva_fair.problem import GpuMarket
from ...instances.arrays import Floats
from ...instances.schedule import Allocation
from ..result import Result, Stop
from ..signature import solver
from .trading_core import BUYER, MARGIN, MIDPOINT, SECOND, SECOND_OF_ALL, SELLER, run_trades

PriceRule = Literal["second", "second-of-all", "midpoint", "seller", "buyer"]
#: trades that one call of the compiled loop can return
BATCH = 1024
#: rounding, in GPUs
TINY = 1e-9
RULES: dict[str, int] = {
    "second": SECOND, "second-of-all": SECOND_OF_ALL, "midpoint": MIDPOINT, "seller": SELLER,
    "buyer": BUYER,
}  # fmt: skip


class Trade(NamedTuple):
    """GPUs of a fast model for GPUs of a slow one.

    Parameters
    ----------
    buyer, seller : int
        Users, by row; the buyer gets the fast GPUs. (The paper calls "seller" who gets them in
        Section 4, and "buyer" in none.)
    fast, slow : int
        Models, by column.
    amount : float
        GPUs of the fast model.
    price : float
        GPUs of the slow model for each of them; negative where a trade is undone, as in Fig. 9.

    Examples
    --------
    >>> Trade(buyer=2, seller=0, fast=1, slow=0, amount=4, price=5).paid
    20
    """

    buyer: int
    seller: int
    fast: int
    slow: int
    amount: float
    price: float

    @property
    def paid(self) -> float:
        """GPUs of the slow model that the buyer gives."""
        return self.amount * self.price


@dataclass(frozen=True, slots=True, eq=False)
class Trading:
    """What trading leads to.

    Parameters
    ----------
    shares : (users, models) float array
        GPUs of each model that each user has in the end.
    trades : tuple of Trade
        In the order in which they are made; each is of one fast GPU at most, those that were kept
        come first.
    """

    shares: Floats
    trades: tuple[Trade, ...]


def trade(
    shares: ArrayLike,
    speeds: ArrayLike,
    *,
    demand: ArrayLike | None = None,
    price: PriceRule = "second",
    least: float = 1e-3,
    keep: Iterable[Trade] = (),
) -> Trading:
    """Let users trade GPUs until nobody gains.

    Parameters
    ----------
    shares : (users, models) array
        GPUs of each model that each user has at first, such as fair shares; models from slow to
        fast.
    speeds : (users, models) array
        S_ug, what a GPU of each model is worth to each user. 0: it cannot use the model, and gives
        it away for anything. nan: not known; the user does not trade this model.
    demand : (users,) array, optional
        GPUs that each user can use; nobody buys or sells beyond it. Unlimited by default, as
        printed.
    price : {"second", "second-of-all", "midpoint", "seller", "buyer"}
        "second": the largest ratio of the other users that have slow GPUs, and where that is not
        above the seller's, the midpoint. "second-of-all": other users count even when they have no
        slow GPUs left to bid (no trade where that is above the buyer's). "midpoint": always.
        "seller" and "buyer": their own ratio, the two that Section 3.4 rejects.
    least : float
        Fast GPUs of one trade, at least; above 0, up to 1.
    keep : iterable of Trade
        Earlier trades. Those that still gain both and that both can afford in full are made first,
        in this order.

    Returns
    -------
    Trading

    Raises
    ------
    ValueError
        Where the arrays do not fit together, or hold negative numbers.

    Notes
    -----
    Each step takes the pair of models with the largest r_b - r_a (ties: the faster fast model, then
    the slower slow one), where a has the smallest ratio among users with `least` GPUs of the fast
    model and b the largest among those with slow GPUs for as many at their own ratio (ties: the
    first row), and moves q = min(1, X[a, fast], X[b, slow] / price) GPUs of the fast model to b.
    With a demand, q is no more than who ends up with more GPUs has room for; who has no room for
    `least` is passed over. A bid of a user that cannot use the slow model has no limit and sets no
    price: where it is the only one, the price is the seller's ratio, and 1 at least.

    It has no memory: what changes (users, shares, speeds) is answered by a new call with the new
    fair shares, which undoes what is no longer right; :func:`log_of_changes` says what.

    Guarantee: supply is conserved. With the price between both ratios nobody loses, if `speeds` are
    true and GPUs within the demand are all used. Each trade adds at least `least` (r_b - r_a) times
    the smaller of both users' slow speeds to the sum of all values, so it ends. With two models and
    no demand, it takes less than (fast GPUs + users) trades: who has bought never sells. With
    several models and demands, two users can swap what little room they have to and fro, so that
    1/`least` counts. It is neither optimal nor safe against lies.

    O(users * models^2) a trade, compiled.

    Examples
    --------
    Table 3: four trades at a price of 5 on 60 K80 and 12 V100.

    >>> speeds = [[1, 1.25], [1, 5], [1, 6.25]]
    >>> done = trade([[20, 4]] * 3, speeds)
    >>> [(t.buyer, t.seller, t.amount, t.price) for t in done.trades]
    [(2, 0, 1.0, 5.0), (2, 0, 1.0, 5.0), (2, 0, 1.0, 5.0), (2, 0, 1.0, 5.0)]
    >>> (done.shares * speeds).sum(axis=1).tolist()
    [40.0, 40.0, 50.0]
    """
    if price not in RULES:
        raise ValueError(f"trade: price={price!r}, not one of {', '.join(RULES)}")
    if not 0 < least <= 1:
        raise ValueError(f"trade: least={least}, not in (0, 1]")
    x = _table("shares", shares).copy()
    ratios = _ratios(_table("speeds", speeds, unknown=True), x.shape)
    room = _demand(demand, len(x)) - x.sum(axis=1)
    made = _made_again(x, ratios, room, keep)
    columns = np.ascontiguousarray(x.T)
    while True:
        who, what = np.empty((BATCH, 4), dtype=np.int64), np.empty((BATCH, 2))
        n = run_trades(columns, ratios, room, RULES[price], least, who, what)
        made += [Trade(*w, *h) for w, h in zip(who[:n].tolist(), what[:n].tolist(), strict=True)]
        if n < BATCH:
            columns.setflags(write=False)
            return Trading(columns.T, tuple(made))


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingParams:
    """Parameters of :func:`traded_allocation`, as of :func:`trade`.

    Parameters
    ----------
    price : {"second", "second-of-all", "midpoint", "seller", "buyer"}
    least : float
    """

    price: PriceRule = "second"
    least: float = 1e-3


@solver(TradingParams, of=GpuMarket)
def traded_allocation(problem: GpuMarket, *, params: TradingParams) -> Result[Allocation]:
    """Divide a market's GPUs by fair shares, and let users trade within their demands.

    Parameters
    ----------
    problem : GpuMarket
        With any aim; trading has none.
    params : TradingParams

    Returns
    -------
    Result[Allocation]
        Without a bound; ``info["trades"]`` is what was traded.

    Notes
    -----
    Guarantee: feasible, so that every user has at least its fair share; see :func:`trade` for what
    it needs. None of optimality: of what could be gained over fair shares, it gains between a third
    and all on random markets.

    Complexity as of :func:`trade`; fair shares take rational arithmetic.

    Examples
    --------
    Table 3: 110 before; the optimum is 133.75.

    >>> market = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
    >>> traded_allocation(market).objective
    130.0
    """
    begin = time.perf_counter()
    done = trade(problem.fair_shares, problem.speeds, demand=problem.demand, **asdict(params))
    return Result.of(
        problem, Allocation(problem.users, problem.models, np.maximum(done.shares, 0.0)),
        solver="trading", stop=Stop.COMPLETED, runtime=time.perf_counter() - begin,
        info={"trades": done.trades},
    )  # fmt: skip


def log_of_changes(old: Sequence[Trade], new: Sequence[Trade]) -> list[Trade]:
    """Say which trades are undone and which are made, from one time to the next.

    Parameters
    ----------
    old, new : sequence of Trade
        Of two calls of :func:`trade` on the same rows and columns.

    Returns
    -------
    list of Trade
        First what is undone, with a negative price, then what is made; equal trades of either as
        one.

    Examples
    --------
    >>> log_of_changes([Trade(0, 1, 1, 0, 1.0, 1.5)] * 2, [Trade(0, 1, 1, 0, 1.0, 1.5)])
    [Trade(buyer=0, seller=1, fast=1, slow=0, amount=1.0, price=-1.5)]
    """
    more, less = Counter(new), Counter(old)
    return [*_grouped(less - more, sign=-1), *_grouped(more - less, sign=1)]


def _grouped(trades: Counter[Trade], *, sign: int) -> list[Trade]:
    """Trades that differ in the amount only, as one."""
    total: dict[Trade, float] = {}
    for t, n in trades.items():
        kind = t._replace(amount=0.0, price=sign * t.price)
        total[kind] = total.get(kind, 0.0) + n * t.amount
    return [kind._replace(amount=amount) for kind, amount in total.items()]


def _table(name: str, values: ArrayLike, *, unknown: bool = False) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"trade: {name} has shape {array.shape}, not (users, models)")
    bad = np.argwhere(~(np.isfinite(array) | (unknown & np.isnan(array))) | (array < 0))
    for u, g in bad[:1]:
        raise ValueError(f"trade: {name}[{u}, {g}]={array[u, g]}, not a finite number >= 0")
    return array


def _ratios(speeds: Floats, shape: tuple[int, ...]) -> Floats:
    """(models, models, users): speed on the first model by speed on the second."""
    if speeds.shape != shape:
        raise ValueError(f"trade: speeds has shape {speeds.shape}, but shares has {shape}")
    columns = speeds.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.ascontiguousarray(columns[:, None] / columns[None])


def _demand(demand: ArrayLike | None, users: int) -> Floats:
    if demand is None:
        return np.full(users, np.inf)
    array = np.asarray(demand, dtype=np.float64)
    if array.shape != (users,):
        raise ValueError(f"trade: demand has shape {array.shape}, not {(users,)}")
    for u in np.flatnonzero(~(array >= 0))[:1]:
        raise ValueError(f"trade: demand[{u}]={array[u]}, not >= 0")
    return array


def _made_again(x: Floats, ratios: Floats, room: Floats, keep: Iterable[Trade]) -> list[Trade]:
    """Make earlier trades in `x` and `room`, where they are good as they were."""
    made = []
    for t in keep:
        low, high = ratios[t.fast, t.slow, t.seller], ratios[t.fast, t.slow, t.buyer]
        more = t.paid - t.amount  # GPUs that the seller has more, and the buyer less
        if not (
            low <= t.price <= high
            and high - low > MARGIN
            and t.amount <= x[t.seller, t.fast] + TINY
            and t.paid <= x[t.buyer, t.slow] + TINY
            and more <= max(room[t.seller], 0.0) + TINY
            and -more <= max(room[t.buyer], 0.0) + TINY
        ):
            continue
        amount, paid = min(t.amount, x[t.seller, t.fast]), min(t.paid, x[t.buyer, t.slow])
        x[t.buyer, t.fast] += amount
        x[t.seller, t.fast] -= amount
        x[t.buyer, t.slow] -= paid
        x[t.seller, t.slow] += paid
        room[t.buyer] += more
        room[t.seller] -= more
        made.append(t)
    return made
