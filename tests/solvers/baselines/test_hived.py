"""HiveD: buddy cells against brute force, its guarantee, and runs by hand."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driven import Case, cases, checked
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import EventKind, Run
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers.policies.hived.buddy_cells import Buddies, Cell, cell_sizes, quota_cells
from gangsched.solvers.policies.hived.policy import Cells, Hived, Lending
from gangsched.solvers.policies.yarn_cs.policy import quotas_of
from gangsched.solvers.policy import Decision, Rules, State

EXAMPLES = settings().max_examples // 2
LIMITS = st.sampled_from([0, 1.2, 2, math.inf])
EVEN = cases(sizes=(1, 2, 4, 8), uniform=True)

# --- cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpus", "node", "sizes"),
    [
        (1, 8, [1]),
        (2, 8, [2]),
        (3, 8, [4]),
        (5, 8, [8]),
        (8, 8, [8]),
        (17, 8, [8] * 3),
        (1, 1, [1]),
    ],
)
def test_a_gang_takes_such_cells(gpus: int, node: int, sizes: list[int]) -> None:
    assert cell_sizes(gpus, node) == sizes


@given(st.integers(0, 100), st.sampled_from([1, 2, 4, 8, 16]))
def test_a_quota_is_whole_nodes_and_one_cell_of_a_size_below(quota: int, node: int) -> None:
    cells = quota_cells(quota, node)
    assert sum(cells) == quota
    assert all(size == node or cells.count(size) == 1 for size in cells)


def largest_free(roots: list[int], taken: set[tuple[int, int]]) -> dict[int, set[tuple[int, int]]]:
    """Free aligned cells that are in no larger one; `taken` has single GPUs."""
    found: dict[int, set[tuple[int, int]]] = {}
    for root, size in enumerate(roots):
        offset = 0
        while offset < size:
            length = size
            while length and (
                offset % length or any((root, offset + i) in taken for i in range(length))
            ):
                length //= 2
            if length:
                found.setdefault(length, set()).add((root, offset))
            offset += length or 1
    return found


@given(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3), st.data())
def test_buddies_know_the_largest_free_cells(roots: list[int], data: st.DataObject) -> None:
    cells, held = Buddies(roots), []
    every = [
        Cell(root, offset, 1 << level)
        for root, size in enumerate(roots)
        for level in range(size.bit_length())
        for offset in range(0, size, 1 << level)
    ]
    for cell in data.draw(st.lists(st.sampled_from(every), max_size=12)):
        if cell in held:
            held.remove(cell)
            cells.give(cell)
        elif cells.around(cell) is not None:
            held.append(cell)
            cells.take(cell)
        else:
            with pytest.raises(ValueError, match="is not free"):
                cells.take(cell)
        taken = {(c.root, c.offset + i) for c in held for i in range(c.size)}
        wanted = largest_free(roots, taken)
        assert {size: free for size, free in cells.free.items() if free} == wanted
        for size in (1, 2, 4, 8):
            assert cells.smallest(size) == min((s for s in wanted if s >= size), default=None)


ACTS = st.tuples(
    st.sampled_from(["guarantee", "lend", "release", "secure"]),
    st.integers(0, 3),  # user
    st.sampled_from([1, 1, 2, 2, 3, 4, 5, 9]),  # gang
    st.integers(0, 10),  # which of the jobs
)


@settings(max_examples=4 * EXAMPLES)
@given(
    st.sampled_from([2, 4, 8]),
    st.lists(st.integers(1, 9), min_size=4, max_size=4),
    st.lists(ACTS, min_size=8, max_size=40),
)
def test_a_top_cell_always_finds_a_place(
    node: int, quotas: list[int], acts: list[tuple[str, int, int, int]]
) -> None:
    """Jobs come and go in any order; what is lent is called in; cells never overlap."""
    nodes = -(-sum(quotas) // node)
    cells = Cells(node, nodes, np.array(quotas), [nodes * node] * len(quotas))
    for job, (what, user, gpus, which) in enumerate(acts):
        if what == "guarantee":
            cells.guarantee(job, user, gpus, job)
        elif what == "lend":
            cells.lend(job, user, gpus, job)
        elif cells.held:
            other = sorted(cells.held)[which % len(cells.held)]
            if what == "release":
                cells.release(other)
            elif not cells.held[other].virtual:
                cells.secure(other)
        uses = [
            Counter((c.root, c.offset + i) for c in own.physical for i in range(c.size))
            for own in cells.held.values()
        ]
        assert max(sum(uses, Counter()).values(), default=1) == 1
        for u, quota in enumerate(quotas):  # the cells that are not in use are free, and bindable
            used = sum(c.size for own in cells.held.values() if own.user == u for c in own.virtual)
            assert used + sum(s * len(free) for s, free in cells.quota[u].free.items()) == quota
        d = [
            size
            for u, quota in enumerate(cells.quota)
            for root, size in enumerate(quota.roots)
            if (u, root) not in cells.bound
        ]
        for size in (1, 2, 4, 8):
            free = sum(s * len(found) for s, found in cells.unbound.free.items() if s >= size)
            assert sum(s for s in d if s >= size) <= free


# --- the guarantee -------------------------------------------------------------------------------


def only(case: Case, keep: list[int]) -> Case:
    jobs = case.instance.jobs
    return Case(replace(case.instance, jobs=tuple(jobs[j] for j in keep)), case.rules)


def owner(instance: Instance[Any], job: Job) -> int:
    names = [user.id for user in instance.users]
    return names.index(job.user) if names else 0


@settings(max_examples=EXAMPLES)
@given(case=EVEN, backfill=st.booleans())
def test_without_lending_users_do_not_notice_each_other(case: Case, backfill: bool) -> None:
    policy = Hived(limit=0, backfill=backfill)
    together = checked(case, policy).records
    for u in range(max(1, len(case.instance.users))):
        mine = [j for j, job in enumerate(case.instance.jobs) if owner(case.instance, job) == u]
        alone = checked(only(case, mine), policy).records
        assert alone.first.tolist() == together.first[mine].tolist()
        assert alone.end.tolist() == together.end[mine].tolist()


@settings(max_examples=EXAMPLES)
@given(case=EVEN, backfill=st.booleans(), limit=LIMITS)
def test_who_stays_within_its_quota_never_waits(case: Case, backfill: bool, limit: float) -> None:
    """All jobs of the first user together fit its cells, gangs rounded up; others do anything."""
    instance = case.instance
    node, left, keep = (
        instance.cluster.sizes[0],
        int(quotas_of(instance.cluster, instance.users)[0]),
        [],
    )
    tops = quota_cells(left, node)
    for j, job in enumerate(instance.jobs):
        sizes = cell_sizes(job.gpus, node)
        if owner(instance, job) == 0:
            if sum(sizes) > left or tops[0] < sizes[0]:
                continue
            left -= sum(sizes)
        keep.append(j)
    run = checked(only(case, keep), Hived(limit=limit, backfill=backfill)).records
    mine = run.user == 0
    assert run.first[mine].tolist() == run.visible[mine].tolist()
    assert run.end[mine].tolist() == (run.visible + run.work)[mine].tolist()


class Watched(Hived):
    """Says after each decision when somebody waits for cells that its quota has, or lost them."""

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Lending:
        return WatchedLending(self, cluster, users)


class WatchedLending(Lending):
    rule = None  # to be asked in Python

    def decide(self, state: State) -> Decision:
        safe: set[int] = set()
        if state.running.size:
            safe = {j for j, own in self.cells.held.items() if own.virtual}
        decision = super().decide(state)
        assert not safe & {int(j) for j in decision.kill}
        held, node = self.cells.held, int(state.sizes[0])
        started = {j for j, *_ in decision.start}
        assert set(held) == {*state.running.tolist(), *started} - (set(decision.kill) - started)
        queue = [*(set(decision.kill) - started), *(set(state.waiting.tolist()) - started)]
        queue.sort(key=lambda j: (state.starts[j] == 0, state.rank[j]))
        firsts: set[int] = set()
        quotas = self.cells.quota
        for j in queue:
            user = int(state.user[j])
            if user in firsts and not self.policy.backfill:
                continue
            firsts.add(user)
            taken = {
                (c.root, c.offset + i)
                for own in held.values()
                if own.user == user
                for c in own.virtual
                for i in range(c.size)
            }
            free = largest_free(quotas[user].roots, taken)
            sizes = cell_sizes(int(state.gpus[j]), node)
            able = sum(s // sizes[0] * len(c) for s, c in free.items() if s >= sizes[0])
            assert able < len(sizes), f"job {j} of user {user} waits although {free} is free"
        return decision


@settings(max_examples=EXAMPLES)
@given(case=EVEN, backfill=st.booleans(), limit=LIMITS)
def test_nobody_waits_for_own_free_cells_or_loses_them(
    case: Case, backfill: bool, limit: float
) -> None:
    checked(case, Watched(limit=limit, backfill=backfill))


# --- by hand -------------------------------------------------------------------------------------


def run_of(
    policy: Hived, sizes: list[int], rows: list[tuple[str, int, int, int]], **rules: Any
) -> Run:
    """A run of jobs (user, gpus, work, release) of u and v with equal weights; no overhead."""
    jobs = [
        Job(id=f"j{i}", user=user, gpus=gpus, work=work, release=release)
        for i, (user, gpus, work, release) in enumerate(rows)
    ]
    instance = Instance(Cluster.of_sizes(sizes), jobs, [User("u"), User("v")])
    return drive(instance, policy, **{"overhead": 0, "lease": 120, **rules})


def test_the_latest_borrower_goes_and_loses_its_lease() -> None:
    # u has a node of 4, borrows two halves of v's; v needs one at 180: the later one goes
    rows = [("u", 4, 900, 0), ("u", 2, 900, 0), ("u", 2, 900, 60), ("v", 2, 60, 180)]
    run = run_of(Hived(limit=2), [4, 4], rows)
    assert run.records.first.tolist() == [0, 0, 60, 180]
    killed = run.events.job[run.events.kind == EventKind.KILL].tolist()
    # binding v's node of 4 takes both: what is bound is not lent
    assert killed == [1, 2]
    # at 240 v's node is idle again; 120 s of the first and 60 s of the second are kept
    assert run.records.end.tolist() == [900, 240 + 780, 240 + 840, 240]


def test_of_two_lent_nodes_the_one_with_the_later_start_is_called_in() -> None:
    rows = [("u", 4, 900, 0), ("u", 2, 900, 0), ("u", 2, 900, 60), ("v", 2, 60, 180)]
    run = run_of(Hived(limit=2), [2] * 4, rows)
    assert run.records.first.tolist() == [0, 0, 60, 180]
    assert run.events.job[run.events.kind == EventKind.KILL].tolist() == [2]


def test_an_idle_node_is_bound_before_a_lent_one() -> None:
    rows = [("u", 4, 900, 0), ("u", 2, 900, 0), ("v", 2, 60, 60)]
    run = run_of(Hived(limit=2), [2] * 4, rows)
    assert run.records.first.tolist() == [0, 0, 60]
    assert not (run.events.kind == EventKind.KILL).any()


def test_who_borrowed_is_safe_once_own_cells_are_free() -> None:
    # at 60 u's first job has ended: its cells stand for the second's, which v cannot call in
    rows = [("u", 2, 60, 0), ("u", 2, 900, 0), ("v", 1, 60, 60), ("v", 1, 60, 120)]
    run = run_of(Hived(limit=2), [2, 2], rows)
    assert run.records.end.tolist() == [60, 900, 120, 180]
    # on one node u's cell of 2 is the upper half, which holds nobody else
    assert run_of(Hived(limit=2), [4], rows).records.end.tolist() == [60, 900, 120, 180]


def test_all_who_can_become_safe_do_at_once() -> None:
    # 4 and 5 run on lent cells, 4 on an empty node, 5 beside 0. At 300 their users' own cells are
    # free. That of 5 is to be bound first, as it breaks no node; then there is no smaller one than
    # the node of 4. If 4 stayed unsafe until 420, 10 would call it in.
    rows = [("x", 2, 3000, 0), ("y", 2, 60, 0), ("u", 2, 300, 0), ("v", 2, 300, 0)]
    rows += [("u", 2, 3000, 0), ("v", 2, 3000, 60), ("x", 3, 60, 0)]
    rows += [("p", 2, 60, 420), ("q", 2, 60, 420), ("y", 2, 60, 420), ("u", 2, 60, 420)]
    jobs = [
        Job(id=f"j{i}", user=user, gpus=gpus, work=work, release=release)
        for i, (user, gpus, work, release) in enumerate(rows)
    ]
    instance = Instance(Cluster.of_sizes([4] * 3), jobs, [User(u) for u in "xyuvpq"])
    run = drive(instance, Hived(limit=2), overhead=0)
    assert run.records.first[[4, 5, 7, 8, 9]].tolist() == [0, 60, 420, 420, 420]
    assert not (run.events.kind == EventKind.KILL).any()


@pytest.mark.parametrize(
    ("limit", "first"), [(1, [0, 600, 600]), (1.4, [0, 600, 0]), (1.5, [0, 0, 600])]
)
def test_so_much_may_be_borrowed(limit: float, first: list[int]) -> None:
    # u has 4 of 8 GPUs, may hold 4, 5 or 6 and asks for 4, 2 and 1
    rows = [("u", 4, 600, 0), ("u", 2, 600, 0), ("u", 1, 600, 0)]
    found = run_of(Hived(limit=limit, backfill=True), [4, 4], rows)
    assert found.records.first.tolist() == first


def test_no_limit_is_too_large() -> None:
    rows = [("u", 4, 600, 0), ("u", 2, 600, 0), ("u", 1, 600, 0)]
    found = run_of(Hived(limit=1e308), [4, 4], rows)
    assert found.records.first.tolist() == [0, 0, 0]


def test_queues_are_by_release() -> None:
    rows = [("u", 2, 100, 0), ("u", 4, 60, 0), ("u", 1, 60, 10)]
    assert run_of(Hived(limit=0), [4, 4], rows).records.first.tolist() == [0, 120, 180]
    found = run_of(Hived(limit=0, backfill=True), [4, 4], rows).records.first.tolist()
    assert found == [0, 120, 60]


def test_gangs_without_a_cell_only_borrow() -> None:
    # quotas of 3: cells of 2 and 1; a gang of 3 would need a cell of 4
    jobs = [Job(id="a", gpus=3, work=60, user="u"), Job(id="b", gpus=4, work=60, user="v")]
    users = [User("u", 3), User("v", 3), User("w", 2)]
    instance = Instance(Cluster.of_sizes([8]), jobs, users)
    assert drive(instance, Hived()).rejected == (
        (1, "job 'b': gpus=4 has no cell in user 'v''s quota of 3 and exceeds the limit of 3"),
    )
    assert [j for j, _ in drive(instance, Hived(limit=0)).rejected] == [0, 1]
    assert drive(instance, Hived(limit=math.inf)).rejected == ()


def test_one_quota_without_users() -> None:
    jobs = [Job(id="a", gpus=5, work=60), Job(id="b", gpus=4, work=60)]
    run = drive(Instance(Cluster.of_sizes([4, 4]), jobs), Hived())
    assert run.records.first.tolist() == [0, 60]


@pytest.mark.parametrize("sizes", [[4, 2], [6, 6], [3]])
def test_other_nodes_are_refused(sizes: list[int]) -> None:
    instance = Instance(Cluster.of_sizes(sizes), [Job(id="a", gpus=1, work=60)])
    text = ", ".join(str(s) for s in sorted(set(sizes)))
    with pytest.raises(ValueError, match=f"nodes have {text} GPUs, cells need nodes of one size"):
        drive(instance, Hived())
