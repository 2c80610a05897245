"""Verify what an audit says that it has proved, from the log and the description of its cluster.

Every rule is checked by the definition, with sums over the jobs that the proof names; nothing is
shared with :mod:`gangsched.analysis.audit`. True values lie less than a step from what the log
says, on either side. On a clock without a zone, two times on either side of a midnight between
which some country's clocks go back may be an hour further apart than they seem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

from ...instances.display import shortened
from ...verify.fields import check_digits
from .verify import InvalidCertificate

if TYPE_CHECKING:
    from ...instances.model import Cluster, Job
    from ...instances.traces import LogRow, Trace

__all__ = ["verify_finding"]

AN_HOUR = 60 * 60
LONG_AGO = datetime(1970, 1, 1)
EXACT = 3  # seconds of steps in which no pause hides


def verify_finding(
    proof: Mapping[str, Any] | None,
    trace: Trace,
    cluster: Cluster | None = None,
    quotas: Mapping[str, int] | None = None,
) -> None:
    """Check the proof of a finding; one without a proof claims nothing.

    Parameters
    ----------
    proof : mapping or None
        Of a :class:`~gangsched.analysis.audit.Finding`.
    trace : Trace
    cluster : Cluster, optional
    quotas : mapping of str to int, optional

    Raises
    ------
    InvalidCertificate
        If the jobs that it names do not break its rule, or if it is no such proof.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Job
    >>> from gangsched.instances.traces import ReadReport, Trace
    >>> trace = Trace(name="t", jobs=[Job(id="a", gpus=9, work=5)], report=ReadReport(read=1))
    >>> proof = {"rule": "width", "of": "cluster", "jobs": ["a"]}
    >>> verify_finding(proof, trace, Cluster.of_sizes([8]))
    >>> verify_finding(proof, trace, Cluster.of_sizes([9]))
    Traceback (most recent call last):
        ...
    gangsched.analysis.proofs.verify.InvalidCertificate: audit: job 'a' does not break 'width'
    """
    if proof is None:
        return
    try:
        check_digits("proof", proof)
        _verify(proof, _Said(trace, cluster, quotas))
    except InvalidCertificate:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidCertificate(f"audit: it is no proof: {shortened(repr(error))}") from error


@dataclass(frozen=True)
class _Said:
    """The log, and what is said of its cluster."""

    trace: Trace
    cluster: Cluster | None
    quotas: Mapping[str, int] | None

    def step(self, name: str) -> int:
        """Seconds that a value is less off than, of whole ones; broken ones are rounded again."""
        step = Fraction(self.trace.steps.get(name, 1))
        return int(step) if step.denominator == 1 else int(step) + 2

    def hour(self, *seconds: int, since: datetime | None = None) -> int:
        """What a clock may have been set back by, between the first and the last of some times."""
        origin = self.trace.origin or ("" if self.trace.jobs else str(LONG_AGO))
        if not origin or origin.endswith("UTC") or datetime.fromisoformat(origin).tzinfo:
            return 0
        begin = since or datetime.fromisoformat(origin)
        day, last = (begin + timedelta(seconds=pick(seconds)) for pick in (min, max))
        for _ in range(400):
            if _goes_back_on(day.toordinal()):
                return AN_HOUR
            if day.date() >= last.date():
                return 0
            day += timedelta(days=1)
        return AN_HOUR

    def room(self, proof: Mapping[str, Any]) -> int | None:
        """How much there is of what a proof is about; None where nobody has said it."""
        of, name, pod = proof["of"], str(proof.get("name", "")), 1
        if of == "user":
            return None if self.quotas is None else self.quotas.get(name)
        if self.cluster is None or of not in ("cluster", "model", "node size"):
            return None
        if of == "node size" and (pod := _whole(proof, "pod")) < 1:
            return None
        nodes = [node for node in self.cluster.nodes if of == "cluster" or name in ("", node.model)]
        return sum(node.gpus // pod for node in nodes)

    def need(self, proof: Mapping[str, Any], job: Job) -> int:
        """How much of it a job takes, 0 if it is not about the job."""
        of, name = proof["of"], proof.get("name", "")
        if of == "node size":
            counts = job.pod >= _whole(proof, "pod") > 0 and name in ("", job.pin)
            return job.gpus // job.pod if counts else 0
        mine = {"cluster": True, "model": job.pin == name != "", "user": job.user == name}
        return job.gpus if mine[of] else 0

    def named(self, proof: Mapping[str, Any]) -> list[tuple[Job, LogRow | None]]:
        """Return the jobs that a proof names, each once, with their rows."""
        ids, jobs = proof["jobs"], self.trace.jobs
        rows: Sequence[LogRow | None] = self.trace.rows or [None] * len(jobs)
        known = {job.id: (job, row) for job, row in zip(jobs, rows, strict=True)}
        if not isinstance(ids, (list, tuple)) or not ids or len(set(ids)) < len(ids):
            raise InvalidCertificate(f"audit: jobs={ids!r} are no jobs, each once")
        return [known[id] for id in ids]


def _verify(proof: Mapping[str, Any], said: _Said) -> None:
    rule = proof["rule"]
    if rule == "backwards":
        _verify_backwards(proof, said)
    elif rule == "in use":
        _verify_in_use(proof, said)
    elif rule == "overload":
        _verify_overload(proof, said)
    else:
        for job, row in said.named(proof):
            if not _breaks(proof, job, row, said):
                raise InvalidCertificate(f"audit: job {job.id!r} does not break {rule!r}")


@cache
def _goes_back_on(day: int) -> bool:
    """Whether it is later after than before a day somewhere, counted from midnights in UTC."""
    zones = [ZoneInfo(name) for name in available_timezones()]
    for zone in zones:
        night, next_night = (
            datetime.fromordinal(day + k).replace(tzinfo=zone).timestamp() for k in (0, 1)
        )
        if next_night - night > 24 * AN_HOUR:
            return True
    return not zones


def _whole(proof: Mapping[str, Any], name: str) -> int:
    """A whole number of the proof."""
    value = proof[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidCertificate(f"audit: {name}={value!r} is not a whole number")
    return value


def _verify_backwards(proof: Mapping[str, Any], said: _Said) -> None:
    """These rows became no jobs, and no true times that are written so are in order."""
    ran = {place: (start, end) for place, start, end in said.trace.report.backwards}
    rows = proof["rows"]
    if not isinstance(rows, (list, tuple)) or not rows or len(set(rows)) < len(rows):
        raise InvalidCertificate(f"audit: rows={rows!r} are no rows, each once")
    for place in rows:
        start, end = ran[place]
        least = said.step("start") + said.step("end") + said.hour(start, end, since=LONG_AGO)
        if end > start - least:
            raise InvalidCertificate(f"audit: {place} may end after it starts")


def _work(job: Job) -> int | None:
    """The run time, where it is the same on all GPUs."""
    return None if job.speeds else job.work


def _breaks(proof: Mapping[str, Any], job: Job, row: LogRow | None, said: _Said) -> bool:
    """Whether a job breaks a rule by itself."""
    rule, work, step = proof["rule"], _work(job), said.step
    if rule == "width":
        room = said.room(proof)
        return room is not None and said.need(proof, job) > room
    if rule == "deadline":
        dues = [time for time, _ in job.deadlines()]
        if work is None or not dues:
            return False
        most = max(dues) + step("deadline") - job.release + step("submit")
        return most + said.hour(job.release, max(dues)) <= work - step("duration")
    if row is None or row.start is None:
        return False
    if rule == "start":
        latest = row.start + step("start") + said.hour(job.release, row.start)
        return latest <= job.release - step("submit")
    if rule == "end":
        if row.end is None or work is None:
            return False
        most = row.end + step("end") - row.start + step("start")
        hour = said.hour(row.start, row.end, row.start + work)
        return most + hour <= work - step("duration")
    raise InvalidCertificate(f"audit: rule {rule!r} is not known")


def _verify_in_use(proof: Mapping[str, Any], said: _Said) -> None:
    """The jobs that are named surely ran at once, for longer than all of them may have paused."""
    room, second, held, paused = said.room(proof), _whole(proof, "second"), 0, 0
    runs = [(job, _ran(_work(job), row, said)) for job, row in said.named(proof)]
    hour = max((said.hour(ran[0], ran[1] + 1) for _, ran in runs if ran is not None), default=0)
    begins, ends = [], []
    for job, ran in runs:
        need = said.need(proof, job)
        if need < 1 or ran is None or not ran[0] <= second <= ran[1] - hour:
            raise InvalidCertificate(f"audit: job {job.id!r} need not count at second {second}")
        begins.append(ran[0])
        ends.append(ran[1] - hour)
        held, paused = held + need, paused + ran[2]
    if room is None or held <= room:
        raise InvalidCertificate(f"audit: {held} at second {second} are not above {room}")
    if paused > min(ends) - max(begins):
        raise InvalidCertificate(f"audit: {paused} s of pauses may hide at second {second}")


def _ran(work: int | None, row: LogRow | None, said: _Said) -> tuple[int, int, int] | None:
    """Return the first and last second that a job surely ran, and how long it may have paused."""
    if row is None or work is None or (row.start is None and row.end is None):
        return None
    starts, ends, works = (said.step(name) for name in ("start", "end", "duration"))
    pause = 0
    if row.start is not None and row.end is not None:
        most = row.end + ends - (row.start - starts) - (work - works)
        pause = most if starts + ends + works > EXACT else 0
        if most >= 2 * (starts + ends + works):
            return None
        first, last = row.start + starts, row.end - ends
    elif row.start is not None:
        first, last = row.start + starts, row.start - starts + (work - works)
    else:
        end = row.end or 0
        first, last = end + ends - (work - works), end - ends
    return first, last, max(pause, 0)


def _verify_overload(proof: Mapping[str, Any], said: _Said) -> None:
    """Between two seconds more is wanted than all that there is can do, by so many seconds."""
    first, last, behind = (_whole(proof, name) for name in ("from", "to", "behind"))
    room, wanted = said.room(proof), 0
    for job in said.trace.jobs:
        need, work = said.need(proof, job), _work(job)
        if room is None or need > room or work is None:
            continue
        shifts = (-said.step("submit"), said.step("submit"))
        begins = [job.release + shift for shift in shifts]
        ends = [begin + max(work - said.step("duration"), 0) for begin in begins]
        spans = zip(begins, ends, strict=True)
        wanted += need * min(max(0, min(b, last) - max(a, first)) for a, b in spans)
    if room is None or first >= last or wanted - room * (last - first) < max(behind, 1):
        raise InvalidCertificate(f"audit: from {first} to {last} what there is suffices")
