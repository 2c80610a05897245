"""How many cores this process may use, which are seldom all of the machine."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

#: where Linux tells which control groups a process is in, and what these allow
GROUPS, LIMITS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def cores() -> int:
    """Return how many cores this process may use, by its affinity and its control groups.

    Part of a core counts as one.

    Examples
    --------
    >>> 1 <= cores() <= os.cpu_count()
    True
    """
    if hasattr(os, "sched_getaffinity"):
        there = len(os.sched_getaffinity(0))
    else:
        there = os.cpu_count() or 1
    return max(1, min([there, *map(math.ceil, _quotas())]))


def _quotas() -> Iterator[float]:
    """Cores that each control group of this process allows, of those with a limit."""
    try:
        lines = GROUPS.read_text("utf-8").splitlines()
    except OSError:  # another system
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds and "cpu" not in kinds.split(","):
            continue
        top = LIMITS / "cpu" if kinds else LIMITS
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):  # the group itself may be another container's
            with suppress(OSError, ValueError, ZeroDivisionError):
                yield _quota(folder, version=1 if kinds else 2)
            if folder == top:
                break


def _quota(folder: Path, version: int) -> float:
    """Cores of one group; ValueError where it has no limit."""
    if version == 2:
        quota, period = (folder / "cpu.max").read_text("utf-8").split()
    else:
        quota, period = (
            (folder / f"cpu.cfs_{name}_us").read_text("utf-8") for name in ("quota", "period")
        )
    if quota == "max" or int(quota) < 0:
        raise ValueError("no limit")
    return int(quota) / int(period)
