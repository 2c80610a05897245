"""The Alibaba readers on files made here in the documented formats, then on the real samples."""

from __future__ import annotations

import csv
import gzip
import logging
import re
from collections import Counter
from pathlib import Path

import pytest

from gangsched.instances import Job, Node
from gangsched.instances.traces import read_alibaba, read_alibaba_nodes
from log_files import text

PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time"
)
NODES = "sn,cpu_milli,memory_mib,gpu,model"


def pod(**fields: object) -> str:
    """A pod with one whole GPU from second 20 to 50, but for `fields`."""
    given = {
        "name": "p", "cpu_milli": 4000, "memory_mib": 1, "num_gpu": 1, "gpu_milli": 1000,
        "gpu_spec": "", "qos": "LS", "pod_phase": "Succeeded", "creation_time": 10,
        "deletion_time": 50, "scheduled_time": 20, **fields,
    }  # fmt: skip
    assert ",".join(given) == PODS
    return ",".join(map(str, given.values()))


def test_pods_become_jobs(tmp_path: Path) -> None:
    rows = [
        pod(name="whole", creation_time=15, pod_phase="Running"),
        pod(name="part", gpu_milli=460),
        pod(name="gang", num_gpu=8, deletion_time=50.5, gpu_spec="V100M16|V100M32"),
        pod(name="spec", gpu_milli=10, gpu_spec="T4", deletion_time=21),
    ]
    trace = read_alibaba(text(tmp_path / "pods.csv", PODS, *rows))
    assert trace.jobs == (
        Job(id="part", gpus=1, release=0, work=30),
        Job(id="gang", gpus=8, release=0, work=31),
        Job(id="spec", gpus=1, release=0, work=1),
        Job(id="whole", gpus=1, release=5, work=30),
    )
    assert (trace.users, trace.origin) == ((), None)
    assert trace.report.notes == (
        "out of order: 1 [line 3], sorted",
        "pod_phase of the jobs: Running: 1, Succeeded: 3",
        "jobs that asked for a part of a GPU and have a whole one: 2",
        "jobs with a gpu_spec, which is not heeded: 2",
    )


UNUSABLE = {
    "never": ({"scheduled_time": "", "pod_phase": "Pending"}, "never scheduled"),
    "never, no gpus": ({"scheduled_time": "", "num_gpu": 0}, "never scheduled"),
    "backwards": ({"deletion_time": 19}, "end before start"),
    "no gpus": ({"num_gpu": 0, "gpu_milli": 0}, "no GPUs"),
    "no creation": ({"creation_time": ""}, "unknown submission"),
    "no deletion": ({"deletion_time": ""}, "unknown duration"),
    "zero": ({"deletion_time": 20}, "zero duration"),
}


