"""ServerFilling-SRPT: the least remaining sizes that fill the cluster, the widest of them first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...policy import Decision, Information, Ints, Phase, Preempts, Rule, State, ranked
from .core import FILLING


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFillingSrpt:
    """At every round serve, widest first, the least remaining sizes that fill all GPUs.

    The remaining size of a job is its remaining run time times its gang. Of the jobs by size the
    shortest prefix is taken whose gangs add up to all GPUs or more (all jobs, if they do not); in
    it the widest gangs come first, of one width those of the least size. Who does not fit is
    skipped. Nodes are repacked, as by ``smallest-area``.

    Notes
    -----
    Source: I. Grosof, M. Harchol-Balter, A. Scheller-Wolf, "Optimal scheduling in the
    multiserver-job model under heavy traffic", Proc. ACM Meas. Anal. Comput. Syst. 6(3), 2022. Run
    times must be known. Ties by (release, number). Our choices: nodes, overhead and rounds, of
    which the paper has none; GPUs that the prefix leaves idle go to later jobs, by size.

    Guarantee: where all gangs are powers of two that divide the number of GPUs (on nodes of one
    size that is a power of two), no GPU idles while gangs that would fill all of them are there.
    For these the paper proves that with Poisson arrivals and free preemption the mean response time
    is asymptotically optimal as the load goes to 1, if large sizes are rare enough. For other
    gangs none.

    Complexity: O(n log n) a decision with n jobs. Where not all of the prefix are served, the next
    round can be different, and none is skipped.

    Examples
    --------
    The first two make the prefix `a`, `b` of three GPUs; `b` is wider, and fills both.

    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=1, work=60), Job(id="b", gpus=2, work=60)]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs)
    >>> drive(instance, ServerFillingSrpt(), overhead=0).records.first.tolist()
    [60, 0]
    """

    name: ClassVar[str] = "serverfilling-srpt"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[Information] = "known"

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return FILLING

    def decide(self, state: State) -> Decision:
        """Return the prefix by (gang, size), then the others by size, to be repacked."""
        order, count = self._by_size(state)
        widest = np.argsort(-state.gpus[order[:count]], kind="stable")
        return Decision(order=np.concatenate([order[widest], order[count:]]), repacking=True)

    def _by_size(self, state: State) -> tuple[Ints, int]:
        """Return all jobs by (remaining size, release, number), and how many are the prefix."""
        jobs = state.candidates
        order = ranked(state, jobs, state.remaining(jobs) * state.gpus[jobs])
        gangs = state.gpus[order]
        return order, int(np.searchsorted(np.cumsum(gangs) - gangs, state.capacity))

    def next_change(self, state: State) -> int | None:
        """Return the next round where somebody of the prefix waits, whom others may pass."""
        order, count = self._by_size(state)
        waits = (state.phase[order[:count]] == Phase.WAITING).any()
        return state.now + 1 if waits else None
