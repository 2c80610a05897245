"""What a figure of measures is: rows by instance, policy and x, and statements judged by them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...instances.io import write_file
from ..show.columns import shown_ratio
from ..show.conditions import Conditions
from ..show.plots import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 1
RATIO = "ratio"  #: name of a measure that is a certified ratio
NOTHING = "–"
OF_SEED = re.compile(r" \[(\d+)\]$")  #: the end of a name by :func:`per_seed`
Values = dict[str, float | None]
ConditionsOf = Callable[[Any, Sequence[str]], Conditions]


class Agreement(StrEnum):
    """Whether what was measured agrees with what is printed."""

    AGREES = "agrees"
    PARTLY = "agrees so far"
    DIFFERS = "does not"
    OPEN = "not comparable"

    @classmethod
    def of(cls, holds: bool) -> Agreement:
        """Return AGREES or DIFFERS.

        Parameters
        ----------
        holds : bool
        """
        return cls.AGREES if holds else cls.DIFFERS


@dataclass(frozen=True, slots=True)
class FigureRow:
    """The measures of one point of a figure.

    Parameters
    ----------
    instance : str
    policy : str
        Label in the figure.
    x : int or None
        The quantity that the figure varies, None where it varies none.
    values : mapping of str to float or None
        Measures by name; None where a measure is not defined.
    curve : tuple of float
        What the figure draws beside numbers, at the study's `levels`.
    """

    instance: str
    policy: str
    x: int | None
    values: Mapping[str, float | None]
    curve: tuple[float, ...] = ()

    @classmethod
    def of(cls, row: Sequence[Any]) -> FigureRow:
        """Return a row from a list, as it stands in files: the curve can be left out.

        Parameters
        ----------
        row : sequence
        """
        instance, policy, x, values, *curve = row
        return cls(instance, policy, x, values, tuple(curve[0]) if curve else ())


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the paper about a figure, judged by its data.

    Parameters
    ----------
    text : str
    instance : str
        On which it is judged.
    verdict : Agreement
    measured : str
        The numbers that decide it.
    why : str
        Where it does not simply agree: because of what, as far as the data tell.
    in_paper : bool
        False for a statement that the paper does not make.
    """

    text: str
    instance: str
    verdict: Agreement
    measured: str
    why: str = ""
    in_paper: bool = True

    def __str__(self) -> str:
        mark = "**" if self.verdict in (Agreement.DIFFERS, Agreement.OPEN) else ""
        because = "" if self.verdict is Agreement.PARTLY else "because "
        why = f", {because}{self.why}" if self.why else ""
        return f"{mark}{self.verdict}{mark}{why}: {self.measured}"


