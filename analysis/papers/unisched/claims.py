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
from ..claim import Claim, Sides, Verdict

__all__ = ["UNISCHED", "Gangs", "Leases"]

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
    rng: Rng, *, sizes: Sequence[int], free: Sequence[int] = range(9), most: int = 3
) -> Gangs:
    """Gangs that take most of the GPUs of up to `most` nodes."""
    nodes = tuple(int(f) for f in rng.choice(list(free), size=rng.integers(1, most + 1)))
    gangs: list[int] = []
    target = rng.integers(0, sum(nodes) + 2)
    while sum(gangs) < target:
        gangs.append(int(rng.choice(sizes)))
    return Gangs(nodes, tuple(gangs))


def _sufficient(case: Gangs) -> Sides | None:
    """Gangs without room where (14) holds, against none."""
    if not fits_cells(case.rounded(), free_cells(case.free)):
        return None
    return Sides(not case.fit(), 0)


def _necessary(case: Gangs) -> Sides | None:
    """Whether (14) refuses what fits, against no."""
    return Sides(not fits_cells(case.rounded(), free_cells(case.free)), 0) if case.fit() else None


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


@dataclass(frozen=True, slots=True)
class _Masks:
    """Which GPUs of each node are free, and gangs."""

    free: tuple[tuple[bool, ...], ...]
    sizes: tuple[int, ...]


def _draw_masks(rng: Rng) -> _Masks:
    nodes = tuple(tuple((rng.random(4) < 0.6).tolist()) for _ in range(int(rng.integers(1, 3))))
    return _Masks(nodes, tuple(rng.choice([1, 2, 4], size=rng.integers(1, 4)).tolist()))


def _aligned_cells(case: _Masks) -> Sides | None:
    """As :func:`_necessary`, with cells as a buddy allocator counts them."""
    gangs = Gangs(tuple(sum(node) for node in case.free), case.sizes)
    if not gangs.fit():
        return None
    cells = np.sum([_aligned(node) for node in case.free], axis=0).tolist()
    return Sides(not fits_cells(gangs.rounded(), tuple(cells)), 0)


def _one_row(case: Gangs) -> Sides | None:
    """Whether (14) fails though it holds for i = 0; nodes of 8 that are free."""
    if sum(case.sizes) > sum(case.free):
        return None
    return Sides(not fits_cells(case.rounded(), (0, 0, 0, len(case.free))), 0)


