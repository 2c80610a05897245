"""Trees of windows with prices: what each proves, second by second, and small ones that prove much.

Written from the theorem, without a look at its rule: a job has a list of choices, an end and what
it costs, and each step of a tree leaves some of them. Good prices are those of a linear program
over all sets of seconds that a job can have.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import floor
from typing import Any
from zlib import compress, decompress

import numpy as np
from scipy.optimize import linprog

from certified_cases import corrupted
from gangsched.formulations import CompletionTime

#: of prices that a linear program has found, and the dearest one
SCALE, DEAREST = 2**16, 100


@dataclass(frozen=True)
class Gang:
    """A job and what it can choose: to end at a time at some cost, or None, to be left out."""

    gpus: int
    release: int
    work: int
    choices: tuple[tuple[int | None, Fraction], ...]
    last: bool = True  #: whether it runs in the second before its end

    def before(self, at: int) -> Gang:
        """With an end at `at` or before."""
        kept = [one for one in self.choices if one[0] is not None and one[0] <= at]
        return replace(self, choices=tuple(kept))

    def after(self, at: int) -> Gang:
        """With a later end, or none."""
        return replace(self, choices=tuple(c for c in self.choices if c[0] is None or c[0] > at))

    def paid(self, prices: Sequence[int], end: int | None) -> int | None:
        """What the cheapest seconds until then cost; None where they are too few."""
        if end is None:
            return 0
        known = [*prices, *[0] * end][self.release : end]
        if len(known) < self.work:
            return None
        must = known.pop() if self.last else 0
        return must + sum(sorted(known)[: self.work - self.last])


@dataclass(frozen=True)
class Priced:
    """A leaf: times, and prices of each job between some of them, from the `first`-th on."""

    times: list[int]
    first: list[int]
    prices: list[list[int]]
    scale: int = 1

    def by_second(self, j: int) -> list[int]:
        """Prices of job j from 0 on."""
        found = [0] * self.times[-1]
        for k, price in enumerate(self.prices[j], self.first[j]):
            for t in range(self.times[k], self.times[k + 1]):
                found[t] = price
        return found

    def value(self, gangs: Sequence[Gang], room: int) -> Fraction | None:
        """The theorem's bound; None where a job has no choice."""
        rows, total = [self.by_second(j) for j in range(len(gangs))], Fraction(0)
        for gang, row in zip(gangs, rows, strict=True):
            costs = []
            for end, cost in gang.choices:
                paid = gang.paid(row, end)
                if paid is not None:
                    costs.append(cost + Fraction(paid, self.scale))
            if not costs:
                return None
            total += min(costs)
        fit = list(sets(gangs, room))
        worth = sum(max(sum(rows[j][t] for j in some) for some in fit) for t in range(len(rows[0])))
        return total - Fraction(worth, self.scale)

    def fields(self) -> dict[str, Any]:
        """The leaf as a certificate has it."""
        flat = np.array([price for row in self.prices for price in row], dtype="<u8")
        text = b64encode(compress(flat.view(np.uint8).reshape(-1, 8).T.tobytes())).decode()
        return {
            "times": self.times, "first": self.first, "counts": [len(row) for row in self.prices],
            "prices": text, "scale": self.scale,
        }  # fmt: skip


@dataclass(frozen=True)
class Split:
    """An inner node."""

    job: int
    at: int
    early: Tree
    late: Tree


Tree = Priced | Split


def sets(gangs: Sequence[Gang], room: int) -> list[tuple[int, ...]]:
    """All sets of jobs that fit."""
    every = range(len(gangs))
    some = (chosen for n in range(len(gangs) + 1) for chosen in combinations(every, n))
    return [chosen for chosen in some if sum(gangs[j].gpus for j in chosen) <= room]


def least(tree: Tree, gangs: Sequence[Gang], room: int) -> Fraction | None:
    """What a tree proves of the cost; None where no schedule is left at all."""
    if isinstance(tree, Priced):
        return tree.value(gangs, room)
    sides = (tree.early, Gang.before), (tree.late, Gang.after)
    found = [least(one, chosen(gangs, tree.job, tree.at, side), room) for one, side in sides]
    return min((value for value in found if value is not None), default=None)


def chosen(
    gangs: Sequence[Gang], j: int, at: int, side: Callable[[Gang, int], Gang]
) -> tuple[Gang, ...]:
    """The gangs with fewer choices of one of them."""
    return (*gangs[:j], side(gangs[j], at), *gangs[j + 1 :])


def certificate(tree: Tree, target: Fraction | int) -> dict[str, Any]:
    """The tree as a certificate."""
    nodes: list[dict[str, Any]] = []

    def add(one: Tree) -> int:
        number = len(nodes)
        nodes.append({})
        if isinstance(one, Priced):
            nodes[number] = one.fields()
        else:
            then = [add(one.early), add(one.late)]
            nodes[number] = {"job": one.job, "at": one.at, "then": then}
        return number

    add(tree)
    ratio = [*Fraction(target).as_integer_ratio()]
    return {"kind": "completions in windows", "target": ratio, "nodes": nodes}


# --- trees ----------------------------------------------------------------------------------------


def random_leaf(rng: np.random.Generator, jobs: int, until: int) -> Priced:
    """Any prices in any intervals."""
    inner = rng.integers(0, until + 3, int(rng.integers(1, 7)))
    times = np.unique([0, 1, *inner] if rng.random() < 0.7 else [1, 3, *inner]).tolist()
    first = rng.integers(0, len(times) - 1, jobs).tolist()
    counts = [int(rng.integers(0, len(times) - low)) for low in first]
    prices = [rng.integers(0, 5, count).tolist() for count in counts]
    return Priced(times, first, prices, int(rng.integers(1, 4)))


