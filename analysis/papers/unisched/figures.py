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

UniSched profiles new jobs. In Table III and Fig. 6 every row says how it knows run times: the
others profile as UniSched does (:class:`~gangsched.solvers.Profiled`), or all know what users
state, UniSched too. Rounds of 60 s. All jobs of all seeds are in every number.

Source: W. Gao, Z. Ye, P. Sun, T. Zhang, Y. Wen, "UniSched: A Unified Scheduler for Deep Learning
Training Jobs With Different User Demands", IEEE TC 73(6), 2024, Sections III-C2 and IV to VI.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ....formulations.unisched.compact import capacity_of_problem, options_of_problem
from ....formulations.unisched.problem import UniSched
from ....instances import Cluster, DeadlineJob, Instance
from ....instances.deadlines import queue_snapshot, target_metric
from ....solvers.unisched.chronus import Chronus
from ....solvers.unisched.estimator import DurationEstimates, Mode
from ....solvers.unisched.policy import UniSchedPolicy
from ....solvers.unisched.savings import prediction_errors
from ....solvers.unisched.selector import Selector
from ..experiment import FigureCell, Finished, figures_of, given
from ..study import Values, short
from . import runs as runs
from . import statements as said
from .conditions import conditions
from .runs import POLICIES, SIZES, DeadlineWorkload, Make, Sizes

SEEDS = (0, 1, 2)
FAMILIES = ("SLO", "MIX1", "MIX2")
WORKLOADS = tuple(f"{kind}_{family}" for kind in "HP" for family in FAMILIES)
MIXED = tuple(name for name in WORKLOADS if not name.endswith("SLO"))
DENSITIES = (80, 100, 120, 140, 160)  # %
LEASES = (5, 10, 30, 60)  # min
FACTORS = (1, 2, 3, 4, 5)  # of preemption costs
NOISES = (0, 20, 40, 60, 100)  # %
SHARES = (10, 20, 40, 60, 80)  # % of jobs that are hostile
QUEUES = (125, 250, 500, 1000, 2000)  # jobs


MINUTES = tuple(float(minute) for minute in range(0, 151, 5))


# --- cells: every policy on every workload, with every seed ---------------------------------------


class _Sweep(NamedTuple):
    """Policies on workloads; at each x, if there are some, both may be others, by the label."""

    names: Sequence[str]
    policies: Mapping[str, Make]
    xs: Sequence[int | None] = (None,)
    named: Callable[[str], str] = str
    vary: Callable[[str, DeadlineWorkload, Any, int], tuple[DeadlineWorkload, Make]] = (
        lambda label, load, make, x: (load, make)
    )

    def cells(self, sizes: Sizes, seeds: Sequence[int]) -> Iterator[FigureCell]:
        """Yield the cells of each policy; workloads without a size have their own."""
        places = product(self.names, self.policies.items(), self.xs, seeds)
        for name, (label, make), x, seed in places:
            load = DeadlineWorkload(name, sizes.get(name[0]), seed)
            if x is not None:
                load, make = self.vary(label, load, make, x)
            yield runs.cell_of(self.named(name), label, load, make, x)


def _cells(
    *sweeps: _Sweep, bounds: bool = True, sizes: Sizes = SIZES, seeds: Sequence[int] = SEEDS
) -> list[FigureCell]:
    """The runs of sweeps, with the bounds of all workloads."""
    cells = [cell for sweep in sweeps for cell in sweep.cells(sizes, seeds)]
    return runs.and_bounds(cells) if bounds else cells


PLAIN: Mapping[str, Make] = {said.UNISCHED: UniSchedPolicy}
BRIEF_LEASES = partial(UniSchedPolicy, profiling="none", lease=120, be_lease=60)


def _testbeds(jobs: Sequence[int] = (360, 720), seeds: Sequence[int] = SEEDS) -> list[FigureCell]:
    """T[m] for each m, with later deadlines and with those printed; and the printed numbers."""
    policies: Mapping[str, Make] = {**POLICIES, said.BRISK: BRIEF_LEASES}
    labels = [said.PAYING, said.PRINTED_REWARD, said.KNOWN, said.BRISK]
    for name in ("GENIE", "Hydra", "Optimus", said.EDF):
        labels += [said.knows(name, information) for information in said.INFORMATION]
    names = {said.testbed_of(m, printed=p): m for p in (False, True) for m in jobs}
    printed = [
        FigureCell(instance=name, policy=label, run=given, workload=values)
        for name, m in names.items()
        for label, values in said.PRINTED_TESTBED.get(m, {}).items()
    ]
    sweep = _Sweep([*names], {label: policies[label] for label in labels})
    return _cells(sweep, seeds=seeds) + printed


def _rewards() -> Iterator[FigureCell]:
    yield FigureCell(instance="rewards", policy="all", run=_curves)


