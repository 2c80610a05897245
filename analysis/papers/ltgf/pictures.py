"""Pictures of Figs. 6 and 11 of Ye et al."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...show.plots import PAPER
from ..pictures import COLOURS, Panel, Panels, axes_in_rows, named
from ..study import Study

#: end the names of instances without exclusions, and on the paper's nodes of Philly
ALL_JOBS, ON_PAPERS_NODES = ", all jobs", ", 210 nodes"


def by_user(policies: Mapping[str, Any]) -> Panels:
    """Return the panels of how each user's daily rho spreads, a row a policy."""
    last = [*policies][-1]
    return [
        [
            Panel(
                "", policy, "boxes", of=re.escape(policy), level=1.0, span=(0, 3),
                on=f"(?!.*({ALL_JOBS}|{ON_PAPERS_NODES})).*", title="" if k else "{}",
                axis="user, by falling weight" * (policy == last),
            )
        ]
        for k, policy in enumerate(policies)
    ]  # fmt: skip


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
