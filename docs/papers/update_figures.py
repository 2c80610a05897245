"""Run all reproduced figures anew and put data, pictures and tables into the documentation.

Run `python docs/papers/update_figures.py`; it takes about two minutes. The words around the tables
in `rar_ddls_figures.md` are written by hand: read them again when a verdict has changed.
"""

from __future__ import annotations

import re
from pathlib import Path

from gangsched.analysis.plots import save
from gangsched.analysis.reproduce import TARGETS

PAPERS = Path(__file__).resolve().parent
PAGE = PAPERS / "rar_ddls_figures.md"


def block(name: str) -> re.Pattern[str]:
    """Find the generated part of a page between its two marks."""
    return re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    page = PAGE.read_text("utf-8")
    for name, run in TARGETS.items():
        record = run(progress=print)
        file = name.replace(":", "-")
        (PAPERS / "data" / f"{file}.json").write_text(record.to_json(), "utf-8")
        save(record.plot(), PAPERS.parent / "images" / f"{file}.png", dpi=110)
        tables = record.to_markdown()
        page = block(name).sub(lambda m, new=tables: f"{m[1]}{new}{m[2]}", page)
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
