"""Finish-time fairness on several GPU models, as Gavel's convex program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ....instances import Cluster, User
from ....instances.arrays import Floats
from ...policy import Decision, Information, Preempts, Rule, Rules, State
from .deficit import FINISH_TIME, by_deficits
from .finish_time_models import FinishTimeOnModels
from .time_fractions import Sharing, TimeFractions, by_deficit
from .water_filling import best_finish_time

#: steps of Newton's method at most; it needs a few
STEPS = 60
#: it ends when objective and bound are this close
CLOSE = 1e-9


def isolated_fractions(gangs: ArrayLike, gpus: ArrayLike) -> Floats:
    """Return X_isolated: the time fractions of each of n jobs on its own n-th of the cluster.

    Its N_g / n GPUs of each model are worth a fraction N_g / (n s_i) of the time to a gang of s_i;
    where those add up to more than 1 all are scaled down to 1.

    Examples
    --------
    >>> isolated_fractions([1, 2], [2, 1]).tolist()
    [[0.6666666666666666, 0.3333333333333333], [0.5, 0.25]]
    """
    gang = np.asarray(gangs)[:, None]
    share = np.asarray(gpus)[None, :] / (max(len(gang), 1) * gang)
    return np.asarray(share / np.maximum(1.0, share.sum(axis=1, keepdims=True)))


def finish_time_fairness(
    throughputs: ArrayLike,
    gangs: ArrayLike,
    gpus: ArrayLike,
    *,
    remaining: ArrayLike,
    elapsed: ArrayLike | None = None,
    isolated: ArrayLike | None = None,
) -> TimeFractions:
    """Return time fractions that make the worst finish time, against isolation, the best.

    ::

        min_X  max_i  rho_i = (t_i + R_i / throughput(i, X)) / (t'_i + R_i / throughput(i, X'))

    with R_i the steps that remain, t_i the time since the job came, t'_i the time that it would
    have taken so far in isolation, and X' the :func:`isolated_fractions`.
    Optimal up to `CLOSE`: `bound` is not above any X, from duals in outward rounding.

    Notes
    -----
    Source: Narayanan et al., OSDI 2020, Section 4.2, which calls the program quasi-convex and
    solves it as a sequence of them. It is convex: rho_i <= r says throughput(i, X) >= a_i(r) =
    R_i / (r D_i - t_i), D_i the denominator, and a_i is convex in r. For a fixed r, how far X
    exceeds the need is a linear program (max theta, throughput(i, X) >= theta a_i(r)). Its duals y
    bound every r: sum_i y_i a_i(r) <= max_X sum_i y_i throughput(i, X) = B(y). Newton's method
    goes to the root of that with equality, which rises towards the optimum with every step and
    ends after finitely many, as each vertex of the dual is met once.

    Our choices: the gang in X' and models on which it does not fit (throughput 0, also in X').

    Examples
    --------
    Two new jobs on one GPU each of two models: both get the model that they are good at, and end in
    4 / 5 of the time that a half of both would take.

    >>> found = finish_time_fairness([[4, 1], [1, 4]], [1, 1], [1, 1], remaining=[10, 10])
    >>> found.fractions.round(6).tolist(), round(found.objective, 6)
    ([[1.0, 0.0], [0.0, 1.0]], 0.625)
    """
    sharing = Sharing(throughputs, gangs, gpus)
    left = sharing.numbers("remaining", remaining, positive=True)
    zeros = np.zeros_like(left)
    since = zeros if elapsed is None else sharing.numbers("elapsed", elapsed)
    alone = zeros if isolated is None else sharing.numbers("isolated", isolated)
    if not sharing.gangs.size:
        return TimeFractions(fractions=sharing.throughputs, objective=0.0, bound=0.0)
    isolation = left / sharing.rates(isolated_fractions(sharing.gangs, sharing.gpus))
    return _newton(sharing, left, since, alone + isolation)


def _newton(sharing: Sharing, left: Floats, since: Floats, denominator: Floats) -> TimeFractions:
    """Improve bound and fractions until they meet."""
    per = sharing.throughputs
    quickest = left / per.max(axis=1)
    bound = math.nextafter(float(((since + quickest) / denominator).max()), 0.0)
    objective, fractions = math.inf, per
    for _ in range(STEPS):
        need = left / np.maximum(bound * denominator - since, quickest)
        x, y, prices = sharing.fairest(per, need)
        found = float(((since + left / sharing.rates(x)) / denominator).max())
        if found < objective:
            objective, fractions = found, x
        root = _root(y, left, since, denominator, sharing.most(per, y, prices))
        if root <= bound or objective - root <= CLOSE * root:
            bound = max(bound, root)
            break
        bound = root
    return TimeFractions(fractions=fractions, objective=objective, bound=bound)


def _root(y: Floats, left: Floats, since: Floats, denominator: Floats, most: Fraction) -> float:
    """Return an r with sum_i y_i a_i(r) > B, as near to the root as floats allow; at best 0."""
    used = y > 0
    terms = [(y * left)[used], denominator[used], since[used]]
    low = float((terms[2] / terms[1]).max(initial=0.0))
    high = low + float(terms[0].sum() / terms[1].min()) / max(float(most), 1e-300)
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if (terms[0] / (terms[1] * middle - terms[2])).sum() > most:
            low = middle
        else:
            high = middle
    for step in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        r = low * (1 - step)
        if _exceeds(r, y[used], left[used], since[used], denominator[used], most):
            return r
    return 0.0


def _exceeds(
    r: float, y: Floats, left: Floats, since: Floats, denominator: Floats, most: Fraction
) -> bool:
    """Whether sum_i y_i a_i(r) > B for certain: each term exact, then rounded down."""
    at, total = Fraction(r), []
    for row in zip(y.tolist(), left.tolist(), since.tolist(), denominator.tolist(), strict=True):
        weight, steps, came, whole = map(Fraction, row)
        room = at * whole - came
        if room <= 0:
            return True  # rho_i <= r is impossible
        total.append(math.nextafter(float(weight * steps / room), 0.0))
    return math.nextafter(math.fsum(total), 0.0) > most


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
    information: ClassVar[Information] = "told"

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

    @property
    def rule(self) -> Rule:
        """The compiled rule, on one GPU model."""
        return by_deficits(FINISH_TIME)

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
