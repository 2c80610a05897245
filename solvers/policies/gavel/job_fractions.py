"""Sessions that compute time fractions of jobs one by one as a lease begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....instances import Cluster
from ....instances.arrays import Bools
from ....instances.model import FULL_SPEED
from ...growing import longer
from ...placement import place
from ...policy import Decision, Floats, Ints, Rules, State
from .model_leases import Received, lease_out

UNKNOWN = -1  # whether a gang has a place


class JobFractions:
    """Jobs that wait or run get fractions as a lease begins; a job that comes later, with the next.

    Subclasses say which.

    Attributes
    ----------
    gpus : (models,) int array
    fractions : (jobs, models) array
        Of the lease in hand; 0 for jobs that had not come when it began.
    """

    always_asked = True  # a faster model may be free
    #: columns by job that a session remembers
    columns: tuple[str, ...] = ("fractions",)

    def __init__(self, cluster: Cluster, rules: Rules) -> None:
        names = list(dict.fromkeys(node.model for node in cluster.nodes))
        self.sizes = [[n.gpus for n in cluster.nodes if n.model == name] for name in names]
        self.gpus = np.array([sum(own) for own in self.sizes], dtype=np.int64)
        self.spread = rules.spread
        self.able = np.zeros((0, len(names)), dtype=np.int8)  # by gang: whether a model has a place
        self.lease = -1
        self.fractions = np.zeros((0, len(names)))
        self.received = Received(len(names))

    def decide(self, state: State) -> Decision:
        """Return where the candidates that are furthest behind run."""
        if not state.capacity:
            return Decision()
        self.received.look(state)
        lease = state.now // state.rules.lease_length
        if lease != self.lease:
            self.lease = lease
            self.begin_lease(state)
        jobs = state.candidates
        return lease_out(state, self.known_fractions(state, jobs), self.received.seconds[jobs])

    def begin_lease(self, state: State) -> None:
        """Give the jobs that are there their fractions."""
        for name in self.columns:
            setattr(self, name, longer(getattr(self, name), state.phase.size))
        jobs = np.sort(np.concatenate([state.waiting, state.running]))
        own = self.fractions_of(state, jobs, self.rates(state, jobs))
        self.fractions[:] = 0.0
        self.fractions[jobs] = own

    def known_fractions(self, state: State, jobs: Ints) -> Floats:
        """Return the fractions of jobs in this lease."""
        self.fractions = longer(self.fractions, state.phase.size)
        return self.fractions[jobs]

    def fractions_of(self, state: State, jobs: Ints, rates: Floats) -> Floats:
        """Return the fractions of all jobs that are there."""
        raise NotImplementedError

    def next_change(self, state: State) -> int:
        """Return the next lease, where fractions are anew."""
        length = state.rules.lease_length
        return (state.now // length + 1) * length

    def rates(self, state: State, jobs: Ints) -> Floats:
        """Seconds of work that jobs do in a second on each model; 0 where a gang has no place."""
        return np.where(self.fits(state.gpus[jobs]), state.speeds[jobs] / FULL_SPEED, 0.0)

    def fits(self, gangs: Ints) -> Bools:
        """On which models gangs have a place on empty nodes."""
        self.able = longer(self.able, int(gangs.max(initial=0)) + 1, UNKNOWN)
        for gang in set(gangs[self.able[gangs, 0] == UNKNOWN].tolist()):
            spread = self.spread
            self.able[gang] = [
                place(gang, own, own, spread=spread) is not None for own in self.sizes
            ]
        found: Bools = self.able[gangs] == 1
        return found

    def left(self, state: State, jobs: Ints) -> Floats:
        """Seconds of work that jobs still need, at least one (estimates may be too small)."""
        return np.maximum(state.remaining(jobs), 1).astype(np.float64)

    def save(self) -> dict[str, Any]:
        """Return what is remembered, as plain data."""
        columns = {name: getattr(self, name) for name in self.columns}
        return {"lease": self.lease, "received": self.received.save(), **columns}

    def load(self, data: Mapping[str, Any]) -> None:
        """Continue from saved data."""
        self.lease = data["lease"]
        self.received.load(data["received"])
        for name in self.columns:
            setattr(self, name, np.array(data[name]))
