r"""Lower bounds of completion times by prices of several GPU models, for every policy.

There are N_g GPUs of model g, on which job j does s_jg seconds of its work W_j in a second.

Theorem. Let pi_g(t) >= 0 be any price of a second on a GPU of model g. With kappa_j(C) the least of
the integral of sum_g pi_g x_g over rates x_g(t) >= 0, on [r_j, C), of which sum_g x_g(t) <= 1, and
by which the work is done, the integral of sum_g s_jg x_g is W_j, every preemptive schedule has

    sum_j f_j(C_j)  >=  sum_j min over C of (f_j(C) + D_j kappa_j(C))  -  sum_g N_g (int of pi_g).

    Proof. It is that of :mod:`gangsched.analysis.proofs.prices`: what j holds is worth D_j kappa_j
    (C_j) or more, as a gang runs on one model at a time; all jobs together hold at most N_g GPUs of
    each model at any moment. Work that is lost, or done twice, only costs more.

C >= r_j + p_j as ends are integers, p_j = ceil(W_j / max_g s_jg). A job has whole seconds n_g on
each model, so W_j may be replaced by the least sum_g s_jg n_g >= W_j, which is done here where
there are few n. Between two edges prices are
constant, and speed can be bought there along the lower hull of (0, 0) and the points (s_jg, pi_g):
some work in each second at the slope of its first edge, more at that of the second, and so on. So
the cheapest work of [r_j, C) is a heap of such pieces, of which the dearest make room for cheaper
ones as C grows. D_j kappa_j is convex in C within an interval.

The certificate
---------------
Breakpoints of kappa_j are fractions. For any worth a >= 0 of a second of work, by weak duality,

    D_j kappa_j(C)  >=  a W_j - integral over [r_j, C] of max_g (a s_jg - D_j pi_g)^+,

    Proof. D_j pi_g >= a s_jg - m(t) with m the maximum; as sum_g x_g <= 1 the integral of
    sum_g D_j pi_g x_g is at least a W_j less that of m.

The right side is linear in C between two edges, where it is computed in integers, gains rounded up.
With the best a of each interval nothing is lost: there f_j + D_j kappa_j is convex in C and concave
in a. The certificate has some a for each job, found as follows: of the interval in which least is
proven, that a is taken which makes the sum constant in C, or else what the dearest work costs at an
end of it, until no interval is below what floats say. What a verifier proves with other a is a
bound as well.

Prices
------
The first prices are c_g P(t), with the c_g and the schedule of
:mod:`gangsched.solvers.ours.model_order`: P is made of its waiting times as with one model, density
being weight over cost. The climb is the same too, with an interval of each model for an interval.
Where nobody waits in that schedule, steps are parts of the price at which a usual job would wait.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Floats, Ints, by_both
from ...instances.model import FULL_SPEED
from ...solvers.ours.model_order import (
    ModelRun,
    costs_of_work,
    gpus_of_models,
    positive,
    prices_of,
    run_models,
)
from ...solvers.result import Bound
from .model_price_core import Lists, PricedJobs, certify, evaluate_models
from .prices import (
    FACTORS,
    Climb,
    Progress,
    around,
    best_multiple,
    columns_of,
    cut_in_two,
    edges_between,
    exact_scale,
    price_bounded,
    waiting_prices,
)

METHOD = "GPU model prices"
WAYS = 1_000  #: to divide a job's seconds among models but the slowest, at most


def model_price_bound(
    problem: CompletionTime,
    *,
    intervals: int = 1_500,
    rounds: int = 150,
    halvings: int = 0,
    time_limit: float | None = None,
    on_progress: Progress | None = None,
) -> Bound:
    """Return the weighted completion, flow or slowdown that prices of GPU models prove.

    Parameters
    ----------
    problem : CompletionTime
        With any measure but the makespan.
    intervals, rounds, halvings, time_limit, on_progress
        As of :func:`~gangsched.analysis.proofs.prices.price_bound`; so many intervals of each
        model.

    Returns
    -------
    Bound
        Certificate ``{"kind": "GPU model prices", "times": [t_0 .. t_K], "prices": [[q_1 .. q_K],
        ..], "scale": S, "rates": [[a, ..], ..]}``: a second on a GPU of a model, in the order of
        the models' first nodes, costs q_k / S in [t_(k-1), t_k), outside nothing; a second of work
        of a job, by number, is worth a / S.

    Raises
    ------
    ValueError
        For a makespan.

    Notes
    -----
    O(jobs x intervals in which one waits x models) a step, compiled. Theorem, climb and certificate
    are those of :mod:`gangsched.analysis.proofs.model_prices`.

    Examples
    --------
    A new GPU, twice as fast as the old one, and two jobs of four seconds: one ends at 2; the other
    has done two seconds of its work on the old GPU then, and ends at 3.

    >>> from gangsched.instances import Cluster, Instance, Job, Node
    >>> cluster = Cluster([Node("n", 1, "new"), Node("o", 1, "old")])
    >>> jobs = [Job(id=i, gpus=1, work=4, speeds={"new": 2.0, "old": 1.0}) for i in "ab"]
    >>> model_price_bound(CompletionTime(Instance(cluster, jobs))).value
    5
    """
    if problem.measure == "makespan":
        raise ValueError("model_price_bound: measure='makespan' has no weights")
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    if not problem.jobs:
        nothing = _certificate([0, 1], [[0]] * len(problem.models), 1, [])
        return price_bounded(problem, METHOD, nothing, Fraction(0))
    since = min(job.release for job in problem.jobs)
    climb = Climb(end, rounds, on_progress)
    dual, prices = climbed_models(problem, since, intervals, halvings, climb)
    return _exact_bound(problem, dual, prices, since)


def climbed_models(
    problem: CompletionTime, since: int, intervals: int, halvings: int, climb: Climb
) -> tuple[ModelDual, Floats]:
    """The bound as a function of so many prices, and the best ones that a climb finds."""
    costs = positive(prices_of(problem))
    run = run_models(problem, costs)
    edges = edges_between(problem, run.ends - since, since, intervals)
    dual = ModelDual.of(problem, edges, since)
    usual = _usual_prices(dual, costs, run, since)
    first = best_multiple(dual, costs[:, None] * usual, (0.0, *FACTORS))
    wait = 0.0 if usual.any() else float(np.median(dual.weight / dual.gang) / costs.mean())
    return climb.halving(dual, first, costs[:, None] * around(usual, wait), halvings)


# --- the bound as a function of the prices --------------------------------------------------------


@dataclass(frozen=True)
class ModelDual:
    """The theorem's bound of the flow in floats, with its supergradient."""

    gpus: Ints
    release: Ints
    need: Ints
    work: Ints
    more: Ints  #: millionths of work beyond that, as jobs run for whole seconds
    weight: Floats
    gang: Ints
    speeds: Ints  #: of each job, in millionths
    edges: Ints

    @classmethod
    def of(cls, problem: CompletionTime, edges: Ints, since: int) -> ModelDual:
        """The bound of a problem whose times count from `since`."""
        release, need, gang = columns_of(problem, since)
        work = np.array([job.work for job in problem.jobs], dtype=np.int64)
        more = _in_whole_seconds(work, problem.speeds) - FULL_SPEED * work
        gpus, weight = gpus_of_models(problem), problem.rates()
        return cls(gpus, release, need, work, more, weight, gang, problem.speeds, edges)

    @property
    def lengths(self) -> Floats:
        """Seconds of each interval."""
        return np.diff(self.edges).astype(np.float64)

    @property
    def room(self) -> Floats:
        """GPU seconds of each model and interval."""
        return self.gpus[:, None] * self.lengths

    @cached_property
    def lists(self) -> Lists:
        """The prices of all intervals, for jobs of the same speeds."""
        speeds, row = np.unique(self.speeds, axis=0, return_inverse=True)
        order = by_both(row.ravel(), self.release)
        ptr = np.append(0, np.cumsum(np.bincount(row.ravel(), minlength=len(speeds))))
        none = np.zeros(len(speeds), dtype=np.int64)
        return Lists(order, ptr, none, none, none + self.edges.size - 1, speeds)

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return the bound, and its change with each price."""
        costs, bought = self.answers(self.lists, self.gang, prices)
        room = self.room
        return float(np.cumsum(costs)[-1] - (room * prices).sum()), bought - room

    def costs(self, prices: Floats) -> Floats:
        """Return the least cost of each job."""
        return self.answers(self.lists, self.gang, prices)[0]

    def answers(self, lists: Lists, gang: Ints, prices: Floats) -> tuple[Floats, Floats]:
        """Return the least cost of each job, and the seconds that jobs buy at each price.

        A second of a job costs `gang` times the price of its list.
        """
        columns = self.work.astype(np.float64), self.more, self.weight, gang.astype(np.float64)
        return evaluate_models(
            PricedJobs(self.release, self.need, *columns), lists, self.edges, prices
        )

    def certified(
        self, lists: Lists, gang: Ints, weights: Ints, prices: Ints, scale: float
    ) -> tuple[Ints, list[list[int]]]:
        """Return the least costs in integers, and the values of work that prove them."""
        jobs = PricedJobs(self.release, self.need, self.work, self.more, weights, gang)
        return certify(jobs, lists, self.edges, prices, scale)

    def halved(self) -> tuple[ModelDual, Ints]:
        """The same with each interval cut in two, and in which one each lies now."""
        edges, at = cut_in_two(self.edges)
        return replace(self, edges=edges), at


def _in_whole_seconds(work: Ints, speeds: Ints) -> Ints:
    """The least millionths of work that whole seconds on each model do, and that are enough."""
    columns = np.column_stack([work, speeds])
    kinds, kind = np.unique(columns, axis=0, return_inverse=True)
    least = [_least_done(FULL_SPEED * w, sorted({*own} - {0})) for w, *own in kinds.tolist()]
    return np.array(least, dtype=np.int64)[kind.ravel()]


def _least_done(work: int, speeds: list[int]) -> int:
    """That of one job; its work where there are too many ways."""
    slowest, *others = speeds
    if math.prod(-(-work // speed) + 1 for speed in others) > WAYS:
        return work
    if not others:
        return -(-work // slowest) * slowest
    fastest, rest = others[-1], [slowest, *others[:-1]]
    last = -(-work // fastest)
    least = min(n * fastest + _least_done(work - n * fastest, rest) for n in range(last))
    return min(least, last * fastest)


def _usual_prices(dual: ModelDual, costs: Floats, run: ModelRun, since: int) -> Floats:
    """Mean prices P of the intervals by the schedule, of which each model has a part."""
    least = costs_of_work(costs, dual.speeds).min(axis=1) * FULL_SPEED
    density = dual.weight / (dual.work * dual.gang * least)
    pieces = run.job, run.start - since, run.end - since
    return waiting_prices(pieces, dual.release, density, dual.edges)


# --- in integers ----------------------------------------------------------------------------------


def _exact_bound(problem: CompletionTime, dual: ModelDual, prices: Floats, since: int) -> Bound:
    """The bound of the prices in parts, of which those of every job fit 64 bits."""
    scale = exact_scale(dual, float(dual.weight.max()), prices)
    parts = np.array([[round(Fraction(price) * scale) for price in row] for row in prices.tolist()])
    over = zip(problem.weights, problem.divisors(), strict=True)
    weights = [w * scale // (problem.scale * d) for w, d in over]
    costs, rates = dual.certified(dual.lists, dual.gang, np.array(weights), parts, float(scale))
    lengths = np.diff(dual.edges).tolist()
    room = sum(
        count * sum(q * t for q, t in zip(row, lengths, strict=True))
        for count, row in zip(dual.gpus.tolist(), parts.tolist(), strict=True)
    )
    total, k = sum(costs.tolist()) - room, scale.denominator
    proof = _certificate(
        (dual.edges + since).tolist(),
        [[q * k for q in row] for row in parts.tolist()],
        scale.numerator,
        [[a * k for a in own] for own in rates],
    )
    return price_bounded(problem, METHOD, proof, Fraction(total) / scale)


def _certificate(
    times: list[int], prices: list[list[int]], scale: int, rates: list[list[int]]
) -> dict[str, object]:
    return {"kind": METHOD, "times": times, "prices": prices, "scale": scale, "rates": rates}
