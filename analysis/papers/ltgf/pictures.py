"""Pictures of the figures of Ye et al.: a column an instance, a colour a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ...show.plots import BOUND, INK, MUTED, PAPER
from ..pictures import DASHED, DOTTED, axes_in_rows, legend, named
from ..study import FigureRow, Study

#: end the names of instances without exclusions, and on the paper's nodes of Philly
ALL_JOBS, ON_PAPERS_NODES = ", all jobs", ", 210 nodes"
#: after Okabe and Ito; LTGF's variants share a colour, what the paper does not have is grey
LOOK: Mapping[str, tuple[str, Any]] = {
    "FIFO": ("#7a838d", "-"),
    "YARN-CS": ("#d55e00", "-"),
    "HiveD": ("#d98c00", "-"),
    "AlloX": ("#00946b", "-"),
    "Tiresias-L": ("#c0649a", "-"),
    "Tiresias-L, leases": ("#c0649a", DASHED),
    "Themis": ("#4aa3d8", "-"),
    "Themis, greedy": ("#4aa3d8", DASHED),
    "Gandiva-fair": ("#8a6d1f", DASHED),
    "LTGF (8)": ("#004f7d", "-"),
    "LTGF (16)": ("#004f7d", DASHED),
    "LTGF rho-": ("#004f7d", DOTTED),
    "LTGF (8), own leases": ("#d55e00", "-"),
    "no contention, 10 s": ("#3d444d", DASHED),
    "no contention, 60 s": ("#3d444d", DOTTED),
}


def _look(policy: str) -> dict[str, Any]:
    colour, line = LOOK.get(policy, (INK, "-"))
    return {"color": colour, "linestyle": line, "linewidth": 1.6}


def _drawn(study: Study) -> list[str]:
    """The instances of the pictures; the tables have those with all jobs and the idle one too."""
    found = [n for n in study.instances if not n.endswith((ALL_JOBS, ON_PAPERS_NODES))]
    return found or list(study.instances)


# --- panels --------------------------------------------------------------------------------------


#: lengths of a figure in inches, unless it has others
LENGTHS = {"left": 0.75, "below": 0.55, "apart": 0.25, "beside": 0.3, "right": 0.2}


def _panels(
    study: Study, columns: Iterable[str], *, rows: int, **lengths: float
) -> tuple[Figure, list[list[Axes]]]:
    """Rows of axes, the names of the columns above them."""
    names = list(columns)
    figure, panels = axes_in_rows(study, [len(names)] * rows, **{**LENGTHS, **lengths})
    for axes, name in zip(panels[0], names, strict=True):
        named(axes, name, 9.5)
    return figure, panels


def _legend(figure: Figure, policies: Iterable[str], columns: int) -> None:
    handles = [Line2D([], [], label=policy, **_look(policy)) for policy in policies]
    legend(figure, handles, columns, 2.2)


def _rows(study: Study, instance: str, policy: str | None = None) -> list[FigureRow]:
    return [
        r for r in study.rows if r.instance == instance and (policy is None or r.policy == policy)
    ]


# --- Fig. 6 --------------------------------------------------------------------------------------


def schedules(study: Study) -> Figure:
    """Draw who holds the GPUs in each round, for the three schedules of Fig. 6."""
    (instance,) = study.instances
    figure, panels = _panels(study, study.policies, rows=1, tall=2.0, below=1.35, left=0.55)
    colours = ("#004f7d", "#d98c00", "#00946b")
    for axes, policy in zip(panels[0], study.policies, strict=True):
        rows = _rows(study, instance, policy)
        floor = np.zeros(len(study.levels))
        for row, colour in zip(rows, colours, strict=True):
            held = np.array(row.curve)
            axes.bar(
                np.array(study.levels) * 10, held, 10, floor, align="edge", color=colour,
                edgecolor=PAPER, linewidth=1.0,
            )  # fmt: skip
            first = int(np.flatnonzero(held)[0])
            axes.text(
                first * 10 + 5, floor[first] + held[first] / 2, f"{row.x}", color="white", size=10,
                ha="center", va="center", weight="bold",
            )  # fmt: skip
            floor += held
        axes.set_xticks(range(0, 81, 20))
        axes.set_xlabel("minutes")
        axes.set_ylim(0, 6)
        lines = [
            f"Job{r.x}: end {r.values['end']:.0f}, rho {r.values['rho']:.3f}, "
            f"FTF {r.values['finish-time fairness']:.3f}"
            for r in rows
        ]
        axes.text(0, -0.3, "\n".join(lines), transform=axes.transAxes, size=8.5, va="top")
    panels[0][0].set_ylabel("GPUs")
    return figure


# --- Figs. 9 and 14 ------------------------------------------------------------------------------


def lease_terms(study: Study) -> Figure:
    """Draw mean JCT, overhead and loss by lease term."""
    measures = {
        "mean_completion": "mean JCT (1000 s),\nnot from 0",
        "overhead": "overhead (% of JCT)",
        "loss": "rho < 0.95 (% of jobs)",
    }
    return _series(study, measures, "lease (minutes)", lambda x: x / 60, zero=False)


def sizes(study: Study) -> Figure:
    """Draw mean JCT and both countings of the loss by number of nodes."""
    measures = {
        "mean_completion": "mean JCT (1000 s)",
        "loss": "rho < 0.95 from first\nround (% of jobs)",
        "loss_release": "rho < 0.95 from sub-\nmission (% of jobs)",
    }
    return _series(study, measures, "nodes of 8 GPUs", float, zero=True)


def _series(
    study: Study, measures: Mapping[str, str], label: str, place: Callable[[int], float], zero: bool
) -> Figure:
    """A row a measure; without `zero` the axes of the mean JCT fit what they show."""
    room = {"tall": 1.35, "below": 0.85, "left": 0.85, "beside": 0.45}
    figure, panels = _panels(study, _drawn(study), rows=len(measures), **room)
    for row, (measure, text) in zip(panels, measures.items(), strict=True):
        scale = 1e-3 if measure == "mean_completion" else 100.0
        for axes, instance in zip(row, _drawn(study), strict=True):
            xs = study.xs(instance)
            for policy in dict.fromkeys(r.policy for r in _rows(study, instance)):
                values = [study.value(instance, policy, measure, x) for x in xs]
                ys = [scale * v if v is not None else np.nan for v in values]
                axes.plot([place(x) for x in xs], ys, marker="o", markersize=3, **_look(policy))
            if zero or measure != "mean_completion":
                axes.set_ylim(bottom=0)
            if row is panels[-1]:
                axes.set_xlabel(label)
            else:
                axes.set_xticklabels([])
        row[0].set_ylabel(text)
    _legend(figure, study.policies, 4)
    return figure


# --- Figs. 10 and 12 -----------------------------------------------------------------------------


def job_fairness(study: Study) -> Figure:
    """Draw the distribution of rho of jobs, and the shares below 0.95 in both countings."""
    room = {"tall": 2.4, "below": 1.3, "left": 1.35, "apart": 0.75}
    figure, panels = _panels(study, _drawn(study), rows=2, **room)
    for above, under, instance in zip(*panels, _drawn(study), strict=True):
        rows = _rows(study, instance)
        _curves(above, study, [row for row in rows if not row.policy.startswith("no ")])
        above.axvline(0.95, color=BOUND, linewidth=1.0)
        _logarithmic(above, (0.05, 20), ["0.1", "0.95", "10"])
        above.set_xlabel("rho from the first round", labelpad=1)
        _two_bars(under, rows, named=under is panels[1][0])
    panels[0][0].set_ylabel("share of jobs")
    _legend(figure, [p for p in study.policies if not p.startswith("no ")], 6)
    return figure


def _logarithmic(axes: Axes, limits: tuple[float, float], ticks: Sequence[str]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    axes.set_xticks([float(tick) for tick in ticks], ticks)
    axes.minorticks_off()


def _two_bars(axes: Axes, rows: Sequence[FigureRow], *, named: bool) -> None:
    """Shares below 0.95: dark from the first round, light what counting from submission adds."""
    for y, row in enumerate(rows):
        loss, late = (100 * (row.values[name] or 0.0) for name in ("loss", "loss_release"))
        colour = _look(row.policy)["color"]
        axes.barh(y, late, height=0.66, color=colour, alpha=0.3)
        axes.barh(y, loss, height=0.66, color=colour)
        axes.text(max(late, loss) + 1, y, f"{loss:.1f} / {late:.1f}", va="center", size=7)
    axes.set_yticks(range(len(rows)), [row.policy if named else "" for row in rows], size=7.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 125)
    axes.set_xticks([0, 50, 100])
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("% of jobs with rho < 0.95:\nfrom first round / submission", labelpad=1)


def slowdowns(study: Study) -> Figure:
    """Draw the distribution of the slowdown of jobs."""
    figure, panels = _panels(study, _drawn(study), rows=1, tall=2.9, below=1.05)
    for axes, instance in zip(panels[0], _drawn(study), strict=True):
        _curves(axes, study, _rows(study, instance))
        _logarithmic(axes, (1, 1000), ["1", "10", "100"])
        axes.set_xlabel("slowdown")
    panels[0][0].set_ylabel("share of jobs")
    _legend(figure, study.policies, 6)
    return figure


def _curves(axes: Axes, study: Study, rows: Sequence[FigureRow]) -> None:
    for row in rows:
        axes.plot(row.curve, study.levels, **_look(row.policy))
    axes.set_ylim(0, 1)
    if rows and rows[0].instance != _drawn(study)[0]:
        axes.set_yticklabels([])


# --- Fig. 11 -------------------------------------------------------------------------------------


def user_fairness(study: Study) -> Figure:
    """Draw how each user's daily rho spreads, a row a policy: median, quartiles, 5th and 95th."""
    names = [p for p in study.policies if not p.startswith("no ")]
    room = {"tall": 0.66, "below": 0.5, "left": 1.45, "apart": 0.15}
    figure, panels = _panels(study, _drawn(study), rows=len(names), **room)
    for row, policy in zip(panels, names, strict=True):
        for axes, instance in zip(row, _drawn(study), strict=True):
            _paint_users(axes, [r for r in _rows(study, instance, policy) if r.x is not None])
            share = study.value(instance, policy, "days_below")
            text = "" if share is None else f"{100 * share:.0f} % of days below 1"
            box = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
            axes.text(
                0.99, 0.99, text, transform=axes.transAxes, size=7, ha="right", va="top", bbox=box
            )
            if row is not panels[-1]:
                axes.set_xticklabels([])
        row[0].set_ylabel(policy, rotation=0, ha="right", va="center", color=INK)
    for axes in panels[-1]:
        axes.set_xlabel("user, by falling weight", labelpad=1)
    return figure


