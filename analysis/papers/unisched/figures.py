"""Table III and figures 5 to 12 of Gao et al. (IEEE TC 2024), on synthetic workloads.

=======  ======================================  ================================================
figure   varies                                  shows
=======  ======================================  ================================================
Tab. 3   jobs in 8 hours on 64 GPUs              miss rate, mean JCT, certified ratio
5        the kind of job                         reward by completion time
6        the policy; workload, job density       miss rate, best-effort latency, certified ratio
7        progress of a training; kind of job     errors of estimated epochs and run times
8        workload                                suspensions of a job
9        parts of the estimator                  miss rates, latency, wait for profiling
10       lease, selector, size of the queue      miss rates, latency; the linear program
10d      size of the queue                       seconds of the selector; not the same each time
11       share of consolidation-hostile jobs     miss rate, best-effort latency
12       parts of Chronus and of UniSched        miss rate, best-effort latency
=======  ======================================  ================================================

Workloads: H_* and P_* are :func:`~gangsched.instances.deadlines.helios_like_workload` and
:func:`~gangsched.instances.deadlines.philly_like_workload`, synthetic and a thirtieth of the
paper's, on as many nodes of 8 GPUs as come closest to an offered load of 1.5; T[m] is
:func:`~gangsched.instances.deadlines.testbed_workload`. Each point is the mean over seeds, which
draw other jobs. A statement holds where it does for every seed; where seeds disagree it is open.

UniSched profiles new jobs, the others know from the start what users state. Rounds of 60 s.

Source: W. Gao, Z. Ye, P. Sun, T. Zhang, Y. Wen, "UniSched: A Unified Scheduler for Deep Learning
Training Jobs With Different User Demands", IEEE TC 73(6), 2024, Sections III-C2 and IV to VI.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ....formulations.unisched.compact import capacity_of_problem, options_of_problem
from ....formulations.unisched.problem import UniSched
from ....instances import Cluster, DeadlineJob, Instance
from ....instances.deadlines import queue_snapshot
from ....solvers.unisched.chronus import Chronus
from ....solvers.unisched.estimator import DurationEstimates
from ....solvers.unisched.learning_curves import error_table
from ....solvers.unisched.policy import UniSchedPolicy
from ....solvers.unisched.selector import Selector
from ..common import Frame, judged, rows_of
from ..experiment import Progress
from ..study import FigureRow, Study, Values, short
from . import pictures as pictures
from .runs import (  # fmt: skip
    BE_LEASE,
    LEASE,
    LOAD,
    POLICIES,
    PROFILERS,
    ROUND,
    SIZES,
    Make,
    Size,
    Sizes,
    Task,
    Workload,
    facts_of,
    normalised,
    outcomes_of,
    with_ratios,
)
from .statements import (  # fmt: skip
    BRISK,
    CAREFUL,
    CHRONUS,
    DENSITY,
    EDF,
    FEASIBLE,
    FREE,
    KNOWN,
    MAXIMUM,
    OWN,
    PRINTED_ROUNDING,
    PRINTED_TESTBED,
    PROMPT,
    QUEUE,
    STATEMENTS,
    STATIC,
    TRUE,
    UNAWARE,
    UNISCHED,
    WITH_ESTIMATOR,
    WITH_SELECTOR,
    costs_of,
    density_of,
    hostile_of,
    lease_of,
    noise_of,
    testbed_of,
)

__all__ = [
    "SIZES", "Size", "Workload", "fig5", "fig6", "fig7", "fig8", "fig9", "fig10", "fig10d", "fig11",
    "fig12", "from_rows", "table3",
]  # fmt: skip

SEEDS, TESTBED_SEEDS = (0, 1), (0, 1, 2)
FAMILIES = ("SLO", "MIX1", "MIX2")
WORKLOADS = tuple(f"{kind}_{family}" for kind in "HP" for family in FAMILIES)
MIXED = tuple(name for name in WORKLOADS if not name.endswith("SLO"))
DENSITIES = (80, 100, 120, 140, 160)  # %
LEASES = (5, 10, 30, 60)  # min
FACTORS = (1, 2, 3, 4, 5)  # of preemption costs
NOISES = (0, 20, 40, 60, 100)  # %
SHARES = (10, 20, 40, 60, 80)  # % of jobs that are hostile
QUEUES = (125, 250, 500, 1000, 2000)  # jobs


# --- the figures ---------------------------------------------------------------------------------


MISS, LATENCY = "miss rate R^slo (%)", "best-effort latency (min)"
MINUTES = tuple(float(minute) for minute in range(0, 151, 5))
_FIGURES: Mapping[str, Frame] = {
    "table3": Frame(
        "Table III: T[m], m jobs in 8 hours on 64 GPUs",
        "",
        {"miss": MISS, "jct": "mean JCT (min)", "ratio": "certified ratio"},
        pictures.testbed,
    ),
    "fig5": Frame(
        "Fig. 5(a): reward by completion time",
        "",
        {"reward": "reward at once", "last": "after the last deadline"},
        pictures.rewards,
        MINUTES,
    ),
    "fig6": Frame(
        "Fig. 6: schedulers by workload and by job density",
        "job density (%)",
        {
            "miss": MISS,
            "latency_ratio": "best-effort latency, UniSched = 1",
            "latency": LATENCY,
            "ratio": "certified ratio",
        },
        pictures.schedulers,
    ),
    "fig7": Frame(
        "Fig. 7(c), (d): errors of the estimator",
        "epochs seen (%)",
        {
            "mean": "mean error (%)",
            "median": "median error (%)",
            "slo_error": "SLO jobs, mean error (%)",
            "be_error": "best-effort jobs, mean error (%)",
        },
        pictures.errors,
    ),
    "fig8": Frame(
        "Fig. 8: suspensions of a job under UniSched",
        "",
        {"suspensions": "mean number"},
        pictures.suspensions,
    ),
    "fig9": Frame(
        "Fig. 9: parts of the estimator",
        "x",
        {
            "miss": MISS,
            "metric_miss": "of jobs with a target metric (%)",
            "latency": LATENCY,
            "wait": "mean wait for profiling (s)",
            "longest_wait": "longest wait for profiling (s)",
        },
        pictures.estimator,
    ),
    "fig10": Frame(
        "Fig. 10: parts of the selector",
        "x",
        {
            "miss": MISS,
            "latency": LATENCY,
            "jobs": "jobs",
            "columns": "columns",
            "rows": "rows",
            "iterations": "simplex iterations",
            "gap": "certified gap (%)",
        },
        pictures.selector,
    ),
    "fig10d": Frame(
        "Fig. 10(d): seconds of the selector, on the machine that wrote this",
        "GPUs",
        {
            "options_seconds": "options (s)",
            "cold_seconds": "selection (s)",
            "warm_seconds": "the same again (s)",
        },
        pictures.selector_seconds,
    ),
    "fig11": Frame(
        "Fig. 11: consolidation-hostile jobs",
        "hostile jobs (%)",
        {
            "miss": MISS,
            "latency_ratio": "best-effort latency, UniSched = 1",
            "latency": LATENCY,
        },
        pictures.hostile,
    ),
    "fig12": Frame(
        "Fig. 12: Chronus, with UniSched's parts, and UniSched",
        "",
        {
            "miss": MISS,
            "metric_miss": "of jobs with a target metric (%)",
            "latency_ratio": "best-effort latency, UniSched = 1",
            "latency": LATENCY,
        },
        pictures.chronus,
    ),
}


def from_rows(
    name: str, instances: Mapping[str, Mapping[str, Any]], rows: Iterable[FigureRow]
) -> Study:
    """Judge the rows of a figure again, for example those of a file.

    Parameters
    ----------
    name : str
        Such as ``unisched:fig6``.
    instances : mapping of str to mapping
        Facts about each instance.
    rows : iterable of FigureRow

    Returns
    -------
    Study
        Settings and verdicts follow from the rows.
    """
    frame, settings = _FIGURES[name.removeprefix("unisched:")], _SETTINGS.get(name, _RUNS)
    return judged(name, frame, STATEMENTS[name], settings=settings, instances=instances, rows=rows)


_RUNS: Mapping[str, Any] = {
    "round (s)": ROUND,
    "SLO lease (s)": LEASE,
    "BE lease (s)": BE_LEASE,
    "offered load": LOAD,
    "generators": "gangsched.instances.deadlines; nodes of 8 GPUs, as many as come closest to the "
    "load and hold every gang; lists are by seed",
    "run times": "UniSched profiles; the others know what users state, Themis the truth",
    "Optimus and EDF": "gangs; epochs by UniSched's estimator",
    "Themis": "Gavel's program for finish-time fairness",
    "static profiler": f"{PROFILERS} node",
    WITH_ESTIMATOR: "learning curves and the mean cost of suspensions",
    WITH_SELECTOR: "UniSched that believes the users' epochs, without the cost of suspensions",
    "not in the paper": list(OWN),
}
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "unisched:table3": {
        **_RUNS,
        "offered load": "as it comes",
        "generators": "gangsched.instances.deadlines.testbed_workload, and with grace=0; lists are "
        "by seed",
    },
    "unisched:fig5": {
        "curves": "reward in the cycle at time 0 of a job that ends at so many minutes",
        "first deadline (min)": 60,
        "BE lease (s)": BE_LEASE,
    },
    "unisched:fig10d": {
        "generator": "gangsched.instances.deadlines.queue_snapshot, seed 0",
        "seconds": "wall clock of this machine, the least of 3",
    },
}


def _study(
    figure: str,
    tasks: Sequence[Task],
    outcomes: Sequence[Values],
    *,
    more: Sequence[FigureRow] = (),
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> Study:
    loads: dict[str, dict[Workload, None]] = {}
    for task in tasks:
        loads.setdefault(task.instance, {})[task.workload] = None
    known = {name: facts_of(_first_x(name, tasks)) for name in loads}
    rows = [*rows_of(tasks, outcomes, _FIGURES[figure].measures), *more]
    return from_rows(f"unisched:{figure}", {**known, **(facts or {})}, rows)


def _first_x(instance: str, tasks: Sequence[Task]) -> list[Workload]:
    """The workloads of an instance; where the figure varies them, those at its first x."""
    own = [task for task in tasks if task.instance == instance]
    return list(dict.fromkeys(task.workload for task in own if task.x == own[0].x))


def _workloads(name: str, sizes: Sizes, seeds: Sequence[int]) -> list[Workload]:
    return [Workload(name, sizes[name[0]], seed) for seed in seeds]


def table3(
    *,
    jobs: Sequence[int] = (360, 720),
    seeds: Sequence[int] = TESTBED_SEEDS,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Table III: miss rate and mean JCT on 16 nodes of 4 GPUs.

    Parameters
    ----------
    jobs : sequence of int
        m of each T[m].
    seeds : sequence of int
    processes : int, optional
        How many at once; by default as many as there are cores.
    progress : callable (str), optional
        Called with what has been done.

    Returns
    -------
    Study
    """
    brisk = partial(UniSchedPolicy, profiling="none", lease=120, be_lease=60)
    policies: dict[str, Make] = {
        **{label: POLICIES[label] for label in (UNISCHED, PROMPT, KNOWN)},
        BRISK: brisk,
        **{label: POLICIES[label] for label in ("Optimus", EDF)},
    }
    names = [(testbed_of(m, printed=p), m) for p in (False, True) for m in jobs]
    tasks = [
        Task(instance=name, policy=label, workload=Workload(name, None, seed), make=make)
        for name, _ in names
        for label, make in policies.items()
        for seed in seeds
    ]
    outcomes = outcomes_of("table3", tasks, processes, progress)
    outcomes = with_ratios(tasks, outcomes, processes, progress)
    printed = [
        FigureRow(name, label, None, dict(values))
        for name, m in names
        for label, values in PRINTED_TESTBED.get(m, {}).items()
    ]
    return _study("table3", tasks, outcomes, more=printed)


