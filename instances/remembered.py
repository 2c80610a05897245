"""What is computed once for a thing that does not change, and lives as long as it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


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
            known[key] = weakref.ref(thing, lambda _: known.pop(key, None)), value
        return known[key][1]

    return found
