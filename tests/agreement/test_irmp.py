"""The forms of IRMP say what the plain checker says, and agree with brute force and each other."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import gangsched as gs
import revenue_optimum
from broken import Broken
from few import each_seed
from gangsched.formulations.irmp import forms as irmp_forms
from gangsched.formulations.irmp.problem import Irmp
from gangsched.instances import Linear, ParameterServerJob, Table
from gangsched.solvers import ExactParams
from gangsched.solvers.exact import branch_and_bound

EXACT = ("columns", "literal")


@cache
def tiny(seed: int) -> Irmp:
    """Every second with two types of servers; users everywhere."""
    types = ("new", "old") if seed % 2 else ("",)
    rng = np.random.default_rng([5, seed])
    return revenue_optimum.random_problem(rng, nodes=3, horizon=5, types=types, users=2)


@cache
def optimum(seed: int) -> float:
    found = revenue_optimum.optimum(tiny(seed))
    assert found is not None
    return found[0]


def job(name: str, **changes: Any) -> ParameterServerJob:
    fields: dict[str, Any] = {
        "id": name, "gpus": 2, "epochs": 1, "minibatches": 1, "rates": (1, 0.5),
        "utility": Linear(-1, 10),
    }  # fmt: skip
    return ParameterServerJob(**{**fields, **changes})


def problem_of(
    nodes: list[tuple[int, int]], jobs: list[ParameterServerJob], **parameters: Any
) -> Irmp:
    cluster = gs.Cluster([gs.Node(f"s{i}", gpus, ps=ps) for i, (gpus, ps) in enumerate(nodes)])
    users = [gs.User(u) for u in sorted({one.user for one in jobs} - {""})]
    if users and "owners" not in parameters:
        parameters["owners"] = [users[i % len(users)].id for i in range(len(nodes))]
    return Irmp(gs.Instance(cluster, jobs, users=users), **{"horizon": 4, **parameters})


def proven(problem: Irmp, form: str) -> float:
    bound = branch_and_bound(problem, params=ExactParams(form=form)).bound
    assert bound is not None
    return bound.value


# -- the optimum -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", EXACT)
@each_seed(range(40))
def test_exact_forms_find_the_optimum(form: str, seed: int) -> None:
    problem = tiny(seed)
    result = branch_and_bound(problem, params=ExactParams(form=form))
    assert result.status.value == "optimal"
    assert result.objective == pytest.approx(optimum(seed), abs=1e-6)
    assert problem.violations(result.solution) == []


def test_the_random_problems_are_worth_trying() -> None:
    """Most earn something, on several servers at once, and not all that the jobs are worth."""
    chosen = [revenue_optimum.optimum(tiny(seed)) for seed in range(40)]
    runs = [run for found in chosen if found for run in found[1]]
    spread = [r for r in runs if r and sum(map(bool, map(max, r.workers, r.ps))) > 1]
    assert sum(optimum(seed) > 0 for seed in range(40)) >= 20
    assert len(spread) >= 5
    assert runs.count(None) >= 20


@each_seed(range(40))
def test_the_dual_is_never_below_the_optimum(seed: int) -> None:
    result = branch_and_bound(tiny(seed), params=ExactParams(form="dual"))
    assert result.solution is None
    assert result.bound is not None
    assert result.bound.value >= optimum(seed) - 1e-6


def test_half_jobs_pay_for_prices() -> None:
    """One server of 3 workers: 1.5 jobs of 2 workers, where one fits."""
    jobs = [job(f"j{i}", utility=Linear(0, 10)) for i in range(2)]
    problem = problem_of([(3, 2)], jobs, horizon=1)
    assert branch_and_bound(problem).objective == 10
    assert proven(problem, "dual") == pytest.approx(15)


def linear_optimum(problem: Irmp, form: str) -> float:
    """The model's optimum with binaries between 0 and 1."""
    native = problem.build(form).native
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(native)
    pyo.SolverFactory("highs").solve(native)
    return float(pyo.value(native.objective))


@each_seed(range(12))
def test_the_dual_is_the_linear_relaxation(seed: int) -> None:
    """(6) and (5) without (5d) have one optimum."""
    problem = tiny(seed)
    dual = branch_and_bound(problem, params=ExactParams(form="dual")).bound
    assert dual is not None
    assert linear_optimum(problem, "columns") == pytest.approx(dual.value)


