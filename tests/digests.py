"""Digests of what the project computes: schedules, objectives, bounds, traces and reports as JSON.

    python tests/digests.py write [NAME ...]   computes all entries, or these, and writes the file
    python tests/digests.py check [NAME ...]   computes them and says what differs from the file

The file golden/digests.json has a line for each part of an entry: the first digits of a hash of all
that the part computes, and a few numbers of it for those who read a diff. Texts, run times,
versions and paths are left out. Numbers count with nine digits; where a solver of linear or conic
programs chooses among equals, with six, and values only. Whoever means to change results writes the
file anew, and says why in the commit.
"""

import dataclasses
import json
import logging
import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gangsched as gs
from gangsched import registry
from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.drive import PolicyError
from gangsched.analysis.proofs import (
    completion_time,
    contention,
    fluid_fairness,
    job_prices,
    leases,
    makespan,
    model_prices,
    prices,
    round_fairness,
    user_prices,
)
from gangsched.instances.io import LATER_FIELDS
from log_files import FORMATS, Line
from reference_driver import by

FILE = Path(__file__).resolve().parent / "golden" / "digests.json"
HEX = 12  #: digits of a hash
DIGITS, FEW = 9, 6  #: of a number: one of our own, and one that another solver found
COMMAND = "python tests/digests.py write"
#: what JSON data say in words, or otherwise each time
LEFT_OUT = frozenset(
    ["timing", "parameters", "seed", "digest", "instance_hash", "remarks", "reason", "what",
     "error", "status", "text"]
)  # fmt: skip


class Part(NamedTuple):
    """A result, a few numbers of it to read, and how many digits of its numbers count."""

    value: Any
    shown: str = ""
    digits: int = DIGITS


Parts = Mapping[str, Part]
#: what is computed, by name; policies, problems and readers are those of the registry
ENTRIES: dict[str, Callable[[], Parts]] = {}


def entry(function: Callable[[], Parts]) -> Callable[[], Parts]:
    """Put a function among the entries."""
    ENTRIES[function.__name__.replace("_", "-")] = function
    return function


# --- digests -------------------------------------------------------------------------------------


def plain(value: Any, digits: int = DIGITS) -> Any:
    """Return JSON data of anything, with rounded numbers."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.generic):
        return plain(value.item(), digits)
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), digits)
    if isinstance(value, int):
        return value
    if isinstance(value, float | Fraction):
        number = float(value)
        return float(f"{number:.{digits}g}") + 0.0 if math.isfinite(number) else str(number)
    if isinstance(value, Mapping):
        kept = {str(key): part for key, part in value.items() if str(key) not in LEFT_OUT}
        return {key: plain(part, digits) for key, part in kept.items()}
    if isinstance(value, gs.Schedule):
        return [plain([row.job, row.start, row.end, row.gpus], digits) for row in value]
    if dataclasses.is_dataclass(value):
        kept = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        later = LATER_FIELDS if isinstance(value, gs.Job) else ()
        said = {n: part for n, part in kept.items() if n not in later or part}
        return {name: plain(part, digits) for name, part in said.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(part, digits) for part in value), key=str)
    return [plain(part, digits) for part in value]


def line(part: Part) -> str:
    """What stands in the file for a part."""
    text = json.dumps(plain(part.value, part.digits), sort_keys=True)
    return f"{sha256(text.encode()).hexdigest()[:HEX]} {part.shown}".strip()


def computed(name: str) -> dict[str, str]:
    """The lines of an entry."""
    logging.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {key: line(part) for key, part in ENTRIES[name]().items()}
    finally:
        logging.disable(logging.NOTSET)


def written() -> dict[str, dict[str, str]]:
    """The entries of the file."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text("utf-8"))
    return found


