"""Figures 4 to 13 and Table 2 of Wang et al. (IEEE TC 2023), synthetic and on a trace.

======  ======================================  ================================================
figure  varies                                  shows
======  ======================================  ================================================
4       jobs, servers; law of the utilities     revenue
5       jobs and servers, reduced setting       Astraea's revenue over a certified bound
6       jobs or servers, reduced setting        revenue of all over a certified bound
7       the user                                revenue fairness ratio alpha_u
8       the policy                              variance of alpha_u
9, 10   jobs; servers                           running time of Astraea; not the same each time
11      the highest price, in % of the rule's   revenue
12      the job                                 ideal revenue and cost
13      time                                    workers in use; makespan
Tab. 2  users                                   revenue a job, variance of alpha_u
======  ======================================  ================================================

Revenue is counted three times: as it is (true), with losses as zero, and as the paper's algorithm
counts it (ideal: from the beginning of the round; of policies without rounds the true one).

Workloads: :func:`~gangsched.formulations.irmp.paper_problem`; of a trace, jobs in a row, their
hours of submission and their virtual clusters, and the rest drawn. lambda is 1, the clock absolute.
A statement that compares policies holds where it does for every seed.

Source: N. Wang, R. Zhou, L. Han, H. Chen, Z. Li, "Online Scheduling of Distributed Machine Learning
Jobs for Incentivizing Sharing in Multi-Tenant Systems", IEEE TC 72(3), 2023, Section 5.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from ....instances.revenue import Law
from ....instances.traces import Trace
from ....solvers.irmp.astraea import astraea
from ..common import Frame, judged, rows_of
from ..experiment import Progress
from ..study import FigureRow, Study, Values, short
from . import pictures as pictures
from .runs import (
    LEVELS,
    POLICIES,
    SLOTS,
    Task,
    Workload,
    excerpt,
    facts_of,
    job_rows,
    outcomes_of,
    theta_of,
    whole,
    with_bounds,
)
from .statements import ASTRAEA, COUNTINGS, OWN, PAPER, STATEMENTS

__all__ = [
    "fig4", "fig5", "fig6", "fig7", "fig8", "fig9", "fig10", "fig11", "fig12", "fig13",
    "from_rows", "table2",
]  # fmt: skip

SEEDS = (0, 1, 2)
LAWS: tuple[Law, ...] = ("linear", "convex")
JOBS, SERVERS = (25, 50, 100), (40, 70, 100)
DEFAULT_JOBS, DEFAULT_SERVERS, DEFAULT_USERS = 50, 100, 14
FEW_JOBS, FEW_SERVERS = (5, 10, 15), (5, 15, 25, 35, 45)
PERCENT = (60, 80, 100, 120, 140)
USERS = (5, 8, 11, 14)


def _counted(prefix: str = "", what: str = "") -> dict[str, str]:
    return {f"{prefix}{c}": f"{what}{title}" for c, title in COUNTINGS.items()}


SHARES = _counted("share ", "over the bound: ")
VARIANCES = _counted("variance ", "variance: ")
SECONDS = {"a job ms": "ms a job", "relative": "to the first x", "seconds": "s"}
_FIGURES: Mapping[str, Frame] = {
    "fig4": Frame(
        "Fig. 4: total revenue by jobs and by servers",
        "x",
        {**_counted(), "ratio": "certified ratio", f"share {[*COUNTINGS][-1]}": "ideal over bound"},
        pictures.revenue,
    ),
    "fig5": Frame(
        "Fig. 5: Astraea's performance ratio, reduced setting",
        "servers",
        {**SHARES, "ratio": "certified ratio"},
        pictures.own_shares,
    ),
    "fig6": Frame(
        "Fig. 6: performance ratios of all, reduced setting",
        "x",
        {**SHARES, "ratio": "certified ratio"},
        pictures.shares,
    ),
    "fig7": Frame(
        "Fig. 7: revenue fairness ratio of each user",
        "user",
        {
            **_counted("fair ", "users at 1 or more: "),
            **{
                f"{end} {c}": f"{end} ratio: {title}"
                for c, title in COUNTINGS.items()
                for end in ("least", "most")
            },
        },
        pictures.fairness,
    ),
    "fig8": Frame("Fig. 8: variance of revenue fairness", "", VARIANCES, pictures.variances),
    "fig9": Frame(
        "Fig. 9: running time of Astraea by jobs, on the machine that wrote this",
        "x",
        SECONDS,
        pictures.seconds,
    ),
    "fig10": Frame(
        "Fig. 10: running time of Astraea by servers, on the machine that wrote this",
        "x",
        SECONDS,
        pictures.seconds,
    ),
    "fig11": Frame(
        "Fig. 11: revenue under wrong highest prices",
        "highest price (%)",
        _counted(),
        pictures.estimates,
    ),
    "fig12": Frame(
        "Fig. 12: ideal revenue and cost of accepted jobs",
        "",
        {
            "accepted": "jobs",
            "median cost": "median cost",
            "median ideal": "median ideal revenue",
            "least": "least ideal revenue - cost",
            "below": "ideal revenue <= cost",
            "true below": "true revenue <= cost",
        },
        pictures.costs,
    ),
    "fig13": Frame(
        "Fig. 13: workers in use over time",
        "",
        {"makespan": "makespan", "most use": "most in use (%)", "mean use": "mean in use (%)"},
        pictures.use,
        LEVELS,
    ),
    "table2": Frame(
        "Table 2: Astraea by number of users",
        "users",
        {**_counted("a job ", "a job: "), **VARIANCES},
        pictures.users,
    ),
}
_SETTINGS: Mapping[str, Any] = {
    "lambda": 1,
    "clock": "absolute: utilities of the slot of completion",
    "theta": "rule of (8) over all jobs",
    "slot": "1 h",
    "bound": f"column generation over {SLOTS} slots; for schedules that preempt, of such",
    "ideal revenue": "of policies without rounds: the true one",
    "trace": "jobs in a row of one of the days with the most users; D drawn from 20 to 50",
    "not in the paper": list(OWN),
}


def from_rows(
    name: str, instances: Mapping[str, Mapping[str, Any]], rows: Iterable[FigureRow]
) -> Study:
    """Judge the rows of a figure again, for example those of a file.

    Parameters
    ----------
    name : str
        Such as ``irmp:fig4``.
    instances : mapping of str to mapping
        Facts about each instance.
    rows : iterable of FigureRow

    Returns
    -------
    Study
        Settings and verdicts follow from the rows.
    """
    frame = _FIGURES[name.removeprefix("irmp:")]
    return judged(name, frame, STATEMENTS[name], settings=_SETTINGS, instances=instances, rows=rows)


# --- tasks ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Source:
    """Synthetic jobs, or those of a trace, for one law of utilities."""

    name: str
    law: Law
    trace: Trace | None

    def load(self, seed: int, jobs: int, servers: int, users: int, most: int = 0) -> Workload:
        """A workload; of a trace, the first of `most` jobs in a row."""
        trace, there = self.trace, users
        if trace is not None:
            there = min(users, len({job.user for job in trace.jobs}))
            whole = there == len({job.user for job in trace.jobs})
            trace = excerpt(trace, max(most, jobs), seed, None if whole else users)
        return Workload(
            jobs=jobs, servers=servers, users=users, utility=self.law, seed=seed,
            source=f"{trace.name}, {there} users, {max(most, jobs)} jobs" if trace else "",
            trace=trace,
        )  # fmt: skip


def _sources(trace: Trace | None, laws: Sequence[Law] = LAWS) -> list[_Source]:
    made = [_Source(law, law, None) for law in laws]
    if trace is not None:
        made += [_Source(f"{trace.name.capitalize()} {law}", law, trace) for law in laws]
    return made


def _study(
    figure: str,
    tasks: Sequence[Task],
    rows: Sequence[FigureRow],
    more: Mapping[str, Any] | None = None,
) -> Study:
    facts = {}
    for name in dict.fromkeys(task.instance for task in tasks):
        own = [task for task in tasks if task.instance == name]
        first = dict.fromkeys(task.workload for task in own if task.x == own[0].x)
        facts[name] = facts_of(list(first))
    return from_rows(f"irmp:{figure}", {**facts, **(more or {})}, rows)


def _sweep(
    source: _Source,
    seeds: Sequence[int],
    policies: Sequence[str],
    jobs: Sequence[int],
    servers: Sequence[int],
    default: tuple[int, int, int],
) -> list[Task]:
    """Runs by jobs, and by servers."""
    many, wide, users = default
    points = [("jobs", x, x, wide) for x in jobs] + [("servers", x, many, x) for x in servers]
    most = max([many, *jobs])
    return [
        Task(
            instance=f"{source.name}, x = {kind}",
            policy=policy,
            workload=source.load(seed, count, size, users, most),
            solve=POLICIES[policy],
            x=x,
        )
        for kind, x, count, size in points
        for policy in policies
        for seed in seeds
    ]


# --- the figures ---------------------------------------------------------------------------------


def fig4(
    *,
    jobs: Sequence[int] = JOBS,
    servers: Sequence[int] = SERVERS,
    default: tuple[int, int] = (DEFAULT_JOBS, DEFAULT_SERVERS),
    seeds: Sequence[int] = SEEDS,
    trace: Trace | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 4: revenue by jobs and by servers.

    Parameters
    ----------
    jobs, servers : sequence of int
    default : (int, int)
        Jobs where servers vary, and servers where jobs do.
    seeds : sequence of int
    trace : Trace, optional
        Adds instances with its releases and users.
    processes : int, optional
        How many at once; by default as many as there are cores.
    progress : callable (str), optional
        Called with what has been done.

    Returns
    -------
    Study
    """
    users = min(DEFAULT_USERS, *servers)
    tasks = [
        task
        for source in _sources(trace)
        for task in _sweep(source, seeds, [*PAPER, *OWN], jobs, servers, (*default, users))
    ]
    found = outcomes_of("fig4", tasks, processes, progress)
    found = with_bounds(tasks, found, processes, progress)
    return _study("fig4", tasks, rows_of(tasks, found, _FIGURES["fig4"].measures))


