"""What jobs with utilities earn in a run, (3) of Wang et al. (2023), from its segments alone.

Utilities are evaluated here once more: no code of the formulation, of a job or of a policy is used,
so that what a policy is said to earn does not hang on its own arithmetic.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ....instances.jobs import Linear, Power, Utility
from ..run import Floats, Run
from .jobs import completion_time
from .parts import mean


def earnings(run: Run, clock: Literal["absolute", "release"] = "absolute") -> Floats:
    """Return what each job earned by its completion; nan where it is not complete."""
    instance, ends = run.require_instance(), _ends(run)
    won = np.full(len(run.records), np.nan)
    for j, job in enumerate(instance.jobs):
        if run.records.finished[j] and j in ends:
            since = job.release if clock == "release" else 0
            won[j] = _worth(job.utility, ends[j] - since)
    return won


def _ends(run: Run) -> dict[int, int]:
    """When the last segment of each job that ran ends, by number."""
    ends: dict[int, int] = {}
    for j, end in zip(run.schedule.job.tolist(), run.schedule.end.tolist(), strict=True):
        ends[j] = max(end, ends.get(j, 0))
    return ends


def _worth(utility: Utility, slots: int) -> float:
    """A completion after so many slots."""
    if isinstance(utility, Linear):
        return utility.constant + utility.slope * slots
    if isinstance(utility, Power):
        return math.pow(utility.scale / slots, utility.exponent)
    return utility.values[-1] if slots > len(utility.values) else utility.values[slots - 1]


def revenue_summary(
    run: Run, clock: Literal["absolute", "release"] = "absolute"
) -> dict[str, float | int | None]:
    """Return what a run of jobs with utilities is measured by, by name.

    Examples
    --------
    >>> from gangsched.analysis.driving.drive import drive
    >>> from gangsched.instances import Cluster, Instance, Node, ParameterServerJob
    >>> from gangsched.solvers.ours.irmp.policy import OnlineRevenue
    >>> jobs = [ParameterServerJob(id=i, gpus=2, epochs=4, minibatches=1, rates=(1, 0.5),
    ...                            utility=Linear(-2, 12)) for i in "ab"]
    >>> instance = Instance(Cluster([Node("s", 2, ps=1)]), jobs)
    >>> found = revenue_summary(drive(instance, OnlineRevenue(), round_length=1))
    >>> found["revenue"], found["served"], found["left_out"]    # 12 - 2 * 4; b would end at 8
    (4.0, 1, 1)
    """
    won, book = earnings(run, clock), run.records
    served = int((~np.isnan(won)).sum())
    return {
        "revenue": math.fsum(won[~np.isnan(won)].tolist()),
        "served": served,
        "left_out": len(book) - served - int(book.rejected.sum()),
        "rejected": int(book.rejected.sum()),
        "mean_completion": mean(completion_time(run)),
    }
