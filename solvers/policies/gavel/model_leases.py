"""Time fractions on several GPU models become leases: who runs where until leases end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...growing import longer
from ...placement import place
from ...policy import Decision, Floats, Ints, State

Nodes = dict[int, int]  # GPUs by node
Places = dict[int, Nodes]  # GPUs by node, by job


class Received:
    """How long each job has held its gang on each GPU model.

    A state tells how long a job has held GPUs, not where. A job keeps its nodes from one decision
    to the next, so it is enough to look at every decision. Meant for clusters of several models.

    Parameters
    ----------
    models : int
        How many.

    Attributes
    ----------
    seconds : (jobs, models) int array
    """

    def __init__(self, models: int) -> None:
        self.seconds = np.zeros((0, models), dtype=np.int64)
        self._before = np.zeros(0, dtype=np.int64)
        self._model = np.zeros(0, dtype=np.int64)
        self._starts = np.zeros(0, dtype=np.int64)

    def look(self, state: State) -> None:
        """Count what the running jobs have held since the last decision."""
        jobs, starts, models = state.running, state.starts, state.node_model
        for name in COLUMNS:
            setattr(self, name, longer(getattr(self, name), starts.size))
        for j in jobs[starts[jobs] != self._starts[jobs]].tolist():
            self._starts[j] = starts[j]
            self._model[j] = models[next(iter(state.nodes(j)))]
        held = state.attained(jobs) // state.gpus[jobs]
        self.seconds[jobs, self._model[jobs]] += held - self._before[jobs]
        self._before[jobs] = held

    def save(self) -> dict[str, Any]:
        """Return what was counted, as plain data."""
        return {name: getattr(self, name) for name in COLUMNS}

    def load(self, data: Mapping[str, Any]) -> None:
        """Continue from saved data."""
        for name in COLUMNS:
            setattr(self, name, np.array(data[name]))


COLUMNS = ("seconds", "_before", "_model", "_starts")


def lease_out(state: State, fractions: Floats, received: Ints) -> Decision:
    """Return which candidates run where: those furthest behind their time fractions first.

    Notes
    -----
    Source: D. Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
    Workloads", OSDI 2020, Section 5. Pairs of a job and a model are walked by falling fraction /
    received (the part of the time since the job's first round), pairs that had nothing first by
    falling fraction, then by (release, number) and the faster model; a pair is taken if the job
    has none yet and its gang is within the GPUs that are left of the model.

    Our choices: jobs whose model stays keep their nodes; the others are placed by falling gang, and
    one that finds no consolidated place takes that of jobs which come after it, the last first.
    Last, all GPUs that are left go to jobs that wait, in the same order, those without a positive
    fraction after the others, on their fastest model with room. O(pairs log pairs + placed nodes).

    Examples
    --------
    See :class:`~.max_min_fairness.MaxMinFairness`.
    """
    jobs, held = state.candidates, {j: state.nodes(j) for j in state.preemptible.tolist()}
    room = FreeGpus.of(state, held)
    order, model = _walk(state, jobs, fractions, received)
    taken = _select(jobs[order], model, state.gpus[jobs[order]], room.by_model())
    turns = {j: turn for turn, j in enumerate(taken)}
    placed: Places = {}
    for g in range(len(state.models)):
        placed |= _place(state, room, g, [j for j in turns if taken[j] == g], turns, held)
    _fill(state, room, list(dict.fromkeys([*jobs[order].tolist(), *jobs.tolist()])), placed)
    kept = [j for j, nodes in held.items() if placed.get(j) == nodes]
    start = sorted((j, nodes) for j, nodes in placed.items() if held.get(j) != nodes)
    return Decision(suspend=sorted(held.keys() - kept), start=start, order=kept)


def _walk(state: State, jobs: Ints, fractions: Floats, received: Ints) -> tuple[Ints, Ints]:
    """Candidates (by position) and models with a positive fraction, those furthest behind first."""
    i, g = np.nonzero(fractions > 0)
    life = np.maximum(state.now - state.visible[jobs], 1)[i]
    wanted, had = fractions[i, g], received[i, g] / life
    behind = np.where(had > 0, wanted / np.where(had > 0, had, 1.0), np.inf)
    fastest = -state.speeds[jobs[i], g]
    order = np.lexsort((g, fastest, state.rank[jobs[i]], -wanted, -behind))
    return i[order], g[order]


def _select(jobs: Ints, model: Ints, gangs: Ints, room: list[int]) -> dict[int, int]:
    """The model of each job that fits by number of GPUs, in the order of the walk."""
    taken: dict[int, int] = {}
    able = np.flatnonzero(gangs <= np.array(room)[model])
    least = int(gangs[able].min(initial=1))
    for j, g, gang in zip(*(a[able].tolist() for a in (jobs, model, gangs)), strict=True):
        if gang <= room[g] and j not in taken:
            taken[j] = g
            room[g] -= gang
            if max(room) < least:
                break
    return taken


@dataclass(slots=True)
class FreeGpus:
    """GPUs that are free, by model and node."""

    nodes: list[Ints]
    sizes: list[list[int]]
    free: list[list[int]]
    spread: bool

    @classmethod
    def of(cls, state: State, held: Places) -> FreeGpus:
        """What is free once all these jobs have given back what they hold."""
        free = np.array(state.free)
        for nodes in held.values():
            for n, count in nodes.items():
                free[n] += count
        own = [np.flatnonzero(state.node_model == g) for g in range(len(state.models))]
        sizes, spread = state.sizes, state.rules.spread
        return cls(own, [sizes[n].tolist() for n in own], [free[n].tolist() for n in own], spread)

    def by_model(self) -> list[int]:
        """Free GPUs of each model."""
        return [sum(free) for free in self.free]

    def find(self, g: int, gang: int, pod: int) -> Nodes | None:
        """GPUs by node of model g for a gang, taken; None where there is no place."""
        found = place(gang, self.free[g], self.sizes[g], spread=self.spread, pod=pod)
        if found is None:
            return None
        for i, count in found.items():
            self.free[g][i] -= count
        own = self.nodes[g]
        return {int(own[i]): count for i, count in found.items()}

    def change(self, g: int, nodes: dict[int, int], sign: int) -> None:
        """Give back (1) or take (-1) GPUs of model g."""
        for n, count in nodes.items():
            self.free[g][int(np.searchsorted(self.nodes[g], n))] += sign * count


def _place(
    state: State, room: FreeGpus, g: int, jobs: list[int], turns: dict[int, int], held: Places
) -> Places:
    """Nodes of model g for the jobs that are to run there, as far as there is a place."""
    own = set(room.nodes[g].tolist())
    placed = {j: held[j] for j in jobs if j in held and next(iter(held[j])) in own}
    for nodes in placed.values():
        room.change(g, nodes, -1)
    gangs = state.gpus[jobs].tolist()
    wide = sorted(zip(gangs, jobs, strict=True), key=lambda pair: (-pair[0], turns[pair[1]]))
    for gang, j in wide:
        if j in placed:
            continue
        pod = int(state.pod[j])
        found = room.find(g, gang, pod)
        if found is None:
            found = _displace(room, g, (gang, pod), turns[j], turns, placed)
        if found is not None:
            placed[j] = found
    return placed


def _displace(
    room: FreeGpus, g: int, gang: tuple[int, int], turn: int, turns: dict[int, int], placed: Places
) -> Nodes | None:
    """A place among those of later jobs, which lose theirs; None, and nothing lost, if none is."""
    later = sorted((j for j in placed if turns[j] > turn), key=lambda j: -turns[j])
    for k, loser in enumerate(later):
        room.change(g, placed[loser], 1)
        found = room.find(g, *gang)
        if found is not None:
            for j in later[: k + 1]:
                del placed[j]
            return found
    for loser in later:
        room.change(g, placed[loser], -1)
    return None


def _fill(state: State, room: FreeGpus, jobs: Sequence[int], placed: Places) -> None:
    """Start jobs in this order where something is free, on their fastest model with a place."""
    largest = [sum(free) for free in room.free]  # gangs above this find no place
    gangs: NDArray[np.int64] = state.gpus[list(jobs)]
    every = state.speeds
    for j, gang in zip(jobs, gangs.tolist(), strict=True):
        if not any(largest):
            break
        if gang > max(largest) or j in placed:
            continue
        speeds = every[j].tolist()
        for g in sorted(range(len(speeds)), key=lambda g: (-speeds[g], g)):
            if speeds[g] and gang <= largest[g]:
                pod = int(state.pod[j])
                found = room.find(g, gang, pod)
                if found is not None:
                    placed[j] = found
                    largest[g] = min(largest[g], sum(room.free[g]))
                    break
                largest[g] = largest[g] if pod else gang - 1
