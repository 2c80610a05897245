"""Gangs on as few nodes as possible: cells, exact tests, and the nodes of all gangs of one slot.

Source: Gao et al. (2024), Section III-C3 (policy generator) and III-C4 ((10)-(14), Proposition 1).

A cell of level g is a block of 2^g GPUs of one node, g = 0..3. An allocation is a quadruple of
numbers of cells. A gang is consolidated where it is on the fewest nodes that can hold it.

Deviations from the paper
-------------------------
- Which quadruples the policy generator makes is told by one example, (0, 0, 0, 1), (0, 1, 1, 0) and
  (6, 0, 0, 0) of 6 GPUs. Here: all exact covers, and the consolidated round-up.
- On nodes of 4 GPUs there is no level 3: (14) with N_3 = M / 8 would accept gangs that no node has
  room for.
- Free cells are counted by node, N_g being the number of nodes whose free GPUs have bit g. Which
  GPUs of a node they are does not matter. With aligned blocks, as in a buddy allocator, (14)
  refuses gangs that fit.
- Rounding gangs up to cells wastes GPUs. Which numbers of gangs fit consolidated on m nodes is told
  exactly by five inequalities (two on nodes of 4 GPUs).
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from ...formulations.unisched.problem import CONSOLIDATION_ROWS

__all__ = [
    "Assignment",
    "Cells",
    "Nodes",
    "Request",
    "allocations",
    "assign",
    "consolidated_rows",
    "fits_cells",
    "fits_consolidated",
    "free_cells",
    "nondominated",
    "pack",
    "place_cells",
    "round_up",
]

#: numbers of cells of level 0, 1, 2 and 3
Cells = tuple[int, int, int, int]
#: sizes of the gangs on one node, falling
Content = tuple[int, ...]
Ints = NDArray[np.int64]

#: the policy generator is for gangs of at most so many GPUs
ENUMERATED = 16
#: on nodes of more GPUs than this only best fit decreasing is tried
LARGEST = 16
_LEVELS = {1: 0, 2: 1, 4: 2, 8: 3}


# --- cells ---------------------------------------------------------------------------------------


def _top_level(gpus: int, node_size: int) -> int:
    if gpus < 1:
        raise ValueError(f"allocation: gpus={gpus} is below 1")
    if node_size not in _LEVELS:
        raise ValueError(f"allocation: node_size={node_size} is not 1, 2, 4 or 8, as cells need")
    return _LEVELS[node_size]


def _cells(numbers: Mapping[int, int]) -> Cells:
    return (numbers.get(0, 0), numbers.get(1, 0), numbers.get(2, 0), numbers.get(3, 0))


def round_up(gpus: int, node_size: int = 8) -> Cells:
    """Return the consolidated allocation: whole nodes, and one cell that holds the remainder.

    Parameters
    ----------
    gpus : int
        Of the gang, at least 1.
    node_size : {1, 2, 4, 8}

    Examples
    --------
    >>> round_up(6), round_up(12), round_up(13), round_up(6, node_size=4)
    ((0, 0, 0, 1), (0, 0, 1, 1), (0, 0, 0, 2), (0, 1, 1, 0))
    """
    top = _top_level(gpus, node_size)
    whole, rest = divmod(gpus, node_size)
    numbers = Counter({top: whole})
    if rest:
        numbers[(rest - 1).bit_length()] += 1
    return _cells(numbers)


def allocations(gpus: int, node_size: int = 8) -> tuple[Cells, ...]:
    """Return all quadruples of the policy generator: exact covers and the consolidated round-up.

    Parameters
    ----------
    gpus : int
        Of the gang, at least 1.
    node_size : {1, 2, 4, 8}

    Returns
    -------
    tuple of Cells
        Fewest cells first. For gangs of more than 16 GPUs, which the paper leaves out of the
        generator, those of :func:`nondominated`.

    Examples
    --------
    >>> allocations(6)[:3], len(allocations(16))
    (((0, 0, 0, 1), (0, 1, 1, 0), (0, 3, 0, 0)), 35)
    """
    top = _top_level(gpus, node_size)
    if gpus > ENUMERATED:
        return nondominated(gpus, node_size)
    covers = {_cells(dict(enumerate(found))) for found in _covers(gpus, top)}
    rounded = {round_up(gpus, node_size)}
    return tuple(sorted(covers | rounded, key=lambda cells: (sum(cells), cells[::-1])))


def _covers(gpus: int, level: int) -> Iterable[tuple[int, ...]]:
    """Numbers of cells of level 0, ..., `level` with so many GPUs in all."""
    if level == 0:
        yield (gpus,)
        return
    for number in range(gpus // 2**level + 1):
        for lower in _covers(gpus - number * 2**level, level - 1):
            yield (*lower, number)


def nondominated(gpus: int, node_size: int = 8) -> tuple[Cells, ...]:
    """Return the allocations that can be best where speed only tells one node from several.

    Parameters
    ----------
    gpus : int
        Of the gang, at least 1.
    node_size : {1, 2, 4, 8}

    Returns
    -------
    tuple of Cells
        The round-up; for 3, 5, 6 and 7 GPUs (on nodes of 8) also one cell a GPU, which occupies
        fewer and may be slower. A gang that no node can hold is as fast on any GPUs (eq. (2)): the
        round-up where it wastes none, one cell a GPU elsewhere.

    Examples
    --------
    >>> nondominated(4), nondominated(6), nondominated(12), nondominated(11)
    (((0, 0, 1, 0),), ((0, 0, 0, 1), (6, 0, 0, 0)), ((0, 0, 1, 1),), ((11, 0, 0, 0),))
    """
    rounded = round_up(gpus, node_size)
    single: Cells = (gpus, 0, 0, 0)
    if sum(number << level for level, number in enumerate(rounded)) == gpus:
        return (rounded,)
    return (single,) if gpus > node_size else (rounded, single)


def free_cells(free: Iterable[int]) -> Cells:
    """Return N^cell: of each level g, the number of nodes whose free GPUs have bit g.

    Parameters
    ----------
    free : iterable of int
        Free GPUs of each node. Every eight GPUs of one node are a cell of level 3.

    Examples
    --------
    >>> free_cells([8, 7, 2])
    (1, 2, 1, 1)
    """
    counts = list(free)
    bits = {level: sum(f >> level & 1 for f in counts) for level in range(3)}
    return _cells({**bits, 3: sum(f >> 3 for f in counts)})


def fits_cells(requested: Cells, cells: Cells) -> bool:
    """Say whether (14) holds: at every level, requested cells of it or above fit into the free.

    Parameters
    ----------
    requested, cells : Cells
        N^con and N^cell.

    Notes
    -----
    Proposition 1: then there is a consolidated placement. With cells counted by
    :func:`free_cells` there is one only then.

    Examples
    --------
    >>> fits_cells((0, 2, 0, 0), free_cells([3, 2])), fits_cells((0, 0, 1, 0), free_cells([3, 2]))
    (True, False)
    """
    spare = 0
    for level in (3, 2, 1, 0):
        spare = 2 * spare + cells[level] - requested[level]
        if spare < 0:
            return False
    return True


def place_cells(requested: Cells, free: Sequence[int]) -> list[tuple[int, int]] | None:
    """Return a node for each requested cell, or None where there is no room.

    Parameters
    ----------
    requested : Cells
    free : sequence of int
        Free GPUs of each node.

    Returns
    -------
    list of (int, int), or None
        Pairs (level, node), largest cells first.

    Notes
    -----
    Any node with room will do if larger cells come first: sum over nodes of floor(free / 2^i) falls
    by 2^(g-i) with each cell of level g >= i. So it succeeds exactly where (14) holds.

    Examples
    --------
    >>> place_cells((1, 1, 0, 0), [2, 1]), place_cells((0, 1, 0, 0), [1, 1])
    ([(1, 0), (0, 1)], None)
    """
    nodes = Nodes(free)
    placed: list[tuple[int, int]] = []
    for level in (3, 2, 1, 0):
        for _ in range(requested[level]):
            node = nodes.best(2**level)
            if node is None:
                return None
            nodes.put(len(placed), {node: 2**level})
            placed.append((level, node))
    return placed


# --- exact consolidation -------------------------------------------------------------------------


@cache
def consolidated_rows(gpus: int) -> tuple[Ints, Ints]:
    """Return the inequalities that gangs on nodes with so many free GPUs have to satisfy.

    Parameters
    ----------
    gpus : int
        Free GPUs c of each of the nodes, 1 to 8.

    Returns
    -------
    (rows, c) int array, (rows,) int array
        A and b: n_s gangs of s GPUs each, s = 1..c, fit onto m such nodes, each gang on one, if and
        only if A n <= m b.

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


