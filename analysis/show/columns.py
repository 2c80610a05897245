"""Columns: what is shown of each row, how it is called, counted and written; once, for every view.

A table of solvers or of policies is a :class:`ColumnTable` of the columns below: the screen,
reports, CSV, JSON, DataFrames and pictures all read these. To add a column, add it to columns.toml.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import partial
from math import ceil, floor, isfinite, log10
from typing import Any, NamedTuple

from ...formulations.problem import Goal, Sense
from ...instances.display import frame, table_html
from ...instances.shipped import shipped

UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
LONG = 10_000  #: more of a unit is no longer read with ease


# --- how numbers are written ---------------------------------------------------------------------


def unit_for(seconds: float, least: int = 1) -> tuple[str, int]:
    """Return the longest unit of which a time has so many, and its seconds; else seconds.

    >>> unit_for(7200), unit_for(7200, 3)
    (('h', 3600), ('min', 60))
    """
    return next((u for u in reversed(UNITS.items()) if seconds >= least * u[1]), ("s", 1))


def duration(seconds: float, *, down: bool = False) -> str:
    """Write a time in the unit that suits it, in three digits; down where it is the least.

    >>> duration(45), duration(2070), duration(3600), duration(86_500), duration(1_461_050)
    ('45 s', '34.5 min', '1 h', '1.00 d', '16.9 d')
    >>> duration(14_719), duration(14_719, down=True)
    ('4.09 h', '4.08 h')
    """
    unit, size = unit_for(seconds)
    value = seconds / size
    exact = unit == "s" or value >= 100 or value == int(value)
    digits = 0 if exact else 1 if value >= 10 else 2
    if down:
        value = floored(value, digits)
    return f"{value:.{digits}f} {unit}"


def floored(value: float, digits: int) -> float:
    """Round down to so many digits after the point, but for the last bits of a sum of floats.

    >>> floored(1.0949, 3), floored(0.99999999999999, 2)
    (1.094, 1.0)
    """
    size = 10.0**digits
    return floor(round(value * size, 9)) / size


def shown_ratio(value: float) -> str:
    """Write a ratio with three decimals, rounded up: it is said to be "at most" this.

    >>> shown_ratio(1.0), shown_ratio(1.20001), shown_ratio(394 / 298)
    ('1.000', '1.201', '1.323')
    """
    return f"{ceil(round(value * 1000, 6)) / 1000:.3f}"


def shown_bound(value: float, sense: Sense, *, digits: int = 10) -> str:
    """Write a bound so that what is said is proven: a lower one rounded down, an upper one up.

    >>> shown_bound(646, Sense.MIN), shown_bound(159.00000000001, Sense.MAX)
    ('646', '159.0000001')
    >>> shown_bound(2 / 3, Sense.MIN), shown_bound(2 / 3, Sense.MAX, digits=3)
    ('0.6666666666', '0.667')
    """
    if value == int(value):
        return str(int(value))
    way = Context(prec=digits, rounding=ROUND_FLOOR if sense is Sense.MIN else ROUND_CEILING)
    return f"{way.create_decimal(Decimal(repr(float(value)))).normalize(way):f}"


def ratio(value: float) -> str:
    """Write a certified ratio in a table: four decimals, rounded up."""
    return f"{ceil(round(value * 1e4, 6)) / 1e4:.4f}"


def fixed(
    value: float, way: int = 0, *, places: int, comma: str = "", size: float = 1, unit: str = ""
) -> str:
    """Write a number with so many decimals; rounded up where `way` is 1, down where it is -1.

    >>> fixed(2 / 3, places=2), fixed(2 / 3, -1, places=2), fixed(5430, places=1, size=60, unit="m")
    ('0.67', '0.66', '90.5m')
    """
    number = value / size
    if way:
        number = -floored(-number, places) if way > 0 else floored(number, places)
    return f"{number:{comma}.{places}f}{unit}"


@dataclass(frozen=True, slots=True)
class Decimals:
    """Writes the numbers of a column with equally many decimals: as many as they need.

    Parameters
    ----------
    digits : int
        That the largest number has at most, unless there are more before the point.
    comma : str
        Between thousands.
    way : int
        1 rounds up, -1 down, 0 to the nearest.

    Examples
    --------
    >>> values = 130, 133.75, 130.6930693
    >>> list(map(Decimals(6).of(values), values)), Decimals(6)(133.75)
    (['130.000', '133.750', '130.693'], '133.75')
    """

    digits: int
    comma: str = ""
    way: int = 0

    def of(self, values: Iterable[float]) -> Callable[..., str]:
        """Return what writes each of these numbers, and may be told the way to round."""
        known = [value for value in values if isfinite(value)]
        largest = max(map(abs, known), default=0)
        room = self.digits - (1 + floor(log10(largest)) if largest else 1)
        places = max(0, min(room, max(map(self._needed, known), default=0)))
        return lambda value, way=self.way: fixed(value, way, places=places, comma=self.comma)

    def _needed(self, value: float) -> int:
        """Decimals of a number in so many digits."""
        rounding = {1: ROUND_CEILING, -1: ROUND_FLOOR}.get(self.way, ROUND_HALF_EVEN)
        way = Context(prec=self.digits, rounding=rounding)
        number = way.create_decimal(Decimal(repr(value))).normalize(way)
        return 0 if value == int(value) else -int(number.as_tuple().exponent)

    def __call__(self, value: float) -> str:
        """Write a number by itself."""
        return self.of([value])(value)


class Durations:
    """Writes the seconds of a column in one unit: the one that suits the shortest.

    In a longer one where the longest would have five digits before the point. That has three digits
    or more, and no rounding changes the shortest by more than 1 %.

    Examples
    --------
    >>> values = 1_461_050, 88_000, 45_200
    >>> write = Durations().of(values)
    >>> list(map(write, values)), write(45_200, -1), Durations()(90)
    (['405.8 h', '24.4 h', '12.6 h'], '12.5 h', '1.50 min')
    """

    def of(self, values: Iterable[float]) -> Callable[..., str]:
        """Return what writes each of these durations, and may be told the way to round."""
        known = [value for value in values if value > 0]
        low, high = min(known, default=0), max(known, default=0)
        unit, size = "s", 1
        for name, length in UNITS.items():
            if low >= length or high >= LONG * size:
                unit, size = name, length
        longest = 2 if high < 10 * size else 1 if high < 100 * size else 0
        shortest = 2 if low < 5 * size else 1 if low < 50 * size else 0
        places = max(longest, shortest)
        if size == 1 or all(value % size == 0 for value in known):
            places = 0
        return partial(fixed, places=places, comma=",", size=size, unit=f" {unit}")

    def __call__(self, seconds: float) -> str:
        """Write a duration by itself."""
        return self.of([seconds])(seconds)


ten, six = Decimals(10), Decimals(6)
whole = Decimals(10, ",")  #: a count or a sum
lasting = Durations()
tenth, thousandth = "{:.1f}".format, "{:.3f}".format
hundredth = partial(fixed, places=2, comma=",")
percent = "{:.1%}".format
at_least = partial(fixed, way=-1, places=2, size=0.01, unit="%")  #: a share, rounded down
milliseconds, centiseconds = "{:.3f} s".format, "{:.2f} s".format  #: of solvers, of policies

#: whose texts have the unit in them
WITH_UNIT = (lasting, duration, milliseconds, centiseconds, percent)


# --- columns and tables --------------------------------------------------------------------------


class Limit(NamedTuple):
    """What bounds all rows of a column that is written together; rounded so that it holds."""

    sign: str  #: "≥", "≤", or none
    value: float

    def text(self, write: Callable[..., str]) -> str:
        """Return it as the column writes it."""
        way = {"≥": -1, "≤": 1}.get(self.sign, 0)
        return f"{self.sign} {write(self.value, way)}".strip()


@dataclass(frozen=True, slots=True)
class Column:
    r"""One thing that is shown of each row.

    Parameters
    ----------
    measure : str or callable
        Name among the `values` of a row, or a function of the row; None where a row has none.
    heading : str
        A line break says where it may be broken, a hyphen before it where a word may be.
    unit : str
        Of the number; empty where it has none.
    better : int
        1 where more is better, -1 where less is, 0 where neither is.
    write : callable
        Number to text; what has a method `of`, as :class:`Decimals`, writes a column together.
    meaning : str
        What is measured.
    word : str
        The word of the heading that has a footnote where it first occurs: that of :data:`WORDS`,
        or the meaning.

    Examples
    --------
    >>> column = Column("wait", "mean\nwait", "s", -1, lasting)
    >>> column.text({"wait": 90}), column.text({}), column.title
    ('1.50 min', '-', 'mean wait')
    """

    measure: str | Callable[[Any], Any]
    heading: str
    unit: str = ""
    better: int = 0
    write: Callable[[Any], str] = str
    meaning: str = ""
    word: str = ""

    @property
    def key(self) -> str:
        """Name in files and DataFrames."""
        if isinstance(self.measure, str):
            return self.measure
        return self.plain.replace(" ", "_")

    @property
    def title(self) -> str:
        """Heading on one line, with the unit where the cells do not have it."""
        return f"{self.plain} ({self.unit})" if self._bare else self.plain

    @property
    def plain(self) -> str:
        """Heading on one line."""
        return self.heading.replace("-\n", "").replace("\n", " ")

    @property
    def lines(self) -> str:
        """Heading on several short lines."""
        text = self.heading if "\n" in self.heading else self.heading.replace(" ", "\n")
        return f"{text}\n({self.unit})" if self._bare else text

    @property
    def _bare(self) -> bool:
        return bool(self.unit) and self.write not in WITH_UNIT

    @property
    def number(self) -> bool:
        """Whether it holds numbers, which stand on the right."""
        return self.write is not str

    def value(self, row: Any) -> Any:
        """Return what a row has: an object with `values`, or the values themselves."""
        if not isinstance(self.measure, str):
            return self.measure(row)
        values: Mapping[str, Any] = row if isinstance(row, Mapping) else row.values
        return values.get(self.measure)

    def text(self, row: Any, dash: str = "-") -> str:
        """Return what a row has, as it is written by itself."""
        return self.texts([row], dash)[0][0]

    def texts(
        self, rows: Iterable[Any], dash: str = "-", limits: Sequence[Limit | str] = ()
    ) -> tuple[list[str], list[str]]:
        """Return what rows have, and what bounds them, with equally many decimals."""
        values = [self.value(row) for row in rows]
        together = getattr(self.write, "of", None)
        write = self.write
        if together is not None:
            known = [value for value in values if value is not None]
            write = together([*known, *(one.value for one in limits if isinstance(one, Limit))])
        return (
            [dash if value is None else write(value) for value in values],
            [one if isinstance(one, str) else one.text(write) for one in limits],
        )


@dataclass(frozen=True, slots=True)
class Section:
    """Columns that belong together.

    Parameters
    ----------
    title : str
    columns : tuple of Column
        On screens, in reports and in files.
    more : tuple of Column
        In reports and files only.
    """

    title: str
    columns: tuple[Column, ...]
    more: tuple[Column, ...] = ()

    @property
    def every(self) -> tuple[Column, ...]:
        """All columns."""
        return (*self.columns, *self.more)


@dataclass(frozen=True, slots=True)
class ColumnTable:
    r"""Columns and the rows that they are shown of.

    Parameters
    ----------
    columns : tuple of Column
        The first one names a row.
    rows : tuple
        Objects with `values`, or mappings.
    failed : tuple of (name, text)
        What stands below them without numbers.
    limits : tuple of mapping of str to Limit or str
        By column, what bounds all rows; below those.

    Examples
    --------
    >>> columns = Column("name", "job"), Column("wait", "wait", "s", -1, lasting)
    >>> table = ColumnTable(columns, ({"name": "a", "wait": 90}, {"name": "long", "wait": None}))
    >>> print(table)
    job       wait
    a     1.50 min
    long         -
    >>> table.csv()
    'name,wait\na,90\nlong,\n'
    """

    columns: tuple[Column, ...]
    rows: tuple[Any, ...]
    failed: tuple[tuple[str, str], ...] = ()
    limits: tuple[Mapping[str, Limit | str], ...] = ()

    def texts(self, dash: str = "-") -> list[list[str]]:
        """Return the cells of the rows."""
        return self._cells(dash)[0]

    def below(self) -> tuple[list[list[str]], list[list[str]]]:
        """Return the cells of what failed, and of the limits; as many as there are columns."""
        rest = [""] * (len(self.columns) - 2)
        return [[name, text, *rest] for name, text in self.failed], self._cells()[1]

    def _cells(self, dash: str = "-") -> tuple[list[list[str]], list[list[str]]]:
        """The cells of the rows, and of the limits."""
        found = [
            column.texts(self.rows, dash, [limit.get(column.key, "") for limit in self.limits])
            for column in self.columns
        ]
        rows, limits = (zip(*part, strict=True) for part in zip(*found, strict=True))
        return list(map(list, rows)), list(map(list, limits))

    def records(self) -> list[dict[str, Any]]:
        """Return the rows by key, for JSON."""
        return [{c.key: c.value(row) for c in self.columns} for row in self.rows]

    def csv(self) -> str:
        """Return the rows as CSV, under the keys; nothing where there is no value."""
        file = io.StringIO()
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow([c.key for c in self.columns])
        lines.writerows([c.value(row) for c in self.columns] for row in self.rows)
        return file.getvalue()

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame; its `attrs` have the units by column."""
        made = frame({c.key: [c.value(row) for row in self.rows] for c in self.columns})
        made.attrs["units"] = {c.key: c.unit for c in self.columns if c.unit}
        return made

    def _repr_html_(self) -> str:
        failed, limits = self.below()
        return table_html([c.title for c in self.columns], [*self.texts(), *failed, *limits])

    def __str__(self) -> str:
        failed, limits = self.below()
        lines = [[c.title for c in self.columns], *self.texts(), *failed, *limits]
        wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                text.rjust(width) if column.number else text.ljust(width)
                for column, text, width in zip(self.columns, line, wide, strict=True)
            ).rstrip()
            for line in lines
        )


