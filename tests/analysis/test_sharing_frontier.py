"""The frontier: lines that hold everywhere, schedules above them, and the picture."""

from fractions import Fraction

import numpy as np
import pytest

import gangsched as gs
from few import each_seed
from gangsched.analysis.comparing.sharing_frontier import sharing_frontier
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.analysis.show.plots import to_svg
from gangsched.formulations import SharingIncentive
from gangsched.solvers import Bound
from sharing_optimum import READINGS, flows, random_instance


@each_seed(range(12))
def test_no_schedule_at_all_is_in_the_grey(seed: int) -> None:
    """Every pair that any schedule has, by brute force, is on or above all lines."""
    instance = random_instance(np.random.default_rng([16, seed]))
    reading = READINGS[seed % 3]
    found = sharing_frontier(instance, reading, limits=3, orders=8, rounds=40)  # type: ignore[arg-type]
    terms = SharingIncentive(instance, reading).terms()  # type: ignore[arg-type]
    names = [user.id for user in instance.users]
    for row in flows(instance):
        by_user = dict(zip(names, row, strict=True))
        worst = max(Fraction(by_user[u] - less, over) for u, (less, over) in terms.items())
        assert worst >= found.worst.value
        assert sum(row) >= found.least_flow(float(worst)) - 1e-9
    assert min(found.brackets()) >= 1
    ratios, sums = zip(*found.schedules, strict=True)
    assert list(ratios) == sorted(ratios)
    assert list(sums) == sorted(sums, reverse=True)


def test_a_line_is_proven_at_every_limit() -> None:
    instance = random_instance(np.random.default_rng([16, 3]), jobs=6)
    found = sharing_frontier(instance, "stretch", limits=3, orders=8, rounds=40)
    assert len(found.lines) == 3
    for limit in (1.1, 1.5, 2.5):
        problem = SharingIncentive(instance, "stretch", limit)
        least = found.least_flow(limit)
        proven = 0
        for _, bound in found.lines:
            for value in range(int(least) + 2, -1, -1):
                try:
                    verify_bound(problem, Bound(value, "line", bound.certificate))
                except ValueError:
                    continue
                proven = max(proven, value)
                break
        assert least - 1e-9 <= proven <= least + 1.001


def test_the_picture() -> None:
    instance = random_instance(np.random.default_rng([16, 5]), jobs=6)
    found = sharing_frontier(instance, "stretch", limits=2, orders=4, rounds=10)
    picture = to_svg(found.plot({"fifo": gs.drive(instance, "fifo", round_length=1, overhead=0)}))
    assert "impossible for anybody" in picture
    assert "fifo" in picture
    assert picture == to_svg(
        found.plot({"fifo": gs.drive(instance, "fifo", round_length=1, overhead=0)})
    )
    with pytest.raises(ValueError, match="limits=1 is not a whole number >= 2"):
        sharing_frontier(instance, limits=1)
