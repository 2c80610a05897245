"""The table and the picture of what policies attain on other clusters and at other loads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ..comparing.what_if import WhatIf
from .colours import COLOURS
from .columns import ANSWERS, SAID, Column, ColumnTable, column, doubted, duration, unit_for
from .conditions import rules_in_words
from .plots import INK, TRACK, WIDTH, axes_at, headline, legend_at, new_figure
from .replay_tables import conditions, remarks

LEAST = Column(
    "least", "any\npolicy{} ≥", "", -1, partial(duration, down=True), "mean completion, certified"
)


def _whose(found: WhatIf) -> str:
    """For which policies bounds hold, where not for all."""
    keeps = any(
        case.found.has_deadlines or any(r.elastic for r in case.found.rows) for case in found.cases
    )
    return " that keeps gangs" * keeps


def _doubt(found: WhatIf) -> str:
    """What stands beside certified numbers where it is in doubt how the log was read."""
    return " (in doubt)" * any(case.found.doubts for case in found.cases)


def _label(name: str, load: float, loads: set[float]) -> str:
    return name if len(loads) == 1 else f"{name}, load {load:.10g}"


def labels(found: WhatIf) -> list[str]:
    """Return how the cases are called: by cluster, and by load where there are several."""
    loads = {case.load for case in found.cases}
    return [_label(case.cluster, case.load, loads) for case in found.cases]


def _least(case: Any) -> float | None:
    """The certified least mean completion of a case, in seconds."""
    bound, jobs = case.found.bounds.get("flow"), len(case.found.instance.jobs)
    return None if bound is None else float(bound.value) / (jobs - len(case.found.rejected))


def table(found: WhatIf) -> ColumnTable:
    """Return a row for each case and policy: waits, completion, its ratio, use, and the bound."""
    rows = [
        {**row.values, "case": label, "least": _least(case)}
        for label, case in zip(labels(found), found.cases, strict=True)
        for row in case.found.rows
    ]
    shown = [column(key) for key in ANSWERS["times"]]
    least = replace(LEAST, heading=LEAST.heading.format(_whose(found)))
    if _doubt(found):
        shown = [doubted(c) for c in shown]
        least = replace(least, heading=f"{least.heading}\n(in doubt)")
    known = [c for c in (*shown, least) if any(row.get(c.key) is not None for row in rows)]
    return ColumnTable((Column("case", "cluster"), Column("name", "policy"), *known), tuple(rows))


def answer(found: WhatIf) -> list[str]:
    """Say of each policy what the last case brings beside the first one."""
    if len(found.cases) < 2:
        return []
    names, first, last = labels(found), found.cases[0], found.cases[-1]
    before = {row.name: row.measures["mean_completion"] for row in first.found.rows}
    said = []
    for row in last.found.rows:
        old, new = before.get(row.name), row.measures["mean_completion"]
        if old is not None and new is not None:
            pair = duration(old), names[0], duration(new), names[-1]
            said.append(SAID["what_if"].format(row.name, *pair))
    one, other = _least(first), _least(last)
    if one is not None and other is not None:
        bounds = duration(one, down=True), names[0], duration(other, down=True), names[-1]
        said.append(SAID["what_if_bound"].format(_whose(found), *bounds))
    return said


def words(found: WhatIf, *, drawn: str = "", rejected: int = 0) -> list[str]:
    """Say under which settings the cases are compared, and what to know about their rows."""
    one = found.cases[0].found
    shared = conditions(one, drawn=drawn, rejected=rejected + found.left_out)
    where = f"clusters {', '.join(dict.fromkeys(case.cluster for case in found.cases))}"
    loads = ", ".join(f"{load:.10g}" for load in dict.fromkeys(case.load for case in found.cases))
    parameters = f"{where}, load {loads}, {rules_in_words(one.rules)}"
    said = [SAID["elastic"]] * any(row.elastic for row in one.rows)
    return [*said, str(replace(shared, parameters=parameters)), *remarks(one, briefly=True)]


def picture(found: WhatIf) -> Figure:
    """Draw the mean completion of each policy over the cases, above what no policy can beat."""
    names, places = labels(found), range(len(found.cases))
    lines: dict[str, list[tuple[int, float]]] = {}
    for k, case in enumerate(found.cases):
        for row in case.found.rows:
            if row.measures["mean_completion"] is not None:
                lines.setdefault(row.name, []).append((k, row.measures["mean_completion"]))
    least = [(k, value) for k in places if (value := _least(found.cases[k])) is not None]
    values = [value for line in (*lines.values(), least) for _, value in line]
    unit, size = unit_for(max(values, default=1.0))
    figure = new_figure(3.9)
    axes = axes_at(figure, 0.7, 0.95, WIDTH - 1.1, 2.4)
    if least:
        xs, ys = zip(*least, strict=True)
        shade = axes.fill_between(xs, 0, [y / size for y in ys], color=TRACK, linewidth=0)
        shade.set_label(f"impossible for any policy{_whose(found)}, certified{_doubt(found)}")
    for k, (name, line) in enumerate(lines.items()):
        xs, ys = zip(*line, strict=True)
        axes.plot(xs, [y / size for y in ys], "o-", color=COLOURS[k % len(COLOURS)], label=name)
    axes.set_ylim(bottom=0)
    axes.set_xticks(list(places), names)
    axes.set_ylabel(f"mean completion ({unit})")
    axes.spines[["left", "bottom"]].set(visible=True, color=INK)
    legend_at(figure, axes.get_legend_handles_labels()[0], 0.6, 0.1)
    headline(figure, "Mean completion on other clusters and at other loads")
    return figure
