"""The decisions of Gandiva_fair, and what they remember, as arrays for machine code.

How the steps of the paper follow one another is in :func:`.sharing_steps.decide`; tests have them
in plain Python, bit for bit.

Every job has a *home*: the nodes among whose jobs it takes turns, by passes and strides. It
runs there, or for the rest of a quantum on GPUs that would idle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..policy import Floats, Ints, WrittenStarts
from .limits import SharingLimits as SharingLimits

__all__ = ["CompiledSharing", "SharingLimits"]

#: a job, and the GPUs that it takes by node of the cluster
Start = tuple[int, dict[int, int]]


#: users, gangs, ranks and weights of all jobs; of some, on which models each can run
Columns = tuple[Ints, Ints, Ints, Floats]
Models = Sequence[tuple[int, ...]]


class CompiledSharing:
    """Who is where, what is known of speeds, and who runs: models and nodes are numbers.

    Parameters
    ----------
    sizes, nodes : sequence of sequences of int
        GPUs of the nodes of each model, from the slowest to the newest model, and their numbers
        in the cluster.
    quota : (users,) float array
        GPUs in proportion to tickets.
    limits : SharingLimits
    """

    def __init__(
        self,
        sizes: Sequence[Sequence[int]],
        nodes: Sequence[Sequence[int]],
        quota: Floats,
        limits: SharingLimits,
    ) -> None:
        from ...instances.compiled import entered  # numba takes a second to import
        from . import sharing_core as core

        self.known = 0
        self._c = c = core.new_core(sizes, nodes, quota, limits)
        self._smallest, self._count = min(map(min, sizes)), sum(map(len, sizes))
        self._models = range(len(sizes))
        self._entries = 0
        self._grow = core.new_jobs, core.new_entries
        none, shares = np.zeros(0, dtype=np.int64), c.shares.copy()
        columns = none, none, none, c.limits
        self._meet = entered(core.meet, c, none, *columns, none, none[:, None], 0, 1, 1)
        self._open = entered(core.open_round, c, none, none, none, none)
        self._own = entered(core.own, c, shares)
        self._decide = entered(self._steps(), c, 0, 1.0, True)
        self._speeds = entered(core.user_speeds, c, shares, shares[:, 0].copy())
        self._ends = core.STOPS

    def _steps(self) -> Any:
        """The machine code of a decision."""
        from .sharing_steps import decide

        return decide

    @property
    def worth(self) -> Floats:
        """Effective tickets of each user, in GPUs."""
        return self._c.users["worth"].copy()

    def meet(self, new: Ints, columns: Columns, kinds: Sequence[int], able: Models) -> None:
        """Take note of jobs that have come, with what is known of all, and of each of these."""
        if len(self._models) > 1:
            flags = np.array([[*map(own.count, self._models)] for own in able], dtype=np.int64)
        else:
            flags = np.ones((new.size, 1), dtype=np.int64)
        self._note(new, columns, np.array(kinds, dtype=np.int64), flags)

    def _note(self, new: Ints, columns: Columns, kinds: Ints, flags: Ints) -> None:
        """The same with arrays: `flags` says which jobs can run on which models."""
        self.known += new.size
        # of one, as most are, without a reduction
        one = new.size == 1
        size = 1 + int(max(new[0], kinds[0]) if one else max(new.max(), kinds.max()))
        if size > len(self._c.jobs):
            self._c = self._grow[0](self._c, _capacity(size))
        given = new, *columns, kinds, flags, self._entries, self._smallest, self._count
        end = self._meet(self._c, *given)
        if end > len(self._c.entries):
            self._c = self._grow[1](self._c, _capacity(end))
            self._meet(self._c, *given)
        self._entries = end

    def open(self, waiting: Ints, running: Ints, ran: Ints, speed: Ints) -> None:
        """Forget jobs that have ended, profile those that `ran`, count tickets (3.2)."""
        self._open(self._c, waiting, running, ran, speed)

    def user_speeds(self) -> tuple[Floats, Floats]:
        """Return each user's mean speeds on the models, nan where unknown, and its demand."""
        total, demand = np.zeros(self._c.shares.shape), np.zeros(self._c.users.size)
        self._speeds(self._c, total, demand)
        return total, demand

    def set_shares(self, shares: Floats) -> None:
        """Let users own these GPUs of each model."""
        if len(self._models) > 1:
            self._own(self._c, np.ascontiguousarray(shares))
        else:
            self._c.shares[:] = shares

    def decide(self, now: int, part: float, *, begins: bool) -> tuple[Ints, WrittenStarts]:
        """Return who stops, and who starts on which nodes; `part` of the quantum is left."""
        self._decide(self._c, now, part, begins)
        return self.decision()

    def decision(self) -> tuple[Ints, WrittenStarts]:
        """Return what machine code has decided."""
        stops, length, starts = self._c.count[self._ends :].tolist()
        written = self._c.out[:length].copy()
        return written[:stops], WrittenStarts(written[stops:], starts)

    def save(self) -> dict[str, Any]:
        """Return what the run has come to, as plain data."""
        return {name: _plain(getattr(self._c, name)) for name in KEPT}

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there, where the jobs that had come then have been met."""
        for name in KEPT:
            mine, saved = getattr(self._c, name), data[name]
            if isinstance(saved, dict):
                for key, column in saved.items():
                    mine[key][: len(column)] = column
            else:
                mine[tuple(map(slice, saved.shape))] = saved


#: arrays of the compiled core that a run changes
KEPT = (
    *("count", "jobs", "entries", "servers", "models", "held", "small", "demand", "shares"),
    *("mean", "times", "lists"),
)


def _capacity(size: int) -> int:
    """Return the least power of two from `size` on: it does not show how a table has grown."""
    return 1 << (size - 1).bit_length()


def _plain(array: Any) -> Any:
    """An array of numbers, or one for each field."""
    if array.dtype.names is None:
        return array
    return {name: np.ascontiguousarray(array[name]) for name in array.dtype.names}
