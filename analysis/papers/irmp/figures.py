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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from statistics import fmean
from typing import Any, NamedTuple

from ....instances.revenue import Law
from ....instances.traces import Trace
from ....solvers.irmp.astraea import astraea
from ..experiment import FigureCell, Finished, figures_of, seed_means
from ..study import FigureRow, Values, short
from . import pictures, runs, statements
from .conditions import conditions
from .runs import LEVELS, RevenueWorkload, with_bounds
from .statements import ASTRAEA, BATCH, COUNTINGS, OWN, PAPER

Counts = Sequence[int]
SEEDS = (0, 1, 2)
LAWS: tuple[Law, ...] = ("linear", "convex")
ALL = (*PAPER, *OWN)
MOST_JOBS = 100
FEW_JOBS = (5, 10, 15)


class Sizes(NamedTuple):
    """What a figure varies, and in `default` jobs, nodes and users where it varies others."""

    jobs: Counts = (25, 50, MOST_JOBS)
    servers: Counts = (40, 70, 100)
    users: Counts = (5, 8, 11, 14)
    scales: Counts = (1, 10, 100, 1_000, 10_000, 100_000)
    percent: Counts = (60, 80, 100, 120, 140)
    default: tuple[int, int, int] = (50, 100, 14)


# --- cells ---------------------------------------------------------------------------------------


class _Point(NamedTuple):
    """Where a cell stands in a figure, after the name of its source, and its size."""

    label: str
    x: int | None
    jobs: int
    servers: int
    users: int


def _along(sizes: Sizes) -> Iterator[_Point]:
    """By jobs, and by nodes."""
    many, wide, most_users = sizes.default
    users = min([most_users, *sizes.servers])
    yield from (_Point(", x = jobs", x, x, wide, users) for x in sizes.jobs)
    yield from (_Point(", x = servers", x, many, x, users) for x in sizes.servers)


def _by_scale(sizes: Sizes) -> Iterator[_Point]:
    """By the unit of money of the prices, in place of the one that is found."""
    many, wide, most_users = sizes.default
    users = min([most_users, *sizes.servers])
    return (_Point(", x = scale", x, many, wide, users) for x in sizes.scales)


def _by_users(sizes: Sizes) -> Iterator[_Point]:
    """By users; of a trace, those with the most jobs."""
    many, wide, _ = sizes.default
    return (_Point(", x = users", x, many, wide, x) for x in sizes.users)


def _few(sizes: Sizes) -> Iterator[_Point]:
    for count in sizes.jobs:
        yield from (_Point(f", {count} jobs", x, count, x, sizes.default[2]) for x in sizes.servers)


def _by_estimate(sizes: Sizes) -> Iterator[_Point]:
    """By theta - 1, of workers and of PSs, in % of what the rule gives."""
    for count in sizes.jobs:
        yield from (_Point(f", {count} jobs", x, count, *sizes.default[1:]) for x in sizes.percent)


def _plain(sizes: Sizes) -> list[_Point]:
    return [_Point(f", {sizes.default[0]} jobs", None, *sizes.default)]


class _Sweep(NamedTuple):
    """Policies at points; `make` gives a policy at an x, where it is not the policy itself."""

    points: Callable[[Sizes], Iterable[_Point]]
    policies: Sequence[str] = (ASTRAEA,)
    make: Callable[[str, int], runs.Solve] = lambda policy, _: runs.POLICIES[policy]


def _cells(
    *sweeps: _Sweep,
    laws: Sequence[Law] = LAWS,
    run: Callable[[FigureCell], Any] = runs.run,
    bounds: bool = False,
    most: int = MOST_JOBS,
    seeds: Counts = SEEDS,
    trace: Trace | None = None,
    **sizes: Any,
) -> list[FigureCell]:
    """On synthetic jobs and on those of the trace, the first of `most` in a row."""
    sources: list[tuple[str, Law, Trace | None]] = [(law, law, None) for law in laws]
    if trace is not None:
        sources += [(f"{trace.name.capitalize()} {law}", law, trace) for law in laws]
    cells = [
        FigureCell(
            instance=f"{name}{point.label}", policy=policy, run=run, x=point.x, seed=seed,
            workload=_load(point, law, seed, jobs, most), make=sweep.make(policy, point.x or 0),
        )
        for sweep in sweeps
        for name, law, jobs in sources
        for point in sweep.points(Sizes(**sizes))
        for policy in sweep.policies
        for seed in seeds
    ]  # fmt: skip
    return runs.and_bounds(cells) if bounds else cells


