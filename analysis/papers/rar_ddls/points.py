"""Makespans with their bounds: the form of the data of Figs. 4 to 7 of Yu et al."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from functools import cached_property
from statistics import fmean
from typing import Any

from ...show.columns import shown_ratio
from ..study import Agreement, FigureRow, Study, markdown_table

FORMAT = 1
OWN_POLICIES = (
    "LS in SJF order", "FF in SJF order", "backfilling, longest first",
    "backfilling, least GPU time first", "laminar", "LBSGF alone, lambda 8",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """One run of one policy.

    Parameters
    ----------
    variant : str
        Variant of the workload.
    seed : int
        Of the cluster and the workload.
    x : int
        The quantity that the figure varies.
    policy : str
        Label in the figure.
    repeat : int
        Number of the repeat of a random policy, 0 for others.
    bound : int
        Verified lower bound of the makespan of this instance.
    makespan : int or None
        None where the run exceeds the horizon.
    mean_completion : float or None
        Mean completion time of the jobs, rounded to six decimals.

    Examples
    --------
    >>> Point("A", 0, 20, "LS", 0, 300, 450, 180.5).ratio
    1.5
    """

    variant: str
    seed: int
    x: int
    policy: str
    repeat: int
    bound: int
    makespan: int | None
    mean_completion: float | None

    @property
    def ratio(self) -> float | None:
        """Certified ratio makespan / bound, None without a makespan."""
        return None if self.makespan is None or not self.bound else self.makespan / self.bound

    @property
    def row(self) -> FigureRow:
        """The point as a row of a study."""
        names = ("seed", "repeat", "bound", "makespan", "mean_completion")
        values = {name: getattr(self, name) for name in names}
        return FigureRow(self.variant, self.policy, self.x, values)


@dataclass(frozen=True, slots=True)
class Check:
    """One claim about a figure, decided by its data.

    Parameters
    ----------
    claim : str
    variant : str
    holds : bool
    evidence : str
        The numbers that decide it.
    in_paper : bool
        False for a claim that the paper does not make.
    """

    claim: str
    variant: str
    holds: bool
    evidence: str
    in_paper: bool = True


@dataclass(frozen=True, kw_only=True)
class Reproduction(Study):
    """A reproduced figure whose rows are single runs; its data are points, and means over seeds.

    Notes
    -----
    A random policy counts once per seed, with the mean of its repeats. A run that exceeds the
    horizon T has makespan None; in means and checks it counts as T, so that a mean with such runs
    is a lower estimate, shown as "≥".
    """

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The rows, one a run."""
        return tuple(
            Point(row.instance, x=row.x, policy=row.policy, **row.values)  # type: ignore[arg-type]
            for row in self.rows
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """The statements, which hold or do not."""
        return tuple(
            Check(s.text, s.instance, s.verdict is Agreement.AGREES, s.measured, s.in_paper)
            for s in self.statements
        )

    @property
    def in_paper(self) -> dict[str, bool]:
        """The labels of the policies, and whether the paper has them."""
        return {policy: policy not in OWN_POLICIES for policy in self.policies}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, the points as columns and rows."""
        return {
            "format": FORMAT,
            "name": self.name,
            "title": self.title,
            "axis": self.axis,
            "settings": dict(self.settings),
            "policies": self.in_paper,
            "checks": [asdict(check) for check in self.checks],
            "means": means(self),
            "columns": [f.name for f in fields(Point)],
            "points": [list(astuple(point)) for point in self.points],
        }

    def to_csv(self) -> str:
        """Return one line for each run, with its certified ratio."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(f.name for f in fields(Point)), "ratio"])
        for point in self.points:
            ratio = "" if point.ratio is None else f"{point.ratio:.6f}"
            writer.writerow([*astuple(point), ratio])
        return file.getvalue()

    def to_markdown(self) -> str:
        """Return the means, the checks and the runs beyond T as text for the documentation."""
        exceeded = sum(point.makespan is None for point in self.points)
        end = f"{exceeded} of {len(self.rows)} runs exceeded T = {self.settings['T']} slots."
        tables = [self._refereed(rows, variants) for variants, rows in self.tables()]
        return "\n\n".join([*tables, markdown_table(_check_rows(self.checks)), end]) + "\n"

    def tables(self) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
        """Yield the instances of each table, and its rows below a head."""
        if len(self.xs(next(iter(self.instances)))) == 1:
            contentions: dict[str, list[str]] = {}
            for variant in self.instances:
                contentions.setdefault(variant.partition(", ")[2], []).append(variant)
            yield from ((own, _policy_rows(self, own)) for own in contentions.values())
        elif len(self.policies) == 1:
            yield [*self.instances], _axis_rows(self, [*self.instances])
        else:
            yield from (([variant], _axis_rows(self, [variant])) for variant in self.instances)


# --- means ---------------------------------------------------------------------------------------


def by_seed(
    study: Reproduction, variant: str, policy: str, x: int | None = None, metric: str = "makespan"
) -> dict[int, float]:
    """A metric by seed: the mean of the repeats, makespans beyond the horizon counted as T."""
    found: dict[int, list[float]] = {}
    for p in study.points:
        value = getattr(p, metric)
        if value is None and metric == "makespan":
            value = study.settings["T"]
        if (p.variant, p.policy) == (variant, policy) and x in (None, p.x) and value is not None:
            found.setdefault(p.seed, []).append(value)
    return {seed: fmean(values) for seed, values in found.items()}


def mean_makespan(study: Reproduction, variant: str, policy: str, x: int) -> float:
    """Mean makespan over seeds."""
    return fmean(by_seed(study, variant, policy, x).values())


def means(study: Reproduction) -> list[dict[str, Any]]:
    """Means over seeds of each series, one record for each (variant, policy, x)."""
    groups: dict[tuple[str, str, int], list[Point]] = {}
    for point in study.points:
        groups.setdefault((point.variant, point.policy, point.x), []).append(point)
    return [
        {"variant": variant, "policy": policy, "x": x, **_mean(study.settings["T"], points)}
        for (variant, policy, x), points in groups.items()
    ]


def _mean(horizon: int, points: Sequence[Point]) -> dict[str, Any]:
    """Every seed has as many repeats as the others, so that one mean over all runs will do."""
    spans = [horizon if p.makespan is None else p.makespan for p in points]
    times = [p.mean_completion for p in points if p.mean_completion is not None]
    ratios = [span / p.bound for span, p in zip(spans, points, strict=True)]
    return {
        "runs": len(points),
        "exceeded": sum(p.makespan is None for p in points),
        "makespan": round(fmean(spans), 6),
        "mean_completion": round(fmean(times), 6) if times else None,
        "bound": round(fmean(p.bound for p in points), 6),
        "ratio": round(fmean(ratios), 6),
        "worst_ratio": round(max(ratios), 6),
    }


# --- tables --------------------------------------------------------------------------------------


def _marked(study: Reproduction) -> dict[str, str]:
    """Labels of policies, with a star where the paper does not have them."""
    return {policy: policy if known else f"{policy} *" for policy, known in study.in_paper.items()}


def _policy_rows(study: Reproduction, variants: Sequence[str]) -> list[list[str]]:
    """One row for each policy: makespan, completion time and certified ratio of each variant."""
    known = {(m["variant"], m["policy"]): m for m in means(study)}
    heads = ("makespan", "mean completion", "ratio (worst)")
    rows = [["policy", *(f"{variant}: {text}" for variant in variants for text in heads)]]
    for policy, label in _marked(study).items():
        row = [label]
        for variant in variants:
            m = known[variant, policy]
            time = "–" if m["mean_completion"] is None else f"{m['mean_completion']:.1f}"
            row += [_shown(m), time, f"{shown_ratio(m['ratio'])} ({shown_ratio(m['worst_ratio'])})"]
        rows.append(row)
    return rows


def _axis_rows(study: Reproduction, variants: Sequence[str]) -> list[list[str]]:
    """One row for each x: makespan and certified ratio of each variant and policy."""
    known = {(m["variant"], m["policy"], m["x"]): m for m in means(study)}
    marked = _marked(study)
    series = [(v, p) for v in variants for p in marked]
    rows = [[study.axis, *(f"{v}: {marked[p]}" for v, p in series)]]
    for x in study.xs(variants[0]):
        cells = (known[v, p, x] for v, p in series)
        rows.append([str(x), *(f"{_shown(m)} ({shown_ratio(m['ratio'])})" for m in cells)])
    return rows


def _shown(mean: dict[str, Any]) -> str:
    """A mean makespan; "≥" where runs exceeded the horizon and count as T."""
    return ("≥ " if mean["exceeded"] else "") + f"{mean['makespan']:.1f}"


def _check_rows(checks: Sequence[Check]) -> list[list[str]]:
    """One row for each claim, one column for each variant."""
    claims: dict[str, dict[str, str]] = {}
    for check in checks:
        claim = check.claim if check.in_paper else f"{check.claim} *"
        verdict = ("yes" if check.holds else "**no**") + f": {check.evidence}"
        claims.setdefault(claim, {})[check.variant] = verdict
    variants = list(dict.fromkeys(v for cells in claims.values() for v in cells))
    head = ["claim", *variants]
    return [head, *([c, *(cells.get(v, "") for v in variants)] for c, cells in claims.items())]
