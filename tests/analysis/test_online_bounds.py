"""Bounds of completion times against brute force, and their certificates against tampering."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from driven import Case, checked, mixed_cases
from gangsched.analysis.driving import metrics
from gangsched.analysis.proofs import completion_time as online_bounds
from gangsched.analysis.proofs.completion_time import (
    busy_time_bound,
    online_bound,
    release_bound,
    srpt_bound,
)
from gangsched.analysis.proofs.fast_machine import run
from gangsched.analysis.proofs.prices import price_bound
from gangsched.analysis.proofs.problem_data import proven as proven_of
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job, Node, Schedule
from gangsched.instances.traces import read_philly_csv
from gangsched.solvers import Bound, LtgfPolicy, Srtf
from gangsched.solvers.gandiva_fair.policy import GandivaFair
from gangsched.solvers.result import Stop
from gangsched.verify.completion_time import _moments as moments
from gangsched.verify.completion_time import _srpt as srpt
from preemptive import (
    MEASURES,
    fastest,
    mixed_optimum,
    mixed_problem,
    optimum,
    problem_of,
    problems,
    random_problem,
)


def applicable(problem: CompletionTime) -> list[Bound]:
    """Every bound that the problem's measure has."""
    if problem.measure == "makespan":
        return [release_bound(problem)]
    found = [busy_time_bound(problem), busy_time_bound(problem, rounds=1)]
    equal = len(set(problem.weights)) <= 1 and problem.measure != "slowdown"
    return [*found, srpt_bound(problem)] if equal else found


@given(problems())
def test_no_bound_exceeds_the_optimum(problem: CompletionTime) -> None:
    best = optimum(problem)
    for bound in applicable(problem):
        assert bound.value <= best
        verify_bound(problem, bound)
    top = online_bound(problem)
    assert top.value >= max(bound.value for bound in applicable(problem))
    verify_bound(problem, top)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_bounds_are_strict_and_tight_on_many(measure: str) -> None:
    rng = np.random.default_rng(5)
    gaps = []
    for _ in range(60):
        problem = random_problem(rng, measure)
        gaps.append(float(optimum(problem)) / online_bound(problem).value - 1)
    assert min(gaps) > -1e-12
    assert sum(gap > 1e-9 for gap in gaps) >= 18
    assert sum(gap < 1e-9 for gap in gaps) >= 5
    assert np.mean(gaps) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["completion", "slowdown"])
def test_what_another_bound_is_beyond_is_all_that_is_left_out(measure: str) -> None:
    """The search for busy times ends early only where prices prove more."""
    rng, wins = np.random.default_rng(8), 0
    for _ in range(250):
        problem = random_problem(rng, measure, jobs=7)
        busy, best = busy_time_bound(problem).value, online_bound(problem)
        assert best.value == max([b.value for b in applicable(problem)] + [price_only(problem)])
        wins += busy == best.value > price_only(problem)
    assert wins >= 15


def price_only(problem: CompletionTime) -> float:
    """What prices prove without a climb."""
    return price_bound(problem, rounds=0).value


# --- where theory says that a bound is the optimum ------------------------------------------------


@pytest.mark.parametrize("measure", ["makespan", "completion", "flow"])
@pytest.mark.parametrize(("gpus", "narrowest"), [(3, 3), (5, 3), (2, 2)])
def test_gangs_that_never_run_together_are_one_machine(
    measure: str, gpus: int, narrowest: int
) -> None:
    """SRPT is optimal on one machine, and never idling is for the makespan (Schrage 1968)."""
    rng = np.random.default_rng(gpus)
    for _ in range(25):
        rows = [
            (int(rng.integers(narrowest, gpus + 1)), int(r), int(p), 1.0)
            for r, p in zip(rng.integers(0, 9, 4), rng.integers(1, 6, 4), strict=True)
        ]
        problem = problem_of([gpus], rows, measure)
        assert online_bound(problem).value == optimum(problem)


@given(problems(measure="completion", weighted=True))
def test_one_machine_without_releases_is_smiths_rule(problem: CompletionTime) -> None:
    """B_j + p_j / 2 is C_j where nothing is interrupted."""
    gpus = problem.instance.cluster.gpus
    jobs = [
        replace(job, gpus=gpus, release=0, weight=round(job.weight) or 1) for job in problem.jobs
    ]
    whole = CompletionTime(Instance(problem.instance.cluster, jobs), "completion", True)
    now, total = 0, 0.0
    for job in sorted(jobs, key=lambda job: job.work / job.weight):
        now += job.work
        total += job.weight * now
    assert busy_time_bound(whole, rounds=1).value == total == optimum(whole)


