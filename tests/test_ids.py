"""No test of 2e519fe is lost unnoticed: all are collected, or listed with a reason."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"


def patterns(page: str) -> list[str]:
    """What the rows of the table name."""
    return re.findall(r"^\| `([^`]+)` \| \S", page, re.MULTILINE)


def missing(before: set[str], now: set[str], listed: list[str]) -> list[str]:
    """Tests that are gone and not listed, and patterns under which nothing is gone."""
    gone = before - now
    shapes = {pattern: pattern.replace("[", "[[]") for pattern in listed}
    lost = [name for name in gone if not any(fnmatchcase(name, s) for s in shapes.values())]
    idle = [p for p, shape in shapes.items() if not any(fnmatchcase(n, shape) for n in gone)]
    return sorted(lost) + idle


@pytest.mark.slow
def test_every_earlier_test_is_collected_or_listed() -> None:
    before = set(gzip.decompress((GOLDEN / "ids.txt.gz").read_bytes()).decode().splitlines())
    assert len(before) == 8393
    words = ["-m", "pytest", "--collect-only", "-q", "-m", "not exhaustive"]
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=own, capture_output=True, text=True, check=True
    )
    now = {line for line in done.stdout.splitlines() if "::" in line}
    assert missing(before, now, patterns((GOLDEN / "ids.md").read_text("utf-8"))) == []


def test_a_lost_test_and_an_idle_line_are_seen() -> None:
    page = "| tests | reason |\n| --- | --- |\n| `a.py::t[*]` | moved |\n| `b.py::*` | never |\n"
    listed = patterns(page)
    assert listed == ["a.py::t[*]", "b.py::*"]
    before = {"a.py::t[1]", "a.py::t[2]", "a.py::u", "c.py::t"}
    assert missing(before, {"c.py::t"}, listed) == ["a.py::u", "b.py::*"]
    assert missing(before, before, listed) == listed
