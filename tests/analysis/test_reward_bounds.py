"""Bounds of rewards against brute force and policies, and their certificates against tampering."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deadline_optimum import optimum, problem_of, random_problem
from few import each_seed
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.proofs import deadline_rewards as reward_bounds
from gangsched.analysis.proofs.compiled_kernels import COMPILED
from gangsched.analysis.proofs.deadline_rewards import reward_bound
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.instances import Cluster, DeadlineJob, Instance, TargetMetric
from gangsched.instances.convert import to_instance
from gangsched.instances.deadlines import testbed_workload
from gangsched.instances.traces import read_chronus
from gangsched.solvers import Bound, Fifo, Srtf
from gangsched.verify.kernels import most_gains


def test_bounds_are_strict_and_tight_on_many() -> None:
    """Strict: below what all jobs together could win, which needs no bound."""
    rng = np.random.default_rng(4)
    strict = tight = 0
    for _ in range(100):
        problem = random_problem(rng)
        bound, best = reward_bound(problem).value, optimum(problem)
        strict += bound < problem.top
        tight += bound == best and best < problem.top
    assert strict >= 30
    assert tight >= 30


@pytest.mark.parametrize("policy", [Fifo(), Srtf()])
@each_seed(range(5))
def test_no_policy_wins_more(policy: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = []
    for i in range(40):
        work, release = int(rng.integers(100, 4_000)), int(rng.integers(0, 9_000))
        due = int(work * rng.uniform(1.1, 2)) + 60
        rewards = [(due, 100), (due * 3 // 2, 80), (due * 2, 20)][: int(rng.integers(0, 4))]
        gpus = int(rng.choice([1, 2, 4, 8]))
        jobs.append(DeadlineJob(id=f"{i}", gpus=gpus, work=work, release=release, rewards=rewards))
    problem = DeadlineRewards(Instance(Cluster.of_sizes([4, 4]), jobs))
    run = drive(problem.instance, policy)
    bound = reward_bound(problem)
    assert problem.violations(run.schedule) == []
    assert 0 < problem.objective(run.schedule) <= bound.value < problem.top
    verify_bound(problem, bound)


# --- by hand -------------------------------------------------------------------------------------


def test_the_smallest_example() -> None:
    """One of two jobs; a GPU second costs 100 / 3 then, and both are as good as nothing."""
    problem = problem_of(1, [(1, 0, 3, [(3, 100)])] * 2)
    bound = reward_bound(problem)
    assert bound.value == 100 == optimum(problem)
    verify_bound(problem, Bound(100, "", _certificate([0, 3], [1], scale=3)))
    with pytest.raises(InvalidCertificate, match=r"the certificate proves 100$"):
        verify_bound(problem, Bound(99, "", _certificate([0, 3], [1], scale=3)))
    # at half that price each job gains 1 / 2, and the GPU is worth 1 / 2: 150, rounded down
    verify_bound(problem, Bound(100, "", _certificate([0, 3], [1], scale=6)))


def test_the_cheapest_seconds_count() -> None:
    """Units of 100. The GPU is worth 2 * 1/2 + 2 * 1/4; jobs pay 1/2 + 1/4 and 1/4 + 1/4.

    3/2 + 1/4 + 1/2 = 9/4 units. Of [2, 6) the first job is not in time, the second may use 4, 5.
    """
    rows = [(1, 1, 2, [(2, 100)]), (1, 2, 2, [(2, 100)])]
    prices = _certificate([0, 2, 4], [2, 1], scale=4)
    verify_bound(problem_of(1, rows), Bound(200, "", prices))
    rows = [(1, 1, 2, [(2, 100)]), (1, 2, 2, [(4, 100)])]  # 3/2 + 1/4 + 1 = 11/4
    verify_bound(problem_of(1, rows), Bound(200, "", prices))
    rows = [(1, 1, 2, [(3, 100)]), (1, 2, 2, [(4, 100)])]  # 3/2 + 1/2 + 1 = 3
    with pytest.raises(InvalidCertificate, match=r"proves 300"):
        verify_bound(problem_of(1, rows), Bound(200, "", prices))


def test_a_later_deadline_may_be_worth_more_than_an_earlier_one() -> None:
    """The first four seconds cost 1/2 unit of 20 each: 5 - 2 > 0 with both in time, 3 - 0 after."""
    problem = problem_of(1, [(1, 0, 4, [(4, 100), (8, 60)])])
    verify_bound(problem, Bound(100, "", _certificate([0, 4], [1], scale=2)))  # 2 + 3
    verify_bound(problem, Bound(140, "", _certificate([0, 4], [1], scale=1)))  # 4 + 3
    with pytest.raises(InvalidCertificate, match=r"proves 140"):
        verify_bound(problem, Bound(120, "", _certificate([0, 4], [1], scale=1)))


def test_a_deadline_before_the_work_can_be_done_is_worth_nothing() -> None:
    problem = problem_of(1, [(1, 0, 4, [(3, 100), (5, 80)])])
    bound = reward_bound(problem, rounds=0)
    assert bound.value == 80
    verify_bound(problem, Bound(80, "", _certificate([0, 1], [0])))


def test_rewards_that_are_no_integers() -> None:
    problem = problem_of(1, [(1, 0, 2, [(2, 0.75)]), (1, 0, 2, [(3, 0.5)])])
    bound = reward_bound(problem)
    assert bound.value == 0.75
    verify_bound(problem, bound)


def test_without_deadlines_nothing_can_be_won() -> None:
    for rows in ([], [(1, 0, 4, [])], [(1, 0, 4, [(3, 10)])]):
        problem = problem_of(1, rows)
        bound = reward_bound(problem)
        assert bound.value == 0
        verify_bound(problem, bound)


def test_gpus_are_worth_more_alone() -> None:
    """f(n) = n / (1 + (n - 1) / 2): with two GPUs, 4/3. Two jobs of 3 s by 4 s, on two GPUs.

    One after the other there is time for one; one GPU each, they take 3 * 4/3 = 4 s.
    """
    rows = [(2, 0, 3, [(4, 100)])] * 2
    assert reward_bound(problem_of(2, rows, scaling=0.5)).value == 100
    elastic = problem_of(2, rows, scaling=0.5, elastic=True)
    assert reward_bound(elastic).value == 200
    # at 1/8 unit both GPUs are worth 1; a job pays 4 GPU seconds, 1/2
    with pytest.raises(InvalidCertificate, match=r"proves 200"):
        verify_bound(elastic, Bound(100, "", _certificate([0, 4], [1], scale=8)))


def test_many_gpus_are_faster() -> None:
    """On four GPUs, f(4) / f(2) = 8/5 / (4/3) = 6/5: 6 s of work take 5 s; they are late by 4 s."""
    for due, value in ((5, 100), (4, 0)):
        problem = problem_of(4, [(2, 0, 6, [(due, 100)])], scaling=0.5, elastic=True)
        bound = reward_bound(problem)
        assert bound.value == value
        verify_bound(problem, bound)


def test_true_work_counts() -> None:
    job = DeadlineJob(
        id="a",
        gpus=1,
        work=10,
        rewards=[(10, 100)],
        stopping=TargetMetric(target=0.9, max_epochs=50, curve=[0.5, 0.95]),
    )
    problem = DeadlineRewards(Instance(Cluster.of_sizes([1]), [job]))
    assert reward_bound(problem).value == 100


def test_many_intervals() -> None:
    """The exact sum agrees with the verifier's."""
    rng = np.random.default_rng(0)
    rows = [
        (1, 40 * i, int(rng.integers(20, 90)), [(100, 100.0), (150, 80.0), (200, 20.0)])
        for i in range(800)
    ]
    problem = problem_of(1, rows)
    bound = reward_bound(problem)
    assert len(bound.certificate["prices"]) > 200
    verify_bound(problem, bound)
    assert bound.value < 0.85 * problem.top
    with pytest.raises(InvalidCertificate, match=f"proves {bound.value}"):
        verify_bound(problem, Bound(bound.value - 20, "", bound.certificate))


