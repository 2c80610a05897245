"""Prices of Astraea, eq. (8) of Wang et al., what they are made of, and the run's parameters.

Deviations from the paper stand in :mod:`~gangsched.solvers.irmp.astraea`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...formulations.irmp.problem import Irmp
from ...instances.arrays import Floats
from ...instances.check import check_real, flag, real, set_field
from .response import PS, WORKERS, run_options

RULES = ("total", "slot")
#: with these, no interval ends after slot 2**62, whatever the releases
MOST_ROUNDS, MOST_INTERVALS = 2**20, 40
#: theta - 1 is at least this or 0: what is less has lost too many digits to the 1
LEAST_RISE = 1e-10
#: the unit of money is found, not given
ASSUMPTION = "assumption"
#: no unit that is found is larger
LARGEST_SCALE = 1e100


@dataclass(frozen=True, slots=True, kw_only=True)
class AstraeaParams:
    """Parameters of Astraea.

    Parameters
    ----------
    lam : int
        lambda, rounds of an interval, 1 to 2**20.
    theta : {"total", "slot"} or float
        theta of (8): from the largest f / (use over the whole run), as printed, or f / (use of one
        slot); or the number itself, at least 1, for workers and PSs.
    scale : "assumption" or float
        The unit of money: theta is that of utilities multiplied by it, positive. By default the
        one that :func:`assumed_scale` finds, or 1 where `theta` is a number, which has its unit;
        1 is the paper's algorithm to the letter.
    estimate : float
        What theta - 1, the highest price, is taken for, over what it is by the rule (Fig. 11);
        positive.
    order : {"user", "index"}
        Jobs by (release, user, number) or (release, number).
    reject_negative : bool
        Only runs with a true utility above 0.
    literal : bool
        Algorithms 4 and 5 as printed: W8, W9, W10.
    cap : int
        Intervals at most (as long as jobs arrive, more), 1 to 40.
    """

    lam: int = 1
    theta: str | float = "total"
    scale: str | float = ASSUMPTION
    estimate: float = 1.0
    order: Literal["user", "index"] = "user"
    reject_negative: bool = False
    literal: bool = False
    cap: int = 14

    @property
    def unit(self) -> float:
        """The unit of money, where it is given or has been found."""
        if isinstance(self.scale, str):
            raise ValueError(f"AstraeaParams: scale={self.scale!r} is that of a problem: in_unit")
        return self.scale

    @property
    def prices(self) -> tuple[str | float, float, float]:
        """What :func:`thetas` takes: theta, unit and estimate."""
        return self.theta, self.unit, self.estimate

    def __post_init__(self) -> None:
        owner = "AstraeaParams"
        for name, most in (("lam", MOST_ROUNDS), ("cap", MOST_INTERVALS)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise TypeError(f"{owner}: {name}={value!r} is not an integer")
            if not 1 <= int(value) <= most:
                raise ValueError(f"{owner}: {name}={value} is not within 1 to {most}")
            set_field(self, name, int(value))
        if isinstance(self.theta, str):
            if self.theta not in RULES:
                raise ValueError(f"{owner}: theta={self.theta!r} is not total or slot")
        else:
            set_field(self, "theta", _theta(owner, self.theta))
        for name in ("scale", "estimate") if self.scale != ASSUMPTION else ("estimate",):
            real(self, owner, name, positive=True)
        if self.order not in ("user", "index"):
            raise ValueError(f"{owner}: order={self.order!r} is not user or index")
        for name in ("reject_negative", "literal"):
            flag(self, owner, name)


def _theta(owner: str, value: Any) -> float:
    theta = check_real(owner, "theta", value)
    if theta < 1:
        raise ValueError(f"{owner}: theta={value} is below 1")
    return theta


def assumed_scale(problem: Irmp) -> float:
    """Return the unit of money in which the assumption of (8) holds, at least 1.

    Notes
    -----
    Section 4.3 assumes theta - 1 >= 1, "i.e." f_j / (sum of y) >= 1 and f_j / (sum of z) >= 1 for
    all jobs, y and z over a run. Neither is invariant to the unit of money. The one that is
    returned is the least power of ten, from 1 on, at which both hold for the shortest runs on the
    empty cluster of all jobs that can be worth something in these: f and use of d_j, of which
    Lemma 1 is made, too. Like theta, it is known of the jobs before any runs. A job that is
    accepted with a longer or later run can fall short; results count those that do not.

    Examples
    --------
    >>> from gangsched.formulations.irmp import paper_problem
    >>> assumed_scale(paper_problem(50)), assumed_scale(paper_problem(50, utility="convex"))
    (100.0, 10000.0)
    """
    need = 1.0
    for job, entry in enumerate(problem.jobs):
        options = run_options(problem, job)
        if not options.slots.size:
            continue
        shortest = int(options.slots.min())
        worth = entry.utility.value(shortest)
        if worth > 0:
            held = np.maximum(options.workers, options.least)[options.slots == shortest]
            need = max(need, shortest * int(held.max()) / worth)
    return min(10.0 ** math.ceil(math.log10(need)), LARGEST_SCALE) if need > 1 else 1.0


def in_unit(problem: Irmp, params: AstraeaParams | None) -> AstraeaParams:
    """Return parameters, by default all, with the unit of money as a number.

    Examples
    --------
    >>> from gangsched.formulations.irmp import paper_problem
    >>> problem = paper_problem(50)
    >>> [in_unit(problem, AstraeaParams(theta=theta)).scale for theta in ("total", 16)]
    [100.0, 1.0]
    """
    params = params or AstraeaParams()
    if not isinstance(params.scale, str):
        return params
    found = assumed_scale(problem) if isinstance(params.theta, str) else 1.0
    return replace(params, scale=found)


def prices_at(theta: float, held: ArrayLike, total: int, *, scale: float = 1.0) -> Floats:
    """Return eta of (8), (theta^(h / C) - 1) / scale.

    Examples
    --------
    >>> prices_at(16, [0, 2, 4, 8], 8)
    array([ 0.,  1.,  3., 15.])
    """
    theta = _theta("prices (8)", theta)
    scale = check_real("prices (8)", "scale", scale, positive=True)
    level = np.asarray(held, dtype=np.float64) / total if total else np.zeros(np.shape(held))
    with np.errstate(over="ignore"):
        prices: Floats = np.asarray(np.expm1(math.log(theta) * level) / scale)
    if not np.isfinite(prices).all():
        raise ValueError(f"prices (8): theta={theta:g} with scale={scale:g} overflows")
    return prices


def thetas(
    problem: Irmp,
    jobs: Iterable[int],
    rule: str | float = "total",
    scale: str | float = 1.0,
    estimate: float = 1.0,
) -> Floats:
    """Return theta_w and theta_p of each type of nodes, (types, 2).

    Notes
    -----
    theta = 1 + estimate scale max f / use, over all runs of the jobs that begin at once on the
    empty cluster. The paper assumes f / use >= 1 in its unit of money, see :func:`assumed_scale`,
    and says nothing of smaller ones; they are taken as they are.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> job = ParameterServerJob(id="j", gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                          utility=Linear(-2, 100))
    >>> problem = Irmp(Instance(Cluster([Node("s1", 2, ps=1)]), [job]))
    >>> thetas(problem, [0]), thetas(problem, [0], "slot")
    (array([[25., 49.]]), array([[93., 97.]]))
    """
    params = in_unit(problem, AstraeaParams(theta=rule, scale=scale, estimate=estimate))
    if not isinstance(params.theta, str):
        return np.full((len(problem.models), 2), params.theta)
    best = np.zeros((len(problem.models), 2))
    of = np.zeros(best.shape, dtype=np.int64)
    for job in jobs:
        worth = _worth_of_use(problem, job, params.theta)
        of[worth > best] = job
        best = np.maximum(best, worth)
    with np.errstate(over="ignore", invalid="ignore"):
        rise = np.where(best > 0, params.estimate * params.unit * best, 0)
    wrong = (best > 0) & ((rise < LEAST_RISE) | (rise == math.inf))
    if wrong.any():
        high = rise[wrong][0] == math.inf
        raise ValueError(
            f"theta: 1 + estimate={estimate:g} * scale={params.unit:g} * {best[wrong][0]:g}, "
            f"which a use is worth to job {problem.jobs[of[wrong][0]].id!r}, "
            + ("is too large for a float" if high else "is too close to 1; take a larger scale")
        )
    theta: Floats = 1 + rise
    return theta


def _worth_of_use(problem: Irmp, job: int, rule: str) -> Floats:
    """The largest f / use of a job, (types, 2)."""
    worth = np.zeros((len(problem.models), 2))
    options, value = run_options(problem, job), problem.jobs[job].utility.value
    f = np.array([value(d) for d in options.slots.tolist()])
    spread = 1 if rule == "slot" else options.slots
    host = np.where(options.host < 0, options.kind, options.host)
    np.maximum.at(worth[:, WORKERS], options.kind, f / (options.workers * spread))
    np.maximum.at(worth[:, PS], host, f / (options.least * spread))
    return worth


def lemma_1(problem: Irmp, jobs: Iterable[int], theta: Floats) -> int | None:
    """Return lambda of Lemma 1; None where its formula has no value.

    Notes
    -----
    floor((log F - log f_min) / (log sigma - log(sigma - 1))) + 1, sigma = 2 (log2 theta_w + log2
    theta_p) of Lemma 3; F and f_min are the sum and the least of f_j(d_j), d_j the shortest run, of
    the jobs where it is positive. It has no value where there are none, or sigma <= 1. Neither
    lemma holds as stated.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> jobs = [ParameterServerJob(id=i, gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                            utility=Linear(-2, 100)) for i in "ab"]
    >>> problem = Irmp(Instance(Cluster([Node("s1", 2, ps=1)]), jobs))
    >>> lemma_1(problem, [0, 1], thetas(problem, [0, 1], 16.0))
    11
    """
    values = [
        value
        for job in jobs
        if (slots := run_options(problem, job).slots).size
        and (value := problem.jobs[job].utility.value(int(slots.min()))) > 0
    ]
    sigma = 2 * float(np.log2(theta).max(axis=0).sum())
    if not values or sigma <= 1:
        return None
    ratio = math.log(math.fsum(values)) - math.log(min(values))
    return math.floor(ratio / -math.log1p(-1 / sigma)) + 1
