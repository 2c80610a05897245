"""UniSched's data, objective and checker; numbers worked out by hand."""

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gangsched.formulations.problem import Sense
from gangsched.formulations.unisched.leases import LeasePhase, Terms
from gangsched.formulations.unisched.problem import UniSched
from gangsched.instances import Cluster, Instance, Job, Node, Schedule, Segment
from gangsched.instances.model import DeadlineJob

T = 600


def job(gpus: int = 1, *dues: int, **more: Any) -> DeadlineJob:
    """A job of ten minutes; rewards of 100, 80, 60, ... by its deadlines."""
    rewards = [(due, 100 - 20 * f) for f, due in enumerate(dues)]
    return DeadlineJob(**{"id": "j", "gpus": gpus, "work": T, "rewards": rewards, **more})


def of(*jobs: DeadlineJob, sizes: Sequence[int] = (8, 8), **parameters: Any) -> UniSched:
    numbered = [replace(one, id=f"j{i}") for i, one in enumerate(jobs)]
    return UniSched(Instance(Cluster.of_sizes(sizes), numbered), **parameters)


# -- validation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"phases": {1: LeasePhase.RUNNING}}, "UniSched: phases has job number 1 of 1"),
        ({"phases": {0: 7}}, r"UniSched: phases\[0\]=7 is not a LeasePhase"),
        ({"phases": [LeasePhase.FRESH]}, "UniSched: phases=.* is not a mapping"),
        ({"profilers": {3}}, "UniSched: profilers has job number 3 of 1"),
    ],
)
def test_phases_and_profilers_are_of_its_jobs(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        of(job(1, T), **parameters)


def test_jobs_that_cannot_be_served_are_refused() -> None:
    with pytest.raises(ValueError, match="job 'j0': gpus=17 exceeds the cluster's 16"):
        of(job(17, T))
    with pytest.raises(ValueError, match="job 'j0': work=None, UniSched needs seconds of service"):
        of(job(1, T, work=None))
    assert of(job(1, work=None), profilers=frozenset({0})).options()
    plain = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=5)])
    with pytest.raises(TypeError, match="job 'a': kind Job is not DeadlineJob"):
        UniSched(plain)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="UniSched: instance='x' is not an Instance"):
        UniSched("x")  # type: ignore[arg-type]
    mixed = Cluster([Node("a", 2, "v100"), Node("b", 2, "k80")])
    with pytest.raises(ValueError, match=r"cluster: GPU models \['k80', 'v100'\] differ"):
        UniSched(Instance(mixed, []))


def test_a_problem_is_shown_by_its_size() -> None:
    assert repr(of(job(1, T), job(2))) == "UniSched(2 jobs, 2 nodes of 8 GPUs)"


def test_a_problem_can_be_copied_and_compared() -> None:
    problem = of(job(1, T), job(2), phases={0: LeasePhase.RUNNING}, profilers={1}, free=[3, 8])
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert hash(replace(problem)) == hash(problem)
    assert problem != replace(problem, phases={})
    assert problem.free == (3, 8)
    assert problem.profilers == frozenset({1})
    assert UniSched.sense is Sense.MAX
    with pytest.raises(TypeError):
        problem.phases[1] = LeasePhase.FRESH  # type: ignore[index]


