"""Which random instances are solved to the optimum, by problem, size and width of gangs.

`python docs/pages/optima.py PYTHON` solves the same instances by another version of gangsched, that
of PYTHON's environment, into `which-optima-before.json`; the page compares with the one at commit
a7d9307, which had no search of windows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import fmean, median
from time import process_time
from typing import Any

import gangsched as gs
from gangsched import families
from gangsched.analysis.show.conditions import Conditions, seed_range
from gangsched.formulations.io import problem_to_dict
from gangsched.instances.library import gap_of, meets
from pages import DOCS, kept, put, table

#: the family's goals, and what the page calls them
GOALS = {
    "makespan": "Makespan",
    "flow": "Sum of flow times",
    "slowdown": "Sum of slowdowns",
    "rewards": "Deadline rewards",
    "stretch": "Worst user's stretch",
}
#: seconds by the number of jobs, and how many seeds: more of them only add cells
LIMITS = {8: 10.0, 12: 20.0, 20: 20.0, 100: 60.0}
SEEDS = {8: 10, 12: 10, 20: 5, 100: 1}
#: goals that are solved with 100 jobs too, for minutes
LARGE = "makespan", "flow", "stretch"
WIDTHS, LOADS = ("narrow", "wide"), (1.0, 1.5)
BOUND_LIMIT = 5.0
BEFORE_FILE = "which-optima-before.json"
#: heuristics that are a part of the exact method
OWN = "end-order", "configuration-lp"


def problem(goal: str, jobs: int, widths: str, load: float, seed: int) -> Any:
    """A random instance of the family "gangs"."""
    about = {"goal": goal, "jobs": jobs, "nodes": 1 if jobs <= 20 else 2}
    about |= {"load": load, "widths": widths}
    return families.make({"family": "gangs", "arguments": about, "seed": seed})


def by_cpu() -> None:
    """Let limits be CPU seconds, so that what else the machine does changes nothing."""
    time.perf_counter = time.monotonic = time.process_time


@cache
def warm(goal: str) -> None:
    """Load machine code, so that no run has to."""
    for widths in WIDTHS:
        gs.solve_exact(problem(goal, 12, widths, 1.5, 99), time_limit=10)


def measured(goal: str, jobs: int, widths: str, load: float, seed: int) -> dict[str, Any]:
    """Solve one, and bound it without branching."""
    warm(goal)
    by_cpu()
    made = problem(goal, jobs, widths, load, seed)
    simple = gs.bound(made, "full", time_limit=BOUND_LIMIT)
    began = process_time()
    result = gs.solve_exact(made, time_limit=LIMITS[jobs])
    seconds = process_time() - began
    gs.verify_bound(made, result.bound)
    values = [
        value
        for name, value in result.info["heuristics"].items()
        if name not in OWN and not isinstance(value, str) and value is not None
    ]
    return {
        "best": result.objective,
        "bound": result.bound.value,
        "simple": simple.value,
        "listed": (min if made.sense.value == "minimise" else max)(values),
        "nodes": result.iterations,
        "cpu": round(seconds, 2),
    }


def sizes(goal: str) -> list[int]:
    """Numbers of jobs that are measured."""
    return [jobs for jobs in LIMITS if goal in LARGE or jobs < 100]


def cells() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield the key of each cell, and what computes it."""
    for goal in GOALS:
        for jobs, widths, load in product(sizes(goal), WIDTHS, LOADS):
            for seed in range(SEEDS[jobs]):
                key = f"{goal}|{jobs}|{widths}|{load}|{seed}"
                yield key, partial(measured, goal, jobs, widths, load, seed)


# --- another version ------------------------------------------------------------------------------

#: what it runs: a line of a file and a limit is answered by one of the best value and the bound
BEFORE = """
import json, sys, time
import gangsched as gs
from gangsched.formulations.io import problem_from_dict
time.perf_counter = time.monotonic = time.process_time
for line in sys.stdin:
    given = json.loads(line)
    made = problem_from_dict(json.load(open(given["file"])))
    began = time.process_time()
    result = gs.solve_exact(made, time_limit=given["limit"])
    seconds = round(time.process_time() - began, 2)
    print(json.dumps([result.objective, result.bound.value, seconds]), flush=True)
"""


