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
CompletionTime    mean busy times, 16 rounds;  prices climb, 150 steps       64 rounds; intervals
                  SRPT; released work; first                                 halved twice; prices
                  prices of GPU time, one for                                of up to 10,000 jobs;
                  each GPU model                                             configurations
DeadlineRewards   prices of GPU time fall      the same                      prices halved twice
                  from a constant one, 150
                  steps
SharingIncentive  one user who never waits;    150 steps from them           600 steps, intervals
                  first prices                                               halved
================  ===========================  ============================  ======================

A replay has these bounds, and beside them the best of some schedules, which stand in
:data:`SCHEDULES` by the same efforts.

No class is refused. FairShares is no problem: it computes shares, and nothing is chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, TypeVar, get_args

from ... import formulations
from ...formulations.gandiva_fair.problem import GpuMarket
from ...formulations.irmp.problem import Irmp
from ...formulations.problem import Sense
from ...instances.shipped import shipped
from ...solvers.result import Bound

T = TypeVar("T")
Effort = Literal["quick", "standard", "full"]
#: called with the number of steps so far, and the best bound
Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class Maker:
    """What makes a bound, imported when one is asked for: HiGHS and scipy take long.

    Parameters
    ----------
    place : str
        Module, from here, and function.
    options : mapping of str to value
    timed : bool
        Whether it takes a time limit; what does not is always soon done.
    told : bool
        Whether it takes `on_progress`.
    contains : bool
        Whether it finds what those of less effort find.
    """

    place: str
    options: Mapping[str, Any] = field(default_factory=dict)
    timed: bool = True
    told: bool = False
    contains: bool = False

    def __call__(
        self, problem: Any, seconds: float | None, on_progress: Progress | None = None
    ) -> Bound:
        """Return the bound of a problem, in the seconds that are left; None for no limit."""
        module, _, name = self.place.rpartition(".")
        more: dict[str, Any] = {"time_limit": seconds} if self.timed else {}
        more |= {"on_progress": on_progress} if self.told else {}
        made: Bound = getattr(import_module(module, __package__), name)(
            problem, **more, **self.options
        )
        return made


def market_bound(problem: GpuMarket) -> Bound:
    """Return the bound of the market's own aim; its prices prove something, however inexact."""
    from ...solvers.gandiva_fair.market import best_allocation

    found = best_allocation(problem).bound
    assert found is not None
    return found


def by_class(table: Mapping[str, T]) -> dict[type, T]:
    """Return rows by class of problem, from a table of their names."""
    return {getattr(formulations, name): row for name, row in table.items()}


_FILE = shipped("gangsched.analysis.proofs", "bounds")
#: what each effort adds to those before it, by problem
MAKERS: Mapping[type, Mapping[Effort, Maker]] = by_class(
    {
        name: {effort: Maker(**row) for effort, row in rows.items()}
        for name, rows in _FILE["makers"].items()
    }
)
#: of which schedules the best is shown beside a bound, by problem and effort
SCHEDULES: Mapping[type, Mapping[Effort, Mapping[str, Any]]] = by_class(_FILE["schedules"])

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
    >>> from gangsched.formulations import RarDdls
    >>> found = bound(RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs)))
    >>> found.value, found.method
    (120, 'dual feasible function')
    """
    check_effort("bound", effort)
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"bound: time_limit={time_limit} is not >= 0")
    if type(problem) not in MAKERS:
        known = ", ".join(kind.__name__ for kind in MAKERS)
        raise TypeError(f"bound: a {type(problem).__name__} has no bounds, only {known} have")
    return strengthened(problem, None, up_to(effort), time_limit)


def check_effort(owner: str, effort: str) -> None:
    """Refuse a word that is no effort."""
    efforts = get_args(Effort)
    if effort not in efforts:
        known = ", ".join(map(repr, efforts))
        raise ValueError(f"{owner}: effort={effort!r} is not one of {known}")


def up_to(effort: Effort) -> tuple[Effort, ...]:
    """Return the efforts up to this one, least first."""
    efforts: tuple[Effort, ...] = get_args(Effort)
    return efforts[: efforts.index(effort) + 1]


def strengthened(
    problem: Any,
    best: Bound | None,
    efforts: Sequence[Effort],
    time_limit: float | None,
    on_progress: Progress | None = None,
) -> Bound:
    """Return the best of a bound that is known, or None, and those that these efforts add."""
    start = time.monotonic()
    table = MAKERS[type(problem)]
    makers = [table[level] for level in efforts if level in table]
    if time_limit is None:  # else the first of them may be all that there is time for
        least = max((k for k, maker in enumerate(makers) if maker.contains), default=0)
        makers = makers[least:]
    for maker in makers:
        left = None if time_limit is None else time_limit - (time.monotonic() - start)
        if best is not None and left is not None and left <= 0:
            continue
        found = maker(problem, None if left is None else max(left, 0.0), on_progress)
        if best is None or no_weaker(problem.sense, found, best):
            best = found
    assert best is not None  # every class has a quick maker
    return best


def no_weaker(sense: Sense, one: Bound, other: Bound) -> bool:
    """Whether a bound proves as much as another."""
    return one.value >= other.value if sense is Sense.MIN else one.value <= other.value
