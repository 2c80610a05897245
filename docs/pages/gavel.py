"""Replays of Gavel's traces on the command line, beside the numbers of Gavel's own simulator."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gangsched as gs
from gangsched.analysis.show.conditions import Conditions, left_out, rules_in_words, seed_range
from gangsched.registry import policy
from gangsched.solvers.policy import Rules, information_of
from pages import TRACES, kept, put, run, table

SPEEDS = "gavel_msr/simulation_throughputs.json.gz"
#: the cluster of all replays: 8 V100, 16 P100 and 24 K80
CLUSTER = "v100:2x4,p100:4x4,k80:6x4"
RULES: Mapping[str, int] = {"round-length": 360, "lease": 360, "overhead": 0}
HEADS = (
    "policy", "information", "seeds", "rules", "jobs", "excluded", "this", "Gavel's own",
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
        "max_min_fairness.trace", "Mean completion time in s, 96 jobs over 12.9 h",
        "mean_completion", "flow", ALL,
        {"max-min-fairness": 14_623, "finish-time-fairness": 15_010},
    ),
    "single": Case(
        "max_min_fairness.trace", "Mean completion time in s, the same jobs with one GPU each",
        "mean_completion", "flow",
        ("allox", "max-min-fairness", "finish-time-fairness", "srtf"), {"allox": 16_928},
        single=True,
    ),
    "makespan": Case(
        "minimize_makespan.trace", "Makespan in s, 100 jobs at time 0",
        "makespan", "makespan", ALL, {"min-total-duration": 64_721},
    ),
}  # fmt: skip


def single_gangs(path: Path, folder: Path) -> Path:
    """Write the trace with one GPU for each job."""
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    lines = ("\t".join([*row[:GANGS], "1", *row[GANGS + 1 :]]) for row in rows)
    made = folder / path.name
    made.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return made


def replayed(case: Case, folder: Path = TRACES) -> dict[str, Any]:
    """What the command line says of each policy, which must complete all jobs."""
    rules = [text for name, value in RULES.items() for text in (f"--{name}", str(value))]
    with TemporaryDirectory() as own:
        path, out = folder / "gavel_physical" / case.trace, Path(own) / "replay.json"
        path = single_gangs(path, Path(own)) if case.single else path
        run(
            "replay", str(path), "--reader", "gavel", "--nodes", CLUSTER, "--no-report",
            "--speeds", str(folder / SPEEDS), *rules, "--policies", ",".join(case.policies),
            "--json", str(out),
        )  # fmt: skip
        found = json.loads(out.read_text("utf-8"))
    gone = len(found["rejected"])
    done = {
        r["name"]: r
        for r in found["rows"]
        if r["measures"]["finished"] + gone == r["measures"]["jobs"]
    }
    if found["failed"] or len(done) < len(case.policies):
        raise RuntimeError(f"{case.trace}: not all policies completed all jobs: {found['failed']}")
    rows = {
        name: {
            "value": round(row["measures"][case.measure]),
            "ratio": round(row["ratios"][case.ratio], 4),
            "jobs": row["measures"]["jobs"],
            "excluded": gone,
        }
        for name, row in done.items()
    }
    return {"instance": found["instance_hash"], "rows": rows}


def text(case: Case, found: Mapping[str, Any]) -> str:
    """The policies, the best first, and under which settings they compare."""
    rows, rules = [], ", ".join(f"{name} {value} s" for name, value in RULES.items())
    for name, row in sorted(found["rows"].items(), key=lambda item: item[1]["value"]):
        theirs = case.gavel.get(name)
        own = ["", ""]
        if theirs is not None:
            own = [f"{theirs:,}", f"{100 * (row['value'] / theirs - 1):+.1f} %"]
        rows.append([
            f"`{name}`", information_of(policy(name)[1]) or "none used", "none drawn", rules,
            row["jobs"], row["excluded"], f"{row['value']:,}", *own, f"{row['ratio']:.3f}",
        ])  # fmt: skip
    settings = Conditions(
        information="as each row says",
        seeds=seed_range([]),
        excluded=left_out([max(row["excluded"] for row in found["rows"].values())]),
        parameters=f"{CLUSTER} (servers x GPUs), "
        + rules_in_words(Rules(**{name.replace("-", "_"): n for name, n in RULES.items()})),
        certificate="certified ratio in the table, to a verified bound for every policy",
    )
    return f"{case.title}:\n\n{table(HEADS, rows, left=4)}\n\n{settings}"


def write(page: Path) -> None:
    cells = {name: partial(replayed, case) for name, case in CASES.items()}
    head = {"version": gs.__version__, "cluster": CLUSTER, "rules": RULES}
    found = kept(page.with_suffix(".json"), cells, **head)["cells"]
    for name, case in CASES.items():
        put(page, name, text(case, found[name]))
