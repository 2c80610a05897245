"""Sessions on several GPU models that select jobs by what their work costs at prices of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....instances import Cluster
from ....instances.model import FULL_SPEED
from ...growing import longer
from ...placement import place
from ...policy import Decision, Floats, Ints, Rules, State, ranked

Nodes = dict[int, int]  # GPUs by node
Class = tuple[int, ...]  # gang, and speeds on the models
#: of prices, as the program's leave some jobs indifferent; tried on Philly with 1
POWER = 0.9
#: a running job moves to a cheaper model only if it still needs so many overheads where it is
LONG = 200
#: a running job moves to a faster model only if it gains so many overheads there
WORTH = 20


def priced(speeds: Ints, work: Floats, room: Ints) -> Floats:
    """Return the prices of models for the work of classes of these speeds, in millionths."""
    from ..model_order import model_prices, positive  # it is slow to load

    prices: Floats = positive(model_prices(speeds / FULL_SPEED, work, room)) ** POWER
    return prices


class OnModels:
    """A session: the jobs whose work left is the cheapest run, each on its cheapest model.

    Attributes
    ----------
    kind : (jobs,) int array
        Number of the class of each job: equal gang and speeds; classes as they came.
    work : list of float
        GPU seconds of work of each class, of all jobs that have come.
    prices : (models,) array
        By :func:`~gangsched.solvers.ours.model_order.model_prices` of this work, to a power; anew
        whenever twice as many jobs have come.
    """

    rule = None  # that of smallest area is for one model

    def __init__(self, cluster: Cluster, rules: Rules) -> None:
        names = list(dict.fromkeys(node.model for node in cluster.nodes))
        self.nodes = [
            [n for n, node in enumerate(cluster.nodes) if node.model == name] for name in names
        ]
        self.sizes = [[cluster.nodes[n].gpus for n in own] for own in self.nodes]
        self.room = np.array([sum(own) for own in self.sizes], dtype=np.int64)
        self.spread = rules.spread
        self.known: dict[Class, int] = {}
        self.gangs: list[int] = []
        self.speeds: list[list[int]] = []  # of classes, where their gangs fit
        self.work: list[float] = []
        self.kind = np.zeros(0, dtype=np.int64)
        self.count = 0  # of jobs that have a class
        self.priced = 0  # of jobs that the prices are of
        self.prices = np.full(len(names), 1 / int(self.room.sum()))
        self.least = np.zeros(0)
        self.cheap: list[list[int]] = []
        self.fast: list[list[int]] = []
        self.decided = (-1, -1)

    def decide(self, state: State) -> Decision:
        """Return who stops, and who starts where, if somebody has come or gone."""
        self._classify(state)
        active = state.arrived.size, state.waiting.size + state.running.size
        if active == self.decided:
            return Decision()
        self.decided = active
        jobs = state.candidates
        kinds = self.kind[jobs]
        cost = state.remaining(jobs) * state.gpus[jobs] * self.least[kinds]
        order = ranked(state, jobs, cost).tolist()
        held = _held(state)
        models = state.node_model
        now = {j: int(models[next(iter(nodes))]) for j, nodes in held.items()}
        chosen = self._select(state, order, held, now)
        placed = self._place(state, chosen, held, now)
        stop = [j for j, nodes in held.items() if placed.get(j) != nodes]
        start = [(j, nodes) for j, nodes in placed.items() if held.get(j) != nodes]
        return Decision(suspend=sorted(stop), start=sorted(start))

    def next_change(self, state: State) -> None:
        """Nothing changes between arrivals and completions."""

    def save(self) -> dict[str, Any]:
        """Return the prices, what they are of, and what was last decided for."""
        return {"prices": self.prices, "priced": self.priced, "decided": list(self.decided)}

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there; classes are those of the jobs that came."""
        self.prices, self.priced = np.array(data["prices"]), int(data["priced"])
        first, last = data["decided"]
        self.decided = int(first), int(last)

    # --- classes and prices ---

    def _classify(self, state: State) -> None:
        """Give jobs that have come since the last time their classes, and prices where due."""
        new = state.arrived[self.count :]
        if not new.size:
            return
        self.count += new.size
        self.kind = longer(self.kind, int(new.max()) + 1)
        columns = np.column_stack([state.gpus[new], state.speeds[new]]).tolist()
        before = len(self.gangs)
        for j, row, work in zip(new.tolist(), columns, state.work[new].tolist(), strict=True):
            one = tuple(row)
            if one not in self.known:
                self.known[one] = len(self.gangs)
                self.gangs.append(one[0])
                self.speeds.append(self._speeds(one))
                self.work.append(0.0)
            self.kind[j] = c = self.known[one]
            self.work[c] += one[0] * work
        if due := self.count >= 2 * self.priced:
            work = np.array(self.work)
            self.prices = priced(np.array(self.speeds), work, self.room)
            self.priced = self.count
        if due or before < len(self.gangs):
            self._sort()

    def _sort(self) -> None:
        """Sort the models of each class by the cost of its work, and by speed."""
        from ..model_order import costs_of_work

        speeds = np.array(self.speeds)
        costs = costs_of_work(self.prices, speeds)
        self.least = costs.min(axis=1)
        self.cheap, self.fast = (
            [
                [g for g in row if able[g]]
                for row, able in zip(
                    np.argsort(key, axis=1, kind="stable").tolist(), self.speeds, strict=True
                )
            ]
            for key in (costs, -speeds)
        )

    def _speeds(self, one: Class) -> list[int]:
        """Speeds of a class, 0 where its gang finds no place on the empty nodes of a model."""
        return [
            speed if place(one[0], own, own, spread=self.spread) is not None else 0
            for speed, own in zip(one[1:], self.sizes, strict=True)
        ]

    # --- who runs, and on which model ---

    def _select(
        self, state: State, order: list[int], held: dict[int, Nodes], now: dict[int, int]
    ) -> dict[int, int]:
        """The model of each job that fits by number of GPUs, in the order."""
        room = np.bincount(state.node_model, state.free, len(self.nodes)).astype(int).tolist()
        for j, g in now.items():
            room[g] += self.gangs[self.kind[j]]
        kinds = self.kind[order].tolist()
        costs = state.overhead[order].tolist()
        left = state.remaining(np.array(order, dtype=np.int64)).tolist()
        chosen: dict[int, int] = {}
        waits = list(zip(order, kinds, costs, left, strict=True))
        rows = {j: (kind, cost, work) for j, kind, cost, work in waits}
        while True:
            skipped = []
            for entry in waits:
                j, kind, cost, work = entry
                gang = self.gangs[kind]
                own = now.get(j, -1)
                found = next((g for g in self.cheap[kind] if room[g] >= gang), -1)
                if found < 0:
                    skipped.append(entry)
                    continue
                if own not in (-1, found) and room[own] >= gang:
                    seconds = work * FULL_SPEED // self.speeds[kind][own]
                    if seconds < LONG * cost:
                        found = own
                chosen[j] = found
                room[found] -= gang
            moved = False
            for j, g in chosen.items():
                kind, cost, work = rows[j]
                gang, speeds = self.gangs[kind], self.speeds[kind]
                for other in self.fast[kind]:
                    if speeds[other] <= speeds[g]:
                        break
                    if room[other] < gang:
                        continue
                    gain = work * FULL_SPEED // speeds[g] - work * FULL_SPEED // speeds[other]
                    if now.get(j, other) != other and gain < WORTH * cost:
                        continue
                    room[g] += gang
                    room[other] -= gang
                    chosen[j] = other
                    moved = True
                    break
            waits = skipped
            if not moved or not waits:
                return chosen

    # --- nodes ---

    def _place(
        self, state: State, chosen: dict[int, int], held: dict[int, Nodes], now: dict[int, int]
    ) -> dict[int, Nodes]:
        """Nodes of their models for all that were selected, the widest first, its own if free."""
        free = np.array(state.free)
        wanted = np.zeros_like(free)
        for j, nodes in held.items():
            for n, count in nodes.items():
                free[n] += count
                if chosen.get(j) == now[j]:
                    wanted[n] += count
        every = {j: self.gangs[self.kind[j]] for j in chosen}
        turn = {j: i for i, j in enumerate(chosen)}
        wide = sorted(chosen, key=lambda j: (-every[j], now.get(j) != chosen[j], turn[j]))
        placed: dict[int, Nodes] = {}
        late = []
        for j in wide:
            if now.get(j) == chosen[j]:
                nodes = held[j]
                for n, count in nodes.items():
                    wanted[n] -= count
                if all(free[n] >= count for n, count in nodes.items()):
                    for n, count in nodes.items():
                        free[n] -= count
                    placed[j] = nodes
                    continue
            found = self._find(every[j], int(state.pod[j]), chosen[j], free, wanted)
            if found is None:
                late.append(j)
            else:
                placed[j] = found
        wanted[:] = 0
        for j in sorted(late, key=turn.__getitem__):  # where anything is left
            for g in self.fast[self.kind[j]]:
                found = self._find(every[j], int(state.pod[j]), g, free, wanted)
                if found is not None:
                    placed[j] = found
                    break
        return placed

    def _find(self, gang: int, pod: int, g: int, free: Ints, wanted: Ints) -> Nodes | None:
        """GPUs by node of a model, taken; None where there is no place."""
        own = self.nodes[g]
        found = place(
            gang, free[own].tolist(), self.sizes[g], spread=self.spread,
            wanted=wanted[own].tolist(), pod=pod,
        )  # fmt: skip
        if found is None:
            return None
        nodes = {own[i]: count for i, count in found.items()}
        for n, count in nodes.items():
            free[n] -= count
        return nodes


def _held(state: State) -> dict[int, Nodes]:
    """The nodes of all jobs that may be moved."""
    jobs = state.preemptible
    ptr, node, gpus = (column.tolist() for column in state.places(jobs))
    return {
        j: dict(zip(node[a:b], gpus[a:b], strict=True))
        for j, a, b in zip(jobs.tolist(), ptr, ptr[1:], strict=False)
    }
