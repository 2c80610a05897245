"""Pictures of the tables and figures of Chaudhary et al.: a colour a user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...show.plots import BOUND, INK, MUTED, PAPER
from ..pictures import DASHED, DOTTED, Looks, Panel, axes_in_rows, draw, legend, named
from ..study import FigureRow, Study
from .statements import ALL, BOTH, PRINTED_SHARES, ideal

#: after Okabe and Ito: users A to F, and by number
COLOURS = ("#004f7d", "#d98c00", "#00946b", "#c0649a", "#4aa3d8", "#d55e00")
GREY = "#7a838d"
RULES: Looks = {
    "second": (COLOURS[0], "-"),
    "midpoint": (COLOURS[1], "-"),
    "nash": (COLOURS[2], "-"),
    "second-of-all": (GREY, DASHED),
}
SERVER = 4  # GPUs of a node in Figs. 1 and 2


def _colour(name: str, names: Sequence[str]) -> str:
    return GREY if name == ALL else COLOURS[list(names).index(name) % len(COLOURS)]


def _axes(
    study: Study, rows: int, columns: int = 1, *, tall: float, left: float = 0.62, **lengths: float
) -> tuple[Figure, list[Axes]]:
    """Axes in rows, as one list; lengths in inches."""
    figure, found = axes_in_rows(
        study, [columns] * rows, tall=tall, left=left, beside=left, **lengths
    )
    return figure, [axes for row in found for axes in row]


# --- Figs. 1 and 2 --------------------------------------------------------------------------------


def schedules(study: Study) -> Figure:
    """Draw who has which GPUs of the two nodes in each quantum, a panel for each schedule."""
    lines: dict[str, list[tuple[str, FigureRow]]] = {}
    for row in study.rows:
        name, _, job = row.policy.rpartition(": ")
        if row.curve:
            lines.setdefault(name, []).append((job, row))
    figure, panels = _axes(study, len(lines), tall=0.85, apart=0.36, below=0.55, left=0.8)
    users = sorted({job[0] for jobs in lines.values() for job, _ in jobs})
    for axes, (name, jobs) in zip(panels, lines.items(), strict=True):
        for box in _boxes(jobs):
            left, floor, gpus, job = box
            axes.bar(left, gpus, 1, floor, align="edge", color=_colour(job[0], users),
                     edgecolor=PAPER, linewidth=0.8)  # fmt: skip
            size = 5.5 if gpus == 1 else 7
            axes.text(left + 0.5, floor + gpus / 2, job, color="white", size=size, ha="center",
                      va="center")  # fmt: skip
        axes.axhline(SERVER, color=INK, linewidth=0.8)
        axes.set_ylim(0, 2 * SERVER)
        axes.set_xlim(0, len(study.levels))
        axes.set_yticks([SERVER / 2, 1.5 * SERVER], ["server 2", "server 1"])
        axes.grid(visible=False)
        named(axes, _with_shares(study, name))
        if axes is not panels[-1]:
            axes.set_xticklabels([])
    panels[-1].set_xlabel("quantum", labelpad=1)
    return figure


def _with_shares(study: Study, name: str) -> str:
    for row in study.rows:
        if row.policy == name and "A" in row.values:
            held = ", ".join(f"{u} {row.values[u]:.2f}" for u in "ABC")
            return f"{name}   ({held} GPUs)"
    return name


def _boxes(jobs: Sequence[tuple[str, FigureRow]]) -> Iterator[tuple[int, int, int, str]]:
    """Quantum, lowest GPU, GPUs and job, of every job on every node in every quantum."""
    for k in range(len(jobs[0][1].curve)):
        floor = [SERVER, 0]  # the first node is above
        for job, row in jobs:
            mask, rest = int(row.curve[k]), int(row.values["gang"] or 0)
            for server in (0, 1):
                if mask >> server & 1:
                    taken = min(rest, SERVER)
                    yield k, floor[server], taken, job
                    floor[server] += taken
                    rest -= taken


# --- tables ---------------------------------------------------------------------------------------


def shares_of_time(study: Study) -> Figure:
    """Draw Table 2: printed and exact shares of time, with the spread of 100 quanta."""
    names = list(study.instances)
    figure, panels = _axes(study, 1, len(names), tall=2.3, left=0.55, below=0.85)
    for axes, name in zip(panels, names, strict=True):
        rows = [row for row in study.rows if row.instance == name]
        for k, row in enumerate(rows):
            colour = COLOURS[k // 2]
            axes.bar(k, row.values["exact"] or 0.0, 0.75, color=colour, alpha=0.85)
            mean, spread = row.values.get("drawn"), row.values.get("spread")
            if mean is not None and spread is not None:
                axes.plot([k, k], [mean - spread, mean + spread], color=INK, linewidth=1.0)
            printed = PRINTED_SHARES.get(name)
            if printed is not None:
                axes.plot([k], [printed[k]], "D", color=PAPER, markeredgecolor=BOUND, markersize=5)
        axes.set_xticks(range(len(rows)), [row.policy[0] for row in rows])
        axes.set_ylim(0, 100)
        axes.grid(visible=False, axis="x")
        named(axes, name if len(name) < 30 else "backfilling, whole tickets")
    panels[0].set_ylabel("% of quanta")
    legend(figure, [
        *(Patch(color=COLOURS[k], label=text) for k, text in enumerate(
            ("A: 1 GPU", "B: 2 GPUs", "C: 4 GPUs"))),
        Line2D([], [], marker="D", color=PAPER, markeredgecolor=BOUND, label="printed"),
        Line2D([], [], color=INK, label="100 quanta, standard deviation"),
    ], 6)  # fmt: skip
    return figure


def values(study: Study) -> Figure:
    """Draw Table 3: what each way to divide the GPUs is worth to each user."""
    names = list(study.instances)
    figure, (axes,) = _axes(study, 1, tall=2.6, below=0.85)
    for g, name in enumerate(names):
        rows = [row for row in study.rows if row.instance == name and row.policy != ALL]
        for k, row in enumerate(rows):
            value = row.values["value"] or 0.0
            axes.bar(g + 0.27 * (k - 1), value, 0.25, color=COLOURS[k])
            axes.text(g + 0.27 * (k - 1), value, f"{value:.1f}", ha="center", va="bottom", size=7)
        total = study.value(name, ALL, "value") or 0.0
        axes.text(g, 79, f"total {total:.2f}", ha="center", size=8.5, color=MUTED)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylim(0, 84)
    axes.set_ylabel("K80 equivalents")
    axes.grid(visible=False, axis="x")
    legend(figure, [Patch(color=COLOURS[k], label=f"user {u}") for k, u in enumerate("ABC")], 6)
    return figure


def captured(study: Study) -> Figure:
    """Draw the part of the surplus that each rule captures, and the least gain of a user."""
    names = list(study.instances)
    panels = [
        [Panel(measure, "" if k else label, [name], study.axis, tuple(RULES), title=name)
         for k, name in enumerate(names)]
        for measure, label in (("mean", "captured surplus"), ("worst", "least gain of a user"))
    ]  # fmt: skip
    figure = draw(study, panels, tall=1.6, looks=RULES)
    for k, axes in enumerate(figure.axes):
        axes.set_ylim(*((0, 1.02) if k < len(names) else (0.99, 1.08)))
    return figure


# --- over time ------------------------------------------------------------------------------------


def over_time(study: Study) -> Figure:
    """Draw the GPUs of each user over time, and its ideal share as a dotted line."""
    names = [p for p in study.policies if p and not p.endswith(", ideal")]
    figure, panels = _axes(study, len(study.instances), tall=2.0 if len(study.instances) > 1
                           else 3.0, apart=0.45)  # fmt: skip
    for axes, place in zip(panels, study.instances, strict=True):
        curves = {
            row.policy: row.curve for row in study.rows if row.instance == place and row.curve
        }
        for name in names:
            colour = _colour(name, [n for n in names if n != ALL])
            axes.plot(study.levels, curves[name], color=colour, linewidth=1.5)
            axes.plot(study.levels, curves[ideal(name)], color=colour, linewidth=1.3,
                      linestyle=DOTTED)  # fmt: skip
        _time(axes, study.levels, f"GPUs of {place}" if len(study.instances) > 1 else "")
    panels[0].set_ylabel("GPUs")
    panels[-1].set_xlabel("hours", labelpad=1)
    handles = [
        Line2D([], [], color=_colour(n, [m for m in names if m != ALL]), label=n, linewidth=2.2)
        for n in names
    ]
    legend(figure, [*handles, Line2D([], [], color=INK, linestyle=DOTTED, label="ideal share")], 6)
    return figure


def _time(axes: Axes, levels: Sequence[float], title: str) -> None:
    axes.set_xlim(0, levels[-1])
    axes.set_ylim(bottom=0)
    named(axes, title)


def rates(study: Study) -> Figure:
    """Draw the mini-batches a second of each user over time, with and without trading."""
    users = [name for name in study.instances if name.startswith("User")]
    figure, panels = _axes(study, 2, 2, tall=1.7)
    looks: Mapping[str, tuple[str, Any]] = {
        "no trading": (GREY, DASHED),
        "trading": (COLOURS[0], "-"),
    }
    for axes, user in zip(panels, users, strict=True):
        for row in study.rows:
            if row.instance == user and row.curve:
                colour, line = looks[row.policy]
                axes.plot(study.levels, row.curve, color=colour, linestyle=line, linewidth=1.6)
        gain = study.value(user, BOTH, "gain", 1)
        _time(axes, study.levels, user if gain is None else f"{user}: {gain:+.1f} % by trading")
        axes.set_ylabel("mini-batches / s", size=8.5)
    for axes in panels[2:]:
        axes.set_xlabel("hours", labelpad=1)
    legend(
        figure, [Line2D([], [], color=c, linestyle=s, label=n) for n, (c, s) in looks.items()], 6
    )
    return figure


def trades(study: Study) -> Figure:
    """Draw the log of trades: when, at which rate; undone ones below zero."""
    rows = [row for row in study.rows if row.instance == "log"]
    names = sorted({row.policy for row in rows})
    figure, (axes,) = _axes(study, 1, tall=3.0, below=1.15)
    markers = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
    for k, name in enumerate(names):
        own = [row for row in rows if row.policy == name]
        hours = [(row.x or 0) / 3600 for row in own]
        prices = [row.values["price"] or 0.0 for row in own]
        sizes = [12 + 24 * np.sqrt(row.values["amount"] or 0.0) for row in own]
        axes.scatter(
            hours, prices, sizes, color=COLOURS[k % len(COLOURS)], alpha=0.6,
            marker=markers[k % len(markers)], label=name, linewidths=0,
        )  # fmt: skip
    for row in study.rows:
        if row.instance == "departures":
            hour = row.values["busy"] or 0.0
            axes.axvline(hour, color=MUTED, linewidth=0.8, linestyle=DASHED)
            axes.text(hour, 6.3, row.policy, size=7.5, color=MUTED, ha="center")
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_ylim(-6, 6.2)
    axes.set_xlim(left=0)
    axes.set_ylabel("slow GPUs for a fast one; undone below 0")
    axes.set_xlabel("hours; dashed: from then on a user has few jobs left", labelpad=1)
    handles = [
        Line2D([], [], color=COLOURS[k % len(COLOURS)], marker=markers[k % len(markers)],
               linestyle="none", label=name)
        for k, name in enumerate(names)
    ]  # fmt: skip
    legend(figure, handles, 3)
    return figure
