"""The Alibaba readers on files made here in the documented formats, then on the real samples."""

import csv
import gzip
import logging
import re
from collections import Counter
from pathlib import Path

import pytest

from gangsched.instances import Job, Node
from gangsched.instances.traces import read_alibaba, read_alibaba_nodes
from log_files import FORMATS, text
from malformed import table

PODS, pod = FORMATS["alibaba"].header, FORMATS["alibaba"].row
NODES = "sn,cpu_milli,memory_mib,gpu,model"


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
    assert trace.report.notes[0] == "out of order: 1 [line 3], sorted"
    assert trace.report.notes[-3:] == (
        "pod_phase of the jobs: Running: 1, Succeeded: 3",
        "jobs that asked for a part of a GPU and have a whole one: 2",
        "jobs with a gpu_spec, which is not heeded: 2",
    )


def test_what_is_noted_of_pods_is_of_those_that_became_jobs(tmp_path: Path) -> None:
    bad = pod(gpu_milli=500, gpu_spec="T4", deletion_time=20)
    trace = read_alibaba(text(tmp_path / "x.csv", PODS, pod(name="ok"), bad))
    assert [note[-3:] for note in trace.report.notes[-3:]] == [": 1", ": 0", ": 0"]


# --- nodes ---------------------------------------------------------------------------------------


def test_nodes_with_gpus_become_a_cluster(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = ["n-2,9,9,8,G2", "n-0,9,9,0,", "n-1,9,9,2,T4"]
    with caplog.at_level(logging.INFO, logger="gangsched"):
        cluster = read_alibaba_nodes(text(tmp_path / "nodes.csv", NODES, *rows))
    assert cluster.nodes == (Node("n-2", 8, "G2"), Node("n-1", 2, "T4"))
    assert "nodes.csv: 1 nodes without GPUs left out" in caplog.text


BAD_NODES = table("logs")["nodes"]


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
    assert report.skipped == {"never started": 897, "no GPUs": no_gpus}
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
