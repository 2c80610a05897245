"""The picture of Figs. 1 and 2 of Chaudhary et al."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.figure import Figure

from ...show.plots import INK, PAPER
from ..pictures import COLOURS, axes_in_rows, named
from ..study import FigureRow, Study

SERVER = 4  # GPUs of a node in Figs. 1 and 2


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
