"""Objects of JSON: what is in them, as the texts that a table would have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..shipped import shipped

Record = dict[str, Any]
#: texts by column, or the reason why there is no job
Row = Mapping[str, str] | str
#: by format and column, where the values stand
PATHS: Mapping[str, Mapping[str, Sequence[str]]]
PATHS = shipped("gangsched.instances.data", "json_columns")


def at(value: Any, *names: str) -> Any:
    """Return what is under names, one in another; None where it is not there.

    Examples
    --------
    >>> at({"a": {"b": 5}}, "a", "b"), at({"a": 5}, "a", "b")
    (5, None)
    """
    for name in names:
        if isinstance(value, list) and name == "0":
            value = value[0] if value else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def row_of(format: str, item: Record) -> dict[str, str]:
    """Return the texts that stand at the paths of a format, by column."""
    return {
        column: text_of(found(*(at(item, *path.split("/")) for path in paths)))
        for column, paths in PATHS[format].items()
    }


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
    """Return a value as a table of text would have it; a number of Slurm may say that it is none.

    Examples
    --------
    >>> text_of(None), text_of(1.5), text_of(True), text_of([1])
    ('', '1.5', 'true', '[...]')
    >>> text_of({"set": True, "number": 30}), text_of({"set": False, "number": 0})
    ('30', '')
    """
    if isinstance(value, dict) and "number" in value:
        known = value.get("set", True) and not value.get("infinite", False)
        value = value["number"] if known else None
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "{...}" if isinstance(value, dict) else "[...]"
    return str(value).strip()
