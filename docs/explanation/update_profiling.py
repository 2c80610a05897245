"""Compare profiling on free GPUs and on dedicated nodes, for a table on the driver's page.

Run `python docs/explanation/update_profiling.py`. Workloads are those of Gao et al. (2024) on which
:mod:`gangsched.analysis.papers.unisched.runs` compares, with its rules, on seeds 0 to 2. Jobs that
have no place beside the most dedicated nodes are left out of all runs, and counted. Below the
tables stand the policies that miss less on dedicated nodes than told, and EASY's waits by gang.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import drive, rejected_jobs
from gangsched.analysis.driving.run import Run
from gangsched.analysis.driving.segments import Segments
from gangsched.analysis.papers.study import markdown_table
from gangsched.analysis.papers.unisched.runs import (
    LEASE,
    OVERHEAD,
    PATIENCE,
    ROUND,
    SIZES,
    DeadlineWorkload,
)
from gangsched.analysis.proofs.deadline_rewards import reward_bound
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.analysis.show.referee import Referee, left_out, rules_in_words, seed_range
from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.registry import policy
from gangsched.solvers.policy import Rules

PAGE = Path(__file__).resolve().parent / "the-driver.md"
RULES = {"round_length": ROUND, "lease": LEASE, "overhead": OVERHEAD, "patience": PATIENCE}
SEEDS = range(3)
#: dedicated nodes, and those with Chronus's profiler: 16 GPUs, as published with it
NODES: Mapping[str, tuple[Sequence[int], int]] = {"T[720]": ((2, 4, 5), 4), "P_MIX2": ((1, 2), 2)}
POLICIES = (
    *("value-density", "edf", "hydra", "genie", "genie:elastic", "optimus", "optimus:elastic"),
    *("unisched:known", "srtf", "smallest-area", "sjf", "sjf:backfill", "easy"),
    "finish-time-fairness",
)
#: GPUs of narrow gangs
NARROW = 2


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
        rows, came = run.records, ~run.records.rejected
        waits = (first_work(run) - rows.release) / 3600
        yield {
            "excluded": len(gone),
            "nodes": len(instance.cluster.nodes),
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


def referee(name: str, excluded: Iterable[int], proven: str = "") -> Referee:
    """Under which settings a table compares."""
    least: dict[bool, list[float]] = {False: [], True: []}
    for seed in SEEDS:
        instance = DeadlineWorkload(name, SIZES.get(name[0]), seed).instance()
        top = sum(job.top_reward for job in instance.jobs if job.rewards)
        for elastic, found in least.items():
            problem = DeadlineRewards(instance, elastic)
            bound = reward_bound(problem)
            verify_bound(problem, bound)
            found.append(100 * (1 - bound.value / top))
    gangs, elastic = (fmean(found) for found in least.values())
    certified = (
        f"no policy of gangs misses less than {math.floor(10 * gangs) / 10:.1f} % in the mean, no "
        f"elastic one less than {math.floor(10 * elastic) / 10:.1f} %, by verified bounds; none of "
        "completion times"
    )
    return Referee(
        information="by column: told, or after profiling on free GPUs or on dedicated nodes",
        seeds=f"{seed_range(SEEDS)}, means",
        excluded=left_out(sorted({*excluded})),
        parameters=rules_in_words(Rules(**RULES)),
        certificate=proven or certified,
    )


def either(numbers: Iterable[int]) -> str:
    """The different numbers, as text."""
    *others, last = map(str, sorted({*numbers}))
    return f"{', '.join(others)} or {last}" if others else last


def tables() -> Iterator[str]:
    """A table for each workload, and what the page says about both."""
    less, cells_by_seed, easy = [], 0, []
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
                wait[head] += [run[k]["profiled"] / 60 for run in runs if run[k]["profiled"]]
                cells.append(f"{miss:.1f} / {hours:.2f}")
                if "node" in head:
                    cells_by_seed += len(runs)
                    gains = [run[0]["miss"] - run[k]["miss"] for run in runs]
                    if max(gains) > 0:
                        mean = fmean(gains)
                        less.append(f"`{own}` {name} {head} ({max(gains):.1f}, mean {mean:+.1f})")
            rows.append([f"`{own}`", *cells])
            if own == "easy":
                for gangs in ("narrow", "wide"):
                    means = [fmean(run[k][gangs] for run in runs) for k in (0, 1, -3, -2, -1)]
                    easy.append([f"{name}, {gangs}", *(f"{hours:.2f}" for hours in means)])
            print(name, *rows[-1], flush=True)
        spans = (f"{fmean(own):.1f} min" if own else "" for own in wait.values())
        rows.append(["mean wait to the end of profiling", *spans])
        nodes, gone = (either(run[0][key] for run in runs) for key in ("nodes", "excluded"))
        gpus = max(workload.instance().cluster.sizes)
        size = f"{name}, {nodes} nodes of {gpus} GPUs, seeds {SEEDS[0]} to {SEEDS[-1]}, "
        size += f"{gone} jobs left out: miss (%) / completion (h)"
        below = referee(name, (run[0]["excluded"] for run in runs))
        yield f"{markdown_table([[size, *heads], *rows])}\n\n{below}"
    yield (
        f"Policies that miss less on dedicated nodes than told for some seed, of {cells_by_seed} "
        f"runs, with the points of the best seed, and of the mean: {', '.join(less) or 'none'}."
    )
    head = ["told", "on free GPUs", "on the most nodes", "Chronus's, on free GPUs", "on its nodes"]
    table = markdown_table([["`easy`: hours to the first work, gangs", *head], *easy])
    yield f"{table}\n\n{referee('T[720]', [0], 'none, as one policy is shown')}"


def main() -> None:
    block = re.compile(r"(<!-- profiling -->\n).*?(<!-- end -->)", re.DOTALL)
    table = "\n\n".join(tables())
    text = block.sub(lambda m: f"{m[1]}{table}\n{m[2]}", PAGE.read_text("utf-8"))
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
