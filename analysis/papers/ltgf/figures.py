"""Figures 6 and 9 to 14 of Ye et al. (TPDS 2022), on a fortnight of a trace and on synthetic jobs.

======  =========================================  =============================================
figure  varies                                     shows
======  =========================================  =============================================
6       the schedule                               ends, rho and finish-time fairness of 3 jobs
9       the lease term, 300 to 3600 s              mean JCT, overhead, jobs with rho < 0.95
10      the policy                                 rho of jobs, in both countings; the metric trap
11      the policy                                 rho of users by day and hour, by (8) and (16)
12      the policy                                 slowdown
13      the policy                                 mean JCT
14      nodes                                      LTGF and Tiresias-L: mean JCT, rho < 0.95
======  =========================================  =============================================

Instances: the fortnight of a trace with the most submissions (starting a whole number of days after
the first one), on clusters of 8-GPU nodes for offered loads of 0.9 and 1.2, users weighted by the
GPUs that they request; and synthetic jobs with the published statistics of Venus
(:func:`~gangsched.instances.generate.venus_workload`) on 1,064 GPUs and on the 100 nodes of the
paper's simulations. The trace is no part of this project: without one, the synthetic jobs alone.

Jobs that some policy of the figure can never run are left out for all of them. Rounds of 10 s,
leases of 900 s that end together, 25 s of overhead for each resumption, consolidated placement.
What is kept of a run are means, shares and quantiles, never single jobs.

Source: Z. Ye, P. Sun, W. Gao, T. Zhang, X. Wang, S. Yan, Y. Luo, "ASTRAEA: A Fair Deep Learning
Scheduler for Multi-Tenant GPU Clusters", IEEE TPDS 33(11), 2022, Sections 4.1 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....instances import Cluster, Instance, Job
from ....instances.convert import to_instance
from ....instances.generate import offered_load, venus_workload
from ....solvers import Fifo, GandivaFair, Themis, ThemisGreedy, TiresiasL
from ....solvers.ltgf.policy import LtgfPolicy
from ....solvers.policies.allox import Allox
from ....solvers.policies.hived import Hived
from ....solvers.policies.yarn_cs import YarnCs
from ....solvers.policy import Decision, Policy, Preempts, Rules, State, unable_jobs
from ....solvers.result import Stop
from ...driving import metrics
from ...driving.drive import drive, instance_hash
from ...driving.run import Run
from ..study import Row, Study
from . import pictures as ltgf_pictures
from .statements import ALTERNATING, EMPTY, FLUID, LEASED, LONG_TERM, OWN_LEASES, STATEMENTS

if TYPE_CHECKING:
    from ....instances.traces import Trace

__all__ = [
    "Case", "cases_of", "fig6", "fig9", "fig10", "fig11", "fig12", "fig13", "fig14", "from_rows",
]  # fmt: skip

Floats = NDArray[np.float64]
Progress = Callable[[str], None]
Policies = Mapping[str, Callable[[], Policy]]

#: label: how it is made; the order of the figures
POLICIES: Policies = MappingProxyType(
    {
        "FIFO": Fifo,
        "YARN-CS": YarnCs,
        "HiveD": Hived,
        "AlloX": Allox,
        "Tiresias-L": TiresiasL,
        "Themis": Themis,
        "Gandiva-fair": GandivaFair,
        "Themis, greedy": ThemisGreedy,
        "LTGF (8)": LtgfPolicy,
        "LTGF (16)": lambda: LtgfPolicy(fair_share="quota"),
        "LTGF rho-": lambda: LtgfPolicy(job_key="rho-minus"),
    }
)
#: those that the paper does not have
OWN = ("FIFO", "Themis, greedy", LEASED, "LTGF rho-")

ROUND, LEASE, OVERHEAD = 10, 900, 25  # s
LEASES = (300, 600, 900, 1200, 1800, 2700, 3600)
LOADS = (0.9, 1.2)
NODE = 8  # GPUs
DAYS, DAY, HOUR = 14, 86_400, 3_600
VENUS_NODES = (133, 100)
SIZES = (0.75, 0.9, 1.0, 1.15, 1.35, 1.6)  # of the smallest cluster of a workload
LEVELS = (
    *(0.002, 0.005, 0.01, 0.02, 0.03), *(k / 40 for k in range(2, 39)),
    *(0.97, 0.98, 0.99, 0.995, 0.998),
)  # fmt: skip
SPREAD = (0.05, 0.25, 0.5, 0.75, 0.95)  # of a user's days


@dataclass(frozen=True, slots=True)
class _LeasedTiresias:
    """Tiresias-L that stops jobs only where LTGF may, at the ends of their leases."""

    name: ClassVar[str] = "tiresias-l with leases"
    preempts: ClassVar[Preempts] = Preempts.LEASE

    def decide(self, state: State) -> Decision:
        return TiresiasL().decide(state)

    def next_change(self, state: State) -> None:
        """A job that falls into another queue can be stopped no earlier."""


# --- instances -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """An instance of a figure.

    Parameters
    ----------
    name : str
    workload : str
        Cases of the same jobs have the same.
    instance : Instance
    days : int
        In which the jobs are submitted.
    start : int
        Of the trace, in days after its first submission.
    """

    name: str
    workload: str
    instance: Instance[Job]
    days: int = DAYS
    start: int = 0

    def on(self, nodes: int) -> Case:
        """Return the same jobs on another number of nodes.

        Parameters
        ----------
        nodes : int
        """
        size = self.instance.cluster.nodes[0].gpus
        cluster = Cluster.uniform(nodes=nodes, gpus_per_node=size)
        return replace(self, instance=replace(self.instance, cluster=cluster))


def cases_of(trace: Trace | None = None) -> tuple[Case, ...]:
    """Return the instances of Figs. 9 to 14.

    Parameters
    ----------
    trace : Trace, optional
        Without one, the synthetic jobs alone.

    Examples
    --------
    >>> [(case.name, len(case.instance.jobs)) for case in cases_of()]
    [('Venus-like, 133 nodes', 11304), ('Venus-like, 100 nodes', 11304)]
    """
    found = [] if trace is None else [fortnight(trace, load) for load in LOADS]
    for nodes in VENUS_NODES:
        cluster = Cluster.uniform(nodes=nodes, gpus_per_node=NODE)
        found.append(Case(f"Venus-like, {nodes} nodes", "Venus-like", venus_workload(cluster)))
    return tuple(found)


def fortnight(trace: Trace, load: float) -> Case:
    """Return the 14 days of a trace with the most submissions, on nodes for an offered load.

    Parameters
    ----------
    trace : Trace
    load : float
        The number of nodes is the one whose :func:`~gangsched.instances.generate.offered_load`
        comes closest.
    """
    release = np.array([job.release for job in trace.jobs], dtype=np.int64)
    starts = np.arange(0, int(release.max(initial=0)) + 1, DAY)
    counts = np.searchsorted(release, starts + DAYS * DAY) - np.searchsorted(release, starts)
    start = int(starts[counts.argmax()])
    name = trace.name.capitalize()
    window = (start, start + DAYS * DAY)
    widest = Cluster.uniform(
        nodes=-(-max(job.gpus for job in trace.jobs) // NODE), gpus_per_node=NODE
    )
    jobs = to_instance(trace, widest, window=window).instance
    case = Case(f"{name}, load {load:g}", name, jobs, start=start // DAY)
    nodes = offered_load(jobs) * len(widest.nodes) / load
    around = (max(1, math.floor(nodes)), math.ceil(nodes))
    return min((case.on(n) for n in around), key=lambda c: abs(offered_load(c.instance) - load))


def _unable(case: Case, policies: Policies, rules: Rules) -> tuple[int, ...]:
    """The jobs that some of the policies can never run."""
    found: set[int] = set()
    for make in policies.values():
        found.update(unable_jobs(make(), case.instance, rules))
    return tuple(sorted(found))


def _facts(case: Case, rejected: int) -> dict[str, Any]:
    instance = case.instance
    return {
        "workload": case.workload,
        "days": f"{case.start} to {case.start + case.days}",
        "jobs": len(instance.jobs),
        "rejected for all policies": rejected,
        "users": len(instance.users),
        "nodes": len(instance.cluster.nodes),
        "GPUs": instance.cluster.gpus,
        "offered load": round(offered_load(instance), 4),
        "instance hash": instance_hash(instance),
    }


# --- runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is kept of a run.

    Parameters
    ----------
    values : mapping of str to float or None
    rho, slowdown : tuple of float
        Of jobs, at `LEVELS`.
    users : tuple of tuple of float
        Of each user its rho by day, at `SPREAD`.
    """

    values: Mapping[str, float | None]
    rho: tuple[float, ...]
    slowdown: tuple[float, ...]
    users: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One run of a figure and where it stands in it."""

    case: Case
    policy: str
    make: Callable[[], Policy]
    rules: Rules
    x: int | None = None
    reject: tuple[int, ...] = ()


#: outcomes by instance, policy, rules and rejected jobs: Figs. 10 to 13 share their runs
_KNOWN: dict[tuple[Any, ...], Outcome] = {}


def _outcome(task: _Task, progress: Progress) -> Outcome:
    key = (instance_hash(task.case.instance), repr(task.make()), task.rules, task.reject)
    if key not in _KNOWN:
        rules = task.rules
        run = drive(
            task.case.instance,
            task.make(),
            round_length=rules.round_length,
            lease=rules.lease,
            overhead=rules.overhead,
            synchronous=rules.synchronous,
            reject=task.reject,
            on_progress=lambda done, of: progress(f"{done:,} of {of:,} jobs"),
        )
        if run.stop is not Stop.COMPLETED:
            raise KeyboardInterrupt
        _KNOWN[key] = measure(run, task.case.days)
    return _KNOWN[key]


def _run_all(figure: str, tasks: Sequence[_Task], progress: Progress | None) -> list[Outcome]:
    found = []
    for done, task in enumerate(tasks, 1):
        x = "" if task.x is None else f" {task.x}"
        where = f"{figure}, {task.case.name}, {task.policy}{x}"

        def say(text: str, where: str = where) -> None:
            if progress is not None:
                progress(f"{where}: {text}")

        found.append(_outcome(task, say))
        say(f"{done} of {len(tasks)}")
    return found


def measure(run: Run, days: int) -> Outcome:
    """Return means, shares and quantiles of a run.

    Parameters
    ----------
    run : Run
    days : int
        Users' windows are those of the first so many days, the same for all policies.
    """
    done, slow = metrics.completion_time(run), metrics.slowdown(run)
    rho, late = metrics.rho(run), metrics.rho(run, since="release")
    brief, work = slow > 5, run.records.work
    values = {
        "mean_completion": _mean(done),
        "mean_slowdown": _mean(slow),
        "p99_slowdown": _quantiles(slow, (0.99,))[0],
        "slow": metrics.share_below(np.where(np.isnan(slow), np.nan, -slow), -5.0),
        "slow_brief": _mean((work[brief] < 60).astype(float)),
        "loss": metrics.share_below(rho, metrics.LOSS),
        "loss_release": metrics.share_below(late, metrics.LOSS),
        "overhead": _overhead(run) / float(np.nansum(done)),
        "preemptions": float(metrics.preemptions(run).sum() / max(1, np.isfinite(done).sum())),
        "waited": _mean((run.records.first > run.records.visible)[~np.isnan(done)].astype(float)),
        "late": metrics.share_below(1 / slow, metrics.LOSS),
        "expected": _expected_loss(run),
    }
    daily, _ = _windows(run, days, DAY, "demand")
    for name, length in (("days", DAY), ("hours", HOUR)):
        for by, suffix in (("demand", ""), ("quota", "_quota")):
            degree, _ = _windows(run, days, length, by)
            values[f"{name}_below{suffix}"] = metrics.share_below(degree, metrics.BELOW)
    return Outcome(
        MappingProxyType({name: _short(value) for name, value in values.items()}),
        _quantiles(rho, LEVELS),
        _quantiles(slow, LEVELS),
        tuple(_quantiles(row, SPREAD) for row in daily),
    )


def _windows(run: Run, days: int, length: int, by: Any) -> tuple[Floats, NDArray[np.int64]]:
    """The users' fairness (12) in tumbling windows of the first days."""
    edges = np.arange(0, days * DAY + 1, length)
    held = np.diff(metrics.user_attained_time(run, edges))
    fair = np.diff(metrics.user_fair_time(run, edges, by))
    degree = np.divide(held, fair, out=np.full(fair.shape, np.nan), where=fair > 0)
    return degree, edges