# -- allocations and options ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "gpus", "cells", "exact", "consolidated"),
    [
        (8, 1, [(1,)], [(1,)], [(1,)]),
        (8, 2, [(2,)], [(2,)], [(2,)]),
        (8, 3, [(4,), (1,) * 3], [(3,), (1,) * 3], [(4,)]),
        (8, 4, [(4,)], [(4,)], [(4,)]),
        (8, 5, [(8,), (1,) * 5], [(5,), (1,) * 5], [(8,)]),
        (8, 7, [(8,), (1,) * 7], [(7,), (1,) * 7], [(8,)]),
        (8, 8, [(8,)], [(8,)], [(8,)]),
        (8, 12, [(1,) * 12], [(1,) * 12], [(8, 4)]),
        (8, 14, [(1,) * 14], [(1,) * 14], [(8, 8)]),
        (8, 16, [(1,) * 16], [(1,) * 16], [(8, 8)]),
        (4, 3, [(4,), (1,) * 3], [(3,), (1,) * 3], [(4,)]),
        (4, 6, [(1,) * 6], [(1,) * 6], [(4, 2)]),
        (2, 3, [(1,) * 3], [(1,) * 3], [(2, 1)]),
        (1, 2, [(1,) * 2], [(1,) * 2], [(1, 1)]),
    ],
)
def test_the_policy_generator_offers_what_is_not_dominated(
    size: int, gpus: int, cells: Any, exact: Any, consolidated: Any
) -> None:
    offered = {"cells": cells, "exact": exact, "consolidated": consolidated}
    for allocations, pieces in offered.items():
        problem = of(job(gpus, T, split_speed=0.5), sizes=[size] * 16, allocations=allocations)
        found = problem.allocations_of(0)
        assert [a.pieces for a in found] == pieces
        assert [a.speed for a in found] == [1_000_000, 500_000][: len(pieces)]


def test_a_profiler_takes_at_most_two_gpus_anywhere() -> None:
    problem = of(job(6, T), job(1, T), profilers={0, 1})
    assert [problem.allocations_of(i)[0].pieces for i in range(2)] == [(1, 1), (1,)]
    assert [(o.deadline, o.needed, o.within, o.value) for o in problem.options()] == [
        (-1, 1, 1, 1.0)
    ] * 2


def test_options_are_by_allocation_and_deadline() -> None:
    """900 s at half speed are 1800 s, three leases; suspensions are not counted."""
    problem = of(job(3, 900, 1500, 1900, work=900, split_speed=0.5), sr_aware=False)
    found = [(o.allocation.pieces, o.deadline, o.needed, o.within) for o in problem.options()]
    assert found == [
        ((4,), 0, 2, 2),
        ((4,), 1, 2, 3),  # 300 s of the second lease: by 1200, or 1500
        ((4,), 2, 2, 3),
        ((1, 1, 1), 2, 3, 3),
    ]
    assert {o.value for o in problem.options()} == {100, 80, 60}


def test_deadlines_of_the_offline_problem_count_from_the_first_lease_after_the_release() -> None:
    """Released at 700, it waits for 1200; its deadline, 2000, is 800 s later."""
    problem = of(job(1, 1300, release=700))
    assert problem.first_slot(0) == 2
    assert problem.terms(0, 0, 1_000_000) == Terms(1, 1)
    assert of(job(1, 1099, release=700)).terms(0, 0, 1_000_000) is None
    assert of(job(1, release=1)).options() == []  # best effort, and lease 0 comes too early


def test_suspensions_lengthen_the_work() -> None:
    """A suspended job of 590 s needs 25 s more, and so a second lease."""
    suspended = of(job(1, 1800, work=590), phases={0: LeasePhase.SUSPENDED})
    assert suspended.terms(0, 0, 1_000_000) == Terms(2, 3)
    assert replace(suspended, sr_aware=False).terms(0, 0, 1_000_000) == Terms(1, 3)
    assert replace(suspended, overhead=10).terms(0, 0, 1_000_000) == Terms(1, 3)
    own = replace(suspended.jobs[0], preemption_cost=0)
    assert of(own, phases={0: LeasePhase.SUSPENDED}).terms(0, 0, 1_000_000) == Terms(1, 3)


def test_the_printed_rounding_is_a_parameter() -> None:
    problem = of(job(1, 1099, work=1000))
    assert problem.terms(0, 0, 1_000_000) == Terms(2, 2)
    assert replace(problem, rounding="paper").terms(0, 0, 1_000_000) is None


# -- objective ------------------------------------------------------------------------------------


