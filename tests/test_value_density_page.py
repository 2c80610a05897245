"""The tables of value-density: each row has its settings, and what the page says of them is so."""

from __future__ import annotations

import json
import re

import pytest

from pages import DOCS, density

PAGE = DOCS / "explanation" / "value-density.md"
INFORMATION = {"told": "value-density", "profiled": "value-density:profiled"}
SETTINGS = ["policy", "information", "seeds", "parameters", "excluded"]


def tables(part: str) -> dict[str, list[list[str]]]:
    """Cells of the tables between the marks of a part, heading first, by what stands above."""
    text = PAGE.read_text("utf-8").partition(f"<!-- {part} -->")[2].partition("<!-- end -->")[0]
    found = re.findall(r"^([^|\n]+):\n\n((?:\|.*\n?)+)", text, re.MULTILINE)
    return {
        title: [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows.splitlines()]
        for title, rows in found
    }


def test_the_tables_are_those_of_the_data() -> None:
    data = json.loads(PAGE.with_suffix(".json").read_text("utf-8"))["cells"]
    assert {*data} == {key for key, _ in density.cells()}
    made = density.Page(data)
    for text in (*map(made.comparison, INFORMATION), made.losses()):
        assert text in PAGE.read_text("utf-8")


@pytest.mark.parametrize("part", INFORMATION)
def test_every_row_has_the_settings_of_the_referee(part: str) -> None:
    shown = tables(part)
    assert len(shown) >= 3
    for heading, _, *rows in shown.values():
        assert heading[:5] == SETTINGS
        for _, information, seeds, parameters, excluded, *values in rows:
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


@pytest.mark.parametrize("part", INFORMATION)
def test_what_nobody_can_win_is_said_of_gangs_and_rounded_up(part: str) -> None:
    """The bound is that of policies that keep gangs; of those the data have the numbers."""
    cells = json.loads(PAGE.with_suffix(".json").read_text("utf-8"))["cells"]
    own = INFORMATION[part]
    text = PAGE.read_text("utf-8")
    said = set(re.findall(rf"no policy([^;]*?) times the reward of {own}[;,]", text))
    assert len(said) == 1
    words = said.pop()
    assert words.startswith(" that keeps gangs wins more than 1.")
    shown = {name: float(number) for number, name in re.findall(r"([\d.]+) \((.*?)\)", words)}
    assert len(shown) == 5
    for name, most in shown.items():
        worst = max(
            cells[f"told|{name}|{seed}|bound"]["reward"]
            / cells[f"{part}|{name}|{seed}|{own}"]["reward"]
            for seed in range(10, 15)
        )
        assert worst <= most < worst + 0.001 + 1e-9, name


def test_the_certified_ratio_of_the_testbed_is_small() -> None:
    rows = tables("told")["Reward bound over reward, mean (worst seed)"]
    assert float(rows[2][5].partition(" ")[0]) <= 1.06
