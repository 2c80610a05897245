"""Runs behind the figures of Gao et al.: synthetic workloads, policies, and what is measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from statistics import fmean
from typing import Any

import numpy as np

from ....formulations.deadline_rewards import DeadlineRewards
from ....formulations.unisched import leases
from ....instances import Cluster, DeadlineJob, Instance
from ....instances import deadlines as generators
from ....instances.generate import offered_load
from ....instances.model import FULL_SPEED, TargetMetric
from ....instances.shipped import shipped
from ....solvers import Fifo
from ....solvers.information import Profiled
from ....solvers.policies.gavel.finish_time_fairness import FinishTimeFairness
from ....solvers.policy import Policy
from ....solvers.unisched.earliest_deadline import EarliestDeadline
from ....solvers.unisched.estimator import DurationEstimates
from ....solvers.unisched.genie import Genie
from ....solvers.unisched.hydra import Hydra
from ....solvers.unisched.optimus import Optimus
from ....solvers.unisched.policy import UniSchedPolicy
from ....solvers.unisched.three_sigma import ThreeSigma
from ...driving import metrics
from ...driving.drive import drive, instance_hash
from ...driving.run import EventKind, Run
from ...proofs.deadline_rewards import reward_bound
from ...proofs.verify import verify_bound
from .. import experiment
from ..experiment import FigureCell, Finished
from ..study import Values, short
from .statements import (
    EDF,
    KNOWN,
    KNOWN_TIMES,
    PAYING,
    PRINTED_REWARD,
    PROFILED,
    UNISCHED,
    jobs_of,
    knows,
)

USUAL = shipped("gangsched.analysis.papers.unisched", "figures")["settings"]
ROUND, LEASE, BE_LEASE = (USUAL[f"{name} (s)"] for name in ("round", "SLO lease", "BE lease"))
OVERHEAD, PATIENCE = 25, 21_600  # s
LOAD = USUAL["offered load"]
PROFILERS = 1  # nodes of the static profiler: the paper's 2 of 96 or more would be less than one


# --- workloads -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WorkloadSize:
    """How large a workload is.

    Parameters
    ----------
    nodes : int
        Of 8 GPUs, for which jobs are drawn; they run on a number of nodes for the offered load.
    jobs, days : int
    """

    nodes: int
    jobs: int
    days: int


Sizes = Mapping[str, WorkloadSize]
#: by the first letter of a workload
SIZES: Sizes = {"H": WorkloadSize(24, 300, 4), "P": WorkloadSize(10, 700, 2)}


@dataclass(frozen=True, slots=True)
class DeadlineWorkload:
    """One instance of a figure, drawn when it is needed.

    Parameters
    ----------
    name : str
        Such as ``H_MIX2`` or ``T[360]``.
    size : WorkloadSize or None
        None for T[m].
    seed : int
    density, hostile : int or None
        Of :func:`~gangsched.instances.deadlines.with_density` and
        :func:`~gangsched.instances.deadlines.with_hostile`, in %; None to leave the jobs.
    cost : int
        Factor of the preemption costs.

    Examples
    --------
    >>> DeadlineWorkload("T[40]", None).instance().name
    'testbed-40-mix2-seed0'
    """

    name: str
    size: WorkloadSize | None
    seed: int = 0
    density: int | None = None
    hostile: int | None = None
    cost: int = 1

    def instance(self) -> Instance[DeadlineJob]:
        """Return the jobs and their cluster."""
        return _instance(self)


@lru_cache(maxsize=8)
def _instance(workload: DeadlineWorkload) -> Instance[DeadlineJob]:
    made = _drawn(workload.name, workload.size, workload.seed)
    if workload.density is not None:
        made = generators.with_density(made, workload.density / 100, seed=workload.seed)
    if workload.hostile is not None:
        made = generators.with_hostile(made, workload.hostile / 100, seed=workload.seed)
    if workload.cost != 1:
        jobs = [
            replace(job, preemption_cost=workload.cost * (job.preemption_cost or 0))
            for job in made.jobs
        ]
        made = replace(made, jobs=tuple(jobs))
    return made


def _drawn(name: str, size: WorkloadSize | None, seed: int) -> Instance[DeadlineJob]:
    """The jobs as the generator makes them, on the nodes that they keep in all variants."""
    if size is None:
        options: Any = {"grace": 0} if "printed" in name else {}
        return generators.testbed_workload(jobs_of(name), seed=seed, **options)
    kind, _, family = name.partition("_")
    draw = {"H": generators.helios_like_workload, "P": generators.philly_like_workload}[kind]
    cluster = Cluster.uniform(nodes=size.nodes, gpus_per_node=8)
    options = {"jobs": size.jobs, "days": size.days, "family": family.lower(), "seed": seed}
    made = draw(cluster, **options)
    widest = -(-max(job.gpus for job in made.jobs) // 8)
    nodes = max(widest + PROFILERS, round(offered_load(made) * size.nodes / LOAD))
    return replace(made, cluster=Cluster.uniform(nodes=nodes, gpus_per_node=8))


def facts_of(workloads: Sequence[DeadlineWorkload]) -> dict[str, Any]:
    """Return facts about the instances, as lists by seed."""
    made = [workload.instance() for workload in workloads]
    return {
        "jobs": [len(instance.jobs) for instance in made],
        "nodes": [len(instance.cluster.nodes) for instance in made],
        "GPUs": [instance.cluster.gpus for instance in made],
        "offered load": [round(offered_load(instance), 3) for instance in made],
        "best-effort jobs": [sum(job.best_effort for job in i.jobs) for i in made],
        "mean run time (min)": [_minutes(fmean(j.work or 0 for j in i.jobs)) for i in made],
        "mean last deadline (min)": [
            _minutes(fmean(j.rewards[-1][0] for j in i.jobs if j.rewards)) for i in made
        ],
        "instance hash": [instance_hash(instance) for instance in made],
    }


# --- policies ------------------------------------------------------------------------------------


Make = Callable[[], Policy]
#: what knows run times, and can also profile as UniSched does; elastic as in the paper
WITH_RUN_TIMES: Mapping[str, Make] = {
    "GENIE": partial(Genie, elastic=True),
    "Hydra": Hydra,
    "Optimus": partial(Optimus, elastic=True, estimates=DurationEstimates()),
    "Themis": FinishTimeFairness,
    EDF: EarliestDeadline,
    "GENIE rigid": Genie,
    "Optimus rigid": partial(Optimus, estimates=DurationEstimates()),
}


def _profiled(make: Make) -> Policy:
    return Profiled(policy=make())


#: label with its information: how it is made; the order of Fig. 6
POLICIES: Mapping[str, Make] = {
    PAYING: UniSchedPolicy,
    knows("3Sigma", PROFILED): ThreeSigma,
    **{knows(name, PROFILED): partial(_profiled, make) for name, make in WITH_RUN_TIMES.items()},
    PRINTED_REWARD: partial(UniSchedPolicy, profiler_reward=1.0),
    KNOWN: partial(UniSchedPolicy, profiling="none"),
    **{knows(name, KNOWN_TIMES): make for name, make in WITH_RUN_TIMES.items()},
    "FIFO": Fifo,
}


# --- runs ----------------------------------------------------------------------------------------


BOUND, ELASTIC_BOUND = "bound", "bound for elastic jobs"


def cell_of(
    instance: str, policy: str, load: DeadlineWorkload, make: Make, x: int | None = None
) -> FigureCell:
    """Return the run of a policy over a workload."""
    return FigureCell(
        instance=instance, policy=policy, run=_run, workload=load, make=make, x=x, seed=load.seed,
        same=f"{make()!r} on {load!r}",
    )  # fmt: skip


def bound_of(cell: FigureCell) -> str:
    """Return which bound holds for the policy of a cell."""
    made = cell.make()
    return ELASTIC_BOUND if getattr(getattr(made, "policy", made), "elastic", False) else BOUND


def _run(cell: FigureCell) -> Values:
    """Drive one policy over one workload."""
    instance, policy = cell.workload.instance(), cell.make()
    run = drive(
        instance, policy, round_length=ROUND, lease=LEASE, overhead=OVERHEAD, patience=PATIENCE
    )
    if not run.records.finished.all():
        raise ValueError(f"{cell}: not all jobs were run")
    values = measure(run, instance)
    if isinstance(policy, UniSchedPolicy):
        values |= errors(run, instance)
    return {name: short(value) for name, value in values.items()}


def measure(run: Run, instance: Instance[DeadlineJob]) -> Values:
    """Return what the figures show of a run."""
    found = metrics.deadline_summary(run)
    won, wait = metrics.rewards(run), metrics.profiling_wait(run)
    target = [isinstance(job.stopping, TargetMetric) and bool(job.rewards) for job in instance.jobs]
    lost = 1 - won[target] / max((job.top_reward for job in instance.jobs), default=1.0)
    latency, miss = found["best_effort_latency"], found["weighted_miss"]
    profiled = ~np.isnan(wait)
    return {
        "miss": None if miss is None else 100 * miss,
        "metric_miss": 100 * float(lost.mean()) if lost.size else None,
        "latency": None if latency is None else latency / 60,
        "jct": float(np.nanmean(metrics.completion_time(run))) / 60,
        "slo_suspensions": found["slo_suspensions"],
        "be_suspensions": found["best_effort_suspensions"],
        "wait": float(wait[profiled].mean()) if profiled.any() else None,
        "longest_wait": float(wait[profiled].max()) if profiled.any() else None,
        "reward": found["reward"],
    }


def errors(run: Run, instance: Instance[DeadlineJob]) -> Values:
    """Return the mean error of the estimated against the true time on GPUs, in %.

    Notes
    -----
    The estimate is made when a job has had half of its time on GPUs, profiling left out: what it
    had, and (1) for the rest, that is service by the estimated epochs and the mean cost of
    suspensions. The true time has what suspensions and slower places really took.
    """
    found: dict[bool, list[float]] = {True: [], False: []}
    estimates = DurationEstimates()
    for j, spans in _spans(run).items():
        job, whole = instance.jobs[j], sum(end - start for start, end, _ in spans)
        now, left, runs = _halfway(job, spans, whole / 2, max(instance.cluster.sizes))
        service = estimates.of_job(job, left)
        after = sum(max(0, end - max(start, now)) for start, end, _ in spans)
        error = abs(_expected(job, service, now, runs) - after) / whole
        found[job.best_effort].append(100 * error)
    return {
        "slo_error": fmean(found[False]) if found[False] else None,
        "be_error": fmean(found[True]) if found[True] else None,
    }


def _spans(run: Run) -> dict[int, list[tuple[int, int, int]]]:
    """Start, end and number of nodes of the times that each job held GPUs, but for profiling."""
    plan, log = run.schedule, run.events
    begun = log.kind == EventKind.PROFILE
    profiles = set(zip(log.job[begun].tolist(), log.time[begun].tolist(), strict=True))
    found: dict[int, list[tuple[int, int, int]]] = {}
    columns = (plan.job, plan.start, plan.end, np.diff(plan.ptr))
    for j, start, end, nodes in zip(*(column.tolist() for column in columns), strict=True):
        if (j, start) not in profiles:
            found.setdefault(j, []).append((start, end, nodes))
    return {j: sorted(spans) for j, spans in found.items()}


def _halfway(
    job: DeadlineJob, spans: Sequence[tuple[int, int, int]], half: float, size: int
) -> tuple[int, int, bool]:
    """When a job has had half of its time, the service left then, and whether it goes on."""
    had, done = 0, 0
    for k, (start, end, nodes) in enumerate(spans):
        stop = start + min(end - start, math.ceil(half - had))
        worked = max(0, stop - start - (job.preemption_cost or 0) * (k > 0))
        done += worked * job.speed(job.gpus, nodes, size)
        had += end - start
        if had >= half:
            break
    left = (job.work or 0) - done // FULL_SPEED
    return stop, max(1, left), stop < end


def _expected(job: DeadlineJob, left: int, now: int, runs: bool) -> float:
    """Eq. (1) for what is left of a job: service, and the mean cost of its suspensions."""
    cost = job.preemption_cost or 0
    phase = leases.LeasePhase.RUNNING if runs else leases.LeasePhase.SUSPENDED
    for deadline, _ in job.rewards:
        due = job.release + deadline - now
        terms = leases.lease_terms(left, due, lease=LEASE, cost=cost, phase=phase)
        if terms is not None:
            times, share = leases.mean_interruptions(*terms, running=runs)
            return left + cost * (times / share + (not runs))
    seconds, share = leases.remaining_estimate(left, cost, BE_LEASE)
    return seconds / share


def _bound(cell: FigureCell) -> Values:
    """A verified upper bound of the reward of any policy that keeps gangs, or that need not."""
    problem = DeadlineRewards(cell.workload.instance(), cell.policy == ELASTIC_BOUND)
    bound = reward_bound(problem)
    verify_bound(problem, bound)
    return {"bound": float(bound.value)}


def _ratio(own: Values, bound: float) -> Values:
    """What any policy could win at most over what this one won."""
    return {"ratio": short(bound / own["reward"] if own["reward"] else None)}


and_bounds = partial(experiment.and_bounds, bound_of=bound_of, run=_bound)
with_ratios = partial(experiment.over_bounds, bound_of=bound_of, divide=_ratio)


def normalised(finished: Finished) -> Finished:
    """Add the latency over that of UniSched, at the same place and with the same information."""
    base = {
        (cell.policy == KNOWN, cell.instance, cell.x, cell.seed): own["latency"]
        for cell, own in finished
        if cell.policy in (UNISCHED, PAYING, KNOWN)
    }
    found: Finished = []
    for cell, own in finished:
        unit = base.get((cell.policy.endswith(KNOWN_TIMES), cell.instance, cell.x, cell.seed))
        ratio = None if own["latency"] is None or not unit else own["latency"] / unit
        found.append((cell, {**own, "latency_ratio": short(ratio)}))
    return found


def _minutes(seconds: float) -> float:
    return round(seconds / 60, 2)
