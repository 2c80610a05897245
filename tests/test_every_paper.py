"""Every claim and every figure of the papers, in little: the plain run's share of tests/papers."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from few import but
from figure_page import FigurePage
from gangsched.analysis.papers.claim import run
from gangsched.analysis.papers.reproduce import TARGETS, FigureRow, Study, from_rows
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
    values = [item for row in study.rows for item in row.values.items()]
    ratios = [v for measure, v in values if measure.partition(" [")[0] == "ratio" and v is not None]
    assert min(ratios, default=1) >= 1
    study.write(tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".json", ".png"]


#: what says when and for which jobs the other numbers are
PLACES = ("gang", "until")


def shaken(study: Study, seed: int) -> list[FigureRow]:
    """The rows with other numbers: measures and curves of a row times something, a draw each."""
    rng, rows = random.Random(seed), []
    for row in study.rows:
        whole, own = rng.uniform(-1, 1), dict[str, float]()
        values = dict(row.values)
        for name, value in values.items():
            power = own.setdefault(name.partition(" [")[0], rng.uniform(-0.5, 0.5) + whole)
            values[name] = value and value * (10**power if name not in PLACES else 1)
        curve = tuple(rng.uniform(0.3, 1.5) * point for point in row.curve)
        rows.append(replace(row, values=values, curve=curve))
    return rows


def test_most_statements_could_have_come_out_otherwise() -> None:
    """What they say of the data is on the pages; of other data they say something else."""
    seen: dict[tuple[str, str], set[str]] = {}
    for name in TARGETS:
        study = FigurePage(name.partition(":")[0]).restored(name)
        others = (from_rows(name, study.instances, shaken(study, seed)) for seed in range(20))
        for said in (said for one in (study, *others) for said in one.statements):
            seen.setdefault((name, said.text), set()).add(said.verdict)
    same = [key for key, found in seen.items() if len(found) == 1 and "not comparable" not in found]
    assert len(same) < len(seen) / 8, same


@pytest.mark.parametrize("name", but(DEAR, figure_options()))
def test_a_small_figure_has_rows_and_verdicts(name: str) -> None:
    study = TARGETS[name](**figure_options()[name])
    values = [value for row in study.rows for value in row.values.values() if value is not None]
    assert values
    assert all(math.isfinite(value) for value in values)
    assert study.plot().axes
    again = from_rows(name, study.instances, study.rows)
    assert [s.verdict for s in again.statements] == [s.verdict for s in study.statements]
