"""What a cluster itself did, measured from the starts and ends of its log: no run of a policy.

Nothing is simulated and nothing is placed. A log names no nodes, so what is held counts together:
for each GPU model where the log names the model of every job, else for the whole cluster. Each job
holds its gang from its start to its end. An end that is written more coarsely than the run time is
that of the run time. A job whose start and end lie further apart than its run time and the steps of
the log was interrupted, nobody knows when: it counts as holding its gang for its run time from its
start on, and as waiting then.

Numbers of a log are rounded, and those of the instance too: bounds count run times in whole
seconds, rounded up, so that the log's own ends may be sooner than any schedule could have them.
What a certified ratio is of is therefore :func:`as_read`: the same jobs in the order of their
starts, none sooner than in the log, each for its run time as it was read, and never more at once
than there is.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...instances import Schedule
from ...instances.convert import LogTimes
from ...instances.io import instance_hash
from ...instances.model import Cluster, Instance, Node, gpus_by_model
from ...instances.traces import LogRow, ReadReport, Trace
from ...solvers.policy import Rules
from ...solvers.result import Stop
from ..audit import AUTUMN, audit
from ..driving.drive import SHARED, columns_of
from ..driving.metrics.jobs import fair_times
from ..driving.run import EventKind, Events, Ints, Records, Run
from .regret import pool_of
from .replayed import RECORDED

__all__ = ["as_read", "recorded_run", "unrecorded"]

#: of a cluster about which a log tells no more than when jobs ran
RULES = Rules(round_length=1, overhead=0, spread=True, patience=None)


def unrecorded(instance: Instance[Any], log: LogTimes) -> str:
    """Say why the log's own schedule cannot be shown; nothing where it can.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job
    >>> instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=2, work=60, release=5)])
    >>> unrecorded(instance, LogTimes([(None, 9)]))
    "1 of 1 jobs without a recorded start, such as 'a'"
    """
    if not log.submitted:
        return "the log does not tell when jobs were submitted, so that nothing is known of waits"
    pairs = list(zip(instance.jobs, log, strict=True))
    rules = {
        "without a recorded start": [job.id for job, (start, _) in pairs if start is None],
        "with speeds, which the log does not have": [job.id for job, _ in pairs if job.speeds],
    }
    found = [
        f"{len(jobs):,} of {len(pairs):,} jobs {rule}, such as {jobs[0]!r}"
        for rule, jobs in rules.items()
        if jobs
    ]
    if not found:
        order = sorted(range(len(pairs)), key=lambda j: pairs[j][0].release)
        trace = Trace(
            name=instance.name,
            jobs=tuple(pairs[j][0] for j in order),
            rows=tuple(LogRow(f"job {pairs[j][0].id!r}", j, *pairs[j][1]) for j in order),
            steps=log.steps,
            origin=log.origin,
            report=ReadReport(read=len(pairs)),
        )
        for one in audit(trace, instance.cluster).findings:
            text = f"see an audit: {str(one).partition(': ')[2]}"
            if one.proof is not None and one.proof["rule"] in ("start", "end", "in use"):
                found.append(f"log and cluster contradict each other, {text}")
            elif AUTUMN in one.text:
                found.append(f"times of the log may be an hour apart from what they say, {text}")
    return "; ".join(found)


def recorded_run(instance: Instance[Any], rejected: Mapping[int, str], log: LogTimes) -> Run:
    """Return what the log tells as a run, on a pool of all GPUs or one for each model.

    Parameters
    ----------
    instance : Instance
    rejected : mapping of int to str
        Jobs that do not count, and why.
    log : LogTimes
        Of all jobs; each that counts has a start.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job
    >>> jobs = [Job(id="a", gpus=2, work=60), Job(id="b", gpus=1, work=50, release=7)]
    >>> instance = Instance(Cluster.of_sizes([1, 1]), jobs)
    >>> run = recorded_run(instance, {}, LogTimes([(5, 65), (90, 150)]))    # b paused
    >>> run.records.first.tolist(), run.records.end.tolist(), run.sizes
    ([5, 90], [65, 150], (2,))
    >>> run.schedule.end.tolist()
    [65, 140]
    """
    pooled, pool = _pooled(instance, rejected)
    columns = columns_of(pooled)
    job = np.array([j for j in range(len(pooled.jobs)) if j not in rejected], dtype=np.int64)
    gpus, release, work = (columns[name][job] for name in ("gpus", "release", "work"))
    begin, end = np.array(
        [_ran(log, *one) for one in zip(job.tolist(), release.tolist(), work.tolist(), strict=True)]
    ).reshape(-1, 2).T  # fmt: skip
    paused = end - begin - work >= _slack(log)
    until = np.where(paused, begin + work, end)
    times = np.concatenate([release, begin, end])
    kinds = np.repeat([EventKind.VISIBLE, EventKind.START, EventKind.FINISH], job.size)
    order, by_end = (np.argsort(column, kind="stable") for column in (times, until))

    def whole(some: Ints | int, otherwise: int) -> Ints:
        """A column of all jobs."""
        column = np.full(len(pooled.jobs), otherwise)
        column[job] = some
        return column

    nothing, gone = np.zeros(len(pooled.jobs)), whole(0, 1) > 0
    run = Run(
        policy=RECORDED,
        parameters={},
        rules=RULES,
        instance=pooled,
        instance_name=pooled.name,
        instance_hash=instance_hash(pooled),
        seed=None,
        stop=Stop.COMPLETED,
        now=int(end.max(initial=0)),
        sizes=pooled.cluster.sizes,
        users=tuple(user.id for user in pooled.users) or ("",),
        user_weight=np.array([user.weight for user in pooled.users] or [1.0]),
        records=Records(
            id=tuple(one.id for one in pooled.jobs),
            **{name: columns[name] for name in (*SHARED, "work")},
            visible=columns["release"],
            rejected=gone,
            first=whole(begin, -1),
            end=whole(end, -1),
            starts=whole(1, 0),
            left=np.where(gone, columns["work"], 0),
            held=whole(gpus * (until - begin), 0),
            fair=nothing,
            fair_before=nothing,
        ),
        events=Events(times[order], np.tile(job, 3)[order], kinds[order]),
        schedule=Schedule(
            job=job[by_end],
            start=begin[by_end],
            end=until[by_end],
            ptr=np.arange(job.size + 1),
            node=np.array([pool[j] for j in job.tolist()], dtype=np.int64)[by_end],
            gpus=gpus[by_end],
        ),
        rejected=tuple(rejected.items()),
        information="known",
    )
    fair, before = fair_times(run)
    return replace(run, records=replace(run.records, fair=fair, fair_before=before))


def _pooled(
    instance: Instance[Any], rejected: Mapping[int, str]
) -> tuple[Instance[Any], list[int]]:
    """The instance on a pool of all GPUs, or one of each model, and the pool of each job."""
    models = list(gpus_by_model(instance.cluster))
    pins = [job.pin for job in instance.jobs]
    if all(pin for j, pin in enumerate(pins) if j not in rejected):
        pool = [models.index(pin) if pin in models else 0 for pin in pins]
        return replace(instance, cluster=pool_of(instance.cluster)), pool
    one = pool_of(instance.cluster)
    if len(models) > 1:
        one = Cluster([Node("pool", instance.cluster.gpus)])
    jobs = tuple(replace(job, pin="") for job in instance.jobs)
    return replace(instance, cluster=one, jobs=jobs), [0] * len(jobs)


def _slack(log: LogTimes) -> float:
    """By how much start and end may lie further apart than a run time without a break."""
    return sum(map(log.step, ("start", "end", "duration")))


def _ran(log: LogTimes, j: int, release: int, work: int) -> tuple[int, int]:
    """From when to when a job ran."""
    start, end = log[j]
    begin = max(start, release)
    if end is None or (log.step("duration") < log.step("end") and end - begin - work < _slack(log)):
        end = begin + work
    return begin, end if end > begin else begin + work


def as_read(run: Run) -> Run:
    """Return the run with the ends of a schedule of the jobs as they were read, none sooner.

    Examples
    --------
    Four jobs of 10.1 s on one GPU, of which starts were cut and run times rounded up.

    >>> from gangsched import Cluster, Instance, Job
    >>> jobs = [Job(id=id, gpus=1, work=11) for id in "abcd"]
    >>> log = LogTimes([(0, 10), (10, 20), (20, 30), (30, 40)])
    >>> run = recorded_run(Instance(Cluster.of_sizes([1]), jobs), {}, log)
    >>> run.records.end.tolist(), as_read(run).records.end.tolist()
    ([10, 20, 30, 40], [11, 22, 33, 44])
    """
    book, plan = run.records, run.schedule
    end = book.end.copy()
    free = list(run.sizes)
    running: list[list[tuple[int, int]]] = [[] for _ in free]
    latest = [0] * len(free)
    for i in np.argsort(plan.start, kind="stable").tolist():
        j, pool, gpus = int(plan.job[i]), int(plan.node[i]), int(plan.gpus[i])
        now = max(int(plan.start[i]), latest[pool])
        while running[pool] and (free[pool] < gpus or running[pool][0][0] <= now):
            until, back = heapq.heappop(running[pool])
            now, free[pool] = max(now, until), free[pool] + back
        latest[pool], free[pool] = now, free[pool] - gpus
        heapq.heappush(running[pool], (now + int(book.work[j]), gpus))
        end[j] = max(end[j], now + int(book.work[j]))
    if (end == book.end).all():
        return run
    return replace(run, now=int(end.max()), records=replace(book, end=end))
