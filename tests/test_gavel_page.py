"""The page of Gavel's traces: it shows its data, and they are near to Gavel's own numbers."""

import json
from pathlib import Path

import pytest

from layout import ROOT
from pages import gavel

PAGE = ROOT / "docs" / "explanation" / "gavel-traces.md"
CELLS = json.loads(PAGE.with_suffix(".json").read_text("utf-8"))["cells"]
#: how much worse than Gavel's own number a policy may be, in per cent
NEAR = {
    ("physical", "max-min-fairness"): 5.0,
    ("physical", "finish-time-fairness"): 5.0,
    ("single", "allox"): 5.0,
    ("makespan", "min-total-duration"): 2.0,
}


def test_it_is_near_to_gavels_own_numbers() -> None:
    assert {*NEAR} == {(part, name) for part in gavel.CASES for name in gavel.CASES[part].gavel}
    for (part, name), most in NEAR.items():
        row = CELLS[part]["rows"][name]
        assert row["value"] <= gavel.CASES[part].gavel[name] * (1 + most / 100)
        assert (row["jobs"], row["excluded"]) == (100 if part == "makespan" else 96, 0)


def test_the_tables_are_those_of_the_data() -> None:
    for name, case in gavel.CASES.items():
        assert gavel.text(case, CELLS[name]) in PAGE.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("part", gavel.CASES)
def test_a_replay_on_the_command_line_gives_these_numbers(traces: Path, part: str) -> None:
    assert gavel.replayed(gavel.CASES[part], traces) == CELLS[part]
