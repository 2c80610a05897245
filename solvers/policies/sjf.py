"""Shortest job first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..machine.keyed import by_key
from ..policy import Decision, Information, Key, Preempts, Rule, State, ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Sjf:
    """Start waiting jobs by rising run time; never stop one.

    Parameters
    ----------
    blocking : bool
        True when no job may overtake one that finds no room; False lets later jobs fill the gap.

    Notes
    -----
    Source: folklore. Run times must be known. Ties by (release, number). Guarantee: none for gangs;
    long jobs can starve under a stream of short ones, whatever `blocking` is.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=180), Job(id="b", gpus=2, work=60)]
    >>> drive(Instance(Cluster.of_sizes([2]), jobs), Sjf()).records.first.tolist()
    [60, 0]
    """

    name: ClassVar[str] = "sjf"
    preempts: ClassVar[Preempts] = Preempts.NEVER
    information: ClassVar[Information] = "known"
    blocking: bool = True

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return by_key(Key.WORK, blocking=self.blocking)

    def decide(self, state: State) -> Decision:
        """Return the waiting jobs by (work, release, number)."""
        waiting = state.waiting
        return Decision(order=ranked(state, waiting, state.work[waiting]), blocking=self.blocking)

    def next_change(self, state: State) -> None:
        """Nothing changes between arrivals and completions."""
