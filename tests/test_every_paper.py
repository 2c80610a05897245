"""Every claim and every figure of the papers, in little: the plain run's share of tests/papers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from few import but
from figure_page import FigurePage
from gangsched.analysis.papers.claim import run
from gangsched.analysis.papers.reproduce import TARGETS, from_rows
from gangsched.analysis.papers.theorems import CLAIMS
from small_figures import figure_options

FEW = 5  #: random cases of a claim
#: the figures that take longest, left to the whole run
DEAR = {
    *(f"rar_ddls:fig{k}" for k in (4, 6)), *(f"irmp:fig{k}" for k in (4, 5, 6, 11)), "irmp:table2",
    *(f"unisched:fig{k}" for k in (6, 9, 10, 11)), "ltgf:fig10", "ltgf:fig11", "gandiva_fair:fig1",
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_comes_out_as_its_verdict_says(name: str) -> None:
    claim = CLAIMS[name]
    assert not run(claim, samples=min(FEW, claim.samples)).contradicted


@pytest.mark.parametrize("name", but(DEAR, TARGETS))
def test_a_figure_is_judged_and_drawn_from_its_data(name: str, tmp_path: Path) -> None:
    page = FigurePage(name.partition(":")[0])
    study = page.restored(name)
    assert json.loads(study.to_json()) == page.committed(name)
    page.check_it_shows(name, study)
    study.write(tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".json", ".png"]


@pytest.mark.parametrize("name", but(DEAR, figure_options()))
def test_a_small_figure_has_rows_and_verdicts(name: str) -> None:
    study = TARGETS[name](**figure_options()[name])
    values = [value for row in study.rows for value in row.values.values() if value is not None]
    assert values
    assert all(math.isfinite(value) for value in values)
    assert study.plot().axes
    again = from_rows(name, study.instances, study.rows)
    assert [s.verdict for s in again.statements] == [s.verdict for s in study.statements]
