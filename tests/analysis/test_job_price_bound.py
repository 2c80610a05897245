"""Bounds by prices of jobs: against every schedule, every set of gangs, and forgers."""

import time
from base64 import b64encode
from itertools import combinations
from zlib import compress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gangsched as gs
from crowds import flows
from gangsched.analysis.proofs.job_price_core import costs_of_jobs, worth_of_sets
from gangsched.analysis.proofs.job_prices import job_price_bound
from gangsched.analysis.proofs.model_prices import model_price_bound
from gangsched.analysis.proofs.prices import price_bound
from gangsched.analysis.proofs.verify import InvalidCertificate
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.formulations.io import problem_to_dict
from gangsched.instances import Cluster, Instance, Job, Node
from gangsched.verify import prove
from gangsched.verify.completion_time import dearest
from preemptive import (
    MEASURES,
    mixed_optimum,
    optimum,
    random_problem,
)

SUMS = [measure for measure in MEASURES if measure != "makespan"]


@pytest.mark.slow
@pytest.mark.parametrize("measure", SUMS)
def test_it_is_nearly_the_optimum_where_prices_of_gpus_are_not(measure: str) -> None:
    rng = np.random.default_rng(5)
    parts, before = [], []
    for _ in range(60):
        problem = random_problem(rng, measure)
        best = float(optimum(problem))
        parts.append(job_price_bound(problem, rounds=400, intervals=40).value / best)
        before.append(price_bound(problem, intervals=40).value / best)
    assert max(parts) <= 1
    assert np.mean(parts) > 0.99
    assert min(parts) > 0.93
    assert np.mean(parts) > np.mean(before) + 0.01
    assert min(np.subtract(parts, before)) > -2e-3


def test_a_wide_gang_leaves_no_room_for_narrow_ones() -> None:
    """Prices of GPUs let the gang of 8 run on the 4 GPUs that two gangs of 6 leave."""
    jobs = [Job(id=f"n{i}", gpus=6, work=10) for i in range(4)] + [Job(id="w", gpus=8, work=10)]
    problem = CompletionTime(Instance(Cluster.of_sizes([8, 8]), jobs), "flow")
    assert job_price_bound(problem).value > price_bound(problem).value + 5
    assert gs.bound(problem, "full").method == "job prices"


def test_so_it_does_on_each_of_several_models() -> None:
    """Eight new GPUs and eight old ones, each for one gang of six or five; halves would fit too."""
    cluster = Cluster([Node("n", 8, "new"), Node("o", 8, "old")])
    speeds = {"new": 2.0, "old": 1.0}
    jobs = [Job(id=f"j{i}", gpus=5 + i % 2, work=60, speeds=speeds) for i in range(5)]
    problem = CompletionTime(Instance(cluster, jobs), "flow")
    bound = job_price_bound(problem)
    assert bound.value > model_price_bound(problem).value * 1.1
    gs.verify_bound(problem, bound)
    assert bound.value <= 30 + 60 + 60 + 90 + 120  # a second of the third is lost at most
    assert gs.bound(problem, "full").value >= bound.value


def test_a_price_list_of_two_models_by_hand() -> None:
    """A gang of two is done in a second on the new GPUs, in two on the old ones; two such gangs.

    Until 1 a second costs 1/2 on the new model, and nothing on the old one. A job ends at 1 and
    pays 1/2, or it has an old second for nothing, then half a new one, and ends at 1.5. That is 1.5
    for each; the dearest set on three new GPUs, one job, is worth 1/2. So 2.5, and in seconds 3.
    """
    cluster = Cluster([Node("n", 3, "new"), Node("o", 3, "old")])
    jobs = [Job(id=i, gpus=2, work=2, speeds={"new": 2.0, "old": 1.0}) for i in "ab"]
    problem = CompletionTime(Instance(cluster, jobs), "flow")
    packed = b64encode(compress(bytes([1, 1, 0, 0]))).decode()
    proof = {
        "kind": "job prices", "times": [0, 1, 2], "first": [0, 0], "counts": [1, 1],
        "prices": packed, "scale": 2, "rates": [[1], [1]],
    }  # fmt: skip
    assert mixed_optimum(problem) == 3
    gs.verify_bound(problem, gs.Bound(3, "by hand", proof))
    for worse in ({"rates": [[], []]}, {"scale": 1}, {"counts": [0, 1]}):
        with pytest.raises(InvalidCertificate):
            gs.verify_bound(problem, gs.Bound(3, "by hand", {**proof, **worse}))


def test_many_short_jobs_fit_64_bits() -> None:
    """More of them run at once than there are seconds, so that sums of prices are the largest."""
    jobs = [Job(id=f"j{i}", gpus=1, work=1) for i in range(600)]
    problem = CompletionTime(Instance(Cluster.of_sizes([300]), jobs), "flow")
    bound = job_price_bound(problem, rounds=60)
    gs.verify_bound(problem, bound)
    assert bound.value == 900


# --- the dearest set ------------------------------------------------------------------------------

GANGS = st.lists(
    st.tuples(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16]), st.integers(0, 30)),
    min_size=1, max_size=9,
)  # fmt: skip


