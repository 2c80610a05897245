"""The page of baseline traces: it is what its data say, and what its command makes."""

import json
from typing import Any

import pytest

import gangsched as gs
from gangsched.formulations import CompletionTime
from layout import ROOT
from pages import baselines

PAGE = ROOT / "docs" / "baseline-traces.md"
DATA: Any = json.loads(PAGE.with_suffix(".json").read_text("utf-8"))


def test_the_page_is_what_the_data_say() -> None:
    assert f"<!-- baselines -->\n{baselines.text(DATA)}\n<!-- end -->" in PAGE.read_text("utf-8")


def test_each_workload_has_each_load_and_no_ratio_is_below_1() -> None:
    assert {*DATA["cells"]} == {key for key, _ in baselines.cells()}
    assert len(baselines.WORKLOADS) >= 10
    for name, cell in DATA["cells"].items():
        for policy, values in cell.items():
            if policy != baselines.BOUND:
                assert all(value >= 1 for value in values.values() if value is not None), name


def test_a_cell_is_a_replay_with_a_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "JOBS", 16)
    monkeypatch.setattr(baselines, "POLICIES", ("fifo", "srtf"))
    monkeypatch.setattr(baselines, "CLOSE", 1.0)
    workload = baselines.WORKLOADS["like Venus, seed 1"]
    rows = baselines.measured(workload, 85)
    assert list(rows) == ["any policy", "best known", "fifo", "srtf"]
    instance = workload.instance(85)
    assert rows["any policy"]["gpus"] == instance.cluster.gpus
    found = gs.replay(instance, ["fifo", "srtf"], effort="standard")
    full = gs.bracket(CompletionTime(instance, "flow"), "full")
    assert full.bound is not None
    srtf = found.rows[1].attained("flow")
    assert rows["srtf"]["flow"] == pytest.approx(srtf / full.bound.value)
    assert rows["srtf"]["slowdown"] == found.rows[1].ratios["slowdown"]
    assert rows["best known"]["flow"] == full.objective / full.bound.value
    assert rows["any policy"]["flow"] == full.bound.value / 16
    span = max(j.release for j in instance.jobs) - min(j.release for j in instance.jobs)
    work = sum(j.gpus * j.work for j in instance.jobs)
    wide = max(j.gpus for j in instance.jobs)
    load = work / (span * instance.cluster.gpus)
    assert load == pytest.approx(0.85, rel=0.3) or instance.cluster.gpus < wide + 8
    assert "| like Venus, seed 1 | 16 |" in baselines.ranking(
        {"like Venus, seed 1|85": rows}, "flow"
    )
