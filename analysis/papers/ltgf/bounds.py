"""Certified ratios of Ye et al.'s figures: means over what no policy can be below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ....formulations.completion_time.problem import CompletionTime, Measure
from ....instances import Instance, Job
from ...proofs.completion_time import online_bound
from ...proofs.verify import verify_bound
from ..experiment import Finished
from ..study import short

STEPS = 400  # of the climb of prices
#: by what is measured: what is bounded, over the number of jobs
BOUNDED: Mapping[str, Measure] = {"mean_completion": "flow", "mean_slowdown": "slowdown"}


def least_mean(instance: Instance[Job], measure: str) -> float:
    """Return a verified lower bound of a mean over jobs, for every policy.

    Examples
    --------
    >>> from gangsched.instances import Cluster
    >>> jobs = [Job(id="a", gpus=1, work=4), Job(id="b", gpus=1, work=1, release=1)]
    >>> least_mean(Instance(Cluster.of_sizes([1]), jobs), "mean_completion")
    3.0
    """
    problem = CompletionTime(instance, BOUNDED[measure])
    bound = online_bound(problem, steps=STEPS)
    verify_bound(problem, bound)
    return float(bound.value) / len(instance.jobs)


def with_ratios(finished: Finished, *, measure: str = "mean_completion") -> Finished:
    """Add to each run its mean over the bound of the jobs that it was given."""
    known: dict[Any, float] = {}
    found: Finished = []
    for cell, own in finished:
        case, _, reject = cell.workload
        place = (case.workload, case.seed, len(case.instance.cluster.nodes), reject)
        if place not in known:
            gone = {*reject}
            jobs = tuple(job for j, job in enumerate(case.instance.jobs) if j not in gone)
            known[place] = least_mean(replace(case.instance, jobs=jobs), measure)
        ratio = short(own["values"][measure] / known[place])
        found.append((cell, {**own, "values": {**own["values"], "ratio": ratio}}))
    return found
