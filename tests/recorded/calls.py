"""Calls of public functions that no command makes, and what they refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.registry import policy, solver

from .bounds import gangs, small_round
from .instances import market, paper_ring, queue, revenue, ring_problem
from .plain import drawing, page, pictures, tidy
from .policies import crowd
from .table import attempt, entry, solvers_of

solvers = gs.solvers

# --- solvers -------------------------------------------------------------------------------------


def outcome(problem: Any, stem: str, name: str, **options: Any) -> Any:
    result = attempt(solver(stem, name)[1], problem, **options)
    if isinstance(result, str):
        return result
    if hasattr(result, "violations"):
        return ["refuted", *result.violations[:1]]
    bound = result.bound and result.bound.value
    return [result.status, result.objective, bound, checksum(result.solution)]


def checksum(schedule: Any) -> Any:
    """One number for all that a schedule says."""
    if schedule is None:
        return None
    if hasattr(schedule, "shares"):
        return float(np.sum(schedule.shares * np.arange(1, schedule.shares.size + 1).reshape(
            schedule.shares.shape)))  # fmt: skip
    total = 0
    for k, row in enumerate(schedule, 1):
        held = sum((n + 1) * g for n, g in row.gpus.items())
        total += k * (row.job + 3 * row.start + 5 * row.end + 7 * held)
    return total


@entry
def many_rar_ddls(folder: Path) -> Any:
    found: dict[str, Any] = {}
    makes = [ring_problem(seed) for seed in range(2, 6)]
    makes += [paper_ring(12 + 6 * seed, 2 + seed % 3, "AB"[seed % 2], seed) for seed in range(4)]
    makes.append(replace(makes[-1], contention="shifted", rate="exact", alpha=0.7))
    makes.append(replace(makes[-2], xi2=3e-3))
    for name in solvers_of("rar-ddls"):
        few = makes[:4] if name == "exact" else makes
        found[name] = [outcome(made, "rar-ddls", name, seed=3) for made in few]
    for options in (
        {"kappa": 2}, {"reach": 3.0}, {"u": 1.5}, {"search": "exhaustive"}, {"kappa": 0},
        {"reach": 0.5}, {"u": 0.5}, {"compiled": False}, {"search": "printed", "kappa": 4},
    ):  # fmt: skip
        params = attempt(solvers.SjfBcoParams, **options)
        found[str(options)] = params if isinstance(params, str) else [
            attempt(lambda p: solvers.sjf_bco(p, params=params).objective, made)  # noqa: B023
            for made in makes[3:6]
        ]  # fmt: skip
    for rounds, steps in ((1, 1), (2, 500), (0, 1), (1, 0)):
        params = attempt(solvers.LaminarParams, rounds=rounds, steps=steps)
        if not isinstance(params, str):
            params = [solvers.laminar(made, params=params).objective for made in makes]
        found[f"laminar {rounds} {steps}"] = params
    return found


@entry
def compiled_or_not(folder: Path) -> Any:
    """The readable loops beside the machine code."""
    found: dict[str, Any] = {}
    base = solvers.baselines
    for seed in range(3):
        problem = paper_ring(14, 3, "B", seed)
        for order in ("longest", "area", "gpus", "arrival"):
            result = base.backfilling(problem, order=order, compiled=False)
            found[f"{order} {seed}"] = result.objective, checksum(result.solution)
        for function in (base.first_fit, base.list_scheduling):
            result = function(problem, compiled=False)
            found[f"{function.__name__} {seed}"] = result.objective, checksum(result.solution)
    return found


@entry
def many_unisched(folder: Path) -> Any:
    found: dict[str, Any] = {}
    makes = [queue(jobs=8 + seed, nodes=2 + seed % 2, seed=seed) for seed in range(6)]
    options: list[dict[str, Any]] = [
        {"allocations": "exact"}, {"allocations": "consolidated"}, {"rounding": "paper"},
        {"sr_aware": False}, {"lexicographic": True}, {"profilers": frozenset({0, 3})},
        {"free": (2, 3)},
        {"overhead": 200}, {"lease": 1200, "be_lease": 600},
    ]  # fmt: skip
    makes += [queue(jobs=8, seed=7 + k, **given) for k, given in enumerate(options)]
    makes.append(with_phases(folder, {"0": "running", "2": "suspended", "5": "running"}))
    for name in solvers_of("unisched"):
        found[name] = [outcome(made, "unisched", name) for made in makes]
    large = queue(jobs=60, nodes=4, size=8, seed=9)
    for name in solvers_of("unisched")[:3]:
        found[f"{name}, large"] = outcome(large, "unisched", name)
    params = solvers.UniSchedParams(exact=True)
    result = solvers.lp_selector(large, params=params)
    found["exact selection"] = result.objective, result.bound, result.status
    for price in ("dual", "one", "best", 0.1):
        found[f"price {price}"] = attempt(
            lambda p: solvers.opportunity_price(large, price=p).objective, price
        )
    return found


def with_phases(folder: Path, phases: dict[str, str]) -> Any:
    """A queue some of whose jobs have run."""
    gs.io.save(folder / "queue.json", queue(jobs=8, seed=3))
    data = json.loads((folder / "queue.json").read_text("utf-8"))
    data["parameters"]["phases"] = phases
    (folder / "queue.json").write_text(json.dumps(data), "utf-8")
    return gs.io.load(folder / "queue.json")


@entry
def many_irmp(folder: Path) -> Any:
    found: dict[str, Any] = {}
    reduced = gs.formulations.reduced_problem
    makes = [reduced(4 + seed, servers=5, users=2, seed=seed) for seed in range(2)]
    makes.append(reduced(7, servers=6, users=3, utility="convex", seed=4))
    makes.append(replace(makes[0], optional=False))
    makes.append(replace(makes[1], clock="release"))
    makes.append(replace(makes[2], preemptive=True))
    for name in solvers_of("irmp"):
        few = makes[:3] if name in ("exact", "search") else makes
        found[name] = [outcome(made, "irmp", name, seed=2) for made in few]
    for options in (
        {"lam": 2}, {"theta": 4.0}, {"theta": (3.0, 5.0)}, {"scale": 0.5}, {"estimate": "optimum"},
        {"order": "release"}, {"cap": 2}, {"machine": False}, {"lam": 0}, {"theta": -1.0},
        {"order": "best"}, {"estimate": "best"}, {"scale": -1},
    ):  # fmt: skip
        params = attempt(solvers.AstraeaParams, **options)
        found[str(options)] = params if isinstance(params, str) else accounted(makes[2], params)
    params = solvers.RevenueSearchParams(iterations=6, most=3)
    found["search 6"] = solvers.revenue_search(makes[2], params=params).objective
    for options in ({"iterations": -1}, {"most": 0}):
        found[f"search {options}"] = attempt(solvers.RevenueSearchParams, **options)
    return found


def accounted(problem: Any, params: Any) -> Any:
    result = solvers.astraea(problem, params=params)
    if hasattr(result, "violations"):
        return list(result.violations)
    paid = attempt(solvers.accounts, problem, result.solution, params)
    ideal = attempt(solvers.ideal_revenue, problem, result.solution, params.lam)
    return {"objective": result.objective, "paid": paid, "ideal": ideal, "info": result.info}


@entry
def accounts_as_printed(folder: Path) -> Any:
    """What users pay and get under the printed rules, which some of the accounts refuse."""
    found: dict[str, Any] = {}
    for seed in range(1):
        made = gs.formulations.reduced_problem(4 + seed, servers=4, users=2, seed=20 + seed)
        for name in ("astraea:printed", "batch-sche"):
            result = attempt(solver("irmp", name)[1], made)
            schedule = getattr(result, "solution", None)
            for literal in (True, False):
                params = solvers.AstraeaParams(literal=literal, scale=1.0)
                paid = attempt(solvers.accounts, made, schedule, params)
                found[f"{seed} {name} {literal}"] = paid
    return found


@entry
def many_markets(folder: Path) -> Any:
    found: dict[str, Any] = {}
    makes = [market(seed, users=2 + seed) for seed in range(6)]
    makes.append(gs.formulations.GpuMarket(np.array([5, 3]), np.array([[1, 2.0], [1, 5], [1, 1]])))
    for name in solvers_of("gandiva-fair"):
        found[name] = [outcome(made, "gandiva-fair", name) for made in makes]
    for price in ("second", "second-of-all", "midpoint", "seller", "buyer", "best"):
        one = makes[3]
        for k, options in enumerate(({}, {"demand": one.demand}, {"least": 0.5}, {"least": 0})):
            made = attempt(solvers.trade, one.fair().shares, one.speeds, price=price, **options)
            found[f"{price} {k}"] = made
    first = solvers.trade(makes[3].fair().shares, makes[3].speeds)
    again = solvers.trade(makes[3].fair().shares, makes[4].speeds[:5], keep=first.trades)
    found["kept"] = again
    found["changes"] = solvers.log_of_changes(first.trades, again.trades)
    return found


# --- parts ---------------------------------------------------------------------------------------


@entry
def runs_of_jobs(folder: Path) -> Any:
    """Best runs of jobs with parameter servers, on what is free."""
    found: dict[str, Any] = {}
    for seed, law in ((0, "linear"), (3, "convex")):
        problem = gs.formulations.reduced_problem(5, servers=4, users=2, utility=law, seed=seed)
        occupancy = solvers.Occupancy(problem, slots=8)
        for job in range(5):
            run = occupancy.best(job, begin=job)
            found[f"{law} {job}"] = run
            if run is not None:
                occupancy.take(run)
                found[f"{law} {job} segment"] = occupancy.run(run)
        slots = occupancy.free.shape[2]
        prices = np.linspace(1, 2, 2 * slots).reshape(2, slots) / 50
        values = np.linspace(100, 10, slots + 1)
        for job in range(5):
            for options in ({}, {"machine": False}, {"literal": True}):
                found[f"{law} {job} {options}"] = attempt(
                    solvers.best_response, problem, job, occupancy.free, prices,
                    values, begin=0, end=slots - 1, **options,
                )  # fmt: skip
            for machine in (True, False):
                found[f"{law} {job} {machine}"] = attempt(
                    solvers.zero_price_response, problem, job, occupancy.free, begin=2, limit=400,
                    machine=machine,
                )  # fmt: skip
        occupancy.give_back(occupancy.best(0))
        found[f"{law} free"] = occupancy.free.sum(axis=2)
    return found


@entry
def rounds_and_shares(folder: Path) -> Any:
    """Rounds of LTGF, fluid sharing, max-min shares, exactly."""
    found: dict[str, Any] = {}
    for seed in range(8):
        result = solvers.one_round(small_round(seed))
        found[f"round {seed}"] = result.solution, result.objective, result.bound
    for seed in range(3):
        shared = solvers.fluid_sharing(crowd(seed, "jobs")[0])
        found[f"fluid {seed}"] = {n: getattr(shared, n) for n in shared.__dataclass_fields__}
    for gpus, demands, weights in (
        (6, [1, 4, 6], [1, 1, 1]), (7, [9, 9], [1, 3]), (5, [1, 1], [1, 2]),
        (Fraction(5, 2), [1, 2, 3, 4], [4, 3, 2, 1]),
    ):  # fmt: skip
        found[f"shares {gpus}"] = solvers.max_min_shares(gpus, demands, weights)
    return found


@entry
def estimates(folder: Path) -> Any:
    """Learning curves and iteration times."""
    found: dict[str, Any] = {}
    times = solvers.IterationTimes(compute=0.3, intra=0.01, inter=0.04)
    found["seconds"] = [times.seconds(gpus, nodes) for gpus, nodes in ((1, 1), (6, 1), (6, 2))]
    found["split"] = [times.split_speed(gpus) for gpus in (1, 2, 6)]
    for values in ((0, 0.1, 0.1), (0.3, -1, 0.1), (0.3, 0.2, 0.1), ("x", 0, 0)):
        found[f"times {values}"] = attempt(solvers.IterationTimes, *values)
    found["nodes"] = attempt(times.seconds, 2, 3)
    for bounded in (True, False):
        ensemble = solvers.CurveEnsemble(30, bounded=bounded)
        curve = 0.9 - 0.6 / np.arange(1, 31) ** 0.5
        noisy = curve[:9] + 0.01 * np.sin(np.arange(9))
        for seen in (curve[:1], curve[:4], curve[:12], noisy):
            for target in (0.5, 0.75, 0.79, 0.95):
                epochs = [ensemble.epochs(seen, target, quantile=q) for q in (0.1, 0.5, 0.9)]
                found[f"{bounded} {len(seen)} {target}"] = epochs
        found[f"{bounded} distribution"] = ensemble.distribution(noisy, 0.75)
        found[f"{bounded} posterior"] = ensemble.posterior(noisy)._asdict()
    for wrong in ((0,), (2.5,), ("x",)):
        found[f"ensemble {wrong}"] = attempt(solvers.CurveEnsemble, *wrong)
    for seen, target, quantile in (([], 0.5, 0.5), ([[0.1]], 0.5, 0.5), ([0.1], 0.5, 1.5),
                                   ([float("nan")], 0.5, 0.5), ([0.1], float("inf"), 0.5),
                                   ([0.1] * 31, 0.5, 0.5)):  # fmt: skip
        found[f"{seen[:2]} {target} {quantile}"] = attempt(ensemble.epochs, seen, target, quantile)
    for options in ({"mode": "best"}, {"quantile": 1.0}, {"noise": -1.0}, {"seed": -1},
                    {"seed": 0.5}):  # fmt: skip
        found[str(options)] = attempt(solvers.DurationEstimates, **options)
    return found


@entry
def manipulation(folder: Path) -> Any:
    """The price of manipulation, and claims with other samples."""
    problem = gs.formulations.GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
    found: dict[str, Any] = {"table 3": gs.theorems.price_of_manipulation(problem, seed=1)}
    found["refused"] = attempt(gs.theorems.price_of_manipulation, problem, kinds=["none"])
    found["unknown"] = attempt(gs.theorems.price_of_manipulation, problem, mechanisms=["none"])
    return found


# --- texts and pictures --------------------------------------------------------------------------


@entry
def results(folder: Path) -> Any:
    """Results, comparisons and replays as text, their ratios, and what may not be a result."""
    found: dict[str, Any] = {}
    problem = ring_problem()
    names = [name for name in solvers_of("rar-ddls") if name != "exact"]
    chosen = {name: solver("rar-ddls", name)[1] for name in names}
    chosen["broken"] = lambda problem: 3
    chosen["raises"] = lambda problem: {}["x"]
    for bound in (None, gs.best_bound(problem, effort="full"), gs.Bound(3, "claimed")):
        compared = attempt(gs.compare, problem, chosen, bound=bound)
        if isinstance(compared, str):
            found[f"bound {bound}"] = compared
            continue
        html = compared._repr_html_()
        found[f"bound {bound}"] = {"text": str(compared).splitlines()[:1], "html": html.count("<"),
                                   "rows": compared.to_dict()["rows"]}  # fmt: skip
    result = solvers.sjf_bco(problem)
    for value, sense in ((5, "MIN"), (5, "MAX"), (0, "MIN"), (8, "MIN"), (-1, "MAX")):
        of = getattr(gs.formulations.Sense, sense)
        found[f"ratio {value} {sense}"] = [
            attempt(gs.ratio, one, gs.Bound(value, "by hand"), of) for one in (result, 8, 0, None)
        ]
    for options in ({"value": "x"}, {"method": 3}, {"certificate": 5}, {"value": float("nan")}):
        given = {"value": 1, "method": "m", "certificate": None, **options}
        found[f"Bound {options}"] = attempt(lambda g: gs.Bound(**g).value, given)
    for bound in (4, 9, 8, 8.5):
        made = attempt(
            gs.Result.of, problem, result.solution, solver="s", stop=gs.Stop.COMPLETED,
            bound=gs.Bound(bound, "by hand"),
        )  # fmt: skip
        found[f"of {bound}"] = made if isinstance(made, str) else [made.status, made.gap, made.stop]
    found["infeasible"] = attempt(
        gs.Result.of, problem, gs.Schedule.of([]), solver="s", stop=gs.Stop.COMPLETED
    )
    instance, rules = crowd(0, "deadlines")
    chosen = {name: policy(name)[1] for name in ("fifo", "genie:elastic", "chronus")}
    found["replay"] = str(gs.replay(instance, chosen, rules=solvers.Rules(**rules))).splitlines()
    found["none"] = gs.Result.of(problem, None, solver="s", stop=gs.Stop.TIME_LIMIT).status
    return found


@entry
def drawings(folder: Path, describe: Any = None) -> Any:
    """Gantt charts and overviews of each kind of schedule."""
    shown: list[Any] = []
    makes = {"rar-ddls": ring_problem(), "unisched": queue(), "irmp": revenue(),
             "gandiva-fair": market()}  # fmt: skip
    with pictures(shown, describe):
        for stem, problem in makes.items():
            names = [n for n in solvers_of(stem) if n not in ("exact", "search")][:3]
            compared = gs.compare(problem, {name: solver(stem, name)[1] for name in names})
            for figure in (gs.plots.ratio(compared), gs.plots.overview(compared, problem)):
                gs.plots.save(figure, folder / "a.svg")
        instance, rules = crowd(2, "jobs")
        for name in ("ltgf", "srtf"):
            run = gs.drive(instance, policy(name)[1], **rules)
            gs.plots.to_svg(gs.plots.gantt(run.schedule, instance.cluster))
        problem = ring_problem()
        result = solvers.sjf_bco(problem)
        cluster = problem.instance.cluster
        gs.plots.to_svg(gs.plots.gantt(result.solution, cluster, bound=result.bound))
        gs.plots.to_svg(gs.plots.gantt(gs.Schedule.of([]), cluster))
    wrong = attempt(gs.plots.save, gs.plots.gantt(gs.Schedule.of([]), cluster), folder / "a.gif")
    return {"shown": shown, "refused": wrong}


@entry
def displays(folder: Path) -> Any:
    """What is shown of a result, comparison, schedule, run and replay in a notebook."""
    found: dict[str, Any] = {}
    instance, rules = crowd(1, "models")
    chosen = {name: policy(name)[1] for name in ("srtf", "ltgf", "gandiva-fair")}
    shown = gs.replay(instance, chosen, rules=solvers.Rules(**rules))
    for name, problem in (("ring", ring_problem()), ("queue", queue()), ("market", market()),
                          ("revenue", revenue())):  # fmt: skip
        stem = {"ring": "rar-ddls", "queue": "unisched", "market": "gandiva-fair"}.get(name, "irmp")
        made = {n: solver(stem, n)[1] for n in solvers_of(stem) if n not in ("exact", "search")}
        compared = gs.compare(problem, made)
        result = next(iter(made.values()))(problem)
        for what in (problem, compared, result, result.solution):
            found[f"{name} {type(what).__name__}"] = displayed(what)
    for what in (shown, shown.rows[0].run, shown.rows[0].run.schedule, instance, instance.cluster):
        found[f"jobs {type(what).__name__}"] = displayed(what)
    return found


def displayed(what: Any) -> Any:
    html = attempt(lambda: what._repr_html_())
    return {"text": tidy(str(what)), "html": page(html)["lines"]}


@entry
def looks_of_drawings(folder: Path) -> Any:
    """The same as they look: lines, sizes, places."""
    return drawings(folder, drawing)["shown"]


@entry
def rolling_horizons(folder: Path) -> Any:
    found: dict[str, Any] = {}
    instance, rules = crowd(1, "jobs")
    for name in ("rolling-horizon", "rolling-horizon:ltgf"):
        made = policy(name)[1]
        run = gs.drive(instance, made, **rules)
        found[name] = [run.digest()[:10], repr(made).partition("(")[0], run.log]
    found["gangs"] = [
        attempt(gs.drive, gangs(4), policy(name)[1], round_length=1, lease=3, overhead=0).digest()
        for name in ("rolling-horizon", "rolling-horizon:ltgf")
    ]
    for options in ({"window": 0}, {"step": 0}, {"work_limit": 0}, {"wall_limit": -1.0},
                    {"preempts": 5}):  # fmt: skip
        given: dict[str, Any] = {"window": 600, "step": 60, **options}
        found[str(options)] = attempt(gs.RollingHorizon, str, str, **given)
    return found
