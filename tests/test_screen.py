"""Tables on narrow screens: nothing is cut, and each number stands with its name."""

import io
import re

from rich.console import Console
from rich.table import Table

from few import each_seed
from gangsched.screen import new_table, show_table

NAMES = ("fifo", "unisched:static-profiler", "any policy")
HEADS = ("weighted\nmiss rate", "reward", "certified\nratio", "suspensions per\nbest-effort job")
NUMBERS = {
    "fifo": ("42.3%", "37,160", "1.5528", "0.24"),
    "unisched:static-profiler": ("30.9%", "44,500", "1.2967", "1.26"),
    "any policy": ("", "≤ 57,700", "", ""),
}


def table() -> Table:
    made = new_table("policy", *HEADS, "status", right=HEADS)
    for name, numbers in NUMBERS.items():
        made.add_row(name, *numbers, "" if name == "any policy" else "proven optimal")
    return made


def shown(width: int) -> list[str]:
    """The tables, each as one text."""
    file = io.StringIO()
    show_table(Console(width=width, file=file), table())
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    return re.split(r"\n{2,}", "\n".join(lines))


@each_seed(range(45, 100), name="width")
def test_no_number_is_cut_and_each_stands_beside_its_name(width: int) -> None:
    tables = shown(width)
    assert "…" not in "".join(tables)
    for name, numbers in NUMBERS.items():
        rows = [line for text in tables for line in text.splitlines() if line.startswith(name[:14])]
        for number in filter(None, numbers):
            assert any(number in row.split("  ") or f" {number}" in row for row in rows)


def test_a_wide_screen_has_one_table() -> None:
    assert len(shown(100)) == 1
    assert len(shown(60)) > 1


@each_seed(range(45, 100), name="width")
def test_a_ratio_stands_with_what_it_is_a_ratio_of(width: int) -> None:
    """A table below has no rows that say nothing there."""
    tables = [text for text in shown(width) if "1.5528" in text]
    assert len(tables) == 1
    assert "37,160" in tables[0]
    for text in tables:
        assert ("any policy" in text) == ("57,700" in text)


def test_words_are_folded_before_a_table_is_split() -> None:
    """Of the status, the longest word has to fit."""
    whole = min(width for width in range(45, 100) if len(shown(width)) == 1)
    numbers = sum(2 + max(map(len, head.split("\n"))) for head in HEADS)
    assert whole <= numbers + 2 + len("unisched:static-profiler") + 2 + len("optimal") + 2
