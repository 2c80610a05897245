"""Bounds and their certificates, also those that were tampered with; and exact solutions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs

from .instances import market, paper_ring, queue, revenue, ring_problem
from .policies import crowd, leaves, other, put
from .table import ENTRIES, attempt, entry

# --- certificates --------------------------------------------------------------------------------


def said(call: Callable[..., Any], *args: Any, **options: Any) -> str:
    found = attempt(call, *args, **options)
    return "ok" if found is None else re.sub(r"bound \S+ \(.*?\): ", "", found)


def tampered(problem: Any, bound: Any) -> Any:
    """What the verifier says of a bound, and of others that differ from it in one place."""
    if not isinstance(bound, gs.Bound):
        return bound
    sign = 1 if problem.sense is gs.formulations.Sense.MIN else -1
    known = {"value": bound.value, "method": bound.method, "certificate": bound.certificate}
    plain = json.loads(json.dumps(known["certificate"], default=dict))
    found: dict[str, Any] = {"bound": {**known, "certificate": plain}}
    for name, value in (
        ("as it is", bound.value),
        ("too good", bound.value * (1 + sign * 1e-4) + sign * 1e-4),
        ("weaker", bound.value * (1 - sign * 1e-4) - sign * 1e-4),
    ):
        found[name] = said(verified, problem, bound, value, plain)
    found["without"] = said(verified, problem, bound, bound.value, None)
    for path in leaves(plain):
        place = ".".join(map(str, path))
        for what, change in (("other", other), ("nothing", lambda old: None), ("text", str)):
            changed = put(plain, path, change)
            found[f"{place} {what}"] = said(verified, problem, bound, bound.value, changed)
    return found


def verified(problem: Any, bound: Any, value: float, certificate: Any) -> None:
    gs.verify_bound(problem, gs.Bound(value, bound.method, certificate))


@entry
def bounds_of_rar_ddls(folder: Path) -> Any:
    found = {}
    makes = {
        "ring": ring_problem(), "ring 2": ring_problem(4), "area": paper_ring(60, 2),
        "longest": paper_ring(6, 4), "A": paper_ring(40, 3, "A", 2),
        "few": thirds(5, 3), "many": thirds(11, 4),
    }  # fmt: skip
    for name, problem in makes.items():
        for effort in ("fast", "full"):
            bound = attempt(gs.best_bound, problem, effort=effort)
            found[f"{name}, {effort}"] = tampered(problem, bound)
        found[f"{name}, area"] = tampered(problem, gs.solvers.area_bound(problem))
    found["effort"] = attempt(gs.best_bound, ring_problem(), effort="most")
    found["limit"] = attempt(gs.best_bound, ring_problem(), effort="full", time_limit=-1)
    found["class"] = attempt(gs.best_bound, queue())
    return found


def thirds(jobs: int, servers: int) -> Any:
    """Jobs a bit longer than half or a third of a round number: what dual functions are for."""
    made = [
        gs.RingJob(id=f"j{k}", gpus=1 + k % 2, iterations=34 + 17 * (k % 2), gradient=0,
                   base_time=0.9)
        for k in range(jobs)
    ]  # fmt: skip
    return gs.formulations.RarDdls(gs.Instance(gs.Cluster.of_sizes([2] * servers), made))


@entry
def bounds_of_irmp(folder: Path) -> Any:
    found = {}
    for seed, options in enumerate(({}, {"preemptive": True}, {"optional": False})):
        problem = gs.formulations.reduced_problem(5, servers=6, users=2, seed=seed)
        problem = gs.formulations.Irmp(problem.instance, **{**parameters(problem), **options})
        for effort in ("fast", "full"):
            bound = attempt(gs.best_bound, problem, effort=effort)
            found[f"{options}, {effort}"] = tampered(problem, bound) if effort == "fast" else bound
    for options in ({"slots": 40}, {"block": 1}, {"block": 8}, {"tolerance": 0.05}, {"slots": 0}):
        bound = attempt(gs.solvers.revenue_bound, revenue(), **options)
        found[str(options)] = getattr(bound, "value", bound)
    return found


def parameters(problem: Any) -> dict[str, Any]:
    names = ("worker_bandwidth", "ps_bandwidth", "horizon", "owners")
    return {name: getattr(problem, name) for name in names}


@entry
def bounds_of_unisched(folder: Path) -> Any:
    found = {}
    for seed in range(4):
        problem = queue(jobs=9, seed=seed, **[{}, {"lease": 300}, {"be_lease": 600}, {}][seed])
        bound = gs.solvers.lp_selector(problem).bound
        found[str(seed)] = tampered(problem, bound)
    return found


@entry
def bounds_of_markets(folder: Path) -> Any:
    found = {}
    makes = {"total": "efficient", "max-min": "max_min", "nash": "nash"}
    for seed in range(3):
        for aim, name in makes.items():
            problem = market(seed, aim, users=3 + seed)
            result = getattr(gs.solvers, f"{name}_allocation")(problem)
            found[f"{aim} {seed}"] = tampered(problem, result.bound) if seed < 2 else result.bound
            if aim == "nash" and seed < 2:  # digits of Clarabel's prices differ between machines
                said_of = found[f"{aim} {seed}"].items()
                found[f"{aim} {seed}"] = {
                    what: text.split(": ")[0] if isinstance(text, str) else text
                    for what, text in said_of
                }
            found[f"{aim} {seed} rates"] = gs.solvers.exchange_rates(result.bound.certificate)
            prices = np.array(result.bound.certificate["prices"]) * 1.1
            nothing = np.zeros(len(problem.users))
            found[f"{aim} {seed} by hand"] = attempt(
                gs.solvers.market_bound, problem, prices, nothing, nothing, method="by hand"
            )
    return found


@entry
def bounds_of_completion_times(folder: Path) -> Any:
    found = {}
    for kind, seed in (("jobs", 1), ("models", 2), ("models", 0), ("jobs", 4)):
        instance, _ = crowd(seed, kind)
        for measure in ("makespan", "completion", "flow", "slowdown"):
            for weighted in (False, True):
                problem = attempt(
                    gs.formulations.CompletionTime, instance, measure, weighted=weighted
                )
                name = f"{kind} {seed}, {measure}, {weighted}"
                if isinstance(problem, str):
                    found[name] = problem
                    continue
                bound = gs.online_bound(problem, rounds=4)
                whole = seed in (1, 2) and not weighted
                found[name] = tampered(problem, bound) if whole else bound
    found["rounds"] = attempt(gs.online_bound, problem, rounds=-1)
    found["class"] = attempt(gs.online_bound, queue())
    return found


@entry
def bounds_of_rewards(folder: Path) -> Any:
    found = {}
    for seed, elastic in ((0, False), (1, True), (2, False), (3, True)):
        instance, _ = crowd(seed, "deadlines")
        problem = gs.formulations.DeadlineRewards(instance, elastic=elastic)
        found[f"{seed}"] = tampered(problem, gs.reward_bound(problem, intervals=4))
        for options in ({"intervals": 1}, {"intervals": 12, "rounds": 3}, {"rounds": 0}):
            found[f"{seed} {options}"] = attempt(gs.reward_bound, problem, **options)
    for options in ({"intervals": 0}, {"rounds": -1}, {"intervals": "x"}):
        found[str(options)] = attempt(gs.reward_bound, problem, **options)
    found["class"] = attempt(gs.reward_bound, ring_problem())
    return found


@entry
def bounds_of_fairness(folder: Path) -> Any:
    """Those that a replay proves, which it gives with their problems."""
    found = {}
    for seed in range(3):
        instance, _ = crowd(seed, "jobs")
        shown = gs.replay(instance, {})
        for k, (what, problem, bound) in enumerate(shown.fairness):
            found[f"{seed}.{k} {what}"] = tampered(problem, bound)
    return found


# --- exact ---------------------------------------------------------------------------------------


@entry
def bounds_of_every_problem(folder: Path) -> Any:
    """A bound of every problem at every effort; there was none of some at 2e519fe."""
    found: dict[str, Any] = {}
    forms = gs.formulations
    more = [("rewards", forms.DeadlineRewards(crowd(0, "deadlines")[0])), ("market", market()),
            ("two users", forms.Ltgf(gangs(5))), ("round 3", small_round(3))]  # fmt: skip
    for name, problem in (*exact_problems(), *more):
        for effort in ("quick", "standard", "full"):
            bound = attempt(lambda *given: gs.bound(given[0], effort=given[1]), problem, effort)
            whole = effort == "full" and not isinstance(problem, forms.RarDdls)
            found[f"{name}, {effort}"] = tampered(problem, bound) if whole else bound
    return found


def gangs(jobs: int = 4) -> Any:
    made = [gs.Job(id=f"j{k}", gpus=1 + k % 3, work=2 + k, release=k, user="ab"[k % 2])
            for k in range(jobs)]  # fmt: skip
    return gs.Instance(gs.Cluster.of_sizes([2, 2]), made, [gs.User("a"), gs.User("b", 2.0)])


def exact_problems() -> Iterator[tuple[str, Any]]:
    forms = gs.formulations
    yield "rar-ddls", ring_problem(2)
    yield "unisched", queue(jobs=5, seed=2)
    yield "irmp", small_revenue()
    for measure in ("makespan", "flow"):
        yield measure, forms.CompletionTime(gangs(), measure)
    yield "ltgf", forms.Ltgf(gangs(3), horizon=8)
    yield "round", small_round(0)


def small_revenue(**options: Any) -> Any:
    law = gs.instances.Linear
    jobs = [
        gs.instances.ParameterServerJob(
            id=f"j{k}", user="ab"[k % 2], gpus=2, release=k, epochs=2 + k, minibatches=1,
            rates=(1, 0.5), utility=law(-2 - k, 60 + 5 * k),
        )
        for k in range(3)
    ]  # fmt: skip
    cluster = gs.Cluster([gs.Node(f"s{k}", 2, ps=1) for k in range(2)])
    instance = gs.Instance(cluster, jobs, [gs.User("a"), gs.User("b")])
    return gs.formulations.Irmp(instance, owners=("a", "b"), horizon=9, **options)


def small_round(seed: int) -> Any:
    rng = np.random.default_rng([13, seed])
    jobs = [(int(rng.integers(3)), int(rng.integers(1, 5))) for _ in range(7)]
    return gs.formulations.LtgfRound(
        gpus=8, lease=10, attained=rng.integers(0, 60, 3).tolist(),
        fair=rng.integers(20, 60, 3).astype(float).tolist(), share=[3.0, 2.5, 2.5], jobs=jobs,
    )  # fmt: skip


def exact(name: str, folder: Path) -> Any:
    """Each form of a problem: what is found, what is proven, and how large the model is."""
    problem = dict(exact_problems())[name]
    found: dict[str, Any] = {}
    for form in problem.forms:
        for options in ({}, {"warm_start": None}, {"work_limit": 1, "warm_start": None}):
            result = attempt(gs.solve_exact, problem, form=form, **options)
            if not isinstance(result, str):
                info = {k: v for k, v in result.info.items() if k not in VARYING}
                result = {
                    "status": result.status, "stop": result.stop, "objective": result.objective,
                    "bound": result.bound, "gap": result.gap, "info": info,
                    "iterations": result.iterations,
                    "violations": result.solution is not None
                    and problem.violations(result.solution),
                }  # fmt: skip
            found[f"{form} {options}"] = result
    found["refused"] = [
        attempt(gs.solve_exact, problem, **{key: value})
        for key, value in (("form", "best"), ("time_limit", 0), ("work_limit", 0),
                           ("solver", "none"), ("warm_start", ()))
    ]  # fmt: skip
    return found


VARYING = {"backend", "options"}
for _name, _ in exact_problems():
    ENTRIES[f"exact_{_name.replace('-', '_')}"] = partial(exact, _name)
