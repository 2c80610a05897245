"""Laminar schedules: nested blocks, no contention, no gang that waits for its own GPUs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Cluster, Instance, RingJob, generate
from gangsched.solvers import Status, Stop
from gangsched.solvers.rar_ddls import laminar_core as laminar_blocks_core
from gangsched.solvers.rar_ddls.laminar import (
    Forest,
    LaminarParams,
    _assignment,
    _greedy,
    laminar,
)
from strategies import rar_problems

SIZES = st.lists(st.integers(1, 20), min_size=1, max_size=6)


@given(SIZES, st.integers(1, 6))
def test_blocks_are_nested_and_cover_every_gpu_once(sizes: list[int], levels: int) -> None:
    forest = Forest(sizes, levels)
    assert sorted(forest.gpu) == list(range(sum(sizes)))
    assert forest.first[0].size == sum(sizes)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    assert np.array_equal(forest.server, owner[forest.gpu])
    for level in range(1, levels):
        halves = set(forest.first[level - 1])
        for a in forest.first[level]:
            assert {a, a + (1 << (level - 1))} <= halves


@given(SIZES, st.integers(1, 6))
def test_each_server_has_at_most_one_block_that_spans_servers(
    sizes: list[int], levels: int
) -> None:
    """Spanning jobs never meet; all spanning blocks of a server are nested."""
    forest = Forest(sizes, levels)
    seen: dict[int, set[int]] = {}
    for level, first in enumerate(forest.first):
        for a in first:
            places = range(a, a + (1 << level))
            servers = set(forest.server[places].tolist())
            if len(servers) == 1:
                continue
            for s in servers:
                held = {p for p in places if forest.server[p] == s}
                assert seen.setdefault(s, held) == held


def constant(gangs: list[int], times: list[int], sizes: list[int]) -> RarDdls:
    jobs = [
        RingJob(id=f"j{i}", gpus=g, iterations=100 * t, gradient=0.0, base_time=0.0099)
        for i, (g, t) in enumerate(zip(gangs, times, strict=True))
    ]
    return RarDdls(Instance(Cluster.of_sizes(sizes), jobs), xi2=1e-6)


@settings(max_examples=60)
@given(rar_problems(max_jobs=7))
def test_gangs_never_wait_and_never_contend(problem: RarDdls) -> None:
    result = laminar(problem, params=LaminarParams(rounds=1, steps=200))
    if "fallback" in result.info or result.solution is None:
        return
    busy: dict[tuple[int, int], int] = {}
    for row in sorted(result.solution, key=lambda row: row.start):
        assert row.end - row.start == problem.duration(row.job, len(row.gpus))  # as if alone
        for s, devices in row.devices.items():
            for d in devices:
                gang = problem.jobs[row.job].gpus
                if gang & (gang - 1) == 0 and all(
                    job.gpus & (job.gpus - 1) == 0 for job in problem.jobs
                ):
                    assert busy.get((s, d), 0) == row.start  # without a gap
                busy[s, d] = row.end


@settings(max_examples=20)
@given(rar_problems(max_jobs=7), st.integers(0, 3))
def test_compiled_annealing_equals_plain_python(problem: RarDdls, seed: int) -> None:
    data = _assignment(problem)
    if data is None:
        return
    arrays = (data.level, data.cost, data.first, data.count, data.index, _greedy(data))
    target = int(data.cost.max()) // 2
    fast = laminar_blocks_core.anneal(*arrays, target, 100, np.random.default_rng(seed))
    slow = laminar_blocks_core.anneal.py_func(*arrays, target, 100, np.random.default_rng(seed))
    assert np.array_equal(fast, slow)


def test_annealing_takes_the_square_of_any_load() -> None:
    """4e9 slots squared are more than 64 bits hold: the excess would be negative."""
    excess = laminar_blocks_core._excess
    assert excess(4 * 10**9, 0) == excess.py_func(4 * 10**9, 0) == 1.6e19
    assert excess(5, 5) == excess.py_func(5, 5) == 0


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 4]), st.integers(1, 9)), min_size=1, max_size=9),
    st.lists(st.sampled_from([2, 3, 4, 5, 8]), min_size=2, max_size=4),
)
def test_greedy_keeps_its_guarantee(jobs: list[tuple[int, int]], sizes: list[int]) -> None:
    problem = constant([g for g, _ in jobs], [d for _, d in jobs], sizes)
    result = laminar(problem, params=LaminarParams(rounds=0))
    if "fallback" in result.info:
        return
    forest, longest = Forest(sizes, 3), max(d for _, d in jobs)
    bounds = [
        sum(g * d for g, d in jobs if g >= 1 << level) / (forest.first[level].size << level)
        for level in range(3)
        if forest.first[level].size
    ]
    assert result.objective <= max(bounds) + longest


def test_annealing_improves_on_greedy_up_to_the_bound() -> None:
    cluster = generate.paper_cluster(20, seed=0)
    problem = RarDdls(generate.rar_workload(cluster, seed=0))
    greedy, best = laminar(problem, params=LaminarParams(rounds=0)), laminar(problem)
    assert greedy.stop is Stop.COMPLETED
    assert best.objective < greedy.objective
    assert (best.status, best.stop) == (Status.OPTIMAL, Stop.PROVEN)


def test_a_gang_without_a_block_falls_back_to_backfilling() -> None:
    """Two servers of 6 GPUs merge to a block of 8, three of 3 do not to one of 8."""
    assert "fallback" not in laminar(constant([8], [5], [6, 6])).info
    result = laminar(constant([8, 1], [5, 5], [3, 3, 3]))
    assert result.info["fallback"].startswith("backfill-longest")
    assert result.objective == 5


def test_time_limit_zero_keeps_the_greedy_assignment() -> None:
    problem = RarDdls(generate.rar_workload(generate.paper_cluster(20, seed=0), seed=0))
    result = laminar(problem, time_limit=0.0)
    assert result.iterations == 0
    assert result.stop is Stop.TIME_LIMIT
    assert result.solution is not None


@pytest.mark.parametrize(("name", "value"), [("rounds", -1), ("steps", 0), ("steps", 1.5)])
def test_bad_parameters(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"LaminarParams: {name}={value} is not an integer >= \d"):
        LaminarParams(**{name: value})
