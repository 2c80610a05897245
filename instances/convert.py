"""From a trace to an instance of a problem: which jobs, and how recorded times become its units."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from .generate import ITERATION_TIME, ITERATIONS, at_least, ring_job, short, stream
from .model import Cluster, Instance, Job, RingJob

if TYPE_CHECKING:
    from .traces import Trace

__all__ = ["Conversion", "to_rar_instance"]

EXTRA = (0.05, 0.10)  # range of the extra share, as in generate.rar_workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """An instance made from a trace, and an account of what was left out.

    Parameters
    ----------
    instance : Instance of RingJob
    rejected : sequence of (str, str)
        Id of every job of the trace that cannot run on the cluster, and why.
    notes : sequence of str
        How the jobs were picked and what was done to them, one line each.

    Examples
    --------
    >>> from gangsched.instances.traces import ReadReport, Trace
    >>> trace = Trace(name="t", jobs=[Job(id="a", gpus=9, work=5)], report=ReadReport(read=1))
    >>> print(to_rar_instance(trace, Cluster.of_sizes([8])))
    t: 0 of 0 jobs that fit, 1 rejected
    gang sizes kept, run times mapped by rank to 50..300 slots, every release set to 0
    job 'a': gpus=9 exceeds the cluster's 8
    """

    instance: Instance[RingJob]
    rejected: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        shown = [reason for _, reason in self.rejected[:5]]
        more = len(self.rejected) - len(shown)
        return "\n".join([*self.notes, *shown, *([f"... and {more} more"] if more else [])])


def to_rar_instance(
    trace: Trace,
    cluster: Cluster,
    *,
    jobs: int | None = None,
    pick: Literal["first", "sample"] = "sample",
    seed: int = 0,
    service: tuple[float, float] = (50.0, 300.0),
) -> Conversion:
    """Return an instance of the ring-all-reduce problem with the gang sizes of real jobs.

    Parameters
    ----------
    trace : Trace
        Its jobs need a recorded run time (`work`).
    cluster : Cluster
    jobs : int, optional
        How many jobs to take from those that fit the cluster; by default all of them.
    pick : {"first", "sample"}
        The earliest jobs, or a sample without replacement (in the order of the trace).
    seed : int
    service : (float, float)
        Range of F_j tau_j in slots; within [10, 300], what F_j in [1000, 6000] and tau_j in
        [.01, .05] can give.

    Returns
    -------
    Conversion
        Jobs keep id, gang size, user, weight and their order; every release is 0, since in the
        paper all jobs are there at the start.

    Raises
    ------
    ValueError
        If a number is out of range, more jobs are wanted than fit, or a job has no run time.

    Notes
    -----
    A gang larger than the whole cluster is listed as rejected and does not count towards `jobs`.
    Recorded run times span six orders of magnitude, the paper's service times a factor of six:
    only their order is kept. The job of rank r = 0 .. n - 1 by run time (ties by release, then by
    order in the trace) gets ``service[0] + r/(n - 1) (service[1] - service[0])`` slots (a single
    job: ``service[0]``), split into F_j, tau_j, m_j and D_j as in
    :func:`gangsched.instances.generate.rar_workload`.

    RNG order (stream 4): the sample, if fewer jobs than fit are wanted; then for every job in
    order F_j, uniform on the integers of 1000..6000 for which tau_j = service / F_j is within
    [.01, .05], and the extra share, uniform on [.05, .10].

    Examples
    --------
    >>> from gangsched.instances.traces import ReadReport, Trace
    >>> rows = [Job(id="a", gpus=2, work=9), Job(id="b", gpus=1, work=5000)]
    >>> trace = Trace(name="t", jobs=rows, report=ReadReport(read=2))
    >>> made = to_rar_instance(trace, Cluster.of_sizes([4]))
    >>> [(job.id, job.gpus) for job in made.instance.jobs]
    [('a', 2), ('b', 1)]
    """
    _check_service(service)
    if pick not in ("first", "sample"):
        raise ValueError(f"pick={pick!r} is not one of 'first', 'sample'")
    fitting = [job for job in trace.jobs if job.gpus <= cluster.gpus]
    rejected = tuple(
        (job.id, f"job {job.id!r}: gpus={job.gpus} exceeds the cluster's {cluster.gpus}")
        for job in trace.jobs
        if job.gpus > cluster.gpus
    )
    count = len(fitting) if jobs is None else jobs
    _check_count(trace, count, len(fitting))
    rng = stream(seed, 4)
    chosen = fitting[:count]
    if pick == "sample" and count < len(fitting):
        chosen = [fitting[i] for i in np.sort(rng.choice(len(fitting), count, replace=False))]
    slots = _by_rank(chosen, service)
    made = tuple(_convert(job, slots[i], rng) for i, job in enumerate(chosen))
    users = tuple(user for user in trace.users if user.id in {job.user for job in chosen})
    how = "" if count == len(fitting) else " (the first)" if pick == "first" else f" (seed {seed})"
    notes = (
        f"{trace.name}: {count:,} of {len(fitting):,} jobs that fit{how}, {len(rejected)} rejected",
        (
            f"gang sizes kept, run times mapped by rank to {service[0]:g}..{service[1]:g} slots, "
            "every release set to 0"
        ),
    )
    name = f"{trace.name}-rar-{count}-{pick}-seed{seed}"
    return Conversion(
        instance=Instance(cluster, made, users, name=name), rejected=rejected, notes=notes
    )


def _check_service(service: tuple[float, float]) -> None:
    least, most = ITERATIONS[0] * ITERATION_TIME[0], ITERATIONS[1] * ITERATION_TIME[1]
    if len(service) != 2 or not least <= service[0] <= service[1] <= most:
        raise ValueError(
            f"service={service!r} is not a range (low, high) within [{least:g}, {most:g}] slots"
        )


def _check_count(trace: Trace, count: int, fitting: int) -> None:
    at_least("jobs", count, 0)
    if count > fitting:
        raise ValueError(f"jobs={count} exceeds the {fitting} jobs of {trace.name!r} that fit")
    for job in trace.jobs:
        if job.work is None:
            raise ValueError(f"job {job.id!r}: work=None, a conversion by run time needs one")


def _by_rank(jobs: list[Job], service: tuple[float, float]) -> list[float]:
    """Return the slots of each job: linear in its rank by run time."""
    order = sorted(range(len(jobs)), key=lambda i: (jobs[i].work, jobs[i].release, i))
    slots = [service[0]] * len(jobs)
    step = (service[1] - service[0]) / max(1, len(jobs) - 1)
    for rank, i in enumerate(order):
        slots[i] = min(service[0] + rank * step, service[1])
    return slots


def _convert(job: Job, slots: float, rng: np.random.Generator) -> RingJob:
    low = max(ITERATIONS[0], math.ceil(slots / ITERATION_TIME[1] - 1e-9))
    high = min(ITERATIONS[1], math.floor(slots / ITERATION_TIME[0] + 1e-9))
    iterations = int(rng.integers(low, high + 1))
    share = float(rng.uniform(*EXTRA))
    made = ring_job(job.id, job.gpus, iterations, short(slots / iterations), share)
    return replace(made, user=job.user, weight=job.weight)
