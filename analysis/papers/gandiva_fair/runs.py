"""Runs that Chaudhary et al.'s figures show, and what is read off them: GPUs by user and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ....instances import Instance, Job, User
from ....instances.arrays import Floats as Floats
from ....instances.arrays import Ints
from ....instances.heterogeneous import mixed_cluster, table3_market, time_sharing
from ....solvers import Fifo, GandivaFair, Srtf
from ....solvers.gandiva_fair.stride import StridePool, effective_tickets, gang_aware_stride
from ....solvers.policy import Policy
from ...driving.drive import drive
from ...driving.model_usage import ModelUsage
from ...driving.run import Run

QUANTUM, MIGRATION = 60, 5  # s
HOUR = 3600
#: of the driver in every run
SETTINGS: Mapping[str, Any] = {
    "quantum (s)": QUANTUM, "overhead (s)": 0, "migration (s)": MIGRATION,
}  # fmt: skip
#: a phase lasts this long, or it is none (s)
LEAST_PHASE = 1200


def driven(instance: Instance[Job], policy: Policy, until: int | None = None) -> Run:
    """Return a run with the paper's quantum and cost of a migration."""
    return drive(instance, policy, lease=QUANTUM, overhead=0, migration=MIGRATION, until=until)


# --- GPUs over time -------------------------------------------------------------------------------


def slices(usage: ModelUsage, name: str, steps: int) -> Floats:
    """Return the first bins of a usage, with zeros after its end: (steps, users, models).

    Notes
    -----
    The last bin of a run is shorter than the others; its means are made those of a whole one.
    """
    values = np.array(getattr(usage, name))
    lengths = np.diff(usage.times)
    values *= (lengths / lengths[0])[:, None, None]
    found = np.zeros((steps, *values.shape[1:]))
    found[: len(values)] = values[:steps]
    return found


def _fluid(run: Run, cuts: Ints) -> Iterator[tuple[int, int, Floats, Floats]]:
    """Between any two changes: begin, end, each user's fair share, and how much it lacks of jobs.

    That is what its tickets are worth among users with jobs less what its jobs ask for, in GPUs.
    """
    jobs, gpus = run.records, sum(run.sizes)
    begin, end = jobs.visible, np.where(jobs.end < 0, max(run.now, cuts[-1]), jobs.end)
    changes = np.unique(np.concatenate([cuts, begin, end]))
    for a, b in pairwise(changes[(changes >= cuts[0]) & (changes <= cuts[-1])].tolist()):
        there = (begin <= a) & (end > a) & ~jobs.rejected
        demand = np.bincount(jobs.user[there], jobs.gpus[there], minlength=len(run.users))
        some, share, lack = demand > 0, np.zeros(len(run.users)), np.zeros(len(run.users))
        if some.any():
            tickets = run.user_weight[some]
            share[some] = effective_tickets(tickets, demand[some], gpus)
            lack[some] = gpus * tickets / tickets.sum() - demand[some]
        yield a, b, share, lack


