"""Chaudhary et al. 2020: claims on trading, and what lies gain, worked out by hand."""

import pytest

from gangsched.analysis.papers.claim import Sides
from gangsched.analysis.papers.gandiva_fair.claims import TRADING, table_3
from gangsched.instances import Allocation

CLAIMS = {claim.id: claim for claim in TRADING}


def sides(claim: str, name: str) -> tuple[float, float]:
    one = CLAIMS[claim]
    found = one.check(one.counterexamples[name]())  # type: ignore[arg-type]
    assert isinstance(found, Sides)
    return float(found.left), float(found.right)


# --- by hand -------------------------------------------------------------------------------------


def test_24_jobs_on_40_slow_gpus_do_less_than_on_20_slow_and_4_fast_ones() -> None:
    assert sides("trading-fair-share-demand", "24 jobs of A in Table 3") == pytest.approx((25, 24))
    # a half GPU of each, one job each: B pays its half K80 for 2/15 of A's V100 at 3.75
    assert sides("trading-fair-share-demand", "one job each") == pytest.approx(
        (1.125, (1 / 2 - 2 / 15) * 1.25 + 1 - (1 / 2 - 2 / 15))
    )


def test_a_division_that_is_better_than_four_trades() -> None:
    market = table_3()
    better = Allocation(market.users, market.models, [[25, 0], [35, 1], [0, 11]])  # type: ignore[arg-type]
    assert market.violations(better) == []
    assert sides("trading-optimal", "Table 3") == pytest.approx(
        (market.objective(better), 130), rel=1e-5
    )
    # two users: at the seller's ratio 10 K80 pay for 8 of 8 V100, at the midpoint for 8/3
    assert sides("trading-optimal", "two users") == pytest.approx(
        (15 - 5 + 5 + 5 + 6.25 * 8, 10 + 10 + 4 / 3 * 1.25 + (4 + 8 / 3) * 6.25), rel=1e-4
    )


@pytest.mark.parametrize(
    ("name", "lied", "honest"),
    [
        # at 1.275: 20 K80 less 5.1, and 8 V100
        ("two users, the buyer at 1.3", 14.9 + 50, 5 + 50),
        # at 6.125 the buyer pays all it has; what is left of the V100s runs at 1.25
        ("two users, the seller at 6", 40 + (4 - 20 / 6.125) * 1.25, 35),
        # C pays for 20/6.2; B buys the rest at 3.725
        (
            "Table 3, B at 6.2",
            40 + (4 - 20 / 6.2) * (5 - 3.725),
            40,
        ),
        # it sells all of its V100 at 5, in place of the first user
        ("four users, the second at 1.2", 40, 32.8),
    ],
)
def test_who_lies_gains(name: str, lied: float, honest: float) -> None:
    assert sides("trading-truthful", name) == pytest.approx((lied, honest))


def test_the_last_of_four_users_bids_less_and_gets_more() -> None:
    # the third buys at 4.9 until it has no K80 left; what the last then pays is less than 5
    lied, honest = sides("trading-truthful", "four users, the last at 4.9")
    assert (round(lied, 1), honest) == (57.1, 50)


def test_a_slow_down_costs_nothing_where_no_gpu_is_left_to_run_slowly() -> None:
    assert sides("trading-slow-down", "four users, the second at 1.2") == pytest.approx((40, 32.8))
    # 4 of A at 1.26, the other 14.96 K80 at (1.26 + 6.25) / 2
    bought = (20 - 4 * 1.26) / 3.755
    assert sides("trading-slow-down", "three users, the second at 1.26") == pytest.approx(
        (20 + 14.96 + (4 - bought) * 1.26, 20 + 12 / 4.125 * 4.125 + (4 - 12 / 4.125) * 2)
    )


def test_at_the_sellers_ratio_b_recoups_its_slow_down_as_the_paper_says() -> None:
    # B pays 5 K80 for 4 V100; its 15 K80 run at 10/13
    lied, honest = sides("trading-seller-price", "B at 6.5 in Table 3")
    assert lied > 40
    assert honest == pytest.approx(40)


def test_what_trades_add_is_not_the_difference_of_ratios_off_the_k80() -> None:
    # midpoint p: 2 GPUs, each 3.17 (r_b - p) + 1.17 (p - r_a)
    low, high = 1.25 / 1.17, 5.14 / 3.17
    added, promised = sides("trading-increase", "P40 for V100")
    assert (added, promised) == pytest.approx(
        (2 * 4.34 * (high - low) / 2, 2 * (high - low)), abs=2e-6
    )


def test_with_a_cap_nash_welfare_leaves_a_user_below_its_fair_share() -> None:
    assert sides("nash-fair-share-demand", "one job each") == pytest.approx((1.5, 1.25), rel=1e-5)
