"""Handlers of signals, which tests leave as they were."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest

INT, TERM = signal.SIGINT, signal.SIGTERM


def handlers() -> tuple[Any, Any]:
    return signal.getsignal(INT), signal.getsignal(TERM)


@pytest.fixture(autouse=True)
def the_same_handlers_as_before() -> Iterator[None]:
    before = handlers()
    yield
    after = handlers()
    for number, handler in zip((INT, TERM), before, strict=True):
        signal.signal(number, handler)
    assert after == before
