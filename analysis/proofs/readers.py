"""Fields of certificates, read by every verifier: integers and numbers, or a ValueError."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

__all__ = ["integer", "integers", "item", "listed", "numbers"]


def integer(certificate: Mapping[str, Any], name: str, least: int = 0) -> int:
    """Return a field that is an integer, not below `least`."""
    if name not in certificate:
        raise ValueError(f"field {name!r} is missing")
    value = certificate[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name}={value!r} is not an integer")
    if value < least:
        raise ValueError(f"{name}={value} is below {least}")
    return value


def item(certificate: Mapping[str, Any], name: str, count: int) -> int:
    """Return a field that is the number of one of `count` things, such as a job."""
    value = integer(certificate, name)
    if value >= count:
        raise ValueError(f"{name}={value} is not one of the {count} {name}s")
    return value


def integers(
    values: Any, name: str, *, least: int = 0, count: int | None = None, what: str = "jobs"
) -> list[int]:
    """Return a list of integers, none below `least`; so many, one for each of `what`."""
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"{name}={values!r} is not a list of integers")
    if count not in (None, len(values)):
        raise ValueError(f"{name} has {len(values)} entries for {count} {what}")
    for j, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name}[{j}]={value!r} is not an integer >= {least}")
    return list(values)


def listed(values: Any, name: str, count: int, what: str) -> list[Any]:
    """Return a list of anything, one for each of `what`."""
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"{name}={values!r} is not a list")
    if len(values) != count:
        raise ValueError(f"{name} has {len(values)} entries for {count} {what}")
    return list(values)


def numbers(values: Any, name: str, *, count: int) -> list[Fraction]:
    """Return a list of `count` finite numbers >= 0; floats are meant exactly."""
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"{name}={values!r} is not a list of numbers")
    if len(values) != count:
        raise ValueError(f"{name} has {len(values)} entries, not {count}")
    for k, value in enumerate(values):
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not 0 <= value <= sys.float_info.max:
            raise ValueError(f"{name}[{k}]={value!r} is not a finite number >= 0")
    return [Fraction(value) for value in values]
