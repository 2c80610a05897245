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
the first one), on clusters of 8-GPU nodes for offered loads of 0.9 and 1.2 and on the 210 nodes of
the paper's Philly, users weighted by the GPUs that they request; and synthetic jobs with the
published statistics of Venus (:func:`~gangsched.instances.generate.venus_workload`), three draws of
them, on 1,064 GPUs and on the 100 nodes of the paper's simulations. The trace is no part of this
project: without one, the synthetic jobs alone.

Jobs that some policy of the figure can never run are left out for all of them; where there are any,
the policies that can run all jobs are compared once more on all. Rounds of 10 s, leases of 900 s
that end together, a patience of 8 leases, 25 s of overhead for each resumption, consolidated
placement. What is kept of a run are means, shares and quantiles, never single jobs. Numbers are
means over the draws, beside each of them, and a statement has to hold on every one.

Source: Z. Ye, P. Sun, W. Gao, T. Zhang, X. Wang, S. Yan, Y. Luo, "ASTRAEA: A Fair Deep Learning
Scheduler for Multi-Tenant GPU Clusters", IEEE TPDS 33(11), 2022, Sections 4.1 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ....instances import Cluster, Instance, Job
from ....instances.arrays import Floats
from ....instances.convert import to_instance
from ....instances.generate import offered_load, venus_workload
from ....instances.shipped import shipped
from ....solvers import Fifo, GandivaFair, Themis, ThemisGreedy, TiresiasL
from ....solvers.ltgf.policy import LtgfPolicy
from ....solvers.policies.allox.policy import Allox
from ....solvers.policies.hived.policy import Hived
from ....solvers.policies.yarn_cs.policy import YarnCs
from ....solvers.policy import Decision, Policy, Preempts, Rules, State, unable_jobs
from ...driving import metrics
from ...driving.drive import drive, instance_hash
from ...driving.metrics.parts import degree, mean
from ...driving.run import Run
from ..experiment import FigureCell, Finished, figures_of, means_of_seeds, seed_means
from ..study import FigureRow, Study, markdown_table, short
from . import pictures as pictures
from . import statements as said
from .bounds import with_ratios
from .conditions import by_seed, conditions, three_jobs
from .statements import ALTERNATING, EMPTY, FLUID, LEASED, LONG_TERM, OWN_LEASES

if TYPE_CHECKING:
    from ....instances.traces import Trace

Policies = Mapping[str, Callable[[], Policy]]

#: label: how it is made; the order of the figures
POLICIES: Policies = {
    "FIFO": Fifo,
    "YARN-CS": YarnCs,
    "HiveD": Hived,
    "AlloX": Allox,
    "Tiresias-L": TiresiasL,
    "Themis": Themis,
    "Gandiva-fair": GandivaFair,
    "Themis, greedy": ThemisGreedy,
    "LTGF (8)": LtgfPolicy,
    "LTGF (16)": partial(LtgfPolicy, fair_share="quota"),
    "LTGF rho-": partial(LtgfPolicy, job_key="rho-minus"),
}
#: those that the paper does not have
OWN = ("FIFO", "Themis, greedy", LEASED, "LTGF rho-")