def test_a_job_earns_the_first_deadline_that_its_leases_meet() -> None:
    problem = of(job(2, 1200, 1800, 2400, work=1200), sr_aware=False)
    for leases, value in (((0, 1), 100), ((0, 2), 80), ((2, 3), 60), ((0, 4), 0), ((1,), 0)):
        schedule = Schedule.of(Segment(0, k * T, (k + 1) * T, {0: 2}) for k in leases)
        assert problem.violations(schedule) == []
        assert problem.objective(schedule) == value
    assert problem.objective(Schedule.of([])) == 0


def test_the_slowest_allocation_counts() -> None:
    """Two leases at full speed, or three at half speed, of which one is enough to be slow."""
    problem = of(job(3, 1200, 1800, work=900, split_speed=0.5), sr_aware=False)
    node, spread = {0: 4}, {0: 1, 1: 2}
    for held, value in (((node, node), 100), ((node, spread), 0), ((node, spread, node), 80)):
        schedule = Schedule.of(Segment(0, k * T, (k + 1) * T, h) for k, h in enumerate(held))
        assert problem.violations(schedule) == []
        assert problem.objective(schedule) == value


@pytest.mark.parametrize(
    ("allocations", "gpus", "value"),
    [("cells", 4, 100), ("cells", 3, 80), ("exact", 3, 100), ("consolidated", 4, 100)],
)
def test_the_gpus_of_a_segment_are_those_that_are_allocated(
    allocations: str, gpus: int, value: float
) -> None:
    """Three GPUs of a node are three cells of level 0, unless gangs are consolidated exactly."""
    problem = of(job(3, T, 1200, split_speed=0.5), sr_aware=False, allocations=allocations)
    schedule = Schedule.of([Segment(0, 0, 1200, {1: gpus})])
    assert problem.violations(schedule) == []
    assert problem.objective(schedule) == value


def test_best_effort_is_worth_less_the_longer_it_takes() -> None:
    """750 s: three leases of 300 s with one suspension; at half speed 1500 s, five with two."""
    problem = of(job(3, work=750, split_speed=0.5), job(1), profilers={1})
    for held, left in (({0: 4}, 750 + 25), ({0: 3}, 1500 + 50)):
        schedule = Schedule.of([Segment(0, 0, T, held)])
        assert problem.objective(schedule) == pytest.approx(300 / (300 + left))
    both = Schedule.of([Segment(0, 0, T, {0: 4}), Segment(1, 0, T, {1: 1})])
    assert problem.values(both) == {0: pytest.approx(300 / 1075), 1: 1.0}
    assert problem.objective(both) == pytest.approx(1 + 300 / 1075)


def test_what_has_no_deadline_can_be_made_to_count_less_than_any() -> None:
    """Rewards are multiples of 20: ten profilers together are worth 18 at most."""
    jobs = [job(1, T, 1200), *[job(1)] * 10]
    problem = of(*jobs, profilers=range(1, 11), lexicographic=True)
    assert problem.small_factor == 1.0  # 10 are less than 20 as they are
    many = of(job(1, T, 1200), *[job(1)] * 30, sizes=[8] * 4, lexicographic=True)
    assert many.small_factor == pytest.approx(0.9 * 20 / 30)
    assert replace(many, lexicographic=False).small_factor == 1.0
    assert of(*[job(1)] * 30, sizes=[8] * 4, lexicographic=True).small_factor == 1.0
    fine = of(replace(job(1, T), rewards=[(T, 0.3), (900, 0.2)]), job(1), lexicographic=True)
    assert fine.small_factor == pytest.approx(0.09)
    schedule = Schedule.of([Segment(1, 0, T, {0: 1})])
    assert fine.objective(schedule) == pytest.approx(0.09 * 300 / (300 + T + 12.5))