@pytest.mark.parametrize("form", EXACT)
@each_seed(range(12))
def test_jobs_that_must_run_may_cost(form: str, seed: int) -> None:
    rng = np.random.default_rng([6, seed])
    problem = revenue_optimum.random_problem(rng, jobs=2, horizon=6, optional=False)
    found, result = (
        revenue_optimum.optimum(problem),
        branch_and_bound(problem, params=ExactParams(form=form)),
    )
    if found is None:
        assert result.status.value == "infeasible"
    else:
        assert result.objective == pytest.approx(found[0])
        dual = branch_and_bound(problem, params=ExactParams(form="dual")).bound
        assert dual is not None
        assert dual.value >= found[0] - 1e-6


def test_some_jobs_that_must_run_can_and_some_cannot() -> None:
    rngs = [np.random.default_rng([6, seed]) for seed in range(12)]
    problems = [
        revenue_optimum.random_problem(rng, jobs=2, horizon=6, optional=False) for rng in rngs
    ]
    possible = [revenue_optimum.optimum(problem) is not None for problem in problems]
    assert 3 <= sum(possible) <= 9
    late = problem_of([(2, 1)], [job("a", utility=Table([-3]))], optional=False)
    assert branch_and_bound(late).objective == -3
    assert branch_and_bound(replace(late, optional=True)).objective == 0


# -- the sharing incentive -------------------------------------------------------------------------


def two_users(**parameters: Any) -> Irmp:
    """One server: u1's job is worth more, u2's takes as long."""
    jobs = [job("a", user="u1", utility=Table([9, 2])), job("b", user="u2", utility=Table([5, 1]))]
    return problem_of([(2, 1)], jobs, owners=["u2"], horizon=2, **parameters)


@pytest.mark.parametrize("form", EXACT)
@pytest.mark.parametrize(
    ("alone", "optimum"),
    [({}, 10), ({"u2": 1}, 10), ({"u2": 5}, 7), ({"u1": 9, "u2": 5}, None), ({"u1": 2}, 10)],
)
def test_nobody_earns_less_than_alone(
    form: str, alone: dict[str, float], optimum: float | None
) -> None:
    problem = two_users(alone=alone)
    found = revenue_optimum.optimum(problem)
    assert (found and found[0]) == optimum
    result = branch_and_bound(problem, params=ExactParams(form=form))
    assert result.objective == optimum
    assert result.status.value == ("infeasible" if optimum is None else "optimal")
    if optimum is not None:
        assert proven(problem, "dual") >= optimum - 1e-6


def test_the_sharing_incentive_has_a_price() -> None:
    """u2's job is worth 5 in slot 1 only, so that u1's 9 become 2."""
    for alone, revenue in (({}, 10.0), ({"u2": 3}, 8.5), ({"u2": 5}, 7.0)):
        problem = two_users(alone=alone)
        dual = branch_and_bound(problem, params=ExactParams(form="dual")).bound
        assert dual is not None
        assert dual.value == pytest.approx(revenue)
        assert linear_optimum(problem, "columns") == pytest.approx(revenue)


def test_a_user_without_jobs_earns_nothing() -> None:
    problem = Irmp(
        gs.Instance(gs.Cluster([gs.Node("s", 2, ps=1)]), [], users=[gs.User("u")]),
        owners=["u"],
        horizon=2,
        alone={"u": 1},
    )
    for form in EXACT:
        assert branch_and_bound(problem, params=ExactParams(form=form)).status.value == "infeasible"
        fine = branch_and_bound(replace(problem, alone={"u": 0}), params=ExactParams(form=form))
        assert fine.status.value in ("optimal", "unknown")


@each_seed(range(10))
def test_promises_of_random_problems_are_kept(seed: int) -> None:
    """Each user is promised what it earns when its jobs are alone on its own servers."""
    problem = tiny(seed)
    alone = {}
    for user in problem.users:
        mine = [one for one in problem.jobs if one.user == user]
        nodes = problem.instance.cluster.nodes
        own = [n for n, owner in zip(nodes, problem.owners, strict=True) if owner == user]
        if own and mine:
            changed = gs.Instance(gs.Cluster(own), mine, users=[gs.User(user)])
            part = replace(problem, instance=changed, owners=[user] * len(own))
            alone[user] = branch_and_bound(part).objective or 0.0
    promised = replace(problem, alone=alone)
    found = revenue_optimum.optimum(promised)
    assert found is not None  # all of these schedules at once
    for form in EXACT:
        result = branch_and_bound(promised, params=ExactParams(form=form))
        assert result.objective == pytest.approx(found[0])
        earned = promised.earnings(result.solution)
        assert all(earned[u] >= least - 1e-6 for u, least in alone.items())
    assert proven(promised, "dual") >= found[0] - 1e-6


