"""Columns: one row in one table shows it in every view, and views agree."""

import csv
import io
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gangsched.analysis.comparing.comparison import Comparison, Row, compare
from gangsched.analysis.comparing.replay import Replay, replay
from gangsched.analysis.show import columns, replay_report, replay_tables, results
from gangsched.analysis.show.columns import Column, ColumnTable, Limit, Section
from gangsched.analysis.show.replay_report import write_replay_report
from gangsched.analysis.show.report import write_report
from gangsched.analysis.show.solver_tables import solver_table, solver_words
from gangsched.formulations import CompletionTime, GpuMarket, LtgfFluid, LtgfRound, RarDdls
from gangsched.instances import Cluster, Instance, Job, RingJob, Schedule, Segment
from gangsched.screen import rich_table
from gangsched.solvers import Bound, Fifo, Srtf, first_fit
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
BOUND = Bound(3.0000000001, "hand")
INSTANCE = Instance(
    Cluster.of_sizes([2]), [Job(id=f"j{k}", gpus=1 + k % 2, work=90 * (k + 1)) for k in range(4)]
)
#: a number of its own that no other column has, of a solver and of a policy
SEGMENTS = Column(lambda row: 4_000 + len(row.result.solution), "odd\nsegments", "", -1, str)
STARTS = Column(lambda row: 5_000 + len(row.run.schedule), "odd\nstarts", "runs", -1, "{:,}".format)


def screen(table: ColumnTable) -> str:
    file = io.StringIO()
    Console(width=200, file=file).print(rich_table(table))
    return file.getvalue()


def test_a_column_of_solvers_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = (*columns.COMPARED, SEGMENTS)
    monkeypatch.setattr(columns, "COMPARED", more)
    monkeypatch.setattr(results, "COMPARED", more)  # the same table, by its other name
    found = compare(PROBLEM, {"first-fit": first_fit})
    assert "odd segments" in str(found).splitlines()[0]
    assert " 4003" in str(found).splitlines()[1]
    write_report(tmp_path / "r.html", found, title="T")
    for page in (found._repr_html_(), (tmp_path / "r.html").read_text("utf-8")):
        assert "odd segments</th>" in page
        assert ">4003</td>" in page
    (line,) = csv.DictReader(io.StringIO(found.csv()))
    assert line["odd_segments"] == "4003"
    assert json.loads(json.dumps(found.to_dict()))["rows"][0]["measures"] == {"odd_segments": 4003}
    assert found.to_frame()["odd_segments"] == [4003]
    shown = screen(solver_table(found))
    assert "segments" in shown
    assert "4003" in shown


def test_a_column_of_policies_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = Section("Time", (*columns.TIME.columns, STARTS), columns.TIME.more)
    sections = (columns.JOBS, columns.DEADLINES, more, columns.FAIRNESS)
    for module in (columns, results, replay_tables):
        monkeypatch.setattr(module, "SECTIONS", sections)
    for module in (columns, replay_report, replay_tables):
        monkeypatch.setattr(module, "TIME", more)
    found = replay(INSTANCE, {"fifo": Fifo(), "srtf": Srtf()})
    values = [5_000 + len(run.schedule) for run in found.runs.values()]
    texts = [f"{value:,}" for value in values]
    shown = replay_tables.tables(found, every=True)[0]
    head, *rows = str(shown).splitlines()
    assert "odd starts (runs)" in head
    assert [row.split()[-1] for row in rows[:2]] == texts
    write_replay_report(tmp_path / "r.html", found, title="T")
    page = (tmp_path / "r.html").read_text("utf-8")
    line = page[page.index("<td>odd starts (runs)</td>") :]
    line = line[: line.index("</tr>")]
    assert [text in line for text in texts] == [True, True]
    assert ">odd starts (runs)</th>" in shown._repr_html_()
    lines = list(csv.DictReader(io.StringIO(found.csv())))
    assert [int(line["odd_starts"]) for line in lines] == values
    data = json.loads(json.dumps(found.to_dict()))
    assert [row["measures"]["odd_starts"] for row in data["rows"]] == values
    assert found.to_frame()["odd_starts"] == values
    assert texts[0] in screen(shown)


