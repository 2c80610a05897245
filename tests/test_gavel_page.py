"""The page of Gavel's traces: the settings of each row, how near they are, and that this is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from layout import ROOT
from pages import gavel

PAGE = ROOT / "docs" / "explanation" / "gavel-traces.md"
CELLS = json.loads(PAGE.with_suffix(".json").read_text("utf-8"))["cells"]
HEADS = ["policy", "information", "seeds", "rules", "jobs", "excluded", "this", "Gavel's own"]
#: how much worse than Gavel's own number a row may be, in per cent
NEAR = {
    ("physical", "max-min-fairness"): 5.0,
    ("physical", "finish-time-fairness"): 5.0,
    ("single", "allox"): 5.0,
    ("makespan", "min-total-duration"): 2.0,
}
GAVEL = {
    ("physical", "max-min-fairness"): "14,623",
    ("physical", "finish-time-fairness"): "15,010",
    ("single", "allox"): "16,928",
    ("makespan", "min-total-duration"): "64,721",
}
PARTS = {part for part, _ in NEAR}


def rows_of(part: str) -> list[list[str]]:
    """Cells of the table of a part, heading first."""
    text = PAGE.read_text("utf-8").partition(f"<!-- {part} -->")[2].partition("<!-- end -->")[0]
    lines = re.findall(r"^\|(.*)\|$", text, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines]


@pytest.mark.parametrize("part", sorted(PARTS))
def test_every_row_has_the_settings_of_the_referee(part: str) -> None:
    heads, _, *rows = rows_of(part)
    assert heads[: len(HEADS)] == HEADS
    assert len(rows) >= 4
    for _, information, seeds, rules, jobs, excluded, *_ in rows:
        assert information in ("told", "none used")
        assert (seeds, excluded) == ("none drawn", "0")
        assert jobs == ("100" if part == "makespan" else "96")
        assert rules == "round-length 360 s, lease 360 s, overhead 0 s"


@pytest.mark.parametrize(("part", "policy"), NEAR)
def test_it_is_near_to_gavels_own_number(part: str, policy: str) -> None:
    (row,) = [row for row in rows_of(part)[2:] if row[0] == f"`{policy}`"]
    this, theirs = row[6], row[7]
    assert theirs == GAVEL[part, policy]
    ours, own = (int(text.replace(",", "")) for text in (this, theirs))
    assert ours <= own * (1 + NEAR[part, policy] / 100)


def test_the_tables_are_those_of_the_data() -> None:
    for name, case in gavel.CASES.items():
        assert gavel.text(case, CELLS[name]) in PAGE.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("part", sorted(PARTS))
def test_a_replay_on_the_command_line_gives_these_numbers(traces: Path, part: str) -> None:
    assert gavel.replayed(gavel.CASES[part], traces) == CELLS[part]
