"""Pictures as data: rows of panels, and the one drawer of them.

A :class:`Panel` says what is drawn of whom. Instances and policies are chosen by regular
expressions, so that the same panels draw whatever a study has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, pairwise, zip_longest
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..show.plots import BOUND, INK, MUTED, STYLE, WIDTH, axes_at, headline, new_figure
from .study import FigureRow, Study
from .verdicts import values

GRID = "#dfe3e8"
DASHED: Any = (0, (4, 1.6))
DOTTED: Any = (0, (1, 1.2))
LINES: Mapping[str, Any] = {"solid": "-", "dashed": DASHED, "dotted": DOTTED}
SHADE: Mapping[Any, float] = {"-": 1.0, DOTTED: 0.65, DASHED: 0.35}  # of bars
LIMIT = "verified bound"
#: after Okabe and Ito, for those that have no look of their own
COLOURS = (
    "#004f7d", "#d98c00", "#00946b", "#c0649a", "#4aa3d8", "#d55e00", "#7a838d", "#8a6d1f",
)  # fmt: skip
Looks = Mapping[str, tuple[str, Any]]
Kind = Literal["bars", "lines", "points", "curves", "shares", "boxes"]


@dataclass(frozen=True, slots=True)
class Panel:
    """What one pair of axes shows; of all kinds but bars there is one for each instance.

    Parameters
    ----------
    measure, label : str
        The label may be left out.
    kind : str
        ``bars`` stand beside each other, a group for each instance; ``lines`` and ``points`` go
        along x; ``curves`` are the rows' own, at the levels of the study, ``shares`` are those
        with levels upwards, and ``boxes`` those of five quantiles, at x.
    on, of : str
        Regular expressions of instances and policies.
    axis : str
        Label of the axis below; of lines, by default what the instance or the study says.
    title : str
        ``{}`` is the name of the instance.
    limit : str
        Measure of a verified bound, drawn dashed.
    level : float or None
        A value that is marked.
    span : tuple of float, optional
        Least and largest value that is drawn.
    zero : bool
        Whether values begin at 0, where they have no span.
    scale : float
        Factor of the values.
    cut : float
        Times the median bar from which on bars are cut, with their number.
    together : bool
        Whether instances share the axes, each a line.
    logarithmic : tuple of float
        Ends of the axis below, where it is so.
    """

    measure: str
    label: str = ""
    kind: Kind = "bars"
    on: str = ".*"
    of: str = ".*"
    axis: str = ""
    title: str = ""
    limit: str = ""
    level: float | None = None
    span: tuple[float, float] | None = None
    zero: bool = True
    scale: float = 1.0
    cut: float = np.inf
    together: bool = False
    logarithmic: tuple[float, float] | None = None

    @classmethod
    def from_file(cls, **fields: Any) -> Panel:
        """Return a panel of a file, which has lists for tuples."""
        given: Any = {n: tuple(v) if isinstance(v, list) else v for n, v in fields.items()}
        return cls(**given)

    def shows(self, row: FigureRow) -> bool:
        """Whether a row is drawn."""
        chosen = re.fullmatch(self.on, row.instance) and re.fullmatch(self.of, row.policy)
        if self.kind in ("curves", "shares", "boxes"):
            return bool(chosen and row.curve and (row.x is not None) == (self.kind == "boxes"))
        if self.kind == "bars":
            return bool(chosen and row.values.get(self.measure) is not None)
        return bool(chosen and row.x is not None and self.measure in row.values)


#: a row with a single panel goes on beside it for each instance, others below
Panels = Sequence[Sequence[Panel]]


# --- axes and legends ----------------------------------------------------------------------------


def axes_in_rows(
    study: Study,
    columns: Sequence[int],
    *,
    tall: float,
    left: float = 0.62,
    beside: float = 0.62,
    right: float = 0.25,
    top: float = 0.72,
    below: float = 0.75,
    apart: float = 0.55,
) -> tuple[Figure, list[list[Axes]]]:
    """Return empty axes under the study's headline, so many in each row; lengths in inches."""
    height = top + len(columns) * tall + (len(columns) - 1) * apart + below
    figure = new_figure(height)
    rows: list[list[Axes]] = []
    for r, n in enumerate(columns):
        wide = (WIDTH - left - right - beside * (n - 1)) / n
        floor = below + (len(columns) - 1 - r) * (tall + apart)
        lefts = (left + c * (wide + beside) for c in range(n))
        rows.append([axes_at(figure, x, floor, wide, tall) for x in lefts])
    with mpl.rc_context(STYLE):
        for axes in figure.axes:
            axes.tick_params(labelsize=8)
            axes.grid(color=GRID, linewidth=0.7)
            axes.set_axisbelow(True)
    headline(figure, study.title)
    return figure, rows