# --- every column --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solved() -> Comparison:
    return compare(PROBLEM, {"first-fit": first_fit, "broken": lambda problem: 1 / 0})


@pytest.fixture(scope="module")
def replayed() -> Replay:
    return replay(INSTANCE, {"fifo": Fifo(), "srtf": Srtf()})


def test_views_have_the_same_numbers(solved: Comparison, replayed: Replay) -> None:
    for table in (solver_table(solved), replay_tables.whole_table(replayed)):
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
    heads = [column.title for column in solver_table(solved).columns]
    assert "makespan (slots)" in heads
    assert "runtime" in heads
    text = str(replayed)
    assert text.startswith(
        "Replay: 4 jobs on 1 node, 2 GPUs\nsrtf has the shortest mean completion, 7 min"
    )
    assert "certified ratio" in text
    assert solved.to_frame().attrs["units"]["mean_completion"] == "slots"
    assert replayed.to_frame().attrs["units"]["mean_completion"] == "s"


def test_a_bound_is_the_same_in_the_table_and_below_it() -> None:
    """Above what was proven, never below."""
    row = Row(solver="s", status="feasible", objective=1, bound=BOUND, ratio=BOUND.value, runtime=0)
    market = GpuMarket([2, 1], [[1.0, 2.0]])
    text = str(Comparison(problem=market, bound=BOUND, rows=(row,))).splitlines()
    assert text[1].split()[2] == "3.000000001"
    assert text[2] == "bound: 3.000000001 (hand, verified)"


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


# --- decimals ------------------------------------------------------------------------------------


def shape(text: str) -> str:
    """What stands behind the digits before the point: its decimals as zeros, and its unit."""
    return re.sub(r"\d", "0", re.sub(r"^[≥≤ -]*[\d,]*", "", text))


def number(text: str) -> float:
    """The value of a text, in seconds where it is a time."""
    found = re.fullmatch(r"[≥≤ ]*(-?[\d,.]+) ?(\w*)", text)
    assert found is not None
    return float(found[1].replace(",", "")) * columns.UNITS.get(found[2], 1)


def column_of(values: Sequence[float], write: Any, *limits: Limit) -> tuple[list[str], list[str]]:
    """The cells of one column below each other."""
    head = Column("name", "name"), Column("x", "x", "", 0, write)
    rows = tuple({"name": "a", "x": value} for value in values)
    below = tuple({"name": "any", "x": limit} for limit in limits)
    lines = str(ColumnTable(head, rows, (), below)).splitlines()[1:]
    texts = [line.partition("  ")[2].strip() for line in lines]
    assert len({len(line) for line in lines}) == 1  # so that the points stand below each other
    return texts[: len(values)], texts[len(values) :]


@pytest.mark.parametrize(
    ("write", "values", "texts"),
    [
        (columns.ten, [130, 133.75, 130.6930693], ["130.0000000", "133.7500000", "130.6930693"]),
        (columns.ten, [646, 702, 650.0], ["646", "702", "650"]),
        (columns.ten, [1e12, 0.5], ["1000000000000", "0"]),  # no more than ten digits
        (columns.six, [1, 1.2114096], ["1.00000", "1.21141"]),
        (columns.six, [0.0], ["0"]),
        (columns.six, [1.5, inf], ["1.5", "inf"]),
        (columns.whole, [34_540, 120.25], ["34,540.00", "120.25"]),
        (columns.lasting, [1_461_050, 88_000, 45_200], ["405.8 h", "24.4 h", "12.6 h"]),
        (columns.lasting, [64_440, 31_536], ["17.9 h", "8.8 h"]),
        (columns.lasting, [31_536, 18_000], ["8.76 h", "5.00 h"]),
        (columns.lasting, [64_440, 17_999], ["17.90 h", "5.00 h"]),
        (columns.lasting, [12_001, 3_001], ["200 min", "50 min"]),
        (columns.lasting, [45, 9_000], ["45 s", "9,000 s"]),
        (columns.lasting, [45, 20_000], ["0.75 min", "333.33 min"]),
        (columns.lasting, [3_600, 7_200], ["1 h", "2 h"]),
        (columns.lasting, [0, 90], ["0.00 min", "1.50 min"]),
        (columns.lasting, [0], ["0 s"]),
    ],
)
def test_a_column_has_one_unit_and_equally_many_decimals(
    write: Any, values: list[float], texts: list[str]
) -> None:
    assert column_of(values, write)[0] == texts


