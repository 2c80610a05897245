"""The Philly readers on files made here in the documented formats, then on the real samples."""

import csv
import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gangsched.instances import Job, User
from gangsched.instances.traces import read_philly_csv, read_philly_json
from log_files import text
from malformed import cases, changed, table

HEADER = "timestamp,duration,num_gpus,gpu_time,cluster"
ROWS = [
    "2017-10-09 07:02:00,66.0,1,66.0,bbb",
    "2017-10-09 07:00:00,30.5,8,244.0,aaa",
    "2017-10-09 07:02:00,5,2,10,aaa",
]


# --- CSV -----------------------------------------------------------------------------------------

EXPECTED = (
    Job(id="row2", gpus=8, user="aaa", release=0, work=31),
    Job(id="row1", gpus=1, user="bbb", release=120, work=66),
    Job(id="row3", gpus=2, user="aaa", release=120, work=5),
)


def test_csv_rows_become_jobs_from_the_first_submission_on(tmp_path: Path) -> None:
    trace = read_philly_csv(text(tmp_path / "log.csv", HEADER, *ROWS, ""))
    assert trace.jobs == EXPECTED
    assert trace.users == (User("aaa"), User("bbb"))
    assert (trace.name, trace.origin) == ("log", "2017-10-09 07:00:00")
    assert str(trace.report) == "3 rows read, 3 jobs; out of order: 1 [line 3], sorted"


def test_csv_may_be_compressed_quoted_and_in_another_order(tmp_path: Path) -> None:
    lines = ["\ufeffcluster,num_gpus,duration,timestamp"]
    for row in ROWS:
        time, duration, gpus, _, cluster = row.split(",")
        lines.append(f'"{cluster}",{gpus},{duration},"{time}"')
    path = tmp_path / "log.txt"  # known by content, not by name
    path.write_bytes(gzip.compress("\r\n".join(lines).encode()))
    assert read_philly_csv(path).jobs == EXPECTED


def test_a_csv_without_jobs_is_legal(tmp_path: Path) -> None:
    trace = read_philly_csv(text(tmp_path / "log.csv", HEADER))
    assert (trace.jobs, trace.users, trace.origin, trace.report.read) == ((), (), None, 0)


def test_quotation_marks_have_an_end(tmp_path: Path) -> None:
    path = text(tmp_path / "log.csv", HEADER, '"2017-10-09,6,1,6,a')
    with pytest.raises(ValueError, match=f"{path}: line 2: not CSV: unexpected end of data"):
        read_philly_csv(path)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress("\n".join([HEADER, *ROWS]).encode())[:-6])
    with pytest.raises(ValueError, match=r"log\.csv\.gz: damaged gzip data"):
        read_philly_csv(path)
    path.write_bytes(b"timestamp\xff")
    with pytest.raises(ValueError, match="byte 9 is not UTF-8 text"):
        read_philly_csv(path)


# --- JSON ----------------------------------------------------------------------------------------


def attempt(start: str | None, end: str | None, *gpus: int) -> dict[str, Any]:
    """An attempt on 7 October 2017 with `gpus` GPUs on machines m0, m1, ..."""
    times = [t if t in (None, "None") else f"2017-10-07 {t}" for t in (start, end)]
    detail = [{"ip": f"m{i}", "gpus": [f"gpu{k}" for k in range(n)]} for i, n in enumerate(gpus)]
    return {"start_time": times[0], "end_time": times[1], "detail": detail}


def entry(id: str, *attempts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "status": "Pass",
        "vc": "aaa",
        "jobid": id,
        "user": "hash",
        "submitted_time": "2017-10-07 01:00:00",
        "attempts": list(attempts),
        **fields,
    }


LOG = [
    entry(
        "two",
        attempt("01:10:00", "01:11:00", 8, 4),
        attempt("01:20:00", "01:22:30", 2),
        status="Killed",
        submitted_time="2017-10-07 01:05:00",
        vc="bbb",
    ),
    entry("one", attempt("01:00:05", "01:00:07", 1)),
]


