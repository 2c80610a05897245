"""Folders of tables: what is written comes back, what is not as it should be is refused."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import full_disk
from gangsched.instances import Schedule, Segment
from gangsched.instances.io import header
from gangsched.instances.tables import (
    columns_of,
    head_of,
    load_folder,
    load_schedule,
    save_folder,
    save_schedule,
)
from malformed import table
from strategies import schedules

SCHEDULE = Schedule.of(
    [Segment(0, 0, 4, {0: 2}), Segment(1, 4, 6, {0: 1, 3: 2}, ps={3: 1}), Segment(0, 7, 8, {1: 1})]
)
KINDS = {"id": str, "count": int, "share": float, "done": bool}
TABLE: dict[str, Any] = {
    "id": ["a", 'b,"\n', "ü\r"],
    "count": np.array([2**63 - 1, -5, 0]),
    "share": np.array([0.1, -0.0, 1e-320]),
    "done": np.array([True, False, True]),
}
suffix = pytest.mark.parametrize("suffix", [".csv", ".parquet"])


def saved(tmp_path: Path, suffix: str) -> Path:
    folder = tmp_path / f"x{suffix}"
    save_folder(folder, {**header("run"), "note": 1}, {"people": TABLE})
    return folder


def load(folder: Path) -> Any:
    return load_folder(folder, "run", {"people": KINDS})


@suffix
def test_tables_come_back(tmp_path: Path, suffix: str) -> None:
    head, tables = load(saved(tmp_path, suffix))
    assert head["note"] == 1
    assert list(tables["people"]) == list(TABLE)
    for name, column in TABLE.items():
        assert np.array_equal(tables["people"][name], column)
    assert np.asarray(tables["people"]["share"]).tobytes() == TABLE["share"].tobytes()  # sign of 0


@suffix
def test_empty_tables_come_back(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / f"x{suffix}"
    empty = {name: np.array(column)[:0] if name != "id" else [] for name, column in TABLE.items()}
    save_folder(folder, header("run"), {"people": empty})
    assert [len(column) for column in load(folder)[1]["people"].values()] == [0] * 4


@suffix
@given(schedule=schedules())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_schedules_come_back(tmp_path: Path, suffix: str, schedule: Schedule) -> None:
    path = tmp_path / f"plan{suffix}"
    save_schedule(path, schedule)  # over the one of the last example
    assert load_schedule(path) == schedule


@suffix
def test_bytes_are_the_same_each_time(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        save_schedule(tmp_path / f"{name}{suffix}", SCHEDULE)
    one, other = ([*sorted((tmp_path / f"{n}{suffix}").iterdir())] for n in ("a", "b"))
    assert [f.name for f in one] == [f.name for f in other]
    assert [f.read_bytes() for f in one] == [f.read_bytes() for f in other]


def test_a_csv_table_is_readable(tmp_path: Path) -> None:
    save_schedule(tmp_path / "plan.csv", SCHEDULE)
    assert (tmp_path / "plan.csv" / "segments.csv").read_text() == (
        '"job","start","end"\n0,0,4\n1,4,6\n0,7,8\n'
    )
    assert (tmp_path / "plan.csv" / "entries.csv").read_text() == (
        '"segment","node","gpus","ps"\n0,0,2,0\n1,0,1,0\n1,3,2,1\n2,1,1,0\n'
    )


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x\.txt: a folder of tables ends in \.parquet or \.csv"):
        save_schedule(tmp_path / "x.txt", SCHEDULE)
    assert not (tmp_path / "x.txt").exists()


def test_nothing_else_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("mine")
    with pytest.raises(ValueError, match=r"x\.csv: is a file, not a folder of tables"):
        save_schedule(file, SCHEDULE)
    folder = tmp_path / "y.csv"
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine")
    rule = "is no folder of tables to replace"
    with pytest.raises(ValueError, match=rf"y\.csv: holds 'thesis\.tex' and {rule}"):
        save_schedule(folder, SCHEDULE)
    assert file.read_text() == (folder / "thesis.tex").read_text() == "mine"


def test_what_an_interrupted_save_left_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "x.csv"
    save_schedule(folder, SCHEDULE)
    (folder / "schedule.json").unlink()
    with pytest.raises(ValueError, match=r"x\.csv: the folder has no schedule\.json"):
        load_schedule(folder)
    save_schedule(folder, SCHEDULE)
    assert load_schedule(folder) == SCHEDULE


def test_a_write_that_fails_leaves_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "x.csv"
    save_schedule(folder, SCHEDULE)
    full_disk.fill(monkeypatch)
    with pytest.raises(OSError, match="No space left") as error:
        save_schedule(folder, Schedule.of([Segment(0, 0, 4, {0: 2})]))
    assert error.value.filename == str(folder)
    assert load_schedule(folder) == SCHEDULE
    monkeypatch.undo()
    rename, targets = os.replace, []

    def half(source: Path, target: Path) -> None:
        targets.append(target)
        if len(targets) == 3:  # the head, the old folder, and now the new one
            raise PermissionError(1, "not now")
        rename(source, target)

    monkeypatch.setattr(os, "replace", half)
    with pytest.raises(PermissionError, match="not now"):
        save_schedule(folder, Schedule.of([Segment(0, 0, 4, {0: 2})]))
    assert load_schedule(folder) == SCHEDULE
    assert list(tmp_path.iterdir()) == [folder]


def test_files_of_others_in_a_folder_stay(tmp_path: Path) -> None:
    folder = tmp_path / "x.csv"
    save_folder(folder, header("schedule"), {}, {"more": b"1"})
    (folder / "note.txt").write_text("mine")
    save_folder(folder, header("schedule"), {}, {"more": b"2"})
    assert {f.name: f.read_text() for f in folder.iterdir() if f.suffix != ".json"} == {
        "more": "2",
        "note.txt": "mine",
    }
    save_folder(folder, header("schedule"), {}, {"more": None})
    assert sorted(f.name for f in folder.iterdir()) == ["note.txt", "schedule.json"]


def test_without_pyarrow_parquet_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_schedule(tmp_path / "x.parquet", SCHEDULE)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    rule = r"Parquet needs pyarrow: pip install gangsched\[parquet\]"
    with pytest.raises(ModuleNotFoundError, match=rf"y\.parquet: {rule}"):
        save_schedule(tmp_path / "y.parquet", SCHEDULE)
    assert not (tmp_path / "y.parquet").exists()
    with pytest.raises(ModuleNotFoundError, match=rf"x\.parquet: {rule}"):
        load_schedule(tmp_path / "x.parquet")
    save_schedule(tmp_path / "y.csv", SCHEDULE)
    assert load_schedule(tmp_path / "y.csv") == SCHEDULE


# --- files that are not as written ---------------------------------------------------------------


def test_a_missing_folder_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"x\.csv: no such folder"):
        load_schedule(tmp_path / "x.csv")


def test_the_kind_of_a_head_is_checked(tmp_path: Path) -> None:
    folder = saved(tmp_path, ".csv")
    with pytest.raises(ValueError, match=r"x\.csv: the folder has no schedule\.json"):
        load_schedule(folder)
    assert head_of(folder, "schedule", "run")["kind"] == "run"
    head = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**head, "version": 2}))
    with pytest.raises(ValueError, match=r"run\.json: version=2 is not supported, only 1 is"):
        load(folder)


@suffix
def test_missing_and_unknown_tables_are_named(tmp_path: Path, suffix: str) -> None:
    folder = saved(tmp_path, suffix)
    (folder / f"people{suffix}").unlink()
    with pytest.raises(ValueError, match=rf"table 'people' has no file people\{suffix}"):
        load(folder)
    with pytest.raises(ValueError, match=r"run\.json: tables: unknown field 'people'"):
        load_folder(folder, "run", {"jobs": KINDS}, optional={"jobs"})
    with pytest.raises(ValueError, match=r"run\.json: tables: field 'jobs' is missing"):
        load_folder(folder, "run", {"jobs": KINDS, "people": KINDS})


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [*table("refused_values")["csv"], ('"a"', "\udcff", r"utf-8")],
)
def test_broken_csv_is_refused(tmp_path: Path, old: str, new: str, rule: str) -> None:
    file = saved(tmp_path, ".csv") / "people.csv"
    text = file.read_bytes().decode()
    assert old in text
    file.write_bytes(text.replace(old, new, 1).encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=rf"people\.csv: {rule}" if rule != "utf-8" else rule):
        load(file.parent)


def other_parquet(file: Path, **columns: Any) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(file)
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, arrow.array(column))
    parquet.write_table(table, file)


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"count": [1.5, 2.0, 3.0]}, r"count is double with 0 nulls, not int64 without"),
        ({"count": [1, None, 3]}, r"count is int64 with 1 nulls, not int64 without"),
        ({"share": [1.0, float("nan"), 3.0]}, r"share holds what is not a finite number"),
    ],
)
def test_broken_parquet_is_refused(tmp_path: Path, columns: Any, rule: str) -> None:
    file = saved(tmp_path, ".parquet") / "people.parquet"
    other_parquet(file, **columns)
    with pytest.raises(ValueError, match=rf"people\.parquet: columns: {rule}"):
        load(file.parent)


def test_changed_parquet_is_refused(tmp_path: Path) -> None:
    file = saved(tmp_path, ".parquet") / "people.parquet"
    good = file.read_bytes()
    other_parquet(file, count=[1, 2, 3])
    with pytest.raises(ValueError, match=r"people\.parquet: its SHA-256 is not the one in run"):
        load(file.parent)
    file.write_bytes(good[: len(good) // 2])
    with pytest.raises(ValueError, match=r"people\.parquet: not Parquet: "):
        load(file.parent)


def test_entries_have_to_fit_their_segments(tmp_path: Path) -> None:
    good = {"segments": {"job": [0], "start": [0], "end": [4]}}
    for number in (1, -1):
        entries = {"segment": np.array([number]), "node": np.array([0]), "gpus": np.array([2])}
        tables: Any = {
            "segments": {name: np.array(column) for name, column in good["segments"].items()},
            "entries": {**entries, "ps": np.array([0])},
        }
        save_folder(tmp_path / "x.csv", header("schedule"), tables)
        rule = rf"entries: segment\[0\]={number} is not a number below 1, in rising order"
        with pytest.raises(ValueError, match=rf"x\.csv: {rule}"):
            load_schedule(tmp_path / "x.csv")
    tables["entries"]["segment"] = np.array([0])
    tables["segments"]["end"] = np.array([0])
    save_folder(tmp_path / "x.csv", header("schedule"), tables)
    with pytest.raises(ValueError, match=r"x\.csv: schedule: segment 0 of job 0: start=0 is not"):
        load_schedule(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("column", "values", "rule"),
    [
        ("count", 3, "count is not a list"),
        ("count", [True], r"count\[0\]=True is not a 64-bit integer"),
        ("count", [2**63], r"count\[0\]=9223372036854775808 is not a 64-bit integer"),
        ("share", ["1"], r"share\[0\]='1' is not a finite number"),
        ("done", [0], r"done\[0\]=0 is not true or false"),
        ("id", [3], r"id\[0\]=3 is not a string"),
        ("id", [], "columns have {'id': 0, 'count': 1, 'share': 1, 'done': 1} entries, not equal"),
    ],
)
def test_broken_columns_in_json_are_refused(column: str, values: Any, rule: str) -> None:
    good: dict[str, Any] = {"id": ["a"], "count": [1], "share": [1], "done": [True]}
    assert columns_of("here", good, KINDS)["share"].dtype == float  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=f"^here: {rule}"):
        columns_of("here", {**good, column: values}, KINDS)
