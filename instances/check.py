"""Checks of the fields of records, which name object, value and rule."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Iterable
from typing import Any


def set_field(record: object, name: str, value: object) -> None:
    """Set a field of a frozen record."""
    object.__setattr__(record, name, value)


def text(record: object, owner: str, name: str, *, empty: bool = True) -> None:
    """Refuse a field that is no string, or an empty one."""
    value = getattr(record, name)
    if not isinstance(value, str):
        raise TypeError(f"{owner}: {name}={value!r} is not a string")
    if not value and not empty:
        raise ValueError(f"{owner}: {name}={value!r} is empty")


def integer(record: object, owner: str, name: str, *, at_least: int) -> None:
    """Make a field an int; refuse what is none, or too small."""
    value = getattr(record, name)
    if type(value) is not int:  # the long way takes long for the jobs of a large trace
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"{owner}: {name}={value!r} is not an integer")
        value = int(value)
        set_field(record, name, value)
    if value < at_least:
        raise ValueError(f"{owner}: {name}={value} is below {at_least}")


def check_finite(owner: str, name: str, value: Any) -> None:
    """Refuse infinite numbers, nan, and integers that no float holds."""
    try:
        bounded = math.isfinite(value)
    except OverflowError:
        raise ValueError(f"{owner}: {name} is an integer too large for a float") from None
    if not bounded:
        raise ValueError(f"{owner}: {name}={value} is not finite")


def check_real(owner: str, name: str, value: Any, *, positive: bool = False) -> float:
    """Return `value` as a float; refuse what is no finite number, or is negative (or zero).

    >>> check_real("job 'a'", "weight", 2)
    2.0
    """
    if type(value) is not float and (
        isinstance(value, bool) or not isinstance(value, numbers.Real)
    ):
        raise TypeError(f"{owner}: {name}={value!r} is not a number")
    check_finite(owner, name, value)
    if value < 0 or (positive and value == 0):
        raise ValueError(f"{owner}: {name}={value} is not {'positive' if positive else '>= 0'}")
    return float(value)


def real(record: object, owner: str, name: str, *, positive: bool = False) -> None:
    """Make a field a float, as of :func:`check_real`."""
    set_field(record, name, check_real(owner, name, getattr(record, name), positive=positive))


def unique(owner: str, kind: str, ids: Iterable[str]) -> None:
    """Refuse ids that occur twice."""
    for key, count in Counter(ids).items():
        if count > 1:
            raise ValueError(f"{owner}: {kind} id {key!r} occurs {count} times, ids are unique")


def tuple_of(record: object, owner: str, name: str, kind: type) -> None:
    """Make a field a tuple of records of one class."""
    items = getattr(record, name)
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise TypeError(f"{owner}: {name}={items!r} is not a sequence of {kind.__name__}")
    items = tuple(items)
    for i, item in enumerate(items):
        if not isinstance(item, kind):
            raise TypeError(f"{owner}: {name}[{i}]={item!r} is not a {kind.__name__}")
    set_field(record, name, items)


def finite(owner: str, name: str, value: Any) -> float:
    """Return a number of any sign as a float; refuse what is none, or not finite."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{owner}: {name}={value!r} is not a number")
    check_finite(owner, name, value)
    return float(value)
