"""All solvers have one signature, and check what they are handed in the same words."""

import inspect
import math
import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from gangsched import registry
from gangsched.formulations import LtgfRound
from gangsched.solvers.ltgf.round import one_round
from gangsched.solvers.signature import NoParams

#: every solver of the project, once
SOLVERS = {
    row.place: replace(row, params={}).load()
    for entry in registry.PROBLEMS.values()
    for row in entry.solvers.values()
}
BAD = [
    ({"seed": 1.0}, TypeError, "seed=1.0 is not an integer"),
    ({"seed": True}, TypeError, "seed=True is not an integer"),
    ({"seed": -1}, ValueError, "seed=-1 is below 0"),
    ({"time_limit": -1}, ValueError, "time_limit=-1 is not >= 0"),
    ({"time_limit": math.nan}, ValueError, "time_limit=nan is not finite"),
    ({"time_limit": "1"}, TypeError, "time_limit='1' is not a number"),
    ({"speed": 3}, TypeError, "got an unexpected keyword argument 'speed'"),
    ({"params": 0}, TypeError, "params=0 is not an? "),
]


def test_there_is_one_signature() -> None:
    for name, solver in SOLVERS.items():
        params: Any = solver.params  # type: ignore[attr-defined]
        found = inspect.signature(solver, eval_str=False).parameters
        assert list(found) == ["problem", "seed", "time_limit", "params"], name
        first, *others = found.values()
        assert first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD, name
        assert {own.kind for own in others} == {inspect.Parameter.KEYWORD_ONLY}, name
        assert [own.default for own in others] == [0, None, params()], name
        assert is_dataclass(params), name
        assert params.__dataclass_params__.frozen, name  # type: ignore[attr-defined]


def test_the_docstring_tells_all() -> None:
    """What a function does not say of problem, seed, limit and parameters is added."""
    for name, solver in SOLVERS.items():
        titles = re.findall(r"(?m)^(\w+)\n-+$", solver.__doc__ or "")
        assert titles[:3] == ["Parameters", "Returns", "Raises"], name
        told = (solver.__doc__ or "").partition("Returns\n")[0]
        own = ["problem", "seed", "time_limit", "params"]
        assert re.findall(r"(?m)^(\w+) : ", told) == own, name


@pytest.mark.parametrize(("given", "error", "text"), BAD)
def test_what_they_are_handed_is_checked_first(
    given: dict[str, Any], error: type[Exception], text: str
) -> None:
    for solver in SOLVERS.values():
        with pytest.raises(error, match=rf"^{solver.__name__}(\(\))?:? {text}"):
            solver(None, **given)


def test_another_problem_is_refused() -> None:
    for solver in SOLVERS.values():
        with pytest.raises(TypeError, match=r"needs|takes|is for|problem"):
            solver(object())


def test_rows_name_fields_of_the_parameters() -> None:
    for entry in registry.PROBLEMS.values():
        for row in entry.solvers.values():
            names = {own.name for own in fields(replace(row, params={}).load().params)}  # type: ignore[attr-defined]
            assert {*row.params, *row.quick} <= names, row.place


def tiny(stem: str) -> Any:
    return registry.PROBLEMS[stem].tiny()


def test_no_parameters_are_no_parameters() -> None:
    problem = LtgfRound(
        gpus=4, lease=10, attained=[20, 0], fair=[20, 20], share=[2, 2],
        jobs=[(0, 4), (0, 1), (1, 3)],
    )  # fmt: skip
    assert one_round(problem, seed=3, time_limit=1.0, params=NoParams()) == one_round(problem)
