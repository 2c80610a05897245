"""AlloX on several GPU models: matched at every arrival and completion, never stopped.

At a decision, W is the set of waiting jobs of the users who are served, and p_ig = work_i / v_ig
the run time of job i on model g; it is missing where the empty nodes of g have no place for the
gang. GPUs of one model that become free at the same time, in r_h seconds, are a group h of N_h
(r_h = 0 for those that are free now). The jobs of W are matched with columns (h, k) as if each took
one GPU (:mod:`~.position_matching`):

    min  sum_i sum_h sum_k  (r_h + k p_ig) x_ihk,   each i once, each column at most N_h times

the total completion time of W, if no job comes, for the k-th from the end delays k jobs. Of each
model those that are matched with free GPUs and are furthest from the end start: by falling k,
rising p_ig, then number, each whose gang still fits, and that finds a place on the nodes.

Source: T. N. Le, X. Sun, M. Chowdhury, Z. Liu, "AlloX: Compute Allocation in Hybrid Clusters",
EuroSys 2020. Our choices:

- GPUs that are held take part, as nobody is stopped and so it is known when they become free. With
  the free ones alone (Gavel's program) whoever comes while only slow GPUs are free takes one, and
  keeps it: on Gavel's trace of 96 jobs that doubles the mean completion time. Gavel's mechanism
  hides this, for there jobs move to faster GPUs as these become free.
- Where GPUs of a model become free at more than `GROUPS` times, neighbours are one group, which is
  free at the last of them.
- Gangs: the source has single devices. The matching counts a gang as one job, so a gang waits where
  its model has too few free GPUs, without holding any. Where somebody has started the others are
  matched again with what is left, until nobody starts. Where gangs are wide this is no longer near
  to the least mean: on 6,000 Philly jobs and three models the shortest job first does better.

A job of W may wait though GPUs are free, where a place in line on a faster model costs less. Nobody
waits for ever: where nothing runs all GPUs are free, and the first of every model that has jobs
finds its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....instances import Cluster
from ....instances.model import FULL_SPEED
from ...placement import place
from ...policy import Decision, Ints, Rules, State
from ..gavel.model_leases import FreeGpus
from .position_matching import FORBIDDEN, position_matching

#: of the times at which held GPUs of a model become free
GROUPS = 32


def matched_starts(
    times: Ints, free: Ints, delays: Ints | None = None, *, first: int | None = None
) -> list[tuple[int, int]]:
    """Jobs and models in the order in which each model tries them; whether they fit is not asked.

    Of the `first` models only, where that is given.

    >>> matched_starts(np.array([[3, 2], [10, 4]]), np.array([1, 1]))
    [(0, 0), (1, 1)]
    """
    matching = position_matching(times, free, delays)
    last = len(free) if first is None else first
    jobs = np.flatnonzero((matching.model >= 0) & (matching.model < last))
    model = matching.model[jobs]
    order = np.lexsort((jobs, times[jobs, model], -matching.position[jobs], model))
    return list(zip(jobs[order].tolist(), model[order].tolist(), strict=True))


class AlloxOnModels:
    """A session on several GPU models.

    Parameters
    ----------
    cluster : Cluster
    rules : Rules
    serve : function
        From a state to the waiting jobs that are served.
    change : function
        From a state to the next round at which others may be served, or None.
    """

    rule = None

    def __init__(
        self,
        cluster: Cluster,
        rules: Rules,
        serve: Callable[[State], Ints],
        change: Callable[[State], int | None],
    ) -> None:
        names = list(dict.fromkeys(node.model for node in cluster.nodes))
        self.sizes = [[n.gpus for n in cluster.nodes if n.model == name] for name in names]
        self.spread, self.serve, self.change = rules.spread, serve, change
        self.able: dict[tuple[int, int], NDArray[np.bool_]] = {}  # models with a place for a gang
        self.decided: list[int] = []  # for how many that had come, how many of them there, and whom

    def decide(self, state: State) -> Decision:
        """Return who starts where, if somebody has come or gone."""
        jobs = self.serve(state)
        there = state.arrived.size, state.waiting.size + state.running.size
        if [*there, *jobs.tolist()] == self.decided:
            return Decision()
        starts: dict[int, Any] = {}
        if state.free.any():
            self._start(state, jobs, starts)
        self.decided = [*there, *(j for j in jobs.tolist() if j not in starts)]
        return Decision(start=sorted(starts.items()))

    def _start(self, state: State, jobs: Ints, starts: dict[int, Any]) -> None:
        """Match until nobody starts: a gang takes more than the one GPU that is counted."""
        room, held, times = FreeGpus.of(state, {}), self._held(state), self._times(state, jobs)
        gangs, pods, waits = state.gpus[jobs], state.pod[jobs], np.arange(jobs.size)
        while self._finds_room(room, gangs[waits], pods[waits], times[waits]):
            left, begun = room.by_model(), []
            model, count, delay = _groups(left, held)
            matched = np.ascontiguousarray(times[waits][:, model])
            for i, g in matched_starts(matched, count, delay, first=len(left)):
                k = int(waits[i])
                gang, pod = int(gangs[k]), int(pods[k])
                if gang <= left[g] and (found := room.find(g, gang, pod)) is not None:
                    starts[int(jobs[k])] = found
                    left[g] -= gang
                    begun.append(k)
                    held.append((g, state.rules.round_up(int(times[k, g])), gang))
            if not begun:
                break
            waits = np.setdiff1d(waits, begun)

    def _finds_room(self, room: FreeGpus, gangs: Ints, pods: Ints, times: Ints) -> bool:
        """Whether any of these jobs could start now: if not, nobody need be matched."""
        for g, left in enumerate(room.by_model()):
            able = (times[:, g] != FORBIDDEN) & (gangs <= left)
            for gang, pod in set(zip(gangs[able].tolist(), pods[able].tolist(), strict=True)):
                if place(gang, room.free[g], room.sizes[g], spread=self.spread, pod=pod):
                    return True
        return False

    def next_change(self, state: State) -> int | None:
        """Return when other users may be served; no run time changes while a job waits."""
        return self.change(state)

    def save(self) -> dict[str, Any]:
        """Return what was last decided for, as plain data."""
        return {"decided": self.decided}

    def load(self, data: Mapping[str, Any]) -> None:
        """Continue from saved data."""
        self.decided = list(data["decided"])

    def _held(self, state: State) -> list[tuple[int, int, int]]:
        """Model, seconds until the round at which they are free, and number of GPUs that are held.

        Of a job that is profiled until that ends.
        """
        jobs, length = state.running, state.rules.round_length
        seconds = -(-state.remaining(jobs) * FULL_SPEED // np.maximum(state.speed[jobs], 1))
        seconds = np.where(state.speed[jobs] > 0, seconds, state.lease_end[jobs] - state.now)
        ends = np.maximum(-(-(state.now + seconds) // length) * length - state.now, length)
        ptr, node, gpus = state.places(jobs)
        columns = state.node_model[node[ptr[:-1]]], ends, np.add.reduceat(gpus, ptr[:-1])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def _times(self, state: State, jobs: Ints) -> Ints:
        """Seconds of each job on each model, rounded up; none where its gang has no place."""
        speeds, gangs = state.speeds[jobs], [state.gpus[jobs].tolist(), state.pod[jobs].tolist()]
        rows = [self._fits(*gang) for gang in zip(*gangs, strict=True)]
        fits = np.array(rows, dtype=np.bool_).reshape(speeds.shape)
        exact = -(-state.work[jobs, None] * FULL_SPEED // np.maximum(speeds, 1))
        return np.where(fits & (speeds > 0), np.maximum(exact, 1), FORBIDDEN)

    def _fits(self, gang: int, pod: int) -> NDArray[np.bool_]:
        """On which models a gang has a place when all nodes are empty."""
        if (gang, pod) not in self.able:
            found = (place(gang, own, own, spread=self.spread, pod=pod) for own in self.sizes)
            self.able[gang, pod] = np.array([nodes is not None for nodes in found])
        return self.able[gang, pod]


def _groups(free: list[int], held: list[tuple[int, int, int]]) -> tuple[Ints, Ints, Ints]:
    """Model, GPUs and delay of each group; first the free GPUs of each model."""
    rows = [(g, count, 0) for g, count in enumerate(free)]
    until: list[dict[int, int]] = [{} for _ in free]
    for g, end, gpus in sorted(held):
        until[g][end] = until[g].get(end, 0) + gpus
    for g, own in enumerate(until):
        ends, counts = list(own), list(own.values())
        most, first = min(GROUPS, len(ends)), 0
        for k in range(most):
            last = first + len(ends) // most + (k < len(ends) % most)
            rows.append((g, sum(counts[first:last]), ends[last - 1]))
            first = last
    model, gpus_of, delay = np.array(rows, dtype=np.int64).T
    return model, gpus_of, delay
