"""One bound for every problem: which makers there are, by problem and effort.

:data:`MAKERS` is the mirror of the verifier's table (:data:`gangsched.analysis.proofs.verify.RULES`
says which certificates there are): what a maker here returns, :func:`gangsched.verify_bound` proves
again. No solver's claim is among them.

================  ===========================  ============================  ======================
problem           quick                        standard                      full
================  ===========================  ============================  ======================
RarDdls           dual feasible functions      configuration LP              all states of tiny ones
UniSched          one price of GPU leases      prices of the LP              the same
Irmp              column generation to 1e-3    the same                      to 1e-5
GpuMarket         prices of the market: the    the same                      the same
                  optimum up to rounding
Ltgf              least share of a life        the same                      the same
LtgfRound         sums of gangs: the optimum   the same                      the same
LtgfFluid         first duals                  column generation: the        the same
                                               optimum up to rounding
CompletionTime    mean busy times, 1 round;    16 rounds; prices climb       64 rounds; prices
                  SRPT; released work; first                                 climb, intervals
                  prices of GPU time, one for                                halved twice
                  each GPU model
DeadlineRewards   prices of GPU time fall      400 steps                     1,000 steps, prices
                  from a constant one, 60                                    halved twice
                  steps
SharingIncentive  one user who never waits;    250 steps from them           600 steps, intervals
                  first prices                                               halved
================  ===========================  ============================  ======================

No class is refused. FairShares is no problem: it computes shares, and nothing is chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, get_args

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.deadline_rewards import DeadlineRewards
from ...formulations.gandiva_fair.problem import GpuMarket
from ...formulations.irmp.problem import Irmp
from ...formulations.ltgf.fluid import LtgfFluid
from ...formulations.ltgf.problem import Ltgf
from ...formulations.ltgf.round import LtgfRound
from ...formulations.problem import Sense
from ...formulations.rar_ddls.problem import RarDdls
from ...formulations.sharing_incentive import SharingIncentive
from ...formulations.unisched.problem import UniSched
from ...solvers.result import Bound

Effort = Literal["quick", "standard", "full"]
#: of a problem and the seconds that are left (None for no limit)
Maker = Callable[..., Bound]


def _maker(place: str, *, timed: bool = True, **options: Any) -> Maker:
    """The function of a module here, imported when a bound is asked for: HiGHS and scipy take long.

    One that is not `timed` is always soon done, and takes no time limit.
    """
    module, _, name = place.rpartition(".")

    def make(problem: Any, seconds: float | None) -> Bound:
        limit = {"time_limit": seconds} if timed else {}
        function: Maker = getattr(import_module(module, __package__), name)
        return function(problem, **limit, **options)

    return make


def _market(problem: GpuMarket, _: float | None) -> Bound:
    from ...solvers.gandiva_fair.market import best_allocation

    found = best_allocation(problem).bound  # by the market's own aim
    assert found is not None  # its prices prove something, however inexact they are
    return found


REVENUE = "...solvers.irmp.columns.revenue_bound"
PACKINGS = ".fluid_fairness.fluid_bound"
COMPLETION = ".completion_time.online_bound"
STEPS = 400
REWARDS = ".deadline_rewards.reward_bound"
USERS = ".user_prices.user_bound"
#: what each effort adds to those before it, by problem
MAKERS: Mapping[type, Mapping[Effort, Maker]] = {
    RarDdls: {
        "quick": _maker(".makespan.dff_bound", timed=False),
        "standard": _maker(".makespan.configuration_bound"),
        "full": _maker(".makespan.search_bound"),
    },
    UniSched: {
        "quick": _maker(".leases.one_price_bound", timed=False),
        "standard": _maker(".leases.lease_price_bound"),
    },
    Irmp: {"quick": _maker(REVENUE, tolerance=1e-3), "full": _maker(REVENUE, tolerance=1e-5)},
    GpuMarket: {"quick": _market},
    Ltgf: {"quick": _maker(".fluid_fairness.life_bound", timed=False)},
    LtgfRound: {"quick": _maker(".round_fairness.gang_sums_bound", timed=False)},
    LtgfFluid: {"quick": _maker(PACKINGS, timed=False, time_limit=0), "standard": _maker(PACKINGS)},
    CompletionTime: {
        "quick": _maker(COMPLETION, rounds=1),
        "standard": _maker(COMPLETION, rounds=16, steps=STEPS),
        "full": _maker(COMPLETION, rounds=64, steps=STEPS, halvings=2),
    },
    DeadlineRewards: {
        "quick": _maker(REWARDS, rounds=60),
        "standard": _maker(REWARDS, rounds=400),
        "full": _maker(REWARDS, rounds=1_000, halvings=2),
    },
    SharingIncentive: {
        "quick": _maker(USERS, orders=3, rounds=0),
        "standard": _maker(USERS),
        "full": _maker(USERS, orders=30, rounds=600, halvings=1),
    },
}

#: classes whose quick bound takes as long as a solver: a comparison looks for it where no solver
#: has brought one
LATE = frozenset({Irmp})


def bound(problem: Any, effort: Effort = "quick", time_limit: float | None = None) -> Bound:
    """Return a bound that no solution of the problem can beat, always with a certificate.

    Parameters
    ----------
    problem : Problem
        Of any class of :mod:`gangsched.formulations`.
    effort : {"quick", "standard", "full"}
        How much to try; more is never worse. "quick" is for every comparison, "full" for what is
        published. What each means is in the table of :mod:`gangsched.analysis.proofs.bound`.
    time_limit : float or None
        Seconds after which the best bound so far is returned. The quick one is found in any case,
        or its beginning where it is a search.

    Returns
    -------
    Bound
        :func:`gangsched.verify_bound` accepts it.

    Raises
    ------
    ValueError
        If `effort` is unknown or `time_limit` negative.
    TypeError
        For what is no problem with bounds; names those that are.

    Notes
    -----
    For all problems but GpuMarket, LtgfRound and LtgfFluid (where the bound is the optimum, up to
    rounding) a gap may remain at any effort: only :func:`gangsched.solve_exact` closes it, and the
    bound with which it does is its own claim.

    Examples
    --------
    Three jobs of 60 slots on two GPUs, two of which have to share a GPU.

    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=1, iterations=60, gradient=0, base_time=0.7) for i in "abc"]
    >>> found = bound(RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs)))
    >>> found.value, found.method
    (120, 'dual feasible function')
    """
    efforts = get_args(Effort)
    if effort not in efforts:
        raise ValueError(f"bound: effort={effort!r} is not one of {', '.join(map(repr, efforts))}")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"bound: time_limit={time_limit} is not >= 0")
    if type(problem) not in MAKERS:
        known = ", ".join(kind.__name__ for kind in MAKERS)
        raise TypeError(f"bound: a {type(problem).__name__} has no bounds, only {known} have")
    return strengthened(problem, None, efforts[: efforts.index(effort) + 1], time_limit)


def strengthened(
    problem: Any, best: Bound | None, efforts: Sequence[Effort], time_limit: float | None
) -> Bound:
    """Return the best of a bound that is known, or None, and those that these efforts add."""
    start = time.monotonic()
    for level in efforts:
        maker = MAKERS[type(problem)].get(level)
        left = None if time_limit is None else time_limit - (time.monotonic() - start)
        if maker is None or (best is not None and left is not None and left <= 0):
            continue
        found = maker(problem, None if left is None else max(left, 0.0))
        if best is None or _no_weaker(problem.sense, found, best):
            best = found
    assert best is not None  # every class has a quick maker
    return best


def _no_weaker(sense: Sense, one: Bound, other: Bound) -> bool:
    return one.value >= other.value if sense is Sense.MIN else one.value <= other.value
