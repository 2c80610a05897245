"""One HTML file of a paper's figure: picture, numbers, and what agrees with the print."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from markupsafe import Markup

from . import page
from .chart_data import Data
from .columns import SAID, Column, ColumnTable
from .page import Topic

__all__ = ["write_study_report"]

COLUMNS = (
    Column(lambda one: one.text if one.in_paper else f"{one.text} *", "statement"),
    Column(lambda one: one.instance, "on"),
    Column(lambda one: str(one.verdict), "verdict"),
    Column(lambda one: one.measured, "measured"),
    Column(lambda one: one.why, "why"),
)
MOST_TABLES = 3  # side by side


def write_study_report(path: str | Path, study: Any) -> None:
    """Write a reproduced figure as one self-contained HTML file.

    Parameters
    ----------
    path : path
    study : Study
        As :func:`gangsched.analysis.papers.reproduce.from_rows` gives it.
    """
    topics = [
        Topic("The figure", _figure(study)),
        *_statements(study),
        Topic("Numbers", _tables(study)),
        Topic("Settings", [page.facts(_plain(study.settings))]),
        *_instances(study),
    ]
    page.write_page(path, f"{study.name}: {study.title}", _summary(study), topics)


def _summary(study: Any) -> str:
    count = Counter(str(one.verdict) for one in study.statements if one.in_paper)
    if not count:
        return "Recomputed; there is no statement of the paper to compare it with."
    total = sum(count.values())
    said = ", ".join(f"{number} {verdict}" for verdict, number in count.items())
    return f"{total} statement{'s' * (total != 1)} of the paper about it, judged anew: {said}."


def _plain(values: Mapping[str, Any]) -> dict[str, str]:
    """Settings as text: words as they are, all else as JSON has it."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in values.items()
    }


def _figure(study: Any) -> list[Markup]:
    still = page.picture(study.plot(), "figure", study.title)
    data = _lines(study)
    title = "Measures by policy"
    return [still, *([page.chart("measures", title, data)] if data["views"] else [])]


def _statements(study: Any) -> list[Topic]:
    if not study.statements:
        return []
    table = page.table(ColumnTable(COLUMNS, tuple(study.statements)), name="statements")
    own = [page.muted(SAID["not_in_paper"])] * any(not one.in_paper for one in study.statements)
    return [Topic("What the paper says of it", [table, *own])]


def _tables(study: Any) -> list[Markup]:
    """The tables with their settings; folded where they are many."""
    found = [*study.tables()]
    parts = []
    for k, (instances, (head, *rows)) in enumerate(found, 1):
        numbers = range(1, len(head))
        own = [page.rows(head, rows, numbers=numbers, name=f"{study.name} {k}")]
        if study.conditions is not None:
            own.append(page.muted(study.conditions(study, instances)))
        many = len(found) > MOST_TABLES
        parts += [page.details(", ".join(instances), *own)] if many else own
    return parts


def _instances(study: Any) -> list[Topic]:
    if not study.instances:
        return []
    keys = list(dict.fromkeys(key for facts in study.instances.values() for key in facts))
    rows = [
        [name, *(_text(facts.get(key)) for key in keys)] for name, facts in study.instances.items()
    ]
    return [Topic("Instances", [page.rows(["instance", *keys], rows, name="instances")])]


def _text(value: object) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- the chart -----------------------------------------------------------------------------------


def _lines(study: Any) -> Data:
    """A view for each measure: over the axis on each instance, or over the instances."""
    views, place = [], {name: k for k, name in enumerate(study.instances)}
    for measure, heading in study.measures.items():
        rows = [row for row in study.rows if measure in row.values]
        for instance in study.instances:
            own = [row for row in rows if row.instance == instance and row.x is not None]
            series = _series((row.policy, row.x, row.values[measure]) for row in own)
            if series := [one for one in series if len(one["x"]) > 1]:
                name = heading if len(study.instances) == 1 else f"{heading}: {instance}"
                views.append(_view(name, {"name": study.axis, "unit": ""}, heading, series))
        own = [row for row in rows if row.x is None]
        series = _series((row.policy, place[row.instance], row.values[measure]) for row in own)
        if series := [one for one in series if one["x"]]:
            axis = {"name": "instance", "names": list(study.instances), "unit": ""}
            views.append(_view(heading, axis, heading, series))
    return {"chart": "lines", "of": "measure", "by": "policies", "points": True, "views": views}


def _view(name: str, x: Data, heading: str, series: Sequence[Data]) -> Data:
    return {"name": name, "x": x, "y": {"name": heading}, "series": series}


def _series(values: Iterable[tuple[str, int, float | None]]) -> list[Data]:
    """A line for each policy, of values at places."""
    found: dict[str, dict[int, list[float | None]]] = {}
    for policy, x, value in values:
        found.setdefault(policy, {}).setdefault(x, []).append(value)
    return [_points(policy, dict(sorted(own.items()))) for policy, own in found.items()]


def _points(policy: str, values: Mapping[int, Sequence[float | None]]) -> Data:
    """Means over what there is of each place; none where a value is missing."""
    known = {
        x: fmean([v for v in own if v is not None])
        for x, own in values.items()
        if None not in own
    }  # fmt: skip
    return {"name": policy, "x": list(known), "y": [float(f"{v:.6g}") for v in known.values()]}
