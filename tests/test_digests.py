"""Results are those of golden/digests.json, and a change of one is seen."""

from typing import Any

import numpy as np
import pytest

import digests
import gangsched as gs

KNOWN = digests.written()


@pytest.mark.parametrize("name", digests.ENTRIES)
def test_results_are_those_of_the_file(name: str) -> None:
    found = digests.differences(name, KNOWN.get(name, {}), digests.computed(name))
    assert not found, "\n".join([*found, f"if this is meant: {digests.COMMAND} {name}"])


def test_the_file_has_these_entries_and_no_others() -> None:
    assert list(KNOWN) == list(digests.ENTRIES), f"write it anew: {digests.COMMAND}"


def digest(value: Any, digits: int = digests.DIGITS) -> str:
    return digests.line(digests.Part(value, digits=digits))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2), (1, True), (0.1, 0.1 + 1e-9), ([1, 2], [2, 1]), ("a", "b"), (None, 0),
        ({"a": 1}, {"b": 1}), (np.array([1, 2]), np.array([1, 3])), (1e300, float("inf")),
        (gs.Schedule.of([gs.Segment(0, 0, 4, {0: 1})]),
         gs.Schedule.of([gs.Segment(0, 0, 4, {1: 1})])),
        (gs.Job(id="a", gpus=1, work=4), gs.Job(id="a", gpus=1, work=5)),
    ],
)  # fmt: skip
def test_other_results_have_another_digest(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_the_last_digits_minus_zero_and_the_order_of_keys_do_not_count() -> None:
    assert digest(0.1) == digest(0.1 + 1e-11)
    assert digest(0.1, digests.FEW) == digest(0.1 + 1e-8, digests.FEW)
    assert digest(0.0) == digest(-0.0)
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1, "timing": 3.5})
    assert digest({1, 2}) == digest({2, 1})
    assert digest(np.array([1, 2])) == digest((1, 2))


def test_a_difference_names_the_entry_and_shows_both_lines() -> None:
    old, new = {"a": "12 mean 3", "b": "34"}, {"a": "56 mean 4", "b": "34", "c": "78"}
    assert digests.differences("policies/x", old, new) == [
        "policies/x, a: 12 mean 3 -> 56 mean 4",
        "policies/x, c: nothing -> 78",
    ]