def _overhead(run: Run) -> int:
    """Seconds that jobs held GPUs to resume: the head of each segment but a job's first."""
    plan = run.schedule
    later = plan.start > run.records.first[plan.job]
    length = (plan.end - plan.start)[later]
    return int(np.minimum(length, run.rules.overhead).sum())


def _expected_loss(run: Run) -> float:
    """Share of p / JCT < 0.95 if every job runs at its first round, submitted any second before it.

    Then JCT = p + w with a wait w of 0 to tau - 1 s, each as likely, and 19 w > p is too long.
    """
    work = run.records.work[~run.records.rejected]
    waits = run.rules.round_length - 1 - work // 19
    return float((np.maximum(0, waits) / run.rules.round_length).mean()) if work.size else 0.0


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _quantiles(values: Floats, levels: Sequence[float]) -> tuple[float, ...]:
    known = values[~np.isnan(values)]
    if not known.size:
        return ()
    return tuple(_short(float(q)) or 0.0 for q in np.quantile(known, levels))


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


# --- the figures ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Figure:
    title: str
    axis: str
    measures: Mapping[str, str]
    levels: tuple[float, ...]
    drawing: Any


JCT = "mean JCT (s)"
LOSSES = {
    "loss": "rho < 0.95, from the first round",
    "loss_release": "rho < 0.95, from submission",
}
_FIGURES = {
    "fig6": _Figure(
        "Fig. 6: three ways to share 6 GPUs among jobs of 6, 3 and 3 GPUs",
        "job",
        {"end": "end (min)", "rho": "rho", "finish-time fairness": "finish-time fairness, N = 3"},
        tuple(float(k) for k in range(8)),
        ltgf_pictures.schedules,
    ),
    "fig9": _Figure(
        "Fig. 9: LTGF with lease terms of different lengths",
        "lease (s)",
        {
            "mean_completion": JCT,
            "overhead": "overhead, share of JCT",
            "preemptions": "preemptions a job",
            **LOSSES,
        },
        (),
        ltgf_pictures.lease_terms,
    ),
    "fig10": _Figure(
        "Fig. 10: fairness of jobs, rho",
        "",
        {**LOSSES, "waited": "jobs that waited beyond their first round"},
        LEVELS,
        ltgf_pictures.job_fairness,
    ),
    "fig11": _Figure(
        "Fig. 11: fairness of users by day, rho by (8)",
        "user",
        {
            "days_below": "days below 1 by (8)",
            "days_below_quota": "days below 1 by (16)",
            "hours_below": "hours below 1 by (8)",
            "hours_below_quota": "hours below 1 by (16)",
        },
        SPREAD,
        ltgf_pictures.user_fairness,
    ),
    "fig12": _Figure(
        "Fig. 12: slowdown of jobs",
        "",
        {
            "mean_slowdown": "mean slowdown",
            "p99_slowdown": "99th percentile",
            "slow": "jobs with slowdown > 5",
            "slow_brief": "of these, run time < 1 min",
        },
        LEVELS,
        ltgf_pictures.slowdowns,
    ),
    "fig13": _Figure(
        "Fig. 13: mean job completion time", "", {"mean_completion": JCT}, (), ltgf_pictures.bars
    ),
    "fig14": _Figure(
        "Fig. 14: LTGF and Tiresias-L on clusters of different sizes",
        "nodes",
        {"mean_completion": JCT, **LOSSES},
        (),
        ltgf_pictures.sizes,
    ),
}


