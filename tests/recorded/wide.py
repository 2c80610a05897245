"""Every policy, solver, bound and measure on many small instances, by check sums."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.registry import POLICIES, PROBLEMS, policy, solver

from .bounds import said, tampered, verified
from .digests import wide
from .instances import market
from .plain import timeless
from .policies import crowd
from .table import attempt, named, policies

# --- instances -----------------------------------------------------------------------------------

SIZES: tuple[list[int], ...] = (
    [8], [4, 4], [1, 2, 4, 8], [8, 8, 8], [3, 5], [2] * 6, [16, 8], [4, 4, 4, 4], [1], [6, 6, 2],
)  # fmt: skip
MODELS: tuple[list[str], ...] = (["v100", "p40", "k80"], ["k80", "p40"], ["v100"])


def throng(seed: int, kind: str) -> tuple[Any, dict[str, Any]]:
    """Jobs many of which are alike or come at once, on clusters of many shapes, and rules."""
    rng = np.random.default_rng([41, seed])
    sizes = SIZES[seed % len(SIZES)]
    models = MODELS[seed % 3] if kind == "models" else [""]
    if kind == "models" and len(sizes) < len(models):
        sizes = sizes * len(models)
    nodes = [gs.Node(f"n{k}", n, models[k % len(models)]) for k, n in enumerate(sizes)]
    gpus = sum(sizes)
    quotas = [gpus // 2, gpus - gpus // 2] if seed % 4 == 3 else [None, None, None, None]
    users = [
        gs.User(f"u{k}", float(weight), gpus=quota)
        for k, (weight, quota) in enumerate(zip((1, 2, 0.5, 1), quotas, strict=False))
    ][: 1 + seed % 4 if seed % 4 != 3 else 2]
    gangs = [g for g in (1, 1, 2, 2, 4, 8, 3, 16) if g <= max(max(sizes), gpus // 2)]
    jobs = [a_job(k, rng, kind, gangs, users, models) for k in range(6 + 3 * (seed % 6))]
    rules = {
        "round_length": [60, 10, 30, 7][seed % 4], "lease": [120, 300, 90, 61, 600][seed % 5],
        "overhead": [25, 0, 20, 59, 7][seed % 5], "synchronous": seed % 3 != 1,
        "spread": seed % 5 in (1, 3), "migration": [None, 5, None, 28][seed % 4],
        "patience": [None, 120, 600, 0, 60][seed // 2 % 5],
    }  # fmt: skip
    return gs.Instance(gs.Cluster(nodes), jobs, users), rules


def a_job(
    k: int, rng: Any, kind: str, gangs: list[int], users: list[Any], models: list[str]
) -> Any:
    """A job of the kind, with a few round numbers and a few others."""
    work = int(rng.choice([60, 120, 300, int(rng.integers(1, 2000))]))
    given: dict[str, Any] = {
        "id": f"j{k}", "gpus": int(rng.choice(gangs)), "work": work,
        "release": int(rng.choice([0, 0, 60, 120, int(rng.integers(0, 1500))])),
        "user": users[int(rng.integers(len(users)))].id,
    }  # fmt: skip
    if kind == "jobs":
        return gs.Job(**given, weight=float(rng.choice([1, 1, 2.5])))
    if kind == "models":
        slow = {model: float(rng.choice([0.5, 1, 1.5, 3, 10 / 3])) for model in models}
        speeds = [slow, slow, {}, dict(list(slow.items())[:1])][int(rng.integers(4))]
        return gs.Job(**given, speeds=speeds)
    first = int(work * rng.uniform(0.8, 2.5)) + int(rng.choice([1, 200, 1200]))
    rewards = [(first, 100.0), (int(first * 1.2) + 1, 80.0), (2 * first + 2, 20.0)]
    given |= {
        "rewards": rewards[: int(rng.integers(0, 4))],
        "split_speed": float(rng.choice([1, 0.8, 0.5])), "scaling": float(rng.choice([0.05, 0.4])),
        "preemption_cost": [None, 0, 30][int(rng.integers(3))],
    }  # fmt: skip
    if k % 4 == 1:
        curve = np.sort(rng.uniform(0.1, 0.9, int(rng.integers(3, 9)))).tolist()
        given["stopping"] = gs.TargetMetric(curve[-1], len(curve) + 2, curve)
    return gs.DeadlineJob(**given)


# --- policies ------------------------------------------------------------------------------------

LONGEST = 20_000  #: seconds: there are leases so short that a policy never ends
SLOW = ("rolling-horizon", "rolling-horizon:ltgf")
SETTINGS = ("profiled", "profiled-chronus", "estimated", "overestimated", "profiled-dedicated-1")


def told(name: str, seed: int, kind: str, **how: Any) -> Any:
    """How a run ends, its digest, and what it counts."""
    instance, rules = throng(seed, kind)
    rules |= {"until": LONGEST, **how}
    run = attempt(gs.drive, instance, policy(name, seed=seed)[1], **rules)
    if isinstance(run, str):
        return run
    return [run.now, run.digest()[:10], run.stop, dict(run.rejected), run.parameters, run.log]


def throngs(kind: str, seeds: range) -> dict[str, Any]:
    """Every policy on every instance; where it is fast also as it would go without short cuts."""
    found: dict[str, Any] = {}
    for name in policies():
        for seed in seeds[:1] if name in SLOW else seeds:
            found[f"{name} {seed}"] = told(name, seed, kind)
    return found


@wide
def wide_jobs(folder: Path) -> Any:
    return throngs("jobs", range(10))


@wide
def wide_models(folder: Path) -> Any:
    return throngs("models", range(8))


@wide
def wide_deadlines(folder: Path) -> Any:
    return throngs("deadlines", range(6))


@wide
def wide_reference(folder: Path) -> Any:
    """The driver that can be read, and the one that visits every round."""
    found: dict[str, Any] = {}
    for k, name in enumerate(name for name in policies() if name not in SLOW):
        for kind in ("jobs", "models", "deadlines"):
            for seed in (k % 5, 5 + k % 3):
                how = {"engine": "reference"} if seed < 5 else {"skip": False}
                found[f"{name} {kind} {seed}"] = told(name, seed, kind, **how)
    return found


@wide
def wide_settings(folder: Path) -> Any:
    """Policies that are told run times, with what they may learn instead."""
    found: dict[str, Any] = {}
    names = [name for name in policies() if ":" not in name and name not in SLOW]
    for k, name in enumerate(names):
        for setting in SETTINGS:
            for seed, kind in ((k % 6, "jobs"), (6 + k % 2, "deadlines")):
                made = attempt(policy, f"{name}:{setting}", seed=seed)
                if isinstance(made, str):
                    found[f"{name}:{setting}"] = made
                    continue
                found[f"{name}:{setting} {kind}"] = told(f"{name}:{setting}", seed, kind)
    return found


@wide
def wide_halves(folder: Path) -> Any:
    """Runs that stop on their way, and go on from there."""
    found: dict[str, Any] = {}
    for k, name in enumerate(name for name in policies() if name not in SLOW):
        for kind in ("jobs", "models", "deadlines"):
            instance, rules = throng(k % 10, kind)
            part = attempt(gs.drive, instance, policy(name)[1], **rules, until=200 + 37 * k)
            if isinstance(part, str):
                found[f"{name} {kind}"] = part
                continue
            whole = gs.drive(instance, policy(name)[1], **rules, until=LONGEST,
                             resume=part.checkpoint)  # fmt: skip
            found[f"{name} {kind}"] = [whole.now, part.digest()[:10], whole.digest()[:10]]
            gs.io.save(folder / "run.json", part)
            again = gs.io.load(folder / "run.json")
            found[f"{name} {kind} in a file"] = again == part
    return found


# --- measures ------------------------------------------------------------------------------------

MEASURED = ("fifo", "srtf", "ltgf", "gandiva-fair", "unisched", "hived", "themis", "genie:elastic",
            "chronus", "allox")  # fmt: skip
OF_A_RUN = (
    "attained_time", "busy_time", "completion_time", "fair_time", "ideal_time", "is_elastic",
    "makespan", "objectives", "preemptions", "profiling_wait", "renewals", "rho", "service_time",
    "slowdown", "utilisation", "wait_time", "wanted_time", "user_attained_time", "user_rho",
    "user_work", "user_work_rho", "rewards", "weighted_miss", "best_effort_latency",
    "deadline_summary", "summary", "idle_while_waiting", "model_usage", "waiting_times",
    "longest_waits", "user_columns", "able_speeds", "weighted_flow",
)  # fmt: skip


@wide
def wide_measures(folder: Path) -> Any:
    """Every measure of runs, whole and in part."""
    found: dict[str, Any] = {}
    for k, name in enumerate(MEASURED):
        for kind in ("jobs", "models", "deadlines"):
            for seed in (k, k + 3):
                instance, rules = throng(seed, kind)
                whole = attempt(gs.drive, instance, policy(name)[1], **rules, until=LONGEST)
                if isinstance(whole, str):
                    continue
                part = gs.drive(instance, policy(name)[1], **rules, until=whole.now // 2)
                for what, run in (("whole", whole), ("part", part)):
                    for measure in OF_A_RUN:
                        found[f"{name} {kind} {seed} {what} {measure}"] = attempt(
                            named(measure, "run"), run
                        )
                    for by in ("demand", "quota"):
                        found[f"{name} {kind} {seed} {what} by {by}"] = [
                            attempt(named("user_rho", "run"), run, by),
                            attempt(named("window_rho", "run"), run, 100, by),
                            attempt(named("window_rho", "run"), run, 3600, by),
                            attempt(named("user_fair_time", "run"), run, [60, 500, 10**6], by),
                        ]
    return found


@wide
def wide_replays(folder: Path) -> Any:
    """All that a replay says: columns, bounds, best known, fairness, losses, waits, words."""
    found: dict[str, Any] = {}
    for seed in range(8):
        for kind in ("jobs", "models", "deadlines"):
            instance, rules = throng(seed, kind)
            chosen = ["srtf", "ltgf", MEASURED[seed], "tiresias-l"]
            for effort in ("quick", "standard") if seed < 4 else ("quick",):
                shown = attempt(
                    gs.replay, instance, list(dict.fromkeys(chosen)), effort=effort,
                    rules=gs.solvers.Rules(**rules), ledger=seed % 2 == 0 and effort == "quick",
                )  # fmt: skip
                place = f"{kind} {seed} {effort}"
                if isinstance(shown, str):
                    found[place] = shown
                    continue
                data = shown.to_dict()
                rows = data.pop("rows")
                found |= {f"{place} {key}": value for key, value in data.items()}
                for row in rows:
                    found[f"{place} row {row['name']}"] = row
                found[f"{place} text"] = timeless(str(shown))
                found[f"{place} frame"] = attempt(lambda one: one.to_frame().to_dict(), shown)
    return found


# --- problems ------------------------------------------------------------------------------------


def problems(name: str, seeds: range) -> Iterator[tuple[str, Any]]:
    """Small problems of a registry's row: its tiny one, and those of its settings."""
    row = PROBLEMS[name]
    yield "tiny", row.tiny()
    for setting, make in row.settings.items():
        for seed in seeds:
            jobs, nodes = 4 + 2 * (seed % 3), 2 + seed % 3
            made = attempt(make, jobs=jobs, nodes=nodes + (3 if name == "irmp" else 0), seed=seed)
            if isinstance(made, str):
                made = attempt(make, jobs=None, nodes=None, seed=seed)
            yield f"{setting} {seed}", made
    for seed in seeds:
        instance, _ = throng(seed, "jobs")
        other, _ = throng(seed, "models")
        if name == "completion-time":
            measure = ("flow", "makespan", "completion", "slowdown")[seed % 4]
            for kind, of in (("jobs", instance), ("models", other)):
                yield f"throng {kind} {seed}", attempt(row.make, of, measure)
                yield f"throng {kind} {seed} w", attempt(row.make, of, measure, weighted=True)
        elif name == "deadline-rewards":
            yield f"throng {seed}", attempt(row.make, throng(seed, "deadlines")[0])
            yield f"elastic {seed}", attempt(row.make, crowd(seed, "deadlines")[0], elastic=True)
        elif name == "unisched":
            given = [{}, {"lease": 300}, {"be_lease": 200}, {"sr_aware": False}][seed % 4]
            yield f"throng {seed}", attempt(row.make, throng(seed, "deadlines")[0], **given)
        elif name == "sharing-incentive":
            for reading in row.settings:
                yield f"throng {reading} {seed}", attempt(row.make, instance, reading)
        elif name == "gandiva-fair":
            for aim in ("total", "max-min", "nash"):
                yield f"market {aim} {seed}", market(seed + 10, aim, users=2 + seed % 4)


