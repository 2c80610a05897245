"""What each job of a run did, derived from its segments and events, and from nothing else.

For the checker and for measures; the trace driver has its own account of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...instances import Instance, Schedule
from ...instances.arrays import Bools, Floats, Ints, by_number
from ...instances.model import FULL_SPEED, some_jobs
from ...instances.packed import PART
from ...instances.remembered import remember, remembered
from ...solvers.policy import Rules
from .run import EventKind, Events, Records, Run

BEGINS = (EventKind.START, EventKind.PROFILE)
ENDS = (EventKind.SUSPEND, EventKind.KILL, EventKind.FINISH, EventKind.PROFILED)
MOST = 2**62


@dataclass(frozen=True)
class Segments:
    """Segments by (job, start), with what began and ended each."""

    number: Ints  # in the schedule
    job: Ints
    start: Ints
    end: Ints
    place: Ints  # 0 for a job's first segment, 1 for its second, ...
    last: Bools
    kind: Ints  # of the event that ended it, -1 where it has none
    offset: Ints  # (jobs + 1,) those of job j are offset[j]:offset[j + 1]
    profile: Bools  # in it the job is profiled
    overhead: Ints  # seconds at its head that give no progress
    speed: Ints  # millionths
    gpus: Ints
    begun: tuple[Ints, Ints]  # what BEGINS pairs up with
    ended: tuple[Ints, Ints]

    @classmethod
    def of(cls, run: Run) -> Segments:
        """Those of a run that knows its instance."""
        instance = run.require_instance()
        number = by_number(run.schedule.job)
        job, start = run.schedule.job[number], run.schedule.start[number]
        if ((start[1:] < start[:-1]) & (job[1:] == job[:-1])).any():
            number = np.lexsort((run.schedule.start, run.schedule.job))
            start = run.schedule.start[number]  # its job's are the same
        count = np.bincount(job, minlength=len(run.records))
        offset = np.concatenate([[0], np.cumsum(count)])
        place = np.arange(job.size) - offset[job]
        last = np.arange(job.size) == offset[job + 1] - 1
        kind = np.full(job.size, -1)
        at, event = ended = pair_up(run, offset, ENDS)
        kind[at[at >= 0]] = run.events.kind[event[at >= 0]]
        profile = np.zeros(job.size, dtype=bool)
        at, event = begun = pair_up(run, offset, BEGINS)
        profile[at[at >= 0]] = run.events.kind[event[at >= 0]] == EventKind.PROFILE
        runs = np.concatenate([[0], np.cumsum(~profile)])  # segments before, but for profiling
        resumed = ~profile & (runs[:-1] > runs[offset[job]])
        return cls(
            number=number,
            job=job,
            start=start,
            end=run.schedule.end[number],
            place=place,
            last=last,
            kind=kind,
            offset=offset,
            profile=profile,
            overhead=np.where(resumed, _costs(run, instance, number), 0),
            speed=np.where(profile, 0, speeds_of(run, instance)[number]),
            gpus=sum_entries(run.schedule, run.schedule.gpus)[number],
            begun=begun,
            ended=ended,
        )

    def until(self, rules: Rules) -> Ints:
        """The time up to which what each segment did is kept: its end, unless it was killed."""
        length = rules.lease_length
        zero = np.zeros_like(self.start) if rules.synchronous else self.start
        lease_began = zero + (self.end - zero) // length * length
        kept: Ints = np.where(self.kind == EventKind.KILL, lease_began, self.end)
        return kept

    def progress(self, rules: Rules) -> Ints:
        """Seconds of service that each segment gave its job for good."""
        seconds = np.maximum(0, self.until(rules) - self.start - self.overhead)
        seconds = np.minimum(seconds, MOST // np.maximum(self.speed, 1))
        given: Ints = seconds * self.speed // FULL_SPEED
        return given


def _costs(run: Run, instance: Instance[Any], number: Ints) -> Ints:
    """Seconds that each segment costs in this order, by job and time, if it is a resumption."""
    job = run.schedule.job[number]
    costs = np.full(number.size, run.rules.overhead, dtype=np.int64)
    if run.rules.migration is not None:
        stays = np.zeros(number.size, dtype=bool)
        stays[1:] = same_places(run.schedule, number[:-1], number[1:])
        costs[~stays] = run.rules.migration
    own = _own_costs(instance)
    given = ~np.isnan(own)[job]
    costs[given] = own[job[given]]
    return costs


@remembered
def _own_costs(instance: Instance[Any]) -> Floats:
    """What each job says that a resumption costs; NaN where it says nothing."""
    return np.array([job.resumption for job in instance.jobs], dtype=float)


def speeds_of(run: Run, instance: Instance[Any]) -> Ints:
    """How fast the job of each segment of the schedule runs on its nodes, in millionths."""
    plan = run.schedule
    if not len(plan) or not instance.kind.has_deadlines:
        return _on_models(plan, instance)
    sizes = np.array(run.sizes, dtype=np.int64)[plan.node]
    nodes, largest = np.diff(plan.ptr), np.maximum.reduceat(sizes, plan.ptr[:-1])
    rows = np.stack([plan.job, sum_entries(plan, plan.gpus), nodes, largest], axis=1)
    places, which = np.unique(rows, axis=0, return_inverse=True)
    speeds = [instance.jobs[j].speed(*where) for j, *where in places.tolist()]
    return np.array([min(speed, MOST) for speed in speeds], dtype=np.int64)[which.ravel()]


def _on_models(plan: Schedule, instance: Instance[Any]) -> Ints:
    """The same by the GPU model of each segment's first node; 0 where the job cannot run there."""
    speeds, number = _model_speeds(instance)
    on: Ints = speeds[plan.job, number[plan.node[plan.ptr[:-1]]]]
    return on


