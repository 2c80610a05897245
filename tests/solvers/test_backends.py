"""Solvers of models by name, and their options."""

import pytest

from gangsched.analysis.exact import solve_exact
from gangsched.solvers import ExactParams, backends
from tiny import optimum, tiny

pytestmark = pytest.mark.usefixtures("no_search")  # it is about branch and bound


def test_own_names_of_options() -> None:
    given = {"gap": 0.1, "threads": 2, "seed": 3, "other": "x"}
    assert backends.named("gurobi_direct", given) == {
        "MIPGap": 0.1, "Threads": 2, "Seed": 3, "other": "x",
    }  # fmt: skip
    with pytest.raises(ValueError, match="option 'threads' of 'glpk' goes by its own name"):
        backends.named("glpk", given)


def test_an_unknown_solver_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="'nosuch' does not work here; these do: highs, cp-sat"):
        solve_exact(tiny(1), params=ExactParams(solver="nosuch"))
    assert capfd.readouterr() == ("", "")


def test_a_gap_leaves_a_gap() -> None:
    """The start is within it, and its bound is what the solver claims."""
    exact = ExactParams(solver="highs", form="compact")
    loose = ExactParams(solver="highs", form="compact", options={"gap": 0.9})
    problem = tiny(8)
    assert solve_exact(problem, params=exact).objective == optimum(8)
    found = solve_exact(problem, params=loose)
    assert found.objective is not None
    assert found.bound is not None
    assert found.bound.value <= optimum(8) <= found.objective


def test_options_reach_the_solver() -> None:
    given = {"threads": 1, "seed": 7}
    found = solve_exact(tiny(1), params=ExactParams(solver="highs", options=given))
    assert found.info["options"]["random_seed"] == 7
    with pytest.raises(ValueError, match="HiGHS takes no option speed=3"):
        solve_exact(tiny(1), params=ExactParams(solver="highs", options={"speed": 3}))
    named = ExactParams(solver="appsi_highs", options=given)
    assert solve_exact(tiny(1), params=named).objective == optimum(1)
