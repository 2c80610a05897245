"""Profiling on free GPUs and on dedicated nodes: tables of the driver's page.

Workloads are those of Gao et al. (2024) on which :mod:`gangsched.analysis.papers.unisched.runs`
compares, with its rules, on seeds 0 to 2. Jobs that have no place beside the most dedicated nodes
are left out of all runs, and counted. Below the tables stand EASY's waits by gang.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import drive, rejected_jobs
from gangsched.analysis.driving.run import Run
from gangsched.analysis.driving.segments import Segments
from gangsched.analysis.proofs.deadline_rewards import reward_bound
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.analysis.show.conditions import Conditions, left_out, rules_in_words, seed_range
from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.registry import policy
from gangsched.solvers.policy import Rules
from pages import put, table
from pages.density import RULES, workload

SEEDS = range(3)
#: dedicated nodes, and those with Chronus's profiler: 16 GPUs, as published with it
NODES: Mapping[str, tuple[Sequence[int], int]] = {"T[720]": ((2, 4, 5), 4), "P_MIX2": ((1, 2), 2)}
POLICIES = (
    *("value-density", "edf", "hydra", "genie", "genie:elastic", "optimus", "optimus:elastic"),
    *("unisched:known", "srtf", "smallest-area", "sjf", "sjf:backfill", "easy"),
    "finish-time-fairness",
)
NARROW = 2  #: GPUs of narrow gangs


def settings(workload: str) -> dict[str, str]:
    """What stands behind the name of a policy, by the heading of its column."""
    nodes, own = NODES[workload]
    return {
        "known": "",
        "on free GPUs": ":profiled",
        **{f"on {k} node{'s' * (k > 1)}": f":profiled-dedicated-{k}" for k in nodes},
        "Chronus's, on free GPUs": ":profiled-chronus",
        f"Chronus's, on {own} nodes": f":profiled-chronus-dedicated-{own}",
    }


def measured(instance: Any, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """What comes out for each of these policies, all with the same jobs."""
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
        rows, came = run.records, ~run.records.rejected
        waits = (first_work(run) - rows.release) / 3600
        yield {
            "excluded": len(gone),
            "miss": 100 * found["weighted_miss"],
            "completion": (rows.end - rows.release)[came].mean() / 3600,
            "profiled": found["profiling_wait"],
            "narrow": waits[came & (rows.gpus <= NARROW)].mean(),
            "wide": waits[came & (rows.gpus > NARROW)].mean(),
        }


def first_work(run: Run) -> Any:
    """When the work of each job began."""
    segments, first = Segments.of(run), np.full(len(run.records), -1)
    work = ~segments.profile
    first[segments.job[work][::-1]] = segments.start[work][::-1]
    return first


def least_misses(name: str, elastic: bool) -> str:
    """What no policy misses less than, in per cent: the mean of the seeds, by verified bounds."""
    found = []
    for seed in SEEDS:
        problem = DeadlineRewards(workload(name, seed), elastic)
        bound = reward_bound(problem)
        verify_bound(problem, bound)
        top = sum(job.top_reward for job in problem.instance.jobs if job.rewards)
        found.append(100 * (1 - bound.value / top))
    return f"{math.floor(10 * fmean(found)) / 10:.1f} %"


def conditions(excluded: set[int], certificate: str) -> Conditions:
    """Under which settings a table compares."""
    return Conditions(
        information="by column: known, or after profiling on free GPUs or on dedicated nodes",
        seeds=f"{seed_range(SEEDS)}, means",
        excluded=left_out(sorted(excluded)),
        parameters=rules_in_words(Rules(**RULES)),
        certificate=certificate,
    )


def either(numbers: set[int]) -> str:
    """The numbers, as text."""
    *others, last = map(str, sorted(numbers))
    return f"{', '.join(others)} or {last}" if others else last


def text() -> str:
    """A table for each workload, and what the page says about both."""
    parts, easy = [], list[list[str]]()
    for name in NODES:
        heads, rows = settings(name), []
        waits: dict[str, list[float]] = {head: [] for head in heads}
        instances = [workload(name, seed) for seed in SEEDS]
        excluded = set[int]()
        for own in POLICIES:
            names = [f"{own}{more}" for more in heads.values()]
            runs = [[*measured(instance, names)] for instance in instances]
            excluded |= {run[0]["excluded"] for run in runs}
            rows.append([f"`{own}`"])
            for k, head in enumerate(heads):
                miss, hours = (fmean(run[k][key] for run in runs) for key in ("miss", "completion"))
                waits[head] += [run[k]["profiled"] / 60 for run in runs if run[k]["profiled"]]
                rows[-1].append(f"{miss:.1f} / {hours:.2f}")
            for gangs in ("narrow", "wide") if own == "easy" else ():
                means = [fmean(run[k][gangs] for run in runs) for k in (0, 1, -3, -2, -1)]
                easy.append([f"{name}, {gangs}", *(f"{hours:.2f}" for hours in means)])
            print(name, *rows[-1], flush=True)
        spans = (f"{fmean(own):.1f} min" if own else "" for own in waits.values())
        rows.append(["mean wait to the end of profiling", *spans])
        nodes = {len(instance.cluster.nodes) for instance in instances}
        title = (
            f"{name}, {either(nodes)} nodes of {max(instances[0].cluster.sizes)} GPUs, "
            f"seeds {SEEDS[0]} to {SEEDS[-1]}, {either(excluded)} jobs left out: "
            "miss (%) / completion (h)"
        )
        proven = (
            f"no policy of gangs misses less than {least_misses(name, False)} in the mean, no "
            f"elastic one less than {least_misses(name, True)}, by verified bounds; none of "
            "completion times"
        )
        parts += [table([title, *heads], rows), str(conditions(excluded, proven))]
    head = ["known", "on free GPUs", "on the most nodes", "Chronus's, on free GPUs", "on its nodes"]
    parts.append(table(["`easy`: hours to the first work, gangs", *head], easy))
    return "\n\n".join([*parts, str(conditions({0}, "none, as one policy is shown"))])


def write(page: Path) -> None:
    put(page, "profiling", text())
