"""Every table that compares names its referee: the line of settings that stands below it.

Tables are found in all pages: those of Markdown, and those in blocks of what was printed. One
compares if its heading names policies or solvers, if it stands between the marks of a figure, or if
two of its rows or a head have names of the registry; what is none although it looks like one stands
in :data:`NO_COMPARISONS` with the reason. What a page's Python prints has settings in that code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from gangsched.analysis.show.referee import Referee, left_out, seed_range
from gangsched.analysis.show.replay_tables import referee
from gangsched.registry import POLICIES, PROBLEMS
from gangsched.registry import policy as named
from gangsched.solvers import Estimated, IsolationArea, Srtf
from layout import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: page and beginning of the heading of what compares no policies, and why
NO_COMPARISONS = {
    ("docs/*", "| statement |"): "verdicts on the tables above them, which have the line",
    ("docs/*", "| claim |"): "as above",
    ("docs/papers/ltgf_figures.md", "| instance |"): "settings themselves: who was left out",
    ("docs/baseline.md", "| problem |"): "how many instances there are",
    ("docs/benchmarks.md", ""): "seconds of programs, on a machine that it names",
    ("docs/reference/*", ""): "lists of names, files and tests",
    ("docs/glossary.md", ""): "meanings of words",
    ("docs/index.md", ""): "a table of contents",
    ("docs/explanation/architecture.md", ""): "a table of contents",
    ("docs/explanation/the-driver.md", "| name | what the policy knows |"): "names of settings",
    ("docs/explanation/the-driver.md", "| | a wide job | shown by |"): "rules, and their tests",
    ("docs/explanation/online-bounds.md", "| kind | instances | bound is"): "a survey of proofs",
    ("docs/papers/*.md", "| eq. |"): "where equations stand",
    ("docs/papers/*.md", "| policy | run times | gangs |"): "what policies know, without numbers",
    ("docs/papers/*.md", "| paper | with the policy |"): "names of options",
    ("docs/papers/*.md", "| solver | "): "what solvers are, without numbers",
}
MARK = re.compile(r"^<!-- (?P<name>[\w:. -]+) -->$")
LINE = re.compile(
    r"^Information: (?P<information>.+?); seeds: (?P<seeds>.+?); excluded: (?P<excluded>.+?); "
    r"parameters: (?P<parameters>.+?); certificate: (?P<certificate>.+)\.$"
)
NAMES = {*POLICIES, *(name for problem in PROBLEMS.values() for name in problem.solvers)}
PRINT = "printed"
PRINTED = re.compile(r"^(policy|solver)  .*\S  +\S.*  +\S")  # a heading of four columns or more


@dataclass(frozen=True)
class Table:
    """A table of a page, and what stands below it."""

    page: str
    number: int
    heading: str
    rows: tuple[str, ...]
    below: str
    block: str

    def __str__(self) -> str:
        return f"{self.page}:{self.number}: {self.heading[:80]}"


def tables(path: Path) -> Iterator[Table]:
    """Yield the tables of Markdown outside of fenced blocks."""
    page, lines, fenced, block = _name(path), path.read_text("utf-8").splitlines(), False, ""
    for i, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if mark := MARK.match(line):
            block = "" if mark["name"].startswith("end") else mark["name"]
        head = lines[i - 1] if i else ""
        if not fenced and head.startswith("|") and re.fullmatch(r"\|[ :|-]+\|", line):
            end = next((j for j, own in enumerate(lines[i:], i) if own[:1] != "|"), len(lines))
            below = next((own for own in lines[end:] if own), "")
            yield Table(page, i, head, tuple(lines[i + 1 : end]), below, block)


def printed(path: Path) -> Iterator[Table]:
    """Yield what commands printed that has tables: its last lines stand for what is below."""
    text = path.read_text("utf-8")
    for block in re.finditer(r"^```(?:text|pycon)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        lines = block[1].splitlines()
        heads = [line for line in lines if PRINTED.match(line)]
        if heads:
            below = next((line for line in lines if LINE.match(line)), lines[-1])
            lines = [line for line in lines if line != below]
            number = text.count("\n", 0, block.start()) + 1
            yield Table(_name(path), number, heads[0], tuple(lines), below, PRINT)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def excused(table: Table) -> tuple[str, str] | None:
    """The entry of the list that a table falls under."""
    found = (
        key for key in NO_COMPARISONS
        if fnmatch(table.page, key[0]) and table.heading.startswith(key[1])
    )  # fmt: skip
    return next(found, None)


#: words of a heading
WORDS = {"policy", "policies", "solver", "solvers", "schedule", "schedules"}


def cells(row: str) -> list[str]:
    return [cell.strip(" `*") for cell in row.strip("|").split("|")]


def compares(table: Table) -> bool:
    """Whether a table may have a winner: by its heading, by where it stands, or by its rows."""
    words = {*re.findall(r"\w+", table.heading.lower())}
    named = sum(_is_name(cells(row)[0]) for row in table.rows) > 1
    named |= any(map(_is_name, cells(table.heading)))
    numbers = any(re.search(r"\d", cell) for row in table.rows for cell in cells(row)[1:])
    figure = ":" in table.block
    return numbers and (figure or named or not WORDS.isdisjoint(words))


def _is_name(cell: str) -> bool:
    """Whether a cell begins with a name of the registry."""
    return re.split(r"[`, ]", cell, maxsplit=1)[0].lower() in NAMES


def wrong(table: Table) -> list[str]:
    """What the line below a table lacks."""
    found = LINE.match(table.below)
    if found is None:
        return [f"no line of settings, but {table.below[:60]!r}"]
    faults = []
    if not re.search(r"\d|none drawn", found["seeds"]):
        faults.append(f"seeds: {found['seeds']}")
    if not re.search(r"\bno\b|\d", found["excluded"]):
        faults.append(f"excluded jobs are not counted: {found['excluded']}")
    if not re.search(r"\d", found["parameters"]):
        faults.append(f"parameters: {found['parameters']}")
    return faults + uncertified(table, found["certificate"])


def uncertified(table: Table, said: str) -> list[str]:
    """A certificate stands in the table or in the line, or the line says why there is none."""
    if re.match(r"(none|no bound), (as|of) ", said):
        return []
    if where := re.search(r"(?:^|, )([^,]+?)s? in the tables?\b", said):
        shown = "\n".join([table.heading, *table.rows])
        words = where[1].split() if table.block == PRINT else [where[1]]
        return [f"no {word} is in the table" for word in words if word not in shown]
    if "in brackets" in said:
        ratios = [re.search(r"\(\d+\.\d{3}\)", row) for row in table.rows]
        return [] if all(ratios) else ["a row has no ratio in brackets"]
    return [] if re.search(r"\d", said) else [f"certificate: {said}"]


def faults(found: list[Table]) -> list[str]:
    return [f"{table}: {fault}" for table in found for fault in wrong(table)]


def test_every_comparison_names_its_referee() -> None:
    found = [table for page in PAGES for table in tables(page)]
    assert faults([table for table in found if compares(table) and excused(table) is None]) == []
    assert faults([table for page in PAGES for table in printed(page)]) == []


def test_each_exception_is_one() -> None:
    """An entry of the list that excuses nothing would excuse the next table that has its words."""
    used = {excused(table) for path in PAGES for table in tables(path)}
    assert {*NO_COMPARISONS} <= used


GOOD = (
    "Information: told; seeds: 0 to 2; excluded: no job; parameters: rounds of 60 s; certificate: "
    "certified ratio in the table."
)


def made(below: str, heading: str = "| policy | miss | certified ratio |") -> Table:
    return Table("a.md", 1, heading, ("| `fifo` | 3 | 1.2 |", "| `srtf` | 2 | 1.1 |"), below, "")


def test_a_line_that_lacks_something_is_seen() -> None:
    assert faults([made(GOOD)]) == []
    assert LINE.match(str(Referee(**dict.fromkeys(LINE.groupindex, "1")))) is not None
    for part in LINE.groupindex:
        without = re.sub(rf"(?i)(; )?{part}: [^;.]+", "", GOOD)
        assert faults([made(without)]), part
    for wanted, other in (
        ("0 to 2", "some"), ("no job", "few"), ("60", "some"), ("certified ratio in", "gap in"),
        ("certified ratio in the table", "good"),
    ):  # fmt: skip
        assert faults([made(GOOD.replace(wanted, other))]), wanted
    assert faults([made("Text.")])
    assert faults([made(GOOD, "| policy | miss |")])


def test_settings_cannot_be_empty() -> None:
    with pytest.raises(ValueError, match="referee: seeds='' says nothing"):
        Referee(information="told", seeds="", excluded="no job", parameters="1", certificate="1")
    assert (seed_range([2, 4, 3]), left_out([1, 2])) == ("2 to 4", "1 and 2 jobs by seed")


def test_seeds_are_those_of_policies_that_draw() -> None:
    """EASY and UniSched have a seed, and draw nothing where their errors have size 0."""
    jobs = [gs.DeadlineJob(id="a", gpus=1, work=600, rewards=[(3_600, 5)])]
    one = gs.Instance(gs.Cluster.of_sizes([2]), jobs)
    told = ["easy", "unisched:known", "easy:profiled", "fifo"]
    assert referee(gs.replay(one, told)).seeds == "none drawn"
    exact: Any = Estimated(policy=IsolationArea(), size=0.0, seed=4)
    noisy: Any = Estimated(policy=Srtf(), seed=7)
    assert referee(gs.replay(one, {"a": exact})).seeds == "none drawn"
    found = gs.replay(one, {"a": noisy, "b": named("easy:estimates")[1], "c": exact})
    assert referee(found, drawn="2 of the jobs").seeds == "2 of the jobs, 0, 7 of policies"
