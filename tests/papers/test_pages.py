"""The papers' pages: each equation, line and erratum has its row, and what they name is there."""

import re
from functools import cache

import pytest

from gangsched.analysis.papers.theorems import CLAIMS
from layout import ROOT, sources

DOCS = ROOT / "docs"
#: numbers of equations, lines of algorithms, and errata with the letter of each
PAGES = {
    "rar_ddls": (16, {"Algorithm 1": 24, "Algorithm 2": 10, "Algorithm 3": 13}, ("E", 23)),
    "ltgf": (16, {"Algorithm 1": 17, "Algorithm 2": 5}, ("L", 24)),
    "unisched": (15, {}, ("U", 26)),
    "gandiva_fair": (3, {"Algorithm 1": 13, "Algorithm 2": 12}, ("G", 23)),
}
UNTESTED = {
    "G10",
    "G13",
    "G20",
    "U24",
    *(f"L{i}" for i in range(15, 21)),
}  #: they say what is unclear


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of all rows of the tables below a heading, up to the next heading."""
    text = (DOCS / "papers" / f"{page}.md").read_text("utf-8")
    (found,) = re.findall(rf"^#+ {re.escape(heading)}\b.*?$(.*?)(?=^#|\Z)", text, re.M | re.S)
    lines = [line for line in found.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line[1:-1])] for line in lines]


def numbers(cell: str) -> list[int]:
    """The numbers of "1", "3, 4" or "10-13"."""
    spans = [part.split("-") for part in cell.split(", ")]
    return [n for span in spans for n in range(int(span[0]), int(span[-1]) + 1)]


@cache
def words() -> set[str]:
    """All identifiers of the package, and of its references in plain Python."""
    plain = (ROOT / "tests" / name for name in ("reference_driver.py", "plain_sharing.py"))
    files = (*sources().values(), *plain)
    return set(re.findall(r"\w+", " ".join(path.read_text("utf-8") for path in files)))


@pytest.mark.parametrize("page", PAGES)
def test_every_equation_line_and_erratum_has_its_row(page: str) -> None:
    equations, algorithms, (letter, errata) = PAGES[page]
    table = [row for row in rows(page, "Equations") if re.match(r"\(\d", row[0])]
    assert {row[0] for row in table} == {f"({i})" for i in range(1, equations + 1)}
    for algorithm, lines in algorithms.items():
        steps = [row for row in rows(page, algorithm) if row[0][0].isdigit()]
        assert sorted(n for row in steps for n in numbers(row[0])) == [*range(1, lines + 1)]
        table += steps
    lacking = {
        (row[0], name)
        for row in table
        for name in re.findall(r"`(?:\w+\.)*(\w+)[`(.]", " ".join(row[1:]))
        if name not in words()
    }
    assert lacking == set()
    found = [row for row in rows(page, "Errata") if re.match(rf"{letter}\d", row[0])]
    assert {row[0] for row in found} == {f"{letter}{i}" for i in range(1, errata + 1)}
    assert {row[0] for row in found if "`test_" not in row[-1]} <= UNTESTED


def test_tests_and_claims_that_pages_name_exist() -> None:
    tests = " ".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    known = set(re.findall(r"def (test_\w+)", tests))
    pages = {path.name: path.read_text("utf-8") for path in DOCS.rglob("*.md")}
    named = {
        (page, name) for page, text in pages.items() for name in re.findall(r"`(test_\w+)`", text)
    }
    assert {(page, name) for page, name in named if name not in known} == set()
    claims = {claim.id: claim.verdict.value for claim in CLAIMS.values()}
    for page in ("ltgf", "unisched"):
        for first, said, *_ in rows(page, "Claims and guarantees"):
            for claim in re.findall(r"\(`([a-z0-9-]+)`\)", first):
                assert claim in claims, (page, claim)
                assert said not in ("proved", "refuted") or said == claims[claim], (page, claim)
