"""Objects of JSON: what is in them, as the texts that a table would have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Record = dict[str, Any]
#: texts by column, or the reason why there is no job
Row = Mapping[str, str] | str


def at(value: Any, *names: str) -> Any:
    """Return what is under names, one in another; None where it is not there.

    Examples
    --------
    >>> at({"a": {"b": 5}}, "a", "b"), at({"a": 5}, "a", "b")
    (5, None)
    """
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def entries(value: Any) -> list[Any]:
    """Return the entries of a list; none of anything else."""
    return value if isinstance(value, list) else []


def fields(value: Any) -> Record:
    """Return the fields of an object; none of anything else."""
    return value if isinstance(value, dict) else {}


def found(*values: Any) -> Any:
    """Return the first value that says something."""
    return next((value for value in values if value not in (None, "", [], {})), None)


def text_of(value: Any) -> str:
    """Return a value as a table of text would have it.

    Examples
    --------
    >>> text_of(None), text_of(1.5), text_of(True), text_of([1])
    ('', '1.5', 'true', '[...]')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "{...}" if isinstance(value, dict) else "[...]"
    return str(value).strip()
