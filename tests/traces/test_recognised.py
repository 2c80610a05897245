"""What a file looks like, and what is wrong with it: each form by a line made up here."""

import io
import re
import zipfile
from pathlib import Path

import pytest

from command_line import called
from gangsched.instances.traces import read_auto, recognise
from gangsched.instances.traces.trace import UNKNOWN
from log_files import FORMATS, Line
from malformed import table

TABLE = table("recognised")


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("latin-1" if "\x00" in text or "\xff" in text else "utf-8"))
    return path


@pytest.mark.parametrize("what", TABLE["refused"])
def test_a_file_that_no_reader_takes_is_named(tmp_path: Path, what: str) -> None:
    text, message = TABLE["refused"][what]
    for suffix in ("", ".csv"):
        path = write(tmp_path / f"log{suffix}", text)
        with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")) as caught:
            read_auto(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("what", TABLE["read"])
def test_a_file_goes_to_its_reader(tmp_path: Path, what: str) -> None:
    text, reader = TABLE["read"][what]
    assert recognise(write(tmp_path / "log", text)).reader == reader


@pytest.mark.parametrize("name", ["word/document.xml", "xl/workbook.xml"])
def test_a_sheet_is_told_from_other_archives(tmp_path: Path, name: str) -> None:
    store = io.BytesIO()
    with zipfile.ZipFile(store, "w") as archive:
        archive.writestr(name, "x")
    (tmp_path / "log").write_bytes(store.getvalue())
    with pytest.raises(ValueError, match="Excel" if name.startswith("xl") else "zip archive"):
        recognise(tmp_path / "log")


def test_a_name_of_parquet_does_not_make_it(tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet", "XXXX")
    with pytest.raises(ValueError, match="one of Parquet, but it does not begin with PAR1"):
        recognise(path)


def test_a_header_of_sacct_may_lack_where_the_order_is_the_documented_one(tmp_path: Path) -> None:
    text = FORMATS["sacct"].write([Line(0, 1, 2, "1"), Line(3, 2, 4, "2")])
    whole, headless = write(tmp_path / "whole", text), tmp_path / "headless"
    write(headless, text.partition("\n")[2])
    assert read_auto(headless).jobs == read_auto(whole).jobs


def test_auto_hands_options_to_the_reader_of_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.trace").write_text(FORMATS["gavel"].write([Line(0, 1, 2, "1")]))
    Path("s.csv").write_text("job_type,steps_per_second\nA (batch size 1),2\n")
    option = "--reader-option", "steps_per_second=s.csv"
    code, out, _ = called(capsys, "describe", "a.trace", "--reader", "auto", *option)
    assert code == 0
    assert "format: gavel, as 7 columns without names" in " ".join(out.split())
    code, _, err = called(capsys, "describe", "a.trace")
    assert (code, "pass steps_per_second" in err) == (2, True)
    Path("x.csv").write_text("id,gpus,submit,runtime\n1,1,0,5\n")
    code, _, err = called(capsys, "describe", "x.csv", *option)
    assert (code, "does not go with its format, csv" in err) == (2, True)


#: a field of each format of which a row cannot be read where it is unknown
LACKING = {
    "acme": "end_time", "alibaba": "deletion_time", "alibaba-dlrm": "deletion_time",
    "alibaba-pai": "end_time", "alibaba-spot": "duration", "chronus": "duration",
    "csv": "runtime_min", "gavel": "total_steps", "helios": "duration", "itp": "duration",
    "json": "runtime_min", "philly-csv": "duration", "sacct": "AllocTRES",
    "supercloud": "time_end",
}  # fmt: skip


@pytest.mark.parametrize("name", LACKING)
def test_every_reader_knows_the_words_for_no_value(tmp_path: Path, name: str) -> None:
    form, line = FORMATS[name], Line(0, 1, 2, "1")
    words = sorted(UNKNOWN)
    assert {"<none>", "<nil>", "<unknown>", "NaT", "<NA>", "nan", "\\N", "-", "--"} <= {*words}
    rows = [form.line(i, line, **{LACKING[name]: word}) for i, word in enumerate(words)]
    (tmp_path / "log").write_text(form.log(*rows, form.line(len(words), line)))
    trace = form.read(tmp_path / "log")
    assert [job.work for job in trace.jobs] == [60]
    assert sum(trace.report.skipped.values()) == len(words)
