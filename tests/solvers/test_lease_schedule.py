"""Lease schedules: every option that is chosen is realised or named, and the checker agrees."""

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.formulations.unisched.compact import Options, Queue, options_of
from gangsched.formulations.unisched.leases import LeasePhase
from gangsched.formulations.unisched.problem import UniSched
from gangsched.instances import Cluster, DeadlineJob, Instance
from gangsched.solvers.unisched.lease_schedule import Realised, least_laxity, realise

LEASE = 600
Terms = tuple[int, int, int]


def job(
    name: str, gpus: int, needed: int, within: int, value: float = 100.0, **more: Any
) -> DeadlineJob:
    """A job that needs so many of its first so many leases."""
    return DeadlineJob(
        id=name, gpus=gpus, work=needed * LEASE, rewards=[(within * LEASE, value)], **more
    )


def problem_of(sizes: Sequence[int], jobs: Sequence[DeadlineJob], **more: Any) -> UniSched:
    return UniSched(Instance(Cluster.of_sizes(sizes), jobs), overhead=0, **more)


def options_for(problem: UniSched) -> Options:
    return options_of(
        Queue.of(problem),
        sizes=problem.instance.cluster.sizes,
        lease=problem.lease,
        be_lease=problem.be_lease,
        allocations=problem.allocations,
        sr_aware=problem.sr_aware,
    )


def check(problem: UniSched, options: Options, chosen: Sequence[int], found: Realised) -> None:
    """Chosen options are realised or named; the schedule is feasible and worth what they say."""
    assert problem.violations(found.schedule) == []
    wanted = {int(options.job[o]): o for o in chosen}
    realised = wanted.keys() - found.missed.keys()
    assert found.missed.keys() <= wanted.keys()
    assert all(found.missed.values())
    assert set(found.schedule.job.tolist()) == realised
    value = sum(options.value[wanted[j]] for j in realised)
    assert problem.objective(found.schedule) >= value - 1e-9


def exists(jobs: Sequence[Terms], gpus: int, slots: int) -> bool:
    """Whether all (gpus, needed, within) fit, counted in GPUs: every way is tried."""

    @cache
    def ways(k: int, left: tuple[int, ...]) -> bool:
        if k == slots:
            return not any(left)
        going = [i for i, n in enumerate(left) if n and k < jobs[i][2]]
        if any(n > jobs[i][2] - k for i, n in enumerate(left) if n):
            return False
        for size in range(len(going), -1, -1):
            for chosen in combinations(going, size):
                if sum(jobs[i][0] for i in chosen) <= gpus:
                    after = tuple(n - (i in chosen) for i, n in enumerate(left))
                    if ways(k + 1, after):
                        return True
        return False

    return ways(0, tuple(needed for _, needed, _ in jobs))


# --- small cases ---------------------------------------------------------------------------------


@st.composite
def terms(draw: st.DrawFn, gangs: Sequence[int] = (1, 2, 4)) -> list[Terms]:
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        within = draw(st.integers(1, 4))
        rows.append((draw(st.sampled_from(gangs)), draw(st.integers(1, within)), within))
    return rows


@given(terms())
@settings(max_examples=200, deadline=None)
def test_all_are_realised_if_and_only_if_they_can_be(rows: list[Terms]) -> None:
    jobs = [job(f"j{i}", *row) for i, row in enumerate(rows)]
    problem = problem_of([4], jobs)
    options = options_for(problem)
    chosen = list(range(len(options)))
    found = realise(problem, options, chosen)
    check(problem, options, chosen, found)
    slots = max(within for _, _, within in rows)
    assert (found.missed == {}) is exists(tuple(rows), 4, slots)


@given(terms(gangs=(2,)))
@settings(max_examples=200, deadline=None)
def test_gangs_of_one_size_need_no_repair(rows: list[Terms]) -> None:
    """Least laxity is optimal for them."""
    jobs = [job(f"j{i}", *row) for i, row in enumerate(rows)]
    problem = problem_of([4], jobs)
    options = options_for(problem)
    found = realise(problem, options, range(len(options)), time_limit=0)
    slots = max(within for _, _, within in rows)
    if exists(tuple(rows), 4, slots):
        assert found.missed == {}


