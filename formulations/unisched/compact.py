"""UniSched's selector in compact form: one variable per option, and its blocks as sparse arrays.

Source: Gao et al. (2024), section III-C; the compact form is not in the paper. An option o of a job
is an allocation (a_o GPUs at some speed) with a deadline: the job is worth V_o if it gets L_o of
the first Q_o slots. With C_k GPUs in slot k,

    maximise sum_o V_o z_o
    jobs        J z <= 1:                sum of z_o over the options of a job is at most 1
    capacity    D z + (I - S) s = C:     s_t - s_(t-1) + sum_(o: Q_o - L_o < t <= Q_o) a_o z_o
                                         = C_(t-1), s_0 = 0, s_t >= 0, t = 1, ..., K.

Summed up to t, the second block says that what must run in the first t slots fits there:

    sum_o a_o max(0, L_o - max(0, Q_o - t)) z_o <= sum_(k<t) C_k.

Symbols
-------
==========  =====================  ==============================
symbol      here                   unit
==========  =====================  ==============================
z_o         columns                1
s_t         columns                GPU slots left by the end of t
a_o         ``Options.loads``      GPUs
L_o, Q_o    ``needed, within``     slots
V_o         ``value``              reward
C_k         `capacity`             GPUs
==========  =====================  ==============================

Why it says enough: windows [0, Q_o) are nested and C_k does not fall, so of all cuts of the
transport problem (options send a_o L_o, a slot takes C_k, an option at most a_o into each slot)
a first part of the slots is the tightest. The form is therefore exact where all a_o are equal to
some a that divides all C_k, and in general a relaxation: 1 GPU twice in two slots and 2 GPUs once,
on 2 GPUs, pass it.

Consolidated gangs
------------------
A gang that must stay within one node cannot use GPUs of several. "cells" count it with the next
power of two; "exact" counts what it is, in several rows of capacity: a set of gangs fits on m empty
nodes exactly if every row of :data:`~gangsched.formulations.unisched.CONSOLIDATION_ROWS` allows it.
The capacity of a row is the most that a node can hold of it, so that a row never forbids what is
possible, however many GPUs of a node are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ...instances.arrays import Bools, Floats, Ints
from ...instances.model import FULL_SPEED
from ...instances.schedule import Schedule
from ..problem import Model
from .leases import LeasePhase, Rounding
from .problem import CONSOLIDATION_ROWS, Allocations, UniSched, lexicographic_factor


class Kind(IntEnum):
    """What a candidate competes as."""

    SLO = 0  #: for the leases that meet a deadline
    BEST_EFFORT = 1  #: for the next best-effort lease
    PROFILER = 2  #: for one lease on at most two GPUs, to be measured


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Queue:
    """Candidates of one scheduling cycle, as columns.

    Parameters
    ----------
    gpus : (jobs,) ints
    work : (jobs,) ints
        Seconds of service left at full speed, at least 1.
    split_speed : (jobs,) ints
        Speed on several nodes, in millionths; 0 where the gang must not be on more than it needs.
    cost : (jobs,) ints
        t^sr, seconds.
    phase, kind : (jobs,) ints
        :class:`~gangsched.formulations.unisched.leases.LeasePhase` and :class:`Kind`.
    ptr : (jobs + 1,) ints
        Deadlines of job i are ``ptr[i]:ptr[i + 1]``; those of other kinds than SLO are not read.
    deadline : (deadlines,) ints
        Seconds from now, rising within a job.
    value : (deadlines,) floats
        Rewards, falling within a job.
    """

    gpus: Ints
    work: Ints
    split_speed: Ints
    cost: Ints
    phase: Ints
    kind: Ints
    ptr: Ints
    deadline: Ints
    value: Floats

    @classmethod
    def of(cls, problem: UniSched) -> Queue:
        """Read the columns of a problem whose jobs are all there."""
        jobs, phases = problem.instance.jobs, problem.phases
        for job in jobs:
            if job.release:
                raise ValueError(
                    f"job {job.id!r}: release={job.release}, the compact form needs releases of 0"
                )
        costs = [job.preemption_cost for job in jobs]
        kinds = [Kind.BEST_EFFORT if job.best_effort else Kind.SLO for job in jobs]
        for j in problem.profilers:
            kinds[j] = Kind.PROFILER
        steps = [step for job in jobs for step in job.rewards]
        return cls(
            gpus=_ints([job.gpus for job in jobs]),
            work=_ints([job.work or 1 for job in jobs]),
            split_speed=_ints([round(job.split_speed * FULL_SPEED) for job in jobs]),
            cost=_ints([problem.overhead if cost is None else cost for cost in costs]),
            phase=_ints([phases.get(j, LeasePhase.FRESH) for j in range(len(jobs))]),
            kind=_ints(kinds),
            ptr=np.cumsum(_ints([0, *(len(job.rewards) for job in jobs)])),
            deadline=_ints([deadline for deadline, _ in steps]),
            value=np.array([value for _, value in steps], dtype=np.float64),
        )

    @property
    def rewards(self) -> Floats:
        """Those of the SLO jobs' deadlines."""
        rewards: Floats = self.value[np.repeat(self.kind == Kind.SLO, np.diff(self.ptr))]
        return rewards


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Options:
    """What may be chosen, one row an option, by job, deadline, and falling speed.

    Source: Gao et al. (2024), products s_f,i y_i,p of Section III-C; numbers are its equations.

    Parameters
    ----------
    job : (n,) ints
        Position in the queue.
    gpus : (n,) ints
        a_o, GPUs that it occupies.
    needed, within : (n,) ints
        L_o of the first Q_o slots, (12).
    value : (n,) floats
        V_o, (4).
    speed : (n,) ints
        Normalised, (8), in millionths.
    split : (n,) bools
        Whether the gang may be spread over nodes.
    deadline : (n,) ints
        Which of the job's; -1 for best effort and profilers.
    loads : (rows, n) ints
        What it takes of each row of capacity, (11) in GPUs; the first row is `gpus`.
    """

    job: Ints
    gpus: Ints
    needed: Ints
    within: Ints
    value: Floats
    speed: Ints
    split: Bools
    deadline: Ints
    loads: Ints

    def __len__(self) -> int:
        return self.job.size

    @property
    def jobs(self) -> int:
        """Jobs up to the last one that has an option."""
        return int(self.job.max(initial=-1)) + 1

    @property
    def slots(self) -> int:
        """K, slots that matter: the largest Q."""
        return int(self.within.max(initial=0))

    def take(self, which: ArrayLike) -> Options:
        """Return some of the options."""
        at = np.asarray(which)
        columns = {name: getattr(self, name)[..., at] for name in self.__slots__}
        return Options(**columns)


