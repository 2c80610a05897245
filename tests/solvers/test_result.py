"""Results: what is in hand, why the run stopped, what is proven, and what is refused."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import numpy as np
import pytest

from gangsched.formulations import RarDdls
from gangsched.formulations.problem import Model, Problem, Sense
from gangsched.formulations.rar_ddls.problem import evaluate
from gangsched.instances import Cluster, Instance, RingJob
from gangsched.solvers import Bound, Refuted, Result, Status, Stop


@dataclass(frozen=True)
class Choice:
    """Choose one of some numbers; whatever is below 0 is infeasible."""

    sense: Sense
    forms = ()
    integral = False

    def objective(self, solution: float) -> float:
        return solution

    def violations(self, solution: float) -> list[str]:
        return [f"sign (1): {solution} is below 0"] if solution < 0 else []

    def build(self, form: str = "") -> Model[float]:
        raise NotImplementedError(form)


LEAST: Problem[float] = Choice(Sense.MIN)  # type: ignore[assignment]
MOST: Problem[float] = Choice(Sense.MAX)  # type: ignore[assignment]


def result(**fields: Any) -> Result[Any]:
    usual: dict[str, Any] = {"solver": "toy", "sense": Sense.MIN, "status": Status.FEASIBLE}
    return Result(**{**usual, "stop": Stop.COMPLETED, "solution": 12, "objective": 12, **fields})


# --- bounds --------------------------------------------------------------------------------------


def test_bounds_hold_plain_data_that_cannot_be_replaced() -> None:
    given = {"target": np.int64(11), "duals": (1, np.float64(0.5)), "of": {"j": (2,)}}
    bound = Bound(np.int64(12), "lp", given)
    given["target"] = 99
    assert bound.certificate == {"target": 11, "duals": [1, 0.5], "of": {"j": [2]}}
    assert type(bound.value) is int
    assert type(bound.certificate["target"]) is int
    with pytest.raises(TypeError, match="does not support item assignment"):
        bound.certificate["target"] = 12  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        bound.value = 13  # type: ignore[misc]


@pytest.mark.parametrize("certificate", [None, {}, {"kind": "area", "duals": [1, 2]}])
def test_bounds_survive_pickling_and_copying(certificate: dict[str, Any] | None) -> None:
    bound = Bound(12, "area", certificate)
    for again in (pickle.loads(pickle.dumps(bound)), copy.deepcopy(bound), copy.copy(bound)):
        assert again == bound
    assert bound != Bound(12, "area", {"kind": "dff"})


# --- what a result refuses -----------------------------------------------------------------------


REFUSALS = {
    ValueError: [
        ({"runtime": -0.1}, "runtime=-0.1 is negative"),
        ({"runtime": float("nan")}, "runtime=nan is not finite, what is missing is None"),
        ({"runtime": float("inf")}, "runtime=inf is not finite, what is missing is None"),
        ({"iterations": -1}, "iterations=-1 is negative"),
        ({"objective": float("nan")}, "objective=nan is not finite, what is missing is None"),
        ({"objective": float("inf")}, "objective=inf is not finite, what is missing is None"),
        ({"objective": None}, "objective and solution go together"),
        ({"solution": None}, "objective and solution go together"),
        ({"status": Status.UNKNOWN}, "status=unknown with a solution"),
        ({"status": Status.INFEASIBLE}, "status=infeasible with a solution"),
        ({"status": Status.UNBOUNDED}, "status=unbounded with a solution"),
        ({"solution": None, "objective": None}, "status=feasible without a solution"),
        (
            {"solution": None, "objective": None, "status": Status.OPTIMAL},
            "status=optimal without a solution",
        ),
        ({"status": Status.OPTIMAL}, "status=optimal with gap=None"),
        ({"status": Status.OPTIMAL, "bound": Bound(9, "area")}, "status=optimal with gap=0.25"),
        (
            {"bound": Bound(13, "area")},
            "bound=13 (area) is on the wrong side of objective=12 (minimise)",
        ),
        (
            {"bound": Bound(11, "dual"), "sense": Sense.MAX},
            "bound=11 (dual) is on the wrong side of objective=12 (maximise)",
        ),
    ],
    TypeError: [
        ({"runtime": None}, "runtime=None is not an integer or a float"),
        ({"objective": "12"}, "objective='12' is not an integer or a float"),
    ],
}


@pytest.mark.parametrize(
    ("fields", "message", "error"),
    [(*row, error) for error, rows in REFUSALS.items() for row in rows],
)
def test_refusals(fields: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape('result of toy: ' + message)}$"):
        result(**fields)


# --- gap and comparison --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sense", "objective", "bound", "gap"),
    [
        (Sense.MIN, 12, 9, 0.25),
        (Sense.MIN, 12, 12, 0.0),
        (Sense.MIN, 12.0, 12, 0.0),
        (Sense.MAX, 8, 10, 0.25),
        (Sense.MIN, -8, -10, 0.25),
        (Sense.MIN, 0, 0, 0.0),
        (Sense.MAX, 0, 3, float("inf")),
        (Sense.MIN, 12, None, None),
        (Sense.MIN, None, 12, None),
        (Sense.MIN, None, None, None),
    ],
)
def test_gap(sense: Sense, objective: float | None, bound: float | None, gap: Any) -> None:
    made = result(
        sense=sense,
        objective=objective,
        solution=None if objective is None else "any",
        status=Status.UNKNOWN if objective is None else Status.FEASIBLE,
        bound=None if bound is None else Bound(bound, "area"),
    )
    assert made.gap == gap


def test_comparison_leaves_timing_and_info_out() -> None:
    timed = result(runtime=3.5, history=[(0.1, 14, None), (0.2, 12, 9)], info={"seed": 1})
    assert timed == result()
    assert timed.history == ((0.1, 14, None), (0.2, 12, 9))
    assert timed != result(iterations=1)
    assert timed != result(bound=Bound(9, "area"))


def test_results_cannot_be_changed() -> None:
    made = result(info={"seed": 1})
    with pytest.raises(FrozenInstanceError):
        made.objective = 1  # type: ignore[misc]
    with pytest.raises(TypeError, match="does not support item assignment"):
        made.info["seed"] = 2  # type: ignore[index]


@pytest.mark.parametrize("bound", [None, Bound(9, "area", {"kind": "area"})])
def test_results_survive_pickling_and_copying(bound: Bound | None) -> None:
    made = result(bound=bound, runtime=1.5, history=[(0.5, 12, None)], info={"seed": 7})
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert again == made
        assert (again.runtime, again.history, again.info) == (1.5, made.history, {"seed": 7})


def test_a_result_with_a_schedule_survives_pickling() -> None:
    jobs = [RingJob(id="a", gpus=2, iterations=4, gradient=0, base_time=0.3)]
    problem = RarDdls(Instance(Cluster.of_sizes([2]), jobs))
    schedule = evaluate(problem, [0], [{0: 2}])
    made = Result.of(problem, schedule, solver="by hand", stop=Stop.COMPLETED)
    assert pickle.loads(pickle.dumps(made)) == made
    assert made.objective == 2  # floor(1 / .3001) = 3 iterations a slot


# --- the constructor that solvers use ------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "solution", "bound", "status", "gap"),
    [
        (LEAST, 12, 9, Status.FEASIBLE, 0.25),
        (LEAST, 12, 12, Status.OPTIMAL, 0),
        (LEAST, 12, None, Status.FEASIBLE, None),
        (MOST, 8, 10, Status.FEASIBLE, 0.25),
        (MOST, 8, 8, Status.OPTIMAL, 0),
        (LEAST, 0, 0, Status.OPTIMAL, 0),
        (LEAST, None, 9, Status.UNKNOWN, None),
        (MOST, None, None, Status.UNKNOWN, None),
    ],
)
def test_of_decides_status_and_objective(
    problem: Problem[float], solution: Any, bound: Any, status: Status, gap: float | None
) -> None:
    made = Result.of(
        problem,
        solution,
        solver="toy",
        stop=Stop.COMPLETED,
        bound=None if bound is None else Bound(bound, "area"),
        iterations=3,
        history=[(0.0, solution, bound)],
    )
    assert (made.status, made.gap, made.objective) == (status, gap, solution)
    assert (made.sense, made.stop, made.iterations) == (problem.sense, Stop.COMPLETED, 3)
    assert made.history == ((0.0, solution, bound),)


def test_of_records_versions_beside_the_solvers_info() -> None:
    made = Result.of(LEAST, 1, solver="toy", stop=Stop.COMPLETED, info={"seed": 4})
    assert made.info["seed"] == 4
    assert made.info["versions"]["numpy"] == np.__version__
    assert set(made.info["versions"]) == {"gangsched", "numpy", "python"}


def test_infeasible_is_a_status() -> None:
    made = Result.of(LEAST, None, solver="toy", stop=Stop.PROVEN, infeasible=True)
    assert (made.status, made.stop, made.gap) == (Status.INFEASIBLE, Stop.PROVEN, None)


@pytest.mark.parametrize("problem", [LEAST, MOST])
def test_of_takes_no_solvers_word(problem: Problem[float]) -> None:
    with pytest.raises(AssertionError, match=r"^bug in solver toy: sign \(1\): -1 is below 0$"):
        Result.of(problem, -1, solver="toy", stop=Stop.COMPLETED)
    with pytest.raises(
        AssertionError, match=r"^bug in solver toy: infeasible with a feasible solution$"
    ):
        Result.of(problem, 1, solver="toy", stop=Stop.PROVEN, infeasible=True)


@pytest.mark.parametrize(("problem", "bound"), [(LEAST, 13), (MOST, 11)])
def test_of_refuses_a_bound_that_the_solution_beats(problem: Problem[float], bound: int) -> None:
    with pytest.raises(ValueError, match=rf"bound={bound} \(lp\) is on the wrong side"):
        Result.of(problem, 12, solver="toy", stop=Stop.COMPLETED, bound=Bound(bound, "lp"))


# --- display -------------------------------------------------------------------------------------


def test_six_lines() -> None:
    made = result(bound=Bound(9, "area"), runtime=0.1234, stop=Stop.TIME_LIMIT)
    assert str(made) == (
        "solver    toy\n"
        "status    feasible, stopped: time limit\n"
        "objective 12 (minimise)\n"
        "bound     9 (area)\n"
        "gap       25.00 %\n"
        "runtime   0.123 s"
    )


def test_six_lines_of_nothing() -> None:
    made = result(solution=None, objective=None, status=Status.UNKNOWN, sense=Sense.MAX)
    assert str(made) == (
        "solver    toy\n"
        "status    unknown, stopped: completed\n"
        "objective none\n"
        "bound     none\n"
        "gap       unknown\n"
        "runtime   0.000 s"
    )


def test_whole_numbers_are_shown_in_full() -> None:
    made = result(objective=12345678, bound=Bound(1234567.5, "lp"))
    assert "objective 12345678 (minimise)" in str(made)
    assert "bound     1.23457e+06 (lp)" in str(made)


def test_html_shows_the_same_and_escapes() -> None:
    made = replace(result(bound=Bound(9, "x < y & z")), solver="<b>")
    page = made._repr_html_()
    assert page.startswith("<table>")
    assert page.count("<tr>") == 6
    assert "<td>&lt;b&gt;</td>" in page
    assert "<td>9 (x &lt; y &amp; z)</td>" in page


def test_refuted_is_no_result() -> None:
    refuted = Refuted("printed", 3, ("sign (1): 3 is odd",))
    assert not isinstance(refuted, Result)
    assert not hasattr(refuted, "objective")


def test_proven_needs_a_proof() -> None:
    with pytest.raises(ValueError, match="result of toy: stop=proven with status=unknown"):
        Result(solver="toy", sense=Sense.MIN, status=Status.UNKNOWN, stop=Stop.PROVEN)
