"""What a log and the description of its cluster say that cannot both be true, or is hardly so.

A finding is proved, by a few jobs of the log and a rule that they break between them, or it is odd:
possible, and worth a look before anything is concluded from the log. Proofs are plain data, and
:mod:`gangsched.analysis.proofs.verify_audit`, which shares nothing with this module, checks them.
Demand over capacity has a proof too, and is odd: a real queue can grow as long.

Recorded times are whole seconds, rounded down, and run times rounded up; so an overlap is counted
from starts and ends where both are known, else up to a second before the run time is over. A job
whose start and end lie further apart than its run time was interrupted at times that nobody knows:
it holds nothing for sure. Nothing is concluded from the run time of a job with speeds: it depends
on the GPU model, which a log does not tell.

All times are taken to be of one clock. Where a log names no zone, and its clock kept summer time,
what began before the hour that autumn repeats and ended after it seems to be an hour shorter, and
contradictions of up to an hour can be the clock's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..instances.display import counted, frame, shortened, table_html
from ..instances.model import Cluster, gpus_by_model
from .proofs.verify_audit import verify_finding

if TYPE_CHECKING:
    from ..instances.traces import LogRow, Trace

__all__ = ["Audit", "Finding", "audit"]

Ints = NDArray[np.int64]
SHOWN = 3  #: rows that a finding names
ROUNDED = 2  #: seconds that fractions which were rounded can make
DAY, HOUR = 86_400, 3_600
LONGEST_SILENCE = 30 * DAY  #: without a submission, where that is half of the log too
MOST_FALLS = 3  #: times that an ordered log may fall back before it counts as not ordered
LEAST_ORDERED = 20  #: rows of a log that counts as ordered
ZONE = r"(UTC|Z|[+-]\d\d:?\d\d)$"  #: at the end of a time
QUEUE = "overload"  #: the rule whose proof a real log can have


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or odd.

    Parameters
    ----------
    kind : str
        Such as ``"more GPUs in use than there are"``.
    text : str
        What was found, with the values.
    count : int
        Jobs or rows that it is about.
    rows : tuple of str
        Where the first of them stand in the file; ids where that is not known.
    proof : mapping or None
        Plain data that :func:`~gangsched.analysis.proofs.verify_audit.verify_finding` accepts.

    Examples
    --------
    >>> print(Finding(kind="same job twice", text="2 jobs", count=2, rows=("line 3", "line 7")))
    odd: same job twice: 2 jobs [line 3, line 7]
    """

    kind: str
    text: str
    count: int
    rows: tuple[str, ...]
    proof: Mapping[str, Any] | None = None

    @property
    def sure(self) -> str:
        """What cannot be true is "proved", what can be is "odd"."""
        return "odd" if self.proof is None or self.proof["rule"] == QUEUE else "proved"

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.rows) else ""
        return f"{self.sure}: {self.kind}: {self.text} [{', '.join(self.rows)}{more}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found, and what it could not look at.

    Parameters
    ----------
    name : str
        Of the trace.
    jobs : int
    findings : tuple of Finding
        Proved ones first.
    unchecked : tuple of str
        What could not be checked, and what is missing for it.
    """

    name: str
    jobs: int
    findings: tuple[Finding, ...]
    unchecked: tuple[str, ...]

    @property
    def proved(self) -> tuple[Finding, ...]:
        """Findings that cannot be true."""
        return tuple(one for one in self.findings if one.sure == "proved")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "trace": self.name,
            "jobs": self.jobs,
            "findings": [{"sure": one.sure, **asdict(one)} for one in self.findings],
            "unchecked": list(self.unchecked),
        }

    def _cells(self) -> list[tuple[str, ...]]:
        return [(f.sure, f.kind, f.text, str(f.count), ", ".join(f.rows)) for f in self.findings]

    def to_frame(self) -> Any:
        """Return the findings as a pandas DataFrame."""
        columns = zip(*self._cells(), strict=True) if self.findings else [()] * len(HEADS)
        return frame(dict(zip(HEADS, map(list, columns), strict=True)))

    def _repr_html_(self) -> str:
        return table_html(HEADS, self._cells())

    def __str__(self) -> str:
        head = f"Audit of {self.name!r}: {counted(self.jobs, 'job')}, "
        head += f"{counted(len(self.findings), 'finding')}, {len(self.proved)} proved"
        return "\n".join([head, *map(str, self.findings), *self.unchecked])


HEADS = ("sure", "finding", "what", "jobs", "rows")


def audit(
    trace: Trace,
    cluster: Cluster | None = None,
    *,
    quotas: Mapping[str, int] | None = None,
    window: int = DAY,
) -> Audit:
    """Look for contradictions in a log, and between it and what is said of its cluster.

    Parameters
    ----------
    trace : Trace
    cluster : Cluster, optional
        What the log's cluster is said to be. Without it nothing is compared with GPUs.
    quotas : mapping of str to int, optional
        GPUs that each user may have at once.
    window : int
        Seconds of the whole cluster by which the jobs have to fall behind before demand over
        capacity is a finding.

    Returns
    -------
    Audit
        Every proof in it has been verified.

    Raises
    ------
    ValueError, TypeError
        For a window below 1 or quotas that are no whole numbers.

    Notes
    -----
    Proved, from the log and the description alone: a gang wider than the cluster, than the GPUs of
    the model that it must have, or than its user's quota; more GPUs in use at a second than there
    are, of all models or of one, or than a user's quota; a start before the submission; an end
    before the run time is over, or before the start; and a deadline that comes before the run time
    is over.

    Odd: demand over capacity, with a proof that even if each job had started when it was submitted,
    and run without a break, so much work of some time could not have been done in it that the
    cluster needs another `window` for it (a long queue, or another cluster); a gang wider than a
    node that fills no whole nodes, or wider than any one model; jobs that are the same but for the
    id; users without a quota where others have one; a clock that falls back in a log that is
    otherwise in order; 30 days and half of the log without a submission; jobs whose end is exactly
    an hour from where start and run time put it.

    Time: O(n log n).

    Examples
    --------
    >>> from gangsched.instances import Cluster, Job
    >>> from gangsched.instances.traces import LogRow, ReadReport, Trace
    >>> jobs = [Job(id="a", gpus=4, work=60), Job(id="b", gpus=6, release=10, work=60)]
    >>> rows = [LogRow("line 2", 0, 5, 65), LogRow("line 3", 1, 20, 80)]
    >>> trace = Trace(name="log", jobs=jobs, rows=rows, report=ReadReport(read=2))
    >>> print(audit(trace, Cluster.of_sizes([8]), quotas={"": 16}))
    Audit of 'log': 2 jobs, 1 finding, 1 proved
    proved: more GPUs in use than there are: 10 of 8 at second 20, for 45 s in all [line 3, line 2]
    """
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise ValueError(f"audit: window={window!r} is not a number of seconds above 0")
    if quotas is not None and not isinstance(quotas, Mapping):
        raise TypeError(f"audit: quotas={shortened(repr(quotas))} is no mapping of users to GPUs")
    for user, quota in (quotas or {}).items():
        if isinstance(quota, bool) or not isinstance(quota, int) or quota < 0:
            raise ValueError(f"audit: quotas[{user!r}]={quota!r} is not a number of GPUs")
    log = _Log(trace)
    found = [*_skipped(log), *_times(log), *_deadlines(log)]
    if cluster is not None:
        found += [*_widths(log, cluster), *_in_use(log, cluster), *_overload(log, cluster, window)]
    if quotas is not None:
        found += _quotas(log, quotas)
    found += [*_twins(log), *_clock(log)]
    for finding in found:
        verify_finding(finding.proof, trace, cluster, quotas)
    found.sort(key=lambda finding: finding.sure == "odd")
    return Audit(
        name=trace.name,
        jobs=len(trace.jobs),
        findings=tuple(found),
        unchecked=tuple(_unchecked(log, cluster, quotas)),
    )


class _Log:
    """A trace by columns, and how its rows and times are named."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.jobs = trace, trace.jobs
        self.rows: Sequence[LogRow | None] = trace.rows or [None] * len(trace.jobs)
        self.work = [None if job.speeds else job.work for job in trace.jobs]
        self.runs = [_run_of(*one) for one in zip(self.work, self.rows, strict=True)]

    def id(self, j: int) -> str:
        """The id of a job."""
        return self.jobs[j].id

    def place(self, j: int) -> str:
        """Where a job stands."""
        row = self.rows[j]
        return f"job {self.id(j)!r}" if row is None else row.place

    def at(self, second: int) -> str:
        """A second, and its date where that is known."""
        if self.trace.origin is None:
            return f"second {second:,}"
        text, utc, _ = self.trace.origin.partition(" UTC")
        moment = datetime.fromisoformat(text) + timedelta(seconds=second)
        return f"second {second:,} ({moment}{utc})"

    def finding(
        self, kind: str, text: str, jobs: Sequence[int], proof: Mapping[str, Any] | None = None
    ) -> Finding:
        """Make a finding about jobs, the most telling ones first."""
        shown = tuple(self.place(j) for j in jobs[:SHOWN])
        return Finding(kind=kind, text=text, count=len(jobs), rows=shown, proof=proof)

    def each(self, kind: str, wrong: Mapping[int, str], rule: str = "") -> Iterator[Finding]:
        """Make a finding about jobs, with a text each; a proof if each breaks a rule by itself."""
        jobs = [*wrong]
        proof = {"rule": rule, "jobs": [self.id(j) for j in jobs]} if rule else None
        for j in jobs[:1]:
            text = f"{counted(len(jobs), 'job')}, such as {self.id(j)!r}, {wrong[j]}"
            yield self.finding(kind, text, jobs, proof)


