"""The signature that all solvers share: ``(problem, *, seed, time_limit, params) -> Result``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature
from typing import Any, Concatenate, Protocol, TypeVar, cast

from ..formulations.problem import check_class
from ..instances.check import at_least, check_real

P = TypeVar("P", contravariant=True)
R = TypeVar("R", covariant=True)

#: what docstrings need not say of seed and limit where a function takes them, and where it does not
USES = {
    "seed": ("int", "Of what is drawn.", "Not used: the algorithm draws nothing."),
    "time_limit": ("float, optional", "Wall seconds.", "Not used."),
}
RAISES = "Raises\n------\nTypeError\n    If given another problem."


@dataclass(frozen=True, slots=True, kw_only=True)
class NoParams:
    """Parameters of a solver that has none."""


class Solver(Protocol[P, R]):
    """What :func:`solver` makes of a function."""

    __name__: str
    params: type[Any]

    def __call__(
        self, problem: P, *, seed: int = 0, time_limit: float | None = None, params: Any = ...
    ) -> R:
        """Solve a problem."""


def solver(
    params: type[Any] = NoParams, *, of: type[Any] = object
) -> Callable[[Callable[Concatenate[P, ...], R]], Solver[P, R]]:
    """Return a decorator that checks seed, limit, parameters and problem before a solver runs.

    The function takes those of the three that it uses. Its docstring tells what is special about
    them; what is alike everywhere is added.

    Examples
    --------
    >>> @solver()
    ... def least(problem):
    ...     return min(problem)
    >>> least([3, 2], seed=1)
    2
    >>> least([3, 2], time_limit=-1)
    Traceback (most recent call last):
    ValueError: least: time_limit=-1 is not >= 0
    """
    kind = params

    def decorate(function: Callable[Concatenate[P, ...], R]) -> Solver[P, R]:
        owner = function.__name__
        taken = signature(function).parameters.keys() - {"problem"}

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
            given = {"seed": seed, "time_limit": time_limit, "params": params}
            return function(problem, **{name: given[name] for name in taken})

        made = cast("Any", checked)
        made.params, made.__doc__ = kind, _documented(function, taken, kind)
        made.__signature__ = _whole(function, kind)
        return cast("Solver[P, R]", made)

    return decorate


def _whole(function: Callable[..., Any], kind: type[Any]) -> Signature:
    """The signature with seed, limit and parameters."""
    own, only = signature(function), Parameter.KEYWORD_ONLY
    others = [
        Parameter("seed", only, default=0, annotation="int"),
        Parameter("time_limit", only, default=None, annotation="float | None"),
        Parameter("params", only, default=kind(), annotation=kind.__name__),
    ]
    return own.replace(parameters=[own.parameters["problem"], *others])


def _documented(function: Callable[..., Any], taken: set[str], kind: type[Any]) -> str:
    """The docstring, with what is alike everywhere."""
    parts = re.split(r"(?m)^(?=[A-Z]\w+\n-{3,}$)", cleandoc(function.__doc__ or ""))
    sections = {part.partition("\n")[0]: part.strip() for part in parts[1:]}
    types = {name: str(kind) for name, kind in function.__annotations__.items()}
    common = {"problem": f"problem : {types.get('problem', 'object')}"}
    for name, (form, used, unused) in USES.items():
        common[name] = f"{name} : {form}\n    {used if name in taken else unused}"
    common["params"] = f"params : {kind.__name__}"
    told = re.split(r"(?m)^(?=\w+ : )", sections.pop("Parameters", ""))[1:]
    common |= {entry.partition(" :")[0]: entry.strip() for entry in told}
    result = re.sub(r"\[(.+)\]", r" of \1", types.get("return", "object"))
    first = {
        "Parameters": "\n".join(["Parameters\n----------", *common.values()]),
        "Returns": sections.pop("Returns", f"Returns\n-------\n{result}"),
        "Raises": sections.pop("Raises", RAISES),
    }
    return "\n\n".join([parts[0].strip(), *first.values(), *sections.values()])
