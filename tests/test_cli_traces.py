"""The commands that deal with trace files: convert."""

from __future__ import annotations

from pathlib import Path

import pytest

from gangsched.cli import main
from gangsched.instances.traces import read_auto, read_swf

ROWS = """id,user,gpus,submit,duration
a,ann,2,2024-05-01T09:00:00,3600
b,bob,4,2024-05-01T09:10:00,60
c,bob,0,2024-05-01T09:10:00,60
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(ROWS)
    return tmp_path


def called(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(args)
    out, err = capsys.readouterr()
    code = caught.value.code
    assert isinstance(code, int)
    return code, out, err


# --- convert -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["new.csv", "new.csv.gz", "new.parquet"])
def test_a_trace_is_converted(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, err = called(capsys, "convert", "log.csv", name)
    assert (code, err) == (0, "")
    first, *notes, last = out.splitlines()
    assert first.startswith("log.csv: 3 rows read, 2 jobs, 1 skipped (no GPUs: 1 [line 4])")
    assert (notes, last) == ([], f"written: {name}")
    assert read_auto(folder / name).jobs == read_auto(folder / "log.csv").jobs


def test_what_swf_does_not_hold_is_printed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "out.swf").write_text("an older one")
    some = ("--columns", "priority=level")
    code, _, err = called(capsys, "convert", "log.csv", "out.swf", *some)
    assert (code, err.count("\n")) == (2, 1)
    assert (folder / "out.swf").read_text() == "an older one"
    rows = ROWS.replace("duration", "duration,level").replace("0\n", "0,3\n")
    (folder / "log.csv").write_text(rows)
    code, out, err = called(capsys, "convert", "log.csv", "out.swf", *some)
    assert (code, err) == (0, "")
    assert "- not kept: weight of 2 jobs\n" in out
    assert [job.gpus for job in read_swf(folder / "out.swf").jobs] == [2, 4]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("log.csv", "out.txt"), "out.txt: the name must end in one of .csv, .csv.gz, .parquet,"),
        (("log.csv", "log.csv"), "log.csv: would replace the input"),
        (("log.csv", "no/out.csv"), "no/out.csv: folder no does not exist"),
        (("none.csv", "out.csv"), "none.csv: No such file or directory"),
        (("log.csv", "out.csv", "--reader", "swf"), "log.csv: line 1: 1 fields, not 18"),
        (("log.csv", "out.csv", "--reader", "philli-csv"), "did you mean 'philly-csv'?"),
        (("log.csv", "out.csv", "--columns", "gpus=x"), "no column 'x' for gpus"),
        (("log.csv", "out.csv", "--reader-option", "tres=gpu"), "tres='gpu' does not list numbers"),
        (("empty.csv", "out.csv"), "empty.csv: there are no jobs to write: 0 rows read, 0 jobs"),
        (("log.csv",), "Missing argument"),
    ],
)
def test_a_conversion_that_cannot_be_gets_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], message: str
) -> None:
    (folder / "empty.csv").write_text(ROWS.splitlines()[0])
    code, out, err = called(capsys, "convert", *args)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["empty.csv", "log.csv"]
    assert (folder / "log.csv").read_text() == ROWS
