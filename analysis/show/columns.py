"""How numbers are written."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import ceil

from ...formulations.problem import Sense

__all__ = ["shown_bound", "shown_ratio"]


def shown_ratio(value: float) -> str:
    """Write a ratio with three decimals, rounded up: it is said to be "at most" this.

    >>> shown_ratio(1.0), shown_ratio(1.20001), shown_ratio(394 / 298)
    ('1.000', '1.201', '1.323')
    """
    return f"{ceil(round(value * 1000, 6)) / 1000:.3f}"


def shown_bound(value: float, sense: Sense, *, digits: int = 10) -> str:
    """Write a bound so that what is said is proven: a lower one rounded down, an upper one up.

    >>> shown_bound(646, Sense.MIN), shown_bound(159.00000000001, Sense.MAX)
    ('646', '159.0000001')
    >>> shown_bound(2 / 3, Sense.MIN), shown_bound(2 / 3, Sense.MAX, digits=3)
    ('0.6666666666', '0.667')
    """
    if value == int(value):
        return str(int(value))
    way = Context(prec=digits, rounding=ROUND_FLOOR if sense is Sense.MIN else ROUND_CEILING)
    return f"{way.create_decimal(Decimal(repr(float(value)))).normalize(way):f}"
