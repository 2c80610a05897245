"""The picture of a description: Figs. 1 to 5 of Ye et al. (2022) for any trace."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import NullFormatter, NullLocator, PercentFormatter

from .describe import LEVELS, LIMITS, Description, GangClass
from .plots import ACCENT, BOUND, INK, MUTED, PAPER, STYLE, WIDTH, headline, plain

GRID = "#dfe3e8"
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (3, 1, 1, 1)), (0, (1, 1)))
CLOCK = {1: "1 s", 60: "1 min", 3_600: "1 h", 86_400: "1 d"}
MOST_SIZES = 12  # bars of gang sizes
MOST_NAME = 14  # characters of a user's name


def draw(description: Description) -> Figure:
    """Draw gang sizes, run times, GPU service times, waits and the use by user of one trace.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> from gangsched.analysis.show.describe import describe
    >>> one = describe(Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=2, work=60)], name="one"))
    >>> len(draw(one).axes)  # the last one is the scale of the use
    7
    """
    height = 5.55 + 0.17 * max(4, len(description.usage.users))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), facecolor=PAPER)
        low = 0.55 + 0.17 * max(4, len(description.usage.users))
        above = GridSpec(
            2, 3, figure, left=0.7 / WIDTH, right=1 - 0.2 / WIDTH, top=1 - 0.75 / height,
            bottom=(low + 0.85) / height, wspace=0.3, hspace=0.62,
        )  # fmt: skip
        below = GridSpec(
            1, 2, figure, left=1.25 / WIDTH, right=1 - 0.75 / WIDTH, top=low / height,
            bottom=0.5 / height, wspace=0.03, width_ratios=(1, 0.015),
        )  # fmt: skip
        panels = [figure.add_subplot(above[k // 3, k % 3]) for k in range(5)]
        usage, scale = figure.add_subplot(below[0, 0]), figure.add_subplot(below[0, 1])
    for axes in (*panels, usage, scale):
        plain(axes)
        axes.tick_params(labelsize=8)
    _paint_sizes(panels[0], description)
    _paint_distributions(panels[1:], description)
    _legend(panels[1], figure, above)
    _paint_usage(usage, scale, description)
    days = description.span / 86_400
    headline(
        figure,
        f"{description.name}: {description.all.jobs:,} jobs in {days:,.1f} days"
        + (f", replayed under {description.replay}" if description.replay else ""),
    )
    return figure


def _title(axes: Axes, text: str) -> None:
    axes.set_title(text, size=9, color=INK, loc="left", parse_math=False)


# --- gang sizes ----------------------------------------------------------------------------------


def _paint_sizes(axes: Axes, description: Description) -> None:
    """Figs. 1 and 2 beside each other: bars of jobs and of GPU service time by gang size."""
    bars = size_bars(description)
    places = np.arange(len(bars))
    for shift, column, colour, label in ((-0.2, 1, ACCENT, "jobs"), (0.2, 2, BOUND, "GPU time")):
        shares = [bar[column] for bar in bars]
        hatch = "" if column == 1 else "////"
        axes.bar(
            places + shift, shares, 0.38, color=colour, label=label, hatch=hatch, edgecolor=PAPER,
            linewidth=0,
        )  # fmt: skip
    axes.set_xticks(places, [bar[0] for bar in bars])
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_ylim(0, 1.35 * max(max(bar[1:]) for bar in bars))  # room for the legend
    axes.set_yticks([tick for tick in axes.get_yticks() if tick <= 1])
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel("GPUs of a job")
    axes.legend(frameon=False, fontsize=8, labelcolor=INK, loc="upper right", ncols=2)
    _title(axes, "Share of jobs and of GPU time")


def size_bars(description: Description) -> list[tuple[str, float, float]]:
    """Return label and shares; sizes between the same powers of two together where many occur."""
    merged: dict[int, list[Any]] = {}
    many = len(description.sizes) > MOST_SIZES
    for size in description.sizes:
        row = merged.setdefault((size.gpus - 1).bit_length() if many else size.gpus, [[], 0, 0])
        row[0].append(size.gpus)
        row[1] += size.jobs
        row[2] += size.gpu_seconds
    total = description.all
    return [
        (
            str(gpus[0]) if len(gpus) == 1 else f"≤{gpus[-1]}",
            jobs / total.jobs,
            seconds / total.gpu_seconds,
        )
        for gpus, jobs, seconds in merged.values()
    ]


# --- distributions -------------------------------------------------------------------------------


def _paint_distributions(panels: list[Axes], description: Description) -> None:
    """Figs. 3 and 5: the share of jobs up to a value, for each class of gang sizes."""
    run_time, service, pending, slowdown = panels
    _curves(run_time, description.groups, "run_time")
    for limit in LIMITS.values():
        run_time.axvline(limit, color=GRID, linewidth=0.7, zorder=0)
    _clock(run_time)
    run_time.set_xlabel(f"lines at {', '.join(LIMITS)}")
    _title(run_time, "Run time")
    _curves(service, description.groups, "service", scale=1 / 3_600)
    service.set_xlabel("GPU hours")
    _title(service, "GPU service time")
    _title(pending, "Pending time")
    _title(slowdown, "Slowdown")
    if not description.replay:
        for axes in (pending, slowdown):
            _nothing(axes)
        return
    _curves(pending, description.groups, "pending")
    _clock(pending)
    _curves(slowdown, description.groups, "slowdown")
    slowdown.set_xlabel("(run time + pending time) / run time")


def _curves(axes: Axes, groups: tuple[GangClass, ...], column: str, *, scale: float = 1.0) -> None:
    shades = np.linspace(0.35, 0.95, len(groups))
    for group, shade, dashes in zip(groups, shades, DASHES, strict=True):
        values = getattr(group, column)
        if values:
            at = np.maximum(np.array(values), 1) * scale  # on an axis of logarithms
            axes.step(
                at, LEVELS, where="post", label=group.gpus, linestyle=dashes, linewidth=1.6,
                color=mpl.colormaps["YlGnBu"](shade),
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)


def _clock(axes: Axes) -> None:
    axes.set_xlim(left=0.9)
    axes.set_xticks(list(CLOCK), list(CLOCK.values()))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _nothing(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    text = "not recorded in the trace;\na replay gives it"
    axes.text(
        0.5, 0.5, text, ha="center", va="center", size=9, color=MUTED, transform=axes.transAxes
    )


def _legend(source: Axes, figure: Figure, grid: GridSpec) -> None:
    """Name the classes in the free place of the grid."""
    box = grid[1, 2].get_position(figure)
    handles, labels = source.get_legend_handles_labels()
    legend = figure.legend(
        handles, labels, title="GPUs of a job", loc="upper left", frameon=False, fontsize=9,
        bbox_to_anchor=(box.x0, box.y1), labelcolor=INK, handlelength=3,
    )  # fmt: skip
    legend.get_title().set(color=MUTED, size=9)


# --- users over time -----------------------------------------------------------------------------


def _paint_usage(axes: Axes, scale: Axes, description: Description) -> None:
    """Fig. 4: a row for each user, dark where it uses or wants much."""
    usage = description.usage
    share = usage.share
    values = usage.gpus if share is None else share
    most = float(np.quantile(values, 0.99)) or 1.0
    top = most if share is None else max(1.0, most)
    days = values.shape[1] * usage.bin / 86_400
    image = axes.imshow(
        values, aspect="auto", cmap="YlGnBu", vmin=0, vmax=top, interpolation="nearest",
        extent=(0, days, len(usage.users) - 0.5, -0.5),
    )  # fmt: skip
    names = [
        user if len(user) <= MOST_NAME else f"{user[: MOST_NAME - 1]}…" for user in usage.users
    ]
    axes.set_yticks(range(len(names)), [name or "all jobs" for name in names], parse_math=False)
    axes.set_xlabel("days")
    axes.figure.colorbar(image, cax=scale, extend="max" if values.max() > top else "neither")
    scale.tick_params(length=0, labelsize=8, colors=INK)
    scale.spines[:].set_visible(False)
    if share is not None:
        scale.yaxis.set_major_formatter(PercentFormatter(1))
    kind = "GPUs in use" if description.replay else "GPUs wanted if every job began when submitted"
    more = description.users - len(names)
    _title(
        axes,
        f"{kind}, by user" + (", relative to the quota" if share is not None else "")
        + (f" ({len(names)} of {description.users} users)" if more > 0 else ""),
    )  # fmt: skip
