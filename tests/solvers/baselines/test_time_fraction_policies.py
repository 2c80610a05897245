"""Gavel's policies on the driver: closed forms equal the programs, leases follow the fractions."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.instances import Cluster, Instance, Job
from gangsched.solvers.policies.gavel.finish_time_fairness import (
    FinishTimeFairness,
    one_model_fractions,
)
from gangsched.solvers.policies.gavel.fraction_programs import fairest_finish
from gangsched.solvers.policies.gavel.max_min_fairness import MaxMinFairness
from gangsched.solvers.policies.gavel.water_filling import best_finish_time, water_filling
from reference_driver import drive


@st.composite
def gangs(draw: st.DrawFn) -> tuple[list[int], int]:
    gpus = draw(st.integers(1, 12))
    return draw(st.lists(st.integers(1, gpus), min_size=1, max_size=7)), gpus


@settings(max_examples=50)
@given(gangs(), st.data())
def test_water_filling_is_max_min_and_wastes_nothing(
    case: tuple[list[int], int], data: st.DataObject
) -> None:
    gang, gpus = np.array(case[0]), case[1]
    weight = st.sampled_from([0.5, 1.0, 3.0])
    weights = np.array(data.draw(st.lists(weight, min_size=gang.size, max_size=gang.size)))
    found = water_filling(gang, gpus, weights)
    assert gang @ found == pytest.approx(min(gpus, gang.sum()))
    assert (found > 0).all()
    assert (found <= 1).all()
    level = found * gang / weights
    # whoever has less than another always runs: nobody could give way to it
    assert (found[level < level.max() * (1 - 1e-9)] == 1).all()
    assert level.min() == pytest.approx(min(gpus / weights.sum(), (gang / weights).min()))


@settings(max_examples=30)
@given(gangs(), st.data())
def test_finish_time_fairness_on_one_model_equals_the_program(
    case: tuple[list[int], int], data: st.DataObject
) -> None:
    gang, gpus = np.array(case[0]), case[1]
    number = st.floats(0.5, 200)
    left, since, alone = (
        np.array(data.draw(st.lists(number, min_size=gang.size, max_size=gang.size)))
        for _ in range(3)
    )
    whole = alone + left / np.minimum(1.0, gpus / (gang.size * gang))
    found = one_model_fractions(gang, gpus, left, since, whole)
    assert gang @ found <= gpus * (1 + 1e-9)
    _, best = fairest_finish(np.ones((gang.size, 1)), gang, np.array([gpus]), left, since, whole)
    assert ((since + left / found) / whole).max() == pytest.approx(best, rel=1e-6)


@settings(max_examples=60)
@given(gangs(), st.data())
def test_the_best_finish_time_is_that_of_bisection(
    case: tuple[list[int], int], data: st.DataObject
) -> None:
    """In rationals, until the bracket is a billionth of a billionth wide."""
    gang, gpus = case
    seconds = st.integers(1, 10**6)
    left, since, alone = (
        data.draw(st.lists(seconds, min_size=len(gang), max_size=len(gang))) for _ in range(3)
    )
    whole = [a + b for a, b in zip(left, alone, strict=True)]
    rows = list(zip(gang, left, since, whole, strict=True))
    low = max(Fraction(t + r, d) for _, r, t, d in rows)

    def fits(r: Fraction) -> bool:
        return sum(s * min(Fraction(1), Fraction(a) / (r * d - t)) for s, a, t, d in rows) <= gpus

    high = low
    if not fits(low):
        high = 2 * low
        while not fits(high):
            high *= 2
        while high - low > high / 10**18:
            middle = (low + high) / 2
            low, high = (low, middle) if fits(middle) else (middle, high)
    columns = (np.array(column, dtype=float) for column in (left, since, whole))
    assert best_finish_time(np.array(gang), gpus, *columns) == pytest.approx(float(high), rel=1e-12)


def pieces(jobs: list[Job], gpus: int, policy: Any, **options: Any) -> list[tuple[str, int, int]]:
    """(job, start, end) of all segments by start."""
    instance = Instance(Cluster.of_sizes([gpus]), jobs)
    run = drive(instance, policy, lease=60, overhead=0, patience=None, **options)
    rows = [(jobs[row.job].id, row.start, row.end) for row in run.schedule]
    return sorted(rows, key=lambda row: (row[1], row[0]))


def served(rows: list[tuple[str, int, int]], job: str, until: int) -> int:
    """Seconds that a job ran before a time."""
    return sum(max(0, min(end, until) - start) for name, start, end in rows if name == job)


def test_equal_jobs_take_turns() -> None:
    jobs = [Job(id=i, gpus=2, work=3000) for i in "abc"]
    rows = pieces(jobs, 2, MaxMinFairness())
    assert [name for name, start, _ in rows if start < 540] == list("abcabcabc")


def test_weights_are_shares_of_time() -> None:
    jobs = [Job(id="a", gpus=1, work=9000, weight=3), Job(id="b", gpus=1, work=9000)]
    rows = pieces(jobs, 1, MaxMinFairness())
    assert served(rows, "a", 4800) == 3600
    assert served(rows, "b", 4800) == 1200


def test_a_gang_of_two_runs_half_of_the_time() -> None:
    """On 2 GPUs with two single jobs: 1/3 of 2 GPUs each, so the pair runs a third of the time."""
    jobs = [Job(id="a", gpus=2, work=9000), Job(id="b", gpus=1, work=9000)]
    jobs += [Job(id="c", gpus=1, work=9000)]
    rows = pieces(jobs, 2, MaxMinFairness())
    assert served(rows, "a", 5400) == pytest.approx(1800, abs=60)
    assert served(rows, "b", 5400) == pytest.approx(3600, abs=60)


def test_a_job_that_waited_catches_up() -> None:
    """Short b comes to a GPU where a has run long: isolation would give b half of it at once."""
    jobs = [Job(id="a", gpus=1, work=6000), Job(id="b", gpus=1, work=300, release=600)]
    rows = pieces(jobs, 1, FinishTimeFairness())
    end = max(end for name, _, end in rows if name == "b")
    assert end <= 600 + 2 * 300


def test_a_short_job_beside_a_long_one_ends_as_in_isolation() -> None:
    """Half of the GPU would take the short job 240 s."""
    jobs = [Job(id="a", gpus=1, work=120), Job(id="b", gpus=1, work=6000)]
    rows = pieces(jobs, 1, FinishTimeFairness())
    assert max(end for name, _, end in rows if name == "a") <= 240


def test_what_was_done_counts_as_it_would_have_taken_in_isolation() -> None:
    """Two jobs on one GPU, half done after 100 s, alike but for the company that they had.

    Job 1 had the GPU for itself on average, so 50 s of work would have taken 50 s: its time in
    isolation is 50 + 100, that of job 0, which had one other beside it, is 100 + 100. Job 1 is
    worse off.
    """
    state: Any = SimpleNamespace(
        now=100,
        gpus=np.array([1, 1]),
        work=np.array([100, 100]),
        release=np.zeros(2, dtype=int),
        visible=np.zeros(2, dtype=int),
        rank=np.array([0, 1]),
        phase=np.array([1, 1]),
        sizes=np.array([1]),
        waiting=np.array([0, 1]),
        running=np.array([], dtype=int),
        candidates=np.array([0, 1]),
        remaining=lambda jobs: np.array([50, 50])[jobs],
        attained=lambda jobs: np.array([50, 50])[jobs],
        mean_active=lambda jobs: np.array([2.0, 1.0])[jobs],
    )
    assert list(FinishTimeFairness().decide(state).order) == [1, 0]
