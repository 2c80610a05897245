"""Max-min fairness on several GPU models, as Gavel's linear program."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from ..highs import Maximum
from ..placement import place
from ..policy import Decision, Floats, Ints, Preempts, State
from .model_leases import Received, lease_out
from .time_fractions import Sharing, TimeFractions, by_deficit, rounded_up
from .water_filling import water_filling

__all__ = ["MaxMinFairness", "class_fractions", "max_min_fairness"]


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


def class_fractions(
    throughputs: ArrayLike,
    gangs: ArrayLike,
    counts: ArrayLike,
    gpus: ArrayLike,
    *,
    weights: ArrayLike | None = None,
) -> Floats:
    """Return time fractions as of :func:`max_min_fairness` for classes of equal jobs.

    What is left over beyond the smallest ratio goes where the sum of the ratios is largest.

    Parameters
    ----------
    throughputs : (classes, models) array
        T_ig of each job of a class, 0 where it cannot run.
    gangs : (classes,) int array
        s_i.
    counts : (classes,) int array
        How many jobs each class has, at least 1.
    gpus : (models,) int array
        N_g.
    weights : (classes,) array, optional
        w_i of each job, positive; 1 if not given.

    Returns
    -------
    (classes, models) float array
        Fractions of each job. Equal jobs have equal ones, without loss: the mean of an optimum over
        equal jobs is an optimum.

    Raises
    ------
    ValueError, TypeError
        If shapes differ, a number is out of range, or no model can run some class.

    Notes
    -----
    Two linear programs with classes * models + 1 columns, by HiGHS; the second begins at the
    optimum of the first. In GPUs y_ig = n_i s_i X_ig: sum_g (c_ig / s_i) y_ig >= n_i theta.

    Examples
    --------
    The nine jobs that gain less from the fast GPU leave it to the other one.

    >>> class_fractions([[1, 1], [1, 4]], [1, 1], [9, 1], [9, 1]).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    sharing = Sharing(throughputs, gangs, gpus)
    ones = np.ones(sharing.gangs.size)
    weight = ones if weights is None else sharing.numbers("weights", weights, positive=True)
    jobs = sharing.numbers("counts", counts, positive=True)
    if not sharing.gangs.size:
        return sharing.throughputs
    equal = sharing.throughputs @ (sharing.gpus / sharing.gpus.sum())
    worth = sharing.throughputs / (weight * equal)[:, None]  # of a GPU of each model, to a job
    used = np.zeros_like(worth)
    i, g = np.nonzero(worth)
    used[i, g] = _fill_evenly(worth[i, g], (i, g), jobs, sharing)
    return _within(used / (jobs * sharing.gangs)[:, None], jobs, sharing)


def _fill_evenly(
    worth: Floats, at: tuple[Ints, Ints], jobs: Floats, sharing: Sharing
) -> NDArray[np.float64]:
    """GPUs y of each pair of a class and a model."""
    (i, g), pairs, classes = at, worth.size, jobs.size
    y = np.arange(pairs)
    rows = np.concatenate([i, classes + i, 2 * classes + g, np.arange(classes)])
    columns = np.concatenate([y, y, y, np.full(classes, pairs)])
    values = np.concatenate([worth, np.ones(2 * pairs), -jobs])
    shape = (2 * classes + sharing.gpus.size, pairs + 1)
    limits = np.concatenate([np.full(classes, np.inf), jobs * sharing.gangs, sharing.gpus])
    lowest = np.where(np.arange(shape[0]) < classes, 0.0, -np.inf)
    program = Maximum(csc_array((values, (rows, columns)), shape=shape), lowest, limits)
    theta = float(program.solve(np.append(np.zeros(pairs), 1.0))[-1])
    program.at_least(pairs, theta * (1 - 1e-9))
    found: Floats = program.solve(np.append(worth, 0.0))[:-1]
    return found


def _within(fractions: Floats, jobs: Floats, sharing: Sharing) -> Floats:
    """The same, scaled down where the solver's tolerances exceed something; no dust."""
    x = np.where(fractions > 1e-9, fractions, 0.0)
    x /= np.maximum(1.0, x.sum(axis=1, keepdims=True))
    used = (jobs * sharing.gangs) @ x
    return np.asarray(x * np.minimum(1.0, sharing.gpus / np.maximum(used, 1e-300)))


