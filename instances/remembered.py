"""What is computed once for a thing that does not change, and lives as long as it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
R = TypeVar("R")


class once(Generic[R]):
    """A property that is computed when it is first read: `functools.cached_property`, but no lock.

    Up to Python 3.11 that one takes longer than what some properties compute.

    Parameters
    ----------
    function : callable
        Which computes it, with its docstring.

    Examples
    --------
    >>> class Thing:
    ...     @once
    ...     def length(self):
    ...         print("measured")
    ...         return 3
    >>> thing = Thing()
    >>> thing.length + thing.length
    measured
    6
    """

    def __init__(self, function: Callable[[Any], R]) -> None:
        self.function, self.name, self.__doc__ = function, function.__name__, function.__doc__

    @overload
    def __get__(self, thing: None, owner: Any) -> once[R]: ...

    @overload
    def __get__(self, thing: object, owner: Any) -> R: ...

    def __get__(self, thing: Any, owner: Any) -> once[R] | R:
        """Compute it, and let the object have it instead of this."""
        if thing is None:
            return self
        found = thing.__dict__[self.name] = self.function(thing)
        return found


def remembered(function: Callable[[T], R]) -> Callable[[T], R]:
    """Call a function once for each object that lives; equal objects are others.

    What it returns is shared: it must not be changed, nor hold the object, which would then live
    for ever. The object must be frozen, and allow weak references.

    Examples
    --------
    >>> class Thing: ...
    >>> calls = []
    >>> length = remembered(lambda thing: calls.append(thing) or 3)
    >>> thing = Thing()
    >>> length(thing), length(thing), len(calls)
    (3, 3, 1)
    """
    known: dict[int, tuple[weakref.ref[T], R]] = {}

    @wraps(function)
    def found(thing: T) -> R:
        key = id(thing)
        if key not in known:
            value = function(thing)
            remember(found, thing, value)
        return known[key][1]

    vars(found)["known"] = known
    return found


def remember(function: Callable[[T], R], thing: T, value: R) -> None:
    """Say what a :func:`remembered` function returns for an object, where it is known already.

    Examples
    --------
    >>> class Thing: ...
    >>> length = remembered(lambda thing: 3)
    >>> thing = Thing()
    >>> remember(length, thing, 4)
    >>> length(thing)
    4
    """
    known, key = vars(function)["known"], id(thing)
    known[key] = weakref.ref(thing, lambda _: known.pop(key, None)), value