# --- lease arithmetic on columns -----------------------------------------------------------------


def lease_terms_of(
    work: Ints,
    deadline: Ints,
    speed: Ints,
    cost: Ints,
    phase: Ints,
    *,
    lease: int,
    rounding: Rounding = "lossless",
) -> tuple[Ints, Ints]:
    """Return L and Q of (12) by element, with (1) and (3), both 0 where the deadline cannot be met.

    Notes
    -----
    :func:`~gangsched.formulations.unisched.leases.lease_terms` on columns. The scan for the least L
    that is enough for itself goes on with the elements that have not found theirs.

    Examples
    --------
    >>> one = np.array([1_000_000]), np.array([0]), np.array([0])
    >>> lease_terms_of(np.array([1500]), np.array([1560]), *one, lease=600)
    (array([3]), array([3]))
    """
    if rounding == "paper":
        return _printed(work, deadline, speed, cost, lease)
    w = -(-work * FULL_SPEED // speed) + np.where(phase == LeasePhase.SUSPENDED, cost, 0)
    least = -(-w // lease)
    within = (deadline - (w - (least - 1) * lease)) // lease + 1
    needed = np.where(within < least, 0, least)
    at = np.flatnonzero(needed)
    w, cost, within = w[at], cost[at], within[at]
    running = (phase[at] == LeasePhase.RUNNING).astype(np.int64)
    length, last = _settled(w, cost, needed[at], within, running, lease)
    needed[at] = length
    reached = np.zeros_like(needed)
    reached[at] = (deadline[at] - last) // lease + 1
    return needed, reached


def _settled(
    w: Ints, cost: Ints, needed: Ints, within: Ints, running: Ints, lease: int
) -> tuple[Ints, Ints]:
    """Return the least number of leases that is enough for itself, and seconds of the last one."""
    needed, open_ = needed.copy(), np.arange(needed.size)
    while open_.size:
        n, m = needed[open_], within[open_]
        times = (n - 1 + running[open_]) * (m - n)
        open_ = open_[n * lease * m < w[open_] * m + cost[open_] * times]
        needed[open_] += 1
    times = (needed - 1 + running) * (within - needed)
    before = (needed - 1) * lease
    length = np.maximum(w - (-cost * times // within), before + 1)
    return needed, length - before


def _printed(work: Ints, deadline: Ints, speed: Ints, cost: Ints, lease: int) -> tuple[Ints, Ints]:
    least, within = -(-work // lease), deadline // lease
    fits = within >= least
    m = np.where(fits, within, 1)
    times = (least - 1) * (m - least)
    printed = -(-(work * m + cost * times) // (lease * m))
    needed = -(-printed * FULL_SPEED // speed)
    fits &= needed <= within
    return np.where(fits, needed, 0), np.where(fits, within, 0)


# --- options -------------------------------------------------------------------------------------


def options_of(
    queue: Queue,
    *,
    sizes: Sequence[int] | Ints,
    lease: int = 600,
    be_lease: int = 300,
    allocations: Allocations = "cells",
    rounding: Rounding = "lossless",
    sr_aware: bool = True,
    lexicographic: bool = False,
) -> Options:
    """Return the options of every candidate that no other of its own makes needless.

    Notes
    -----
    Left out: deadlines that cannot be met, gangs that the empty cluster cannot hold, and options
    that another one of the same job dominates: it is worth as much, takes as little of every row,
    and whoever meets the terms of the one meets those of the other, L' <= L - max(0, Q - Q').

    A fixed number of array operations; nothing loops over jobs.

    Examples
    --------
    A gang of 6 GPUs takes a node of 8, or 6 GPUs anywhere at half the speed:

    >>> column = {name: np.array([0]) for name in ("cost", "phase", "kind")}
    >>> queue = Queue(gpus=np.array([6]), work=np.array([1200]), split_speed=np.array([500_000]),
    ...               ptr=np.array([0, 1]), deadline=np.array([3000]), value=np.array([100.0]),
    ...               **column)
    >>> options = options_of(queue, sizes=[8, 8])
    >>> options.gpus, options.needed, options.within
    (array([8, 6]), array([2, 4]), array([5, 5]))
    """
    nodes = _ints(sizes)
    largest = int(nodes.max(initial=1))
    weights = row_weights(largest, allocations)
    job, deadline, split, gpus, slow = _candidates(queue, largest, allocations)
    speed = np.where(slow, queue.split_speed[job], FULL_SPEED)
    cost = queue.cost[job] if sr_aware else np.zeros(job.size, dtype=np.int64)
    work, slo = queue.work[job], deadline >= 0
    needed, within = slo * 0 + 1, slo * 0 + 1
    value = np.empty(job.size)
    at = queue.ptr[job[slo]] + deadline[slo]
    value[slo] = queue.value[at]
    terms = work[slo], queue.deadline[at], speed[slo], cost[slo], queue.phase[job[slo]]
    needed[slo], within[slo] = lease_terms_of(*terms, lease=lease, rounding=rounding)
    few = ~slo
    profiler = queue.kind[job[few]] == Kind.PROFILER
    value[few] = _of_one_lease(work[few], cost[few], speed[few], be_lease)
    value[few] = np.where(profiler, 1.0, value[few])
    if lexicographic:
        small = int(np.count_nonzero(queue.kind != Kind.SLO))
        value[few] *= lexicographic_factor(np.unique(queue.rewards).tolist(), small)
    options = Options(
        job=job,
        gpus=gpus,
        needed=needed,
        within=within,
        value=value,
        speed=speed,
        split=split,
        deadline=deadline,
        loads=_loads(gpus, split, weights),
    )
    room = capacity_of(nodes, 1, rows=weights)
    return _undominated(options.take((needed > 0) & (options.loads <= room).all(axis=0)))


def _candidates(
    queue: Queue, largest: int, allocations: Allocations
) -> tuple[Ints, Ints, Bools, Ints, Bools]:
    """Every deadline with every allocation: job, deadline, anywhere, GPUs, at the split speed."""
    slo, profiler = queue.kind == Kind.SLO, queue.kind == Kind.PROFILER
    gang = np.where(profiler, np.minimum(queue.gpus, 2), queue.gpus)
    whole, rest = gang // largest * largest, gang % largest
    rounded = whole + np.where(rest, np.minimum(_powers(rest), largest), 0)
    splits = queue.split_speed > 0
    may = splits & (allocations != "consolidated")
    anywhere = (splits & profiler) | (may & (gang > largest))
    twice = may & ~anywhere & (_powers(gang) != gang)
    count = np.where(slo, np.diff(queue.ptr), 1)
    job = np.repeat(np.arange(gang.size), count)
    deadline = np.arange(job.size) - np.repeat(np.cumsum(count) - count, count)
    deadline = np.where(slo[job], deadline, -1)
    at = np.repeat(np.arange(job.size), 1 + twice[job])
    slow = np.zeros(at.size, dtype=bool)
    slow[1:] = at[1:] == at[:-1]
    job, deadline = job[at], deadline[at]
    split = slow | anywhere[job]
    asks = split | (allocations == "exact")
    return job, deadline, split, np.where(asks, gang[job], rounded[job]), slow


def _powers(gang: Ints) -> Ints:
    """The next power of two, from 1 on."""
    powers = 1 << np.arange(int(gang.max(initial=1)).bit_length() + 1)
    found: Ints = powers[np.searchsorted(powers, gang)]
    return found


def _of_one_lease(work: Ints, cost: Ints, speed: Ints, lease: int) -> Floats:
    """What the next lease of a best-effort job is worth: tau / (tau + time left)."""
    left = -(-work * FULL_SPEED // speed)
    twice = 2 * left + cost * (-(-left // lease) - 1)
    worth: Floats = 2 * lease / (2 * lease + twice)
    return worth


def _loads(gpus: Ints, split: Bools, weights: Ints) -> Ints:
    """What each option takes of each row: as a gang on one node, or as single GPUs."""
    one = weights[:, np.minimum(gpus, weights.shape[1]) - 1]
    loads: Ints = np.where(split, weights[:, :1] * gpus, one)
    loads[0] = gpus
    return loads


def row_weights(largest: int, allocations: Allocations) -> Ints:
    """Return the rows of capacity: what a gang of 1, 2, ... GPUs on one node takes of each.

    Examples
    --------
    >>> row_weights(4, "exact")
    array([[1, 2, 3, 4],
           [0, 1, 2, 2]])
    """
    gpus = tuple(range(1, largest + 1))
    rows = CONSOLIDATION_ROWS[largest] if allocations == "exact" else ()
    return _ints([gpus, *(row for row, _ in rows if row != gpus)])


def _undominated(options: Options) -> Options:
    """Drop what another option of the same job makes needless; of equals the first stays."""
    n = len(options)
    needless = np.zeros(n, dtype=bool)
    for step in range(1, int(np.bincount(options.job).max(initial=0))):
        first, then = np.arange(n - step), np.arange(step, n)
        same = options.job[first] == options.job[then]
        first, then = first[same], then[same]
        worse = _dominates(options, first, then)
        needless[then[worse]] = True
        needless[first[_dominates(options, then, first) & ~worse]] = True
    return options.take(~needless)


def _dominates(options: Options, a: Ints, b: Ints) -> Bools:
    """Whether option a[i] is as good as b[i] in every respect."""
    spare = np.maximum(options.within[b] - options.within[a], 0)
    dominates: Bools = (
        (options.value[a] >= options.value[b])
        & (options.loads[:, a] <= options.loads[:, b]).all(axis=0)
        & (options.needed[a] <= options.needed[b] - spare)
    )
    return dominates


# --- capacity ------------------------------------------------------------------------------------


def capacity_of(
    sizes: Sequence[int] | Ints,
    slots: int,
    *,
    rows: Sequence[Sequence[int]] | Ints,
    free: Sequence[int] | Ints | None = None,
) -> Ints:
    """Return what each slot has of each row: (rows, slots).

    Source: the right side of (14) of Gao et al. (2024) for i = 0, its GPUs, in each lease (U3 of
    docs/papers/unisched.md); rows beyond the first are those of
    :data:`~gangsched.formulations.unisched.CONSOLIDATION_ROWS`, not the paper's.

    Examples
    --------
    >>> capacity_of([4, 4], 3, rows=row_weights(4, "exact"), free=[4, 1])
    array([[5, 8, 8],
           [2, 4, 4]])
    """
    table = [node_capacity(tuple(int(w) for w in row), int(max(sizes))) for row in rows]
    every = np.array([[most[size] for size in sizes] for most in table]).sum(axis=1)
    capacity = np.repeat(every[:, None], slots, axis=1).astype(np.int64)
    if free is not None and slots:
        capacity[:, 0] = [sum(most[size] for size in free) for most in table]
    return capacity


@cache
def node_capacity(weights: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the most that gangs on one node of 0, 1, ..., `size` GPUs take of a row.

    Notes
    -----
    A knapsack in which every gang may be used again; O(size^2).

    Examples
    --------
    >>> node_capacity((0, 0, 1, 1, 1, 2, 2, 2), 8)
    (0, 0, 0, 1, 1, 1, 2, 2, 2)
    """
    most = [0]
    for gpus in range(1, size + 1):
        gangs = range(1, min(gpus, len(weights)) + 1)
        most.append(max((weights[g - 1] + most[gpus - g] for g in gangs), default=0))
    return tuple(most)


# --- the blocks ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Blocks:
    """The blocks of "J z <= 1, D z + (I - S) s = C", and the objective's V.

    Source: the form is not in the paper. Of Gao et al. (2024), J stands for (6) and (13), D and C
    for (11), (12) and (14), V for (4).

    Parameters
    ----------
    J : (jobs with options, n) sparse
    D : (rows K, n) sparse
        Slot t of row r is row r K + t; K is the number of periods where `ends` were given.
    S : (rows K, rows K) sparse
        Shifts s by one slot.
    C : (rows K,) ints
    V : (n,) floats
    z : (n,) floats
        A solution, where one was embedded.
    """

    J: Any
    D: Any
    S: Any
    C: Ints
    V: Floats
    z: Floats

    def left(self, z: Floats) -> Floats:
        """Return s: what the first t slots have left."""
        slots = np.flatnonzero(np.diff(self.S.indptr) == 0)  # the first of each row
        used = np.split(self.C - self.D @ z, slots[1:])
        return np.concatenate([np.cumsum(part) for part in used])


def compact(options: Options, capacity: ArrayLike, ends: Ints | None = None) -> Blocks:
    """Return the blocks of the compact form.

    Notes
    -----
    At most sum_o L_o entries per row of capacity, made by array operations alone.

    Examples
    --------
    >>> queue = Queue(gpus=np.array([2, 1]), work=np.array([600, 1200]), ptr=np.array([0, 1, 2]),
    ...               split_speed=np.array([10**6] * 2), deadline=np.array([1200, 1200]),
    ...               value=np.array([100.0, 80.0]), cost=np.zeros(2, int),
    ...               phase=np.zeros(2, int), kind=np.zeros(2, int))
    >>> blocks = compact(options_of(queue, sizes=[2]), [2, 2])
    >>> blocks.D.toarray()
    array([[0, 1],
           [2, 1]])
    >>> blocks.S.toarray(), blocks.C
    (array([[0, 0],
           [1, 0]]), array([2, 2]))
    """
    room = checked_capacity(options, capacity)
    ends = np.arange(1, options.slots + 1) if ends is None else ends
    return blocks_of(options, room.cumsum(axis=1)[:, ends - 1], ends)


def blocks_of(options: Options, supply: Ints, ends: Ints) -> Blocks:
    """Return the blocks for what there is until the end of each period."""
    rows, periods, n = supply.shape[0], ends.size, len(options)
    numbers = np.cumsum(np.diff(options.job, prepend=options.job[:1]) > 0)
    count = int(numbers[-1]) + 1 if n else 0
    later = np.arange(rows * periods)
    later = later[later % max(periods, 1) > 0]
    shape = rows * periods, rows * periods
    return Blocks(
        J=sparse.csr_matrix((np.ones(n, dtype=np.int64), (numbers, np.arange(n))), (count, n)),
        D=_demand(options, rows, ends),
        S=sparse.csr_matrix((np.ones(later.size, dtype=np.int64), (later, later - 1)), shape),
        C=np.diff(supply, axis=1, prepend=0).ravel(),
        V=options.value,
        z=np.zeros(n),
    )


def _demand(options: Options, rows: int, ends: Ints) -> Any:
    """D, by column: option o takes its load in the last L_o of its Q_o slots."""
    option, row = np.nonzero(options.loads[:rows].T)
    last = options.within[option]
    first = last - options.needed[option]
    low = np.searchsorted(ends, first, side="right")
    count = np.searchsorted(ends, last, side="left") - low + 1
    ptr = np.cumsum(count)
    period = np.arange(ptr[-1] if ptr.size else 0) + np.repeat(low - ptr + count, count)
    begin = np.concatenate([[0], ends[:-1]])[period]
    both = np.minimum(ends[period], np.repeat(last, count)) - np.maximum(
        begin, np.repeat(first, count)
    )
    data = np.repeat(options.loads[row, option], count) * both
    at = period + np.repeat(row * ends.size, count)
    by_option = np.concatenate([[0], ptr])[np.searchsorted(option, np.arange(len(options) + 1))]
    return sparse.csc_matrix((data, at, by_option), (rows * ends.size, len(options)))


def corners(options: Options, room: Ints) -> Ints:
    """Return the slots after which the capacity has to be looked at, so that it holds after all.

    Notes
    -----
    What options take of the first t slots is convex in t but at each Q_o, and capacity is linear
    but where it changes: in between, both ends being right is enough.

    Examples
    --------
    >>> queue = Queue(gpus=np.array([2]), work=np.array([600]), ptr=np.array([0, 1]),
    ...               split_speed=np.array([10**6]), deadline=np.array([3000]),
    ...               value=np.array([100.0]), cost=np.zeros(1, int),
    ...               phase=np.zeros(1, int), kind=np.zeros(1, int))
    >>> corners(options_of(queue, sizes=[2]), np.array([[1, 2, 2, 2, 2]]))
    array([1, 5])
    """
    changes = np.flatnonzero(np.diff(room, axis=1).any(axis=0)) + 1
    return np.union1d(changes, options.within)


def used(options: Options, z: Floats | Ints, rows: int, slots: int) -> Any:
    """Return what the first t slots have to give, t = 1, ..., `slots`: (rows, slots).

    Examples
    --------
    >>> queue = Queue(gpus=np.array([2]), work=np.array([600]), ptr=np.array([0, 1]),
    ...               split_speed=np.array([10**6]), deadline=np.array([1200]),
    ...               value=np.array([100.0]), cost=np.zeros(1, int),
    ...               phase=np.zeros(1, int), kind=np.zeros(1, int))
    >>> used(options_of(queue, sizes=[2]), np.array([1]), rows=1, slots=3)
    array([[0, 2, 2]])
    """
    weights = options.loads[:rows] * z
    steps = np.zeros((rows, slots + 1), dtype=weights.dtype)
    for row, weight in zip(steps, weights, strict=True):
        np.add.at(row, options.within - options.needed, weight)
        np.subtract.at(row, options.within, weight)
    return steps.cumsum(axis=1)[:, :slots].cumsum(axis=1)


def checked_capacity(options: Options, capacity: ArrayLike) -> Ints:
    """Return the capacity of the slots that matter, (rows, K)."""
    room: Ints = np.atleast_2d(np.asarray(capacity, dtype=np.int64))
    if room.shape[1] < options.slots:
        raise ValueError(f"capacity: {room.shape[1]} slots, the options need {options.slots}")
    if room.shape[0] > options.loads.shape[0]:
        raise ValueError(f"capacity: {room.shape[0]} rows, options have {options.loads.shape[0]}")
    room = room[:, : options.slots]
    if (room < 0).any():
        raise ValueError("capacity: a slot has less than 0")
    if (np.diff(room, axis=1) < 0).any():
        raise ValueError(
            "capacity: it falls from one slot to the next, and the form needs it not to"
        )
    return room


def _ints(values: Any) -> Ints:
    return np.asarray(values, dtype=np.int64)


# --- models --------------------------------------------------------------------------------------


def options_of_problem(problem: UniSched) -> Options:
    """Return the options of all jobs of a problem."""
    names = ("lease", "be_lease", "allocations", "rounding", "sr_aware", "lexicographic")
    own: Any = {name: getattr(problem, name) for name in names}
    return options_of(Queue.of(problem), sizes=problem.instance.cluster.sizes, **own)


def capacity_of_problem(problem: UniSched, slots: int) -> Ints:
    """Return what each slot of a problem has of each row."""
    rows = row_weights(problem.node_gpus, problem.allocations)
    return capacity_of(problem.instance.cluster.sizes, slots, rows=rows, free=problem.free)


def build(problem: UniSched) -> Model[Schedule]:
    """Return the compact form as named arrays (:class:`Blocks`).

    Parameters
    ----------
    problem : UniSched

    Notes
    -----
    A relaxation, of which no schedule can be read: see the top of this module. `embed` writes z.
    """
    options = options_of_problem(problem)
    blocks = compact(options, capacity_of_problem(problem, options.slots))

    def extract() -> Schedule:
        raise ValueError("form 'compact' is a relaxation: its solution need not be a schedule")

    def embed(schedule: Schedule) -> None:
        blocks.z[:] = _chosen(problem, options, schedule)

    return Model(blocks, "arrays", "compact", False, extract, embed, relaxation=True)


def _chosen(problem: UniSched, options: Options, schedule: Schedule) -> Floats:
    """An option for every job that a schedule serves: its own, or one that dominates it."""
    slots = problem.leases(schedule)
    held = [(row.job, sum(row.gpus.values())) for row in schedule]
    least = dict(sorted(held, reverse=True))
    z = np.zeros(len(options))
    for job, value in problem.values(schedule).items():
        own = np.flatnonzero((options.job == job) & (options.value >= value))
        met = [
            o
            for o in own
            if sum(k < options.within[o] for k in slots[job]) >= options.needed[o]
            and options.gpus[o] <= least[job]
        ]
        if value and met:  # single GPUs fit wherever the gang does
            z[max(met, key=lambda o: options.split[o])] = 1.0
    return z
