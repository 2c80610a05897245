"""Gang-aware stride: the paper's Table 2, stride scheduling by itself, and pools of servers."""

from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.solvers.gandiva_fair.stride import (
    effective_tickets,
    gang_aware_stride,
)
from gangsched.solvers.policies.gavel.water_filling import water_filling
from plain_sharing import PlainPool

EXAMPLES = settings().max_examples

# --- tickets -------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(1, 40), st.sampled_from([1.0, 2.0, 1 / 3, 0.7])),
        min_size=1,
        max_size=9,
    ),
    st.integers(1, 150),
)
def test_tickets_are_time_fractions_of_gangs(users: list[tuple[int, float]], gpus: int) -> None:
    demands, tickets = [demand for demand, _ in users], [weight for _, weight in users]
    expected = water_filling(demands, gpus, tickets) * demands
    found = effective_tickets(tickets, demands, gpus)
    assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-12)  # sums by kind, or not


# --- one server ----------------------------------------------------------------------------------


def runs(strides: list[float], gangs: list[int], gpus: int, quanta: int) -> list[list[int]]:
    """Who runs in each quantum."""
    passes, found = [0.0] * len(gangs), []
    for _ in range(quanta):
        now, passes = gang_aware_stride(passes, strides, gangs, gpus)
        found.append(now)
    return found


def test_table_2() -> None:
    """Two jobs each of 1, 2 and 4 GPUs, three equal users: 66.7, 33.3 and 16.7 % of the time."""
    worth = effective_tickets([1, 1, 1], [2, 4, 8], 4)
    strides = (np.array([2, 4, 8]) / worth).repeat(2).tolist()
    gangs = [1, 1, 2, 2, 4, 4]
    for quanta in (6, 12, 600):
        ran = runs(strides, gangs, 4, quanta)
        shares = [sum(i in now for now in ran) / quanta for i in range(6)]
        assert shares == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 3, 1 / 6, 1 / 6])
        assert all(sum(gangs[i] for i in now) == 4 for now in ran)  # no GPU is idle


def classic(strides: list[Fraction], quanta: int) -> list[int]:
    """Stride scheduling of one job a quantum."""
    passes, found = [Fraction(0)] * len(strides), []
    for _ in range(quanta):
        least = min(range(len(strides)), key=lambda i: (passes[i], i))
        passes[least] += strides[least]
        found.append(least)
    return found


GANGS = st.integers(1, 6).flatmap(
    lambda gpus: st.tuples(
        st.just(gpus),
        st.lists(st.tuples(st.integers(1, gpus), st.integers(1, 9)), min_size=2, max_size=7),
    )
)


@settings(max_examples=EXAMPLES)
@given(GANGS)
def test_no_run_comes_later_than_with_one_job_a_quantum(
    case: tuple[int, list[tuple[int, int]]],
) -> None:
    gpus, jobs = case
    gangs = [gang for gang, _ in jobs]
    if sum(gangs) <= gpus:
        gangs.append(gpus)  # somebody is always skipped
        jobs = [*jobs, (gpus, 1)]
    strides = [Fraction(1, tickets) for _, tickets in jobs]
    one = classic(strides, 60)
    gang = runs([float(s) for s in strides], gangs, gpus, 60)
    for i in range(len(jobs)):
        at = [t for t, j in enumerate(one) if j == i]
        came = [t for t, now in enumerate(gang) if i in now]
        assert len(came) >= len(at)
        assert all(mine <= other for mine, other in zip(came, at, strict=False))


