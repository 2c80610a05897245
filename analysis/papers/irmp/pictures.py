"""The picture of Fig. 12 of Wang et al."""

from __future__ import annotations

from matplotlib.figure import Figure

from ..pictures import COLOURS, axes_in_rows, legend, named
from ..study import Study


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
