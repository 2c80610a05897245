"""Consolidation: cells against enumeration, exact tests against enumeration, slots against both."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from few import each_seed
from gangsched.solvers.unisched.cells import (
    Cells,
    allocations,
    fits_cells,
    free_cells,
    nondominated,
    round_up,
)
from gangsched.solvers.unisched.consolidation import consolidated_rows, pack
from gangsched.solvers.unisched.nodes import Assignment, Nodes, Request, assign


@cache
def fits(gangs: tuple[int, ...], free: tuple[int, ...]) -> bool:
    """Whether gangs, sizes falling, fit onto nodes, free GPUs rising: every way is tried."""
    if not gangs:
        return True
    first, rest = gangs[0], gangs[1:]
    tried = {f for f in free if f >= first}
    return any(fits(rest, tuple(sorted(_less(free, f, first)))) for f in sorted(tried))


def _less(free: Sequence[int], f: int, taken: int) -> Iterator[int]:
    left = list(free)
    left.remove(f)
    return iter([*left, f - taken])


def gangs_of(counts: Iterable[int]) -> tuple[int, ...]:
    sizes = [size for size, n in enumerate(counts, start=1) for _ in range(n)]
    return tuple(sorted(sizes, reverse=True))


# --- allocations ---------------------------------------------------------------------------------


def test_six_gpus_have_the_allocations_that_the_paper_names() -> None:
    assert {(0, 0, 0, 1), (0, 1, 1, 0), (6, 0, 0, 0)} <= set(allocations(6))


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@each_seed(range(1, 17), name="gpus")
def test_allocations_are_the_exact_covers_and_the_round_up(gpus: int, size: int) -> None:
    top = size.bit_length() - 1
    covers = (
        {
            cells
            for cells in product(range(gpus + 1), repeat=4)
            if sum(n << g for g, n in enumerate(cells)) == gpus and not any(cells[top + 1 :])
        }
        if gpus <= 8
        else None
    )
    found = set(allocations(gpus, size))
    assert len(found) == len(allocations(gpus, size))
    assert round_up(gpus, size) in found
    exact = {cells for cells in found if sum(n << g for g, n in enumerate(cells)) == gpus}
    assert found <= exact | {round_up(gpus, size)}
    if covers is not None:
        assert exact == covers


def test_sixteen_gpus_have_35_exact_covers_and_more_gpus_are_not_enumerated() -> None:
    assert len(allocations(16)) == 35
    assert allocations(17) == nondominated(17) == ((1, 0, 0, 2),)
    assert allocations(19) == ((19, 0, 0, 0),)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@each_seed(range(1, 17), name="gpus")
def test_of_all_allocations_only_these_two_can_be_best(gpus: int, size: int) -> None:
    """A faster one with as few GPUs is better; only one node or several tells for the speed."""
    rows = []
    for cells in allocations(gpus, size):
        fast = sum(cells) == 1 or gpus > size
        rows.append((sum(n << g for g, n in enumerate(cells)), not fast, cells))
    best = [
        a for a in rows if not any(b[:2] != a[:2] and b[0] <= a[0] and b[1] <= a[1] for b in rows)
    ]
    found = nondominated(gpus, size)
    assert {row[:2] for row in best} == {row[:2] for row in rows if row[2] in found}
    assert len(found) == len({row[:2] for row in best}) <= 2
    hostile = gpus < size and gpus.bit_count() > 1
    assert len(found) == 1 + hostile


def test_bad_allocations_are_refused() -> None:
    with pytest.raises(ValueError, match="allocation: gpus=0 is below 1"):
        allocations(0)
    with pytest.raises(
        ValueError, match="allocation: node_size=6 is not 1, 2, 4 or 8, as cells need"
    ):
        round_up(3, 6)


# --- cells ---------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 20), max_size=6))
def test_free_cells_are_all_free_gpus(free: list[int]) -> None:
    cells = free_cells(free)
    assert sum(n << g for g, n in enumerate(cells)) == sum(free)
    assert all(n <= len(free) for n in cells[:3])


def cell_gangs(requested: Cells) -> tuple[int, ...]:
    return gangs_of([requested[0], requested[1], 0, requested[2], 0, 0, 0, requested[3]])


def test_cells_fit_exactly_where_enumeration_finds_a_placement() -> None:
    """Proposition 1 and its converse, on all clusters of up to three nodes."""
    seen = Counter[bool]()
    for nodes in (1, 2, 3):
        for free in combinations_with_replacement(range(9), nodes):
            for requested in product(range(5), range(4), range(4), range(3)):
                if sum(n << g for g, n in enumerate(requested)) > sum(free):
                    continue
                gangs = cell_gangs(requested)
                failed = Nodes(free, 8).place(Request(k, gpus) for k, gpus in enumerate(gangs))
                truth = fits(gangs, tuple(sorted(free)))
                assert fits_cells(requested, free_cells(free)) is truth is (not failed)
                seen[truth] += 1
    assert min(seen[True], seen[False]) > 1000


# --- exact consolidation -------------------------------------------------------------------------


@each_seed(range(1, 9), name="gpus")
def test_the_rows_say_what_fits_on_two_nodes(gpus: int) -> None:
    """All vectors of counts on one and two nodes; three nodes below."""
    matrix, limit = consolidated_rows(gpus)
    for nodes in (1, 2):
        truth = set(sums_of_contents(gpus, nodes))
        claimed = set(lattice(matrix, limit * nodes, gpus * nodes))
        assert truth == claimed


@each_seed(range(1, 7), name="gpus")
def test_the_rows_say_what_fits_on_three_nodes(gpus: int) -> None:
    matrix, limit = consolidated_rows(gpus)
    assert set(sums_of_contents(gpus, 3)) == set(lattice(matrix, limit * 3, gpus * 3))


def contents_of(gpus: int) -> list[tuple[int, ...]]:
    ranges = [range(gpus // size + 1) for size in range(1, gpus + 1)]
    return [
        counts
        for counts in product(*ranges)
        if sum(s * n for s, n in enumerate(counts, start=1)) <= gpus
    ]


def sums_of_contents(gpus: int, nodes: int) -> set[tuple[int, ...]]:
    one = contents_of(gpus)
    found = {(0,) * gpus}
    for _ in range(nodes):
        found = {tuple(np.add(a, b).tolist()) for a in found for b in one}
    return found


def lattice(matrix: np.ndarray, side: np.ndarray, most: int) -> Iterator[tuple[int, ...]]:
    """All non-negative integer vectors with A n <= b, by size from the largest down."""

    def rest(size: int, left: np.ndarray) -> Iterator[tuple[int, ...]]:
        if size == 0:
            yield ()
            return
        for n in range(most // size + 1):
            after = left - n * matrix[:, size - 1]
            if (after < 0).any():
                break
            for lower in rest(size - 1, after):
                yield (*lower, n)

    return rest(matrix.shape[1], side)


def test_rows_are_known_up_to_eight_gpus() -> None:
    with pytest.raises(ValueError, match="consolidated rows: gpus=9 is not within 1 and 8"):
        consolidated_rows(9)


def check_packed(
    contents: list[tuple[int, ...]], counts: Sequence[int], free: Sequence[int]
) -> None:
    assert all(sum(content) <= f for content, f in zip(contents, free, strict=True))
    packed = Counter(size for content in contents for size in content)
    assert packed == Counter({size: n for size, n in enumerate(counts, start=1) if n})


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
)
@example([8, 8], [0, 3, 2, 1, 0, 0, 0, 0])  # best fit decreasing fails, the rows do not
@example([8, 7, 4], [0, 1, 3, 2, 0, 0, 0, 0])
@settings(max_examples=300, deadline=None)
def test_packing_is_exact(free: list[int], counts: list[int]) -> None:
    truth = sum(s * n for s, n in enumerate(counts, start=1)) <= sum(free) and fits(
        gangs_of(counts), tuple(sorted(free))
    )
    contents = pack(counts, free)
    assert truth is (contents is not None)
    if contents is not None:
        check_packed(contents, counts, free)


@pytest.mark.parametrize("gpus", [8, 7, 6, 5, 4])
def test_what_full_nodes_hold_is_packed_again(gpus: int) -> None:
    """Counts of full nodes, of which best fit decreasing often needs more nodes."""
    rng = np.random.default_rng(gpus)
    full = [c for c in contents_of(gpus) if sum(s * n for s, n in enumerate(c, start=1)) == gpus]
    for nodes in (3, 10, 40):
        for _ in range(20):
            picked = rng.choice(len(full), size=4)
            counts = np.sum([full[k] for k in rng.choice(picked, size=nodes)], axis=0).tolist()
            contents = pack(counts, [gpus] * nodes)
            assert contents is not None
            check_packed(contents, counts, [gpus] * nodes)
            assert pack([counts[0] + 1, *counts[1:]], [gpus] * nodes) is None


# --- one slot ------------------------------------------------------------------------------------


def check_assignment(
    found: Assignment, order: Sequence[Request], free: Sequence[int], size: int
) -> None:
    assert set(found.nodes) | set(found.unplaced) == {r.job for r in order}
    assert not set(found.nodes) & set(found.unplaced)
    assert all(found.unplaced.values())
    for node, f in enumerate(free):
        assert sum(nodes.get(node, 0) for nodes in found.nodes.values()) <= f
    for request in order:
        nodes = found.nodes.get(request.job)
        if nodes is not None:
            assert sum(nodes.values()) == request.gpus
            assert min(nodes.values()) >= 1
            if not request.split:
                assert len(nodes) == -(-request.gpus // size)


def together(requests: Iterable[Request], free: Sequence[int], size: int) -> bool:
    """Whether gangs fit together: split ones fill what others leave."""
    requests = list(requests)
    parts: list[int] = []
    for r in requests:
        if not r.split:
            whole, rest = divmod(r.gpus, size)
            parts += [size] * whole + [rest] * (rest > 0)
    if sum(r.gpus for r in requests) > sum(free):
        return False
    return fits(tuple(sorted(parts, reverse=True)), tuple(sorted(free)))


@st.composite
def slots(draw: st.DrawFn) -> tuple[list[Request], list[int], int, dict[int, dict[int, int]]]:
    """Requests, free GPUs, node size, and what a former slot's jobs hold."""
    size = draw(st.sampled_from([4, 8]))
    nodes = draw(st.integers(1, 4))
    free = [draw(st.sampled_from([size, size, size - 1, size - 3, 0])) for _ in range(nodes)]
    gangs = draw(st.lists(st.integers(1, 2 * size), max_size=10))
    order = [Request(10 * k, g, draw(st.booleans())) for k, g in enumerate(gangs)]
    former = [Request(r.job, r.gpus, r.split) for r in order if draw(st.booleans())]
    former += [Request(99, draw(st.integers(1, 3)))]
    held = assign(draw(st.permutations(former)), free, [size] * nodes, repack=True).nodes
    return order, free, size, held


