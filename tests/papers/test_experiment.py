"""Cells, the runner of all figures, and what an experiment makes of what they give."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from figure_cells import LOG, broken, cells, process_id, reciprocal, slow_square, square, toy
from gangsched.analysis.papers import experiment, reproduce
from gangsched.analysis.papers.experiment import (
    FigureCell,
    given,
    run_cells,
    seed_means,
)
from gangsched.analysis.papers.study import Agreement, FigureRow
from gangsched.solvers import Fifo


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "log"
    path.touch()
    monkeypatch.setenv(LOG, str(path))
    return path


def ran(log: Path) -> list[int]:
    return sorted(map(int, log.read_text().split()))


# --- cells ---------------------------------------------------------------------------------------


def test_the_key_of_a_cell_is_what_its_outcome_depends_on() -> None:
    a = FigureCell(instance="a", policy="p", run=square, workload=1, make=partial(Fifo))
    same = experiment.replace(a, instance="b", policy="q", x=3, seed=4)
    assert a.key == same.key
    for other in (
        FigureCell(instance="a", policy="p", run=reciprocal, workload=1, make=partial(Fifo)),
        FigureCell(instance="a", policy="p", run=square, workload=2, make=partial(Fifo)),
        FigureCell(instance="a", policy="p", run=square, workload=1, make=partial(Fifo, 2)),
        FigureCell(instance="a", policy="p", run=square, workload=1, make=partial(Fifo, name=2)),
        FigureCell(instance="a", policy="p", run=square, workload=1, make=Fifo),
    ):
        assert other.key != a.key


LIKE_FIG10 = ("ltgf:fig11", "ltgf:fig12", "ltgf:fig13")


@pytest.mark.parametrize("name", [n for n in reproduce.TARGETS if n not in LIKE_FIG10])
def test_keys_are_the_same_in_every_process(name: str) -> None:
    cells = list(reproduce.TARGETS[name].cells())
    assert cells
    assert not [cell.key for cell in cells if " at 0x" in cell.key]
    for cell in (cells[0], cells[-1]):
        assert pickle.loads(pickle.dumps(cell)).key == cell.key


# --- the runner ----------------------------------------------------------------------------------


def test_cells_with_the_same_key_are_run_once(log: Path) -> None:
    found = run_cells([*cells(3), *cells(3)], known={})
    assert found == [{"value": k * k / 3, "none": None} for k in (0, 1, 2, 0, 1, 2)]
    assert ran(log) == [0, 1, 2]


def test_several_processes_change_nothing(tmp_path: Path) -> None:
    done: list[str] = []
    one = run_cells(cells(), known={}, parts=tmp_path / "one")
    two = run_cells(cells(), known={}, parts=tmp_path / "two", processes=2, progress=done.append)
    assert one == two
    assert sorted(done)[0].startswith(": i0, p, 0, seed 0 (")
    pids = run_cells(cells(2, process_id), known={}, processes=2)
    assert os.getpid() not in [own["value"] for own in pids]
    parts = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    ]
    assert parts[0] == parts[1]
    assert len(parts[0]) == 6


def test_what_is_finished_is_not_run_again(log: Path, tmp_path: Path) -> None:
    run_cells(cells(2), known={}, parts=tmp_path / "parts")
    done: list[str] = []
    found = run_cells(cells(4), known={}, parts=tmp_path / "parts", progress=done.append)
    assert [own["value"] for own in found] == [0, 1 / 3, 4 / 3, 3]
    assert ran(log) == [0, 1, 2, 3]
    assert done == [": i0, p, 0, seed 1 (1 of 2)", ": i1, p, 0, seed 1 (2 of 2)"]


def test_a_damaged_part_is_made_again(log: Path, tmp_path: Path) -> None:
    first = run_cells(cells(3), known={}, parts=tmp_path / "parts")
    texts = ["", '{"key": 1}', "[1]"]
    for path, text in zip(sorted((tmp_path / "parts").iterdir()), texts, strict=True):
        path.write_text(text)
    assert run_cells(cells(3), known={}, parts=tmp_path / "parts") == first
    assert ran(log) == [0, 0, 1, 1, 2, 2]


def test_parts_of_other_code_are_not_read(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_cells(cells(2), known={}, parts=tmp_path / "parts")
    monkeypatch.setattr(experiment, "_sources", lambda: "other")
    run_cells(cells(2), known={}, parts=tmp_path / "parts")
    assert ran(log) == [0, 0, 1, 1]


def test_what_outcomes_come_from_are_code_and_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    read, changed = Path.read_bytes, list[str]()
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path.name in changed))
    found = [experiment._sources.__wrapped__()]
    for name in ("generate.py", "laws.toml", "presets.toml"):
        changed.append(name)
        found.append(experiment._sources.__wrapped__())
    assert len({*found}) == 4


@pytest.mark.parametrize("processes", [1, 2])
def test_a_failing_cell_names_itself_and_keeps_the_others(
    tmp_path: Path, log: Path, processes: int
) -> None:
    failing = [cell for k in (1, 0, 2) for cell in cells(3, reciprocal)[k : k + 1]]
    options: dict[str, Any] = {"known": {}, "parts": tmp_path / "parts", "processes": processes}
    why = r"^fig: cell 'i0, p, 0, seed 0' failed: ZeroDivisionError: division by zero$"
    with pytest.raises(RuntimeError, match=why):
        run_cells(failing, figure="fig", **options)
    if processes == 1:
        with pytest.raises(RuntimeError, match=r"seed 0' failed: .*; 1 more failed$"):
            run_cells([*failing, broken()], **options)
    kept = [json.loads(path.read_text()) for path in (tmp_path / "parts").iterdir()]
    assert sorted(part["outcome"]["value"] for part in kept) == [0.5, 1.0]


def test_a_failed_write_leaves_no_half_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        run_cells(cells(1), known={}, parts=tmp_path / "parts")
    assert list((tmp_path / "parts").iterdir()) == []


@pytest.mark.parametrize("processes", [1, 2])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, log: Path, processes: int) -> None:
    """kill -9 after the first part; the others are run, and the bytes are those of a whole run."""
    out, whole = tmp_path / "out", tmp_path / "whole"
    parts = out / "rar_ddls-toy.parts"
    options = f"parts={str(parts)!r}, processes={processes}, n=8"
    call = f"import figure_cells as t; t.toy(run=t.slow_square)({options})"
    main = f"if __name__ == '__main__':\n    {call}\n"
    script = tmp_path / "main.py"
    script.write_text(main)
    places = os.pathsep.join(sys.path)
    child = subprocess.Popen(
        [sys.executable, str(script)], env={**os.environ, "PYTHONPATH": places}
    )
    while not (parts.exists() and list(parts.glob("*.json"))):
        assert child.poll() is None
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    kept = len(list(parts.glob("*.json")))
    assert 1 <= kept < 8
    time.sleep(0.6)  # workers end with their parent
    before = len(ran(log))
    figure = toy(run=slow_square)
    experiment.KNOWN.clear()
    paths = figure(parts=parts, n=8).write(out)
    assert len(ran(log)) - before == 8 - kept
    experiment.KNOWN.clear()
    for path, other in zip(paths, figure(n=8).write(whole), strict=True):
        assert path.read_bytes() == other.read_bytes()


# --- rows and studies ----------------------------------------------------------------------------


def test_means_over_seeds_keep_the_seeds_and_given_rows_stay() -> None:
    two = [FigureCell(instance="a", policy="p", run=square, x=1, seed=s) for s in (0, 1)]
    ready = FigureCell(instance="b", policy="printed", run=given, workload={"value": 7})
    own = [{"value": 1.0, "part": None}, {"value": 2.0, "part": 4.0}]
    finished = [(two[0], own[0]), (ready, ready.run(ready)), (two[1], own[1])]
    assert seed_means(finished, {"value": "", "part": "", "other": ""}) == [
        FigureRow("a", "p", 1, {
            "value": 1.5, "part": None, "value [0]": 1, "value [1]": 2, "part [0]": None,
            "part [1]": 4,
        }),
        FigureRow("b", "printed", None, {"value": 7}),
    ]  # fmt: skip


def test_an_experiment_runs_its_cells_and_judges_its_rows() -> None:
    study = toy()()
    assert study.value("i0", "p", "value", 0) == pytest.approx((0 + 4) / 6, rel=1e-5)
    assert study.value("i1", "p", "value [1]", 0) == 3
    assert dict(study.instances) == {"i0": {"workloads": [0, 2]}, "i1": {"workloads": [1, 3]}}
    assert [s.verdict for s in study.statements] == [Agreement.AGREES] * 2
    again = toy().study(study.instances, study.rows)
    assert again.to_json() == study.to_json()
    assert json.loads(study.to_json())["settings"] == {"by": "hand"}


def test_facts_that_a_cell_gives_are_taken() -> None:
    def told(cell: FigureCell) -> dict[str, Any]:
        return {"rows": [["i0", "p", None, {"value": 1.0}]], "facts": {"i0": {"told": 1}}}

    figure = experiment.replace(toy(run=told), facts=lambda own: {"never": 1 / 0})
    assert dict(figure(n=1).instances) == {"i0": {"told": 1}}


def test_facts_are_those_of_the_first_x() -> None:
    assert toy()(n=8).instances["i0"] == {"workloads": [0, 2]}


def test_steps_change_what_is_finished() -> None:
    def doubled(finished: experiment.Finished) -> experiment.Finished:
        return [(cell, {"value": 2 * own["value"]}) for cell, own in finished]

    plain, twice = toy(), experiment.replace(toy(), steps=(doubled, doubled))
    ratio = (twice().value("i1", "p", "value", 0) or 0) / (
        plain().value("i1", "p", "value", 0) or 1
    )
    assert ratio == pytest.approx(4, rel=1e-5)


def test_seconds_are_measured_each_time_anew(log: Path) -> None:
    for timed, runs in ((False, [0, 1]), (True, [0, 0, 0, 1, 1, 1])):
        experiment.KNOWN.clear()
        for _ in range(2):
            experiment.replace(toy(), timed=timed)(n=2)
        assert ran(log) == runs


def test_seconds_are_measured_in_this_process() -> None:
    study = experiment.replace(toy(run=process_id), timed=True)(n=2, processes=2)
    assert study.value("i0", "p", "value [0]", 0) == os.getpid()


# --- one row, one file ---------------------------------------------------------------------------


def test_a_figure_needs_one_file_and_one_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = toy()
    monkeypatch.setitem(reproduce.TARGETS, figure.name, figure)
    paths = reproduce.reproduce("rar_ddls:toy", tmp_path)
    assert [path.name for path in paths] == [f"rar_ddls-toy.{k}" for k in ("json", "csv", "png")]
    assert sorted(os.listdir(tmp_path)) == sorted(path.name for path in paths)  # no parts are left
    with pytest.raises(ValueError, match=r"^target 'rar_ddls:toy': takes no trace$"):
        reproduce.reproduce("rar_ddls:toy", tmp_path, trace=object())  # type: ignore[arg-type]
