"""Trees of windows with prices: what each proves, second by second, and small ones that prove much.

Written from the theorem, without a look at its rule: a job has a list of choices, an end and what
it costs, and each step of a tree leaves some of them. Good prices are those of a linear program
over all sets of seconds that a job can have.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import ceil, floor
from typing import Any
from zlib import compress

import numpy as np
from scipy.optimize import linprog

import deadline_optimum
import preemptive
import sharing_optimum
from gangsched.formulations import CompletionTime, DeadlineRewards, SharingIncentive

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
    user: int = 0  #: by whose weight its cost is multiplied, where users have some

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


#: b_u and d_u of each user
Terms = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Priced:
    """A leaf: times, and prices of each job between some of them, from the `first`-th on."""

    times: list[int]
    first: list[int]
    prices: list[list[int]]
    scale: int = 1
    weights: tuple[int, ...] = ()  #: of users, who have terms

    def by_second(self, j: int) -> list[int]:
        """Prices of job j from 0 on."""
        found = [0] * self.times[-1]
        for k, price in enumerate(self.prices[j], self.first[j]):
            for t in range(self.times[k], self.times[k + 1]):
                found[t] = price
        return found

    def value(self, gangs: Sequence[Gang], room: int, terms: Terms = ()) -> Fraction | None:
        """The theorem's bound; None where a job has no choice."""
        rows, total = [self.by_second(j) for j in range(len(gangs))], Fraction(0)
        for gang, row in zip(gangs, rows, strict=True):
            weight = self.weights[gang.user] if terms else self.scale
            costs = []
            for end, cost in gang.choices:
                paid = gang.paid(row, end)
                if paid is not None:
                    costs.append(weight * cost + paid)
            if not costs:
                return None
            total += min(costs)
        fit = list(sets(gangs, room))
        for t in range(len(rows[0])):
            total -= max(sum(rows[j][t] for j in some) for some in fit)
        if not terms:
            return total / self.scale
        weighted = list(zip(self.weights, terms, strict=True))
        return (total - sum(m * b for m, (b, _) in weighted)) / sum(m * d for m, (_, d) in weighted)

    def fields(self) -> dict[str, Any]:
        """The leaf as a certificate has it."""
        flat = np.array([price for row in self.prices for price in row], dtype="<u8")
        text = b64encode(compress(flat.view(np.uint8).reshape(-1, 8).T.tobytes())).decode()
        return {
            "times": self.times, "first": self.first, "counts": [len(row) for row in self.prices],
            "prices": text, **({"weights": [*self.weights]} if self.weights else {}),
            "scale": self.scale,
        }  # fmt: skip


@dataclass(frozen=True)
class Split:
    """An inner node."""

    job: int
    at: int
    early: Tree
    late: Tree


@dataclass(frozen=True)
class Narrowed:
    """An inner node whose prices leave out all ends of job j but those from low[j] to high[j]."""

    leaf: Priced
    low: tuple[int, ...]
    high: tuple[int, ...]
    then: Tree

    def parts(self, gangs: Sequence[Gang]) -> list[tuple[Tree, tuple[Gang, ...]]]:
        """What has to be proven: of each job its ends outside by the prices, and then the rest."""
        found, inside = list[tuple[Tree, tuple[Gang, ...]]](), tuple(gangs)
        for j, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            ended = tuple(one for one in gangs[j].choices if one[0] is not None)
            for side, at in ((Gang.before, low - 1), (Gang.after, high)):
                without = (*gangs[:j], replace(gangs[j], choices=ended), *gangs[j + 1 :])
                found.append((self.leaf, chosen(without, j, at, side)))
            kept = [c for c in gangs[j].choices if c[0] is None or low <= c[0] <= high]
            inside = (*inside[:j], replace(gangs[j], choices=tuple(kept)), *inside[j + 1 :])
        return [*found, (self.then, inside)]


Tree = Priced | Split | Narrowed


def sets(gangs: Sequence[Gang], room: int) -> list[tuple[int, ...]]:
    """All sets of jobs that fit."""
    every = range(len(gangs))
    some = (chosen for n in range(len(gangs) + 1) for chosen in combinations(every, n))
    return [chosen for chosen in some if sum(gangs[j].gpus for j in chosen) <= room]


