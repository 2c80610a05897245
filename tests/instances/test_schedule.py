"""Schedules and allocations: columns and segments say the same, and wrong columns are refused."""

import pickle
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from gangsched.instances import Allocation, Schedule, Segment
from strategies import schedules

RIGHT: dict[str, Any] = {  # two segments: 2 GPUs of node 0; 1 GPU on each of nodes 0 and 1
    "job": [0, 1],
    "start": [0, 4],
    "end": [4, 6],
    "ptr": [0, 1, 3],
    "node": [0, 0, 1],
    "gpus": [2, 1, 1],
}


def test_columns_and_segments_say_the_same() -> None:
    expected = [Segment(0, 0, 4, {0: 2}), Segment(1, 4, 6, {0: 1, 1: 1})]
    assert list(Schedule(**RIGHT)) == expected
    assert Schedule.of(expected) == Schedule(**RIGHT)
    assert Schedule(**RIGHT)[-1] == expected[1]
    with pytest.raises(IndexError, match="segment 2 of a schedule of 2"):
        Schedule(**RIGHT)[2]


@pytest.mark.parametrize("devices", [{0: (1,)}, {0: (0, 1), 1: (0,)}, {1: (0, 1)}])
def test_devices_of_a_segment_fit_its_gpus(devices: dict[int, tuple[int, ...]]) -> None:
    """Checked a segment at a time: one too few here and one too many there add up."""
    rows = [Segment(0, 0, 4, {0: 2}, devices), Segment(1, 4, 6, {0: 1}, {0: (2,)})]
    message = f"schedule: devices={devices} of job 0 do not fit its gpus={{0: 2}}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Schedule.of(rows)


def test_devices_belong_to_their_node() -> None:
    schedule = Schedule(**RIGHT, device=[3, 5, 7, 0])
    assert schedule[0].devices == {0: (3, 5)}
    assert schedule[1].devices == {0: (7,), 1: (0,)}


@given(schedules())
def test_segments_give_the_columns_back(schedule: Schedule) -> None:
    assert Schedule.of(schedule) == schedule


def test_an_empty_schedule_is_legal() -> None:
    assert len(Schedule.of([])) == 0
    assert repr(Schedule.of([])) == "Schedule(0 segments, end=0)"


def test_parameter_servers_alone_fill_an_entry() -> None:
    assert Schedule(**{**RIGHT, "gpus": [2, 0, 1]}, ps=[0, 1, 0]).ps.tolist() == [0, 1, 0]


def test_columns_are_read_only_copies() -> None:
    start = np.array([0, 4])
    schedule = Schedule(**{**RIGHT, "start": start})
    start[0] = 3
    assert schedule.start[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        schedule.start[0] = 1


def test_schedules_differ_in_any_column() -> None:
    assert Schedule(**RIGHT) != Schedule(**{**RIGHT, "job": [0, 2]})
    assert Schedule(**RIGHT) != Schedule(**RIGHT, device=[0, 1, 2, 0])
    assert Schedule(**RIGHT) != "schedule"


def test_allocations_compare_by_value() -> None:
    one = Allocation(("a",), ("v",), [[1.5]])  # type: ignore[arg-type]
    assert one == Allocation(["a"], ["v"], np.array([[1.5]]))
    assert one != Allocation(("a",), ("v",), np.array([[1.0]]))
    assert one != Allocation(("b",), ("v",), np.array([[1.5]]))
    with pytest.raises(ValueError, match="read-only"):
        one.shares[0, 0] = 2


@pytest.mark.parametrize("again", [deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_are_equal_and_read_only(again: Callable[[Any], Any]) -> None:
    schedule = Schedule(**RIGHT, ps=[1, 0, 2], device=[0, 1, 2, 0])
    allocation = Allocation(("a",), ("v",), np.array([[1.5]]))
    assert again(schedule) == schedule
    assert again(allocation) == allocation
    arrays = [again(allocation).shares]
    arrays += [getattr(again(schedule), name) for name in (*RIGHT, "ps", "device")]
    assert [array.flags.writeable for array in arrays] == [False] * 9


def test_parameter_servers_need_their_node_among_the_gpus() -> None:
    with pytest.raises(ValueError, match=r"schedule: ps=\{1: 2\} of job 0 names nodes"):
        Schedule.of([Segment(0, 0, 4, {0: 2}, ps={1: 2})])
