"""Pictures of reproduced figures: one panel a variant, means over seeds, every seed shown."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...show.plots import BOUND, INK, MUTED, PAPER, STYLE, WIDTH, headline, plain
from .points import Reproduction, by_seed, means

# Okabe and Ito's palette for the paper's policies; what the paper does not have is grey
COLOURS = ("#0072b2", "#d98c00", "#00946b", "#c0649a")
GREYS = ("#7a838d", "#3d444d", "#9aa3ad", "#5b6570", "#22272e", "#6c7580")
MARKERS = ("o", "s", "^", "D")
ACROSS = 2  #: variants of a row, one for each reading of the workload
BOUND_NOTE = "Dashed: verified lower bound, mean over seeds."


def bars(study: Reproduction) -> Figure:
    """Draw makespan and mean completion time as bars, one for each policy."""
    metrics = {"makespan (slots)": "makespan", "mean completion time (slots)": "mean_completion"}
    figure, panels = _panels(study, tall=2.15, left=2.3, bottom=0.8, per_variant=len(metrics))
    for number, variant in enumerate(study.instances):
        row, first = panels[number // ACROSS], len(metrics) * (number % ACROSS)
        for axes, (label, metric) in zip(row[first:], metrics.items(), strict=False):
            _policy_bars(axes, study, variant, metric)
            if row is panels[-1]:
                axes.set_xlabel(label)
        names = [p if ours else f"{p} *" for p, ours in study.in_paper.items()]
        row[0].set_yticklabels(names)
    return figure


def _policy_bars(axes: Axes, study: Reproduction, variant: str, metric: str) -> None:
    known = {m["policy"]: m for m in means(study) if m["variant"] == variant}
    styles = _styles(study)
    for y, policy in enumerate(study.policies):
        value = known[policy][metric] or 0.0
        axes.barh(y, value, height=0.66, color=styles[policy]["color"], alpha=0.85)
        single = list(by_seed(study, variant, policy, metric=metric).values())
        axes.plot(single, [y] * len(single), ".", color=INK, markersize=3, alpha=0.7)
        axes.text(0, y, f" {value:.0f}", va="center", color="white", size=8.5, weight="bold")
    if metric == "makespan":
        axes.axvline(fmean(m["bound"] for m in known.values()), color=BOUND, linestyle="--")
    axes.set_yticks(range(len(styles)), [""] * len(styles))
    axes.set_ylim(len(styles) - 0.5, -0.5)


def lines(study: Reproduction) -> Figure:
    """Draw the makespan along the figure's axis, one line for each policy."""
    figure, panels = _panels(study, tall=2.2, left=0.75, bottom=1.2)
    for number, variant in enumerate(study.instances):
        row = panels[number // ACROSS]
        axes = row[number % ACROSS]
        _policy_lines(axes, study, variant)
        axes.set_ylim(bottom=0)
        if row is panels[-1]:
            axes.set_xlabel(study.axis)
        row[0].set_ylabel("makespan (slots)")
    handles, labels = panels[0][0].get_legend_handles_labels()
    below = (0.06, 0.25 / figure.get_figheight())
    figure.legend(
        handles, labels, loc="lower left", bbox_to_anchor=below, ncols=4, frameon=False,
        labelcolor=INK, fontsize=8.5, columnspacing=1.4,
    )  # fmt: skip
    return figure


def _policy_lines(axes: Axes, study: Reproduction, variant: str) -> None:
    xs = _xs(study)
    places = range(len(xs))  # evenly spaced: kappa and lambda are powers of two
    styles = _styles(study)
    for policy, in_paper in study.in_paper.items():
        columns = [by_seed(study, variant, policy, x) for x in xs]
        if len(study.policies) == 1:
            for seed in columns[0]:
                single = [column[seed] for column in columns]
                axes.plot(places, single, color=MUTED, linewidth=0.7, alpha=0.6)
        mean = [fmean(column.values()) for column in columns]
        label = policy if in_paper else f"{policy} *"
        axes.plot(places, mean, label=label, markersize=4.5, **styles[policy])
    at = {x: [p.bound for p in study.points if (p.variant, p.x) == (variant, x)] for x in xs}
    bounds = [fmean(at[x]) for x in xs]
    axes.plot(places, bounds, color=BOUND, linestyle="--", linewidth=1.4, label="lower bound")
    axes.set_xticks(places, [str(x) for x in xs])


def _xs(study: Reproduction) -> tuple[int, ...]:
    return study.xs(next(iter(study.instances)))


def _styles(study: Reproduction) -> dict[str, dict[str, Any]]:
    """Colour, marker and line of each policy."""
    colours, greys, markers = iter(COLOURS), iter(GREYS), iter(MARKERS * 2)
    return {
        policy: {
            "color": next(colours if in_paper else greys),
            "marker": next(markers) if in_paper else None,
            "linewidth": 2.0 if in_paper else 1.2,
            "linestyle": "-" if in_paper else (0, (1, 1)),
        }
        for policy, in_paper in study.in_paper.items()
    }


def _panels(
    study: Reproduction, *, tall: float, left: float, bottom: float, per_variant: int = 1
) -> tuple[Figure, list[list[Axes]]]:
    """A headline, a note, and a row of axes for each contention, the variants beside each other."""
    count = len(study.instances)
    columns = per_variant * min(ACROSS, count)
    rows = -(-count // ACROSS)
    height = 0.62 + rows * (tall + 0.35) + bottom
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), facecolor=PAPER)
        grid = figure.add_gridspec(
            rows, columns, left=left / WIDTH, right=1 - 0.2 / WIDTH,
            top=1 - 0.62 / height, bottom=bottom / height, wspace=0.1, hspace=0.35,
        )  # fmt: skip
        axes = [[figure.add_subplot(grid[k, n]) for n in range(columns)] for k in range(rows)]
    for panel in (panel for row in axes for panel in row):
        plain(panel)
        panel.grid(axis="both" if per_variant == 1 else "x", color="#dfe3e8", linewidth=0.7)
        panel.set_axisbelow(True)
    for number, variant in enumerate(study.instances):
        panel = axes[number // ACROSS][per_variant * (number % ACROSS)]
        panel.set_title(f"workload variant {variant}", size=9.5, color=MUTED, loc="left")
    headline(figure, study.title)
    note = _note(study, dots=per_variant > 1)
    figure.text(0.12 / WIDTH, 0.1 / height, note, size=8.5, color=MUTED)
    return figure, axes


def _note(study: Reproduction, *, dots: bool) -> str:
    """What marks mean that the legend does not name."""
    seeds = "Thin lines: single seeds." if len(study.policies) == 1 else "Lines: means over seeds."
    starred = "" if all(study.in_paper.values()) else "* not in the paper."
    return " ".join(["Dots: single seeds." if dots else seeds, BOUND_NOTE, starred]).rstrip()