def _run_of(work: int | None, row: LogRow | None) -> tuple[int, int] | None:
    """When a job surely held its GPUs; at each of these seconds all that hold some do at once."""
    if row is None or work is None:
        return None
    start, end = row.start, row.end
    if start is not None and end is not None:
        run = (start, end) if end - start <= work + ROUNDED else (start, start)
    elif start is not None:
        run = start, start + work - 1
    else:
        run = (0, 0) if end is None else (end - work + ROUNDED, end)
    return run if run[0] < run[1] else None


def _unchecked(
    log: _Log, cluster: Cluster | None, quotas: Mapping[str, int] | None
) -> Iterator[str]:
    """What was not looked at."""
    known = sum(run is not None for run in log.runs)
    if cluster is None:
        yield "not compared with a cluster: none is given"
    if quotas is None:
        yield "not compared with quotas: none are given"
    if known < len(log.jobs):
        what = "it does not tell when jobs ran" if not known else "their times are not known"
        yield (
            f"GPUs in use: {len(log.jobs) - known:,} of {counted(len(log.jobs), 'job')} "
            f"do not count, {what}"
        )
    origin = log.trace.origin
    if origin is not None and not re.search(ZONE, origin):
        yield (
            "summer time: the log names no zone, its times are taken to be of a clock without it; "
            "else contradictions of up to an hour can be of the hour that autumn repeats"
        )