numbers = st.lists(st.floats(1e-3, 1e8), min_size=1, max_size=6)


@given(numbers, st.floats(0, 1), st.sampled_from([columns.ten, columns.whole, columns.lasting]))
def test_points_stand_below_each_other_and_limits_hold(
    values: list[float], part: float, write: Any
) -> None:
    least, most = part * min(values), max(values) / max(part, 0.01)
    texts, (low, high) = column_of(values, write, Limit("≥", least), Limit("≤", most))
    assert len({*map(shape, texts), shape(low), shape(high)}) == 1
    places, _, unit = shape(low).partition(" ")
    last = 10.0 ** -len(places.strip(".")) * columns.UNITS.get(unit, 1)
    for value, text in zip(values, texts, strict=True):
        assert abs(number(text) - value) <= 0.5 * last + 1e-9 * value
    tolerance = 1e-8 * last
    assert least - last - tolerance <= number(low) <= least + tolerance
    assert most - tolerance <= number(high) <= most + last + tolerance


def test_pages_align_the_same(tmp_path: Path, replayed: Replay) -> None:
    """Across policies too, where a column is a line."""
    (mean, *_), measure = columns.TIME.columns, columns.TIME.columns[0]
    texts, _ = measure.texts(replayed.rows)
    assert len(set(map(shape, texts))) == 1
    write_replay_report(tmp_path / "r.html", replayed, title="T")
    page = (tmp_path / "r.html").read_text("utf-8")
    page = page[page.index('id="measures"') :]
    line = page[page.index(f"<td>{mean.title}</td>") :]
    assert all(f"{text}<" in line[: line.index("</tr>")] for text in texts)


# --- words ---------------------------------------------------------------------------------------


def test_every_measure_is_explained_once(solved: Comparison, replayed: Replay) -> None:
    sections = (columns.TIME, columns.FAIRNESS, columns.DEADLINES)
    every = [c for section in sections for c in section.every]
    for column in (*every, *columns.COMPARED[1:], *columns.MEASURED):
        assert column.meaning, column.key
        assert not column.word or column.word in columns.WORDS or column.word == column.plain
        assert column.word in column.plain, column.key
    text = "\n".join(columns.explained(every))
    for line in text.splitlines():
        assert text.count(line) == 1
    assert all(f"\n{word}: " in text for word in columns.WORDS)


def test_a_word_has_a_footnote_where_it_first_has_a_number() -> None:
    rho = Column("x", "least rho", "", 1, columns.thousandth, "of all", "rho")
    gain = Column("y", "gain", "", 1, columns.six, "over a fair share", "gain")
    head = Column("name", "name")
    empty = ColumnTable((head, rho, gain), ({"name": "a"},))
    some = ColumnTable((head, gain, rho), ({"name": "a", "x": 0.5}, {"name": "b", "y": 1.5}))
    assert columns.footnotes([empty]) == []
    words = [f"rho: {columns.WORDS['rho']}", "gain: over a fair share"]
    assert columns.footnotes([empty, some, some]) == words[::-1]
    assert columns.explained(empty.columns) == [
        "least rho (more is better): of all", "gain (more is better): over a fair share", words[0]
    ]  # fmt: skip