@given(problems())
def test_jobs_that_never_wait(problem: CompletionTime) -> None:
    total = sum(job.gpus for job in problem.jobs)
    roomy = CompletionTime(
        Instance(Cluster.of_sizes([total]), problem.jobs), problem.measure, problem.weighted
    )
    exact = optimum(roomy)
    assert float(exact) * (1 - 2**-49) <= online_bound(roomy).value <= exact


# --- by hand -------------------------------------------------------------------------------------


def test_late_work() -> None:
    """From 10 on, 2 * 2 * 5 + 3 * 2 = 26 GPU seconds on 4 GPUs: 6.5 s; the first is done by then.

    Over all, 36 GPU seconds would take 9 s; alone, no job ends after 15.
    """
    rows = [(4, 0, 2, 1.0), (1, 0, 2, 1.0), (2, 10, 5, 1.0), (2, 10, 5, 1.0)]
    bound = release_bound(problem_of([4], rows + [(1, 11, 2, 1.0)] * 3, "makespan"))
    assert bound.value == 17
    assert bound.certificate == {"kind": "released work", "release": 10, "k": 0, "eps": 0}


def test_wide_gangs_run_one_after_the_other() -> None:
    rows = [(3, 0, 2, 1.0)] * 4 + [(1, 0, 1, 1.0)]
    bound = release_bound(problem_of([4], rows, "makespan"))
    assert bound.value == 8  # the area says (24 + 1) / 4: 7
    assert (bound.certificate["k"], bound.certificate["eps"]) != (0, 0)


def test_the_last_job() -> None:
    bound = release_bound(problem_of([4], [(1, 0, 9, 1.0), (1, 5, 5, 1.0)], "makespan"))
    assert (bound.value, bound.certificate) == (10, {"kind": "last job", "job": 1})


def test_the_kth_completion_is_bounded_by_both() -> None:
    """Two GPUs; SRPT of half sizes 1, 1, 3 ends at 1, 2, 5, the jobs alone at 1, 2, 6.

    The third is 1 GPU for 6 s; neither 1 + 2 + 5 nor less than 1 + 2 + 6 is possible.
    """
    rows = [(2, 0, 1, 1.0), (1, 0, 2, 1.0), (1, 0, 6, 1.0)]
    assert srpt_bound(problem_of([2], rows, "completion")).value == 9


def test_lambda_combines_what_neither_side_proves() -> None:
    """A crowd that waits and a job that does not: the shares differ, and the mix beats both."""
    rows = [(2, 0, 4, 1.0)] * 3 + [(1, 100, 50, 1.0)]
    problem = problem_of([2], rows)
    alone, crowd = sum(p for _, _, p, _ in rows), 4 + 8 + 12
    bound = busy_time_bound(problem)
    assert bound.value == crowd + 50 > alone
    assert busy_time_bound(problem, rounds=1).value < crowd + 50
    assert bound.certificate["densities"][-1] == 0


def test_rounds_only_help() -> None:
    rng = np.random.default_rng(3)
    gains = []
    for _ in range(20):
        gangs, works = rng.integers(1, 5, 40).tolist(), rng.integers(1, 50, 40).tolist()
        starts = rng.integers(0, 300, 40).tolist()
        rows = [(g, r, p, 1.0) for g, r, p in zip(gangs, starts, works, strict=True)]
        problem = problem_of([8], rows)
        values = [busy_time_bound(problem, rounds=n).value for n in (1, 4, 16)]
        assert values == sorted(values)
        gains.append(values[-1] / max(values[0], sum(works)))
    assert np.mean(gains) > 1.02


# --- invariance ----------------------------------------------------------------------------------


@given(problems(), st.integers(1, 10**6))
def test_invariance(problem: CompletionTime, shift: int) -> None:
    """Later, on twice as many GPUs with twice as wide gangs, or renamed: nothing changes."""
    assume(problem.measure in ("flow", "slowdown"))
    cluster, jobs = problem.instance.cluster, problem.jobs
    wide = Cluster.of_sizes([2 * n for n in cluster.sizes])
    for other in (
        Instance(cluster, [replace(job, release=job.release + shift) for job in jobs]),
        Instance(wide, [replace(job, gpus=2 * job.gpus) for job in jobs]),
        Instance(cluster, [replace(job, id=f"new {job.id}") for job in jobs]),
    ):
        changed = CompletionTime(other, problem.measure, problem.weighted)
        assert online_bound(changed).value == pytest.approx(online_bound(problem).value, rel=1e-9)
    assert online_bound(problem) == online_bound(problem)


