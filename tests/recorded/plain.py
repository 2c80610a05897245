"""What commands and calls give, as plain data for a recording.

Run times and versions are left out, long columns of numbers become a few sums, and pictures are
described by what was drawn instead of being drawn.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

#: keys of what no two runs have in common
UNSTEADY = {"runtime", "timing", "versions", "version", "checkpoint", "history", "build"}
LONGEST = 16  #: numbers that a list shows one by one
LONGEST_TEXT = 80  #: characters
LONG_NUMBER = re.compile(r"\d+\.\d{7,}(e-?\d+)?")
VERSIONS = re.compile(r"versions=\{[^{}]*(\{[^{}]*\}[^{}]*)?\}")
HISTORY = re.compile(r"(history\[\d+\])=\[[^,]*")
COMPILING = "gangsched: compiling machine code, once"
SECONDS = re.compile(r"\b\d+\.\d\d\d? s\b")


def plain(value: Any, folder: str = "\0") -> Any:
    """Return JSON data for anything that a command or call gives."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return shortened(value.replace(folder, "FOLDER"))
    if isinstance(value, Enum):
        return plain(value.value, folder)
    if isinstance(value, np.generic | Fraction | int | float):
        return number(value)
    if isinstance(value, Path):
        return plain(str(value), folder)
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), folder)
    if isinstance(value, Mapping):
        kept = {str(k): v for k, v in value.items() if str(k) not in UNSTEADY}
        return {key: plain(part, folder) for key, part in kept.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({f.name: getattr(value, f.name) for f in dataclasses.fields(value)}, folder)
    if isinstance(value, set | frozenset):
        return sorted(plain(list(value), folder), key=str)
    if isinstance(value, list | tuple):
        cells = [plain(part, folder) for part in value]
        return columns(cells) if all(isinstance(cell, dict) for cell in cells) else summed(cells)
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be recorded")


def shortened(text: str) -> str:
    """A long text by its beginning and a check sum; of a hash the beginning."""
    if re.fullmatch("[0-9a-f]{64}", text):
        return text[:10]
    text = HISTORY.sub(r"\1=[SECONDS", VERSIONS.sub("versions={}", text))
    text = LONG_NUMBER.sub(lambda found: f"{float(found[0]):.8g}", text)
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT - 20]} ... {crc32(text.encode()):08x}"


def number(value: Any) -> Any:
    """An integer, or a float of eleven digits; text where JSON has no number."""
    if isinstance(value, Fraction | np.generic):
        value = float(value) if isinstance(value, Fraction) else value.item()
    if not isinstance(value, float):
        return value
    return float(f"{value:.11g}") if math.isfinite(value) else str(value)


def summed(cells: list[Any]) -> Any:
    """Replace a long list of numbers, or of rows of numbers, by sums that show any change."""
    rows = [cell if isinstance(cell, list) else [cell] for cell in cells]
    if len(cells) <= LONGEST or not all(map(is_number, (c for row in rows for c in row))):
        return cells
    return sums([c for row in rows for c in row])


def columns(cells: list[Any]) -> Any:
    """Turn rows with much the same keys into lists by key, which are shorter to write."""
    if len(cells) < 3:
        return cells
    if all(cell == cells[0] and type(cell) is type(cells[0]) for cell in cells):
        return {"each": cells[0], "of": len(cells)}
    if not all(isinstance(cell, dict) for cell in cells):
        return cells
    keys = list(dict.fromkeys(key for cell in cells for key in cell))
    if sum(map(len, cells)) < 0.6 * len(cells) * len(keys):
        return cells
    return {key: columns([cell.get(key, "-") for cell in cells]) for key in keys}


def is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def sums(numbers: list[Any]) -> list[Any]:
    """How many numbers, their sum, and one in which each place has a weight of its own."""
    known = [float(n) for n in numbers if n is not None and math.isfinite(n)]
    weights = [1 + k * 0.6180339887 % 1 for k in range(len(known))]
    total = math.fsum(known), math.fsum(w * n for w, n in zip(weights, known, strict=True))
    count = f"{len(known)}" if len(known) == len(numbers) else f"{len(known)} of {len(numbers)}"
    return [f"{count} numbers", *(float(f"{one:.11g}") for one in total)]


