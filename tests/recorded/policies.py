"""Policies: every one on the same jobs, and the driver's rules, files and ways to go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.registry import policy

from .instances import log, queue
from .table import ENTRIES, attempt, entry, named, policies


def driven(instance: Any, **rules: Any) -> Any:
    """Every policy through Python: its measures and ratios, and the digest of its run."""
    made = {name: policy(name, seed=2)[1] for name in policies()}
    found = gs.replay(instance, made, rules=gs.solvers.Rules(**rules))
    for problem, bound in [part[1:] for part in found.fairness]:
        gs.verify_bound(problem, bound)
    data = found.to_dict()
    for row in data["rows"]:
        del row["parameters"], row["policy"], row["seed"]
    return data


def trace_of(folder: Path, **options: Any) -> Any:
    return gs.traces.read_philly_csv(log(folder / "log.csv", **options))


@entry
def policies_on_a_log(folder: Path) -> Any:
    cluster = gs.Cluster.of_sizes([4, 4, 8])
    made = gs.convert.to_instance(trace_of(folder, jobs=40), cluster, weights="requested")
    return driven(made.instance, lease=600, spread=True, overhead=30, migration=50)


@entry
def policies_on_models(folder: Path) -> Any:
    nodes = [("v100", 4), ("p40", 4), ("k80", 4), ("k80", 4)]
    cluster = gs.Cluster([gs.Node(f"n{k}", size, name) for k, (name, size) in enumerate(nodes)])
    instance = gs.convert.to_instance(trace_of(folder, jobs=30, seed=3), cluster).instance
    speeds = ({"k80": 1.0, "p40": 1.5, "v100": 4.0}, {"k80": 1.0, "v100": 2.2}, {})
    jobs = [replace(job, speeds=speeds[k % 3]) for k, job in enumerate(instance.jobs)]
    return driven(replace(instance, jobs=jobs), lease=480, synchronous=False)


@entry
def policies_with_deadlines(folder: Path) -> Any:
    return driven(queue(jobs=24, nodes=3, size=4, seed=5).instance, lease=600)


# --- many small instances ------------------------------------------------------------------------


def crowd(seed: int, kind: str) -> tuple[Any, dict[str, Any]]:
    """A few nodes, up to three users and a dozen jobs, and rules of the cluster."""
    rng = np.random.default_rng([11, seed])
    models = ["v100", "p40", "k80"] if kind == "models" else [""]
    sizes = [[4, 4], [2, 4, 4], [8, 8], [4, 4, 4]][seed % 4] if kind != "models" else [4, 4, 2, 4]
    nodes = [gs.Node(f"n{k}", n, models[k % len(models)]) for k, n in enumerate(sizes)]
    speeds: list[dict[str, float]] = [{}, {"v100": 3.25, "p40": 5 / 3, "k80": 1.0}, {"k80": 0.5}]
    users = [gs.User(f"u{k}", weight) for k, weight in enumerate([1.0, 2.5, 0.3][: 1 + seed % 3])]
    jobs = []
    for k in range(12):
        work, first = int(rng.integers(20, 1500)), 0
        common: dict[str, Any] = {
            "id": f"j{k}", "gpus": int(rng.choice([1, 1, 2, 4, 8 if kind == "jobs" else 3])),
            "work": work, "release": int(rng.integers(0, 900)),
            "user": users[int(rng.integers(len(users)))].id,
        }  # fmt: skip
        if kind == "deadlines":
            first = int(work * rng.uniform(1, 2)) + int(rng.integers(0, 1200))
            rewards = [(first, 100.0), (int(first * 1.2) + 1, 80.0), (2 * first, 20.0)]
            more = {
                "gpus": int(rng.choice([1, 2, 4])), "rewards": rewards[: int(rng.integers(0, 4))],
                "split_speed": float(rng.choice([1.0, 0.7, 1 / 3])),
                "scaling": float(rng.choice([0.05, 0.5])),
                "preemption_cost": [None, 0, 13, 200][int(rng.integers(4))],
            }  # fmt: skip
            if k % 3 == 0:
                epochs = int(rng.integers(4, 9))
                curve = np.sort(rng.uniform(0.1, 0.9, epochs)).tolist()
                more["stopping"] = gs.TargetMetric(curve[-1], epochs + 3, curve)
            jobs.append(gs.DeadlineJob(**{**common, **more}))
        elif kind == "models":
            jobs.append(gs.Job(**common, speeds=speeds[int(rng.integers(3))]))
        else:
            jobs.append(gs.Job(**common, weight=float(rng.choice([1.0, 3.0]))))
    rules = {
        "round_length": [60, 10, 30][seed % 3], "lease": [120, 300, 90][seed // 2 % 3],
        "overhead": [25, 0, 20][seed % 3], "synchronous": seed % 2 == 0, "spread": seed % 4 == 1,
        "patience": [None, 120, 600][seed % 3], "migration": [None, 5, 28][seed % 3],
    }  # fmt: skip
    return gs.Instance(gs.Cluster(nodes), jobs, users), rules


def short(run: Any) -> str:
    return f"{run.now} s, {run.digest()[:10]}"


def many(kind: str, seeds: range, folder: Path) -> Any:
    """The digest of each policy's run on each instance, or why there is none."""
    found: dict[str, list[str]] = {}
    for name in policies():
        for seed in seeds[:2] if name.startswith("rolling-horizon") else seeds:
            instance, rules = crowd(seed, kind)
            made = policy(name, seed=seed)[1]
            run = attempt(gs.drive, instance, made, **rules)
            found.setdefault(name, []).append(run if isinstance(run, str) else short(run))
    return found


