"""The fairest schedule by trying all of them, slot by slot, with shares of its own."""

from fractions import Fraction
from itertools import combinations

import numpy as np

from gangsched.formulations.ltgf.problem import Ltgf
from gangsched.instances import Cluster, Instance, Job, User

Vector = tuple[Fraction, ...]


def tiny(seed: int, *, users: int = 0, jobs: int = 3, longest: int = 3, **more: int) -> Ltgf:
    """A random problem that can be searched exhaustively."""
    rng = np.random.default_rng(seed)
    gpus = int(rng.integers(2, 7))
    made = [
        Job(
            id=f"j{i}",
            user=f"u{rng.integers(users)}" if users else "",
            gpus=int(rng.integers(1, gpus + 1)),
            work=int(rng.integers(1, longest + 1)),
            release=int(rng.integers(0, 3)),
            weight=float(rng.choice([1, 1, 2, 0.5])),
        )
        for i in range(jobs)
    ]
    owners = [User(f"u{j}", weight=float(rng.choice([1, 2, 0.3]))) for j in range(users)]
    sizes = [gpus] if seed % 2 else [1, gpus - 1]
    return Ltgf(Instance(Cluster.of_sizes(sizes), made, owners), **more)


def integrand(problem: Ltgf, active: list[int], job: int) -> Fraction:
    """min(D_i, s_i), written from the definitions."""
    gpus, users = problem.instance.cluster.gpus, problem.instance.users
    single = len(users) < 2
    mates = [i for i in active if single or problem.jobs[i].user == problem.jobs[job].user]
    part = Fraction(gpus)
    if not single:
        weights = {user.id: Fraction(str(user.weight)) for user in users}
        part = gpus * weights[problem.jobs[job].user] / sum(weights.values())
        part = min(part, Fraction(sum(problem.jobs[i].gpus for i in mates)))
    total = sum(Fraction(str(problem.jobs[i].weight)) for i in mates)
    share = part * Fraction(str(problem.jobs[job].weight)) / total
    return min(share, Fraction(problem.jobs[job].gpus))


def fairest(problem: Ltgf, horizon: int) -> Fraction | None:
    """Largest least rho of all schedules that end by the horizon; None where there is none.

    Forward over slots; for each vector of remaining slots, the vectors (worst ratio of completed
    jobs, F of the others) that no other one dominates.
    """
    jobs = problem.jobs
    now: dict[tuple[int, ...], list[Vector]]
    now = {tuple(job.work or 0 for job in jobs): [(Fraction(0),) * (len(jobs) + 1)]}
    for t in range(horizon):
        after: dict[tuple[int, ...], set[Vector]] = {}
        for left, vectors in now.items():
            active = [i for i, job in enumerate(jobs) if left[i] and job.release <= t]
            grown = [integrand(problem, active, i) if i in active else 0 for i in range(len(jobs))]
            for run in subsets(active):
                if sum(jobs[i].gpus for i in run) > problem.instance.cluster.gpus:
                    continue
                rest = tuple(p - (i in run) for i, p in enumerate(left))
                for worst, *fair in vectors:
                    next_fair = [f + g for f, g in zip(fair, grown, strict=True)]
                    for i in run:
                        if rest[i] == 0:
                            ratio = next_fair[i] / (jobs[i].gpus * (jobs[i].work or 0))
                            worst, next_fair[i] = max(worst, ratio), Fraction(0)
                    after.setdefault(rest, set()).add((worst, *next_fair))
        now = {left: undominated(vectors) for left, vectors in after.items()}
    ends = now.get((0,) * len(jobs), [])
    return 1 / min(vector[0] for vector in ends) if ends else None


def subsets(items: list[int]) -> list[tuple[int, ...]]:
    return [chosen for k in range(len(items) + 1) for chosen in combinations(items, k)]


def undominated(vectors: set[Vector]) -> list[Vector]:
    kept: list[Vector] = []
    for vector in sorted(vectors):
        if not any(all(a <= b for a, b in zip(other, vector, strict=True)) for other in kept):
            kept.append(vector)
    return kept