def ideal_shares(run: Run, times: Ints) -> Floats:
    """Return each user's fair share of the GPUs, as means over bins: (bins, users).

    By tickets among users that have jobs; what a user's jobs cannot use goes to the others.
    """
    total = np.zeros((times.size - 1, len(run.users)))
    for a, b, share, _ in _fluid(run, times):
        total[np.searchsorted(times, a, side="right") - 1] += (b - a) * share
    found: Floats = total / np.diff(times)[:, None]
    return found


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when something is so.

    Parameters
    ----------
    begin, end : int
        Seconds.
    """

    begin: int
    end: int


def leavings(run: Run, groups: Sequence[Sequence[int]]) -> list[Span]:
    """Return when each group of users leaves.

    It begins when their jobs no longer ask for what their tickets are worth, and ends when they
    have none, or with the run.
    """
    end = np.where(run.records.end < 0, run.now, run.records.end)
    stop = [int(end[np.isin(run.records.user, group)].max()) for group in groups]
    since = list(stop)
    for a, _, _, lack in _fluid(run, np.array([0, run.now])):
        for k, group in enumerate(groups):
            users = list(group)
            has_all = bool((run.records.visible[np.isin(run.records.user, users)] <= a).all())
            if has_all and lack[users].sum() > 1e-9:
                since[k] = min(since[k], a)
    return [Span(a, b) for a, b in zip(since, stop, strict=True)]


def phases(begin: int, found: Sequence[Span]) -> list[Span]:
    """Return the times in which nobody leaves, if they last for 20 minutes.

    Examples
    --------
    >>> phases(0, [Span(14400, 14600), Span(14500, 15000), Span(20000, 21600)])
    [Span(begin=0, end=14400), Span(begin=15000, end=20000)]
    """
    phases = []
    for one in sorted(found, key=lambda leaving: leaving.begin):
        if one.begin - begin >= LEAST_PHASE:
            phases.append(Span(begin, one.begin))
        begin = max(begin, one.end)
    return phases


def within(times: Ints, values: Floats, phase: Span) -> Floats:
    """Return the mean over a phase of values that are means over bins."""
    low, high = np.maximum(times[:-1], phase.begin), np.minimum(times[1:], phase.end)
    weights = np.maximum(high - low, 0)
    found: Floats = np.tensordot(weights, values, axes=1) / (phase.end - phase.begin)
    return found


# --- schedules ------------------------------------------------------------------------------------


def on_servers(run: Run, begin: int, quanta: int) -> Ints:
    """Return on which nodes each job runs in each quantum: (jobs, quanta), bit k for node k."""
    found = np.zeros((len(run.records), quanta), dtype=np.int64)
    starts = begin + QUANTUM * np.arange(quanta)
    for segment in run.schedule:
        there = (segment.start <= starts) & (starts < segment.end)
        found[segment.job, there] = sum(1 << node for node in segment.gpus)
    return found


def held(where: Ints, gangs: Sequence[int]) -> list[float]:
    """Return the mean GPUs of each job."""
    found: list[float] = ((where > 0).mean(axis=1) * np.array(gangs)).tolist()
    return found


def moves(where: Ints) -> int:
    """Return how often a job runs on other nodes than before.

    Examples
    --------
    >>> moves(np.array([[1, 0, 1, 2, 2], [2, 2, 0, 0, 1]]))
    2
    """
    return sum(a != b for row in where.tolist() for a, b in pairwise(n for n in row if n))


#: quanta of Fig. 1 that are looked at, and those before: C has its job from the second one on
WINDOW, BEFORE = 24, 2


@dataclass(frozen=True, slots=True)
class ScheduleOption:
    """One of the five ways to schedule the jobs of Fig. 1.

    Parameters
    ----------
    name : str
    users : str
        GPUs of A, B and C as printed, where the text has them.
    made : callable
        () -> where each job runs in each quantum, (jobs, quanta).
    """

    name: str
    users: str
    made: Callable[[], Ints]


def long_jobs() -> Instance[Job]:
    """Return the five jobs of Fig. 1."""
    return time_sharing(work=10 * HOUR)


def _run_of(policy: Policy, instance: Instance[Job] | None = None) -> Ints:
    run = driven(instance or long_jobs(), policy, until=QUANTUM * (BEFORE + WINDOW))
    return on_servers(run, QUANTUM * BEFORE, WINDOW)


def _short_c() -> Ints:
    """With shortest remaining time first, and C's job the shortest."""
    instance = long_jobs()
    *others, last = instance.jobs
    jobs = [*others, replace(last, work=HOUR)]
    return _run_of(Srtf(), replace(instance, jobs=jobs))


def _user_a_job() -> Ints:
    """Slices of equal jobs, whoever's they are."""
    instance = long_jobs()
    jobs = [replace(job, user=job.id) for job in instance.jobs]
    users = [User(job.id) for job in jobs]
    made = GandivaFair(literal=True)  # spreads jobs over nodes, as drawn
    return _run_of(made, replace(instance, jobs=jobs, users=users))


def _as_printed() -> Ints:
    """Stride on each node, by tickets that are not cut at what a user's jobs ask for."""
    pool = StridePool([4, 4], 3)
    for job, (user, server) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1), (2, 1))):
        pool.add(job, 2, user, (server,), int(user == 2))
    strides = (pool.demand * 1.0).tolist()  # equal tickets: eq. (1) is one over what is asked for
    pool.quantum(strides)
    return _taken(pool, strides, WINDOW)