# --- certificates --------------------------------------------------------------------------------


def _certificate(times: Any, prices: Any, scale: Any = 1) -> dict[str, Any]:
    return {"kind": "prices", "times": times, "prices": prices, "scale": scale}


# --- the workload of the papers ------------------------------------------------------------------


@pytest.mark.slow
def test_the_bound_binds_on_a_crowded_cluster(traces: Path) -> None:
    """More deadlines than 240 GPUs can meet: prices take a tenth or more off the top rewards."""
    trace = read_chronus(traces / "chronus" / "trace_job_Philly_MIX2.csv.gz")
    made = to_instance(trace, Cluster.uniform(nodes=30, gpus_per_node=8), jobs=3_000)
    problem = DeadlineRewards(made.instance)
    bound = reward_bound(problem)
    verify_bound(problem, bound)
    assert 0.5 * problem.top < bound.value < 0.9 * problem.top


@pytest.mark.parametrize("first", [1 / 3, 1e9, 1e300])
def test_rewards_that_are_huge_multiples_of_their_unit(first: float) -> None:
    """Such numbers fit no 64 bits, and floats end at 1e308: plain Python counts."""
    rows = [(1, r, 5, [(7, first / (i + 1)), (8, 1e-6 * (i + 1))]) for i, r in enumerate([0, 1, 9])]
    problem = problem_of(1, rows)
    bound = reward_bound(problem)
    assert optimum(problem) <= bound.value < problem.top
    verify_bound(problem, bound)