@given(slots())
@settings(max_examples=300, deadline=None)
def test_with_repacking_only_what_does_not_fit_beside_those_before_it_is_left_out(
    case: tuple[list[Request], list[int], int, dict[int, dict[int, int]]],
) -> None:
    order, free, size, held = case
    found = assign(order, free, [size] * len(free), held=held, repack=True)
    check_assignment(found, order, free, size)
    chosen: list[Request] = []
    for request in order:
        if together([*chosen, request], free, size):
            chosen.append(request)
    assert set(found.nodes) == {r.job for r in chosen}
    again = assign(order, free, [size] * len(free), held=held, repack=True)
    assert again == found


@given(slots())
@settings(max_examples=300, deadline=None)
def test_without_it_jobs_stay_and_the_others_fit_into_the_rest(
    case: tuple[list[Request], list[int], int, dict[int, dict[int, int]]],
) -> None:
    order, free, size, held = case
    found = assign(order, free, [size] * len(free), held=held)
    check_assignment(found, order, free, size)
    staying = [
        r for r in order if r.job in held and (r.split or len(held[r.job]) == -(-r.gpus // size))
    ]
    left = list(free)
    for r in staying:
        assert found.nodes[r.job] == held[r.job]
        for node, n in held[r.job].items():
            left[node] -= n
    chosen: list[Request] = []
    for request in order:
        if request not in staying and together([*chosen, request], left, size):
            chosen.append(request)
    assert set(found.nodes) == {r.job for r in chosen + staying}


@given(slots())
@settings(deadline=None)
def test_a_former_slot_is_repeated_as_it_was(
    case: tuple[list[Request], list[int], int, dict[int, dict[int, int]]],
) -> None:
    order, free, size, held = case
    same = [r for r in order if r.job in held]
    if not all(r.split or len(held[r.job]) == -(-r.gpus // size) for r in same):
        return
    for repack in (False, True):
        found = assign(same, free, [size] * len(free), held=held, repack=repack)
        assert found.nodes == {r.job: held[r.job] for r in same}


def test_a_job_makes_room_instead_of_all_being_moved() -> None:
    """8 GPUs come; of four nodes with one or more GPUs in use only the emptiest is cleared."""
    held = {0: {0: 4}, 1: {1: 2}, 2: {2: 5}, 3: {3: 6}}
    order = [Request(j, n) for j, nodes in held.items() for n in nodes.values()]
    order.append(Request(9, 8))
    found = assign(order, [8] * 4, [8] * 4, held=held, repack=True)
    assert found.nodes == {0: {0: 4}, 1: {3: 2}, 2: {2: 5}, 3: {3: 6}, 9: {1: 8}}
    stays = assign(order, [8] * 4, [8] * 4, held=held)
    assert stays.unplaced == {
        9: "8 GPUs on 1 node(s) are not free, 15 elsewhere are, and jobs that hold nodes stay"
    }


def test_split_jobs_take_few_nodes_and_leave_gangs_their_room() -> None:
    order = [Request(0, 6, split=True), Request(1, 5), Request(2, 5), Request(3, 6, split=True)]
    found = assign(order, [8, 8, 8], [8, 8, 8])
    assert found.unplaced == {}
    assert sorted(len(nodes) for nodes in found.nodes.values()) == [1, 1, 1, 2]
    assert len(found.nodes[1]) == len(found.nodes[2]) == 1


def test_four_gangs_of_6_do_not_fit_on_three_nodes_unless_one_is_split() -> None:
    gangs = [Request(j, 6) for j in range(4)]
    found = assign(gangs, [8] * 3, [8] * 3)
    assert found.unplaced == {3: "6 GPUs on 1 node(s) are not free, 6 elsewhere are"}
    gangs[0] = Request(0, 6, split=True)
    found = assign(gangs, [8] * 3, [8] * 3)
    assert found.unplaced == {}
    assert found.nodes[0] == {0: 2, 1: 2, 2: 2}


@pytest.mark.parametrize(
    ("order", "free", "sizes", "message"),
    [
        ([], [1], [1, 2], "assign: free has 1 nodes, sizes has 2"),
        ([], [9], [8], "assign: node 0: free=9 is not within 0 and its size 8"),
        ([Request(4, 0)], [8], [8], "assign: job 4: gpus=0 is below 1"),
        ([Request(4, 1), Request(4, 2)], [8], [8], "assign: job 4 is requested 2 times"),
    ],
)
def test_bad_slots_are_refused(
    order: list[Request], free: list[int], sizes: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        assign(order, free, sizes)


def test_nodes_give_back_what_was_taken() -> None:
    nodes = Nodes([8, 8])
    assert nodes.place([Request(0, 12), Request(1, 5, split=True)]) == [Request(1, 5, split=True)]
    assert nodes.free == [0, 4]
    assert nodes.remove(0) == Request(0, 12)
    assert nodes.free == [8, 8]
    assert nodes.best(8) == 0
