"""Calls with a limit of time on code that has none of its own."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from types import FrameType
from typing import Any, TypeVar

__all__ = ["OutOfTime", "within"]

T = TypeVar("T")

#: seconds after which a thread that could not be stopped is looked at again
PAUSE = 0.01


class OutOfTime(BaseException):
    """A call did not end within its time; no `Exception`, so that nothing on its way handles it."""


def within(seconds: float | None, call: Callable[[], T]) -> T:
    """Return what a call gives, or raise :class:`OutOfTime` when the time is over.

    Parameters
    ----------
    seconds : float or None
        Wall seconds; None: no limit.
    call : callable
        Runs in a thread of its own where there is a limit. Whatever it raises is raised.

    Notes
    -----
    The call is stopped where Python code comes next, but not while it imports modules. One in
    machine code is left behind, and its result is for nobody. Ctrl-C stops it as the limit does.

    Examples
    --------
    >>> within(60, lambda: 7)
    7
    """
    if seconds is None:
        return call()
    found: list[Any] = []

    def run() -> None:
        try:
            found.extend((True, context.run(call)))
        except BaseException as error:  # which belongs to the caller
            found.extend((False, error))

    context = copy_context()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        thread.join(min(max(seconds, 0.0), threading.TIMEOUT_MAX))
    finally:
        while thread.is_alive() and not _stopped(thread):
            thread.join(PAUSE)
    if not found:
        raise OutOfTime
    good, value = found
    if good:
        returned: T = value
        return returned
    raise value


def _stopped(thread: threading.Thread) -> bool:
    """Raise :class:`OutOfTime` in a thread, but where it imports modules: half of one stays."""
    number = thread.ident or 0
    frame: FrameType | None = sys._current_frames().get(number)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return False
        frame = frame.f_back
    error = ctypes.py_object(OutOfTime)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(number), error)
    return True
