"""First in, first out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..machine.keyed import by_key
from ..policy import Decision, Key, Preempts, Rule, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Fifo:
    """Start waiting jobs in the order of their release; never stop one.

    Parameters
    ----------
    blocking : bool
        True when no job may overtake one that finds no room (the textbook rule: a wide gang at the
        head waits until enough GPUs are free, and nobody starves). False lets later jobs fill the
        gap, which can starve a wide gang for ever.

    Notes
    -----
    Source: folklore, and the scheduler of the cluster that Ye et al. (2022, Section 3.2) study;
    blocking by default is our choice. Run times are not used. Guarantee: none on completion times;
    with `blocking` every job starts after all jobs that were released before it.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=1, work=60), Job(id="b", gpus=2, work=60)]
    >>> jobs += [Job(id="c", gpus=1, work=60)]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs)
    >>> drive(instance, Fifo()).records.first.tolist()
    [0, 60, 120]
    >>> drive(instance, Fifo(blocking=False)).records.first.tolist()
    [0, 60, 0]
    """

    name: ClassVar[str] = "fifo"
    preempts: ClassVar[Preempts] = Preempts.NEVER
    blocking: bool = True

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return by_key(Key.RELEASE, blocking=self.blocking)

    def decide(self, state: State) -> Decision:
        """Return the waiting jobs by (release, number)."""
        return Decision(order=state.waiting, blocking=self.blocking)

    def next_change(self, state: State) -> None:
        """Nothing changes between arrivals and completions."""
