"""Selectors of UniSched as solvers: from one cycle's queue to a schedule, with a bound.

Source: Gao et al. (2024), section III-C4, which gives the integer program to a commercial solver.
Here it is the compact form, see `.selector`; the schedule is that of
:func:`~gangsched.solvers.unisched.lease_schedule.realise`. Objective and gap are those of what is
realised.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ...formulations.unisched.problem import UniSched
from ...instances.arrays import Ints
from ...instances.schedule import Schedule
from ..history import History
from ..result import Bound, Result, Stop
from ..signature import solver
from .density import by_density
from .lease_schedule import Realised, realise
from .prices import LeaseCase
from .selector import Selector

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


class _Attempt:
    """One run of a solver: its problem in columns, and the time it has."""

    def __init__(self, solver: str, problem: UniSched, time_limit: float | None) -> None:
        if time_limit is not None and not time_limit > 0:
            raise ValueError(f"{solver}: time_limit={time_limit} is not positive")
        self.started, self.limit = time.perf_counter(), time_limit
        self.solver, self.problem, self.case = solver, problem, LeaseCase.of(problem)

    def share(self, part: float) -> float | None:
        """Return a part of the time limit."""
        return None if self.limit is None else part * self.limit

    def realised(self, chosen: Ints) -> Realised:
        """Schedule options in the time that is left."""
        left = {}
        if self.limit is not None:
            left["time_limit"] = max(self.limit - time.perf_counter() + self.started, 0.01)
        return realise(self.problem, self.case.options, chosen, **left)

    def result(
        self, chosen: Ints, realised: Realised, bound: Bound, *, stop: Stop = Stop.COMPLETED,
        iterations: int = 0, history: History | None = None, **info: Any,
    ) -> Result[Schedule]:  # fmt: skip
        """Report the schedule of what was chosen."""
        problem, options = self.problem, self.case.options
        proven = problem.objective(realised.schedule) == bound.value
        missed = {problem.jobs[j].id: reason for j, reason in sorted(realised.missed.items())}
        return Result.of(
            problem, realised.schedule, solver=self.solver, bound=bound, iterations=iterations,
            stop=Stop.PROVEN if proven else Stop.COMPLETED if stop is Stop.PROVEN else stop,
            runtime=time.perf_counter() - self.started,
            history=None if history is None else history.entries,
            info={**info, "ties": TIES, "options": len(options), "slots": options.slots,
                  "selected": len(chosen), "missed": missed},
        )  # fmt: skip


@solver(UniSchedParams)
def lp_selector(
    problem: UniSched, *, seed: int, time_limit: float | None, params: UniSchedParams
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
    run = _Attempt("lp_selector", problem, time_limit)
    case = run.case
    selection = Selector().select(
        case.options, case.room, time_limit=run.share(SELECTION), exact=params.exact
    )
    chosen, bound, history = selection.chosen, case.bound(selection.prices), History(run.started)
    history.note(bound=bound.value)
    realised = run.realised(chosen)
    history.note(objective=problem.objective(realised.schedule))
    if realised.missed and time_limit is None:  # then the choice by density may win more
        greedy = by_density(case.options, case.room)
        other = run.realised(greedy)
        if problem.objective(other.schedule) > problem.objective(realised.schedule):
            chosen, realised = greedy, other
    if selection.bound.certificate is None and selection.bound.value < bound.value:
        bound = selection.bound
    return run.result(
        chosen, realised, bound, stop=selection.stop, iterations=selection.iterations,
        history=history, seed=seed, exact=params.exact,
    )  # fmt: skip


@solver()
def density_greedy(problem: UniSched, *, seed: int, time_limit: float | None) -> Result[Schedule]:
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
    run = _Attempt("density_greedy", problem, time_limit)
    chosen = by_density(run.case.options, run.case.room)
    return run.result(chosen, run.realised(chosen), run.case.one_price_bound(), seed=seed)