# --- rows and times ------------------------------------------------------------------------------


def _skipped(log: _Log) -> Iterator[Finding]:
    """Rows that became no jobs, since they end before they start."""
    report = log.trace.report
    for reason, count in sorted(report.skipped.items()):
        if "before the start" in reason or "before start" in reason:
            yield Finding(
                kind="an end before the start",
                text=f"{counted(count, 'row')}, which became no jobs",
                count=count,
                rows=tuple(report.places.get(reason, ())),
                proof={"rule": "skipped", "reason": reason, "count": count},
            )


def _times(log: _Log) -> Iterator[Finding]:
    """Starts before submissions, and ends that do not go with run times."""
    early, short, shifted = {}, {}, {}
    for j, (job, row) in enumerate(zip(log.jobs, log.rows, strict=True)):
        if row is None or row.start is None:
            continue
        if row.start < job.release:
            early[j] = f"by {job.release - row.start:,} s"
        work = log.work[j]
        if row.end is None or work is None:
            continue
        over = row.end - row.start - work
        if over < -ROUNDED:
            short[j] = f"by {-over:,} s"
        if abs(abs(over) - HOUR) <= ROUNDED:
            shifted[j] = "by exactly an hour: a clock that was changed?"
    yield from log.each("a start before the submission", early, "start")
    yield from log.each("an end before the run time is over", short, "end")
    yield from log.each("start and end that do not go with the run time", shifted)


def _deadlines(log: _Log) -> Iterator[Finding]:
    """Jobs of which no deadline can be kept."""
    late = {}
    for j, job in enumerate(log.jobs):
        last = max((time for time, _ in job.deadlines()), default=None)
        work = log.work[j]
        if last is not None and work is not None and last - job.release < work:
            late[j] = f"{last - job.release:,} s after its submission, of {work:,} s"
    yield from log.each("a deadline before the run time is over", late, "deadline")


