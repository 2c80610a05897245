"""Selectors of UniSched as solvers: from one cycle's queue to a schedule, with a bound.

Source: Gao et al. (2024), section III-C4, which gives the integer program to a commercial solver.
Here it is the compact form, see `.selector`; the schedule is that of
:func:`~gangsched.solvers.unisched.lease_schedule.realise`. Objective and gap are those of what is
realised.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...formulations.problem import check_class
from ...formulations.unisched.compact import (
    Kind,
    Options,
    Queue,
    capacity_of_problem,
    options_of_problem,
    row_weights,
)
from ...formulations.unisched.problem import UniSched
from ...instances.schedule import Schedule
from ..history import History
from ..result import Bound, Result, Stop
from ..signature import NoParams, solver
from .lease_schedule import realise
from .selector import Prices, Selection, Selector, by_density, one_price, price_bound

__all__ = [
    "OpportunityPriceParams",
    "Selection",
    "Selector",
    "UniSchedParams",
    "density_greedy",
    "lp_selector",
    "opportunity_price",
]

Ints = NDArray[np.int64]

TIES = "density falling, then fewer GPUs, then job, deadline, speed falling"
#: share of a time limit that the selection may use; the rest is for the schedule
SELECTION = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class UniSchedParams:
    """Parameters of :func:`lp_selector`.

    Parameters
    ----------
    exact : bool
        Finish the selection by branch and bound. Without a time limit that may take for ever.
    """

    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpportunityPriceParams:
    """Parameters of :func:`opportunity_price`.

    Parameters
    ----------
    price : float or None
        lambda, reward per GPU and lease, not negative; sum (V - lambda a L) z is maximised. None:
        the mean over all GPUs and leases of the prices that the linear program without lambda has:
        what a lease earns in the queue as it is, taken for what one earns in the long run.
    """

    price: float | None = None

    def __post_init__(self) -> None:
        if self.price is not None and not self.price >= 0:
            raise ValueError(f"opportunity_price: price={self.price} is negative")


class _Case(NamedTuple):
    """A problem in columns."""

    options: Options
    room: Ints
    values: NDArray[np.float64]  # all that its jobs can be worth
    rows: Ints | None

    @classmethod
    def of(cls, problem: UniSched) -> _Case:
        check_class("selector", problem, UniSched)
        options = options_of_problem(problem)
        queue = Queue.of(problem)
        slo = np.repeat(queue.kind == Kind.SLO, np.diff(queue.ptr))
        small = options.value[options.deadline < 0]
        rows = row_weights(problem.node_gpus, problem.allocations)
        return cls(
            options,
            capacity_of_problem(problem, options.slots),
            np.concatenate([queue.value[slo], small]),
            rows if len(rows) > 1 else None,
        )

    def bound(self, prices: Prices) -> Bound:
        """What prices prove of the problem."""
        return price_bound(self.options, self.room, prices, self.values, self.rows)


@solver(UniSchedParams)
def lp_selector(
    problem: UniSched,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    params: UniSchedParams = UniSchedParams(),
) -> Result[Schedule]:
    """Choose what is worth most by the compact form's linear program, rounded, and schedule it.

    Guarantee: none a priori; the result's bound is proven by prices of GPU leases, for every
    schedule of the problem.

    Parameters
    ----------
    problem : UniSched
        All jobs released at 0.
    seed : int
        Recorded; nothing is drawn.
    time_limit : float, optional
        Seconds. Without one, the same problem gives the same result.
    params : UniSchedParams

    Returns
    -------
    Result
        Its bound is certified, but where `exact` proved a better one without a certificate.
        `info["missed"]`: selected jobs that no schedule was found for, and why.

    Raises
    ------
    ValueError
        For a time limit that is not positive, or a job that is released later.

    Notes
    -----
    See `.selector`. One linear program of one row a job and some 50 more, a few times over.

    Examples
    --------
    Four gangs of 6 on three nodes of 8, as in section II-B: split, all four are done in time.

    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id=f"j{i}", gpus=6, work=600, rewards=[(1200, 100)], split_speed=0.6)
    ...         for i in range(4)]
    >>> result = lp_selector(UniSched(Instance(Cluster.of_sizes([8, 8, 8]), jobs)))
    >>> result.objective, result.bound.value, result.status.value
    (400.0, 400, 'optimal')
    """
    started = time.perf_counter()
    limit = _checked("lp_selector", time_limit)
    case = _Case.of(problem)
    selection = Selector().select(
        case.options,
        case.room,
        time_limit=None if limit is None else SELECTION * limit,
        exact=params.exact,
    )
    history, bound = History(started), case.bound(selection.prices)
    history.note(bound=bound.value)
    return _result(
        problem, case, selection.chosen, bound, selection, started, limit, history=history,
        solver="lp_selector", seed=seed, exact=params.exact,
    )  # fmt: skip


@solver()
def density_greedy(
    problem: UniSched,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    params: NoParams = NoParams(),
) -> Result[Schedule]:
    """Choose options by falling reward per GPU and lease, as long as all fit, and schedule them.

    Guarantee: none a priori; the result's bound is proven by one price of all GPUs and leases.

    Parameters
    ----------
    problem : UniSched
        All jobs released at 0.
    seed : int
        Recorded; nothing is drawn.
    time_limit : float, optional
        Seconds, for the schedule.
    params : NoParams

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        For a time limit that is not positive, or a job that is released later.

    Notes
    -----
    O(n log n + n K) for n options and K leases, and 60 sums over the options for the bound.

    Examples
    --------
    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id="a", gpus=2, work=600, rewards=[(600, 90)]),
    ...         DeadlineJob(id="b", gpus=1, work=600, rewards=[(600, 50)])]
    >>> result = density_greedy(UniSched(Instance(Cluster.of_sizes([2]), jobs)))
    >>> result.objective, result.bound.value
    (50.0, 90)
    """
    started = time.perf_counter()
    limit = _checked("density_greedy", time_limit)
    case = _Case.of(problem)
    chosen = by_density(case.options, case.room)
    prices = one_price(case.options, case.room)
    bound = price_bound(case.options, case.room[:1], prices, case.values)
    return _result(
        problem, case, chosen, bound, None, started, limit, solver="density_greedy", seed=seed
    )


@solver(OpportunityPriceParams)
def opportunity_price(
    problem: UniSched,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    params: OpportunityPriceParams = OpportunityPriceParams(),
) -> Result[Schedule]:
    """Choose what is worth more than its GPU leases could earn otherwise, and schedule it.

    Guarantee: none a priori, and the reward in hand is at most that of :func:`lp_selector` up to
    rounding: what is gained is room for jobs that are not there yet. The result's bound is that of
    :func:`lp_selector`.

    Parameters
    ----------
    problem : UniSched
        All jobs released at 0.
    seed : int
        Recorded; nothing is drawn.
    time_limit : float, optional
        Seconds.
    params : OpportunityPriceParams

    Returns
    -------
    Result
        `info["price"]` is lambda.

    Raises
    ------
    ValueError
        For a time limit that is not positive, or a job that is released later.

    Notes
    -----
    Two selections, see `.selector`.

    Examples
    --------
    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id="a", gpus=2, work=600, rewards=[(1200, 100)]),
    ...         DeadlineJob(id="b", gpus=2, work=600, rewards=[(1200, 20)])]
    >>> problem = UniSched(Instance(Cluster.of_sizes([2]), jobs))
    >>> dear = OpportunityPriceParams(price=11)
    >>> opportunity_price(problem).objective, opportunity_price(problem, params=dear).objective
    (120.0, 100.0)
    """
    started = time.perf_counter()
    limit = _checked("opportunity_price", time_limit)
    case = _Case.of(problem)
    share = None if limit is None else SELECTION / 2 * limit
    selector = Selector()
    selection = selector.select(case.options, case.room, time_limit=share)
    price = params.price
    if price is None:
        price = mean_price(selection.prices, case.room)
    worth = case.options.value - price * case.options.gpus * case.options.needed
    at = np.flatnonzero(worth > 0)
    few = replace(case.options, value=worth).take(at)
    chosen = at[selector.select(few, case.room, time_limit=share).chosen]
    return _result(
        problem, case, chosen, case.bound(selection.prices), None, started, limit,
        solver="opportunity_price", seed=seed, price=price,
    )  # fmt: skip


def mean_price(prices: Prices, room: Ints) -> float:
    """Return the mean price of a GPU and lease; with several rows, of a single GPU."""
    gpus = room[0]
    earned = float(prices.numerator[0] @ gpus) / prices.scale
    return earned / float(gpus.sum()) if gpus.any() else 0.0


def _checked(name: str, limit: float | None) -> float | None:
    if limit is not None and not limit > 0:
        raise ValueError(f"{name}: time_limit={limit} is not positive")
    return limit


def _result(
    problem: UniSched,
    case: _Case,
    chosen: Ints,
    bound: Bound,
    selection: Selection | None,
    started: float,
    limit: float | None,
    *,
    history: History | None = None,
    **info: Any,
) -> Result[Schedule]:
    """Schedule what was chosen; what is reported is the schedule's.

    Where a job of the linear program's choice finds no room, the choice by density may win more.
    """
    left = {} if limit is None else {"time_limit": max(limit - time.perf_counter() + started, 0.01)}
    realised = realise(problem, case.options, chosen, **left)
    if history is not None:
        history.note(objective=problem.objective(realised.schedule))
    if realised.missed and selection is not None and limit is None:
        greedy = by_density(case.options, case.room)
        other = realise(problem, case.options, greedy)
        if problem.objective(other.schedule) > problem.objective(realised.schedule):
            chosen, realised = greedy, other
    stop = Stop.COMPLETED if selection is None else selection.stop
    if selection is not None and selection.bound.certificate is None:
        bound = selection.bound if selection.bound.value < bound.value else bound
    proven = problem.objective(realised.schedule) == bound.value
    return Result.of(
        problem,
        realised.schedule,
        solver=info.pop("solver"),
        stop=Stop.PROVEN if proven else Stop.COMPLETED if stop is Stop.PROVEN else stop,
        bound=bound,
        runtime=time.perf_counter() - started,
        iterations=0 if selection is None else selection.iterations,
        history=None if history is None else history.entries,
        info={
            **info,
            "ties": TIES,
            "options": len(case.options),
            "slots": case.options.slots,
            "selected": len(chosen),
            "missed": _named(problem, realised.missed),
        },
    )


def _named(problem: UniSched, missed: Mapping[int, str]) -> dict[str, str]:
    return {problem.jobs[j].id: reason for j, reason in sorted(missed.items())}
