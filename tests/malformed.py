"""Files that are wrong in one place: tables of the places, what stands there, and the refusals."""

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

DROP = object()
TABLES = Path(__file__).resolve().parent / "tables"


def table(name: str) -> dict[str, Any]:
    """A table of cases from its file."""
    return tomllib.loads((TABLES / f"{name}.toml").read_text("utf-8"))


def cases(table: str, *first: object) -> list[Any]:
    """Rows of a dotted place, its value in JSON or the word DROP, and a message, after `first`."""
    found = []
    for row in filter(None, map(str.strip, table.splitlines())):
        place, rest = row.split(" ", 1)
        value, end = (DROP, 4) if rest[:4] == "DROP" else json.JSONDecoder().raw_decode(rest)
        found.append(pytest.param(*first, place, value, rest[end + 1 :], id=row[:50]))
    return found


def objects(name: str) -> list[Any]:
    """Of a table of blocks: the block's name, an object in JSON, and how a refusal begins."""
    found = []
    for key, block in table(name).items():
        for row in filter(None, block.splitlines()):
            given, end = json.JSONDecoder().raw_decode(row)
            found.append(pytest.param(key, given, row[end + 1 :], id=f"{key} {row[:60]}"))
    return found


#: files of every kind, written by hand and not by the code under test
FILES: dict[str, dict[str, Any]] = {n: json.loads(text) for n, text in table("files").items()}


def changed(data: Any, place: str, value: Any) -> Any:
    """A copy of a file's content with one place replaced or dropped."""
    inner = data = copy.deepcopy(data)
    *path, last = (int(step) if step.isdecimal() else step for step in place.split("."))
    for step in path:
        inner = inner[step]  # type: ignore[index]
    if value is DROP:
        del inner[last]  # type: ignore[arg-type]
    else:
        inner[last] = value  # type: ignore[index]
    return data
