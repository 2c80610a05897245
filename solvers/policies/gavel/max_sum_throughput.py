"""Maximum total throughput: Gavel's linear program, on one or several GPU models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....instances import Cluster, User
from ....instances.model import FULL_SPEED
from ...policy import Floats, Ints, Preempts, Rules
from .fraction_programs import most_throughput
from .max_min_fairness import MaxMinOnModels


class _Session(MaxMinOnModels):
    def fair_fractions(self, classes: Ints, counts: Ints) -> Floats:
        """The fractions with the largest sum of throughputs, which are not fair."""
        rates = self.speeds_of(classes) / FULL_SPEED
        weights = np.ascontiguousarray(classes[:, -1]).view(np.float64)
        return most_throughput(rates, classes[:, -2], counts, self.gpus, weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxSumThroughput:
    """Gavel's maximum throughput: leases to the jobs that are furthest behind their fractions.

    Notes
    -----
    Source: D. Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
    Workloads", OSDI 2020, Section 4.2, without costs and SLOs. Throughputs are the jobs' speeds,
    so each is measured in that of its own gang on the reference model, where Gavel adds steps of
    all kinds up; they count by the jobs' weights. A gang counts as one job: narrow gangs come first
    on equal GPUs, and wide ones get what is left over. Fractions are those of
    :func:`~.fraction_programs.most_throughput`, leases are given as in
    :class:`~.max_min_fairness.MaxMinFairness` on several models.
    Guarantee: none for the schedule, and long or wide jobs can starve.

    Examples
    --------
    b gains more from the V100 than a.

    >>> from gangsched import Cluster, Instance, Job, Node, drive
    >>> cluster = Cluster([Node("n0", 1, "k80"), Node("n1", 1, "v100")])
    >>> jobs = [
    ...     Job(id=id, gpus=1, work=2400, speeds={"k80": 1, "v100": fast})
    ...     for id, fast in (("a", 2), ("b", 5))
    ... ]
    >>> drive(Instance(cluster, jobs), MaxSumThroughput(), lease=60).records.end.tolist()
    [1465, 480]
    """

    name: ClassVar[str] = "max-sum-throughput"
    preempts: ClassVar[Preempts] = Preempts.LEASE
    always_asked: ClassVar[bool] = True

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