# -- checker and models ----------------------------------------------------------------------------


def random_schedule(problem: Irmp, rng: np.random.Generator) -> gs.Schedule:
    """One run for most jobs, each feasible by itself, at a random time."""
    rows = []
    for j in range(len(problem.jobs)):
        shapes = revenue_optimum.needed(list(revenue_optimum.shapes(problem, j)))
        shapes = [shape for shape in shapes if shape.slots <= 5]
        if shapes and rng.random() < 0.8:
            shape = shapes[rng.integers(len(shapes))]
            start = revenue_optimum.first_slot(problem, j) + int(rng.integers(3))
            run = revenue_optimum.Run(start, start + shape.slots, shape.workers, shape.ps)
            rows.append(revenue_optimum.segment(j, run))
    return gs.Schedule.of(rows)


def plain(schedule: gs.Schedule) -> list[Any]:
    """What a schedule says, in one order."""
    return sorted(
        (row.job, row.start, row.end, sorted(row.gpus.items()), ps_of(row)) for row in schedule
    )


def ps_of(row: gs.Segment) -> list[tuple[int, int]]:
    return sorted((s, count) for s, count in (row.ps or {}).items() if count)


def held(row: gs.Segment, gpus: dict[int, int], ps: dict[int, int]) -> gs.Segment:
    """The same run, or less, with other workers and PSs."""
    used = sorted({s for counts in (gpus, ps) for s, count in counts.items() if count})
    return replace(
        row,
        gpus={s: gpus.get(s, 0) for s in used},
        ps={s: ps[s] for s in used if ps.get(s)} or None,
    )


def changed(row: gs.Segment, nodes: int) -> Iterator[tuple[str, list[gs.Segment]]]:
    """Change a run in every way."""
    ps = {s: count for s, count in (row.ps or {}).items() if count}
    host, gpus = next(iter(ps)), dict(row.gpus)
    on = next(s for s, count in gpus.items() if count)
    other = (host + 1) % nodes
    yield "left out", []
    yield "held on", [replace(row, end=row.end + 1)]
    yield "one worker more", [held(row, {**gpus, on: gpus[on] + 1}, ps)]
    yield "one PS more", [held(row, gpus, {**ps, host: ps[host] + 1})]
    if nodes > 1:
        yield "a second host", [held(row, gpus, {**ps, other: 1})]
        yield "another host", [held(row, gpus, {other: ps[host]})]
    yield "one worker less", [held(row, {**gpus, on: gpus[on] - 1}, ps)]
    yield "no PS", [held(row, gpus, {})]
    yield "no workers", [held(row, {}, ps)]
    if row.start:
        yield "earlier", [replace(row, start=row.start - 1, end=row.end - 1)]
    yield "later", [replace(row, start=row.start + 1, end=row.end + 1)]
    yield "twice", [row, replace(row, start=row.end, end=2 * row.end - row.start)]
    if row.end - row.start > 1:
        middle = row.start + 1
        yield "too early", [replace(row, end=row.end - 1)]
        yield "in two", [replace(row, end=middle), replace(row, start=middle)]
        paused = replace(row, start=middle + 1, end=row.end + 1)
        yield "paused", [replace(row, end=middle), paused]


def changes(schedule: gs.Schedule, nodes: int) -> Iterator[tuple[str, gs.Schedule]]:
    """Change a schedule in every way, one job at a time."""
    rows = list(schedule)
    for i, row in enumerate(rows):
        for change, instead in changed(row, nodes):
            yield change, gs.Schedule.of([*rows[:i], *instead, *rows[i + 1 :]])


def is_column(problem: Irmp, row: gs.Segment) -> bool:
    """Whether a run holds nothing that it does not need."""
    nodes = range(len(problem.instance.cluster.nodes))
    held = tuple(row.gpus.get(s, 0) for s in nodes), tuple((row.ps or {}).get(s, 0) for s in nodes)
    shape = revenue_optimum.Shape(*held, row.end - row.start)
    return shape in revenue_optimum.needed(list(revenue_optimum.shapes(problem, row.job)))


