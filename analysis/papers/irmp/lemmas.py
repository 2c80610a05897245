"""Cases of Lemmas 1 to 3 of Wang et al., and of runs of Astraea; see :mod:`.claims`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

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
    astraea,
    lemma_1,
    round_of,
    thetas,
)
from ....solvers.irmp.response import Response, best_response, run_options
from ..claim import Sides
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


def draw_job(rng: Rng, i: int, *, user: str = "") -> ParameterServerJob:
    """A job of 1 to 3 workers, with a utility of any kind."""
    slope, start = -float(rng.integers(0, 6)), float(rng.integers(8, 60))
    kinds: list[Utility] = [Linear(slope, start), Power(start, float(rng.choice([0.5, 1, 2])))]
    return one_job(
        f"j{i}", kinds[int(rng.integers(2))], workers=int(rng.integers(1, 4)),
        work=int(rng.integers(1, 4)), user=user, release=int(rng.integers(1, 4)),
        rates=(1.0, float(rng.choice([0.5, 1.0, APART]))),
    )  # fmt: skip


def _draw_sizes(rng: Rng) -> list[tuple[int, int]]:
    return [(int(rng.integers(1, 4)), int(rng.integers(1, 3))) for _ in range(rng.integers(1, 4))]


def draw_online(rng: Rng, *, owned: bool = False, jobs: int = 5, literal: bool = False) -> Online:
    """Two users with any quotas, or with nodes of their own."""
    sizes = _draw_sizes(rng)
    users = [f"u{rng.integers(2)}" for _ in range(rng.integers(2, jobs + 1))]
    made = [draw_job(rng, i, user=user) for i, user in enumerate(users)]
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


def two_in_a_row(
    slopes: Sequence[float] = (-1, -1), *, constant: float = 8, work: int = 1, slot_r: bool = False
) -> Irmp:
    """A node of 2 workers and 2 PSs and two jobs of 1 worker, of a user each."""
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


def draw_batch(rng: Rng) -> Batch:
    """One call for up to 3 jobs."""
    case = draw_online(rng, jobs=3)
    params = replace(case.params, lam=int(rng.integers(1, 4)))
    return Batch(case.problem, int(rng.integers(1, 3)), params)


def two_slots_twice() -> Batch:
    """Two jobs of 2 slots on one node, in two rounds."""
    jobs = [one_job(i, Linear(-1, 8), work=2) for i in "ab"]
    return Batch(tenants([(1, 1)], jobs), 1, TWO_ROUNDS)


def length(case: Batch, *, each: bool = False) -> Sides:
    """From the first start to the last end: of all runs, or, the longest, of those of a round."""
    lengths, rounds = [0], dict[int, list[Response]]()
    for run in case.accepted():
        begin = round_of(run.start, case.params.lam)[1] if each else 0
        rounds.setdefault(begin, []).append(run)
    for begin, mine in rounds.items():
        first = begin if each else min(run.start for run in mine)
        lengths.append(max(run.end for run in mine) - first)
    return Sides(max(lengths), case.tau)


def lemma_1_ii(case: Batch) -> Sides | None:
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


def draw_rounds(rng: Rng, *, constant: bool = False) -> Rounds:
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


def lambda_rounds(case: Rounds) -> Sides:
    """The optimum of one round, and what lambda rounds earn."""
    return Sides(optimum(case.problem), case.earned(case.lam))


def one_more_round(case: Rounds) -> Sides:
    """Min f_j(tau) / f_j(d_j) times the optimum, and what lambda + 1 rounds earn."""
    deadline = case.problem.horizon or 0
    rho = min(case.problem.value(j, deadline) / case.most[j] for j in case.jobs)
    return Sides(rho * optimum(case.problem) - 1e-9, case.earned(case.lam + 1))


def decoy() -> Rounds:
    """20 + 20 beside each other or 37 alone; sigma = 1.1 allows the second."""
    jobs = [one_job(id, Table([20.0])) for id in "ab"] + [one_job("c", Table([37.0]), workers=2)]
    return Rounds(tenants([(2, 2)], jobs, horizon=1), 1.1)


# --- Lemma 2 -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SingleJobCase:
    """Problem (9) for the first job, with what is left of its user's quota.

    Parameters
    ----------
    problem : Irmp
    free : (2, nodes, T) int array
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
            begin=0, end=self.free.shape[2], room=self.room, literal=literal,
        )  # fmt: skip
        return 0.0 if run is None else run.utility


def draw_single_job_case(rng: Rng) -> SingleJobCase:
    """Integer prices and utilities, so that both sides are exact."""
    slots, sizes = int(rng.integers(1, 7)), _draw_sizes(rng)
    bandwidths = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    problem = tenants(sizes, [draw_job(rng, 0)], bandwidths=bandwidths)
    free = rng.integers(0, fullest(problem, slots) + 1)
    values = np.sort(rng.integers(-3, 40, size=slots + 1))[::-1].astype(float)
    room = rng.integers(0, 5, size=(2, slots)) if rng.integers(2) else None
    prices = rng.integers(0, 6, size=(2, slots)).astype(float)
    return SingleJobCase(problem, free, prices, values, room)