def least(tree: Tree, gangs: Sequence[Gang], room: int, terms: Terms = ()) -> Fraction | None:
    """What a tree proves of the cost; None where no schedule is left at all."""
    if isinstance(tree, Priced):
        return tree.value(gangs, room, terms)
    if isinstance(tree, Narrowed):
        parts = tree.parts(gangs)
    else:
        sides = (tree.early, Gang.before), (tree.late, Gang.after)
        parts = [(one, chosen(gangs, tree.job, tree.at, side)) for one, side in sides]
    found = [least(one, own, room, terms) for one, own in parts]
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
        elif isinstance(one, Narrowed):
            nodes[number] = one.leaf.fields() | {"low": [*one.low], "high": [*one.high]}
            nodes[number]["then"] = [add(one.then)]
        else:
            then = [add(one.early), add(one.late)]
            nodes[number] = {"job": one.job, "at": one.at, "then": then}
        return number

    add(tree)
    ratio = [*Fraction(target).as_integer_ratio()]
    return {"kind": "completions in windows", "target": ratio, "nodes": nodes}


# --- trees ----------------------------------------------------------------------------------------


def random_leaf(rng: np.random.Generator, jobs: int, until: int, users: int = 0) -> Priced:
    """Any prices in any intervals, and any weights of so many users."""
    inner = rng.integers(0, until + 3, int(rng.integers(1, 7)))
    times = np.unique([0, 1, *inner] if rng.random() < 0.7 else [1, 3, *inner]).tolist()
    first = rng.integers(0, len(times) - 1, jobs).tolist()
    counts = [int(rng.integers(0, len(times) - low)) for low in first]
    prices = [rng.integers(0, 5, count).tolist() for count in counts]
    weights = (rng.integers(0, 4, users) + (np.arange(users) == 0)).tolist()
    return Priced(times, first, prices, int(rng.integers(1, 4)), tuple(weights))


def best_leaf(gangs: Sequence[Gang], room: int, until: int, terms: Terms = ()) -> Priced:
    """The prices of each second that prove most, but for what is rounded off.

    Columns: the least cost of each job, its prices, what sets are worth, and users' weights.
    """
    jobs, rows, most = len(gangs), list[np.ndarray](), list[float]()
    worths, weights = jobs + jobs * until, jobs + (jobs + 1) * until
    for j, gang in enumerate(gangs):
        for end, cost in gang.choices:
            stop = gang.release if end is None else end
            if stop > until:
                continue
            free = range(gang.release, stop - gang.last)
            for some in combinations(free, gang.work - gang.last if end is not None else 0):
                row = np.zeros(weights + len(terms))
                row[j] = 1
                for t in (*some, *([stop - 1] if gang.last else [])):
                    row[jobs + j * until + t] = -1
                if terms:
                    row[weights + gang.user] = -cost
                rows.append(row)
                most.append(0.0 if terms else float(cost))
    for some in sets(gangs, room):
        for t in range(until):
            row = np.zeros(weights + len(terms))
            row[[jobs + j * until + t for j in some]] = 1
            row[worths + t] = -1
            rows.append(row)
            most.append(0.0)
    loss, total = np.zeros((2, weights + len(terms)))
    loss[:jobs], loss[worths:weights], loss[weights:] = -1, 1, [b for b, _ in terms]
    total[weights:] = [d for _, d in terms]
    limits = [(None, 10**4)] * jobs + [(0, DEAREST)] * (jobs * until)
    limits += [(0, None)] * (until + len(terms))
    equal = {"A_eq": total[None], "b_eq": [1]} if terms else {}
    found = linprog(loss, np.array(rows), np.array(most), bounds=limits, **equal).x * SCALE
    prices = np.floor(found[jobs:worths].reshape(jobs, until) + 0.25).astype(int)
    scaled = tuple(np.round(found[weights:]).astype(int).tolist())
    return Priced([*range(until + 1)], [0] * jobs, prices.tolist(), SCALE, scaled)


def last_end(gangs: Sequence[Gang]) -> int:
    """The latest choice of all, but for those before which all work can be done twice."""
    ends = [end for gang in gangs for end, _ in gang.choices if end is not None]
    enough = max(gang.release for gang in gangs) + 2 * sum(gang.work for gang in gangs)
    return min(max(ends, default=1), enough)