def solve_before(python: str, file: Path) -> None:
    """Solve all instances by the version of another Python."""
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([python, "-c", BEFORE], stdin=pipe, stdout=pipe, text=True) as run,
    ):
        assert run.stdin is not None
        assert run.stdout is not None
        name = Path(folder, "problem.json")

        def solved(key: str) -> dict[str, float]:
            goal, jobs, widths, load, seed = key.split("|")
            made = problem(goal, int(jobs), widths, float(load), int(seed))
            name.write_text(json.dumps(problem_to_dict(made)), "utf-8")
            print(json.dumps({"file": str(name), "limit": LIMITS[int(jobs)]}),
                  file=run.stdin, flush=True)  # fmt: skip
            best, bound, seconds = json.loads(run.stdout.readline())
            return {"best": best, "bound": bound, "cpu": seconds}

        kept(file, {key: partial(solved, key) for key, _ in cells()}, commit="a7d9307")


# --- page ----------------------------------------------------------------------------------------


def shares(gaps: list[float]) -> str:
    """Mean and worst of relative distances."""
    return f"{100 * fmean(gaps):.2f} % ({100 * max(gaps):.2f})"


def row(
    goal: str, jobs: int, widths: str, data: Mapping[str, Any], before: Mapping[str, Any]
) -> list[Any]:
    """What is said of a problem, a size and a width."""
    keys = [f"{goal}|{jobs}|{widths}|{load}|{seed}"
            for load, seed in product(LOADS, range(SEEDS[jobs]))]  # fmt: skip
    mine, others = [data[key] for key in keys], [before[key] for key in keys]
    proven, then = (
        sum(meets(cell["best"], cell["bound"]) for cell in some) for some in (mine, others)
    )
    seconds = [cell["cpu"] for cell in mine]
    distances = [
        shares([gap_of(cell["best"], cell[what]) for cell in some])
        for some, what in ((mine, "bound"), (others, "bound"), (mine, "simple"), (mine, "listed"))
    ]
    spent = f"{median(seconds):.1f} ({max(seconds):.1f})"
    here = [jobs, widths, f"{proven} of {len(mine)}", distances[0], spent]
    return [*here, f"{then} of {len(mine)}", *distances[1:]]


def shown(data: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """A table for each problem."""
    heads = (
        "jobs", "gangs", "proven", "gap: mean (worst)", "CPU s: median (max)", "proven before",
        "gap before", "bound without branching", "best heuristic",
    )  # fmt: skip
    parts = []
    for goal, title in GOALS.items():
        rows = [
            row(goal, jobs, widths, data, before) for jobs, widths in product(sizes(goal), WIDTHS)
        ]
        parts += [f"## {title}", table(heads, rows, left=2)]
    limits = ", ".join(f"{limit:g} s for {jobs} jobs" for jobs, limit in LIMITS.items())
    counts = ", ".join(f"{seed_range(range(n))} for {jobs}" for jobs, n in SEEDS.items())
    below = Conditions(
        information="all solvers know the whole instance",
        seeds=f"{counts} jobs; loads 1 and 1.5",
        excluded="no job",
        parameters=f"limits in CPU seconds {limits}, {BOUND_LIMIT:g} s for the bound "
        "without branching",
        certificate="every bound of `solve_exact` verified",
    )
    return "\n\n".join([*parts, compared(data, before), str(below)])


def compared(data: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """On how many instances schedules and bounds are better than before, or worse."""
    counts = []
    for what in ("best", "bound"):
        moved = list[float]()
        for key, now in data.items():
            larger = key.startswith("rewards") == (what == "best")  # whether that is better
            if not meets(now[what], before[key][what]):
                moved.append((now[what] - before[key][what]) * (1 if larger else -1))
        better = sum(move > 0 for move in moved)
        counts.append(f"better on {better} and worse on {len(moved) - better}")
    return (
        f"Of {len(data)} instances the schedule is {counts[0]} than before, the bound {counts[1]}."
    )


def write(page: Path) -> None:
    head = {"version": gs.__version__}
    found = kept(page.with_suffix(".json"), dict(cells()), **head)
    before = json.loads(page.with_name(BEFORE_FILE).read_text("utf-8"))
    put(page, "tables", shown(found["cells"], before["cells"]))


if __name__ == "__main__":
    solve_before(sys.argv[1], DOCS / "explanation" / BEFORE_FILE)
