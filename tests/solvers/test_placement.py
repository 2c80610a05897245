"""Placement: what is taken is there, what is not found is nowhere, and the fullest node is used."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.solvers.placement import place


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """(free, sizes) of up to six nodes of up to two sizes."""
    kinds = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    sizes = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=6))
    return [draw(st.integers(0, size)) for size in sizes], sizes


def choices(gpus: int, free: list[int], sizes: list[int], size: int) -> list[dict[int, int]]:
    """All ways to take whole free nodes of one size and the remainder on one more node."""
    nodes = [n for n in range(len(sizes)) if sizes[n] == size]
    full, rest = gpus // size, gpus % size
    found = []
    for whole in combinations([n for n in nodes if free[n] == size], full):
        taken = dict.fromkeys(whole, size)
        if rest == 0:
            found.append(taken)
        found += [{**taken, n: rest} for n in nodes if rest and n not in taken and free[n] >= rest]
    return found


@given(cluster=clusters(), gpus=st.integers(1, 12))
def test_it_finds_room_on_the_smallest_size_that_has_it(
    cluster: tuple[list[int], list[int]], gpus: int
) -> None:
    free, sizes = cluster
    found = place(gpus, free, sizes)
    by_size = [choices(gpus, free, sizes, size) for size in sorted(set(sizes))]
    first = next((some for some in by_size if some), None)
    if first is None:
        assert found is None
    else:
        assert found in first


@given(cluster=clusters(), gpus=st.integers(1, 12))
def test_of_these_it_takes_low_numbers_and_the_fullest_node_for_the_remainder(
    cluster: tuple[list[int], list[int]], gpus: int
) -> None:
    free, sizes = cluster
    found = place(gpus, free, sizes)
    if found is None:
        return
    size = sizes[next(iter(found))]
    whole = [n for n, taken in found.items() if taken == size]
    empty = [n for n in range(len(sizes)) if sizes[n] == size == free[n]]
    assert whole == empty[: len(whole)]
    for n in set(found) - set(whole):
        others = [
            (free[k], k)
            for k in range(len(sizes))
            if sizes[k] == size and k not in whole and free[k] >= found[n]
        ]
        assert (free[n], n) == min(others)


@given(cluster=clusters(), gpus=st.integers(1, 12))
def test_where_a_gang_finds_no_room_no_larger_one_does_on_nodes_of_one_size(
    cluster: tuple[list[int], list[int]], gpus: int
) -> None:
    free, sizes = cluster
    free = [f for f, s in zip(free, sizes, strict=True) if s == sizes[0]]
    sizes = [sizes[0]] * len(free)
    if place(gpus, free, sizes) is None:
        assert place(gpus + 1, free, sizes) is None


@given(cluster=clusters(), gpus=st.integers(1, 12))
def test_spread_fails_only_where_gpus_are_missing(
    cluster: tuple[list[int], list[int]], gpus: int
) -> None:
    free, sizes = cluster
    found = place(gpus, free, sizes, spread=True)
    assert (found is None) == (sum(free) < gpus)
    if found is not None:
        assert sum(found.values()) == gpus
        assert all(0 < taken <= free[n] for n, taken in found.items())


@pytest.mark.parametrize(
    ("gpus", "free", "found"),
    [
        (8, [4, 3, 4], {0: 4, 2: 4}),
        (6, [4, 2, 3, 2], {0: 4, 1: 2}),
        (1, [4, 3, 1, 1], {2: 1}),
        (9, [4, 4, 0], None),
    ],
)
def test_by_hand(gpus: int, free: list[int], found: dict[int, int] | None) -> None:
    assert place(gpus, free, [4] * len(free)) == found


def test_a_gang_stays_on_nodes_of_one_size() -> None:
    assert place(6, [4, 2, 2, 2], [4, 2, 2, 2]) == {1: 2, 2: 2, 3: 2}
    assert place(6, [4, 2, 2, 0], [4, 2, 2, 2]) is None
