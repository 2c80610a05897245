"""Patiences, in leases, on small and large clusters: a table of the driver's page.

Jobs are those of :func:`~gangsched.instances.generate.venus_workload`, all of them on 133 and 100
nodes, and a random part of them, for offered loads of about 0.8 and 1.1 before gangs that do not
fit are left out, on 1, 2, 4 and 8 nodes; three draws each. Then the Philly trace, on 40 nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.show.referee import Referee, rules_in_words, seed_range
from gangsched.instances import Cluster, Instance
from gangsched.instances.convert import to_instance
from gangsched.instances.generate import venus_workload
from gangsched.instances.traces import read_philly_csv
from gangsched.registry import policy
from gangsched.solvers.policy import Rules
from pages import TRACES, put, table, told

SMALL, LOADS, LARGE, SEEDS, NODE = (1, 2, 4, 8), (0.8, 1.1), (100, 133), range(3), 8
POLICIES = ("ltgf", "themis", "tiresias-l")
LEASE, BASE = 900, 24
PATIENCES = {"1 lease": 1, **{f"{k} leases": k for k in (2, 4, 8, 16, BASE)}, "never": None}


def small(nodes: int, load: float, seed: int) -> Instance[Any]:
    """Draw part of the jobs that fit, with the GPU time of an offered load."""
    whole = venus_workload(Cluster.uniform(nodes=133, gpus_per_node=NODE), seed=seed)
    fit = [job for job in whole.jobs if job.gpus <= nodes * NODE]
    need = sum(job.gpus * (job.work or 0) for job in fit)
    part = load * nodes * NODE * max(job.release for job in fit) / need
    draw = np.random.default_rng(seed).random(len(fit))
    jobs = [job for job, number in zip(fit, draw.tolist(), strict=True) if number < part]
    users = [user for user in whole.users if any(job.user == user.id for job in jobs)]
    return Instance(Cluster.uniform(nodes=nodes, gpus_per_node=NODE), jobs, users)


def cases() -> Iterator[tuple[str, Instance[Any]]]:
    """The instances, with the group in which they stand in the table."""
    for nodes, load, seed in product(SMALL, LOADS, SEEDS):
        yield "Venus-like, 1 to 8 nodes", small(nodes, load, seed)
    for nodes, seed in product(LARGE, SEEDS):
        cluster = Cluster.uniform(nodes=nodes, gpus_per_node=NODE)
        yield "Venus-like, 100 and 133 nodes", venus_workload(cluster, seed=seed)
    philly = read_philly_csv(TRACES / "philly/philly.csv.gz")
    yield (
        "Philly, 40 nodes",
        to_instance(philly, Cluster.uniform(nodes=40, gpus_per_node=NODE)).instance,
    )


def measured(instance: Instance[Any], name: str, leases: int | None) -> tuple[float, ...]:
    """Mean completion time, share of jobs with rho below 0.95, and preemptions."""
    patience = None if leases is None else leases * LEASE
    found = metrics.summary(drive(instance, policy(name)[1], lease=LEASE, patience=patience))
    return tuple(float(found[n] or 0) for n in ("mean_completion", "loss", "preemptions"))


def settings() -> Referee:
    """Under which settings the table compares patiences."""
    whole = Cluster.uniform(nodes=max(LARGE), gpus_per_node=NODE)
    drawn = [venus_workload(whole, seed=seed).jobs for seed in SEEDS]
    wide = {n: max(sum(job.gpus > n * NODE for job in jobs) for jobs in drawn) for n in SMALL}
    counts = ", ".join(f"{most} on {nodes}" for nodes, most in wide.items())
    rules, _, _ = rules_in_words(Rules(lease=LEASE)).partition(", patience")
    return Referee(
        information=told(POLICIES),
        seeds=f"{seed_range(SEEDS)}, means; none drawn on the trace",
        excluded="no job on 40 nodes and more; on small clusters gangs that do not fit, at most "
        f"{counts} nodes of all 11,304 before a part is drawn",
        parameters=f"{rules}, patience by column, nodes of {NODE} GPUs",
        certificate="none, as each row is relative to its own 24 leases and no two are compared",
    )


def text() -> str:
    """The table."""
    found: dict[tuple[str, str], list[dict[int | None, tuple[float, ...]]]] = {}
    for group, instance in cases():
        for name in POLICIES:
            own = {leases: measured(instance, name, leases) for leases in PATIENCES.values()}
            found.setdefault((name, group), []).append(own)
    rows = []
    for (name, group), runs in found.items():
        rows.append([f"`{name}`", f"{group} ({len(runs)})"])
        for leases in PATIENCES.values():
            ratio = exp(fmean(log(own[leases][0] / own[BASE][0]) for own in runs))
            loss = 100 * fmean(own[leases][1] - own[BASE][1] for own in runs)
            more = fmean(own[leases][2] / max(1.0, own[BASE][2]) for own in runs)
            rows[-1].append(f"{ratio:.3f} / {loss:+.1f} / {more:.2f}")
    return f"{table(['policy', 'clusters (runs)', *PATIENCES], rows, left=2)}\n\n{settings()}"


def write(page: Path) -> None:
    put(page, "patience", text())
