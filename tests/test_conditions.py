"""What compares policies names its settings: the line below tables and in reports."""

import re
from typing import Any

import pytest

import gangsched as gs
from gangsched.analysis.show.conditions import Conditions, left_out, seed_range
from gangsched.analysis.show.replay_tables import conditions
from gangsched.registry import policy as named
from gangsched.solvers import Estimated, IsolationArea, Srtf
from layout import ROOT

PAGES = {path.name: path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")}
PAGES["README.md"] = (ROOT / "README.md").read_text("utf-8")
LINE = re.compile(
    r"Information: .+?; seeds: .*?(\d|none drawn).*?; excluded: .*?(\bno\b|\d).*?; "
    r"parameters: .*?\d.*?; certificate: .+\."
)


def test_figures_name_their_settings() -> None:
    """Below each block that holds a table, or in its last line."""
    lacking, blocks = [], 0
    for page, text in PAGES.items():
        for name, block in re.findall(r"<!-- (\w+:\w+) -->\n(.*?)<!-- end -->", text, re.DOTALL):
            blocks += 1
            if not LINE.search(block):
                lacking.append((page, name))
    assert lacking == []
    assert blocks > 30


def test_lines_of_settings_say_all_of_them() -> None:
    lines = [(page, line) for page, text in PAGES.items() for line in text.splitlines()]
    found = [(page, line) for page, line in lines if line.startswith("Information: ")]
    assert [one for one in found if not LINE.fullmatch(one[1])] == []
    assert {page for page, _ in found} >= {"README.md", "results.md", "unisched_figures.md"}
    assert LINE.fullmatch(str(Conditions(**dict.fromkeys(Conditions.__dataclass_fields__, "1"))))


def test_settings_cannot_be_empty() -> None:
    with pytest.raises(ValueError, match="seeds='' says nothing"):
        Conditions(
            information="known", seeds="", excluded="no job", parameters="1", certificate="1"
        )
    assert (seed_range([2, 4, 3]), left_out([1, 2])) == ("2 to 4", "1 and 2 jobs by seed")


def test_seeds_are_those_of_policies_that_draw() -> None:
    """EASY and UniSched have a seed, and draw nothing where their errors have size 0."""
    jobs = [gs.DeadlineJob(id="a", gpus=1, work=600, rewards=[(3_600, 5)])]
    one = gs.Instance(gs.Cluster.of_sizes([2]), jobs)
    told = ["easy", "unisched:known", "easy:profiled", "fifo"]
    assert conditions(gs.replay(one, told)).seeds == "none drawn"
    exact: Any = Estimated(policy=IsolationArea(), size=0.0, seed=4)
    noisy: Any = Estimated(policy=Srtf(), seed=7)
    assert conditions(gs.replay(one, {"a": exact})).seeds == "none drawn"
    found = gs.replay(one, {"a": noisy, "b": named("easy:estimates")[1], "c": exact})
    assert conditions(found, drawn="2 of the jobs").seeds == "2 of the jobs, 0, 7 of policies"
