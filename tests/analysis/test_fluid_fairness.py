"""lambda* against two other programs, and both bounds against every way of being wrong."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fairest import fairest, integrand, tiny
from few import each_seed
from gangsched.analysis.proofs.fluid_fairness import contended_bound, fluid_bound, life_bound
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations.ltgf.fluid import LtgfFluid
from gangsched.formulations.ltgf.forms import _round_by_round
from gangsched.formulations.ltgf.problem import Ltgf
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers import Bound


def snapshot(gpus: int, *gangs: int) -> LtgfFluid:
    jobs = [Job(id=f"j{i}", gpus=gang) for i, gang in enumerate(gangs)]
    return LtgfFluid.of(Instance(Cluster.of_sizes([gpus]), jobs))


def least_time(problem: LtgfFluid) -> float:
    """1 / lambda*: fewest units of time in which every job can run for f_i / D_i, over all sets."""
    jobs = range(len(problem.gangs))
    sets = [c for k in jobs for c in combinations(jobs, k + 1)]
    sets = [c for c in sets if sum(problem.gangs[i] for i in c) <= problem.gpus]
    covers = np.array([[-float(i in c) for c in sets] for i in jobs])
    needs = [-float(Fraction(f) / d) for f, d in zip(problem.shares, problem.gangs, strict=True)]
    return float(linprog(np.ones(len(sets)), A_ub=covers, b_ub=needs).fun)


@st.composite
def snapshots(draw: st.DrawFn) -> LtgfFluid:
    gpus = draw(st.integers(1, 12))
    users = draw(st.integers(0, 3))
    weights = st.sampled_from([1.0, 2.0, 0.3, 7.5])
    jobs = [
        Job(
            id=f"j{i}",
            gpus=draw(st.integers(1, gpus)),
            user=f"u{draw(st.integers(0, users - 1))}" if users else "",
            weight=draw(weights),
        )
        for i in range(draw(st.integers(1, 7)))
    ]
    owners = [User(f"u{j}", draw(weights)) for j in range(users)]
    return LtgfFluid.of(Instance(Cluster.of_sizes([gpus]), jobs, owners))


# --- lambda* -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "wanted"),
    [
        (snapshot(4, 1, 4), 2 / 3),  # 1 and 2 GPUs: all the time and half of it
        (snapshot(4, 3, 3), 3 / 4),
        (snapshot(6, 6, 3, 3), 1.0),
        (snapshot(8, 5, 4), 1 / (4 / 5 + 1)),
        (snapshot(4, 1, 1), 1.0),
        (LtgfFluid(4, (4,), (Fraction(1),)), 4.0),  # nobody else is there
        (snapshot(2, 1, 1, 1), 1.0),  # three pairs, a third of the time each
    ],
)
def test_values_by_hand(problem: LtgfFluid, wanted: float) -> None:
    bound = fluid_bound(problem)
    verify_bound(problem, bound)
    assert bound.value == pytest.approx(wanted, rel=1e-8)
    assert bound.value >= wanted - 1e-15


def test_users_with_one_gang_each() -> None:
    jobs = [Job(id="a", gpus=3, user="u"), Job(id="b", gpus=3, user="v"), Job(id="c", gpus=1)]
    users = [User("u"), User("v")]
    instance = Instance(Cluster.of_sizes([4]), [*jobs[:2], replace(jobs[2], user="u")], users)
    assert contended_bound(instance, [0, 1]).value == 0.75
    # user u has 2 GPUs for two jobs: 1 each; a for a third of the time, b for two thirds, c for all
    assert contended_bound(instance).value == pytest.approx(1.0)


@given(snapshots())
@settings(max_examples=60, deadline=None)
def test_lambda_is_that_of_the_program_over_all_sets(problem: LtgfFluid) -> None:
    bound = fluid_bound(problem)
    verify_bound(problem, bound)
    wanted = 1 / least_time(problem)
    assert wanted * (1 - 1e-7) <= bound.value <= wanted * (1 + 1e-7)


@each_seed(range(6))
def test_the_convex_program_attains_it(seed: int) -> None:
    problem = LtgfFluid.of(tiny(seed, users=seed % 3, jobs=5).instance)
    model = problem.build()
    model.native.solve(solver="HIGHS")
    solution = model.extract()
    assert problem.violations(solution) == []
    bound = fluid_bound(problem)
    assert problem.objective(solution) == pytest.approx(bound.value, rel=1e-6)
    assert problem.objective(solution) <= bound.value
    model.embed(solution)
    assert max(float(row.violation().max()) for row in model.native.constraints) < 1e-6
    assert model.native.objective.value == pytest.approx(problem.objective(solution))


def test_many_jobs_of_many_users() -> None:
    rng = np.random.default_rng(3)
    users = [User(f"u{j}", float(rng.integers(1, 9))) for j in range(16)]
    jobs = [
        Job(id=f"j{i}", gpus=int(rng.choice([1, 1, 2, 8, 100, 300])), user=f"u{i % 16}")
        for i in range(343)
    ]
    problem = LtgfFluid.of(Instance(Cluster.uniform(nodes=64, gpus_per_node=8), jobs, users))
    bound = fluid_bound(problem)
    verify_bound(problem, bound)
    assert fluid_bound(problem) == bound
    assert bound.value < 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": 0}, "scale=0 is below 1"),
        ({"scale": 10**12 - 1}, "add up to 1000000000000, above scale=999999999999"),
        ({"scale": None}, "scale=None is not an integer"),
        ({"duals": [10**9]}, "duals has 1 entries for 2 jobs"),
        ({"duals": [-1, 1]}, r"duals\[0\]=-1"),
        ({"duals": [0.5, 1]}, r"duals\[0\]=0\.5"),
        ({"duals": [0, 0]}, "duals are all 0, which proves nothing"),
        ({"duals": [10**12, 0]}, r"the certificate proves 3/2"),
        ({"duals": [10**12 + 1, 10**12]}, "add up to 1000000000001, above scale"),
        ({"kind": "area"}, r"kind='area' is not a kind for LtgfFluid \(known: packing\)"),
    ],
)
def test_a_corrupted_packing_certificate_is_refused(change: dict[str, Any], message: str) -> None:
    problem = snapshot(4, 3, 3)
    bound = fluid_bound(problem)
    verify_bound(problem, bound)
    with pytest.raises(InvalidCertificate, match=message):
        verify_bound(problem, replace(bound, certificate={**bound.certificate, **change}))


def test_a_bound_below_what_is_proven_is_refused() -> None:
    problem = snapshot(4, 1, 4)
    bound = fluid_bound(problem)
    lower = replace(bound, value=float(np.nextafter(bound.value, 0)))
    with pytest.raises(InvalidCertificate, match="the certificate proves"):
        verify_bound(problem, lower)
    verify_bound(problem, replace(bound, value=1.0))
    with pytest.raises(InvalidCertificate):
        verify_bound(snapshot(5, 1, 4), bound)  # they fit together there


@given(snapshots(), st.data())
@settings(max_examples=60, deadline=None)
def test_no_accepted_certificate_is_below_lambda(problem: LtgfFluid, data: st.DataObject) -> None:
    """Whatever the duals: what the verifier accepts is no less than what can be attained."""
    n = len(problem.gangs)
    duals = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    scale = data.draw(st.integers(1, 20))
    value = data.draw(st.floats(0.1, 3))
    try:
        certificate = {"kind": "packing", "scale": scale, "duals": duals}
        verify_bound(problem, Bound(value, "any", certificate))
    except InvalidCertificate:
        return
    assert value >= 1 / least_time(problem) * (1 - 1e-9)


# --- the problem ---------------------------------------------------------------------------------


def test_solutions_that_cheat_are_named() -> None:
    problem = snapshot(4, 3, 3)
    half = Fraction(1, 2)
    assert problem.violations((((0,), half), ((1,), half))) == []
    assert problem.violations((((0, 1), half),)) == ["capacity: packing 0 uses 6 of 4 GPUs"]
    assert problem.violations((((0, 0), half),))[0].startswith("reference: packing 0 is not a set")
    assert problem.violations((((2,), half),))[0].startswith("reference: packing 0 is not a set")
    assert problem.violations((((0,), -half),)) == ["time: packing 0 runs for a fraction of -1/2"]
    over = problem.violations((((0,), half), ((1,), 2 * half)))
    assert over == ["time: fractions add up to 1.5, above 1"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LtgfFluid(4, (2,), (Fraction(1, 10**5000),)), "job 0: share has more than 4000 d"),
        (lambda: snapshot(20, *[1] * 15).build(), "15 jobs have more than 20000 sets"),
        (
            lambda: LtgfFluid.of(Instance(Cluster.of_sizes([1]), [Job(id="a", gpus=1)]), [0, 0]),
            "active names a job twice",
        ),
    ],
)
def test_bad_problems_are_named(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# --- whole lives ---------------------------------------------------------------------------------


def by_slots(problem: Ltgf) -> Fraction:
    """The theorem's bound, by trying in every slot all sets of jobs that could be active."""
    best = None
    for i, job in enumerate(problem.jobs):
        fair = Fraction(0)
        for t in range(job.release, job.release + (job.work or 0)):
            there = [k for k, other in enumerate(problem.jobs) if other.release <= t and k != i]
            sets = [c for k in range(len(there) + 1) for c in combinations(there, k)]
            fair += min(integrand(problem, [i, *chosen], i) for chosen in sets)
        ratio = problem.service(i) / fair
        best = ratio if best is None else min(best, ratio)
    assert best is not None
    return best


