"""Parts of algorithms, claims, pictures and proofs on many small cases, by check sums."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import fields, is_dataclass
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import gangsched as gs
from gangsched.registry import PROBLEMS, policy, solver

from .bounds import small_round
from .digests import wide
from .figures import DATA, restored
from .instances import market, queue
from .parts import Own
from .plain import cli, described, drawing, page, pictures
from .policies import crowd, leaves, other, put
from .table import attempt, named, places
from .wide import LONGEST, throng

# --- claims and figures --------------------------------------------------------------------------


@wide
def wide_claims(folder: Path) -> Any:
    """Cases of each claim with both sides, how a claim is told, and what its mutant gives."""
    found: dict[str, Any] = {}
    for name, claim in gs.theorems.CLAIMS.items():
        rng = np.random.default_rng([43, crc32(name.encode())])
        cases = {**claim.counterexamples, **{str(k): partial(claim.draw, rng) for k in range(14)}}
        for of, make in cases.items():
            case = attempt(make)
            compared = attempt(claim.check, case)
            said = [attempt(str, case), compared]
            if compared is not None and not isinstance(compared, str):
                if name == "nash-fair-share":
                    said = [compared.relation]
                else:
                    names = ("holds", "strict", "tightness")
                    said += [attempt(getattr, compared, one, None) for one in names]
            found[f"{name} {of}"] = said
    return found


@wide
def wide_studies(folder: Path) -> Any:
    """The figures of the documentation as reports, with their tables."""
    found: dict[str, Any] = {}
    write = named("write_study_report")
    for name in list(gs.reproduce.TARGETS)[::3]:
        known = json.loads((DATA / f"{name.replace(':', '-')}.json").read_text("utf-8"))
        study = restored(name, known)
        path = folder / "study.html"
        with pictures([]):
            said = attempt(write, path, study)
        if said is None:
            text = path.read_text("utf-8")
            found[f"{name} report"] = [page(text), views_of(text)]
    return found


def views_of(text: str) -> list[str]:
    """The numbers of a page's charts."""
    return [line for line in text.splitlines() if "application/json" in line or '"series"' in line]


@wide
def wide_pictures(folder: Path) -> Any:
    """Every picture of runs, ledgers, revenues and frontiers."""
    found: dict[str, Any] = {}
    run_plots = named("completion_cdf").__globals__
    for seed in range(5):
        kind = ("jobs", "models", "deadlines", "jobs", "models")[seed]
        instance, rules = throng(seed, kind)
        names = ["fifo", "srtf", "ltgf", "gandiva-fair"][: 1 + seed]
        runs = {name: gs.drive(instance, policy(name)[1], **rules, until=LONGEST) for name in names}
        for what in ("completion_cdf", "slowdown_cdf", "user_fairness", "cluster_use",
                     "model_shares", "deadlines", "overview"):  # fmt: skip
            made = attempt(run_plots[what], runs)
            look = (
                described if what == "user_fairness" else drawing
            )  # an image has names of its own
            found[f"{what} {seed}"] = made if isinstance(made, str) else look(made)
        made = attempt(run_plots["nodes"], names[0], runs[names[0]], runs[names[0]].now)
        found[f"nodes {seed}"] = made if isinstance(made, str) else drawing(made)
        known = gs.solvers.Rules(**rules)
        ledgers = gs.replay(instance, names, rules=known, ledger=seed == 3).ledgers
        told = [one for one in ledgers.values() if not isinstance(one, str)]
        if told:
            found[f"losses {seed}"] = drawing(run_plots["losses"](told))
            found[f"ledgers {seed}"] = [one.to_dict() for one in told]
    for k, revenue in enumerate(({"a": 3.0}, {"a": 10.0, "b longer name": 250.5, "c": 0.0})):
        for bound in (None, 300.0):
            made = attempt(run_plots["earnings"], revenue, bound=bound)
            found[f"earnings {k} {bound}"] = made if isinstance(made, str) else drawing(made)
    return found


