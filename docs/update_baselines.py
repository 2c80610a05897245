"""Bounds, best known schedules and best policies on many workloads: data, page and picture.

    python docs/update_baselines.py FOLDER [--parts FOLDER] [--processes N]

FOLDER has public traces under the names in :data:`WORKLOADS`; `gangsched traces` says where they
are from. A cell is a part of a trace, or what is generated, at one load: on nodes of 8 GPUs, as
many as give that load up to the last arrival. Cells that are done are kept in the folder of parts.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import gangsched as gs
from gangsched.analysis.papers.experiment import Experiment, FigureCell
from gangsched.analysis.papers.study import FigureRow, Study
from gangsched.analysis.show import plots
from gangsched.analysis.show.columns import duration, floored, rounded_up
from gangsched.analysis.show.referee import Referee, left_out, rules_in_words, seed_range
from gangsched.instances.convert import between, to_instance
from gangsched.instances.generate import philly_workload, venus_workload
from gangsched.instances.traces import READERS
from gangsched.registry import policy
from gangsched.solvers.policy import Rules, information_of

DOCS = Path(__file__).resolve().parent
PAGE, DATA = DOCS / "baseline-traces.md", DOCS / "baseline-traces.json"
PICTURE = DOCS / "images" / "baseline-traces.png"
MARKS = "<!-- baselines begin -->", "<!-- baselines end -->"
LOADS = 70, 85, 100  #: per cent
JOBS, NODE = 4_000, 8
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

    def jobs(self, folder: Path) -> gs.Instance[Any]:
        """The jobs, on more nodes than they need."""
        cluster = gs.Cluster.uniform(nodes=64, gpus_per_node=NODE)
        if self.source in GENERATORS:
            return GENERATORS[self.source](cluster, jobs=JOBS, seed=self.seed)
        more = {"steps_per_second": folder / self.steps} if self.steps else {}
        trace = READERS[self.source](folder / self.file, **more)
        window = between(trace, self.since or None, None)
        able = sum(
            job.release >= (window[0] or 0) and job.gpus <= cluster.gpus for job in trace.jobs
        )
        return to_instance(trace, cluster, window=window, jobs=min(JOBS, able)).instance

    def instance(self, folder: Path, load: int) -> gs.Instance[Any]:
        """The jobs on as many nodes as give the load, in per cent."""
        if self.nodes:
            cluster = gs.Cluster.uniform(nodes=self.nodes, gpus_per_node=NODE)
            return philly_workload(cluster, jobs=JOBS, seed=self.seed, load=load / 100)
        found = self.jobs(folder)
        span = max(job.release for job in found.jobs) - min(job.release for job in found.jobs)
        work = sum(job.work * job.gpus for job in found.jobs)
        widest = max(job.gpus for job in found.jobs)
        nodes = max(-(-widest // NODE), round(100 * work / (span * load * NODE)))
        return replace(found, cluster=gs.Cluster.uniform(nodes=nodes, gpus_per_node=NODE))


PHILLY, ITP = "philly/philly.csv.gz", "elasticflow_itp/raw/cluster{}.csv.gz"
WORKLOADS: Mapping[str, Workload] = {
    "Philly, October 1": Workload("philly-csv", PHILLY, "2017-10-01"),
    "Philly, October 22": Workload("philly-csv", PHILLY, "2017-10-22"),
    "Philly, November 20": Workload("philly-csv", PHILLY, "2017-11-20"),
    "Gavel, Philly's 6214e9": Workload(
        "gavel", "gavel_msr/seed=0/6214e9.trace.gz", steps="gavel_msr/steps_per_second.csv"
    ),
    "ITP, cluster 2": Workload("itp", ITP.format("02")),
    "ITP, cluster 3": Workload("itp", ITP.format("03")),
    "ITP, cluster 6": Workload("itp", ITP.format("06")),
    "ITP, cluster 7": Workload("itp", ITP.format("07")),
    **{f"like Philly, seed {s}": Workload("philly_workload", seed=s, nodes=20) for s in range(3)},
    **{f"like Venus, seed {s}": Workload("venus_workload", seed=s) for s in range(3)},
}


# --- cells ---------------------------------------------------------------------------------------


def measured(cell: FigureCell) -> dict[str, Any]:
    """Replay the policies on one workload at one load."""
    began = perf_counter()
    instance = cell.workload.instance(Path(cell.make), cell.x)
    found = gs.replay(instance, POLICIES, effort="standard")
    jobs = len(instance.jobs)
    if found.failed or found.rejected:
        raise RuntimeError(f"{cell}: {[*found.failed, *found.rejected.values()]}")
    size = {"jobs": jobs, "gpus": instance.cluster.gpus, "seconds": perf_counter() - began}
    bounds = {name: found.bounds[name].value / (1 if name == "makespan" else jobs)
              for name in MEASURES}  # fmt: skip
    known = {name: value / jobs / bounds[name] for name, (value, _) in found.best_known.items()}
    rows = [(BOUND, {**bounds, **size}), (KNOWN, known)]
    rows += [(row.name, {name: row.ratios[name] for name in MEASURES}) for row in found.rows]
    return {"rows": [[cell.instance, policy, cell.x, values] for policy, values in rows]}


def cells(folder: str, loads: tuple[int, ...] = LOADS) -> Iterator[FigureCell]:
    """A cell for each workload and load."""
    for name, workload in WORKLOADS.items():
        for load in loads:
            yield FigureCell(
                instance=name, policy="all", run=measured, workload=workload, make=folder, x=load,
                same=f"{workload} {load}",
            )  # fmt: skip


# --- picture and page ----------------------------------------------------------------------------


def draw(study: Study) -> Any:
    """How far the best known schedule and the best policy are from the bound, by workload."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row.instance for row in study.rows))
    figure = Figure((9, 0.42 * len(names) + 1.6), layout="constrained")
    axes = figure.subplots()
    colours = dict(zip(LOADS, ("#7fb2e5", "#2a6fb0", "#123a63"), strict=True))
    for row in study.rows:
        y = len(names) - names.index(row.instance) + (LOADS.index(row.x) - 1) * -0.25
        if row.policy == KNOWN:
            axes.plot([1, row.values["flow"]], [y, y], color=colours[row.x], lw=5, alpha=0.35)
            axes.plot(row.values["flow"], y, "|", color=colours[row.x], ms=9, mew=2)
        elif row.policy in ("smallest-area", "srtf") and row.values["flow"] is not None:
            mark = "o" if row.policy == "smallest-area" else "x"
            axes.plot(row.values["flow"], y, mark, color=colours[row.x], ms=5)
    axes.set_yticks(range(len(names), 0, -1), names)
    axes.set_xscale("log")
    ticks = [1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5]
    axes.set_xticks(ticks, map(str, ticks))
    axes.minorticks_off()
    axes.set_xlabel("mean completion time over the proven bound")
    marks = [("|", "best known"), ("o", "smallest-area"), ("x", "srtf")]
    for mark, label in marks:
        axes.plot([], [], mark, color="#444444", label=label, mew=2 if mark == "|" else 1)
    for load, colour in colours.items():
        axes.plot([], [], color=colour, lw=4, label=f"load {load / 100:g}")
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper right", frameon=False, ncols=2)
    axes.set_title("Nobody can be left of 1; the optimum is on the bar", loc="left")
    return figure


