"""Which random instances are solved to the optimum, by problem, size and width of gangs."""

from __future__ import annotations

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
from gangsched.instances.library import gap_of, meets
from pages import kept, put, table

#: the family's goals, and what the page calls them
GOALS = {
    "makespan": "Makespan",
    "flow": "Sum of flow times",
    "slowdown": "Sum of slowdowns",
    "rewards": "Deadline rewards",
    "stretch": "Worst user's stretch",
}
#: seconds by the number of jobs, and how many seeds: more of them only add cells
LIMITS = {8: 10.0, 12: 20.0, 20: 20.0}
SEEDS = {8: 2, 12: 2, 20: 2}
WIDTHS, LOADS = ("narrow", "wide"), (1.0, 1.5)
BOUND_LIMIT = 5.0
#: heuristics that are a part of the exact method
OWN = "end-order", "configuration-lp"


def problem(goal: str, jobs: int, widths: str, load: float, seed: int) -> Any:
    """A random instance of the family "gangs"."""
    about = {"goal": goal, "jobs": jobs, "nodes": 1 if jobs <= 20 else 2}
    about |= {"load": load, "widths": widths}
    return families.make({"family": "gangs", "arguments": about, "seed": seed})


@cache
def warm(goal: str) -> None:
    """Load machine code, so that no run has to."""
    for widths in WIDTHS:
        gs.solve_exact(problem(goal, 12, widths, 1.5, 99), time_limit=10)


def measured(goal: str, jobs: int, widths: str, load: float, seed: int) -> dict[str, Any]:
    """Solve one, and bound it without branching."""
    warm(goal)
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


def cells() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield the key of each cell, and what computes it: small ones first."""
    for jobs, goal, widths, load in product(LIMITS, GOALS, WIDTHS, LOADS):
        for seed in range(SEEDS[jobs]):
            key = f"{goal}|{jobs}|{widths}|{load}|{seed}"
            yield key, partial(measured, goal, jobs, widths, load, seed)


# --- page ----------------------------------------------------------------------------------------


def shares(gaps: list[float]) -> str:
    """Mean and worst of relative distances."""
    return f"{100 * fmean(gaps):.2f} % ({100 * max(gaps):.2f})"


def row(goal: str, jobs: int, widths: str, data: Mapping[str, Any]) -> list[Any]:
    """What is said of a problem, a size and a width."""
    mine = [data[f"{goal}|{jobs}|{widths}|{load}|{seed}"]
            for load, seed in product(LOADS, range(SEEDS[jobs]))]  # fmt: skip
    proven = sum(meets(cell["best"], cell["bound"]) for cell in mine)
    seconds = [cell["cpu"] for cell in mine]
    distances = [
        shares([gap_of(cell["best"], cell[what]) for cell in mine])
        for what in ("bound", "simple", "listed")
    ]
    spent = f"{median(seconds):.1f} ({max(seconds):.1f})"
    return [jobs, widths, f"{proven} of {len(mine)}", distances[0], spent, *distances[1:]]


def shown(data: Mapping[str, Any]) -> str:
    """A table for each problem."""
    heads = (
        "jobs", "gangs", "proven", "gap: mean (worst)", "CPU s: median (max)",
        "bound without branching", "best heuristic",
    )  # fmt: skip
    parts = []
    for goal, title in GOALS.items():
        rows = [row(goal, jobs, widths, data) for jobs, widths in product(LIMITS, WIDTHS)]
        parts += [f"## {title}", table(heads, rows, left=2)]
    limits = ", ".join(f"{limit:g} s for {jobs} jobs" for jobs, limit in LIMITS.items())
    counts = ", ".join(f"{seed_range(range(n))} for {jobs}" for jobs, n in SEEDS.items())
    below = Conditions(
        information="all solvers know the whole instance",
        seeds=f"{counts} jobs; loads 1 and 1.5",
        excluded="no job",
        parameters=f"limits on a core of its own {limits}, {BOUND_LIMIT:g} s for the bound "
        "without branching",
        certificate="every bound of `solve_exact` verified",
    )
    return "\n\n".join([*parts, str(below)])


def write(page: Path) -> None:
    head = {"version": gs.__version__}
    found = kept(page.with_suffix(".json"), dict(cells()), **head)
    put(page, "tables", shown(found["cells"]))
