"""Jobs of workers and parameter servers: utilities never rise, and every wrong field is refused."""

import dataclasses
import math
import pickle
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.instances import Linear, ParameterServerJob, Power, Table, Utility
from strategies import ps_jobs, utilities


def job(**fields: Any) -> ParameterServerJob:
    given = {"epochs": 2, "minibatches": 3, "rates": (1, 0.5), "utility": Linear(-2, 100)}
    return ParameterServerJob(**{"id": "j", "gpus": 4, **given, **fields})


# --- utilities -----------------------------------------------------------------------------------


@given(utilities(), st.lists(st.integers(1, 2**40), min_size=2, max_size=20))
def test_utilities_never_rise_and_are_finite(utility: Utility, times: list[int]) -> None:
    values = [utility.value(time) for time in sorted(times)]
    assert all(after <= before for before, after in pairwise(values))
    assert all(math.isfinite(value) and type(value) is float for value in values)


def test_utilities_by_hand() -> None:
    assert [Linear(-2, 100).value(t) for t in (1, 8, 60)] == [98, 84, -20]
    assert Linear(0, -5).value(7) == -5
    assert [Power(12, 2).value(t) for t in (1, 2, 3, 24)] == [144, 36, 16, 0.25]
    assert Power(9, 0.5).value(4) == 1.5
    assert [Table([9, 9, 3, -1]).value(t) for t in (1, 2, 3, 4, 5, 99)] == [9, 9, 3, -1, -1, -1]


def test_the_largest_and_smallest_numbers_stay_finite() -> None:
    assert Linear(-1e80, -1e80).value(2**40) == pytest.approx(-1e80 * 2**40)
    assert Power(1e40, 2).value(1) == pytest.approx(1e80)
    assert Power(0.5, 1e9).value(1) == 0
    assert Power(1e-300, 5).value(2**40) == 0
    assert Table([1e80, -1e80]).value(2) == -1e80


def test_numbers_of_other_types_become_floats_and_tables_tuples() -> None:
    table = Table(np.array([3, 2, 1]))  # type: ignore[arg-type]
    assert table == Table((3, 2, 1)) == Table(iter([3, 2, 1]))  # type: ignore[arg-type]
    assert table.values == (3.0, 2.0, 1.0)
    assert {type(value) for value in table.values} == {float}
    linear = Linear(np.int64(-2), Fraction(1, 2))  # type: ignore[arg-type]
    assert (type(linear.slope), linear.constant) == (float, 0.5)
    assert len({Linear(-2, 1), Linear(-2.0, 1.0), Power(2, 1), Table([2, 1]), Table((2, 1))}) == 3


# --- jobs ----------------------------------------------------------------------------------------


@given(ps_jobs())
def test_jobs_survive_pickling_and_replacing(made: ParameterServerJob) -> None:
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert hash(again) == hash(made)
    assert dataclasses.replace(made, id="other").utility == made.utility
    assert made.batches == made.epochs * made.gpus * made.minibatches
    assert made.rates[0] >= made.rates[1] > 0


def test_a_job_by_hand() -> None:
    made = job(rates=[np.float64(3), 1])
    assert (made.batches, made.rates, made.work) == (24, (3.0, 1.0), None)
    assert {type(rate) for rate in made.rates} == {float}
    assert job(rates=(0.5, 0.5)).rates == (0.5, 0.5)
    assert made != job()