@settings(max_examples=EXAMPLES)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(1, 400))
def test_one_gpu_is_shared_by_tickets_up_to_a_bound(tickets: list[int], quanta: int) -> None:
    """Passes stay within m and m + stride, so runs are m w_i + x_i with x_i from 0 to 1.

    They add up to the quanta, so m is the quanta less the sum of x: a job of share w among n has at
    most one run more than its share, and at most w (n - 1) less.
    """
    worth = effective_tickets(tickets, [1] * len(tickets), 1)
    ran = runs((1 / worth).tolist(), [1] * len(tickets), 1, quanta)
    ahead = np.bincount(np.concatenate(ran), minlength=len(tickets)) - worth * quanta
    assert (ahead <= 1 + 1e-6).all()
    assert (ahead >= -worth * (len(tickets) - 1) - 1e-6).all()


@given(GANGS)
def test_no_gpu_idles_that_a_skipped_gang_could_use(
    case: tuple[int, list[tuple[int, int]]],
) -> None:
    gpus, jobs = case
    gangs = [gang for gang, _ in jobs]
    for now in runs([1 / tickets for _, tickets in jobs], gangs, gpus, 30):
        left = gpus - sum(gangs[i] for i in now)
        assert 0 <= left < min((gangs[i] for i in range(len(gangs)) if i not in now), default=99)


def test_there_is_no_bound_against_a_fluid_share() -> None:
    """1 and 4 GPUs of equal tickets on 4 GPUs: the wide one runs in one of five quanta."""
    ran = runs([1.0, 4.0], [1, 4], 4, 100)
    assert sum(1 in now for now in ran) == 20


def test_nobody_pays_for_gpus_that_nobody_wanted() -> None:
    """Two run side by side for long; when a third comes the poorer one does not wait for long."""
    passes, strides = [0.0, 0.0], [0.01, 1.0]
    for _ in range(100):
        now, passes = gang_aware_stride(passes, strides, [3, 1], 4)
        assert sorted(now) == [0, 1]
    assert max(passes) - min(passes) <= 1.0 + 1e-9
    passes.append(min(passes))
    ran = []
    for _ in range(400):
        now, passes = gang_aware_stride(passes, [0.01, 1.0, 1.0], [3, 1, 1], 4)
        ran.append(now)
    waits = [t for t, now in enumerate(ran) if 1 in now]
    assert max(b - a for a, b in pairwise([-1, *waits])) <= 3


# --- servers -------------------------------------------------------------------------------------


def pool_of(sizes: list[int], rows: list[tuple[int, int, tuple[int, ...]]]) -> PlainPool:
    """Jobs (gang, user, servers)."""
    pool = PlainPool(sizes, 1 + max(user for _, user, _ in rows))
    for job, (gang, user, servers) in enumerate(rows):
        pool.add(job, gang, user, servers, 0)
    return pool


def test_large_jobs_and_servers_share_by_tickets() -> None:
    """Section 3.1: 200 tickets of small jobs on each of two servers, 100 of a job on both."""
    pool = pool_of([4, 4], [(1, 0, (n,)) for n in (0, 1) for _ in range(4)] + [(8, 1, (0, 1))])
    # 8 GPUs of user 0 for 400 tickets, 8 of user 1 for 100
    ran = [8 in pool.quantum([8 / 400, 8 / 100]) for _ in range(500)]
    assert sum(ran) == 100


def test_what_a_large_job_leaves_is_used() -> None:
    pool = pool_of([4, 4], [(6, 0, (0, 1)), (1, 1, (0,)), (2, 1, (1,)), (3, 1, (1,))])
    ran = [sorted(pool.quantum([1.0, 1.0])) for _ in range(2)]
    assert pool.nodes(0) == {0: 4, 1: 2}
    # servers first, as they are narrower; then the large job with the one that fits beside it
    assert ran == [[1, 2], [0, 2]]


def test_a_wide_job_does_not_starve_where_narrow_ones_keep_coming() -> None:
    pool = pool_of([4], [(4, 0, (0,))])
    wide = 0
    for t in range(1, 201):
        pool.add(t, 1, 0, (0,), t)
        running = pool.quantum([1.0])
        wide += 0 in running
        for job in running - {0}:
            pool.remove(job)
    assert wide >= 100


