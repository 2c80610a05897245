"""Chaudhary et al. 2020: claims on stride and lotteries, by code that shares nothing with them."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.analysis.papers.gandiva_fair.stride_claims import (
    STRIDE,
    Debt,
    Newcomers,
    Split,
    StrideGangs,
    table_2,
)
from gangsched.solvers.gandiva_fair.lottery import (
    GangLottery,
    lottery_backfill_quantum,
    lottery_backfill_shares,
)

CLAIMS = {claim.id: claim for claim in STRIDE}


def quanta_of(
    strides: list[Fraction], gangs: list[int], gpus: int, quanta: int
) -> list[frozenset[int]]:
    """Algorithm 1 in fractions."""
    passes, found = [Fraction(0)] * len(gangs), []
    for _ in range(quanta):
        room, now = gpus, set()
        for job in sorted(range(len(gangs)), key=lambda j: (passes[j], j)):
            if gangs[job] <= room:
                room -= gangs[job]
                now.add(job)
        for job in now:
            passes[job] += strides[job]
        found.append(frozenset(now))
    return found


def counts_of(gangs: list[int], quanta: int, *, printed: bool = False) -> list[int]:
    """Runs of jobs with equal tickets on 4 GPUs."""
    strides = [Fraction(1 if printed else gang) for gang in gangs]
    runs = quanta_of(strides, gangs, 4, quanta)
    return [sum(job in now for now in runs) for job in range(len(gangs))]


def test_table_2_by_fractions() -> None:
    for k in (1, 2, 9):
        assert counts_of([1, 1, 2, 2, 4, 4], 6 * k) == [4 * k, 4 * k, 2 * k, 2 * k, k, k]
        assert table_2(quanta=6 * k).counts() == [4 * k, 4 * k, 2 * k, 2 * k, k, k]


def test_table_2_needs_one_of_600_tie_orders() -> None:
    gangs, exact, others = [1, 1, 2, 2, 4, 4], 0, set()
    for order in permutations(range(6)):
        found = counts_of([gangs[i] for i in order], 6)
        by_job = tuple(found[order.index(i)] for i in range(6))
        wide_first = max(order.index(2), order.index(3)) < min(order.index(0), order.index(1))
        assert (by_job == (4, 4, 2, 2, 1, 1)) != wide_first
        exact += not wide_first
        others |= {by_job} if wide_first else set()
        assert table_2(order).counts() == found
    assert (exact, len(others)) == (600, 2)
    assert others == {(3, 3, 3, 2, 1, 1), (3, 3, 2, 3, 1, 1)}
    assert counts_of(gangs, 6, printed=True) == [2, 2, 2, 2, 2, 1]


@settings(max_examples=settings().max_examples)
@given(
    st.integers(1, 8).flatmap(
        lambda gpus: st.tuples(
            st.just(gpus),
            st.lists(st.tuples(st.integers(1, gpus), st.integers(1, 9)), min_size=1, max_size=6),
        )
    )
)
def test_no_run_comes_later_than_its_turn(case: tuple[int, list[tuple[int, int]]]) -> None:
    """Runs in the order of (k - 1) times the stride, then of jobs, number N at the latest in N."""
    gpus, jobs = case
    strides = [Fraction(gang, tickets) for gang, tickets in jobs]
    runs = quanta_of(strides, [gang for gang, _ in jobs], gpus, 40)
    turns = sorted((k * stride, job) for job, stride in enumerate(strides) for k in range(40))
    done = dict.fromkeys(range(len(jobs)), 0)
    for turn, (_, job) in enumerate(turns[:40]):
        done[job] += 1
        assert sum(job in now for now in runs[: turn + 1]) >= done[job]


def test_a_job_that_is_skipped_waits_forty_quanta() -> None:
    gangs, tickets = [4, 1, 1, 4, 4], [3, 8, 1, 5, 1]
    strides = [Fraction(gang, t) for gang, t in zip(gangs, tickets, strict=True)]
    runs = quanta_of(strides, gangs, 4, 100)
    assert runs == [frozenset(now) for now in StrideGangs(4, (*gangs,), (*tickets,)).runs()]
    at = [t for t, now in enumerate(runs) if 4 in now]
    gaps = [(a, b) for a, b in zip([-1, *at], at, strict=False) if b - a > 40]
    assert gaps
    (a, b) = gaps[0]
    idle = [t for t in range(a + 1, b) if sum(gangs[j] for j in runs[t]) < 4]
    assert b - idle[0] == 40


def test_a_debt_is_paid_to_who_did_not_lend() -> None:
    assert Debt(4, 300, 100).waits() == 99
    # from n / 100 on the newcomer runs until it is above n
    assert [Debt(4, 300, before).waits() for before in (1, 2, 10, 50)] == [1, 2, 10, 50]
    assert {Debt(4, 300, before, capped=True).waits() for before in (1, 2, 10, 50)} == {1}


def test_newcomers_starve_a_wide_job() -> None:
    assert Newcomers(4, 1).wide() == list(range(0, 200, 2))
    assert Newcomers(4, 3).wide() == list(range(0, 200, 4))
    assert Newcomers(4, 4).wide() == [0]
    assert Newcomers(4, 1, "size").wide() == []


def test_figure_2_is_one_fifth() -> None:
    assert Split(4, 2, 200, 100).share() == Fraction(1, 5)
    assert Split(4, 2, 200, 100, normalised=False).share() == Fraction(1, 3)


# --- lotteries -----------------------------------------------------------------------------------


def by_orders(weights: list[int], gangs: list[int], gpus: int) -> list[Fraction]:
    """Shares by all orders in which everybody may be drawn, without replacement."""
    shares = [Fraction(0)] * len(gangs)
    for order in permutations(range(len(gangs))):
        left, room, chance = sum(weights), gpus, Fraction(1)
        runs = []
        for job in order:
            chance *= Fraction(weights[job], left)
            left -= weights[job]
            if gangs[job] <= room:
                room -= gangs[job]
                runs.append(job)
        for job in runs:
            shares[job] += chance
    return shares


def test_the_lottery_by_all_orders() -> None:
    gangs = [1, 1, 2, 2, 4, 4]
    for weights, expected in (
        ([4, 4, 2, 2, 1, 1], ["4/5", "16/35", "1/14"]),
        ([1] * 6, ["5/9", "7/18", "1/6"]),
    ):
        found = lottery_backfill_shares(weights, gangs, 4)
        assert list(found) == by_orders(weights, gangs, 4)
        assert [str(share) for share in found[::2]] == expected
        assert sum(share * gang for share, gang in zip(found, gangs, strict=True)) == 4


def test_quanta_of_the_lottery_are_drawn_with_these_probabilities() -> None:
    rng, gangs, weights = np.random.default_rng(1), [1, 2, 3], [3, 2, 1]
    ran = np.zeros(3)
    for _ in range(3000):
        now = lottery_backfill_quantum(weights, gangs, 3, rng)
        assert sum(gangs[i] for i in now) == 3
        ran[now] += 1
    expected = [float(share) for share in by_orders(weights, gangs, 3)]
    assert (ran / 3000).tolist() == pytest.approx(expected, abs=0.04)


def test_every_claim_is_served_in_its_turn() -> None:
    lottery = GangLottery([4, 4, 2, 2, 1, 1], [1, 1, 2, 2, 4, 4], 4, seed=3)
    for _ in range(300):
        waiting = list(lottery.claims)
        now = lottery.quantum()
        assert sum(lottery.gangs[i] for i in now) == 4
        if waiting:
            assert now[0] == waiting[0]  # the oldest always fits
        for job in set(waiting) - set(now):
            assert lottery.claims.count(job) >= waiting.count(job)
        for job in set(waiting) & set(now):
            assert lottery.claims.count(job) >= waiting.count(job) - 1


def test_a_gang_that_never_fits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"job 1: gangs=5 exceeds the server's 4"):
        GangLottery([1, 1], [1, 5], 4)