@wide
def wide_frontiers(folder: Path) -> Any:
    """Mean completion against the worst user."""
    found: dict[str, Any] = {}
    make, plot = named("sharing_frontier"), named("frontier_plot")
    for seed in (1, 2, 3, 5):
        instance, _ = throng(seed, "jobs")
        for reading in ("sharing", "wait", "stretch"):
            made = attempt(make, instance, reading, limits=3, orders=4, rounds=20)
            place = f"{reading} {seed}"
            if isinstance(made, str):
                found[place] = made
                continue
            found[place] = [made.schedules, made.worst.value, attempt(lambda f: f.brackets(), made)]
            for ratio in (0.9, 1.0, 1.2, 2.0):
                found[f"{place} least {ratio}"] = attempt(made.least_flow, ratio)
            points = {"fifo": (1.5, 9000), "b": (1.1, 12000)}
            drawn = attempt(plot, made, points)
            found[f"{place} picture"] = drawn if isinstance(drawn, str) else drawing(drawn)
    for limits in (1, True, 2.5):
        found[f"limits {limits}"] = attempt(make, throng(1, "jobs")[0], limits=limits)
    return found


# --- audits and proofs ---------------------------------------------------------------------------


def log_rows(rng: Any, jobs: int) -> list[list[Any]]:
    """Rows with starts and ends, most of which are right."""
    rows = []
    for i in range(jobs):
        submit = int(rng.integers(0, 4000))
        start = submit + int(rng.choice([0, 0, 30, 3600, -5]))
        work = int(rng.choice([60, 600, 3600, 5000]))
        rows.append(
            [
                f"j{i}",
                "abc"[int(rng.integers(3))],
                int(rng.choice([1, 1, 2, 4, 8, 9])),
                submit,
                start,
                start + work,
                int(rng.choice([work, work, work + 3600])),
            ]
        )
    return rows  # fmt: skip


@wide
def wide_audits(folder: Path) -> Any:
    """Logs with contradictions, and proofs that were changed."""
    found: dict[str, Any] = {}
    verify = named("verify_finding")
    path = folder / "log.csv"
    for seed in range(14):
        rng = np.random.default_rng([47, seed])
        rows = log_rows(rng, 8 + 2 * seed)
        text = io.StringIO()
        head = ["id", "user", "gpus", "submit", "start", "end"]
        csv.writer(text).writerows([head, *(row[:6] for row in rows)])
        path.write_text(text.getvalue(), "utf-8")
        log = attempt(gs.traces.read_csv, path)
        if isinstance(log, str):
            found[f"log {seed}"] = log
            continue
        cluster = gs.Cluster.of_sizes([[8], [4, 4], [8, 8], [2, 2, 2]][seed % 4])
        quotas = [None, {"a": 4, "b": 6}, {"a": 2, "b": 30, "c": 3}][seed % 3]
        for window in (1, 3600, 86_400):
            given: dict[str, Any] = {"quotas": quotas, "window": window}
            made = attempt(gs.audit, log, cluster if seed % 5 else None, **given)
            found[f"{seed} {window}"] = made if isinstance(made, str) else [
                str(made).splitlines(), made.to_dict(),
                attempt(lambda a: a.to_frame().to_dict(), made),
            ]  # fmt: skip
        for k, finding in enumerate(() if isinstance(made, str) else made.findings):
            proof = json.loads(json.dumps(finding.proof, default=dict)) if finding.proof else None
            found[f"{seed} {k}"] = attempt(verify, proof, log, cluster, quotas)
            for place in leaves(proof) if proof else ():
                for what, change in (("other", other), ("less", less), ("nothing", nothing),
                                     ("text", str), ("twice", twice)):  # fmt: skip
                    changed = put(proof, place, change)
                    said = attempt(verify, changed, log, cluster, quotas)
                    found[f"{seed} {k} {place} {what}"] = said
            for rule in ("cluster", "model", "quota", "start", "end", "run", "deadline", "overload",
                         "in use", "skipped"):  # fmt: skip
                if proof and "jobs" in proof:
                    said = attempt(verify, {**proof, "rule": rule}, log, cluster, quotas)
                    found[f"{seed} {k} as {rule}"] = said
        path.write_text(text.getvalue(), "utf-8")
    return found


