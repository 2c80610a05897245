"""Bounds of revenue against all schedules of tiny instances, and against the whole program."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import gangsched as gs
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations.irmp.problem import Irmp, paper_problem
from gangsched.instances import Linear, ParameterServerJob, Table
from gangsched.solvers import Bound
from gangsched.solvers.ours.irmp import pricing
from gangsched.solvers.ours.irmp.columns import default_slots, generate, revenue_bound
from revenue_optimum import first_slot, needed, optimum, random_problem, shapes, worth

seeds = st.integers(0, 2**32 - 1)
EXACT = 1e-9


def case(i: int, rng: np.random.Generator, **more: Any) -> Irmp:
    """Every second one of two types of servers, every fifth without the right to leave jobs out."""
    types = ("",) if i % 2 else ("a", "b")
    return random_problem(rng, types=types, optional=bool(i % 5), **more)


# --- no schedule earns more ----------------------------------------------------------------------


@pytest.mark.slow
def test_no_schedule_earns_more_and_bounds_are_strict() -> None:
    rng = np.random.default_rng(5)
    counted = strict = tight = 0
    for i in range(300):
        problem = case(i, rng)
        slots = int(rng.integers(3, 7)) if i % 3 == 0 else None
        bound = revenue_bound(problem, slots=slots, block=int(rng.integers(1, 4)), tolerance=EXACT)
        verify_bound(problem, bound)
        best = optimum(problem)
        if best is not None:
            assert best[0] <= bound.value
            counted += 1
            strict += best[0] < bound.value - 1e-6
            tight += best[0] >= bound.value - 1e-6
    assert counted >= 250
    assert strict >= 0.1 * counted
    assert tight >= 0.7 * counted


def test_bounds_count_completions_after_the_last_slot() -> None:
    rng = np.random.default_rng(6)
    late = 0
    for i in range(60):
        problem = case(i, rng, jobs=2)
        open_end = replace(problem, horizon=None)
        bound = revenue_bound(open_end, slots=2, tolerance=EXACT)
        verify_bound(open_end, bound)
        best = optimum(problem)
        if best is not None:
            assert best[0] <= bound.value
            late += any(run is not None and run.end > 2 for run in best[1])
    assert late >= 20


def whole_program(problem: Irmp) -> float | None:
    """The linear program of all runs on all nodes, a row for every node and slot."""
    nodes, horizon = problem.instance.cluster.nodes, problem.horizon
    assert horizon is not None
    jobs = len(problem.instance.jobs)
    columns, values = [], []
    for j in range(jobs):
        for shape in needed(list(shapes(problem, j))):
            for start in range(first_slot(problem, j), horizon - shape.slots + 1):
                use = np.zeros((2, len(nodes), horizon))
                use[:, :, start : start + shape.slots] = np.array([shape.workers, shape.ps])[
                    :, :, None
                ]
                columns.append(np.concatenate([np.arange(jobs) == j, use.ravel()]))
                values.append(worth(problem, j, start + shape.slots))
    if not columns:
        return 0.0 if problem.optional else None
    room = [np.repeat([node.gpus for node in nodes], horizon)]
    room.append(np.repeat([node.ps for node in nodes], horizon))
    rows, matrix = np.concatenate([np.ones(jobs), *room]), np.array(columns).T
    found = (
        linprog(-np.array(values), A_ub=matrix, b_ub=rows)
        if problem.optional
        else linprog(
            -np.array(values),
            A_ub=matrix[jobs:], b_ub=rows[jobs:], A_eq=matrix[:jobs], b_eq=rows[:jobs],
        )
    )  # fmt: skip
    return -float(found.fun) if found.status == 0 else None


@pytest.mark.slow
def test_on_equal_nodes_and_single_slots_the_bound_is_the_whole_program() -> None:
    rng = np.random.default_rng(7)
    compared = 0
    for i in range(120):
        problem = random_problem(rng, optional=bool(i % 5), jobs=4)
        nodes = problem.instance.cluster.nodes
        same = gs.Cluster([gs.Node(n.id, nodes[0].gpus, ps=nodes[0].ps) for n in nodes])
        problem = replace(problem, instance=replace(problem.instance, cluster=same))
        best = whole_program(problem)
        if best is not None:
            found = generate(problem, slots=problem.horizon, block=1, tolerance=0)
            assert found.value == pytest.approx(best, abs=1e-6)
            # integral utilities: the bound is rounded down to what sums can be
            assert best - 2 <= found.bound.value <= best + 1e-6
            steps = [isinstance(job.utility, Linear | Table) for job in problem.jobs]
            if not all(steps):
                assert found.bound.value == pytest.approx(best, abs=1e-6)
            compared += best > 0
    assert compared >= 60


def test_longer_blocks_and_an_early_stop_still_bound() -> None:
    problem = paper_problem(20, servers=15)
    exact = revenue_bound(problem, slots=300, block=1, tolerance=1e-5).value
    for options in ({"block": 50}, {"time_limit": 0}, {"tolerance": 0.1}):
        rough = revenue_bound(problem, slots=300, **options)
        verify_bound(problem, rough)
        assert rough.value >= exact * (1 - 1e-5)
    assert revenue_bound(problem, slots=300, time_limit=0).value > exact * 1.01


@pytest.mark.parametrize("preemptive", [False, True])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9, 1e18, 1e70])
def test_bounds_scale_with_the_unit_of_money(unit: float, preemptive: bool) -> None:
    problem = replace(paper_problem(12, servers=10, users=2), preemptive=preemptive)
    jobs = [
        replace(job, utility=Linear(job.utility.slope * unit, job.utility.constant * unit))
        for job in problem.jobs
        if isinstance(job.utility, Linear)
    ]
    scaled = replace(problem, instance=replace(problem.instance, jobs=jobs))
    one, other = (generate(p, slots=200, tolerance=1e-6) for p in (problem, scaled))
    assert other.bound.value == pytest.approx(one.bound.value * unit, rel=1e-5)
    verify_bound(scaled, other.bound)


def test_an_interrupted_solution_is_as_large_as_the_program() -> None:
    found = generate(replace(paper_problem(12, servers=10, users=2), horizon=200))
    assert found.converged
    assert found.value <= found.bound.value <= found.value * 1.001 + 1e-6
    assert found.value == pytest.approx(sum(c.value * x for c, x in found.runs), rel=1e-6)
    shares = np.bincount([c.job for c, _ in found.runs], [x for _, x in found.runs])
    assert all(shares <= 1 + 1e-9)
    assert sorted(found.order) == list(range(12))


# --- pricing -------------------------------------------------------------------------------------


@given(seeds)
def test_machine_code_finds_runs_as_good_as_all_of_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = case(seed, rng, nodes=3)
    classes, slots = pricing.Classes.of(problem), int(rng.integers(1, 9))
    trials = pricing.Trials.of(problem, classes)
    ends = np.unique(np.append(rng.integers(1, slots + 1, size=3), slots))
    prices = rng.integers(0, int(rng.choice([2, 9, 200])), (len(classes), 2, ends.size))
    jobs = len(problem.jobs)
    values = [np.concatenate([[1e9], problem.values(j, slots)]) * 64 for j in range(jobs)]
    worths = np.ceil(values).astype(np.int64)
    floor = rng.integers(-900, 900, jobs)
    found = pricing.best_runs(
        problem, classes, trials, worths, prices, floor, ends,
        hints=np.full(jobs, -1, dtype=np.int64), every=True,
    )  # fmt: skip
    by_slot = np.repeat(prices, np.diff(ends, prepend=0), axis=2)
    for j, run in enumerate(found):
        best = most_gained(problem, j, worths[j], by_slot[classes.of_node])
        assert (run is None) == (best <= floor[j])
        if run is not None:
            assert run.gain == best == int(worths[j][run.end]) - cost(run, by_slot)


def most_gained(problem: Irmp, job: int, worth: Any, prices: Any) -> float:
    """The most that any run on nodes is worth at prices (nodes, 2, slots), after its cost."""
    slots, most = prices.shape[2], -math.inf
    for shape in shapes(problem, job):
        for start in range(problem.earliest(job), slots - shape.slots + 1):
            window = prices[:, :, start : start + shape.slots].sum(axis=2)
            spent = window[:, 0] @ np.array(shape.workers) + window[:, 1] @ np.array(shape.ps)
            most = max(most, int(worth[start + shape.slots] - spent))
    return most


def cost(run: pricing.CandidateRun, prices: Any) -> int:
    window = prices[:, :, run.start : run.end].sum(axis=2)
    return int(window[:, 0] @ np.array(run.workers) + run.ps * window[run.host, 1])


def test_starts_between_ends_of_blocks_are_not_better() -> None:
    """Where f is convex, up to rounding."""
    problem = paper_problem(30, servers=20, utility="convex")
    classes, slots, scale = pricing.Classes.of(problem), 256, 2**20
    trials, rng = pricing.Trials.of(problem, classes), np.random.default_rng(0)
    values = [np.concatenate([[1e4], problem.values(j, slots)]) for j in range(30)]
    worths = np.ceil(np.array(values) * scale).astype(np.int64)
    ends = np.arange(8, slots + 1, 8)
    prices = rng.integers(0, scale // 20, (len(classes), 2, ends.size))
    few, every = (
        pricing.best_runs(
            problem, classes, trials, worths, prices, np.zeros(30, dtype=np.int64), ends,
            hints=np.full(30, -1, dtype=np.int64), every=every,
        )
        for every in (False, True)
    )  # fmt: skip
    assert sum(run is not None for run in every) >= 5
    for one, other in zip(few, every, strict=True):
        assert (one is None) == (other is None)
        assert one is None or other is None or 0 <= other.gain - one.gain <= 1


# --- free preemption -----------------------------------------------------------------------------


def interrupted() -> tuple[Irmp, gs.Schedule]:
    """B interrupts A, and both are in time; without preemption one of them is not."""
    common: dict[str, Any] = {"gpus": 2, "epochs": 1, "rates": (1, 0.5)}
    jobs = [
        ParameterServerJob(id="A", minibatches=4, utility=Table([100] * 5 + [0]), **common),
        ParameterServerJob(id="B", minibatches=1, release=1, utility=Table([10, 10, 0]), **common),
    ]
    problem = Irmp(gs.Instance(gs.Cluster([gs.Node("s", 2, ps=1)]), jobs), preemptive=True)
    at = {"gpus": {0: 2}, "ps": {0: 1}}
    rows = [gs.Segment(0, 0, 1, **at), gs.Segment(1, 1, 2, **at), gs.Segment(0, 2, 5, **at)]  # type: ignore[arg-type]
    return problem, gs.Schedule.of(rows)


def test_preemption_earns_more_than_the_bound_without_it() -> None:
    problem, schedule = interrupted()
    assert problem.violations(schedule) == []
    assert problem.objective(schedule) == 110
    bound = revenue_bound(problem, block=1, tolerance=EXACT)
    assert bound.value == pytest.approx(110, rel=1e-6)
    assert bound.value >= 110
    verify_bound(problem, bound)
    assert revenue_bound(replace(problem, preemptive=False), block=1, tolerance=EXACT).value == 100


@pytest.mark.slow
def test_bounds_with_preemption_are_no_lower() -> None:
    rng = np.random.default_rng(8)
    strict = 0
    for i in range(100):
        problem = case(i, rng)
        free = replace(problem, preemptive=True)
        found = generate(free, block=1, tolerance=EXACT)
        bound = found.bound
        verify_bound(free, bound)
        assert not problem.optional or bound.value == pytest.approx(found.value, rel=1e-5, abs=1e-5)
        other = revenue_bound(problem, block=1, tolerance=EXACT)
        assert bound.value >= other.value - 1e-6
        strict += bound.value > other.value + 1e-6
    assert strict >= 30


def at_random(problem: Irmp, rng: np.random.Generator) -> gs.Schedule:
    """Jobs in random order, in every slot on random nodes, until they are complete."""
    nodes, segments = problem.instance.cluster.nodes, []
    left = [job.batches for job in problem.jobs]
    parts: list[list[gs.Segment]] = [[] for _ in left]
    for t in range(12):
        free = [[node.gpus, node.ps] for node in nodes]
        for j in rng.permutation(len(left)).tolist():
            s = int(rng.integers(len(nodes)))
            workers = min(free[s][0], problem.jobs[j].gpus)
            if left[j] <= 0 or t < problem.earliest(j) or not workers or not free[s][1]:
                continue
            free[s][0] -= workers
            free[s][1] -= 1
            parts[j].append(gs.Segment(j, t, t + 1, {s: workers}, ps={s: 1}))
            left[j] -= problem.rate(j, 1, nodes[s].model) * workers  # type: ignore[assignment]
    for j, rows in enumerate(parts):
        segments += rows if left[j] <= 0 else []
    return gs.Schedule.of(segments)


def test_no_schedule_with_preemption_earns_more() -> None:
    rng = np.random.default_rng(9)
    in_parts = 0
    for _ in range(100):
        problem = random_problem(rng, types=("a", "b"), horizon=12, jobs=5)
        problem = replace(problem, preemptive=True)
        schedule = at_random(problem, rng)
        assert problem.violations(schedule) == []
        bound = revenue_bound(problem, tolerance=EXACT)
        assert problem.objective(schedule) <= bound.value
        in_parts += len(schedule) > len(set(schedule.job.tolist()))
    assert in_parts >= 30


# --- what is asked for ---------------------------------------------------------------------------


def test_slots_end_with_the_horizon_and_with_the_last_gain() -> None:
    problem = paper_problem(10, servers=10, users=2)
    assert default_slots(replace(problem, horizon=40)) == 40
    last = max(
        int(np.ceil(-job.utility.constant / job.utility.slope))
        for job in problem.jobs
        if isinstance(job.utility, Linear)
    )
    assert default_slots(problem) <= last
    assert generate(replace(problem, horizon=40), slots=99).ends[-1] == 40


# --- odd input -----------------------------------------------------------------------------------


def lone(**changed: Any) -> Irmp:
    fields: dict[str, Any] = {"utility": Linear(-2, 100), **changed}
    job = ParameterServerJob(
        id="j", gpus=2, epochs=1, minibatches=1, rates=(1, 0.5), **fields
    )  # fmt: skip
    return Irmp(gs.Instance(gs.Cluster([gs.Node("s", 2, ps=1)]), [job]))


@pytest.mark.parametrize("preemptive", [False, True])
def test_without_jobs_there_is_nothing_to_earn(preemptive: bool) -> None:
    problem = Irmp(gs.Instance(gs.Cluster([gs.Node("s", 2, ps=1)]), []), preemptive=preemptive)
    bound = revenue_bound(problem)
    assert bound.value == pytest.approx(0, abs=1e-6)
    verify_bound(problem, bound)


def test_divisors_of_values_count_only_where_values_are_exact() -> None:
    """k and g are multiples of 2**50 + 1, but 9 k needs 54 bits, so that f(9) is no such one."""
    step = 2**50 + 1
    problem = lone(release=8, utility=Linear(-step, 10 * step))
    earned = problem.value(0, 9)
    assert earned == step + 1
    bound = revenue_bound(problem)
    assert bound.value >= earned
    verify_bound(problem, bound)
    with pytest.raises(InvalidCertificate):
        verify_bound(problem, Bound(float(step), "by hand", bound.certificate))


@pytest.mark.parametrize("preemptive", [False, True])
@pytest.mark.parametrize("unit", [1e-300, 1e-310])
def test_the_smallest_floats_have_bounds_that_are_verified(unit: float, preemptive: bool) -> None:
    problem = replace(lone(utility=Linear(-unit, 10 * unit)), preemptive=preemptive)
    bound = revenue_bound(problem)
    assert problem.value(0, 1) <= bound.value <= 1e-298
    verify_bound(problem, bound)


@pytest.mark.parametrize("preemptive", [False, True])
def test_the_largest_and_the_smallest_floats_have_one_bound(preemptive: bool) -> None:
    """In units of the large one, the small one is 0 as a float, and rounded up."""
    jobs = [
        ParameterServerJob(
            id=str(worth), gpus=2, epochs=1, minibatches=1, rates=(1, 1), utility=Linear(0, worth)
        )
        for worth in (1e80, 1e-300)
    ]
    problem = Irmp(gs.Instance(gs.Cluster([gs.Node("s", 2, ps=1)]), jobs), preemptive=preemptive)
    bound = revenue_bound(problem)
    assert bound.certificate is not None
    assert bound.certificate["scale"] < 2.0**-200
    assert 1e80 <= bound.value <= 1e80 * (1 + 1e-8)
    verify_bound(problem, Bound(bound.value, "", json.loads(json.dumps(dict(bound.certificate)))))


@pytest.mark.parametrize("preemptive", [False, True])
def test_jobs_that_can_never_run_count_for_nothing(preemptive: bool) -> None:
    """One needs two slots, and there is one; and without PSs nobody can run."""
    can = lone().jobs[0]
    long = replace(can, id="long", release=3, epochs=2, utility=Linear(0, 7))
    cluster = gs.Cluster([gs.Node("s", 2, ps=1)])
    for slots in (None, 2):
        problem = Irmp(gs.Instance(cluster, [can, long]), horizon=4, preemptive=preemptive)
        bound = revenue_bound(problem, slots=slots)
        assert bound.value == pytest.approx(98, rel=1e-6)
        verify_bound(problem, bound)
    for optional in (True, False):
        nowhere = Irmp(
            gs.Instance(gs.Cluster([gs.Node("s", 2)]), [can]),
            preemptive=preemptive,
            optional=optional,
        )
        bound = revenue_bound(nowhere)
        assert bound.value == pytest.approx(0, abs=1e-6)
        verify_bound(nowhere, bound)


def test_slots_are_counted_where_quotients_are_no_floats() -> None:
    assert default_slots(lone(utility=Linear(-1e-300, 1e80))) == 3
    # 3 k + g is not 0, but g / |k| is 3 as a float
    utility = Linear(-(2.0**52 + 1), 3 * 2.0**52 + 4)
    assert utility.constant / -utility.slope == 3
    problem = lone(utility=utility)
    jobs = [replace(problem.jobs[0], epochs=9)]
    assert default_slots(replace(problem, instance=replace(problem.instance, jobs=jobs))) == 4


def test_rounded_values_are_no_multiples_of_divisors() -> None:
    """3 k = - 2**53 - 1 is rounded to - 2**53, so 3 k + 2 |k| is no multiple of k as a float."""
    k = -(2**53 + 1) // 3
    problem = lone(release=2, utility=Linear(k, -2 * k))
    problem = replace(problem, optional=False, horizon=3)
    bound = revenue_bound(problem)
    assert problem.value(0, 3) == k + 1 <= bound.value
    verify_bound(problem, bound)


def test_parameter_servers_are_counted_for_no_more_workers_than_there_are() -> None:
    problem = lone()
    large = replace(problem.jobs[0], gpus=10**6, rates=(1e6, 5e5))
    problem = replace(problem, instance=replace(problem.instance, jobs=[large]))
    assert pricing.needs(problem).tolist() == [1, 1, 2]
    assert revenue_bound(problem).value == 98


def test_programs_that_are_solved_have_converged() -> None:
    """Also where the last pricing is what proves it."""
    for seed in range(40):
        problem = random_problem(np.random.default_rng(seed), horizon=6)
        for preemptive in (False, True):
            found = generate(replace(problem, preemptive=preemptive))
            assert found.converged
            assert found.bound.value <= found.value + 2e-3 * abs(found.value) + 1e-5


@pytest.mark.slow
def test_what_is_released_after_the_last_slot_is_late() -> None:
    problem = lone(release=10**9, utility=Linear(0, 7))
    bound = revenue_bound(problem)
    assert bound.value == 7
    verify_bound(problem, bound)


def test_ten_tenths_of_a_mini_batch_are_one() -> None:
    """As floats, they add up to less; the job is complete in slot 10, the last one."""
    problem = replace(lone(), preemptive=True, horizon=10)
    job = replace(problem.jobs[0], gpus=1, rates=(0.1, 0.1))
    problem = replace(problem, instance=replace(problem.instance, jobs=[job]))
    schedule = gs.Schedule.of([gs.Segment(0, 0, 10, {0: 1}, ps={0: 1})])
    assert not problem.violations(schedule)
    bound = revenue_bound(problem)
    assert problem.objective(schedule) == 80 <= bound.value
    verify_bound(problem, bound)
