"""The comparison of recordings: what it sees, what it leaves out, and that the table is current."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recording
from recorded.digests import digest
from recorded.plain import columns, page, plain, tidy
from recording import (
    MISSING,
    Difference,
    differences,
    judge,
    named_differences,
    not_as_meant,
    stale,
)

OLD = {"run": {"end": [1, 2, 3.0], "ok": True, "text": "a 5", "none": None}, "more": {"x": 1}}


def changed(**run: Any) -> list[str]:
    return [str(found) for found in differences(OLD, {**OLD, "run": {**OLD["run"], **run}})]


def test_nothing_differs_from_itself_or_within_the_tolerance() -> None:
    assert list(differences(OLD, json.loads(json.dumps(OLD)))) == []
    assert changed(end=[1, 2, 3.0 * (1 + 5e-10)]) == []
    assert changed(end=[1, 2, 3]) == []


@pytest.mark.parametrize(
    ("run", "lines"),
    [
        ({"end": [1, 2, 3 * (1 + 3e-9)]}, ["run/end/2: 3.0 -> 3.000000009"]),
        ({"end": [1, 5, 3.0]}, ["run/end/1: 2 -> 5"]),
        ({"end": [1, 2]}, ["run/end/length: 3 -> 2"]),
        ({"end": {"0": 1}}, ["run/end: [1, 2, 3.0] -> {'0': 1}"]),
        ({"ok": 1}, ["run/ok: True -> 1"]),
        ({"ok": False}, ["run/ok: True -> False"]),
        ({"text": "a 6"}, ["run/text: 'a 5' -> 'a 6'"]),
        ({"none": 0}, ["run/none: None -> 0"]),
        ({"new": 7}, ["run/new: nothing -> 7"]),
    ],
)
def test_a_change_is_one_line_with_its_place(run: dict[str, Any], lines: list[str]) -> None:
    assert changed(**run) == lines


def test_large_integers_are_compared_exactly() -> None:
    assert list(differences([10**15], [10**15 + 1]))
    assert list(differences({"x": 1}, {})) == [Difference("x", 1, MISSING)]


def test_named_differences_are_left_out_and_have_to_occur() -> None:
    found = list(differences(OLD, {"run": {**OLD["run"], "ok": False, "text": "b"}, "more": {}}))
    named = {"run/*": "the run has changed", "gone/*": "nobody knows"}
    left, lines = judge(found, named)
    assert [difference.place for difference in left] == ["more/x"]
    assert lines == ["left out 2 x run/*: the run has changed"]
    assert stale(found, named) == ["gone/*"]


def test_what_differs_has_to_be_as_it_is_meant() -> None:
    found = list(differences({"a": [1, 2.0], "b": 1, "c": 0}, {"a": [1, 3.0], "b": 2}))
    meant = {"a/1": 3.0 + 1e-10, "b": 2, "c": "nothing"}
    assert not_as_meant(found, meant) == []
    assert [str(d) for d in not_as_meant(found, {**meant, "b": 3})] == ["b: 3 -> 2"]
    assert [str(d) for d in not_as_meant(found, {**meant, "d": 4})] == ["d: 4 -> 'as recorded'"]
    del meant["a/1"]
    assert [str(d) for d in not_as_meant(found, meant)] == ["a/1: 'as recorded' -> 3.0"]


def test_check_expects_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        tmp_path / name for name in ("old.json", "differences.md", "differing.json", "wide.json")
    ]
    for name, path in zip(("RECORDING", "DIFFERENCES", "DIFFERING", "WIDE"), files, strict=True):
        monkeypatch.setattr(recording, name, path)
    now = {"one": {"x": 2, "y": [1]}, "other": 5, "many": {"case": "ab12"}}
    entries = {name: lambda folder, name=name: now[name] for name in now}
    monkeypatch.setattr(recording, "chosen", lambda names: {n: entries[n] for n in names or now})
    files[0].write_text('{"one": {"x": 1, "y": [1]}, "other": 5}')
    files[3].write_text('{"many": {"case": "ab12"}}')
    files[1].write_text("| `*/x` | x is two now |\n")
    assert recording.main(["keep"]) == 0
    assert json.loads(files[2].read_text()) == {"one/x": 2}
    assert recording.main(["check"]) == 0
    now["one"]["x"] = 3
    assert recording.main(["check", "other"]) == 0
    assert recording.main(["check", "--first"]) == 1
    assert "one/x: 2 -> 3\n1 differences" in capsys.readouterr().out
    now["many"]["case"] = "cd34"
    assert recording.main(["check", "many"]) == 1
    assert "many/case: 'ab12' -> 'cd34'" in capsys.readouterr().out
    now["many"]["case"] = "ab12"
    now["one"]["x"] = 1
    assert recording.main(["check"]) == 1
    assert "one/x: 2 -> 'as recorded'" in capsys.readouterr().out


def test_the_table_of_differences_gives_patterns_and_reasons() -> None:
    head = "| place | reason |\n| --- | --- |\n"
    assert named_differences(f"{head}| `a/*` | it is new |\n") == {"a/*": "it is new"}
    with pytest.raises(ValueError, match="no reason"):
        named_differences(f"{head}| `a/*` | |\n")
    named_differences(recording.DIFFERENCES.read_text("utf-8"))


@pytest.mark.parametrize("reason", ["", "| `more/*` | x is not told any more |\n"])
def test_comparing_files_fails_on_what_is_not_named(
    reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / name for name in ("old.json", "new.json", "differences.md")]
    for path, data in zip(files, (OLD, {**OLD, "more": {}}), strict=False):
        path.write_text(recording.written(data))
    files[2].write_text(reason)
    monkeypatch.setattr(recording, "DIFFERENCES", files[2])
    assert recording.main(["compare", str(files[0]), str(files[1])]) == (0 if reason else 1)
    out = capsys.readouterr().out
    assert ("left out 1 x more/*" in out) == bool(reason)
    assert ("more/x: 1 -> nothing" in out) != bool(reason)
    assert recording.main(["compare", str(files[0]), str(files[0])]) == (1 if reason else 0)
    assert ("but does not differ" in capsys.readouterr().out) == bool(reason)


def test_what_is_written_is_read_again() -> None:
    data = {"a": [{"b": "é" * 120}, [1.5, None, True], "x"] * 9, "c": {}, "d": [], "e": [[]] * 99}
    text = recording.written(data)
    assert json.loads(text) == data
    assert max(map(len, text.splitlines())) < 140


def test_plain_results_show_changes_of_long_columns_and_of_order() -> None:
    known = plain(np.arange(100))
    assert known == plain(tuple(range(100)))
    assert known[:2] == ["100 numbers", 4950.0]
    assert known != plain(np.roll(np.arange(100), 1))
    other = np.arange(100.0)
    other[50] += 1e-3
    assert list(differences(known, plain(other)))
    assert plain({"runtime": 3.0, "path": "/tmp/x/a"}, "/tmp/x") == {"path": "FOLDER/a"}
    assert plain("a" * 200 + "b") != plain("a" * 200 + "c")
    with pytest.raises(TypeError, match="cannot be recorded"):
        plain(object())


def test_check_sums_name_the_case_and_show_its_numbers(tmp_path: Path) -> None:
    one = digest([3, 0.1 + 0.2, {"a": [1.0]}], tmp_path)
    assert one == digest([3, 0.3, {"a": [1.0]}], tmp_path)
    assert one.split()[1:] == ["3", "0.3"]
    assert len(one.split()[0]) == 12
    for other in ([3, 0.3, {"a": [2.0]}], [3, 0.300001, {"a": [1.0]}], [3, 0.3, {"b": [1.0]}]):
        assert digest(other, tmp_path).split()[0] != one.split()[0]


def test_rows_become_columns() -> None:
    rows = [{"a": k, "b": {"c": -k}} for k in range(3)]
    assert columns(rows) == {"a": [0, 1, 2], "b": {"c": [0, -1, -2]}}
    assert columns([{"a": 1}, {"b": 1}, {"c": 1}]) == [{"a": 1}, {"b": 1}, {"c": 1}]
    assert columns([{"a": 1}, {"a": 1, "b": 2}, {"a": 3}])["b"] == ["-", 2, "-"]
    assert columns([{"a": 1}] * 4) == {"each": {"a": 1}, "of": 4}


def test_texts_are_without_seconds_and_rulers() -> None:
    assert tidy("a   1.234 s \n ───── \n\nb  12 s") == ["a SECONDS", "b 12 s"]
    html = "<h1>T</h1><p>x <b>2.5</b></p><svg aria-label='p'><text>no</text></svg><style>q</style>"
    assert page(html)["lines"] == ["T", "x 2.5 [p]"]
    assert page(html)["tags"]["svg"] == 1


@pytest.mark.slow
def test_nothing_differs_that_is_not_named() -> None:
    command = [sys.executable, recording.__file__, "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
