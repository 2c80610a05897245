"""Run reproduced figures anew and put data, pictures and tables into the documentation.

Run `python docs/papers/update_figures.py [TARGET ...] [--trace FILE --reader NAME]`: without
targets all of them. The figures that are computed on a trace too need the one that the page shows,
which is no part of the project; without it they are left as they are. The words around the tables
are written by hand: read them again when a verdict has changed.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from gangsched.analysis.papers.reproduce import TARGETS, takes_trace
from gangsched.analysis.show.plots import save
from gangsched.instances.traces import READERS

PAPERS = Path(__file__).resolve().parent


def page(name: str) -> Path:
    """Return where the figures of the target's paper are shown."""
    return PAPERS / f"{name.partition(':')[0]}_figures.md"


def block(name: str) -> re.Pattern[str]:
    """Find the generated part of a page between its two marks."""
    return re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", default=list(TARGETS), metavar="TARGET")
    parser.add_argument("--trace")
    parser.add_argument("--reader", choices=READERS)
    given = parser.parse_args()
    trace = READERS[given.reader](given.trace) if given.trace else None
    for name in given.targets:
        if takes_trace(name) and trace is None:
            print(f"{name}: left as it is, for it needs a trace")
            continue
        more = {"trace": trace} if takes_trace(name) else {}
        study = TARGETS[name](processes=None, progress=print, **more)
        file = name.replace(":", "-")
        (PAPERS / "data" / f"{file}.json").write_text(study.to_json(), "utf-8")
        save(study.plot(), PAPERS.parent / "images" / f"{file}.png", dpi=110)
        tables, text = study.to_markdown(), page(name).read_text("utf-8")
        text = block(name).sub(lambda m, new=tables: f"{m[1]}{new}{m[2]}", text)
        page(name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
