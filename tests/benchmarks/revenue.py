"""Measure responses, bounds, lists and optima of IRMP, and print their part of docs/benchmarks.md.

    python tests/benchmarks/revenue.py                            # to the screen
    python tests/benchmarks/revenue.py --into docs/benchmarks.md    # between the markers there

The second one draws images/irmp-pricing.png beside the page as well. How times are taken: see
table.py. Workloads are synthetic, see `paper_problem`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from gangsched.analysis.proofs.verify import verify_bound
from gangsched.analysis.show.plots import save
from gangsched.formulations.irmp.problem import Irmp, paper_problem, reduced_problem
from gangsched.solvers import RevenueProgramParams, Status
from gangsched.solvers.irmp.astraea import prices_at, thetas
from gangsched.solvers.irmp.chain import irmp_exact
from gangsched.solvers.irmp.columns import Columns, generate
from gangsched.solvers.irmp.lists import in_order, in_shape, lp_list, posted_prices
from gangsched.solvers.irmp.pricing import Trials, best_runs
from gangsched.solvers.irmp.response import Occupancy, best_response

try:
    from benchmarks.table import Line, deliver, machine, rows, seconds
except ImportError:  # run as a script
    from table import Line, deliver, machine, rows, seconds  # type: ignore[import-not-found, no-redef]

MARKERS = "<!-- revenue begins -->", "<!-- revenue ends -->"
COMMAND = "python tests/benchmarks/revenue.py --into docs/benchmarks.md"
#: (jobs, servers, slots): seconds of bound and schedule together
CASES = {(100, 100, 1024): 15.0, (400, 200, 1024): None, (1000, 550, 2048): 45.0}
#: seconds of an optimum, and on how many workloads it is looked for
LIMIT, SEEDS = 60.0, 5
#: what grows of the pricing, one at a time; the others are as in BASE
GROWTH = {
    "jobs": (100, 200, 400, 800, 1600),
    "servers": (50, 100, 200, 400, 800),
    "slots": (128, 256, 512, 1024, 2048),
}
BASE = {"jobs": 400, "servers": 200, "slots": 1024}
PICTURE = "images/irmp-pricing.png"
CAPTION = "CPU time of a round of pricing over jobs, servers and slots, beside lines of slope one"


def lines(name: str, problem: Irmp, slots: int, target: float | None, runs: int) -> Iterator[Line]:
    """The bound, the two lists, and both together."""
    found: list[Any] = []

    def solve() -> None:
        found[:] = [lp_list(problem, params=RevenueProgramParams(slots=slots))]

    def bound() -> None:
        found[:] = [generate(problem, slots=slots)]

    def place(list_of: Any) -> None:
        found[1:] = [sum(run.value for run in list_of())]

    taken = seconds(solve, runs)
    yield Line(f"{name}: bound and schedule", taken, target, f"gap {100 * found[0].gap:.2f} %")
    taken = seconds(bound, runs)
    columns: Columns = found[0]
    size = f"{columns.iterations} rounds, {columns.ends.size} blocks"
    yield Line(f"{name}: of this, bound", taken, None, size)
    for what, list_of in (
        ("runs in shape", lambda: in_shape(problem, columns)),
        ("runs in order", lambda: in_order(problem, columns.order)),
    ):
        taken = seconds(lambda list_of=list_of: place(list_of), runs)  # type: ignore[misc]
        gap = columns.bound.value / found[1] - 1
        yield Line(f"{name}: of this, {what}", taken, None, f"gap {100 * gap:.2f} %")
    taken = seconds(lambda: verify_bound(problem, columns.bound), runs)
    yield Line(f"{name}: bound verified", taken)


def others(jobs: int, servers: int, slots: int, utility: Any, runs: int) -> Iterator[Line]:
    """Posted prices, and the bound for free preemption."""
    problem = paper_problem(jobs, servers=servers, utility=utility)
    found: list[Any] = []

    def post() -> None:
        found[:] = [posted_prices(problem, params=RevenueProgramParams(slots=slots))]

    def preempt() -> None:
        found[:] = [generate(replace(problem, preemptive=True), slots=slots)]

    name = f"{jobs:,} jobs, {servers} servers, {utility}"
    taken = seconds(post, runs)
    bound = found[0].bound.value
    yield Line(f"{name}: posted prices", taken, None, f"gap {100 * found[0].gap:.2f} %")
    taken = seconds(preempt, runs)
    more = found[0].bound.value / bound - 1
    told = f"{100 * more:.2f} % above that without"
    yield Line(f"{name}: bound with free preemption", taken, None, told)


def of_utility(utility: Any, runs: int, largest: int) -> Iterator[Line]:
    """One section."""
    for (jobs, servers, slots), target in CASES.items():
        if jobs <= largest:
            problem = paper_problem(jobs, servers=servers, utility=utility)
            name = f"{jobs:,} jobs, {servers} servers, {slots:,} slots"
            yield from lines(name, problem, slots, target, runs if jobs < 1000 else 1)
    yield from others(100, 100, 1024, utility, runs)


# --- one response ---------------------------------------------------------------------------------


def responses(runs: int) -> Iterator[Line]:
    """A large job's best run beside half of the others; once by the reference."""
    slots = 256
    utility: Any
    for utility in ("linear", "convex"):
        problem = paper_problem(100, servers=100, utility=utility)
        occupancy = Occupancy(problem, slots=slots)
        for other in range(0, 100, 2):
            run = occupancy.best(other, limit=slots)
            if run is not None:
                occupancy.take(run)
        free = occupancy.free[:, :, :slots].copy()
        total = occupancy.capacity.sum(axis=1)
        prices = np.stack([
            prices_at(theta, total[k] - free[k].sum(axis=0), int(total[k]))
            for k, theta in enumerate(thetas(problem, range(100))[0].tolist())
        ])  # fmt: skip
        respond = partial(_respond, problem, free, prices)
        jobs = sorted(range(1, 100, 2), key=lambda j: -problem.jobs[j].gpus)
        job = next(j for j in jobs if respond(j) is not None)  # the largest that has one
        found, plain = respond(job), list[Any]()
        name = f"100 servers, D = {problem.jobs[job].gpus}, {slots} slots, {utility}"
        told = f"{found.workers} workers from {found.start} to {found.end}"
        yield Line(f"{name}: compiled", seconds(partial(respond, job), 20 * runs), 1e-3, told)
        taken = seconds(lambda: plain.append(respond(job, machine=False)), 1, warm=False)  # noqa: B023
        same = "identical" if plain == [found] else "DIFFERENT"
        yield Line(f"{name}: plain Python reference", taken, None, same)


