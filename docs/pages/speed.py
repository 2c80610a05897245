"""CPU times of what is meant to be faster, and of all policies, by pairs of tests/benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path

from pages import ROOT, put


def write(page: Path) -> None:
    sys.path.append(str(ROOT / "tests"))
    from benchmarks.cases import table

    put(page, "speed", table())
