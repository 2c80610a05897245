"""Finish-time fairness on several GPU models: Gavel's program for the jobs that are there.

As a lease begins, for jobs i that wait or run, R_i seconds of work left, t_i seconds since the job
came, and t'_i those that what it has done would have taken in isolation:

    min_X  max_i  rho_i = (t_i + R_i / throughput(i, X)) / (t'_i + R_i / throughput(i, X'))

with X' the fractions of each job on its own n-th of the cluster among the n jobs that are there
(`isolated_fractions`), and t'_i the sum, over leases, of the work done in each over throughput(i,
X') as it was when the lease began.

Source: D. Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
Workloads", OSDI 2020, Section 4.2; the sum is that of the authors' program. On one model the policy
takes the mean number of active jobs since the job came instead, which needs no memory.
"""

from __future__ import annotations

import numpy as np

from ....instances import Cluster
from ...policy import Floats, Ints, Rules, State
from .fraction_programs import fairest_finish
from .job_fractions import JobFractions


def isolated_rates(rates: Floats, gangs: Ints, gpus: Ints) -> Floats:
    """Throughputs of jobs that have their n-th of the cluster each.

    >>> isolated_rates(np.array([[1.0, 4], [1, 2]]), np.array([1, 1]), np.array([1, 1])).tolist()
    [2.5, 1.5]
    """
    share = gpus[None, :] / (max(len(gangs), 1) * gangs[:, None])
    share = share / np.maximum(1.0, share.sum(axis=1, keepdims=True))
    return np.asarray((rates * share).sum(axis=1))


class FinishTimeOnModels(JobFractions):
    """A session on several GPU models.

    Attributes
    ----------
    alone, before, pace : (jobs,) arrays
        t', work left and isolated throughput when the lease in hand began; a pace of 0 before the
        first.
    """

    columns = ("fractions", "alone", "before", "pace")

    def __init__(self, cluster: Cluster, rules: Rules) -> None:
        super().__init__(cluster, rules)
        self.alone, self.before, self.pace = np.zeros(0), np.zeros(0), np.zeros(0)

    def fractions_of(self, state: State, jobs: Ints, rates: Floats) -> Floats:
        """Return the fractions with the least worst rho."""
        gangs, left = state.gpus[jobs], self.left(state, jobs)
        known = self.pace[jobs] > 0
        done = np.maximum(self.before[jobs] - left, 0.0) / np.where(known, self.pace[jobs], 1.0)
        self.alone[jobs] += np.where(known, done, 0.0)
        self.pace[jobs] = isolated_rates(rates, gangs, self.gpus)
        self.before[jobs] = left
        whole = self.alone[jobs] + left / self.pace[jobs]
        since = (state.now - state.release[jobs]).astype(np.float64)
        return fairest_finish(rates, gangs, self.gpus, left, since, whole)[0]
