"""The claims of Ye et al. (TPDS 2022) on LTGF and its two-phase algorithm, and their corrections.

Symbols are the paper's: M GPUs, jobs i with gangs D_i, leases of L seconds, A_i the GPU seconds
that a job has got, F_i those that were fair, f_i = min(D_i, fair share) now, rho_i = A_i / F_i;
the same with j for users ("tenants"). Beyond the paper: rho^-_i = A_i / (F_i + L f_i), what rho_i
will be at the end of a lease that job i does not get.

Where a claim is about a policy, the policy is driven over the case. Ties follow numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ....formulations.fair_shares import FairShares
from ....formulations.ltgf.fluid import LtgfFluid
from ....formulations.ltgf.problem import shares_of
from ....formulations.ltgf.round import LtgfRound
from ....instances.model import Cluster, Instance, Job
from ....solvers import ThemisGreedy
from ....solvers.ltgf.policy import LtgfPolicy, PrintedLtgf
from ....solvers.ltgf.round import one_round
from ....solvers.policy import Decision, Policy, Preempts, Rules, State
from ...driving.drive import PolicyError, drive
from ...driving.metrics import user_attained_time
from ...proofs.fluid_fairness import fluid_bound
from ..claim import Sides, claims_of
from .tiny import (
    OneUser,
    RoundJob,
    alone,
    fairest_lives,
    in_rounds,
    leximin_better,
    lives,
    shared,
    two_phase,
)

PAPER = "Ye et al. 2022"
Rng = np.random.Generator
#: seconds of work of a job that does not end while somebody looks
LONG = 10**6
DAY = 86_400
RULES = Rules()


# --- one round of one user -----------------------------------------------------------------------


def _draw_round(rng: Rng, *, ties: bool = False) -> OneUser:
    """At most 5 jobs on at most 6 GPUs; with `ties` some have had the same, or nothing."""
    gpus, jobs = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    made = []
    for _ in range(jobs):
        gang = int(rng.integers(1, gpus + 1))
        share = min(Fraction(gang), Fraction(gpus, jobs))
        most = 2 if ties else 60
        attained = int(rng.integers(0, most)) * gang
        fair = share * int(rng.integers(min(attained, 1), most + 1))
        made.append(RoundJob(Fraction(attained), fair, share, gang))
    return OneUser(gpus, int(rng.integers(1, 11)), tuple(made))


def _distinct(case: OneUser) -> Sides | None:
    return None if len(set(case.missed)) < len(case.jobs) else _leximin(case)


def _leximin(case: OneUser, *, now: bool = False) -> Sides:
    """Fairness of the leximin optimum and of rho^-, or rho `now`, at the first job that differs."""
    keys = case.current if now else case.missed
    best, found = case.after(case.fairest()), case.after(case.greedy(keys))
    return Sides(*leximin_better(best, found))


def _fewest(case: OneUser) -> Sides:
    """Least fairness, and where that is the best, the number of jobs that are left with it."""
    best = max(case.after(chosen)[0] for chosen in case.selections())
    found = case.after(case.greedy(case.missed))
    if found[0] != best:
        return Sides(best, found[0])
    every = (case.after(chosen) for chosen in case.selections())
    return Sides(found.count(best), min(a.count(best) for a in every if a[0] == best))


def _by_current(case: OneUser) -> Sides:
    best = case.after(case.fairest())[0]
    return Sides(best, case.after(case.greedy(case.current))[0])


def _nothing_yet() -> OneUser:
    """Two jobs that have got nothing on 2 GPUs: gangs of 1 and 2."""
    new = RoundJob(Fraction(0), Fraction(0), Fraction(1), 1)
    return OneUser(2, 1, (new, RoundJob(Fraction(0), Fraction(0), Fraction(1), 2)))


def _old_and_new() -> OneUser:
    """The older job is behind by rho, the younger one falls behind within the lease."""
    old = RoundJob(Fraction(50), Fraction(100), Fraction(1), 2)
    return OneUser(2, 1, (old, RoundJob(Fraction(3, 5), Fraction(1), Fraction(1), 2)))


# --- one round of several users ------------------------------------------------------------------


def _draw_users(rng: Rng) -> LtgfRound:
    gpus, users = int(rng.integers(2, 9)), int(rng.integers(2, 5))
    jobs = [(u, int(rng.integers(1, gpus + 1))) for u in range(users) for _ in range(3)]
    demand = [sum(gang for u, gang in jobs if u == j) for j in range(users)]
    attained, fair = (rng.integers(0, 10 * gpus, size=users).tolist() for _ in range(2))
    share = [min(d, gpus / users) for d in demand]
    return LtgfRound(gpus=gpus, lease=10, attained=attained, fair=fair, share=share, jobs=jobs)


def _phases(problem: LtgfRound) -> Sides | None:
    best = one_round(problem).solution
    if best is None or not problem.users:
        return None
    return Sides(min(problem.fairness(best)), min(problem.fairness(two_phase(problem))))


def _narrow_first() -> LtgfRound:
    """The second user is behind; it gets GPU 1 for its first job, and nothing for its second."""
    jobs = [(0, 1), (1, 1), (1, 2)]
    return LtgfRound(gpus=2, lease=1, attained=[2, 0], fair=[1, 1], share=[1, 1], jobs=jobs)


# --- whole lives ---------------------------------------------------------------------------------


def _draw_lives(rng: Rng) -> Instance[Job]:
    gpus, jobs = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    gangs = rng.integers(1, gpus + 1, size=jobs).tolist()
    works = rng.integers(1, 4, size=jobs).tolist()
    releases = rng.integers(0, 3, size=jobs).tolist()
    return alone(gpus, gangs, works, releases)


def _lives(instance: Instance[Job]) -> Sides:
    return Sides(fairest_lives(instance), min(lives(instance)))


def _attainable(case: Instance[Job] | LtgfFluid) -> Sides:
    """1 against the best least rho: of jobs that stay a verified upper bound, of lives the optimum.

    Rounded bounds are at most 1e-9 above what is attainable.
    """
    if isinstance(case, LtgfFluid):
        return Sides(1, fluid_bound(case).value)
    return Sides(1, fairest_lives(case))


def _draw_staying(rng: Rng) -> LtgfFluid:
    gpus, jobs = int(rng.integers(2, 9)), int(rng.integers(1, 6))
    gangs = rng.integers(1, gpus + 1, size=jobs).tolist()
    return _stay(gpus, gangs)


def _stay(gpus: int, gangs: Sequence[int], *, users: bool = False) -> LtgfFluid:
    """Jobs that never end, of one user or of one user each."""
    jobs = [(i, gang, LONG, 0) for i, gang in enumerate(gangs)]
    return LtgfFluid.of(shared(gpus, jobs, users=len(gangs) if users else 0))


# --- line 17 -------------------------------------------------------------------------------------


def _loops(instance: Instance[Job]) -> Sides:
    """Rounds of Algorithm 1 at time 0 that never end, against none."""
    try:
        drive(instance, PrintedLtgf(), until=0)
    except PolicyError as error:
        if "line 17 has removed every user" not in str(error):
            raise
        return Sides(1, 0)
    return Sides(0, 0)


def _slowdown(instance: Instance[Job], policy: Policy) -> Fraction:
    """Mean of (e_i - a_i) / p_i over all jobs."""
    records = in_rounds(instance, policy).records
    flow = (records.end - records.release).tolist()
    each = (Fraction(f, w) for f, w in zip(flow, records.work.tolist(), strict=True))
    return sum(each, start=Fraction(0)) / len(flow)


def _line_17(instance: Instance[Job]) -> Sides:
    printed = _slowdown(instance, PrintedLtgf(stuck="end"))
    return Sides(printed, _slowdown(instance, LtgfPolicy()))


def _draw_queue(rng: Rng) -> Instance[Job]:
    """Up to 8 jobs of up to 2 users, more than the GPUs hold."""
    gpus, users, jobs = int(rng.integers(2, 5)), int(rng.integers(0, 3)), int(rng.integers(3, 9))

    def below(low: int, high: int) -> int:
        return int(rng.integers(low, high))

    rows = [
        (below(0, max(users, 1)), below(1, gpus + 1), below(1, 5), below(0, 4)) for _ in range(jobs)
    ]
    return shared(gpus, rows, users=users)


# --- Fig. 6 --------------------------------------------------------------------------------------


def _figure_6(rounds: int) -> Instance[Job]:
    """The jobs of Fig. 6, which take so many rounds."""
    return alone(6, [6, 3, 3], [rounds] * 3)


def _draw_rounds(rng: Rng, *, among: Sequence[int]) -> int:
    return int(rng.choice(among))


def _figure_6_c(rounds: int, *, fewer: int = 0) -> Sides:
    """Least rho_i of the fairest schedule and of LTGF."""
    instance = _figure_6(rounds - fewer)
    return Sides(fairest_lives(instance), min(lives(instance)), "==")


def _alternating(rounds: int) -> Sides:
    """Finish-time unfairness (4.1.2) of (c) against (b), largest first, where they differ."""
    ends = [2 * rounds - 1, 2 * rounds, 2 * rounds]
    fair = in_rounds(_figure_6(rounds), LtgfPolicy()).records.end.tolist()
    alternating, other = (
        sorted((Fraction(end, 3 * rounds) for end in of), reverse=True) for of in (ends, fair)
    )
    return Sides(*leximin_better(alternating, other))


# --- (8) or (16) ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Burst:
    """Two equal users with as many 1-GPU jobs as there are GPUs; the first comes after `idle`.

    Parameters
    ----------
    gpus : int
    idle : int
        H, rounds in which the second user is alone.
    rounds : int
        u, rounds in which both are there.
    """

    gpus: int
    idle: int
    rounds: int

    def got(self, policy: Policy) -> list[int]:
        """Return the GPU-rounds that the second user gets in the first u' = 0, ..., u rounds."""
        jobs = [(0, 1, LONG, self.idle)] * self.gpus + [(1, 1, LONG, 0)] * self.gpus
        end = self.idle + self.rounds
        run = in_rounds(shared(self.gpus, jobs, users=2), policy, until=end)
        held = user_attained_time(run, np.arange(self.idle, end + 1))[1]
        return [int(h) for h in held - held[0]]

    def fair(self, rounds: int) -> Fraction:
        """Return the fair share of each user over so many rounds of both."""
        return Fraction(self.gpus * rounds, 2)