@pytest.mark.parametrize("users", [0, 1, 2])
@each_seed(range(12))
def test_it_is_no_less_than_what_all_active_sets_allow(seed: int, users: int) -> None:
    problem = tiny(seed, users=users, jobs=5, longest=6)
    bound = life_bound(problem)
    verify_bound(problem, bound)
    exact = by_slots(problem)
    assert bound.value >= float(exact) * (1 - 1e-15)
    if users < 2:  # with several users, the closed form gives a little away
        assert bound.value == pytest.approx(float(exact))


#: in the last three, another job would be the one without the users' demands
@pytest.mark.parametrize(
    ("seed", "jobs"), [*((seed, 6) for seed in range(12)), (103, 3), (388, 4), (393, 4)]
)
def test_with_several_users_the_job_is_the_one_of_the_least_closed_form(
    seed: int, jobs: int
) -> None:
    """The theorem's quotient of every job, slot by slot."""
    problem = tiny(seed, users=2, jobs=jobs, longest=6)
    quota = {user.id: Fraction(user.weight) for user in problem.instance.users}
    unit = Fraction(problem.instance.cluster.gpus) / sum(quota.values())

    def fair(job: Job) -> Fraction:
        total = Fraction(0)
        for t in range(job.release, job.release + (job.work or 0)):
            mates = [k for k in problem.jobs if k.user == job.user and k.release <= t]
            rate = unit * quota[job.user] / sum(Fraction(k.weight) for k in mates)
            rate = min(rate, *(k.gpus / Fraction(k.weight) for k in mates))
            total += min(Fraction(job.gpus), Fraction(job.weight) * rate)
        return total

    least = min(job.gpus * (job.work or 0) / fair(job) for job in problem.jobs)
    assert life_bound(problem).value == pytest.approx(float(least), rel=1e-12)


