"""Replay Gavel's traces on the command line, and put the tables into ``gavel-traces.md``.

    python docs/explanation/update_gavel_traces.py [FOLDER] [--page]

FOLDER has the folders gavel_physical and gavel_msr, by default ``../shared/traces`` beside the
project. Every cell of ``gavel-traces.json`` is what ``gangsched replay`` says; with ``--page``
nothing is run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gangsched as gs
from gangsched.analysis.show.referee import Referee, left_out, rules_in_words, seed_range
from gangsched.registry import policy
from gangsched.solvers.policy import Rules, information_of

HERE = Path(__file__).resolve().parent
PAGE, DATA = HERE / "gavel-traces.md", HERE / "gavel-traces.json"
FOLDER = HERE.parents[2] / "shared" / "traces"
SPEEDS = Path("gavel_msr") / "simulation_throughputs.json.gz"
#: the cluster of all replays: 8 V100, 16 P100 and 24 K80
CLUSTER = "v100:2x4,p100:4x4,k80:6x4"
RULES: Mapping[str, int] = {"round-length": 360, "lease": 360, "overhead": 0}
HEADS = (
    "policy", "information", "seeds", "jobs", "excluded", "rules", "this", "Gavel's own",
    "difference", "certified ratio",
)  # fmt: skip
GANGS = 6  # column of the gangs, counted from 0


@dataclass(frozen=True)
class Case:
    """A trace, what is measured, and what Gavel's own program gives for it by policy."""

    trace: str
    title: str
    measure: str
    ratio: str
    policies: Sequence[str]
    gavel: Mapping[str, int]
    single: bool = False  # all gangs are of one GPU


ALL = (
    "max-min-fairness", "finish-time-fairness", "allox", "min-total-duration",
    "max-sum-throughput", "gandiva-fair", "srtf", "fifo",
)  # fmt: skip
CASES: Mapping[str, Case] = {
    "physical": Case(
        "max_min_fairness.trace",
        "Mean completion time in s, 96 jobs over 12.9 h",
        "mean_completion",
        "flow",
        ALL,
        {"max-min-fairness": 14_623, "finish-time-fairness": 15_010},
    ),
    "single": Case(
        "max_min_fairness.trace",
        "Mean completion time in s, the same jobs with one GPU each",
        "mean_completion",
        "flow",
        ("allox", "max-min-fairness", "finish-time-fairness", "srtf"),
        {"allox": 16_928},
        single=True,
    ),
    "makespan": Case(
        "minimize_makespan.trace",
        "Makespan in s, 100 jobs at time 0",
        "makespan",
        "makespan",
        ALL,
        {"min-total-duration": 64_721},
    ),
}


def arguments(trace: str, folder: Path, policies: Sequence[str]) -> list[str]:
    """What stands behind ``gangsched replay``."""
    rules = [text for name, value in RULES.items() for text in (f"--{name}", str(value))]
    speeds = str(folder / SPEEDS)
    options = ["--nodes", CLUSTER, "--speeds", speeds, *rules, "--policies", ",".join(policies)]
    return [trace, "--reader", "gavel", *options, "--no-report"]


def single_gangs(path: Path, folder: Path) -> Path:
    """Write the trace with one GPU for each job."""
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    made = folder / path.name
    lines = ("\t".join([*row[:GANGS], "1", *row[GANGS + 1 :]]) for row in rows)
    made.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return made


def replayed(case: Case, folder: Path) -> dict[str, Any]:
    """What the command line says of each policy, which must complete all jobs."""
    with TemporaryDirectory() as own:
        path = folder / "gavel_physical" / case.trace
        path = single_gangs(path, Path(own)) if case.single else path
        out = Path(own) / "replay.json"
        command = arguments(str(path), folder, case.policies)
        subprocess.run(
            [sys.executable, "-m", "gangsched", "replay", *command, "--json", str(out)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        found = json.loads(out.read_text("utf-8"))
    if found["failed"] or len(found["rows"]) < len(case.policies):
        raise RuntimeError(f"{case.trace}: {found['failed']}")
    rows = {}
    for row in found["rows"]:
        measures = row["measures"]
        if measures["finished"] + len(found["rejected"]) != measures["jobs"]:
            raise RuntimeError(f"{case.trace}: {row['name']} left jobs open")
        rows[row["name"]] = {
            "value": round(measures[case.measure]),
            "ratio": round(row["ratios"][case.ratio], 4),
            "jobs": measures["jobs"],
            "excluded": len(found["rejected"]),
        }
    return {"instance": found["instance_hash"], "rows": rows}


def table(case: Case, found: Mapping[str, Any]) -> str:
    """The policies, the best first, with the settings of the referee."""
    lines = [f"| {' | '.join(HEADS)} |", "|---|---|---|--:|--:|---|--:|--:|--:|--:|"]
    rules = ", ".join(f"{name} {value} s" for name, value in RULES.items())
    for name, row in sorted(found["rows"].items(), key=lambda item: item[1]["value"]):
        theirs = case.gavel.get(name)
        own = "" if theirs is None else f"{theirs:,}"
        more = "" if theirs is None else f"{100 * (row['value'] / theirs - 1):+.1f} %"
        told = information_of(policy(name)[1]) or "none used"
        cells = (
            f"`{name}`", told, "none drawn", row["jobs"], row["excluded"], rules,
            f"{row['value']:,}", own, more, f"{row['ratio']:.3f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([f"{case.title}:", "", *lines, "", str(settings(found))])


def settings(found: Mapping[str, Any]) -> Referee:
    """What all rows have in common."""
    rules = Rules(**{name.replace("-", "_"): value for name, value in RULES.items()})
    return Referee(
        information="as each row says",
        seeds=seed_range([]),
        excluded=left_out([max(row["excluded"] for row in found["rows"].values())]),
        parameters=f"{CLUSTER} (servers x GPUs), {rules_in_words(rules)}",
        certificate="certified ratio in the table, to a verified bound for every policy",
    )


def put(page: Path, blocks: Mapping[str, str]) -> None:
    """Put each text between its two lines of the page."""
    text = page.read_text("utf-8")
    for name, block in blocks.items():
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        if not mark:
            raise RuntimeError(f"{page.name} has no place for {name}")
        text = f"{before}{mark}\n{block}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    page.write_text(text, "utf-8")


def main() -> None:
    """Run all replays, and write data and tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--page", action="store_true", help="run nothing")
    given = parser.parse_args()
    if given.page:
        found = json.loads(DATA.read_text("utf-8"))
    else:
        found = {"version": gs.__version__, "cluster": CLUSTER, "rules": dict(RULES)}
        found |= {name: replayed(case, given.folder) for name, case in CASES.items()}
        DATA.write_text(f"{json.dumps(found, indent=1)}\n", "utf-8")
    put(PAGE, {name: table(case, found[name]) for name, case in CASES.items()})


if __name__ == "__main__":
    main()
