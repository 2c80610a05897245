"""Pictures of Table III and Figs. 5 to 12 of Gao et al.: bars by workload, lines along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..plots import INK, MUTED, PAPER, STYLE, WIDTH, headline, plain
from .study import Study
from .unisched_statements import (
    BRISK,
    CAREFUL,
    CHRONUS,
    DENSITY,
    EDF,
    FEASIBLE,
    FREE,
    KNOWN,
    MAXIMUM,
    PRINTED_ROUNDING,
    PROMPT,
    QUEUE,
    STATIC,
    TRUE,
    UNAWARE,
    UNISCHED,
    WITH_ESTIMATOR,
    WITH_SELECTOR,
    values,
)

__all__ = [
    "Panel", "chronus", "draw", "errors", "estimator", "hostile", "rewards", "schedulers",
    "selector", "selector_seconds", "suspensions", "testbed",
]  # fmt: skip

GRID = "#dfe3e8"
DASHED: Any = (0, (4, 1.6))
DOTTED: Any = (0, (1, 1.2))
SHADE: Mapping[Any, float] = {"-": 1.0, DOTTED: 0.65, DASHED: 0.35}  # of bars
BLUE, ORANGE, GREEN, PINK, SKY, RED, GREY, BROWN = (
    "#004f7d", "#d98c00", "#00946b", "#c0649a", "#4aa3d8", "#d55e00", "#7a838d", "#8a6d1f",
)  # fmt: skip
#: after Okabe and Ito; variants of UniSched share its colour
LOOK: Mapping[str, tuple[str, Any]] = {
    UNISCHED: (BLUE, "-"), PROMPT: (BLUE, DOTTED), KNOWN: (BLUE, DASHED), BRISK: (PINK, DASHED),
    "3Sigma": (ORANGE, "-"), "GENIE": (GREEN, "-"),
    "Hydra": (PINK, "-"), "Optimus": (SKY, "-"), "Themis": (RED, "-"), EDF: (BROWN, DASHED),
    STATIC: (ORANGE, "-"), MAXIMUM: (GREEN, "-"), UNAWARE: (RED, "-"),
    CAREFUL: (PINK, DASHED), TRUE: (BROWN, DASHED),
    PRINTED_ROUNDING: (ORANGE, "-"), FREE: (GREEN, DASHED),
    FEASIBLE: (PINK, "-"), CHRONUS: (ORANGE, "-"), WITH_ESTIMATOR: (GREEN, "-"),
    WITH_SELECTOR: (PINK, "-"), "consolidated": (ORANGE, "-"), "exact": (GREEN, DASHED),
    "SLO": (BLUE, "-"), "best effort": (ORANGE, "-"), "profiler": (GREEN, "-"),
    "strict SLO": (BLUE, "-"), "soft SLO": (BLUE, DASHED),
    "printed, simulator": (GREY, "-"), "printed, Kubernetes": (GREY, DASHED),
}  # fmt: skip


Looks = Mapping[str, tuple[str, Any]]


def _look(policy: str, looks: Looks) -> tuple[str, Any]:
    return looks.get(policy, (INK, "-"))


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes; bars over `instances`, or lines along the axis of a single one.

    Parameters
    ----------
    measure, label : str
    instances : sequence of str
    axis : str
        Label of the axis of lines; empty for bars.
    policies : sequence of str
        By default all that have the measure.
    title : str
    """

    measure: str
    label: str
    instances: Sequence[str]
    axis: str = ""
    policies: Sequence[str] = ()
    title: str = ""


# --- drawing -------------------------------------------------------------------------------------


def draw(
    study: Study,
    panels: Sequence[Sequence[Panel]],
    *,
    tall: float = 1.75,
    looks: Looks = LOOK,
) -> Figure:
    """Draw panels in rows, and one legend of all policies.

    Parameters
    ----------
    study : Study
    panels : sequence of sequences of Panel
    tall : float
        Inches of a panel.
    looks : mapping of str to colour and line
        Of policies.
    """
    named = list(
        dict.fromkeys(p for row in panels for panel in row for p in _policies(study, panel))
    )
    columns = 4 if max(map(len, named), default=0) > 30 else 5
    below = 0.05 + 0.2 * (-(-len(named) // columns))
    height = 0.68 + len(panels) * (tall + 0.62) + below
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), facecolor=PAPER)
        for r, row in enumerate(panels):
            wide = (WIDTH - 0.2 - 0.72 * len(row)) / len(row)
            for c, panel in enumerate(row):
                left = 0.62 + c * (wide + 0.72)
                bottom = height - 0.68 - tall - r * (tall + 0.62)
                place = (left / WIDTH, bottom / height, wide / WIDTH, tall / height)
                _paint(study, figure.add_axes(place, facecolor="none"), panel, looks)
    headline(figure, study.title)
    handles = [
        Line2D([], [], label=p, color=colour, linestyle=line, linewidth=2.4)
        for p in named
        for colour, line in [_look(p, looks)]
    ]
    figure.legend(
        handles=handles, ncols=columns, loc="lower left", bbox_to_anchor=(0.01, 0.0),
        frameon=False, fontsize=8.5, labelcolor=INK, handlelength=2.0, columnspacing=1.4,
    )  # fmt: skip
    return figure


