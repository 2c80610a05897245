"""`python -m gangsched.verify PROBLEM BOUND`: whether a bound holds.

PROBLEM is a file of a problem or of an entry of the library; BOUND one of a bound, of what `solve`
wrote, or the entry again. Exit code 0: it holds; 1: it is refused; 2: a file cannot be read.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from .check import shown, verify
from .fields import BadFile, Refused


def main(args: list[str]) -> int:
    """Say in one line whether the bound in the second file holds for the problem in the first."""
    if len(args) != 2:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    try:
        problem, found = map(_read, args)
        bound = found.get("bound", found) if isinstance(found, dict) else found
        proven = verify(problem, bound)
    except Refused as error:
        sys.stdout.write(f"refused: {error}\n")
        return 1
    except (BadFile, OSError, RecursionError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    method = bound.get("method", "no method")
    sys.stdout.write(f"holds: {bound['value']} ({method}); proven: {shown(proven)}\n")
    return 0


def _read(name: str) -> Any:
    raw = Path(name).read_bytes()
    try:
        return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except ValueError as error:
        raise BadFile(f"{name}: not JSON: {error}") from None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
