"""Measure how AlloX's matching grows: jobs, GPUs per model, and how jobs' speeds differ.

    python tests/benchmarks/position_matching.py

Times are those of one call, after one that compiles; each matching is proven optimal
(apart from the time). Nothing here passes or fails on a time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gangsched.solvers.policies.position_matching import optimality_violations, position_matching

Ints = NDArray[np.int64]

GPUS = {
    "1,000 + 800 + 700": (1000, 800, 700),
    "30 + 20 + 5": (30, 20, 5),
    "1 + 1 + 1": (1, 1, 1),
    "2,500": (2500,),
}
MOST = {"1 + 1 + 1": 3000}  # jobs; others up to all of JOBS
JOBS = (1_000, 3_000, 10_000)


def work(jobs: int, seed: int) -> NDArray[np.float64]:
    """Run times over several orders of magnitude."""
    found: NDArray[np.float64] = np.random.default_rng(seed).lognormal(7, 1.5, (jobs, 1))
    return found


def workloads(jobs: int, models: int) -> Iterator[tuple[str, Ints]]:
    """Times on each model: one speed each, speeds of 26 kinds of job, of each job, and noise."""
    rng = np.random.default_rng(jobs)
    speed = 1.0 + 1.5 * np.arange(models)
    kinds = np.exp(rng.normal(0, 0.7, (26, models)))[rng.integers(0, 26, jobs)]
    noise = np.exp(rng.normal(0, 0.3, (jobs, models)))
    for name, rates in (("same speeds", speed), ("26 kinds", kinds), ("own", speed * noise)):
        yield name, np.ceil(work(jobs, 1) / np.broadcast_to(rates, (jobs, models))).astype(np.int64)
    yield "random times", rng.integers(1, 10_000, (jobs, models))


def main() -> None:
    """Print a line for each case."""
    position_matching([[1, 2], [2, 1]], [1, 1])
    row = "{:>8} {:>18} {:>14} {:>9} {:>9} {:>8}\n"
    sys.stdout.write(row.format("jobs", "GPUs by model", "speeds", "wall s", "CPU s", "proven"))
    for name, gpus in GPUS.items():
        for jobs in (n for n in JOBS if n <= MOST.get(name, n)):
            for speeds, times in workloads(jobs, len(gpus)):
                began, cpu = time.perf_counter(), time.process_time()
                matching = position_matching(times, gpus)
                seconds = time.perf_counter() - began, time.process_time() - cpu
                proven = "yes" if optimality_violations(times, gpus, matching) == [] else "NO"
                sys.stdout.write(
                    row.format(jobs, name, speeds, *(f"{s:.3f}" for s in seconds), proven)
                )
                sys.stdout.flush()


if __name__ == "__main__":
    main()
