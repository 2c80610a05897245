"""The claims of Wang et al. (IEEE TC 2023) on Astraea for IRMP, Section 4.5, and their corrections.

Symbols are the paper's: tau_l = 2^l, lambda rounds an interval, eta prices, theta their scale, C_w
and C_p what there is of workers and PSs, f_j utilities, mu_j the utility less the cost, sigma the
ratio of one round, N jobs. d_j is a job's shortest run, f_max the largest utility of any job.

Optima are found by trying everything; larger counterexamples come with a schedule that is checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ....formulations.irmp.problem import Irmp
from ....instances.model import Linear, ParameterServerJob, Power, Table, Utility
from ....instances.schedule import Schedule, Segment
from ....solvers.facts import RevenueFacts
from ....solvers.irmp.astraea import (
    AstraeaParams,
    Round,
    a_max_irev,
    a_round,
    accounts,
    astraea,
    batch_sche,
    lemma_1,
    round_of,
    thetas,
)
from ....solvers.irmp.response import Response, best_response, run_options
from ..claim import Claim, Sides, Verdict
from .tiny import (
    APART,
    PerServer,
    at_once,
    fractional,
    fullest,
    one_job,
    optimum,
    runs,
    schedules,
    tenants,
)

__all__ = ["IRMP", "Nine", "OneRound", "Online", "Report", "Rounds"]

PAPER = "Wang et al. 2023"
Rng = np.random.Generator
#: theta of the paper's example, for workers and PSs
EXAMPLE = AstraeaParams(theta=16.0)
TWO_ROUNDS = replace(EXAMPLE, lam=2)
BY_NUMBER = replace(TWO_ROUNDS, order="index")
#: its jobs but the long one, by number
FIRST = ("11", "21", "12")


# --- a run of Astraea ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Online:
    """A problem and how Astraea is run on it.

    Parameters
    ----------
    problem : Irmp
    params : AstraeaParams
    """

    problem: Irmp
    params: AstraeaParams = EXAMPLE

    def schedule(self) -> tuple[Schedule, list[str]]:
        """Return the schedule, and the ids of jobs that are left."""
        result = astraea(self.problem, params=self.params)
        assert result.solution is not None
        return result.solution, list(RevenueFacts.of(result).left)


def _draw_job(rng: Rng, i: int, *, user: str = "", steep: int = 6) -> ParameterServerJob:
    """A job of 1 to 3 workers, with a utility of any kind."""
    slope, start = -float(rng.integers(0, steep)), float(rng.integers(8, 60))
    kinds: list[Utility] = [Linear(slope, start), Power(start, float(rng.choice([0.5, 1, 2])))]
    return one_job(
        f"j{i}",
        kinds[int(rng.integers(2))],
        workers=int(rng.integers(1, 4)),
        work=int(rng.integers(1, 4)),
        user=user,
        release=int(rng.integers(1, 4)),
        rates=(1.0, float(rng.choice([0.5, 1.0, APART]))),
    )


def _draw_sizes(rng: Rng) -> list[tuple[int, int]]:
    return [(int(rng.integers(1, 4)), int(rng.integers(1, 3))) for _ in range(rng.integers(1, 4))]


def _draw_online(rng: Rng, *, owned: bool = False, jobs: int = 5, literal: bool = False) -> Online:
    """Two users with any quotas, or with servers of their own."""
    sizes = _draw_sizes(rng)
    users = [f"u{rng.integers(2)}" for _ in range(rng.integers(2, jobs + 1))]
    made = [_draw_job(rng, i, user=user) for i, user in enumerate(users)]
    bandwidths = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    total = np.sum(sizes, axis=0)
    first = (int(rng.integers(0, total[0] + 1)), int(rng.integers(0, total[1] + 1)))
    quotas = {"u0": first, "u1": (int(total[0] - first[0]), int(total[1] - first[1]))}
    owners = [f"u{rng.integers(2)}" for _ in sizes]
    if set(owners) != {"u0", "u1"} or not owned:
        owners = []
    problem = tenants(sizes, made, None if owners else quotas, owners=owners, bandwidths=bandwidths)
    theta: str | float = float(rng.choice([4, 16, 256])) if rng.integers(2) else "total"
    lam = int(rng.integers(1, 3))
    return Online(problem, AstraeaParams(lam=lam, theta=theta, cap=6, literal=literal))


def paper_example(names: Sequence[str] = ("11", "12", "21", "22")) -> Irmp:
    """Return the example of Section 4.2, or some jobs of it, in this order.

    Examples
    --------
    >>> paper_example().quotas[:, 0].tolist()
    [[4, 2], [4, 2]]
    """
    chunks = {"11": 2, "12": 3, "21": 2, "22": 30}
    jobs = [
        ParameterServerJob(
            id=name, user=f"u{name[0]}", gpus=chunks[name], release=3, epochs=2, minibatches=1,
            rates=(1.0, 0.5), utility=Linear(-2, 100),
        )
        for name in names
    ]  # fmt: skip
    problem = tenants([(2, 1)] * 4, jobs, {"u1": (4, 2), "u2": (4, 2)})
    return replace(problem, clock="release")


def _two_in_a_row(
    slopes: Sequence[float] = (-1, -1), *, constant: float = 8, work: int = 1, slot_r: bool = False
) -> Irmp:
    """A server of 2 workers and 2 PSs and two jobs of 1 worker, of a user each."""
    jobs = [
        one_job(id, Linear(k, constant), work=work, user=f"u{u}", release=1)
        for u, (id, k) in enumerate(zip("ab", slopes, strict=True), 1)
    ]
    problem = tenants([(2, 2)], jobs, {"u1": (1, 1), "u2": (1, 1)})
    return replace(problem, paper_slot_r=slot_r)


# --- Lemma 1 -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """One call of A_round: jobs, l and how.

    Parameters
    ----------
    problem : Irmp
    interval : int
    params : AstraeaParams
    """

    problem: Irmp
    interval: int
    params: AstraeaParams = EXAMPLE

    @property
    def tau(self) -> int:
        """tau_l."""
        return 1 << self.interval

    def accepted(self, params: AstraeaParams | None = None) -> list[Response]:
        """Return the runs, whose values are ideal."""
        jobs = range(len(self.problem.jobs))
        return [a.run for a in a_round(self.problem, jobs, self.interval, params or self.params)]


def _draw_batch(rng: Rng, *, lam: int | None = None) -> Batch:
    case = _draw_online(rng, jobs=3)
    params = replace(case.params, lam=lam or int(rng.integers(1, 4)))
    return Batch(case.problem, int(rng.integers(1, 3)), params)


def _two_slots_twice() -> Batch:
    jobs = [one_job(i, Linear(-1, 8), work=2) for i in "ab"]
    return Batch(tenants([(1, 1)], jobs), 1, TWO_ROUNDS)


def _length(case: Batch, *, each: bool = False) -> Sides:
    """From the first start to the last end: of all runs, or, the longest, of those of a round."""
    lengths, rounds = [0], dict[int, list[Response]]()
    for run in case.accepted():
        begin = round_of(run.start, case.params.lam)[1] if each else 0
        rounds.setdefault(begin, []).append(run)
    for begin, mine in rounds.items():
        first = begin if each else min(run.start for run in mine)
        lengths.append(max(run.end for run in mine) - first)
    return Sides(max(lengths), case.tau)


def _lemma_1(case: Batch) -> Sides | None:
    """The optimum with deadline tau_l, and A_round with the lambda of Lemma 1."""
    problem, params = case.problem, case.params
    jobs = range(len(problem.jobs))
    theta = thetas(problem, jobs, params.theta, params.scale)
    lam = lemma_1(problem, jobs, theta)
    if lam is None:
        return None
    earned = math.fsum(run.value for run in case.accepted(replace(params, lam=lam)))
    return Sides(optimum(at_once(problem, case.tau)), earned)


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds of some sigma-approximation: of all schedules that are good enough, a bad one.

    Parameters
    ----------
    problem : Irmp
        With a horizon, tau_l.
    sigma : float
        Above 1.
    seed : int or None
        Which of the schedules that are good enough; None for the one that earns least.
    """

    problem: Irmp
    sigma: float
    seed: int | None = None

    @property
    def shortest(self) -> list[int]:
        """d_j."""
        return [int(run_options(self.problem, j).slots.min()) for j in self.jobs]

    @property
    def jobs(self) -> range:
        """All jobs."""
        return range(len(self.problem.jobs))

    @property
    def most(self) -> list[float]:
        """f_j(d_j)."""
        return [self.problem.value(j, d) for j, d in zip(self.jobs, self.shortest, strict=True)]

    @property
    def lam(self) -> int:
        """The lambda of Lemma 1."""
        ratio = math.log(math.fsum(self.most) / min(self.most))
        return math.floor(ratio / -math.log1p(-1 / self.sigma)) + 1

    def earned(self, rounds: int) -> float:
        """Return what so many rounds earn."""
        rng, left, total = np.random.default_rng(self.seed), list(self.jobs), 0.0
        for _ in range(rounds):
            every = [
                (worth, sorted(chosen))
                for chosen, worths in schedules(self.problem, left).items()
                for worth in worths
            ]
            best = max(worth for worth, _ in every)
            enough = sorted(one for one in every if one[0] * self.sigma >= best - 1e-9)
            worth, chosen = enough[0 if self.seed is None else int(rng.integers(len(enough)))]
            total += worth
            left = [job for job in left if job not in chosen]
        return total


