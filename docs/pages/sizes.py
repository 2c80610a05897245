"""How few nodes policies need for a target, and how few any policy does: data and page."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import gangsched as gs
from gangsched.analysis.comparing.sizing import Target, size
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances.convert import between, to_instance
from gangsched.instances.display import counted
from gangsched.instances.traces import READERS
from gangsched.io import save
from gangsched.registry import policy
from gangsched.solvers.policy import Rules
from pages import DOCS, TRACES, commit, kept, put, table
from pages.baselines import NODE, PHILLY, WORKLOADS

DATA = DOCS / "explanation" / "how-many-nodes.json"
FORTNIGHT = "Philly, October 16 to 29"
LOGS = FORTNIGHT, "like Venus, seed 0", "ITP, cluster 2", "ITP, cluster 6", "like Philly, seed 0"
TARGETS = "mean wait <= 30 min", "mean slowdown <= 3"
POLICIES = "easy", "srtf"


def jobs_of(log: str) -> gs.Instance[Any]:
    """The jobs of a log, on any cluster."""
    if log != FORTNIGHT:
        workload = WORKLOADS[log]
        return workload.instance(85) if workload.nodes else workload.jobs()
    trace = READERS["philly-csv"](TRACES / PHILLY)
    window = between(trace, "2017-10-16", "2017-10-30")
    return to_instance(
        trace, gs.Cluster.uniform(nodes=64, gpus_per_node=NODE), window=window
    ).instance


def holds(instance: gs.Instance[Any], target: Target, bound: Any) -> bool:
    """Whether the verifier that stands alone accepts the proof, from files."""
    with TemporaryDirectory() as folder:
        problem, proof = Path(folder, "problem.json"), Path(folder, "bound.json")
        save(
            problem,
            CompletionTime(instance, "slowdown" if target.measure == "slowdown" else "flow"),
        )
        parts = {"value": bound.value, "method": bound.method}
        proof.write_text(json.dumps({**parts, "certificate": dict(bound.certificate)}))
        command = [sys.executable, "-m", "gangsched.verify", str(problem), str(proof)]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0


def sized(log: str, text: str, name: str) -> dict[str, Any]:
    """What the command `size` finds, what it cost, and whether its proof holds."""
    instance, target = jobs_of(log), Target.of(text)

    def on(nodes: int) -> gs.Instance[Any]:
        return replace(instance, cluster=gs.Cluster.uniform(nodes=nodes, gpus_per_node=NODE))

    began = process_time()
    found = size(on, policy(name), target, rules=Rules())
    seconds = process_time() - began
    return {
        "jobs": len(instance.jobs),
        "fewest": found.fewest,
        "impossible": found.impossible,
        "proof": found.bound.method if found.bound else "a gang would not fit",
        "runs": len(found.tried),
        "bounds": len(found.proofs),
        "seconds": round(seconds, 1),
        "verified": found.bound is None or holds(on(found.impossible), target, found.bound),
    }


def rows_of(cells: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    rows = []
    for key, cell in cells.items():
        log, text, name = key.split(" | ")
        if not cell["verified"]:
            raise RuntimeError(f"{key}: the proof is refused")
        sizes = f"{counted(cell['runs'], 'run')}, {counted(cell['bounds'], 'bound')}"
        numbers = cell["fewest"], cell["impossible"] + 1, cell["proof"], sizes
        cost = f"{cell['seconds']:.1f} s"
        rows.append((log, f"{cell['jobs']:,}", text, name, *numbers, cost))
    return rows


def write(page: Path) -> None:
    keys = [" | ".join(key) for key in product(LOGS, TARGETS, POLICIES)]
    cells = {key: partial(sized, *key.split(" | ")) for key in keys}
    found = kept(DATA, cells, commit=commit())["cells"]
    heads = (
        "jobs of",
        "jobs",
        "target",
        "policy",
        "needs",
        "any policy needs",
        "proof",
        "tried",
        "CPU",
    )
    put(page, "sizes", table(heads, rows_of({key: found[key] for key in keys}), left=1))