def test_what_is_free_within_a_quantum_goes_to_who_waits_there() -> None:
    pool = pool_of([2, 2], [(2, 0, (0,)), (1, 0, (0,)), (4, 0, (0, 1)), (2, 0, (1,)), (2, 0, (1,))])
    assert sorted(pool.quantum([1.0])) == [1, 3]
    # 3 has ended: 4 starts on its server, the others find too little on theirs
    pool.remove(3)
    assert pool.fill([1, 2], {1}, [1.0], 0.5) == {4}
    pool.remove(1)
    assert pool.fill([2, 0], {4}, [1.0], 0.5) == {0}


def test_a_wide_job_does_not_begin_beside_others_within_a_quantum() -> None:
    """It was skipped as its last server is given away; a later look must not find otherwise."""
    pool = pool_of([2, 2], [(1, 0, (1,)), (3, 0, (0, 1))])
    assert pool.quantum([1.0]) == {0}
    assert pool.fill([2, 1], {0}, [1.0], 0.5) == set()
    pool.remove(0)
    assert pool.fill([2, 2], set(), [1.0], 0.5) == {1}


@settings(max_examples=EXAMPLES)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 2), st.integers(0, 9)), max_size=12),
)
def test_no_server_gives_more_than_it_has(
    sizes: list[int], rows: list[tuple[int, int, int]]
) -> None:
    """Jobs come one a quantum and stay; every quantum uses no GPU twice, and everybody runs."""
    pool, ran = PlainPool(sizes, 3), set()
    for job, (gang, user, which) in enumerate(rows):
        first = which % len(sizes)
        reach = list(accumulate(sizes[first:]))
        if gang <= reach[-1]:
            last = first + sum(before < gang for before in reach)
            pool.add(job, gang, user, tuple(range(first, last + 1)), job)
    for _ in range(150):
        running = pool.quantum([1.0, 2.0, 0.5])
        used = [0] * len(sizes)
        for job in running:
            for server, count in pool.nodes(job).items():
                used[server] += count
        assert all(count <= size for count, size in zip(used, sizes, strict=True))
        free = [size - count for count, size in zip(used, sizes, strict=True)]
        assert pool.fill(free, running, [1.0, 2.0, 0.5], 0.5) == set()
        ran |= running
    assert ran == set(pool.claims)


def test_a_debt_from_other_tickets_is_forgiven() -> None:
    pool = PlainPool([1, 1], 2, debt_cap=False)
    for job in (0, 1):
        pool.add(job, 1, job, (0,), 0)
    pool.add(2, 2, 1, (0, 1), 0)
    for _ in range(3):
        pool.quantum([1.0, 1000.0])  # the second user owns next to nothing
    assert max(pool.passes()[0].values()) > 100
    pool.forgive([1.0, 2.0])
    jobs, servers = pool.passes()
    assert jobs[1] - jobs[0] <= 2
    assert jobs[2] <= min(jobs[2], *servers.values()) + 2
    ran = [pool.quantum([1.0, 2.0]) for _ in range(6)]
    assert any(1 in running for running in ran)
    assert any(2 in running for running in ran)


def test_users_that_have_jobs_need_tickets() -> None:
    pool = PlainPool([2], 2)
    pool.add(0, 1, 1, (0,), 0)
    assert pool.quantum([0.0, 1.0]) == {0}
    with pytest.raises(ValueError, match=r"user 1: strides=inf must be positive and finite as it"):
        pool.quantum([1.0, float("inf")])
    with pytest.raises(ValueError, match=r"user 1: strides=0.0 must be positive"):
        pool.fill([1], set(), [1.0, 0.0], 0.5)


def test_unknown_ties_are_refused() -> None:
    with pytest.raises(ValueError, match=r"stride pool: ties='id' must be 'arrival' or 'size'"):
        PlainPool([1], 1, ties="id")  # type: ignore[arg-type]
