"""Panels that pictures of several papers share: bars by instance, lines along an axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..show.plots import INK, MUTED, STYLE, WIDTH, axes_at, headline, new_figure
from .study import Study
from .verdicts import values

GRID = "#dfe3e8"
DASHED: Any = (0, (4, 1.6))
DOTTED: Any = (0, (1, 1.2))
SHADE: Mapping[Any, float] = {"-": 1.0, DOTTED: 0.65, DASHED: 0.35}  # of bars
Looks = Mapping[str, tuple[str, Any]]


def _look(policy: str, looks: Looks) -> tuple[str, Any]:
    return looks.get(policy, (INK, "-"))


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes; bars over `instances`, or lines along the axis of a single one.

    Parameters
    ----------
    measure, label : str
    instances : sequence of str
    axis : str
        Label of the axis of lines; empty for bars.
    policies : sequence of str
        By default all that have the measure.
    title : str
    """

    measure: str
    label: str
    instances: Sequence[str]
    axis: str = ""
    policies: Sequence[str] = ()
    title: str = ""


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


# --- panels --------------------------------------------------------------------------------------


def draw(
    study: Study, panels: Sequence[Sequence[Panel]], *, tall: float = 1.75, looks: Looks
) -> Figure:
    """Draw panels in rows, each `tall` inches, and one legend of all policies."""
    policies = dict.fromkeys(p for row in panels for panel in row for p in _policies(study, panel))
    columns = 4 if max(map(len, policies), default=0) > 30 else 5
    figure, rows = axes_in_rows(
        study, [*map(len, panels)], tall=tall, beside=0.72, right=0.3, top=0.68, apart=0.62,
        below=0.67 + 0.2 * (-(-len(policies) // columns)),
    )  # fmt: skip
    with mpl.rc_context(STYLE):
        for row, places in zip(panels, rows, strict=True):
            for panel, axes in zip(row, places, strict=True):
                _paint(study, axes, panel, looks)
    looks_of = {policy: _look(policy, looks) for policy in policies}
    handles = [
        Line2D([], [], label=policy, color=colour, linestyle=line, linewidth=2.4)
        for policy, (colour, line) in looks_of.items()
    ]
    legend(figure, handles, columns)
    return figure


def _policies(study: Study, panel: Panel) -> list[str]:
    """Those that have the measure in the panel."""
    wanted = panel.policies or study.policies
    there = {
        row.policy
        for row in study.rows
        if row.instance in panel.instances and row.values.get(panel.measure) is not None
    }
    return [policy for policy in wanted if policy in there]


def _paint(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    axes.set_ylabel(panel.label, size=8.5)
    named(axes, panel.title)
    if panel.axis:
        _lines(study, axes, panel, looks)
    else:
        _bars(study, axes, panel, looks)
    if not axes.dataLim.ymin < 0:
        axes.set_ylim(bottom=0)


def _bars(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    """A group for each instance; whiskers from the least to the largest seed."""
    policies = _policies(study, panel)
    wide = 0.8 / max(1, len(policies))
    for k, policy in enumerate(policies):
        colour, line = _look(policy, looks)
        for g, instance in enumerate(panel.instances):
            mean = study.value(instance, policy, panel.measure)
            if mean is None:
                continue
            x = g - 0.4 + (k + 0.5) * wide
            axes.bar(x, mean, 0.92 * wide, color=colour, alpha=SHADE[line])
            own = values(study, instance, policy, panel.measure)
            if len(own) > 1:
                axes.plot([x, x], [min(own), max(own)], color=INK, linewidth=0.8)
    names = [name.replace(", ", "\n").replace(" as ", "\nas ") for name in panel.instances]
    axes.set_xticks(range(len(names)), names, size=6.5 if any("\n" in n for n in names) else 8)
    axes.set_xlim(-0.5, max(1, len(panel.instances)) - 0.5)
    axes.grid(visible=False, axis="x")


def _lines(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    (instance,) = panel.instances
    for policy in _policies(study, panel):
        colour, line = _look(policy, looks)
        points = [
            (row.x, row.values[panel.measure])
            for row in study.rows
            if (row.instance, row.policy) == (instance, policy) and panel.measure in row.values
        ]
        points.sort(key=lambda point: point[0] or 0)
        xs, ys = zip(*points, strict=True)
        heights = [np.nan if y is None else y for y in ys]
        axes.plot(
            xs, heights, color=colour, linestyle=line, linewidth=1.6, marker="o", markersize=3
        )
    axes.set_xlabel(panel.axis, size=8.5, labelpad=1)
