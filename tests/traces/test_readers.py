"""What holds of every reader, on files written in every format from the same rows."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched import testing
from gangsched.instances import Trace
from gangsched.instances.traces import READERS, recognise
from log_files import FORMATS, Line

LINES = st.builds(
    Line,
    submit=st.integers(0, 50),
    duration=st.integers(0, 4),
    gpus=st.integers(0, 9),
    user=st.sampled_from(["1", "2", "10"]),
)
ANY = pytest.mark.parametrize("name", FORMATS)
SEVERAL = [Line(5, 1, 1, "1"), Line(2, 0, 4, "2"), Line(3, 2, 2, "10"), Line(4, 1, 0, "1")]


def read(folder: Path, name: str, text: str) -> Trace:
    path = folder / "log"
    path.write_text(text, encoding="utf-8")
    return FORMATS[name].read(path)


def test_every_reader_is_covered() -> None:
    assert {*FORMATS, "auto", "parquet"} == set(READERS)  # these two: test_export.py


@ANY
@given(rows=st.lists(LINES, min_size=1, max_size=12))
def test_every_row_is_a_job_or_is_counted(
    tmp_path_factory: pytest.TempPathFactory, name: str, rows: list[Line]
) -> None:
    form = FORMATS[name]
    trace = read(tmp_path_factory.mktemp("x"), name, form.write(rows))
    kept = [(r, f"{form.prefix}{i}") for i, r in enumerate(rows, 1) if r.gpus and r.duration]
    first = min((r.submit for r, _ in kept), default=0)
    expected = [
        (id, 60 * (r.submit - first), 60 * r.duration, r.gpus, r.user if form.users else "")
        for r, id in sorted(kept, key=lambda item: item[0].submit)  # stable
    ]
    assert [(j.id, j.release, j.work, j.gpus, j.user) for j in trace.jobs] == expected
    users = sorted({r.user for r, _ in kept}) if form.users else []
    assert [user.id for user in trace.users] == users
    report = trace.report
    assert report.read == len(rows)
    assert sum(report.skipped.values()) == len(rows) - len(kept)
    assert set(report.skipped) <= {form.no_gpus, form.zero}
    certain = Counter(
        form.no_gpus if r.duration else form.zero for r in rows if bool(r.gpus) != bool(r.duration)
    )
    assert all(report.skipped[reason] >= count for reason, count in certain.items())
    assert {reason: len(places) for reason, places in report.places.items()} == {
        reason: min(3, count) for reason, count in report.skipped.items()
    }
    late = sum(b.submit < a.submit for (a, _), (b, _) in pairwise(kept))
    noted = [note for note in report.notes if note.startswith("out of order: ")]
    assert len(noted) == (late > 0)
    assert all(re.match(f"out of order: {late} ", note) for note in noted)


@ANY
def test_the_report_names_the_rows(tmp_path: Path, name: str) -> None:
    report = read(tmp_path, name, FORMATS[name].write(SEVERAL)).report
    offset = {"alibaba-pai": 1, "gavel": 1, "json": 1, "philly-json": 0}.get(name, 2)
    rows = [f"job[{i}]" if name == "philly-json" else f"line {i + offset}" for i in range(4)]
    assert report.places == {
        FORMATS[name].zero: (rows[1],),
        FORMATS[name].no_gpus: (rows[3],),
    }
    assert f"out of order: 1 [{rows[2]}], sorted" in report.notes


@ANY
@pytest.mark.parametrize("later", [7, 10_000, 600_000])  # minutes, so up to a year
def test_a_shift_of_all_times_changes_no_job(tmp_path: Path, name: str, later: int) -> None:
    shifted = [replace(line, submit=line.submit + later) for line in SEVERAL]
    one = read(tmp_path, name, FORMATS[name].write(SEVERAL))
    two = read(tmp_path, name, FORMATS[name].write(shifted))
    assert two.jobs == one.jobs
    assert [(row.start, row.end) for row in two.rows] == [(row.start, row.end) for row in one.rows]
    assert (two.submitted, two.steps, two.doubts) == (one.submitted, one.steps, one.doubts)
    assert dict(two.report.skipped) == dict(one.report.skipped)


@ANY
@pytest.mark.parametrize("times", [2, 60])
def test_a_scale_of_all_times_scales_all_jobs(tmp_path: Path, name: str, times: int) -> None:
    scaled = [
        replace(line, submit=times * line.submit, duration=times * line.duration)
        for line in SEVERAL
    ]
    one = read(tmp_path, name, FORMATS[name].write(SEVERAL))
    two = read(tmp_path, name, FORMATS[name].write(scaled))
    wanted = [(j.id, j.gpus, times * j.release, times * (j.work or 0), j.user) for j in one.jobs]
    assert [(j.id, j.gpus, j.release, j.work, j.user) for j in two.jobs] == wanted


@ANY
def test_logs_may_be_compressed(tmp_path: Path, name: str) -> None:
    text = FORMATS[name].write(SEVERAL)
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode()))
    assert FORMATS[name].read(tmp_path / "packed").jobs == read(tmp_path, name, text).jobs


@ANY
def test_every_reader_conforms(tmp_path: Path, name: str) -> None:
    path = tmp_path / "log"
    path.write_text(FORMATS[name].write(SEVERAL), encoding="utf-8")
    testing.check_reader(FORMATS[name].read, path)


@ANY
def test_auto_recognises_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / "log"
    path.write_text(FORMATS[name].write(SEVERAL), encoding="utf-8")
    assert recognise(path).reader == name


@ANY
@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str, text: str) -> None:
    message = "not JSON" if "json" in name else "line 1: the file is empty"
    with pytest.raises(ValueError, match=f"log: .*{message}"):
        read(tmp_path, name, text)


@ANY
def test_a_missing_file_is_an_os_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        FORMATS[name].read(tmp_path / "none")


@pytest.mark.parametrize(
    "name", [name for name, form in FORMATS.items() if form.ids and name != "sacct"]
)
def test_an_id_that_occurs_twice_is_refused(tmp_path: Path, name: str) -> None:
    text = FORMATS[name].write(SEVERAL)
    twice = (
        json.dumps(json.loads(text) + json.loads(text)[:1])
        if name == "philly-json"
        else text.rstrip("\n") + "\n" + text.splitlines()[1]
    )
    first, last = ("job[0]", "job[4]") if name == "philly-json" else ("line 2", "line 6")
    with pytest.raises(ValueError, match=re.escape(f"log: {last}: ")) as caught:
        read(tmp_path, name, twice)
    assert f"='1' occurs at {first} too, it is unique" in str(caught.value)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "csv"])  # reads any table
def test_wrong_columns_are_refused(tmp_path: Path, name: str) -> None:
    """The file of another format is not read as something else."""
    for other in FORMATS:
        if other != name:
            with pytest.raises(ValueError, match=re.escape(str(tmp_path / "log"))):
                read(tmp_path, name, FORMATS[other].write(SEVERAL))


@ANY
@given(data=st.data())
def test_damaged_files_are_refused_with_the_file_or_read(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """No exception but ValueError that begins with the file, whatever a character becomes."""
    text = FORMATS[name].write(SEVERAL)
    at = data.draw(st.integers(0, len(text) - 1))
    put = data.draw(st.sampled_from(["", "-", "x", ",", "|", "\t", "\n", '"', "9", "e5", "nan"]))
    folder = tmp_path_factory.mktemp("x")
    try:
        trace = read(folder, name, text[:at] + put + text[at + 1 :])
    except ValueError as error:
        assert str(error).startswith(str(folder / "log"))  # noqa: PT017
    else:
        assert len(trace.jobs) == trace.report.kept


#: columns of a submission and a duration in fractions of a second
FRACTIONS: dict[str, Callable[[float, float], dict[str, float]]] = {
    "alibaba": lambda submit, duration: {
        "creation_time": submit, "deletion_time": 10 + duration, "scheduled_time": 10
    },
    "chronus": lambda submit, duration: {"submit_time": submit / 60, "duration": duration / 60},
    "gavel": lambda submit, duration: {"arrival": submit, "total_steps": 2 * duration},
    "itp": lambda submit, duration: {"submission_time": submit, "duration": duration},
    "swf": lambda submit, duration: {"submit": submit, "run": duration},
}  # fmt: skip


@pytest.mark.parametrize("name", FRACTIONS)
def test_fractions_round_submissions_down_and_durations_up(tmp_path: Path, name: str) -> None:
    form, of = FORMATS[name], FRACTIONS[name]
    rows = [form.line(i, SEVERAL[0], **of(at, 2.1)) for i, at in enumerate((7.9, 6.5), 1)]
    trace = read(tmp_path, name, form.log(*rows))
    assert [(job.release, job.work) for job in trace.jobs] == [(0, 3), (1, 3)]


def test_fractions_of_durations_of_philly_are_rounded_up(tmp_path: Path) -> None:
    form = FORMATS["philly-csv"]
    (job,) = read(tmp_path, "philly-csv", form.log(form.line(1, SEVERAL[0], duration=2.1))).jobs
    assert job.work == 3


def test_an_error_of_the_arithmetic_costs_no_second(tmp_path: Path) -> None:
    assert 60 * 4.15 > 249  # by 3e-14, so that rounding up gives 250
    assert 60 * 2.05 < 123  # rounding down gives 122
    form, line = FORMATS["chronus"], Line(0, 1, 1, "1")
    rows = form.line(1, line, duration=4.15), form.line(2, line, submit_time=2.05)
    jobs = read(tmp_path, "chronus", form.log(*rows)).jobs
    assert [(job.release, job.work) for job in jobs] == [(0, 249), (123, 60)]


@pytest.mark.parametrize("name", [name for name in FORMATS if "json" not in name])
@pytest.mark.parametrize("number", ["1_0", "\u0663"])
def test_numbers_are_plain_digits(tmp_path: Path, name: str, number: str) -> None:
    """Python reads both; a log that has them is damaged."""
    text = FORMATS[name].write([Line(5, 1, 7777, "1")])
    rule = f"'[^']*{number}[^']*'.*(an integer|resources)|'{number}' is not a number"
    with pytest.raises(ValueError, match=rule):
        read(tmp_path, name, text.replace("7777", number))


@pytest.mark.parametrize("number", ["1e300", "1e308", "9" * 30])
@ANY
@given(data=st.data())
def test_no_number_is_too_large_for_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, name: str, number: str, data: st.DataObject
) -> None:
    text = FORMATS[name].write([Line(5, 1, 2, "1")])
    spans = [found.span() for found in re.finditer(r"(?<![\w.:-])\d+(\.\d+)?(?![\w.:-])", text)]
    at, to = data.draw(st.sampled_from(spans))
    folder = tmp_path_factory.mktemp("x")
    try:
        trace = read(folder, name, text[:at] + number + text[to:])
    except ValueError as error:
        assert str(error).startswith(str(folder / "log"))  # noqa: PT017
    else:
        assert all(job.gpus <= 10**6 and (job.work or 0) <= 10**11 for job in trace.jobs)
