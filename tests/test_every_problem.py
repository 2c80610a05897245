"""Every problem class has a bound that is verified, holds, and says more than the trivial one."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from scipy.optimize import linprog

import brute_force
import deadline_optimum
import fairest
import gangsched as gs
import preemptive
import revenue_optimum
import sharing_optimum
import tiny
from gangsched import formulations, registry
from gangsched.analysis.proofs.bound import MAKERS, Effort
from gangsched.analysis.proofs.verify import RULES, InvalidCertificate, NoCertificate
from gangsched.analysis.show.report import write_report
from gangsched.formulations import (
    CompletionTime,
    DeadlineRewards,
    GpuMarket,
    Irmp,
    Ltgf,
    LtgfFluid,
    LtgfRound,
    RarDdls,
    Sense,
    SharingIncentive,
    UniSched,
)
from gangsched.formulations.problem import goal_of
from gangsched.instances import Cluster, DeadlineJob, Instance
from gangsched.instances.heterogeneous import table3_market

EFFORTS: Sequence[Effort] = get_args(Effort)
SEEDS = range(8)


# --- tiny problems, their optimum found without the package, and what is trivially true ----------


@dataclass(frozen=True)
class Case:
    """A family of tiny problems of one class."""

    kind: type
    make: Callable[[int], Any]
    optimum: Callable[[Any], Fraction | float | None]
    trivial: Callable[[Any], Fraction | float]
    #: whether the standard bound always is the optimum
    tight: bool = False


def area(problem: RarDdls) -> float:
    """All jobs at their fastest on all GPUs, or the longest of them."""
    return gs.solvers.area_bound(problem).value


def three_by_two(seed: int) -> RarDdls:
    """One of a family on which contention matters; two more on which jobs do not fit together."""
    return tiny.tiny(tiny.SEEDS[seed])


def makespan(problem: RarDdls) -> float | None:
    return brute_force.optimum(problem)


def leases(seed: int) -> UniSched:
    """Gangs of up to four, of two deadlines; from the seventh on some are released later."""
    rng = np.random.default_rng([3, seed])
    jobs = [
        DeadlineJob(
            id=f"j{i}",
            gpus=int(rng.integers(1, 5)),
            work=int(rng.integers(1, 3)) * 600,
            release=600 * int(rng.integers(0, 3)) if seed > 6 else 0,
            rewards=[(1200, 100.0), (1800, float(rng.integers(10, 90)))],
            split_speed=0.5,
        )
        for i in range(4)
    ]
    return UniSched(Instance(Cluster.of_sizes([4]), jobs))


def exactly(problem: Any) -> float | None:
    result = gs.solve_exact(problem)
    assert result.status.value in ("optimal", "infeasible")
    return result.objective


def every_reward(problem: UniSched) -> float:
    best = dict.fromkeys(range(len(problem.jobs)), 0.0)
    for option in problem.options():
        best[option.job] = max(best[option.job], option.value)
    return sum(best.values())


def revenue(problem: Irmp) -> float | None:
    found = revenue_optimum.optimum(problem)
    return None if found is None else found[0]


def every_revenue(problem: Irmp) -> float:
    """Each job complete in its first slot."""
    return sum(max(0.0, problem.value(j, 1)) for j in range(len(problem.jobs)))


def market(seed: int) -> GpuMarket:
    """The paper's market, then two or three users of two models."""
    if not seed:
        users, models, speeds, tickets, gpus = table3_market()
        return GpuMarket(gpus, speeds, tickets, users=users, models=models)
    rng = np.random.default_rng([5, seed])
    count = int(rng.integers(2, 4))
    speeds = np.column_stack([np.ones(count), 1 + rng.integers(0, 9, count) / 2])
    return GpuMarket(rng.integers(1, 20, 2), speeds, rng.integers(1, 4, count))


def largest_value(problem: GpuMarket) -> float:
    """The linear program of allocations that leave no user below its fair share."""
    users, models = problem.speeds.shape
    supply = np.kron(np.ones(users), np.eye(models))
    floors = np.kron(np.eye(users), np.ones(models)) * np.tile(problem.speeds.ravel(), (users, 1))
    found = linprog(
        -problem.speeds.ravel(),
        A_ub=np.vstack([supply, -floors]),
        b_ub=np.concatenate([problem.gpus, -problem.fair_values]),
    )
    return -float(found.fun)


def all_at_best(problem: GpuMarket) -> float:
    return float((problem.gpus * problem.speeds.max(axis=0)).sum())


def lives(seed: int) -> Ltgf:
    return fairest.tiny(seed, jobs=3, longest=2)


def fairest_lives(problem: Ltgf) -> Fraction | None:
    """All in windows that are long enough: no schedule gains from idling for longer than this."""
    return fairest.fairest(problem, 10)


