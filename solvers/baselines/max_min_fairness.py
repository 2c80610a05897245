"""Max-min fairness on several GPU models, as Gavel's linear program."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..policy import Decision, Preempts, State
from .time_fractions import Sharing, TimeFractions, by_deficit, rounded_up
from .water_filling import water_filling

__all__ = ["MaxMinFairness", "max_min_fairness"]


def max_min_fairness(
    throughputs: ArrayLike, gangs: ArrayLike, gpus: ArrayLike, *, weights: ArrayLike | None = None
) -> TimeFractions:
    """Return time fractions that serve the worst-off job best.

    ::

        max_X  min_i  (s_i / w_i) throughput(i, X) / throughput(i, X_equal)

    where throughput(i, X) = sum_g T_ig X_ig and X_equal gives a job each model in proportion to its
    GPUs, X_equal_ig = N_g / sum N. So a job's progress is measured in what it would be worth to
    wander over the whole cluster, and a gang of s GPUs is as well off with 1/s of the time.
    Optimal: `bound` is not below any X, from the duals in exact arithmetic.

    Parameters
    ----------
    throughputs : (jobs, models) array
        T_ig in any unit, 0 where a job cannot run.
    gangs : (jobs,) int array
        s_i.
    gpus : (models,) int array
        N_g.
    weights : (jobs,) array, optional
        w_i, positive; 1 if not given.

    Returns
    -------
    TimeFractions
        The objective is maximised. Only the smallest ratio is: what is left over beyond it goes
        where the solver leaves it.

    Raises
    ------
    ValueError, TypeError
        If shapes differ, a number is out of range, or no model can run some job.

    Notes
    -----
    Source: Narayanan et al., OSDI 2020, Section 4.1. Our choices: models on which a gang does not
    fit count as throughput 0 (also in X_equal). One linear program with jobs * models + 1 columns.

    Examples
    --------
    On two equal GPUs, a gang of two in half of the time is as well off as one GPU always.

    >>> found = max_min_fairness([[5], [1]], [1, 2], [2])
    >>> found.fractions.round(9).tolist(), round(found.objective, 9)
    ([[1.0], [0.5]], 1.0)
    """
    sharing = Sharing(throughputs, gangs, gpus)
    ones = np.ones(sharing.gangs.size)
    weight = ones if weights is None else sharing.numbers("weights", weights, positive=True)
    if not sharing.gangs.size:
        return TimeFractions(fractions=sharing.throughputs, objective=np.inf, bound=np.inf)
    equal = sharing.throughputs @ (sharing.gpus / sharing.gpus.sum())
    per = sharing.throughputs * (sharing.gangs / (weight * equal))[:, None]
    fractions, y, prices = sharing.fairest(per, ones)
    bound = sharing.most(per, y, prices) / sum(map(Fraction, y.tolist()))
    return TimeFractions(
        fractions=fractions,
        objective=float(sharing.rates(fractions, per).min()),
        bound=rounded_up(bound),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxMinFairness:
    """Gavel's max-min fairness: leases to the jobs that are furthest behind their fair time.

    Notes
    -----
    Source: D. Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
    Workloads", OSDI 2020, Sections 4.1 and 5. The driver's cluster has one GPU model, where the
    program has a closed form (:func:`water_filling`, over all jobs that wait or run, by the jobs'
    weights); :func:`max_min_fairness` is the step for several models. Fractions become leases as
    :func:`~gangsched.solvers.baselines.time_fractions.by_deficit` says; a job that does not fit is
    skipped. Guarantee: none for the schedule; the fractions are optimal, but gangs may not pack.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=120), Job(id="b", gpus=2, work=120)]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs)
    >>> drive(instance, MaxMinFairness(), lease=60, overhead=0).records.end.tolist()
    [180, 240]
    """

    name: ClassVar[str] = "max-min-fairness"
    preempts: ClassVar[Preempts] = Preempts.LEASE

    def decide(self, state: State) -> Decision:
        """Return the candidates by how far they are behind."""
        jobs = np.concatenate([state.waiting, state.running])
        target = np.zeros(state.phase.size)
        target[jobs] = water_filling(state.gpus[jobs], state.sizes.sum(), state.weight[jobs])
        return Decision(order=by_deficit(state, state.candidates, target[state.candidates]))

    def next_change(self, state: State) -> None:
        """Deficits move all the time, but no job that waits has room before something ends."""
