"""Gavel's two programs agree with other formulations, and their bounds hold for any duals."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dense_fractions import fits, level, normalised
from gangsched.solvers.policies.gavel.finish_time_models import isolated_rates
from gangsched.solvers.policies.gavel.fraction_programs import fairest_finish
from gangsched.solvers.policies.gavel.max_min_fairness import class_fractions

Floats = NDArray[np.float64]
Case = tuple[Floats, NDArray[np.int64], NDArray[np.int64]]


@st.composite
def cases(draw: st.DrawFn, *, max_jobs: int = 6, max_models: int = 3) -> Case:
    """Throughputs, gangs and GPUs such that every job can run somewhere."""
    jobs, models = draw(st.integers(1, max_jobs)), draw(st.integers(1, max_models))
    rate = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 7.0])
    rows = draw(
        st.lists(st.lists(rate, min_size=models, max_size=models), min_size=jobs, max_size=jobs)
    )
    gpus = np.array(draw(st.lists(st.integers(1, 6), min_size=models, max_size=models)))
    gangs = np.array(draw(st.lists(st.integers(1, int(gpus.max())), min_size=jobs, max_size=jobs)))
    rates = np.array(rows)
    rates[:, gpus.argmax()] += 1.0
    return rates, gangs, gpus


def assert_feasible(x: Floats, rates: Floats, gangs: Any, gpus: Any) -> None:
    assert (x >= 0).all()
    assert (x.sum(axis=1) <= 1 + 1e-12).all()
    assert (gangs @ x <= gpus * (1 + 1e-12)).all()
    assert (x[fits(rates, gangs, gpus) == 0] == 0).all()


# --- max-min fairness -----------------------------------------------------------------------------


@settings(max_examples=40)
@given(cases(), st.data())
def test_max_min_agrees_with_other_formulations(case: Case, data: st.DataObject) -> None:
    """On one model all get GPUs by weight, until it is full or the first job runs always."""
    rates, gangs, gpus = case
    weight = st.sampled_from([0.5, 1.0, 3.0])
    weights = np.array(data.draw(st.lists(weight, min_size=len(gangs), max_size=len(gangs))))
    x = class_fractions(rates, gangs, np.ones(len(gangs)), gpus, weights=weights)
    per = normalised(rates, gangs, gpus, weights)
    assert_feasible(x, rates, gangs, gpus)
    least = (per * x).sum(axis=1).min()
    assert least == pytest.approx(level(per, np.ones(len(per)), gangs, gpus), rel=1e-6)
    if gpus.size == 1:
        assert least == pytest.approx(min(gpus[0] / weights.sum(), (gangs / weights).min()))


def test_each_job_gets_the_model_that_it_is_good_at() -> None:
    x = class_fractions([[4, 1], [1, 4]], [1, 1], [1, 1], [1, 1])
    assert x.round(9).tolist() == [[1, 0], [0, 1]]


def test_a_gang_stays_off_a_model_that_is_too_small() -> None:
    x = class_fractions([[1, 9], [1, 9]], [4, 4], [1, 1], [4, 3])
    assert x.round(9).tolist() == [[0.5, 0], [0.5, 0]]


# --- finish-time fairness -------------------------------------------------------------------------


@st.composite
def progress(draw: st.DrawFn, jobs: int) -> dict[str, Floats]:
    """Remaining work and times of some jobs, a part of them fresh."""
    number = st.floats(0.5, 200)
    return {
        name: np.array(draw(st.lists(of, min_size=jobs, max_size=jobs)))
        for name, of in (
            ("remaining", number),
            ("elapsed", st.just(0.0) | number),
            ("isolated", st.just(0.0) | number),
        )
    }


def rho(x: Floats, rates: Floats, gangs: Any, gpus: Any, of: dict[str, Floats]) -> Floats:
    """rho of each job, term by term."""
    able, n, found = fits(rates, gangs, gpus), len(gangs), []
    for i in range(n):
        share = np.array([count / (n * gangs[i]) for count in gpus])
        alone = able[i] @ (share / max(1.0, share.sum()))
        end = of["elapsed"][i] + of["remaining"][i] / (able[i] @ x[i])
        found.append(end / (of["isolated"][i] + of["remaining"][i] / alone))
    return np.array(found)


def conic(rates: Floats, gangs: Any, gpus: Any, of: dict[str, Floats]) -> float:
    """The least worst rho as one convex program, by an interior-point method."""
    able, n = fits(rates, gangs, gpus), len(gangs)
    whole = rho_denominator(able, gangs, gpus, of)
    x: Any = cp.Variable(able.shape, nonneg=True)
    r: Any = cp.Variable()
    limits = [x[i] @ able[i] * whole[i] / of["remaining"][i]
              >= cp.inv_pos(r - of["elapsed"][i] / whole[i]) for i in range(n)]  # fmt: skip
    limits += [x @ np.ones(len(gpus)) <= 1, gangs @ x <= gpus]
    problem: Any = cp.Problem(cp.Minimize(r), limits)
    return float(problem.solve(solver=cp.CLARABEL))


def rho_denominator(able: Floats, gangs: Any, gpus: Any, of: dict[str, Floats]) -> Floats:
    """What each job would take in isolation."""
    return of["isolated"] + of["remaining"] / isolated_rates(able, np.array(gangs), np.array(gpus))


def fairest(rates: Any, gangs: Any, gpus: Any, of: dict[str, Floats]) -> tuple[Floats, float]:
    """Fractions with the least worst rho, and that rho."""
    able = fits(rates, gangs, gpus)
    whole = rho_denominator(able, gangs, gpus, of)
    return fairest_finish(able, gangs, gpus, of["remaining"], of["elapsed"], whole)


def by_bisection(rates: Floats, gangs: Any, gpus: Any, of: dict[str, Floats]) -> float:
    """The least worst rho by bisection over linear programs of scipy's."""
    able = fits(rates, gangs, gpus)
    whole = rho_denominator(able, gangs, gpus, of)
    low, high = float((of["elapsed"] / whole).max()), 1.0
    high += 100 * len(gangs) * max(gangs) * float(((of["elapsed"] + of["remaining"]) / whole).max())
    while high - low > 1e-9 * high:
        r = (low + high) / 2
        need = of["remaining"] / (r * whole - of["elapsed"])
        if level(able, need / need.max(), gangs, gpus) >= need.max():
            high = r
        else:
            low = r
    return high