def test_values_need_an_allocation() -> None:
    problem = of(job(3, T))
    with pytest.raises(ValueError, match="gang: job 'j0' holds 2 GPUs, not 4 or 3 anywhere"):
        problem.objective(Schedule.of([Segment(0, 0, T, {0: 2})]))


# -- feasibility ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([Segment(9, 0, T, {0: 1})], "reference: job number 9 of 4"),
        ([Segment(0, 0, T, {5: 4})], "reference: node number 5 of 2"),
        ([Segment(0, 0, T, {0: 4}, ps={0: 1})], "reference: the jobs of UniSched use no param"),
        ([Segment(0, 0, 500, {0: 4})], r"lease: job 'j0' runs in \[0, 500\), not in whole leases"),
        ([Segment(0, 30, T, {0: 4})], r"lease: job 'j0' runs in \[30, 600\), not in whole leases"),
        ([Segment(1, 0, 1200, {0: 1})], "release: job 'j1' starts at 0, before 601"),
        ([Segment(1, T, 1200, {0: 1})], "release: job 'j1' starts at 600, before 601"),
        ([Segment(2, 0, 1200, {0: 1})], "lease: job 'j2' has no deadlines and runs until 1200"),
        ([Segment(0, 0, T, {0: 2})], "gang: job 'j0' holds 2 GPUs, not 4 or 3 anywhere"),
        ([Segment(0, 0, T, {0: 2, 1: 2})], r"gang: job 'j0' holds 2 \+ 2 GPUs, not 4 or 3 any"),
        ([Segment(3, 0, T, {0: 1, 1: 1})], r"gang: job 'j3' holds 1 \+ 1 GPUs, not 2$"),
        (
            [Segment(0, 0, 1200, {0: 4}), Segment(0, T, 1200, {1: 4})],
            "gang: job 'j0' runs twice at 600",
        ),
        (
            [Segment(0, T, 1200, {0: 4}), Segment(3, T, 1200, {0: 2})],
            "capacity: node 'n0' holds 6 of 4 GPUs at 600",
        ),
        (
            [Segment(0, 0, 1200, {1: 4})],
            "capacity: node 'n1' holds 4 of 3 GPUs at 0",
        ),
    ],
)
def test_each_rule_is_checked(segments: list[Segment], message: str) -> None:
    """Nodes of four, of which the second has three free at first."""
    problem = of(
        job(3, 6000), job(1, 6000, release=601), job(1), job(2, 6000), sizes=[4, 4], free=[4, 3]
    )
    (found,) = problem.violations(Schedule.of(segments))
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(found)


def test_a_full_cluster_is_feasible() -> None:
    jobs = [job(3, 6000), job(1, 6000, release=600), job(1), job(2, 6000), job(5, 6000)]
    problem = of(*jobs, sizes=[4, 4], free=[4, 3])
    segments = [
        Segment(0, 0, T, {0: 2, 1: 1}),
        Segment(0, T, 1800, {0: 4}),
        Segment(2, 0, T, {1: 1}),
        Segment(3, 0, T, {0: 2}),
        Segment(1, T, 1200, {1: 1}),
        Segment(3, T, 1200, {1: 2}),
        Segment(4, 1800, 2400, {0: 2, 1: 3}),
    ]
    assert problem.violations(Schedule.of(segments)) == []


def test_gangs_above_a_node_take_whole_nodes_only_if_consolidated() -> None:
    spread = Schedule.of([Segment(0, 0, T, {0: 4, 1: 4, 2: 4})])
    nodes = Schedule.of([Segment(0, 0, T, {0: 8, 1: 4})])
    problem = of(job(12, T), sizes=[8] * 3)
    for schedule in (spread, nodes):
        assert problem.violations(schedule) == []
        assert problem.objective(schedule) == 100
    strict = replace(problem, allocations="consolidated")
    assert strict.violations(nodes) == []
    assert strict.violations(spread) == ["gang: job 'j0' holds 4 + 4 + 4 GPUs, not 8 + 4"]
