"""The survey of tiny instances, in a small form; the page has the large one."""

from __future__ import annotations

from pathlib import Path

import pytest

import survey
from few import each_seed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "online-bounds.md"


@each_seed(range(4), plain=1, name="part")
def test_no_bound_is_beaten_and_no_forgery_accepted(part: int) -> None:
    total = survey.survey(range(100 * part, 100 * part + 100))
    assert not {name: n for name, n in total.items() if name[0] == "!" and n}
    for kind in survey.KINDS:
        assert total[f"{kind}: instances"] == 25
        assert 0 < total[f"{kind}: bound is the optimum"] < 25 + (kind == "deadlines")
        assert total[f"{kind}: forged certificates"] >= 1


def test_beaten_bounds_and_accepted_forgeries_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kind: str, problem: object, rng: object) -> survey.Bound:
        bound = made(kind, problem, rng)  # type: ignore[arg-type]
        better = -1 if kind == "deadlines" else 1
        return survey.Bound(bound.value + 1000 * better, bound.method, bound.certificate)

    made = survey.bound_of
    monkeypatch.setattr(survey, "bound_of", broken)
    monkeypatch.setattr(survey, "verify_bound", lambda problem, bound: None)
    total = survey.survey(range(8))
    for kind in survey.KINDS:
        assert total[f"!{kind}: optimum beats the bound"] == 2
        assert total[f"!{kind}: forgery accepted"] == 1


def test_the_page_tells_of_a_hundred_thousand_without_a_failure() -> None:
    text = PAGE.read_text("utf-8")
    shown = text.partition(survey.MARKERS[0])[2].partition(survey.MARKERS[1])[0]
    rows = [line.split("|") for line in shown.splitlines() if line.startswith("| ")][2:]
    assert [row[1].strip() for row in rows] == list(survey.KINDS)
    counts = [[int(cell.replace(",", "")) for cell in row[2:-1]] for row in rows]
    assert sum(count[0] for count in counts) >= 100_000
    assert sum(count[4] for count in counts) >= 2_000
    assert sum(count[3] for count in counts) >= 1_000
    assert [count[-1] for count in counts] == [0, 0, 0, 0]