USUAL = shipped("gangsched.analysis.papers.ltgf", "figures")["settings"]
ROUND, LEASE, OVERHEAD = (USUAL[f"{name} (s)"] for name in ("round", "lease", "overhead"))
LOADS, SEEDS = USUAL["offered loads"], USUAL["seeds"]
LEASES = (300, 600, 900, 1200, 1800, 2700, 3600)
NODE = 8  # GPUs
DAYS, DAY, HOUR = 14, 86_400, 3_600
VENUS_NODES = (133, 100)
PAPER_NODES = 210  # of Philly, Section 6; named in `pictures.ON_PAPERS_NODES`
SIZES = (0.75, 0.9, 1.0, 1.15, 1.35, 1.6)  # of the smallest cluster of a workload
LEVELS = (
    *(0.002, 0.005, 0.01, 0.02, 0.03), *(k / 40 for k in range(2, 39)),
    *(0.97, 0.98, 0.99, 0.995, 0.998),
)  # fmt: skip
SPREAD = (0.05, 0.25, 0.5, 0.75, 0.95)  # of a user's days
ALMOST = 0.999  # a degree of fairness that counts as 1


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
class Scenario:
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
    seed : int or None
        Of the jobs; None where they are not drawn.
    """

    name: str
    workload: str
    instance: Instance[Job]
    days: int = DAYS
    start: int = 0
    seed: int | None = None

    def on(self, nodes: int) -> Scenario:
        """Return the same jobs on another number of nodes."""
        size = self.instance.cluster.nodes[0].gpus
        cluster = Cluster.uniform(nodes=nodes, gpus_per_node=size)
        return replace(self, instance=replace(self.instance, cluster=cluster))


def cases_of(trace: Trace | None = None) -> tuple[Scenario, ...]:
    """Return the instances of Figs. 9 to 14.

    Examples
    --------
    >>> [(case.name, case.seed, len(case.instance.jobs)) for case in cases_of()][:2]
    [('Venus-like, 133 nodes', 0, 11304), ('Venus-like, 133 nodes', 1, 11304)]
    """
    found = [] if trace is None else [fortnight(trace, load) for load in LOADS]
    if trace is not None:
        name = f"{trace.name.capitalize()}{pictures.ON_PAPERS_NODES}"
        found.append(replace(found[0].on(PAPER_NODES), name=name))
    for nodes, seed in product(VENUS_NODES, SEEDS):
        jobs = venus_workload(Cluster.uniform(nodes=nodes, gpus_per_node=NODE), seed=seed)
        found.append(Scenario(f"Venus-like, {nodes} nodes", "Venus-like", jobs, seed=seed))
    return tuple(found)


def fortnight(trace: Trace, load: float) -> Scenario:
    """Return the 14 days of a trace with the most submissions, on nodes for an offered load."""
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
    case = Scenario(f"{name}, load {load:g}", name, jobs, start=start // DAY)
    nodes = offered_load(jobs) * len(widest.nodes) / load
    around = (max(1, math.floor(nodes)), math.ceil(nodes))
    return min((case.on(n) for n in around), key=lambda c: abs(offered_load(c.instance) - load))


def _unable(case: Scenario, policies: Policies, rules: Rules) -> tuple[int, ...]:
    """The jobs that some of the policies can never run."""
    found: set[int] = set()
    for make in policies.values():
        found.update(unable_jobs(make(), case.instance, rules))
    return tuple(sorted(found))


def _facts(cells: list[FigureCell]) -> dict[str, Any]:
    """Those of the first cluster of an instance, where it has several; lists are by seed."""
    cases: dict[int, tuple[Scenario, Any]] = {}
    for cell in cells:
        case, _, reject = cell.workload
        cases.setdefault(cell.seed, (case, reject))
    drawn = list(cases.values())
    case, instance = drawn[0][0], drawn[0][0].instance
    seeds = {} if case.seed is None else {"seeds": [one.seed for one, _ in drawn]}
    each: dict[str, list[Any]] = {
        "jobs": [len(one.instance.jobs) for one, _ in drawn],
        "rejected for all policies": [len(reject) for _, reject in drawn],
        "their share of the GPU time": [short(_share(one, reject)) for one, reject in drawn],
        "users": [len(one.instance.users) for one, _ in drawn],
        "offered load": [round(offered_load(one.instance), 4) for one, _ in drawn],
        "instance hash": [instance_hash(one.instance) for one, _ in drawn],
    }
    return {
        "workload": case.workload,
        "days": f"{case.start} to {case.start + case.days}",
        **seeds,
        "nodes": len(instance.cluster.nodes),
        "GPUs": instance.cluster.gpus,
        **{name: own if seeds else own[0] for name, own in each.items()},
    }


def _share(case: Scenario, reject: tuple[int, ...]) -> float:
    """What part of the GPU time that all jobs need is that of these."""
    jobs = case.instance.jobs
    need = [job.gpus * (job.work or 0) for job in jobs]
    return sum(need[j] for j in reject) / max(1, sum(need))


# --- runs ----------------------------------------------------------------------------------------


def _cell(
    case: Scenario,
    policy: str,
    make: Callable[[], Policy],
    rules: Rules,
    *,
    x: int | None = None,
    reject: tuple[int, ...] = (),
) -> FigureCell:
    same = f"{make()!r} on {instance_hash(case.instance)}, {rules}, without {reject}"
    return FigureCell(
        instance=case.name, policy=policy, run=_run, workload=(case, rules, reject), make=make,
        x=x, seed=case.seed or 0, same=same,
    )  # fmt: skip


def _run(cell: FigureCell) -> dict[str, Any]:
    case, rules, reject = cell.workload
    return measure(drive(case.instance, cell.make(), **asdict(rules), reject=reject), case.days)


def measure(run: Run, days: int) -> dict[str, Any]:
    """Return means, shares and quantiles of a run."""
    done, slow = metrics.completion_time(run), metrics.slowdown(run)
    rho, late = metrics.rho(run), metrics.rho(run, since="release")
    brief, work = slow > 5, run.records.work
    values = {
        "mean_completion": mean(done),
        "mean_slowdown": mean(slow),
        "p99_slowdown": _quantiles(slow, (0.99,))[0],
        "slow": metrics.share_below(np.where(np.isnan(slow), np.nan, -slow), -5.0),
        "slow_brief": mean((work[brief] < 60).astype(float)),
        "loss": metrics.share_below(rho, metrics.LOSS),
        "loss_release": metrics.share_below(late, metrics.LOSS),
        "overhead": _overhead(run) / float(np.nansum(done)),
        "preemptions": float(metrics.preemptions(run).sum() / max(1, np.isfinite(done).sum())),
        "waited": mean((run.records.first > run.records.visible)[~np.isnan(done)].astype(float)),
        "late": metrics.share_below(1 / slow, metrics.LOSS),
        "expected": _expected_loss(run),
    }
    daily = _windows(run, days, DAY, "demand")
    for name, length in (("days", DAY), ("hours", HOUR)):
        for by, suffix in (("demand", ""), ("quota", "_quota")):
            found = _windows(run, days, length, by)
            values[f"{name}_below{suffix}"] = metrics.share_below(found, metrics.BELOW)
    days_of_users = [_quantiles(row, SPREAD) for row in daily]
    served = [float(own[2] >= ALMOST) for own in days_of_users if own]
    values["served"] = sum(served) / len(served) if served else None
    return {
        "values": {name: short(value) for name, value in values.items()},
        "rho": _quantiles(rho, LEVELS),
        "slowdown": _quantiles(slow, LEVELS),
        "users": days_of_users,
    }


def _windows(run: Run, days: int, length: int, by: Any) -> Floats:
    """The users' fairness (12) in tumbling windows of the first days."""
    edges = np.arange(0, days * DAY + 1, length)
    held = np.diff(metrics.user_attained_time(run, edges))
    return degree(held, np.diff(metrics.user_fair_time(run, edges, by)))


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


