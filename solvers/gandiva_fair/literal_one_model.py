"""Gandiva_fair by Algorithm 2 to the letter on one GPU model, as machine code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...instances import Cluster
from ..policy import Decision, Floats, Ints, State, WrittenStarts
from .literal import LiteralSharing
from .sharing import Columns, CompiledSharing, SharingLimits

if TYPE_CHECKING:
    from .policy import GandivaFair

__all__ = ["LiteralOnOneModel"]


class _Core(CompiledSharing):
    """What :class:`gangsched.solvers.gandiva_fair.literal.Kept` does, bit for bit."""

    def __init__(self, sizes: Ints, quota: Floats, limits: SharingLimits) -> None:
        super().__init__([sizes.tolist()], [[*range(sizes.size)]], quota, limits)
        from ...instances.compiled import entered
        from . import literal_steps as steps

        c, self._sizes, self._threshold = self._c, sizes.astype(np.float64), limits.threshold
        self._held, self._load = c.held.astype(np.float64), np.zeros(sizes.size)
        self._gpus, self._prices = float(sizes.sum()), np.zeros(quota.size)
        none, loads = np.zeros(0, dtype=np.int64), np.zeros(sizes.size)
        at = self._prices, 0, 1.0, True
        self._begin = entered(steps.begin, c, none, none, 1.0, *at)
        self._enter = entered(steps.enter, c, 0, loads, *at)
        self._price = entered(steps.price, c, self._prices)
        self._balance = entered(steps.balance, c, 0, 0, 1.0, 0)

    def _steps(self) -> Any:
        from .literal_steps import decide

        return decide

    def note(self, new: Ints, columns: Columns) -> None:
        """Take note of jobs that have come: each can run, and speeds are not asked for."""
        flags = np.ones((new.size, 1), dtype=np.int64)
        self._note(new, columns, np.zeros(new.size, dtype=np.int64), flags)

    def place_and_decide(
        self, waiting: Ints, running: Ints, now: int, part: float, *, begins: bool
    ) -> tuple[Ints, WrittenStarts]:
        """Return who stops, and who starts on which nodes; `part` of the quantum is left."""
        at = self._prices, now, part, begins
        job = self._begin(self._c, waiting, running, self._gpus, *at)
        while job >= 0:
            job = self._enter(self._c, job, self._loads(), *at)
        if begins:
            self._move(now)
            return self.decide(now, part, begins=begins)
        return self.decision()

    def _move(self, now: int) -> None:
        """Move a job from the most to the least loaded node (3.5)."""
        self._price(self._c, self._prices)
        loads = self._loads()
        most, least = int(loads.argmax()), int(loads.argmin())
        gap = float(loads[most] - loads[least])
        if gap > self._threshold * float(loads.mean()):
            self._balance(self._c, most, least, gap, now)

    def _loads(self) -> Floats:
        """Tickets per GPU of each node, eq. (2), as `StridePool.loads` adds them up."""
        self._held[:] = self._c.held
        np.matmul(self._held, self._prices, out=self._load)
        return np.divide(self._load, self._sizes, out=self._load)


class LiteralOnOneModel(LiteralSharing):
    """:class:`gangsched.solvers.gandiva_fair.literal.LiteralSharing` where all GPUs are alike.

    Parameters
    ----------
    policy : GandivaFair
    cluster : Cluster
    """

    def __init__(self, policy: GandivaFair, cluster: Cluster) -> None:
        super().__init__(policy, cluster)
        self._core: _Core | None = None

    def save(self) -> dict[str, Any]:
        """Return who is where, as plain data."""
        if self._core is None:
            return dict(self._saved or {})
        return {"core": self._core.save(), "known": self._core.known, "log": []}

    def decide(self, state: State) -> Decision:
        """Return who stops and who starts where."""
        core = self._core if self._core is not None else self._begin(state)
        self._meet(state, core)
        quantum = state.rules.lease_length
        gone = state.now % quantum
        there, part = (state.waiting, state.running), (quantum - gone) / quantum
        stop, start = core.place_and_decide(*there, state.now, part, begins=not gone)
        return Decision(suspend=stop, start=start)

    def _begin(self, state: State) -> _Core:
        """What is known of this run, where the first decision is due."""
        policy = self.policy
        limits = SharingLimits(
            threshold=policy.threshold, gain=policy.migration_gain, most=1,
            debt_cap=policy.debt_cap, normalised=policy.normalised,
        )  # fmt: skip
        self._core = core = _Core(state.sizes, state.quota, limits)
        if (data := self._saved) is not None:
            self._saved = None
            self._meet(state, core, data["known"])
            core.load(data["core"])
        return core

    def _meet(self, state: State, core: _Core, until: int | None = None) -> None:
        """Take note of jobs that have come."""
        new = state.arrived[core.known : until]
        if new.size:
            core.note(new, (state.user, state.gpus, state.rank, state.weight))
