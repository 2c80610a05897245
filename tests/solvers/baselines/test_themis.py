"""Themis: the auction against brute force, who bids, and runs by hand."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.analysis.driving.drive import drive
from gangsched.instances import Cluster, Instance, Job
from gangsched.solvers.policies.themis.policy import Themis, auction

EXAMPLES = settings().max_examples // 2


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), max_size=9), st.integers(0, 12))
def test_the_auction_is_the_first_best_selection(jobs: list[tuple[int, int]], gpus: int) -> None:
    """Brute force in the order of preference: with the first job before without it."""
    gains, gangs = [g for g, _ in jobs], [d for _, d in jobs]
    every = [
        taken
        for taken in product((True, False), repeat=len(jobs))
        if sum(d for d, t in zip(gangs, taken, strict=True) if t) <= gpus
    ]
    best = max(every, key=lambda taken: sum(g for g, t in zip(gains, taken, strict=True) if t))
    assert auction(gains, gangs, gpus).tolist() == list(best)


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 3)), min_size=1, max_size=8),
    st.integers(1, 6),
    st.integers(1, 900),
)
def test_winners_maximise_the_product_of_valuations(
    jobs: list[tuple[int, int]], gpus: int, lease: int
) -> None:
    """In rationals, with T_sh in seconds: prod V is prod over losers of T_sh / (T_sh + L)."""
    shared, gangs = [t for t, _ in jobs], [d for _, d in jobs]

    def value(taken: tuple[bool, ...]) -> Fraction:
        lost = (Fraction(t, t + lease) for t, won in zip(shared, taken, strict=True) if not won)
        return math.prod(lost, start=Fraction(1))

    gains = [round(math.log1p(lease / t) * 2**40) for t in shared]
    won = tuple(auction(gains, gangs, gpus).tolist())
    best = max(
        value(taken)
        for taken in product((True, False), repeat=len(jobs))
        if sum(d for d, t in zip(gangs, taken, strict=True) if t) <= gpus
    )
    assert float(value(won) / best) > 1 - 1e-9


@pytest.mark.parametrize(
    ("fairness", "candidates", "bidders"),
    [(0.8, 1, 1), (0.8, 5, 1), (0.8, 6, 2), (0.7, 10, 3), (0.29, 100, 71), (0, 4, 4), (1, 9, 1)],
)
def test_so_many_bid(fairness: float, candidates: int, bidders: int) -> None:
    assert Themis(fairness=fairness)._bidders(candidates) == bidders


def ends(policy: Themis, sizes: list[int], rows: list[tuple[int, int, int]]) -> list[int]:
    """Completions of jobs (gpus, work, release) with leases of 60 s and no overhead."""
    jobs = [
        Job(id=f"j{i}", gpus=gpus, work=work, release=release)
        for i, (gpus, work, release) in enumerate(rows)
    ]
    run = drive(Instance(Cluster.of_sizes(sizes), jobs), policy, lease=60, overhead=0)
    found: list[int] = run.records.end.tolist()
    return found


def test_a_lease_is_worth_most_to_the_job_that_would_end_soonest() -> None:
    # all bid, T_sh = 60 and 600: log 2 > log 1.1, although the other comes first at equal rho = 1/2
    assert ends(Themis(fairness=0), [1], [(1, 600, 0), (1, 60, 0)]) == [660, 60]
    # only the first bids; at 60: rho = 600 / 1200 against 120 / 120
    assert ends(Themis(), [1], [(1, 600, 0), (1, 60, 0)]) == [660, 120]


def test_products_decide_and_not_sums() -> None:
    # 60 / 60 > 2 * 60 / 133, but 120 / 60 < (193 / 133) ** 2
    assert ends(Themis(fairness=0), [2], [(2, 60, 0), (1, 133, 0), (1, 133, 0)]) == [240, 133, 133]


def test_leftovers_go_to_the_others() -> None:
    # the only bidder takes 1 of 2 GPUs, the third job fits into the rest
    assert ends(Themis(), [2], [(1, 60, 0), (2, 60, 0), (1, 60, 0)]) == [60, 120, 60]
