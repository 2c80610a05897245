"""Gangs on as few nodes as possible: which numbers of gangs fit, told exactly, and on which nodes.

Source: Gao et al. (2024), Section III-C4 (Proposition 1).

A gang is consolidated where it is on the fewest nodes that can hold it.

Deviations from the paper
-------------------------
- Rounding gangs up to cells wastes GPUs. Which numbers of gangs fit consolidated on m nodes is told
  exactly by five inequalities (two on nodes of 4 GPUs).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ...formulations.unisched.problem import CONSOLIDATION_ROWS
from .cells import Ints

#: sizes of the gangs on one node, falling
Content = tuple[int, ...]

#: on nodes of more GPUs than this only best fit decreasing is tried
LARGEST = 16


@cache
def consolidated_rows(gpus: int) -> tuple[Ints, Ints]:
    """Return the inequalities that gangs on nodes with so many free GPUs have to satisfy.

    Notes
    -----
    The facets of the hull of all that one node can hold; that every integral point of its m-fold is
    a sum of m such contents was enumerated for small m and follows by Caratheodory's theorem for
    the others (page "theorems"). The last row counts GPUs.

    Examples
    --------
    >>> consolidated_rows(4)
    (array([[0, 1, 2, 2],
           [1, 2, 3, 4]]), array([2, 4]))
    """
    if gpus not in CONSOLIDATION_ROWS:
        raise ValueError(
            f"consolidated rows: gpus={gpus} is not within 1 and {max(CONSOLIDATION_ROWS)}"
        )
    rows = CONSOLIDATION_ROWS[gpus]
    matrix = np.array([coefficients for coefficients, _ in rows], dtype=np.int64)
    limit = np.array([one for _, one in rows], dtype=np.int64)
    matrix.flags.writeable = limit.flags.writeable = False
    return matrix, limit


def _within_rows(gangs: Mapping[int, int], gpus: int, nodes: int) -> bool:
    if gangs and max(gangs) > gpus:
        return False
    return all(
        sum(coefficients[size - 1] * n for size, n in gangs.items()) <= nodes * limit
        for coefficients, limit in CONSOLIDATION_ROWS[gpus]
    )


def pack(counts: Sequence[int], free: Sequence[int]) -> list[Content] | None:
    """Return what to put on each node so that all gangs are placed, or None where they do not fit.

    Notes
    -----
    Exact up to 16 GPUs a node. Best fit decreasing where that succeeds. If not: for nodes that are
    all alike, contents that leave the rest within :func:`consolidated_rows` are peeled off, the one
    that can be used most often first; for others an integer program over the contents of each kind
    of node.

    Examples
    --------
    >>> pack([0, 3, 2, 1], [8, 8])  # best fit decreasing would put 4 and 3 together
    [(3, 3, 2), (4, 2, 2)]
    """
    gangs = {size: n for size, n in enumerate(counts, start=1) if n}
    found = pack_counts(gangs, Counter(f for f in free if f))
    if found is None:
        return None
    contents: list[Content] = [()] * len(free)
    for node, content in onto_nodes(found, free, {}):
        contents[node] = content
    return contents


class Filling(NamedTuple):
    """So many nodes of one kind get this content."""

    gpus: int
    content: Content
    nodes: int


def pack_counts(gangs: Mapping[int, int], nodes: Mapping[int, int]) -> list[Filling] | None:
    """Contents of nodes, given by their free GPUs; None where the gangs do not fit."""
    if sum(size * n for size, n in gangs.items()) > sum(f * n for f, n in nodes.items()):
        return None
    found = best_fit(gangs, nodes)
    if found is not None or not gangs:
        return found
    if len(nodes) == 1 and max(nodes) in CONSOLIDATION_ROWS:
        gpus, number = next(iter(nodes.items()))
        return _peel(gangs, gpus, number) if _within_rows(gangs, gpus, number) else None
    return _integer_program(gangs, nodes)


def best_fit(gangs: Mapping[int, int], nodes: Mapping[int, int]) -> list[Filling] | None:
    """Best fit decreasing, all nodes of one kind and content at a time."""
    room: dict[int, list[Filling]] = defaultdict(list)
    for gpus, number in nodes.items():
        room[gpus].append(Filling(gpus, (), number))
    for size in sorted(gangs, reverse=True):
        left = gangs[size]
        while left:
            least = min((f for f, uses in room.items() if f >= size and uses), default=None)
            if least is None:
                return None
            gpus, content, number = room[least].pop()
            each = min(least // size, left)
            used = min(number, left // each)
            if used < number:
                room[least].append(Filling(gpus, content, number - used))
            room[least - each * size].append(Filling(gpus, content + (size,) * each, used))
            left -= used * each
    return [use for uses in room.values() for use in uses if use.content]


@cache
def _contents(gpus: int) -> tuple[tuple[Content, ...], Ints]:
    """All that a node with so many free GPUs can hold, fullest first, and the counts by size."""
    every = _within(gpus, tuple(range(1, gpus + 1)))
    contents = tuple(sorted(every, key=lambda c: (-sum(c), len(c), c)))[:-1]
    counts = np.array([[c.count(s) for s in range(1, gpus + 1)] for c in contents], dtype=np.int64)
    return contents, counts


def _peel(gangs: Mapping[int, int], gpus: int, nodes: int) -> list[Filling]:
    """Contents of equal nodes for gangs that satisfy the rows."""
    matrix, limit = consolidated_rows(gpus)
    contents, counts = _contents(gpus)
    left = np.array([gangs.get(size, 0) for size in range(1, gpus + 1)], dtype=np.int64)
    loss = limit - counts @ matrix.T  # what a node of this content takes from each row's slack
    found = []
    while left.any():
        often = np.full(counts.shape, nodes)
        np.floor_divide(left, counts, out=often, where=counts > 0)
        slack = np.full(loss.shape, nodes)
        np.floor_divide(nodes * limit - matrix @ left, loss, out=slack, where=loss > 0)
        times = np.minimum(often.min(axis=1), slack.min(axis=1))
        best = int(times.argmax())
        used = int(min(times[best], nodes))
        if used < 1:
            raise AssertionError(f"bug: no content can be peeled off {left} on {nodes} nodes")
        found.append(Filling(gpus, contents[best], used))
        left -= used * counts[best]
        nodes -= used
    return found


def _integer_program(gangs: Mapping[int, int], nodes: Mapping[int, int]) -> list[Filling] | None:
    """Numbers of nodes of each kind and full content, as in cutting stock."""
    sizes, free = sorted(gangs), sorted(nodes)
    if sizes[-1] > free[-1] or free[-1] > LARGEST:
        return None
    kinds = [(f, content) for f in free for content in _fillings(f, tuple(sizes))]
    held = np.array([[content.count(size) for _, content in kinds] for size in sizes])
    of_kind = np.array([[float(f == gpus) for f, _ in kinds] for gpus in free])
    answer = milp(
        np.ones(len(kinds)),
        integrality=np.ones(len(kinds)),
        bounds=Bounds(0, np.inf),
        constraints=[
            LinearConstraint(held, lb=[gangs[size] for size in sizes]),
            LinearConstraint(of_kind, ub=[nodes[gpus] for gpus in free]),
        ],
    )
    if answer.x is None:
        return None
    return _trimmed(kinds, np.rint(answer.x).astype(int).tolist(), gangs)


@cache
def _fillings(gpus: int, sizes: tuple[int, ...]) -> tuple[Content, ...]:
    """All contents of gangs of these sizes to which none can be added."""
    return tuple(c for c in _within(gpus, sizes) if gpus - sum(c) < sizes[0])


def _within(gpus: int, sizes: tuple[int, ...]) -> Iterable[Content]:
    """All contents of gangs of these sizes, which rise."""
    yield ()
    for k in range(len(sizes) - 1, -1, -1):
        if sizes[k] <= gpus:
            for rest in _within(gpus - sizes[k], sizes[: k + 1]):
                yield (sizes[k], *rest)


def _trimmed(
    kinds: Sequence[tuple[int, Content]], numbers: Sequence[int], gangs: Mapping[int, int]
) -> list[Filling]:
    """The same contents without gangs that are not there."""
    left = dict(gangs)
    found: Counter[tuple[int, Content]] = Counter()
    for (gpus, content), number in zip(kinds, numbers, strict=True):
        for _ in range(number):
            kept = []
            for size in content:
                if left.get(size, 0):
                    left[size] -= 1
                    kept.append(size)
            if kept:
                found[gpus, tuple(kept)] += 1
    return [Filling(gpus, content, number) for (gpus, content), number in found.items()]


def onto_nodes(
    uses: Iterable[Filling], free: Sequence[int], held: Mapping[int, Sequence[int]]
) -> list[tuple[int, Content]]:
    """A node for each content; nodes that hold gangs (sizes in `held`) get what is most like it."""
    by_kind: dict[int, dict[Content, int]] = defaultdict(dict)
    for gpus, content, number in uses:
        by_kind[gpus][content] = by_kind[gpus].get(content, 0) + number
    nodes = sorted(range(len(free)), key=lambda n: (-sum(held.get(n, ())), n))
    found = []
    for node in nodes:
        wanted = by_kind[free[node]]
        if wanted:
            content = _most_alike(wanted, held.get(node, ()))
            found.append((node, content))
            wanted[content] -= 1
            if not wanted[content]:
                del wanted[content]
    return found


def _most_alike(contents: Iterable[Content], held: Sequence[int]) -> Content:
    if not held:
        return next(iter(contents))
    now = Counter(held)

    def common(content: Content) -> int:
        return (Counter(content) & now).total()

    return max(contents, key=common)
