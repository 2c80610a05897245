"""The SWF reader on logs made here in the documented format."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gangsched.instances import Job, User
from gangsched.instances.traces import read_swf
from log_files import FORMATS

HEADER = """; Version: 2.2
; Computer: made up
; UnixStartTime: 1507334400
; MaxProcs: 64
"""
row = FORMATS["swf"].row


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


def test_a_log_without_jobs_is_legal(tmp_path: Path) -> None:
    assert read_swf(log(tmp_path / "x.swf")).report.read == 0