def from_rows(
    name: str,
    instances: Mapping[str, Mapping[str, Any]],
    rows: Iterable[Row],
) -> Study:
    """Judge the rows of a figure again, for example those of a file.

    Parameters
    ----------
    name : str
        Such as ``ltgf:fig13``.
    instances : mapping of str to mapping
        Facts about each instance.
    rows : iterable of Row

    Returns
    -------
    Study
        Settings and verdicts follow from the rows.
    """
    figure = _FIGURES[name.removeprefix("ltgf:")]
    study = Study(
        name=name,
        title=figure.title,
        axis=figure.axis,
        measures=figure.measures,
        settings=_settings(name),
        instances=instances,
        levels=figure.levels,
        rows=tuple(rows),
        drawing=figure.drawing,
    )
    return replace(study, statements=tuple(STATEMENTS[name](study)))


def _settings(name: str) -> dict[str, Any]:
    if name == "ltgf:fig6":
        return {"round (s)": 600, "lease (s)": 600, "overhead (s)": 0, "curves": "GPUs by round"}
    return {
        "round (s)": ROUND,
        "lease (s)": list(LEASES) if name == "ltgf:fig9" else LEASE,
        "overhead (s)": OVERHEAD,
        "leases end together": "but those of a policy with own leases",
        "trace": f"the {DAYS} days with the most submissions, from a whole number of days after "
        "the first; users weighted by requested GPUs",
        "offered loads": list(LOADS),
        "generator": "gangsched.instances.generate.venus_workload, seed 0",
        "users' windows": f"those of the first {DAYS} days",
        "not in the paper": list(OWN),
    }