@pytest.mark.parametrize("measure", ["makespan", "flow"])
@given(problem=problems(weighted=False), random=st.randoms(use_true_random=False))
def test_the_order_of_jobs_does_not_matter(
    measure: str, problem: CompletionTime, random: Any
) -> None:
    jobs = list(problem.jobs)
    random.shuffle(jobs)
    make = release_bound if measure == "makespan" else srpt_bound
    values = [
        make(CompletionTime(Instance(problem.instance.cluster, js), measure)).value
        for js in (problem.jobs, jobs)
    ]
    assert values[0] == values[1]


@pytest.mark.parametrize("measure", MEASURES)
def test_without_jobs(measure: str) -> None:
    problem = problem_of([2], [], measure)
    for bound in applicable(problem):
        assert bound.value == 0
        verify_bound(problem, bound)


# --- the verifier --------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 8), st.sampled_from([0, 1, 2, 5])), max_size=8
    )
)
def test_filling_idle_time_by_priority_is_the_priority_rule(
    jobs: list[tuple[int, int, int]],
) -> None:
    release, size, q = (np.array([job[i] for job in jobs], dtype=np.int64) for i in range(3))
    on = np.flatnonzero(q)
    job, start, end = run(release[on], size[on], -q[on])
    total = int(np.sum(q[on][job] * (end**2 - start**2)))
    assert moments(release.tolist(), size.tolist(), q.tolist()) == total


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), max_size=8))
def test_the_verifiers_srpt(jobs: list[tuple[int, int]]) -> None:
    """Second by second, with jobs of size 0 complete at their release."""
    left, now, ends = [size for _, size in jobs], 0, [r for r, size in jobs if not size]
    while any(left):
        ready = [j for j, (r, _) in enumerate(jobs) if left[j] and r <= now]
        now += 1
        if ready:
            j = min(ready, key=lambda j: left[j])
            left[j] -= 1
            ends += [now] * (not left[j])
    assert sorted(srpt(sorted(jobs))) == sorted(ends)


def test_sums_beyond_64_bits() -> None:
    """Moments of 2**100 and more, in a problem as large as is allowed."""
    rows = [(2**20, 2**32, 2**34, 1.0), (2**19, 2**33, 2**34, 1.0), (3, 5, 2**30, 1.0)]
    problem = problem_of([2**20], rows, "completion")
    for bound in applicable(problem):
        verify_bound(problem, bound)
        with pytest.raises(InvalidCertificate, match=r"the certificate proves \d+"):
            verify_bound(problem, replace(bound, value=bound.value + 1))


def test_srpt_needs_equal_weights() -> None:
    rows = [(1, 0, 1, 1.0), (1, 0, 1, 2.0)]
    problem = problem_of([1], rows, "flow", weighted=True)
    with pytest.raises(InvalidCertificate, match=r"2 different weights; it is for equal ones"):
        verify_bound(
            problem, Bound(3, "test", {"kind": "shortest remaining first", "k": 0, "eps": 0})
        )
    with pytest.raises(ValueError, match=r"srpt_bound: measure='flow' with 2 different weights"):
        srpt_bound(problem)


def check_tampered(
    problem: CompletionTime, data: st.DataObject, most: Any, more: dict[str, Any]
) -> None:
    """Whatever the numbers say, on a machine of these: what passes is a true bound."""
    small = st.integers(0, 5)
    made = [
        {"kind": "last job", "job": data.draw(st.integers(0, len(problem.jobs) - 1))},
        {"kind": "released work", "release": data.draw(small), **more},
        {"kind": "shortest remaining first", **more},
        {
            "kind": "mean busy time",
            "scale": data.draw(st.integers(1, 40)),
            "densities": [data.draw(small) for _ in problem.jobs],
            **more,
        },
    ]
    try:
        proven = proven_of(problem, data.draw(st.sampled_from(made)))
    except ValueError:
        return
    assert proven <= most(problem)


