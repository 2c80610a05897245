"""What a log and the description of its cluster say that cannot both be true, or is hardly so.

A finding is proved, by a few jobs of the log and a rule that they break between them, or it is odd:
possible, and worth a look before anything is concluded from the log. Proofs are plain data, and
:mod:`gangsched.analysis.proofs.verify_audit`, which shares nothing with this module, checks them.
Demand over capacity has a proof too, and is odd: a real queue can grow as long.

A number stands for every value that is written so: the true value lies less than a step from it, of
a second, or as the trace's `steps` say, and it may have been cut, rounded or rounded up. A finding
is proved where no true values go together. So a job surely ran from a step after its start to a
step before its end. One whose start and end lie further apart than its run time and the steps was
interrupted at times that nobody knows: it holds nothing for sure. Pauses may also hide in steps
above a second, but never for longer than these: what is in use at once has to be so for longer than
all of them together. Nothing is concluded from the run time of a job with speeds: it depends on the
GPU model, which a log does not tell.

Where a log names no zone, its clock may be one that autumn sets back: what began before that and
ended after it seems to be an hour shorter. What such an hour explains is odd, on days on which the
clocks of some country go back.

Rules about GPUs hold in several scopes, one table for all of them: the cluster, a GPU model, nodes
with room for pods of a size, the quota of a user. What each scope counts, and how much there is of
it, is said once, and each rule is asked of each scope.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

from ..instances.arrays import Ints, levels
from ..instances.display import counted, frame, in_doubt, shortened, table_html
from ..instances.model import Cluster, Job, gpus_by_model
from .proofs.verify_audit import verify_finding

if TYPE_CHECKING:
    from ..instances.traces import LogRow, Trace

__all__ = ["Audit", "Finding", "audit"]

SHOWN = 3  #: rows that a finding names
DAY, HOUR = 86_400, 3_600
YEAR = 366  #: days after which every clock has been set back
EPOCH = datetime(1970, 1, 1)
LONGEST_SILENCE = 30 * DAY  #: without a submission, where that is half of the log too
MOST_FALLS = 3  #: times that an ordered log may fall back before it counts as not ordered
LEAST_ORDERED = 20  #: rows of a log that counts as ordered
MOST_TRIED = 100  #: seconds with too many GPUs in use that are looked at
ZONE = r"(UTC|Z|[+-]\d\d:?\d\d)$"  #: at the end of a time
AUTUMN = "unless the clock was set back by an hour, as no zone is named"
QUEUE = "overload"  #: the rule whose proof a real log can have
Checks = Mapping[str, Mapping[str, int | str]]


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
    checks : mapping of str to mapping of str to int or str
        By rule about GPUs and scope the number of jobs that it was asked of, or why of none:
        "width", whether a gang fits at all; "in use", whether more was in use at once than there
        is; "demand", whether more work was wanted than can be done.
    doubts : tuple of str
        What had to be assumed to read the log.
    """

    name: str
    jobs: int
    findings: tuple[Finding, ...]
    checks: Checks = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    @property
    def proved(self) -> tuple[Finding, ...]:
        """Findings that cannot be true."""
        return tuple(one for one in self.findings if one.sure == "proved")

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What could not be checked, in a line, and in another one which jobs do not count."""
        lacking = {
            (scope, cell): rule
            for rule, cells in reversed([*self.checks.items()])
            for scope, cell in cells.items()
            if isinstance(cell, str) and scope != "window"
        }
        named = [
            (scope if rule == "width" else f"{rule} of {scope}") + f" ({why})"
            for (scope, why), rule in lacking.items()
        ]
        said = [f"not checked: {', '.join(named)}"] * bool(named)
        gangs, used = (self.checks.get(rule, {}).get("cluster") for rule in ("width", "in use"))
        if isinstance(gangs, int) and isinstance(used, int) and used < gangs:
            text = f"GPUs in use: {gangs - used:,} of {counted(gangs, 'job')} do not count: "
            said.append(text + "their times are not known, or they were interrupted")
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "trace": self.name,
            "jobs": self.jobs,
            **({"doubts": list(self.doubts)} if self.doubts else {}),
            "findings": [{"sure": one.sure, **asdict(one)} for one in self.findings],
            "checks": {rule: dict(cells) for rule, cells in self.checks.items()},
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
        doubt = [in_doubt(self.doubts)] * bool(self.doubts)
        return "\n".join([head, *doubt, *map(str, self.findings), *self.unchecked])


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
        Seconds of all that there is by which the jobs have to fall behind before demand over
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
    the model that it must have, or than its user's quota; a pod wider than any node, or more pods
    than nodes have room for; more in use at a second than there is of any of these; a start before
    the submission; an end before the run time is over, or before the start; and a deadline that
    comes before the run time is over.

    Odd: demand over capacity, with a proof that even if each job had started when it was submitted,
    and run without a break, so much work of some time could not have been done in it that another
    `window` is needed for it (a long queue, or another cluster), of the cluster, a model, nodes for
    pods of a size, or a quota; a gang wider than a node that fills no whole nodes, or wider than
    any one model; jobs that are the same but for the id; users without a quota where others have
    one; a clock that falls back in a log that is otherwise in order; 30 days and half of the log
    without a submission; jobs whose end is exactly an hour from where start and run time put it.

    Time: O(n log n) for each scope.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Job
    >>> from gangsched.instances.traces import LogRow, ReadReport, Trace
    >>> jobs = [Job(id="a", gpus=4, work=60), Job(id="b", gpus=6, release=10, work=60)]
    >>> rows = [LogRow("line 2", 0, 5, 65), LogRow("line 3", 1, 20, 80)]
    >>> trace = Trace(name="log", jobs=jobs, rows=rows, report=ReadReport(read=2))
    >>> print(audit(trace, Cluster.of_sizes([8])))
    Audit of 'log': 2 jobs, 1 finding, 1 proved
    proved: more GPUs in use than there are: 10 of 8 at second 21, for 44 s in all [line 3, line 2]
    not checked: model (no job names one), node size (no job wants one), quota (none are given)
    """
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise ValueError(f"audit: window={window!r} is not a number of seconds above 0")
    if quotas is not None and not isinstance(quotas, Mapping):
        raise TypeError(f"audit: quotas={shortened(repr(quotas))} is no mapping of users to GPUs")
    for user, quota in (quotas or {}).items():
        if isinstance(quota, bool) or not isinstance(quota, int) or quota < 0:
            raise ValueError(f"audit: quotas[{user!r}]={quota!r} is not a number of GPUs")
    log = _Log(trace)
    groups = list(_groups(log, cluster, quotas))
    found = [*_backwards(log), *_times(log), *_widths(log, groups)]
    found += _of_groups(groups, partial(_in_use, log), "node size")
    found += _of_groups(groups, partial(_overload, log, window), "node size", "quota")
    found += [*_shapes(log, cluster), *_strangers(log, quotas), *_twins(log), *_clock(log)]
    for finding in found:
        verify_finding(finding.proof, trace, cluster, quotas)
    found.sort(key=lambda finding: finding.sure == "odd")
    return Audit(
        name=trace.name,
        jobs=len(trace.jobs),
        findings=tuple(found),
        checks=_checks(log, groups, cluster, quotas),
        doubts=trace.doubts,
    )


