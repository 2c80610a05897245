"""How much worse off than alone on its quota the worst user of a run is, in a replay.

The readings are those of :mod:`gangsched.formulations.sharing_incentive`, over the jobs that no
policy rejected, for runs that completed them all on gangs of equal GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ...formulations.sharing_incentive import SharingIncentive
from ...instances.arrays import Ints
from ...instances.remembered import remembered
from ...solvers.result import Bound
from ..driving import metrics
from ..driving.run import Run
from ..driving.speeds import models_of
from .measures import SHARING, MeasuredJobs

LATEST = 2**62  #: of times; no run is so long
GRACE = 120  #: seconds that a job may end later than alone, and still counts as in time
MANY = 100  #: jobs of a user that a few cannot outweigh
NAMED = 2  #: users who are named


@dataclass(frozen=True)
class SharingBounds:
    """The problem by reading, a verified bound of each, and the best schedule found.

    Parameters
    ----------
    problems : mapping of str to SharingIncentive
        Nothing where there are no two users with jobs, or GPUs are not equal for all jobs.
    bounds : mapping of str to Bound
    known : mapping of str to float
    """

    problems: Mapping[str, SharingIncentive] = field(default_factory=dict)
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    known: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, jobs: MeasuredJobs) -> SharingBounds:
        """Return the problems of jobs, without bounds."""
        found = {measure.name: measure.problem(jobs) for measure in SHARING}
        return cls({name: problem for name, problem in found.items() if problem is not None})

    def measures(self, run: Run) -> dict[str, Any]:
        """Return what columns show of a run; nothing where it cannot be compared."""
        book = run.records
        able = np.flatnonzero(~book.rejected)
        problem = self.problems.get("wait")
        if problem is None or able.size != len(problem.jobs) or not book.finished[able].all():
            return {}
        ends = book.end[able]
        flows = problem.flows_of(ends)
        in_time = ends <= _alone_ends(problem) + GRACE
        large = [user for user, jobs in problem.members.items() if len(jobs) >= MANY]
        found: dict[str, Any] = {"in_time_alone": int(in_time.sum()) / in_time.size}
        for name, one in self.problems.items():
            ratios = one.ratios(flows)
            found[f"user_{name}"] = float(max(ratios.values()))
            most = max((ratios[user] for user in large), default=None)
            found[f"user_{name}_large"] = None if most is None else float(most)
            if name == "sharing":
                found["worse_off"] = _named(ratios)
        return found


@remembered
def _alone_ends(problem: SharingIncentive) -> Ints:
    """When each job would end were its user alone on the quota."""
    times = zip(problem.jobs, problem.alone_flows, strict=True)
    return np.array([min(job.release + alone, LATEST) for job, alone in times], dtype=np.int64)


def _named(ratios: Mapping[str, Fraction]) -> str:
    """How many users are worse off than alone, and who they are, the worst first."""
    worse = sorted((user for user in ratios if ratios[user] > 1), key=lambda u: -ratios[u])
    if not worse:
        return "nobody"
    more = ", ..." if len(worse) > NAMED else ""
    return f"{len(worse)}: {', '.join(worse[:NAMED])}{more}"


def user_columns(run: Run) -> dict[str, dict[str, float | None]]:
    """Return what each user held and did, as of a row of a replay; nothing on one GPU model."""
    if len(models_of(run.require_instance())) == 1:
        return {}
    held = metrics.user_attained_time(run, [run.now])[:, 0] / max(run.now, 1)
    columns = zip(held, metrics.user_work(run), metrics.user_work_rho(run), strict=True)
    return {
        user: {
            name: None if np.isnan(value) else float(value)
            for name, value in zip(("gpus", "work", "share"), row, strict=True)
        }
        for user, row in zip(run.users, columns, strict=True)
    }