def _twins(log: _Log) -> Iterator[Finding]:
    """Jobs that are the same but for the id."""
    seen: dict[Any, int] = {}
    twins = {}
    for j, (job, row) in enumerate(zip(log.jobs, log.rows, strict=True)):
        ran = None if row is None else (row.start, row.end)
        key = (replace(job, id="again"), ran)
        first = seen.setdefault(key, j)
        if first != j:
            twins[j] = f"like {log.id(first)!r}"
    yield from log.each("the same job again", twins)


def _clock(log: _Log) -> Iterator[Finding]:
    """A clock that falls back, or that stands still for very long."""
    known = [(row.number, j) for j, row in enumerate(log.rows) if row is not None]
    order = [j for _, j in sorted(known)]
    falls = [(a, b) for a, b in pairwise(order) if log.jobs[b].release < log.jobs[a].release]
    if len(order) >= LEAST_ORDERED and 0 < len(falls) <= MOST_FALLS:
        a, b = falls[0]
        by = log.jobs[a].release - log.jobs[b].release
        text = f"by {by:,} s at {log.at(log.jobs[b].release)}, in a log that is otherwise in order"
        yield log.finding("the clock falls back", text, [b for _, b in falls])
    times = [job.release for job in log.jobs]
    span = times[-1] - times[0] if times else 0
    silent = [
        j for j in range(1, len(times)) if times[j] - times[j - 1] >= max(LONGEST_SILENCE, span / 2)
    ]
    for j in silent[:1]:
        days = (times[j] - times[j - 1]) / DAY
        text = f"{days:,.0f} of {span / DAY:,.0f} days, up to {log.at(times[j])}"
        yield log.finding("nothing is submitted for very long", text, [j])


# --- GPUs ----------------------------------------------------------------------------------------


def _widths(log: _Log, cluster: Cluster) -> Iterator[Finding]:
    """Gangs that no schedule can place, or only in a way that is odd."""
    of_model, sizes = gpus_by_model(cluster), {node.gpus for node in cluster.nodes}
    most, each = max(of_model.values()), " or ".join(map(str, sorted(sizes)))
    wide, lacking, mixed, partial = {}, {}, {}, {}
    for j, job in enumerate(log.jobs):
        if job.gpus > cluster.gpus:
            wide[j] = f"{job.gpus} GPUs of {cluster.gpus}"
        elif job.pin and job.gpus > of_model.get(job.pin, 0):
            lacking[j] = f"{job.gpus} GPUs of {of_model.get(job.pin, 0)} of model {job.pin!r}"
        elif job.gpus > most:
            mixed[j] = f"{job.gpus} GPUs, at most {most} are of one model"
        elif all(job.gpus > size and job.gpus % size for size in sizes):
            partial[j] = f"{job.gpus} GPUs on nodes of {each}"
    yield from log.each("a gang wider than the cluster", wide, "cluster")
    yield from log.each("a gang wider than the model it needs", lacking, "model")
    yield from log.each("a gang wider than any one model", mixed)
    yield from log.each("a gang wider than a node that fills no whole nodes", partial)


def _in_use(log: _Log, cluster: Cluster) -> Iterator[Finding]:
    """Seconds at which more GPUs were in use than there are, of all models or of one."""
    able = [j for j, job in enumerate(log.jobs) if job.gpus <= cluster.gpus]
    kind = "more GPUs in use than there are"
    yield from _at_once(log, able, cluster.gpus, kind, {"of": "cluster"})
    of_model = gpus_by_model(cluster)
    if len(of_model) > 1:
        pinned = _grouped(able, lambda j: log.jobs[j].pin)
        for model, jobs in pinned.items():
            if model in of_model:
                what = f"more GPUs of {model!r} in use than there are"
                yield from _at_once(
                    log, jobs, of_model[model], what, {"of": "model", "name": model}
                )