@pytest.mark.parametrize("users", [0, 2])
def test_no_schedule_is_fairer(users: int) -> None:
    gaps = []
    for seed in range(12):
        problem = tiny(seed, users=users)
        bound = life_bound(problem)
        end = int(_round_by_round(problem).end.max())
        best = fairest(problem, min(end + 1, 9))
        assert best is None or best <= bound.value
        if best is not None:
            gaps.append(bound.value - float(best))
    assert min(gaps) < 1e-9  # attained by some
    assert sum(gap > 1e-9 for gap in gaps) >= len(gaps) // 3


def test_a_job_that_is_owed_its_gang_bounds_every_policy_by_one() -> None:
    jobs = [Job(id="a", gpus=1, work=50), *(Job(id=f"b{i}", gpus=4, work=9) for i in range(3))]
    problem = Ltgf(Instance(Cluster.of_sizes([4]), jobs))
    bound = life_bound(problem)
    assert (bound.value, bound.certificate["job"]) == (1.0, 0)


def test_it_is_the_first_of_many_that_counts() -> None:
    """4 GPUs: alone for 2 slots, then half for 2, so 16 GPU-slots against 4 + 4 + 2 + 2."""
    jobs = [Job(id="a", gpus=4, work=4), Job(id="b", gpus=4, work=4, release=2)]
    problem = Ltgf(Instance(Cluster.of_sizes([4]), jobs))
    bound = life_bound(problem)
    assert bound.value == pytest.approx(16 / 12)
    with pytest.raises(InvalidCertificate, match="the certificate proves 4/3"):
        verify_bound(problem, replace(bound, value=1.33))
    with pytest.raises(InvalidCertificate, match="the certificate proves 2"):
        verify_bound(problem, replace(bound, certificate={"kind": "life", "job": 1}))
    with pytest.raises(InvalidCertificate, match="job=2 is not one of the 2 jobs"):
        verify_bound(problem, replace(bound, certificate={"kind": "life", "job": 2}))
    with pytest.raises(InvalidCertificate, match="field 'job' is missing"):
        verify_bound(problem, replace(bound, certificate={"kind": "life"}))


