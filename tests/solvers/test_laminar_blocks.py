"""Laminar schedules: nested blocks, no contention, no gang that waits for its own GPUs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Cluster, Instance, RingJob, generate
from gangsched.registry import PROBLEMS
from gangsched.solvers import Status, Stop
from gangsched.solvers.ours.rar_ddls import laminar_core as laminar_blocks_core
from gangsched.solvers.ours.rar_ddls import laminar_filling_core
from gangsched.solvers.ours.rar_ddls.laminar import (
    Forest,
    LaminarParams,
    _assignment,
    _greedy,
    _Targets,
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
    ends = [(int(a), int(a) + (1 << level)) for a, level in forest.roots]
    assert [a for a, _ in ends] + [sum(sizes)] == [0] + [b for _, b in ends]
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


@settings(max_examples=40)
@given(rar_problems(max_jobs=7), st.integers(0, 3), st.floats(0.3, 1.5))
def test_a_filling_keeps_to_its_target(problem: RarDdls, seed: int, share: float) -> None:
    """Jobs that are left over fit on no GPU; the machine code does what plain Python does."""
    data = _assignment(problem)
    if data is None:
        return
    base = data.cost.max(axis=1).astype(float)
    upto = np.searchsorted(data.level, range(len(data.count)), side="right")
    target = max(1, int(share * base.max()))
    found = []
    for search in (laminar_filling_core.fillings, laminar_filling_core.fillings.py_func):
        price, rng = base.copy(), np.random.default_rng(seed)
        block, tries = search(
            data.level, data.cost, data.first, data.index, upto, data.forest.roots, base, price,
            target, 3, rng,
        )  # fmt: skip
        found.append((block.tolist(), tries, price.tolist()))
    assert found[0] == found[1]
    load = np.zeros(data.forest.gpu.size, dtype=int)
    for i, k in enumerate(block):
        if k >= 0:
            a = data.first[data.level[i], k]
            load[a : a + (1 << data.level[i])] += data.cost[i, k]
    assert load.max() <= target
    assert all(
        (load[data.first[0]] + data.cost[i, : load.size] > target).all()
        for i in np.flatnonzero(block < 0)
        if data.level[i] == 0
    )
    assert tries == 3 or block.min() >= 0


@pytest.mark.slow
def test_fillings_prove_what_annealing_does_not() -> None:
    """Seed 6 of the paper's workload B: no schedule is shorter than 360 slots."""
    make = PROBLEMS["rar-ddls"].settings["paper-b"]
    problem = make(jobs=None, nodes=None, seed=6)
    found = laminar(problem, params=LaminarParams(rounds=0, fillings=400, enough=360))
    assert not problem.violations(found.solution)
    assert problem.objective(found.solution) == 360 < laminar(problem).objective
    again = laminar(problem, params=LaminarParams(rounds=0, fillings=400, enough=360))
    assert again.solution == found.solution


def test_what_is_too_large_to_fill_is_annealed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = constant([1] * 7, [5, 4, 4, 3, 3, 3, 2], [3])
    filled = LaminarParams(rounds=0, fillings=50)
    assert laminar(problem, params=LaminarParams(rounds=0)).objective == 9
    assert laminar(problem, params=filled).objective == 8
    monkeypatch.setattr("gangsched.solvers.ours.rar_ddls.laminar.FILLING", 7 * 3 * 9 - 1)
    assert laminar(problem, params=filled).objective == 9


def test_targets_halve_the_distance_and_begin_again() -> None:
    targets, seen = _Targets(10, 20), []
    for load in (17, 14, 13, 13, 13, 12, 12):
        seen.append(targets.now)
        targets.note(load)
    assert seen == [10, 13, 11, 12, 11, 12, 10]
    assert (targets.longest, targets.passes) == (12, 3)


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
