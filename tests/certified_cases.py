"""Problems of every class in many settings, each with a certificate of every kind."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.analysis.proofs.job_prices import job_price_bound
from gangsched.formulations import CompletionTime
from gangsched.formulations.io import problem_from_dict
from gangsched.formulations.unisched.leases import LeasePhase
from gangsched.instances import generate, heterogeneous, library
from markets import any_market
from priced_windows import Priced
from tiny import tiny


@cache
def cases() -> list[tuple[Any, Any]]:
    """(problem, certificate)."""
    found = [
        *_rings(), *_completions(), *_queues(), *_revenues(), *_markets(), *_fairness(),
        *_rewards(),
    ]  # fmt: skip
    return [(problem, json.loads(json.dumps(dict(one), default=dict))) for problem, one in found]


def certified(problem: Any, *efforts: str) -> Iterator[tuple[Any, Any]]:
    for effort in efforts or ("quick", "standard"):
        yield problem, gs.bound(problem, effort=effort).certificate


def in_windows(target: Any, leaf: Any) -> dict[str, Any]:
    """A tree of three leaves which are the same."""
    root, early = {"job": 0, "at": 5_000, "then": [1, 4]}, {"job": 1, "at": 900, "then": [2, 3]}
    tree = [root, early, leaf, leaf, leaf]
    ratio = [*Fraction(target).as_integer_ratio()]
    return {"kind": "completions in windows", "target": ratio, "nodes": tree}


def by_job(problem: Any, times: list[int], prices: list[int], scale: int) -> dict[str, Any]:
    """Prices of GPU time as those of jobs."""
    rows = [[job.gpus * price for price in prices] for job in problem.jobs]
    return Priced([*times], [0] * len(rows), rows, scale).fields()


def of_library(name: str) -> Any:
    return problem_from_dict(library.entry(name).problem)


def _rings() -> Iterator[tuple[Any, Any]]:
    for seed in range(3):
        ring = gs.registry.PROBLEMS["rar-ddls"].settings["paper-b"](jobs=12, nodes=3, seed=seed)
        yield from certified(ring)
        yield ring, {"kind": "longest job", "job": 3}
        yield ring, {"kind": "area"}
        wide = tiny(3 * seed + 1)
        yield wide, {"kind": "clique", "jobs": [0, 1]}
        yield wide, {"kind": "uplinks"}


def _completions() -> Iterator[tuple[Any, Any]]:
    yield from certified(of_library("makespan-tiny-8"), "quick", "standard", "full")
    for seed in range(3):
        cluster = gs.Cluster.of_sizes([8, 4])
        same = generate.philly_workload(cluster, jobs=25, load=1.0, seed=seed)
        cluster = heterogeneous.mixed_cluster([("v100", 1, 4), ("k80", 2, 4)])
        mixed = generate.philly_workload(cluster, jobs=25, load=1.0, seed=seed)
        for one in (same, heterogeneous.with_speeds(mixed, seed=seed)):
            for measure in ("makespan", "completion", "flow", "slowdown"):
                weighted = measure == "flow" and seed == 1
                yield from certified(CompletionTime(one, measure, weighted=weighted))
        for jobs in (same, heterogeneous.with_speeds(mixed, seed=seed)):
            problem = CompletionTime(jobs, "slowdown" if seed else "flow")
            bound = job_price_bound(problem, rounds=20, intervals=30)
            yield problem, bound.certificate
            if jobs is same:
                yield problem, in_windows(bound.value, bound.certificate)


def _queues() -> Iterator[tuple[Any, Any]]:
    for name in ("queue-philly-8-load150", "queue-helios-12-load150"):
        queue = of_library(name)
        phases = {0: LeasePhase.RUNNING, 1: LeasePhase.SUSPENDED, 3: LeasePhase.RUNNING}
        free = [size - n % 3 for n, size in enumerate(queue.instance.cluster.sizes)]
        for settings in (
            {}, {"rounding": "paper"}, {"allocations": "exact"}, {"allocations": "consolidated"},
            {"phases": phases, "overhead": 300}, {"profilers": frozenset({1, 2}), "free": free},
            {"lexicographic": True, "lease": 1200}, {"sr_aware": False},
        ):  # fmt: skip
            yield from certified(replace(queue, **settings))


def _revenues() -> Iterator[tuple[Any, Any]]:
    for name in ("revenue-linear-8", "revenue-convex-5", "revenue-linear-5"):
        for settings in (
            {}, {"clock": "release"}, {"preemptive": True}, {"paper_slot_r": True},
            {"optional": False}, {"horizon": 300},
        ):  # fmt: skip
            yield from certified(replace(of_library(name), **settings), "quick")
    problem = of_library("revenue-convex-8")
    nodes = [
        replace(node, model="ab"[n % 2]) for n, node in enumerate(problem.instance.cluster.nodes)
    ]
    jobs = [replace(job, speeds={"b": 1.5}) for job in problem.jobs]
    users = problem.instance.users
    cluster = gs.Cluster(nodes)
    typed = replace(problem, instance=gs.Instance(cluster, jobs, users))
    yield from certified(typed, "quick")
    yield from certified(replace(typed, preemptive=True), "quick")


def _markets() -> Iterator[tuple[Any, Any]]:
    for seed in range(6):
        for aim in ("total", "max-min", "nash"):
            yield from certified(any_market(seed, capped=seed % 2 == 1, aim=aim, users=5), "quick")


def _fairness() -> Iterator[tuple[Any, Any]]:
    for name in ("lives-5", "lives-8", "lives-20", "round-5", "round-20", "shares-5", "shares-14"):
        problem = of_library(name)
        yield from certified(problem, "quick")
        if name == "lives-8":
            yield from ((problem, {"kind": "life", "job": j}) for j in range(8))
    for reading in ("sharing", "wait", "stretch"):
        problem = of_library(f"users-{reading}-10")
        yield from certified(problem)
        bound = gs.bound(problem, "standard")
        given = bound.certificate
        if "users" in given:
            leaf = by_job(problem, given["times"], given["prices"], 1)
            yield problem, in_windows(bound.value, {**leaf, "weights": given["users"]})
        yield from certified(replace(problem, limit=1.25))


def _rewards() -> Iterator[tuple[Any, Any]]:
    for name in ("deadlines-helios-8", "deadlines-philly-12"):
        for elastic in (False, True):
            yield from certified(replace(of_library(name), elastic=elastic))
        problem = of_library(name)
        bound = gs.bound(problem, "standard")
        given, unit = bound.certificate, problem.unit
        prices = [price * unit.numerator for price in given["prices"]]
        leaf = by_job(problem, given["times"], prices, given["scale"] * unit.denominator)
        yield problem, in_windows(bound.value, leaf)


# --- corrupted -----------------------------------------------------------------------------------


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of a certificate."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inner:
        yield (*path, key)
        if isinstance(one, (dict, list)):
            yield from leaves(one, (*path, key))


def corrupted(certificate: Any, rng: np.random.Generator) -> Any:
    """A certificate with something else in one place or two."""
    made = deepcopy(certificate)
    for _ in range(rng.integers(1, 3)):
        places = list(leaves(made))
        *path, last = places[rng.integers(len(places))]
        at = made
        for key in path:
            at = at[key]
        old = at[last]
        what = rng.integers(7)
        if what == 0 and isinstance(at, dict) and last != "kind":
            del at[last]
        elif what == 1 and isinstance(at, list):
            at.insert(last, old)
        elif what == 2 and isinstance(at, list):
            at.pop(last)
        elif what == 3 and last != "kind":
            at[last] = [None, "1", -1, 0.5, True, [], {}][rng.integers(7)]
        elif isinstance(old, int) and not isinstance(old, bool):
            step = int(rng.integers(-3, 4)) or 1
            at[last] = [old + step, old * 2, old // 2, 0, old * 10**12][rng.integers(5)]
        elif isinstance(old, float):
            at[last] = [old * 1.001, old * 0.999, 0.0, old * 1e9, 0.5][rng.integers(5)]
    return made
