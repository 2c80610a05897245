"""The machinery of claims: what counts as confirmed, and that docs/theorems.md says the same."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gangsched.analysis.papers.claim import Claim, Sides, Verdict, run
from gangsched.analysis.papers.theorems import CLAIMS, verdicts
from layout import ROOT


def below(limit: int, verdict: Verdict, **more: int) -> Claim[int]:
    """Claim that an integer from 0 to 9 is below a limit."""
    return Claim(
        id="below",
        source="test",
        statement="x <= limit",
        verdict=verdict,
        evidence="none",
        check=lambda x: None if x == 3 else Sides(x, limit),
        draw=lambda rng: int(rng.integers(10)),
        counterexamples={name: (lambda x=x: x) for name, x in more.items()},
    )


def test_a_comparison_says_whether_it_holds() -> None:
    assert Sides(1, 2).holds
    assert Sides(2, 2).holds
    assert not Sides(3, 2).holds
    assert not Sides(1, 2, "==").holds
    assert Sides(1, 2).strict
    assert not Sides(2, 2).strict
    assert Sides(1, 4).tightness == 0.25
    assert Sides(3, 2).tightness == 1.5
    assert Sides(2, 3, "==").tightness == Sides(3, 2, "==").tightness == 1.5
    assert Sides(0, 0).tightness == 1
    assert Sides(1, 0).tightness == float("inf")
    assert [str(Sides(1, 2)), str(Sides(3, 2))] == ["1 <= 2", "3 <= 2 fails"]


def test_a_proved_claim_is_confirmed_by_cases_that_hold() -> None:
    row = run(below(9, Verdict.PROVED))
    assert row.confirmed
    assert 0 < row.tried < 100  # cases with x = 3 are outside the assumptions
    assert row.failed == 0
    assert row.worst == Sides(9, 9)
    assert 0 < row.strict < row.tried


def test_a_proved_claim_that_fails_is_not_confirmed() -> None:
    row = run(below(7, Verdict.PROVED))
    assert not row.confirmed
    assert 0 < row.failed < row.tried
    assert row.worst == Sides(9, 7)


def test_a_claim_without_cases_is_not_confirmed() -> None:
    claim = below(9, Verdict.OBSERVED)
    row = run(claim, samples=1, seed=next(s for s in range(99) if _first(claim, s) == 3))
    assert (row.tried, row.worst, row.confirmed) == (0, None, False)


def _first(claim: Claim[int], seed: int) -> int:
    seen: list[int] = []
    spy = Claim(
        id=claim.id,
        source="",
        statement="",
        verdict=Verdict.OBSERVED,
        evidence="",
        check=lambda x: seen.append(x),
        draw=claim.draw,
    )
    run(spy, samples=1, seed=seed)
    return seen[0]


def test_a_refuted_claim_needs_every_counterexample_to_break_it() -> None:
    assert run(below(7, Verdict.REFUTED, a=8, b=9)).confirmed
    assert not run(below(7, Verdict.REFUTED, a=8, b=7)).confirmed
    assert not run(below(2, Verdict.REFUTED, a=8, b=3)).confirmed  # outside the assumptions
    row = run(below(7, Verdict.REFUTED, a=8))
    assert row.evidence == "none; a: 8 <= 7 fails"


@pytest.mark.parametrize(("verdict", "more"), [(Verdict.REFUTED, {}), (Verdict.PROVED, {"a": 8})])
def test_refuted_and_having_counterexamples_go_together(
    verdict: Verdict, more: dict[str, int]
) -> None:
    with pytest.raises(ValueError, match=r"claim 'below': counterexamples=\[.*but exactly the ref"):
        below(7, verdict, **more)


def test_same_seed_same_row() -> None:
    claim = CLAIMS["lemma-4"]
    assert run(claim, samples=5, seed=1) == run(claim, samples=5, seed=1)
    draws = {str(claim.draw(np.random.default_rng(seed))) for seed in range(5)}
    assert len(draws) > 1


def test_every_verdict_is_confirmed_by_a_run() -> None:
    seen: list[str] = []
    rows = verdicts(samples=8, seed=1, progress=seen.append)
    assert [row.claim for row in rows] == seen == list(CLAIMS)
    assert [row.claim for row in rows if not row.confirmed] == []


def test_the_page_has_every_claim_with_its_verdict() -> None:
    page = (ROOT / "docs" / "theorems.md").read_text("utf-8")
    rows = re.findall(r"^\| \[`([\w-]+)`\]\(#([\w-]+)\) \| ([^|]+) \| (\w+) \|", page, re.M)
    assert [(id, verdict) for id, _, _, verdict in rows] == [
        (claim.id, claim.verdict.value) for claim in CLAIMS.values()
    ]
    for id, _, source, _ in rows:
        assert re.sub(r"^\w+ et al\. \d+, ", "", CLAIMS[id].source) == source.strip()


def test_tests_that_the_page_names_exist() -> None:
    page = (ROOT / "docs" / "theorems.md").read_text("utf-8")
    files = sorted((ROOT / "tests" / "theorems").glob("test_*.py"))
    tests = "".join(path.read_text("utf-8") for path in files)
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 10
    assert [name for name in sorted(named) if f"def {name}(" not in tests] == []