def computed(columns: Iterable[Column], row: Any) -> dict[str, Any]:
    """Return what columns compute of a row, which is not among its values."""
    return {c.key: c.value(row) for c in columns if not isinstance(c.measure, str)}


# --- words ---------------------------------------------------------------------------------------

#: sentences below tables and in reports, by name
SAID = shipped("gangsched.analysis.show", "words")
#: words of several headings, in short
WORDS: Mapping[str, str] = SAID["words"]
WAYS = {-1: "less is better", 1: "more is better"}


def footnotes(tables: Iterable[ColumnTable]) -> list[str]:
    """Explain each word where it first stands above a number.

    >>> table = ColumnTable((Column("x", "least rho", word="rho"),), ({"x": 0.9},))
    >>> footnotes([table, table])
    ['rho: GPU time that was got over the fair share (Ye et al. 2022)']
    """
    found = {
        c.word: WORDS.get(c.word, c.meaning)
        for table in tables
        for c in table.columns
        if c.word and any(c.value(row) is not None for row in table.rows)
    }
    return [f"{word}: {text}" for word, text in found.items()]


def doubted(column: Column) -> Column:
    """Return the column, which says that it is in doubt where it has certified ratios."""
    certified = column.key == "ratio" or column.key.endswith("_ratio")
    return replace(column, heading=f"{column.heading}\n(in doubt)") if certified else column


