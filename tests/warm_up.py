"""Compile what the tests run, before their clock starts: `python tests/warm_up.py`."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor

from gangsched import registry


def warm_up(name: tuple[str, ...]) -> None:
    """Run one solver (problem, name) or policy (name)."""
    if len(name) == 2:
        registry.warm_up(*name)
    else:
        registry.warm_up_policy(*name)


def main() -> int:
    """Run each solver and policy once on something tiny."""
    solvers = [(stem, name) for stem, entry in registry.PROBLEMS.items() for name in entry.solvers]
    names: list[tuple[str, ...]] = [*solvers, *((name,) for name in registry.POLICIES)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(warm_up, names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
