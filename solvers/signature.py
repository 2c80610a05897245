"""The signature that all solvers share: ``(problem, *, seed, time_limit, params) -> Result``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from ..formulations.problem import check_class
from ..instances.check import at_least, check_real

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class NoParams:
    """Parameters of a solver that has none."""


def solver(params: type[Any] = NoParams, *, of: type[Any] = object) -> Callable[[F], F]:
    """Return a decorator that checks seed, limit, parameters and problem before a solver runs.

    Examples
    --------
    >>> @solver()
    ... def least(problem, *, seed=0, time_limit=None, params=NoParams()):
    ...     return min(problem)
    >>> least([3, 2])
    2
    >>> least([3, 2], time_limit=-1)
    Traceback (most recent call last):
    ValueError: least: time_limit=-1 is not >= 0
    """
    kind = params

    def decorate(function: F) -> F:
        owner = function.__name__

        @wraps(function)
        def checked(
            problem: Any, *, seed: Any = 0, time_limit: Any = None, params: Any = None
        ) -> Any:
            seed = at_least(f"{owner}: seed", seed, 0)
            if time_limit is not None:
                check_real(owner, "time_limit", time_limit)
            if params is None:
                params = kind()
            elif not isinstance(params, kind):
                article = "an" if kind.__name__[0] in "AEIOU" else "a"
                raise TypeError(f"{owner}: params={params!r} is not {article} {kind.__name__}")
            check_class(owner, problem, of)
            return function(problem, seed=seed, time_limit=time_limit, params=params)

        checked.params = kind  # type: ignore[attr-defined]
        return cast("F", checked)

    return decorate