@settings(max_examples=200)
@given(problems(), st.integers(0, 4), st.integers(0, 4), st.data())
def test_tampered_certificates_never_prove_too_much(
    problem: CompletionTime, k: int, eps: int, data: st.DataObject
) -> None:
    check_tampered(problem, data, optimum, {"k": k, "eps": eps})


def test_a_claim_a_hair_above_the_proof_is_refused() -> None:
    """7/3 lies between two floats: C = 1 and 4 for works of 1 and 3; lambda = 1."""
    problem = problem_of([1], [(1, 0, 1, 1.0), (1, 0, 3, 1.0)], "slowdown")
    certificate = {"kind": "mean busy time", "scale": 9, "densities": [9, 1], "k": 0, "eps": 0}
    near = [float(Fraction(7, 3)), *(float(np.nextafter(7 / 3, way)) for way in (2, 3))]
    below, above = (
        max(x for x in near if x < Fraction(7, 3)),
        min(x for x in near if x > Fraction(7, 3)),
    )
    verify_bound(problem, Bound(below, "test", certificate))
    with pytest.raises(InvalidCertificate, match=r"the certificate proves 7/3"):
        verify_bound(problem, Bound(above, "test", certificate))


# --- several GPU models --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_on_several_models_no_bound_exceeds_the_optimum(measure: str) -> None:
    """Of 75 for each measure, at least a fifth are strict, a fifth tight; some need prices."""
    rng, gaps, kinds = np.random.default_rng(7), [], []
    for _ in range(75):
        problem = mixed_problem(rng, measure)
        best = mixed_optimum(problem)
        for bound in applicable(problem):
            assert bound.value <= best
            verify_bound(problem, bound)
        top = online_bound(problem)
        verify_bound(problem, top)
        gaps.append(float(best) / top.value - 1)
        kinds.append("prices" in top.certificate)
    assert min(gaps) > -1e-12
    assert sum(gap > 1e-9 for gap in gaps) >= 15
    assert sum(gap < 1e-9 for gap in gaps) >= 15
    assert sum(kinds) >= 5
    assert np.mean(gaps) < 0.1


def two_models(measure: str) -> CompletionTime:
    """One GPU of each model; a is twice, b three times as fast on the new one; 6 s of work each."""
    cluster = Cluster([Node("n0", 1, "old"), Node("n1", 1, "new")])
    jobs = [
        Job(id="a", gpus=1, work=6, speeds={"old": 1, "new": 2}),
        Job(id="b", gpus=1, work=6, speeds={"old": 1, "new": 3}),
    ]
    return CompletionTime(Instance(cluster, jobs), measure)


def test_prices_by_hand() -> None:
    """Prices 1/3 and 2/3: v_a = 1/3, v_b = 2/9, so 6/3 + 12/9 = 10/3 s; alone a needs 3 s.

    a runs on the old GPU for 2 s while b has the new one, and then for 2 s on the new one.
    """
    bound = release_bound(two_models("makespan"))
    assert (bound.value, bound.method) == (4, "released work")
    old, new = bound.certificate["prices"]
    assert new / old == pytest.approx(2, rel=1e-6)
    assert mixed_optimum(two_models("makespan")) == 4
    flow = two_models("flow")
    assert online_bound(flow).value == mixed_optimum(flow) == 2 + 4
    assert online_bound(two_models("slowdown")).value <= Fraction(2, 2) + Fraction(4, 3)


def test_as_fast_as_the_fastest_model() -> None:
    """Where no job waits, the bound is what jobs take on their fastest models."""
    cluster = Cluster([Node("n0", 8, "old"), Node("n1", 8, "new")])
    jobs = [
        Job(id="a", gpus=2, work=7, speeds={"old": 1, "new": 2}),
        Job(id="b", gpus=2, work=7, release=3),
        Job(id="c", gpus=1, work=7, speeds={"old": 0.5}, release=5),
        Job(id="d", gpus=1, work=7, speeds={"old": 1, "new": 2}, pin="old"),
    ]
    for measure, value in (("flow", 4 + 7 + 14 + 7), ("makespan", 5 + 14), ("slowdown", 4)):
        problem = CompletionTime(Instance(cluster, jobs), measure)
        assert list(problem.seconds) == fastest(problem) == [4, 7, 14, 7]
        assert online_bound(problem).value == pytest.approx(value, rel=1e-12)


