"""Measures of jobs and of the cluster: times, use, and fairness to jobs."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ....instances.arrays import by_number
from ....instances.model import FULL_SPEED, Instance
from ....instances.remembered import remembered
from ..run import EventKind, Floats, Ints, Run
from ..segments import Segments, by_jobs
from ..speeds import job_speeds, models_of
from .parts import (
    Line,
    active_jobs,
    changes,
    degree,
    held_until,
    once,
    over_segments,
    segment_gangs,
    users_with_jobs,
)

Since = Literal["release", "visible"]


def completion_time(run: Run) -> Floats:
    """Return e - a of each job, seconds from submission to completion (Section 6.1.4, JCT)."""
    book = run.records
    return np.where(book.finished, book.end - book.release, np.nan)


def wait_time(run: Run) -> Floats:
    """Return the seconds from submission to completion in which each job held no GPUs."""
    return completion_time(run) - over_segments(run, lambda plan: plan.end - plan.start)


def ideal_time(run: Run) -> Ints:
    """Return p, the seconds that each job would run alone, on the fastest GPUs that it can use."""
    work = run.records.work
    if not _has_speeds(run.require_instance()):
        return work
    top = able_speeds(run).max(axis=1)
    seconds, rest = np.divmod(work, np.maximum(top, 1))  # work times 10**6 may exceed 64 bits
    ideal = seconds * FULL_SPEED - (-rest * FULL_SPEED // np.maximum(top, 1))
    return np.where(top > 0, ideal, work)


@remembered
def _has_speeds(instance: Instance[Any]) -> bool:
    return any(job.speeds for job in instance.jobs)


def able_speeds(run: Run) -> Ints:
    """Speeds in millionths by job and GPU model, 0 where a job cannot run or its gang not fit."""
    instance = run.require_instance()
    speeds: Ints = np.where(
        run.records.gpus[:, None] <= gpus_by_model(instance), job_speeds(instance), 0
    )
    return speeds


def gpus_by_model(instance: Instance[Any]) -> Ints:
    """N_g, the GPUs of each model."""
    nodes, models = instance.cluster.nodes, models_of(instance)
    counts = [sum(node.gpus for node in nodes if node.model == model) for model in models]
    return np.array(counts, dtype=np.int64)


def slowdown(run: Run) -> Floats:
    """Return JCT / p of each job, p its ideal run time (Section 6.1.4); at least 1."""
    return completion_time(run) / ideal_time(run)


def makespan(run: Run) -> int | None:
    """Return the last completion, in seconds from time 0; None while a job is unfinished."""
    book = run.records
    if not book.finished.any() or not (book.finished | book.rejected).all():
        return None
    return int(book.end.max())


def objectives(run: Run) -> dict[str, float | int | None]:
    """Return the measures of :class:`~gangsched.formulations.completion_time.CompletionTime`.

    What a bound of that problem, with the run's jobs without the rejected ones, can be compared to.
    """
    last = makespan(run)
    if last is None:
        return dict.fromkeys(("makespan", "completion", "flow", "slowdown"))
    book, done = run.records, run.records.finished
    flow = (book.end - book.release)[done]
    return {
        "makespan": last,
        "completion": int(book.end[done].sum()),
        "flow": int(flow.sum()),
        "slowdown": float((flow / ideal_time(run)[done]).sum()),
    }


def utilisation(run: Run, until: Literal["arrivals", "end"] = "arrivals") -> float | None:
    """Return the share of the GPU time from the first arrival on that was held by jobs.

    Notes
    -----
    Busy GPU seconds within the interval over M times its length.
    """
    arrivals = run.records.release[~run.records.rejected]
    if not arrivals.size:
        return None
    done = makespan(run)
    first, end = int(arrivals.min()), run.now if done is None else done
    last = min(end, int(arrivals.max())) if until == "arrivals" else end
    if last <= first:
        return None
    before, held = busy_time(run, [first, last]).tolist()
    return float(held - before) / (run.gpus * (last - first))


def busy_time(run: Run, times: ArrayLike) -> Ints:
    """Return the GPU seconds that all jobs together held until each of `times`."""
    whole = np.zeros(len(run.records), dtype=np.int64)
    total: Ints = held_until(run, times, whole, 1)[0]
    return total


def wanted_time(run: Run, times: ArrayLike) -> Floats:
    """Return the GPU seconds until each of `times` for which active jobs could have used GPUs.

    What is wanted at an instant is the demand of the active jobs, at most M. Where this exceeds
    :func:`busy_time`, GPUs were idle though jobs waited for them.
    """
    return _wanted(run).at(np.asarray(times))


@once
def _wanted(run: Run) -> Line:
    knots, demand, _ = changes(run, *active_jobs(run))
    return Line.of(knots, np.minimum(demand, run.gpus))


def preemptions(run: Run) -> Ints:
    """Return how often each job lost its GPUs before it was complete, moves included."""
    times: Ints = np.zeros(len(run.records), dtype=np.int64)
    for log in run.events.blocks():
        lost = (log.kind == EventKind.SUSPEND) | (log.kind == EventKind.KILL)
        times += np.bincount(log.job[lost], minlength=times.size)
    return times


def attained_time(run: Run) -> Ints:
    """Return A_i, the GPU seconds that each job held: eq. (2), overhead included."""
    held = over_segments(run, lambda plan: segment_gangs(plan) * (plan.end - plan.start))
    return held.astype(np.int64)


def fair_time(run: Run, since: Since = "visible") -> Floats:
    """Return F_i, the fair GPU seconds of each job: eq. (14) with (13) and (8).

    Notes
    -----
    With one user its fair share is M, eq. (3) and (4). A user's jobs with the same gang and weight
    have the same integral, so the cost is O(jobs log jobs) plus, for each user, the number of its
    arrivals and completions times that of its kinds of jobs (within the lives of each kind).
    """
    fair, before = fair_times(run)
    return fair + before if since == "release" else fair


def fair_times(run: Run) -> tuple[Floats, Floats]:
    """Fair GPU seconds from the first round on, and before it."""
    book = run.records
    fair, before = np.zeros(len(book)), np.zeros(len(book))
    end = np.where(book.finished, book.end, run.now)
    for user in users_with_jobs(run):
        gangs, weights = book.gpus[user.jobs], book.weight[user.jobs]
        alike, limit = (weights == weights[:1]).all(), gangs / weights
        order = by_number(gangs) if alike else np.argsort(limit, kind="stable")
        cuts = np.flatnonzero(np.diff(limit[order])) + 1
        for members in np.split(order, cuts):
            jobs, most = user.jobs[members], limit[members[0]]
            first, last, weight = book.visible[jobs], end[jobs], book.weight[jobs]
            line = user.line(most, first, last)
            fair[jobs] = weight * (line.at(last) - line.at(first))
            gap = first - book.release[jobs]
            early = weight * line.slope(first) * gap
            held = gap >= run.rules.round_length  # until others ended: that is no waiting
            before[jobs] = np.where(held, book.fair_before[jobs], early)
    return fair, before


def service_time(run: Run) -> Ints:
    """Return the GPU seconds of progress of each job: A_i without overhead and lost work."""
    book = run.records
    if _has_speeds(run.require_instance()):
        served = np.zeros(len(book), dtype=np.int64)
        for first, part in by_jobs(run):
            seg = Segments.of(part)
            seconds = np.maximum(0, seg.until(run.rules) - seg.start - seg.overhead)
            own = np.bincount(seg.job, seconds * seg.gpus * (seg.speed > 0), len(part.records))
            served[first : first + own.size] = own
        return served
    return np.where(book.rejected, 0, book.gpus * (book.work - book.left))


def rho(run: Run, since: Since = "visible") -> Floats:
    """Return the fairness degree A_i / F_i of each job, eq. (15); below 1 is unfair."""
    return degree(attained_time(run), fair_time(run, since))


def profiling_wait(run: Run) -> Floats:
    """Return the seconds from each job's submission to the end of its last profiling."""
    until = np.full(len(run.records), np.nan)
    for log in run.events.blocks():
        over = log.kind == EventKind.PROFILED
        until[log.job[over]] = log.time[over]  # times do not fall: the last one stays
    return until - run.records.release


def is_elastic(run: Run) -> bool:
    """Return whether a job made progress on another number of GPUs than its gang.

    Bounds for gangs do not hold for such a run.
    """
    others: set[tuple[int, int]] = set()
    for plan in run.schedule.blocks():
        other = segment_gangs(plan) != run.records.gpus[plan.job]
        others |= set(zip(plan.job[other].tolist(), plan.start[other].tolist(), strict=True))
    if not others:
        return False
    log = run.events
    to_profile = log.kind == EventKind.PROFILE
    return not others.issubset(
        zip(log.job[to_profile].tolist(), log.time[to_profile].tolist(), strict=True)
    )
