"""How exports write numbers, times and durations: read a column as a whole, never row by row."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from statistics import median
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..shipped import shipped
from .trace import EPOCH, MOST_SECONDS, UNKNOWN, Reading
from .tres import gpu_count

_DATA = shipped("gangsched.instances.data", "times")
#: seconds of units, as names of columns and texts of durations have them
UNITS: Mapping[str, float] = MappingProxyType(
    {name: float(unit) for unit, names in _DATA["units"].items() for name in names.split()}
)
SPELLED = {1e-9: "ns", 1e-6: "us", 1e-3: "ms", 1.0: "s", 60.0: "min", 3600.0: "h", 86400.0: "days"}
#: units of numbers that are times since 1970, in seconds
SINCE_1970 = (1.0, 1e-3, 1e-6, 1e-9)
#: such times lie from 1990 to 2100, in seconds since 1970; what is below counts from anywhere
FIRST, LAST = (datetime(year, 1, 1).replace(tzinfo=UTC).timestamp() for year in (1990, 2101))
DAY = 86400.0
#: forms of times besides ISO 8601; one has to fit all values of a column, and only one
FORMS: tuple[str, ...] = tuple(_DATA["forms"])
#: dates of 1990 to 2100 without signs between their parts: 20240131, 202401311345
COMPACT = re.compile(
    r"(199\d|20\d\d|2100)(0[1-9]|1[0-2])([0-2]\d|3[01])(\d\d){0,3}(\.\d+)?", re.ASCII
)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: numbers whose comma may be a point, and those whose commas may stand between thousands
DECIMAL = re.compile(r"[+-]?\d+,\d+", re.ASCII)
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)
#: days, hours, minutes, seconds
CLOCK = re.compile(
    r"(?:(\d+)(?:-| days?,? ))?(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)", re.ASCII | re.IGNORECASE
)
ISO = re.compile(
    r"P(?=.)(?:(N)D)?(?:T(?=.)(?:(N)H)?(?:(N)M)?(?:(N)S)?)?".replace("N", r"\d+(?:\.\d+)?"),
    re.ASCII | re.IGNORECASE,
)
#: of times with dates: whether they have seconds, or at least minutes
SECONDS = re.compile(r"\d:\d\d:\d\d|[T ]\d{6}|^\d{14}", re.ASCII)
MINUTES = re.compile(r"\d:\d\d|[T ]\d{4}|^\d{12}", re.ASCII)
#: so many values that are all multiples of a minute were written to the minute
MANY = 12
#: a slice of a GPU, such as 1g.5gb, which is a fraction of one
SLICE = re.compile(r"(?<![0-9])[1-7]g\.\d+gb", re.ASCII | re.IGNORECASE)
PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)(?:\(s\))?[\s,]*", re.ASCII)
NO_DURATION = "is not a duration such as 90, 1:30:00, 1h 30m or PT90S"


# --- columns -------------------------------------------------------------------------------------


#: of a column; None where a value is unknown
Numbers = Sequence[float | None]


@dataclass(frozen=True)
class TextColumn:
    """The texts of a column with a role."""

    reading: Reading
    role: str
    name: str
    places: Sequence[str]
    texts: Sequence[str]

    @cached_property
    def known(self) -> list[str]:
        """The texts that say something."""
        return [text for text in self.texts if text not in UNKNOWN]

    @cached_property
    def plain(self) -> Sequence[str]:
        """The texts, the numbers among them without commas."""
        commas = {text for text in self.texts if DECIMAL.fullmatch(text) or GROUPED.fullmatch(text)}
        if not commas:
            return self.texts
        point = not all(map(GROUPED.fullmatch, commas))
        thousands = not all(map(DECIMAL.fullmatch, commas)) or any(
            "." in text and NUMBER.fullmatch(text) for text in self.texts
        )
        if not point and not thousands:
            i = next(i for i, text in enumerate(self.texts) if text in commas)
            both = f"{self.texts[i].replace(',', '')} or {self.texts[i].replace(',', '.')}"
            raise self.error(i, f"may be {both}: write it without a comma")
        sign = "." if point else ""
        return [text.replace(",", sign) if text in commas else text for text in self.texts]

    @cached_property
    def numeric(self) -> bool:
        """Whether all known texts are numbers."""
        return all(text in UNKNOWN or NUMBER.fullmatch(text) for text in self.plain)

    @property
    def written_as_duration(self) -> bool:
        """Whether all known texts have units or colons, and are no numbers."""
        return not self.numeric and all(_is_duration(text) for text in self.known)

    @cached_property
    def short(self) -> bool:
        """Whether all known texts are like 12:34: hours and minutes, or minutes and seconds."""
        texts = self.known
        return bool(texts) and all(re.fullmatch(r"\d+:\d\d(\.\d+)?", text) for text in texts)

    def error(self, i: int, rule: str) -> ValueError:
        """Return the exception for a value."""
        return self.reading.error(self.places[i], f"{self.name}={self.texts[i]!r} {rule}")

    def parsed(self, parse: Callable[[str], float], rule: str) -> list[float | None]:
        """Return what a function makes of the texts, None for unknown ones."""
        values: list[float | None] = []
        for i, text in enumerate(self.plain):
            try:
                values.append(None if text in UNKNOWN else parse(text))
            except (ValueError, OverflowError):
                raise self.error(i, rule) from None
        return values

    def numbers(self) -> list[float | None]:
        """Return numbers that are not negative."""
        values = self.parsed(_number, "is not a finite number")
        for i, value in enumerate(values):
            if value is not None and value < 0:
                raise self.error(i, "is below 0")
        return values


@dataclass(frozen=True)
class ExportTable:
    """Texts by column, and where each row stands."""

    reading: Reading
    places: Sequence[str]
    names: Sequence[str]
    texts: Mapping[str, Sequence[str]]

    def column(self, role: str, name: str) -> TextColumn:
        """Return the column that has a role."""
        return TextColumn(self.reading, role, name, self.places, self.texts[name])


def _number(text: str) -> float:
    if not NUMBER.fullmatch(text) or abs(value := float(text)) == float("inf"):
        raise ValueError
    return value


@dataclass(frozen=True)
class NumberColumn:
    """A column as numbers, and in words how they were written."""

    column: TextColumn
    numbers: Numbers
    form: str = ""
    clock: bool = False  #: since 1970, not since anywhere
    utc: bool = False
    unit: float | None = None  #: of mere numbers, where the column tells it
    step: float = 0.0  #: a true value lies less than this from what is written

    @cached_property
    def array(self) -> NDArray[np.float64]:
        """The numbers; not a number where a value is unknown."""
        return np.array([np.nan if n is None else n for n in self.numbers], dtype=np.float64)

    def __str__(self) -> str:
        form = f" ({self.form})" if self.form else ""
        return f"{self.column.role}={self.column.name}{form}"


def words_of(name: str) -> list[str]:
    """The words and numbers of a column's name, in small letters."""
    name = re.sub(
        r"(?<=[a-z])(?=[A-Z])",
        " ",
        re.sub(r"(?i)(gpus?)\s*/", r"\1 per ", re.sub(r"(?i)(?<=gpu)\(s\)", "s", name)),
    )
    return re.findall(r"[a-z]+|\d+", name.lower())


