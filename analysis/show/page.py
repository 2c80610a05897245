"""One self-contained HTML page: style, tables, pictures and charts inside, nothing to fetch.

What the reports share. A page follows the reader's light or dark setting; every text that gets in
is escaped. Where script runs, pictures that have a chart give way to it, and tables can be sorted,
filtered and saved; without, everything stands there as it is. Apart from elements of class
``timing``, the same input gives the same bytes.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from markupsafe import escape as _escaped
from matplotlib.figure import Figure

from ...instances.io import write_file
from . import plots
from .columns import WITH_UNIT, Column, ColumnTable, Section

#: longer lists end with "and so many more", so that a file stays small
MOST_LISTED = 200
#: characters of a chart's data that stand in the page as they are; more is packed
MOST_PLAIN = 20_000
LONG_TEXT = 28  # characters that get some width
HERE = Path(__file__).parent
CHART = Markup('<div class="chart"')

#: colours of the pictures that are too dark, or too light, on a dark page, and what they become
DARK = {
    plots.INK: "#e6e9ed",
    plots.MUTED: "#a3adb8",
    plots.PAPER: "#16191d",
    plots.TRACK: "#2a3037",
    plots.BOUND: "#f08a52",
}
DARK_PICTURES = "".join(
    f'figure svg [style*="{part}: {light}"] {{ {part}: {dark} !important; }}\n'
    for light, dark in DARK.items()
    for part in ("fill", "stroke")
)


class TableCell(NamedTuple):
    """One cell of a table: text, classes, the number behind it and its unit, in CSV."""

    text: object
    kind: str = ""
    value: str | None = None
    unit: str = ""
    best: bool = False
    span: int = 1


class TableLine(NamedTuple):
    """A row of cells, and its class."""

    cells: Sequence[TableCell]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """A heading of a page, and what stands below it.

    Parameters
    ----------
    title : str
    parts : sequence of Markup
    """

    title: str
    parts: Sequence[Markup]


def write_page(path: str | Path, title: str, summary: str, topics: Sequence[Topic]) -> None:
    """Write a page, as a whole: nobody sees half of it."""
    sections = [
        {"id": name, "title": topic.title, "parts": topic.parts}
        for name, topic in zip(_ids([topic.title for topic in topics]), topics, strict=True)
    ]
    drawn = any(CHART in part for topic in topics for part in topic.parts)
    text = _templates().get_template("page.html").render(
        title=title,
        summary=summary,
        sections=sections,
        drawn=drawn,
        style=Markup(_file("templates/report.css")),
        dark=Markup(DARK_PICTURES),
        library=Markup(_file("vendor/echarts.min.js")),
        script=Markup(_file("templates/report.js")),
    )  # fmt: skip
    write_file(path, text + "\n")


@cache
def _templates() -> Environment:
    """The templates; every text in them is escaped."""
    return Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined
    )


@cache
def _file(name: str) -> str:
    return (HERE / name).read_text("utf-8")


def _part(macro: str, *values: Any) -> Markup:
    """What a macro of the templates makes of these values."""
    made: Markup = getattr(_templates().get_template("parts.html").module, macro)(*values)
    return made


def _ids(titles: Iterable[str]) -> list[str]:
    """Names for links to headings, each another."""
    found: list[str] = []
    for title in titles:
        name = "-".join(re.findall(r"[a-z0-9]+", title.lower())) or "part"
        found.append(name if name not in found else f"{name}-{len(found)}")
    return found


def escape(value: object) -> Markup:
    """Return `value` as text that HTML takes for nothing else.

    >>> str(escape("<b>"))
    '&lt;b&gt;'
    """
    return _escaped(value)


# --- words ---------------------------------------------------------------------------------------


def paragraph(text: object) -> Markup:
    """Return a paragraph."""
    return Markup("<p>{}</p>").format(text)


def muted(text: object) -> Markup:
    """Return a paragraph that explains."""
    return Markup('<p class="muted">{}</p>').format(text)


def code(text: str) -> Markup:
    """Return text that machines read."""
    return Markup("<pre>{}</pre>").format(text)


def folded(head: str, lines: Sequence[str]) -> Markup:
    """Return a list that opens with a click on its head."""
    shown = list(islice(lines, MOST_LISTED))
    return details(head, _part("listed", shown, len(lines) - len(shown)))


def details(head: str, *parts: Markup) -> Markup:
    """Return parts that open with a click on their head."""
    return _part("folded", head, parts)


# --- tables --------------------------------------------------------------------------------------


def proof(head: str, data: Any, most: int) -> Markup:
    """Return a certificate as JSON to unfold, cut after so many characters."""
    text = json.dumps({} if data is None else dict(data), default=str, ensure_ascii=False)
    if len(text) > most:
        text = f"{text[:most]} … and {len(text) - most:,} more characters"
    return details(head, code(text))


def facts(facts: Mapping[str, object]) -> Markup:
    """Return a table of two columns; None is a dash."""
    return _part("facts", [(key, "–" if v is None else v) for key, v in facts.items()])


def rows(
    heads: Sequence[str | TableCell],
    lines: Iterable[Sequence[object]],
    *,
    numbers: Container[int] = (),
    name: str = "",
    above: Sequence[TableCell] = (),
) -> Markup:
    """Return rows of texts or cells below headings; what stands at `numbers` is one."""

    def cells(texts: Sequence[object]) -> list[TableCell]:
        kinds = ["number" if k in numbers else "" for k in range(len(texts))]
        pairs = zip(texts, kinds, strict=True)
        return [t if isinstance(t, TableCell) else TableCell(t, kind) for t, kind in pairs]

    top = [*([list(above)] if above else []), cells(heads)]
    return _part("table", name, top, [TableLine(cells(line)) for line in lines], [], "data")


def table(table: ColumnTable, *, best: object = None, name: str = "") -> Markup:
    """Return rows below headings; numbers stand on the right, the best row is bold."""
    columns, written = table.columns, table.texts("–")
    by_column = list(zip(*written, strict=True)) or [()] * len(columns)
    kinds = [_kind(c, texts) for c, texts in zip(columns, by_column, strict=True)]
    heads = [
        TableCell(c.title, "number" * c.number, unit=c.unit if c.write in WITH_UNIT else "")
        for c in columns
    ]
    lines = [
        TableLine(
            [
                TableCell(text, kind, _number(c, row))
                for c, kind, text in zip(columns, kinds, texts, strict=True)
            ],
            "best" * (row is best),
        )
        for row, texts in zip(table.rows, written, strict=True)
    ]
    below = [
        [TableCell(text, "number" * c.number) for c, text in zip(columns, texts, strict=True)]
        for part in table.below()
        for texts in part
    ]
    return _part("table", name, [heads], lines, below, "data")


def _kind(column: Column, texts: Sequence[str]) -> str:
    """Class of a column's cells: run times are no part of what is the same each time."""
    if column.number:
        return "number timing" if column.key == "runtime" else "number"
    return "text" * (max(map(len, texts), default=0) > LONG_TEXT)


