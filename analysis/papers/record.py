"""What a reproduced figure is: every single run, the means over seeds, and claims with verdicts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...instances.io import write_file
from ..show.plots import save, shown_ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Check", "Point", "Reproduction"]

FORMAT = 1


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
class Reproduction:
    """A reproduced figure.

    Parameters
    ----------
    name : str
        As on the command line, ``stem:figN``.
    title : str
    axis : str
        Name of the quantity `Point.x`.
    settings : mapping
        Everything that others need to rebuild the data; ``settings["T"]`` is the horizon.
    policies : mapping of str to bool
        Labels in the order of the legend; False marks those that the paper does not have.
    points : tuple of Point
    checks : tuple of Check
    drawing : callable
        Draws the picture; not part of the data.

    Notes
    -----
    A random policy counts once per seed, with the mean of its repeats. A run that exceeds the
    horizon T has makespan None; in means and checks it counts as T, so that a mean with such runs
    is a lower estimate, shown as "≥".
    """

    name: str
    title: str
    axis: str
    settings: Mapping[str, Any]
    policies: Mapping[str, bool]
    points: tuple[Point, ...]
    checks: tuple[Check, ...]
    drawing: Callable[[Reproduction], Figure] = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))
        object.__setattr__(self, "policies", MappingProxyType(dict(self.policies)))

    @property
    def variants(self) -> tuple[str, ...]:
        """Variants in the order of the data."""
        return tuple(dict.fromkeys(point.variant for point in self.points))

    @property
    def xs(self) -> tuple[int, ...]:
        """Values of the horizontal axis, ascending."""
        return tuple(sorted({point.x for point in self.points}))

    def plot(self) -> Figure:
        """Draw the picture."""
        return self.drawing(self)

    # -- files -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, the points as columns and rows."""
        return {
            "format": FORMAT,
            "name": self.name,
            "title": self.title,
            "axis": self.axis,
            "settings": dict(self.settings),
            "policies": dict(self.policies),
            "checks": [asdict(check) for check in self.checks],
            "means": means(self),
            "columns": [f.name for f in fields(Point)],
            "points": [list(astuple(point)) for point in self.points],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON, one point a line."""
        data = self.to_dict()
        rows = ",\n  ".join(json.dumps(row) for row in data.pop("points"))
        head = json.dumps(data, indent=1, ensure_ascii=False)
        return f'{head[:-2]},\n "points": [\n  {rows}\n ]\n}}\n'

    def to_csv(self) -> str:
        """Return one line for each run, with its certified ratio."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(f.name for f in fields(Point)), "ratio"])
        for point in self.points:
            ratio = "" if point.ratio is None else f"{point.ratio:.6f}"
            writer.writerow([*astuple(point), ratio])
        return file.getvalue()

    def write(self, folder: str | Path) -> tuple[Path, ...]:
        """Write STEM-FIGURE.json, .csv and .png into `folder`, which is made; return the paths."""
        base = Path(folder)
        base.mkdir(parents=True, exist_ok=True)
        name = self.name.replace(":", "-")
        paths = tuple(base / f"{name}.{kind}" for kind in ("json", "csv", "png"))
        write_file(paths[0], self.to_json())
        write_file(paths[1], self.to_csv())
        save(self.plot(), paths[2], dpi=110)
        return paths

    # -- tables ----------------------------------------------------------------------------------

    def to_markdown(self) -> str:
        """Return the means, the checks and the runs beyond T as text for the documentation."""
        if len(self.xs) == 1:
            values = [policy_rows(self)]
        elif len(self.policies) == 1:
            values = [axis_rows(self, self.variants)]
        else:
            values = [axis_rows(self, [variant]) for variant in self.variants]
        exceeded = sum(point.makespan is None for point in self.points)
        end = f"{exceeded} of {len(self.points)} runs exceeded T = {self.settings['T']} slots."
        return "\n\n".join([*map(table, [*values, check_rows(self.checks)]), end]) + "\n"


# --- means ---------------------------------------------------------------------------------------


def per_seed(record: Reproduction, variant: str, policy: str, x: int) -> dict[int, float]:
    """Makespan by seed: the mean of the repeats, runs beyond the horizon counted as T."""
    found: dict[int, list[float]] = {}
    for p in record.points:
        if (p.variant, p.policy, p.x) == (variant, policy, x):
            value = record.settings["T"] if p.makespan is None else p.makespan
            found.setdefault(p.seed, []).append(value)
    return {seed: fmean(values) for seed, values in found.items()}


def mean_makespan(record: Reproduction, variant: str, policy: str, x: int) -> float:
    """Mean makespan over seeds."""
    return fmean(per_seed(record, variant, policy, x).values())


def means(record: Reproduction) -> list[dict[str, Any]]:
    """Means over seeds of each series, one record for each (variant, policy, x)."""
    groups: dict[tuple[str, str, int], list[Point]] = {}
    for point in record.points:
        groups.setdefault((point.variant, point.policy, point.x), []).append(point)
    return [
        {"variant": variant, "policy": policy, "x": x, **_mean(record, points)}
        for (variant, policy, x), points in groups.items()
    ]


def _mean(record: Reproduction, points: Sequence[Point]) -> dict[str, Any]:
    """Every seed has as many repeats as the others, so that one mean over all runs will do."""
    horizon = record.settings["T"]
    spans = [horizon if p.makespan is None else p.makespan for p in points]
    times = [p.mean_completion for p in points if p.mean_completion is not None]
    return {
        "runs": len(points),
        "exceeded": sum(p.makespan is None for p in points),
        "makespan": round(fmean(spans), 6),
        "mean_completion": round(fmean(times), 6) if times else None,
        "bound": round(fmean(p.bound for p in points), 6),
        "ratio": round(fmean(s / p.bound for s, p in zip(spans, points, strict=True)), 6),
        "worst_ratio": round(max(s / p.bound for s, p in zip(spans, points, strict=True)), 6),
    }


# --- tables --------------------------------------------------------------------------------------


def table(rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table whose first row is the head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def policy_rows(record: Reproduction) -> list[list[str]]:
    """One row for each policy: makespan, completion time and certified ratio of each variant."""
    known = {(m["variant"], m["policy"]): m for m in means(record)}
    head = ["policy"]
    for variant in record.variants:
        head += [f"{variant}: makespan", f"{variant}: mean completion", f"{variant}: ratio (worst)"]
    rows = [head]
    for policy, in_paper in record.policies.items():
        row = [policy if in_paper else f"{policy} *"]
        for variant in record.variants:
            m = known[variant, policy]
            time = "–" if m["mean_completion"] is None else f"{m['mean_completion']:.1f}"
            row += [shown(m), time, f"{shown_ratio(m['ratio'])} ({shown_ratio(m['worst_ratio'])})"]
        rows.append(row)
    return rows


def axis_rows(record: Reproduction, variants: Sequence[str]) -> list[list[str]]:
    """One row for each x: makespan and certified ratio of each variant and policy."""
    known = {(m["variant"], m["policy"], m["x"]): m for m in means(record)}
    series = [(v, p) for v in variants for p in record.policies]
    marks = {policy: "" if in_paper else " *" for policy, in_paper in record.policies.items()}
    rows = [[record.axis, *(f"{v}: {p}{marks[p]}" for v, p in series)]]
    for x in record.xs:
        cells = (known[v, p, x] for v, p in series)
        rows.append([str(x), *(f"{shown(m)} ({shown_ratio(m['ratio'])})" for m in cells)])
    return rows


def shown(mean: Mapping[str, Any]) -> str:
    """Write a mean makespan; "≥" where runs exceeded the horizon and count as T."""
    return ("≥ " if mean["exceeded"] else "") + f"{mean['makespan']:.1f}"


def check_rows(checks: Iterable[Check]) -> list[list[str]]:
    """One row for each claim, one column for each variant."""
    claims: dict[str, dict[str, str]] = {}
    for check in checks:
        claim = check.claim if check.in_paper else f"{check.claim} *"
        verdict = ("yes" if check.holds else "**no**") + f": {check.evidence}"
        claims.setdefault(claim, {})[check.variant] = verdict
    variants = list(dict.fromkeys(v for cells in claims.values() for v in cells))
    head = ["claim", *(f"variant {v}" for v in variants)]
    return [
        head,
        *([claim, *(cells.get(v, "") for v in variants)] for claim, cells in claims.items()),
    ]