def explained(columns: Iterable[Column]) -> list[str]:
    r"""Say of each column what is measured, in which unit, and which way is better.

    >>> explained([Column("wait", "mean\nwait", "s", -1, lasting, "without GPUs")])
    ['mean wait (s, less is better): without GPUs']
    """
    known = [c for c in columns if c.meaning]
    facts = [", ".join(filter(None, (c.unit, WAYS.get(c.better, "")))) for c in known]
    lines = [
        f"{c.plain}{f' ({fact})' * bool(fact)}: {c.meaning}"
        for c, fact in zip(known, facts, strict=True)
    ]
    words = dict.fromkeys(c.word for c in known if c.word in WORDS)
    return list(dict.fromkeys([*lines, *(f"{word}: {WORDS[word]}" for word in words)]))


# --- the columns that there are -------------------------------------------------------------------

WRITERS: Mapping[str, Callable[[Any], str]] = {
    "text": str, "ten": ten, "six": six, "six_grouped": Decimals(6, ","), "whole": whole,
    "lasting": lasting, "tenth": tenth, "hundredth": hundredth, "thousandth": thousandth,
    "percent": percent, "at_least": at_least, "ratio": ratio, "milliseconds": milliseconds,
    "centiseconds": centiseconds,
}  # fmt: skip
_FILE = shipped("gangsched.analysis.show", "columns")


