"""Logs in JSON: sacct, kubectl and Batsim, in the forms of their versions, written here by hand."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from gangsched.instances import Job, Trace
from gangsched.instances.traces import read_auto, read_json, read_sacct
from malformed import table

NOON = 1_714_564_800  # 1 May 2024, 12:00 UTC


def read(folder: Path, data: Any, **options: Any) -> Trace:
    path = folder / "log"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return read_auto(path, **options)


def number(value: int | None) -> dict[str, Any]:
    """A number as newer versions of Slurm write it."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


# --- sacct ---------------------------------------------------------------------------------------


def sacct(id: int, *, newer: bool = True, **fields: Any) -> dict[str, Any]:
    """A job that ran from 12:01 to 12:11, as `sacct --json` has it."""
    none = number(None) if newer else None
    made = {
        "account": "lab", "partition": "gpu", "job_id": id, "allocation_nodes": 2,
        "association": {"user": "ann", "account": "lab"},
        "array": {"job_id": 0, "task_id": none},
        "het": {"job_id": 0, "job_offset": none},
        "state": {"current": ["COMPLETED"] if newer else "COMPLETED", "reason": "None"},
        "time": {
            "submission": NOON, "eligible": NOON, "start": NOON + 60, "end": NOON + 660,
            "elapsed": 600, "suspended": 0, "limit": number(30) if newer else 30,
        },
        "tres": {
            "allocated": [
                {"type": "cpu", "name": "", "id": 1, "count": 8},
                {"type": "gres", "name": "gpu", "id": 1001, "count": 4},
                {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 4},
            ],
            "requested": [],
        },
    }  # fmt: skip
    for name, value in fields.items():
        made[name] = {**made[name], **value} if isinstance(made.get(name), dict) else value
    return made


@pytest.mark.parametrize("newer", [False, True])
def test_sacct_prints_the_same_jobs_as_json(tmp_path: Path, newer: bool) -> None:
    current = (lambda state: [state]) if newer else (lambda state: state)
    jobs = [
        sacct(1, newer=newer),
        sacct(2, newer=newer, array={"job_id": 9, "task_id": number(3) if newer else 3}),
        sacct(4, newer=newer, het={"job_id": 4, "job_offset": number(1) if newer else 1}),
        sacct(5, newer=newer, state={"current": current("RUNNING")}, time={"end": 0}),
        sacct(6, newer=newer, state={"current": current("CANCELLED")}, time={"start": 0}),
        sacct(7, newer=newer, tres={"allocated": []}),
        sacct(8, newer=newer, user="eve", state={"current": current("TIMEOUT")}),
    ]
    trace = read(tmp_path, {"meta": {}, "jobs": jobs, "warnings": [{}], "errors": []})
    day = "2024-05-01T12"
    rows = ["JobID|User|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|AllocTRES"]
    for id, user, start, end, state, tres in [
        ("1", "ann", f"{day}:01:00", f"{day}:11:00", "COMPLETED", "cpu=8,gres/gpu=4"),
        ("9_3", "ann", f"{day}:01:00", f"{day}:11:00", "COMPLETED", "gres/gpu:a100=4"),
        ("4+1", "ann", f"{day}:01:00", f"{day}:11:00", "COMPLETED", "gres/gpu=4"),
        ("5", "ann", f"{day}:01:00", "Unknown", "RUNNING", "gres/gpu=4"),
        ("6", "ann", "None", f"{day}:11:00", "CANCELLED by 7", "gres/gpu=4"),
        ("7", "ann", f"{day}:01:00", f"{day}:11:00", "COMPLETED", ""),
        ("8", "eve", f"{day}:01:00", f"{day}:11:00", "TIMEOUT", "gres/gpu=4"),
    ]:
        rows += [f"{id}|{user}|{day}:00:00|{day}:00:00|{start}|{end}|600|30|{state}|{tres}"]
    (tmp_path / "bars").write_text("\n".join(rows))
    bars = read_sacct(tmp_path / "bars")
    assert [(j.id, j.gpus, j.user, j.release, j.work) for j in trace.jobs] == [
        (j.id, j.gpus, j.user, j.release, j.work) for j in bars.jobs
    ]
    assert [(r.start, r.end) for r in trace.rows] == [(r.start, r.end) for r in bars.rows]
    assert trace.report.skipped == bars.report.skipped
    assert [job.limit for job in trace.jobs] == [job.limit for job in bars.jobs] == [1800] * 4
    assert trace.report.places["still running"] == ("jobs[3]",)


