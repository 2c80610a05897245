"""Compile what the tests run, before their clock starts: `python tests/warm_up.py`."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import gangsched as gs
from gangsched import registry


def instances() -> list[gs.Instance[Any]]:
    """Two users, two GPU models, deadlines: what bounds and best known schedules differ in."""
    jobs = [gs.Job(id=i, gpus=1, work=60, user=i) for i in "uvw"]
    speeds = {"old": 1.0, "new": 2.0}
    fast = [gs.Job(id=i, gpus=1, work=60, speeds=speeds) for i in "ab"]
    dated = [gs.DeadlineJob(id=i, gpus=1, work=60, rewards=[(70, 1.0)]) for i in "ab"]
    pool, users = gs.Cluster.of_sizes([2]), [gs.User(i) for i in "uvw"]
    models = gs.Cluster([gs.Node("n", 1, "new"), gs.Node("o", 1, "old")])
    return [gs.Instance(pool, jobs, users), gs.Instance(models, fast), gs.Instance(pool, dated)]


def warm_up(name: tuple[str, ...]) -> None:
    """Run one solver (problem, name), policy (name), or bounds (nothing)."""
    if not name:
        for instance in instances():
            gs.replay(instance, ["fifo"], effort="standard")
    elif len(name) == 2:
        registry.warm_up(*name)
    else:
        registry.warm_up_policy(*name)


def main() -> int:
    """Run each solver and policy, and the bounds, once on something tiny."""
    solvers = [(stem, name) for stem, entry in registry.PROBLEMS.items() for name in entry.solvers]
    names: list[tuple[str, ...]] = [(), *solvers, *((name,) for name in registry.POLICIES)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(warm_up, names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