def fig5(
    *,
    jobs: Sequence[int] = FEW_JOBS,
    servers: Sequence[int] = FEW_SERVERS,
    seeds: Sequence[int] = SEEDS,
    trace: Trace | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 5: Astraea's revenue over a bound, 2 users.

    Parameters
    ----------
    jobs, servers, seeds, trace, processes, progress
        As of :func:`fig4`.

    Returns
    -------
    Study
        The bound is at least the optimum that the paper divides by.
    """
    tasks = [
        Task(
            instance=f"{source.name}, {count} jobs",
            policy=ASTRAEA,
            workload=source.load(seed, count, size, 2, max(jobs)),
            solve=astraea,
            x=size,
        )
        for source in _sources(trace)
        for count in jobs
        for size in servers
        for seed in seeds
    ]
    found = outcomes_of("fig5", tasks, processes, progress)
    found = with_bounds(tasks, found, processes, progress)
    return _study("fig5", tasks, rows_of(tasks, found, _FIGURES["fig5"].measures))


def fig6(
    *,
    jobs: Sequence[int] = FEW_JOBS,
    servers: Sequence[int] = FEW_SERVERS,
    default: tuple[int, int] = (10, 25),
    seeds: Sequence[int] = SEEDS,
    trace: Trace | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 6: revenue of all policies over a bound, 2 users.

    Parameters
    ----------
    jobs, servers, default, seeds, trace, processes, progress
        As of :func:`fig4`.

    Returns
    -------
    Study
    """
    tasks = [
        task
        for source in _sources(trace)
        for task in _sweep(source, seeds, [*PAPER, *OWN], jobs, servers, (*default, 2))
    ]
    found = outcomes_of("fig6", tasks, processes, progress)
    found = with_bounds(tasks, found, processes, progress)
    return _study("fig6", tasks, rows_of(tasks, found, _FIGURES["fig6"].measures))


def _plain(
    source: _Source, seeds: Sequence[int], size: tuple[int, int, int], policies: Sequence[str]
) -> list[Task]:
    """Runs of policies on one instance."""
    jobs, servers, users = size
    return [
        Task(
            instance=f"{source.name}, {jobs} jobs",
            policy=policy,
            workload=source.load(seed, jobs, servers, users, max(JOBS)),
            solve=POLICIES[policy],
        )
        for policy in policies
        for seed in seeds
    ]


Size = tuple[int, int, int]
SIZE: Size = (DEFAULT_JOBS, DEFAULT_SERVERS, DEFAULT_USERS)


def fig7(
    *,
    size: Size = SIZE,
    seeds: Sequence[int] = SEEDS,
    trace: Trace | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 7: the revenue fairness ratio of each user.

    Parameters
    ----------
    size : (int, int, int)
        Jobs, servers, users.
    seeds, trace, processes, progress
        As of :func:`fig4`.

    Returns
    -------
    Study
        Users of different seeds have nothing in common but their number.
    """
    tasks = [t for s in _sources(trace) for t in _plain(s, seeds, size, PAPER)]
    found = outcomes_of("fig7", tasks, processes, progress)
    rows = rows_of(tasks, found, _FIGURES["fig7"].measures)
    per_user, outcomes = [], []
    for task, values in zip(tasks, found, strict=True):
        for user in range(size[2]):
            own = {f"alpha {c}": values.get(f"alpha {c} of {user}") for c in COUNTINGS}
            if any(value is not None for value in own.values()):
                per_user.append(replace(task, x=user))
                outcomes.append(own)
    return _study("fig7", tasks, [*rows, *rows_of(per_user, outcomes, _counted("alpha "))])


def fig8(
    *,
    size: Size = SIZE,
    seeds: Sequence[int] = SEEDS,
    trace: Trace | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 8: the variance of revenue fairness ratios.

    Parameters
    ----------
    size, seeds, trace, processes, progress
        As of :func:`fig7`.

    Returns
    -------
    Study
    """
    tasks = [t for s in _sources(trace) for t in _plain(s, seeds, size, [*PAPER, *OWN])]
    found = outcomes_of("fig8", tasks, processes, progress)
    return _study("fig8", tasks, rows_of(tasks, found, VARIANCES))


def _timed(
    figure: str,
    points: Sequence[tuple[int, int, int]],
    seeds: Sequence[int],
    trace: Trace | None,
    progress: Progress | None,
) -> Study:
    """Time Astraea, one run after another, the least of three."""
    kind = "jobs" if figure == "fig9" else "servers"
    tasks, found = [], list[Values]()
    most = max(jobs for _, jobs, _ in points)
    for source in _sources(trace, ("linear",)):
        for x, jobs, servers in points:
            for seed in seeds:
                load = source.load(seed, jobs, servers, min(DEFAULT_USERS, servers), most)
                task = Task(instance=f"{source.name}, x = {kind}", policy=ASTRAEA, workload=load,
                            solve=astraea, x=x)  # fmt: skip
                tasks.append(task)
                found.append(_times(load))
                if progress is not None:
                    progress(f"{figure}: {task.instance} {x}, seed {seed}")
    first = {(t.instance, t.workload.seed): f["a job ms"] or 1.0
             for t, f in reversed(list(zip(tasks, found, strict=True)))}  # fmt: skip
    for task, values in zip(tasks, found, strict=True):
        unit = first[task.instance, task.workload.seed]
        values["relative"] = short((values["a job ms"] or 0.0) / unit)
    return _study(figure, tasks, rows_of(tasks, found, SECONDS))


def _times(load: Workload) -> Values:
    least, problem = float("inf"), load.problem()
    for _ in range(3):
        begun = time.perf_counter()
        whole(astraea(problem))
        least = min(least, time.perf_counter() - begun)
    return {"seconds": short(least), "a job ms": short(1000 * least / load.jobs)}


def fig9(
    *,
    jobs: Sequence[int] = (25, 50, 75, 100),
    servers: int = DEFAULT_SERVERS,
    seeds: Sequence[int] = SEEDS,
    trace: Trace | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 9: running time by jobs.

    Parameters
    ----------
    jobs : sequence of int
    servers : int
    seeds, trace, progress
        As of :func:`fig4`.

    Returns
    -------
    Study
        With seconds of this machine.
    """
    return _timed("fig9", [(x, x, servers) for x in jobs], seeds, trace, progress)


def fig10(
    *,
    servers: Sequence[int] = (40, 60, 80, 100),
    jobs: int = DEFAULT_JOBS,
    seeds: Sequence[int] = SEEDS,
    trace: Trace | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 10: running time by servers; parameters as of :func:`fig9`."""
    return _timed("fig10", [(x, jobs, x) for x in servers], seeds, trace, progress)


def fig11(
    *,
    jobs: Sequence[int] = (50, 100),
    servers: int = DEFAULT_SERVERS,
    percent: Sequence[int] = PERCENT,
    seeds: Sequence[int] = SEEDS,
    trace: Trace | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 11: revenue where the highest prices are wrong.

    Parameters
    ----------
    jobs : sequence of int
    servers : int
    percent : sequence of int
        theta - 1, of workers and of PSs, in % of what the rule gives.
    seeds, trace, processes, progress
        As of :func:`fig4`.

    Returns
    -------
    Study
    """
    tasks = [
        Task(
            instance=f"{source.name}, {count} jobs",
            policy=ASTRAEA if x == 100 else f"{ASTRAEA} at {x} %",
            workload=source.load(seed, count, servers, min(DEFAULT_USERS, servers), max(JOBS)),
            solve=theta_of(x),
            x=x,
        )
        for source in _sources(trace)
        for count in jobs
        for x in percent
        for seed in seeds
    ]
    found = outcomes_of("fig11", tasks, processes, progress)
    tasks = [replace(task, policy=ASTRAEA) for task in tasks]
    return _study("fig11", tasks, rows_of(tasks, found, _FIGURES["fig11"].measures))


def fig12(
    *,
    size: Size = SIZE,
    seeds: Sequence[int] = (0,),
    trace: Trace | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 12: ideal revenue and cost of each accepted job.

    Parameters
    ----------
    size : (int, int, int)
        Jobs, servers, users.
    seeds : sequence of int
        The first alone.
    trace, progress
        As of :func:`fig4`.

    Returns
    -------
    Study
        The jobs are in the data, not in the tables.
    """
    rows, tasks = list[FigureRow](), []
    for source in _sources(trace):
        (task,) = _plain(source, seeds[:1], size, [ASTRAEA])
        problem = task.workload.problem()
        rows += job_rows(task.instance, problem, whole(astraea(problem)))
        tasks.append(task)
        if progress is not None:
            progress(f"fig12: {task.instance}")
    return _study("fig12", tasks, rows)


def fig13(
    *,
    size: Size = SIZE,
    seeds: Sequence[int] = SEEDS,
    trace: Trace | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 13: workers in use over time, and makespans.

    Parameters
    ----------
    size, seeds, trace, processes, progress
        As of :func:`fig7`.

    Returns
    -------
    Study
        Curves are means over seeds, and over the slots since the level before.
    """
    laws: tuple[Law, ...] = ("linear",)
    tasks = [t for s in _sources(trace, laws) for t in _plain(s, seeds, size, [*PAPER, *OWN])]
    found = outcomes_of("fig13", tasks, processes, progress)
    rows = []
    for row in rows_of(tasks, found, _FIGURES["fig13"].measures):
        own = [
            values
            for task, values in zip(tasks, found, strict=True)
            if (task.instance, task.policy) == (row.instance, row.policy)
        ]
        curve = [fmean(values[f"use at {level:.0f}"] or 0.0 for values in own) for level in LEVELS]
        rows.append(replace(row, curve=tuple(short(value) or 0.0 for value in curve)))
    return _study("fig13", tasks, rows)


def table2(
    *,
    users: Sequence[int] = USERS,
    jobs: int = DEFAULT_JOBS,
    servers: int = DEFAULT_SERVERS,
    seeds: Sequence[int] = SEEDS,
    trace: Trace | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Table 2: revenue a job and variance of fairness by the number of users.

    Parameters
    ----------
    users : sequence of int
        Of a trace, those with the most jobs.
    jobs, servers : int
    seeds, trace, processes, progress
        As of :func:`fig4`.

    Returns
    -------
    Study
    """
    tasks = [
        Task(
            instance=source.name,
            policy=ASTRAEA,
            workload=source.load(seed, jobs, servers, x, max(JOBS)),
            solve=astraea,
            x=x,
        )
        for source in _sources(trace)
        for x in users
        for seed in seeds
    ]
    found = outcomes_of("table2", tasks, processes, progress)
    return _study("table2", tasks, rows_of(tasks, found, _FIGURES["table2"].measures))