def test_deadlines_that_nobody_has() -> None:
    """In parts of seconds they fit no 64 bits."""
    rows = [(1, 0, 2**43, [(2**44, 100)]), (1, 2**44, 2**45, [(2**45, 0.75)])]
    for elastic in (False, True):
        problem = problem_of(2, rows, elastic=elastic)
        bound = reward_bound(problem)
        assert bound.value == problem.top == 100.75
        verify_bound(problem, bound)


# --- what jobs gain -------------------------------------------------------------------------------


def plain_gain(
    release: int, need: int, speed: int, gang: int, rows: list[list[int]], times: list[int],
    prices: list[int],
) -> int:  # fmt: skip
    """The most gain of all deadlines, with the price of every part of every second in a list."""

    def price(t: int) -> int:
        return next((q for q, a, b in zip(prices, times, times[1:], strict=False) if a <= t < b), 0)

    best = 0
    for stop, worth in rows:
        parts = sorted(price(t) for t in range(release, stop) for _ in range(speed))
        if len(parts) >= need:
            best = max(best, worth - gang * sum(parts[:need]))
    return best


Priced = tuple[list[tuple[list[int], list[list[int]]]], list[int], list[int]]


@st.composite
def priced_jobs(draw: st.DrawFn) -> Priced:
    """Jobs (release, need, speed, gang) with rows (stop, worth), by release; edges and prices."""
    job = st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(1, 3), st.integers(1, 4))
    jobs = []
    for own in sorted(draw(st.lists(job, min_size=1, max_size=4))):
        lengths = sorted(draw(st.sets(st.integers(1, 15), min_size=1, max_size=3)))
        worths = sorted(draw(st.sets(st.integers(1, 300), min_size=3, max_size=3)), reverse=True)
        rows = [[own[0] + d, v] for d, v in zip(lengths, worths, strict=False)]
        jobs.append((list(own), rows))
    times = sorted(draw(st.sets(st.integers(0, 30), min_size=2, max_size=9)))
    count = len(times) - 1
    prices = draw(st.lists(st.integers(0, 20), min_size=count, max_size=count))
    return jobs, times, prices