def fig5(*, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 5(a): the rewards of the four kinds of job, by the code that the model uses.

    Parameters
    ----------
    progress : callable (str), optional
        Not called: this takes no time.

    Returns
    -------
    Study

    Examples
    --------
    >>> {row.policy: row.values["reward"] for row in fig5().rows}["soft SLO"]
    100.0
    """
    hour = 3600
    later = [(hour * k // 10, value) for k, value in ((10, 100), (11, 80), (12, 50), (15, 20))]
    rewards = {"strict SLO": later[:1], "soft SLO": later}
    curves: dict[str, list[float]] = {
        kind: [
            DeadlineJob(id="j", gpus=1, work=60, rewards=steps).reward(int(60 * minute))
            for minute in MINUTES
        ]
        for kind, steps in rewards.items()
    }
    for kind, profiled in (("profiler", True), ("best effort", False)):
        curves[kind] = [_worth(int(60 * minute), profiled=profiled) for minute in MINUTES]
    rows = [
        FigureRow("rewards", kind, None, {"reward": curve[0], "last": curve[-1]}, tuple(curve))
        for kind, curve in curves.items()
    ]
    facts = {"rewards": {"deadlines (min)": [deadline // 60 for deadline, _ in later]}}
    return from_rows("unisched:fig5", facts, rows)


def _worth(seconds: int, *, profiled: bool) -> float:
    """What a lease is worth to a job without deadlines that then needs so many seconds."""
    job = DeadlineJob(id="j", gpus=1, work=max(1, seconds), preemption_cost=0)
    problem = UniSched(
        Instance(Cluster.of_sizes([1]), [job]), profilers=frozenset([0] if profiled else [])
    )
    (value,) = options_of_problem(problem).value.tolist()
    return short(value) or 0.0


def fig6(
    *,
    sizes: Sizes = SIZES,
    seeds: Sequence[int] = SEEDS,
    policies: Mapping[str, Make] = POLICIES,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 6: miss rates and best-effort latencies of schedulers.

    Parameters
    ----------
    sizes : mapping of str to Size
        By the first letter of a workload.
    seeds : sequence of int
    policies : mapping of str to callable
        How each is made, by label.
    processes : int, optional
        How many at once; by default as many as there are cores.
    progress : callable (str), optional
        Called with what has been done.

    Returns
    -------
    Study
        (a), (b) by workload; (c), (d) by job density on H_MIX2.
    """
    tasks = [
        Task(instance=name, policy=label, workload=workload, make=make)
        for name in WORKLOADS
        for label, make in policies.items()
        for workload in _workloads(name, sizes, seeds)
    ]
    tasks += [
        Task(instance=DENSITY, policy=label, workload=density_of(workload, x), make=make, x=x)
        for label, make in policies.items()
        if label not in (PROMPT, "FIFO")
        for x in DENSITIES
        for workload in _workloads("H_MIX2", sizes, seeds)
    ]
    outcomes = normalised(tasks, outcomes_of("fig6", tasks, processes, progress))
    return _study("fig6", tasks, with_ratios(tasks, outcomes, processes, progress))


def fig7(
    *,
    sizes: Sizes = SIZES,
    seeds: Sequence[int] = SEEDS,
    curves: int = 150,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 7(c) and (d): errors of estimated epochs, and of run times at half the work.

    Parameters
    ----------
    sizes, seeds, processes, progress
        As of :func:`fig6`.
    curves : int
        Synthetic trainings of (c).

    Returns
    -------
    Study
    """
    tasks = [
        Task(instance=f"(d) {name}", policy=UNISCHED, workload=workload, make=UniSchedPolicy)
        for name in WORKLOADS[:3]
        for workload in _workloads(name, sizes, seeds)
    ]
    outcomes = outcomes_of("fig7", tasks, processes, progress)
    name, rows = "(c) synthetic trainings", []
    for point in error_table(0, curves=curves):
        own = (UNISCHED, point.mean, point.median)
        most = (MAXIMUM, point.max_mean, point.max_median)
        for label, mean, median in (own, most):
            values = {"mean": short(100 * mean), "median": short(100 * median)}
            rows.append(FigureRow(name, label, round(100 * point.seen), values))
    rows.sort(key=lambda row: (row.policy, row.x))
    facts = {name: {"trainings": curves, "seed": 0}}
    return _study("fig7", tasks, outcomes, more=rows, facts=facts)


def fig8(
    *,
    sizes: Sizes = SIZES,
    seeds: Sequence[int] = SEEDS,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 8: suspensions by workload; parameters as of :func:`fig6`."""
    plain = [
        Task(instance=name, policy=UNISCHED, workload=workload, make=UniSchedPolicy)
        for name in WORKLOADS
        for workload in _workloads(name, sizes, seeds)
    ]
    found = outcomes_of("fig8", plain, processes, progress)
    tasks, outcomes = [], []
    for task, values in zip(plain, found, strict=True):
        for kind, measured in (("SLO", "slo_suspensions"), ("best effort", "be_suspensions")):
            tasks.append(replace(task, policy=kind))
            outcomes.append({"suspensions": values[measured]})
    order = sorted(range(len(tasks)), key=lambda k: tasks[k].policy != "SLO")
    return _study("fig8", [tasks[k] for k in order], [outcomes[k] for k in order])


def fig9(
    *,
    sizes: Sizes = SIZES,
    seeds: Sequence[int] = SEEDS,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 9: UniSched without parts of its estimator; parameters as of :func:`fig6`."""
    parts: Mapping[str, Make] = {
        UNISCHED: UniSchedPolicy,
        STATIC: partial(UniSchedPolicy, profiling="static", profiler_nodes=PROFILERS),
        MAXIMUM: partial(UniSchedPolicy, iterations="maximum"),
        CAREFUL: partial(UniSchedPolicy, quantile=0.9),
        TRUE: partial(UniSchedPolicy, iterations="true"),
    }
    tasks = [
        Task(instance=name, policy=label, workload=workload, make=make)
        for name in MIXED
        for label, make in parts.items()
        for workload in _workloads(name, sizes, seeds)
    ]
    aware: Mapping[str, Make] = {
        UNISCHED: UniSchedPolicy,
        UNAWARE: partial(UniSchedPolicy, sr_aware=False),
    }
    tasks += [
        Task(
            instance=costs_of("H_MIX2"), policy=label, workload=replace(workload, cost=x),
            make=make, x=x,
        )
        for label, make in aware.items()
        for x in FACTORS
        for workload in _workloads("H_MIX2", sizes, seeds)
    ]  # fmt: skip
    tasks += [
        Task(instance=noise_of(name), policy=UNISCHED, workload=workload, make=make, x=x)
        for name in ("H_MIX2", "P_MIX2")
        for x in NOISES
        for make in [partial(UniSchedPolicy, noise=x / 100)]
        for workload in _workloads(name, sizes, seeds)
    ]
    outcomes = [
        {name: v for name, v in values.items() if task.x is None or "wait" not in name}
        for task, values in zip(tasks, outcomes_of("fig9", tasks, processes, progress), strict=True)
    ]
    return _study("fig9", tasks, outcomes)


def fig10(
    *,
    sizes: Sizes = SIZES,
    seeds: Sequence[int] = SEEDS,
    queues: Sequence[int] = QUEUES,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 10: lease length, objective, and the linear program by size of the queue.

    Parameters
    ----------
    sizes, seeds, processes, progress
        As of :func:`fig6`.
    queues : sequence of int
        Jobs of each queue.

    Returns
    -------
    Study
        (a) also with the printed rounding, and without costs of suspensions; seconds of (d) are
        measured by :func:`fig10d`.
    """
    variants: Mapping[str, tuple[int, Callable[..., UniSchedPolicy]]] = {
        UNISCHED: (1, UniSchedPolicy),
        PRINTED_ROUNDING: (1, partial(UniSchedPolicy, rounding="paper")),
        FREE: (0, UniSchedPolicy),
    }
    tasks = [
        Task(
            instance=lease_of(name), policy=label,
            workload=replace(workload, cost=cost), x=minutes,
            make=partial(make, lease=60 * minutes),
        )
        for name in ("H_MIX1", "H_MIX2")
        for label, (cost, make) in variants.items()
        for minutes in LEASES
        for workload in _workloads(name, sizes, seeds)
    ]  # fmt: skip
    choices: Mapping[str, Make] = {
        UNISCHED: UniSchedPolicy,
        FEASIBLE: partial(UniSchedPolicy, selector="feasible"),
    }
    tasks += [
        Task(instance=name, policy=label, workload=workload, make=make)
        for name in WORKLOADS
        for label, make in choices.items()
        for workload in _workloads(name, sizes, seeds)
    ]
    outcomes = outcomes_of("fig10", tasks, processes, progress)
    rows = [_program(jobs) for jobs in queues]
    return _study("fig10", tasks, outcomes, more=rows, facts={QUEUE: {"jobs": list(queues)}})


def _program(jobs: int) -> FigureRow:
    """The linear program of one cycle, and what its rounding leaves to its bound."""
    problem = UniSched(queue_snapshot(jobs))
    options = options_of_problem(problem)
    capacity = capacity_of_problem(problem, options.slots)
    found = Selector().select(options, capacity)
    values: Values = {
        "jobs": jobs,
        "columns": len(options),
        "rows": int(np.unique(options.job).size) + capacity.size,
        "iterations": found.iterations,
        "gap": short(100 * (found.bound.value / found.value - 1)) if found.value else None,
    }
    return FigureRow(QUEUE, UNISCHED, problem.instance.cluster.gpus, values)


def fig10d(*, queues: Sequence[int] = QUEUES, progress: Progress | None = None) -> Study:
    """Measure what the selector takes by size of the queue. Not the same each time.

    Parameters
    ----------
    queues : sequence of int
        Jobs of each queue.
    progress : callable (str), optional
        Called with what has been done.

    Returns
    -------
    Study
    """
    rows = []
    for jobs in queues:
        problem = UniSched(queue_snapshot(jobs))
        times = [_seconds(problem) for _ in range(3)]
        values: Values = {name: short(min(own[name] for own in times)) for name in times[0]}
        rows.append(FigureRow(QUEUE, UNISCHED, problem.instance.cluster.gpus, values))
        if progress is not None:
            progress(f"fig10d: {jobs} jobs")
    return from_rows("unisched:fig10d", {QUEUE: {"jobs": list(queues)}}, rows)


def _seconds(problem: UniSched) -> dict[str, float]:
    clock = [time.perf_counter()]
    options = options_of_problem(problem)
    capacity = capacity_of_problem(problem, options.slots)
    clock.append(time.perf_counter())
    selector = Selector()
    keys = np.arange(len(problem.jobs))
    for shift in (1, 0):
        selector.select(options, capacity, keys=keys, shift=shift)
        clock.append(time.perf_counter())
    names = ("options_seconds", "cold_seconds", "warm_seconds")
    return dict(zip(names, np.diff(clock).tolist(), strict=True))


def fig11(
    *,
    sizes: Sizes = SIZES,
    seeds: Sequence[int] = SEEDS,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 11: allocations by share of hostile jobs; parameters as of :func:`fig6`."""
    allocations: Mapping[str, Make] = {
        UNISCHED: UniSchedPolicy,
        "consolidated": partial(UniSchedPolicy, allocations="consolidated"),
        "exact": partial(UniSchedPolicy, allocations="exact"),
    }
    tasks = [
        Task(instance="H_MIX2", policy=label, workload=hostile_of(workload, x), make=make, x=x)
        for label, make in allocations.items()
        for x in SHARES
        for workload in _workloads("H_MIX2", sizes, seeds)
    ]
    return _study(
        "fig11", tasks, normalised(tasks, outcomes_of("fig11", tasks, processes, progress))
    )


def fig12(
    *,
    sizes: Sizes = SIZES,
    seeds: Sequence[int] = SEEDS,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 12: between Chronus and UniSched; parameters as of :func:`fig6`."""
    between: Mapping[str, Make] = {
        CHRONUS: Chronus,
        WITH_ESTIMATOR: partial(Chronus, estimates=DurationEstimates(), sr_aware=True),
        WITH_SELECTOR: partial(UniSchedPolicy, iterations="maximum", sr_aware=False),
        UNISCHED: UniSchedPolicy,
    }
    tasks = [
        Task(instance=name, policy=label, workload=workload, make=make)
        for name in MIXED
        for label, make in between.items()
        for workload in _workloads(name, sizes, seeds)
    ]
    return _study(
        "fig12", tasks, normalised(tasks, outcomes_of("fig12", tasks, processes, progress))
    )