def by_hand(gangs: list[tuple[int, int]], gpus: int) -> int:
    """The largest worth of all subsets that fit."""
    sets = (some for size in range(len(gangs) + 1) for some in combinations(gangs, size))
    return max(sum(w for _, w in some) for some in sets if sum(g for g, _ in some) <= gpus)


@given(GANGS, st.integers(16, 40))
def test_no_set_of_gangs_is_dearer(gangs: list[tuple[int, int]], gpus: int) -> None:
    wanted = by_hand(gangs, gpus)
    assert dearest(gangs, gpus) == wanted
    gangs.sort(key=lambda one: one[0])
    gang, prices = (np.array(column) for column in zip(*gangs, strict=True))
    worths, chosen = np.zeros(1, dtype=np.int64), np.zeros(len(gangs))
    ptr, place = np.array([0, len(gangs)]), np.arange(len(gangs))
    worth_of_sets(gpus, ptr, place, gang, prices, worths, chosen)
    assert worths[0] == wanted == chosen @ prices
    assert chosen @ gang <= gpus


def test_many_gangs_of_powers_of_two_need_no_table() -> None:
    rng = np.random.default_rng(2)
    for gpus in (24, 88, 100):
        gangs = [(int(2 ** rng.integers(0, 5)), int(rng.integers(1, 99))) for _ in range(12)]
        assert dearest(gangs, gpus) == by_hand(gangs, gpus)


# --- the least costs ------------------------------------------------------------------------------


def test_least_costs_are_those_of_every_completion_and_what_is_bought_is_their_slope() -> None:
    partly = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        edges = np.unique(rng.integers(0, 30, 9))
        count = edges.size - 1
        first = int(rng.integers(0, count)) if count > 0 else 0
        own = rng.integers(0, 20, max(count - first, 0))
        release = int(rng.integers(0, edges[-1] + 3))
        need, rate = int(rng.integers(1, 9)), int(rng.integers(1, 6))
        job = np.array([release]), np.array([need]), np.array([rate])
        where = np.array([0, own.size]), np.array([first]), edges
        bought, cost = np.zeros(own.size), np.zeros(1, dtype=np.int64)
        costs_of_jobs(*job, *where, own, bought, cost)
        priced = np.zeros(60, dtype=np.int64)
        for k, price in enumerate(own):
            priced[edges[first + k] : edges[first + k + 1]] = price
        assert cost[0] == min(
            rate * length + int(np.sort(priced[release : release + length])[:need].sum())
            for length in range(need, 60 - release)
        )
        lengths = np.diff(edges)[first : first + own.size]
        assert (bought <= lengths).all()
        partly += bool(((bought > 0) & (bought < lengths)).any())
        for step in np.eye(own.size, dtype=np.int64):
            paid = np.zeros(1, dtype=np.int64)
            costs_of_jobs(*job, *where, own + step, np.zeros(own.size), paid)
            assert paid[0] <= cost[0] + bought @ step
    assert partly > 20


# --- certificates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", SUMS)
def test_what_it_proves_on_several_models_is_what_the_verifier_finds(measure: str) -> None:
    instance = flows(4, models=True).instance
    problem = CompletionTime(instance, measure)
    bound = job_price_bound(problem, rounds=60, intervals=40)
    gs.verify_bound(problem, bound)
    assert bound.value > model_price_bound(problem, intervals=40).value
    assert float(bound.value) == pytest.approx(
        float(prove(problem_to_dict(problem), dict(bound.certificate or {}))), rel=1e-6, abs=1
    )
    more = bound.value + 1 if problem.integral else bound.value * (1 + 1e-9)
    with pytest.raises(InvalidCertificate):
        gs.verify_bound(problem, gs.Bound(more, "too much", bound.certificate))


@pytest.mark.parametrize(("more", "said"), [(1, "is not"), (8, "is not"), (7, "proves -")])
def test_packed_numbers_have_the_same_bytes_each_and_eight_at_most(more: int, said: str) -> None:
    problem = flows(1)
    bound = job_price_bound(problem, rounds=5, intervals=40)
    count = sum(bound.certificate["counts"])
    size = count + 1 if more == 1 else (1 + more) * count
    packed = b64encode(compress(b"\xff" * size)).decode()
    with pytest.raises(InvalidCertificate, match=said):
        gs.verify_bound(problem, gs.Bound(1, bound.method, {**bound.certificate, "prices": packed}))


def test_bad_calls_are_refused_and_limits_kept() -> None:
    problem = flows(1)
    with pytest.raises(ValueError, match="makespan"):
        job_price_bound(CompletionTime(problem.instance, "makespan"))
    nobody = CompletionTime(Instance(problem.instance.cluster, []), "flow")
    with pytest.raises(ValueError, match="0 jobs"):
        job_price_bound(nobody)
    at = time.monotonic()
    short = job_price_bound(problem, time_limit=0.0)
    assert time.monotonic() - at < 30
    gs.verify_bound(problem, short)
    seen: list[int] = []
    job_price_bound(problem, rounds=3, on_progress=lambda step, _: seen.append(step))
    assert seen == [*range(1, 10)]  # three on each of three sets of intervals
