"""Cases of a long test, of which the plain run takes some only."""

import inspect
from collections.abc import Callable, Container, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest


def chosen(plain: Iterable[bool], values: Iterable[Any]) -> list[Any]:
    """Mark the values as slow that the plain run does not take; a tuple is of several arguments."""
    slow = pytest.mark.slow
    return [
        v if take else pytest.param(*(v if type(v) is tuple else (v,)), marks=slow)
        for take, v in zip(plain, values, strict=False)
    ]


def first(plain: int, values: Iterable[Any]) -> list[Any]:
    """Leave the first values to the plain run."""
    values = list(values)
    return chosen([k < plain for k in range(len(values))], values)


def each(step: int, values: Iterable[Any]) -> list[Any]:
    """Leave the first of each `step` values to the plain run."""
    values = list(values)
    return chosen([k % step == 0 for k in range(len(values))], values)


def but(slow: Container[Any], values: Iterable[Any]) -> list[Any]:
    """Leave to the plain run what is not named."""
    values = list(values)
    return chosen([v not in slow for v in values], values)


PLAIN = False  #: whether this is the plain run, as tests/conftest.py finds


def each_seed(
    values: Sequence[Any], *, plain: int | None = None, name: str = "seed"
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each seed, in the plain run for the first ones; a failure names its seed."""

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def looped(**given: Any) -> None:
            for value in values[: plain if PLAIN else None]:
                try:
                    test(**given, **{name: value})
                except Exception as error:
                    error.add_note(f"{name} = {value!r}")
                    raise

        whole = inspect.signature(test)
        others = [own for own in whole.parameters.values() if own.name != name]
        looped.__signature__ = whole.replace(parameters=others)  # type: ignore[attr-defined]
        return looped

    return decorated
