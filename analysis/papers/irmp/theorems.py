"""Cases of Theorems 1 to 5 of Wang et al., and of who pays what; see :mod:`.claims`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....formulations.irmp.problem import Irmp
from ....instances.model import Linear, ParameterServerJob, Power, Table, Utility
from ....instances.schedule import Schedule, Segment
from ....solvers.facts import RevenueFacts
from ....solvers.irmp.astraea import AstraeaParams, accounts, astraea, batch_sche, round_of
from ....solvers.irmp.response import best_response, facts_of, run_options
from ..claim import Sides
from .lemmas import (
    BY_NUMBER,
    EXAMPLE,
    FIRST,
    TWO_ROUNDS,
    Online,
    Rng,
    SingleJobCase,
    draw_job,
    draw_online,
    draw_single_job_case,
    paper_example,
    two_in_a_row,
)
from .tiny import fullest, one_job, optimum, runs, tenants

# --- Theorem 1 -----------------------------------------------------------------------------------


def _linear_bound(slopes: Sequence[float], lam: int, last: int) -> float:
    """The constant of Theorem 1 (i)."""
    high, low = max(slopes), min(slopes)
    tau = 1 << last
    return len(slopes) * ((tau - 1) * high - (2 * tau - 1) * (2 * lam - 1) * low)


def _revenues(case: Online) -> tuple[float, Schedule] | None:
    """OPT and Astraea's schedule; None where jobs are left."""
    schedule, left = case.schedule()
    if left or not len(schedule):
        return None
    problem = case.problem
    alone = [problem.duration(j, 1, 1) for j in range(len(problem.jobs))]
    end = max(int(schedule.end.max()), max(job.release for job in problem.jobs) + sum(alone))
    return optimum(replace(problem, horizon=end)), schedule


def gap(case: Online, *, complete: bool) -> Sides | None:
    """OPT - ALG, and the constant; all jobs are complete by tau_L, or L is the last interval."""
    found = _revenues(case)
    if found is None:
        return None
    best, schedule = found
    last = max(round_of(start, case.params.lam)[0] for start in schedule.start.tolist())
    if complete:
        last = (int(schedule.end.max()) - 1).bit_length()
    slopes = [job.utility.slope for job in case.problem.jobs if isinstance(job.utility, Linear)]
    gap = best - case.problem.objective(schedule)
    return Sides(gap, _linear_bound(slopes, case.params.lam, last))


def _draw_jobs(rng: Rng, utility: Callable[[], Utility], longest: int) -> list[ParameterServerJob]:
    """Up to 3 jobs of 1 or 2 workers with such utilities."""
    return [
        one_job(
            f"j{i}", utility(), workers=int(rng.integers(1, 3)),
            work=int(rng.integers(1, longest + 1)), release=int(rng.integers(1, 4)),
        )
        for i in range(rng.integers(1, 4))
    ]  # fmt: skip


def draw_linear(rng: Rng, *, lam: int | None = None) -> Online:
    """Jobs with linear utilities on one node."""
    jobs = _draw_jobs(
        rng, lambda: Linear(-float(rng.integers(1, 4)), float(rng.choice([15, 40, 200]))), 4
    )
    theta: str | float = "total" if rng.integers(2) else 1e4
    problem = tenants([(int(rng.integers(1, 4)), int(rng.integers(1, 4)))], jobs)
    return Online(problem, AstraeaParams(lam=lam or int(rng.integers(1, 3)), theta=theta))


def vacuous(case: tuple[list[float], int, int]) -> Sides:
    """N |k_min| tau_L, which any schedule by tau_L keeps, and the constant."""
    slopes, lam, last = case
    return Sides(len(slopes) * -min(slopes) * 2**last, _linear_bound(slopes, lam, last))


def draw_slopes(rng: Rng) -> tuple[list[float], int, int]:
    """Slopes, lambda and L."""
    slopes = (-rng.integers(1, 20, size=rng.integers(1, 5))).astype(float).tolist()
    return slopes, int(rng.integers(1, 5)), int(rng.integers(1, 10))


