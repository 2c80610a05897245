"""RAR-DDLS: the rate table, the evaluator and the checker against eqs. (1)-(9) slot by slot.

The reference is tests/brute_force.py: rationals, every slot stepped through, contention counted
from the placements. It shares no code with the formulation.
"""

import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brute_force import fits, placements, slot_by_slot, speed
from gangsched.formulations.problem import Sense
from gangsched.formulations.rar_ddls.problem import DEGRADATIONS, RarDdls, estimates, evaluate
from gangsched.instances import Cluster, Instance, Job, Node, RingJob, Schedule, Segment
from malformed import table
from strategies import rar_placements, rar_problems, rar_schedules

problems = rar_problems()


def ring(**fields: Any) -> RingJob:
    usual: dict[str, Any] = {"id": "a", "gpus": 2, "iterations": 10, "gradient": 0.1}
    return RingJob(**{**usual, "base_time": 0.01, **fields})


def make(jobs: Sequence[Job], sizes: Sequence[int] = (2, 2), **parameters: Any) -> RarDdls:
    return RarDdls(Instance(Cluster.of_sizes(sizes), jobs), **parameters)  # type: ignore[arg-type]


#: P2 of docs/theorems.md: phi(2, 1) = 4, phi(2, 2) = 1 on nodes of two GPUs
P2 = {"xi1": 1, "xi2": 0.005, "alpha": 0.5}


def twins(gradient: float = 0.15) -> list[RingJob]:
    usual = {"gpus": 3, "iterations": 8, "gradient": gradient, "base_time": 0.01}
    return [ring(id=i, **usual) for i in "ab"]


# --- (6)-(8): the table of rates ------------------------------------------------------------------


@given(problems)
def test_rates_are_those_of_the_rational_model(problem: RarDdls) -> None:
    for j in range(len(problem.jobs)):
        for n in problem.spans(j):
            for p in range(problem.rates.shape[2]):
                exact = speed(problem, j, n, max(p, 1)) * problem.resolution
                assert problem.rates[j, n - 1, p] == exact
                if p:
                    tau = problem.iteration_time(j, n, p)
                    assert problem.progress(tau) == exact


@given(problems)
def test_rates_do_not_increase_in_contenders_and_are_zero_for_impossible_spans(
    problem: RarDdls,
) -> None:
    assert np.all(np.diff(problem.rates, axis=2) <= 0)
    assert np.array_equal(problem.rates[:, :, 0], problem.rates[:, :, 1])
    sizes = problem.instance.cluster.sizes
    for j, job in enumerate(problem.jobs):
        spans = {len(held) for held in placements(job.gpus, sizes)}
        assert set(problem.spans(j)) == spans
        assert problem.fewest[j] == min(spans)
        for n in range(1, problem.rates.shape[1] + 1):
            assert n in spans or not problem.rates[j, n - 1].any()


@pytest.mark.parametrize(("base", "xi2", "exact"), [(0.001, 0.003, 100), (0.002, 0.006, 50)])
def test_ten_times_a_thousandth_gives_a_hundred(base: float, xi2: float, exact: int) -> None:
    job = ring(gpus=3, gradient=0, base_time=base)
    problem = make([job], (1, 1, 1), xi2=xi2)
    assert np.floor(1 / (base + 3 * xi2)) == exact - 1  # what floats say
    assert problem.rates[0, 2, 1] == exact


@pytest.mark.parametrize(
    ("base", "xi2", "n", "exact"), [(0.001, 0.009, 1, 10**11), (0.005, 0.009, 3, 3125 * 10**7)]
)
def test_exact_rates_are_rounded_up_from_rationals(
    base: float, xi2: float, n: int, exact: int
) -> None:
    job = ring(gpus=n, gradient=0, base_time=base)
    problem = make([job], [1] * n, xi2=xi2, rate="exact")
    assert np.ceil(1e9 / (base + n * xi2)) == exact + 1  # what floats say
    assert problem.rates[0, n - 1, 1] == exact


def test_the_floor_costs_half_the_rate_at_worst() -> None:
    """E6: at tau = .51 one iteration a slot is left of 1.96."""
    job = ring(gpus=1, base_time=0.51, iterations=100)
    assert make([job], xi2=0).duration(0, 1) == 100
    assert make([job], xi2=0, rate="exact").duration(0, 1) == 51