def name_and_unit(name: str) -> tuple[str, float | None]:
    """A column's name in small letters without signs, and the unit at its end."""
    words = words_of(name)
    unit = UNITS.get(words[-1]) if len(words) > 1 else None
    return "".join(words[:-1] if unit else words), unit


# --- times and durations -------------------------------------------------------------------------


def times(column: TextColumn, unit: float | None = None) -> NumberColumn:
    """Read a column of times, all written in one way; `unit`: of numbers, where it is told."""
    unit = unit or name_and_unit(column.name)[1]
    dates = unit in (None, DAY) and column.known and all(map(COMPACT.fullmatch, column.known))
    if column.numeric and not dates:
        return _numeric_times(column, unit)
    form = _form(column)
    parse: Callable[[str], datetime] = _iso if form is None else partial(_parsed, form=form)
    found = [None if text in UNKNOWN else _tried(parse, text) for text in column.texts]
    for i, (text, time) in enumerate(zip(column.texts, found, strict=True)):
        if time is None and text not in UNKNOWN:
            like = f"of the form {_example(form)}" if form else "in ISO 8601"
            raise column.error(i, f"is not a time {like}, as others there are")
        if time is not None and time.year != 1 and not 1900 <= time.year < 3000:
            raise column.error(i, "is not of the years 1900 to 2999")
    zones = {time.tzinfo is not None for time in found if time is not None}
    if len(zones) > 1:
        i = next(i for i, time in enumerate(found) if time is not None and time.tzinfo is None)
        raise column.error(i, "has no time zone, others there have one")
    utc = True in zones
    known = [None if t is None or t.year == 1 else t for t in found]  # the zero time of Go
    local = [t and (t.astimezone(UTC).replace(tzinfo=None) if utc else t) for t in known]
    seconds = [None if t is None else (t - EPOCH).total_seconds() for t in local]
    words = "ISO 8601" if form is None else f"as {_example(form)}"
    words += f", {'in UTC' if utc else 'no zone'}"
    return NumberColumn(column, seconds, words, True, utc, step=_clock_step(column, seconds))


