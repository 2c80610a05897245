"""Tables that a careless reader gets wrong without noticing: read rightly, or refused in a line."""

import gzip
import re
import tracemalloc
from pathlib import Path

import pytest

from gangsched.instances import DeadlineJob, Trace, tables
from gangsched.instances.traces import export, read_auto, read_csv, read_parquet, recognise
from gangsched.instances.traces.presets import PRESETS


def read(folder: Path, header: str, *rows: str) -> Trace:
    path = folder / "log.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return read_csv(path)


def refused(folder: Path, message: str, header: str, *rows: str) -> None:
    """The message begins with the file, and is one line."""
    with pytest.raises(ValueError, match=f"^{re.escape(str(folder / 'log.csv'))}: ") as caught:
        read(folder, header, *rows)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# --- units ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("hours", ["gpu_hours", "gpus (h)", "gpu_s", "GPU min", "GpuHours"])
def test_gpu_hours_are_no_gpus(tmp_path: Path, hours: str) -> None:
    trace = read(tmp_path, f"id,submit,duration,num_gpus,{hours}", "a,0,3600,2,24")
    assert trace.jobs[0].gpus == 2
    assert f"not read: {hours}" in trace.report.notes
    refused(tmp_path, "no column for gpus; found: id", f"id,submit,duration,{hours}", "a,0,60,24")


def test_seconds_in_a_queue_are_no_user(tmp_path: Path) -> None:
    trace = read(tmp_path, "id,submit_s,runtime_h,gpus,queue_s", "a,0,2,2,24")
    assert (trace.jobs[0].user, trace.jobs[0].work) == ("", 7200)


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "works"),
    [
        (["1,5", "0,25"], [5400, 900]),
        (["0,250", "1,500"], [900, 5400]),  # no thousands begin with 0
        (["12345,125", "1,125"], [44442450, 4050]),
        (["1,234,567", "1,234"], [4444441200, 4442400]),
        (["1,234", "1.5"], [4442400, 5400]),  # a point is there already
        (["1,234.5", "2"], [4444200, 7200]),
    ],
)
def test_a_comma_is_what_it_can_be(tmp_path: Path, texts: list[str], works: list[int]) -> None:
    rows = [f'{i};{i};1;"{text}"' for i, text in enumerate(texts)]
    trace = read(tmp_path, "id;submit;gpus;runtime_h", *rows)
    assert [job.work for job in trace.jobs] == works


@pytest.mark.parametrize("texts", [["1,234"], ["86,400", "600"], ["1,234", "86,400"]])
def test_a_comma_that_may_be_both_is_refused(tmp_path: Path, texts: list[str]) -> None:
    rows = [f'{i},0,1,"{text}"' for i, text in enumerate(texts)]
    plain, point = texts[0].replace(",", ""), texts[0].replace(",", ".")
    rule = f"line 2: duration={texts[0]!r} may be {plain} or {point}: write it without a comma"
    refused(tmp_path, rule, "id,submit,gpus,duration", *rows)


def test_gpus_have_thousands_too(tmp_path: Path) -> None:
    header, rows = "id,submit,gpus,duration", ['a,0,"1,024",60', 'b,0,"1,024.0",60']
    assert [job.gpus for job in read(tmp_path, header, *rows).jobs] == [1024, 1024]
    refused(tmp_path, "line 2: gpus='1,024' may be 1024 or 1.024", header, rows[0])


# --- times ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "origin", "last"),
    [
        (["20240501", "20240502", "20240601"], "2024-05-01 00:00:00", 31 * 86400),
        (["20240501.0", "20240502.0"], "2024-05-01 00:00:00", 86400),
        (["2024050112", "2024050113"], "2024-05-01 12:00:00", 3600),
        (["202405011230", "202405011231"], "2024-05-01 12:30:00", 60),
        (["20240501123000", "20240501123001"], "2024-05-01 12:30:00", 1),
        (["20240501123000.5", "20240501123001.5"], "2024-05-01 12:30:00", 1),
        (["20240501T123000Z", "20240501T123001Z"], "2024-05-01 12:30:00 UTC", 1),
    ],
)
def test_dates_without_signs_are_dates(
    tmp_path: Path, texts: list[str], origin: str, last: int
) -> None:
    rows = [f"{i},{text},1,60" for i, text in enumerate(texts)]
    for name in ("submit", "start", "submitted_day"):
        trace = read(tmp_path, f"id,{name},gpus,duration", *rows)
        assert (trace.origin, trace.jobs[-1].release) == (origin, last)


