"""Columns: what is shown of each row, how it is called, counted and written; once, for every view.

A table of solvers or of policies is a :class:`ColumnTable` of the columns below: the screen,
reports, CSV, JSON, DataFrames and pictures all read these. To add a column, add a row here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import partial
from math import ceil, floor
from typing import Any

from ...formulations.problem import Goal, Sense
from ...instances.display import frame, table_html

UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}


# --- how numbers are written ---------------------------------------------------------------------


def duration(seconds: float, *, down: bool = False) -> str:
    """Write a time in the unit that suits it, in three digits; down where it is the least.

    >>> duration(45), duration(2070), duration(3600), duration(86_500), duration(1_461_050)
    ('45 s', '34.5 min', '1 h', '1.00 d', '16.9 d')
    >>> duration(14_719), duration(14_719, down=True)
    ('4.09 h', '4.08 h')
    """
    unit = next((u for u, size in reversed(UNITS.items()) if seconds >= size), "s")
    value = seconds / UNITS[unit]
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


def rounded_up(value: float) -> float:
    """Round up to four decimals: a ratio is said to be at most this."""
    return ceil(round(value * 1e4, 6)) / 1e4


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
    return f"{rounded_up(value):.4f}"


ten, six = "{:.10g}".format, "{:.6g}".format  #: so many digits at most
tenth, thousandth = "{:.1f}".format, "{:.3f}".format
hundredth = "{:,.2f}".format
percent = "{:.1%}".format
whole = "{:,.10g}".format  #: a count or a sum, without decimals where it has none
milliseconds, centiseconds = "{:.3f} s".format, "{:.2f} s".format  #: of solvers, of policies

#: whose texts have the unit in them
WITH_UNIT = (duration, milliseconds, centiseconds, percent)


# --- columns and tables --------------------------------------------------------------------------


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
        Number to text.

    Examples
    --------
    >>> column = Column("wait", "mean\nwait", "s", -1, duration)
    >>> column.text({"wait": 90}), column.text({}), column.title
    ('1.50 min', '-', 'mean wait')
    """

    measure: str | Callable[[Any], Any]
    heading: str
    unit: str = ""
    better: int = 0
    write: Callable[[Any], str] = str

    @property
    def key(self) -> str:
        """Name in files and DataFrames."""
        if isinstance(self.measure, str):
            return self.measure
        return self._plain.replace(" ", "_")

    @property
    def title(self) -> str:
        """Heading on one line, with the unit where the cells do not have it."""
        return f"{self._plain} ({self.unit})" if self._bare else self._plain

    @property
    def _plain(self) -> str:
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
        """Return what a row has, as it is written."""
        value = self.value(row)
        return dash if value is None else self.write(value)


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
    limits : tuple of mapping of str to str
        Texts by column, of what bounds all rows; below those.

    Examples
    --------
    >>> columns = Column("name", "job"), Column("wait", "wait", "s", -1, duration)
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
    limits: tuple[Mapping[str, str], ...] = ()

    def texts(self, dash: str = "-") -> list[list[str]]:
        """Return the cells of the rows."""
        return [[column.text(row, dash) for column in self.columns] for row in self.rows]

    def below(self) -> tuple[list[list[str]], list[list[str]]]:
        """Return the cells of what failed, and of the limits; as many as there are columns."""
        rest = [""] * (len(self.columns) - 2)
        failed = [[name, text, *rest] for name, text in self.failed]
        return failed, [[limit.get(c.key, "") for c in self.columns] for limit in self.limits]

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


# --- solvers on one problem ----------------------------------------------------------------------

#: {goal}, {unit} and {time} are those of the problem; its own measures stand before the last three
COMPARED: tuple[Column, ...] = (
    Column("solver", "solver"),
    Column("objective", "{goal}", "{unit}", 0, ten),
    Column("bound", "bound", "{unit}", 0, ten),
    Column("ratio", "certified\nratio", "", -1, ratio),
    Column("mean_completion", "mean\ncompletion", "{time}", -1, tenth),
    Column("runtime", "runtime", "s", -1, milliseconds),
    Column("standing", "status"),
)
LAST = ("mean_completion", "runtime", "standing")
#: measures of problems by name: of markets, and of revenue
MEASURED: tuple[Column, ...] = (
    Column("least gain", "least gain", "", 1, six),
    Column("mean gain", "mean gain", "", 1, six),
    Column("without losses", "without losses", "", 1, six),
    Column("ideal revenue", "ideal revenue", "", 1, six),
    Column("fairness variance", "fairness variance", "", -1, six),
    Column("workers in use", "workers in use", "", 1, six),
    Column("makespan", "makespan", "{time}", -1, six),
)