def test_a_start_that_is_the_eligible_time_is_not_believed(tmp_path: Path) -> None:
    wrong = {"start": NOON, "eligible": NOON, "end": NOON + 900, "elapsed": 600, "suspended": 100}
    rows = read(tmp_path, {"jobs": [sacct(1, time=wrong)]}).rows
    assert (rows[0].start, rows[0].end) == (200, 900)


# --- Kubernetes ----------------------------------------------------------------------------------


def at(minute: int) -> str:
    return f"2024-05-01T12:{minute:02}:00Z"


def spec(gpus: object, place: str = "limits", name: str = "nvidia.com/gpu") -> dict[str, Any]:
    return {"containers": [{"resources": {place: {name: gpus}}}]}


def thing(kind: str, name: str, spec: Any, status: Any, **meta: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "lab", "creationTimestamp": at(0), **meta}
    return {"kind": kind, "metadata": meta, "spec": spec, "status": status}


def pod(name: str, spec: Any, phase: str = "Succeeded", end: int | None = 31) -> dict[str, Any]:
    state = {"terminated": {"startedAt": at(2), "finishedAt": at(end)}} if end else {"running": {}}
    status = {"phase": phase, "startTime": at(1), "containerStatuses": [{"state": state}]}
    return thing("Pod", name, spec, status)


ENDED = table("logs")["kubernetes"]


@pytest.mark.parametrize("what", ENDED)
def test_objects_of_kubernetes_are_jobs(tmp_path: Path, what: str) -> None:
    gpus, user, start, end, text = ENDED[what]
    item = json.loads(text)
    (job,) = read(tmp_path, {"apiVersion": "v1", "kind": "List", "items": [item]}).jobs
    assert (job.id, job.gpus, job.user, job.work) == ("lab/a", gpus, user, 60 * (end - start))
    bare = {name: value for name, value in item.items() if name != "kind"}
    for form in (item, [item], {"kind": f"{item['kind']}List", "items": [bare]}):
        trace = read(tmp_path, form)
        assert (trace.jobs, trace.origin) == ((job,), "2024-05-01 12:00:00 UTC")
        assert [(row.start, row.end) for row in trace.rows] == [(60 * start, 60 * end)]


def test_pods_without_a_job_are_counted_by_reason(tmp_path: Path) -> None:
    pods = [
        pod("a", spec("2")),
        pod("b", spec("2"), "Running", None),
        thing("Pod", "c", spec("2"), {"phase": "Pending"}),
        thing("Pod", "d", spec("2"), {"phase": "Failed", "startTime": at(1)}),
        pod("e", spec("1", name="nvidia.com/mig-1g.5gb")),
        pod("f", spec("64", name="cpu")),
        pod("g", spec("500m")),
        pod("h", {**spec("1"), "initContainers": spec("4")["containers"]}),
    ]
    trace = read(tmp_path, {"kind": "List", "items": pods})
    assert [(job.id, job.gpus) for job in trace.jobs] == [("lab/a", 2), ("lab/h", 4)]
    assert trace.report.skipped == {
        "still running": 1, "never started": 1, "unknown end": 1, "a part of a GPU": 1,
        "no GPUs": 1, "a fraction of a GPU": 1,
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"items\[0\]: nvidia.com/gpu='many' is not a number"):
        read(tmp_path, {"kind": "List", "items": [pod("a", spec("many"))]})


