"""Every claim and every figure of the papers, in little: the plain run's share of tests/papers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from figure_page import FigurePage
from gangsched.analysis.papers.claim import run
from gangsched.analysis.papers.rar_ddls.figures import from_points
from gangsched.analysis.papers.reproduce import TARGETS, Point, Reproduction, Study, from_rows
from gangsched.analysis.papers.theorems import CLAIMS
from recorded.figures import figure_options

FEW = 5  #: random cases of a claim


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_comes_out_as_its_verdict_says(name: str) -> None:
    claim = CLAIMS[name]
    assert not run(claim, samples=min(FEW, claim.samples)).contradicted


@pytest.mark.parametrize("name", TARGETS)
def test_a_figure_is_judged_and_drawn_from_its_data(name: str, tmp_path: Path) -> None:
    page = FigurePage(name.partition(":")[0])
    known = page.committed(name)
    study: Study | Reproduction
    if "points" in known:
        study = from_points(name, [Point(*row) for row in known["points"]])
    else:
        study = page.restored(name)
    assert json.loads(study.to_json()) == known
    study.write(tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".json", ".png"]


@pytest.mark.parametrize("name", figure_options())
def test_a_small_figure_has_rows_and_verdicts(name: str) -> None:
    study = TARGETS[name](**figure_options()[name])
    values = [value for row in study.rows for value in row.values.values() if value is not None]
    assert values
    assert all(math.isfinite(value) for value in values)
    again = from_rows(name, study.instances, study.rows)
    assert [s.verdict for s in again.statements] == [s.verdict for s in study.statements]
