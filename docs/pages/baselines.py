"""Bounds, best known schedules and best policies on many workloads: data, page and picture.

A cell is a part of a trace, or what is generated, at one load: on nodes of 8 GPUs, as many as give
that load up to the last arrival.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median_high
from time import perf_counter
from typing import Any

import gangsched as gs
from gangsched.analysis.show import plots
from gangsched.analysis.show.columns import duration, floored, ratio
from gangsched.analysis.show.conditions import Conditions, left_out, rules_in_words, seed_range
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances.convert import between, to_instance
from gangsched.instances.generate import philly_workload, venus_workload
from gangsched.instances.traces import READERS
from gangsched.solvers.policy import Rules
from pages import DOCS, TRACES, commit, kept, known_to, put, table

PICTURE = DOCS / "images" / "baseline-traces.png"
LOADS = 70, 85, 100  #: per cent
JOBS, NODE = 4_000, 8
CLOSE = 1.015  #: what effort standard may leave of completion times
POLICIES = (
    "fifo", "easy", "sjf:backfill", "las", "tiresias-l", "ltgf", "srtf", "serverfilling-srpt",
    "smallest-area",
)  # fmt: skip
MEASURES = {"flow": "mean completion", "slowdown": "mean slowdown", "makespan": "makespan"}
BOUND, KNOWN = "any policy", "best known"
GENERATORS = {"philly_workload": philly_workload, "venus_workload": venus_workload}


@dataclass(frozen=True)
class Workload:
    """A part of a trace, or what is generated: these with `nodes` at a load of their own."""

    source: str  #: reader or generator
    file: str = ""
    since: str = ""
    seed: int = 0
    steps: str = ""  #: a file that the reader needs too
    nodes: int = 0

    def jobs(self) -> gs.Instance[Any]:
        """The jobs, on more nodes than they need."""
        cluster = gs.Cluster.uniform(nodes=64, gpus_per_node=NODE)
        if self.source in GENERATORS:
            return GENERATORS[self.source](cluster, jobs=JOBS, seed=self.seed)
        more = {"steps_per_second": TRACES / self.steps} if self.steps else {}
        trace = READERS[self.source](TRACES / self.file, **more)
        window = between(trace, self.since or None, None)
        able = sum(
            job.release >= (window[0] or 0) and job.gpus <= cluster.gpus for job in trace.jobs
        )
        return to_instance(trace, cluster, window=window, jobs=min(JOBS, able)).instance

    def instance(self, load: int) -> gs.Instance[Any]:
        """The jobs on as many nodes as give the load, in per cent."""
        if self.nodes:
            cluster = gs.Cluster.uniform(nodes=self.nodes, gpus_per_node=NODE)
            return philly_workload(cluster, jobs=JOBS, seed=self.seed, load=load / 100)
        found = self.jobs()
        span = max(job.release for job in found.jobs) - min(job.release for job in found.jobs)
        work = sum(job.work * job.gpus for job in found.jobs)
        widest = max(job.gpus for job in found.jobs)
        nodes = max(-(-widest // NODE), round(100 * work / (span * load * NODE)))
        return replace(found, cluster=gs.Cluster.uniform(nodes=nodes, gpus_per_node=NODE))


PHILLY, ITP = "philly/philly.csv.gz", "elasticflow_itp/raw/cluster{:02}.csv.gz"
SINCE = {"October 1": "2017-10-01", "October 22": "2017-10-22", "November 20": "2017-11-20"}
WORKLOADS: Mapping[str, Workload] = {
    **{f"Philly, {day}": Workload("philly-csv", PHILLY, since) for day, since in SINCE.items()},
    "Gavel, Philly's 6214e9": Workload(
        "gavel", "gavel_msr/seed=0/6214e9.trace.gz", steps="gavel_msr/steps_per_second.csv"
    ),
    **{f"ITP, cluster {k}": Workload("itp", ITP.format(k)) for k in (2, 3, 6, 7)},
    **{f"like Philly, seed {s}": Workload("philly_workload", seed=s, nodes=20) for s in range(3)},
    **{f"like Venus, seed {s}": Workload("venus_workload", seed=s) for s in range(3)},
}


def measured(workload: Workload, load: int) -> dict[str, dict[str, Any]]:
    """The bounds, the best known schedules' ratios to them, and those of the policies.

    Of completion times both sides are of effort full where standard leaves them apart.
    """
    began, instance = perf_counter(), workload.instance(load)
    found = gs.replay(instance, POLICIES, effort="standard")
    if found.failed or found.rejected:
        raise RuntimeError(f"{workload}: {[*found.failed, *found.rejected.values()]}")
    problem, bound = CompletionTime(instance, "flow"), found.bounds["flow"]
    best = {name: value for name, (value, _) in found.best_known.items()}
    if best["flow"] > CLOSE * bound.value:
        full = gs.bracket(problem, "full")
        assert full.bound is not None
        bound, best["flow"] = full.bound, min(best["flow"], full.objective)
    verifying = perf_counter()
    gs.verify_bound(problem, bound)
    proof = {
        "method": bound.method,
        "bytes": len(json.dumps(dict(bound.certificate or {}))),
        "verified in": perf_counter() - verifying,
    }
    jobs = len(instance.jobs)
    proven = {**{name: found.bounds[name].value for name in MEASURES}, "flow": bound.value}
    bounds = {name: value / (1 if name == "makespan" else jobs) for name, value in proven.items()}
    size = {"jobs": jobs, "gpus": instance.cluster.gpus, "seconds": perf_counter() - began}
    known = {name: value / proven[name] for name, value in best.items()}
    rows = {
        row.name: {
            name: row.ratios[name] * found.bounds[name].value / proven[name] for name in MEASURES
        }
        for row in found.rows
    }
    return {BOUND: {**bounds, **size, **proof}, KNOWN: known, **rows}


# --- picture and page ----------------------------------------------------------------------------

Cells = Mapping[str, Mapping[str, Mapping[str, Any]]]


def draw(cells: Cells) -> Any:
    """How far the best known schedule and the best policy are from the bound, by workload."""
    from matplotlib.figure import Figure

    names = [*WORKLOADS]
    figure = Figure((9, 0.42 * len(names) + 1.6), layout="constrained")
    axes = figure.subplots()
    colours = dict(zip(LOADS, ("#7fb2e5", "#2a6fb0", "#123a63"), strict=True))
    for (number, name), (k, load) in product(enumerate(names), enumerate(LOADS)):
        own, y, colour = cells[key(name, load)], len(names) - number - (k - 1) / 4, colours[load]
        axes.plot([1, own[KNOWN]["flow"]], [y, y], color=colour, lw=5, alpha=0.35)
        axes.plot(own[KNOWN]["flow"], y, "|", color=colour, ms=9, mew=2)
        axes.plot(own["srtf"]["flow"], y, "x", color=colour, ms=5)
        axes.plot(own["smallest-area"]["flow"], y, "o", color=colour, ms=5)
    axes.set_yticks(range(len(names), 0, -1), names)
    axes.set_xscale("log")
    ticks = [1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5]
    axes.set_xticks(ticks, map(str, ticks))
    axes.minorticks_off()
    axes.set_xlabel("mean completion time over the proven bound")
    for mark, label in (("|", "best known"), ("o", "smallest-area"), ("x", "srtf")):
        axes.plot([], [], mark, color="#444444", label=label, mew=2 if mark == "|" else 1)
    for load, colour in colours.items():
        axes.plot([], [], color=colour, lw=4, label=f"load {load / 100:g}")
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper right", frameon=False, ncols=2)
    axes.set_title("Nobody can be left of 1; the optimum is on the bar", loc="left")
    return figure


def key(name: str, load: int) -> str:
    """What a cell is called in the data."""
    return f"{name}|{load}"


def ranking(cells: Cells, measure: str) -> str:
    """A line for each workload and load."""
    known = ["best known"] * (measure != "makespan")
    heads = ["workload", "jobs", "GPUs", "load", "any policy ≥", *known, "best policy"]
    rows = []
    for name, load in product(WORKLOADS, LOADS):
        if key(name, load) not in cells:
            continue
        own = {**cells[key(name, load)]}
        about, best = own.pop(BOUND), own.pop(KNOWN)
        first = sorted(
            (value[measure], policy) for policy, value in own.items() if value[measure] is not None
        )[:3]
        least = about[measure]
        bound = f"{floored(least, 3):.3f}" if measure == "slowdown" else duration(least, down=True)
        row = [name, f"{about['jobs']:,.0f}", f"{about['gpus']:,.0f}", f"{load / 100:g}", bound]
        row += [ratio(best[measure])] if known else []
        rows.append([*row, *(f"{policy} {ratio(value)}" for value, policy in first)])
    return table([*heads, "second", "third"], rows)


def text(found: Mapping[str, Any]) -> str:
    """The part of the page that is generated."""
    cells: Cells = found["cells"]
    brackets = [own[KNOWN]["flow"] for own in cells.values()]
    seconds = sum(own[BOUND]["seconds"] for own in cells.values())
    below = Conditions(
        information=known_to(POLICIES),
        seeds=seed_range([one.seed for one in WORKLOADS.values() if one.source in GENERATORS])
        + " of what is like Philly and Venus; none drawn of traces",
        excluded=f"{left_out([0])} of those in the column, the first ones of at most 512 GPUs",
        parameters=f"nodes of {NODE} GPUs, {found['rules']}",
        certificate="any policy ≥ in the table, a verified bound, and ratios to it",
    )
    sizes, times = ([own[BOUND][key] for own in cells.values()] for key in ("bytes", "verified in"))
    about = (
        f"gangsched {found['version']}, commit {found['commit']}; {len(brackets)} cells, "
        f"{seconds:,.0f} s in all. Best known over bound, mean completion: median "
        f"{ratio(median_high(brackets))}, largest {ratio(max(brackets))}. Certificates of its "
        f"bounds have up to {max(sizes) / 1e3:,.0f} kB, and each is verified in {max(times):.1f} s "
        "or less."
    )
    parts = [about, f"![Brackets by workload and load](images/{PICTURE.name})"]
    for measure, name in MEASURES.items():
        parts += [f"## {name.capitalize()}", ranking(cells, measure), str(below)]
    return "\n\n".join(parts)


def cells() -> Iterator[tuple[str, Any]]:
    """The cells by name, and what runs them."""
    for (name, workload), load in product(WORKLOADS.items(), LOADS):
        yield key(name, load), partial(measured, workload, load)


def write(page: Path) -> None:
    head = {"version": gs.__version__, "commit": commit(), "rules": rules_in_words(Rules())}
    found = kept(page.with_suffix(".json"), dict(cells()), **head)
    put(page, "baselines", text(found))
    plots.save(draw(found["cells"]), PICTURE, dpi=110)