def crowded_life(problem: Ltgf) -> Fraction:
    """Shares as if all jobs were there from the beginning."""
    shares = problem.shares(range(len(problem.jobs)))
    return min(Fraction(job.gpus) / shares[i] for i, job in enumerate(problem.jobs))


def one_lease(seed: int) -> LtgfRound:
    rng = np.random.default_rng([8, seed])
    users = int(rng.integers(2, 4))
    jobs = [(int(rng.integers(users)), int(rng.integers(1, 5))) for _ in range(6)]
    return LtgfRound(
        gpus=int(rng.integers(2, 8)),
        lease=int(rng.integers(1, 10)),
        attained=rng.integers(0, 30, users).tolist(),
        fair=rng.integers(1, 30, users).astype(float).tolist(),
        share=rng.integers(0, 3, users).astype(float).tolist(),
        jobs=jobs,
    )


def every_selection(problem: LtgfRound) -> float:
    number = range(len(problem.jobs))
    every = (some for size in range(len(number) + 1) for some in combinations(number, size))
    return max(problem.objective(some) for some in every if not problem.violations(some))


def pooled(problem: LtgfRound) -> Fraction:
    """All GPUs to anybody who is due something."""
    due = sum((problem.due(j) for j in problem.users), Fraction(0))
    got = sum(problem.attained[j] for j in problem.users)
    return (got + problem.lease * problem.gpus) / due


def staying(seed: int) -> LtgfFluid:
    rng = np.random.default_rng([9, seed])
    gpus = int(rng.integers(2, 7))
    gangs = rng.integers(1, gpus + 1, 4).tolist()
    return LtgfFluid(gpus, gangs, [Fraction(gang * int(rng.integers(1, 5)), 4) for gang in gangs])


def packings(problem: LtgfFluid) -> float:
    """The linear program over all sets of jobs that fit."""
    number = range(len(problem.gangs))
    sets = [
        some
        for size in range(1, len(number) + 1)
        for some in combinations(number, size)
        if sum(problem.gangs[i] for i in some) <= problem.gpus
    ]
    cover = np.array([[-float(i in some) for some in sets] for i in number])
    needed = np.array(
        [[float(share / gang)] for gang, share in zip(problem.gangs, problem.shares, strict=True)]
    )
    found = linprog(
        [0.0] * len(sets) + [-1.0],
        A_ub=np.hstack([cover, needed]),
        b_ub=[0.0] * len(number),
        A_eq=[[1.0] * len(sets) + [0.0]],
        b_eq=[1.0],
    )
    return -float(found.fun)


def gpu_time(problem: LtgfFluid) -> Fraction:
    return problem.gpus / sum(problem.shares, Fraction(0))


def waiting(seed: int) -> CompletionTime:
    measure = preemptive.MEASURES[seed % 4]
    return preemptive.random_problem(np.random.default_rng([4, seed]), measure)


def alone(problem: CompletionTime) -> float:
    """Nobody waits."""
    ends = [job.release + p for job, p in zip(problem.jobs, problem.seconds, strict=True)]
    spans = {"makespan": max(ends), "completion": sum(ends), "flow": sum(problem.seconds)}
    return spans.get(problem.measure, len(ends))


def users(seed: int) -> SharingIncentive:
    instance = sharing_optimum.random_instance(np.random.default_rng([8, seed]), jobs=4)
    reading = sharing_optimum.READINGS[seed % 3]
    return SharingIncentive(instance, reading, 50.0 if seed % 4 == 3 else None)  # type: ignore[arg-type]


def nobody_waits(problem: SharingIncentive) -> Fraction | int:
    if problem.limit is not None:
        return sum(problem.run_times.values())
    return max(problem.ratios(problem.run_times).values())


def deadlines(seed: int) -> DeadlineRewards:
    rng = np.random.default_rng([6, seed])
    return deadline_optimum.random_problem(rng, jobs=5, elastic=seed % 3 == 0)


CASES = [
    Case(RarDdls, three_by_two, makespan, area),
    Case(UniSched, leases, exactly, every_reward),
    Case(
        Irmp,
        lambda seed: revenue_optimum.random_problem(np.random.default_rng([2, seed])),
        revenue,
        every_revenue,
    ),
    Case(GpuMarket, market, largest_value, all_at_best, tight=True),
    Case(Ltgf, lives, fairest_lives, crowded_life),
    Case(LtgfRound, one_lease, every_selection, pooled, tight=True),
    Case(LtgfFluid, staying, packings, gpu_time, tight=True),
    Case(CompletionTime, waiting, preemptive.optimum, alone),
    Case(SharingIncentive, users, sharing_optimum.optimum, nobody_waits),
    Case(DeadlineRewards, deadlines, deadline_optimum.optimum, lambda problem: problem.top),
]
every_case = pytest.mark.parametrize("case", CASES, ids=[case.kind.__name__ for case in CASES])


