"""Jobs of Kubernetes, as ``kubectl get ... -o json`` prints them.

Pods, batch/v1 Jobs, Jobs of Volcano, Workloads of Kueue and jobs of Kubeflow (PyTorchJob, MPIJob
and the like): whatever has templates of pods, and says when it began and ended. Kubernetes
documentation, https://kubernetes.io/docs/reference/kubernetes-api; Kueue documentation, "Workload",
https://kueue.sigs.k8s.io/docs/concepts/workload; Volcano documentation, "VolcanoJob",
https://volcano.sh/en/docs/vcjob.

- GPUs: those that the containers of a pod ask for (limits, else requests), times the pods. A slice
  or a share of one is skipped and counted.
- Submission: ``creationTimestamp``.
- A pod has its GPUs from ``startTime`` until its last container ended.
- A Workload runs from Admitted to Finished. A Job runs from ``startTime`` (of Volcano, from the
  condition Running) to ``completionTime`` or to the condition that says how it ended.
- Users: a label such as ``user`` or ``owner``, else the queue, else the namespace: the first that
  the log has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .objects import Record, Row, at, entries, fields, found, row_of, text_of
from .trace import Reading

#: resources that are whole GPUs, and that are parts of one
GPU = re.compile(r"[\w.]+/(gpu|i915|xe|gaudi|tpu)")
PART = re.compile(r"[\w.]+/(mig-.*|v?gpu.+|vcuda.*)")
#: labels of nodes that name the model of their GPUs
MODEL = re.compile(r"gpu[.-](product|model|type)|accelerator")
COUNT = re.compile(r"\d{1,9}(\.\d+)?(m?)", re.ASCII)
#: ends of the names of labels that say whose it is, and in which queue it waits
USERS = ("user", "username", "owner", "submitter", "creator")
QUEUES = ("queue-name", "queue")
#: kinds with templates of pods that are to run for ever
SERVICES = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")
#: conditions of a job that runs, and of one that has ended
BEGAN = ("Admitted", "Running")
ENDED = (
    "Finished", "Complete", "Completed", "Succeeded", "Failed", "Terminated", "Aborted",
)  # fmt: skip
ROLES = {
    "id": "name", "submit": "creationTimestamp", "start": "start", "end": "end", "gpus": "gpus",
    "state": "state", "limit": "limit_s", "pod": "gpus_of_a_pod",
}  # fmt: skip


def list_of(data: Record) -> str:
    """Return the kind of which an object of kubectl is or lists some; empty for other objects."""
    kind = data.get("kind")
    known = isinstance(kind, str) and kind[:1].isupper() and {"items", "metadata"} & set(data)
    return str(kind) if known else ""


def kubernetes_roles(
    reading: Reading, kind: str, items: Sequence[Record]
) -> tuple[str, dict[str, str]]:
    """Return the kind of all objects, and which column of their rows has which role."""
    kinds = Counter(text_of(item.get("kind", kind.removesuffix("List"))) for item in items)
    name = ", ".join(kinds)
    if len(kinds) > 1:
        raise ValueError(
            f"{reading.path}: JSON of kubectl, of kinds {name}: one at a time, as one may be made "
            "of the others"
        )
    if name in SERVICES or not any(map(_pods, items)):
        raise ValueError(
            f"{reading.path}: JSON of kubectl, but of kind {name}: pods, jobs or workloads are read"
        )
    owners = {"user": _user, "queue": _queue}
    user = next((column for column, of in owners.items() if any(map(of, items))), "namespace")
    return name, {**ROLES, "user": user}


def kubernetes_doubts(kind: str, items: Sequence[Record]) -> list[str]:
    """Return what has to be assumed of objects of a kind."""
    if kind == "Pod":
        owners = Counter(text_of(_owner(item)) for item in items)
        many = sum(count for owner, count in owners.items() if owner and count > 1)
        text = "pods are of jobs with several pods, and each counts as a job: export the jobs"
        return [f"{many:,} {text}"] if many else []
    if any(at(item, "status", "startTime") for item in items):
        return ["a wait of pods after the startTime of their job counts as run time"]
    return []


def _owner(item: Record) -> Any:
    owners = entries(at(item, "metadata", "ownerReferences"))
    return found(*(at(owner, "uid") for owner in owners))


def kubernetes_row(item: Record) -> Row:
    """Return the row of an object, or why it is no job."""
    pods = [(_number(count), *_gpus(spec)) for count, spec in _pods(item)]
    if any(part for _, _, part in pods):
        return "a part of a GPU"
    gpus = sum(count * own for count, own, _ in pods)
    if not gpus:
        return "no GPUs"
    start, end, state = _began(item), *_ended(item)
    if not start:
        return "never started"
    if not end:
        return "unknown end" if state in ENDED else "still running"
    sizes = {own for count, own, _ in pods if count and own}
    row = row_of("kubernetes", item)
    return row | {
        "name": f"{row['namespace']}/{row['name']}".strip("/"),
        "user": _user(item),
        "queue": _queue(item),
        "start": start,
        "end": end,
        "state": state,
        "gpus": f"{gpus:g}",
        "gpus_of_a_pod": f"{sizes.pop():g}" if len(sizes) == 1 else "",
        "gpu_model": text_of(found(*(_model(spec) for _, spec in _pods(item)))),
    }


# --- pods and their GPUs -------------------------------------------------------------------------


def _pods(item: Record) -> list[tuple[Any, Any]]:
    """How many pods an object has of each specification; empty for a kind that has none."""
    spec = item.get("spec")
    if isinstance(at(spec, "containers"), list):
        return [(1, spec)]
    if isinstance(at(spec, "template", "spec", "containers"), list):
        return [(at(spec, "parallelism"), at(spec, "template", "spec"))]
    sets = entries(found(at(spec, "podSets"), at(spec, "tasks"))) or _replicas(spec)
    counted = entries(at(item, "status", "admission", "podSetAssignments"))
    admitted = {text_of(at(one, "name")): at(one, "count") for one in counted}
    return [
        (
            found(admitted.get(text_of(at(one, "name"))), at(one, "count"), at(one, "replicas")),
            at(one, "template", "spec"),
        )
        for one in sets
        if isinstance(at(one, "template", "spec"), dict)
    ]


def _replicas(spec: Any) -> list[Any]:
    """What Kubeflow has under pytorchReplicaSpecs, mpiReplicaSpecs and so on."""
    named = (value for name, value in fields(spec).items() if name.endswith("ReplicaSpecs"))
    return [one for value in named for one in fields(value).values()]


def _gpus(spec: Any) -> tuple[float, bool]:
    """GPUs of a pod, and whether it has a part of one."""
    first, then = (
        [_wanted(one) for one in entries(at(spec, group))]
        for group in ("initContainers", "containers")
    )
    part = any(PART.fullmatch(name) and n for one in (*first, *then) for name, n in one.items())
    counts = (
        [sum(n for name, n in one.items() if GPU.fullmatch(name)) for one in group]
        for group in (first, then)
    )
    before, during = counts
    return max(sum(during), max(before, default=0)), part


def _model(spec: Any) -> Any:
    """The GPU model that a pod has to have."""
    wanted = fields(at(spec, "nodeSelector"))
    return found(*(value for name, value in wanted.items() if MODEL.search(name)))


def _wanted(container: Any) -> dict[str, float]:
    """The GPUs and parts of GPUs that a container asks for."""
    own: dict[str, Any] = {}
    for place in ("requests", "limits"):
        own |= fields(at(container, "resources", place))
    return {
        name: _count(name, value)
        for name, value in own.items()
        if GPU.fullmatch(name) or PART.fullmatch(name)
    }


def _count(name: str, value: Any) -> float:
    text = text_of(value)
    if not (found := COUNT.fullmatch(text)):
        raise ValueError(f"{name}={text!r} is not a number of GPUs")
    return float(text.removesuffix("m")) / (1000 if found[2] else 1)


def _number(value: Any) -> int:
    """How many pods there are, one where that is not said."""
    if value is None:
        return 1
    if type(value) is not int or not 0 <= value < 10**9:
        raise ValueError(f"{text_of(value)!r} is not a number of pods")
    return value


# --- times, users --------------------------------------------------------------------------------


def _conditions(item: Record) -> dict[str, str]:
    """When the conditions that hold began to; Volcano has them without a type."""
    return {
        text_of(found(at(one, "type"), at(one, "status"))): text_of(at(one, "lastTransitionTime"))
        for one in entries(at(item, "status", "conditions"))
        if at(one, "type") is None or text_of(at(one, "status")) == "True"
    }


def _began(item: Record) -> str:
    held = _conditions(item)
    own = [held[name] for name in BEGAN if name in held]
    return text_of(found(at(item, "status", "startTime"), *own))


def _ended(item: Record) -> tuple[str, str]:
    """When an object ended, and how."""
    state = text_of(found(at(item, "status", "phase"), at(item, "status", "state", "phase")))
    if containers := entries(at(item, "status", "containerStatuses")):
        ends = [text_of(at(one, "state", "terminated", "finishedAt")) for one in containers]
        return (max(ends) if all(ends) else ""), state
    held = _conditions(item)
    how = next((name for name in ENDED if name in held), "")
    return text_of(found(at(item, "status", "completionTime"), held.get(how))), state or how


def _labels(item: Record, ends: Sequence[str]) -> str:
    """The value of the first label or annotation with one of these names."""
    for place in ("labels", "annotations"):
        own = fields(at(item, "metadata", place))
        for end in ends:
            for name, value in own.items():
                if re.split(r"[/.]", name)[-1] == end and value:
                    return text_of(value)
    return ""


def _user(item: Record) -> str:
    return _labels(item, USERS)


def _queue(item: Record) -> str:
    return row_of("kubernetes", item)["queue"] or _labels(item, QUEUES)
