"""Packed columns hold the numbers that were put in, and a schedule of them is one of them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.instances import Schedule
from gangsched.instances.packed import Packed
from malformed import table

PARTS = st.lists(
    st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 300), max_size=9), max_size=5
)


@given(parts=PARTS)
def test_a_column_holds_what_was_put_in(parts: list[list[int]]) -> None:
    column = Packed(np.array(part, dtype=np.int64) for part in parts)
    flat = [number for part in parts for number in part]
    assert column.array().dtype == np.int64
    assert column.array().tolist() == flat
    assert [part.tolist() for part in column] == [part for part in parts if part]
    assert column.size == len(flat)
    longer = column.copy()
    longer.add(np.array([1], dtype=np.int64))
    assert column.array().tolist() == flat
    assert longer.array().tolist() == [*flat, 1]


def test_small_differences_take_little_room() -> None:
    falls, rises, rounds = (
        [9, 0, 70_001],
        np.arange(10**9, 10**9 + 70_000, 100),
        [60, 0, 10**6 * 60],
    )
    column = Packed(map(np.array, (falls, rises, rounds, [5] * 1_000)))
    kinds = [part.numbers.dtype for part in column.parts]
    assert kinds == [np.uint32, np.uint8, np.uint32, np.uint8]
    assert column.parts[2].numbers.tolist() == [1, 0, 10**6]
    assert column.parts[-1].numbers.base.nbytes == 1  # of a thousand equal numbers one is kept


def packed(**changes: list[int]) -> Schedule:
    columns = {
        "job": [0, 1], "start": [0, 5], "end": [4, 9], "length": [1, 2], "node": [0, 0, 1],
        "gpus": [1, 2, 3],
    }  # fmt: skip
    return Schedule.of_packed(
        {name: Packed([np.array(column)]) for name, column in (columns | changes).items()}
    )


def test_a_schedule_unpacks_what_is_read() -> None:
    plan = packed()
    assert "job" not in plan.__dict__
    assert len(plan) == 2
    same = Schedule([0, 1], [0, 5], [4, 9], [0, 1, 3], [0, 0, 1], [1, 2, 3])
    assert plan == same
    assert pickle.loads(pickle.dumps(packed())) == same
    assert packed()[1] == same[1]
    assert plan.job.dtype == plan.ptr.dtype == plan.ps.dtype == np.int64
    assert plan.job is plan.job
    for name in ("job", "start", "end", "ptr", "node", "gpus", "ps", "device"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(plan, name)[:] = 0
    assert len(Schedule.of_packed({name: Packed() for name in ("job", "length", "node")})) == 0
    with pytest.raises(AttributeError, match="no attribute 'length'"):
        plan.length  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("changes", "text"),
    table("refused_values")["packed_segments_are_checked"],
)
def test_packed_segments_are_checked(changes: dict[str, list[int]], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        packed(**changes)
