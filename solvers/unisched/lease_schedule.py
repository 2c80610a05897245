"""From selected options to a schedule: in which leases each job runs, and on which nodes.

Source: beyond Gao et al. (2024), whose objective (4) has no preference among the leases before a
deadline. The compact form of the selector says how much must run in the first t leases; that gangs
of different sizes then fit side by side is not said (a knapsack in every lease).

Leases are filled one after the other by least laxity, Q - t less the leases that a job still needs.
What is left over is put into leases with room, then a small integer program moves the other jobs
(form "slots" with the options fixed). What still does not fit is named with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ...formulations.unisched.compact import Options
from ...formulations.unisched.problem import UniSched
from ...instances.arrays import Bools, Ints
from ...instances.compiled import compiled
from ...instances.schedule import Schedule
from .consolidation import consolidated_rows
from .nodes import Nodes, Request, assign

#: the integer program has at most so many variables: jobs times leases
REPAIRED = 12_000
#: and looks at so many nodes: an end that is the same on every machine
NODES = 1


@dataclass(frozen=True, slots=True)
class Realised:
    """What became of selected options.

    Parameters
    ----------
    schedule : Schedule
        Of all jobs that get every lease that their options need, and no others.
    missed : dict of int to str
        Of each other job, why.
    """

    schedule: Schedule
    missed: dict[int, str]


class _Gangs(NamedTuple):
    """The selected options, as columns; first those that are preferred where laxity is equal."""

    job: Ints
    gpus: Ints
    first: Ints  # lease in which it may begin
    due: Ints  # lease by which it has ended
    needed: Ints
    split: Bools
    value: NDArray[np.float64]
    loads: Ints  # (gangs, rows): what it takes of the capacity of a lease
    room: Ints  # (rows,): that capacity, of the whole cluster


def realise(
    problem: UniSched, options: Options, chosen: ArrayLike, *, time_limit: float | None = None
) -> Realised:
    """Return a schedule in which jobs get what their options say.

    Notes
    -----
    Guarantee: gangs of one size, all there from the start, are realised whenever anybody can: least
    laxity is optimal then (Dertouzos and Mok 1989). Others can be missed though a schedule of all
    exists only where the integer program is too large or ends early, or in leases after a
    first one of which some GPUs are held.

    In every lease gangs are admitted while they fit: counted in GPUs with "cells" and
    "consolidated", by :func:`~.consolidation.consolidated_rows` with "exact", and by
    :func:`~.nodes.assign` in a first lease of which some GPUs are held. So nodes are found
    for all of them; jobs keep theirs from lease to lease unless others need room.

    O(leases x jobs log jobs) operations in machine code and O(log nodes) a start of a job.

    Examples
    --------
    >>> from gangsched.formulations.unisched.compact import Queue, options_of
    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [
    ...     DeadlineJob(id="a", gpus=1, work=1200, rewards=[(1800, 100)]),
    ...     DeadlineJob(id="b", gpus=2, work=600, rewards=[(1200, 100)]),
    ... ]
    >>> problem = UniSched(Instance(Cluster.of_sizes([2]), jobs), overhead=0)
    >>> options = options_of(Queue.of(problem), sizes=[2])
    >>> realised = realise(problem, options, [0, 1])
    >>> [(s.job, s.start, s.end) for s in realised.schedule], realised.missed
    ([(1, 0, 600), (0, 600, 1800)], {})
    """
    plan = _Plan(_gangs(problem, options.take(np.asarray(chosen, dtype=np.int64))))
    first = plan.first_lease(problem)
    plan.forward()
    plan.insert()
    plan.repair(time_limit)
    missed = {int(plan.gangs.job[g]): plan.reason(g) for g in plan.missed()}
    plan.drop_missed()
    return Realised(_on_nodes(problem, plan, first), missed)


def _gangs(problem: UniSched, options: Options) -> _Gangs:
    job = options.job
    if np.unique(job).size < job.size:
        twice = int(np.flatnonzero(np.bincount(job) > 1)[0])
        raise ValueError(f"realise: job {twice} has more than one of the chosen options")
    small = np.array([not problem.has_deadlines(int(j)) for j in job], dtype=bool)
    profiled = np.isin(job, list(problem.profilers))
    # SLO jobs, profilers, best effort; larger gangs; numbers
    order = np.lexsort((job, -options.gpus, small & ~profiled, small))
    options, job = options.take(order), job[order]
    first = np.array([problem.first_slot(int(j)) for j in job], dtype=np.int64)
    loads, room = _loads(problem, options)
    return _Gangs(
        job=job,
        gpus=options.gpus,
        first=first,
        due=first + options.within,
        needed=options.needed,
        split=options.split,
        value=options.value,
        loads=loads,
        room=room,
    )


def _loads(problem: UniSched, options: Options) -> tuple[Ints, Ints]:
    """What gangs take of the rows of a lease, and what the empty cluster has of them."""
    nodes = len(problem.instance.cluster.nodes)
    if problem.allocations != "exact":
        room = np.array([problem.instance.cluster.gpus], dtype=np.int64)
        return np.ascontiguousarray(options.gpus[:, None]), room
    matrix, limit = consolidated_rows(problem.node_gpus)
    size = np.where(options.split, 1, options.gpus)
    number = np.where(options.split, options.gpus, 1)
    return np.ascontiguousarray((matrix[:, size - 1] * number).T), nodes * limit


class _Plan:
    """Which gang runs in which lease."""

    def __init__(self, gangs: _Gangs) -> None:
        self.gangs = gangs
        self.slots = int(gangs.due.max(initial=0))
        self.run = np.zeros((gangs.job.size, self.slots), dtype=bool)
        #: leases before this one are not changed any more
        self.begin = 0
        self.refused: dict[int, str] = {}
        self.proven = False

    def left(self) -> Ints:
        """Leases that each gang still needs."""
        left: Ints = self.gangs.needed - self.run.sum(axis=1)
        return left

    def missed(self) -> list[int]:
        """Gangs that do not get all their leases."""
        return [int(g) for g in np.flatnonzero(self.left() > 0)]

    def drop_missed(self) -> None:
        """Take away what incomplete gangs have."""
        self.run[self.missed()] = False

    def first_lease(self, problem: UniSched) -> dict[int, dict[int, int]] | None:
        """Fill a first lease in which some GPUs are held; None where none are."""
        sizes, gangs = problem.instance.cluster.sizes, self.gangs
        if problem.free is None or tuple(problem.free) == sizes or not self.slots:
            return None
        order = np.argsort(gangs.due - gangs.needed, kind="stable")
        requests = [
            Request(int(g), int(gangs.gpus[g]), bool(gangs.split[g]))
            for g in order[gangs.first[order] == 0]
        ]
        found = assign(requests, problem.free, sizes, repack=True)
        self.run[list(found.nodes), 0] = True
        self.refused, self.begin = found.unplaced, 1
        return found.nodes

    def forward(self) -> None:
        """Fill lease after lease by least laxity."""
        gangs, begin = self.gangs, self.begin
        first = np.maximum(gangs.first, begin)
        least_laxity(self.run, first, gangs.due, self.left(), gangs.loads, gangs.room)

    def _room(self, without: Sequence[int]) -> Ints:
        """What each lease has left, (leases, rows), if some gangs did not run in them."""
        others = np.ones(self.gangs.job.size, dtype=bool)
        others[list(without)] = False
        used = self.run[others].T.astype(np.float64) @ self.gangs.loads[others]
        room: Ints = self.gangs.room - np.rint(used).astype(np.int64)
        return room

    def insert(self) -> None:
        """Put gangs that are incomplete into leases with room, the most valuable first."""
        missed = self.missed()
        if not missed:
            return
        self.run[missed, self.begin :] = False
        room, left = self._room(()), self.left()
        for g in sorted(missed, key=lambda g: (-self.gangs.value[g], g)):
            slots = np.arange(max(self.gangs.first[g], self.begin), self.gangs.due[g])
            fitting = slots[(room[slots] >= self.gangs.loads[g]).all(axis=1)][: left[g]]
            if fitting.size == left[g]:
                self.run[g, fitting] = True
                room[fitting] -= self.gangs.loads[g]

    def repair(self, time_limit: float | None) -> None:
        """Move gangs around those that are incomplete, by an integer program."""
        missed = [g for g in self.missed() if self.gangs.due[g] > self.begin]
        if not missed or (time_limit is not None and time_limit <= 0):
            return
        part = self._neighbours(missed)
        if not part:  # the window of one gang alone is too long
            return
        moves = _Moves.of(self, part)
        found = moves.solve(time_limit)
        if found is None:
            return
        value, run, optimal = found
        left = self.left()
        now = sum(self.gangs.value[g] for g in part if left[g] <= 0)
        self.proven = optimal and len(part) == self.gangs.job.size
        if value > now:
            self.run[part, self.begin :] = False
            self.run[moves.gang[run], moves.slot[run]] = True

    def _neighbours(self, missed: list[int]) -> list[int]:
        """Incomplete gangs, and others whose leases begin before these end: nearest ends first."""
        gangs, last = self.gangs, max(self.gangs.due[g] for g in missed)
        others = np.setdiff1d(np.flatnonzero(gangs.first < last), missed)
        near = others[np.argsort(np.abs(gangs.due[others] - last), kind="stable")]
        every = np.concatenate([np.array(missed, dtype=np.int64), near])
        length = gangs.due[every] - np.maximum(gangs.first[every], self.begin)
        return sorted(int(g) for g in every[np.cumsum(length) <= REPAIRED])

    def reason(self, gang: int) -> str:
        """Why a gang is not in the schedule."""
        if gang in self.refused and self.gangs.due[gang] == 1:
            return f"lease 0: {self.refused[gang]}"
        wanted = (
            f"{self.gangs.needed[gang]} leases of {self.gangs.gpus[gang]} GPUs "
            f"within [{self.gangs.first[gang]}, {self.gangs.due[gang]})"
        )
        if self.proven:
            return f"{wanted}: no schedule has all chosen jobs"
        return f"{wanted}: no room was found beside the other chosen jobs"


class _Moves(NamedTuple):
    """The integer program: a variable for each lease that a gang may get, one for each gang."""

    gang: Ints  # by variable
    slot: Ints
    value: NDArray[np.float64]  # by gang
    constraints: list[LinearConstraint]

    @classmethod
    def of(cls, plan: _Plan, part: list[int]) -> _Moves:
        """The program that moves some gangs, all in the leases that may be changed."""
        gangs, left = plan.gangs, plan.gangs.needed - plan.run[:, : plan.begin].sum(axis=1)
        first = np.maximum(gangs.first[part], plan.begin)
        length = np.maximum(gangs.due[part] - first, 0)
        at = np.repeat(np.arange(len(part)), length)
        gang = np.array(part, dtype=np.int64)[at]
        slot = first[at] + np.arange(at.size) - np.repeat(np.cumsum(length) - length, length)
        runs, n = at.size, len(part)
        entries = np.concatenate([np.ones(runs), -left[part].astype(np.float64)])
        places = np.concatenate([at, np.arange(n)]), np.arange(runs + n)
        service = sparse.csr_array((entries, places), shape=(n, runs + n))
        constraints, room = [LinearConstraint(service, 0, 0)], plan._room(part)
        for row in range(gangs.room.size):
            loads, places = gangs.loads[gang, row].astype(np.float64), (slot, np.arange(runs))
            used = sparse.csr_array((loads, places), shape=(plan.slots, runs + n))
            constraints.append(LinearConstraint(used, ub=room[:, row]))
        return cls(gang, slot, gangs.value[part], constraints)

    def solve(self, time_limit: float | None) -> tuple[float, Bools, bool] | None:
        """Return the value of the complete gangs, which variables are 1, and whether it is best."""
        runs = self.gang.size
        limit = {} if time_limit is None else {"time_limit": time_limit}
        answer = milp(
            np.concatenate([np.zeros(runs), -self.value]),
            integrality=np.ones(runs + self.value.size),
            bounds=Bounds(0, 1),
            constraints=self.constraints,
            options={"node_limit": NODES, **limit},
        )
        if answer.x is None:
            return None
        x = answer.x > 0.5
        return float(self.value @ x[runs:]), x[:runs], answer.status == 0


@compiled
def least_laxity(run: Bools, first: Ints, due: Ints, left: Ints, loads: Ints, room: Ints) -> None:
    """Mark in `run` the leases that gangs get, lease by lease, least laxity first.

    Notes
    -----
    Laxity at lease t is due - t - left: a gang that runs keeps it. Equal laxity: lowest number. One
    that cannot be complete any more takes no room.
    """
    left = left.copy()
    gangs = left.size
    waiting = np.empty(gangs, np.int64)  # due - left and number, as one
    free = np.empty(room.size, np.int64)
    for t in range(run.shape[1]):
        count = 0
        for g in range(gangs):
            if left[g] > 0 and first[g] <= t <= due[g] - left[g]:
                waiting[count] = (due[g] - left[g]) * gangs + g
                count += 1
        free[:] = room
        for one in np.sort(waiting[:count]):
            g = one % gangs
            fits = True
            for row in range(room.size):
                if loads[g, row] > free[row]:
                    fits = False
                    break
            if fits:
                for row in range(room.size):
                    free[row] -= loads[g, row]
                run[g, t] = True
                left[g] -= 1


# --- nodes ---------------------------------------------------------------------------------------


def _on_nodes(problem: UniSched, plan: _Plan, first: dict[int, dict[int, int]] | None) -> Schedule:
    """Find the nodes of each lease; gangs that go on keep theirs where they can."""
    sizes, gangs = problem.instance.cluster.sizes, plan.gangs
    requests = [
        Request(g, int(gpus), bool(split))
        for g, (gpus, split) in enumerate(zip(gangs.gpus, gangs.split, strict=True))
    ]
    nodes, rows = Nodes(sizes), list[tuple[int, int, int, dict[int, int]]]()
    since: dict[int, tuple[int, dict[int, int]]] = {}
    before_and_after = np.diff(plan.run.astype(np.int8), axis=1, prepend=0, append=0)
    changes = np.ascontiguousarray(before_and_after.T)

    def close(g: int, at: int) -> None:
        start, where = since.pop(g)
        rows.append((start, int(gangs.job[g]), at, where))

    for k, change in enumerate(changes):
        for g in np.flatnonzero(change < 0).tolist():
            close(g, k)
            nodes.remove(g)
        starting = [requests[g] for g in np.flatnonzero(change > 0).tolist()]
        if k == 0 and first is not None:
            for r in starting:
                nodes.put(r, first[r.job])
        elif nodes.place(starting, move=True, all_or_none=True):
            running = [requests[g] for g in np.flatnonzero(plan.run[:, k]).tolist()]
            nodes = _anew(running, sizes, nodes)
        if starting:
            for g, where in nodes.where.items():
                if g not in since:
                    since[g] = k, where
                elif since[g][1] is not where and since[g][1] != where:
                    close(g, k)
                    since[g] = k, where
    rows.sort(key=lambda row: row[:2])
    return Schedule(
        job=np.array([job for _, job, _, _ in rows], dtype=np.int64),
        start=np.array([start for start, *_ in rows], dtype=np.int64) * problem.lease,
        end=np.array([end for _, _, end, _ in rows], dtype=np.int64) * problem.lease,
        ptr=np.cumsum([0, *(len(where) for *_, where in rows)]),
        node=np.array([node for *_, where in rows for node in where], dtype=np.int64),
        gpus=np.array([gpus for *_, where in rows for gpus in where.values()], dtype=np.int64),
    )


def _anew(running: list[Request], sizes: Sequence[int], before: Nodes) -> Nodes:
    """Place all gangs of a lease; they fit."""
    found = assign(running, sizes, sizes, held=before.where, repack=True)
    if found.unplaced:
        raise AssertionError(f"bug: gangs of one lease do not fit: {found.unplaced}")
    nodes = Nodes(sizes)
    for r in running:
        nodes.put(r, found.nodes[r.job])
    return nodes