@given(rar_problems(rate="exact"), st.data())
def test_exact_rates_are_one_over_tau_up_to_a_slot(problem: RarDdls, data: st.DataObject) -> None:
    j = data.draw(st.integers(0, len(problem.jobs) - 1))
    n = data.draw(st.sampled_from(problem.spans(j)))
    unrounded = ceil(problem.jobs[j].iterations * problem.iteration_time(j, n, 1))
    assert unrounded - 1 <= (problem.duration(j, n) or 0) <= unrounded


def test_worked_iteration_time() -> None:
    """G = 3, m = .15 moves .1 a step: tau = .2 f / b^e + .1 / 50 + .005 n + .01."""
    problem = make(twins(), (2, 2, 2), **P2)
    assert problem.iteration_time(0, 1, 0) == Fraction("0.004") + Fraction("0.017")
    assert problem.iteration_time(0, 2, 1) == Fraction("0.2") + Fraction("0.022")
    assert problem.iteration_time(0, 2, 2) == Fraction("0.5") + Fraction("0.022")
    assert problem.rates[0].tolist() == [[0, 0, 0], [4, 4, 1], [4, 4, 1]]
    assert [problem.duration(0, 2, p) for p in (1, 2, 9)] == [2, 8, None]  # beyond the table


# --- errata E4 and E5: why (7) is repaired --------------------------------------------------------


@pytest.mark.parametrize(
    ("xi1", "alpha", "p", "literal"),
    [("0.5", "0.2", 1, "0.4"), ("0.3", "1", 1, "-0.4"), ("0.001", "0.2", 5, "-0.194")],
)
def test_literal_contention_makes_links_faster_than_themselves(
    xi1: str, alpha: str, p: int, literal: str
) -> None:
    """k = xi1 p as printed; the bandwidth b^e / f exceeds b^e or is negative."""
    printed = DEGRADATIONS["linear"](Fraction(alpha), Fraction(xi1) * p)
    assert printed == Fraction(literal) < 1
    repaired = make([ring()], xi1=float(xi1), alpha=float(alpha))
    assert repaired.contention_level(p) == repaired.slowdown(p) == 1


def test_clipped_and_shifted_contention() -> None:
    clipped = make([ring()], xi1=0.5)
    shifted = make([ring()], xi1=0.5, contention="shifted")
    assert [clipped.contention_level(p) for p in range(5)] == [1, 1, 1, Fraction(3, 2), 2]
    assert [shifted.contention_level(p) for p in range(4)] == [1, 1, Fraction(3, 2), 2]


@pytest.mark.parametrize("contention", ["clipped", "shifted"])
@pytest.mark.parametrize("degradation", [*DEGRADATIONS, lambda _alpha, k: k * k])
@given(xi1=st.integers(1, 100), alpha=st.integers(0, 300), p=st.integers(1, 40))
def test_repaired_slowdown_is_at_least_one_and_increasing(
    contention: Any, degradation: Any, xi1: int, alpha: int, p: int
) -> None:
    problem = make(
        [ring()],
        xi1=xi1 / 100,
        alpha=alpha / 100,
        contention=contention,
        degradation=degradation,
    )
    assert problem.slowdown(1) == 1
    assert problem.slowdown(p) <= problem.slowdown(p + 1)


# --- (9): the evaluator ---------------------------------------------------------------------------


@given(problems, st.data())
def test_evaluate_is_the_slot_by_slot_result(problem: RarDdls, data: st.DataObject) -> None:
    # a server never has more spanning jobs than GPUs, the table ends there
    assume(len(problem.jobs) <= max(problem.instance.cluster.sizes))
    placement = data.draw(rar_placements(problem))
    start = [data.draw(st.integers(0, 12)) for _ in placement]
    schedule, ends = evaluate(problem, start, placement), slot_by_slot(problem, start, placement)
    assert (schedule is None) == (ends is None)
    if schedule is not None:
        assert schedule.job.tolist() == list(range(len(start)))
        assert schedule.start.tolist() == start
        assert schedule.end.tolist() == ends
        assert [dict(row.gpus) for row in schedule] == placement
        assert problem.objective(schedule) == max(ends or [0])


