"""The tables of value-density: each row has its settings, and what the page says of them is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "value-density.md"
INFORMATION = {"told": "value-density", "profiled": "value-density:profiled"}
SETTINGS = ["policy", "information", "seeds", "excluded", "parameters"]


def tables(part: str) -> dict[str, list[list[str]]]:
    """Cells of the tables between the marks of a part, heading first, by what stands above."""
    text = PAGE.read_text("utf-8").partition(f"<!-- {part} -->")[2].partition("<!-- end -->")[0]
    found = re.findall(r"^([^|\n]+):\n\n((?:\|.*\n?)+)", text, re.MULTILINE)
    return {
        title: [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows.splitlines()]
        for title, rows in found
    }


@pytest.mark.parametrize("part", INFORMATION)
def test_every_row_has_the_settings_of_the_referee(part: str) -> None:
    shown = tables(part)
    assert len(shown) >= 4
    for heading, _, *rows in shown.values():
        assert heading[:5] == SETTINGS
        for _, information, seeds, excluded, parameters, *values in rows:
            assert (information, seeds, excluded) == (part, "10 to 14", "0")
            assert parameters
            assert len(values) == 5


@pytest.mark.parametrize("part", INFORMATION)
def test_it_misses_less_than_every_other_policy(part: str) -> None:
    _, _, own, balanced, *others = tables(part)["Mean weighted miss, %"]
    assert own[0] == f"`{INFORMATION[part]}`"
    assert "balanced" in balanced[0]
    assert len(others) >= 2
    for row in others:
        for mine, theirs in zip(own[5:], row[5:], strict=True):
            assert float(mine) < float(theirs), row


def test_the_certified_ratio_of_the_testbed_is_small() -> None:
    rows = tables("told")["Reward bound over reward, mean (worst seed)"]
    assert float(rows[2][5].partition(" ")[0]) <= 1.06
