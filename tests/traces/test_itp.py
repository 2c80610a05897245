"""The ITP reader on files made here in the documented formats, then on the real samples."""

from __future__ import annotations

import csv
import gzip
import re
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


def test_unusable_rows_are_counted_by_reason(tmp_path: Path) -> None:
    rows = ["a,0,5,1", "b,1,0,1", "c,2,9,0", "d,,9,1", "e,3,NA,1", "f,4,0,1"]
    report = read_itp(text(tmp_path / "x.csv", RAW, *rows)).report
    assert report.skipped == {
        "zero duration": 2,
        "no GPUs": 1,
        "unknown submission": 1,
        "unknown duration": 1,
    }
    assert report.places["zero duration"] == ("line 3", "line 7")


def test_the_least_duration_is_a_second(tmp_path: Path) -> None:
    trace = read_itp(text(tmp_path / "x.csv", RAW, "a,0,1e-9,1", "b,1,1,1", "c,2,1.000001,1"))
    assert [job.work for job in trace.jobs] == [1, 1, 2]


BAD = {
    "no column": (["job_id,submission_time,num_gpu"], "line 1: column 'duration' occurs 0 times"),
    "column twice": ([RAW + ",num_gpu"], "line 1: column 'num_gpu' occurs 2 times, not once"),
    "short": ([RAW, "a,1,2"], "line 2: 3 fields, not the 4 of the header"),
    "no id": ([RAW, ",1,2,3"], "line 2: job_id='' is empty, every row has one"),
    "id twice": ([RAW, "a,1,2,3", "a,4,5,6"], "line 3: job_id='a' occurs at line 2 too"),
    "id of a skipped row": ([RAW, "a,1,0,3", "a,4,5,6"], "line 3: job_id='a' occurs at line 2 too"),
    "submission": ([RAW, "a,-1,2,3"], "line 2: submission_time=-1 is below 0"),
    "duration": ([RAW, "a,1,-2,3"], "line 2: duration=-2 is below 0"),
    "word": ([RAW, "a,1,long,3"], "line 2: duration='long' is not a number"),
    "infinite": ([RAW, "a,inf,2,3"], "line 2: submission_time=inf is not finite"),
    "gpus": ([RAW, "a,1,2,-3"], "line 2: num_gpu=-3 is below 0"),
    "half a gpu": ([RAW, "a,1,2,0.5"], "line 2: num_gpu='0.5' is not an integer"),
}


@pytest.mark.parametrize(("lines", "message"), BAD.values(), ids=BAD)
def test_malformed_files_are_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    path = text(tmp_path / "x.csv", *lines)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")):
        read_itp(path)


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
