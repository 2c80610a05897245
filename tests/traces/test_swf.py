"""The SWF reader on logs made here in the documented format."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from gangsched.instances import Job, User
from gangsched.instances.traces import read_swf

HEADER = """; Version: 2.2
; Computer: made up
; UnixStartTime: 1507334400
; MaxProcs: 64
"""
NAMES = [
    "job",
    "submit",
    "wait",
    "run",
    "allocated",
    "cpu",
    "memory",
    "requested",
    "requested_time",
    "requested_memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding",
    "think",
]


def row(**fields: Any) -> str:
    """A line of 18 fields, unknown where not given."""
    given = {"job": 1, "submit": 0, "run": 60, "allocated": 4, "status": 1, **fields}
    assert set(given) <= set(NAMES)
    return "  ".join(str(given.get(name, -1)) for name in NAMES)


def log(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text(header + "\n".join(rows) + "\n")
    return path


def test_lines_become_jobs_from_the_first_submission_on(tmp_path: Path) -> None:
    trace = read_swf(
        log(
            tmp_path / "made.swf",
            row(job=1, submit=500, run=60, allocated=4, requested=8, user=7),
            "; a comment between the lines",
            "",
            row(job=2, submit=100, run=9.25, allocated=-1, requested=16, user=12),
            row(job=3, submit=500, run=1, allocated=0, requested=2),
        )
    )
    assert trace.jobs == (
        Job(id="2", gpus=16, user="12", release=0, work=10),
        Job(id="1", gpus=4, user="7", release=400, work=60),
        Job(id="3", gpus=2, user="unknown", release=400, work=1),
    )
    assert trace.users == (User("12"), User("7"), User("unknown"))
    assert trace.name == "made"
    assert trace.origin == "2017-10-07 00:01:40 UTC"  # 1507334400 is that midnight
    assert str(trace.report) == "3 rows read, 3 jobs; out of order: 1 [line 8], sorted"


def test_logs_may_be_compressed_and_without_a_start(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(("; UnixStartTime: soon\n" + row()).encode()))
    trace = read_swf(path)
    assert (len(trace.jobs), trace.origin) == (1, None)


@pytest.mark.parametrize("status", [-1, 0, 1, 5])
def test_jobs_of_every_final_status_are_kept(tmp_path: Path, status: int) -> None:
    assert len(read_swf(log(tmp_path / "x.swf", row(status=status))).jobs) == 1


UNUSABLE = {
    "pieces 2": ({"job": 1, "status": 2}, "partial execution"),
    "pieces 3": ({"job": 1, "status": 3}, "partial execution"),
    "pieces 4": ({"job": 1, "status": 4}, "partial execution"),
    "submit": ({"submit": -1}, "unknown submission"),
    "run unknown": ({"run": -1}, "unknown run time"),
    "run zero": ({"run": 0}, "zero run time"),
    "processors unknown": ({"allocated": -1}, "no processors"),
    "processors zero": ({"allocated": 0, "requested": 0}, "no processors"),
}


@pytest.mark.parametrize(("fields", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_lines_are_counted_by_reason(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    trace = read_swf(log(tmp_path / "x.swf", row(job=1), row(**{"job": 2, **fields})))
    assert [job.id for job in trace.jobs] == ["1"]
    assert (trace.report.read, dict(trace.report.skipped)) == (2, {reason: 1})
    assert trace.report.places == {reason: ("line 6",)}


BAD = {
    "short": (" ".join("1" * 17), "line 5: 17 fields, not 18"),
    "long": (row() + " 0", "line 5: 19 fields, not 18"),
    "word": (row(run="long"), "line 5: run='long' is not a number"),
    "nan": (row(submit="nan"), "line 5: submit=nan is not finite"),
    "infinite": (row(run="inf"), "line 5: run=inf is not finite"),
    "negative": (row(submit=-5), "line 5: submit=-5 is below 0 and not -1 (unknown)"),
    "negative processors": (row(allocated=-2), "line 5: allocated=-2 is below 0 and not -1"),
    "unread field": (row(think="x"), "line 5: think='x' is not a number"),
    "half a processor": (row(allocated=1.5), "line 5: allocated=1.5 is not an integer"),
    "half a user": (row(user=0.5), "line 5: user=0.5 is not an integer"),
    "twice": (f"{row()}\n{row()}", "line 6: job='1' occurs at line 5 too, it is unique"),
}


@pytest.mark.parametrize(("line", "message"), BAD.values(), ids=BAD)
def test_malformed_lines_are_refused(tmp_path: Path, line: str, message: str) -> None:
    path = log(tmp_path / "x.swf", line)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")):
        read_swf(path)


def test_an_empty_file_is_refused_and_a_log_without_jobs_is_legal(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x\.swf: line 1: the file is empty"):
        read_swf(log(tmp_path / "x.swf", header=""))
    assert read_swf(log(tmp_path / "x.swf")).report.read == 0
