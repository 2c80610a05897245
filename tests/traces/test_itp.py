"""The ITP reader on files made here in the documented formats, then on the real samples."""

import csv
import gzip
from collections import Counter
from pathlib import Path

import pytest

from gangsched.instances import Job
from gangsched.instances.traces import read_itp

RAW = "job_id,submission_time,duration,num_gpu"
MORE = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration"
EXPECTED = (Job(id="b-2", gpus=8, release=0, work=31), Job(id="a-1", gpus=1, release=40, work=600))


def text(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")  # no newline at the end, as published
    return path


def test_raw_rows_become_jobs(tmp_path: Path) -> None:
    trace = read_itp(text(tmp_path / "cluster99.csv", RAW, "a-1,1040,600,1", "b-2,1000,30.5,8"))
    assert trace.jobs == EXPECTED
    assert (trace.name, trace.origin, trace.users) == ("cluster99", None, ())


def test_spaces_around_fields_do_no_harm(tmp_path: Path) -> None:
    header = RAW.replace(",", " , ")
    trace = read_itp(text(tmp_path / "x.csv", header, "a-1 , 1040, 600 , 1", " b-2,1000,30.5,8 "))
    assert trace.jobs == EXPECTED


def test_the_added_columns_change_nothing(tmp_path: Path) -> None:
    rows = ["a-1,1040,77,bert,1100,32,1,600", "b-2,1000,5,vgg16,900,64,8,30.5"]
    assert read_itp(text(tmp_path / "x.csv", MORE, *rows)).jobs == EXPECTED


def test_the_least_duration_is_a_second(tmp_path: Path) -> None:
    trace = read_itp(text(tmp_path / "x.csv", RAW, "a,0,1e-9,1", "b,1,1,1", "c,2,1.000001,1"))
    assert [job.work for job in trace.jobs] == [1, 1, 2]


# --- the real samples ----------------------------------------------------------------------------

PUBLISHED = {  # jobs, GPU hours as their provenance states them
    "01": (1_595, 22_740),
    "02": (5_778, 123_750),
    "03": (3_011, 165_440),
    "05": (3_629, 14_303),
    "06": (2_396, 123_880),
    "07": (12_699, 366_800),
    "08": (13_047, 67_100),
    "10": (260, 4_023),
}


def test_the_eight_raw_files(traces: Path) -> None:
    total = 0
    for number, (jobs, gpu_hours) in PUBLISHED.items():
        trace = read_itp(traces / "elasticflow_itp" / "raw" / f"cluster{number}.csv.gz")
        assert (trace.report.read, trace.report.kept, trace.report.notes) == (jobs, jobs, ())
        seconds = sum(job.gpus * (job.work or 0) for job in trace.jobs)
        assert seconds / 3600 == pytest.approx(gpu_hours, rel=1e-3)
        total += jobs
    assert total == 42_415


@pytest.mark.parametrize("number", ["01", "03", "06", "10"])
def test_augmented_files_hold_the_raw_jobs(traces: Path, number: str) -> None:
    folder = traces / "elasticflow_itp"
    raw = read_itp(folder / "raw" / f"cluster{number}.csv.gz")
    assert read_itp(folder / "elasticflow" / f"cluster{number}.csv.gz").jobs == raw.jobs


def test_the_195_jobs(traces: Path) -> None:
    trace = read_itp(traces / "elasticflow_itp" / "elasticflow" / "195job.csv")
    assert len(trace.jobs) == 195
    with gzip.open(traces / "elasticflow_itp" / "raw" / "cluster02.csv.gz", "rt") as file:
        rows = Counter((int(r["num_gpu"]), int(r["duration"])) for r in csv.DictReader(file))
    assert Counter((job.gpus, job.work) for job in trace.jobs) <= rows