def less(value: Any) -> Any:
    return value - 1 if isinstance(value, int | float) else value


def twice(value: Any) -> Any:
    return [value, value]


def nothing(value: Any) -> Any:
    return None


def packing(seed: int) -> Any:
    """Few jobs on few GPUs, without contention or with it."""
    rng = np.random.default_rng([53, seed])
    sizes = rng.choice([1, 2, 4], int(rng.integers(1, 4))).tolist()
    jobs = [
        gs.RingJob(
            id=f"j{i}", gpus=int(rng.integers(1, min(4, sum(sizes)) + 1)),
            iterations=int(rng.integers(1, 13)),
            gradient=0 if seed % 2 else float(rng.choice([0.05, 0.15])), base_time=0.7,
        )
        for i in range(int(rng.integers(1, 9)))
    ]  # fmt: skip
    return gs.formulations.RarDdls(
        gs.Instance(gs.Cluster.of_sizes(sizes), jobs), xi1=1, xi2=0.005, alpha=0.5
    )


@wide
def wide_proofs(folder: Path) -> Any:
    """Bounds of the makespan one by one, and their files for others' checkers."""
    found: dict[str, Any] = {}
    write = named("vipr_proof")
    for seed in range(14):
        problem = packing(seed)
        for name in ("area_bound", "dff_bound", "configuration_bound", "search_bound",
                     "contention_bound"):  # fmt: skip
            bound = attempt(named(name, "problem"), problem)
            found[f"{name} {seed}"] = [bound, attempt(gs.verify_bound, problem, bound)]
            found[f"{name} {seed} file"] = attempt(write, problem, bound)
    for seed in range(5):
        problem = queue(jobs=5 + seed, nodes=2 + seed % 2, size=4, seed=30 + seed)
        for effort in ("quick", "full"):
            bound = attempt(gs.bound, problem, effort=effort)
            found[f"leases {seed} {effort} file"] = attempt(write, problem, bound)
        for name in ("one_price_bound", "lease_price_bound"):
            found[f"{name} {seed}"] = attempt(named(name, "problem"), problem)
    return found


# --- models --------------------------------------------------------------------------------------


def tiny_ring(seed: int) -> Any:
    """Two to four jobs on which contention matters."""
    rng = np.random.default_rng([59, seed])
    sizes = [[2, 2, 2], [1, 2], [2, 3], [2, 2]][seed % 4]
    jobs = [
        gs.RingJob(
            id=f"j{i}", gpus=int(rng.integers(1, 4)), iterations=int(rng.integers(4, 10)),
            gradient=float(rng.choice([0.05, 0.1, 0.15])),
            base_time=float(rng.choice([0.01, 0.05, 0.1])),
        )
        for i in range(2 + seed % 3)
    ]  # fmt: skip
    alpha = float(rng.choice([0.2, 0.5, 1]))
    return gs.formulations.RarDdls(
        gs.Instance(gs.Cluster.of_sizes(sizes), jobs), xi1=1, xi2=0.005, alpha=alpha
    )


