"""Prove optima of queues of deadline jobs and of revenue problems, for docs/benchmarks.md.

    python tests/benchmarks/exact_others.py                            # to the screen
    python tests/benchmarks/exact_others.py --into docs/benchmarks.md

Each instance has 60 seconds of wall time, building included. Instances are drawn by seed:

- *queue of 60*: 60 jobs that want 1.5 times as many GPUs as there are, with the gangs of Philly
  (most of one GPU) or of Helios (half of them of 2 to 32), setting `queue-...` of `unisched`;
- *revenue 12 x 8 x 48*: 12 jobs of 2 to 8 chunks, on 8 servers with 2 or 4 workers and one
  parameter server; they take 6 to 16 slots where all workers are on one server, four times as long
  elsewhere, and are worth nothing after 48 slots (linear) or fall as e / t^kappa (convex).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.formulations import Irmp
from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob, Power
from gangsched.registry import PROBLEMS

try:
    from benchmarks.table import deliver, machine
except ImportError:  # run as a script
    from table import deliver, machine  # type: ignore[import-not-found, no-redef]

MARKERS = "<!-- exact others begin -->", "<!-- exact others end -->"
COMMAND = "python tests/benchmarks/exact_others.py --into docs/benchmarks.md"
SECONDS, SEEDS = 60.0, range(10)
SLOTS = 48


def queue(mix: str, seed: int) -> Any:
    return PROBLEMS["unisched"].settings[mix](jobs=60, nodes=None, seed=seed)


def revenue(law: str, seed: int) -> Irmp:
    rng = np.random.default_rng(seed)
    nodes = [Node(f"s{i}", int(rng.choice([2, 4])), ps=1) for i in range(8)]
    jobs = []
    for i in range(12):
        slope, kappa = int(rng.integers(1, 6)), round(float(rng.uniform(1, 2)), 3)
        utility = {
            "linear": Linear(-slope, slope * SLOTS),
            "convex": Power(100.0 * slope, kappa),
        }[law]
        chunks, epochs = int(rng.integers(2, 9)), int(rng.integers(6, 17))
        jobs.append(
            ParameterServerJob(
                id=f"j{i}", gpus=chunks, epochs=epochs, minibatches=1, rates=(1, 0.25),
                utility=utility,
            )
        )  # fmt: skip
    return Irmp(Instance(Cluster(nodes), jobs))


FAMILIES: dict[str, Callable[[int], Any]] = {
    "queue of 60, Philly": partial(queue, "queue-philly"),
    "queue of 60, Helios": partial(queue, "queue-helios"),
    "revenue 12 x 8 x 48, linear": partial(revenue, "linear"),
    "revenue 12 x 8 x 48, convex": partial(revenue, "convex"),
}


def rows(name: str, made: Callable[[int], Any]) -> Iterator[str]:
    proven, slowest, gaps = 0, 0.0, []
    for seed in SEEDS:
        problem = made(seed)
        began = perf_counter()
        result = gs.solve(problem, "exact", time_limit=SECONDS)
        seconds = perf_counter() - began
        assert not problem.violations(result.solution)
        print(
            f"{name} {seed}: {result.objective} {result.status.value} {seconds:.1f} s", flush=True
        )
        if result.status.value == "optimal":
            proven, slowest = proven + 1, max(slowest, seconds)
        else:
            gaps.append(f"seed {seed}: {100 * result.gap:.2f} %")
    yield f"| {name} | {proven} of {len(SEEDS)} | {slowest:.1f} | {', '.join(gaps) or 'none'} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    first = machine(COMMAND)
    lines = [
        first,
        "",
        "| instances, seeds 0 to 9 | proven optimal | slowest of these (s) | gap of the others |",
        "| --- | ---: | ---: | --- |",
        *(line for name, made in FAMILIES.items() for line in rows(name, made)),
    ]
    deliver("\n".join(lines), options.into, MARKERS)


if __name__ == "__main__":
    main()
