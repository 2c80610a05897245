"""Bounds of UniSched's rewards by prices of GPU leases, with certificates.

==========================  =================================================  ==================
bound                       prices                                             cost
==========================  =================================================  ==================
:func:`one_price_bound`     one, of all GPUs and leases                        O(options)
:func:`lease_price_bound`   the duals of the compact form's linear program     up to seconds
==========================  =================================================  ==================

What prices prove is in :mod:`gangsched.verify.unisched`.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...formulations.unisched.problem import UniSched
from ...solvers.result import Bound
from ...solvers.unisched.prices import LeaseCase, floor_to_step, least_of_convex
from ...solvers.unisched.selector import Selector

#: a price is a multiple of 1 / SCALE
SCALE = 2**20


def one_price_bound(problem: UniSched) -> Bound:
    """Return what one price of all GPUs and leases proves, the best one.

    Examples
    --------
    Two gangs of 2 GPUs and one lease on 2 GPUs, the second job a lease later.

    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id=i, gpus=2, work=600, release=r, rewards=[(600, 100)])
    ...         for i, r in (("a", 0), ("b", 0), ("c", 600))]
    >>> one_price_bound(UniSched(Instance(Cluster.of_sizes([2]), jobs))).value
    200
    """
    if not any(job.release for job in problem.jobs):
        return LeaseCase.of(problem).one_price_bound()
    options = problem.options()
    slots = max((problem.first_slot(o.job) + o.within for o in options), default=0)
    sizes = problem.instance.cluster.sizes
    first = sum(sizes if problem.free is None else problem.free)
    room = (first + (slots - 1) * sum(sizes)) if slots else 0
    job = np.array([o.job for o in options], dtype=np.int64)
    value = np.array([o.value for o in options])
    leases = np.array([sum(o.allocation.pieces) * o.needed for o in options], dtype=np.int64)

    def proven(price: float) -> float:
        best = np.zeros(len(problem.jobs))
        np.maximum.at(best, job, value - price * leases)
        return price * room + float(best.sum())

    price = round(least_of_convex(proven, float((value / leases).max(initial=0.0))) * SCALE)
    gains: dict[int, Fraction] = {}
    for option, held in zip(options, leases.tolist(), strict=True):
        gain = Fraction(option.value) * SCALE - price * held
        gains[option.job] = max(gain, gains.get(option.job, Fraction(0)))
    total = (price * room + sum(gains.values(), Fraction(0))) / SCALE
    worth = float(floor_to_step(total, value))
    certificate = {"kind": "lease prices", "prices": [[price] * slots], "scale": SCALE}
    return Bound(int(worth) if worth == int(worth) else worth, "lp dual", certificate)


def lease_price_bound(problem: UniSched, *, time_limit: float | None = None) -> Bound:
    """Return what the prices of the compact form's linear program prove.

    Examples
    --------
    Two leases, of which the second one has room for what the first has not.

    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id=i, gpus=2, work=600, rewards=[(600, 100), (1200, 10)]) for i in "ab"]
    >>> problem = UniSched(Instance(Cluster.of_sizes([2]), jobs))
    >>> one_price_bound(problem).value, lease_price_bound(problem).value
    (200, 110)
    """
    if any(job.release for job in problem.jobs):
        return one_price_bound(problem)
    case = LeaseCase.of(problem)
    selection = Selector().select(case.options, case.room, time_limit=time_limit)
    return case.bound(selection.prices)
