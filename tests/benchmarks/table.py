"""Measure speed and scale, and print the table of docs/benchmarks.md.

    python tests/benchmarks/table.py                          # to the screen
    python tests/benchmarks/table.py --into docs/benchmarks.md    # between the markers there

Every time is the median of several runs in one process, after one run that is not counted (it
compiles). Wall time is what a user waits, CPU time is what is left of it on a machine that others
use too. Nothing here passes or fails; tests/benchmarks/test_speed.py asserts ratios of times.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.analysis.exact import solve_exact
from gangsched.analysis.proofs.makespan import area_bound, configuration_bound, dff_bound
from gangsched.formulations.rar_ddls.problem import RarDdls, evaluate
from gangsched.instances.cores import cores
from gangsched.solvers import (
    ExactParams,
    backfilling,
    first_fit,
    list_scheduling,
    random_placement,
)

MARKERS = "<!-- table begins -->", "<!-- table ends -->"
COMMAND = "python tests/benchmarks/table.py --into docs/benchmarks.md"
LIMIT = 60.0  # seconds of an exact solution
PACKAGES = ("numpy", "numba", "pyomo", "highspy")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table: what was measured, (wall, CPU) seconds of its runs, the target if any.

    `outcome` is what the measured call gave, where that says something.
    """

    what: str
    runs: Sequence[tuple[float, float]]
    target: float | None = None
    outcome: str = ""

    @property
    def wall(self) -> float:
        return statistics.median(wall for wall, _ in self.runs)

    @property
    def cpu(self) -> float:
        return statistics.median(cpu for _, cpu in self.runs)


def paper_problem(seed: int = 0, variant: Any = "B") -> RarDdls:
    """160 jobs on 20 servers of 4, 8, 16 or 32 GPUs, T = 1200: Section 7 of the paper."""
    cluster = gs.generate.paper_cluster(20, seed=seed)
    instance = gs.generate.rar_workload(cluster, jobs=160, seed=seed, variant=variant)
    return RarDdls(instance, horizon=1200)


def large_problem(seed: int = 0) -> RarDdls:
    """Ten times the paper's jobs and servers, no horizon."""
    cluster = gs.generate.paper_cluster(200, seed=seed)
    return RarDdls(gs.generate.rar_workload(cluster, jobs=1600, seed=seed, variant="B"))


def stretched(problem: RarDdls, times: int) -> RarDdls:
    """The same jobs with so many times the iterations, and no horizon."""
    jobs = [replace(job, iterations=times * job.iterations) for job in problem.jobs]
    return RarDdls(replace(problem.instance, jobs=tuple(jobs)))


def seconds(call: Callable[[], Any], runs: int, *, warm: bool = True) -> list[tuple[float, float]]:
    """(wall, CPU) seconds of several calls, after one that is not counted."""
    if warm:
        call()
    taken = []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        taken.append((time.perf_counter() - wall, time.process_time() - cpu))
    return taken


def slot_by_slot(
    problem: RarDdls, start: Sequence[int], placement: Sequence[dict[int, int]]
) -> list[int]:
    """Ends of all jobs, found by going through every slot: what `evaluate` does by events."""
    left = [job.iterations * problem.resolution for job in problem.jobs]
    end, t = [0] * len(left), 0
    while any(rest > 0 for rest in left):
        active = [j for j, rest in enumerate(left) if rest > 0 and start[j] <= t]
        crossing: dict[int, int] = {}
        for j in active:
            for s in placement[j] if len(placement[j]) > 1 else ():
                crossing[s] = crossing.get(s, 0) + 1
        for j in active:
            span = placement[j]
            p = max(crossing[s] for s in span) if len(span) > 1 else 0
            left[j] -= int(problem.rates[j, len(span) - 1, min(p, problem.rates.shape[2] - 1)])
            end[j] = t + 1
        t += 1
    return end


def certify(problem: RarDdls, result: Any) -> float | None:
    """What a certified ratio costs once the schedule is there: bound, replay, division."""
    bound = gs.bound(problem)
    gs.verify_bound(problem, bound)
    return gs.ratio(result, bound)


def policies(problem: RarDdls, runs: int) -> Iterator[Line]:
    """SJF-BCO compiled and as plain Python, and the baselines."""
    reference = gs.solvers.SjfBcoParams(compiled=False)
    bco = partial(gs.solvers.sjf_bco, problem)
    plain = partial(gs.solvers.sjf_bco, problem, params=reference)
    same = "identical" if bco().solution == plain().solution else "DIFFERENT"
    yield Line("SJF-BCO, compiled", seconds(bco, runs), 0.1, f"{bco().iterations} runs")
    yield Line("SJF-BCO, plain Python reference", seconds(plain, runs, warm=False), 1.0, same)
    others = {
        "first fit": first_fit,
        "list scheduling": list_scheduling,
        "random placement (plain Python only)": random_placement,
        "backfilling, longest first": backfilling,
        "laminar (stops at its own bound)": gs.solvers.laminar,
    }
    for name, solver in others.items():
        yield Line(name, seconds(partial(solver, problem), runs))
    yield check(problem, runs)