@st.composite
def queues(draw: st.DrawFn) -> UniSched:
    """Any gangs and kinds on a few nodes, of which some GPUs may be held."""
    size, nodes = draw(st.sampled_from([(4, 1), (4, 3), (8, 2), (8, 3)]))
    allocations = draw(st.sampled_from(["cells", "exact", "consolidated"]))
    jobs = []
    for i in range(draw(st.integers(1, 9))):
        within = draw(st.integers(1, 5))
        gpus = draw(st.integers(1, min(2 * size, size * nodes)))
        needed = draw(st.integers(1, within))
        value = draw(st.sampled_from([20.0, 50.0, 100.0]))
        one = job(f"j{i}", gpus, needed, within, value, split_speed=0.5)
        if draw(st.integers(0, 4)) == 0:
            one = DeadlineJob(id=f"j{i}", gpus=gpus, work=needed * LEASE)
        jobs.append(one)
    free = draw(st.none() | st.lists(st.integers(0, size), min_size=nodes, max_size=nodes))
    profilers = frozenset(i for i in range(len(jobs)) if draw(st.integers(0, 5)) == 0)
    return problem_of([size] * nodes, jobs, allocations=allocations, free=free, profilers=profilers)


@given(queues(), st.data())
@settings(max_examples=300, deadline=None)
def test_what_is_chosen_is_realised_or_named(problem: UniSched, data: st.DataObject) -> None:
    options = options_for(problem)
    chosen = []
    for j in np.unique(options.job).tolist():
        own = np.flatnonzero(options.job == j).tolist()
        chosen.append(data.draw(st.sampled_from(own)))
    found = realise(problem, options, chosen)
    check(problem, options, chosen, found)
    again = realise(problem, options, chosen[::-1])
    assert again.schedule == found.schedule
    assert again.missed == found.missed


def test_where_least_laxity_fails_the_integer_program_moves_jobs() -> None:
    """2 + 2 GPUs first leaves one lease for 1 GPU and one for 4; better is 2 + 1, 2 + 1, 4."""
    rows = [(1, 2, 3), (2, 1, 1), (2, 1, 2), (4, 1, 3)]
    problem = problem_of([4], [job(f"j{i}", *row) for i, row in enumerate(rows)])
    options = options_for(problem)
    without = realise(problem, options, range(4), time_limit=0)
    assert without.missed == {
        0: "2 leases of 1 GPUs within [0, 3): no room was found beside the other chosen jobs"
    }
    found = realise(problem, options, range(4))
    assert found.missed == {}
    assert problem.objective(found.schedule) == 400


def test_who_is_missed_is_told_with_its_leases() -> None:
    jobs = [job("a", 4, 2, 2), job("b", 4, 1, 2, 20.0), job("c", 4, 1, 3)]
    problem = problem_of([4], jobs)
    options = options_for(problem)
    found = realise(problem, options, [0, 1, 2])
    assert found.missed == {1: "1 leases of 4 GPUs within [0, 2): no schedule has all chosen jobs"}
    assert problem.objective(found.schedule) == 200


def test_the_first_lease_has_what_is_free() -> None:
    jobs = [DeadlineJob(id="be", gpus=2, work=900), job("a", 2, 1, 1), job("b", 2, 1, 2)]
    problem = problem_of([4, 4], jobs, free=(1, 2))
    options = options_for(problem)
    found = realise(problem, options, range(len(options)))
    assert found.missed == {0: "lease 0: 2 GPUs, of which 1 are free"}
    assert [(s.job, s.start, dict(s.gpus)) for s in found.schedule] == [
        (1, 0, {1: 2}),
        (2, 600, {0: 2}),
    ]