def cases(seed: int) -> Iterator[tuple[str, gs.Schedule]]:
    problem, rng = tiny(seed), np.random.default_rng([8, seed])
    plain = [random_schedule(problem, rng) for _ in range(8)]
    found = revenue_optimum.optimum(problem)
    assert found is not None
    plain.append(revenue_optimum.schedule(found[1]))
    for schedule in plain:
        yield "as it is", schedule
    for schedule in plain[-3:]:
        yield from changes(schedule, len(problem.instance.cluster.nodes))


@each_seed(range(12))
def test_the_literal_model_accepts_exactly_what_the_checker_accepts(seed: int) -> None:
    problem = tiny(seed)
    model = problem.build("literal")
    broken = Broken(model.native)
    for change, schedule in cases(seed):
        violations = problem.violations(schedule)
        model.embed(schedule)
        assert (broken() == set()) is (violations == []), (change, violations, broken())
        if not violations:
            assert pyo.value(model.native.objective) == pytest.approx(problem.objective(schedule))
            assert plain(model.extract()) == plain(schedule)


def test_there_are_schedules_of_both_kinds() -> None:
    """Of every kind of change some, and some that change nothing."""
    verdicts: dict[str, set[bool]] = {}
    for seed in range(12):
        for change, schedule in cases(seed):
            verdicts.setdefault(change, set()).add(tiny(seed).violations(schedule) == [])
    both = {"as it is", "held on", "one worker more", "one PS more", "later", "earlier"}
    assert {change for change, found in verdicts.items() if found == {True, False}} >= both
    assert all(False in found for change, found in verdicts.items() if change != "left out")


@each_seed(range(12))
def test_the_columns_are_the_runs_that_are_worth_choosing(seed: int) -> None:
    """A feasible schedule earns the same in the model; what it cuts down is one of the model's."""
    problem = tiny(seed)
    model = problem.build("columns")
    broken, alike = Broken(model.native), 0
    for change, schedule in cases(seed):
        violations = problem.violations(schedule)
        model.embed(schedule)
        accepted = broken() == set()
        if all(is_column(problem, row) for row in schedule):
            assert accepted is (violations == []), (change, violations, broken())
        if violations == []:
            assert accepted, change
            assert pyo.value(model.native.objective) == pytest.approx(problem.objective(schedule))
        if accepted:
            cut = model.extract()
            assert problem.violations(cut) == []
            alike += plain(cut) == plain(schedule)
    assert alike


@each_seed(range(12))
def test_columns_by_brute_force(seed: int) -> None:
    problem, horizon = tiny(seed), 5
    listed = {
        (j, start, start + shape.slots, shape.workers, shape.ps)
        for j in range(len(problem.jobs))
        for shape in revenue_optimum.needed(list(revenue_optimum.shapes(problem, j)))
        for start in range(revenue_optimum.first_slot(problem, j), horizon - shape.slots + 1)
    }
    found = irmp_forms.columns(problem, horizon)
    assert len(found) == len(set(found))
    assert set(map(tuple, found)) >= listed
    for column in found:  # a spread run is one, though a central one may be faster
        slots = column.end - column.start
        shape = revenue_optimum.Shape(column.workers, column.ps, slots)
        assert shape in set(revenue_optimum.shapes(problem, column.job))


@each_seed(range(12))
def test_every_schedule_is_one_of_the_dual(seed: int) -> None:
    problem = tiny(seed)
    model = problem.build("dual")
    broken = Broken(model.native)
    assert model.relaxation
    assert not model.exact
    for _, schedule in cases(seed):
        if problem.violations(schedule) == []:
            model.embed(schedule)
            assert broken() == set()
            assert pyo.value(model.native.objective) >= problem.objective(schedule) - 1e-9
    with pytest.raises(ValueError, match="form 'dual'"):
        model.extract()


# -- each equation ---------------------------------------------------------------------------------

#: a spread run of three slots on server 0 (host) and 1, of servers 0, 1, 2
SPREAD = gs.Segment(0, 1, 4, {0: 1, 1: 2}, ps={0: 2})