def _clock_step(column: TextColumn, seconds: Numbers) -> float:
    """How finely times with dates were written: to the day, to the minute, or to the second."""
    if any(SECONDS.search(text) for text in column.known):
        return _even_step(seconds)
    return 60.0 if any(MINUTES.search(text) for text in column.known) else DAY


def _even_step(seconds: Numbers) -> float:
    """A minute or an hour where many values are all multiples of it, else nothing."""
    known = {n for n in seconds if n}
    steps = (step for step in (3600.0, 60.0) if all(n % step == 0 for n in known))
    return next(steps, 0.0) if len(known) >= MANY else 0.0


def _decimal_step(texts: Iterable[str], unit: float) -> float:
    """What the last decimal of numbers is worth."""
    digits = (len(text.partition(".")[2]) for text in texts if "e" not in text.lower())
    return unit * 10.0 ** -max(digits, default=9)


def _numeric_times(column: TextColumn, unit: float | None) -> NumberColumn:
    numbers = column.parsed(_number, "is not a finite number")
    middle = median([n for n in numbers if n is not None and n > 0] or [0])
    since = next((unit for unit in SINCE_1970 if FIRST <= middle * unit < LAST), None)
    if since is not None and (unit is None or middle * unit >= FIRST):
        seconds = [None if n is None or n <= 0 else n * since for n in numbers]
        for i, time in enumerate(seconds):
            if time is not None and not FIRST <= time < LAST:
                rule = f"is no time of 1990 to 2100 in {SPELLED[since]} since 1970, as others there"
                raise column.error(i, rule)
        form = f"{SPELLED[since]} since 1970"
        return NumberColumn(column, seconds, form, True, True, since, _even_step(seconds))
    for i, n in enumerate(numbers):
        if n is not None and n < 0:
            raise column.error(i, "is below 0")
        if n is not None and unit is None and n >= FIRST:
            rule = f"is neither below {FIRST:,.0f} s nor a time of 1990 to 2100 since 1970"
            raise column.error(i, rule)
    told, unit = unit, unit or 1.0
    seconds = [None if n is None else n * unit for n in numbers]
    step = max(_decimal_step(column.plain, unit), _even_step(seconds))
    return NumberColumn(column, seconds, SPELLED[unit], unit=told, step=step)


