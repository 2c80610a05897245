"""Checks of the fields of records, which name object, value and rule; how fields are set."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from types import MemberDescriptorType
from typing import Any

#: integers have at most so many digits: Python refuses to write and to read much longer ones
MOST_DIGITS = 4000
_TOO_LONG = 10**MOST_DIGITS


def set_field(record: object, name: str, value: object) -> None:
    """Set a field of a frozen record."""
    object.__setattr__(record, name, value)


def but_for(record: Any, name: str, value: Any) -> Any:
    """Return a record with another value of a field, which is as right as the one that it had."""
    kind: Any = type(record)
    other = object.__new__(kind)
    for get, put in _slots(kind):
        put(other, get(record))
    set_field(other, name, value)
    return other


@cache
def _slots(kind: Any) -> tuple[tuple[Any, Any], ...]:
    """How each field is read and set."""
    return tuple(_slot(kind, part.name) for part in fields(kind))


def _slot(kind: Any, name: str) -> tuple[Any, Any]:
    slot = getattr(kind, name, None)
    if isinstance(slot, MemberDescriptorType):
        return slot.__get__, slot.__set__
    return attrgetter(name), lambda other, value: set_field(other, name, value)


def text(record: object, owner: str, name: str, *, empty: bool = True) -> None:
    """Refuse a field that is no string, or an empty one."""
    value = getattr(record, name)
    if not isinstance(value, str):
        raise TypeError(f"{owner}: {name}={value!r} is not a string")
    if not value and not empty:
        raise ValueError(f"{owner}: {name}={value!r} is empty")


def at_least(name: str, value: Any, least: int) -> int:
    """Return an integer as an int; refuse what is none, is below `least`, or is too long to write.

    >>> at_least("jobs", 0, 1)
    Traceback (most recent call last):
    ValueError: jobs=0 is below 1
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}={value!r} is not an integer")
    number = written(name, int(value))
    if number < least:
        raise ValueError(f"{name}={number} is below {least}")
    return number


def written(name: str, number: int) -> int:
    """Return an integer; refuse one that has more digits than messages and files can hold."""
    if abs(number) >= _TOO_LONG:
        raise ValueError(f"{name} has more than {MOST_DIGITS} digits")
    return number


def integer(record: object, owner: str, name: str, *, least: int) -> None:
    """Make a field an int; refuse what is none, or too small."""
    value = getattr(record, name)
    if type(value) is not int or not least <= value < _TOO_LONG:  # a large trace has many
        set_field(record, name, at_least(f"{owner}: {name}", value, least))


def flag(record: object, owner: str, name: str) -> None:
    """Refuse a field that is neither True nor False."""
    if not isinstance(getattr(record, name), bool):
        raise TypeError(f"{owner}: {name}={getattr(record, name)!r} is not True or False")


def one_of(name: str, value: object, known: Iterable[str]) -> None:
    """Refuse what is not among the values that are known.

    >>> one_of("variant", "C", ("A", "B"))
    Traceback (most recent call last):
    ValueError: variant='C' is not one of 'A', 'B'
    """
    if value not in tuple(known):
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, known))}")


def finite(owner: str, name: str, value: Any) -> float:
    """Return a number as a float; refuse what is none, not finite, or no float can hold."""
    if type(value) is not float and (
        isinstance(value, bool) or not isinstance(value, numbers.Real)
    ):
        raise TypeError(f"{owner}: {name}={value!r} is not a number")
    try:
        if math.isfinite(value):
            return float(value)
    except OverflowError:
        raise ValueError(f"{owner}: {name} is an integer too large for a float") from None
    raise ValueError(f"{owner}: {name}={value} is not finite")


def check_real(owner: str, name: str, value: Any, *, positive: bool = False) -> float:
    """Return `value` as a float; refuse what is no finite number, or is negative (or zero).

    >>> check_real("job 'a'", "weight", 2)
    2.0
    """
    number = finite(owner, name, value)
    if number < 0 or (positive and number == 0):
        raise ValueError(f"{owner}: {name}={value} is not {'positive' if positive else '>= 0'}")
    return number


def real(record: object, owner: str, name: str, *, positive: bool = False) -> None:
    """Make a field a float, as of :func:`check_real`."""
    set_field(record, name, check_real(owner, name, getattr(record, name), positive=positive))


def unique(owner: str, kind: str, ids: Iterable[str]) -> None:
    """Refuse ids that occur twice."""
    for key, count in Counter(ids).items():
        if count > 1:
            raise ValueError(f"{owner}: {kind} id {key!r} occurs {count} times, ids are unique")


def sequence(name: str, values: Any, of: str) -> tuple[Any, ...]:
    """Return a sequence as a tuple; refuse a string, and what is none."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name}={values!r} is not a sequence of {of}")
    return tuple(values)


def tuple_of(record: object, owner: str, name: str, kind: type) -> None:
    """Make a field a tuple of records of one class."""
    items = sequence(f"{owner}: {name}", getattr(record, name), kind.__name__)
    for i, item in enumerate(items):
        if not isinstance(item, kind):
            raise TypeError(f"{owner}: {name}[{i}]={item!r} is not a {kind.__name__}")
    set_field(record, name, items)
