"""Whom jobs wait for, from the instance and what a run says became of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...instances import Instance
from .run import Run


def jobs_ahead(run: Run, instance: Instance[Any]) -> dict[int, list[int]]:
    """Whom jobs that run wait for: those that they name, through others that are rejected."""
    if not any(job.after for job in instance.jobs):
        return {}
    number = {id: j for j, id in enumerate(job.id for job in instance.jobs)}
    found: dict[int, list[int]] = {}
    for j in np.flatnonzero(~run.records.rejected).tolist():
        rest, seen = list(instance.jobs[j].after), set(instance.jobs[j].after)
        for id in rest:  # which grows
            if run.records.rejected[number[id]]:
                more = [other for other in instance.jobs[number[id]].after if other not in seen]
                rest += more
                seen.update(more)
        found[j] = [number[id] for id in rest if not run.records.rejected[number[id]]]
    return found


def due_at(run: Run) -> NDArray[np.int64]:
    """The round from which each job is visible; later than all while others keep it from it."""
    length, due = run.rules.round_length, run.records.release.copy()
    never = np.zeros(due.size, dtype=bool)
    for j, ahead in jobs_ahead(run, run.require_instance()).items():
        ends = run.records.end[ahead]
        due[j], never[j] = max(due[j], ends.max(initial=0)), (ends < 0).any()
    due = -(-due // length) * length
    return np.where(never, 2**62, due)
