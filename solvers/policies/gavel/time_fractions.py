"""Which part of the time each job runs on each GPU model: what Gavel's policies decide.

A job that runs on model g advances by T_ig a second with its whole gang s_i. With fractions X_ig of
the time it advances by sum_g T_ig X_ig. Fractions are feasible when

    sum_g X_ig     <= 1    for each job: it is in one place at a time
    sum_i s_i X_ig <= N_g  for each model: a gang takes all its GPUs
    X_ig = 0               where s_i > N_g: the gang does not fit the model at all

Source: D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee, M. Zaharia, "Heterogeneity-Aware
Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020, Section 3.1. The last line is
our choice: there, half of the time on 4 GPUs would do for a gang of 8.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ....instances.arrays import Floats
from ...policy import Ints, State, ranked


class Sharing:
    """Jobs that share GPUs of several models by time.

    Parameters
    ----------
    throughputs : (jobs, models) array
        T_ig in any unit, 0 where a job cannot run.
    gangs : (jobs,) int array
        s_i, at least 1.
    gpus : (models,) int array
        N_g, at least 0.

    Attributes
    ----------
    throughputs : (jobs, models) float array
        T_ig, and 0 where the gang exceeds N_g.
    gangs, gpus : arrays
        As given.

    Raises
    ------
    ValueError
        If shapes differ, a number is out of range, or no model can run some job.

    Examples
    --------
    >>> sharing = Sharing([[1, 2], [1, 3]], [1, 2], [2, 1])
    >>> sharing.throughputs.tolist()
    [[1.0, 2.0], [1.0, 0.0]]
    """

    def __init__(self, throughputs: ArrayLike, gangs: ArrayLike, gpus: ArrayLike) -> None:
        rates = np.asarray(throughputs, dtype=np.float64)
        self.gangs, self.gpus = np.asarray(gangs), np.asarray(gpus)
        if rates.shape != (self.gangs.size, self.gpus.size):
            raise ValueError(
                f"sharing: throughputs has shape {rates.shape}, gangs and gpus have "
                f"{self.gangs.size} and {self.gpus.size} entries"
            )
        for name, array, least in (("gangs", self.gangs, 1), ("gpus", self.gpus, 0)):
            if array.size and array.dtype.kind not in "iu":
                raise TypeError(f"sharing: {name} of type {array.dtype} are not integers")
            for i in np.flatnonzero(array < least)[:1]:
                raise ValueError(f"sharing: {name}[{i}]={array[i]} is below {least}")
        for i, g in np.argwhere(~(np.isfinite(rates) & (rates >= 0)))[:1]:
            raise ValueError(
                f"sharing: throughputs[{i}, {g}]={rates[i, g]} is not a finite number >= 0"
            )
        self.throughputs = np.where(self.gangs[:, None] <= self.gpus, rates, 0.0)
        for i in np.flatnonzero(~(self.throughputs > 0).any(axis=1))[:1]:
            raise ValueError(f"sharing: job {i} with gang {self.gangs[i]} can run on no model")

    def numbers(self, name: str, values: ArrayLike, *, positive: bool = False) -> Floats:
        """Return one finite number per job, not negative."""
        array = np.asarray(values, dtype=np.float64)
        if array.shape != self.gangs.shape:
            raise ValueError(f"sharing: {name} has shape {array.shape}, not {self.gangs.shape}")
        good = np.isfinite(array) & ((array > 0) if positive else (array >= 0))
        for i in np.flatnonzero(~good)[:1]:
            rule = "positive" if positive else "a finite number >= 0"
            raise ValueError(f"sharing: {name}[{i}]={array[i]} is not {rule}")
        return array


def by_deficit(state: State, jobs: Ints, fractions: Floats) -> Ints:
    """Return `jobs` by how far they are behind their time fractions, on one GPU model.

    Notes
    -----
    Source: Narayanan et al., OSDI 2020, Section 5: rounds are given to the highest priorities, with
    priority the target fraction over the fraction of rounds received. Theirs counts from the last
    change of the targets; from the first round is our choice: it needs no memory, and a debt is
    not forgotten when jobs come and go.
    """
    life = np.maximum(state.now - state.visible[jobs], 1)
    received = state.attained(jobs) / (state.gpus[jobs] * life)
    behind = np.where(received > 0, fractions / np.where(received > 0, received, 1.0), np.inf)
    return ranked(state, jobs, -behind, -fractions)
