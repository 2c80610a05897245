"""Gavel's programs of time fractions: each re-solve is worth what another program finds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from driven import Case, mixed_cases
from few import each_seed
from gangsched.analysis.driving.drive import drive
from gangsched.instances import Cluster, Instance, Job, Node
from gangsched.solvers.policies.gavel import (
    finish_time_models,
    max_sum_throughput,
    min_total_duration,
)
from gangsched.solvers.policies.gavel.finish_time_fairness import FinishTimeFairness
from gangsched.solvers.policies.gavel.fraction_programs import (
    fairest_finish,
    least_duration,
    most_throughput,
)
from gangsched.solvers.policies.gavel.max_min_fairness import class_fractions
from gangsched.solvers.policies.gavel.max_sum_throughput import MaxSumThroughput
from gangsched.solvers.policies.gavel.min_total_duration import MinTotalDuration

CLOSE = 1e-6


# --- the programs once more, in fractions, by scipy -----------------------------------------------


def limits(gangs: Any, gpus: Any, counts: Any = None) -> tuple[Any, Any]:
    """Rows and right sides of what fractions keep, over the pairs of a job and a model."""
    jobs, models = len(gangs), len(gpus)
    number = np.ones(jobs) if counts is None else np.asarray(counts)
    once = np.kron(np.eye(jobs), np.ones(models))
    room = np.kron((np.asarray(gangs) * number)[None, :], np.eye(models))
    return np.vstack([once, room]), np.concatenate([np.ones(jobs), gpus])


def best_multiple(rates: Any, gangs: Any, gpus: Any, needs: Any) -> float:
    """The largest theta for which every job can have theta times its need."""
    rows, right = limits(gangs, gpus)
    jobs, models = rates.shape
    served = np.zeros((jobs, jobs * models))
    for i in range(jobs):
        served[i, i * models : (i + 1) * models] = -rates[i] / needs[i]
    matrix = np.block([[rows, np.zeros((len(rows), 1))], [served, np.ones((jobs, 1))]])
    bounds = [(0, None if c > 0 else 0) for c in rates.ravel()] + [(None, None)]
    goal = np.append(np.zeros(jobs * models), -1.0)
    found = linprog(
        goal, matrix, np.append(right, np.zeros(jobs)), bounds=bounds, method="highs-ds"
    )
    return float(-found.fun)


def largest_sum(rates: Any, gangs: Any, counts: Any, gpus: Any, weights: Any) -> float:
    rows, right = limits(gangs, gpus, counts)
    gain = (rates * (np.asarray(counts) * weights)[:, None]).ravel()
    bounds = [(0, None if c > 0 else 0) for c in rates.ravel()]
    return float(-linprog(-gain, rows, right, bounds=bounds, method="highs-ipm").fun)


def check_feasible(x: Any, rates: Any, gangs: Any, gpus: Any, counts: Any = 1) -> None:
    assert (x >= 0).all()
    assert (x.sum(axis=1) <= 1 + 1e-9).all()
    assert ((np.asarray(gangs) * counts) @ x <= np.asarray(gpus) * (1 + 1e-9)).all()
    assert (x[rates == 0] == 0).all()


def check_duration(rates: Any, gangs: Any, gpus: Any, left: Any) -> None:
    x, duration = least_duration(rates, gangs, gpus, left)
    check_feasible(x, rates, gangs, gpus)
    assert duration == pytest.approx(1 / best_multiple(rates, gangs, gpus, left), rel=CLOSE)
    assert (left / (rates * x).sum(axis=1)).max() <= duration * (1 + CLOSE)


def largest_rest(rates: Any, gangs: Any, gpus: Any, needs: Any) -> float:
    """The largest sum of throughputs over needs where every job has what it needs."""
    rows, right = limits(gangs, gpus)
    served = -np.vstack(
        [
            np.kron(one, row)
            for one, row in zip(np.eye(len(gangs)), rates / needs[:, None], strict=True)
        ]
    )
    bounds = [(0, None if c > 0 else 0) for c in rates.ravel()]
    found = linprog(
        served.sum(axis=0), np.vstack([rows, served]), np.append(right, -np.ones(len(gangs))),
        bounds=bounds, method="highs-ds",
    )  # fmt: skip
    return float(-found.fun)


def check_finish(rates: Any, gangs: Any, gpus: Any, left: Any, since: Any, whole: Any) -> None:
    """A rho that is smaller by a millionth is impossible, and the fractions reach this one."""
    x, rho = fairest_finish(rates, gangs, gpus, left, since, whole)
    check_feasible(x, rates, gangs, gpus)
    reached = ((since + left / (rates * x).sum(axis=1)) / whole).max()
    assert reached == pytest.approx(rho, rel=1e-9)
    room = rho * (1 - CLOSE) * whole - since
    if (room > 0).all():
        assert best_multiple(rates, gangs, gpus, left / room) < 1


def check_rest(rates: Any, gangs: Any, gpus: Any, left: Any, since: Any, whole: Any) -> None:
    """What is left over goes where the sum of throughputs over needs is the largest."""
    x, rho = fairest_finish(rates, gangs, gpus, left, since, whole)
    needs = (1 - 1e-9) * left / (rho * whole - since)
    beyond = ((rates * x).sum(axis=1) / needs).sum()
    assert beyond == pytest.approx(largest_rest(rates, gangs, gpus, needs), rel=1e-4)


def check_max_min(rates: Any, gangs: Any, counts: Any, gpus: Any, weights: Any) -> None:
    """Classes are served as well as their jobs one by one, each against (s / w) T / throughput."""
    x = class_fractions(rates, gangs, counts, gpus, weights=weights)
    check_feasible(x, rates, gangs, gpus, counts)
    per = rates * (gangs / (weights * (rates @ gpus) / gpus.sum()))[:, None]
    each, gang = (np.repeat(a, counts, axis=0) for a in (per, gangs))
    best = best_multiple(each, gang, gpus, np.ones(len(gang)))
    assert (per * x).sum(axis=1).min() == pytest.approx(best, rel=CLOSE)


def check_throughput(rates: Any, gangs: Any, counts: Any, gpus: Any, weights: Any) -> None:
    x = most_throughput(rates, gangs, counts, gpus, weights)
    check_feasible(x, rates, gangs, gpus, counts)
    value = (counts * weights) @ (rates * x).sum(axis=1)
    assert value == pytest.approx(largest_sum(rates, gangs, counts, gpus, weights), rel=CLOSE)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, ...]:
    """Rates, gangs and GPUs; every job has a model on which its gang fits."""
    gpus = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    speed = st.sampled_from([1.0, 2.0, 0.0, 6.4, 1.17, 0.01])
    rows, gangs = [], []
    for _ in range(draw(st.integers(1, 6))):
        gang = draw(st.integers(1, max(gpus)))
        row = [draw(speed) if gang <= n else 0.0 for n in gpus]
        if not any(row):
            row[int(np.argmax(gpus))] = 1.0
        rows.append(row)
        gangs.append(gang)
    return np.array(rows), np.array(gangs), np.array(gpus)


def numbers(data: st.DataObject, size: int, least: int = 1, most: int = 10**6) -> Any:
    drawn = data.draw(st.lists(st.integers(least, most), min_size=size, max_size=size))
    return np.array(drawn, dtype=float)


@settings(deadline=None)
@given(cases(), st.data())
def test_programs_are_worth_what_other_programs_find(
    case: tuple[Any, ...], data: st.DataObject
) -> None:
    rates, gangs, gpus = case
    size = len(gangs)
    left = numbers(data, size)
    check_duration(rates, gangs, gpus, left)
    check_finish(rates, gangs, gpus, left, numbers(data, size, 0), left + numbers(data, size, 0))
    counts = numbers(data, size, 1, 4).astype(int)
    weights = numbers(data, size, 1, 3)
    check_throughput(rates, gangs, counts, gpus, weights)
    check_max_min(rates, gangs, counts, gpus, weights)


@each_seed(range(8))
def test_many_jobs_on_many_models(seed: int) -> None:
    """Equal jobs, gangs as wide as a model, models that are left alone or fought for."""
    rng = np.random.default_rng(seed)
    for jobs in (3, 12, 40):
        gpus = rng.integers(1, 30, int(rng.integers(2, 6)))
        rates = rng.choice([0, 0.3, 1.0, 1.17, 2.0, 4.0, 6.4], (jobs, gpus.size))
        gangs = np.minimum(rng.integers(1, gpus.max() + 1, jobs), rng.choice([1, 4, 30], jobs))
        rates = np.where(gangs[:, None] <= gpus, rates, 0.0)
        rates[~rates.any(axis=1), np.argmax(gpus)] = 1.0
        left, since = rng.choice([60.0, 61.0, 900.0], jobs), rng.choice([0.0, 30.0], jobs)
        check_duration(rates, gangs, gpus, left)
        whole = left + rng.choice([0.0, 500.0], jobs)
        check_finish(rates, gangs, gpus, left, since, whole)
        check_rest(rates, gangs, gpus, left, since, whole)


@pytest.mark.parametrize(("seed", "jobs", "models"), [(518, 10, 3), (934, 21, 4), (982, 21, 5)])
def test_tiny_needs_are_met_beside_large_ones(seed: int, jobs: int, models: int) -> None:
    """Rounding would leave a job nothing that needs a billionth of what others need."""
    rng = np.random.default_rng(seed)
    assert (jobs, models) == (int(rng.integers(3, 31)), int(rng.integers(2, 9)))
    gpus, ones = rng.integers(1, 4, models), np.ones(jobs, dtype=int)
    rates = np.exp(rng.uniform(-4, 4, (jobs, models)))
    left = np.maximum(np.round(10 ** rng.uniform(0, 9, jobs)), 1)
    since = np.round(10 ** rng.uniform(0, 8, jobs)) * (rng.random(jobs) < 0.7)
    whole = left * 10 ** rng.uniform(-1, 2, jobs)
    check_finish(rates, ones, gpus, left, since, whole)


def tied(seed: int) -> tuple[Any, ...]:
    """A program of jobs and models of which many are alike."""
    rng = np.random.default_rng(seed)
    jobs, models = int(rng.integers(3, 12)), int(rng.integers(2, 4))
    kinds = rng.integers(1, 5, (3, models)).astype(float)
    rates = kinds[rng.integers(0, 3, jobs)] * rng.choice([1 / 3, 0.1, 0.7], (jobs, 1))
    gangs, gpus = rng.choice([1, 2, 4], jobs), rng.integers(2, 6, models)
    return rates, gangs, gpus, rng.choice([10.0, 30, 60], jobs), np.zeros(jobs), np.ones(jobs)


def test_as_fast_a_model_is_enough_whatever_is_rounded() -> None:
    """The first job is as fast on two models, and needs what they do, but for the last bit."""
    rates, gangs, gpus, left, since, whole = tied(365)
    for scale in (1.0, 1.1):
        check_rest(rates * scale, gangs, gpus, left * scale, since, whole)


# --- in runs --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "program", "check", "policy"),
    [
        (finish_time_models, "fairest_finish", check_finish, FinishTimeFairness()),
        (min_total_duration, "least_duration", check_duration, MinTotalDuration()),
        (max_sum_throughput, "most_throughput", check_throughput, MaxSumThroughput()),
    ],
    ids=lambda value: getattr(value, "name", None) or "",
)
@settings(deadline=None, max_examples=25)
@given(case=mixed_cases())
def test_each_solution_of_a_run_is_worth_what_another_program_finds(
    module: Any, program: str, check: Callable[..., None], policy: Any, case: Case
) -> None:
    asked: list[Any] = []
    own = getattr(module, program)

    def spy(*given: Any) -> Any:
        asked.append(given)
        return own(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, program, spy)
        run = drive(case.instance, policy, **case.rules)
    several = len({node.model for node in case.instance.cluster.nodes}) > 1
    assert asked or not several or (run.records.end < 0).all()
    for given_ in asked:
        check(*map(np.asarray, given_))


def mixed(jobs: list[Job], *parts: tuple[str, int]) -> Instance[Any]:
    return Instance(Cluster([Node(f"n{i}", g, m) for i, (m, g) in enumerate(parts)]), jobs)


def test_time_in_isolation_is_summed_up_over_leases() -> None:
    """Alone on both GPUs for 60 s a has the mean pace of 1.5; beside b a half of that."""
    jobs = [
        Job(id="a", gpus=1, work=600, speeds={"k80": 1, "v100": 2}),
        Job(id="b", gpus=1, work=600, release=60, speeds={"k80": 1, "v100": 2}),
    ]
    seen = []
    own = finish_time_models.fairest_finish

    def spy(*given: Any) -> Any:
        seen.append([np.asarray(part).tolist() for part in given])
        return own(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finish_time_models, "fairest_finish", spy)
        drive(mixed(jobs, ("k80", 1), ("v100", 1)), FinishTimeFairness(), lease=60, overhead=0)
    _, _, _, left, since, whole = seen[1]
    assert left == [600 - 120, 600]  # a ran on the V100
    assert since == [60, 0]
    # alone, half of the time on each: 120 of work take 80 s; the rest at half of (1 + 2) / 2
    assert whole == pytest.approx([120 / 1.5 + 480 / 1.5, 600 / 1.5])


def test_the_longest_jobs_have_the_fast_gpus_for_the_least_makespan() -> None:
    jobs = [
        Job(id="long", gpus=1, work=4000, speeds={"k80": 1, "v100": 4}),
        Job(id="short", gpus=1, work=1000, speeds={"k80": 1, "v100": 4}),
    ]
    run = drive(mixed(jobs, ("k80", 1), ("v100", 1)), MinTotalDuration(), lease=60, overhead=0)
    assert run.records.end.tolist() == [1000, 1000]


def test_throughput_goes_to_narrow_gangs_by_weight() -> None:
    jobs = [Job(id="wide", gpus=2, work=100), Job(id="one", gpus=1, work=100)]
    jobs += [Job(id="two", gpus=1, work=100)]
    instance = Instance(Cluster.of_sizes([2]), jobs)
    run = drive(instance, MaxSumThroughput(), round_length=10, lease=100, overhead=0)
    assert run.records.end.tolist() == [200, 100, 100]
    heavy = Instance(Cluster.of_sizes([2]), [Job(id="wide", gpus=2, work=100, weight=5), *jobs[1:]])
    run = drive(heavy, MaxSumThroughput(), round_length=10, lease=100, overhead=0)
    assert run.records.end.tolist() == [100, 200, 200]