def _draw_rounds(rng: Rng, *, constant: bool = False) -> Rounds:
    """Up to 4 jobs of 1 or 2 workers that all can end in time, and are worth something then."""
    slots, made = int(rng.integers(1, 3)), []
    for i in range(int(rng.integers(2, 5))):
        start = float(rng.integers(4, 41))
        slope = 0.0 if constant else -float(rng.integers(0, 1 + int(start) // 4))
        workers = int(rng.integers(1, 3))
        made.append(one_job(f"j{i}", Linear(slope, start), workers=workers))
    problem = tenants([(2, 2)], made, horizon=slots)
    seed = int(rng.integers(100)) if rng.integers(3) else None
    return Rounds(problem, float(rng.choice([1.1, 1.5, 2, 4])), seed)


def _lambda_rounds(case: Rounds) -> Sides:
    return Sides(optimum(case.problem), case.earned(case.lam))


def _one_more_round(case: Rounds) -> Sides:
    """Min f_j(tau) / f_j(d_j) times the optimum, and what lambda + 1 rounds earn."""
    deadline = case.problem.horizon or 0
    rho = min(case.problem.value(j, deadline) / case.most[j] for j in case.jobs)
    return Sides(rho * optimum(case.problem) - 1e-9, case.earned(case.lam + 1))


def _decoy() -> Rounds:
    """20 + 20 beside each other or 37 alone; sigma = 1.1 allows the second."""
    jobs = [one_job(id, Table([20.0])) for id in "ab"] + [one_job("c", Table([37.0]), workers=2)]
    return Rounds(tenants([(2, 2)], jobs, horizon=1), 1.1)


# --- Lemma 2 -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Nine:
    """Problem (9) for the first job, with what is left of its user's quota.

    Parameters
    ----------
    problem : Irmp
    free : (2, servers, T) int array
    prices : (2, T) float array
    values : (T + 1,) float array
        f of completions at 0, 1, ..., T.
    room : (2, T) int array or None
    """

    problem: Irmp
    free: Any
    prices: Any
    values: Any
    room: Any = None

    def best(self) -> float:
        """Return the most that any run is worth after its cost, at least 0, by trying all."""
        found = 0.0
        for run in runs(self.problem, 0, 0, self.free.shape[2]):
            slots, total = slice(run.start, run.end), run.held.sum(axis=1)
            fits = (run.held <= self.free[:, :, slots]).all()
            if fits and (self.room is None or (total <= self.room[:, slots]).all()):
                cost = float((total * self.prices[:, slots]).sum())
                found = max(found, float(self.values[run.end]) - cost)
        return found

    def answer(self, *, literal: bool) -> float:
        """Return what Algorithms 3-5 say that it is."""
        run = best_response(
            self.problem, 0, self.free, self.prices, self.values,
            begin=0, end=self.free.shape[2], room=self.room, machine=not literal, literal=literal,
        )  # fmt: skip
        return 0.0 if run is None else run.utility


def _draw_nine(rng: Rng) -> Nine:
    """Integer prices and utilities, so that both sides are exact."""
    slots, sizes = int(rng.integers(1, 7)), _draw_sizes(rng)
    bandwidths = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    problem = tenants(sizes, [_draw_job(rng, 0)], bandwidths=bandwidths)
    free = rng.integers(0, fullest(problem, slots) + 1)
    values = np.sort(rng.integers(-3, 40, size=slots + 1))[::-1].astype(float)
    room = rng.integers(0, 5, size=(2, slots)) if rng.integers(2) else None
    prices = rng.integers(0, 6, size=(2, slots)).astype(float)
    return Nine(problem, free, prices, values, room)


def _lemma_2(case: Nine, *, literal: bool = False) -> Sides:
    return Sides(case.answer(literal=literal), case.best(), "==")


def _too_few_ps() -> Nine:
    """A worker and a PS on each of two servers; a worker outside needs 2 PSs, W8."""
    job = one_job("j", Linear(-1, 8), workers=2, work=1, rates=(1.0, 1.0))
    problem = tenants([(1, 1)] * 2, [job], bandwidths=(2, 1))
    return Nine(problem, fullest(problem, 2), np.zeros((2, 2)), np.array([8.0, 7.0, 6.0]))


def _no_ps_left() -> Nine:
    """The user's quota has a worker left, and no PS, W9."""
    problem = tenants([(1, 1)], [one_job("j", Table([5.0]))])
    room = np.array([[1], [0]])
    return Nine(problem, fullest(problem, 1), np.zeros((2, 1)), np.array([5.0, 5.0]), room)


def _dearer_later() -> Nine:
    """Two slots, the first is free of charge, the second costs 9, W10."""
    problem = tenants([(1, 1)], [one_job("j", Table([5.0]), work=2)])
    prices = np.array([[0.0, 9.0], [0.0, 0.0]])
    return Nine(problem, fullest(problem, 2), prices, np.array([5.0, 5.0, 5.0]))


# --- Lemma 3 -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OneRound:
    """IRMP (4), with a schedule that is good where trying everything would take too long.

    Parameters
    ----------
    problem : Irmp
        With a horizon; all jobs are there at 0, and are taken by number.
    witness : Schedule or None
    theta : str or float
        As in :class:`~gangsched.solvers.irmp.astraea.AstraeaParams`.
    """

    problem: Irmp
    witness: Schedule | None = None
    theta: str | float = "total"

    def best(self) -> float:
        """Return an optimum, or what the witness earns."""
        if self.witness is None:
            return optimum(self.problem)
        if self.problem.violations(self.witness):
            raise ValueError(f"witness: {self.problem.violations(self.witness)[0]}")
        return self.problem.objective(self.witness)

    def prices(self) -> tuple[float, float]:
        """Return theta_w, theta_p."""
        both = thetas(self.problem, range(len(self.problem.jobs)), self.theta)[0]
        return float(both[0]), float(both[1])

    def sigma(self) -> float:
        """2 (log2 theta_w + log2 theta_p)."""
        return 2 * sum(math.log2(theta) for theta in self.prices())

    def accepted(self) -> list[Response]:
        """Return what A_maxIrev accepts."""
        slots, params = self.problem.horizon or 0, AstraeaParams(theta=self.theta)
        cluster = Round(self.problem, 0, slots, np.array([self.prices()]), params)
        return a_max_irev(cluster, range(len(self.problem.jobs)))


def _lemma_3(case: OneRound, *, per_server: bool = False) -> Sides | None:
    """OPT, and sigma times what A_maxIrev earns; as the paper assumes, f / use >= 1."""
    if min(case.prices()) < 2:
        return None
    if per_server:
        theta = max(case.prices())
        sigma, earned = 4 * math.log2(theta), PerServer(case.problem, theta).run().revenue
    else:
        sigma, earned = case.sigma(), math.fsum(run.value for run in case.accepted())
    return Sides(case.best(), sigma * earned)


def _draw_one_round(rng: Rng) -> OneRound:
    made = []
    for i in range(int(rng.integers(2, 5))):
        start = float(rng.choice([3, 6, 12, 50, 400]))
        utility = Linear(-float(rng.integers(0, 2)), start)
        workers, work = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        made.append(one_job(f"j{i}", utility, workers=workers, work=work))
    return OneRound(tenants(_draw_sizes(rng)[:2], made, horizon=int(rng.integers(1, 4))))


def _blocked() -> OneRound:
    """CE-a: a job of 1 worker worth 1 keeps a job of both out."""
    jobs = [one_job("a", Table([1.0])), one_job("b", Table([1000.0]), workers=2)]
    return OneRound(tenants([(2, 2)], jobs, horizon=1))


def _one_slot(workers: int, slots: int) -> OneRound:
    """CE-b: as many jobs of slot 1 as there are workers, before jobs of all slots."""
    short = [one_job(f"a{i}", Linear(-1, 2)) for i in range(workers)]
    long = [one_job(f"b{i}", Table([float(slots)]), work=slots) for i in range(workers)]
    problem = tenants([(workers, 20 * workers)], [*short, *long], horizon=slots)
    rows = [Segment(workers + i, 0, slots, {0: 1}, ps={0: 1}) for i in range(workers)]
    return OneRound(problem, Schedule.of(rows))


def _fragments(servers: int, theta: float) -> OneRound:
    """CE-c: 2 of the 3 workers of each server go to a job just above its cost."""
    other = 1 + 2 * (theta - 1)
    costs = [
        2 * (theta ** (2 * i / (3 * servers)) - 1) + other ** (i / (60 * servers)) - 1
        for i in range(servers)
    ]
    small = [
        one_job(f"a{i}", Table([max(2.0, 1.001 * cost)]), workers=2) for i, cost in enumerate(costs)
    ]
    large = [one_job(f"b{i}", Table([2 * (theta - 1)]), workers=2) for i in range(servers)]
    problem = tenants([(3, 60)] * servers, [*small, *large], horizon=1)
    rows = [Segment(servers + s, 0, 1, {s: 2}, ps={s: 1}) for s in range(servers)]
    return OneRound(problem, Schedule.of(rows))


def _draw_small_demands(rng: Rng) -> OneRound:
    """Up to 12 jobs on servers on which each job is small, though they are too many."""
    slots, wide, made = int(rng.integers(1, 4)), int(rng.integers(1, 3)), []
    for i in range(int(rng.integers(5, 13))):
        utility = Linear(-float(rng.integers(0, 2)), float(rng.integers(4, 8)))
        workers, work = int(rng.integers(1, wide + 1)), int(rng.integers(1, 3))
        rates = (1.0, float(rng.choice([0.5, 1.0])))
        made.append(one_job(f"j{i}", utility, workers=workers, work=work, rates=rates))
    theta = 2 * (1 + max(job.utility.value(1) for job in made))
    least = math.ceil(math.log2(theta))
    sizes = [
        (wide * least + int(rng.integers(3)), least + int(rng.integers(3)))
        for _ in range(rng.integers(1, 3))
    ]
    return OneRound(tenants(sizes, made, horizon=slots, bandwidths=(1, 2)), theta=theta)


def _small_demands(case: OneRound) -> Sides | None:
    """The optimum of the LP, and sigma' times what prices of each server earn."""
    problem, slots = case.problem, case.problem.horizon or 0
    assert isinstance(case.theta, float)
    log = math.log2(case.theta)
    full = fullest(problem, 1)
    every = [run for j in range(len(problem.jobs)) for run in runs(problem, j, 0, slots)]
    if any((run.held * log > full).any() for run in every):
        return None
    done = PerServer(problem, case.theta).run()
    for j, run in done.accepted.items():
        use = max(sum(run.workers), sum(run.ps)) * (run.end - run.start)
        if problem.value(j, run.end) < use:
            return None
    return Sides(fractional(problem) - 1e-6, 3 * log * done.revenue)


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


def _gap(case: Online, *, complete: bool) -> Sides | None:
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


def _draw_linear(rng: Rng, *, lam: int | None = None) -> Online:
    jobs = _draw_jobs(
        rng, lambda: Linear(-float(rng.integers(1, 4)), float(rng.choice([15, 40, 200]))), 4
    )
    theta: str | float = "total" if rng.integers(2) else 1e4
    problem = tenants([(int(rng.integers(1, 4)), int(rng.integers(1, 4)))], jobs)
    return Online(problem, AstraeaParams(lam=lam or int(rng.integers(1, 3)), theta=theta))


def _vacuous(case: tuple[list[float], int, int]) -> Sides:
    """N |k_min| tau_L, which any schedule by tau_L keeps, and the constant."""
    slopes, lam, last = case
    return Sides(len(slopes) * -min(slopes) * 2**last, _linear_bound(slopes, lam, last))


def _draw_slopes(rng: Rng) -> tuple[list[float], int, int]:
    slopes = (-rng.integers(1, 20, size=rng.integers(1, 5))).astype(float).tolist()
    return slopes, int(rng.integers(1, 5)), int(rng.integers(1, 10))


def _convex_bound(jobs: Sequence[ParameterServerJob], lam: int, last: int) -> float:
    """The ratio of Theorem 1 (ii)."""
    powers = [job.utility for job in jobs if isinstance(job.utility, Power)]
    kappa = [power.exponent for power in powers]
    e = [power.scale for power in powers]
    ratio = (1 / (4 * lam)) ** max(kappa) * (1 / 2 ** (last - 2)) ** (max(kappa) - min(kappa))
    return float(ratio * min(e) ** max(kappa) / max(e) ** min(kappa))


def _convex(case: Online, *, repaired: bool = False) -> Sides | None:
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


def _draw_convex(rng: Rng) -> Online:
    jobs = _draw_jobs(
        rng, lambda: Power(float(rng.choice([5, 20, 300])), float(rng.choice([0.5, 1, 2]))), 3
    )
    problem = tenants([(int(rng.integers(1, 4)), int(rng.integers(1, 4)))], jobs)
    return Online(problem, AstraeaParams(lam=int(rng.integers(1, 3))))


def _two_exponents() -> Online:
    jobs = [one_job(f"j{i}", Power(1000.0, k), release=1) for i, k in enumerate((1.0, 2.0))]
    return Online(tenants([(1, 1)] * 2, jobs), AstraeaParams())


# --- Theorems 2 and 3 ----------------------------------------------------------------------------


def _broken(case: Online) -> Sides:
    schedule, _ = case.schedule()
    return Sides(len(case.problem.violations(schedule)), 0)


class _Counted(Irmp):
    """Counts calls of `duration`: line 3 of each of MINCOSTD and MINCOSTC."""

    __slots__ = ()
    calls: ClassVar[list[int]] = [0]

    def duration(self, job: int, workers: int, nodes: int, model: str = "") -> int:
        self.calls[0] += 1
        return super().duration(job, workers, nodes, model)


def _theorem_3(case: Online) -> Sides:
    """Servers that MINCOSTD and MINCOSTC look at, and 4 lambda L sum of T D_j S, T = tau_L."""
    problem = _Counted(case.problem.instance, **case.problem.parameters())
    for j in range(len(problem.jobs)):
        run_options(problem, j)
    problem.calls[0] = 0
    result = astraea(problem, params=replace(case.params, machine=False))
    calls, servers = problem.calls[0], len(problem.instance.cluster.nodes)
    last = RevenueFacts.of(result).intervals or 0
    tuples = sum(2**last * job.gpus for job in problem.jobs)
    return Sides(calls * servers, 4 * case.params.lam * last * tuples * servers)


# --- Theorem 4 -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Report:
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

    def gain(self, *, honest: bool, money: bool = True) -> float:
        """Return the user's true utility, less what it pays, with what it gets."""
        told = self.truth if honest else self.told
        schedule, _ = Online(told, self.params).schedule()
        mine = [row for row in schedule if self.truth.user(row.job) == self.user]
        worth = math.fsum(self.truth.value(row.job, row.end) for row in mine)
        if not money:
            return worth
        books = accounts(told, schedule, self.params)
        paid = math.fsum(float(books.payment[row.job]) for row in mine)
        return worth - paid + float(books.income[self.truth.users.index(self.user)].sum())


def _lie(case: Report) -> Sides:
    return Sides(case.gain(honest=False) - 1e-9, case.gain(honest=True))


def _draw_report(rng: Rng) -> Report:
    """One job of u0 is told to be worth otherwise, or to have fewer chunks."""
    case = _draw_online(rng)
    jobs = list(case.problem.jobs)
    told = [_told(rng, job) if job.user == "u0" else job for job in jobs]
    return Report(case.problem, _with_jobs(case.problem, told), "u0", case.params)


def _with_jobs(problem: Irmp, jobs: Sequence[ParameterServerJob]) -> Irmp:
    return replace(problem, instance=replace(problem.instance, jobs=jobs))


def _told(rng: Rng, job: ParameterServerJob) -> ParameterServerJob:
    """Another utility, or all mini-batches in one chunk."""
    if rng.integers(2):
        return replace(job, utility=_draw_job(rng, 0).utility)
    return replace(job, gpus=1, minibatches=job.gpus * job.minibatches)


def _slope_of_the_example() -> Report:
    """u2 says that each slot costs 4, not 2."""
    truth = paper_example(FIRST)
    jobs = list(truth.jobs)
    jobs[1] = replace(jobs[1], utility=Linear(-4, 100))
    return Report(truth, _with_jobs(truth, jobs), "u2", BY_NUMBER)


def _slope_on_one_server() -> Report:
    return Report(_two_in_a_row((-4, -4), constant=20), _two_in_a_row((-4, -8), constant=20), "u2")


def _fewer_chunks() -> Report:
    """u2 says that its 6 mini-batches are one chunk, not two."""
    a = one_job("a", Linear(-4, 40), workers=2, user="u1", release=2, rates=(0.5, 0.25))
    b = one_job("b", Linear(-6, 60), workers=2, work=3, user="u2", release=2, rates=(2.0, 1.0))
    one_chunk = replace(b, gpus=1, minibatches=6)
    quotas = {"u1": (2, 2), "u2": (2, 2)}
    truth, told = (tenants([(4, 4)], [a, job], quotas) for job in (b, one_chunk))
    return Report(truth, told, "u2")


def _convex_in_stage_2() -> Report:
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
    return Report(truth, told, "u2", TWO_ROUNDS)


@dataclass(frozen=True, slots=True)
class _Told:
    """Problem (9) without quota, and for the same job as told."""

    truth: Nine
    told: Nine


def _draw_told(rng: Rng) -> _Told:
    truth = replace(_draw_nine(rng), room=None)
    job = truth.problem.jobs[0]
    values = np.sort(rng.integers(-3, 40, size=truth.values.size))[::-1].astype(float)
    if rng.integers(2):
        job = replace(job, gpus=1, minibatches=job.gpus * job.minibatches)
    return _Told(truth, replace(truth, problem=_with_jobs(truth.problem, [job]), values=values))


def _stage_2(case: _Told) -> Sides:
    """True ideal utility less cost of what the lie and the truth get."""
    gains = []
    for told in (case.told, case.truth):
        run = best_response(
            told.problem, 0, told.free, told.prices, told.values, begin=0, end=told.free.shape[2]
        )
        gains.append(0.0 if run is None else float(case.truth.values[run.end]) - run.cost)
    return Sides(gains[0], gains[1])


def _rational(case: Online) -> Sides:
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


def _pareto(case: Online) -> Sides:
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


def _alone(case: Online) -> Sides | None:
    """What a user earns alone and what it gains with others; of the user that loses most."""
    if not case.problem.owners:
        return None
    alone = batch_sche(case.problem, params=case.params).solution
    assert alone is not None
    before, sides = case.problem.earnings(alone), []
    for user in case.problem.users:
        with_others = Report(case.problem, case.problem, user, case.params).gain(honest=True)
        sides.append(Sides(before[user] - 1e-9, with_others))
    return max(sides, key=lambda side: side.left - side.right)


def _priced_out() -> Online:
    """Its server is idle, but the other one is busy, so that u2 is to pay 18.9 for what is its."""
    jobs = [
        one_job("a", Table([50.0]), workers=2, work=2, user="u1", release=1),
        one_job("b", Table([3.0] * 4 + [0.0]), workers=2, work=2, user="u2", release=1),
    ]
    return Online(tenants([(2, 1)] * 2, jobs, owners=["u1", "u2"]), AstraeaParams())


# --- money ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Books:
    """A schedule with stages and prices.

    Parameters
    ----------
    problem : Irmp
    schedule : Schedule
        In the order of acceptance.
    params : AstraeaParams
    """

    problem: Irmp
    schedule: Schedule
    params: AstraeaParams = TWO_ROUNDS


def _draw_books(rng: Rng) -> Books:
    case = _draw_online(rng)
    return Books(case.problem, case.schedule()[0], case.params)


def _printed_schedule() -> Books:
    """The schedule that Section 4.3 prints for j11, j21 and j12."""
    rows = [
        Segment(0, 8, 10, {0: 2}, ps={0: 1}),
        Segment(1, 10, 12, {1: 2}, ps={1: 1}),
        Segment(2, 8, 12, {2: 2, 3: 1}, ps={2: 1}),
    ]
    return Books(paper_example(FIRST), Schedule.of(rows))


def _division(case: Books) -> Sides:
    """The largest difference between what a job pays and what all users get of it."""
    books = accounts(case.problem, case.schedule, case.params)
    apart = np.abs(books.income.sum(axis=0) - books.payment)
    return Sides(float(apart.max(initial=0)), 1e-9 * (1 + float(books.payment.sum())))


def _whole_cost(case: Books) -> Sides:
    """(2) as printed: the shares of each slot sum up to 1, and are of the whole cost."""
    paid = accounts(case.problem, case.schedule, case.params).payment
    slots = {row.job: row.end - row.start for row in case.schedule}
    out = sum(count * float(paid[job]) for job, count in slots.items())
    return Sides(out, float(paid.sum()), "==")


def _balance(case: Books, *, self_share: bool) -> Sides:
    """How far all users' revenues are from the utility of all jobs."""
    books = accounts(case.problem, case.schedule, case.params)
    worth = case.problem.objective(case.schedule)
    total = worth - float(books.payment.sum())
    for u, user in enumerate(case.problem.users):
        for j in range(len(case.problem.jobs)):
            if self_share or case.problem.user(j) != user:
                total += float(books.income[u, j])
    return Sides(abs(total - worth), 1e-9 * (1 + float(books.payment.sum())))


# --- the claims ----------------------------------------------------------------------------------


def _claim(
    verdict: Verdict,
    id: str,
    place: str,
    statement: str,
    evidence: str,
    check: Callable[[Any], Sides | None],
    draw: Callable[[Rng], Any],
    **more: Any,
) -> Claim[Any]:
    """A claim of the paper, or, without a place, one beyond it."""
    source = f"{PAPER}, {place}" if place else "beyond the paper"
    return Claim(
        id=id, source=source, statement=statement, verdict=verdict, evidence=evidence, check=check,
        draw=draw, **more,
    )  # fmt: skip


_proved, _refuted = partial(_claim, Verdict.PROVED), partial(_claim, Verdict.REFUTED)
IRMP: tuple[Claim[Any], ...] = (
    # id, place, statement, evidence, check, draw
    _refuted("irmp-lemma-1-length", "Lemma 1 (i)",
        "The schedule that A_round computes is at most tau_l long.",
        "it has lambda rounds of tau_l slots",
        _length, _draw_batch, samples=50,
        assumptions="lambda >= 2",
        counterexamples={"2 slots twice": _two_slots_twice}),
    _proved("irmp-lemma-1-length-round", "Lemma 1 (i), restricted",
        "What it schedules in one round ends tau_l after the beginning of the round.",
        "line 4 of Algorithms 4 and 5",
        partial(_length, each=True), _draw_batch, samples=50),
    _refuted("irmp-lemma-1-revenue", "Lemma 1 (ii)",
        "With the lambda of Lemma 1, the ideal revenue of A_round is at least the optimum of "
        "Definition 1 with deadline tau_l.",
        "prices delay a job that no other round repeats; whatever lambda is",
        _lemma_1, _draw_batch, samples=30,
        counterexamples={"two on one server": lambda: Batch(_two_in_a_row(), 1, AstraeaParams()),
            "j11, j21": lambda: Batch(paper_example(("11", "21")), 2)}),
    _refuted("irmp-lemma-1-rounds", "Lemma 1, lambda",
        "Where utilities do not depend on time, lambda rounds of any sigma-approximation earn as "
        "much as the optimum of one round.",
        "OPT less what is earned falls below f_min, not to 0",
        _lambda_rounds, partial(_draw_rounds, constant=True), samples=40,
        counterexamples={"20 + 20 or 37": _decoy}),
    _proved("irmp-lemma-1-repaired", "Lemma 1 (ii), corrected",
        "lambda + 1 rounds of any sigma-approximation earn at least min f_j(tau) / f_j(d_j) of the "
        "optimum of one round.",
        "by f_j(d_j) the argument is right but for its last step",
        _one_more_round, _draw_rounds, samples=40,
        assumptions="f_j(tau) >= 0 and d_j <= tau for all jobs; F and f_min of Lemma 1 are sum and "
        "least of f_j(d_j) > 0"),
    _refuted("irmp-lemma-2", "Lemma 2",
        "Algorithms 3, 4 and 5 as printed solve problem (9).",
        "too few PSs are enough (Algorithm 4, line 8), PSs are held to the quota of workers "
        "(Algorithm 5, line 7), the first slot's price counts for all (line 12)",
        partial(_lemma_2, literal=True), _draw_nine,
        counterexamples={"1 PS where 2 are needed": _too_few_ps, "no PS left": _no_ps_left,
            "slot 2 costs 9": _dearer_later}),
    _proved("irmp-lemma-2-repaired", "Lemma 2, corrected",
        "They do with these three places put right.",
        "a placement with its PSs on one server, as few as possible, costs no more",
        _lemma_2, _draw_nine, samples=200,
        assumptions="utilities do not rise; (9) with the quota that is left in stage 1"),
    _refuted("irmp-lemma-3", "Lemma 3",
        "OPT of (4) is at most 2 (log2 theta_w + log2 theta_p) times what A_maxIrev earns.",
        "a small job can block a large one (CE-a); a full slot costs no more than a slot of a long "
        "run (CE-b); uniform prices do not see which server is full (CE-c)",
        _lemma_3, _draw_one_round, samples=60,
        assumptions="theta - 1 = max f / use over the run, as printed, and f / use >= 1",
        counterexamples={"CE-a": _blocked, "CE-b": partial(_one_slot, 4, 5),
            "CE-b, 100 workers": partial(_one_slot, 100, 20),
            "CE-c": partial(_fragments, 60, 1e3)}),
    _refuted("irmp-lemma-3-per-server", "",
        "The same where each server has prices of its own.",
        "what blocks is that jobs are indivisible on a server",
        partial(_lemma_3, per_server=True), _draw_one_round, samples=60,
        assumptions="both theta the larger one",
        counterexamples={"CE-a": _blocked, "CE-c": partial(_fragments, 60, 1e3)}),
    _proved("irmp-lemma-3-repaired", "Lemma 3, corrected",
        "With prices of its own on each server and exact best responses, OPT is at most L_w + L_p "
        "+ max(L_w, L_p) times what is earned; L = log2 theta.",
        "the last prices are feasible in (6), and each job adds at most that much to it",
        _small_demands, _draw_small_demands, samples=40,
        assumptions="any run of any job takes at most C_sw / L_w workers and C_sp / L_p PSs of a "
        "server; theta >= 2 (1 + f_max); f is at least the use of workers, and of PSs, "
        "over each accepted run"),
    _proved("irmp-theorem-1-i", "Theorem 1 (i)",
        "OPT - ALG <= N ((2^L - 1) k_max - (2^(L+1) - 1) (2 lambda - 1) k_min).",
        "see irmp-theorem-1-i-vacuous: it says nothing of the algorithm",
        partial(_gap, complete=True), _draw_linear, samples=40,
        assumptions="f_j = k_j t + g_j, k_j < 0 < g_j; all jobs are complete by tau_L"),
    _proved("irmp-theorem-1-i-vacuous", "Theorem 1 (i)",
        "This bound is at least N |k_min| tau_L, by which any schedule of all jobs by tau_L is at "
        "most below OPT.",
        "k_max >= k_min, lambda >= 1",
        _vacuous, _draw_slopes),
    _refuted("irmp-theorem-1-i-last", "Theorem 1 (i)",
        "The same where L is the last interval in which jobs are scheduled.",
        "the interval L ends at lambda tau_(L+1), not at tau_L",
        partial(_gap, complete=False), partial(_draw_linear, lam=1), samples=40,
        assumptions="lambda = 1",
        counterexamples={"L = 1, from slot r": lambda: Online(_two_in_a_row(slot_r=True)),
            "L = 3, from slot r + 1": lambda: Online(_two_in_a_row(constant=100, work=5))}),
    _proved("irmp-theorem-1-i-two-rounds", "Theorem 1 (i), restricted",
        "It holds then for lambda >= 2, for any schedule that ends with interval L.",
        "(lambda - 3/2) 2^(L+1) >= 2 lambda - 2",
        partial(_gap, complete=False), partial(_draw_linear, lam=2), samples=30),
    _refuted("irmp-theorem-1-ii", "Theorem 1 (ii)",
        "ALG / OPT is at least the ratio that is printed for (e / t)^kappa.",
        "e_min^kappa_max / e_max^kappa_min has a unit, and the ratio can be above 1",
        _convex, _draw_convex, samples=30,
        counterexamples={"e = 1000, kappa = 1, 2": _two_exponents}),
    _proved("irmp-theorem-1-ii-repaired", "Theorem 1 (ii), corrected",
        "ALG / OPT >= (1 / 4 lambda)^kappa_max.",
        "such a job is complete by 4 lambda times the first time at which it can be",
        partial(_convex, repaired=True), _draw_convex, samples=30,
        assumptions="every job is scheduled in the first interval that begins after its batch and "
        "in which it fits, as it is where resources are plenty"),
    _refuted("irmp-theorem-2", "Theorem 2",
        "Astraea as printed satisfies (3a)-(3o).",
        "Algorithm 4, line 8, breaks (3i)",
        _broken, partial(_draw_online, literal=True), samples=40,
        counterexamples={
            "two servers": lambda: Online(_too_few_ps().problem, replace(EXAMPLE, literal=True)),
            "the paper's example": lambda: Online(
                paper_example(), replace(TWO_ROUNDS, literal=True))}),
    _proved("irmp-theorem-2-repaired", "Theorem 2, corrected",
        "With the places of Lemma 2 put right it does.",
        "each run is one of (9), and is taken from what is free",
        _broken, _draw_online, samples=60),
    _proved("irmp-theorem-3", "Theorem 3",
        "Algorithms 4 and 5 together are called for at most 4 lambda L sum of T D_j tuples, and "
        "look at the S servers once in each.",
        "two stages, two algorithms, tau_L starts, D_j numbers of workers",
        _theorem_3, partial(_draw_online, jobs=3), samples=10,
        assumptions="least free resources over a run are kept as its start moves"),
    _refuted("irmp-theorem-4", "Theorem 4",
        "No user gains by telling of other jobs than it has.",
        "within quotas prices delay jobs but are not paid; with shared resources utility counts "
        "from the beginning of the round, cost does not",
        _lie, _draw_report, samples=60,
        counterexamples={"slope on one server": _slope_on_one_server,
            "slope in the example": _slope_of_the_example, "one chunk for two": _fewer_chunks,
            "convex, shared": _convex_in_stage_2}),
    _proved("irmp-theorem-4-stage-2", "Theorem 4, restricted",
        "In stage 2, at given prices, no job has more ideal utility less cost if it is told to "
        "have another utility, or fewer chunks.",
        "Lemma 2, corrected: it has the best response already",
        _stage_2, _draw_told, samples=200,
        assumptions="what the user's other jobs meet and what it gets back do not count"),
    _refuted("irmp-rational", "Section 4.4",
        "No job pays more than it is worth when it is complete.",
        "it pays up to its ideal utility",
        _rational, _draw_online, samples=40,
        counterexamples={
            "convex, shared": lambda: Online(_convex_in_stage_2().truth, TWO_ROUNDS)}),
    _refuted("irmp-theorem-5", "Theorem 5",
        "No job can be moved within its round so that it is worth more, with all others as they "
        "are.",
        "prices delay jobs while servers are idle",
        _pareto, _draw_online, samples=30,
        counterexamples={"two on one server": lambda: Online(_two_in_a_row(constant=20)),
            "the paper's example": lambda: Online(paper_example(FIRST), BY_NUMBER)}),
    _refuted("irmp-sharing-incentive", "Sections 1 and 4.5",
        "A user gains at least what the same algorithm earns it on its own servers.",
        "prices within a quota rise with what others use",
        _alone, partial(_draw_online, owned=True), samples=40,
        counterexamples={"3 at 18.9": _priced_out}),
    _proved("irmp-division", "eq. (2)",
        "With the cost of each slot in place of the whole cost, incomes from a job of stage 2 sum "
        "up to what it pays.",
        "shares of what is unused sum up to 1 in each slot",
        _division, _draw_books, samples=60,
        assumptions="unused resources are those after stage 1"),
    _refuted("irmp-division-printed", "eq. (2)",
        "They do with the whole cost, c_jw and c_jp, in each slot.",
        "a run of d slots pays out d times its cost",
        _whole_cost, _draw_books, samples=40,
        counterexamples={"j12 as printed": _printed_schedule}),
    _proved("irmp-money", "Section 3.2, corrected",
        "The revenues of all users sum up to the utility of all jobs.",
        "irmp-division",
        partial(_balance, self_share=True), _draw_books, samples=60,
        assumptions="the income of a user counts what its own jobs pay to it"),
    _refuted("irmp-money-printed", "Section 3.2",
        "They do where it counts only jobs of others, u' != u.",
        "what a user pays to itself is lost",
        partial(_balance, self_share=False), _draw_books, samples=40,
        counterexamples={"j12 as printed": _printed_schedule}),
)  # fmt: skip
