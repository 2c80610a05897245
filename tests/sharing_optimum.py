"""Tiny problems of users, and what each can have, by trying every set of jobs every second.

Shares no code with the package but the data of the problem and its terms.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np

from gangsched.formulations import SharingIncentive
from gangsched.instances import Cluster, Instance, Job, User

READINGS = ["sharing", "wait", "stretch"]


def random_instance(rng: np.random.Generator, *, jobs: int = 5, gpus: int = 3) -> Instance[Job]:
    """Two or three users with up to five jobs, who usually have to wait."""
    users = [User(id, float(rng.choice([1, 2, 0.7]))) for id in "uvw"[: int(rng.integers(2, 4))]]
    return Instance(
        Cluster.of_sizes([gpus]),
        [
            Job(
                id=f"j{i}",
                gpus=int(rng.integers(1, gpus + 1)),
                release=int(rng.integers(0, 4)),
                work=int(rng.integers(1, 5)),
                user=str(rng.choice([user.id for user in users])),
            )
            for i in range(jobs)
        ],
        users,
    )


def flows(instance: Instance[Job]) -> list[tuple[int, ...]]:
    """Return all sums of flow times by user (in the order of the instance) but dominated ones."""
    jobs, gpus = instance.jobs, instance.cluster.gpus
    number = {user.id: u for u, user in enumerate(instance.users)}
    owner = [number[job.user] for job in jobs]

    @cache
    def best(t: int, left: tuple[int, ...]) -> frozenset[tuple[int, ...]]:
        if not any(left):
            return frozenset({(0,) * len(number)})
        here = [j for j, job in enumerate(jobs) if left[j] and job.release <= t]
        cost = [sum(owner[j] == u for j in here) for u in range(len(number))]
        found = set()
        for n in range(bool(here), len(here) + 1):
            for chosen in combinations(here, n):
                if sum(jobs[j].gpus for j in chosen) <= gpus:
                    after = tuple(r - (j in chosen) for j, r in enumerate(left))
                    for rest in best(t + 1, after):
                        found.add(tuple(a + b for a, b in zip(cost, rest, strict=True)))
        return frozenset(
            one
            for one in found
            if not any(
                other != one and all(a <= b for a, b in zip(other, one, strict=True))
                for other in found
            )
        )

    return sorted(best(0, tuple(job.work for job in jobs)))


def optimum(problem: SharingIncentive) -> Fraction | int | None:
    """Return the least worst ratio; with a limit the least sum of flow times, if there is one."""
    names, terms = [user.id for user in problem.instance.users], problem.terms()
    rows = []
    for row in flows(problem.instance):
        by_user = dict(zip(names, row, strict=True))
        worst = max(Fraction(by_user[u] - less, over) for u, (less, over) in terms.items())
        rows.append((worst, sum(row)))
    if problem.limit is None:
        return min(rows)[0]
    able = [flow for worst, flow in rows if worst <= Fraction(str(problem.limit))]
    return min(able, default=None)
