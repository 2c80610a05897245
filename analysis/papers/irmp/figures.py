"""Figures 4 to 13 and Table 2 of Wang et al. (IEEE TC 2023), synthetic and on a trace.

======  ======================================  ================================================
figure  varies                                  shows
======  ======================================  ================================================
4       jobs, nodes; law of the utilities       revenue
5       jobs and nodes, reduced setting         Astraea's revenue over a certified bound
6       jobs or nodes, reduced setting          revenue of all over a certified bound
7       the user                                revenue fairness ratio alpha_u
8       the policy                              variance of alpha_u
9, 10   jobs; nodes                             running time of Astraea; not the same each time
11      the highest price, in % of the rule's   revenue
12      the job                                 ideal revenue and cost
13      time                                    workers in use; makespan
Tab. 2  users                                   revenue a job, variance of alpha_u
======  ======================================  ================================================

Revenue is counted three times: as it is (true), with losses as zero, and as the paper's algorithm
counts it (ideal: from the beginning of the round; of policies without rounds the true one).
Prices are in the unit of money that :func:`~gangsched.solvers.irmp.prices.assumed_scale` finds;
Figs. 4 and 13 and Table 2 also vary it, from 1, the paper's to the letter.

Workloads: :func:`~gangsched.formulations.irmp.paper_problem`; of a trace, jobs in a row, their
hours of submission and their virtual clusters, and the rest drawn. lambda is 1, the clock absolute.
A statement that compares policies holds where it does for every seed.

Source: N. Wang, R. Zhou, L. Han, H. Chen, Z. Li, "Online Scheduling of Distributed Machine Learning
Jobs for Incentivizing Sharing in Multi-Tenant Systems", IEEE TC 72(3), 2023, Section 5.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from statistics import fmean
from typing import Any, NamedTuple

from ....instances.revenue import Law
from ....instances.traces import Trace
from ....solvers.irmp.astraea import astraea
from ..experiment import FigureCell, Finished, figures_of, seed_means
from ..study import FigureRow, Values, short
from . import pictures, statements
from .conditions import conditions
from .runs import (
    LEVELS,
    SLOTS,
    RevenueWorkload,
    and_bounds,
    cell_of,
    excerpt,
    facts_of,
    job_rows,
    scaled,
    theta_of,
    whole,
    with_bounds,
)
from .statements import ASTRAEA, BATCH, COUNTINGS, OWN, PAPER

SEEDS = (0, 1, 2)
LAWS: tuple[Law, ...] = ("linear", "convex")
JOBS, SERVERS = (25, 50, 100), (40, 70, 100)
DEFAULT_JOBS, DEFAULT_SERVERS, DEFAULT_USERS = 50, 100, 14
FEW_JOBS, FEW_SERVERS = (5, 10, 15), (5, 15, 25, 35, 45)
PERCENT = (60, 80, 100, 120, 140)
USERS = (5, 8, 11, 14)
SCALES = (1, 10, 100, 1_000, 10_000, 100_000)


def _counted(prefix: str = "", what: str = "") -> dict[str, str]:
    return {f"{prefix}{c}": f"{what}{title}" for c, title in COUNTINGS.items()}


SHARES = _counted("share ", "over the bound: ")
VARIANCES = _counted("variance ", "variance: ")
WITHIN = {"within": "f / use >= 1 (% of runs)"}
SECONDS = {"a job ms": "ms a job", "relative": "to the first x", "seconds": "s"}


# --- workloads -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Source:
    """Synthetic jobs, or those of a trace, for one law of utilities."""

    name: str
    law: Law
    trace: Trace | None

    def load(
        self, seed: int, jobs: int, servers: int, users: int, most: int = 0
    ) -> RevenueWorkload:
        """A workload; of a trace, the first of `most` jobs in a row."""
        trace, there = self.trace, users
        if trace is not None:
            there = min(users, len({job.user for job in trace.jobs}))
            whole = there == len({job.user for job in trace.jobs})
            trace = excerpt(trace, max(most, jobs), seed, None if whole else users)
        return RevenueWorkload(
            jobs=jobs, servers=servers, users=users, utility=self.law, seed=seed,
            source="" if trace is None else f"{trace.name}, {there} users, {_digest(trace)}",
            trace=trace,
        )  # fmt: skip


def _digest(trace: Trace) -> str:
    """A short name of its jobs."""
    return f"jobs {sha256(repr(trace.jobs).encode()).hexdigest()[:16]}"


def _sources(trace: Trace | None, laws: Sequence[Law] = LAWS) -> list[_Source]:
    made = [_Source(law, law, None) for law in laws]
    if trace is not None:
        made += [_Source(f"{trace.name.capitalize()} {law}", law, trace) for law in laws]
    return made


# --- cells ---------------------------------------------------------------------------------------

Counts = Sequence[int]
Log = Trace | None
Size = tuple[int, int, int]
SIZE: Size = (DEFAULT_JOBS, DEFAULT_SERVERS, DEFAULT_USERS)


class _Point(NamedTuple):
    """Where a cell stands in a figure, after the name of its source, and its size."""

    label: str
    x: int | None
    jobs: int
    servers: int
    users: int


def _cells(
    points: Sequence[_Point],
    seeds: Counts,
    trace: Log,
    policies: Sequence[str] = (ASTRAEA,),
    laws: Sequence[Law] = LAWS,
    most: int = max(JOBS),
) -> Iterator[FigureCell]:
    """Policies at each point, on synthetic jobs and on those of the trace."""
    for source in _sources(trace, laws):
        for point in points:
            for policy in policies:
                for seed in seeds:
                    load = source.load(seed, *point[2:], most)
                    yield cell_of(f"{source.name}{point.label}", policy, load, x=point.x)


def _sweep(
    jobs: Counts = JOBS,
    servers: Counts = SERVERS,
    default: tuple[int, int] = (DEFAULT_JOBS, DEFAULT_SERVERS),
    users: int = DEFAULT_USERS,
    seeds: Counts = SEEDS,
    trace: Log = None,
) -> list[FigureCell]:
    """All policies by jobs, and by nodes; with bounds."""
    many, wide = default
    users = min(users, *servers)
    points = [_Point(", x = jobs", x, x, wide, users) for x in jobs]
    points += [_Point(", x = servers", x, many, x, users) for x in servers]
    return and_bounds(_cells(points, seeds, trace, (*PAPER, *OWN), most=max([many, *jobs])))


def _sweep_and_scales(
    jobs: Counts = JOBS,
    servers: Counts = SERVERS,
    default: tuple[int, int] = (DEFAULT_JOBS, DEFAULT_SERVERS),
    users: int = DEFAULT_USERS,
    scales: Counts = SCALES,
    seeds: Counts = SEEDS,
    trace: Log = None,
) -> list[FigureCell]:
    """All policies by jobs and by nodes, those of the paper by the unit of money; with bounds."""
    cells = _sweep(jobs, servers, default, users, seeds, trace)
    size, most = (*default, min(users, *servers)), max([default[0], *jobs])
    return cells + and_bounds(_by_scale(PAPER, LAWS, size, scales, seeds, trace, most))


def _by_scale(
    policies: Sequence[str], laws: Sequence[Law], size: Size, scales: Counts, seeds: Counts,
    trace: Log, most: int = max(JOBS),
) -> Iterator[FigureCell]:  # fmt: skip
    """Policies by the unit of money of the prices, in place of the one that is found."""
    points = [_Point(", x = scale", x, *size) for x in scales]
    for cell in _cells(points, seeds, trace, policies, laws, most):
        yield replace(cell, make=scaled(cell.policy, cell.x or 1))


def _few(
    jobs: Counts = FEW_JOBS, servers: Counts = FEW_SERVERS, seeds: Counts = SEEDS, trace: Log = None
) -> list[FigureCell]:
    """Astraea with 2 users, and a bound that is at least the optimum that the paper divides by."""
    points = [_Point(f", {count} jobs", x, count, x, 2) for count in jobs for x in servers]
    return and_bounds(_cells(points, seeds, trace, most=max(jobs)))


def _sweep_of_few(
    jobs: Counts = FEW_JOBS,
    servers: Counts = FEW_SERVERS,
    default: tuple[int, int] = (10, 25),
    seeds: Counts = SEEDS,
    trace: Log = None,
) -> list[FigureCell]:
    return _sweep(jobs, servers, default, 2, seeds, trace)


def _plain(
    policies: Sequence[str],
    laws: Sequence[Law] = LAWS,
    *,
    size: Size = SIZE,
    seeds: Counts = SEEDS,
    trace: Log = None,
) -> Iterator[FigureCell]:
    """Policies on one instance; `size` has its jobs, nodes and users."""
    return _cells([_Point(f", {size[0]} jobs", None, *size)], seeds, trace, policies, laws)


def _used(
    size: Size = SIZE, scales: Counts = SCALES, seeds: Counts = SEEDS, trace: Log = None
) -> list[FigureCell]:
    """All policies on one instance, and those with prices by the unit of money."""
    cells = _plain((*PAPER, *OWN), ("linear",), size=size, seeds=seeds, trace=trace)
    by_scale = _by_scale((ASTRAEA, BATCH), ("linear",), size, scales, seeds, trace)
    return [*cells, *by_scale]


def _clocked(points: Sequence[_Point], seeds: Counts, trace: Log) -> Iterator[FigureCell]:
    """Astraea's seconds by x."""
    most = max(point.jobs for point in points)
    for cell in _cells(points, seeds, trace, laws=("linear",), most=most):
        yield replace(cell, run=_times, make=None)


