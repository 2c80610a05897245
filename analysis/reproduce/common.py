"""What figures of several papers share: parallel runs, rows by seed, judgements, panels."""

from __future__ import annotations

from .unisched_pictures import DASHED, Panel, draw
from .unisched_runs import Progress, Values, mapped, rows_of, short
from .unisched_statements import SEEDS_DISAGREE, compared, mean, values

__all__ = [
    "DASHED", "SEEDS_DISAGREE", "Panel", "Progress", "Values", "compared", "draw", "mapped",
    "mean", "rows_of", "short", "values",
]  # fmt: skip