def check(problem: RarDdls, runs: int) -> Line:
    """What every solver's result costs beside the solving."""
    schedule = gs.solvers.sjf_bco(problem).solution
    assert schedule is not None
    name = "of each of these: checking the schedule, (1)-(9)"
    return Line(name, seconds(partial(problem.violations, schedule), runs))


def proofs(
    problem: RarDdls, runs: int, *, dff: float | None, ratio: float | None
) -> Iterator[Line]:
    """Bounds, their replay, and what a certified ratio costs in all."""
    result, bound = gs.solvers.sjf_bco(problem), dff_bound(problem)
    yield Line("area bound", seconds(partial(area_bound, problem), runs))
    call = partial(dff_bound, problem)
    yield Line("DFF bound", seconds(call, runs), dff, f"bound {bound.value} ({bound.method})")
    yield Line("replay of its certificate", seconds(partial(gs.verify_bound, problem, bound), runs))
    yield Line(
        "certified ratio, after the schedule",
        seconds(partial(certify, problem, result), runs),
        ratio,
        f"ratio {certify(problem, result):.4f}",
    )


def configuration(problem: RarDdls, runs: int) -> Iterator[Line]:
    """The stronger bound by column generation."""
    bound = configuration_bound(problem)
    yield Line(
        "configuration bound",
        seconds(partial(configuration_bound, problem), runs, warm=False),
        outcome=f"bound {bound.value} ({bound.method})",
    )
    replay = partial(gs.verify_bound, problem, bound)
    yield Line("replay of its certificate", seconds(replay, runs))


def evaluation(problem: RarDdls, runs: int) -> Iterator[Line]:
    """Completion times from starts and placements: by events, and through every slot."""
    schedule = gs.solvers.sjf_bco(problem).solution
    assert schedule is not None
    start, placement = schedule.start.tolist(), [dict(row.gpus) for row in schedule]
    by_slots = slot_by_slot(problem, start, placement)
    same = "identical" if by_slots == schedule.end.tolist() else "DIFFERENT"
    events = partial(evaluate, problem, start, placement)
    yield Line("evaluate, event by event", seconds(events, runs))
    slots = partial(slot_by_slot, problem, start, placement)
    yield Line("the same, slot by slot", seconds(slots, runs), outcome=same)


def large(problem: RarDdls, runs: int) -> Iterator[Line]:
    """Ten times the paper's size."""
    bco = partial(gs.solvers.sjf_bco, problem)
    result = bco()
    yield Line(
        "SJF-BCO, compiled", seconds(bco, runs, warm=False), 3.0, f"{result.iterations} runs"
    )
    yield Line("list scheduling", seconds(partial(list_scheduling, problem), runs))
    yield Line("backfilling, longest first", seconds(partial(backfilling, problem), runs))
    yield check(problem, runs)
    yield from proofs(problem, runs, dff=0.15, ratio=None)


def contended(jobs: int, sizes: Sequence[int], seed: int) -> RarDdls:
    """Few slots and so much contention that it decides what is best."""
    rng = np.random.default_rng(seed)
    made = [
        gs.RingJob(
            id=f"j{i}",
            gpus=int(rng.integers(1, 5)),
            iterations=int(rng.integers(8, 25)),
            gradient=0.15,
            base_time=0.01,
        )
        for i in range(jobs)
    ]
    instance = gs.Instance(gs.Cluster.of_sizes(sizes), made)
    return RarDdls(instance, xi1=1.0, xi2=0.005, alpha=0.5)


def exact(limit: float) -> Iterator[Line]:
    """Proven optima: how far the models get, one run each."""
    for form, sizes_tried in {"literal": (3, 4, 5, 6), "compact": (3, 4, 5, 6, 8, 10)}.items():
        for jobs, seed in product(sizes_tried, (0, 1)):
            problem = contended(jobs, (3, 3, 2), seed)
            yield solved(
                f"{form}: {jobs} jobs on 3 + 3 + 2 GPUs, seed {seed}", problem, form, limit
            )
    for seed in (0, 1, 2):
        cluster = gs.Cluster.of_sizes([4, 4])
        instance = gs.generate.rar_workload(cluster, jobs=6, seed=seed, variant="B")
        name = f"compact: 6 jobs of the paper's workload B on 4 + 4 GPUs, seed {seed}"
        yield solved(name, RarDdls(instance), "compact", limit)


