"""Pictures of Figs. 4 to 13 and Table 2 of Wang et al."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from matplotlib.figure import Figure

from ..pictures import COLOURS, DASHED, Looks, Panel, Panels, axes_in_rows, exactly, legend, named
from ..study import Study
from . import statements as said
from .statements import COUNTINGS

LOOKS: Looks = {
    said.ASTRAEA: ("#004f7d", "-"),
    said.BATCH: ("#d98c00", "-"),
    said.GANDIVA: ("#00946b", "-"),
    said.HIVED: ("#c0649a", "-"),
    said.FIFO: ("#7a838d", DASHED),
    said.LIST: ("#22272e", DASHED),
}


def _counted(label: str = "", prefix: str = "") -> list[Panel]:
    """A panel for each way to count."""
    return [
        Panel(f"{prefix}{c}", "" if k else label, "lines", title=f"{{}}: {title}")
        for k, (c, title) in enumerate(COUNTINGS.items())
    ]


SHARES = _counted("revenue / bound", "share ")
SECONDS = [
    [
        Panel("a job ms", "ms a job", "lines", title="{}"),
        Panel("seconds", "s in all", "lines", title="{}"),
    ]
]
PANELS: Mapping[str, Panels] = {
    "fig4": [_counted()],
    "fig5": [  # a line for each number of jobs
        [
            replace(one, on=f"{of}{law},.*", together=True, title=one.title.format(law))
            for one in SHARES
        ]
        for of in ("", r"\S+ ")
        for law in ("linear", "convex")
    ],
    "fig6": [SHARES],
    "fig7": [
        [
            Panel(
                f"alpha {c}", "alpha_u", "points", of=exactly(*said.PAPER), axis="user", level=1.0,
                title=f"{{}}: {COUNTINGS[c]}", zero=False,
            )
            for c in (said.CLIPPED, said.IDEAL)
        ]
    ],
    "fig8": [
        [Panel(f"variance {c}", "variance of alpha_u", title=title)]
        for c, title in COUNTINGS.items()
    ],
    "fig9": SECONDS,
    "fig10": SECONDS,
    "fig11": [_counted()],
    "fig13": [
        [
            Panel(
                "", "workers in use (%)", "curves", on="[^=]*", title="{}", axis="slots",
                logarithmic=(1, 16384), span=(0, 105),
            )
        ]
    ],
    "table2": [
        [
            Panel(f"{kind}{c}", label, "lines", title=f"{{}}: {title}")
            for kind, label in (("a job ", "revenue a job"), ("variance ", "variance"))
        ]
        for c, title in COUNTINGS.items()
        if c != said.TRUE
    ],
}  # fmt: skip


def costs(study: Study) -> Figure:
    """Draw Fig. 12: ideal revenue and cost of each accepted job."""
    names = list(study.instances)
    figure, places = axes_in_rows(study, [2] * -(-len(names) // 2), tall=1.75)
    panels = [axes for row in places for axes in row]
    for axes, name in zip(panels, names, strict=False):
        rows = [row for row in study.rows if row.instance == name and "job cost" in row.values]
        cost = [row.values["job cost"] or 0.0 for row in rows]
        for kind, mark, colour in zip(("ideal", "true"), "ox", COLOURS, strict=False):
            worth = [row.values[f"job {kind}"] or 0.0 for row in rows]
            axes.plot(cost, worth, mark, color=colour, markersize=4, label=f"{kind} revenue")
        axes.axline((0, 0), slope=1, color="#7a838d", linewidth=0.8, label="revenue = cost")
        axes.set_xlim(left=0)
        axes.set_xlabel("cost", size=8.5)
        named(axes, name)
    legend(figure, panels[0].get_legend_handles_labels()[0], 3)
    return figure