#: dear, or stopped by time
LEFT_OUT = {"exact", "search"}


@wide
def wide_solvers(folder: Path) -> Any:
    """Every solver on every small problem, and whether its certificate holds."""
    found: dict[str, Any] = {}
    for name, row in PROBLEMS.items():
        for what, problem in problems(name, range(3)):
            if isinstance(problem, str):
                found[f"{name} {what}"] = problem
                continue
            for one in row.solvers:
                if one not in LEFT_OUT or what == "tiny":
                    found[f"{name} {what} {one}"] = solved(problem, solver(name, one)[1])
    return found


def solved(problem: Any, solve: Any) -> Any:
    """A result's numbers, schedule and facts."""
    result = attempt(solve, problem, seed=5)
    if isinstance(result, str) or hasattr(result, "violations"):
        return result if isinstance(result, str) else ["refuted", *result.violations]
    bound = result.bound and result.bound.value
    data = attempt(named("result_to_dict"), result)
    if not isinstance(data, str):
        data = json.loads(json.dumps(data, default=str))
    checked = attempt(gs.verify_bound, problem, result.bound)
    return [result.objective, bound, result.status, result.stop, checked, data]


@wide
def wide_bounds(folder: Path) -> Any:
    """Bounds of every effort, and what the verifier says of them when they are changed."""
    found: dict[str, Any] = {}
    for name in PROBLEMS:
        for what, problem in problems(name, range(2)):
            if isinstance(problem, str) or problem is None:
                continue
            for effort in ("quick", "standard", "full"):
                bound = attempt(gs.bound, problem, effort=effort)
                place = f"{name} {what} {effort}"
                found[place] = bound
                if isinstance(bound, gs.Bound) and bound.certificate and effort == "standard":
                    found |= {f"{place}, {k}": v for k, v in tampered(problem, bound).items()}
                elif isinstance(bound, gs.Bound):
                    found[f"{place}, text"] = str(bound)
                    found[f"{place}, holds"] = said(
                        verified, problem, bound, bound.value, bound.certificate
                    )
    return found


