"""Gao et al. 2024: claims on UniSched that hold as properties, refuted ones on counterexamples.

What is true of the small cases is worked out here by other means than in the package.
"""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, milp

from few import each_seed
from gangsched.analysis.papers.claim import Sides
from gangsched.analysis.papers.unisched.claims import UNISCHED, Gangs, Leases
from gangsched.formulations.unisched.compact import Options, Queue, options_of
from gangsched.formulations.unisched.leases import Terms, lease_terms, mean_interruptions
from gangsched.formulations.unisched.problem import UniSched
from gangsched.instances import Cluster, DeadlineJob, Instance
from gangsched.solvers.unisched.cells import allocations, fits_cells, free_cells
from gangsched.solvers.unisched.consolidation import consolidated_rows
from gangsched.solvers.unisched.lease_schedule import realise
from gangsched.solvers.unisched.nodes import Nodes, Request

CLAIMS = {claim.id: claim for claim in UNISCHED}


def checked(claim: str, case: object) -> Sides | None:
    found = CLAIMS[claim].check(case)
    assert found is None or isinstance(found, Sides)
    return found


def holds(claim: str, case: object) -> bool:
    found = checked(claim, case)
    return found is None or found.holds


# --- gangs on nodes ------------------------------------------------------------------------------


def fit_in_some_order(gangs: tuple[int, ...], free: tuple[int, ...]) -> bool:
    """Every assignment of gangs to nodes."""
    return any(
        all(
            sum(g for g, n in zip(gangs, to, strict=True) if n == node) <= f
            for node, f in enumerate(free)
        )
        for to in product(range(len(free)), repeat=len(gangs))
    )


def test_proposition_1_is_sufficient_and_with_bits_necessary() -> None:
    """All nodes with up to 8 free GPUs, one or two of them, and up to four gangs."""
    for free in [
        *combinations_with_replacement(range(9), 1),
        *combinations_with_replacement(range(9), 2),
    ]:
        for number in range(5):
            for gangs in combinations_with_replacement((1, 2, 4, 8), number):
                requested = tuple(gangs.count(2**g) for g in range(4))
                truth = fit_in_some_order(gangs, free)
                assert fits_cells(requested, free_cells(free)) == truth  # type: ignore[arg-type]
                requests = [Request(k, gpus) for k, gpus in enumerate(gangs)]
                assert (not Nodes(free, 8).place(requests)) == truth


def test_with_aligned_blocks_a_gang_of_two_on_gpus_0_and_3_is_refused() -> None:
    """Nothing is smaller: of three GPUs or with one free all free pairs are in a block."""
    assert free_cells([2]) == (0, 1, 0, 0)
    two = (0, 1, 0, 0)
    assert fits_cells(two, free_cells([2]))
    assert not fits_cells(two, (2, 0, 0, 0))


def test_with_all_nodes_free_the_first_row_is_enough() -> None:
    for nodes in (1, 2, 3):
        for requested in product(range(9), range(6), range(5), range(4)):
            fits = sum(n << g for g, n in enumerate(requested)) <= 8 * nodes
            assert fits_cells(requested, (0, 0, 0, nodes)) == fits


