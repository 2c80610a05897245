"""The page of value-density: its tables are those of the data, and what it says of them is so."""

import json
from statistics import fmean

import pytest

from pages import DOCS, density

PAGE = DOCS / "explanation" / "value-density.md"
DATA = json.loads(PAGE.with_suffix(".json").read_text("utf-8"))["cells"]
MADE = density.Page(DATA)


def test_the_tables_are_those_of_the_data() -> None:
    assert {*DATA} == {key for key, _ in density.cells()}
    for text in (*map(MADE.comparison, density.POLICIES), MADE.losses()):
        assert text in PAGE.read_text("utf-8")


@pytest.mark.parametrize("information", density.POLICIES)
def test_it_misses_less_than_every_other_policy(information: str) -> None:
    own, _, *others = density.POLICIES[information]
    assert len(others) >= 2
    for name in density.WORKLOADS:
        misses = [fmean(MADE.by_seed(information, name, p, "miss")) for p in (own, *others)]
        assert misses[0] < min(misses[1:]), name


def test_the_certified_ratio_of_the_testbed_is_small() -> None:
    assert fmean(MADE.ratios("known", "known", density.WORKLOADS[0], density.OWN)) <= 1.06
