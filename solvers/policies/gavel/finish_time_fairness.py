"""Gavel's finish-time fairness: the least worst rho of all jobs, as fractions of the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ....instances import Cluster, User
from ....instances.arrays import Floats
from ...policy import Decision, Information, Preempts, Rules, State
from .finish_time_models import FinishTimeOnModels
from .time_fractions import by_deficit
from .water_filling import best_finish_time


def one_model_fractions(
    gangs: ArrayLike, gpus: int, left: ArrayLike, since: ArrayLike, whole: ArrayLike
) -> Floats:
    """Return time fractions on one GPU model that make max (t_i + R_i / X_i) / D_i the least.

    Notes
    -----
    O(jobs) a step of :func:`~.water_filling.best_finish_time`.

    Examples
    --------
    >>> one_model_fractions([1, 1], 1, [30, 10], [0, 0], [60, 60]).round(9).tolist()
    [0.75, 0.25]
    """
    gang, rest = np.asarray(gangs), np.asarray(left, dtype=np.float64)
    come, time = np.asarray(since, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    best = best_finish_time(gang, gpus, rest, come, time)
    return np.asarray(rest / np.maximum(best * time - come, rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishTimeFairness:
    """Gavel's finish-time fairness: leases to the jobs that are furthest behind their time.

    Notes
    -----
    Source: D. Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
    Workloads", OSDI 2020, Sections 4.2 and 5. Other papers compare with this program under the name
    of Themis, whose auction is something else. On one GPU model the program is one equation
    (:func:`one_model_fractions`). On several it is solved as each lease begins
    (:mod:`~.finish_time_models`), with the jobs' true speeds, and leases
    are given as :func:`~.model_leases.lease_out` says. Run times must be
    known.

    Our choices, on one model: what a job has done would have taken it, in isolation, as long as
    with an even share among the mean number of active jobs over its life so far; its rest, with an
    even share among those active now. Fractions become leases as
    :func:`~.time_fractions.by_deficit` says; a job that does not fit is
    skipped. Guarantee: none for the schedule; the fractions are optimal, but gangs may not pack.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, Node, drive
    >>> jobs = [Job(id="a", gpus=2, work=120), Job(id="b", gpus=2, work=60)]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs)
    >>> drive(instance, FinishTimeFairness(), lease=60, overhead=0).records.end.tolist()
    [180, 120]

    Each job has the GPU model that it is good at.

    >>> cluster = Cluster([Node("n0", 1, "k80"), Node("n1", 1, "v100")])
    >>> jobs = [
    ...     Job(id="a", gpus=1, work=2400, speeds={"k80": 4, "v100": 1}),
    ...     Job(id="b", gpus=1, work=2400, speeds={"k80": 1, "v100": 4}),
    ... ]
    >>> drive(Instance(cluster, jobs), FinishTimeFairness(), lease=60).records.end.tolist()
    [600, 600]
    """

    name: ClassVar[str] = "finish-time-fairness"
    preempts: ClassVar[Preempts] = Preempts.LEASE
    information: ClassVar[Information] = "known"

    def begin(
        self, cluster: Cluster, users: Sequence[User], rules: Rules
    ) -> FinishTimeFairness | FinishTimeOnModels:
        """Begin a session; on one GPU model nothing is remembered.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
            Not used.
        rules : Rules
        """
        several = len({node.model for node in cluster.nodes}) > 1
        return FinishTimeOnModels(cluster, rules) if several else self

    def decide(self, state: State) -> Decision:
        """Return the candidates by how far they are behind, on one GPU model."""
        jobs = np.concatenate([state.waiting, state.running])
        gangs, gpus, left = state.gpus[jobs], int(state.sizes.sum()), state.remaining(jobs)
        past = np.minimum(1.0, gpus / (gangs * np.maximum(1.0, state.mean_active(jobs))))
        now = np.minimum(1.0, gpus / (gangs * jobs.size))
        whole = (state.work[jobs] - left) / past + left / now
        target = np.zeros(state.phase.size)
        since = state.now - state.release[jobs]
        target[jobs] = one_model_fractions(gangs, gpus, left, since, whole)
        return Decision(order=by_deficit(state, state.candidates, target[state.candidates]))

    def next_change(self, state: State) -> None:
        """Deficits move all the time, but no job that waits has room before something ends."""
