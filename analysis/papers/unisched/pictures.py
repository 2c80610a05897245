"""Pictures of Table III and Figs. 5 to 12 of Gao et al.: bars by workload, lines along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ...show.plots import INK
from ..pictures import DASHED, DOTTED, Panel
from ..pictures import draw as draw_panels
from ..study import Study
from .statements import (
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
)

__all__ = [
    "chronus", "errors", "estimator", "hostile", "rewards", "schedulers", "selector",
    "selector_seconds", "suspensions", "testbed",
]  # fmt: skip

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
draw = partial(draw_panels, looks=LOOK)


# --- figures -------------------------------------------------------------------------------------

MISS, RATIO = "R^slo (%)", "BE latency, UniSched = 1"


def testbed(study: Study) -> Figure:
    """Draw Table III."""
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
    """Draw Fig. 5(a), the small rewards apart."""
    figure = draw(study, [[Panel("reward", "reward", []), Panel("reward", "reward", [])]])
    for axes, large in zip(figure.axes, (True, False), strict=True):
        for row in study.rows:
            if row.policy.endswith("SLO") == large:
                colour, line = LOOK[row.policy]
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
    """Draw Fig. 6: by workload, and by job density. FIFO would leave no room for the others."""
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
    """Draw Fig. 7(c) and (d)."""
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
    """Draw Fig. 8."""
    return draw(study, [[Panel("suspensions", "suspensions a job", list(study.instances))]])


def estimator(study: Study) -> Figure:
    """Draw Fig. 9."""
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
    """Draw Fig. 10."""
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
    """Draw Fig. 10(d)."""
    kinds = ("options_seconds", "options"), ("cold_seconds", "selection"), ("warm_seconds", "again")
    return draw(
        study,
        [[Panel(name, f"{text} (s)", [QUEUE], "GPUs") for name, text in kinds]],
    )


def hostile(study: Study) -> Figure:
    """Draw Fig. 11."""
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
    """Draw Fig. 12."""
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