def _convex_bound(jobs: Sequence[ParameterServerJob], lam: int, last: int) -> float:
    """The ratio of Theorem 1 (ii)."""
    powers = [job.utility for job in jobs if isinstance(job.utility, Power)]
    kappa = [power.exponent for power in powers]
    e = [power.scale for power in powers]
    ratio = (1 / (4 * lam)) ** max(kappa) * (1 / 2 ** (last - 2)) ** (max(kappa) - min(kappa))
    return float(ratio * min(e) ** max(kappa) / max(e) ** min(kappa))


def convex(case: Online, *, repaired: bool = False) -> Sides | None:
    """The printed ratio, or (1 / 4 lambda)^kappa_max if no job waits for it, and ALG / OPT."""
    found = _revenues(case)
    if found is None:
        return None
    best, schedule = found
    jobs, lam = case.problem.jobs, case.params.lam
    if repaired:
        if any(_waits(case, row) for row in schedule):
            return None
        ratio = (1 / (4 * lam)) ** max(job.utility.exponent for job in jobs)  # type: ignore[union-attr]
    else:
        ratio = _convex_bound(jobs, lam, (int(schedule.end.max()) - 1).bit_length())
    return Sides(ratio, case.problem.objective(schedule) / best)


def _waits(case: Online, row: Segment) -> bool:
    """Whether a job runs later than in the first interval in which it can."""
    shortest = int(run_options(case.problem, row.job).slots.min())
    release = case.problem.jobs[row.job].release
    first = max(1, release.bit_length(), (shortest - 1).bit_length())
    return round_of(row.start, case.params.lam)[0] > first


def draw_convex(rng: Rng) -> Online:
    """Jobs with utilities (e / t)^kappa on one node."""
    jobs = _draw_jobs(
        rng, lambda: Power(float(rng.choice([5, 20, 300])), float(rng.choice([0.5, 1, 2]))), 3
    )
    problem = tenants([(int(rng.integers(1, 4)), int(rng.integers(1, 4)))], jobs)
    return Online(problem, AstraeaParams(lam=int(rng.integers(1, 3))))


def two_exponents() -> Online:
    """A job of each exponent, on a node of its own."""
    jobs = [one_job(f"j{i}", Power(1000.0, k), release=1) for i, k in enumerate((1.0, 2.0))]
    return Online(tenants([(1, 1)] * 2, jobs), AstraeaParams())


# --- Theorems 2 and 3 ----------------------------------------------------------------------------


def broken(case: Online) -> Sides:
    """How many constraints a schedule breaks, against none."""
    schedule, _ = case.schedule()
    return Sides(len(case.problem.violations(schedule)), 0)


def theorem_3(case: Online) -> Sides:
    """Nodes that MINCOSTD and MINCOSTC look at, and 4 lambda L sum of T D_j S, T = tau_L."""
    problem, servers = case.problem, len(case.problem.instance.cluster.nodes)
    before = facts_of(problem).tuples
    result = astraea(problem, params=case.params)
    looked = facts_of(problem).tuples - before
    last = RevenueFacts.of(result).intervals or 0
    tuples = sum(2**last * job.gpus for job in problem.jobs)
    return Sides(2 * looked * servers, 4 * case.params.lam * last * tuples * servers)


# --- Theorem 4 -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FalseReport:
    """A user that tells of other jobs than it has.

    Parameters
    ----------
    truth, told : Irmp
        Jobs by number; those of other users are the same in both.
    user : str
    params : AstraeaParams
    """

    truth: Irmp
    told: Irmp
    user: str
    params: AstraeaParams = EXAMPLE

    def gain(self, *, honest: bool) -> float:
        """Return the user's true utility, less what it pays, with what it gets."""
        told = self.truth if honest else self.told
        schedule, _ = Online(told, self.params).schedule()
        mine = [row for row in schedule if self.truth.user(row.job) == self.user]
        worth = math.fsum(self.truth.value(row.job, row.end) for row in mine)
        books = accounts(told, schedule, self.params)
        paid = math.fsum(float(books.payment[row.job]) for row in mine)
        return worth - paid + float(books.income[self.truth.users.index(self.user)].sum())


def lie(case: FalseReport) -> Sides:
    """What the user has of the lie, and of the truth."""
    return Sides(case.gain(honest=False) - 1e-9, case.gain(honest=True))