def lemma_2(case: SingleJobCase, *, literal: bool = False) -> Sides:
    """What Algorithms 3-5 find, and the optimum of (9)."""
    return Sides(case.answer(literal=literal), case.best(), "==")


def too_few_ps() -> SingleJobCase:
    """A worker and a PS on each of two nodes; a worker outside needs 2 PSs, W8."""
    job = one_job("j", Linear(-1, 8), workers=2, work=1, rates=(1.0, 1.0))
    problem = tenants([(1, 1)] * 2, [job], bandwidths=(2, 1))
    return SingleJobCase(problem, fullest(problem, 2), np.zeros((2, 2)), np.array([8.0, 7.0, 6.0]))


def no_ps_left() -> SingleJobCase:
    """The user's quota has a worker left, and no PS, W9."""
    problem = tenants([(1, 1)], [one_job("j", Table([5.0]))])
    room = np.array([[1], [0]])
    return SingleJobCase(problem, fullest(problem, 1), np.zeros((2, 1)), np.array([5.0, 5.0]), room)


def dearer_later() -> SingleJobCase:
    """Two slots, the first is free of charge, the second costs 9, W10."""
    problem = tenants([(1, 1)], [one_job("j", Table([5.0]), work=2)])
    prices = np.array([[0.0, 9.0], [0.0, 0.0]])
    return SingleJobCase(problem, fullest(problem, 2), prices, np.array([5.0, 5.0, 5.0]))


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


def lemma_3(case: OneRound, *, per_server: bool = False) -> Sides | None:
    """OPT, and sigma times what A_maxIrev earns; as the paper assumes, f / use >= 1."""
    if min(case.prices()) < 2:
        return None
    if per_server:
        theta = max(case.prices())
        sigma, earned = 4 * math.log2(theta), PerServer(case.problem, theta).run().revenue
    else:
        sigma, earned = case.sigma(), math.fsum(run.value for run in case.accepted())
    return Sides(case.best(), sigma * earned)


def draw_one_round(rng: Rng) -> OneRound:
    """Up to 4 jobs on one or two nodes."""
    made = []
    for i in range(int(rng.integers(2, 5))):
        start = float(rng.choice([3, 6, 12, 50, 400]))
        utility = Linear(-float(rng.integers(0, 2)), start)
        workers, work = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        made.append(one_job(f"j{i}", utility, workers=workers, work=work))
    return OneRound(tenants(_draw_sizes(rng)[:2], made, horizon=int(rng.integers(1, 4))))


def blocked() -> OneRound:
    """CE-a: a job of 1 worker worth 1 keeps a job of both out."""
    jobs = [one_job("a", Table([1.0])), one_job("b", Table([1000.0]), workers=2)]
    return OneRound(tenants([(2, 2)], jobs, horizon=1))


def one_slot(workers: int, slots: int) -> OneRound:
    """CE-b: as many jobs of slot 1 as there are workers, before jobs of all slots."""
    short = [one_job(f"a{i}", Linear(-1, 2)) for i in range(workers)]
    long = [one_job(f"b{i}", Table([float(slots)]), work=slots) for i in range(workers)]
    problem = tenants([(workers, 20 * workers)], [*short, *long], horizon=slots)
    rows = [Segment(workers + i, 0, slots, {0: 1}, ps={0: 1}) for i in range(workers)]
    return OneRound(problem, Schedule.of(rows))


def fragments(servers: int, theta: float) -> OneRound:
    """CE-c: 2 of the 3 workers of each node go to a job just above its cost."""
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


def draw_small_demands(rng: Rng) -> OneRound:
    """Jobs that are small on their nodes, though too many; half of the time in a bad order."""
    return _draw_crowd(rng) if rng.integers(2) else _draw_ladder(rng)


def _draw_ladder(rng: Rng) -> OneRound:
    """Jobs of C_sw / L_w workers, each worth just what it costs, then as many of the largest worth.

    theta = 2^L; k jobs make a worker cost 2^k - 1, until 2 (1 + f_max) = theta.
    """
    log, wide = int(rng.integers(2, 6)), int(rng.integers(1, 3))
    worth = [1.0, *(2.0**k - 1 for k in range(1, log - 1))]
    most = 2.0 ** (log - 1) - 1
    low = [wide * w + float(rng.integers(2)) / 4 for w in worth[: log - 1]]
    made = [
        one_job(f"j{i}", Table([value]), workers=wide)
        for i, value in enumerate([*low, *[wide * most] * log])
    ]
    theta = 2 * (1 + wide * most)
    workers = wide * math.ceil(math.log2(theta))
    return OneRound(tenants([(workers, 60)], made, horizon=1), theta=theta)


def _draw_crowd(rng: Rng) -> OneRound:
    """Up to 12 jobs on nodes on which each job is small, though they are too many."""
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


def small_demands(case: OneRound) -> Sides | None:
    """The optimum of the LP, and sigma' times what prices of each node earn."""
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
