"""Readers of published tables by their documented columns; the rows are made up here."""

import re
from pathlib import Path

import pytest

from gangsched.instances import Job, traces
from gangsched.instances.traces import read_auto
from gangsched.instances.traces.presets import PRESETS, UNTRIED
from malformed import table

FILES = table("logs")["presets"]


def write(folder: Path, name: str) -> Path:
    path = folder / f"{name}.csv"
    path.write_text(FILES[name])
    return path


@pytest.mark.parametrize("name", FILES)
def test_auto_knows_it_and_says_that_it_was_not_tried(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name)
    direct, trace = traces.READERS[name](path), read_auto(path)
    assert trace.jobs == direct.jobs
    assert direct.report.notes[0] == UNTRIED
    assert trace.report.notes[0].startswith(f"format: {name}, as ")
    assert UNTRIED in str(traces.READERS[name].__doc__).partition("\n")[0]


def test_every_preset_is_here() -> None:
    assert set(FILES) == {name for name, preset in PRESETS.items() if not preset.tried}


def test_acme_runs_from_start_to_end(tmp_path: Path) -> None:
    """The documented row of Kalos has the wait in its duration."""
    trace = traces.read_acme(write(tmp_path, "acme"))
    assert trace.jobs == (Job(id="dlca", gpus=64, user="uf1", work=8, pod=8),)
    assert trace.origin == "2023-05-17 11:00:58 UTC"
    assert dict(trace.report.skipped) == {"no GPUs": 1, "never started": 1}
    assert (trace.rows[0].start, trace.rows[0].end) == (10, 18)


def test_tasks_of_pai_have_percent_of_gpus(tmp_path: Path) -> None:
    trace = traces.read_alibaba_pai(write(tmp_path, "alibaba-pai"))
    assert trace.jobs == (
        Job(id="b/tensorflow", gpus=4, work=2, pod=2),
        Job(id="a/worker", gpus=2, release=10, work=60),
    )
    assert dict(trace.report.skipped) == {
        "no GPUs": 1,
        "a fraction of a GPU": 1,
        "still running": 1,
        "unknown GPUs": 1,
    }
    assert (trace.origin, trace.users) == (None, ())
    assert "jobs are submitted when they start" in trace.report.notes
    header = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,"
    named = tmp_path / "named.csv"
    named.write_text(f"{header}gpu_type\n{FILES['alibaba-pai']}")
    assert traces.read_alibaba_pai(named).jobs == trace.jobs
    assert read_auto(named).jobs == trace.jobs


def test_instances_that_outlive_the_trace_have_no_times(tmp_path: Path) -> None:
    trace = traces.read_alibaba_dlrm(write(tmp_path, "alibaba-dlrm"))
    assert trace.jobs == (Job(id="i_3", gpus=2, user="app_3", work=60),)
    assert dict(trace.report.skipped) == {"never started": 1, "no GPUs": 1}


def test_spot_jobs_are_gangs_of_workers_on_the_model_they_asked_for(tmp_path: Path) -> None:
    trace = traces.read_alibaba_spot(write(tmp_path, "alibaba-spot"))
    assert trace.jobs == (
        Job(id="3", gpus=16, user="13", work=100, pin="A10", pod=1),
        Job(id="5", gpus=16, user="57", release=9, work=50, pin="A100-SXM4-80GB", pod=8),
    )
    assert dict(trace.report.skipped) == {"a fraction of a GPU": 1}
    assert "state of the jobs: HP: 1, Spot: 1" in trace.report.notes


def test_resources_of_supercloud_are_numbers(tmp_path: Path) -> None:
    trace = traces.read_supercloud(write(tmp_path, "supercloud"))
    assert trace.jobs == (
        Job(id="11", gpus=4, user="71", work=60),
        Job(id="14", gpus=1, user="72", release=30, work=20),
    )
    assert trace.origin == "2021-02-01 00:00:00 UTC"
    assert dict(trace.report.skipped) == {"never started": 1, "no GPUs": 1}


@pytest.mark.parametrize("name", FILES)
def test_a_missing_column_is_named(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name)
    gone = PRESETS[name].columns["end" if "end" in PRESETS[name].columns else "duration"]
    gone = gone.removesuffix(":s")
    header = ",".join(PRESETS[name].header)
    text = path.read_text() if not header else f"{header}\n{path.read_text()}"
    path.write_text(text.replace(gone, "else", 1))
    with pytest.raises(ValueError, match=re.escape(f"{path}: no column '{gone}")):
        traces.READERS[name](path)


def test_a_log_of_helios_is_not_one_of_acme(tmp_path: Path) -> None:
    path = tmp_path / "cluster_log.csv"
    path.write_text(FILES["acme"].replace(",type,", ",vc,"))
    with pytest.raises(ValueError, match="no column type; found: job_id, user, node_num"):
        traces.read_acme(path)


def test_an_id_that_occurs_twice_costs_the_ids_not_the_log(tmp_path: Path) -> None:
    path = write(tmp_path, "alibaba-spot")
    path.write_text(FILES["alibaba-spot"] + FILES["alibaba-spot"].splitlines()[1])
    trace = traces.read_alibaba_spot(path)
    assert [job.id for job in trace.jobs] == ["row1", "row4", "row3"]
    assert "job_name is no id: at line 5 '3' occurs at line 2 too" in trace.report.notes