def draw_misreport(rng: Rng) -> FalseReport:
    """One job of u0 is told to be worth otherwise, or to have fewer chunks."""
    case = draw_online(rng)
    jobs = list(case.problem.jobs)
    told = [_told(rng, job) if job.user == "u0" else job for job in jobs]
    return FalseReport(case.problem, _with_jobs(case.problem, told), "u0", case.params)


def _with_jobs(problem: Irmp, jobs: Sequence[ParameterServerJob]) -> Irmp:
    return replace(problem, instance=replace(problem.instance, jobs=jobs))


def _told(rng: Rng, job: ParameterServerJob) -> ParameterServerJob:
    """Another utility, or all mini-batches in one chunk."""
    if rng.integers(2):
        return replace(job, utility=draw_job(rng, 0).utility)
    return replace(job, gpus=1, minibatches=job.gpus * job.minibatches)


def slope_of_the_example() -> FalseReport:
    """u2 says that each slot costs 4, not 2."""
    truth = paper_example(FIRST)
    jobs = list(truth.jobs)
    jobs[1] = replace(jobs[1], utility=Linear(-4, 100))
    return FalseReport(truth, _with_jobs(truth, jobs), "u2", BY_NUMBER)


def slope_on_one_server() -> FalseReport:
    """u2 says that each slot costs 8, not 4."""
    return FalseReport(
        two_in_a_row((-4, -4), constant=20), two_in_a_row((-4, -8), constant=20), "u2"
    )


def fewer_chunks() -> FalseReport:
    """u2 says that its 6 mini-batches are one chunk, not two."""
    a = one_job("a", Linear(-4, 40), workers=2, user="u1", release=2, rates=(0.5, 0.25))
    b = one_job("b", Linear(-6, 60), workers=2, work=3, user="u2", release=2, rates=(2.0, 1.0))
    one_chunk = replace(b, gpus=1, minibatches=6)
    quotas = {"u1": (2, 2), "u2": (2, 2)}
    truth, told = (tenants([(4, 4)], [a, job], quotas) for job in (b, one_chunk))
    return FalseReport(truth, told, "u2")


def convex_in_stage_2() -> FalseReport:
    """u2 has no quota; what it says that its job is worth is counted from the round's beginning."""
    a = one_job("a", Linear(-1, 50), workers=2, work=2, user="u1", release=3)
    truth, told = (
        tenants(
            [(2, 1)] * 2,
            [a, one_job("b", Power(e, 1.0), workers=2, user="u2", release=3)],
            {"u1": (4, 2), "u2": (0, 0)},
        )
        for e in (20.0, 12.0)
    )
    return FalseReport(truth, told, "u2", TWO_ROUNDS)


def draw_told(rng: Rng) -> tuple[SingleJobCase, SingleJobCase]:
    """Problem (9) without quota, in truth, where the job gains, and as told.

    The job is told to have another utility, or all its mini-batches in one chunk.
    """
    while (truth := replace(draw_single_job_case(rng), room=None)).answer(literal=False) <= 0:
        pass
    job = truth.problem.jobs[0]
    values = np.sort(rng.integers(-3, 40, size=truth.values.size))[::-1].astype(float)
    if rng.integers(2):
        job = replace(job, gpus=1, minibatches=job.gpus * job.minibatches)
    return truth, replace(truth, problem=_with_jobs(truth.problem, [job]), values=values)


def stage_2(case: tuple[SingleJobCase, SingleJobCase]) -> Sides:
    """True ideal utility less cost of what the lie and the truth get."""
    gains, (truth, _) = [], case
    for told in reversed(case):
        run = best_response(
            told.problem, 0, told.free, told.prices, told.values, begin=0, end=told.free.shape[2]
        )
        gains.append(0.0 if run is None else float(truth.values[run.end]) - run.cost)
    return Sides(gains[0], gains[1])


def rational(case: Online) -> Sides:
    """The most that a job of stage 2 pays beyond its true worth, against nothing."""
    schedule, _ = case.schedule()
    paid = accounts(case.problem, schedule, case.params)
    loss = [
        float(paid.payment[row.job]) - case.problem.value(row.job, row.end)
        for row in schedule
        if paid.stage[row.job] == 2
    ]
    return Sides(max(loss, default=0.0), 0)


