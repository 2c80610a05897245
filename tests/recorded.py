"""The entries of the recording: each a function of a new folder, from commands and public names.

A later change adds a function here, and `python tests/recording.py record FILE NAME` its record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.registry import policy, solver
from plain_results import cli, contents, pictures, process

ENTRIES: dict[str, Callable[[Path], Any]] = {}
Entry = Callable[[Path], Any]


def entry(function: Entry) -> Entry:
    """Put a function among the entries, by its name."""
    ENTRIES[function.__name__] = function
    return function


def command(folder: Path, *args: Any) -> dict[str, Any]:
    """What a command says, writes into the folder, and draws."""
    shown: list[Any] = []
    with pictures(shown):
        said = cli(*args)
    return {**said, "files": contents(folder), "pictures": shown}


def attempt(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a call gives, or what it raises."""
    try:
        return call(*args, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@cache
def listed() -> tuple[str, ...]:
    return tuple(cli("list")["out"])


def solvers_of(problem: str) -> list[str]:
    """The solvers that `gangsched list` shows below a problem."""
    line = listed()[listed().index(problem) + 1]
    return line.removeprefix("solvers: ").split(", ")


def policies() -> list[str]:
    return listed()[listed().index("policies") + 1].split(", ")


# --- instances -----------------------------------------------------------------------------------


def log(path: Path, jobs: int = 36, seed: int = 0, span: int = 4_000) -> Path:
    """A job log of three virtual clusters, with more work than twelve GPUs can do at once."""
    rng = np.random.default_rng([seed, jobs])
    rows = ["timestamp,duration,num_gpus,cluster"]
    for at in sorted(rng.integers(0, span, jobs).tolist()):
        seconds, gpus = int(rng.lognormal(6.3, 1.1)) + 20, int(rng.choice([1, 1, 2, 2, 3, 4, 8]))
        clock = f"{1 + at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"
        rows.append(f"2017-10-07 {clock},{seconds},{gpus},{rng.choice(['a', 'b', 'b', 'c'])}")
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


def ring_problem(seed: int = 1) -> Any:
    """Gangs on which contention matters."""
    rng = np.random.default_rng([7, seed])
    jobs = [
        gs.RingJob(
            id=f"j{i}", gpus=int(gang), iterations=int(rng.integers(4, 13)),
            gradient=float(rng.choice([0.05, 0.1, 0.15])),
            base_time=float(rng.choice([0.01, 0.05, 0.1])),
        )
        for i, gang in enumerate([3, 3, *rng.choice([1, 2, 4], size=2)])
    ]  # fmt: skip
    instance = gs.Instance(gs.Cluster.of_sizes([2, 2, 2]), jobs)
    return gs.formulations.RarDdls(instance, xi1=1, xi2=0.005, alpha=0.5)


def paper_ring(jobs: int = 24, servers: int = 4, variant: Any = "B", seed: int = 0) -> Any:
    cluster = gs.generate.paper_cluster(servers, seed=seed)
    instance = gs.generate.rar_workload(cluster, jobs=jobs, seed=seed, variant=variant)
    return gs.formulations.RarDdls(instance, horizon=1200)


def queue(jobs: int = 7, nodes: int = 2, size: int = 4, seed: int = 0, **parameters: Any) -> Any:
    """More jobs with deadlines than fit."""
    rng = np.random.default_rng([3, seed])
    made = []
    for i in range(jobs):
        work, first = int(rng.integers(300, 4000)), 0
        first = int(work * rng.uniform(0.9, 2))
        rewards = [(first, 100.0), (int(first * 1.2) + 1, 80.0), (int(first * 1.5) + 2, 20.0)]
        made.append(
            gs.DeadlineJob(
                id=f"j{i}", gpus=int(rng.choice([1, 1, 2, 3, 4, 8])), work=work,
                rewards=rewards[: int(rng.integers(0, 4))],
                split_speed=float(rng.choice([0.5, 0.75, 1.0])),
                preemption_cost=int(rng.choice([0, 25, 300])),
            )
        )  # fmt: skip
    instance = gs.Instance(gs.Cluster.of_sizes([size] * nodes), made)
    return gs.formulations.UniSched(instance, **parameters)


def revenue(jobs: int = 6, servers: int = 8, users: int = 2, **options: Any) -> Any:
    return gs.formulations.reduced_problem(jobs, servers=servers, users=users, **options)


def market(seed: int = 0, aim: Any = "total", users: int = 5) -> Any:
    """Users with tickets of their own on three GPU models, one of whom can use but few GPUs."""
    rng = np.random.default_rng([5, seed])
    speeds = np.cumsum(rng.uniform(0.2, 1.5, (users, 3)), axis=1)
    demand = np.where(rng.random(users) < 0.3, 4.0, np.inf)
    return gs.formulations.GpuMarket(
        np.array([12, 8, 6]), speeds, rng.integers(1, 4, users).astype(float), demand, aim=aim
    )


# --- commands ------------------------------------------------------------------------------------


@entry
def list_of_names(folder: Path) -> Any:
    return process("list")


@entry
def demo(folder: Path) -> Any:
    return command(folder, "demo", "--out", folder / "demo")


@entry
def demo_in_a_process(folder: Path) -> Any:
    said = process("demo", "--out", folder)
    kinds = {path.name: path.stat().st_size > 2_000 for path in folder.iterdir()}
    return {**said, "written": kinds}


def compared(make: Callable[[], Any], left_out: tuple[str, ...], folder: Path) -> Any:
    problem = make()
    gs.io.save(folder / "problem.json", problem)
    stem = gs.io.plain.read_json(folder / "problem.json")["problem"]
    names = [name for name in solvers_of(stem) if name not in left_out]
    files = "--json", folder / "found.json", "--report", folder / "found.html"
    return command(folder, "compare", folder / "problem.json", "--solvers", ",".join(names), *files)


def solved(make: Callable[[], Any], left_out: tuple[str, ...], folder: Path) -> Any:
    """Each solver's result with its schedule, and whether its certificate holds."""
    problem = make()
    gs.io.save(folder / "problem.json", problem)
    stem = gs.io.plain.read_json(folder / "problem.json")["problem"]
    found = {}
    for name in solvers_of(stem):
        if name in left_out:
            continue
        _, solve = solver(stem, name)
        result = attempt(solve, problem, seed=1)
        if isinstance(result, str):
            found[name] = result
        elif hasattr(result, "violations"):
            found[name] = {"refuted": list(result.violations)}
        else:
            gs.io.save(folder / "result.json", result)
            found[name] = gs.io.plain.read_json(folder / "result.json")
            found[name]["verified"] = attempt(gs.verify_bound, problem, result.bound)
    return found


PROBLEMS: Mapping[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "rar_ddls": (ring_problem, ()),
    "rar_ddls_larger": (paper_ring, ("exact",)),
    "unisched": (queue, ()),
    "irmp": (revenue, ()),
    "gandiva_fair": (market, ()),
    "gandiva_fair_nash": (partial(market, 1, "nash"), ()),
}
for _name, _made in PROBLEMS.items():
    ENTRIES[f"compare_{_name}"] = partial(compared, *_made)
    ENTRIES[f"solve_{_name}"] = partial(solved, *_made)


# --- replays -------------------------------------------------------------------------------------

SHOWN = "fifo,srtf,las,tiresias-l,themis-greedy,gandiva-fair,ltgf,unisched,ltgf:printed,max-min"


def replayed(folder: Path, *args: Any) -> Any:
    """Some policies through the command line, with all that it writes."""
    files = "--json", folder / "found.json", "--report", folder / "found.html"
    return command(folder, "replay", *args, "--policies", SHOWN, *files)


def driven(instance: Any, **rules: Any) -> Any:
    """Every policy through Python: its measures and ratios, and the digest of its run."""
    made = {name: policy(name, seed=2)[1] for name in policies()}
    found = gs.replay(instance, made, rules=gs.solvers.Rules(**rules))
    for problem, bound in [part[1:] for part in found.fairness]:
        gs.verify_bound(problem, bound)
    return {**found.to_dict(), "text": str(found).splitlines()}


def trace_of(folder: Path, **options: Any) -> Any:
    return gs.traces.read_philly_csv(log(folder / "log.csv", **options))


@entry
def replay_log(folder: Path) -> Any:
    path = log(folder / "log.csv")
    where = "--reader", "philly-csv", "--nodes", 3, "--gpus-per-node", 4
    return replayed(folder, path, *where, "--round-length", 30, "--lease", 300)


@entry
def replay_models(folder: Path) -> Any:
    path = log(folder / "log.csv", jobs=30)
    where = "--reader", "philly-csv", "--nodes", "v100:1x4,p40:1x4,k80:2x4", "--speeds", "table1"
    return replayed(folder, path, *where, "--lease", 600)


@entry
def replay_deadlines(folder: Path) -> Any:
    where = "T24", "--reader", "scenario", "--nodes", 3, "--gpus-per-node", 4
    return replayed(folder, *where)


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


@entry
def describe(folder: Path) -> Any:
    path = log(folder / "log.csv", jobs=300, span=9 * 3600)
    files = "--json", folder / "found.json", "--plot", folder / "found.png"
    return command(folder, "describe", path, "--reader", "philly-csv", *files)


# --- claims and figures --------------------------------------------------------------------------


@entry
def theorems(folder: Path) -> Any:
    rows = gs.theorems.verdicts()
    return {
        row.claim: {
            "verdict": row.verdict, "tried": row.tried, "failed": row.failed, "strict": row.strict,
            "worst": row.worst, "counterexamples": row.counterexamples, "source": row.source,
            "confirmed": row.confirmed,
        }
        for row in rows
    }  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Stands for an instance of LTGF's figures, which are long by themselves."""

    name: str
    workload: str
    instance: Any
    days: int = 1
    start: int = 0

    def on(self, nodes: int) -> Case:
        size = self.instance.cluster.nodes[0].gpus
        cluster = gs.Cluster.uniform(nodes=nodes, gpus_per_node=size)
        return replace(self, instance=replace(self.instance, cluster=cluster))


@cache
def cases() -> tuple[Case, ...]:
    found = []
    for name, nodes in (("small", 3), ("smaller", 2)):
        cluster = gs.Cluster.uniform(nodes=nodes, gpus_per_node=8)
        found.append(Case(name, "small", gs.generate.venus_workload(cluster, jobs=60, days=1)))
    return tuple(found)


def sizes() -> Any:
    """The smallest workloads of UniSched's figures, of the class that these have."""
    known = signature(gs.reproduce.TARGETS["unisched:fig6"]).parameters["sizes"].default
    few = {"nodes": 2, "jobs": 12, "days": 1}
    return {kind: type(size)(**few) for kind, size in known.items()}


def figure_options() -> dict[str, dict[str, Any]]:
    """The smallest options of each figure; those that are not here take too long, or vary."""
    irmp: dict[str, Any] = {"seeds": (0, 1), "processes": 1}
    alone = {**irmp, "seeds": (0,)}
    size = {"size": (8, 10, 3)}
    small = {"sizes": sizes(), "seeds": (0,), "processes": 1}
    ring: dict[str, Any] = {"seeds": (0,), "variants": ("B",)}
    return {
        "rar_ddls:fig4": ring, "rar_ddls:fig5": ring, "rar_ddls:fig7": ring,
        "ltgf:fig6": {},
        "ltgf:fig9": {"cases": cases(), "leases": (600, 900)},
        "ltgf:fig10": {"cases": cases()}, "ltgf:fig11": {"cases": cases()[:1]},
        "ltgf:fig12": {"cases": cases()}, "ltgf:fig13": {"cases": cases()},
        "ltgf:fig14": {"cases": cases()[:1], "sizes": (1.0, 1.5)},
        "unisched:table3": {"jobs": (16,), "seeds": (0,), "processes": 1},
        "unisched:fig5": {}, "unisched:fig6": small, "unisched:fig7": {**small, "curves": 4},
        "unisched:fig8": small, "unisched:fig9": small,
        "unisched:fig10": {**small, "queues": (20,)},
        "unisched:fig11": small, "unisched:fig12": small,
        "irmp:fig4": {"jobs": (4, 8), "servers": (6, 10), "default": (6, 8), **alone},
        "irmp:fig5": {"jobs": (3, 5), "servers": (5, 8), **irmp},
        "irmp:fig6": {"jobs": (3, 5), "servers": (5, 8), "default": (4, 6), **alone},
        "irmp:fig7": {**size, **irmp}, "irmp:fig8": {**size, **irmp},
        "irmp:fig11": {"jobs": (8,), "servers": 6, "percent": (60, 100, 140), **irmp},
        "irmp:fig12": size, "irmp:fig13": {**size, **irmp},
        "irmp:table2": {"users": (2, 3), "jobs": 8, "servers": 10, **irmp},
        "gandiva_fair:fig1": {}, "gandiva_fair:fig2": {},
        "gandiva_fair:table2": {"seeds": 5, "quanta": (20, 100)}, "gandiva_fair:table3": {},
        "gandiva_fair:surplus": {"markets": 6, "users": (3, 6)},
        **{f"gandiva_fair:fig{k}": {"until": 2 * 3600} for k in (4, 5, 6, 7, 8, 9, 10, 11)},
    }  # fmt: skip


def figure(name: str, folder: Path) -> Any:
    """A figure's data, its statements, and what its picture shows."""
    shown: list[Any] = []
    study = gs.reproduce.TARGETS[name](**figure_options()[name])
    with pictures(shown):
        study.write(folder)
    found = {Path(file).suffix: value for file, value in contents(folder).items()}
    data = found[".json"]
    if name.partition(":")[0] != "rar_ddls":
        data["rows"] = [
            {"instance": row[0], "policy": row[1], "x": row[2], **row[3], "curve": row[4]}
            for row in data["rows"]
        ]
    return {**data, "csv": found[".csv"], "tables": len(study.to_markdown()), "pictures": shown}


for _target in figure_options():
    ENTRIES[f"figure_{_target.replace(':', '_')}"] = partial(figure, _target)