def _iso(text: str) -> datetime:
    if text[4:5] == "-" and (found := _tried(datetime.fromisoformat, text)):
        return found
    text = re.sub(r"(?<=[+-]\d{4}) [A-Z]{3,5}$", "", text)  # as Go has it: +0100 CET
    text = re.sub(r"\s*(UTC|GMT)$", "+00:00", text)
    text = re.sub(r"^(\d{8})(?=\d)", r"\1T", text.removesuffix(".0"))
    return datetime.fromisoformat(re.sub(r"\s+(?=[+-]\d\d:?\d\d$)", "", text))


def _example(form: str) -> str:
    """The last day of January, written in a format of times."""
    return datetime(2024, 1, 31, 13, 45).strftime(form)


def _tried(parse: Callable[[str], datetime], text: str) -> datetime | None:
    try:
        return parse(text)
    except ValueError:
        return None


def _form(column: TextColumn) -> str | None:
    """The form of times that fits most values; None for ISO 8601."""
    known = list(dict.fromkeys(column.known))
    if not known or any(_tried(_iso, text) for text in known[:20]):
        return None
    fits: dict[str, list[datetime | None]] = {}
    for form in FORMS:
        parse = partial(_parsed, form=form)
        if any(_tried(parse, text) for text in known[:20]):
            fits[form] = [_tried(parse, text) for text in known]
    counts = {form: sum(map(bool, found)) for form, found in fits.items()}
    best = [form for form in fits if counts[form] == max(counts.values())]
    i = column.texts.index(known[0])
    if not best:
        raise column.error(i, "is not a time: neither ISO 8601 nor a number")
    if len({tuple(fits[form]) for form in best}) > 1:
        readings = " or ".join(str(fits[form][0]) for form in best)
        raise column.error(i, f"may be {readings}, and so may all others there: write ISO 8601")
    return best[0]


def _parsed(text: str, form: str) -> datetime:
    """A time by a form, perhaps with a zone after it."""
    found = re.fullmatch(r"(.*?)\s*(UTC|GMT|[+-]\d\d:?\d\d)?", text)
    rest, zone = found.groups() if found else (text, None)
    time = datetime.strptime(rest or "", form)
    if zone is None:
        return time
    offset = "+0000" if zone in ("UTC", "GMT") else zone
    return time.replace(tzinfo=datetime.strptime(offset, "%z").tzinfo)


def durations(
    column: TextColumn, spans: Numbers = (), unit: float | None = None, usual: float = 1.0
) -> NumberColumn:
    """Read a column of durations.

    Parameters
    ----------
    column : TextColumn
    spans : sequence of float or None
        What the durations have to agree with, such as end - start, which tells the unit of numbers.
    unit : float, optional
        The unit of numbers where it is given.
    usual : float
        Their unit where nothing tells it.
    """
    if not column.numeric:
        texts = column.known
        if column.short:
            return _short(column, spans)
        found = column.parsed(seconds_of, NO_DURATION)
        step = max([_part_step(text) for text in texts] or [0.0])
        return NumberColumn(column, found, "as written", step=max(step, _even_step(found)))
    numbers, how = column.numbers(), ""
    told = unit = unit or name_and_unit(column.name)[1]
    if unit is None:
        unit = unit_of(numbers, spans)
        how = ", as no unit is told" if unit is None else ", as the times have it"
        unit = unit or usual
    digits = 0 if unit > 1 else 9  # hours and the like were rounded when they were written
    found = [None if n is None else round(n * unit, digits) for n in numbers]
    step = max(_decimal_step(column.plain, unit), _even_step(found))
    return NumberColumn(column, found, f"{SPELLED[unit]}{how}", unit=told, step=step)


def unit_of(numbers: Numbers, spans: Numbers) -> float | None:
    """The unit in which most numbers agree with some spans in seconds, if any."""
    both = [s / n for s, n in zip(spans, numbers, strict=False) if s and n and s > 0]
    ratio = median(both) if both else 0.0
    return next((unit for unit in UNITS.values() if abs(ratio / unit - 1) <= 0.05), None)


