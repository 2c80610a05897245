"""Table III and figures 5 to 12 of Gao et al.: what was reproduced is what the page shows."""

from __future__ import annotations

import json

import pytest

from figure_page import FigurePage
from gangsched.analysis.papers.reproduce import TARGETS, Study
from gangsched.analysis.papers.unisched import figures as figures
from gangsched.analysis.papers.unisched import runs as runs

PAGE = FigurePage("unisched")
FIGURES = [name for name in TARGETS if name.startswith("unisched:")]


def test_instances_are_on_the_load_of_the_settings() -> None:
    """Except where the widest gang needs more nodes."""
    for facts in PAGE.restored("unisched:fig8").instances.values():
        assert len(facts["offered load"]) == 3
        assert all(1.2 <= load <= 1.8 for load in facts["offered load"])
        assert min(facts["nodes"]) >= 8


def test_runs_that_figures_share_agree() -> None:
    """UniSched on one workload, in Figs. 9 and 12."""
    a, b = PAGE.restored("unisched:fig9"), PAGE.restored("unisched:fig12")
    for name in figures.MIXED:
        for measure in ("miss", "miss [0]", "miss [1]", "miss [2]", "metric_miss", "latency"):
            value = a.value(name, "UniSched", measure)
            assert value is not None
            assert b.value(name, "UniSched", measure) == value


def test_no_policy_wins_more_than_can_be_won() -> None:
    found = [
        value
        for row in PAGE.restored("unisched:table3").rows
        for measure, value in row.values.items()
        if measure.startswith("ratio") and value is not None
    ]
    assert len(found) == 4 * 12 * 4  # instances, policies, three seeds and their mean
    assert min(found) >= 1


def test_the_data_can_tell_good_from_bad() -> None:
    """Miss rates are not saturated, and differ."""
    study = PAGE.restored("unisched:fig12")
    for name in figures.MIXED:
        own, chronus = (study.value(name, p, "miss") or 0.0 for p in ("UniSched", "Chronus"))
        assert 4 < own < 40
        assert chronus > 1.2 * own


# --- run again -----------------------------------------------------------------------------------


def test_what_takes_no_time_comes_out_again() -> None:
    assert json.loads(figures.fig5().to_json()) == PAGE.committed("unisched:fig5")


@pytest.mark.slow
def test_a_testbed_comes_out_again() -> None:
    study = figures.table3(jobs=(360,), seeds=(0,), processes=1)
    known = PAGE.restored("unisched:table3")
    for row in study.rows:
        for measure in [m for m in row.values if m.endswith(" [0]")]:
            value = known.value(row.instance, row.policy, measure, row.x)
            assert row.values[measure] == value


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [n for n in FIGURES if n != "unisched:fig10d"])
def test_figures_come_out_again(name: str) -> None:
    study = TARGETS[name]()
    assert isinstance(study, Study)
    assert json.loads(study.to_json()) == PAGE.committed(name)


def test_elastic_rows_have_the_bound_for_elastic_jobs() -> None:
    """That of gangs does not hold for them: it is smaller where more GPUs would help."""
    load = runs.DeadlineWorkload("T[40]", None)
    kinds = {name: make for name, make in runs.POLICIES.items() if name.endswith("told")}
    cells = runs.and_bounds(runs.cell_of("a", name, load, make) for name, make in kinds.items())
    assert {c.policy for c in cells if c.make is None} == {runs.BOUND, runs.ELASTIC_BOUND}
    elastic = {c.policy for c in cells if c.make and runs.bound_of(c) == runs.ELASTIC_BOUND}
    assert elastic == {"GENIE, told", "Optimus, told"}
    worth = {runs.BOUND: {"bound": 10.0}, runs.ELASTIC_BOUND: {"bound": 20.0}}
    finished = [(cell, worth.get(cell.policy, {"reward": 5.0})) for cell in cells]
    ratios = {cell.policy: own["ratio"] for cell, own in runs.with_ratios(finished)}
    assert ratios == {name: 4.0 if name in elastic else 2.0 for name in kinds}
