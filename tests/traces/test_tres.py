"""Slurm's resources: what counts as GPUs, the same in every reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gangsched.instances import traces
from gangsched.instances.traces.tres import gpu_count, tres_ids

TEXTS = {
    "gres/gpu=4": 4,
    "gres/gpu:1g.5gb=2": 2,
    "gres/gpumem=80G,gres/gpuutil=100,gres/gpu=1": 1,
    "gres/gpu:4": 4,
    "gres:gpu:4": 4,
    "gres/gpu:a100=4": 4,
    "gpu": 1,
    "gpu:4": 4,
    "GPU:4": 4,
    "gpu:a100": 1,
    "gpu:a100:4": 4,
    "gpu:a100:2(S:0-1),gpu:v100:1(S:0)": 3,
    "gres/gpu:a100=3,gres/gpu:v100=2": 5,
    "gres/gpu:a100=3,gres/gpu=7": 7,
    "gpu:2080ti:4": 4,
    "gpu:3090:2": 2,
    "gpu:3090:2(S:0-1),gpu:4090:1": 3,
    "gres/gpu:1080ti=2": 2,
    "gres/gpu:3090=2": 2,
    "gres/gpu=4,gres/gpu:2080ti=4": 4,
    "gres/gpu:2080ti=4,gres/gpu=4": 4,
    "gpu:a100:2,gpu:a100:2": 4,
    "gres/gpu=0": 0,
    "cpu=8,mem=64G,node=1,billing=12,energy=0": None,
    "gres/mps=50,gres/shard:2,license/matlab@x=3,fs/disk=9,gres/gpumem=80G": None,
    "billing=8,gres/shard=1,gres/gpu=1,license/x=4": 1,
    ",cpu=8,": None,
    "N/A,cpu=8": None,
    "(null)": None,
    "1=8,2=64G,3=0,4=1,5=8,6=0,7=0,8=0": None,
}
#: with resources 1001 and 1002 as GPUs
NUMBERED = {
    "1=40,2=85000M,4=2,1002=4": 4,
    "1=40,1001=1,1002=2": 3,
    "1=40,1001=0": 0,
    "1=40,1003=9": None,
    "gres/gpu=2,1001=2": 2,
}
WRONG = {
    "x": "is not a number of GPUs, nor resources such as cpu=8,gres/gpu=4",
    "cpu=8,gpus": "is not a number of GPUs, nor resources",
    "cpu=8;gres/gpu=4": "is not a number of GPUs, nor resources",
    "8=": "is not a number of GPUs, nor resources",
    "gpu:3090:": "has GPUs that are not an integer",
    "gpu:-1": "has GPUs that are not an integer",
    "gpu:1K": "has GPUs that are not an integer",
    "gpu:2.5": "has GPUs that are not an integer",
    "gpu:": "has GPUs that are not an integer",
    "gres/gpu=-1": "has GPUs that are not an integer",
    "gres/gpu:a100=many": "has GPUs that are not an integer",
    "gres/gpu=1.5": "has GPUs that are not an integer",
    "1=4,1001=2": "has resource 1001: say which are GPUs, such as tres=1001",
}


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