def _number(column: Column, row: Any) -> str | None:
    """The number of a cell, for sorting and CSV."""
    value = column.value(row) if column.number and column.key != "runtime" else None
    return None if value is None or isinstance(value, str) else f"{value:.10g}"


def across(sections: Sequence[Section], rows: Sequence[Any], name: str) -> Markup:
    """Return a line for each column of the sections, and a cell for each row; the best is bold.

    Rows that are not complete take no part in that; a column without any value is left out.
    """
    names = [TableCell(row.values[name], "number") for row in rows]
    groups = []
    for section in sections:
        lines = [_across(column, rows) for column in section.every if wanted(column, rows)]
        groups.append(([TableCell(section.title), *names], lines))
    return _part("across", " ".join(section.title for section in sections), groups)


def wanted(column: Column, rows: Sequence[Any]) -> bool:
    """Whether there is something to see; of jobs that are not complete, whether there are any."""
    values = [column.value(row) for row in rows]
    optional = column.key in ("unfinished", "rejected")
    return any(values) if optional else any(value is not None for value in values)


def _across(column: Column, rows: Sequence[Any]) -> list[TableCell]:
    texts, _ = column.texts(rows, "–")
    rated = {
        k: column.better * value
        for k, row in enumerate(rows)
        if row.complete and column.better and (value := column.value(row)) is not None
    }
    best = {texts[k] for k, value in rated.items() if value == max(rated.values())}
    kind = "number timing" if column.key == "runtime" else "number"
    cells = [
        TableCell(text, kind, _number(column, rows[k]), best=k in rated and text in best)
        for k, text in enumerate(texts)
    ]
    return [TableCell(column.title), *cells]


# --- pictures and charts -------------------------------------------------------------------------


def picture(figure: Figure, name: str, alt: str) -> Markup:
    """Return the figure as inline SVG whose ids begin with `name`, so that they are unique."""
    svg = plots.to_svg(figure)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1)
    return Markup(f"<figure>{svg.strip()}</figure>")


def chart(name: str, title: str, data: Mapping[str, Any], *still: Markup) -> Markup:
    """Return a chart of the script, and the pictures that stand in its place without one."""
    return _part("chart", name, title, embedded(data), still)


def embedded(data: Any) -> Markup:
    r"""Return data as JSON within a page; names are only names, whatever signs they have.

    >>> str(embedded({"<job> & co": 1}))
    '{"\\u003cjob\\u003e \\u0026 co":1}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=_plain)
    if len(text) > MOST_PLAIN:
        packed = base64.b64encode(zlib.compress(text.encode(), 6)).decode()
        text = json.dumps({"packed": packed})
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"page: a value of type {type(value).__name__} is no data of a chart")
