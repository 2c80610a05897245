"""Declarative model of preemptive gangs in Pyomo: what runs in each second, for tiny instances.

``time-indexed`` is exact for GPUs of one model at speed 1: any set of gangs that needs at most M
GPUs can be placed, as a gang may spread over nodes and may move.
Nothing runs after the horizon max_j r_j + sum_j p_j, as an optimum never idles while a released job
waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
from pyomo.environ import quicksum

from ...instances.schedule import Schedule, Segment
from ..problem import Model
from ..rows import check_size, constraint, constraint_of, take, write
from .problem import CompletionTime


def build(
    problem: CompletionTime, form: str = "time-indexed", *, horizon: int | None = None
) -> Model[Schedule]:
    """Return the time-indexed model.

    Parameters
    ----------
    problem : CompletionTime
    form : {"time-indexed"}
    horizon : int or None
        No job runs at this second or later; by default and at most max_j r_j + sum_j p_j. A shorter
        one may cut off the optimum.

    Raises
    ------
    ValueError
        For a model beyond 200,000 jobs x seconds, or GPUs that are not alike for all jobs.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> instance = Instance(Cluster.of_sizes([2]), [Job(id=i, gpus=2, work=3) for i in "ab"])
    >>> build(CompletionTime(instance)).native.capacity.doc
    'gangs hold at most M GPUs'
    """
    if problem.mixed:
        raise ValueError(
            f"CompletionTime: form={form!r} is for GPUs of one model at speed 1, the cluster "
            f"has {', '.join(map(repr, problem.models))}"
        )
    latest = max((job.release for job in problem.jobs), default=0)
    latest += sum(job.work or 0 for job in problem.jobs)
    horizon = latest if horizon is None else min(horizon, latest)
    size = len(problem.jobs) * horizon
    check_size("CompletionTime", size, "jobs x seconds", form)
    m = _model(problem, horizon)
    _objective(m, problem)
    return Model(m, "pyomo", form, True, _extract(m, problem), _embed(m, problem))


def _model(problem: CompletionTime, horizon: int) -> Any:
    m: Any = pyo.ConcreteModel(name="completion time")
    m.jobs = pyo.RangeSet(0, len(problem.jobs) - 1)
    m.seconds = pyo.RangeSet(0, horizon - 1)
    m.z_run = pyo.Var(m.jobs, m.seconds, domain=pyo.Binary, doc="1 where j runs in [t, t + 1)")
    m.u_open = pyo.Var(m.jobs, m.seconds, bounds=(0, 1), doc="1 where C_j > t")
    for j, t in m.z_run:
        if t < problem.jobs[j].release:
            m.z_run[j, t].fix(0)
            m.u_open[j, t].fix(1)

    @constraint(m, m.jobs, m.seconds, doc="a job that runs is not complete")
    def open(m: Any, j: int, t: int) -> Any:
        return m.u_open[j, t] >= m.z_run[j, t]

    @constraint(m, m.jobs, m.seconds, doc="what is complete stays so")
    def order(m: Any, j: int, t: int) -> Any:
        if t + 1 == horizon:
            return pyo.Constraint.Skip
        return m.u_open[j, t] >= m.u_open[j, t + 1]

    @constraint(m, m.jobs, doc="p_j seconds or more")
    def work(m: Any, j: int) -> Any:
        return quicksum(m.z_run[j, t] for t in m.seconds) >= problem.jobs[j].work

    @constraint(m, m.seconds, doc="gangs hold at most M GPUs")
    def capacity(m: Any, t: int) -> Any:
        if not problem.jobs:
            return pyo.Constraint.Skip
        used = quicksum(problem.jobs[j].gpus * m.z_run[j, t] for j in m.jobs)
        return used <= problem.instance.cluster.gpus

    return m


def _objective(m: Any, problem: CompletionTime) -> None:
    """C_j is the number of seconds t with u_open[j, t]."""
    ends = {j: quicksum(m.u_open[j, t] for t in m.seconds) for j in m.jobs}
    if problem.measure == "makespan":
        m.x_makespan = pyo.Var(domain=pyo.NonNegativeReals, doc="max_j C_j")
        m.makespan = constraint_of(lambda m, j: m.x_makespan >= ends[j], m.jobs)
        m.objective = pyo.Objective(expr=m.x_makespan)
        return
    since = [0 if problem.measure == "completion" else job.release for job in problem.jobs]
    weights = problem.rates().tolist()
    m.objective = pyo.Objective(expr=quicksum(weights[j] * (ends[j] - since[j]) for j in m.jobs))


def _extract(m: Any, problem: CompletionTime) -> Callable[[], Schedule]:
    def extract() -> Schedule:
        rows = []
        for t in m.seconds:
            free = list(problem.instance.cluster.sizes)
            for j in m.jobs:
                if m.z_run[j, t].value > 0.5:
                    rows.append(Segment(j, t, t + 1, take(problem.jobs[j].gpus, free)))
        return Schedule.of(rows)

    return extract


def _embed(m: Any, problem: CompletionTime) -> Callable[[Schedule], None]:
    def embed(schedule: Schedule) -> None:
        ends = problem.ends(schedule)
        write(m.z_run, {(row.job, t): 1 for row in schedule for t in range(row.start, row.end)})
        write(m.u_open, {(j, t): int(t < ends[j]) for j, t in m.u_open})
        if problem.measure == "makespan":
            m.x_makespan.set_value(max(ends, default=0))

    return embed