@pytest.mark.parametrize(("fields", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_pods_are_counted_by_reason(
    tmp_path: Path, fields: dict[str, object], reason: str
) -> None:
    # as a part with a spec, so that what is noted of the jobs is seen to leave it out
    bad = pod(**{"gpu_milli": 500, "gpu_spec": "T4", **fields})
    trace = read_alibaba(text(tmp_path / "x.csv", PODS, pod(name="ok"), bad))
    assert [job.id for job in trace.jobs] == ["ok"]
    assert (trace.report.skipped, trace.report.places) == ({reason: 1}, {reason: ("line 3",)})
    assert [note[-3:] for note in trace.report.notes] == [": 1", ": 0", ": 0"]


BAD_PODS = {
    "column": (PODS.replace("gpu_spec", "spec"), pod(), "line 1: column 'gpu_spec' occurs 0 times"),
    "long": (PODS, pod() + ",1", "line 2: 12 fields, not the 11 of the header"),
    "name": (PODS, pod(name=""), "line 2: name='' is empty, every row has one"),
    "twice": (PODS, f"{pod()}\n{pod()}", "line 3: name='p' occurs at line 2 too, it is unique"),
    "gpus": (PODS, pod(num_gpu=""), "line 2: num_gpu='' is not an integer"),
    "negative gpus": (PODS, pod(num_gpu=-1), "line 2: num_gpu=-1 is below 0"),
    "share": (PODS, pod(gpu_milli="half"), "line 2: gpu_milli='half' is not a number"),
    "creation": (PODS, pod(creation_time=-1), "line 2: creation_time=-1 is below 0"),
    "deletion": (PODS, pod(deletion_time="x"), "line 2: deletion_time='x' is not a number"),
    "scheduled": (PODS, pod(scheduled_time="nan"), "line 2: scheduled_time=nan is not finite"),
    "phase": (PODS, pod(pod_phase=""), "line 2: pod_phase='' is empty, every pod has one"),
}


@pytest.mark.parametrize(("header", "line", "message"), BAD_PODS.values(), ids=BAD_PODS)
def test_malformed_pod_lists_are_refused(
    tmp_path: Path, header: str, line: str, message: str
) -> None:
    path = text(tmp_path / "x.csv", header, line)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")):
        read_alibaba(path)


# --- nodes ---------------------------------------------------------------------------------------


def test_nodes_with_gpus_become_a_cluster(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = ["n-2,9,9,8,G2", "n-0,9,9,0,", "n-1,9,9,2,T4"]
    with caplog.at_level(logging.INFO, logger="gangsched"):
        cluster = read_alibaba_nodes(text(tmp_path / "nodes.csv", NODES, *rows))
    assert cluster.nodes == (Node("n-2", 8, "G2"), Node("n-1", 2, "T4"))
    assert "nodes.csv: 1 nodes without GPUs left out" in caplog.text


BAD_NODES = {
    "empty": ([], "line 1: the file is empty"),
    "column": (["sn,gpu"], "line 1: column 'model' occurs 0 times, not once"),
    "short": ([NODES, "a,1"], "line 2: 2 fields, not the 5 of the header"),
    "twice": ([NODES, "a,1,1,8,G2", "a,1,1,8,G2"], "line 3: sn='a' occurs at line 2 too"),
    "gpus": ([NODES, "a,1,1,-8,G2"], "line 2: gpu=-8 is below 0"),
    "word": ([NODES, "a,1,1,x,G2"], "line 2: gpu='x' is not an integer"),
    "model": ([NODES, "a,1,1,8,"], "line 2: model='' is empty, a node with GPUs has a model"),
    "none": ([NODES, "a,1,1,0,"], "1 nodes, none of which has GPUs"),
}


@pytest.mark.parametrize(("lines", "message"), BAD_NODES.values(), ids=BAD_NODES)
def test_malformed_node_lists_are_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")):
        read_alibaba_nodes(path)


# --- the real samples ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["default", "gpuspec33"])
def test_the_real_pods(traces: Path, name: str) -> None:
    path = traces / "alibaba_gpu_v2023" / f"openb_pod_list_{name}.csv.gz"
    trace = read_alibaba(path)
    report = trace.report
    assert report.read == 8_152
    with gzip.open(path, "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["scheduled_time"]]
    no_gpus = sum(row["num_gpu"] == "0" for row in rows)
    assert report.skipped == {"never scheduled": 897, "no GPUs": no_gpus}
    service = sum(
        int(r["deletion_time"]) - int(r["scheduled_time"]) for r in rows if r["gpu_milli"] != "0"
    )
    assert sum(job.work or 0 for job in trace.jobs) == service
    assert set(Counter(job.gpus for job in trace.jobs)) == {1, 2, 4, 8}
    assert round(trace.jobs[-1].release / 86_400, 1) == 149.3
    unheeded = int(report.notes[-1].split(": ")[1].replace(",", ""))
    assert (unheeded == 0) == (name == "default")
    assert unheeded == (0 if name == "default" else pytest.approx(0.34 * len(trace.jobs), rel=0.02))


def test_the_real_nodes(traces: Path) -> None:
    folder = traces / "alibaba_gpu_v2023"
    cluster = read_alibaba_nodes(folder / "openb_node_list_all_node.csv")
    assert (cluster.gpus, len(cluster.nodes)) == (6_212, 1_523 - 310)
    gpus: Counter[str] = Counter()
    for node in cluster.nodes:
        gpus[node.model] += node.gpus
    assert gpus == {
        "G2": 4_392, "T4": 842, "G3": 312, "P100": 265, "V100M32": 204, "V100M16": 195, "A10": 2,
    }  # fmt: skip
    only = read_alibaba_nodes(folder / "openb_node_list_gpu_node.csv")
    assert [(n.gpus, n.model) for n in only.nodes] == [(n.gpus, n.model) for n in cluster.nodes]
