"""The tables of profiling on the driver's page: their settings, and what the page says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "the-driver.md"
WORKLOADS = "T[720]", "P_MIX2"


def tables() -> list[list[list[str]]]:
    """Cells of the tables, heading first."""
    text = PAGE.read_text("utf-8").partition("<!-- profiling -->")[2].partition("<!-- end -->")[0]
    return [
        [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows.splitlines()]
        for rows in re.findall(r"^((?:\|.*\n)+)", text, re.MULTILINE)
    ]


def misses(table: list[list[str]]) -> dict[str, dict[str, float]]:
    """Mean misses by policy and column."""
    heading, _, *rows, _ = table
    return {
        row[0]: {
            head: float(cell.partition(" / ")[0])
            for head, cell in zip(heading[1:], row[1:], strict=True)
        }
        for row in rows
    }


@pytest.mark.parametrize(("number", "name"), enumerate(WORKLOADS))
def test_the_tables_name_what_they_compare(number: int, name: str) -> None:
    heading = tables()[number][0]
    assert re.fullmatch(
        rf"{re.escape(name)}, .* nodes of [48] GPUs, seeds 0 to 2, 0 jobs left out: "
        r"miss \(%\) / completion \(h\)",
        heading[0],
    )
    assert heading[1:3] == ["told", "on free GPUs"]
    assert sum("node" in head for head in heading[1:]) >= 3
    assert len(misses(tables()[number])) >= 14


@pytest.mark.parametrize("number", [0, 1])
def test_on_dedicated_nodes_nobody_misses_less_than_told(number: int) -> None:
    for name, row in misses(tables()[number]).items():
        for head, miss in row.items():
            assert "node" not in head or miss >= row["told"], (name, head)


def test_on_the_testbed_free_gpus_are_better_for_everybody() -> None:
    for name, row in misses(tables()[0]).items():
        own = [miss for head, miss in row.items() if re.fullmatch(r"on \d nodes", head)]
        assert len(own) == 3
        assert row["on free GPUs"] < min(own), name


def test_what_is_said_of_two_nodes_on_p_mix2() -> None:
    found = misses(tables()[1])
    gain = {name: row["on free GPUs"] - row["on 2 nodes"] for name, row in found.items()}
    assert min(gain["`optimus:elastic`"], gain["`unisched:known`"]) > 2
    assert max(gain[f"`{name}`"] for name in ("hydra", "genie", "sjf", "easy")) < -2


def test_easy_is_better_off_profiled_on_free_gpus_as_narrow_gangs_pass() -> None:
    for number in (0, 1):
        row = misses(tables()[number])["`easy`"]
        assert row["Chronus's, on free GPUs"] < row["on free GPUs"] < row["told"]
    for narrow, wide in (tables()[2][2:4], tables()[2][4:6]):
        assert float(narrow[2]) < float(narrow[1])
        assert float(wide[2]) > float(wide[1])


def test_who_misses_less_than_told_is_named() -> None:
    free, other = "on free GPUs", "Chronus's, on free GPUs"
    less: dict[tuple[int, str], set[str]] = {}
    for number in (0, 1):
        for name, row in misses(tables()[number]).items():
            for head in (free, other):
                if row[head] < row["told"]:
                    less.setdefault((number, head), set()).add(name.strip("`"))
    text = PAGE.read_text("utf-8").partition("With Chronus's profiler on free GPUs some others")[2]
    both, one = text.partition("`python")[0].split(" on both workloads")
    named = [{*re.findall("`(.*?)`", part)} for part in (both, one)]
    assert less[0, free] == less[1, free] == {"easy"}
    assert less[0, other] == {"easy", *named[0]}
    assert less[1, other] == {"easy", "sjf", *named[0], *named[1]}
    gains = [
        row["told"] - row[other]
        for number in (0, 1)
        for name, row in misses(tables()[number]).items()
        if name.strip("`") in less[number, other] - {"easy", "sjf"}
    ]
    words = re.search(r"by ([\d.]+) to\s+([\d.]+) points", both)
    assert words is not None
    assert [f"{min(gains):.1f}", f"{max(gains):.1f}"] == [*words.groups()]
