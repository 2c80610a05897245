"""Slurm's resources: what counts as GPUs, the same in every reader."""

import re
from pathlib import Path

import pytest

from gangsched.instances import traces
from gangsched.instances.traces.tres import gpu_count, tres_ids
from malformed import table

TABLE = table("tres")
TEXTS = TABLE["counted"] | dict.fromkeys(TABLE["nothing"])
#: with resources 1001 and 1002 as GPUs
NUMBERED = TABLE["numbered"] | dict.fromkeys(TABLE["numbered_nothing"])
WRONG = TABLE["refused"]


@pytest.mark.parametrize("text", TEXTS)
def test_gpus_are_counted(text: str) -> None:
    assert gpu_count(text) == TEXTS[text]


@pytest.mark.parametrize("text", NUMBERED)
def test_numbers_stand_for_gpus_where_that_is_told(text: str) -> None:
    assert gpu_count(text, tres_ids("1001,1002")) == NUMBERED[text]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_resource_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(WRONG[text])}"):
        gpu_count(text)


@pytest.mark.parametrize("text", ["", "gpu", "1001;1002", "1001,", "-1", "²"])
def test_numbers_of_resources_are_listed_by_commas(text: str) -> None:
    with pytest.raises(ValueError, match="does not list numbers of resources, such as 1001,1002"):
        tres_ids(text)


HEADER = ["JobID", "User", "Submit", "Start", "End", "State", "AllocTRES"]
ROW = ["7", "ann", "2024-01-05T10:00:00", "2024-01-05T10:00:00", "2024-01-05T10:01:00", "FAILED"]


def log(path: Path, text: str, *more: str) -> Path:
    """A log of one job, for both readers."""
    path.write_text("\n".join("|".join(row) for row in ([*HEADER, *more], [*ROW, text, *more])))
    return path


@pytest.mark.parametrize("text", [*TEXTS, *NUMBERED, *WRONG])
def test_both_readers_understand_the_same(tmp_path: Path, text: str) -> None:
    path = log(tmp_path / "jobs.txt", text)
    told = "1001,1002" if text in NUMBERED else None
    both = traces.read_sacct, traces.read_csv
    if text in WRONG:
        for read in both:
            with pytest.raises(ValueError, match=f"line 2: AllocTRES={text!r} {WRONG[text][:20]}"):
                read(path)
        return
    found = [read(path, tres=told) for read in both]
    wanted = TEXTS.get(text) or NUMBERED.get(text)
    for trace in found:
        assert [job.gpus for job in trace.jobs] == ([wanted] if wanted else [])
        assert dict(trace.report.skipped) == ({} if wanted else {"no GPUs": 1})


def test_auto_hands_the_numbers_on_or_refuses_them(tmp_path: Path) -> None:
    path = log(tmp_path / "jobs.txt", "1=8,1001=2")
    with pytest.raises(ValueError, match=r"AllocTRES='1=8,1001=2' has resource 1001: say which"):
        traces.read_auto(path)
    assert traces.read_auto(path, tres="1001").jobs[0].gpus == 2
    assert traces.read_auto(path, tres="1001", columns="gpus=AllocTRES").jobs[0].gpus == 2
    other = tmp_path / "itp.csv"
    other.write_text("job_id,submission_time,duration,num_gpu\n1,0,60,2\n")
    with pytest.raises(ValueError, match="tres='1001' does not go with its format, itp"):
        traces.read_auto(other, tres="1001")
