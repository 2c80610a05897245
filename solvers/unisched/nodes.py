"""Nodes and the gangs on them: who is where in one slot, with as few moves as possible."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .cells import Ints
from .consolidation import Filling, best_fit, onto_nodes, pack_counts


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
        """Return the node with the least sufficient free GPUs, lowest number first, or None."""
        for f in range(gpus, self.size + 1):
            node = self._first(f)
            if node is not None:
                return node
        return None

    def _change(self, node: int, gpus: int) -> None:
        self.free[node] += gpus
        heapq.heappush(self._by_free[self.free[node]], node)

    def put(self, request: Request, gpus: Mapping[int, int]) -> None:
        """Put a gang on nodes."""
        for node, n in gpus.items():
            self._change(node, -n)
            self._on[node][request.job] = n
        self.where[request.job] = dict(gpus)
        self._requests[request.job] = request

    def remove(self, job: int) -> Request:
        """Take a gang off its nodes."""
        for node, n in self.where.pop(job).items():
            self._change(node, n)
            del self._on[node][job]
        return self._requests.pop(job)

    def place(
        self, requests: Iterable[Request], *, move: bool = False, all_or_none: bool = False
    ) -> list[Request]:
        """Put gangs on nodes as they come by size, and return those that found no room.

        Notes
        -----
        Best fit. Without `move` and on nodes without other gangs, all that satisfies (14) when
        rounded up is placed: where larger cells come first any node with room will do, as each cell
        of level g lowers the sum over nodes of floor(free / 2^i), i <= g, by 2^(g-i). O(node size)
        and a heap operation a gang, while nothing has to move.
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
                self.put(request, found)
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
        """Nodes that are free, and one more for the rest."""
        taken: dict[int, int] = {}
        while gpus:
            part = min(gpus, self.size)
            node = self.best(part)
            if node is None:
                break
            gpus -= self._take(taken, node, part)
        return self._given_back(taken, gpus)

    def _take(self, taken: dict[int, int], node: int, gpus: int) -> int:
        taken[node] = gpus
        self._change(node, -gpus)
        return gpus

    def _given_back(self, taken: dict[int, int], missing: int) -> dict[int, int] | None:
        """What was taken while a place was looked for, if nothing is missing."""
        for node, n in taken.items():
            self._change(node, n)
        return None if missing else taken

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
            gpus -= self._take(taken, node, min(gpus, self.free[node]))
        return self._given_back(taken, gpus)

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


def beside(free: Sequence[int], places: Iterable[Mapping[int, int]]) -> list[int]:
    """Return the GPUs of each node that gangs on these places leave."""
    left = [int(f) for f in free]
    for place in places:
        for node, gpus in place.items():
            left[node] -= gpus
    return left


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
        return beside(self.free, self.kept.values())

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
        chosen |= set() if self.repack else self.kept.keys()
        return [r for r in self.order if r.job in chosen]

    def fit(
        self, kinds: Sequence[tuple[int, bool]], numbers: Ints, room: Mapping[int, int]
    ) -> bool:
        """Whether so many gangs of each kind fit on nodes, given by their free GPUs."""
        gangs = [(gpus, split, int(n)) for (gpus, split), n in zip(kinds, numbers, strict=True)]
        if sum(gpus * n for gpus, _, n in gangs) > sum(f * n for f, n in room.items()):
            return False
        whole = {gpus: n for gpus, split, n in gangs if n and not split}
        return pack_counts(self.parts(whole), room) is not None

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
    ) -> list[Filling] | None:
        whole = Counter(r.gpus for r in requests if not r.split)
        gangs, room = self.parts(whole), Counter(f for f in free if f)
        return pack_counts(gangs, room) if exact else best_fit(gangs, room)

    def _with_moves(
        self, requests: Sequence[Request], others: Sequence[Request]
    ) -> dict[int, dict[int, int]] | None:
        """As few jobs as possible make room, the smallest on the emptiest nodes."""
        nodes = Nodes(self.free, self.size)
        for request in requests:
            if request.job in self.kept:
                nodes.put(request, self.kept[request.job])
        return None if nodes.place(others, move=True, all_or_none=True) else nodes.where

    def _filled(
        self,
        requests: Sequence[Request],
        free: Sequence[int],
        uses: Iterable[Filling],
        kept: Mapping[int, dict[int, int]],
    ) -> dict[int, dict[int, int]] | None:
        """Seats in the contents for gangs of one node or whole ones, any GPUs for the others."""
        where = self._seats([r for r in requests if not r.split], free, uses, kept)
        split = [r for r in requests if r.split]
        if not split:
            return where
        nodes = Nodes(beside(free, where.values()), self.size)
        return None if nodes.place(split) else {**where, **nodes.where}

    def _seats(
        self,
        requests: Sequence[Request],
        free: Sequence[int],
        uses: Iterable[Filling],
        kept: Mapping[int, dict[int, int]],
    ) -> dict[int, dict[int, int]]:
        """Who takes which part of which content: first those that hold it."""
        held: dict[int, list[int]] = defaultdict(list)
        for request in requests:
            for node, n in kept.get(request.job, {}).items():
                held[node].append(n)
        seats: dict[int, Counter[int]] = defaultdict(Counter)
        for node, content in onto_nodes(uses, free, held):
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
