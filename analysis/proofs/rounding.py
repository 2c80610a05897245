"""From rationals to the floats of bounds, on the safe side."""

from __future__ import annotations

import math
from fractions import Fraction


def float_above(value: Fraction) -> float:
    """Return the least float that is not below the value."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
