"""Runs behind the figures of Wang et al.: workloads, solvers, and what is measured."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from ....formulations.irmp.problem import Irmp, paper_problem
from ....instances import Schedule
from ....instances.convert import to_revenue_instance
from ....instances.revenue import HOUR, Law
from ....instances.traces import ReadReport, Trace
from ....solvers.facts import RevenueFacts
from ....solvers.irmp.astraea import AstraeaParams, assumed_scale, astraea, batch_sche, round_of
from ....solvers.irmp.revenue_sharing import gandiva_like, hived_like
from ....solvers.ours.irmp.columns import revenue_bound
from ....solvers.ours.irmp.lists import RevenueProgramParams, lp_list
from ....solvers.ours.irmp.online import OnlineParams, online
from ....solvers.result import Refuted, Result, Stop
from ...comparing.revenue import Money, makespan, money_of, money_violations, settle, utilisation
from ...proofs.verify import verify_bound
from .. import experiment
from ..experiment import FigureCell
from ..study import Values, short
from .statements import ASTRAEA, BATCH, CLIPPED, COUNTINGS, FIFO, GANDIVA, HIVED, IDEAL, LIST, TRUE

Outcome = Result[Schedule] | Refuted[Schedule]
Solve = Callable[..., Outcome]
DAY = 86400
#: slots that bounds look at
SLOTS = 2048
#: where use over time is given: slots, four to a doubling
LEVELS = tuple(float(x) for x in sorted({round(2 ** (k / 4)) for k in range(4 * 14 + 1)}))

PREEMPTING = (GANDIVA, HIVED)
POLICIES: Mapping[str, Solve] = {
    ASTRAEA: astraea,
    BATCH: batch_sche,
    GANDIVA: gandiva_like,
    HIVED: hived_like,
    FIFO: partial(online, params=OnlineParams(by="fifo")),
    LIST: partial(lp_list, params=RevenueProgramParams(slots=SLOTS)),
}


# --- workloads -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RevenueWorkload:
    """One instance of a figure, drawn when it is needed.

    Parameters
    ----------
    jobs, servers, users : int
        Jobs are the first of the trace's; users those of synthetic jobs, a trace has its own.
    utility : {"linear", "convex"}
    seed : int
    source : str
        Name of the trace; empty for synthetic jobs.
    trace : Trace or None
        Its jobs, see :func:`excerpt`.

    Examples
    --------
    >>> RevenueWorkload(jobs=5, servers=4, users=2).problem()
    Irmp(5 jobs, 4 nodes, 2 users)
    """

    jobs: int = 50
    servers: int = 100
    users: int = 14
    utility: Law = "linear"
    seed: int = 0
    source: str = ""
    trace: Trace | None = field(default=None, compare=False, repr=False)

    def problem(self) -> Irmp:
        """Return the problem; of a trace, its releases and users, and the rest drawn."""
        drawn: Any = {"servers": self.servers, "utility": self.utility, "seed": self.seed}
        if self.trace is None:
            return paper_problem(self.jobs, users=self.users, **drawn)
        begin = self.trace.jobs[0].release // HOUR * HOUR
        made, parameters = to_revenue_instance(
            self.trace, window=(begin, None), chunks="drawn", **drawn
        )
        return Irmp(replace(made.instance, jobs=made.instance.jobs[: self.jobs]), **parameters)


def excerpt(trace: Trace, jobs: int, seed: int, users: int | None = None) -> Trace:
    """Return so many jobs of a trace in a row, of as many users as there are.

    Examples
    --------
    >>> from gangsched.instances import Job
    >>> from gangsched.instances.traces import ReadReport
    >>> rows = [Job(id=f"j{i}", gpus=1, user="ab"[i % 2], release=30_000 * i) for i in range(9)]
    >>> long = Trace(name="log", jobs=rows, report=ReadReport(read=9))
    >>> [job.id for job in excerpt(long, 3, 0).jobs], [job.id for job in excerpt(long, 3, 1).jobs]
    (['j0', 'j1', 'j2'], ['j3', 'j4', 'j5'])
    """
    rows = trace.jobs
    if users is not None:
        busiest = {user for user, _ in Counter(job.user for job in rows).most_common(users)}
        rows = tuple(job for job in rows if job.user in busiest)
    releases = np.array([job.release for job in rows], dtype=np.int64)
    days = np.arange(0, int(releases.max(initial=-1)) + 1, DAY)
    firsts = np.unique(np.searchsorted(releases, days)).tolist()
    windows = [rows[first : first + jobs] for first in firsts]
    whole = [w for w in windows if len(w) == jobs and w[-1].release - w[0].release <= DAY]
    whole.sort(key=lambda window: -len({job.user for job in window}))
    if seed >= len(whole):
        raise ValueError(f"trace {trace.name!r} has {len(whole)} windows of {jobs} jobs in a day")
    names = {job.user for job in whole[seed]}
    kept = tuple(user for user in trace.users if user.id in names)
    return replace(trace, jobs=whole[seed], users=kept, rows=(), report=ReadReport(read=jobs))


# --- runs ----------------------------------------------------------------------------------------


BOUND, PREEMPTIVE_BOUND = "bound", "bound with preemption"


def bound_of(cell: FigureCell) -> str:
    """Return which bound holds for the policy of a cell."""
    return PREEMPTIVE_BOUND if cell.policy in PREEMPTING else BOUND


def run(cell: FigureCell) -> Values:
    """Return what the figures show of a policy over a workload."""
    problem = cell.workload.problem()
    result = whole(cell.make(problem))
    return {name: short(v) for name, v in measure(problem, result).items()}


def whole(result: Outcome) -> Outcome:
    """Return what has come to its end; go on with Ctrl-C where that is what ended it."""
    if isinstance(result, Result) and result.stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _bound(cell: FigureCell) -> Values:
    """A verified upper bound of what a schedule earns that may preempt, or may not."""
    problem = replace(cell.workload.problem(), preemptive=cell.policy == PREEMPTIVE_BOUND)
    bound = revenue_bound(problem, slots=SLOTS)
    verify_bound(problem, bound)
    return {"bound": float(bound.value)}


def _shares(own: Values, bound: float) -> Values:
    """Revenue over the bound, and the certified ratio."""
    earned = own[TRUE] or 0.0
    shares = {f"share {c}": short((own[c] or 0.0) / bound) for c in COUNTINGS}
    return {**shares, "ratio": short(max(1.0, bound / earned)) if earned > 0 else None}


and_bounds = partial(experiment.and_bounds, bound_of=bound_of, run=_bound)
with_bounds = partial(experiment.over_bounds, bound_of=bound_of, divide=_shares)


# --- what is measured ----------------------------------------------------------------------------


def counted(problem: Irmp, result: Result[Schedule]) -> dict[str, dict[int, float]]:
    """Return what each job that runs is worth, by the way to count."""
    assert result.solution is not None
    true = ideal = problem.worths(result.solution)
    rounds = RevenueFacts.of(result).rounds
    if rounds is not None:  # then no job is preempted
        ideal = {
            row.job: problem.jobs[row.job].utility.value(row.end - round_of(row.start, rounds)[1])
            for row in result.solution
        }
    return {TRUE: true, CLIPPED: {job: max(v, 0.0) for job, v in true.items()}, IDEAL: ideal}


def alphas(problem: Irmp, worth: Mapping[int, float], money: Money) -> list[float]:
    """Return alpha_u of each user for one way to count; empty where the revenue is not positive."""
    revenue = math.fsum(worth.values())
    if not revenue > 0:
        return []
    quotas = problem.quotas.sum(axis=1)
    shares = (quotas / quotas.sum(axis=0)).mean(axis=1).tolist()
    parts: dict[str, list[float]] = {u: [money.incomes.get(u, 0.0)] for u in problem.users}
    for j, job in enumerate(problem.jobs):
        parts[problem.user(j)] += [worth.get(j, 0.0), -money.payments.get(job.id, 0.0)]
    return [math.fsum(parts[u]) / revenue / q for u, q in zip(problem.users, shares, strict=True)]


def measure(problem: Irmp, result: Outcome) -> Values:
    """Return what the figures show of a run."""
    schedule = result.solution
    if isinstance(result, Refuted) or schedule is None:
        raise ValueError(f"{result.solver}: no schedule that is allowed")
    wrong = money_violations(problem, result)
    if wrong:
        raise ValueError(f"{result.solver}: {'; '.join(wrong[:3])}")
    money, values = money_of(result), Values()
    for counting, worth in counted(problem, result).items():
        values[counting] = revenue = math.fsum(worth.values())
        values[f"a job {counting}"] = revenue / max(1, len(problem.jobs))
        ratios = alphas(problem, worth, money)
        values[f"variance {counting}"] = float(np.var(ratios)) if ratios else None
        values[f"fair {counting}"] = float(sum(r >= 1 for r in ratios)) if ratios else None
        values[f"least {counting}"] = min(ratios, default=None)
        values[f"most {counting}"] = max(ratios, default=None)
        values |= {f"alpha {counting} of {u}": ratio for u, ratio in enumerate(ratios)}
    values["within"] = _within(problem, result)
    used = 100 * utilisation(problem, schedule)[0]
    values["makespan"] = float(makespan(schedule))
    values["most use"] = float(used.max(initial=0.0))
    values["mean use"] = float(used.mean()) if used.size else 0.0
    edges = [0, *map(int, LEVELS)]
    for low, high in pairwise(edges):
        values[f"use at {high}"] = float(used[low:high].sum()) / (high - low)
    return values


def _within(problem: Irmp, result: Result[Schedule]) -> float | None:
    """Percent of the runs with f / use >= 1; None without prices."""
    schedule, facts = result.solution, RevenueFacts.of(result)
    if schedule is None or facts.within_assumption is None:
        return None
    ideal = counted(problem, result)[IDEAL]
    within = 0
    for row in schedule:
        slots, money = row.end - row.start, facts.scale * ideal[row.job]
        within += all(money >= slots * sum(u.values()) for u in (row.gpus, row.ps or {}))
    if within != facts.within_assumption:
        raise ValueError(
            f"{result.solver}: says {facts.within_assumption} runs are within the assumption of "
            f"(8), but {within} are"
        )
    return 100 * within / max(1, len(schedule))


def job_rows(name: str, problem: Irmp, result: Outcome) -> list[list[Any]]:
    """Return ideal revenue and cost of each accepted job, by cost, and a summary of them.

    Notes
    -----
    The cost of a job of stage 1, which pays nothing, is the one at which it was accepted.
    """
    schedule = result.solution
    assert isinstance(result, Result)
    assert schedule is not None
    all_jobs = {problem.jobs[j].id for j in schedule.job.tolist()}
    theta = RevenueFacts.of(result).theta
    assert theta is not None
    scale = RevenueFacts.of(result).scale
    costs = settle(problem, schedule, all_jobs, theta=theta, scale=scale).payments
    worth = counted(problem, result)
    points = sorted(
        (short(costs[problem.jobs[j].id]) or 0.0, short(ideal) or 0.0, short(worth[TRUE][j]) or 0.0)
        for j, ideal in worth[IDEAL].items()
    )
    left = [ideal - cost for cost, ideal, _ in points]
    summary: Values = {
        "accepted": float(len(points)),
        "least": short(min(left, default=0.0)),
        "median cost": short(median([cost for cost, _, _ in points] or [0.0])),
        "median ideal": short(median([ideal for _, ideal, _ in points] or [0.0])),
        "below": float(sum(ideal <= cost for cost, ideal, _ in points)),
        "true below": float(sum(true <= cost for cost, _, true in points)),
    }
    jobs = [
        [name, "a job", k, {"job cost": cost, "job ideal": ideal, "job true": true}]
        for k, (cost, ideal, true) in enumerate(points)
    ]
    return [[name, ASTRAEA, None, summary], *jobs]


def facts_of(cells: Sequence[FigureCell]) -> dict[str, Any]:
    """Return facts about the workloads of one instance, lists by seed."""
    loads = dict.fromkeys(cell.workload for cell in cells)
    problems = [load.problem() for load in loads]
    work = [sum(j.batches / j.rates[0] for j in p.jobs) / p.instance.cluster.gpus for p in problems]
    return {
        "jobs": [len(p.jobs) for p in problems],
        "servers": [len(p.instance.cluster.nodes) for p in problems],
        "workers": [p.instance.cluster.gpus for p in problems],
        "users": [len(p.users) for p in problems],
        "scale": [assumed_scale(p) for p in problems],
        "last release": [max(job.release for job in p.jobs) for p in problems],
        "work on one server each, hours of all workers": [round(w, 1) for w in work],
    }


def scaled(policy: str, scale: int) -> Solve:
    """Return a policy with prices in a unit of money; those without prices as they are."""
    if policy not in (ASTRAEA, BATCH):
        return POLICIES[policy]
    return partial(POLICIES[policy], params=AstraeaParams(scale=float(scale)))


def theta_of(policy: str, percent: int) -> Solve:
    """Return Astraea whose highest prices are so many percent of what they should be."""
    if percent == 100:
        return POLICIES[policy]
    return partial(POLICIES[policy], params=AstraeaParams(estimate=percent / 100))