def _four_gpu_nodes(case: Gangs) -> Sides | None:
    """Gangs without room on free nodes of 4 where (14) holds with N_3 = M / 8."""
    cells: Cells = (0, 0, 0, sum(case.free) // 8)
    if not fits_cells(case.rounded(), cells):
        return None
    return Sides(not case.fit(), 0)


def _larger_first(case: Gangs, *, rng_seed: int = 0) -> Sides | None:
    """Gangs without room where (14) holds, larger ones first, each on any node with room."""
    if not fits_cells(case.rounded(), free_cells(case.free)):
        return None
    rng, free, missing = np.random.default_rng(rng_seed), list(case.free), 0
    for size in sorted(case.sizes, reverse=True):
        room = [n for n, f in enumerate(free) if f >= size]
        if room:
            free[int(rng.choice(room))] -= size
        else:
            missing += 1
    return Sides(missing, 0)


def _within_rows(case: Gangs) -> Sides:
    """Whether the rows hold, against whether the gangs fit; nodes are alike."""
    gpus = case.free[0]
    matrix, limit = consolidated_rows(gpus)
    counts = np.array(case.counts)
    inside = not counts[gpus:].any() and bool(
        (matrix @ counts[:gpus] <= limit * len(case.free)).all()
    )
    return Sides(inside, case.fit(), "==")


def _draw_alike(rng: Rng, *, gpus: Sequence[int]) -> Gangs:
    free = int(rng.choice(gpus))
    nodes = int(rng.integers(1, 4))
    drawn = _draw_gangs(rng, sizes=range(1, free + 1), free=[free], most=1)
    more = [
        _draw_gangs(rng, sizes=range(1, free + 1), free=[free], most=1) for _ in range(nodes - 1)
    ]
    sizes = tuple(size for one in (drawn, *more) for size in one.sizes)
    return Gangs((free,) * nodes, sizes)


def _example(nodes: int) -> Sides:
    """Gangs of 6 that are placed on nodes of 8, if each may be split, against 8 m / 6."""
    gangs = nodes * 8 // 6
    placed = assign([Request(j, 6, split=True) for j in range(gangs)], [8] * nodes, [8] * nodes)
    return Sides(len(placed.nodes), gangs, "==")


def _example_rounded(nodes: int) -> Sides:
    """Gangs of 6 that are placed if none is split, against one a node."""
    gangs = nodes * 8 // 6
    placed = assign([Request(j, 6) for j in range(gangs)], [8] * nodes, [8] * nodes)
    return Sides(len(placed.nodes), nodes, "==")


@dataclass(frozen=True, slots=True)
class _Gang:
    """One gang, and a way to cover it with cells."""

    gpus: int
    cells: Cells


def _draw_gang(rng: Rng) -> _Gang:
    gpus = int(rng.integers(1, 17))
    cells = rng.integers(0, [gpus + 1, gpus // 2 + 2, gpus // 4 + 2, gpus // 8 + 2]).tolist()
    return _Gang(gpus, tuple(cells))


def _dominated(case: _Gang) -> Sides | None:
    """GPUs of the cheapest of the kept allocations that are as fast, against those of any cover."""
    taken = _gpus(case.cells)
    if taken < case.gpus:
        return None
    fast = case.gpus > 8 or any(n and 2**g >= case.gpus for g, n in enumerate(case.cells))
    kept = [
        _gpus(cells)
        for cells in nondominated(case.gpus)
        if not fast or case.gpus > 8 or sum(cells) == 1
    ]
    return Sides(min(kept), taken)


def _gpus(cells: Cells) -> int:
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

    def passes(self) -> bool:
        """Return whether what must run in the first t leases fits there, for every t."""
        return all(
            sum(a * max(0, need - max(0, within - t)) for a, need, within in self.gangs)
            <= sum(self.room[:t])
            for t in range(1, len(self.room) + 1)
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
        order = np.lexsort((np.arange(gpus.size), due - left))
        room = np.array(self.room[:1], dtype=np.int64)
        least_laxity(run, order, np.zeros_like(left), due, left, gpus[:, None], room)
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
    """Gangs that satisfy the prefixes."""
    while not (case := _draw_leases(rng)).passes():
        pass
    return case


def _draw_equal(rng: Rng) -> Leases:
    """Gangs of one size that divides the GPUs of every lease."""
    case, gang = _draw_leases(rng, gangs=[1]), int(rng.integers(1, 4))
    gangs = tuple((gang, need, within) for _, need, within in case.gangs)
    return Leases(tuple(gang * c for c in case.room), gangs)


def _prefix(case: Leases) -> Sides:
    """Whether the prefixes hold, against whether gangs that may run in part get all they need."""
    wanted = sum(a * need for a, need, _ in case.gangs)
    return Sides(case.passes(), case.flow() == wanted, "==")


def _integral(case: Leases, *, additive: bool = False) -> Sides | None:
    """Whether gangs that pass have no schedule, against no."""
    if not case.passes():
        return None
    largest = max(a for a, _, _ in case.gangs)
    if not additive and largest > min(case.room):
        return None
    more = largest - 1 if additive else 0
    return Sides(not case.schedule(more), 0)


def _laxity(case: Leases) -> Sides | None:
    """Gangs that least laxity misses where all can be scheduled; leases are alike."""
    case = Leases(case.room[:1] * len(case.room), case.gangs)
    return Sides(case.missed(), 0) if case.schedule() else None


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


@dataclass(frozen=True, slots=True)
class _Spread:
    """n leases among m."""

    needed: int
    within: int

    def runs(self) -> Iterator[int]:
        """Numbers of interruptions of every choice of n among m leases."""
        for chosen in combinations(range(self.within), self.needed):
            yield sum(b > a + 1 for a, b in pairwise(chosen))


def _draw_spread(rng: Rng) -> _Spread:
    within = int(rng.integers(1, 11))
    return _Spread(int(rng.integers(1, within + 1)), within)


def _mean_interruptions(case: _Spread) -> Sides:
    """Eq. (3) as printed, t^sr = 1, against its closed form."""
    n, m = case.needed, case.within
    printed = sum(
        Fraction(k * comb(n - 1, k) * comb(m - n + 1, k + 1), comb(m, n))
        for k in range(min(n - 1, m - n) + 1)
    )
    return Sides(printed, Fraction(*mean_interruptions(n, m)), "==")


def _counted(case: _Spread) -> Sides:
    """The closed form, against the mean over all choices."""
    every = list(case.runs())
    return Sides(
        Fraction(*mean_interruptions(case.needed, case.within)),
        Fraction(sum(every), len(every)),
        "==",
    )


def _half(leases: int) -> Sides:
    """N / 2 against the mean number of boundaries that interrupt, one in two."""
    every = [sum(cut) for cut in product((0, 1), repeat=leases - 1)]
    return Sides(Fraction(leases, 2), Fraction(sum(every), len(every)), "==")


def _half_repaired(leases: int) -> Sides:
    """As :func:`_half`, with n - 1; one second a lease and an interruption."""
    top, bottom = remaining_estimate(leases, 1, 1)
    every = [sum(cut) for cut in product((0, 1), repeat=leases - 1)]
    return Sides(Fraction(top, bottom) - leases, Fraction(sum(every), len(every)), "==")


def _iterated(case: _Work) -> Sides:
    """Rounds until n = ceil((T^dur + T^sr(n, m)) / T) stays as it is, against 100."""
    within = (case.deadline - (case.work - 1) % case.lease - 1) // case.lease + 1
    n = ceil(Fraction(case.work, case.lease))
    for rounds in range(101):
        times, share = mean_interruptions(min(n, within), within)
        after = ceil((case.work + case.cost * Fraction(times, share)) / case.lease)
        if after == n or n > within:
            return Sides(rounds, 100)
        n = after
    return Sides(101, 100)


def _draw_suspended(rng: Rng) -> _Work:
    lease = int(rng.integers(2, 13))
    work = int(rng.integers(1, 6 * lease))
    return _Work(
        work, work + int(rng.integers(0, 4 * lease)), lease, cost=int(rng.integers(1, lease))
    )


def _enough(case: _Work) -> Sides | None:
    """Work with the mean cost of suspensions, against L leases, L <= Q."""
    terms = lease_terms(case.work, case.deadline, lease=case.lease, cost=case.cost)
    if terms is None:
        return None
    within = (case.deadline - (case.work - 1) % case.lease - 1) // case.lease + 1
    mean = Fraction(*mean_interruptions(terms.needed, within))
    over = case.work + case.cost * mean - terms.needed * case.lease
    return Sides(max(over, Fraction(terms.needed - terms.within)), 0)


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


def _draw_lease(rng: Rng) -> _Lease:
    gpus = int(rng.integers(4, 33))
    rows = rng.integers(1, gpus + 1, size=rng.integers(1, 4)).tolist()
    values = rng.choice([20, 50, 80, 100], size=len(rows)).tolist()
    return _Lease(gpus, tuple(zip(rows, values, strict=True)), int(rng.integers(0, 40)))


def _displaced(case: _Lease, *, scale: int = 1) -> Sides:
    """Reward of deadlines without profilers, against that beside them; rewards times `scale`."""
    alone = max(reward for _, reward in case.best(0))
    both = [
        (reward * scale + (all_ - reward), reward) for all_, reward in case.best(case.profilers)
    ]
    return Sides(alone, max(both)[1])


# --- the claims ----------------------------------------------------------------------------------

FRIENDLY = (1, 2, 4, 8)

UNISCHED: tuple[Claim[Any], ...] = (
    Claim(
        id="proposition-1",
        source=f"{PAPER}, Proposition 1",
        statement="Where (14) holds there is a consolidated placement.",
        verdict=Verdict.PROVED,
        assumptions="gangs of 1, 2, 4 and 8 GPUs; N_g nodes have bit g in their free GPUs",
        evidence="largest first, on any node with room",
        check=_sufficient,
        draw=partial(_draw_gangs, sizes=FRIENDLY),
    ),
    Claim(
        id="proposition-1-converse",
        source="beyond the paper",
        statement="Where there is a consolidated placement, (14) holds.",
        verdict=Verdict.PROVED,
        assumptions="as proposition-1",
        evidence="a node with f free GPUs has room for floor(f / 2^i) cells of level i",
        check=_necessary,
        draw=partial(_draw_gangs, sizes=FRIENDLY),
    ),
    Claim(
        id="proposition-1-aligned",
        source="beyond the paper",
        statement="The same with cells that are aligned blocks, as a buddy allocator has them.",
        verdict=Verdict.REFUTED,
        assumptions="gangs of 1, 2 and 4 GPUs on nodes of 4",
        evidence="GPUs 0 and 3 are two cells of level 0, yet a gang of 2 fits",
        check=_aligned_cells,
        draw=_draw_masks,
        counterexamples={"2 on 1001": lambda: _Masks(((True, False, False, True),), (2,))},
    ),
    Claim(
        id="proposition-1-one-row",
        source=f"{PAPER}, (14)",
        statement="Where all nodes are free, (14) for i = 0 implies it for i = 1, 2, 3.",
        verdict=Verdict.PROVED,
        assumptions="as proposition-1",
        evidence="divide by 2^i and round down",
        check=_one_row,
        draw=partial(_draw_gangs, sizes=FRIENDLY, free=[8]),
    ),
    Claim(
        id="proposition-1-4-gpus",
        source=f"{PAPER}, (14)",
        statement="With N_3 = M / 8, others 0, the same holds on nodes of 4 GPUs.",
        verdict=Verdict.REFUTED,
        assumptions="all nodes are free; a gang of 8 is to be on one node, as the paper says",
        evidence="no node has a cell of level 3",
        check=_four_gpu_nodes,
        draw=partial(_draw_gangs, sizes=FRIENDLY, free=[4], most=4),
        counterexamples={"8 on 4 + 4": lambda: Gangs((4, 4), (8,))},
    ),
    Claim(
        id="larger-first",
        source="beyond the paper",
        statement="Where (14) holds for gangs that are rounded up, gangs in order of falling size "
        "all find room, each on any node that has it.",
        verdict=Verdict.PROVED,
        assumptions="gangs of 1 to 8 GPUs",
        evidence="a gang takes no more of floor(f / 2^i) than its cell does",
        check=_larger_first,
        draw=partial(_draw_gangs, sizes=range(1, 9)),
    ),
    Claim(
        id="round-up",
        source=f"{PAPER}, Section III-C4",
        statement="Where gangs fit consolidated, (14) holds for their round-up.",
        verdict=Verdict.REFUTED,
        assumptions="gangs of 1 to 8 GPUs",
        evidence="3 GPUs are cells of 2 and 1, their gang a cell of 4; on a node of 8 gangs of 3, "
        "3 and 2 fit, rounded up 4 + 4 + 2 = 10",
        check=_necessary,
        draw=partial(_draw_gangs, sizes=range(1, 9)),
        counterexamples={
            "3 on 3": lambda: Gangs((3,), (3,)),
            "on 8": lambda: Gangs((8,), (3, 3, 2)),
        },
    ),
    Claim(
        id="five-rows",
        source="beyond the paper",
        statement="Gangs of 1 to 8 GPUs fit consolidated on m free nodes of 8 if and only if five "
        "inequalities hold.",
        verdict=Verdict.PROVED,
        evidence="enumeration for small m, Caratheodory's theorem for the others",
        check=_within_rows,
        draw=partial(_draw_alike, gpus=[8]),
    ),
    Claim(
        id="partial-rows",
        source="beyond the paper",
        statement="The same on m nodes that have c < 8 free GPUs, with at most five inequalities; "
        "on nodes of 4 with two.",
        verdict=Verdict.PROVED,
        evidence="as five-rows",
        check=_within_rows,
        draw=partial(_draw_alike, gpus=range(1, 8)),
    ),
    Claim(
        id="section-2b-round-up",
        source=f"{PAPER}, Section II-B",
        statement="Of four gangs of 6 on three nodes of 8, and in general of 8 m / 6 on m, only m "
        "are placed consolidated.",
        verdict=Verdict.PROVED,
        evidence="no node holds two",
        check=_example_rounded,
        draw=lambda rng: int(rng.integers(1, 10)),
        samples=9,
    ),
    Claim(
        id="section-2b-split",
        source=f"{PAPER}, Section II-B",
        statement="All of them are placed if they may be split.",
        verdict=Verdict.PROVED,
        evidence="GPUs are enough",
        check=_example,
        draw=lambda rng: int(rng.integers(1, 10)),
        samples=9,
    ),
    Claim(
        id="two-allocations",
        source="beyond the paper",
        statement="Of the covers of a gang by cells, the round-up and one cell a GPU are enough.",
        verdict=Verdict.PROVED,
        assumptions="speed tells one node from several, nothing else (2); all nodes are free",
        evidence="no other takes fewer GPUs at the same speed",
        check=_dominated,
        draw=_draw_gang,
    ),
    Claim(
        id="printed-model",
        source=f"{PAPER}, (4)-(14)",
        statement="A selection that satisfies (5)-(14) can be scheduled.",
        verdict=Verdict.REFUTED,
        assumptions="one deadline a job, worth 1",
        evidence="x = 0, y = 0 and s = 1 satisfy everything, on no GPU at all",
        check=_vacuous,
        draw=_draw_leases,
        counterexamples={"1 on 0": lambda: Leases((0,), ((1, 1, 1),))},
    ),
    Claim(
        id="prefixes",
        source="beyond the paper",
        statement="Gangs that may run in part get L of their first Q leases if and only if, for "
        "every t, what must run in the first t leases fits into them.",
        verdict=Verdict.PROVED,
        assumptions="C_k does not fall",
        evidence="minimum cut",
        check=_prefix,
        draw=_draw_leases,
    ),
    Claim(
        id="prefixes-falling",
        source="beyond the paper",
        statement="The same where C_k falls.",
        verdict=Verdict.REFUTED,
        evidence="a later lease can be the narrow one: 1 GPU twice, but lease 1 has none, though "
        "1 <= 2 and 2 <= 2 + 0",
        check=_prefix,
        draw=partial(_draw_leases, rising=False),
        counterexamples={"C = 2, 0": lambda: Leases((2, 0), ((1, 2, 2),))},
    ),
    Claim(
        id="compact-equal",
        source="beyond the paper",
        statement="Whole gangs that satisfy the prefixes have a schedule if all are of one size.",
        verdict=Verdict.PROVED,
        assumptions="the size divides every C_k, and C_k does not fall",
        evidence="flows of integer capacities are integral",
        check=_integral,
        draw=_draw_equal,
    ),
    Claim(
        id="compact-mixed",
        source="beyond the paper",
        statement="The same for gangs of any sizes.",
        verdict=Verdict.REFUTED,
        assumptions="C_k does not fall, and no gang is larger",
        evidence="a knapsack in every lease",
        check=_integral,
        draw=_draw_leases,
        counterexamples={"1 twice and 2": lambda: Leases((2, 2), ((1, 2, 2), (2, 1, 2)))},
    ),
    Claim(
        id="compact-additive",
        source="beyond the paper",
        statement="Gangs that satisfy the prefixes have a schedule with a_max - 1 GPUs more in "
        "every lease.",
        verdict=Verdict.PROVED,
        assumptions="C_k does not fall",
        evidence="rounding as for unrelated machines: a lease gains less than one gang",
        check=partial(_integral, additive=True),
        draw=_draw_passing,
    ),
    Claim(
        id="least-laxity",
        source="beyond the paper",
        statement="Lease by lease, least laxity first, larger gangs before smaller ones, completes "
        "all gangs that can be completed together.",
        verdict=Verdict.REFUTED,
        assumptions="equal leases, all gangs there from the start",
        evidence="two gangs of equal laxity can waste GPUs side by side",
        check=_laxity,
        draw=_draw_leases,
        counterexamples={
            "1, 2, 2, 4 on 4": lambda: Leases(
                (4,) * 3, ((4, 1, 3), (2, 1, 1), (2, 1, 2), (1, 2, 3))
            )
        },
    ),
    Claim(
        id="least-laxity-equal",
        source="beyond the paper",
        statement="It does if all gangs are of one size.",
        verdict=Verdict.PROVED,
        assumptions="as least-laxity",
        evidence="the prefixes go on to hold after each lease",
        check=_laxity,
        draw=_draw_equal,
    ),
    Claim(
        id="lossless",
        source=f"{PAPER}, Section III-C4, corrected",
        statement="With Q = floor((D - r) / T) + 1, r the work in the last lease, a job is refused "
        "if and only if D < T^dur.",
        verdict=Verdict.PROVED,
        evidence="L T - T + r = T^dur",
        check=partial(_refused, rounding="lossless"),
        draw=_draw_work,
    ),
    Claim(
        id="lossless-in-time",
        source=f"{PAPER}, Section III-C4, corrected",
        statement="A job that gets any L of these Q leases ends by its deadline.",
        verdict=Verdict.PROVED,
        evidence="its last lease begins by (Q - 1) T, and r seconds of it are needed",
        check=_in_time,
        draw=_draw_work,
    ),
    Claim(
        id="rounding",
        source=f"{PAPER}, Section III-C4",
        statement="With L = ceil(T^dur / T) and Q = floor(D / T) a job is refused if and only if "
        "D < T^dur.",
        verdict=Verdict.REFUTED,
        evidence="a job ends within its last lease",
        check=partial(_refused, rounding="paper"),
        draw=_draw_work,
        counterexamples={"1 s of 2": lambda: _Work(1, 1, 2)},
    ),
    Claim(
        id="rounding-twice",
        source=f"{PAPER}, (12)",
        statement="On an allocation of speed phi a job needs ceil(L / phi) leases.",
        verdict=Verdict.REFUTED,
        evidence="L is rounded before it is divided",
        check=_double,
        draw=_draw_slow,
        counterexamples={"half a lease at half speed": lambda: _Work(1, 2, 2, FULL_SPEED // 2)},
    ),
    Claim(
        id="eq-3",
        source=f"{PAPER}, eq. (3)",
        statement="Eq. (3) is (n - 1) (m - n) / m times t^sr.",
        verdict=Verdict.PROVED,
        evidence="hypergeometric mean",
        check=_mean_interruptions,
        draw=_draw_spread,
    ),
    Claim(
        id="eq-3-mean",
        source=f"{PAPER}, eq. (3)",
        statement="It is the mean number of interruptions if every choice of n among m leases is "
        "equally likely.",
        verdict=Verdict.PROVED,
        evidence="a run begins where a lease is chosen and the one before is not",
        check=_counted,
        draw=_draw_spread,
    ),
    Claim(
        id="eq-3-iterated",
        source="beyond the paper",
        statement="To put n into (3) and the result into n again comes to an end.",
        verdict=Verdict.REFUTED,
        evidence="(n - 1) (m - n) falls for n > (m + 1) / 2: work of 40 s, t^sr of 1 s; n = 4 "
        "gives 40 + 3 / 5 s, which is 5 leases, n = 5 gives 40 s, which is 4",
        check=_iterated,
        draw=_draw_suspended,
        counterexamples={"T = 10, m = 5": lambda: _Work(40, 50, 10, cost=1)},
    ),
    Claim(
        id="eq-3-least",
        source=f"{PAPER}, eq. (3), corrected",
        statement="The least n that is enough for itself exists wherever the work alone is in "
        "time, and is at most Q.",
        verdict=Verdict.PROVED,
        evidence="n = m is always enough",
        check=_enough,
        draw=_draw_suspended,
    ),
    Claim(
        id="best-effort-half",
        source=f"{PAPER}, Section III-B3",
        statement="A best-effort job of n leases, suspended with probability 1/2, is suspended "
        "n / 2 times in the mean.",
        verdict=Verdict.REFUTED,
        evidence="between n leases there are n - 1 boundaries",
        check=_half,
        draw=lambda rng: int(rng.integers(1, 9)),
        samples=8,
        counterexamples={"n = 1": lambda: 1},
    ),
    Claim(
        id="best-effort-mean",
        source=f"{PAPER}, Section III-B3, corrected",
        statement="It is suspended (n - 1) / 2 times in the mean.",
        verdict=Verdict.PROVED,
        evidence="as best-effort-half",
        check=_half_repaired,
        draw=lambda rng: int(rng.integers(1, 9)),
        samples=8,
    ),
    Claim(
        id="weights",
        source=f"{PAPER}, Section III-C2",
        statement="Rewards of 1 for profilers and up to 100 for deadlines ensure that profilers do "
        "not impact deadlines.",
        verdict=Verdict.REFUTED,
        evidence="many profilers outweigh a late deadline",
        check=_displaced,
        draw=_draw_lease,
        counterexamples={"21 for 20": lambda: _Lease(21, ((21, 20),), 21)},
    ),
    Claim(
        id="weights-lexicographic",
        source=f"{PAPER}, Section III-C2, corrected",
        statement="Rewards of 1 / (n + 1) for n profilers do, where rewards for deadlines are "
        "integers.",
        verdict=Verdict.PROVED,
        evidence="all profilers together are worth less than 1",
        check=lambda case: _displaced(case, scale=case.profilers + 1),
        draw=_draw_lease,
    ),
)
