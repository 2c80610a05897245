"""Fair shares, aims and checker of a market of GPU models, against hand-worked numbers."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.formulations.gandiva_fair.problem import GpuMarket, effective_tickets
from gangsched.formulations.problem import Sense
from gangsched.instances import Allocation
from malformed import table

#: the paper's Table 3
TABLE3 = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]], models=("k80", "v100"))


def shares(rows: Any, market: GpuMarket = TABLE3) -> Allocation:
    return Allocation(market.users, market.models, rows)


def test_table_3_before_and_after_trading() -> None:
    assert TABLE3.fair_shares.tolist() == [[20, 4]] * 3
    assert TABLE3.fair_values.tolist() == [25, 40, 45]
    assert TABLE3.objective(TABLE3.fair()) == 110
    traded = shares([[40, 0], [20, 4], [0, 8]])
    assert TABLE3.values(traded).tolist() == [40, 40, 50]
    assert TABLE3.violations(traded) == []
    assert replace(TABLE3, aim="max-min").objective(traded) == 1.0
    nash = replace(TABLE3, aim="nash", tickets=[1, 1, 2])
    assert nash.objective(traded) == pytest.approx((2 * math.log(40) + 2 * math.log(50)) / 4)
    assert TABLE3.sense is Sense.MAX


def test_demand_limits_fair_shares_and_the_rest_is_shared() -> None:
    """Section 2.1: 2 of 8 GPUs, and 3 for each of the other two; here as 6 and 2 of two models."""
    market = GpuMarket([6, 2], [[1, 2]] * 3, demand=[math.inf, math.inf, 2])
    assert market.fair_shares.tolist() == [[2.25, 0.75], [2.25, 0.75], [1.5, 0.5]]
    assert market.fair_values.tolist() == [3.75, 3.75, 2.5]
    few = GpuMarket([6, 2], [[1, 2]] * 2, demand=[1, 3])
    assert few.fair_shares.sum(axis=1).tolist() == [1, 3]
    assert few.violations(few.fair()) == []


def test_tickets_weigh_fair_shares() -> None:
    market = GpuMarket([8], [[1], [1], [1]], tickets=[1, 2, 5], demand=[9, 9, 2])
    assert market.fair_shares.tolist() == [[2], [4], [2]]


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 40)), min_size=1, max_size=8),
    st.integers(1, 60),
)
def test_effective_tickets_level_what_is_not_capped(
    users: list[tuple[int, int]], gpus: int
) -> None:
    tickets, caps = [Fraction(t) for t, _ in users], [cap for _, cap in users]
    found = effective_tickets(tickets, caps, gpus)
    assert sum(found) == min(gpus, sum(caps))
    levels = [share / t for share, t in zip(found, tickets, strict=True)]
    below = {level for level, share, cap in zip(levels, found, caps, strict=True) if share < cap}
    assert len(below) <= 1
    assert all(share <= cap for share, cap in zip(found, caps, strict=True))
    assert all(level <= top for top in below for level in levels)


@pytest.mark.parametrize(
    ("rows", "message"),
    table("refused_values")["what_is_broken_is_named"],
)
def test_what_is_broken_is_named(rows: Any, message: str) -> None:
    assert TABLE3.violations(shares(rows)) == [message]


def test_caps_are_checked_and_nash_has_no_floors() -> None:
    market = replace(TABLE3, demand=[24, math.inf, math.inf])
    assert market.violations(shares([[40, 0], [20, 4], [0, 8]])) == [
        "cap: user 'u0' has 40.0 GPUs, can use 24.0"
    ]
    nash = replace(TABLE3, aim="nash")
    poor = shares([[0, 0], [60, 4], [0, 8]])
    assert nash.violations(poor) == []
    assert nash.objective(poor) == -math.inf
    assert len(TABLE3.violations(poor)) == 1


def test_other_names_are_refused() -> None:
    other = Allocation(("u0", "u1", "D"), TABLE3.models, TABLE3.fair_shares)
    (found,) = TABLE3.violations(other)
    assert found.startswith("reference: users and models (('u0', 'u1', 'D'), ('k80', 'v100'))")


def test_tolerance_is_relative_and_small() -> None:
    assert TABLE3.violations(shares([[20 * (1 + 1e-10), 4], [20, 4], [20, 4]])) == []
    assert TABLE3.violations(shares([[20 * (1 + 1e-8), 4], [20, 4], [20, 4]])) != []


def test_a_market_is_read_only_and_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(replace(TABLE3, aim="nash", demand=[1, 2, math.inf])))
    assert (again.aim, again.users, again.demand.tolist()) == (
        "nash",
        TABLE3.users,
        [1, 2, math.inf],
    )
    for array in (TABLE3.speeds, TABLE3.gpus, TABLE3.tickets, TABLE3.demand, TABLE3.fair_shares):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert GpuMarket([1], [[1]]).users == ("u0",)
    assert GpuMarket([1, 1], [[1, 2]]).models == ("g0", "g1")