@wide
def wide_slots(folder: Path) -> Any:
    """Programs of slots, and what is found with them."""
    found: dict[str, Any] = {}
    make = named("slot_model")
    for seed in range(12):
        problem = tiny_ring(seed)
        hint = gs.solvers.laminar(problem).solution
        for contention in (True, False):
            for horizon in (6, 9):
                model = attempt(
                    make, problem, horizon=horizon, least=1 + seed % 3, contention=contention,
                    hint=hint if horizon > 6 else None,
                )  # fmt: skip
                place = f"{seed} {contention} {horizon}"
                found[place] = model if isinstance(model, str) else model.program.data
        if seed < 6:
            search = named("CpSearch")(problem, None, 0, named("History")(0.0))
            said = attempt(search.run)
            steps = [step["status"] for step in search.steps]
            end = search.solution and problem.objective(search.solution)
            found[f"{seed} searched"] = [end, search.least, search.stop, steps, said]
    return found


@wide
def wide_placements(folder: Path) -> Any:
    """Runs of jobs with parameter servers by classes of nodes, which are put on nodes."""
    found: dict[str, Any] = {}
    choice, place, classes = named("Choice"), named("place", "choices"), named("Classes")
    for seed in range(16):
        rng = np.random.default_rng([61, seed])
        problem = gs.formulations.reduced_problem(
            3 + seed % 3, servers=3 + seed % 3, users=1 + seed % 2, seed=70 + seed
        )
        of = classes.of(problem)
        runs = []
        for k in range(3 + seed % 4):
            job, start = k % len(problem.jobs), int(rng.integers(0, 6))
            central = bool(rng.random() < 0.5)
            gang = problem.jobs[job].gpus
            host = int(rng.integers(len(of)))
            workers = np.zeros(len(of), dtype=int)
            if central:
                workers[host] = gang
            else:
                for _ in range(gang):
                    workers[int(rng.integers(len(of)))] += 1
            runs.append(choice(job, start, start + int(rng.integers(1, 5)), float(rng.random()),
                               host, central, tuple(workers.tolist()), 1))  # fmt: skip
        found[f"{seed}"] = attempt(place, problem, of, runs, math.inf)
        found[f"{seed} order"] = [
            [attempt(one.needs_no_less, two) for two in runs] for one in runs
        ]  # fmt: skip
    return found


def gangs_of_two(seed: int) -> Any:
    """Three or four gangs on nodes that hold one each, so that what fits by classes does not."""
    rng = np.random.default_rng([79, seed])
    jobs = [
        gs.instances.ParameterServerJob(
            id=f"j{k}", gpus=2, epochs=2, minibatches=1, rates=(1, 0.1), release=k * (seed % 2),
            user="ab"[k % 2],
            utility=gs.instances.Linear(-1 - seed % 3, int(rng.integers(20, 40))),
        )
        for k in range(3 + seed % 2)
    ]  # fmt: skip
    cluster = gs.Cluster([gs.Node(f"s{k}", 3, ps=1 + seed % 3) for k in range(2)])
    users = [gs.User("a"), gs.User("b")]
    return gs.formulations.Irmp(
        gs.Instance(cluster, jobs, users), owners=("a", "b"), horizon=2 + seed, optional=seed != 4
    )


@wide
def wide_cuts(folder: Path) -> Any:
    """Exact optima of revenue that need more than one placement."""
    found: dict[str, Any] = {}
    for seed in range(6):
        problem = gangs_of_two(seed)
        result = attempt(gs.solvers.irmp_exact, problem)
        found[f"{seed}"] = result if isinstance(result, str) else [
            result.objective, result.bound and result.bound.value, result.status, result.info
        ]  # fmt: skip
    return found


WRONG: tuple[Any, ...] = (-1, 0, 2.5, True, "x", math.nan, math.inf, None, [1, "x"], (0, -1), {})


