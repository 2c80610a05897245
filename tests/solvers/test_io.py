"""Results as JSON: both ways, timing apart, and clear refusals."""

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.formulations import LtgfFluid, LtgfRound
from gangsched.formulations.problem import Sense
from gangsched.instances import Allocation, Schedule, Segment
from gangsched.instances.io import write_json
from gangsched.io import load, save
from gangsched.solvers import Bound, Result, Status, Stop
from gangsched.solvers.io import result_from_dict, result_to_dict
from malformed import FILES
from strategies import rar_problems, rar_schedules

SAME: Result[Schedule] = Result(
    solver="sjf-bco",
    sense=Sense.MIN,
    status=Status.FEASIBLE,
    stop=Stop.COMPLETED,
    solution=Schedule.of([Segment(0, 0, 4, {0: 2}), Segment(1, 4, 6, {0: 1, 1: 1})]),
    objective=6,
    bound=Bound(5, "dff", {"kind": "dff", "duals": (1, 2)}),
    iterations=17,
    info={"seed": 0, "params": {"kappa": None, "ties": ("U", "node")}},
    runtime=0.25,
    history=[(0.125, 8, None), (0.25, 6, 5)],
)
NOTHING: Result[Schedule] = Result(
    solver="toy", sense=Sense.MAX, status=Status.UNKNOWN, stop=Stop.TIME_LIMIT, runtime=60.5
)


# --- both ways -----------------------------------------------------------------------------------


def test_a_result_written_by_hand_is_read() -> None:
    read = result_from_dict(FILES["result"])
    assert read == SAME
    assert (read.runtime, read.history, read.info) == (SAME.runtime, SAME.history, SAME.info)


def test_missing_stays_null(tmp_path: Path) -> None:
    data = result_to_dict(NOTHING)
    assert [data[name] for name in ("solution", "objective", "bound")] == [None] * 3
    save(tmp_path / "nothing.json", NOTHING)
    read = load(tmp_path / "nothing.json")
    assert read == NOTHING
    assert (read.runtime, read.history) == (60.5, ())
    claim = replace(SAME, bound=Bound(5.5, "branch and bound"))
    assert result_to_dict(claim)["bound"]["certificate"] is None
    assert result_from_dict(result_to_dict(claim)) == claim


def test_allocations_are_solutions_too() -> None:
    shares = Allocation(("a", "b"), ("v100",), np.array([[1.5], [0.5]]))
    made = replace(SAME, sense=Sense.MAX, solution=shares, objective=2.5, bound=None)
    assert result_from_dict(result_to_dict(made)) == made


def test_integers_stay_integers(tmp_path: Path) -> None:
    """Above 2**53, where floats skip integers."""
    large = 2**60 + 1
    certificate = {"target": large, "duals": [large], "eps": 0.5}
    made = replace(SAME, objective=large, bound=Bound(large, "dff", certificate))
    save(tmp_path / "large.json", made)
    read = load(tmp_path / "large.json")
    assert read.bound is not None
    assert read.bound.certificate == certificate
    assert (read.objective, read.bound.value, type(read.objective)) == (large, large, int)
    real = replace(SAME, objective=6.0)
    save(tmp_path / "real.json", real)
    assert type(load(tmp_path / "real.json").objective) is float


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
numbers = st.integers(-9, 9) | st.floats(-9, 9)


@given(problem=rar_problems(), data=st.data())
def test_results_come_back(problem: Any, data: st.DataObject) -> None:
    schedule = data.draw(rar_schedules(problem))
    objective = problem.objective(schedule)
    certificate = data.draw(st.none() | st.dictionaries(st.text(max_size=3), plain, max_size=3))
    below = st.integers(0, objective) | st.floats(0, objective)
    made = Result.of(
        problem,
        schedule,
        solver=data.draw(st.text(max_size=5)),
        stop=data.draw(st.sampled_from([stop for stop in Stop if stop is not Stop.PROVEN])),
        bound=data.draw(
            st.none() | st.builds(Bound, below, st.text(max_size=5), st.just(certificate))
        ),
        runtime=data.draw(st.floats(0, 1e6)),
        iterations=data.draw(st.integers(0, 99)),
        info=data.draw(st.dictionaries(st.text(max_size=3), plain, max_size=3)),
        history=data.draw(st.lists(st.tuples(numbers, st.none() | numbers, st.none() | numbers))),
    )
    read = result_from_dict(json.loads(json.dumps(result_to_dict(made))))
    assert read == made
    assert read.info == made.info
    assert (read.runtime, read.history) == (made.runtime, made.history)
    untimed = result_from_dict(result_to_dict(made, timing=False))
    assert untimed == made
    assert (untimed.runtime, untimed.history) == (0, ())


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_equal_runs_give_equal_bytes_without_timing(tmp_path: Path, suffix: str) -> None:
    later = replace(SAME, runtime=9.0, history=[(9.0, 6, 5)])
    paths = [tmp_path / f"{name}.{suffix}" for name in ("one", "two")]
    for path, made in zip(paths, (SAME, later), strict=True):
        write_json(path, result_to_dict(made, timing=False))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    for path, made in zip(paths, (SAME, later), strict=True):
        save(path, made)
    assert paths[0].read_bytes() != paths[1].read_bytes()
    assert load(paths[0]) == load(paths[1])


# --- what cannot be written ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"info": {"theta": float("inf")}},
            ValueError,
            "result: info['theta']=inf is not finite, a file cannot hold it",
        ),
        (
            {"info": {"params": [Fraction(1, 2)]}},
            TypeError,
            "result: info['params'][0]=Fraction(1, 2) is not plain data, a file cannot hold it",
        ),
        ({"info": {1: 2}}, TypeError, "result: info: key 1 is not a string"),
        (
            {"bound": Bound(1, "lp", {"duals": {2: 3}})},
            TypeError,
            "result: bound.certificate['duals']: key 2 is not a string",
        ),
        (
            {"history": [(0.5, float("nan"), None)]},
            ValueError,
            "result: timing.history[0][1]=nan is not finite, a file cannot hold it",
        ),
        (
            {"solution": 6},
            TypeError,
            "result: solution=6 is not one of Schedule, Allocation",
        ),
    ],
)
def test_what_json_cannot_hold(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        result_to_dict(replace(SAME, **changes))


# --- malformed files -----------------------------------------------------------------------------


def test_a_malformed_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text("null", encoding="utf-8")
    with pytest.raises(
        ValueError, match=f"^{re.escape(f'{path}: ')}the file's content: None is not"
    ):
        load(path)
    path.write_text(json.dumps({**FILES["result"], "solver": 3}), encoding="utf-8")
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: result: solver=3')}"):
        load(path)


# --- solutions of LTGF ---------------------------------------------------------------------------


def test_selections_and_time_shares_come_back() -> None:
    """The files hold such ones; these are of problems."""
    chosen = LtgfRound(gpus=4, lease=9, attained=[0], fair=[1], share=[1], jobs=[(0, 1), (0, 2)])
    shared = LtgfFluid(4, (3, 3), (Fraction(2), Fraction(2)))
    turns = (((0,), Fraction(1, 3)), ((1,), Fraction(2, 3)))
    for problem, solution in ((chosen, (0, 1)), (chosen, ()), (shared, turns)):
        result = Result.of(problem, solution, solver="hand", stop=Stop.COMPLETED)  # type: ignore[arg-type]
        again = result_from_dict(json.loads(json.dumps(result_to_dict(result))))
        assert again == result
        assert again.solution == solution