def _over_both_servers() -> Ints:
    """Stride over all 8 GPUs; who has run stays on its node, if there is room."""
    gangs, tickets = [2] * 5, effective_tickets([1] * 3, [4, 4, 2], 8)
    strides = (np.array([4, 4, 4, 4, 2]) / tickets[[0, 0, 1, 1, 2]]).tolist()
    passes, last = [0.0] * 5, [0] * 5
    where = np.zeros((5, 1 + WINDOW), dtype=np.int64)
    for k in range(1 + WINDOW):
        runs, passes = gang_aware_stride(passes, strides, gangs, 8)
        room = [2, 2]  # jobs
        for job in runs:
            last[job] = last[job] if room[last[job]] else 1 - last[job]
            room[last[job]] -= 1
            where[job, k] = 1 << last[job]
    return where[:, 1:]


def _taken(pool: StridePool, strides: Sequence[float], quanta: int) -> Ints:
    """Where each job runs in the next quanta."""
    where = np.zeros((len(pool.claims), quanta), dtype=np.int64)
    for k in range(quanta):
        for job in pool.quantum(strides):
            where[job, k] = sum(1 << node for node in pool.nodes(job))
    return where


OPTIONS = (
    ScheduleOption("(a) FIFO: C waits", "4, 4, 0", partial(_run_of, Fifo())),
    ScheduleOption("(b) SRTF: C's job is short and replaces one", "4, 2, 2", _short_c),
    ScheduleOption("(c) time slices by job", "10/3, 10/3, 4/3", _user_a_job),
    ScheduleOption("(d) stride by printed tickets, nobody moves", "3, 3, 2", _as_printed),
    ScheduleOption("(d') the whole policy", "3, 3, 2", partial(_run_of, GandivaFair())),
    ScheduleOption(
        "(d'') the policy, nobody moves", "3, 3, 2", partial(_run_of, GandivaFair(threshold=1e6))
    ),
    ScheduleOption("(e) stride over both servers, jobs move", "3, 3, 2", _over_both_servers),
)  # fmt: skip


# --- Fig. 2 ---------------------------------------------------------------------------------------

#: users of Fig. 2, by the node that has their jobs as drawn; D's job needs both
DRAWN: Mapping[str, tuple[int, ...]] = {
    "A": (0,), "B": (0,), "C": (0,), "D": (0, 1), "E": (1,), "F": (1,)
}  # fmt: skip
MIX_WINDOW = 240


def _placed(instance: Instance[Job]) -> Ints:
    run = driven(instance, GandivaFair(), until=QUANTUM * MIX_WINDOW)
    return on_servers(run, 0, MIX_WINDOW)


def _as_drawn(instance: Instance[Job]) -> Ints:
    pool = StridePool([4, 4], len(DRAWN))
    for j, job in enumerate(instance.jobs):
        pool.add(j, job.gpus, "ABCDEF".index(job.user), DRAWN[job.user], 0)
    strides = (pool.demand / effective_tickets([1] * 6, pool.demand, 8)).tolist()
    return _taken(pool, strides, MIX_WINDOW)


#: where the jobs of Fig. 2 run in each quantum: as the policy places them, and as they are drawn
MIXES: Mapping[str, Callable[[Instance[Job]], Ints]] = {
    "placed by Algorithm 2": _placed, "as drawn": _as_drawn,
}  # fmt: skip


# --- Table 3 --------------------------------------------------------------------------------------


def sixty_jobs_each() -> Instance[Job]:
    """Return the market of Table 3 as jobs: 60 of 1 GPU for each user, on nodes of 4 GPUs.

    Examples
    --------
    >>> instance = sixty_jobs_each()
    >>> len(instance.jobs), instance.cluster.gpus, dict(instance.jobs[60].speeds)
    (180, 72, {'k80': 1.0, 'v100': 5.0})
    """
    market = table3_market()
    jobs = [
        Job(
            id=f"{user}{k}", user=user, group=user, gpus=1, work=100 * HOUR,
            speeds=dict(zip(market.models, row, strict=True)),
        )
        for user, row in zip(market.users, market.speeds.tolist(), strict=True)
        for k in range(60)
    ]  # fmt: skip
    cluster = mixed_cluster([("k80", 15, 4), ("v100", 3, 4)])
    return Instance(cluster, jobs, [User(user) for user in market.users], name="table-3")