@wide
def wide_refusals(folder: Path) -> Any:
    """Wrong values of everything that has defaults, and solvers and bounds of other problems."""
    found: dict[str, Any] = {}
    for name, things in sorted(places().items()):
        for kind in things:
            if not is_dataclass(kind) or not isinstance(kind, type) or name[0] == "_":
                continue
            if isinstance(attempt(kind), str):
                continue
            found[f"{name}"] = attempt(repr, kind())
            for part in fields(kind):
                said = [attempt(kind, **{part.name: wrong}) for wrong in WRONG]
                found[f"{name}.{part.name}"] = [str(one) for one in said]
    tiny = {stem: row.tiny() for stem, row in PROBLEMS.items()}
    for stem, row in PROBLEMS.items():
        for other_stem, problem in tiny.items():
            if other_stem != stem:
                found[f"{stem} of {other_stem}"] = [
                    attempt(solver(stem, one)[1], problem) for one in row.solvers
                ]
        for limit in (-1, 0, "x"):
            found[f"{stem} {limit}"] = [
                attempt(solver(stem, one)[1], tiny[stem], time_limit=limit) for one in row.solvers
            ]
        for seed in (-1, 2.5, "x"):
            found[f"{stem} seed {seed}"] = [
                attempt(lambda f, p, s: f(p, seed=s).objective, solver(stem, one)[1], tiny[stem],
                        seed)
                for one in row.solvers
            ]  # fmt: skip
    return found


@wide
def wide_defaults(folder: Path) -> Any:
    """The defaults of public functions and methods."""
    found: dict[str, Any] = {}
    for module in (gs, gs.solvers, gs.formulations, gs.plots, gs.theorems, gs.reproduce):
        for name in sorted(dir(module)):
            thing = getattr(module, name)
            if name[0] == "_" or not callable(thing):
                continue
            parts = vars(thing) if isinstance(thing, type) else {name: thing}
            known = {k: defaults(part) for k, part in sorted(parts.items()) if k[0] != "_"}
            if any(known.values()):
                found[f"{module.__name__}.{name}"] = {k: v for k, v in known.items() if v}
    return found


def defaults(function: Any) -> dict[str, str]:
    """The defaults of whatever has some."""
    taken = attempt(lambda: signature(function).parameters)
    if isinstance(taken, str):
        return {}
    known = {name: one.default for name, one in taken.items() if one.default is not one.empty}
    return {name: repr(value) for name, value in known.items() if " at 0x" not in repr(value)}


@wide
def wide_shares(folder: Path) -> Any:
    """Stride, lotteries, tickets, trades, fractions of models and water filling."""
    found: dict[str, Any] = {}
    for seed in range(20):
        rng = np.random.default_rng([67, seed])
        n, gpus = 2 + seed % 5, int(rng.integers(2, 17))
        gangs = rng.choice([1, 1, 2, 3, 4, 8], n).tolist()
        weights = rng.choice([1.0, 1.0, 2.0, 0.5, 1 / 3], n).tolist()
        passes, strides = rng.integers(0, 9, n).astype(float).tolist(), [1 / w for w in weights]
        for cap in (True, False):
            found[f"gang stride {seed} {cap}"] = [
                attempt(named("gang_aware_stride"), passes, strides, gangs, gpus, debt_cap=cap),
                passes,
            ]
        found[f"quantum {seed}"] = attempt(
            named("stride_quantum"), passes, strides, (lambda k: k % 2 == 1), part=0.5
        )
        found[f"tickets {seed}"] = named("effective_tickets")(weights, gangs, gpus)
        ints = [int(6 * w) for w in weights]
        found[f"lottery {seed}"] = [
            attempt(named("lottery_backfill_quantum"), weights, gangs, gpus, rng),
            attempt(named("lottery_backfill_shares"), ints, gangs, gpus),
        ]
        found[f"loaded {seed}"] = attempt(
            named("least_loaded"), gangs[0], weights, [2] * n, [4] * n
        )
        found[f"filling {seed}"] = attempt(named("water_filling"), gangs, gpus, weights)
        work = rng.uniform(10, 99, n)
        since = rng.uniform(0, 50, n) * (seed % 3 > 0)
        found[f"finish {seed}"] = attempt(
            named("best_finish_time"), np.array(gangs), gpus, work, since, work + since / 2
        )
        rates = rng.uniform(0.5, 4, (n, 3)) * (rng.random((n, 3)) < 0.8) + 0.1
        room = rng.integers(4, 9, 3)
        ints = np.array(gangs).clip(max=4)
        for name, more in (
            ("least_duration", (work,)), ("fairest_finish", (work, since, work / 2 + since)),
        ):  # fmt: skip
            found[f"{name} {seed}"] = six(attempt(named(name), rates, ints, room, *more))
        given = ints, int(room[0]), work, since, work + since
        found[f"one model {seed}"] = six(attempt(named("one_model_fractions"), *given))
        money = market(seed + 20, users=n)
        for price in ("second", "second-of-all", "midpoint"):
            found[f"trade {price} {seed}"] = gs.solvers.trade(
                money.fair().shares, money.speeds, price=price
            )
        found[f"round {seed}"] = attempt(gs.solvers.one_round, small_round(seed + 10)).solution
        attained = rng.integers(1, 99, n).tolist()
        found[f"jain {seed}"] = [named("jain")(attained), named("share_below")(attained, 50)]
    return found