def best_leaf(gangs: Sequence[Gang], room: int, until: int) -> Priced:
    """The prices of each second that prove most, but for what is rounded off."""
    jobs, rows, most = len(gangs), list[np.ndarray](), list[float]()
    size = jobs + (jobs + 1) * until  # the least cost of each, prices, and what sets are worth
    for j, gang in enumerate(gangs):
        for end, cost in gang.choices:
            stop = gang.release if end is None else end
            last = {stop - 1} if gang.last else set()
            free = range(gang.release, stop - gang.last)
            for some in combinations(free, gang.work - gang.last if end is not None else 0):
                row = np.zeros(size)
                row[j] = 1
                for t in {*some, *last}:
                    row[jobs + j * until + t] = -1
                rows.append(row)
                most.append(float(cost))
    for some in sets(gangs, room):
        for t in range(until):
            row = np.zeros(size)
            for j in some:
                row[jobs + j * until + t] = 1
            row[jobs + jobs * until + t] = -1
            rows.append(row)
            most.append(0.0)
    gain = np.zeros(size)
    gain[:jobs], gain[jobs + jobs * until :] = -1, 1
    limits = [(None, 10**4)] * jobs + [(0, DEAREST)] * (jobs * until) + [(0, None)] * until
    found = linprog(gain, np.array(rows), np.array(most), bounds=limits).x
    prices = np.floor(found[jobs : jobs + jobs * until].reshape(jobs, until) * SCALE + 0.25)
    return Priced([*range(until + 1)], [0] * jobs, prices.astype(int).tolist(), SCALE)


def grown(gangs: Sequence[Gang], room: int, enough: Fraction, depth: int = 4) -> Tree:
    """A tree with the best prices, split as long as a leaf does not prove enough."""
    until = max((end for gang in gangs for end, _ in gang.choices if end is not None), default=1)
    leaf = best_leaf(gangs, room, until)
    value = leaf.value(gangs, room)
    if value is None or value >= enough or not depth:
        return leaf
    ends = [[end for end, _ in gang.choices if end is not None] for gang in gangs]
    j = max(range(len(gangs)), key=lambda j: len(ends[j]))
    at = ends[j][(len(ends[j]) - 1) // 2]
    early, late = (chosen(gangs, j, at, side) for side in (Gang.before, Gang.after))
    return Split(j, at, grown(early, room, enough, depth - 1), grown(late, room, enough, depth - 1))


def random_tree(
    rng: np.random.Generator, gangs: Sequence[Gang], room: int, until: int, depth: int = 2
) -> Tree:
    """Any splits, and any prices or some that are near the best ones."""
    if depth and rng.random() < 0.6:
        j, at = int(rng.integers(len(gangs))), int(rng.integers(0, until + 1))
        early, late = (chosen(gangs, j, at, side) for side in (Gang.before, Gang.after))
        sides = (random_tree(rng, one, room, until, depth - 1) for one in (early, late))
        return Split(j, at, *sides)
    if rng.random() < 0.3:
        return random_leaf(rng, len(gangs), until)
    leaf = best_leaf(gangs, room, until)
    changed = [[price * int(rng.integers(7, 10)) // 8 for price in row] for row in leaf.prices]
    return replace(leaf, prices=changed if rng.random() < 0.5 else leaf.prices)


def forged(made: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """A certificate that somebody has changed: anything in one place or two, or prices."""
    if rng.random() < 0.7:
        found: dict[str, Any] = corrupted(made, rng)
        return found
    nodes = [dict(node) for node in made["nodes"]]
    node = nodes[rng.choice([k for k, node in enumerate(nodes) if "prices" in node])]
    text, at = node["prices"], int(rng.integers(len(node["prices"])))
    if rng.random() < 0.3:
        changes = [text[:at], text[at:], text[::-1], text[:at] + "A" + text[at + 1 :]]
        node["prices"] = changes[rng.integers(4)]
    else:
        raw = np.frombuffer(decompress(b64decode(text)), dtype=np.uint8).copy()
        if raw.size:
            some = rng.integers(raw.size, size=int(rng.integers(1, 4)))
            raw[some] = rng.integers(0, 256, some.size)
        node["prices"] = b64encode(compress(raw.tobytes())).decode()
    return {**made, "nodes": nodes}


# --- problems -------------------------------------------------------------------------------------


def ends_below(problem: CompletionTime, target: Fraction | int) -> tuple[Gang, ...]:
    """Jobs with all ends at which the objective may still be at the target."""
    jobs = problem.instance.jobs
    weights = [Fraction(job.weight) if problem.weighted else Fraction(1) for job in jobs]

    def cost(j: int, end: int) -> Fraction:
        since = 0 if problem.measure == "completion" else jobs[j].release
        parts = jobs[j].work if problem.measure == "slowdown" else 1
        return weights[j] * Fraction(end - since, parts)

    alone = [cost(j, job.release + job.work) for j, job in enumerate(jobs)]
    found = []
    for j, job in enumerate(jobs):
        spare = target - sum(alone) + alone[j]
        per_second = cost(j, 1) - cost(j, 0)
        last = floor((spare - cost(j, 0)) / per_second)
        ends = range(job.release + job.work, last + 1)
        choices = tuple((end, cost(j, end)) for end in ends)
        found.append(Gang(job.gpus, job.release, job.work, choices))
    return tuple(found)
