"""The commands that deal with trace files: convert and traces."""

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from called import called
from command_line import assert_refused
from gangsched.instances.traces import catalogue, read_auto, read_swf, recognise
from gangsched.instances.traces.auto import HEAD
from gangsched.instances.traces.catalogue import TRACES, KnownFile

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


# --- traces --------------------------------------------------------------------------------------


def test_the_public_traces_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = called(capsys, "traces")
    assert (code, err) == (0, "")
    for trace in TRACES:
        part = next(p for p in out.split("\n\n") if p.startswith(f"{trace.name}: {trace.title}\n"))
        for label, text in trace.facts:
            assert f"\n{label}: {text}\n" in f"{part}\n"
        assert part.count("\n- ") == len(trace.files)
        assert all(file.sha256 in part for file in trace.files)


def test_a_file_is_told_to_be_one_of_them_or_not(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = called(capsys, "traces", "log.csv")
    assert (code, err) == (0, "")
    assert out == (
        "log.csv: no known file has its hash\n"
        "read with: --reader csv, as no published format has these columns\n"
    )
    own = KnownFile("jobs.csv", 2, hashlib.sha256(ROWS.encode()).hexdigest(), missing="the rest")
    trace = replace(TRACES[0], name="own", reader="csv", files=(own,))
    monkeypatch.setattr(catalogue, "TRACES", (trace,))
    (folder / "packed.gz").write_bytes(gzip.compress(ROWS.encode()))
    for name in ("log.csv", "packed.gz"):
        code, out, err = called(capsys, "traces", name)
        assert (code, err) == (0, "")
        assert out.startswith(f"{name} is of own (")
        assert f"jobs.csv: 2 rows, SHA-256 {own.sha256}, without the rest\n" in out
        assert "read with: --reader csv\n" in out


def test_a_letter_may_stand_across_the_end_of_what_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"x" * (HEAD - 1) + "ü\n".encode())
    assert recognise(path).reader == "csv"


def test_a_file_that_is_not_there_gets_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty").write_text("")
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "cut").write_bytes("ü".encode()[:1])
    for name, message in (
        ("none", "none: No such file"),
        ("empty", "line 1: the file is empty"),
        ("binary", "binary: byte 128 is not UTF-8 text"),
        ("cut", "cut: byte 0 is not UTF-8 text"),
    ):
        assert_refused(called(capsys, "traces", name), message)