def _paint_users(axes: Axes, rows: Sequence[FigureRow]) -> None:
    for row in rows:
        low, first, middle, third, high = np.minimum(row.curve, 3.0)
        colour = BOUND if middle < 0.999 else "#004f7d"
        x = float(row.x or 0)
        axes.plot([x, x], [low, high], color=colour, linewidth=0.7)
        axes.plot([x, x], [first, third], color=colour, linewidth=2.6)
        axes.plot([x], [middle], "_", color=INK, markersize=5, markeredgewidth=1.2)
    axes.axhline(1.0, color=MUTED, linewidth=0.8)
    axes.set_ylim(0, 4)  # cut at 3: the top is for the number
    axes.set_yticks([0, 1, 2, 3], ["0", "1", "2", "3+"])
    axes.tick_params(labelsize=7)
    last = max((row.x or 0 for row in rows), default=1)
    axes.set_xlim(0.2, last + 0.8)
    axes.set_xticks([1, *range(5, last + 1, 5)])
    axes.grid(visible=False, axis="x")


# --- Fig. 13 -------------------------------------------------------------------------------------


def bars(study: Study) -> Figure:
    """Draw the mean JCT of each policy as a bar with its number."""
    room = {"tall": 0.28 * len(study.policies), "below": 0.5, "left": 1.05, "right": 0.35}
    figure, panels = _panels(study, _drawn(study), rows=1, **room)
    for axes, instance in zip(panels[0], _drawn(study), strict=True):
        rows = _rows(study, instance)
        values = [row.values["mean_completion"] or 0.0 for row in rows]
        limit = 2.5 * float(np.median(values))  # a longer bar is cut, its number is not
        for y, (row, value) in enumerate(zip(rows, values, strict=True)):
            axes.barh(y, min(value, limit), height=0.66, color=_look(row.policy)["color"])
            cut = " »" if value > limit else ""
            own = (v for n, v in row.values.items() if n.startswith("mean_completion ["))
            draws = [value for value in own if value is not None]
            if draws:
                ends = [min(v, limit) for v in (min(draws), max(draws))]
                axes.plot(ends, [y + 0.4] * 2, color=INK, linewidth=0.9)
            inside = min(value, limit) > 0.6 * limit
            axes.text(
                min(value, limit) * (0.97 if inside else 1.0) + (0 if inside else 0.02 * limit), y,
                f"{value:,.0f}{cut}", va="center", ha="right" if inside else "left", size=8,
                color="white" if inside else INK, weight="bold" if inside else "normal",
            )  # fmt: skip
        axes.set_yticks(
            range(len(rows)), [r.policy if instance == rows[0].instance else "" for r in rows]
        )
        if axes is not panels[0][0]:
            axes.set_yticklabels([])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(0, limit)
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("seconds")
    return figure
