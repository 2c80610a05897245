"""A limit of time on what builds a model, which looks at it between the rows."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_end: ContextVar[float] = ContextVar("_end", default=math.inf)


class OutOfTime(BaseException):
    """The time was over; no `Exception`, so that nothing on its way handles it."""


@contextmanager
def limited(end: float) -> Iterator[None]:
    """Limit the time of what is done here; raise :class:`OutOfTime` when it is over.

    Parameters
    ----------
    end : float
        By `time.perf_counter`; infinite for no limit.

    Notes
    -----
    The limit is of this thread's context. It is noticed by :func:`check_time`, which the builders
    of models call before each row, and at the end.

    Examples
    --------
    >>> with limited(time.perf_counter() + 60):
    ...     print(sum(range(10)))
    45
    >>> try:
    ...     with limited(time.perf_counter()):
    ...         while True:
    ...             check_time()
    ... except OutOfTime:
    ...     print("over")
    over
    """
    token = _end.set(min(end, _end.get()))
    try:
        check_time()
        yield
        check_time()
    finally:
        _end.reset(token)


def check_time() -> None:
    """Raise :class:`OutOfTime` where a limit is over.

    Examples
    --------
    >>> check_time()  # there is no limit
    """
    if time_is_over():
        raise OutOfTime


def time_is_over() -> bool:
    """Return whether a limit is over.

    Examples
    --------
    >>> time_is_over()
    False
    """
    return time.perf_counter() >= _end.get()
