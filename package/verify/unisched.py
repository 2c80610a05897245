"""Bounds of the reward of UniSched: what prices of GPU leases prove.

Time is cut into leases of T seconds. A job with deadlines earns V for a deadline if it gets L of
its first Q leases on one of its allocations, which are at full speed or slower; a best-effort job
or one that is to be profiled earns a little for lease 0. Needed work w, deadline D and the t^sr
seconds of an expected suspension give L and Q (:func:`_terms`).

- ``lease prices``: let each gang of s GPUs within a node take c_s of a row ("rows"), GPUs anywhere
  c_1 each. A node with f free GPUs holds at most K(f) of the row, the best set of gangs of f GPUs
  together, so lease k has C_k, the sum of that over the nodes. A gang on one node that is counted
  as single GPUs may be on one node too: put single GPUs in its place. At prices p_k ("prices") of
  each row and S ("scale"), whoever has L of its first Q leases pays the L cheapest at least, and
  all pay no more than sum p_k C_k, so that

      S sum of V <= sum p_k C_k + sum over jobs of max(0, max over options of S V - cost).

  Sums of values are multiples of their greatest common divisor if all are integers, and the
  objective is the float next to the sum, and so is what is proven.

O(options K log K) for K leases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import gcd, lcm
from typing import Any, NamedTuple

from .fields import (
    BadFile,
    JobColumns,
    Refused,
    flag,
    integer,
    integers,
    one_of,
    rows,
    steps,
    to_float,
    whole,
)
from .kernels import PARTS, ReadProblem


class LeaseOption(NamedTuple):
    """Pieces of a gang, so many of the first leases of a job, and what that is worth."""

    pieces: tuple[int, ...]
    needed: int
    within: int
    value: float


class LeaseProblem(ReadProblem):
    """What the rule needs of a problem: nodes, leases, and each job's options."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        nodes = [whole(node, "gpus") for node in rows(data, "instance", "cluster", "nodes")]
        if len(set(nodes)) != 1:
            raise BadFile("nodes are not of one size")
        given = data.get("parameters", {})
        self.size, self.nodes = nodes[0], len(nodes)
        self.lease, self.best_effort_lease = (
            whole(given, "lease", 600),
            whole(given, "be_lease", 300),
        )
        self.kind = one_of(given, "allocations", ("cells", "exact", "consolidated"))
        self.printed = one_of(given, "rounding", ("lossless", "paper")) == "paper"
        self.aware = flag(given, "sr_aware", default=True)
        self.overhead = whole(given, "overhead", 25)
        self.phases = {int(i): phase for i, phase in (given.get("phases") or {}).items()}
        self.profilers = set(given.get("profilers") or ())
        free = given.get("free")
        self.free = nodes if free is None else [whole({"free": n}, "free") for n in free]
        if len(self.free) != self.nodes or any(n > self.size for n in self.free):
            raise BadFile(f"free={self.free} are not GPUs of {self.nodes} nodes")
        jobs = JobColumns.of(data)
        self.gangs, self.work = jobs.wholes("gpus"), jobs.wholes("work")
        self.releases = jobs.wholes("release", 0)
        self.split_speeds = jobs.column("split_speed", 1.0)
        self.costs = jobs.column("preemption_cost")
        self.rewards = [steps(pairs) for pairs in jobs.column("rewards")]
        self.small = self._small() if flag(given, "lexicographic", default=False) else 1.0

    def due(self, j: int) -> bool:
        """Whether deadlines count for the job."""
        return j not in self.profilers and bool(self.rewards[j])

    def _small(self) -> float:
        """By what small values are multiplied so as to stay below any difference of rewards."""
        due = [j for j in range(len(self.gangs)) if self.due(j)]
        values = [Fraction(repr(v)) for v in {v for j in due for _, v in self.rewards[j]}]
        count = len(self.gangs) - len(due)
        if not count or not values:
            return 1.0
        step = Fraction(gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values)))
        return min(1.0, float(9 * step / (10 * count)))

    def first(self, j: int) -> int:
        """The first lease that begins after the release."""
        return -(-self.releases[j] // self.lease)

    def suspension(self, j: int) -> int:
        """t^sr."""
        own = self.costs[j]
        cost = self.overhead if own is None else whole({"preemption_cost": own}, "preemption_cost")
        return cost if self.aware else 0

    def allocations(self, j: int) -> Iterator[tuple[tuple[int, ...], int]]:
        """Pieces, each within a node or single GPUs anywhere, and millionths of full speed."""
        gang = self.gangs[j]
        power = 1 << (gang - 1).bit_length()
        if j in self.profilers:
            yield (1,) * min(2, gang), PARTS
        elif self.kind == "consolidated":
            nodes, rest = divmod(gang, self.size)
            more = (1 << (rest - 1).bit_length(),) if rest else ()
            yield (self.size,) * nodes + more, PARTS
        elif gang > self.size:
            yield (1,) * gang, PARTS
        elif gang == power:
            yield (gang,), PARTS
        else:
            yield (gang if self.kind == "exact" else power,), PARTS
            yield (1,) * gang, round(PARTS * self.split_speeds[j])

    def options(self, j: int) -> Iterator[LeaseOption]:
        """What can be chosen for a job."""
        for pieces, speed in self.allocations(j):
            if self.due(j):
                release = self.releases[j]
                for deadline, value in self.rewards[j]:
                    terms = _terms(self, j, release + deadline - self.first(j) * self.lease, speed)
                    if terms is not None:
                        yield LeaseOption(pieces, *terms, value)
            elif self.first(j) == 0:
                yield LeaseOption(pieces, 1, 1, self.small_value(j, speed))

    def small_value(self, j: int, speed: int) -> float:
        """What lease 0 is worth: tau / (tau + remaining time) without deadlines."""
        if j in self.profilers:
            return self.small
        tau = self.best_effort_lease
        work = -(-self.work[j] * PARTS // speed)
        remaining = 2 * work + self.suspension(j) * (-(-work // tau) - 1)  # twice
        return self.small * (2 * tau / (2 * tau + remaining))


def _terms(problem: LeaseProblem, j: int, deadline: int, speed: int) -> tuple[int, int] | None:
    """L and Q. Of n leases among the first m, (n - 1)(m - n) / m are followed by a suspension.

    As printed: n and m from the work alone, then n / speed leases. Without loss: n is the least
    that is enough for itself, and a job is complete within its last lease.
    """
    work, cost, lease = problem.work[j], problem.suspension(j), problem.lease
    if problem.printed:
        n, m = -(-work // lease), deadline // lease
        if m < n:
            return None
        printed = -(-(work * m + cost * (n - 1) * (m - n)) // (lease * m))
        n = -(-printed * PARTS // speed)
        return (n, m) if n <= m else None
    phase = problem.phases.get(j, "fresh")
    seconds = -(-work * PARTS // speed) + (cost if phase == "suspended" else 0)
    n = -(-seconds // lease)
    m = (deadline - (seconds - (n - 1) * lease)) // lease + 1
    if m < n:
        return None
    runs = 0 if phase == "running" else 1
    while n < m and n * lease * m < seconds * m + cost * (n - runs) * (m - n):
        n += 1
    length = max(seconds + -(-cost * (n - runs) * (m - n) // m), (n - 1) * lease + 1)
    return n, (deadline - (length - (n - 1) * lease)) // lease + 1


def lease_prices(problem: LeaseProblem, certificate: Mapping[str, Any]) -> Fraction:
    """What everybody can gain at prices of leases, and what the leases cost."""
    scale, loads, prices = read_prices(problem, certificate)
    rooms = zip(capacities(problem, loads), prices, strict=True)
    total = sum(price * room[bool(k)] for room, row in rooms for k, price in enumerate(row))
    proven, values = Fraction(total), set[float]()
    for j in range(len(problem.gangs)):
        gain = Fraction(0)
        if problem.due(j):  # also of deadlines that nobody can meet
            values |= {value for _, value in problem.rewards[j]}
        for option in problem.options(j):
            values.add(option.value)
            cost = _cost(option, problem.first(j), loads, prices)
            gain = max(gain, Fraction(option.value) * scale - cost)
        proven += gain
    proven /= scale
    if values and all(value == int(value) for value in values):
        step = gcd(*(int(value) for value in values))
        proven = Fraction(proven // step * step)
    return to_float(proven)


def read_prices(
    problem: LeaseProblem, certificate: Mapping[str, Any]
) -> tuple[int, list[list[int]], list[list[int]]]:
    """The scale, and by row what gangs take and the prices of leases."""
    scale = integer(certificate, "scale", 1)
    loads = certificate.get("rows", [list(range(1, problem.size + 1))])
    prices = certificate.get("prices")
    if not isinstance(loads, list) or not isinstance(prices, list):
        raise Refused("prices and rows are lists of lists of integers")
    if len(loads) != len(prices):
        raise Refused(f"prices has {len(prices)} rows, and rows has {len(loads)}")
    for k, (load, row) in enumerate(zip(loads, prices, strict=True)):
        integers(load, f"rows[{k}]", count=problem.size, what="sizes of gangs")
        integers(row, f"prices[{k}]")
    return scale, loads, prices


def capacities(problem: LeaseProblem, loads: list[list[int]]) -> list[tuple[int, int]]:
    """C_k of each row, in lease 0 and in every later one."""
    mosts = [_most(load) for load in loads]
    return [
        (sum(most[free] for free in problem.free), problem.nodes * most[problem.size])
        for most in mosts
    ]


def _cost(option: LeaseOption, first: int, loads: list[list[int]], prices: list[list[int]]) -> int:
    """What the cheapest leases that the option needs cost; those without a price cost nothing."""
    priced = min(option.within, max([0, *(len(row) - first for row in prices)]))
    paid = [0] * priced
    for load, row in zip(loads, prices, strict=True):
        weight = sum(load[piece - 1] for piece in option.pieces)
        for k, price in enumerate(row[first : first + priced]):
            paid[k] += weight * price
    needed = option.needed - (option.within - priced)
    return sum(sorted(paid)[: max(0, needed)])


def _most(load: list[int]) -> list[int]:
    """K(0), K(1), ...: the most that gangs of together so many GPUs take."""
    most = [0]
    for free in range(1, len(load) + 1):
        most.append(max(load[s - 1] + most[free - s] for s in range(1, free + 1)))
    return most


RULES = {"lease prices": lease_prices}
