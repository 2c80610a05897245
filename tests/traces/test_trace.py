"""A trace accounts for every row; reader names lead to readers."""

import pickle

import pytest

from gangsched.instances import Job, ReadReport, Trace, traces


def test_readers_by_name() -> None:
    names = {name: f"read_{name.replace('-', '_')}" for name in traces.READERS}
    assert dict(traces.READERS) == {name: getattr(traces, names[name]) for name in names}
    others = {"read_vc_sizes", "read_alibaba_nodes"}  # which return no trace
    assert {n for n in vars(traces) if n.startswith("read_")} == {*names.values()} | others


def test_the_report_is_one_line_with_the_largest_reason_first() -> None:
    report = ReadReport(read=2000, skipped={"no GPUs": 3, "zero duration": 9}, notes=("note",))
    assert report.kept == 1988
    assert str(report) == (
        "2,000 rows read, 1,988 jobs, 12 skipped (zero duration: 9, no GPUs: 3); note"
    )


def test_the_report_shows_where_the_rows_of_a_reason_are() -> None:
    report = ReadReport(
        read=20,
        skipped={"no GPUs": 3, "zero duration": 4, "unknown duration": 1},
        places={
            "no GPUs": ["line 2", "line 3", "line 5"],
            "zero duration": ["line 7", "line 8", "line 9"],
        },
    )
    assert report.places["no GPUs"] == ("line 2", "line 3", "line 5")
    assert str(report) == (
        "20 rows read, 12 jobs, 8 skipped (zero duration: 4 [line 7, line 8, line 9, ...], "
        "no GPUs: 3 [line 2, line 3, line 5], unknown duration: 1)"
    )


def test_traces_survive_pickling() -> None:
    report = ReadReport(read=2, skipped={"no GPUs": 1}, places={"no GPUs": ("line 2",)})
    trace = Trace(name="t", jobs=(Job(id="a", gpus=1),), report=report)
    assert pickle.loads(pickle.dumps(trace)) == trace


def test_a_report_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"skipped=\{'x': 3\} exceeds read=2"):
        ReadReport(read=2, skipped={"x": 3})
    with pytest.raises(ValueError, match="has a count below 1"):
        ReadReport(read=2, skipped={"x": 0})
    with pytest.raises(ValueError, match=r"places\['x'\]=\('a', 'b'\) exceeds skipped=1"):
        ReadReport(read=2, skipped={"x": 1}, places={"x": ["a", "b"]})
    with pytest.raises(ValueError, match=r"places\['y'\]=\('a',\) exceeds skipped=0"):
        ReadReport(read=2, skipped={"x": 1}, places={"y": ["a"]})


def test_no_row_may_be_lost() -> None:
    with pytest.raises(ValueError, match="trace 't': 1 jobs, but the report has kept=2"):
        Trace(name="t", jobs=(Job(id="a", gpus=1),), report=ReadReport(read=2))


def test_jobs_are_sorted_by_release() -> None:
    jobs = (Job(id="a", gpus=1, release=5), Job(id="b", gpus=1))
    with pytest.raises(ValueError, match="trace 't': jobs are not sorted by release"):
        Trace(name="t", jobs=jobs, report=ReadReport(read=2))
