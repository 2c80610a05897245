"""The claims of Gao et al. (IEEE TC 2024) on UniSched's MILP and estimates, and their corrections.

Symbols are the paper's: T seconds a lease, L leases needed within the first Q, V reward, (c0, ...,
c3) cells of 1, 2, 4 and 8 GPUs, n_s gangs of s GPUs, m nodes; a GPUs that a gang takes, C_k GPUs in
lease k.

What is true of a small case is found by trying everything, by a maximum flow or by addition, never
by the code that a claim is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, pairwise, product
from math import ceil, comb
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from ....formulations.unisched.leases import lease_terms, mean_interruptions, remaining_estimate
from ....instances.model import FULL_SPEED
from ....solvers.unisched.cells import Cells, fits_cells, free_cells, nondominated, round_up
from ....solvers.unisched.consolidation import consolidated_rows
from ....solvers.unisched.lease_schedule import least_laxity
from ....solvers.unisched.nodes import Request, assign
from ..claim import Sides, claims_of

PAPER = "Gao et al. 2024"
Rng = np.random.Generator
#: GPUs, leases needed, leases within which
Terms = tuple[int, int, int]


# --- gangs on nodes ------------------------------------------------------------------------------


@cache
def _fit(gangs: tuple[int, ...], free: tuple[int, ...]) -> bool:
    """Whether gangs, sizes falling, fit onto nodes, each on one; everything is tried."""
    if not gangs:
        return True
    for f in sorted(set(free)):
        if f >= gangs[0]:
            left = list(free)
            left.remove(f)
            if _fit(gangs[1:], tuple(sorted([*left, f - gangs[0]]))):
                return True
    return False


@dataclass(frozen=True, slots=True)
class Gangs:
    """Gangs that want to be consolidated.

    Parameters
    ----------
    free : tuple of int
        Free GPUs of each node.
    sizes : tuple of int
        GPUs of each gang.
    """

    free: tuple[int, ...]
    sizes: tuple[int, ...]

    def fit(self) -> bool:
        """Return whether there is a placement, each gang on one node."""
        if sum(self.sizes) > sum(self.free):
            return False
        return _fit(tuple(sorted(self.sizes, reverse=True)), tuple(sorted(self.free)))

    def rounded(self, node_size: int = 8) -> Cells:
        """Return the cells of all gangs, rounded up."""
        every = [round_up(size, node_size) for size in self.sizes]
        return tuple(np.sum(every, axis=0, dtype=int).tolist()) if every else (0, 0, 0, 0)

    @property
    def counts(self) -> tuple[int, ...]:
        """n_1, ..., n_8."""
        return tuple(self.sizes.count(size) for size in range(1, 9))


def _draw_gangs(
    rng: Rng,
    *,
    sizes: Sequence[int],
    free: Sequence[int] = range(9),
    most: int = 3,
    rounded: bool = False,
) -> Gangs:
    """Gangs that take, `rounded` up or as they are, most of the GPUs of up to `most` nodes."""
    nodes = tuple(int(f) for f in rng.choice(list(free), size=rng.integers(1, most + 1)))
    gangs: list[int] = []
    target = rng.integers(0, sum(nodes) + 2) if rng.integers(2) else sum(nodes) + rng.integers(2)
    while sum(_gpus(round_up(size)) if rounded else size for size in gangs) < target:
        gangs.append(int(rng.choice(sizes)))
    return Gangs(nodes, tuple(gangs))


def _sufficient(case: Gangs, cells: Cells | None = None, *, taken: bool = False) -> Sides | None:
    """Gangs without room where (14) holds, for the cells that are free or these, against none.

    Without room although, or once, one of the free GPUs is `taken`.
    """
    if not fits_cells(case.rounded(), cells or free_cells(case.free)):
        return None
    return Sides(not (_one_taken(case) if taken else case).fit(), 0)


def _one_taken(case: Gangs) -> Gangs:
    """Without a GPU of the first node that has some."""
    n = next((n for n, free in enumerate(case.free) if free), 0)
    free = tuple(max(f - (k == n), 0) for k, f in enumerate(case.free))
    return Gangs(free, case.sizes)


def _necessary(case: Gangs, cells: Cells | None = None) -> Sides | None:
    """Whether (14) refuses what fits, against no."""
    if not case.fit():
        return None
    return Sides(not fits_cells(case.rounded(), cells or free_cells(case.free)), 0)


def _aligned(free: Sequence[bool]) -> Cells:
    """Free cells of a node as a buddy allocator has them: aligned blocks, the largest first."""
    found, taken = [0, 0, 0, 0], [False] * len(free)
    for level in (3, 2, 1, 0):
        length = 2**level
        for begin in range(0, len(free) - length + 1, length):
            block = range(begin, begin + length)
            if all(free[k] and not taken[k] for k in block):
                found[level] += 1
                for k in block:
                    taken[k] = True
    return found[0], found[1], found[2], found[3]


#: which GPUs of each node are free, and gangs
_Masks = tuple[tuple[tuple[bool, ...], ...], tuple[int, ...]]


def _draw_masks(rng: Rng) -> _Masks:
    nodes = tuple(tuple((rng.random(4) < 0.6).tolist()) for _ in range(int(rng.integers(1, 3))))
    return nodes, tuple(rng.choice([1, 2, 4], size=rng.integers(1, 4)).tolist())


def _aligned_cells(case: _Masks) -> Sides | None:
    """As :func:`_necessary`, with cells as a buddy allocator counts them."""
    free, sizes = case
    cells = np.sum([_aligned(node) for node in free], axis=0).tolist()
    return _necessary(Gangs(tuple(map(sum, free)), sizes), tuple(cells))


def _one_row(case: Gangs, *, taken: int = 0) -> Sides | None:
    """Whether (14) fails though it holds for i = 0; nodes of 8 that are free but for some GPUs."""
    if sum(case.sizes) > sum(case.free):
        return None
    free = (case.free[0] - taken, *case.free[1:])
    return Sides(not fits_cells(case.rounded(), free_cells(free)), 0)


def _four_gpu_nodes(case: Gangs) -> Sides | None:
    """As :func:`_sufficient` on free nodes of 4, with N_3 = M / 8."""
    return _sufficient(case, (0, 0, 0, sum(case.free) // 8))


def _larger_first(case: Gangs, *, taken: bool = False) -> Sides | None:
    """Gangs without room where (14) holds, larger ones first, each on any node with room.

    Once (14) has held one of the free GPUs may be `taken`.
    """
    if not fits_cells(case.rounded(), free_cells(case.free)):
        return None
    rng, missing = np.random.default_rng(0), 0
    free = list((_one_taken(case) if taken else case).free)
    for size in sorted(case.sizes, reverse=True):
        room = [n for n, f in enumerate(free) if f >= size]
        if room:
            free[int(rng.choice(room))] -= size
        else:
            missing += 1
    return Sides(missing, 0)


def _within_rows(case: Gangs, *, but: int = 0) -> Sides:
    """Whether the rows, `but` for the last ones, hold, against whether gangs fit on equal nodes."""
    gpus = case.free[0]
    matrix, limit = consolidated_rows(gpus)
    matrix, limit = matrix[: len(matrix) - but], limit[: len(limit) - but]
    counts = np.array(case.counts)
    inside = not counts[gpus:].any() and bool(
        (matrix @ counts[:gpus] <= limit * len(case.free)).all()
    )
    return Sides(inside, case.fit(), "==")


def _draw_alike(rng: Rng, *, gpus: Sequence[int]) -> Gangs:
    free, nodes = int(rng.choice(gpus)), int(rng.integers(1, 4))
    draw = partial(_draw_gangs, rng, sizes=range(1, free + 1), free=[free], most=1)
    return Gangs((free,) * nodes, tuple(size for _ in range(nodes) for size in draw().sizes))


def _example(nodes: int, *, split: bool) -> Sides:
    """Gangs of 6 that are placed on nodes of 8, against 8 m / 6 if they may be split, else m."""
    gangs = nodes * 8 // 6
    requests = [Request(j, 6, split=split) for j in range(gangs)]
    placed = assign(requests, [8] * nodes, [8] * nodes)
    return Sides(len(placed.nodes), gangs if split else nodes, "==")


def _draw_cover(rng: Rng) -> tuple[int, Cells]:
    """A gang, and a way to cover it with cells."""
    gpus = int(rng.integers(1, 17))
    cells = rng.integers(0, [gpus + 1, gpus // 2 + 2, gpus // 4 + 2, gpus // 8 + 2]).tolist()
    for level in (3, 2, 1, 0):  # what the others cover without
        spare = (_gpus(cells) - gpus) >> level
        cells[level] -= max(min(cells[level], spare), 0)
    return gpus, tuple(cells)


def _dominated(case: tuple[int, Cells], *, consolidated: bool = False) -> Sides | None:
    """GPUs of the cheapest of the kept allocations that are as fast, against those of any cover.

    Kept are both, or only the round-up.
    """
    gpus, cover = case
    taken = _gpus(cover)
    if taken < gpus:
        return None
    fast = gpus > 8 or any(n and 2**g >= gpus for g, n in enumerate(cover))
    kept = [
        _gpus(cells)
        for cells in ([round_up(gpus)] if consolidated else nondominated(gpus))
        if not fast or gpus > 8 or sum(cells) == 1
    ]
    return Sides(min(kept), taken)


def _gpus(cells: Sequence[int]) -> int:
    return sum(n << g for g, n in enumerate(cells))


# --- leases --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leases:
    """Gangs that need leases.

    Parameters
    ----------
    room : tuple of int
        C_k, GPUs in each lease.
    gangs : tuple of (int, int, int)
        a, L and Q of each.
    """

    room: tuple[int, ...]
    gangs: tuple[Terms, ...]

    def passes(self, *, first: int = 1) -> bool:
        """Return whether what must run in the first t leases fits there, for every t (from one)."""
        return all(
            sum(a * max(0, need - max(0, within - t)) for a, need, within in self.gangs)
            <= sum(self.room[:t])
            for t in range(first, len(self.room) + 1)
        )

    def flow(self) -> int:
        """Return the GPU leases that can be had if gangs may run in part."""
        jobs, slots = len(self.gangs), len(self.room)
        ends = np.zeros((jobs + slots + 2,) * 2, dtype=np.int32)
        for i, (a, need, within) in enumerate(self.gangs, start=1):
            ends[0, i] = a * need
            ends[i, jobs + 1 : jobs + 1 + within] = a
        ends[jobs + 1 : -1, -1] = self.room
        return int(maximum_flow(csr_array(ends), 0, jobs + slots + 1).flow_value)

    def schedule(self, more: int = 0) -> bool:
        """Return whether whole gangs get all their leases in some way; everything is tried."""
        room = tuple(c + more for c in self.room)
        return _scheduled(room, self.gangs, tuple(need for _, need, _ in self.gangs), 0)

    def missed(self) -> int:
        """Return the gangs that least laxity does not complete."""
        gpus, left, due = (
            np.array(column, dtype=np.int64) for column in zip(*self.gangs, strict=True)
        )
        run = np.zeros((gpus.size, len(self.room)), dtype=bool)
        room = np.array(self.room[:1], dtype=np.int64)
        least_laxity(run, np.zeros_like(left), due, left, gpus[:, None], room)
        return int((run.sum(axis=1) < left).sum())


@cache
def _scheduled(
    room: tuple[int, ...], gangs: tuple[Terms, ...], left: tuple[int, ...], slot: int
) -> bool:
    if not any(left):
        return True
    if any(n > gangs[i][2] - slot for i, n in enumerate(left) if n):
        return False
    going = [i for i, n in enumerate(left) if n]
    return any(
        _scheduled(room, gangs, tuple(n - (i in chosen) for i, n in enumerate(left)), slot + 1)
        for chosen in _subsets(going)
        if sum(gangs[i][0] for i in chosen) <= room[slot]
    )


def _subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(items), -1, -1):
        yield from combinations(items, size)


def _draw_leases(rng: Rng, *, gangs: Sequence[int] = (1, 2, 3, 4), rising: bool = True) -> Leases:
    slots = int(rng.integers(1, 5))
    room = rng.integers(0 if not rising else 1, 6, size=slots)
    room = np.full(slots, room[0]) if rng.random() < 0.4 else room
    rows = []
    for _ in range(int(rng.integers(1, 6))):
        within = int(rng.integers(1, slots + 1))
        rows.append((int(rng.choice(gangs)), int(rng.integers(1, within + 1)), within))
    return Leases(tuple(np.sort(room).tolist() if rising else room.tolist()), tuple(rows))


def _draw_passing(rng: Rng) -> Leases:
    """Gangs that satisfy the prefixes; in half of the cases they have no schedule as it is."""
    narrow = rng.integers(2)
    while not (case := _draw_leases(rng)).passes() or (narrow and case.schedule()):
        pass
    return case


def _draw_equal(rng: Rng) -> Leases:
    """Gangs of one size that divides the GPUs of every lease."""
    case, gang = _draw_leases(rng, gangs=[1]), int(rng.integers(1, 4))
    gangs = tuple((gang, need, within) for _, need, within in case.gangs)
    return Leases(tuple(gang * c for c in case.room), gangs)


def _prefix(case: Leases, *, last: bool = False) -> Sides:
    """Whether the prefixes hold, against whether gangs that may run in part get all they need.

    All prefixes, or only the last.
    """
    wanted = sum(a * need for a, need, _ in case.gangs)
    first = len(case.room) if last else 1
    return Sides(case.passes(first=first), case.flow() == wanted, "==")


def _integral(case: Leases, *, additive: bool = False, taken: int = 0) -> Sides | None:
    """Whether gangs that pass have no schedule, with so many GPUs taken from each lease."""
    if not case.passes():
        return None
    largest = max(a for a, _, _ in case.gangs)
    if not additive and largest > min(case.room):
        return None
    more = largest - 1 if additive else 0
    return Sides(not case.schedule(more - taken), 0)


def _laxity(case: Leases, *, taken: bool = False) -> Sides | None:
    """Gangs that least laxity misses where all can be scheduled; equal leases.

    Once they can the GPUs of the first gang may be `taken` from each lease.
    """
    case = Leases(case.room[:1] * len(case.room), case.gangs)
    if not case.schedule():
        return None
    gpus = case.gangs[0][0] if taken else 0
    return Sides(Leases(tuple(c - gpus for c in case.room), case.gangs).missed(), 0)


# --- lease arithmetic ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Work:
    """A job that has work and a deadline, in seconds, and the length of a lease."""

    work: int
    deadline: int
    lease: int
    speed: int = FULL_SPEED
    cost: int = 0


def _draw_work(rng: Rng) -> _Work:
    lease = int(rng.integers(1, 13))
    work = int(rng.integers(1, 5 * lease))
    deadline = int(rng.integers(max(1, work - lease), 2 * work + lease))
    return _Work(work, deadline, lease)


def _refused(case: _Work, *, rounding: Any) -> Sides:
    """Whether a job is refused, against whether it cannot be done even alone."""
    terms = lease_terms(case.work, case.deadline, lease=case.lease, rounding=rounding)
    return Sides(terms is None, case.work > case.deadline, "==")


def _in_time(case: _Work) -> Sides | None:
    """When the last second of work is done with L leases that are the last of the first Q."""
    terms = lease_terms(case.work, case.deadline, lease=case.lease)
    if terms is None:
        return None
    before = (terms.needed - 1) * case.lease
    return Sides((terms.within - 1) * case.lease + case.work - before, case.deadline)


def _double(case: _Work) -> Sides:
    """Leases by (12), L / phi rounded up once more, against those that are enough."""
    speed = Fraction(case.speed, FULL_SPEED)
    printed = ceil(ceil(Fraction(case.work, case.lease)) / speed)
    return Sides(printed, ceil(case.work / speed / case.lease), "==")


def _draw_slow(rng: Rng) -> _Work:
    return _Work(int(rng.integers(1, 50)), 100, int(rng.integers(1, 13)), FULL_SPEED * 3 // 5)


def _draw_spread(rng: Rng) -> tuple[int, int]:
    """How many leases, among how many."""
    within = int(rng.integers(1, 11))
    return int(rng.integers(1, within + 1)), within


def _mean_interruptions(case: tuple[int, int], *, all_n: bool = False) -> Sides:
    """Eq. (3) as printed, t^sr = 1, against its closed form, or against n (m - n) / m."""
    n, m = case
    printed = sum(
        Fraction(k * comb(n - 1, k) * comb(m - n + 1, k + 1), comb(m, n))
        for k in range(min(n - 1, m - n) + 1)
    )
    closed = Fraction(n * (m - n), m) if all_n else Fraction(*mean_interruptions(n, m))
    return Sides(printed, closed, "==")


def _counted(case: tuple[int, int], *, more: int = 0) -> Sides:
    """The closed form, for that many or `more` leases in all, against the mean over all choices."""
    n, m = case
    every = [sum(b > a + 1 for a, b in pairwise(chosen)) for chosen in combinations(range(m), n)]
    closed = Fraction(*mean_interruptions(n, m + more))
    return Sides(closed, Fraction(sum(every), len(every)), "==")


def _draw_number(rng: Rng, *, most: int) -> int:
    return int(rng.integers(1, most + 1))


def _half(leases: int, *, repaired: bool = False) -> Sides:
    """N / 2, or with n - 1, against the mean number of boundaries that interrupt, one in two."""
    top, bottom = remaining_estimate(leases, 1, 1)  # one second a lease and an interruption
    every = [sum(cut) for cut in product((0, 1), repeat=leases - 1)]
    estimate = Fraction(top, bottom) - leases if repaired else Fraction(leases, 2)
    return Sides(estimate, Fraction(sum(every), len(every)), "==")


def _iterated(case: _Work) -> Sides:
    """Rounds until n = ceil((T^dur + T^sr(n, m)) / T) stays as it is, or 1,000, against 100."""
    within = (case.deadline - (case.work - 1) % case.lease - 1) // case.lease + 1
    n = ceil(Fraction(case.work, case.lease))
    for rounds in range(1_000):
        times, share = mean_interruptions(min(n, within), within)
        after = ceil((case.work + case.cost * Fraction(times, share)) / case.lease)
        if after == n or n > within:
            return Sides(rounds, 100)
        n = after
    return Sides(1_000, 100)


def _draw_suspended(rng: Rng) -> _Work:
    lease = int(rng.integers(2, 13))
    work = int(rng.integers(1, 6 * lease))
    deadline = work + int(rng.integers(0, 4 * lease))
    return _Work(work, deadline, lease, cost=int(rng.integers(1, lease)))


def _enough(case: _Work, *, fewer: int = 0) -> Sides | None:
    """Work with the mean cost of suspensions, against L (or fewer) leases, L <= Q."""
    terms = lease_terms(case.work, case.deadline, lease=case.lease, cost=case.cost)
    if terms is None or (needed := terms.needed - fewer) < 1:
        return None
    within = (case.deadline - (case.work - 1) % case.lease - 1) // case.lease + 1
    mean = Fraction(*mean_interruptions(needed, within))
    over = case.work + case.cost * mean - needed * case.lease
    return Sides(max(over, Fraction(needed - terms.within)), 0)


# --- the objective -------------------------------------------------------------------------------


def _printed_holds(case: Leases, s: Sequence[int], y: Sequence[int], x: Sequence[int]) -> bool:
    """Whether (6), (7), (11)-(14) hold, as printed; one deadline and one allocation a job.

    x says whether a job has all or none of its leases, which is all that is needed here.
    """
    service = all(
        y[i] * s[i] * x[i] * within >= y[i] * s[i] * need
        for i, (_, need, within) in enumerate(case.gangs)
    )
    not_more = all(
        s[i] * x[i] * within <= s[i] * need for i, (_, need, within) in enumerate(case.gangs)
    )
    requested = Gangs((), tuple(a for i, (a, _, _) in enumerate(case.gangs) if y[i])).rounded()
    return service and not_more and fits_cells(requested, free_cells([case.room[0]]))


def _vacuous(case: Leases) -> Sides | None:
    """Deadlines that the printed model meets, against those that can be met at all."""
    zeros = [0] * len(case.gangs)
    if not _printed_holds(case, [1] * len(case.gangs), zeros, zeros):
        return None
    best = max(
        len(chosen)
        for chosen in _subsets(range(len(case.gangs)))
        if Leases(case.room, tuple(case.gangs[i] for i in chosen)).schedule()
    )
    return Sides(len(case.gangs), best)


@dataclass(frozen=True, slots=True)
class _Lease:
    """One lease: GPUs, gangs with deadlines at its end, profilers of one GPU worth 1 each."""

    gpus: int
    deadlines: tuple[tuple[int, int], ...]
    profilers: int

    def best(self, profilers: int) -> list[tuple[int, int]]:
        """Return (reward of all, reward of deadlines) of every choice of deadlines."""
        found = []
        for chosen in _subsets(range(len(self.deadlines))):
            left = self.gpus - sum(self.deadlines[i][0] for i in chosen)
            if left >= 0:
                reward = sum(self.deadlines[i][1] for i in chosen)
                found.append((reward + min(left, profilers), reward))
        return found


def _draw_lease(rng: Rng, *, values: Sequence[int] = (20, 50, 80, 100)) -> _Lease:
    gpus = int(rng.integers(4, 33))
    rows = rng.integers(1, gpus + 1, size=rng.integers(1, 4)).tolist()
    values = rng.choice(values, size=len(rows)).tolist()
    return _Lease(gpus, tuple(zip(rows, values, strict=True)), int(rng.integers(0, 40)))


def _displaced(case: _Lease, *, scale: Fraction = Fraction(1)) -> Sides:
    """Reward of deadlines without profilers, against that beside them; rewards times `scale`."""
    alone = max(reward for _, reward in case.best(0))
    both = [
        (reward * scale + (all_ - reward), reward) for all_, reward in case.best(case.profilers)
    ]
    return Sides(alone, max(both)[1])


# --- the claims ----------------------------------------------------------------------------------


def _displaced_after_all(case: _Lease, *, part: int = 1) -> Sides:
    """The same with rewards times more than all profilers, or a `part` of that."""
    return _displaced(case, scale=Fraction(case.profilers + 1, part))


def _one_gpu_less(case: Gangs) -> Sides | None:
    """Of (14), not of the nodes."""
    return _necessary(case, free_cells(_one_taken(case).free))


def _refused_in_time(case: _Work) -> Sides:
    refused = _refused(case, rounding="lossless").left
    return Sides(refused, case.work >= case.deadline, "==")


UNISCHED = claims_of(PAPER, __name__)
