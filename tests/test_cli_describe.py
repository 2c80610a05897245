"""`gangsched describe`: its tables, its files, and what it refuses."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from called import called

Describe = Callable[..., tuple[int, str, str]]


@pytest.fixture
def describe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Describe:
    """Run the command in this process, in a folder with the trace log.csv."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    rows = [(1, 100, "vc1"), (1, 4_000, "vc2"), (4, 50_000, "vc1"), (16, 300, "vc1"), (0, 9, "vc1")]
    lines = [f"2017-10-07 0{h}:00:00,{s},{g},{vc}" for h, (g, s, vc) in enumerate(rows)]
    Path("log.csv").write_text("\n".join(["timestamp,duration,num_gpus,cluster", *lines, ""]))

    return partial(called, capsys, "describe")


TRACE = ("log.csv", "--reader", "philly-csv")


def test_the_tables_are_shown(describe: Describe) -> None:
    code, out, err = describe(*TRACE)
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "log.csv: 4 jobs of 2 users in 0.1 days"
    assert lines[1].startswith("- 5 rows read, 4 jobs, 1 skipped (no GPUs: 1")
    # GPU seconds: 100, 4,000, 200,000, 4,800
    assert "all 4 100.0% 100.0% 50.0% 50.0% 75.0% 100.0% 100.0% 300 s 50,000 s" in lines
    assert "1 2 50.0% 2.0% 50.0% 50.0% 100.0% 100.0% 100.0% 100 s 4,000 s" in lines
    assert "over 8 1 25.0% 2.3% 100.0% 100.0% 100.0% 100.0% 100.0% 300 s 300 s" in lines
    assert not [line for line in lines if line.startswith("5–8")]  # there are none
    # vc1, in hours 0 to 3: 100 s of one GPU, nothing, 4 GPUs, 4 GPUs and 300 s of 16
    assert f"vc1 {(100 / 3_600 + 0 + 4 + 4 + 16 / 12) / 4:.1f} {4 + 16 / 12:.1f}" in lines
    assert lines[-1] == "waits and use are not recorded in a trace: a replay gives them"


def test_jobs_can_be_left_out(describe: Describe) -> None:
    code, out, err = describe(*TRACE, "--without", "7200..7201", "--without-users", "vc2")
    assert (code, err) == (0, "")
    heads = out.splitlines()
    assert heads[0] == "log.csv: 2 jobs of 1 user in 0.1 days"
    assert heads[1].startswith(
        "- 5 rows read, 2 jobs, 3 skipped (left out, submitted 7200..7201: 1,"
    )
    assert "left out, user vc2: 1, " in out


def test_the_files_are_written(describe: Describe) -> None:
    code, out, err = describe(*TRACE, "--json", "d.json", "--plot", "d.svg")
    assert (code, err) == (0, "")
    assert out.endswith("written: d.json, d.svg\n")
    data = json.loads(Path("d.json").read_text())
    assert (data["format"], data["kind"], data["version"]) == ("gangsched", "description", 1)
    assert [size["gpus"] for size in data["sizes"]] == [1, 4, 16]
    assert "not recorded in the trace;" in Path("d.svg").read_text()
    before = [Path(name).read_bytes() for name in ("d.json", "d.svg")]
    describe(*TRACE, "--json", "d.json", "--plot", "d.svg")
    assert before == [Path(name).read_bytes() for name in ("d.json", "d.svg")]
    assert describe(*TRACE, "--plot", "d.PNG")[0] == 0
    assert Path("d.PNG").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
