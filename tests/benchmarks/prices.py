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
from gangsched.analysis.comparing.best_known import EFFORTS, KNOWN, best_known
from gangsched.analysis.proofs.completion_time import online_bound
from gangsched.formulations import CompletionTime
from gangsched.instances import heterogeneous

try:
    from benchmarks.table import deliver, machine
except ImportError:  # run as a script
    from table import deliver, machine  # type: ignore[import-not-found, no-redef]

MARKERS = "<!-- prices begin -->", "<!-- prices end -->"
COMMAND = "python tests/benchmarks/prices.py TRACES --into docs/benchmarks.md"
NODES = (40, 38, 34, 31)  #: of eight GPUs
MODELS = [("v100", 5, 4), ("p100", 9, 4), ("k80", 24, 4)]
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
                    yield row(CompletionTime(instance, measure), str(nodes), effort)
    cluster = heterogeneous.mixed_cluster(MODELS)
    instance = heterogeneous.with_speeds(gs.convert.to_instance(trace, cluster).instance)
    for effort in EFFORTS:
        yield row(CompletionTime(instance, "flow"), "three models", effort)


def row(problem: CompletionTime, nodes: str, effort: str) -> str:
    """Measure one bound, its proof, and the best known schedule."""
    unit = 3_600 if problem.measure == "flow" else 1
    each = len(problem.jobs) * unit
    busy = gs.analysis.proofs.completion_time.busy_time_bound(problem)
    began = time.process_time()
    bound = online_bound(problem, **EFFORTS[effort])  # type: ignore[index]
    made = time.process_time()
    gs.verify_bound(problem, bound)
    proved = time.process_time()
    best = best_known(problem, effort)  # type: ignore[arg-type]
    assert best is not None
    done = time.process_time()
    mark = " h" if unit > 1 else ""
    values = (busy.value / each, bound.value / each, best.objective / each)
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
        row(CompletionTime(small, measure), "", "full")  # compiles
    three = gs.convert.to_instance(trace, heterogeneous.mixed_cluster(MODELS), jobs=200).instance
    row(CompletionTime(heterogeneous.with_speeds(three), "flow"), "", "full")
    lines = [first, "", HEAD, "|---" * HEAD.count(" | ") + "|---|", *rows(trace)]
    text = "\n".join(lines)
    deliver(text, options.into, MARKERS)


if __name__ == "__main__":
    main()
