"""The table of the longest waits of runs, and why they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..driving.run import Run
from ..driving.waits import Wait, longest_waits
from .chart_data import unit_of
from .columns import Column, ColumnTable, duration, whole

MOST = 5  #: jobs of a run
COLUMNS: tuple[Column, ...] = (
    Column("policy", "policy"),
    Column("job", "job"),
    Column("user", "user"),
    Column("gpus", "GPUs", "", 0, whole, "of its gang"),
    Column("submitted", "submitted", "s", 0, duration, "from time 0"),
    Column("waited", "waited", "s", -1, duration, "without GPUs, from submission to completion"),
    Column("why", "why", meaning="time by reason"),
)


def reasons(wait: Wait, slots: bool) -> str:
    """Say why a job waited, the reason of most of it first."""
    parts = sorted(wait.reasons.items(), key=lambda item: -item[1])
    texts = [(name, f"{s:,} slots" if slots else duration(s)) for name, s in parts if s]
    return ", ".join(f"{name} {text}" for name, text in texts)


def wait_table(runs: Mapping[str, Run]) -> ColumnTable:
    """Return the longest waits of each run."""
    slots = unit_of(next(iter(runs.values()))) == "slots"
    rows = [
        _row(name, run, wait, slots)
        for name, run in runs.items()
        for wait in longest_waits(run, MOST)
    ]
    columns = COLUMNS
    if not any(row["user"] for row in rows):
        columns = tuple(c for c in columns if c.key != "user")
    if slots:
        columns = tuple(
            replace(c, unit="slots", write=whole) if c.unit == "s" else c for c in columns
        )
    return ColumnTable(columns, tuple(rows))


def _row(name: str, run: Run, wait: Wait, slots: bool) -> dict[str, Any]:
    book, user = run.records, int(run.records.user[wait.job])
    return {
        "policy": name,
        "job": book.id[wait.job],
        "user": run.users[user] if user < len(run.users) else "",
        "gpus": int(book.gpus[wait.job]),
        "submitted": int(book.release[wait.job]),
        "waited": wait.seconds,
        "why": reasons(wait, slots),
    }