for _kind, _seeds in (("jobs", range(6)), ("models", range(4)), ("deadlines", range(4))):
    ENTRIES[f"many_{_kind}"] = partial(many, _kind, _seeds)


@entry
def many_queues(folder: Path) -> Any:
    """Leases of many jobs with deadlines, where run times are estimated and jobs compete."""
    found: dict[str, list[str]] = {}
    for name in policies():
        if name.startswith(("unisched", "chronus", "genie", "hydra", "three-sigma", "optimus")):
            for seed in range(4):
                one, other = (crowd(20 + 2 * seed + k, "deadlines")[0] for k in range(2))
                jobs = [replace(job, id=f"{job.id}*", user="") for job in other.jobs]
                both = [*(replace(job, user="") for job in one.jobs), *jobs]
                cluster = gs.Cluster.of_sizes([[4, 4], [8], [8, 8], [2, 2, 2]][seed])
                instance = gs.Instance(cluster, both)
                run = attempt(gs.drive, instance, policy(name, seed=seed)[1], lease=300)
                found.setdefault(name, []).append(run if isinstance(run, str) else short(run))
    return found


VARIANTS: dict[str, Any] = {
    "tiresias-l": {"thresholds": (300, 900)}, "hived": {"limit": 1.0}, "themis": {"fairness": 0.3},
    "allox": {"alpha": 2.0}, "fifo": {"blocking": False}, "optimus": {"cycle": 60},
    "chronus": {"lease": 300, "be_lease": 60, "profilers": 2, "rounding": "lossless"},
    "genie": {"estimates": ("maximum", 0.5, 0.0, 1)},
    "hydra": {"estimates": ("ensemble", 0.9, 0.2, 4)},
    "three-sigma": {"cycle": 120, "slot": 60, "slots": 6},
    "gandiva-fair": {
        "threshold": 0.0, "price": "midpoint", "migration_gain": 1.0, "debt_cap": False,
        "normalised": False,
    },
    "unisched": {"lease": 300, "be_lease": 60, "rounding": "paper", "noise": 0.3, "seed": 3},
    "ltgf": {"urgent": 2.0},
}  # fmt: skip


