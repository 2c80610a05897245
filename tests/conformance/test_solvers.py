"""Every solver of RAR-DDLS and of UniSched goes through the same tests, which do not trust it."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import fits, optimum, slot_by_slot
from few import each_seed
from gangsched.analysis.proofs.bound import bound as bound_of
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.formulations.rar_ddls.problem import RarDdls, estimates
from gangsched.formulations.unisched.compact import capacity_of_problem, options_of_problem
from gangsched.formulations.unisched.leases import LeasePhase
from gangsched.formulations.unisched.problem import UniSched
from gangsched.instances import Cluster, DeadlineJob, Instance, Node, generate
from gangsched.registry import PROBLEMS
from gangsched.solvers import LaminarParams, area_bound, laminar
from gangsched.solvers.exact import branch_and_bound
from gangsched.solvers.result import Result, Status, Stop
from gangsched.solvers.unisched.selector import Selector
from gangsched.solvers.unisched.selectors import (
    UniSchedParams,
    density_greedy,
    lp_selector,
)
from strategies import deadline_instances, rar_problems

HEURISTICS: dict[str, Callable[..., Result[Any]]] = {
    **{name: solve for name, solve in PROBLEMS["rar-ddls"].solvers.items() if name != "exact"},
    "laminar": partial(laminar, params=LaminarParams(rounds=2, steps=2_000)),  # quick
}
#: proven factor of varphi T*, docs/theorems.md, P1 (i) and (ii)
FACTORS = dict.fromkeys(
    ("backfill-longest", "backfill-area", "backfill-gpus", "backfill-arrival"), 2
) | {"sjf-bco": 3}


LEASES: dict[str, Callable[..., Result[Any]]] = {
    "lp-selector": lp_selector,
    "lp-selector:exact": partial(lp_selector, params=UniSchedParams(exact=True)),
    "density-greedy": density_greedy,
}
ALLOCATIONS = ["cells", "exact", "consolidated"]


def check_makespan(problem: RarDdls, result: Result) -> None:
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


@st.composite
def problems(draw: st.DrawFn, max_jobs: int = 6) -> UniSched:
    instance = draw(deadline_instances(max_jobs=max_jobs))
    jobs = range(len(instance.jobs))
    sizes = instance.cluster.sizes
    free = draw(st.none() | st.tuples(*(st.integers(0, size) for size in sizes)))
    return UniSched(
        instance,
        allocations=draw(st.sampled_from(ALLOCATIONS)),  # type: ignore[arg-type]
        rounding=draw(st.sampled_from(["lossless", "paper"])),  # type: ignore[arg-type]
        sr_aware=draw(st.booleans()),
        lexicographic=draw(st.booleans()),
        phases={i: draw(st.sampled_from(list(LeasePhase))) for i in jobs},
        profilers=frozenset(draw(st.sets(st.sampled_from(jobs), max_size=1))),
        free=free,
    )


def check_leases(problem: UniSched, result: Result[Any]) -> None:
    """Feasible, valued right, bounded right."""
    assert result.solution is not None
    assert problem.violations(result.solution) == []
    assert result.objective == problem.objective(result.solution)
    assert result.bound is not None
    assert result.objective <= result.bound.value
    if result.bound.method != "branch and bound":
        verify_bound(problem, result.bound)


def contended(seed: int, *, equal: bool = False, jobs_below: int = 7) -> UniSched:
    """Jobs that want more than there is."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([4, 8]))
    nodes = int(rng.integers(1, 3))
    gangs = [g for g in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12) if g <= size * nodes]
    gang = int(rng.choice([g for g in (1, 2, 4) if g <= size]))
    jobs = []
    for i in range(int(rng.integers(2, jobs_below))):
        work = int(rng.integers(100, 2400))
        dues = np.unique((work * rng.uniform(0.8, 2.0, size=rng.integers(0, 3))).astype(int) + 1)
        jobs.append(
            DeadlineJob(
                id=f"j{i}",
                gpus=gang if equal else int(rng.choice(gangs)),
                work=work,
                rewards=[(int(due), float(100 - 30 * f)) for f, due in enumerate(dues)],
                split_speed=float(rng.choice([1.0, 0.9, 0.5])),
            )
        )
    free = None
    if seed % 2 and equal:  # else the rows of the compact form are not all multiples of the gang
        free = tuple(gang * int(c) for c in rng.integers(0, size // gang + 1, size=nodes))
    elif seed % 2:
        free = tuple(int(c) for c in rng.integers(0, size + 1, size=nodes))
    return UniSched(
        Instance(Cluster.of_sizes([size] * nodes), jobs),
        allocations=ALLOCATIONS[seed % 3],  # type: ignore[arg-type]
        free=free,
        sr_aware=bool(seed % 5),
    )


def crowd(seed: int) -> RarDdls:
    """More jobs of the paper than four servers can hold."""
    cluster = generate.paper_cluster(4, seed=seed)
    return RarDdls(generate.rar_workload(cluster, jobs=40, seed=seed, variant="B"))


#: solvers, their problems as they are drawn and as a crowd, and what a result has to be
FAMILIES: dict[str, tuple[Any, Any, Any, Any]] = {
    "rar-ddls": (HEURISTICS, rar_problems(max_jobs=6), crowd, check_makespan),
    "unisched": (LEASES, problems(), partial(contended, jobs_below=45), check_leases),
}
every = pytest.mark.parametrize(
    ("family", "name"), [(stem, name) for stem, family in FAMILIES.items() for name in family[0]]
)


@every
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_solvers_are_feasible_bounded_and_repeatable(
    family: str, name: str, data: st.DataObject
) -> None:
    solvers, drawn, _, check = FAMILIES[family]
    problem = data.draw(drawn)
    result = solvers[name](problem, seed=1)
    check(problem, result)
    again = solvers[name](problem, seed=1)
    assert again == result
    assert again.info == result.info


@every
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_names_do_not_matter(family: str, name: str, data: st.DataObject) -> None:
    """The last tie-break is the position in the input, never the name."""
    solvers, drawn, *_ = FAMILIES[family]
    problem = data.draw(drawn)
    count = len(problem.jobs)
    jobs = [replace(job, id=f"z{count - i}") for i, job in enumerate(problem.jobs)]
    nodes = [Node(f"y{9 - i}", node.gpus) for i, node in enumerate(problem.instance.cluster.nodes)]
    renamed = replace(problem, instance=Instance(Cluster(nodes), jobs))
    assert solvers[name](renamed, seed=2) == solvers[name](problem, seed=2)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_can_be_strict_and_the_solvers_can_differ(family: str) -> None:
    """On a seeded family the inequalities of this file are not all equations."""
    solvers, _, crowded, _ = FAMILIES[family]
    gaps, spreads = 0, 0
    for seed in range(100, 112):
        results = [solve(crowded(seed), seed=0) for solve in solvers.values()]
        gaps += sum(result.gap > 0 for result in results)
        spreads += len({result.objective for result in results}) > 1
    assert gaps >= 0.3 * 12 * len(solvers)
    assert spreads >= 2


@every
def test_solvers_complete_and_record_what_they_did(family: str, name: str) -> None:
    solvers, _, crowded, _ = FAMILIES[family]
    result = solvers[name](crowded(4), seed=3, time_limit=60)
    proven = result.status is Status.OPTIMAL
    assert result.stop in {Stop.COMPLETED, Stop.PROVEN if proven else Stop.COMPLETED}
    assert result.info["seed"] == 3
    assert result.info["ties"]
    assert set(result.info["versions"]) == {"gangsched", "numpy", "python"}


# --- RAR-DDLS ------------------------------------------------------------------------------------


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


@settings(max_examples=25)
@given(problem=rar_problems(max_jobs=7))
def test_no_heuristic_beats_a_verified_bound(problem: RarDdls) -> None:
    bounds = [bound_of(problem), bound_of(problem, effort="full")]
    for bound in bounds:
        verify_bound(problem, bound)
    for solve in HEURISTICS.values():
        objective = solve(problem, seed=0).objective
        assert objective is None or objective >= max(bound.value for bound in bounds)


# --- UniSched ------------------------------------------------------------------------------------


def compare(seed: int) -> None:
    """The compact form's optimum, the problem's, and what solvers find."""
    for equal in (False, True):
        problem = contended(seed, equal=equal)
        options = options_of_problem(problem)
        capacity = capacity_of_problem(problem, options.slots)
        form = Selector().select(options, capacity, exact=True).value
        best = branch_and_bound(problem).objective
        assert best is not None
        assert form == pytest.approx(best, rel=1e-9) if equal else form >= best * (1 - 1e-9)
        for solve in LEASES.values():
            result = solve(problem)
            check_leases(problem, result)
            assert result.objective is not None
            assert result.objective <= best * (1 + 1e-9)
            assert result.bound is not None
            assert result.bound.value >= best * (1 - 1e-12)


@each_seed(range(15))
def test_the_compact_optimum_bounds_every_solver_and_is_exact_for_equal_gangs(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
@each_seed(range(25, 105))
def test_the_compact_optimum_bounds_every_solver_on_80_more(seed: int) -> None:
    compare(seed)
