"""Signals that are held back: what comes of them, and that handlers are there again."""

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gangsched.instances.interrupts import held
from handlers import INT, TERM, handlers, the_same_handlers_as_before  # noqa: F401

KILLED = 128 + TERM


@pytest.fixture
def own() -> Iterator[Callable[[int, Any], list[int]]]:
    """Set a handler of one's own; return the list of what it was told."""
    before = dict(zip((INT, TERM), handlers(), strict=True))

    def install(number: int, handler: Any = None) -> list[int]:
        told: list[int] = []
        signal.signal(number, handler or (lambda n, frame: told.append(n)))
        return told

    yield install
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "error", "code"), [(INT, KeyboardInterrupt, None), (TERM, SystemExit, KILLED)]
)
def test_what_came_is_raised_at_the_end(number: int, error: Any, code: int | None) -> None:
    before, reached = handlers(), []
    with pytest.raises(error) as found, held() as signals:  # noqa: PT012
        signal.raise_signal(number)
        reached.append(signals.came == [number])
        assert before[0] not in handlers()
    assert reached == [True]
    assert handlers() == before
    assert getattr(found.value, "code", None) == code


@pytest.mark.parametrize("number", [INT, TERM])
def test_whoever_clears_what_came_has_handled_it(number: int) -> None:
    before = handlers()
    with held() as signals:
        signal.raise_signal(number)
        signals.came.clear()
    assert handlers() == before


def test_an_error_in_between_restores_the_handlers_too() -> None:
    before = handlers()
    with pytest.raises(ZeroDivisionError), held():
        raise ZeroDivisionError
    assert handlers() == before
    with pytest.raises(KeyboardInterrupt) as found, held():  # noqa: PT012
        signal.raise_signal(INT)
        raise ZeroDivisionError
    assert isinstance(found.value.__context__, ZeroDivisionError)
    assert handlers() == before


def test_a_second_signal_is_passed_on_at_once_where_it_may_be() -> None:
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt), held(lambda: "ready" in reached):  # noqa: PT012
        signal.raise_signal(INT)
        signal.raise_signal(INT)
        reached += ["held", "ready"]
        signal.raise_signal(INT)
        reached.append("never")
    assert reached == ["held", "ready"]


def test_the_first_signal_says_what_is_raised() -> None:
    with pytest.raises(SystemExit) as found, held():  # noqa: PT012
        signal.raise_signal(TERM)
        signal.raise_signal(INT)
    assert found.value.code == KILLED


def test_a_handler_of_the_program_s_own_is_told_and_goes_on(own: Any) -> None:
    told, seen = own(INT), []
    with held() as signals:
        signal.raise_signal(INT)
        assert told == []
        signals.deliver()
        seen.append(list(told))
        signal.raise_signal(INT)
        assert (told, signals.came) == ([INT], [INT])  # it is held again
    assert (seen, told) == ([[INT]], [INT, INT])


def test_an_error_of_the_program_s_own_handler_is_raised(own: Any) -> None:
    class Enough(Exception):
        pass

    def handle(number: int, frame: Any) -> None:
        raise Enough

    own(TERM, handle)
    with pytest.raises(Enough) as found, held() as signals:  # noqa: PT012
        signal.raise_signal(TERM)
        signals.deliver()
    assert signals.raised is found.value
    assert signal.getsignal(TERM) is handle


def test_a_handler_may_put_another_in_its_place(own: Any) -> None:
    own(INT, lambda number, frame: signal.signal(INT, signal.default_int_handler))
    with pytest.raises(KeyboardInterrupt), held() as signals:  # noqa: PT012
        signal.raise_signal(INT)
        signals.deliver()
        signal.raise_signal(INT)
    assert signal.getsignal(INT) is signal.default_int_handler


@pytest.mark.parametrize("number", [INT, TERM])
def test_what_the_program_ignores_stays_ignored(own: Any, number: int) -> None:
    own(number, signal.SIG_IGN)
    with held() as signals:
        signal.raise_signal(number)
        assert signals.came == []
        assert signal.getsignal(number) is signal.SIG_IGN
    assert signal.getsignal(number) is signal.SIG_IGN


def test_one_within_another_passes_on_to_it() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), held() as outer:  # noqa: PT012
        with held() as inner:
            signal.raise_signal(INT)
            assert (inner.came, outer.came) == ([INT], [])
        assert (inner.came, outer.came) == ([], [INT])
        reached.append(True)
    assert reached == [True]


def test_nothing_is_held_in_other_threads() -> None:
    before, seen = handlers(), []

    def work() -> None:
        with held() as signals:
            seen.append((handlers(), signals.came))
            signals.deliver()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, [])]