def _clocked_by_jobs(
    jobs: Counts = (25, 50, 75, 100),
    servers: int = DEFAULT_SERVERS,
    seeds: Counts = SEEDS,
    trace: Log = None,
) -> Iterator[FigureCell]:
    users = min(DEFAULT_USERS, servers)
    return _clocked([_Point(", x = jobs", x, x, servers, users) for x in jobs], seeds, trace)


def _clocked_by_servers(
    servers: Counts = (40, 60, 80, 100),
    jobs: int = DEFAULT_JOBS,
    seeds: Counts = SEEDS,
    trace: Log = None,
) -> Iterator[FigureCell]:
    points = [_Point(", x = servers", x, jobs, x, min(DEFAULT_USERS, x)) for x in servers]
    return _clocked(points, seeds, trace)


def _estimates(
    jobs: Counts = (50, 100),
    servers: int = DEFAULT_SERVERS,
    percent: Counts = PERCENT,
    seeds: Counts = SEEDS,
    trace: Log = None,
) -> list[FigureCell]:
    """Astraea by theta - 1, of workers and of PSs, in % of what the rule gives; with bounds."""
    size = servers, min(DEFAULT_USERS, servers)
    points = [_Point(f", {count} jobs", x, count, *size) for count in jobs for x in percent]
    return and_bounds(
        replace(cell, make=theta_of(cell.x or 0)) if cell.x != 100 else cell
        for cell in _cells(points, seeds, trace)
    )