class _Run(NamedTuple):
    """Seconds at which a job surely ran, and for how long it may have paused between them."""

    start: int
    end: int
    pause: int


class _Log:
    """A trace by columns, and how its rows and times are named."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.jobs = trace, trace.jobs
        self.rows: Sequence[LogRow | None] = trace.rows or [None] * len(trace.jobs)
        self.work = [None if job.speeds else job.work for job in trace.jobs]
        names = ("submit", "start", "end", "duration", "deadline")
        self.step = {name: _whole(trace.steps.get(name, 1)) for name in names}
        self.slack = self.step["start"] + self.step["end"] + self.step["duration"]
        self.runs = [self._run(*one) for one in zip(self.work, self.rows, strict=True)]

    def _run(self, work: int | None, row: LogRow | None) -> _Run | None:
        """When a job surely held its GPUs."""
        if row is None or work is None:
            return None
        late, early, short = (self.step[name] for name in ("start", "end", "duration"))
        pause = 0
        if row.start is not None and row.end is not None:
            start, end = row.start + late, row.end - early
            over = row.end - row.start - work
            if over >= self.slack:
                return None
            pause = max(over + self.slack, 0) if self.slack > 3 else 0
        elif row.start is not None:
            start, end = row.start + late, row.start - late + work - short
        elif row.end is not None:
            start, end = row.end + early - work + short, row.end - early
        else:
            return None
        return _Run(start, end + 1, pause) if start <= end else None

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

    def each(
        self, kind: str, wrong: Mapping[int, str], proof: Mapping[str, Any] | None = None
    ) -> Iterator[Finding]:
        """Make a finding about jobs, with a text each; a proof if each breaks a rule by itself."""
        jobs = [*wrong]
        if proof is not None:
            proof = {**proof, "jobs": [self.id(j) for j in jobs]}
        for j in jobs[:1]:
            text = f"{counted(len(jobs), 'job')}, such as {self.id(j)!r}, {wrong[j]}"
            yield self.finding(kind, text, jobs, proof)

    def hour(self, *times: int, since: datetime | None = None) -> int:
        """By how many seconds a clock without a zone may have been set back between times."""
        origin = self.trace.origin
        if re.search(ZONE, origin or "Z") and (origin or self.jobs):
            return 0
        began = since or datetime.fromisoformat(str(origin))
        first, last = (began + timedelta(seconds=at(times)) for at in (min, max))
        days = range(first.toordinal(), last.toordinal() + 1)
        return HOUR * (len(days) > YEAR or any(map(_goes_back, days)))


def _whole(step: float) -> int:
    """Whole seconds that a value can be off: a reader rounds those of broken steps once more."""
    return math.ceil(step) + (step != int(step))


@cache
def _zones() -> tuple[ZoneInfo, ...]:
    return tuple(map(ZoneInfo, sorted(available_timezones())))


@cache
def _goes_back(day: int) -> bool:
    """Whether the clocks of some country go back on a day; so they may where none is known."""
    midnights = [datetime.fromordinal(day + k) for k in (0, 1)]
    for zone in _zones():
        before, after = (midnight.replace(tzinfo=zone).utcoffset() for midnight in midnights)
        if before is not None and after is not None and after < before:
            return True
    return not _zones()


# --- scopes --------------------------------------------------------------------------------------


class _Group(NamedTuple):
    """Jobs that share something, what each takes of it, and how much there is."""

    scope: str
    what: Mapping[str, Any]  # as proofs name it
    jobs: Sequence[int]
    need: Ints
    room: int
    wide: str  # kinds of findings, by rule
    crowded: str
    wanted: str
    unit: str = "GPUs"
    hours: str = "GPU hours"


def _groups(
    log: _Log, cluster: Cluster | None, quotas: Mapping[str, int] | None
) -> Iterator[_Group]:
    """All that is shared, by scope."""
    jobs = log.jobs
    gpus = np.array([job.gpus for job in jobs], dtype=np.int64)
    if cluster is not None:
        yield _Group(
            "cluster", {"of": "cluster"}, range(len(jobs)), gpus, cluster.gpus,
            "a gang wider than the cluster", "more GPUs in use than there are",
            "demand over capacity",
        )  # fmt: skip
        room = gpus_by_model(cluster)
        for model, own in _grouped(job.pin for job in jobs).items():
            yield _Group(
                "model", {"of": "model", "name": model}, own, gpus[own], room.get(model, 0),
                "a gang wider than the model it needs",
                f"more GPUs of {model!r} in use than there are",
                f"demand over capacity of {model!r}", f"GPUs of model {model!r}",
            )  # fmt: skip
        yield from _pods(jobs, cluster)
    for user, own in _grouped(job.user for job in jobs).items():
        if user in (quotas or {}):
            yield _Group(
                "quota", {"of": "user", "name": user}, own, gpus[own], (quotas or {})[user],
                "a gang wider than its user's quota", f"user {user!r} beyond the quota",
                f"demand of {user!r} over the quota", f"GPUs of the quota of {user!r}",
            )  # fmt: skip


def _pods(jobs: Sequence[Job], cluster: Cluster) -> Iterator[_Group]:
    """Pods of a size or more: a node of so many GPUs has room for so many of them."""
    mixed = len(gpus_by_model(cluster)) > 1
    pins = {job.pin for job in jobs if mixed and job.pod > 1 and job.pin}
    for model in ("", *sorted(pins)):
        sizes = [node.gpus for node in cluster.nodes if model in ("", node.model)]
        mine = [j for j, job in enumerate(jobs) if job.pod > 1 and model in ("", job.pin)]
        for pod in sorted({jobs[j].pod for j in mine}):
            own = [j for j in mine if jobs[j].pod >= pod]
            room = sum(size // pod for size in sizes)
            name = f"pods of {pod} GPUs or more" + f" of {model!r}" * bool(model)
            yield _Group(
                scope="node size",
                what={"of": "node size", "name": model, "pod": pod},
                jobs=own,
                need=np.array([jobs[j].gpus // jobs[j].pod for j in own], dtype=np.int64),
                room=room,
                wide="more pods than nodes have room for" if room else "a pod wider than any node",
                crowded=f"more {name} at once than nodes have room for",
                wanted=f"demand over capacity of nodes for {name}",
                unit=f"places of {pod} GPUs on one node",
                hours="pod hours",
            )


def _grouped(names: Iterable[str]) -> dict[str, list[int]]:
    """Jobs by a name, names sorted; the empty name is none."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for j, name in enumerate(names):
        if name:
            groups[name].append(j)
    return dict(sorted(groups.items()))