def tidy(text: str) -> list[str]:
    """Lines without colours, rulers, padding and run times."""
    text = SECONDS.sub("SECONDS", text)
    lines = (re.sub(r"[─━═\s]+", " ", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def timeless(text: str) -> list[str]:
    """Lines of a table, whose last column is how long each row took."""
    return [re.sub(r"\s+\d+\.\d\d s$", "", line) for line in text.splitlines()]


# --- files ---------------------------------------------------------------------------------------


class Words(HTMLParser):
    """The text of a page by block, and how many of some tags it has."""

    BLOCKS = ("p", "tr", "h1", "h2", "h3", "li", "caption", "title", "figcaption", "div", "summary")

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[list[str]] = [[]]
        self.tags: dict[str, int] = {}
        self.ignored = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.ignored += tag in ("svg", "style", "script")
        if tag in self.BLOCKS:
            self.lines.append([])
        for name, value in attrs:
            if name == "aria-label" and value:
                self.lines[-1].append(f"[{value}]")

    def handle_endtag(self, tag: str) -> None:
        self.ignored -= tag in ("svg", "style", "script")

    def handle_data(self, data: str) -> None:
        if not self.ignored and data.strip():
            self.lines[-1].append(" ".join(data.split()))


def page(text: str) -> dict[str, Any]:
    """The words of an HTML page, and how many tables, rows and pictures it has."""
    words = Words(text)
    lines = [SECONDS.sub("SECONDS", " ".join(line)) for line in words.lines if line]
    kinds = ("svg", "img", "table", "tr", "td", "th", "section", "details", "b", "strong")
    return {"lines": lines, "tags": {tag: words.tags.get(tag, 0) for tag in kinds}}


def contents(folder: Path) -> dict[str, Any]:
    """What the files of a folder hold; pictures are recorded where they are drawn."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".json":
            found[name] = json.loads(path.read_text("utf-8"))
        elif path.suffix == ".html":
            found[name] = page(path.read_text("utf-8"))
        elif path.suffix == ".csv":
            lines = path.read_text("utf-8").splitlines()
            numbers = [float(n) for n in re.findall(r"-?\d+\.?\d*", "\n".join(lines[1:]))]
            found[name] = {"head": lines[:2], "lines": len(lines), "numbers": sums(numbers)}
        elif path.is_file():
            found[name] = "a file"
    return found


# --- pictures ------------------------------------------------------------------------------------


@contextlib.contextmanager
def pictures(shown: list[Any], describe: Callable[[Any], Any] | None = None) -> Iterator[None]:
    """Note what each figure that is saved shows, and write none."""
    from matplotlib.figure import Figure

    describe = describe or described

    def note(figure: Figure, file: Any, **options: Any) -> None:
        shown.append(describe(figure))
        text = "<svg xmlns='http://www.w3.org/2000/svg'><metadata></metadata></svg>"
        if isinstance(file, str | Path):
            Path(file).write_text(text, "utf-8")
        else:
            file.write(text if isinstance(file, io.TextIOBase) else text.encode())

    true, Figure.savefig = Figure.savefig, note  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Figure.savefig = true  # type: ignore[method-assign]


def drawing(figure: Any) -> str:
    """A check sum of all that is drawn, and where: the SVG without its names of parts."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file, nothing = io.StringIO(), dict.fromkeys(("Creator", "Date", "Format", "Type"))
    FigureCanvasSVG(figure).print_svg(file, metadata=nothing)
    text = re.sub(r"\b[a-z][0-9a-f]{10}\b", "", file.getvalue())
    text = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]) + 0.0:.3f}", text)
    return f"{crc32(text.encode()):08x}"


def described(figure: Any) -> dict[str, Any]:
    """Size and texts of a figure, and what is drawn on its axes."""
    legends = [[text.get_text() for text in one.get_texts()] for one in figure.legends]
    return {
        "size": [round(float(side), 6) for side in figure.get_size_inches()],
        "texts": [text.get_text() for text in figure.texts],
        "legends": legends,
        "axes": [axes_of(axes) for axes in figure.axes],
    }


def axes_of(axes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"title": axes.get_title() or axes.get_title(loc="left")}
    for name in "xy":
        axis = getattr(axes, f"{name}axis")
        low, high = (float(f"{end:.9g}") for end in getattr(axes, f"get_{name}lim")())
        ticks = axis.get_major_locator()()
        inside = [t for t in ticks if min(low, high) <= t <= max(low, high)]
        found[name] = {
            "label": axis.get_label_text(),
            "scale": axis.get_scale(),
            "from": low,
            "to": high,
            "ticks": axis.get_major_formatter().format_ticks(inside),
        }
    legend = axes.get_legend()
    if legend is not None:
        found["legend"] = [text.get_text() for text in legend.get_texts()]
    found["drawn"] = drawn(axes)
    return found


def drawn(axes: Any) -> dict[str, Any]:
    """Sums of the coordinates of all artists of a look: kind, colour, label."""
    from matplotlib.colors import to_hex

    groups: dict[str, list[float]] = {}

    def add(kind: str, colour: Any, label: Any, numbers: Any) -> None:
        with contextlib.suppress(ValueError, TypeError, IndexError):
            colour = to_hex(colour, keep_alpha=True)
        label = "" if str(label).startswith("_") else str(label)
        flat = np.asarray(numbers, dtype=float).ravel()
        groups.setdefault(f"{kind} {colour} {label}".strip(), []).extend(flat.tolist())

    for line in axes.lines:
        look = f"line {line.get_linestyle()} {line.get_marker()} {line.get_linewidth():g}"
        add(look, line.get_color(), line.get_label(), line.get_xydata())
    for patch in axes.patches:
        box = patch.get_path().transformed(patch.get_patch_transform()).vertices
        add(f"patch {patch.get_hatch() or ''}", patch.get_facecolor(), patch.get_label(), box)
    for group in axes.collections:
        paths = [part.vertices for part in group.get_paths()]
        numbers = np.concatenate([*paths, np.asarray(group.get_offsets())]) if paths else []
        add("group", tuple(group.get_facecolor()[:1].ravel()), group.get_label(), numbers)
    texts = [[t.get_text(), *(f"{float(c):.9g}" for c in t.get_position())] for t in axes.texts]
    found: dict[str, Any] = {look: sums(numbers) for look, numbers in groups.items()}
    return {**found, "texts": [" ".join(text) for text in texts]} if texts else found


# --- commands ------------------------------------------------------------------------------------


def cli(*args: Any) -> dict[str, Any]:
    """What a command says and its exit code; it runs within this process."""
    from gangsched.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(arg) for arg in args])
        except SystemExit as end:
            code = end.code
    found = {"exit": code, "out": tidy(out.getvalue()), "err": tidy(quiet(err.getvalue()))}
    return {key: value for key, value in found.items() if value != []}


def quiet(text: str) -> str:
    """What was said but of machine code, which is compiled where there is none."""
    return "".join(line for line in text.splitlines(True) if COMPILING not in line)


def process(*args: Any) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "gangsched", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    found = {"exit": done.returncode, "out": tidy(done.stdout), "err": tidy(quiet(done.stderr))}
    return {key: value for key, value in found.items() if value != []}
