"""What the best division of GPUs is, by hand and by other means, and that its prices prove it."""

import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from few import each_seed
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.formulations.gandiva_fair.problem import Aim, GpuMarket
from gangsched.instances import Allocation
from gangsched.solvers import Result, Status, Stop
from gangsched.solvers.gandiva_fair.equilibrium import equilibrium
from gangsched.solvers.gandiva_fair.market import (
    AllocationParams,
    best_allocation,
    exchange_rates,
    market_bound,
)
from markets import any_market, largest_total

AIMS: tuple[Aim, ...] = get_args(Aim)
TABLE3 = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])


def best(market: GpuMarket) -> tuple[Allocation, dict[str, Any], Result[Allocation]]:
    """Solution, certificate and result, after what every solver has to keep."""
    result = best_allocation(market)
    assert result.solution is not None
    assert result.bound is not None
    assert result.bound.certificate is not None
    assert result.gap is not None
    verify_bound(market, result.bound)
    assert result.bound.value - result.objective < 1e-7 * max(abs(result.objective or 0), 1)
    assert market.violations(result.solution) == []
    return result.solution, dict(result.bound.certificate), result


# -- Table 3 ---------------------------------------------------------------------------------------


def test_the_largest_total_of_table_3() -> None:
    solution, certificate, result = best(TABLE3)
    assert (result.objective, result.status, result.stop) == (133.75, Status.OPTIMAL, Stop.PROVEN)
    assert solution.shares.tolist() == [[25, 0], [35, 1], [0, 11]]
    assert certificate == {
        "kind": "gpu prices", "prices": [1.25, 6.25], "floors": [0.25, 0.25, 0], "caps": [0, 0, 0],
    }  # fmt: skip
    assert exchange_rates(certificate).tolist() == [[1, 0.2], [5, 1]]


def test_the_fairest_gain_of_table_3() -> None:
    """All gain the factor z: A has K80s only, C V100s only, B the rest, so
    60 - 25 z + 5 (12 - 7.2 z) = 40 z, as 45 z / 6.25 = 7.2 z: z = 120 / 101."""
    market = replace(TABLE3, aim="max-min")
    solution, _, result = best(market)
    assert result.objective == pytest.approx(120 / 101, rel=1e-12)
    assert market.values(solution) == pytest.approx(120 / 101 * np.array([25, 40, 45]), rel=1e-9)
    assert solution.shares[0, 1] == solution.shares[2, 0] == 0
    assert market.values(solution).sum() == pytest.approx(130.69, abs=0.005)


def test_equilibrium_of_table_3_is_what_trading_gives() -> None:
    solution, certificate, _ = best(replace(TABLE3, aim="nash"))
    assert solution.shares == pytest.approx(np.array([[40, 0], [20, 4], [0, 8]]))
    assert exchange_rates(certificate)[1, 0] == pytest.approx(5)
    assert certificate["prices"] == pytest.approx([1 / 120, 5 / 120])


# -- other cases by hand ---------------------------------------------------------------------------


@each_seed(range(12))
def test_the_largest_total_is_that_of_the_best_vertex(seed: int) -> None:
    rng = np.random.default_rng([61, seed])
    users, models = ((2, 2), (2, 2), (1, 3), (3, 1))[seed % 4]
    speeds = rng.integers(1, 7, (users, models)) / 2
    market = GpuMarket(rng.integers(1, 9, models), speeds)
    _, _, result = best(market)
    assert result.objective == pytest.approx(float(largest_total(market)), rel=1e-12)


def test_what_a_cap_is_worth() -> None:
    """One user, who can use 3 of 4 + 2 GPUs: both fast ones and one slow one. The third GPU in use
    is worth the slow speed, a fast GPU 2 more; nobody needs the other slow ones."""
    market = GpuMarket([4, 2], [[1, 3]], demand=[3])
    solution, certificate, result = best(market)
    assert solution.shares.tolist() == [[1, 2]]
    assert (result.objective, result.status) == (7, Status.OPTIMAL)
    slope = 1 + certificate["floors"][0]
    assert certificate["prices"] == [0, 2 * slope]
    assert certificate["caps"] == [slope]
    assert exchange_rates(certificate)[1].tolist() == [math.inf, 1]
    assert math.isnan(exchange_rates(certificate)[0, 0])


