"""Every instance of the library with its solvers, from what its entries record; nothing is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from gangsched.analysis.show.conditions import Conditions, seed_range
from gangsched.instances import library
from gangsched.instances.library import Entry
from pages import table

INTRODUCTION = """# Baseline of the library

How far is each solver from the best bound that is known, on which instance, and how long does it
take? Every instance of the [library](reference/library.md), with the solvers that were run on it.
*Best known* is the best solution, *bound* what no solution can beat; *gap* is their distance over
the best known value. Below a solver's name stands the gap of its own solution to the same bound,
and its seconds. A bound is certified (`gangsched library verify` proves it again) unless it is
marked as claimed: the word of a branch and bound. Classes are explained
[with the format](reference/library.md#classes).

Made from the entries by `python docs/measure.py baseline`.
"""


def entries() -> list[Entry]:
    return [library.entry(name) for name in library.names()]


def number(value: float) -> str:
    """To ten digits, with commas where it is an integer."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.10g}"


def percent(objective: float, bound: float) -> str:
    gap = library.gap_of(objective, bound)
    return f"{100 * gap:.2f} %" if gap < 10 else "over 1000 %"


def cell(found: Entry, solver: str) -> str:
    """Gap and seconds of a solver; empty where it was not run."""
    for row in found.runs["rows"]:
        if row["solver"] == solver:
            if row["objective"] is None:
                return f"none, {row['seconds']:.2f} s"
            gap = percent(row["objective"], found.bound["value"])
            return f"{gap}, {row['seconds']:.2f} s"
    return ""


def protocol(found: Sequence[Entry]) -> Iterator[str]:
    """Yield the conditions of the runs, as the entries record them."""
    runs = [entry.runs for entry in found if entry.runs["rows"]]

    def each(key: str, unit: str = "") -> str:
        values = {f"{run[key]:g}" if isinstance(run[key], float) else f"{run[key]}" for run in runs}
        return ", ".join(value + unit for value in sorted(values))

    yield "## Protocol"
    limits = [each(key, " s") for key in ("limit", "bound_limit")]
    exact = sorted({run["exact_limit"] for run in runs})
    yield (
        f"Limits: {limits[0]} for each heuristic, {exact[0]:g} to {exact[-1]:g} s for `exact` by "
        "size (which may take longer to build a model; `gangsched library show` has the limit of "
        f"each run), {limits[1]} for the bound, of effort full. The exact solver runs on small "
        "instances only, of completion times, rewards and users on up to 300 jobs. One instance "
        "after the other, in a process for each kind; threads "
        f"are the defaults of solvers. Seed {each('seed')} of all. Time is wall time without "
        f"compilation, on a machine with {each('machine')} that others used too: read it as an "
        "order of magnitude."
    )
    yield (
        f"Versions: gangsched {each('version')}, Python {each('python')}. Run on {each('date')}. "
        "To repeat it: `python tests/build_library.py --again`, which changes a file only where "
        "something is better. To improve an entry: `gangsched library submit`."
    )


def summary(found: Sequence[Entry]) -> Iterator[str]:
    heads = ["problem", "instances", *library.LEVELS, "claimed bounds", "largest", "median gap"]
    yield "## Instances"
    rows = []
    for stem in dict.fromkeys(entry.formulation for entry in found):
        own = [entry for entry in found if entry.formulation == stem]
        count = Counter(entry.level for entry in own)
        gap = 100 * median(entry.gap for entry in own)
        numbers = [
            len(own), *(count[level] for level in library.LEVELS),
            sum(entry.claim is not None for entry in own), f"{max(e.jobs for e in own):,}",
            f"{gap:.2f} %",
        ]  # fmt: skip
        rows.append([stem, *numbers])
    yield table(heads, rows)
    yield "*Largest* is the number of jobs, or of a market's users."


def of_problem(stem: str, found: Sequence[Entry]) -> Iterator[str]:
    yield f"## {stem}"
    names = dict.fromkeys(row["solver"] for entry in found for row in entry.runs["rows"])
    heads = ["instance", "class", "jobs", "best known", "bound", "gap", *names]
    rows = []
    for entry in sorted(found, key=lambda entry: (entry.jobs, entry.name)):
        claimed = "" if entry.claim is None else " (claimed)"
        bound = entry.bound["value"]
        rows.append([
            entry.name, entry.level, f"{entry.jobs:,}", number(entry.objective),
            number(bound) + claimed, percent(entry.objective, bound),
            *(cell(entry, name) for name in names),
        ])  # fmt: skip
    yield table(heads, rows, left=2)
    yield str(conditions(found))


def conditions(found: Sequence[Entry]) -> Conditions:
    runs = found[0].runs
    limits = sorted({entry.runs["exact_limit"] for entry in found if entry.runs["rows"]})
    exact = " to ".join(f"{limit:g}" for limit in dict.fromkeys([limits[0], limits[-1]]))
    online = any(row["solver"].startswith("online") for e in found for row in e.runs["rows"])
    claimed = sum(entry.claim is not None for entry in found)
    own = [entry.generator["seed"] for entry in found if entry.generator is not None]
    return Conditions(
        information="all solvers know the whole instance" + ", online rules what has come" * online,
        seeds=f"{seed_range(own)} of the instances, {runs['seed']} of solvers",
        excluded="no job",
        parameters=f"{runs['limit']:g} s for each solver, {exact} s for exact, "
        f"{runs['bound_limit']:g} s for the bound",
        certificate=f"bound in the table, {claimed} of {len(found)} marked as claimed",
    )


def page() -> str:
    found = entries()
    parts = [INTRODUCTION.rstrip(), *protocol(found), *summary(found)]
    for stem in dict.fromkeys(entry.formulation for entry in found):
        parts += of_problem(stem, [entry for entry in found if entry.formulation == stem])
    return "\n\n".join(parts) + "\n"


def write(file: Path) -> None:
    file.write_text(page(), "utf-8")
