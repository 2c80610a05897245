"""Columns: one row in one table shows it in every view, and views agree."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from gangsched.analysis.comparing import comparison as comparing
from gangsched.analysis.comparing import replay as replaying
from gangsched.analysis.comparing.comparison import Comparison, compare
from gangsched.analysis.comparing.replay import Replay, replay
from gangsched.analysis.show import columns, replay_report, replay_tables
from gangsched.analysis.show.columns import Column, Section, Table, duration
from gangsched.analysis.show.replay_report import write_replay_report
from gangsched.analysis.show.report import write_report
from gangsched.formulations import RarDdls
from gangsched.instances import Cluster, Instance, Job, RingJob
from gangsched.screen import rich_table
from gangsched.solvers import Fifo, Srtf, first_fit
from gangsched.solvers.policy import Preempts


class Frame:
    """As much of a DataFrame as is used here: pandas is not needed to run the tests."""

    def __init__(self, data: dict[str, list[Any]]) -> None:
        self.data, self.attrs = data, {}

    def __getitem__(self, name: str) -> list[Any]:
        return self.data[name]


@pytest.fixture(autouse=True)
def _pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=Frame))


JOBS = [RingJob(id=id, gpus=1, iterations=4, gradient=0, base_time=0.9) for id in "abc"]
PROBLEM = RarDdls(Instance(Cluster.of_sizes([2]), JOBS))
INSTANCE = Instance(
    Cluster.of_sizes([2]), [Job(id=f"j{k}", gpus=1 + k % 2, work=90 * (k + 1)) for k in range(4)]
)
#: a number of its own that no other column has, of a solver and of a policy
SEGMENTS = Column(lambda row: 4_000 + len(row.result.solution), "odd\nsegments", "", -1, str)
STARTS = Column(lambda row: 5_000 + len(row.run.schedule), "odd\nstarts", "runs", -1, "{:,}".format)


def screen(table: Table) -> str:
    file = io.StringIO()
    Console(width=200, file=file).print(rich_table(table))
    return file.getvalue()


def test_a_column_of_solvers_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = (*columns.COMPARED, SEGMENTS)
    monkeypatch.setattr(columns, "COMPARED", more)
    monkeypatch.setattr(comparing, "COMPARED", more)  # the same table, by its other name
    found = compare(PROBLEM, {"first-fit": first_fit})
    assert "odd segments" in str(found).splitlines()[0]
    assert " 4003" in str(found).splitlines()[1]
    write_report(tmp_path / "r.html", found, title="T")
    for page in (found._repr_html_(), (tmp_path / "r.html").read_text("utf-8")):
        assert "odd segments</th>" in page
        assert ">4003</td>" in page
    (line,) = csv.DictReader(io.StringIO(found.table.csv()))
    assert line["odd_segments"] == "4003"
    assert json.loads(json.dumps(found.to_dict()))["rows"][0]["measures"] == {"odd_segments": 4003}
    assert found.to_frame()["odd_segments"] == [4003]
    shown = screen(found.table)
    assert "segments" in shown
    assert "4003" in shown


def test_a_column_of_policies_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = Section("Time", (*columns.TIME.columns, STARTS), columns.TIME.more)
    sections = (columns.JOBS, columns.DEADLINES, more, columns.FAIRNESS)
    for module in (columns, replaying, replay_tables):
        monkeypatch.setattr(module, "SECTIONS", sections)
    for module in (columns, replay_report, replay_tables):
        monkeypatch.setattr(module, "TIME", more)
    found = replay(INSTANCE, {"fifo": Fifo(), "srtf": Srtf()})
    values = [5_000 + len(run.schedule) for run in found.runs.values()]
    texts = [f"{value:,}" for value in values]
    head, *rows = str(found).split("\n\n")[1].splitlines()
    assert "odd starts (runs)" in head
    assert [row.split()[-1] for row in rows[:2]] == texts
    write_replay_report(tmp_path / "r.html", found, title="T")
    page = (tmp_path / "r.html").read_text("utf-8")
    line = page[page.index("<td>odd starts (runs)</td>") :]
    line = line[: line.index("</tr>")]
    assert [text in line for text in texts] == [True, True]
    assert ">odd starts (runs)</th>" in found._repr_html_()
    lines = list(csv.DictReader(io.StringIO(found.csv())))
    assert [int(line["odd_starts"]) for line in lines] == values
    data = json.loads(json.dumps(found.to_dict()))
    assert [row["measures"]["odd_starts"] for row in data["rows"]] == values
    assert found.to_frame()["odd_starts"] == values
    assert texts[0] in screen(replay_tables.tables(found)[0])


# --- every column --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solved() -> Comparison:
    return compare(PROBLEM, {"first-fit": first_fit, "broken": lambda problem: 1 / 0})


@pytest.fixture(scope="module")
def replayed() -> Replay:
    return replay(INSTANCE, {"fifo": Fifo(), "srtf": Srtf()})


def test_views_have_the_same_numbers(solved: Comparison, replayed: Replay) -> None:
    for table in (solved.table, replay_tables.whole_table(replayed)):
        keys = [column.key for column in table.columns]
        assert len(set(keys)) == len(keys)
        lines, data = list(csv.DictReader(io.StringIO(table.csv()))), table.to_frame().data
        for k, (record, line) in enumerate(zip(table.records(), lines, strict=True)):
            assert list(record) == list(line) == list(data) == keys
            for key, value in record.items():
                assert line[key] == ("" if value is None else str(value))
                assert data[key][k] == value


def test_every_measure_of_a_column_is_there(replayed: Replay) -> None:
    """A key that nothing has would be a dash in every view."""
    known = replayed.rows[0].values
    for section in (columns.JOBS, columns.TIME, columns.FAIRNESS):
        for column in section.every:
            assert column.key in known, column.key


def test_units_stand_once(solved: Comparison, replayed: Replay) -> None:
    """In the heading, or beside the number."""
    heads = [column.title for column in solved.table.columns]
    assert "makespan (slots)" in heads
    assert "runtime" in heads
    text = str(replayed)
    assert text.startswith("Replay: 4 jobs on 1 node, 2 GPUs\n\npolicy ")
    assert "mean completion" in text
    assert duration(replayed.rows[0].measures["makespan"] or 0) in text
    assert solved.to_frame().attrs["units"]["mean_completion"] == "slots"
    assert replayed.to_frame().attrs["units"]["mean_completion"] == "s"


def test_a_failed_policy_stands_in_the_table() -> None:
    class Raises:
        name = "raises"
        preempts = Preempts.NEVER

        def decide(self, state: Any) -> Any:
            raise KeyError("two\nlines")

    found = replay(INSTANCE, {"fifo": Fifo(), "raises": Raises()})
    times = str(found).split("\n\n")[1].splitlines()
    assert times[2].split() == ["raises", "failed"]
    assert "raises failed: " in str(found).splitlines()[-1]
    assert "two\nlines" not in str(found)


def test_without_pandas_there_is_one_line(
    solved: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"a DataFrame needs pandas: pip install pandas$"):
        solved.to_frame()