def _draw_burst(rng: Rng) -> Burst:
    idle = int(rng.integers(1, 6))
    return Burst(int(rng.integers(2, 9)), idle, int(rng.integers(1, 3 * idle + 1)))


def _credit(case: Burst, *, more: int = 0) -> Sides:
    """Rounds without a GPU of the user that worked, against those in which the other was idle."""
    got = case.got(LtgfPolicy(fair_share="quota"))
    return Sides(min(case.idle + more, case.rounds), sum(g == 0 for g in got[1:]), "==")


def _window(case: Burst) -> Sides:
    """Fairness to the user that worked, over the first H rounds of both: with (8), with (16)."""
    case = Burst(case.gpus, case.idle, case.idle)
    demand, quota = LtgfPolicy(), LtgfPolicy(fair_share="quota")
    owed = case.fair(case.idle)
    return Sides(case.got(demand)[-1] / owed, case.got(quota)[-1] / owed)


def _memory(case: Burst) -> Sides:
    """How far (8) is from u / (H + 2u) of all GPU time for the user that worked, in GPU-rounds."""
    ideal = (Fraction(case.gpus * u * u, case.idle + 2 * u) for u in range(1, case.rounds + 1))
    got = case.got(LtgfPolicy())[1:]
    return Sides(max(abs(g - i) for g, i in zip(got, ideal, strict=True)), 1)


