"""Pictures of the figures of Ye et al.: a column an instance, a colour a policy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...show.plots import PAPER
from ..pictures import COLOURS, DASHED, DOTTED, Looks, Panel, Panels, axes_in_rows, named
from ..study import Study

#: end the names of instances without exclusions, and on the paper's nodes of Philly
ALL_JOBS, ON_PAPERS_NODES = ", all jobs", ", 210 nodes"
#: after Okabe and Ito; LTGF's variants share a colour, what the paper does not have is grey
LOOKS: Looks = {
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


def _panel(measure: str, label: str, kind: Any = "bars", **more: Any) -> Panel:
    """The tables have the instances with all jobs and the idle one too."""
    title = "" if kind == "bars" else "{}"
    return Panel(
        measure,
        label,
        kind,
        **{"on": f"(?!.*({ALL_JOBS}|{ON_PAPERS_NODES})).*", "title": title, **more},
    )


WAITING = "(?!no ).*"  # not those without contention
LOSSES = {
    "loss": "rho < 0.95 (% of jobs),\nfrom the first round",
    "loss_release": "rho < 0.95 (% of jobs),\nfrom submission",
}
JCT = "mean JCT (1000 s)"


def by_user(policies: Mapping[str, Any]) -> Panels:
    """Return the panels of how each user's daily rho spreads, a row a policy."""
    last = [*policies][-1]
    return [
        [
            _panel(
                "", policy, "boxes", of=re.escape(policy), level=1.0, span=(0, 3),
                title="" if k else "{}", axis="user, by falling weight" * (policy == last),
            )
        ]
        for k, policy in enumerate(policies)
    ]  # fmt: skip


PANELS: Mapping[str, Panels] = {
    "fig9": [
        [_panel("mean_completion", f"{JCT},\nnot from 0", "lines", scale=1e-3, zero=False)],
        [_panel("overhead", "overhead (% of JCT)", "lines", scale=100)],
        [_panel("loss", LOSSES["loss"], "lines", scale=100)],
    ],
    "fig10": [
        [
            _panel(
                "", "share of jobs", "shares", of=WAITING, level=0.95, logarithmic=(0.05, 20),
                axis="rho from the first round",
            )
        ],
        *([_panel(measure, label, scale=100)] for measure, label in LOSSES.items()),
    ],
    "fig12": [[_panel("", "share of jobs", "shares", logarithmic=(1, 1000), axis="slowdown")]],
    "fig13": [[_panel("mean_completion", JCT, scale=1e-3, cut=2.5)]],
    "fig14": [
        [_panel("mean_completion", JCT, "lines", scale=1e-3)],
        *([_panel(measure, label, "lines", scale=100)] for measure, label in LOSSES.items()),
    ],
}  # fmt: skip


def schedules(study: Study) -> Figure:
    """Draw who holds the GPUs in each round, for the three schedules of Fig. 6."""
    figure, (panels,) = axes_in_rows(study, [len(study.policies)], tall=2.0, below=1.35)
    for axes, policy in zip(panels, study.policies, strict=True):
        rows = [row for row in study.rows if row.policy == policy]
        floor, lefts = np.zeros(len(study.levels)), 10 * np.array(study.levels)
        for row, colour in zip(rows, COLOURS, strict=False):
            held = np.array(row.curve)
            axes.bar(lefts, held, 10, floor, align="edge", color=colour, edgecolor=PAPER)
            first = int(np.flatnonzero(held)[0])
            axes.text(
                lefts[first] + 5, floor[first] + held[first] / 2, f"{row.x}", color="white",
                size=10, ha="center", va="center", weight="bold",
            )  # fmt: skip
            floor += held
        named(axes, policy, 9.5)
        axes.set_xlabel("minutes")
        lines = [
            f"Job{r.x}: end {r.values['end']:.0f}, rho {r.values['rho']:.3f}, "
            f"FTF {r.values['finish-time fairness']:.3f}"
            for r in rows
        ]
        axes.text(0, -0.3, "\n".join(lines), transform=axes.transAxes, size=8.5, va="top")
    panels[0].set_ylabel("GPUs")
    return figure