def table(rows: list[FigureRow], measure: str) -> list[str]:
    """A line for each workload and load."""
    known = measure != "makespan"
    heads = ["workload", "jobs", "GPUs", "load", "any policy ≥", *["best known"] * known]
    heads += ["best policy", "second", "third"]
    lines = ["| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (len(heads) - 1)]
    for place in dict.fromkeys((row.instance, row.x) for row in rows):
        own = {row.policy: row.values for row in rows if (row.instance, row.x) == place}
        about = own.pop(BOUND)
        best = own.pop(KNOWN).get(measure)
        first = sorted(
            (value[measure], name) for name, value in own.items() if value[measure] is not None
        )[:3]
        least = about[measure]
        bound = f"{floored(least, 3):.3f}" if measure == "slowdown" else duration(least, down=True)
        cells = [place[0], f"{about['jobs']:,.0f}", f"{about['gpus']:,.0f}", f"{place[1] / 100:g}"]
        cells += [bound, *([f"{rounded_up(best):.4f}"] if known else [])]
        cells += [f"{name} {rounded_up(value):.4f}" for value, name in first]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def page(study: Study) -> str:
    """The part of the page that is generated."""
    rows = list(study.rows)
    brackets = [row.values["flow"] for row in rows if row.policy == KNOWN]
    seconds = sum(row.values["seconds"] for row in rows if row.policy == BOUND)
    settings = study.settings
    brackets.sort()
    middle, largest = (rounded_up(brackets[at]) for at in (len(brackets) // 2, -1))
    about = f"gangsched {settings['version']}, commit {settings['commit']}; {len(brackets)} cells, "
    about += f"{seconds:,.0f} s in all. Best known over bound, mean completion: median "
    about += f"{middle:.4f}, largest {largest:.4f}."
    lines = [about, "", f"![Brackets by workload and load](images/{PICTURE.name})"]
    for measure, name in MEASURES.items():
        below = str(referee(study.settings))
        lines += ["", f"## {name.capitalize()}", "", *table(rows, measure), "", below]
    return "\n".join(lines)


def referee(settings: Mapping[str, Any]) -> Referee:
    """Under which settings all tables compare."""
    told = [name for name in POLICIES if information_of(policy(name)[1]) is not None]
    seeds = [one.seed for one in WORKLOADS.values() if one.source in GENERATORS]
    return Referee(
        information=f"told when jobs come: {', '.join(told)}; others use none",
        seeds=f"{seed_range(seeds)} of what is like Philly and Venus; none drawn of traces",
        excluded=f"{left_out([0])} of those in the column, the first ones of at most 512 GPUs",
        parameters=f"nodes of {NODE} GPUs, {settings['rules']}",
        certificate="any policy ≥ in the table, a verified bound, and ratios to it",
    )


def commit() -> str:
    """The commit that is checked out, or that there is none, as in an sdist."""
    command = ["git", "-C", str(DOCS), "rev-parse", "--short=10", "HEAD"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip() or "outside a repository"


baselines = Experiment(
    name="baseline:traces",
    title="Bounds, best known schedules and policies",
    axis="load in per cent",
    measures=MEASURES,
    cells=cells,
    statements=lambda study: (),
    drawing=draw,
    settings=lambda rows: {
        "version": gs.__version__,
        "commit": commit(),
        "effort": "standard",
        "rules": rules_in_words(Rules()),
    },
)


def main() -> None:
    """Run what is not done, and write data, picture and page."""
    parser = argparse.ArgumentParser(description="Bounds and best policies on many workloads.")
    parser.add_argument("folder", type=Path, help="with the traces")
    parser.add_argument("--parts", type=Path, help="keeps the cells that are done")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    study = baselines(
        folder=str(given.folder), processes=given.processes, parts=given.parts, progress=print
    )
    DATA.write_text(study.to_json(), "utf-8")
    plots.save(study.plot(), PICTURE, dpi=110)
    before, rest = PAGE.read_text("utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{page(study)}\n\n{MARKS[1]}{after}", "utf-8")


if __name__ == "__main__":
    main()