@entry
def policies_with_options(folder: Path) -> Any:
    """Other options than the default, and those that are refused."""
    found: dict[str, Any] = {}
    for name, options in VARIANTS.items():
        kind = type(policy(name)[1])
        if "estimates" in options:
            mode, *more = options["estimates"]
            names = dict(zip(("quantile", "noise", "seed"), more, strict=True))
            options = {"estimates": gs.solvers.DurationEstimates(mode=mode, **names)}
        wrong = {key: attempt(kind, **{key: -1}) for key in options}
        found[name] = {"refused": {key: w for key, w in wrong.items() if isinstance(w, str)}}
        made = attempt(kind, **options)
        for what in ("jobs", "models", "deadlines"):
            instance, rules = crowd(5, what)
            run = made if isinstance(made, str) else attempt(gs.drive, instance, made, **rules)
            found[name][what] = run if isinstance(run, str) else short(run)
    return found


# --- the driver ----------------------------------------------------------------------------------

DRIVEN = ("fifo", "srtf", "tiresias-l", "themis", "ltgf", "gandiva-fair", "chronus", "unisched",
          "hived", "rolling-horizon", "three-sigma", "max-min")  # fmt: skip


@entry
def ways_to_drive(folder: Path) -> Any:
    """Plain Python, every round, and a stop on the way give the run of the compiled driver."""
    found: dict[str, Any] = {}
    for name in DRIVEN:
        for kind in ("jobs", "models", "deadlines"):
            instance, rules = crowd(2, kind)
            whole = attempt(gs.drive, instance, policy(name)[1], **rules)
            if isinstance(whole, str):
                found[f"{name}, {kind}"] = whole
                continue
            ways: dict[str, Any] = {"run": short(whole)}
            for way in ({"engine": "reference"}, {"skip": False}):
                run = gs.drive(instance, policy(name)[1], **rules, **way)  # type: ignore[arg-type]
                ways[str(way)] = run.digest() == whole.digest()
            part = gs.drive(instance, policy(name)[1], **rules, until=whole.now // 2)
            again = gs.drive(instance, policy(name)[1], **rules, resume=part.checkpoint)
            ways["part"] = short(part), part.stop, again == whole
            found[f"{name}, {kind}"] = ways
    return found


@entry
def runs_in_files(folder: Path) -> Any:
    """What a run's file holds, which run it gives back, and what is wrong with others."""
    found: dict[str, Any] = {}
    for name, kind in (("ltgf", "jobs"), ("gandiva-fair", "models"), ("unisched", "deadlines")):
        instance, rules = crowd(1, kind)
        run = gs.drive(instance, policy(name)[1], **rules)
        for ending in ("json", "csv"):
            path = folder / f"{name}.{ending}"
            gs.io.save(path, run)
            found[f"{name}.{ending}"] = gs.io.load(path) == run
        data = read_json(folder / f"{name}.json")
        found[name] = data
        if name == "gandiva-fair":
            found["changed"] = changed_runs(folder, data)
        found[f"{name} text"] = str(run)
    return found


def read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def leaves(data: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """The places of all that is no table, and of the first two cells of each list."""
    if isinstance(data, dict):
        for key, part in data.items():
            yield from leaves(part, *path, key)
    elif isinstance(data, list) and data:
        for k in {0, len(data) // 2}:
            yield from leaves(data[k], *path, k)
    else:
        yield path


def put(data: Any, path: tuple[Any, ...], value: Callable[[Any], Any]) -> Any:
    """A copy in which one place is another value, or nothing."""
    made = json.loads(json.dumps(data))
    part = made
    for key in path[:-1]:
        part = part[key]
    new = value(part[path[-1]])
    if new is None:
        del part[path[-1]]
    else:
        part[path[-1]] = new
    return made


def other(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return 7 if value is None else not value
    return value + 1 if isinstance(value, int | float) else f"{value}x"


CHANGES: tuple[Callable[[Any], Any], ...] = (
    other,
    lambda value: None,
    lambda value: -1,
    lambda value: {"a": 1},
)


def changed_runs(folder: Path, data: Any) -> Any:
    """What is said of files in which one thing differs."""
    found: dict[str, list[str]] = {}
    for path in leaves(data):
        said = found.setdefault(".".join(map(str, path)), [])
        for change in CHANGES:
            (folder / "changed.json").write_text(json.dumps(put(data, path, change)), "utf-8")
            run = attempt(gs.io.load, folder / "changed.json")
            said.append(run.partition("changed.json: ")[2] if isinstance(run, str) else short(run))
    return found


@entry
def rules_of_a_run(folder: Path) -> Any:
    """Runs that were tampered with, which a replay checks before it measures them."""
    found: dict[str, Any] = {}
    for name, kind in (("ltgf", "jobs"), ("gandiva-fair", "models"), ("unisched", "deadlines")):
        instance, rules = crowd(1, kind)
        instance = replace(instance, jobs=instance.jobs[:7])
        gs.io.save(folder / "run.json", gs.drive(instance, policy(name)[1], **rules))
        data = read_json(folder / "run.json")
        for path in leaves(data):
            for change in (lambda old: old + 1, lambda old: old - 20):
                if not is_number(data, path):
                    continue
                (folder / "changed.json").write_text(json.dumps(put(data, path, change)), "utf-8")
                run = attempt(gs.io.load, folder / "changed.json")
                if not isinstance(run, str):
                    place = f"{name}.{'.'.join(map(str, path))}"
                    found.setdefault(place, []).append(broken(instance, name, rules, run))
    return found


def broken(instance: Any, name: str, rules: dict[str, Any], run: Any) -> Any:
    """Why a replay does not take a run, or its digest."""
    made, known = {name: policy(name)[1]}, gs.solvers.Rules(**rules)
    found = attempt(gs.replay, instance, made, rules=known, before={name: run})
    if isinstance(found, str):
        return found
    return [one.reason.removeprefix(BREAKS) for one in found.failed] or short(found.rows[0].run)


BREAKS = "ValueError: its run breaks the rules of the cluster: "


def is_number(data: Any, path: tuple[Any, ...]) -> bool:
    for key in path:
        data = data[key]
    return isinstance(data, int | float) and not isinstance(data, bool)


@entry
def bad_rules(folder: Path) -> Any:
    """What the driver refuses."""
    instance, _ = crowd(0, "jobs")
    fifo = policy("fifo")[1]
    options: list[dict[str, Any]] = [
        *({name: value} for name in ("round_length", "lease", "overhead", "patience", "migration")
          for value in (0, -1, 1.5, "x", 10**12)),
        *({name: 2} for name in ("synchronous", "spread", "skip", "engine", "resume")),
        {"until": -1}, {"until": 1.5}, {"until": 2**60}, {"reject": [99]}, {"reject": ["a"]},
        {"reject": [0, 1]}, {"reject": {2: "not wanted"}}, {"lease": 60, "overhead": 60},
    ]  # fmt: skip
    found = {}
    for given in options:
        run = attempt(gs.drive, instance, fifo, **given)
        found[str(given)] = run if isinstance(run, str) else [short(run), dict(run.rejected)]
    for name, wrong in (("instance", (3, fifo)), ("class", (instance, type(fifo)))):
        found[name] = attempt(gs.drive, *wrong)
    return found


@entry
def online_revenue(folder: Path) -> Any:
    """Online rules for jobs with parameter servers, driven."""
    found: dict[str, Any] = {}
    kind = named("OnlineRevenue")
    for law in ("linear", "convex"):
        problem = gs.formulations.reduced_problem(9, servers=6, users=3, utility=law, seed=2)
        for by in ("slope", "lp", "density", "spt", "fifo"):
            run = gs.drive(problem.instance, kind.of(problem, by=by), round_length=1)
            found[f"{law}, {by}"] = short(run), problem.objective(run.schedule), run.schedule
        found[f"{law}, reference"] = attempt(
            gs.drive, problem.instance, kind.of(problem), round_length=1, engine="reference"
        ).digest()  # fmt: skip
        found[law] = [
            attempt(gs.drive, problem.instance, kind.of(problem)),
            attempt(gs.drive, problem.instance, policy("fifo")[1], round_length=1),
            attempt(gs.drive, crowd(0, "jobs")[0], kind.of(problem), round_length=1),
            attempt(kind, "best"),
        ]
        found[f"{law}, replayed"] = [
            [row.name, row.revenue, row.ratios] for row in gs.replay(problem).rows
        ]
    return found