@cache
def optimum(case: Case, seed: int) -> Any:
    return case.optimum(case.make(seed))


@cache
def bound_of(case: Case, seed: int, effort: Effort) -> gs.Bound:
    return gs.bound(case.make(seed), effort)


def better(case: Case, one: Any, other: Any) -> bool:
    """Whether a bound says more than another number."""
    return bool(one > other) if case.kind.sense is Sense.MIN else bool(one < other)  # type: ignore[attr-defined]


# --- files ---------------------------------------------------------------------------------------


@every_case
def test_problems_come_back_from_files(case: Case, tmp_path: Path) -> None:
    for seed in SEEDS:
        problem = case.make(seed)
        gs.io.save(tmp_path / "problem.json", problem)
        again = gs.io.load(tmp_path / "problem.json")
        assert type(again) is case.kind
        for field in fields(problem):
            if field.compare:
                assert np.array_equal(getattr(again, field.name), getattr(problem, field.name))
        gs.verify_bound(again, gs.bound(problem))


#: numbers of many types, some of which are no numbers at all
ODD: Sequence[Any] = (
    0, 2, True, None, 4.0, 2.5, -1, np.float64(2), np.float32(1.1), np.int64(2), np.uint8(1),
    np.bool_(True), Fraction(1, 3), Fraction(2), Decimal("0.1"), math.nan, math.inf, 2**53 + 1,
    10**30, 10**400, 10**5000, Fraction(1, 10**5000), "2", "1/3", (), [], np.array([2]),
)  # fmt: skip


def odd_ones(value: Any) -> Iterator[Any]:
    """A parameter that is odd, and a list in which the first number is."""
    yield from ODD
    if isinstance(value, (Sequence, np.ndarray)) and len(value) and not isinstance(value, str):
        yield from ([one, *value[1:]] for one in odd_ones(value[0]))


@every_case
def test_whatever_can_be_made_comes_back_from_its_file(case: Case, tmp_path: Path) -> None:
    problem, made = case.make(1), 0
    for name in (field.name for field in fields(problem) if field.init):
        for odd in odd_ones(getattr(problem, name)) if name != "instance" else ():
            try:
                one = replace(problem, **{name: odd})
            except (KeyError, OverflowError, TypeError, ValueError):
                continue
            made += 1
            gs.io.save(tmp_path / "problem.json", one)
            again = gs.io.load(tmp_path / "problem.json")
            for field in (field.name for field in fields(one) if field.compare):
                assert np.array_equal(getattr(again, field), getattr(one, field)), name
    assert made


# --- certificates ---------------------------------------------------------------------------------


def absurd_ones(value: Any) -> Iterator[Any]:
    """A part of a certificate with too large a number somewhere, or one of many digits."""
    yield from (10**5000, 10**400, -(10**5000), 1e308, 5e-324)
    if isinstance(value, (Sequence, np.ndarray)) and len(value) and not isinstance(value, str):
        yield [10**400] * len(value)
        yield from ([one, *value[1:]] for one in absurd_ones(value[0]))


@every_case
def test_a_certificate_of_absurd_numbers_is_refused_in_a_line(case: Case) -> None:
    problem = case.make(1)
    bound = gs.bound(problem)
    held = dict(bound.certificate or {})
    absurd = [held | {name: one} for name in held for one in absurd_ones(held[name])]
    assert absurd
    messages = []
    for certificate in absurd:
        try:
            gs.verify_bound(problem, replace(bound, certificate=certificate))
        except InvalidCertificate as error:
            messages.append(str(error))
    assert messages
    assert max(map(len, messages)) < 600
    assert not [message for message in messages if "Exceeds the limit" in message]


# --- solutions -----------------------------------------------------------------------------------


@every_case
def test_every_problem_is_solved_exactly_by_name(case: Case) -> None:
    for seed in range(4):
        problem, best = case.make(seed), optimum(case, seed)
        names = registry.entry_of(problem)[1].solvers
        result = gs.solve(problem, "exact" if "exact" in names else "efficient")
        assert isinstance(result, gs.Result)
        if best is None:
            assert result.status.value == "infeasible"
        else:
            assert result.objective == pytest.approx(float(best), rel=1e-6, abs=1e-6)
            assert not better(case, gs.bound(problem).value, result.objective - sign(case) * 1e-6)


@every_case
def test_solvers_that_are_compared_stay_within_the_bound(case: Case, tmp_path: Path) -> None:
    for seed in range(4):
        problem = case.make(seed)
        comparison = gs.compare(problem)
        assert comparison.bound is not None
        for row in comparison.rows:
            assert not row.error
            if row.relaxation == "" and row.objective is not None:
                worse = row.objective - sign(case) * 1e-9 * abs(row.objective)
                assert not better(case, comparison.bound.value, worse)
            gs.io.save(tmp_path / "result.json", row.result)
            assert gs.io.load(tmp_path / "result.json") == row.result