def test_one_model_at_another_speed() -> None:
    jobs = [Job(id=i, gpus=2, work=10, speeds={"v": 2.5}) for i in "ab"]
    instance = Instance(Cluster.of_sizes([2], model="v"), jobs)
    assert online_bound(CompletionTime(instance, "makespan")).value == 8
    assert online_bound(CompletionTime(instance, "flow")).value == 4 + 8


@settings(max_examples=settings().max_examples // 4)
@given(case=mixed_cases(), policy=st.sampled_from([Srtf(), LtgfPolicy(), GandivaFair()]))
def test_no_run_beats_a_bound(case: Case, policy: Any) -> None:
    """Runs are feasible schedules of the problem, and measured as it measures them."""
    run = checked(case, policy)
    able = np.flatnonzero(~run.records.rejected)
    assume(run.stop is Stop.COMPLETED and able.size)
    instance = replace(case.instance, jobs=tuple(case.instance.jobs[j] for j in able.tolist()))
    number = np.cumsum(~run.records.rejected) - 1
    plan = Schedule.of(replace(row, job=int(number[row.job])) for row in run.schedule)
    reached = metrics.objectives(run)
    for measure in MEASURES:
        problem = CompletionTime(instance, measure)
        assert problem.violations(plan) == []
        assert problem.objective(plan) == pytest.approx(reached[measure], rel=1e-12)
        bound = online_bound(problem)
        verify_bound(problem, bound)
        assert bound.value <= reached[measure] * (1 + 1e-12)


def test_prices_of_weighted_jobs_by_hand() -> None:
    """As without weights, where B_j + h_j are 5.5 in all, times 3/2."""
    jobs = [replace(job, weight=1.5) for job in two_models("flow").jobs]
    halves = CompletionTime(replace(two_models("flow").instance, jobs=jobs), "flow", True)
    proof = {"kind": "mean busy time", "scale": 8, "densities": [2, 3], "prices": [1, 2]}
    verify_bound(halves, Bound(8.25, "test", proof))
    with pytest.raises(InvalidCertificate, match=r"the certificate proves 33/4$"):
        verify_bound(halves, Bound(8.26, "test", proof))


@given(st.integers(0, 10**6), st.data())
def test_tampered_prices_never_prove_too_much(seed: int, data: st.DataObject) -> None:
    problem = mixed_problem(np.random.default_rng(seed), data.draw(st.sampled_from(MEASURES)))
    prices = [data.draw(st.integers(0, 5)) for _ in problem.models]
    check_tampered(problem, data, mixed_optimum, {"prices": prices})


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "measure", "message"),
    [
        (release_bound, "flow", r"release_bound: measure='flow' is not 'makespan'"),
        (srpt_bound, "slowdown", r"srpt_bound: measure='slowdown' with 1 different weights"),
        (busy_time_bound, "makespan", r"busy_time_bound: measure='makespan' has no weights"),
        (lambda p: online_bound(p, rounds=0), "flow", r"busy_time_bound: rounds=0 is below 1"),
    ],
)
def test_bad_input(call: Callable[[Any], Bound], measure: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(problem_of([1], [(1, 0, 1, 1.0)], measure))


# --- a real trace --------------------------------------------------------------------------------


@pytest.mark.slow
def test_philly_on_320_gpus(traces: Path) -> None:
    jobs = read_philly_csv(traces / "philly" / "philly.csv.gz").jobs
    instance = Instance(Cluster.uniform(nodes=40, gpus_per_node=8), jobs)
    flow = CompletionTime(instance, "flow")
    alone = sum(job.work for job in jobs)
    by_srpt, by_busy_times = srpt_bound(flow), busy_time_bound(flow, rounds=8)
    assert alone < by_srpt.value < by_busy_times.value
    slow = busy_time_bound(CompletionTime(instance, "slowdown"))
    assert slow.value > 1.004 * len(jobs)
    for problem, bound in ((flow, by_srpt), (flow, by_busy_times)):
        verify_bound(problem, bound)


@pytest.mark.slow
def test_more_gpus_than_ever_needed_make_the_bound_the_work(traces: Path) -> None:
    jobs: tuple[Job, ...] = read_philly_csv(traces / "philly" / "philly.csv.gz").jobs[:5000]
    instance = Instance(Cluster.of_sizes([sum(job.gpus for job in jobs)]), jobs)
    bound = online_bound(CompletionTime(instance, "flow"))
    assert bound.value == sum(job.work for job in jobs)
    assert online_bounds.busy_time_bound(CompletionTime(instance)).value == bound.value