def _short(column: TextColumn, spans: Numbers) -> NumberColumn:
    """Durations such as 12:34: of minutes and seconds or of hours and minutes, as the spans say."""
    numbers = column.parsed(seconds_of, NO_DURATION)
    unit = 1.0 if column.name in ("Elapsed", "Timelimit") else unit_of(numbers, spans)  # of Slurm
    if unit not in (1.0, 60.0):
        i = column.texts.index(column.known[0])
        raise column.error(i, "may be minutes and seconds or hours and minutes: write H:M:S")
    found = [None if n is None else n * unit for n in numbers]
    return NumberColumn(column, found, "M:S" if unit == 1.0 else "H:M", step=unit)


def _part_step(text: str) -> float:
    """The smallest part that a duration such as 3d2h names, in seconds."""
    if CLOCK.fullmatch(text) or ISO.fullmatch(text) or NUMBER.fullmatch(text):
        return 0.0
    return min((UNITS[unit] for _, unit in PART.findall(text.lower())), default=0.0)


def _is_duration(text: str) -> bool:
    try:
        return seconds_of(text) >= 0
    except ValueError:
        return False


def seconds_of(text: str) -> float:
    """Seconds of a duration in words or with colons."""
    if found := CLOCK.fullmatch(text) or ISO.fullmatch(text):
        days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if NUMBER.fullmatch(text):
        return _number(text)
    parts = PART.findall(text.lower())
    if not parts or PART.sub("", text.lower()) or not {unit for _, unit in parts} <= set(UNITS):
        raise ValueError
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def gpus(column: TextColumn, ids: Collection[str] = ()) -> Numbers:
    """GPUs of each job: numbers, or resources, of which those numbered `ids` are GPUs."""
    values: list[float | None] = []
    for i, text in enumerate(column.plain):
        try:
            values.append(None if text in UNKNOWN else _gpus(text, ids))
        except ValueError as error:
            raise column.error(i, str(error)) from None
    return values


def _gpus(text: str, ids: Collection[str]) -> float:
    if not NUMBER.fullmatch(text):
        return 0.5 if SLICE.search(text) else gpu_count(text, ids) or 0
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError("is below 0" if value < 0 else "is not a finite number")
    return value


# --- columns side by side -------------------------------------------------------------------------

#: roles of times
CLOCKS = ("submit", "start", "end")


def check_clocks(reading: Reading, clocks: Sequence[NumberColumn]) -> None:
    """Refuse columns of times that cannot be compared."""
    known = [values for values in clocks if any(n is not None for n in values.numbers)]
    known.sort(key=lambda values: CLOCKS.index(values.column.role))
    if len({(values.clock, values.utc) for values in known}) > 1:
        raise ValueError(f"{reading.path}: {'; '.join(map(str, known))}: times on different clocks")


def possible(found: NumberColumn) -> NumberColumn:
    """Refuse numbers that no job can have."""
    for i, value in enumerate(found.numbers):
        if value is not None and abs(value) > MOST_SECONDS:
            raise found.column.error(i, f"is above {MOST_SECONDS:,} s")
    return found


def less(later: NumberColumn | None, sooner: NumberColumn | None) -> NDArray[np.float64] | None:
    """Differences of two columns of times."""
    return later.array - sooner.array if later and sooner else None


def listed(values: NDArray[np.float64] | None) -> list[float | None]:
    """An array as numbers that may be unknown."""
    return [] if values is None else [None if n != n else float(n) for n in values]


def missing(table: ExportTable, roles: Sequence[str]) -> ValueError:
    """Return the exception for roles that no column has."""
    words = {"duration": "duration (or start and end)"}
    listed = ", ".join(words.get(role, role) for role in roles)
    return ValueError(
        f"{table.reading.path}: no column for {listed}; found: {', '.join(table.names)}; name "
        "them, such as columns='submit=...,gpus=...'"
    )
