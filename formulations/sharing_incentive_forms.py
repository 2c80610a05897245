"""Declarative model of the worst user's ratio in Pyomo: what runs in each second, for tiny cases.

``time-indexed`` is that of completion times, which has their exactness and limits, with a row for
each user: F_u <= b_u + d_u y, where y is the worst ratio, a variable or the limit.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
from pyomo.environ import quicksum

from ..instances.schedule import Schedule
from .completion_time.forms import build as build_times
from .problem import Model
from .rows import constraint
from .sharing_incentive import SharingIncentive


def build(
    problem: SharingIncentive, form: str = "time-indexed", *, horizon: int | None = None
) -> Model[Schedule]:
    """Return the time-indexed model.

    Parameters
    ----------
    problem : SharingIncentive
    form : {"time-indexed"}
    horizon : int or None
        As of the model of completion times.

    Raises
    ------
    ValueError
        As of the model of completion times.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> instance = Instance(Cluster.of_sizes([2]), [Job(id=i, gpus=2, work=3) for i in "ab"])
    >>> build(SharingIncentive(instance)).native.ratio.doc
    'F_u is at most b_u and the worst ratio times d_u'
    """
    model = build_times(problem.flow, "time-indexed", horizon=horizon)
    m: Any = model.native
    owners, terms = list(problem.members), problem.terms()
    m.users = pyo.RangeSet(0, len(owners) - 1)
    m.x_worst = pyo.Var(domain=pyo.Reals, doc="worst ratio")
    if problem.most is not None:
        m.x_worst.fix(float(problem.most))

    @constraint(m, m.users, doc="F_u is at most b_u and the worst ratio times d_u")
    def ratio(m: Any, u: int) -> Any:
        less, over = terms[owners[u]]
        jobs = problem.members[owners[u]]
        ends = quicksum(m.u_open[j, t] for j in jobs for t in m.seconds)
        since = sum(problem.jobs[j].release for j in jobs)
        return (ends - since - less) / over <= m.x_worst

    if problem.limit is None:
        m.objective.deactivate()
        m.x_worst.setlb(0)
        m.worst = pyo.Objective(expr=m.x_worst)

    def embed(schedule: Schedule) -> None:
        model.embed(schedule)
        if problem.limit is None:
            found = problem.ratios(problem.flows(schedule)).values()
            m.x_worst.set_value(float(max(found, default=0)))

    return Model(m, "pyomo", form, True, model.extract, embed)
