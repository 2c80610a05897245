"""Bounds by prices of GPU time: against every schedule, against a plain evaluation, by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gangsched as gs
from crowds import flows
from few import each_seed
from gangsched.analysis.proofs.compiled_kernels import COMPILED
from gangsched.analysis.proofs.completion_time import busy_time_bound, online_bound
from gangsched.analysis.proofs.price_core import evaluate, evaluate_exactly
from gangsched.analysis.proofs.prices import price_bound
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job
from gangsched.solvers import Bound
from gangsched.solvers.ours.pool import area_order, run_pool, schedule_of
from gangsched.verify.kernels import cost_columns, least_costs
from preemptive import MEASURES, optimum, problem_of, random_problem

SUMS = [measure for measure in MEASURES if measure != "makespan"]


@pytest.mark.slow
@pytest.mark.parametrize("measure", SUMS)
def test_it_is_often_the_optimum_and_often_better_than_mean_busy_times(measure: str) -> None:
    rng = np.random.default_rng(5)
    gaps, gains = [], []
    for _ in range(60):
        problem = random_problem(rng, measure)
        best = float(optimum(problem))
        value = price_bound(problem, intervals=40).value
        gaps.append(best / value - 1)
        gains.append(value / busy_time_bound(problem).value - 1)
    assert min(gaps) > -1e-12
    assert sum(gap < 1e-3 for gap in gaps) >= 10
    assert sum(gap > 1e-2 for gap in gaps) >= 5
    assert sum(gain > 1e-3 for gain in gains) >= 20
    assert min(gains) > -0.2  # where wide gangs decide, which prices of single GPUs do not know


# --- the least costs ------------------------------------------------------------------------------


def plain_cost(
    release: int, need: int, rate: int, gang: int, times: list[int], prices: list[int]
) -> int:
    """The least over every completion of its cost, with every second's price in a list."""

    def price(t: int) -> int:
        return next((q for q, a, b in zip(prices, times, times[1:], strict=False) if a <= t < b), 0)

    until = max(times[-1], release) + need + 1
    bought = [price(t) for t in range(release, until)]
    return min(
        rate * length + gang * sum(sorted(bought[:length])[:need])
        for length in range(need, len(bought) + 1)
    )


@st.composite
def priced_jobs(draw: st.DrawFn) -> tuple[list[list[int]], list[int], list[int]]:
    """Rows (release, need, rate, gang) by release; edges and prices."""
    row = st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(1, 6), st.integers(1, 4))
    rows = sorted(draw(st.lists(row, min_size=1, max_size=4)))
    times = sorted(draw(st.sets(st.integers(0, 30), min_size=2, max_size=9)))
    count = len(times) - 1
    prices = draw(st.lists(st.integers(0, 20), min_size=count, max_size=count))
    return [list(row) for row in rows], times, prices


@given(priced_jobs())
def test_least_costs_are_those_of_every_completion(
    drawn: tuple[list[list[int]], list[int], list[int]],
) -> None:
    rows, times, prices = drawn
    wanted = [plain_cost(*row, times, prices) for row in rows]
    columns = [list(column) for column in zip(*rows, strict=True)]
    taken = cost_columns(*columns, times, prices)
    arrays = [np.array(column, dtype=np.int64) for column in taken]
    least_costs(*taken)
    assert taken[-1] == wanted
    COMPILED[least_costs](*arrays)
    assert arrays[-1].tolist() == wanted