@given(problems, st.data())
def test_evaluated_schedules_within_capacity_are_feasible(
    problem: RarDdls, data: st.DataObject
) -> None:
    schedule = data.draw(rar_schedules(problem))
    again = evaluate(problem, schedule.start.tolist(), [row.gpus for row in schedule])
    assert again == schedule
    assert problem.violations(schedule) == []


def test_starting_late_pays_under_contention() -> None:
    """P2: side by side both jobs crawl to slot 8, in turn they end at 4."""
    problem = make(twins(), (2, 2, 2), **P2)
    beside = evaluate(problem, [0, 0], [{0: 2, 1: 1}, {1: 1, 2: 2}])
    in_turn = evaluate(problem, [0, 2], [{0: 2, 1: 1}, {1: 1, 2: 2}])
    overlap = evaluate(problem, [0, 1], [{0: 2, 1: 1}, {1: 1, 2: 2}])
    assert beside is not None
    assert in_turn is not None
    assert overlap is not None
    assert beside.end.tolist() == [8, 8]
    assert in_turn.end.tolist() == [2, 4]
    # a: 4 in slot 0, then 1 a slot: 5 slots; b: 1 a slot in 1..4, then 4 left alone: 1 slot
    assert overlap.end.tolist() == [5, 6]


def test_floor_can_deadlock() -> None:
    """Claim "progress": with m = .3, phi(2, 2) = 0: together never, in turn 8 slots."""
    problem = make(twins(0.3), (2, 2, 2), **P2)
    assert problem.rates[0, 1].tolist() == [2, 2, 0]
    assert problem.duration(0, 2, 2) is None
    assert evaluate(problem, [0, 0], [{0: 2, 1: 1}, {1: 1, 2: 2}]) is None
    in_turn = evaluate(problem, [0, 4], [{0: 2, 1: 1}, {1: 1, 2: 2}])
    assert in_turn is not None
    assert in_turn.end.tolist() == [4, 8]


def test_a_halted_job_resumes_when_contention_falls() -> None:
    long, short = (
        ring(id="a", gpus=3, gradient=0.3),
        ring(id="b", gpus=3, gradient=0.15, iterations=4),
    )
    problem = make([long, short], (2, 2, 2), **P2)
    schedule = evaluate(problem, [0, 2], [{0: 2, 1: 1}, {1: 1, 2: 2}])
    assert schedule is not None
    # a: 2 a slot in 0, 1; 0 beside b (1 a slot, four slots); 6 left are three slots
    assert schedule.end.tolist() == [9, 6]
    assert problem.violations(schedule) == []


