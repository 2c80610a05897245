"""Table III and figures 5 to 12 of Gao et al.: what was reproduced is what the page shows."""

import json

import pytest

from figure_page import FigurePage, check_first_draw
from gangsched.analysis.papers.reproduce import TARGETS, Study
from gangsched.analysis.papers.unisched import figures as figures
from gangsched.analysis.papers.unisched import runs as runs

PAGE = FigurePage("unisched")
FIGURES = [name for name in TARGETS if name.startswith("unisched:")]


# --- run again -----------------------------------------------------------------------------------


def test_what_takes_no_time_comes_out_again() -> None:
    assert json.loads(figures.fig5().to_json()) == PAGE.committed("unisched:fig5")


@pytest.mark.slow
def test_a_testbed_comes_out_again() -> None:
    study = figures.table3(jobs=(360,), seeds=(0,), processes=1)
    known = PAGE.restored("unisched:table3")
    for row in study.rows:
        before = known.row(row.instance, row.policy, row.x)
        assert before is not None
        check_first_draw(row, before)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [n for n in FIGURES if n != "unisched:fig10d"])
def test_figures_come_out_again(name: str) -> None:
    study = TARGETS[name]()
    assert isinstance(study, Study)
    assert json.loads(study.to_json()) == PAGE.committed(name)


def test_elastic_rows_have_the_bound_for_elastic_jobs() -> None:
    """That of gangs does not hold for them: it is smaller where more GPUs would help."""
    load = runs.DeadlineWorkload("T[40]", None)
    kinds = {name: make for name, make in runs.POLICIES.items() if name.endswith("known")}
    cells = runs.and_bounds(runs.cell_of("a", name, load, make) for name, make in kinds.items())
    assert {c.policy for c in cells if c.make is None} == {runs.BOUND, runs.ELASTIC_BOUND}
    elastic = {c.policy for c in cells if c.make and runs.bound_of(c) == runs.ELASTIC_BOUND}
    assert elastic == {"GENIE, known", "Optimus, known"}
    worth = {runs.BOUND: {"bound": 10.0}, runs.ELASTIC_BOUND: {"bound": 20.0}}
    finished = [(cell, worth.get(cell.policy, {"reward": 5.0})) for cell in cells]
    ratios = {cell.policy: own["ratio"] for cell, own in runs.with_ratios(finished)}
    assert ratios == {name: 4.0 if name in elastic else 2.0 for name in kinds}