def named(axes: Axes, text: str, size: float = 9) -> None:
    """Write the name of a panel above it."""
    axes.set_title(text, size=size, color=MUTED, loc="left")


def legend(figure: Figure, handles: Iterable[Any], columns: int, length: float = 2.0) -> None:
    """Draw one legend for all panels, at the foot of the figure."""
    figure.legend(
        handles=list(handles), ncols=columns, loc="lower left", bbox_to_anchor=(0.01, 0.0),
        frameon=False, fontsize=8.5, labelcolor=INK, handlelength=length, columnspacing=1.4,
    )  # fmt: skip


# --- the drawer ----------------------------------------------------------------------------------


def draw(study: Study, panels: Panels, *, looks: Looks, across: int = 4, **room: float) -> Figure:
    """Draw rows of panels and one legend of all policies; `room` goes to :func:`axes_in_rows`."""
    laid = [row for row in _rows(study, panels, across) if row]
    series = dict.fromkeys(
        name for row in laid for panel in row if panel.kind != "boxes"
        for name in _series(study, panel)
    )  # fmt: skip
    every = [(colour, line) for line in ("-", DASHED, DOTTED) for colour in COLOURS]
    own = {looks.get(name) for name in series}
    free = cycle([look for look in every if look not in own])
    lines: dict[str, tuple[str, Any]] = {name: looks.get(name) or next(free) for name in series}
    if any(panel.limit for row in laid for panel in row):
        lines[LIMIT] = BOUND, DASHED
    columns = max(1, min(5, 130 // (10 + max(map(len, lines), default=0))))
    lengths = {
        "tall": 1.75 if len(laid) < 3 else 1.4, "beside": 0.72, "right": 0.3, "top": 0.68,
        "apart": 0.62, "below": 0.67 + 0.2 * (-(-len(lines) // columns)),
    }  # fmt: skip
    figure, places = axes_in_rows(study, [*map(len, laid)], **{**lengths, **room})
    with mpl.rc_context(STYLE):
        for row, beside in zip(laid, places, strict=True):
            for panel, axes in zip(row, beside, strict=True):
                _paint(study, axes, panel, lines)
    handles = [
        Line2D([], [], label=name, color=colour, linestyle=line, linewidth=2.4)
        for name, (colour, line) in lines.items()
    ]
    legend(figure, handles, columns)
    return figure


def _rows(study: Study, panels: Panels, across: int) -> Iterator[list[Panel]]:
    """Panels of what there is: a row with one goes on to the right, others further down."""
    for row in panels:
        if len(row) == 1:
            one = _each(study, row[0])
            one = [replace(p, label=p.label * (k % across == 0)) for k, p in enumerate(one)]
            yield from (one[k : k + across] for k in range(0, len(one), across))
        else:
            every = zip_longest(*(_each(study, panel) for panel in row))
            yield from ([panel for panel in beside if panel] for beside in every)


def _each(study: Study, panel: Panel) -> list[Panel]:
    """The panel for each instance, or once where instances stand beside each other."""
    found = dict.fromkeys(row.instance for row in study.rows if panel.shows(row))
    if panel.kind == "bars" or panel.together:
        return [panel] if found else []
    return [
        replace(panel, on=re.escape(name), title=panel.title.format(name.partition(", x =")[0]))
        for name in study.instances
        if name in found
    ]


def _series(study: Study, panel: Panel) -> dict[str, list[FigureRow]]:
    """The rows of each policy; of each instance where several share the axes."""
    found: dict[str, list[FigureRow]] = {}
    for row in study.rows:
        if panel.shows(row):
            found.setdefault(row.instance if panel.together else row.policy, []).append(row)
    return found


def _paint(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    axes.set_ylabel(panel.label, size=8.5)
    named(axes, panel.title)
    PAINT[panel.kind](study, axes, panel, looks)
    if panel.logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(*panel.logarithmic)
        axes.minorticks_off()
    if panel.level is not None:
        mark = axes.axvline if panel.kind == "shares" else axes.axhline
        mark(panel.level, color=MUTED, linewidth=0.8)
    low, high = axes.dataLim.intervaly
    if panel.span is not None:
        axes.set_ylim(panel.span)
    elif panel.zero and 0 <= low <= high:
        axes.set_ylim(0, 1.07 * (high or 1.0))
    varied = panel.on.partition("x\\ =\\ ")[2] or study.axis
    axes.set_xlabel(panel.axis or varied * (panel.kind == "lines"), size=8.5, labelpad=1)


def _bars(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    """A group for each instance; whiskers from the least to the largest seed."""
    series = _series(study, panel)
    there = {row.instance for rows in series.values() for row in rows}
    names = [name for name in study.instances if name in there]
    wide = 0.8 / max(1, len(series))
    bars = [
        panel.scale * (r.values[panel.measure] or 0.0) for rows in series.values() for r in rows
    ]
    most = panel.cut * float(np.median(bars))
    for k, (policy, rows) in enumerate(series.items()):
        colour, line = looks[policy]
        for row in rows:
            x = names.index(row.instance) - 0.4 + (k + 0.5) * wide
            mean = panel.scale * (row.values[panel.measure] or 0.0)
            axes.bar(x, min(mean, most), 0.92 * wide, color=colour, alpha=SHADE[line])
            own = [panel.scale * v for v in values(study, row.instance, policy, panel.measure)]
            if mean > most:
                axes.text(x, most, f" {mean:,.0f}", size=7, rotation=90, ha="center", va="bottom")
            elif len(own) > 1:
                axes.plot([x, x], [min(own), max(own)], color=INK, linewidth=0.8)
            if panel.limit:
                bound = row.values[panel.limit] or 0.0
                axes.plot([x - wide / 2, x + wide / 2], [bound, bound], color=BOUND, linewidth=1.2)
    lines = [name.replace(", ", "\n").replace(" as ", "\nas ") for name in names]
    axes.set_xticks(range(len(names)), lines, size=6.5 if any("\n" in n for n in lines) else 8)
    axes.set_xlim(-0.5, max(1, len(names)) - 0.5)
    axes.grid(visible=False, axis="x")


def _lines(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    style = {"linewidth": 1.6, "marker": "o", "markersize": 3.0}
    if panel.kind == "points":
        style = {"linewidth": 0.0, "marker": "o", "markersize": 5.0, "alpha": 0.8}
    series = _series(study, panel)
    for name, rows in series.items():
        colour, line = looks[name]
        rows = sorted(rows, key=lambda row: row.x or 0)
        xs = [row.x for row in rows]
        known = (row.values[panel.measure] for row in rows)
        heights = [np.nan if value is None else panel.scale * value for value in known]
        axes.plot(xs, heights, color=colour, linestyle=line, **style)  # type: ignore[arg-type]
        if panel.limit:
            bounds = [row.values[panel.limit] or 0.0 for row in rows]
            axes.plot(xs, bounds, color=BOUND, linestyle=DASHED, linewidth=1.4)  # type: ignore[arg-type]
    if panel.kind == "lines":
        _ticks(axes, sorted({row.x or 0 for rows in series.values() for row in rows}))


def _ticks(axes: Axes, xs: Sequence[int]) -> None:
    """One at each x, if there is room; those in geometric series stand equally far apart."""
    if len(xs) > 2 and all(b * xs[0] == a * xs[1] for a, b in pairwise(xs)):
        axes.set_xscale("log")
        axes.minorticks_off()
    elif any(7 * (b - a) < xs[-1] - xs[0] for a, b in pairwise(xs)):
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        return
    axes.set_xticks(xs, [f"{x:g}" for x in xs])


def _curves(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    for policy, rows in _series(study, panel).items():
        colour, line = looks[policy]
        for row in rows:
            points = (
                (study.levels, row.curve) if panel.kind == "curves" else (row.curve, study.levels)
            )
            axes.plot(*points, color=colour, linestyle=line, linewidth=1.6)


def _boxes(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    """Median, quartiles, 5th and 95th percentile; cut above the span."""
    for rows in _series(study, panel).values():
        for row in rows:
            low, first, middle, third, high = np.minimum(
                row.curve, panel.span[1] if panel.span else np.inf
            )
            colour = BOUND if middle < 0.999 * (panel.level or 0.0) else "#004f7d"
            x = row.x or 0
            for ends, width in (((low, high), 0.7), ((first, third), 2.6)):
                axes.plot([x, x], ends, color=colour, linewidth=width)
            axes.plot([x], [middle], "_", color=INK, markersize=5, markeredgewidth=1.2)
    axes.set_ylabel(panel.label, rotation=0, ha="right", va="center")
    axes.tick_params(labelsize=7, labelbottom=bool(panel.axis))
    axes.grid(visible=False, axis="x")


PAINT = {
    "bars": _bars, "lines": _lines, "points": _lines, "curves": _curves, "shares": _curves,
    "boxes": _boxes,
}  # fmt: skip