def log(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize(("work", "seconds"), [("attempts", 60 + 150), ("span", 750)])
def test_json_entries_become_jobs(tmp_path: Path, work: Any, seconds: int) -> None:
    trace = read_philly_json(log(tmp_path / "cluster_job_log", LOG), work=work)
    assert trace.jobs == (
        Job(id="one", gpus=1, user="aaa", release=0, work=2),
        Job(id="two", gpus=12, user="bbb", release=300, work=seconds),
    )
    assert trace.users == (User("aaa"), User("bbb"))
    assert (trace.name, trace.origin) == ("cluster_job_log", "2017-10-07 01:00:00")
    assert str(trace.report) == (
        "2 rows read, 2 jobs; out of order: 1 [job[1]], sorted; "
        "status of the jobs: Killed: 1, Pass: 1"
    )


def test_the_sum_of_attempts_is_the_default(tmp_path: Path) -> None:
    assert read_philly_json(log(tmp_path / "x.json", LOG)).jobs[1].work == 210


def test_the_first_attempt_with_gpus_tells_the_demand(tmp_path: Path) -> None:
    data = [
        entry("a", attempt("01:10:00", "01:11:00"), attempt("01:20:00", "01:21:00", 4)),
        entry("b", {"start_time": "2017-10-07 01:10:00", "end_time": "2017-10-07 01:10:09"}),
    ]
    trace = read_philly_json(log(tmp_path / "x.json", data))
    assert [(job.id, job.gpus, job.work) for job in trace.jobs] == [("a", 4, 120)]
    assert trace.report.skipped == {"no GPUs in any attempt": 1}


@pytest.mark.parametrize("listed", [1, -1])
def test_the_first_attempt_in_time_tells_the_gpus(listed: int, tmp_path: Path) -> None:
    runs = [attempt("01:10:00", "01:40:00", 2), attempt("01:20:00", "01:30:00", 4)][::listed]
    assert read_philly_json(log(tmp_path / "x.json", [entry("a", *runs)])).jobs[0].gpus == 2


UNUSABLE = {
    "no submission": (entry("x", *LOG[0]["attempts"], submitted_time="None"), "unknown submission"),
    "null submission": (entry("x", *LOG[0]["attempts"], submitted_time=None), "unknown submission"),
    "never scheduled": (entry("x"), "no attempt"),
    "no gpus": (entry("x", attempt("01:00:00", "01:00:09")), "no GPUs in any attempt"),
    "null end": (entry("x", attempt("01:00:00", None, 1)), "incomplete times"),
    "None end": (entry("x", attempt("01:00:00", "None", 1)), "incomplete times"),
    "None start": (entry("x", attempt("None", "01:00:00", 1)), "incomplete times"),
    "no start": (
        entry("x", {k: v for k, v in LOG[0]["attempts"][0].items() if k != "start_time"}),
        "incomplete times",
    ),
    "one of two": (
        entry("x", attempt("01:00:00", "01:00:01", 1), attempt("01:01:00", None, 1)),
        "incomplete times",
    ),
    "backwards": (entry("x", attempt("01:00:01", "01:00:00", 1)), "end before start"),
    "zero": (entry("x", attempt("01:00:01", "01:00:01", 1)), "zero duration"),
}


@pytest.mark.parametrize(("row", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_entries_are_counted_by_reason(tmp_path: Path, row: Any, reason: str) -> None:
    trace = read_philly_json(log(tmp_path / "x.json", [*LOG, row]))
    assert [job.id for job in trace.jobs] == ["one", "two"]
    assert (trace.report.read, dict(trace.report.skipped)) == (3, {reason: 1})
    assert trace.report.places == {reason: ("job[2]",)}


def test_the_span_needs_the_outer_times_only(tmp_path: Path) -> None:
    row = entry("x", attempt("01:00:00", None, 1), attempt("None", "01:02:00", 1))
    path = log(tmp_path / "x.json", [row])
    assert [job.work for job in read_philly_json(path, work="span").jobs] == [120]
    assert read_philly_json(path).report.skipped == {"incomplete times": 1}


@pytest.mark.parametrize("listed", [1, -1])
def test_attempts_may_be_listed_in_any_order(listed: int, tmp_path: Path) -> None:
    one, two = attempt("01:10:00", "01:11:00", 1), attempt("01:20:00", "01:22:00", 1)
    open_, within = attempt("01:30:00", None, 1), attempt("01:20:30", "01:21:00", 1)
    rows = [entry(id, *runs[::listed]) for id, runs in (
        ("a", [one, two]), ("b", [one, two, open_]), ("c", [one, two, within])
    )]  # fmt: skip
    path = log(tmp_path / "x.json", rows)
    for work, seconds in (("attempts", [180, 210]), ("span", [720, 720])):
        trace = read_philly_json(path, work=work)
        assert ([job.id for job in trace.jobs], trace.report.skipped) == (
            ["a", "c"], {"incomplete times": 1}
        )  # fmt: skip
        assert [job.work for job in trace.jobs] == seconds
        assert [row.end - row.start for row in trace.rows if row.end and row.start] == [720, 720]
    overlapping = log(
        tmp_path / "x.json", [entry("d", two, within, attempt("01:20:00", "01:22:00", 1))]
    )
    assert read_philly_json(overlapping).rows[0][2:] == (None, None)


BAD_JSON = [
    ({"jobs": []}, "top level: a JSON dict, not a list of jobs"),
    ([7], "job[0]: 7 is not an object"),
    ([*LOG, LOG[0]], "job[2]: jobid='two' occurs at job[0] too, it is unique"),
]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        *(("", data, message) for data, message in BAD_JSON),
        *cases(table("logs")["philly"]["malformed"]),
    ],
)
def test_malformed_json_logs_are_refused(
    tmp_path: Path, place: str, value: Any, message: str
) -> None:
    path = log(tmp_path / "x.json", changed(LOG, place, value) if place else value)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")):
        read_philly_json(path)


def test_text_that_is_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x\.json: line 1, column 2: not JSON"):
        read_philly_json(text(tmp_path / "x.json", "[oops"))
    with pytest.raises(ValueError, match="work='sum' is not one of 'attempts', 'span'"):
        read_philly_json(tmp_path / "x.json", work="sum")  # type: ignore[arg-type]


# --- the real samples ----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_real_csv(traces: Path) -> None:
    path = traces / "philly" / "philly.csv.gz"
    trace = read_philly_csv(path)
    with gzip.open(path, "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["timestamp"]]
    assert trace.report.read == len(rows)
    assert trace.report.skipped == {}  # says its provenance: shortest 1 s, no 0 GPUs
    assert Counter(job.gpus for job in trace.jobs) == Counter(int(r["num_gpus"]) for r in rows)
    assert sum(job.gpus * (job.work or 0) for job in trace.jobs) == sum(
        float(row["gpu_time"]) for row in rows
    )
    assert trace.origin == min(row["timestamp"] for row in rows)
    assert {user.id for user in trace.users} == {row["cluster"] for row in rows}


@pytest.mark.parametrize(("work", "seconds"), [("attempts", 193_256), ("span", 193_263)])
def test_the_published_example(traces: Path, work: Any, seconds: int) -> None:
    trace = read_philly_json(traces / "philly" / "cluster_job_log.example.json", work=work)
    assert [(job.gpus, job.work, job.user) for job in trace.jobs] == [(8, seconds, "ee9e8c")]


@pytest.mark.slow
def test_real_attempts_give_the_durations_of_the_csv(traces: Path, tmp_path: Path) -> None:
    """The attempts of 1,938 real jobs, put into the schema of the log (which cannot be had)."""
    with gzip.open(traces / "philly" / "jobs_ge4gpu_with_attempts.json.gz", "rt") as file:
        real = json.load(file)
    data = [
        {
            "status": "Pass",
            "vc": "any",
            "jobid": row["id"],
            "submitted_time": row["submitted_time"],
            "attempts": [
                {**run, "detail": [{"ip": "m0", "gpus": list(range(row["num_gpus"]))}]}
                for run in row["attempts"]
            ],
        }
        for row in real
    ]
    path = log(tmp_path / "x.json", data)
    span = {job.id: job.work for job in read_philly_json(path, work="span").jobs}
    assert all(
        span[row["id"]] == pytest.approx(60 * row["runtime"], abs=1)
        for row in real
        if row["id"] in span
    )
    known = Counter(
        (job.gpus, job.work)
        for job in read_philly_csv(traces / "philly" / "philly.csv.gz").jobs
        if job.gpus >= 4
    )
    found = Counter((job.gpus, job.work) for job in read_philly_json(path).jobs)
    assert (known & found).total() > 0.98 * found.total() > 0.95 * len(real)
