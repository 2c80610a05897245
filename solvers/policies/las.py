"""Least attained service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...instances import Cluster, User
from ..machine.keyed import by_key
from ..policy import Decision, Key, Preempts, Rule, Rules, State, ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Las:
    """At every round run the jobs that have held the fewest GPU seconds.

    Notes
    -----
    Source: the continuous form of what Tiresias (Gu et al., NSDI 2019) discretises; run times are
    not used. Running jobs can be suspended at every round, and with every round the order of
    running jobs can change: no round is skipped while a job waits. Ties by (release, number).
    Jobs that take turns run for a round at a time, of which a resumed one loses the overhead, so
    the overhead must be below the round length. Guarantee: none for gangs.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=180), Job(id="b", gpus=2, work=60, release=60)]
    >>> drive(Instance(Cluster.of_sizes([2]), jobs), Las(), overhead=0).records.end.tolist()
    [240, 120]
    """

    name: ClassVar[str] = "las"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return by_key(Key.ATTAINED)

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Las:
        """Return the policy, which remembers nothing.

        Parameters
        ----------
        cluster : Cluster
            Not used.
        users : sequence of User
            Not used.
        rules : Rules

        Raises
        ------
        ValueError
            If the overhead, or what a migration costs, is not below the round length: jobs that
            take turns would never end.
        """
        for name in ("overhead", "migration"):
            cost = getattr(rules, name)
            if cost is not None and cost >= rules.round_length:
                raise ValueError(
                    f"las: {name}={cost} is not below the round length of "
                    f"{rules.round_length} s, jobs that take turns would make no progress"
                )
        return self

    def decide(self, state: State) -> Decision:
        """Return all jobs by (attained GPU seconds, release, number)."""
        jobs = state.candidates
        return Decision(order=ranked(state, jobs, state.attained(jobs)))

    def next_change(self, state: State) -> int:
        """Return the next round."""
        return state.now + 1
