"""What a completion is worth, by the slots from its job's release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from .check import finite, real, sequence, set_field

#: numbers of a utility do not exceed it, so that sums and prices of many stay finite
MOST_WORTH = 1e80


def _worth(name: str, value: Any) -> float:
    """Return what a completion is worth, or how fast that falls, as a float."""
    worth = finite("utility", name, value)
    if abs(worth) > MOST_WORTH:
        raise ValueError(f"utility: {name}={worth:g} is beyond {MOST_WORTH:g}")
    return worth


@dataclass(frozen=True, slots=True)
class Linear:
    """A utility that falls linearly: k x + g for a completion after x slots.

    Parameters
    ----------
    slope : float
        k, at most 0.
    constant : float
        g. Late completions may be worth less than nothing.

    Examples
    --------
    >>> Linear(-2, 100).value(4)
    92.0
    """

    slope: float
    constant: float

    def __post_init__(self) -> None:
        for name in ("slope", "constant"):
            set_field(self, name, _worth(name, getattr(self, name)))
        if self.slope > 0:
            raise ValueError(f"utility: slope={self.slope:g} is positive, utilities must not rise")

    def value(self, time: int) -> float:
        """Return what a completion after `time` >= 1 slots is worth."""
        return self.slope * time + self.constant


@dataclass(frozen=True, slots=True)
class Power:
    """A convex utility: (e / x) ** kappa for a completion after x slots.

    Parameters
    ----------
    scale : float
        e, positive.
    exponent : float
        kappa, positive.

    Examples
    --------
    >>> Power(20, 2).value(4)
    25.0
    """

    scale: float
    exponent: float

    def __post_init__(self) -> None:
        real(self, "utility", "scale", positive=True)
        real(self, "utility", "exponent", positive=True)
        if self.exponent * math.log(self.scale) > math.log(MOST_WORTH):
            raise ValueError(
                f"utility: {self.scale:g} ** {self.exponent:g}, what a completion after one slot "
                f"is worth, is beyond {MOST_WORTH:g}"
            )

    def value(self, time: int) -> float:
        """Return what a completion after `time` >= 1 slots is worth."""
        return float((self.scale / time) ** self.exponent)


@dataclass(frozen=True, slots=True)
class Table:
    """Any utility that does not rise, as a table.

    Parameters
    ----------
    values : sequence of float
        For completions after 1, 2, ... slots, at least one; later ones are worth the last value.

    Examples
    --------
    >>> Table([9, 9, 3]).value(2), Table([9, 9, 3]).value(10)
    (9.0, 3.0)
    """

    values: Sequence[float]

    def __post_init__(self) -> None:
        numbers = sequence("utility: values", self.values, "numbers")
        values = tuple(_worth(f"values[{i}]", v) for i, v in enumerate(numbers))
        if not values:
            raise ValueError("utility: values are empty, at least one is needed")
        for i, (before, after) in enumerate(pairwise(values), 1):
            if after > before:
                raise ValueError(
                    f"utility: values[{i}]={after:g} exceeds {before:g} of the one before, "
                    "utilities must not rise"
                )
        set_field(self, "values", values)

    def value(self, time: int) -> float:
        """Return what a completion after `time` >= 1 slots is worth."""
        return self.values[min(time, len(self.values)) - 1]


Utility = Linear | Power | Table