def compared(
    goal: Goal, sense: Sense, measures: Iterable[str], rows: Sequence[Any]
) -> tuple[Column, ...]:
    """Return the columns of solvers; times only where rows have them."""
    known = {column.key: column for column in MEASURED}
    own = [known.get(name, Column(name, name, "", 0, six)) for name in measures]
    early = [column for column in COMPARED if column.key not in LAST]
    late = [column for column in COMPARED if column.key in LAST]
    words = {"goal": goal.name, "unit": goal.unit, "time": goal.time}
    proven = {"bound": partial(shown_bound, sense=sense)}
    return tuple(
        replace(
            column,
            heading=column.heading.format(**words),
            unit=column.unit.format(**words),
            write=proven.get(column.key, column.write),
        )
        for column in (*early, *own, *late)
        if column.key != "mean_completion" or any(column.value(row) is not None for row in rows)
    )


# --- policies on one instance --------------------------------------------------------------------

POLICY = Column("name", "policy")
STARRED = Column(lambda row: f"{row.name} *" if row.elastic else row.name, "policy")

JOBS = Section(
    "Jobs",
    (),
    (
        Column("finished", "complete", "", 0, whole),
        Column("unfinished", "not complete", "", 0, whole),
        Column("rejected", "rejected", "", 0, whole),
    ),
)
TIME = Section(
    "Time",
    (
        Column("mean_completion", "mean\ncompletion", "s", -1, duration),
        Column("flow_ratio", "certified\nratio", "", -1, ratio),
        Column("p99_completion", "99 %\ncompletion", "s", -1, duration),
        Column("mean_slowdown", "mean\nslowdown", "", -1, hundredth),
        Column("makespan", "makespan", "s", -1, duration),
        Column("makespan_ratio", "certified\nratio", "", -1, ratio),
    ),
    (
        Column("median_completion", "median completion", "s", -1, duration),
        Column("mean_wait", "mean wait", "s", -1, duration),
        Column("p99_slowdown", "99 %\nslowdown", "", -1, hundredth),
    ),
)
FAIRNESS = Section(
    "Fairness and use",
    (
        Column("min_user_rho", "least rho\nof users", "", 1, thousandth),
        Column("days_below", "user-days\nbelow 1", "", -1, percent),
        Column("min_service_rho", "least rho\nof jobs", "", 1, thousandth),
        Column("loss", "jobs with\nrho < 0.95", "", -1, percent),
        Column("utilisation", "GPUs\nin use", "", 1, percent),
        Column("preemptions", "preemp-\ntions", "", 0, whole),
        Column("runtime", "runtime", "s", 0, centiseconds),
    ),
    (
        Column("hours_below", "user-hours below 1", "", -1, percent),
        Column("jain_users", "Jain's index of users", "", 1, thousandth),
        Column("min_rho", "least rho of jobs, with overhead", "", 1, thousandth),
        Column("mean_rho", "mean rho of jobs", "", 0, thousandth),
        Column("loss_release", "jobs with rho < 0.95, from submission", "", -1, percent),
        Column("jain_jobs", "Jain's index of jobs", "", 1, thousandth),
        Column("utilisation_end", "GPUs in use to the end", "", 1, percent),
    ),
)
DEADLINES = Section(
    "Deadlines",
    (
        Column("weighted_miss", "weighted\nmiss rate", "", -1, percent),
        Column("reward", "reward", "", 1, whole),
        Column("reward_ratio", "certified\nratio", "", -1, ratio),
        Column("in_time", "complete by\nlast deadline", "", 1, percent),
        Column("best_effort_latency", "best-effort\nlatency", "s", -1, duration),
        Column("slo_suspensions", "suspensions\nper SLO job", "", 0, hundredth),
        Column("best_effort_suspensions", "suspensions per\nbest-effort job", "", 0, hundredth),
    ),
    (
        Column("weighted_miss_own", "weighted miss rate, all jobs alike", "", -1, percent),
        Column("strict_miss", "strict deadlines missed", "", -1, percent),
        Column("profiling_wait", "submission to the end of profiling", "s", 0, duration),
        Column("run_times", "run times, if used"),
    ),
)
#: of each user, where there are several GPU models
USERS: tuple[Column, ...] = (
    Column("gpus", "held", "GPUs", 0, hundredth),
    Column("work", "work", "GPUs", 0, hundredth),
    Column("share", "over fair share", "", 1, hundredth),
)
SECTIONS = (JOBS, DEADLINES, TIME, FAIRNESS)


def column(key: str) -> Column:
    """Return a column of policies by its key.

    >>> column("mean_slowdown").title
    'mean slowdown'
    """
    return next(c for section in SECTIONS for c in section.every if c.key == key)
