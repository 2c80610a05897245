"""Tiny problems of completion times, and their optimum by trying every set of jobs every second.

Shares no code with the package: gangs are counted, weights are rationals of the job's own data.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gangsched.formulations.completion_time import CompletionTime
from gangsched.instances import Cluster, Instance, Job

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
