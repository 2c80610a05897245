"""A page of reproduced figures, and the data that it shows: shared by the tests of such pages."""

import json
import re
from dataclasses import dataclass
from typing import Any

from gangsched.analysis.papers.reproduce import FigureRow, Study, from_rows
from layout import ROOT

DOCS = ROOT / "docs"


@dataclass(frozen=True)
class FigurePage:
    """The figures of one paper."""

    stem: str

    @property
    def text(self) -> str:
        return (DOCS / "papers" / f"{self.stem}_figures.md").read_text("utf-8")

    def committed(self, name: str) -> dict[str, Any]:
        file = DOCS / "papers" / "data" / f"{name.replace(':', '-')}.json"
        data: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return data

    def restored(self, name: str) -> Study:
        data = self.committed(name)
        rows = [FigureRow(i, p, x, values, tuple(curve)) for i, p, x, values, curve in data["rows"]]
        return from_rows(name, data["instances"], rows)

    def check_it_shows(self, name: str, study: Any) -> None:
        shown = re.findall(rf"<!-- {name} -->\n(.*?)<!-- end -->", self.text, re.DOTALL)
        assert shown == [study.to_markdown()]
        assert f"gangsched reproduce {name}\n" in self.text
        picture = f"{name.replace(':', '-')}.png"
        assert f"](../images/{picture})" in self.text
        assert (DOCS / "images" / picture).stat().st_size < 600_000


def check_first_draw(row: FigureRow, known: FigureRow) -> None:
    """The values of seed 0 come out again; a ratio may be smaller, by a stronger bound."""
    for name in [name for name in row.values if name.endswith(" [0]")]:
        own, before = row.values[name], known.values[name]
        if own is not None and before is not None and name.startswith("ratio"):
            assert 1 <= own <= 1.001 * before
        else:
            assert own == before
