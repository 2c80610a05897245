"""The linear program of jobs that wait, on what running jobs leave: starts for `online` by "lp".

As in :mod:`.columns`, columns are runs of jobs and rows are the workers and
parameter servers of all equal nodes together, in a block of slots; here less what running jobs
hold. These do not hold equally much of equal nodes, so a column may fit nowhere, and what comes out
is no bound, just an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....formulations.irmp.problem import Irmp
from ....instances.arrays import Floats, Ints
from ...irmp.response import Occupancy
from .columns import ColumnSearch, PricedRun, default_slots
from .pricing import CandidateRun, Classes, Trials

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
        part = replace(self.problem, instance=waiting, preemptive=False)
        slots = max(now, occupancy.busy) + default_slots(part)
        slots = min(slots, self.problem.horizon or slots)
        trials = Trials.of(part, self.classes)
        trials = replace(trials, begin=np.maximum(trials.begin, now))
        floor = np.full(len(jobs), 0.0 if part.optional else -np.inf)
        search = ColumnSearch(part, self.classes, trials, floor, slots)
        search.columns = [
            PricedRun(i, part.value(i, run.end), run)
            for i, j in enumerate(jobs)
            for run in self.known.get(j, ())
            if trials.begin[i] <= run.start and run.end <= slots
        ]
        search.solve(*self._room(occupancy, now, slots), TOLERANCE, ROUNDS)
        self.known = {j: [] for j in jobs}
        for i, _, run in search.columns:
            assert isinstance(run, CandidateRun)
            self.known[jobs[i]].append(run._replace(gain=0))  # that of other prices
        self.known = {j: list(dict.fromkeys(runs)) for j, runs in self.known.items()}
        return search.starts()

    def _room(self, occupancy: Occupancy, now: int, slots: int) -> tuple[Ints, Ints]:
        """Ends of blocks, and slots of workers and PSs that are free in each from now on."""
        block = max(BLOCK, -(-(slots - now) // BLOCKS))
        ends = np.minimum(np.arange(now // block * block + block, slots + block, block), slots)
        free = occupancy.free[:, :, np.minimum(np.arange(now, slots), occupancy.free.shape[2] - 1)]
        member = np.arange(len(self.classes))[:, None] == self.classes.of_node
        per_slot = np.einsum("gs,rst->grt", member, free)
        starts = np.array([now, *ends[:-1]]) - now
        return ends, np.add.reduceat(per_slot, starts, axis=2)
