"""The linear program of jobs that wait, on what running jobs leave: starts for `online` by "lp".

As in :mod:`.columns`, columns are runs of jobs and rows are the workers and
parameter servers of all equal nodes together, in a block of slots; here less what running jobs
hold. These do not hold equally much of equal nodes, so a column may fit nowhere, and what comes out
is no bound, just an order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....formulations.irmp.problem import Irmp
from ...irmp.response import Occupancy
from .columns import SMOOTHING, default_slots, program_of_rows
from .pricing import CandidateRun, Classes, Trials, best_runs

__all__ = ["RollingProgram"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: slots of a block, longer where there were more than `BLOCKS`
BLOCK, BLOCKS = 8, 128
#: relative gap at which generation ends
TOLERANCE = 1e-3
#: rounds of pricing, at most
ROUNDS = 60


class RollingProgram:
    """Column generation that starts from the columns of the last time.

    Parameters
    ----------
    problem : Irmp

    Examples
    --------
    One node; the job that loses more goes first.

    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> jobs = [ParameterServerJob(id=f"k{k}", gpus=2, epochs=8, minibatches=1, rates=(1, 0.5),
    ...                            utility=Linear(-k, 100)) for k in (1, 2)]
    >>> problem = Irmp(Instance(Cluster([Node("s", 2, ps=1)]), jobs))
    >>> RollingProgram(problem).starts([0, 1], Occupancy(problem), 0).tolist()
    [8.0, 0.0]
    """

    def __init__(self, problem: Irmp) -> None:
        self.problem = problem
        self.classes = Classes.of(problem)
        self.known: dict[int, list[CandidateRun]] = {}

    def save(self) -> list[list[Any]]:
        """Return the columns of each job that the last program had, as plain data."""
        return [
            [job, [[*run[:2], list(run.workers), *run[3:]] for run in runs]]
            for job, runs in self.known.items()
        ]

    def load(self, rows: Sequence[Sequence[Any]]) -> None:
        """Go on with these columns."""
        self.known = {
            job: [CandidateRun(*run)._replace(workers=tuple(run[2])) for run in runs]
            for job, runs in rows
        }

    def starts(self, jobs: Sequence[int], occupancy: Occupancy, now: int) -> Floats:
        """Return the mean start of each job, infinite where it has none."""
        instance = self.problem.instance
        waiting = replace(instance, jobs=[self.problem.jobs[j] for j in jobs])
        part = replace(self.problem, instance=waiting)
        slots = max(now, occupancy.busy) + default_slots(part)
        slots = min(slots, self.problem.horizon or slots)
        trials = Trials.of(part, self.classes)
        trials = replace(trials, begin=np.maximum(trials.begin, now))
        search = _Search(part, self.classes, trials, self._room(occupancy, now, slots))
        search.add([(i, run) for i, j in enumerate(jobs) for run in self.known.get(j, ())])
        search.solve()
        self.known = {j: [] for j in jobs}
        for i, run in search.columns:
            self.known[jobs[i]].append(run)
        return search.starts()

    def _room(self, occupancy: Occupancy, now: int, slots: int) -> _Room:
        """What is free from now on."""
        block = max(BLOCK, -(-(slots - now) // BLOCKS))
        ends = np.minimum(np.arange(now // block * block + block, slots + block, block), slots)
        free = occupancy.free[:, :, np.minimum(np.arange(now, slots), occupancy.free.shape[2] - 1)]
        member = np.arange(len(self.classes))[:, None] == self.classes.of_node
        per_slot = np.einsum("gs,rst->grt", member, free)
        starts = np.array([now, *ends[:-1]]) - now
        return _Room(ends, np.add.reduceat(per_slot, starts, axis=2))


@dataclass(frozen=True, slots=True)
class _Room:
    ends: Ints  # (blocks,)
    units: Ints  # (classes, 2, blocks): slots of workers and PSs that are free in all


class _Search:
    """The program and its columns so far; jobs by position."""

    def __init__(self, problem: Irmp, classes: Classes, trials: Trials, room: _Room) -> None:
        self.problem, self.classes, self.trials, self.room = problem, classes, trials, room
        jobs, slots = len(problem.jobs), int(room.ends[-1])
        #: (jobs, slots + 1)
        self.values = np.array([[0.0, *problem.values(j, slots)] for j in range(jobs)])
        self.values[:, 0] = self.values[:, 1]
        self.largest = float(np.abs(self.values).max(axis=1).sum()) or 1.0
        #: what a job is worth without a run
        self.floor = 0.0 if problem.optional else -4 * self.largest
        self.highs = program_of_rows(np.concatenate([np.ones(jobs), room.units.ravel()]))
        self.columns: list[tuple[int, CandidateRun]] = []
        self.seen: set[tuple[Any, ...]] = set()

    @property
    def unit(self) -> float:
        """Of money in the program: what a job is worth, about."""
        return self.largest / len(self.values)

    def add(self, columns: Sequence[tuple[int, CandidateRun]]) -> int:
        """Add those that are new and in time, and say how many."""
        added = 0
        for job, run in columns:
            key = (job, *run[:-1])
            in_time = run.start >= self.trials.begin[job] and run.end < self.values.shape[1]
            if key in self.seen or not in_time:
                continue
            self.seen.add(key)
            self.columns.append((job, run))
            rows, units = run.rows(self.room.ends)
            worth = float(self.values[job, run.end] - self.floor) / self.unit
            at = np.concatenate([[job], rows + len(self.values)]).astype(np.int32)
            self.highs.addCol(worth, 0.0, np.inf, at.size, at, np.concatenate([[1.0], units]))
            added += 1
        return added

    def solve(self) -> None:
        """Generate columns until they are nearly all that matter."""
        bound, best, smoothing = math.inf, np.zeros(self.room.units.shape), 0.0
        hints = np.full(len(self.values), -1, dtype=np.int64)
        for _ in range(ROUNDS):
            value, duals = self._solved()
            if math.isfinite(bound) and bound - value <= TOLERANCE * abs(bound):
                break
            prices = smoothing * best + (1 - smoothing) * duals
            found, proven = self._priced(prices, hints)
            if not self.add(found) and proven >= bound:
                if not smoothing:
                    break
                smoothing = 0.0
                continue
            if proven < bound:
                bound, best = proven, prices
            smoothing = SMOOTHING
        self._solved()

    def _solved(self) -> tuple[float, Floats]:
        """Value, and prices of a worker or PS in a slot."""
        shape, least = self.room.units.shape, len(self.values) * self.floor
        if not self.columns:
            return least, np.zeros(shape)
        self.highs.run()
        duals = np.maximum(np.array(self.highs.getSolution().row_dual), 0.0)[len(self.values) :]
        value = self.highs.getInfo().objective_function_value * self.unit + least
        return value, duals.reshape(shape) * self.unit

    def _priced(self, prices: Floats, hints: Ints) -> tuple[list[tuple[int, CandidateRun]], float]:
        """The best runs at some prices, and what these prove."""
        spent = float((prices * self.room.units).sum())
        prices = prices * min(1.0, 4 * self.largest / max(spent, 1e-300))
        unit = 2.0 ** (56 - math.ceil(math.log2(self.largest)))
        floor = np.full(len(self.values), math.ceil(self.floor * unit))
        runs = best_runs(
            self.problem, self.classes, self.trials, np.ceil(self.values * unit).astype(np.int64),
            np.rint(prices * unit).astype(np.int64), floor, self.room.ends, hints=hints,
        )  # fmt: skip
        gains = sum(run.gain if run else int(floor[i]) for i, run in enumerate(runs))
        found = [(i, run) for i, run in enumerate(runs) if run]
        return found, float((prices * self.room.units).sum()) + gains / unit

    def starts(self) -> Floats:
        """Mean starts in the solution."""
        share, start = np.zeros(len(self.values)), np.zeros(len(self.values))
        if self.columns:
            amounts = np.array(self.highs.getSolution().col_value).tolist()
            for (job, run), x in zip(self.columns, amounts, strict=True):
                share[job] += x
                start[job] += x * run.start
        some = share > 1e-9
        mean: Floats = np.where(some, start / np.where(some, share, 1.0), np.inf)
        return mean
