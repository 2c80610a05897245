"""Logs in which nothing is wrong: a cluster with quotas and GPU models, simulated job by job."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gangsched.instances import Cluster, Node
from gangsched.instances.traces import Trace, read_csv

FIELDS = ("id", "user", "gpus", "submit", "start", "end", "duration", "model", "deadline")
#: columns that a log of some seeds does not have
LACKING = ((), (), ("duration",), ("start",), ("end",), ("start", "end"))
Row = dict[str, Any]


@dataclass(frozen=True)
class CleanLog:
    """A log, its cluster and the quotas of its users."""

    rows: Sequence[Row]
    cluster: Cluster
    quotas: Mapping[str, int]
    fields: Sequence[str] = FIELDS

    def read(self, folder: Path) -> Trace:
        """Write it as CSV, and read that."""
        lines = [",".join(self.fields)]
        lines += [",".join(str(row[name]) for name in self.fields) for row in self.rows]
        path = folder / "log.csv"
        path.write_text("\n".join(lines) + "\n")
        given = ("submit", "gpus", "start", "end", "duration", "model", "deadline", "user", "id")
        roles = {name: name for name in given if name in self.fields}
        roles |= {"deadline": "deadline:after"} if "deadline" in roles else {}
        return read_csv(path, columns=roles)

    def change(self, i: int, **fields: Any) -> CleanLog:
        """Another row at i."""
        rows = [*self.rows]
        rows[i] = {**rows[i], **fields}
        return replace(self, rows=rows)


def clean_log(seed: int, jobs: int = 40, *, fields: Sequence[str] | None = None) -> CleanLog:
    """Jobs that begin as soon as there is room for them, on GPUs of one model, within quotas."""
    rng = random.Random(seed)
    size = rng.choice([2, 4, 8])
    models = rng.choice([("a",), ("a", "b")])
    cluster = Cluster(
        [Node(f"{m}{i}", size, m) for m in models for i in range(rng.randrange(1, 5))]
    )
    room = {m: sum(node.gpus for node in cluster.nodes if node.model == m) for m in models}
    users = [f"user{u}" for u in range(3)]
    quotas = {user: rng.randrange(size, cluster.gpus + 1) for user in users}
    step = rng.choice([1.0, 0.25])  # seconds that the log counts in
    gap = 40_000 / cluster.gpus  # seconds at most, so that half of the GPUs are wanted
    time, rows = 1_000_000.0, []
    for i in range(jobs):
        time += step * rng.randrange(int(gap / step))
        user, model = rng.choice(users), rng.choice(models)
        most = min(room[model], quotas[user])
        gangs = [
            g for g in (1, 1, 2, 4, size, 2 * size) if g <= most and (g <= size or not g % size)
        ]
        gang, duration = rng.choice(gangs), step * rng.randrange(int(1 / step), int(9_000 / step))
        start = _first_room(rows, time, duration, gang, model, user, room[model], quotas[user])
        rows.append(
            {
                "id": f"j{i}", "user": user, "gpus": gang, "submit": time, "start": start,
                "end": start + duration, "duration": duration, "model": model,
                "deadline": int(duration) + 2 + rng.randrange(9_000),
            }
        )  # fmt: skip
    lacking = LACKING[seed % len(LACKING)]
    shown = fields or [name for name in FIELDS if name not in lacking]
    if step < 1 and fields is None:
        shown = [name for name in shown if name != "deadline"]
    return CleanLog(rows, cluster, quotas, shown)


def _first_room(
    rows: Sequence[Row], time: float, duration: float, gang: int, model: str, user: str,
    of_model: int, quota: int,
) -> float:  # fmt: skip
    """The first time from which on a job fits to its end."""
    for start in sorted({time, *(row["end"] for row in rows if row["end"] > time)}):
        there = [row for row in rows if row["start"] < start + duration and row["end"] > start]
        for at in {start, *(row["start"] for row in there if row["start"] > start)}:
            now = [row for row in there if row["start"] <= at < row["end"]]
            used = sum(row["gpus"] for row in now if row["model"] == model)
            own = sum(row["gpus"] for row in now if row["user"] == user)
            if used + gang > of_model or own + gang > quota:
                break
        else:
            return start
    raise AssertionError("at the end of all jobs there is room")