def test_notes_of_a_comparison_are_of_words_that_occur() -> None:
    legend = ("value: of all", "true revenue: of some", "other: a relaxation")
    row = Row(solver="s", status="feasible", objective=1, runtime=0, measures={"least gain": 1.25})
    found = Comparison(
        problem=GpuMarket([2, 1], [[1.0, 2.0]]), bound=BOUND, rows=(row,), legend=legend
    )
    gain = "of a user, over its fair share of each GPU model"
    assert solver_words(found) == ["value: of all", f"least gain: {gain}"]
    assert str(found).splitlines()[-2:] == solver_words(found)
    assert solver_words(found, explain=True)[:3] == list(legend)
    assert f"least gain (more is better): {gain}" in solver_words(found, explain=True)
    other = replace(row, relaxation="other", measures={"least gain": None})
    assert solver_words(replace(found, rows=(other,))) == [legend[0], legend[2]]


# --- what else is printed ------------------------------------------------------------------------


def test_print_is_one_line_with_units(replayed: Replay) -> None:
    instance = Instance(Cluster.of_sizes([4, 4]), [Job(id="a", gpus=1, work=60)], name="one")
    market = GpuMarket([2, 1], [[1.0, 2.0]])
    round_ = LtgfRound(gpus=4, lease=9, attained=[0], fair=[0.0], share=[4.0], jobs=[(0, 2)])
    fluid = LtgfFluid.of(instance, [0])
    for text, thing in {
        "RarDdls: 3 jobs on 1 node, 2 GPUs; minimise makespan (slots)": PROBLEM,
        "Instance 'one': 1 job on 2 nodes, 8 GPUs": instance,
        "CompletionTime: 1 job on 2 nodes, 8 GPUs; minimise sum of completion times (seconds)": (
            CompletionTime(instance)
        ),
        "CompletionTime: 1 job on 2 nodes, 8 GPUs; minimise weighted sum of slowdowns": (
            CompletionTime(instance, "slowdown", weighted=True)
        ),
        "GpuMarket: 1 user of 3 GPUs of 2 models; maximise value": market,
        "GpuMarket: 1 user of 3 GPUs of 2 models; maximise least gain": (
            replace(market, aim="max-min")
        ),
        "LtgfRound: 1 job of 1 user, 4 GPUs; maximise least rho": round_,
        "LtgfFluid: 1 job on 8 GPUs; maximise least rho": fluid,
    }.items():
        assert str(thing) == text
    run = str(replayed.runs["fifo"])
    assert run == "fifo: 4 of 4 jobs finished by 960 s, 0 rejected, 4 segments (completed)"


def test_schedules_runs_and_results_are_frames(replayed: Replay) -> None:
    rows = [Segment(1, 4, 9, {0: 2, 2: 1}), Segment(0, 0, 4, {1: 1}, ps={1: 3})]
    schedule = Schedule.of(rows)
    assert schedule.to_frame().data == {
        "job": [1, 0], "start": [4, 0], "end": [9, 4], "gpus": [3, 1], "ps": [0, 3],
        "nodes": [[0, 2], [1]],
    }  # fmt: skip
    assert Schedule.of([]).to_frame().data["gpus"] == []
    run = replayed.runs["fifo"]
    data = run.to_frame().data
    assert list(data["id"]) == ["j0", "j1", "j2", "j3"]
    assert list(data["end"]) == run.records.end.tolist()
    assert len(data["user"]) == 4
    result = first_fit(PROBLEM)
    data = result.to_frame().data
    assert (data["solver"], data["objective"]) == (["first-fit"], [result.objective])


def test_notebooks_show_tables(replayed: Replay) -> None:
    schedule = Schedule.of([Segment(0, k, k + 1, {0: 1}) for k in range(500)])
    page = schedule._repr_html_()
    assert page.startswith("<table><thead><tr><th>job</th><th>start</th>")
    assert page.count("<tr>") < 30
    assert "500 segments" in page
    assert "Schedule(0 segments" in Schedule.of([])._repr_html_()
    page = replayed.runs["fifo"]._repr_html_()
    assert "<td>4 of 4 jobs finished by 960 s" in page