def six(found: Any) -> Any:
    """What a linear program gives, by six digits."""
    if isinstance(found, tuple):
        return [six(part) for part in found]
    if isinstance(found, np.ndarray | float):
        return [float(f"{x:.6g}") for x in np.ravel(found).tolist()]
    return found


@wide
def wide_pools(folder: Path) -> Any:
    """Stride on servers, whose debts are cut, and which is saved on its way and goes on."""
    found: dict[str, Any] = {}
    for seed in range(8):
        sizes = [[4, 4, 2], [8, 8], [2, 2, 2, 2]][seed % 3]
        for kind in ("StridePool", "ReferencePool"):
            pool = named(kind)(sizes, 3, debt_cap=seed % 4 > 1)
            for job in range(8):
                gang = int(np.random.default_rng([83, seed, job]).choice([1, 1, 2, sizes[0] + 1]))
                servers = (0, 1) if gang > sizes[0] else (job % len(sizes),)
                pool.add(job, gang, job % 3, servers, job)
            ran = [sorted(pool.quantum([1.0, 2.0, 0.5])) for _ in range(6 + seed)]
            ran.append(attempt(pool.forgive, [0.2, 1.0, 3.0]))
            ran += [sorted(pool.quantum([0.2, 1.0, 3.0])) for _ in range(5)]
            found[f"{kind} {seed}"] = [ran, pool.passes()]
            if kind == "StridePool":
                again = named(kind)(sizes, 3, debt_cap=seed % 4 > 1)
                again.load(json.loads(json.dumps(plain_pool(pool.save()))))
                went_on = [sorted(again.quantum([1.0, 2.0, 0.5])) for _ in range(6)]
                found[f"{kind} {seed} loaded"] = [went_on, again.passes()]
    return found


def plain_pool(data: Any) -> Any:
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in data.items()}


@wide
def wide_empty(folder: Path) -> Any:
    """Measures of schedules that are empty, and of the first run alone."""
    found: dict[str, Any] = {}
    problem = gangs_of_two(0)
    whole = gs.solvers.irmp_exact(problem).solution
    for what, schedule in (("none", gs.Schedule.of([])), ("one", gs.Schedule.of([whole[0]]))):
        for name in ("gains", "revenue_fairness", "fairness_variance", "revenue_without_losses"):
            found[f"{what} {name}"] = attempt(named(name), problem, schedule)
        found[f"{what} makespan"] = attempt(named("makespan", "schedule"), schedule)
        found[f"{what} use"] = attempt(named("utilisation", "schedule"), problem, schedule)
        found[f"{what} worth"] = [problem.objective(schedule), problem.violations(schedule)]
    return found


