"""Algorithms 3 to 5 of Wang et al., line by line, on nodes of one type: the best run of one job."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gangsched.formulations.irmp.problem import Irmp, parameter_servers
from gangsched.solvers.irmp.response import MARGIN, Response


class Run(NamedTuple):
    """A run from the start that is tried."""

    stop: int
    nodes: dict[int, int]
    ps: dict[int, int]
    cost: float


class Call(NamedTuple):
    """Problem (9) for job 0: `free` (2, nodes, T), `prices` and `room` (2, T)."""

    problem: Irmp
    free: Any
    prices: Any
    room: Any
    end: int
    printed: bool = False

    def left(self, what: int, start: int, stop: int) -> float:
        """What of the quota is left; W9."""
        row = 0 if self.printed else what
        return float("inf") if self.room is None else int(self.room[row, start:stop].min())

    def price(self, what: int, start: int, stop: int) -> float:
        """The price of one worker or PS in these slots."""
        return float(self.prices[what, start:stop].sum())

    def best(self, values: Any) -> Response | None:
        """Algorithm 3, lines 3-13; W11."""
        best, gain = None, MARGIN
        for start in range(self.end):
            for workers in range(1, self.problem.jobs[0].gpus + 1):
                for run in self.runs(start, workers):
                    value = float(values[run.stop])
                    if value - run.cost > gain:
                        gain = value - run.cost
                        best = Response(
                            0, start, run.stop, workers, run.nodes, run.ps, value, run.cost
                        )
        return best

    def runs(self, start: int, workers: int) -> Iterator[Run]:
        """Lines 4-5."""
        for run in (self.min_cost_c(start, workers), self.min_cost_d(start, workers)):
            if run is not None:
                yield run

    def min_cost_c(self, start: int, workers: int) -> Run | None:
        """MINCOSTC, Algorithm 5; W2."""
        stop = start + self.problem.duration(0, workers, 1)
        if stop > self.end or self.left(0, start, stop) < workers or self.left(1, start, stop) < 1:
            return None
        least = self.free[:, :, start:stop].min(axis=2)
        fits = np.flatnonzero((least[0] >= workers) & (least[1] >= 1))
        if not fits.size:
            return None
        last = start + 1 if self.printed else stop  # W10
        cost = workers * self.price(0, start, last) + self.price(1, start, last)
        s = int(fits[0])
        return Run(stop, {s: workers}, {s: 1}, cost * (stop - start) if self.printed else cost)

    def min_cost_d(self, start: int, workers: int) -> Run | None:
        """MINCOSTD, Algorithm 4; W2, W8."""
        stop = start + self.problem.duration(0, workers, 2)
        if stop > self.end or self.left(0, start, stop) < workers:
            return None
        least = self.free[:, :, start:stop].min(axis=2)
        best = None
        for s, (there, ps) in enumerate(zip(*least.tolist(), strict=True)):
            bandwidths = self.problem.worker_bandwidth, self.problem.ps_bandwidth
            outside = workers - min(workers - 1, there)
            needed = parameter_servers(outside, *bandwidths)
            room = min(ps, self.left(1, start, stop))
            if self.printed:
                needed = int(min(needed, room))
            fits = needed <= room and least[0].sum() - there >= outside
            if (needed >= 1 if self.printed else fits) and (best is None or needed < best[1]):
                best = s, needed
        if best is None:
            return None
        host, needed = best
        nodes = {host: min(workers - 1, int(least[0, host]))}
        for s in np.argsort(least[0], kind="stable").tolist():
            taken = min(int(least[0, s]), workers - sum(nodes.values()))
            if taken and s != host:
                nodes[s] = taken
        if sum(nodes.values()) < workers:
            return None
        cost = workers * self.price(0, start, stop) + needed * self.price(1, start, stop)
        return Run(stop, nodes, {host: needed}, cost)