@pytest.mark.parametrize("seed", range(3))
def test_least_costs_of_many_jobs_leave_nothing_to_the_next(seed: int) -> None:
    """What is held for one job is none of the others'."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.choice(200, 40, replace=False)).tolist()
    prices = rng.integers(0, 20, 39).tolist()
    columns = [np.sort(rng.integers(0, 200, 150)), *rng.integers(1, [[30], [6], [5]], (3, 150))]
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    taken = cost_columns(*(column.tolist() for column in columns), times, prices)
    least_costs(*taken)
    assert taken[-1] == [plain_cost(*row, times, prices) for row in rows]
    release, need, rate, gang = columns
    first = np.searchsorted(times, release, side="right")
    at = release, need, rate, gang, first, np.array(times), np.array(prices)
    assert evaluate_exactly(*at) == sum(taken[-1])


@given(priced_jobs())
def test_the_climb_sees_the_same_costs(
    drawn: tuple[list[list[int]], list[int], list[int]],
) -> None:
    rows, times, prices = drawn
    wanted = sum(plain_cost(*row, times, prices) for row in rows)
    release, need, rate, gang = (np.array(c, dtype=np.int64) for c in zip(*rows, strict=True))
    edges = np.array(times, dtype=np.int64)
    first = np.searchsorted(edges, release, side="right")
    cost = evaluate_exactly(
        release, need, rate, gang, first, edges, np.array(prices, dtype=np.int64)
    )
    assert cost == wanted
    costs = rate.astype(float)
    total, bought, ends = evaluate(
        release, need, costs, gang, first, edges, np.array(prices, float)
    )
    assert total == wanted == rate @ (ends - release) + bought @ prices
    assert (bought >= 0).all()
    assert (bought <= gang.sum() * np.diff(edges)).all()


def test_the_slope_is_that_of_the_costs() -> None:
    """A supergradient: the sum of costs lies below its line, everywhere."""
    rng = np.random.default_rng(3)
    release, need = np.sort(rng.integers(0, 50, 30)), rng.integers(1, 20, 30)
    gang, rate = rng.integers(1, 5, 30), rng.random(30) + 0.1
    edges = np.arange(0, 200, 7)
    first = np.searchsorted(edges, release, side="right")
    columns = release, need, rate, gang, first, edges
    for _ in range(200):
        here, there = rng.random((2, edges.size - 1)) * rng.choice([0.1, 1, 5])
        value, slope, _ = evaluate(*columns, here)
        assert evaluate(*columns, there)[0] <= value + slope @ (there - here) + 1e-9


# --- by hand --------------------------------------------------------------------------------------


def test_completions_count_from_0_on() -> None:
    rows = [(2, 5, 3, 1.0), (2, 6, 1, 1.0)]
    flow, completion = (price_bound(problem_of([2], rows, m)).value for m in SUMS[1::-1])
    assert completion == flow + 11


def test_weights_of_any_binary_fraction_and_size() -> None:
    for weight in (0.1, 1e-30, 1e30, 3.0):
        rows = [(2, 0, 3, weight), (2, 0, 1, weight), (1, 2, 9, 2 * weight)]
        problem = problem_of([2], rows, weighted=True)
        bound = price_bound(problem)
        verify_bound(problem, bound)
        assert 0.5 * float(optimum(problem)) < bound.value <= optimum(problem)


def test_numbers_beyond_64_bits_are_counted_exactly() -> None:
    rows = [(2, 0, 2**40, 1.0), (2, 0, 2**39, 1.0), (1, 0, 1, 1.0)]
    problem = problem_of([2], rows)
    bound = price_bound(problem)
    verify_bound(problem, bound)
    finer = {**bound.certificate, "scale": 2**80}
    finer["prices"] = [q * 2**80 // bound.certificate["scale"] for q in finer["prices"]]
    verify_bound(problem, Bound(bound.value, "the same, finer", finer))


def test_no_jobs_and_jobs_that_do_not_wait() -> None:
    empty = CompletionTime(Instance(Cluster.of_sizes([2]), []))
    assert price_bound(empty).value == 0
    verify_bound(empty, price_bound(empty))
    calm = problem_of([9], [(3, 0, 5, 1.0), (3, 2, 7, 1.0)])
    assert price_bound(calm).value == 12


# --- how it is asked ------------------------------------------------------------------------------


def refused(problem: CompletionTime, value: float, text: str, **fields: Any) -> None:
    with pytest.raises(InvalidCertificate, match=text):
        verify_bound(problem, Bound(value, "hand", {"kind": "GPU prices", **fields}))


PAIR = [Job(id=id, gpus=2, work=2) for id in "abc"]
ONE_NODE = Instance(Cluster.of_sizes([2]), PAIR)


def test_prices_prove_nothing_of_makespans_and_unequal_gpus() -> None:
    """12 is the sum of the completions; the makespan is 6."""
    own: dict[str, Any] = {"times": [0, 2, 4, 6], "prices": [2, 1, 0], "scale": 2}
    verify_bound(
        CompletionTime(ONE_NODE, "completion"), Bound(12, "hand", {"kind": "GPU prices", **own})
    )
    refused(CompletionTime(ONE_NODE, "makespan"), 1, "the measure is 'makespan'", **own)
    fast = [Job(id="a", gpus=2, work=2, speeds={"v": 2.0, "w": 1.0})]
    nodes = Cluster([gs.Node("a", 2, "v"), gs.Node("b", 2, "w")])
    refused(CompletionTime(Instance(nodes, fast), "flow"), 0, "it is for equal GPUs", **own)


def test_slowdowns_count_whole_parts() -> None:
    """Each job buys nothing of [0, 1) and ends at 4, for 4/3: one whole part of scale 1.

    Two of them, less the one part that [0, 1) costs, prove 1; rounded up they would prove 3.
    """
    jobs = [Job(id=id, gpus=1, work=3) for id in "ab"]
    problem = CompletionTime(Instance(Cluster.of_sizes([1]), jobs), "slowdown")
    own: dict[str, Any] = {"times": [0, 1], "prices": [1], "scale": 1}
    verify_bound(problem, Bound(1, "hand", {"kind": "GPU prices", **own}))
    refused(problem, 1.25, "the certificate proves 1$", **own)


@pytest.mark.parametrize("power", [0, 20, 45, 200])
@pytest.mark.parametrize("seed", range(3))
def test_a_finer_scale_proves_the_same(seed: int, power: int) -> None:
    """Beyond 64 bits rates of jobs are rounded to whole parts, beyond that numbers are exact."""
    problem = flows(seed, SUMS[seed])
    bound = price_bound(problem, intervals=60)
    own = dict(bound.certificate)
    own |= {"prices": [q << power for q in own["prices"]], "scale": own["scale"] << power}
    verify_bound(problem, Bound(bound.value, "finer", own))
    more = bound.value + 1 if problem.integral else bound.value * (1 + 1e-9)
    with pytest.raises(InvalidCertificate):
        verify_bound(problem, Bound(more, "finer", own))


def test_costs_of_two_to_the_63_do_not_wrap() -> None:
    """A job of 4 s on both GPUs: 4 * 2^60 for its end and 8 * 2^59 for the GPUs are 2^63."""
    problem = CompletionTime(Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=2, work=4)]), "flow")
    own = {"kind": "GPU prices", "times": [0, 4], "prices": [2**59], "scale": 2**60}
    verify_bound(problem, Bound(4, "hand", own))


def test_more_steps_are_no_worse_and_told() -> None:
    problem, told = flows(1), list[tuple[int, float]]()
    first = price_bound(problem, rounds=0, intervals=50)
    more = price_bound(problem, rounds=80, intervals=50, on_progress=lambda *now: told.append(now))
    finer = price_bound(problem, rounds=80, intervals=50, halvings=2)
    assert first.value < more.value <= finer.value
    assert [step for step, _ in told] == list(range(1, len(told) + 1))
    assert [best for _, best in told] == sorted(best for _, best in told)
    assert price_bound(problem, rounds=80, intervals=50) == more
    assert price_bound(problem, time_limit=0, intervals=50).value == first.value


def test_makespans_and_unequal_gpus_have_no_price_bound_here() -> None:
    with pytest.raises(ValueError, match="measure='makespan' has no weights"):
        price_bound(problem_of([2], [(1, 0, 1, 1.0)], "makespan"))
    slow = Job(id="a", gpus=1, work=5, speeds={"": 0.5})
    with pytest.raises(ValueError, match="the GPUs are not equal"):
        price_bound(CompletionTime(Instance(Cluster.of_sizes([2]), [slow])))


# --- the best known schedule ----------------------------------------------------------------------


@each_seed(range(10))
def test_area_order_is_a_schedule_on_the_nodes(seed: int) -> None:
    problem = flows(seed, SUMS[seed % 3])
    result = area_order(problem)
    assert result.solution is not None
    assert problem.violations(result.solution) == []
    ends = run_pool(problem).ends.tolist()
    assert problem.ends(result.solution) == ends
    bound = price_bound(problem, intervals=60)
    assert bound.value <= result.objective * (1 + 1e-12)


def test_power_0_is_shortest_remaining_first() -> None:
    rows = [(4, 0, 4, 1.0), (1, 0, 5, 1.0)]
    problem = problem_of([2, 2], rows)
    assert area_order(problem).objective == 5 + 9
    assert run_pool(problem, power=0.0).ends.sum() == 4 + 9


def test_a_replay_shows_the_bracket() -> None:
    instance = flows(3).instance
    found = gs.replay(instance, ["srtf"], effort="standard")
    flow = CompletionTime(instance, "flow")
    runs = [run_pool(flow, power=power) for power in (1.0, 0.75, 0.5, 0.25, 0.0)]
    least = min(flow.objective(schedule_of(flow, run)) for run in runs)
    assert found.known["flow"].objective == least
    assert found.best_known["flow"][0] <= least
    assert found.bounds["flow"].value == online_bound(flow, steps=150).value
    text = str(found)
    assert "best known" in text
    assert found.to_dict()["effort"] == "standard"
    assert found.to_dict()["best_known"]["flow"][0] == found.best_known["flow"][0]
    with pytest.raises(ValueError, match="effort='most' is not one of 'quick', 'standard', 'full'"):
        gs.replay(instance, ["srtf"], effort="most")


def test_a_policy_may_be_the_best_that_is_known() -> None:
    """Six jobs for which neither order of the quick bracket is as good as backfilling."""
    for seed in range(200):
        instance = flows(seed, jobs=6).instance
        rules = gs.solvers.Rules(round_length=1, overhead=0, spread=True)
        found = gs.replay(instance, ["fifo:backfill", "srtf"], rules=rules)
        value, whose = found.best_known["flow"]
        assert value <= min(
            row.run.records.end.sum() - row.run.records.release.sum() for row in found.rows
        )
        assert value >= found.bounds["flow"].value
        if whose == "fifo:backfill":
            return
    raise AssertionError("never")


# --- the schedule on a pool -----------------------------------------------------------------------


@pytest.mark.parametrize("dynamic", [False, True])
@each_seed(range(20))
def test_a_pool_run_is_a_schedule_in_its_order(seed: int, dynamic: bool) -> None:
    problem = flows(seed, SUMS[seed % 3])
    run = run_pool(problem, dynamic=dynamic)
    jobs, gpus = problem.jobs, problem.instance.cluster.gpus
    done = np.bincount(run.job, weights=run.end - run.start, minlength=len(jobs))
    assert done.tolist() == [job.work for job in jobs]
    weights = [w / d for w, d in zip(problem.weights, problem.divisors(), strict=True)]
    events = sorted({*run.start.tolist(), *run.end.tolist()})
    for now in events:
        runs = run.job[(run.start <= now) & (run.end > now)].tolist()
        assert len(set(runs)) == len(runs)
        assert all(jobs[j].release <= now for j in runs)
        held = sum(jobs[j].gpus for j in runs)
        assert held <= gpus
        past = np.bincount(
            run.job, weights=np.clip(np.minimum(run.end, now) - run.start, 0, None),
            minlength=len(jobs),
        )  # fmt: skip
        key = [
            (jobs[j].work - (past[j] if dynamic else 0)) * jobs[j].gpus / weights[j]
            for j in range(len(jobs))
        ]
        waits = [
            j for j, job in enumerate(jobs)
            if job.release <= now and past[j] < job.work and j not in runs
        ]  # fmt: skip
        for j in waits:  # nobody smaller is passed over for want of anything but GPUs
            smaller = sum(jobs[i].gpus for i in runs if (key[i], i) < (key[j], j))
            assert smaller + jobs[j].gpus > gpus


def test_a_climb_that_is_lost_begins_anew() -> None:
    """On an overloaded cluster its first steps lead too far away to come back."""
    rng = np.random.default_rng(0)
    rows = [
        (int(rng.choice([1, 2, 4])), int(rng.integers(3_000)), int(rng.integers(10, 1_000)), 1.0)
        for _ in range(100)
    ]
    problem = problem_of([12], rows)
    first = price_bound(problem, rounds=0, intervals=200)
    assert price_bound(problem, rounds=50, intervals=200).value > first.value * 1.003
