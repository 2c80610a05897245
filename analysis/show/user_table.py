"""What each user or queue got and waited for, by policy: who waits most, and why."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import numpy as np

from ..comparing.replayed import Replay
from ..driving.metrics.jobs import completion_time, slowdown, wait_time
from ..driving.run import Run
from .columns import SAID, Column, ColumnTable, lasting, whole

MOST_EXPLAINED = 2_000  #: waits of each policy, the longest, of which reasons are looked for
MOST_USERS = 12  #: of each policy on the screen, those with the longest mean waits
By = Literal["user", "queue"]


def _hours(value: float) -> str:
    return f"{value:,.1f}"


def _times(value: float) -> str:
    return f"{value:,.2f}"


COLUMNS = (
    Column("jobs", "jobs", "", 0, whole),
    Column("gpu_hours", "GPU\nhours", "", 0, _hours),
    Column("mean_wait", "mean\nwait", "s", -1, lasting),
    Column("p95_wait", "95 %\nwait", "s", -1, lasting),
    Column("mean_slowdown", "mean\nslowdown", "", -1, _times),
    Column("why", "waited\nmostly for"),
)


def user_rows(found: Replay, by: By = "user") -> list[dict[str, Any]]:
    """Return a row for each policy and user (or queue), the longest mean wait of a policy first.

    Parameters
    ----------
    found : Replay
    by : {"user", "queue"}

    Returns
    -------
    list of dict
        "policy", "user" or "queue", "jobs", "gpu_hours", "mean_wait" and "p95_wait" in seconds from
        submission to completion without GPUs, "mean_slowdown", and "why": the reason of most of the
        waits, of :data:`gangsched.analysis.driving.waits.REASONS`, with its share. No rows where a
        log does not tell when jobs were submitted.
    """
    if not found.submitted:
        return []
    longest = found.waits(min(MOST_EXPLAINED, max(1, len(found.instance.jobs))))
    rows = []
    for name, run in found.runs.items():
        reasons: dict[str, Counter[str]] = {}
        for wait in longest.get(name, ()):
            whose = getattr(found.instance.jobs[wait.job], by)
            reasons.setdefault(whose, Counter()).update(wait.reasons)
        own = [{"policy": name, **row} for row in _rows(found, run, reasons, by)]
        rows += sorted(own, key=lambda row: (-row["mean_wait"], row[by]))
    return rows


def user_table(found: Replay, rows: list[dict[str, Any]], by: By = "user") -> ColumnTable:
    """Return the users (or queues) of each policy with the longest mean waits."""
    shown = []
    for name in found.runs:
        shown += [row for row in rows if row["policy"] == name][:MOST_USERS]
    return ColumnTable((Column("policy", "policy"), Column(by, by), *COLUMNS), tuple(shown))


def user_answers(rows: list[dict[str, Any]], by: By = "user") -> list[str]:
    """Say of each policy who waits longest, and mostly for what."""
    longest: dict[str, dict[str, Any]] = {}
    for row in rows:
        longest.setdefault(row["policy"], row)
    return [
        SAID["longest_wait"].format(name, by, row[by] or "-", lasting(row["mean_wait"]), row["why"])
        for name, row in longest.items()
        if row["mean_wait"] > 0
    ]


def _rows(
    found: Replay, run: Run, reasons: dict[str, Counter[str]], by: By
) -> list[dict[str, Any]]:
    """The users or queues of a run."""
    jobs = found.instance.jobs
    users = np.array([getattr(job, by) for job in jobs])
    done = ~np.isnan(completion_time(run))
    waits, slow = wait_time(run), slowdown(run)
    held = run.records.gpus * run.records.work / 3600
    rows = []
    for user in sorted(set(users.tolist())):
        own = done & (users == user)
        if not own.any():
            continue
        why = reasons.get(user, Counter()).most_common(1)
        share = why[0][1] / sum(reasons[user].values()) if why and why[0][1] else 0.0
        rows.append(
            {
                by: user,
                "jobs": int(own.sum()),
                "gpu_hours": float(held[own].sum()),
                "mean_wait": float(waits[own].mean()),
                "p95_wait": float(np.quantile(waits[own], 0.95)),
                "mean_slowdown": float(slow[own].mean()),
                "why": f"{why[0][0]}, {share:.0%}" if share else "-",
            }
        )
    return rows