def differences(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """What differs of an entry, a line for each part."""
    return [
        f"{name}, {key}: {old.get(key, 'nothing')} -> {new.get(key, 'nothing')}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]


def short(values: Iterable[Any]) -> str:
    """Numbers with six digits, other things as they are."""
    return ", ".join(f"{v:.6g}" if isinstance(v, int | float) else str(v) for v in values)


# --- policies ------------------------------------------------------------------------------------

KINDS = ("gangs", "models", "deadlines")
RULES: Mapping[str, dict[str, Any]] = {
    "gangs": {"round_length": 30, "lease": 120, "overhead": 20, "migration": 28},
    "models": {"lease": 240, "overhead": 10, "synchronous": False, "patience": 600},
    "deadlines": {"lease": 300, "overhead": 25, "spread": True},
    "revenue": {"round_length": 1},
}


@cache
def crowd(kind: str, seed: int = 0, jobs: int = 24) -> Any:
    """More jobs of three users than a few nodes have room for at once."""
    if kind == "revenue":
        return gs.formulations.reduced_problem(9, servers=6, users=3, seed=seed).instance
    rng = np.random.default_rng([11, seed])
    models = ("v100", "p40", "k80") if kind == "models" else ("",)
    sizes = [4, 8, 4] if kind == "models" else [4, 4, 4, 4]
    nodes = [gs.Node(f"n{k}", size, models[k % len(models)]) for k, size in enumerate(sizes)]
    users = [gs.User(f"u{k}", weight) for k, weight in enumerate([1.0, 2.5, 0.3])]
    speeds = ({}, {"v100": 3.25, "p40": 5 / 3, "k80": 1.0}, {"k80": 0.5, "p40": 1.0})
    made: list[gs.Job] = []
    for k in range(jobs):
        common: dict[str, Any] = {
            "id": f"j{k}", "user": f"u{rng.integers(3)}", "gpus": int(rng.choice([1, 1, 2, 3, 4])),
            "work": int(rng.integers(20, 2400)), "release": int(rng.integers(0, 3000)),
        }  # fmt: skip
        if kind == "gangs":
            common |= {"weight": float(rng.choice([1.0, 3.0]))}
            common |= {"gpus": int(rng.choice([1, 1, 2, 2, 4, 8, 16]))}
            made.append(gs.Job(**common))
        elif kind == "models":
            made.append(gs.Job(**common, speeds=speeds[k % 3]))
        else:
            first = int(common["work"] * rng.uniform(1, 2)) + int(rng.integers(0, 1200))
            rewards = [(first, 100.0), (int(first * 1.2) + 1, 80.0), (2 * first, 20.0)]
            curve = np.sort(rng.uniform(0.1, 0.9, 6)).tolist()
            made.append(gs.DeadlineJob(
                **common, rewards=rewards[: k % 4], split_speed=(1.0, 0.7, 1 / 3)[k % 3],
                scaling=(0.05, 0.5)[k % 2], preemption_cost=(None, 0, 13, 200)[k // 4 % 4],
                **({"stopping": gs.TargetMetric(curve[-1], 9, curve)} if k % 5 == 0 else {}),
            ))  # fmt: skip
    return gs.Instance(gs.Cluster(nodes), made, users)


def facts(run: Any) -> Any:
    """Everything that happened in a run."""
    columns = ("first", "end", "starts", "left", "held", "fair", "fair_before", "visible")
    return [
        run.now, run.stop, [j for j, _ in run.rejected], run.schedule,
        [run.events.time, run.events.job, run.events.kind],
        [getattr(run.records, name) for name in columns], run.log,
    ]  # fmt: skip


def mean(run: Any) -> float:
    """The mean completion time of the jobs that finished."""
    done = run.records.finished
    return float(np.mean((run.records.end - run.records.release)[done])) if done.any() else 0.0


def driven(name: str, kind: str, *, engine: str = "compiled", **rules: Any) -> Any:
    """A policy's run, or None where it takes no such jobs or GPUs."""
    made = registry.policy(name, seed=3)[1]
    if kind == "models" and getattr(made, "one_model", False):
        return None
    try:
        with by(engine):
            return gs.drive(crowd(kind), made, **{**RULES[kind], **rules})
    except PolicyError as error:  # as printed, an algorithm may find no end
        return error.run


def runs(names: Iterable[str], kinds: Iterable[str] = KINDS, **rules: Any) -> Parts:
    """A part for each policy, with its mean completion times."""
    found = {}
    for name in names:
        made = {kind: driven(name, kind, **rules) for kind in kinds}
        shown = [f"{kind} {mean(run):.6g}" for kind, run in made.items() if run is not None]
        value = {kind: facts(run) for kind, run in made.items() if run is not None}
        found[name] = Part(value, ", ".join(shown))
    return found


def family(stem: str) -> Parts:
    """A policy and its variants."""
    names = [name for name in registry.POLICIES if name.partition(":")[0] == stem]
    return runs(names, ["revenue"] if names[0] in registry.EARNING else KINDS)


for _name in registry.POLICIES:
    _stem = _name.partition(":")[0]
    ENTRIES.setdefault(f"policies/{_stem}", partial(family, _stem))


@entry
def information() -> Parts:
    """Policies that learn run times otherwise than by knowing them."""
    keys = [*registry.SETTINGS, "profiled-dedicated-1"]
    names = [f"{name}:{key}" for key in keys for name in ("srtf", "easy", "edf")]
    return runs(names, ("gangs", "deadlines"))


@entry
def driver() -> Parts:
    """Rules of the cluster one by one, no skipped rounds, the reference engine, resumed runs."""
    names = ("fifo", "ltgf", "gandiva-fair", "unisched")
    rules: list[dict[str, Any]] = [
        {"overhead": 0}, {"lease": 90}, {"spread": True}, {"patience": 0}, {"migration": 3},
        {"synchronous": False}, {"skip": False}, {"engine": "reference"}, {"until": 2000},
        {"reject": [1, 3]},
    ]  # fmt: skip
    found: dict[str, Part] = {}
    for given in rules:
        lines = runs(names, ("gangs", "deadlines"), **given)
        shown = "; ".join(part.shown for part in lines.values())
        found[json.dumps(given)] = Part([part.value for part in lines.values()], shown)
    half = {name: driven(name, "gangs", until=1500).checkpoint for name in names}
    again = [driven(name, "gangs", resume=at) for name, at in half.items()]
    found["resumed"] = Part([facts(run) for run in again], short(map(mean, again)))
    return found


@entry
def measures() -> Parts:
    """What is measured of a run."""
    of_all = (
        "objectives", "summary", "completion_time", "wait_time", "ideal_time", "slowdown", "rho",
        "utilisation", "preemptions", "attained_time", "fair_time", "service_time",
        "user_rho", "user_work", "user_work_rho", "profiling_wait",
    )  # fmt: skip
    of_times = ("busy_time", "wanted_time", "user_attained_time", "user_fair_time")
    of_deadlines = ("deadline_summary", "rewards", "weighted_miss", "best_effort_latency")
    found = {}
    for kind in KINDS:
        run = driven("srtf", kind)
        names = (*of_all, *(of_deadlines if kind == "deadlines" else ()))
        value = {name: getattr(metrics, name)(run) for name in names}
        value |= {name: getattr(metrics, name)(run, [900, 3000, 9000]) for name in of_times}
        value["window_rho"] = metrics.window_rho(run, 1800)
        found[kind] = Part(value, f"rho {np.mean(value['rho']):.6g}")
    return found


# --- problems ------------------------------------------------------------------------------------

#: jobs and nodes of the problems on which solvers and bounds differ, and of those for exact solvers
SIZES: Mapping[str, tuple[int | None, int | None]] = {
    "rar-ddls": (40, 4), "unisched": (20, None), "irmp": (10, 14), "gandiva-fair": (None, None),
    "ltgf": (12, 2), "ltgf-round": (12, 2), "ltgf-fluid": (8, 1), "completion-time": (12, 2),
    "sharing-incentive": (20, 2), "deadline-rewards": (20, 2),
}  # fmt: skip
#: problems of crowds besides
CROWDED: Mapping[str, tuple[str, ...]] = {
    "completion-time": ("gangs", "models"), "sharing-incentive": ("gangs",),
    "deadline-rewards": ("deadlines",), "ltgf": ("gangs",),
}  # fmt: skip
#: solvers that hand a program to another one, which chooses among equals
OTHERS = frozenset(
    ["exact", "lp-selector", "lp-list", "rolling-lp", "search", "efficient",
     "max-min", "nash"]
)  # fmt: skip


def problems(name: str) -> dict[str, Any]:
    """A problem of each of its settings."""
    jobs, nodes = SIZES[name]
    draw = partial(gs.problem, name, seed=1, jobs=jobs, nodes=nodes)
    made = {setting: draw(setting=setting) for setting in registry.PROBLEMS[name].settings}
    if name == "irmp":
        made["convex"] = draw(setting="paper", utility="convex")
    make = registry.PROBLEMS[name].make
    return made | {kind: make(crowd(kind, jobs=12)) for kind in CROWDED.get(name, ())}


def small(name: str) -> dict[str, Any]:
    """Problems of which the optimum is soon found."""
    forms, tiny = gs.formulations, {"tiny": registry.PROBLEMS[name].tiny()}
    jobs = [gs.Job(id=f"j{k}", gpus=1 + k % 3, work=2 + k, release=k, user="ab"[k % 2])
            for k in range(4)]  # fmt: skip
    gangs = gs.Instance(gs.Cluster.of_sizes([2, 2]), jobs, [gs.User("a"), gs.User("b", 2.0)])
    if name == "rar-ddls":
        rows = zip([3, 3, 2, 1], [6, 9, 5, 4], strict=True)
        rings = [gs.RingJob(id=f"j{k}", gpus=g, iterations=f, gradient=0.15, base_time=0.01)
                 for k, (g, f) in enumerate(rows)]  # fmt: skip
        instance = gs.Instance(gs.Cluster.of_sizes([2, 2, 2]), rings)
        return {**tiny, "rings": forms.RarDdls(instance, xi1=1, xi2=0.005, alpha=0.5)}
    if name == "irmp":
        return {**tiny, "four": forms.reduced_problem(3, servers=3, users=2, seed=1)}
    if name == "ltgf":
        return {**tiny, "gangs": forms.Ltgf(gangs, horizon=12)}
    if name == "completion-time":
        return {**tiny, **{m: forms.CompletionTime(gangs, m) for m in ("makespan", "flow")}}
    if name == "sharing-incentive":
        return {**tiny, "gangs": forms.SharingIncentive(gangs)}
    if name == "unisched":
        return {**tiny, "six": gs.problem(name, setting="queue-helios", jobs=6)}
    return {**tiny, **(problems(name) if name.startswith("ltgf-") else {})}


def solved(problem: str, name: str) -> Part:
    """What a solver finds; of one that hands a program to another, how good it is."""
    makes = small(problem) if name == "exact" else problems(problem)
    if name == "area-order":  # takes all GPUs for equal
        del makes["models"]
    results = {key: gs.solve(made, name, seed=3) for key, made in makes.items()}
    few, value = name in OTHERS, {}
    for key, found in results.items():
        if isinstance(found, gs.solvers.Refuted):
            value[key] = ["refuted", found.solution]
            continue
        value[key] = [found.objective, found.bound and found.bound.value]
        value[key] += [] if few else [found.solution]
    return Part(value, short(part[0] for part in value.values()), FEW if few else DIGITS)


def solvers(problem: str) -> Parts:
    """A part for each solver of a problem, with its objectives."""
    return {name: solved(problem, name) for name in registry.PROBLEMS[problem].solvers}


def certified(bounds: Mapping[str, gs.Bound], few: bool) -> Part:
    """Bounds and their certificates; without these, if another solver found them."""
    value = {k: [b.value, b.method, *([] if few else [b.certificate])] for k, b in bounds.items()}
    return Part(value, short(b.value for b in bounds.values()), FEW if few else DIGITS)


def bounds(problem: str) -> Parts:
    """The bounds of each effort, by setting."""
    few = problem in ("unisched", "irmp", "gandiva-fair", "ltgf-fluid", "rar-ddls")
    makes, efforts = {**problems(problem), **small(problem)}, ("quick", "standard", "full")
    return {
        key: certified({effort: gs.bound(made, effort) for effort in efforts}, few)  # type: ignore[arg-type]
        for key, made in makes.items()
    }


for _name in registry.PROBLEMS:
    ENTRIES[f"solvers/{_name}"] = partial(solvers, _name)
for _name in registry.PROBLEMS:
    ENTRIES[f"bounds/{_name}"] = partial(bounds, _name)


@entry
def bound_makers() -> Parts:
    """Each way to a bound by itself, of which `gs.bound` returns the best."""
    flow, mixed = (
        gs.formulations.CompletionTime(crowd(kind, jobs=12)) for kind in ("gangs", "models")
    )
    makers: dict[str, tuple[Callable[..., gs.Bound], Any, dict[str, Any]]] = {
        "area": (gs.solvers.area_bound, "rar-ddls", {}),
        "dff": (makespan.dff_bound, "rar-ddls", {}),
        "contention": (contention.contention_bound, "rar-ddls", {}),
        "release": (completion_time.release_bound, replace(flow, measure="makespan"), {}),
        "srpt": (completion_time.srpt_bound, flow, {}),
        "busy time": (completion_time.busy_time_bound, flow, {"rounds": 4}),
        "busy time of models": (completion_time.busy_time_bound, mixed, {"rounds": 4}),
        "prices": (prices.price_bound, flow, {"rounds": 30, "halvings": 1}),
        "prices of jobs": (job_prices.job_price_bound, flow, {"rounds": 30}),
        "prices of models": (model_prices.model_price_bound, mixed, {"rounds": 30}),
        "online": (gs.online_bound, mixed, {"rounds": 4, "steps": 20}),
        "life": (fluid_fairness.life_bound, "ltgf", {}),
        "gang sums": (round_fairness.gang_sums_bound, "ltgf-round", {}),
        "rewards": (gs.reward_bound, "deadline-rewards", {"intervals": 8, "rounds": 30}),
        "users": (user_prices.user_bound, "sharing-incentive", {"rounds": 30}),
        "one price": (leases.one_price_bound, "unisched", {}),
        "revenue": (gs.solvers.revenue_bound, "irmp", {"slots": 200, "tolerance": 1e-4}),
    }
    found = {}
    for name, (maker, of, options) in makers.items():
        made = problems(of) if isinstance(of, str) else {"crowd": of}
        few = name == "revenue"
        found[name] = certified({k: maker(one, **options) for k, one in made.items()}, few)
    return found


@entry
def generators() -> Parts:
    """Every setting of every problem, and the workloads that the settings do not draw."""
    found = {name: Part(problems(name)) for name in registry.PROBLEMS}
    cluster = gs.Cluster.uniform(nodes=4, gpus_per_node=8)
    venus = gs.generate.venus_workload(cluster, jobs=40, days=2, seed=1)
    workloads = {
        "venus": venus, "testbed": gs.deadlines.testbed_workload(24, seed=1),
        "density": gs.deadlines.with_density(gs.deadlines.testbed_workload(24), 1.4, seed=1),
        "hostile": gs.deadlines.with_hostile(gs.deadlines.testbed_workload(24), 0.5, seed=1),
        "deadlines": gs.deadlines.deadline_instance(venus, seed=1),
    }  # fmt: skip
    for name, made in workloads.items():
        found[name] = Part(made, f"work {sum(job.work or 0 for job in made.jobs)}")
    return found


# --- traces --------------------------------------------------------------------------------------

ROWS = [
    Line(5, 1, 1, "1"), Line(2, 0, 4, "2"), Line(3, 90, 2, "10"), Line(4, 1, 0, "1"),
    Line(8, 600, 8, "2"), Line(8, 7, 3, "2"), Line(70, 20, 1, "1"),
]  # fmt: skip


def read(name: str) -> Any:
    """What a reader says of its log; those that read several formats get the CSV's."""
    form = FORMATS.get(name, FORMATS["csv"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_text(form.write(ROWS), "utf-8")
        if name == "parquet":
            gs.traces.write_trace(path.with_suffix(".parquet"), form.read(path))
            path = path.with_suffix(".parquet")
        return form.read(path) if name in FORMATS else gs.traces.READERS[name](path)


@entry
def readers() -> Parts:
    """Every reader on a log of its own; the jobs that it kept, and their GPUs and seconds."""
    found = {}
    for name in registry.READERS:
        trace = read(name)
        rows = [row[1:] for row in trace.rows]
        value = [trace.jobs, trace.users, rows, trace.report.read, trace.report.skipped]
        work = sum(job.gpus * (job.work or 0) for job in trace.jobs)
        found[name] = Part(value, f"{len(trace.jobs)} jobs, {work} GPU seconds")
    return found


@entry
def conversions() -> Parts:
    """Instances of every kind from the jobs of a trace."""
    cluster = gs.Cluster.uniform(nodes=2, gpus_per_node=4)
    jobs = tuple(sorted(crowd("gangs").jobs, key=lambda job: job.release))
    report = gs.instances.ReadReport(read=len(jobs))
    log = gs.instances.Trace(name="crowd", jobs=jobs, report=report)
    made = {
        "csv": gs.convert.to_instance(read("csv"), gs.Cluster.of_sizes([4, 4])),
        "requested": gs.convert.to_instance(log, cluster, weights="requested"),
        "rings": gs.convert.to_rar_instance(log, cluster, jobs=12, seed=1),
        "revenue": gs.convert.to_revenue_instance(log, jobs=8, servers=6, seed=1)[0],
    }
    return {name: Part([one.instance, one.times[:]]) for name, one in made.items()}


# --- whole reports -------------------------------------------------------------------------------


@entry
def replay() -> Parts:
    """The JSON of replays, with bounds of every effort, ledgers, and what longest waits cost."""
    names = {
        "gangs": ("fifo", "srtf", "ltgf", "easy", "themis", "srtf:profiled"),
        "models": ("fifo", "allox", "gandiva-fair", "max-min-fairness"),
        "deadlines": ("edf", "unisched", "chronus", "genie:elastic"),
    }
    found = {}
    for kind, effort in zip(KINDS, ("standard", "quick", "standard"), strict=True):
        rules = gs.solvers.Rules(**RULES[kind])
        made = gs.replay(crowd(kind), names[kind], rules=rules, effort=effort, ledger=True)
        found[kind] = Part([made.to_dict(), made.waits(3)], ratios(made))
    problem = gs.formulations.reduced_problem(7, servers=5, users=2, seed=2)
    made = gs.replay(problem, ["online-revenue", "online-revenue:density"], effort="standard")
    found["revenue"] = Part(made.to_dict(), ratios(made), FEW)
    return found


def ratios(made: Any) -> str:
    """The first ratio of each row."""
    return short(next(iter(row.ratios.values()), None) for row in made.rows)


@entry
def compare() -> Parts:
    """The JSON of comparisons by the solvers that are compared when none are named."""
    found = {}
    for name in registry.PROBLEMS:
        made = gs.compare(list(small(name).values())[-1])
        rows = [[row.solver, row.objective, row.ratio] for row in made.rows]
        value = [rows, made.bound and made.bound.value] if needs_others(name) else made.to_dict()
        found[name] = Part(value, short(row[1] for row in rows), FEW)
    return found


def needs_others(problem: str) -> bool:
    """Whether a solver that is compared hands a program to another one."""
    return bool(OTHERS & {*registry.PROBLEMS[problem].compared})


def figure(target: str, options: Mapping[str, Any]) -> Part:
    """The data of a figure of a paper, in small."""
    data = json.loads(gs.reproduce.TARGETS[target](**options).to_json())
    return Part(data["rows"], f"{len(data['rows'])} rows", FEW)


@entry
def figures() -> Parts:
    """A figure of each paper."""
    one: dict[str, Any] = {"seeds": (0,), "processes": 1}
    targets: Mapping[str, Mapping[str, Any]] = {
        "rar_ddls:fig5": {"seeds": (0,), "variants": ("B",)},
        "ltgf:fig6": {},
        "unisched:table3": {"jobs": (16,), **one},
        "irmp:fig4": {"jobs": (4, 6), "servers": (6, 8), "default": (5, 8, 14), **one},
        "irmp:fig12": {"default": (8, 10, 3)},
        "gandiva_fair:table2": {"seeds": 5, "quanta": (20, 100)},
        "gandiva_fair:table3": {},
        "gandiva_fair:fig4": {"until": 7200},
    }
    return {target: figure(target, options) for target, options in targets.items()}


# --- the commands --------------------------------------------------------------------------------


def main(args: list[str]) -> int:
    """Run one of the commands of the module's docstring."""
    if not args or args[0] not in ("write", "check"):
        print(__doc__, file=sys.stderr)
        return 2
    names = args[1:] or list(ENTRIES)
    for name in names:
        if name not in ENTRIES:
            raise SystemExit(f"entry {name!r} is not one of {', '.join(ENTRIES)}")
    known = written() if FILE.exists() else {}
    found = {}
    for name in names:
        began = time.process_time()
        found[name] = computed(name)
        print(f"{time.process_time() - began:7.2f} s  {name}", file=sys.stderr)
    if args[0] == "write":
        merged = {**known, **found}
        ordered = {name: merged[name] for name in ENTRIES if name in merged}
        FILE.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")
        return 0
    gone = [] if args[1:] else [f"{name}: no such entry" for name in known if name not in ENTRIES]
    lines = [d for name in names for d in differences(name, known.get(name, {}), found[name])]
    print("\n".join([*lines, *gone]) or "no difference")
    return int(bool(lines or gone))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
