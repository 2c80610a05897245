"""Bounds of the makespan of RAR-DDLS: what each kind of certificate proves.

N GPUs on nodes of O_s; job j needs F_j iterations on G_j GPUs. On n nodes beside p spanning
jobs on its busiest one (itself included) an iteration takes, eq. (8),

    tau_j(n, p) = 2 m (w-1)/w * (1/b^i if n = 1 else f(alpha, k(p)) / b^e) + m (w-1)/w / C
                  + xi2 n + D_j,        w = G_j,

and phi = floor(1 / tau) iterations are done in a slot, which does not increase in p. So j needs
d_j slots at least, the fewest over all n. A schedule of makespan C gives every GPU a set of jobs
that run one after another, with sum of d_j <= C, and puts j into the sets of G_j GPUs. The first
four refute this for one C ("target"), which proves the makespan to be at least C + 1.

- ``area``: all sets together hold sum_j G_j d_j <= N C. ``longest job``: d_j <= C.
- ``dff``: a function g is dual feasible if g(d) over any set with sum d <= C adds up to at most 1;
  then sum_j G_j g(d_j) <= N. Here g = u_k(U_eps(d / C)) (Fekete and Schepers 2001).
- ``configuration lp``: integers v_j >= 0 that add up to at most D ("scale") over any set with
  sum d <= C, a knapsack; then sum_j G_j v_j <= N D.
- ``clique``: two jobs clash if they need more than N GPUs, or if both are wide, that is larger than
  every node, and no two disjoint sets of nodes hold them: running at once, both cross an uplink
  of the same node then, and make progress b_j = phi_j(n, 2) at most, on the fewest nodes n that
  hold the job. All pairs of the clique clash. Let U be the most GPUs that some of its jobs can
  fill, and a slot worth U: a job alone in the clique takes all of it, several at once take G_j
  each, U at most. With a_j = phi_j(n, 1) each job takes min U x + G_j y over a_j x + b_j y >= F_j.
- ``uplinks``: each of S uplinks is worth 1 in a slot, shared by those that cross it. A wide job on
  n nodes takes n / p at least, p on the busiest, for phi_j(n, p); in all S C is shared. More
  nodes only take more, for less.
- ``search``: nothing is relaxed. From the empty cluster on, all states that C slots can reach are
  listed, slot by slot: what is left of each running job, and on which nodes it is. Nodes,
  contention and waiting all count. States are the same if only names of equal nodes differ, and
  end where a job cannot be ready in time even alone. It proves C + 1 if no state is empty by C.

All but the search take O(jobs) rationals; the knapsack takes O(jobs C), a clique O(jobs (jobs + C))
and the search at most `MOST_STATES` states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor
from typing import Any

from .fields import (
    BadFile,
    JobColumns,
    Refused,
    integer,
    integers,
    item,
    knapsack,
    number,
    one_of,
    rows,
    stepped,
    thresholded,
    whole,
)
from .kernels import ReadProblem

#: jobs of a search, states that it may list, and ways to start jobs that it may try
MOST_JOBS, MOST_STATES, MOST_WAYS = 12, 200_000, 1_000_000
#: a job on its way: its number, what is left of it, its GPUs on every node
Run = tuple[int, int, tuple[int, ...]]


class RingProblem(ReadProblem):
    """What the rules need of a problem: nodes, gangs, and progress by (8)."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        nodes = rows(data, "instance", "cluster", "nodes")
        if len({node.get("model", "") for node in nodes}) > 1:
            raise BadFile("GPU models differ")
        self.sizes = [whole(node, "gpus") for node in nodes]
        jobs = JobColumns.of(data)
        self.gangs = jobs.wholes("gpus")
        self.gradients, self.base_times = jobs.numbers("gradient"), jobs.numbers("base_time")
        given = data.get("parameters", {})
        self.between, self.within, self.speed = (
            number(given, name, default)
            for name, default in (
                ("bandwidth_between", 1.0), ("bandwidth_within", 50.0), ("compute_speed", 50.0)
            )
        )  # fmt: skip
        self.xi1, self.xi2 = number(given, "xi1", 0.5), number(given, "xi2", 1e-4)
        self.alpha = number(given, "alpha", 0.2)
        self.degradation = given.get("degradation")
        if not callable(self.degradation):  # no file has one that is
            self.degradation = one_of(given, "degradation", ("linear", "power"))
        self.contention = one_of(given, "contention", ("clipped", "shifted"))
        self.exact = one_of(given, "rate", ("floor", "exact")) == "exact"
        self.parts = 10**9 if self.exact else 1  # of an iteration, in which progress is counted
        self.work = [n * self.parts for n in jobs.wholes("iterations")]
        self.rate = lru_cache(maxsize=None)(self._rate)
        self.shortest = [self._shortest(j) for j in range(len(self.gangs))]

    @property
    def gpus(self) -> int:
        """N."""
        return sum(self.sizes)

    @cached_property
    def unions(self) -> set[int]:
        """GPUs that any set of nodes has."""
        found = {0}
        for size in self.sizes:
            found |= {size + others for others in found}
        return found

    def wide(self, j: int) -> bool:
        """Whether no node alone holds the job."""
        return self.gangs[j] > max(self.sizes)

    def fewest(self, j: int) -> int:
        """Nodes that hold a wide job, at least."""
        room, n = 0, 0
        for size in sorted(self.sizes, reverse=True):
            if room < self.gangs[j]:
                room, n = room + size, n + 1
        return n

    def degraded(self, contenders: int) -> Fraction:
        """f(alpha, k(p)): by how much p spanning jobs slow a link down (7)."""
        if self.contention == "shifted":
            k = 1 + self.xi1 * (max(contenders, 1) - 1)
        else:
            k = max(Fraction(1), self.xi1 * contenders)
        if self.degradation == "linear":
            return k + self.alpha * (k - 1)
        if self.degradation == "power":
            return Fraction(repr(float(k) ** float(1 + self.alpha)))
        slower = self.degradation(self.alpha, k)
        return slower if isinstance(slower, Fraction) else Fraction(repr(float(slower)))

    def _rate(self, j: int, nodes: int, contenders: int) -> int:
        """phi_j(n, p), in parts of an iteration."""
        ring = self.gradients[j] * (self.gangs[j] - 1) / self.gangs[j]
        link = 1 / self.within if nodes == 1 else self.degraded(contenders) / self.between
        tau = 2 * ring * link + ring / self.speed + self.base_times[j] + self.xi2 * nodes
        return ceil(self.parts / tau) if self.exact else floor(1 / tau)

    def _shortest(self, j: int) -> int:
        """d_j. From two nodes on, each one more costs xi2: one and the fewest above suffice."""
        room, spans = 0, list[int]()
        for n, size in enumerate(sorted(self.sizes, reverse=True), 1):
            room += size
            if room >= self.gangs[j] and n <= self.gangs[j]:
                spans.append(n)
        if not spans:
            raise BadFile(f"job {j}: gpus={self.gangs[j]} exceeds the cluster")
        best = max(self.rate(j, n, 1) for n in spans[:2])
        if best == 0:
            raise BadFile(f"job {j} makes no progress anywhere")
        return -(-self.work[j] // best)


def area(problem: RingProblem, _: Mapping[str, Any]) -> int:
    """All sets together hold sum_j G_j d_j."""
    held = sum(g * d for g, d in zip(problem.gangs, problem.shortest, strict=True))
    return -(-held // problem.gpus)


def longest_job(problem: RingProblem, certificate: Mapping[str, Any]) -> int:
    """No set is shorter than a job in it."""
    return problem.shortest[item(certificate, "job", len(problem.gangs))]


def dff(problem: RingProblem, certificate: Mapping[str, Any]) -> int:
    """A dual feasible function of all sets is at most N."""
    target = _target(problem, certificate)
    k, eps = integer(certificate, "k"), integer(certificate, "eps")
    if 2 * eps > target:
        raise Refused(f"eps={eps} exceeds half the target {target}")
    unit = max(k, 1) * target  # what g counts in
    total = sum(
        g * stepped(thresholded(d, target, eps), target, k)
        for g, d in zip(problem.gangs, problem.shortest, strict=True)
    )
    _require_excess(total, problem.gpus * unit, target)
    return target + 1


def configuration(problem: RingProblem, certificate: Mapping[str, Any]) -> int:
    """No set is worth more than the scale, so that all GPUs' sets are worth N times that."""
    target = _target(problem, certificate)
    scale = integer(certificate, "scale", 1)
    duals = integers(certificate.get("duals"), "duals", count=len(problem.gangs))
    worth = knapsack(problem.shortest, duals, min(target, sum(problem.shortest)))
    if worth > scale:
        raise Refused(
            f"duals of jobs that fit into {target} slots add up to {worth}, above scale={scale}"
        )
    total = sum(g * v for g, v in zip(problem.gangs, duals, strict=True))
    _require_excess(total, problem.gpus * scale, target)
    return target + 1


def _require_excess(total: int, room: int, target: int) -> None:
    if total <= room:
        raise Refused(
            f"target={target} is not refuted: the jobs need {total} and the GPUs offer {room}"
        )


def _target(problem: RingProblem, certificate: Mapping[str, Any]) -> int:
    target, longest = integer(certificate, "target", 1), max(problem.shortest, default=0)
    if target < longest:
        raise Refused(f"target={target} is below the longest job's {longest} slots")
    return target


# --- contention -----------------------------------------------------------------------------------


def clique(problem: RingProblem, certificate: Mapping[str, Any]) -> int:
    """Of jobs that clash only one makes full progress in a slot."""
    jobs = integers(certificate.get("jobs"), "jobs")
    for place, j in enumerate(jobs):
        if j >= len(problem.gangs) or j in jobs[:place]:
            raise Refused(f"jobs={jobs} are not different jobs of the {len(problem.gangs)}")
        for i in jobs[:place]:
            if not _clash(problem, problem.gangs[i], problem.gangs[j]):
                raise Refused(f"jobs {i} and {j} can run without contention")
    gangs = [problem.gangs[j] for j in jobs]
    unit = knapsack(gangs, gangs, problem.gpus)
    total = 0
    for j in jobs:
        alone = problem.shortest[j]
        least = unit * alone
        if problem.wide(j) and (shared := problem.rate(j, problem.fewest(j), 2)):
            full = problem.rate(j, problem.fewest(j), 1)
            for x in range(alone):
                y = -(-(problem.work[j] - full * x) // shared)
                least = min(least, unit * x + problem.gangs[j] * y)
        total += least
    return -(-total // max(unit, 1))


def _clash(problem: RingProblem, one: int, other: int) -> bool:
    """Whether jobs of so many GPUs have to share GPUs, or an uplink."""
    if one + other > problem.gpus:
        return True
    if min(one, other) <= max(problem.sizes):
        return False
    most = 0  # GPUs of nodes that are left beside some that hold the first
    for held in problem.unions:
        if held >= one:
            most = max(most, problem.gpus - held)
    return most < other


def uplinks(problem: RingProblem, _: Mapping[str, Any]) -> int:
    """Wide jobs share the uplinks of all nodes."""
    total = Fraction(0)
    for j, work in enumerate(problem.work):
        if problem.wide(j):
            n = problem.fewest(j)
            most = min(len(problem.gangs), max(problem.sizes))
            best = max(p * problem.rate(j, n, p) for p in range(1, most + 1))
            total += Fraction(n * work, best)
    return ceil(total / max(len(problem.sizes), 1))


# --- search ---------------------------------------------------------------------------------------


def search(problem: RingProblem, certificate: Mapping[str, Any]) -> int:
    """No sequence of starts and placements is ready by `target`."""
    target = integer(certificate, "target", 0)
    if len(problem.gangs) > MOST_JOBS:
        raise Refused(f"a search is for at most {MOST_JOBS} jobs, there are {len(problem.gangs)}")
    states: set[tuple[tuple[Run, ...], tuple[int, ...]]] = {((), tuple(range(len(problem.gangs))))}
    listed = ways = 0
    for left in range(target, -1, -1):
        if any(not running and not waiting for running, waiting in states):
            raise Refused(f"target={target} is not refuted: a schedule is ready in time")
        if not left:
            break
        after = set()
        for state in states:
            for running, waiting in _starts(problem, *state):
                ways += 1
                if ways > MOST_WAYS:
                    raise Refused(f"target={target} takes more than {MOST_WAYS} ways to refute")
                reached = _canonical(problem, _advanced(problem, running)), waiting
                if reached not in after and _in_time(problem, *reached, left - 1):
                    after.add(reached)
                    listed += 1
            if listed > MOST_STATES:
                raise Refused(f"target={target} takes more than {MOST_STATES} states to refute")
        states = after
    return target + 1


def _starts(
    problem: RingProblem, running: tuple[Run, ...], waiting: tuple[int, ...]
) -> Iterator[tuple[tuple[Run, ...], tuple[int, ...]]]:
    """All ways to start some of the waiting jobs now, wherever there is room."""
    if not waiting:
        yield running, ()
        return
    first, rest = waiting[0], waiting[1:]
    for begun, later in _starts(problem, running, rest):
        yield begun, (first, *later)
        free = [size - sum(run[2][s] for run in begun) for s, size in enumerate(problem.sizes)]
        for held in _placements(problem.gangs[first], tuple(free)):
            yield (*begun, (first, problem.work[first], held)), later


def _placements(gang: int, free: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All ways to put a gang on nodes with so many free GPUs."""
    if not free:
        if not gang:
            yield ()
        return
    for here in range(max(0, gang - sum(free[1:])), min(gang, free[0]) + 1):
        for others in _placements(gang - here, free[1:]):
            yield (here, *others)


def _advanced(problem: RingProblem, running: tuple[Run, ...]) -> tuple[Run, ...]:
    """What is left after a slot."""
    spanning = [held for _, _, held in running if sum(map(bool, held)) > 1]
    crowd = [sum(map(bool, column)) for column in zip(*spanning, strict=True)]
    after = []
    for j, left, held in running:
        on = [s for s, gpus in enumerate(held) if gpus]
        contenders = max(crowd[s] for s in on) if len(on) > 1 else 1
        left -= problem.rate(j, len(on), contenders)
        if left > 0:
            after.append((j, left, held))
    return tuple(after)


def _canonical(problem: RingProblem, running: tuple[Run, ...]) -> tuple[Run, ...]:
    """The same run, with equal nodes in the order of what they hold."""
    runs = sorted(running)
    columns = [tuple(held[s] for _, _, held in runs) for s in range(len(problem.sizes))]
    sizes = problem.sizes
    order = sorted(range(len(sizes)), key=lambda s: (sizes[s], columns[s]))
    places = sorted(range(len(sizes)), key=lambda s: (sizes[s], s))
    named = dict(zip(places, order, strict=True))  # the node whose jobs come here
    return tuple(
        (j, left, tuple(held[named[s]] for s in range(len(sizes)))) for j, left, held in runs
    )


def _in_time(
    problem: RingProblem, running: tuple[Run, ...], waiting: tuple[int, ...], left: int
) -> bool:
    """Whether each job could be ready in so many slots if it were alone, and all by area."""
    area = sum(problem.gangs[j] * problem.shortest[j] for j in waiting)
    if any(problem.shortest[j] > left for j in waiting) or area > problem.gpus * left:
        return False
    spans = ((sum(map(bool, held)), j, rest) for j, rest, held in running)
    return all(rest <= left * problem.rate(j, n, 1) for n, j, rest in spans)


RULES: Mapping[str, Callable[[RingProblem, Mapping[str, Any]], int]] = {
    "area": area,
    "longest job": longest_job,
    "dff": dff,
    "configuration lp": configuration,
    "search": search,
    "clique": clique,
    "uplinks": uplinks,
}