def _accepted(size: Size = SIZE, seeds: Counts = (0,), trace: Log = None) -> Iterator[FigureCell]:
    """Each job that Astraea accepts, with the first of the seeds."""
    for cell in _plain([ASTRAEA], size=size, seeds=seeds[:1], trace=trace):
        yield replace(cell, run=_jobs)


def _by_users(
    users: Counts = USERS,
    jobs: int = DEFAULT_JOBS,
    servers: int = DEFAULT_SERVERS,
    scales: Counts = SCALES,
    seeds: Counts = SEEDS,
    trace: Log = None,
) -> list[FigureCell]:
    """Astraea by users, and by the unit of money; of a trace, those with the most jobs."""
    by_users = _cells([_Point(", x = users", x, jobs, servers, x) for x in users], seeds, trace)
    size = jobs, servers, max(users)
    return [*by_users, *_by_scale([ASTRAEA], LAWS, size, scales, seeds, trace)]


def _times(cell: FigureCell) -> Values:
    """The least of three."""
    least, problem = float("inf"), cell.workload.problem()
    for _ in range(3):
        begun = time.perf_counter()
        whole(astraea(problem))
        least = min(least, time.perf_counter() - begun)
    return {"seconds": short(least), "a job ms": short(1000 * least / cell.workload.jobs)}


def _jobs(cell: FigureCell) -> dict[str, Any]:
    problem = cell.workload.problem()
    return {"rows": job_rows(cell.instance, problem, whole(cell.make(problem)))}


# --- from outcomes to rows -----------------------------------------------------------------------


def _relative(finished: Finished) -> Finished:
    """Seconds a job, over those at the first x."""
    first: dict[Any, float] = {}
    for cell, own in finished:
        first.setdefault((cell.instance, cell.seed), own["a job ms"] or 1.0)
    return [
        (cell, {**own, "relative": short((own["a job ms"] or 0.0) / unit)})
        for cell, own in finished
        for unit in [first[cell.instance, cell.seed]]
    ]


def _and_users(finished: Finished, measures: Mapping[str, str]) -> Iterator[FigureRow]:
    """Users of different seeds have nothing in common but their number."""
    yield from seed_means(finished, measures)
    by_user: Finished = []
    for cell, own in finished:
        alphas = [name for name in own if name.startswith("alpha ")]
        for user in sorted({int(name.rpartition(" ")[2]) for name in alphas}):
            values = {f"alpha {c}": own.get(f"alpha {c} of {user}") for c in COUNTINGS}
            by_user.append((replace(cell, x=user), values))
    yield from seed_means(by_user, _counted("alpha "))


