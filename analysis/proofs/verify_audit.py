"""Verify what an audit says that it has proved, from the log and the description of its cluster.

Every rule is checked by the definition, with sums over the jobs that the proof names; nothing is
shared with :mod:`gangsched.analysis.audit`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...instances.display import shortened
from ...verify.fields import check_digits
from .verify import InvalidCertificate

if TYPE_CHECKING:
    from ...instances.model import Cluster, Job
    from ...instances.traces import LogRow, Trace

__all__ = ["verify_finding"]

SLACK = 2  # seconds that rounding may take from an end


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
    >>> verify_finding({"rule": "cluster", "jobs": ["a"]}, trace, Cluster.of_sizes([8]))
    >>> verify_finding({"rule": "cluster", "jobs": ["a"]}, trace, Cluster.of_sizes([9]))
    Traceback (most recent call last):
        ...
    gangsched.analysis.proofs.verify.InvalidCertificate: audit: job 'a' does not break 'cluster'
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

    def gpus(self, *models: str) -> int:
        """GPUs of some models, of all if none is named; 0 without a cluster."""
        nodes = () if self.cluster is None else self.cluster.nodes
        return sum(node.gpus for node in nodes if not models or node.model in models)

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
    if rule == "skipped":
        _verify_skipped(proof, said.trace)
    elif rule == "in use":
        _verify_in_use(proof, said)
    elif rule == "overload":
        _verify_overload(proof, said)
    else:
        for job, row in said.named(proof):
            if not _breaks(rule, job, row, said):
                raise InvalidCertificate(f"audit: job {job.id!r} does not break {rule!r}")


def _whole(proof: Mapping[str, Any], name: str) -> int:
    """A whole number of the proof."""
    value = proof[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidCertificate(f"audit: {name}={value!r} is not a whole number")
    return value


def _verify_skipped(proof: Mapping[str, Any], trace: Trace) -> None:
    """So many rows became no jobs as they end before they start."""
    reason, count = proof["reason"], _whole(proof, "count")
    if not re.search(r"\bend before (the )?start\b", reason):
        raise InvalidCertificate(f"audit: {reason!r} says nothing of an end before a start")
    if trace.report.skipped.get(reason) != count:
        raise InvalidCertificate(f"audit: not {count} rows have {reason!r}")


def _work(job: Job) -> int | None:
    """The run time, where it is the same on all GPUs."""
    return None if job.speeds else job.work


def _breaks(rule: str, job: Job, row: LogRow | None, said: _Said) -> bool:
    """Whether a job breaks a rule by itself."""
    work = _work(job)
    if rule == "cluster":
        return said.cluster is not None and job.gpus > said.gpus()
    if rule == "model":
        return said.cluster is not None and job.pin != "" and job.gpus > said.gpus(job.pin)
    if rule == "quota":
        quotas = said.quotas or {}
        return job.user in quotas and job.gpus > quotas[job.user]
    if rule == "deadline":
        times = [time for time, _ in job.deadlines()]
        return bool(times) and work is not None and max(times) - job.release < work
    if row is None or row.start is None:
        return False
    if rule == "start":
        return row.start < job.release
    if rule == "end":
        return row.end is not None and row.end - row.start + SLACK < (work or 0)
    raise InvalidCertificate(f"audit: rule {rule!r} is not known")


def _verify_in_use(proof: Mapping[str, Any], said: _Said) -> None:
    """The jobs that are named all ran at the second, and need more GPUs than there are."""
    of, name, second = proof["of"], proof.get("name"), _whole(proof, "second")
    most: int | None = None
    if of == "user" and said.quotas is not None:
        most = said.quotas.get(str(name))
    elif of in ("cluster", "model") and said.cluster is not None:
        most = said.gpus() if of == "cluster" else said.gpus(str(name))
    held = 0
    for job, row in said.named(proof):
        mine = {"cluster": True, "model": job.pin == name, "user": job.user == name}.get(of, False)
        if not (mine and _ran_at(second, _work(job), row)):
            raise InvalidCertificate(f"audit: job {job.id!r} need not count at second {second}")
        held += job.gpus
    if most is None or held <= most:
        raise InvalidCertificate(f"audit: {held} GPUs at second {second} are not above {most}")


def _ran_at(second: int, work: int | None, row: LogRow | None) -> bool:
    """Whether a job surely held its GPUs in a second, however fractions were rounded."""
    if row is None or work is None:
        return False
    if row.start is not None and row.end is not None:
        whole = row.end - row.start <= work + SLACK
        return whole and row.start <= second < row.end
    if row.start is not None:
        return row.start <= second < row.start + work - 1
    return row.end is not None and row.end - work + SLACK <= second < row.end


def _verify_overload(proof: Mapping[str, Any], said: _Said) -> None:
    """Between two seconds more is wanted than all GPUs can do, by so many GPU seconds."""
    first, last, behind = (_whole(proof, name) for name in ("from", "to", "behind"))
    wanted = 0
    for job in said.trace.jobs:
        end = job.release + (_work(job) or 0)
        wanted += job.gpus * max(0, min(end, last) - max(job.release, first))
    missing = wanted - said.gpus() * (last - first)
    if said.cluster is None or first >= last or missing < max(behind, 1):
        raise InvalidCertificate(f"audit: from {first} to {last} the GPUs suffice")
