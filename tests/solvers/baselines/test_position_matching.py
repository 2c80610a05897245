"""AlloX's matching equals other solvers on small cases and proves itself on large ones."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from gangsched.solvers.policies.allox.position_matching import (
    FORBIDDEN,
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


@pytest.mark.parametrize("gpus", [[1, 1, 1], [60, 50, 40]])
def test_a_hundred_jobs_cost_what_scipy_finds(gpus: list[int]) -> None:
    times = workload(100, 3, 1, spread=0.5)
    assert position_matching(times, gpus).objective == by_assignment(times, np.array(gpus))


def test_large_times_are_exact() -> None:
    big = 2**59 // 5 - 1
    times = [[big - 1, big], [big, big], [big, big - 3]]
    matching = position_matching(times, [1, 1])
    assert matching.objective == (big - 1) + big + 2 * (big - 3)


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