@wide
def wide_comparisons(folder: Path) -> Any:
    """All columns of comparisons of every problem."""
    found: dict[str, Any] = {}
    for name, row in PROBLEMS.items():
        for what, problem in problems(name, range(2)):
            if isinstance(problem, str):
                continue
            few = {one: solver(name, one)[1] for one in row.compared}
            shown = attempt(gs.compare, problem, few, extras=row.extras)
            place = f"{name} {what}"
            if isinstance(shown, str):
                shown = attempt(gs.compare, problem, few)
            if isinstance(shown, str):
                found[place] = shown
                continue
            data = shown.to_dict()
            found[f"{place} rows"] = data.pop("rows")
            found[f"{place} data"] = data
            found[f"{place} frame"] = attempt(lambda one: one.to_frame().to_dict(), shown)
    return found


#: policies of jobs with parameter servers
EARN = [name for name in POLICIES if getattr(policy(name)[1], "needs_ps", False)]


@wide
def wide_revenue(folder: Path) -> Any:
    """Jobs with utilities: policies, offline solvers and bounds."""
    found: dict[str, Any] = {}
    for seed in range(6):
        law = ("linear", "convex")[seed % 2]
        problem = gs.formulations.reduced_problem(
            4 + seed, servers=4 + seed % 3, users=1 + seed % 3, utility=law, seed=50 + seed
        )
        if seed % 3 == 2:
            problem = replace(problem, preemptive=True)
        for name in EARN:
            for engine in ("compiled", "reference"):
                run = attempt(gs.drive, problem.instance, policy(name)[1], round_length=1,
                              engine=engine)  # fmt: skip
                found[f"{name} {seed} {engine}"] = run if isinstance(run, str) else [
                    run.now, run.digest()[:10],
                    attempt(named("revenue_summary"), run, problem),
                    attempt(named("earnings"), run, problem),
                ]  # fmt: skip
        for name in PROBLEMS["irmp"].solvers:
            if name not in LEFT_OUT:
                found[f"{name} {seed}"] = solved(problem, solver("irmp", name)[1])
        for effort in ("quick", "standard", "full"):
            bound = attempt(gs.bound, problem, effort=effort)
            found[f"bound {seed} {effort}"] = bound
        shown = attempt(gs.replay, problem, list(EARN))
        if not isinstance(shown, str):
            found[f"replay {seed}"] = shown.to_dict()
    return found
