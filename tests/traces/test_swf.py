"""The SWF reader on logs made here in the documented format."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from gangsched.instances import Job, User
from gangsched.instances.traces import read_swf, write_trace
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


VARIANTS = {
    "fewer fields": (row().rsplit(" ", 1)[0], "lines of 17 fields, not 18: 1, the missing ones"),
    "five fields": ("1 0 0 60 4", "lines of 5 fields, not 18: 1, the missing ones are unknown"),
    "more fields": (f"{row()} 7 x", "lines of 20 fields, not 18: 1, the others are not read"),
    "not a number": (row(cpu="nan", memory="nan", wait="nan"), ""),
    "below 0": (row(requested_time=-2, wait=-5, think=-9), ""),
    "words": (row(think="x", executable="-"), ""),
    "a point": (" ".join(f"{field}.0" for field in row().split()), ""),
}


@pytest.mark.parametrize("what", VARIANTS)
def test_fields_that_are_not_used_do_not_matter(tmp_path: Path, what: str) -> None:
    line, note = VARIANTS[what]
    trace = read_swf(log(tmp_path / "x.swf", line, header="# made up\n"))
    assert [(job.id, job.gpus, job.work, job.limit) for job in trace.jobs] == [("1", 4, 60, None)]
    assert [found[: len(note)] for found in trace.report.notes] == [note] * bool(note)


def test_a_line_has_at_least_five_fields(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line 5: 4 fields, a line has 5 to 18"):
        read_swf(log(tmp_path / "x.swf", "1 0 0 60"))


@pytest.mark.parametrize(
    "start",
    ["1356996147", "1356996147 (Tue Jan 1 2013)", "1356996147.0", " 1356996147\t; midnight"],
)
@pytest.mark.parametrize("sign", "#;")
def test_a_start_may_be_explained(tmp_path: Path, start: str, sign: str) -> None:
    path = log(tmp_path / "x.swf", row(submit=60), header=f"{sign} UnixStartTime: {start}\n")
    assert read_swf(path).origin == "2012-12-31 23:23:27 UTC"


def test_submissions_may_be_since_1970(tmp_path: Path) -> None:
    rows = row(job=1, submit=1356996147), row(job=2, submit=1356996157)
    trace = read_swf(log(tmp_path / "x.swf", *rows, header=""))
    assert (trace.origin, trace.jobs[1].release) == ("2012-12-31 23:22:27 UTC", 10)


def test_limits_and_predecessors_are_kept(tmp_path: Path) -> None:
    rows = row(job=1, requested_time=90.5), row(job=2, preceding=1), row(job=3, preceding=3)
    jobs = read_swf(log(tmp_path / "x.swf", *rows)).jobs
    assert [(job.limit, job.after) for job in jobs] == [(91, ()), (None, ("1",)), (None, ())]


def test_they_are_written_too(tmp_path: Path) -> None:
    rows = row(job=7, submit=0, requested_time=90), row(job=9, submit=5, preceding=7)
    trace = read_swf(log(tmp_path / "x.swf", *rows))
    assert write_trace(tmp_path / "y.swf", trace) == ()
    back = read_swf(tmp_path / "y.swf").jobs
    assert [(job.limit, job.after) for job in back] == [(90, ()), (None, ("1",))]
    jobs = (trace.jobs[0], replace(trace.jobs[1], after=("7", "8")))
    lost = write_trace(tmp_path / "y.swf", replace(trace, jobs=jobs))
    assert lost == ("not kept: some of the jobs that come before 1 jobs",)


def test_a_log_without_jobs_is_legal(tmp_path: Path) -> None:
    assert read_swf(log(tmp_path / "x.swf")).report.read == 0
