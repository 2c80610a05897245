"""Max-min fairness on several GPU models, as Gavel's linear program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from ....instances import Cluster, User
from ...growing import longer
from ...highs import Maximum
from ...placement import place
from ...policy import Decision, Floats, Ints, Preempts, Rule, Rules, State
from .deficit import MAX_MIN, by_deficits
from .model_leases import Received, lease_out
from .shares import SHARES
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
    return _within(used / (jobs * sharing.gangs)[:, None], jobs, sharing)


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


def _within(fractions: Floats, jobs: Floats, sharing: Sharing) -> Floats:
    """The same, scaled down where the solver's tolerances exceed something; no dust."""
    x = np.where(fractions > 1e-9, fractions, 0.0)
    x /= np.maximum(1.0, x.sum(axis=1, keepdims=True))
    used = (jobs * sharing.gangs) @ x
    return np.asarray(x * np.minimum(1.0, sharing.gpus / np.maximum(used, 1e-300)))


Class = tuple[int, ...]  # speeds on the models, gang, and weight as the bits of a float


class MaxMinOnModels:
    """A session on several GPU models.

    Attributes
    ----------
    kind : (jobs,) int array
        Number of the class of each job: equal speeds, gang and weight; classes as they came.
    fractions : (classes, models) array
        Of the lease in hand; 0 for classes that had no jobs when it began.
    """

    always_asked = True  # a faster model may be free
    rule = SHARES

    def __init__(self, cluster: Cluster, rules: Rules) -> None:
        names = list(dict.fromkeys(node.model for node in cluster.nodes))
        self.sizes = [[n.gpus for n in cluster.nodes if n.model == name] for name in names]
        self.gpus = np.array([sum(own) for own in self.sizes], dtype=np.int64)
        self.spread = rules.spread
        self.known: dict[Class, int] = {}
        self.able: dict[Class, list[int]] = {}  # speeds where their gangs fit
        self.classes: list[Class] = []
        self.kind = np.zeros(0, dtype=np.int64)
        self.count = 0  # of jobs that have a class
        self.lease, self.counts = -1, np.zeros(0, dtype=np.int64)
        self.fractions = np.zeros((0, len(names)))
        self.received = Received(len(names))

    def decide(self, state: State) -> Decision:
        """Return where the candidates that are furthest behind run."""
        self._classify(state)
        if not state.capacity:
            return Decision()
        jobs = state.candidates
        self.received.look(state)
        self._share(state)
        kinds = self.kind[jobs]
        return lease_out(state, self.fractions[kinds], self.received.seconds[jobs])

    def next_change(self, state: State) -> int:
        """Return the next lease, where fractions are anew."""
        length = state.rules.lease_length
        return (state.now // length + 1) * length

    def save(self) -> dict[str, Any]:
        """Return the fractions of the lease in hand, and what jobs have had; plain data."""
        return {
            "lease": self.lease,
            "counts": self.counts,
            "fractions": self.fractions,
            "received": self.received.save(),
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there; classes are those of the jobs that came."""
        self.lease, self.counts = data["lease"], np.array(data["counts"])
        self.fractions = np.array(data["fractions"])
        self.received.load(data["received"])

    def _classify(self, state: State) -> None:
        """Give jobs that have come since the last time their classes."""
        new = state.arrived[self.count :]
        if not new.size:
            return
        self.count += new.size
        self.kind = longer(self.kind, int(new.max()) + 1)
        columns = [state.speeds[new], state.gpus[new], state.weight[new].view(np.int64)]
        for j, row in zip(new.tolist(), np.column_stack(columns).tolist(), strict=True):
            one = tuple(row)
            if one not in self.known:
                self.known[one] = len(self.classes)
                self.classes.append(one)
            self.kind[j] = self.known[one]
        if (more := len(self.classes) - len(self.counts)) > 0:  # none right after a load
            self.counts = np.pad(self.counts, (0, more))
            self.fractions = np.pad(self.fractions, ((0, more), (0, 0)))

    def _speeds(self, one: Class) -> list[int]:
        """Speeds of a class, 0 where its gang finds no place on the empty nodes of a model."""
        if one not in self.able:
            gang, spread = one[-2], self.spread
            self.able[one] = [
                speed if place(gang, own, own, spread=spread) is not None else 0
                for speed, own in zip(one[:-2], self.sizes, strict=True)
            ]
        return self.able[one]

    def _share(self, state: State) -> None:
        """Compute the fractions anew where a lease has begun since."""
        lease = state.now // state.rules.lease_length
        if lease == self.lease:
            return
        self.lease = lease
        jobs = np.concatenate([state.waiting, state.running])
        counts = np.bincount(self.kind[jobs], minlength=len(self.classes))
        if np.array_equal(counts, self.counts):
            return
        self.counts = counts
        there = sorted(np.flatnonzero(counts).tolist(), key=self.classes.__getitem__)
        self.fractions[:] = 0.0
        self.fractions[there] = self.fair_fractions(
            np.array([self.classes[k] for k in there]), counts[there]
        )

    def fair_fractions(self, classes: Ints, counts: Ints) -> Floats:
        """Return fair time fractions of classes with so many jobs each.

        Parameters
        ----------
        classes : (classes, models + 2) int array
            Rising, as tuples.
        counts : (classes,) int array
        """
        speeds = [self._speeds(one) for one in map(tuple, classes.tolist())]
        weights = np.ascontiguousarray(classes[:, -1]).view(np.float64)
        return class_fractions(speeds, classes[:, -2], counts, self.gpus, weights=weights)


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
        return by_deficits(MAX_MIN)

    def decide(self, state: State) -> Decision:
        """Return the candidates by how far they are behind, on one GPU model."""
        jobs = np.concatenate([state.waiting, state.running])
        target = np.zeros(state.phase.size)
        target[jobs] = water_filling(state.gpus[jobs], state.sizes.sum(), state.weight[jobs])
        return Decision(order=by_deficit(state, state.candidates, target[state.candidates]))

    def next_change(self, state: State) -> None:
        """Deficits move all the time, but no job that waits has room before something ends."""