def _quantiles(values: Floats, levels: Sequence[float]) -> tuple[float, ...]:
    known = values[~np.isnan(values)]
    if not known.size:
        return ()
    return tuple(short(float(q)) or 0.0 for q in np.quantile(known, levels))


# --- rows ----------------------------------------------------------------------------------------


def _rows(
    finished: Finished, measures: Mapping[str, str], *, curve: str = "", users: bool = False
) -> Iterator[FigureRow]:
    """One row a setting with what the figure shows, and one for each user, by falling weight."""
    places: dict[tuple[str, str, int | None], Finished] = {}
    for cell, own in finished:
        places.setdefault((cell.instance, cell.policy, cell.x), []).append((cell, own))
    for (instance, policy, x), draws in places.items():
        names = [*measures, *(("late", "expected") if policy in EMPTY else ())]
        known = [(cell.workload[0].seed, own["values"]) for cell, own in draws]
        values = means_of_seeds(known, names)
        shown = _mean_curve([own[curve] for _, own in draws]) if curve else ()
        yield FigureRow(instance, policy, x, values, shown)
        ranked = [_by_weight(cell, own["users"]) for cell, own in draws] if users else []
        for number, days in enumerate(zip(*ranked, strict=False), 1):
            if all(days):
                yield FigureRow(instance, policy, number, {}, _mean_curve(days))


