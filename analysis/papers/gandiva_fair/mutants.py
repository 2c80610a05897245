"""Stronger statements than the claims on stride and on trading, all false."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import floor
from typing import Any

from ..claim import Mutant, Sides, less, times
from .claims import ROUNDING, _increase
from .stride_claims import _by_tickets, _few

A_HUNDREDTH_MORE = times(Fraction(100, 101))


def _no_difference(sides: Sides) -> Sides:
    """`right` loses no more than rounding against `left`, rather than the other way round."""
    return Sides(sides.right, sides.left * (1 + 2 * ROUNDING))


#: by the id of the claim
STRIDE_MUTANTS: Mapping[str, Mutant[Any]] = {
    "stride-table-2": Mutant(
        statement="in every 3 quanta",
        check=lambda case: _by_tickets(replace(case, quanta=case.quanta - 3)),
    ),
    "stride-delay": Mutant(
        statement="each but the very first comes a quantum earlier", sides=less(1)
    ),
    "stride-debt-capped": Mutant(statement="it does not wait", sides=less(1)),
    "stride-newcomers-few": Mutant(
        statement="of every 1 + floor(k / (M - k))", check=partial(_few, rounding=floor)
    ),
    "split-share": Mutant(statement="to within half a quantum", sides=times(Fraction(1, 2))),
    "lottery-gang": Mutant(statement="to within one point", sides=times(Fraction(1, 3))),
}
#: by the id of the claim
TRADING_MUTANTS: Mapping[str, Mutant[Any]] = {
    "trading-fair-share": Mutant(
        statement="who trades has a hundredth more", sides=A_HUNDREDTH_MORE
    ),
    "trading-fair-share-cap": Mutant(
        statement="who trades has a hundredth more", sides=A_HUNDREDTH_MORE
    ),
    "trading-fair-share-others": Mutant(
        statement="who trades has a hundredth more", sides=A_HUNDREDTH_MORE
    ),
    "trading-increase-reference": Mutant(
        statement="by a tenth more", sides=times(Fraction(11, 10))
    ),
    "trading-monotone": Mutant(
        statement="max in place of min", check=partial(_increase, larger=True)
    ),
    "trading-few": Mutant(statement="at most N_f + U - 3", sides=less(1)),
    "trading-finite": Mutant(
        statement="half of it",
        sides=times(Fraction(1, 2)),
        loose="trades are of up to one GPU, and the bound counts as if all were of q_min",
    ),
    "trading-below-optimum": Mutant(statement="a hundredth less", sides=A_HUNDREDTH_MORE),
    "trading-truthful-auction": Mutant(statement="nor loses by one", sides=_no_difference),
    "nash-fair-share": Mutant(statement="a hundredth more", sides=A_HUNDREDTH_MORE),
}
