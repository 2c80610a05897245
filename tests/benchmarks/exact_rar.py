"""Measure exact solving of RAR-DDLS: data, and their part of docs/benchmarks.md.

    python tests/benchmarks/exact_rar.py PARTS...        # measure: tiny, paper, models, library
    python tests/benchmarks/exact_rar.py --into docs/benchmarks.md    # write what is measured

Every instance has 60 s of wall time and one thread; what is measured is kept in exact_rar.json
after each, and not measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Cluster, Instance, RingJob, library
from gangsched.registry import PROBLEMS
from gangsched.solvers import ExactParams

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.table import deliver, machine
from tiny import SEEDS, tiny

DATA = Path(__file__).with_suffix(".json")
MARKERS = "<!-- exact_rar begins -->", "<!-- exact_rar ends -->"
COMMAND = "python tests/benchmarks/exact_rar.py --into docs/benchmarks.md"
LIMIT = 60.0  #: seconds of each
TINY = 30
#: (family, jobs, servers)
FAMILIES = ("forced", 12, 5), ("mild", 10, 4), ("mild", 20, 6)
#: seeds of the paper's settings that the laminar search and the full bound leave open
OPEN = {"a": (2, 6, 9), "b": (1, 2, 3, 4, 5, 6, 7, 9)}
TITLES = {
    "tiny": "Tiny instances on which contention matters",
    "paper": "The paper's scale: 160 jobs on 20 servers",
    "models": "Contention: forced and mild",
    "library": "Named instances",
}


def contended(kind: str, jobs: int, servers: int, seed: int) -> RarDdls:
    """Gangs that have to span servers of 2 or 3 GPUs, or powers of two on servers of 4 or 8."""
    forced = kind == "forced"
    rng = np.random.default_rng([18, seed, jobs, servers, not forced])
    sizes = rng.choice([2, 3] if forced else [4, 8], size=servers)
    gangs = rng.integers(1, 5, size=jobs) if forced else rng.choice([1, 2, 4, 8], size=jobs)
    gradients = [0.05, 0.1, 0.15] if forced else [0.02, 0.05, 0.1]
    work = (10, 31) if forced else (20, 61)
    rings = [
        RingJob(
            id=f"j{i}",
            gpus=int(gang),
            iterations=int(rng.integers(*work)),
            gradient=float(rng.choice(gradients)),
            base_time=float(rng.choice([0.05, 0.1, 0.2])),
        )
        for i, gang in enumerate(gangs)
    ]
    speeds = {"xi1": 1, "alpha": 0.5} if forced else {"xi1": 0.5, "alpha": 0.2}
    return RarDdls(Instance(Cluster.of_sizes(sizes.tolist()), rings), xi2=0.005, **speeds)


def _cases(part: str) -> Iterator[tuple[str, Callable[[], RarDdls], str]]:
    """Name, problem and solver of each measurement."""
    if part == "tiny":
        for seed in SEEDS[:TINY]:
            yield f"tiny {seed}", partial(tiny, seed), "auto"
    elif part == "paper":
        for letter, seeds in OPEN.items():
            make = PROBLEMS["rar-ddls"].settings[f"paper-{letter}"]
            for seed in seeds:
                problem = partial(make, jobs=None, nodes=None, seed=seed)
                yield f"{letter.upper()} {seed}", problem, "auto"
    elif part == "models":
        for solver in ("auto", "highs"):
            for kind, jobs, servers in FAMILIES:
                for seed in range(5):
                    name = f"{kind} {jobs} x {servers}, seed {seed}"
                    yield name, partial(contended, kind, jobs, servers, seed), solver
    else:
        sizes = {n: row["jobs"] for n, row in library.index().items() if n.startswith("rar-")}
        for name in sorted(sizes, key=lambda name: (sizes[name], name)):
            yield name, partial(gs.problem, name), "auto"


def _measured(problem: RarDdls, solver: str) -> dict[str, Any]:
    """One run, and the bound that it is compared with."""
    full = gs.bound(problem, effort="full")
    began = time.perf_counter()
    result = gs.solve_exact(problem, time_limit=LIMIT, params=ExactParams(solver=solver))
    wall = time.perf_counter() - began
    values = [v for v in result.info.get("heuristics", {}).values() if isinstance(v, int)]
    assert result.bound is not None
    assert result.solution is None or not problem.violations(result.solution)
    assert result.bound.value >= full.value, "weaker than gs.bound"
    return {
        "heuristic": min(values, default=None),
        "objective": result.objective,
        "bound": result.bound.value,
        "method": result.bound.method,
        "full bound": full.value,
        "optimal": result.status.value == "optimal",
        "backend": result.info.get("backend", ""),
        "seconds": round(wall, 1),
    }


def measure(part: str) -> None:
    """Measure what is not there yet."""
    data = json.loads(DATA.read_text()) if DATA.exists() else {}
    for name, make, solver in _cases(part):
        rows = data.setdefault(part, {}).setdefault(solver, {})
        if name in rows:
            continue
        rows[name] = _measured(make(), solver)
        data["machine"] = machine(COMMAND)
        data["ortools"] = version("ortools")
        DATA.write_text(json.dumps(data, indent=1) + "\n")
        print(part, solver, name, rows[name], flush=True)


def page() -> str:
    """The tables of the page."""
    data = json.loads(DATA.read_text())
    lines = [f"{data['machine']} OR-tools {data['ortools']}, one thread."]
    for part, title in TITLES.items():
        for solver, rows in data.get(part, {}).items():
            shown = "HiGHS only" if solver == "highs" else "CP-SAT where a model is small enough"
            solved = sum(row["optimal"] for row in rows.values())
            lines += ["", f"### {title}: {shown}", "", f"{solved} of {len(rows)} optimal.", ""]
            lines += ["| instance | quick heuristics | found | bound | by | full bound | s |"]
            lines += ["| --- | ---: | ---: | ---: | --- | ---: | ---: |"]
            for name, row in rows.items():
                first = "" if row["heuristic"] is None else row["heuristic"]
                lines.append(
                    f"| {name} | {first} | {row['objective']} | {row['bound']} | {row['method']} "
                    f"| {row['full bound']} | {row['seconds']} |"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*TITLES, []])
    parser.add_argument("--into", type=Path)
    given = parser.parse_args()
    for each in given.parts:
        measure(each)
    if given.into:
        deliver(page(), given.into, MARKERS)
