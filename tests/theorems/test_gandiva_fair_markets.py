"""What holds of trading, of the largest total and of equilibria, on random markets.

The quick run takes 60 markets, ``pytest -m slow`` 300 more, one in three with the speeds of
Table 1.
"""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from gangsched.analysis.proofs.verify import verify_bound
from gangsched.formulations.gandiva_fair.problem import Aim, GpuMarket
from gangsched.instances import Allocation
from gangsched.solvers import Result
from gangsched.solvers.gandiva_fair.market import best_allocation
from gangsched.solvers.gandiva_fair.trading import traded_allocation
from markets import any_market

QUICK = range(60)
ALL = pytest.param(range(60, 360), marks=pytest.mark.slow, id="all")
BOTH = pytest.mark.parametrize("seeds", [pytest.param(QUICK, id="quick"), ALL])
CAPPED = pytest.mark.parametrize("capped", [False, True])


def proven(market: GpuMarket, result: Result[Allocation]) -> Allocation:
    """The solution, after its prices have been found to verify its optimality."""
    assert result.solution is not None
    assert result.bound is not None
    verify_bound(market, result.bound)
    objective = market.objective(result.solution)
    assert result.bound.value - objective < 1e-6 * max(1, abs(objective))
    assert market.violations(result.solution) == []
    return result.solution


@BOTH
@CAPPED
def test_no_trading_beats_the_largest_total(seeds: range, capped: bool) -> None:
    """Trades keep supply, caps and floors, and raise the total; prices prove by how much more it
    could be raised."""
    gained = short = 0
    for seed in seeds:
        market = any_market(seed, capped=capped)
        traded = traded_allocation(market).solution
        assert traded is not None
        assert market.violations(traded) == []
        fair, total = market.objective(market.fair()), market.objective(traded)
        best = market.objective(proven(market, best_allocation(market)))
        assert fair * (1 - 1e-12) <= total <= best * (1 + 1e-9)
        gained += total > fair * (1 + 1e-6)
        short += total < best * (1 - 1e-6)
    assert gained > 0.3 * len(seeds)
    assert short > 0.3 * len(seeds)


@BOTH
def test_equilibrium_is_fair_and_free_of_envy(seeds: range) -> None:
    better = 0
    for seed in seeds:
        market = any_market(seed, aim="nash")
        solution = proven(market, best_allocation(market))
        values, fair = market.values(solution), market.fair_values
        assert (values >= fair * (1 - 1e-9)).all()
        better += bool((values > fair * (1 + 1e-6)).any())
        # what u would have of v's GPUs, as many as its tickets are of v's
        swapped = market.speeds @ solution.shares.T * market.tickets[:, None] / market.tickets
        assert (values[:, None] >= swapped * (1 - 1e-6)).all()
    assert better > 0.3 * len(seeds)


@BOTH
@CAPPED
def test_all_can_gain_as_much_as_the_least_gain(seeds: range, capped: bool) -> None:
    above = 0
    for seed in seeds:
        market = any_market(seed, capped=capped, aim="max-min")
        gain = market.objective(proven(market, best_allocation(market)))
        traded = traded_allocation(replace(market, aim="max-min"))
        assert traded.objective is not None
        assert gain >= max(1.0, traded.objective) - 1e-9
        above += gain > traded.objective + 1e-6
    assert above > 0.3 * len(seeds)


@BOTH
def test_optima_are_pareto_optimal(seeds: range) -> None:
    """With everybody kept at its value, the sum cannot be raised; from fair shares it can."""
    wasted = 0
    for seed in seeds[::4]:
        for aim in get_args(Aim):
            market = any_market(seed, aim=aim)
            values = market.values(best_allocation(market).solution)  # type: ignore[arg-type]
            assert largest_sum(market, values) <= values.sum() * (1 + 1e-6)
        fair = market.fair_values
        wasted += largest_sum(market, fair) > fair.sum() * (1 + 1e-6)
    assert wasted > 0.3 * len(seeds[::4])


def test_the_least_gain_says_nothing_of_who_cannot_share() -> None:
    """The first user's GPU is of no use to the others: half of it will do for the same least gain,
    so "max-min" need not be Pareto optimal where speeds are 0."""
    market = GpuMarket([1, 1], [[1, 0], [0, 1], [0, 1]], aim="max-min")
    half = Allocation(market.users, market.models, [[0.5, 0], [0, 0.5], [0, 0.5]])
    best = market.objective(proven(market, best_allocation(market)))
    assert market.objective(half) == best == 1.5
    assert largest_sum(market, market.values(half)) == pytest.approx(2)


def largest_sum(market: GpuMarket, floors: np.ndarray) -> float:
    """Largest sum of values with nobody below its floor, formulated anew."""
    from scipy.optimize import linprog

    users, models = market.speeds.shape
    cells = np.arange(users * models).reshape(users, models)
    rows = np.zeros((models + users, users * models))
    for g in range(models):
        rows[g, cells[:, g]] = 1
    for u in range(users):
        rows[models + u, cells[u]] = -market.speeds[u]
    limits = np.concatenate([market.gpus, -floors * (1 - 1e-9)])
    found = linprog(-market.speeds.ravel(), A_ub=rows, b_ub=limits, method="highs")
    assert found.status == 0
    return float(-found.fun)


def test_no_smaller_market_has_an_unfair_equilibrium() -> None:
    """One model or one user: Nash welfare gives at least the fair share, with any caps."""
    for seed in range(40):
        rng = np.random.default_rng([65, seed])
        users, models = (int(rng.integers(2, 6)), 1) if seed % 2 else (1, int(rng.integers(1, 5)))
        speeds = rng.integers(1, 9, (users, models))
        caps = rng.integers(1, 9, users)
        tickets = rng.choice([1, 2, 4], users)
        market = GpuMarket(rng.integers(1, 9, models), speeds, tickets, caps, aim="nash")
        values = market.values(proven(market, best_allocation(market)))
        assert (values >= market.fair_values * (1 - 1e-6)).all()