def test_pods_of_one_job_are_a_doubt(tmp_path: Path) -> None:
    pods = [pod(name, spec("8")) for name in "ab"]
    assert read(tmp_path, {"kind": "List", "items": pods}).doubts == ()
    for one in pods:
        one["metadata"]["ownerReferences"] = [{"uid": "u"}]
    (doubt,) = read(tmp_path, {"kind": "List", "items": pods}).doubts
    assert doubt.startswith("2 pods are of jobs with several pods")


# --- Batsim, and flat objects --------------------------------------------------------------------


def test_delays_of_batsim_are_run_times(tmp_path: Path) -> None:
    profiles = {
        "d": {"type": "delay", "delay": 20.2}, "D": {"type": "DelayProfile", "delay": 3},
        "s": {"type": "composed", "repeat": 2, "seq": ["d", "t"]},
        "t": {"type": "SequentialCompositionProfile", "seq": ["D", "D"]},
        "p": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
        "q": {"type": "composed", "seq": ["d", "p"]},
    }  # fmt: skip
    rows = [("d", 30), ("d", 5), ("d", -1), ("s", 900), ("p", 9), ("q", 9)]
    jobs = [
        {"id": f"w!{i}", "subtime": 1.5 * i, "walltime": limit, "res": 2, "profile": name}
        for i, (name, limit) in enumerate(rows)
    ]
    trace = read(tmp_path, {"nb_res": 8, "jobs": jobs, "profiles": profiles})
    found = [(job.id, job.release, job.gpus, job.work) for job in trace.jobs]
    assert found == [("w!0", 0, 2, 21), ("w!1", 1, 2, 5), ("w!2", 3, 2, 21), ("w!3", 4, 2, 53)]
    reason = "a profile parallel_homogeneous, which tells no run time"
    assert trace.report.skipped == {reason: 2}


FLAT = [
    {"id": "a", "gpus": 2, "submit": at(0), "runtime_s": 90, "user": None, "tags": [1]},
    {"id": "b", "gpus": 1.0, "submit": at(1), "runtime_s": 5.5, "user": "eve"},
    {"id": "c", "gpus": 1, "submit": at(2), "runtime_s": None},
]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(FLAT),
        json.dumps({"total": 3, "data": FLAT}),
        "\n".join(map(json.dumps, FLAT)),
    ],
)
def test_flat_objects_are_a_table(tmp_path: Path, text: str) -> None:
    trace = read(tmp_path, text)
    assert trace.jobs == (
        Job(id="a", gpus=2, user="unknown", work=90),
        Job(id="b", gpus=1, user="eve", release=60, work=6),
    )
    assert trace.report.skipped == {"unknown duration": 1}
    (job,) = read(tmp_path, text, columns="gpus=runtime_s,duration=gpus,user=").jobs[:1]
    assert (job.gpus, job.work, job.user) == (90, 2, "")


# --- whatever stands there -----------------------------------------------------------------------

DOCUMENTS = [
    {"jobs": [sacct(1), sacct(2, newer=False)]},
    *({"kind": "List", "items": [json.loads(row[-1])]} for row in ENDED.values()),
    {"jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "s"}],
     "profiles": {"s": {"type": "composed", "repeat": 2, "seq": ["d"]},
                  "d": {"type": "delay", "delay": 2}}},
    FLAT,
]  # fmt: skip


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every container of a document with each of its keys."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    inner = [(value) for _, value in items if isinstance(value, dict | list)]
    return [(data, key) for key, _ in items] + [p for value in inner for p in places(value)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_wrong_values_anywhere_are_refused_or_read(tmp_path: Path, document: Any) -> None:
    draw, path = random.Random(1), tmp_path / "log"
    for value in (None, [], {}, "x", -1, 2.5, True, 10**30, [None], {"set": True}):
        for at in draw.sample(range(len(places(document))), min(12, len(places(document)))):
            changed = copy.deepcopy(document)
            container, key = places(changed)[at]
            container[key] = value
            path.write_text(json.dumps(changed))
            try:
                trace = read_json(path)
            except ValueError as error:
                assert str(error).startswith(str(path))  # noqa: PT017
            else:
                assert len(trace.jobs) == trace.report.kept
