"""What arrays of small numbers allow is what numpy says of any."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gangsched.instances.arrays import by_both, by_number, distinct, first_of

#: few and many, small and large, also below 0
NUMBERS = st.sampled_from([3, 2**15, 2**17, 2**40]).flatmap(
    lambda most: st.lists(st.integers(-1 if most == 2**40 else 0, most), max_size=12)
)


@given(NUMBERS)
def test_numbers_once_and_where_they_stand(numbers: list[int]) -> None:
    array = np.array(numbers, dtype=np.int64)
    values, which = distinct(array)
    assert values.tolist() == sorted(set(numbers))
    assert values[which].tolist() == numbers
    assert first_of(which, values.size).tolist() == [numbers.index(v) for v in values.tolist()]


@given(NUMBERS)
def test_equal_numbers_stay_as_they_stand(numbers: list[int]) -> None:
    order = by_number(np.array(numbers, dtype=np.int64)).tolist()
    assert order == sorted(range(len(numbers)), key=numbers.__getitem__)


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2**62)), max_size=12))
def test_orders_by_two_numbers(pairs: list[tuple[int, int]]) -> None:
    for rows in (pairs, [(abs(a), b % 4) for a, b in pairs]):
        major, minor = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        assert by_both(major, minor).tolist() == sorted(range(len(rows)), key=rows.__getitem__)