@pytest.mark.parametrize(("users", "proven"), [(1, Fraction(40, 32)), (2, Fraction(40, 19))])
def test_a_slimmer_mate_that_comes_within_the_life_counts_from_then_on(
    users: int, proven: Fraction
) -> None:
    """By hand, 8 GPUs or half of them for user a, whose job of 4 runs for 10 seconds from 2 on.

    Until 6 it is alone: min(4, 8 or 4) = 4 a second, 16 in all. Then a mate of 1 GPU and weight 2
    comes. D / w is 4 of the job and 1 / 2 of the mate: with two users a unit of weight is due
    min(4 / 3, 4, 1 / 2) at least, as the mate cannot use more; with one user 8 / 3.
    """
    jobs = [
        Job(id="a", gpus=4, work=10, release=2, user="a"),
        Job(id="slim", gpus=1, work=20, release=6, user="a", weight=2.0),
        *([Job(id="other", gpus=8, work=9, user="b")] if users > 1 else []),
    ]
    problem = Ltgf(Instance(Cluster.of_sizes([8]), jobs, [User("a"), User("b")][:users]))
    claim = Bound(float(proven) * (1 + 1e-15), "life", {"kind": "life", "job": 0})
    verify_bound(problem, claim)
    # what it would be if the widest mate counted: 4 / 3 a second, 40 / 24
    for false in (float(proven) * (1 - 1e-9), *([40 / 24] if users > 1 else [])):
        with pytest.raises(InvalidCertificate, match=f"the certificate proves {proven}"):
            verify_bound(problem, replace(claim, value=false))


def test_who_comes_at_the_end_of_a_life_or_for_another_user_does_not_count() -> None:
    """Weights 3 : 1 of users on 4 GPUs: 3 of them for a, of which its job of 4 GPUs is due 3."""
    jobs = [
        Job(id="a", gpus=4, work=6, user="a"),
        Job(id="late", gpus=1, work=9, release=6, user="a", weight=5.0),
        Job(id="b", gpus=1, work=9, user="b", weight=5.0),
    ]
    users = [User("a", weight=3.0), User("b")]
    problem = Ltgf(Instance(Cluster.of_sizes([4]), jobs, users))
    claim = Bound(24 / 18 * (1 + 1e-15), "life", {"kind": "life", "job": 0})
    verify_bound(problem, claim)
    with pytest.raises(InvalidCertificate, match="the certificate proves 4/3"):
        verify_bound(problem, replace(claim, value=1.33))
