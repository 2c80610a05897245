"""Pictures of Figs. 4 to 13 and Table 2 of Wang et al."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from matplotlib.figure import Figure

from ..pictures import DASHED, Looks, Panel, draw
from ..study import Study
from .statements import (
    ASTRAEA,
    BATCH,
    CLIPPED,
    COUNTINGS,
    FIFO,
    GANDIVA,
    HIVED,
    IDEAL,
    LIST,
    PAPER,
    SCALE,
    TRUE,
    varied,
)

__all__ = [
    "costs", "fairness", "own_shares", "revenue", "seconds", "shares", "use", "users",
    "variances",
]  # fmt: skip

LOOKS: Looks = {
    ASTRAEA: ("#004f7d", "-"),
    BATCH: ("#d98c00", "-"),
    GANDIVA: ("#00946b", "-"),
    HIVED: ("#c0649a", "-"),
    FIFO: ("#7a838d", DASHED),
    LIST: ("#22272e", DASHED),
}


BARS: Looks = {policy: (colour, "-") for policy, (colour, _) in LOOKS.items()}
#: of numbers of jobs
SHADES = ("#8cc4e8", "#2f88bd", "#00304d")


def _by_counting(study: Study, label: str = "", prefix: str = "") -> list[list[Panel]]:
    """A row for each instance, a panel for each way to count."""
    rows = []
    for name in study.instances:
        axis = varied(name) or study.axis
        panels = [
            Panel(f"{prefix}{c}", "", [name], axis, title=f"{_short(name)}: {title}")
            for c, title in COUNTINGS.items()
        ]
        rows.append([replace(panels[0], label=label), *panels[1:]])
    return rows


def _short(name: str) -> str:
    return name.partition(", x =")[0]


def _drawn(
    study: Study, panels: Sequence[Sequence[Panel]], *, tall: float = 1.75, looks: Looks = LOOKS
) -> Figure:
    """Draw panels with room above the lines, and a tick at each x."""
    figure = draw(study, panels, tall=tall, looks=looks)
    for axes, panel in zip(figure.axes, chain.from_iterable(panels), strict=True):
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.07 * (high - low))
        if panel.axis == SCALE:
            axes.set_xscale("log")
            axes.minorticks_off()
        elif panel.axis:
            axes.set_xticks(study.xs(panel.instances[0]))
    return figure


def revenue(study: Study) -> Figure:
    """Draw Figs. 4 and 11."""
    return _drawn(study, _by_counting(study), tall=1.3)


def shares(study: Study) -> Figure:
    """Draw Fig. 6."""
    return _drawn(study, _by_counting(study, "revenue / bound", "share "), tall=1.3)


def own_shares(study: Study) -> Figure:
    """Draw Fig. 5, a line for each number of jobs."""
    split = {name: tuple(name.split(", ")) for name in study.instances}
    rows = [
        replace(row, instance=split[row.instance][0], policy=split[row.instance][1])
        for row in study.rows
    ]
    laws: dict[str, dict[str, object]] = {law: {} for law, _ in split.values()}
    by_law = replace(study, rows=tuple(rows), instances=laws)
    shades = zip(by_law.policies, SHADES, strict=False)
    looks = {jobs: (colour, "-") for jobs, colour in shades}
    panels = _by_counting(by_law, "revenue / bound", "share ")
    return _drawn(by_law, panels, tall=1.3, looks=looks)


def fairness(study: Study) -> Figure:
    """Draw Fig. 7, the ratio of each user."""
    panels = [
        [
            Panel(f"alpha {c}", "alpha_u", [name], "user", PAPER, f"{_short(name)}: {COUNTINGS[c]}")
            for c in (CLIPPED, IDEAL)
        ]
        for name in study.instances
    ]
    figure = _drawn(study, panels)
    for axes in figure.axes:
        for line in axes.lines:
            line.set(linestyle="none", markersize=5, alpha=0.8)
        axes.axhline(1, color=LOOKS[FIFO][0], linewidth=0.8)
    return figure


def variances(study: Study) -> Figure:
    """Draw Fig. 8."""
    names = list(study.instances)
    panels = [
        [Panel(f"variance {c}", "variance of alpha_u", names, title=title)]
        for c, title in COUNTINGS.items()
    ]
    return _drawn(study, panels, tall=1.3, looks=BARS)


def seconds(study: Study) -> Figure:
    """Draw Figs. 9 and 10."""
    measures = ("a job ms", "ms a job"), ("seconds", "s in all")
    panels = [
        [Panel(*measure, [name], varied(name), title=_short(name)) for measure in measures]
        for name in study.instances
    ]
    return _drawn(study, panels)


def costs(study: Study) -> Figure:
    """Draw Fig. 12: ideal revenue and cost of each accepted job."""
    names = list(study.instances)
    pairs = [names[k : k + 2] for k in range(0, len(names), 2)]
    panels = [[Panel("job cost", "revenue", [n], "cost", title=n) for n in pair] for pair in pairs]
    figure = draw(study, panels, looks=LOOKS)
    for axes, name in zip(figure.axes, names, strict=True):
        for line in list(axes.lines):
            line.remove()
        rows = [row for row in study.rows if row.instance == name and "job cost" in row.values]
        cost = [row.values["job cost"] or 0.0 for row in rows]
        for measure, mark, colour in (("job ideal", "o", "#004f7d"), ("job true", "x", "#d98c00")):
            worth = [row.values[measure] or 0.0 for row in rows]
            axes.plot(cost, worth, mark, color=colour, markersize=4, label=f"{measure[4:]} revenue")
        axes.axline((0, 0), slope=1, color=LOOKS[FIFO][0], linewidth=0.8, label="revenue = cost")
        axes.autoscale()
        axes.set_xlim(left=0)
    figure.legends[0].remove()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=3, loc="lower left", frameon=False, fontsize=8.5)
    return figure


def use(study: Study) -> Figure:
    """Draw Fig. 13: use of workers over time, on a scale of doublings."""
    names = [name for name in study.instances if not varied(name)]
    panels = [[Panel("makespan", "workers in use (%)", [name], title=name)] for name in names]
    figure = draw(study, panels, looks=LOOKS)
    for axes, name in zip(figure.axes, names, strict=True):
        axes.set_ylim(0, 105)
        axes.set_xlim(1, study.levels[-1])
        for patch in list(axes.patches):
            patch.remove()
        for line in list(axes.lines):
            line.remove()
        for row in study.rows:
            if row.instance == name and row.curve:
                colour, line_style = LOOKS[row.policy]
                heights = np.array(row.curve)
                axes.plot(study.levels, heights, color=colour, linestyle=line_style, linewidth=1.5)
        axes.set_xscale("log", base=2)
        ticks = [2.0**k for k in range(0, 15, 2)]
        axes.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
        axes.set_xlabel("slots", size=8.5)
    return figure


def users(study: Study) -> Figure:
    """Draw Table 2."""
    panels = [
        [
            Panel(f"{kind}{c}", label, [name], varied(name), title=f"{_short(name)}: {title}")
            for kind, label in (("a job ", "revenue a job"), ("variance ", "variance"))
        ]
        for name in study.instances
        for c, title in COUNTINGS.items()
        if c != TRUE
    ]
    return _drawn(study, panels, tall=1.1)
