"""The catalogue of public traces, against the files that are held."""

import gzip
import hashlib
import re
from functools import partial
from pathlib import Path

import pytest

from gangsched import registry
from gangsched.instances.io import read_bytes, read_json
from gangsched.instances.traces import READERS, catalogue
from gangsched.instances.traces.catalogue import TRACES, KnownFile, KnownTrace, known_files


def test_each_trace_is_told_apart_and_has_a_reader() -> None:
    names = [trace.name for trace in TRACES]
    assert len(set(names)) == len(names)
    for trace in TRACES:
        assert trace.source.startswith("https://")
        if trace.reader:
            assert registry.reader(trace.reader.split()[0])[0] in READERS
        for file in trace.files:
            assert re.fullmatch(r"[0-9a-f]{64}|", file.sha256)
            assert file.sha256 or re.fullmatch(r"[0-9a-f]{7,40}", file.blob)
    hashes = [file.sha256 for trace in TRACES for file in trace.files if file.sha256]
    assert len(set(hashes)) == len(hashes)


def test_every_preset_and_published_format_is_there() -> None:
    read = {trace.reader.split()[0] for trace in TRACES if trace.reader}
    assert read == set(READERS) - {"auto", "csv", "json", "parquet", "sacct"}


def made(text: str) -> KnownTrace:
    raw = text.encode()
    file = KnownFile("jobs.csv", 1, hashlib.sha256(raw).hexdigest())
    # `git hash-object` of "a\n"
    blob = KnownFile("a", 1, blob="78981922613b")
    return KnownTrace(
        name="t", title="", jobs="", licence="", source="", download="", reader="itp",
        files=(file, blob),
    )  # fmt: skip


def test_a_file_is_known_however_it_is_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = made("one\ntwo\n")
    monkeypatch.setattr(catalogue, "TRACES", (trace,))
    plain, packed, other, git = (tmp_path / name for name in ("p", "z.gz", "o", "g"))
    plain.write_text("one\ntwo\n")
    packed.write_bytes(gzip.compress(b"one\ntwo\n", 1))
    other.write_text("one\ntwo")
    git.write_text("a\n")
    assert known_files(plain) == known_files(packed) == [(trace, trace.files[0])]
    assert known_files(other) == []
    assert known_files(git) == [(trace, trace.files[1])]


@pytest.mark.slow
def test_the_held_files_have_these_hashes_and_rows(traces: Path) -> None:
    paths = [path for path in traces.rglob("*") if path.is_file()]
    by_hash = {hashlib.sha256(read_bytes(path)).hexdigest(): path for path in paths}
    speeds = traces / "gavel_msr" / "steps_per_second.csv"
    physical = traces / "gavel_msr" / "simulation_throughputs.json.gz"
    for trace in TRACES:
        for file in trace.files:
            if file.rows is None or not file.sha256:  # as others say
                continue
            path = by_hash[file.sha256]
            assert (trace, file) in known_files(path)
            if not trace.reader:
                assert len(read_json(path)) == file.rows
                continue
            read = READERS[trace.reader.split()[0]]
            if trace.name.startswith("gavel"):
                own = physical if trace.name == "gavel-physical" else speeds
                read = partial(read, steps_per_second=own)
            assert read(path).report.read == file.rows, file.name


@pytest.mark.slow
def test_the_withheld_rows_are_those_that_are_told(traces: Path) -> None:
    """The published file has 82,247 rows, of which the hash's file lacks those of a rule."""
    (trace,) = (trace for trace in TRACES if trace.name == "philly-passed")
    published, held = trace.files
    assert (published.rows, held.rows) == (82_247, 69_089)
    found = READERS["philly-csv"](traces / "philly" / "philly.csv.gz")
    users = {user.id for user in found.users}
    assert not users & set(re.findall(r"\b[0-9a-f]{6}\b", held.missing))
    text = read_bytes(traces / "philly" / "philly.csv.gz").decode()
    days = set(re.findall(r"^(\d{4}-\d\d-\d\d) ", text, re.MULTILINE))
    first, last = re.findall(r"\d{4}-\d\d-\d\d", held.missing)
    assert not {day for day in days if first <= day <= last}
    assert {"2017-11-05", "2017-11-20"} <= days