def _curves(cell: FigureCell) -> dict[str, Any]:
    """What the four kinds of job are worth by their completion, by the code the model uses."""
    hour = 3600
    later = [(hour * k // 10, value) for k, value in ((10, 100), (11, 80), (12, 50), (15, 20))]
    ends = [int(60 * minute) for minute in MINUTES]
    curves: dict[str, list[float]] = {}
    for kind, steps in (("strict SLO", later[:1]), ("soft SLO", later)):
        job = DeadlineJob(id="j", gpus=1, work=60, rewards=steps)
        curves[kind] = [job.reward(end) for end in ends]
    for kind, profiled in (("profiler", True), ("best effort", False)):
        curves[kind] = [_worth(end, profiled=profiled) for end in ends]
    rows = [
        [cell.instance, kind, None, {"reward": curve[0], "last": curve[-1]}, curve]
        for kind, curve in curves.items()
    ]
    facts = {"deadlines (min)": [deadline // 60 for deadline, _ in later]}
    return {"rows": rows, "facts": {cell.instance: facts}}


def _worth(seconds: int, *, profiled: bool) -> float:
    """What a lease is worth to a job without deadlines that then needs so many seconds."""
    job = DeadlineJob(id="j", gpus=1, work=max(1, seconds), preemption_cost=0)
    problem = UniSched(
        Instance(Cluster.of_sizes([1]), [job]), profilers=frozenset([0] if profiled else [])
    )
    (value,) = options_of_problem(problem).value.tolist()
    return short(value) or 0.0


SCHEDULERS = (
    _Sweep(WORKLOADS, POLICIES),
    _Sweep(
        ("H_MIX2",),
        {
            name: make
            for name, make in POLICIES.items()
            if name not in (said.PRINTED_REWARD, "FIFO") and "rigid" not in name
        },
        DENSITIES,
        lambda name: said.DENSITY,
        lambda label, load, make, x: (replace(load, density=None if x == 100 else x), make),
    ),
)


def _errors(
    sizes: Sizes = SIZES, seeds: Sequence[int] = SEEDS, curves: int = 150
) -> Iterator[FigureCell]:
    """Of run times at half the work, and of epochs of so many trainings as workloads have them."""
    sweep = _Sweep(WORKLOADS[:3], PLAIN, named="(d) {}".format)
    yield from _cells(sweep, bounds=False, sizes=sizes, seeds=seeds)
    modes: Mapping[str, Mode] = {
        said.UNISCHED: "calibrated", said.ENSEMBLE: "ensemble", said.MAXIMUM: "maximum",
    }  # fmt: skip
    for (label, mode), x, seed in product(modes.items(), SEEN, seeds):
        yield FigureCell(
            instance=said.TRAININGS, policy=label, run=_epochs, x=x, seed=seed, make=mode,
            workload=Trainings(curves, seed), same=f"{mode}, {x} %, {curves}, {seed}",
        )  # fmt: skip


#: parts of a training, in %, after which epochs are predicted in Fig. 7(c)
SEEN = (10, 20, 40, 60, 80)


class Trainings(NamedTuple):
    """So many trainings up to a target, as the workloads have them."""

    curves: int
    seed: int


def _epochs(cell: FigureCell) -> Values:
    rng = np.random.default_rng(cell.workload.seed)
    jobs = [target_metric(rng) for _ in range(cell.workload.curves)]
    errors = 100 * np.abs(prediction_errors(jobs, cell.make, (cell.x or 0) / 100))
    return {"mean": short(float(errors.mean())), "median": short(float(np.median(errors)))}


def _by_kind(finished: Finished) -> Finished:
    """Suspensions of the two kinds of job, as if they were policies."""
    kinds = ("SLO", "slo_suspensions"), ("best effort", "be_suspensions")
    return [
        (replace(cell, policy=kind), {"suspensions": own[measured]})
        for kind, measured in kinds
        for cell, own in finished
    ]


#: UniSched without parts of its estimator; by preemption costs; and with noise
PARTS = (
    _Sweep(MIXED, {
        said.UNISCHED: UniSchedPolicy,
        said.STATIC: partial(UniSchedPolicy, profiling="static", profiler_nodes=runs.PROFILERS),
        said.MAXIMUM: partial(UniSchedPolicy, iterations="maximum"),
        said.ENSEMBLE: partial(UniSchedPolicy, iterations="ensemble"),
        said.CAREFUL: partial(UniSchedPolicy, quantile=0.9),
        said.TRUE: partial(UniSchedPolicy, iterations="true"),
    }),
    _Sweep(
        ("H_MIX2",), {**PLAIN, said.UNAWARE: partial(UniSchedPolicy, sr_aware=False)}, FACTORS,
        said.costs_of, lambda label, load, make, x: (replace(load, cost=x), make),
    ),
    _Sweep(
        ("H_MIX2", "P_MIX2"), PLAIN, NOISES, said.noise_of,
        lambda label, load, make, x: (load, partial(make, noise=x / 100)),
    ),
)  # fmt: skip


def _without_waits(finished: Finished) -> Finished:
    """Waits for profiling are shown where nothing varies."""
    return [
        (cell, {name: v for name, v in own.items() if cell.x is None or "wait" not in name})
        for cell, own in finished
    ]


#: by lease, also with the printed rounding and without costs; and by objective
SELECTIONS = (
    _Sweep(
        ("H_MIX1", "H_MIX2"),
        {
            **PLAIN,
            said.PRINTED_ROUNDING: partial(UniSchedPolicy, rounding="paper"),
            said.FREE: UniSchedPolicy,
            said.GRID: partial(UniSchedPolicy, starts="grid"),
        },
        LEASES,
        said.lease_of,
        lambda label, load, make, x: (
            replace(load, cost=int(label != said.FREE)),
            partial(make, lease=60 * x),
        ),
    ),
    _Sweep(WORKLOADS, {**PLAIN, said.FEASIBLE: partial(UniSchedPolicy, selector="feasible")}),
)


def _selectors(queues: Sequence[int] = QUEUES, **sizes: Any) -> list[FigureCell]:
    """With the linear program of some queues."""
    return [*_cells(*SELECTIONS, **sizes), *_queues(queues, _program)]


def _queues(
    queues: Sequence[int] = QUEUES, run: Callable[[FigureCell], dict[str, Any]] | None = None
) -> Iterator[FigureCell]:
    for jobs in queues:
        yield FigureCell(
            instance=said.QUEUE,
            policy=said.UNISCHED,
            run=run or _seconds,
            workload=jobs,
        )


def _program(cell: FigureCell) -> dict[str, Any]:
    """The linear program of one cycle, and what its rounding leaves to its bound."""
    problem = UniSched(queue_snapshot(cell.workload))
    options = options_of_problem(problem)
    capacity = capacity_of_problem(problem, options.slots)
    found = Selector().select(options, capacity)
    values: Values = {
        "jobs": cell.workload,
        "columns": len(options),
        "rows": int(np.unique(options.job).size) + capacity.size,
        "iterations": found.iterations,
        "gap": short(100 * (found.bound.value / found.value - 1)) if found.value else None,
    }
    return _of_queue(problem, values)


def _of_queue(problem: UniSched, values: Values) -> dict[str, Any]:
    return {"rows": [[said.QUEUE, said.UNISCHED, problem.instance.cluster.gpus, values]]}


def _seconds(cell: FigureCell) -> dict[str, Any]:
    """What the selector takes, the least of three."""
    problem = UniSched(queue_snapshot(cell.workload))
    times = [_timed(problem) for _ in range(3)]
    return _of_queue(problem, {name: short(min(own[name] for own in times)) for name in times[0]})


def _timed(problem: UniSched) -> dict[str, float]:
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


#: by share of hostile jobs
ALLOCATIONS = _Sweep(
    ("H_MIX2",),
    {
        **PLAIN,
        "consolidated": partial(UniSchedPolicy, allocations="consolidated"),
        "exact": partial(UniSchedPolicy, allocations="exact"),
    },
    SHARES,
    vary=lambda label, load, make, x: (replace(load, hostile=x), make),
)
#: Chronus, with parts of UniSched, and UniSched
BETWEEN = _Sweep(MIXED, {
    said.CHRONUS: Chronus,
    said.WITH_ESTIMATOR: partial(Chronus, estimates=DurationEstimates(), sr_aware=True),
    said.WITH_SELECTOR: partial(UniSchedPolicy, iterations="maximum", sr_aware=False),
    **PLAIN,
})  # fmt: skip


def _facts(cells: list[FigureCell]) -> dict[str, Any]:
    loads = [cell.workload for cell in cells if isinstance(cell.workload, DeadlineWorkload)]
    if loads:
        return runs.facts_of(list(dict.fromkeys(loads)))
    trainings = [cell.workload for cell in cells if isinstance(cell.workload, Trainings)]
    if trainings:
        return {"trainings": [own.curves for own in dict.fromkeys(trainings)]}
    return {"jobs": [cell.workload for cell in cells]}  # of each queue


# --- the figures ---------------------------------------------------------------------------------


_figure = figures_of(
    "unisched", said, facts=_facts, settings={"not in the paper": list(said.OWN)},
    conditions=conditions,
)  # fmt: skip
_NORMALISED = runs.with_ratios, runs.normalised
table3 = _figure("table3", cells=_testbeds, steps=(runs.with_ratios,))
fig5 = _figure("fig5", cells=_rewards, levels=MINUTES)
fig6 = _figure("fig6", cells=partial(_cells, *SCHEDULERS), steps=_NORMALISED)
fig7 = _figure("fig7", cells=_errors)
fig8 = _figure(
    "fig8", cells=partial(_cells, _Sweep(WORKLOADS, PLAIN), bounds=False), steps=(_by_kind,)
)
fig9 = _figure("fig9", cells=partial(_cells, *PARTS), steps=(runs.with_ratios, _without_waits))
fig10 = _figure("fig10", cells=_selectors, steps=(runs.with_ratios,))
fig10d = _figure("fig10d", cells=_queues, timed=True)
fig11 = _figure("fig11", cells=partial(_cells, ALLOCATIONS), steps=_NORMALISED)
fig12 = _figure("fig12", cells=partial(_cells, BETWEEN), steps=_NORMALISED)
