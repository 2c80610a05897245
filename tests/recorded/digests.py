"""Entries of many cases, of each of which a check sum is kept and what can be read at a glance."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from .plain import plain
from .table import ENTRIES, Entry

#: names of the entries that golden/recording-wide.json holds
WIDE: list[str] = []
DIGITS = 9  #: of a float that is summed up
READ = 20  #: characters that are kept of a text


def wide(function: Callable[[Path], Mapping[str, Any]]) -> Entry:
    """Put a function among the entries, which gives things by case: each becomes one line."""

    def summed_up(folder: Path) -> Any:
        return {case: digest(found, folder) for case, found in function(folder).items()}

    WIDE.append(function.__name__)
    ENTRIES[function.__name__] = summed_up
    return summed_up


def digest(found: Any, folder: Path) -> str:
    """The first digits of a hash of anything that can be recorded, and its first words."""
    data = rounded(plain(found, str(folder)))
    text = json.dumps(data, sort_keys=True)
    shown = " ".join(" ".join(words(data)).split())[:READ]
    return f"{sha256(text.encode()).hexdigest()[:12]} {shown}".strip()


def rounded(data: Any) -> Any:
    """Floats of so many digits, and none that is minus zero."""
    if isinstance(data, float):
        return float(f"{data:.{DIGITS}g}") + 0.0
    if isinstance(data, list):
        return [rounded(part) for part in data]
    return {key: rounded(part) for key, part in data.items()} if isinstance(data, dict) else data


def words(data: Any) -> list[str]:
    """The texts and numbers on top of a list, or the data itself."""
    cells = data if isinstance(data, list) else [data]
    known = [cell for cell in cells if isinstance(cell, str | int | float)]
    return [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in known]
