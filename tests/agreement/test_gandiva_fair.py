"""The CVXPY forms of a market say what the plain checker says, and agree with the fast solvers."""

from dataclasses import replace
from typing import get_args

import cvxpy as cp
import numpy as np
import pytest

from few import each_seed
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.formulations.gandiva_fair.forms import constraints, prices
from gangsched.formulations.gandiva_fair.problem import Aim, GpuMarket
from gangsched.instances import Allocation
from gangsched.solvers.gandiva_fair.market import best_allocation, market_bound
from markets import any_market

AIMS: tuple[Aim, ...] = get_args(Aim)
TABLE3 = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])


@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("aim", AIMS)
@each_seed(range(8))
def test_form_and_solver_have_the_same_optimum(seed: int, aim: Aim, capped: bool) -> None:
    market = any_market(seed, capped=capped, aim=aim)
    model = market.build()
    value = model.native.solve()
    result = best_allocation(market)
    assert result.objective == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert market.objective(model.extract()) == pytest.approx(value, rel=1e-6, abs=1e-6)
    bound = market_bound(market, **prices(market, model), method="conic")
    verify_bound(market, bound)
    assert bound.value == pytest.approx(result.objective, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("aim", AIMS)
def test_the_form_holds_exactly_where_the_checker_finds_nothing(aim: Aim, capped: bool) -> None:
    clean = broken = 0
    for seed in range(40):
        market = any_market(seed, capped=capped, aim=aim)
        model = market.build()
        rng = np.random.default_rng([63, seed])
        rows = market.fair_shares * rng.choice([0.9, 1, 1.1], market.speeds.shape)
        if seed % 2:
            best = best_allocation(market).solution
            assert best is not None
            rows = best.shares
        solution = Allocation(market.users, market.models, rows)
        model.embed(solution)
        found = {message.split(":")[0] for message in market.violations(solution)}
        said = {
            name
            for name, row in constraints(market, model).items()
            if np.max(row.violation()) > 1e-7
        }
        if aim == "max-min":  # the least ratio may be below 1, which no optimum's is
            found -= {"floor"}
        assert said == found
        assert model.native.objective.value == pytest.approx(market.objective(solution))
        clean, broken = clean + (not found), broken + bool(found)
    assert clean >= 15
    assert broken >= 5


def test_constraints_have_the_names_of_the_equations() -> None:
    capped = replace(TABLE3, demand=[30, np.inf, np.inf])
    for aim, last in (("total", ["floor"]), ("max-min", ["least"]), ("nash", [])):
        market = replace(capped, aim=aim)  # type: ignore[arg-type]
        assert list(constraints(market, market.build())) == ["supply", "cap", *last]
        free = replace(TABLE3, aim=aim)  # type: ignore[arg-type]
        assert list(constraints(free, free.build())) == ["supply", *last]


def test_dual_prices_of_table_3() -> None:
    model = TABLE3.build()
    assert model.kind == "cvxpy"
    assert model.exact
    model.native.solve()
    found = prices(TABLE3, model)
    assert found["prices"] == pytest.approx([1.25, 6.25], rel=1e-5)
    assert found["floors"] == pytest.approx([0.25, 0.25, 0], abs=1e-5)
    assert found["caps"] == [0, 0, 0]


def test_a_conic_value_is_no_bound() -> None:
    """It can be on the wrong side; what is evaluated at its prices cannot."""
    model = TABLE3.build()
    model.native.solve(solver=cp.CLARABEL)
    bound = market_bound(TABLE3, **prices(TABLE3, model), method="conic")
    assert bound.value >= 133.75
    verify_bound(TABLE3, bound)


def test_closed_form_and_conic_solver_agree() -> None:
    """To the root of what the conic solver's objective is exact to."""
    for seed in range(30):
        rng = np.random.default_rng([64, seed])
        users = int(rng.integers(1, 10))
        speeds = np.column_stack([np.ones(users), 1 + rng.integers(1, 12, users) / 2])
        market = GpuMarket(rng.integers(1, 60, 2), speeds, rng.choice([1, 2, 4], users), aim="nash")
        model = market.build()
        model.native.solve()
        solution = best_allocation(market).solution
        assert solution is not None
        assert market.values(model.extract()) == pytest.approx(market.values(solution), rel=1e-3)