def _checks(
    log: _Log,
    groups: Sequence[_Group],
    cluster: Cluster | None,
    quotas: Mapping[str, int] | None,
) -> Checks:
    """By rule and scope, of how many jobs a rule was asked, or why of none."""
    given = "" if cluster is not None else "no cluster is given"
    reasons = {
        "cluster": given,
        "model": given or "no job names one",
        "node size": given or "no job wants one",
        "quota": "none are given" if quotas is None else "no user has one",
        "window": "nothing is compared",
    }
    asked = {
        scope: {j for group in groups if scope in (group.scope, "window") for j in group.jobs}
        for scope in reasons
    }
    found: dict[str, dict[str, int | str]] = {}
    for rule, known, lack in (
        ("width", log.jobs, ""),
        ("in use", log.runs, "nothing says when jobs ran"),
        ("demand", log.work, "no run time is the same on all GPUs"),
    ):
        found[rule] = {
            scope: sum(known[j] is not None for j in jobs) or (lack if jobs else reasons[scope])
            for scope, jobs in asked.items()
        }
    found["width"]["window"] = "a width has no time"
    return found


# --- rows and times ------------------------------------------------------------------------------

#: rules of single jobs, and what a job that breaks them is
TIMES = {
    "start": "a start before the submission",
    "end": "an end before the run time is over",
    "deadline": "a deadline before the run time is over",
}


