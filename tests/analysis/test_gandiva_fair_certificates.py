"""What prices of GPUs prove, by hand, and that a proof that does not hold is refused."""

import math
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pytest

from gangsched.analysis.proofs.problem_data import proven
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations.gandiva_fair.problem import GpuMarket
from gangsched.solvers import Bound
from markets import any_market

TABLE3 = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
HOLDS: dict[str, Any] = {
    "kind": "gpu prices", "prices": [1.25, 6.25], "floors": [0.25, 0.25, 0.0], "caps": [0.0] * 3,
}  # fmt: skip
#: a user who can use 3 of 4 slow and 2 fast GPUs
CAPPED = GpuMarket([4, 2], [[1, 3]], demand=[3])


NASH = replace(TABLE3, aim="nash")


def verify(value: float, market: GpuMarket = TABLE3, **changed: Any) -> None:
    verify_bound(market, Bound(value, "by hand", {**HOLDS, **changed}))


def test_prices_of_a_cap() -> None:
    """2 fast GPUs at 2 each, and 3 GPUs in use at 1 each."""
    verify(7, CAPPED, prices=[0.0, 2.0], floors=[0.0], caps=[1.0])
    with pytest.raises(InvalidCertificate, match="the certificate proves 17/2"):
        verify(7, CAPPED, prices=[0.5, 2.5], floors=[0.0], caps=[0.5])


def test_a_number_of_many_digits_is_shown_in_six() -> None:
    """One user gains log 1 = 0, which is proven to a thousand digits."""
    market = GpuMarket([1], [[1.0]], [5.0], demand=[1.0], aim="nash")
    prices = {"prices": [0.75], "floors": [0.0], "caps": [0.25]}
    verify(1e-300, market, **prices)
    with pytest.raises(InvalidCertificate, match=r"the certificate proves about \dE-\d+$"):
        verify(-1e-3, market, **prices)


def test_prices_prove_the_largest_welfare() -> None:
    """All spend a third: 40 at 1 / 120, 40 at 1 / 120, 8 at 1 / 24 of a speed of 6.25."""
    welfare = (2 * math.log(40) + math.log(50)) / 3
    even = {"prices": [1 / 120, 5 / 120], "floors": [0.0] * 3}
    verify(welfare + 1e-15, NASH, **even)
    with pytest.raises(InvalidCertificate, match="the certificate proves"):
        verify(welfare - 1e-15, NASH, **even)
    # twice the prices: P - 1 = 1, and all logarithms lose log 2
    doubled = {"prices": [1 / 60, 1 / 12], "floors": [0.0] * 3}
    assert float(proven(NASH, HOLDS | doubled | {"caps": [0.0] * 3})) == pytest.approx(
        welfare + 1 - math.log(2)
    )


@pytest.mark.parametrize("speed", [1, 2, 3, 5, 7, 11, 13])
@pytest.mark.parametrize("price", [1, 3])
def test_logarithms_are_rounded_up(speed: int, price: int) -> None:
    """One user, one GPU: what is proven is p - 1 + log(s / p), to a few units of the 40th digit."""
    market = GpuMarket([1], [[speed]], aim="nash")
    zero = {"floors": [0.0], "caps": [0.0]}
    found = proven(market, {**HOLDS, "prices": [float(price)], **zero})
    fine = Context(prec=80)
    exact = price - 1 + Fraction(fine.ln(Decimal(speed))) - Fraction(fine.ln(Decimal(price)))
    assert 0 <= found - exact < 1e-38


def test_fair_shares_are_computed_again() -> None:
    for seed in range(40):
        market = any_market(seed, capped=True)
        zero = {"caps": [0.0] * len(market.users), "prices": [1e6] * len(market.models)}
        free = proven(market, HOLDS | zero | {"floors": [0.0] * len(market.users)})
        for u in range(len(market.users)):
            floors = [float(v == u) for v in range(len(market.users))]
            due = free - proven(market, HOLDS | zero | {"floors": floors})
            assert float(due) == pytest.approx(market.fair_values[u], rel=1e-14)
