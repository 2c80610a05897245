"""Measure the driver and LTGF's solvers, and print the second table of docs/benchmarks.md.

    python tests/benchmarks/driver.py                                   # to the screen
    python tests/benchmarks/driver.py --trace philly.csv.gz             # with the Philly CSV
    python tests/benchmarks/driver.py --into docs/benchmarks.md --picture docs/images/driver.png

How times are taken: see table.py. Without --trace the lines on the real trace are left out. Every
section runs in a process of its own, so that the peak memory belongs to it.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.analysis.driving.run import Run
from gangsched.formulations import LtgfRound
from gangsched.instances import convert
from gangsched.instances.generate import offered_load, philly_workload
from gangsched.instances.traces import READERS
from gangsched.solvers import Fifo, Las, LtgfPolicy, Sjf, Srtf, ThemisGreedy, TiresiasL, one_round
from gangsched.solvers.exact import branch_and_bound
from gangsched.solvers.policies.position_matching import optimality_violations, position_matching

try:
    from benchmarks.table import Line, deliver, machine, rows, seconds
except ImportError:  # run as a script
    from table import Line, deliver, machine, rows, seconds  # type: ignore[import-not-found, no-redef]

MARKERS = "<!-- driver begins -->", "<!-- driver ends -->"
COMMAND = "python tests/benchmarks/driver.py --trace philly.csv.gz --into docs/benchmarks.md"
POLICIES: dict[str, tuple[Callable[[], Any], float | None]] = {
    "fifo": (Fifo, 1.0),
    "tiresias-l": (TiresiasL, 1.0),
    "ltgf": (LtgfPolicy, 2.5),
    "themis-greedy": (ThemisGreedy, None),
    "sjf": (Sjf, None),
    "srtf": (Srtf, None),
    "las": (Las, None),
}
SCALE = (10_000, 30_000, 100_000, 300_000)
LOADS = (0.8, 1.0)  # offered: at 1 comes in what could be done without idle GPUs, and queues grow
GROWTH = "As jobs grow: 2,504 GPUs"
SCALED = ("fifo", "tiresias-l", "ltgf")


def described(run: Run) -> str:
    """What a run did."""
    segments = len(run.schedule)
    return f"{run.rounds:,} rounds visited, {run.decisions:,} decisions, {segments:,} segments"


def memory() -> str:
    """Largest resident memory of this process until now."""
    return f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB"


def driven(instance: Any, names: Sequence[str], runs: int, *, targets: bool) -> Iterator[Line]:
    """Whole runs, from instance to Run."""
    for name in names:
        make, target = POLICIES[name]
        found: list[Run] = []

        def drive(make: Callable[[], Any] = make, found: list[Run] = found) -> None:
            found[:] = [gs.drive(instance, make())]

        taken = seconds(drive, runs)
        yield Line(name, taken, target if targets else None, described(found[0]))


def philly(path: str, nodes: int, runs: int) -> list[Line]:
    """The real trace: 69,089 jobs, rounds of 60 s."""
    cluster = gs.Cluster.uniform(nodes=nodes, gpus_per_node=8)
    trace = READERS["philly-csv"](path)
    instance = convert.to_instance(trace, cluster).instance
    lines = list(driven(instance, list(POLICIES), runs, targets=True))
    taken = seconds(partial(READERS["philly-csv"], path), 1, warm=False)
    return [*lines, Line("reading the CSV", taken, None, memory())]


def large(runs: int) -> list[Line]:
    """250,000 synthetic jobs on 2,504 GPUs: most of them start at once, and queues."""
    cluster = gs.Cluster.uniform(nodes=313, gpus_per_node=8)
    lines = []
    for load in (0.7, 1.0):
        instance = philly_workload(cluster, jobs=250_000, load=load, seed=0)
        days = instance.jobs[-1].release / 86_400
        for line in driven(instance, SCALED, runs, targets=False):
            target = 15.0 if line.what == "ltgf" else None
            name = f"{line.what}, offered load {offered_load(instance):.2f}, {days:.0f} days"
            lines.append(Line(name, line.runs, target, f"{line.outcome}; {memory()}"))
    return lines


def scaling(load: float, runs: int) -> list[Line]:
    """So many jobs at one load: how cost grows."""
    cluster = gs.Cluster.uniform(nodes=313, gpus_per_node=8)
    lines = []
    for jobs in SCALE:
        instance = philly_workload(cluster, jobs=jobs, load=load, seed=0)
        for line in driven(instance, SCALED, runs, targets=False):
            each = f"{1e6 * line.cpu / jobs:.1f} µs of CPU a job; {line.outcome}"
            lines.append(Line(f"{line.what}, {jobs:,} jobs", line.runs, None, each))
    return lines


def skipping(runs: int) -> list[Line]:
    """What the compiled core and event skipping are worth, where both results are the same."""
    instance = philly_workload(
        gs.Cluster.uniform(nodes=16, gpus_per_node=8), jobs=1_000, load=0.9, seed=0
    )
    lines = []
    for name in ("fifo", "ltgf"):
        policy = POLICIES[name][0]()
        whole = gs.drive(instance, policy)
        for what, how in (
            ("compiled", {}),
            ("compiled, every round", {"skip": False}),
            ("readable reference", {"engine": "reference"}),
        ):
            same = "identical" if gs.drive(instance, policy, **how) == whole else "DIFFERENT"
            call = partial(gs.drive, instance, policy, **how)
            taken = seconds(call, 1 if how else runs, warm=not how)
            lines.append(Line(f"{name}, 1,000 jobs: {what}", taken, None, same))
    return lines


def matching(runs: int) -> list[Line]:
    """AlloX: 10,000 jobs on 2,500 GPUs of three models."""
    rng = np.random.default_rng(0)
    gpus, jobs = (1_000, 800, 700), 10_000
    work = rng.lognormal(7, 1.5, (jobs, 1))
    lines = []
    for name, rates in (
        ("26 kinds of job", np.exp(rng.normal(0, 0.7, (26, 3)))[rng.integers(0, 26, jobs)]),
        ("each job its own speeds", np.exp(rng.normal(0, 0.5, (jobs, 3)))),
    ):
        times = np.ceil(work / rates).astype(np.int64)
        found = position_matching(times, gpus)
        proven = "optimal, proven by prices"
        if optimality_violations(times, gpus, found):
            proven = "NOT OPTIMAL"
        taken = seconds(partial(position_matching, times, gpus), runs)
        lines.append(Line(f"AlloX, 10,000 jobs, 2,500 GPUs: {name}", taken, 3.0, proven))
    return lines


def round_problem(users: int, jobs: int, gpus: int, seed: int) -> LtgfRound:
    """One round of LTGF at the size of a large cluster."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 4, 8, 16, 32], p=[0.5, 0.15, 0.13, 0.15, 0.05, 0.02], size=jobs)
    fair = rng.integers(10**6, 10**8, users).astype(float)
    attained = np.floor(fair * rng.uniform(0.5, 1.2, users)).astype(np.int64)
    owners = rng.integers(0, users, jobs).tolist()
    return LtgfRound(
        gpus=gpus,
        lease=900,
        attained=attained.tolist(),
        fair=fair.tolist(),
        share=[gpus / users] * users,
        jobs=list(zip(owners, sizes.tolist(), strict=True)),
    )


