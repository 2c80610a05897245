"""Measure bounds and lists of IRMP, and print their table of docs/benchmarks.md.

    python tests/benchmarks/revenue.py                            # to the screen
    python tests/benchmarks/revenue.py --into docs/benchmarks.md    # between the markers there

How times are taken: see table.py. Workloads are synthetic, see `paper_problem`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gangsched.analysis.certificates import verify_bound
from gangsched.formulations.irmp import Irmp, paper_problem
from gangsched.solvers.irmp_columns import Columns, generate
from gangsched.solvers.irmp_lists import in_order, in_shape, lp_list, posted_prices

try:
    from benchmarks.table import Line, machine, rows, seconds
except ImportError:  # run as a script
    from table import Line, machine, rows, seconds  # type: ignore[import-not-found, no-redef]

MARKERS = "<!-- revenue begins -->", "<!-- revenue ends -->"
COMMAND = "python tests/benchmarks/revenue.py --into docs/benchmarks.md"
#: (jobs, servers, slots): seconds of bound and schedule together
CASES = {(100, 100, 1024): 15.0, (400, 200, 1024): None, (1000, 550, 2048): 45.0}


def lines(name: str, problem: Irmp, slots: int, target: float | None, runs: int) -> Iterator[Line]:
    """The bound, the two lists, and both together."""
    found: list[Any] = []

    def solve() -> None:
        found[:] = [lp_list(problem, slots=slots)]

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
        found[:] = [posted_prices(problem, slots=slots)]

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


def report(runs: int, largest: int) -> str:
    """All sections as Markdown."""
    text = [machine(COMMAND)]
    for utility in ("linear", "convex"):
        text += ["", f"### Revenue, {utility} utilities", ""]
        text += rows(of_utility(utility, runs, largest))
    return "\n".join(text)


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description="Measure bounds and lists of IRMP.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each measurement")
    parser.add_argument("--largest", type=int, default=1000, help="jobs of the largest workload")
    parser.add_argument("--into", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    text = report(options.runs, options.largest)
    if options.into is None:
        sys.stdout.write(text + "\n")
        return
    page = options.into.read_text("utf-8")
    before, rest = page.split(MARKERS[0])
    after = rest.split(MARKERS[1])[1]
    options.into.write_text(
        f"{before}{MARKERS[0]}\n\n{text}\n\n{MARKERS[1]}{after}", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
