"""What trading captures of the surplus: by hand on Table 3, and the table's shape."""

import numpy as np
import pytest

from gangsched.analysis.papers.gandiva_fair.surplus import RULES, captured, surplus_of
from gangsched.formulations.gandiva_fair.problem import GpuMarket
from gangsched.instances.heterogeneous import random_market
from gangsched.solvers.gandiva_fair.trading import trade

K80_V100 = ("k80", "v100")


def test_table_3_by_every_rule() -> None:
    market = GpuMarket(np.array([60, 12]), np.array([[1, 1.25], [1, 5], [1, 6.25]]))
    found = captured(market)
    assert found is not None
    # 110 fair, 133.75 at best; 130 by second price and in the equilibrium
    by_rule = dict(zip(RULES, found.tolist(), strict=True))
    assert by_rule["second"] == pytest.approx([20 / 23.75, 130 / 133.75, 1])
    assert by_rule["nash"] == pytest.approx([20 / 23.75, 130 / 133.75, 1], rel=1e-6)
    assert by_rule["second-of-all"] == pytest.approx([20 / 23.75, 130 / 133.75, 1])
    assert by_rule["midpoint"][2] == pytest.approx((45 - 40 / 9) / 40)  # B sells 8/9 at 5.625


def test_alike_users_have_nothing_to_gain() -> None:
    market = GpuMarket(np.array([6, 6]), np.array([[1, 2], [1, 2]]))
    assert captured(market) is None
    with pytest.raises(ValueError, match=r"1 users of \('k80', 'v100'\) have nothing to gain"):
        surplus_of(K80_V100, 1, markets=1)
    with pytest.raises(ValueError, match="markets=0, not at least 1"):
        surplus_of(K80_V100, 3, markets=0)


def test_means_are_those_of_the_markets() -> None:
    found = surplus_of(K80_V100, 4, rules=["second"], markets=3, seed=7)
    assert list(found) == ["second"]
    own = found["second"]
    worst = []
    for seed in (7, 8, 9):
        market = random_market(4, models=K80_V100, seed=seed)
        fair = np.outer(market.tickets / market.tickets.sum(), market.gpus)
        done = trade(fair, market.speeds)
        before, after = ((x * market.speeds).sum(axis=1) for x in (fair, done.shares))
        worst.append((after / before).min())
    assert own["worst"] == pytest.approx(np.mean(worst))
    assert 0 < own["least"] <= own["mean"] <= 1
    assert own["mean"] <= own["total"]


def test_rules_are_ranked_and_more_users_capture_less() -> None:
    few, many = (surplus_of(K80_V100, users, markets=25) for users in (3, 20))
    found = {rule: own["mean"] for rule, own in many.items()}
    assert found["second-of-all"] < 0.3 < found["second"] < found["midpoint"] < 1
    assert found["second"] < few["second"]["mean"]
    assert surplus_of(K80_V100, 20, markets=25) == many