def solved(name: str, problem: RarDdls, form: str, limit: float) -> Line:
    """One exact solution, with what is proven at its end."""
    found: list[Any] = []

    def solve() -> None:
        found.append(solve_exact(problem, time_limit=limit, params=ExactParams(form=form)))

    runs = seconds(solve, 1, warm=False)
    result = found[0]
    proven = f"{result.objective}, bound {result.bound.value}"
    if result.status is gs.Status.OPTIMAL:
        proven = f"optimum {result.objective}"
    columns = result.info.get("columns")
    size = "start meets the area bound" if columns is None else f"{columns:,} variables"
    return Line(name, runs, outcome=f"{proven}; {size}")


FIRST_CALL = """
import time
def now():
    return time.perf_counter(), time.process_time()
started = now()
import gangsched as gs
imported = now()
problem = gs.formulations.RarDdls(gs.generate.rar_workload(gs.generate.paper_cluster(seed=0)))
gs.solvers.sjf_bco(problem)
gs.solvers.backfilling(problem)
for before, after in (started, imported), (imported, now()):
    print(after[0] - before[0], after[1] - before[1])
"""


def first_calls(runs: int) -> Iterator[Line]:
    """Import and first solve of a new process, with an empty and with a filled cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        pairs = []
        for _ in range(runs + 1):
            done = subprocess.run(
                [sys.executable, "-c", FIRST_CALL],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            pairs.append([tuple(map(float, line.split())) for line in done.stdout.splitlines()])
    yield Line("`import gangsched`", [a for a, _ in pairs[1:]])
    yield Line("first SJF-BCO and backfilling, nothing compiled yet", [pairs[0][1]])
    yield Line("the same in later processes (compiled code is cached)", [b for _, b in pairs[1:]])


def rows(lines: Iterator[Line]) -> Iterator[str]:
    """The lines as Markdown."""
    yield "| what | wall | CPU | fastest wall | runs | target | met | outcome |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |"
    for line in lines:
        target = "" if line.target is None else shown(line.target)
        met = "" if line.target is None else ("yes" if line.wall <= line.target else "**no**")
        fastest = shown(min(line.runs)[0])
        cells = (shown(line.wall), shown(line.cpu), fastest, len(line.runs), target, met)
        yield f"| {line.what} | {' | '.join(map(str, cells))} | {line.outcome} |"
        progress(line.what)


def shown(value: float) -> str:
    """Seconds with two or three digits."""
    return f"{1000 * value:.3g} ms" if value < 1 else f"{value:.3g} s"


def progress(what: str) -> None:
    """Say on a terminal what has been measured."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{what}\n")


def machine(command: str = COMMAND) -> str:
    """What the numbers were measured on and with."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE)
        cpu = found[1] if found else cpu
    parts = [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in PACKAGES)]
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    return (
        f"Measured {datetime.now(UTC):%Y-%m-%d %H:%M} UTC with `{command}` on {cpu}, "
        f"{cores()} cores; {', '.join(parts)}. Load average when it began: {load}."
    )


def sections(runs: int) -> Iterator[tuple[str, Iterator[Line]]]:
    """Headings and what is measured below them."""
    paper, ten = paper_problem(), large_problem()
    yield "Paper scale: 160 jobs, 20 servers, T = 1200 (variant B, seed 0)", policies(paper, runs)
    yield "Proofs at that scale", proofs(paper, runs, dff=None, ratio=0.1)
    yield "The stronger bound (variant B, seed 2)", configuration(paper_problem(seed=2), 3)
    yield "Completion times, 20 times the iterations", evaluation(stretched(paper, 20), runs)
    yield "1,600 jobs, 200 servers (variant B, seed 0)", large(ten, max(3, runs // 2))
    limit = f"Exact solution (`solve_exact`, limit {LIMIT:g} s)"
    yield limit, exact(LIMIT)
    yield "A new process", first_calls(max(3, runs // 2))


def report(runs: int) -> str:
    """All tables as Markdown."""
    text = [machine()]
    for heading, lines in sections(runs):
        text += ["", f"### {heading}", "", *rows(lines)]
    return "\n".join(text)


def deliver(text: str, page: Path | None, markers: tuple[str, str]) -> None:
    """Print a text, or write it into a page between two markers."""
    if page is None:
        sys.stdout.write(text + "\n")
        return
    before, rest = page.read_text("utf-8").split(markers[0])
    after = rest.split(markers[1])[1]
    whole = f"{before}{markers[0]}\n\n{text}\n\n{markers[1]}{after}"
    page.write_text(whole, encoding="utf-8")


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description="Measure speed and scale.")
    parser.add_argument("--runs", type=int, default=7, help="runs of each measurement")
    parser.add_argument("--into", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    text = report(options.runs)
    deliver(text, options.into, MARKERS)


if __name__ == "__main__":
    main()
