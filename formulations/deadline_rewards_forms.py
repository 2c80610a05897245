"""Declarative model of rewards for met deadlines in Pyomo: what runs in each second.

``time-indexed`` is exact on one node, where no gang is split. A job chooses a deadline and does its
work before; without one it does not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyomo.environ as pyo
from pyomo.environ import quicksum

from ..instances.model import FULL_SPEED
from ..instances.schedule import Schedule
from .deadline_rewards import DeadlineRewards
from .problem import Model, NoModel
from .rows import check_size, constraint, joined, write


def build(problem: DeadlineRewards, form: str = "time-indexed") -> Model[Schedule]:
    """Return the time-indexed model.

    Parameters
    ----------
    problem : DeadlineRewards
        On one node.
    form : {"time-indexed"}

    Raises
    ------
    ValueError
        For several nodes, or a model beyond 200,000 jobs x seconds x numbers of GPUs.

    Examples
    --------
    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id=i, gpus=2, work=3, rewards=[(5, 100)]) for i in "ab"]
    >>> build(DeadlineRewards(Instance(Cluster.of_sizes([2]), jobs))).native.capacity.doc
    'gangs hold at most M GPUs'
    """
    nodes = problem.instance.cluster.nodes
    if len(nodes) != 1:
        raise NoModel(f"DeadlineRewards: form={form!r} is for one node, there are {len(nodes)}")
    cells = list(_cells(problem))
    check_size("DeadlineRewards", len(cells), "jobs x seconds x numbers of GPUs", form)
    m: Any = pyo.ConcreteModel(name="deadline rewards")
    met = [(j, f) for j, job in enumerate(problem.jobs) for f in range(len(job.rewards))]
    seconds = sorted({(j, t) for j, t, _ in cells})
    m.x_run = pyo.Var(cells, domain=pyo.Binary, doc="job j runs at t on n GPUs")
    m.z_meet = pyo.Var(met, domain=pyo.Binary, doc="job j is complete by its deadline f")
    m.nothing = pyo.Var(bounds=(0, 0), doc="keeps rows without variables in the model")
    jobs = problem.jobs
    m.objective = pyo.Objective(
        expr=quicksum(jobs[j].rewards[f][1] * m.z_meet[j, f] for j, f in met) + m.nothing,
        sense=pyo.maximize,
    )

    @constraint(m, sorted({j for j, _ in met}), doc="one deadline a job")
    def choice(m: Any, j: int) -> Any:
        return quicksum(m.z_meet[j, f] for i, f in met if i == j) <= 1

    @constraint(m, seconds, doc="one number of GPUs at a time")
    def once(m: Any, j: int, t: int) -> Any:
        return quicksum(m.x_run[j, t, n] for n in _counts(problem, j)) <= 1

    @constraint(m, met)
    def service(m: Any, j: int, f: int) -> Any:
        """All work before the deadline, in units of the gang's seconds."""
        release, last = jobs[j].release, jobs[j].release + jobs[j].rewards[f][0]
        done = quicksum(
            jobs[j].speed(n, 1, nodes[0].gpus) / FULL_SPEED * m.x_run[j, t, n]
            for t in range(release, last)
            for n in _counts(problem, j)
        )
        return done + m.nothing >= (jobs[j].work or 0) * m.z_meet[j, f]

    @constraint(m, sorted({t for _, t in seconds}), doc="gangs hold at most M GPUs")
    def capacity(m: Any, t: int) -> Any:
        return quicksum(n * m.x_run[j, s, n] for j, s, n in cells if s == t) <= nodes[0].gpus

    return Model(
        m, "pyomo", form, True, lambda: _extract(problem, m), lambda s: _embed(problem, m, s)
    )


def _counts(problem: DeadlineRewards, job: int) -> list[int]:
    """Numbers of GPUs on which a job may run."""
    gang, most = problem.jobs[job].gpus, problem.instance.cluster.gpus
    return list(range(1, min(2 * gang, most) + 1)) if problem.elastic else [gang]


def _cells(problem: DeadlineRewards) -> Iterator[tuple[int, int, int]]:
    """(job, second, GPUs) from the release to the last deadline."""
    for j, job in enumerate(problem.jobs):
        last = max((deadline for deadline, _ in job.rewards), default=0)
        for t in range(job.release, job.release + last):
            for n in _counts(problem, j):
                yield j, t, n


def _extract(problem: DeadlineRewards, m: Any) -> Schedule:
    """Seconds before the chosen deadlines; neighbours on as many GPUs are one segment."""
    rows = []
    for j, job in enumerate(problem.jobs):
        chosen = [d for f, (d, _) in enumerate(job.rewards) if m.z_meet[j, f].value > 0.5]
        for t in range(job.release, job.release + max(chosen, default=0)):
            held = (n for n in _counts(problem, j) if m.x_run[j, t, n].value > 0.5)
            rows += [(j, t, {0: n}) for n in islice(held, 1)]
    return Schedule.of(sorted(joined(rows), key=lambda row: (row.start, row.job)))


def _embed(problem: DeadlineRewards, m: Any, schedule: Schedule) -> None:
    """Write a schedule's seconds and the deadlines that it meets."""
    m.nothing.set_value(0)
    rows = [(row.job, sum(row.gpus.values()), row) for row in schedule]
    write(m.x_run, {(j, t, n): 1 for j, n, row in rows for t in range(row.start, row.end)})
    met = {}
    for j, won in enumerate(problem.rewards(schedule)):
        values = [value for _, value in problem.jobs[j].rewards]
        if won in values:
            met[j, values.index(won)] = 1
    write(m.z_meet, met)
