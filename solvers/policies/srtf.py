"""Shortest remaining time first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..machine.keyed import by_key
from ..policy import Decision, Information, Key, Preempts, Rule, State, ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Srtf:
    """At every round run the jobs with the least remaining run time.

    Notes
    -----
    Source: folklore; optimal for the mean completion time on one machine (Schrage 1968), without a
    guarantee for gangs. Run times must be known. Running jobs can be suspended at every round.
    Ties by (release, number). A job that does not fit is skipped.

    Between arrivals and completions the remaining times of running jobs only fall, so that the
    order of running and waiting jobs does not change: quiet rounds can be skipped.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=180), Job(id="b", gpus=2, work=60, release=60)]
    >>> drive(Instance(Cluster.of_sizes([2]), jobs), Srtf(), overhead=0).records.end.tolist()
    [240, 120]
    """

    name: ClassVar[str] = "srtf"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[Information] = "known"

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return by_key(Key.LEFT)

    def decide(self, state: State) -> Decision:
        """Return all jobs by (remaining time, release, number)."""
        jobs = state.candidates
        return Decision(order=ranked(state, jobs, state.remaining(jobs)))

    def next_change(self, state: State) -> int | None:
        """Nothing changes between arrivals and completions, but where a job finds no place.

        Then a narrow job that runs in a gap can pass it in the order, though nobody moves, and
        another one is the next that finds no place: from when on its patience counts may change.
        """
        blocked = (state.blocked[state.waiting] >= 0).any()
        return state.now + 1 if blocked and state.rules.patience is not None else None
