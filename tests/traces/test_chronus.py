"""The Chronus reader on files made here in the documented format, then on the real samples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gangsched.instances import Job, User
from gangsched.instances.traces import read_chronus

HEADER = (
    "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,"
    "expect_time_list,expect_value_list,best_effort,job_type"
)


def row(**fields: object) -> str:
    """A strict job of 2 GPUs and 20 minutes, but for `fields`."""
    given = {
        "job_id": 0, "user": "vc_a", "num_gpu": 2, "submit_time": 7, "iterations": 100,
        "model_name": "vgg16", "duration": 20, "interval": 5, "expect_time_list": "30",
        "expect_value_list": "10", "best_effort": 0, "job_type": "strict", **fields,
    }  # fmt: skip
    assert ",".join(given) == HEADER
    return ",".join(map(str, given.values()))


def text(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_minutes_become_seconds(tmp_path: Path) -> None:
    rows = [
        row(job_id=5, submit_time=12, duration=96, user="vc_b", job_type="best", best_effort=1),
        row(job_id=6, submit_time=7.5, num_gpu=1, job_type="soft", expect_time_list="30-40-50-60"),
        row(job_id=7, submit_time=12),
    ]
    trace = read_chronus(text(tmp_path / "mix.csv", HEADER, *rows))
    assert trace.jobs == (
        Job(id="6", gpus=1, user="vc_a", release=0, work=1200),
        Job(id="5", gpus=2, user="vc_b", release=270, work=5760),
        Job(id="7", gpus=2, user="vc_a", release=270, work=1200),
    )
    assert trace.users == (User("vc_a"), User("vc_b"))
    assert trace.origin is None
    assert str(trace.report) == (
        "3 rows read, 3 jobs; out of order: 1 [line 3], sorted; "
        "job_type of the jobs: best: 1, soft: 1, strict: 1"
    )


UNUSABLE = {
    "no gpus": ({"num_gpu": 0}, "no GPUs"),
    "zero": ({"duration": 0}, "zero duration"),
    "no submission": ({"submit_time": ""}, "unknown submission"),
    "no duration": ({"duration": "None"}, "unknown duration"),
}


@pytest.mark.parametrize(("fields", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_rows_are_counted_by_reason(
    tmp_path: Path, fields: dict[str, object], reason: str
) -> None:
    trace = read_chronus(text(tmp_path / "x.csv", HEADER, row(job_id=1), row(**fields)))
    assert [job.id for job in trace.jobs] == ["1"]
    assert (trace.report.skipped, trace.report.places) == ({reason: 1}, {reason: ("line 3",)})
    assert trace.report.notes == ("job_type of the jobs: strict: 1",)


BAD = {
    "column": (HEADER.replace("user", "owner"), row(), "line 1: column 'user' occurs 0 times"),
    "short": (HEADER, row()[:-7], "line 2: 11 fields, not the 12 of the header"),
    "id": (HEADER, f"{row()}\n{row()}", "line 3: job_id='0' occurs at line 2 too, it is unique"),
    "user": (HEADER, row(user=""), "line 2: user='' is empty, every job has one"),
    "type": (HEADER, row(job_type=""), "line 2: job_type='' is empty, every job has one"),
    "gpus": (HEADER, row(num_gpu="two"), "line 2: num_gpu='two' is not an integer"),
    "negative gpus": (HEADER, row(num_gpu=-2), "line 2: num_gpu=-2 is below 0"),
    "submission": (HEADER, row(submit_time=-1), "line 2: submit_time=-1 is below 0"),
    "duration": (HEADER, row(duration=-20), "line 2: duration=-20 is below 0"),
    "word": (HEADER, row(duration="1h"), "line 2: duration='1h' is not a number"),
}


@pytest.mark.parametrize(("header", "line", "message"), BAD.values(), ids=BAD)
def test_malformed_files_are_refused(tmp_path: Path, header: str, line: str, message: str) -> None:
    path = text(tmp_path / "x.csv", header, line)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")):
        read_chronus(path)


@pytest.mark.parametrize(("name", "no_gpus"), [("SLO", 205), ("MIX2", 194)])
def test_the_real_workloads(traces: Path, name: str, no_gpus: int) -> None:
    trace = read_chronus(traces / "chronus" / f"trace_job_Philly_{name}.csv.gz")
    assert trace.report.read == 30_940
    assert trace.report.skipped == {"no GPUs": no_gpus}
    works = [job.work or 0 for job in trace.jobs]
    assert (min(works), max(works)) == (20 * 60, 4_317 * 60)
    assert max(job.gpus for job in trace.jobs) == 32
    assert 13 * 86_400 < trace.jobs[-1].release <= (20_151 - 1) * 60
    assert len(trace.users) == 11
    note = next(note for note in trace.report.notes if note.startswith("job_type"))
    assert (", soft: " in note) == (name == "MIX2")