def fits_consolidated(counts: Sequence[int], free: Iterable[int]) -> bool:
    """Say whether gangs fit onto nodes, each gang on one node.

    Parameters
    ----------
    counts : sequence of int
        How many gangs of 1, 2, 3, ... GPUs. A gang of b whole nodes and r GPUs is b gangs of a
        node's size and one of r; a gang that may be split is a number of gangs of 1 GPU.
    free : iterable of int
        Free GPUs of each node.

    Notes
    -----
    Exact up to 16 GPUs a node. O(1) where all nodes with free GPUs have equally many, at most 8;
    else as :func:`pack`.

    Examples
    --------
    >>> fits_consolidated([0, 3, 2, 1], [8, 8])  # 4 + 2 + 2 and 3 + 3 + 2
    True
    >>> fits_consolidated([0, 0, 0, 0, 0, 4], [8, 8, 8])
    False
    """
    nodes = Counter(f for f in free if f)
    gangs = {size: n for size, n in enumerate(counts, start=1) if n}
    if len(nodes) == 1 and max(nodes) in CONSOLIDATION_ROWS:
        return _within_rows(gangs, *next(iter(nodes.items())))
    return _pack(gangs, nodes) is not None


def _within_rows(gangs: Mapping[int, int], gpus: int, nodes: int) -> bool:
    if gangs and max(gangs) > gpus:
        return False
    return all(
        sum(coefficients[size - 1] * n for size, n in gangs.items()) <= nodes * limit
        for coefficients, limit in CONSOLIDATION_ROWS[gpus]
    )


