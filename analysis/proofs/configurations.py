"""The configuration linear program of bin packing with gangs, solved by column generation."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...instances.arrays import Floats as Floats
from ...instances.arrays import Ints as Ints

#: duals are rounded down to multiples of 1 / SCALE of the best configuration's worth
SCALE = 10**9
#: weight of the best duals so far in those that are priced (smoothing of Wentges)
SMOOTHING = 0.5
TOLERANCE = 1e-9


class Configurations:
    """The sets of jobs that one GPU can run, generated as they are needed and kept between targets.

    Parameters
    ----------
    jobs : sequence of (int, int)
        Duration and gang size by job number; jobs that are equal in both share a row.
    gpus : int
        N.
    deadline : float or None
        Value of ``time.monotonic()`` at which :meth:`refute` gives up.

    Notes
    -----
    See :func:`gangsched.analysis.proofs.makespan.configuration_bound` for the program.

    Examples
    --------
    Three jobs of 6 slots and one GPU each do not fit on two GPUs within 11 slots, but in 12.

    >>> program = Configurations([(6, 1)] * 3, 2)
    >>> program.refute(11), program.refute(12)
    ((1000000000, [1000000000, 1000000000, 1000000000]), None)
    """

    def __init__(
        self, jobs: Sequence[tuple[int, int]], gpus: int, deadline: float | None = None
    ) -> None:
        self.jobs, self.gpus, self.deadline = jobs, gpus, deadline
        kinds = Counter(jobs)
        self.kinds = sorted(kinds, reverse=True)
        self.sizes = np.array([d for d, _ in self.kinds], dtype=np.int64)
        self.copies = np.array([kinds[kind] for kind in self.kinds], dtype=np.int64)
        self.demand = self.copies * np.array([g for _, g in self.kinds], dtype=np.int64)
        self.columns = [np.eye(1, len(self.kinds), t, dtype=np.int64)[0] for t in range(len(kinds))]

    def out_of_time(self) -> bool:
        """Say whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def refute(self, target: int) -> tuple[int, list[int]] | None:
        """Return a proof that no makespan of `target` is possible, or None."""
        master = Master(self.demand)
        for column in self.columns:
            if column @ self.sizes <= target:
                master.add(column)
        best, centre = 0.0, np.zeros(self.sizes.size, dtype=np.float64)
        while not self.out_of_time():
            value, duals = master.solve()
            if value <= self.gpus * (1 + TOLERANCE):
                return None
            priced = SMOOTHING * centre + (1 - SMOOTHING) * duals if best else duals
            column = self._best_column(priced, target)
            if column @ duals <= 1 + TOLERANCE:  # mispriced: ask the program's own duals
                priced, column = duals, self._best_column(duals, target)
            bound = float(self.demand @ priced / (column @ priced))
            if bound > best:
                best, centre = bound, priced / (column @ priced)
            if best > self.gpus:
                proof = self._rounded(centre, target)
                if proof is not None:
                    return proof
            if column @ duals <= 1 + TOLERANCE:
                return None
            self.columns.append(column)
            master.add(column)
        return None

    def _best_column(self, worth: Floats, target: int) -> Ints:
        """The configuration of most worth."""
        return best_packing(self.sizes, self.copies, worth, target)

    def _rounded(self, duals: Floats, target: int) -> tuple[int, list[int]] | None:
        """Integer duals with their exact knapsack as scale, if they still refute the target."""
        whole = np.floor(np.maximum(duals, 0) * SCALE)
        scale = int(self._best_column(whole, target) @ whole.astype(np.int64))  # exact below 2**53
        by_kind = dict(zip(self.kinds, map(int, whole.tolist()), strict=True))
        values = [by_kind[job] for job in self.jobs]
        total = sum(gang * value for (_, gang), value in zip(self.jobs, values, strict=True))
        return (scale, values) if total > self.gpus * scale else None


def best_packing(sizes: Ints, copies: Ints, worth: Floats, room: int) -> Ints:
    """Return how many copies of each kind fit together and are worth most.

    A bounded knapsack by dynamic programming, copies in powers of two; exact in floats while all
    values are integers below 2**53.

    Examples
    --------
    >>> sizes, copies, worth = np.array([3, 2]), np.array([1, 3]), np.array([4.0, 2.5])
    >>> best_packing(sizes, copies, worth, 6)
    array([0, 3])
    """
    pieces = _pieces(sizes, copies, worth, room)
    best = np.zeros(room + 1)
    taken = np.zeros((len(pieces), room + 1), dtype=bool)
    for i, (t, count) in enumerate(pieces):
        size = int(sizes[t]) * count
        other = best[: room + 1 - size] + worth[t] * count
        np.greater(other, best[size:], out=taken[i, size:])
        np.maximum(other, best[size:], out=best[size:])
    column = np.zeros(sizes.size, dtype=np.int64)
    for i in range(len(pieces) - 1, -1, -1):
        if taken[i, room]:
            t, count = pieces[i]
            column[t] += count
            room -= int(sizes[t]) * count
    return column


def _pieces(sizes: Ints, copies: Ints, worth: Floats, room: int) -> list[tuple[int, int]]:
    pieces = []
    for t in np.flatnonzero(worth > 0).tolist():
        left, count = min(int(copies[t]), room // int(sizes[t])), 1
        while left:
            count = min(count, left)
            pieces.append((t, count))
            left, count = left - count, 2 * count
    return pieces


class Master:
    """min sum x_S over the columns so far, each kind of job covered as often as demanded.

    Parameters
    ----------
    demand : (kinds,) array

    Examples
    --------
    >>> master = Master(np.array([3, 1]))
    >>> master.add(np.array([1, 1]))
    >>> master.solve()[0]
    3.0
    """

    def __init__(self, demand: Ints | Floats) -> None:
        from ...solvers.highs import is_optimal, new  # takes long to import

        self.solver, self.is_optimal = new({}), is_optimal
        for wanted in demand.tolist():
            self.solver.addRow(wanted, self.solver.inf, 0, [], [])

    def add(self, column: Ints) -> None:
        """Add a set of jobs, as copies of each kind."""
        rows = np.flatnonzero(column)
        entries = column[rows].astype(np.float64)
        self.solver.addCol(1.0, 0.0, self.solver.inf, rows.size, rows.astype(np.int32), entries)

    def solve(self) -> tuple[float, Floats]:
        """Return value and duals, the latter clipped to >= 0."""
        self.solver.run()
        if not self.is_optimal(self.solver):
            status = self.solver.getModelStatus()
            raise RuntimeError(f"configuration program: HiGHS stopped with {status}")
        duals = np.array(self.solver.getSolution().row_dual)
        return self.solver.getObjectiveValue(), np.maximum(duals, 0)