def _policies(study: Study, panel: Panel) -> list[str]:
    """Those that have the measure in the panel."""
    wanted = panel.policies or study.policies
    there = {
        row.policy
        for row in study.rows
        if row.instance in panel.instances and row.values.get(panel.measure) is not None
    }
    return [policy for policy in wanted if policy in there]


def _paint(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    plain(axes)
    axes.tick_params(labelsize=8)
    axes.grid(color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_ylabel(panel.label, size=8.5)
    axes.set_title(panel.title, size=9, color=MUTED, loc="left")
    if panel.axis:
        _lines(study, axes, panel, looks)
    else:
        _bars(study, axes, panel, looks)
    if not axes.dataLim.ymin < 0:
        axes.set_ylim(bottom=0)


def _bars(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    """A group for each instance; whiskers from the least to the largest seed."""
    policies = _policies(study, panel)
    wide = 0.8 / max(1, len(policies))
    for k, policy in enumerate(policies):
        colour, line = _look(policy, looks)
        for g, instance in enumerate(panel.instances):
            mean = study.value(instance, policy, panel.measure)
            if mean is None:
                continue
            x = g - 0.4 + (k + 0.5) * wide
            axes.bar(x, mean, 0.92 * wide, color=colour, alpha=SHADE[line])
            own = values(study, instance, policy, panel.measure)
            if len(own) > 1:
                axes.plot([x, x], [min(own), max(own)], color=INK, linewidth=0.8)
    names = [name.replace(", ", "\n").replace(" as ", "\nas ") for name in panel.instances]
    axes.set_xticks(range(len(names)), names, size=6.5 if any("\n" in n for n in names) else 8)
    axes.set_xlim(-0.5, max(1, len(panel.instances)) - 0.5)
    axes.grid(visible=False, axis="x")


def _lines(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    (instance,) = panel.instances
    for policy in _policies(study, panel):
        colour, line = _look(policy, looks)
        points = [
            (row.x, row.values[panel.measure])
            for row in study.rows
            if (row.instance, row.policy) == (instance, policy) and panel.measure in row.values
        ]
        points.sort(key=lambda point: point[0] or 0)
        xs, ys = zip(*points, strict=True)
        heights = [np.nan if y is None else y for y in ys]
        axes.plot(
            xs, heights, color=colour, linestyle=line, linewidth=1.6, marker="o", markersize=3
        )
    axes.set_xlabel(panel.axis, size=8.5, labelpad=1)


# --- figures -------------------------------------------------------------------------------------

MISS, RATIO = "R^slo (%)", "BE latency, UniSched = 1"


def testbed(study: Study) -> Figure:
    """Draw Table III.

    Parameters
    ----------
    study : Study
    """
    names = list(study.instances)
    return draw(
        study,
        [
            [
                Panel("miss", MISS, names),
                Panel("jct", "mean JCT (min)", names),
                Panel("ratio", "certified ratio", names),
            ]
        ],
    )


def rewards(study: Study) -> Figure:
    """Draw Fig. 5(a), the small rewards apart.

    Parameters
    ----------
    study : Study
    """
    figure = draw(study, [[Panel("reward", "reward", []), Panel("reward", "reward", [])]])
    for axes, large in zip(figure.axes, (True, False), strict=True):
        for row in study.rows:
            if row.policy.endswith("SLO") == large:
                colour, line = _look(row.policy, LOOK)
                drawn = "steps-pre" if large else "default"
                axes.plot(
                    study.levels, row.curve, color=colour, linestyle=line, linewidth=1.8,
                    drawstyle=drawn, label=row.policy,
                )  # fmt: skip
        ticks = range(0, int(study.levels[-1]) + 1, 30)
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.set_xlabel("completion (min)", size=8.5)
        axes.set_ylim(0, 105 if large else 1.05)
        axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    return figure


def schedulers(study: Study) -> Figure:
    """Draw Fig. 6: by workload, and by job density. FIFO would leave no room for the others.

    Parameters
    ----------
    study : Study
    """
    names = [name for name in study.instances if name != DENSITY]
    mixed = [name for name in names if not name.endswith("SLO")]
    shown = [policy for policy in study.policies if policy != "FIFO"]
    what = "what any policy could win, over reward"
    panels = [
        [Panel("miss", MISS, names, policies=shown, title="(a)")],
        [Panel("latency_ratio", RATIO, mixed, policies=shown, title="(b)")],
        [Panel("ratio", "certified ratio", names, policies=shown, title=what)],
    ]
    if DENSITY in study.instances:
        axis = "H_MIX2, job density (%)"
        panels.append(
            [
                Panel("miss", MISS, [DENSITY], axis, shown, title="(c)"),
                Panel("latency_ratio", RATIO, [DENSITY], axis, shown, title="(d)"),
            ]
        )
    return draw(study, panels)


def errors(study: Study) -> Figure:
    """Draw Fig. 7(c) and (d).

    Parameters
    ----------
    study : Study
    """
    curves = [name for name in study.instances if name.startswith("(c)")]
    runs = [name for name in study.instances if name.startswith("(d)")]
    return draw(
        study,
        [
            [
                Panel("mean", "mean error (%)", curves, "epochs seen (%)", title="(c)"),
                Panel("slo_error", "error, SLO jobs (%)", runs, title="(d)"),
                Panel("be_error", "error, best effort (%)", runs[1:], title="(d)"),
            ]
        ],
    )


def suspensions(study: Study) -> Figure:
    """Draw Fig. 8.

    Parameters
    ----------
    study : Study
    """
    return draw(study, [[Panel("suspensions", "suspensions a job", list(study.instances))]])


def estimator(study: Study) -> Figure:
    """Draw Fig. 9.

    Parameters
    ----------
    study : Study
    """
    names = list(study.instances)
    plain_names = [name for name in names if "x =" not in name]
    costs = [name for name in names if "costs" in name]
    noises = [name for name in names if "noise" in name]
    top = [
        Panel("miss", MISS, plain_names, policies=(UNISCHED, STATIC), title="(a)"),
        Panel("metric_miss", "of target metrics (%)", plain_names,
               policies=(UNISCHED, MAXIMUM, CAREFUL, TRUE), title="(b)"),
    ]  # fmt: skip
    middle = [
        Panel(measure, label, costs, "factor of preemption costs", title="(c) H_MIX2")
        for measure, label in (("miss", MISS), ("latency", "BE latency (min)"))
    ]
    bottom = [
        Panel("miss", MISS, [name], "noise (%)", title=f"(d) {name.partition(',')[0]}")
        for name in noises
    ]
    return draw(study, [top, middle, bottom])


def selector(study: Study) -> Figure:
    """Draw Fig. 10.

    Parameters
    ----------
    study : Study
    """
    names = list(study.instances)
    leases = [name for name in names if "lease" in name]
    plain_names = [name for name in names if "x =" not in name and name != QUEUE]
    mixed = [name for name in plain_names if not name.endswith("SLO")]
    both = (UNISCHED, FEASIBLE)
    return draw(
        study,
        [
            *(
                [
                    Panel(m, label, [name], "lease (min)", title=f"(a) {name.partition(',')[0]}")
                    for m, label in (("miss", MISS), ("latency", "BE latency (min)"))
                ]
                for name in leases
            ),
            [
                Panel("miss", MISS, plain_names, policies=both, title="(b)"),
                Panel("latency", "BE latency (min)", mixed, policies=both, title="(c)"),
            ],
            [
                Panel(m, label, [QUEUE], "GPUs", title="(d)")
                for m, label in (
                    ("columns", "columns"),
                    ("iterations", "iterations"),
                    ("gap", "certified gap (%)"),
                )
            ],
        ],
        tall=1.5,
    )


def selector_seconds(study: Study) -> Figure:
    """Draw Fig. 10(d).

    Parameters
    ----------
    study : Study
    """
    kinds = ("options_seconds", "options"), ("cold_seconds", "selection"), ("warm_seconds", "again")
    return draw(
        study,
        [[Panel(name, f"{text} (s)", [QUEUE], "GPUs") for name, text in kinds]],
    )


def hostile(study: Study) -> Figure:
    """Draw Fig. 11.

    Parameters
    ----------
    study : Study
    """
    axis = "hostile jobs (%)"
    (name,) = study.instances
    return draw(
        study,
        [
            [
                Panel("miss", MISS, [name], axis, title="(a)"),
                Panel("latency_ratio", RATIO, [name], axis, title="(b)"),
            ]
        ],
    )


def chronus(study: Study) -> Figure:
    """Draw Fig. 12.

    Parameters
    ----------
    study : Study
    """
    names = list(study.instances)
    return draw(
        study,
        [
            [
                Panel("miss", MISS, names, title="(a)"),
                Panel("latency_ratio", RATIO, names, title="(b)"),
            ]
        ],
    )
