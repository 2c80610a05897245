"""Cases of a long test of which the plain run takes the first ones only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first(plain: int, values: Iterable[Any]) -> list[Any]:
    """Mark all values but the first ones as slow; their names stay as they are."""
    slow = pytest.mark.slow
    return [v if k < plain else pytest.param(v, marks=slow) for k, v in enumerate(values)]