def fig6(*, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 6: (a) shared fluidly, (b) by finish-time fairness, (c) by LTGF.

    Parameters
    ----------
    progress : callable (str), optional
        Called with what has been done.

    Returns
    -------
    Study
        (b) and (c) come from the driver, with Themis's rule without auction and with LTGF.

    Examples
    --------
    >>> study = fig6()
    >>> [(row.policy, row.x, row.values["end"]) for row in study.rows][:3]
    [('(a) fluid', 1, 80.0), ('(a) fluid', 2, 60.0), ('(a) fluid', 3, 60.0)]
    """
    jobs = [Job(id=f"Job{j}", gpus=gpus, work=2400) for j, gpus in enumerate((6, 3, 3), 1)]
    instance = Instance(Cluster.of_sizes([6]), jobs, name="6 GPUs")
    rows = list(_fluid_rows())
    for label, policy in ((ALTERNATING, ThemisGreedy()), (LONG_TERM, LtgfPolicy())):
        run = drive(instance, policy, round_length=600, lease=600, overhead=0)
        rho = metrics.rho(run)
        held = np.zeros((3, 8))
        plan = run.schedule
        for j, start, end in zip(plan.job, plan.start // 600, plan.end // 600, strict=True):
            held[j, start:end] = jobs[j].gpus
        for j in range(3):
            end = run.records.end[j] / 60
            rows.append(_three_jobs(label, j + 1, float(end), float(rho[j]), held[j]))
        if progress is not None:
            progress(f"fig6: {label}")
    facts = {"6 GPUs": {"jobs": 3, "gangs": [6, 3, 3], "run time (min)": 40}}
    return from_rows("ltgf:fig6", facts, rows)


def _fluid_rows() -> Iterator[Row]:
    """(a): 2 GPUs for each of the three, until Job2 and Job3 have had 3 * 40 GPU minutes."""
    end = 3 * 40 / 2
    rest = (6 * 40 - 2 * end) / 6  # of Job1, alone on 6 GPUs
    shares = [[2.0] * 6 + [6.0] * 2, [2.0] * 6 + [0.0] * 2, [2.0] * 6 + [0.0] * 2]
    for j, share in enumerate(shares, 1):
        yield _three_jobs(FLUID, j, end + rest if j == 1 else end, 1.0, share)


def _three_jobs(policy: str, job: int, end: float, rho: float, held: Iterable[float]) -> Row:
    """Finish-time fairness T_sh / (T_id N) with T_id = 40 min and the N = 3 jobs of the start."""
    values = {"end": end, "rho": _short(rho), "finish-time fairness": _short(end / (40 * 3))}
    return Row("6 GPUs", policy, job, values, tuple(float(gpus) for gpus in held))


def fig9(
    *,
    trace: Trace | None = None,
    cases: Sequence[Case] | None = None,
    leases: Sequence[int] = LEASES,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 9: mean JCT, overhead and fairness of LTGF by lease term.

    Parameters
    ----------
    trace : Trace, optional
        As of :func:`cases_of`.
    cases : sequence of Case, optional
        Instead of those.
    leases : sequence of int
        Seconds.
    progress : callable (str), optional
        Called now and then with what has been done.

    Returns
    -------
    Study
        With leases that end together, and with own leases from each start on.
    """
    cases = cases_of(trace) if cases is None else cases
    makes = {
        "LTGF (8)": (POLICIES["LTGF (8)"], True),
        "LTGF (16)": (POLICIES["LTGF (16)"], True),
        OWN_LEASES: (POLICIES["LTGF (8)"], False),
    }
    tasks = [
        _Task(case=case, policy=label, make=make, rules=_rules(lease, together), x=lease)
        for case in cases
        for label, (make, together) in makes.items()
        for lease in leases
    ]
    return _study("fig9", tasks, progress)


def fig10(
    *,
    trace: Trace | None = None,
    cases: Sequence[Case] | None = None,
    policies: Policies = POLICIES,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 10: rho of jobs, also with leases for Tiresias-L and without contention.

    Parameters
    ----------
    trace : Trace, optional
        As of :func:`cases_of`.
    cases : sequence of Case, optional
        Instead of those.
    policies : mapping of str to callable
        How each is made, by label.
    progress : callable (str), optional
        Called now and then with what has been done.

    Returns
    -------
    Study
    """
    cases = cases_of(trace) if cases is None else cases
    tasks = _comparison(cases, policies)
    for case in cases:
        reject = next(task.reject for task in tasks if task.case is case)
        if "Tiresias-L" in policies:
            tasks.append(
                _Task(case=case, policy=LEASED, make=_LeasedTiresias, rules=_rules(), reject=reject)
            )
        empty = case.on(_nodes_for_all(case))
        for label, length in zip(EMPTY, (10, 60), strict=True):
            rules = replace(_rules(), round_length=length)
            empty_case = replace(empty, name=case.name)
            tasks.append(
                _Task(case=empty_case, policy=label, make=Fifo, rules=rules, reject=reject)
            )
    tasks.sort(key=lambda task: [case.name for case in cases].index(task.case.name))
    return _study("fig10", tasks, progress)


def _nodes_for_all(case: Case) -> int:
    """Nodes for the most nodes that jobs could ever use at once, if none ever waited a minute."""
    jobs = case.instance.jobs
    size = case.instance.cluster.nodes[0].gpus
    need = np.array([-(-job.gpus // size) for job in jobs], dtype=np.int64)
    start = np.array([job.release for job in jobs], dtype=np.int64)
    stop = start + np.array([job.work or 0 for job in jobs], dtype=np.int64) + 120
    order = np.argsort(np.concatenate([start, stop]), kind="stable")
    return max(1, int(np.cumsum(np.concatenate([need, -need])[order]).max()))


def fig11(
    *,
    trace: Trace | None = None,
    cases: Sequence[Case] | None = None,
    policies: Policies = POLICIES,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 11: rho of users in windows; parameters as of :func:`fig10`.

    Users are numbered by falling weight.
    """
    cases = cases_of(trace) if cases is None else cases
    return _study("fig11", _comparison(cases, policies), progress)


def fig12(
    *,
    trace: Trace | None = None,
    cases: Sequence[Case] | None = None,
    policies: Policies = POLICIES,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 12: slowdown of jobs; parameters as of :func:`fig10`."""
    cases = cases_of(trace) if cases is None else cases
    return _study("fig12", _comparison(cases, policies), progress)


def fig13(
    *,
    trace: Trace | None = None,
    cases: Sequence[Case] | None = None,
    policies: Policies = POLICIES,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 13: mean completion time; parameters as of :func:`fig10`."""
    cases = cases_of(trace) if cases is None else cases
    return _study("fig13", _comparison(cases, policies), progress)


def fig14(
    *,
    trace: Trace | None = None,
    cases: Sequence[Case] | None = None,
    sizes: Sequence[float] = SIZES,
    progress: Progress | None = None,
) -> Study:
    """Reproduce Fig. 14: LTGF and Tiresias-L by number of nodes.

    Parameters
    ----------
    trace : Trace, optional
        As of :func:`cases_of`.
    cases : sequence of Case, optional
        Instead of those.
    sizes : sequence of float
        Numbers of nodes, as multiples of those of the smallest cluster of a workload.
    progress : callable (str), optional
        Called now and then with what has been done.

    Returns
    -------
    Study
    """
    cases = cases_of(trace) if cases is None else cases
    smallest = {case.workload: case for case in sorted(cases, key=_node_count, reverse=True)}
    tasks = []
    for workload in dict.fromkeys(case.workload for case in cases):
        base = replace(smallest[workload], name=workload)
        reject = _unable(base, POLICIES, _rules())
        for label in ("Tiresias-L", "LTGF (8)", "LTGF (16)"):
            for nodes in [math.floor(size * _node_count(base) + 0.5) for size in sizes]:
                tasks.append(
                    _Task(
                        case=base.on(nodes), policy=label, make=POLICIES[label], rules=_rules(),
                        x=nodes, reject=reject,
                    )
                )  # fmt: skip
    return _study("fig14", tasks, progress)


def _node_count(case: Case) -> int:
    return len(case.instance.cluster.nodes)


def _rules(lease: int = LEASE, together: bool = True) -> Rules:
    return Rules(round_length=ROUND, lease=lease, overhead=OVERHEAD, synchronous=together)


def _comparison(cases: Sequence[Case], policies: Policies) -> list[_Task]:
    """Every policy on every instance, without the jobs that some of them can never run."""
    rules = _rules()
    return [
        _Task(case=case, policy=label, make=make, rules=rules, reject=reject)
        for case in cases
        for reject in (_unable(case, policies, rules),)
        for label, make in policies.items()
    ]


def _study(figure: str, tasks: Sequence[_Task], progress: Progress | None) -> Study:
    outcomes = _run_all(figure, tasks, progress)
    measures = _FIGURES[figure].measures
    facts: dict[str, dict[str, Any]] = {}
    for task in tasks:  # of several clusters of an instance, those of the first
        if task.case.name not in facts:
            facts[task.case.name] = _facts(task.case, len(task.reject))
    rows: list[Row] = []
    for task, outcome in zip(tasks, outcomes, strict=True):
        values = {name: outcome.values[name] for name in measures}
        if task.policy in EMPTY:
            values.update({name: outcome.values[name] for name in ("late", "expected")})
        curve = {"fig10": outcome.rho, "fig12": outcome.slowdown}.get(figure, ())
        rows.append(Row(task.case.name, task.policy, task.x, values, curve))
        if figure == "fig11":
            weights = [user.weight for user in task.case.instance.users]
            order = sorted(range(len(weights)), key=lambda u: (-weights[u], u))
            for number, u in enumerate(order, 1):
                if outcome.users[u]:
                    rows.append(Row(task.case.name, task.policy, number, {}, outcome.users[u]))
    return from_rows(f"ltgf:{figure}", facts, rows)
