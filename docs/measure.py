"""Write pages that are measured or generated: `python docs/measure.py PAGE [PAGE ...]`.

`--list` shows them all. A page whose table below names a file of data is written from it, and only
what is missing there is run: delete the file, or some of its cells, to measure anew. Public traces
are read from ../shared/traces beside the project, or from the folder that GANGSCHED_TRACES names.
"""

from __future__ import annotations

import argparse
import importlib
from typing import NamedTuple

from pages import DOCS


class Page(NamedTuple):
    """A page, whose module in `pages` has a function `write`."""

    file: str
    module: str
    time: str  #: of a run from nothing, on two cores
    data: str = ""


FIGURES = "minutes a figure"
PAGES = {
    "api": Page("reference/api.md", "api", "5 s"),
    "traces": Page("reference/traces.md", "traces", "2 s"),
    "baseline": Page("baseline.md", "library", "5 s"),
    "tutorial": Page("tutorial/replay-your-own-trace.md", "replays", "20 s"),
    "policy": Page("how-to/add-a-policy.md", "replays", "20 s"),
    "questions": Page("how-to/answer-questions-about-a-cluster.md", "replays", "20 s"),
    "benchmarks": Page("benchmarks.md", "speed", "1 min"),
    "philly": Page("philly.md", "replays", "30 s"),
    "results": Page("results.md", "replays", "3 min"),
    "rar_ddls": Page("papers/rar_ddls_figures.md", "figures", FIGURES, "papers/data"),
    "ltgf": Page("papers/ltgf_figures.md", "figures", FIGURES, "papers/data"),
    "unisched": Page("papers/unisched_figures.md", "figures", FIGURES, "papers/data"),
    "irmp": Page("papers/irmp_figures.md", "figures", FIGURES, "papers/data"),
    "gandiva_fair": Page("papers/gandiva_fair_figures.md", "figures", "2 min", "papers/data"),
    "baseline-traces": Page("baseline-traces.md", "baselines", "15 min", "baseline-traces.json"),
    "gavel": Page("explanation/gavel-traces.md", "gavel", "1 min", "explanation/gavel-traces.json"),
    "value-density": Page(
        "explanation/value-density.md", "density", "40 min", "explanation/value-density.json"
    ),
    "optima": Page("explanation/which-optima.md", "optima", "1 h", "explanation/which-optima.json"),
    "sizes": Page(
        "explanation/how-many-nodes.md", "sizes", "5 min", "explanation/how-many-nodes.json"
    ),
    "three-models": Page(
        "explanation/online-bounds.md", "three_models", "15 min", "explanation/three-models.json"
    ),
    "user-bounds": Page("explanation/user-bounds.md", "users", "some minutes"),
    "profiling": Page("explanation/the-driver.md", "profiling", "3 min"),
}


def listed() -> str:
    """The table of pages."""
    rows = [("page", "writes in docs", "takes", "from the data in docs")]
    rows += [(name, page.file, page.time, page.data) for name, page in PAGES.items()]
    return "\n".join("{:17}{:36}{:18}{}".format(*row).rstrip() for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--list", action="store_true", help="show the pages and what they take")
    given = parser.parse_args()
    unknown = [name for name in given.pages if name not in PAGES]
    if unknown or not (given.pages or given.list):
        what = f"page {unknown[0]!r} is not one of {', '.join(PAGES)}" if unknown else "no page"
        parser.exit(2, f"measure.py: {what}; --list shows them\n")
    if given.list:
        print(listed())
    for name in given.pages:
        page = PAGES[name]
        importlib.import_module(f"pages.{page.module}").write(DOCS / page.file)


if __name__ == "__main__":
    main()
