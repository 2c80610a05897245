"""What is written reads the same, in each format and for any trace."""

import gzip
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports import EXPORTS, entries, write
from gangsched.instances import DeadlineJob, Job, ReadReport, RingJob, Trace, User
from gangsched.instances.traces import (
    LogRow,
    read_auto,
    read_csv,
    read_parquet,
    read_swf,
    write_trace,
)
from gangsched.instances.traces.trace import UNKNOWN

TABLES = ("t.csv", "t.csv.gz", "t.parquet")


def trace_of(jobs: list[Job], rows: Any = (), origin: str | None = None) -> Trace:
    users = tuple(map(User, sorted({job.user for job in jobs} - {""})))
    report = ReadReport(read=len(jobs))
    return Trace(name="t", jobs=jobs, users=users, origin=origin, rows=rows, report=report)


def kept(text: str) -> bool:
    return text == text.strip() and "\r" not in text and text not in UNKNOWN


NAMES = st.text(min_size=1, max_size=6).filter(kept)
ORIGINS = st.none() | st.builds(
    lambda time, utc: f"{time:%Y-%m-%d %H:%M:%S}{' UTC' * utc}",
    st.datetimes(datetime(1970, 1, 2), datetime(2900, 1, 1)),
    st.booleans(),
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Any trace that a reader may give: whatever is optional is there for all jobs or for some."""
    far = draw(st.sampled_from([10, 10**5, 10**9]))
    times = st.integers(0, far)
    ids = draw(st.lists(NAMES, min_size=1, max_size=8, unique=True))
    releases = sorted(draw(st.lists(times, min_size=len(ids) - 1, max_size=len(ids) - 1)))
    users = draw(st.just([""]) | st.lists(NAMES, min_size=1, max_size=3))
    pins = draw(st.just([""]) | st.lists(NAMES, min_size=1, max_size=2).map(lambda p: [*p, ""]))
    weights = draw(st.just([1.0]) | st.just([1.0, 0.1, 3e-7, 12345.678]))
    moments = draw(st.sampled_from([st.none(), st.none() | st.integers(-far, 2 * far)]))
    jobs = [
        Job(
            id=id,
            gpus=draw(st.integers(1, 10**6)),
            user=draw(st.sampled_from(users)),
            release=release,
            work=draw(st.integers(1, 10**7)),
            weight=draw(st.sampled_from(weights)),
            pin=draw(st.sampled_from(pins)),
        )
        for id, release in zip(ids, [0, *releases], strict=True)
    ]
    rows = [LogRow(f"row {i}", i, draw(moments), draw(moments)) for i in range(len(jobs))]
    return trace_of(jobs, draw(st.sampled_from([(), rows])), draw(ORIGINS))


def ran(trace: Trace) -> list[tuple[int | None, int | None]]:
    return [(row.start, row.end) for row in trace.rows] or [(None, None)] * len(trace.jobs)


@pytest.mark.parametrize("name", TABLES)
@given(trace=traces())
def test_a_table_gives_the_same_jobs(
    tmp_path_factory: pytest.TempPathFactory, name: str, trace: Trace
) -> None:
    path = tmp_path_factory.mktemp("x") / name
    assert write_trace(path, trace) == ()
    back = read_auto(path)
    assert back.jobs == trace.jobs
    assert back.users == trace.users
    assert back.origin == trace.origin
    assert ran(back) == ran(trace)
    assert dict(back.report.skipped) == {}
    read = read_parquet if "parquet" in name else read_csv
    assert read(path).jobs == trace.jobs


@given(trace=traces())
def test_swf_gives_the_same_jobs_but_for_names(
    tmp_path_factory: pytest.TempPathFactory, trace: Trace
) -> None:
    path = tmp_path_factory.mktemp("x") / "t.swf"
    lost = write_trace(path, trace)
    back = read_swf(path)
    assert read_auto(path).jobs == back.jobs
    lines = path.read_text().split("\n")
    names = dict(re.findall(r"; (Job \d+|User \d+): (.*)", "\n".join(lines)))
    assert [job.id for job in back.jobs] == [str(i + 1) for i in range(len(trace.jobs))]
    for job, own in zip(back.jobs, trace.jobs, strict=True):
        assert (job.gpus, job.release, job.work) == (own.gpus, own.release, own.work)
        assert (job.user == "unknown") == (not own.user)
        if own.id.isprintable():
            assert names.get(f"Job {job.id}", job.id) == own.id
        if own.user.isprintable() and own.user:
            assert names.get(f"User {job.user}", job.user) == own.user
    starts = [
        None if start is None or start < job.release else start
        for job, (start, _) in zip(trace.jobs, ran(trace), strict=True)
    ]
    assert [row.start for row in back.rows] == starts
    assert any("weight" in note for note in lost) == any(job.weight != 1 for job in trace.jobs)
    assert any("pin" in note for note in lost) == any(job.pin for job in trace.jobs)
    if trace.origin is None:
        assert back.origin is None
    else:
        assert back.origin == trace.origin.removesuffix(" UTC") + " UTC"


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_survives(tmp_path: Path, name: str, form: str) -> None:
    source = write(name, tmp_path, entries())
    read = read_parquet if source.suffix == ".parquet" else read_csv
    trace = read(source, columns=EXPORTS[name].columns or None)
    states = any(" of the jobs: " in note for note in trace.report.notes)
    assert write_trace(tmp_path / form, trace) == ("not kept: final states",) * states
    back = read_auto(tmp_path / form)
    assert (back.jobs, back.users, back.origin) == (trace.jobs, trace.users, trace.origin)
    assert ran(back) == ran(trace)


def test_swf_of_many_names_is_recognised(tmp_path: Path) -> None:
    """Its first fifty lines are comments."""
    trace = read_csv(write("plain", tmp_path, entries()))
    write_trace(tmp_path / "t.swf", trace)
    assert (tmp_path / "t.swf").read_text().split("\n")[49].startswith(";")
    assert len(read_auto(tmp_path / "t.swf").jobs) == 60


JOBS = [
    Job(id="a", gpus=2, user="ann", work=60),
    Job(id="b", gpus=8, user="bob", release=5, work=7),
]


def test_the_columns_and_the_same_bytes(tmp_path: Path) -> None:
    rows = [LogRow("line 2", 0, 3, 63), LogRow("line 3", 1)]
    trace = trace_of(JOBS, rows, "2024-05-01 09:00:00 UTC")
    for name in ("t.csv", "t.csv.gz", "u.csv.gz"):
        write_trace(tmp_path / name, trace)
    text = (tmp_path / "t.csv").read_text()
    assert text == (
        "id,user,gpus,submit,duration_s,start,end\n"
        "a,ann,2,2024-05-01T09:00:00Z,60,2024-05-01T09:00:03Z,2024-05-01T09:01:03Z\n"
        "b,bob,8,2024-05-01T09:00:05Z,7,,\n"
    )
    packed = (tmp_path / "t.csv.gz").read_bytes()
    assert gzip.decompress(packed).decode() == text
    assert packed == (tmp_path / "u.csv.gz").read_bytes()
    assert packed[4:8] == bytes(4)  # no time
    write_trace(tmp_path / "t.swf", trace)
    assert (tmp_path / "t.swf").read_text() == (
        "; Version: 2.2\n; Computer: t\n; UnixStartTime: 1714554000\n; MaxJobs: 2\n"
        "; MaxRecords: 2\n; Note: processors are GPUs, and jobs and users have numbers:\n"
        "; User 1: ann\n; User 2: bob\n; Job 1: a\n; Job 2: b\n"
        "1 0 3 60 2 -1 -1 2 -1 -1 -1 1 -1 -1 -1 -1 -1 -1\n"
        "2 5 -1 7 8 -1 -1 8 -1 -1 -1 2 -1 -1 -1 -1 -1 -1\n"
    )


@pytest.mark.parametrize("name", TABLES)
def test_seconds_of_many_years_are_not_taken_for_dates(tmp_path: Path, name: str) -> None:
    releases = (0, 100_000_001, 456_789_012)
    jobs = [Job(id=f"j{r}", gpus=1, release=r, work=60) for r in releases]
    rows = [LogRow("", i, r + 7) for i, r in enumerate(releases)]
    write_trace(tmp_path / name, trace_of(jobs, rows))
    back = read_auto(tmp_path / name)
    assert (back.jobs, back.origin) == (tuple(jobs), None)
    assert [row.start for row in back.rows] == [row.start for row in rows]


@pytest.mark.parametrize("name", TABLES)
def test_strict_deadlines_come_back(tmp_path: Path, name: str) -> None:
    made = {"gpus": 1, "work": 60}
    jobs: list[Job] = [
        DeadlineJob(id="strict", rewards=[(90, 100)], **made),
        DeadlineJob(id="best", **made),
    ]
    assert write_trace(tmp_path / name, trace_of(jobs)) == ()
    assert read_auto(tmp_path / name).jobs == tuple(jobs)
    assert write_trace(tmp_path / name, trace_of(jobs[1:])) == ()
    assert read_auto(tmp_path / name).jobs == tuple(jobs[1:])


LOST = {
    "soft": (
        [DeadlineJob(id="s", gpus=1, work=6, rewards=[(9, 100), (12, 50)], split_speed=0.5)],
        {
            ".csv": ["split_speed of 1 jobs", "deadlines after the first of 1 jobs"],
            ".swf": ["rewards of 1 jobs", "split_speed of 1 jobs"],
        },
    ),
    "cheap": (
        [DeadlineJob(id="s", gpus=1, work=6, rewards=[(9, 7)])],
        {".csv": ["rewards other than 100 of 1 jobs"], ".swf": ["rewards of 1 jobs"]},
    ),
    "ring": (
        [RingJob(id="r", gpus=1, work=6, iterations=3, gradient=1, base_time=2)],
        {".csv": [f"{part} of 1 jobs" for part in ("iterations", "gradient", "base_time")]},
    ),
    "plain": (
        [Job(id="p", gpus=1, work=6, weight=2, pin="v100", group="g", speeds={"v100": 2})],
        {
            ".csv": ["speeds of 1 jobs", "group of 1 jobs"],
            ".swf": [f"{part} of 1 jobs" for part in ("weight", "speeds", "group", "pin")],
        },
    ),
}


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name, (_, notes) in LOST.items() for form in notes]
)
def test_what_is_not_kept_is_told(tmp_path: Path, name: str, form: str) -> None:
    jobs, notes = LOST[name]
    told = write_trace(tmp_path / f"t{form}", trace_of(jobs))
    found = [note for note in told if note.startswith("not kept: ")]
    assert sorted(found) == sorted(f"not kept: {text}" for text in notes[form])


def test_what_no_job_holds_is_told_too(tmp_path: Path) -> None:
    some = trace_of([replace(JOBS[0], user="None"), JOBS[1]], origin="once upon a time")
    told = write_trace(tmp_path / "t.csv", replace(some, users=(User("ann", 3.0),)))
    assert told == (
        "not kept: the beginning, once upon a time",
        "not kept: weights and quotas of users",
        "1 jobs without a user read as those of 'unknown'",
    )
    assert [job.user for job in read_auto(tmp_path / "t.csv").jobs] == ["unknown", "bob"]
    rows = [LogRow("", 0, -4, 9), LogRow("", 1, 6, 99)]
    local = trace_of([replace(job, user="") for job in JOBS], rows, "2024-05-01 09:00:00")
    assert write_trace(tmp_path / "t.swf", local) == (
        "UnixStartTime: the clock of the trace is taken for UTC, as it names no zone",
        "not kept: starts before the submission of 1 jobs",
        "not kept: ends of 2 jobs, which are not their start and run time",
        "jobs without a user read as those of 'unknown'",
    )
    old = trace_of(JOBS, origin="1969-12-31 23:00:00 UTC")
    told = write_trace(tmp_path / "t.swf", old)
    assert told == ("not kept: the beginning, 1969-12-31 23:00:00 UTC",)
    assert read_swf(tmp_path / "t.swf").origin is None


def test_a_name_cannot_leave_its_comment(tmp_path: Path) -> None:
    evil = "x\n; UnixStartTime: 5\n1 2 3\u2028\x85\x1b"
    write_trace(tmp_path / "t.swf", trace_of([replace(JOBS[0], id=evil, user=evil)]))
    back = read_swf(tmp_path / "t.swf")
    assert (len(back.jobs), back.origin) == (1, None)


@pytest.mark.parametrize("field", ["id", "user", "pin"])
@pytest.mark.parametrize("text", [" a", "a\t", "a\rb", "\u2028b"])
def test_a_name_that_csv_would_change_is_refused(tmp_path: Path, field: str, text: str) -> None:
    trace = trace_of([replace(JOBS[0], **{field: text})])
    with pytest.raises(ValueError, match="CSV would not keep it"):
        write_trace(tmp_path / "t.csv", trace)
    assert not (tmp_path / "t.csv").exists()
    write_trace(tmp_path / "t.parquet", trace)
    assert getattr(read_auto(tmp_path / "t.parquet").jobs[0], field) == text


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("text", ["a\nb", "\u2028".join("ab"), "a\x0cb", 'a"\n"b', "a,b;c|d\te"])
def test_a_name_that_csv_keeps_comes_back(tmp_path: Path, name: str, text: str) -> None:
    trace = trace_of([replace(JOBS[0], id=text, user=text, pin=text), JOBS[1]])
    write_trace(tmp_path / name, trace)
    assert read_auto(tmp_path / name).jobs == trace.jobs


def test_a_job_without_a_run_time_and_an_ending_of_no_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="trace 't': job 'a': work=None, it has no run time"):
        write_trace(tmp_path / "t.csv", trace_of([replace(JOBS[0], work=None)]))
    with pytest.raises(ValueError, match=r"t\.txt: the name must end in one of \.csv, \.csv\.gz, "):
        write_trace(tmp_path / "t.txt", trace_of(JOBS))
    assert list(tmp_path.iterdir()) == []