def rounds(runs: int) -> list[Line]:
    """One round, leximin optimal."""
    lines = []
    for seed in (0, 1, 2):
        problem = round_problem(16, 3_000, 2_500, seed)
        for solver, solve in (
            ("leximin by assignment", one_round),
            ("max-min MILP", branch_and_bound),
        ):
            result = solve(problem)
            proven = f"{result.status.name.lower()}, least fairness {result.objective:.4f}"
            taken = seconds(partial(solve, problem), runs)
            name = f"one round: 16 users, 3,000 jobs, 2,500 GPUs, seed {seed}: {solver}"
            lines.append(Line(name, taken, 2.0, proven))
    return lines


def apart(call: Callable[..., list[Line]], *arguments: Any) -> Iterator[Line]:
    """Run a section in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield from pool.submit(call, *arguments).result()


def sections(trace: str | None, runs: int) -> Iterator[tuple[str, list[Line]]]:
    """Headings and what is measured below them."""
    if trace is not None:
        for nodes, words in ((40, "contended"), (312, "as in Philly")):
            heading = f"Philly CSV, 69,089 jobs, rounds of 60 s, {8 * nodes:,} GPUs ({words})"
            yield heading, list(apart(philly, trace, nodes, runs))
    yield "250,000 jobs on 2,504 GPUs, rounds of 60 s", list(apart(large, 3))
    for load in LOADS:
        yield f"{GROWTH}, offered load {load:g}", list(apart(scaling, load, 3))
    yield "What skipping and compiling are worth", list(apart(skipping, runs))
    yield "Solvers", [*apart(matching, 3), *apart(rounds, 3)]


def draw(tables: Sequence[Sequence[Line]], path: Path) -> None:
    """Plot CPU time over jobs at each load, with the line of slope one."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter

    figure, axes = plt.subplots(figsize=(6.2, 3.8), layout="constrained")
    for load, lines, style in zip(LOADS, tables, ("-", "--"), strict=True):
        for k, name in enumerate(SCALED):
            cpu = [line.cpu for line in lines if line.what.startswith(f"{name},")]
            label = f"{name}, load {load:g}"
            axes.loglog(SCALE, cpu, style, marker="o", color=f"C{k}", label=label)
    first = min(line.cpu for line in tables[0] if line.what.endswith(f" {SCALE[0]:,} jobs"))
    linear = [first * jobs / SCALE[0] for jobs in SCALE]
    axes.loglog(SCALE, linear, color="0.6", linestyle=":", label="linear")
    axes.set_xticks(SCALE, [f"{jobs // 1000}k" for jobs in SCALE])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("jobs (2,504 GPUs)")
    axes.set_ylabel("CPU seconds of one run")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def report(trace: str | None, runs: int, picture: Path | None) -> str:
    """All tables as Markdown."""
    text, grown = [machine(COMMAND)], []
    for heading, lines in sections(trace, runs):
        text += ["", f"### {heading}", "", *rows(iter(lines))]
        if heading.startswith(GROWTH):
            grown.append(lines)
    if picture is not None:
        draw(grown, picture)
    return "\n".join(text)


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description="Measure the driver.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each measurement")
    parser.add_argument("--trace", help="the Philly CSV")
    parser.add_argument("--into", type=Path, help="page whose table is replaced")
    parser.add_argument("--picture", type=Path, help="where to draw the growth")
    options = parser.parse_args()
    text = report(options.trace, options.runs, options.picture)
    deliver(text, options.into, MARKERS)


if __name__ == "__main__":
    main()