def _backwards(log: _Log) -> Iterator[Finding]:
    """Rows that became no jobs, since they end before they start."""
    apart = log.step["start"] + log.step["end"]
    rows: dict[bool, list[str]] = {True: [], False: []}
    for place, start, end in log.trace.report.backwards:
        if start - end >= apart:
            rows[start - end >= apart + log.hour(end, start, since=EPOCH)].append(place)
    for sure, places in rows.items():
        if places:
            more = "" if sure else f", {AUTUMN}"
            yield Finding(
                kind="an end before the start",
                text=f"{counted(len(places), 'row')}, which became no jobs{more}",
                count=len(places),
                rows=tuple(places[:SHOWN]),
                proof={"rule": "backwards", "rows": places} if sure else None,
            )


def _times(log: _Log) -> Iterator[Finding]:
    """Starts before submissions, ends that do not go with run times, deadlines out of reach."""
    wrong: dict[tuple[str, bool], dict[int, str]] = {
        (rule, sure): {} for rule in TIMES for sure in (True, False)
    }
    step, shifted = log.step, {}

    def note(rule: str, j: int, gap: int, slack: int, *times: int) -> None:
        """Note a gap that cannot be below 0, if no true values explain that it is."""
        if gap <= -slack:
            wrong[rule, gap <= -slack - log.hour(*times)][j] = f"by {-gap:,} s"

    for j, (job, row, work) in enumerate(zip(log.jobs, log.rows, log.work, strict=True)):
        last = max((time for time, _ in job.deadlines()), default=None)
        if last is not None and work is not None:
            slack = step["submit"] + step["deadline"] + step["duration"]
            note("deadline", j, last - job.release - work, slack, job.release, last)
        if row is None or row.start is None:
            continue
        slack = step["submit"] + step["start"]
        note("start", j, row.start - job.release, slack, job.release, row.start)
        if row.end is not None and work is not None:
            over = row.end - row.start - work
            note("end", j, over, log.slack, row.start, row.end, row.start + work)
            if abs(abs(over) - HOUR) < min(log.slack, HOUR // 2) and j not in wrong["end", False]:
                shifted[j] = "by exactly an hour: a clock that was changed?"
    for (rule, sure), jobs in wrong.items():
        more = "" if sure else f", {AUTUMN}"
        told = {j: text + more for j, text in jobs.items()}
        yield from log.each(TIMES[rule], told, {"rule": rule} if sure else None)
    yield from log.each("start and end that do not go with the run time", shifted)


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


def _widths(log: _Log, groups: Iterable[_Group]) -> Iterator[Finding]:
    """Gangs that no schedule can place, each in the widest scope for which it is too wide."""
    placed: set[int] = set()
    for group in groups:
        wide = {
            j: f"{need:,} of {group.room:,} {group.unit}"
            for j, need in zip(group.jobs, group.need.tolist(), strict=True)
            if need > group.room and (j not in placed or group.scope == "quota")
        }
        placed |= wide.keys()
        yield from log.each(group.wide, wide, {"rule": "width", **group.what})


def _shapes(log: _Log, cluster: Cluster | None) -> Iterator[Finding]:
    """Gangs that can only be placed in a way that is odd."""
    if cluster is None:
        return
    most, sizes = max(gpus_by_model(cluster).values()), {node.gpus for node in cluster.nodes}
    each = " or ".join(map(str, sorted(sizes)))
    mixed, partial = {}, {}
    for j, job in enumerate(log.jobs):
        if job.gpus > cluster.gpus or job.pod:
            continue
        if job.gpus > most and not job.pin:
            mixed[j] = f"{job.gpus} GPUs, at most {most} are of one model"
        elif all(job.gpus > size and job.gpus % size for size in sizes):
            partial[j] = f"{job.gpus} GPUs on nodes of {each}"
    yield from log.each("a gang wider than any one model", mixed)
    yield from log.each("a gang wider than a node that fills no whole nodes", partial)


def _strangers(log: _Log, quotas: Mapping[str, int] | None) -> Iterator[Finding]:
    """Jobs of users without a quota, where there are quotas."""
    unknown = {
        j: f"of {job.user!r}"
        for j, job in enumerate(log.jobs)
        if quotas is not None and job.user not in quotas
    }
    yield from log.each("a job of a user without a quota", unknown)


def _of_groups(
    groups: Sequence[_Group], rule: Callable[[_Group], Iterator[Finding]], *narrow: str
) -> Iterator[Finding]:
    """Ask a rule of each group; of those of narrow scopes where no wider one has a finding."""
    whole = {group.room for group in groups if group.scope == "cluster"}
    said = False
    for group in groups:
        same = group.scope == "model" and group.room in whole
        if not (same or (said and group.scope in narrow)):
            for finding in rule(group):
                said = said or group.scope != "quota"
                yield finding


def _in_use(log: _Log, group: _Group) -> Iterator[Finding]:
    """A second at which jobs surely hold more than there is, or do but for an hour."""
    runs = [
        (j, *run, need)
        for j, need in zip(group.jobs, group.need.tolist(), strict=True)
        if need <= group.room and (run := log.runs[j]) is not None
    ]
    found = _crowded(log, group, np.array(runs, dtype=np.int64))
    if found is None:
        return
    hours = np.array([log.hour(start, end) for _, start, end, *_ in runs])
    sure = _crowded(log, group, np.array(runs, dtype=np.int64)[hours == 0])
    if sure is None and hours.any():  # those on either side of it may be an hour apart
        shorter = [(j, start, end - HOUR, *rest) for j, start, end, *rest in runs]
        left = [run for run in shorter if run[1] < run[2]]
        sure = _crowded(log, group, np.array(left, dtype=np.int64))
    yield sure or replace(found, text=f"{found.text}, {AUTUMN}", proof=None)


def _crowded(log: _Log, group: _Group, runs: Ints) -> Finding | None:
    """Make a finding of the second at which jobs hold most, if that is too much."""
    number, start, end, pause, need = runs.reshape(-1, 5).T
    time, used = levels(start, end, need)
    order = np.argsort(-used, kind="stable")
    for peak in order[used[order] > group.room][:MOST_TRIED].tolist():
        second = int(time[peak])
        there = np.flatnonzero((start <= second) & (end > second))
        there = there[np.argsort(-need[there], kind="stable")]
        few = there[: int(np.searchsorted(np.cumsum(need[there]), group.room, "right")) + 1]
        if pause[few].sum() < end[few].min() - start[few].max():
            long = int(np.diff(time, append=time[-1])[used > group.room].sum())
            proof = {
                "rule": "in use", **group.what, "second": second,
                "jobs": [log.id(j) for j in number[few].tolist()],
            }  # fmt: skip
            text = f"{used[peak]:,} of {group.room:,} at {log.at(second)}, "
            text += f"for {_long(long)} in all"
            return log.finding(group.crowded, text, number[there].tolist(), proof)
    return None


def _overload(log: _Log, window: int, group: _Group) -> Iterator[Finding]:
    """A time in which more work was wanted than can be done.

    U(t) GPUs would be in use if every job began when it was submitted. Nothing can be done sooner,
    and at most C(t - a) from a on: so from a to t at least the integral of U - C is left undone.
    """
    wanted = [
        (j, log.jobs[j].release, max(run - log.step["duration"], 0), need)
        for j, need in zip(group.jobs, group.need.tolist(), strict=True)
        if need <= group.room and (run := log.work[j]) is not None
    ]
    number, release, work, need = np.array(wanted, dtype=np.int64).reshape(-1, 4).T
    time, level = levels(release, release + work, need)
    steps = ((level[:-1] - group.room) * np.diff(time)).tolist()
    behind = most = since = first = last = 0
    for step, begin, end in zip(steps, time[:-1].tolist(), time[1:].tolist(), strict=True):
        if behind == 0:
            since = begin
        behind = max(behind + step, 0)
        if behind > most:
            most, first, last = behind, since, end
    begins = release - log.step["submit"], release + log.step["submit"]
    ends = [np.minimum(begin + work, last) - np.maximum(begin, first) for begin in begins]
    inside = need * np.maximum(np.minimum(*ends), 0)
    total, room = int(inside.sum()), group.room * (last - first)
    if total - room <= group.room * window:
        return
    jobs = number[np.argsort(-inside, kind="stable")][: int((inside > 0).sum())].tolist()
    proof = {"rule": QUEUE, **group.what, "from": first, "to": last, "behind": total - room}
    text = (
        f"from {log.at(first)} to {log.at(last)}, {total / HOUR:,.0f} {group.hours} are wanted of "
        f"{room / HOUR:,.0f}, {total / room:,.2f} times what there is: "
        f"{_long((total - room) // group.room)} more would be needed"
    )
    yield log.finding(group.wanted, text, jobs, proof)


def _long(seconds: int) -> str:
    """A length of time."""
    for unit, name in ((DAY, "days"), (HOUR, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:,} s"
