"""The page of baseline traces: it is what its data say, and what its command makes."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import gangsched as gs
from gangsched.analysis.papers.study import FigureRow

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("baselines", DOCS / "update_baselines.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def study_of(script: ModuleType) -> Any:
    data = json.loads(script.DATA.read_text("utf-8"))
    settings = data["settings"]
    made = script.baselines.study({}, map(FigureRow.of, data["rows"]))
    object.__setattr__(made, "settings", settings)
    return made


def test_the_page_is_what_the_data_say(script: ModuleType) -> None:
    text = script.PAGE.read_text("utf-8")
    shown = text.partition(script.MARKS[0])[2].partition(script.MARKS[1])[0].strip()
    assert shown == script.page(study_of(script))


def test_each_workload_has_each_load_and_no_ratio_is_below_1(script: ModuleType) -> None:
    study = study_of(script)
    places = {(row.instance, row.x) for row in study.rows}
    assert places == {(name, load) for name in script.WORKLOADS for load in script.LOADS}
    assert len(script.WORKLOADS) >= 10
    for row in study.rows:
        if row.policy != script.BOUND:
            assert all(value >= 1 for value in row.values.values() if value is not None), row


def test_a_cell_is_a_replay(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "JOBS", 40)
    monkeypatch.setattr(script, "POLICIES", ("fifo", "srtf"))
    cell = next(c for c in script.cells("none", (85,)) if c.instance == "like Venus, seed 1")
    rows = {row[1]: row[3] for row in script.measured(cell)["rows"]}
    assert list(rows) == ["any policy", "best known", "fifo", "srtf"]
    instance = cell.workload.instance(Path("none"), 85)
    assert rows["any policy"]["gpus"] == instance.cluster.gpus
    found = gs.replay(instance, ["srtf"], effort="standard")
    assert rows["srtf"]["flow"] == found.rows[0].ratios["flow"]
    assert rows["any policy"]["flow"] == found.bounds["flow"].value / 40
    span = max(j.release for j in instance.jobs) - min(j.release for j in instance.jobs)
    work = sum(j.gpus * j.work for j in instance.jobs)
    wide = max(j.gpus for j in instance.jobs)
    load = work / (span * instance.cluster.gpus)
    assert load == pytest.approx(0.85, rel=0.3) or instance.cluster.gpus < wide + 8
    text = "\n".join(
        script.table([FigureRow.of(row) for row in script.measured(cell)["rows"]], "flow")
    )
    assert "| like Venus, seed 1 | 40 |" in text
