"""Pictures of Figs. 4 to 13 and Table 2 of Wang et al."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .common import DASHED, Panel, draw
from .irmp_statements import (
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
    varied,
)
from .study import Study

__all__ = [
    "costs", "estimates", "fairness", "revenue", "seconds", "shares", "use", "users", "variances",
]  # fmt: skip

LOOKS: Mapping[str, tuple[str, Any]] = {
    ASTRAEA: ("#004f7d", "-"),
    BATCH: ("#d98c00", "-"),
    GANDIVA: ("#00946b", "-"),
    HIVED: ("#c0649a", "-"),
    FIFO: ("#7a838d", DASHED),
    LIST: ("#22272e", DASHED),
}


def _by_counting(study: Study, prefix: str = "") -> list[list[Panel]]:
    """A row for each instance, a panel for each way to count."""
    return [
        [
            Panel(
                f"{prefix}{c}",
                "",
                [name],
                varied(name) or study.axis,
                title=f"{_short(name)}: {title}",
            )
            for c, title in COUNTINGS.items()
        ]
        for name in study.instances
    ]


def _short(name: str) -> str:
    return name.partition(", x =")[0]


def revenue(study: Study) -> Figure:
    """Draw Fig. 4.

    Parameters
    ----------
    study : Study
    """
    return draw(study, _by_counting(study), tall=1.3, looks=LOOKS)


def shares(study: Study) -> Figure:
    """Draw Figs. 5 and 6.

    Parameters
    ----------
    study : Study
    """
    return draw(study, _by_counting(study, "share "), tall=1.3, looks=LOOKS)


def fairness(study: Study) -> Figure:
    """Draw Fig. 7, the ratio of each user.

    Parameters
    ----------
    study : Study
    """
    panels = [
        [
            Panel(f"alpha {c}", COUNTINGS[c], [name], "user", PAPER, title=_short(name))
            for c in (CLIPPED, IDEAL)
        ]
        for name in study.instances
    ]
    return draw(study, panels, looks=LOOKS)


def variances(study: Study) -> Figure:
    """Draw Fig. 8.

    Parameters
    ----------
    study : Study
    """
    names = list(study.instances)
    panels = [[Panel(f"variance {c}", title, names) for c, title in COUNTINGS.items()]]
    return draw(study, panels, looks=LOOKS)


def seconds(study: Study) -> Figure:
    """Draw Figs. 9 and 10.

    Parameters
    ----------
    study : Study
    """
    panels = [
        [
            Panel("a job ms", "ms a job", [name], varied(name), title=_short(name)),
            Panel("seconds", "s", [name], varied(name)),
        ]
        for name in study.instances
    ]
    return draw(study, panels, looks=LOOKS)


def estimates(study: Study) -> Figure:
    """Draw Fig. 11.

    Parameters
    ----------
    study : Study
    """
    return draw(study, _by_counting(study), tall=1.3, looks=LOOKS)


def costs(study: Study) -> Figure:
    """Draw Fig. 12: ideal revenue and cost of each accepted job.

    Parameters
    ----------
    study : Study
    """
    panels = [[Panel("job cost", "money", [name], title=name) for name in study.instances]]
    figure = draw(study, panels, looks=LOOKS)
    figure.legends[0].remove()
    for axes, name in zip(figure.axes, study.instances, strict=True):
        axes.clear()
        rows = [row for row in study.rows if row.instance == name and "job cost" in row.values]
        cost = [row.values["job cost"] or 0.0 for row in rows]
        for measure, mark in (("job ideal", "o"), ("job true", "x")):
            worth = [row.values[measure] or 0.0 for row in rows]
            axes.plot(cost, worth, mark, markersize=4, label=f"{measure[4:]} revenue")
        axes.axline((0, 0), slope=1, color="#7a838d", linewidth=0.8)
        axes.set_title(name, size=9, loc="left")
        axes.set_xlabel("cost", size=8.5)
        axes.set_ylim(bottom=min(0.0, *axes.get_ylim()), top=axes.get_ylim()[1])
        axes.set_xlim(0, max([1e-9, *cost]) * 1.05)
        axes.legend(frameon=False, fontsize=8)
    return figure


def use(study: Study) -> Figure:
    """Draw Fig. 13: use of workers over time, on a scale of doublings.

    Parameters
    ----------
    study : Study
    """
    names = list(study.instances)
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
    """Draw Table 2.

    Parameters
    ----------
    study : Study
    """
    panels = [
        [
            Panel(f"{kind}{c}", f"{label}, {c}", [name], "users", title=_short(name))
            for kind, label in (("a job ", "a job"), ("variance ", "variance"))
            for c in (CLIPPED, IDEAL)
        ]
        for name in study.instances
    ]
    return draw(study, panels, tall=1.3, looks=LOOKS)