class _Memory:
    """What the policy keeps of a run on several GPU models.

    Attributes
    ----------
    kind : (jobs,) int array
        Class of each job: equal speeds, gang and weight.
    fractions : (classes, models) array
        Of the lease in hand; 0 for classes that had no jobs when it began.
    """

    def __init__(self, state: State) -> None:
        gangs, models = state.gpus, len(state.models)
        table = np.column_stack([state.speeds, gangs, state.weight.view(np.int64)])
        rows, kind = np.unique(table, axis=0, return_inverse=True)
        self.kind = kind.reshape(-1)
        self.gangs = rows[:, models].astype(np.int64)
        self.weights = np.ascontiguousarray(rows[:, models + 1]).view(np.float64)
        self.speeds = rows[:, :models] * self._fits(state)
        self.gpus = np.bincount(state.node_model, weights=state.sizes).astype(np.int64)
        self.fractions = np.zeros(self.speeds.shape)
        self.received = Received(gangs.size, models)
        self.lease, self.counts = -1, np.zeros(len(rows), dtype=np.int64)

    def _fits(self, state: State) -> NDArray[np.bool_]:
        """Which gangs find a place on the empty nodes of which models."""
        sizes = [state.sizes[state.node_model == g].tolist() for g in range(len(state.models))]
        spread = state.rules.spread
        found = {
            gang: [place(gang, own, own, spread=spread) is not None for own in sizes]
            for gang in set(self.gangs.tolist())
        }
        return np.array([found[gang] for gang in self.gangs.tolist()])

    def share(self, state: State) -> None:
        """Compute the fractions anew where a lease has begun since."""
        lease = state.now // state.rules.lease_length
        if lease == self.lease:
            return
        self.lease = lease
        jobs = np.concatenate([state.waiting, state.running])
        counts = np.bincount(self.kind[jobs], minlength=self.counts.size)
        if np.array_equal(counts, self.counts):
            return
        self.counts = counts
        there = counts > 0
        self.fractions[:] = 0.0
        self.fractions[there] = class_fractions(
            self.speeds[there], self.gangs[there], counts[there], self.gpus,
            weights=self.weights[there],
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxMinFairness:
    """Gavel's max-min fairness: leases to the jobs that are furthest behind their fair time.

    Notes
    -----
    Source: D. Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
    Workloads", OSDI 2020, Sections 4.1 and 5. Fractions are over all jobs that wait or run, by the
    jobs' weights. On one GPU model the program has a closed form (:func:`water_filling`), and
    fractions become leases as :func:`~gangsched.solvers.policies.time_fractions.by_deficit` says;
    a job that does not fit is skipped. On several models they are those of
    :func:`class_fractions`, with the jobs' true speeds, once in a lease, and leases are given as
    :func:`~gangsched.solvers.policies.model_leases.lease_out` says. In between, a new job has the
    fractions of its equals, if there are any. Guarantee: none for the schedule; the fractions are
    optimal, but gangs may not pack.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, Node, drive
    >>> jobs = [Job(id="a", gpus=2, work=120), Job(id="b", gpus=2, work=120)]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs)
    >>> drive(instance, MaxMinFairness(), lease=60, overhead=0).records.end.tolist()
    [180, 240]

    Two jobs on a K80 and a V100, of which only the second gains much from it.

    >>> cluster = Cluster([Node("n0", 1, "k80"), Node("n1", 1, "v100")])
    >>> jobs = [
    ...     Job(id=id, gpus=1, work=2400, speeds={"k80": 1, "v100": fast})
    ...     for id, fast in (("a", 1.25), ("b", 5))
    ... ]
    >>> drive(Instance(cluster, jobs), MaxMinFairness(), lease=60, overhead=0).records.end.tolist()
    [2004, 768]
    """

    name: ClassVar[str] = "max-min-fairness"
    preempts: ClassVar[Preempts] = Preempts.LEASE
    always_asked: ClassVar[bool] = True  # a faster model may be free
    _kept: list[_Memory] = field(default_factory=list, init=False, repr=False, compare=False)

    def decide(self, state: State) -> Decision:
        """Return the candidates by how far they are behind; on several models, where they run."""
        if len(state.models) > 1:
            return self._on_several(state)
        jobs = np.concatenate([state.waiting, state.running])
        target = np.zeros(state.phase.size)
        target[jobs] = water_filling(state.gpus[jobs], state.sizes.sum(), state.weight[jobs])
        return Decision(order=by_deficit(state, state.candidates, target[state.candidates]))

    def _on_several(self, state: State) -> Decision:
        if not state.running.size and not state.starts.any():
            self._kept.clear()
        if not self._kept:
            self._kept.append(_Memory(state))
        if not state.capacity:
            return Decision()
        memory, jobs = self._kept[0], state.candidates
        memory.received.look(state)
        memory.share(state)
        return lease_out(state, memory.fractions[memory.kind[jobs]], memory.received.seconds[jobs])

    def next_change(self, state: State) -> int | None:
        """Return the next lease on several models, where fractions are anew; else none is known.

        Deficits move all the time, but no job that waits has room before something ends.
        """
        length = state.rules.lease_length
        return (state.now // length + 1) * length if len(state.models) > 1 else None
