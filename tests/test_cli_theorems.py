"""`gangsched theorems`: what it shows of each claim, and when it fails."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from command_line import Gangsched
from gangsched.analysis.papers import theorems
from gangsched.analysis.papers.claim import Claim, Mutant, Sides, Verdict, less


def claim(id: str, check: Callable[[int], Sides], **more: Any) -> Claim[int]:
    plain = {"source": "a book", "statement": "n <= 9", "verdict": Verdict.PROVED, "samples": 5}
    return Claim(
        id=id, evidence="by counting", check=check, draw=lambda rng: int(rng.integers(9)),
        **{**plain, **more},
    )  # fmt: skip


def interrupt(n: int) -> Sides:
    raise KeyboardInterrupt


NINE: Mutant[int] = Mutant(statement="n <= 7", sides=less(2))
HOLDS = claim("holds", lambda n: Sides(n, 9), mutant=NINE, samples=40)
FAILS = claim("fails", lambda n: Sides(9, n))
FOUR = {"four": lambda: 4}
REFUTED = claim(
    "too_much", lambda n: Sides(n, 3), verdict=Verdict.REFUTED, counterexamples=FOUR,
    source="ours, on page 3",
)  # fmt: skip


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def put(*given: Claim[int]) -> None:
        monkeypatch.setattr(theorems, "CLAIMS", {claim.id: claim for claim in given})

    return put


def blocks(out: str) -> dict[str, list[str]]:
    """Lines of each claim, by its id."""
    found = (block.splitlines() for block in out.split("\n\n"))
    return {lines[0].partition(":")[0]: lines for lines in found if ": " in lines[0]}


def test_theorems_shows_what_refutes_and_what_holds(
    gangsched_: Gangsched, claims: Callable[..., None]
) -> None:
    claims(HOLDS, REFUTED)
    done = gangsched_("theorems")
    assert (done.code, done.err) == (0, "")
    shown = blocks(done.out)
    assert shown["holds"][:2] == ["holds: proved", "n <= 9"]
    pattern = r"40 draws, 40 applicable, [34]\d strict; mutant \(n <= 7\) killed in [1-9]\d?"
    assert re.fullmatch(pattern, shown["holds"][2])
    assert shown["too_much"][0] == "too_much: refuted (ours)"
    assert shown["too_much"][2].endswith("strict; counterexample four: 4 <= 3 fails")
    assert "2 claims, 1 of them ours: 1 proved, 1 refuted; 0 loose." in done.out


def test_theorems_stand_under_their_paper(
    gangsched_: Gangsched, claims: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    last = replace(HOLDS, id="last")
    claims(HOLDS, REFUTED, last)
    papers = {"Doe 1999": (HOLDS,), "Roe 2001": (REFUTED, last)}
    monkeypatch.setattr(theorems, "PAPERS", papers)
    found = [block.splitlines()[0] for block in gangsched_("theorems").out.split("\n\n")]
    starts = [line.partition(":")[0] for line in found]
    assert starts[:5] == ["Doe 1999", "holds", "Roe 2001", "too_much", "last"]


def test_one_theorem_is_shown_in_full(gangsched_: Gangsched, claims: Callable[..., None]) -> None:
    claims(HOLDS, REFUTED)
    done = gangsched_("theorems", "too-much")
    assert done.code == 0
    assert done.out.startswith("too_much (ours, on page 3)\nn <= 9\nverdict: refuted\n")
    assert "four: 4 <= 3 fails" in done.out
    assert "holds" not in done.out


def test_a_run_that_disagrees_with_a_verdict_fails(
    gangsched_: Gangsched, claims: Callable[..., None]
) -> None:
    claims(HOLDS, FAILS)
    done = gangsched_("theorems")
    assert done.code == 1
    assert "DISAGREES" in blocks(done.out)["fails"][2]
    assert "DISAGREES" not in blocks(done.out)["holds"][2]
    assert "verdict: proved, AGAINST THIS RUN" in gangsched_("theorems", "fails").out


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"mutant": None}, "NOT SHOWN: no case kills the mutant"),
        ({"mutant": replace(NINE, sides=less(0))}, "NOT SHOWN: no case kills the mutant (n <= 7)"),
        (
            {"check": lambda n: Sides(0, n // 8), "mutant": None},
            "NOT SHOWN: at least 10 have to be strict",
        ),
        ({"mutant": replace(NINE, loose="so")}, "dies, though the claim is called loose"),
    ],
)
def test_a_run_that_could_not_have_said_otherwise_fails(
    gangsched_: Gangsched, claims: Callable[..., None], more: dict[str, Any], why: str
) -> None:
    claims(replace(HOLDS, **more))
    done = gangsched_("theorems")
    assert done.code == 1
    assert why in blocks(done.out)["holds"][2]
    assert "verdict: proved, NOT SHOWN BY THIS RUN" in gangsched_("theorems", "holds").out


def test_a_loose_claim_says_how_near_its_cases_come(
    gangsched_: Gangsched, claims: Callable[..., None]
) -> None:
    mutant: Mutant[int] = Mutant(statement="n <= 8", sides=less(1), loose="n is at most 8")
    claims(replace(HOLDS, mutant=mutant))
    done = gangsched_("theorems")
    assert done.code == 0
    shown = "survives: loose, the nearest case is at 0.889 of the bound (n is at most 8)"
    assert shown in blocks(done.out)["holds"][2]
    assert "1 proved; 1 loose." in done.out


def test_theorems_interrupted_show_what_is_finished(
    gangsched_: Gangsched, claims: Callable[..., None]
) -> None:
    claims(HOLDS, claim("stops", interrupt), FAILS)
    done = gangsched_("theorems")
    assert done.code == 130
    assert list(blocks(done.out))[:1] == ["holds"]
    assert "fails: " not in done.out
    assert done.err == "gangsched: interrupted, not finished: stops, fails\n"