def pack(counts: Sequence[int], free: Sequence[int]) -> list[Content] | None:
    """Return what to put on each node so that all gangs are placed, or None where they do not fit.

    Parameters
    ----------
    counts : sequence of int
        How many gangs of 1, 2, 3, ... GPUs, each on one node.
    free : sequence of int
        Free GPUs of each node.

    Returns
    -------
    list of tuple of int, or None
        Sizes of the gangs on each node, falling.

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
    found = _pack(gangs, Counter(f for f in free if f))
    if found is None:
        return None
    contents: list[Content] = [()] * len(free)
    for node, content in _onto_nodes(found, free, {}):
        contents[node] = content
    return contents


class _Use(NamedTuple):
    """So many nodes of one kind get this content."""

    gpus: int
    content: Content
    nodes: int


def _pack(gangs: Mapping[int, int], nodes: Mapping[int, int]) -> list[_Use] | None:
    """Contents of nodes, given by their free GPUs; None where the gangs do not fit."""
    if sum(size * n for size, n in gangs.items()) > sum(f * n for f, n in nodes.items()):
        return None
    found = _best_fit(gangs, nodes)
    if found is not None or not gangs:
        return found
    if len(nodes) == 1 and max(nodes) in CONSOLIDATION_ROWS:
        gpus, number = next(iter(nodes.items()))
        return _peel(gangs, gpus, number) if _within_rows(gangs, gpus, number) else None
    return _integer_program(gangs, nodes)


def _best_fit(gangs: Mapping[int, int], nodes: Mapping[int, int]) -> list[_Use] | None:
    """Best fit decreasing, all nodes of one kind and content at a time."""
    room: dict[int, list[_Use]] = defaultdict(list)
    for gpus, number in nodes.items():
        room[gpus].append(_Use(gpus, (), number))
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
                room[least].append(_Use(gpus, content, number - used))
            room[least - each * size].append(_Use(gpus, content + (size,) * each, used))
            left -= used * each
    return [use for uses in room.values() for use in uses if use.content]


@cache
def _contents(gpus: int) -> tuple[tuple[Content, ...], Ints]:
    """All that a node with so many free GPUs can hold, fullest first, and the counts by size."""

    def below(left: int, largest: int) -> Iterable[Content]:
        yield ()
        for size in range(min(left, largest), 0, -1):
            for rest in below(left - size, size):
                yield (size, *rest)

    contents = tuple(sorted(below(gpus, gpus), key=lambda c: (-sum(c), len(c), c)))[:-1]
    counts = np.array([[c.count(s) for s in range(1, gpus + 1)] for c in contents], dtype=np.int64)
    return contents, counts


def _peel(gangs: Mapping[int, int], gpus: int, nodes: int) -> list[_Use]:
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
        found.append(_Use(gpus, contents[best], used))
        left -= used * counts[best]
        nodes -= used
    return found


def _integer_program(gangs: Mapping[int, int], nodes: Mapping[int, int]) -> list[_Use] | None:
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

    def filled(left: int, largest: int) -> Iterable[Content]:
        if left < sizes[0]:
            yield ()
        for size in sizes[:largest][::-1]:
            if size <= left:
                for rest in filled(left - size, sizes.index(size) + 1):
                    yield (size, *rest)

    return tuple(filled(gpus, len(sizes)))


def _trimmed(
    kinds: Sequence[tuple[int, Content]], numbers: Sequence[int], gangs: Mapping[int, int]
) -> list[_Use]:
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
    return [_Use(gpus, content, number) for (gpus, content), number in found.items()]


def _onto_nodes(
    uses: Iterable[_Use], free: Sequence[int], held: Mapping[int, Sequence[int]]
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


# --- nodes and who is on them --------------------------------------------------------------------


class Request(NamedTuple):
    """A gang that wants GPUs in a slot.

    Parameters
    ----------
    job : int
    gpus : int
        At least 1.
    split : bool
        Whether it may be on more nodes than it needs.

    Examples
    --------
    >>> Request(3, 6, split=True)
    Request(job=3, gpus=6, split=True)
    """

    job: int
    gpus: int
    split: bool = False


class Nodes:
    """Free GPUs of nodes, found by their number, and the gangs that are on them.

    Parameters
    ----------
    free : sequence of int
        Free GPUs of each node when no gang is on them.
    size : int, optional
        GPUs of a node, of the largest where they differ; that of the freest node by default. A
        wider gang is consolidated on free nodes of this size and one more node for the remainder.

    Examples
    --------
    >>> nodes = Nodes([8, 4])
    >>> nodes.place([Request(0, 3), Request(1, 9, split=True), Request(2, 6)])
    [Request(job=1, gpus=9, split=True)]
    >>> nodes.where, nodes.free
    ({2: {0: 6}, 0: {1: 3}}, [2, 1])
    """

    def __init__(self, free: Sequence[int], size: int | None = None) -> None:
        self.free = [int(f) for f in free]
        self.size = max(self.free, default=0) if size is None else size
        #: nodes of each gang
        self.where: dict[int, dict[int, int]] = {}
        self._requests: dict[int, Request] = {}
        self._on: list[dict[int, int]] = [{} for _ in self.free]
        # nodes by their free GPUs; entries that are no longer true are dropped when met
        self._by_free: list[list[int]] = [[] for _ in range(self.size + 1)]
        for node, f in enumerate(self.free):
            self._by_free[f].append(node)

    def _first(self, f: int) -> int | None:
        heap = self._by_free[f]
        while heap:
            if self.free[heap[0]] == f:
                return heap[0]
            heapq.heappop(heap)
        return None

    def best(self, gpus: int) -> int | None:
        """Return the node with the least sufficient free GPUs, lowest number first, or None.

        Parameters
        ----------
        gpus : int
        """
        for f in range(gpus, self.size + 1):
            node = self._first(f)
            if node is not None:
                return node
        return None

    def _change(self, node: int, gpus: int) -> None:
        self.free[node] += gpus
        heapq.heappush(self._by_free[self.free[node]], node)

    def put(self, job: int, gpus: Mapping[int, int], *, split: bool = False) -> None:
        """Put a gang on nodes.

        Parameters
        ----------
        job : int
        gpus : mapping of int to int
            GPUs on each node, not more than are free.
        split : bool
            Whether the gang may be on more nodes than it needs, should it have to move.
        """
        self._put(Request(job, sum(gpus.values()), split), dict(gpus))

    def _put(self, request: Request, gpus: dict[int, int]) -> None:
        for node, n in gpus.items():
            self._change(node, -n)
            self._on[node][request.job] = n
        self.where[request.job] = gpus
        self._requests[request.job] = request

    def remove(self, job: int) -> Request:
        """Take a gang off its nodes.

        Parameters
        ----------
        job : int
        """
        for node, n in self.where.pop(job).items():
            self._change(node, n)
            del self._on[node][job]
        return self._requests.pop(job)

    def place(
        self, requests: Iterable[Request], *, move: bool = False, all_or_none: bool = False
    ) -> list[Request]:
        """Put gangs on nodes as they come by size, and return those that found no room.

        Parameters
        ----------
        requests : iterable of Request
            Gangs that may be split come last; larger ones before smaller ones, then as given.
        move : bool
            Where no node has room, smaller gangs and split ones leave one that then has, and are
            placed anew.
        all_or_none : bool
            Stop at the first that finds no room; what was placed before stays where it is.

        Notes
        -----
        Best fit. Without `move` and on nodes without other gangs, all that satisfies (14) when
        rounded up is placed, for the reason in :func:`place_cells`. O(node size) and a heap
        operation a gang, while nothing has to move.
        """
        queue = [(r.split, -r.gpus, k, r) for k, r in enumerate(requests)]
        heapq.heapify(queue)
        failed, last = [], len(queue)
        while queue:
            request = heapq.heappop(queue)[-1]
            found = self._find(request)
            if found is None and move:
                for moved in self._make_room(request):
                    heapq.heappush(queue, (moved.split, -moved.gpus, last, moved))
                    last += 1
                found = self._find(request)
            if found is not None:
                self._put(request, found)
                continue
            failed.append(request)
            if all_or_none:
                break
        return failed

    def _find(self, request: Request) -> dict[int, int] | None:
        if request.gpus <= self.size:
            node = self.best(request.gpus)
            found = None if node is None else {node: request.gpus}
        else:
            found = self._whole_nodes(request.gpus)
        return self._anywhere(request.gpus) if found is None and request.split else found

    def _whole_nodes(self, gpus: int) -> dict[int, int] | None:
        whole, rest = divmod(gpus, self.size)
        return self._collect([self.size] * whole + [rest] * (rest > 0))

    def _freest(self) -> int | None:
        found = (self._first(f) for f in range(self.size, 0, -1))
        return next((node for node in found if node is not None), None)

    def _anywhere(self, gpus: int) -> dict[int, int] | None:
        """Nodes with most free GPUs, and the fullest one that is enough for the rest."""
        taken: dict[int, int] = {}
        while gpus:
            node = self.best(gpus)
            if node is None:
                node = self._freest()
            if node is None:
                break
            taken[node] = min(gpus, self.free[node])
            gpus -= taken[node]
            self._change(node, -taken[node])
        for node, n in taken.items():
            self._change(node, n)
        return None if gpus else taken

    def _collect(self, parts: Sequence[int]) -> dict[int, int] | None:
        taken: dict[int, int] = {}
        for part in parts:
            node = self.best(part)
            if node is None:
                break
            taken[node] = part
            self._change(node, -part)
        for node, n in taken.items():
            self._change(node, n)
        return taken if len(taken) == len(parts) else None

    def _freest_first(self, most: int) -> Iterator[int]:
        """Nodes with at most so many free GPUs."""
        for f in range(min(most, self.size), -1, -1):
            self._by_free[f] = sorted({n for n in self._by_free[f] if self.free[n] == f})
            yield from self._by_free[f]

    def _make_room(self, request: Request) -> list[Request]:
        """Take smaller gangs and split ones off one node, the emptiest that is then enough."""
        if request.split or request.gpus > self.size:
            return []
        for node in self._freest_first(request.gpus - 1):
            leaving, room = [], self.free[node]
            on = sorted((self._requests[j], n) for j, n in self._on[node].items())
            for other, n in sorted(on, key=lambda pair: (not pair[0].split, pair[1])):
                if room >= request.gpus:
                    break
                if other.split or other.gpus < request.gpus:
                    leaving.append(other)
                    room += n
            if room >= request.gpus:
                return [self.remove(other.job) for other in leaving]
        return []


# --- one slot ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assignment:
    """The nodes of the gangs of one slot.

    Parameters
    ----------
    nodes : dict of int to dict of int to int
        Of each placed job, the GPUs on each node.
    unplaced : dict of int to str
        Of each other job, why.
    """

    nodes: dict[int, dict[int, int]]
    unplaced: dict[int, str]


def assign(
    order: Sequence[Request],
    free: Sequence[int],
    sizes: Sequence[int],
    *,
    held: Mapping[int, Mapping[int, int]] | None = None,
    repack: bool = False,
) -> Assignment:
    """Choose the nodes of the gangs of one slot.

    Source: where all gangs are of 1, 2, 4 or 8 GPUs on nodes of 8 and nothing is held, the
    construction in the proof of Proposition 1 of Gao et al. (2024), largest first, for which (14)
    is enough. The rest is not in the paper.

    Parameters
    ----------
    order : sequence of Request
        First those that matter most: where not all fit, a gang is left out only if it does not fit
        beside those before it.
    free, sizes : (nodes,) sequences of int
        Free GPUs and all GPUs of each node. What the jobs of `order` hold themselves is free.
    held : mapping of int to mapping of int to int, optional
        GPUs on each node that jobs hold. They keep them if these are as many as requested and the
        gang may be on so many nodes.
    repack : bool
        Whether they may be moved where some gang finds no room otherwise.

    Returns
    -------
    Assignment

    Raises
    ------
    ValueError
        Free GPUs beyond a node's size, a gang without GPUs, a job requested twice.

    Notes
    -----
    Exact up to 16 GPUs a node: where all gangs fit together, all are placed. If jobs must not be
    moved: on what those that hold nodes leave. A gang that may be split is placed as long as there
    are GPUs, on one node where one has room.

    Jobs keep their nodes; others come by size, best fit. If one finds no room and `repack` allows
    it, smaller ones make room on the emptiest node that is enough; if that fails, all are placed
    anew by :func:`pack` on nodes that hold something like it.

    A heap operation a gang; the last resort is O(nodes) with a large constant.

    Examples
    --------
    >>> order = [Request(0, 4), Request(1, 6, split=True), Request(2, 8)]
    >>> assign(order, [8, 8], [8, 8], held={0: {1: 4}})
    Assignment(nodes={0: {1: 4}, 1: {0: 6}}, unplaced={2: '8 GPUs, of which 6 are free'})
    """
    _check(order, free, sizes)
    slot = _Slot(order, free, max(sizes, default=0), held or {}, repack)
    accepted = slot.accepted()
    where = slot.nodes_of(accepted)
    spare = sum(free) - sum(request.gpus for request in accepted)
    return Assignment(
        {r.job: where[r.job] for r in accepted},
        {r.job: slot.reason(r, spare) for r in order if r.job not in where},
    )


def _check(order: Sequence[Request], free: Sequence[int], sizes: Sequence[int]) -> None:
    if len(free) != len(sizes):
        raise ValueError(f"assign: free has {len(free)} nodes, sizes has {len(sizes)}")
    for node, (f, size) in enumerate(zip(free, sizes, strict=True)):
        if not 0 <= f <= size:
            raise ValueError(f"assign: node {node}: free={f} is not within 0 and its size {size}")
    for request in order:
        if request.gpus < 1:
            raise ValueError(f"assign: job {request.job}: gpus={request.gpus} is below 1")
    if len({request.job for request in order}) < len(order):
        job, times = Counter(request.job for request in order).most_common(1)[0]
        raise ValueError(f"assign: job {job} is requested {times} times")


class _Slot:
    """The steps of :func:`assign`."""

    def __init__(
        self,
        order: Sequence[Request],
        free: Sequence[int],
        size: int,
        held: Mapping[int, Mapping[int, int]],
        repack: bool,
    ) -> None:
        self.order, self.free, self.size, self.repack = order, [int(f) for f in free], size, repack
        self.kept = {r.job: dict(held[r.job]) for r in order if self._keeps(r, held)}

    def _keeps(self, request: Request, held: Mapping[int, Mapping[int, int]]) -> bool:
        nodes = held.get(request.job)
        if nodes is None or sum(nodes.values()) != request.gpus:
            return False
        if any(n > self.free[node] for node, n in nodes.items()):
            return False
        return request.split or len(nodes) == -(-request.gpus // self.size)

    def _others(self, requests: Iterable[Request]) -> list[Request]:
        return [r for r in requests if r.job not in self.kept]

    def _left(self) -> list[int]:
        """Free GPUs beside the jobs that keep their nodes."""
        free = list(self.free)
        for nodes in self.kept.values():
            for node, n in nodes.items():
                free[node] -= n
        return free

    def accepted(self) -> list[Request]:
        """All that fits, in the order: what was refused once does not fit later either."""
        free = self.free if self.repack else self._left()
        room = Counter(f for f in free if f)
        others = list(self.order) if self.repack else self._others(self.order)
        kinds = sorted({r[1:] for r in others})
        position = {kind: k for k, kind in enumerate(kinds)}
        upto = np.zeros((len(others) + 1, len(kinds)), dtype=np.int64)
        upto[np.arange(1, len(others) + 1), [position[r[1:]] for r in others]] = 1
        upto = upto.cumsum(axis=0)
        taken, open_ = np.zeros(len(kinds), dtype=np.int64), np.ones(len(kinds), dtype=np.int64)
        refused = dict.fromkeys(kinds, len(others))
        at = 0
        while at < len(others):
            end = bisect_left(
                range(at + 1, len(others) + 1),
                True,
                key=lambda k: not self.fit(kinds, taken + (upto[k] - upto[at]) * open_, room),
            )
            end, before = at + end, at
            taken = taken + (upto[end] - upto[before]) * open_
            if end < len(others):
                kind = others[end][1:]
                refused[kind] = min(refused[kind], end)
                open_[position[kind]] = 0
            at = end + 1
        chosen = {r.job for k, r in enumerate(others) if k < refused[r[1:]]}
        return [
            r for r in self.order if r.job in chosen or (not self.repack and r.job in self.kept)
        ]

    def fit(
        self, kinds: Sequence[tuple[int, bool]], numbers: Ints, room: Mapping[int, int]
    ) -> bool:
        """Whether so many gangs of each kind fit on nodes, given by their free GPUs."""
        gangs = [(gpus, split, int(n)) for (gpus, split), n in zip(kinds, numbers, strict=True)]
        if sum(gpus * n for gpus, _, n in gangs) > sum(f * n for f, n in room.items()):
            return False
        whole = {gpus: n for gpus, split, n in gangs if n and not split}
        return _pack(self.parts(whole), room) is not None

    def parts(self, gangs: Mapping[int, int]) -> dict[int, int]:
        """Numbers of gangs by size, with wider ones in whole nodes and a remainder."""
        found: Counter[int] = Counter()
        for gpus, number in gangs.items():
            whole, rest = divmod(gpus, self.size) if gpus > self.size else (0, gpus)
            found[self.size] += whole * number
            found[rest] += number
        return {size: n for size, n in found.items() if size and n}

    def nodes_of(self, requests: Sequence[Request]) -> dict[int, dict[int, int]]:
        """Nodes of gangs that fit: with little change if possible."""
        left = self._left()
        others = self._others(requests)
        uses = self._uses(others, left, exact=not self.repack)
        if uses is not None:
            where = self._filled(others, left, uses, {})
            if where is not None:
                return {**self.kept, **where}
        moved = self._with_moves(requests, others)
        if moved is not None:
            return moved
        uses = self._uses(requests, self.free, exact=True)
        assert uses is not None  # they fit
        where = self._filled(requests, self.free, uses, self.kept)
        assert where is not None
        return where

    def _uses(
        self, requests: Iterable[Request], free: Sequence[int], *, exact: bool
    ) -> list[_Use] | None:
        whole = Counter(r.gpus for r in requests if not r.split)
        gangs, room = self.parts(whole), Counter(f for f in free if f)
        return _pack(gangs, room) if exact else _best_fit(gangs, room)

    def _with_moves(
        self, requests: Sequence[Request], others: Sequence[Request]
    ) -> dict[int, dict[int, int]] | None:
        """As few jobs as possible make room, the smallest on the emptiest nodes."""
        nodes = Nodes(self.free, self.size)
        for request in requests:
            if request.job in self.kept:
                nodes.put(request.job, self.kept[request.job], split=request.split)
        return None if nodes.place(others, move=True, all_or_none=True) else nodes.where

    def _filled(
        self,
        requests: Sequence[Request],
        free: Sequence[int],
        uses: Iterable[_Use],
        kept: Mapping[int, dict[int, int]],
    ) -> dict[int, dict[int, int]] | None:
        """Seats in the contents for gangs of one node or whole ones, any GPUs for the others."""
        where = self._seats([r for r in requests if not r.split], free, uses, kept)
        split = [r for r in requests if r.split]
        if not split:
            return where
        left = list(free)
        for gpus in where.values():
            for node, n in gpus.items():
                left[node] -= n
        nodes = Nodes(left, self.size)
        return None if nodes.place(split) else {**where, **nodes.where}

    def _seats(
        self,
        requests: Sequence[Request],
        free: Sequence[int],
        uses: Iterable[_Use],
        kept: Mapping[int, dict[int, int]],
    ) -> dict[int, dict[int, int]]:
        """Who takes which part of which content: first those that hold it."""
        held: dict[int, list[int]] = defaultdict(list)
        for request in requests:
            for node, n in kept.get(request.job, {}).items():
                held[node].append(n)
        seats: dict[int, Counter[int]] = defaultdict(Counter)
        for node, content in _onto_nodes(uses, free, held):
            for part in content:
                seats[part][node] += 1
        where: dict[int, dict[int, int]] = {}
        for request in requests:
            nodes = kept.get(request.job, {})
            if nodes and all(seats[n][node] for node, n in nodes.items()):
                where[request.job] = nodes
                for node, n in nodes.items():
                    seats[n][node] -= 1
        empty = {part: list(nodes.elements())[::-1] for part, nodes in seats.items()}
        for r in requests:
            if r.job not in where:
                where[r.job] = (
                    {empty[r.gpus].pop(): r.gpus}
                    if r.gpus <= self.size
                    else {empty[part].pop(): part for part in self._in_parts(r.gpus)}
                )
        return where

    def _in_parts(self, gpus: int) -> list[int]:
        return [part for part, n in self.parts({gpus: 1}).items() for _ in range(n)]

    def reason(self, request: Request, spare: int) -> str:
        """Why a gang is not placed, beside those that are."""
        if request.gpus > spare:
            return f"{request.gpus} GPUs, of which {spare} are free"
        stay = "" if self.repack or not self.kept else ", and jobs that hold nodes stay"
        return (
            f"{request.gpus} GPUs on {-(-request.gpus // self.size)} node(s) are not free, "
            f"{spare} elsewhere are{stay}"
        )
