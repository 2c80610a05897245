"""Tables in text files: what readers of CSV and its relatives share."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from ..io import text_lines
from .trace import UNKNOWN, Reading, plain


class TextRow:
    """One row of a table: its fields by column name, and where it stands.

    Parameters
    ----------
    reading : Reading
        Makes the exceptions.
    place : str
        Such as ``"line 7"``.
    fields : dict of str to str

    Examples
    --------
    >>> row = TextRow(Reading("log.csv"), "line 2", {"gpus": "-1"})
    >>> row.count("gpus")
    Traceback (most recent call last):
        ...
    ValueError: log.csv: line 2: gpus=-1 is below 0
    """

    __slots__ = ("_fields", "_reading", "place")

    def __init__(self, reading: Reading, place: str, fields: dict[str, str]) -> None:
        self.place = place
        self._reading = reading
        self._fields = fields

    def __getitem__(self, name: str) -> str:
        return self._fields[name]

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def error(self, text: str) -> ValueError:
        """Return the exception for this row."""
        return self._reading.error(self.place, text)

    def text(self, name: str, rule: str) -> str:
        """Return a field that may not be empty; `rule` says why."""
        if not self[name]:
            raise self.error(f"{name}='' is empty, {rule}")
        return self[name]

    def one_of(self, name: str, known: Sequence[str]) -> None:
        """Refuse a field that is not one of these."""
        if self[name] not in known:
            raise self.error(f"{name}={self[name]!r} is not one of {', '.join(map(repr, known))}")

    def id(self, name: str) -> str:
        """Return a field that identifies the row."""
        return self._reading.unique(self.place, name, self.text(name, "every row has one"))

    def number(self, name: str) -> float | None:
        """Return a number that is not negative; None where it is unknown."""
        text = self[name]
        if text in UNKNOWN:
            return None
        value = self._reading.finite(self.place, name, text)
        if value < 0:
            raise self.error(f"{name}={text} is below 0")
        return value

    def count(self, name: str) -> int:
        """Return an integer that is not negative."""
        try:
            value = int(plain(self[name]))
        except ValueError:
            raise self.error(f"{name}={self[name]!r} is not an integer") from None
        if value < 0:
            raise self.error(f"{name}={self[name]} is below 0")
        return value

    def finite(self, name: str, text: str) -> float:
        """Return the number in a part of a field."""
        return self._reading.finite(self.place, name, text)


class TextTable:
    """The rows below a line of column names.

    Parameters
    ----------
    reading : Reading
        Its `rows` counts what is read.
    *columns : str
        Columns that must be there, once each, in any order.
    delimiter : str
    quoted : bool
        Whether fields may be in quotation marks.

    Raises
    ------
    ValueError
        If the file is empty or a column is missing; while iterating, if a row does not have as
        many fields as the header.
    """

    def __init__(
        self, reading: Reading, *columns: str, delimiter: str = ",", quoted: bool = True
    ) -> None:
        self._reading = reading
        self._lines = lines(reading, delimiter=delimiter, quoted=quoted)
        self._place, self.names = next(self._lines)
        for name in columns:
            self.need(name)

    def need(self, *choices: str) -> str:
        """Return the first of some column names that the table has; it must occur once."""
        name = next((name for name in choices if name in self.names), choices[0])
        if self.names.count(name) != 1:
            times = f"occurs {self.names.count(name)} times, not once"
            also = f" (nor is there {', '.join(choices[1:])})" if choices[1:] else ""
            raise self._reading.error(self._place, f"column {name!r} {times}{also}")
        return name

    def __iter__(self) -> Iterator[TextRow]:
        reading, names, count = self._reading, self.names, len(self.names)
        for place, fields in self._lines:
            if len(fields) != count:
                raise reading.error(place, f"{len(fields)} fields, not the {count} of the header")
            reading.rows += 1
            yield TextRow(reading, place, dict(zip(names, fields, strict=True)))


def lines(
    reading: Reading, *, delimiter: str = ",", quoted: bool = True
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield place and fields of every line that is not empty; refuse a file without any."""
    text = text_lines(reading.path)
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    found = csv.reader(text, delimiter=delimiter, quoting=quoting, strict=True)  # type: ignore[arg-type]
    empty = True
    try:
        for fields in found:
            if fields:
                empty = False
                yield f"line {found.line_num}", list(map(str.strip, fields))
    except csv.Error as error:
        raise reading.error(f"line {found.line_num}", f"not CSV: {error}") from None
    if empty:
        raise reading.error("line 1", "the file is empty")
