"""Bounds by prices of several GPU models: against every schedule, linear programs, tampering."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import gangsched as gs
from crowds import flows
from few import each_seed, first
from gangsched.analysis.proofs.compiled_kernels import COMPILED
from gangsched.analysis.proofs.completion_time import busy_time_bound, online_bound
from gangsched.analysis.proofs.model_price_core import (
    Lists,
    PricedJobs,
    certify,
    evaluate_models,
)
from gangsched.analysis.proofs.model_prices import ModelDual, model_price_bound
from gangsched.analysis.proofs.price_core import evaluate
from gangsched.analysis.proofs.prices import price_bound
from gangsched.analysis.proofs.problem_data import data_of, proven
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.formulations.io import problem_to_dict
from gangsched.instances import Cluster, Instance, Job, Node
from gangsched.solvers import Bound
from gangsched.verify import prove
from gangsched.verify.completion_time import GangProblem
from gangsched.verify.kernels import proven_costs
from preemptive import MEASURES, MODELS, SPEEDS, mixed_optimum, mixed_problem, problem_of

SUMS = [measure for measure in MEASURES if measure != "makespan"]


@pytest.mark.parametrize("measure", first(1, SUMS))
def test_it_is_better_than_mean_busy_times_on_some_and_not_always_the_optimum(measure: str) -> None:
    rng = np.random.default_rng(0)
    gaps, gains = [], []
    for _ in range(30):
        problem = mixed_problem(rng, measure, jobs=4)
        bound = model_price_bound(problem, rounds=40, intervals=40)
        gaps.append(float(mixed_optimum(problem)) / bound.value - 1)
        gains.append(bound.value / busy_time_bound(problem).value - 1)
        assert online_bound(problem, model_steps=40).value >= busy_time_bound(problem).value
    assert sum(gain > 1e-3 for gain in gains) >= 3
    assert sum(gap > 1e-2 for gap in gaps) >= 5


# --- the least costs ------------------------------------------------------------------------------


def least_cost(job: dict[str, Any], edges: list[int], prices: list[list[float]]) -> float:
    """The least of weight (C - release) + gang kappa(C), by a linear program for each interval.

    Variables: seconds on each model in each interval until that of C, and C.
    """
    release, need, speeds = job["release"], job["need"], job["speeds"]
    found = []
    ends = [*edges[1:], edges[-1] + release + need + 1]
    for last, until in enumerate(ends):
        if until < release + need:
            continue
        parts = [
            (g, k, prices[g][k] if k < len(ends) - 1 else 0.0)
            for k in range(last + 1)
            if ends[k] > release
            for g in range(len(speeds))
            if speeds[g]
        ]
        cost = [job["gang"] * price for _, _, price in parts] + [job["weight"]]
        rows, limits = [], []
        for k in range(last + 1):
            row = [float(own == k) for _, own, _ in parts] + [-float(k == last)]
            begin = max(edges[k], release)
            rows.append(row)
            limits.append(-begin if k == last else max(ends[k] - begin, 0))
        low = max(edges[last], release + need)
        program = linprog(
            cost,
            A_ub=rows,
            b_ub=limits,
            A_eq=[[speeds[g] for g, _, _ in parts] + [0.0]],
            b_eq=[job["work"]],
            bounds=[(0, None)] * len(parts) + [(low, max(until, low))],
        )
        if program.status == 0:
            found.append(program.fun - job["weight"] * release)
    return float(min(found))


def draw(rng: np.random.Generator, count: int = 3) -> tuple[list[dict[str, Any]], list[int], Any]:
    """Jobs by release, edges from the first release on, and prices of two or three models."""
    models = int(rng.integers(2, 4))
    edges = sorted({0, *rng.integers(1, 25, int(rng.integers(2, 8))).tolist()})
    prices = rng.integers(0, 9, (models, len(edges) - 1)) * rng.choice([1, 3])
    jobs = []
    for _ in range(count):
        speeds = [float(rng.choice([0.0, *SPEEDS])) for _ in range(models)]
        speeds[0] = speeds[0] or 1.0
        work = int(rng.integers(1, 15))
        jobs.append(
            {
                "release": int(rng.integers(0, 20)),
                "need": int(-(-work // max(speeds))),
                "work": work,
                "weight": int(rng.integers(1, 9)),
                "gang": int(rng.integers(1, 4)),
                "speeds": speeds,
            }
        )
    return sorted(jobs, key=lambda job: job["release"]), edges, prices


def lists_of(jobs: list[dict[str, Any]], edges: list[int]) -> Lists:
    """All prices, for each job alone."""
    number, none = np.arange(len(jobs) + 1), np.zeros(len(jobs), dtype=np.int64)
    speeds = np.rint(np.array([job["speeds"] for job in jobs]) * 1e6).astype(np.int64)
    return Lists(number[:-1], number, none, none, none + len(edges) - 1, speeds)


def columns(jobs: list[dict[str, Any]], scale: int = 1) -> PricedJobs:
    names = ("release", "need", "work", "more", "weight", "gang")
    made = [np.array([job.get(name, 0) for job in jobs], dtype=np.int64) for name in names]
    made[4] *= scale
    return PricedJobs(*made)


def climbed(jobs: list[dict[str, Any]], edges: list[int], prices: Any) -> tuple[float, Any]:
    release, need, work, more, weight, gang = columns(jobs)
    some = PricedJobs(
        release, need, work.astype(float), more, weight.astype(float), gang.astype(float)
    )
    priced = np.asarray(prices, dtype=float)
    costs, bought = evaluate_models(some, lists_of(jobs, edges), np.array(edges), priced)
    return float(costs.sum()), bought


@each_seed(range(40))
def test_least_costs_are_those_of_linear_programs(seed: int) -> None:
    jobs, edges, prices = draw(np.random.default_rng(seed))
    wanted = sum(least_cost(job, edges, prices.tolist()) for job in jobs)
    assert climbed(jobs, edges, prices)[0] == pytest.approx(wanted, rel=1e-7)


@each_seed(range(40))
def test_the_proof_loses_little_of_them_and_never_adds(seed: int) -> None:
    jobs, edges, prices = draw(np.random.default_rng(seed))
    scale, lists = 2**20, lists_of(jobs, edges)
    c = columns(jobs, scale)
    costs, own = certify(c, lists, np.array(edges), prices * scale, float(scale))
    proven = int(costs.sum())
    wanted = [least_cost(job, edges, prices.tolist()) for job in jobs]
    assert proven <= sum(wanted) * scale * (1 + 1e-9)
    assert proven >= sum(wanted) * scale * (1 - 1e-4)
    ptr, rates = np.cumsum([0, *map(len, own)]), np.array([a for some in own for a in some])
    given = [
        c.release, c.need, c.work, c.more, c.weight, c.gang, lists.order, lists.speeds, ptr, rates,
        np.array(edges), prices * scale,
    ]  # fmt: skip
    plain = [0] * len(jobs)
    proven_costs(*(column.tolist() for column in given), plain)
    assert plain == costs.tolist()
    compiled = np.zeros(len(jobs), dtype=np.int64)
    COMPILED[proven_costs](*(np.array(column, dtype=np.int64) for column in given), compiled)
    assert compiled.tolist() == plain
    given[9] = rates * (np.arange(rates.size) % 15) // 7
    proven_costs(*(column.tolist() for column in given), plain)
    for own, best in zip(plain, wanted, strict=True):
        assert own <= best * scale * (1 + 1e-9)


def test_lists_of_some_intervals_are_prices_that_end() -> None:
    """The list of a job, and that of two jobs, of which nothing has a price before and after."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        jobs, edges, prices = draw(rng, 3)
        jobs[2]["speeds"] = jobs[1]["speeds"]
        slices = [sorted(rng.integers(0, len(edges), 2).tolist()) for _ in range(2)]
        order, ptr = np.array([0, 1, 2]), np.array([0, 1, 3])
        first = np.array([low for low, _ in slices])
        sizes = [high - low for low, high in slices]
        ends = np.cumsum(sizes)
        speeds = lists_of(jobs[:2], edges).speeds
        lists = Lists(order, ptr, first, ends - sizes, ends, speeds)
        own = np.concatenate([prices[:, low:high] for low, high in slices], axis=1)
        release, need, work, more, weight, gang = columns(jobs)
        release = np.maximum(release, np.array(edges)[first[[0, 1, 1]]])
        some = PricedJobs(
            release, need, work.astype(float), more, weight.astype(float), gang.astype(float)
        )
        costs, bought = evaluate_models(some, lists, np.array(edges), own.astype(float))
        assert bought.shape == own.shape
        for j, (low, high) in zip(range(3), (slices[0], slices[1], slices[1]), strict=True):
            job = {**jobs[j], "release": int(release[j])}
            zero = np.zeros_like(prices)
            zero[:, low:high] = prices[:, low:high]
            assert costs[j] == pytest.approx(least_cost(job, edges, zero.tolist()), rel=1e-7)


