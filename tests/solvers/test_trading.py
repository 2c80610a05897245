"""Trading: the paper's Table 3, hand-worked cases, and what holds on any market."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gangsched.formulations.gandiva_fair.problem import GpuMarket
from gangsched.solvers.gandiva_fair import trading
from gangsched.solvers.gandiva_fair.market import best_allocation
from gangsched.solvers.result import Status, Stop

Floats = NDArray[np.float64]
TABLE_3 = [[1, 1.25], [1, 5], [1, 6.25]]
PRICES: tuple[trading.PriceRule, ...] = ("second", "second-of-all", "midpoint", "seller", "buyer")


def values(done: trading.Trading, speeds: Any) -> list[float]:
    return [float(value) for value in (done.shares * np.asarray(speeds)).sum(axis=1)]


# --- an independent engine, in rational numbers --------------------------------------------------


class Exact:
    """The same rules, read again: lists, rational numbers, and a look at everybody each time."""

    def __init__(
        self, shares: Any, speeds: Any, demand: Any, price: str, least: float = 1e-3
    ) -> None:
        self.x = [[Fraction(v) for v in row] for row in np.asarray(shares, float).tolist()]
        self.s = np.asarray(speeds, float)
        caps = np.full(len(self.x), np.inf) if demand is None else np.asarray(demand, float)
        held = np.asarray(shares, float).sum(axis=1)
        self.room = [
            Fraction(c - h) if c < math.inf else None for c, h in zip(caps, held, strict=True)
        ]
        self.price, self.least = price, Fraction(least)
        self.users, self.models = range(len(self.x)), range(self.s.shape[1])

    def ratio(self, u: int, f: int, s: int) -> float | None:
        fast, slow = self.s[u, f], self.s[u, s]
        if math.isnan(fast) or math.isnan(slow) or fast == slow == 0:
            return None
        return float(fast / slow) if slow else math.inf

    def deals(self) -> Iterator[tuple[float, int, int, int, int, Fraction, Fraction]]:
        for f in reversed(self.models):
            for s in range(f):
                found = self.deal(f, s)
                if found is not None:
                    yield found

    def deal(self, f: int, s: int) -> Any:
        r = {u: q for u in self.users if (q := self.ratio(u, f, s)) is not None}
        rank = {u: Fraction(r[u] if math.isfinite(r[u]) else 1) for u in r}
        bidders = [u for u in r if self.x[u][s] >= self.least * rank[u]]
        sellers = [u for u in r if self.x[u][f] >= self.least]
        while bidders and sellers:
            b = max(bidders, key=lambda u: (r[u], -u))
            a = min(sellers, key=lambda u: (r[u], u))
            if not r[b] - r[a] > 1e-9:
                return None
            pool = r if self.price == "second-of-all" else bidders
            bids = [r[u] for u in pool if u not in (a, b) and math.isfinite(r[u])]
            price = self.priced(max(bids, default=0.0), r[a], r[b])
            if price > r[b]:
                return None
            p = Fraction(price)
            more = b if p < 1 else a
            room = self.room[more]
            if p == 1:
                room = None
            if room is not None and room < self.least * abs(p - 1):
                (bidders if more == b else sellers).remove(more)
                continue
            q = min(Fraction(1), self.x[a][f])
            q = min(q, self.x[b][s] / p) if p else q
            q = q if room is None else min(q, room / abs(p - 1))
            return r[b] - r[a], b, a, f, s, q, p
        return None

    def priced(self, second: float, low: float, high: float) -> float:
        if self.price.startswith("second") and second > low:
            return second
        if self.price == "seller":
            return low
        if math.isinf(high):
            return max(low, 1.0)
        return high if self.price == "buyer" else (low + high) / 2

    def run(self) -> list[trading.Trade]:
        made = []
        while True:
            best = max(self.deals(), key=lambda d: d[0], default=None)  # the first of equals
            if best is None:
                return made
            _, b, a, f, s, q, p = best
            for u, g, n in ((b, f, q), (a, f, -q), (b, s, -p * q), (a, s, p * q)):
                self.x[u][g] += n
            for u, n in ((b, p * q - q), (a, q - p * q)):
                if self.room[u] is not None:
                    self.room[u] += n
            made.append(trading.Trade(b, a, f, s, float(q), float(p)))


# --- markets -------------------------------------------------------------------------------------

ratios = st.sampled_from([0.5, 1.0, 1.17, 1.25, 2.0, 3.0, 5.0, 6.33])


@st.composite
def markets(draw: st.DrawFn, *, capped: bool = True, models: int = 4) -> dict[str, Any]:
    """Fair shares by tickets, and speeds of any order; some demands above the share."""
    m, n = draw(st.integers(2, models)), draw(st.integers(1, 6))
    gpus = np.array(draw(st.lists(st.integers(1, 30), min_size=m, max_size=m)))
    tickets = np.array(draw(st.lists(st.sampled_from([1, 2, 4]), min_size=n, max_size=n)))
    rows = st.lists(ratios, min_size=m, max_size=m)
    speeds = np.array(draw(st.lists(rows, min_size=n, max_size=n)))
    if draw(st.booleans()):
        speeds = np.sort(speeds, axis=1)
    shares = np.outer(tickets / tickets.sum(), gpus)
    spare = st.sampled_from([1.0, 1.1, 2.0, math.inf])
    more = np.array(draw(st.lists(spare, min_size=n, max_size=n)))
    demand = shares.sum(axis=1) * more if capped and draw(st.booleans()) else None
    return {"shares": shares, "speeds": speeds, "demand": demand}


# --- the paper's market --------------------------------------------------------------------------


def test_table_3_is_four_trades_at_5() -> None:
    done = trading.trade([[20, 4]] * 3, TABLE_3)
    assert done.trades == (trading.Trade(buyer=2, seller=0, fast=1, slow=0, amount=1, price=5),) * 4
    assert done.shares.tolist() == [[40, 0], [20, 4], [0, 8]]
    assert values(done, TABLE_3) == [40, 40, 50]


def test_with_table_1_c_can_pay_for_less_than_four_and_b_buys_what_is_left() -> None:
    # 20 K80 / 5.14; then B alone bids: midpoint of 1.25 and 5.14
    speeds = [[1, 1.25], [1, 5.14], [1, 6.33]]
    done = trading.trade([[20, 4]] * 3, speeds)
    assert [t.amount for t in done.trades] == pytest.approx([1, 1, 1, 0.8911, 0.1089], abs=1e-4)
    assert [t.price for t in done.trades] == [5.14] * 4 + [3.195]
    assert [t.buyer for t in done.trades] == [2, 2, 2, 2, 1]
    assert values(done, speeds) == pytest.approx([40.348, 40.772, 49.950], abs=1e-3)


@pytest.mark.parametrize(
    ("price", "expected"),
    [
        ("second", [40, 40, 50]),
        ("second-of-all", [40, 40, 50]),
        # A sells 4 at 3.75; C has 5 left and buys 8/9 of B at 5.625
        ("midpoint", [35, 40 + 5 - 40 / 9, (8 + 8 / 9) * 6.25]),
        # A sells 4 at 1.25, then B sells 3 at 5: here this is the optimum
        ("seller", [25, 40, 68.75]),
        # C pays for 3.2 at 6.25, B for the other .8 at 5: A gains all
        ("buyer", [44, 40, 45]),
    ],
)
def test_who_gets_the_surplus_is_a_matter_of_the_price(
    price: trading.PriceRule, expected: list[float]
) -> None:
    done = trading.trade([[20, 4]] * 3, TABLE_3, price=price)
    assert values(done, TABLE_3) == pytest.approx(expected)


# --- speeds that are 0 or unknown ----------------------------------------------------------------


def test_who_is_not_known_on_a_model_does_not_trade_it() -> None:
    speeds = [[1, 1.25], [1, np.nan], [1, 6.25]]
    done = trading.trade([[20, 4]] * 3, speeds)
    assert {(t.buyer, t.seller, t.price) for t in done.trades} == {(2, 0, 3.75)}
    assert done.shares[1].tolist() == [20, 4]


def test_who_cannot_use_the_fast_model_sells_all_of_it() -> None:
    done = trading.trade([[4, 4]] * 2, [[1, 0], [1, 1]])
    assert done.shares.tolist() == [[6, 0], [2, 8]]  # at 1/2


def test_who_cannot_use_the_slow_model_pays_with_all_of_it() -> None:
    # alone: the seller's ratio; with another bidder: its ratio
    alone = trading.trade([[4, 4]] * 2, [[1, 2], [0, 1]])
    assert alone.shares.tolist() == [[8, 2], [0, 6]]
    second = trading.trade([[4, 4]] * 3, [[1, 2], [0, 1], [1, 4]])
    assert (second.trades[0].buyer, second.trades[0].seller, second.trades[0].price) == (1, 0, 4)
    nothing = trading.trade([[4, 4]] * 2, [[1, 0], [0, 1]])
    assert nothing.shares.tolist() == [[8, 0], [0, 8]]  # one for one


# --- ties and small amounts ----------------------------------------------------------------------


def test_equals_trade_in_the_order_of_rows_and_the_fastest_models_first() -> None:
    done = trading.trade([[3, 1]] * 4, [[1, 1], [1, 3], [1, 1], [1, 3]])
    assert [(t.buyer, t.seller) for t in done.trades] == [(1, 0), (3, 2)]
    three = trading.trade([[4, 4, 4]] * 2, [[1, 1, 1], [1, 3, 3]])
    assert (three.trades[0].fast, three.trades[0].slow) == (2, 0)


def test_no_trade_is_smaller_than_the_least() -> None:
    shares = [[0.2, 0.05], [0.2, 0.05]]
    speeds = [[1, 1], [1, 3]]
    assert [t.amount for t in trading.trade(shares, speeds, least=0.05).trades] == [0.05]
    assert trading.trade(shares, speeds, least=0.06).trades == ()


# --- earlier trades ------------------------------------------------------------------------------


def test_what_still_gains_both_is_kept_at_its_price() -> None:
    old = trading.trade([[20, 4]] * 3, TABLE_3).trades
    speeds = [[1, 1.25], [1, 4.5], [1, 6.25]]  # the second bid is lower now
    assert trading.trade([[20, 4]] * 3, speeds).trades[0].price == 4.5
    kept = trading.trade([[20, 4]] * 3, speeds, keep=old)
    assert kept.trades == old
    assert kept.shares.tolist() == [[40, 0], [20, 4], [0, 8]]


@pytest.mark.parametrize(
    "change",
    [
        {"speeds": [[1, 5.5], [1, 5], [1, 6.25]]},  # the seller would lose
        {"speeds": [[1, 1.25], [1, 5], [1, 4.5]]},  # the buyer would
        {"shares": [[20, 0], [20, 4], [20, 4]]},  # the seller has none
        {"shares": [[20, 4], [20, 4], [4, 4]]},  # the buyer cannot pay all of it
        {"demand": [27, 99, 99]},  # the seller has no use for 4 more
    ],
)
def test_what_does_not_is_undone(change: dict[str, Any]) -> None:
    old = trading.trade([[20, 4]] * 3, TABLE_3).trades
    case = {"shares": [[20, 4]] * 3, "speeds": TABLE_3, "demand": None, **change}
    kept, fresh = trading.trade(keep=old, **case), trading.trade(**case)
    assert kept.trades == fresh.trades
    assert np.array_equal(kept.shares, fresh.shares)


def test_some_may_be_kept_and_others_undone() -> None:
    old = trading.trade([[20, 4]] * 3, TABLE_3).trades
    # a fourth user with 1/4 of all comes: C can pay for three, and A has three
    speeds = [*TABLE_3, [1, 5]]
    done = trading.trade([[15, 3]] * 4, speeds, keep=old)
    assert done.trades[:3] == old[:3]
    assert trading.log_of_changes(old, done.trades) == [trading.Trade(2, 0, 1, 0, 1, -5)]


def test_a_log_says_what_is_undone_and_what_is_made() -> None:
    a, b = trading.Trade(0, 1, 1, 0, 1.0, 2.0), trading.Trade(2, 1, 2, 0, 1.0, 3.0)
    assert trading.log_of_changes([a, a, a._replace(amount=0.5)], [a, b, b]) == [
        trading.Trade(0, 1, 1, 0, 1.5, -2.0),
        trading.Trade(2, 1, 2, 0, 2.0, 3.0),
    ]
    assert trading.log_of_changes([a], [a]) == []


# --- any market ----------------------------------------------------------------------------------


@given(markets(), st.sampled_from(PRICES))
def test_the_compiled_loop_does_what_the_plain_one_does(
    case: dict[str, Any], price: trading.PriceRule
) -> None:
    done = trading.trade(**case, price=price)
    plain = Exact(**case, price=price)
    trades = plain.run()
    # rounding may decide which of two equal ratios is larger, so amounts are compared, not names
    assert len(done.trades) == len(trades)
    assert [t.amount for t in done.trades] == pytest.approx([t.amount for t in trades], abs=1e-7)
    assert done.shares == pytest.approx(np.array(plain.x, dtype=float), abs=1e-6)


@given(markets(), st.sampled_from(PRICES))
def test_supply_is_conserved_and_nobody_has_less_than_nothing(
    case: dict[str, Any], price: trading.PriceRule
) -> None:
    done = trading.trade(**case, price=price)
    supply = case["shares"].sum(axis=0)
    assert done.shares.sum(axis=0) == pytest.approx(supply, rel=1e-12)
    assert done.shares.min() >= -1e-12
    if case["demand"] is not None:
        assert (done.shares.sum(axis=1) <= case["demand"] * (1 + 1e-9)).all()


@given(markets(), st.sampled_from(PRICES))
def test_nobody_loses_and_every_trade_raises_the_total(
    case: dict[str, Any], price: trading.PriceRule
) -> None:
    done = trading.trade(**case, price=price)
    x, s = case["shares"].copy(), case["speeds"]
    for t in done.trades:
        before = (x * s).sum(axis=1)
        x[t.buyer, t.fast] += t.amount
        x[t.seller, t.fast] -= t.amount
        x[t.buyer, t.slow] -= t.amount * t.price
        x[t.seller, t.slow] += t.amount * t.price
        after = (x * s).sum(axis=1)
        assert (after >= before - 1e-9).all()
        assert after.sum() > before.sum()
        assert 1e-3 * (1 - 1e-9) <= t.amount <= 1
    assert x == pytest.approx(done.shares, abs=1e-9)


@given(markets(capped=False, models=2))
def test_two_models_take_less_trades_than_fast_gpus_and_users(case: dict[str, Any]) -> None:
    done = trading.trade(**case)
    assert len(done.trades) < case["shares"][:, 1].sum() + len(case["shares"]) + 1e-9
    assert not {t.buyer for t in done.trades} & {t.seller for t in done.trades}


@given(markets(capped=False))
def test_in_the_end_nobody_gains_by_a_trade(case: dict[str, Any]) -> None:
    x, s = trading.trade(**case).shares, case["speeds"]
    for f in range(x.shape[1]):
        for g in range(f):
            r = s[:, f] / s[:, g]
            bids, asks = r[x[:, g] >= 1e-3 * r], r[x[:, f] >= 1e-3]
            if len(bids) and len(asks):
                assert bids.max() <= asks.min() + 1e-9


@given(markets(), st.sampled_from(PRICES))
def test_all_is_kept_where_nothing_changes(case: dict[str, Any], price: trading.PriceRule) -> None:
    done = trading.trade(**case, price=price)
    again = trading.trade(**case, price=price, keep=done.trades)
    assert again.trades[: len(done.trades)] == done.trades
    assert again.shares == pytest.approx(done.shares, abs=2e-2)


def test_many_trades_are_one_list() -> None:
    done = trading.trade(
        [[9000, 1500]] * 2, [[1, 2], [1, 6]]
    )  # more than one call of the loop returns
    assert len(done.trades) == 1500
    assert done.shares.tolist() == [[15000, 0], [3000, 3000]]


# --- markets as problems -------------------------------------------------------------------------


def test_a_traded_market_is_feasible_and_not_optimal() -> None:
    market = GpuMarket(np.array([60, 12]), np.array(TABLE_3), users="ABC")
    found, best = trading.traded_allocation(market), best_allocation(market)
    assert (found.objective, found.status, found.stop) == (130, Status.FEASIBLE, Stop.COMPLETED)
    assert found.solution is not None
    assert found.solution.shares.tolist() == [[40, 0], [20, 4], [0, 8]]
    assert len(found.info["trades"]) == 4
    assert best.objective == 133.75
