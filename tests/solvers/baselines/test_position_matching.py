"""AlloX's matching equals other solvers on small cases and proves itself on large ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from gangsched.solvers.policies.allox.position_matching import (
    FORBIDDEN,
    Matching,
    optimality_violations,
    position_matching,
)

Ints = NDArray[np.int64]


@st.composite
def cases(draw: st.DrawFn, *, max_jobs: int = 9, forbidden: bool = True) -> tuple[Ints, Ints]:
    """Times and GPUs of a few models; times from narrow ranges, so that many are equal."""
    models, jobs = draw(st.integers(1, 4)), draw(st.integers(0, max_jobs))
    time = st.integers(1, draw(st.sampled_from([1, 3, 12, 10**9])))
    entry = time | st.just(FORBIDDEN) if forbidden else time
    rows = draw(st.lists(st.lists(entry, min_size=models, max_size=models), max_size=jobs))
    least = 0 if forbidden else 1
    gpus = draw(st.lists(st.integers(least, 3), min_size=models, max_size=models))
    return np.array(rows, dtype=np.int64).reshape(len(rows), models), np.array(gpus)


def columns(times: Ints, gpus: Ints) -> list[tuple[int, int]]:
    """Every column (g, k) that could be used, one for each GPU."""
    return [(g, k) for g, n in enumerate(gpus) for k in range(1, len(times) + 1) for _ in range(n)]


def by_assignment(times: Ints, gpus: Ints, delays: Sequence[int] = (0,) * 4) -> int:
    """The least cost by scipy's assignment of the whole matrix."""
    rows = times[((times != FORBIDDEN) & (gpus > 0)).any(axis=1)]
    big = 10**14
    each = columns(rows, gpus)
    cost = [[delays[g] + k * p[g] if p[g] > 0 else big for g, k in each] for p in rows]
    if not cost:
        return 0
    matrix = np.array(cost)
    return int(matrix[linear_sum_assignment(matrix)].sum())


def workload(jobs: int, models: int, seed: int, *, spread: float) -> Ints:
    """Times over several orders of magnitude, with speeds that differ by model and by job."""
    rng = np.random.default_rng(seed)
    work = np.exp(rng.normal(7, 1.5, (jobs, 1)))
    speed = (1 + np.arange(models)) * np.exp(rng.normal(0, spread, (jobs, models)))
    return np.ceil(work / speed).astype(np.int64)


@given(cases(), st.lists(st.integers(0, 12), min_size=4, max_size=4))
def test_gpus_that_become_free_later_cost_so_much_more(
    case: tuple[Ints, Ints], delays: list[int]
) -> None:
    times, gpus = case
    own = delays[: len(gpus)]
    matching = position_matching(times, gpus, own)
    assert matching.objective == by_assignment(times, gpus, delays)
    assert optimality_violations(times, gpus, matching, own) == []


def test_the_size_of_a_large_cluster_is_proven_optimal() -> None:
    times, gpus = workload(10_000, 3, 2, spread=0.3), [1000, 800, 700]
    matching = position_matching(times, gpus)
    assert optimality_violations(times, gpus, matching) == []
    assert (matching.model >= 0).all()


def test_large_times_are_exact() -> None:
    big = 2**59 // 5 - 1
    times = [[big - 1, big], [big, big], [big, big - 3]]
    matching = position_matching(times, [1, 1])
    assert matching.objective == (big - 1) + big + 2 * (big - 3)
    assert optimality_violations(times, [1, 1], matching) == []


@given(cases())
def test_longer_jobs_of_a_model_are_nearer_to_the_end_and_equal_ones_by_number(
    case: tuple[Ints, Ints],
) -> None:
    times, gpus = case
    matching = position_matching(times, gpus)
    for g in range(len(gpus)):
        jobs = np.flatnonzero(matching.model == g)
        line = sorted(jobs, key=lambda i: (-times[i, g], -i))
        assert [matching.position[i] for i in line] == [r // gpus[g] + 1 for r in range(len(line))]


# --- the check must see what is wrong -------------------------------------------------------------

TIMES, GPUS = [[3, 2], [10, 4], [FORBIDDEN, FORBIDDEN]], [1, 1]


def altered(**fields: Any) -> list[str]:
    """Violations of the optimal matching with other fields."""
    return optimality_violations(TIMES, GPUS, replace(position_matching(TIMES, GPUS), **fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": np.array([-1, 1, -1])}, "job 0 is not matched although it can run"),
        ({"model": np.array([0, 1, 1])}, "job 2 cannot have position 0 of model 1"),
        ({"position": np.array([0, 1, 0])}, "job 0 cannot have position 0 of model 0"),
        ({"position": np.array([9, 1, 0])}, "job 0 cannot have position 9 of model 0"),
        ({"model": np.array([1, 1, -1])}, "position 1 of model 1 has 2 jobs for 1 GPUs"),
        ({"model": np.array([1, 0, -1])}, "cost 12, prices' bound 7, objective 7 differ"),
        ({"objective": 6}, "cost 7, prices' bound 7, objective 6 differ"),
        ({"value": np.array([4, 5, 0])}, "job 0 is worth more than position 1 of model 0 costs"),
        ({"value": np.array([3, 5, 1])}, "job 2 cannot run, it is worth 0 and not 1"),
        ({"price": [np.array([-1]), np.array([1])]}, "prices of model 0 are too many, below 0"),
    ],
)
def test_a_wrong_matching_or_proof_is_refused(fields: dict[str, Any], message: str) -> None:
    assert any(found.startswith(message) for found in altered(**fields)), altered(**fields)


def test_a_feasible_matching_that_is_not_optimal_is_not_proven() -> None:
    best = position_matching(TIMES, GPUS)
    other = Matching(
        model=np.array([1, 1, -1]),
        position=np.array([2, 1, 0]),
        objective=8,
        value=best.value,
        price=best.price,
    )
    assert optimality_violations(TIMES, GPUS, other) == [
        "cost 8, prices' bound 7, objective 8 differ"
    ]


@pytest.mark.parametrize(
    ("times", "gpus", "kind", "message"),
    [
        ([3], [1], ValueError, "times has 1 dimensions, not 2"),
        ([[3]], 1, ValueError, "gpus has 0 dimensions, not 1"),
        ([[3.0]], [1], TypeError, "times of type float64 are not integers"),
        ([[True]], [1], TypeError, "times of type bool are not integers"),
        ([[3]], [1, 1], ValueError, "times has 1 models, gpus has 2"),
        ([[3]], [-1], ValueError, r"gpus\[0\]=-1 is below 0"),
        ([[3, 1], [2, 0]], [1, 1], ValueError, r"times\[1, 1\]=0 is below 1"),
        ([[2**58]], [1], ValueError, "times up to 288230376151711744 for 1 jobs exceed 64 bits"),
    ],
)
def test_bad_arguments_are_named(times: Any, gpus: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        position_matching(times, gpus)