def test_the_slope_is_that_of_the_costs() -> None:
    """A supergradient: the sum of costs lies below its line, everywhere."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        jobs, edges, prices = draw(rng, 8)
        here, there = prices * rng.random(prices.shape), prices * rng.random(prices.shape) * 2
        value, slope = climbed(jobs, edges, here)
        line = value + float((slope * (there - here)).sum())
        assert climbed(jobs, edges, there)[0] <= line + 1e-7 * abs(line)
        assert (slope.sum(axis=0) >= -1e-9).all()


def test_the_slope_is_that_of_small_changes() -> None:
    """Also where a second is divided between two models, of which the slower is bought less."""
    rng = np.random.default_rng(6)
    wrong = total = 0
    for _ in range(25):
        jobs, edges, prices = draw(rng, 6)
        here = (prices + 0.1) * (0.5 + rng.random(prices.shape))
        _, slope = climbed(jobs, edges, here)
        for at in np.ndindex(here.shape):
            step = np.zeros_like(here)
            step[at] = 1e-6
            rise = climbed(jobs, edges, here + step)[0] - climbed(jobs, edges, here - step)[0]
            wrong += abs(rise / 2e-6 - slope[at]) > 1e-3
            total += 1
    assert total > 200
    assert wrong <= total // 100  # kinks


def test_on_one_model_of_speed_1_they_are_those_of_prices_of_gpus() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        jobs, edges, prices = draw(rng, 6)
        alone = [{**job, "speeds": [1.0], "need": job["work"]} for job in jobs]
        c, one = columns(alone), prices[:1].astype(float)
        first = np.searchsorted(edges, c.release, side="right")
        total, _, _ = evaluate(
            c.release, c.need, c.weight.astype(float), c.gang, first, np.array(edges), one[0]
        )
        found, _ = climbed(alone, edges, one)
        assert found == pytest.approx(total, rel=1e-12)


def test_what_whole_seconds_do_is_the_least_sum_of_speeds_that_is_enough() -> None:
    rng, more = np.random.default_rng(9), 0
    for _ in range(60):
        problem = mixed_problem(rng, "flow", jobs=3)
        dual = ModelDual.of(problem, np.array([0, 9]), 0)
        read = GangProblem(data_of(problem))
        assert read.beyond == dual.more.tolist()
        for job, speeds, found in zip(
            problem.jobs, problem.speeds.tolist(), read.beyond, strict=True
        ):
            own, need = sorted({*speeds} - {0}), 10**6 * job.work
            ways = product(*(range(-(-need // speed) + 1) for speed in own))
            sums = (sum(n * s for n, s in zip(some, own, strict=True)) for some in ways)
            assert need + found == min(done for done in sums if done >= need)
            more += found > 0
    assert more > 40


def test_where_there_are_too_many_ways_work_is_what_it_was() -> None:
    speeds = {"new": 2.5, "old": 1.0, "newest": 2.75}
    jobs = [Job(id=f"j{w}", gpus=1, work=w, speeds=speeds) for w in (3, 4, 7, 10**6 + 1)]
    jobs.append(Job(id="pinned", gpus=1, work=10**6 + 1, speeds=speeds, pin="new"))
    nodes = [Node("a", 2, "new"), Node("b", 4, "old"), Node("c", 4, "newest")]
    problem = CompletionTime(Instance(Cluster(nodes), jobs), "flow")
    wanted = [0, 0, 0, 0, 1_500_000]  # any whole number is a sum of 1s
    assert ModelDual.of(problem, np.array([0, 9]), 0).more.tolist() == wanted
    assert GangProblem(data_of(problem)).beyond == wanted


def test_a_second_is_held_as_a_whole() -> None:
    """On a GPU of speed 3.25, jobs of one second of work end at 1, 2 and 3, not all at 1."""
    jobs = [Job(id=i, gpus=1, work=1, speeds={"new": 3.25}) for i in "abc"]
    problem = CompletionTime(Instance(Cluster([Node("n", 1, "new")]), jobs), "flow")
    bound = model_price_bound(problem)
    assert bound.value == 6 == mixed_optimum(problem)
    verify_bound(problem, bound)


# --- by hand --------------------------------------------------------------------------------------


def by_hand() -> CompletionTime:
    """A new GPU, twice as fast, and an old one; two jobs of four seconds of work at 0."""
    speeds = {"old": 1.0, "new": 2.0}
    jobs = [Job(id=i, gpus=1, work=4, speeds=speeds) for i in "ab"]
    return CompletionTime(Instance(Cluster([Node("n", 1, "new"), Node("o", 1, "old")]), jobs))


def test_a_price_list_by_hand() -> None:
    """The new GPU costs 1/2 a second until 2: a job alone takes 2 s and pays 1, or ends later.

    With 2 seconds of the new GPU it ends at 2 and pays 1. Later it ends at C = 4 - x / 2 with x / 2
    seconds before 2 on the old GPU (free) and the rest after 2 on the new one: at C = 3 it has 2 on
    the old one, for nothing, and 2 in the second after. So each costs 3, less 2 / 2: 5 in all.
    """
    problem = by_hand()
    assert mixed_optimum(problem) == 2 + 3
    proof = {
        "kind": "GPU model prices", "times": [0, 2], "prices": [[1], [0]], "scale": 2,
        "rates": [[1], [1]],
    }  # fmt: skip
    verify_bound(problem, Bound(5, "by hand", proof))
    with pytest.raises(InvalidCertificate, match="proves 5"):
        verify_bound(problem, Bound(6, "by hand", proof))
    nothing = {**proof, "rates": [[], []]}
    with pytest.raises(InvalidCertificate, match="proves 3"):
        verify_bound(problem, Bound(5, "by hand", nothing))


def test_completions_count_from_0_on_and_nobody_waits_in_vain() -> None:
    rng = np.random.default_rng(8)
    problem = mixed_problem(rng, "flow", jobs=4)
    moved = CompletionTime(problem.instance, "completion")
    since = sum(job.release for job in problem.jobs)
    assert model_price_bound(moved).value == model_price_bound(problem).value + since
    empty = CompletionTime(Instance(problem.instance.cluster, []), "flow")
    assert model_price_bound(empty).value == 0
    verify_bound(empty, model_price_bound(empty))


def test_makespans_have_no_price_bound() -> None:
    problem = CompletionTime(by_hand().instance, "makespan")
    with pytest.raises(ValueError, match="measure='makespan' has no weights"):
        model_price_bound(problem)
    proof = model_price_bound(by_hand()).certificate
    with pytest.raises(InvalidCertificate, match="and the measure is 'makespan'"):
        verify_bound(problem, Bound(1, "no", proof))


# --- certificates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", SUMS)
@pytest.mark.parametrize("seed", range(3))
def test_what_it_proves_is_what_the_verifier_finds(measure: str, seed: int) -> None:
    problem = flows(seed, measure, models=True)
    bound = model_price_bound(problem, intervals=60, rounds=100)
    verify_bound(problem, bound)
    assert bound.value > busy_time_bound(problem).value
    more = bound.value + 1 if problem.integral else bound.value * (1 + 1e-5)
    with pytest.raises(InvalidCertificate):
        verify_bound(problem, Bound(more, "too much", bound.certificate))


def test_numbers_beyond_64_bits_are_counted_exactly() -> None:
    problem = flows(2, jobs=12, models=True)
    bound = model_price_bound(problem, intervals=40, rounds=40)
    proof = {**bound.certificate, "scale": bound.certificate["scale"] << 40}
    for name in ("prices", "rates"):
        proof[name] = [[value << 40 for value in row] for row in bound.certificate[name]]
    verify_bound(problem, Bound(bound.value, "the same, finer", proof))
    for weight in (1e-30, 1e30):
        jobs = [Job(id=j.id, gpus=j.gpus, work=j.work, weight=weight, speeds=j.speeds)
                for j in problem.jobs]  # fmt: skip
        same = CompletionTime(Instance(problem.instance.cluster, jobs), "flow", weighted=True)
        made = model_price_bound(same, intervals=40, rounds=40)
        verify_bound(same, made)
        alone = weight * sum(problem.seconds)
        assert alone < made.value < 20 * alone


# --- how it is asked ------------------------------------------------------------------------------


@pytest.mark.slow
def test_more_steps_are_no_worse_and_told() -> None:
    problem, told = flows(1, models=True), list[tuple[int, float]]()
    first = model_price_bound(problem, rounds=0, intervals=50)
    more = model_price_bound(
        problem, rounds=80, intervals=50, on_progress=lambda *now: told.append(now)
    )
    finer = model_price_bound(problem, rounds=80, intervals=50, halvings=2)
    assert first.value < more.value <= finer.value
    assert [step for step, _ in told] == list(range(1, len(told) + 1))
    assert model_price_bound(problem, rounds=80, intervals=50) == more
    assert model_price_bound(problem, time_limit=0, intervals=50).value == first.value


def test_every_effort_takes_the_best_of_all_kinds() -> None:
    problem = flows(4, jobs=20, models=True)
    found = [gs.bound(problem, effort) for effort in ("quick", "standard", "full")]
    assert [bound.value for bound in found] == sorted(bound.value for bound in found)
    assert found[1].method == "GPU model prices"
    assert found[1].value > busy_time_bound(problem).value
    equal = problem_of([4], [(3, 0, 5, 1.0), (3, 2, 7, 1.0)])
    assert model_price_bound(equal).value == price_bound(equal).value
    assert MODELS[0] == "old"


def test_speeds_too_large_for_64_bits_are_counted_in_python() -> None:
    """Parts of a second's worth are multiplied by millionths of a speed."""
    rng = np.random.default_rng(3)
    cluster = gs.Cluster([gs.Node("a", 2, "v"), gs.Node("b", 2, "w")])
    for power in range(20, 39):
        speeds = {"v": 2.0**power, "w": 1.0}
        jobs = [gs.Job(id=i, gpus=1, work=10**9, speeds=speeds) for i in "ab"]
        problem = CompletionTime(gs.Instance(cluster, jobs), "flow")
        rates = [[999_999, int(rng.integers(2**20))] for _ in jobs]
        certificate = {
            "kind": "GPU model prices", "times": [0, 2, 10], "scale": 1000,
            "prices": rng.integers(2**30, size=(2, 2)).tolist(), "rates": rates,
        }  # fmt: skip
        assert proven(problem, certificate) == prove(problem_to_dict(problem), certificate)
