"""Claims of the papers hold on random cases, and counterexamples break the refuted ones."""

from __future__ import annotations

import pytest

from gangsched.analysis.papers.claim import Verdict, run
from gangsched.analysis.papers.irmp.claims import IRMP
from gangsched.analysis.papers.ltgf.claims import LTGF
from gangsched.analysis.papers.unisched.claims import UNISCHED

CLAIMS = {claim.id: claim for claim in (*IRMP, *LTGF, *UNISCHED)}
REFUTED = [
    (claim.id, name)
    for claim in CLAIMS.values()
    if claim.verdict is Verdict.REFUTED
    for name in claim.counterexamples
]
HOLD = [claim.id for claim in CLAIMS.values() if claim.verdict is not Verdict.REFUTED]


@pytest.mark.parametrize(("claim", "name"), REFUTED)
def test_every_counterexample_breaks_its_claim(claim: str, name: str) -> None:
    one = CLAIMS[claim]
    found = one.check(one.counterexamples[name]())
    assert found is not None
    assert not found.holds


@pytest.mark.parametrize("claim", HOLD)
def test_no_random_case_breaks_a_claim_that_holds(claim: str) -> None:
    row = run(CLAIMS[claim], seed=2)
    assert row.tried
    assert not row.contradicted, row.worst