# --- what a user can do about it -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Owner:
    """Somebody with one job among others, that could ask for something else.

    Parameters
    ----------
    gpus : int
    gang : int
        What the job needs.
    others : tuple of int
        Gangs of the other jobs.
    asked : tuple of int
        Gangs that are asked for in its place.
    """

    gpus: int
    gang: int
    others: tuple[int, ...]
    asked: tuple[int, ...]

    def got(self, policy: Policy, *, honest: bool, rounds: int = 60) -> int:
        """Return the GPU-rounds that the owner's jobs get while no job ends."""
        mine = (self.gang,) if honest else self.asked
        gangs = [*mine, *self.others]
        run = in_rounds(alone(self.gpus, gangs, [LONG] * len(gangs)), policy, until=rounds)
        return int(run.records.held[: len(mine)].sum())


def _draw_split(rng: Rng) -> Owner:
    gpus = int(rng.integers(2, 9))
    gang = int(rng.integers(2, gpus + 1))
    first = int(rng.integers(1, gang))
    others = rng.integers(1, gpus + 1, size=rng.integers(1, 5)).tolist()
    return Owner(gpus, gang, tuple(others), (first, gang - first))


def _draw_claim(rng: Rng) -> Owner:
    """A job that needs its even share or more, and asks for more than it needs."""
    gpus, others = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    gang = int(rng.integers(-(-gpus // (others + 1)), gpus))
    gangs = rng.integers(1, gpus + 1, size=others).tolist()
    return Owner(gpus, gang, tuple(gangs), (int(rng.integers(gang + 1, gpus + 1)),))


def _shares(gpus: int, gangs: Sequence[int]) -> list[Fraction]:
    """Fair shares of jobs of one user that are all active."""
    shares = shares_of(alone(gpus, gangs, [1] * len(gangs)), range(len(gangs)))
    return [shares[i] for i in range(len(gangs))]


def _split_jobs(case: Owner) -> Sides:
    """The owner's fair share with its job in parts, and in one piece: (3) with (4)."""
    split = _shares(case.gpus, [*case.asked, *case.others])[: len(case.asked)]
    whole = _shares(case.gpus, [case.gang, *case.others])[0]
    return Sides(sum(split, start=Fraction(0)), whole)


def _split_users(case: Owner, *, more: int = 0) -> Sides:
    """The same between users, where the first job asks for `more`: (9) over 10 seconds."""
    asked = (case.asked[0] + more, *case.asked[1:])
    shares = [FairShares(case.gpus, [1.0] * (1 + len(case.others)), by="demand") for _ in range(2)]
    for share, mine in zip(shares, (asked, (case.gang,)), strict=True):
        for gang in mine:
            share.arrive(0, 0, gang)
        for user, gang in enumerate(case.others, start=1):
            share.arrive(0, user, gang)
    return Sides(shares[0].user_time(0, 10), shares[1].user_time(0, 10), "==")


def _claimed_share(case: Owner, *, gang: int = 0) -> Sides | None:
    """Fair shares of all jobs with and without the claim, at the first job where they differ.

    Without it the owner asks for its gang, or for another `gang`.
    """
    claimed = _shares(case.gpus, [*case.asked, *case.others])
    honest = _shares(case.gpus, [gang or case.gang, *case.others])
    pairs = list(zip(claimed, honest, strict=True))
    one, other = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
    return Sides(one, other, "==")


def _claimed(case: Owner, *, greedy: bool = False) -> Sides:
    """GPU-rounds with and without the claim, of LTGF or the greedy Themis."""
    policy = ThemisGreedy() if greedy else LtgfPolicy()
    return Sides(case.got(policy, honest=False), case.got(policy, honest=True))


# --- wide gangs ----------------------------------------------------------------------------------

Row = tuple[int, int, int]  # GPUs, work and release


def _then_wide(sizes: Sequence[int], rows: Sequence[Row], wide: Row) -> Instance[Job]:
    """Jobs on nodes of some sizes, and a wide one, which is the last."""
    named = [*((f"j{k}", *row) for k, row in enumerate(rows)), ("wide", *wide)]
    jobs = [Job(id=name, gpus=g, work=w, release=r) for name, g, w, r in named]
    return Instance(Cluster.of_sizes(sizes), jobs)


def _wide_gang(gpus: int) -> Instance[Job]:
    """As many 1-GPU jobs of a day as there are GPUs, a minute apart, then a job of all GPUs."""
    rows = [(1, DAY + 3_600 * k, 60 * k) for k in range(gpus)]
    return _then_wide([gpus], rows, (gpus, 60, 60 * gpus))


def _halves() -> Instance[Job]:
    """Two nodes of 2 GPUs; one 1-GPU job on each goes on when its neighbour ends, then 2 GPUs."""
    rows = [(1, work, 0) for work in (DAY, 600, DAY, 600)]
    return _then_wide([2, 2], rows, (2, 60, 600))


def _draw_wide_gang(rng: Rng) -> Instance[Job]:
    return _wide_gang(int(rng.integers(2, 5)))


def _draw_two_users(_: Rng) -> Instance[Job]:
    return _two_users()


def _two_users() -> Instance[Job]:
    """1 GPU for one user; 1 GPU, and a job of both GPUs, for the other."""
    return shared(2, [(0, 1, DAY, 0), (1, 1, DAY, 0), (1, 2, 60, 0)], users=2)


def _wait(instance: Instance[Job], policy: Policy | None = None, **rules: Any) -> int:
    """Seconds that the last job waits for its first GPUs, at most ten days."""
    until = instance.jobs[-1].release + 10 * DAY
    run = drive(instance, policy or LtgfPolicy(), until=until, **rules)
    first = int(run.records.first[-1])
    return (run.now if first < 0 else first) - int(run.records.visible[-1])


def _first_lease(instance: Instance[Job], **rules: Any) -> Sides:
    return Sides(_wait(instance, **rules), RULES.lease_length)


UNFORCED_FIRST = partial(_first_lease, patience=None)


def _draw_wide(rng: Rng) -> Instance[Job]:
    """1-GPU jobs at any times before a wider one, on one node."""
    gpus = int(rng.integers(2, 6))
    before = rng.integers(0, 3_000, size=rng.integers(1, 2 * gpus)).tolist()
    last = max(before) + int(rng.integers(900, 3_000))
    rows = [(1, int(rng.integers(1, 20_000)), release) for release in before]
    return _then_wide([gpus], rows, (int(rng.integers(2, gpus + 1)), 60, last))


def _no_queue(instance: Instance[Job]) -> Sides | None:
    """As `_first_lease`; None where an older job waits for its own when the wide one comes."""
    run = drive(instance, LtgfPolicy())
    first, come = run.records.first, int(run.records.visible[-1])
    if (first[:-1] >= come).any():
        return None
    return Sides(int(first[-1]) - come, RULES.lease_length)


def _draw_stream(rng: Rng) -> Instance[Job]:
    """A 1-GPU job on each of up to three nodes for a day, others for hours, and a wide gang."""
    size, nodes = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    rows = [(gpus, work, 0) for _ in range(nodes) for gpus, work in ((1, DAY), (size - 1, 600))]
    for _ in range(int(rng.integers(0, 8))):
        gpus, work = int(rng.integers(1, size)), int(rng.integers(600, DAY // 4))
        rows.append((gpus, work, int(rng.integers(600, DAY // 4))))
    gang = int(rng.integers(size, nodes * size + 1))
    return _then_wide([size] * nodes, rows, (gang, 60, int(rng.integers(600, 7_200))))


def _patience(instance: Instance[Job], *, patience: int | None = 3_600) -> Sides:
    """The wait of the last job, which is always first in line."""
    waited = _wait(instance, LtgfPolicy(urgent=("wide",)), patience=patience)
    return Sides(waited, (patience or 0) + RULES.lease_length)


UNFORCED = partial(_patience, patience=None)


@dataclass
class _Watched:
    """LTGF, and when it first passed over which job."""

    preempts: Preempts = Preempts.LEASE
    name: str = "watched"
    passed: dict[int, int] = field(default_factory=dict)

    def decide(self, state: State) -> Decision:
        decision = LtgfPolicy().decide(state)
        for j in decision.passed if state.preemptible.size else ():
            self.passed.setdefault(j, state.now)
        return decision

    def next_change(self, state: State) -> None:
        """As for LTGF."""


def _passed_over(instance: Instance[Job]) -> Sides | None:
    """The wait of the last job from when it was first passed over; None where it never was."""
    watched, wide, patience = _Watched(), len(instance.jobs) - 1, 3_600
    run = drive(instance, watched, patience=patience)
    if wide not in watched.passed:
        return None
    waited = int(run.records.first[wide]) - watched.passed[wide]
    return Sides(waited, RULES.round_up(patience))


def _draw_gang(rng: Rng) -> Instance[Job]:
    """1-GPU jobs of two or three users on up to two nodes, and one wider gang that comes later.

    Each user has more of them than its share, and the gang needs what the others leave or more.
    """
    size, nodes, users = (int(rng.integers(low, high)) for low, high in ((2, 5), (1, 3), (2, 4)))
    gpus = size * nodes
    narrow = int(rng.integers(gpus // users + 1, gpus + 1))
    rows = [(u, 1, DAY, 0) for u in range(users) for _ in range(narrow)]
    gang = int(rng.integers(min(gpus, gpus - gpus // users + 1), gpus + 1))
    rows.append((users - 1, gang, 60, 60 * int(rng.integers(0, 60))))
    return replace(shared(size, rows, users=users), cluster=Cluster.of_sizes([size] * nodes))


# --- the claims ----------------------------------------------------------------------------------

LTGF = claims_of(PAPER, __name__)
