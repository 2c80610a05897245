"""What is meant to be faster is faster, and replays grow with their jobs: ratios of CPU times."""

import time
from functools import partial
from typing import Any

import pytest

import gangsched as gs
from benchmarks.cases import NAMES, PAIRS, growth, times_faster, workload
from gangsched.registry import policy

pytestmark = [pytest.mark.slow, pytest.mark.benchmark(timer=time.process_time)]


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_meant_to_be_faster_is(name: str, benchmark: Any) -> None:
    pair = PAIRS[name]()
    assert pair.fast() == pair.slow() or not pair.same
    benchmark.pedantic(pair.fast, rounds=3)
    found = benchmark.extra_info["times faster"] = times_faster(pair)
    assert found >= pair.least


@pytest.mark.parametrize("name", ["fifo", "ltgf"])
def test_eight_times_the_jobs_cost_about_eight_times_as_much(name: str) -> None:
    assert growth(name, 8) <= 32  # in proportion to their square it would be 64


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_time_of_a_policy(name: str, benchmark: Any) -> None:
    """To be compared: `pytest tests/benchmarks -m exhaustive`."""
    gs.drive(workload(40), policy(name)[1])
    drive = partial(gs.drive, workload(5_000, load=0.95), policy(name)[1])
    benchmark.pedantic(drive, rounds=1)