def _columns(rows: Iterable[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Columns by their fields in the file."""
    return tuple(Column(**{**row, "write": WRITERS[row.get("write", "text")]}) for row in rows)


def _section(name: str) -> Section:
    """A section by its name in the file."""
    told = _FILE[name]
    return Section(told["title"], _columns(told["columns"]), _columns(told["more"]))


#: of solvers on one problem; its own measures stand before the last three
COMPARED = _columns(_FILE["compared"])
LAST = ("mean_completion", "runtime", "standing")
#: measures of problems by name: of markets, and of revenue
MEASURED = _columns(_FILE["measured"])
#: of each user, where there are several GPU models
USERS = _columns(_FILE["users"])
#: of policies on one instance
POLICY = Column("name", "policy")
STARRED = Column(lambda row: f"{row.name} *" if row.elastic else row.name, "policy")
JOBS, DEADLINES, TIME = map(_section, ("jobs", "deadlines", "time"))
FAIRNESS, SHARING, REVENUE = map(_section, ("fairness", "sharing", "revenue"))
SECTIONS = (JOBS, DEADLINES, TIME, FAIRNESS, SHARING, REVENUE)
#: keys of what is shown first, of jobs with "deadlines" and of others ("times")
ANSWERS: Mapping[str, Sequence[str]] = _FILE["answers"]


def compared(
    goal: Goal, sense: Sense, measures: Iterable[str], rows: Sequence[Any]
) -> tuple[Column, ...]:
    """Return the columns of solvers; times only where rows have them."""
    known = {column.key: column for column in MEASURED}
    own = [known.get(name, Column(name, name, "", 0, six)) for name in measures]
    early = [column for column in COMPARED if column.key not in LAST]
    late = [column for column in COMPARED if column.key in LAST]
    words = {"goal": goal.name, "unit": goal.unit, "time": goal.time}
    proven = {"bound": replace(ten, way=-1 if sense is Sense.MIN else 1)}
    better = {"objective": -1 if sense is Sense.MIN else 1}
    return tuple(
        replace(
            column,
            heading=column.heading.format(**words),
            unit=column.unit.format(**words),
            better=better.get(column.key, column.better),
            write=proven.get(column.key, column.write),
        )
        for column in (*early, *own, *late)
        if column.key != "mean_completion" or any(column.value(row) is not None for row in rows)
    )


def column(key: str) -> Column:
    """Return a column of policies by its key.

    >>> column("mean_slowdown").title
    'mean slowdown'
    """
    return next(c for section in SECTIONS for c in section.every if c.key == key)
