"""Who waits most, and why: rows by policy and user against jobs one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gangsched as gs
from gangsched.analysis.show.user_table import MOST_USERS, By, user_rows, user_table
from gangsched.instances import Cluster, Instance, Job, User


@pytest.mark.parametrize("by", ["user", "queue"])
@pytest.mark.parametrize("seed", range(2))
def test_rows_are_means_over_the_jobs_of_each(seed: int, by: By) -> None:
    rng = random.Random(seed)
    jobs = [
        Job(id=str(j), gpus=rng.choice([1, 2, 4]), work=rng.randint(60, 4000),
            release=rng.randint(0, 3000), user=rng.choice(["ann", "bob", "cyd"]),
            queue=rng.choice(["wide", "narrow"]))
        for j in range(14)
    ]  # fmt: skip
    users = [User(name) for name in sorted({job.user for job in jobs})]
    instance = Instance(Cluster.of_sizes([4]), jobs, users=users)
    found = gs.replay(instance, ["fifo", "srtf"], effort="quick")
    rows = user_rows(found, by)
    assert [row["policy"] for row in rows] == sorted(row["policy"] for row in rows)
    for row in rows:
        run = gs.drive(instance, row["policy"])
        own = [j for j, job in enumerate(jobs) if getattr(job, by) == row[by]]
        waits = {wait.job: wait for wait in found.waits(len(jobs))[row["policy"]]}
        seconds = [waits[j].seconds if j in waits else 0 for j in own]
        spans = [run.records.end[j] - jobs[j].release for j in own]
        assert row["jobs"] == len(own)
        assert row["gpu_hours"] == pytest.approx(
            sum(jobs[j].gpus * (jobs[j].work or 0) for j in own) / 3600
        )
        assert row["mean_wait"] == pytest.approx(np.mean(seconds))
        assert row["p95_wait"] == pytest.approx(np.quantile(seconds, 0.95))
        assert row["mean_slowdown"] == pytest.approx(
            np.mean([span / (jobs[j].work or 1) for span, j in zip(spans, own, strict=True)])
        )
        if any(seconds):
            total: dict[str, int] = {}
            for j in own:
                for name, spent in waits[j].reasons.items() if j in waits else ():
                    total[name] = total.get(name, 0) + spent
            most = max(total, key=lambda name: total[name])
            assert row["why"] == f"{most}, {total[most] / sum(total.values()):.0%}"
    means = [row["mean_wait"] for row in rows if row["policy"] == "fifo"]
    assert means == sorted(means, reverse=True)
    assert len(user_table(found, rows, by).rows) == min(len(rows), 2 * MOST_USERS)
