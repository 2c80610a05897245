"""Calls with a limit: what they give, that they are stopped, and when they are not."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gangsched.solvers.limited import OutOfTime, within

#: seconds after which a test gives up
LONG = 60.0


@pytest.mark.parametrize("seconds", [None, LONG, 1e300])
def test_it_returns_what_the_call_returns_and_raises_what_it_raises(seconds: float | None) -> None:
    assert within(seconds, lambda: 7) == 7
    with pytest.raises(KeyError, match="no such thing"):
        within(seconds, lambda: {}["no such thing"])


def test_a_call_without_end_is_stopped() -> None:
    threads, reached = [], []

    def call() -> None:
        threads.append(threading.current_thread())
        try:
            while True:
                threading.Event().wait(0.001)
        except OutOfTime:
            reached.append(True)
            raise

    with pytest.raises(OutOfTime):
        within(0.05, call)
    threads[0].join(LONG)
    assert not threads[0].is_alive()
    assert reached == [True]


def test_the_import_of_a_module_is_not_broken_off() -> None:
    """What counts is the name of the file in which the importing code stands."""
    source = "for _ in range(20):\n    wait(0.01)\ndone.append(True)\n"
    code, done = compile(source, "<frozen importlib._bootstrap>", "exec"), list[Any]()

    def call() -> None:
        exec(code, {"wait": threading.Event().wait, "done": done})
        while True:
            threading.Event().wait(0.001)

    with pytest.raises(OutOfTime):
        within(0.01, call)
    assert done == [True]


def test_ctrl_c_stops_the_call_too(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[Any] = []
    join = threading.Thread.join

    def interrupted(self: Any, timeout: float | None = None) -> None:
        threads.append(self)
        monkeypatch.setattr(threading.Thread, "join", join)
        raise KeyboardInterrupt

    def call() -> None:
        while True:
            threading.Event().wait(0.001)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        within(LONG, call)
    threads[0].join(LONG)
    assert not threads[0].is_alive()
