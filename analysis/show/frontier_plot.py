"""The picture of a frontier: what is impossible in grey, schedules, and runs of policies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..comparing.sharing_frontier import SharingFrontier
from .colours import COLOURS
from .columns import unit_for
from .plots import ACCENT, INK, TRACK, WIDTH, axes_at, headline, legend_at, new_figure, note

POINTS = 300  # of the curve
AROUND = 1.25  # times the largest ratio that is shown


def frontier_plot(frontier: SharingFrontier, points: Mapping[str, tuple[float, int]]) -> Figure:
    """Draw a frontier; by name, points of a worst ratio and a sum of flow times beside it."""
    jobs = len(frontier.instance.jobs)
    pairs = [*frontier.schedules, *points.values()]
    right = AROUND * max(ratio for ratio, _ in pairs)
    ratios = np.linspace(frontier.worst.value, right, POINTS)
    least = np.array([frontier.least_flow(ratio) for ratio in ratios.tolist()]) / jobs
    top = AROUND * max(flow for _, flow in pairs) / jobs
    unit, size = unit_for(float(least.max()))
    figure = new_figure(4.1)
    axes = axes_at(figure, 0.8, 0.95, WIDTH - 1.1, 2.7)
    floor = 0.8 * float(least.min()) / size
    wall = np.concatenate([[0.0], [frontier.worst.value], ratios])
    heights = np.concatenate([[top], [top], least]) / size
    axes.fill_between(wall, floor, np.minimum(heights, top / size), color=TRACK, linewidth=0)
    known = np.array(frontier.schedules, dtype=float).reshape(-1, 2)
    edge = np.append(known[:, 0], right)
    flow = np.append(known[:, 1], known[-1:, 1]) / jobs / size
    axes.step(edge, flow, where="post", color=ACCENT, linewidth=1.4)
    axes.plot(known[:, 0], known[:, 1] / jobs / size, "o", color=ACCENT, markersize=3)
    for k, (name, (ratio, total)) in enumerate(points.items()):
        axes.plot([ratio], [total / jobs / size], "D", color=COLOURS[k % len(COLOURS)])
        note(axes, name, (ratio, total / jobs / size), (6, 3), xycoords="data", fontsize=8)
    axes.set_xlim(0.9 * frontier.worst.value, right)
    axes.set_ylim(floor, top / size)
    axes.set_xlabel(f"worst {frontier.reading} ratio of a user, against alone on its quota")
    axes.set_ylabel(f"mean completion ({unit})")
    axes.spines[["left", "bottom"]].set(visible=True, color=INK)
    handles = [
        Patch(facecolor=TRACK, label="impossible for anybody, certified"),
        Line2D([], [], color=ACCENT, marker="o", markersize=3, label="schedules found"),
    ]
    legend_at(figure, handles, 0.7, 0.05)
    headline(figure, "Mean completion against the worst user")
    return figure
