"""Measure UniSched's selector, and print the third table of docs/benchmarks.md.

    python tests/benchmarks/selector.py                            # to the screen
    python tests/benchmarks/selector.py --into docs/benchmarks.md    # between the markers there

How times are taken: see table.py. Queues are synthetic, see `queue_snapshot`.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gangsched.formulations.unisched.compact import (
    Options,
    capacity_of_problem,
    compact,
    options_of_problem,
)
from gangsched.formulations.unisched.leases import LeasePhase
from gangsched.formulations.unisched.problem import UniSched
from gangsched.instances.deadlines import queue_snapshot
from gangsched.instances.schedule import Schedule
from gangsched.solvers.unisched.density import by_density
from gangsched.solvers.unisched.lease_schedule import realise
from gangsched.solvers.unisched.selector import Selection, Selector

try:
    from benchmarks.table import Line, deliver, machine, rows, seconds
except ImportError:  # run as a script
    from table import Line, deliver, machine, rows, seconds  # type: ignore[import-not-found, no-redef]

MARKERS = "<!-- selector begins -->", "<!-- selector ends -->"
COMMAND = "python tests/benchmarks/selector.py --into docs/benchmarks.md"
#: seconds of a selection with option generation, and of the linear program of a warm cycle
TARGETS = {2000: 1.0, 20_000: 10.0}
WARM = {2000: 0.04}
LIMIT = 10.0


class Timed(Selector):
    """A selector that tells how long the linear programs took."""

    runs: list[tuple[float, float]]

    def _relaxed(self, *arguments: Any) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        found = super()._relaxed(*arguments)
        self.runs = [(time.perf_counter() - wall, time.process_time() - cpu)]
        return found


def case(problem: UniSched) -> tuple[Options, Any]:
    """Options, and what there is."""
    options = options_of_problem(problem)
    return options, capacity_of_problem(problem, options.slots)


def gap(selection: Selection) -> str:
    """Of the certified bound."""
    return f"gap {selection.bound.value / selection.value - 1:.1e}"


def next_cycle(problem: UniSched, schedule: Schedule) -> tuple[UniSched, Any, str]:
    """The queue a lease later, with what it is called: as many have come as are gone."""
    ran = {row.job for row in schedule if row.start == 0}
    jobs, keys, phases = [], [], {}
    for i, job in enumerate(problem.jobs):
        work = (job.work or 0) - problem.lease * (i in ran)
        rewards = [(d - problem.lease, v) for d, v in job.rewards if d > problem.lease]
        if work > 0 and (rewards or job.best_effort):
            phases[len(jobs)] = LeasePhase.RUNNING if i in ran else LeasePhase.SUSPENDED
            jobs.append(replace(job, work=work, rewards=rewards))
            keys.append(i)
    new = len(problem.jobs) - len(jobs)
    for k in range(new):
        jobs.append(replace(problem.jobs[k], id=f"new{k}"))
        keys.append(len(problem.jobs) + k)
    later = replace(problem, instance=replace(problem.instance, jobs=jobs), phases=phases)
    return later, np.array(keys), f"{len(ran):,} jobs ran, {new:,} left and as many came"


def selections(jobs: int, mix: Any, runs: int) -> Iterator[Line]:
    """One cycle from nothing, and the next one."""
    problem = UniSched(queue_snapshot(jobs, mix=mix))
    gpus = problem.instance.cluster.gpus
    options, room = case(problem)
    name = f"{jobs:,} jobs, {mix}"
    found: list[Selection] = []

    def select() -> None:
        found[:] = [Selector().select(*case(problem))]

    size = f"{len(options):,} options, {options.slots:,} slots, {gpus:,} GPUs"
    yield Line(f"{name}: options", seconds(lambda: options_of_problem(problem), runs), None, size)
    blocks = compact(options, room)
    entries = f"{blocks.D.nnz:,} entries of D"
    yield Line(f"{name}: all blocks", seconds(lambda: compact(options, room), runs), None, entries)
    taken = seconds(select, runs)
    value = float(options.value[by_density(options, room)].sum())
    alone = f"{gap(found[0])}, by density alone {found[0].bound.value / value - 1:.1e}; "
    alone += f"{found[0].iterations:,} iterations, {found[0].rounds} programs"
    yield Line(f"{name}: options and selection", taken, TARGETS.get(jobs), alone)
    selector = Timed()
    selection = selector.select(options, room, keys=np.arange(jobs))
    yield Line(f"{name}: of this, linear programs", selector.runs)
    realised = realise(problem, options, selection.chosen)
    missed = f"{len(selection.chosen):,} selected, {len(realised.missed)} not placed"
    yield Line(
        f"{name}: schedule of all leases",
        seconds(lambda: realise(problem, options, selection.chosen), 1, warm=False),
        None,
        missed,
    )
    later, keys, told = next_cycle(problem, realised.schedule)
    options, room = case(later)
    for what, warm, shift in (("warm", True, 1), ("cold", False, 1), ("not shifted", True, 0)):
        times = []
        for _ in range(runs):
            again = copy.deepcopy(selector)
            again._warm = warm
            selection = again.select(options, room, keys=keys, shift=shift)
            times += again.runs
        did = f"{selection.iterations:,} iterations, {selection.rounds} programs; {gap(selection)}"
        yield Line(
            f"{name}: linear programs of the next cycle, {what}",
            times,
            WARM.get(jobs) if what == "warm" else None,
            f"{did}; {told}" if what == "warm" else did,
        )


def exact(jobs: int, seed: int) -> Line:
    """Branch and bound after it, within a limit."""
    problem = UniSched(queue_snapshot(jobs, seed=seed))
    found: list[Selection] = []
    selector = Selector()

    def select() -> None:
        found[:] = [selector.select(*case(problem), exact=True, time_limit=LIMIT)]

    taken = seconds(select, 1, warm=False)
    rounded = Selector().select(*case(problem))
    outcome = f"{gap(rounded)} before, {gap(found[0])} after ({found[0].bound.method})"
    return Line(f"{jobs:,} jobs, seed {seed}, limit {LIMIT:g} s", taken, LIMIT + 2, outcome)


def report(runs: int, largest: int) -> str:
    """All sections as Markdown."""
    text = [machine(COMMAND)]
    for mix in ("helios", "philly"):
        text += ["", f"### Selections, {mix} mix"]
        for jobs in (200, 2000, 20_000):
            if jobs <= largest:
                few = runs if jobs < 20_000 else min(runs, 2)
                text += ["", *rows(selections(jobs, mix, few))]
    text += ["", "### Exact finish", ""]
    text += rows(exact(jobs, seed) for jobs in (50, 200, 1000) for seed in (0, 1))
    return "\n".join(text)


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description="Measure the selector.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each measurement")
    parser.add_argument("--largest", type=int, default=20_000, help="jobs of the largest queue")
    parser.add_argument("--into", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    text = report(options.runs, options.largest)
    deliver(text, options.into, MARKERS)


if __name__ == "__main__":
    main()
