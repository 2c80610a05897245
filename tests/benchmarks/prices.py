"""Measure the bounds of completion times by prices, and print their part of docs/benchmarks.md.

    python tests/benchmarks/prices.py TRACES                          # to the screen
    python tests/benchmarks/prices.py TRACES --into docs/benchmarks.md   # between the markers there

TRACES is a folder with philly/philly.csv.gz. Each number is of one run, in CPU seconds of the
process, once everything is compiled.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import gangsched as gs
from gangsched.analysis.comparing.best_known import EFFORTS, KNOWN, POWERS
from gangsched.analysis.proofs.completion_time import online_bound
from gangsched.formulations import CompletionTime
from gangsched.solvers.pool import AreaOrderParams, area_order

try:
    from benchmarks.table import deliver, machine
except ImportError:  # run as a script
    from table import deliver, machine  # type: ignore[import-not-found, no-redef]

MARKERS = "<!-- prices begin -->", "<!-- prices end -->"
COMMAND = "python tests/benchmarks/prices.py TRACES --into docs/benchmarks.md"
NODES = (40, 38, 34, 31)  #: of eight GPUs
HEAD = (
    "| nodes | measure | effort | by mean busy times | bound | best known | bracket | s of bound "
    "| s of proof | s of schedules |"
)


def rows(trace: gs.traces.Trace) -> Iterator[str]:
    """One line for each cluster, measure and effort."""
    for nodes in NODES:
        cluster = gs.Cluster.uniform(nodes=nodes, gpus_per_node=8)
        instance = gs.convert.to_instance(trace, cluster).instance
        for measure in KNOWN:
            for effort in EFFORTS:
                if nodes == NODES[0] or (measure == "flow" and effort == "full"):
                    yield row(CompletionTime(instance, measure), nodes, effort)


def row(problem: CompletionTime, nodes: int, effort: str) -> str:
    """Measure one bound, its proof, and the best known schedule."""
    unit = 3_600 if problem.measure == "flow" else 1
    each = len(problem.jobs) * unit
    busy = gs.analysis.proofs.completion_time.busy_time_bound(problem)
    began = time.process_time()
    bound = online_bound(problem, **EFFORTS[effort])  # type: ignore[index]
    made = time.process_time()
    gs.verify_bound(problem, bound)
    proved = time.process_time()
    orders = [AreaOrderParams(power=power) for power in POWERS[effort]]  # type: ignore[index]
    best = min((area_order(problem, params=order) for order in orders), key=lambda r: r.objective)
    assert best.solution is not None
    assert not problem.violations(best.solution)
    done = time.process_time()
    mark = " h" if unit > 1 else ""
    values = (busy.value / each, bound.value / each, float(best.objective or 0) / each)
    cells = [f"{value:.3f}{mark}" for value in values]
    cells += [f"{values[2] / values[1]:.4f}"]
    cells += [f"{b - a:.1f}" for a, b in ((began, made), (made, proved), (proved, done))]
    return f"| {nodes} | {problem.measure} | {effort} | {' | '.join(cells)} |"


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description="Measure bounds by prices.")
    parser.add_argument("traces", type=Path, help="folder with philly/philly.csv.gz")
    parser.add_argument("--into", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    first = machine(COMMAND)
    trace = gs.traces.read_philly_csv(options.traces / "philly" / "philly.csv.gz")
    small = gs.convert.to_instance(trace, gs.Cluster.of_sizes([320]), jobs=200).instance
    for measure in KNOWN:
        row(CompletionTime(small, measure), 1, "full")  # compiles
    lines = [first, "", HEAD, "|---" * HEAD.count(" | ") + "|---|", *rows(trace)]
    text = "\n".join(lines)
    deliver(text, options.into, MARKERS)


if __name__ == "__main__":
    main()
