"""Policies of jobs with utilities side by side: what they earn, against what anyone can earn.

The jobs are those of :class:`~gangsched.formulations.Irmp`, which also says how they run: with
which bandwidths, up to when, by which clock, and whether they may be left out. All policies run
under these terms. What a run earns is found from its segments by
:mod:`gangsched.analysis.driving.metrics.revenue`; that the run keeps the terms is checked by the
problem, and the rules of the cluster by :mod:`gangsched.analysis.driving.check`. The bound is that
of :func:`gangsched.bound`, which no schedule beats, also none that knows all jobs in advance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...formulations.irmp.problem import Irmp
from ...formulations.problem import Sense
from ...instances.model import Instance
from ...solvers.policy import Policy, Rules
from ...solvers.result import Bound
from ..driving import metrics
from ..driving.run import Run
from .comparison import ratio
from .revenue import fairness_variance

REVENUE = "revenue"  #: the measure, of rows and of bounds
ROUNDING = 1e-12  #: relative error of a sum of floats
#: of the usual measures, those that do not take jobs for gangs of one size
USUAL = (
    *("jobs", "finished", "unfinished", "rejected", "mean_completion", "median_completion"),
    *("mean_wait", "max_wait", "utilisation", "utilisation_end"),
)
#: parameters of a problem that say how its jobs run
TERMS = ("worker_bandwidth", "ps_bandwidth", "horizon", "clock", "optional")
#: as times are slots
SLOTS = Rules(round_length=1)


def taken_apart(subject: Any) -> tuple[Instance[Any], Irmp | None]:
    """Return the instance of what is replayed, and the problem of jobs with utilities.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> taken_apart(reduced_problem(5).instance)[1]
    Irmp(5 jobs, 25 nodes, 2 users)
    """
    if isinstance(subject, Irmp):
        return subject.instance, subject
    if not isinstance(subject, Instance):
        raise TypeError(f"replay: a {type(subject).__name__} is neither an Instance nor an Irmp")
    return subject, Irmp(subject) if subject.kind.needs_ps else None


def on_terms(policies: Mapping[str, Policy], problem: Irmp | None) -> dict[str, Policy]:
    """Return the policies as they run under the terms of a problem; as they are without one."""
    if problem is None:
        return dict(policies)
    asked: Mapping[str, Any] = policies
    return {
        name: policy.under(problem) if hasattr(policy, "under") else policy
        for name, policy in asked.items()
    }


def terms_of(problem: Irmp) -> dict[str, Any]:
    """Return the terms that all policies have in common, by name.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> terms_of(reduced_problem(5))
    {'worker_bandwidth': 2998, 'ps_bandwidth': 6851, 'horizon': None, 'clock': 'absolute', \
'optional': True}
    """
    given = problem.parameters()
    return {name: given[name] for name in TERMS}


def earned(problem: Irmp, run: Run) -> dict[str, Any]:
    """Return what a run is measured by, by name."""
    found = metrics.revenue_summary(run, problem.clock)
    return {**found, "fairness variance": fairness_variance(problem, run.schedule)}


def revenue_ratio(revenue: float | None, bound: Bound | None) -> float | None:
    """Return the bound over the revenue; what is equal but for rounding may look better."""
    if revenue is not None and bound is not None:
        slack = ROUNDING * abs(bound.value)
        revenue = bound.value if bound.value < revenue <= bound.value + slack else revenue
    return ratio(revenue, bound, Sense.MAX)