def _with_use(finished: Finished, measures: Mapping[str, str]) -> Iterator[FigureRow]:
    """Curves are means over seeds, and over the slots since the level before."""
    for row in seed_means(finished, measures):
        if row.x is not None:
            yield row
            continue
        place = (row.instance, row.policy)
        runs = [own for cell, own in finished if (cell.instance, cell.policy) == place]
        curve = [fmean(own[f"use at {level:.0f}"] or 0.0 for own in runs) for level in LEVELS]
        yield replace(row, curve=tuple(short(value) or 0.0 for value in curve))


# --- the figures ---------------------------------------------------------------------------------

_SETTINGS: Mapping[str, Any] = {
    "lambda": 1,
    "clock": "absolute: utilities of the slot of completion",
    "theta": "rule of (8) over all jobs",
    "scale": "of each instance the least power of ten at which f / use >= 1 for shortest runs",
    "slot": "1 h",
    "bound": f"column generation over {SLOTS} slots; for schedules that preempt, of such",
    "ideal revenue": "of policies without rounds: the true one",
    "trace": "jobs in a row of one of the days with the most users; D drawn from 20 to 50",
    "not in the paper": list(OWN),
}
_figure = figures_of(
    "irmp", statements, pictures, facts=facts_of, settings=_SETTINGS, conditions=conditions
)
_over_bounds = partial(
    _figure, measures={**SHARES, "ratio": "certified ratio"}, steps=(with_bounds,)
)
_seconds = partial(
    _figure, axis="x", measures=SECONDS, steps=(_relative,), timed=True,
    statements=statements.seconds,
)  # fmt: skip
fig4 = _figure(
    "fig4", title="Fig. 4: total revenue by jobs, by servers and by scale", axis="x",
    measures={
        **_counted(), "ratio": "certified ratio", f"share {[*COUNTINGS][-1]}": "ideal over bound",
        **WITHIN,
    },
    cells=_sweep_and_scales, steps=(with_bounds,),
)  # fmt: skip
fig5 = _over_bounds(
    "fig5", title="Fig. 5: Astraea's performance ratio, reduced setting", axis="servers",
    cells=_few,
)  # fmt: skip
fig6 = _over_bounds(
    "fig6", title="Fig. 6: performance ratios of all, reduced setting", axis="x",
    cells=_sweep_of_few,
)  # fmt: skip
fig7 = _figure(
    "fig7", title="Fig. 7: revenue fairness ratio of each user", axis="user",
    measures={
        **_counted("fair ", "users at 1 or more: "),
        **{
            f"{end} {c}": f"{end} ratio: {title}"
            for c, title in COUNTINGS.items() for end in ("least", "most")
        },
    },
    cells=partial(_plain, PAPER), rows=_and_users,
)  # fmt: skip
fig8 = _figure(
    "fig8", title="Fig. 8: variance of revenue fairness", measures=VARIANCES,
    cells=partial(_plain, (*PAPER, *OWN)),
)  # fmt: skip
fig9 = _seconds(
    "fig9", cells=_clocked_by_jobs,
    title="Fig. 9: running time of Astraea by jobs, on the machine that wrote this",
)  # fmt: skip
fig10 = _seconds(
    "fig10", cells=_clocked_by_servers,
    title="Fig. 10: running time of Astraea by servers, on the machine that wrote this",
)  # fmt: skip
fig11 = _figure(
    "fig11", title="Fig. 11: revenue under wrong highest prices",
    axis="highest price (%)", measures={**_counted(), "ratio": "certified ratio"},
    cells=_estimates, steps=(with_bounds,),
)  # fmt: skip
fig12 = _figure(
    "fig12", title="Fig. 12: ideal revenue and cost of accepted jobs",
    measures={
        "accepted": "jobs", "median cost": "median cost", "median ideal": "median ideal revenue",
        "least": "least ideal revenue - cost", "below": "ideal revenue <= cost",
        "true below": "true revenue <= cost",
    },
    cells=_accepted, drawing=pictures.costs,
)  # fmt: skip
fig13 = _figure(
    "fig13", title="Fig. 13: workers in use over time",
    measures={
        "makespan": "makespan", "most use": "most in use (%)", "mean use": "mean in use (%)",
        **WITHIN,
    },
    axis="x", levels=LEVELS, cells=_used, rows=_with_use,
)  # fmt: skip
table2 = _figure(
    "table2", title="Table 2: Astraea by number of users", axis="x",
    measures={**_counted("a job ", "a job: "), **VARIANCES, **WITHIN}, cells=_by_users,
)  # fmt: skip