@given(
    st.lists(st.integers(1, 8), max_size=8),
    st.lists(st.integers(0, 8), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
def test_any_node_will_do_for_the_larger_gang(
    sizes: list[int], free: list[int], rng: object
) -> None:
    case = Gangs(tuple(free), tuple(sizes))
    if not fits_cells(case.rounded(), free_cells(free)):
        return
    left = list(free)
    for size in sorted(sizes, reverse=True):
        room = [n for n, f in enumerate(left) if f >= size]
        assert room
        left[rng.choice(room)] -= size  # type: ignore[attr-defined]


def test_the_five_rows_are_the_sums_of_what_nodes_hold() -> None:
    """All counts on one and two nodes of 8, and on three and four nodes of 4."""
    for gpus, nodes in ((8, 1), (8, 2), (4, 3), (4, 4)):
        matrix, limit = consolidated_rows(gpus)
        ranges = [range(gpus // s + 1) for s in range(1, gpus + 1)]
        sizes = np.arange(1, gpus + 1)
        one = [c for c in product(*ranges) if np.dot(c, sizes) <= gpus]
        sums = {(0,) * gpus}
        for _ in range(nodes):
            sums = {tuple(a + b for a, b in zip(x, y, strict=True)) for x in sums for y in one}
        assert all((matrix @ np.array(c) <= nodes * limit).all() for c in sums)
        inside = [
            c
            for c in product(*(range(nodes * (gpus // s) + 1) for s in range(2, gpus + 1)))
            if (matrix[:, 1:] @ np.array(c) <= nodes * limit).all()
        ]
        for c in inside:  # with as many single GPUs as there is room for, and so with fewer
            single = nodes * gpus - int(np.dot(c, sizes[1:]))
            assert (single, *c) in sums


def test_without_one_of_the_five_rows_the_others_accept_too_much() -> None:
    matrix, limit = consolidated_rows(8)
    for row in range(5):
        rest = [k for k in range(5) if k != row]
        # as much as possible of this row within the others: more than it allows
        most = linprog(-matrix[row], A_ub=matrix[rest], b_ub=8 * limit[rest], bounds=(0, 64))
        assert -most.fun > 8 * limit[row] + 1e-6


def test_rounding_up_refuses_3_3_2_on_one_node() -> None:
    case = Gangs((8,), (3, 3, 2))
    assert case.fit()
    assert case.rounded() == (0, 1, 2, 0)
    assert not fits_cells(case.rounded(), (0, 0, 0, 1))


@each_seed(range(1, 17), name="gpus")
def test_two_allocations_are_enough(gpus: int) -> None:
    for cells in allocations(gpus):
        found = CLAIMS["two-allocations"].check((gpus, cells))
        assert found is not None
        assert found.holds


# --- leases --------------------------------------------------------------------------------------


@st.composite
def leases(draw: st.DrawFn, *, rising: bool = True, gangs: int = 4) -> Leases:
    room = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        within = draw(st.integers(1, len(room)))
        rows.append((draw(st.integers(1, gangs)), draw(st.integers(1, within)), within))
    return Leases(tuple(sorted(room) if rising else room), tuple(rows))


def solved(case: Leases, *, integral: bool, more: int = 0) -> bool:
    """Whether gangs get their leases: x_ik in [0, 1], as a linear or an integer program."""
    keys = [(i, k) for i, (_, _, within) in enumerate(case.gangs) for k in range(within)]
    load = np.zeros((len(case.room), len(keys)))
    service = np.zeros((len(case.gangs), len(keys)))
    for column, (i, k) in enumerate(keys):
        load[k, column] = case.gangs[i][0]
        service[i, column] = 1
    needed = np.array([need for _, need, _ in case.gangs])
    answer = milp(
        np.zeros(len(keys)),
        integrality=np.full(len(keys), int(integral)),
        bounds=(0, 1),  # type: ignore[arg-type]
        constraints=[
            LinearConstraint(load, ub=np.array(case.room) + more),
            LinearConstraint(service, needed, needed),
        ],
    )
    return answer.x is not None


@given(leases())
@settings(deadline=None)
def test_prefixes_are_the_minimum_cut(case: Leases) -> None:
    assert case.passes() == solved(case, integral=False)


@given(leases())
@settings(deadline=None, max_examples=200)
def test_a_max_less_one_more_gpus_are_enough(case: Leases) -> None:
    assert case.schedule() == solved(case, integral=True)
    if case.passes():
        assert solved(case, integral=True, more=max(a for a, _, _ in case.gangs) - 1)


def test_of_two_gangs_nothing_mixed_is_smaller_than_1_twice_and_2() -> None:
    """One lease, or at most two GPUs in two, and other pairs of gangs that are not larger."""
    rows = [(a, need, within) for a in (1, 2) for within in (1, 2) for need in range(1, within + 1)]
    wrong = []
    for room in ((1,), (2,), (1, 1), (1, 2), (2, 2)):
        fitting = [row for row in rows if row[2] <= len(room) and row[0] <= min(room)]
        for number in (1, 2):
            for gangs in combinations_with_replacement(fitting, number):
                case = Leases(room, gangs)
                if case.passes() and not solved(case, integral=True):
                    wrong.append((room, set(gangs)))
    assert wrong == [((2, 2), {(1, 2, 2), (2, 1, 2)})]


def test_where_leases_get_narrower_the_prefixes_say_too_little() -> None:
    case = Leases((2, 0), ((1, 2, 2),))
    assert case.passes()
    assert not solved(case, integral=False)


def problem_of(room: int, gangs: list[tuple[int, int, int]]) -> tuple[UniSched, Options]:
    jobs = [
        DeadlineJob(id=f"j{i}", gpus=a, work=600 * need, rewards=[(600 * within, 1)])
        for i, (a, need, within) in enumerate(gangs)
    ]
    problem = UniSched(Instance(Cluster.of_sizes([room]), jobs), overhead=0)
    return problem, options_of(Queue.of(problem), sizes=[room])


def test_least_laxity_misses_one_of_1_2_2_4() -> None:
    problem, options = problem_of(4, [(4, 1, 3), (2, 1, 1), (2, 1, 2), (1, 2, 3)])
    assert len(realise(problem, options, range(4), time_limit=0).missed) == 1
    assert realise(problem, options, range(4)).missed == {}


@given(leases(gangs=1))
@settings(deadline=None)
def test_gangs_of_one_size_need_no_more_than_the_prefixes_and_least_laxity(case: Leases) -> None:
    room = case.room[:1] * len(case.room)
    equal = Leases(room, case.gangs)
    if equal.passes() and room[0]:
        assert solved(equal, integral=True)
        assert equal.missed() == 0


# --- arithmetic ----------------------------------------------------------------------------------


@given(st.integers(1, 5000), st.integers(-100, 9000), st.integers(1, 1000))
def test_no_deadline_is_lost_to_rounding(work: int, deadline: int, lease: int) -> None:
    terms = lease_terms(work, deadline, lease=lease)
    assert (terms is None) == (deadline < work)
    if terms is not None:
        last = work - (terms.needed - 1) * lease
        assert 0 < last <= lease
        # the last of Q leases begins in time for the last part, one later does not
        assert (terms.within - 1) * lease + last <= deadline < terms.within * lease + last
        printed = lease_terms(work, deadline, lease=lease, rounding="paper")
        if printed is not None:
            assert printed.needed == terms.needed
            assert printed.within <= terms.within


def test_the_printed_rounding_refuses_a_second_in_time() -> None:
    """And nothing shorter than a lease of 2 s can show it: leases of 1 s round nothing."""
    assert lease_terms(1, 1, lease=2, rounding="paper") is None
    assert lease_terms(1, 1, lease=2) == Terms(1, 1)
    for work, deadline in product(range(1, 9), range(1, 9)):
        printed = lease_terms(work, deadline, lease=1, rounding="paper")
        assert (printed is None) == (deadline < work)


def test_the_iteration_of_eq_3_goes_4_5_4() -> None:
    """T = 10, m = 5, work 40, t^sr = 1: 40.6 s need 5 leases, and 5 of 5 have no gap: 40 s, 4."""
    assert mean_interruptions(4, 5) == (3, 5)
    assert mean_interruptions(5, 5) == (0, 5)
    terms = lease_terms(40, 50, lease=10, cost=1)
    assert terms == Terms(5, 5)


# --- the objective -------------------------------------------------------------------------------


def test_the_printed_model_meets_every_deadline_on_nothing() -> None:
    found = checked("printed-model", Leases((0,), ((1, 1, 1), (4, 1, 1))))
    assert found == Sides(2, 0)


def test_21_profilers_outweigh_a_deadline_worth_20_and_20_do_not() -> None:
    case = CLAIMS["weights"].counterexamples["21 for 20"]()
    kind = type(case)
    assert not holds("weights", kind(21, ((21, 20),), 21))
    assert holds("weights", kind(21, ((21, 20),), 19))
    assert holds("weights", kind(19, ((19, 20),), 21))
    assert holds("weights-lexicographic", kind(21, ((21, 20),), 21))


@pytest.mark.parametrize("nodes", [3, 6])
def test_section_2b(nodes: int) -> None:
    """Four gangs of 6 on three nodes of 8, at 0.6 of the speed where split: all in time."""
    jobs = [
        DeadlineJob(id=f"j{i}", gpus=6, work=600, rewards=[(1200, 100)], split_speed=0.6)
        for i in range(nodes * 8 // 6)
    ]
    worth = {}
    for kind in ("consolidated", "cells"):
        one_lease = [DeadlineJob(id=j.id, gpus=6, work=600, rewards=[(600, 100)]) for j in jobs]
        problem = UniSched(
            Instance(Cluster.of_sizes([8] * nodes), jobs if kind == "cells" else one_lease),
            allocations=kind,
            overhead=0,
        )
        options = options_of(Queue.of(problem), sizes=[8] * nodes, allocations=kind, sr_aware=False)
        last = {int(j): o for o, j in enumerate(options.job)}
        found = realise(problem, options, list(last.values()))
        assert problem.violations(found.schedule) == []
        worth[kind] = problem.objective(found.schedule) / 100
    assert worth == {"consolidated": nodes, "cells": nodes * 8 // 6}
