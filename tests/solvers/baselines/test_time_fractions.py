"""Gavel's two programs agree with other formulations, and their bounds hold for any duals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from gangsched.solvers.policies.gavel.finish_time_fairness import (
    finish_time_fairness,
    isolated_fractions,
)
from gangsched.solvers.policies.gavel.max_min_fairness import max_min_fairness
from gangsched.solvers.policies.gavel.time_fractions import Sharing

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


def fits(rates: Any, gangs: Any, gpus: Any) -> Floats:
    """Throughputs without models that a gang does not fit."""
    able = np.array(rates, dtype=float)
    for i, g in np.ndindex(able.shape):
        if gangs[i] > gpus[g]:
            able[i, g] = 0.0
    return able


def assert_feasible(x: Floats, rates: Floats, gangs: Any, gpus: Any) -> None:
    assert (x >= 0).all()
    assert (x.sum(axis=1) <= 1 + 1e-12).all()
    assert (gangs @ x <= gpus * (1 + 1e-12)).all()
    assert (x[fits(rates, gangs, gpus) == 0] == 0).all()


def level(per: Floats, need: Floats, gangs: Any, gpus: Any) -> float:
    """Max theta with c X >= theta a, by scipy on a dense matrix."""
    n, m = per.shape
    rows, right = [], []
    for i in range(n):
        served = np.zeros((n, m))
        served[i] = -per[i]
        rows.append([*served.ravel(), need[i]])
        right.append(0.0)
        once = np.zeros((n, m))
        once[i] = 1
        rows.append([*once.ravel(), 0.0])
        right.append(1.0)
    for g in range(m):
        taken = np.zeros((n, m))
        taken[:, g] = gangs
        rows.append([*taken.ravel(), 0.0])
        right.append(gpus[g])
    cost = np.zeros(n * m + 1)
    cost[-1] = -1
    limits = [(0, 1 if c > 0 else 0) for c in per.ravel()] + [(0, None)]
    return -linprog(cost, A_ub=np.array(rows), b_ub=right, bounds=limits).fun


def normalised(rates: Floats, gangs: Any, gpus: Any, weights: Any) -> Floats:
    """(s / w) T / throughput(X_equal), entry by entry."""
    able = fits(rates, gangs, gpus)
    for i in range(len(able)):
        equal = sum(able[i, g] * gpus[g] for g in range(len(gpus))) / sum(gpus)
        able[i] *= gangs[i] / (weights[i] * equal)
    return able


# --- max-min fairness -----------------------------------------------------------------------------


@settings(max_examples=40)
@given(cases(), st.data())
def test_max_min_agrees_with_another_formulation(case: Case, data: st.DataObject) -> None:
    rates, gangs, gpus = case
    weight = st.sampled_from([0.5, 1.0, 3.0])
    weights = data.draw(st.lists(weight, min_size=len(gangs), max_size=len(gangs)))
    found = max_min_fairness(rates, gangs, gpus, weights=weights)
    per = normalised(rates, gangs, gpus, weights)
    assert_feasible(found.fractions, rates, gangs, gpus)
    assert found.objective == pytest.approx(level(per, np.ones(len(per)), gangs, gpus), rel=1e-6)
    assert found.objective == pytest.approx((per * found.fractions).sum(axis=1).min())
    assert found.objective <= found.bound <= found.objective * (1 + 1e-6)


@settings(max_examples=40)
@given(cases(max_models=1), st.data())
def test_max_min_on_one_model_is_the_closed_form(case: Case, data: st.DataObject) -> None:
    """All get GPUs by weight until the cluster is full or the first job runs always."""
    rates, gangs, gpus = case
    weight = st.sampled_from([0.5, 1.0, 3.0])
    weights = np.array(data.draw(st.lists(weight, min_size=len(gangs), max_size=len(gangs))))
    found = max_min_fairness(rates, gangs, gpus, weights=weights)
    assert found.objective == pytest.approx(min(gpus[0] / weights.sum(), (gangs / weights).min()))


def test_each_job_gets_the_model_that_it_is_good_at() -> None:
    found = max_min_fairness([[4, 1], [1, 4]], [1, 1], [1, 1])
    assert found.fractions.tolist() == [[1, 0], [0, 1]]
    assert found.objective == pytest.approx(1.6)  # 4 against 2.5 on half of both


def test_a_gang_stays_off_a_model_that_is_too_small() -> None:
    found = max_min_fairness([[1, 9], [1, 9]], [4, 4], [4, 3])
    assert found.fractions.round(9).tolist() == [[0.5, 0], [0.5, 0]]


@settings(max_examples=30)
@given(cases(), st.data())
def test_any_duals_give_a_bound(case: Case, data: st.DataObject) -> None:
    rates, gangs, gpus = case
    sharing = Sharing(rates, gangs, gpus)
    number = st.sampled_from([0.0, 0.1, 1.0, 5.0])
    y = np.array(data.draw(st.lists(number, min_size=len(gangs), max_size=len(gangs))))
    prices = np.array(data.draw(st.lists(number, min_size=len(gpus), max_size=len(gpus))))
    most = sharing.most(sharing.throughputs, y, prices)
    assert isinstance(most, Fraction)
    for x in (sharing.repaired(np.ones_like(rates)), max_min_fairness(*case).fractions):
        assert y @ sharing.rates(x) <= most * (1 + Fraction(1, 10**9))


def test_fractions_beyond_the_cluster_are_scaled_down() -> None:
    sharing = Sharing([[1, 1], [1, 0], [1, 1]], [1, 1, 2], [2, 1])
    # rows to (0.75, 0.25), (0.75, -), (0.5, -): 2.5 of the 2 GPUs of the first model
    found = sharing.repaired(np.array([[3.0, 1.0], [0.75, -1e-9], [0.5, 0.5]]))
    assert found == pytest.approx(np.array([[0.6, 0.25], [0.6, 0.0], [0.4, 0.0]]))


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
    share = isolated_fractions(gangs, gpus)
    return of["isolated"] + of["remaining"] / (able * share).sum(axis=1)


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
    found = finish_time_fairness(*case, **of)
    assert_feasible(found.fractions, *case)
    assert found.objective == pytest.approx(rho(found.fractions, *case, of).max())
    assert found.bound <= found.objective <= found.bound * (1 + 1e-6)
    assert found.objective == pytest.approx(conic(*case, of), rel=1e-4)
    assert found.objective == pytest.approx(by_bisection(*case, of), rel=1e-5)


def test_several_newton_steps_end_where_objective_and_bound_meet() -> None:
    rng = np.random.default_rng(1)
    rates, gangs = rng.uniform(1, 2, (60, 2)), rng.choice([1, 2, 4], 60)
    of = {"remaining": rng.uniform(10, 20, 60), "elapsed": np.full(60, 300.0)}
    of["isolated"] = of["elapsed"] * rng.uniform(0.95, 1.05, 60)
    found = finish_time_fairness(rates, gangs, [20, 10], **of)
    assert found.bound <= found.objective <= found.bound * (1 + 1e-8)
    assert found.objective == pytest.approx(rho(found.fractions, rates, gangs, [20, 10], of).max())


@settings(max_examples=30)
@given(st.integers(1, 8), st.integers(1, 6), st.data())
def test_finish_time_fairness_on_one_model_is_the_root_of_one_equation(
    jobs: int, gpus: int, data: st.DataObject
) -> None:
    """GPUs needed for rho <= r, each job at most one, fall with r: the root is the optimum."""
    of = data.draw(progress(jobs))
    found = finish_time_fairness(np.ones((jobs, 1)), np.ones(jobs, dtype=int), [gpus], **of)
    whole = of["isolated"] + of["remaining"] / min(1.0, gpus / jobs)

    def feasible(r: float) -> bool:
        room = r * whole - of["elapsed"]
        return bool((room >= of["remaining"]).all() and (of["remaining"] / room).sum() <= gpus)

    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    assert found.objective == pytest.approx(high, rel=1e-6)


def test_new_equal_jobs_end_as_in_isolation() -> None:
    found = finish_time_fairness([[1], [1], [1]], [1, 1, 1], [2], remaining=[5, 5, 5])
    assert found.objective == pytest.approx(1.0)
    assert found.fractions == pytest.approx(np.full((3, 1), 2 / 3))


def test_a_job_that_waited_is_served_first() -> None:
    found = finish_time_fairness(
        [[1], [1]], [1, 1], [1], remaining=[10, 10], elapsed=[20, 0], isolated=[0, 0]
    )
    # (20 + 10 / x) / 20 = (10 / (1 - x)) / 20 where both are equal
    x = found.fractions[0, 0]
    assert 20 + 10 / x == pytest.approx(10 / (1 - x))
    assert x > 0.5


# --- both -----------------------------------------------------------------------------------------


def test_no_jobs() -> None:
    nothing = np.zeros((0, 2))
    assert max_min_fairness(nothing, np.zeros(0, int), [1, 1]).fractions.shape == (0, 2)
    found = finish_time_fairness(nothing, np.zeros(0, int), [1, 1], remaining=[])
    assert found.fractions.shape == (0, 2)


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
        max_min_fairness(rates, gangs, gpus)


def test_bad_columns_are_named() -> None:
    with pytest.raises(ValueError, match=r"weights\[0\]=0.0 is not positive"):
        max_min_fairness([[1]], [1], [1], weights=[0])
    with pytest.raises(ValueError, match=r"remaining has shape \(2,\), not \(1,\)"):
        finish_time_fairness([[1]], [1], [1], remaining=[1, 2])
    with pytest.raises(ValueError, match=r"elapsed\[0\]=-1.0 is not a finite number >= 0"):
        finish_time_fairness([[1]], [1], [1], remaining=[1], elapsed=[-1])