@pytest.mark.parametrize(
    "text", ["202413011230", "99999999999", "5000000000", "20240230", "1e14", "1e19"]
)
def test_numbers_that_are_no_times_of_ours_are_refused(tmp_path: Path, text: str) -> None:
    refused(tmp_path, f"line 2: submit={text!r} is ", "id,submit,gpus,duration", f"a,{text},1,60")


def test_an_outlier_is_no_time_since_1970(tmp_path: Path) -> None:
    rows = ["a,1714550000,1,60", "b,1714550060,1,60", "c,1714550,1,60"]
    rule = "line 4: submit='1714550' is no time of 1990 to 2100 in s since 1970, as others there"
    refused(tmp_path, rule, "id,submit,gpus,duration", *rows)


def test_twenty_years_of_seconds_are_no_dates(tmp_path: Path) -> None:
    trace = read(tmp_path, "id,submit,gpus,duration", "a,100000000,1,60", "b,600000000,1,60")
    assert (trace.origin, trace.jobs[1].release) == (None, 500_000_000)
    trace = read(tmp_path, "id,submit_ms,gpus,duration", "a,0,1,60", "b,5000000000,1,60")
    assert (trace.origin, trace.jobs[1].release) == (None, 5_000_000)


def test_days_of_a_spreadsheet_are_refused(tmp_path: Path) -> None:
    header = "id,submit,gpus,duration"
    for texts in (["45413.5", "45414.5"], ["45413", "45500"]):
        rows = [f"{i},{text},1,60" for i, text in enumerate(texts)]
        rule = f"line 2: submit={texts[0]!r} may be days of a spreadsheet (2024-05-01) or seconds"
        refused(tmp_path, rule, header, *rows)
        assert read(tmp_path, header.replace("submit", "submit_s"), *rows).jobs[1].release < 90
    assert read(tmp_path, header, "a,0,1,60", "b,45413,1,60").jobs[1].release == 45413
    both = "id,submit,start,gpus,duration"
    assert read(tmp_path, both, "a,0,45413,1,60").rows[0].start == 45413


@pytest.mark.parametrize("zero", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+08:00"])
def test_the_zero_time_of_go_is_unknown(tmp_path: Path, zero: str) -> None:
    first, last = "2024-05-01T00:00:00Z", "2024-05-01T00:02:00Z"
    rows = [f"a,{first},{last},1,60", f"b,{zero},{zero},1,60", f"c,{first},{zero},1,60"]
    trace = read(tmp_path, "id,submit,end,gpus,duration", *rows)
    assert [(job.id, job.release) for job in trace.jobs] == [("a", 0), ("c", 0)]
    assert dict(trace.report.skipped) == {"unknown submission": 1}
    assert [row.end for row in trace.rows] == [120, None]


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-08:00", "9999-12-31", "1816-03-30"])
def test_times_of_other_millennia_are_refused(tmp_path: Path, text: str) -> None:
    rule = f"line 2: end={text!r} is not of the years 1900 to 2999"
    some = "2024-05-01T00:00:00" + text[19:] if len(text) > 19 else "2024-05-01"
    refused(tmp_path, rule, "id,submit,end,gpus,duration", f"a,{some},{text},1,60")


# --- durations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT90S", 90), ("pt1h30m", 5400), ("P1DT2H", 93600), ("P2D", 172800), ("PT0.5H", 1800),
        ("P1DT1H1M1.5S", 90062),
    ],
)  # fmt: skip
def test_durations_of_iso_8601(tmp_path: Path, text: str, seconds: int) -> None:
    trace = read(tmp_path, "id,submit,gpus,duration", f"a,0,1,{text}", "b,0,1,1h 30m")
    assert [job.work for job in trace.jobs] == [seconds, 5400]