def spread(**parameters: Any) -> Irmp:
    """One job of 4.5 mini-batches, nearly; a PS serves one worker."""
    one = job("a", gpus=3, epochs=3, rates=(2, 1), release=1)
    return problem_of([(2, 2)] * 3, [one], horizon=6, **parameters)


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([SPREAD], set()),
        ([replace(SPREAD, gpus={0: 3, 1: 2})], {"chunks", "workers"}),
        ([replace(SPREAD, gpus={0: 2, 1: 2})], {"chunks"}),
        ([replace(SPREAD, ps={0: 3})], {"ps"}),
        ([replace(SPREAD, ps=None)], {"host"}),
        ([replace(SPREAD, ps={0: 1})], {"bandwidth"}),
        ([replace(SPREAD, ps={0: 2, 1: 1})], set()),
        ([replace(SPREAD, end=6, gpus={0: 0, 1: 2}, ps={0: 2, 1: 1})], set()),
        ([replace(SPREAD, gpus={0: 1, 1: 2, 2: 0}, ps={0: 2, 2: 2})], {"bandwidth"}),
        ([replace(SPREAD, end=3)], {"training"}),
        ([replace(SPREAD, start=0)], {"release"}),
        ([replace(SPREAD, start=4, end=7)], {"last", "training"}),
        ([replace(SPREAD, end=2), replace(SPREAD, start=2)], {"x_job"}),
        ([replace(SPREAD, end=2), replace(SPREAD, start=3)], {"x_job"}),
        (
            [replace(SPREAD, end=2), replace(SPREAD, start=2, gpus={0: 2, 1: 1})],
            {"keep_workers_up", "keep_workers_down", "x_job"},
        ),
        (
            [replace(SPREAD, end=2, ps={0: 2, 1: 1}), replace(SPREAD, start=2)],
            {"keep_ps_down", "x_job"},
        ),
        (
            [replace(SPREAD, end=2), replace(SPREAD, start=2, ps={0: 2, 1: 1})],
            {"keep_ps_up", "x_job"},
        ),
        ([replace(SPREAD, gpus={0: 0}, ps={0: 1})], {"occupied", "rate"}),
    ],
)
def test_each_equation_is_a_constraint(rows: list[gs.Segment], names: set[str]) -> None:
    problem = spread()
    model = problem.build("literal")
    broken = Broken(model.native)
    model.embed(gs.Schedule.of(rows))
    assert broken() >= names
    assert bool(broken()) is bool(names) is bool(problem.violations(gs.Schedule.of(rows)))


def test_every_equation_of_the_paper_has_its_name() -> None:
    problem = problem_of([(2, 2)] * 3, [job("a", user="u1"), job("b", user="u2")])
    native = problem.build("literal").native
    parts = (*native.component_objects(pyo.Constraint), *native.component_objects(pyo.Var))
    docs = {part.doc.split()[0].rstrip(",") for part in parts}
    assert docs >= {f"(3{letter})" for letter in "abcdefghijklmo"} | {"(3n)", "(4a)"}
    columns = problem.build("columns").native
    docs = {part.doc.split()[0] for part in columns.component_objects((pyo.Constraint, pyo.Var))}
    assert docs >= {"(5a)", "(5b)", "(5c)", "(5d)"}
    dual = problem.build("dual").native
    docs = {part.doc.split()[0] for part in dual.component_objects((pyo.Constraint, pyo.Var))}
    assert docs >= {"(6a)", "(6b)"}


def test_zeta_and_the_types_are_decided_by_the_placement() -> None:
    """Fixed workers and PSs leave no other speed."""
    model = spread().build("literal")
    model.embed(gs.Schedule.of([SPREAD]))
    native = model.native
    native.zeta[0].set_value(1)
    native.v_rate[0, "", 0].set_value(0)
    native.v_rate[0, "", 1].set_value(1)
    assert Broken(native)() == {"central"}
    native.zeta[0].set_value(0)
    assert Broken(native)() == {"rate_central"}
    native.z_used[0, 1].set_value(0)
    assert Broken(native)() == {"rate_central", "used_workers"}
    native.z_host[0, 0].set_value(0)
    assert Broken(native)() == {"rate_central", "used_workers", "hosts"}