def _quotas(log: _Log, quotas: Mapping[str, int]) -> Iterator[Finding]:
    """Users with more GPUs than they may have."""
    wide, unknown = {}, {}
    for j, job in enumerate(log.jobs):
        if job.user not in quotas:
            unknown[j] = f"of {job.user!r}"
        elif job.gpus > quotas[job.user]:
            wide[j] = f"{job.gpus} GPUs, {job.user!r} may have {quotas[job.user]}"
    yield from log.each("a gang wider than its user's quota", wide, "quota")
    others = (j for j in range(len(log.jobs)) if j not in wide and j not in unknown)
    for user, jobs in _grouped(others, lambda j: log.jobs[j].user).items():
        kind = f"user {user!r} beyond the quota"
        yield from _at_once(log, jobs, quotas[user], kind, {"of": "user", "name": user})
    yield from log.each("a job of a user without a quota", unknown)


def _grouped(jobs: Iterable[int], key: Callable[[int], str]) -> dict[str, list[int]]:
    """Jobs by a name, names sorted; the empty name is none."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for j in jobs:
        if key(j):
            groups[key(j)].append(j)
    return dict(sorted(groups.items()))


def _at_once(
    log: _Log, jobs: Iterable[int], most: int, kind: str, what: Mapping[str, str]
) -> Iterator[Finding]:
    """Make a finding of the second at which jobs hold most GPUs, if that is too many."""
    runs = [(j, *run) for j in jobs if (run := log.runs[j]) is not None]
    if not runs:
        return
    number, start, end = np.array(runs, dtype=np.int64).T
    gpus = np.array([log.jobs[j].gpus for j in number], dtype=np.int64)
    time, used = _levels(start, end, gpus)
    peak = int(np.argmax(used))
    if used[peak] <= most:
        return
    second = int(time[peak])
    long = int(np.diff(time, append=time[-1])[used > most].sum())
    there = sorted(
        number[(start <= second) & (end > second)].tolist(), key=lambda j: -log.jobs[j].gpus
    )
    total = np.cumsum([log.jobs[j].gpus for j in there])
    proof = {
        "rule": "in use",
        **what,
        "second": second,
        "jobs": [log.id(j) for j in there[: int(np.searchsorted(total, most, "right")) + 1]],
    }
    text = f"{used[peak]:,} of {most:,} at {log.at(second)}, for {_long(long)} in all"
    yield log.finding(kind, text, there, proof)


def _levels(start: Ints, end: Ints, gpus: Ints) -> tuple[Ints, Ints]:
    """Seconds at which the GPUs in use change, and how many are in use from then on."""
    time, at = np.unique(np.concatenate([start, end]), return_inverse=True)
    change = np.bincount(at, weights=np.concatenate([gpus, -gpus]), minlength=time.size)
    return time, np.cumsum(change.astype(np.int64))


def _overload(log: _Log, cluster: Cluster, window: int) -> Iterator[Finding]:
    """A time in which more work was wanted than the cluster can do.

    U(t) GPUs would be in use if every job began when it was submitted. Nothing can be done sooner,
    and at most C(t - a) from a on: so from a to t at least the integral of U - C is left undone.
    """
    able = [j for j, work in enumerate(log.work) if work is not None]
    if not able:
        return
    release, work, gpus = (
        np.array([getattr(log.jobs[j], name) for j in able], dtype=np.int64)
        for name in ("release", "work", "gpus")
    )
    time, wanted = _levels(release, release + work, gpus)
    steps = ((wanted[:-1] - cluster.gpus) * np.diff(time)).tolist()
    behind = most = since = first = last = 0
    for step, begin, end in zip(steps, time[:-1].tolist(), time[1:].tolist(), strict=True):
        if behind == 0:
            since = begin
        behind = max(behind + step, 0)
        if behind > most:
            most, first, last = behind, since, end
    if most <= cluster.gpus * window:
        return
    inside = np.maximum(np.minimum(release + work, last) - np.maximum(release, first), 0) * gpus
    jobs = [able[i] for i in np.argsort(-inside, kind="stable") if inside[i] > 0]
    proof = {"rule": QUEUE, "from": first, "to": last, "behind": most}
    text = (
        f"from {log.at(first)} to {log.at(last)}, {int(inside.sum()) / HOUR:,.0f} GPU hours are "
        f"wanted of {cluster.gpus * (last - first) / HOUR:,.0f}: {_long(most // cluster.gpus)} of "
        "all GPUs are missing"
    )
    yield log.finding("demand over capacity", text, jobs, proof)


def _long(seconds: int) -> str:
    """A length of time."""
    for unit, name in ((DAY, "days"), (HOUR, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:,} s"