@remembered
def _model_speeds(instance: Instance[Any]) -> tuple[Ints, Ints]:
    """Speeds by job and GPU model, and the number of each node's model."""
    names, number = np.unique([n.model for n in instance.cluster.nodes], return_inverse=True)
    speeds = np.full((len(instance.jobs), names.size), FULL_SPEED, dtype=np.int64)
    for j, job in enumerate(instance.jobs):
        if job.speeds and not job.needs_ps:
            speeds[j] = [round(job.speeds.get(name, 0) * FULL_SPEED) for name in names.tolist()]
        if job.pin:
            speeds[j, names != job.pin] = 0
    return speeds, number


def by_jobs(run: Run) -> Iterator[tuple[int, Run]]:
    """Yield the number of a first job and a run of it and those after it alone, job after job.

    So that of a long run few segments and events are unpacked at a time. A short one is one part.
    """
    jobs, instance = len(run.records), run.require_instance()
    rows = np.zeros(jobs, dtype=np.int64)
    spans: tuple[list[tuple[int, int]], ...] = ([], [])  # of jobs, by block of each
    for span, blocks in zip(spans, (run.schedule.blocks(), run.events.blocks()), strict=True):
        for piece in blocks:
            rows += np.bincount(piece.job, minlength=jobs)
            span.append((int(piece.job.min(initial=jobs)), int(piece.job.max(initial=-1))))
    before = np.cumsum(rows) - rows
    cuts = np.flatnonzero(np.diff(before // PART, prepend=0)).tolist()
    if not cuts:
        yield 0, run
        return
    for first, last in pairwise([0, *cuts, jobs]):
        columns = {name: getattr(run.records, name) for name in run.records.__dataclass_fields__}
        here = [[low < last and first <= high for low, high in span] for span in spans]
        part = some_jobs(instance, instance.jobs[first:last])
        speeds, number = _model_speeds(instance)
        remember(_model_speeds, part, (speeds[first:last], number))
        remember(_own_costs, part, _own_costs(instance)[first:last])
        yield (
            first,
            replace(
                run,
                instance=part,
                records=Records(**{name: own[first:last] for name, own in columns.items()}),
                schedule=segments_of(run.schedule.blocks(here[0]), range(first, last)),
                events=_events_between(run.events.blocks(here[1]), first, last),
                rejected=tuple((j - first, why) for j, why in run.rejected if first <= j < last),
            ),
        )


def segments_of(blocks: Iterable[Schedule], jobs: Sequence[int]) -> Schedule:
    """Segments of these jobs, which are numbered by their place among them."""
    place = np.full(max(jobs, default=-1) + 2, -1)
    place[np.array(jobs, dtype=np.int64)] = np.arange(len(jobs))
    found: list[list[Ints]] = []
    for plan in blocks:
        job, length = place[np.minimum(plan.job, place.size - 1)], np.diff(plan.ptr)
        own = job >= 0
        entries = np.repeat(own, length)
        columns = job, plan.start, plan.end, length
        found.append([column[own] for column in columns])
        found[-1] += [plan.node[entries], plan.gpus[entries]]
    if not found:
        return Schedule.of(())
    job, start, end, length, node, gpus = map(np.concatenate, zip(*found, strict=True))
    return Schedule(job, start, end, np.concatenate([[0], np.cumsum(length)]), node, gpus)


def _events_between(blocks: Iterable[Events], first: int, last: int) -> Events:
    """Events of these jobs, likewise."""
    found: list[list[NDArray[Any]]] = [[np.zeros(0, dtype=np.int64)] * 3]
    for log in blocks:
        own = (first <= log.job) & (log.job < last)
        found.append([log.time[own], log.job[own] - first, log.kind[own]])
    return Events(*map(np.concatenate, zip(*found, strict=True)))


def pair_up(run: Run, offset: Ints, kinds: tuple[EventKind, ...]) -> tuple[Ints, Ints]:
    """For the events of these kinds: the segment they belong to (-1 if none), and their number.

    The i-th start and the i-th end of a job belong to its i-th segment.
    """
    wanted = np.zeros(len(EventKind), dtype=bool)
    wanted[list(kinds)] = True
    event = np.flatnonzero(wanted[run.events.kind])
    time, job = run.events.time[event], run.events.job[event]
    rises = (time[1:] >= time[:-1]).all()
    order = by_number(job) if rises else np.lexsort((time, job))
    event, job = event[order], job[order]
    count = np.bincount(job, minlength=offset.size - 1)
    at = offset[job] + np.arange(event.size) - (np.cumsum(count) - count)[job]
    return np.where(at < offset[job + 1], at, -1), event


def sum_entries(schedule: Schedule, column: Ints) -> Ints:
    """Sum of an entry column over each segment."""
    total: Ints = np.diff(np.concatenate([[0], np.cumsum(column)])[schedule.ptr])
    return total


def same_places(schedule: Schedule, one: Ints, other: Ints) -> Bools:
    """Which pairs of segments hold the same GPUs of the same nodes."""
    length = np.diff(schedule.ptr)
    alike: Bools = length[one] == length[other]
    one, other = one[alike], other[alike]
    pair = np.repeat(np.flatnonzero(alike), length[one])
    alike[pair[_entries(schedule, one) != _entries(schedule, other)]] = False
    return alike


def _entries(schedule: Schedule, segments: Ints) -> NDArray[Any]:
    """(node, gpus) of these segments, each segment's by node."""
    length = np.diff(schedule.ptr)[segments]
    owner = np.repeat(np.arange(segments.size), length)
    first = np.concatenate([[0], np.cumsum(length)])[:-1]
    at = np.arange(owner.size) - first[owner] + schedule.ptr[segments][owner]
    at = at[np.lexsort((schedule.node[at], owner))]
    pairs = np.empty(at.size, dtype=[("node", np.int64), ("gpus", np.int64)])
    pairs["node"], pairs["gpus"] = schedule.node[at], schedule.gpus[at]
    return pairs
