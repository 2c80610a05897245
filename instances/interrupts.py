"""Ctrl-C and SIGTERM, held back while something must not be cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

SIGNALS = signal.SIGINT, signal.SIGTERM


class Held:
    """The signals that came while they were held back.

    Parameters
    ----------
    at_once : callable
        Whether a second signal may be passed on at once.

    Attributes
    ----------
    came : list of int
        Their numbers, in the order in which they came.
    raised : BaseException or None
        What a handler raised that was told of them.

    Examples
    --------
    >>> with held() as signals:
    ...     pass
    >>> signals.came
    []
    """

    def __init__(self, at_once: Callable[[], bool]) -> None:
        self.came: list[int] = []
        self.raised: BaseException | None = None
        self._at_once = at_once
        self._before: dict[int, object] = {}

    def deliver(self) -> None:
        """Tell the handlers of the program what came; go on holding where they return."""
        if not self.came:
            return
        self._restore()
        try:
            self._tell()
        finally:
            self._hold()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came.append(number)
        if len(self.came) > 1 and self._at_once():
            self.deliver()

    def _hold(self) -> None:
        """Take the place of the program's handlers, but not where it ignores a signal."""
        found = {number: signal.getsignal(number) for number in SIGNALS}
        # None: one that is not of Python, which could not be restored
        self._before = {n: h for n, h in found.items() if h not in (signal.SIG_IGN, None)}
        for number in self._before:
            signal.signal(number, self._note)

    def _restore(self) -> None:
        """Put the program's handlers back, all of them, even where one of them is called here."""
        with ExitStack() as stack:
            for number, handler in self._before.items():
                stack.callback(signal.signal, number, handler)  # type: ignore[arg-type]

    def _tell(self) -> None:
        """Pass on what came, each signal once; the handlers are the program's again."""
        came = dict.fromkeys(self.came)
        self.came.clear()
        try:
            for number in came:
                if number == signal.SIGTERM and signal.getsignal(number) == signal.SIG_DFL:
                    raise SystemExit(128 + number)
                signal.raise_signal(number)
        except BaseException as error:
            self.raised = error
            raise


@contextmanager
def held(at_once: Callable[[], bool] = lambda: True) -> Iterator[Held]:
    """Hold Ctrl-C and SIGTERM back, in the main thread; elsewhere nothing comes.

    When it is left, in whatever way, the handlers of the program are there again, and are told
    what came: Ctrl-C raises KeyboardInterrupt, SIGTERM raises SystemExit(143) where it would have
    killed the process, and a handler of the program's own does what it does. Who handles a signal
    otherwise clears `came` first.

    Parameters
    ----------
    at_once : callable, optional
        Asked when a second signal comes: whether it, and what came before, is passed on at once,
        as for one who does not want to wait. By default it is.

    Yields
    ------
    Held
        With what has come until now.

    Examples
    --------
    >>> try:
    ...     with held() as signals:
    ...         signal.raise_signal(signal.SIGTERM)
    ...         print("still here:", signals.came == [signal.SIGTERM])
    ... except SystemExit as end:
    ...     print(end.code)
    still here: True
    143
    """
    signals = Held(at_once)
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    try:
        signals._hold()
        yield signals
    finally:
        try:
            signals._restore()
        finally:
            signals._tell()
