"""What a stranger ran into with the three commands of the first minute."""

import sys
from pathlib import Path
from typing import Any

import pytest

from called import called

LOG = (
    "JobID;User;ReqGPUs;SubmitTime;StartTime;EndTime;State\n"
    "1;ann;8;2026-03-28T10:00:00+01:00;2026-03-28T10:00:00+01:00;2026-03-28T12:00:00+01:00;COMPLETED\n"
    "2;ben;4;2026-03-28T10:30:00+01:00;2026-03-28T11:00:00+01:00;2026-03-28T11:30:00+01:00;FAILED\n"
)
NODE = ("--nodes", "1", "--gpus-per-node", "8")


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text(LOG)

    return lambda name, *args: called(capsys, name, "jobs.csv", *args)


def test_describe_does_not_deny_what_is_recorded(call: Any) -> None:
    code, out, _ = call("describe")
    assert code == 0
    assert "when jobs began is recorded: a replay has the waits in its row recorded" in out
    assert "not recorded" not in out


def test_the_audit_names_the_clock_of_its_dates(call: Any) -> None:
    code, out, _ = call("audit", *NODE)
    assert code == 1
    assert "12 of 8 at second 3,601 (2026-03-28 10:00:01 UTC), for 30.0 min in all" in out


def test_half_a_cluster_is_no_cluster(call: Any) -> None:
    for half in (NODE[:2], NODE[2:]):
        code, _, err = call("audit", *half)
        assert code == 2
        assert "give --nodes and --gpus-per-node, or --cluster" in err


def test_the_missing_row_says_how_many_gpus_were_in_use(call: Any) -> None:
    code, out, _ = call("replay", *NODE, "--policies", "fifo", "--no-report")
    assert code == 0
    assert "see an audit: more GPUs in use than there are: 12 of 8 at second 3,601" in out


def test_without_pyarrow_there_is_one_line(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    code, _, err = call("convert", "jobs.parquet")
    assert code == 2
    assert err.count("\n") == 1
    assert "pip install gangsched[parquet]" in err