# --- Theorem 5 and sharing -----------------------------------------------------------------------


def pareto(case: Online) -> Sides:
    """The most that one job gains if it is moved within its round, with all others as they are."""
    schedule, _ = case.schedule()
    problem, rows = case.problem, list(schedule)
    gains = [0.0]
    for row in rows:
        interval, begin = round_of(row.start, case.params.lam)
        free = fullest(problem, begin + (1 << interval))
        for other in rows:
            if other.job != row.job:
                _take(free, other)
        now = problem.value(row.job, row.end)
        first = max(begin, problem.earliest(row.job))
        for run in runs(problem, row.job, first, free.shape[2]):
            if (run.held <= free[:, :, run.start : run.end]).all():
                gains.append(problem.value(row.job, run.end) - now)
    return Sides(max(gains), 0)


def _take(free: Any, row: Segment) -> None:
    for kind, held in enumerate((row.gpus, row.ps or {})):
        for node, count in held.items():
            free[kind, node, row.start : row.end] -= count


def alone(case: Online) -> Sides | None:
    """What a user earns alone and what it gains with others; of the user that loses most."""
    if not case.problem.owners:
        return None
    alone = batch_sche(case.problem, params=case.params).solution
    assert alone is not None
    before, sides = case.problem.earnings(alone), []
    for user in case.problem.users:
        with_others = FalseReport(case.problem, case.problem, user, case.params).gain(honest=True)
        sides.append(Sides(before[user] - 1e-9, with_others))
    return max(sides, key=lambda side: side.left - side.right)


def priced_out() -> Online:
    """Its node is idle, but the other one is busy, so that u2 is to pay 7.1 for what is its."""
    jobs = [
        one_job("a", Table([50.0]), workers=2, work=2, user="u1", release=1),
        one_job("b", Table([3.0] * 4 + [0.0]), workers=2, work=2, user="u2", release=1),
    ]
    return Online(tenants([(2, 1)] * 2, jobs, owners=["u1", "u2"]), AstraeaParams())


# --- money ---------------------------------------------------------------------------------------


#: a schedule, in the order of acceptance, with stages and prices
Books = tuple[Irmp, Schedule, AstraeaParams]


def draw_books(rng: Rng) -> Books:
    """A schedule of Astraea."""
    case = draw_online(rng)
    return case.problem, case.schedule()[0], case.params


def draw_paid(rng: Rng) -> Books:
    """A schedule of Astraea in which somebody pays."""
    while True:
        case = draw_books(rng)
        if accounts(*case).payment.any():
            return case


def printed_schedule() -> Books:
    """The schedule that Section 4.3 prints for j11, j21 and j12."""
    rows = [
        Segment(0, 8, 10, {0: 2}, ps={0: 1}),
        Segment(1, 10, 12, {1: 2}, ps={1: 1}),
        Segment(2, 8, 12, {2: 2, 3: 1}, ps={2: 1}),
    ]
    return paper_example(FIRST), Schedule.of(rows), TWO_ROUNDS


def division(case: Books) -> Sides:
    """What all users get of a job, and what it pays; of the job that differs most, or pays most."""
    books = accounts(*case)
    out, paid = (np.round(money, 6) for money in (books.income.sum(axis=0), books.payment))
    j = int(np.lexsort((paid, np.abs(out - paid)))[-1])
    return Sides(float(out[j]), float(paid[j]), "==")


def whole_cost(case: Books) -> Sides:
    """(2) as printed: the shares of each slot sum up to 1, and are of the whole cost."""
    paid, (_, schedule, _) = accounts(*case).payment, case
    slots = {row.job: row.end - row.start for row in schedule}
    out = sum(count * float(paid[job]) for job, count in slots.items())
    return Sides(out, float(paid.sum()), "==")


def balance(case: Books, *, self_share: bool) -> Sides:
    """All users' revenues, and the utility of all jobs."""
    books, (problem, schedule, _) = accounts(*case), case
    worth = problem.objective(schedule)
    total = worth - float(books.payment.sum())
    for u, user in enumerate(problem.users):
        for j in range(len(problem.jobs)):
            if self_share or problem.user(j) != user:
                total += float(books.income[u, j])
    return Sides(round(total, 6), round(worth, 6), "==")