def _load(point: _Point, law: Law, seed: int, trace: Trace | None, most: int) -> RevenueWorkload:
    source = ""
    if trace is not None:
        known = len({job.user for job in trace.jobs})
        users = point.users if point.users < known else None
        trace = runs.excerpt(trace, max(most, point.jobs), seed, users)
        digest = sha256(repr(trace.jobs).encode()).hexdigest()[:16]
        source = f"{trace.name}, {users or known} users, jobs {digest}"
    return RevenueWorkload(
        jobs=point.jobs, servers=point.servers, users=point.users, utility=law, seed=seed,
        source=source, trace=trace,
    )  # fmt: skip


def _times(cell: FigureCell) -> Values:
    """The least of three."""
    least, problem = float("inf"), cell.workload.problem()
    for _ in range(3):
        begun = time.perf_counter()
        runs.whole(astraea(problem))
        least = min(least, time.perf_counter() - begun)
    return {"seconds": short(least), "a job ms": short(1000 * least / cell.workload.jobs)}


def _jobs(cell: FigureCell) -> dict[str, Any]:
    problem = cell.workload.problem()
    return {"rows": runs.job_rows(cell.instance, problem, runs.whole(cell.make(problem)))}


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
    yield from seed_means(by_user, {f"alpha {c}": title for c, title in COUNTINGS.items()})


def _with_use(finished: Finished, measures: Mapping[str, str]) -> Iterator[FigureRow]:
    """Curves are means over seeds, and over the slots since the level before."""
    for row in seed_means(finished, measures):
        if row.x is not None:
            yield row
            continue
        place = (row.instance, row.policy)
        found = [own for cell, own in finished if (cell.instance, cell.policy) == place]
        curve = [fmean(own[f"use at {level:.0f}"] or 0.0 for own in found) for level in LEVELS]
        yield replace(row, curve=tuple(short(value) or 0.0 for value in curve))


# --- the figures ---------------------------------------------------------------------------------

_figure = figures_of(
    "irmp",
    statements,
    facts=runs.facts_of,
    settings={"not in the paper": list(OWN)},
    conditions=conditions,
)
_clocked = partial(_cells, _Sweep(_along), laws=("linear",), run=_times)
_seconds = partial(_figure, steps=(_relative,), timed=True, statements=statements.seconds)
_reduced = partial(
    _cells, bounds=True, most=max(FEW_JOBS), jobs=FEW_JOBS, servers=(5, 15, 25, 35, 45),
    default=(10, 25, 2),
)  # fmt: skip
fig4 = _figure(
    "fig4", steps=(with_bounds,),
    cells=partial(
        _cells, _Sweep(_along, ALL), _Sweep(_by_scale, PAPER, runs.scaled), bounds=True
    ),
)  # fmt: skip
fig5 = _figure("fig5", cells=partial(_reduced, _Sweep(_few)), steps=(with_bounds,))
fig6 = _figure("fig6", cells=partial(_reduced, _Sweep(_along, ALL)), steps=(with_bounds,))
fig7 = _figure("fig7", cells=partial(_cells, _Sweep(_plain, PAPER)), rows=_and_users)
fig8 = _figure("fig8", cells=partial(_cells, _Sweep(_plain, ALL)))
fig9 = _seconds("fig9", cells=partial(_clocked, jobs=(25, 50, 75, MOST_JOBS), servers=()))
fig10 = _seconds("fig10", cells=partial(_clocked, jobs=(), servers=(40, 60, 80, 100), most=50))
fig11 = _figure(
    "fig11", steps=(with_bounds,),
    cells=partial(_cells, _Sweep(_by_estimate, make=runs.theta_of), bounds=True, jobs=(50, 100)),
)  # fmt: skip
fig12 = _figure(
    "fig12", cells=partial(_cells, _Sweep(_plain), run=_jobs, seeds=(0,)), drawing=pictures.costs
)
fig13 = _figure(
    "fig13", levels=LEVELS, rows=_with_use,
    cells=partial(
        _cells, _Sweep(_plain, ALL), _Sweep(_by_scale, (ASTRAEA, BATCH), runs.scaled),
        laws=("linear",),
    ),
)  # fmt: skip
table2 = _figure(
    "table2",
    cells=partial(_cells, _Sweep(_by_users), _Sweep(_by_scale, (ASTRAEA,), runs.scaled)),
)
