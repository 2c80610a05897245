"""One self-contained HTML page: style, tables and pictures inside, nothing to fetch, no script.

What the reports share. A page follows the reader's light or dark setting; every text that gets in
is escaped. Apart from elements of class ``timing``, the same input gives the same bytes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ...instances.io import write_file
from . import plots
from .columns import Column, ColumnTable, Section

#: longer lists end with "and so many more", so that a file stays small
MOST_LISTED = 200

STYLE = """
:root { --ink: #1b1f24; --muted: #5b6570; --paper: #fefefe; --track: #eceff2; --line: #d5dae0;
  --accent: #1f6f94; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --muted: #a3adb8; --paper: #16191d;
  --track: #2a3037; --line: #39414a; --accent: #6fb9dc; } }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 60rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
.summary { font-size: 1.1rem; border-left: 4px solid var(--accent); padding-left: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th { color: var(--muted); font-weight: 600; }
td.number, th.number { text-align: right; }
tr.best td { font-weight: 700; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
.muted { color: var(--muted); }
code, pre { font: .85rem/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; background: var(--track); padding: .75rem; border-radius: 6px; }
summary { cursor: pointer; }
"""

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


def write_page(path: str | Path, title: str, body: str) -> None:
    """Write a page, as a whole: nobody sees half of it."""
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}"
        f"@media (prefers-color-scheme: dark) {{\n{DARK_PICTURES}}}\n</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )
    write_file(path, text)


def escape(value: object) -> str:
    """Return `value` as text that HTML takes for nothing else.

    >>> escape("<b>")
    '&lt;b&gt;'
    """
    return html.escape(str(value), quote=True)


def facts(facts: Mapping[str, object]) -> str:
    """Return a table of two columns; None is a dash."""
    rows = (
        f"<tr><th>{escape(key)}</th><td>{escape('–' if value is None else value)}</td></tr>"
        for key, value in facts.items()
    )
    return framed(rows)


def framed(rows: Iterable[str]) -> str:
    """Return a table of these rows, in a box that scrolls where it is too wide."""
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def line(tag: str, *texts: object, numbers: Container[int] = ()) -> str:
    """Return a row of cells, "th" or "td"; what stands at the places of `numbers` is one."""
    opened = f"<{tag}>", f'<{tag} class="number">'
    cells = (f"{opened[k in numbers]}{escape(text)}</{tag}>" for k, text in enumerate(texts))
    return f"<tr>{''.join(cells)}</tr>"


def muted(text: str) -> str:
    """Return a paragraph that explains."""
    return f'<p class="muted">{escape(text)}</p>'


def table(table: ColumnTable, *, best: object = None) -> str:
    """Return rows below headings; numbers stand on the right, the best row is bold."""
    lines = [_cells("th", table.columns, [column.title for column in table.columns])]
    marks = [""] + [' class="best"' if row is best else "" for row in table.rows]
    lines += [_cells("td", table.columns, texts) for texts in table.texts("–")]
    return framed(f"<tr{mark}>{cells}</tr>" for mark, cells in zip(marks, lines, strict=True))


def _cells(tag: str, columns: Sequence[Column], texts: Sequence[str]) -> str:
    kinds = (
        "number timing" if tag == "td" and c.key == "runtime" else "number" if c.number else ""
        for c in columns
    )
    return "".join(
        f"<{tag}{f' class={chr(34)}{kind}{chr(34)}' * bool(kind)}>{escape(text)}</{tag}>"
        for kind, text in zip(kinds, texts, strict=True)
    )


def across(sections: Sequence[Section], rows: Sequence[Any], name: str) -> str:
    """Return a line for each column of the sections, and a cell for each row; the best is bold.

    Rows that are not complete take no part in that; a column without any value is left out.
    """
    heads = "".join(f'<th class="number">{escape(row.values[name])}</th>' for row in rows)
    lines = []
    for section in sections:
        lines.append(f"<tr><th>{escape(section.title)}</th>{heads}</tr>")
        lines += [_across(column, rows) for column in section.every if wanted(column, rows)]
    return framed(lines)


def wanted(column: Column, rows: Sequence[Any]) -> bool:
    """Whether there is something to see; of jobs that are not complete, whether there are any."""
    values = [column.value(row) for row in rows]
    optional = column.key in ("unfinished", "rejected")
    return any(values) if optional else any(value is not None for value in values)


def _across(column: Column, rows: Sequence[Any]) -> str:
    texts, _ = column.texts(rows, "–")
    rated = {
        k: column.better * value
        for k, row in enumerate(rows)
        if row.complete and column.better and (value := column.value(row)) is not None
    }
    best = {texts[k] for k, value in rated.items() if value == max(rated.values())}
    kind = "number timing" if column.key == "runtime" else "number"
    cells = (
        f"<strong>{escape(text)}</strong>" if k in rated and text in best else escape(text)
        for k, text in enumerate(texts)
    )
    line = "".join(f'<td class="{kind}">{cell}</td>' for cell in cells)
    return f"<tr><td>{escape(column.title)}</td>{line}</tr>"


def folded(head: str, lines: Sequence[str]) -> str:
    """Return a list that opens with a click on its head."""
    shown: Iterable[str] = islice(lines, MOST_LISTED)
    items = [f"<li>{escape(line)}</li>" for line in shown]
    if len(lines) > MOST_LISTED:
        items.append(f"<li>and {len(lines) - MOST_LISTED} more</li>")
    return f"<details><summary>{escape(head)}</summary><ul>{''.join(items)}</ul></details>"


def picture(figure: Figure, name: str, alt: str) -> str:
    """Return the figure as inline SVG whose ids begin with `name`, so that they are unique."""
    svg = plots.to_svg(figure)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1)
    return f"<figure>{svg.strip()}</figure>"
