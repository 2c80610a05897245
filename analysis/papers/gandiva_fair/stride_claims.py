"""The claims of Chaudhary et al. (EuroSys 2020) on gang-aware stride, Section 3, and lotteries.

Jobs have gangs D_i and tickets t_i; a stride is D_i / t_i, as the paper's Table 2 needs, or 1 / t_i
as it is printed. A quantum is one unit of time. Numbers of tickets are such that no pass is rounded
where it matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, floor

import numpy as np

from ....solvers.gandiva_fair.lottery import GangLottery, lottery_backfill_shares
from ....solvers.gandiva_fair.stride import StridePool, Ties, effective_tickets, gang_aware_stride
from ..claim import Sides, claims_of, nearest

PAPER = "Chaudhary et al. 2020"
Rng = np.random.Generator
#: a multiple of all tickets that are drawn: strides are whole numbers
WHOLE = 2520


# --- fixed jobs on one node ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StrideGangs:
    """Jobs that stay, on one node; ties go to who is listed first.

    Parameters
    ----------
    gpus : int
    gangs : tuple of int
    tickets : tuple of int
    normalised : bool
        Whether strides are per GPU; False as printed.
    debt_cap : bool
        False as printed.
    quanta : int
        For how long they are looked at.

    Examples
    --------
    >>> [sorted(now) for now in StrideGangs(4, (1, 4), (1, 1), quanta=6).runs()]
    [[0], [1], [0], [0], [0], [0]]
    """

    gpus: int
    gangs: tuple[int, ...]
    tickets: tuple[int, ...]
    normalised: bool = True
    debt_cap: bool = False
    quanta: int = 100

    @property
    def strides(self) -> list[float]:
        """Whole numbers, where tickets divide `WHOLE`."""
        each = zip(self.gangs, self.tickets, strict=True)
        return [(d if self.normalised else 1) * WHOLE / t for d, t in each]

    def runs(self) -> list[set[int]]:
        """Return who runs in each quantum."""
        passes, found = [0.0] * len(self.gangs), []
        for _ in range(self.quanta):
            now, passes = gang_aware_stride(
                passes, self.strides, self.gangs, self.gpus, debt_cap=self.debt_cap
            )
            found.append(set(now))
        return found

    def counts(self) -> list[int]:
        """Return the quanta in which each job runs."""
        runs = self.runs()
        return [sum(i in now for now in runs) for i in range(len(self.gangs))]

    def alone(self) -> list[int]:
        """Return who runs under stride scheduling of one job a quantum."""
        passes, found = [0.0] * len(self.gangs), []
        for _ in range(self.quanta):
            found.append(passes.index(min(passes)))
            passes[found[-1]] += self.strides[found[-1]]
        return found

    def fair(self) -> list[float]:
        """Return the share of time that each job should have by its tickets."""
        worth = effective_tickets(self.tickets, self.gangs, self.gpus)
        found: list[float] = (worth / np.array(self.gangs)).tolist()
        return found


def table_2(order: Sequence[int] = range(6), *, quanta: int = 6) -> StrideGangs:
    """Return the case of Table 2: three users with equal tickets and two jobs each, on 4 GPUs.

    Examples
    --------
    >>> table_2().counts()
    [4, 4, 2, 2, 1, 1]
    """
    gangs = (1, 1, 2, 2, 4, 4)
    return StrideGangs(4, tuple(gangs[i] for i in order), (1,) * 6, quanta=quanta)


def _by_tickets(case: StrideGangs, *, fewer: int = 0) -> Sides:
    """Largest distance of a job's quanta from t_i / (sum of tickets) M T / D_i, and none.

    In the case's quanta, or in `fewer`.
    """
    case = replace(case, quanta=case.quanta - fewer)
    total = case.quanta * case.gpus
    fair = [
        Fraction(total * t, sum(case.tickets) * d)
        for d, t in zip(case.gangs, case.tickets, strict=True)
    ]
    counts = case.counts()
    return Sides(max(abs(n - f) for n, f in zip(counts, fair, strict=True)), 0, "==")


def _draw_table_2(rng: Rng, *, normalised: bool = True) -> StrideGangs:
    case = table_2(quanta=6 * int(rng.integers(1, 20)))
    return replace(case, debt_cap=bool(rng.integers(2)), normalised=normalised)


def _draw_order(rng: Rng) -> StrideGangs:
    return table_2(rng.permutation(6).tolist())


def _draw_gangs(rng: Rng, *, skips: bool = False) -> StrideGangs:
    """Up to 6 jobs; with `skips` they never fit all at once, and debts may be capped."""
    gpus = int(rng.integers(2, 9))
    gangs = rng.integers(1, gpus + 1, size=int(rng.integers(2, 7))).tolist()
    if skips and sum(gangs) <= gpus:
        gangs.append(gpus)
    tickets = rng.integers(1, 11, size=len(gangs)).tolist()
    return StrideGangs(gpus, tuple(gangs), tuple(tickets), debt_cap=skips and bool(rng.integers(2)))


def _draw_with_skips(rng: Rng) -> StrideGangs:
    return _draw_gangs(rng, skips=bool(rng.integers(2)))


def _delay(case: StrideGangs) -> Sides | None:
    """Quanta before a job's k-th run, and with one job a quantum: the run that is earliest least.

    None where no job runs before another one: the very first run is at 0 in both.
    """
    runs, alone, pairs = case.runs(), case.alone(), list[Sides]()
    for i in range(len(case.gangs)):
        mine = [t for t, now in enumerate(runs) if i in now]
        other = [t for t, j in enumerate(alone) if i == j]
        mine += [case.quanta] * (len(other) - len(mine))
        pairs += [Sides(a, b) for a, b in zip(mine, other, strict=False) if b]
    return nearest(pairs)


def _lag(case: StrideGangs) -> Sides:
    """Most quanta that a job is behind its share of time, and one."""
    had, worst = np.zeros(len(case.gangs)), 0.0
    fair = np.array(case.fair())
    for t, now in enumerate(case.runs(), 1):
        had[list(now)] += 1
        worst = max(worst, float((fair * t - had).max()))
    return Sides(worst, 1.0)


def _skipped(case: StrideGangs) -> Sides:
    """Most quanta in a row without a job, from one in which it did not fit on, and one."""
    row, worst = [0] * len(case.gangs), 0
    for now in case.runs():
        left = case.gpus - sum(case.gangs[i] for i in now)
        for i in range(len(row)):
            row[i] = row[i] + 1 if i not in now and (left or row[i]) else 0
        worst = max([worst, *row])
    return Sides(worst, 1)


def _idle(case: StrideGangs) -> Sides:
    """Share of quanta in which GPUs idle, and one half."""
    some = [sum(case.gangs[i] for i in now) < case.gpus for now in case.runs()]
    return Sides(Fraction(sum(some), len(some)), Fraction(1, 2), "==")


def _draw_one_and_all(rng: Rng) -> StrideGangs:
    gpus = int(rng.integers(2, 9))
    return StrideGangs(gpus, (1, gpus), (1, 1), quanta=4 * (gpus + 1))


# --- jobs that come ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Debt:
    """Two jobs side by side on `gpus`, one of them of 1 GPU; later another one like that comes.

    Parameters
    ----------
    gpus : int
    rich : int
        Tickets of the wide job; the others have one.
    before : int
        Quanta before the newcomer.
    capped : bool
        Whether debts are capped.
    """

    gpus: int
    rich: int
    before: int
    capped: bool = False

    def waits(self) -> int:
        """Return how many quanta the older narrow job waits after the newcomer has come."""
        gangs, strides = [self.gpus - 1, 1], [(self.gpus - 1) / self.rich, 1.0]
        step = partial(gang_aware_stride, debt_cap=self.capped)
        passes = [0.0, 0.0]
        for _ in range(self.before):
            _, passes = step(passes, strides, gangs, self.gpus)
        passes, gangs, strides = [*passes, min(passes)], [*gangs, 1], [*strides, 1.0]
        for waited in range(2 * self.before + 9):
            now, passes = step(passes, strides, gangs, self.gpus)
            if 1 in now:
                return waited
        raise AssertionError("it has at least the least pass by now")


def _draw_debt(rng: Rng, *, capped: bool = False) -> Debt:
    gpus = int(rng.integers(3, 9))
    return Debt(gpus, 1 << int(rng.integers(8)), int(rng.integers(1, 80)), capped)


@dataclass(frozen=True, slots=True)
class Newcomers:
    """A job on the whole node; each quantum jobs of 1 GPU come, and leave after their first run.

    Parameters
    ----------
    gpus : int
    each : int
        That come each quantum.
    ties : {"arrival", "size"}
    quanta : int
    """

    gpus: int
    each: int
    ties: Ties = "arrival"
    quanta: int = 200

    def wide(self) -> list[int]:
        """Return the quanta in which the job on the whole node runs."""
        pool, found, job = StridePool([self.gpus], 2, ties=self.ties), [], 0
        pool.add(0, self.gpus, 0, (0,), 0)
        for t in range(self.quanta):
            for _ in range(self.each):
                job += 1
                pool.add(job, 1, 1, (0,), t + 1)
            running = pool.quantum([1.0, 1.0])
            found += [t] if 0 in running else []
            for other in running - {0}:
                pool.remove(other)
        return found


def _starves(case: Newcomers) -> Sides:
    """1 and the runs in the second half."""
    return Sides(1, sum(2 * t >= case.quanta for t in case.wide()))


def _few(case: Newcomers, *, down: bool = False) -> Sides:
    """Runs, and those of one quantum in every 1 + ceil(k / (M - k)), or that rounded `down`."""
    period = 1 + (floor if down else ceil)(Fraction(case.each, case.gpus - case.each))
    return Sides(len(case.wide()), ceil(Fraction(case.quanta, period)), "==")


def _draw_few(rng: Rng) -> Newcomers:
    gpus = int(rng.integers(2, 9))
    return Newcomers(gpus, int(rng.integers(1, gpus)), quanta=int(rng.integers(20, 80)))


def _draw_newcomers(rng: Rng) -> Newcomers:
    ties: Ties = "size" if rng.integers(2) else "arrival"
    return Newcomers(int(rng.integers(2, 9)), int(rng.integers(1, 10)), ties, 60)


def _resubmits(tickets: tuple[int, int]) -> Sides:
    """Quanta of the second job on one GPU if it comes anew after each run, and if it stays."""
    strides = [WHOLE / t for t in tickets]
    runs = []
    for anew in (True, False):
        passes, count = [0.0, 0.0], 0
        for _ in range(5 * sum(tickets)):
            now, passes = gang_aware_stride(passes, strides, (1, 1), 1)
            count += 1 in now
            passes[1] = passes[0] if anew and 1 in now else passes[1]
        runs.append(count)
    return Sides(runs[0], runs[1])


# --- several nodes -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Split:
    """Nodes full of jobs of 1 GPU with the same tickets each, and a job on all nodes.

    Parameters
    ----------
    gpus : int
        Of each node.
    servers : int
    small : int
        Tickets of the small jobs of each node together.
    large : int
        Tickets of the job on all nodes.
    normalised : bool
    quanta : int

    Examples
    --------
    >>> Split(4, 2, 200, 100).share(), Split(4, 2, 200, 100, normalised=False).share()
    (Fraction(1, 5), Fraction(1, 3))
    """

    gpus: int
    servers: int
    small: int
    large: int
    normalised: bool = True
    quanta: int = 300

    def share(self) -> Fraction:
        """Return the share of quanta of the large job."""
        pool = StridePool([self.gpus] * self.servers, 2, normalised=self.normalised)
        for job in range(self.gpus * self.servers):
            pool.add(job, 1, 0, (job // self.gpus,), 0)
        all_gpus = self.gpus * self.servers
        pool.add(all_gpus, all_gpus, 1, tuple(range(self.servers)), 0)
        strides = [self.gpus / self.small, all_gpus / self.large]
        ran = sum(all_gpus in pool.quantum(strides) for _ in range(self.quanta))
        return Fraction(ran, self.quanta)


def _third(case: Split) -> Sides:
    """Share of the large job, and its tickets over those of one node and its own."""
    return Sides(case.share(), Fraction(case.large, case.small + case.large), "==")


def _in_proportion(case: Split) -> Sides:
    """Quanta that the large job is away from its tickets over all tickets, and one."""
    fair = Fraction(case.large, case.small * case.servers + case.large)
    return Sides(abs(case.share() - fair) * case.quanta, 1)


def _draw_split(rng: Rng) -> Split:
    gpus, servers = int(rng.integers(1, 5)), int(rng.integers(2, 5))
    return Split(gpus, servers, int(rng.integers(1, 9)), int(rng.integers(1, 9)), quanta=60)


# --- lotteries -----------------------------------------------------------------------------------

#: Table 2, the means of each user's two jobs
PRINTED = (Fraction("0.718"), Fraction("0.367"), Fraction("0.119"))


def _printed_row(weights: tuple[int, ...]) -> Sides:
    """Largest difference from Table 2, and one hundredth."""
    shares = lottery_backfill_shares(weights, table_2().gangs, 4)[::2]
    worst = max(abs(a - b) for a, b in zip(shares, PRINTED, strict=True))
    return Sides(worst, Fraction(1, 100))


def _draw_weights(rng: Rng) -> tuple[int, ...]:
    """Tickets or tickets over GPUs."""
    return (1,) * 6 if rng.integers(2) else (4, 4, 2, 2, 1, 1)


def _gang_lottery(seed: int) -> Sides:
    """Largest distance from the fair shares of Table 2 after many quanta, and 3 points."""
    case, quanta = table_2(), 5_000
    lottery = GangLottery((4, 4, 2, 2, 1, 1), case.gangs, 4, seed=seed)
    ran = np.zeros(6)
    for _ in range(quanta):
        ran[lottery.quantum()] += 1
    return Sides(float(abs(ran / quanta - case.fair()).max()), 0.03)


def _waits(case: Debt) -> Sides:
    return Sides(case.waits(), 1)


def _draw_two(rng: Rng) -> tuple[int, int]:
    return int(rng.integers(1, 11)), int(rng.integers(1, 11))


def _draw_seed(rng: Rng) -> int:
    return int(rng.integers(1000))


STRIDE = claims_of(PAPER, __name__)
