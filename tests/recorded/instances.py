"""Small instances on which solvers and policies differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs


def log(path: Path, jobs: int = 36, seed: int = 0, span: int = 4_000) -> Path:
    """A job log of three virtual clusters, with more work than twelve GPUs can do at once."""
    rng = np.random.default_rng([seed, jobs])
    rows = ["timestamp,duration,num_gpus,cluster"]
    for at in sorted(rng.integers(0, span, jobs).tolist()):
        seconds, gpus = int(rng.lognormal(6.3, 1.1)) + 20, int(rng.choice([1, 1, 2, 2, 3, 4, 8]))
        clock = f"{1 + at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"
        rows.append(f"2017-10-07 {clock},{seconds},{gpus},{rng.choice(['a', 'b', 'b', 'c'])}")
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


def ring_problem(seed: int = 1) -> Any:
    """Gangs on which contention matters."""
    rng = np.random.default_rng([7, seed])
    jobs = [
        gs.RingJob(
            id=f"j{i}", gpus=int(gang), iterations=int(rng.integers(4, 13)),
            gradient=float(rng.choice([0.05, 0.1, 0.15])),
            base_time=float(rng.choice([0.01, 0.05, 0.1])),
        )
        for i, gang in enumerate([3, 3, *rng.choice([1, 2, 4], size=2)])
    ]  # fmt: skip
    instance = gs.Instance(gs.Cluster.of_sizes([2, 2, 2]), jobs)
    return gs.formulations.RarDdls(instance, xi1=1, xi2=0.005, alpha=0.5)


def paper_ring(jobs: int = 24, servers: int = 4, variant: Any = "B", seed: int = 0) -> Any:
    cluster = gs.generate.paper_cluster(servers, seed=seed)
    instance = gs.generate.rar_workload(cluster, jobs=jobs, seed=seed, variant=variant)
    return gs.formulations.RarDdls(instance, horizon=1200)


def queue(jobs: int = 7, nodes: int = 2, size: int = 4, seed: int = 0, **parameters: Any) -> Any:
    """More jobs with deadlines than fit."""
    rng = np.random.default_rng([3, seed])
    made = []
    for i in range(jobs):
        work, first = int(rng.integers(300, 4000)), 0
        first = int(work * rng.uniform(0.9, 2))
        rewards = [(first, 100.0), (int(first * 1.2) + 1, 80.0), (int(first * 1.5) + 2, 20.0)]
        made.append(
            gs.DeadlineJob(
                id=f"j{i}", gpus=int(rng.choice([1, 1, 2, 3, 4, 8])), work=work,
                rewards=rewards[: int(rng.integers(0, 4))],
                split_speed=float(rng.choice([0.5, 0.75, 1.0])),
                preemption_cost=int(rng.choice([0, 25, 300])),
            )
        )  # fmt: skip
    instance = gs.Instance(gs.Cluster.of_sizes([size] * nodes), made)
    return gs.formulations.UniSched(instance, **parameters)


def revenue(jobs: int = 6, servers: int = 8, users: int = 2, **options: Any) -> Any:
    return gs.formulations.reduced_problem(jobs, servers=servers, users=users, **options)


def market(seed: int = 0, aim: Any = "total", users: int = 5) -> Any:
    """Users with tickets of their own on three GPU models, one of whom can use but few GPUs."""
    rng = np.random.default_rng([5, seed])
    speeds = np.cumsum(rng.uniform(0.2, 1.5, (users, 3)), axis=1)
    demand = np.where(rng.random(users) < 0.3, 4.0, np.inf)
    return gs.formulations.GpuMarket(
        np.array([12, 8, 6]), speeds, rng.integers(1, 4, users).astype(float), demand, aim=aim
    )