@given(priced_jobs())
def test_the_verifier_sees_the_gains_of_every_deadline(drawn: Priced) -> None:
    jobs, times, prices = drawn
    wanted = [plain_gain(*own, rows, times, prices) for own, rows in jobs]  # type: ignore[arg-type]
    columns = [list(column) for column in zip(*(own for own, _ in jobs), strict=True)]
    columns.append(np.cumsum([len(rows) for _, rows in jobs]).tolist())
    columns += [[row[i] for _, rows in jobs for row in rows] for i in (0, 1)]
    found = [0] * len(jobs)
    most_gains(*columns, times, prices, found)  # type: ignore[arg-type]
    assert found == wanted
    arrays = [np.array(column, dtype=np.int64) for column in (*columns, times, prices, found)]
    COMPILED[most_gains](*arrays)
    assert arrays[-1].tolist() == wanted


@given(priced_jobs())
def test_the_search_sees_the_same_gains(drawn: Priced) -> None:
    jobs, times, prices = drawn
    met = [
        (own, kept)
        for own, rows in jobs
        if (kept := [row for row in rows if (row[0] - own[0]) * own[2] >= own[1]])
    ]
    assume(met)
    low, high = met[0][0][0], max(rows[-1][0] for _, rows in met)
    times = [min(low, times[0] - 1), *times, max(high, times[-1] + 1)]  # edges hold all windows
    prices = [0, *prices, 0]
    wanted = sum(plain_gain(*own, rows, times, prices) for own, rows in met)  # type: ignore[arg-type]
    start, need, speed, gang = (
        np.array(column, dtype=np.int64) for column in zip(*(own for own, _ in met), strict=True)
    )
    ptr = np.cumsum([0, *(len(rows) for _, rows in met)])
    stop, worth = (np.array([row[i] for _, rows in met for row in rows]) for i in (0, 1))
    edges = np.array(times)
    gangs, ones = gang.tolist(), [1] * len(met)
    options = reward_bounds._Options(
        1, Fraction(1), start, need, speed, gangs, ones, ptr, stop, worth.tolist()
    )
    assert reward_bounds._plain_gains(options, edges, prices, 1) == wanted
    assert reward_bounds._compiled_gains(options, edges, prices, 1) == wanted
    dual = reward_bounds._Dual(options, edges)
    value, slope = dual.at(np.array(prices, dtype=float))
    room = edges[1:] - edges[:-1]
    assert value == -(wanted + room @ np.array(prices))
    bought = slope + room
    assert (bought >= 0).all()
    assert (bought <= gang.sum() * room * speed.max()).all()
    for step in (-0.125, 0.125):  # a supergradient
        other = np.maximum(np.array(prices) + step * np.sign(slope), 0)
        assert dual.at(other)[0] <= value + slope @ (other - np.array(prices)) + 1e-9


def test_one_price_for_all_the_time_and_a_better_one_for_each_part() -> None:
    """Two jobs want the first 4 s of one GPU, nobody the rest: a constant price costs 8 s of it."""
    rows = [(1, 0, 4, [(4, 100)]), (1, 0, 4, [(4, 90)]), (1, 0, 1, [(8, 10)])]
    constant = reward_bound(problem_of(1, rows), rounds=0)
    assert len(set(constant.certificate["prices"])) == 1
    assert constant.value > 110 == reward_bound(problem_of(1, rows)).value


def test_halved_intervals_are_better() -> None:
    problem = DeadlineRewards(testbed_workload(360))
    few, more = (reward_bound(problem, intervals=8, halvings=halvings) for halvings in (0, 3))
    assert len(few.certificate["prices"]) == 8 < len(more.certificate["prices"]) == 64
    assert more.value < few.value < problem.top
    verify_bound(problem, more)