@dataclass(frozen=True, kw_only=True)
class Study:
    """A reproduced figure of measures.

    Parameters
    ----------
    name : str
        As on the command line, ``stem:figN``.
    title : str
    axis : str
        Name of the quantity `FigureRow.x`; empty where the figure varies none.
    measures : mapping of str to str
        What the tables show of the values: name, and its heading with the unit.
    settings : mapping
        Everything that others need to make the data again.
    instances : mapping of str to mapping
        Facts about each instance, in the order of the figure.
    levels : tuple of float
        Where the curves of the rows are given.
    rows : tuple of FigureRow
    statements : tuple of Statement
    drawing : callable
        Draws the picture; not part of the data.
    conditions : callable (Study, instances) -> Conditions, optional
        Under which settings the table of these instances compares.
    said : mapping of str to str or mapping
        By a key of its own, what a statement says; with the fields of a :class:`Statement` that are
        the same whatever the data.
    """

    name: str
    title: str
    axis: str
    measures: Mapping[str, str]
    settings: Mapping[str, Any]
    instances: Mapping[str, Mapping[str, Any]]
    levels: tuple[float, ...]
    rows: tuple[FigureRow, ...]
    statements: tuple[Statement, ...] = ()
    drawing: Callable[[Study], Figure] = field(compare=False, repr=False)
    conditions: ConditionsOf | None = field(default=None, compare=False, repr=False)
    said: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("measures", "settings", "instances"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels in the order of the data."""
        return tuple(dict.fromkeys(row.policy for row in self.rows))

    def row(self, instance: str, policy: str, x: int | None = None) -> FigureRow | None:
        """Return the row of a point; None where there is none.

        Parameters
        ----------
        instance : str
        policy : str
        x : int, optional
        """
        place = instance, policy, x
        found = (row for row in self.rows if (row.instance, row.policy, row.x) == place)
        return next(found, None)

    def value(self, instance: str, policy: str, measure: str, x: int | None = None) -> float | None:
        """Return one measure; None where it is not defined or the row is not there.

        Parameters
        ----------
        instance : str
        policy : str
        measure : str
        x : int, optional
        """
        row = self.row(instance, policy, x)
        return None if row is None else row.values.get(measure)

    def xs(self, instance: str) -> tuple[int, ...]:
        """Return the values of the axis on an instance, ascending.

        Parameters
        ----------
        instance : str
        """
        return tuple(sorted({r.x for r in self.rows if r.instance == instance and r.x is not None}))

    def plot(self) -> Figure:
        """Draw the picture."""
        return self.drawing(self)

    def seeds(self, instances: Iterable[str]) -> list[int]:
        """Return the seeds of which there are values.

        Parameters
        ----------
        instances : iterable of str
        """
        own = {*instances}
        names = {name for row in self.rows if row.instance in own for name in row.values}
        return sorted({int(found[1]) for name in names if (found := OF_SEED.search(name))})

    def has(self, instances: Iterable[str], measure: str) -> bool:
        """Return whether a measure is shown of some of the instances.

        Parameters
        ----------
        instances : iterable of str
        measure : str
        """
        own = {*instances}
        found = any(measure in row.values for row in self.rows if row.instance in own)
        return found and measure in self.measures

    # -- files -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "format": FORMAT,
            "name": self.name,
            "title": self.title,
            "axis": self.axis,
            "measures": dict(self.measures),
            "settings": dict(self.settings),
            "instances": {name: dict(facts) for name, facts in self.instances.items()},
            "levels": list(self.levels),
            "statements": [asdict(statement) for statement in self.statements],
            "rows": [[r.instance, r.policy, r.x, dict(r.values), list(r.curve)] for r in self.rows],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON, one row of its last list a line."""
        data = self.to_dict()
        last, found = data.popitem()
        rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in found)
        head = json.dumps(data, indent=1, ensure_ascii=False)
        return f'{head[:-2]},\n "{last}": [\n  {rows}\n ]\n}}\n'

    def to_csv(self) -> str:
        """Return one line for each number; those of curves are named ``at LEVEL``."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["instance", "policy", "x", "measure", "value"])
        for row in self.rows:
            place = [row.instance, row.policy, "" if row.x is None else row.x]
            writer.writerows([*place, name, value] for name, value in row.values.items())
            curve = zip(self.levels, row.curve, strict=True) if row.curve else ()
            writer.writerows([*place, f"at {level:g}", value] for level, value in curve)
        return file.getvalue()

    def write(self, folder: str | Path) -> tuple[Path, ...]:
        """Write STEM-FIGURE.json, .csv and .png into a folder, which is made; return the paths.

        Parameters
        ----------
        folder : str or Path
        """
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
        """Return the measures and the statements as tables for the documentation."""
        tables = [self._with_conditions(rows, instances) for instances, rows in self.tables()]
        return "\n\n".join([*tables, markdown_table(list(statement_rows(self.statements)))]) + "\n"

    def _with_conditions(self, rows: Sequence[Sequence[str]], instances: Sequence[str]) -> str:
        """A table of these instances, and its settings below."""
        below = "" if self.conditions is None else f"\n\n{self.conditions(self, instances)}"
        return markdown_table(rows) + below

    def tables(self) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
        """Yield the instances and the rows of each table: one an instance, or one for all."""
        first, *more = self.measures
        if more in ([], [RATIO]) and self.axis:
            together = len(self.policies) == 1
            for own in [[*self.instances]] if together else [[name] for name in self.instances]:
                yield own, self._by_x(own)
            return
        if more in ([], [RATIO]):
            ratio = f" ({self.measures[RATIO]})" if more else ""
            head = [f"policy: {self.measures[first]}{ratio}", *self.instances]
            body = [[p, *(self._cell(i, p) for i in self.instances)] for p in self.policies]
            yield [*self.instances], [head, *body]
            return
        for instance in self.instances:
            rows = [row for row in self.rows if row.instance == instance]
            rows = [row for row in rows if any(name in row.values for name in self.measures)]
            axis = [self.axis] if any(row.x is not None for row in rows) else []
            names = [name for name in self.measures if any(name in row.values for row in rows)]
            body = []
            for row in rows:
                place = [f"{row.x}" if row.x is not None else "–"] if axis else []
                cells = [self.written(name, row) for name in names]
                body.append([row.policy, *place, *cells])
            heads = [self.measures[name] for name in names]
            yield [instance], [[f"{instance}: policy", *axis, *heads], *body]

    def written(self, name: str, row: FigureRow) -> str:
        """Write a measure of a row in a table.

        Parameters
        ----------
        name : str
        row : FigureRow
        """
        return shown_measure(name, row.values.get(name))

    def _by_x(self, instances: Sequence[str]) -> list[list[str]]:
        """One row for each x, one column for each policy on each instance."""
        series = [(i, p) for i in instances for p in self.policies]
        body = [[str(x), *(self._cell(i, p, x) for i, p in series)] for x in self.xs(instances[0])]
        return [[self.axis, *(f"{i}: {p}" for i, p in series)], *body]

    def _cell(self, instance: str, policy: str, x: int | None = None) -> str:
        """The measure of a policy where it is the only one, with its ratio behind it."""
        row = self.row(instance, policy, x) or FigureRow(instance, policy, x, {})
        first, *more = (self.written(name, row) for name in self.measures)
        return first + "".join(f" ({ratio})" for ratio in more if ratio != NOTHING)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table whose first row is the head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def shown_measure(name: str, value: float | None) -> str:
    """Write a measure; a certified ratio is rounded up.

    Examples
    --------
    >>> shown_measure("miss", 1.23451), shown_measure("ratio", 1.23451)
    ('1.23', '1.235')
    """
    return shown_ratio(value) if name == RATIO and value is not None else shown(value)


def shown(value: float | None) -> str:
    """Write a measure with three or more digits.

    Examples
    --------
    >>> shown(None), shown(0.0), shown(0.012345), shown(1.5), shown(20981.4)
    ('–', '0', '0.0123', '1.50', '20,981')
    """
    if value is None:
        return NOTHING
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return (
        f"{value:.4f}" if abs(value) < 0.1 else f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}"
    )


def statement_rows(statements: Iterable[Statement]) -> Iterator[list[str]]:
    """Yield one row for each statement, one column for each instance."""
    texts: dict[str, dict[str, str]] = {}
    for s in statements:
        text = s.text if s.in_paper else f"{s.text} *"
        texts.setdefault(text, {})[s.instance] = str(s)
    instances: Sequence[str] = list(dict.fromkeys(i for cells in texts.values() for i in cells))
    yield ["statement", *instances]
    for text, cells in texts.items():
        yield [text, *(cells.get(instance, "") for instance in instances)]


def per_seed(measure: str, seed: int) -> str:
    """Return the name of the value of one seed."""
    return f"{measure} [{seed}]"


def short(value: float | None) -> float | None:
    """Return a number with six digits.

    Examples
    --------
    >>> short(1 / 3), short(None)
    (0.333333, None)
    """
    return None if value is None else float(f"{value:.6g}")