def grown(case: Case, gangs: Sequence[Gang], target: Fraction, depth: int = 9) -> Tree:
    """A tree with the best prices, split as long as a leaf does not prove the target."""
    leaf = best_leaf(gangs, case.room, last_end(gangs), case.terms)
    value = leaf.value(gangs, case.room, case.terms)
    j = max(range(len(gangs)), key=lambda j: len(gangs[j].choices))
    proves = value is None or case.next(value) >= target
    if proves or not depth or len(gangs[j].choices) < 2:
        return leaf
    ends = sorted(end for end, _ in gangs[j].choices if end is not None)
    at = ends[(len(ends) - 1) // 2]
    early, late = (chosen(gangs, j, at, side) for side in (Gang.before, Gang.after))
    return Split(j, at, grown(case, early, target, depth - 1), grown(case, late, target, depth - 1))


def random_tree(
    rng: np.random.Generator, gangs: Sequence[Gang], room: int, terms: Terms = (), depth: int = 2
) -> Tree:
    """Any splits and narrowed windows, and any prices or some that are near the best ones."""
    until = last_end(gangs)
    if depth and rng.random() < 0.3:
        low, high = [0] * len(gangs), [until] * len(gangs)
        for j in rng.integers(len(gangs), size=int(rng.integers(1, 4))).tolist():
            ends = sorted(end for end, _ in gangs[j].choices if end is not None) or [0]
            low[j], high[j] = ends[:2][rng.integers(-1, 1)], ends[-4:][rng.integers(-1, 1)]
        node = Narrowed(
            best_leaf(gangs, room, until, terms), tuple(low), tuple(high), Priced([0, 1], [], [])
        )
        *_, (_, inside) = node.parts(gangs)
        return replace(node, then=random_tree(rng, inside, room, terms, depth - 1))
    if depth and rng.random() < 0.6:
        j, at = int(rng.integers(len(gangs))), int(rng.integers(0, until + 1))
        early, late = (chosen(gangs, j, at, side) for side in (Gang.before, Gang.after))
        sides = (random_tree(rng, one, room, terms, depth - 1) for one in (early, late))
        return Split(j, at, *sides)
    if rng.random() < 0.3:
        return random_leaf(rng, len(gangs), until, len(terms))
    leaf = best_leaf(gangs, room, until, terms)
    changed = [[price * int(rng.integers(7, 10)) // 8 for price in row] for row in leaf.prices]
    return replace(leaf, prices=changed if rng.random() < 0.5 else leaf.prices)


# --- problems -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A problem with its optimum, all as costs: rewards are below 0."""

    problem: Any
    best: Fraction
    #: choices of the jobs, where the cost is still to be at a target at most
    gangs: Callable[[Fraction], tuple[Gang, ...]]
    #: the next cost that a schedule can have, from one on
    next: Callable[[Fraction], Fraction]
    terms: Terms = ()
    sign: int = 1

    @property
    def room(self) -> int:
        """GPUs."""
        return int(self.problem.instance.cluster.gpus)

    def certificate(self, tree: Tree, target: Fraction) -> dict[str, Any]:
        """The tree for a target, which is a cost."""
        return certificate(tree, self.sign * target)


def of_completions(problem: CompletionTime) -> Case:
    """Jobs end when they like."""
    up = (lambda cost: Fraction(ceil(cost))) if problem.integral else Fraction
    return Case(problem, preemptive.optimum(problem), partial(ends_below, problem), up)


def of_rewards(problem: DeadlineRewards) -> Case:
    """Jobs end with a step, or are left out."""
    gangs = [
        Gang(
            job.gpus, job.release, job.work or 0,
            ((None, Fraction(0)), *((job.release + d, -Fraction(v)) for d, v in job.rewards)),
            last=False,
        )
        for job in problem.jobs
    ]  # fmt: skip
    best, unit = -Fraction(deadline_optimum.optimum(problem)), problem.unit or 1
    return Case(
        problem, best, lambda _: tuple(gangs), lambda cost: ceil(cost / unit) * unit, sign=-1
    )


def of_users(problem: SharingIncentive) -> Case:
    """A user's other jobs have waited no less than they ran."""
    terms, best = [*problem.terms().values()], sharing_optimum.optimum(problem)
    owner = {j: u for u, own in enumerate(problem.members.values()) for j in own}

    def gangs(target: Fraction) -> tuple[Gang, ...]:
        found = []
        for j, job in enumerate(problem.jobs):
            less, over = terms[owner[j]]
            others = sum(
                problem.jobs[k].work or 0 for k in owner if owner[k] == owner[j] and k != j
            )
            flows = range(job.work or 0, floor(target * over) + less - others + 1)
            ends = (job.release + flow for flow in flows)
            choices = tuple(
                (end, Fraction(end - job.release)) for end in ends if end <= all_done(problem)
            )
            found.append(Gang(job.gpus, job.release, job.work or 0, choices, user=owner[j]))
        return tuple(found)

    def up(ratio: Fraction) -> Fraction:
        return min(Fraction(ceil(ratio * over), over) for _, over in terms)

    return Case(problem, Fraction(best or 0), gangs, up, terms)


def all_done(problem: Any) -> int:
    """By when all is done if it is done one by one."""
    jobs = problem.instance.jobs
    return int(max(job.release for job in jobs) + sum(job.work or 0 for job in jobs))


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
        ends = range(job.release + job.work, min(last, all_done(problem)) + 1)
        choices = tuple((end, cost(j, end)) for end in ends)
        found.append(Gang(job.gpus, job.release, job.work, choices))
    return tuple(found)