@wide
def wide_decisions(folder: Path) -> Any:
    """Jobs in decisions that are in no state for it."""
    found: dict[str, Any] = {}
    decision = gs.solvers.Decision
    for name, make in {
        "order running": lambda s: decision(order=[*s.waiting, *s.running]),
        "order all": lambda s: decision(order=list(range(12))),
        "pass running": lambda s: decision(order=s.waiting, passed=s.running[:1]),
        "suspend waiting": lambda s: decision(suspend=s.waiting[:1]),
        "kill waiting": lambda s: decision(kill=s.waiting[:1]),
        "start running": lambda s: decision(
            order=s.waiting, start=[gs.solvers.Start(int(j), {0: 1}) for j in s.running[:1]]
        ),
    }.items():
        for kind in ("jobs", "models", "deadlines"):
            for preempts in gs.solvers.Preempts:
                instance, rules = crowd(0, kind)
                own = Own(name, preempts, make)
                run = attempt(gs.drive, instance, own, **rules, until=2400)
                found[f"{name} {kind} {preempts.name}"] = (
                    run if isinstance(run, str) else [run.now, run.digest()[:10]]
                )
    return found


@wide
def wide_curves(folder: Path) -> Any:
    """Learning curves and what is estimated from them."""
    found: dict[str, Any] = {}
    for seed in range(10):
        rng = np.random.default_rng([71, seed])
        curve = attempt(named("synthetic_curve"), rng, 30)
        found[f"curve {seed}"] = curve if isinstance(curve, str) else list(curve)
        epochs = 6 + 3 * seed
        seen = np.sort(rng.uniform(0.1, 0.9, 1 + seed)).tolist()
        for bounded in (True, False):
            ensemble = gs.solvers.CurveEnsemble(max(epochs, 12), bounded=bounded)
            found[f"ensemble {seed} {bounded}"] = [
                attempt(ensemble.epochs, seen, target, quantile=q)
                for target in (0.3, 0.7, 0.95) for q in (0.05, 0.5)
            ]  # fmt: skip
        for mode in ("maximum", "ensemble", "estimator", "known"):
            for noise in (0.0, 0.3):
                made = attempt(gs.solvers.DurationEstimates, mode=mode, noise=noise, seed=seed)
                found[f"estimates {mode} {noise} {seed}"] = str(made)
        found[f"prior {epochs}"] = attempt(named("epochs_prior"), epochs)
        found[f"stopping {seed}"] = attempt(named("stopping_distribution"), seen, 0.7, epochs)
    return found


@wide
def wide_commands(folder: Path) -> Any:
    """Commands on drawn logs, by all that they print and write."""
    found: dict[str, Any] = {}
    path = folder / "log.csv"
    for seed in range(4):
        rng = np.random.default_rng([73, seed])
        rows = [["id", "user", "gpus", "submit", "start", "end"]]
        for row in log_rows(rng, 14):
            rows.append([*row[:4], max(row[3:5]), max(row[3:5]) + row[6]])
        path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n", "utf-8")
        where = path, "--reader", "csv", "--nodes", 2, "--gpus-per-node", 16
        for name, args in {
            "replay": ("replay", *where, "--policies", "recorded,ltgf,srtf", "--explain",
                       "--report", folder / "a.html", "--waits"),
            "replay standard": ("replay", *where, "--policies", "easy,las", "--effort", "standard",
                                "--no-report", "--ledger"),
            "audit": ("audit", path, "--reader", "csv", "--nodes", 1, "--gpus-per-node", 8),
            "describe": ("describe", path, "--reader", "csv", "--report", folder / "b.html"),
            "doctor": ("doctor", "--help"),
        }.items():  # fmt: skip
            shown: list[Any] = []
            with pictures(shown, drawing):
                found[f"{name} {seed}"] = [cli(*args), shown]
            for file in ("a.html", "b.html"):
                if (folder / file).exists():
                    text = (folder / file).read_text("utf-8")
                    found[f"{name} {seed} {file}"] = page(text)
                    (folder / file).unlink()
    return found
