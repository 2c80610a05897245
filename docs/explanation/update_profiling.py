"""Compare profiling on free GPUs and on dedicated nodes, for a table on the driver's page.

Run `python docs/explanation/update_profiling.py`. Workloads are those of Gao et al. (2024) on which
:mod:`gangsched.analysis.papers.unisched.runs` compares, with its rules, on seeds 0 to 2. Jobs that
have no place beside the most dedicated nodes are left out of all runs, and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import drive, rejected_jobs
from gangsched.analysis.papers.study import markdown_table
from gangsched.analysis.papers.unisched.runs import (
    LEASE,
    OVERHEAD,
    PATIENCE,
    ROUND,
    SIZES,
    DeadlineWorkload,
)
from gangsched.registry import policy
from gangsched.solvers.policy import Rules

PAGE = Path(__file__).resolve().parent / "the-driver.md"
RULES = {"round_length": ROUND, "lease": LEASE, "overhead": OVERHEAD, "patience": PATIENCE}
SEEDS = range(3)
#: dedicated nodes, and those with Chronus's profiler: 16 GPUs, as published with it
NODES: Mapping[str, tuple[Sequence[int], int]] = {"T[720]": ((2, 4, 5), 4), "P_MIX2": ((1, 2), 2)}
POLICIES = (
    *("value-density", "edf", "hydra", "genie", "genie:elastic", "optimus", "optimus:elastic"),
    *("unisched:known", "srtf", "smallest-area", "sjf", "easy", "finish-time-fairness"),
)


def settings(workload: str) -> dict[str, str]:
    """What stands behind the name of a policy, by the heading of its column."""
    nodes, own = NODES[workload]
    return {
        "told": "",
        "on free GPUs": ":profiled",
        **{f"on {k} node{'s' * (k > 1)}": f":profiled-dedicated-{k}" for k in nodes},
        "Chronus's, on free GPUs": ":profiled-chronus",
        f"Chronus's, on {own} nodes": f":profiled-chronus-dedicated-{own}",
    }


def measured(workload: DeadlineWorkload, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """What comes out for each of these policies, all with the same jobs."""
    instance = workload.instance()
    made = [policy(name)[1] for name in names]
    gone: dict[int, str] = {}
    for one in made:
        gone |= rejected_jobs(instance, one, Rules(**RULES), ())
    for one in made:
        run = drive(instance, one, reject=gone, **RULES)
        broken = violations(run, preempts=one.preempts)
        if broken or len(run.rejected) != len(gone):
            raise RuntimeError(f"{run.policy}: {broken}")
        found = metrics.deadline_summary(run)
        rows = run.records
        finished = rows.end[rows.finished] - rows.release[rows.finished]
        yield {
            "excluded": len(gone),
            "nodes": len(instance.cluster.nodes),
            "miss": 100 * found["weighted_miss"],
            "completion": finished.mean() / 3600,
            "wait": found["profiling_wait"],
        }


def tables() -> Iterator[str]:
    """A table for each workload."""
    for name in NODES:
        heads = settings(name)
        rows, wait = [], {head: list[float]() for head in heads}
        for own in POLICIES:
            runs = []
            for seed in SEEDS:
                workload = DeadlineWorkload(name, SIZES.get(name[0]), seed)
                runs.append([*measured(workload, [f"{own}{s}" for s in heads.values()])])
            cells = []
            for k, head in enumerate(heads):
                miss, hours = (fmean(run[k][key] for run in runs) for key in ("miss", "completion"))
                wait[head] += [run[k]["wait"] / 60 for run in runs if run[k]["wait"] is not None]
                cells.append(f"{miss:.1f} / {hours:.2f}")
            rows.append([f"`{own}`", *cells])
            print(name, *rows[-1], flush=True)
        spans = (f"{fmean(own):.0f} min" if own else "" for own in wait.values())
        rows.append(["mean wait to the end of profiling", *spans])
        nodes, gone = ({run[0][key] for run in runs} for key in ("nodes", "excluded"))
        size = f"{name}, {' or '.join(map(str, sorted(nodes)))} nodes of "
        size += f"{max(workload.instance().cluster.sizes)} GPUs, "
        size += f"{' or '.join(map(str, sorted(gone)))} jobs left out"
        yield markdown_table([[size, *heads], *rows])


def main() -> None:
    block = re.compile(r"(<!-- profiling -->\n).*?(<!-- end -->)", re.DOTALL)
    table = "\n\n".join(tables())
    text = block.sub(lambda m: f"{m[1]}{table}\n{m[2]}", PAGE.read_text("utf-8"))
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
