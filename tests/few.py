"""Cases of a long test of which the plain run takes some only; names stay as they are."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def chosen(plain: Iterable[bool], values: Iterable[Any]) -> list[Any]:
    """Mark the values as slow that the plain run does not take; a tuple is of several arguments."""
    slow = pytest.mark.slow
    return [
        v if take else pytest.param(*(v if type(v) is tuple else (v,)), marks=slow)
        for take, v in zip(plain, values, strict=False)
    ]


def first(plain: int, values: Iterable[Any]) -> list[Any]:
    """Leave the first values to the plain run."""
    values = list(values)
    return chosen([k < plain for k in range(len(values))], values)


def each(step: int, values: Iterable[Any]) -> list[Any]:
    """Leave the first of each `step` values to the plain run."""
    values = list(values)
    return chosen([k % step == 0 for k in range(len(values))], values)


def but(slow: Container[Any], values: Iterable[Any]) -> list[Any]:
    """Leave to the plain run what is not named."""
    values = list(values)
    return chosen([v not in slow for v in values], values)
