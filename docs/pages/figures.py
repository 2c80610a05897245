"""The reproduced figures of a paper: data, pictures, and tables between the lines of the page.

The words around the tables are written by hand: read them again when a verdict has changed.
"""

from __future__ import annotations

import json
from pathlib import Path

from gangsched.analysis.papers.reproduce import TARGETS, FigureRow, from_rows
from gangsched.analysis.papers.study import Study
from gangsched.analysis.show.plots import save
from gangsched.instances.traces import read_philly_csv
from pages import DOCS, TRACES, put


def study(name: str, data: Path) -> Study:
    """A figure from its data; where there are none it is run."""
    file = data / f"{name.replace(':', '-')}.json"
    if file.exists():
        found = json.loads(file.read_text("utf-8"))
        return from_rows(name, found["instances"], map(FigureRow.of, found["rows"]))
    figure, trace = TARGETS[name], TRACES / "philly/philly.csv.gz"
    more = {"trace": read_philly_csv(trace)} if figure.takes_trace else {}
    made = figure(processes=None, progress=print, **more)
    file.write_text(made.to_json(), "utf-8")
    save(made.plot(), DOCS / "images" / f"{file.stem}.png", dpi=110)
    return made


def write(page: Path) -> None:
    for name in TARGETS:
        if name.startswith(f"{page.stem.removesuffix('_figures')}:"):
            put(page, name, study(name, page.parent / "data").to_markdown())
