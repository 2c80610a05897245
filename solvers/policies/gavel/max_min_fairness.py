"""Max-min fairness on several GPU models, as Gavel's linear program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from ....instances import Cluster, User
from ...highs import Maximum
from ...policy import Decision, Floats, Ints, Preempts, Rule, Rules, State
from .deficit import BY_DEFICITS
from .fraction_programs import within
from .job_fractions import JobFractions
from .time_fractions import Sharing, by_deficit
from .water_filling import water_filling


def class_fractions(
    throughputs: ArrayLike,
    gangs: ArrayLike,
    counts: ArrayLike,
    gpus: ArrayLike,
    *,
    weights: ArrayLike | None = None,
) -> Floats:
    """Return time fractions that serve the worst-off job best, for classes of equal jobs.

    ::

        max_X  min_i  (s_i / w_i) throughput(i, X) / throughput(i, X_equal)

    where throughput(i, X) = sum_g T_ig X_ig and X_equal gives a job each model in proportion to its
    GPUs, X_equal_ig = N_g / sum N. So a job's progress is measured in what it would be worth to
    wander over the whole cluster, and a gang of s GPUs is as well off with 1/s of the time. What is
    left over beyond the smallest ratio goes where the sum of the ratios is largest.

    Notes
    -----
    Source: Narayanan et al., OSDI 2020, Section 4.1. Our choices: models on which a gang does not
    fit count as throughput 0 (also in X_equal). Two linear programs with classes * models + 1
    columns, by HiGHS; the second begins at the optimum of the first. In GPUs y_ig = n_i s_i X_ig:
    sum_g (c_ig / s_i) y_ig >= n_i theta.

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
    fractions = used / (jobs * sharing.gangs)[:, None]
    dusted = np.where(fractions > 1e-9, fractions, 0.0)
    return within(dusted, jobs * sharing.gangs, sharing.gpus)


def _fill_evenly(
    worth: Floats, at: tuple[Ints, Ints], jobs: Floats, sharing: Sharing
) -> NDArray[np.float64]:
    """GPUs y of each pair of a class and a model."""
    (i, g), pairs, classes = at, worth.size, jobs.size
    shape = (2 * classes + sharing.gpus.size, pairs + 1)
    rows = np.concatenate(
        [np.stack([i, classes + i, 2 * classes + g], axis=1).ravel(), range(classes)]
    )
    ones = np.ones(pairs)
    values = np.concatenate([np.stack([worth, ones, ones], axis=1).ravel(), -jobs])
    begins = np.append(3 * np.arange(pairs + 1), 3 * pairs + classes)
    limits = np.concatenate([np.full(classes, np.inf), jobs * sharing.gangs, sharing.gpus])
    lowest = np.where(np.arange(shape[0]) < classes, 0.0, -np.inf)
    program = Maximum(csc_array((values, rows, begins), shape=shape), lowest, limits)
    theta = float(program.solve(np.append(np.zeros(pairs), 1.0))[-1])
    program.at_least(pairs, theta * (1 - 1e-9))
    found: Floats = program.solve(np.append(worth, 0.0))[:-1]
    return found


Class = tuple[int, ...]  # speeds on the models, gang, and weight as the bits of a float


class MaxMinOnModels(JobFractions):
    """A session on several GPU models: jobs of equal speeds, gang and weight have equal fractions.

    Attributes
    ----------
    by_class : dict of tuple to array
        Fractions of the lease in hand, of classes that had jobs when it began.
    """

    rule: ClassVar[None] = None  # that of the policy is for one model

    def __init__(self, cluster: Cluster, rules: Rules) -> None:
        super().__init__(cluster, rules)
        self.by_class: dict[Class, Floats] = {}

    def _classes(self, state: State, jobs: Ints) -> Ints:
        weights = state.weight[jobs].view(np.int64)
        return np.column_stack([state.speeds[jobs], state.gpus[jobs], weights])

    def begin_lease(self, state: State) -> None:
        """Give the classes of the jobs that are there their fractions."""
        jobs = np.concatenate([state.waiting, state.running])
        classes, counts = np.unique(self._classes(state, jobs), axis=0, return_counts=True)
        own = self.fair_fractions(classes, counts)
        self.by_class = dict(zip(map(tuple, classes.tolist()), own, strict=True))

    def known_fractions(self, state: State, jobs: Ints) -> Floats:
        """Return the fractions of the jobs' classes; none of those that had no jobs."""
        none = np.zeros(self.gpus.size)
        rows = map(tuple, self._classes(state, jobs).tolist())
        found = [self.by_class.get(row, none) for row in rows]
        return np.array(found).reshape(jobs.size, self.gpus.size)

    def save(self) -> dict[str, Any]:
        """Return the fractions of the lease in hand, and what jobs have had; plain data."""
        return {
            "lease": self.lease,
            "classes": [list(row) for row in self.by_class],
            "own": [fractions.tolist() for fractions in self.by_class.values()],
            "received": self.received.save(),
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.lease = data["lease"]
        own = map(np.array, data["own"])
        self.by_class = dict(zip(map(tuple, data["classes"]), own, strict=True))
        self.received.load(data["received"])

    def fair_fractions(self, classes: Ints, counts: Ints) -> Floats:
        """Return fair time fractions of classes with so many jobs each.

        Parameters
        ----------
        classes : (classes, models + 2) int array
            Rising, as tuples.
        counts : (classes,) int array
        """
        weights = np.ascontiguousarray(classes[:, -1]).view(np.float64)
        speeds = self.speeds_of(classes)
        return class_fractions(speeds, classes[:, -2], counts, self.gpus, weights=weights)

    def speeds_of(self, classes: Ints) -> Ints:
        """Speeds of classes, 0 where their gangs find no place on the empty nodes of a model."""
        return np.where(self.fits(classes[:, -2]), classes[:, :-2], 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxMinFairness:
    """Gavel's max-min fairness: leases to the jobs that are furthest behind their fair time.

    Notes
    -----
    Source: D. Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
    Workloads", OSDI 2020, Sections 4.1 and 5. Fractions are over all jobs that wait or run, by the
    jobs' weights. On one GPU model the program has a closed form (:func:`water_filling`), and
    fractions become leases as :func:`~.time_fractions.by_deficit` says;
    a job that does not fit is skipped. On several models they are those of
    :func:`class_fractions`, with the jobs' true speeds, once in a lease, and leases are given as
    :func:`~.model_leases.lease_out` says. In between, a new job has the
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
    always_asked: ClassVar[bool] = True

    def begin(
        self, cluster: Cluster, users: Sequence[User], rules: Rules
    ) -> MaxMinFairness | MaxMinOnModels:
        """Begin a session; on one GPU model nothing is remembered.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
            Not used.
        rules : Rules
        """
        several = len({node.model for node in cluster.nodes}) > 1
        return MaxMinOnModels(cluster, rules) if several else self

    @property
    def rule(self) -> Rule:
        """The compiled rule, on one GPU model."""
        return BY_DEFICITS

    def decide(self, state: State) -> Decision:
        """Return the candidates by how far they are behind, on one GPU model."""
        jobs = np.concatenate([state.waiting, state.running])
        target = np.zeros(state.phase.size)
        target[jobs] = water_filling(state.gpus[jobs], state.sizes.sum(), state.weight[jobs])
        return Decision(order=by_deficit(state, state.candidates, target[state.candidates]))

    def next_change(self, state: State) -> None:
        """Deficits move all the time, but no job that waits has room before something ends."""
