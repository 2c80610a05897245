"""Every solver of RAR-DDLS goes through the same test, which does not trust it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given, settings

from brute_force import fits, optimum, slot_by_slot
from gangsched.analysis.proofs.bound import bound as bound_of
from gangsched.analysis.proofs.makespan import verify_bound
from gangsched.formulations.rar_ddls.problem import RarDdls, estimates
from gangsched.instances import Cluster, Instance, Node
from gangsched.registry import PROBLEMS
from gangsched.solvers import LaminarParams, Result, Status, Stop, area_bound, laminar
from strategies import rar_problems

SOLVERS = dict(PROBLEMS["rar-ddls"].solvers)
SOLVERS["laminar"] = partial(laminar, params=LaminarParams(rounds=2, steps=2_000))  # quick
HEURISTICS = {name: solve for name, solve in SOLVERS.items() if name != "exact"}
#: proven factor of varphi T*, docs/theorems.md, P1 (i) and (ii)
FACTORS = dict.fromkeys(
    ("backfill-longest", "backfill-area", "backfill-gpus", "backfill-arrival"), 2
) | {"sjf-bco": 3}


def check(problem: RarDdls, result: Result) -> None:
    """Feasible by references that share nothing with the package, valued right, bounded right."""
    if result.solution is None:
        assert result.status in (Status.UNKNOWN, Status.INFEASIBLE)
        return
    rows = sorted(result.solution, key=lambda row: row.job)
    start, end = [row.start for row in rows], [row.end for row in rows]
    placement = [row.gpus for row in rows]
    assert [row.job for row in rows] == list(range(len(problem.jobs)))
    assert [sum(held.values()) for held in placement] == [job.gpus for job in problem.jobs]
    assert fits(problem, start, end, placement)
    assert slot_by_slot(problem, start, placement, max(end) + 1) == end
    assert result.objective == max(end)
    assert result.bound is not None
    assert result.bound.value <= result.objective


@pytest.mark.parametrize("name", HEURISTICS)
@settings(max_examples=25)
@given(problem=rar_problems(max_jobs=6))
def test_heuristics_are_feasible_bounded_and_repeatable(name: str, problem: RarDdls) -> None:
    result = HEURISTICS[name](problem, seed=1)
    check(problem, result)
    again = HEURISTICS[name](problem, seed=1)
    assert again == result
    assert again.info == result.info


@pytest.mark.parametrize("name", HEURISTICS)
@settings(max_examples=15)
@given(problem=rar_problems(max_jobs=5))
def test_names_do_not_matter(name: str, problem: RarDdls) -> None:
    """The last tie-break is the position in the input, never the name."""
    count = len(problem.jobs)
    jobs = [replace(job, id=f"z{count - i}") for i, job in enumerate(problem.jobs)]
    nodes = [Node(f"y{9 - i}", node.gpus) for i, node in enumerate(problem.instance.cluster.nodes)]
    renamed = replace(problem, instance=Instance(Cluster(nodes), jobs))
    assert HEURISTICS[name](renamed, seed=2) == HEURISTICS[name](problem, seed=2)


@settings(max_examples=40)
@given(problem=rar_problems(max_jobs=3, rate="floor"))
def test_no_heuristic_beats_the_optimum_and_guarantees_hold(problem: RarDdls) -> None:
    best = optimum(problem, limit=40)
    results = {name: solve(problem, seed=0) for name, solve in HEURISTICS.items()}
    objectives = [r.objective for r in results.values() if r.objective is not None]
    if best is None:  # nothing ends by slot 40
        assert all(value > 40 for value in objectives)
        return
    assert area_bound(problem).value <= best <= min(objectives, default=best)
    spread = estimates(problem).spread
    for name, factor in FACTORS.items():
        if spread < float("inf"):
            assert results[name].objective <= factor * Fraction(spread) * best


@settings(max_examples=60)
@given(problem=rar_problems(max_jobs=7))
def test_no_heuristic_beats_a_verified_bound(problem: RarDdls) -> None:
    bounds = [bound_of(problem), bound_of(problem, effort="full")]
    for bound in bounds:
        verify_bound(problem, bound)
    for solve in HEURISTICS.values():
        objective = solve(problem, seed=0).objective
        assert objective is None or objective >= max(bound.value for bound in bounds)


def test_the_bound_can_be_strict_and_the_solvers_can_differ() -> None:
    """On a seeded family the inequalities above are not all equations."""
    from gangsched.instances import generate

    gaps, spreads = 0, 0
    for seed in range(10):
        cluster = generate.paper_cluster(4, seed=seed)
        problem = RarDdls(generate.rar_workload(cluster, jobs=40, seed=seed, variant="B"))
        results = [solve(problem, seed=0) for solve in HEURISTICS.values()]
        gaps += sum(result.gap > 0 for result in results)
        spreads += len({result.objective for result in results}) > 1
    assert gaps >= 0.3 * 10 * len(HEURISTICS)
    assert spreads >= 3


@pytest.mark.parametrize("name", [n for n in HEURISTICS if n not in ("sjf-bco:printed",)])
def test_heuristics_complete_and_record_what_they_did(name: str) -> None:
    from gangsched.instances import generate

    cluster = generate.paper_cluster(4, seed=0)
    problem = RarDdls(generate.rar_workload(cluster, jobs=20, seed=0))
    result = HEURISTICS[name](problem, seed=3)
    assert result.stop is (Stop.PROVEN if result.gap == 0 and name == "laminar" else Stop.COMPLETED)
    assert result.info["seed"] == 3
    assert result.info["ties"]
    assert set(result.info["versions"]) == {"gangsched", "numpy", "python"}