# -- all markets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("aim", AIMS)
def test_optimal_and_proven(aim: Aim, capped: bool) -> None:
    for seed in range(25):
        market = any_market(seed, capped=capped, aim=aim)
        _, _, result = best(market)
        assert result.objective is not None
        fair = market.objective(market.fair())
        assert result.objective >= fair - 1e-9 * abs(fair)


@pytest.mark.parametrize("aim", AIMS)
def test_solved_at_200_users_and_4_models(aim: Aim) -> None:
    rng = np.random.default_rng(7)
    speeds = 1 + np.cumsum(rng.random((200, 4)), axis=1)
    for demand in (None, rng.integers(1, 9, 200)):
        best(GpuMarket([128, 48, 48, 24], speeds, rng.choice([1, 2, 4], 200), demand, aim=aim))


def test_the_closed_form_is_what_the_interior_point_method_finds() -> None:
    seen = 0
    for seed in range(60):
        market = any_market(seed, aim="nash")
        if len(market.models) != 2:
            continue
        seen += 1
        solution, certificate, result = best(market)
        assert result.iterations == 0
        weights = market.tickets / market.tickets.sum()
        other = equilibrium(weights, market.speeds, market.gpus * 1.0, market.demand)
        values = (market.speeds * other.shares).sum(axis=1)
        assert values == pytest.approx(market.values(solution), rel=1e-6)
        assert sum(p * n for p, n in zip(certificate["prices"], market.gpus, strict=True)) == (
            pytest.approx(1)
        )
    assert seen > 10


def test_equilibrium_in_units_of_any_size() -> None:
    """What a user's speeds are measured in changes nothing of who gets what."""
    market = any_market(7, aim="nash")
    scale = np.geomspace(1e-6, 1e6, len(market.users))[:, None]
    found, _, _ = best(replace(market, speeds=market.speeds * scale))
    ratio = (market.speeds * found.shares).sum(axis=1) / market.values(best(market)[0])
    assert ratio == pytest.approx(1, rel=1e-7)


@pytest.mark.parametrize("aim", AIMS)
def test_so_many_gpus_that_values_are_large_numbers(aim: Aim) -> None:
    """Table 3 a hundred thousand times over: each user gets as many times as much."""
    small, times = replace(TABLE3, aim=aim), 10**5
    large = GpuMarket(np.array([60, 12]) * times, small.speeds, aim=aim)
    found, few = best(large)[0], best(small)[0]
    assert large.values(found) / times == pytest.approx(small.values(few), rel=1e-6)


# -- bounds and refusals ---------------------------------------------------------------------------


@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("aim", AIMS)
def test_any_prices_make_a_bound(aim: Aim, capped: bool) -> None:
    """However wrong: it is verified, no lower than the optimum, and mostly above."""
    above = 0
    for seed in range(20):
        rng = np.random.default_rng([62, seed])
        market = any_market(seed, capped=capped, aim=aim)
        users, models = market.speeds.shape
        bound = market_bound(
            market, rng.random(models), rng.random(users), rng.random(users), method="guess"
        )
        verify_bound(market, bound)
        optimum = best_allocation(market).objective
        assert optimum is not None
        assert bound.value >= optimum - 1e-9
        above += bound.value > optimum + 1e-6
    assert above > 10


def test_bounds_that_prove_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="all floors are 0, which proves nothing"):
        market_bound(replace(TABLE3, aim="max-min"), [1, 1], [0] * 3, [0] * 3, method="none")
    with pytest.raises(ValueError, match="user 'u0' pays nothing for a model that it can use"):
        market_bound(replace(TABLE3, aim="nash"), [0, 1], [0] * 3, [0] * 3, method="none")


@pytest.mark.parametrize("aim", AIMS)
def test_by_another_aim_there_is_no_bound(aim: Aim) -> None:
    market = replace(TABLE3, aim="nash" if aim == "total" else "total")
    found = best_allocation(market, params=AllocationParams(aim=aim))
    own = best_allocation(replace(TABLE3, aim=aim))
    assert found.solution == own.solution
    assert found.bound is None
    assert found.objective == market.objective(own.solution)  # type: ignore[arg-type]
