"""Measure the bounds of rewards for deadlines, and print their part of docs/benchmarks.md.

    python tests/benchmarks/rewards.py TRACES                        # to the screen
    python tests/benchmarks/rewards.py TRACES --into docs/benchmarks.md   # between its markers

TRACES is a folder with chronus/trace_job_Philly_MIX2.csv.gz. Each number is of one run, in CPU
seconds of the process, once everything is compiled.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import gangsched as gs
from gangsched.analysis.comparing.best_known import MOVES
from gangsched.analysis.proofs.bound import Effort
from gangsched.formulations import DeadlineRewards
from gangsched.instances.deadlines import testbed_workload
from gangsched.solvers.reward_pool import priced_schedule

try:
    from benchmarks.table import deliver, machine
except ImportError:  # run as a script
    from table import deliver, machine  # type: ignore[import-not-found, no-redef]

MARKERS = "<!-- rewards begin -->", "<!-- rewards end -->"
COMMAND = "python tests/benchmarks/rewards.py TRACES --into docs/benchmarks.md"
FILE = Path("chronus") / "trace_job_Philly_MIX2.csv.gz"
#: nodes of eight GPUs, and how many jobs of MIX2
CLUSTERS = ((64, None), (40, None), (8, 2_000))
HEAD = (
    "| workload | jobs with deadlines | GPUs | effort | bound | best known | bracket | s of bound "
    "| s of proof | s of schedule |"
)


def problems(traces: Path) -> Iterator[tuple[str, DeadlineRewards]]:
    """The workloads by name."""
    for name in ("T360", "T720"):
        yield name, DeadlineRewards(testbed_workload(int(name[1:])))
    trace = gs.traces.read_chronus(traces / FILE)
    for nodes, jobs in CLUSTERS:
        cluster = gs.Cluster.uniform(nodes=nodes, gpus_per_node=8)
        made = gs.convert.to_instance(trace, cluster, jobs=jobs)
        name = "MIX2" if jobs is None else f"MIX2, first {jobs:,}"
        yield name, DeadlineRewards(made.instance)


def row(name: str, problem: DeadlineRewards, effort: Effort) -> str:
    """Measure one bound, its proof, and the best known schedule."""
    began = time.process_time()
    bound = gs.bound(problem, effort)
    made = time.process_time()
    gs.verify_bound(problem, bound)
    proved = time.process_time()
    proof = bound.certificate or {}
    best = priced_schedule(problem, proof["times"], proof["prices"], moves=MOVES[effort])
    done = time.process_time()
    assert not problem.violations(best)
    won = problem.objective(best)
    due = sum(bool(job.rewards) for job in problem.jobs)
    cells = [name, f"{due:,}", str(problem.instance.cluster.gpus), effort]
    cells += [f"{bound.value:,.10g}", f"{won:,.10g}", f"{bound.value / won:.4f}"]
    cells += [f"{b - a:.1f}" for a, b in ((began, made), (made, proved), (proved, done))]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description="Measure bounds of rewards.")
    parser.add_argument("traces", type=Path, help=f"folder with {FILE.as_posix()}")
    parser.add_argument("--into", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    first = machine(COMMAND)
    row("T20", DeadlineRewards(testbed_workload(20)), "full")  # compiles
    lines = [first, "", HEAD, "|---" * HEAD.count(" | ") + "|---|"]
    for name, problem in problems(options.traces):
        lines += [row(name, problem, effort) for effort in get_args(Effort)]
    text = "\n".join(lines)
    deliver(text, options.into, MARKERS)


if __name__ == "__main__":
    main()
