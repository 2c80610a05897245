"""What a replay has bounds of: the problems by measure, of the jobs that were not rejected."""

from __future__ import annotations

import logging
from collections.abc import Container
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

from ...formulations.completion_time.problem import CompletionTime, Measure
from ...formulations.deadline_rewards import DeadlineRewards
from ...formulations.irmp.problem import Irmp
from ...instances.model import DeadlineJob, Instance, some_jobs
from ...solvers.result import Bound
from ..driving import metrics
from ..driving.run import Run
from ..proofs.verify import InvalidCertificate, NoCertificate, verify_bound
from .online_revenue import REVENUE

logger = logging.getLogger("gangsched")

REWARDS = ("reward", "elastic reward")  #: for gangs; for any number of GPUs


def holds(name: str, problem: Any, bound: Bound) -> bool:
    """Whether the bound can be verified; one that cannot is a bug, and is not shown."""
    try:
        verify_bound(problem, bound)
    except (InvalidCertificate, NoCertificate) as error:
        logger.error("bound of %s is left out: %s", name, error)
        return False
    return True


def without(instance: Instance[Any], rejected: Container[int]) -> Instance[Any]:
    """Return the instance without the jobs of these numbers."""
    able = [job for j, job in enumerate(instance.jobs) if j not in rejected]
    return some_jobs(instance, able)


def rewards_problem(
    instance: Instance[DeadlineJob], rejected: Container[int], *, elastic: bool
) -> DeadlineRewards:
    """Return the problem that a bound of rewards is of: the jobs that were not rejected."""
    return DeadlineRewards(without(instance, rejected), elastic)


def revenue_problem(problem: Irmp, rejected: Container[int]) -> Irmp:
    """Return the problem that a bound of revenue is of: the jobs that were not rejected."""
    return replace(problem, instance=without(problem.instance, rejected))


def completion_problems(instance: Instance[Any]) -> dict[str, CompletionTime]:
    """Return those of completion times by name, "flow" before "completion"."""
    found = {name: CompletionTime(instance, name) for name in reversed(get_args(Measure))}
    if len({job.weight for job in instance.jobs}) > 1:
        found["weighted flow"] = CompletionTime(instance, "flow", weighted=True)
    return found


def bounded(
    instance: Instance[Any], rejected: Container[int], problem: Irmp | None
) -> dict[str, Any]:
    """Return by name the problems that bounds may be of; of revenue alone where jobs have it."""
    if problem is not None:
        return {REVENUE: revenue_problem(problem, rejected)}
    times = completion_problems(without(instance, rejected))
    found: dict[str, Any] = {name: times.pop(name) for name in get_args(Measure)} | times
    if instance.kind.has_deadlines:
        for elastic, name in enumerate(REWARDS):
            found[name] = rewards_problem(instance, rejected, elastic=bool(elastic))
    return found


def weighted_flow(run: Run) -> float | None:
    """Return the sum of weighted completion times; None where jobs are not complete."""
    book = run.records
    if metrics.makespan(run) is None:
        return None
    flow = (book.end - book.release)[book.finished].tolist()
    weights = book.weight[book.finished].tolist()
    return float(sum(Fraction(w) * t for w, t in zip(weights, flow, strict=True)))
