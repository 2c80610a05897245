"""Pictures of the tables and figures of Chaudhary et al.: a colour a user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ...show.plots import INK, PAPER
from ..pictures import COLOURS, DASHED, DOTTED, Looks, Panel, Panels, axes_in_rows, exactly, named
from ..study import FigureRow, Study
from .statements import ALL, CLASSES, ideal

GREY = "#7a838d"
SERVER = 4  # GPUs of a node in Figs. 1 and 2


def _users(names: Sequence[str]) -> Looks:
    """A colour for each, dotted where it is the ideal share."""
    looks: dict[str, tuple[str, Any]] = {}
    for name, colour in zip([ALL, *names], (GREY, *COLOURS), strict=False):
        looks |= {name: (colour, "-"), ideal(name): (colour, DOTTED)}
    return looks


LOOKS: Looks = {
    **_users([f"User{k}" for k in range(1, 5)]),
    **_users([*CLASSES.values()]),
    "no trading": (GREY, DASHED),
    "trading": (COLOURS[0], "-"),
}
RULES = exactly("second", "midpoint", "nash", "second-of-all")
OVER_TIME: Panels = [[Panel("", "GPUs", "curves", title="{}", axis="hours")]]
PANELS: Mapping[str, Panels] = {
    "table2": [
        [Panel("exact", "% of quanta"), Panel("printed", "% of quanta, printed")],
        [Panel("drawn", "% of 100 quanta"), Panel("spread", "standard deviation")],
    ],
    "table3": [[Panel("value", "K80 equivalents", of="[ABC]")]],
    "surplus": [
        [Panel("mean", "captured surplus", "lines", of=RULES, title="{}", span=(0, 1.02))],
        [Panel("worst", "least gain of a user", "lines", of=RULES, title="{}", span=(0.99, 1.08))],
    ],
    **{f"fig{k}": OVER_TIME for k in (4, 5, 6, 7, 10, 11)},
    "fig8": [
        [Panel("", "mini-batches / s", "curves", on="User.*", title="{}", axis="hours")]
    ],
    "fig9": [
        [
            Panel(
                "price", "slow GPUs for a fast one", "points", on="log", zero=False, level=0.0,
                title="undone below 0", axis="seconds",
            )
        ]
    ],
}  # fmt: skip


def schedules(study: Study) -> Figure:
    """Draw who has which GPUs of the two nodes in each quantum, a panel for each schedule."""
    lines: dict[str, list[tuple[str, FigureRow]]] = {}
    for row in study.rows:
        name, _, job = row.policy.rpartition(": ")
        if row.curve:
            lines.setdefault(name, []).append((job, row))
    ones = [1] * len(lines)
    figure, rows = axes_in_rows(study, ones, tall=0.85, apart=0.36, below=0.55, left=0.8)
    panels = [axes for (axes,) in rows]
    users = sorted({job[0] for jobs in lines.values() for job, _ in jobs})
    for axes, (name, jobs) in zip(panels, lines.items(), strict=True):
        for box in _boxes(jobs):
            left, floor, gpus, job = box
            axes.bar(left, gpus, 1, floor, align="edge", color=COLOURS[users.index(job[0])],
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
