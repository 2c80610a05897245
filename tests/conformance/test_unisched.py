"""Every solver of UniSched goes through the same test, which does not trust it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from few import each_seed
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.formulations.unisched.compact import capacity_of_problem, options_of_problem
from gangsched.formulations.unisched.leases import LeasePhase
from gangsched.formulations.unisched.problem import UniSched
from gangsched.instances import Cluster, DeadlineJob, Instance, Node
from gangsched.solvers import OpportunityPriceParams
from gangsched.solvers.exact import branch_and_bound
from gangsched.solvers.result import Result, Status, Stop
from gangsched.solvers.unisched.selector import Selector
from gangsched.solvers.unisched.selectors import (
    UniSchedParams,
    density_greedy,
    lp_selector,
    opportunity_price,
)
from strategies import deadline_instances

SOLVERS: dict[str, Callable[..., Result[Any]]] = {
    "lp-selector": lp_selector,
    "lp-selector:exact": partial(lp_selector, params=UniSchedParams(exact=True)),
    "density-greedy": density_greedy,
    "opportunity-price": opportunity_price,
    "opportunity-price:2": partial(opportunity_price, params=OpportunityPriceParams(price=2.0)),
}
ALLOCATIONS = ["cells", "exact", "consolidated"]


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


def check(problem: UniSched, result: Result[Any]) -> None:
    """Feasible, valued right, bounded right."""
    assert result.solution is not None
    assert problem.violations(result.solution) == []
    assert result.objective == problem.objective(result.solution)
    assert result.bound is not None
    assert result.objective <= result.bound.value
    if result.bound.method != "branch and bound":
        verify_bound(problem, result.bound)


@pytest.mark.parametrize("name", SOLVERS)
@settings(max_examples=15, deadline=None)
@given(problem=problems())
def test_solvers_are_feasible_bounded_and_repeatable(name: str, problem: UniSched) -> None:
    result = SOLVERS[name](problem, seed=1)
    check(problem, result)
    again = SOLVERS[name](problem, seed=1)
    assert again == result
    assert again.info == result.info


@pytest.mark.parametrize("name", SOLVERS)
@settings(max_examples=10, deadline=None)
@given(problem=problems())
def test_names_do_not_matter(name: str, problem: UniSched) -> None:
    """The last tie-break is the position in the input, never the name."""
    count = len(problem.jobs)
    jobs = [replace(job, id=f"z{count - i}") for i, job in enumerate(problem.jobs)]
    nodes = [Node(f"y{9 - i}", node.gpus) for i, node in enumerate(problem.instance.cluster.nodes)]
    renamed = replace(problem, instance=Instance(Cluster(nodes), jobs))
    assert SOLVERS[name](renamed, seed=2) == SOLVERS[name](problem, seed=2)


def contended(seed: int, *, equal: bool = False) -> UniSched:
    """A few jobs that want more than there is."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([4, 8]))
    nodes = int(rng.integers(1, 3))
    gangs = [g for g in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12) if g <= size * nodes]
    gang = int(rng.choice([g for g in (1, 2, 4) if g <= size]))
    jobs = []
    for i in range(int(rng.integers(2, 7))):
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
        for solve in SOLVERS.values():
            result = solve(problem)
            check(problem, result)
            assert result.objective is not None
            assert result.objective <= best * (1 + 1e-9)
            assert result.bound is not None
            assert result.bound.value >= best * (1 - 1e-12)


@each_seed(range(15))
def test_the_compact_optimum_bounds_every_solver_and_is_exact_for_equal_gangs(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
@each_seed(range(25, 525))
def test_the_compact_optimum_bounds_every_solver_on_500_more(seed: int) -> None:
    compare(seed)


def test_the_bound_can_be_strict_and_the_solvers_can_differ() -> None:
    """On a seeded family the inequalities above are not all equations."""
    gaps, spreads, count = 0, 0, 0
    for seed in range(100, 115):
        results = [solve(contended(seed)) for solve in SOLVERS.values()]
        gaps += sum(result.gap > 0 for result in results)  # type: ignore[operator, misc]
        count += len(results)
        spreads += len({result.objective for result in results}) > 1
    assert gaps >= 0.3 * count
    assert spreads >= 2


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_complete_and_record_what_they_did(name: str) -> None:
    problem = contended(4)
    result = SOLVERS[name](problem, seed=3, time_limit=60)
    assert result.stop is (Stop.PROVEN if result.status is Status.OPTIMAL else Stop.COMPLETED)
    assert result.info["seed"] == 3
    assert result.info["ties"]
    assert set(result.info["versions"]) == {"gangsched", "numpy", "python"}
