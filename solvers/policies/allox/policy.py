"""AlloX: the least sum of completion times, for the users that are furthest behind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ....instances import Cluster, User
from ....instances.model import check_real
from ...machine.keyed import by_key
from ...policy import Decision, Information, Ints, Key, Preempts, Rule, Rules, State, ranked
from .on_models import AlloxOnModels


@dataclass(frozen=True, slots=True, kw_only=True)
class Allox:
    """Start the jobs of AlloX's matching; never stop one.

    Parameters
    ----------
    alpha : float
        Above 0, at most 1. Of the U users with waiting jobs only the ceil(alpha U) that have
        progressed least are served: attained GPU time per quota, ties to the lower number.

    Notes
    -----
    Source: T. N. Le, X. Sun, M. Chowdhury, Z. Liu, "AlloX: Compute Allocation in Hybrid Clusters",
    EuroSys 2020. Jobs and places in line are matched again at every arrival and completion, with
    the jobs that do not run, and those first in line start. On one GPU model the matching is known:
    the shortest job first; what is done on several stands in
    :mod:`~gangsched.solvers.policies.allox.on_models`. Run times must be known.

    Our choices: gangs are matched as single jobs, one that does not fit is skipped; progress is
    measured in GPU time per quota; alpha = 1 (all users) by default, where the paper's own value is
    not known to us. With alpha below 1 GPUs may idle while users ahead have jobs.
    Guarantee: none for gangs or arrivals; long jobs can starve under a stream of short ones. On
    several models a job may wait for a faster GPU while slower ones are free.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, Node, drive
    >>> jobs = [Job(id="a", gpus=2, work=180), Job(id="b", gpus=2, work=60)]
    >>> drive(Instance(Cluster.of_sizes([2]), jobs), Allox()).records.first.tolist()
    [60, 0]

    On a K80 and a V100, b waits 40 s for the V100, where it takes 50 s and not 500.

    >>> cluster = Cluster([Node("n0", 1, "k80"), Node("n1", 1, "v100")])
    >>> jobs = [
    ...     Job(id=id, gpus=1, work=work, speeds={"k80": 0.1, "v100": 1})
    ...     for id, work in (("a", 40), ("b", 50))
    ... ]
    >>> how = {"round_length": 10, "lease": 60}
    >>> drive(Instance(cluster, jobs), Allox(), **how).records.end.tolist()
    [40, 90]
    """

    name: ClassVar[str] = "allox"
    preempts: ClassVar[Preempts] = Preempts.NEVER
    information: ClassVar[Information] = "known"
    alpha: float = 1.0

    def __post_init__(self) -> None:
        if check_real("allox", "alpha", self.alpha, positive=True) > 1:
            raise ValueError(f"allox: alpha={self.alpha} is above 1")

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Allox | AlloxOnModels:
        """Begin a session; on one GPU model nothing is remembered.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
            Not used.
        rules : Rules
        """
        if len({node.model for node in cluster.nodes}) == 1:
            return self
        return AlloxOnModels(cluster, rules, self.served, self.next_change)

    @property
    def rule(self) -> Rule | None:
        """The compiled rule: with all users, that of the shortest job first."""
        return by_key(Key.WORK) if self.alpha == 1 else None

    def decide(self, state: State) -> Decision:
        """Return the jobs that are served by (work, release, number), on one GPU model."""
        jobs = self.served(state)
        return Decision(order=ranked(state, jobs, state.work[jobs]))

    def served(self, state: State) -> Ints:
        """Return the waiting jobs of the users furthest behind among those that have some."""
        jobs = state.waiting
        if self.alpha == 1:
            return jobs
        users = np.unique(state.user[jobs])
        progress = state.user_attained[users] / state.quota[users]
        count = math.ceil(Fraction(str(self.alpha)) * users.size)  # the decimal that is meant
        first = users[np.argsort(progress, kind="stable")[:count]]
        return np.asarray(jobs[np.isin(state.user[jobs], first)])

    def next_change(self, state: State) -> int | None:
        """Return the next round where progress could let other users in."""
        if self.alpha == 1 or not state.free.any():
            return None
        return state.now + state.rules.round_length