@pytest.mark.parametrize("many", [1, 2, 3, 5])
def test_more_jobs_than_a_server_has_gpus_contend_all_the_same(many: int) -> None:
    """Two servers of one GPU: each further job makes all of them slower, (6) to (8)."""
    jobs = [
        RingJob(id=str(j), gpus=2, iterations=10, gradient=1.0, base_time=0.001)
        for j in range(many)
    ]
    problem = RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs), bandwidth_between=40.0)
    plan = evaluate(problem, [0] * many, [{0: 1, 1: 1}] * many)
    assert plan is not None
    rate = problem.progress(problem.iteration_time(0, 2, many))
    assert plan.end.tolist() == [-(-10 * problem.resolution // rate)] * many
    assert problem.duration(0, 2, many) == plan.end[0]
    assert [text.split()[0] for text in problem.violations(plan)] == ["capacity"] * (2 * (many > 1))


def test_evaluate_carries_devices() -> None:
    problem = make([ring()])
    schedule = evaluate(problem, [3], [{0: 1, 1: 1}], [{0: (1,), 1: (0,)}])
    assert schedule is not None
    assert schedule[0].devices == {0: (1,), 1: (0,)}
    assert schedule[0].start == 3


@pytest.mark.parametrize(
    ("start", "placement", "error", "message"),
    [
        ([], [{0: 2}], ValueError, "evaluate: 0 entries of start, 1 jobs"),
        ([0], [], ValueError, "evaluate: 0 entries of placement, 1 jobs"),
        ([-1], [{0: 2}], ValueError, "job 'a': start=-1 is below 0"),
        ([0.5], [{0: 2}], TypeError, "job 'a': start=0.5 is not an integer"),
        ([0], [{2: 2}], ValueError, "job 'a': placement={2: 2} names node 2 of 2"),
        ([0], [{-1: 2}], ValueError, "job 'a': placement={-1: 2} names node -1 of 2"),
        ([0], [{0: 1}], ValueError, "job 'a': placement={0: 1} holds 1 of its 2 GPUs"),
        ([0], [{0: 2, 1: 0}], ValueError, "job 'a': placement[1]=0 is below 1"),
        ([0], [{0: 2.0}], TypeError, "job 'a': placement[0]=2.0 is not an integer"),
    ],
)
def test_evaluate_refuses(start: Any, placement: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        evaluate(make([ring()]), start, placement)


def test_no_jobs() -> None:
    problem = make([])
    schedule = evaluate(problem, [], [])
    assert schedule is not None
    assert problem.objective(schedule) == 0
    assert problem.violations(schedule) == []
    assert problem.shortest_durations().size == 0
    assert (estimates(problem).lower, estimates(problem).upper, estimates(problem).spread) == (
        1,
        1,
        1,
    )


# --- (1)-(9): the checker -------------------------------------------------------------------------

#: a, b as in P2 in turn over nodes 0 and 1; c alone on node 2 at one iteration a slot
TRIO = make([*twins(), ring(id="c", gpus=1, iterations=4, base_time=0.5)], (2, 2, 2), **P2)
A, B, C = FEASIBLE = [
    Segment(0, 0, 2, {0: 2, 1: 1}),
    Segment(1, 2, 4, {0: 2, 1: 1}),
    Segment(2, 0, 4, {2: 1}),
]
RING_DEVICES = {0: (0, 1), 1: (0,)}
A_DEVICES, B_DEVICES = replace(A, devices=RING_DEVICES), replace(B, devices=RING_DEVICES)


@pytest.mark.parametrize(
    "rows",
    [
        FEASIBLE,
        [C, B, A],
        [A_DEVICES, B_DEVICES, replace(C, devices={2: (1,)})],
        [A_DEVICES, B_DEVICES, replace(C, gpus={1: 1}, devices={1: (1,)})],
    ],
)
def test_unbroken_schedules(rows: list[Segment]) -> None:
    assert TRIO.violations(Schedule.of(rows)) == []
    assert TRIO.objective(Schedule.of(rows)) == 4


BROKEN = table("broken_rings")
RIGHT = {"a": A, "b": B, "c": C, "a with devices": A_DEVICES, "b with devices": B_DEVICES}


def segment(row: Any) -> Segment:
    """A row of the table."""
    if isinstance(row, str):
        return RIGHT[row]
    job, start, end, gpus, *devices = row
    held = {int(node): tuple(own) for node, own in devices[0].items()} if devices else None
    return Segment(job, start, end, {int(node): count for node, count in gpus.items()}, held)


@pytest.mark.parametrize(("rows", "messages"), BROKEN.values(), ids=BROKEN)
def test_each_constraint_is_reported_alone(rows: list[Any], messages: list[str]) -> None:
    assert TRIO.violations(Schedule.of(map(segment, rows))) == messages


def test_the_horizon_is_a_constraint() -> None:
    schedule = Schedule.of(FEASIBLE)
    assert replace(TRIO, horizon=4).violations(schedule) == []
    assert replace(TRIO, horizon=3).violations(schedule) == [
        f"horizon: job '{i}' ends at 4, after T=3" for i in "bc"
    ]


def test_parameter_servers_are_refused() -> None:
    schedule = Schedule(job=[0], start=[0], end=[1], ptr=[0, 1], node=[0], gpus=[2], ps=[1])
    message = "reference: ring-all-reduce jobs use no parameter servers"
    assert make([ring()]).violations(schedule) == [message]


def test_gpus_come_in_whole_numbers_of_at_least_one() -> None:
    """(5), by the type: a schedule cannot hold what the constraint excludes."""
    columns: dict[str, Any] = {"job": [0], "start": [0], "end": [1], "ptr": [0, 1], "node": [0]}
    with pytest.raises(TypeError, match=r"column gpus has type float64, integers are required"):
        Schedule(**columns, gpus=[0.5])
    with pytest.raises(ValueError, match=r"gpus=-1 is below 0"):
        Schedule(**columns, gpus=[-1])
    with pytest.raises(ValueError, match=r"entry 0 on node 0 uses nothing"):
        Schedule(**columns, gpus=[0])


def test_iterations_far_beyond_the_goal_are_counted_exactly() -> None:
    """10**15 a slot for 18447 slots passes 2**64 and must not wrap round to 'just done'."""
    job = ring(iterations=1, gradient=0, base_time=1e-15)
    problem = make([job], xi2=0)
    [message] = problem.violations(Schedule.of([Segment(0, 0, 18447, {0: 1, 1: 1})]))
    assert message.startswith("completion (9): job 'a' ends at 18447 after 1.8447e+19 of 1 ")
    assert problem.violations(Schedule.of([Segment(0, 0, 1, {0: 1, 1: 1})])) == []


def is_feasible(problem: RarDdls, rows: Sequence[Segment]) -> bool:
    """(1)-(9) for one segment a job: gangs, capacity, and the ends that slots lead to."""
    held: list[Mapping[int, int]] = [row.gpus for row in rows]
    start, end = [row.start for row in rows], [row.end for row in rows]
    gangs = [sum(g.values()) for g in held] == [job.gpus for job in problem.jobs]
    ends = slot_by_slot(problem, start, held, limit=max(end))
    return gangs and fits(problem, start, end, held) and ends == end


#: one change of one run that no feasible schedule survives
FATAL: dict[str, Callable[[Segment], list[Segment]]] = {
    "gone": lambda _: [],
    "longer": lambda row: [replace(row, end=row.end + 1)],
    "earlier end": lambda row: [replace(row, end=row.end - 1)] if row.end - row.start > 1 else [],
    "one GPU more": lambda row: [replace(row, gpus={s: g + 1 for s, g in row.gpus.items()})],
    "in two parts": lambda row: [row, replace(row, start=row.end, end=row.end + 1)],
    "on an unknown node": lambda row: [replace(row, gpus={99: sum(row.gpus.values())})],
    "of an unknown job": lambda row: [replace(row, job=99)],
}
#: changes that may or may not: they move a run, and contention and capacity decide
MOVES: dict[str, Callable[[Segment, int], Segment]] = {
    "later": lambda row, by: replace(row, start=row.start + by, end=row.end + by),
    "to the first nodes": lambda row, _: replace(row, gpus=dict(enumerate(row.gpus.values()))),
    "longer": lambda row, by: replace(row, end=row.end + by),
}


@pytest.mark.parametrize("change", FATAL.values(), ids=FATAL)
@given(problem=problems, data=st.data())
def test_a_broken_run_is_always_reported(
    problem: RarDdls, data: st.DataObject, change: Callable[[Segment], list[Segment]]
) -> None:
    rows = list(data.draw(rar_schedules(problem)))
    i = data.draw(st.integers(0, len(rows) - 1))
    assert problem.violations(Schedule.of([*rows[:i], *change(rows[i]), *rows[i + 1 :]]))


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@given(problem=problems, data=st.data())
def test_a_moved_run_is_reported_exactly_when_slots_say_so(
    problem: RarDdls, data: st.DataObject, move: Callable[[Segment, int], Segment]
) -> None:
    rows = list(data.draw(rar_schedules(problem)))
    i = data.draw(st.integers(0, len(rows) - 1))
    rows[i] = move(rows[i], data.draw(st.integers(0, 3)))
    # p beyond the largest server cannot happen within capacity, and the table ends there
    assert (problem.violations(Schedule.of(rows)) == []) == is_feasible(problem, rows)


# --- durations and estimates ----------------------------------------------------------------------


@given(problems, st.data())
def test_no_run_beats_its_shortest_duration(problem: RarDdls, data: st.DataObject) -> None:
    schedule = data.draw(rar_schedules(problem))
    assert np.all(problem.shortest_durations() <= schedule.end - schedule.start)


@given(problems)
def test_shortest_durations_are_attained_alone(problem: RarDdls) -> None:
    sizes = problem.instance.cluster.sizes
    for j, job in enumerate(problem.jobs):
        alone = make([job], sizes, **problem.parameters())
        ends = [slot_by_slot(alone, [0], [held]) for held in placements(job.gpus, sizes)]
        assert problem.shortest_durations()[j] == min(end[0] for end in ends if end)


@given(problems, st.data())
def test_estimates_lie_within_their_bounds(problem: RarDdls, data: st.DataObject) -> None:
    schedule = data.draw(rar_schedules(problem))
    guess = estimates(problem)
    assert guess.lower <= 1 <= guess.upper
    for job, row in zip(problem.jobs, schedule, strict=True):
        estimate, real = int(guess.times[row.job]), row.end - row.start
        assert guess.lower * real <= estimate * (1 + 1e-12), job
        assert estimate <= guess.upper * real * (1 + 1e-12), job
        # the longest and the shortest run of a job differ by the spread at most
        assert real <= guess.spread * int(problem.shortest_durations()[row.job]) * (1 + 1e-12)


@given(problems)
def test_estimates_are_the_times_alone_on_the_fewest_servers(problem: RarDdls) -> None:
    sizes = problem.instance.cluster.sizes
    for j, job in enumerate(problem.jobs):
        packed = min(placements(job.gpus, sizes), key=len)
        alone = make([job], sizes, **problem.parameters())
        assert [estimates(problem).times[j]] == slot_by_slot(alone, [0], [packed])


def test_worked_estimates() -> None:
    """P2: tau(2, 1) = .222; within .004 + .017 = .021, at worst .2 * 2.5 + .027 = .527."""
    problem = make(twins(), (2, 2, 2), **P2)
    floor, exact = estimates(problem), estimates(replace(problem, rate="exact"))
    # phi = 4, 47, 1 iterations a slot: 2, 1, 8 slots
    assert floor.times.tolist() == [2, 2]
    assert (floor.lower, floor.upper, floor.spread) == (2 / 8, 2 / 1, 8 / 1)
    # 8 tau = 1.776, .168, 4.216: 2, 1, 5 slots
    assert exact.times.tolist() == [2, 2]
    assert (exact.lower, exact.upper, exact.spread) == (2 / 5, 2 / 1, 5 / 1)


def test_estimates_where_a_job_may_halt() -> None:
    guess = estimates(make(twins(0.3), (2, 2, 2), **P2))
    assert (guess.lower, guess.spread) == (0, float("inf"))


def test_estimates_where_the_network_is_faster_than_the_server() -> None:
    """m (w - 1) / w = .1; within 2 * .1 / .5 + .102 = .502, between 2 * .1 + .102 = .302."""
    job = ring(gradient=0.2, base_time=0.1, iterations=6)
    problem = make([job], bandwidth_within=0.5, xi2=0)
    guess = estimates(problem)
    # one iteration a slot within, three between: 6 slots against 2
    assert guess.times.tolist() == [6]
    assert problem.shortest_durations().tolist() == [2]
    assert (guess.lower, guess.upper, guess.spread) == (1, 3, 3)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("degradation", "error", "message"),
    [
        (lambda _alpha, k: k + 1, ValueError, "f(alpha, 1)=2.0 is not 1"),
        (lambda _alpha, k: 1 / k, ValueError, "f(alpha, k) is not increasing in k"),
        (
            lambda _alpha, k: 1 if k == 1 else float("nan"), ValueError,
            "f(alpha, 2) with alpha=0.2 is not finite",
        ),
        (lambda _alpha, _k: None, TypeError, "f(alpha, 1)=None is not a number"),
    ],
)  # fmt: skip
def test_a_degradation_begins_with_1_and_rises(
    degradation: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(f'RarDdls: degradation {message}')}$"):
        make(twins(), degradation=degradation, xi1=1)


def test_a_huge_degradation_is_a_halt_and_no_error() -> None:
    problem = make(twins(), (2, 2), alpha=1e308, contention="shifted")
    assert problem.rates[0, 1].tolist() == [4, 4, 0]


TWO_MODELS = Cluster((Node("x", 2, "v100"), Node("y", 2, "a100")))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: RarDdls("x"), TypeError, "RarDdls: instance='x' is not an Instance"),  # type: ignore[arg-type]
        (
            lambda: RarDdls(Instance(TWO_MODELS, [ring()])),  # type: ignore[arg-type]
            ValueError,
            "cluster: GPU models ['a100', 'v100'] differ, RAR-DDLS needs equal GPUs",
        ),
        (
            lambda: make([Job(id="a", gpus=1)]),
            TypeError,
            "job 'a': kind Job is not RingJob",
        ),
        (
            lambda: make([ring(gpus=5)]),
            ValueError,
            "job 'a': gpus=5 exceeds the cluster's 4",
        ),
        (
            lambda: make([ring(release=3)]),
            ValueError,
            "job 'a': release=3, but RAR-DDLS has all jobs at time 0",
        ),
        (
            lambda: make([ring(iterations=10**8 + 1)]),
            ValueError,
            "job 'a': iterations=100000001 exceeds 100000000",
        ),
        (
            lambda: RarDdls(Instance(Cluster.of_sizes([10**6, 1]), [])),
            ValueError,
            "cluster: gpus=1000001 exceeds 1000000",
        ),
        (
            lambda: make([ring(gpus=1, base_time=1.01)]),
            ValueError,
            (
                "job 'a': one iteration takes more than a slot on any number of servers that can "
                "hold it, so with rate='floor' it never progresses; use rate='exact' or longer "
                "slots"
            ),
        ),
        (
            lambda: make([ring(gpus=1, base_time=1e-20)], xi2=0),
            ValueError,
            (
                "job 'a': one iteration takes 1e-20 slots, too few to count its iterations; "
                "use shorter slots"
            ),
        ),
    ],
)
def test_bad_instances(build: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        build()


def test_a_job_that_progresses_only_on_a_server_too_small_for_it_is_refused() -> None:
    """Four GPUs do not fit a node of two; across nodes 2 * .75 * 1 > 1 slot an iteration."""
    job = ring(gpus=4, gradient=1, base_time=0.1)
    assert make([job], (4,)).duration(0, 1) == 2  # 2 * .75 / 50 + .115 + 1e-4 = .1451: 6 a slot
    with pytest.raises(ValueError, match=r"servers that can hold it"):
        make([job], (2, 2))


def test_exact_rates_let_slow_iterations_progress() -> None:
    problem = make([ring(gpus=1, base_time=2.5, iterations=4)], xi2=0, rate="exact")
    assert problem.duration(0, 1) == 10


# --- design facts ---------------------------------------------------------------------------------


def test_design_facts() -> None:
    problem = make(twins(), (2, 2, 2), **P2)
    assert (RarDdls.sense, RarDdls.integral) == (Sense.MIN, True)
    assert "literal" in RarDdls.forms
    assert problem == make(twins(), (2, 2, 2), **P2)
    assert hash(problem) == hash(make(twins(), (2, 2, 2), **P2))
    assert problem != make(twins(), (2, 2, 2), **{**P2, "alpha": 0.4})
    with pytest.raises(FrozenInstanceError):
        problem.alpha = 0.1  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        problem.rates[0, 0, 0] = 1
    assert RarDdls(problem.instance, **problem.parameters()) == problem
    for again in (problem, pickle.loads(pickle.dumps(problem)), deepcopy(problem)):
        assert again == problem
        assert np.array_equal(again.rates, problem.rates)
        assert not again.rates.flags.writeable
        assert not again.fewest.flags.writeable


def test_times_that_do_not_fit_into_64_bits_are_refused() -> None:
    """Sums of times overflowed in the compiled solvers: 300 jobs of 1e17 slots on 65 GPUs."""
    few, many = (
        [ring(id=f"j{i}", gpus=1, iterations=10**8, base_time=1e9) for i in range(count)]
        for count in (4, 300)
    )
    assert make(few, (5, 5), rate="exact").shortest_durations().max() == 10**17
    message = (
        "job 'j0': takes up to 100000000000000000 slots; the 30000000000000000000 slots of all "
        "jobs times the cluster's 65 GPUs exceed 2**62, use longer slots"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        make(many, (32, 33), rate="exact")


def test_numbers_of_any_kind_are_accepted() -> None:
    problem = make([ring()], xi1=1, horizon=np.int64(7), alpha=Fraction(1, 2))
    assert (problem.xi1, problem.horizon, problem.alpha) == (1.0, 7, 0.5)
    assert type(problem.horizon) is int


def test_a_degradation_may_return_numbers_of_any_kind() -> None:
    of_kinds = [lambda _a, k: np.float64(k), lambda _a, k: float(k), lambda _a, k: k]
    tables = [make(twins(), xi1=1, degradation=f).rates.tolist() for f in of_kinds]
    assert tables[0] == tables[1] == tables[2]
    whole = make(twins(), xi1=1, degradation=lambda _a, k: np.int64(k)).rates.tolist()
    assert whole == tables[0]
