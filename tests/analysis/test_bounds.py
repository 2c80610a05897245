"""Bounds against brute force, and certificates against every way of being wrong."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.analysis.proofs import makespan as bounds
from gangsched.analysis.proofs.bound import bound as bound_of
from gangsched.analysis.proofs.configurations import Configurations
from gangsched.analysis.proofs.makespan import (
    InvalidCertificate,
    NoCertificate,
    area_bound,
    configuration_bound,
    dff_bound,
    verify_bound,
)
from gangsched.analysis.proofs.problem_data import data_of
from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Cluster, Instance, RingJob
from gangsched.instances.generate import paper_cluster, rar_workload
from gangsched.solvers import Bound
from gangsched.verify.fields import knapsack, stepped, thresholded
from gangsched.verify.rar_ddls import RingProblem
from strategies import rar_problems, rar_schedules
from tiny import packing

EVERY = [area_bound, dff_bound, configuration_bound]


def pooled_optimum(durations: Sequence[int], gangs: Sequence[int], gpus: int) -> int:
    """Least possible largest load when job j loads G_j different GPUs with d_j, by trying all."""
    best = sum(durations)

    def place(j: int, loads: tuple[int, ...]) -> None:
        nonlocal best
        if max(loads) >= best:
            return
        if j == len(durations):
            best = max(loads)
            return
        for chosen in combinations(range(gpus), gangs[j]):
            place(
                j + 1, tuple(sorted(x + durations[j] * (g in chosen) for g, x in enumerate(loads)))
            )

    place(0, (0,) * gpus)
    return best


def random_packings(count: int, seed: int) -> list[tuple[list[int], list[int], int]]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        gpus = int(rng.integers(2, 5))
        jobs = int(rng.integers(gpus + 1, 9))
        durations = rng.integers(3, 14, jobs).tolist()
        made.append((durations, rng.integers(1, gpus, jobs).tolist(), gpus))
    return made


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("durations", "gangs", "gpus", "area", "dff", "configuration"),
    [
        ([], [], 3, 0, 0, 0),
        ([5], [3], 3, 5, 5, 5),  # 5
        ([5, 5, 5], [1, 1, 1], 2, 8, 10, 10),  # two of three share a GPU
        ([4] * 5, [1] * 5, 2, 10, 12, 12),  # three of five share a GPU
        ([6, 6, 6], [2, 2, 2], 3, 12, 12, 12),  # each GPU left out once
        ([6, 6], [2, 2], 3, 8, 12, 12),  # two gangs of 2 meet on 3 GPUs
        ([7, 7, 4, 4, 3], [1] * 5, 2, 13, 13, 14),  # nothing adds up to 13, 25 of 26 used
        ([9, 2, 1], [1, 1, 1], 2, 9, 9, 9),  # the longest job
    ],
)
def test_known_values(
    durations: list[int], gangs: list[int], gpus: int, area: int, dff: int, configuration: int
) -> None:
    problem = packing(durations, gangs, [gpus])
    found = [bound(problem) for bound in EVERY]
    assert [bound.value for bound in found] == [area, dff, configuration]
    for bound in found:
        verify_bound(problem, bound)


def test_certificates_say_what_proves_them() -> None:
    area, dff, configuration = (bound(packing([7, 7, 4, 4, 3])) for bound in EVERY)
    assert dict(area.certificate or {}) == {"kind": "area"}
    assert dff == area  # nothing better: the area bound with its own certificate
    assert configuration.certificate is not None
    assert configuration.certificate["kind"] == "configuration lp"
    assert configuration.certificate["target"] == 13
    longest = dff_bound(packing([2, 9, 1]))
    assert dict(longest.certificate or {}) == {"kind": "longest job", "job": 1}


def test_bounds_never_exceed_the_optimum_of_the_packing() -> None:
    gaps, better_dff, better_configuration = 0, 0, 0
    cases = random_packings(120, seed=5)
    for durations, gangs, gpus in cases:
        problem = packing(durations, gangs, [gpus])
        area, dff, configuration = (bound(problem).value for bound in EVERY)
        best = pooled_optimum(durations, gangs, gpus)
        assert area <= dff <= configuration <= best
        gaps += area < best
        better_dff += area < dff
        better_configuration += dff < configuration
    assert gaps >= 0.3 * len(cases)
    assert better_dff >= 0.2 * len(cases)
    assert better_configuration >= 1


def test_configuration_bound_is_the_best_of_its_kind() -> None:
    """It refutes C exactly where the program over all sets of jobs, all written out, does."""
    from scipy.optimize import linprog

    above = 0
    for durations, gangs, gpus in random_packings(60, seed=6):
        jobs = range(len(durations))
        value = int(area_bound(packing(durations, gangs, [gpus])).value)
        while True:
            sets = [
                chosen
                for size in range(1, len(durations) + 1)
                for chosen in combinations(jobs, size)
                if sum(durations[j] for j in chosen) <= value
            ]
            cover = [[-float(j in chosen) for chosen in sets] for j in jobs]
            program = linprog([1.0] * len(sets), A_ub=cover, b_ub=[-float(g) for g in gangs])
            if program.fun <= gpus + 1e-7:
                break
            value += 1
        bound = configuration_bound(packing(durations, gangs, [gpus]))
        assert bound.value == value
        above += value > dff_bound(packing(durations, gangs, [gpus])).value
    assert above >= 1


@given(st.data())
def test_no_schedule_beats_a_verified_bound(data: st.DataObject) -> None:
    problem = data.draw(rar_problems(max_jobs=5))
    schedule = data.draw(rar_schedules(problem))
    assert problem.violations(schedule) == []
    for bound in (make(problem) for make in EVERY):
        verify_bound(problem, bound)
        assert bound.value <= problem.objective(schedule)


def test_paper_scale_is_certified() -> None:
    """At 160 jobs the dual feasible functions beat the area bound, on some seeds."""
    better = 0
    for seed in range(4):
        problem = RarDdls(rar_workload(paper_cluster(seed=seed), seed=seed, variant="B"))
        bound = dff_bound(problem)
        verify_bound(problem, bound)
        better += bound.value > area_bound(problem).value
    assert better >= 2


def test_a_long_range_of_targets_is_narrowed() -> None:
    """Durations in the thousands: too many targets to try each, the hit is found all the same."""
    problem = packing([6000, 6000, 6000, 100])
    assert area_bound(problem).value == 9050
    assert dff_bound(problem).value == 12000


@pytest.mark.parametrize(("durations", "value"), [([5] * 7, 15), ([8, 7, 7, 5, 4, 3, 3, 1], None)])
def test_durations_beyond_machine_integers(durations: list[int], value: int | None) -> None:
    """Sums near 10**20: with 64 bits they would wrap around and seem to prove anything."""
    jobs = [
        RingJob(id=f"j{i}", gpus=1000, iterations=d * 36_000, gradient=0, base_time=1e9)
        for i, d in enumerate(durations)
    ]
    problem = RarDdls(Instance(Cluster.of_sizes([3000]), jobs), rate="exact", xi2=0)
    bound = bound_of(problem, "full")  # its knapsack would be too long: not tried
    verify_bound(problem, bound)
    assert value is None or bound.value == value * 36 * 10**12  # a GPU serves three of the seven


# --- options -------------------------------------------------------------------------------------


def test_effort() -> None:
    problem = packing([7, 7, 4, 4, 3])
    assert bound_of(problem).value == 13
    assert bound_of(problem, "full").value == 14


# --- dual feasible functions ---------------------------------------------------------------------


def threshold(x: Fraction, eps: Fraction) -> Fraction:
    return Fraction(1) if x > 1 - eps else Fraction(0) if x < eps else x


def step(x: Fraction, k: int) -> Fraction:
    return x if k == 0 or ((k + 1) * x).denominator == 1 else Fraction(floor((k + 1) * x), k)


def misread(x: Fraction, k: int) -> Fraction:
    """The reading "x where x is integral" instead of "where (k + 1) x is"."""
    return x if x.denominator == 1 else Fraction(floor((k + 1) * x), k)


@given(st.data())
def test_dual_feasible(data: st.DataObject) -> None:
    target = data.draw(st.integers(1, 60), label="C")
    k = data.draw(st.integers(0, bounds.MAX_K), label="k")
    eps = data.draw(st.integers(0, target // 2), label="eps")
    left, worth = target, Fraction(0)
    while left and data.draw(st.booleans()):
        d = data.draw(st.integers(1, left))
        worth += step(threshold(Fraction(d, target), Fraction(eps, target)), k)
        left -= d
    assert worth <= 1


def test_the_other_reading_is_not_dual_feasible() -> None:
    """Two halves are worth two with k = 1: floor(2 * 1/2) / 1 = 1 each."""

    def best(function: Callable[[Fraction, int], Fraction]) -> Fraction:
        sets = (
            chosen
            for size in range(1, 7)
            for chosen in combinations_with_replacement(range(1, 7), size)
            if sum(chosen) <= 6
        )
        return max(sum(function(Fraction(d, 6), 1) for d in chosen) for chosen in sets)

    assert best(misread) == 2
    assert best(step) == 1


@given(st.data())
def test_tables_follow_the_definition(data: st.DataObject) -> None:
    sizes = sorted(data.draw(st.sets(st.integers(1, 30), min_size=1, max_size=6)))
    weights = [data.draw(st.integers(1, 5)) for _ in sizes]
    gpus, target = data.draw(st.integers(1, 6)), data.draw(st.integers(sizes[-1], 60))
    table = bounds._excess(np.array(sizes), np.array(weights), gpus, np.array([target]))[0]
    for k in range(bounds.MAX_K + 1):
        for e, eps in enumerate([0, *sizes]):
            if 2 * eps > target:
                assert table[k, e] == 0
                continue
            worths = [step(threshold(Fraction(d, target), Fraction(eps, target)), k) for d in sizes]
            total = sum((w * g for w, g in zip(weights, worths, strict=True)), Fraction(-gpus))
            assert table[k, e] == total * max(k, 1) * target


@given(st.integers(0, 9), st.integers(1, 40), st.data())
def test_the_verifier_follows_the_definition(k: int, target: int, data: st.DataObject) -> None:
    d, eps = data.draw(st.integers(1, target)), data.draw(st.integers(0, target // 2))
    x = stepped(thresholded(d, target, eps), target, k)
    expected = step(threshold(Fraction(d, target), Fraction(eps, target)), k)
    assert Fraction(x, max(k, 1) * target) == expected


# --- the verifier --------------------------------------------------------------------------------


@given(rar_problems())
def test_the_verifier_computes_the_same_durations(problem: RarDdls) -> None:
    best = [
        max(problem.progress(problem.iteration_time(j, n, 1)) for n in problem.spans(j))
        for j in range(len(problem.jobs))
    ]
    by_hand = [
        ceil(Fraction(job.iterations * problem.resolution, rate))
        for job, rate in zip(problem.jobs, best, strict=True)
    ]
    durations = RingProblem(data_of(problem)).shortest
    assert durations == by_hand == problem.shortest_durations().tolist()


def test_two_servers_may_be_faster_than_one() -> None:
    """Slow inside a server: tau is 2 * .1 / .5 + .1 = .5 there and 2 * .1 / 1 + .1 = .3 across."""
    jobs = [RingJob(id="a", gpus=2, iterations=60, gradient=0.2, base_time=0.1)]
    instance = Instance(Cluster.of_sizes([2, 2, 2]), jobs)
    problem = RarDdls(instance, bandwidth_within=0.5, compute_speed=1e9, xi2=0)
    longest = area_bound(problem)
    assert longest.value == 20  # three iterations a slot across, two inside
    verify_bound(problem, longest)
    with pytest.raises(InvalidCertificate, match=r"the certificate proves 20"):
        verify_bound(problem, Bound(21, "test", longest.certificate))


def test_duals_that_rounding_spoils_are_no_proof() -> None:
    program = Configurations([(6, 1)] * 3, 2)
    assert program._rounded(np.array([1.0]), 11) == (10**9, [10**9] * 3)
    assert program._rounded(np.array([1e-10]), 11) is None
    assert program._rounded(np.array([1.0]), 12) is None


@pytest.mark.parametrize("make", EVERY)
def test_the_bound_of_another_problem_is_refused(make: Callable[[RarDdls], Bound]) -> None:
    bound = make(packing([28, 28, 16, 16, 12]))
    with pytest.raises(InvalidCertificate, match=r"proves 25|is not refuted|above scale"):
        verify_bound(packing([14, 14, 8, 8, 6]), bound)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=7), st.integers(0, 30))
def test_knapsack(items: list[tuple[int, int]], capacity: int) -> None:
    best = max(
        sum(value for _, value in chosen)
        for size in range(len(items) + 1)
        for chosen in combinations(items, size)
        if sum(d for d, _ in chosen) <= capacity
    )
    sizes, values = [d for d, _ in items], [v for _, v in items]
    assert knapsack(sizes, values, capacity) == best
    huge = [v * 2**70 for v in values]
    assert knapsack(sizes, huge, capacity) == best * 2**70


def test_no_certificate() -> None:
    with pytest.raises(NoCertificate, match=r"bound 9 \(branch and bound\): no certificate"):
        verify_bound(packing([5, 5]), Bound(9, "branch and bound"))


def test_a_knapsack_too_long_to_replay_is_refused() -> None:
    problem = packing([10**8, 10**8])
    certificate = {"kind": "configuration lp", "target": 10**9, "scale": 1, "duals": [1, 1]}
    with pytest.raises(
        InvalidCertificate, match="a knapsack of 200000000 is larger than 100000000"
    ):
        verify_bound(problem, Bound(10, "test", certificate))


def test_an_unknown_problem_is_refused() -> None:
    with pytest.raises(InvalidCertificate, match=r"not a kind for object \(known: none\)"):
        verify_bound(object(), Bound(1, "area", {"kind": "area"}))


@given(st.data())
def test_tampered_duals_never_prove_too_much(data: st.DataObject) -> None:
    """Whatever the numbers say: what passes is a true bound."""
    durations, gangs, gpus = data.draw(st.sampled_from(random_packings(20, seed=8)))
    certificate = {
        "kind": "configuration lp",
        "target": data.draw(st.integers(max(durations), sum(durations))),
        "scale": data.draw(st.integers(1, 4)),
        "duals": [data.draw(st.integers(0, 4)) for _ in durations],
    }
    bound = Bound(certificate["target"] + 1, "test", certificate)
    try:
        verify_bound(packing(durations, gangs, [gpus]), bound)
    except InvalidCertificate:
        return
    assert bound.value <= pooled_optimum(durations, gangs, gpus)
