"""The forms of RAR-DDLS say what the plain checker says, and agree with each other."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import brute_force
from broken import Broken
from few import each_seed
from gangsched.formulations.rar_ddls.problem import RarDdls, complete_schedule
from gangsched.instances import Cluster, Instance, RingJob, Schedule, Segment
from gangsched.solvers import ExactParams
from gangsched.solvers.exact import branch_and_bound
from tiny import optimum, tiny


def schedule_of(
    problem: RarDdls, start: list[int], placement: list[dict[int, int]]
) -> Schedule | None:
    """What the slot-by-slot reference makes of the decisions, capacity not looked at."""
    end = brute_force.slot_by_slot(problem, start, placement, limit=100)
    if end is None:
        return None
    return Schedule.of(map(Segment, range(len(start)), start, end, placement))


def random_schedule(problem: RarDdls, rng: np.random.Generator) -> Schedule:
    """Random starts and placements; often too many jobs on a server."""
    while True:
        placement = []
        for job in problem.jobs:
            options = list(brute_force.placements(job.gpus, problem.instance.cluster.sizes))
            placement.append(options[rng.integers(len(options))])
        start = rng.integers(0, 8, size=len(placement)).tolist()
        schedule = schedule_of(problem, start, placement)
        if schedule is not None:
            return schedule


def moved_gpu(row: Segment, nodes: int) -> Iterator[Segment]:
    """The same run in two halves, the second with one GPU on another node."""
    middle = (row.start + row.end) // 2
    source = max(row.gpus, key=lambda s: row.gpus[s])
    target = (source + 1) % nodes
    after = {**row.gpus, source: row.gpus[source] - 1}
    after[target] = after.get(target, 0) + 1
    yield replace(row, end=middle)
    yield replace(row, start=middle, gpus={s: c for s, c in after.items() if c})


def changes(schedule: Schedule, nodes: int) -> Iterator[tuple[str, Schedule]]:
    """Break a schedule in every way, one job at a time."""
    rows = list(schedule)
    for i, row in enumerate(rows):
        rest = rows[:i] + rows[i + 1 :]
        first = min(row.gpus)
        more, less = ({**row.gpus, first: row.gpus[first] + d} for d in (1, -1))
        yield "missing", Schedule.of(rest)
        yield "too late", Schedule.of([*rest, replace(row, end=row.end + 1)])
        yield "more", Schedule.of([*rest, replace(row, gpus=more)])
        if len(row.gpus) > 1 or row.gpus[first] > 1:
            kept = {s: c for s, c in less.items() if c}
            yield "less", Schedule.of([*rest, replace(row, gpus=kept)])
        if row.end - row.start > 1:
            yield "too early", Schedule.of([*rest, replace(row, end=row.end - 1)])
            yield "migrated", Schedule.of([*rest, *moved_gpu(row, nodes)])
            pause = [replace(row, end=row.start + 1), replace(row, start=row.start + 2)]
            pause[1] = replace(pause[1], end=row.end + 1)
            yield "paused", Schedule.of([*rest, *pause])
        yield "moved", Schedule.of([*rest, replace(row, start=row.start + 1, end=row.end + 1)])


def only_late(violations: list[str]) -> bool:
    return all("too late" in message for message in violations)


@pytest.mark.parametrize("form", ["compact", "literal"])
@each_seed(range(6), plain=3)
def test_the_model_accepts_what_the_checker_accepts(form: str, seed: int) -> None:
    problem, rng = tiny(seed), np.random.default_rng(seed)
    nodes = len(problem.instance.cluster.nodes)
    seen = {True: 0, False: 0}
    plain = [random_schedule(problem, rng) for _ in range(6)]
    best = branch_and_bound(problem).solution
    plain.append(Schedule.of(replace(row, devices=None) for row in best))
    feasible = [s for s in plain if problem.violations(s) == []]
    every = plain + [changed for s in feasible[-2:] for _, changed in changes(s, nodes)]
    horizon = max(int(s.end.max(initial=0)) for s in every)
    model = problem.build(form, horizon=horizon)
    broken = Broken(model.native)
    for schedule in every:
        violations = problem.violations(schedule)
        # "compact" lets a job hold its GPUs longer than it needs
        fine = only_late(violations) if form == "compact" else violations == []
        model.embed(schedule)
        assert (broken() == set()) is fine, violations
        seen[fine] += 1
        if fine:
            assert pyo.value(model.native.objective) == problem.objective(schedule)
    assert min(seen.values()) > 0


@pytest.mark.parametrize(
    ("change", "literal", "compact"),
    [
        ("missing", {"start"}, {"start"}),
        ("too late", {"prompt"}, set()),
        ("too early", {"complete"}, {"complete"}),
        ("more", {"gang"}, {"gang"}),
        ("less", {"gang"}, {"gang"}),
        ("migrated", {"keep_up", "keep_down"}, {"keep_up", "keep_down"}),
        ("paused", {"contiguous"}, {"contiguous"}),
    ],
)
def test_each_equation_is_a_constraint_that_holds(
    change: str, literal: set[str], compact: set[str]
) -> None:
    job = RingJob(id="a", gpus=2, iterations=4, gradient=0.1, base_time=0.4)
    problem = RarDdls(Instance(Cluster.of_sizes([3, 3]), [job]))
    schedule = schedule_of(problem, [1], [{0: 2}])
    assert schedule is not None
    (wrong,) = [s for name, s in changes(schedule, 2) if name == change]
    for form, names in (("literal", literal), ("compact", compact)):
        model = problem.build(form, horizon=10)
        broken = Broken(model.native)
        model.embed(schedule)
        assert broken() == set()
        model.embed(wrong)
        assert broken() >= names
        assert bool(broken()) is bool(names)


@pytest.mark.parametrize("form", ["compact", "literal"])
def test_capacity_is_a_constraint(form: str) -> None:
    jobs = [RingJob(id=i, gpus=2, iterations=4, gradient=0, base_time=0.4) for i in "ab"]
    problem = RarDdls(Instance(Cluster.of_sizes([3, 3]), jobs))
    model = problem.build(form, horizon=10)
    broken = Broken(model.native)
    clash = schedule_of(problem, [0, 1], [{0: 2}, {0: 2}])
    assert clash is not None
    model.embed(clash)
    assert broken() == {"capacity"}


def spread_pair(iterations: int = 8) -> RarDdls:
    """Two gangs of 3 on servers of 2: alone 4 iterations a slot, side by side 1 (P2)."""
    jobs = [
        RingJob(id=i, gpus=3, iterations=iterations, gradient=0.15, base_time=0.01) for i in "ab"
    ]
    return RarDdls(Instance(Cluster.of_sizes([2, 2, 2]), jobs), xi1=1, xi2=0.005, alpha=0.5)


@pytest.mark.parametrize("form", ["compact", "literal"])
def test_contention_is_a_constraint(form: str) -> None:
    problem = spread_pair()
    model = problem.build(form, horizon=10)
    broken = Broken(model.native)
    beside = schedule_of(problem, [0, 0], [{0: 2, 1: 1}, {1: 1, 2: 2}])
    assert beside is not None
    assert beside.end.tolist() == [8, 8]
    as_if_alone = Schedule.of(replace(row, end=2) for row in beside)
    model.embed(beside)
    assert broken() == set()
    model.embed(as_if_alone)
    assert broken() == {"complete"}
    for (_, n, level, t), rate in model.native.v_rate.items():
        alone = 0 if form == "compact" else 1
        rate.set_value(int(n == 2 and level == alone and t < 2))
    assert ("contenders" if form == "compact" else "rate_contenders") in broken()
    if form == "literal":
        for j, t in ((0, 0), (1, 0), (0, 1), (1, 1)):
            model.native.p_contend[j, t].set_value(1)
        assert broken() == {"contenders_least"}


SMALL = [s for s in range(60) if optimum(s) <= 3 and len(tiny(s).jobs) <= 3][:10]


@each_seed(SMALL, plain=4)
def test_the_exact_forms_have_one_optimum(seed: int) -> None:
    problem = tiny(seed)
    found = {
        form: branch_and_bound(problem, params=ExactParams(form=form))
        for form in ("compact", "literal")
    }
    best = optimum(seed)
    listed = min(max(end) for _, _, end in brute_force.every_schedule(problem, best))
    assert listed == best
    assert list(brute_force.every_schedule(problem, best - 1)) == []
    for result in found.values():
        assert (result.objective, result.status.value) == (best, "optimal")


@pytest.mark.parametrize("seed", [s for s in SMALL if len(tiny(s).jobs) == 2][:5])
def test_the_list_of_all_schedules_has_the_same_optimum(seed: int) -> None:
    problem, best = tiny(seed), optimum(seed)
    model = problem.build("schedules", horizon=best + 1)
    by_hand = list(brute_force.every_schedule(problem, best + 1))
    assert len(model.native.choices) == len(by_hand)
    result = branch_and_bound(problem, params=ExactParams(form="schedules", warm_start=None))
    assert (result.objective, result.status.value) == (best, "optimal")


def test_a_feasible_listed_schedule_satisfies_its_model() -> None:
    problem = spread_pair(iterations=4)
    listed = [schedule_of(problem, a, [{0: 2, 1: 1}] * 2) for a in ([0, 1], [2, 0])]
    model = problem.build("schedules", schedules=listed)
    assert not model.exact  # only a list
    broken = Broken(model.native)
    for schedule in listed:
        assert schedule is not None
        model.embed(schedule)
        assert broken() == set()
        assert pyo.value(model.native.objective) == problem.objective(schedule)
        assert model.extract() == schedule
    mixed = {(0, 0): 1, (1, 1): 1}
    for key, variable in model.native.x_choose.items():
        variable.set_value(mixed.get(key, 0))
    assert broken() == {"same"}


def test_the_workload_form_finds_the_least_load() -> None:
    problem = spread_pair(iterations=4)  # rho_hat = 1 slot each
    together, apart = (
        complete_schedule(problem, [0, 1], placement)
        for placement in ([{0: 2, 1: 1}] * 2, [{0: 2, 1: 1}, {1: 1, 2: 2}])
    )
    assert together is not None
    assert apart is not None
    for listed, theta, feasible in (
        ([together], 2, True),
        ([together], 1, False),
        ([apart, together], 1, False),  # server 1's GPU 0 is taken first by both
        ([apart], 2, True),
    ):
        model = problem.build("workload", schedules=listed, theta=theta)
        fits, broken = [], Broken(model.native)
        for schedule in listed:
            model.embed(schedule)
            fits.append(broken() == set())
        assert any(fits) is feasible
        assert solved(model.native) is feasible


def test_a_job_loads_its_own_gpus_only() -> None:
    """Errata E10: as printed, (15) lets two jobs on two GPUs load both with 2 + 2 slots."""
    jobs = [RingJob(id=i, gpus=1, iterations=4, gradient=0, base_time=0.4) for i in "ab"]
    problem = RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))
    side_by_side = complete_schedule(problem, [0, 0], [{0: 1}, {1: 1}])
    assert problem.objective(side_by_side) == 2
    model = problem.build("workload", schedules=[side_by_side], theta=2)
    assert solved(model.native)
    assert solved(problem.build("workload", schedules=[side_by_side], theta=1, u=2.0).native)
    assert not solved(problem.build("workload", schedules=[side_by_side], theta=1).native)


def solved(native: Any) -> bool:
    results = pyo.SolverFactory("highs").solve(
        native, load_solutions=False, raise_exception_on_nonoptimal_result=False
    )
    ends = {"optimal": True, "infeasible": False}
    return ends[str(results.solver.termination_condition)]


def test_eq_5_as_printed_is_infeasible() -> None:
    """Errata E1: y_js[t] > 0 on all servers does not go with G_j < |S|."""
    job = RingJob(id="a", gpus=1, iterations=4, gradient=0, base_time=0.4)
    problem = RarDdls(Instance(Cluster.of_sizes([2, 2]), [job]))
    native = problem.build("literal", horizon=4).native
    assert solved(native)
    native.printed = pyo.Constraint(
        native.jobs,
        native.servers,
        native.slots,
        rule=lambda m, j, s, t: m.y_place[j, s, t] >= m.z_run[j, t],
        doc="(5) as printed",
    )
    assert not solved(native)


@pytest.mark.parametrize("seed", [7, 13])
def test_valid_inequalities_cut_no_schedule_off(seed: int) -> None:
    """Every feasible schedule, contended ones among them."""
    problem, contended = tiny(seed), 0
    model = problem.build("compact", horizon=optimum(seed) + 2)
    broken = Broken(model.native)
    for start, placement, end in brute_force.every_schedule(problem, optimum(seed) + 2):
        rows = map(Segment, range(len(start)), start, end, placement)
        model.embed(Schedule.of(rows))
        assert broken() == set()
        crossing = [set(p) for p in placement if len(p) > 1]
        together = max(start) < min(end)
        contended += together and any(a & b for a, b in pairwise(crossing))
    assert contended > 10


def crossing_jobs(xi1: float, contention: Any) -> RarDdls:
    """Five jobs, up to four of them on an uplink."""
    jobs = [
        RingJob(id=f"j{i}", gpus=g, iterations=24, gradient=0.05, base_time=0.02)
        for i, g in enumerate([2, 2, 3, 2, 5])
    ]
    cluster = Cluster.of_sizes([5, 4, 4])
    return RarDdls(Instance(cluster, jobs), xi1=xi1, xi2=0.01, contention=contention)


@pytest.mark.slow
@pytest.mark.parametrize("contention", ["clipped", "shifted"])
@pytest.mark.parametrize("xi1", [1, 0.5])
def test_valid_inequalities_allow_many_contenders(xi1: float, contention: Any) -> None:
    """With xi1 = 0.5 and "clipped", two jobs do not notice each other."""
    rng, most, feasible = np.random.default_rng(5), 0, 0
    problem = crossing_jobs(xi1, contention)
    model = problem.build("compact", horizon=30)
    broken = Broken(model.native)
    for _ in range(120):
        schedule = random_schedule(problem, rng)
        if problem.violations(schedule) == []:
            model.embed(schedule)
            assert broken() == set()
            feasible += 1
            rows = list(schedule)
            placement = [row.gpus for row in rows]
            for t in range(int(schedule.end.max())):
                now = [row.job for row in rows if row.start <= t < row.end]
                most = max([most, *(brute_force.contenders(j, now, placement) for j in now)])
    assert feasible > 20
    assert most >= 4


@pytest.mark.parametrize("form", ["compact", "literal"])
@pytest.mark.parametrize("xi1", [1, 0.5])
def test_starts_and_placements_decide_the_makespan(xi1: float, form: str) -> None:
    """No form finds a way around contention once the decisions are fixed."""
    problem, rng, slowed = crossing_jobs(xi1, "shifted"), np.random.default_rng(11), 0
    for _ in range(6):
        schedule = random_schedule(problem, rng)
        if problem.violations(schedule):
            continue
        model = problem.build(form, horizon=int(schedule.end.max()) + 1)
        model.embed(schedule)
        model.native.x_start.fix()
        if form == "compact":
            model.native.y_place.fix()
        else:
            for row in schedule:
                for s in model.native.servers:
                    model.native.y_place[row.job, s, row.start].fix()
        results = pyo.SolverFactory("highs").solve(model.native)
        assert results.problem.upper_bound == pytest.approx(problem.objective(schedule))
        alone = [problem.duration(row.job, len(row.gpus)) for row in schedule]
        slowed += any(row.end - row.start > d for row, d in zip(schedule, alone, strict=True))
    assert slowed >= 1


@pytest.mark.parametrize(
    ("form", "options", "message"),
    [
        ("compact", {"horizon": 0}, r"horizon=0 is not a positive integer"),
        ("compact", {"horizon": 2.0}, r"horizon=2\.0 is not a positive integer"),
        ("literal", {"horizon": 10**5}, r"600000 jobs x servers x slots are more than 200000"),
        ("schedules", {"horizon": 30}, r"41209 combinations .* more than 20000"),
        ("workload", {"horizon": 30}, r"41209 combinations .* more than 20000"),
    ],
)
def test_what_cannot_be_built_is_refused(form: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spread_pair().build(form, **options)


def test_a_list_is_checked() -> None:
    problem = spread_pair()
    good = schedule_of(problem, [0, 2], [{0: 2, 1: 1}] * 2)
    assert good is not None
    bad = Schedule.of(replace(row, start=0, end=2) for row in good)
    with pytest.raises(ValueError, match=r"schedules\[1\] is not feasible: capacity \(2\)"):
        problem.build("schedules", schedules=[good, bad])
    with pytest.raises(ValueError, match=r"schedules\[0\] has no GPU identities, \(15\) needs"):
        problem.build("workload", schedules=[good])
