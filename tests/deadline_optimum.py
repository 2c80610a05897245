"""The most reward that an offline scheduler can win, by trying all decisions of every second."""

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np

from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.instances import Cluster, DeadlineJob, Instance

#: gpus, release, work, rewards
Row = tuple[int, int, int, Sequence[tuple[int, float]]]


def problem_of(
    gpus: int, rows: Sequence[Row], *, elastic: bool = False, scaling: float = 0.05
) -> DeadlineRewards:
    """Jobs j0, j1, ... on one node."""
    jobs = [
        DeadlineJob(id=f"j{i}", gpus=d, release=r, work=p, rewards=steps, scaling=scaling)
        for i, (d, r, p, steps) in enumerate(rows)
    ]
    return DeadlineRewards(Instance(Cluster.of_sizes([gpus]), jobs), elastic)


def random_problem(
    rng: np.random.Generator, *, jobs: int = 4, gpus: int = 3, elastic: bool = False
) -> DeadlineRewards:
    """Strict, soft and best-effort jobs that compete for few GPUs."""
    rows: list[Row] = []
    for _ in range(int(rng.integers(1, jobs + 1))):
        steps, first = int(rng.choice([0, 1, 1, 3])), int(rng.integers(1, 5))
        deadlines = first + np.cumsum([0, *rng.integers(1, 3, max(steps - 1, 0))])
        values = (100.0, 60.0, 20.0)[:steps]
        rewards = list(zip(deadlines[:steps].tolist(), values, strict=True))
        gang, release = int(rng.integers(1, gpus + 1)), int(rng.integers(0, 4))
        rows.append((gang, release, int(rng.integers(1, 5)), rewards))
    return problem_of(gpus, rows, elastic=elastic, scaling=0.5)


def optimum(problem: DeadlineRewards) -> float:
    """Decide for every second on how many GPUs each job runs; one node, integers only."""
    jobs, gpus = problem.instance.jobs, problem.instance.cluster.gpus
    last = max((job.release + d for job in jobs for d, _ in job.rewards), default=0)

    def law(job: DeadlineJob, n: int) -> int:
        """Millionths of the gang's speed on n GPUs."""
        ratio = n / (1 + job.scaling * (n - 1)) / job.gpus * (1 + job.scaling * (job.gpus - 1))
        return round(1e6 * ratio)

    choices = [
        {n: law(job, n) for n in (range(2 * job.gpus + 1) if problem.elastic else (0, job.gpus))}
        for job in jobs
    ]

    @cache
    def best(now: int, left: tuple[int, ...]) -> float:
        if now == last:
            return 0.0
        found = 0.0
        able = [
            (0,) if rest == 0 or job.release > now else tuple(choice)
            for job, rest, choice in zip(jobs, left, choices, strict=True)
        ]
        for held in product(*able):
            if sum(held) > gpus:
                continue
            won, after = 0.0, list(left)
            for j, n in enumerate(held):
                after[j] = max(left[j] - choices[j][n], 0)
                if n and not after[j]:
                    in_time = (v for d, v in jobs[j].rewards if now + 1 <= jobs[j].release + d)
                    won += max(in_time, default=0.0)
            found = max(found, won + best(now + 1, tuple(after)))
        return found

    return best(0, tuple(10**6 * (job.work or 0) for job in jobs))
