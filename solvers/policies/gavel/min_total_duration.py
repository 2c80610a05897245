"""Minimum total duration: Gavel's linear program for the makespan, on one or several GPU models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....instances import Cluster, User
from ...policy import Floats, Information, Ints, Preempts, Rules, State
from .fraction_programs import least_duration
from .job_fractions import JobFractions


class _Session(JobFractions):
    def fractions_of(self, state: State, jobs: Ints, rates: Floats) -> Floats:
        """The fractions with which all jobs end first."""
        return least_duration(rates, state.gpus[jobs], self.gpus, self.left(state, jobs))[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class MinTotalDuration:
    """Gavel's minimum makespan: leases to the jobs that are furthest behind their fractions.

    Notes
    -----
    Source: D. Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
    Workloads", OSDI 2020, Section 4.2: the smallest T for which time fractions exist that end all
    jobs by T, if none comes. There T is searched for to 5 %; here it is exact, once in a lease, and
    what is left over goes where
    :func:`~.fraction_programs.least_duration` says. Leases are given as
    :func:`~.model_leases.lease_out` says. Run times must be known.
    Guarantee: none for the schedule; T is the least possible for fractions, but gangs may not pack.

    Examples
    --------
    On two GPUs the long job runs all the time, beside the two others.

    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id=id, gpus=1, work=work) for id, work in (("a", 60), ("b", 60), ("c", 120))]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs)
    >>> drive(instance, MinTotalDuration(), lease=60, overhead=0).records.end.max()
    np.int64(120)
    """

    name: ClassVar[str] = "min-total-duration"
    preempts: ClassVar[Preempts] = Preempts.LEASE
    information: ClassVar[Information] = "known"

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> _Session:
        """Begin a session.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
            Not used.
        rules : Rules
        """
        return _Session(cluster, rules)
