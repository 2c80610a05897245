"""How long machine code was compiled or loaded: no run time counts it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: when it began, and for how many seconds; one after the other
_waits: list[tuple[float, float]] = []
#: how often functions ran by Python because they were not compiled yet
_interpreted = [0]
#: called once, when something has to be compiled that is not on disk
_listeners: list[Callable[[], None]] = []


def note_wait(began: float) -> None:
    """Note that machine code was compiled or loaded from then until now."""
    _waits.append((began, time.perf_counter() - began))


def note_interpreted() -> None:
    """Note that Python ran what will be machine code."""
    _interpreted[0] += 1


def interpreted() -> int:
    """Return how often Python ran what will be machine code."""
    return _interpreted[0]


def note_compile() -> None:
    """Tell who wants to know that something is compiled now."""
    while _listeners:
        _listeners.pop()()


@contextmanager
def on_compile(listener: Callable[[], None]) -> Iterator[None]:
    """Let a function be called once inside, if something is compiled there."""
    _listeners.append(listener)
    try:
        yield
    finally:
        if listener in _listeners:
            _listeners.remove(listener)


def seconds_since(began: float) -> float:
    """Return the seconds since a time of `perf_counter` in which nothing was compiled or loaded.

    Examples
    --------
    >>> began = time.perf_counter()
    >>> note_wait(began)
    >>> seconds_since(began) < time.perf_counter() - began
    True
    """
    return max(time.perf_counter() - began - _waited(began), 0.0)


def without_waits(runtime: float) -> float:
    """Return a run time that ends now without what was compiled or loaded in it."""
    return max(runtime - _waited(time.perf_counter() - runtime), 0.0) if _waits else runtime


def _waited(began: float) -> float:
    """Seconds of waits that began since then."""
    return sum(seconds for start, seconds in _waits if start >= began)
