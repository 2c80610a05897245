"""Tiresias-L: least attained service in a few queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..machine.keyed import by_key
from ..policy import Decision, Ints, Key, Preempts, Rule, State, ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class TiresiasL:
    """Run the jobs of the first queue before those of the next; first in, first out within one.

    A job falls into the next queue when the GPU seconds that it has held reach a threshold.

    Parameters
    ----------
    thresholds : sequence of int
        GPU seconds, rising; one more queue than thresholds.

    Raises
    ------
    ValueError
        If the thresholds do not rise from above 0.

    Notes
    -----
    Source: J. Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI
    2019, Section 3.2 (discretised two-dimensional least attained service; L: without knowledge of
    run times). Our choices: two queues with a threshold of 5 GPU hours; a job that does not fit is
    skipped; gangs are always consolidated (no profile of the model's skew); no promotion of jobs
    that starve, which the original leaves to a knob that is off by default. Guarantee: none; a
    queue can starve under a stream of short jobs.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=180), Job(id="b", gpus=2, work=60, release=60)]
    >>> policy = TiresiasL(thresholds=[120])
    >>> drive(Instance(Cluster.of_sizes([2]), jobs), policy, overhead=0).records.end.tolist()
    [240, 120]
    """

    name: ClassVar[str] = "tiresias-l"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    thresholds: Sequence[int] = (18_000,)

    def __post_init__(self) -> None:
        thresholds = tuple(int(t) for t in self.thresholds)
        if not thresholds or thresholds[0] <= 0 or list(thresholds) != sorted(set(thresholds)):
            raise ValueError(f"tiresias-l: thresholds={self.thresholds!r} do not rise from above 0")
        object.__setattr__(self, "thresholds", thresholds)

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return by_key(Key.LEVEL, tuple(float(t) for t in self.thresholds))

    def _queue(self, state: State, jobs: Ints) -> Ints:
        return np.searchsorted(np.array(self.thresholds), state.attained(jobs), side="right")

    def decide(self, state: State) -> Decision:
        """Return all jobs by (queue, release, number)."""
        jobs = state.candidates
        return Decision(order=ranked(state, jobs, self._queue(state, jobs)))

    def next_change(self, state: State) -> int | None:
        """Return when the next running job falls into another queue."""
        running = state.running
        queue = self._queue(state, running)
        falls = queue < len(self.thresholds)
        running, queue = running[falls], queue[falls]
        if not running.size:
            return None
        missing = np.array(self.thresholds)[queue] - state.attained(running)
        return int(state.now + np.min(-(-missing // state.gpus[running])))
