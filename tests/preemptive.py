"""Tiny problems of completion times, and their optimum by trying every set of jobs every second.

Shares no code with the package: gangs are counted, weights are rationals of the job's own data.
On several GPU models every way to put jobs on models is tried, and no progress is ever lost.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import lcm
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job, Node

MEASURES = ["makespan", "completion", "flow", "slowdown"]

#: one job: gpus, release, work, weight
Row = tuple[int, int, int, float]


def problem_of(
    sizes: list[int], rows: list[Row], measure: str = "flow", *, weighted: bool = False
) -> CompletionTime:
    jobs = [
        Job(id=f"j{i}", gpus=g, release=r, work=p, weight=w) for i, (g, r, p, w) in enumerate(rows)
    ]
    return CompletionTime(Instance(Cluster.of_sizes(sizes), jobs), measure, weighted)


@st.composite
def problems(draw: st.DrawFn, *, max_jobs: int = 4, **fixed: Any) -> CompletionTime:
    """Up to four jobs on up to five GPUs; shrinks to one job of a second on one GPU."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    gangs = fixed.pop("gangs", None) or st.integers(1, sum(sizes))
    weight = st.sampled_from([1.0, 2.0, 0.5, 0.1, 7.0])
    row = st.tuples(gangs, st.integers(0, 4), st.integers(1, 4), weight)
    rows = draw(st.lists(row, min_size=1, max_size=max_jobs))
    measure = fixed.pop("measure", None) or draw(st.sampled_from(MEASURES))
    weighted = fixed.pop("weighted", None)
    if weighted is None:
        weighted = draw(st.booleans())
    return problem_of(sizes, rows, measure, weighted=weighted and measure != "makespan")


def random_problem(
    rng: np.random.Generator, measure: str, *, gpus: int = 4, jobs: int = 4
) -> CompletionTime:
    """A problem in which jobs usually have to wait."""
    rows = [
        (int(rng.integers(1, gpus + 1)), int(rng.integers(0, 4)), int(rng.integers(1, 5)), 1.0)
        for _ in range(jobs)
    ]
    return problem_of([gpus], rows, measure)


def optimum(problem: CompletionTime) -> Fraction:
    """Return the least objective: every second costs what the jobs that are open then weigh."""
    jobs, gpus = problem.instance.jobs, problem.instance.cluster.gpus
    weights = [Fraction(job.weight) if problem.weighted else Fraction(1) for job in jobs]
    if problem.measure == "slowdown":
        weights = [w / job.work for w, job in zip(weights, jobs, strict=True)]

    def cost(t: int, left: tuple[int, ...]) -> Fraction:
        if problem.measure == "makespan":
            return Fraction(any(left))
        known = [problem.measure == "completion" or job.release <= t for job in jobs]
        return sum((w for w, r, k in zip(weights, left, known, strict=True) if r and k), Fraction())

    @cache
    def best(t: int, left: tuple[int, ...]) -> Fraction:
        if not any(left):
            return Fraction(0)
        ready = [j for j, job in enumerate(jobs) if left[j] and job.release <= t]
        after = [
            best(t + 1, tuple(r - (j in chosen) for j, r in enumerate(left)))
            for n in range(bool(ready), len(ready) + 1)
            for chosen in combinations(ready, n)
            if sum(jobs[j].gpus for j in chosen) <= gpus
        ]
        return cost(t, left) + min(after)

    return best(0, tuple(job.work for job in jobs))


# --- several GPU models --------------------------------------------------------------------------

SPEEDS = [0.5, 1.0, 1.5, 2.0, 3.25]
MODELS = ("old", "new", "newest")


def mixed_problem(rng: np.random.Generator, measure: str, *, jobs: int = 3) -> CompletionTime:
    """Two or three models of one to three GPUs, on each of which a job may be unable to run."""
    count = int(rng.integers(2, 4))
    nodes = [Node(f"n{g}", int(rng.integers(1, 4)), MODELS[g]) for g in range(count)]
    rows = []
    for i in range(jobs):
        speeds = {node.model: float(rng.choice(SPEEDS)) for node in nodes if rng.random() < 0.85}
        room = [node.gpus for node in nodes if node.model in speeds]
        if not room:
            return mixed_problem(rng, measure, jobs=jobs)
        able = [node.model for node in nodes if node.model in speeds and node.gpus == max(room)]
        rows.append(
            Job(
                id=f"j{i}",
                gpus=int(rng.integers(1, max(room) + 1)),
                release=int(rng.integers(0, 3)),
                work=int(rng.integers(1, 6)),
                speeds=speeds,
                pin=able[0] if rng.random() < 0.15 else "",
            )
        )
    return CompletionTime(Instance(Cluster(nodes), rows), measure)


def _speed(job: Job, model: str, room: int) -> Fraction:
    able = job.pin in ("", model) and job.gpus <= room
    return Fraction(job.speeds.get(model, 0) if job.speeds else 1) if able else Fraction(0)


def fastest(problem: CompletionTime) -> list[int]:
    """Seconds of each job alone on its fastest model."""
    room = _room(problem)
    tops = [max(_speed(job, g, n) for g, n in room.items()) for job in problem.instance.jobs]
    return [-(-job.work // top) for job, top in zip(problem.instance.jobs, tops, strict=True)]


def _room(problem: CompletionTime) -> dict[str, int]:
    nodes = problem.instance.cluster.nodes
    return {g: sum(n.gpus for n in nodes if n.model == g) for g in {n.model: 0 for n in nodes}}


def mixed_optimum(problem: CompletionTime) -> Fraction:
    """Return the least objective of jobs of weight 1 that lose nothing when they move.

    No job waits that could run somewhere beside those that run.
    """
    jobs, room = problem.instance.jobs, _room(problem)
    speeds = [
        {g: int(1000 * v) for g, n in room.items() if (v := _speed(job, g, n))} for job in jobs
    ]
    scale, weights = 1, [1] * len(jobs)
    if problem.measure == "slowdown":
        scale = lcm(*fastest(problem))
        weights = [scale // p for p in fastest(problem)]

    def cost(t: int, left: tuple[int, ...]) -> int:
        if problem.measure == "makespan":
            return any(left)
        known = [problem.measure == "completion" or job.release <= t for job in jobs]
        return sum(w for w, r, k in zip(weights, left, known, strict=True) if r and k)

    def free(where: tuple[str | None, ...]) -> dict[str, int]:
        held = [(at, job.gpus) for job, at in zip(jobs, where, strict=True)]
        return {g: n - sum(gpus for at, gpus in held if at == g) for g, n in room.items()}

    def busy(where: tuple[str | None, ...], ready: list[int]) -> bool:
        rest = free(where)
        waiting = [j for j in ready if where[j] is None]
        none = all(jobs[j].gpus > rest[g] for j in waiting for g in speeds[j])
        return none and min(rest.values()) >= 0

    @cache
    def best(t: int, left: tuple[int, ...]) -> int:
        if not any(left):
            return 0
        ready = [j for j, job in enumerate(jobs) if left[j] and job.release <= t]
        ways = product(*([*speeds[j], None] if j in ready else [None] for j in range(len(jobs))))
        after = {
            tuple(max(r - speeds[j].get(where[j] or "-", 0), 0) for j, r in enumerate(left))
            for where in ways
            if busy(where, ready)
        }
        return cost(t, left) + min(best(t + 1, state) for state in after)

    return Fraction(best(0, tuple(1000 * job.work for job in jobs)), scale)