def _respond(problem: Irmp, free: Any, prices: Any, job: int, *, machine: bool = True) -> Any:
    slots = free.shape[2]
    values = np.concatenate([[0.0], problem.values(job, slots)])
    begin = problem.earliest(job)
    return best_response(
        problem, job, free, prices, values, begin=begin, end=slots, machine=machine
    )


# --- optima ---------------------------------------------------------------------------------------


def small_problem(utility: Any, seed: int, share: int) -> Irmp:
    """12 jobs on 8 servers within 48 slots, with one of so many of their mini-batches."""
    problem = reduced_problem(12, servers=8, utility=utility, seed=seed)
    jobs = [replace(job, minibatches=-(-job.minibatches // share)) for job in problem.jobs]
    return replace(problem, instance=replace(problem.instance, jobs=jobs), horizon=48)


def optima() -> Iterator[Line]:
    """Proven optima; half of a table's lines are the slowest ones."""
    for utility in ("linear", "convex"):
        for share, work in ((1, "all mini-batches"), (10, "a tenth of the mini-batches")):
            taken, results = [], []
            for seed in range(SEEDS):
                solve = partial(irmp_exact, small_problem(utility, seed, share), time_limit=LIMIT)
                taken += seconds(lambda: results.append(solve()), 1, warm=False)  # noqa: B023
            proven = sum(result.status is Status.OPTIMAL for result in results)
            gap = max(result.gap or 0.0 for result in results)
            columns = sorted(int(result.info["columns"]) for result in results)
            name = f"12 jobs, 8 servers, 48 slots, {utility}, {work}"
            told = f"{proven} of {SEEDS} proven within {LIMIT:g} s, largest gap {100 * gap:.2f} %"
            yield Line(f"{name}: seeds 0 to {SEEDS - 1}", taken, None, told)
            slowest = max(range(SEEDS), key=lambda seed: taken[seed][0])
            told = f"{columns[0]} to {columns[-1]} runs listed, median {columns[SEEDS // 2]}"
            yield Line(f"{name}: slowest, seed {slowest}", [taken[slowest]], LIMIT, told)


# --- growth of pricing ----------------------------------------------------------------------------


class Grown(NamedTuple):
    """A round of pricing of one size."""

    utility: str
    what: str
    size: int
    line: Line


def rounds(runs: int, largest: int) -> Iterator[Grown]:
    """Rounds of pricing at prices near those of the linear program."""
    for utility in ("linear", "convex"):
        for what, sizes in GROWTH.items():
            for size in sizes:
                case = {**BASE, what: size}
                if case["jobs"] <= 2 * largest:
                    line = one_round(utility, runs, **case)
                    yield Grown(utility, what, size, line)


def one_round(utility: Any, runs: int, *, jobs: int, servers: int, slots: int) -> Line:
    """All jobs priced once, with what the round before found as hints."""
    problem = paper_problem(jobs, servers=servers, utility=utility)
    columns = generate(problem, slots=slots, tolerance=0.02)
    scale = 2.0**30 / max(problem.value(j, 1) for j in range(jobs))
    values = [
        np.concatenate([[problem.value(j, 1)], problem.values(j, slots)]) for j in range(jobs)
    ]
    worth = np.ceil(np.minimum.accumulate(values, axis=1) * scale).astype(np.int64)
    price = partial(
        best_runs, problem, columns.classes, Trials.of(problem, columns.classes), worth,
        np.rint(columns.prices * scale).astype(np.int64), np.zeros(jobs, dtype=np.int64),
        columns.ends, hints=np.full(jobs, -1, dtype=np.int64),
    )  # fmt: skip
    name = f"{jobs:,} jobs, {servers} servers, {slots:,} slots, {utility}: round of pricing"
    some = sum(run is not None for run in price())
    told = f"{columns.ends.size} blocks, {some} jobs with a run"
    return Line(name, seconds(price, runs), None, told)


def draw(grown: Sequence[Grown], path: Path) -> None:
    """Plot CPU time over each size, with lines of slope one through the base."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
    for axis, (what, sizes) in zip(axes, GROWTH.items(), strict=True):
        for utility, color in (("linear", "C0"), ("convex", "C1")):
            of = [g for g in grown if (g.utility, g.what) == (utility, what)]
            x, y = [g.size for g in of], [1000 * g.line.cpu for g in of]
            axis.loglog(x, y, "o-", color=color, label=f"{utility} utilities")
            base = y[x.index(BASE[what])]
            axis.loglog(x, [base * size / BASE[what] for size in x], ":", color=color, alpha=0.6)
        rest = ", ".join(f"{n:,} {name}" for name, n in BASE.items() if name != what)
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axis.minorticks_off()
        axis.set_xlabel(f"{what} ({rest})")
    axes[0].set_ylabel("ms of CPU, one round of pricing")
    axes[0].legend(frameon=False)
    save(figure, path)
    plt.close(figure)


def report(runs: int, largest: int, picture: Path | None) -> str:
    """All sections as Markdown."""
    text = [machine(COMMAND)]
    for utility in ("linear", "convex"):
        text += ["", f"### Revenue, {utility} utilities", ""]
        text += rows(of_utility(utility, runs, largest))
    text += ["", "### One best response", "", *rows(responses(runs))]
    text += ["", "### Proven optima of revenue", "", *rows(optima())]
    grown = list(rounds(runs, largest))
    text += ["", "### Growth of pricing", "", *rows(g.line for g in grown)]
    if picture is not None:
        draw(grown, picture)
        text += ["", f"![{CAPTION}]({PICTURE})"]
    return "\n".join(text)


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description="Measure bounds and lists of IRMP.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each measurement")
    parser.add_argument("--largest", type=int, default=1000, help="jobs of the largest workload")
    parser.add_argument("--into", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    picture = None if options.into is None else options.into.parent / PICTURE
    text = report(options.runs, options.largest, picture)
    deliver(text, options.into, MARKERS)


if __name__ == "__main__":
    main()
