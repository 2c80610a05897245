"""From a trace to an instance of a problem: which jobs, and how recorded times become its units."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from .check import at_least, one_of
from .display import counted, near
from .generate import ITERATION_TIME, ITERATIONS, SERVICE, ring_job, short, stream
from .model import (
    Cluster,
    Instance,
    Job,
    ParameterServerJob,
    RingJob,
    User,
    among_themselves,
    gpus_by_model,
)
from .revenue import HOUR, Law, Parameters, bandwidths, owned_cluster, revenue_jobs

if TYPE_CHECKING:
    from .traces import LogRow, Trace

__all__ = [
    "Conversion", "LogTimes", "between", "to_instance", "to_rar_instance", "to_revenue_instance",
    "without",
]  # fmt: skip

EXTRA = (0.05, 0.10)  # range of the extra share, as in generate.rar_workload
UNSUBMITTED = "jobs are taken to be submitted when they began, as the log does not tell when"
LEFT_OUT = "left out, "  #: how the reasons begin why `without` skips jobs

J = TypeVar("J", bound=Job)
Window = tuple[int | None, int | None]
Weights = Literal["requested", "equal"] | Mapping[str, float]


Ran = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class LogTimes(Sequence[Ran]):
    """When the jobs of an instance began and ended by a log, and how sure that is.

    Parameters
    ----------
    ran : sequence of (int or None, int or None)
        Of each job, in seconds of the instance; empty where the log does not tell.
    steps : mapping of str to float
        How finely submit, start, end and duration were written, as of a trace.
    submitted : bool
        Whether the log tells when jobs were submitted.
    doubts : tuple of str
        What had to be assumed to read the log.
    origin : str or None
        Wall-clock text of time 0, as of a trace.

    Examples
    --------
    >>> times = LogTimes([(0, 60), (5, None)], steps={"end": 60})
    >>> len(times), times[1], times.step("start"), times.step("end")
    (2, (5, None), 1, 60)
    """

    ran: Sequence[Ran] = ()
    steps: Mapping[str, float] = field(default_factory=dict)
    submitted: bool = True
    doubts: tuple[str, ...] = ()
    origin: str | None = None

    @classmethod
    def of(cls, trace: Trace, ran: Iterable[Ran], start: int) -> LogTimes:
        """Return the times of jobs of a trace, from a second of it on."""
        doubts = trace.doubts if trace.submitted else (*trace.doubts, UNSUBMITTED)
        origin = _shifted_origin(trace.origin, start)
        return cls(tuple(ran), trace.steps, trace.submitted, doubts, origin)

    def step(self, name: str) -> float:
        """Seconds that a true value lies less than from what is written."""
        return self.steps.get(name, 1)

    def __len__(self) -> int:
        return len(self.ran)

    def __getitem__(self, index: Any) -> Any:
        return self.ran[index]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion(Generic[J]):
    """An instance made from a trace, and an account of what was left out.

    Parameters
    ----------
    instance : Instance
    rejected : sequence of (str, str)
        Id of every job of the trace that cannot run on the cluster, and why.
    notes : sequence of str
        How the jobs were picked and what was done to them, one line each.
    times : LogTimes
        When each job of the instance began and ended by the log.
    replaced : str
        Which times of the log were replaced, if some were.

    Examples
    --------
    >>> from gangsched.instances.traces import ReadReport, Trace
    >>> trace = Trace(name="t", jobs=[Job(id="a", gpus=9, work=5)], report=ReadReport(read=1))
    >>> print(to_rar_instance(trace, Cluster.of_sizes([8])))
    t: 0 of 0 jobs that fit, 1 rejected
    gang sizes kept, run times mapped by rank to 50..300 slots, every release set to 0
    job 'a': gpus=9 exceeds the cluster's 8
    """

    instance: Instance[J]
    rejected: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    times: LogTimes = LogTimes()
    replaced: str = ""

    def __str__(self) -> str:
        shown = [reason for _, reason in self.rejected[:5]]
        more = len(self.rejected) - len(shown)
        return "\n".join([*self.notes, *shown, *([f"... and {more} more"] if more else [])])


def to_instance(
    trace: Trace,
    cluster: Cluster,
    *,
    window: Window = (None, None),
    jobs: int | None = None,
    weights: Weights = "requested",
) -> Conversion[Job]:
    """Return the jobs of a trace as an instance for the trace driver.

    Parameters
    ----------
    trace : Trace
    cluster : Cluster
    window : (int or None, int or None)
        Take the jobs with start <= release < end, in seconds of the trace; None is the first
        submission, or no end. :func:`between` makes it from dates.
    jobs : int, optional
        Take only the first so many of those in the window that can run; by default all of them.
    weights : {"requested", "equal"} or mapping of str to float
        Weights of the users. "requested": in proportion to the GPUs that their jobs here request,
        all together, as Ye et al. (2022, section 6.1.2) size the virtual clusters of Philly.
        "equal": 1 each. A mapping gives them by id, such as ``{user.id: user.weight for user in
        users}`` of a trace that was read with sizes of virtual clusters; users without jobs keep
        their share.

    Returns
    -------
    Conversion
        Jobs keep everything but their release, which counts from the start of the window, and
        predecessors that are not among them: they wait for those that these waited for. Users are
        sorted by id; without a mapping they are the owners of the jobs.

    Raises
    ------
    ValueError
        If a number is out of range, a window has no jobs, more jobs are wanted than can run, or a
        job's user has no weight.

    Notes
    -----
    A job that can never run is listed as rejected with the reason, and does not count towards
    `jobs` or the weights: its gang exceeds the cluster, the nodes of every GPU model or those of
    the model it is pinned to, its pods do not fit them, the cluster has no such model, or the log
    does not tell its run time.

    Examples
    --------
    >>> from gangsched.instances.traces import ReadReport, Trace
    >>> rows = [
    ...     Job(id="row1", gpus=2, work=9, user="vc0"),
    ...     Job(id="row2", gpus=16, release=40, work=7, user="vc0"),
    ...     Job(id="row3", gpus=6, release=60, work=5, user="vc1"),
    ... ]
    >>> trace = Trace(name="log", jobs=rows, report=ReadReport(read=3))
    >>> made = to_instance(trace, Cluster.of_sizes([8]), window=(30, None))
    >>> print(made)
    log: 1 of the 2 jobs that were submitted from second 30 on, 1 rejected
    1 user, weight by requested GPUs: vc1 6
    job 'row2': gpus=16 exceeds the cluster's 8
    >>> made.instance.jobs[0].release
    30
    """
    start, end = window
    inside = _inside(trace, window)
    able, rejected = _able(inside, cluster)
    count = _count(trace, jobs, able, " that can run")
    taken = able[:count]
    users = _weighted(taken, weights)
    rows = {job.id: row for job, row in zip(trace.jobs, trace.rows, strict=False)}
    if start:
        taken = [replace(job, release=job.release - start) for job in taken]
    taken, freed = among_themselves(taken, trace.jobs)
    text = _window_text(window)
    notes = (
        f"{trace.name}: {count:,} of the {len(inside):,} jobs{text}, {len(rejected):,} rejected",
        _weights_text(users, weights),
        *(
            [f"not among these, and waited for by nobody: predecessors of {counted(freed, 'job')}"][
                :freed
            ]
        ),
    )
    ran = [_times(rows[job.id], start or 0) for job in taken] if rows else []
    name = trace.name if not text else f"{trace.name}-{start or 0}-{'' if end is None else end}"
    return Conversion(
        instance=Instance(cluster, tuple(taken), users, name=name),
        rejected=rejected,
        notes=notes,
        times=LogTimes.of(trace, ran, start or 0),
    )


def _times(row: LogRow, start: int) -> tuple[int | None, int | None]:
    """When a job began and ended, from another time 0 on."""
    if row.start is None and row.end is None:
        return None, None  # one object for all jobs of a log that does not say
    began, ended = (None if at is None else at - start for at in (row.start, row.end))
    return began, ended


def between(trace: Trace, start: str | None, end: str | None) -> Window:
    """Return the window of a trace between two dates, for :func:`to_instance`.

    Parameters
    ----------
    trace : Trace
        One that has an origin.
    start, end : str or None
        Such as ``2017-10-09`` (0:00 o'clock) or ``2017-10-09 12:30:00``, on the clock of the trace.
        The end is not part of the window. None: from the first submission on, or to the last.

    Returns
    -------
    (int or None, int or None)
        Seconds of the trace; negative for dates before its first submission.

    Raises
    ------
    ValueError
        If a text is no date, or the trace does not tell when it begins.

    Examples
    --------
    >>> from gangsched.instances.traces import ReadReport, Trace
    >>> trace = Trace(name="t", jobs=[], origin="2017-10-07 23:59:00", report=ReadReport(read=0))
    >>> between(trace, "2017-10-08", None)
    (60, None)
    """
    return _second(trace, "start", start), _second(trace, "end", end)


def _second(trace: Trace, name: str, text: str | None) -> int | None:
    """Second of the trace at a date; None where there is none."""
    if text is None:
        return None
    if trace.origin is None:
        raise ValueError(
            f"trace {trace.name!r}: origin=None, dates need a log that tells when it begins"
        )
    return math.ceil((_date(name, text) - _origin(trace.origin)).total_seconds())


def without(
    trace: Trace,
    *,
    windows: Iterable[tuple[int | str, int | str]] = (),
    users: Iterable[str] = (),
) -> Trace:
    """Return a trace without some of its jobs, as its reader would have read a log without them.

    Parameters
    ----------
    trace : Trace
    windows : sequence of (int or str, int or str)
        Jobs with start <= submission < end go: seconds of the trace, or dates as of
        :func:`between`.
    users : sequence of str
        Jobs of these users go.

    Returns
    -------
    Trace
        Time 0 is the first submission that is kept, and ids that are numbers of rows count those
        without the jobs that are gone; places of rows are those of the file. Users that only their
        jobs named go with the last of them; users with sizes stay. The report counts who went by
        reason, windows first.

    Raises
    ------
    ValueError
        If a window ends before it starts or has no job, a text is no date, or there is no such
        user.

    Examples
    --------
    >>> from gangsched.instances.traces import ReadReport, Trace
    >>> owners = enumerate(("eve", "eve", "bob", "ann"), start=1)
    >>> rows = [Job(id=f"row{i}", gpus=1, release=9 * i - 9, work=5, user=u) for i, u in owners]
    >>> users = [User("ann"), User("bob"), User("eve")]
    >>> trace = Trace(name="t", jobs=rows, users=users, report=ReadReport(read=4))
    >>> kept = without(trace, windows=[(0, 9)], users=["bob"])
    >>> print(kept.report)
    4 rows read, 2 jobs, 2 skipped (left out, submitted 0..9: 1, left out, user bob: 1)
    >>> [(job.id, job.release, job.user) for job in kept.jobs], [user.id for user in kept.users]
    ([('row1', 0, 'eve'), ('row2', 18, 'ann')], ['ann', 'eve'])
    """
    spans = {f"{start}..{end}": _span(trace, start, end) for start, end in windows}
    owners = dict.fromkeys(users)
    _check_users(trace, owners)
    reasons = [_left_out(job, spans, owners) for job in trace.jobs]
    kept = [job for job, reason in zip(trace.jobs, reasons, strict=True) if not reason]
    shift = kept[0].release - trace.jobs[0].release if kept else 0
    ids = dict(zip((job.id for job in kept), _ids_without(trace.jobs, reasons), strict=True))
    moved = [
        replace(
            job,
            id=ids[job.id],
            release=job.release - shift,
            after=tuple(ids[id] for id in job.after),
        )
        for job in among_themselves(kept, trace.jobs)[0]
    ]
    rows = [row for row, reason in zip(trace.rows, reasons, strict=False) if not reason]
    order = {number: k for k, number in enumerate(sorted(row.number for row in rows))}
    skipped = Counter(trace.report.skipped) + Counter(filter(None, reasons))
    return replace(
        trace,
        jobs=tuple(moved),
        users=_users_of(kept) if trace.users == _users_of(trace.jobs) else trace.users,
        origin=_shifted_origin(trace.origin, shift),
        rows=tuple(_moved(row, order[row.number], shift) for row in rows),
        report=replace(trace.report, skipped=skipped),
    )


def _moved(row: LogRow, number: int, start: int) -> LogRow:
    """A row that has another number, from another time 0 on."""
    began, ended = _times(row, start)
    return row._replace(number=number, start=began, end=ended)


def _span(trace: Trace, start: int | str, end: int | str) -> tuple[int, int]:
    """Seconds of a window that is left out; refuse one without jobs."""
    text = f"window {start}..{end}"
    try:
        first, last = (_given(trace, *part) for part in (("start", start), ("end", end)))
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from None
    if last <= first:
        raise ValueError(f"{text} ends before it starts")
    if not any(first <= job.release < last for job in trace.jobs):
        raise ValueError(f"trace {trace.name!r}: {text} has none of its jobs{_submissions(trace)}")
    return first, last


def _given(trace: Trace, name: str, time: int | str) -> int:
    """Second of the trace, given as such or as a date."""
    second = _second(trace, name, time) if isinstance(time, str) else time
    if isinstance(second, bool) or not isinstance(second, int):
        raise TypeError(f"window: {name}={time!r} is neither an integer nor a date")
    return second


def _check_users(trace: Trace, names: Iterable[str]) -> None:
    known = sorted({job.user for job in trace.jobs} | {user.id for user in trace.users})
    for name in names:
        if name not in known:
            raise ValueError(
                f"trace {trace.name!r}: user {name!r} has none of its jobs{near(name, known)}"
            )


def _left_out(job: Job, spans: Mapping[str, tuple[int, int]], users: Container[str]) -> str:
    """Why a job is left out; empty for a job that is kept."""
    for text, (start, end) in spans.items():
        if start <= job.release < end:
            return f"{LEFT_OUT}submitted {text}"
    return f"{LEFT_OUT}user {job.user}" if job.user in users else ""


def _ids_without(jobs: Sequence[Job], gone: Sequence[object]) -> list[str]:
    """Ids of the jobs that stay; where all are numbers of rows, those that go do not count."""
    numbers = [re.fullmatch(r"row([1-9]\d*)", job.id, re.ASCII) for job in jobs]
    pairs = list(zip(jobs, numbers, gone, strict=True))
    if not all(numbers):
        return [job.id for job, _, left in pairs if not left]
    rows = sorted(int(number[1]) for _, number, left in pairs if left and number)
    stay = [int(number[1]) for _, number, left in pairs if number and not left]
    return [f"row{row - bisect_left(rows, row)}" for row in stay]


def _users_of(jobs: Iterable[Job]) -> tuple[User, ...]:
    """Users that are known by their jobs alone."""
    return tuple(map(User, sorted({job.user for job in jobs} - {""})))


def _shifted_origin(origin: str | None, seconds: int) -> str | None:
    """The text of an origin that is so many seconds later."""
    if origin is None or not seconds:
        return origin
    return f"{_origin(origin) + timedelta(seconds=seconds)}{' UTC' * origin.endswith(' UTC')}"


def _origin(text: str) -> datetime:
    """Time 0 of a trace."""
    return _date("origin", text.removesuffix(" UTC"))


def _date(name: str, text: str) -> datetime:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{name}={text!r} is not a date of the form 2017-10-09 or 2017-10-09 12:30:00"
        ) from None
    if date.tzinfo is not None:
        raise ValueError(f"{name}={text!r} has a time zone, dates are on the clock of the trace")
    return date


def _inside(trace: Trace, window: Window) -> list[Job]:
    """Jobs of the trace that were submitted in the window."""
    start, end = _check_window(window)
    inside = [
        job
        for job in trace.jobs
        if (start is None or job.release >= start) and (end is None or job.release < end)
    ]
    if not inside and window != (None, None):
        raise ValueError(
            f"trace {trace.name!r}: window={window} has none of its jobs{_submissions(trace)}"
        )
    return inside


def _submissions(trace: Trace) -> str:
    """The times of the first and last submission as the end of a message; dates where known."""
    if not trace.jobs:
        return ""
    seconds = [trace.jobs[0].release, trace.jobs[-1].release]
    texts = [f"{second:,}" for second in seconds]
    if trace.origin is not None:
        origin = _origin(trace.origin)
        dates = [origin + timedelta(seconds=second) for second in seconds]
        texts = [f"{text} ({date})" for text, date in zip(texts, dates, strict=True)]
    return f", submitted from second {texts[0]} to {texts[1]}"


def _check_window(window: Window) -> Window:
    for value in window:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(f"window={window!r} is not a pair of integers or None")
    start, end = window
    if end is not None and end <= (start or 0):
        raise ValueError(f"window={window!r} ends before it starts")
    return window


def _count(
    trace: Trace, jobs: int | None, among: Sequence[Job], which: str = "", least: int = 0
) -> int:
    """How many jobs to take: all of them where nothing is said."""
    count = at_least("jobs", len(among) if jobs is None else jobs, least)
    if count > len(among):
        raise ValueError(f"jobs={count} exceeds the {len(among)} jobs of {trace.name!r}{which}")
    return count


def _able(jobs: Sequence[Job], cluster: Cluster) -> tuple[list[Job], tuple[tuple[str, str], ...]]:
    """Divide jobs into those that can run on the cluster and those that cannot, with the reason."""
    gpus, total = gpus_by_model(cluster), cluster.gpus
    reasons = [_unable(job, total, gpus) or _without_pods(job, cluster) for job in jobs]
    able = [job for job, reason in zip(jobs, reasons, strict=True) if not reason]
    rejected = [(job.id, why) for job, why in zip(jobs, reasons, strict=True) if why]
    return able, tuple(rejected)


def _unable(job: Job, gpus: int, of_model: Mapping[str, int]) -> str:
    if job.gpus > gpus:
        return _too_large(job, gpus)
    if job.pin and job.pin not in of_model:
        return f"job {job.id!r}: pin={job.pin!r} is not a model of the cluster"
    if job.pin and job.gpus > of_model[job.pin]:
        return f"{_too_large(job, of_model[job.pin])} of model {job.pin!r}"
    if job.gpus > max(of_model.values()):
        return f"{_too_large(job, max(of_model.values()))} of any one model"
    return f"job {job.id!r}: work=None, a replay needs run times" if job.work is None else ""


def _without_pods(job: Job, cluster: Cluster) -> str:
    """Why the pods of a job do not fit the nodes of any one model."""
    if not job.pod:
        return ""
    room: Counter[str] = Counter()
    for node in cluster.nodes:
        room[node.model] += node.gpus // job.pod
    most, pods = room[job.pin] if job.pin else max(room.values()), job.gpus // job.pod
    of = f" of model {job.pin!r}" * bool(job.pin)
    if pods <= most:
        return ""
    if not most:
        return f"job {job.id!r}: pod={job.pod}, no node{of} has so many GPUs"
    return f"job {job.id!r}: {pods} pods of {job.pod} GPUs exceed the {most} that nodes{of} hold"


def _too_large(job: Job, gpus: int) -> str:
    return f"job {job.id!r}: gpus={job.gpus} exceeds the cluster's {gpus}"


def _weighted(jobs: Sequence[Job], weights: Weights) -> tuple[User, ...]:
    requested: Counter[str] = Counter()
    for job in jobs:
        requested[job.user] += job.gpus
    if isinstance(weights, Mapping):
        for job in jobs:
            if job.user not in weights:
                raise ValueError(f"job {job.id!r}: user={job.user!r} has no weight")
        return tuple(User(id, weight=weight) for id, weight in sorted(weights.items()))
    if weights not in ("requested", "equal"):
        raise ValueError(f"weights={weights!r} is not one of 'requested', 'equal', nor a mapping")
    equal = weights == "equal"
    found = sorted((id, gpus) for id, gpus in requested.items() if id)
    return tuple(User(id, weight=1 if equal else gpus) for id, gpus in found)


def _window_text(window: Window) -> str:
    start, end = window
    if start is None and end is None:
        return ""
    until = " on" if end is None else f" to {end:,}"
    return f" that were submitted from second {start or 0:,}{until}"


def _weights_text(users: Sequence[User], weights: Weights) -> str:
    if not users:
        return "no users"
    how = "as given" if isinstance(weights, Mapping) else f"by {weights} GPUs"
    if weights == "equal":
        how = "1 each"
    largest = sorted(users, key=lambda user: (-user.weight, user.id))
    listed = ", ".join(f"{user.id} {user.weight:,.10g}" for user in largest[:5])
    more = ", ..." if len(users) > 5 else ""
    return f"{len(users)} user{'s' * (len(users) > 1)}, weight {how}: {listed}{more}"


def to_rar_instance(
    trace: Trace,
    cluster: Cluster,
    *,
    jobs: int | None = None,
    pick: Literal["first", "sample"] = "sample",
    seed: int = 0,
) -> Conversion[RingJob]:
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
    order in the trace) gets ``50 + 250 r/(n - 1)`` slots (a single job: 50), split into F_j,
    tau_j, m_j and D_j as in :func:`gangsched.instances.generate.rar_workload`.

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
    one_of("pick", pick, ("first", "sample"))
    fitting = [job for job in trace.jobs if job.gpus <= cluster.gpus]
    rejected = tuple(
        (job.id, _too_large(job, cluster.gpus)) for job in trace.jobs if job.gpus > cluster.gpus
    )
    count = _count(trace, jobs, fitting, " that fit")
    for job in trace.jobs:
        if job.work is None:
            raise ValueError(f"job {job.id!r}: work=None, a conversion by run time needs one")
    rng = stream(seed, 4)
    chosen = fitting[:count]
    if pick == "sample" and count < len(fitting):
        chosen = [fitting[i] for i in np.sort(rng.choice(len(fitting), count, replace=False))]
    slots = _by_rank(chosen)
    made = tuple(_convert(job, slots[i], rng) for i, job in enumerate(chosen))
    users = tuple(user for user in trace.users if user.id in {job.user for job in chosen})
    how = "" if count == len(fitting) else " (the first)" if pick == "first" else f" (seed {seed})"
    notes = (
        f"{trace.name}: {count:,} of {len(fitting):,} jobs that fit{how}, {len(rejected)} rejected",
        (
            f"gang sizes kept, run times mapped by rank to {SERVICE[0]:g}..{SERVICE[1]:g} slots, "
            "every release set to 0"
        ),
    )
    name = f"{trace.name}-rar-{count}-{pick}-seed{seed}"
    return Conversion(
        instance=Instance(cluster, made, users, name=name),
        rejected=rejected,
        notes=notes,
        replaced="run times and releases are not the log's",
    )


def _by_rank(jobs: list[Job]) -> list[float]:
    """Return the slots of each job: linear in its rank by run time."""
    order = sorted(range(len(jobs)), key=lambda i: (jobs[i].work, jobs[i].release, i))
    slots = [SERVICE[0]] * len(jobs)
    step = (SERVICE[1] - SERVICE[0]) / max(1, len(jobs) - 1)
    for rank, i in enumerate(order):
        slots[i] = min(SERVICE[0] + rank * step, SERVICE[1])
    return slots


def _convert(job: Job, slots: float, rng: np.random.Generator) -> RingJob:
    low = max(ITERATIONS[0], math.ceil(slots / ITERATION_TIME[1] - 1e-9))
    high = min(ITERATIONS[1], math.floor(slots / ITERATION_TIME[0] + 1e-9))
    iterations = int(rng.integers(low, high + 1))
    share = float(rng.uniform(*EXTRA))
    made = ring_job(job.id, job.gpus, iterations, short(slots / iterations), share)
    return replace(made, user=job.user, weight=job.weight)


def to_revenue_instance(
    trace: Trace,
    *,
    window: Window = (None, None),
    jobs: int | None = None,
    servers: int = 100,
    utility: Law = "linear",
    chunks: Literal["requested", "drawn"] = "requested",
    seed: int = 0,
) -> tuple[Conversion[ParameterServerJob], Parameters]:
    """Return submissions of a trace as a workload of workers and parameter servers.

    Parameters
    ----------
    trace : Trace
        Every job has a user, its virtual cluster.
    window : (int or None, int or None)
        Take the jobs with start <= release < end, as :func:`to_instance`.
    jobs : int, optional
        Take only the first so many of those in the window; by default all of them.
    servers : int
    utility : {"linear", "convex"}
    chunks : {"requested", "drawn"}
        Whether D, the most workers that a job can use, is the number of GPUs that it requests, or
        an integer of 20..50: Wang et al. (2023, section 5.1) say both.
    seed : int

    Returns
    -------
    tuple of Conversion and dict
        Jobs keep id, user and order. Nothing is rejected: a job runs with fewer workers than it
        could use. The dict holds the parameters of :class:`gangsched.formulations.Irmp` that go
        with it.

    Raises
    ------
    ValueError, TypeError
        If a number is out of range, a window has no jobs, more jobs are wanted than there are, or a
        job has no user.

    Notes
    -----
    One slot is an hour. A job of the hour [h, h + 1) since the start of the window is released at
    h + 1, when it is known. Users are those of the jobs, sorted by id; the run times of the trace
    do not count. Nodes, bandwidths and the rest of the jobs are drawn as
    :func:`gangsched.instances.revenue.revenue_instance` draws them (streams 12, 13, 14).

    Examples
    --------
    >>> from gangsched.instances.traces import ReadReport, Trace
    >>> rows = [
    ...     Job(id="row1", gpus=2, user="vc0"),
    ...     Job(id="row2", gpus=8, user="vc1", release=7200),
    ... ]
    >>> trace = Trace(name="log", jobs=rows, report=ReadReport(read=2))
    >>> made, parameters = to_revenue_instance(trace, servers=3)
    >>> print(made)
    log: 2 of the 2 jobs, released at 1 to 3 h
    2 users of 3 servers; D as requested, the rest drawn (seed 0)
    >>> [(job.gpus, job.release) for job in made.instance.jobs], parameters["owners"]
    ([(2, 1), (8, 3)], ('vc0', 'vc1', 'vc1'))
    """
    one_of("chunks", chunks, ("requested", "drawn"))
    inside = _inside(trace, window)
    count = _count(trace, jobs, inside, least=1)
    taken, start = inside[:count], window[0] or 0
    owned = owned_cluster(servers, users=_owners(taken), seed=seed)
    parameters = {**bandwidths(seed), "owners": owned.owners}
    drawn = stream(seed, 14).random((count, 10))
    made = tuple(
        ParameterServerJob(
            id=job.id,
            user=job.user,
            release=(job.release - start) // HOUR + 1,
            **{**fields, **({"gpus": job.gpus} if chunks == "requested" else {})},
        )
        for job, fields in zip(
            taken, revenue_jobs(drawn, parameters["worker_bandwidth"], utility), strict=True
        )
    )
    users, first, last = len(owned.users), made[0].release, made[-1].release
    text = f"{_window_text(window)}, released at {first:,} to {last:,} h"
    notes = (
        f"{trace.name}: {count:,} of the {len(inside):,} jobs{text}",
        f"{users} users of {servers:,} servers; D as {chunks}, the rest drawn (seed {seed})",
    )
    name = f"{trace.name}-revenue-{utility}-{count}x{servers}x{users}-seed{seed}"
    instance = Instance(owned.cluster, made, owned.users, slot=HOUR, name=name)
    replaced = "run times and utilities are drawn, not the log's"
    return Conversion(instance=instance, rejected=(), notes=notes, replaced=replaced), parameters


def _owners(jobs: Sequence[Job]) -> list[str]:
    for job in jobs:
        if not job.user:
            raise ValueError(f"job {job.id!r}: user='', every job needs a user that owns servers")
    return sorted({job.user for job in jobs})
