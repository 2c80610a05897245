"""The machinery of claims: what counts as confirmed, and that docs/theorems.md says the same."""

import re
import tomllib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from command_line import Gangsched
from gangsched.analysis.papers import theorems
from gangsched.analysis.papers.claim import (
    Claim,
    ClaimRun,
    Mutant,
    Sides,
    Verdict,
    less,
    run,
    times,
)
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
        mutant=None if verdict is Verdict.REFUTED else Mutant(statement="-1", sides=less(1)),
        counterexamples={name: (lambda x=x: x) for name, x in more.items()},
    )


def test_a_comparison_says_whether_it_holds() -> None:
    assert Sides(1, 2).holds
    assert Sides(2, 2).holds
    assert not Sides(3, 2).holds
    assert not Sides(1, 2, "==").holds
    assert Sides(1, 2).strict
    assert Sides(2, 2).strict
    assert Sides(0, 1).strict
    assert not Sides(0, 0).strict
    assert Sides(1, 4).tightness == 0.25
    assert Sides(3, 2).tightness == 1.5
    assert Sides(2, 3, "==").tightness == Sides(3, 2, "==").tightness == 1.5
    assert Sides(0, 0).tightness == 1
    assert Sides(1, 0).tightness == Sides(1, -1).tightness == float("inf")
    assert Sides(-1, 0).tightness == Sides(0, 1).tightness == Sides(-2, 1).tightness == 0
    assert [Sides(-8, -2).tightness, Sides(-2, -8).tightness] == [0.25, 4]
    assert [str(Sides(1, 2)), str(Sides(3, 2))] == ["1 <= 2", "3 <= 2 fails"]


def test_a_proved_claim_is_confirmed_by_cases_that_hold() -> None:
    row = run(below(9, Verdict.PROVED))
    assert row.confirmed
    assert row.shown
    assert row.draws == 100
    assert 0 < row.tried < 100  # cases with x = 3 are outside the assumptions
    assert row.failed == 0
    assert row.worst == Sides(9, 9)
    assert row.strict == row.tried
    assert 0 < row.killed < row.tried


def test_a_claim_is_not_shown_without_strict_cases_or_with_a_mutant_that_lives() -> None:
    claim = below(9, Verdict.PROVED)
    trivial = replace(claim, check=lambda x: Sides(0, 0), mutant=None)
    for other, strict in (
        (replace(claim, mutant=None), True),
        (replace(claim, mutant=Mutant(statement="the same", sides=times(1))), True),
        (replace(claim, mutant=Mutant(statement="says nothing")), True),
        (trivial, False),
        (replace(claim, least=99), False),
    ):
        row = run(other)
        assert (row.shown, row.confirmed, row.contradicted) == (False, False, False)
        assert (row.strict >= row.least) == strict
        assert row.killed == 0 or not strict
    kills = Mutant(statement="is 1", check=lambda x: Sides(1, 0) if x == 4 else None)
    row = run(replace(trivial, mutant=kills, least=2))
    assert row.confirmed  # cases that kill the mutant are strict
    assert row.strict == row.killed > 1


def test_a_loose_claim_is_shown_while_its_mutant_lives() -> None:
    wide = replace(below(20, Verdict.PROVED), mutant=Mutant(
        statement="half", sides=times(Fraction(1, 2)), loose="x is at most 9"))  # fmt: skip
    row = run(wide)
    assert (row.confirmed, row.killed, row.loose) == (True, 0, "x is at most 9")
    assert row.worst is not None
    assert row.worst.tightness == 0.45
    dies = Mutant(statement="a third", sides=times(Fraction(1, 3)), loose="so")
    assert not run(replace(wide, mutant=dies)).confirmed


def test_all_words_are_of_a_claim() -> None:
    files = (ROOT / "analysis" / "papers").rglob("*claims.toml")
    words = [claim for file in files for claim in tomllib.loads(file.read_text("utf-8"))]
    assert sorted(words) == sorted(CLAIMS)


def test_with_fewer_draws_fewer_have_to_be_strict() -> None:
    claim = replace(below(9, Verdict.PROVED), least=50)
    assert [run(claim, samples=n).least for n in (100, 50, 10, 1, 400)] == [50, 25, 5, 1, 50]


def test_a_counterexample_by_rounding_refutes_nothing() -> None:
    row = run(below(1000, Verdict.REFUTED, a=1001))
    assert (row.contradicted, row.killed, row.confirmed) == (False, 0, False)
    assert run(below(1000, Verdict.REFUTED, a=1001, b=1011)).killed == 1
    equal = replace(
        below(1000, Verdict.REFUTED, a=995),
        check=lambda x: Sides(x, 1000, "=="),  # "fails" either way
    )
    assert run(equal).killed == 0
    assert run(replace(equal, counterexamples={"a": lambda: 989})).killed == 1


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


@pytest.fixture(scope="module")
def rows() -> list[ClaimRun]:
    """All claims, as `gangsched theorems` runs them."""
    return verdicts()


@pytest.mark.slow
def test_every_verdict_is_confirmed_by_a_run(rows: list[ClaimRun]) -> None:
    assert [row.claim for row in rows] == list(CLAIMS)
    assert [row.claim for row in rows if not row.confirmed] == []


@pytest.mark.slow
def test_the_command_shows_them_all(
    rows: list[ClaimRun], gangsched_: Gangsched, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {row.claim: row for row in rows}
    monkeypatch.setattr(theorems, "run", lambda claim: found[claim.id])
    done = gangsched_("theorems")
    assert done.code == 0
    assert re.findall(r"^([\w-]+): (?:proved|refuted|observed)", done.out, re.M) == list(CLAIMS)


@pytest.mark.slow
def test_every_claim_has_strict_cases_and_a_mutant_that_they_kill(rows: list[ClaimRun]) -> None:
    for row in rows:
        if row.verdict is Verdict.REFUTED:
            assert row.killed == len(row.counterexamples), row.claim
            continue
        assert row.least >= 4, row.claim
        assert row.strict >= row.least, row.claim
        assert row.mutant, row.claim
        assert (row.killed > 0) == (not row.loose), row.claim
    assert [row.claim for row in rows if row.loose] == [
        "irmp-theorem-1-i", "irmp-theorem-1-i-two-rounds", "trading-finite",
    ]  # fmt: skip


def test_whose_a_claim_is() -> None:
    ours = {id for id, claim in CLAIMS.items() if claim.ours}
    assert {"round-up", "rounding", "lemma-2-repaired", "irmp-theorem-4-stage-2"} <= ours
    assert not {"lemma-2", "stride-delay", "trading-increase", "eq-3"} & ours
    for claim in CLAIMS.values():
        assert claim.ours or re.match(r"(Yu|Ye|Gao|Wang|Chaudhary) et al\. 20\d\d, ", claim.source)


def test_trading_is_section_3_5_of_the_paper() -> None:
    places = {claim.source for claim in CLAIMS.values() if "Trading" in claim.source}
    assert places
    assert all("Section 3.5, Trading" in place for place in places)


def test_the_page_has_every_claim_with_its_verdict() -> None:
    page = (ROOT / "docs" / "theorems.md").read_text("utf-8")
    rows = re.findall(r"^\| \[`([\w-]+)`\]\(#([\w-]+)\) \| ([^|]+) \| (\w+) \|", page, re.M)
    assert [(id, verdict) for id, _, _, verdict in rows] == [
        (claim.id, claim.verdict.value) for claim in CLAIMS.values()
    ]
    for id, _, source, _ in rows:
        assert re.sub(r"^\w+ et al\. \d+, ", "", CLAIMS[id].source) == source.strip()
