"""Verify what an audit says that it has proved, from the log and the description of its cluster.

Every rule is checked by the definition, with sums over the jobs that the proof names; nothing is
shared with :mod:`gangsched.analysis.audit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
        _verify(proof, trace, cluster, quotas)
    except (KeyError, TypeError) as error:
        raise InvalidCertificate(f"audit: {proof!r} is no proof: {error!r}") from error


def _verify(
    proof: Mapping[str, Any],
    trace: Trace,
    cluster: Cluster | None,
    quotas: Mapping[str, int] | None,
) -> None:
    rule = proof["rule"]
    if rule == "skipped":
        if trace.report.skipped.get(proof["reason"]) != proof["count"]:
            raise InvalidCertificate(f"audit: not {proof['count']} rows have {proof['reason']!r}")
    elif rule == "in use":
        _verify_in_use(proof, trace, cluster, quotas)
    elif rule == "overload":
        _verify_overload(proof, trace, cluster)
    else:
        _verify_each(proof, trace, cluster, quotas)


def _whole(proof: Mapping[str, Any], name: str) -> int:
    """A whole number of the proof."""
    value = proof[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidCertificate(f"audit: {name}={value!r} is not a whole number")
    return value


def _known(trace: Trace) -> dict[str, tuple[Job, LogRow | None]]:
    """Jobs and their rows by id."""
    rows: list[LogRow | None] = [*trace.rows] or [None] * len(trace.jobs)
    return {job.id: (job, row) for job, row in zip(trace.jobs, rows, strict=True)}


def _named(proof: Mapping[str, Any], trace: Trace) -> list[tuple[Job, LogRow | None]]:
    """The jobs that a proof names, each once."""
    known, ids = _known(trace), list(proof.get("jobs", ()))
    if not ids or len(set(ids)) < len(ids) or not set(ids) <= set(known):
        raise InvalidCertificate(f"audit: jobs {ids!r} are not some of the log, each once")
    return [known[id] for id in ids]


def _verify_each(
    proof: Mapping[str, Any],
    trace: Trace,
    cluster: Cluster | None,
    quotas: Mapping[str, int] | None,
) -> None:
    """Every job that is named breaks the rule by itself."""
    rule = proof["rule"]
    for job, row in _named(proof, trace):
        if not _breaks(rule, job, row, cluster, quotas):
            raise InvalidCertificate(f"audit: job {job.id!r} does not break {rule!r}")


def _breaks(
    rule: str,
    job: Job,
    row: LogRow | None,
    cluster: Cluster | None,
    quotas: Mapping[str, int] | None,
) -> bool:
    if rule == "cluster":
        return cluster is not None and job.gpus > sum(node.gpus for node in cluster.nodes)
    if rule == "model":
        own = 0 if cluster is None else _gpus_of(cluster, job.pin)
        return cluster is not None and job.pin != "" and job.gpus > own
    if rule == "quota":
        return quotas is not None and job.user in quotas and job.gpus > quotas[job.user]
    if rule == "deadline":
        times = [time for time, _ in job.deadlines()]
        return bool(times) and job.work is not None and max(times) - job.release < job.work
    if row is None or row.start is None:
        return False
    if rule == "start":
        return row.start < job.release
    if rule == "end":
        return row.end is not None and row.end - row.start + SLACK < (job.work or 0)
    raise InvalidCertificate(f"audit: rule {rule!r} is not known")


def _gpus_of(cluster: Cluster, model: str) -> int:
    return sum(node.gpus for node in cluster.nodes if node.model == model)


def _verify_in_use(
    proof: Mapping[str, Any],
    trace: Trace,
    cluster: Cluster | None,
    quotas: Mapping[str, int] | None,
) -> None:
    """The jobs that are named all ran at the second, and need more GPUs than there are."""
    of, name, second = proof["of"], proof.get("name"), _whole(proof, "second")
    most: int | None = None
    if of == "user" and quotas is not None:
        most = quotas.get(str(name))
    elif of in ("cluster", "model") and cluster is not None:
        models = [node.model for node in cluster.nodes] if of == "cluster" else [str(name)]
        most = sum(_gpus_of(cluster, model) for model in set(models))
    held = 0
    for job, row in _named(proof, trace):
        mine = {"cluster": True, "model": job.pin == name, "user": job.user == name}.get(of, False)
        if not (mine and _ran_at(second, job, row)):
            raise InvalidCertificate(f"audit: job {job.id!r} need not count at second {second}")
        held += job.gpus
    if most is None or held <= most:
        raise InvalidCertificate(f"audit: {held} GPUs at second {second} are not above {most}")


def _ran_at(second: int, job: Job, row: LogRow | None) -> bool:
    """Whether a job surely held its GPUs in a second, however fractions were rounded."""
    if row is None or job.work is None:
        return False
    if row.start is not None and row.end is not None:
        whole = row.end - row.start <= job.work + SLACK
        return whole and row.start <= second < row.end
    if row.start is not None:
        return row.start <= second < row.start + job.work - 1
    return row.end is not None and row.end - job.work + SLACK <= second < row.end


def _verify_overload(proof: Mapping[str, Any], trace: Trace, cluster: Cluster | None) -> None:
    """Between two seconds more is wanted than all GPUs can do, by so many GPU seconds."""
    first, last, behind = (_whole(proof, name) for name in ("from", "to", "behind"))
    wanted = 0
    for job in trace.jobs:
        end = job.release + (job.work or 0)
        wanted += job.gpus * max(0, min(end, last) - max(job.release, first))
    gpus = None if cluster is None else sum(node.gpus for node in cluster.nodes)
    if gpus is None or first >= last or wanted - gpus * (last - first) < max(behind, 1):
        raise InvalidCertificate(f"audit: from {first} to {last} the GPUs suffice")
