"""Runs of IRMP that fit classes of nodes, put on nodes: an integer program, and why it fails.

The exact chain of `irmp_exact` counts workers and parameter servers (PSs) by class; gangs of
several sizes then need not fit on nodes side by side. What overlaps in time, directly or by others,
is placed together:

    one node c_s for a central run, with all its workers and one PS;
    workers y_s on nodes for a spread one, as many as it has on each class, and a node h_s with
    z_s PSs, where b_w (D_w - y_s) <= b_p z_s, eq. (3i);
    no more than there is on any node whenever a run starts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import highspy
import numpy as np
from scipy.sparse import csr_array

from ....formulations.irmp.problem import Irmp, parameter_servers
from ....instances.arrays import Floats
from ...highs import EXACT, best_found, is_optimal, load, new, run_interruptibly, start_from
from ...irmp.response import Response
from .pricing import Classes


class IntegerAnswer(NamedTuple):
    """What HiGHS says of an integer program.

    Parameters
    ----------
    x : (n,) floats or None
        The best solution found.
    bound : float
        No solution has more; infinite where nothing is known.
    proven : bool
        `x` is optimal or, where it is None, there is none.
    interrupted : bool
        By Ctrl-C.
    """

    x: Floats | None
    bound: float
    proven: bool
    interrupted: bool = False


@dataclass(slots=True)
class IntegerProgram:
    """Maximise ``cost @ x`` over integers x from 0 to `most`, within rows.

    Parameters
    ----------
    cost, most : list of float
    rows : list of (float, dict of int to float, float)
        Lower limit, coefficients by variable, upper limit.

    Examples
    --------
    >>> program = IntegerProgram()
    >>> a, b = program.add(2.0, 1.0), program.add(3.0, 1.0)
    >>> program.rows.append((0.0, {a: 1.0, b: 1.0}, 1.0))
    >>> answer = program.solve(math.inf)
    >>> answer.x.tolist(), answer.proven
    ([0.0, 1.0], True)
    """

    cost: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    rows: list[tuple[float, dict[int, float], float]] = field(default_factory=list)

    def add(self, cost: float, most: float) -> int:
        """Add a variable; return its number."""
        self.cost.append(cost)
        self.most.append(most)
        return len(self.cost) - 1

    def solve(self, deadline: float, start: Sequence[float] | None = None) -> IntegerAnswer:
        """Return what is known when it is solved, the time is over or Ctrl-C was pressed."""
        if not self.cost:  # HiGHS has a status of its own for it, whatever the rows say
            allowed = all(lower <= 0 <= upper for lower, _, upper in self.rows)
            return IntegerAnswer(np.zeros(0) if allowed else None, 0.0, True)
        left = deadline - time.monotonic()
        if left <= 0:
            return IntegerAnswer(None, math.inf, False)
        highs = new({**EXACT, "time_limit": min(left, 1e6)})
        rows, sizes = [row for _, row, _ in self.rows], [len(row) for _, row, _ in self.rows]
        values = np.array([value for row in rows for value in row.values()], dtype=float)
        entries = values, np.array([i for row in rows for i in row], dtype=np.int32)
        shape = len(rows), len(self.cost)
        matrix = csr_array((*entries, np.cumsum([0, *sizes])), shape=shape)
        lower, upper = (np.array([row[side] for row in self.rows], dtype=float) for side in (0, 2))
        most = np.array(self.most, dtype=float)
        load(highs, np.array(self.cost), matrix, lower, upper, most=most, integer=True)
        if start is not None:
            start_from(highs, list(start))
        interrupted = run_interruptibly(highs)
        return self._answer(highs)._replace(interrupted=interrupted)

    def _answer(self, highs: Any) -> IntegerAnswer:
        status, info = highs.getModelStatus(), highs.getInfo()
        if status == highspy.HighsModelStatus.kInfeasible:
            return IntegerAnswer(None, -math.inf, True)
        found = best_found(highs)
        x = None if found is None else np.rint(found)
        if is_optimal(highs):
            assert x is not None
            return IntegerAnswer(x, float(np.dot(self.cost, x)), True)
        bound = info.mip_dual_bound if info.mip_node_count >= 0 else math.inf
        return IntegerAnswer(x, bound if abs(bound) < highspy.kHighsInf else math.inf, False)


class Choice(NamedTuple):
    """A run by classes of nodes.

    Parameters
    ----------
    job, start, end : int
    value : float
        What it earns.
    host : int
        Class of the node with the PSs.
    central : bool
        All on one node.
    workers : tuple of int
        By class.
    ps : int
        The fewest that (3i) can ask for.
    """

    job: int
    start: int
    end: int
    value: float
    host: int
    central: bool
    workers: tuple[int, ...]
    ps: int

    def needs_no_less(self, other: Choice) -> bool:
        """Whether `other` could be placed wherever this run is."""
        return (
            self.start <= other.start
            and self.end >= other.end
            and self.host == other.host
            and (self.central or not other.central)
            and all(a >= b for a, b in zip(self.workers, other.workers, strict=True))
        )


class Placed(NamedTuple):
    """What became of runs.

    Parameters
    ----------
    runs : list of Response or None
        On nodes; None where not all could be placed.
    unplaced : list of lists of Choice
        Sets of which none can be placed as a whole. Where there is none, time was over.
    """

    runs: list[Response] | None
    unplaced: list[list[Choice]]


def place(problem: Irmp, classes: Classes, choices: Sequence[Choice], deadline: float) -> Placed:
    """Put runs on nodes, or name runs that cannot be put on nodes together.

    Notes
    -----
    Exact. The sets are smallest: without any one of them, the others have a placement. One set for
    each group of runs that overlap in time.
    """
    runs: list[Response] = []
    unplaced: list[list[Choice]] = []
    over = False
    for group in _groups(choices):
        placing = _Placing(problem, classes, group)
        found, proven = placing.solve(deadline)
        over |= not proven and found is None
        runs += found or []
        if found is None and proven:
            unplaced.append(_smallest(problem, classes, group, deadline))
    return Placed(None if over or unplaced else runs, unplaced)


def _groups(choices: Sequence[Choice]) -> list[list[Choice]]:
    """Runs that overlap, directly or by others."""
    groups: list[list[Choice]] = []
    end = -1
    for choice in sorted(choices, key=lambda choice: (choice.start, choice.job)):
        if choice.start >= end:
            groups.append([])
        groups[-1].append(choice)
        end = max(end, choice.end)
    return groups


def _smallest(
    problem: Irmp, classes: Classes, choices: list[Choice], deadline: float
) -> list[Choice]:
    """Leave out all that can be left out so that the others still cannot be placed."""
    kept = list(choices)
    for choice in choices:
        fewer = [other for other in kept if other is not choice]
        found, proven = _Placing(problem, classes, fewer).solve(deadline)
        if found is None and proven:
            kept = fewer
    return kept


class _Placing:
    """The integer program of a group."""

    def __init__(self, problem: Irmp, classes: Classes, choices: Sequence[Choice]) -> None:
        self.problem, self.classes, self.choices = problem, classes, choices
        self.program = IntegerProgram()
        self.nodes = [np.flatnonzero(classes.of_node == g).tolist() for g in range(len(classes))]
        #: by run and node, variables: workers (of a central run: all of them) and PSs
        self.workers: list[dict[int, int]] = []
        self.ps: list[dict[int, int]] = []
        for choice in choices:
            (self._central if choice.central else self._spread)(choice)
        self._capacities()

    def _central(self, choice: Choice) -> None:
        here = {s: self.program.add(0.0, 1.0) for s in self.nodes[choice.host]}
        self.program.rows.append((1.0, dict.fromkeys(here.values(), 1.0), 1.0))
        self.workers.append(here)
        self.ps.append(here)

    def _spread(self, choice: Choice) -> None:
        program, classes, total = self.program, self.classes, sum(choice.workers)
        held: dict[int, int] = {}
        for g, count in enumerate(choice.workers):
            if count:
                most = float(min(count, classes.gpus[g]))
                mine = {s: program.add(0.0, most) for s in self.nodes[g]}
                program.rows.append((count, dict.fromkeys(mine.values(), 1.0), count))
                held |= mine
        most = float(min(classes.ps[choice.host], self._need(total)))
        servers = {s: program.add(0.0, most) for s in self.nodes[choice.host]}
        hosts = {s: program.add(0.0, 1.0) for s in self.nodes[choice.host]}
        program.rows.append((1.0, dict.fromkeys(hosts.values(), 1.0), 1.0))
        inward, outward = self.problem.worker_bandwidth, self.problem.ps_bandwidth
        unit = math.gcd(inward, outward)
        for s, h in hosts.items():
            z = servers[s]
            program.rows.append((-math.inf, {z: 1.0, h: -most}, 0.0))
            program.rows.append((0.0, {z: 1.0, h: -1.0}, math.inf))
            served = {z: float(outward // unit), h: -float(total * (inward // unit))}
            if s in held:
                served[held[s]] = float(inward // unit)
            program.rows.append((0.0, served, math.inf))
        self.workers.append(held)
        self.ps.append(servers)

    def _need(self, outside: int) -> int:
        bandwidths = self.problem.worker_bandwidth, self.problem.ps_bandwidth
        return parameter_servers(outside, *bandwidths)

    def _capacities(self) -> None:
        for t in sorted({choice.start for choice in self.choices}):
            active = [i for i, c in enumerate(self.choices) if c.start <= t < c.end]
            for g, nodes in enumerate(self.nodes):
                for s in nodes:
                    workers = {
                        self.workers[i][s]: float(self._size(i))
                        for i in active if s in self.workers[i]
                    }  # fmt: skip
                    servers = {self.ps[i][s]: 1.0 for i in active if s in self.ps[i]}
                    self._limit(workers, float(self.classes.gpus[g]))
                    self._limit(servers, float(self.classes.ps[g]))

    def _size(self, i: int) -> int:
        """Workers of one unit of the run's variable."""
        return sum(self.choices[i].workers) if self.choices[i].central else 1

    def _limit(self, row: dict[int, float], room: float) -> None:
        if sum(size * self.program.most[x] for x, size in row.items()) > room:
            self.program.rows.append((-math.inf, row, room))

    def solve(self, deadline: float) -> tuple[list[Response] | None, bool]:
        """Runs on nodes, and whether that there are none is proven."""
        if not self.choices:
            return [], True
        answer = self.program.solve(deadline)
        if answer.interrupted:
            raise KeyboardInterrupt
        if answer.x is None:
            return None, answer.proven
        return [self._response(i, answer.x) for i in range(len(self.choices))], True

    def _response(self, i: int, x: Floats) -> Response:
        choice = self.choices[i]
        total, size = sum(choice.workers), self._size(i)
        held = {s: int(x[v]) * size for s, v in self.workers[i].items() if x[v]}
        host = max(self.ps[i], key=lambda s: x[self.ps[i][s]])
        ps = self._need(total - held.get(host, 0))
        nodes = {host: held.pop(host, 0), **held}
        return Response(
            choice.job, choice.start, choice.end, total, nodes, {host: ps}, choice.value, 0.0
        )
