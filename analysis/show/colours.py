"""What tells runs apart in all pictures; without the library that draws them."""

from __future__ import annotations

from typing import Any

#: told apart by the colour-blind (after Okabe and Ito), each solid and then dashed
COLOURS = ("#0072b2", "#d55e00", "#00946b", "#c0649a", "#d98c00", "#4aa3d8")
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)))
MOST_RUNS = len(COLOURS) * len(DASHES)