@pytest.mark.parametrize("text", ["P2M", "P1Y", "P", "PT", "P1DT", "P1H", "PT1D", "2 months"])
def test_months_are_no_minutes(tmp_path: Path, text: str) -> None:
    rule = f"line 2: duration={text!r} is not a duration such as 90, 1:30:00, 1h 30m or PT90S"
    refused(tmp_path, rule, "id,submit,gpus,duration", f"a,0,1,{text}")


# --- recognised formats --------------------------------------------------------------------------

OWN = {
    "itp": (
        "job_id,submission_time,duration,num_gpu,user",
        ["1,1714550000000,60,2,ann", "2,1714550060000,60,2,bob"],
    ),
    "itp with dates": (
        "job_id,submission_time,duration,num_gpu,user",
        ["1,2024-05-01T08:00:00Z,60,2,ann", "2,2024-05-01T08:01:00Z,60,2,bob"],
    ),
    "philly-csv": (
        "job_id,timestamp,duration,num_gpus,cluster,user",
        ["1,2024-05-01T08:00:00Z,60,2,x,ann", "2,2024-05-01T08:01:00Z,60,2,y,bob"],
    ),
    "helios": (
        "job_id,vc,gpu_num,state,submit_time,duration,user",
        ["1,x,2,ok,2024-05-01T08:00:00Z,60,ann", "2,y,2,ok,2024-05-01T08:01:00Z,60,bob"],
    ),
    "alibaba-spot": (
        f"{','.join(PRESETS['alibaba-spot'].names)},cpu_request,user",
        ["1,x,1,2,1714550000,60,A10,HP,8,ann", "2,y,1,2,1714550060,60,A10,HP,8,bob"],
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_a_table_with_columns_of_its_own_is_of_no_published_format(
    tmp_path: Path, name: str
) -> None:
    header, rows = OWN[name]
    path = tmp_path / "log.csv"
    path.write_text("\n".join([header, *rows]))
    assert recognise(path).reader == "csv"
    trace = read_auto(path)
    assert [job.release for job in trace.jobs] == [0, 60]
    assert [job.user for job in trace.jobs] == ["ann", "bob"]


@pytest.mark.parametrize("columns", [(), ("num_iteration", "model_name", "deadline", "batch_size")])
def test_what_a_format_may_have_does_not_matter(tmp_path: Path, columns: tuple[str, ...]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(",".join(["num_gpu", "job_id", "submission_time", "duration", *columns]))
    assert recognise(path).reader == "itp"
    path.write_text(path.read_text() + ",duration")
    assert recognise(path).reader == "csv"


# --- deadlines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("submit", "deadline"),
    [
        ("2024-05-01T09:30:00+08:00", "2024-05-01 12:00:00"),
        ("2024-05-01 09:30:00", "2024-05-01T12:00:00Z"),
        ("10", "1714550000"),
        ("10", "2024-05-01 12:00:00"),
        ("2024-05-01 09:30:00", "1714550000"),
    ],
)
def test_deadlines_are_of_the_clock_of_submissions(
    tmp_path: Path, submit: str, deadline: str
) -> None:
    header, row = "id,submit,gpus,duration,due", f"a,{submit},1,60,{deadline}"
    path = tmp_path / "log.csv"
    path.write_text(f"{header}\n{row}\n")
    with pytest.raises(ValueError, match=f"^{path}: submit=submit .*; deadline=due .*: times on"):
        read_csv(path, columns="deadline=due")


@pytest.mark.parametrize(
    ("submit", "deadline"),
    [
        ("2024-05-01T09:30:00+08:00", "2024-05-01 01:40:00Z"),
        ("1714527000", "1714527600"),
        ("10", "10min"),
        ("1714527000", "600"),
        ("2024-05-01 09:30:00", "600"),
    ],
)
def test_deadlines_that_can_be_compared(tmp_path: Path, submit: str, deadline: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"id,submit,gpus,duration,due\na,{submit},1,60,{deadline}\n")
    (job,) = read_csv(path, columns="deadline=due").jobs
    assert isinstance(job, DeadlineJob)
    assert job.rewards == ((600, 100),)


# --- numbers beyond all limits -------------------------------------------------------------------

PLAIN = {"submit": "0", "start": "0", "end": "60", "duration": "60", "gpus": "1", "deadline": "90"}


@pytest.mark.parametrize("role", [*PLAIN, "submit_d", "duration_h"])
@pytest.mark.parametrize("number", ["1e300", "1e308", "2e12", "9" * 400 + "h"])
def test_what_nothing_can_hold_is_refused(tmp_path: Path, role: str, number: str) -> None:
    name = role.partition("_")[0]
    header = ["id", *(role if name == own else own for own in PLAIN)]
    row = ["a", *(number if name == own else text for own, text in PLAIN.items())]
    path = tmp_path / "log.csv"
    path.write_text(",".join(header) + "\n" + ",".join(row) + "\n")
    with pytest.raises(ValueError, match=f"^{path}: (line 2|submit=|start=)") as caught:
        read_csv(path, columns="deadline=deadline")
    assert "\n" not in str(caught.value)


def test_nodes_and_their_gpus_have_a_product(tmp_path: Path) -> None:
    rule = "line 2: GPUs: 1e+06 is above 1,000,000"
    header = "id,submit,duration,nodes,gpus_per_node"
    refused(tmp_path, "line 2: GPUs: inf is above 1,000,000", header, "a,0,60,1e200,1e200")
    refused(tmp_path, rule.replace("1e+06", "1.024e+06"), header, "a,0,60,1024,1000")


def test_a_job_that_cannot_be_has_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("id,submit,duration,gpus,job_weight\na,0,60,1,1\nb,0,60,1,0\n")
    with pytest.raises(ValueError, match=f"^{path}: line 3: job 'b': weight=0"):
        read_csv(path)


def test_a_column_of_parquet_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = ["id", "submit", "gpus", "duration", "gpus"]
    table = arrow.Table.from_arrays([arrow.array([1])] * len(names), names=names)
    parquet.write_table(table, tmp_path / "log.parquet")
    with pytest.raises(ValueError, match=r"log.parquet: column 'gpus' occurs 2 times"):
        read_parquet(tmp_path / "log.parquet")


# --- lines ---------------------------------------------------------------------------------------

BREAKS = ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("sign", BREAKS)
def test_other_signs_end_no_line(tmp_path: Path, sign: str) -> None:
    trace = read(tmp_path, "id,user,submit,gpus,duration", f"a,x{sign}y,0,1,60", "b,z,1,1,60")
    assert [job.user for job in trace.jobs] == [f"x{sign}y", "z"]
    path = tmp_path / "log.csv"
    header = "timestamp,duration,num_gpus,gpu_time,cluster"
    path.write_text(f"{header}\n2017-10-07 01:12:09,60,1,0,x{sign}y\n", encoding="utf-8")
    assert read_auto(path).jobs[0].user == f"x{sign}y"
    path.write_text(f"; x{sign}y\n1 0 -1 60 1{' -1' * 13}\n", encoding="utf-8")
    assert len(read_auto(path).jobs) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_ends_as_it_does_anywhere(tmp_path: Path, end: str) -> None:
    path = tmp_path / "log.csv"
    rows = ["id,user,submit,gpus,duration", "", 'a,"x\ny",0,1,60', "b,z,1,1,60", "b,z,1,1"]
    path.write_bytes(end.join(rows[:-1]).encode())
    trace = read_auto(path)
    assert [job.user for job in trace.jobs] == ["x\ny", "z"]
    assert [row.place for row in trace.rows] == ["line 4", "line 5"]
    path.write_bytes(end.join(rows).encode())
    with pytest.raises(ValueError, match="line 6: 4 fields, not the 5 of the header"):
        read_auto(path)


def test_a_name_of_two_lines_is_one_of_one_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('id;submit;"Num\nGPUs";"Run\r\nTime (h)";"a\nb"\na;0;2;1;x\n')
    trace = read_csv(path)
    assert (trace.jobs[0].gpus, trace.jobs[0].work) == (2, 3600)
    assert "not read: a b" in trace.report.notes
    refused(tmp_path, "found: id, a b", 'id,"a\nb"')


def test_columns_before_the_first_line_that_says_something(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("\n \nsep=;\nid;submit;gpus;duration\na;0;1;1,5 h\nb;0;1;60\n")
    with pytest.raises(ValueError, match="line 5: duration='1,5 h' is not a duration"):
        read_csv(path)


# --- values --------------------------------------------------------------------------------------


def test_not_available_is_unknown(tmp_path: Path) -> None:
    header = "id,user,submit,start,gpus,duration"
    trace = read(tmp_path, header, "a,N/A,0,N/A,1,60", "b,x,N/A,1,1,60", "c,x,0,1,N/A,60")
    assert [(job.id, job.user) for job in trace.jobs] == [("a", "unknown")]
    assert dict(trace.report.skipped) == {"unknown submission": 1, "unknown GPUs": 1}


def test_jobs_for_processors_only_are_skipped(tmp_path: Path) -> None:
    header, texts = "id,submit,duration,AllocTRES", ["billing=8,cpu=8,mem=64G,node=1", "gres/gpu=2"]
    rows = [f'{i},0,60,"{text}"' for i, text in enumerate(texts)]
    trace = read(tmp_path, header, *rows)
    assert [job.gpus for job in trace.jobs] == [2]
    assert dict(trace.report.skipped) == {"no GPUs": 1}


def test_nanoseconds_of_parquet_are_cut_off(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    first, second = 1_714_550_000 * 10**9 + 1, 10**9
    columns = {
        "id": ["a", "b"],
        "submit": arrow.array([first, first + 61 * second], arrow.timestamp("ns", "UTC")),
        "end": arrow.array([None, first + 99 * second], arrow.timestamp("ns", "UTC")),
        "duration": arrow.array([60 * second + 1, None], arrow.duration("ns")),
        "gpus": [1, 1],
    }
    parquet.write_table(arrow.table(columns), tmp_path / "log.parquet", version="2.6")
    trace = read_auto(tmp_path / "log.parquet")
    assert [(job.id, job.release, job.work) for job in trace.jobs] == [("a", 0, 60)]
    assert dict(trace.report.skipped) == {"unknown duration": 1}


# --- size ----------------------------------------------------------------------------------------


def test_a_table_has_so_many_rows_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "MOST_ROWS", 2)
    header, rows = "id,submit,gpus,duration", ["a,0,1,60", "b,0,1,60", "c,0,1,60"]
    assert len(read(tmp_path, header, *rows[:2]).jobs) == 2
    refused(tmp_path, "line 4: more than 2 rows", header, *rows)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "log.parquet"
    parquet.write_table(arrow.table({name: [1] * 3 for name in header.split(",")}), path)
    with pytest.raises(ValueError, match=f"^{path}: 3 rows, more than 2"):
        read_parquet(path)


def test_parquet_unpacks_to_a_gibibyte_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"id": list(range(9)), "submit": [0] * 9, "duration": [60] * 9, "gpus": [1] * 9}
    path = tmp_path / "log.parquet"
    parquet.write_table(arrow.table({**columns, "log": ["x" * 10**6] * 9}), path)
    monkeypatch.setattr(tables, "MOST_BYTES", 10**4)  # the log is not read
    assert len(read_parquet(path).jobs) == 9
    monkeypatch.setattr(tables, "MOST_BYTES", 9 * 4 * 8 - 1)
    with pytest.raises(ValueError, match=f"^{path}: unpacks to more than 287 bytes"):
        read_parquet(path)


@pytest.mark.slow
@pytest.mark.parametrize("names", ["id,submit,gpus", "job_id,submission_time,num_gpu"])
def test_empty_lines_take_little_memory(tmp_path: Path, names: str) -> None:
    path = tmp_path / "log.csv"
    lines = [f"{names},duration", *[""] * 2**20, "a,0,1,60"]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    tracemalloc.start()
    try:
        assert len(read_auto(path).jobs) == 1
        assert tracemalloc.get_traced_memory()[1] < 4 * 2**20  # bytes and text are half of it
    finally:
        tracemalloc.stop()