@every_case
def test_every_problem_is_solved_bounded_compared_and_drawn(case: Case, tmp_path: Path) -> None:
    problem = next(case.make(seed) for seed in SEEDS if optimum(case, seed) is not None)
    result, bound = gs.solve(problem), gs.bound(problem)
    assert isinstance(result, gs.Result)
    gs.verify_bound(problem, bound)
    ratio = gs.ratio(result, bound)
    assert ratio is None or ratio >= 1
    comparison = gs.compare(problem, bound=bound)
    assert comparison.bound is not None
    gs.verify_bound(problem, comparison.bound)
    gs.plots.save(gs.plots.overview(comparison), tmp_path / "overview.png")
    assert (tmp_path / "overview.png").read_bytes()[:4] == b"\x89PNG"
    write_report(tmp_path / "report.html", comparison, title="T")
    text = (tmp_path / "report.html").read_text("utf-8")
    goal = goal_of(problem)
    for word in (goal.name, *(row.solver for row in comparison.rows)):
        assert word.lower() in text.lower()


# --- bounds --------------------------------------------------------------------------------------


def test_every_problem_class_is_here() -> None:
    found = {
        thing
        for thing in vars(formulations).values()
        if isinstance(thing, type) and isinstance(getattr(thing, "sense", None), Sense)
    }
    assert found == {case.kind for case in CASES} == set(MAKERS) == set(RULES)


@every_case
@pytest.mark.parametrize("effort", EFFORTS)
def test_bounds_are_verified_and_no_solution_beats_them(case: Case, effort: Effort) -> None:
    apart = 0
    for seed in SEEDS:
        problem, best = case.make(seed), optimum(case, seed)
        bound = bound_of(case, seed, effort)
        gs.verify_bound(problem, bound)
        if best is None:
            continue
        slack = 1e-9 * max(1.0, abs(float(best)))  # of optima in floats
        assert not better(case, bound.value, float(best) - sign(case) * slack)
        apart += abs(bound.value - float(best)) > slack
    if effort != "quick":
        searched = case.kind in (RarDdls, CompletionTime)  # all states, or nearly all sets of jobs
        tight = case.tight or (effort == "full" and searched)
        assert bool(apart) is not tight  # a bound that never differs would be the optimum


@every_case
def test_bounds_say_more_than_what_is_trivially_true(case: Case) -> None:
    def beats(seed: int) -> bool:
        trivial = float(case.trivial(case.make(seed))) - sign(case) * 1e-9
        return better(case, bound_of(case, seed, "quick").value, trivial)

    assert any(map(beats, SEEDS))


def sign(case: Case) -> int:
    return -1 if case.kind.sense is Sense.MIN else 1  # type: ignore[attr-defined]


@every_case
def test_more_effort_is_never_worse(case: Case) -> None:
    for seed in SEEDS:
        values = [bound_of(case, seed, effort).value for effort in EFFORTS]
        if case.kind.sense is Sense.MIN:  # type: ignore[attr-defined]
            assert values == sorted(values)
        else:
            assert values == sorted(values, reverse=True)


@every_case
def test_no_time_still_gives_a_bound(case: Case) -> None:
    problem = case.make(1)
    bound = gs.bound(problem, "full", time_limit=0)
    gs.verify_bound(problem, bound)
    assert bound == gs.bound(problem, "quick", time_limit=0)


@every_case
def test_a_better_claim_with_the_same_certificate_is_refused(case: Case) -> None:
    problem = case.make(1)
    bound = gs.bound(problem, "standard")
    bold = bound.value * (1 - sign(case) * 1e-3) - sign(case) * 1e-3
    with pytest.raises(InvalidCertificate, match="the certificate proves"):
        gs.verify_bound(problem, replace(bound, value=bold))
    with pytest.raises(NoCertificate):
        gs.verify_bound(problem, replace(bound, certificate=None))


@every_case
def test_a_form_that_it_has_not_is_refused(case: Case) -> None:
    problem = case.make(1)
    named = f"^{case.kind.__name__}: form='none' is not one of {', '.join(problem.forms)}$"
    with pytest.raises(ValueError, match=named):
        problem.build("none")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"effort": "fast"}, ValueError, "bound: effort='fast' is not one of 'quick', 'standard',"),
        ({"time_limit": -1}, ValueError, "bound: time_limit=-1 is not >= 0"),
        ({"time_limit": float("nan")}, ValueError, "bound: time_limit=nan is not >= 0"),
        ({"problem": 3}, TypeError, "bound: a int has no bounds, only RarDdls, UniSched, Irmp"),
    ],
)
def test_what_cannot_be_bounded_is_named(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        gs.bound(**{"problem": lives(0), **arguments})