def test_quotas_say_no_more_than_that_there_is_enough() -> None:
    """(3a), (3b) broken: only together with (3c), (3d)."""
    jobs = [job("a", user="u1"), job("b", user="u2")]
    model = problem_of([(2, 1)] * 2, jobs, horizon=2).build("literal")
    broken = Broken(model.native)
    model.embed(gs.Schedule.of([gs.Segment(0, 0, 2, {0: 2, 1: 0}, ps={0: 1, 1: 1})]))
    assert not {"quota_workers", "quota_ps"} & broken()  # u1 takes what is u2's
    model.embed(gs.Schedule.of([gs.Segment(0, 0, 2, {0: 4, 1: 1}, ps={0: 3})]))
    assert {"quota_workers", "quota_ps", "workers", "ps"} <= broken()


def test_types_are_constraints() -> None:
    nodes = [
        gs.Node("s1", 1, "new", ps=2),
        gs.Node("s2", 1, "old", ps=2),
        gs.Node("s3", 1, "old", ps=2),
    ]
    problem = Irmp(gs.Instance(gs.Cluster(nodes), [job("a")]), horizon=5)
    model = problem.build("literal")
    broken = Broken(model.native)
    mixed = gs.Segment(0, 0, 4, {0: 1, 1: 1}, ps={0: 1})
    hosts = gs.Segment(0, 0, 4, {0: 0, 1: 1, 2: 0}, ps={0: 1, 2: 1})
    apart = gs.Segment(0, 0, 4, {0: 0, 1: 1, 2: 1}, ps={0: 2})
    for row, names in ((mixed, {"worker_type"}), (hosts, {"ps_type"}), (apart, set())):
        model.embed(gs.Schedule.of([row]))
        assert broken() == names


# -- (3i) as printed -------------------------------------------------------------------------------


def printed(problem: Irmp) -> Any:
    """The model with (3i) for all servers."""
    native = problem.build("literal").native

    def bandwidth(m: Any, j: int, s: int, t: int) -> Any:
        outside = pyo.quicksum(m.y_workers[j, v, t] for v in m.servers if v != s)
        return problem.worker_bandwidth * outside <= problem.ps_bandwidth * m.z_ps[j, s, t]

    native.printed = pyo.Constraint(
        native.jobs, native.servers, native.slots, rule=bandwidth, doc="(3i) as printed"
    )
    return native


def feasible(native: Any) -> bool:
    results = pyo.SolverFactory("highs").solve(
        native, load_solutions=False, raise_exception_on_nonoptimal_result=False
    )
    return {"optimal": True, "infeasible": False}[str(results.solver.termination_condition)]


@pytest.mark.parametrize("servers", [1, 2, 3])
def test_3i_as_printed_allows_one_server_only_where_there_is_no_other(servers: int) -> None:
    """Workers on one server want PSs on every other, which ends zeta = 1."""
    problem = problem_of([(2, 2)] * servers, [job("a", gpus=1)], optional=False)
    for native, allowed in (
        (problem.build("literal").native, True),
        (printed(problem), servers < 2),
    ):
        native.zeta[0].fix(1)
        assert feasible(native) is allowed


def test_3i_as_printed_wants_a_parameter_server_on_every_server() -> None:
    problem = problem_of([(1, 1), (1, 0), (1, 0)], [job("a", gpus=1)], optional=False)
    assert feasible(problem.build("literal").native)
    assert not feasible(printed(problem))


# -- refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*EXACT, "dual"])
def test_what_cannot_be_built_is_refused(form: str) -> None:
    problem = problem_of([(2, 2)] * 2, [job("a")])
    with pytest.raises(ValueError, match=f"horizon=None, form '{form}' needs one"):
        replace(problem, horizon=None).build(form)
    with pytest.raises(ValueError, match=f"preemptive=True, which form '{form}' does not know"):
        replace(problem, preemptive=True).build(form)


def test_large_models_are_refused() -> None:
    many = problem_of([(8, 8)] * 12, [job("a", gpus=50)], horizon=100)
    with pytest.raises(ValueError, match=r"more than 50000 runs to choose from"):
        many.build("columns")
    long = problem_of([(2, 2)] * 2, [job("a")], horizon=30_000)
    with pytest.raises(ValueError, match=r"60000 jobs x servers x slots are more than 50000"):
        long.build("literal")
    with pytest.raises(ValueError, match=r"more than 50000 runs to choose from"):
        long.build("dual")