def test_jobs_keep_their_nodes_while_they_run() -> None:
    rows = [(3, 4, 4), (3, 2, 4), (2, 1, 2), (2, 3, 4)]
    jobs = [job(f"j{i}", *row, split_speed=0.25) for i, row in enumerate(rows)]
    problem = problem_of([8, 8], jobs, allocations="exact")
    options = options_for(problem)
    chosen = [int(np.flatnonzero((options.job == j) & ~options.split)[0]) for j in range(4)]
    found = realise(problem, options, chosen)
    assert found.missed == {}
    assert len(found.schedule) == 4


def test_two_options_of_a_job_are_refused() -> None:
    problem = problem_of([8, 8], [job("a", 6, 1, 3, split_speed=0.5)])
    options = options_for(problem)
    assert len(options) == 2
    with pytest.raises(ValueError, match="realise: job 0 has more than one of the chosen options"):
        realise(problem, options, [0, 1])


def test_a_window_too_long_for_the_integer_program_is_named() -> None:
    """Two jobs that each need all leases but one, 31,000 of them."""
    jobs = [job(name, 8, 30_999, 31_000) for name in "ab"]
    problem = problem_of([8], jobs, sr_aware=False)
    found = realise(problem, options_for(problem), [0, 1])
    assert found.missed.keys() == {1}
    assert "no room was found" in found.missed[1]


def test_a_split_gang_on_one_node_is_worth_what_its_option_says() -> None:
    """At full speed 3 of 3 leases, at half of it 3 of 4: it waits in lease 2 for the other job."""
    late = DeadlineJob(
        id="a", gpus=3, work=5, rewards=[(35, 100)], split_speed=0.5, preemption_cost=30
    )
    other = DeadlineJob(id="b", gpus=4, work=10, rewards=[(10, 60)])
    problem = UniSched(
        Instance(Cluster.of_sizes([4]), [late, other]),
        lease=10, be_lease=10, allocations="exact", overhead=0, phases={0: LeasePhase.RUNNING},
    )  # fmt: skip
    options = options_for(problem)
    split = next(o for o in range(len(options)) if options.split[o])
    assert (options.needed[split], options.within[split]) == (3, 4)
    chosen = [split, int(np.flatnonzero(options.job == 1)[0])]
    found = realise(problem, options, chosen)
    check(problem, options, chosen, found)
    assert problem.objective(found.schedule) == 160


# --- the compiled rule ---------------------------------------------------------------------------


def plain_rule(
    first: list[int], due: list[int], needed: list[int], gpus: list[int], room: int, slots: int
) -> np.ndarray:
    """Least laxity anew in every lease."""
    run = np.zeros((len(first), slots), dtype=bool)
    left = list(needed)
    for t in range(slots):
        free = room
        there = [g for g, n in enumerate(left) if n and first[g] <= t and due[g] - t >= n]
        for g in sorted(there, key=lambda g: (due[g] - left[g], g)):
            if gpus[g] <= free:
                free -= gpus[g]
                run[g, t] = True
        for g in range(len(left)):
            left[g] -= bool(run[g, t])
    return run


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(1, 4), st.integers(1, 4)),
        max_size=12,
    ),
    st.integers(4, 8),
)
@settings(max_examples=200, deadline=None)
def test_the_compiled_rule_is_the_plain_one(rows: list[tuple[int, ...]], room: int) -> None:
    first = [a for a, _, _, _ in rows]
    due = [a + q for a, q, _, _ in rows]
    needed = [min(n, q) for _, q, n, _ in rows]
    gpus = [g for _, _, _, g in rows]
    slots = max(due, default=0)
    for rule in (least_laxity, least_laxity.py_func):
        run = np.zeros((len(rows), slots), dtype=bool)
        columns = [np.array(c, dtype=np.int64) for c in (first, due, needed)]
        rule(run, *columns, np.array(gpus, dtype=np.int64).reshape(-1, 1), np.array([room]))
        assert np.array_equal(run, plain_rule(first, due, needed, gpus, room, slots))
