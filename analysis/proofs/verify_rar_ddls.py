"""Replay the proof of a bound of a makespan of RAR-DDLS, in integers.

N GPUs; G_j, d_j: gang size and shortest duration of job j. On n nodes beside p spanning jobs, job
j makes phi_j(n, p) progress a slot, and phi does not increase in p: so it needs at least
ceil(F_j / phi_j(n, 1)) slots on n nodes, and d_j slots, the least of these over all spans,
whatever the contention. A schedule of makespan C therefore gives every GPU a set of different jobs
that run one after another, with sum of d_j <= C, and puts job j into the sets of G_j GPUs. The
first four kinds of certificates refute this for one C ("target"), which proves the makespan to be
at least C + 1.

- ``area``: all sets together hold sum_j G_j d_j <= N C.
- ``longest job``: no set holds a job with d_j > C.
- ``dff``: a function g is dual feasible when g(d) over any set with sum d <= C adds up to 1 or
  less; then sum_j G_j g(d_j) <= N. Here g = u_k(U_eps(d / C)), see :mod:`.dual_feasible`.
- ``configuration lp``: duals v_j >= 0 with sum of v_j <= D ("scale") over every set with
  sum d_j <= C (a 0/1 knapsack, solved here by dynamic programming); then sum_j G_j v_j <= N D.
- ``search``: all states that can be reached by C, without any relaxation, are listed by
  :mod:`gangsched.verify.rar_ddls`, and in none of them are all jobs complete.

- ``clique``: any two of these jobs need more than N GPUs, or are both larger than every node and
  on no two disjoint sets of nodes, so that they contend when both run. A slot is worth U, the
  most GPUs that some of them can fill; alone a job takes U of it, beside others G_j.
- ``uplinks``: a job larger than every node, on n of the S beside p jobs on its busiest one, takes
  n / p of their uplinks, of which there are S in each slot.

Why these hold is said once more, with formulas, in :mod:`gangsched.verify.rar_ddls`.

O(sum_j S) exact rationals for d_j; the knapsack takes O(jobs min(C, sum_j d_j)) steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any

from ...formulations.rar_ddls.problem import RarDdls
from .packings import knapsack, stepped, thresholded
from .plain import plainly_proven
from .readers import integer, integers, item

__all__ = ["RULES", "durations_of"]


def _area(problem: RarDdls, _: Mapping[str, Any]) -> int:
    area = sum(job.gpus * d for job, d in zip(problem.jobs, durations_of(problem), strict=True))
    return -(-area // problem.instance.cluster.gpus)


def _longest_job(problem: RarDdls, certificate: Mapping[str, Any]) -> int:
    return _shortest(problem, item(certificate, "job", len(problem.jobs)), _fewest(problem))


def _dff(problem: RarDdls, certificate: Mapping[str, Any]) -> int:
    durations = durations_of(problem)
    target = _target(certificate, durations)
    k, eps = integer(certificate, "k", 0), integer(certificate, "eps", 0)
    if 2 * eps > target:
        raise ValueError(f"eps={eps} exceeds half the target {target}")
    # g in units of 1 / (k C), or of 1 / C for k = 0
    unit = max(k, 1) * target
    total = sum(
        job.gpus * stepped(thresholded(d, target, eps), target, k)
        for job, d in zip(problem.jobs, durations, strict=True)
    )
    _require_excess(total, problem.instance.cluster.gpus * unit, target)
    return target + 1


def _configuration(problem: RarDdls, certificate: Mapping[str, Any]) -> int:
    durations = durations_of(problem)
    target = _target(certificate, durations)
    scale = integer(certificate, "scale", 1)
    duals = integers(certificate.get("duals"), "duals", count=len(durations))
    worth = knapsack(durations, duals, min(target, sum(durations)))
    if worth > scale:
        raise ValueError(
            f"duals of jobs that fit into {target} slots add up to {worth}, above scale={scale}"
        )
    total = sum(job.gpus * v for job, v in zip(problem.jobs, duals, strict=True))
    _require_excess(total, problem.instance.cluster.gpus * scale, target)
    return target + 1


def _search(problem: RarDdls, certificate: Mapping[str, Any]) -> int:
    proven = plainly_proven(problem, certificate)
    if proven is None:
        raise ValueError("a search is of a problem that a file can hold")
    return int(proven)


def _clique(problem: RarDdls, certificate: Mapping[str, Any]) -> int:
    numbers = integers(certificate.get("jobs"), "jobs")
    if len(set(numbers)) < len(numbers) or any(j >= len(problem.jobs) for j in numbers):
        raise ValueError(f"jobs={numbers} are not different jobs of the {len(problem.jobs)}")
    sizes, gangs = problem.instance.cluster.sizes, [problem.jobs[j].gpus for j in numbers]
    for i, one in enumerate(gangs):
        for k, other in enumerate(gangs[:i]):
            if not _clash(one, other, sizes):
                raise ValueError(f"jobs {numbers[k]} and {numbers[i]} can run without contention")
    unit, room, total = knapsack(gangs, gangs, sum(sizes)), _fewest(problem), 0
    for j, gang in zip(numbers, gangs, strict=True):
        work = problem.jobs[j].iterations * problem.resolution
        slots, beside = _shortest(problem, j, room), 0
        if gang > max(sizes):
            fewest = next(n for n, held in enumerate(room, 1) if held >= gang)
            alone, beside = (problem.progress(problem.iteration_time(j, fewest, p)) for p in (1, 2))
        charges = [unit * slots]
        if beside:
            charges += [unit * x + gang * -((alone * x - work) // beside) for x in range(slots)]
        total += min(charges)
    return -(-total // unit) if unit else 0


def _clash(one: int, other: int, sizes: Sequence[int]) -> bool:
    """Whether gangs of so many GPUs share GPUs, or an uplink that both cross, when both run."""
    if one + other > sum(sizes) or min(one, other) <= max(sizes):
        return one + other > sum(sizes)
    return sum(sizes) - min(n for n in _sums(tuple(sizes)) if n >= one) < other


@cache
def _sums(sizes: tuple[int, ...]) -> frozenset[int]:
    """GPUs that some of the nodes have together."""
    found = {0}
    for size in sizes:
        found |= {n + size for n in found}
    return frozenset(found)


def _uplinks(problem: RarDdls, _: Mapping[str, Any]) -> int:
    room, total = _fewest(problem), Fraction(0)
    sizes = problem.instance.cluster.sizes
    for j, job in enumerate(problem.jobs):
        if job.gpus > max(sizes):
            fewest = next(n for n, held in enumerate(room, 1) if held >= job.gpus)
            rates = [
                p * problem.progress(problem.iteration_time(j, fewest, p))
                for p in range(1, min(len(problem.jobs), max(sizes)) + 1)
            ]
            total += Fraction(job.iterations * problem.resolution * fewest, max(rates))
    return ceil(total / len(sizes)) if sizes else 0


def _require_excess(total: int, room: int, target: int) -> None:
    if total <= room:
        raise ValueError(
            f"target={target} is not refuted: the jobs need {total} and the GPUs offer {room}"
        )


def _target(certificate: Mapping[str, Any], durations: list[int]) -> int:
    target = integer(certificate, "target", 1)
    longest = max(durations, default=0)
    if target < longest:
        raise ValueError(f"target={target} is below the longest job's {longest} slots")
    return target


def durations_of(problem: RarDdls) -> list[int]:
    """Return d_j of every job, from eq. (8) in rationals."""
    fewest = _fewest(problem)
    return [_shortest(problem, j, fewest) for j in range(len(problem.jobs))]


def _shortest(problem: RarDdls, job: int, room: list[int]) -> int:
    """d_j, with `room` the GPUs of the n largest nodes, for n = 1, 2, ...

    tau_j(n, 1) grows with n from n = 2 on (by xi2 a node), so only n = 1 and the fewest nodes
    above one can be best.
    """
    gpus = problem.jobs[job].gpus
    spans = [n for n, held in enumerate(room, 1) if held >= gpus and n <= gpus]
    best = max(problem.progress(problem.iteration_time(job, n, 1)) for n in spans[:2])
    return -(-problem.jobs[job].iterations * problem.resolution // best)


def _fewest(problem: RarDdls) -> list[int]:
    """GPUs of the n largest nodes, for n = 1, 2, ..."""
    sizes = sorted(problem.instance.cluster.sizes, reverse=True)
    return [sum(sizes[: n + 1]) for n in range(len(sizes))]


RULES = {
    "area": _area,
    "longest job": _longest_job,
    "dff": _dff,
    "configuration lp": _configuration,
    "search": _search,
    "clique": _clique,
    "uplinks": _uplinks,
}