def _mean_curve(curves: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(short(fmean(points)) or 0.0 for points in zip(*curves, strict=True))


def _by_weight(cell: FigureCell, users: Sequence[Any]) -> list[Any]:
    """What is known of each user, by falling weight."""
    weights = [user.weight for user in cell.workload[0].instance.users]
    return [users[u] for u in sorted(range(len(weights)), key=lambda u: (-weights[u], u))]


ROOM = "6 GPUs"


def _three_jobs(policy: str, job: int, end: float, rho: float, held: Iterable[float]) -> list[Any]:
    """Finish-time fairness T_sh / (T_id N) with T_id = 40 min and the N = 3 jobs of the start."""
    values = {"end": end, "rho": short(rho), "finish-time fairness": short(end / (40 * 3))}
    return [ROOM, policy, job, values, [float(gpus) for gpus in held]]


def _fluid(cell: FigureCell) -> dict[str, Any]:
    """(a): 2 GPUs for each of the three, until Job2 and Job3 have had 3 * 40 GPU minutes."""
    end = 3 * 40 / 2
    rest = (6 * 40 - 2 * end) / 6  # of Job1, alone on 6 GPUs
    shares = [[2.0] * 6 + [6.0] * 2, [2.0] * 6 + [0.0] * 2, [2.0] * 6 + [0.0] * 2]
    ends = (end + rest, end, end)
    rows = [
        _three_jobs(cell.policy, j, end, 1.0, share)
        for j, (end, share) in enumerate(zip(ends, shares, strict=True), 1)
    ]
    return {"rows": rows, "facts": {ROOM: {"jobs": 3, "gangs": [6, 3, 3], "run time (min)": 40}}}


def _driven(cell: FigureCell) -> dict[str, Any]:
    """(b) and (c), by the driver in rounds of 10 minutes."""
    jobs = [Job(id=f"Job{j}", gpus=gpus, work=2400) for j, gpus in enumerate((6, 3, 3), 1)]
    instance = Instance(Cluster.of_sizes([6]), jobs, name=ROOM)
    run = drive(instance, cell.make(), round_length=600, lease=600, overhead=0)
    rho, plan, held = metrics.rho(run), run.schedule, np.zeros((3, 8))
    for j, start, end in zip(plan.job, plan.start // 600, plan.end // 600, strict=True):
        held[j, start:end] = jobs[j].gpus
    ends = (run.records.end / 60).tolist()
    rows = [_three_jobs(cell.policy, j + 1, ends[j], float(rho[j]), held[j]) for j in range(3)]
    return {"rows": rows}


# --- cells ---------------------------------------------------------------------------------------

Cases = Sequence[Scenario] | None


def _schedules() -> Iterator[FigureCell]:
    yield FigureCell(instance=ROOM, policy=FLUID, run=_fluid)
    for label, make in ((ALTERNATING, ThemisGreedy), (LONG_TERM, LtgfPolicy)):
        yield FigureCell(instance=ROOM, policy=label, run=_driven, make=make)


def _comparison(
    trace: Trace | None = None, *, cases: Cases = None, policies: Policies = POLICIES
) -> Iterator[FigureCell]:
    """Every policy on every instance: without the jobs that some can never run, and with them."""
    rules = _rules()
    for case in cases_of(trace) if cases is None else cases:
        reject = _unable(case, policies, rules)
        for label, make in policies.items():
            yield _cell(case, label, make, rules, reject=reject)
        whole = replace(case, name=f"{case.name}{pictures.ALL_JOBS}")
        for label, make in policies.items() if reject else ():
            if not unable_jobs(make(), case.instance, rules):
                yield _cell(whole, label, make, rules)


def _and_without_contention(
    trace: Trace | None = None, *, cases: Cases = None, policies: Policies = POLICIES
) -> Iterator[FigureCell]:
    """The same, with leases for Tiresias-L, and on clusters where nobody waits."""
    for case in cases_of(trace) if cases is None else cases:
        yield from (own := list(_comparison(cases=[case], policies=policies)))
        for name, (_, rules, reject) in {cell.instance: cell.workload for cell in own}.items():
            here = replace(case, name=name)
            if "Tiresias-L" in policies:
                yield _cell(here, LEASED, _LeasedTiresias, rules, reject=reject)
            empty = here.on(_nodes_for_all(case))
            for label, length in zip(EMPTY, (10, 60), strict=True):
                yield _cell(empty, label, Fifo, replace(rules, round_length=length), reject=reject)


def _by_lease(
    trace: Trace | None = None, *, cases: Cases = None, leases: Sequence[int] = LEASES
) -> Iterator[FigureCell]:
    """LTGF with leases that end together, and with own leases from each start on."""
    makes = {
        "LTGF (8)": (POLICIES["LTGF (8)"], True),
        "LTGF (16)": (POLICIES["LTGF (16)"], True),
        OWN_LEASES: (POLICIES["LTGF (8)"], False),
    }
    for case in cases_of(trace) if cases is None else cases:
        for label, (make, together) in makes.items():
            yield from (_cell(case, label, make, _rules(x, together), x=x) for x in leases)


def _by_nodes(
    trace: Trace | None = None, *, cases: Cases = None, sizes: Sequence[float] = SIZES
) -> Iterator[FigureCell]:
    """LTGF and Tiresias-L, by multiples of the nodes of a workload's smallest cluster."""
    cases = cases_of(trace) if cases is None else cases
    drawn = {(case.workload, case.seed): case for case in sorted(cases, key=_node_count)[::-1]}
    for place in dict.fromkeys((case.workload, case.seed) for case in cases):
        base, rules = replace(drawn[place], name=place[0]), _rules()
        reject = _unable(base, POLICIES, rules)
        for label in ("Tiresias-L", "LTGF (8)", "LTGF (16)"):
            for nodes in [math.floor(size * _node_count(base) + 0.5) for size in sizes]:
                case, make = base.on(nodes), POLICIES[label]
                yield _cell(case, label, make, rules, x=nodes, reject=reject)


def _nodes_for_all(case: Scenario) -> int:
    """Nodes for the most nodes that jobs could ever use at once, if none ever waited a minute."""
    jobs = case.instance.jobs
    size = case.instance.cluster.nodes[0].gpus
    need = np.array([-(-job.gpus // size) for job in jobs], dtype=np.int64)
    start = np.array([job.release for job in jobs], dtype=np.int64)
    stop = start + np.array([job.work or 0 for job in jobs], dtype=np.int64) + 120
    order = np.argsort(np.concatenate([start, stop]), kind="stable")
    return max(1, int(np.cumsum(np.concatenate([need, -need])[order]).max()))


def _node_count(case: Scenario) -> int:
    return len(case.instance.cluster.nodes)


def _rules(lease: int = LEASE, together: bool = True) -> Rules:
    return Rules(round_length=ROUND, lease=lease, overhead=OVERHEAD, synchronous=together)


# --- the figures ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LtgfStudy(Study):
    """A figure on several instances, with a table of them and of who was left out."""

    def to_markdown(self) -> str:
        """Return the instances, the measures and the statements as tables."""
        head = ["instance", "seeds", "nodes", "offered load", "jobs", "left out for all policies"]
        rows = []
        for name, facts in self.instances.items():
            out = [
                f"{n:,} ({100 * share:.1f} % of the GPU time)" if n else "0"
                for n, share in zip(
                    by_seed(facts["rejected for all policies"]),
                    by_seed(facts["their share of the GPU time"]), strict=True,
                )
            ]  # fmt: skip
            columns = (facts.get("seeds", "–"), facts["nodes"], facts["offered load"])
            listed = [", ".join(map(str, by_seed(one))) for one in columns]
            jobs = ", ".join(dict.fromkeys(f"{n:,}" for n in by_seed(facts["jobs"])))
            rows.append([name, *listed, jobs, ", ".join(dict.fromkeys(out))])
        return f"{markdown_table([head, *rows])}\n\n{super().to_markdown()}"


_figure = figures_of(
    "ltgf", said, cells=_comparison, rows=_rows, facts=_facts, form=LtgfStudy,
    settings={"not in the paper": list(OWN)},
    conditions=conditions(POLICIES),
)  # fmt: skip
fig6 = _figure(
    "fig6", form=Study, conditions=three_jobs, cells=_schedules, rows=seed_means,
    levels=tuple(float(k) for k in range(8)), drawing=pictures.schedules,
)  # fmt: skip
fig9 = _figure("fig9", cells=_by_lease, steps=(with_ratios,))
fig10 = _figure(
    "fig10", levels=LEVELS, cells=_and_without_contention, rows=partial(_rows, curve="rho")
)
fig11 = _figure(
    "fig11", levels=SPREAD, rows=partial(_rows, users=True), panels=pictures.by_user(POLICIES)
)
fig12 = _figure(
    "fig12", levels=LEVELS, rows=partial(_rows, curve="slowdown"),
    steps=(partial(with_ratios, measure="mean_slowdown"),),
)  # fmt: skip
fig13 = _figure("fig13", steps=(with_ratios,))
fig14 = _figure("fig14", cells=_by_nodes, steps=(with_ratios,))
