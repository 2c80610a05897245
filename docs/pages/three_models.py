"""Brackets of mean completion of Philly's jobs on three GPU models: data and table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import gangsched as gs
from gangsched.analysis.show.columns import duration, ratio
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances.convert import to_instance
from gangsched.instances.heterogeneous import mixed_cluster, with_speeds
from gangsched.instances.traces import READERS
from pages import DOCS, TRACES, commit, kept, put, table
from pages.baselines import PHILLY

DATA = DOCS / "explanation" / "three-models.json"
LARGE = ("v100", 5, 4), ("p100", 9, 4), ("k80", 24, 4)
SMALL = ("v100", 2, 4), ("p100", 4, 4), ("k80", 6, 4)
FIRST, ALL = "the first 6,000 jobs", "all jobs"
PAIRS = ("0e4a51", "2869ce"), ("ed69ec", "ee9e8c")


def jobs_of(part: str) -> CompletionTime:
    """Mean completion of a part of Philly's jobs, with speeds drawn by user with seed 0."""
    trace = READERS["philly-csv"](TRACES / PHILLY)
    count = 6_000 if part == FIRST else None
    instance = to_instance(trace, mixed_cluster(LARGE), jobs=count).instance
    if part not in (FIRST, ALL):
        cluster = mixed_cluster(SMALL)
        widest = max(nodes * gpus for _, nodes, gpus in SMALL)
        own = [job for job in instance.jobs if job.user in part and job.gpus <= widest]
        instance = replace(instance, jobs=own, cluster=cluster)
    return CompletionTime(with_speeds(instance, seed=0), "flow")


def measured(part: str) -> dict[str, Any]:
    """Both sides of the bracket at effort full, the bound verified."""
    problem, began = jobs_of(part), process_time()
    found = gs.bracket(problem, "full")
    seconds = process_time() - began
    assert found.bound is not None
    assert found.objective is not None
    gs.verify_bound(problem, found.bound)
    jobs = len(problem.jobs)
    sides = {"bound": found.bound.value / jobs, "schedule": found.objective / jobs}
    return {"jobs": jobs, **sides, "method": found.bound.method, "seconds": round(seconds)}


def write(page: Path) -> None:
    parts = [" and ".join(pair) for pair in PAIRS]
    cells = {part: partial(measured, part) for part in (*parts, FIRST, ALL)}
    found = kept(DATA, cells, commit=commit())
    rows = []
    for part in cells:
        cell = found["cells"][part]
        times = ratio(cell["schedule"] / cell["bound"])
        sides = duration(cell["bound"], down=True), cell["method"], duration(cell["schedule"])
        rows.append((part, f"{cell['jobs']:,}", *sides, times, f"{cell['seconds']} s"))
    heads = "part", "jobs", "bound", "by", "best known", "bracket", "CPU"
    put(page, "three models", table(heads, rows, left=1))
