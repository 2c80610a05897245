"""What policies would attain on other clusters and at other loads, beside the bounds of each.

A *case* is a cluster and a load. Load f lets the same jobs come f times as fast: a job that was
submitted t seconds after the first one comes after t / f, rounded down. All cases have the same
jobs: those that some cluster has no room for are left out of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...instances.check import check_real
from ...instances.convert import LogTimes
from ...instances.model import Cluster, Instance, some_jobs
from ...solvers.policy import Policy, Rules
from ..proofs.bound import Effort
from .replay import replay
from .replayed import Replay
from .sizing import has_room

LEAST_LOAD = 0.01

__all__ = ["WhatIf", "WhatIfCase", "at_load", "what_if"]


class WhatIfCase(NamedTuple):
    """A cluster and a load, and how the policies did there."""

    cluster: str
    load: float
    found: Replay


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Policies in several cases.

    Parameters
    ----------
    cases : tuple of WhatIfCase
        In the order of the clusters, each at all loads.
    left_out : int
        Jobs that some cluster has no room for.
    interrupted : bool
        Whether Ctrl-C came: policies that were finished before are here.
    """

    cases: tuple[WhatIfCase, ...]
    left_out: int = 0
    interrupted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        cases = [{"cluster": c, "load": load, **found.to_dict()} for c, load, found in self.cases]
        return {"cases": cases, "left out": self.left_out, "interrupted": self.interrupted}


def what_if(
    instance: Instance[Any],
    clusters: Mapping[str, Cluster],
    policies: Mapping[str, Policy],
    *,
    loads: Sequence[float] = (1.0,),
    rules: Rules | None = None,
    times: LogTimes | None = None,
    effort: Effort = "quick",
    on_progress: Callable[[str], object] | None = None,
) -> WhatIf:
    """Replay the same jobs on each cluster at each load.

    Parameters
    ----------
    instance : Instance
        Its cluster does not count.
    clusters : mapping of str to Cluster
        By the name to show.
    policies : mapping of str to Policy
    loads : sequence of float
        From 0.01 to 100; 1 for the jobs as they are.
    rules, effort
        As of :func:`~gangsched.analysis.comparing.replay.replay`.
    times : LogTimes, optional
        Of which only the doubts count, and whether submissions are known.
    on_progress : callable (str), optional

    Returns
    -------
    WhatIf

    Raises
    ------
    ValueError
        If no job fits all clusters, or jobs with deadlines should come at another load.

    Examples
    --------
    >>> from gangsched.instances import Job
    >>> from gangsched.solvers import Fifo
    >>> jobs = [Job(id=name, gpus=1, work=600) for name in "abcd"]
    >>> clusters = {f"{n}x1": Cluster.of_sizes([1] * n) for n in (1, 2, 4)}
    >>> found = what_if(Instance(clusters["1x1"], jobs), clusters, {"fifo": Fifo()})
    >>> [case.found.rows[0].measures["mean_wait"] for case in found.cases]
    [900.0, 300.0, 0.0]
    """
    say = on_progress or (lambda text: None)
    known = replace(times or LogTimes(), ran=())
    able = [job for job in instance.jobs if all(has_room(c, job) for c in clusters.values())]
    if not able:
        raise ValueError("what_if: no job fits all clusters")
    kept, left_out = some_jobs(instance, able), len(instance.jobs) - len(able)
    cases: list[WhatIfCase] = []
    for name, cluster in clusters.items():
        for load in dict.fromkeys(map(float, loads)):
            say(f"{name}, load {load:g}")
            found = replay(
                at_load(replace(kept, cluster=cluster), load),
                policies,
                rules=rules,
                times=known,
                effort=effort,
                on_interrupt="return",
            )
            if found.rows or found.failed:
                cases.append(WhatIfCase(name, load, found))
            if found.interrupted:
                return WhatIf(cases=tuple(cases), left_out=left_out, interrupted=True)
    return WhatIf(cases=tuple(cases), left_out=left_out)


def at_load(instance: Instance[Any], load: float) -> Instance[Any]:
    """Return the same jobs, `load` times as fast after one another.

    >>> from gangsched.instances import Job
    >>> jobs = [Job(id="a", gpus=1, work=5, release=10), Job(id="b", gpus=1, work=5, release=30)]
    >>> [job.release for job in at_load(Instance(Cluster.of_sizes([1]), jobs), 2).jobs]
    [10, 20]
    """
    check_real("what_if", "load", load, positive=True)
    if not LEAST_LOAD <= load <= 1 / LEAST_LOAD:
        raise ValueError(
            f"what_if: load={load:g} is not within {LEAST_LOAD:g} to {1 / LEAST_LOAD:g}"
        )
    if load == 1 or not instance.jobs:
        return instance
    if any(job.has_deadlines and not job.best_effort for job in instance.jobs):
        raise ValueError(f"what_if: load={load:g}, but jobs have deadlines, which do not move")
    first = min(job.release for job in instance.jobs)
    jobs = [
        replace(job, release=first + int((job.release - first) / load)) for job in instance.jobs
    ]
    return replace(instance, jobs=jobs)