@pytest.mark.slow
@settings(max_examples=30)
@given(cases(max_jobs=5), st.data())
def test_finish_time_fairness_agrees_with_the_conic_form_and_with_bisection(
    case: Case, data: st.DataObject
) -> None:
    of = data.draw(progress(len(case[1])))
    x, worst = fairest(*case, of)
    assert_feasible(x, *case)
    assert worst == pytest.approx(rho(x, *case, of).max())
    assert worst == pytest.approx(conic(*case, of), rel=1e-4)
    assert worst == pytest.approx(by_bisection(*case, of), rel=1e-5)


@settings(max_examples=30)
@given(st.integers(1, 8), st.integers(1, 6), st.data())
def test_finish_time_fairness_on_one_model_is_the_root_of_one_equation(
    jobs: int, gpus: int, data: st.DataObject
) -> None:
    """GPUs needed for rho <= r, each job at most one, fall with r: the root is the optimum."""
    of = data.draw(progress(jobs))
    _, worst = fairest(np.ones((jobs, 1)), np.ones(jobs, dtype=int), np.array([gpus]), of)
    whole = of["isolated"] + of["remaining"] / min(1.0, gpus / jobs)

    def feasible(r: float) -> bool:
        room = r * whole - of["elapsed"]
        return bool((room >= of["remaining"]).all() and (of["remaining"] / room).sum() <= gpus)

    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    assert worst == pytest.approx(high, rel=1e-6)


def times(*rows: list[float]) -> dict[str, Floats]:
    return dict(zip(("remaining", "elapsed", "isolated"), map(np.array, rows), strict=True))


def test_new_equal_jobs_end_as_in_isolation() -> None:
    x, worst = fairest(
        np.ones((3, 1)), np.ones(3, int), [2], times([5.0] * 3, [0.0] * 3, [0.0] * 3)
    )
    assert worst == pytest.approx(1.0)
    assert x == pytest.approx(np.full((3, 1), 2 / 3))


def test_a_job_that_waited_is_served_first() -> None:
    of = times([10.0, 10.0], [20.0, 0.0], [0.0, 0.0])
    x = fairest(np.ones((2, 1)), np.ones(2, int), [1], of)[0][0, 0]
    # (20 + 10 / x) / 20 = (10 / (1 - x)) / 20 where both are equal
    assert 20 + 10 / x == pytest.approx(10 / (1 - x))
    assert x > 0.5


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rates", "gangs", "gpus", "kind", "message"),
    [
        ([[1, 2]], [1], [1], ValueError, r"throughputs has shape \(1, 2\), gangs and gpus have 1"),
        ([[1]], [1.5], [1], TypeError, "gangs of type float64 are not integers"),
        ([[1]], [0], [1], ValueError, r"gangs\[0\]=0 is below 1"),
        ([[1, 1]], [1], [1, -1], ValueError, r"gpus\[1\]=-1 is below 0"),
        ([[1], [-2]], [1, 1], [1], ValueError, r"throughputs\[1, 0\]=-2.0 is not a finite number"),
        ([[np.nan]], [1], [1], ValueError, r"throughputs\[0, 0\]=nan is not a finite number >= 0"),
        ([[1], [1]], [1, 4], [3], ValueError, "job 1 with gang 4 can run on no model"),
    ],
)
def test_bad_jobs_are_named(rates: Any, gangs: Any, gpus: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        class_fractions(rates, gangs, np.ones(len(gangs)), gpus)


def test_bad_weights_are_named() -> None:
    with pytest.raises(ValueError, match=r"weights\[0\]=0.0 is not positive"):
        class_fractions([[1]], [1], [1], [1], weights=[0])
