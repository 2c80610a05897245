"""Pictures of Table III and Figs. 5 to 12 of Gao et al.: bars by workload, lines along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ...show.plots import INK
from ..pictures import DASHED, DOTTED, Panel
from ..pictures import draw as draw_panels
from ..study import Study
from . import statements as said

__all__ = [
    "chronus", "errors", "estimator", "hostile", "rewards", "schedulers", "selector",
    "selector_seconds", "suspensions", "testbed",
]  # fmt: skip

BLUE, ORANGE, GREEN, PINK, SKY, RED, GREY, BROWN = (
    "#004f7d", "#d98c00", "#00946b", "#c0649a", "#4aa3d8", "#d55e00", "#7a838d", "#8a6d1f",
)  # fmt: skip
#: after Okabe and Ito; variants of UniSched share its colour
LOOK: Mapping[str, tuple[str, Any]] = {
    said.UNISCHED: (BLUE, "-"), said.PRINTED_REWARD: (BLUE, DOTTED), said.BRISK: (ORANGE, DASHED),
    **{
        said.knows(name, information): (colour, "-" if information == said.PROFILED else DASHED)
        for name, colour in (
            (said.UNISCHED, BLUE), ("GENIE", GREEN), ("Hydra", PINK), ("Optimus", SKY),
            ("Themis", RED), (said.EDF, BROWN), ("GENIE rigid", GREY), ("Optimus rigid", INK),
        )
        for information in said.INFORMATION
    },
    said.knows("3Sigma", said.TOLD): (ORANGE, "-"),
    said.ENSEMBLE: (SKY, "-"), said.GRID: (RED, "-"),
    said.STATIC: (ORANGE, "-"), said.MAXIMUM: (GREEN, "-"), said.UNAWARE: (RED, "-"),
    said.CAREFUL: (PINK, DASHED), said.TRUE: (BROWN, DASHED),
    said.PRINTED_ROUNDING: (ORANGE, "-"), said.FREE: (GREEN, DASHED), said.FEASIBLE: (PINK, "-"),
    said.CHRONUS: (ORANGE, "-"), said.WITH_ESTIMATOR: (GREEN, "-"), said.WITH_SELECTOR: (PINK, "-"),
    "consolidated": (ORANGE, "-"), "exact": (GREEN, DASHED), "SLO": (BLUE, "-"),
    "best effort": (ORANGE, "-"), "profiler": (GREEN, "-"), "strict SLO": (BLUE, "-"),
    "soft SLO": (BLUE, DASHED), "printed, simulator": (GREY, "-"),
    "printed, Kubernetes": (GREY, DASHED),
}  # fmt: skip
draw = partial(draw_panels, looks=LOOK)


# --- figures -------------------------------------------------------------------------------------

#: what axes are called, by measure, where it is not the measure's name
AXES = {
    "miss": "R^slo (%)", "latency_ratio": "BE latency, UniSched = 1", "ratio": "certified ratio",
    "latency": "BE latency (min)", "jct": "mean JCT (min)", "mean": "mean error (%)",
    "slo_error": "error, SLO jobs (%)", "be_error": "error, best effort (%)",
    "metric_miss": "of target metrics (%)", "suspensions": "suspensions a job",
    "gap": "certified gap (%)", "options_seconds": "options (s)", "cold_seconds": "selection (s)",
    "warm_seconds": "again (s)",
}  # fmt: skip


def _panel(measure: str, names: Sequence[str], *more: Any, **options: Any) -> Panel:
    return Panel(measure, AXES.get(measure, measure), names, *more, **options)


def testbed(study: Study) -> Figure:
    """Draw Table III."""
    names = list(study.instances)
    return draw(study, [[_panel(measure, names)] for measure in ("miss", "jct", "ratio")], tall=1.5)


def rewards(study: Study) -> Figure:
    """Draw Fig. 5(a), the small rewards apart."""
    figure = draw(study, [[_panel("reward", []), _panel("reward", [])]])
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
    names = [name for name in study.instances if name != said.DENSITY]
    mixed = [name for name in names if not name.endswith("SLO")]
    both = [_with(study, information) for information in said.INFORMATION]
    parts = ("miss", names, "(a)"), ("latency_ratio", mixed, "(b)")
    panels = [
        [_panel(measure, names, policies=shown, title=f"{part} {terms}")]
        for measure, names, part in parts
        for shown, terms in both
    ]
    if said.DENSITY in study.instances:
        place = [said.DENSITY], "H_MIX2, job density (%)"
        for measure, part in (("miss", "(c)"), ("latency_ratio", "(d)")):
            row = [_panel(measure, *place, own, title=f"{part} {terms}") for own, terms in both]
            panels.append(row)
    return draw(study, panels, tall=1.5)


def _with(study: Study, information: str) -> tuple[list[str], str]:
    """The policies of a study that know run times so, or use none that are told."""
    other = {said.PROFILED: said.TOLD, said.TOLD: said.PROFILED}[information]
    shown = [p for p in study.policies if not p.endswith(other) and p != "FIFO"]
    if information == said.TOLD:
        shown.remove(said.PRINTED_REWARD)
    return shown, said.EQUAL_TERMS[information]


def errors(study: Study) -> Figure:
    """Draw Fig. 7(c) and (d)."""
    curves = [name for name in study.instances if name.startswith("(c)")]
    runs = [name for name in study.instances if name.startswith("(d)")]
    estimated = _panel("mean", curves, "epochs seen (%)", title="(c)")
    both = _panel("slo_error", runs, title="(d)"), _panel("be_error", runs[1:], title="(d)")
    return draw(study, [[estimated, *both]])


def suspensions(study: Study) -> Figure:
    """Draw Fig. 8."""
    return draw(study, [[_panel("suspensions", list(study.instances))]])


def estimator(study: Study) -> Figure:
    """Draw Fig. 9."""
    names = list(study.instances)
    plain = [name for name in names if "x =" not in name]
    costs = [name for name in names if "costs" in name]
    epochs = said.UNISCHED, said.ENSEMBLE, said.MAXIMUM, said.CAREFUL, said.TRUE
    axis = "factor of preemption costs"
    return draw(
        study,
        [
            [
                _panel("miss", plain, policies=(said.UNISCHED, said.STATIC), title="(a)"),
                _panel("metric_miss", plain, policies=epochs, title="(b)"),
            ],
            [_panel(m, costs, axis, title="(c) H_MIX2") for m in ("miss", "latency")],
            [_part("miss", name, "noise (%)", "(d)") for name in names if "noise" in name],
        ],
    )


def _part(measure: str, name: str, axis: str, part: str) -> Panel:
    """One workload, whose name is in the title."""
    return _panel(measure, [name], axis, title=f"{part} {name.partition(',')[0]}")


def selector(study: Study) -> Figure:
    """Draw Fig. 10."""
    names = list(study.instances)
    plain = [name for name in names if "x =" not in name and name != said.QUEUE]
    mixed = [name for name in plain if not name.endswith("SLO")]
    both = said.UNISCHED, said.FEASIBLE
    panels = [
        [_part(measure, name, "lease (min)", "(a)") for measure in ("miss", "latency")]
        for name in names
        if "lease" in name
    ]
    panels.append(
        [
            _panel("miss", plain, policies=both, title="(b)"),
            _panel("latency", mixed, policies=both, title="(c)"),
        ]
    )
    program = ("columns", "iterations", "gap")
    panels.append([_panel(measure, [said.QUEUE], "GPUs", title="(d)") for measure in program])
    return draw(study, panels, tall=1.5)


def selector_seconds(study: Study) -> Figure:
    """Draw Fig. 10(d)."""
    kinds = ("options_seconds", "cold_seconds", "warm_seconds")
    return draw(study, [[_panel(measure, [said.QUEUE], "GPUs") for measure in kinds]])


def _misses_and_latencies(study: Study, axis: str = "") -> Figure:
    names = list(study.instances)
    pairs = ("miss", "(a)"), ("latency_ratio", "(b)")
    return draw(study, [[_panel(measure, names, axis, title=part) for measure, part in pairs]])


def hostile(study: Study) -> Figure:
    """Draw Fig. 11."""
    return _misses_and_latencies(study, "hostile jobs (%)")


def chronus(study: Study) -> Figure:
    """Draw Fig. 12."""
    return _misses_and_latencies(study)
