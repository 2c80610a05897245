"""Clairvoyant schedules for deadlines: compiled against plain, the nodes, and the optimum."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deadline_optimum import optimum, problem_of, random_problem
from filled_pool import Pool
from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.instances import Cluster, DeadlineJob, Instance, Node
from gangsched.instances.deadlines import testbed_workload
from gangsched.solvers.ours.repacking_core import place_gangs
from gangsched.solvers.ours.reward_pool import RewardSearchParams, priced_schedule, reward_search
from gangsched.solvers.ours.reward_pool_core import DRAWS, fill_pool

seeds = st.integers(0, 2**32 - 1)


def crowded(rng: np.random.Generator, jobs: int) -> DeadlineRewards:
    """More jobs with deadlines than four GPUs can serve, on one node."""
    rows = []
    for _ in range(jobs):
        work, gang = int(rng.integers(1, 12)), int(rng.choice([1, 1, 2, 3, 4]))
        due = work + int(rng.integers(0, 9))
        values = [(due, 100.0), (due + 3, 70.0), (due + 5, 20.0)][: int(rng.integers(1, 4))]
        rows.append((gang, int(rng.integers(0, 3 * jobs)), work, values))
    return problem_of(4, rows)


@given(seeds, st.integers(1, 60))
def test_the_compiled_search_is_the_plain_one(seed: int, jobs: int) -> None:
    rng = np.random.default_rng(seed)
    own = sorted(crowded(rng, jobs).jobs, key=lambda job: job.release)
    until = max(job.release + job.rewards[-1][0] for job in own)
    since = own[0].release
    edges = sorted({since, until, *rng.integers(since, until + 1, 9).tolist()})
    price = rng.integers(0, 5, len(edges) - 1).tolist()
    draws = rng.random((40, DRAWS))
    by_second = [0] * until
    for q, a, b in zip(price, edges, edges[1:], strict=False):
        by_second[a:b] = [q] * (b - a)
    rows = [[(job.release + d, v) for d, v in job.rewards] for job in own]
    pool = Pool(4, [(job.release, job.work or 0, job.gpus) for job in own], rows, by_second)
    pool.fill(draws.tolist())
    start, need, gang = (np.array(column) for column in zip(*pool.jobs, strict=True))
    ptr = np.cumsum([0, *map(len, rows)])
    stop = np.array([stop for one in rows for stop, _ in one])
    worth = np.array([value for one in rows for _, value in one])
    order = np.argsort(-worth[ptr[:-1]] / (need * gang), kind="stable")
    pieces, count = fill_pool(
        order, start, need, gang, ptr, stop, worth, np.array(edges),
        np.argsort(price, kind="stable"), 4, draws,
    )  # fmt: skip
    at = np.cumsum([0, *count])
    for j in range(len(own)):
        held = [t for a, b in pieces[at[j] : at[j + 1]].tolist() for t in range(a, b)]
        assert held == pool.held.get(j, [])


@given(seeds, st.integers(0, 30))
def test_no_schedule_wins_more_than_the_optimum(seed: int, moves: int) -> None:
    problem = random_problem(np.random.default_rng(seed))
    found = reward_search(problem, params=RewardSearchParams(moves=moves), seed=seed)
    assert problem.violations(found.solution) == []
    assert found.objective <= optimum(problem)


def test_it_is_often_the_optimum() -> None:
    rng = np.random.default_rng(9)
    problems = [random_problem(rng) for _ in range(100)]
    found = [(reward_search(p).objective, optimum(p)) for p in problems]
    assert sum(value == best > 0 for value, best in found) >= 70


def test_moves_help_and_the_seed_decides() -> None:
    problem = crowded(np.random.default_rng(1), 80)
    params = [RewardSearchParams(moves=moves) for moves in (0, 50, 5_000)]
    values = [reward_search(problem, params=own).objective for own in params]
    assert values == sorted(values)
    assert values[0] < values[-1] <= problem.top
    one, other = (priced_schedule(problem, moves=50, seed=seed) for seed in (3, 4))
    assert one == priced_schedule(problem, moves=50, seed=3)
    assert one != other


def test_what_is_won_on_the_pool_is_won_on_nodes() -> None:
    """Gangs of 1, 2, 4 on nodes of 4, and some of 8: all find their nodes after repacking."""
    instance = testbed_workload(240)
    sizes = {job.gpus for job in instance.jobs}
    assert {1, 2, 4, 8} <= sizes <= {1, 2, 4, 8, 16}
    nodes = DeadlineRewards(instance)
    pool = DeadlineRewards(replace(instance, cluster=Cluster.of_sizes([64])))
    schedule = priced_schedule(nodes, moves=200)
    assert nodes.violations(schedule) == []
    assert nodes.objective(schedule) == pool.objective(priced_schedule(pool, moves=200)) > 0


@given(seeds, st.sampled_from([(1, 2, 4, 8), (1, 2, 3), (3, 5)]))
@example(24, (1, 2, 3))  # one that is spread finds its first node free later
def test_gangs_find_nodes_where_they_fit(seed: int, gangs: tuple[int, ...]) -> None:
    """Powers of two on nodes of 4: on one node each, whoever comes and goes; others may spread."""
    rng = np.random.default_rng(seed)
    free, rows = np.full(40, 8), list[tuple[int, int, int]]()
    for _ in range(40):
        gang, start = int(rng.choice(gangs)), int(rng.integers(0, 39))
        end = int(rng.integers(start + 1, 41))
        if (free[start:end] >= gang).all():
            free[start:end] -= gang
            rows.append((start, end, gang))
    start, end, gang = (np.array(column) for column in zip(*rows, strict=True))
    by_start, by_end = np.argsort(start, kind="stable"), np.argsort(end, kind="stable")
    segments, entries = place_gangs(by_start, by_end, start, end, gang, np.array([4, 4]))
    held, service = np.zeros((2, 40), dtype=int), dict.fromkeys(range(len(rows)), 0)
    for piece, a, b, low, high in segments.tolist():
        used = entries[low:high]
        assert used[:, 1].sum() == gang[piece]
        assert len(used) == (2 if gang[piece] > 4 else 1) or 3 in gangs
        service[piece] += b - a
        assert start[piece] <= a < b <= end[piece]
        for node, count in used.tolist():
            held[node, a:b] += count
    assert (held <= 4).all()
    assert list(service.values()) == (end - start).tolist()


def test_a_gang_that_fits_no_node_is_spread_and_slower() -> None:
    """Two gangs of 3 on nodes of 4 and 2: together one is split, and too slow to be in time."""
    jobs = [DeadlineJob(id=i, gpus=3, work=4, rewards=[(4, 100)], split_speed=0.5) for i in "ab"]
    problem = DeadlineRewards(Instance(Cluster.of_sizes([4, 2]), jobs))
    schedule = priced_schedule(problem)
    assert problem.violations(schedule) == []
    assert problem.objective(schedule) == 100


def test_pinned_jobs_are_left_out() -> None:
    jobs = [
        DeadlineJob(id=f"j{pin}", gpus=1, work=4, rewards=[(4, 100)], pin=pin) for pin in ("", "a")
    ]
    nodes = [Node(id=model, gpus=2, model=model) for model in "ab"]
    found = [
        reward_search(DeadlineRewards(Instance(Cluster(some), jobs))).objective
        for some in (nodes, nodes[:1])
    ]
    assert found == [100, 200]


@pytest.mark.parametrize("rows", [[], [(1, 0, 4, [])], [(1, 0, 4, [(3, 10)])]])
def test_nothing_to_win(rows: Any) -> None:
    found = reward_search(problem_of(1, rows))
    assert found.objective == 0
    assert len(found.solution) == 0
