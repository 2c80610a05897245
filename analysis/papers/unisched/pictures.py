"""Pictures of Table III and Figs. 5 to 12 of Gao et al.: bars by workload, lines along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...show.plots import INK
from ..pictures import COLOURS, DASHED, DOTTED, Looks, Panel, Panels, exactly
from . import statements as said

BLUE, ORANGE, GREEN, PINK, SKY, RED, GREY, BROWN = COLOURS
#: of those that several figures have; variants of UniSched share its colour
LOOKS: Looks = {
    said.UNISCHED: (BLUE, "-"), said.PRINTED_REWARD: (BLUE, DOTTED), said.BRISK: (ORANGE, DASHED),
    **{
        said.knows(name, information): (colour, "-" if information == said.PROFILED else DASHED)
        for name, colour in (
            (said.UNISCHED, BLUE), ("GENIE", GREEN), ("Hydra", PINK), ("Optimus", SKY),
            ("Themis", RED), (said.EDF, BROWN), ("GENIE rigid", GREY), ("Optimus rigid", INK),
        )
        for information in said.INFORMATION
    },
    said.knows("3Sigma", said.KNOWN_TIMES): (ORANGE, "-"),
}  # fmt: skip

#: what axes are called, by measure, where it is not the measure's name
AXES = {
    "miss": "R^slo (%)", "latency_ratio": "BE latency, UniSched = 1", "ratio": "certified ratio",
    "latency": "BE latency (min)", "jct": "mean JCT (min)", "mean": "mean error (%)",
    "slo_error": "error, SLO jobs (%)", "be_error": "error, best effort (%)",
    "metric_miss": "of target metrics (%)", "suspensions": "suspensions a job",
    "gap": "certified gap (%)", "options_seconds": "options (s)", "cold_seconds": "selection (s)",
    "warm_seconds": "again (s)",
}  # fmt: skip


def _bars(measure: str, title: str = "", **more: Any) -> Panel:
    return Panel(measure, AXES.get(measure, measure), title=title, **more)


def _lines(measure: str, axis: str, title: str = "", **more: Any) -> Panel:
    return _bars(measure, title, kind="lines", axis=axis, **more)


#: workloads of which nothing varies
PLAIN = "[^=]*"
EPOCHS = exactly(said.UNISCHED, said.ENSEMBLE, said.MAXIMUM, said.CAREFUL, said.TRUE)
SELECTORS = exactly(said.UNISCHED, said.FEASIBLE)
#: who knows run times so, or uses none; FIFO would leave no room for the others
ALIKE = {
    said.PROFILED: "(?!FIFO|.*, known).*",
    said.KNOWN_TIMES: f"(?!FIFO|.*, profiled|{said.PRINTED_REWARD}).*",
}
PANELS: Mapping[str, Panels] = {
    "table3": [[_bars(measure)] for measure in ("miss", "jct", "ratio")],
    "fig5": [  # the small rewards apart
        [
            Panel("reward", "reward", "curves", of=of, axis="completion (min)", span=(0, most))
            for of, most in ((".*SLO", 105), ("profiler|best effort", 1.05))
        ]
    ],
    "fig6": [
        *(
            [_bars(measure, f"{part} {said.EQUAL_TERMS[terms]}", on=f"(?!{said.DENSITY}).*", of=of)]
            for measure, part in (("miss", "(a)"), ("latency_ratio", "(b)"))
            for terms, of in ALIKE.items()
        ),
        *(
            [
                _lines(
                    measure, "H_MIX2, job density (%)", f"{part} {said.EQUAL_TERMS[terms]}",
                    on=said.DENSITY, of=of,
                )
                for terms, of in ALIKE.items()
            ]
            for measure, part in (("miss", "(c)"), ("latency_ratio", "(d)"))
        ),
    ],
    "fig7": [
        [
            _lines("mean", "epochs seen (%)", "(c)", on=r"\(c\).*"),
            *(_bars(measure, "(d)", on=r"\(d\).*") for measure in ("slo_error", "be_error")),
        ]
    ],
    "fig8": [[_bars("suspensions")]],
    "fig9": [
        [
            _bars("miss", "(a)", on=PLAIN, of=exactly(said.UNISCHED, said.STATIC)),
            _bars("metric_miss", "(b)", on=PLAIN, of=EPOCHS),
        ],
        [
            _lines(measure, "factor of preemption costs", "(c) {}", on=".*costs")
            for measure in ("miss", "latency")
        ],
        [_lines("miss", "noise (%)", "(d) {}", on=".*noise.*")],
    ],
    "fig10": [
        [_lines(one, "lease (min)", "(a) {}", on=".*lease.*") for one in ("miss", "latency")],
        [
            _bars("miss", "(b)", on=PLAIN, of=SELECTORS),
            _bars("latency", "(c)", on=PLAIN, of=SELECTORS),
        ],
        [_lines(measure, "GPUs", "(d)") for measure in ("columns", "iterations", "gap")],
    ],
    "fig10d": [
        [_lines(f"{kind}_seconds", "GPUs") for kind in ("options", "cold", "warm")]
    ],
    "fig11": [[_lines("miss", "", "(a)"), _lines("latency_ratio", "", "(b)")]],
    "fig12": [[_bars("miss", "(a)"), _bars("latency_ratio", "(b)")]],
}  # fmt: skip
